/* One live object of every kind, and one ended handle of every kind. */
#ifndef FERRUM_TESTS_FIXTURE_H
#define FERRUM_TESTS_FIXTURE_H

#include <pthread.h>

#include "ferrum_mem.h"

/* With the address sanitizer a random program takes three times as long. Then
 * make test runs a third of them, and make soak runs them with new seeds. */
#ifdef __SANITIZE_ADDRESS__
enum { SANITIZER_SHARE = 3 };
#else
enum { SANITIZER_SHARE = 1 };
#endif

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
    WEIGHTS,
    TENSOR_SET,
    TENSOR,
    COMPUTE,
    OP,
    SEQUENCE,
    EXECUTOR,
    KV_CACHE,
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
    /* This monitor never takes a reading, because its interval never ends. */
    ferrum_monitor monitor;
    /* "best_fit". */
    ferrum_placement placement;
    /* Allocates on other_device, falls back to device, and tracks its
     * buffers. The buffer has 4096 bytes. */
    ferrum_fallback_manager fallback_manager;
    ferrum_fallback_buffer buffer;
    /* Has one entry: Buffer#5 of 100 bytes. */
    ferrum_tracker tracker;
    /* Keeps one buffer in each bucket. It holds one buffer of 100 bytes. */
    ferrum_generic_pool generic;
    /* One tensor without elements in memory, and its set in pool. */
    ferrum_weights weights;
    ferrum_tensor_set set;
    /* Of shape [4, 6] and type F32, over static memory. */
    ferrum_tensor tensor;
    /* With one thread on device, an Add of it, and an empty sequence. */
    ferrum_compute compute;
    ferrum_op op;
    ferrum_sequence sequence;
    /* Has a limit of 64 MiB in pages of 64 KiB, and the model of executor,
     * which computes FIXTURE_DEFINITION. */
    ferrum_elastic_pool models;
    ferrum_executor executor;
    /* Without memory: 64 blocks of 4 tokens, 8 blocks of the host, 8 sequences
     * of up to 64 tokens. It has no sequence. */
    ferrum_kv_cache kv_cache;
    uint64_t live[KINDS];
    uint64_t dead[KINDS];
} fixture;

/** Starts the library with two host devices of 256 MiB and creates every
 *  object. */
void fixture_make(fixture *f);
/** Destroys everything and stops the library. Every step must succeed. */
void fixture_end(fixture *f);
/** Loads the library of ONNX Runtime of the environment of the tests. Returns 0
 *  if it is not installed. */
int fixture_loads_onnx_runtime(void);
/** A model: y = x * transpose(weight) + bias, for x of shape [batch, 4]. weight
 *  is [3, 4] and normal, bias is 1. */
extern const char FIXTURE_DEFINITION[];
/** The page size, and a range of two pages that does not end at the end of a
 *  page. */
#define FIXTURE_PAGE UINT64_C(65536)
#define FIXTURE_RANGE UINT64_C(100000)
/** The two arguments of a shape: its lengths and their number. */
#define SHAPE(...) \
    (int64_t[]){__VA_ARGS__}, sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)
/** A gate that blocks a stream: queue gate_wait on the stream with the gate. */
typedef struct {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    int open;
} gate;
#define GATE {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0}
void gate_wait(void *data);
void gate_open(gate *g);
/** Ends the process with a message if a call that must succeed fails. */
void must(ferrum_status status, const char *what);
#define MUST(call) must((call), #call)
/** Checks the status of a call and, if it failed, the thread's error record.
 *  Reports differences by wrong. Returns true if the call succeeded. */
int gives(ferrum_status got, ferrum_status want, const char *call,
          void (*wrong)(const char *format, ...));

#endif
