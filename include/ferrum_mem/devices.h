/*
 * Backends and devices: what there is, what it can do, opening and closing it.
 * A part of ferrum_mem.h, which programs include, and which has the rules that hold for all.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef FERRUM_MEM_DEVICES_H
#define FERRUM_MEM_DEVICES_H

#include "base.h"

#ifdef __cplusplus
extern "C" {
#endif

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
 *         "capabilities": ["peer", "virtual_memory"],
 *         "processes": [{"pid": 0, "used_bytes": 0}]}]}],
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
 * shared with the host, else 90 %. "processes" are those that have a context on
 * the device, numbered as the driver's host does; null where that, or the memory
 * of one, is not known. CUDA's are asked of NVML.
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
 * @name backend_type
 * @by-hand python it tells its names
 * @go discover.BackendType
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
 *
 * @by-hand c,go answers at any time and without Go
 * @always
 */
FERRUM_API const char *ferrum_backend_name(ferrum_backend backend);

/**
 * Name of a backend for people, for example "ROCm"; otherwise as
 * ferrum_backend_name.
 *
 * @by-hand c,go answers at any time and without Go
 * @always
 */
FERRUM_API const char *ferrum_backend_display_name(ferrum_backend backend);

/**
 * The backend that FERRUM_BACKEND_AUTO tries first: the first of CUDA, ROCm,
 * Metal and OpenCL that is usable and has a device, else the CPU.
 */
FERRUM_API ferrum_status ferrum_backend_best(ferrum_backend *backend_out);

/** A device that was chosen.
 *  @by-hand python what was tried is a list
 *  @go discover.Choice */
typedef struct ferrum_backend_choice {
    uint32_t struct_size;
    /** Backend of the device. */
    ferrum_backend backend;
    /** Position of the device within its backend.
     *  @go Device.ID.Index */
    uint32_t device_index;
    uint32_t reserved;
    /** Capacity of the device; 0 means unknown.
     *  @go Device.TotalBytes */
    uint64_t total_bytes;
    /** What was free when it was looked at; 0 if not known.
     *  @go Device.FreeBytes */
    uint64_t free_bytes;
    /** For example "cuda:0".
     *  @go Device.ID.String() */
    char id[32];
    /** What was looked at, the chosen one last: lines of "id: why not". Cut
     *  off at a character's end if it is longer.
     *  @go Tried() */
    char tried[1024];
} ferrum_backend_choice;

/* clang-format off */
#define FERRUM_BACKEND_CHOICE_INIT {FERRUM_SIZE_OF(ferrum_backend_choice), 0, 0, 0, 0, 0, {0}, {0}}
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
 *
 * @waits
 * @opens
 * @optional choice_out
 * @by-hand cpp it opens a device, whose class comes later
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
 *
 * @bool fits_out
 */
FERRUM_API ferrum_status ferrum_device_can_fit(const char *id, uint64_t bytes,
                                               uint32_t *fits_out);

/** What is known of this machine.
 *  @go library.HostInfo */
typedef struct ferrum_host_info {
    uint32_t struct_size;
    /** 1 if available_bytes is known, else 0.
     *  @bool */
    uint32_t available_known;
    /** Memory that this process may use: the machine's or its control group's,
     *  whichever is less; 0 means unknown. */
    uint64_t total_bytes;
    /** What of it can still be touched.
     *  @if available_known */
    uint64_t available_bytes;
    /** Model of the processor, or "Unknown CPU".
     *  @go Processor */
    char cpu_name[128];
} ferrum_host_info;

/* clang-format off */
#define FERRUM_HOST_INFO_INIT {FERRUM_SIZE_OF(ferrum_host_info), 0, 0, 0, {0}}
/* clang-format on */

/** Reads what is known of this machine; works also before ferrum_init.
 *  @stateless
 *  @infallible */
FERRUM_API ferrum_status ferrum_host_get_info(ferrum_host_info *info_out);

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
/** Virtual and elastic pools can have FERRUM_BACKING_RDMA. */
#define FERRUM_CAPABILITY_RDMA_PAGES (UINT64_C(1) << 11)
/** Virtual pools can have FERRUM_BACKING_FABRIC. */
#define FERRUM_CAPABILITY_FABRIC_PAGES (UINT64_C(1) << 12)

/** Description of an open device.
 *  @go library.DeviceInfo */
typedef struct ferrum_device_info {
    uint32_t struct_size;
    /** Number after the colon of the id.
     *  @go ID.Index */
    uint32_t ordinal;
    /** FERRUM_CAPABILITY_* bits.
     *  @flags FERRUM_CAPABILITY */
    uint64_t capabilities;
    /** Capacity; 0 means unknown. */
    uint64_t total_bytes;
    /** Segments taken from the device are multiples of this. */
    uint64_t granularity_bytes;
    /** Every segment's address is a multiple of this. */
    uint64_t alignment_bytes;
    /** For example "cpu:0".
     *  @go ID.String() */
    char id[32];
    /** For example "cpu".
     *  @go ID.Backend */
    char backend[32];
    /** Name of the hardware. */
    char name[128];
} ferrum_device_info;

/* clang-format off */
#define FERRUM_DEVICE_INFO_INIT {FERRUM_SIZE_OF(ferrum_device_info), 0, 0, 0, 0, 0, {0}, {0}, {0}}
/* clang-format on */

/**
 * Opens a device. Opening one that is open gives the same handle again; each
 * open is undone by one ferrum_device_close.
 *
 * @param id  "cpu:0"; a bare "cpu" is its device 0. A CUDA device can also be named by
 *            its UUID, "cuda:GPU-...", and by its PCI address, "cuda:0000:65:00.0".
 * @return FERRUM_ERROR_DEVICE_NOT_FOUND for an id that is well-formed but names
 *         no device, FERRUM_ERROR_INVALID_ARGUMENT for one that is not.
 *
 * @opens
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
 *
 * @waits
 * @ends
 */
FERRUM_API ferrum_status ferrum_device_close(ferrum_device device,
                                             uint32_t flags);

/** Describes an open device.
 *  @by-hand python it can be asked more
 *  @infallible */
FERRUM_API ferrum_status ferrum_device_get_info(ferrum_device device,
                                                ferrum_device_info *info_out);

/**
 * Waits until every stream of the device has run dry.
 *
 * @param timeout_ns  nanoseconds, or FERRUM_WAIT_FOREVER; 0 only asks.
 * @return FERRUM_ERROR_TIMEOUT when it takes longer; FERRUM_ERROR_INVALID_STATE when
 *         streams are capturing, which cannot be waited for, and the others have run dry.
 *
 * @waits
 */
FERRUM_API ferrum_status ferrum_device_synchronize(ferrum_device device,
                                                   uint64_t timeout_ns);

/**
 * Limits what this library takes from the device, all pools and managers
 * together. 0 takes the limit away. Lowering it below what is held releases
 * cached memory; what is live stays, and no more is taken until it fits again.
 *
 * Where the limit is below the capacity it is the total of ferrum_memory_info, which
 * utilization and pressure levels are computed from, and of all that goes by it:
 * pressure callbacks, monitors, placement, gc_threshold and gpu_memory_fraction.
 * Pressure callbacks hear of a level that a new limit leads to.
 * @none limit_bytes 0
 */
FERRUM_API ferrum_status ferrum_device_set_limit(ferrum_device device,
                                                 uint64_t limit_bytes);

/**
 * Measures the device's copy bandwidth by timed copies between two scratch
 * segments (at most 64 MiB each; given back at once), for some tens of
 * milliseconds. ferrum_device_get_memory_info reports it from then on.
 *
 * @param gbps_out  10^9 bytes copied per second.
 *
 * @waits
 */
FERRUM_API ferrum_status ferrum_device_measure_bandwidth(ferrum_device device,
                                                         double *gbps_out);

#ifdef __cplusplus
}
#endif

#endif /* FERRUM_MEM_DEVICES_H */
