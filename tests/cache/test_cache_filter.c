/*
 * Programs may install a filter of system calls after they have started
 * threads. This test does so: membarrier worked when the caches were opened
 * and fails from then on. No thread may wait for ever, no block may be
 * allocated twice, and the counters must stay exact.
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "harness.h"
#include "threadcache/parts.h"

enum { WORKERS = 3, BLOCKS = 16, PLACES = 1 << 20 };
/* Longer than the test needs, so that only a hang reaches it. */
enum { SECONDS_MAX = 120 };

static _Atomic unsigned char owned[PLACES];
static atomic_bool stop;
static atomic_ullong moves;

static void *work(void *seed) {
    uint64_t random = (uint64_t)(uintptr_t)seed, blocks[BLOCKS] = {0};
    while (!atomic_load(&stop)) {
        uint64_t *block = &blocks[random_next(&random) % BLOCKS];
        if (*block == 0) {
            uint64_t size = 1 + random_next(&random) % 4000;
            CHECK(cache_alloc(STUB_POOL(0), 0, size, 0, block) ==
                  FM_CACHE_DONE);
            CHECK(atomic_exchange(&owned[stub_place(*block)], 1) == 0);
        } else {
            CHECK(atomic_exchange(&owned[stub_place(*block)], 0) == 1);
            CHECK(cache_free(STUB_POOL(0), 0, *block, 0) == FM_CACHE_DONE);
            *block = 0;
        }
        atomic_fetch_add_explicit(&moves, 1, memory_order_relaxed);
    }
    for (unsigned i = 0; i < BLOCKS; i++)
        if (blocks[i] != 0)
            CHECK(cache_free(STUB_POOL(0), 0, blocks[i], 0) == FM_CACHE_DONE);
    return NULL;
}

static void forbid_membarrier(void) {
    struct sock_filter program[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_membarrier, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog filter = {sizeof program / sizeof program[0], program};
    CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
    CHECK(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
                  SECCOMP_FILTER_FLAG_TSYNC, &filter) == 0);
    CHECK(syscall(SYS_membarrier, 0, 0, 0) == -1 && errno == EPERM);
}

/* Stops the threads often, and lets them run in between. */
static void look(void) {
    for (unsigned i = 0; i < 100; i++) {
        struct fm_cache_counts counts;
        unsigned long long before = atomic_load(&moves);
        fm_cache_count(STUB_POOL(0), &counts);
        CHECK(counts.live_bytes + counts.idle_bytes ==
              counts.entered_bytes - counts.left_bytes);
        CHECK(counts.live_blocks <= WORKERS * BLOCKS);
        while (atomic_load(&moves) == before)
            sched_yield();
    }
}

int main(void) {
    alarm(SECONDS_MAX);
    stub_reset();
    open_pool();
    pthread_t threads[WORKERS];
    for (uintptr_t i = 0; i < WORKERS; i++)
        CHECK(pthread_create(&threads[i], NULL, work, (void *)(i + 1)) == 0);
    look();
    forbid_membarrier();
    look();
    CHECK(atomic_load(&fm_stop) & FM_STOP_FENCED);
    atomic_store(&stop, true);
    for (unsigned i = 0; i < WORKERS; i++)
        CHECK(pthread_join(threads[i], NULL) == 0);
    CHECK(count_pool(0).live_blocks == 0);
    close_pool(0);
    printf("1 passed, 0 failed\n");
    return 0;
}
