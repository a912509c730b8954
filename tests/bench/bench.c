/*
 * Measures one allocator with one workload and prints one JSON object.
 *
 *   bench --allocator NAME [--library FILE] --workload WORKLOAD [--size BYTES]
 *         [--first-size BYTES] [--first-pairs N]
 *         [--smallest BYTES] [--largest BYTES] [--live N] [--batch N]
 *         [--pairs N] [--repetitions N] [--singles N] [--seed N] [--trace FILE]
 *         [--granule BYTES] [--budget-ns N]
 *
 * Each repetition times --pairs pairs together, fewer if they take longer than
 * the budget. Random sizes are log-uniform between --smallest and --largest.
 *
 *   hot       allocates and frees one block of --size bytes, over and over; then
 *             --singles pairs one by one with the cycle counter
 *   random    --live blocks; each pair replaces one by one of another size; then
 *             --singles pairs one by one; then the memory that this needs
 *   threads   random (or hot, with --size) in one thread and in two at once,
 *             each with its own blocks, beside a plain arithmetic loop
 *   queue     one thread allocates (random sizes, or --size), another frees,
 *             beside the queue between them alone
 *   batch     --batch blocks of --size bytes at once; --pairs batches in each
 *             repetition
 *   trace     the steps of a --trace from start to end in each repetition; first
 *             once for the memory that this needs
 *   phases    --first-pairs pairs of --first-size bytes, 10,000 pairs of --size
 *             bytes, then --pairs of these in each repetition
 *   model     --live large blocks of random sizes are loaded, a --trace is
 *             served, everything is freed, and the same once more
 *   churn     threads that each do --pairs pairs of random sizes, pass half of
 *             their --live blocks to others and end; --repetitions generations
 *   tables    resident memory for each block, with --live blocks and after
 *             --pairs replacements
 *   first     opens the library and makes the first call, once (ferrum_mem only)
 *   calm      a loop of arithmetic: its fastest time of five. If it takes longer
 *             than at other times, something outside uses the processor
 *   describe  reports whether the allocator is available, and its version
 *
 * Exit status: 0, 1 for a failure, 2 for wrong usage, 3 if the allocator is
 * not available (the reason is on stderr).
 */
#include "options.h"

#include "ferrum_mem.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

/* -------------------------------------------------------------- first call */

static int run_first(const struct options *options) {
    __typeof__(&ferrum_abi_version) abi_version;
    __typeof__(&ferrum_init) init;
    if (options->adapter.library == NULL) {
        missing("first needs --library FILE");
        return EXIT_MISSING;
    }
    uint64_t begin = clock_ns();
    void *library = library_open(options->adapter.library);
    if (library == NULL)
        return EXIT_MISSING;
    uint64_t opened = clock_ns();
    if (!library_symbol(library, "ferrum_abi_version", &abi_version) ||
        !library_symbol(library, "ferrum_init", &init))
        die("the library lacks a function");
    uint32_t version = abi_version();
    uint64_t called = clock_ns();
    if (version == 0 || init(NULL) != FERRUM_OK)
        die("ferrum_init failed");
    uint64_t started = clock_ns();
    printf("{\"open_ns\": %" PRIu64 ", \"first_call_ns\": %" PRIu64
           ", \"init_ns\": %" PRIu64 "}\n",
           opened - begin, called - begin, started - begin);
    return EXIT_SUCCESS;
}

/* -------------------------------------------------------------------- main */

enum takes { TAKES_SIZE = 1, TAKES_RANDOM = 2, TAKES_TRACE = 4 };

/* The workloads, which kinds of sizes each takes, and in how many threads
 * each calls the allocator. */
static const struct kind {
    const char *name;
    void (*run)(const struct allocator *, const struct options *);
    unsigned takes;
    unsigned threads;
} kinds[] = {
    {"hot", run_one_thread, TAKES_SIZE, 1},
    {"random", run_one_thread, TAKES_RANDOM, 1},
    {"threads", run_two_threads, TAKES_SIZE | TAKES_RANDOM, 2},
    {"queue", run_queue, TAKES_SIZE | TAKES_RANDOM, 2},
    {"batch", run_batch, TAKES_SIZE, 1},
    {"trace", run_trace, TAKES_TRACE, 1},
    {"phases", run_phases, TAKES_SIZE, 1},
    {"model", run_model, TAKES_TRACE, 1},
    {"churn", run_churn, TAKES_RANDOM, 2},
    {"tables", run_tables, TAKES_RANDOM, 1},
};

static const struct kind *find_kind(const struct options *options) {
    const struct kind *kind = NULL;
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (strcmp(kinds[i].name, options->workload) == 0)
            kind = &kinds[i];
    unsigned given = options->trace != NULL     ? TAKES_TRACE
                     : options->size_bytes != 0 ? TAKES_SIZE
                                                : TAKES_RANDOM;
    if (kind == NULL) {
        fprintf(stderr, "bench: no workload is called %s\n", options->workload);
        exit(EXIT_USAGE);
    }
    if ((kind->takes & given) == 0) {
        fprintf(
            stderr,
            "bench: %s %s; --size goes with hot, batch and phases, and may "
            "go with threads and queue; --trace goes with trace and model\n",
            kind->name,
            given == TAKES_RANDOM ? "lacks an option"
                                  : "does not take that option");
        exit(EXIT_USAGE);
    }
    return kind;
}

static const struct adapter *find_adapter(const char *name) {
    const struct adapter *const lists[] = {crate_adapters, ferrum_adapters,
                                           go_adapters, malloc_adapters,
                                           umf_adapters};
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++)
        for (const struct adapter *at = lists[i]; at->name != NULL; at++)
            if (strcmp(at->name, name) == 0)
                return at;
    fprintf(stderr, "bench: no allocator is called %s\n", name);
    exit(EXIT_USAGE);
}

static long preemptions(void) {
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_nivcsw;
}

/* Four chains that do not wait for each other fill the core, so that another
 * thread of the same core slows them down. */
static int run_calm(void) {
    enum { TRIES = 5, ROUNDS = 50000 };
    uint64_t best = UINT64_MAX, sum = 0;
    stay_on_core(0);
    for (int try = 0; try < TRIES; try++) {
        uint64_t a = 1, b = 2, c = 3, d = 4, begin = clock_ns();
        for (uint64_t i = 0; i < ROUNDS; i++) {
            a = a * 6364136223846793005u + i;
            b = (b ^ b >> 7) + i;
            c = c * 2862933555777941757u + i;
            d = (d ^ d << 9) + i;
        }
        uint64_t taken = clock_ns() - begin;
        best = taken < best ? taken : best;
        sum += a ^ b ^ c ^ d;
    }
    printf("{\"loop_ns\": %" PRIu64 ", \"sum\": %" PRIu64 "}\n", best, sum);
    return EXIT_SUCCESS;
}

int main(int count, char **arguments) {
    struct options options = options_parse(count, arguments);
    if (strcmp(options.workload, "calm") == 0)
        return run_calm();
    if (strcmp(options.workload, "first") == 0)
        return run_first(&options);
    const struct kind *kind =
        strcmp(options.workload, "describe") == 0 ? NULL : find_kind(&options);
    struct allocator allocator = {0};
    options.resident_at_start = resident_bytes();
    if (!find_adapter(options.adapter.name)->open(&options.adapter, &allocator))
        return EXIT_MISSING;
    if (kind != NULL && kind->threads > 1 && allocator.single_threaded)
        die("%s is not made for several threads", options.adapter.name);
    /* This comes after the start of the library's threads, so that they can
     * run anywhere. */
    if (kind != NULL && kind->threads == 1)
        stay_on_core(0);
    printf("{\"version\": \"%s\", ", allocator.version);
    if (kind != NULL) {
        kind->run(&allocator, &options);
        printf(", ");
    }
    printf("\"preemptions\": %ld}\n", preemptions());
    allocator.close(allocator.context);
    return EXIT_SUCCESS;
}
