/*
 * What every public function does before and after it enters Go: refuse in a
 * forked child and when poisoned, check pointers and structs, zero the outputs,
 * keep the thread's error record.
 */
#ifndef FERRUM_CAPI_GUARD_H
#define FERRUM_CAPI_GUARD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>

#include "bridge.h"
#include "callsite.h"
#include "ferrum_mem.h"

/** 0; the negative status that every call is refused with; or 1: every call
 *  keeps where it comes from. */
extern __attribute__((visibility("hidden"))) _Atomic int32_t fm_gate;

/** Refuses the call with the gate's status. */
ferrum_status fm_refuse(const char *function);
/** Keeps FERRUM_ERROR_NULL_POINTER for an argument. */
ferrum_status fm_null(const char *function, const char *argument);
/** Keeps a failure that C itself found, with a ready message. */
ferrum_status fm_fail(const char *function, ferrum_status status,
                      const char *message);
/** Completes the record that Go has kept with the public function's name. */
ferrum_status fm_failed_in(const char *function, ferrum_status status);

/**
 * Reads a versioned struct of the caller into full, which holds the defaults:
 * what the caller's struct lacks keeps its default.
 */
ferrum_status fm_struct_in(const char *function, const char *argument,
                           const void *given, void *full, uint32_t full_size);
/** Checks a struct that is to be filled, and zeroes its fields. */
ferrum_status fm_struct_out(const char *function, const char *argument,
                            void *given, uint32_t full_size);
/** Copies a filled struct as far as the caller's goes. */
void fm_struct_give(void *given, const void *full, uint32_t full_size);

/** What runs on this thread right now, an enum fm_inside. The block of
 *  thread-local storage stays small: all of it is static TLS, because Go's is. */
extern _Thread_local int32_t fm_inside;

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
/** Begins the part of a public function that it jumps to. */
#define FM_ENTER_FOR(function) \
    FM_ENTER_IN(#function, fm_call_site_keep_for((void *)(function)))

/** Refuses a NULL argument by its name. */
#define FM_REQUIRE(pointer)                     \
    do {                                        \
        if ((pointer) == NULL)                  \
            return fm_null(__func__, #pointer); \
    } while (0)

/** Refuses a call that waits for streams from a host function: it would wait
 *  for itself. */
#define FM_NOT_IN_HOST_FUNCTION()                                          \
    do {                                                                   \
        if (fm_inside == FM_INSIDE_HOST_FUNCTION)                          \
            return fm_fail(__func__, FERRUM_ERROR_INVALID_STATE,           \
                           "may wait for a stream, which a host function " \
                           "must not");                                    \
    } while (0)

/** Reads the struct argument given into the local full. */
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

/** Checks the buffer of a call that gives text, and zeroes its outputs. */
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
