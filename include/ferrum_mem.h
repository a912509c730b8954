/*
 * ferrum_mem: the memory system of an LLM inference engine, as one C library.
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * This header is the whole C ABI and its reference. The banner sections are:
 *
 *   1. Version and export macros
 *   2. Status codes
 *   3. Handles
 *   4. Library: start, stop, errors, log
 *   5. Backends and devices
 *   6. Books: memory information, statistics, snapshots, leaks
 *   7. Streams and events
 *   8. Pools: memory by address
 *   9. Managers: memory by handle
 *  10. Callbacks: pressure and reclaim
 *  11. Virtual pools: address space with pages that come and go
 *  12. Elastic pools: several models under one physical limit
 *  13. Sleep and wake
 *  14. Placement and global monitor
 *  15. Estimation: does it fit?
 *  16. Unified pools: buffers that fall back to the host
 *  17. Advanced manager: mappings, links, memory of others
 *
 * Rules that hold for every function:
 *
 *   Result.    Every function that can fail returns a ferrum_status: 0 is
 *              success, errors are negative. Results come back through the
 *              trailing *_out parameters, which are zeroed on failure. A
 *              required pointer that is NULL is FERRUM_ERROR_NULL_POINTER.
 *   Errors.    The detail of a failure is kept per thread; ferrum_last_error
 *              copies it out. A failed call changes nothing, unless its comment
 *              says otherwise.
 *   Threads.   Every function may be called from any thread, at any time,
 *              unless its comment says otherwise.
 *   Memory.    The library never returns memory that the caller must free, and
 *              keeps no pointer of the caller after a call, except where a
 *              comment says so. Text is UTF-8.
 *   Handles.   A handle is one 64-bit word that carries its kind and its
 *              generation. 0, a handle of another kind, a destroyed one and a
 *              made-up one are FERRUM_ERROR_INVALID_HANDLE, never a crash.
 *              {0} as an *optional* stream means the default stream of the
 *              device that the call works on.
 *   Ending.    A call that destroys, closes, frees, removes or unregisters
 *              something without FERRUM_FORCE ends it, or is FERRUM_ERROR_BUSY
 *              with a message that says what still uses it; then nothing has
 *              changed. Which of the two is decided in one step: calls of other
 *              threads that come before are served as if nobody had asked, those
 *              that come after it are FERRUM_ERROR_INVALID_HANDLE. When a device
 *              fails to take something back, that error is returned, what it did
 *              not take stays as it was, and the call may be repeated.
 *   Structs.   A struct that starts with struct_size is set up with its
 *              FERRUM_*_INIT macro. A smaller struct_size (an older caller) is
 *              accepted, what it lacks has its default; a larger one is
 *              accepted if what this library does not know is zero. Reserved
 *              fields and unknown flags must be zero. A struct that the
 *              library fills is filled up to the caller's struct_size; it is
 *              left as it was, but for its fields being zeroed, on failure.
 *   Fork.      In a child made by fork() every call but the version, status
 *              text and last-error queries returns FERRUM_ERROR_FORKED.
 *   Defects.   If the library finds its own state broken it says so with
 *              FERRUM_ERROR_INTERNAL and from then on answers every call but
 *              those queries with FERRUM_ERROR_POISONED.
 *   Sizes.     Bytes, unless the name says otherwise.
 */
#ifndef FERRUM_MEM_H
#define FERRUM_MEM_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ===================================================================== */
/* 1. Version and export macros                                          */
/* ===================================================================== */

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
#define FERRUM_ABI_VERSION 7

#if defined(__GNUC__) || defined(__clang__)
#define FERRUM_API __attribute__((visibility("default")))
#else
#define FERRUM_API
#endif

/**
 * Version of the binary interface of the loaded library.
 *
 * Works at any time, also before ferrum_init, after fork and when the library
 * is poisoned. Never fails.
 */
FERRUM_API uint32_t ferrum_abi_version(void);

/**
 * Version of the loaded library as text, for example "0.1.0". The text is
 * constant and lives as long as the process. Works at any time; never fails.
 */
FERRUM_API const char *ferrum_version_string(void);

/* ===================================================================== */
/* 2. Status codes                                                       */
/* ===================================================================== */

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
 */
FERRUM_API const char *ferrum_status_name(ferrum_status status);

/**
 * What a status code means, in a few words of English. The text is constant.
 * Works at any time.
 */
FERRUM_API const char *ferrum_status_text(ferrum_status status);

/* ===================================================================== */
/* 3. Handles                                                            */
/* ===================================================================== */

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

/** A registered callback. */
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

/* ===================================================================== */
/* 4. Library: start, stop, errors, log                                  */
/* ===================================================================== */

/** Settings of the library for ferrum_init. */
typedef struct ferrum_config {
    uint32_t struct_size;
    /** Host devices cpu:0, cpu:1, ... (1 to 64), sharing the capacity equally;
     *  0: FERRUM_HOST_DEVICES of the environment, or 1. */
    uint32_t host_devices;
    /** Capacity of all host devices together; 0: FERRUM_HOST_MEMORY of the
     *  environment, or what the process may really use: the memory of the
     *  machine or of its control group, whichever is less. */
    uint64_t host_memory_bytes;
    /** FERRUM_CONFIG_* flags. */
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

#define FERRUM_CONFIG_INIT {(uint32_t)sizeof(ferrum_config), 0, 0, 0, 0}

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

/** Detail of a failure, as ferrum_last_error copies it out. */
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
     *  capacity that the request is above. */
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
#define FERRUM_ERROR_INFO_INIT {(uint32_t)sizeof(ferrum_error_info), 0, 0, {0}, {0}, {0}, {0}, 0, 0, 0, 0, 0, 0, 0, 0, 0, {0}}
/* clang-format on */

/**
 * Copies out the detail of the calling thread's latest failure, which stays
 * until the thread's next failing call. Works at any time.
 *
 * @param error_out  filled; status is 0 when no call of this thread failed.
 */
FERRUM_API ferrum_status ferrum_last_error(ferrum_error_info *error_out);

/** Weight of a log message. */
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
 */
FERRUM_API ferrum_status ferrum_log_set_callback(ferrum_log_level minimum_level,
                                                 ferrum_log_fn callback,
                                                 void *user_data);

/* ===================================================================== */
/* 5. Backends and devices                                               */
/* ===================================================================== */

/**
 * Every backend with its devices, or the reason why it cannot be used here, as
 * JSON; the host comes first, then cuda, rocm, metal and opencl:
 *
 *   {"backends": [{"backend": "cpu", "name": "CPU", "available": true,
 *       "usable": true, "reason": null, "error": null, "native_code": 0,
 *       "library": null, "version": null,
 *       "devices": [{"id": "cpu:0", "index": 0, "name": "...",
 *         "total_bytes": 0, "free_bytes": null, "compute_capability": null,
 *         "unified_memory": true, "max_allocation_bytes": null,
 *         "granularity_bytes": 0, "alignment_bytes": 0,
 *         "recommended_fraction_percent": 70, "host_addressable": true,
 *         "capabilities": ["peer", "virtual_memory"]}]}],
 *    "recommended": "cpu", "discovered_at_unix_ns": 0,
 *    "discovery_took_ns": 0}
 *
 * "available": it works here and has devices. "usable": this build can also
 * open them. Where it is not available, "error" says why, "reason" is one of
 * library_not_found, library_unusable, symbol_missing, too_old, no_device,
 * driver_error, unsupported_system, crashed, timed_out, helper_unavailable,
 * switched_off and unusable, and "native_code" is the number that the vendor's
 * library, the system, or the signal of a crash gave. A total of 0 and a free
 * of null are unknown. The recommended fraction is 70 % of memory that is
 * shared with the host, else 90 %.
 *
 * The first call asks all backends, each vendor's library in a short-lived
 * process of its own, so that a broken driver cannot harm this one; it takes as
 * long as the slowest, at most FERRUM_PROBE_TIMEOUT. Later calls give what was
 * found then: ferrum_backends_refresh asks again. No device is opened.
 *
 * All JSON functions share this form: with capacity 0 (buffer may be NULL) only
 * *length_out is set, to the length in bytes without the closing NUL. Otherwise
 * the text and a NUL are written; FERRUM_ERROR_BUFFER_TOO_SMALL, with
 * *length_out set and the buffer's first byte 0, if they do not fit. What is
 * described may change between two calls: call again with the new length.
 */
FERRUM_API ferrum_status ferrum_backends_json(char *buffer, size_t capacity,
                                              size_t *length_out);

/** Asks all backends again. Callers at the same time share one asking. */
FERRUM_API ferrum_status ferrum_backends_refresh(void);

/**
 * What ferrum_backends_json says, as text for people: a header line, a tick or
 * a cross for each backend with its devices or its error, and the backend to
 * prefer.
 *
 * @param buffer,capacity,length_out  as for ferrum_backends_json.
 */
FERRUM_API ferrum_status ferrum_backends_summary(char *buffer, size_t capacity,
                                                 size_t *length_out);

/**
 * A backend; as a preference also FERRUM_BACKEND_AUTO. They are in the order in
 * which they are listed and, but for the CPU, which comes last, preferred.
 */
typedef int32_t ferrum_backend;
/** Auto: the library chooses. */
#define FERRUM_BACKEND_AUTO 0
/** CPU: the host. */
#define FERRUM_BACKEND_CPU 1
/** CUDA: devices of NVIDIA's driver. */
#define FERRUM_BACKEND_CUDA 2
/** ROCm: devices of the HIP runtime. */
#define FERRUM_BACKEND_ROCM 3
/** Metal: devices of macOS. */
#define FERRUM_BACKEND_METAL 4
/** OpenCL: devices of all its platforms. */
#define FERRUM_BACKEND_OPENCL 5

/**
 * Name of a backend as in device ids, for example "cuda"; "auto" for
 * FERRUM_BACKEND_AUTO, "" for a number that is none. The text is constant.
 * Works at any time; never fails.
 */
FERRUM_API const char *ferrum_backend_name(ferrum_backend backend);

/** Name of a backend for people, for example "ROCm"; otherwise as
 *  ferrum_backend_name. */
FERRUM_API const char *ferrum_backend_display_name(ferrum_backend backend);

/**
 * The backend that FERRUM_BACKEND_AUTO tries first: the first of CUDA, ROCm,
 * Metal and OpenCL that is usable and has a device, else the CPU.
 */
FERRUM_API ferrum_status ferrum_backend_best(ferrum_backend *backend_out);

/** A device that was chosen. */
typedef struct ferrum_backend_choice {
    uint32_t struct_size;
    /** Backend of the device. */
    ferrum_backend backend;
    /** Position of the device within its backend. */
    uint32_t device_index;
    uint32_t reserved;
    /** Capacity of the device; 0 means unknown. */
    uint64_t total_bytes;
    /** What was free when it was looked at; 0 if not known. */
    uint64_t free_bytes;
    /** For example "cuda:0". */
    char id[32];
    /** What was looked at, the chosen one last: lines of "id: why not". Cut
     *  off at a character's end if it is longer. */
    char tried[1024];
} ferrum_backend_choice;

/* clang-format off */
#define FERRUM_BACKEND_CHOICE_INIT {(uint32_t)sizeof(ferrum_backend_choice), 0, 0, 0, 0, 0, {0}, {0}}
/* clang-format on */

/**
 * Finds the first device that has room for that many bytes: free memory or,
 * where that is not known, 80 % of the capacity. It opens none. What is known
 * of vendors' devices is of the last discovery.
 *
 * @param preference  FERRUM_BACKEND_AUTO, or the one backend to look at.
 * @return FERRUM_ERROR_OUT_OF_MEMORY when no device has room,
 *         FERRUM_ERROR_BACKEND_UNAVAILABLE when there is no device to look at;
 *         the message says what was tried and why not.
 */
FERRUM_API ferrum_status
ferrum_backend_select(ferrum_backend preference, uint64_t required_bytes,
                      ferrum_backend_choice *choice_out);

/**
 * Opens the first device that has room, by what ferrum_backend_select looks at
 * and by what the device itself says once it is open; one that cannot be opened
 * or has too little is passed over. There is no choice without that check. The
 * device is closed by ferrum_device_close.
 *
 * @param choice_out  may be NULL.
 * @return as for ferrum_backend_select; no device stays open then.
 */
FERRUM_API ferrum_status ferrum_backend_open(ferrum_backend preference,
                                             uint64_t required_bytes,
                                             ferrum_device *device_out,
                                             ferrum_backend_choice *choice_out);

/**
 * Whether that many bytes fit into a device, as ferrum_backend_select counts.
 *
 * @param fits_out  1 or 0.
 * @return FERRUM_ERROR_DEVICE_NOT_FOUND; FERRUM_ERROR_BACKEND_UNAVAILABLE with
 *         the reason for a device of a backend that is not available.
 */
FERRUM_API ferrum_status ferrum_device_can_fit(const char *id, uint64_t bytes,
                                               uint32_t *fits_out);

/** What is known of this machine. */
typedef struct ferrum_host_info {
    uint32_t struct_size;
    /** 1 if available_bytes is known, else 0. */
    uint32_t available_known;
    /** Memory that this process may use: the machine's or its control group's,
     *  whichever is less; 0 means unknown. */
    uint64_t total_bytes;
    /** What of it can still be touched. */
    uint64_t available_bytes;
    /** Model of the processor, or "Unknown CPU". */
    char cpu_name[128];
} ferrum_host_info;

/* clang-format off */
#define FERRUM_HOST_INFO_INIT {(uint32_t)sizeof(ferrum_host_info), 0, 0, 0, {0}}
/* clang-format on */

/** Reads what is known of this machine; works also before ferrum_init. */
FERRUM_API ferrum_status ferrum_host_get_info(ferrum_host_info *info_out);

/**
 * The least power of two that is n or more; 1 for 0.
 *
 * @return FERRUM_ERROR_OVERFLOW above 2^63.
 */
FERRUM_API ferrum_status ferrum_round_up_power_of_2(uint64_t n,
                                                    uint64_t *result_out);

/** Bucket that a size belongs to: the next power of two, as
 *  ferrum_round_up_power_of_2. */
FERRUM_API ferrum_status ferrum_size_class(uint64_t size_bytes,
                                           uint64_t *class_bytes_out);

/** Bytes of that many 32-bit floats; FERRUM_ERROR_OVERFLOW if they do not fit
 *  64 bits. */
FERRUM_API ferrum_status ferrum_f32_bytes(uint64_t count, uint64_t *bytes_out);

/** As ferrum_f32_bytes, for 16-bit floats. */
FERRUM_API ferrum_status ferrum_f16_bytes(uint64_t count, uint64_t *bytes_out);

/** An address of the device is also a pointer of the host. */
#define FERRUM_CAPABILITY_HOST_ADDRESSABLE (UINT64_C(1) << 0)
/** The device copies from others of its backend directly. */
#define FERRUM_CAPABILITY_PEER (UINT64_C(1) << 1)
/** Virtual and elastic pools work on the device. */
#define FERRUM_CAPABILITY_VIRTUAL_MEMORY (UINT64_C(1) << 2)
/** FERRUM_MEMORY_PINNED and FERRUM_MEMORY_MAPPED can be had, within the system's limits. */
#define FERRUM_CAPABILITY_PINNED_MEMORY (UINT64_C(1) << 3)
/** ferrum_manager_create_mapping() works between the device and others of its backend. */
#define FERRUM_CAPABILITY_LINKED_MEMORY (UINT64_C(1) << 4)
/** Virtual pools can have FERRUM_BACKING_SHAREABLE, and ferrum_manager_import_pages() works. */
#define FERRUM_CAPABILITY_EXPORTED_PAGES (UINT64_C(1) << 5)
/** ferrum_device_share_memory() and ferrum_event_share() work between processes. */
#define FERRUM_CAPABILITY_SHARED_MEMORY (UINT64_C(1) << 6)
/** ferrum_pool_capture_begin() works: streams can be captured, and say so. */
#define FERRUM_CAPABILITY_CAPTURE (UINT64_C(1) << 7)
/** FERRUM_MEMORY_MANAGED is memory that moves to where it is used. Without it, it is the
 *  device's own on a device that is FERRUM_CAPABILITY_HOST_ADDRESSABLE, else there is none. */
#define FERRUM_CAPABILITY_MANAGED_MEMORY (UINT64_C(1) << 8)
/** ferrum_manager_adopt() page-locks memory of the process. */
#define FERRUM_CAPABILITY_REGISTERED_MEMORY (UINT64_C(1) << 9)
/** Pools can have FERRUM_SEGMENTS_STREAM_ORDERED. */
#define FERRUM_CAPABILITY_STREAM_ORDERED (UINT64_C(1) << 10)

/** Description of an open device. */
typedef struct ferrum_device_info {
    uint32_t struct_size;
    /** Number after the colon of the id. */
    uint32_t ordinal;
    /** FERRUM_CAPABILITY_* bits. */
    uint64_t capabilities;
    /** Capacity; 0 means unknown. */
    uint64_t total_bytes;
    /** Segments taken from the device are multiples of this. */
    uint64_t granularity_bytes;
    /** Every segment's address is a multiple of this. */
    uint64_t alignment_bytes;
    /** For example "cpu:0". */
    char id[32];
    /** For example "cpu". */
    char backend[32];
    /** Name of the hardware. */
    char name[128];
} ferrum_device_info;

/* clang-format off */
#define FERRUM_DEVICE_INFO_INIT {(uint32_t)sizeof(ferrum_device_info), 0, 0, 0, 0, 0, {0}, {0}, {0}}
/* clang-format on */

/**
 * Opens a device. Opening one that is open gives the same handle again; each
 * open is undone by one ferrum_device_close.
 *
 * @param id  "cpu:0"; a bare "cpu" is its device 0. A CUDA device can also be named by
 *            its UUID, "cuda:GPU-...", and by its PCI address, "cuda:0000:65:00.0".
 * @return FERRUM_ERROR_DEVICE_NOT_FOUND for an id that is well-formed but names
 *         no device, FERRUM_ERROR_INVALID_ARGUMENT for one that is not.
 */
FERRUM_API ferrum_status ferrum_device_open(const char *id,
                                            ferrum_device *device_out);

/**
 * Undoes one ferrum_device_open; the last one closes the device, and waits for
 * callbacks of it that have removed themselves and still run, unless it is called
 * from inside a callback.
 *
 * @param flags  0 or FERRUM_FORCE.
 * @return FERRUM_ERROR_BUSY, and nothing has changed, when pools of any kind, managers,
 *         streams, events or registrations of the device are left. The message names
 *         registrations, those first that are left of a model or a fallback manager that has
 *         ended.
 */
FERRUM_API ferrum_status ferrum_device_close(ferrum_device device,
                                             uint32_t flags);

/** Describes an open device. */
FERRUM_API ferrum_status ferrum_device_get_info(ferrum_device device,
                                                ferrum_device_info *info_out);

/**
 * Waits until every stream of the device has run dry.
 *
 * @param timeout_ns  nanoseconds, or FERRUM_WAIT_FOREVER; 0 only asks.
 * @return FERRUM_ERROR_TIMEOUT when it takes longer; FERRUM_ERROR_INVALID_STATE when
 *         streams are capturing, which cannot be waited for, and the others have run dry.
 */
FERRUM_API ferrum_status ferrum_device_synchronize(ferrum_device device,
                                                   uint64_t timeout_ns);

/**
 * Limits what this library takes from the device, all pools and managers
 * together. 0 takes the limit away. Lowering it below what is held releases
 * cached memory; what is live stays, and no more is taken until it fits again.
 */
FERRUM_API ferrum_status ferrum_device_set_limit(ferrum_device device,
                                                 uint64_t limit_bytes);

/**
 * Measures the device's copy bandwidth by timed copies between two scratch
 * segments (at most 64 MiB each; given back at once), for some tens of
 * milliseconds. ferrum_device_get_memory_info reports it from then on.
 *
 * @param gbps_out  10^9 bytes copied per second.
 */
FERRUM_API ferrum_status ferrum_device_measure_bandwidth(ferrum_device device,
                                                         double *gbps_out);

/* ===================================================================== */
/* 6. Books: memory information, statistics, snapshots, leaks            */
/* ===================================================================== */

/** Pressure levels, by the share of the device that is not free. */
typedef int32_t ferrum_pressure_level;
/** Below 70 %, or unknown (total_bytes 0). */
#define FERRUM_PRESSURE_LOW 0
/** From 70 %. */
#define FERRUM_PRESSURE_MEDIUM 1
/** From 85 %. */
#define FERRUM_PRESSURE_HIGH 2
/** From 95 %. */
#define FERRUM_PRESSURE_CRITICAL 3

/** A device's memory; used + free + reserved = total at any time. */
typedef struct ferrum_memory_info {
    uint32_t struct_size;
    /** Level of (total - free) / total, decided in integers. */
    ferrum_pressure_level pressure;
    /** Capacity; 0 means unknown. */
    uint64_t total_bytes;
    /** Live blocks of this library and what it cannot hand out. */
    uint64_t used_bytes;
    /** What can still be handed out: free in the device and cached here, as far
     *  as the limit allows. */
    uint64_t free_bytes;
    /** Everything else: the driver's, other processes', above the limit. */
    uint64_t reserved_bytes;
    /** Live blocks of all pools and managers. */
    uint64_t active_allocations;
    /** 1 - largest free run / total free, over the memory had from the driver;
     *  0 when nothing is free. */
    float fragmentation_ratio;
    /** used / total * 100; 0 when total is unknown. For display. */
    float utilization_percent;
    /** Whether bandwidth_gbps has been measured. */
    uint32_t bandwidth_known;
    /** Copy bandwidth in 10^9 bytes per second. */
    float bandwidth_gbps;
    /** How long ago the device was asked; 0: just now. What this library has
     *  taken and given back since is reckoned in. */
    uint64_t reading_age_ns;
    /** Longest run that can be handed out as things are: of what is cached, or of
     *  what is free in the device as far as the limit allows. */
    uint64_t largest_free_bytes;
} ferrum_memory_info;

/* clang-format off */
#define FERRUM_MEMORY_INFO_INIT {(uint32_t)sizeof(ferrum_memory_info), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}
/* clang-format on */

/** Asks a device for its memory, all uses of it together. */
FERRUM_API ferrum_status ferrum_device_get_memory_info(
    ferrum_device device, ferrum_memory_info *info_out);

/**
 * As ferrum_device_get_memory_info, from the books and the last reading of the device, if
 * that is no older than max_age_ns; else the device is asked. Much quicker: no
 * driver and no other thread is disturbed.
 *
 * What others have changed since the reading does not show. In pools with thread
 * caches, neither does what other threads have done since their caches last asked
 * the pool for blocks or gave some back; what the calling thread has done does.
 *
 * @param max_age_ns  0 asks the device; UINT64_MAX: a reading of any age will do.
 */
FERRUM_API ferrum_status ferrum_device_get_recent_memory_info(
    ferrum_device device, uint64_t max_age_ns, ferrum_memory_info *info_out);

/** A number of the books with the highest value that it had. */
typedef struct ferrum_gauge {
    /** The value now. */
    uint64_t current;
    /** The highest value that it had. */
    uint64_t peak;
} ferrum_gauge;

/** Books of a device, a pool or a manager. Bytes but for the counts.
 *  reserved = active + cached + unusable in every record. */
typedef struct ferrum_statistics {
    uint32_t struct_size;
    uint32_t reserved_field;
    /** Asked for by the live blocks. */
    ferrum_gauge requested;
    /** Live blocks after rounding. */
    ferrum_gauge allocated;
    /** Live, or freed and still in use by queued work. */
    ferrum_gauge active;
    /** Held and ready to be handed out. */
    ferrum_gauge cached;
    /** Held, but too small or badly placed to be handed out. */
    ferrum_gauge unusable;
    /** Had from the driver. */
    ferrum_gauge reserved;
    /** Live blocks, as a count. */
    ferrum_gauge live_blocks;
    /** Segments had from the driver, as a count. */
    ferrum_gauge segments;
    /** Successful allocations so far, as a count. */
    uint64_t allocations;
    /** Frees so far, as a count. */
    uint64_t frees;
    /** Allocations that ran out of memory, as a count. */
    uint64_t failures;
    /** Longest free run. */
    uint64_t largest_free_bytes;
    /** The part of cached that waits in thread caches. */
    uint64_t thread_cached_bytes;
} ferrum_statistics;

/* clang-format off */
#define FERRUM_STATISTICS_INIT {(uint32_t)sizeof(ferrum_statistics), 0, {0, 0}, {0, 0}, {0, 0}, {0, 0}, {0, 0}, {0, 0}, {0, 0}, {0, 0}, 0, 0, 0, 0, 0}
/* clang-format on */

/** Books of a device: the sum over its pools and managers. */
FERRUM_API ferrum_status ferrum_device_get_statistics(
    ferrum_device device, ferrum_statistics *statistics_out);

/**
 * All books as JSON, for tools:
 *
 *   {"version": "0.1.0", "uptime_ns": 0, "devices": [{
 *     "id": "cpu:0", "memory": {...}, "statistics": {...},
 *     "tags": [{"tag": "kv", "requested_bytes": 0, "allocated_bytes": 0,
 *       "blocks": 0}],
 *     "pools": [{"name": "...", "strategy": "best_fit", "owner": "pool",
 *       "statistics": {...}, "info": {...}, "segments": [{"address": 0,
 *       "size_bytes": 0, "active_bytes": 0, "largest_free_bytes": 0,
 *       "mapped_bytes": 0}]}],
 *     "managers": [{"live_blocks": 0, "memory_types": {"general": 0},
 *       "statistics": {...}, "adopted": {"blocks": 0, "bytes": 0}}],
 *     "virtual_pools": [{"name": "...", "statistics": {...}, "info": {...}}],
 *     "elastic_pools": [{"name": "...", "statistics": {...}, "info": {...},
 *       "models": [{"id": "...", "physical_bytes": 0}]}],
 *     "fallback_managers": [{"in_use_bytes": 0, "cpu_bytes": 0}],
 *     "asleep": {"asleep_host_bytes": 0, "asleep_file_bytes": 0,
 *       "asleep_discarded_bytes": 0}}],
 *    "signal_handlers": [{"signal": 27, "name": "SIGPROF", "address": 0, "symbol": "...",
 *       "file": "...", "mended": true, "late": true}]}
 *
 * memory has the fields of ferrum_memory_info (bandwidth_gbps null when not
 * measured, pressure as a word), statistics those of ferrum_statistics with
 * {"current": 0, "peak": 0} for a gauge, and with virtual_reserved, the addresses
 * that were reserved without memory behind all of them; info those of
 * ferrum_pool_info, ferrum_vpool_info or ferrum_elastic_pool_info, a model those of
 * ferrum_model_info, a fallback manager those of ferrum_memory_stats and
 * ferrum_fallback_stats. mapped_bytes is what of a segment has memory behind it.
 * adopted is live memory of others, which is in no statistics. The owner of a pool is
 * "pool", "manager", "fallback_manager", or "graph": the private pool of a graph.
 * signal_handlers are those that were found without SA_ONSTACK (the first 256): mended
 * when the flag was added, late when it was installed after ferrum_init. Fields may be
 * added.
 *
 * @param buffer,capacity,length_out  as for ferrum_backends_json.
 */
FERRUM_API ferrum_status ferrum_snapshot_json(char *buffer, size_t capacity,
                                              size_t *length_out);

/**
 * What is alive now or, after ferrum_shutdown, what was alive at its end, as
 * JSON:
 *
 *   {"leaks": [{"kind": "memory", "device": "cpu:0", "handle": 0, "address": 0,
 *     "bytes": 0, "tag": "kv", "age_ns": 0, "call_site": ["engine+0x12f4
 *     (load)"]}], "omitted": 0, "total_bytes": 0}
 *
 * kind is device, monitor, placement, tracker, generic_pool, stream, event, pool, block
 * (of a pool), vpool, elastic_pool, range (that is mapped or sleeps in one of the two,
 * with "model" in an elastic pool), manager, memory, fallback_manager, buffer or registration
 * (whose "callback" says what it is of, and whether that has ended). bytes is what was
 * asked for; age_ns is the time since it was made or allocated, 0 for blocks of pools
 * without tracking;
 * call_site, the innermost function first, is there for blocks of pools with
 * FERRUM_DEBUG_CALL_SITES. At most 1000 entries;
 * "omitted" counts the rest. Memory that is cached is no leak. Works also when
 * the library is stopped. The blocks are gone over in slices, in the same memory
 * however many they are: one that is live all the while is counted once, one that
 * comes or goes meanwhile or not, and one that ferrum_manager_defragment moves may be
 * counted twice or not.
 *
 * @param buffer,capacity,length_out  as for ferrum_backends_json.
 */
FERRUM_API ferrum_status ferrum_leak_report_json(char *buffer, size_t capacity,
                                                 size_t *length_out);

/* ===================================================================== */
/* 7. Streams and events                                                 */
/* ===================================================================== */

/** Makes a stream on a device. Its thread starts with its first work. */
FERRUM_API ferrum_status ferrum_stream_create(ferrum_device device,
                                              ferrum_stream *stream_out);

/**
 * Destroys a stream.
 *
 * @param flags  0, or FERRUM_FORCE: wait for its work and destroy it.
 * @return FERRUM_ERROR_BUSY, and nothing has changed, while work is queued;
 *         FERRUM_ERROR_INVALID_ARGUMENT
 *         for a device's default stream, which goes with its device.
 */
FERRUM_API ferrum_status ferrum_stream_destroy(ferrum_stream stream,
                                               uint32_t flags);

/** Gives the device's default stream. The same handle each time. */
FERRUM_API ferrum_status ferrum_stream_default(ferrum_device device,
                                               ferrum_stream *stream_out);

/**
 * Waits until all work that was queued before the call is done, and returns the
 * first failure of queued work since the last time it was asked.
 *
 * @param timeout_ns  nanoseconds, or FERRUM_WAIT_FOREVER; 0 only asks.
 * @return FERRUM_ERROR_TIMEOUT when it takes longer.
 */
FERRUM_API ferrum_status ferrum_stream_synchronize(ferrum_stream stream,
                                                   uint64_t timeout_ns);

/** Says without waiting whether all work queued so far is done (1) or not (0). */
FERRUM_API ferrum_status ferrum_stream_is_ready(ferrum_stream stream,
                                                uint32_t *ready_out);

/** Work of the caller in a stream. Runs on a thread of the library, in the
 *  stream's order, with no lock held. It may call the library, but no function
 *  that may wait for a stream: synchronize, copy (also ferrum_memory_copy_async, which
 *  waits for its turn), read, write, map, unmap, defragment, measure, destroy and
 *  close answer FERRUM_ERROR_INVALID_STATE there, as does ferrum_shutdown. An
 *  allocation there does not wait for memory. */
typedef void (*ferrum_host_fn)(void *user_data);

/**
 * Queues a call of the caller's function on a stream.
 *
 * @return FERRUM_ERROR_RESOURCE_EXHAUSTED when 1,048,576 calls of the stream have not
 *         begun, or, that or what the system says, when there is no thread that it could
 *         run on; docs/hosts.md says how many are kept.
 */
FERRUM_API ferrum_status ferrum_stream_host_function(ferrum_stream stream,
                                                     ferrum_host_fn function,
                                                     void *user_data);

/** Marks the present end of the stream's queue with a new event. */
FERRUM_API ferrum_status ferrum_event_record(ferrum_stream stream,
                                             ferrum_event *event_out);

/** Forgets an event. Streams that wait for it still do. */
FERRUM_API ferrum_status ferrum_event_destroy(ferrum_event event);

/** Says without waiting whether the event's point has been passed (1) or not. */
FERRUM_API ferrum_status ferrum_event_is_ready(ferrum_event event,
                                               uint32_t *ready_out);

/**
 * Waits until the event's point has been passed.
 *
 * @param timeout_ns  nanoseconds, or FERRUM_WAIT_FOREVER; 0 only asks.
 * @return FERRUM_ERROR_TIMEOUT when it takes longer.
 */
FERRUM_API ferrum_status ferrum_event_synchronize(ferrum_event event,
                                                  uint64_t timeout_ns);

/**
 * Time between two events of one device, as exact as the device tells it: CUDA does so
 * in single precision.
 *
 * @param elapsed_ns_out  nanoseconds from start to end; negative when end was
 *                        passed first.
 * @return FERRUM_ERROR_INVALID_STATE when one has not been passed yet;
 *         FERRUM_ERROR_INVALID_ARGUMENT when they are of two devices.
 */
FERRUM_API ferrum_status ferrum_event_elapsed(ferrum_event start,
                                              ferrum_event end,
                                              int64_t *elapsed_ns_out);

/**
 * Makes all later work of the stream wait for the event, which may be another
 * stream's, or another device's of the same backend.
 *
 * @return FERRUM_ERROR_UNSUPPORTED for an event of another backend.
 */
FERRUM_API ferrum_status ferrum_stream_wait_event(ferrum_stream stream,
                                                  ferrum_event event);

/* ===================================================================== */
/* 8. Pools: memory by address                                           */
/* ===================================================================== */

/** Largest alignment that can be asked for: 1 GiB. */
#define FERRUM_ALIGNMENT_MAX (UINT64_C(1) << 30)

/** How a pool takes its memory. */
typedef int32_t ferrum_paging;
/** Page by page where the device can do it and the pool may hold 32 pages at
 *  least, else in segments. */
#define FERRUM_PAGING_AUTO 0
/** In segments, whole. */
#define FERRUM_PAGING_OFF 1
/** Page by page. */
#define FERRUM_PAGING_ON 2

/** Where a pool has its segments from. */
typedef int32_t ferrum_segment_source;
/** The device. */
#define FERRUM_SEGMENTS_PLAIN 0
/** A pool of the vendor's runtime, from which memory is had in the order of a stream. To
 *  give a segment back then waits for no work that does not use it, as the runtime may do
 *  otherwise. The runtime's pool is the device's alone, and keeps nothing. */
#define FERRUM_SEGMENTS_STREAM_ORDERED 1

/**
 * Settings of a pool.
 *
 * A pool over pages has addresses in plenty and memory only where its blocks lie:
 * an allocation maps the pages that it lacks, and pages that no block touches any
 * more go back to the device, wherever they are, all but ready_pages of them, when
 * nothing has needed them for some tens of milliseconds. So what it holds follows
 * its blocks. A pool over segments takes memory in large pieces and gives back
 * those that are empty.
 */
typedef struct ferrum_pool_config {
    uint32_t struct_size;
    /** Grow when full (1), or never beyond the initial size (0). */
    uint32_t enable_auto_expansion;
    /** Size of the first segment, taken at the first allocation; 0: as large
     *  as the growth increment. Smaller where the device has less, and an
     *  eighth of the device where it would take more than half of it. Over pages
     *  nothing is taken ahead: it is the bound of a pool that does not grow, and
     *  what pre_allocate takes. */
    uint64_t initial_size_bytes;
    /** Upper bound of what the pool holds; 0: none. */
    uint64_t max_size_bytes;
    /** Size of each further segment, larger if a request needs it, smaller as
     *  the first one. A pool over pages grows by the pages that it lacks. */
    uint64_t growth_increment_bytes;
    /** Alignment of every block, a power of two; 0: 256. Sizes are rounded up to
     *  it; some strategies and the thread caches round further, and
     *  ferrum_pool_usable_size tells what a block has. */
    uint64_t alignment_bytes;
    /** Take the memory when the pool is created (1): max_size_bytes, or
     *  initial_size_bytes where that is unlimited. It is then all or nothing.
     *  Over pages it stays until it is asked back, by a trim or another pool. */
    uint32_t pre_allocate;
    /** Keep peaks and counts (1). Current values are always kept. */
    uint32_t enable_stats;
    /**
     * Placement strategy; NULL: the default. All keep their tables outside the
     * memory that they manage.
     *
     *   "best_fit"    the smallest free run that holds the request; heeds the
     *                 expected lifetime of a request
     *   "size_class"  small blocks in slabs of size classes, large ones as
     *                 best_fit
     *   "tlsf"        two-level segregated fit: constant time in the worst case
     *   "buddy"       powers of two
     *   "arena"       one after the other; the room comes back when the last
     *                 block is freed
     *   "fixed"       blocks of fixed_block_bytes, such as KV blocks, placed so
     *                 that pages of page_bytes empty out
     */
    const char *strategy;
    /** Name of the pool in reports, and tag of its blocks; NULL: none. At most
     *  63 bytes. */
    const char *name;
    /** Keep the time of every allocation (1), for ages in reports. Costs some
     *  time a block, and every call then goes past the thread caches. */
    uint32_t tracking;
    /** Sum of FERRUM_DEBUG_*, to which FERRUM_DEBUG of the environment adds for
     *  all pools; 0: none. Every call of a pool that debugs goes past the thread
     *  caches. */
    uint32_t debug;
    /** How much each thread may keep of freed small and medium blocks for its
     *  own next calls: FERRUM_THREAD_CACHE_AUTO, 0 (off), or bytes. What threads
     *  keep is counted as cached and is taken back before memory runs out. */
    uint64_t thread_cache_bytes;
    /** What the pool keeps in any case: no trim, no other pool's want and no
     *  release threshold makes it hold less. */
    uint64_t min_held_bytes;
    /** While more than this is held, a segment (a page) that a free leaves
     *  without a block is given back at once; UINT64_MAX: never at once. A block
     *  that waits in a thread cache still is in its segment. */
    uint64_t release_threshold_bytes;
    /** Block size of "fixed", which needs it; 0 for every other strategy. */
    uint64_t fixed_block_bytes;
    /** Page of "fixed", a power of two; 0: that of the memory, or 2 MiB over
     *  segments. 0 for every other strategy. */
    uint64_t page_bytes;
    /** FERRUM_PAGING_* */
    ferrum_paging paging;
    /** How many pages that no block touches stay for the next allocations: a
     *  number, FERRUM_READY_PAGES_AUTO (8, and at most one for 64 pages in use),
     *  or FERRUM_READY_PAGES_ALL (they go back only when they are asked for). */
    uint32_t ready_pages;
    /** Size of the memory's pages, a power of two of at least
     *  ferrum_page_sizes.minimum_bytes; 0: what the device recommends. Not heeded
     *  over segments. */
    uint64_t physical_page_bytes;
    /** FERRUM_SEGMENTS_*. With FERRUM_SEGMENTS_STREAM_ORDERED, FERRUM_PAGING_AUTO is
     *  off and FERRUM_PAGING_ON is FERRUM_ERROR_INVALID_CONFIG. */
    ferrum_segment_source segment_source;
    uint32_t reserved;
} ferrum_pool_config;

/** ready_pages: the library chooses. */
#define FERRUM_READY_PAGES_AUTO 0xffffffffu
/** ready_pages of a pool: all of them. */
#define FERRUM_READY_PAGES_ALL 0xfffffffeu

/** thread_cache_bytes: the library chooses. */
#define FERRUM_THREAD_CACHE_AUTO UINT64_MAX

/** Puts a zone before and behind every block and checks both when it is freed. */
#define FERRUM_DEBUG_RED_ZONES 0x1u
/** Overwrites blocks when they are handed out and when they are freed. */
#define FERRUM_DEBUG_POISON 0x2u
/** Keeps freed blocks back for a while and looks for writes into them. */
#define FERRUM_DEBUG_QUARANTINE 0x4u
/** Keeps where each block was allocated and freed, for reports. */
#define FERRUM_DEBUG_CALL_SITES 0x8u
/** All of them. */
#define FERRUM_DEBUG_ALL 0xfu

/* clang-format off */
#define FERRUM_POOL_CONFIG_INIT {(uint32_t)sizeof(ferrum_pool_config), 1, UINT64_C(1) << 30, 0, UINT64_C(1) << 29, 256, 0, 1, NULL, NULL, 0, 0, FERRUM_THREAD_CACHE_AUTO, 0, UINT64_MAX, 0, 0, FERRUM_PAGING_AUTO, FERRUM_READY_PAGES_AUTO, 0, FERRUM_SEGMENTS_PLAIN, 0}
/* clang-format on */

/**
 * Makes a pool on a device.
 *
 * @param config  settings, or NULL for FERRUM_POOL_CONFIG_INIT.
 * @return FERRUM_ERROR_INVALID_CONFIG when the settings contradict each other
 *         (initial above max, expansion with no increment);
 *         FERRUM_ERROR_INVALID_ALIGNMENT; FERRUM_ERROR_NOT_FOUND for an unknown
 *         strategy (the message lists them); FERRUM_ERROR_OUT_OF_MEMORY when
 *         pre_allocate cannot be had; FERRUM_ERROR_UNSUPPORTED for
 *         FERRUM_PAGING_ON on a device without virtual memory, and for
 *         FERRUM_SEGMENTS_STREAM_ORDERED on one without
 *         FERRUM_CAPABILITY_STREAM_ORDERED;
 *         FERRUM_ERROR_INVALID_PAGE_SIZE for a physical_page_bytes that the device
 *         does not have.
 */
FERRUM_API ferrum_status ferrum_pool_create(ferrum_device device,
                                            const ferrum_pool_config *config,
                                            ferrum_pool *pool_out);

/**
 * Destroys a pool and gives its memory back to the system.
 *
 * @param flags  0, or FERRUM_FORCE: also while blocks are live, in the same memory
 *               however many they are. Waits for queued work that uses its freed
 *               blocks.
 * @return FERRUM_ERROR_BUSY, and nothing has changed, while blocks are live.
 */
FERRUM_API ferrum_status ferrum_pool_destroy(ferrum_pool pool, uint32_t flags);

/**
 * Takes a block from a pool. The block is of the stream that it is asked for on: its
 * free waits for what is queued there, whoever frees it and however.
 *
 * @param size_bytes   not 0; rounded up to the pool's alignment or further.
 * @param stream       optional: the stream that will use the block first. The
 *                     memory may be such as was freed on it with work still
 *                     queued: who else uses the block, the host too, has to come
 *                     after that work. It may be destroyed while the block is live:
 *                     what was queued on it is done then.
 * @param address_out  where it starts.
 * @return FERRUM_ERROR_OUT_OF_MEMORY when, after everything that is cached
 *         has been given up and the reclaim callbacks have been called, there
 *         is no room; the message names the request, what was free, the largest
 *         run and the holders by tag. A request that can never fit fails at
 *         once. Freed blocks whose stream work is still queued are waited for,
 *         at most 10 s.
 */
FERRUM_API ferrum_status ferrum_pool_alloc(ferrum_pool pool,
                                           uint64_t size_bytes,
                                           ferrum_stream stream,
                                           ferrum_address *address_out);

/**
 * As ferrum_pool_alloc, with the address a multiple of alignment_bytes.
 *
 * @param alignment_bytes  a power of two from 1 to FERRUM_ALIGNMENT_MAX; less
 *                         than the pool's means the pool's.
 */
FERRUM_API ferrum_status ferrum_pool_alloc_aligned(ferrum_pool pool,
                                                   uint64_t size_bytes,
                                                   uint64_t alignment_bytes,
                                                   ferrum_stream stream,
                                                   ferrum_address *address_out);

/** What a block is wanted for, beyond its size. */
typedef struct ferrum_pool_request {
    uint32_t struct_size;
    /** A number of ferrum_pool_get_tag; 0: the pool's name. */
    uint32_t tag;
    /** Not 0; rounded up to the pool's alignment. */
    uint64_t size_bytes;
    /** A power of two up to FERRUM_ALIGNMENT_MAX; 0: the pool's. */
    uint64_t alignment_bytes;
    /** Optional: the stream that will use the block first, and that it is of. */
    ferrum_stream stream;
    /** How long the block is expected to live from now; 0: not known. A hint for
     *  the placement only: it may be wrong. */
    uint64_t expected_lifetime_ns;
    /** A number that blocks share which are expected to be freed together, such
     *  as that of a request; 0: none. A hint for the placement only. */
    uint64_t group;
} ferrum_pool_request;

/* clang-format off */
#define FERRUM_POOL_REQUEST_INIT {(uint32_t)sizeof(ferrum_pool_request), 0, 0, 0, {0}, 0, 0}
/* clang-format on */

/** As ferrum_pool_alloc, with all that can be asked for. */
FERRUM_API ferrum_status
ferrum_pool_alloc_with(ferrum_pool pool, const ferrum_pool_request *request,
                       ferrum_address *address_out);

/** How many blocks a batch may have. */
#define FERRUM_BATCH_MAX (UINT64_C(1) << 20)

/**
 * Takes count blocks of one size: all of them or none.
 *
 * @param count          1 to FERRUM_BATCH_MAX.
 * @param addresses_out  room for count addresses; all zero on failure, but for a
 *                       count that is out of bounds.
 * @return as ferrum_pool_alloc; FERRUM_ERROR_INVALID_ARGUMENT for the count.
 */
FERRUM_API ferrum_status ferrum_pool_alloc_batch(ferrum_pool pool,
                                                 uint64_t size_bytes,
                                                 uint64_t count,
                                                 ferrum_stream stream,
                                                 ferrum_address *addresses_out);

/**
 * Gives a tag of the pool its number, which stays while the pool lives.
 *
 * @param name     1 to 63 bytes.
 * @param tag_out  the same number for the same name.
 * @return FERRUM_ERROR_RESOURCE_EXHAUSTED after 4095 names.
 */
FERRUM_API ferrum_status ferrum_pool_get_tag(ferrum_pool pool, const char *name,
                                             uint32_t *tag_out);

/**
 * Gives a block back. Its memory is handed out again once the work is done that is
 * queued now
 *
 *   - on the stream of the block, which it was asked for on,
 *   - on the streams that ferrum_pool_record_stream named for it,
 *   - and on the stream of this call, {0} being the default one as everywhere.
 *
 * A stream that has nothing queued adds nothing. Where only one of them has, a later
 * allocation for that stream may have the memory at once, for the order of the stream
 * keeps their work apart. A stream of the block that was destroyed has run dry, and
 * is no reason to fail. Does not wait.
 *
 * @param stream  optional: a further stream that used the block.
 * @return FERRUM_ERROR_RESOURCE_EXHAUSTED when there is no memory to note the block
 *         behind queued work: it is as live as before, and can be freed when that is
 *         done; FERRUM_ERROR_DOUBLE_FREE for an address that is free in this pool;
 *         FERRUM_ERROR_INVALID_ADDRESS for one inside a block or outside the
 *         pool. With FERRUM_DEBUG_RED_ZONES, FERRUM_ERROR_CORRUPTED when bytes
 *         beside the block were overwritten; the block is free all the same.
 */
FERRUM_API ferrum_status ferrum_pool_free(ferrum_pool pool,
                                          ferrum_address address,
                                          ferrum_stream stream);

/**
 * As ferrum_pool_free, with the size that was asked for as a check. It waits for the
 * same streams.
 *
 * @return FERRUM_ERROR_INVALID_SIZE when the block was asked for with another
 *         size; it is as live as before.
 */
FERRUM_API ferrum_status ferrum_pool_free_sized(ferrum_pool pool,
                                                ferrum_address address,
                                                uint64_t size_bytes,
                                                ferrum_stream stream);

/**
 * Gives count blocks back: all of them or none. Each waits for its own stream, those
 * that were named for it and the stream of this call, as in ferrum_pool_free.
 *
 * @param count  1 to FERRUM_BATCH_MAX.
 * @return as ferrum_pool_free, for the first address that is wrong, with its
 *         index in the message; an address that is named twice is
 *         FERRUM_ERROR_DOUBLE_FREE.
 */
FERRUM_API ferrum_status ferrum_pool_free_batch(ferrum_pool pool,
                                                const ferrum_address *addresses,
                                                uint64_t count,
                                                ferrum_stream stream);

/**
 * Says that a stream uses a block too, other than the one that it was asked for on,
 * for which it waits without this: once freed, the block waits for the work that is
 * queued on this stream at the time of its free as well.
 *
 * @param stream  optional.
 * @return FERRUM_ERROR_DOUBLE_FREE or FERRUM_ERROR_INVALID_ADDRESS when no live
 *         block starts at the address.
 */
FERRUM_API ferrum_status ferrum_pool_record_stream(ferrum_pool pool,
                                                   ferrum_address address,
                                                   ferrum_stream stream);

/**
 * How many bytes of a live block may be used: at least what was asked for. All
 * of them belong to the block.
 */
FERRUM_API ferrum_status ferrum_pool_usable_size(ferrum_pool pool,
                                                 ferrum_address address,
                                                 uint64_t *size_bytes_out);

/**
 * Has allocations for the streams of a capture come from a private pool of the graph,
 * until ferrum_pool_capture_end. To be called when the capture has begun, for each pool
 * that is used in it: streams that join the capture later are recognised. A stream
 * captures by its vendor's calls (cuStreamBeginCapture), and is known here by
 * ferrum_stream_adopt, or through ferrum_stream_get_native.
 *
 * What the graph uses stays where it is until ferrum_pool_capture_release: memory that is
 * freed on a stream of the capture goes to that stream at once, and to others of the same
 * private pool when the capture has ended, but never to anybody else. A block from before the
 * capture that is freed on such a stream, is of one, or was named for one by
 * ferrum_pool_record_stream, is freed when the graph is released. Other streams go on as
 * ever; thread caches of the pool stand still until the end of its captures.
 *
 * Graphs may share a private pool. They lie on the same memory then: they have to run in
 * the order in which they were captured, one after the other, and what one of them has
 * left in a block that is not live is gone when another one has run.
 *
 * @param stream        optional: one that captures now.
 * @param shared_graph  a graph of this pool whose private pool it is to be; 0: a new one,
 *                      which takes memory by itself, at most the max_size_bytes of the pool.
 * @param graph_out     number of the graph in this pool. No two have the same.
 * @return FERRUM_ERROR_UNSUPPORTED without FERRUM_CAPABILITY_CAPTURE;
 *         FERRUM_ERROR_INVALID_STATE when the stream does not capture, or an error has
 *         spoilt its capture; FERRUM_ERROR_ALREADY_EXISTS when this capture has begun in
 *         the pool before; FERRUM_ERROR_NOT_FOUND for the shared_graph;
 *         FERRUM_ERROR_BUSY while another graph of its private pool is being captured.
 */
FERRUM_API ferrum_status ferrum_pool_capture_begin(ferrum_pool pool,
                                                   ferrum_stream stream,
                                                   uint64_t shared_graph,
                                                   uint64_t *graph_out);

/**
 * Ends what ferrum_pool_capture_begin began; to be called when the capture itself has ended.
 * Live blocks stay live.
 *
 * @return FERRUM_ERROR_NOT_FOUND; FERRUM_ERROR_INVALID_STATE while the stream captures,
 *         or when it was called before.
 */
FERRUM_API ferrum_status ferrum_pool_capture_end(ferrum_pool pool,
                                                 uint64_t graph);

/**
 * Says that a graph will not run again once the work that is queued on the stream now is
 * done. With the last graph of a private pool its memory goes back to the system, as soon
 * as that work is done and none of its blocks is live any more; the call does not wait
 * for it. A capture that has failed, and has no graph, is released as well, with or without
 * ferrum_pool_capture_end.
 *
 * @param stream  optional: where the graph ran last.
 * @return FERRUM_ERROR_NOT_FOUND; FERRUM_ERROR_INVALID_STATE while the graph is being
 *         captured, or the stream captures. Then nothing has changed.
 */
FERRUM_API ferrum_status ferrum_pool_capture_release(ferrum_pool pool,
                                                     uint64_t graph,
                                                     ferrum_stream stream);

/** A graph at one moment. What is told of the private pool is of all graphs that share
 *  it. */
typedef struct ferrum_graph_info {
    uint32_t struct_size;
    /** 1 until ferrum_pool_capture_end. */
    uint32_t capturing;
    /** Graphs of the private pool, this one included. */
    uint64_t sharing;
    /** What the private pool has of the device. */
    uint64_t held_bytes;
    /** Size of the live blocks of the private pool. */
    uint64_t live_bytes;
    /** How many they are. */
    uint64_t live_blocks;
    /** Freed blocks from before the capture that stay until the graph is released. */
    uint64_t parked_bytes;
} ferrum_graph_info;

/** Initial value of a ferrum_graph_info. */
/* clang-format off */
#define FERRUM_GRAPH_INFO_INIT {(uint32_t)sizeof(ferrum_graph_info), 0, 0, 0, 0, 0, 0}
/* clang-format on */

/** Describes a graph that was not released: FERRUM_ERROR_NOT_FOUND for any other. */
FERRUM_API ferrum_status ferrum_pool_capture_get_info(
    ferrum_pool pool, uint64_t graph, ferrum_graph_info *info_out);

/** Gives back every live block of the pool, as ferrum_pool_free does on the stream, each
 *  after its own as well; those of graphs stay. It goes over the blocks in slices, so
 *  that it needs the same memory however many there are and others wait for one slice
 *  at most: a block that another thread takes meanwhile may go with them or stay. */
FERRUM_API ferrum_status ferrum_pool_reset(ferrum_pool pool,
                                           ferrum_stream stream);

/**
 * Looks now at every block of a pool that debugs: beside live ones, and into
 * freed ones that are in quarantine. Damage that it reports is repaired, so it
 * is reported once.
 *
 * @return FERRUM_ERROR_CORRUPTED for the first damage; all of it is in the log.
 *         FERRUM_OK without a look for a pool that does not debug.
 */
FERRUM_API ferrum_status ferrum_pool_check(ferrum_pool pool);

/**
 * Takes back what thread caches keep, and gives segments that hold no live block
 * back to the system, until no more than keep_bytes (or the pool's
 * min_held_bytes) are held or none is left to give.
 *
 * @param released_bytes_out  what was given back.
 */
FERRUM_API ferrum_status ferrum_pool_trim(ferrum_pool pool, uint64_t keep_bytes,
                                          uint64_t *released_bytes_out);

/**
 * Changes the pool's upper bound; 0 takes it away. Lowering it below what is
 * held releases what is cached; what is live stays.
 */
FERRUM_API ferrum_status ferrum_pool_set_limit(ferrum_pool pool,
                                               uint64_t max_size_bytes);

/** Changes min_held_bytes of the pool's settings. */
FERRUM_API ferrum_status ferrum_pool_set_min_held(ferrum_pool pool,
                                                  uint64_t min_held_bytes);

/** Changes release_threshold_bytes of the pool's settings, and gives back what is
 *  held above it and holds no block. */
FERRUM_API ferrum_status ferrum_pool_set_release_threshold(
    ferrum_pool pool, uint64_t release_threshold_bytes);

/** How a pool has its memory, at one moment. */
typedef struct ferrum_pool_info {
    uint32_t struct_size;
    uint32_t reserved;
    /** What the pool has of the device. */
    uint64_t held_bytes;
    /** Size of its pages; 0: it takes segments whole, and the counts of pages
     *  are 0 too. */
    uint64_t page_bytes;
    /** Pages that are mapped. */
    uint64_t mapped_pages;
    /** Mapped pages that no block touches: the next allocations have them. */
    uint64_t idle_pages;
    /** How many idle pages stay, with as many in use as now. */
    uint64_t ready_pages;
    /** Segments, or ranges of addresses that pages are mapped in. */
    uint64_t segments;
    /** Their addresses. */
    uint64_t address_bytes;
} ferrum_pool_info;

/* clang-format off */
#define FERRUM_POOL_INFO_INIT {(uint32_t)sizeof(ferrum_pool_info), 0, 0, 0, 0, 0, 0, 0, 0}
/* clang-format on */

/** Describes how a pool has its memory. */
FERRUM_API ferrum_status ferrum_pool_get_info(ferrum_pool pool,
                                              ferrum_pool_info *info_out);

/** Books of a pool. */
FERRUM_API ferrum_status
ferrum_pool_get_statistics(ferrum_pool pool, ferrum_statistics *statistics_out);

/** What is at an address. */
typedef int32_t ferrum_block_state;
/** A live block. */
#define FERRUM_BLOCK_LIVE 0
/** A freed block that queued work may still use, or that quarantine holds. */
#define FERRUM_BLOCK_IN_FLIGHT 1
/** A freed block in a thread cache, or a freed page that is still mapped. */
#define FERRUM_BLOCK_CACHED 2
/** Free memory of a pool, or address space of a virtual one. */
#define FERRUM_BLOCK_FREE 3
/** Memory of a pool that it cannot hand out. */
#define FERRUM_BLOCK_UNUSABLE 4
/** A range that sleeps: it has its address, and no memory. */
#define FERRUM_BLOCK_ASLEEP 5

/** Whom an address belongs to. */
typedef struct ferrum_block_info {
    uint32_t struct_size;
    /** What is there. */
    ferrum_block_state state;
    /** The pool, or {0} when it is another one. */
    ferrum_pool pool;
    /** The manager whose pool it is, or 0. */
    uint64_t manager;
    /** Start of the block or of the free run; in a virtual pool, of the range or,
     *  where none is mapped, of the page. */
    uint64_t address;
    /** Its length after rounding. */
    uint64_t size_bytes;
    /** What was asked for; 0 when not live or asleep. */
    uint64_t requested_bytes;
    /** Time since the allocation; 0 without tracking or when not live or asleep. */
    uint64_t age_ns;
    /** Name of the pool. */
    char pool_name[64];
    /** Tag of the block; empty when not live or asleep. */
    char tag[64];
    /** The virtual pool, or {0} when it is another one. */
    ferrum_vpool vpool;
    /** The elastic pool, or {0} when it is another one. */
    ferrum_elastic_pool elastic_pool;
    /** Id of the model of the elastic pool, or empty. */
    char model[64];
} ferrum_block_info;

/* clang-format off */
#define FERRUM_BLOCK_INFO_INIT {(uint32_t)sizeof(ferrum_block_info), 0, {0}, 0, 0, 0, 0, 0, {0}, {0}, {0}, {0}, {0}}
/* clang-format on */

/**
 * Says which pool and block an address of a device belongs to; for debuggers:
 * it may look at every block of a pool, in slices: others go on meanwhile.
 *
 * @param address  any address, also inside a block.
 * @return FERRUM_ERROR_NOT_FOUND when no pool holds it.
 */
FERRUM_API ferrum_status ferrum_device_get_owner(ferrum_device device,
                                                 ferrum_address address,
                                                 ferrum_block_info *info_out);

/* ===================================================================== */
/* 9. Managers: memory by handle                                         */
/* ===================================================================== */

/** What a block is used for. Each type may have a pool of its own. */
typedef int32_t ferrum_memory_type;
/** Anything. */
#define FERRUM_MEMORY_GENERAL 0
/** Tensors. */
#define FERRUM_MEMORY_TENSOR 1
/** The KV cache. */
#define FERRUM_MEMORY_CACHE 2
/** Scratch. */
#define FERRUM_MEMORY_TEMPORARY 3
/** Page-locked memory of the host, which is never swapped out. The system bounds
 *  it: beyond that it is FERRUM_ERROR_RESOURCE_EXHAUSTED, and the message has the
 *  bound. It is never moved. A device without it: FERRUM_ERROR_UNSUPPORTED. */
#define FERRUM_MEMORY_PINNED 4
/** Memory that the host and other devices can address: the device's own where it
 *  is the host's, else page-locked. */
#define FERRUM_MEMORY_MAPPED 5
/** Memory that the host and devices address at the same time, and that the system moves
 *  to where it is used; ferrum_memory_prefetch and ferrum_memory_set_usage_hint say where that will be.
 *  On a device whose own memory is the host's it is that. Elsewhere its address never
 *  changes, it counts in the books of its manager only, and it need not be anywhere
 *  before it is touched: more of it than a device has is possible, and slow. A device
 *  without FERRUM_CAPABILITY_MANAGED_MEMORY: FERRUM_ERROR_UNSUPPORTED. */
#define FERRUM_MEMORY_MANAGED 6
/** Number of memory types. */
#define FERRUM_MEMORY_TYPE_COUNT 7

/** Settings of a manager. */
typedef struct ferrum_manager_config {
    uint32_t struct_size;
    /** Keep age and tag of each block and statistics (1). */
    uint32_t enable_tracking;
    /** Give back what is cached when gc_threshold is reached (1). */
    uint32_t enable_auto_gc;
    /** Fill new blocks with 0xCD and freed ones with 0xDD (1); allocations then
     *  wait for the fill. */
    uint32_t enable_debug;
    /** Used share of the device, from 0 (exclusive) to 1, that starts a
     *  collection. */
    float gc_threshold;
    /** Asynchronous copies in flight at once, 1 to 1024. */
    uint32_t max_concurrent_transfers;
    /** Pool settings by FERRUM_MEMORY_*. NULL for a type: its blocks come from
     *  the pool of FERRUM_MEMORY_GENERAL. NULL for that one: the defaults.
     *  Entries beyond the known types must be NULL. */
    const ferrum_pool_config *pool_configs[8];
} ferrum_manager_config;

/* clang-format off */
#define FERRUM_MANAGER_CONFIG_INIT {(uint32_t)sizeof(ferrum_manager_config), 1, 1, 0, 0.85f, 4, {NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL}}
/* clang-format on */

/**
 * Makes a memory manager on a device. It holds no memory before the first
 * allocation, unless a pool setting says so.
 *
 * @param config  settings, or NULL for FERRUM_MANAGER_CONFIG_INIT.
 */
FERRUM_API ferrum_status
ferrum_manager_create(ferrum_device device, const ferrum_manager_config *config,
                      ferrum_manager *manager_out);

/**
 * Destroys a manager and gives its memory back to the system.
 *
 * @param flags  0, or FERRUM_FORCE: also while blocks are live or being copied;
 *               waits for the copies.
 * @return FERRUM_ERROR_BUSY, and nothing has changed, while blocks are live.
 */
FERRUM_API ferrum_status ferrum_manager_destroy(ferrum_manager manager,
                                                uint32_t flags);

/**
 * Sets the pool settings of a memory type from now on. A type that has live
 * blocks keeps the pool they are in until they are freed; new blocks come from
 * a pool with the new settings.
 */
FERRUM_API ferrum_status ferrum_manager_configure_pool(
    ferrum_manager manager, ferrum_memory_type memory_type,
    const ferrum_pool_config *config);

/** Books of a manager: the sum over its pools. */
FERRUM_API ferrum_status ferrum_manager_get_statistics(
    ferrum_manager manager, ferrum_statistics *statistics_out);

/** Flag of an allocation request: a defragmentation may move the block while
 *  nobody uses it, so that its address is another one afterwards. ferrum_memory_pin keeps
 *  it where it is. */
#define FERRUM_ALLOCATE_RELOCATABLE UINT32_C(1)

/** A block, as asked for. */
typedef struct ferrum_allocation_request {
    uint32_t struct_size;
    /** FERRUM_MEMORY_* */
    ferrum_memory_type memory_type;
    /** Not 0. */
    uint64_t size_bytes;
    /** A power of two up to FERRUM_ALIGNMENT_MAX; 0: the pool's. */
    uint64_t alignment_bytes;
    /** Name for the books, at most 63 bytes; NULL: none. */
    const char *tag;
    /** 0, or FERRUM_ALLOCATE_RELOCATABLE. */
    uint32_t flags;
    uint32_t reserved;
} ferrum_allocation_request;

/* clang-format off */
#define FERRUM_ALLOCATION_REQUEST_INIT {(uint32_t)sizeof(ferrum_allocation_request), FERRUM_MEMORY_GENERAL, 0, 0, NULL, 0, 0}
/* clang-format on */

/**
 * Allocates a block of type FERRUM_MEMORY_GENERAL.
 *
 * @param size_bytes  not 0.
 * @return as ferrum_pool_alloc.
 */
FERRUM_API ferrum_status ferrum_manager_alloc(ferrum_manager manager,
                                              uint64_t size_bytes,
                                              ferrum_memory *memory_out);

/** As ferrum_manager_alloc, with the address a multiple of alignment_bytes, a power
 *  of two from 1 to FERRUM_ALIGNMENT_MAX. */
FERRUM_API ferrum_status ferrum_manager_alloc_aligned(
    ferrum_manager manager, uint64_t size_bytes, uint64_t alignment_bytes,
    ferrum_memory *memory_out);

/** Allocates a block as described. */
FERRUM_API ferrum_status ferrum_manager_alloc_with(
    ferrum_manager manager, const ferrum_allocation_request *request,
    ferrum_memory *memory_out);

/**
 * Gives a block back; its handle is dead at once. Copies that are in flight
 * finish undisturbed: the memory is handed out again after them. Does not wait,
 * but for a move of the block that is under way.
 *
 * @return FERRUM_ERROR_BUSY for a block that is pinned or mapped, and for an adopted
 *         one on which work is queued; as ferrum_pool_free for
 *         FERRUM_ERROR_CORRUPTED, which can come from a pool that debugs.
 */
FERRUM_API ferrum_status ferrum_memory_free(ferrum_memory memory);

/** Description of a block. */
typedef struct ferrum_handle_info {
    uint32_t struct_size;
    /** FERRUM_MEMORY_* */
    ferrum_memory_type memory_type;
    /** The block. */
    ferrum_memory memory;
    /** Its manager. */
    ferrum_manager manager;
    /** The device of its manager. */
    ferrum_device device;
    /** As asked for. */
    uint64_t size_bytes;
    /** After rounding. */
    uint64_t allocated_bytes;
    /** Largest power of two that divides the address, at most
     *  FERRUM_ALIGNMENT_MAX. */
    uint64_t alignment_bytes;
    /** Of a relocatable block that is not pinned it is valid until the next
     *  ferrum_manager_defragment of the manager; host_pointer too. */
    ferrum_address address;
    /** The block as the host sees it, or NULL where it cannot. ferrum_memory_map gives a
     *  pointer in any case. */
    void *host_pointer;
    /** Monotonic time of the allocation since ferrum_init. */
    uint64_t allocated_at_ns;
    /** Mapped for host access by a call of this library. */
    uint32_t is_mapped;
    /** Asynchronous operations in flight on the block. */
    uint32_t operations_in_flight;
    /** Name in the books, or empty. */
    char tag[64];
    /** Asked for with FERRUM_ALLOCATE_RELOCATABLE. */
    uint32_t is_relocatable;
    /** Calls of ferrum_memory_pin that ferrum_memory_unpin has not ended. */
    uint32_t pin_count;
    /** The block of another device that is the same memory (ferrum_manager_create_mapping);
     *  {0}: none, or it is gone. */
    ferrum_memory linked;
    /** The memory is somebody else's (ferrum_manager_adopt). */
    uint32_t is_adopted;
    uint32_t reserved_end;
} ferrum_handle_info;

/* clang-format off */
#define FERRUM_HANDLE_INFO_INIT {(uint32_t)sizeof(ferrum_handle_info), 0, {0}, {0}, {0}, 0, 0, 0, 0, NULL, 0, 0, 0, {0}, 0, 0, {0}, 0, 0}
/* clang-format on */

/** Describes a block; FERRUM_ERROR_INVALID_HANDLE for an unknown one. */
FERRUM_API ferrum_status ferrum_memory_get_handle_info(
    ferrum_memory memory, ferrum_handle_info *info_out);

/**
 * Gives the address of a block and has it stay there until ferrum_memory_unpin has been
 * called as often as ferrum_memory_pin: for work of the caller's own on the address that
 * the library does not know of. Any block can be pinned. Waits for a move of the
 * block that is under way. A pinned block cannot be freed; destroying its
 * manager with FERRUM_FORCE frees it.
 *
 * @return FERRUM_ERROR_RESOURCE_EXHAUSTED for a block that is pinned 2^32 - 1 times.
 */
FERRUM_API ferrum_status ferrum_memory_pin(ferrum_memory memory,
                                           ferrum_address *address_out);

/**
 * Ends one call of ferrum_memory_pin.
 *
 * @return FERRUM_ERROR_INVALID_STATE for a block that is not pinned.
 */
FERRUM_API ferrum_status ferrum_memory_unpin(ferrum_memory memory);

/** A copy between two blocks, of one device or of two. */
typedef struct ferrum_transfer {
    uint32_t struct_size;
    uint32_t reserved;
    /** The block that is read. */
    ferrum_memory src;
    /** The block that is written. */
    ferrum_memory dst;
    /** Not 0. */
    uint64_t size_bytes;
    /** First byte in the source. */
    uint64_t src_offset_bytes;
    /** First byte in the destination. */
    uint64_t dst_offset_bytes;
} ferrum_transfer;

/* clang-format off */
#define FERRUM_TRANSFER_INIT {(uint32_t)sizeof(ferrum_transfer), 0, {0}, {0}, 0, 0, 0}
/* clang-format on */

/**
 * Copies bytes from one block to another, or within one (with the meaning of
 * memmove), and returns when they are there. Work that was queued before on
 * streams that use the two blocks is waited for.
 *
 * @return FERRUM_ERROR_INVALID_OFFSET when a range leaves its block,
 *         FERRUM_ERROR_OVERFLOW when offset + size does not fit 64 bits. This
 *         call, ferrum_memory_write and ferrum_memory_read use the default stream of the
 *         device and also return a failure of work queued there before.
 */
FERRUM_API ferrum_status ferrum_memory_copy(const ferrum_transfer *transfer);

/**
 * Queues a copy on a stream and returns. Both blocks stay until it is done,
 * also when they are freed meanwhile. At most max_concurrent_transfers
 * are in flight per manager of the destination; the call waits for its turn.
 *
 * @param stream  optional, of the destination's device.
 */
FERRUM_API ferrum_status
ferrum_memory_copy_async(const ferrum_transfer *transfer, ferrum_stream stream);

/**
 * Copies from the caller's memory into a block and returns when it is done.
 *
 * @param source  at least size_bytes long.
 */
FERRUM_API ferrum_status ferrum_memory_write(ferrum_memory memory,
                                             uint64_t offset_bytes,
                                             const void *source,
                                             uint64_t size_bytes);

/**
 * Copies from a block into the caller's memory and returns when it is done.
 *
 * @param destination_out  at least size_bytes long. Not zeroed on failure.
 */
FERRUM_API ferrum_status ferrum_memory_read(ferrum_memory memory,
                                            uint64_t offset_bytes,
                                            void *destination_out,
                                            uint64_t size_bytes);

/** A range of a block to fill with a pattern. */
typedef struct ferrum_fill {
    uint32_t struct_size;
    /** Bytes of the pattern: 1, 2 or 4. */
    uint32_t pattern_bytes;
    /** The block. */
    ferrum_memory memory;
    /** A multiple of pattern_bytes. */
    uint64_t offset_bytes;
    /** A multiple of pattern_bytes, not 0. */
    uint64_t size_bytes;
    /** The pattern, in the low bytes; the others must be zero. */
    uint32_t pattern;
    uint32_t reserved;
} ferrum_fill;

/* clang-format off */
#define FERRUM_FILL_INIT {(uint32_t)sizeof(ferrum_fill), 1, {0}, 0, 0, 0, 0}
/* clang-format on */

/**
 * Queues a fill on a stream and returns. The block stays until it is done.
 *
 * @param stream  optional, of the block's device.
 */
FERRUM_API ferrum_status ferrum_memory_fill_async(const ferrum_fill *fill,
                                                  ferrum_stream stream);

/** What a defragmentation did. Every block that was live counts once: as moved, as
 *  skipped for the first of these reasons that held, or as kept. */
typedef struct ferrum_defragmentation_stats {
    uint32_t struct_size;
    /** Fragmentation ratio before. */
    float fragmentation_before;
    /** Fragmentation ratio after. */
    float fragmentation_after;
    uint32_t reserved;
    /** Bytes given back to the system. */
    uint64_t memory_freed_bytes;
    /** Blocks moved to another address. */
    uint64_t blocks_moved;
    /** Blocks that could not be moved: the sum of the reasons below. */
    uint64_t blocks_skipped;
    /** Time taken. */
    uint64_t time_taken_ns;
    /** The same in milliseconds, rounded up. */
    uint64_t time_taken_ms;
    /** Size, as asked for, of the blocks that were moved. */
    uint64_t bytes_moved;
    /** Pages that all blocks were moved out of. */
    uint64_t pages_emptied;
    /** The same of segments, in pools that take them whole. */
    uint64_t segments_emptied;
    /** Blocks that could have been moved, but no page would have come free for it. */
    uint64_t blocks_kept;
    /** Blocks without FERRUM_ALLOCATE_RELOCATABLE. */
    uint64_t skipped_not_relocatable;
    /** Blocks that a debug mode of the manager or the pool has filled or surrounded
     *  with patterns. */
    uint64_t skipped_debugged;
    /** Pinned blocks. */
    uint64_t skipped_pinned;
    /** Blocks that were used on a stream on which work is queued. */
    uint64_t skipped_in_use;
    /** Blocks of pages whose blocks found no place outside of them, though as much is
     *  free there. */
    uint64_t skipped_no_room;
    /** Blocks that were not looked at any more when the budget was over. */
    uint64_t skipped_over_budget;
    /** The budget was over before all was done (1). */
    uint32_t budget_ended;
    uint32_t reserved_end;
    /** Blocks that the host has mapped (ferrum_memory_map); this reason comes after
     *  skipped_pinned. */
    uint64_t skipped_mapped;
} ferrum_defragmentation_stats;

/* clang-format off */
#define FERRUM_DEFRAGMENTATION_STATS_INIT {(uint32_t)sizeof(ferrum_defragmentation_stats), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}
/* clang-format on */

/**
 * Moves blocks so that pages come free (segments, in pools that take them whole),
 * the cheapest first, and gives back to the system what the manager's pools hold
 * without use. Only blocks of FERRUM_ALLOCATE_RELOCATABLE move, and of these none
 * that is pinned, mapped, or was used on a stream on which work is queued. Their
 * handles, bytes, tags and ages stay, their addresses do not. No pool grows for it.
 *
 * Other threads may go on using the blocks by their handles: a call that wants one
 * that is being moved waits for the move. When the device fails, the block that was
 * to be moved is as it was, and those that were moved before stay moved.
 */
FERRUM_API ferrum_status ferrum_manager_defragment(
    ferrum_manager manager, ferrum_defragmentation_stats *stats_out);

/**
 * ferrum_manager_defragment within a time: no move is started when it is over, and one that
 * is under way is given up at the next 8 MiB of its copy. What is free is given back
 * in any case. A second call for a manager waits for the first, within its time.
 *
 * A call that its budget ends (budget_ended) leaves what it has found out to the next
 * one with a budget, which goes on there: so small budgets get somewhere in a manager
 * of many blocks. Such a call counts blocks as they were when they were looked at.
 *
 * @param budget_ns  nanoseconds, or FERRUM_WAIT_FOREVER; 0: nothing is moved.
 */
FERRUM_API ferrum_status
ferrum_manager_defragment_within(ferrum_manager manager, uint64_t budget_ns,
                                 ferrum_defragmentation_stats *stats_out);

/* ===================================================================== */
/* 10. Callbacks: pressure and reclaim                                   */
/* ===================================================================== */

/**
 * Hears of a change of the pressure level. Runs on a thread of the library,
 * one call at a time, with no lock held; it may call the library but
 * ferrum_shutdown. A level is left downwards only once the use is 1 % of the
 * device below its bound, so that it cannot flap.
 */
typedef void (*ferrum_pressure_fn)(ferrum_device device,
                                   ferrum_pressure_level level,
                                   void *user_data);

/**
 * Registers a pressure callback on a device; each registration hears of every
 * change from then on.
 *
 * @param user_data  must stay valid until the registration is removed.
 */
FERRUM_API ferrum_status ferrum_device_pressure_callback_add(
    ferrum_device device, ferrum_pressure_fn callback, void *user_data,
    ferrum_registration *registration_out);

/**
 * Asked to free memory when an allocation would otherwise fail. Runs on a
 * thread of the library, with no lock held; it may free and trim through the
 * library; an allocation inside it fails instead of asking again.
 *
 * @return bytes that were freed, 0 if none.
 */
typedef uint64_t (*ferrum_reclaim_fn)(ferrum_device device,
                                      uint64_t needed_bytes, void *user_data);

/** Settings of a reclaim callback. */
typedef struct ferrum_reclaim_config {
    uint32_t struct_size;
    /** Lower ones are asked first; equal ones in the order of registration. */
    int32_t priority;
    /** How long an allocation waits for the callback at most; 0: 100 ms. Above
     *  INT64_MAX is FERRUM_ERROR_INVALID_ARGUMENT. */
    uint64_t deadline_ns;
} ferrum_reclaim_config;

/* clang-format off */
#define FERRUM_RECLAIM_CONFIG_INIT {(uint32_t)sizeof(ferrum_reclaim_config), 0, 0}
/* clang-format on */

/**
 * Registers a reclaim callback on a device.
 *
 * @param config     settings, or NULL for FERRUM_RECLAIM_CONFIG_INIT.
 * @param user_data  must stay valid until the registration is removed.
 */
FERRUM_API ferrum_status ferrum_device_reclaim_callback_add(
    ferrum_device device, const ferrum_reclaim_config *config,
    ferrum_reclaim_fn callback, void *user_data,
    ferrum_registration *registration_out);

/**
 * Removes a callback. Waits for a running call of it, unless it is called from
 * inside that call; afterwards it is not called again. Two callbacks that each
 * remove the other while both run would wait for each other for ever.
 */
FERRUM_API ferrum_status
ferrum_registration_remove(ferrum_registration registration);

/* ===================================================================== */
/* 11. Virtual pools: address space with pages that come and go           */
/* ===================================================================== */

/*
 * A virtual pool reserves address space as a whole and puts memory behind parts
 * of it, page by page, where and when the caller asks. What is mapped stays
 * where it is. Whoever reads or writes where nothing is mapped ends the process,
 * as with any pointer to nowhere.
 *
 * Physical pages are recycled: one that is freed stays with the pool for its
 * next call, some are kept ready by a worker of the library, and what is more
 * than that goes back to the device after a while.
 */

/** What sizes of pages a device has. */
typedef struct ferrum_page_sizes {
    uint32_t struct_size;
    uint32_t reserved;
    /** The smallest page of a virtual pool; larger ones are powers of two. */
    uint64_t minimum_bytes;
    /** The page size that works best, which 0 stands for. */
    uint64_t recommended_bytes;
} ferrum_page_sizes;

/* clang-format off */
#define FERRUM_PAGE_SIZES_INIT {(uint32_t)sizeof(ferrum_page_sizes), 0, 0, 0}
/* clang-format on */

/**
 * Asks a device for its page sizes.
 *
 * @return FERRUM_ERROR_UNSUPPORTED_DEVICE when the device has no virtual memory.
 */
FERRUM_API ferrum_status ferrum_device_get_page_sizes(
    ferrum_device device, ferrum_page_sizes *sizes_out);

/** What the memory behind pages can do. */
typedef int32_t ferrum_backing;
/** It can be mapped elsewhere. On the host, a child made by fork() has no memory
 *  there: it would share the parent's. */
#define FERRUM_BACKING_MOVABLE 0
/** Its bytes are lost when a page leaves its place; quicker to come and go on
 *  some devices. On the host, a child made by fork() has the bytes of that moment. */
#define FERRUM_BACKING_PRIVATE 1
/** Movable, and ferrum_vpool_export() gives it to other processes; a device without
 *  FERRUM_CAPABILITY_EXPORTED_PAGES has none. On the host each page is a file. */
#define FERRUM_BACKING_SHAREABLE 2

/** Settings of a virtual pool. */
typedef struct ferrum_vpool_config {
    uint32_t struct_size;
    /** None is known: 0. */
    uint32_t flags;
    /** Address space, rounded up to whole pages; not 0. */
    uint64_t capacity_bytes;
    /** A power of two of at least ferrum_page_sizes.minimum_bytes; 0: what the
     *  device recommends. */
    uint64_t page_bytes;
    /** Upper bound of the memory; 0: what the device has. */
    uint64_t limit_bytes;
    /** Name in reports, and tag of ranges without one; NULL: none. At most 63
     *  bytes. */
    const char *name;
    /** How many pages are kept ready while nothing asks for any: up to 65536, or
     *  FERRUM_READY_PAGES_AUTO. */
    uint32_t ready_pages;
    /** FERRUM_BACKING_* */
    ferrum_backing backing;
} ferrum_vpool_config;

/* clang-format off */
#define FERRUM_VPOOL_CONFIG_INIT {(uint32_t)sizeof(ferrum_vpool_config), 0, 0, 0, 0, NULL, FERRUM_READY_PAGES_AUTO, FERRUM_BACKING_MOVABLE}
/* clang-format on */

/**
 * Makes a virtual pool. It takes address space, and memory only for its tables.
 *
 * @param config  required.
 * @return FERRUM_ERROR_UNSUPPORTED_DEVICE when the device has no virtual memory;
 *         FERRUM_ERROR_INVALID_PAGE_SIZE; FERRUM_ERROR_INVALID_SIZE for a
 *         capacity that is 0 or cannot be rounded up;
 *         FERRUM_ERROR_OUT_OF_VIRTUAL_MEMORY when there is no such address
 *         space; FERRUM_ERROR_OUT_OF_PHYSICAL_MEMORY for a limit above what the
 *         device has.
 */
FERRUM_API ferrum_status ferrum_vpool_create(ferrum_device device,
                                             const ferrum_vpool_config *config,
                                             ferrum_vpool *vpool_out);

/**
 * Destroys a virtual pool: waits for queued work that uses freed ranges, unmaps
 * everything and gives memory and address space back.
 *
 * @param flags  0, or FERRUM_FORCE: also while ranges are mapped; then waits for
 *               all work of the device first.
 * @return FERRUM_ERROR_BUSY, and nothing has changed, while ranges are mapped or a call
 *         is under way that maps some.
 */
FERRUM_API ferrum_status ferrum_vpool_destroy(ferrum_vpool vpool,
                                              uint32_t flags);

/**
 * Puts memory, readable and writable, behind every page that a range touches:
 * all of them or none. The first bytes are zeros, or what this pool had written
 * there before.
 *
 * @param offset_bytes  from the base address; need not be a multiple of a page.
 * @param size_bytes    not 0.
 * @param address_out   base address + offset_bytes.
 * @return FERRUM_ERROR_INVALID_OFFSET for a range that ends outside, with
 *         offset, size and capacity in the message; FERRUM_ERROR_INVALID_SIZE;
 *         FERRUM_ERROR_ALREADY_MAPPED, with offset and size of the first page
 *         that is mapped; FERRUM_ERROR_OUT_OF_PHYSICAL_MEMORY over the limit,
 *         with what was requested and what was available;
 *         FERRUM_ERROR_OUT_OF_MEMORY when the device has no more, after all that
 *         ferrum_pool_alloc tries too; FERRUM_ERROR_RESOURCE_EXHAUSTED where the
 *         system allows no more mappings. Where queued work still uses a freed
 *         range, it is waited for; in a host function or a reclaim callback that
 *         is FERRUM_ERROR_BUSY.
 */
FERRUM_API ferrum_status ferrum_vpool_alloc(ferrum_vpool vpool,
                                            uint64_t offset_bytes,
                                            uint64_t size_bytes,
                                            ferrum_address *address_out);

/**
 * As ferrum_vpool_alloc, with a name for reports.
 *
 * @param tag  at most 63 bytes; NULL or empty: the pool's name.
 * @return FERRUM_ERROR_RESOURCE_EXHAUSTED while about a million other names are
 *         in use.
 */
FERRUM_API ferrum_status ferrum_vpool_alloc_tagged(ferrum_vpool vpool,
                                                   uint64_t offset_bytes,
                                                   uint64_t size_bytes,
                                                   const char *tag,
                                                   ferrum_address *address_out);

/**
 * Takes the memory of a range away, once the work is done that is queued now
 *
 *   - on the stream of the range, which it was asked for on (ferrum_vpool_request),
 *   - on the streams that ferrum_vpool_record_stream named for a page of it,
 *   - and on the stream of this call, {0} being the default one as everywhere.
 *
 * Until then its pages count as used. Does not wait. The caller does not touch the
 * range any more from this call on. A stream of the range that was destroyed has run
 * dry, and is no reason to fail.
 *
 * @param offset_bytes,size_bytes  whole pages, of one allocation or of several,
 *                                 or exactly those of one allocation. Once a part
 *                                 of it was freed, what is left is freed by whole
 *                                 pages: its pages may be another one's by then.
 * @param stream                   optional: a further stream that used the range.
 * @return FERRUM_ERROR_INVALID_OFFSET for a range that is neither, or that ends
 *         outside; FERRUM_ERROR_INVALID_SIZE for a size of 0;
 *         FERRUM_ERROR_NOT_MAPPED, with offset and size of the first page that is
 *         not mapped; FERRUM_ERROR_BUSY while a call that puts a part of it to sleep
 *         or wakes it is under way: once that has ended it can be freed, asleep or
 *         awake; FERRUM_ERROR_INVALID_STATE where a part of it sleeps and a part does
 *         not, and while one of the streams captures. Then nothing has changed.
 */
FERRUM_API ferrum_status ferrum_vpool_free(ferrum_vpool vpool,
                                           uint64_t offset_bytes,
                                           uint64_t size_bytes,
                                           ferrum_stream stream);

/**
 * Says that a stream uses every page that a range touches too, besides the one that
 * the range was asked for on: once freed, the pages wait for the work that is queued
 * on this stream at the time of their free as well. The range may be a part of an
 * allocation, or of several.
 *
 * @param stream  {0}: the default stream.
 * @return FERRUM_ERROR_INVALID_OFFSET for a range that ends outside;
 *         FERRUM_ERROR_INVALID_SIZE for a size of 0; FERRUM_ERROR_NOT_MAPPED, with
 *         offset and size of the first page that is not mapped;
 *         FERRUM_ERROR_INVALID_STATE for a page that sleeps, and FERRUM_ERROR_BUSY for
 *         one that is being put to sleep or woken.
 */
FERRUM_API ferrum_status ferrum_vpool_record_stream(ferrum_vpool vpool,
                                                    uint64_t offset_bytes,
                                                    uint64_t size_bytes,
                                                    ferrum_stream stream);

/**
 * Says whether every page that a range touches is mapped (1) or not (0); 0 for
 * one that ends outside or has no bytes.
 */
FERRUM_API ferrum_status ferrum_vpool_is_mapped(ferrum_vpool vpool,
                                                uint64_t offset_bytes,
                                                uint64_t size_bytes,
                                                uint32_t *mapped_out);

/** A virtual pool at one moment. Pages are counts. */
typedef struct ferrum_vpool_info {
    uint32_t struct_size;
    /** 1 - mapped pages / all pages. */
    float unmapped_share;
    /** 1 - longest free run / free address space; 0 when nothing is free. */
    float fragmentation;
    uint32_t reserved;
    /** Where the address space starts. */
    ferrum_address base_address;
    /** Size of a page. */
    uint64_t page_bytes;
    /** The address space, in whole pages. */
    uint64_t virtual_capacity_bytes;
    /** Memory behind mapped and retiring pages. */
    uint64_t physical_bytes;
    /** The most that physical_bytes was. */
    uint64_t peak_physical_bytes;
    /** What the mapped pages were asked for with. */
    uint64_t requested_bytes;
    /** Pages that ranges have. */
    uint64_t mapped_pages;
    /** Freed, and queued work may still use them. */
    uint64_t retiring_pages;
    /** Freed, but still mapped where they were: their range has them again at
     *  once, any other after an unmapping. */
    uint64_t parked_pages;
    /** Mapped nowhere, ready for any range. */
    uint64_t ready_pages;
    /** Had from the device: mapped, retiring, parked and ready ones. */
    uint64_t held_bytes;
    /** The present limit. */
    uint64_t limit_bytes;
    /** What the limit still allows to be mapped. */
    uint64_t available_bytes;
    /** Longest run of free address space. */
    uint64_t largest_free_run_bytes;
    /** Successful allocations so far. */
    uint64_t allocations;
    /** Address space of the pool's tables; only what was used has memory. */
    uint64_t table_bytes;
    /** Pages of ranges that sleep; they have no memory. */
    uint64_t asleep_pages;
    /** Their bytes. */
    uint64_t asleep_bytes;
    /** Host memory that holds bytes of what sleeps. */
    uint64_t asleep_host_bytes;
    /** Disk space that does. */
    uint64_t asleep_file_bytes;
    /** Of ranges of which nothing is kept. */
    uint64_t asleep_discarded_bytes;
    /** Calls so far that put to sleep. */
    uint64_t sleeps;
    /** Calls so far that woke. */
    uint64_t wakes;
    /** How long those took in all that put to sleep. */
    uint64_t sleep_ns;
    /** How long those took in all that woke. */
    uint64_t wake_ns;
    /** Calls so far that were to put to sleep and failed once they had begun. */
    uint64_t sleep_failures;
    /** Calls so far that were to wake and failed once they had begun. */
    uint64_t wake_failures;
} ferrum_vpool_info;

/* clang-format off */
#define FERRUM_VPOOL_INFO_INIT {(uint32_t)sizeof(ferrum_vpool_info), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}
/* clang-format on */

/** Describes a virtual pool. Does not wait for queued work. */
FERRUM_API ferrum_status ferrum_vpool_get_info(ferrum_vpool vpool,
                                               ferrum_vpool_info *info_out);

/** Books of a virtual pool: its live blocks are ranges. */
FERRUM_API ferrum_status ferrum_vpool_get_statistics(
    ferrum_vpool vpool, ferrum_statistics *statistics_out);

/** What a compaction did. */
typedef struct ferrum_compact_report {
    uint32_t struct_size;
    uint32_t reserved;
    /** Pages that were retiring, and whose work was done. */
    uint64_t landed_pages;
    /** Pages that were parked, and are ready for any range now. */
    uint64_t unmapped_pages;
    /** What went back to the device. */
    uint64_t released_bytes;
    /** Runs of pages that lie one after the other among those that no range
     *  uses: an allocation needs a mapping of the system for each run. */
    uint64_t runs_before;
    /** The same, after. */
    uint64_t runs_after;
} ferrum_compact_report;

/* clang-format off */
#define FERRUM_COMPACT_REPORT_INIT {(uint32_t)sizeof(ferrum_compact_report), 0, 0, 0, 0, 0, 0}
/* clang-format on */

/**
 * Brings together what nobody uses: parked pages leave their ranges, of the free
 * pages those that lie together are kept, as many as are kept ready, and the
 * others go back to the device. What is mapped stays where it is.
 */
FERRUM_API ferrum_status
ferrum_vpool_compact(ferrum_vpool vpool, ferrum_compact_report *report_out);

/**
 * Gives parked and ready pages back to the device until no more than keep_bytes
 * of them are held.
 *
 * @param released_bytes_out  what was given back.
 */
FERRUM_API ferrum_status ferrum_vpool_trim(ferrum_vpool vpool,
                                           uint64_t keep_bytes,
                                           uint64_t *released_bytes_out);

/**
 * Changes the limit while the pool works; 0: what the device has. What is mapped
 * stays; free pages above the limit go back to the device, movable ones by the
 * pool's worker and after the call.
 *
 * @return FERRUM_ERROR_OUT_OF_PHYSICAL_MEMORY for more than the device has.
 */
FERRUM_API ferrum_status ferrum_vpool_set_limit(ferrum_vpool vpool,
                                                uint64_t limit_bytes);

/**
 * Waits until no range of the pool is retiring any more.
 *
 * @param timeout_ns  nanoseconds, or FERRUM_WAIT_FOREVER; 0 only asks.
 * @return FERRUM_ERROR_TIMEOUT when it takes longer.
 */
FERRUM_API ferrum_status ferrum_vpool_synchronize(ferrum_vpool vpool,
                                                  uint64_t timeout_ns);

/** Has the pool's worker make no more pages ready, until ferrum_vpool_resume.
 *  What it is at, it has ended when the call returns. */
FERRUM_API ferrum_status ferrum_vpool_pause(ferrum_vpool vpool);

/** Ends a ferrum_vpool_pause. */
FERRUM_API ferrum_status ferrum_vpool_resume(ferrum_vpool vpool);

/* ===================================================================== */
/* 12. Elastic pools: several models under one physical limit             */
/* ===================================================================== */

/*
 * An elastic pool has models, each named by a text of 1 to 63 bytes, with address
 * space of its own, as a virtual pool has. The physical memory of all of them
 * together is under one limit. The address spaces together may be larger than it.
 *
 * A model may be guaranteed a part of the limit, which nobody else gets, and may
 * have a maximum. The rest goes to whoever asks. When it does not suffice for an
 * allocation, room is looked for in this order, until there is enough:
 *
 *   1. Pages that no range uses; of models of lower priority first.
 *   2. Freed ranges whose queued work is about to be done are waited for.
 *   3. Models above their guarantee have their reclaim callbacks called, one
 *      after the other: lower priority first, then those that are further above
 *      their guarantee, then in the order of registration.
 *
 * Allocations that wait stand in line: those within their model's guarantee first,
 * then higher priority, then first come, first served; nobody is passed for ever.
 * A model is never asked for what it is guaranteed.
 *
 * A page that goes from one model to another is made zeros in between, unless
 * both are unscrubbed.
 */

/** Settings of an elastic pool. */
typedef struct ferrum_elastic_pool_config {
    uint32_t struct_size;
    /** None is known: 0. */
    uint32_t flags;
    /** Upper bound of the memory of all models together, in whole pages; 0: what
     *  the device has. More than that is refused: 32 GiB on a device of 24 are, so
     *  a number for all machines is the smaller of it and total_bytes. The models'
     *  virtual_bytes have no such bound: together they may be above the limit. */
    uint64_t limit_bytes;
    /** As in ferrum_vpool_config. */
    uint64_t page_bytes;
    /** Name in reports; NULL: none. At most 63 bytes. */
    const char *name;
    /** As in ferrum_vpool_config. */
    uint32_t ready_pages;
    /** FERRUM_BACKING_MOVABLE or FERRUM_BACKING_PRIVATE */
    ferrum_backing backing;
} ferrum_elastic_pool_config;

/* clang-format off */
#define FERRUM_ELASTIC_POOL_CONFIG_INIT {(uint32_t)sizeof(ferrum_elastic_pool_config), 0, 0, 0, NULL, FERRUM_READY_PAGES_AUTO, FERRUM_BACKING_MOVABLE}
/* clang-format on */

/**
 * Makes an elastic pool without models. It takes nothing from the device yet.
 *
 * @param config  settings, or NULL for FERRUM_ELASTIC_POOL_CONFIG_INIT.
 * @return FERRUM_ERROR_UNSUPPORTED_DEVICE when the device has no virtual memory;
 *         FERRUM_ERROR_INVALID_PAGE_SIZE; FERRUM_ERROR_OUT_OF_PHYSICAL_MEMORY for
 *         a limit above what the device has; FERRUM_ERROR_INVALID_CONFIG for one
 *         of less than a page.
 */
FERRUM_API ferrum_status ferrum_elastic_pool_create(
    ferrum_device device, const ferrum_elastic_pool_config *config,
    ferrum_elastic_pool *pool_out);

/**
 * Destroys an elastic pool with its models, as ferrum_vpool_destroy. Registrations
 * of reclaim callbacks stay until they are removed, but are not called any more.
 *
 * @param flags  0 or FERRUM_FORCE.
 * @return FERRUM_ERROR_BUSY, and nothing has changed for any model, while one has ranges
 *         or allocations under way or that wait, or is being registered or unregistered.
 */
FERRUM_API ferrum_status ferrum_elastic_pool_destroy(ferrum_elastic_pool pool,
                                                     uint32_t flags);

/** Settings of a model. */
typedef struct ferrum_model_config {
    uint32_t struct_size;
    /** When pages are short, models of lower priority give first, and those of
     *  higher priority are served first. */
    int32_t priority;
    /** Address space, rounded up to whole pages; not 0. */
    uint64_t virtual_bytes;
    /** What is kept of the limit for this model, rounded up to whole pages. The
     *  guarantees of all models together are within the limit, and each is backed by
     *  pages that no other model uses or is guaranteed. */
    uint64_t guaranteed_bytes;
    /** What the model may have at most, in whole pages; 0: no bound of its own. */
    uint64_t max_bytes;
    /** Its pages may go to another model that is unscrubbed as well without being
     *  made zeros (1). */
    uint32_t unscrubbed;
    /** What is not backed of guaranteed_bytes waits, and becomes effective as pages come
     *  back, before allocations that stand in line get them (1); or the call fails (0). */
    uint32_t guarantee_may_wait;
} ferrum_model_config;

/* clang-format off */
#define FERRUM_MODEL_CONFIG_INIT {(uint32_t)sizeof(ferrum_model_config), 0, 0, 0, 0, 0, 0}
/* clang-format on */

/**
 * Adds a model, while others run. It takes address space, and memory only for its
 * tables.
 *
 * @param model   its id, 1 to 63 bytes.
 * @param config  required.
 * @return FERRUM_ERROR_MODEL_ALREADY_EXISTS, with the id in the message;
 *         FERRUM_ERROR_INVALID_ARGUMENT for an id that is none;
 *         FERRUM_ERROR_INVALID_SIZE and FERRUM_ERROR_OUT_OF_VIRTUAL_MEMORY for
 *         its address space; FERRUM_ERROR_INVALID_CONFIG for guarantees above the
 *         limit, or a guarantee above the model's own maximum or address space;
 *         FERRUM_ERROR_OUT_OF_PHYSICAL_MEMORY, with how much is backed, for a guarantee
 *         that is not and may not wait: nobody's present guarantee is weakened for it.
 */
FERRUM_API ferrum_status
ferrum_elastic_pool_register_model(ferrum_elastic_pool pool, const char *model,
                                   const ferrum_model_config *config);

/**
 * Takes a model out, while others run: waits for queued work that uses its freed
 * ranges and for running calls of its reclaim callbacks, which are not called any
 * more. What it had goes to the others.
 *
 * @param flags  0, or FERRUM_FORCE: also while it has ranges; then waits for all
 *               work of the device first, and its allocations that wait fail.
 * @return FERRUM_ERROR_BUSY, and nothing has changed, while it has ranges, or allocations
 *         under way or that wait;
 *         FERRUM_ERROR_MODEL_NOT_FOUND, with the id in the message.
 */
FERRUM_API ferrum_status ferrum_elastic_pool_unregister_model(
    ferrum_elastic_pool pool, const char *model, uint32_t flags);

/**
 * Puts memory behind the first range of the model's address space that is free and
 * long enough, in whole pages. The first bytes are zeros, or what this model had
 * written there before. Where no free range is long enough, and freed ones that queued
 * work still uses would make one, it waits for that work, ten seconds at most.
 *
 * @param size_bytes        not 0.
 * @param address_out       where it starts.
 * @param offset_bytes_out  optional, may be NULL: the same from the model's base
 *                          address.
 * @return FERRUM_ERROR_MODEL_NOT_FOUND; FERRUM_ERROR_INVALID_SIZE;
 *         FERRUM_ERROR_OUT_OF_VIRTUAL_MEMORY when no range is long enough;
 *         FERRUM_ERROR_OUT_OF_PHYSICAL_MEMORY when the limits allow no more and
 *         no room was found, with what was requested and what was available;
 *         FERRUM_ERROR_OUT_OF_MEMORY when the device has less than the limits
 *         allow. In a host function or a reclaim callback it does not wait for
 *         room.
 */
FERRUM_API ferrum_status ferrum_elastic_pool_alloc(ferrum_elastic_pool pool,
                                                   const char *model,
                                                   uint64_t size_bytes,
                                                   ferrum_address *address_out,
                                                   uint64_t *offset_bytes_out);

/**
 * As ferrum_elastic_pool_alloc, at a place: behind every page that the range
 * touches.
 *
 * @param offset_bytes  from the model's base address.
 * @return FERRUM_ERROR_INVALID_OFFSET and FERRUM_ERROR_ALREADY_MAPPED as
 *         ferrum_vpool_alloc.
 */
FERRUM_API ferrum_status ferrum_elastic_pool_alloc_at(
    ferrum_elastic_pool pool, const char *model, uint64_t offset_bytes,
    uint64_t size_bytes, ferrum_address *address_out);

/** A range of a model, as asked for. */
typedef struct ferrum_model_request {
    uint32_t struct_size;
    /** The range starts at offset_bytes (1), or where there is room (0). */
    uint32_t at_offset;
    /** 0 where at_offset is. */
    uint64_t offset_bytes;
    /** Not 0. */
    uint64_t size_bytes;
    /** Name for the books, at most 63 bytes; NULL or empty: the model's id. */
    const char *tag;
    /** How long to wait while the tag, the model or what is at that place sleeps,
     *  in nanoseconds, or FERRUM_WAIT_FOREVER; 0: such a call fails at once. */
    uint64_t asleep_wait_ns;
    /** What uses the range first: it is freed behind the work of this stream. {0}: the
     *  default stream. */
    ferrum_stream stream;
} ferrum_model_request;

/* clang-format off */
#define FERRUM_MODEL_REQUEST_INIT {(uint32_t)sizeof(ferrum_model_request), 0, 0, 0, NULL, 0, {0}}
/* clang-format on */

/** As ferrum_elastic_pool_alloc, with all that can be asked for. */
FERRUM_API ferrum_status ferrum_elastic_pool_alloc_with(
    ferrum_elastic_pool pool, const char *model,
    const ferrum_model_request *request, ferrum_address *address_out,
    uint64_t *offset_bytes_out);

/**
 * Takes the memory of a range of a model away, as ferrum_vpool_free.
 *
 * @param offset_bytes,size_bytes,stream  as for ferrum_vpool_free.
 * @return as ferrum_vpool_free, FERRUM_ERROR_BUSY during a sleep or wake of the
 *         range included; FERRUM_ERROR_MODEL_NOT_FOUND.
 */
FERRUM_API ferrum_status ferrum_elastic_pool_free(ferrum_elastic_pool pool,
                                                  const char *model,
                                                  uint64_t offset_bytes,
                                                  uint64_t size_bytes,
                                                  ferrum_stream stream);

/**
 * As ferrum_vpool_record_stream, for a range of a model.
 *
 * @return besides: FERRUM_ERROR_MODEL_NOT_FOUND.
 */
FERRUM_API ferrum_status ferrum_elastic_pool_record_stream(
    ferrum_elastic_pool pool, const char *model, uint64_t offset_bytes,
    uint64_t size_bytes, ferrum_stream stream);

/** As ferrum_vpool_is_mapped, for a range of a model. */
FERRUM_API ferrum_status ferrum_elastic_pool_is_mapped(ferrum_elastic_pool pool,
                                                       const char *model,
                                                       uint64_t offset_bytes,
                                                       uint64_t size_bytes,
                                                       uint32_t *mapped_out);

/** A model at one moment. Pages are counts. */
typedef struct ferrum_model_info {
    uint32_t struct_size;
    /** Its priority. */
    int32_t priority;
    /** 1 - mapped pages / all pages of its address space. */
    float unmapped_share;
    /** 1 - longest free run / free address space; 0 when nothing is free. */
    float fragmentation;
    /** Where its address space starts. */
    ferrum_address base_address;
    /** Size of a page. */
    uint64_t page_bytes;
    /** Its address space, in whole pages. */
    uint64_t virtual_capacity_bytes;
    /** Memory behind mapped and retiring pages. */
    uint64_t physical_bytes;
    /** The most that physical_bytes was. */
    uint64_t peak_physical_bytes;
    /** What the mapped pages were asked for with. */
    uint64_t requested_bytes;
    /** Pages that ranges have. */
    uint64_t mapped_pages;
    /** Freed, and queued work may still use them. */
    uint64_t retiring_pages;
    /** Freed, but still mapped where they were. */
    uint64_t parked_pages;
    /** Memory that the model had last and nobody uses now. */
    uint64_t cached_bytes;
    /** Its guarantee that is in effect. */
    uint64_t guaranteed_bytes;
    /** 0: no bound of its own. */
    uint64_t max_bytes;
    /** What the model may still have at once, without anybody giving. */
    uint64_t available_bytes;
    /** Longest run of free address space. */
    uint64_t largest_free_run_bytes;
    /** Successful allocations so far. */
    uint64_t allocations;
    /** Frees so far. */
    uint64_t frees;
    /** Allocations so far that found no memory. */
    uint64_t failures;
    /** Allocations so far that stood in line. */
    uint64_t waits;
    /** How long they did in all. */
    uint64_t waited_ns;
    /** Calls so far of its reclaim callbacks. */
    uint64_t reclaim_calls;
    /** What they said to have freed. */
    uint64_t reclaimed_bytes;
    /** Address space of its tables; only what was used has memory. */
    uint64_t table_bytes;
    /** Pages of ranges that sleep; they have no memory. */
    uint64_t asleep_pages;
    /** Their bytes. */
    uint64_t asleep_bytes;
    /** Host memory that holds bytes of what sleeps. */
    uint64_t asleep_host_bytes;
    /** Disk space that does. */
    uint64_t asleep_file_bytes;
    /** Of ranges of which nothing is kept. */
    uint64_t asleep_discarded_bytes;
    /** Calls so far that put to sleep. */
    uint64_t sleeps;
    /** Calls so far that woke. */
    uint64_t wakes;
    /** How long those took in all that put to sleep. */
    uint64_t sleep_ns;
    /** How long those took in all that woke. */
    uint64_t wake_ns;
    /** Calls so far that were to put to sleep and failed once they had begun. */
    uint64_t sleep_failures;
    /** Calls so far that were to wake and failed once they had begun. */
    uint64_t wake_failures;
    /** The guarantee that it asked for: what is above guaranteed_bytes waits for pages. */
    uint64_t requested_guarantee_bytes;
} ferrum_model_info;

/* clang-format off */
#define FERRUM_MODEL_INFO_INIT {(uint32_t)sizeof(ferrum_model_info), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}
/* clang-format on */

/** Describes a model; FERRUM_ERROR_MODEL_NOT_FOUND for an unknown one. */
FERRUM_API ferrum_status ferrum_elastic_pool_get_model_info(
    ferrum_elastic_pool pool, const char *model, ferrum_model_info *info_out);

/** Limits of a model that can be changed while it runs. */
typedef struct ferrum_model_limits {
    uint32_t struct_size;
    /** As in ferrum_model_config. */
    int32_t priority;
    /** As in ferrum_model_config. */
    uint64_t guaranteed_bytes;
    /** As in ferrum_model_config. */
    uint64_t max_bytes;
    /** As in ferrum_model_config. */
    uint32_t guarantee_may_wait;
    uint32_t reserved;
} ferrum_model_limits;

/* clang-format off */
#define FERRUM_MODEL_LIMITS_INIT {(uint32_t)sizeof(ferrum_model_limits), 0, 0, 0, 0, 0}
/* clang-format on */

/**
 * Changes guarantee, maximum and priority of a model, all of them or none, while
 * it and others run. What is mapped stays. A guarantee that is raised keeps what of it
 * is in effect.
 *
 * @param limits  required; fields as in ferrum_model_config.
 * @return FERRUM_ERROR_INVALID_CONFIG and FERRUM_ERROR_OUT_OF_PHYSICAL_MEMORY as
 *         ferrum_elastic_pool_register_model; FERRUM_ERROR_MODEL_NOT_FOUND.
 */
FERRUM_API ferrum_status ferrum_elastic_pool_set_model_limits(
    ferrum_elastic_pool pool, const char *model,
    const ferrum_model_limits *limits);

/** An elastic pool at one moment. */
typedef struct ferrum_elastic_pool_info {
    uint32_t struct_size;
    uint32_t reserved;
    /** Size of a page. */
    uint64_t page_bytes;
    /** The limit of all models together. */
    uint64_t physical_limit_bytes;
    /** Used by the models: mapped, retiring, or granted to allocations on their
     *  way. Above the limit only after that was lowered. */
    uint64_t physical_bytes;
    /** The most that physical_bytes was. */
    uint64_t peak_physical_bytes;
    /** How many models are registered. */
    uint64_t num_models;
    /** Address space of all models together. */
    uint64_t virtual_bytes;
    /** Guarantees of all models together. */
    uint64_t guaranteed_bytes;
    /** Freed, and queued work may still use it. */
    uint64_t retiring_bytes;
    /** Had from the device, and nobody uses it. */
    uint64_t cached_bytes;
    /** Had from the device. */
    uint64_t held_bytes;
    /** Allocations that stand in line now. */
    uint64_t waiting;
} ferrum_elastic_pool_info;

/* clang-format off */
#define FERRUM_ELASTIC_POOL_INFO_INIT {(uint32_t)sizeof(ferrum_elastic_pool_info), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}
/* clang-format on */

/** Describes an elastic pool. */
FERRUM_API ferrum_status ferrum_elastic_pool_get_info(
    ferrum_elastic_pool pool, ferrum_elastic_pool_info *info_out);

/** Books of an elastic pool: its live blocks are the ranges of all models. */
FERRUM_API ferrum_status ferrum_elastic_pool_get_statistics(
    ferrum_elastic_pool pool, ferrum_statistics *statistics_out);

/**
 * Every model of a pool, of one moment and in the order of registration, as JSON:
 *
 *   {"models": [{"id": "chat", "physical_bytes": 0}]}
 *
 * with all fields of ferrum_model_info.
 *
 * @param buffer,capacity,length_out  as for ferrum_backends_json.
 */
FERRUM_API ferrum_status
ferrum_elastic_pool_models_json(ferrum_elastic_pool pool, char *buffer,
                                size_t capacity, size_t *length_out);

/**
 * Changes the limit of all models together while they run; 0: what the device
 * has. What is mapped stays, and free pages above the limit go back to the device,
 * as with ferrum_vpool_set_limit. Below what the models use or are guaranteed, one that
 * stays within its guarantee may have to wait until those above theirs have given.
 *
 * @return FERRUM_ERROR_INVALID_CONFIG for less than the models have asked to be
 *         guaranteed, or than a page; FERRUM_ERROR_OUT_OF_PHYSICAL_MEMORY for more than the
 *         device has.
 */
FERRUM_API ferrum_status ferrum_elastic_pool_set_limit(ferrum_elastic_pool pool,
                                                       uint64_t limit_bytes);

/** As ferrum_vpool_compact. */
FERRUM_API ferrum_status ferrum_elastic_pool_compact(
    ferrum_elastic_pool pool, ferrum_compact_report *report_out);

/** As ferrum_vpool_trim. */
FERRUM_API ferrum_status ferrum_elastic_pool_trim(ferrum_elastic_pool pool,
                                                  uint64_t keep_bytes,
                                                  uint64_t *released_bytes_out);

/** As ferrum_vpool_synchronize, for the ranges of all models. */
FERRUM_API ferrum_status
ferrum_elastic_pool_synchronize(ferrum_elastic_pool pool, uint64_t timeout_ns);

/** As ferrum_vpool_pause. */
FERRUM_API ferrum_status ferrum_elastic_pool_pause(ferrum_elastic_pool pool);

/** Ends a ferrum_elastic_pool_pause. */
FERRUM_API ferrum_status ferrum_elastic_pool_resume(ferrum_elastic_pool pool);

/**
 * Asked to free memory of a model when pages are short. Runs on a thread of the
 * library, with no lock held; it may call the library, mostly to free ranges of
 * its model. What it frees after its deadline goes to who waits then.
 *
 * @param model  id of the model, valid during the call only.
 * @return bytes that were freed, 0 if none.
 */
typedef uint64_t (*ferrum_model_reclaim_fn)(ferrum_elastic_pool pool,
                                            const char *model,
                                            uint64_t needed_bytes,
                                            void *user_data);

/**
 * Registers a reclaim callback of a model. It is called only while the model has
 * more than its guarantee, or is at its own maximum and needs pages itself. End it
 * with ferrum_registration_remove, also after its model is gone.
 *
 * @param config     deadline_ns of it; priority is the model's, and 0 here. NULL
 *                   for FERRUM_RECLAIM_CONFIG_INIT.
 * @param user_data  must stay valid until the registration is removed.
 */
FERRUM_API ferrum_status ferrum_elastic_pool_reclaim_callback_add(
    ferrum_elastic_pool pool, const char *model,
    const ferrum_reclaim_config *config, ferrum_model_reclaim_fn callback,
    void *user_data, ferrum_registration *registration_out);

/* ===================================================================== */
/* 13. Sleep and wake                                                    */
/* ===================================================================== */

/*
 * Ranges of a virtual pool or a model that sleep keep their addresses and tags and
 * give up their memory: their bytes go to host memory or a file, or are discarded.
 * To wake is to get memory as an allocation does, at the same addresses, and to have
 * the bytes back. Both take everything, or one tag; the tag of ranges that were given
 * none is the name of the pool, or the id of the model.
 *
 * Nothing of the caller, no queued work either, uses a range from the beginning of
 * the call that puts it to sleep until the end of the one that wakes it: there is no
 * memory behind it. A range that sleeps can be freed. Allocations of a tag that sleeps
 * are FERRUM_ERROR_INVALID_STATE, or wait if they ask for it (asleep_wait_ns); while
 * everything sleeps that is so for all tags that were not woken by themselves. When
 * the last range that slept is woken by its tag, nothing sleeps any more: from then
 * on allocations of every tag are possible.
 *
 * Both are all or nothing. A call that fails, for whatever reason and wherever it had
 * got to, leaves every page and every byte where it was: a sleep gives up nothing
 * before all is copied, and a wake gives up no copy before all is back. So no limit that
 * is lowered, no other model and no other program can stand in its way back. The price:
 * while the call runs, its bytes are there twice, in the device's memory and in what
 * keeps them; on a device whose memory is the host's (cpu), FERRUM_SLEEP_HOST needs as
 * much memory again, and FERRUM_SLEEP_FILE or FERRUM_SLEEP_DISCARD do not. The pages
 * that a sleep gives up are others' when it ends, all at once.
 *
 * Ranges that a call under way puts to sleep or wakes cannot be freed:
 * FERRUM_ERROR_BUSY.
 *
 * One call at a time puts to sleep or wakes in one pool or model; others wait for it
 * as long as their timeout allows. In a reclaim callback no call waits: one that
 * would have to is FERRUM_ERROR_BUSY.
 */

/** Where the bytes of what sleeps are kept. */
typedef int32_t ferrum_sleep_backing;
/** In ordinary memory of this process. */
#define FERRUM_SLEEP_HOST 0
/** In a file, with checksums that are compared at waking. It is the process's own: it
 *  is removed when all of it has woken or was freed, or its pool or model ends, unless
 *  another file has its name by then. That of a process that was killed is removed by
 *  the next sleep with a file there, which knows it by how it begins and by its lock:
 *  no other file is touched, whatever it is called. */
#define FERRUM_SLEEP_FILE 1
/** Nowhere: what wakes is zeros. */
#define FERRUM_SLEEP_DISCARD 2

/** Length of a path with the NUL at its end. */
#define FERRUM_PATH_MAX 4096

/** What is to sleep, and how. */
typedef struct ferrum_sleep_config {
    uint32_t struct_size;
    /** FERRUM_SLEEP_* */
    ferrum_sleep_backing backing;
    /** Ranges of this tag, at most 63 bytes; NULL or empty: everything. */
    const char *tag;
    /** Where FERRUM_SLEEP_FILE makes its file, less than FERRUM_PATH_MAX bytes; NULL or
     *  empty: the system's directory for temporary files. NULL with other backings. */
    const char *directory;
    /** Only the work is waited for that is queued now on this stream and on those that
     *  use the ranges; {0}: all work of the device. */
    ferrum_stream stream;
    /** How long the call may take until all is copied, in nanoseconds, or
     *  FERRUM_WAIT_FOREVER. When it is over everything is as before, and the call
     *  FERRUM_ERROR_TIMEOUT. 0: the call takes the time of its copies, but is
     *  FERRUM_ERROR_TIMEOUT at once if it has to wait for queued work, another call or
     *  an allocation under way. */
    uint64_t timeout_ns;
    /** Copies that run at once, each on a stream of its own, at most 64; 0: the library
     *  chooses. */
    uint32_t num_streams;
    uint32_t reserved;
} ferrum_sleep_config;

/* clang-format off */
#define FERRUM_SLEEP_CONFIG_INIT {(uint32_t)sizeof(ferrum_sleep_config), FERRUM_SLEEP_HOST, NULL, NULL, {0}, FERRUM_WAIT_FOREVER, 0, 0}
/* clang-format on */

/** What has gone to sleep. */
typedef struct ferrum_sleep_report {
    uint32_t struct_size;
    uint32_t reserved;
    /** Memory that was given up: that of all that went to sleep, but for pages that the
     *  device refused to unmap. */
    uint64_t released_bytes;
    /** How long it took. */
    uint64_t elapsed_ns;
    /** The file of FERRUM_SLEEP_FILE; empty with other backings, and where there was
     *  nothing to write. */
    char path[FERRUM_PATH_MAX];
} ferrum_sleep_report;

/* clang-format off */
#define FERRUM_SLEEP_REPORT_INIT {(uint32_t)sizeof(ferrum_sleep_report), 0, 0, 0, {0}}
/* clang-format on */

/** What is to wake. */
typedef struct ferrum_wake_config {
    uint32_t struct_size;
    /** As in ferrum_sleep_config. */
    uint32_t num_streams;
    /** What sleeps of this tag, at most 63 bytes; NULL or empty: everything. */
    const char *tag;
    /** How long the call may take, in nanoseconds, or FERRUM_WAIT_FOREVER. When it is
     *  over all of it sleeps as before, and the call is FERRUM_ERROR_TIMEOUT. 0: as in
     *  ferrum_sleep_config, and memory that is not free is not waited for. */
    uint64_t timeout_ns;
} ferrum_wake_config;

/* clang-format off */
#define FERRUM_WAKE_CONFIG_INIT {(uint32_t)sizeof(ferrum_wake_config), 0, NULL, FERRUM_WAIT_FOREVER}
/* clang-format on */

/** What has woken. */
typedef struct ferrum_wake_report {
    uint32_t struct_size;
    uint32_t reserved;
    /** Memory that was had for it. */
    uint64_t restored_bytes;
    /** How long it took. */
    uint64_t elapsed_ns;
} ferrum_wake_report;

/* clang-format off */
#define FERRUM_WAKE_REPORT_INIT {(uint32_t)sizeof(ferrum_wake_report), 0, 0, 0}
/* clang-format on */

/**
 * Puts ranges of a virtual pool to sleep, when the work is done that the settings
 * name. What slept before stays as it is. A call that fails changes nothing and may be
 * repeated. Where the device refuses to unmap a part, and also to take that back, the
 * call goes on instead and works: all of it sleeps, and that part is not given up.
 *
 * @param config      settings, or NULL for FERRUM_SLEEP_CONFIG_INIT.
 * @param report_out  optional, may be NULL.
 * @return FERRUM_ERROR_INVALID_STATE when the tag, or everything, sleeps already, and
 *         in a host function; FERRUM_ERROR_NOT_FOUND for a tag that no range has;
 *         FERRUM_ERROR_RESOURCE_EXHAUSTED when host memory, the disk or the process's
 *         bound on the size of files (RLIMIT_FSIZE) is used up; FERRUM_ERROR_IO and
 *         FERRUM_ERROR_PERMISSION_DENIED for the file, with its name;
 *         FERRUM_ERROR_TIMEOUT; FERRUM_ERROR_INVALID_ARGUMENT.
 */
FERRUM_API ferrum_status ferrum_vpool_sleep(ferrum_vpool vpool,
                                            const ferrum_sleep_config *config,
                                            ferrum_sleep_report *report_out);

/**
 * Wakes ranges of a virtual pool at the addresses that they had. When it fails all of
 * them sleep as before, with all that is kept of them, and the call may be repeated.
 * Pages that the device then refuses to unmap count as used until they are.
 *
 * @param config      settings, or NULL for FERRUM_WAKE_CONFIG_INIT.
 * @param report_out  optional, may be NULL.
 * @return FERRUM_ERROR_INVALID_STATE when nothing of the tag, or nothing at all,
 *         sleeps, and in a host function; FERRUM_ERROR_OUT_OF_PHYSICAL_MEMORY and
 *         FERRUM_ERROR_OUT_OF_MEMORY as ferrum_vpool_alloc;
 *         FERRUM_ERROR_CORRUPTED when a file is not what was written, with its name and
 *         the place; FERRUM_ERROR_IO; FERRUM_ERROR_TIMEOUT;
 *         FERRUM_ERROR_INVALID_ARGUMENT.
 */
FERRUM_API ferrum_status ferrum_vpool_wake(ferrum_vpool vpool,
                                           const ferrum_wake_config *config,
                                           ferrum_wake_report *report_out);

/**
 * Says whether a tag of a virtual pool sleeps (1) or not (0).
 *
 * @param tag  NULL or empty: whether everything sleeps, with what may still come.
 */
FERRUM_API ferrum_status ferrum_vpool_is_asleep(ferrum_vpool vpool,
                                                const char *tag,
                                                uint32_t *asleep_out);

/** A range of a virtual pool, as asked for. */
typedef struct ferrum_vpool_request {
    uint32_t struct_size;
    uint32_t reserved;
    /** From the base address. */
    uint64_t offset_bytes;
    /** Not 0. */
    uint64_t size_bytes;
    /** Name for the books, at most 63 bytes; NULL or empty: the pool's name. */
    const char *tag;
    /** As in ferrum_model_request. */
    uint64_t asleep_wait_ns;
    /** As in ferrum_model_request. */
    ferrum_stream stream;
} ferrum_vpool_request;

/* clang-format off */
#define FERRUM_VPOOL_REQUEST_INIT {(uint32_t)sizeof(ferrum_vpool_request), 0, 0, 0, NULL, 0, {0}}
/* clang-format on */

/**
 * As ferrum_vpool_alloc, with all that can be asked for.
 *
 * @return besides: FERRUM_ERROR_INVALID_STATE while the tag, everything, or a range at
 *         that place sleeps; FERRUM_ERROR_TIMEOUT when it does so longer than
 *         asleep_wait_ns.
 */
FERRUM_API ferrum_status
ferrum_vpool_alloc_with(ferrum_vpool vpool, const ferrum_vpool_request *request,
                        ferrum_address *address_out);

/**
 * Puts a model, or ranges of it, to sleep, as ferrum_vpool_sleep. Others may have its
 * pages then; what the model is guaranteed stays kept for it.
 *
 * @return besides: FERRUM_ERROR_MODEL_NOT_FOUND.
 */
FERRUM_API ferrum_status ferrum_elastic_pool_sleep_model(
    ferrum_elastic_pool pool, const char *model,
    const ferrum_sleep_config *config, ferrum_sleep_report *report_out);

/**
 * Wakes a model, or ranges of it, as ferrum_vpool_wake. It has its memory as
 * ferrum_elastic_pool_alloc has it: within the limits, in line, and from others that
 * give.
 *
 * @return besides: FERRUM_ERROR_MODEL_NOT_FOUND.
 */
FERRUM_API ferrum_status ferrum_elastic_pool_wake_model(
    ferrum_elastic_pool pool, const char *model,
    const ferrum_wake_config *config, ferrum_wake_report *report_out);

/** As ferrum_vpool_is_asleep, for a model. */
FERRUM_API ferrum_status
ferrum_elastic_pool_is_model_asleep(ferrum_elastic_pool pool, const char *model,
                                    const char *tag, uint32_t *asleep_out);

/* ===================================================================== */
/* 14. Placement and global monitor                                      */
/* ===================================================================== */

/** Names the bounds of the pressure levels, each inclusive. */
typedef int32_t ferrum_pressure_profile;
/** MEDIUM from 70 %, HIGH from 85 %, CRITICAL from 95 %. */
#define FERRUM_PRESSURE_PROFILE_STANDARD 0
/** MEDIUM from 60 %, HIGH from 80 %, CRITICAL from 95 %. */
#define FERRUM_PRESSURE_PROFILE_EARLY 1

/** Whether memory ought to be freed at a level: from HIGH on. */
#define FERRUM_PRESSURE_SHOULD_FREE(level) ((level) >= FERRUM_PRESSURE_HIGH)
/** Whether requests ought to be denied at a level: at CRITICAL. */
#define FERRUM_PRESSURE_SHOULD_DENY(level) ((level) >= FERRUM_PRESSURE_CRITICAL)

/**
 * The level of a device with that capacity of which so much is free, decided in
 * integers and without hysteresis. A capacity of 0 means unknown and is LOW; more
 * free than there is counts as all free.
 */
FERRUM_API ferrum_status
ferrum_pressure_level_of(ferrum_pressure_profile profile, uint64_t total_bytes,
                         uint64_t free_bytes, ferrum_pressure_level *level_out);

/**
 * The level of a ratio, 0 for empty and 1 for full, for callers who have no more
 * than that. Above 1 is as full as 1.
 *
 * @return FERRUM_ERROR_INVALID_ARGUMENT for a ratio that is negative or no number.
 */
FERRUM_API ferrum_status
ferrum_pressure_from_utilization(ferrum_pressure_profile profile, double ratio,
                                 ferrum_pressure_level *level_out);

/** Watches the memory of several devices as one. */
typedef struct ferrum_monitor {
    uint64_t id; /**< 0 is no monitor */
} ferrum_monitor;

/** Settings of a monitor. */
typedef struct ferrum_monitor_config {
    uint32_t struct_size;
    /** What levels are by. */
    ferrum_pressure_profile profile;
    /** How often, while a callback is set, devices and system are looked at for
     *  what others have changed; what this library itself changes is heard of at
     *  once. 0: 1 s; UINT64_MAX: never. */
    uint64_t interval_ns;
    /** FERRUM_MONITOR_* flags. */
    uint32_t flags;
    uint32_t reserved;
} ferrum_monitor_config;

/** Leave the system's own pressure out. */
#define FERRUM_MONITOR_IGNORE_SYSTEM UINT32_C(1)

/* clang-format off */
#define FERRUM_MONITOR_CONFIG_INIT {(uint32_t)sizeof(ferrum_monitor_config), 0, 0, 0, 0}
/* clang-format on */

/**
 * Makes a monitor that watches nothing yet. It belongs to no device.
 *
 * A device's level is the worse of two. By bytes it is that of total - free, by
 * the monitor's profile; it is left downwards only once the use is 1 % of the
 * device below its bound. By the system, for host devices on Linux, it follows
 * from the share of the last 10 s in which tasks waited for memory (of
 * /proc/pressure/memory, and memory.pressure of the process's control group): MEDIUM
 * from 10 % of some tasks, HIGH from 40 % of some or 10 % of all, CRITICAL from 40 %
 * of all, each left below half of that; and from the counts of the group's
 * memory.events, for 10 s after a rise: high is MEDIUM, max is HIGH, oom and
 * oom_kill are CRITICAL.
 *
 * @param config  settings, or NULL for FERRUM_MONITOR_CONFIG_INIT.
 */
FERRUM_API ferrum_status ferrum_monitor_create(
    const ferrum_monitor_config *config, ferrum_monitor *monitor_out);

/** Destroys a monitor; managers stay as they are. Waits for a running callback,
 *  unless it is called from inside that. */
FERRUM_API ferrum_status ferrum_monitor_destroy(ferrum_monitor monitor);

/**
 * Has the monitor watch a manager and its device. The registration is weak: it
 * keeps neither from being destroyed, and a manager that is destroyed leaves by
 * itself before that call returns. Several managers of one device are one device
 * to the monitor.
 *
 * @return FERRUM_ERROR_ALREADY_EXISTS for one that is registered.
 */
FERRUM_API ferrum_status ferrum_monitor_register(ferrum_monitor monitor,
                                                 ferrum_manager manager);

/** Ends the watch over a manager. FERRUM_ERROR_NOT_FOUND: it is not registered. */
FERRUM_API ferrum_status ferrum_monitor_unregister(ferrum_monitor monitor,
                                                   ferrum_manager manager);

/** Ends the watch over all managers of a device. FERRUM_ERROR_NOT_FOUND: none is
 *  registered. */
FERRUM_API ferrum_status
ferrum_monitor_unregister_device(ferrum_monitor monitor, ferrum_device device);

/** The pressure level of a device. */
typedef struct ferrum_device_level {
    /** The device. */
    ferrum_device device;
    /** Its level. */
    ferrum_pressure_level level;
    uint32_t reserved;
} ferrum_device_level;

/**
 * Hears of a change: the levels of all watched devices, in the order of their
 * coming; a device that comes or goes is a change, too. Runs on a thread of the
 * library, one call at a time, with no lock held; it may call the library but
 * ferrum_shutdown. Every change is told, in order and once; only when more than
 * 1024 wait does the last one give way to the next.
 *
 * @param levels  count of them, valid during the call only.
 */
typedef void (*ferrum_monitor_fn)(ferrum_monitor monitor,
                                  const ferrum_device_level *levels,
                                  size_t count, void *user_data);

/**
 * Sets the receiver of changes from now on, in the place of the former one; NULL
 * removes that. Waits for a running call of the former one, unless it is called
 * from inside that; afterwards it is not called again.
 *
 * @param user_data  handed to the callback; must stay valid while it is set.
 */
FERRUM_API ferrum_status ferrum_monitor_set_callback(ferrum_monitor monitor,
                                                     ferrum_monitor_fn callback,
                                                     void *user_data);

/** The pressure of all devices of a monitor together. */
typedef struct ferrum_monitor_pressure {
    uint32_t struct_size;
    /** The worst level of any device; LOW when there is none. */
    ferrum_pressure_level level;
    /** The level of all known bytes together, without hysteresis. */
    ferrum_pressure_level weighted_level;
    /** How many devices there are. */
    uint32_t devices;
    /** Devices of unknown capacity, or that could not be asked. */
    uint32_t unknown_devices;
    uint32_t reserved;
    /** Of the known devices; a sum above UINT64_MAX is that. */
    uint64_t total_bytes;
    /** total - free of them. */
    uint64_t used_bytes;
} ferrum_monitor_pressure;

/* clang-format off */
#define FERRUM_MONITOR_PRESSURE_INIT {(uint32_t)sizeof(ferrum_monitor_pressure), 0, 0, 0, 0, 0, 0, 0}
/* clang-format on */

/**
 * Gives the pressure of all devices together.
 *
 * @param max_age_ns  as for ferrum_device_get_recent_memory_info, for the system, too.
 */
FERRUM_API ferrum_status
ferrum_monitor_get_pressure(ferrum_monitor monitor, uint64_t max_age_ns,
                            ferrum_monitor_pressure *pressure_out);

/**
 * Gives the level of every device.
 *
 * @param levels_out  room for capacity of them; may be NULL when that is 0.
 * @param count_out   how many there are.
 * @return FERRUM_ERROR_BUFFER_TOO_SMALL, with *count_out set, when capacity is not
 *         0 and they do not fit.
 */
FERRUM_API ferrum_status ferrum_monitor_get_levels(
    ferrum_monitor monitor, uint64_t max_age_ns,
    ferrum_device_level *levels_out, size_t capacity, size_t *count_out);

/**
 * All that a monitor knows, as JSON:
 *
 *   {"profile": "standard", "pressure": {"level": "low", "weighted_level": "low",
 *     "devices": 1, "unknown": 0, "total_bytes": 0, "used_bytes": 0},
 *    "devices": [{"id": "cpu:0", "managers": 1, "level": "low",
 *      "level_by_bytes": "low", "level_by_system": "low", "memory": {...},
 *      "error": null, "system": {
 *        "machine": {"some": {"avg10_hundredths": 0, "avg60_hundredths": 0,
 *          "avg300_hundredths": 0, "total_ns": 0}, "full": {...},
 *          "reason": null},
 *        "group": {"some": null, "full": null, "reason": {
 *          "status": "FERRUM_ERROR_UNSUPPORTED", "message": "..."}},
 *        "events": {"counts": {"low": 0, "high": 0, "max": 0, "oom": 0,
 *          "oom_kill": 0}, "reason": null},
 *        "high": {"bytes": null, "reason": null}}}]}
 *
 * memory is as in ferrum_snapshot_json, and null when nothing could be had yet;
 * error has status and message when the device could not be asked just now. system
 * is null for a device without one. hundredths are of a percent of the time; bytes
 * of high is null for no limit. Fields may be added.
 *
 * @param buffer,capacity,length_out  as for ferrum_backends_json.
 */
FERRUM_API ferrum_status ferrum_monitor_info_json(ferrum_monitor monitor,
                                                  uint64_t max_age_ns,
                                                  char *buffer, size_t capacity,
                                                  size_t *length_out);

/** What a collection did on one device: the sum over its managers, but for the
 *  fragmentation, which is the worst of them. */
typedef struct ferrum_collected {
    /** The device. */
    ferrum_device device;
    /** FERRUM_OK, or the first failure; the rest was done all the same. */
    ferrum_status status;
    /** How many managers were collected. */
    uint32_t managers;
    /** Fragmentation ratio before. */
    float fragmentation_before;
    /** Fragmentation ratio after. */
    float fragmentation_after;
    /** Bytes given back to the system. */
    uint64_t memory_freed_bytes;
    /** Blocks, as a count. */
    uint64_t blocks_moved;
    /** Blocks, as a count. */
    uint64_t blocks_skipped;
    /** Time taken. */
    uint64_t time_taken_ns;
    uint64_t reserved[4];
} ferrum_collected;

/**
 * Defragments every watched manager, one after another, as ferrum_manager_defragment. One
 * that is destroyed meanwhile is left out.
 *
 * @param collected_out  room for capacity devices.
 * @param count_out      how many devices there are.
 * @return FERRUM_ERROR_BUFFER_TOO_SMALL, with *count_out set and nothing done, when
 *         more devices are watched than there is room for.
 */
FERRUM_API ferrum_status ferrum_monitor_collect(ferrum_monitor monitor,
                                                ferrum_collected *collected_out,
                                                size_t capacity,
                                                size_t *count_out);

/** A placement strategy: chooses the device for a request. */
typedef struct ferrum_placement {
    uint64_t id; /**< 0 is no strategy */
} ferrum_placement;

/** The request must not wait: devices that would have to give up memory first do
 *  not count. */
#define FERRUM_PLACEMENT_CRITICAL UINT32_C(1)
/** The first preferred device that can serve the request is chosen, whatever else
 *  speaks for or against it. Otherwise preference adds to the score. */
#define FERRUM_PLACEMENT_STRICT UINT32_C(2)
/** Devices that the request would bring to the level CRITICAL do not count.
 *  Otherwise they come last. */
#define FERRUM_PLACEMENT_REFUSE_CRITICAL UINT32_C(4)

/** How many devices a request may name, in each of its lists. */
#define FERRUM_PLACEMENT_DEVICES_MAX 1024

/** What a device is looked for. All zero but the size asks for nothing more. */
typedef struct ferrum_placement_request {
    uint32_t struct_size;
    /** FERRUM_MEMORY_GENERAL to FERRUM_MEMORY_MANAGED. */
    int32_t memory_type;
    /** Not 0. */
    uint64_t size_bytes;
    /** A power of two up to FERRUM_ALIGNMENT_MAX; 0: any. */
    uint64_t alignment_bytes;
    /** How long the memory is expected to be used; 0: not known. From 60 s on a
     *  device that would come to HIGH is treated as one that would come to CRITICAL. */
    uint64_t expected_lifetime_ns;
    /** Devices in the order of preference; may be NULL when there are none. */
    const ferrum_device *preferred;
    /** The candidates, in the order in which equal ones are taken; NULL: all open
     *  devices, by id. */
    const ferrum_device *devices;
    /** How many preferred there are. */
    uint32_t preferred_count;
    /** How many candidates there are. */
    uint32_t device_count;
    /** FERRUM_PLACEMENT_* flags. */
    uint32_t flags;
    /** What levels are by. */
    ferrum_pressure_profile profile;
} ferrum_placement_request;

/* clang-format off */
#define FERRUM_PLACEMENT_REQUEST_INIT {(uint32_t)sizeof(ferrum_placement_request), 0, 0, 0, 0, NULL, NULL, 0, 0, 0, 0}
/* clang-format on */

/** Why a device is or is not chosen. From 16 on it cannot serve the request. */
typedef int32_t ferrum_placement_reason;
/** It is the chosen one. */
#define FERRUM_PLACEMENT_CHOSEN 0
/** Another one has a better score, or the same and an earlier place. */
#define FERRUM_PLACEMENT_OUTSCORED 1
/** Another one can serve it with less trouble. */
#define FERRUM_PLACEMENT_LOWER_TIER 2
/** The order of preference has another one. */
#define FERRUM_PLACEMENT_NOT_PREFERRED 3
/** Round robin is at another one. */
#define FERRUM_PLACEMENT_NOT_ITS_TURN 4
/** The caller's own strategy took another one, or none. */
#define FERRUM_PLACEMENT_NOT_TAKEN 5
/** Nothing is known of the device. */
#define FERRUM_PLACEMENT_NO_INFORMATION 16
/** Less is free than the request needs. */
#define FERRUM_PLACEMENT_TOO_SMALL 17
/** It has no memory of the type. */
#define FERRUM_PLACEMENT_WRONG_MEMORY_TYPE 18
/** It would have to give up memory first, and the request is critical. */
#define FERRUM_PLACEMENT_NEEDS_EVICTION 19
/** It would come to FERRUM_PRESSURE_CRITICAL, and the request refuses that. */
#define FERRUM_PLACEMENT_WOULD_BE_CRITICAL 20
/** The original formula has no number for it. */
#define FERRUM_PLACEMENT_UNSCORED 21

/** A candidate as weighed for a request. */
typedef struct ferrum_placement_option {
    /** The candidate. */
    ferrum_device device;
    /** Size and worst padding; UINT64_MAX when that overflows. */
    uint64_t needed_bytes;
    /** Its capacity; 0 means unknown. */
    uint64_t total_bytes;
    /** What is used of it. */
    uint64_t used_bytes;
    /** What can still be handed out. */
    uint64_t free_bytes;
    /** Longest run that can be handed out as things are. */
    uint64_t largest_free_bytes;
    /** 0, or why it cannot serve the request. */
    ferrum_placement_reason reason;
    /** 0 for no trouble, 1 more when the request would bring the device to
     *  CRITICAL, 2 more when it would have to give up memory first. */
    int32_t tier;
    /** Place among the preferred devices, from 1 on; 0: none. */
    uint32_t preferred_rank;
    /** The level that the device would come to. */
    ferrum_pressure_level level_after;
    uint64_t reserved[2];
} ferrum_placement_option;

/**
 * A strategy of the caller's. Runs on the thread of the selection with no lock
 * held, on several at once if they select; it may call the library but
 * ferrum_shutdown.
 *
 * @param request     of the selection; devices is NULL. Valid during the call only.
 * @param options     count candidates, also those that cannot serve the request.
 * @param chosen_out  is -1, for none, until the callback sets the index of its
 *                    choice.
 * @return FERRUM_OK, or an error that the selection then fails with; its message
 *         names the strategy.
 */
typedef ferrum_status (*ferrum_placement_fn)(
    const ferrum_placement_request *request,
    const ferrum_placement_option *options, size_t count, int64_t *chosen_out,
    void *user_data);

/**
 * Makes a built-in strategy.
 *
 * Every strategy but the original one first leaves out devices that cannot serve
 * the request: of which nothing is known, that lack the memory type, that have less
 * free than the size and, where the request asks for more alignment than every
 * block has, its worst padding; and what the flags refuse. Of the rest it keeps
 * those of the best tier, and then chooses; of equal ones the first.
 *
 *   "best_fit"     the largest 1 - waste - |use - 0.5| * 0.5 + 0.2 / rank, with
 *                  waste = (free - size) / total, use = used / total, and rank the
 *                  place among the preferred devices (without one the last term is
 *                  0), in single precision; unknown capacity is no waste, no use
 *   "best_fit_original"  the same formula over every device with enough free bytes,
 *                  with its known defects: it fills a device up to the last byte
 *                  and never takes one of unknown capacity
 *   "spread"       the largest free share after the request, in millionths, plus
 *                  200000 / rank
 *   "pack"         the smallest free share, with the same bonus
 *   "round_robin"  the next one in the list; among the preferred ones, if any of
 *                  them can
 *
 * @return FERRUM_ERROR_NOT_FOUND for an unknown name (the message lists them).
 */
FERRUM_API ferrum_status
ferrum_placement_create(const char *strategy, ferrum_placement *placement_out);

/**
 * Makes a strategy of the caller's.
 *
 * @param name       1 to 63 bytes, no built-in one.
 * @param user_data  handed to the callback; must stay valid until the strategy is
 *                   destroyed.
 */
FERRUM_API ferrum_status
ferrum_placement_create_own(const char *name, ferrum_placement_fn callback,
                            void *user_data, ferrum_placement *placement_out);

/** Destroys a strategy. Waits for running calls of a callback, unless it is called
 *  from inside one. */
FERRUM_API ferrum_status ferrum_placement_destroy(ferrum_placement placement);

/**
 * Gives the name of a strategy as text.
 *
 * @param buffer,capacity,length_out  as for ferrum_backends_json.
 */
FERRUM_API ferrum_status ferrum_placement_get_name(ferrum_placement placement,
                                                   char *buffer,
                                                   size_t capacity,
                                                   size_t *length_out);

/**
 * Chooses a device for a request, by readings no older than 0.1 s.
 *
 * @return FERRUM_ERROR_NOT_FOUND when no device can serve it; the message has the
 *         reason for each.
 */
FERRUM_API ferrum_status ferrum_placement_select(
    ferrum_placement placement, const ferrum_placement_request *request,
    ferrum_device *device_out);

/**
 * Says which device ferrum_placement_select would choose now, and why each is or
 * is not chosen, as JSON:
 *
 *   {"strategy": "best_fit", "chosen": "cpu:0", "devices": [{"id": "cpu:0",
 *     "chosen": true, "reason": "chosen", "score": 0.51, "tier": 0,
 *     "preferred_rank": 0, "needed_bytes": 0, "total_bytes": 0, "used_bytes": 0,
 *     "free_bytes": 0, "largest_free_bytes": 0, "level_after": "low"}]}
 *
 * chosen is null when none can serve the request, score where there is none; reason
 * is the constant's name in lower case. Takes no turn of round robin; a callback is
 * called.
 *
 * @param buffer,capacity,length_out  as for ferrum_backends_json.
 */
FERRUM_API ferrum_status ferrum_placement_explain_json(
    ferrum_placement placement, const ferrum_placement_request *request,
    char *buffer, size_t capacity, size_t *length_out);

/* ===================================================================== */
/* 15. Estimation: does it fit?                                          */
/* ===================================================================== */
/*
 * What a model takes, before anything of it is loaded. No function of this section
 * needs ferrum_init, asks a device or keeps anything. Amounts are whole bytes with
 * checked arithmetic: one beyond 64 bits is FERRUM_ERROR_OVERFLOW and is named.
 *
 * The first three are the short formulas that take a model's numbers one by one; they
 * know a transformer with gated MLPs and nothing else. The other two read what a model
 * is published as, and are what `ferrum-mem fit` answers with; docs/estimate.md says
 * what is counted and how.
 */

/** The numbers of a model, for the short formulas. */
typedef struct ferrum_model_shape {
    uint32_t struct_size;
    uint32_t reserved;
    /** Width of the model. */
    uint64_t hidden_size;
    /** Width of the MLPs. */
    uint64_t intermediate_size;
    /** Layers. */
    uint64_t num_layers;
    /** Tokens of the vocabulary. */
    uint64_t vocab_size;
    /** Heads of attention, not 0. */
    uint64_t num_heads;
    /** Heads of keys and values. */
    uint64_t num_kv_heads;
    /** Tokens of the sequence, for ferrum_estimate_inference_memory only. */
    uint64_t max_seq_len;
    /** Size of one element. */
    uint64_t dtype_bytes;
} ferrum_model_shape;

/* clang-format off */
#define FERRUM_MODEL_SHAPE_INIT {(uint32_t)sizeof(ferrum_model_shape), 0, 0, 0, 0, 0, 0, 0, 0, 0}
/* clang-format on */

/** The numbers of a KV cache, for the short formula. */
typedef struct ferrum_kv_cache_shape {
    uint32_t struct_size;
    uint32_t reserved;
    /** Layers. */
    uint64_t num_layers;
    /** Heads of keys and values. */
    uint64_t num_kv_heads;
    /** Elements of a head. */
    uint64_t head_dim;
    /** Tokens of the sequence. */
    uint64_t max_seq_len;
    /** Size of one element. */
    uint64_t dtype_bytes;
} ferrum_kv_cache_shape;

/* clang-format off */
#define FERRUM_KV_CACHE_SHAPE_INIT {(uint32_t)sizeof(ferrum_kv_cache_shape), 0, 0, 0, 0, 0, 0}
/* clang-format on */

/** What ferrum_estimate_inference_memory found. */
typedef struct ferrum_inference_estimate {
    uint32_t struct_size;
    uint32_t reserved;
    /** The weights. */
    uint64_t model_bytes;
    /** Keys and values of the sequence. */
    uint64_t kv_cache_bytes;
    /** The activations of one token. */
    uint64_t activation_bytes;
    /** The sum of the three. */
    uint64_t total_bytes;
} ferrum_inference_estimate;

/* clang-format off */
#define FERRUM_INFERENCE_ESTIMATE_INIT {(uint32_t)sizeof(ferrum_inference_estimate), 0, 0, 0, 0, 0}
/* clang-format on */

/**
 * Bytes of the weights. With h = hidden_size, i = intermediate_size, n heads and kv
 * heads of keys and values, each layer has 2h^2 + 2h(kv (h/n)) + 3hi + 2h elements, h/n
 * rounded down, and the rest 2 vocab_size h + h.
 *
 * @return FERRUM_ERROR_INVALID_ARGUMENT when num_heads is 0; FERRUM_ERROR_OVERFLOW.
 */
FERRUM_API ferrum_status ferrum_estimate_model_memory(
    const ferrum_model_shape *shape, uint64_t *bytes_out);

/**
 * Bytes of the keys and values of one sequence: 2 x num_layers x max_seq_len x
 * num_kv_heads x head_dim x dtype_bytes.
 *
 * @return FERRUM_ERROR_OVERFLOW.
 */
FERRUM_API ferrum_status ferrum_estimate_kv_cache_memory(
    const ferrum_kv_cache_shape *shape, uint64_t *bytes_out);

/**
 * Both, with a head of h/n elements, and the activations of one token, 2 x dtype_bytes
 * x (h + 2i).
 *
 * @return as ferrum_estimate_model_memory.
 */
FERRUM_API ferrum_status ferrum_estimate_inference_memory(
    const ferrum_model_shape *shape, ferrum_inference_estimate *estimate_out);

/** Keep the scores of each token with all of its sequence, as attention does that is
 *  not fused. */
#define FERRUM_ESTIMATE_EAGER_ATTENTION 1u
/** Make logits of every token, not of the last of each sequence. */
#define FERRUM_ESTIMATE_ALL_LOGITS 2u

/** How a model is to be served. */
typedef struct ferrum_estimate_request {
    uint32_t struct_size;
    /** FERRUM_ESTIMATE_ bits. */
    uint32_t flags;
    /** Tokens of one sequence, prompt and answer; 0: what the model was made for. */
    uint64_t context;
    /** Sequences at a time, at least 1. */
    uint64_t batch;
    /** Devices that the model is spread over, 1 to 65536; the estimate is of that which
     *  holds most. */
    uint64_t tensor_parallel;
    /** Tokens of prompts that are computed at once; 0: whole prompts. */
    uint64_t prefill_tokens;
    /** The allocator's share, in thousandths of the rest, at most 1000. */
    uint64_t overhead_permille;
    /** Free memory that it is to fit into; 0: the answer is left out. */
    uint64_t free_bytes;
    /** Type of the KV cache: f32, f16, bf16, f8, int8, int4; NULL or empty: that of the
     *  activations. */
    const char *kv_dtype;
    /** Type that weights are converted to; NULL or empty: as they are stored. */
    const char *weight_dtype;
} ferrum_estimate_request;

/* clang-format off */
#define FERRUM_ESTIMATE_REQUEST_INIT {(uint32_t)sizeof(ferrum_estimate_request), 0, 0, 1, 1, 2048, 16, 0, NULL, NULL}
/* clang-format on */

/**
 * What serving a model takes, as JSON with the fields of docs/estimate.md: those of
 * `ferrum-mem fit --json` but device and devices, and without free_bytes also but the
 * answer (fits, free_bytes, left_bytes, missing_bytes, max_context, max_batch and what
 * they are limited by). The longest context and the largest batch are exact.
 *
 * Only headers of safetensors files are read, never a tensor. What is read is not
 * trusted: it is bounded, and errors name the file and the field.
 *
 * @param path     a folder with a config.json, safetensors files, or both; a
 *                 safetensors file or the index of several; or a configuration.
 *                 Shorter than FERRUM_PATH_MAX.
 * @param request  how it is to be served, or NULL for FERRUM_ESTIMATE_REQUEST_INIT.
 * @param buffer,capacity,length_out  as for ferrum_backends_json.
 * @return FERRUM_ERROR_NOT_FOUND, FERRUM_ERROR_PERMISSION_DENIED and FERRUM_ERROR_IO
 *         for the file; FERRUM_ERROR_INVALID_FORMAT for its content;
 *         FERRUM_ERROR_INVALID_ARGUMENT for the request, also for a context beyond a
 *         model's table of positions; FERRUM_ERROR_OVERFLOW.
 */
FERRUM_API ferrum_status ferrum_estimate_file_json(
    const char *path, const ferrum_estimate_request *request, char *buffer,
    size_t capacity, size_t *length_out);

/**
 * As ferrum_estimate_file_json, of the text of a config.json.
 *
 * @param config_text   UTF-8, needs no NUL.
 * @param config_bytes  its length, at most 16 MiB.
 */
FERRUM_API ferrum_status
ferrum_estimate_config_json(const char *config_text, size_t config_bytes,
                            const ferrum_estimate_request *request,
                            char *buffer, size_t capacity, size_t *length_out);

/* ===================================================================== */
/* 16. Unified pools: buffers that fall back to the host                 */
/* ===================================================================== */
/*
 * One small interface over the memory of a device, whatever backend it is of. A gpu
 * manager makes buffers on its device out of buckets by powers of two, within the
 * bounds of a memory config. Where the config allows it, a buffer that the device has
 * no room for is made on a host device, and goes to the device once there is room. A
 * tracker knows buffers by id, tag and age; a generic pool keeps buffers of the
 * caller's own. docs/unified.md explains all of it.
 *
 * What moves, pins, takes or ends a buffer, copies to or from it, or destroys a gpu
 * manager may wait for a stream, and is FERRUM_ERROR_INVALID_STATE in a host function.
 */

/** A fallback manager: memory of a device, with a second place to go to. */
typedef struct ferrum_fallback_manager {
    uint64_t id; /**< 0 is no manager */
} ferrum_fallback_manager;

/** A buffer of a fallback manager, on its device or on its host. */
typedef struct ferrum_fallback_buffer {
    uint64_t id; /**< 0 is no buffer */
} ferrum_fallback_buffer;

/** A tracker: what is known of live buffers. */
typedef struct ferrum_tracker {
    uint64_t id; /**< 0 is no tracker */
} ferrum_tracker;

/** A pool of free buffers of the caller's own. */
typedef struct ferrum_generic_pool {
    uint64_t id; /**< 0 is no pool */
} ferrum_generic_pool;

/** Buffers that the device has no room for are made on the host. */
#define FERRUM_MEMORY_CPU_FALLBACK UINT32_C(1)
/** Every buffer in use is kept in a tracker. */
#define FERRUM_MEMORY_TRACK_ALLOCATIONS UINT32_C(2)
/** The pool is made with a free buffer of each of pre_allocate_sizes, or not at
 *  all. */
#define FERRUM_MEMORY_PRE_ALLOCATE UINT32_C(4)

/** How many sizes may be allocated ahead. */
#define FERRUM_PRE_ALLOCATE_MAX 4096

/** Settings of a fallback manager or a generic pool. */
typedef struct ferrum_memory_config {
    uint32_t struct_size;
    /** FERRUM_MEMORY_* flags. */
    uint32_t flags;
    /** The share of the device's capacity that may be held, 0.1 to 1, decided by
     *  millionths; no bound where the capacity is unknown. */
    double gpu_memory_fraction;
    /** What stays free on the device: no more is taken from it when less would be
     *  left. */
    uint64_t min_free_bytes;
    /** Free buffers that a bucket keeps, as a count; 0: none. */
    uint64_t max_pooled_per_bucket;
    /** Free buffers of all buckets together; 0: no bound. */
    uint64_t max_pooled_bytes;
    /** pre_allocate_count sizes; may be NULL when there are none. */
    const uint64_t *pre_allocate_sizes;
    /** How many there are. */
    uint64_t pre_allocate_count;
} ferrum_memory_config;

/* clang-format off */
#define FERRUM_MEMORY_CONFIG_INIT {(uint32_t)sizeof(ferrum_memory_config), FERRUM_MEMORY_CPU_FALLBACK, 0.9, UINT64_C(536870912), 8, 0, NULL, 0}
/* clang-format on */

/** Settings that are ready made: fraction, fallback, min_free_bytes, per bucket. */
typedef int32_t ferrum_memory_preset;
/** 0.9, fallback, 512 MiB, 8: FERRUM_MEMORY_CONFIG_INIT. */
#define FERRUM_MEMORY_PRESET_DEFAULT 0
/** 0.95, fallback, 256 MiB, 4: the most memory. */
#define FERRUM_MEMORY_PRESET_INFERENCE 1
/** 0.8, no fallback, 1 GiB, 16: says that there is no room rather than go slow. */
#define FERRUM_MEMORY_PRESET_TRAINING 2
/** 0.7, fallback, 128 MiB, 2: for devices with little memory. */
#define FERRUM_MEMORY_PRESET_CONSTRAINED 3

/** Gives ready-made settings. Needs no ferrum_init. */
FERRUM_API ferrum_status ferrum_memory_config_preset(
    ferrum_memory_preset preset, ferrum_memory_config *config_out);

/**
 * Says whether settings make sense. Needs no ferrum_init.
 *
 * @return FERRUM_ERROR_INVALID_CONFIG with the setting and its value, also for a
 *         size to allocate ahead that its bucket has no place for.
 */
FERRUM_API ferrum_status
ferrum_memory_config_check(const ferrum_memory_config *config);

/** Counters of a fallback manager or a generic pool. Nothing but its own buffers is in
 *  them: the device may be full while the pool is not. */
typedef struct ferrum_memory_stats {
    uint32_t struct_size;
    uint32_t reserved;
    /** Buffers had and not given back: those in use and those pooled. */
    uint64_t total_allocated_bytes;
    /** Buffers in use. */
    uint64_t in_use_bytes;
    /** Free buffers in the buckets. */
    uint64_t pooled_bytes;
    /** The highest value of in_use_bytes. */
    uint64_t peak_bytes;
    /** Requests that were served from the buckets, as a count. */
    uint64_t pool_hits;
    /** Requests that were not, as a count. */
    uint64_t pool_misses;
    /** Buffers that were made on the host for want of room, as a count. */
    uint64_t cpu_fallbacks;
    /** Buffers in use, tracked or not, as a count. */
    uint64_t active_buffers;
} ferrum_memory_stats;

/* clang-format off */
#define FERRUM_MEMORY_STATS_INIT {(uint32_t)sizeof(ferrum_memory_stats), 0, 0, 0, 0, 0, 0, 0, 0, 0}
/* clang-format on */

/** Ratios of a ferrum_memory_stats. They are of the pool, not of the device. */
typedef struct ferrum_memory_ratios {
    uint32_t struct_size;
    uint32_t reserved;
    /** hits / (hits + misses); 0 when nothing was asked for. */
    double hit_rate;
    /** in_use / total_allocated; 0 when that is 0. */
    double utilization;
    /** The same, but 1 when that is 0: nothing is wasted. */
    double efficiency;
} ferrum_memory_ratios;

/* clang-format off */
#define FERRUM_MEMORY_RATIOS_INIT {(uint32_t)sizeof(ferrum_memory_ratios), 0, 0, 0, 0}
/* clang-format on */

/** Reckons the ratios of counters. Needs no ferrum_init. */
FERRUM_API ferrum_status ferrum_memory_stats_ratios(
    const ferrum_memory_stats *stats, ferrum_memory_ratios *ratios_out);

/** Adds the counters of two pools; what does not fit 64 bits is UINT64_MAX. The peak
 *  is the larger of the two: a lower bound of that of both. Needs no ferrum_init. */
FERRUM_API ferrum_status ferrum_memory_stats_merge(
    const ferrum_memory_stats *stats, const ferrum_memory_stats *other,
    ferrum_memory_stats *merged_out);

/**
 * Counters as one line for people, sizes in MB of 2^20 bytes. Needs no ferrum_init.
 *
 * @param buffer,capacity,length_out  as for ferrum_backends_json.
 */
FERRUM_API ferrum_status
ferrum_memory_stats_text(const ferrum_memory_stats *stats, char *buffer,
                         size_t capacity, size_t *length_out);

/** Which side a buffer is on. */
typedef int32_t ferrum_buffer_location;
/** On the device. */
#define FERRUM_LOCATION_GPU 0
/** On the host. */
#define FERRUM_LOCATION_CPU 1

/** Gives an id that no buffer of the process has had. Ids grow, from 1 on; 0 is none.
 *  Needs no ferrum_init. */
FERRUM_API ferrum_status ferrum_buffer_id_new(uint64_t *id_out);

/**
 * The form of an id in messages: "Buffer#7". Needs no ferrum_init.
 *
 * @param buffer,capacity,length_out  as for ferrum_backends_json.
 */
FERRUM_API ferrum_status ferrum_buffer_id_text(uint64_t buffer_id, char *buffer,
                                               size_t capacity,
                                               size_t *length_out);

/** What a tracker knows of a buffer. */
typedef struct ferrum_buffer_metadata {
    /** Not 0. */
    uint64_t buffer_id;
    /** Size of the buffer. */
    uint64_t size_bytes;
    /** Elements, as a count. */
    uint64_t num_elements;
    /** The time since it was made. */
    uint64_t age_ns;
    /** Where it is; {0}: on no device that is known. */
    ferrum_device device;
    /** Which side it is on. */
    ferrum_buffer_location location;
    uint32_t reserved;
    /** Text with its NUL; empty: none. */
    char tag[64];
} ferrum_buffer_metadata;

/** Makes a tracker that knows nothing. It belongs to no device. */
FERRUM_API ferrum_status ferrum_tracker_create(ferrum_tracker *tracker_out);

/**
 * Destroys a tracker.
 *
 * @return FERRUM_ERROR_INVALID_STATE for one of a manager or a pool, which goes with
 *         that. Neither can the caller track, untrack or clear in it.
 */
FERRUM_API ferrum_status ferrum_tracker_destroy(ferrum_tracker tracker);

/**
 * Adds a buffer, made age_ns ago. One whose id is known replaces that.
 *
 * @return FERRUM_ERROR_INVALID_ARGUMENT for id 0, a location that is none, a tag
 *         without a NUL or that is not UTF-8; FERRUM_ERROR_OVERFLOW when the sum of
 *         all sizes does not fit 64 bits.
 */
FERRUM_API ferrum_status ferrum_tracker_track(
    ferrum_tracker tracker, const ferrum_buffer_metadata *metadata);

/**
 * Removes a buffer.
 *
 * @param metadata_out  what was known of it; may be NULL.
 * @return FERRUM_ERROR_NOT_FOUND when it is not known.
 */
FERRUM_API ferrum_status
ferrum_tracker_untrack(ferrum_tracker tracker, uint64_t buffer_id,
                       ferrum_buffer_metadata *metadata_out);

/** Gives what is known of a buffer. FERRUM_ERROR_NOT_FOUND: nothing. */
FERRUM_API ferrum_status
ferrum_tracker_get(ferrum_tracker tracker, uint64_t buffer_id,
                   ferrum_buffer_metadata *metadata_out);

/**
 * Lists all buffers, the oldest first.
 *
 * @param metadata_out  room for capacity of them; may be NULL when that is 0.
 * @param count_out     how many there are.
 * @return FERRUM_ERROR_BUFFER_TOO_SMALL, with *count_out set, when capacity is not 0
 *         and they do not fit.
 */
FERRUM_API ferrum_status ferrum_tracker_get_all(
    ferrum_tracker tracker, ferrum_buffer_metadata *metadata_out,
    size_t capacity, size_t *count_out);

/** Lists the buffers that are strictly older than age_ns, as ferrum_tracker_get_all:
 *  what may have been forgotten. */
FERRUM_API ferrum_status ferrum_tracker_find_old(
    ferrum_tracker tracker, uint64_t age_ns,
    ferrum_buffer_metadata *metadata_out, size_t capacity, size_t *count_out);

/** Numbers of a tracker. */
typedef struct ferrum_tracker_totals {
    uint32_t struct_size;
    uint32_t reserved;
    /** Buffers, as a count. */
    uint64_t count;
    /** The sum of their sizes. */
    uint64_t total_bytes;
    /** The highest value of total_bytes. */
    uint64_t peak_bytes;
} ferrum_tracker_totals;

/* clang-format off */
#define FERRUM_TRACKER_TOTALS_INIT {(uint32_t)sizeof(ferrum_tracker_totals), 0, 0, 0, 0}
/* clang-format on */

/** Gives the numbers of a tracker. */
FERRUM_API ferrum_status ferrum_tracker_get_totals(
    ferrum_tracker tracker, ferrum_tracker_totals *totals_out);

/** Forgets all buffers; the peak stays. */
FERRUM_API ferrum_status ferrum_tracker_clear(ferrum_tracker tracker);

/** What a buffer of a generic pool is taken for; for its tracker only. */
typedef struct ferrum_buffer_use {
    uint32_t struct_size;
    /** Which side it is on. */
    ferrum_buffer_location location;
    /** Elements, as a count. */
    uint64_t num_elements;
    /** At most 63 bytes; NULL: none. */
    const char *tag;
} ferrum_buffer_use;

/* clang-format off */
#define FERRUM_BUFFER_USE_INIT {(uint32_t)sizeof(ferrum_buffer_use), 0, 0, NULL}
/* clang-format on */

/** A buffer of a generic pool. */
typedef struct ferrum_buffer_lease {
    /** The caller's word for it: a pointer, a handle, an index. */
    uint64_t buffer;
    /** Its size, which may be more than was asked for. */
    uint64_t size_bytes;
    /** 0 unless the pool tracks. */
    uint64_t buffer_id;
} ferrum_buffer_lease;

/**
 * Makes a pool of free buffers of any kind. It makes and ends none itself: the caller
 * does, and gives the pool a word for each. A buffer is filed under the power of two
 * at or above its size; it serves no request that is larger than itself, and none
 * that is less than a quarter of it. Of the settings those of the device mean nothing
 * to it. It belongs to no device.
 *
 * @param config  settings, or NULL for FERRUM_MEMORY_CONFIG_INIT.
 */
FERRUM_API ferrum_status ferrum_generic_pool_create(
    const ferrum_memory_config *config, ferrum_generic_pool *pool_out);

/**
 * Destroys a pool. Its free buffers are not ended: take them out first.
 *
 * @param flags  0 or FERRUM_FORCE.
 * @return FERRUM_ERROR_BUSY, and nothing has changed, while it has buffers or
 *         buffers are in use, unless forced.
 */
FERRUM_API ferrum_status ferrum_generic_pool_destroy(ferrum_generic_pool pool,
                                                     uint32_t flags);

/**
 * Accounts for a buffer that the caller has made, for want of a free one, and uses.
 *
 * @param use     what for, or NULL for FERRUM_BUFFER_USE_INIT.
 * @param id_out  0 unless the pool tracks.
 * @return FERRUM_ERROR_INVALID_SIZE for 0; FERRUM_ERROR_OVERFLOW.
 */
FERRUM_API ferrum_status ferrum_generic_pool_record_allocation(
    ferrum_generic_pool pool, uint64_t size_bytes, const ferrum_buffer_use *use,
    uint64_t *id_out);

/**
 * Takes the smallest free buffer that will do.
 *
 * @param use        as for ferrum_generic_pool_record_allocation.
 * @param lease_out  the buffer, all zero without one.
 * @param found_out  1, or 0 when there is none: the caller makes one.
 * @return FERRUM_ERROR_INVALID_SIZE for 0; FERRUM_ERROR_OVERFLOW for a size that has
 *         no power of two above it.
 */
FERRUM_API ferrum_status ferrum_generic_pool_try_get(
    ferrum_generic_pool pool, uint64_t min_bytes, const ferrum_buffer_use *use,
    ferrum_buffer_lease *lease_out, uint32_t *found_out);

/**
 * Ends the use of a buffer, given with the size and id that it was recorded or taken
 * with.
 *
 * @param kept_out  1; or 0 when its bucket is full: the buffer is the pool's no more,
 *                  and the caller's to end.
 * @return FERRUM_ERROR_INVALID_SIZE for 0 and for more than is in use;
 *         FERRUM_ERROR_INVALID_ARGUMENT for an id that is not in use or whose size is
 *         another.
 */
FERRUM_API ferrum_status ferrum_generic_pool_return(
    ferrum_generic_pool pool, const ferrum_buffer_lease *lease,
    uint32_t *kept_out);

/** Files a buffer that nobody has used yet. FERRUM_ERROR_RESOURCE_EXHAUSTED: its
 *  bucket is full. */
FERRUM_API ferrum_status ferrum_generic_pool_add_free(ferrum_generic_pool pool,
                                                      uint64_t buffer,
                                                      uint64_t size_bytes);

/**
 * Takes free buffers out of the pool, for the caller to end: all of them when capacity
 * is at least ferrum_generic_pool_get_pooled_count.
 *
 * @param leases_out  room for capacity of them; may be NULL when that is 0.
 * @param count_out   how many were taken.
 */
FERRUM_API ferrum_status ferrum_generic_pool_drain(
    ferrum_generic_pool pool, ferrum_buffer_lease *leases_out, size_t capacity,
    size_t *count_out);

/** Gives the number of free buffers. */
FERRUM_API ferrum_status ferrum_generic_pool_get_pooled_count(
    ferrum_generic_pool pool, uint64_t *count_out);

/** Gives the counters of a pool. */
FERRUM_API ferrum_status ferrum_generic_pool_get_stats(
    ferrum_generic_pool pool, ferrum_memory_stats *stats_out);

/** Counts a request that the caller has served on the host. */
FERRUM_API ferrum_status
ferrum_generic_pool_record_cpu_fallback(ferrum_generic_pool pool);

/** Gives the tracker of a pool, which is only read. FERRUM_ERROR_INVALID_STATE: it
 *  does not track. */
FERRUM_API ferrum_status ferrum_generic_pool_get_tracker(
    ferrum_generic_pool pool, ferrum_tracker *tracker_out);

/**
 * Makes a fallback manager on a device, of any backend.
 *
 * @param host    where buffers go that the device has no room for, another device
 *                that is FERRUM_CAPABILITY_HOST_ADDRESSABLE; {0} only with settings
 *                that forbid to fall back. Neither device can be closed before the
 *                manager is destroyed, unless forced.
 * @param config  settings, or NULL for FERRUM_MEMORY_CONFIG_INIT.
 * @return FERRUM_ERROR_INVALID_CONFIG, also without a host that is needed;
 *         FERRUM_ERROR_INVALID_ARGUMENT for a host that is the device itself or that
 *         the process cannot address; FERRUM_ERROR_OUT_OF_MEMORY for what is
 *         allocated ahead.
 */
FERRUM_API ferrum_status ferrum_fallback_manager_create(
    ferrum_device device, ferrum_device host,
    const ferrum_memory_config *config, ferrum_fallback_manager *manager_out);

/**
 * Destroys a fallback manager and gives its memory back, on both devices.
 *
 * @param flags  0 or FERRUM_FORCE, which ends live buffers, pinned or not.
 * @return FERRUM_ERROR_BUSY, and nothing has changed, while buffers are live or
 *         storage is taken, unless forced.
 */
FERRUM_API ferrum_status ferrum_fallback_manager_destroy(
    ferrum_fallback_manager manager, uint32_t flags);

/**
 * Gives the name of the device's backend, such as "cpu" or "cuda", as text.
 *
 * @param buffer,capacity,length_out  as for ferrum_backends_json.
 */
FERRUM_API ferrum_status ferrum_fallback_manager_get_backend_name(
    ferrum_fallback_manager manager, char *buffer, size_t capacity,
    size_t *length_out);

/** Gives the counters of a fallback manager: of the buffers on the device, but for
 *  active_buffers, which is of both sides. Takes no lock. */
FERRUM_API ferrum_status ferrum_fallback_manager_get_stats(
    ferrum_fallback_manager manager, ferrum_memory_stats *stats_out);

/** What of a fallback manager is or was on the host. */
typedef struct ferrum_fallback_stats {
    uint32_t struct_size;
    uint32_t reserved;
    /** On the host now. */
    uint64_t cpu_bytes;
    /** Buffers on the host now, as a count. */
    uint64_t cpu_buffers;
    /** Moves to the host so far, as a count. */
    uint64_t moved_to_cpu;
    /** Moves to the device so far, as a count. */
    uint64_t moved_to_gpu;
} ferrum_fallback_stats;

/* clang-format off */
#define FERRUM_FALLBACK_STATS_INIT {(uint32_t)sizeof(ferrum_fallback_stats), 0, 0, 0, 0, 0}
/* clang-format on */

/** Gives what of a fallback manager is or was on the host. */
FERRUM_API ferrum_status ferrum_fallback_manager_get_fallback_stats(
    ferrum_fallback_manager manager, ferrum_fallback_stats *stats_out);

/**
 * Asks the device for its memory.
 *
 * @param total_out  the capacity; 0 means unknown.
 * @param free_out   what can still be had, by anybody; free buffers in buckets are
 *                   not free in that sense.
 */
FERRUM_API ferrum_status ferrum_fallback_manager_get_memory(
    ferrum_fallback_manager manager, uint64_t *total_out, uint64_t *free_out);

/** The level of the device by FERRUM_PRESSURE_PROFILE_EARLY, of this moment. */
FERRUM_API ferrum_status ferrum_fallback_manager_get_pressure(
    ferrum_fallback_manager manager, ferrum_pressure_level *level_out);

/** As ferrum_device_pressure_callback_add for the device of a fallback manager, by
 *  FERRUM_PRESSURE_PROFILE_EARLY. */
FERRUM_API ferrum_status ferrum_fallback_manager_pressure_callback_add(
    ferrum_fallback_manager manager, ferrum_pressure_fn callback,
    void *user_data, ferrum_registration *registration_out);

/** Empties the buckets. The memory is ready for buffers of any size, and may still be
 *  held from the device. */
FERRUM_API ferrum_status
ferrum_fallback_manager_clear_pool(ferrum_fallback_manager manager);

/**
 * Empties the buckets and gives what holds no buffer back, on both sides.
 *
 * @param released_out  what the device has taken back.
 */
FERRUM_API ferrum_status ferrum_fallback_manager_shrink(
    ferrum_fallback_manager manager, uint64_t *released_out);

/** Gives the tracker of a fallback manager, which is only read, with the buffers of both
 *  sides. FERRUM_ERROR_INVALID_STATE: it does not track. */
FERRUM_API ferrum_status ferrum_fallback_manager_get_tracker(
    ferrum_fallback_manager manager, ferrum_tracker *tracker_out);

/** What the elements of a buffer are. */
typedef int32_t ferrum_dtype;
/** 32-bit floating point. */
#define FERRUM_DTYPE_F32 0
/** 16-bit floating point. */
#define FERRUM_DTYPE_F16 1
/** 16 bits with the exponent of 32. */
#define FERRUM_DTYPE_BF16 2
/** 64-bit floating point. */
#define FERRUM_DTYPE_F64 3
/** 8-bit floating point. */
#define FERRUM_DTYPE_F8 4
/** 8-bit signed. */
#define FERRUM_DTYPE_I8 5
/** 8-bit unsigned. */
#define FERRUM_DTYPE_U8 6
/** 16-bit signed. */
#define FERRUM_DTYPE_I16 7
/** 32-bit signed. */
#define FERRUM_DTYPE_I32 8
/** 64-bit signed. */
#define FERRUM_DTYPE_I64 9

/** Where a buffer may be made. */
typedef int32_t ferrum_buffer_place;
/** On the device or, when that has no room, on the host. */
#define FERRUM_PLACE_EITHER 0
/** On the device only. */
#define FERRUM_PLACE_GPU 1
/** On the host, which is no falling back. */
#define FERRUM_PLACE_CPU 2

/** Should the buffer fall back, the manager may bring it to the device by itself,
 *  whenever another is freed and it is not pinned. */
#define FERRUM_BUFFER_MOVABLE UINT32_C(1)

/** A buffer as asked for. */
typedef struct ferrum_buffer_request {
    uint32_t struct_size;
    /** What the elements are. */
    ferrum_dtype dtype;
    /** Elements, as a count; not 0. */
    uint64_t num_elements;
    /** Where it may be made. */
    ferrum_buffer_place place;
    /** FERRUM_BUFFER_* flags. */
    uint32_t flags;
    /** Of the device, that uses the buffer first; {0}: the default one. */
    ferrum_stream stream;
    /** For the tracker, at most 63 bytes; NULL: none. */
    const char *tag;
} ferrum_buffer_request;

/* clang-format off */
#define FERRUM_BUFFER_REQUEST_INIT {(uint32_t)sizeof(ferrum_buffer_request), 0, 0, 0, 0, {0}, NULL}
/* clang-format on */

/**
 * Makes a buffer. What is in it is not defined.
 *
 * @return FERRUM_ERROR_INVALID_SIZE for no elements; FERRUM_ERROR_OVERFLOW;
 *         FERRUM_ERROR_OUT_OF_MEMORY when no side that may be used has room;
 *         FERRUM_ERROR_INVALID_STATE for FERRUM_PLACE_CPU with a manager that does
 *         not fall back.
 */
FERRUM_API ferrum_status ferrum_fallback_manager_alloc(
    ferrum_fallback_manager manager, const ferrum_buffer_request *request,
    ferrum_fallback_buffer *buffer_out);

/**
 * Brings the buffers that fell back to the device, the oldest first, until it has no
 * room for the next. Pinned ones stay, and nobody is asked to give anything up. The
 * addresses of buffers that are not pinned may change. While another thread is at it,
 * it brings none.
 *
 * @param moved_out  how many came.
 */
FERRUM_API ferrum_status ferrum_fallback_manager_return_buffers(
    ferrum_fallback_manager manager, uint64_t *moved_out);

/**
 * Ends a buffer after what is queued on a stream of the device. Movable buffers that
 * fell back may come to the device then, which waits for the device's default stream.
 *
 * @param stream  optional.
 * @return FERRUM_ERROR_BUSY while it is pinned.
 */
FERRUM_API ferrum_status ferrum_fallback_buffer_free(
    ferrum_fallback_buffer buffer, ferrum_stream stream);

/** A buffer of a fallback manager. */
typedef struct ferrum_fallback_buffer_info {
    uint32_t struct_size;
    /** What the elements are. */
    ferrum_dtype dtype;
    /** Stays the same when the buffer moves. */
    uint64_t buffer_id;
    /** Elements, as a count. */
    uint64_t num_elements;
    /** What they take. */
    uint64_t size_bytes;
    /** Where the buffer is: in the device, or on the CPU side a pointer. Good until
     *  it moves. */
    ferrum_address address;
    /** The manager that it is of. */
    ferrum_fallback_manager manager;
    /** Of that side. */
    ferrum_device device;
    /** Which side it is on. */
    ferrum_buffer_location location;
    /** How often it is pinned. */
    uint32_t pins;
    /** FERRUM_BUFFER_* flags. */
    uint32_t flags;
    uint32_t reserved;
} ferrum_fallback_buffer_info;

/* clang-format off */
#define FERRUM_FALLBACK_BUFFER_INFO_INIT {(uint32_t)sizeof(ferrum_fallback_buffer_info), 0, 0, 0, 0, 0, {0}, {0}, 0, 0, 0, 0}
/* clang-format on */

/** Describes a buffer. */
FERRUM_API ferrum_status ferrum_fallback_buffer_get_info(
    ferrum_fallback_buffer buffer, ferrum_fallback_buffer_info *info_out);

/** Gives where a buffer is on that side. FERRUM_ERROR_INVALID_STATE: it is on the
 *  other. */
FERRUM_API ferrum_status ferrum_fallback_buffer_get_address(
    ferrum_fallback_buffer buffer, ferrum_buffer_location location,
    ferrum_address *address_out);

/**
 * Moves a buffer, after what the device's default stream has queued; on that side
 * already it does nothing. Whoever moves a buffer to the CPU has it stay there. A
 * failed call leaves it whole where it was.
 *
 * @return FERRUM_ERROR_BUSY while it is pinned; FERRUM_ERROR_OUT_OF_MEMORY;
 *         FERRUM_ERROR_INVALID_STATE for the CPU with a manager that does not fall
 *         back, and from a host function.
 */
FERRUM_API ferrum_status ferrum_fallback_buffer_move(
    ferrum_fallback_buffer buffer, ferrum_buffer_location location);

/**
 * Keeps a buffer where it is until it has been unpinned as often.
 *
 * @param address_out   where that is; may be NULL.
 * @param location_out  on which side; may be NULL.
 */
FERRUM_API ferrum_status ferrum_fallback_buffer_pin(
    ferrum_fallback_buffer buffer, ferrum_address *address_out,
    ferrum_buffer_location *location_out);

/** Ends one ferrum_fallback_buffer_pin. FERRUM_ERROR_INVALID_STATE: there is none. */
FERRUM_API ferrum_status
ferrum_fallback_buffer_unpin(ferrum_fallback_buffer buffer);

/**
 * Copies memory of the process into a buffer, wherever it is, after what the default
 * stream of that side has queued, and returns when it is there.
 *
 * @return FERRUM_ERROR_INVALID_SIZE for no bytes; FERRUM_ERROR_INVALID_OFFSET for a
 *         part that leaves the buffer; FERRUM_ERROR_INVALID_STATE from a host
 *         function.
 */
FERRUM_API ferrum_status ferrum_fallback_buffer_write(
    ferrum_fallback_buffer buffer, uint64_t offset_bytes, const void *source,
    uint64_t size_bytes);

/** As ferrum_fallback_buffer_write, the other way. */
FERRUM_API ferrum_status ferrum_fallback_buffer_read(
    ferrum_fallback_buffer buffer, uint64_t offset_bytes, void *destination,
    uint64_t size_bytes);

/**
 * Ends a buffer on that side and gives its storage to the caller, who gives it back
 * with ferrum_fallback_manager_release or makes another buffer of it with
 * ferrum_fallback_manager_adopt.
 *
 * @return FERRUM_ERROR_BUSY while it is pinned; FERRUM_ERROR_INVALID_STATE when it is
 *         on the other side.
 */
FERRUM_API ferrum_status ferrum_fallback_buffer_take(
    ferrum_fallback_buffer buffer, ferrum_buffer_location location,
    ferrum_address *address_out);

/**
 * Makes a buffer of storage that was taken from one of the same manager.
 *
 * @param request  place and stream of it mean nothing.
 * @return FERRUM_ERROR_INVALID_ADDRESS for what is no such storage;
 *         FERRUM_ERROR_INVALID_SIZE when it is smaller than the elements.
 */
FERRUM_API ferrum_status ferrum_fallback_manager_adopt(
    ferrum_fallback_manager manager, ferrum_buffer_location location,
    ferrum_address address, const ferrum_buffer_request *request,
    ferrum_fallback_buffer *buffer_out);

/** Ends storage that was taken, after what is queued on a stream of the device,
 *  which is optional. FERRUM_ERROR_INVALID_ADDRESS for what is none. */
FERRUM_API ferrum_status ferrum_fallback_manager_release(
    ferrum_fallback_manager manager, ferrum_buffer_location location,
    ferrum_address address, ferrum_stream stream);

/* ===================================================================== */
/* 17. Advanced manager: mappings, links, memory of others                */
/* ===================================================================== */

/** What a program does through a mapping. */
typedef int32_t ferrum_host_access;
/** Reads only. */
#define FERRUM_HOST_READ_ONLY 0
/** Writes only: what is not written has no defined value afterwards. */
#define FERRUM_HOST_WRITE_ONLY 1
/** Both. */
#define FERRUM_HOST_READ_WRITE 2

/** As the size of a mapping: all of the block from the offset on. */
#define FERRUM_MAP_TO_END UINT64_MAX

/** A range of a block that the host is to address. */
typedef struct ferrum_map_request {
    uint32_t struct_size;
    /** FERRUM_HOST_* */
    ferrum_host_access access;
    /** The block. */
    ferrum_memory memory;
    /** First byte. */
    uint64_t offset_bytes;
    /** Not 0; FERRUM_MAP_TO_END: the rest of the block. */
    uint64_t size_bytes;
} ferrum_map_request;

/* clang-format off */
#define FERRUM_MAP_REQUEST_INIT {(uint32_t)sizeof(ferrum_map_request), FERRUM_HOST_READ_WRITE, {0}, 0, FERRUM_MAP_TO_END}
/* clang-format on */

/** A range of a block that the host addresses. */
typedef struct ferrum_mapping {
    uint32_t struct_size;
    /** host_pointer is a copy, which ferrum_memory_unmap writes back (1), not the block. */
    uint32_t is_staged;
    /** Names the mapping among those of its block; never 0. */
    uint64_t mapping_id;
    /** Valid until the mapping has ended; size_bytes from there on. */
    void *host_pointer;
    /** Length of the range. */
    uint64_t size_bytes;
} ferrum_mapping;

/* clang-format off */
#define FERRUM_MAPPING_INIT {(uint32_t)sizeof(ferrum_mapping), 0, 0, NULL, 0}
/* clang-format on */

/**
 * Makes a range of a block addressable by the host, and waits for what is queued on
 * the streams that have used the block. On a device that the host can address, and
 * for page-locked memory, the pointer is to the block itself; on any other one it
 * is to a copy, which ferrum_memory_unmap writes back: never for FERRUM_HOST_READ_ONLY.
 *
 * The same range with the same access nests: it is the same mapping, which ends with
 * as many calls of ferrum_memory_unmap. A mapping that reads may overlap one that writes,
 * and sees of that what was written before its ferrum_memory_unmap only where both are the
 * block itself. While a block is mapped it is neither moved nor given back; work may
 * be queued on it, with the caller's own order against what goes through the pointer.
 *
 * @return FERRUM_ERROR_BUSY for a range that is to be written and overlaps another
 *         one that is mapped for writing; FERRUM_ERROR_INVALID_OFFSET when it leaves
 *         the block, FERRUM_ERROR_OVERFLOW when offset + size does not fit 64 bits;
 *         FERRUM_ERROR_OUT_OF_MEMORY when the host has no memory for a copy.
 */
FERRUM_API ferrum_status ferrum_memory_map(const ferrum_map_request *request,
                                           ferrum_mapping *mapping_out);

/**
 * Ends one call of ferrum_memory_map. The last one for a mapping that writes to a copy
 * writes it back and returns when that is done; when it fails, the mapping is as it
 * was. Destroying the manager with FERRUM_FORCE ends mappings without writing back.
 *
 * @param mapping_id  of ferrum_mapping; 0: the block's mapping that was made last.
 * @return FERRUM_ERROR_NOT_MAPPED for a block that has no such mapping.
 */
FERRUM_API ferrum_status ferrum_memory_unmap(ferrum_memory memory,
                                             uint64_t mapping_id);

/** Memory for two devices, as asked for. */
typedef struct ferrum_link_request {
    uint32_t struct_size;
    uint32_t reserved;
    /** Not 0. */
    uint64_t size_bytes;
    /** Of the first address: a power of two up to FERRUM_ALIGNMENT_MAX; 0: the
     *  pool's. */
    uint64_t alignment_bytes;
    /** Name for the books, at most 63 bytes; NULL: none. */
    const char *tag;
} ferrum_link_request;

/* clang-format off */
#define FERRUM_LINK_REQUEST_INIT {(uint32_t)sizeof(ferrum_link_request), 0, 0, 0, NULL}
/* clang-format on */

/**
 * Makes two blocks of FERRUM_MEMORY_MAPPED, for managers of two devices, that are
 * the same memory: what one device writes the other reads, in the order that streams
 * and events give. The memory counts as the first manager's and goes back to it when
 * both blocks are freed, in either order. Destroying the first manager with
 * FERRUM_FORCE ends both blocks.
 *
 * @param first_out,second_out  the blocks of the first and the second manager.
 * @return FERRUM_ERROR_INVALID_ARGUMENT for two managers of one device;
 *         FERRUM_ERROR_UNSUPPORTED for devices that cannot address the same memory;
 *         else as ferrum_manager_alloc_with.
 */
FERRUM_API ferrum_status ferrum_manager_create_mapping(
    ferrum_manager first, ferrum_manager second,
    const ferrum_link_request *request, ferrum_memory *first_out,
    ferrum_memory *second_out);

/**
 * Queues that a block is brought near a device before it is used there, and
 * returns. The bytes stay as they are, and it counts as no access. On the host it
 * has the system put memory behind the block. On other devices FERRUM_MEMORY_MANAGED
 * goes where it is said, a host device being the host, and other memory stays.
 *
 * @param target  the block's own device, or another.
 * @param stream  optional, of the block's device.
 * @return FERRUM_ERROR_UNSUPPORTED for a device that the block cannot be brought to.
 */
FERRUM_API ferrum_status ferrum_memory_prefetch(ferrum_memory memory,
                                                ferrum_device target,
                                                ferrum_stream stream);

/** What a program expects of a block. There are three axes, order, direction and
 *  lifetime, and a block has one hint of each. */
typedef int32_t ferrum_usage_hint;
/** Nothing; as a hint, it takes all others back. */
#define FERRUM_USAGE_NONE 0
/** Order: one after the other. */
#define FERRUM_USAGE_SEQUENTIAL 1
/** Order: scattered. */
#define FERRUM_USAGE_RANDOM 2
/** Direction: mostly read. */
#define FERRUM_USAGE_READ_MOSTLY 3
/** Direction: mostly written. */
#define FERRUM_USAGE_WRITE_MOSTLY 4
/** Lifetime: may be dropped eagerly. */
#define FERRUM_USAGE_TEMPORARY 5
/** Lifetime: to be kept resident. */
#define FERRUM_USAGE_RESIDENT 6

/** The last hint of each axis; FERRUM_USAGE_NONE where none was given. */
typedef struct ferrum_usage_hints {
    uint32_t struct_size;
    /** FERRUM_USAGE_SEQUENTIAL, FERRUM_USAGE_RANDOM or none. */
    ferrum_usage_hint order;
    /** FERRUM_USAGE_READ_MOSTLY, FERRUM_USAGE_WRITE_MOSTLY or none. */
    ferrum_usage_hint direction;
    /** FERRUM_USAGE_TEMPORARY, FERRUM_USAGE_RESIDENT or none. */
    ferrum_usage_hint lifetime;
} ferrum_usage_hints;

/* clang-format off */
#define FERRUM_USAGE_HINTS_INIT {(uint32_t)sizeof(ferrum_usage_hints), 0, 0, 0}
/* clang-format on */

/**
 * Keeps a hint with a block, in place of an earlier one of the same axis;
 * FERRUM_USAGE_NONE takes all back. Hints are for those who decide about the block
 * (ferrum_memory_get_usage_hints) and change nothing by themselves, but that for
 * FERRUM_MEMORY_MANAGED the device is told of FERRUM_USAGE_READ_MOSTLY (who reads may
 * have a copy) and FERRUM_USAGE_RESIDENT (it is to stay at the device); where it refuses,
 * the hints are as they were.
 *
 * @return FERRUM_ERROR_INVALID_ARGUMENT for what is no hint.
 */
FERRUM_API ferrum_status ferrum_memory_set_usage_hint(ferrum_memory memory,
                                                      ferrum_usage_hint hint);

/** Gives the hints of a block. */
FERRUM_API ferrum_status ferrum_memory_get_usage_hints(
    ferrum_memory memory, ferrum_usage_hints *hints_out);

/** How a block is used, as far as its last accesses show. */
typedef int32_t ferrum_access_pattern;
/** Too few accesses. */
#define FERRUM_PATTERN_UNKNOWN 0
/** One after the other. */
#define FERRUM_PATTERN_SEQUENTIAL 1
/** Scattered. */
#define FERRUM_PATTERN_RANDOM 2
/** Clusters in time. */
#define FERRUM_PATTERN_BURST 3
/** More than one kind. */
#define FERRUM_PATTERN_MIXED 4

/** What copies, fills, writes, reads and mappings did with a block. */
typedef struct ferrum_access_stats {
    uint32_t struct_size;
    /** The manager tracks (1); else all below is 0. */
    uint32_t is_tracked;
    /** There was an access (1); else last_access_ns means nothing. */
    uint32_t is_accessed;
    /** Pattern of the last accesses. */
    ferrum_access_pattern pattern;
    /** How many reads there were. */
    uint64_t read_count;
    /** How many writes there were. */
    uint64_t write_count;
    /** Mean size of a read, rounded down; 0 when there was none. */
    uint64_t average_read_bytes;
    /** Mean size of a write, rounded down; 0 when there was none. */
    uint64_t average_write_bytes;
    /** Monotonic time of the last access since ferrum_init. */
    uint64_t last_access_ns;
} ferrum_access_stats;

/* clang-format off */
#define FERRUM_ACCESS_STATS_INIT {(uint32_t)sizeof(ferrum_access_stats), 0, 0, 0, 0, 0, 0, 0, 0}
/* clang-format on */

/**
 * Gives the access statistics of a block of a manager with enable_tracking; others
 * keep none, and pay nothing.
 *
 * A copy counts as a read of its source and a write of its destination when it is
 * queued; a mapping as a read when it is made, if it reads, and as a write when it
 * has ended, if it writes. What programs do through an address is not seen.
 *
 * The pattern is told from the last 16 steps; a step is from one access to the next
 * of the same kind, read or write. Less than 4 steps are UNKNOWN. A step is in order
 * when an access starts where the last one of its kind ended, or at the block's start
 * after one that ended at its end. A pause is a step whose access came at least 1 ms
 * after the access before it, and at least 10 times the median of the steps later.
 * Two pauses or more, in at most a quarter of the steps, are bursts. Three quarters
 * or more in order are SEQUENTIAL, a quarter or less RANDOM. Bursts that are
 * sequential, and what is none of these, are MIXED; other bursts are BURST.
 */
FERRUM_API ferrum_status ferrum_memory_get_access_stats(
    ferrum_memory memory, ferrum_access_stats *stats_out);

/** Memory of somebody else's that is to get a handle. */
typedef struct ferrum_adoption {
    uint32_t struct_size;
    /** FERRUM_MEMORY_*, what it is used for. */
    ferrum_memory_type memory_type;
    /** Where the manager's device has it; on a host device a pointer. Where
     *  FERRUM_CAPABILITY_REGISTERED_MEMORY is there, that of FERRUM_MEMORY_PINNED and
     *  FERRUM_MEMORY_MAPPED may be a pointer to any memory of the process. */
    ferrum_address address;
    /** Not 0. */
    uint64_t size_bytes;
    /** Name for the books, at most 63 bytes; NULL: none. */
    const char *tag;
} ferrum_adoption;

/* clang-format off */
#define FERRUM_ADOPTION_INIT {(uint32_t)sizeof(ferrum_adoption), FERRUM_MEMORY_GENERAL, 0, 0, NULL}
/* clang-format on */

/**
 * Gives a handle to memory that the caller or somebody else owns. It is used like any
 * other block and counts as live, but is in no pool's books, never moved and never
 * freed: ferrum_memory_free only ends the handle, and is FERRUM_ERROR_BUSY while work
 * is queued on it. The memory must stay valid until then. Destroying the manager with
 * FERRUM_FORCE waits for that work.
 *
 * A device with FERRUM_CAPABILITY_REGISTERED_MEMORY page-locks memory of the process
 * that is adopted as FERRUM_MEMORY_PINNED or FERRUM_MEMORY_MAPPED, for as long as it has
 * the handle; ferrum_handle_info tells where the device has it. What is page-locked
 * already is used as it is.
 *
 * @return FERRUM_ERROR_INVALID_ADDRESS for memory that cannot be read and written
 *         throughout, as far as can be told; FERRUM_ERROR_ALREADY_EXISTS for memory
 *         that the device has already; FERRUM_ERROR_INVALID_SIZE,
 *         FERRUM_ERROR_OVERFLOW, FERRUM_ERROR_UNSUPPORTED.
 */
FERRUM_API ferrum_status ferrum_manager_adopt(ferrum_manager manager,
                                              const ferrum_adoption *adoption,
                                              ferrum_memory *memory_out);

/**
 * Queues work in a stream of the caller's. It must have work(work_data) called
 * once, on any thread, after what was queued before and before what is queued later;
 * at once is right too. It is called on the threads that use the stream, with no lock
 * held.
 *
 * @return FERRUM_OK, or an error when the work will not be called.
 */
typedef ferrum_status (*ferrum_enqueue_fn)(ferrum_host_fn work, void *work_data,
                                           void *user_data);

/** A stream that somebody else made. */
typedef struct ferrum_foreign_stream {
    uint32_t struct_size;
    uint32_t reserved;
    /** Handle in the runtime of the device's vendor, such as a CUstream; 0 on host
     *  devices, where enqueue is given. It names one queue, whichever thread uses it. */
    uint64_t native_handle;
    /** Queues work in it; NULL with a native_handle. */
    ferrum_enqueue_fn enqueue;
    /** For enqueue. */
    void *user_data;
} ferrum_foreign_stream;

/* clang-format off */
#define FERRUM_FOREIGN_STREAM_INIT {(uint32_t)sizeof(ferrum_foreign_stream), 0, 0, NULL, NULL}
/* clang-format on */

/**
 * Gives a handle to a stream that somebody else made, for every call that takes one.
 * What its owner has queued there is waited for like the rest of it, but that
 * ferrum_stream_is_ready tells only of what was queued by the handle.
 *
 * ferrum_stream_destroy runs dry what was queued by the handle, with FERRUM_FORCE also
 * what its owner has queued by then, and leaves the stream alone; it must stay valid until
 * then, as must user_data. Blocks of pools that are of the stream do not wait for it any
 * more after that. A stream that never
 * calls the work is waited for for ever.
 *
 * @return FERRUM_ERROR_UNSUPPORTED for a device that cannot, and for a handle that is
 *         another queue in each thread, as CUDA's 2 is: what one thread freed would be
 *         another's at once;
 *         FERRUM_ERROR_NULL_POINTER without enqueue on a host device.
 */
FERRUM_API ferrum_status
ferrum_stream_adopt(ferrum_device device, const ferrum_foreign_stream *foreign,
                    ferrum_stream *stream_out);

/**
 * Gives a handle to an event that somebody else made, for every call that takes one. It
 * stands for what its owner recorded last, and has no time.
 *
 * ferrum_event_destroy leaves the event alone; it must stay valid until then.
 *
 * @param native_handle  handle in the runtime of the device's vendor, such as a CUevent.
 *                       What is no event may end the process in the vendor's library.
 * The runtime is not asked about it: that would spoil a capture in which the event was
 * recorded. For the same reason ferrum_event_is_ready and ferrum_event_synchronize are
 * FERRUM_ERROR_INVALID_STATE while a stream captures that the library knows. Of others it
 * cannot know: do not ask then after an event that was recorded in their capture.
 *
 * @return FERRUM_ERROR_UNSUPPORTED for a device that cannot, as those of the host;
 *         FERRUM_ERROR_INVALID_ARGUMENT for 0.
 */
FERRUM_API ferrum_status ferrum_event_adopt(ferrum_device device,
                                            uint64_t native_handle,
                                            ferrum_event *event_out);

/* ===================================================================== */
/* 18. Sharing: contexts of the program, other devices, other processes  */
/* ===================================================================== */

/**
 * Opens a device on a context that the program made in the runtime of the device's
 * vendor, such as a CUcontext, and keeps until the device is closed. All that the library
 * does there is done in it. Closing leaves the context alone. ferrum_device_open of an
 * open device gives its handle, whatever it is on.
 *
 * @param id              as for ferrum_device_open.
 * @param native_context  the handle as a number, not 0. What is no context may end the
 *                        process in the vendor's library.
 * @return FERRUM_ERROR_ALREADY_EXISTS for a device that is open on another context;
 *         FERRUM_ERROR_INVALID_ARGUMENT for a context of another device, or one that is
 *         gone; FERRUM_ERROR_UNSUPPORTED for a backend without contexts.
 */
FERRUM_API ferrum_status ferrum_device_open_native(const char *id,
                                                   uint64_t native_context,
                                                   ferrum_device *device_out);

/**
 * Gives the context that all is done in on a device, such as the CUcontext. It stays the
 * library's, and is gone when the device is closed.
 *
 * @return FERRUM_ERROR_UNSUPPORTED for a backend without such handles.
 */
FERRUM_API ferrum_status ferrum_device_get_native(ferrum_device device,
                                                  uint64_t *native_out);

/** As ferrum_device_get_native, for a stream: such as the CUstream. */
FERRUM_API ferrum_status ferrum_stream_get_native(ferrum_stream stream,
                                                  uint64_t *native_out);

/** As ferrum_device_get_native, for an event: such as the CUevent, which has been
 *  recorded. The program may wait for it, and must not record it again. */
FERRUM_API ferrum_status ferrum_event_get_native(ferrum_event event,
                                                 uint64_t *native_out);

/**
 * Lets work of another device, such as a kernel that the library does not know of, use
 * the memory of a device: what is allocated, and what is mapped in virtual memory now and
 * later, with the access that the device has. It holds until one of them is closed. On
 * devices whose memory the process addresses there is nothing to do.
 *
 * @param peer  who gets the access.
 * @return FERRUM_ERROR_UNSUPPORTED where the one does not reach the other's memory;
 *         FERRUM_ERROR_INVALID_ARGUMENT for the device itself.
 */
FERRUM_API ferrum_status ferrum_device_grant_peer(ferrum_device device,
                                                  ferrum_device peer);

/**
 * Gives a file descriptor for each page of a range of a virtual pool with
 * FERRUM_BACKING_SHAREABLE, in order: all of them or none. The caller closes them; another
 * process, which gets them through a socket or as an heir, has the same memory by
 * ferrum_manager_import_pages. The memory goes back to the system when no process has it any more.
 *
 * When the range is freed its pages stay with the pool, which uses them for its next
 * ranges: whoever has imported them ends that before.
 *
 * @param offset_bytes,size_bytes  whole pages, mapped throughout.
 * @param descriptors_out          room for capacity of them; may be NULL when that is 0.
 * @param count_out                how many there are.
 * @return FERRUM_ERROR_BUFFER_TOO_SMALL, with *count_out set and nothing given, when they
 *         do not fit; FERRUM_ERROR_INVALID_ARGUMENT for a pool with another backing;
 *         FERRUM_ERROR_INVALID_OFFSET, FERRUM_ERROR_INVALID_SIZE,
 *         FERRUM_ERROR_NOT_MAPPED.
 */
FERRUM_API ferrum_status ferrum_vpool_export(
    ferrum_vpool vpool, uint64_t offset_bytes, uint64_t size_bytes,
    int32_t *descriptors_out, size_t capacity, size_t *count_out);

/** Pages that a process exported. */
typedef struct ferrum_page_import {
    uint32_t struct_size;
    uint32_t reserved;
    /** One for each page, in the order in which they are to lie; they stay the
     *  caller's. */
    const int32_t *descriptors;
    /** How many pages there are. */
    uint64_t count;
    /** Of the pool that they come from: not less, and not more. */
    uint64_t page_bytes;
    /** Name for the books, at most 63 bytes; NULL: none. */
    const char *tag;
} ferrum_page_import;

/* clang-format off */
#define FERRUM_PAGE_IMPORT_INIT {(uint32_t)sizeof(ferrum_page_import), 0, NULL, 0, 0, NULL}
/* clang-format on */

/**
 * Gives a handle to pages of another process, or of this one, readable and writable, one
 * after the other at an address of the manager's device (ferrum_memory_get_handle_info). It is
 * used like any other block, and counts as adopted memory. ferrum_memory_free ends it, and
 * is FERRUM_ERROR_BUSY while work is queued on it.
 *
 * @return FERRUM_ERROR_INVALID_ARGUMENT for no pages, and for a descriptor that is closed,
 *         of something else, or of another device's memory;
 *         FERRUM_ERROR_INVALID_PAGE_SIZE; FERRUM_ERROR_UNSUPPORTED for a device without
 *         FERRUM_CAPABILITY_EXPORTED_PAGES.
 */
FERRUM_API ferrum_status ferrum_manager_import_pages(
    ferrum_manager manager, const ferrum_page_import *pages,
    ferrum_memory *memory_out);

/** A range of one process's device memory, as bytes that mean it in another. */
typedef struct ferrum_shared_memory {
    uint32_t struct_size;
    uint32_t reserved;
    /** Where the range begins in what the handle names. */
    uint64_t offset_bytes;
    /** Its size. */
    uint64_t size_bytes;
    /** Opaque. */
    uint8_t handle[64];
} ferrum_shared_memory;

/* clang-format off */
#define FERRUM_SHARED_MEMORY_INIT {(uint32_t)sizeof(ferrum_shared_memory), 0, 0, 0, {0}}
/* clang-format on */

/**
 * Describes a range of plain device memory for other processes, by the vendor's handles
 * for that (CUDA's IPC). Memory of pools over pages has none: that is
 * ferrum_vpool_export, and a pool with FERRUM_PAGING_OFF has plain memory. It stays
 * allocated while others have it open.
 *
 * @return FERRUM_ERROR_INVALID_ADDRESS for a range that lies in no one segment;
 *         FERRUM_ERROR_UNSUPPORTED for a device without
 *         FERRUM_CAPABILITY_SHARED_MEMORY.
 */
FERRUM_API ferrum_status ferrum_device_share_memory(
    ferrum_device device, ferrum_address address, uint64_t size_bytes,
    ferrum_shared_memory *shared_out);

/**
 * Gives a handle to memory that another process shared. It is used like any other block,
 * and counts as adopted memory. ferrum_memory_free ends it, and is FERRUM_ERROR_BUSY while
 * work is queued on it.
 *
 * @param tag  name for the books, at most 63 bytes; NULL: none.
 * @return FERRUM_ERROR_INVALID_ARGUMENT for memory that is gone and for bytes that name
 *         none; FERRUM_ERROR_INVALID_STATE for memory of this process;
 *         FERRUM_ERROR_INVALID_SIZE for a range beyond the memory;
 *         FERRUM_ERROR_ALREADY_EXISTS for one that is open.
 */
FERRUM_API ferrum_status ferrum_manager_import_memory(
    ferrum_manager manager, const ferrum_shared_memory *shared, const char *tag,
    ferrum_memory *memory_out);

/** An event of one process, as bytes that mean it in another. */
typedef struct ferrum_shared_event {
    uint32_t struct_size;
    uint32_t reserved;
    /** Opaque. */
    uint8_t handle[64];
} ferrum_shared_event;

/* clang-format off */
#define FERRUM_SHARED_EVENT_INIT {(uint32_t)sizeof(ferrum_shared_event), 0, {0}}
/* clang-format on */

/**
 * Records an event that other processes can open, too. It is kept until they have.
 *
 * @return FERRUM_ERROR_UNSUPPORTED for a device without
 *         FERRUM_CAPABILITY_SHARED_MEMORY.
 */
FERRUM_API ferrum_status ferrum_event_share(ferrum_stream stream,
                                            ferrum_shared_event *shared_out,
                                            ferrum_event *event_out);

/**
 * Gives a handle to an event that another process shared, for every call that takes one.
 *
 * @return FERRUM_ERROR_INVALID_ARGUMENT for an event that is gone and for bytes that name
 *         none; FERRUM_ERROR_INVALID_STATE for one of this process.
 */
FERRUM_API ferrum_status ferrum_event_open(ferrum_device device,
                                           const ferrum_shared_event *shared,
                                           ferrum_event *event_out);

#ifdef __cplusplus
}
#endif

#endif /* FERRUM_MEM_H */
