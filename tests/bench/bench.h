/*
 * The declarations that the parts of the bench share: an allocator under
 * measurement, and the clocks.
 *
 * One process measures one allocator, so that no allocator replaces another's
 * malloc or inherits another's heap. Every allocator is called through the
 * same two function pointers. The "none" adapter measures the cost of the
 * pointers and of the loop. Nothing is subtracted from the medians.
 */
#ifndef FERRUM_BENCH_H
#define FERRUM_BENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** A range of an allocator's memory. */
struct place {
    uint64_t begin_bytes, end_bytes;
};

/** The counters that an allocator reports. */
struct books {
    /** Of the live blocks: as requested, and after rounding. */
    uint64_t requested_bytes, allocated_bytes;
    /** Bytes from the system now, and the maximum so far. */
    uint64_t reserved_bytes, reserved_peak_bytes;
    /** The number of separate ranges of these bytes. */
    uint64_t segments;
};

/** An open allocator. Optional functions that it does not have are NULL. */
struct allocator {
    void *context;
    /** Allocates a block and returns the number that release needs, which is
     *  the address of the block unless the allocator needs more. 0: there is
     *  no block. */
    uint64_t (*allocate)(void *context, uint64_t size_bytes);
    /** Frees a block. Returns false if the allocator rejects it. */
    bool (*release)(void *context, uint64_t block);
    /** Optional: the same for many blocks of one size at once. */
    bool (*allocate_batch)(void *context, uint64_t size_bytes, uint64_t count,
                           uint64_t *blocks_out);
    bool (*release_batch)(void *context, const uint64_t *blocks,
                          uint64_t count);
    /** Optional: the range of a live block of that size. For an allocator
     *  that manages many ranges, the range of all its memory. */
    void (*place)(void *context, uint64_t block, uint64_t size_bytes,
                  struct place *place_out);
    /** Optional. */
    void (*books)(void *context, struct books *books_out);
    /** Optional: releases unused memory to the system. */
    void (*trim)(void *context);
    /** Closes the allocator, which must have no live block. */
    void (*close)(void *context);
    /** The allocator does not support calls from several threads at once. */
    bool single_threaded;
    /** A block is the address of memory that can be written. */
    bool writable;
    /** As the allocator itself reports it. */
    char version[64];
};

/** The settings with which an adapter is opened. */
struct adapter_settings {
    /** Name of the allocator, for adapters that serve several. */
    const char *name;
    /** Library file to open, or NULL. */
    const char *library;
    /** The smallest unit of allocators that have one. The default is 256 B. */
    uint64_t granule_bytes;
};

/** A way to open allocators. */
struct adapter {
    const char *name;
    /** Opens the allocator. Returns false, after a call of missing(), if it
     *  is not available. */
    bool (*open)(const struct adapter_settings *settings,
                 struct allocator *allocator_out);
};

/** Each file adapter_*.c has one such list. Its last name is NULL. */
extern const struct adapter crate_adapters[];
extern const struct adapter ferrum_adapters[];
extern const struct adapter go_adapters[];
extern const struct adapter malloc_adapters[];
extern const struct adapter umf_adapters[];

/** Reports on stderr why an allocator cannot be measured. Returns false. */
__attribute__((format(printf, 1, 2))) bool missing(const char *format, ...);

/** Ends the process, because a failed measurement must not become a number. */
__attribute__((format(printf, 1, 2), noreturn)) void die(const char *format,
                                                         ...);

/** Opens a library with private symbols. */
void *library_open(const char *path);

/** Finds a function and stores its address. Returns false if it does not
 *  exist. */
bool library_symbol(void *library, const char *name, void *function_out);

/** Zeroed numbers, to be freed by free. */
double *numbers(uint64_t count);

/** Prints a member of a JSON object that is a list of numbers. */
void print_list(const char *name, const double *values, uint64_t count);

/** Binds the thread to the n-th core that the process may use. */
void stay_on_core(unsigned n);

/** Monotonic time. */
uint64_t clock_ns(void);

/** The cycle counter. The read keeps earlier and later work in order. */
static inline uint64_t cycles_begin(void) {
#if defined(__x86_64__)
    uint32_t low, high;
    __asm__ volatile("lfence\n\trdtsc\n\tlfence"
                     : "=a"(low), "=d"(high)::"memory");
    return (uint64_t)high << 32 | low;
#elif defined(__aarch64__)
    uint64_t count;
    __asm__ volatile("isb\n\tmrs %0, cntvct_el0\n\tisb"
                     : "=r"(count)::"memory");
    return count;
#else
    return clock_ns();
#endif
}

static inline uint64_t cycles_end(void) {
#if defined(__x86_64__)
    uint32_t low, high, core;
    __asm__ volatile("rdtscp\n\tlfence"
                     : "=a"(low), "=d"(high), "=c"(core)::"memory");
    return (uint64_t)high << 32 | low;
#else
    return cycles_begin();
#endif
}

#endif
