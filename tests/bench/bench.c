/*
 * Measures one allocator with one workload and prints one JSON object.
 *
 *   bench --allocator NAME [--library FILE] --workload WORKLOAD
 *         [--size BYTES] [--pairs N] [--repetitions N] [--singles N] [--seed N]
 *
 * Each repetition times --pairs pairs together; then --singles pairs are timed
 * one by one with the cycle counter.
 *
 *   hot       allocate and free one block of --size bytes, over and over
 *   random    1000 live blocks; each pair replaces one by one of another size
 *   threads   random (or hot, with --size) in one thread and in two at once,
 *             each with its own blocks, beside a plain arithmetic loop
 *   first     opens the library and makes the first call, once (ferrum_mem only)
 *   describe  says whether the allocator is here, and its version
 *
 * Exit status: 0, 1 for a failure, 2 for wrong usage, 3 when the allocator is
 * not here (the reason is on stderr).
 */
#include "workloads.h"

#include "ferrum_mem.h"

#include <dlfcn.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

enum { EXIT_USAGE = 2, EXIT_MISSING = 3 };

/* Steps of the random replacement; fewer than the caches hold, many enough
 * that no allocator learns them. */
enum { STEPS = 1 << 16 };

struct options {
    struct adapter_settings adapter;
    const char *workload;
    uint64_t size_bytes;
    struct amounts amounts;
    uint64_t seed;
};

bool missing(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
    return false;
}

void die(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    fputs("bench: ", stderr);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
    exit(EXIT_FAILURE);
}

void *library_open(const char *path) {
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL)
        missing("%s", dlerror());
    return library;
}

bool library_symbol(void *library, const char *name, void *function_out) {
    void *function = dlsym(library, name);
    memcpy(function_out, &function, sizeof function);
    return function != NULL;
}

uint64_t clock_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

void print_list(const char *name, const double *values, uint64_t count) {
    printf("\"%s\": [", name);
    for (uint64_t i = 0; i < count; i++)
        printf("%s%.4f", i > 0 ? ", " : "", values[i]);
    printf("]");
}

double *numbers(uint64_t count) {
    double *values = calloc(count, sizeof *values);
    if (values == NULL)
        die("no memory for %" PRIu64 " numbers", count);
    return values;
}

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

static uint64_t number_of(const char *option, const char *text) {
    char *end;
    uint64_t value = strtoull(text, &end, 10);
    if (*text < '0' || *text > '9' || *end != 0) {
        fprintf(stderr, "bench: --%s %s is no number\n", option, text);
        exit(EXIT_USAGE);
    }
    return value;
}

static struct options parse(int count, char **arguments) {
    static const struct option known[] = {
        {"allocator", required_argument, NULL, 'a'},
        {"library", required_argument, NULL, 'l'},
        {"workload", required_argument, NULL, 'w'},
        {"size", required_argument, NULL, 's'},
        {"pairs", required_argument, NULL, 'p'},
        {"repetitions", required_argument, NULL, 'r'},
        {"singles", required_argument, NULL, 'i'},
        {"seed", required_argument, NULL, 'e'},
        {NULL, 0, NULL, 0}};
    struct options options = {.amounts = {4000, 25, 50000}, .seed = 1};
    for (int at, c; (c = getopt_long(count, arguments, "", known, &at)) != -1;)
        switch (c) {
        case 'a':
            options.adapter.name = optarg;
            break;
        case 'l':
            options.adapter.library = optarg;
            break;
        case 'w':
            options.workload = optarg;
            break;
        case 's':
            options.size_bytes = number_of("size", optarg);
            break;
        case 'p':
            options.amounts.pairs = number_of("pairs", optarg);
            break;
        case 'r':
            options.amounts.repetitions = number_of("repetitions", optarg);
            break;
        case 'i':
            options.amounts.singles = number_of("singles", optarg);
            break;
        case 'e':
            options.seed = number_of("seed", optarg);
            break;
        default:
            exit(EXIT_USAGE);
        }
    if (options.adapter.name == NULL || options.workload == NULL ||
        options.amounts.pairs == 0 || options.amounts.repetitions == 0 ||
        options.amounts.singles == 0) {
        fputs("bench: --allocator and --workload are needed; --pairs, "
              "--repetitions and --singles are not 0\n",
              stderr);
        exit(EXIT_USAGE);
    }
    return options;
}

static const struct adapter *find_adapter(const char *name) {
    const struct adapter *const lists[] = {ferrum_adapters, malloc_adapters,
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

static void measure(const struct options *options,
                    const struct allocator *allocator) {
    struct workload workload = {.size_bytes = options->size_bytes};
    const char *name = options->workload;
    bool threads = strcmp(name, "threads") == 0;
    if (!threads && (strcmp(name, "hot") == 0) != (workload.size_bytes != 0)) {
        fprintf(stderr, "bench: --size goes with hot, not with random\n");
        exit(EXIT_USAGE);
    }
    struct step *steps = steps_make(STEPS, options->seed);
    workload.steps = steps;
    workload.steps_count = STEPS;
    if (threads)
        run_two_threads(allocator, &workload, &options->amounts);
    else
        run_one_thread(allocator, &workload, &options->amounts);
    free(steps);
}

int main(int count, char **arguments) {
    struct options options = parse(count, arguments);
    const char *name = options.workload;
    if (strcmp(name, "first") == 0)
        return run_first(&options);
    bool describe = strcmp(name, "describe") == 0;
    if (!describe && strcmp(name, "hot") != 0 && strcmp(name, "random") != 0 &&
        strcmp(name, "threads") != 0) {
        fprintf(stderr, "bench: no workload is called %s\n", name);
        return EXIT_USAGE;
    }
    struct allocator allocator = {0};
    if (!find_adapter(options.adapter.name)->open(&options.adapter, &allocator))
        return EXIT_MISSING;
    printf("{\"version\": \"%s\", ", allocator.version);
    if (!describe) {
        measure(&options, &allocator);
        printf(", ");
    }
    printf("\"preemptions\": %ld}\n", preemptions());
    allocator.close(allocator.context);
    return EXIT_SUCCESS;
}
