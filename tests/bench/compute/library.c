/* The functions of the library, an open backend, and products. */
#include "compute.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct library library;
const ferrum_weights_memory in_backend;

const struct shape shapes[SHAPES] = {
    {1, 1536, 384},   {1, 4096, 4096},   {16, 384, 384},
    {16, 1536, 384},  {128, 384, 384},   {128, 1536, 384},
    {128, 384, 1536}, {128, 4096, 4096}, {1024, 1536, 384}};

void must(ferrum_status status, const char *what) {
    if (status == FERRUM_OK)
        return;
    ferrum_error_info error = FERRUM_ERROR_INFO_INIT;
    library.last_error(&error);
    die("%s: status %d, %s", what, (int)status, error.message);
}

void *memory_of(uint64_t bytes) {
    void *memory = aligned_alloc(64, (bytes + 63) / 64 * 64);
    if (memory == NULL)
        die("no memory for %llu bytes", (unsigned long long)bytes);
    return memory;
}

struct backend backend_open(const char *set, uint32_t threads) {
    struct backend backend;
    char options[64];
    ferrum_compute_config config = FERRUM_COMPUTE_CONFIG_INIT;
    MUST(device_open("cpu:0", &backend.device));
    config.device = backend.device;
    config.threads = threads;
    if (*set != 0) {
        config.options_json = options;
        config.options_bytes = (uint64_t)snprintf(
            options, sizeof options, "{\"instruction_set\": \"%s\"}", set);
    }
    ferrum_status status = library.compute_open(&config, &backend.compute);
    if (status == FERRUM_ERROR_UNSUPPORTED) {
        ferrum_error_info error = FERRUM_ERROR_INFO_INIT;
        library.last_error(&error);
        fprintf(stderr, "%s\n", error.message);
        exit(3);
    }
    must(status, "ferrum_compute_open");
    return backend;
}

void backend_close(struct backend *backend) {
    MUST(compute_close(backend->compute, 0));
    MUST(device_close(backend->device, 0));
}

ferrum_tensor matrix_of(const struct backend *backend, void *memory,
                        uint64_t bytes, ferrum_dtype type, int64_t rows,
                        int64_t columns) {
    ferrum_tensor_desc desc = FERRUM_TENSOR_DESC_INIT;
    desc.dtype = type;
    desc.flags = FERRUM_ELEMENTS_CONTIGUOUS;
    desc.rank = 2;
    desc.shape[0] = rows;
    desc.shape[1] = columns;
    ferrum_tensor tensor;
    MUST(tensor_wrap(backend->device, (ferrum_address)(uintptr_t)memory, bytes,
                     &desc, NULL, NULL, &tensor));
    return tensor;
}

static ferrum_tensor floats_of(const struct backend *backend, float *values,
                               int rows, int columns) {
    return matrix_of(backend, values, 4 * (uint64_t)rows * (uint64_t)columns,
                     FERRUM_DTYPE_F32, rows, columns);
}

static float *random_floats(int rows, int columns) {
    uint64_t count = (uint64_t)rows * (uint64_t)columns;
    float *values = memory_of(4 * count);
    for (uint64_t i = 0; i < count; i++)
        values[i] = (float)(rand() % 2001 - 1000) / 1000;
    return values;
}

struct product product_of(const struct backend *backend, struct shape shape) {
    struct product p = {.shape = shape};
    int m = shape.m, n = shape.n, k = shape.k;
    p.a = random_floats(m, k);
    p.b = random_floats(k, n);
    p.y = memory_of(4 * (uint64_t)m * (uint64_t)n);
    p.inputs[0] = floats_of(backend, p.a, m, k);
    p.output = floats_of(backend, p.y, m, n);
    ferrum_tensor weights = floats_of(backend, p.b, k, n);
    ferrum_stream stream = {0};
    MUST(op_prepare(backend->compute, "MatMul", "", 0, 0, &p.op));
    MUST(op_pack(p.op, 1, weights, &in_backend, stream, &p.inputs[1]));
    MUST(tensor_destroy(weights));
    return p;
}

void product_run(struct product *p) {
    ferrum_stream stream = {0};
    MUST(op_run(p->op, p->inputs, 2, &p->output, 1, stream));
}

void product_end(struct product *p) {
    MUST(tensor_destroy(p->inputs[0]));
    MUST(tensor_destroy(p->inputs[1]));
    MUST(tensor_destroy(p->output));
    MUST(op_destroy(p->op));
    free(p->a);
    free(p->b);
    free(p->y);
}

double product_error(const struct product *p, const float *y) {
    int n = p->shape.n, k = p->shape.k;
    double *sums = memory_of(8 * (uint64_t)n);
    double error = 0, largest = 0;
    for (int i = 0; i < p->shape.m; i++) {
        memset(sums, 0, 8 * (size_t)n);
        for (int l = 0; l < k; l++) {
            double x = p->a[(int64_t)i * k + l];
            const float *row = p->b + (int64_t)l * n;
            for (int j = 0; j < n; j++)
                sums[j] += x * (double)row[j];
        }
        for (int j = 0; j < n; j++) {
            double difference = fabs(sums[j] - (double)y[(int64_t)i * n + j]);
            /* A NaN is an error without a bound. */
            if (!(difference <= error))
                error = isnan(difference) ? INFINITY : difference;
            largest = fmax(largest, fabs(sums[j]));
        }
    }
    free(sums);
    return error / largest;
}

int product_calls(struct shape s) {
    double work = 2.0 * s.m * s.n * s.k;
    return work < 5e7 ? (int)(5e7 / work) + 1 : 1;
}

void print_error(double error, double most) {
    if (!(error <= most))
        die("a result is wrong: %g of the largest element", error);
    printf("\"error\": %.3e", error);
}
