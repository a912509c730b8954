/*
 * Sharing with contexts of the program, other devices and other processes.
 * A part of ferrum_mem.h, which programs include, and which has the rules that hold for all.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef FERRUM_MEM_SHARING_H
#define FERRUM_MEM_SHARING_H

#include "base.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Opens a device on a context that the program created in the runtime of the
 * device's vendor, such as a CUcontext. The program must keep the context until the
 * device is closed. The library uses only this context for the device, and closing
 * the device does not destroy it. ferrum_device_open of a device that is open
 * returns its handle, with either kind of context.
 *
 * @param id  as for ferrum_device_open.
 * @param native_context  the handle as a number, not 0. An invalid handle may end
 *                the process inside the vendor's library.
 * @return FERRUM_ERROR_ALREADY_EXISTS for a device that is open on another context;
 *         FERRUM_ERROR_INVALID_ARGUMENT for a context of another device, or one
 *         that was destroyed; FERRUM_ERROR_UNSUPPORTED for a backend without
 *         contexts.
 *
 * @opens
 */
FERRUM_API ferrum_status ferrum_device_open_native(const char *id,
                                                   uint64_t native_context,
                                                   ferrum_device *device_out);

/**
 * Returns the context that the library uses for a device, such as the CUcontext.
 * The library owns it, and destroys it when the device is closed.
 *
 * @return FERRUM_ERROR_UNSUPPORTED for a backend without such handles.
 *
 * @by-hand python native_handle() asks objects of all kinds
 */
FERRUM_API ferrum_status ferrum_device_get_native(ferrum_device device,
                                                  uint64_t *native_out);

/** The same as ferrum_device_get_native, for a stream: for example the CUstream.
 *  @by-hand python native_handle() asks objects of all kinds
 *  @go factory.StreamNative */
FERRUM_API ferrum_status ferrum_stream_get_native(ferrum_stream stream,
                                                  uint64_t *native_out);

/** The same as ferrum_device_get_native, for an event: for example the CUevent,
 *  which has been recorded. The program may wait for it, and must not record it
 *  again.
 *  @by-hand python native_handle() asks objects of all kinds
 *  @go factory.EventNative */
FERRUM_API ferrum_status ferrum_event_get_native(ferrum_event event,
                                                 uint64_t *native_out);

/**
 * Allows work of another device, such as a kernel that the library does not know
 * of, to use the memory of a device: its allocations, and memory that is mapped in
 * virtual memory now and later, with the access rights of the device itself. The
 * access ends when one of the devices is closed. On devices whose memory the
 * process can address, the call has no effect.
 *
 * @param peer  the device that gets the access.
 * @return FERRUM_ERROR_UNSUPPORTED when the peer cannot reach the memory of the
 *         device; FERRUM_ERROR_INVALID_ARGUMENT for the device itself.
 */
FERRUM_API ferrum_status ferrum_device_grant_peer(ferrum_device device,
                                                  ferrum_device peer);

/**
 * Creates a file descriptor for each page of a range of a virtual pool with
 * FERRUM_BACKING_SHAREABLE, in order: for all pages, or for none on failure. The
 * caller closes them. Another process gets the descriptors through a socket or by
 * inheritance, and maps the same memory with ferrum_manager_import_pages. The
 * memory is released to the system when no process uses it.
 *
 * When the range is freed, its pages stay in the pool, which reuses them for its
 * next ranges. Importing processes must free their blocks before that.
 *
 * @param offset_bytes,size_bytes  whole pages, all of them mapped.
 * @param descriptors_out  room for capacity descriptors; may be NULL when capacity
 *                is 0.
 * @param count_out  number of pages.
 * @return FERRUM_ERROR_BUFFER_TOO_SMALL, with *count_out set and no descriptor
 *         created, when capacity is too small; FERRUM_ERROR_INVALID_ARGUMENT for a
 *         pool with another backing; FERRUM_ERROR_INVALID_OFFSET,
 *         FERRUM_ERROR_INVALID_SIZE, FERRUM_ERROR_NOT_MAPPED.
 *
 * @by-hand cpp its name is a word of the language
 * @fills descriptors_out
 * @by-hand rust each file has an owner
 */
FERRUM_API ferrum_status ferrum_vpool_export(
    ferrum_vpool vpool, uint64_t offset_bytes, uint64_t size_bytes,
    int32_t *descriptors_out, size_t capacity, size_t *count_out);

/**
 * The same as ferrum_vpool_export, with fabric handles: bytes that name the pages
 * also for processes on other hosts, as far as a fabric connects them (NVLink
 * between hosts). They can be sent in any way and need not be closed. A handle does
 * not keep the memory allocated. For a pool with FERRUM_BACKING_FABRIC.
 *
 * @param offset_bytes,size_bytes  whole pages, all of them mapped.
 * @param handles_out  room for capacity bytes; may be NULL when capacity is 0. Each
 *                page has FERRUM_FABRIC_HANDLE_BYTES bytes, in order.
 * @param count_out  number of bytes.
 * @return FERRUM_ERROR_BUFFER_TOO_SMALL, with *count_out set and no handle created,
 *         when capacity is too small; FERRUM_ERROR_INVALID_ARGUMENT for a pool with
 *         another backing; FERRUM_ERROR_INVALID_OFFSET, FERRUM_ERROR_INVALID_SIZE,
 *         FERRUM_ERROR_NOT_MAPPED.
 *
 * @fills handles_out
 * @by-hand python its handles are one text
 * @by-hand rust its handles are one text
 */
FERRUM_API ferrum_status ferrum_vpool_export_fabric(
    ferrum_vpool vpool, uint64_t offset_bytes, uint64_t size_bytes,
    uint8_t *handles_out, size_t capacity, size_t *count_out);

/** Number of bytes of the handle of one page. */
#define FERRUM_FABRIC_HANDLE_BYTES 64

/** Pages that a process exported, by file descriptors or by fabric handles.
 *  @by-hand rust refers to a list of files
 *  @go manager.Importation */
typedef struct ferrum_page_import {
    uint32_t struct_size;
    uint32_t reserved;
    /** A descriptor for each page, in the order of the addresses. They stay the
     *  caller's.
     *  @go Files
     *  @list count 1048576 */
    const int32_t *descriptors;
    /** Number of pages. */
    uint64_t count;
    /** Page size of the pool that exported the pages, exactly. */
    uint64_t page_bytes;
    /** Name for the counters, at most 63 bytes; NULL: none. */
    const char *tag;
    /** The handles of ferrum_vpool_export_fabric, in the order of the addresses;
     *  NULL: use the descriptors.
     *  @list fabric_handle_bytes 4194304 */
    const uint8_t *fabric_handles;
    /** FERRUM_FABRIC_HANDLE_BYTES for each page. */
    uint64_t fabric_handle_bytes;
} ferrum_page_import;

/* clang-format off */
#define FERRUM_PAGE_IMPORT_INIT {FERRUM_SIZE_OF(ferrum_page_import), 0, NULL, 0, 0, NULL, NULL, 0}
/* clang-format on */

/**
 * Maps pages of another process, or of this one, as a readable and writable block
 * at an address of the manager's device (ferrum_memory_get_handle_info). The block
 * is used like any other block and counts as adopted memory. ferrum_memory_free
 * ends it, and returns FERRUM_ERROR_BUSY while queued work uses it. One descriptor or
 * handle can be imported several times. Only the process that created the pages can
 * export them.
 *
 * @return FERRUM_ERROR_INVALID_ARGUMENT for no pages, for descriptors and handles
 *         at once, for a descriptor that is closed, is not of exported memory or is
 *         of another device's memory, and for a handle that names no memory;
 *         FERRUM_ERROR_INVALID_PAGE_SIZE; FERRUM_ERROR_UNSUPPORTED for a device
 *         without FERRUM_CAPABILITY_EXPORTED_PAGES, or for handles without
 *         FERRUM_CAPABILITY_FABRIC_PAGES.
 *
 * @go .Import
 */
FERRUM_API ferrum_status ferrum_manager_import_pages(
    ferrum_manager manager, const ferrum_page_import *pages,
    ferrum_memory *memory_out);

/** A range of device memory of one process, as bytes that name it in another
 *  process.
 *  @by-hand python its handle is text
 *  @go device.SharedMemory */
typedef struct ferrum_shared_memory {
    uint32_t struct_size;
    uint32_t reserved;
    /** Start of the range in the memory that the handle names. */
    uint64_t offset_bytes;
    /** Its size. */
    uint64_t size_bytes;
    /** Opaque. */
    uint8_t handle[64];
} ferrum_shared_memory;

/* clang-format off */
#define FERRUM_SHARED_MEMORY_INIT {FERRUM_SIZE_OF(ferrum_shared_memory), 0, 0, 0, {0}}
/* clang-format on */

/**
 * Describes a range of plain device memory for other processes, with the vendor's
 * handles (CUDA's IPC). Memory of paged pools has no such handle: use
 * ferrum_vpool_export, or a pool with FERRUM_PAGING_OFF, which has plain memory.
 * The memory stays allocated while other processes have it open.
 *
 * @return FERRUM_ERROR_INVALID_ADDRESS for a range that is not inside one segment;
 *         FERRUM_ERROR_UNSUPPORTED for a device without
 *         FERRUM_CAPABILITY_SHARED_MEMORY.
 *
 * @by-hand rust on Unix only
 * @form python share_memory()
 * @by-hand python its result has a class
 */
FERRUM_API ferrum_status ferrum_device_share_memory(
    ferrum_device device, ferrum_address address, uint64_t size_bytes,
    ferrum_shared_memory *shared_out);

/**
 * Opens memory that another process shared, as a block. The block is used like any
 * other block and counts as adopted memory. ferrum_memory_free ends it, and returns
 * FERRUM_ERROR_BUSY while queued work uses it.
 *
 * @param tag  name for the counters, at most 63 bytes; NULL: none.
 * @return FERRUM_ERROR_INVALID_ARGUMENT for memory that does not exist any more,
 *         and for bytes that name no memory; FERRUM_ERROR_INVALID_STATE for memory
 *         of this process; FERRUM_ERROR_INVALID_SIZE for a range beyond the memory;
 *         FERRUM_ERROR_ALREADY_EXISTS for memory that is open already.
 *
 * @optional tag
 */
FERRUM_API ferrum_status ferrum_manager_import_memory(
    ferrum_manager manager, const ferrum_shared_memory *shared, const char *tag,
    ferrum_memory *memory_out);

/** An event of one process, as bytes that name it in another process.
 *  @by-hand python its handle is text
 *  @by-hand rust is its bytes
 *  @go library.SharedEvent */
typedef struct ferrum_shared_event {
    uint32_t struct_size;
    uint32_t reserved;
    /** Opaque. */
    uint8_t handle[64];
} ferrum_shared_event;

/* clang-format off */
#define FERRUM_SHARED_EVENT_INIT {FERRUM_SIZE_OF(ferrum_shared_event), 0, {0}}
/* clang-format on */

/**
 * Records an event that other processes can open. It is kept until they have opened
 * it.
 *
 * @return FERRUM_ERROR_UNSUPPORTED for a device without
 *         FERRUM_CAPABILITY_SHARED_MEMORY.
 *
 * @form python SharedEvent()
 */
FERRUM_API ferrum_status ferrum_event_share(ferrum_stream stream,
                                            ferrum_shared_event *shared_out,
                                            ferrum_event *event_out);

/**
 * Gives a handle to an event that another process shared, for every call that takes
 * an event.
 *
 * @return FERRUM_ERROR_INVALID_ARGUMENT for an event that does not exist any more,
 *         and for bytes that name no event; FERRUM_ERROR_INVALID_STATE for an event
 *         of this process.
 */
FERRUM_API ferrum_status ferrum_event_open(ferrum_device device,
                                           const ferrum_shared_event *shared,
                                           ferrum_event *event_out);

#ifdef __cplusplus
}
#endif

#endif /* FERRUM_MEM_SHARING_H */
