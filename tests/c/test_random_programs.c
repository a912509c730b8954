/*
 * Random programs over the C ABI on one thread, compared with a simple model.
 *
 * A program creates and destroys streams, pools, managers and blocks on two
 * devices, copies, fills, reads and writes, and makes calls that must fail.
 * The model knows every live block with its bytes. It predicts the status of
 * each call, checks that live blocks never overlap and keep their bytes, and
 * predicts the counters. Work that is queued on several streams is ordered by
 * events, as a user would do. Other features of pools are in pool_model.h.
 */
#include "fixture.h"
#include "on_device.h"
#include "requests.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PROGRAMS = 16 / SANITIZER_SHARE, STEPS = 5000 };
enum { DEVICES = 2, STREAMS = 6, POOLS = 4, MANAGERS = 3, BLOCKS = 160 };

#define KIB UINT64_C(1024)
#define MIB (KIB * KIB)
#define CAPACITY (96 * MIB)

typedef struct {
    ferrum_stream handle;
    int device;
} stream_model;

/* A pool or a manager. */
typedef struct {
    uint64_t handle;
    int device;
    uint64_t granule, made, freed;
} owner_model;

/* A block of a pool (memory 0) or of a manager. */
typedef struct {
    owner_model *owner;
    uint64_t memory, address, size, rounded;
    unsigned char *bytes;
    /* The stream whose queue has the last work on the block, or NULL. */
    stream_model *last;
} block_model;

static struct {
    unsigned long program;
    uint64_t random;
    int step, failed;
    ferrum_device devices[DEVICES];
    stream_model streams[STREAMS];
    owner_model pools[POOLS], managers[MANAGERS];
    block_model blocks[BLOCKS];
    uint64_t dead;
} m;

static uint64_t draw(uint64_t below) {
    m.random ^= m.random << 13;
    m.random ^= m.random >> 7;
    m.random ^= m.random << 17;
    return m.random % below;
}

static void wrong(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    fprintf(stderr, "program %lu, step %d: ", m.program, m.step);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    m.failed = 1;
}

#define GIVES(want, call) gives((call), FERRUM_##want, #call, wrong)
#define WORKS(call) GIVES(OK, call)

/* -------------------------------------------------------- random choices */

static stream_model *any_stream(int device) {
    stream_model *s = &m.streams[draw(STREAMS)];
    return s->handle.id != 0 && s->device == device ? s : NULL;
}
static ferrum_stream handle_of(stream_model *s) {
    return s == NULL ? (ferrum_stream){0} : s->handle;
}
static block_model *any_block(int of_manager) {
    for (int tries = 0; tries < 20; tries++) {
        block_model *b = &m.blocks[draw(BLOCKS)];
        if (b->owner != NULL && (b->memory != 0) == of_manager)
            return b;
    }
    return NULL;
}
static block_model *free_place(void) {
    block_model *b = &m.blocks[draw(BLOCKS)];
    return b->owner == NULL ? b : NULL;
}
static uint64_t any_size(void) { return 1 + draw(UINT64_C(1) << draw(19)); }

/* ---------------------------------------------------- the bytes of blocks */

static void wait_for_block(block_model *b) {
    if (b->last != NULL)
        WORKS(ferrum_stream_synchronize(b->last->handle, FERRUM_WAIT_FOREVER));
    b->last = NULL;
}
static void check_bytes(block_model *b) {
    wait_for_block(b);
    if (!has_bytes(b->address, b->bytes, b->size))
        wrong("a block of %llu bytes has lost its bytes",
              (unsigned long long)b->size);
}
/* Makes the stream wait for the work that is queued on the block. */
static void order(block_model *b, stream_model *s) {
    if (b->last != NULL && b->last->device != s->device && !on_host()) {
        /* Backends do not wait for each other's events. */
        wait_for_block(b);
    } else if (b->last != NULL && b->last != s) {
        ferrum_event event;
        WORKS(ferrum_event_record(b->last->handle, &event));
        WORKS(ferrum_stream_wait_event(s->handle, event));
        WORKS(ferrum_event_destroy(event));
    }
    b->last = s;
}

/* The library reports the rounded size. Strategies may round by up to a
 * quarter, or use a larger class for a small block. */
static void enter(block_model *b, owner_model *owner, uint64_t size,
                  uint64_t rounded) {
    uint64_t least = (size + owner->granule - 1) / owner->granule;
    b->owner = owner;
    b->size = size;
    b->rounded = rounded;
    b->last = NULL;
    if (rounded < size || rounded % owner->granule != 0 ||
        (rounded > 64 * KIB &&
         rounded / owner->granule > least + least / 4 + 1))
        wrong("%llu bytes were rounded to %llu", (unsigned long long)size,
              (unsigned long long)rounded);
    owner->made++;
    for (int i = 0; i < BLOCKS; i++) {
        block_model *o = &m.blocks[i];
        if (o != b && o->owner != NULL &&
            b->address < o->address + o->rounded &&
            o->address < b->address + b->rounded)
            wrong("two live blocks overlap at %#llx",
                  (unsigned long long)b->address);
    }
    b->bytes = malloc(size);
    memset(b->bytes, (int)draw(256), size);
    put_bytes(b->address, b->bytes, size);
}
static void leave(block_model *b) {
    b->owner->freed++;
    free(b->bytes);
    *b = (block_model){.owner = NULL};
}

/* ------------------------------------------------- creating and destroying */

static ferrum_pool_config settings(uint64_t granule) {
    ferrum_pool_config c = FERRUM_POOL_CONFIG_INIT;
    c.initial_size_bytes = draw(2) * MIB;
    c.growth_increment_bytes = MIB;
    c.alignment_bytes = granule;
    return c;
}
static void make_stream(void) {
    stream_model *s = &m.streams[draw(STREAMS)];
    int device = (int)draw(DEVICES);
    if (s->handle.id == 0 &&
        WORKS(ferrum_stream_create(m.devices[device], &s->handle)))
        s->device = device;
}
static void end_stream(void) {
    stream_model *s = &m.streams[draw(STREAMS)];
    if (s->handle.id == 0)
        return;
    m.dead = s->handle.id;
    WORKS(ferrum_stream_destroy(s->handle, FERRUM_FORCE));
    s->handle.id = 0;
    for (int i = 0; i < BLOCKS; i++)
        if (m.blocks[i].last == s)
            m.blocks[i].last = NULL;
}
static void make_owner(void) {
    int of_pools = (int)draw(2), device = (int)draw(DEVICES);
    owner_model *o =
        of_pools ? &m.pools[draw(POOLS)] : &m.managers[draw(MANAGERS)];
    if (o->handle != 0)
        return;
    uint64_t granule = UINT64_C(16) << draw(8);
    ferrum_pool_config config = settings(granule);
    ferrum_manager_config manager_config = FERRUM_MANAGER_CONFIG_INIT;
    manager_config.pool_configs[FERRUM_MEMORY_GENERAL] = &config;
    manager_config.enable_debug = draw(2) == 0;
    ferrum_pool pool = {0};
    ferrum_manager manager = {0};
    if (of_pools)
        WORKS(ferrum_pool_create(m.devices[device], &config, &pool));
    else
        WORKS(ferrum_manager_create(m.devices[device], &manager_config,
                                    &manager));
    *o = (owner_model){pool.id | manager.id, device, granule, 0, 0};
}
static void end_owner(int force) {
    int of_pools = (int)draw(2), blocks = 0;
    owner_model *o =
        of_pools ? &m.pools[draw(POOLS)] : &m.managers[draw(MANAGERS)];
    if (o->handle == 0)
        return;
    for (int i = 0; i < BLOCKS; i++)
        blocks += m.blocks[i].owner == o;
    uint32_t flags = force ? FERRUM_FORCE : 0;
    ferrum_status status =
        of_pools ? ferrum_pool_destroy((ferrum_pool){o->handle}, flags)
                 : ferrum_manager_destroy((ferrum_manager){o->handle}, flags);
    const char *call =
        of_pools ? "ferrum_pool_destroy" : "ferrum_manager_destroy";
    if (!gives(status, blocks && !force ? FERRUM_ERROR_BUSY : FERRUM_OK, call,
               wrong))
        return;
    for (int i = 0; i < BLOCKS; i++)
        if (m.blocks[i].owner == o)
            leave(&m.blocks[i]);
    m.dead = o->handle;
    o->handle = 0;
}

/* ------------------------------------------------------------------ blocks */

static void pool_alloc(void) {
    owner_model *o = &m.pools[draw(POOLS)];
    block_model *b = free_place();
    if (o->handle == 0 || b == NULL)
        return;
    uint64_t size = any_size(), alignment = UINT64_C(1) << draw(17);
    ferrum_stream stream = handle_of(any_stream(o->device));
    ferrum_pool pool = {o->handle};
    int ok = draw(2) ? WORKS(ferrum_pool_alloc(pool, size, stream, &b->address))
                     : WORKS(pool_alloc_aligned(pool, size, alignment, stream,
                                                &b->address)) &&
                           b->address % alignment == 0;
    uint64_t rounded = 0;
    if (ok && b->address % o->granule == 0 &&
        WORKS(ferrum_pool_usable_size(pool, b->address, &rounded)))
        enter(b, o, size, rounded);
    else
        wrong("no block, or one at the wrong address %#llx",
              (unsigned long long)b->address);
}
static void pool_free(void) {
    block_model *b = any_block(0);
    if (b == NULL)
        return;
    check_bytes(b);
    ferrum_pool pool = {b->owner->handle};
    ferrum_stream stream = handle_of(any_stream(b->owner->device));
    ferrum_address address = b->address;
    WORKS(ferrum_pool_free(pool, address, stream));
    leave(b);
    ferrum_status again = ferrum_pool_free(pool, address, stream);
    if (again != FERRUM_ERROR_DOUBLE_FREE &&
        again != FERRUM_ERROR_INVALID_ADDRESS)
        wrong("a second free gives %s", ferrum_status_name(again));
}
static void allocate(void) {
    owner_model *o = &m.managers[draw(MANAGERS)];
    block_model *b = free_place();
    if (o->handle == 0 || b == NULL)
        return;
    ferrum_allocation_request r = FERRUM_ALLOCATION_REQUEST_INIT;
    r.memory_type = (ferrum_memory_type)draw(4);
    r.size_bytes = any_size();
    r.alignment_bytes = draw(2) ? 0 : UINT64_C(1) << draw(17);
    r.tag = draw(2) ? "kv" : NULL;
    r.flags = draw(2) ? FERRUM_ALLOCATE_RELOCATABLE : 0;
    ferrum_memory memory;
    ferrum_handle_info info = FERRUM_HANDLE_INFO_INIT;
    if (!WORKS(ferrum_manager_alloc_with((ferrum_manager){o->handle}, &r,
                                         &memory)) ||
        !WORKS(ferrum_memory_get_handle_info(memory, &info)))
        return;
    b->memory = memory.id;
    b->address = info.address;
    if (info.size_bytes != r.size_bytes || info.manager.id != o->handle ||
        info.device.id != m.devices[o->device].id ||
        info.memory_type != r.memory_type ||
        info.alignment_bytes < o->granule || info.pin_count != 0 ||
        info.is_relocatable != (r.flags != 0) ||
        (r.alignment_bytes != 0 && info.address % r.alignment_bytes != 0) ||
        strcmp(info.tag, r.tag == NULL ? "" : r.tag) != 0)
        wrong("the description of a block differs from the request");
    enter(b, o, r.size_bytes, info.allocated_bytes);
}
static void deallocate(void) {
    block_model *b = any_block(1);
    if (b == NULL)
        return;
    if (draw(2))
        check_bytes(b);
    m.dead = b->memory;
    WORKS(ferrum_memory_free((ferrum_memory){b->memory}));
    leave(b);
}

/* ------------------------------------------------------- copies and fills */

static void copy(void) {
    block_model *src = any_block(1), *dst = any_block(1);
    if (src == NULL || dst == NULL)
        return;
    uint64_t most = src->size < dst->size ? src->size : dst->size;
    ferrum_transfer t = FERRUM_TRANSFER_INIT;
    t.src.id = src->memory;
    t.dst.id = dst->memory;
    t.size_bytes = 1 + draw(most);
    t.src_offset_bytes = draw(src->size - t.size_bytes + 1);
    t.dst_offset_bytes = draw(dst->size - t.size_bytes + 1);
    stream_model *s = any_stream(dst->owner->device);
    if (s == NULL) {
        WORKS(ferrum_memory_copy(&t));
    } else {
        order(src, s);
        order(dst, s);
        WORKS(ferrum_memory_copy_async(&t, s->handle));
    }
    memmove(dst->bytes + t.dst_offset_bytes, src->bytes + t.src_offset_bytes,
            t.size_bytes);
}
static void fill(void) {
    block_model *b = any_block(1);
    stream_model *s = b == NULL ? NULL : any_stream(b->owner->device);
    ferrum_fill f = FERRUM_FILL_INIT;
    f.pattern_bytes = 1u << draw(3);
    if (s == NULL || b->size < f.pattern_bytes)
        return;
    uint64_t units = b->size / f.pattern_bytes, count = 1 + draw(units);
    f.memory.id = b->memory;
    f.offset_bytes = draw(units - count + 1) * f.pattern_bytes;
    f.size_bytes = count * f.pattern_bytes;
    f.pattern = (uint32_t)draw(UINT64_C(1) << (8 * f.pattern_bytes));
    order(b, s);
    WORKS(ferrum_memory_fill_async(&f, s->handle));
    for (uint64_t i = 0; i < f.size_bytes; i++)
        b->bytes[f.offset_bytes + i] =
            (unsigned char)(f.pattern >> (8 * (i % f.pattern_bytes)));
}
static void read_and_write(void) {
    block_model *b = any_block(1);
    if (b == NULL)
        return;
    wait_for_block(b);
    ferrum_memory memory = {b->memory};
    uint64_t size = 1 + draw(b->size), offset = draw(b->size - size + 1);
    unsigned char *buffer = malloc(size);
    WORKS(ferrum_memory_read(memory, offset, buffer, size));
    if (memcmp(buffer, b->bytes + offset, size) != 0)
        wrong("read gives other bytes");
    memset(buffer, (int)draw(256), size);
    WORKS(ferrum_memory_write(memory, offset, buffer, size));
    memcpy(b->bytes + offset, buffer, size);
    free(buffer);
}

/* ------------------------------------------------- calls that must fail */

static void bad_pool_call(owner_model *o) {
    ferrum_pool pool = {o->handle};
    ferrum_address a;
    uint64_t bad =
        draw(2) ? 3 + draw(1000) * 4 : UINT64_C(1) << (31 + draw(33));
    stream_model *other = any_stream(1 - o->device);
    block_model *b = any_block(0);
    GIVES(ERROR_INVALID_SIZE,
          ferrum_pool_alloc(pool, 0, (ferrum_stream){0}, &a));
    GIVES(ERROR_OVERFLOW,
          ferrum_pool_alloc(pool, UINT64_MAX - draw(o->granule - 1),
                            (ferrum_stream){0}, &a));
    GIVES(ERROR_OUT_OF_MEMORY,
          ferrum_pool_alloc(pool, CAPACITY + 1 + draw(UINT64_C(1) << 60),
                            (ferrum_stream){0}, &a));
    GIVES(ERROR_INVALID_ALIGNMENT,
          pool_alloc_aligned(pool, 64, bad, (ferrum_stream){0}, &a));
    GIVES(ERROR_INVALID_HANDLE,
          ferrum_pool_alloc((ferrum_pool){m.dead}, 64, (ferrum_stream){0}, &a));
    GIVES(ERROR_INVALID_ADDRESS,
          ferrum_pool_free(pool, draw(4096), (ferrum_stream){0}));
    GIVES(ERROR_INVALID_ARGUMENT,
          ferrum_pool_destroy(pool, 2 + (uint32_t)draw(1000)));
    if (other != NULL)
        GIVES(ERROR_INVALID_ARGUMENT,
              ferrum_pool_alloc(pool, 64, other->handle, &a));
    if (b != NULL)
        GIVES(ERROR_INVALID_ADDRESS,
              ferrum_pool_free((ferrum_pool){b->owner->handle},
                               b->address + 1 + draw(b->rounded - 1),
                               (ferrum_stream){0}));
}
static void bad_memory_call(block_model *b) {
    ferrum_memory memory = {b->memory};
    ferrum_transfer t = FERRUM_TRANSFER_INIT;
    unsigned char byte = 0;
    t.src = t.dst = memory;
    GIVES(ERROR_INVALID_SIZE, ferrum_memory_copy(&t));
    t.size_bytes = b->size + 1;
    GIVES(ERROR_INVALID_OFFSET, ferrum_memory_copy(&t));
    t.size_bytes = 1;
    t.dst_offset_bytes = UINT64_MAX;
    GIVES(ERROR_OVERFLOW, ferrum_memory_copy_async(&t, (ferrum_stream){0}));
    t.dst_offset_bytes = 0;
    t.src.id = m.dead;
    GIVES(ERROR_INVALID_HANDLE, ferrum_memory_copy(&t));
    GIVES(ERROR_INVALID_OFFSET, ferrum_memory_read(memory, b->size, &byte, 1));
    GIVES(ERROR_INVALID_OFFSET, ferrum_memory_write(memory, b->size, &byte, 1));
    GIVES(ERROR_NULL_POINTER, ferrum_memory_write(memory, 0, NULL, 1));
    GIVES(ERROR_BUSY,
          ferrum_manager_destroy((ferrum_manager){b->owner->handle}, 0));
    GIVES(ERROR_INVALID_HANDLE,
          ferrum_pool_destroy((ferrum_pool){b->memory}, FERRUM_FORCE));
}
static void bad_call(void) {
    owner_model *o = &m.pools[draw(POOLS)];
    block_model *b = any_block(1);
    if (o->handle != 0)
        bad_pool_call(o);
    if (b != NULL)
        bad_memory_call(b);
    ferrum_event event;
    GIVES(ERROR_INVALID_HANDLE, ferrum_memory_free((ferrum_memory){m.dead}));
    GIVES(ERROR_INVALID_HANDLE,
          ferrum_event_record((ferrum_stream){m.dead}, &event));
    GIVES(ERROR_BUSY, ferrum_shutdown(0));
}

/* ---------------------------------------------------------------- counters */

static void check_books(const char *what, ferrum_statistics s, owner_model *o,
                        int device) {
    uint64_t requested = 0, allocated = 0, live = 0;
    for (int i = 0; i < BLOCKS; i++) {
        block_model *b = &m.blocks[i];
        if (b->owner == NULL ||
            (o != NULL ? b->owner != o : b->owner->device != device))
            continue;
        requested += b->size;
        allocated += b->rounded;
        live++;
    }
    if (s.requested.current != requested || s.allocated.current != allocated ||
        s.live_blocks.current != live || s.allocations - s.frees != live ||
        s.active.current < allocated ||
        s.reserved.current !=
            s.active.current + s.cached.current + s.unusable.current ||
        (o != NULL && (s.allocations != o->made || s.frees != o->freed)))
        wrong("the books of %s: %llu blocks of %llu bytes (%llu), not %llu of "
              "%llu (%llu)",
              what, (unsigned long long)s.live_blocks.current,
              (unsigned long long)s.requested.current,
              (unsigned long long)s.allocated.current, (unsigned long long)live,
              (unsigned long long)requested, (unsigned long long)allocated);
}
static void check_all_books(void) {
    ferrum_statistics s = FERRUM_STATISTICS_INIT;
    for (int i = 0; i < POOLS; i++)
        if (m.pools[i].handle != 0 &&
            WORKS(ferrum_pool_get_statistics((ferrum_pool){m.pools[i].handle},
                                             &s)))
            check_books("a pool", s, &m.pools[i], 0);
    for (int i = 0; i < MANAGERS; i++)
        if (m.managers[i].handle != 0 &&
            WORKS(ferrum_manager_get_statistics(
                (ferrum_manager){m.managers[i].handle}, &s)))
            check_books("a manager", s, &m.managers[i], 0);
    for (int i = 0; i < DEVICES; i++) {
        ferrum_memory_info info = FERRUM_MEMORY_INFO_INIT;
        if (WORKS(ferrum_device_get_statistics(m.devices[i], &s)))
            check_books("a device", s, NULL, i);
        if (WORKS(ferrum_device_get_memory_info(m.devices[i], &info)) &&
            ((on_host() &&
              info.used_bytes + info.free_bytes + info.reserved_bytes !=
                  CAPACITY) ||
             (on_host() && info.total_bytes != CAPACITY) ||
             info.active_allocations != s.live_blocks.current))
            wrong("the memory information of device %d does not add up", i);
    }
}

/* Updates the model with the new addresses of moved blocks. */
static void find_moved(const owner_model *owner, uint64_t moved) {
    for (int i = 0; i < BLOCKS; i++) {
        block_model *b = &m.blocks[i];
        ferrum_handle_info info = FERRUM_HANDLE_INFO_INIT;
        if (b->owner != owner || b->memory == 0 ||
            !WORKS(ferrum_memory_get_handle_info((ferrum_memory){b->memory},
                                                 &info)))
            continue;
        if (info.address != b->address) {
            moved--;
            if (!info.is_relocatable)
                wrong("a block that is not relocatable has moved");
        }
        b->address = info.address;
    }
    if (moved != 0)
        wrong("not as many blocks have moved as were said to");
}

static void tidy(void) {
    owner_model *o = &m.pools[draw(POOLS)], *g = &m.managers[draw(MANAGERS)];
    uint64_t released;
    ferrum_defragmentation_stats stats = FERRUM_DEFRAGMENTATION_STATS_INIT;
    if (o->handle != 0)
        WORKS(ferrum_pool_trim((ferrum_pool){o->handle}, draw(4) * MIB,
                               &released));
    if (g->handle == 0)
        return;
    WORKS(ferrum_manager_defragment((ferrum_manager){g->handle}, &stats));
    find_moved(g, stats.blocks_moved);
}

static void step(void) {
    static void (*const often[])(void) = {pool_alloc,    pool_free, allocate,
                                          deallocate,    copy,      fill,
                                          read_and_write};
    static void (*const seldom[])(void) = {
        make_stream, make_stream, end_stream, make_owner,
        make_owner,  bad_call,    tidy,       check_all_books};
    uint64_t which = draw(100);
    if (which < 85)
        often[draw(sizeof often / sizeof *often)]();
    else if (which < 98)
        seldom[draw(sizeof seldom / sizeof *seldom)]();
    else
        end_owner(which == 98 && draw(4) == 0);
}

static int program_fails(unsigned long seed) {
    memset(&m, 0, sizeof m);
    m.program = seed;
    m.random = seed * UINT64_C(0x9e3779b97f4a7c15) + 1;
    ferrum_config config = FERRUM_CONFIG_INIT;
    config.host_devices = DEVICES;
    config.host_memory_bytes = DEVICES * CAPACITY;
    MUST(ferrum_init(&config));
    MUST(ferrum_device_open(first_device(), &m.devices[0]));
    MUST(ferrum_device_open(other_device(), &m.devices[1]));
    for (int i = 0; i < DEVICES; i++)
        MUST(ferrum_device_set_limit(m.devices[i], CAPACITY));
    for (m.step = 0; m.step < STEPS && !m.failed; m.step++)
        step();
    for (int i = 0; i < BLOCKS; i++)
        if (m.blocks[i].owner != NULL)
            check_bytes(&m.blocks[i]);
    check_all_books();
    for (int left = 1; left && !m.failed;) { /* end_owner picks at random */
        end_owner(1);
        left = 0;
        for (int i = 0; i < POOLS; i++)
            left |= m.pools[i].handle != 0;
        for (int i = 0; i < MANAGERS; i++)
            left |= m.managers[i].handle != 0;
    }
    for (int i = 0; i < STREAMS; i++)
        if (m.streams[i].handle.id != 0)
            WORKS(ferrum_stream_destroy(m.streams[i].handle, FERRUM_FORCE));
    for (int i = 0; i < DEVICES && !m.failed; i++) {
        ferrum_statistics s = FERRUM_STATISTICS_INIT;
        WORKS(ferrum_device_get_statistics(m.devices[i], &s));
        if (s.reserved.current != 0)
            wrong("device %d: memory is left", i);
        WORKS(ferrum_device_close(m.devices[i], 0));
    }
    MUST(ferrum_shutdown(m.failed ? FERRUM_FORCE : 0));
    return m.failed;
}

/* test_random_programs [SEED [PROGRAMS]]: with a seed one program, if no number
 * is given. */
int main(int argc, char **argv) {
    int failed = 0, ran = 0;
    unsigned long first = argc > 1 ? strtoul(argv[1], NULL, 10) : 1;
    int programs = argc > 2 ? atoi(argv[2]) : argc > 1 ? 1 : PROGRAMS;
    for (; ran < programs; ran++)
        failed += program_fails(first + (unsigned long)ran);
    printf("%d passed, %d failed\n", ran - failed, failed);
    return failed != 0;
}
