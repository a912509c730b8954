/*
 * Measures files of weights through the C ABI, and prints one JSON object with
 * the times in milliseconds.
 *
 *   files --library FILE --row ROW [--repetitions N] FILE
 *
 *   describe  opens a file that is not in the page cache, and reads its metadata
 *             with the shapes and types of all tensors; once
 *   map       opens a file, maps all tensors, and reads the first byte of the
 *             first tensor and the last byte of the last tensor; "ms" has the
 *             time after the open, "whole_ms" all of it
 *
 * Exit status: 0, 1 for a failure, 2 for wrong usage.
 */
#include "ferrum_mem.h"

#include "../bench.h"

#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static struct {
    __typeof__(&ferrum_init) init;
    __typeof__(&ferrum_shutdown) shutdown;
    __typeof__(&ferrum_last_error) last_error;
    __typeof__(&ferrum_weights_open) open;
    __typeof__(&ferrum_weights_close) close;
    __typeof__(&ferrum_weights_metadata_json) metadata_json;
    __typeof__(&ferrum_weights_load) load;
    __typeof__(&ferrum_tensor_set_get_count) get_count;
    __typeof__(&ferrum_tensor_set_get_tensor) get_tensor;
    __typeof__(&ferrum_tensor_set_free) set_free;
} library;

static void resolve(void *handle) {
    const struct {
        const char *name;
        void *function;
    } symbols[] = {
        {"ferrum_init", &library.init},
        {"ferrum_shutdown", &library.shutdown},
        {"ferrum_last_error", &library.last_error},
        {"ferrum_weights_open", &library.open},
        {"ferrum_weights_close", &library.close},
        {"ferrum_weights_metadata_json", &library.metadata_json},
        {"ferrum_weights_load", &library.load},
        {"ferrum_tensor_set_get_count", &library.get_count},
        {"ferrum_tensor_set_get_tensor", &library.get_tensor},
        {"ferrum_tensor_set_free", &library.set_free},
    };
    for (size_t i = 0; i < sizeof symbols / sizeof symbols[0]; i++)
        if (!library_symbol(handle, symbols[i].name, symbols[i].function))
            die("the library has no %s", symbols[i].name);
}

static void must(ferrum_status status, const char *what) {
    if (status == FERRUM_OK)
        return;
    ferrum_error_info error = FERRUM_ERROR_INFO_INIT;
    library.last_error(&error);
    die("%s: status %d, %s", what, (int)status, error.message);
}

/* The share of a file that the page cache has after all of it was dropped. */
static double drop(const char *path) {
    int file = open(path, O_RDONLY);
    struct stat stat;
    if (file < 0 || fstat(file, &stat) != 0 || fsync(file) != 0 ||
        posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED) != 0)
        die("%s cannot be dropped from the page cache", path);
    size_t bytes = (size_t)stat.st_size, page = (size_t)sysconf(_SC_PAGESIZE);
    size_t pages = (bytes + page - 1) / page, held = 0;
    unsigned char *is_held = calloc(pages, 1);
    void *mapping = mmap(NULL, bytes, PROT_NONE, MAP_SHARED, file, 0);
    if (is_held == NULL || mapping == MAP_FAILED ||
        mincore(mapping, bytes, is_held) != 0)
        die("%s: its pages cannot be counted", path);
    for (size_t i = 0; i < pages; i++)
        held += is_held[i] & 1;
    munmap(mapping, bytes);
    free(is_held);
    close(file);
    return (double)held / (double)pages;
}

static double since(uint64_t start) {
    return (double)(clock_ns() - start) / 1e6;
}

static ferrum_weights open_file(const char *path) {
    ferrum_weights_source source = FERRUM_WEIGHTS_SOURCE_INIT;
    ferrum_weights weights;
    source.path = path;
    must(library.open(&source, &weights), "ferrum_weights_open");
    return weights;
}

static void describe(const char *path, uint64_t repetitions) {
    (void)repetitions;
    double held = drop(path);
    uint64_t start = clock_ns();
    ferrum_weights weights = open_file(path);
    size_t length = 0;
    library.metadata_json(weights, NULL, 0, &length);
    char *text = malloc(length + 1);
    if (text == NULL)
        die("no memory for %zu bytes of metadata", length);
    must(library.metadata_json(weights, text, length + 1, &length),
         "ferrum_weights_metadata_json");
    double took = since(start);
    uint64_t types = 0;
    for (const char *at = text; (at = strstr(at, "\"dtype\":")) != NULL; at++)
        types++;
    printf("{");
    print_list("ms", &took, 1);
    printf(", \"tensors\": %" PRIu64 ", \"residency\": %.4f}\n", types, held);
    free(text);
    must(library.close(weights, 0), "ferrum_weights_close");
}

static void map(const char *path, uint64_t repetitions) {
    double *took = numbers(repetitions), *whole = numbers(repetitions);
    uint64_t count = 0;
    for (uint64_t i = 0; i < repetitions; i++) {
        ferrum_weights_load_request request = FERRUM_WEIGHTS_LOAD_REQUEST_INIT;
        ferrum_tensor_info first = FERRUM_TENSOR_INFO_INIT, last = first;
        ferrum_tensor_set set;
        request.flags = FERRUM_WEIGHTS_LOAD_MAP;
        uint64_t start = clock_ns();
        ferrum_weights weights = open_file(path);
        uint64_t opened = clock_ns();
        must(library.load(weights, &request, &set), "ferrum_weights_load");
        must(library.get_count(set, &count), "ferrum_tensor_set_get_count");
        must(library.get_tensor(set, 0, &first),
             "ferrum_tensor_set_get_tensor");
        must(library.get_tensor(set, count - 1, &last),
             "ferrum_tensor_set_get_tensor");
        const volatile char *from = (const char *)(uintptr_t)first.address;
        const volatile char *to = (const char *)(uintptr_t)last.address;
        (void)from[0];
        (void)to[last.size_bytes - 1];
        took[i] = since(opened);
        whole[i] = since(start);
        must(library.set_free(set, 0), "ferrum_tensor_set_free");
        must(library.close(weights, 0), "ferrum_weights_close");
    }
    printf("{");
    print_list("ms", took, repetitions);
    printf(", ");
    print_list("whole_ms", whole, repetitions);
    printf(", \"tensors\": %" PRIu64 "}\n", count);
    free(took);
    free(whole);
}

__attribute__((noreturn)) static void refuse(const char *what) {
    fprintf(stderr, "files: %s\n", what);
    exit(2);
}

int main(int argc, char **argv) {
    static const struct option options[] = {
        {"library", required_argument, NULL, 'l'},
        {"row", required_argument, NULL, 'r'},
        {"repetitions", required_argument, NULL, 'n'},
        {NULL, 0, NULL, 0},
    };
    const char *path = NULL, *row = "";
    uint64_t repetitions = 1;
    int option;
    while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
        if (option == 'l')
            path = optarg;
        else if (option == 'r')
            row = optarg;
        else if (option == 'n')
            repetitions = strtoull(optarg, NULL, 10);
        else
            exit(2);
    }
    void (*run)(const char *, uint64_t) = strcmp(row, "describe") == 0
                                              ? describe
                                          : strcmp(row, "map") == 0 ? map
                                                                    : NULL;
    if (path == NULL || run == NULL || repetitions == 0 || optind + 1 != argc)
        refuse(
            "wants --library FILE --row describe|map [--repetitions N] FILE");
    void *handle = library_open(path);
    if (handle == NULL)
        die("no library");
    resolve(handle);
    must(library.init(NULL), "ferrum_init");
    run(argv[optind], repetitions);
    must(library.shutdown(0), "ferrum_shutdown");
    return 0;
}
