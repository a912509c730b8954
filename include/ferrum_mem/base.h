/*
 * Version, status codes, handles, and the library itself: start, stop, errors, log.
 * A part of ferrum_mem.h, which programs include, and which has the rules that hold for all.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef FERRUM_MEM_BASE_H
#define FERRUM_MEM_BASE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* --- Version and export macros --- */

/** Version of the package. */
#define FERRUM_VERSION_MAJOR 0
#define FERRUM_VERSION_MINOR 1
#define FERRUM_VERSION_PATCH 0

/**
 * Version of the binary interface. It grows by one with the first addition after a
 * recorded baseline (docs/abi.md). A library whose ferrum_abi_version() is at least
 * the header's can serve a program that was built with that header, as long as the
 * SONAME is the same.
 */
#define FERRUM_ABI_VERSION 20

#if defined(__GNUC__) || defined(__clang__)
#define FERRUM_API __attribute__((visibility("default")))
#else
#define FERRUM_API
#endif

/** Value of struct_size for a struct: the first value of each FERRUM_..._INIT. */
#ifdef __cplusplus
#define FERRUM_SIZE_OF(type) static_cast<uint32_t>(sizeof(type))
#else
#define FERRUM_SIZE_OF(type) ((uint32_t)sizeof(type))
#endif

/**
 * Returns the version of the binary interface of the loaded library.
 *
 * Works at any time: also before ferrum_init, after fork, and when the library is
 * poisoned. Never fails.
 *
 * @by-hand c,go answers at any time and without Go
 * @always
 */
FERRUM_API uint32_t ferrum_abi_version(void);

/**
 * Returns the version of the loaded library as text, for example "0.1.0". The text
 * is constant and stays valid until the process ends. Works at any time. Never
 * fails.
 *
 * @by-hand c,go answers at any time and without Go
 * @always
 */
FERRUM_API const char *ferrum_version_string(void);

/* --- Status codes --- */

/**
 * The table of all status codes: X(name, value, text). The codes of the other
 * languages are generated from it. A value keeps its meaning forever.
 */
/* clang-format off */
#define FERRUM_STATUS_TABLE(X) \
    X(FERRUM_OK, 0, "success") \
    X(FERRUM_ERROR_INTERNAL, -1, "a defect of the library") \
    X(FERRUM_ERROR_POISONED, -2, "the library stopped after a defect") \
    X(FERRUM_ERROR_FORKED, -3, "called in a forked child") \
    X(FERRUM_ERROR_NOT_INITIALIZED, -4, "ferrum_init has not been called") \
    X(FERRUM_ERROR_INVALID_STATE, -5, "not possible in the present state") \
    X(FERRUM_ERROR_NULL_POINTER, -6, "a required pointer is NULL") \
    X(FERRUM_ERROR_INVALID_HANDLE, -7, "not a live handle of this kind") \
    X(FERRUM_ERROR_INVALID_ARGUMENT, -8, "an argument has no meaning") \
    X(FERRUM_ERROR_INVALID_SIZE, -9, "a size is zero or not possible") \
    X(FERRUM_ERROR_INVALID_ALIGNMENT, -10, "an alignment is not a power of two, or is out of bounds") \
    X(FERRUM_ERROR_INVALID_STRUCT, -11, "a struct's size, reserved field or tail is wrong") \
    X(FERRUM_ERROR_INVALID_OFFSET, -12, "an offset or range is out of bounds") \
    X(FERRUM_ERROR_INVALID_ADDRESS, -13, "not the address of a live block") \
    X(FERRUM_ERROR_INVALID_CONFIG, -14, "a configuration contradicts itself") \
    X(FERRUM_ERROR_INVALID_FORMAT, -15, "input is malformed") \
    X(FERRUM_ERROR_OVERFLOW, -16, "arithmetic on the arguments overflows") \
    X(FERRUM_ERROR_BUFFER_TOO_SMALL, -17, "the caller's buffer is too small") \
    X(FERRUM_ERROR_OUT_OF_MEMORY, -18, "not enough memory") \
    X(FERRUM_ERROR_OUT_OF_VIRTUAL_MEMORY, -19, "not enough address space") \
    X(FERRUM_ERROR_OUT_OF_PHYSICAL_MEMORY, -20, "not enough physical memory under the limit") \
    X(FERRUM_ERROR_RESOURCE_EXHAUSTED, -21, "a resource other than memory is used up") \
    X(FERRUM_ERROR_DOUBLE_FREE, -22, "the block is free already") \
    X(FERRUM_ERROR_BUSY, -23, "in use") \
    X(FERRUM_ERROR_TIMEOUT, -24, "not done in time") \
    X(FERRUM_ERROR_CANCELLED, -25, "cancelled") \
    X(FERRUM_ERROR_NOT_FOUND, -26, "not found") \
    X(FERRUM_ERROR_ALREADY_EXISTS, -27, "exists already") \
    X(FERRUM_ERROR_DEVICE_NOT_FOUND, -28, "no such device") \
    X(FERRUM_ERROR_BACKEND_UNAVAILABLE, -29, "the backend cannot be used here") \
    X(FERRUM_ERROR_UNSUPPORTED, -30, "the device or build lacks this capability") \
    X(FERRUM_ERROR_UNSUPPORTED_DEVICE, -31, "the device is of the wrong kind for this") \
    X(FERRUM_ERROR_DEVICE, -32, "the device's runtime reported an error") \
    X(FERRUM_ERROR_DEVICE_LOST, -33, "the device is lost") \
    X(FERRUM_ERROR_MAPPING_FAILED, -34, "mapping memory failed") \
    X(FERRUM_ERROR_UNMAPPING_FAILED, -35, "unmapping memory failed") \
    X(FERRUM_ERROR_ALREADY_MAPPED, -36, "mapped already") \
    X(FERRUM_ERROR_NOT_MAPPED, -37, "not mapped") \
    X(FERRUM_ERROR_INVALID_PAGE_SIZE, -38, "not a page size of this device") \
    X(FERRUM_ERROR_MODEL_NOT_FOUND, -39, "no such model") \
    X(FERRUM_ERROR_MODEL_ALREADY_EXISTS, -40, "the model exists already") \
    X(FERRUM_ERROR_MODEL, -41, "the model cannot be used") \
    X(FERRUM_ERROR_IO, -42, "reading or writing failed") \
    X(FERRUM_ERROR_PERMISSION_DENIED, -43, "not permitted") \
    X(FERRUM_ERROR_NETWORK, -44, "the network failed") \
    X(FERRUM_ERROR_AUTHENTICATION, -45, "not authenticated") \
    X(FERRUM_ERROR_RATE_LIMITED, -46, "called too often") \
    X(FERRUM_ERROR_SERIALIZATION, -47, "a value cannot be written or read as text") \
    X(FERRUM_ERROR_CORRUPTED, -48, "bytes beside a block, or of a freed block, were overwritten")
/* clang-format on */

/** Status of a call: one of the codes of FERRUM_STATUS_TABLE. */
typedef int32_t ferrum_status;

/** The codes of FERRUM_STATUS_TABLE as constants. */
enum ferrum_status_code {
#define FERRUM_STATUS_ENUMERATOR(name, value, text) name = value,
    FERRUM_STATUS_TABLE(FERRUM_STATUS_ENUMERATOR)
#undef FERRUM_STATUS_ENUMERATOR
        FERRUM_STATUS_ENUM_END_ = 1
};

/**
 * Returns the name of a status code, for example "FERRUM_ERROR_BUSY", or
 * "FERRUM_ERROR_UNKNOWN" for a number that is not a status code. The text is
 * constant. Works at any time.
 *
 * @by-hand c,go answers at any time and without Go
 * @always
 */
FERRUM_API const char *ferrum_status_name(ferrum_status status);

/**
 * Returns the meaning of a status code in a few English words. The text is
 * constant. Works at any time.
 *
 * @by-hand c,go answers at any time and without Go
 * @always
 */
FERRUM_API const char *ferrum_status_text(ferrum_status status);

/* --- Handles --- */

/** An open device. */
typedef struct ferrum_device {
    uint64_t id; /**< 0 is no device */
} ferrum_device;

/** An ordered queue of work on a device. */
typedef struct ferrum_stream {
    uint64_t id; /**< 0 is no stream, or the default one where it is optional */
} ferrum_stream;

/** A point in a stream's queue. */
typedef struct ferrum_event {
    uint64_t id; /**< 0 is no event */
} ferrum_event;

/** A pool: memory by address. */
typedef struct ferrum_pool {
    uint64_t id; /**< 0 is no pool */
} ferrum_pool;

/** A virtual pool: reserved address space, with memory behind parts of it. */
typedef struct ferrum_vpool {
    uint64_t id; /**< 0 is no virtual pool */
} ferrum_vpool;

/** An elastic pool: several models under one physical limit. */
typedef struct ferrum_elastic_pool {
    uint64_t id; /**< 0 is no elastic pool */
} ferrum_elastic_pool;

/** A memory manager of a device: memory by handle. */
typedef struct ferrum_manager {
    uint64_t id; /**< 0 is no manager */
} ferrum_manager;

/** A block of memory that a manager owns. */
typedef struct ferrum_memory {
    uint64_t id; /**< 0 is no block */
} ferrum_memory;

/** A registered callback.
 *  @by-hand rust it is ended and nothing else */
typedef struct ferrum_registration {
    uint64_t id; /**< 0 is no registration */
} ferrum_registration;

/** An address in a device's memory; on a host device also a pointer. */
typedef uint64_t ferrum_address;

/** Timeout that waits without an end. */
#define FERRUM_WAIT_FOREVER UINT64_MAX

/**
 * Flag of the destroy, close and shutdown calls: end the object although it is in
 * use. The call also frees everything that uses the object, and logs it. Handles of
 * freed objects become invalid.
 */
#define FERRUM_FORCE UINT32_C(1)

/* --- Library: start, stop, errors, log --- */

/** Settings of the library for ferrum_init.
 *  @by-hand python the arguments of init() */
typedef struct ferrum_config {
    uint32_t struct_size;
    /** Number of host devices cpu:0, cpu:1, ... (1 to 64), which share the capacity
     *  equally; 0: FERRUM_HOST_DEVICES of the environment, or 1.
     *  @none 0 */
    uint32_t host_devices;
    /** Capacity of all host devices together; 0: FERRUM_HOST_MEMORY of the
     *  environment, or the memory that the process may use. That is the memory of
     *  the machine or of its control group, whichever is less.
     *  @none 0 */
    uint64_t host_memory_bytes;
    /** FERRUM_CONFIG_* flags.
     *  @flags FERRUM_CONFIG */
    uint32_t flags;
    uint32_t reserved;
} ferrum_config;

/** Accept a host_memory_bytes above the memory of the machine. */
#define FERRUM_CONFIG_HOST_MEMORY_FORCED UINT32_C(1)
/** Query vendor libraries for devices in this process, instead of in short-lived
 *  processes of their own. Use it where the system forbids starting programs. A
 *  broken driver may then end this process. FERRUM_PROBE=in_process in the
 *  environment has the same effect. */
#define FERRUM_CONFIG_PROBE_IN_PROCESS UINT32_C(2)
/** Do not add SA_ONSTACK to signal handlers; see ferrum_init. The program then has
 *  to make sure that each handler has the flag. No handler is installed for SIGBUS
 *  either, so the use of a page that a mapped file of weights has lost is a signal.
 *  FERRUM_SIGNAL_HANDLERS=leave in the environment has the same effect. */
#define FERRUM_CONFIG_LEAVE_SIGNAL_HANDLERS UINT32_C(4)

#define FERRUM_CONFIG_INIT {FERRUM_SIZE_OF(ferrum_config), 0, 0, 0, 0}

/**
 * Starts the library. If the library runs already, the call joins it. Each
 * successful call must be undone by one ferrum_shutdown.
 *
 * The Go runtime inside the library ends the process when a resource that it needs
 * is not available. So ferrum_init preallocates these resources: two file
 * descriptors, as many threads as there are processors and 10 more, and 32 MiB of
 * untouched memory. They stay after ferrum_shutdown. docs/hosts.md lists the other
 * resources that a program must keep available.
 *
 * A signal handler without SA_ONSTACK runs on a stack of the runtime that is too
 * small for it, and overwrites memory. So ferrum_init adds the flag to the
 * installed handlers, and so does every later call that opens or creates a device,
 * stream, pool, manager, monitor or another object. The rest of each handler stays
 * as it was. The log and the snapshot name each changed handler. A handler that is
 * installed later is dangerous until the next such call: install handlers with
 * SA_ONSTACK.
 *
 * @param config  settings, or NULL for all defaults. If the library runs already,
 *                NULL joins it as it is.
 * @return FERRUM_ERROR_INVALID_STATE when the library runs with other settings;
 *         FERRUM_ERROR_INVALID_CONFIG for a setting, or a variable of the
 *         environment, that is not valid (the message names it);
 *         FERRUM_ERROR_RESOURCE_EXHAUSTED, FERRUM_ERROR_OUT_OF_MEMORY,
 *         FERRUM_ERROR_PERMISSION_DENIED or FERRUM_ERROR_UNSUPPORTED when the
 *         preallocation fails (the message names the missing resource). The library does
 *         not run after an error.
 *
 * @optional config
 * @by-hand c,go tries first what the start of Go will take
 * @by-hand cpp the class library calls it
 */
FERRUM_API ferrum_status ferrum_init(const ferrum_config *config);

/**
 * Undoes one ferrum_init. The last call stops the library, its threads and its
 * streams, and releases all memory. It waits for running callbacks, also for those
 * that removed themselves; afterwards the program may free what its callbacks use.
 *
 * @param flags  0 or FERRUM_FORCE.
 * @return FERRUM_ERROR_BUSY when this is the last call and devices, pools,
 *         managers, streams, events, blocks or registrations still exist; nothing
 *         has changed then, and ferrum_leak_report_json lists them. With
 *         FERRUM_FORCE they are freed, logged, and kept in the leak report.
 *         FERRUM_ERROR_INVALID_STATE when a callback of the library makes the call.
 *
 * @by-hand cpp the class library calls it
 */
FERRUM_API ferrum_status ferrum_shutdown(uint32_t flags);

/** Flags of the numbers in ferrum_error_info that a failure states. */
#define FERRUM_FACT_OFFSET_BYTES UINT32_C(1)
#define FERRUM_FACT_SIZE_BYTES UINT32_C(2)
#define FERRUM_FACT_CAPACITY_BYTES UINT32_C(4)
#define FERRUM_FACT_PAGE_BYTES UINT32_C(8)
#define FERRUM_FACT_REQUESTED_BYTES UINT32_C(16)
#define FERRUM_FACT_AVAILABLE_BYTES UINT32_C(32)
#define FERRUM_FACT_LARGEST_FREE_BYTES UINT32_C(64)

/** Detail of a failure, which ferrum_last_error copies out.
 *  @by-hand python it is an exception
 *  @by-hand rust an Error is made of it */
typedef struct ferrum_error_info {
    uint32_t struct_size;
    /** Status that the failing call returned. */
    ferrum_status status;
    /** Error number of the vendor's runtime or of the system, or 0. */
    int64_t native_code;
    /** Public name of the function that failed. */
    char function[64];
    /** Operation inside the library, for example "pool.alloc". */
    char operation[64];
    /** Device of the failing call, for example "cpu:0", or empty. */
    char device[32];
    /** The reason of the failure, with the name and the value of the argument. A longer
     *  text is cut at the end of a character. */
    char message[1024];
    /** FERRUM_FACT_* flags of the numbers below that the failure states; the other
     *  numbers are 0. For virtual and elastic pools, INVALID_OFFSET states offset,
     *  size and capacity. ALREADY_MAPPED and NOT_MAPPED state offset and size of
     *  the first page that is, or is not, mapped. INVALID_PAGE_SIZE states the
     *  rejected page size. OUT_OF_PHYSICAL_MEMORY states the requested and the
     *  available size. OUT_OF_VIRTUAL_MEMORY states the requested size and, where
     *  they are known, the capacity and the largest free run. OUT_OF_MEMORY states
     *  the requested size; besides that, either the available size and the largest
     *  free run, or the capacity that is smaller than the request.
     *  @flags FERRUM_FACT */
    uint32_t facts;
    uint32_t reserved;
    uint64_t offset_bytes;
    uint64_t size_bytes;
    /** The largest possible size. */
    uint64_t capacity_bytes;
    uint64_t page_bytes;
    uint64_t requested_bytes;
    /** For a pool: the free bytes in the pool and the bytes that the pool could
     *  still get from the device, in however many pieces. */
    uint64_t available_bytes;
    uint64_t largest_free_bytes;
    /** Model of an elastic pool that the failure is about, or empty. */
    char model[64];
} ferrum_error_info;

/* clang-format off */
#define FERRUM_ERROR_INFO_INIT {FERRUM_SIZE_OF(ferrum_error_info), 0, 0, {0}, {0}, {0}, {0}, 0, 0, 0, 0, 0, 0, 0, 0, 0, {0}}
/* clang-format on */

/**
 * Copies out the detail of the latest failure on the calling thread. The detail
 * stays until the next failing call of this thread. Works at any time.
 *
 * @param error_out  filled; its status is 0 when no call of this thread has failed.
 *
 * @by-hand c,go the record of the thread is kept in C
 * @by-hand cpp the class failure holds it
 * @always
 */
FERRUM_API ferrum_status ferrum_last_error(ferrum_error_info *error_out);

/** Severity of a log message.
 *  @unknown FERRUM_LOG_ERROR */
typedef int32_t ferrum_log_level;
/** Details for developers of the library. */
#define FERRUM_LOG_DEBUG 0
/** Normal events. */
#define FERRUM_LOG_INFO 1
/** Possible problems. */
#define FERRUM_LOG_WARNING 2
/** Errors. */
#define FERRUM_LOG_ERROR 3

/**
 * Receives log messages. Runs on a thread of the library, one call at a time, with
 * no lock held. It may call every function of the library except ferrum_shutdown.
 * The message is valid during the call only.
 */
typedef void (*ferrum_log_fn)(ferrum_log_level level, const char *message,
                              void *user_data);

/**
 * Sets the receiver of log messages. Without a receiver, the library writes
 * messages to stderr if the environment has FERRUM_LOG=debug|info|warning|error, or
 * FERRUM_DEBUG (then from warnings on); otherwise it drops them.
 *
 * Works before ferrum_init. The receiver stays set after ferrum_shutdown. A call
 * that sets another callback, or NULL, first delivers the queued messages to the
 * former callback and waits for its running call, unless the call comes from inside
 * that callback. When too many messages come at once, the library drops some and
 * reports how many.
 *
 * @param callback  NULL removes the present one.
 * @param user_data  passed to the callback; must stay valid while the callback is
 *                set.
 *
 * @optional callback
 * @stateless
 * @by-hand go a receiver may be replaced while it runs
 */
FERRUM_API ferrum_status ferrum_log_set_callback(ferrum_log_level minimum_level,
                                                 ferrum_log_fn callback,
                                                 void *user_data);

/**
 * Writes where the calling thread is in a program of an interpreted language: one
 * line of text for each frame, the innermost first, with '\n' between them, such as
 * "engine.py:12 (load)". Runs on the thread of a call, before the call does anything
 * else. It must not call the library.
 *
 * @param buffer  for the text, which needs no NUL at its end.
 * @return the length of the text; 0: the thread runs no such program.
 */
typedef size_t (*ferrum_call_site_fn)(char *buffer, size_t capacity,
                                      void *user_data);

/**
 * Sets a callback that returns the lines of an interpreted program. Then call sites
 * of pools with FERRUM_DEBUG_CALL_SITES (leak reports, damage in errors and in the
 * log, ferrum_device_get_call_site_json) have these lines before the native
 * functions. The Python package sets it when it loads the library. Without such a
 * pool the callback is never called; with one, every function of the library calls
 * it.
 *
 * Works before ferrum_init, and stays set after ferrum_shutdown. A call waits for
 * running calls of the former callback.
 *
 * @param callback  NULL removes the present one.
 * @param user_data  passed to the callback; must stay valid while the callback is
 *                set.
 * @return FERRUM_ERROR_INVALID_STATE inside of the callback.
 *
 * @optional callback
 * @stateless
 * @by-hand c,go call sites are kept in C
 * @by-hand cpp the class library calls it
 */
FERRUM_API ferrum_status
ferrum_call_site_set_callback(ferrum_call_site_fn callback, void *user_data);

#ifdef __cplusplus
}
#endif

#endif /* FERRUM_MEM_BASE_H */
