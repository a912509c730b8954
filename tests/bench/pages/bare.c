/* The bare system: the calls of a program without the library. */
#include "pages.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

static void *map_at(void *address, uint64_t bytes, int protection, int flags,
                    int file, uint64_t offset) {
    void *at = mmap(address, bytes, protection, flags, file, (off_t)offset);
    if (at == MAP_FAILED)
        die("mmap of %llu bytes failed", (unsigned long long)bytes);
    return at;
}

struct bare bare_open(const struct row *row, uint64_t bytes) {
    struct bare bare = {.row = row, .bytes = bytes, .file = -1};
    /* One page more, so that the range can start at a multiple of a page. */
    char *at = map_at(NULL, bytes + PAGE_BYTES, PROT_NONE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    uint64_t off = (uintptr_t)at % PAGE_BYTES;
    uint64_t front = off == 0 ? 0 : PAGE_BYTES - off;
    if (front > 0)
        munmap(at, front);
    munmap(at + front + bytes, PAGE_BYTES - front);
    bare.base = at + front;
    if (!row->movable) {
        if (madvise(bare.base, bytes, MADV_HUGEPAGE) != 0)
            fprintf(stderr, "pages: no huge pages for the bare system\n");
        return bare;
    }
    bare.file = memfd_create("bench", MFD_CLOEXEC);
    if (bare.file < 0 || ftruncate(bare.file, (off_t)bytes) != 0)
        die("no file of memory");
    return bare;
}

void bare_close(struct bare *bare) {
    munmap(bare->base, bare->bytes);
    if (bare->file >= 0)
        close(bare->file);
}

void bare_map(const struct bare *bare, uint64_t offset, uint64_t file_offset,
              uint64_t bytes) {
    if (bare->row->movable)
        map_at(bare->base + offset, bytes, PROT_READ | PROT_WRITE,
               MAP_SHARED | MAP_FIXED, bare->file, file_offset);
    else if (mprotect(bare->base + offset, bytes, PROT_READ | PROT_WRITE) != 0)
        die("mprotect failed");
}

void bare_unmap(const struct bare *bare, uint64_t offset, uint64_t bytes) {
    char *at = bare->base + offset;
    if (bare->row->movable)
        map_at(at, bytes, PROT_NONE,
               MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
    else if (mprotect(at, bytes, PROT_NONE) != 0 ||
             madvise(at, bytes, MADV_DONTNEED) != 0)
        die("mprotect or madvise failed");
}

void bare_release(const struct bare *bare, uint64_t offset, uint64_t bytes) {
    const int how = FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE;
    if (!bare->row->movable)
        bare_unmap(bare, offset, bytes);
    else if (fallocate(bare->file, how, (off_t)offset, (off_t)bytes) != 0)
        die("fallocate failed");
}

void bare_zero(const struct bare *bare, uint64_t file_offset, uint64_t bytes) {
    static const char zeros[256 << 10];
    if (!bare->row->movable)
        return;
    for (uint64_t at = 0; at < bytes; at += sizeof zeros)
        if (pwrite(bare->file, zeros, sizeof zeros,
                   (off_t)(file_offset + at)) != sizeof zeros)
            die("pwrite failed");
}

void touch(char *memory, uint64_t bytes) {
    for (uint64_t at = 0; at < bytes; at += 4096)
        ((volatile char *)memory)[at] = 1;
}
