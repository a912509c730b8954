/* One live object of every kind, and one dead handle of every kind. */
#ifndef FERRUM_TESTS_FIXTURE_H
#define FERRUM_TESTS_FIXTURE_H

#include <pthread.h>

#include "ferrum_mem.h"

enum kind {
    DEVICE,
    STREAM,
    EVENT,
    POOL,
    MANAGER,
    MEMORY,
    REGISTRATION,
    VPOOL,
    ELASTIC_POOL,
    MONITOR,
    PLACEMENT,
    FALLBACK_MANAGER,
    FALLBACK_BUFFER,
    TRACKER,
    GENERIC_POOL,
    KINDS
};

typedef struct {
    ferrum_device device, other_device;
    ferrum_stream stream, other_stream;
    ferrum_event event;
    ferrum_pool pool;
    ferrum_address block;
    ferrum_manager manager;
    ferrum_memory memory;
    ferrum_registration registration;
    /* 64 MiB in pages of 64 KiB with a limit of 16 MiB; range is at offset 0. */
    ferrum_vpool vpool;
    ferrum_address range;
    /* The same limit and pages; the model "chat" has the same range of 64 MiB. */
    ferrum_elastic_pool shared;
    ferrum_address shared_range;
    /* Watches nothing, by an interval that is never over. */
    ferrum_monitor monitor;
    /* "best_fit". */
    ferrum_placement placement;
    /* On other_device, falls back to device, tracks; the buffer has 4096 bytes. */
    ferrum_fallback_manager fallback_manager;
    ferrum_fallback_buffer buffer;
    /* Knows Buffer#5 of 100 bytes. */
    ferrum_tracker tracker;
    /* Keeps one per bucket and has one of 100 bytes. */
    ferrum_generic_pool generic;
    uint64_t live[KINDS];
    uint64_t dead[KINDS];
} fixture;

/** Starts the library with two host devices of 256 MiB and makes everything. */
void fixture_make(fixture *f);
/** Destroys everything and stops the library; every step must succeed. */
void fixture_end(fixture *f);
/** Pages, and a range of two of them that does not end with a page. */
#define FIXTURE_PAGE UINT64_C(65536)
#define FIXTURE_RANGE UINT64_C(100000)
/** A gate that holds a stream: queue gate_wait on it with the gate. */
typedef struct {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    int open;
} gate;
#define GATE {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0}
void gate_wait(void *data);
void gate_open(gate *g);
/** Ends the process with a message when a call that must succeed did not. */
void must(ferrum_status status, const char *what);
#define MUST(call) must((call), #call)
/** Checks the status of a call and, when it failed, the thread's record of it; what
 *  is not as it should be goes to wrong. True when the call succeeded. */
int gives(ferrum_status got, ferrum_status want, const char *call,
          void (*wrong)(const char *format, ...));

#endif
