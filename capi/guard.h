/*
 * The work of every public function before and after it enters Go: it fails in
 * a forked child and in a poisoned library, checks pointers and structs,
 * zeroes the outputs, and records the thread's error.
 */
#ifndef FERRUM_CAPI_GUARD_H
#define FERRUM_CAPI_GUARD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>

#include "bridge.h"
#include "callsite.h"
#include "ferrum_mem.h"

/** 0: calls are accepted. Negative: the status with which every call fails.
 *  1: every call records its call site. */
extern __attribute__((visibility("hidden"))) _Atomic int32_t fm_gate;

/** Fails the call with the gate's status. */
ferrum_status fm_refuse(const char *function);
/** Records FERRUM_ERROR_NULL_POINTER for an argument. */
ferrum_status fm_null(const char *function, const char *argument);
/** Records a failure that C code detected, with a complete message. */
ferrum_status fm_fail(const char *function, ferrum_status status,
                      const char *message);
/** Adds the public function's name to the record that Go has made. */
ferrum_status fm_failed_in(const char *function, ferrum_status status);

/**
 * Reads a versioned struct of the caller into full, which holds the defaults.
 * Fields that the caller's struct lacks keep their defaults.
 */
ferrum_status fm_struct_in(const char *function, const char *argument,
                           const void *given, void *full, uint32_t full_size);
/** Checks a struct that the call fills, and zeroes its fields. */
ferrum_status fm_struct_out(const char *function, const char *argument,
                            void *given, uint32_t full_size);
/** Copies a filled struct, up to the size of the caller's struct. */
void fm_struct_give(void *given, const void *full, uint32_t full_size);

/** What runs on this thread now, an enum fm_inside. The thread-local data
 *  must stay small: all of it is static TLS, because Go's is. */
extern _Thread_local int32_t fm_inside;

/** A callback that a thread runs: its tokens, and the mark before it. Callbacks nest:
 *  one callback may lead to another on the same thread. */
struct fm_mark {
    const uint64_t *tokens;
    size_t count;
    const struct fm_mark *outer;
    int32_t inside_before;
};
/** Marks the thread until fm_mark_restore. The tokens stay where they are until then. */
void fm_mark_set(struct fm_mark *mark, enum fm_inside inside,
                 const uint64_t *tokens, size_t count);
/** Marks the thread of a call or of the library that runs a function of a load or a
 *  build. In a call from a callback or a host function, the restrictions of that
 *  function apply. */
void fm_mark_work(struct fm_mark *mark, const uint64_t *tokens, size_t count);
void fm_mark_restore(const struct fm_mark *mark);

#define FM_ENTER_IN(name, keep)                                   \
    do {                                                          \
        int32_t fm_gate_ =                                        \
            atomic_load_explicit(&fm_gate, memory_order_relaxed); \
        if (__builtin_expect(fm_gate_ != 0, 0)) {                 \
            if (fm_gate_ < 0)                                     \
                return fm_refuse(name);                           \
            keep;                                                 \
        }                                                         \
    } while (0)
/** Begins a public function. */
#define FM_ENTER() FM_ENTER_IN(__func__, fm_call_site_keep())
/** Begins the part of a public function to which it jumps. */
#define FM_ENTER_FOR(function) \
    FM_ENTER_IN(#function, fm_call_site_keep_for((void *)(function)))

/** Rejects a NULL argument by its name. */
#define FM_REQUIRE(pointer)                     \
    do {                                        \
        if ((pointer) == NULL)                  \
            return fm_null(__func__, #pointer); \
    } while (0)

/** Rejects a call from a host function that waits for streams, because it
 *  would wait for itself. */
#define FM_NOT_IN_HOST_FUNCTION()                                            \
    do {                                                                     \
        if (fm_inside == FM_INSIDE_HOST_FUNCTION)                            \
            return fm_fail(__func__, FERRUM_ERROR_INVALID_STATE,             \
                           "called from a host function: the call may wait " \
                           "for a stream");                                  \
    } while (0)

/** Reads the struct argument given into the local variable full. */
#define FM_STRUCT_IN(given, full)                                           \
    do {                                                                    \
        ferrum_status fm_status_ =                                          \
            fm_struct_in(__func__, #given, (given), &(full), sizeof(full)); \
        if (fm_status_ != FERRUM_OK)                                        \
            return fm_status_;                                              \
    } while (0)

/** Checks and zeroes the struct argument that the call fills. */
#define FM_STRUCT_OUT(given)                                            \
    do {                                                                \
        ferrum_status fm_status_ =                                      \
            fm_struct_out(__func__, #given, (given), sizeof(*(given))); \
        if (fm_status_ != FERRUM_OK)                                    \
            return fm_status_;                                          \
    } while (0)

/** Checks the buffer of a call that returns text, and zeroes its outputs. */
#define FM_TEXT_OUT(buffer, capacity, length_out) \
    do {                                          \
        if ((capacity) > 0 && (buffer) != NULL)   \
            *(buffer) = 0;                        \
        FM_REQUIRE(length_out);                   \
        *(length_out) = 0;                        \
        if ((capacity) > 0)                       \
            FM_REQUIRE(buffer);                   \
    } while (0)

#define FM_RETURN_IN(name, call)                          \
    do {                                                  \
        ferrum_status fm_status_ = (call);                \
        if (__builtin_expect(fm_status_ != FERRUM_OK, 0)) \
            return fm_failed_in((name), fm_status_);      \
        return FERRUM_OK;                                 \
    } while (0)
/** Ends a public function with a call into Go. */
#define FM_RETURN(call) FM_RETURN_IN(__func__, call)

/** Ends a public function that fills a struct. */
#define FM_RETURN_STRUCT(call, given, full)               \
    do {                                                  \
        ferrum_status fm_status_ = (call);                \
        if (__builtin_expect(fm_status_ != FERRUM_OK, 0)) \
            return fm_failed_in(__func__, fm_status_);    \
        fm_struct_give((given), &(full), sizeof(full));   \
        return FERRUM_OK;                                 \
    } while (0)

#endif
