/* The command line of the harness. */
#include "options.h"

#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* In a trace, a step stores its size in 32 bits and its slot in 24 bits. */
#define RANDOM_MAX_BYTES (UINT64_C(1) << 31)
#define LIVE_MAX (UINT64_C(1) << 24)
#define BATCH_MAX (UINT64_C(1) << 20)

__attribute__((noreturn)) static void refuse(const char *text) {
    fprintf(stderr, "bench: %s\n", text);
    exit(EXIT_USAGE);
}

static uint64_t number_of(const char *option, const char *text) {
    char *end;
    uint64_t value = strtoull(text, &end, 10);
    if (*text < '0' || *text > '9' || *end != 0) {
        fprintf(stderr, "bench: --%s %s is no number\n", option, text);
        exit(EXIT_USAGE);
    }
    return value;
}

/* Options that are numbers, and their destinations. */
static void numeric_option(struct options *options, const char *name,
                           const char *text) {
    const struct {
        const char *name;
        uint64_t *value;
    } numbers[] = {
        {"size", &options->size_bytes},
        {"first-size", &options->first_bytes},
        {"first-pairs", &options->first_pairs},
        {"smallest", &options->smallest_bytes},
        {"largest", &options->largest_bytes},
        {"live", &options->live_blocks},
        {"batch", &options->batch_blocks},
        {"pairs", &options->pairs},
        {"settle", &options->settle_rounds},
        {"repetitions", &options->repetitions},
        {"singles", &options->singles},
        {"seed", &options->seed},
        {"budget-ns", &options->budget_ns},
        {"granule", &options->adapter.granule_bytes},
    };
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        if (strcmp(numbers[i].name, name) == 0)
            *numbers[i].value = number_of(name, text);
}

static void check(const struct options *options) {
    uint64_t granule = options->adapter.granule_bytes;
    if (options->adapter.name == NULL || options->workload == NULL)
        refuse("--allocator and --workload are needed");
    if (options->pairs == 0 || options->repetitions == 0 ||
        options->singles == 0)
        refuse("--pairs, --repetitions and --singles are not 0");
    if (options->live_blocks == 0 || options->live_blocks > LIVE_MAX)
        refuse("--live is from 1 to 16777216");
    if (options->batch_blocks == 0 || options->batch_blocks > BATCH_MAX)
        refuse("--batch is from 1 to 1048576");
    if ((options->first_bytes == 0) != (options->first_pairs == 0))
        refuse("--first-size and --first-pairs go together");
    if (granule == 0 || (granule & (granule - 1)) != 0)
        refuse("--granule is a power of two");
    if (options->smallest_bytes == 0 ||
        options->smallest_bytes > options->largest_bytes ||
        options->largest_bytes > RANDOM_MAX_BYTES)
        refuse("--smallest is from 1 to --largest, and that to 2147483648");
}

struct options options_parse(int count, char **arguments) {
    static const struct option known[] = {
        {"allocator", required_argument, NULL, 'a'},
        {"library", required_argument, NULL, 'l'},
        {"workload", required_argument, NULL, 'w'},
        {"trace", required_argument, NULL, 't'},
        {"size", required_argument, NULL, 'n'},
        {"first-size", required_argument, NULL, 'n'},
        {"first-pairs", required_argument, NULL, 'n'},
        {"smallest", required_argument, NULL, 'n'},
        {"largest", required_argument, NULL, 'n'},
        {"live", required_argument, NULL, 'n'},
        {"batch", required_argument, NULL, 'n'},
        {"pairs", required_argument, NULL, 'n'},
        {"settle", required_argument, NULL, 'n'},
        {"repetitions", required_argument, NULL, 'n'},
        {"singles", required_argument, NULL, 'n'},
        {"budget-ns", required_argument, NULL, 'n'},
        {"seed", required_argument, NULL, 'n'},
        {"granule", required_argument, NULL, 'n'},
        {NULL, 0, NULL, 0}};
    struct options options = {.adapter = {.granule_bytes = 256},
                              .smallest_bytes = 256,
                              .largest_bytes = 1 << 20,
                              .live_blocks = 1000,
                              .batch_blocks = 256,
                              .pairs = 4000,
                              .repetitions = 25,
                              .singles = 50000,
                              .budget_ns = 20000000,
                              .seed = 1};
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
        case 't':
            options.trace = optarg;
            break;
        case 'n':
            numeric_option(&options, known[at].name, optarg);
            break;
        default:
            exit(EXIT_USAGE);
        }
    check(&options);
    return options;
}
