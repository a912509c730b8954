/* Streams that the library did not create: a thread with a queue on the
 * host, and a stream of the driver on other devices. A test adopts them,
 * queues work that the library does not know, and on CUDA captures them. */
#ifndef FERRUM_TESTS_NATIVE_STREAM_H
#define FERRUM_TESTS_NATIVE_STREAM_H

#include <stdbool.h>

#include "ferrum_mem.h"

typedef struct native_stream native_stream;

/** Creates a stream on the first device. */
native_stream *native_stream_make(void);
/** The driver's default stream of the calling thread. The driver has one for
 *  each thread behind the same handle. NULL on the host. */
native_stream *native_stream_of_threads(void);
/** The argument of ferrum_stream_adopt. */
ferrum_foreign_stream native_stream_foreign(native_stream *stream);
/** Ends the stream after its queued work. */
void native_stream_end(native_stream *stream);

/* --- CUDA only ------------------------------------------------------------------ */

/** Allows this thread any call of the driver while another thread captures. */
void native_relax(void);
/** Destroys the driver's stream while its handle is still in use elsewhere. */
void native_stream_drop(native_stream *stream);
/** Modes of the driver: 0 global, 1 thread-local, 2 relaxed. */
void native_capture_begin(native_stream *stream, int mode);
/** Whether the capture is active and valid. */
bool native_captures(native_stream *stream);
/** Ends the capture and destroys its graph. Returns the driver's code. */
int native_capture_end(native_stream *stream);
/** A new event of the driver, recorded on the stream. */
void *native_event_record(native_stream *stream);
/** Makes the stream wait for all work that is queued on another stream of
 *  the driver. */
void native_stream_join(native_stream *stream, uint64_t other);
void native_event_end(void *event);
/** Fills memory of one device from the context of another, and waits.
 *  Returns the driver's code. */
int native_fill_in(uint64_t context, uint64_t address, uint64_t size);
/** Prints the documented rules of the driver that calls have broken so far,
 *  if the driver is the simulated one, which knows them. */
void native_print_violations(void);

#endif
