/*
 * The threads of the CPU engine, with every instruction set that this machine
 * executes. The results on any number of threads have the bits of one thread: when
 * threads call at the same time, after threads slept, and in a forked child. One
 * result is compared with sums in double.
 */
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
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
    compute_parts(p, threads, THREADS);
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
