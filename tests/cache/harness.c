#include "harness.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "threadcache/parts.h"

/* -------------------------------------------------- memory exhaustion */

_Thread_local int64_t allocations_left = -1;

/* The linker redirects every allocation to these functions (--wrap). */
void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *old, size_t size);
void *__real_aligned_alloc(size_t alignment, size_t size);
void *__real_mmap(void *at, size_t size, int rights, int flags, int file,
                  off_t offset);
void *__wrap_mmap(void *at, size_t size, int rights, int flags, int file,
                  off_t offset);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *old, size_t size);
void *__wrap_aligned_alloc(size_t alignment, size_t size);

static bool runs_out(void) {
    return allocations_left >= 0 && allocations_left-- == 0;
}

void *__wrap_malloc(size_t size) {
    return runs_out() ? NULL : __real_malloc(size);
}
void *__wrap_calloc(size_t count, size_t size) {
    return runs_out() ? NULL : __real_calloc(count, size);
}
void *__wrap_realloc(void *old, size_t size) {
    return runs_out() ? NULL : __real_realloc(old, size);
}
void *__wrap_aligned_alloc(size_t alignment, size_t size) {
    return runs_out() ? NULL : __real_aligned_alloc(alignment, size);
}
void *__wrap_mmap(void *at, size_t size, int rights, int flags, int file,
                  off_t offset) {
    return runs_out() ? MAP_FAILED
                      : __real_mmap(at, size, rights, flags, file, offset);
}

/* --------------------------------------------------------------- running */

int run_tests(const struct test *tests, unsigned count) {
    unsigned passed = 0;
    bool barrier = (fm_stop & FM_STOP_FENCED) == 0;
    for (unsigned fenced = 0; fenced < 2; fenced++) {
        fm_stop = fenced ? FM_STOP_FENCED : 0;
        /* Without membarrier both runs would be the same. */
        if (!fenced && !barrier)
            continue;
        for (unsigned i = 0; i < count; i++) {
            stub_reset();
            printf("# %s%s\n", tests[i].name, fenced ? ", fenced" : "");
            fflush(stdout);
            tests[i].run();
            passed++;
        }
    }
    printf("%u passed, 0 failed\n", passed);
    return 0;
}

uint64_t open_pool(void) {
    CHECK(fm_cache_open(STUB_POOL(0), 256, UINT64_MAX));
    return STUB_POOL(0);
}

struct fm_cache_counts count_pool(unsigned pool) {
    struct fm_cache_counts c;
    fm_cache_count(STUB_POOL(pool), &c);
    CHECK(c.entered_bytes - c.left_bytes == stub_on_lease(pool));
    CHECK(c.live_bytes + c.idle_bytes == stub_on_lease(pool));
    CHECK(c.requested_bytes <= c.live_bytes);
    CHECK((c.live_bytes == 0) == (c.live_blocks == 0));
    return c;
}

void close_pool(unsigned pool) {
    struct fm_cache_block blocks[100];
    struct fm_cache_counts before = count_pool(pool);
    uint64_t count;
    while ((count = fm_cache_take(STUB_POOL(pool), blocks, 100)) > 0)
        for (uint64_t i = 0; i < count; i++)
            stub_took(pool, blocks[i].address, blocks[i].size_bytes,
                      blocks[i].stream);
    struct fm_cache_counts after = count_pool(pool);
    CHECK(after.idle_bytes == 0);
    CHECK(after.live_bytes == before.live_bytes);
    CHECK(after.live_blocks == before.live_blocks);
    fm_cache_end(fm_cache_drop(STUB_POOL(pool)));
    fm_cache_count(STUB_POOL(pool), &after);
    CHECK(after.entered_bytes == 0);
}

uint64_t all_blocks(unsigned pool, struct fm_cache_block *blocks_out,
                    uint64_t capacity, uint64_t slice) {
    uint64_t place = 0, count = 0;
    do {
        CHECK(count + slice <= capacity);
        count +=
            fm_cache_next(STUB_POOL(pool), &place, blocks_out + count, slice);
    } while (place != 0);
    return count;
}

void check_error(int32_t status, int32_t wanted, const char *text) {
    ferrum_error_info error = FERRUM_ERROR_INFO_INIT;
    CHECK(ferrum_last_error(&error) == FERRUM_OK);
    if (status == wanted && error.status == wanted &&
        strstr(error.message, text) != NULL)
        return;
    fprintf(stderr, "status %d, want %d; message \"%s\", want \"%s\"\n", status,
            wanted, error.message, text);
    abort();
}

uint64_t random_next(uint64_t *state) {
    uint64_t x = *state += UINT64_C(0x9E3779B97F4A7C15);
    x = (x ^ x >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    x = (x ^ x >> 27) * UINT64_C(0x94D049BB133111EB);
    return x ^ x >> 31;
}

uint64_t random_size(uint64_t *state) {
    uint64_t size = UINT64_C(1) << random_next(state) % 21;
    return size + random_next(state) % size % (FM_CACHE_BLOCK_MAX / 4);
}
