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
 * Version of the binary interface: grows when something is added, once from one
 * recorded baseline to the next (docs/abi.md). A library whose
 * ferrum_abi_version() is at least the header's can serve a caller built with
 * that header, as long as the SONAME is the same.
 */
#define FERRUM_ABI_VERSION 10

#if defined(__GNUC__) || defined(__clang__)
#define FERRUM_API __attribute__((visibility("default")))
#else
#define FERRUM_API
#endif

/** Size of a struct as its struct_size has it: the first value of each FERRUM_..._INIT. */
#ifdef __cplusplus
#define FERRUM_SIZE_OF(type) static_cast<uint32_t>(sizeof(type))
#else
#define FERRUM_SIZE_OF(type) ((uint32_t)sizeof(type))
#endif

/**
 * Version of the binary interface of the loaded library.
 *
 * Works at any time, also before ferrum_init, after fork and when the library
 * is poisoned. Never fails.
 *
 * @by-hand c,go answers at any time and without Go
 * @always
 */
FERRUM_API uint32_t ferrum_abi_version(void);

/**
 * Version of the loaded library as text, for example "0.1.0". The text is
 * constant and lives as long as the process. Works at any time; never fails.
 *
 * @by-hand c,go answers at any time and without Go
 * @always
 */
FERRUM_API const char *ferrum_version_string(void);

/* --- Status codes --- */

/**
 * The one table of status codes: X(name, value, text). The other languages'
 * codes are generated from it. A value, once given, never changes.
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
    X(FERRUM_ERROR_RATE_LIMITED, -46, "asked too often") \
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
 * Name of a status code, for example "FERRUM_ERROR_BUSY"; "FERRUM_ERROR_UNKNOWN"
 * for a number that is none. The text is constant. Works at any time.
 *
 * @by-hand c,go answers at any time and without Go
 * @always
 */
FERRUM_API const char *ferrum_status_name(ferrum_status status);

/**
 * What a status code means, in a few words of English. The text is constant.
 * Works at any time.
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

/** A virtual pool: address space, and memory behind it by offset. */
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
 * Flag of the destroy, close and shutdown calls: do it although something is
 * in use. Whatever is in use is freed as well and reported through the log; its
 * handles die.
 */
#define FERRUM_FORCE UINT32_C(1)

/* --- Library: start, stop, errors, log --- */

/** Settings of the library for ferrum_init.
 *  @by-hand python the arguments of init() */
typedef struct ferrum_config {
    uint32_t struct_size;
    /** Host devices cpu:0, cpu:1, ... (1 to 64), sharing the capacity equally;
     *  0: FERRUM_HOST_DEVICES of the environment, or 1. */
    uint32_t host_devices;
    /** Capacity of all host devices together; 0: FERRUM_HOST_MEMORY of the
     *  environment, or what the process may really use: the memory of the
     *  machine or of its control group, whichever is less. */
    uint64_t host_memory_bytes;
    /** FERRUM_CONFIG_* flags.
     *  @flags FERRUM_CONFIG */
    uint32_t flags;
    uint32_t reserved;
} ferrum_config;

/** Accept a host_memory_bytes above the memory of the machine. */
#define FERRUM_CONFIG_HOST_MEMORY_FORCED UINT32_C(1)
/** Ask vendors' libraries for devices in this process, not in one of their own:
 *  where the system forbids to start programs. A broken driver may then end
 *  this process. FERRUM_PROBE=in_process of the environment does the same. */
#define FERRUM_CONFIG_PROBE_IN_PROCESS UINT32_C(2)
/** Add SA_ONSTACK to no handler of a signal; see ferrum_init. A handler without it
 *  is then the program's risk. FERRUM_SIGNAL_HANDLERS=leave of the environment does
 *  the same. */
#define FERRUM_CONFIG_LEAVE_SIGNAL_HANDLERS UINT32_C(4)

#define FERRUM_CONFIG_INIT {FERRUM_SIZE_OF(ferrum_config), 0, 0, 0, 0}

/**
 * Starts the library, or joins it when it runs already: each successful call
 * is undone by one ferrum_shutdown.
 *
 * It gets ahead what the runtime inside needs of the process, which that would end
 * the process for when it could not have it later: two descriptors, threads (as many
 * as there are processors, and 10), 32 MiB of untouched memory. They stay after
 * ferrum_shutdown. docs/hosts.md says what a program has to keep free besides.
 *
 * A handler of a signal that was installed without SA_ONSTACK would run on a stack of
 * the runtime's that has no room for it, and overwrite memory. ferrum_init and every
 * call that opens or creates a device, stream, pool, manager, monitor or the like add
 * the flag to the handlers that they find, keep the rest of each, and name it in the log
 * and in the snapshot. One that is installed later is a danger until the next such call:
 * install handlers with SA_ONSTACK.
 *
 * @param config  settings, or NULL for all defaults. When the library runs,
 *                NULL joins it as it is.
 * @return FERRUM_ERROR_INVALID_STATE when it runs with other settings;
 *         FERRUM_ERROR_INVALID_CONFIG for a setting, also one of the
 *         environment, that makes no sense (the message names it);
 *         FERRUM_ERROR_RESOURCE_EXHAUSTED, FERRUM_ERROR_OUT_OF_MEMORY,
 *         FERRUM_ERROR_PERMISSION_DENIED or FERRUM_ERROR_UNSUPPORTED when the system
 *         does not give what is got ahead (the message says what); the library is not
 *         started then.
 *
 * @optional config
 * @by-hand c,go tries first what the start of Go will take
 * @by-hand cpp the class library calls it
 */
FERRUM_API ferrum_status ferrum_init(const ferrum_config *config);

/**
 * Undoes one ferrum_init; the last one stops the library, its threads and its
 * streams and gives all memory back. It waits for callbacks that still run, also
 * for those that have removed themselves: what they use may be freed afterwards.
 *
 * @param flags  0 or FERRUM_FORCE.
 * @return FERRUM_ERROR_BUSY, and nothing has changed, when the last user leaves
 *         while devices, pools, managers, streams, events, blocks or
 *         registrations are left (ferrum_leak_report_json lists them).
 *         With FERRUM_FORCE they are freed, reported through the log, and kept
 *         in the leak report. FERRUM_ERROR_INVALID_STATE when called from a
 *         callback of the library.
 * @by-hand cpp the class library calls it
 */
FERRUM_API ferrum_status ferrum_shutdown(uint32_t flags);

/** Numbers of ferrum_error_info that a failure states. */
#define FERRUM_FACT_OFFSET_BYTES UINT32_C(1)
#define FERRUM_FACT_SIZE_BYTES UINT32_C(2)
#define FERRUM_FACT_CAPACITY_BYTES UINT32_C(4)
#define FERRUM_FACT_PAGE_BYTES UINT32_C(8)
#define FERRUM_FACT_REQUESTED_BYTES UINT32_C(16)
#define FERRUM_FACT_AVAILABLE_BYTES UINT32_C(32)
#define FERRUM_FACT_LARGEST_FREE_BYTES UINT32_C(64)

/** Detail of a failure, as ferrum_last_error copies it out.
 *  @by-hand python it is an exception
 *  @by-hand rust an Error is made of it */
typedef struct ferrum_error_info {
    uint32_t struct_size;
    /** Status that the failing call returned. */
    ferrum_status status;
    /** Number that the vendor's runtime or the system gave, or 0. */
    int64_t native_code;
    /** Public name of the function that failed. */
    char function[64];
    /** Operation inside the library, for example "pool.alloc". */
    char operation[64];
    /** Device concerned, for example "cpu:0", or empty. */
    char device[32];
    /** What was wrong, with the argument and its value. Cut off at a
     *  character's end if it is longer. */
    char message[1024];
    /** FERRUM_FACT_* flags of the numbers below that the failure states; the others
     *  are 0. Of virtual and elastic pools, INVALID_OFFSET states offset, size and
     *  capacity; ALREADY_MAPPED and NOT_MAPPED state offset and size of the first
     *  page that is, or is not, mapped; INVALID_PAGE_SIZE the page size that was
     *  asked for; OUT_OF_PHYSICAL_MEMORY what was requested and what is available;
     *  OUT_OF_VIRTUAL_MEMORY what was requested and, where it is known, the capacity
     *  and the largest free run. OUT_OF_MEMORY states what was requested, and either
     *  what was free, or could still be had, and the largest free run, or the
     *  capacity that the request is above.
     *  @flags FERRUM_FACT */
    uint32_t facts;
    uint32_t reserved;
    uint64_t offset_bytes;
    uint64_t size_bytes;
    /** The most that there could be. */
    uint64_t capacity_bytes;
    uint64_t page_bytes;
    uint64_t requested_bytes;
    /** Of a pool: free in it, and what it could still have from the device, in
     *  however many pieces. */
    uint64_t available_bytes;
    uint64_t largest_free_bytes;
    /** Model of an elastic pool that the failure is about, or empty. */
    char model[64];
} ferrum_error_info;

/* clang-format off */
#define FERRUM_ERROR_INFO_INIT {FERRUM_SIZE_OF(ferrum_error_info), 0, 0, {0}, {0}, {0}, {0}, 0, 0, 0, 0, 0, 0, 0, 0, 0, {0}}
/* clang-format on */

/**
 * Copies out the detail of the calling thread's latest failure, which stays
 * until the thread's next failing call. Works at any time.
 *
 * @param error_out  filled; status is 0 when no call of this thread failed.
 *
 * @by-hand c,go the record of the thread is kept in C
 * @by-hand cpp the class failure holds it
 * @always
 */
FERRUM_API ferrum_status ferrum_last_error(ferrum_error_info *error_out);

/** Weight of a log message.
 *  @unknown FERRUM_LOG_ERROR */
typedef int32_t ferrum_log_level;
/** For those who work on the library. */
#define FERRUM_LOG_DEBUG 0
/** What happens. */
#define FERRUM_LOG_INFO 1
/** What may be wrong. */
#define FERRUM_LOG_WARNING 2
/** What is wrong. */
#define FERRUM_LOG_ERROR 3

/**
 * Receives log messages. Runs on a thread of the library, one call at a time,
 * with no lock held; it may call the library but ferrum_shutdown. The message
 * is valid during the call only.
 */
typedef void (*ferrum_log_fn)(ferrum_log_level level, const char *message,
                              void *user_data);

/**
 * Sets the receiver of log messages; without one, messages go nowhere, or to
 * stderr if the environment has FERRUM_LOG=debug|info|warning|error, or from
 * warnings on if it has FERRUM_DEBUG.
 *
 * Works before ferrum_init and outlives ferrum_shutdown. Setting another
 * callback, or NULL, waits for a running call of the former one, unless it is
 * called from inside that callback. Messages that were queued before are
 * delivered first. A flood is cut: the number of dropped messages is reported.
 *
 * @param callback   NULL removes the present one.
 * @param user_data  handed to the callback; must stay valid while it is set.
 *
 * @optional callback
 * @stateless
 * @by-hand go a receiver may be replaced while it runs
 */
FERRUM_API ferrum_status ferrum_log_set_callback(ferrum_log_level minimum_level,
                                                 ferrum_log_fn callback,
                                                 void *user_data);

#ifdef __cplusplus
}
#endif

#endif /* FERRUM_MEM_BASE_H */
