/*
 * Values that are invalid for their function. Each case runs in a separate
 * process (this program, started again with --case N), so that a crash or a
 * hang is detected and named. The parent waits 30 s. Arguments that are
 * invalid for any function, such as NULL, are in test_arguments.c.
 *
 * A case passes if the call returns the expected status and the message names
 * the argument. After it the counters are unchanged, every object still works
 * and the library stops cleanly.
 */
#include "fixture.h"
#include "requests.h"

#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

/* ---------------------------------------------------- helpers for similar calls */

#define OUT(type, init) (&(type)init)

static uint64_t reclaim(ferrum_device d, uint64_t n, void *u) {
    (void)d;
    (void)n;
    (void)u;
    return 0;
}

/* Chooses the option in the user data, or fails with that status if it is
 * negative. */
static ferrum_status choose(const ferrum_placement_request *r,
                            const ferrum_placement_option *o, size_t n,
                            int64_t *chosen_out, void *u) {
    (void)r;
    (void)o;
    (void)n;
    *chosen_out = *(int64_t *)u;
    return 0;
}
static ferrum_status refuse(const ferrum_placement_request *r,
                            const ferrum_placement_option *o, size_t n,
                            int64_t *chosen_out, void *u) {
    (void)r;
    (void)o;
    (void)n;
    (void)chosen_out;
    return *(ferrum_status *)u;
}

static ferrum_status copy_async_with(uint64_t src, uint64_t dst,
                                     uint64_t stream) {
    ferrum_transfer t = FERRUM_TRANSFER_INIT;
    t.src.id = src;
    t.dst.id = dst;
    t.size_bytes = 16;
    return ferrum_memory_copy_async(&t, (ferrum_stream){stream});
}
static ferrum_status fill_with(uint64_t memory, uint64_t stream) {
    ferrum_fill fill = FERRUM_FILL_INIT;
    fill.memory.id = memory;
    fill.size_bytes = 16;
    return ferrum_memory_fill_async(&fill, (ferrum_stream){stream});
}

static ferrum_status pool_request_with(uint64_t pool, uint64_t stream) {
    ferrum_pool_request r = FERRUM_POOL_REQUEST_INIT;
    r.size_bytes = 16;
    r.stream.id = stream;
    ferrum_address out = 1;
    ferrum_status status =
        ferrum_pool_alloc_with((ferrum_pool){pool}, &r, &out);
    return out == 0 ? status : FERRUM_OK;
}
/* A failed batch leaves zeros. */
static ferrum_status alloc_batch_with(uint64_t pool, uint64_t stream,
                                      uint64_t size) {
    ferrum_address out[3] = {1, 1, 1};
    ferrum_status status = ferrum_pool_alloc_batch(
        (ferrum_pool){pool}, size, 3, (ferrum_stream){stream}, out);
    return (out[0] | out[1] | out[2]) == 0 ? status : FERRUM_OK;
}
static ferrum_status free_batch_with(uint64_t pool, uint64_t stream,
                                     ferrum_address first,
                                     ferrum_address second) {
    const ferrum_address both[] = {first, second};
    return ferrum_pool_free_batch((ferrum_pool){pool}, both, 1 + (second != 0),
                                  (ferrum_stream){stream});
}

static ferrum_status vpool_on(ferrum_device device,
                              void (*change)(ferrum_vpool_config *)) {
    ferrum_vpool_config c = FERRUM_VPOOL_CONFIG_INIT;
    c.capacity_bytes = UINT64_C(64) << 20;
    change(&c);
    ferrum_vpool out = {1};
    ferrum_status status = ferrum_vpool_create(device, &c, &out);
    return out.id == 0 ? status : FERRUM_OK;
}
static ferrum_status vpool_alloc_with(ferrum_vpool vpool, uint64_t offset,
                                      uint64_t size) {
    ferrum_address out = 1;
    ferrum_status status = ferrum_vpool_alloc(vpool, offset, size, &out);
    return out == 0 ? status : FERRUM_OK;
}

static uint64_t model_reclaim(ferrum_elastic_pool p, const char *m, uint64_t n,
                              void *u) {
    (void)p;
    (void)m;
    (void)n;
    (void)u;
    return 0;
}
static ferrum_status shared_on(ferrum_device device,
                               void (*change)(ferrum_elastic_pool_config *)) {
    ferrum_elastic_pool_config c = FERRUM_ELASTIC_POOL_CONFIG_INIT;
    if (change != NULL)
        change(&c);
    ferrum_elastic_pool out = {1};
    ferrum_status status = ferrum_elastic_pool_create(device, &c, &out);
    return out.id == 0 ? status : FERRUM_OK;
}
static ferrum_status register_with(ferrum_elastic_pool pool, const char *id,
                                   void (*change)(ferrum_model_config *)) {
    ferrum_model_config c = FERRUM_MODEL_CONFIG_INIT;
    c.virtual_bytes = UINT64_C(64) << 20;
    if (change != NULL)
        change(&c);
    return ferrum_elastic_pool_register_model(pool, id, &c);
}
static ferrum_status shared_allocate_with(ferrum_elastic_pool pool,
                                          const char *id, uint64_t size) {
    ferrum_address out = 1;
    uint64_t offset = 1;
    ferrum_status status =
        ferrum_elastic_pool_alloc(pool, id, size, &out, &offset);
    return (out | offset) == 0 ? status : FERRUM_OK;
}
static ferrum_status shared_allocate_at(ferrum_elastic_pool pool,
                                        const char *id, uint64_t offset,
                                        uint64_t size) {
    ferrum_address out = 1;
    ferrum_status status = elastic_pool_alloc_at(pool, id, offset, size, &out);
    return out == 0 ? status : FERRUM_OK;
}
static ferrum_status model_asked_with(ferrum_elastic_pool pool, const char *id,
                                      void (*change)(ferrum_model_request *)) {
    ferrum_model_request r = FERRUM_MODEL_REQUEST_INIT;
    r.size_bytes = 16;
    if (change != NULL)
        change(&r);
    ferrum_address out = 1;
    uint64_t offset = 1;
    ferrum_status status =
        ferrum_elastic_pool_alloc_with(pool, id, &r, &out, &offset);
    return (out | offset) == 0 ? status : FERRUM_OK;
}
static ferrum_status limits_with(ferrum_elastic_pool pool, const char *id,
                                 uint64_t guaranteed, uint64_t most) {
    ferrum_model_limits l = FERRUM_MODEL_LIMITS_INIT;
    l.guaranteed_bytes = guaranteed;
    l.max_bytes = most;
    return ferrum_elastic_pool_set_model_limits(pool, id, &l);
}

static ferrum_status vpool_asked_with(ferrum_vpool vpool,
                                      void (*change)(ferrum_vpool_request *)) {
    ferrum_vpool_request r = FERRUM_VPOOL_REQUEST_INIT;
    r.offset_bytes = 4 * FIXTURE_PAGE;
    r.size_bytes = 16;
    if (change != NULL)
        change(&r);
    ferrum_address out = 1;
    ferrum_status status = ferrum_vpool_alloc_with(vpool, &r, &out);
    return out == 0 ? status : FERRUM_OK;
}
static ferrum_stream stream_in_request;
static void change_placed_stream(ferrum_vpool_request *r) {
    r->stream = stream_in_request;
}
static void change_range_stream(ferrum_model_request *r) {
    r->stream = stream_in_request;
}
/* The report of a failed call is zeros. */
static ferrum_status sleep_by(fixture *f, const ferrum_sleep_config *config,
                              int model) {
    static ferrum_sleep_report report;
    report.struct_size = sizeof report;
    report.released_bytes = 1;
    report.path[0] = 'x';
    ferrum_status status =
        model ? ferrum_elastic_pool_sleep_model(f->shared, "chat", config,
                                                &report)
              : ferrum_vpool_sleep(f->vpool, config, &report);
    return report.released_bytes == 0 && report.path[0] == 0 ? status
                                                             : FERRUM_OK;
}
static ferrum_status sleep_after(fixture *f, ferrum_stream stream, int model) {
    ferrum_sleep_config c = FERRUM_SLEEP_CONFIG_INIT;
    c.stream = stream;
    return sleep_by(f, &c, model);
}
static ferrum_status
sleep_with(fixture *f, void (*change)(ferrum_sleep_config *), int model) {
    ferrum_sleep_config c = FERRUM_SLEEP_CONFIG_INIT;
    change(&c);
    return sleep_by(f, &c, model);
}

/* Requests a buffer from a fallback manager. */
static ferrum_status buffer_with(uint64_t manager,
                                 void (*change)(ferrum_buffer_request *)) {
    ferrum_buffer_request r = FERRUM_BUFFER_REQUEST_INIT;
    r.num_elements = 16;
    if (change != NULL)
        change(&r);
    ferrum_fallback_buffer out = {1};
    ferrum_status status = ferrum_fallback_manager_alloc(
        (ferrum_fallback_manager){manager}, &r, &out);
    return out.id == 0 ? status : FERRUM_OK;
}
static ferrum_status buffer_on(fixture *f, uint64_t stream) {
    ferrum_buffer_request r = FERRUM_BUFFER_REQUEST_INIT;
    r.num_elements = 16;
    r.stream.id = stream;
    ferrum_fallback_buffer out = {1};
    ferrum_status status =
        ferrum_fallback_manager_alloc(f->fallback_manager, &r, &out);
    return out.id == 0 ? status : FERRUM_OK;
}
static ferrum_status adopt_with(ferrum_fallback_manager manager,
                                ferrum_buffer_location location,
                                ferrum_address address) {
    ferrum_buffer_request r = FERRUM_BUFFER_REQUEST_INIT;
    r.num_elements = 16;
    ferrum_fallback_buffer out = {1};
    ferrum_status status =
        ferrum_fallback_manager_adopt(manager, location, address, &r, &out);
    return out.id == 0 ? status : FERRUM_OK;
}
static ferrum_status fallback_manager_on(uint64_t device, uint64_t host) {
    ferrum_fallback_manager out = {1};
    ferrum_status status = ferrum_fallback_manager_create(
        (ferrum_device){device}, (ferrum_device){host}, NULL, &out);
    return out.id == 0 ? status : FERRUM_OK;
}
static ferrum_status manage_with(fixture *f,
                                 void (*change)(ferrum_memory_config *)) {
    ferrum_memory_config c = FERRUM_MEMORY_CONFIG_INIT;
    change(&c);
    ferrum_fallback_manager out = {1};
    ferrum_status status =
        ferrum_fallback_manager_create(f->other_device, f->device, &c, &out);
    return out.id == 0 ? status : FERRUM_OK;
}
static ferrum_status config_with(void (*change)(ferrum_memory_config *)) {
    ferrum_memory_config c = FERRUM_MEMORY_CONFIG_INIT;
    change(&c);
    return ferrum_memory_config_check(&c);
}
static ferrum_status track_with(uint64_t tracker,
                                void (*change)(ferrum_buffer_metadata *)) {
    ferrum_buffer_metadata m = {0};
    m.buffer_id = 7;
    m.size_bytes = 16;
    if (change != NULL)
        change(&m);
    return ferrum_tracker_track((ferrum_tracker){tracker}, &m);
}
/* Requests a device from a strategy, or the strategy's score of each device. */
static ferrum_status place(uint64_t placement,
                           void (*change)(ferrum_placement_request *),
                           int explain) {
    ferrum_placement_request r = FERRUM_PLACEMENT_REQUEST_INIT;
    r.size_bytes = 16;
    if (change != NULL)
        change(&r);
    const ferrum_placement asked = {placement};
    if (explain) {
        char text[8] = "before";
        size_t length = 1;
        ferrum_status status = ferrum_placement_explain_json(
            asked, &r, text, sizeof text, &length);
        return text[0] == 0 && length == 0 ? status : FERRUM_OK;
    }
    ferrum_device out = {1};
    ferrum_status status = ferrum_placement_select(asked, &r, &out);
    return out.id == 0 ? status : FERRUM_OK;
}
/* A request that prefers a device, or has that device as the only candidate. */
static ferrum_status place_on(fixture *f, uint64_t device, int preferred) {
    ferrum_placement_request r = FERRUM_PLACEMENT_REQUEST_INIT;
    const ferrum_device given = {device};
    r.size_bytes = 16;
    if (preferred) {
        r.preferred = &given;
        r.preferred_count = 1;
    } else {
        r.devices = &given;
        r.device_count = 1;
    }
    ferrum_device out = {1};
    ferrum_status status = ferrum_placement_select(f->placement, &r, &out);
    return out.id == 0 ? status : FERRUM_OK;
}
/* Uses a strategy of the caller that chooses or fails in this way. */
static ferrum_status place_by(ferrum_placement_fn callback, void *data) {
    ferrum_placement own;
    MUST(ferrum_placement_create_own("mine", callback, data, &own));
    ferrum_status status = place(own.id, NULL, 0);
    MUST(ferrum_placement_destroy(own));
    return status;
}
static ferrum_status name_own(const char *name) {
    ferrum_placement out = {1};
    ferrum_status status =
        ferrum_placement_create_own(name, choose, NULL, &out);
    return out.id == 0 ? status : FERRUM_OK;
}
static ferrum_status level_of_ratio(ferrum_pressure_profile profile,
                                    double ratio) {
    ferrum_pressure_level level = 7;
    ferrum_status status =
        ferrum_pressure_from_utilization(profile, ratio, &level);
    return level == 0 ? status : FERRUM_OK;
}
/* A call with timeout 0 while a stream of the device is blocked. */
static ferrum_status sleep_unwaiting(fixture *f, int model) {
    gate held = GATE;
    MUST(ferrum_stream_host_function(f->stream, gate_wait, &held));
    ferrum_sleep_config c = FERRUM_SLEEP_CONFIG_INIT;
    c.timeout_ns = 0;
    ferrum_status status = sleep_by(f, &c, model);
    gate_open(&held);
    MUST(ferrum_stream_synchronize(f->stream, FERRUM_WAIT_FOREVER));
    return status;
}
static ferrum_status map_with(uint64_t memory, uint64_t offset, uint64_t size,
                              ferrum_host_access access) {
    ferrum_map_request r = FERRUM_MAP_REQUEST_INIT;
    r.memory.id = memory;
    r.offset_bytes = offset;
    r.size_bytes = size;
    r.access = access;
    ferrum_mapping out = FERRUM_MAPPING_INIT;
    out.mapping_id = 1;
    ferrum_status status = ferrum_memory_map(&r, &out);
    return out.mapping_id == 0 ? status : FERRUM_OK;
}
static ferrum_status link_with(uint64_t first, uint64_t second,
                               void (*change)(ferrum_link_request *)) {
    ferrum_link_request r = FERRUM_LINK_REQUEST_INIT;
    r.size_bytes = 4096;
    if (change != NULL)
        change(&r);
    ferrum_memory a = {1}, b = {1};
    ferrum_status status = ferrum_manager_create_mapping(
        (ferrum_manager){first}, (ferrum_manager){second}, &r, &a, &b);
    return a.id == 0 && b.id == 0 ? status : FERRUM_OK;
}
/* The second device's manager is created for the call. */
static ferrum_status link_from(fixture *f,
                               void (*change)(ferrum_link_request *)) {
    ferrum_manager other;
    MUST(ferrum_manager_create(f->other_device, NULL, &other));
    ferrum_status status = link_with(f->manager.id, other.id, change);
    MUST(ferrum_manager_destroy(other, 0));
    return status;
}
static char foreign_bytes[64];
static ferrum_status adopt_foreign(uint64_t manager,
                                   void (*change)(ferrum_adoption *)) {
    ferrum_adoption a = FERRUM_ADOPTION_INIT;
    a.address = (ferrum_address)(uintptr_t)foreign_bytes;
    a.size_bytes = sizeof foreign_bytes;
    if (change != NULL)
        change(&a);
    ferrum_memory out = {1};
    ferrum_status status =
        ferrum_manager_adopt((ferrum_manager){manager}, &a, &out);
    return out.id == 0 ? status : FERRUM_OK;
}
static ferrum_status enqueue_never(ferrum_host_fn work, void *data, void *u) {
    (void)work;
    (void)data;
    (void)u;
    return FERRUM_ERROR_CANCELLED;
}
static ferrum_status stream_of(uint64_t device,
                               void (*change)(ferrum_foreign_stream *)) {
    ferrum_foreign_stream s = FERRUM_FOREIGN_STREAM_INIT;
    s.enqueue = enqueue_never;
    if (change != NULL)
        change(&s);
    ferrum_stream out = {1};
    ferrum_status status =
        ferrum_stream_adopt((ferrum_device){device}, &s, &out);
    return out.id == 0 ? status : FERRUM_OK;
}
/* Imports something that is not pages: the program's standard input. */
static ferrum_status import_with(uint64_t manager,
                                 void (*change)(ferrum_page_import *)) {
    static const int32_t files[1] = {0};
    ferrum_page_import i = FERRUM_PAGE_IMPORT_INIT;
    i.descriptors = files;
    i.count = 1;
    i.page_bytes = FIXTURE_PAGE;
    if (change != NULL)
        change(&i);
    ferrum_memory out = {1};
    ferrum_status status =
        ferrum_manager_import_pages((ferrum_manager){manager}, &i, &out);
    return out.id == 0 ? status : FERRUM_OK;
}
static void change_import_no_list(ferrum_page_import *i) {
    i->descriptors = NULL;
}
static void change_import_none(ferrum_page_import *i) { i->count = 0; }
static void change_import_many(ferrum_page_import *i) { i->count = UINT64_MAX; }
static void change_import_closed(ferrum_page_import *i) {
    static const int32_t closed[1] = {-1};
    i->descriptors = closed;
}
static void change_import_size_0(ferrum_page_import *i) { i->page_bytes = 0; }
static void change_import_size(ferrum_page_import *i) { i->page_bytes = 3; }
static void change_import_size_max(ferrum_page_import *i) {
    i->page_bytes = UINT64_MAX;
}
/* Queues work in an external stream that rejects it. */
static ferrum_status refused_by_its_owner(fixture *f) {
    ferrum_foreign_stream s = FERRUM_FOREIGN_STREAM_INIT;
    ferrum_stream stream;
    s.enqueue = enqueue_never;
    MUST(ferrum_stream_adopt(f->device, &s, &stream));
    ferrum_status status = fill_with(f->memory.id, stream.id);
    MUST(ferrum_stream_destroy(stream, 0));
    return status;
}
/* Uses a mapped block a second time. */
static ferrum_status while_mapped(fixture *f, int free) {
    ferrum_map_request r = FERRUM_MAP_REQUEST_INIT;
    r.memory = f->memory;
    MUST(ferrum_memory_map(&r, OUT(ferrum_mapping, FERRUM_MAPPING_INIT)));
    ferrum_status status =
        free ? ferrum_memory_free(f->memory)
             : map_with(f->memory.id, 4095, 1, FERRUM_HOST_WRITE_ONLY);
    MUST(ferrum_memory_unmap(f->memory, 0));
    return status;
}
/* Adopts the same memory a second time. */
static ferrum_status adopt_twice(fixture *f) {
    ferrum_adoption a = FERRUM_ADOPTION_INIT;
    a.address = (ferrum_address)(uintptr_t)foreign_bytes;
    a.size_bytes = sizeof foreign_bytes;
    ferrum_memory out;
    MUST(ferrum_manager_adopt(f->manager, &a, &out));
    ferrum_status status = adopt_foreign(f->manager.id, NULL);
    MUST(ferrum_memory_free(out));
    return status;
}

/* --------------------------------------------- calls with one invalid value */

typedef struct {
    const char *name;
    ferrum_status want;
    const char *names; /* what the message must contain */
    ferrum_status (*call)(fixture *);
} value_call;

static char long_text[65];

static void change_fraction_large(ferrum_memory_config *c) {
    c->gpu_memory_fraction = 1.5;
}
static void change_fraction_nan(ferrum_memory_config *c) {
    c->gpu_memory_fraction = 0.0 / 0.0;
}
static void change_per_bucket(ferrum_memory_config *c) {
    c->max_pooled_per_bucket = UINT64_MAX;
}
static void change_pre_many(ferrum_memory_config *c) {
    c->pre_allocate_count = 4097;
}
static void change_pre_none(ferrum_memory_config *c) {
    c->flags = FERRUM_MEMORY_PRE_ALLOCATE;
}
static void change_pre_null(ferrum_memory_config *c) {
    c->pre_allocate_count = 1;
}
static void change_pre_zero(ferrum_memory_config *c) {
    static const uint64_t sizes[] = {16, 0};
    c->flags = FERRUM_MEMORY_PRE_ALLOCATE;
    c->pre_allocate_sizes = sizes;
    c->pre_allocate_count = 2;
}
static void change_pre_above_pooled(ferrum_memory_config *c) {
    static const uint64_t sizes[] = {16, UINT64_C(1) << 40};
    c->flags |= FERRUM_MEMORY_PRE_ALLOCATE;
    c->pre_allocate_sizes = sizes;
    c->pre_allocate_count = 2;
}
static void change_pre_too_much(ferrum_memory_config *c) {
    change_pre_above_pooled(c);
    c->max_pooled_bytes = 0;
}
static void change_track_id(ferrum_buffer_metadata *m) { m->buffer_id = 0; }
static void change_track_tag(ferrum_buffer_metadata *m) {
    memset(m->tag, 'x', sizeof m->tag);
}
static void change_track_tag_utf8(ferrum_buffer_metadata *m) {
    m->tag[0] = (char)0xff;
}
static void change_track_size(ferrum_buffer_metadata *m) {
    m->size_bytes = UINT64_MAX;
}
static void change_buffer_len(ferrum_buffer_request *r) { r->num_elements = 0; }
static void change_buffer_huge(ferrum_buffer_request *r) {
    r->num_elements = UINT64_MAX / 2;
}
static void change_buffer_large(ferrum_buffer_request *r) {
    r->num_elements = UINT64_C(1) << 40;
}

static void change_no_enqueue(ferrum_foreign_stream *s) { s->enqueue = NULL; }

/* -------------------------------------------------------------- value cases */

static ferrum_status pool_with(fixture *f,
                               void (*change)(ferrum_pool_config *)) {
    ferrum_pool_config c = FERRUM_POOL_CONFIG_INIT;
    change(&c);
    ferrum_pool out = {1};
    ferrum_status status = ferrum_pool_create(f->device, &c, &out);
    return out.id == 0 ? status : FERRUM_OK;
}
static ferrum_status pool_asked_with(fixture *f,
                                     void (*change)(ferrum_pool_request *)) {
    ferrum_pool_request r = FERRUM_POOL_REQUEST_INIT;
    r.size_bytes = 16;
    change(&r);
    ferrum_address out = 1;
    ferrum_status status = ferrum_pool_alloc_with(f->pool, &r, &out);
    return out == 0 ? status : FERRUM_OK;
}
/* More tags than a pool accepts. */
static ferrum_status too_many_tags(fixture *f) {
    char name[16];
    uint32_t tag = 1;
    ferrum_status status = FERRUM_OK;
    for (int i = 0; i < 5000 && status == FERRUM_OK; i++) {
        snprintf(name, sizeof name, "%d", i);
        status = ferrum_pool_get_tag(f->pool, name, &tag);
    }
    return tag == 0 ? status : FERRUM_OK;
}
static ferrum_status manager_with(fixture *f,
                                  void (*change)(ferrum_manager_config *)) {
    ferrum_manager_config c = FERRUM_MANAGER_CONFIG_INIT;
    change(&c);
    ferrum_manager out = {1};
    ferrum_status status = ferrum_manager_create(f->device, &c, &out);
    return out.id == 0 ? status : FERRUM_OK;
}
static ferrum_status typed_with(fixture *f,
                                void (*change)(ferrum_allocation_request *)) {
    ferrum_allocation_request r = FERRUM_ALLOCATION_REQUEST_INIT;
    r.size_bytes = 16;
    change(&r);
    ferrum_memory out = {1};
    ferrum_status status = ferrum_manager_alloc_with(f->manager, &r, &out);
    return out.id == 0 ? status : FERRUM_OK;
}
static ferrum_status range_with(fixture *f, uint64_t size, uint64_t src,
                                uint64_t dst, int async) {
    ferrum_transfer t = FERRUM_TRANSFER_INIT;
    t.src = t.dst = f->memory;
    t.size_bytes = size;
    t.src_offset_bytes = src;
    t.dst_offset_bytes = dst;
    return async ? ferrum_memory_copy_async(&t, f->stream)
                 : ferrum_memory_copy(&t);
}
static ferrum_status fill_range(fixture *f, uint64_t offset, uint64_t size,
                                uint32_t width, uint32_t pattern) {
    ferrum_fill fill = FERRUM_FILL_INIT;
    fill.memory = f->memory;
    fill.offset_bytes = offset;
    fill.size_bytes = size;
    fill.pattern_bytes = width;
    fill.pattern = pattern;
    return ferrum_memory_fill_async(&fill, f->stream);
}
/* A model that can be estimated, and the request. */
static ferrum_status estimate_with(void (*change)(ferrum_estimate_request *)) {
    static const char model[] =
        "{\"model_type\":\"llama\",\"hidden_size\":64,"
        "\"intermediate_size\":64,\"num_hidden_layers\":1,"
        "\"num_attention_heads\":1,\"vocab_size\":9}";
    ferrum_estimate_request r = FERRUM_ESTIMATE_REQUEST_INIT;
    r.context = 1;
    change(&r);
    size_t length = 1;
    ferrum_status status = ferrum_estimate_config_json(model, sizeof model - 1,
                                                       &r, NULL, 0, &length);
    return length == 0 ? status : FERRUM_OK;
}
static ferrum_status shape_with(void (*change)(ferrum_model_shape *)) {
    ferrum_model_shape s = FERRUM_MODEL_SHAPE_INIT;
    s.hidden_size = s.num_layers = s.num_heads = s.dtype_bytes = 1;
    change(&s);
    uint64_t bytes = 1;
    ferrum_status status = ferrum_estimate_model_memory(&s, &bytes);
    return bytes == 0 ? status : FERRUM_OK;
}

#define CHANGE(name, type, body) \
    static void change_##name(type *c) { body }
CHANGE(estimate_context_0, ferrum_estimate_request, c->context = 0;)
CHANGE(estimate_context_max, ferrum_estimate_request, c->context = UINT64_MAX;)
CHANGE(estimate_batch_0, ferrum_estimate_request, c->batch = 0;)
CHANGE(estimate_devices_0, ferrum_estimate_request, c->tensor_parallel = 0;)
CHANGE(estimate_devices, ferrum_estimate_request, c->tensor_parallel = 65537;)
CHANGE(estimate_overhead, ferrum_estimate_request, c->overhead_permille = 1001;)
CHANGE(estimate_kv_dtype, ferrum_estimate_request, c->kv_dtype = "f7";)
CHANGE(estimate_weight_dtype, ferrum_estimate_request, c->weight_dtype = "q9";)
CHANGE(estimate_too_much, ferrum_estimate_request,
       c->context = c->batch = UINT64_C(1) << 40;)
CHANGE(shape_no_heads, ferrum_model_shape, c->num_heads = 0;)
CHANGE(shape_huge, ferrum_model_shape, c->hidden_size = UINT64_MAX;)
CHANGE(initial_above_max, ferrum_pool_config, c->initial_size_bytes = 2 << 20;
       c->max_size_bytes = 1 << 20;)
CHANGE(gibibyte_above_max, ferrum_pool_config,
       c->initial_size_bytes = UINT64_C(1) << 30;
       c->max_size_bytes = UINT64_C(512) << 20;)
CHANGE(no_increment, ferrum_pool_config, c->growth_increment_bytes = 0;)
CHANGE(odd_alignment, ferrum_pool_config, c->alignment_bytes = 48;)
CHANGE(huge_alignment, ferrum_pool_config,
       c->alignment_bytes = UINT64_C(1) << 31;)
CHANGE(no_strategy, ferrum_pool_config, c->strategy = "worst_fit";)
CHANGE(too_much, ferrum_pool_config, c->pre_allocate = 1;
       c->initial_size_bytes = UINT64_C(1) << 40;)
CHANGE(near_max, ferrum_pool_config, c->pre_allocate = 1;
       c->initial_size_bytes = UINT64_MAX - 5;)
CHANGE(pool_debug_bits, ferrum_pool_config,
       c->debug = FERRUM_DEBUG_POISON | 0x40;)
CHANGE(stream_ordered, ferrum_pool_config,
       c->segment_source = FERRUM_SEGMENTS_STREAM_ORDERED;)
CHANGE(odd_physical_page, ferrum_pool_config, c->physical_page_bytes = 3 << 20;)
CHANGE(small_physical_page, ferrum_pool_config, c->paging = FERRUM_PAGING_ON;
       c->physical_page_bytes = 4096;)
CHANGE(fixed_without_block, ferrum_pool_config, c->strategy = "fixed";)
CHANGE(fixed_odd_block, ferrum_pool_config, c->strategy = "fixed";
       c->fixed_block_bytes = 1000;)
CHANGE(fixed_odd_page, ferrum_pool_config, c->strategy = "fixed";
       c->fixed_block_bytes = 4096; c->page_bytes = 10000;)
CHANGE(block_of_best_fit, ferrum_pool_config, c->strategy = "best_fit";
       c->fixed_block_bytes = 4096;)
CHANGE(page_of_best_fit, ferrum_pool_config, c->strategy = "best_fit";
       c->page_bytes = 4096;)
CHANGE(held_above_max, ferrum_pool_config,
       c->initial_size_bytes = c->max_size_bytes = UINT64_C(8) << 20;
       c->min_held_bytes = UINT64_C(9) << 20;)
CHANGE(asked_size_0, ferrum_pool_request, c->size_bytes = 0;)
CHANGE(asked_size_max, ferrum_pool_request, c->size_bytes = UINT64_MAX;)
CHANGE(asked_alignment, ferrum_pool_request, c->alignment_bytes = 24;)
CHANGE(asked_tag, ferrum_pool_request, c->tag = 4095;)
CHANGE(asked_tag_max, ferrum_pool_request, c->tag = UINT32_MAX;)
CHANGE(vpool_capacity_0, ferrum_vpool_config, c->capacity_bytes = 0;)
CHANGE(vpool_capacity_max, ferrum_vpool_config, c->capacity_bytes = UINT64_MAX;)
CHANGE(vpool_capacity_huge, ferrum_vpool_config,
       c->capacity_bytes = UINT64_C(1) << 62;)
CHANGE(vpool_capacity_of_the_system, ferrum_vpool_config,
       c->capacity_bytes = UINT64_C(1) << 51;
       c->page_bytes = UINT64_C(1) << 30;)
CHANGE(vpool_page_3, ferrum_vpool_config, c->page_bytes = 3;)
CHANGE(vpool_page_small, ferrum_vpool_config, c->page_bytes = 32768;)
CHANGE(vpool_page_odd, ferrum_vpool_config, c->page_bytes = 196608;)
CHANGE(vpool_page_max, ferrum_vpool_config, c->page_bytes = UINT64_MAX;)
CHANGE(vpool_limit, ferrum_vpool_config, c->limit_bytes = UINT64_C(1) << 50;)
CHANGE(vpool_ready, ferrum_vpool_config, c->ready_pages = 65537;)
CHANGE(shared_page, ferrum_elastic_pool_config, c->page_bytes = 4096;)
CHANGE(shared_limit_small, ferrum_elastic_pool_config, c->limit_bytes = 1;)
CHANGE(shared_limit, ferrum_elastic_pool_config,
       c->limit_bytes = UINT64_C(1) << 50;)
CHANGE(shared_ready, ferrum_elastic_pool_config, c->ready_pages = 65537;)
CHANGE(model_virtual_0, ferrum_model_config, c->virtual_bytes = 0;)
CHANGE(model_virtual_max, ferrum_model_config, c->virtual_bytes = UINT64_MAX;)
CHANGE(model_virtual_huge, ferrum_model_config,
       c->virtual_bytes = UINT64_C(1) << 62;)
CHANGE(model_guaranteed, ferrum_model_config,
       c->guaranteed_bytes = UINT64_C(17) << 20;)
CHANGE(model_guaranteed_max, ferrum_model_config,
       c->virtual_bytes = UINT64_C(1) << 40;
       c->guaranteed_bytes = UINT64_MAX;)
CHANGE(model_above_its_max, ferrum_model_config,
       c->guaranteed_bytes = 2 * FIXTURE_PAGE;
       c->max_bytes = FIXTURE_PAGE;)
CHANGE(model_max_small, ferrum_model_config, c->max_bytes = 100;)
CHANGE(range_not_at, ferrum_model_request, c->offset_bytes = 65536;)
CHANGE(range_size_0, ferrum_model_request, c->size_bytes = 0;)
CHANGE(range_clash, ferrum_model_request, c->at_offset = 1;)
CHANGE(placed_size_0, ferrum_vpool_request, c->size_bytes = 0;)
CHANGE(placed_clash, ferrum_vpool_request, c->offset_bytes = 0;)
CHANGE(sleep_tag_unknown, ferrum_sleep_config, c->tag = "none";)
CHANGE(sleep_directory, ferrum_sleep_config, c->directory = "/tmp";)
CHANGE(sleep_directory_missing, ferrum_sleep_config,
       c->directory = "/nonexistent";
       c->backing = FERRUM_SLEEP_FILE;)
CHANGE(sleep_streams, ferrum_sleep_config, c->num_streams = 65;)
CHANGE(sleep_streams_max, ferrum_sleep_config, c->num_streams = UINT32_MAX;)
CHANGE(place_size_0, ferrum_placement_request, c->size_bytes = 0;)
CHANGE(place_size_max, ferrum_placement_request, c->size_bytes = UINT64_MAX;)
CHANGE(place_alignment, ferrum_placement_request, c->alignment_bytes = 48;)
CHANGE(place_alignment_huge, ferrum_placement_request,
       c->alignment_bytes = UINT64_C(1) << 31;)
CHANGE(place_type, ferrum_placement_request, c->memory_type = 99;)
CHANGE(place_type_negative, ferrum_placement_request, c->memory_type = -1;)
CHANGE(place_preferred_null, ferrum_placement_request, c->preferred_count = 1;)
CHANGE(place_devices_null, ferrum_placement_request, c->device_count = 1;)
static const ferrum_device no_devices[1];
CHANGE(place_preferred_many, ferrum_placement_request,
       c->preferred = no_devices;
       c->preferred_count = FERRUM_PLACEMENT_DEVICES_MAX + 1;)
CHANGE(place_devices_many, ferrum_placement_request, c->devices = no_devices;
       c->device_count = UINT32_MAX;)
CHANGE(place_devices_none, ferrum_placement_request, c->devices = no_devices;)
CHANGE(threshold_0, ferrum_manager_config, c->gc_threshold = 0;)
CHANGE(threshold_nan, ferrum_manager_config, c->gc_threshold = 0.0f / 0.0f;)
CHANGE(threshold_2, ferrum_manager_config, c->gc_threshold = 2;)
CHANGE(transfers_0, ferrum_manager_config, c->max_concurrent_transfers = 0;)
CHANGE(transfers_2000, ferrum_manager_config,
       c->max_concurrent_transfers = 2000;)
CHANGE(pool_of_no_type, ferrum_manager_config,
       static const ferrum_pool_config p = FERRUM_POOL_CONFIG_INIT;
       c->pool_configs[7] = &p;)
CHANGE(type_pinned, ferrum_allocation_request,
       c->memory_type = FERRUM_MEMORY_PINNED;
       c->flags = FERRUM_ALLOCATE_RELOCATABLE;)
CHANGE(type_pinned_huge, ferrum_allocation_request,
       c->memory_type = FERRUM_MEMORY_PINNED;
       c->size_bytes = UINT64_MAX;)
CHANGE(type_mapped, ferrum_allocation_request,
       c->memory_type = FERRUM_MEMORY_MAPPED;
       c->size_bytes = UINT64_MAX;)
CHANGE(link_size_0, ferrum_link_request, c->size_bytes = 0;)
CHANGE(link_size_max, ferrum_link_request, c->size_bytes = UINT64_MAX;)
CHANGE(link_alignment, ferrum_link_request, c->alignment_bytes = 48;)
CHANGE(adopt_address_0, ferrum_adoption, c->address = 0;)
CHANGE(adopt_nowhere, ferrum_adoption, c->address = 4096;)
CHANGE(adopt_text, ferrum_adoption,
       c->address = (ferrum_address)(uintptr_t)"text";
       c->size_bytes = 1;)
CHANGE(adopt_size_0, ferrum_adoption, c->size_bytes = 0;)
CHANGE(adopt_size_max, ferrum_adoption, c->size_bytes = UINT64_MAX;)
CHANGE(adopt_too_long, ferrum_adoption, c->size_bytes = UINT64_C(1) << 60;)
CHANGE(native, ferrum_foreign_stream, c->native_handle = 5;)
CHANGE(typed_size_0, ferrum_allocation_request, c->size_bytes = 0;)
CHANGE(typed_size_max, ferrum_allocation_request, c->size_bytes = UINT64_MAX;)
CHANGE(typed_alignment, ferrum_allocation_request, c->alignment_bytes = 3;)
CHANGE(typed_flags, ferrum_allocation_request, c->flags = 3;)

static ferrum_status init_with(uint64_t memory, uint32_t devices,
                               uint32_t flags, uint32_t reserved) {
    ferrum_config c = FERRUM_CONFIG_INIT;
    c.host_memory_bytes = memory;
    c.host_devices = devices;
    c.flags = flags;
    c.reserved = reserved;
    return ferrum_init(&c);
}

static ferrum_status small_buffer(ferrum_status (*call)(char *, size_t,
                                                        size_t *)) {
    char text[4] = "abc";
    size_t length = 0;
    ferrum_status status = call(text, sizeof text, &length);
    return length > sizeof text && text[0] == 0 ? status : FERRUM_OK;
}

/* clang-format off */
#define VALUE_CALLS(X) \
    X(fallback_manager_create_pre_null, NULL_POINTER, "pre_allocate_sizes", manage_with(f, change_pre_null)) \
    X(stream_adopt_no_enqueue, NULL_POINTER, "enqueue", stream_of(f->device.id, change_no_enqueue)) \
    X(device_open_native_no_context, NULL_POINTER, "native", ferrum_device_open_native("cpu:0", 0, OUT(ferrum_device, {0}))) \
    X(manager_import_pages_no_list, NULL_POINTER, "descriptors", import_with(f->manager.id, change_import_no_list)) \
    X(placement_select_preferred_dead, INVALID_HANDLE, "", place_on(f, f->dead[DEVICE], 1)) \
    X(placement_select_preferred_zero, INVALID_HANDLE, "", place_on(f, 0, 1)) \
    X(placement_select_preferred_other_kind, INVALID_HANDLE, "", place_on(f, f->pool.id, 1)) \
    X(placement_select_candidate_dead, INVALID_HANDLE, "", place_on(f, f->dead[DEVICE], 0)) \
    X(placement_select_candidate_zero, INVALID_HANDLE, "", place_on(f, 0, 0)) \
    X(placement_select_candidate_other_kind, INVALID_HANDLE, "", place_on(f, f->pool.id, 0)) \
    X(memory_config_check_fraction, INVALID_CONFIG, "gpu_memory_fraction 1.5", config_with(change_fraction_large)) \
    X(memory_config_check_fraction_nan, INVALID_CONFIG, "gpu_memory_fraction NaN", config_with(change_fraction_nan)) \
    X(memory_config_check_bucket, INVALID_CONFIG, "max_pooled_per_bucket 18446744073709551615", config_with(change_per_bucket)) \
    X(memory_config_check_pre_many, INVALID_CONFIG, "pre_allocate_count is 4097", config_with(change_pre_many)) \
    X(memory_config_check_pre_none, INVALID_CONFIG, "pre_allocate_sizes", config_with(change_pre_none)) \
    X(memory_config_check_pre_zero, INVALID_CONFIG, "pre_allocate_sizes[1] is 0", config_with(change_pre_zero)) \
    X(memory_stats_text_small, BUFFER_TOO_SMALL, "capacity", ({ char t[4] = "abc"; size_t n = 0; ferrum_status s = ferrum_memory_stats_text(OUT(ferrum_memory_stats, FERRUM_MEMORY_STATS_INIT), t, sizeof t, &n); n > sizeof t && t[0] == 0 ? s : FERRUM_OK; })) \
    X(buffer_id_text_small, BUFFER_TOO_SMALL, "capacity", ({ char t[4] = "abc"; size_t n = 0; ferrum_status s = ferrum_buffer_id_text(1, t, sizeof t, &n); n == 8 && t[0] == 0 ? s : FERRUM_OK; })) \
    X(tracker_track_id_0, INVALID_ARGUMENT, "buffer id is 0", track_with(f->tracker.id, change_track_id)) \
    X(tracker_track_tag_unended, INVALID_ARGUMENT, "metadata->tag", track_with(f->tracker.id, change_track_tag)) \
    X(tracker_track_tag_utf8, INVALID_ARGUMENT, "metadata->tag", track_with(f->tracker.id, change_track_tag_utf8)) \
    X(tracker_track_overflow, OVERFLOW, "Buffer#7", track_with(f->tracker.id, change_track_size)) \
    X(tracker_untrack_unknown, NOT_FOUND, "Buffer#77", ferrum_tracker_untrack(f->tracker, 77, NULL)) \
    X(tracker_get_unknown, NOT_FOUND, "Buffer#0", ferrum_tracker_get(f->tracker, 0, OUT(ferrum_buffer_metadata, {0}))) \
    X(tracker_get_all_small, BUFFER_TOO_SMALL, "capacity is 1", ({ ferrum_buffer_metadata m[1]; size_t n = 0; MUST(track_with(f->tracker.id, NULL)); ferrum_status s = ferrum_tracker_get_all(f->tracker, m, 1, &n); n == 2 ? s : FERRUM_OK; })) \
    X(tracker_destroy_owned, INVALID_STATE, "only be read", ({ ferrum_tracker t; MUST(ferrum_fallback_manager_get_tracker(f->fallback_manager, &t)); ferrum_tracker_destroy(t); })) \
    X(tracker_clear_owned, INVALID_STATE, "only be read", ({ ferrum_tracker t; MUST(ferrum_fallback_manager_get_tracker(f->fallback_manager, &t)); ferrum_tracker_clear(t); })) \
    X(generic_pool_create_fraction, INVALID_CONFIG, "gpu_memory_fraction", ({ ferrum_memory_config c = FERRUM_MEMORY_CONFIG_INIT; c.gpu_memory_fraction = 0; ferrum_generic_pool_create(&c, OUT(ferrum_generic_pool, {0})); })) \
    X(generic_pool_destroy_busy, BUSY, "1 of 100 bytes pooled", ferrum_generic_pool_destroy(f->generic, 0)) \
    X(generic_pool_record_allocation_size_0, INVALID_SIZE, "bytes is 0", ferrum_generic_pool_record_allocation(f->generic, 0, NULL, OUT(uint64_t, {0}))) \
    X(generic_pool_record_allocation_overflow, OVERFLOW, "18446744073709551615", ferrum_generic_pool_record_allocation(f->generic, UINT64_MAX, NULL, OUT(uint64_t, {0}))) \
    X(generic_pool_try_get_size_0, INVALID_SIZE, "min_bytes is 0", ferrum_generic_pool_try_get(f->generic, 0, NULL, OUT(ferrum_buffer_lease, {0}), OUT(uint32_t, {0}))) \
    X(generic_pool_try_get_overflow, OVERFLOW, "18446744073709551615", ferrum_generic_pool_try_get(f->generic, UINT64_MAX, NULL, OUT(ferrum_buffer_lease, {0}), OUT(uint32_t, {0}))) \
    X(generic_pool_return_size_0, INVALID_SIZE, "bytes is 0", ferrum_generic_pool_return(f->generic, OUT(ferrum_buffer_lease, {0}), OUT(uint32_t, {0}))) \
    X(generic_pool_return_too_much, INVALID_SIZE, "only 0 are in use", ferrum_generic_pool_return(f->generic, OUT(ferrum_buffer_lease, {.size_bytes = 100}), OUT(uint32_t, {0}))) \
    X(generic_pool_add_free_size_0, INVALID_SIZE, "bytes is 0", ferrum_generic_pool_add_free(f->generic, 1, 0)) \
    X(generic_pool_get_tracker_none, INVALID_STATE, "created without tracking", ferrum_generic_pool_get_tracker(f->generic, OUT(ferrum_tracker, {0}))) \
    X(fallback_manager_create_fraction, INVALID_CONFIG, "gpu_memory_fraction 1.5", manage_with(f, change_fraction_large)) \
    X(fallback_manager_create_no_host, INVALID_CONFIG, "no host device", fallback_manager_on(f->other_device.id, 0)) \
    X(fallback_manager_create_own_host, INVALID_ARGUMENT, "cpu:1 is the device itself", fallback_manager_on(f->other_device.id, f->other_device.id)) \
    X(fallback_manager_create_pre_above_pooled, INVALID_CONFIG, "max_pooled_bytes is 1073741824", manage_with(f, change_pre_above_pooled)) \
    X(fallback_manager_create_pre_too_much, OUT_OF_MEMORY, "min_free_bytes 536870912", manage_with(f, change_pre_too_much)) \
    X(fallback_manager_destroy_busy, BUSY, "1 buffer still live", ferrum_fallback_manager_destroy(f->fallback_manager, 0)) \
    X(fallback_manager_get_backend_name_small, BUFFER_TOO_SMALL, "capacity", ({ char t[2] = "a"; size_t n = 0; ferrum_status s = ferrum_fallback_manager_get_backend_name(f->fallback_manager, t, sizeof t, &n); n == 3 && t[0] == 0 ? s : FERRUM_OK; })) \
    X(fallback_manager_alloc_len_0, INVALID_SIZE, "len is 0", buffer_with(f->fallback_manager.id, change_buffer_len)) \
    X(fallback_manager_alloc_overflow, OVERFLOW, "does not fit 64 bits", buffer_with(f->fallback_manager.id, change_buffer_huge)) \
    X(fallback_manager_alloc_too_much, OUT_OF_MEMORY, "neither the device nor the host", buffer_with(f->fallback_manager.id, change_buffer_large)) \
    X(fallback_manager_alloc_other_device, INVALID_ARGUMENT, "cpu:0", buffer_on(f, f->stream.id)) \
    X(fallback_manager_adopt_unknown, INVALID_ADDRESS, "0x1000", adopt_with(f->fallback_manager, FERRUM_LOCATION_GPU, 4096)) \
    X(fallback_manager_release_unknown, INVALID_ADDRESS, "0x1000", ferrum_fallback_manager_release(f->fallback_manager, FERRUM_LOCATION_CPU, 4096, (ferrum_stream){0})) \
    X(fallback_manager_release_live, INVALID_ADDRESS, "not storage that was detached", ({ ferrum_address a; MUST(ferrum_fallback_buffer_get_address(f->buffer, FERRUM_LOCATION_GPU, &a)); ferrum_fallback_manager_release(f->fallback_manager, FERRUM_LOCATION_GPU, a, (ferrum_stream){0}); })) \
    X(fallback_buffer_free_pinned, BUSY, "pinned 1 time", ({ MUST(ferrum_fallback_buffer_pin(f->buffer, NULL, NULL)); ferrum_status s = ferrum_fallback_buffer_free(f->buffer, (ferrum_stream){0}); MUST(ferrum_fallback_buffer_unpin(f->buffer)); s; })) \
    X(fallback_buffer_free_other_device, INVALID_ARGUMENT, "cpu:0", ferrum_fallback_buffer_free(f->buffer, f->stream)) \
    X(fallback_buffer_get_address_other, INVALID_STATE, "on the GPU", ferrum_fallback_buffer_get_address(f->buffer, FERRUM_LOCATION_CPU, OUT(ferrum_address, {0}))) \
    X(fallback_buffer_move_pinned, BUSY, "pinned 1 time", ({ MUST(ferrum_fallback_buffer_pin(f->buffer, NULL, NULL)); ferrum_status s = ferrum_fallback_buffer_move(f->buffer, FERRUM_LOCATION_CPU); MUST(ferrum_fallback_buffer_unpin(f->buffer)); s; })) \
    X(fallback_buffer_unpin_none, INVALID_STATE, "not pinned", ferrum_fallback_buffer_unpin(f->buffer)) \
    X(fallback_buffer_write_size_0, INVALID_SIZE, "size_bytes is 0", ferrum_fallback_buffer_write(f->buffer, 0, "x", 0)) \
    X(fallback_buffer_write_outside, INVALID_OFFSET, "offset_bytes 4000 + size_bytes 97", ferrum_fallback_buffer_write(f->buffer, 4000, long_text, 97)) \
    X(fallback_buffer_read_wraps, INVALID_OFFSET, "size_bytes 18446744073709551615", ferrum_fallback_buffer_read(f->buffer, 1, (char[4]){0}, UINT64_MAX)) \
    X(fallback_buffer_take_other, INVALID_STATE, "on the GPU", ferrum_fallback_buffer_take(f->buffer, FERRUM_LOCATION_CPU, OUT(ferrum_address, {0}))) \
    X(estimate_model_memory_heads, INVALID_ARGUMENT, "n_heads is 0", shape_with(change_shape_no_heads)) \
    X(estimate_model_memory_huge, OVERFLOW, "the size of the model", shape_with(change_shape_huge)) \
    X(estimate_kv_cache_memory_huge, OVERFLOW, "the size of the KV cache", ({ ferrum_kv_cache_shape s = FERRUM_KV_CACHE_SHAPE_INIT; s.num_layers = UINT64_MAX; s.num_kv_heads = s.head_dim = s.max_seq_len = s.dtype_bytes = 1; ferrum_estimate_kv_cache_memory(&s, OUT(uint64_t, {0})); })) \
    X(estimate_file_json_missing, NOT_FOUND, "/nonexistent", ferrum_estimate_file_json("/nonexistent", NULL, NULL, 0, OUT(size_t, {0}))) \
    X(estimate_file_json_empty, NOT_FOUND, "no such file", ferrum_estimate_file_json("", NULL, NULL, 0, OUT(size_t, {0}))) \
    X(estimate_file_json_device, INVALID_ARGUMENT, "/dev/null is not a file", ferrum_estimate_file_json("/dev/null", NULL, NULL, 0, OUT(size_t, {0}))) \
    X(estimate_config_json_empty, INVALID_FORMAT, "config.json", ferrum_estimate_config_json("", 0, NULL, NULL, 0, OUT(size_t, {0}))) \
    X(estimate_config_json_long, INVALID_SIZE, "config_bytes", ferrum_estimate_config_json("{}", SIZE_MAX, NULL, NULL, 0, OUT(size_t, {0}))) \
    X(estimate_config_json_field, INVALID_FORMAT, "model_type: is missing", ferrum_estimate_config_json("{}", 2, NULL, NULL, 0, OUT(size_t, {0}))) \
    X(estimate_config_json_context_0, INVALID_ARGUMENT, "context 0", estimate_with(change_estimate_context_0)) \
    X(estimate_config_json_context_max, INVALID_ARGUMENT, "context 18446744073709551615", estimate_with(change_estimate_context_max)) \
    X(estimate_config_json_batch_0, INVALID_ARGUMENT, "batch 0", estimate_with(change_estimate_batch_0)) \
    X(estimate_config_json_devices_0, INVALID_ARGUMENT, "tensor_parallel", estimate_with(change_estimate_devices_0)) \
    X(estimate_config_json_devices, INVALID_ARGUMENT, "tensor_parallel 65537", estimate_with(change_estimate_devices)) \
    X(estimate_config_json_overhead, INVALID_ARGUMENT, "overhead_permille 1001", estimate_with(change_estimate_overhead)) \
    X(estimate_config_json_kv_dtype, INVALID_ARGUMENT, "\"f7\"", estimate_with(change_estimate_kv_dtype)) \
    X(estimate_config_json_weight_dtype, INVALID_ARGUMENT, "\"q9\"", estimate_with(change_estimate_weight_dtype)) \
    X(estimate_config_json_too_much, OVERFLOW, "the size of the KV cache", estimate_with(change_estimate_too_much)) \
    X(init_other_settings, INVALID_STATE, "", init_with(1 << 30, 1, 0, 0)) \
    X(shutdown_in_use, BUSY, "", ferrum_shutdown(0)) \
    X(backends_json_small, BUFFER_TOO_SMALL, "capacity", small_buffer(ferrum_backends_json)) \
    X(backends_summary_small, BUFFER_TOO_SMALL, "capacity", small_buffer(ferrum_backends_summary)) \
    X(backend_select_never_fits, OUT_OF_MEMORY, "cpu:0: needs", ferrum_backend_select(0, UINT64_MAX, OUT(ferrum_backend_choice, FERRUM_BACKEND_CHOICE_INIT))) \
    X(backend_open_never_fits, OUT_OF_MEMORY, "cpu:0: needs", ferrum_backend_open(FERRUM_BACKEND_CPU, UINT64_C(1) << 60, OUT(ferrum_device, {0}), NULL)) \
    X(backend_open_elsewhere, BACKEND_UNAVAILABLE, "Metal is not supported", ferrum_backend_open(FERRUM_BACKEND_METAL, 1, OUT(ferrum_device, {0}), NULL)) \
    X(device_can_fit_malformed, INVALID_ARGUMENT, "CPU:0", ferrum_device_can_fit("CPU:0", 1, OUT(uint32_t, {0}))) \
    X(device_can_fit_unknown, DEVICE_NOT_FOUND, "cpu:99", ferrum_device_can_fit("cpu:99", 1, OUT(uint32_t, {0}))) \
    X(device_can_fit_elsewhere, BACKEND_UNAVAILABLE, "Metal is not supported", ferrum_device_can_fit("metal:0", 1, OUT(uint32_t, {0}))) \
    X(round_up_power_of_2_above, OVERFLOW, "9223372036854775809", ferrum_round_up_power_of_2((UINT64_C(1) << 63) + 1, OUT(uint64_t, {0}))) \
    X(size_class_above, OVERFLOW, "18446744073709551615", ferrum_size_class(UINT64_MAX, OUT(uint64_t, {0}))) \
    X(f32_bytes_above, OVERFLOW, "4611686018427387904", ferrum_f32_bytes(UINT64_C(1) << 62, OUT(uint64_t, {0}))) \
    X(f16_bytes_above, OVERFLOW, "9223372036854775808", ferrum_f16_bytes(UINT64_C(1) << 63, OUT(uint64_t, {0}))) \
    X(snapshot_json_small, BUFFER_TOO_SMALL, "capacity", small_buffer(ferrum_snapshot_json)) \
    X(leak_report_json_small, BUFFER_TOO_SMALL, "capacity", small_buffer(ferrum_leak_report_json)) \
    X(device_open_unknown, DEVICE_NOT_FOUND, "cpu:7", ferrum_device_open("cpu:7", OUT(ferrum_device, {0}))) \
    X(device_open_no_backend, DEVICE_NOT_FOUND, "tpu:0", ferrum_device_open("tpu:0", OUT(ferrum_device, {0}))) \
    X(device_open_empty, INVALID_ARGUMENT, "", ferrum_device_open("", OUT(ferrum_device, {0}))) \
    X(device_open_malformed, INVALID_ARGUMENT, "cpu:-1", ferrum_device_open("cpu:-1", OUT(ferrum_device, {0}))) \
    X(device_open_overflow, INVALID_ARGUMENT, "99999999999", ferrum_device_open("cpu:99999999999", OUT(ferrum_device, {0}))) \
    X(device_close_in_use, BUSY, "", ferrum_device_close(f->device, 0)) \
    X(stream_destroy_default, INVALID_ARGUMENT, "default", ({ ferrum_stream s; MUST(ferrum_stream_default(f->device, &s)); ferrum_stream_destroy(s, 0); })) \
    X(event_elapsed_two_devices, INVALID_ARGUMENT, "", ({ ferrum_event e; MUST(ferrum_event_record(f->other_stream, &e)); MUST(ferrum_event_synchronize(e, FERRUM_WAIT_FOREVER)); ferrum_status s = ferrum_event_elapsed(f->event, e, OUT(int64_t, {0})); MUST(ferrum_event_destroy(e)); s; })) \
    X(pool_create_initial_above_max, INVALID_CONFIG, "max", pool_with(f, change_initial_above_max)) \
    X(pool_create_gibibyte_above_max, INVALID_CONFIG, "max", pool_with(f, change_gibibyte_above_max)) \
    X(pool_create_no_increment, INVALID_CONFIG, "increment", pool_with(f, change_no_increment)) \
    X(pool_create_odd_alignment, INVALID_ALIGNMENT, "48", pool_with(f, change_odd_alignment)) \
    X(pool_create_huge_alignment, INVALID_ALIGNMENT, "2147483648", pool_with(f, change_huge_alignment)) \
    X(pool_create_strategy, NOT_FOUND, "worst_fit", pool_with(f, change_no_strategy)) \
    X(pool_create_too_much, OUT_OF_MEMORY, "", pool_with(f, change_too_much)) \
    X(pool_create_near_max, OVERFLOW, "", pool_with(f, change_near_max)) \
    X(pool_destroy_in_use, BUSY, "", ferrum_pool_destroy(f->pool, 0)) \
    X(pool_alloc_size_0, INVALID_SIZE, "size", ferrum_pool_alloc(f->pool, 0, f->stream, OUT(ferrum_address, {0}))) \
    X(pool_alloc_size_max, OVERFLOW, "18446744073709551615", ferrum_pool_alloc(f->pool, UINT64_MAX, f->stream, OUT(ferrum_address, {0}))) \
    X(pool_alloc_never_fits, OUT_OF_MEMORY, "", ferrum_pool_alloc(f->pool, UINT64_C(1) << 50, f->stream, OUT(ferrum_address, {0}))) \
    X(pool_alloc_other_device, INVALID_ARGUMENT, "cpu:1", ferrum_pool_alloc(f->pool, 16, f->other_stream, OUT(ferrum_address, {0}))) \
    X(pool_alloc_with_alignment_odd, INVALID_ALIGNMENT, "24", pool_alloc_aligned(f->pool, 16, 24, f->stream, OUT(ferrum_address, {0}))) \
    X(pool_alloc_with_alignment_huge, INVALID_ALIGNMENT, "2147483648", pool_alloc_aligned(f->pool, 16, UINT64_C(1) << 31, f->stream, OUT(ferrum_address, {0}))) \
    X(pool_alloc_with_alignment_size_0, INVALID_SIZE, "size", pool_alloc_aligned(f->pool, 0, 64, f->stream, OUT(ferrum_address, {0}))) \
    X(pool_free_null, INVALID_ADDRESS, "0x0", ferrum_pool_free(f->pool, 0, f->stream)) \
    X(pool_free_outside, INVALID_ADDRESS, "0x", ferrum_pool_free(f->pool, UINT64_MAX, f->stream)) \
    X(pool_free_inside, INVALID_ADDRESS, "0x", ferrum_pool_free(f->pool, f->block + 8, f->stream)) \
    X(pool_free_twice, DOUBLE_FREE, "0x", ({ ferrum_address a; MUST(ferrum_pool_alloc(f->pool, 64, f->stream, &a)); MUST(ferrum_pool_free(f->pool, a, f->stream)); ferrum_pool_free(f->pool, a, f->stream); })) \
    X(pool_free_other_device, INVALID_ARGUMENT, "cpu:1", ferrum_pool_free(f->pool, f->block, f->other_stream)) \
    X(pool_create_debug, INVALID_ARGUMENT, "0x40", pool_with(f, change_pool_debug_bits)) \
    X(pool_create_ordered, UNSUPPORTED, "stream-ordered pool", pool_with(f, change_stream_ordered)) \
    X(pool_create_odd_page, INVALID_PAGE_SIZE, "3145728", pool_with(f, change_odd_physical_page)) \
    X(pool_create_small_page, INVALID_PAGE_SIZE, "4096", pool_with(f, change_small_physical_page)) \
    X(pool_create_fixed_without_block, INVALID_CONFIG, "fixed_block_bytes", pool_with(f, change_fixed_without_block)) \
    X(pool_create_fixed_odd_block, INVALID_CONFIG, "1000", pool_with(f, change_fixed_odd_block)) \
    X(pool_create_fixed_odd_page, INVALID_CONFIG, "10000", pool_with(f, change_fixed_odd_page)) \
    X(pool_create_block_of_best_fit, INVALID_CONFIG, "fixed_block_bytes", pool_with(f, change_block_of_best_fit)) \
    X(pool_create_page_of_best_fit, INVALID_CONFIG, "page_bytes", pool_with(f, change_page_of_best_fit)) \
    X(pool_create_held_above_max, INVALID_CONFIG, "min_held_bytes", pool_with(f, change_held_above_max)) \
    X(pool_alloc_with_size_0, INVALID_SIZE, "size", pool_asked_with(f, change_asked_size_0)) \
    X(pool_alloc_with_size_max, OVERFLOW, "18446744073709551615", pool_asked_with(f, change_asked_size_max)) \
    X(pool_alloc_with_alignment, INVALID_ALIGNMENT, "24", pool_asked_with(f, change_asked_alignment)) \
    X(pool_alloc_with_tag, INVALID_ARGUMENT, "4095", pool_asked_with(f, change_asked_tag)) \
    X(pool_alloc_with_tag_max, INVALID_ARGUMENT, "4294967295", pool_asked_with(f, change_asked_tag_max)) \
    X(pool_alloc_with_other_device, INVALID_ARGUMENT, "cpu:1", pool_request_with(f->pool.id, f->other_stream.id)) \
    X(pool_alloc_batch_size_0, INVALID_SIZE, "size", alloc_batch_with(f->pool.id, 0, 0)) \
    X(pool_alloc_batch_size_max, OVERFLOW, "18446744073709551615", alloc_batch_with(f->pool.id, 0, UINT64_MAX)) \
    X(pool_alloc_batch_never_fits, OUT_OF_MEMORY, "", alloc_batch_with(f->pool.id, 0, UINT64_C(1) << 50)) \
    X(pool_alloc_batch_too_much, OUT_OF_MEMORY, "", alloc_batch_with(f->pool.id, 0, UINT64_C(100) << 20)) \
    X(pool_alloc_batch_other_device, INVALID_ARGUMENT, "cpu:1", alloc_batch_with(f->pool.id, f->other_stream.id, 16)) \
    X(pool_alloc_batch_of_0, INVALID_ARGUMENT, "count is 0", ferrum_pool_alloc_batch(f->pool, 16, 0, f->stream, OUT(ferrum_address, {0}))) \
    X(pool_alloc_batch_of_too_many, INVALID_ARGUMENT, "1048577", ferrum_pool_alloc_batch(f->pool, 16, FERRUM_BATCH_MAX + 1, f->stream, OUT(ferrum_address, {0}))) \
    X(pool_alloc_batch_of_max, INVALID_ARGUMENT, "18446744073709551615", ferrum_pool_alloc_batch(f->pool, 16, UINT64_MAX, f->stream, OUT(ferrum_address, {0}))) \
    X(pool_get_tag_empty, INVALID_ARGUMENT, "tag", ferrum_pool_get_tag(f->pool, "", OUT(uint32_t, {0}))) \
    X(pool_get_tag_too_many, RESOURCE_EXHAUSTED, "4095", too_many_tags(f)) \
    X(pool_free_sized_other_size, INVALID_SIZE, "4095", ferrum_pool_free_sized(f->pool, f->block, 4095, f->stream)) \
    X(pool_free_sized_0, INVALID_SIZE, "0", ferrum_pool_free_sized(f->pool, f->block, 0, f->stream)) \
    X(pool_free_sized_max, INVALID_SIZE, "18446744073709551615", ferrum_pool_free_sized(f->pool, f->block, UINT64_MAX, f->stream)) \
    X(pool_free_sized_null, INVALID_ADDRESS, "0x0", ferrum_pool_free_sized(f->pool, 0, 4096, f->stream)) \
    X(pool_free_sized_inside, INVALID_ADDRESS, "0x", ferrum_pool_free_sized(f->pool, f->block + 8, 4096, f->stream)) \
    X(pool_free_sized_twice, DOUBLE_FREE, "0x", ({ ferrum_address a; MUST(ferrum_pool_alloc(f->pool, 64, f->stream, &a)); MUST(ferrum_pool_free_sized(f->pool, a, 64, f->stream)); ferrum_pool_free_sized(f->pool, a, 64, f->stream); })) \
    X(pool_free_sized_other_device, INVALID_ARGUMENT, "cpu:1", ferrum_pool_free_sized(f->pool, f->block, 4096, f->other_stream)) \
    X(pool_free_batch_of_0, INVALID_ARGUMENT, "count is 0", ferrum_pool_free_batch(f->pool, &f->block, 0, f->stream)) \
    X(pool_free_batch_of_too_many, INVALID_ARGUMENT, "1048577", ferrum_pool_free_batch(f->pool, &f->block, FERRUM_BATCH_MAX + 1, f->stream)) \
    X(pool_free_batch_of_max, INVALID_ARGUMENT, "18446744073709551615", ferrum_pool_free_batch(f->pool, &f->block, UINT64_MAX, f->stream)) \
    X(pool_free_batch_same, DOUBLE_FREE, "1", free_batch_with(f->pool.id, 0, f->block, f->block)) \
    X(pool_free_batch_inside, INVALID_ADDRESS, "1", free_batch_with(f->pool.id, 0, f->block, f->block + 8)) \
    X(pool_free_batch_outside, INVALID_ADDRESS, "1", free_batch_with(f->pool.id, 0, f->block, UINT64_MAX)) \
    X(pool_free_batch_null, INVALID_ADDRESS, "0x0", free_batch_with(f->pool.id, 0, 0, f->block)) \
    X(pool_free_batch_freed, DOUBLE_FREE, "1", ({ ferrum_address a; MUST(ferrum_pool_alloc(f->pool, 64, f->stream, &a)); MUST(ferrum_pool_free(f->pool, a, f->stream)); free_batch_with(f->pool.id, 0, f->block, a); })) \
    X(pool_free_batch_other_device, INVALID_ARGUMENT, "cpu:1", free_batch_with(f->pool.id, f->other_stream.id, f->block, 0)) \
    X(pool_record_stream_null, INVALID_ADDRESS, "0x0", ferrum_pool_record_stream(f->pool, 0, f->stream)) \
    X(pool_record_stream_inside, INVALID_ADDRESS, "0x", ferrum_pool_record_stream(f->pool, f->block + 8, f->stream)) \
    X(pool_record_stream_freed, DOUBLE_FREE, "0x", ({ ferrum_address a; MUST(ferrum_pool_alloc(f->pool, 64, f->stream, &a)); MUST(ferrum_pool_free(f->pool, a, f->stream)); ferrum_pool_record_stream(f->pool, a, f->stream); })) \
    X(pool_record_stream_other_device, INVALID_ARGUMENT, "cpu:1", ferrum_pool_record_stream(f->pool, f->block, f->other_stream)) \
    X(pool_capture_begin_on_the_host, UNSUPPORTED, "cannot capture", ferrum_pool_capture_begin(f->pool, f->stream, 0, OUT(uint64_t, {0}))) \
    X(pool_capture_begin_other_device, INVALID_ARGUMENT, "cpu:1", ferrum_pool_capture_begin(f->pool, f->other_stream, 0, OUT(uint64_t, {0}))) \
    X(pool_capture_end_no_graph, NOT_FOUND, "graph 77", ferrum_pool_capture_end(f->pool, 77)) \
    X(pool_capture_release_no_graph, NOT_FOUND, "graph 77", ferrum_pool_capture_release(f->pool, 77, f->stream)) \
    X(pool_capture_release_other_device, INVALID_ARGUMENT, "cpu:1", ferrum_pool_capture_release(f->pool, 77, f->other_stream)) \
    X(pool_capture_get_info_no_graph, NOT_FOUND, "graph 77", ferrum_pool_capture_get_info(f->pool, 77, OUT(ferrum_graph_info, FERRUM_GRAPH_INFO_INIT))) \
    X(pool_usable_size_null, INVALID_ADDRESS, "0x0", ferrum_pool_usable_size(f->pool, 0, OUT(uint64_t, {0}))) \
    X(pool_usable_size_inside, INVALID_ADDRESS, "0x", ferrum_pool_usable_size(f->pool, f->block + 8, OUT(uint64_t, {0}))) \
    X(pool_usable_size_freed, DOUBLE_FREE, "0x", ({ ferrum_address a; MUST(ferrum_pool_alloc(f->pool, 64, f->stream, &a)); MUST(ferrum_pool_free(f->pool, a, f->stream)); ferrum_pool_usable_size(f->pool, a, OUT(uint64_t, {0})); })) \
    X(pool_reset_other_device, INVALID_ARGUMENT, "cpu:1", ferrum_pool_reset(f->pool, f->other_stream)) \
    X(device_get_owner_null, NOT_FOUND, "0x0", ferrum_device_get_owner(f->device, 0, OUT(ferrum_block_info, FERRUM_BLOCK_INFO_INIT))) \
    X(device_get_owner_max, NOT_FOUND, "0xffffffffffffffff", ferrum_device_get_owner(f->device, UINT64_MAX, OUT(ferrum_block_info, FERRUM_BLOCK_INFO_INIT))) \
    X(device_get_owner_other_device, NOT_FOUND, "0x", ({ ferrum_status s = ferrum_device_get_owner(f->other_device, f->block, OUT(ferrum_block_info, FERRUM_BLOCK_INFO_INIT)); ferrum_error_info e = FERRUM_ERROR_INFO_INIT; MUST(ferrum_last_error(&e)); strcmp(e.device, "cpu:1") == 0 ? s : FERRUM_OK; })) \
    X(manager_create_threshold_0, INVALID_CONFIG, "gc_threshold", manager_with(f, change_threshold_0)) \
    X(manager_create_threshold_nan, INVALID_CONFIG, "gc_threshold", manager_with(f, change_threshold_nan)) \
    X(manager_create_threshold_2, INVALID_CONFIG, "gc_threshold", manager_with(f, change_threshold_2)) \
    X(manager_create_transfers_0, INVALID_CONFIG, "max_concurrent_transfers", manager_with(f, change_transfers_0)) \
    X(manager_create_transfers_2000, INVALID_CONFIG, "max_concurrent_transfers", manager_with(f, change_transfers_2000)) \
    X(manager_create_pool_of_no_type, INVALID_STRUCT, "pool_configs[7]", manager_with(f, change_pool_of_no_type)) \
    X(manager_destroy_in_use, BUSY, "", ferrum_manager_destroy(f->manager, 0)) \
    X(manager_configure_pool_bad, INVALID_CONFIG, "increment", ({ ferrum_pool_config c = FERRUM_POOL_CONFIG_INIT; c.growth_increment_bytes = 0; ferrum_manager_configure_pool(f->manager, 0, &c); })) \
    X(manager_alloc_size_0, INVALID_SIZE, "size", ferrum_manager_alloc(f->manager, 0, OUT(ferrum_memory, {0}))) \
    X(manager_alloc_size_max, OVERFLOW, "18446744073709551615", ferrum_manager_alloc(f->manager, UINT64_MAX, OUT(ferrum_memory, {0}))) \
    X(manager_alloc_never_fits, OUT_OF_MEMORY, "", ferrum_manager_alloc(f->manager, UINT64_C(1) << 50, OUT(ferrum_memory, {0}))) \
    X(manager_alloc_with_alignment_odd, INVALID_ALIGNMENT, "3", manager_alloc_aligned(f->manager, 16, 3, OUT(ferrum_memory, {0}))) \
    X(manager_alloc_with_alignment_huge, INVALID_ALIGNMENT, "2147483648", manager_alloc_aligned(f->manager, 16, UINT64_C(1) << 31, OUT(ferrum_memory, {0}))) \
    X(manager_alloc_with_pinned_moving, INVALID_ARGUMENT, "relocatable", typed_with(f, change_type_pinned)) \
    X(manager_alloc_with_pinned_huge, OVERFLOW, "18446744073709551615", typed_with(f, change_type_pinned_huge)) \
    X(manager_alloc_with_mapped_huge, OVERFLOW, "18446744073709551615", typed_with(f, change_type_mapped)) \
    X(manager_alloc_with_size_0, INVALID_SIZE, "size", typed_with(f, change_typed_size_0)) \
    X(manager_alloc_with_size_max, OVERFLOW, "18446744073709551615", typed_with(f, change_typed_size_max)) \
    X(manager_alloc_with_alignment, INVALID_ALIGNMENT, "3", typed_with(f, change_typed_alignment)) \
    X(manager_alloc_with_flags, INVALID_ARGUMENT, "FERRUM_ALLOCATE_RELOCATABLE (0x1) is known", typed_with(f, change_typed_flags)) \
    X(memory_unpin_not_pinned, INVALID_STATE, "not pinned", ferrum_memory_unpin(f->memory)) \
    X(memory_map_size_0, INVALID_SIZE, "size_bytes is 0", map_with(f->memory.id, 0, 0, 0)) \
    X(memory_map_range, INVALID_OFFSET, "offset_bytes 4095", map_with(f->memory.id, 4095, 2, 0)) \
    X(memory_map_to_end, INVALID_OFFSET, "", map_with(f->memory.id, 4096, 1, 0)) \
    X(memory_map_to_no_end, INVALID_OFFSET, "offset_bytes 4096", map_with(f->memory.id, 4096, FERRUM_MAP_TO_END, 0)) \
    X(memory_map_overflow, OVERFLOW, "64 bits", map_with(f->memory.id, UINT64_MAX, 2, 0)) \
    X(memory_map_overlap, BUSY, "overlap", while_mapped(f, 0)) \
    X(memory_free_mapped, BUSY, "1 mapping", while_mapped(f, 1)) \
    X(memory_unmap_not_mapped, NOT_MAPPED, "mapping 0", ferrum_memory_unmap(f->memory, 0)) \
    X(memory_unmap_unknown, NOT_MAPPED, "mapping 77", ferrum_memory_unmap(f->memory, 77)) \
    X(manager_create_mapping_one_device, INVALID_ARGUMENT, "cpu:0", link_with(f->manager.id, f->manager.id, NULL)) \
    X(manager_create_mapping_size_0, INVALID_SIZE, "size_bytes is 0", link_from(f, change_link_size_0)) \
    X(manager_create_mapping_size_max, OVERFLOW, "18446744073709551615", link_from(f, change_link_size_max)) \
    X(manager_create_mapping_alignment, INVALID_ALIGNMENT, "48", link_from(f, change_link_alignment)) \
    X(memory_prefetch_other_device, INVALID_ARGUMENT, "cpu:1", ferrum_memory_prefetch(f->memory, f->device, f->other_stream)) \
    X(manager_adopt_address_0, INVALID_ADDRESS, "address is 0", adopt_foreign(f->manager.id, change_adopt_address_0)) \
    X(manager_adopt_nowhere, INVALID_ADDRESS, "0x1000", adopt_foreign(f->manager.id, change_adopt_nowhere)) \
    X(manager_adopt_read_only, INVALID_ADDRESS, "writable", adopt_foreign(f->manager.id, change_adopt_text)) \
    X(manager_adopt_size_0, INVALID_SIZE, "size_bytes is 0", adopt_foreign(f->manager.id, change_adopt_size_0)) \
    X(manager_adopt_size_max, OVERFLOW, "18446744073709551615", adopt_foreign(f->manager.id, change_adopt_size_max)) \
    X(manager_adopt_too_long, INVALID_ADDRESS, "1152921504606846976", adopt_foreign(f->manager.id, change_adopt_too_long)) \
    X(manager_adopt_twice, ALREADY_EXISTS, "overlaps", adopt_twice(f)) \
    X(stream_adopt_native, UNSUPPORTED, "0x5", stream_of(f->device.id, change_native)) \
    X(stream_adopt_refuses, DEVICE, "status -25", refused_by_its_owner(f)) \
    X(device_open_native_host, ALREADY_EXISTS, "0x7", ferrum_device_open_native("cpu:0", 7, OUT(ferrum_device, {0}))) \
    X(device_open_native_id, INVALID_ARGUMENT, "cpu-0", ferrum_device_open_native("cpu-0", 7, OUT(ferrum_device, {0}))) \
    X(device_open_native_none, DEVICE_NOT_FOUND, "nothing:0", ferrum_device_open_native("nothing:0", 7, OUT(ferrum_device, {0}))) \
    X(device_get_native_host, UNSUPPORTED, "native", ferrum_device_get_native(f->device, OUT(uint64_t, {0}))) \
    X(stream_get_native_host, UNSUPPORTED, "native", ferrum_stream_get_native(f->stream, OUT(uint64_t, {0}))) \
    X(event_adopt_host, UNSUPPORTED, "external events", ferrum_event_adopt(f->device, 5, OUT(ferrum_event, {0}))) \
    X(event_get_native_host, UNSUPPORTED, "native", ferrum_event_get_native(f->event, OUT(uint64_t, {0}))) \
    X(device_grant_peer_itself, INVALID_ARGUMENT, "the device itself", ferrum_device_grant_peer(f->device, f->device)) \
    X(vpool_export_movable, INVALID_ARGUMENT, "backing is 0", ferrum_vpool_export(f->vpool, 0, FIXTURE_PAGE, NULL, 0, OUT(size_t, {0}))) \
    X(manager_import_pages_none, INVALID_ARGUMENT, "0 descriptors of pages", import_with(f->manager.id, change_import_none)) \
    X(manager_import_pages_many, INVALID_ARGUMENT, "pages->count is 18446744073709551615", import_with(f->manager.id, change_import_many)) \
    X(manager_import_pages_closed, INVALID_ARGUMENT, "descriptor -1", import_with(f->manager.id, change_import_closed)) \
    X(manager_import_pages_size_0, INVALID_PAGE_SIZE, "of 0 bytes", import_with(f->manager.id, change_import_size_0)) \
    X(manager_import_pages_size, INVALID_PAGE_SIZE, "page size 3", import_with(f->manager.id, change_import_size)) \
    X(manager_import_pages_size_max, INVALID_PAGE_SIZE, "18446744073709551615", import_with(f->manager.id, change_import_size_max)) \
    X(manager_import_pages_file, INVALID_ARGUMENT, "is not a page that was exported", import_with(f->manager.id, NULL)) \
    X(device_share_memory_host, UNSUPPORTED, "cpu:0", ferrum_device_share_memory(f->device, f->block, 16, OUT(ferrum_shared_memory, FERRUM_SHARED_MEMORY_INIT))) \
    X(manager_import_memory_host, UNSUPPORTED, "cpu:0", ferrum_manager_import_memory(f->manager, OUT(ferrum_shared_memory, FERRUM_SHARED_MEMORY_INIT), NULL, OUT(ferrum_memory, {0}))) \
    X(event_share_host, UNSUPPORTED, "cpu:0", ferrum_event_share(f->stream, OUT(ferrum_shared_event, FERRUM_SHARED_EVENT_INIT), OUT(ferrum_event, {0}))) \
    X(event_open_host, UNSUPPORTED, "cpu:0", ferrum_event_open(f->device, OUT(ferrum_shared_event, FERRUM_SHARED_EVENT_INIT), OUT(ferrum_event, {0}))) \
    X(memory_free_twice, INVALID_HANDLE, "", ({ ferrum_memory m; MUST(ferrum_manager_alloc(f->manager, 16, &m)); MUST(ferrum_memory_free(m)); ferrum_memory_free(m); })) \
    X(memory_copy_size_0, INVALID_SIZE, "size", range_with(f, 0, 0, 0, 0)) \
    X(memory_copy_src_range, INVALID_OFFSET, "4096", range_with(f, 16, 4090, 0, 0)) \
    X(memory_copy_dst_range, INVALID_OFFSET, "4096", range_with(f, 16, 0, 4090, 0)) \
    X(memory_copy_src_overflow, OVERFLOW, "18446744073709551600", range_with(f, 32, UINT64_MAX - 15, 0, 0)) \
    X(memory_copy_dst_overflow, OVERFLOW, "18446744073709551600", range_with(f, 32, 0, UINT64_MAX - 15, 0)) \
    X(memory_copy_async_size_0, INVALID_SIZE, "size", range_with(f, 0, 0, 0, 1)) \
    X(memory_copy_async_range, INVALID_OFFSET, "4096", range_with(f, 4097, 0, 0, 1)) \
    X(memory_copy_async_overflow, OVERFLOW, "", range_with(f, UINT64_MAX, 1, 0, 1)) \
    X(memory_copy_async_other_device, INVALID_ARGUMENT, "cpu:1", copy_async_with(f->memory.id, f->memory.id, f->other_stream.id)) \
    X(memory_write_size_0, INVALID_SIZE, "size", ferrum_memory_write(f->memory, 0, "x", 0)) \
    X(memory_write_range, INVALID_OFFSET, "4096", ferrum_memory_write(f->memory, 4096, "x", 1)) \
    X(memory_write_overflow, OVERFLOW, "18446744073709551615", ferrum_memory_write(f->memory, UINT64_MAX, "x", 1)) \
    X(memory_read_size_0, INVALID_SIZE, "size", ferrum_memory_read(f->memory, 0, (char[1]){0}, 0)) \
    X(memory_read_range, INVALID_OFFSET, "4096", ferrum_memory_read(f->memory, 4096, (char[1]){0}, 1)) \
    X(memory_read_overflow, OVERFLOW, "18446744073709551615", ferrum_memory_read(f->memory, UINT64_MAX, (char[1]){0}, 1)) \
    X(memory_fill_async_width, INVALID_ARGUMENT, "3", fill_range(f, 0, 12, 3, 0)) \
    X(memory_fill_async_width_huge, INVALID_ARGUMENT, "4294967295", fill_range(f, 0, 12, UINT32_MAX, 0)) \
    X(memory_fill_async_odd_size, INVALID_SIZE, "6", fill_range(f, 0, 6, 4, 0)) \
    X(memory_fill_async_odd_offset, INVALID_OFFSET, "2", fill_range(f, 2, 8, 4, 0)) \
    X(memory_fill_async_pattern, INVALID_ARGUMENT, "", fill_range(f, 0, 8, 1, 0x100)) \
    X(memory_fill_async_size_0, INVALID_SIZE, "size", fill_range(f, 0, 0, 1, 0)) \
    X(memory_fill_async_range, INVALID_OFFSET, "4096", fill_range(f, 4095, 2, 1, 0)) \
    X(memory_fill_async_overflow, OVERFLOW, "", fill_range(f, UINT64_MAX - 3, 8, 4, 0)) \
    X(memory_fill_async_other_device, INVALID_ARGUMENT, "cpu:1", fill_with(f->memory.id, f->other_stream.id)) \
    X(device_reclaim_callback_add_forever, INVALID_ARGUMENT, "deadline_ns", ({ ferrum_reclaim_config c = FERRUM_RECLAIM_CONFIG_INIT; c.deadline_ns = UINT64_MAX; ferrum_device_reclaim_callback_add(f->device, &c, reclaim, NULL, OUT(ferrum_registration, {0})); })) \
    X(vpool_create_capacity_0, INVALID_SIZE, "capacity_bytes is 0", vpool_on(f->device, change_vpool_capacity_0)) \
    X(vpool_create_capacity_max, INVALID_SIZE, "18446744073709551615", vpool_on(f->device, change_vpool_capacity_max)) \
    X(vpool_create_capacity_huge, OUT_OF_VIRTUAL_MEMORY, "4611686018427387904", vpool_on(f->device, change_vpool_capacity_huge)) \
    X(vpool_create_capacity_of_the_system, OUT_OF_VIRTUAL_MEMORY, "2251799813685248", vpool_on(f->device, change_vpool_capacity_of_the_system)) \
    X(vpool_create_page_3, INVALID_PAGE_SIZE, "page_bytes 3", vpool_on(f->device, change_vpool_page_3)) \
    X(vpool_create_page_small, INVALID_PAGE_SIZE, "page_bytes 32768", vpool_on(f->device, change_vpool_page_small)) \
    X(vpool_create_page_odd, INVALID_PAGE_SIZE, "page_bytes 196608", vpool_on(f->device, change_vpool_page_odd)) \
    X(vpool_create_page_max, INVALID_PAGE_SIZE, "18446744073709551615", vpool_on(f->device, change_vpool_page_max)) \
    X(vpool_create_limit, OUT_OF_PHYSICAL_MEMORY, "requested 1024 TiB, available 256 MiB", vpool_on(f->device, change_vpool_limit)) \
    X(vpool_create_ready, INVALID_ARGUMENT, "ready_pages is 65537", vpool_on(f->device, change_vpool_ready)) \
    X(vpool_destroy_in_use, BUSY, "elastic", ferrum_vpool_destroy(f->vpool, 0)) \
    X(vpool_alloc_size_0, INVALID_SIZE, "size 0", vpool_alloc_with(f->vpool, 4 * FIXTURE_PAGE, 0)) \
    X(vpool_alloc_outside, INVALID_OFFSET, "offset 67108864, size 1, capacity 67108864", vpool_alloc_with(f->vpool, UINT64_C(64) << 20, 1)) \
    X(vpool_alloc_past_the_end, INVALID_OFFSET, "offset 67108863, size 2, capacity 67108864", vpool_alloc_with(f->vpool, (UINT64_C(64) << 20) - 1, 2)) \
    X(vpool_alloc_offset_max, INVALID_OFFSET, "offset 18446744073709551615, size 1", vpool_alloc_with(f->vpool, UINT64_MAX, 1)) \
    X(vpool_alloc_size_max, INVALID_OFFSET, "offset 1, size 18446744073709551615", vpool_alloc_with(f->vpool, 1, UINT64_MAX)) \
    X(vpool_alloc_both_max, INVALID_OFFSET, "18446744073709551615", vpool_alloc_with(f->vpool, UINT64_MAX, UINT64_MAX)) \
    X(vpool_alloc_mapped, ALREADY_MAPPED, "offset 65536, page size 65536", vpool_alloc_with(f->vpool, FIXTURE_PAGE + 5, 4 * FIXTURE_PAGE)) \
    X(vpool_alloc_above_the_limit, OUT_OF_PHYSICAL_MEMORY, "requested 32 MiB, available 15.88 MiB (16646144 bytes)", vpool_alloc_with(f->vpool, 4 * FIXTURE_PAGE, UINT64_C(32) << 20)) \
    X(vpool_record_stream_size_0, INVALID_SIZE, "size 0", ferrum_vpool_record_stream(f->vpool, 0, 0, f->stream)) \
    X(vpool_record_stream_outside, INVALID_OFFSET, "offset 67108864, size 65536, capacity 67108864", ferrum_vpool_record_stream(f->vpool, UINT64_C(64) << 20, FIXTURE_PAGE, f->stream)) \
    X(vpool_record_stream_hole, NOT_MAPPED, "offset 131072, page size 65536", ferrum_vpool_record_stream(f->vpool, 0, 3 * FIXTURE_PAGE, f->stream)) \
    X(vpool_record_stream_other_device, INVALID_ARGUMENT, "cpu:1", ferrum_vpool_record_stream(f->vpool, 0, FIXTURE_RANGE, f->other_stream)) \
    X(vpool_alloc_with_other_device, INVALID_ARGUMENT, "cpu:1", ({ stream_in_request = f->other_stream; vpool_asked_with(f->vpool, change_placed_stream); })) \
    X(vpool_free_size_0, INVALID_SIZE, "size 0", ferrum_vpool_free(f->vpool, 0, 0, f->stream)) \
    X(vpool_free_outside, INVALID_OFFSET, "offset 67108864, size 65536, capacity 67108864", ferrum_vpool_free(f->vpool, UINT64_C(64) << 20, FIXTURE_PAGE, f->stream)) \
    X(vpool_free_max, INVALID_OFFSET, "18446744073709551615", ferrum_vpool_free(f->vpool, UINT64_MAX, UINT64_MAX, f->stream)) \
    X(vpool_free_hole, NOT_MAPPED, "offset 131072, page size 65536", ferrum_vpool_free(f->vpool, 0, 3 * FIXTURE_PAGE, f->stream)) \
    X(vpool_free_unaligned_offset, INVALID_OFFSET, "offset 8, size 65536", ferrum_vpool_free(f->vpool, 8, FIXTURE_PAGE, f->stream)) \
    X(vpool_free_unaligned_size, INVALID_OFFSET, "offset 0, size 99999", ferrum_vpool_free(f->vpool, 0, FIXTURE_RANGE - 1, f->stream)) \
    X(vpool_free_twice, NOT_MAPPED, "offset 262144", ({ ferrum_address a; MUST(ferrum_vpool_alloc(f->vpool, 4 * FIXTURE_PAGE, FIXTURE_PAGE, &a)); MUST(ferrum_vpool_free(f->vpool, 4 * FIXTURE_PAGE, FIXTURE_PAGE, f->stream)); ferrum_status s = ferrum_vpool_free(f->vpool, 4 * FIXTURE_PAGE, FIXTURE_PAGE, f->stream); uint64_t released; MUST(ferrum_vpool_trim(f->vpool, 0, &released)); s; })) \
    X(vpool_free_other_device, INVALID_ARGUMENT, "cpu:1", ferrum_vpool_free(f->vpool, 0, FIXTURE_RANGE, f->other_stream)) \
    X(vpool_set_limit_too_much, OUT_OF_PHYSICAL_MEMORY, "requested 1024 TiB, available 256 MiB", ferrum_vpool_set_limit(f->vpool, UINT64_C(1) << 50)) \
    X(vpool_set_limit_max, OUT_OF_PHYSICAL_MEMORY, "18446744073709551615", ferrum_vpool_set_limit(f->vpool, UINT64_MAX)) \
    X(elastic_pool_create_page, INVALID_PAGE_SIZE, "page_bytes 4096", shared_on(f->device, change_shared_page)) \
    X(elastic_pool_create_limit_small, INVALID_CONFIG, "limit_bytes 1 ", shared_on(f->device, change_shared_limit_small)) \
    X(elastic_pool_create_limit, OUT_OF_PHYSICAL_MEMORY, "requested 1024 TiB, available 256 MiB", shared_on(f->device, change_shared_limit)) \
    X(elastic_pool_create_ready, INVALID_ARGUMENT, "ready_pages is 65537", shared_on(f->device, change_shared_ready)) \
    X(elastic_pool_destroy_in_use, BUSY, "chat", ferrum_elastic_pool_destroy(f->shared, 0)) \
    X(elastic_pool_register_model_twice, MODEL_ALREADY_EXISTS, "\"chat\"", register_with(f->shared, "chat", NULL)) \
    X(elastic_pool_register_model_empty, INVALID_ARGUMENT, "id", register_with(f->shared, "", NULL)) \
    X(elastic_pool_register_model_virtual_0, INVALID_SIZE, "0", register_with(f->shared, "new", change_model_virtual_0)) \
    X(elastic_pool_register_model_virtual_max, INVALID_SIZE, "18446744073709551615", register_with(f->shared, "new", change_model_virtual_max)) \
    X(elastic_pool_register_model_virtual_huge, OUT_OF_VIRTUAL_MEMORY, "4611686018427387904", register_with(f->shared, "new", change_model_virtual_huge)) \
    X(elastic_pool_register_model_guaranteed, INVALID_CONFIG, "guaranteed_bytes 17825792", register_with(f->shared, "new", change_model_guaranteed)) \
    X(elastic_pool_register_model_guaranteed_max, INVALID_CONFIG, "18446744073709551615", register_with(f->shared, "new", change_model_guaranteed_max)) \
    X(elastic_pool_register_model_above_its_max, INVALID_CONFIG, "max_bytes 65536", register_with(f->shared, "new", change_model_above_its_max)) \
    X(elastic_pool_register_model_max_small, INVALID_CONFIG, "max_bytes 100", register_with(f->shared, "new", change_model_max_small)) \
    X(elastic_pool_unregister_model_unknown, MODEL_NOT_FOUND, "\"code\"", ferrum_elastic_pool_unregister_model(f->shared, "code", 0)) \
    X(elastic_pool_unregister_model_in_use, BUSY, "chat", ferrum_elastic_pool_unregister_model(f->shared, "chat", 0)) \
    X(elastic_pool_alloc_unknown, MODEL_NOT_FOUND, "\"code\"", shared_allocate_with(f->shared, "code", 16)) \
    X(elastic_pool_alloc_empty, MODEL_NOT_FOUND, "\"\"", shared_allocate_with(f->shared, "", 16)) \
    X(elastic_pool_alloc_size_0, INVALID_SIZE, "size", shared_allocate_with(f->shared, "chat", 0)) \
    X(elastic_pool_alloc_size_max, OUT_OF_VIRTUAL_MEMORY, "18446744073709551615", shared_allocate_with(f->shared, "chat", UINT64_MAX)) \
    X(elastic_pool_alloc_above_the_limit, OUT_OF_PHYSICAL_MEMORY, "requested 32 MiB, available 15.88 MiB (16646144 bytes)", shared_allocate_with(f->shared, "chat", UINT64_C(32) << 20)) \
    X(elastic_pool_alloc_with_at_unknown, MODEL_NOT_FOUND, "\"code\"", shared_allocate_at(f->shared, "code", 0, 16)) \
    X(elastic_pool_alloc_with_at_mapped, ALREADY_MAPPED, "offset 0, page size 65536", shared_allocate_at(f->shared, "chat", 0, 16)) \
    X(elastic_pool_alloc_with_at_outside, INVALID_OFFSET, "offset 67108864, size 1, capacity 67108864", shared_allocate_at(f->shared, "chat", UINT64_C(64) << 20, 1)) \
    X(elastic_pool_alloc_with_at_max, INVALID_OFFSET, "18446744073709551615", shared_allocate_at(f->shared, "chat", UINT64_MAX, UINT64_MAX)) \
    X(elastic_pool_alloc_with_not_at, INVALID_OFFSET, "65536", model_asked_with(f->shared, "chat", change_range_not_at)) \
    X(elastic_pool_alloc_with_size_0, INVALID_SIZE, "size", model_asked_with(f->shared, "chat", change_range_size_0)) \
    X(elastic_pool_alloc_with_clash, ALREADY_MAPPED, "offset 0", model_asked_with(f->shared, "chat", change_range_clash)) \
    X(elastic_pool_record_stream_unknown, MODEL_NOT_FOUND, "\"code\"", ferrum_elastic_pool_record_stream(f->shared, "code", 0, FIXTURE_RANGE, f->stream)) \
    X(elastic_pool_record_stream_size_0, INVALID_SIZE, "size 0", ferrum_elastic_pool_record_stream(f->shared, "chat", 0, 0, f->stream)) \
    X(elastic_pool_record_stream_max, INVALID_OFFSET, "18446744073709551615", ferrum_elastic_pool_record_stream(f->shared, "chat", UINT64_MAX, 2, f->stream)) \
    X(elastic_pool_record_stream_hole, NOT_MAPPED, "offset 131072, page size 65536", ferrum_elastic_pool_record_stream(f->shared, "chat", 0, 3 * FIXTURE_PAGE, f->stream)) \
    X(elastic_pool_record_stream_other_device, INVALID_ARGUMENT, "cpu:1", ferrum_elastic_pool_record_stream(f->shared, "chat", 0, FIXTURE_RANGE, f->other_stream)) \
    X(elastic_pool_alloc_with_other_device, INVALID_ARGUMENT, "cpu:1", ({ stream_in_request = f->other_stream; model_asked_with(f->shared, "chat", change_range_stream); })) \
    X(elastic_pool_free_unknown, MODEL_NOT_FOUND, "\"code\"", ferrum_elastic_pool_free(f->shared, "code", 0, FIXTURE_RANGE, f->stream)) \
    X(elastic_pool_free_size_0, INVALID_SIZE, "size 0", ferrum_elastic_pool_free(f->shared, "chat", 0, 0, f->stream)) \
    X(elastic_pool_free_hole, NOT_MAPPED, "offset 131072, page size 65536", ferrum_elastic_pool_free(f->shared, "chat", 0, 3 * FIXTURE_PAGE, f->stream)) \
    X(elastic_pool_free_unaligned, INVALID_OFFSET, "offset 8", ferrum_elastic_pool_free(f->shared, "chat", 8, FIXTURE_PAGE, f->stream)) \
    X(elastic_pool_free_max, INVALID_OFFSET, "18446744073709551615", ferrum_elastic_pool_free(f->shared, "chat", UINT64_MAX, 2, f->stream)) \
    X(elastic_pool_free_other_device, INVALID_ARGUMENT, "cpu:1", ferrum_elastic_pool_free(f->shared, "chat", 0, FIXTURE_RANGE, f->other_stream)) \
    X(elastic_pool_is_mapped_unknown, MODEL_NOT_FOUND, "\"code\"", ferrum_elastic_pool_is_mapped(f->shared, "code", 0, 1, OUT(uint32_t, {0}))) \
    X(elastic_pool_get_model_info_unknown, MODEL_NOT_FOUND, "\"code\"", ferrum_elastic_pool_get_model_info(f->shared, "code", OUT(ferrum_model_info, FERRUM_MODEL_INFO_INIT))) \
    X(elastic_pool_set_model_limits_unknown, MODEL_NOT_FOUND, "\"code\"", limits_with(f->shared, "code", 0, 0)) \
    X(elastic_pool_set_model_limits_above, INVALID_CONFIG, "guaranteed_bytes 17825792", limits_with(f->shared, "chat", UINT64_C(17) << 20, 0)) \
    X(elastic_pool_set_model_limits_max, INVALID_CONFIG, "max_bytes 65536", limits_with(f->shared, "chat", 2 * FIXTURE_PAGE, FIXTURE_PAGE)) \
    X(elastic_pool_models_json_small, BUFFER_TOO_SMALL, "capacity", ({ char t[4] = "abc"; size_t n = 0; ferrum_status s = ferrum_elastic_pool_models_json(f->shared, t, sizeof t, &n); n > sizeof t && t[0] == 0 ? s : FERRUM_OK; })) \
    X(elastic_pool_set_limit_small, INVALID_CONFIG, "limit_bytes 1 ", ferrum_elastic_pool_set_limit(f->shared, 1)) \
    X(elastic_pool_set_limit_too_much, OUT_OF_PHYSICAL_MEMORY, "requested 1024 TiB, available 256 MiB", ferrum_elastic_pool_set_limit(f->shared, UINT64_C(1) << 50)) \
    X(elastic_pool_reclaim_callback_add_unknown, MODEL_NOT_FOUND, "\"code\"", ferrum_elastic_pool_reclaim_callback_add(f->shared, "code", NULL, model_reclaim, NULL, OUT(ferrum_registration, {0}))) \
    X(elastic_pool_reclaim_callback_add_forever, INVALID_ARGUMENT, "deadline_ns", ({ ferrum_reclaim_config c = FERRUM_RECLAIM_CONFIG_INIT; c.deadline_ns = UINT64_MAX; ferrum_elastic_pool_reclaim_callback_add(f->shared, "chat", &c, model_reclaim, NULL, OUT(ferrum_registration, {0})); })) \
    X(elastic_pool_reclaim_callback_add_priority, INVALID_ARGUMENT, "priority is 3", ({ ferrum_reclaim_config c = FERRUM_RECLAIM_CONFIG_INIT; c.priority = 3; ferrum_elastic_pool_reclaim_callback_add(f->shared, "chat", &c, model_reclaim, NULL, OUT(ferrum_registration, {0})); })) \
    X(pressure_from_utilization_negative, INVALID_ARGUMENT, "-0.25", level_of_ratio(0, -0.25)) \
    X(pressure_from_utilization_nan, INVALID_ARGUMENT, "NaN", level_of_ratio(1, 0.0 / 0.0)) \
    X(pressure_from_utilization_below_all, INVALID_ARGUMENT, "-Inf", level_of_ratio(1, -1.0 / 0.0)) \
    X(monitor_register_twice, ALREADY_EXISTS, "cpu:0", ({ MUST(ferrum_monitor_register(f->monitor, f->manager)); ferrum_status s = ferrum_monitor_register(f->monitor, f->manager); MUST(ferrum_monitor_unregister(f->monitor, f->manager)); s; })) \
    X(monitor_unregister_unknown, NOT_FOUND, "cpu:0", ferrum_monitor_unregister(f->monitor, f->manager)) \
    X(monitor_unregister_device_unknown, NOT_FOUND, "cpu:1", ferrum_monitor_unregister_device(f->monitor, f->other_device)) \
    X(monitor_get_levels_small, BUFFER_TOO_SMALL, "capacity is 1", ({ ferrum_manager m; ferrum_device_level l[1]; size_t n = 0; MUST(ferrum_manager_create(f->other_device, NULL, &m)); MUST(ferrum_monitor_register(f->monitor, f->manager)); MUST(ferrum_monitor_register(f->monitor, m)); ferrum_status s = ferrum_monitor_get_levels(f->monitor, 0, l, 1, &n); MUST(ferrum_monitor_unregister(f->monitor, f->manager)); MUST(ferrum_manager_destroy(m, 0)); n == 2 ? s : FERRUM_OK; })) \
    X(monitor_info_json_small, BUFFER_TOO_SMALL, "capacity", ({ char t[4] = "abc"; size_t n = 0; ferrum_status s = ferrum_monitor_info_json(f->monitor, 0, t, sizeof t, &n); n > sizeof t && t[0] == 0 ? s : FERRUM_OK; })) \
    X(monitor_collect_small, BUFFER_TOO_SMALL, "capacity is 0", ({ size_t n = 0; MUST(ferrum_monitor_register(f->monitor, f->manager)); ferrum_status s = ferrum_monitor_collect(f->monitor, NULL, 0, &n); MUST(ferrum_monitor_unregister(f->monitor, f->manager)); n == 1 ? s : FERRUM_OK; })) \
    X(placement_create_unknown, NOT_FOUND, "\"worst_fit\"", ({ ferrum_placement p = {1}; ferrum_status s = ferrum_placement_create("worst_fit", &p); p.id == 0 ? s : FERRUM_OK; })) \
    X(placement_create_empty, NOT_FOUND, "best_fit", ferrum_placement_create("", OUT(ferrum_placement, {0}))) \
    X(placement_create_own_empty, INVALID_ARGUMENT, "name", name_own("")) \
    X(placement_create_own_built_in, ALREADY_EXISTS, "\"spread\"", name_own("spread")) \
    X(placement_get_name_small, BUFFER_TOO_SMALL, "capacity", ({ char t[8] = "before"; size_t n = 0; ferrum_status s = ferrum_placement_get_name(f->placement, t, sizeof t, &n); n >= sizeof t && t[0] == 0 ? s : FERRUM_OK; })) \
    X(placement_select_size_0, INVALID_SIZE, "size", place(f->placement.id, change_place_size_0, 0)) \
    X(placement_select_too_much, NOT_FOUND, "cpu:1", place(f->placement.id, change_place_size_max, 0)) \
    X(placement_select_alignment, INVALID_ALIGNMENT, "48", place(f->placement.id, change_place_alignment, 0)) \
    X(placement_select_alignment_huge, INVALID_ALIGNMENT, "2147483648", place(f->placement.id, change_place_alignment_huge, 0)) \
    X(placement_select_type, INVALID_ARGUMENT, "99", place(f->placement.id, change_place_type, 0)) \
    X(placement_select_type_negative, INVALID_ARGUMENT, "-1", place(f->placement.id, change_place_type_negative, 0)) \
    X(placement_select_preferred_null, NULL_POINTER, "preferred", place(f->placement.id, change_place_preferred_null, 0)) \
    X(placement_select_devices_null, NULL_POINTER, "devices", place(f->placement.id, change_place_devices_null, 0)) \
    X(placement_select_preferred_many, INVALID_ARGUMENT, "1025", place(f->placement.id, change_place_preferred_many, 0)) \
    X(placement_select_devices_many, INVALID_ARGUMENT, "4294967295", place(f->placement.id, change_place_devices_many, 0)) \
    X(placement_select_devices_none, NOT_FOUND, "no candidates", place(f->placement.id, change_place_devices_none, 0)) \
    X(placement_select_own_outside, INVALID_ARGUMENT, "2", place_by(choose, &(int64_t){2})) \
    X(placement_select_own_far_outside, INVALID_ARGUMENT, "9223372036854775807", place_by(choose, &(int64_t){INT64_MAX})) \
    X(placement_select_own_negative, INVALID_ARGUMENT, "-2", place_by(choose, &(int64_t){-2})) \
    X(placement_select_own_none, NOT_FOUND, "not_taken", place_by(choose, &(int64_t){-1})) \
    X(placement_select_own_refuses, BUSY, "mine", place_by(refuse, &(ferrum_status){FERRUM_ERROR_BUSY})) \
    X(placement_select_own_nonsense, INVALID_ARGUMENT, "returned 7", place_by(refuse, &(ferrum_status){7})) \
    X(placement_explain_json_size_0, INVALID_SIZE, "size", place(f->placement.id, change_place_size_0, 1)) \
    X(placement_explain_json_type, INVALID_ARGUMENT, "99", place(f->placement.id, change_place_type, 1)) \
    X(placement_explain_json_small, BUFFER_TOO_SMALL, "capacity", ({ ferrum_placement_request r = FERRUM_PLACEMENT_REQUEST_INIT; char t[4] = "abc"; size_t n = 0; r.size_bytes = 16; ferrum_status s = ferrum_placement_explain_json(f->placement, &r, t, sizeof t, &n); n > sizeof t && t[0] == 0 ? s : FERRUM_OK; })) \
    X(vpool_sleep_tag_unknown, NOT_FOUND, "none", sleep_with(f, change_sleep_tag_unknown, 0)) \
    X(elastic_pool_sleep_model_tag_unknown, NOT_FOUND, "none", sleep_with(f, change_sleep_tag_unknown, 1)) \
    X(vpool_sleep_directory, INVALID_ARGUMENT, "dir", sleep_with(f, change_sleep_directory, 0)) \
    X(elastic_pool_sleep_model_directory, INVALID_ARGUMENT, "dir", sleep_with(f, change_sleep_directory, 1)) \
    X(vpool_sleep_directory_missing, IO, "/nonexistent", sleep_with(f, change_sleep_directory_missing, 0)) \
    X(elastic_pool_sleep_model_directory_missing, IO, "/nonexistent", sleep_with(f, change_sleep_directory_missing, 1)) \
    X(vpool_sleep_streams, INVALID_ARGUMENT, "streams 65", sleep_with(f, change_sleep_streams, 0)) \
    X(elastic_pool_sleep_model_streams, INVALID_ARGUMENT, "streams 65", sleep_with(f, change_sleep_streams, 1)) \
    X(vpool_sleep_streams_max, INVALID_ARGUMENT, "streams 4294967295", sleep_with(f, change_sleep_streams_max, 0)) \
    X(elastic_pool_sleep_model_streams_max, INVALID_ARGUMENT, "streams 4294967295", sleep_with(f, change_sleep_streams_max, 1)) \
    X(vpool_sleep_no_time, TIMEOUT, "must not wait", sleep_unwaiting(f, 0)) \
    X(elastic_pool_sleep_model_no_time, TIMEOUT, "must not wait", sleep_unwaiting(f, 1)) \
    X(vpool_sleep_other_device, INVALID_ARGUMENT, "cpu:1", sleep_after(f, f->other_stream, 0)) \
    X(elastic_pool_sleep_model_other_device, INVALID_ARGUMENT, "cpu:1", sleep_after(f, f->other_stream, 1)) \
    X(vpool_sleep_twice, INVALID_STATE, "elastic", ({ MUST(ferrum_vpool_sleep(f->vpool, NULL, NULL)); ferrum_status s = ferrum_vpool_sleep(f->vpool, NULL, NULL); MUST(ferrum_vpool_wake(f->vpool, NULL, NULL)); s; })) \
    X(vpool_wake_awake, INVALID_STATE, "elastic", ferrum_vpool_wake(f->vpool, NULL, NULL)) \
    X(elastic_pool_sleep_model_unknown, MODEL_NOT_FOUND, "\"code\"", ferrum_elastic_pool_sleep_model(f->shared, "code", NULL, NULL)) \
    X(elastic_pool_wake_model_unknown, MODEL_NOT_FOUND, "\"code\"", ferrum_elastic_pool_wake_model(f->shared, "code", NULL, NULL)) \
    X(elastic_pool_is_model_asleep_unknown, MODEL_NOT_FOUND, "\"code\"", ferrum_elastic_pool_is_model_asleep(f->shared, "code", NULL, OUT(uint32_t, {0}))) \
    X(vpool_alloc_with_size_0, INVALID_SIZE, "size 0", vpool_asked_with(f->vpool, change_placed_size_0)) \
    X(vpool_alloc_with_clash, ALREADY_MAPPED, "offset 0, page size 65536", vpool_asked_with(f->vpool, change_placed_clash)) \
    X(vpool_wake_streams_of, INVALID_ARGUMENT, "streams 65", ({ ferrum_wake_config c = FERRUM_WAKE_CONFIG_INIT; c.num_streams = 65; ferrum_vpool_wake(f->vpool, &c, NULL); })) \
    X(vpool_wake_awake_of, INVALID_STATE, "kv", ({ ferrum_wake_config c = FERRUM_WAKE_CONFIG_INIT; c.tag = "kv"; ferrum_vpool_wake(f->vpool, &c, NULL); })) \
    X(elastic_pool_wake_model_streams_of, INVALID_ARGUMENT, "streams 65", ({ ferrum_wake_config c = FERRUM_WAKE_CONFIG_INIT; c.num_streams = 65; ferrum_elastic_pool_wake_model(f->shared, "chat", &c, NULL); })) \
    X(elastic_pool_wake_model_awake_of, INVALID_STATE, "kv", ({ ferrum_wake_config c = FERRUM_WAKE_CONFIG_INIT; c.tag = "kv"; ferrum_elastic_pool_wake_model(f->shared, "chat", &c, NULL); }))
/* clang-format on */

#define DEFINE(name, want, names, expression)       \
    static ferrum_status value_##name(fixture *f) { \
        (void)f;                                    \
        return expression;                          \
    }
VALUE_CALLS(DEFINE)
#undef DEFINE

static const value_call value_calls[] = {
#define ROW(name, want, names, expression) \
    {#name, FERRUM_ERROR_##want, names, value_##name},
    VALUE_CALLS(ROW)
#undef ROW
};

/* -------------------------------------------------------- running the cases */

#define CASES (sizeof value_calls / sizeof *value_calls)

/* The current values of the counters, which a failed call must not change. */
static void current_books(const fixture *f, uint64_t out[16]) {
    ferrum_device devices[] = {f->device, f->other_device};
    for (int i = 0; i < 2; i++) {
        ferrum_statistics s = FERRUM_STATISTICS_INIT;
        MUST(ferrum_device_get_statistics(devices[i], &s));
        uint64_t now[] = {s.requested.current,   s.allocated.current,
                          s.active.current,      s.cached.current,
                          s.unusable.current,    s.reserved.current,
                          s.live_blocks.current, s.segments.current};
        memcpy(out + 8 * i, now, sizeof now);
    }
}

static int child(size_t n) {
    memset(long_text, 'x', sizeof long_text - 1);
    fixture f;
    fixture_make(&f);
    uint64_t before[16], after[16];
    current_books(&f, before);
    const value_call *c = &value_calls[n];
    ferrum_status got = c->call(&f);
    ferrum_error_info error = FERRUM_ERROR_INFO_INIT;
    MUST(ferrum_last_error(&error));
    int failed = 0;
    if (got != c->want) {
        fprintf(stderr, "  returned %s, want %s\n", ferrum_status_name(got),
                ferrum_status_name(c->want));
        failed = 1;
    }
    if (error.status != got || error.message[0] == 0 ||
        strstr(error.message, c->names) == NULL ||
        strncmp(error.function, "ferrum_", 7) != 0) {
        fprintf(stderr, "  %s said \"%s\" (%s), want it to name \"%s\"\n",
                error.function, error.message, ferrum_status_name(error.status),
                c->names);
        failed = 1;
    }
    MUST(ferrum_stream_synchronize(f.stream, FERRUM_WAIT_FOREVER));
    current_books(&f, after);
    if (memcmp(before, after, sizeof before) != 0) {
        fprintf(stderr, "  the books have changed\n");
        failed = 1;
    }
    fixture_end(&f);
    return failed;
}

/* Runs case n in a separate process. Returns 0 if it passed. */
static int run_in_process(const char *self, size_t n) {
    char number[32];
    snprintf(number, sizeof number, "%zu", n);
    char *arguments[] = {(char *)self, "--case", number, NULL};
    pid_t pid;
    if (posix_spawn(&pid, self, NULL, NULL, arguments, environ) != 0)
        return 71;
    for (int waited = 0; waited < 30000; waited += 2) {
        int status;
        if (waitpid(pid, &status, WNOHANG) == pid)
            return WIFEXITED(status) ? WEXITSTATUS(status)
                                     : 128 + WTERMSIG(status);
        nanosleep(&(struct timespec){0, 2000000}, NULL);
    }
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    return 124;
}

int main(int argc, char **argv) {
    if (argc == 3 && strcmp(argv[1], "--case") == 0) {
        size_t n = (size_t)strtoul(argv[2], NULL, 10);
        return n < CASES ? child(n) : 2;
    }
    int passed = 0, failed = 0;
    for (size_t n = 0; n < CASES; n++) {
        int code = run_in_process("/proc/self/exe", n);
        if (code == 0) {
            passed++;
            continue;
        }
        failed++;
        fprintf(stderr, "FAILED %s: exit %d%s\n", value_calls[n].name, code,
                code == 124   ? " (it hung)"
                : code >= 128 ? " (it crashed)"
                              : "");
    }
    printf("%d passed, %d failed\n", passed, failed);
    return failed != 0;
}
