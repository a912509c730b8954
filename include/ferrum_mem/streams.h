/*
 * Streams and events: queues of work, and points in these queues.
 * A part of ferrum_mem.h, which programs include, and which has the rules that hold for all.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef FERRUM_MEM_STREAMS_H
#define FERRUM_MEM_STREAMS_H

#include "base.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Creates a stream on a device. The thread of the stream starts with the first
 * work.
 *
 * @opens
 */
FERRUM_API ferrum_status ferrum_stream_create(ferrum_device device,
                                              ferrum_stream *stream_out);

/**
 * Destroys a stream.
 *
 * @param flags  0, or FERRUM_FORCE: wait for the work of the stream, then destroy
 *                it.
 * @return FERRUM_ERROR_BUSY, and nothing has changed, while work is queued;
 *         FERRUM_ERROR_INVALID_ARGUMENT for the default stream of a device, which
 *         ends with its device.
 *
 * @waits
 * @ends
 * @go lib.StreamDestroy
 */
FERRUM_API ferrum_status ferrum_stream_destroy(ferrum_stream stream,
                                               uint32_t flags);

/**
 * Returns the default stream of a device: the same handle each time.
 *
 * @borrowed stream_out
 */
FERRUM_API ferrum_status ferrum_stream_default(ferrum_device device,
                                               ferrum_stream *stream_out);

/**
 * Waits until all work that was queued before the call has completed. Returns the
 * first failure of queued work since the last ferrum_stream_synchronize.
 *
 * @param timeout_ns  nanoseconds, or FERRUM_WAIT_FOREVER; 0 only checks.
 * @return FERRUM_ERROR_TIMEOUT when the work takes longer.
 *
 * @waits
 * @by-hand python a failure of queued work is raised
 * @go factory.SynchronizeStream
 */
FERRUM_API ferrum_status ferrum_stream_synchronize(ferrum_stream stream,
                                                   uint64_t timeout_ns);

/**
 * Returns without waiting whether all work queued so far has completed (1) or not
 * (0).
 *
 * @bool ready_out
 * @go factory.IsStreamReady
 */
FERRUM_API ferrum_status ferrum_stream_is_ready(ferrum_stream stream,
                                                uint32_t *ready_out);

/** A function of the caller that runs as work of a stream. Runs on a thread of the
 *  library, in the order of the stream, with no lock held. It may call the library,
 *  except for functions that may wait for a stream: synchronize, copy (also
 *  ferrum_memory_copy_async, which waits for a transfer slot), read, write, map,
 *  unmap, defragment, measure, destroy, close and ferrum_shutdown return
 *  FERRUM_ERROR_INVALID_STATE in it. An allocation in it does not wait for memory. */
typedef void (*ferrum_host_fn)(void *user_data);

/**
 * Queues a call of the caller's function on a stream.
 *
 * @return FERRUM_ERROR_RESOURCE_EXHAUSTED when 1,048,576 queued calls of the stream
 *         have not begun. The same status, or the status for the error of the
 *         system, when no thread is available for the function; docs/hosts.md states
 *         how many threads are kept.
 *
 * @by-hand go it hands on a function of the caller
 */
FERRUM_API ferrum_status ferrum_stream_host_function(ferrum_stream stream,
                                                     ferrum_host_fn function,
                                                     void *user_data);

/** A copy by address, within one device.
 *  @go device.Move */
typedef struct ferrum_address_copy {
    /** Address of the first byte to read.
     *  @go Src */
    ferrum_address source;
    /** Address of the first byte to write.
     *  @go Dst */
    ferrum_address destination;
    /** Number of bytes; not 0. */
    uint64_t size_bytes;
} ferrum_address_copy;

/**
 * Queues many copies by address on a stream and returns. Use it for example for KV
 * blocks that move from one table to another. All copies are within the device of
 * the stream. The call checks every copy before it queues the first one.
 *
 * The copies run in an undefined order. A destination must not overlap the source
 * or the destination of another copy. Sources may overlap. The source and the
 * destination of one copy may overlap, as with memmove.
 *
 * The memory must stay allocated and mapped until the copies have completed. Free
 * it on this stream, or record the stream first, for example with
 * ferrum_pool_record_stream.
 *
 * @param count  at most FERRUM_BATCH_MAX; 0 queues nothing.
 * @return an error that names the first wrong copy by its index, such as copies[3]:
 *         FERRUM_ERROR_INVALID_SIZE for a size of 0; FERRUM_ERROR_OVERFLOW;
 *         FERRUM_ERROR_INVALID_ARGUMENT for an overlap;
 *         FERRUM_ERROR_INVALID_ADDRESS for memory of another device, or that is not
 *         mapped. Nothing is queued then, and nothing is queued after
 *         FERRUM_ERROR_RESOURCE_EXHAUSTED, when the queue has no room for all of
 *         them. When the vendor's runtime fails a copy, the error states how many
 *         copies were queued before it.
 *
 * @by-hand python it takes tuples
 * @by-hand rust unsafe, for it writes by address
 * @go factory.CopyBatch
 */
FERRUM_API ferrum_status ferrum_stream_copy_batch(
    ferrum_stream stream, const ferrum_address_copy *copies, uint64_t count);

/** Records a new event at the present end of the stream's queue.
 *  @go factory.RecordEvent */
FERRUM_API ferrum_status ferrum_event_record(ferrum_stream stream,
                                             ferrum_event *event_out);

/**
 * Destroys an event. Streams that wait for the event still wait for it.
 *
 * @ends
 * @go factory.DestroyEvent
 */
FERRUM_API ferrum_status ferrum_event_destroy(ferrum_event event);

/**
 * Returns without waiting whether the event has completed (1) or not (0).
 *
 * @bool ready_out
 * @go factory.IsEventReady
 */
FERRUM_API ferrum_status ferrum_event_is_ready(ferrum_event event,
                                               uint32_t *ready_out);

/**
 * Waits until the event has completed.
 *
 * @param timeout_ns  nanoseconds, or FERRUM_WAIT_FOREVER; 0 only checks.
 * @return FERRUM_ERROR_TIMEOUT when the event takes longer.
 *
 * @waits
 * @go factory.SynchronizeEvent
 */
FERRUM_API ferrum_status ferrum_event_synchronize(ferrum_event event,
                                                  uint64_t timeout_ns);

/**
 * Returns the time between two events of one device, with the resolution of the
 * device. CUDA measures in single precision.
 *
 * @param elapsed_ns_out  nanoseconds from start to end; negative when end completed
 *                first.
 * @return FERRUM_ERROR_INVALID_STATE when one of the events has not completed;
 *         FERRUM_ERROR_INVALID_ARGUMENT when they belong to two devices.
 *
 * @by-hand python whole nanoseconds, as clocks of the module time give them
 * @by-hand rust its name says the unit
 * @go factory.EventElapsed
 */
FERRUM_API ferrum_status ferrum_event_elapsed(ferrum_event start,
                                              ferrum_event end,
                                              int64_t *elapsed_ns_out);

/**
 * Makes all later work of the stream wait for the event. The event may belong to
 * another stream, or to another device of the same backend.
 *
 * @return FERRUM_ERROR_UNSUPPORTED for an event of another backend.
 *
 * @go factory.WaitEvent
 */
FERRUM_API ferrum_status ferrum_stream_wait_event(ferrum_stream stream,
                                                  ferrum_event event);

#ifdef __cplusplus
}
#endif

#endif /* FERRUM_MEM_STREAMS_H */
