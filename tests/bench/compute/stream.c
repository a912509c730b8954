/*
 * One row times matrices that no cache holds, in turns with a sum of the same
 * bytes: how near a product comes to the rate at which the memory is read.
 */
#include "compute.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SIDE = 4096, BLOCK = 32 };
/* Matrices have at least this many times the bytes of the last cache. */
enum { CACHES = 4 };

/* The row and the result have the type of the weights, or F32 beside blocks. */
static const struct kind {
    const char *name, *operator;
    ferrum_dtype type, row;
    /* The error of a result that is rounded to the type. */
    double error;
} kinds[] = {
    {"f32", "ferrum.linear", FERRUM_DTYPE_F32, FERRUM_DTYPE_F32, 1e-5},
    {"f16", "ferrum.linear", FERRUM_DTYPE_F16, FERRUM_DTYPE_F16, 6e-4},
    {"bf16", "ferrum.linear", FERRUM_DTYPE_BF16, FERRUM_DTYPE_BF16, 5e-3},
    {"q8_0", "ferrum.quantized_linear", FERRUM_DTYPE_Q8_0, FERRUM_DTYPE_F32,
     1e-5},
    {"q4_0", "ferrum.quantized_linear", FERRUM_DTYPE_Q4_0, FERRUM_DTYPE_F32,
     1e-5},
};
enum { KINDS = sizeof kinds / sizeof kinds[0] };

/* The caches as the system describes them. */
static uint64_t last_cache_bytes(void) {
    uint64_t largest = 0;
    for (int i = 0; i < 8; i++) {
        char path[80], unit = 0;
        unsigned long long size;
        snprintf(path, sizeof path,
                 "/sys/devices/system/cpu/cpu0/cache/index%d/size", i);
        FILE *file = fopen(path, "r");
        if (file == NULL)
            continue;
        if (fscanf(file, "%llu%c", &size, &unit) >= 1) {
            size *= unit == 'K' ? 1024 : unit == 'M' ? 1 << 20 : 1;
            largest = size > largest ? size : largest;
        }
        fclose(file);
    }
    return largest;
}

static uint64_t free_bytes(void) {
    char line[128];
    unsigned long long kib = 0;
    FILE *file = fopen("/proc/meminfo", "r");
    while (file != NULL && fgets(line, sizeof line, file) != NULL)
        if (sscanf(line, "MemAvailable: %llu", &kib) == 1)
            break;
    if (file != NULL)
        fclose(file);
    return kib * 1024;
}

/* Weights that the type represents: sixteenths from -4 to 4, or those of 4 bits. */
static int sixteenth(ferrum_dtype type, int row, int column) {
    int most = type == FERRUM_DTYPE_Q4_0 ? 7 : 64;
    unsigned number = (unsigned)(row * 31 + column * 17 + row * column % 7);
    return (int)(number % (unsigned)(2 * most + 1)) - most;
}

static void put(ferrum_dtype type, void *to, int64_t at, float value) {
    _Float16 half = (_Float16)value;
    switch (type) {
    case FERRUM_DTYPE_F32:
        memcpy((char *)to + 4 * at, &value, 4);
        break;
    case FERRUM_DTYPE_F16:
        memcpy((char *)to + 2 * at, &half, 2);
        break;
    default: /* BF16 is the upper half of F32 */
        memcpy((char *)to + 2 * at, (char *)&value + 2, 2);
    }
}

static float get(ferrum_dtype type, const void *from, int64_t at) {
    float value = 0;
    _Float16 half;
    switch (type) {
    case FERRUM_DTYPE_F32:
        memcpy(&value, (const char *)from + 4 * at, 4);
        return value;
    case FERRUM_DTYPE_F16:
        memcpy(&half, (const char *)from + 2 * at, 2);
        return (float)half;
    default:
        memcpy((char *)&value + 2, (const char *)from + 2 * at, 2);
        return value;
    }
}

/* Bytes of a block, or 0 for a type without blocks. */
static uint64_t block_bytes(ferrum_dtype type) {
    return type == FERRUM_DTYPE_Q8_0   ? 2 + BLOCK
           : type == FERRUM_DTYPE_Q4_0 ? 2 + BLOCK / 2
                                       : 0;
}

static uint64_t bytes_of(ferrum_dtype type, uint64_t count) {
    if (block_bytes(type) != 0)
        return count / BLOCK * block_bytes(type);
    return type == FERRUM_DTYPE_F32 ? 4 * count : 2 * count;
}

/* Rows of W. A block is a scale and 32 numbers, of 8 bits, or of 4 bits with 8
 * added: byte i has numbers i and i + 16. */
static void fill(ferrum_dtype type, void *w) {
    const uint64_t bytes = block_bytes(type);
    if (bytes != 0)
        memset(w, 0, bytes_of(type, (uint64_t)SIDE * SIDE));
    for (int j = 0; j < SIDE; j++)
        for (int l = 0; l < SIDE; l++) {
            int64_t at = (int64_t)j * SIDE + l, i = at % BLOCK;
            int number = sixteenth(type, j, l);
            if (bytes == 0) {
                put(type, w, at, (float)number / 16);
                continue;
            }
            uint8_t *block = (uint8_t *)w + (uint64_t)(at / BLOCK) * bytes;
            put(FERRUM_DTYPE_F16, block, 0, 1.0f / 16);
            if (type == FERRUM_DTYPE_Q8_0)
                block[2 + i] = (uint8_t)number;
            else
                block[2 + i % 16] |= (uint8_t)((number + 8) << i / 16 * 4);
        }
}

/* The sum of 32-bit numbers in several vectors at a time. */
typedef uint32_t lanes __attribute__((vector_size(64)));

static uint32_t sum_of(const void *memory, uint64_t bytes) {
    lanes sums[8] = {{0}};
    const lanes *at = memory;
    uint64_t count = bytes / sizeof *at, i = 0;
    for (; i + 8 <= count; i += 8)
        for (int s = 0; s < 8; s++)
            sums[s] += at[i + (uint64_t)s];
    for (; i < count; i++)
        sums[0] += at[i];
    uint32_t total = 0;
    for (int s = 0; s < 8; s++)
        for (int l = 0; l < 16; l++)
            total += sums[s][l];
    return total;
}

/* A row, rotated matrices and a result for each. */
struct rotation {
    const struct kind *kind;
    ferrum_op op;
    ferrum_tensor x;
    /* Of the matrices, and of one of them. */
    uint64_t count, bytes;
    ferrum_tensor *packed, *outputs;
    const void **memory;
    char *row, *y;
    uint64_t y_bytes;
};

static void pack(const struct backend *backend, struct rotation *r) {
    ferrum_stream stream = {0};
    uint64_t bytes = bytes_of(r->kind->type, (uint64_t)SIDE * SIDE);
    void *w = memory_of(bytes);
    fill(r->kind->type, w);
    ferrum_tensor source =
        matrix_of(backend, w, bytes, r->kind->type, SIDE, SIDE);
    for (uint64_t i = 0; i < r->count; i++) {
        ferrum_tensor_desc desc = FERRUM_TENSOR_DESC_INIT;
        MUST(op_pack(r->op, 1, source, &in_backend, stream, &r->packed[i]));
        MUST(tensor_describe(r->packed[i], &desc));
        r->memory[i] = (const void *)(uintptr_t)desc.address;
        r->bytes = desc.size_bytes;
        r->outputs[i] = matrix_of(backend, r->y + i * r->y_bytes, r->y_bytes,
                                  r->kind->row, 1, SIDE);
    }
    MUST(tensor_destroy(source));
    free(w);
}

static struct rotation rotation_of(const struct backend *backend,
                                   const struct kind *kind, uint64_t wanted) {
    struct rotation r = {.kind = kind};
    uint64_t bytes = bytes_of(kind->type, (uint64_t)SIDE * SIDE);
    r.count = (wanted + bytes - 1) / bytes;
    r.packed = calloc(r.count, sizeof *r.packed);
    r.outputs = calloc(r.count, sizeof *r.outputs);
    r.memory = calloc(r.count, sizeof *r.memory);
    if (r.packed == NULL || r.outputs == NULL || r.memory == NULL)
        die("no memory for the lists");
    r.y_bytes = bytes_of(kind->row, SIDE);
    r.row = memory_of(r.y_bytes);
    r.y = memory_of(r.y_bytes * r.count);
    for (int l = 0; l < SIDE; l++)
        put(kind->row, r.row, l,
            kind->row == FERRUM_DTYPE_F32 ? (float)(rand() % 2001 - 1000) / 1000
                                          : (float)(rand() % 129 - 64) / 16);
    r.x = matrix_of(backend, r.row, r.y_bytes, kind->row, 1, SIDE);
    MUST(op_prepare(backend->compute, kind->operator, "", 0, 0, &r.op));
    pack(backend, &r);
    return r;
}

static void multiply(struct rotation *r) {
    ferrum_stream stream = {0};
    for (uint64_t i = 0; i < r->count; i++) {
        ferrum_tensor inputs[] = {r->x, r->packed[i]};
        MUST(op_run(r->op, inputs, 2, &r->outputs[i], 1, stream));
    }
}

static uint32_t sum(const struct rotation *r) {
    uint32_t total = 0;
    for (uint64_t i = 0; i < r->count; i++)
        total += sum_of(r->memory[i], r->bytes);
    return total;
}

/* All results are the same, and the first one is near the sums in double. */
static double error_of(const struct rotation *r) {
    double error = 0, largest = 0;
    for (uint64_t i = 1; i < r->count; i++)
        if (memcmp(r->y, r->y + i * r->y_bytes, r->y_bytes) != 0)
            return INFINITY;
    for (int j = 0; j < SIDE; j++) {
        double expected = 0;
        for (int l = 0; l < SIDE; l++)
            expected += (double)get(r->kind->row, r->row, l) *
                        sixteenth(r->kind->type, j, l) / 16;
        double found = (double)get(r->kind->row, r->y, j);
        double difference = fabs(expected - found);
        if (!(difference <= error))
            error = isnan(difference) ? INFINITY : difference;
        largest = fmax(largest, fabs(expected));
    }
    return error / largest;
}

static void rotation_end(struct rotation *r) {
    for (uint64_t i = 0; i < r->count; i++) {
        MUST(tensor_destroy(r->packed[i]));
        MUST(tensor_destroy(r->outputs[i]));
    }
    MUST(tensor_destroy(r->x));
    MUST(op_destroy(r->op));
    free(r->packed);
    free(r->outputs);
    free(r->memory);
    free(r->row);
    free(r->y);
}

static void measure(const struct backend *backend, const struct kind *kind,
                    uint64_t wanted, uint64_t rounds) {
    struct rotation r = rotation_of(backend, kind, wanted);
    double *ours = numbers(rounds), *plain = numbers(rounds);
    double bytes = (double)r.bytes * (double)r.count;
    multiply(&r);
    uint32_t expected = sum(&r);
    for (uint64_t i = 0; i < rounds; i++) {
        uint64_t begin = clock_ns();
        multiply(&r);
        uint64_t middle = clock_ns();
        if (sum(&r) != expected)
            die("the matrices have changed");
        ours[i] = bytes / (double)(middle - begin);
        plain[i] = bytes / (double)(clock_ns() - middle);
    }
    printf("{\"type\": \"%s\", \"bytes\": %.0f, \"matrices\": %llu, ",
           kind->name, bytes, (unsigned long long)r.count);
    print_list("ours_gb_s", ours, rounds);
    printf(", ");
    print_list("sum_gb_s", plain, rounds);
    printf(", ");
    print_error(error_of(&r), kind->error);
    printf("}");
    free(ours);
    free(plain);
    rotation_end(&r);
}

void row_stream(const struct settings *settings) {
    uint64_t cache = last_cache_bytes(), wanted = CACHES * cache;
    if (cache == 0) {
        fprintf(stderr, "the system does not describe its caches\n");
        exit(3);
    }
    if (settings->bytes != 0)
        wanted = settings->bytes;
    if (wanted > free_bytes() / 2) {
        fprintf(stderr,
                "%d times the last cache of %llu MiB do not fit into "
                "the memory\n",
                CACHES, (unsigned long long)cache >> 20);
        exit(3);
    }
    struct backend backend = backend_open(settings->set, 1);
    stay_on_core(0);
    printf("\"cache_bytes\": %llu, \"types\": [", (unsigned long long)cache);
    for (size_t i = 0; i < KINDS; i++) {
        printf("%s", i == 0 ? "" : ", ");
        measure(&backend, &kinds[i], wanted, settings->rounds);
    }
    printf("], ");
    backend_close(&backend);
}
