/*
 * Matrix products of the CPU engine beside OpenBLAS, on one thread, in turns. The
 * weights are packed once. It prints GFLOP/s of both and their ratio, and the
 * ratio's geometric mean; each output is first compared with sums in double.
 *
 *   build/test/kernels/plain/bench_products SET PATH/TO/libscipy_openblas.so
 *
 * The library is that of the Python wheel scipy-openblas32. For AVX2, set
 * OPENBLAS_CORETYPE=Haswell.
 */
#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "engines/cpu/kernels/interface.h"

typedef void gemm_run(int, int, int, int, int, int, float, const float *, int,
                      const float *, int, float, float *, int);
typedef void gemv_run(int, int, int, int, float, const float *, int,
                      const float *, int, float, float *, int);

enum { ROW_MAJOR = 101, NOT_TURNED = 111, TURNED = 112 };

static gemm_run *gemm;
static gemv_run *gemv;

/* One product, and the memory of both sides. */
struct product {
    int m, n, k;
    float *a, *b, *y, *peer;
    struct fk_matmul request;
    const struct fk_kernel *kernel;
    char *workspace;
};

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void *memory(int64_t bytes) {
    void *p = aligned_alloc(64, (size_t)(bytes + 63) / 64 * 64);
    if (!p)
        exit(1);
    return p;
}

static float *random_floats(int64_t n) {
    float *values = memory(4 * n);
    for (int64_t i = 0; i < n; i++)
        values[i] = (float)(rand() % 2001 - 1000) / 1000;
    return values;
}

static struct product make(const struct fk_table *table, int m, int n, int k) {
    struct product p = {m, n, k, .kernel = &table->kernels[FK_KERNEL_MATMUL]};
    p.a = random_floats((int64_t)m * k);
    p.b = random_floats((int64_t)k * n);
    p.y = memory(4 * (int64_t)m * n);
    p.peer = memory(4 * (int64_t)m * n);
    char *packed = memory(table->packed_bytes(FK_F32, n, k));
    struct fk_pack pack = {n, k, (uintptr_t)p.b,   FK_F32,
                           n, 1, (uintptr_t)packed};
    table->kernels[FK_KERNEL_PACK].run(&pack, 0, 1, NULL);
    p.request = (struct fk_matmul){.m = m,
                                   .n = n,
                                   .k = k,
                                   .a = (uintptr_t)p.a,
                                   .a_row = k,
                                   .a_column = 1,
                                   .b = (uintptr_t)packed,
                                   .b_packed = 1,
                                   .y = (uintptr_t)p.y,
                                   .y_row = n,
                                   .alpha = 1};
    p.workspace = memory(p.kernel->workspace(&p.request) + 64);
    return p;
}

static void drop(struct product *p) {
    free(p->a);
    free(p->b);
    free(p->y);
    free(p->peer);
    free((void *)(uintptr_t)p->request.b);
    free(p->workspace);
}

static void own(struct product *p) {
    p->kernel->run(&p->request, 0, 1, p->workspace);
}

static void peer(struct product *p) {
    if (p->m == 1)
        gemv(ROW_MAJOR, TURNED, p->k, p->n, 1, p->b, p->n, p->a, 1, 0, p->peer,
             1);
    else
        gemm(ROW_MAJOR, NOT_TURNED, NOT_TURNED, p->m, p->n, p->k, 1, p->a, p->k,
             p->b, p->n, 0, p->peer, p->n);
}

/* Compares some elements of every row with sums in double. */
static void check(const struct product *p) {
    for (int i = 0; i < p->m; i++)
        for (int j = i % 61; j < p->n; j += 61) {
            double sum = 0, size = 0;
            for (int k = 0; k < p->k; k++) {
                double x = (double)p->a[(int64_t)i * p->k + k] *
                           p->b[(int64_t)k * p->n + j];
                sum += x;
                size += fabs(x);
            }
            if (!(fabs(sum - p->y[(int64_t)i * p->n + j]) <= 1e-6 * size)) {
                fprintf(stderr, "a wrong result at %d, %d\n", i, j);
                exit(1);
            }
        }
}

static double best_of(void (*run)(struct product *), struct product *p,
                      int times, double best) {
    double start = now();
    for (int i = 0; i < times; i++)
        run(p);
    double taken = (now() - start) / times;
    return taken < best ? taken : best;
}

static double ratio_of(const struct fk_table *table, int m, int n, int k) {
    struct product p = make(table, m, n, k);
    own(&p);
    check(&p);
    double work = 2.0 * m * n * k, ours = 1e9, theirs = 1e9;
    int times = work < 2e7 ? (int)(2e7 / work) + 1 : 1;
    for (int i = 0; i < (work > 1e9 ? 10 : 60); i++) {
        ours = best_of(own, &p, times, ours);
        theirs = best_of(peer, &p, times, theirs);
    }
    printf("%5d %5d %5d   own %6.1f   openblas %6.1f   ratio %.2f\n", m, n, k,
           work / ours * 1e-9, work / theirs * 1e-9, theirs / ours);
    drop(&p);
    return theirs / ours;
}

#if defined(__x86_64__)
extern const struct fk_table fk_table_sse2, fk_table_avx2, fk_table_avx512;
#else
extern const struct fk_table fk_table_neon;
#endif

static const struct fk_table *table_of(const char *name) {
#if defined(__x86_64__)
    if (strcmp(name, "sse2") == 0)
        return &fk_table_sse2;
    if (strcmp(name, "avx2") == 0)
        return &fk_table_avx2;
    return strcmp(name, "avx512") == 0 ? &fk_table_avx512 : NULL;
#else
    return strcmp(name, "neon") == 0 ? &fk_table_neon : NULL;
#endif
}

int main(int count, char **arguments) {
    static const int shapes[][3] = {
        {1, 1536, 384},   {1, 4096, 4096},   {16, 384, 384},
        {16, 1536, 384},  {128, 384, 384},   {128, 1536, 384},
        {128, 384, 1536}, {128, 4096, 4096}, {1024, 1536, 384}};
    const struct fk_table *table = count == 3 ? table_of(arguments[1]) : NULL;
    if (!table)
        return fprintf(stderr, "two arguments: set, library\n"), 2;
    setenv("OPENBLAS_NUM_THREADS", "1", 1);
    void *library = dlopen(arguments[2], RTLD_NOW);
    if (!library)
        return fprintf(stderr, "%s\n", dlerror()), 2;
    gemm = (gemm_run *)dlsym(library, "scipy_cblas_sgemm");
    gemv = (gemv_run *)dlsym(library, "scipy_cblas_sgemv");
    if (!gemm || !gemv)
        return fprintf(stderr, "no scipy_cblas_sgemm\n"), 2;
    double sum = 0;
    const int n = sizeof shapes / sizeof *shapes;
    for (int i = 0; i < n; i++)
        sum += log(ratio_of(table, shapes[i][0], shapes[i][1], shapes[i][2]));
    printf("geometric mean %.2f\n", exp(sum / n));
    return 0;
}
