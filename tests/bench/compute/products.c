/*
 * Matrix products on one thread with packed weights, in turns with those of
 * OpenBLAS, and the scaling of two threads.
 */
#include "compute.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The functions of cblas.h, with the prefix of the wheel. */
enum { ROW_MAJOR = 101, PLAIN = 111, TRANSPOSED = 112 };
static struct {
    void (*gemm)(int, int, int, int, int, int, float, const float *, int,
                 const float *, int, float, float *, int);
    void (*gemv)(int, int, int, int, float, const float *, int, const float *,
                 int, float, float *, int);
    char *(*core)(void);
    void (*threads)(int);
} blas;

static void open_peer(const char *file) {
    void *handle = file == NULL ? NULL : library_open(file);
    if (handle == NULL)
        die("--peer: needed");
    const struct {
        const char *name;
        void *function;
    } symbols[] = {
        {"scipy_cblas_sgemm", &blas.gemm},
        {"scipy_cblas_sgemv", &blas.gemv},
        {"scipy_openblas_get_corename", &blas.core},
        {"scipy_openblas_set_num_threads", &blas.threads},
    };
    for (size_t i = 0; i < sizeof symbols / sizeof symbols[0]; i++)
        if (!library_symbol(handle, symbols[i].name, symbols[i].function))
            die("%s has no %s", file, symbols[i].name);
    blas.threads(1);
}

/* The same product by the peer. */
struct peer {
    const struct product *product;
    float *y;
    /* The weights by columns, for a row; NULL if by rows is faster. */
    float *turned;
};

static void peer_run(struct peer *p) {
    struct shape s = p->product->shape;
    const float *a = p->product->a, *b = p->product->b;
    if (s.m > 1)
        blas.gemm(ROW_MAJOR, PLAIN, PLAIN, s.m, s.n, s.k, 1, a, s.k, b, s.n, 0,
                  p->y, s.n);
    else if (p->turned != NULL)
        blas.gemv(ROW_MAJOR, PLAIN, s.n, s.k, 1, p->turned, s.k, a, 1, 0, p->y,
                  1);
    else
        blas.gemv(ROW_MAJOR, TRANSPOSED, s.k, s.n, 1, b, s.n, a, 1, 0, p->y, 1);
}

static double ours_ns(struct product *p, int calls) {
    uint64_t begin = clock_ns();
    for (int i = 0; i < calls; i++)
        product_run(p);
    return (double)(clock_ns() - begin) / calls;
}

static double peer_ns(struct peer *p, int calls) {
    uint64_t begin = clock_ns();
    for (int i = 0; i < calls; i++)
        peer_run(p);
    return (double)(clock_ns() - begin) / calls;
}

/* Gives the peer its weights in the order that it multiplies faster. */
static void choose_order(struct peer *p, int calls) {
    struct shape s = p->product->shape;
    if (s.m > 1)
        return;
    float *turned = memory_of(4 * (uint64_t)s.n * (uint64_t)s.k);
    for (int l = 0; l < s.k; l++)
        for (int j = 0; j < s.n; j++)
            turned[(int64_t)j * s.k + l] = p->product->b[(int64_t)l * s.n + j];
    double best[2] = {1e18, 1e18};
    for (int i = 0; i < 10; i++) {
        p->turned = i % 2 == 0 ? NULL : turned;
        double taken = peer_ns(p, calls);
        if (taken < best[i % 2])
            best[i % 2] = taken;
    }
    p->turned = best[1] < best[0] ? turned : NULL;
    if (p->turned == NULL)
        free(turned);
}

static void print_head(struct shape s, bool is_first) {
    printf("%s{\"shape\": \"%dx%dx%d\", ", is_first ? "" : ", ", s.m, s.n, s.k);
}

static void compare(const struct backend *backend, struct shape s,
                    uint64_t rounds) {
    /* One row takes so little time that programs of others in the same cache
     * disturb whole rounds. */
    if (s.m == 1)
        rounds *= 5;
    struct product p = product_of(backend, s);
    struct peer peer = {&p, memory_of(4 * (uint64_t)s.m * (uint64_t)s.n), NULL};
    int calls = product_calls(s);
    double *ours = numbers(rounds), *theirs = numbers(rounds);
    product_run(&p);
    choose_order(&peer, calls);
    peer_run(&peer);
    for (uint64_t i = 0; i < rounds; i++) {
        if (i % 2 == 0)
            ours[i] = ours_ns(&p, calls);
        theirs[i] = peer_ns(&peer, calls);
        if (i % 2 != 0)
            ours[i] = ours_ns(&p, calls);
    }
    if (!(product_error(&p, peer.y) < 1e-3))
        die("the peer computed another product");
    print_list("ours_ns", ours, rounds);
    printf(", ");
    print_list("peer_ns", theirs, rounds);
    printf(", ");
    print_error(product_error(&p, p.y), F32_ERROR);
    printf("}");
    free(ours);
    free(theirs);
    free(peer.y);
    free(peer.turned);
    product_end(&p);
}

void row_products(const struct settings *settings) {
    open_peer(settings->peer);
    struct backend backend = backend_open(settings->set, 1);
    stay_on_core(0);
    printf("\"core\": \"%s\", \"shapes\": [", blas.core());
    for (int i = 0; i < SHAPES; i++) {
        print_head(shapes[i], i == 0);
        compare(&backend, shapes[i], settings->rounds);
    }
    printf("], ");
    backend_close(&backend);
}

/* ------------------------------------------------------------- two threads */

/* Enough to know how long a step of the loop takes. */
enum { LOOP = 200000 };

struct worker {
    pthread_t thread;
    pthread_barrier_t *start;
    unsigned core;
    uint64_t steps;
    double taken;
};

/* Plain arithmetic in registers. */
static void *loop(void *argument) {
    struct worker *worker = argument;
    stay_on_core(worker->core);
    pthread_barrier_wait(worker->start);
    uint64_t begin = clock_ns(), x = worker->core + 1;
    for (uint64_t i = 0; i < worker->steps; i++) {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
    }
    worker->taken = (double)(clock_ns() - begin) + (x == 0);
    return NULL;
}

/* The time of the slowest of some threads with the same work. */
static double loop_ns(unsigned threads, uint64_t steps) {
    struct worker workers[2] = {{0}};
    pthread_barrier_t start;
    pthread_barrier_init(&start, NULL, threads);
    double slowest = 0;
    for (unsigned i = 0; i < threads; i++) {
        workers[i].start = &start;
        workers[i].core = i;
        workers[i].steps = steps;
        if (pthread_create(&workers[i].thread, NULL, loop, &workers[i]) != 0)
            die("no thread");
    }
    for (unsigned i = 0; i < threads; i++) {
        pthread_join(workers[i].thread, NULL);
        if (workers[i].taken > slowest)
            slowest = workers[i].taken;
    }
    pthread_barrier_destroy(&start);
    return slowest;
}

/* The same product several times in a bound sequence, as a model runs its operations:
 * in one call, with no other work between them. */
static ferrum_sequence repeated(const struct backend *backend,
                                struct product *p, int times) {
    ferrum_sequence sequence;
    MUST(sequence_create(backend->compute, &sequence));
    for (int i = 0; i < times; i++)
        MUST(sequence_add(sequence, p->op, p->inputs, 2, &p->output, 1));
    return sequence;
}

static double sequence_ns(ferrum_sequence sequence) {
    ferrum_stream stream = {0};
    uint64_t begin = clock_ns();
    MUST(sequence_run(sequence, stream));
    return (double)(clock_ns() - begin);
}

static void scale(const struct backend backends[2], struct shape s,
                  uint64_t rounds) {
    struct product p[2];
    ferrum_sequence sequences[2];
    double *ours = numbers(rounds), *plain = numbers(rounds);
    /* Several milliseconds, because the second thread sleeps between measurements.
     * Between the operations of a model it does not. */
    int times = (int)(1e9 / (2.0 * s.m * s.n * s.k)) + 1;
    for (int i = 0; i < 2; i++) {
        p[i] = product_of(&backends[i], s);
        sequences[i] = repeated(&backends[i], &p[i], times);
        sequence_ns(sequences[i]);
    }
    /* The loop takes as long as the products, so others disturb both alike. */
    double step_ns = loop_ns(1, LOOP) / LOOP;
    uint64_t steps = (uint64_t)(sequence_ns(sequences[0]) / step_ns) + 1;
    for (uint64_t i = 0; i < rounds; i++) {
        double alone = sequence_ns(sequences[0]);
        ours[i] = alone / sequence_ns(sequences[1]);
        alone = loop_ns(1, steps);
        plain[i] = 2 * alone / loop_ns(2, steps);
    }
    print_list("ours", ours, rounds);
    printf(", ");
    print_list("loop", plain, rounds);
    printf(", ");
    double error = product_error(&p[0], p[0].y);
    double other = product_error(&p[1], p[1].y);
    print_error(error > other ? error : other, F32_ERROR);
    printf("}");
    free(ours);
    free(plain);
    for (int i = 0; i < 2; i++) {
        MUST(sequence_destroy(sequences[i]));
        product_end(&p[i]);
    }
}

void row_threads(const struct settings *settings) {
    struct backend backends[2];
    for (uint32_t i = 0; i < 2; i++)
        backends[i] = backend_open(settings->set, i + 1);
    printf("\"shapes\": [");
    bool is_first = true;
    for (int i = 0; i < SHAPES; i++) {
        if (shapes[i].m < 128)
            continue;
        print_head(shapes[i], is_first);
        scale(backends, shapes[i], settings->rounds);
        is_first = false;
    }
    printf("], ");
    for (int i = 0; i < 2; i++)
        backend_close(&backends[i]);
}
