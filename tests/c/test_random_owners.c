/*
 * Random programs from several threads in which the bytes of each block
 * identify its owner.
 *
 * Every block has its own byte value. Work that is queued on a block expects
 * that value in all of the block and writes it again. If memory gets a second
 * owner while work of the first is queued, the work of one of them finds
 * damage. A program makes only calls that the header allows. Other streams
 * wait for the last work by events and are recorded, and no work is queued on
 * a block after its free. Frees name any stream or none. Streams lag behind,
 * or are destroyed before the blocks that were allocated on them. They belong
 * to the library or to the program. In addition: pools are closed while other
 * threads use them, models sleep with too short a timeout while their limit
 * changes, guarantees are made, and devices that can capture do.
 *
 * What must hold: no damage; live blocks never overlap; each call returns what
 * the header promises; no call reports that an existing object has ended; no
 * capture is invalidated; no device is lost; in the end everything can be
 * released.
 *
 *   test_random_owners [PROGRAMS [FIRST [PART...]]]
 *
 * A part is one of part_names. Only the named parts run, to find more defects
 * behind a known one. The part "stale" uses a stream that the program has
 * destroyed. That ends the process in a real driver, so it runs on the host
 * and on the simulated driver only.
 */
#include "fixture.h"
#include "native_stream.h"
#include "on_device.h"
#include "requests.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PROGRAMS = 6, THREADS = 3, STEPS = 250 };
enum { STREAMS = 6, POOLS = 3, PLACES = 6, BLOCKS = 16, SHARED = 8 };
enum { RANGES = 12, SHORT_KINDS = 3, SLEEP_RANGES = 4, REGISTRY = 256 };

#define KIB UINT64_C(1024)
#define MIB (KIB * KIB)
#define WAIT_NS UINT64_C(20000000000)

/* The parts of programs. */
enum part {
    PART_BLOCKS,
    PART_RANGES,
    PART_DESTROY,
    PART_FOREIGN,
    PART_THREADS,
    PART_CLOSE,
    PART_GUARANTEES,
    PART_SLEEP,
    PART_CAPTURES,
    PART_STALE,
    PART_PEERS,
    PARTS
};
static const char *const part_names[PARTS] = {
    "blocks",     "ranges", "destroy",  "foreign", "threads", "close",
    "guarantees", "sleep",  "captures", "stale",   "peers"};

enum place_kind { POOL_PLACE, VPOOL_PLACE, MODEL_PLACE };

/* The source of blocks. A range place has RANGES parts, each used by one
 * block. */
typedef struct {
    enum place_kind kind;
    uint64_t id;
    const char *model;
    atomic_int taken[RANGES];
} place;

/* A stream. A thread that uses it holds the lock for reading. A thread that
 * replaces it holds the lock for writing. */
typedef struct {
    pthread_rwlock_t lock;
    ferrum_stream handle;
    native_stream *native;
    uint64_t generation;
} slot;

/* A stream that a block was used on. */
typedef struct {
    int slot;
    uint64_t generation;
    bool foreign;
} use;

typedef struct {
    place *place;
    uint64_t address, size, offset;
    int part;
    unsigned char byte;
    use own, last;
    uint32_t used;
    /* settled: its last stream was destroyed with work for which no stream
     * can wait, so the block may only be freed. private: only its thread
     * may use it. */
    bool settled, private;
} block;

/* An object that threads close while others use it. */
typedef struct {
    _Atomic uint64_t handle;
    /* The last handle that a call reported as invalid. */
    _Atomic uint64_t heard;
    pthread_mutex_t closing;
} short_lived;

typedef struct {
    pthread_t thread;
    int number;
    uint64_t random;
    block blocks[BLOCKS];
    /* These belong to this thread alone. */
    native_stream *captured;
    ferrum_stream captured_handle, side, of_threads;
} worker;

static uint32_t parts = (1 << PARTS) - 1;
static bool has(enum part part) { return parts >> part & 1; }

static struct {
    unsigned long number;
    ferrum_device device;
    /* Another device of the backend, which may access the memory of the
     * first; or none. */
    ferrum_device peer;
    uint64_t peer_context, page;
    bool captures;
    slot streams[STREAMS];
    place places[PLACES];
    ferrum_elastic_pool models, guarantees, dozing;
    ferrum_address dozing_base;
    short_lived shorts[SHORT_KINDS];
    worker workers[THREADS];
    /* Blocks that no thread holds now. */
    pthread_mutex_t exchange_lock;
    block exchange[SHARED];
    /* Held to begin a capture, and to wait for a stream that the program has
     * destroyed: such a wait is for the whole context, and would invalidate a
     * capture that begins at that moment (docs/graphs.md). */
    pthread_mutex_t begin_lock;
    pthread_mutex_t registry_lock;
    struct {
        uint64_t address, size;
    } registry[REGISTRY];
    native_stream *gone[512];
    int gone_count;
    /* Handles of destroyed streams, kept for later because of a capture. */
    ferrum_stream stale[512];
    atomic_int stale_count;
    atomic_int next_byte, damaged, failed;
} p;

static uint64_t draw(worker *w, uint64_t below) {
    w->random ^= w->random << 13;
    w->random ^= w->random >> 7;
    w->random ^= w->random << 17;
    return w->random % below;
}

/* Only the first error is reported. */
static void wrong(const char *what, ferrum_status status) {
    ferrum_error_info error = FERRUM_ERROR_INFO_INIT;
    if (status != FERRUM_OK)
        ferrum_last_error(&error);
    if (atomic_fetch_add(&p.failed, 1) < 5)
        fprintf(stderr, "program %lu: %s: %s %s\n", p.number, what,
                ferrum_status_name(status), error.message);
    if (!on_host() && atomic_load(&p.failed) == 1)
        native_print_violations();
}
static bool works(ferrum_status status, const char *call) {
    if (status != FERRUM_OK)
        wrong(call, status);
    return status == FERRUM_OK;
}
#define WORKS(call) works((call), #call)

static void crashed(int number) {
    char text[80];
    int length = snprintf(text, sizeof text, "program %lu: signal %d\n",
                          p.number, number);
    if (write(STDERR_FILENO, text, (size_t)length) < 0)
        _exit(71);
    signal(number, SIG_DFL);
    raise(number);
}

/* ------------------------------------------------------------ live blocks */

static void enter_registry(uint64_t address, uint64_t size) {
    int place_at = -1;
    pthread_mutex_lock(&p.registry_lock);
    for (int i = 0; i < REGISTRY; i++) {
        if (p.registry[i].size == 0)
            place_at = i;
        else if (address < p.registry[i].address + p.registry[i].size &&
                 p.registry[i].address < address + size)
            wrong("a live block was given out again", FERRUM_OK);
    }
    if (place_at < 0)
        abort();
    p.registry[place_at].address = address;
    p.registry[place_at].size = size;
    pthread_mutex_unlock(&p.registry_lock);
}

/* Must be called before the block is freed. */
static void leave_registry(uint64_t address) {
    pthread_mutex_lock(&p.registry_lock);
    for (int i = 0; i < REGISTRY; i++)
        if (p.registry[i].size != 0 && p.registry[i].address == address)
            p.registry[i].size = 0;
    pthread_mutex_unlock(&p.registry_lock);
}

/* --------------------------------------------------------------- streams */

static void lag(void *data) { usleep((useconds_t)(uintptr_t)data); }

static bool same_use(use a, use b) {
    return a.slot == b.slot && a.generation == b.generation;
}

static use use_of(int at) {
    return (use){at, p.streams[at].generation, p.streams[at].native != NULL};
}

static void put_stream(slot *s, bool foreign) {
    s->generation++;
    s->native = foreign ? native_stream_make() : NULL;
    if (foreign) {
        ferrum_foreign_stream f = native_stream_foreign(s->native);
        WORKS(ferrum_stream_adopt(p.device, &f, &s->handle));
    } else {
        WORKS(ferrum_stream_create(p.device, &s->handle));
    }
}

/* Replaces a stream, even with blocks that were allocated on it. Slot 0 is
 * the default stream. A native stream continues, because its queued work
 * may not be done. */
static void replace_stream(worker *w) {
    slot *s = &p.streams[1 + draw(w, STREAMS - 1)];
    pthread_rwlock_wrlock(&s->lock);
    uint32_t force = draw(w, 2) ? FERRUM_FORCE : 0;
    ferrum_status status = ferrum_stream_destroy(s->handle, force);
    if (status == FERRUM_OK) {
        if (s->native != NULL && p.gone_count < 512)
            p.gone[__atomic_fetch_add(&p.gone_count, 1, __ATOMIC_RELAXED)] =
                s->native;
        put_stream(s, has(PART_FOREIGN) && draw(w, 2));
    } else if (force || status != FERRUM_ERROR_BUSY) {
        wrong("ferrum_stream_destroy", status);
    }
    pthread_rwlock_unlock(&s->lock);
}

static ferrum_stream stream_of(int at) { return p.streams[at].handle; }

/* Locks a stream that may use the block, and makes it wait for the last
 * work on the block. The lock of the last stream is held as well. Returns
 * -1 if there is no such stream. */
static int take_stream(worker *w, block *b, int at) {
    slot *s = &p.streams[at];
    pthread_rwlock_rdlock(&s->lock);
    if (same_use(b->last, use_of(at)))
        return at;
    slot *last = &p.streams[b->last.slot];
    if (b->last.slot != at && pthread_rwlock_tryrdlock(&last->lock) != 0) {
        pthread_rwlock_unlock(&s->lock);
        return -1;
    }
    if (last->generation != b->last.generation) {
        b->settled = b->last.foreign;
    } else {
        ferrum_event event;
        if (WORKS(ferrum_event_record(last->handle, &event))) {
            WORKS(ferrum_stream_wait_event(s->handle, event));
            WORKS(ferrum_event_destroy(event));
        }
    }
    if (b->last.slot != at)
        pthread_rwlock_unlock(&last->lock);
    if (b->settled) {
        pthread_rwlock_unlock(&s->lock);
        return -1;
    }
    (void)w;
    return at;
}

/* ---------------------------------------------------------------- blocks */

static ferrum_status record_stream(const block *b, ferrum_stream stream) {
    const place *from = b->place;
    switch (from->kind) {
    case POOL_PLACE:
        return ferrum_pool_record_stream((ferrum_pool){from->id}, b->address,
                                         stream);
    case VPOOL_PLACE:
        return ferrum_vpool_record_stream((ferrum_vpool){from->id}, b->offset,
                                          b->size, stream);
    default:
        return ferrum_elastic_pool_record_stream(
            (ferrum_elastic_pool){from->id}, from->model, b->offset, b->size,
            stream);
    }
}

static void queue_on(const block *b, ferrum_stream stream, bool first) {
    block_work work = {b->address, b->size, b->byte,
                       b->byte,    first,   &p.damaged};
    works(queue_work(stream, work), "queue_work");
}

/* Uses a block on a stream, and does what the header requires of the caller. */
static void use_block(worker *w, block *b) {
    if (b->settled || b->private)
        return;
    int at = take_stream(w, b, (int)draw(w, STREAMS));
    if (at < 0)
        return;
    bool recorded = same_use(b->own, use_of(at)) ||
                    works(record_stream(b, stream_of(at)), "record_stream");
    if (recorded) {
        if (draw(w, 3) == 0)
            WORKS(ferrum_stream_host_function(
                stream_of(at), lag, (void *)(uintptr_t)draw(w, 1500)));
        queue_on(b, stream_of(at), false);
        b->last = use_of(at);
    }
    pthread_rwlock_unlock(&p.streams[at].lock);
}

static bool may_be_short(ferrum_status s) {
    return s == FERRUM_ERROR_OUT_OF_MEMORY ||
           s == FERRUM_ERROR_OUT_OF_PHYSICAL_MEMORY;
}

static uint64_t any_size(worker *w) {
    uint64_t most =
        draw(w, 16) == 0 ? 3 * MIB : UINT64_C(1) << (8 + draw(w, 9));
    return 1 + draw(w, most);
}

static ferrum_status alloc_block(worker *w, block *b, ferrum_stream stream) {
    ferrum_pool pool = {b->place->id};
    ferrum_pool_request request = FERRUM_POOL_REQUEST_INIT;
    b->size = any_size(w);
    switch (draw(w, 3)) {
    case 0:
        request.size_bytes = b->size;
        request.alignment_bytes = draw(w, 2) ? 4096 : 0;
        request.stream = stream;
        return ferrum_pool_alloc_with(pool, &request, &b->address);
    case 1:
        return ferrum_pool_alloc_batch(pool, b->size, 1, stream, &b->address);
    }
    return ferrum_pool_alloc(pool, b->size, stream, &b->address);
}

static ferrum_status alloc_range(worker *w, block *b, ferrum_stream stream) {
    b->offset = (uint64_t)b->part * 2 * p.page;
    b->size = p.page * (1 + draw(w, 2));
    if (b->place->kind == VPOOL_PLACE) {
        ferrum_vpool_request request = FERRUM_VPOOL_REQUEST_INIT;
        request.offset_bytes = b->offset;
        request.size_bytes = b->size;
        request.stream = stream;
        return ferrum_vpool_alloc_with((ferrum_vpool){b->place->id}, &request,
                                       &b->address);
    }
    ferrum_model_request request = FERRUM_MODEL_REQUEST_INIT;
    request.at_offset = 1;
    request.offset_bytes = b->offset;
    request.size_bytes = b->size;
    request.stream = stream;
    return ferrum_elastic_pool_alloc_with((ferrum_elastic_pool){b->place->id},
                                          b->place->model, &request,
                                          &b->address, NULL);
}

static void make_block(worker *w, block *b) {
    memset(b, 0, sizeof *b);
    b->place = &p.places[draw(w, PLACES)];
    bool pooled = b->place->kind == POOL_PLACE;
    if (!has(pooled ? PART_BLOCKS : PART_RANGES) &&
        !(pooled && w->of_threads.id != 0)) {
        b->place = NULL;
        return;
    }
    if (b->place->kind != POOL_PLACE) {
        b->part = (int)draw(w, RANGES);
        if (atomic_exchange(&b->place->taken[b->part], 1) != 0) {
            b->place = NULL;
            return;
        }
    }
    int at = (int)draw(w, STREAMS);
    bool of_threads = pooled && w->of_threads.id != 0 &&
                      (!has(PART_BLOCKS) || draw(w, 6) == 0);
    slot *s = &p.streams[at];
    pthread_rwlock_rdlock(&s->lock);
    ferrum_stream stream = of_threads ? w->of_threads : stream_of(at);
    /* The default stream has two names. */
    ferrum_stream named =
        at == 0 && !of_threads && draw(w, 2) ? (ferrum_stream){0} : stream;
    ferrum_status status = b->place->kind == POOL_PLACE
                               ? alloc_block(w, b, named)
                               : alloc_range(w, b, named);
    if (status == FERRUM_OK) {
        b->byte = (unsigned char)(1 + atomic_fetch_add(&p.next_byte, 1) % 255);
        b->own = b->last = use_of(at);
        b->private = of_threads;
        enter_registry(b->address, b->size);
        queue_on(b, stream, true);
        if (draw(w, 2))
            WORKS(ferrum_stream_host_function(
                stream, lag, (void *)(uintptr_t)draw(w, 1500)));
        queue_on(b, stream, false);
    } else {
        if (!may_be_short(status))
            wrong("an allocation", status);
        if (b->place->kind != POOL_PLACE)
            atomic_store(&b->place->taken[b->part], 0);
        b->place = NULL;
    }
    pthread_rwlock_unlock(&s->lock);
}

/* Frees a block on a stream or on none. Its work may still be queued. */
static void free_block(worker *w, block *b) {
    place *from = b->place;
    int at = (int)draw(w, STREAMS);
    slot *s = &p.streams[at];
    ferrum_status status;
    pthread_rwlock_rdlock(&s->lock);
    ferrum_stream stream = draw(w, 2) ? stream_of(at) : (ferrum_stream){0};
    leave_registry(b->address);
    if (from->kind == VPOOL_PLACE)
        status = ferrum_vpool_free((ferrum_vpool){from->id}, b->offset, b->size,
                                   stream);
    else if (from->kind == MODEL_PLACE)
        status =
            ferrum_elastic_pool_free((ferrum_elastic_pool){from->id},
                                     from->model, b->offset, b->size, stream);
    else if (draw(w, 4) == 0)
        status = ferrum_pool_free_batch((ferrum_pool){from->id}, &b->address, 1,
                                        stream);
    else if (draw(w, 2))
        status = ferrum_pool_free_sized((ferrum_pool){from->id}, b->address,
                                        b->size, stream);
    else
        status = ferrum_pool_free((ferrum_pool){from->id}, b->address, stream);
    pthread_rwlock_unlock(&s->lock);
    works(status, "a free");
    if (from->kind != POOL_PLACE)
        atomic_store(&from->taken[b->part], 0);
    b->place = NULL;
}

/* Passes the block to another thread. */
static void exchange(worker *w, block *b) {
    if (b->place != NULL && b->private)
        return;
    block *other = &p.exchange[draw(w, SHARED)];
    pthread_mutex_lock(&p.exchange_lock);
    block mine = *b;
    *b = *other;
    *other = mine;
    pthread_mutex_unlock(&p.exchange_lock);
}

/* -------------------------------------------------- closing objects in use */

static ferrum_status open_short(int kind, uint64_t *id) {
    ferrum_pool_config pool = FERRUM_POOL_CONFIG_INIT;
    ferrum_vpool_config vpool = FERRUM_VPOOL_CONFIG_INIT;
    ferrum_elastic_pool_config shared = FERRUM_ELASTIC_POOL_CONFIG_INIT;
    ferrum_model_config model = FERRUM_MODEL_CONFIG_INIT;
    ferrum_status status;
    pool.initial_size_bytes = pool.growth_increment_bytes = MIB;
    vpool.capacity_bytes = model.virtual_bytes = 4 * THREADS * p.page;
    vpool.page_bytes = shared.page_bytes = p.page;
    vpool.ready_pages = shared.ready_pages = 0;
    if (kind == POOL_PLACE)
        return ferrum_pool_create(p.device, &pool, (ferrum_pool *)id);
    if (kind == VPOOL_PLACE)
        return ferrum_vpool_create(p.device, &vpool, (ferrum_vpool *)id);
    status = ferrum_elastic_pool_create(p.device, &shared,
                                        (ferrum_elastic_pool *)id);
    for (char name[] = "a"; status == FERRUM_OK && name[0] < 'e'; name[0]++)
        status = ferrum_elastic_pool_register_model((ferrum_elastic_pool){*id},
                                                    name, &model);
    return status;
}

static ferrum_status close_short(int kind, uint64_t id) {
    if (kind == POOL_PLACE)
        return ferrum_pool_destroy((ferrum_pool){id}, 0);
    if (kind == VPOOL_PLACE)
        return ferrum_vpool_destroy((ferrum_vpool){id}, 0);
    return ferrum_elastic_pool_destroy((ferrum_elastic_pool){id}, 0);
}

/* Allocates something and frees it. */
static ferrum_status use_short(worker *w, int kind, uint64_t id) {
    ferrum_address address = 0;
    uint64_t offset = (uint64_t)w->number * 4 * p.page;
    ferrum_status status;
    const char name[] = {(char)('a' + draw(w, 4)), 0};
    switch (kind) {
    case POOL_PLACE:
        status = ferrum_pool_alloc((ferrum_pool){id}, any_size(w),
                                   (ferrum_stream){0}, &address);
        if (status == FERRUM_OK)
            WORKS(ferrum_pool_free((ferrum_pool){id}, address,
                                   (ferrum_stream){0}));
        return status;
    case VPOOL_PLACE:
        status =
            ferrum_vpool_alloc((ferrum_vpool){id}, offset, p.page, &address);
        if (status == FERRUM_OK)
            WORKS(ferrum_vpool_free((ferrum_vpool){id}, offset, p.page,
                                    (ferrum_stream){0}));
        return status;
    }
    status = ferrum_elastic_pool_alloc((ferrum_elastic_pool){id}, name, p.page,
                                       &address, &offset);
    if (status == FERRUM_OK)
        WORKS(ferrum_elastic_pool_free((ferrum_elastic_pool){id}, name, offset,
                                       p.page, (ferrum_stream){0}));
    return status;
}

static void try_short(worker *w) {
    int kind = (int)draw(w, SHORT_KINDS);
    short_lived *s = &p.shorts[kind];
    uint64_t id = atomic_load(&s->handle);
    if (draw(w, 3) != 0) {
        ferrum_status status = use_short(w, kind, id);
        if (status == FERRUM_ERROR_INVALID_HANDLE ||
            status == FERRUM_ERROR_MODEL_NOT_FOUND)
            atomic_store(&s->heard, id);
        else if (status != FERRUM_OK && !may_be_short(status))
            wrong("a call to what is being closed", status);
        return;
    }
    if (pthread_mutex_trylock(&s->closing) != 0)
        return;
    id = atomic_load(&s->handle);
    ferrum_status status = close_short(kind, id);
    if (status == FERRUM_OK) {
        uint64_t made = 0;
        if (works(open_short(kind, &made), "open_short"))
            atomic_store(&s->handle, made);
    } else if (status != FERRUM_ERROR_BUSY) {
        wrong("a close", status);
    } else if (atomic_load(&s->heard) == id) {
        wrong(
            "a close was rejected, and another thread saw the object as ended",
            status);
    }
    pthread_mutex_unlock(&s->closing);
}

/* ------------------------------------------------------------- guarantees */

/* A model that was registered with a guarantee gets it. */
static void try_guarantee(worker *w) {
    char name[24];
    ferrum_address address;
    ferrum_model_config model = FERRUM_MODEL_CONFIG_INIT;
    uint64_t pages = 1 + draw(w, 12), offset = 0;
    bool guaranteed = draw(w, 2);
    snprintf(name, sizeof name, "guaranteed-%d", w->number);
    model.virtual_bytes = 16 * p.page;
    model.guaranteed_bytes = guaranteed ? pages * p.page : 0;
    ferrum_status status =
        ferrum_elastic_pool_register_model(p.guarantees, name, &model);
    if (status != FERRUM_OK) {
        if (!guaranteed || status == FERRUM_ERROR_DEVICE_LOST)
            wrong("ferrum_elastic_pool_register_model", status);
        return;
    }
    status = ferrum_elastic_pool_alloc(p.guarantees, name, pages * p.page,
                                       &address, &offset);
    if (status == FERRUM_OK) {
        usleep((useconds_t)draw(w, 300));
        WORKS(ferrum_elastic_pool_free(p.guarantees, name, offset,
                                       pages * p.page, (ferrum_stream){0}));
    } else if (guaranteed || !may_be_short(status)) {
        wrong("an allocation within the guarantee", status);
    }
    WORKS(ferrum_elastic_pool_unregister_model(p.guarantees, name, 0));
}

/* ------------------------------------------------------------------ sleep */

/* Large enough that a sleep copies it in more than one step. */
#define RANGE_BYTES (16 * MIB)
enum { LOOK = 4096 };

static uint64_t per_range(void) {
    return p.page < RANGE_BYTES ? RANGE_BYTES / p.page : 1;
}
static uint64_t dozing_pages(void) { return SLEEP_RANGES * per_range(); }

static void check_dozing(unsigned char byte) {
    static unsigned char want[LOOK];
    memset(want, byte, sizeof want);
    for (uint64_t i = 0; i < dozing_pages(); i++)
        if (!has_bytes(p.dozing_base + i * p.page, want, sizeof want))
            wrong("a page that slept has lost its bytes", FERRUM_OK);
}

static void change_limit(worker *w) {
    uint64_t limit = draw(w, 2) ? 2 * dozing_pages() : dozing_pages() / 2;
    WORKS(ferrum_elastic_pool_set_limit(p.dozing, limit * p.page));
}

/* One thread puts a model to sleep while others change the limit. */
static void try_sleep(worker *w) {
    change_limit(w);
    if (w->number != 0)
        return;
    ferrum_sleep_config sleep = FERRUM_SLEEP_CONFIG_INIT;
    unsigned char byte = (unsigned char)(1 + draw(w, 255));
    for (uint64_t i = 0; i < dozing_pages(); i++)
        fill_bytes(p.dozing_base + i * p.page, byte, LOOK);
    sleep.backing = (ferrum_sleep_backing)draw(w, 2);
    sleep.num_streams = 1;
    sleep.timeout_ns = draw(w, 3) ? draw(w, 300) * 100000 : WAIT_NS;
    ferrum_status status =
        ferrum_elastic_pool_sleep_model(p.dozing, "a", &sleep, NULL);
    if (status == FERRUM_OK) {
        ferrum_wake_config wake = FERRUM_WAKE_CONFIG_INIT;
        wake.timeout_ns = draw(w, 300) * 100000;
        for (;;) {
            status = ferrum_elastic_pool_wake_model(p.dozing, "a", &wake, NULL);
            if (status != FERRUM_ERROR_TIMEOUT && !may_be_short(status))
                break;
            WORKS(ferrum_elastic_pool_set_limit(p.dozing,
                                                2 * dozing_pages() * p.page));
            wake.timeout_ns = WAIT_NS;
        }
        works(status, "ferrum_elastic_pool_wake_model");
    } else if (status == FERRUM_ERROR_INVALID_STATE && has(PART_STALE)) {
        /* If the program has just destroyed the stream, a call with a
         * timeout cannot wait for the stream, so nothing sleeps. */
    } else if (status != FERRUM_ERROR_TIMEOUT) {
        wrong("ferrum_elastic_pool_sleep_model", status);
    }
    check_dozing(byte);
}

/* --------------------------------------------------------------- captures */

/* A capture uses one pool: blocks of the capture, a block from before the
 * capture, and a stream that joins through an event of the program. */
static void fill_capture(worker *w, ferrum_pool pool, ferrum_address before) {
    ferrum_address blocks[4] = {0};
    bool joined = false;
    void *event = native_event_record(w->captured);
    ferrum_event adopted = {0};
    ferrum_status status =
        ferrum_event_adopt(p.device, (uint64_t)(uintptr_t)event, &adopted);
    if (status == FERRUM_OK) {
        if (draw(w, 2))
            joined = WORKS(ferrum_stream_wait_event(w->side, adopted));
        WORKS(ferrum_event_destroy(adopted));
    }
    for (int i = 0; i < 4; i++) {
        ferrum_stream stream =
            joined && draw(w, 2) ? w->side : w->captured_handle;
        status = ferrum_pool_alloc(pool, any_size(w), stream, &blocks[i]);
        if (status != FERRUM_OK && !may_be_short(status))
            wrong("an allocation of a capture", status);
        else if (status == FERRUM_OK && draw(w, 2)) {
            WORKS(ferrum_pool_free(pool, blocks[i], stream));
            blocks[i] = 0;
        }
    }
    if (before != 0)
        WORKS(ferrum_pool_free(pool, before, w->captured_handle));
    for (int i = 0; i < 4; i++)
        if (blocks[i] != 0)
            WORKS(ferrum_pool_free(pool, blocks[i], w->captured_handle));
    uint64_t native = 0;
    if (joined && WORKS(ferrum_stream_get_native(w->side, &native)))
        native_stream_join(w->captured, native);
    native_event_end(event);
}

static void try_capture(worker *w) {
    ferrum_pool pool = {p.places[draw(w, POOLS)].id};
    ferrum_address before = 0;
    uint64_t graph = 0;
    if (!p.captures)
        return;
    if (draw(w, 2) &&
        ferrum_pool_alloc(pool, any_size(w), w->captured_handle, &before) != 0)
        before = 0;
    pthread_mutex_lock(&p.begin_lock);
    native_capture_begin(w->captured, (int)draw(w, 3));
    pthread_mutex_unlock(&p.begin_lock);
    ferrum_status status =
        ferrum_pool_capture_begin(pool, w->captured_handle, 0, &graph);
    if (works(status, "ferrum_pool_capture_begin"))
        fill_capture(w, pool, before);
    if (!native_captures(w->captured))
        wrong("a capture was invalidated", FERRUM_OK);
    int code = native_capture_end(w->captured);
    if (code != 0) {
        char text[64];
        snprintf(text, sizeof text, "a capture ended with %d", code);
        wrong(text, FERRUM_OK);
    }
    if (status == FERRUM_OK) {
        WORKS(ferrum_pool_capture_end(pool, graph));
        WORKS(ferrum_pool_capture_release(pool, graph, (ferrum_stream){0}));
    }
}

/* The program destroys a stream without telling the library. Calls on the
 * stream may fail, but the device must stay usable. */
static void try_stale(worker *w) {
    ferrum_pool pool = {p.places[0].id};
    native_stream *native = native_stream_make();
    ferrum_foreign_stream foreign = native_stream_foreign(native);
    ferrum_stream stream = {0};
    ferrum_address address = 0;
    WORKS(ferrum_stream_adopt(p.device, &foreign, &stream));
    ferrum_status status =
        ferrum_pool_alloc(pool, any_size(w), stream, &address);
    native_stream_drop(native);
    native_stream_end(native);
    if (status == FERRUM_OK &&
        ferrum_pool_free(pool, address, stream) != FERRUM_OK)
        WORKS(ferrum_pool_free(pool, address, (ferrum_stream){0}));
    pthread_mutex_lock(&p.begin_lock);
    status = ferrum_stream_destroy(stream, FERRUM_FORCE);
    pthread_mutex_unlock(&p.begin_lock);
    if (status == FERRUM_ERROR_INVALID_STATE && has(PART_CAPTURES) &&
        atomic_load(&p.stale_count) < 512)
        p.stale[atomic_fetch_add(&p.stale_count, 1)] = stream;
    else
        works(status, "the end of a destroyed stream");
    if (WORKS(ferrum_pool_alloc(pool, 16 * MIB, (ferrum_stream){0}, &address)))
        WORKS(ferrum_pool_free(pool, address, (ferrum_stream){0}));
}

/* Another device with access uses the block. The default stream orders the
 * block, and the other device does not wait for that stream. */
static void try_peer(worker *w) {
    ferrum_pool pool = {p.places[draw(w, POOLS)].id};
    uint64_t size = any_size(w);
    ferrum_address address;
    if (ferrum_pool_alloc(pool, size, (ferrum_stream){0}, &address) !=
        FERRUM_OK)
        return;
    WORKS(ferrum_device_grant_peer(p.device, p.peer));
    WORKS(ferrum_stream_synchronize(p.streams[0].handle, WAIT_NS));
    int code = native_fill_in(p.peer_context, address, size);
    if (code != 0) {
        char text[64];
        snprintf(text, sizeof text, "a peer's fill ended with %d", code);
        wrong(text, FERRUM_OK);
    }
    WORKS(ferrum_pool_free(pool, address, (ferrum_stream){0}));
}

/* --------------------------------------------------------------- programs */

static void step(worker *w) {
    block *b = &w->blocks[draw(w, BLOCKS)];
    uint64_t what = draw(w, 100);
    if (what < 70) {
        if (b->place == NULL)
            make_block(w, b);
        else if (what < 30)
            free_block(w, b);
        else
            use_block(w, b);
    } else if (what < 76) {
        exchange(w, b);
    } else if (what < 79 && has(PART_DESTROY)) {
        replace_stream(w);
    } else if (what < 89 && has(PART_CLOSE)) {
        try_short(w);
    } else if (what < 92 && has(PART_GUARANTEES)) {
        try_guarantee(w);
    } else if (what < 95 && has(PART_SLEEP)) {
        if (draw(w, 5) == 0)
            try_sleep(w);
    } else if (what < 99 && has(PART_CAPTURES)) {
        try_capture(w);
    } else if (what == 99 && !on_host()) {
        if (has(PART_STALE) && draw(w, 2))
            try_stale(w);
        if (has(PART_PEERS) && p.peer.id != 0)
            try_peer(w);
    }
}

static void *run_worker(void *data) {
    worker *w = data;
    if (!on_host())
        native_relax();
    for (int i = 0; i < STEPS && atomic_load(&p.failed) == 0; i++)
        step(w);
    /* The work of this thread's own stream ends with the stream. */
    for (int i = 0; i < BLOCKS; i++)
        if (w->blocks[i].place != NULL)
            free_block(w, &w->blocks[i]);
    return NULL;
}

static void make_places(uint64_t seed) {
    static const char *const strategies[] = {"best_fit", "size_class", "tlsf"};
    for (int i = 0; i < POOLS; i++) {
        ferrum_pool_config config = FERRUM_POOL_CONFIG_INIT;
        config.strategy = strategies[(seed + (uint64_t)i) % 3];
        config.tracking = i == 1;
        config.thread_cache_bytes = i == 1 ? 0 : FERRUM_THREAD_CACHE_AUTO;
        config.initial_size_bytes = config.growth_increment_bytes = 4 * MIB;
        if (i == 2 && seed % 2)
            config.paging = FERRUM_PAGING_ON;
        if (i == 2 && seed % 2 == 0 && !on_host())
            config.segment_source = FERRUM_SEGMENTS_STREAM_ORDERED;
        p.places[i].kind = POOL_PLACE;
        MUST(ferrum_pool_create(p.device, &config,
                                (ferrum_pool *)&p.places[i].id));
    }
    ferrum_vpool_config vpool = FERRUM_VPOOL_CONFIG_INIT;
    vpool.capacity_bytes = 2 * RANGES * p.page;
    vpool.page_bytes = p.page;
    p.places[POOLS].kind = VPOOL_PLACE;
    MUST(ferrum_vpool_create(p.device, &vpool,
                             (ferrum_vpool *)&p.places[POOLS].id));
    ferrum_elastic_pool_config shared = FERRUM_ELASTIC_POOL_CONFIG_INIT;
    ferrum_model_config model = FERRUM_MODEL_CONFIG_INIT;
    shared.page_bytes = p.page;
    shared.limit_bytes = 2 * RANGES * p.page;
    model.virtual_bytes = 2 * RANGES * p.page;
    MUST(ferrum_elastic_pool_create(p.device, &shared, &p.models));
    for (int i = 0; i < 2; i++) {
        place *at = &p.places[POOLS + 1 + i];
        at->kind = MODEL_PLACE;
        at->id = p.models.id;
        at->model = i == 0 ? "first" : "second";
        MUST(ferrum_elastic_pool_register_model(p.models, at->model, &model));
    }
    shared.limit_bytes = 24 * p.page;
    MUST(ferrum_elastic_pool_create(p.device, &shared, &p.guarantees));
    shared.limit_bytes = 2 * dozing_pages() * p.page;
    MUST(ferrum_elastic_pool_create(p.device, &shared, &p.dozing));
    model.virtual_bytes = dozing_pages() * p.page;
    MUST(ferrum_elastic_pool_register_model(p.dozing, "a", &model));
    for (uint64_t i = 0; i < SLEEP_RANGES; i++) {
        ferrum_address at;
        MUST(elastic_pool_alloc_at(p.dozing, "a", i * per_range() * p.page,
                                   per_range() * p.page, &at));
        if (i == 0)
            p.dozing_base = at;
    }
    for (int kind = 0; kind < SHORT_KINDS; kind++) {
        uint64_t made = 0;
        MUST(open_short(kind, &made));
        atomic_store(&p.shorts[kind].handle, made);
        pthread_mutex_init(&p.shorts[kind].closing, NULL);
    }
}

static void make_worker(worker *w, int number) {
    w->number = number;
    w->random = (p.number * 1000003 + (unsigned long)number + 1) *
                UINT64_C(0x9E3779B97F4A7C15);
    if (on_host())
        return;
    ferrum_foreign_stream foreign =
        native_stream_foreign(native_stream_of_threads());
    if (!has(PART_THREADS) ||
        ferrum_stream_adopt(p.device, &foreign, &w->of_threads) != FERRUM_OK)
        w->of_threads.id = 0;
    w->captured = native_stream_make();
    foreign = native_stream_foreign(w->captured);
    MUST(ferrum_stream_adopt(p.device, &foreign, &w->captured_handle));
    MUST(ferrum_stream_create(p.device, &w->side));
}

static void make_program(unsigned long number) {
    memset(&p, 0, sizeof p);
    p.number = number;
    ferrum_config config = FERRUM_CONFIG_INIT;
    config.host_devices = 1;
    config.host_memory_bytes = 512 * MIB;
    MUST(ferrum_init(&config));
    MUST(ferrum_device_open(first_device(), &p.device));
    ferrum_device_info info = FERRUM_DEVICE_INFO_INIT;
    MUST(ferrum_device_get_info(p.device, &info));
    p.captures = (info.capabilities & FERRUM_CAPABILITY_CAPTURE) != 0;
    p.page = device_page(p.device);
    if (!on_host() && has(PART_PEERS) &&
        ferrum_device_open("cuda:1", &p.peer) == FERRUM_OK)
        MUST(ferrum_device_get_native(p.peer, &p.peer_context));
    pthread_mutex_init(&p.exchange_lock, NULL);
    pthread_mutex_init(&p.begin_lock, NULL);
    pthread_mutex_init(&p.registry_lock, NULL);
    for (int i = 0; i < STREAMS; i++) {
        pthread_rwlock_init(&p.streams[i].lock, NULL);
        if (i == 0)
            MUST(ferrum_stream_default(p.device, &p.streams[0].handle));
        else
            put_stream(&p.streams[i], has(PART_FOREIGN) && i % 2 == 0);
    }
    make_places(number);
    for (int i = 0; i < THREADS; i++)
        make_worker(&p.workers[i], i);
}

/* Everything is released without force. What is left is a leak. */
static void end_program(void) {
    for (int i = 0; i < p.stale_count; i++)
        WORKS(ferrum_stream_destroy(p.stale[i], FERRUM_FORCE));
    for (int i = 0; i < SHARED; i++)
        if (p.exchange[i].place != NULL)
            free_block(&p.workers[0], &p.exchange[i]);
    WORKS(ferrum_device_synchronize(p.device, WAIT_NS));
    for (int i = 0; i < POOLS; i++)
        WORKS(ferrum_pool_destroy((ferrum_pool){p.places[i].id}, 0));
    WORKS(ferrum_vpool_destroy((ferrum_vpool){p.places[POOLS].id}, 0));
    for (int kind = 0; kind < SHORT_KINDS; kind++)
        works(close_short(kind, p.shorts[kind].handle), "close_short");
    for (uint64_t i = 0; i < SLEEP_RANGES; i++)
        WORKS(ferrum_elastic_pool_free(p.dozing, "a", i * per_range() * p.page,
                                       per_range() * p.page,
                                       (ferrum_stream){0}));
    WORKS(ferrum_elastic_pool_destroy(p.dozing, 0));
    WORKS(ferrum_elastic_pool_destroy(p.guarantees, 0));
    WORKS(ferrum_elastic_pool_destroy(p.models, 0));
    for (int i = 0; i < THREADS && !on_host(); i++) {
        worker *w = &p.workers[i];
        WORKS(ferrum_stream_destroy(w->captured_handle, 0));
        WORKS(ferrum_stream_destroy(w->side, 0));
        if (w->of_threads.id != 0)
            WORKS(ferrum_stream_destroy(w->of_threads, 0));
        native_stream_end(w->captured);
    }
    for (int i = 1; i < STREAMS; i++) {
        WORKS(ferrum_stream_destroy(p.streams[i].handle, 0));
        if (p.streams[i].native != NULL)
            native_stream_end(p.streams[i].native);
    }
    for (int i = 0; i < p.gone_count; i++)
        native_stream_end(p.gone[i]);
    if (p.peer.id != 0)
        WORKS(ferrum_device_close(p.peer, 0));
    WORKS(ferrum_device_close(p.device, 0));
    WORKS(ferrum_shutdown(0));
}

/* Returns whether everything was right. A failed program leaves its objects. */
static bool run(unsigned long number) {
    make_program(number);
    for (int i = 0; i < THREADS; i++)
        if (pthread_create(&p.workers[i].thread, NULL, run_worker,
                           &p.workers[i]) != 0)
            abort();
    for (int i = 0; i < THREADS; i++)
        pthread_join(p.workers[i].thread, NULL);
    ferrum_device_synchronize(p.device, WAIT_NS);
    if (atomic_load(&p.damaged) != 0)
        wrong("the bytes of a block were another owner's", FERRUM_OK);
    if (atomic_load(&p.failed) == 0)
        end_program();
    return atomic_load(&p.failed) == 0;
}

static void take_part(const char *name, bool only) {
    if (only)
        parts = 0;
    for (int i = 0; i < PARTS; i++)
        if (strcmp(part_names[i], name) == 0) {
            parts |= 1u << i;
            return;
        }
    fprintf(stderr, "%s is no part\n", name);
    exit(2);
}

int main(int count, char **words) {
    unsigned long programs = count > 1 ? strtoul(words[1], NULL, 10) : PROGRAMS;
    unsigned long first = count > 2 ? strtoul(words[2], NULL, 10) : 0;
    for (int i = 3; i < count; i++)
        take_part(words[i], i == 3);
    if (!on_host() && simulator_function("simcuda_calls") == NULL)
        parts &= ~(1u << PART_STALE);
    struct sigaction crash = {.sa_handler = crashed, .sa_flags = SA_ONSTACK};
    sigaction(SIGBUS, &crash, NULL);
    sigaction(SIGSEGV, &crash, NULL);
    for (unsigned long i = 0; i < programs; i++)
        if (!run(first + i)) {
            printf("%lu passed, 1 failed\n", i);
            return 1;
        }
    printf("%lu passed, 0 failed\n", programs);
    return 0;
}
