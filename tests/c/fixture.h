/* One live object of every kind, and one dead handle of every kind. */
#ifndef FERRUM_TESTS_FIXTURE_H
#define FERRUM_TESTS_FIXTURE_H

#include <pthread.h>

#include "ferrum_mem.h"

enum kind { DEVICE, STREAM, EVENT, POOL, MANAGER, MEMORY, REGISTRATION, KINDS };

typedef struct {
    ferrum_device device, other_device;
    ferrum_stream stream, other_stream;
    ferrum_event event;
    ferrum_pool pool;
    ferrum_address block;
    ferrum_manager manager;
    ferrum_memory memory;
    ferrum_registration registration;
    uint64_t live[KINDS];
    uint64_t dead[KINDS];
} fixture;

/** Starts the library with two host devices of 256 MiB and makes everything. */
void fixture_make(fixture *f);
/** Destroys everything and stops the library; every step must succeed. */
void fixture_end(fixture *f);
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
