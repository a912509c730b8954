/* Declarations that the files of the simulated driver share. One lock
 * protects all state. Every call locks it first and unlocks it last. A call
 * unlocks it in between only while it waits, sleeps or calls a function of
 * the application. */
#ifndef SIMCUDA_INTERNAL_H
#define SIMCUDA_INTERNAL_H

/* Declares both the current and the older form of each call, under the
 * names that the library exports. */
#define __CUDA_API_VERSION_INTERNAL 1
#include <cuda.h>

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "rulebook.h"
#include "simcuda.h"

enum {
    MAX_DEVICES = 16,
    MAX_ARGUMENTS = 16,
    STACK_DEPTH = 64,
};

/* Addresses of ranges are multiples of it. Pages have this size too, unless
 * the environment chooses a smaller one. */
#define GRANULARITY ((size_t)2 << 20)
#define PAGE_UNIT (sim.config.page_unit)
#define ROUND_UP(n, to) (((n) + (to) - 1) / (to) * (to))

typedef enum {
    KIND_CONTEXT = 1,
    KIND_STREAM,
    KIND_EVENT,
    KIND_PHYSICAL,
    KIND_POOL,
    KIND_MODULE,
    KIND_FUNCTION,
    KIND_GRAPH,
    KIND_GRAPH_EXEC,
    KIND_GREEN_CONTEXT,
} Kind;

typedef struct Device Device;
typedef struct Context Context;
typedef struct Stream Stream;
typedef struct Event Event;
typedef struct Physical Physical;
typedef struct Pool Pool;
typedef struct Graph Graph;
typedef struct Op Op;

/* The first part of everything that a handle names. Objects are never
 * reused, so the driver recognises the handle of a destroyed object. */
typedef struct Object {
    Kind kind;
    bool alive;
    bool hidden; /* the driver's own: no leak, cannot be destroyed */
    uint64_t handle;
    uint64_t size; /* for the list of leaks */
    Context *context;
    const char *made_by;
} Object;

struct Device {
    int ordinal; /* among the visible devices */
    int number;  /* among all devices */
    uint64_t total, used, others;
    Context *primary;
    unsigned primary_references, primary_flags;
    Pool *default_pool, *pool;
    int physical_fd; /* memory of cuMemCreate that is not shared */
    uint64_t physical_end;
};

struct Context {
    Object object;
    Device *device;
    uint64_t
        number; /* never reused, also not by a primary context created again */
    bool primary;
    unsigned flags;
    CUresult sticky;
    bool recovers; /* with the end of the context, sticky ends too */
    Stream *legacy, *streams;
    bool peers[MAX_DEVICES];
};

/* A point in a stream: all operations up to this ticket. */
typedef struct Place {
    Stream *stream;
    uint64_t ticket;
} Place;

typedef struct Capture Capture;

struct Stream {
    Object object;
    Stream *next_of_context;
    bool non_blocking, legacy, per_thread;
    int priority;
    uint64_t submitted, done;
    Op *head, *tail;
    bool has_worker, ending;
    bool killed; /* with its context: queued work does not run */
    uint64_t random;
    pthread_cond_t wake;
    Capture *capture;
    size_t captured_last; /* 1 + the node after which the stream continues */
    CUgraphNode dependency;
    Object *green; /* the green context that it was created in */
};

struct Event {
    Object object;
    unsigned flags;
    bool recorded;
    Place place;
    Capture *captured; /* recorded inside this capture, node below */
    size_t captured_node;
    uint64_t recorded_at_ns;
    bool foreign; /* opened from another process */
    volatile uint64_t *shared;
    uint64_t shared_wanted;
    int shared_fd;
};

/* One operation of a stream. The worker calls run with the lock held. */
struct Op {
    Op *next;
    const char *name;
    CUresult (*run)(Op *);
    Context *context;
    Stream *stream;
    uint64_t ticket;
    Place *after;
    size_t after_count;
    Context *to_context, *from_context;
    CUdeviceptr to, from;
    bool to_pageable, from_pageable;
    bool even_spoilt; /* runs also after a sticky error */
    size_t size;
    unsigned value, value_size;
    size_t rows, row_size, pitch; /* of a fill */
    void *pointer, *user_data;
    struct Payload *payload;
};

/* Data that an operation owns. A graph and its launches share them. */
typedef struct Payload {
    int references;
    size_t size;
    simcuda_launch launch;
    void *arguments[MAX_ARGUMENTS];
    _Alignas(16) unsigned char bytes[];
} Payload;

typedef struct Mapping {
    CUdeviceptr address;
    size_t size;
    Physical *physical;
    unsigned access[MAX_DEVICES];
} Mapping;

typedef enum {
    RANGE_DEVICE,
    RANGE_RESERVED,
    RANGE_POOL,
    RANGE_HOST,
    RANGE_REGISTERED,
    RANGE_MANAGED,
    RANGE_IPC,
} RangeKind;

/* Addresses that the driver allocated or knows. */
typedef struct Range {
    CUdeviceptr address;
    size_t size; /* as requested */
    CUdeviceptr page;
    size_t pages_size, charged;
    RangeKind kind;
    uint64_t id;
    Context *context;
    Device *device;
    unsigned flags;
    const char *made_by;
    Mapping *mappings;
    size_t mapping_count, mapping_room;
    Pool *pool;
    bool live, freeing, sync_memops;
    unsigned pool_access[MAX_DEVICES];
    Graph *graph;
    struct ManagedAdvice *advice;
    int shared_fd;
    unsigned ipc_opens;
    uint64_t ipc_key[2];
    int ipc_from[2]; /* process and device that created it */
} Range;

struct Physical {
    Object object;
    Device *device;
    size_t size;
    unsigned references, mappings;
    int fd;
    uint64_t offset;
    bool exportable, imported;
    CUmemAllocationProp properties;
};

typedef struct Config {
    int devices;
    uint64_t bytes[MAX_DEVICES], others[MAX_DEVICES];
    int version;
    int init_error;
    size_t page_unit;
    unsigned jitter_us;
    uint64_t seed;
    bool without_vmm, without_pools, without_managed, without_concurrent;
    bool without_peer, without_fd, without_rdma, without_readonly,
        without_fabric, without_ipc, without_mapped, without_unified;
    bool without_register, without_alignment, without_protection;
    bool integrated, mig;
    CUresult stale_stream; /* result of calls with a destroyed stream */
    char name[64];
} Config;

typedef struct Simulation {
    pthread_mutex_t lock;
    pthread_cond_t progress; /* some work has completed or was dropped */
    bool initialised;
    Config config;
    Device devices[MAX_DEVICES];
    int device_count;
    Range **ranges;
    size_t range_count, range_room;
    uint64_t next_id;
} Simulation;

extern Simulation sim;
extern const int simcuda_generation;

/* --- calls (calls.c) ------------------------------------------------------ */

typedef enum {
    NO_INIT = 1,     /* may be called before cuInit */
    IN_CONTEXT = 2,  /* needs a current, live context without a sticky error */
    UNSAFE = 4,      /* forbidden while another captures, by mode */
    IS_RELEASE = 8,  /* releases key: no leak if a fault is injected */
    EVEN_SPOILT = 16 /* with IN_CONTEXT: works after a sticky error */
} CallFlags;
/* The key of the references to the primary context of a device. */
#define REFERENCE_KEY(device) (~(uint64_t)(device))

typedef struct CallSite {
    const char *name;
    uint64_t calls;
    unsigned delay_us;
    struct CallSite *next;
} CallSite;

CUresult call_begin(CallSite *site, const char *name, unsigned flags,
                    uint64_t key);
void call_end(const CUresult *unused);

/* Begins a call: counts it, and holds the lock until the function returns.
 * Returns at once with an error if a fault, the state or the context
 * requires one. */
#define SIM_CALL(flags) SIM_CALL_KEY(flags, 0)
#define SIM_CALL_KEY(flags, key)                                    \
    static CallSite call_site;                                      \
    __attribute__((cleanup(call_end))) const CUresult call_result = \
        call_begin(&call_site, __func__, flags, (uint64_t)(key));   \
    if (call_result != CUDA_SUCCESS)                                \
    return call_result

/* Whether this thread runs a function of the application now. */
extern _Thread_local bool in_callback;

bool error_is_sticky(CUresult code);
bool fault_of_worker(CUresult *code);
void forgive(uint64_t key);
bool is_forgiven(uint64_t key);

/* --- configuration and objects ------------------------------------------- */

void config_read(Config *config);
bool device_is_visible(int number, int *order);
CUresult device_find(CUdevice device, const char *call, Device **found);
#define FIND_DEVICE(device, found)                                     \
    do {                                                               \
        CUresult device_result = device_find(device, __func__, found); \
        if (device_result != CUDA_SUCCESS)                             \
            return device_result;                                      \
    } while (0)

void *object_new(Kind kind, size_t size, Context *context, const char *call);
void *object_find(Kind kind, const void *handle);
void object_end(void *object);
void objects_end_of(Context *context);
void objects_each(void (*visit)(Object *, void *), void *user_data);
const char *kind_name(Kind kind);
uint64_t next_random(uint64_t *state);
uint64_t now_ns(void);

/* --- contexts -------------------------------------------------------------- */

Context *context_current(void);
Context *context_find(CUcontext handle);
Context *context_primary(Device *device);
void context_spoil(Context *context, CUresult code);
void contexts_recover(void);
Stream **thread_stream(Context *context);
CUresult context_retain(Device *device, CUcontext *out, const char *call);
CUresult context_release(Device *device, const char *call);
/* Whether a stream of a green context may be used. */
CUresult green_allows(const Stream *stream, const char *call);

/* --- ranges ---------------------------------------------------------------- */

typedef enum { READ = 1, WRITE = 3 } Access;

CUdeviceptr range_place(size_t size, size_t alignment, CUdeviceptr hint);
Range *range_add(RangeKind kind, CUdeviceptr address, size_t size);
void range_remove(Range *range);
Range *range_find(CUdeviceptr address);
bool range_overlaps(CUdeviceptr address, size_t size);
bool address_is_device(CUdeviceptr address);
char *range_host(CUdeviceptr address);
bool range_back(CUdeviceptr page, size_t size, int fd, uint64_t offset);
void range_unback(CUdeviceptr page, size_t size);
void range_poison(CUdeviceptr address, size_t size);
/* Returns why the context may not access the bytes, or NULL if it may.
 * pending: the work has not run yet, so memory of a pool may be allocated
 * later. */
const char *range_forbids(Context *context, CUdeviceptr address, size_t size,
                          Access access, bool pending);
bool range_is_pinned(const void *host, size_t size);
void ranges_end_of(Context *context, bool leaked);

bool device_take(Device *device, uint64_t bytes);
void device_give(Device *device, uint64_t bytes);

/* --- streams --------------------------------------------------------------- */

/* The stream of a handle. 0 and 1 are the legacy stream, 2 is the default
 * stream of the thread. */
CUresult stream_find(CUstream handle, const char *call, Stream **found);
#define FIND_STREAM(handle, found)                                     \
    do {                                                               \
        CUresult stream_result = stream_find(handle, __func__, found); \
        if (stream_result != CUDA_SUCCESS)                             \
            return stream_result;                                      \
    } while (0)
Stream *stream_legacy(Context *context);
Stream *stream_make(Context *context, unsigned flags, int priority,
                    const char *call);
void stream_end(Stream *stream);
/* Visits each stream of a context that exists or still has work. */
void streams_each(Context *context, void (*visit)(Stream *, void *),
                  void *user_data);
Op *op_new(const char *name, CUresult (*run)(Op *), Context *context);
void op_after(Op *op, Place place);
void op_free(Op *op);
Op *op_copy(const Op *op);
Payload *payload_new(size_t size);
void payload_drop(Payload *payload);
/* Takes ownership of the operation: queues it, or adds it to a graph as a
 * node. */
CUresult stream_submit(Stream *stream, Op *op);
CUresult place_wait(Place place);
CUresult stream_wait(Stream *stream);
void context_wait(Context *context);

/* --- copies ---------------------------------------------------------------- */

CUresult run_copy(Op *op);
CUresult run_fill(Op *op);

/* --- graphs ---------------------------------------------------------------- */

typedef struct Node {
    Op *op;
    size_t after[2]; /* 1 + the node; 0: none */
} Node;

struct Graph {
    Object object;
    unsigned references; /* the handle, and its executable graphs */
    Node *nodes;
    size_t count, room;
    CUdeviceptr *memory; /* allocated in the capture */
    size_t memory_count;
};

Graph *graph_new(const char *call);
size_t graph_add(Graph *graph, Op *op, size_t first, size_t second);
bool graph_reaches(const Graph *graph, size_t from, size_t to);
void graph_drop(Graph *graph);

/* --- capture --------------------------------------------------------------- */

CUresult capture_forbids(const char *call);
CUresult capture_of_legacy(Context *context, const char *call);
CUresult capture_add(Stream *stream, Op *op);
CUresult capture_forbids_wait(Stream *stream, const char *call);
CUresult capture_context_wait(Context *context, const char *call);
CUresult capture_record(Stream *stream, Event *event, const char *call);
CUresult capture_event(Stream *stream, Event *event, const char *call);
bool capture_holds(const Event *event);
bool capture_is_active(const Capture *capture);
void capture_spoil(Capture *capture);
Graph *capture_graph(const Stream *stream);

/* --- pools, managed, virtual ------------------------------------------------ */

struct Pool {
    Object object;
    Device *device;
    cuuint64_t threshold, used, used_high, reserved, reserved_high, limit;
    int reuse[4];
    unsigned access[MAX_DEVICES];
    Pool *next;
};

bool pools_are_missing(void);
#define NEED_POOLS()         \
    if (pools_are_missing()) \
    return CUDA_ERROR_NOT_SUPPORTED
CUresult pool_find(CUmemoryPool handle, const char *call, Pool **found);
#define FIND_POOL(handle, found)                                   \
    do {                                                           \
        CUresult pool_result = pool_find(handle, __func__, found); \
        if (pool_result != CUDA_SUCCESS)                           \
            return pool_result;                                    \
    } while (0)
Pool *pool_default(Device *device);
/* Releases unused memory of the pool above this number of bytes. */
void pool_keep(Pool *pool, uint64_t bytes);
void pools_trim_idle(void);
bool pools_make_room(Device *device, uint64_t bytes);
CUresult pool_free_now(Range *range);
void pool_take_back(Range *range);
void mappings_drop(Range *range);
const Mapping *mapping_at(const Range *range, CUdeviceptr address);
/* Whether a device has access to the mapping. */
bool mapping_is_open(const Mapping *mapping);
void managed_forget(Range *range);
void ipc_forget(Range *range);
bool peer_reaches(const Context *context, const Range *range);

#endif
