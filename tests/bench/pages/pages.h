/*
 * The declarations that the rows of virtual memory share: the functions of the
 * library that they call, the options of a row, and the bare system that each
 * row is compared with.
 */
#ifndef FERRUM_BENCH_PAGES_H
#define FERRUM_BENCH_PAGES_H

#include "ferrum_mem.h"

#include "../bench.h"

enum { PAGE_BYTES = 2 << 20 };

/** The options of a row. */
struct row {
    /** Memory that can be mapped elsewhere, or that stays where it is. */
    bool movable;
    /** The FERRUM_BACKING_* of the memory. */
    ferrum_backing backing;
    /** Another place each time; pages that are not adjacent. */
    bool apart;
    uint64_t bytes;
    uint64_t repetitions;
    uint64_t threads;
};

/** The library. */
struct library {
    ferrum_device device;
    __typeof__(&ferrum_init) init;
    __typeof__(&ferrum_shutdown) shutdown;
    __typeof__(&ferrum_last_error) last_error;
    __typeof__(&ferrum_version_string) version_string;
    __typeof__(&ferrum_device_open) device_open;
    __typeof__(&ferrum_device_close) device_close;
    __typeof__(&ferrum_device_get_memory_info) memory_get_info;
    __typeof__(&ferrum_vpool_create) vpool_create;
    __typeof__(&ferrum_vpool_destroy) vpool_destroy;
    __typeof__(&ferrum_vpool_alloc) vpool_alloc;
    __typeof__(&ferrum_vpool_free) vpool_free;
    __typeof__(&ferrum_vpool_get_info) vpool_get_info;
    __typeof__(&ferrum_vpool_compact) vpool_compact;
    __typeof__(&ferrum_vpool_trim) vpool_trim;
    __typeof__(&ferrum_vpool_set_limit) vpool_set_limit;
    __typeof__(&ferrum_vpool_sleep) vpool_sleep;
    __typeof__(&ferrum_vpool_wake) vpool_wake;
    __typeof__(&ferrum_elastic_pool_create) elastic_pool_create;
    __typeof__(&ferrum_elastic_pool_destroy) elastic_pool_destroy;
    __typeof__(&ferrum_elastic_pool_register_model) register_model;
    __typeof__(&ferrum_elastic_pool_unregister_model) unregister_model;
    __typeof__(&ferrum_elastic_pool_alloc_with) elastic_pool_alloc_with;
    __typeof__(&ferrum_elastic_pool_free) elastic_pool_free;
};

extern struct library library;

/** Ends the process if a call failed. */
void must(ferrum_status status, const char *what);

/** Samples of one value of a row: of ours and of the bare system. */
struct figure {
    const char *name;
    double *ours, *bare;
    uint64_t count;
};

struct figure figure_open(const char *name, uint64_t count);

/** Prints the samples, divided, as members of a JSON object, and frees them. */
void figure_print(struct figure *figure, double divisor);

/** The bare system: address space, and memory behind it with the backing of
 *  the row. */
struct bare {
    const struct row *row;
    char *base;
    uint64_t bytes;
    /** The file of movable memory, or -1. */
    int file;
};

/** Reserves address space, and creates a file of the same size. */
struct bare bare_open(const struct row *row, uint64_t bytes);
void bare_close(struct bare *bare);

/** Makes a range usable: with a part of the file, or with private memory. */
void bare_map(const struct bare *bare, uint64_t offset, uint64_t file_offset,
              uint64_t bytes);

/** Unmaps a range and releases private memory. A file keeps its memory. */
void bare_unmap(const struct bare *bare, uint64_t offset, uint64_t bytes);

/** Writes zeros over a part of the file in place. */
void bare_zero(const struct bare *bare, uint64_t file_offset, uint64_t bytes);

/** Releases the memory of a mapped range to the system. */
void bare_release(const struct bare *bare, uint64_t offset, uint64_t bytes);

/** Writes a byte of every small page. */
void touch(char *memory, uint64_t bytes);

ferrum_vpool vpool_open(const struct row *row, ferrum_vpool_config config);

/* The rows. Each prints the members of a JSON object. */
void run_pair(const struct row *row);
void run_tenants(const struct row *row);
void run_many(const struct row *row);
void run_reserve(const struct row *row);
void run_wake(const struct row *row);
void run_limit(const struct row *row);

#endif
