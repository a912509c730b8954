/*
 * Measures operations through the C ABI, each in turns with a peer, and checks
 * each result in the same process. Prints one JSON object.
 *
 *   compute --row ROW --library FILE [--set SET] [--peer FILE] [--crossing FILE]
 *           [--rounds N] [--bytes N]
 *
 *   products  nanoseconds of matrix products on one thread with packed weights,
 *             and of sgemm and sgemv of OpenBLAS (--peer)
 *   threads   how much faster two threads are than one, and how much more two
 *             plain loops do in the time of one
 *   stream    GB/s of a row times matrices of all types that no cache holds, and
 *             of a sum of the same bytes; --bytes overrides how many
 *   call      nanoseconds of an addition of 16 elements, and of a bare call of
 *             Go (--crossing)
 *
 * Exit status: 0, 1 for a failure, 2 for wrong usage, 3 if the machine cannot
 * measure the row.
 */
#include "compute.h"

#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ELEMENTS = 16, CALLS = 2000 };

void row_call(const struct settings *settings) {
    uint64_t (*cross)(uint64_t);
    void *bare =
        settings->crossing == NULL ? NULL : library_open(settings->crossing);
    if (bare == NULL || !library_symbol(bare, "bench_cross", &cross))
        die("--crossing: needed");
    struct backend backend = backend_open(settings->set, 1);
    ferrum_op op;
    ferrum_stream stream = {0};
    float values[3][ELEMENTS];
    ferrum_tensor tensors[3];
    for (int t = 0; t < 3; t++) {
        for (int i = 0; i < ELEMENTS; i++)
            values[t][i] = (float)(rand() % 2001 - 1000) / 1000;
        tensors[t] = matrix_of(&backend, values[t], sizeof values[t],
                               FERRUM_DTYPE_F32, 1, ELEMENTS);
    }
    MUST(op_prepare(backend.compute, "Add", "", 0, 0, &op));
    MUST(op_run(op, tensors, 2, &tensors[2], 1, stream));
    stay_on_core(0);
    uint64_t rounds = settings->rounds;
    double *ours = numbers(rounds), *crossing = numbers(rounds);
    for (uint64_t r = 0; r < rounds; r++) {
        uint64_t begin = clock_ns();
        for (int i = 0; i < CALLS; i++)
            MUST(op_run(op, tensors, 2, &tensors[2], 1, stream));
        uint64_t middle = clock_ns();
        for (uint64_t i = 1; i <= CALLS; i++)
            if (cross(i) != i)
                die("bench_cross does not return what it is given");
        ours[r] = (double)(middle - begin) / CALLS;
        crossing[r] = (double)(clock_ns() - middle) / CALLS;
    }
    double error = 0, largest = 0;
    for (int i = 0; i < ELEMENTS; i++) {
        double expected = (double)values[0][i] + (double)values[1][i];
        error = fmax(error, fabs(expected - (double)values[2][i]));
        largest = fmax(largest, fabs(expected));
    }
    print_list("ours_ns", ours, rounds);
    printf(", ");
    print_list("crossing_ns", crossing, rounds);
    printf(", ");
    print_error(error / largest, F32_ERROR);
    printf(", ");
    free(ours);
    free(crossing);
    for (int t = 0; t < 3; t++)
        MUST(tensor_destroy(tensors[t]));
    MUST(op_destroy(op));
    backend_close(&backend);
}

__attribute__((noreturn)) static void refuse(const char *what,
                                             const char *text) {
    fprintf(stderr, "compute: %s %s\n", what, text);
    exit(2);
}

static uint64_t number_of(const char *text) {
    char *end;
    uint64_t value = strtoull(text, &end, 10);
    if (*text < '0' || *text > '9' || *end != 0 || value == 0)
        refuse("not a number above 0:", text);
    return value;
}

static void resolve(void *handle) {
#define SYMBOL(name) {"ferrum_" #name, &library.name},
    const struct {
        const char *name;
        void *function;
    } symbols[] = {FUNCTIONS(SYMBOL)};
#undef SYMBOL
    for (size_t i = 0; i < sizeof symbols / sizeof symbols[0]; i++)
        if (!library_symbol(handle, symbols[i].name, symbols[i].function))
            die("the library has no %s", symbols[i].name);
}

static const struct {
    const char *name;
    void (*run)(const struct settings *settings);
} rows[] = {
    {"products", row_products},
    {"threads", row_threads},
    {"stream", row_stream},
    {"call", row_call},
};

static void run(const char *row, const struct settings *settings,
                const char *file) {
    void (*chosen)(const struct settings *settings) = NULL;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (strcmp(row, rows[i].name) == 0)
            chosen = rows[i].run;
    if (chosen == NULL)
        refuse("no row is called", row);
    void *handle = file == NULL ? NULL : library_open(file);
    if (handle == NULL)
        refuse("--library:", "needed");
    resolve(handle);
    MUST(init(NULL));
    printf("{");
    chosen(settings);
    printf("\"version\": \"%s\"}\n", library.version_string());
    MUST(shutdown(0));
}

int main(int count, char **arguments) {
    static const struct option known[] = {
        {"library", required_argument, NULL, 'l'},
        {"row", required_argument, NULL, 'r'},
        {"set", required_argument, NULL, 's'},
        {"peer", required_argument, NULL, 'p'},
        {"crossing", required_argument, NULL, 'x'},
        {"rounds", required_argument, NULL, 'n'},
        {"bytes", required_argument, NULL, 'b'},
        {NULL, 0, NULL, 0}};
    struct settings settings = {"", NULL, NULL, 10, 0};
    const char *file = NULL, *row = "";
    for (int c; (c = getopt_long(count, arguments, "", known, NULL)) != -1;)
        switch (c) {
        case 'l':
            file = optarg;
            break;
        case 'r':
            row = optarg;
            break;
        case 's':
            settings.set = optarg;
            break;
        case 'p':
            settings.peer = optarg;
            break;
        case 'x':
            settings.crossing = optarg;
            break;
        case 'n':
            settings.rounds = number_of(optarg);
            break;
        case 'b':
            settings.bytes = number_of(optarg);
            break;
        default:
            return 2;
        }
    run(row, &settings, file);
    return EXIT_SUCCESS;
}
