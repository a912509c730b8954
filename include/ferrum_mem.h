/*
 * ferrum_mem: the memory system of an LLM inference engine, as one C library.
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Programs include this header alone. It is the whole C ABI and its reference, in parts:
 *
 *   ferrum_mem/base.h        Version, status codes, handles, and the library itself: start, stop, errors, log.
 *   ferrum_mem/devices.h     Backends and devices: lists, capabilities, and calls that open and close devices.
 *   ferrum_mem/books.h       Counters: memory information, statistics, snapshots and leaks.
 *   ferrum_mem/streams.h     Streams and events: queues of work, and points in these queues.
 *   ferrum_mem/pools.h       Pools: blocks by address, in the order of streams.
 *   ferrum_mem/managers.h    Managers: blocks by handle, which the library may move.
 *   ferrum_mem/callbacks.h   Callbacks of a device: pressure and reclaim.
 *   ferrum_mem/virtual.h     Virtual pools: reserved address space into which memory is mapped.
 *   ferrum_mem/elastic.h     Elastic pools: several models under one physical limit.
 *   ferrum_mem/sleep.h       Sleep and wake of virtual pools and models.
 *   ferrum_mem/monitor.h     Placement over several devices, and the monitor over several managers.
 *   ferrum_mem/estimate.h    Estimates of the memory of a model.
 *   ferrum_mem/dtype.h       The types of the elements of tensors and buffers.
 *   ferrum_mem/fallback.h    Fallback managers: buffers that fall back to the host, with their trackers, generic pools, settings and size helpers.
 *   ferrum_mem/mapping.h     Mappings, linked blocks, hints, and external memory, for managers.
 *   ferrum_mem/sharing.h     Sharing with contexts of the program, other devices and other processes.
 *   ferrum_mem/weights.h     Weights: files of tensors, and loads of tensors into memory of devices.
 *   ferrum_mem/tensor.h      Tensors: memory with a type, a shape and strides; views, copies, DLPack.
 *   ferrum_mem/compute.h     Compute: backends, operations on tensors, sequences of operations.
 *   ferrum_mem/layers.h      Layers: layer types of the program in models.
 *   ferrum_mem/executors.h   Executors: models that are built from files, planned and run.
 *
 * Rules for every function:
 *
 *   Result.    Every function that can fail returns a ferrum_status: 0 is success,
 *              errors are negative. Results are in the trailing *_out parameters,
 *              which are zero after a failure. If a required pointer is NULL, the call
 *              returns FERRUM_ERROR_NULL_POINTER.
 *   Errors.    The detail of a failure is kept per thread; ferrum_last_error copies
 *              it out. A failed call changes nothing, unless its comment states
 *              otherwise.
 *   Threads.   Every function may be called from any thread, at any time, unless
 *              its comment states otherwise.
 *   Memory.    The library never returns memory that the caller must free. It keeps
 *              no pointer of the caller after a call, except where a comment
 *              states that. Text is UTF-8.
 *   Handles.   A handle is one 64-bit word with its kind and its generation. A call
 *              with 0, a handle of another kind, a destroyed handle or an invented
 *              number returns FERRUM_ERROR_INVALID_HANDLE and never crashes. {0} as an
 *              *optional* stream means the default stream of the device that the call
 *              works on.
 *   Ending.    A call that destroys, closes, frees, removes or unregisters an object
 *              without FERRUM_FORCE either ends the object, or returns
 *              FERRUM_ERROR_BUSY and changes nothing; the message states what still
 *              uses the object. The library decides between the two in one step.
 *              Calls of other threads before that step are served as usual; calls
 *              after the end return FERRUM_ERROR_INVALID_HANDLE. When a device fails
 *              to release something, the call returns that error. What the device
 *              did not release stays as it was, and the call may be repeated.
 *   Structs.   Initialize a struct that starts with struct_size with its
 *              FERRUM_*_INIT macro. A smaller struct_size comes from an older caller:
 *              the missing fields have their defaults. A larger one is accepted if
 *              the fields that this library does not know are zero. Reserved fields
 *              and unknown flags must be zero. The library fills a result struct up
 *              to the caller's struct_size. After a failure its fields are zero.
 *   Fork.      In a child made by fork() every call returns FERRUM_ERROR_FORKED,
 *              except for the version, status text and last-error queries.
 *   Defects.   When the library finds its own state broken, it returns
 *              FERRUM_ERROR_INTERNAL. From then on every call except those queries
 *              returns FERRUM_ERROR_POISONED.
 *   Sizes.     Bytes, unless the name states another unit.
 */
#ifndef FERRUM_MEM_H
#define FERRUM_MEM_H

/* In the order in which one builds on another. */
/* clang-format off */
#include "ferrum_mem/base.h"
#include "ferrum_mem/devices.h"
#include "ferrum_mem/books.h"
#include "ferrum_mem/streams.h"
#include "ferrum_mem/pools.h"
#include "ferrum_mem/managers.h"
#include "ferrum_mem/callbacks.h"
#include "ferrum_mem/virtual.h"
#include "ferrum_mem/elastic.h"
#include "ferrum_mem/sleep.h"
#include "ferrum_mem/monitor.h"
#include "ferrum_mem/estimate.h"
#include "ferrum_mem/dtype.h"
#include "ferrum_mem/fallback.h"
#include "ferrum_mem/mapping.h"
#include "ferrum_mem/sharing.h"
#include "ferrum_mem/weights.h"
#include "ferrum_mem/tensor.h"
#include "ferrum_mem/kv_cache.h"
#include "ferrum_mem/compute.h"
#include "ferrum_mem/layers.h"
#include "ferrum_mem/executors.h"
#include "ferrum_mem/passes.h"
/* clang-format on */

#endif /* FERRUM_MEM_H */
