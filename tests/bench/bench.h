/*
 * What the parts of the bench share: an allocator under measurement, and the
 * clocks.
 *
 * One process measures one allocator, so that no allocator stands in for
 * another's malloc and none inherits another's heap. Every allocator is called
 * through the same two function pointers; the "none" adapter measures what that
 * and the loop around it cost. Nothing is subtracted from the medians.
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

/** What an allocator says about itself. */
struct books {
    /** Of the live blocks: as asked for, and after rounding. */
    uint64_t requested_bytes, allocated_bytes;
    /** Had from the system now, and at most so far. */
    uint64_t reserved_bytes, reserved_peak_bytes;
    /** How many pieces that is. */
    uint64_t segments;
};

/** An open allocator. The optional functions are NULL where it has none. */
struct allocator {
    void *context;
    /** A new block, as the number that release wants to have, which is its
     *  address where the allocator needs nothing else; 0 when there is none. */
    uint64_t (*allocate)(void *context, uint64_t size_bytes);
    /** Gives a block back; false when the allocator refuses. */
    bool (*release)(void *context, uint64_t block);
    /** Optional: the same for many blocks of one size at once. */
    bool (*allocate_batch)(void *context, uint64_t size_bytes, uint64_t count,
                           uint64_t *blocks_out);
    bool (*release_batch)(void *context, const uint64_t *blocks,
                          uint64_t count);
    /** Optional: where a live block of that size lies; of an allocator that
     *  manages many ranges, all that it holds. */
    void (*place)(void *context, uint64_t block, uint64_t size_bytes,
                  struct place *place_out);
    /** Optional. */
    void (*books)(void *context, struct books *books_out);
    /** Optional: gives what no block needs back to the system. */
    void (*trim)(void *context);
    /** Closes the allocator, which must hold no block. */
    void (*close)(void *context);
    /** Not made for calls from several threads at once. */
    bool single_threaded;
    /** A block is the address of memory that can be written. */
    bool writable;
    /** As the allocator itself tells it. */
    char version[64];
};

/** What an adapter is opened with. */
struct adapter_settings {
    /** Name of the allocator, for adapters that serve several. */
    const char *name;
    /** Library file to open, or NULL. */
    const char *library;
    /** Smallest unit of those that take one: 256 B unless told. */
    uint64_t granule_bytes;
};

/** A way to open allocators. */
struct adapter {
    const char *name;
    /** Opens the allocator; false, after a call of missing(), when it is not
     *  here. */
    bool (*open)(const struct adapter_settings *settings,
                 struct allocator *allocator_out);
};

/** Ends with NULL's name. Each file adapter_*.c has one such list. */
extern const struct adapter crate_adapters[];
extern const struct adapter ferrum_adapters[];
extern const struct adapter go_adapters[];
extern const struct adapter malloc_adapters[];
extern const struct adapter umf_adapters[];

/** Says on stderr why an allocator cannot be measured; returns false. */
__attribute__((format(printf, 1, 2))) bool missing(const char *format, ...);

/** Ends the process: a measurement that went wrong must not become a number. */
__attribute__((format(printf, 1, 2), noreturn)) void die(const char *format,
                                                         ...);

/** Opens a library with its symbols kept to itself. */
void *library_open(const char *path);

/** Looks a function up and stores its address; false when it is not there. */
bool library_symbol(void *library, const char *name, void *function_out);

/** Zeroed numbers, to be freed with free. */
double *numbers(uint64_t count);

/** Prints a member of a JSON object that is a list of numbers. */
void print_list(const char *name, const double *values, uint64_t count);

/** Holds the thread on the n-th core that the process may use. */
void stay_on_core(unsigned n);

/** Monotonic time. */
uint64_t clock_ns(void);

/** The cycle counter, read so that work before and after stays there. */
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
