/*
 * Backends and devices: lists, capabilities, and calls that open and close devices.
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
 * Lists every backend with its devices, or with the reason why the backend cannot
 * be used here, as JSON. The host comes first, then cuda, rocm, metal and opencl:
 *
 * {"backends": [{"backend": "cpu", "name": "CPU", "available": true,
 *       "usable": true, "reason": null, "error": null, "native_code": 0,
 *       "library": null, "version": null,
 *       "devices": [{"id": "cpu:0", "index": 0, "name": "...",
 *         "total_bytes": 0, "free_bytes": null, "compute_capability": null,
 *         "unified_memory": true, "max_allocation_bytes": null,
 *         "granularity_bytes": 0, "alignment_bytes": 0,
 *         "recommended_fraction_percent": 70, "host_addressable": true,
 *         "capabilities": ["peer", "virtual_memory"],
 *         "processes": [{"pid": 0, "used_bytes": 0}]}]}],
 * "recommended": "cpu", "discovered_at_unix_ns": 0, "discovery_took_ns": 0}
 *
 * "available": the backend works here and has devices. "usable": this build can
 * also open them. For a backend that is not available, "error" is the reason as
 * text, and "reason" is one of library_not_found, library_unusable, symbol_missing,
 * too_old, no_device, driver_error, unsupported_system, crashed, timed_out,
 * helper_unavailable, switched_off and unusable. "native_code" is the error number
 * of the vendor's library or of the system, or the number of the signal of a crash.
 * A total of 0 and a free of null are unknown. The recommended fraction is 70 % for
 * memory that is shared with the host, otherwise 90 %. "processes" are the
 * processes that have a context on the device. Their numbers are those of the
 * machine that runs the driver. "processes" is null when the processes, or the
 * memory of one of them, are not known. The processes of CUDA devices come from
 * NVML.
 *
 * The first call queries all backends. It queries each vendor's library in a
 * short-lived process of its own, so that a broken driver cannot harm this process.
 * The call takes as long as the slowest backend, at most FERRUM_PROBE_TIMEOUT.
 * Later calls return the same result; ferrum_backends_refresh queries again. No
 * device is opened.
 *
 * All JSON functions share this form. With capacity 0 (buffer may be NULL) the call
 * only sets *length_out to the length in bytes without the closing NUL. Otherwise
 * it writes the text and a NUL. If they do not fit, it returns
 * FERRUM_ERROR_BUFFER_TOO_SMALL, sets *length_out, and sets the first byte of the
 * buffer to 0. The content may change between two calls: call again with the new
 * length.
 */
FERRUM_API ferrum_status ferrum_backends_json(char *buffer, size_t capacity,
                                              size_t *length_out);

/** Queries all backends again. Calls that run at the same time share one query. */
FERRUM_API ferrum_status ferrum_backends_refresh(void);

/**
 * Returns the content of ferrum_backends_json as text for people: a header line, a
 * tick or a cross for each backend with its devices or its error, and the
 * recommended backend.
 *
 * @param buffer,capacity,length_out  as for ferrum_backends_json.
 */
FERRUM_API ferrum_status ferrum_backends_summary(char *buffer, size_t capacity,
                                                 size_t *length_out);

/**
 * A backend. FERRUM_BACKEND_AUTO is only a preference. The numbers are in the order
 * of the lists. The order of preference is the same, except that the CPU comes
 * last.
 *
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
 * Returns the name of a backend as in device ids, for example "cuda"; "auto" for
 * FERRUM_BACKEND_AUTO; "" for a number that is not a backend. The text is constant.
 * Works at any time. Never fails.
 *
 * @by-hand c,go answers at any time and without Go
 * @always
 */
FERRUM_API const char *ferrum_backend_name(ferrum_backend backend);

/**
 * Returns the name of a backend for people, for example "ROCm". Otherwise the same
 * as ferrum_backend_name.
 *
 * @by-hand c,go answers at any time and without Go
 * @always
 */
FERRUM_API const char *ferrum_backend_display_name(ferrum_backend backend);

/**
 * Returns the backend that FERRUM_BACKEND_AUTO tries first: the first of CUDA,
 * ROCm, Metal and OpenCL that is usable and has a device, otherwise the CPU.
 */
FERRUM_API ferrum_status ferrum_backend_best(ferrum_backend *backend_out);

/** The chosen device.
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
     *  @none 0
     *  @go Device.TotalBytes */
    uint64_t total_bytes;
    /** Free bytes when the device was queried; 0 if not known.
     *  @none 0
     *  @go Device.FreeBytes */
    uint64_t free_bytes;
    /** For example "cuda:0".
     *  @go Device.ID.String() */
    char id[32];
    /** The devices that were considered, the chosen one last: lines of "id:
     *  reason". A longer text is cut at the end of a character.
     *  @go Tried() */
    char tried[1024];
} ferrum_backend_choice;

/* clang-format off */
#define FERRUM_BACKEND_CHOICE_INIT {FERRUM_SIZE_OF(ferrum_backend_choice), 0, 0, 0, 0, 0, {0}, {0}}
/* clang-format on */

/**
 * Finds the first device that has enough room: enough free memory or, where free
 * memory is not known, enough of 80 % of the capacity. Opens no device. The data of
 * vendors' devices comes from the last discovery.
 *
 * @param preference  FERRUM_BACKEND_AUTO, or the only backend to consider.
 * @return FERRUM_ERROR_OUT_OF_MEMORY when no device has enough room;
 *         FERRUM_ERROR_BACKEND_UNAVAILABLE when there is no device to consider. The
 *         message lists the considered devices with the reasons.
 */
FERRUM_API ferrum_status
ferrum_backend_select(ferrum_backend preference, uint64_t required_bytes,
                      ferrum_backend_choice *choice_out);

/**
 * Opens the first device that has enough room. The call first considers the same
 * data as ferrum_backend_select. It then opens the device and checks the memory
 * that the device itself reports. It skips a device that cannot be opened or has
 * too little memory. The device must be closed by ferrum_device_close.
 *
 * @param choice_out  may be NULL.
 * @return the same as ferrum_backend_select. No device stays open after an error.
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
 * Returns whether a number of bytes fits into a device, with the rule of
 * ferrum_backend_select.
 *
 * @param fits_out  1 or 0.
 * @return FERRUM_ERROR_DEVICE_NOT_FOUND; FERRUM_ERROR_BACKEND_UNAVAILABLE, with the
 *         reason in the message, for a device of a backend that is not available.
 *
 * @bool fits_out
 */
FERRUM_API ferrum_status ferrum_device_can_fit(const char *id, uint64_t bytes,
                                               uint32_t *fits_out);

/** Memory and processor of this machine.
 *  @go library.HostInfo */
typedef struct ferrum_host_info {
    uint32_t struct_size;
    /** 1 if available_bytes is known, else 0.
     *  @bool */
    uint32_t available_known;
    /** Memory that this process may use: the memory of the machine or of its
     *  control group, whichever is less; 0 means unknown.
     *  @none 0 */
    uint64_t total_bytes;
    /** The part of total_bytes that can still be used.
     *  @if available_known */
    uint64_t available_bytes;
    /** Model of the processor, or "Unknown CPU".
     *  @go Processor */
    char cpu_name[128];
} ferrum_host_info;

/* clang-format off */
#define FERRUM_HOST_INFO_INIT {FERRUM_SIZE_OF(ferrum_host_info), 0, 0, 0, {0}}
/* clang-format on */

/** Reads memory and processor of this machine. Works also before ferrum_init.
 *  @stateless
 *  @infallible */
FERRUM_API ferrum_status ferrum_host_get_info(ferrum_host_info *info_out);

/** An address of the device is also a pointer of the host. */
#define FERRUM_CAPABILITY_HOST_ADDRESSABLE (UINT64_C(1) << 0)
/** The device copies directly from other devices of its backend. */
#define FERRUM_CAPABILITY_PEER (UINT64_C(1) << 1)
/** Virtual and elastic pools work on the device. */
#define FERRUM_CAPABILITY_VIRTUAL_MEMORY (UINT64_C(1) << 2)
/** The device supports FERRUM_MEMORY_PINNED and FERRUM_MEMORY_MAPPED, within the
 *  limits of the system. */
#define FERRUM_CAPABILITY_PINNED_MEMORY (UINT64_C(1) << 3)
/** ferrum_manager_create_mapping() works between the device and others of its backend. */
#define FERRUM_CAPABILITY_LINKED_MEMORY (UINT64_C(1) << 4)
/** Virtual pools can have FERRUM_BACKING_SHAREABLE, and ferrum_manager_import_pages() works. */
#define FERRUM_CAPABILITY_EXPORTED_PAGES (UINT64_C(1) << 5)
/** ferrum_device_share_memory() and ferrum_event_share() work between processes. */
#define FERRUM_CAPABILITY_SHARED_MEMORY (UINT64_C(1) << 6)
/** ferrum_pool_capture_begin() works: streams can be captured. */
#define FERRUM_CAPABILITY_CAPTURE (UINT64_C(1) << 7)
/** FERRUM_MEMORY_MANAGED is memory that migrates to the processor that uses it. On
 *  a device without this capability, managed memory is memory of the device itself
 *  if the device is FERRUM_CAPABILITY_HOST_ADDRESSABLE; otherwise it is not
 *  supported. */
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
    /** Capacity; 0 means unknown.
     *  @none 0 */
    uint64_t total_bytes;
    /** The size of every segment is a multiple of this. */
    uint64_t granularity_bytes;
    /** The address of every segment is a multiple of this. */
    uint64_t alignment_bytes;
    /** For example "cpu:0".
     *  @go ID.String() */
    char id[32];
    /** For example "cpu".
     *  @words ferrum_backend
     *  @go ID.Backend */
    char backend[32];
    /** Name of the hardware. */
    char name[128];
} ferrum_device_info;

/* clang-format off */
#define FERRUM_DEVICE_INFO_INIT {FERRUM_SIZE_OF(ferrum_device_info), 0, 0, 0, 0, 0, {0}, {0}, {0}}
/* clang-format on */

/**
 * Opens a device. If the device is open already, the call returns the same handle.
 * Each call must be undone by one ferrum_device_close.
 *
 * @param id  "cpu:0"; "cpu" alone means "cpu:0". A CUDA device can also be named by
 *                its UUID, "cuda:GPU-...", and by its PCI address,
 *                "cuda:0000:65:00.0".
 * @return FERRUM_ERROR_DEVICE_NOT_FOUND when no device has this id;
 *         FERRUM_ERROR_INVALID_ARGUMENT for a malformed id.
 *
 * @opens
 */
FERRUM_API ferrum_status ferrum_device_open(const char *id,
                                            ferrum_device *device_out);

/**
 * Undoes one ferrum_device_open. The last call closes the device. It waits for
 * running callbacks of the device that removed themselves, unless it is called from
 * inside a callback.
 *
 * @param flags  0 or FERRUM_FORCE.
 * @return FERRUM_ERROR_BUSY, and nothing has changed, when the device still has
 *         pools of any kind, managers, streams, events or registrations. The
 *         message names the registrations; those of a model or a fallback manager
 *         that has ended come first.
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
 * Waits until no stream of the device has queued work.
 *
 * @param timeout_ns  nanoseconds, or FERRUM_WAIT_FOREVER; 0 only checks.
 * @return FERRUM_ERROR_TIMEOUT when the work takes longer;
 *         FERRUM_ERROR_INVALID_STATE when the work of all other streams has
 *         completed and some streams are capturing. A capturing stream cannot be
 *         waited for.
 *
 * @waits
 */
FERRUM_API ferrum_status ferrum_device_synchronize(ferrum_device device,
                                                   uint64_t timeout_ns);

/**
 * Limits the memory that this library holds from the device, for all pools and
 * managers together. 0 removes the limit. A limit below the held memory releases
 * cached memory. Live blocks stay, and no further memory is allocated from the
 * device until the held memory is below the limit.
 *
 * A limit below the capacity is the total of ferrum_memory_info. Utilization, pressure
 * levels, pressure callbacks, monitors, placement, gc_threshold and gpu_memory_fraction
 * are computed from it. If a new limit changes the level, pressure callbacks are called.
 * @none limit_bytes 0
 */
FERRUM_API ferrum_status ferrum_device_set_limit(ferrum_device device,
                                                 uint64_t limit_bytes);

/**
 * Measures the copy bandwidth of the device by timed copies between two temporary
 * segments of at most 64 MiB each. The call takes some tens of milliseconds and
 * then releases the segments. From then on ferrum_device_get_memory_info reports
 * the bandwidth.
 *
 * @param gbps_out  10^9 copied bytes per second.
 *
 * @waits
 */
FERRUM_API ferrum_status ferrum_device_measure_bandwidth(ferrum_device device,
                                                         double *gbps_out);

#ifdef __cplusplus
}
#endif

#endif /* FERRUM_MEM_DEVICES_H */
