/*
 * Streams and events: queues of work and marks in them.
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
 * Makes a stream on a device. Its thread starts with its first work.
 *
 * @opens
 */
FERRUM_API ferrum_status ferrum_stream_create(ferrum_device device,
                                              ferrum_stream *stream_out);

/**
 * Destroys a stream.
 *
 * @param flags  0, or FERRUM_FORCE: wait for its work and destroy it.
 * @return FERRUM_ERROR_BUSY, and nothing has changed, while work is queued;
 *         FERRUM_ERROR_INVALID_ARGUMENT
 *         for a device's default stream, which goes with its device.
 *
 * @waits
 * @ends
 * @go lib.StreamDestroy
 */
FERRUM_API ferrum_status ferrum_stream_destroy(ferrum_stream stream,
                                               uint32_t flags);

/**
 * Gives the device's default stream. The same handle each time.
 *
 * @borrowed stream_out
 */
FERRUM_API ferrum_status ferrum_stream_default(ferrum_device device,
                                               ferrum_stream *stream_out);

/**
 * Waits until all work that was queued before the call is done, and returns the
 * first failure of queued work since the last time it was asked.
 *
 * @param timeout_ns  nanoseconds, or FERRUM_WAIT_FOREVER; 0 only asks.
 * @return FERRUM_ERROR_TIMEOUT when it takes longer.
 *
 * @waits
 * @by-hand python a failure of queued work is raised
 * @go factory.SynchronizeStream
 */
FERRUM_API ferrum_status ferrum_stream_synchronize(ferrum_stream stream,
                                                   uint64_t timeout_ns);

/**
 * Says without waiting whether all work queued so far is done (1) or not (0).
 *
 * @bool ready_out
 * @go factory.IsStreamReady
 */
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
 *
 * @by-hand go it hands on a function of the caller
 */
FERRUM_API ferrum_status ferrum_stream_host_function(ferrum_stream stream,
                                                     ferrum_host_fn function,
                                                     void *user_data);

/** Marks the present end of the stream's queue with a new event.
 *  @go factory.RecordEvent */
FERRUM_API ferrum_status ferrum_event_record(ferrum_stream stream,
                                             ferrum_event *event_out);

/**
 * Forgets an event. Streams that wait for it still do.
 *
 * @ends
 * @go factory.DestroyEvent
 */
FERRUM_API ferrum_status ferrum_event_destroy(ferrum_event event);

/**
 * Says without waiting whether the event's point has been passed (1) or not.
 *
 * @bool ready_out
 * @go factory.IsEventReady
 */
FERRUM_API ferrum_status ferrum_event_is_ready(ferrum_event event,
                                               uint32_t *ready_out);

/**
 * Waits until the event's point has been passed.
 *
 * @param timeout_ns  nanoseconds, or FERRUM_WAIT_FOREVER; 0 only asks.
 * @return FERRUM_ERROR_TIMEOUT when it takes longer.
 *
 * @waits
 * @go factory.SynchronizeEvent
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
 * @by-hand python whole nanoseconds, as clocks of the module time give them
 * @by-hand rust its name says the unit
 * @go factory.EventElapsed
 */
FERRUM_API ferrum_status ferrum_event_elapsed(ferrum_event start,
                                              ferrum_event end,
                                              int64_t *elapsed_ns_out);

/**
 * Makes all later work of the stream wait for the event, which may be another
 * stream's, or another device's of the same backend.
 *
 * @return FERRUM_ERROR_UNSUPPORTED for an event of another backend.
 * @go factory.WaitEvent
 */
FERRUM_API ferrum_status ferrum_stream_wait_event(ferrum_stream stream,
                                                  ferrum_event event);

#ifdef __cplusplus
}
#endif

#endif /* FERRUM_MEM_STREAMS_H */
