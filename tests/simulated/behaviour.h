/* The behaviour of a simulated vendor library. The environment variable
 * SIMULATED chooses it. */
#ifndef SIMULATED_BEHAVIOUR_H
#define SIMULATED_BEHAVIOUR_H

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

static inline int simulated_is(const char *what) {
    const char *text = getenv("SIMULATED");
    return text != NULL && strcmp(text, what) == 0;
}

/* The number after "NAME=", or 0. */
static inline int simulated_number(const char *name) {
    const char *text = getenv("SIMULATED");
    size_t length = strlen(name);
    if (text == NULL || strncmp(text, name, length) != 0 || text[length] != '=')
        return 0;
    return atoi(text + length + 1);
}

static inline void simulated_sleep(void) {
    for (;;)
        pause();
}

/* Writes a report file: the open files and the library path of the process. */
static inline void simulated_report(void) {
    const char *name = getenv("SIMULATED_REPORT");
    FILE *file = name == NULL ? NULL : fopen(name, "we");
    if (file == NULL)
        return;
    DIR *folder = opendir("/proc/self/fd");
    for (struct dirent *entry; folder != NULL && (entry = readdir(folder));) {
        char link[64], target[256] = {0};
        snprintf(link, sizeof link, "/proc/self/fd/%.20s", entry->d_name);
        if (readlink(link, target, sizeof target - 1) > 0)
            fprintf(file, "%s %s\n", entry->d_name, target);
    }
    if (folder != NULL)
        closedir(folder);
    const char *path = getenv("LD_LIBRARY_PATH");
    fprintf(file, "LD_LIBRARY_PATH=%s\npid %d group %d\n",
            path == NULL ? "" : path, (int)getpid(), (int)getpgrp());
    fclose(file);
}

static inline void simulated_end(void) {
    if (simulated_is("abort"))
        abort();
    if (simulated_is("segfault"))
        raise(SIGSEGV);
    if (simulated_is("exit"))
        _exit(7);
}

static inline void simulated_write(void) {
    static const char text[] = "{\"protocol\":1}\nCUDA says hello\n";
    for (int fd = 0; fd < 10; fd++)
        if (write(fd, text, sizeof text - 1) < 0)
            continue;
}

static inline void simulated_close(void) {
    for (int fd = 0; fd < 1024; fd++)
        close(fd);
}

/* Starts a child process of the vendor library. The child inherits the open
 * files and ignores SIGTERM and SIGHUP. */
static inline void simulated_start_child(void) {
    if (fork() == 0) {
        signal(SIGTERM, SIG_IGN);
        signal(SIGHUP, SIG_IGN);
        simulated_report();
        simulated_sleep();
    }
}

/* Simulates the initialisation and returns its result code. */
static inline int simulated_initialise(int no_device) {
    if (simulated_is("sleep_in_child")) {
        simulated_start_child();
        simulated_sleep();
    }
    simulated_report();
    simulated_end();
    if (simulated_is("garbage"))
        simulated_write();
    if (simulated_is("close") || simulated_is("close_and_sleep"))
        simulated_close();
    if (simulated_is("sleep") || simulated_is("close_and_sleep"))
        simulated_sleep();
    return simulated_is("none") ? no_device : simulated_number("error");
}

#endif
