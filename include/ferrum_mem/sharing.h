/*
 * Contexts of the program, other devices, other processes.
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
 *
 * @opens
 */
FERRUM_API ferrum_status ferrum_device_open_native(const char *id,
                                                   uint64_t native_context,
                                                   ferrum_device *device_out);

/**
 * Gives the context that all is done in on a device, such as the CUcontext. It stays the
 * library's, and is gone when the device is closed.
 *
 * @return FERRUM_ERROR_UNSUPPORTED for a backend without such handles.
 * @by-hand python native_handle() asks objects of all kinds
 */
FERRUM_API ferrum_status ferrum_device_get_native(ferrum_device device,
                                                  uint64_t *native_out);

/** As ferrum_device_get_native, for a stream: such as the CUstream.
 *  @by-hand python native_handle() asks objects of all kinds
 *  @go factory.StreamNative */
FERRUM_API ferrum_status ferrum_stream_get_native(ferrum_stream stream,
                                                  uint64_t *native_out);

/** As ferrum_device_get_native, for an event: such as the CUevent, which has been
 *  recorded. The program may wait for it, and must not record it again.
 *  @by-hand python native_handle() asks objects of all kinds
 *  @go factory.EventNative */
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
 * @by-hand cpp its name is a word of the language
 * @fills descriptors_out
 * @by-hand rust each file has an owner
 */
FERRUM_API ferrum_status ferrum_vpool_export(
    ferrum_vpool vpool, uint64_t offset_bytes, uint64_t size_bytes,
    int32_t *descriptors_out, size_t capacity, size_t *count_out);

/**
 * As ferrum_vpool_export, by fabric handles: bytes that mean the pages in processes of
 * other hosts as well, as far as a fabric connects them (NVLink between hosts). They can be
 * sent in any way, and there is nothing to close; a handle keeps no memory. For a pool with
 * FERRUM_BACKING_FABRIC.
 *
 * @param offset_bytes,size_bytes  whole pages, mapped throughout.
 * @param handles_out              room for capacity bytes; may be NULL when that is 0. Each
 *                                 page has FERRUM_FABRIC_HANDLE_BYTES, in order.
 * @param count_out                how many bytes there are.
 * @return FERRUM_ERROR_BUFFER_TOO_SMALL, with *count_out set and nothing given, when they
 *         do not fit; FERRUM_ERROR_INVALID_ARGUMENT for a pool with another backing;
 *         FERRUM_ERROR_INVALID_OFFSET, FERRUM_ERROR_INVALID_SIZE,
 *         FERRUM_ERROR_NOT_MAPPED.
 * @fills handles_out
 * @by-hand python its handles are one text
 * @by-hand rust its handles are one text
 */
FERRUM_API ferrum_status ferrum_vpool_export_fabric(
    ferrum_vpool vpool, uint64_t offset_bytes, uint64_t size_bytes,
    uint8_t *handles_out, size_t capacity, size_t *count_out);

/** How many bytes name one page. */
#define FERRUM_FABRIC_HANDLE_BYTES 64

/** Pages that a process exported, by descriptors or by fabric handles.
 *  @by-hand rust refers to a list of files
 *  @go manager.Importation */
typedef struct ferrum_page_import {
    uint32_t struct_size;
    uint32_t reserved;
    /** One for each page, in the order in which they are to lie; they stay the
     *  caller's.
     *  @go Files
     *  @list count 1048576 */
    const int32_t *descriptors;
    /** How many pages there are. */
    uint64_t count;
    /** Of the pool that they come from: not less, and not more. */
    uint64_t page_bytes;
    /** Name for the books, at most 63 bytes; NULL: none. */
    const char *tag;
    /** As ferrum_vpool_export_fabric gave them, in the order in which the pages are to lie;
     *  NULL: descriptors.
     *  @list fabric_handle_bytes 4194304 */
    const uint8_t *fabric_handles;
    /** FERRUM_FABRIC_HANDLE_BYTES for each page. */
    uint64_t fabric_handle_bytes;
} ferrum_page_import;

/* clang-format off */
#define FERRUM_PAGE_IMPORT_INIT {FERRUM_SIZE_OF(ferrum_page_import), 0, NULL, 0, 0, NULL, NULL, 0}
/* clang-format on */

/**
 * Gives a handle to pages of another process, or of this one, readable and writable, one
 * after the other at an address of the manager's device (ferrum_memory_get_handle_info). It is
 * used like any other block, and counts as adopted memory. ferrum_memory_free ends it, and
 * is FERRUM_ERROR_BUSY while work is queued on it.
 *
 * @return FERRUM_ERROR_INVALID_ARGUMENT for no pages, for descriptors and handles at once,
 *         and for a descriptor that is closed, of something else, or of another device's
 *         memory, or a handle that names none;
 *         FERRUM_ERROR_INVALID_PAGE_SIZE; FERRUM_ERROR_UNSUPPORTED for a device without
 *         FERRUM_CAPABILITY_EXPORTED_PAGES, or FERRUM_CAPABILITY_FABRIC_PAGES for handles.
 *
 * @go .Import
 */
FERRUM_API ferrum_status ferrum_manager_import_pages(
    ferrum_manager manager, const ferrum_page_import *pages,
    ferrum_memory *memory_out);

/** A range of one process's device memory, as bytes that mean it in another.
 *  @by-hand python its handle is text
 *  @go device.SharedMemory */
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
#define FERRUM_SHARED_MEMORY_INIT {FERRUM_SIZE_OF(ferrum_shared_memory), 0, 0, 0, {0}}
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
 * @by-hand rust on Unix only
 * @form python share_memory()
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
 *
 * @optional tag
 */
FERRUM_API ferrum_status ferrum_manager_import_memory(
    ferrum_manager manager, const ferrum_shared_memory *shared, const char *tag,
    ferrum_memory *memory_out);

/** An event of one process, as bytes that mean it in another.
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
 * Records an event that other processes can open, too. It is kept until they have.
 *
 * @return FERRUM_ERROR_UNSUPPORTED for a device without
 *         FERRUM_CAPABILITY_SHARED_MEMORY.
 * @form python SharedEvent()
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

#endif /* FERRUM_MEM_SHARING_H */
