/* Streams that the library did not make: a thread with a queue on the host, one of the
 * driver elsewhere. A test adopts them, queues work behind the library's back, and on
 * CUDA captures them. */
#ifndef FERRUM_TESTS_NATIVE_STREAM_H
#define FERRUM_TESTS_NATIVE_STREAM_H

#include <stdbool.h>

#include "ferrum_mem.h"

typedef struct native_stream native_stream;

/** Makes one on the first device. */
native_stream *native_stream_make(void);
/** The thread's own default stream of the driver, which has one for each thread behind
 *  the same handle; NULL on the host. */
native_stream *native_stream_of_threads(void);
/** What ferrum_stream_adopt takes. */
ferrum_foreign_stream native_stream_foreign(native_stream *stream);
/** Ends it after what is queued on it. */
void native_stream_end(native_stream *stream);

/* --- CUDA only ------------------------------------------------------------------ */

/** Lets this thread make any call of the driver while another one captures. */
void native_relax(void);
/** Destroys the driver's stream while its handle is in use elsewhere. */
void native_stream_drop(native_stream *stream);
/** Modes of the driver: 0 global, 1 of the thread, 2 relaxed. */
void native_capture_begin(native_stream *stream, int mode);
/** Whether the capture is under way and not spoilt. */
bool native_captures(native_stream *stream);
/** Ends the capture and drops its graph; the driver's code. */
int native_capture_end(native_stream *stream);
/** A new event of the driver, recorded on the stream. */
void *native_event_record(native_stream *stream);
/** Has the stream wait for all that was queued on another one of the driver. */
void native_stream_join(native_stream *stream, uint64_t other);
void native_event_end(void *event);
/** Fills memory of one device from the context of another, and waits; the driver's
 *  code. */
int native_fill_in(uint64_t context, uint64_t address, uint64_t size);

#endif
