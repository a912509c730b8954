/*
 * ferrum_mem: the memory system of an LLM inference engine, as one C library.
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Programs include this header alone. It is the whole C ABI and its reference, in parts:
 *
 *   ferrum_mem/base.h        Version, status codes, handles, and the library itself: start, stop, errors, log.
 *   ferrum_mem/devices.h     Backends and devices: what there is, what it can do, opening and closing it.
 *   ferrum_mem/books.h       The books: memory information, statistics, snapshots and leaks.
 *   ferrum_mem/streams.h     Streams and events: queues of work and marks in them.
 *   ferrum_mem/pools.h       Pools: memory by address, in the order of streams.
 *   ferrum_mem/managers.h    Managers: memory by handle, which they may move.
 *   ferrum_mem/callbacks.h   Callbacks of a device: pressure and reclaim.
 *   ferrum_mem/virtual.h     Virtual pools: address space with pages that come and go.
 *   ferrum_mem/elastic.h     Elastic pools: several models under one physical limit.
 *   ferrum_mem/sleep.h       Sleep and wake of virtual pools and models.
 *   ferrum_mem/monitor.h     Placement over several devices, and the monitor over several managers.
 *   ferrum_mem/estimate.h    Estimation: does it fit?
 *   ferrum_mem/fallback.h    Fallback managers: buffers that fall back to the host, with their trackers, generic pools, settings and size helpers.
 *   ferrum_mem/mapping.h     Mappings, links, hints, and memory of others, for managers.
 *   ferrum_mem/sharing.h     Contexts of the program, other devices, other processes.
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
#include "ferrum_mem/fallback.h"
#include "ferrum_mem/mapping.h"
#include "ferrum_mem/sharing.h"
/* clang-format on */

#endif /* FERRUM_MEM_H */
