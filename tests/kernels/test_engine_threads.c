/*
 * The threads of the CPU engine, with every instruction set that this machine
 * executes. The results on any number of threads have the bits of one thread: when
 * threads call at the same time, after threads slept, and in a forked child. One
 * result is compared with sums in double. A kernel of this program counts how
 * often each part is computed, and who uses a workspace.
 */
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "engines/cpu/threads.h"

#define CHECK(condition)                                                    \
    do {                                                                    \
        if (!(condition)) {                                                 \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
            exit(1);                                                        \
        }                                                                   \
    } while (0)

enum { M = 30, N = 150, K = 70, THREADS = 4 };

static float left[M * K], right[K * N], wanted[M * N];

/* A product and its memory. */
struct product {
    struct fk_matmul request;
    const struct fk_kernel *kernel;
    float output[M * N];
    char *workspace;
    int64_t step;
};

static void prepare(struct product *p, const struct fk_table *table) {
    p->request = (struct fk_matmul){.m = M,
                                    .n = N,
                                    .k = K,
                                    .a = (uint64_t)(uintptr_t)left,
                                    .a_row = K,
                                    .a_column = 1,
                                    .b = (uint64_t)(uintptr_t)right,
                                    .b_row = N,
                                    .b_column = 1,
                                    .y = (uint64_t)(uintptr_t)p->output,
                                    .y_row = N,
                                    .alpha = 1};
    p->kernel = &table->kernels[FK_KERNEL_MATMUL];
    p->step = p->kernel->workspace(&p->request);
    p->workspace = aligned_alloc(64, (size_t)(THREADS * p->step));
    CHECK(p->workspace != NULL);
}

static void compute_parts(struct product *p, struct fk_threads *threads,
                          int parts) {
    memset(p->output, 0xFF, sizeof p->output);
    fk_threads_run(threads, p->kernel, &p->request, parts, p->workspace,
                   p->step);
}

static void compute(struct product *p, struct fk_threads *threads) {
    compute_parts(p, threads, 2 * THREADS);
}

static void is_wanted(const struct product *p) {
    CHECK(memcmp(p->output, wanted, sizeof wanted) == 0);
}

static void agrees_with_double(void) {
    for (int i = 0; i < M; i++)
        for (int j = 0; j < N; j++) {
            double sum = 0;
            for (int k = 0; k < K; k++)
                sum += (double)left[i * K + k] * right[k * N + j];
            CHECK(fabs(sum - wanted[i * N + j]) < 1e-4);
        }
}

static struct fk_threads *open_threads(int count) {
    int error = 0;
    struct fk_threads *threads = fk_threads_open(count, &error);
    CHECK(threads != NULL && error == 0);
    return threads;
}

struct caller {
    struct fk_threads *threads;
    const struct fk_table *table;
};

static void *call_often(void *data) {
    const struct caller *c = data;
    struct product *p = malloc(sizeof *p);
    CHECK(p != NULL);
    prepare(p, c->table);
    for (int i = 0; i < 200; i++) {
        compute(p, c->threads);
        is_wanted(p);
    }
    free(p->workspace);
    free(p);
    return NULL;
}

static void calls_at_the_same_time(const struct fk_table *table) {
    struct caller c = {open_threads(THREADS), table};
    pthread_t callers[3];
    for (int i = 0; i < 3; i++)
        CHECK(pthread_create(&callers[i], NULL, call_often, &c) == 0);
    for (int i = 0; i < 3; i++)
        CHECK(pthread_join(callers[i], NULL) == 0);
    fk_threads_close(c.threads);
}

static void threads_sleep_and_wake(struct product *p) {
    struct fk_threads *threads = open_threads(THREADS);
    for (int i = 0; i < 20; i++) {
        compute(p, threads);
        is_wanted(p);
        usleep(i % 3 * 500);
    }
    fk_threads_close(threads);
    for (int i = 0; i < 50; i++) /* threads that end at once */
        fk_threads_close(open_threads(1 + i % THREADS));
}

static int threads_of_process(void) {
    char line[256];
    int count = -1;
    FILE *status = fopen("/proc/self/status", "r");
    if (!status)
        return -1;
    while (fgets(line, sizeof line, status))
        if (sscanf(line, "Threads: %d", &count) == 1)
            break;
    fclose(status);
    return count;
}

/* Threads of a child of a process that has only one. An emulator or
 * ThreadSanitizer may add a thread of its own. */
static int threads_of_child;

static void count_threads_of_child(void) {
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0)
        _exit(threads_of_process());
    int status = -1;
    CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status));
    threads_of_child = WEXITSTATUS(status);
}

/* In the child the threads are gone. A call, more engines and an end work. */
static void a_child_computes_alone(struct product *p) {
    struct fk_threads *threads = open_threads(THREADS);
    compute(p, threads);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        compute(p, threads);
        is_wanted(p);
        CHECK(threads_of_process() <= threads_of_child);
        fk_threads_close(threads);
        _exit(0);
    }
    int status = -1;
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    compute(p, threads);
    is_wanted(p);
    fk_threads_close(threads);
}

/* --------------------------------------------------- parts and workspaces */

enum { MOST_PARTS = 20 };

/* A request of a kernel that counts. */
struct counts {
    atomic_int computed[MOST_PARTS];
    int parts;
};

/* The workspace of a thread has a flag, which is set while a part uses it. */
static void count_part(const void *request, int64_t part, int64_t parts,
                       char *workspace) {
    struct counts *c = (struct counts *)(uintptr_t)request;
    atomic_int *is_used = (atomic_int *)(void *)workspace;
    CHECK(parts == c->parts && part >= 0 && part < parts);
    CHECK(atomic_fetch_add(is_used, 1) == 0);
    atomic_fetch_add(&c->computed[part], 1);
    if (part % 3 == 0)
        for (volatile int i = 0; i < 200; i++)
            continue;
    CHECK(atomic_fetch_sub(is_used, 1) == 1);
}

static void each_part_is_computed_once(int count) {
    const struct fk_kernel kernel = {.run = count_part};
    struct fk_threads *threads = open_threads(count);
    struct counts *c = malloc(sizeof *c);
    char *workspace = aligned_alloc(64, (size_t)(64 * count));
    CHECK(c != NULL && workspace != NULL);
    memset(workspace, 0, (size_t)(64 * count));
    /* With two threads, more rounds than their number can count. */
    const int rounds = count == 2 ? 70000 : 3000;
    for (int round = 0; round < rounds; round++) {
        *c = (struct counts){.parts = 1 + round % MOST_PARTS};
        fk_threads_run(threads, &kernel, c, c->parts, workspace, 64);
        for (int i = 0; i < MOST_PARTS; i++)
            CHECK(atomic_load(&c->computed[i]) == (i < c->parts));
        if (round % 10000 == 0)
            usleep(500);
    }
    fk_threads_close(threads);
    free(workspace);
    free(c);
}

/* A part of the first thread that wakes waits until all other parts are done. */
static atomic_int left_parts;

static void wait_for_others(const void *request, int64_t part, int64_t parts,
                            char *workspace) {
    (void)request, (void)parts, (void)workspace;
    if (part > 0)
        atomic_fetch_sub(&left_parts, 1);
    else
        while (atomic_load(&left_parts) > 0)
            usleep(10);
}

/* Whoever computes the first part, the caller or one thread computes the others. */
static void a_slow_part_holds_up_no_other(void) {
    const struct fk_kernel kernel = {.run = wait_for_others};
    struct fk_threads *threads = open_threads(2);
    for (int i = 0; i < 100; i++) {
        atomic_store(&left_parts, 7);
        fk_threads_run(threads, &kernel, NULL, 8, NULL, 0);
    }
    fk_threads_close(threads);
}

static double process_seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void idle_threads_sleep(struct product *p) {
    for (int count = 2; count <= THREADS; count += 2) {
        struct fk_threads *threads = open_threads(count);
        compute(p, threads);
        const double before = process_seconds();
        usleep(300000);
        CHECK(process_seconds() - before < 0.05);
        fk_threads_close(threads);
    }
}

/* The processors of the thread of this process that is not the caller. */
static cpu_set_t set_of_other_thread(int change, const cpu_set_t *to) {
    cpu_set_t set;
    CPU_ZERO(&set);
    FILE *list = popen("ls /proc/$PPID/task", "r");
    CHECK(list != NULL);
    for (int id; fscanf(list, "%d", &id) == 1;)
        if (id != getpid()) {
            if (change)
                CHECK(sched_setaffinity(id, sizeof *to, to) == 0);
            CHECK(sched_getaffinity(id, sizeof set, &set) == 0);
        }
    pclose(list);
    return set;
}

static cpu_set_t only(int processor) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET((size_t)processor, &set);
    return set;
}

/* The thread leaves the processor of the caller, wherever that is, and stays on
 * those that the program chooses for it. */
static void threads_leave_the_processor_of_the_caller(struct product *p) {
    cpu_set_t before, moved;
    CHECK(sched_getaffinity(0, sizeof before, &before) == 0);
    if (CPU_COUNT(&before) < 2 || threads_of_child != 1)
        return;
    struct fk_threads *threads = open_threads(2);
    int at[2], count = 0;
    for (int i = 0; i < CPU_SETSIZE && count < 2; i++)
        if (CPU_ISSET((size_t)i, &before))
            at[count++] = i;
    for (int i = 0; i < 4; i++) {
        moved = only(at[i % 2]);
        CHECK(sched_setaffinity(0, sizeof moved, &moved) == 0);
        compute_parts(p, threads, 2);
        is_wanted(p);
        cpu_set_t set = set_of_other_thread(0, NULL);
        CHECK(!CPU_ISSET((size_t)at[i % 2], &set));
        CHECK(CPU_COUNT(&set) == CPU_COUNT(&before) - 1);
    }
    /* The last run has excluded this one. */
    moved = only(at[1]);
    set_of_other_thread(1, &moved);
    for (int i = 0; i < 4; i++) {
        cpu_set_t here = only(at[i % 2]);
        CHECK(sched_setaffinity(0, sizeof here, &here) == 0);
        compute_parts(p, threads, 2);
        is_wanted(p);
        cpu_set_t set = set_of_other_thread(0, NULL);
        CHECK(CPU_EQUAL(&set, &moved));
    }
    CHECK(sched_setaffinity(0, sizeof before, &before) == 0);
    fk_threads_close(threads);
}

static void check_set(const char *name, const struct fk_table *table) {
    static struct product p;
    struct fk_threads *one = open_threads(1);
    prepare(&p, table);
    compute_parts(&p, one, 1);
    fk_threads_close(one);
    memcpy(wanted, p.output, sizeof wanted);
    agrees_with_double();
    threads_sleep_and_wake(&p);
    calls_at_the_same_time(table);
    a_child_computes_alone(&p);
    idle_threads_sleep(&p);
    threads_leave_the_processor_of_the_caller(&p);
    free(p.workspace);
    printf("ok %s\n", name);
}

#if defined(__x86_64__)
extern const struct fk_table fk_table_sse2, fk_table_avx2, fk_table_avx512;
#else
extern const struct fk_table fk_table_neon;
#endif

int main(void) {
    for (int i = 0; i < M * K; i++)
        left[i] = (float)(i * 37 % 101 - 50) / 64;
    for (int i = 0; i < K * N; i++)
        right[i] = (float)(i * 53 % 103 - 51) / 64;
    count_threads_of_child();
    for (int count = 2; count <= THREADS; count++)
        each_part_is_computed_once(count);
    a_slow_part_holds_up_no_other();
    int sets = 0;
#if defined(__x86_64__)
    check_set("sse2", &fk_table_sse2), sets++;
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        check_set("avx2", &fk_table_avx2), sets++;
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl"))
        check_set("avx512", &fk_table_avx512), sets++;
#else
    check_set("neon", &fk_table_neon), sets++;
#endif
    printf("%d passed, 0 failed\n", sets);
    return 0;
}
