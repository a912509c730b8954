/*
 * What the rows of the program share: the functions of the library, an open
 * backend, tensors over arrays of this program, and references in double.
 */
#ifndef FERRUM_BENCH_COMPUTE_H
#define FERRUM_BENCH_COMPUTE_H

#include "ferrum_mem.h"

#include "../bench.h"

#define FUNCTIONS(X)    \
    X(init)             \
    X(shutdown)         \
    X(last_error)       \
    X(version_string)   \
    X(device_open)      \
    X(device_close)     \
    X(compute_open)     \
    X(compute_close)    \
    X(op_prepare)       \
    X(op_destroy)       \
    X(op_run)           \
    X(op_pack)          \
    X(sequence_create)  \
    X(sequence_add)     \
    X(sequence_run)     \
    X(sequence_destroy) \
    X(tensor_wrap)      \
    X(tensor_describe)  \
    X(tensor_destroy)

/** The functions of the library, without their prefix. */
#define FIELD(name) __typeof__(&ferrum_##name) name;
extern struct library {
    FUNCTIONS(FIELD)
} library;
#undef FIELD

void must(ferrum_status status, const char *what);
#define MUST(call) must(library.call, "ferrum_" #call)

/** The settings of the command line. */
struct settings {
    /** The instruction set; "": the best one. */
    const char *set;
    /** The library of OpenBLAS, or NULL. */
    const char *peer;
    /** The library with the bare crossing, or NULL. */
    const char *crossing;
    uint64_t rounds;
    /** The most bytes of matrices that are rotated. 0: as many as there must be. */
    uint64_t bytes;
};

/** An open backend on the host. */
struct backend {
    ferrum_device device;
    ferrum_compute compute;
};

/** Opens a backend. Ends the program with status 3 if the machine does not
 *  have the instruction set. */
struct backend backend_open(const char *set, uint32_t threads);
void backend_close(struct backend *backend);

/** In the memory of the backend. */
extern const ferrum_weights_memory in_backend;

/** Memory at a multiple of 64 bytes. */
void *memory_of(uint64_t bytes);

/** A tensor with two dimensions over memory of the program. */
ferrum_tensor matrix_of(const struct backend *backend, void *memory,
                        uint64_t bytes, ferrum_dtype type, int64_t rows,
                        int64_t columns);

/** One product of m rows with a matrix of k rows and n columns. */
struct shape {
    int m, n, k;
};

/** The shapes of the products, which models have. */
enum { SHAPES = 9 };
extern const struct shape shapes[SHAPES];

/** A product with packed weights, and its operands. */
struct product {
    struct shape shape;
    float *a, *b, *y;
    ferrum_op op;
    ferrum_tensor inputs[2], output;
};

/** Fills a and b with random numbers, and packs b. */
struct product product_of(const struct backend *backend, struct shape shape);
void product_run(struct product *product);
void product_end(struct product *product);

/** The largest difference of y from the product in double, over the largest
 *  element of that. */
double product_error(const struct product *product, const float *y);

/** Calls of one measurement, which then takes about a millisecond. */
int product_calls(struct shape shape);

/** Prints an error. Ends the program if it is above the bound. */
void print_error(double error, double most);

/** The largest error of F32. */
#define F32_ERROR 1e-5

/* The rows. Each prints the fields of one JSON object, each with a comma. */
void row_products(const struct settings *settings);
void row_threads(const struct settings *settings);
void row_stream(const struct settings *settings);
void row_call(const struct settings *settings);

#endif
