/*
 * The memory that a process holds, as the kernel counts it. Pages of a memory
 * file (memfd) belong to the process whether they are mapped or not, so their
 * number is read from the file. Resident shared memory counts those of them
 * that are mapped and written a second time.
 */
#include "workloads.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PAGE_BYTES = 4096, BLOCK_OF_STAT_BYTES = 512 };

static void read_status(double *anonymous_out, double *shared_out) {
    char line[256];
    unsigned long long kib;
    unsigned found = 0;
    FILE *file = fopen("/proc/self/status", "r");
    if (file == NULL)
        die("/proc/self/status cannot be read");
    while (fgets(line, sizeof line, file) != NULL) {
        if (sscanf(line, "RssAnon: %llu kB", &kib) == 1) {
            *anonymous_out = (double)kib * 1024;
            found++;
        } else if (sscanf(line, "RssShmem: %llu kB", &kib) == 1) {
            *shared_out = (double)kib * 1024;
            found++;
        }
    }
    fclose(file);
    if (found != 2)
        die("/proc/self/status does not tell RssAnon and RssShmem");
}

double resident_bytes(void) {
    double anonymous, shared;
    read_status(&anonymous, &shared);
    return anonymous + shared;
}

static double bytes_of_open_files(void) {
    double sum = 0;
    DIR *folder = opendir("/proc/self/fd");
    if (folder == NULL)
        die("/proc/self/fd cannot be read");
    for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        char target[64];
        struct stat status;
        ssize_t length =
            readlinkat(dirfd(folder), entry->d_name, target, sizeof target - 1);
        if (length < 0)
            continue;
        target[length] = 0;
        if (strncmp(target, "/memfd:", strlen("/memfd:")) == 0 &&
            fstatat(dirfd(folder), entry->d_name, &status, 0) == 0)
            sum += (double)status.st_blocks * BLOCK_OF_STAT_BYTES;
    }
    closedir(folder);
    return sum;
}

double held_bytes(void) {
    double anonymous, shared, files = bytes_of_open_files();
    read_status(&anonymous, &shared);
    return anonymous + (files > shared ? files : shared);
}

void write_pages(uint64_t block, uint64_t size_bytes) {
    volatile char *bytes = (volatile char *)(uintptr_t)block;
    for (uint64_t at = 0; at < size_bytes; at += PAGE_BYTES)
        bytes[at] = 1;
    bytes[size_bytes - 1] = 1;
}
