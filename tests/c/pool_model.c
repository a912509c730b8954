#include "pool_model.h"

#include "fixture.h"
#include "on_device.h"
#include "requests.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STREAMS = 4, POOLS = 3, BLOCKS = 160, BATCH = 40, TAGS = 3 };

#define KIB UINT64_C(1024)
#define MIB (KIB * KIB)
/* How many bytes a whole program may free behind streams that are blocked. */
#define HELD_UP_MAX (24 * MIB)
/* The maximum block size of slabs. */
#define SMALL (64 * KIB)
/* An arena keeps a segment while any block of the segment is live. */
#define ARENA_BLOCKS 8

static const char *const strategies[] = {"best_fit", "size_class", "tlsf",
                                         "buddy",    "arena",      "fixed"};
enum { SIZE_CLASS = 1, BUDDY = 3, ARENA = 4, FIXED = 5, STRATEGIES = 6 };
static const char *const tag_names[TAGS] = {"kv", "weights", "scratch"};

/* Lets queued work run up to a ticket. */
typedef struct {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    uint64_t opened, given;
} turnstile;

typedef struct {
    ferrum_stream handle; /* {0}: the default stream */
    turnstile gate;
    int held;
} stream_model;

typedef struct {
    ferrum_pool handle; /* id 0: none */
    int strategy, debug, cached, counts;
    uint64_t granule, block, live, made, freed;
    uint32_t tags[TAGS];
} pool_model;

typedef struct {
    pool_model *pool; /* NULL: no block */
    uint64_t address, size, usable;
    unsigned char mark;
    /* The stream that the block was allocated on, and the stream with the
     * last work on the block, or NULL when that work is done. */
    stream_model *own, *last;
    int tag; /* an index of tag_names, or -1 */
} block_model;

static ferrum_device device, other;
static stream_model streams[STREAMS];
static ferrum_stream foreign;
static atomic_int damaged;

static struct {
    decisions *from;
    const char *name;
    int step, failed, over;
    uint64_t held_up;
    pool_model pools[POOLS];
    block_model blocks[BLOCKS];
    uint64_t dead;
} m;

/* --------------------------------------------------------------- decisions */

static uint64_t draw(uint64_t below) {
    decisions *d = m.from;
    if (d->script == NULL) {
        d->random ^= d->random << 13;
        d->random ^= d->random >> 7;
        d->random ^= d->random << 17;
        return d->random % below;
    }
    uint64_t value = 0;
    for (uint64_t range = 1; range < below && range <= UINT64_C(1) << 24;
         range *= 256) {
        if (d->at >= d->length) {
            m.over = 1;
            return 0;
        }
        value = value * 256 + d->script[d->at++];
    }
    return value % below;
}

static void wrong(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    fprintf(stderr, "%s, step %d: ", m.name, m.step);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    m.failed = 1;
}

#define GIVES(want, call) gives((call), FERRUM_##want, #call, wrong)
#define WORKS(call) GIVES(OK, call)

/* ------------------------------------------------------ streams and work */

static void pass(void *data) {
    stream_model *s = data;
    turnstile *t = &s->gate;
    pthread_mutex_lock(&t->mutex);
    uint64_t ticket = ++t->given;
    while (t->opened < ticket)
        pthread_cond_wait(&t->changed, &t->mutex);
    pthread_mutex_unlock(&t->mutex);
}
static void hold(stream_model *s) {
    if (!s->held && WORKS(ferrum_stream_host_function(s->handle, pass, s)))
        s->held = 1;
}
static void let_go(void) {
    for (int i = 0; i < STREAMS; i++) {
        stream_model *s = &streams[i];
        if (!s->held)
            continue;
        pthread_mutex_lock(&s->gate.mutex);
        s->gate.opened++;
        pthread_cond_broadcast(&s->gate.changed);
        pthread_mutex_unlock(&s->gate.mutex);
        s->held = 0;
    }
    m.held_up = 0;
}
static void run_dry(void) {
    let_go();
    WORKS(ferrum_device_synchronize(device, FERRUM_WAIT_FOREVER));
    for (int i = 0; i < BLOCKS; i++)
        m.blocks[i].last = NULL;
    if (atomic_exchange(&damaged, 0))
        wrong("a block had other bytes when queued work came to it");
}

/* Makes the stream wait for the work that is queued on the block. */
static void order(block_model *b, stream_model *s) {
    if (b->last != NULL && b->last != s) {
        ferrum_event event;
        WORKS(ferrum_event_record(b->last->handle, &event));
        WORKS(ferrum_stream_wait_event(s->handle, event));
        WORKS(ferrum_event_destroy(event));
    }
    b->last = s;
}
static void work(block_model *b, stream_model *s, int first) {
    order(b, s);
    block_work w = {b->address, b->usable, b->mark, (unsigned char)draw(256),
                    first,      &damaged};
    b->mark = w.after;
    WORKS(queue_work(s->handle, w));
}

/* ---------------------------------------------------------- random choices */

static stream_model *any_stream(void) { return &streams[draw(STREAMS)]; }
static pool_model *any_pool(void) {
    pool_model *p = &m.pools[draw(POOLS)];
    return p->handle.id != 0 ? p : NULL;
}
static block_model *any_block(void) {
    uint64_t start = draw(BLOCKS);
    for (uint64_t i = 0; i < BLOCKS; i++) {
        block_model *b = &m.blocks[(start + i) % BLOCKS];
        if (b->pool != NULL)
            return b;
    }
    return NULL;
}
static block_model *free_place(void) {
    for (int i = 0; i < BLOCKS; i++)
        if (m.blocks[i].pool == NULL)
            return &m.blocks[i];
    return NULL;
}
static uint64_t any_size(const pool_model *p) {
    if (p->strategy == FIXED)
        return 1 + draw(p->block);
    return 1 + draw(UINT64_C(1) << draw(19));
}
static int is_full(const pool_model *p) {
    return p->strategy == ARENA && p->live >= ARENA_BLOCKS;
}

/* -------------------------------------------------- creating and destroying */

static void enter(pool_model *p, uint64_t address, uint64_t size,
                  stream_model *s, int tag) {
    block_model *b = free_place();
    *b = (block_model){p, address, size, 0, 0, s, NULL, tag};
    WORKS(ferrum_pool_usable_size(p->handle, address, &b->usable));
    uint64_t least = (size + p->granule - 1) / p->granule * p->granule;
    /* Only buddy and fixed round up by more than a quarter. */
    uint64_t most = p->strategy == FIXED   ? p->block
                    : p->strategy == BUDDY ? 2 * least
                                           : least + least / 4 + p->granule;
    /* If memory is short, a small block may come from a larger class. */
    if (p->strategy == SIZE_CLASS && most < SMALL)
        most = SMALL;
    if (address % p->granule != 0 || b->usable < size || b->usable > most)
        wrong("a block of %llu bytes from a %s pool at %#llx has %llu",
              (unsigned long long)size, strategies[p->strategy],
              (unsigned long long)address, (unsigned long long)b->usable);
    for (int i = 0; i < BLOCKS; i++) {
        block_model *o = &m.blocks[i];
        if (o != b && o->pool != NULL && address < o->address + o->usable &&
            o->address < address + b->usable)
            wrong("two live blocks overlap at %#llx",
                  (unsigned long long)address);
    }
    p->live++;
    p->made++;
    if (!m.failed)
        work(b, s, 1);
}
static void leave(block_model *b) {
    b->pool->live--;
    b->pool->freed++;
    if (b->last != NULL && b->last->held)
        m.held_up += b->usable;
    b->pool = NULL;
}

static void make_pool(void) {
    pool_model *p = &m.pools[draw(POOLS)];
    if (p->handle.id != 0)
        return;
    memset(p, 0, sizeof *p);
    static const uint64_t caches[] = {FERRUM_THREAD_CACHE_AUTO,
                                      FERRUM_THREAD_CACHE_AUTO, 0, 64 * KIB};
    ferrum_pool_config c = FERRUM_POOL_CONFIG_INIT;
    p->strategy = (int)draw(STRATEGIES);
    p->granule = UINT64_C(16) << draw(8);
    c.strategy = strategies[p->strategy];
    c.initial_size_bytes = draw(2) * MIB;
    c.growth_increment_bytes = MIB;
    c.alignment_bytes = p->granule;
    c.enable_stats = draw(8) != 0;
    c.tracking = draw(4) == 0;
    c.debug = draw(6) == 0 ? (uint32_t)draw(FERRUM_DEBUG_ALL + 1) : 0;
    c.thread_cache_bytes = caches[draw(4)];
    c.release_threshold_bytes = draw(3) == 0 ? draw(4) * MIB : UINT64_MAX;
    c.min_held_bytes = draw(3) == 0 ? draw(3) * MIB : 0;
    c.name = "program";
    if (p->strategy == FIXED) {
        p->block = p->granule * (1 + draw(32));
        c.fixed_block_bytes = p->block;
        c.page_bytes = draw(2) ? 0 : 64 * KIB;
    }
    p->debug = c.debug != 0;
    p->counts = c.enable_stats != 0;
    p->cached = c.thread_cache_bytes != 0 && !c.tracking && !c.debug;
    WORKS(ferrum_pool_create(device, &c, &p->handle));
}
static void end_pool(pool_model *p, int force) {
    run_dry();
    if (!gives(ferrum_pool_destroy(p->handle, force ? FERRUM_FORCE : 0),
               p->live && !force ? FERRUM_ERROR_BUSY : FERRUM_OK,
               "ferrum_pool_destroy", wrong))
        return;
    for (int i = 0; i < BLOCKS; i++)
        if (m.blocks[i].pool == p)
            leave(&m.blocks[i]);
    m.dead = p->handle.id;
    p->handle.id = 0;
}
static void end_any_pool(void) {
    pool_model *p = any_pool();
    if (p != NULL)
        end_pool(p, draw(3) == 0);
}

/* ------------------------------------------------------- allocating blocks */

static int any_tag(pool_model *p) {
    int tag = (int)draw(TAGS);
    uint32_t number = 0;
    if (WORKS(ferrum_pool_get_tag(p->handle, tag_names[tag], &number)) &&
        (number == 0 || (p->tags[tag] != 0 && p->tags[tag] != number)))
        wrong("tag %s is number %u, and was %u", tag_names[tag], number,
              p->tags[tag]);
    p->tags[tag] = number;
    return tag;
}
static void alloc(void) {
    pool_model *p = any_pool();
    if (p == NULL || free_place() == NULL || is_full(p))
        return;
    uint64_t size = any_size(p), alignment = UINT64_C(1) << draw(17);
    if (p->strategy == FIXED || p->debug)
        alignment = p->granule;
    stream_model *s = any_stream();
    ferrum_address address = 0;
    ferrum_pool_request r = FERRUM_POOL_REQUEST_INIT;
    int ok, tag = -1;
    switch (draw(3)) {
    case 0:
        alignment = 1;
        ok = WORKS(ferrum_pool_alloc(p->handle, size, s->handle, &address));
        break;
    case 1:
        ok = WORKS(pool_alloc_aligned(p->handle, size, alignment, s->handle,
                                      &address));
        break;
    default:
        if (draw(2))
            tag = any_tag(p);
        if (draw(2))
            alignment = 1;
        r.tag = tag < 0 ? 0 : p->tags[tag];
        r.size_bytes = size;
        r.alignment_bytes = alignment == 1 ? 0 : alignment;
        r.stream = s->handle;
        r.expected_lifetime_ns = draw(2) ? 0 : UINT64_C(1) << draw(64);
        r.group = draw(4);
        ok = WORKS(ferrum_pool_alloc_with(p->handle, &r, &address));
    }
    if (ok && address % alignment != 0)
        wrong("%#llx is not a multiple of %llu", (unsigned long long)address,
              (unsigned long long)alignment);
    if (ok)
        enter(p, address, size, s, tag);
}
static void alloc_batch(void) {
    pool_model *p = any_pool();
    uint64_t places = 0;
    for (int i = 0; i < BLOCKS; i++)
        places += m.blocks[i].pool == NULL;
    if (p == NULL || places == 0 || is_full(p))
        return;
    if (p->strategy == ARENA && places > ARENA_BLOCKS - p->live)
        places = ARENA_BLOCKS - p->live;
    ferrum_address addresses[BATCH];
    uint64_t count = 1 + draw(places < BATCH ? places : BATCH);
    uint64_t size = 1 + (any_size(p) - 1) % (64 * KIB);
    stream_model *s = any_stream();
    if (!WORKS(ferrum_pool_alloc_batch(p->handle, size, count, s->handle,
                                       addresses)))
        return;
    for (uint64_t i = 0; i < count && !m.failed; i++)
        enter(p, addresses[i], size, s, -1);
}

/* ---------------------------------------------------------- freeing blocks */

/* Orders the free of a block on a stream. The free waits for the block's
 * own stream and needs no other order. */
static void order_free(block_model *b, stream_model *s) {
    if (b->last != b->own)
        order(b, s);
}
/* The stream for the free of a block. It comes after all work on the block,
 * except the work on the block's own stream. */
static stream_model *freeing_stream(block_model *b) {
    stream_model *s = any_stream(), *before = b->last;
    switch (draw(4)) {
    case 0: /* the host waits for the work */
        run_dry();
        return s;
    case 1: /* another stream takes the block */
        order(b, s);
        return s;
    case 2: /* another stream uses it too; the first stream frees it */
        if (before == NULL || before == s)
            break;
        WORKS(
            ferrum_pool_record_stream(b->pool->handle, b->address, s->handle));
        work(b, s, 0);
        return before;
    case 3: /* any stream frees it */
        order_free(b, s);
        return s;
    }
    if (b->last == NULL)
        b->last = s;
    return b->last;
}
static void check_gone(pool_model *p, ferrum_address address) {
    uint64_t size = 1;
    ferrum_status again =
        draw(2) ? ferrum_pool_free(p->handle, address, (ferrum_stream){0})
                : ferrum_pool_usable_size(p->handle, address, &size);
    if (again != FERRUM_ERROR_DOUBLE_FREE &&
        again != FERRUM_ERROR_INVALID_ADDRESS)
        wrong("a second free, or the size of a freed block, gives %s",
              ferrum_status_name(again));
}
static void free_one(void) {
    block_model *b = any_block();
    if (b == NULL)
        return;
    pool_model *p = b->pool;
    ferrum_address address = b->address;
    stream_model *s = freeing_stream(b);
    if (draw(2)) {
        WORKS(ferrum_pool_free(p->handle, address, s->handle));
    } else {
        GIVES(ERROR_INVALID_SIZE,
              ferrum_pool_free_sized(p->handle, address, b->size + 1 + draw(9),
                                     s->handle));
        WORKS(ferrum_pool_free_sized(p->handle, address, b->size, s->handle));
    }
    leave(b);
    check_gone(p, address);
}
static void free_batch(void) {
    block_model *first = any_block(), *chosen[BATCH];
    if (first == NULL)
        return;
    pool_model *p = first->pool;
    stream_model *s = any_stream();
    ferrum_address addresses[BATCH + 1];
    uint64_t count = 0, most = 1 + draw(BATCH);
    for (int i = 0; i < BLOCKS && count < most; i++) {
        if (m.blocks[i].pool != p)
            continue;
        chosen[count] = &m.blocks[i];
        addresses[count++] = m.blocks[i].address;
    }
    if (draw(3) == 0) {
        addresses[count] = addresses[draw(count)];
        GIVES(ERROR_DOUBLE_FREE, ferrum_pool_free_batch(p->handle, addresses,
                                                        count + 1, s->handle));
        addresses[count] = addresses[0] + 1;
        GIVES(
            ERROR_INVALID_ADDRESS,
            ferrum_pool_free_batch(p->handle, addresses, count + 1, s->handle));
    }
    for (uint64_t i = 0; i < count; i++)
        order_free(chosen[i], s);
    WORKS(ferrum_pool_free_batch(p->handle, addresses, count, s->handle));
    for (uint64_t i = 0; i < count; i++)
        leave(chosen[i]);
    check_gone(p, addresses[draw(count)]);
}
static void reset(void) {
    pool_model *p = any_pool();
    if (p == NULL || draw(4) != 0)
        return;
    stream_model *s = any_stream();
    for (int i = 0; i < BLOCKS; i++)
        if (m.blocks[i].pool == p)
            order_free(&m.blocks[i], s);
    WORKS(ferrum_pool_reset(p->handle, s->handle));
    for (int i = 0; i < BLOCKS; i++)
        if (m.blocks[i].pool == p)
            leave(&m.blocks[i]);
}

/* ------------------------------------------------------------ other calls */

static void use(void) {
    block_model *b = any_block();
    if (b != NULL)
        work(b, any_stream(), 0);
}
static void hold_any(void) { hold(any_stream()); }

/* A trim reports the bytes that it released. A paged pool also releases
 * idle pages by itself between the two reads of the counters. So its
 * counters may fall by more, in whole pages. */
static void trim(void) {
    pool_model *p = any_pool();
    if (p == NULL)
        return;
    ferrum_pool_info info = FERRUM_POOL_INFO_INIT;
    ferrum_statistics before = FERRUM_STATISTICS_INIT;
    ferrum_statistics after = FERRUM_STATISTICS_INIT;
    uint64_t released = 1;
    WORKS(ferrum_pool_get_info(p->handle, &info));
    WORKS(ferrum_pool_get_statistics(p->handle, &before));
    WORKS(ferrum_pool_trim(p->handle, draw(4) * MIB, &released));
    WORKS(ferrum_pool_get_statistics(p->handle, &after));
    uint64_t gone = before.reserved.current - after.reserved.current;
    int exact = info.page_bytes == 0
                    ? gone == released
                    : gone >= released && gone <= before.reserved.current &&
                          (gone - released) % info.page_bytes == 0;
    if (!exact || after.thread_cached_bytes != 0)
        wrong("a trim said %llu: %llu are held of %llu, %llu in thread caches",
              (unsigned long long)released,
              (unsigned long long)after.reserved.current,
              (unsigned long long)before.reserved.current,
              (unsigned long long)after.thread_cached_bytes);
}
static void retain(void) {
    pool_model *p = any_pool();
    if (p == NULL)
        return;
    if (draw(2))
        WORKS(ferrum_pool_set_min_held(p->handle, draw(4) * MIB));
    else
        WORKS(ferrum_pool_set_release_threshold(
            p->handle, draw(2) ? UINT64_MAX : draw(4) * MIB));
}
/* If the pool cannot grow, an allocation may fail, and then it changes
 * nothing. */
static void limit(void) {
    pool_model *p = any_pool();
    if (p == NULL || free_place() == NULL || is_full(p))
        return;
    ferrum_statistics s = FERRUM_STATISTICS_INIT;
    ferrum_address addresses[2] = {1, 1};
    run_dry();
    WORKS(ferrum_pool_get_statistics(p->handle, &s));
    WORKS(ferrum_pool_set_limit(p->handle,
                                s.reserved.current ? s.reserved.current : MIB));
    ferrum_status status = ferrum_pool_alloc_batch(
        p->handle, any_size(p), 2 - draw(2), (ferrum_stream){0}, addresses);
    if (status == FERRUM_OK) {
        for (int i = 0; i < 2; i++)
            if (addresses[i] > 1)
                WORKS(ferrum_pool_free(p->handle, addresses[i],
                                       (ferrum_stream){0}));
        p->made += 1 + (addresses[1] > 1);
        p->freed += 1 + (addresses[1] > 1);
    } else if (status != FERRUM_ERROR_OUT_OF_MEMORY || addresses[0] != 0) {
        wrong("a batch in a full pool gives %s", ferrum_status_name(status));
    }
    WORKS(ferrum_pool_set_limit(p->handle, 0));
}
static void owner(void) {
    block_model *b = any_block();
    ferrum_block_info info = FERRUM_BLOCK_INFO_INIT;
    if (b == NULL)
        return;
    if (WORKS(ferrum_device_get_owner(device, b->address + draw(b->usable),
                                      &info)) &&
        (info.state != FERRUM_BLOCK_LIVE ||
         info.pool.id != b->pool->handle.id || info.manager != 0 ||
         info.address != b->address || info.size_bytes < b->usable ||
         info.requested_bytes != b->size ||
         strcmp(info.pool_name, "program") != 0 ||
         strcmp(info.tag, b->tag < 0 ? "program" : tag_names[b->tag]) != 0))
        wrong("the owner of a block of %llu bytes at %#llx is a block of %llu "
              "at %#llx, tag %s, state %d",
              (unsigned long long)b->size, (unsigned long long)b->address,
              (unsigned long long)info.requested_bytes,
              (unsigned long long)info.address, info.tag, (int)info.state);
    GIVES(ERROR_NOT_FOUND, ferrum_device_get_owner(device, draw(4096), &info));
}
static void bad_call(void) {
    pool_model *p = any_pool();
    block_model *b = any_block();
    const ferrum_stream none = {0};
    ferrum_address a, two[2] = {1, 1};
    ferrum_pool_request r = FERRUM_POOL_REQUEST_INIT;
    if (p != NULL) {
        GIVES(ERROR_INVALID_SIZE, ferrum_pool_alloc(p->handle, 0, none, &a));
        GIVES(ERROR_INVALID_ARGUMENT,
              ferrum_pool_alloc_batch(p->handle, 64, 0, none, two));
        GIVES(ERROR_INVALID_ARGUMENT,
              ferrum_pool_alloc_batch(p->handle, 64, FERRUM_BATCH_MAX + 1, none,
                                      two));
        GIVES(ERROR_INVALID_ARGUMENT,
              ferrum_pool_alloc_batch(p->handle, 64, 2, foreign, two));
        GIVES(ERROR_INVALID_ADDRESS,
              ferrum_pool_free_sized(p->handle, draw(4096), 1, none));
        GIVES(ERROR_INVALID_ADDRESS,
              ferrum_pool_record_stream(p->handle, draw(4096), none));
        r.size_bytes = 1;
        r.tag = 4096 + (uint32_t)draw(UINT32_MAX - 4096);
        GIVES(ERROR_INVALID_ARGUMENT,
              ferrum_pool_alloc_with(p->handle, &r, &a));
        if (two[0] != 0 || two[1] != 0)
            wrong("a failed batch left addresses");
    }
    if (b != NULL && b->usable > 1) {
        uint64_t inside = b->address + 1 + draw(b->usable - 1);
        GIVES(ERROR_INVALID_ADDRESS,
              ferrum_pool_free(b->pool->handle, inside, none));
        GIVES(ERROR_INVALID_ADDRESS,
              ferrum_pool_usable_size(b->pool->handle, inside, &a));
        GIVES(ERROR_INVALID_ARGUMENT,
              ferrum_pool_free(b->pool->handle, b->address, foreign));
    }
    ferrum_pool dead = {m.dead};
    GIVES(ERROR_INVALID_HANDLE, ferrum_pool_reset(dead, none));
    GIVES(ERROR_INVALID_HANDLE, ferrum_pool_free_batch(dead, two, 2, none));
}

/* ---------------------------------------------------------------- counters */

static void check_pool(pool_model *p) {
    ferrum_statistics s = FERRUM_STATISTICS_INIT;
    uint64_t requested = 0, allocated = 0;
    for (int i = 0; i < BLOCKS; i++) {
        if (m.blocks[i].pool != p)
            continue;
        requested += m.blocks[i].size;
        allocated += m.blocks[i].usable;
    }
    if (!WORKS(ferrum_pool_get_statistics(p->handle, &s)))
        return;
    /* The red zones of a pool in debug mode are part of its blocks. */
    if (s.requested.current != requested ||
        (p->debug ? s.allocated.current < allocated
                  : s.allocated.current != allocated) ||
        s.live_blocks.current != p->live ||
        s.active.current < s.allocated.current ||
        s.reserved.current !=
            s.active.current + s.cached.current + s.unusable.current ||
        s.largest_free_bytes > s.cached.current ||
        s.thread_cached_bytes > s.cached.current ||
        (!p->cached && s.thread_cached_bytes != 0) ||
        (p->counts && (s.allocations != p->made || s.frees != p->freed)))
        wrong("the books of a %s pool: %llu blocks of %llu bytes (%llu), made "
              "%llu, freed %llu, in thread caches %llu; not %llu of %llu "
              "(%llu), %llu, %llu",
              strategies[p->strategy],
              (unsigned long long)s.live_blocks.current,
              (unsigned long long)s.requested.current,
              (unsigned long long)s.allocated.current,
              (unsigned long long)s.allocations, (unsigned long long)s.frees,
              (unsigned long long)s.thread_cached_bytes,
              (unsigned long long)p->live, (unsigned long long)requested,
              (unsigned long long)allocated, (unsigned long long)p->made,
              (unsigned long long)p->freed);
}
static void check_books(void) {
    for (int i = 0; i < POOLS; i++)
        if (m.pools[i].handle.id != 0)
            check_pool(&m.pools[i]);
    ferrum_statistics s = FERRUM_STATISTICS_INIT;
    uint64_t live = 0;
    for (int i = 0; i < POOLS; i++)
        live += m.pools[i].live;
    if (WORKS(ferrum_device_get_statistics(device, &s)) &&
        (s.live_blocks.current != live ||
         s.reserved.current !=
             s.active.current + s.cached.current + s.unusable.current))
        wrong("the books of the device do not add up");
}

/* ----------------------------------------------------------------- running */

static void step(void) {
    static void (*const often[])(void) = {
        alloc, alloc, alloc_batch, free_one, free_batch, use, use, hold_any};
    static void (*const seldom[])(void) = {
        make_pool, make_pool, end_any_pool, let_go, run_dry,     trim,
        retain,    limit,     owner,        reset,  check_books, bad_call};
    if (m.held_up > HELD_UP_MAX)
        let_go();
    uint64_t which = draw(40);
    if (which < 28)
        often[which % 8]();
    else
        seldom[which - 28]();
}

int pool_model_fails(decisions *d, const char *name) {
    memset(&m, 0, sizeof m);
    m.from = d;
    m.name = name;
    make_pool();
    for (; m.step < d->steps && !m.failed && !m.over; m.step++)
        step();
    run_dry();
    if (!m.failed)
        check_books();
    for (int i = 0; i < POOLS; i++)
        if (m.pools[i].handle.id != 0)
            WORKS(ferrum_pool_destroy(m.pools[i].handle, FERRUM_FORCE));
    ferrum_statistics s = FERRUM_STATISTICS_INIT;
    WORKS(ferrum_device_get_statistics(device, &s));
    if (s.reserved.current != 0 || s.live_blocks.current != 0)
        wrong("%llu bytes are left", (unsigned long long)s.reserved.current);
    return m.failed;
}

void pool_model_start(void) {
    MUST(ferrum_device_open(first_device(), &device));
    MUST(ferrum_device_open(other_device(), &other));
    MUST(ferrum_stream_create(other, &foreign));
    for (int i = 0; i < STREAMS; i++) {
        pthread_mutex_init(&streams[i].gate.mutex, NULL);
        pthread_cond_init(&streams[i].gate.changed, NULL);
        if (i == 0) /* the handle; calls that need one use it */
            MUST(ferrum_stream_default(device, &streams[i].handle));
        else
            MUST(ferrum_stream_create(device, &streams[i].handle));
    }
}
void pool_model_stop(void) {
    MUST(ferrum_stream_destroy(foreign, 0));
    for (int i = 1; i < STREAMS; i++)
        MUST(ferrum_stream_destroy(streams[i].handle, 0));
    MUST(ferrum_device_close(other, 0));
    MUST(ferrum_device_close(device, 0));
}
