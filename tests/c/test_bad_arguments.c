/*
 * Every function of the header with every class of bad argument that it can be
 * given. Each case runs in a process of its own (this program started again with
 * --case N), so that a crash or a hang is seen and named: the parent waits 30 s.
 *
 * A case passes when the call returns the status that it must, the message
 * names the argument, and afterwards the books are as before, every object
 * still works and the library stops cleanly.
 *
 * The run fails when a function of the header has no case here, unless it is
 * one of those that have no bad argument (see no_bad_argument).
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

/* ------------------------------------------------ calls with one bad handle */

#define HANDLE_CALL(name, kind, expression)                       \
    static ferrum_status handle_##name(fixture *f, uint64_t id) { \
        (void)f;                                                  \
        return expression;                                        \
    }
#define OUT(type, init) (&(type)init)

static void host_function(void *user_data) { (void)user_data; }
static void pressure(ferrum_device d, ferrum_pressure_level l, void *u) {
    (void)d;
    (void)l;
    (void)u;
}
static uint64_t reclaim(ferrum_device d, uint64_t n, void *u) {
    (void)d;
    (void)n;
    (void)u;
    return 0;
}

static void levels(ferrum_monitor m, const ferrum_device_level *l, size_t n,
                   void *u) {
    (void)m;
    (void)l;
    (void)n;
    (void)u;
}
/* Chooses what its user data says, or fails with that where it is negative. */
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

static ferrum_status copy_with(fixture *f, uint64_t src, uint64_t dst) {
    (void)f;
    ferrum_transfer t = FERRUM_TRANSFER_INIT;
    t.src.id = src;
    t.dst.id = dst;
    t.size_bytes = 16;
    return ferrum_memory_copy(&t);
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
static ferrum_status request_with(uint64_t manager) {
    ferrum_allocation_request r = FERRUM_ALLOCATION_REQUEST_INIT;
    ferrum_memory out;
    r.size_bytes = 16;
    return ferrum_manager_alloc_with((ferrum_manager){manager}, &r, &out);
}
static ferrum_status configure_with(uint64_t manager) {
    ferrum_pool_config c = FERRUM_POOL_CONFIG_INIT;
    return ferrum_manager_configure_pool((ferrum_manager){manager},
                                         FERRUM_MEMORY_GENERAL, &c);
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
/* A batch that fails leaves zeros. */
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

static void change_nothing(ferrum_vpool_config *c) { (void)c; }
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
static ferrum_status vpool_tagged_with(ferrum_vpool vpool, const char *tag) {
    ferrum_address out = 1;
    ferrum_status status =
        vpool_alloc_tagged(vpool, 4 * FIXTURE_PAGE, 16, tag, &out);
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
/* A report of a call that fails is zeros. */
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

/* Asks a fallback manager for a buffer. */
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
/* Makes a monitor that the settings must forbid. */
static ferrum_status monitor_with(void (*change)(ferrum_monitor_config *)) {
    ferrum_monitor_config c = FERRUM_MONITOR_CONFIG_INIT;
    change(&c);
    ferrum_monitor out = {1};
    ferrum_status status = ferrum_monitor_create(&c, &out);
    return out.id == 0 ? status : FERRUM_OK;
}
/* Asks a strategy for a device, or for what it thinks of each. */
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
/* One that prefers a device, or has it as its only candidate. */
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
/* Asks a strategy of the caller's that chooses or refuses so. */
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
/* A call without time to wait, while a stream of the device is held up. */
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
/* The second device's manager is made for the call. */
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
/* Pages that are none: the program's standard input. */
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
static void change_import_reserved(ferrum_page_import *i) { i->reserved = 1; }
static void change_import_tag(ferrum_page_import *i) { i->tag = "\xff"; }
/* What is queued in a stream that takes nothing. */
static ferrum_status refused_by_its_owner(fixture *f) {
    ferrum_foreign_stream s = FERRUM_FOREIGN_STREAM_INIT;
    ferrum_stream stream;
    s.enqueue = enqueue_never;
    MUST(ferrum_stream_adopt(f->device, &s, &stream));
    ferrum_status status = fill_with(f->memory.id, stream.id);
    MUST(ferrum_stream_destroy(stream, 0));
    return status;
}
/* A second use of what is mapped. */
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
/* A second adoption of the same memory. */
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

/* clang-format off */
#define HANDLE_CALLS(X) \
    X(fallback_manager_create, DEVICE, fallback_manager_on(id, f->device.id)) \
    X(fallback_manager_create_host, DEVICE, ferrum_fallback_manager_create(f->device, (ferrum_device){id == 0 ? 1 : id}, NULL, OUT(ferrum_fallback_manager, {0}))) \
    X(fallback_manager_destroy, FALLBACK_MANAGER, ferrum_fallback_manager_destroy((ferrum_fallback_manager){id}, 0)) \
    X(fallback_manager_get_backend_name, FALLBACK_MANAGER, ferrum_fallback_manager_get_backend_name((ferrum_fallback_manager){id}, NULL, 0, OUT(size_t, {0}))) \
    X(fallback_manager_get_stats, FALLBACK_MANAGER, ferrum_fallback_manager_get_stats((ferrum_fallback_manager){id}, OUT(ferrum_memory_stats, FERRUM_MEMORY_STATS_INIT))) \
    X(fallback_manager_get_fallback_stats, FALLBACK_MANAGER, ferrum_fallback_manager_get_fallback_stats((ferrum_fallback_manager){id}, OUT(ferrum_fallback_stats, FERRUM_FALLBACK_STATS_INIT))) \
    X(fallback_manager_get_memory, FALLBACK_MANAGER, ferrum_fallback_manager_get_memory((ferrum_fallback_manager){id}, OUT(uint64_t, {0}), OUT(uint64_t, {0}))) \
    X(fallback_manager_get_pressure, FALLBACK_MANAGER, ferrum_fallback_manager_get_pressure((ferrum_fallback_manager){id}, OUT(ferrum_pressure_level, {0}))) \
    X(fallback_manager_pressure_callback_add, FALLBACK_MANAGER, ferrum_fallback_manager_pressure_callback_add((ferrum_fallback_manager){id}, pressure, NULL, OUT(ferrum_registration, {0}))) \
    X(fallback_manager_clear_pool, FALLBACK_MANAGER, ferrum_fallback_manager_clear_pool((ferrum_fallback_manager){id})) \
    X(fallback_manager_shrink, FALLBACK_MANAGER, ferrum_fallback_manager_shrink((ferrum_fallback_manager){id}, OUT(uint64_t, {0}))) \
    X(fallback_manager_get_tracker, FALLBACK_MANAGER, ferrum_fallback_manager_get_tracker((ferrum_fallback_manager){id}, OUT(ferrum_tracker, {0}))) \
    X(fallback_manager_alloc, FALLBACK_MANAGER, buffer_with(id, NULL)) \
    X(fallback_manager_return_buffers, FALLBACK_MANAGER, ferrum_fallback_manager_return_buffers((ferrum_fallback_manager){id}, OUT(uint64_t, {0}))) \
    X(fallback_manager_adopt, FALLBACK_MANAGER, adopt_with((ferrum_fallback_manager){id}, FERRUM_LOCATION_GPU, 4096)) \
    X(fallback_manager_release, FALLBACK_MANAGER, ferrum_fallback_manager_release((ferrum_fallback_manager){id}, FERRUM_LOCATION_GPU, 4096, (ferrum_stream){0})) \
    X(fallback_buffer_free, FALLBACK_BUFFER, ferrum_fallback_buffer_free((ferrum_fallback_buffer){id}, (ferrum_stream){0})) \
    X(fallback_buffer_get_info, FALLBACK_BUFFER, ferrum_fallback_buffer_get_info((ferrum_fallback_buffer){id}, OUT(ferrum_fallback_buffer_info, FERRUM_FALLBACK_BUFFER_INFO_INIT))) \
    X(fallback_buffer_get_address, FALLBACK_BUFFER, ferrum_fallback_buffer_get_address((ferrum_fallback_buffer){id}, FERRUM_LOCATION_GPU, OUT(ferrum_address, {0}))) \
    X(fallback_buffer_move, FALLBACK_BUFFER, ferrum_fallback_buffer_move((ferrum_fallback_buffer){id}, FERRUM_LOCATION_CPU)) \
    X(fallback_buffer_pin, FALLBACK_BUFFER, ferrum_fallback_buffer_pin((ferrum_fallback_buffer){id}, NULL, NULL)) \
    X(fallback_buffer_unpin, FALLBACK_BUFFER, ferrum_fallback_buffer_unpin((ferrum_fallback_buffer){id})) \
    X(fallback_buffer_write, FALLBACK_BUFFER, ferrum_fallback_buffer_write((ferrum_fallback_buffer){id}, 0, (char[16]){0}, 16)) \
    X(fallback_buffer_read, FALLBACK_BUFFER, ferrum_fallback_buffer_read((ferrum_fallback_buffer){id}, 0, (char[16]){0}, 16)) \
    X(fallback_buffer_take, FALLBACK_BUFFER, ferrum_fallback_buffer_take((ferrum_fallback_buffer){id}, FERRUM_LOCATION_GPU, OUT(ferrum_address, {0}))) \
    X(tracker_destroy, TRACKER, ferrum_tracker_destroy((ferrum_tracker){id})) \
    X(tracker_track, TRACKER, track_with(id, NULL)) \
    X(tracker_untrack, TRACKER, ferrum_tracker_untrack((ferrum_tracker){id}, 1, NULL)) \
    X(tracker_get, TRACKER, ferrum_tracker_get((ferrum_tracker){id}, 1, OUT(ferrum_buffer_metadata, {0}))) \
    X(tracker_get_all, TRACKER, ferrum_tracker_get_all((ferrum_tracker){id}, NULL, 0, OUT(size_t, {0}))) \
    X(tracker_find_old, TRACKER, ferrum_tracker_find_old((ferrum_tracker){id}, 0, NULL, 0, OUT(size_t, {0}))) \
    X(tracker_get_totals, TRACKER, ferrum_tracker_get_totals((ferrum_tracker){id}, OUT(ferrum_tracker_totals, FERRUM_TRACKER_TOTALS_INIT))) \
    X(tracker_clear, TRACKER, ferrum_tracker_clear((ferrum_tracker){id})) \
    X(generic_pool_destroy, GENERIC_POOL, ferrum_generic_pool_destroy((ferrum_generic_pool){id}, 0)) \
    X(generic_pool_record_allocation, GENERIC_POOL, ferrum_generic_pool_record_allocation((ferrum_generic_pool){id}, 16, NULL, OUT(uint64_t, {0}))) \
    X(generic_pool_try_get, GENERIC_POOL, ferrum_generic_pool_try_get((ferrum_generic_pool){id}, 16, NULL, OUT(ferrum_buffer_lease, {0}), OUT(uint32_t, {0}))) \
    X(generic_pool_return, GENERIC_POOL, ferrum_generic_pool_return((ferrum_generic_pool){id}, OUT(ferrum_buffer_lease, {0}), OUT(uint32_t, {0}))) \
    X(generic_pool_add_free, GENERIC_POOL, ferrum_generic_pool_add_free((ferrum_generic_pool){id}, 1, 16)) \
    X(generic_pool_drain, GENERIC_POOL, ferrum_generic_pool_drain((ferrum_generic_pool){id}, NULL, 0, OUT(size_t, {0}))) \
    X(generic_pool_get_pooled_count, GENERIC_POOL, ferrum_generic_pool_get_pooled_count((ferrum_generic_pool){id}, OUT(uint64_t, {0}))) \
    X(generic_pool_get_stats, GENERIC_POOL, ferrum_generic_pool_get_stats((ferrum_generic_pool){id}, OUT(ferrum_memory_stats, FERRUM_MEMORY_STATS_INIT))) \
    X(generic_pool_record_cpu_fallback, GENERIC_POOL, ferrum_generic_pool_record_cpu_fallback((ferrum_generic_pool){id})) \
    X(generic_pool_get_tracker, GENERIC_POOL, ferrum_generic_pool_get_tracker((ferrum_generic_pool){id}, OUT(ferrum_tracker, {0}))) \
    X(device_close, DEVICE, ferrum_device_close((ferrum_device){id}, 0)) \
    X(device_get_info, DEVICE, ferrum_device_get_info((ferrum_device){id}, OUT(ferrum_device_info, FERRUM_DEVICE_INFO_INIT))) \
    X(device_synchronize, DEVICE, ferrum_device_synchronize((ferrum_device){id}, 0)) \
    X(device_set_limit, DEVICE, ferrum_device_set_limit((ferrum_device){id}, 1)) \
    X(device_measure_bandwidth, DEVICE, ferrum_device_measure_bandwidth((ferrum_device){id}, OUT(double, {0}))) \
    X(device_get_memory_info, DEVICE, ferrum_device_get_memory_info((ferrum_device){id}, OUT(ferrum_memory_info, FERRUM_MEMORY_INFO_INIT))) \
    X(device_get_statistics, DEVICE, ferrum_device_get_statistics((ferrum_device){id}, OUT(ferrum_statistics, FERRUM_STATISTICS_INIT))) \
    X(stream_create, DEVICE, ferrum_stream_create((ferrum_device){id}, OUT(ferrum_stream, {0}))) \
    X(stream_default, DEVICE, ferrum_stream_default((ferrum_device){id}, OUT(ferrum_stream, {0}))) \
    X(stream_destroy, STREAM, ferrum_stream_destroy((ferrum_stream){id}, 0)) \
    X(stream_synchronize, STREAM, ferrum_stream_synchronize((ferrum_stream){id}, 0)) \
    X(stream_is_ready, STREAM, ferrum_stream_is_ready((ferrum_stream){id}, OUT(uint32_t, {0}))) \
    X(stream_host_function, STREAM, ferrum_stream_host_function((ferrum_stream){id}, host_function, NULL)) \
    X(event_record, STREAM, ferrum_event_record((ferrum_stream){id}, OUT(ferrum_event, {0}))) \
    X(stream_wait_event, STREAM, ferrum_stream_wait_event((ferrum_stream){id}, f->event)) \
    X(stream_wait_event_of, EVENT, ferrum_stream_wait_event(f->stream, (ferrum_event){id})) \
    X(event_destroy, EVENT, ferrum_event_destroy((ferrum_event){id})) \
    X(event_is_ready, EVENT, ferrum_event_is_ready((ferrum_event){id}, OUT(uint32_t, {0}))) \
    X(event_synchronize, EVENT, ferrum_event_synchronize((ferrum_event){id}, 0)) \
    X(event_elapsed, EVENT, ferrum_event_elapsed((ferrum_event){id}, f->event, OUT(int64_t, {0}))) \
    X(event_elapsed_to, EVENT, ferrum_event_elapsed(f->event, (ferrum_event){id}, OUT(int64_t, {0}))) \
    X(pool_create, DEVICE, ferrum_pool_create((ferrum_device){id}, NULL, OUT(ferrum_pool, {0}))) \
    X(pool_destroy, POOL, ferrum_pool_destroy((ferrum_pool){id}, FERRUM_FORCE)) \
    X(pool_alloc, POOL, ferrum_pool_alloc((ferrum_pool){id}, 16, f->stream, OUT(ferrum_address, {0}))) \
    X(pool_alloc_with_alignment, POOL, pool_alloc_aligned((ferrum_pool){id}, 16, 64, f->stream, OUT(ferrum_address, {0}))) \
    X(pool_alloc_with, POOL, pool_request_with(id, f->stream.id)) \
    X(pool_alloc_batch, POOL, alloc_batch_with(id, f->stream.id, 16)) \
    X(pool_get_tag, POOL, ferrum_pool_get_tag((ferrum_pool){id}, "kv", OUT(uint32_t, {0}))) \
    X(pool_free, POOL, ferrum_pool_free((ferrum_pool){id}, f->block, f->stream)) \
    X(pool_free_sized, POOL, ferrum_pool_free_sized((ferrum_pool){id}, f->block, 4096, f->stream)) \
    X(pool_free_batch, POOL, free_batch_with(id, f->stream.id, f->block, 0)) \
    X(pool_record_stream, POOL, ferrum_pool_record_stream((ferrum_pool){id}, f->block, f->stream)) \
    X(pool_capture_begin, POOL, ferrum_pool_capture_begin((ferrum_pool){id}, f->stream, 0, OUT(uint64_t, {0}))) \
    X(pool_capture_end, POOL, ferrum_pool_capture_end((ferrum_pool){id}, 1)) \
    X(pool_capture_release, POOL, ferrum_pool_capture_release((ferrum_pool){id}, 1, f->stream)) \
    X(pool_capture_get_info, POOL, ferrum_pool_capture_get_info((ferrum_pool){id}, 1, OUT(ferrum_graph_info, FERRUM_GRAPH_INFO_INIT))) \
    X(pool_usable_size, POOL, ferrum_pool_usable_size((ferrum_pool){id}, f->block, OUT(uint64_t, {0}))) \
    X(pool_reset, POOL, ferrum_pool_reset((ferrum_pool){id}, f->stream)) \
    X(pool_check, POOL, ferrum_pool_check((ferrum_pool){id})) \
    X(pool_set_min_held, POOL, ferrum_pool_set_min_held((ferrum_pool){id}, 1 << 20)) \
    X(pool_set_release_threshold, POOL, ferrum_pool_set_release_threshold((ferrum_pool){id}, 1 << 20)) \
    X(device_get_owner, DEVICE, ferrum_device_get_owner((ferrum_device){id}, f->block, OUT(ferrum_block_info, FERRUM_BLOCK_INFO_INIT))) \
    X(pool_trim, POOL, ferrum_pool_trim((ferrum_pool){id}, 0, OUT(uint64_t, {0}))) \
    X(pool_set_limit, POOL, ferrum_pool_set_limit((ferrum_pool){id}, 1 << 20)) \
    X(pool_get_info, POOL, ferrum_pool_get_info((ferrum_pool){id}, OUT(ferrum_pool_info, FERRUM_POOL_INFO_INIT))) \
    X(pool_get_statistics, POOL, ferrum_pool_get_statistics((ferrum_pool){id}, OUT(ferrum_statistics, FERRUM_STATISTICS_INIT))) \
    X(manager_create, DEVICE, ferrum_manager_create((ferrum_device){id}, NULL, OUT(ferrum_manager, {0}))) \
    X(manager_destroy, MANAGER, ferrum_manager_destroy((ferrum_manager){id}, FERRUM_FORCE)) \
    X(manager_configure_pool, MANAGER, configure_with(id)) \
    X(manager_get_statistics, MANAGER, ferrum_manager_get_statistics((ferrum_manager){id}, OUT(ferrum_statistics, FERRUM_STATISTICS_INIT))) \
    X(manager_alloc, MANAGER, ferrum_manager_alloc((ferrum_manager){id}, 16, OUT(ferrum_memory, {0}))) \
    X(manager_alloc_with_alignment, MANAGER, manager_alloc_aligned((ferrum_manager){id}, 16, 64, OUT(ferrum_memory, {0}))) \
    X(manager_alloc_with, MANAGER, request_with(id)) \
    X(memory_free, MEMORY, ferrum_memory_free((ferrum_memory){id})) \
    X(memory_pin, MEMORY, ferrum_memory_pin((ferrum_memory){id}, OUT(ferrum_address, {0}))) \
    X(memory_unpin, MEMORY, ferrum_memory_unpin((ferrum_memory){id})) \
    X(memory_map, MEMORY, map_with(id, 0, 16, FERRUM_HOST_READ_ONLY)) \
    X(memory_unmap, MEMORY, ferrum_memory_unmap((ferrum_memory){id}, 0)) \
    X(manager_create_mapping, MANAGER, link_with(id, f->manager.id, NULL)) \
    X(manager_create_mapping_second, MANAGER, link_with(f->manager.id, id, NULL)) \
    X(memory_prefetch, MEMORY, ferrum_memory_prefetch((ferrum_memory){id}, f->device, f->stream)) \
    X(memory_prefetch_target, DEVICE, ferrum_memory_prefetch(f->memory, (ferrum_device){id}, f->stream)) \
    X(memory_set_usage_hint, MEMORY, ferrum_memory_set_usage_hint((ferrum_memory){id}, FERRUM_USAGE_RANDOM)) \
    X(memory_get_usage_hints, MEMORY, ferrum_memory_get_usage_hints((ferrum_memory){id}, OUT(ferrum_usage_hints, FERRUM_USAGE_HINTS_INIT))) \
    X(memory_get_access_stats, MEMORY, ferrum_memory_get_access_stats((ferrum_memory){id}, OUT(ferrum_access_stats, FERRUM_ACCESS_STATS_INIT))) \
    X(manager_adopt, MANAGER, adopt_foreign(id, NULL)) \
    X(stream_adopt, DEVICE, stream_of(id, NULL)) \
    X(event_adopt, DEVICE, ferrum_event_adopt((ferrum_device){id}, 5, OUT(ferrum_event, {0}))) \
    X(device_get_native, DEVICE, ferrum_device_get_native((ferrum_device){id}, OUT(uint64_t, {0}))) \
    X(stream_get_native, STREAM, ferrum_stream_get_native((ferrum_stream){id}, OUT(uint64_t, {0}))) \
    X(event_get_native, EVENT, ferrum_event_get_native((ferrum_event){id}, OUT(uint64_t, {0}))) \
    X(device_grant_peer, DEVICE, ferrum_device_grant_peer((ferrum_device){id}, f->device)) \
    X(device_grant_peer_peer, DEVICE, ferrum_device_grant_peer(f->device, (ferrum_device){id})) \
    X(vpool_export, VPOOL, ferrum_vpool_export((ferrum_vpool){id}, 0, FIXTURE_PAGE, NULL, 0, OUT(size_t, {0}))) \
    X(manager_import_pages, MANAGER, import_with(id, NULL)) \
    X(device_share_memory, DEVICE, ferrum_device_share_memory((ferrum_device){id}, f->block, 16, OUT(ferrum_shared_memory, FERRUM_SHARED_MEMORY_INIT))) \
    X(manager_import_memory, MANAGER, ferrum_manager_import_memory((ferrum_manager){id}, OUT(ferrum_shared_memory, FERRUM_SHARED_MEMORY_INIT), NULL, OUT(ferrum_memory, {0}))) \
    X(event_share, STREAM, ferrum_event_share((ferrum_stream){id}, OUT(ferrum_shared_event, FERRUM_SHARED_EVENT_INIT), OUT(ferrum_event, {0}))) \
    X(event_open, DEVICE, ferrum_event_open((ferrum_device){id}, OUT(ferrum_shared_event, FERRUM_SHARED_EVENT_INIT), OUT(ferrum_event, {0}))) \
    X(memory_get_handle_info, MEMORY, ferrum_memory_get_handle_info((ferrum_memory){id}, OUT(ferrum_handle_info, FERRUM_HANDLE_INFO_INIT))) \
    X(memory_copy_src, MEMORY, copy_with(f, id, f->memory.id)) \
    X(memory_copy_dst, MEMORY, copy_with(f, f->memory.id, id)) \
    X(memory_copy_async_src, MEMORY, copy_async_with(id, f->memory.id, 0)) \
    X(memory_copy_async_dst, MEMORY, copy_async_with(f->memory.id, id, 0)) \
    X(memory_write, MEMORY, ferrum_memory_write((ferrum_memory){id}, 0, "x", 1)) \
    X(memory_read, MEMORY, ferrum_memory_read((ferrum_memory){id}, 0, (char[1]){0}, 1)) \
    X(memory_fill_async, MEMORY, fill_with(id, 0)) \
    X(manager_defragment, MANAGER, ferrum_manager_defragment((ferrum_manager){id}, OUT(ferrum_defragmentation_stats, FERRUM_DEFRAGMENTATION_STATS_INIT))) \
    X(manager_defragment_within, MANAGER, ferrum_manager_defragment_within((ferrum_manager){id}, 1, OUT(ferrum_defragmentation_stats, FERRUM_DEFRAGMENTATION_STATS_INIT))) \
    X(device_pressure_callback_add, DEVICE, ferrum_device_pressure_callback_add((ferrum_device){id}, pressure, NULL, OUT(ferrum_registration, {0}))) \
    X(device_reclaim_callback_add, DEVICE, ferrum_device_reclaim_callback_add((ferrum_device){id}, NULL, reclaim, NULL, OUT(ferrum_registration, {0}))) \
    X(registration_remove, REGISTRATION, ferrum_registration_remove((ferrum_registration){id})) \
    X(device_get_page_sizes, DEVICE, ferrum_device_get_page_sizes((ferrum_device){id}, OUT(ferrum_page_sizes, FERRUM_PAGE_SIZES_INIT))) \
    X(vpool_create, DEVICE, vpool_on((ferrum_device){id}, change_nothing)) \
    X(vpool_destroy, VPOOL, ferrum_vpool_destroy((ferrum_vpool){id}, FERRUM_FORCE)) \
    X(vpool_alloc, VPOOL, vpool_alloc_with((ferrum_vpool){id}, 4 * FIXTURE_PAGE, 16)) \
    X(vpool_alloc_with_tag, VPOOL, vpool_tagged_with((ferrum_vpool){id}, "kv")) \
    X(vpool_record_stream, VPOOL, ferrum_vpool_record_stream((ferrum_vpool){id}, 0, FIXTURE_RANGE, f->stream)) \
    X(vpool_free, VPOOL, ferrum_vpool_free((ferrum_vpool){id}, 0, FIXTURE_RANGE, f->stream)) \
    X(vpool_is_mapped, VPOOL, ferrum_vpool_is_mapped((ferrum_vpool){id}, 0, 1, OUT(uint32_t, {0}))) \
    X(vpool_get_info, VPOOL, ferrum_vpool_get_info((ferrum_vpool){id}, OUT(ferrum_vpool_info, FERRUM_VPOOL_INFO_INIT))) \
    X(vpool_get_statistics, VPOOL, ferrum_vpool_get_statistics((ferrum_vpool){id}, OUT(ferrum_statistics, FERRUM_STATISTICS_INIT))) \
    X(vpool_compact, VPOOL, ferrum_vpool_compact((ferrum_vpool){id}, OUT(ferrum_compact_report, FERRUM_COMPACT_REPORT_INIT))) \
    X(vpool_trim, VPOOL, ferrum_vpool_trim((ferrum_vpool){id}, 0, OUT(uint64_t, {0}))) \
    X(vpool_set_limit, VPOOL, ferrum_vpool_set_limit((ferrum_vpool){id}, 1 << 20)) \
    X(vpool_synchronize, VPOOL, ferrum_vpool_synchronize((ferrum_vpool){id}, 0)) \
    X(vpool_pause, VPOOL, ferrum_vpool_pause((ferrum_vpool){id})) \
    X(vpool_resume, VPOOL, ferrum_vpool_resume((ferrum_vpool){id})) \
    X(elastic_pool_create, DEVICE, shared_on((ferrum_device){id}, NULL)) \
    X(elastic_pool_destroy, ELASTIC_POOL, ferrum_elastic_pool_destroy((ferrum_elastic_pool){id}, FERRUM_FORCE)) \
    X(elastic_pool_register_model, ELASTIC_POOL, register_with((ferrum_elastic_pool){id}, "new", NULL)) \
    X(elastic_pool_unregister_model, ELASTIC_POOL, ferrum_elastic_pool_unregister_model((ferrum_elastic_pool){id}, "chat", FERRUM_FORCE)) \
    X(elastic_pool_alloc, ELASTIC_POOL, shared_allocate_with((ferrum_elastic_pool){id}, "chat", 16)) \
    X(elastic_pool_alloc_with_at, ELASTIC_POOL, shared_allocate_at((ferrum_elastic_pool){id}, "chat", 4 * FIXTURE_PAGE, 16)) \
    X(elastic_pool_alloc_with, ELASTIC_POOL, model_asked_with((ferrum_elastic_pool){id}, "chat", NULL)) \
    X(elastic_pool_record_stream, ELASTIC_POOL, ferrum_elastic_pool_record_stream((ferrum_elastic_pool){id}, "chat", 0, FIXTURE_RANGE, f->stream)) \
    X(elastic_pool_free, ELASTIC_POOL, ferrum_elastic_pool_free((ferrum_elastic_pool){id}, "chat", 0, FIXTURE_RANGE, f->stream)) \
    X(elastic_pool_is_mapped, ELASTIC_POOL, ferrum_elastic_pool_is_mapped((ferrum_elastic_pool){id}, "chat", 0, 1, OUT(uint32_t, {0}))) \
    X(elastic_pool_get_model_info, ELASTIC_POOL, ferrum_elastic_pool_get_model_info((ferrum_elastic_pool){id}, "chat", OUT(ferrum_model_info, FERRUM_MODEL_INFO_INIT))) \
    X(elastic_pool_set_model_limits, ELASTIC_POOL, limits_with((ferrum_elastic_pool){id}, "chat", 0, 0)) \
    X(elastic_pool_get_info, ELASTIC_POOL, ferrum_elastic_pool_get_info((ferrum_elastic_pool){id}, OUT(ferrum_elastic_pool_info, FERRUM_ELASTIC_POOL_INFO_INIT))) \
    X(elastic_pool_get_statistics, ELASTIC_POOL, ferrum_elastic_pool_get_statistics((ferrum_elastic_pool){id}, OUT(ferrum_statistics, FERRUM_STATISTICS_INIT))) \
    X(elastic_pool_models_json, ELASTIC_POOL, ferrum_elastic_pool_models_json((ferrum_elastic_pool){id}, NULL, 0, OUT(size_t, {0}))) \
    X(elastic_pool_set_limit, ELASTIC_POOL, ferrum_elastic_pool_set_limit((ferrum_elastic_pool){id}, 1 << 24)) \
    X(elastic_pool_compact, ELASTIC_POOL, ferrum_elastic_pool_compact((ferrum_elastic_pool){id}, OUT(ferrum_compact_report, FERRUM_COMPACT_REPORT_INIT))) \
    X(elastic_pool_trim, ELASTIC_POOL, ferrum_elastic_pool_trim((ferrum_elastic_pool){id}, 0, OUT(uint64_t, {0}))) \
    X(elastic_pool_synchronize, ELASTIC_POOL, ferrum_elastic_pool_synchronize((ferrum_elastic_pool){id}, 0)) \
    X(elastic_pool_pause, ELASTIC_POOL, ferrum_elastic_pool_pause((ferrum_elastic_pool){id})) \
    X(elastic_pool_resume, ELASTIC_POOL, ferrum_elastic_pool_resume((ferrum_elastic_pool){id})) \
    X(elastic_pool_reclaim_callback_add, ELASTIC_POOL, ferrum_elastic_pool_reclaim_callback_add((ferrum_elastic_pool){id}, "chat", NULL, model_reclaim, NULL, OUT(ferrum_registration, {0}))) \
    X(device_get_recent_memory_info, DEVICE, ferrum_device_get_recent_memory_info((ferrum_device){id}, UINT64_MAX, OUT(ferrum_memory_info, FERRUM_MEMORY_INFO_INIT))) \
    X(monitor_destroy, MONITOR, ferrum_monitor_destroy((ferrum_monitor){id})) \
    X(monitor_register, MONITOR, ferrum_monitor_register((ferrum_monitor){id}, f->manager)) \
    X(monitor_register_manager, MANAGER, ferrum_monitor_register(f->monitor, (ferrum_manager){id})) \
    X(monitor_unregister, MONITOR, ferrum_monitor_unregister((ferrum_monitor){id}, f->manager)) \
    X(monitor_unregister_manager, MANAGER, ferrum_monitor_unregister(f->monitor, (ferrum_manager){id})) \
    X(monitor_unregister_device, MONITOR, ferrum_monitor_unregister_device((ferrum_monitor){id}, f->device)) \
    X(monitor_unregister_device_of, DEVICE, ferrum_monitor_unregister_device(f->monitor, (ferrum_device){id})) \
    X(monitor_set_callback, MONITOR, ferrum_monitor_set_callback((ferrum_monitor){id}, levels, NULL)) \
    X(monitor_set_callback_none, MONITOR, ferrum_monitor_set_callback((ferrum_monitor){id}, NULL, NULL)) \
    X(monitor_get_pressure, MONITOR, ferrum_monitor_get_pressure((ferrum_monitor){id}, 0, OUT(ferrum_monitor_pressure, FERRUM_MONITOR_PRESSURE_INIT))) \
    X(monitor_get_levels, MONITOR, ferrum_monitor_get_levels((ferrum_monitor){id}, 0, NULL, 0, OUT(size_t, {0}))) \
    X(monitor_info_json, MONITOR, ferrum_monitor_info_json((ferrum_monitor){id}, 0, NULL, 0, OUT(size_t, {0}))) \
    X(monitor_collect, MONITOR, ferrum_monitor_collect((ferrum_monitor){id}, NULL, 0, OUT(size_t, {0}))) \
    X(placement_destroy, PLACEMENT, ferrum_placement_destroy((ferrum_placement){id})) \
    X(placement_get_name, PLACEMENT, ferrum_placement_get_name((ferrum_placement){id}, NULL, 0, OUT(size_t, {0}))) \
    X(placement_select, PLACEMENT, place(id, NULL, 0)) \
    X(placement_select_preferred, DEVICE, place_on(f, id, 1)) \
    X(placement_select_candidate, DEVICE, place_on(f, id, 0)) \
    X(placement_explain_json, PLACEMENT, place(id, NULL, 1)) \
    X(vpool_sleep, VPOOL, ferrum_vpool_sleep((ferrum_vpool){id}, NULL, NULL)) \
    X(vpool_wake, VPOOL, ferrum_vpool_wake((ferrum_vpool){id}, NULL, NULL)) \
    X(vpool_is_asleep, VPOOL, ferrum_vpool_is_asleep((ferrum_vpool){id}, "kv", OUT(uint32_t, {0}))) \
    X(vpool_alloc_with, VPOOL, vpool_asked_with((ferrum_vpool){id}, NULL)) \
    X(elastic_pool_sleep_model, ELASTIC_POOL, ferrum_elastic_pool_sleep_model((ferrum_elastic_pool){id}, "chat", NULL, NULL)) \
    X(elastic_pool_wake_model, ELASTIC_POOL, ferrum_elastic_pool_wake_model((ferrum_elastic_pool){id}, "chat", NULL, NULL)) \
    X(elastic_pool_is_model_asleep, ELASTIC_POOL, ferrum_elastic_pool_is_model_asleep((ferrum_elastic_pool){id}, "chat", "kv", OUT(uint32_t, {0})))
/* Where 0 is the default stream, and so no bad handle. */
#define OPTIONAL_STREAM_CALLS(X) \
    X(fallback_manager_alloc_stream, STREAM, buffer_on(f, id)) \
    X(fallback_buffer_free_stream, STREAM, ferrum_fallback_buffer_free(f->buffer, (ferrum_stream){id})) \
    X(pool_alloc_stream, STREAM, ferrum_pool_alloc(f->pool, 16, (ferrum_stream){id}, OUT(ferrum_address, {0}))) \
    X(pool_alloc_with_alignment_stream, STREAM, pool_alloc_aligned(f->pool, 16, 64, (ferrum_stream){id}, OUT(ferrum_address, {0}))) \
    X(pool_alloc_with_stream, STREAM, pool_request_with(f->pool.id, id)) \
    X(pool_alloc_batch_stream, STREAM, alloc_batch_with(f->pool.id, id, 16)) \
    X(pool_free_stream, STREAM, ferrum_pool_free(f->pool, f->block, (ferrum_stream){id})) \
    X(pool_free_sized_stream, STREAM, ferrum_pool_free_sized(f->pool, f->block, 4096, (ferrum_stream){id})) \
    X(pool_free_batch_stream, STREAM, free_batch_with(f->pool.id, id, f->block, 0)) \
    X(pool_record_stream_of, STREAM, ferrum_pool_record_stream(f->pool, f->block, (ferrum_stream){id})) \
    X(pool_capture_begin_of, STREAM, ferrum_pool_capture_begin(f->pool, (ferrum_stream){id}, 0, OUT(uint64_t, {0}))) \
    X(pool_capture_release_of, STREAM, ferrum_pool_capture_release(f->pool, 1, (ferrum_stream){id})) \
    X(pool_reset_stream, STREAM, ferrum_pool_reset(f->pool, (ferrum_stream){id})) \
    X(memory_copy_async_stream, STREAM, copy_async_with(f->memory.id, f->memory.id, id)) \
    X(memory_fill_async_stream, STREAM, fill_with(f->memory.id, id)) \
    X(memory_prefetch_stream, STREAM, ferrum_memory_prefetch(f->memory, f->device, (ferrum_stream){id})) \
    X(vpool_record_stream_of, STREAM, ferrum_vpool_record_stream(f->vpool, 0, FIXTURE_RANGE, (ferrum_stream){id})) \
    X(elastic_pool_record_stream_of, STREAM, ferrum_elastic_pool_record_stream(f->shared, "chat", 0, FIXTURE_RANGE, (ferrum_stream){id})) \
    X(vpool_alloc_with_stream, STREAM, ({ stream_in_request = (ferrum_stream){id}; vpool_asked_with(f->vpool, change_placed_stream); })) \
    X(elastic_pool_alloc_with_stream, STREAM, ({ stream_in_request = (ferrum_stream){id}; model_asked_with(f->shared, "chat", change_range_stream); })) \
    X(vpool_free_stream, STREAM, ferrum_vpool_free(f->vpool, 0, FIXTURE_RANGE, (ferrum_stream){id})) \
    X(elastic_pool_free_stream, STREAM, ferrum_elastic_pool_free(f->shared, "chat", 0, FIXTURE_RANGE, (ferrum_stream){id})) \
    X(vpool_sleep_stream, STREAM, sleep_after(f, (ferrum_stream){id}, 0)) \
    X(elastic_pool_sleep_model_stream, STREAM, sleep_after(f, (ferrum_stream){id}, 1))
/* clang-format on */

HANDLE_CALLS(HANDLE_CALL)
OPTIONAL_STREAM_CALLS(HANDLE_CALL)

typedef struct {
    const char *name;
    enum kind kind;
    int zero_is_bad;
    ferrum_status (*call)(fixture *, uint64_t);
} handle_call;

static const handle_call handle_calls[] = {
#define ROW(name, kind, expression) {#name, kind, 1, handle_##name},
    HANDLE_CALLS(ROW)
#undef ROW
#define ROW(name, kind, expression) {#name, kind, 0, handle_##name},
        OPTIONAL_STREAM_CALLS(ROW)
#undef ROW
};

static const char *const handle_classes[] = {"zero",    "other-kind", "dead",
                                             "made-up", "garbage",    "ones"};
#define HANDLE_CLASSES (sizeof handle_classes / sizeof *handle_classes)

static uint64_t bad_handle(const fixture *f, enum kind kind, size_t class) {
    switch (class) {
    case 0:
        return 0;
    case 1:
        return f->live[(kind + 1) % KINDS];
    case 2:
        return f->dead[kind];
    case 3: /* a generation that the slot has not had */
        return f->live[kind] + (UINT64_C(1) << 40);
    case 4:
        return UINT64_C(0x0123456789abcdef);
    default:
        return UINT64_MAX;
    }
}

/* ------------------------------------------------- calls with one bad value */

typedef struct {
    const char *name;
    ferrum_status want;
    const char *names; /* what the message must contain */
    ferrum_status (*call)(fixture *);
} value_call;

static struct {
    ferrum_transfer raw;
    unsigned char tail[8192];
} buffer;

/* One struct argument, as given to its function. */
typedef struct {
    const char *name;
    const char *argument;
    uint32_t size;
    int fills; /* the library fills it */
    void (*init)(void *);
    ferrum_status (*call)(fixture *, void *);
} struct_call;

/* clang-format off */
#define STRUCT_CALLS(X) \
    X(memory_config_preset, "config_out", 1, ferrum_memory_config, FERRUM_MEMORY_CONFIG_INIT, ferrum_memory_config_preset(0, p)) \
    X(memory_config_check, "config", 0, ferrum_memory_config, FERRUM_MEMORY_CONFIG_INIT, ferrum_memory_config_check(p)) \
    X(memory_stats_ratios, "stats", 0, ferrum_memory_stats, FERRUM_MEMORY_STATS_INIT, ferrum_memory_stats_ratios(p, OUT(ferrum_memory_ratios, FERRUM_MEMORY_RATIOS_INIT))) \
    X(memory_stats_ratios_out, "ratios_out", 1, ferrum_memory_ratios, FERRUM_MEMORY_RATIOS_INIT, ferrum_memory_stats_ratios(OUT(ferrum_memory_stats, FERRUM_MEMORY_STATS_INIT), p)) \
    X(memory_stats_merge, "stats", 0, ferrum_memory_stats, FERRUM_MEMORY_STATS_INIT, ferrum_memory_stats_merge(p, OUT(ferrum_memory_stats, FERRUM_MEMORY_STATS_INIT), OUT(ferrum_memory_stats, FERRUM_MEMORY_STATS_INIT))) \
    X(memory_stats_merge_other, "other", 0, ferrum_memory_stats, FERRUM_MEMORY_STATS_INIT, ferrum_memory_stats_merge(OUT(ferrum_memory_stats, FERRUM_MEMORY_STATS_INIT), p, OUT(ferrum_memory_stats, FERRUM_MEMORY_STATS_INIT))) \
    X(memory_stats_merge_out, "merged_out", 1, ferrum_memory_stats, FERRUM_MEMORY_STATS_INIT, ferrum_memory_stats_merge(OUT(ferrum_memory_stats, FERRUM_MEMORY_STATS_INIT), OUT(ferrum_memory_stats, FERRUM_MEMORY_STATS_INIT), p)) \
    X(memory_stats_text, "stats", 0, ferrum_memory_stats, FERRUM_MEMORY_STATS_INIT, ferrum_memory_stats_text(p, NULL, 0, OUT(size_t, {0}))) \
    X(tracker_get_totals, "totals_out", 1, ferrum_tracker_totals, FERRUM_TRACKER_TOTALS_INIT, ferrum_tracker_get_totals(f->tracker, p)) \
    X(generic_pool_create, "config", 0, ferrum_memory_config, FERRUM_MEMORY_CONFIG_INIT, ferrum_generic_pool_create(p, OUT(ferrum_generic_pool, {0}))) \
    X(generic_pool_record_allocation, "use", 0, ferrum_buffer_use, FERRUM_BUFFER_USE_INIT, ferrum_generic_pool_record_allocation(f->generic, 16, p, OUT(uint64_t, {0}))) \
    X(generic_pool_try_get, "use", 0, ferrum_buffer_use, FERRUM_BUFFER_USE_INIT, ferrum_generic_pool_try_get(f->generic, 16, p, OUT(ferrum_buffer_lease, {0}), OUT(uint32_t, {0}))) \
    X(generic_pool_get_stats, "stats_out", 1, ferrum_memory_stats, FERRUM_MEMORY_STATS_INIT, ferrum_generic_pool_get_stats(f->generic, p)) \
    X(fallback_manager_create, "config", 0, ferrum_memory_config, FERRUM_MEMORY_CONFIG_INIT, ferrum_fallback_manager_create(f->other_device, f->device, p, OUT(ferrum_fallback_manager, {0}))) \
    X(fallback_manager_get_stats, "stats_out", 1, ferrum_memory_stats, FERRUM_MEMORY_STATS_INIT, ferrum_fallback_manager_get_stats(f->fallback_manager, p)) \
    X(fallback_manager_get_fallback_stats, "stats_out", 1, ferrum_fallback_stats, FERRUM_FALLBACK_STATS_INIT, ferrum_fallback_manager_get_fallback_stats(f->fallback_manager, p)) \
    X(fallback_manager_alloc, "request", 0, ferrum_buffer_request, FERRUM_BUFFER_REQUEST_INIT, ferrum_fallback_manager_alloc(f->fallback_manager, p, OUT(ferrum_fallback_buffer, {0}))) \
    X(fallback_manager_adopt, "request", 0, ferrum_buffer_request, FERRUM_BUFFER_REQUEST_INIT, ferrum_fallback_manager_adopt(f->fallback_manager, 0, 4096, p, OUT(ferrum_fallback_buffer, {0}))) \
    X(fallback_buffer_get_info, "info_out", 1, ferrum_fallback_buffer_info, FERRUM_FALLBACK_BUFFER_INFO_INIT, ferrum_fallback_buffer_get_info(f->buffer, p)) \
    X(backend_select, "choice_out", 1, ferrum_backend_choice, FERRUM_BACKEND_CHOICE_INIT, ferrum_backend_select(0, 1, p)) \
    X(backend_open, "choice_out", 1, ferrum_backend_choice, FERRUM_BACKEND_CHOICE_INIT, ferrum_backend_open(0, 1, OUT(ferrum_device, {0}), p)) \
    X(host_get_info, "info_out", 1, ferrum_host_info, FERRUM_HOST_INFO_INIT, ferrum_host_get_info(p)) \
    X(estimate_model_memory, "shape", 0, ferrum_model_shape, FERRUM_MODEL_SHAPE_INIT, ferrum_estimate_model_memory(p, OUT(uint64_t, {0}))) \
    X(estimate_kv_cache_memory, "shape", 0, ferrum_kv_cache_shape, FERRUM_KV_CACHE_SHAPE_INIT, ferrum_estimate_kv_cache_memory(p, OUT(uint64_t, {0}))) \
    X(estimate_inference_memory, "shape", 0, ferrum_model_shape, FERRUM_MODEL_SHAPE_INIT, ferrum_estimate_inference_memory(p, OUT(ferrum_inference_estimate, FERRUM_INFERENCE_ESTIMATE_INIT))) \
    X(estimate_inference_memory_out, "estimate_out", 1, ferrum_inference_estimate, FERRUM_INFERENCE_ESTIMATE_INIT, ferrum_estimate_inference_memory(OUT(ferrum_model_shape, FERRUM_MODEL_SHAPE_INIT), p)) \
    X(estimate_file_json, "request", 0, ferrum_estimate_request, FERRUM_ESTIMATE_REQUEST_INIT, ferrum_estimate_file_json("/", p, NULL, 0, OUT(size_t, {0}))) \
    X(estimate_config_json, "request", 0, ferrum_estimate_request, FERRUM_ESTIMATE_REQUEST_INIT, ferrum_estimate_config_json("{}", 2, p, NULL, 0, OUT(size_t, {0}))) \
    X(init, "config", 0, ferrum_config, FERRUM_CONFIG_INIT, ferrum_init(p)) \
    X(last_error, "error_out", 1, ferrum_error_info, FERRUM_ERROR_INFO_INIT, ferrum_last_error(p)) \
    X(device_get_info, "info_out", 1, ferrum_device_info, FERRUM_DEVICE_INFO_INIT, ferrum_device_get_info(f->device, p)) \
    X(device_get_memory_info, "info_out", 1, ferrum_memory_info, FERRUM_MEMORY_INFO_INIT, ferrum_device_get_memory_info(f->device, p)) \
    X(device_get_statistics, "statistics_out", 1, ferrum_statistics, FERRUM_STATISTICS_INIT, ferrum_device_get_statistics(f->device, p)) \
    X(pool_create, "config", 0, ferrum_pool_config, FERRUM_POOL_CONFIG_INIT, ferrum_pool_create(f->device, p, OUT(ferrum_pool, {0}))) \
    X(pool_alloc_with, "request", 0, ferrum_pool_request, FERRUM_POOL_REQUEST_INIT, ferrum_pool_alloc_with(f->pool, p, OUT(ferrum_address, {0}))) \
    X(device_get_owner, "info_out", 1, ferrum_block_info, FERRUM_BLOCK_INFO_INIT, ferrum_device_get_owner(f->device, f->block, p)) \
    X(pool_get_info, "info_out", 1, ferrum_pool_info, FERRUM_POOL_INFO_INIT, ferrum_pool_get_info(f->pool, p)) \
    X(pool_capture_get_info, "info_out", 1, ferrum_graph_info, FERRUM_GRAPH_INFO_INIT, ferrum_pool_capture_get_info(f->pool, 1, p)) \
    X(pool_get_statistics, "statistics_out", 1, ferrum_statistics, FERRUM_STATISTICS_INIT, ferrum_pool_get_statistics(f->pool, p)) \
    X(manager_create, "config", 0, ferrum_manager_config, FERRUM_MANAGER_CONFIG_INIT, ferrum_manager_create(f->device, p, OUT(ferrum_manager, {0}))) \
    X(manager_configure_pool, "config", 0, ferrum_pool_config, FERRUM_POOL_CONFIG_INIT, ferrum_manager_configure_pool(f->manager, FERRUM_MEMORY_CACHE, p)) \
    X(manager_get_statistics, "statistics_out", 1, ferrum_statistics, FERRUM_STATISTICS_INIT, ferrum_manager_get_statistics(f->manager, p)) \
    X(manager_alloc_with, "request", 0, ferrum_allocation_request, FERRUM_ALLOCATION_REQUEST_INIT, ferrum_manager_alloc_with(f->manager, p, OUT(ferrum_memory, {0}))) \
    X(memory_get_handle_info, "info_out", 1, ferrum_handle_info, FERRUM_HANDLE_INFO_INIT, ferrum_memory_get_handle_info(f->memory, p)) \
    X(memory_copy, "transfer", 0, ferrum_transfer, FERRUM_TRANSFER_INIT, ferrum_memory_copy(p)) \
    X(memory_copy_async, "transfer", 0, ferrum_transfer, FERRUM_TRANSFER_INIT, ferrum_memory_copy_async(p, f->stream)) \
    X(memory_fill_async, "fill", 0, ferrum_fill, FERRUM_FILL_INIT, ferrum_memory_fill_async(p, f->stream)) \
    X(memory_map, "request", 0, ferrum_map_request, FERRUM_MAP_REQUEST_INIT, ferrum_memory_map(p, OUT(ferrum_mapping, FERRUM_MAPPING_INIT))) \
    X(memory_map_out, "mapping_out", 1, ferrum_mapping, FERRUM_MAPPING_INIT, ferrum_memory_map(OUT(ferrum_map_request, FERRUM_MAP_REQUEST_INIT), p)) \
    X(manager_create_mapping, "request", 0, ferrum_link_request, FERRUM_LINK_REQUEST_INIT, ferrum_manager_create_mapping(f->manager, f->manager, p, OUT(ferrum_memory, {0}), OUT(ferrum_memory, {0}))) \
    X(memory_get_usage_hints, "hints_out", 1, ferrum_usage_hints, FERRUM_USAGE_HINTS_INIT, ferrum_memory_get_usage_hints(f->memory, p)) \
    X(memory_get_access_stats, "stats_out", 1, ferrum_access_stats, FERRUM_ACCESS_STATS_INIT, ferrum_memory_get_access_stats(f->memory, p)) \
    X(manager_adopt, "adoption", 0, ferrum_adoption, FERRUM_ADOPTION_INIT, ferrum_manager_adopt(f->manager, p, OUT(ferrum_memory, {0}))) \
    X(stream_adopt, "foreign", 0, ferrum_foreign_stream, FERRUM_FOREIGN_STREAM_INIT, ferrum_stream_adopt(f->device, p, OUT(ferrum_stream, {0}))) \
    X(manager_import_pages, "pages", 0, ferrum_page_import, FERRUM_PAGE_IMPORT_INIT, ferrum_manager_import_pages(f->manager, p, OUT(ferrum_memory, {0}))) \
    X(device_share_memory, "shared_out", 1, ferrum_shared_memory, FERRUM_SHARED_MEMORY_INIT, ferrum_device_share_memory(f->device, f->block, 16, p)) \
    X(manager_import_memory, "shared", 0, ferrum_shared_memory, FERRUM_SHARED_MEMORY_INIT, ferrum_manager_import_memory(f->manager, p, NULL, OUT(ferrum_memory, {0}))) \
    X(event_share, "shared_out", 1, ferrum_shared_event, FERRUM_SHARED_EVENT_INIT, ferrum_event_share(f->stream, p, OUT(ferrum_event, {0}))) \
    X(event_open, "shared", 0, ferrum_shared_event, FERRUM_SHARED_EVENT_INIT, ferrum_event_open(f->device, p, OUT(ferrum_event, {0}))) \
    X(manager_defragment, "stats_out", 1, ferrum_defragmentation_stats, FERRUM_DEFRAGMENTATION_STATS_INIT, ferrum_manager_defragment(f->manager, p)) \
    X(manager_defragment_within, "stats_out", 1, ferrum_defragmentation_stats, FERRUM_DEFRAGMENTATION_STATS_INIT, ferrum_manager_defragment_within(f->manager, 1, p)) \
    X(device_reclaim_callback_add, "config", 0, ferrum_reclaim_config, FERRUM_RECLAIM_CONFIG_INIT, ferrum_device_reclaim_callback_add(f->device, p, reclaim, NULL, OUT(ferrum_registration, {0}))) \
    X(device_get_page_sizes, "sizes_out", 1, ferrum_page_sizes, FERRUM_PAGE_SIZES_INIT, ferrum_device_get_page_sizes(f->device, p)) \
    X(vpool_create, "config", 0, ferrum_vpool_config, FERRUM_VPOOL_CONFIG_INIT, ferrum_vpool_create(f->device, p, OUT(ferrum_vpool, {0}))) \
    X(vpool_get_info, "info_out", 1, ferrum_vpool_info, FERRUM_VPOOL_INFO_INIT, ferrum_vpool_get_info(f->vpool, p)) \
    X(vpool_get_statistics, "statistics_out", 1, ferrum_statistics, FERRUM_STATISTICS_INIT, ferrum_vpool_get_statistics(f->vpool, p)) \
    X(vpool_compact, "report_out", 1, ferrum_compact_report, FERRUM_COMPACT_REPORT_INIT, ferrum_vpool_compact(f->vpool, p)) \
    X(elastic_pool_create, "config", 0, ferrum_elastic_pool_config, FERRUM_ELASTIC_POOL_CONFIG_INIT, ferrum_elastic_pool_create(f->device, p, OUT(ferrum_elastic_pool, {0}))) \
    X(elastic_pool_register_model, "config", 0, ferrum_model_config, FERRUM_MODEL_CONFIG_INIT, ferrum_elastic_pool_register_model(f->shared, "new", p)) \
    X(elastic_pool_alloc_with, "request", 0, ferrum_model_request, FERRUM_MODEL_REQUEST_INIT, ferrum_elastic_pool_alloc_with(f->shared, "chat", p, OUT(ferrum_address, {0}), NULL)) \
    X(elastic_pool_get_model_info, "info_out", 1, ferrum_model_info, FERRUM_MODEL_INFO_INIT, ferrum_elastic_pool_get_model_info(f->shared, "chat", p)) \
    X(elastic_pool_set_model_limits, "limits", 0, ferrum_model_limits, FERRUM_MODEL_LIMITS_INIT, ferrum_elastic_pool_set_model_limits(f->shared, "chat", p)) \
    X(elastic_pool_get_info, "info_out", 1, ferrum_elastic_pool_info, FERRUM_ELASTIC_POOL_INFO_INIT, ferrum_elastic_pool_get_info(f->shared, p)) \
    X(elastic_pool_get_statistics, "statistics_out", 1, ferrum_statistics, FERRUM_STATISTICS_INIT, ferrum_elastic_pool_get_statistics(f->shared, p)) \
    X(elastic_pool_compact, "report_out", 1, ferrum_compact_report, FERRUM_COMPACT_REPORT_INIT, ferrum_elastic_pool_compact(f->shared, p)) \
    X(elastic_pool_reclaim_callback_add, "config", 0, ferrum_reclaim_config, FERRUM_RECLAIM_CONFIG_INIT, ferrum_elastic_pool_reclaim_callback_add(f->shared, "chat", p, model_reclaim, NULL, OUT(ferrum_registration, {0}))) \
    X(device_get_recent_memory_info, "info_out", 1, ferrum_memory_info, FERRUM_MEMORY_INFO_INIT, ferrum_device_get_recent_memory_info(f->device, UINT64_MAX, p)) \
    X(monitor_create, "config", 0, ferrum_monitor_config, FERRUM_MONITOR_CONFIG_INIT, ferrum_monitor_create(p, OUT(ferrum_monitor, {0}))) \
    X(monitor_get_pressure, "pressure_out", 1, ferrum_monitor_pressure, FERRUM_MONITOR_PRESSURE_INIT, ferrum_monitor_get_pressure(f->monitor, 0, p)) \
    X(placement_select, "request", 0, ferrum_placement_request, FERRUM_PLACEMENT_REQUEST_INIT, ferrum_placement_select(f->placement, p, OUT(ferrum_device, {0}))) \
    X(placement_explain_json, "request", 0, ferrum_placement_request, FERRUM_PLACEMENT_REQUEST_INIT, ferrum_placement_explain_json(f->placement, p, NULL, 0, OUT(size_t, {0}))) \
    X(vpool_sleep, "config", 0, ferrum_sleep_config, FERRUM_SLEEP_CONFIG_INIT, ferrum_vpool_sleep(f->vpool, p, NULL)) \
    X(vpool_sleep_report, "report_out", 1, ferrum_sleep_report, FERRUM_SLEEP_REPORT_INIT, ferrum_vpool_sleep(f->vpool, NULL, p)) \
    X(vpool_wake, "config", 0, ferrum_wake_config, FERRUM_WAKE_CONFIG_INIT, ferrum_vpool_wake(f->vpool, p, NULL)) \
    X(vpool_wake_report, "report_out", 1, ferrum_wake_report, FERRUM_WAKE_REPORT_INIT, ferrum_vpool_wake(f->vpool, NULL, p)) \
    X(vpool_alloc_with, "request", 0, ferrum_vpool_request, FERRUM_VPOOL_REQUEST_INIT, ferrum_vpool_alloc_with(f->vpool, p, OUT(ferrum_address, {0}))) \
    X(elastic_pool_sleep_model, "config", 0, ferrum_sleep_config, FERRUM_SLEEP_CONFIG_INIT, ferrum_elastic_pool_sleep_model(f->shared, "chat", p, NULL)) \
    X(elastic_pool_sleep_model_report, "report_out", 1, ferrum_sleep_report, FERRUM_SLEEP_REPORT_INIT, ferrum_elastic_pool_sleep_model(f->shared, "chat", NULL, p)) \
    X(elastic_pool_wake_model, "config", 0, ferrum_wake_config, FERRUM_WAKE_CONFIG_INIT, ferrum_elastic_pool_wake_model(f->shared, "chat", p, NULL)) \
    X(elastic_pool_wake_model_report, "report_out", 1, ferrum_wake_report, FERRUM_WAKE_REPORT_INIT, ferrum_elastic_pool_wake_model(f->shared, "chat", NULL, p))
/* clang-format on */

#define DEFINE(name, argument, fills, type, init_macro, expression)     \
    static void init_##name(void *p) { *(type *)p = (type)init_macro; } \
    static ferrum_status struct_##name(fixture *f, void *p) {           \
        (void)f;                                                        \
        return expression;                                              \
    }
STRUCT_CALLS(DEFINE)
#undef DEFINE

static const struct_call struct_calls[] = {
#define ROW(name, argument, fills, type, init_macro, expression) \
    {#name, argument, sizeof(type), fills, init_##name, struct_##name},
    STRUCT_CALLS(ROW)
#undef ROW
};

static const char *const struct_classes[] = {"size-0", "size-4", "size-12",
                                             "size-huge", "tail-not-zero"};
#define STRUCT_CLASSES (sizeof struct_classes / sizeof *struct_classes)

/* Whether this class is one for the struct: a tail that the library fills is
 * the caller's to have. */
static int struct_class_applies(const struct_call *c, size_t class) {
    return class < 4 || !c->fills;
}

static ferrum_status run_struct(fixture *f, const struct_call *c,
                                size_t class) {
    memset(&buffer, 0, sizeof buffer);
    c->init(&buffer);
    uint32_t sizes[] = {0, 4, 12, UINT32_C(0xfffffff8), c->size + 64};
    memcpy(&buffer, &sizes[class], sizeof(uint32_t));
    if (class == 4)
        ((unsigned char *)&buffer)[c->size + 8] = 1;
    return c->call(f, &buffer);
}

static char long_text[65];

static void change_fraction_large(ferrum_memory_config *c) {
    c->gpu_memory_fraction = 1.5;
}
static void change_fraction_nan(ferrum_memory_config *c) {
    c->gpu_memory_fraction = 0.0 / 0.0;
}
static void change_config_flags(ferrum_memory_config *c) { c->flags = 8; }
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
static void change_pre_too_much(ferrum_memory_config *c) {
    static const uint64_t sizes[] = {16, UINT64_C(1) << 40};
    c->flags |= FERRUM_MEMORY_PRE_ALLOCATE;
    c->pre_allocate_sizes = sizes;
    c->pre_allocate_count = 2;
}
static void change_track_id(ferrum_buffer_metadata *m) { m->buffer_id = 0; }
static void change_track_location(ferrum_buffer_metadata *m) {
    m->location = 2;
}
static void change_track_device(ferrum_buffer_metadata *m) { m->device.id = 7; }
static void change_track_reserved(ferrum_buffer_metadata *m) {
    m->reserved = 1;
}
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
static void change_buffer_dtype(ferrum_buffer_request *r) { r->dtype = 10; }
static void change_buffer_place(ferrum_buffer_request *r) { r->place = -1; }
static void change_buffer_flags(ferrum_buffer_request *r) { r->flags = 2; }
static void change_buffer_tag(ferrum_buffer_request *r) { r->tag = long_text; }

/* -------------------------------------------------------------- NULL cases */

typedef struct {
    const char *name;
    const char *argument;
    ferrum_status (*call)(fixture *);
} null_call;

static void change_no_enqueue(ferrum_foreign_stream *s) { s->enqueue = NULL; }

/* clang-format off */
#define NULL_CALLS(X) \
    X(memory_config_preset, config_out, ferrum_memory_config_preset(0, NULL)) \
    X(memory_config_check, config, ferrum_memory_config_check(NULL)) \
    X(memory_stats_ratios, stats, ferrum_memory_stats_ratios(NULL, OUT(ferrum_memory_ratios, FERRUM_MEMORY_RATIOS_INIT))) \
    X(memory_stats_ratios, ratios_out, ferrum_memory_stats_ratios(OUT(ferrum_memory_stats, FERRUM_MEMORY_STATS_INIT), NULL)) \
    X(memory_stats_merge, stats, ferrum_memory_stats_merge(NULL, OUT(ferrum_memory_stats, FERRUM_MEMORY_STATS_INIT), OUT(ferrum_memory_stats, FERRUM_MEMORY_STATS_INIT))) \
    X(memory_stats_merge, other, ferrum_memory_stats_merge(OUT(ferrum_memory_stats, FERRUM_MEMORY_STATS_INIT), NULL, OUT(ferrum_memory_stats, FERRUM_MEMORY_STATS_INIT))) \
    X(memory_stats_merge, merged_out, ferrum_memory_stats_merge(OUT(ferrum_memory_stats, FERRUM_MEMORY_STATS_INIT), OUT(ferrum_memory_stats, FERRUM_MEMORY_STATS_INIT), NULL)) \
    X(memory_stats_text, stats, ferrum_memory_stats_text(NULL, NULL, 0, OUT(size_t, {0}))) \
    X(memory_stats_text, buffer, ferrum_memory_stats_text(OUT(ferrum_memory_stats, FERRUM_MEMORY_STATS_INIT), NULL, 8, OUT(size_t, {0}))) \
    X(memory_stats_text, length_out, ferrum_memory_stats_text(OUT(ferrum_memory_stats, FERRUM_MEMORY_STATS_INIT), NULL, 0, NULL)) \
    X(buffer_id_new, id_out, ferrum_buffer_id_new(NULL)) \
    X(buffer_id_text, buffer, ferrum_buffer_id_text(1, NULL, 8, OUT(size_t, {0}))) \
    X(buffer_id_text, length_out, ferrum_buffer_id_text(1, NULL, 0, NULL)) \
    X(tracker_create, tracker_out, ferrum_tracker_create(NULL)) \
    X(tracker_track, metadata, ferrum_tracker_track(f->tracker, NULL)) \
    X(tracker_get, metadata_out, ferrum_tracker_get(f->tracker, 7, NULL)) \
    X(tracker_get_all, count_out, ferrum_tracker_get_all(f->tracker, NULL, 0, NULL)) \
    X(tracker_get_all, metadata_out, ferrum_tracker_get_all(f->tracker, NULL, 1, OUT(size_t, {0}))) \
    X(tracker_find_old, count_out, ferrum_tracker_find_old(f->tracker, 0, NULL, 0, NULL)) \
    X(tracker_find_old, metadata_out, ferrum_tracker_find_old(f->tracker, 0, NULL, 1, OUT(size_t, {0}))) \
    X(tracker_get_totals, totals_out, ferrum_tracker_get_totals(f->tracker, NULL)) \
    X(generic_pool_create, pool_out, ferrum_generic_pool_create(NULL, NULL)) \
    X(generic_pool_record_allocation, id_out, ferrum_generic_pool_record_allocation(f->generic, 16, NULL, NULL)) \
    X(generic_pool_try_get, lease_out, ferrum_generic_pool_try_get(f->generic, 16, NULL, NULL, OUT(uint32_t, {0}))) \
    X(generic_pool_try_get, found_out, ferrum_generic_pool_try_get(f->generic, 16, NULL, OUT(ferrum_buffer_lease, {0}), NULL)) \
    X(generic_pool_return, lease, ferrum_generic_pool_return(f->generic, NULL, OUT(uint32_t, {0}))) \
    X(generic_pool_return, kept_out, ferrum_generic_pool_return(f->generic, OUT(ferrum_buffer_lease, {0}), NULL)) \
    X(generic_pool_drain, count_out, ferrum_generic_pool_drain(f->generic, NULL, 0, NULL)) \
    X(generic_pool_drain, leases_out, ferrum_generic_pool_drain(f->generic, NULL, 1, OUT(size_t, {0}))) \
    X(generic_pool_get_pooled_count, count_out, ferrum_generic_pool_get_pooled_count(f->generic, NULL)) \
    X(generic_pool_get_stats, stats_out, ferrum_generic_pool_get_stats(f->generic, NULL)) \
    X(generic_pool_get_tracker, tracker_out, ferrum_generic_pool_get_tracker(f->generic, NULL)) \
    X(fallback_manager_create, manager_out, ferrum_fallback_manager_create(f->other_device, f->device, NULL, NULL)) \
    X(fallback_manager_create, pre_allocate_sizes, manage_with(f, change_pre_null)) \
    X(fallback_manager_get_backend_name, buffer, ferrum_fallback_manager_get_backend_name(f->fallback_manager, NULL, 8, OUT(size_t, {0}))) \
    X(fallback_manager_get_backend_name, length_out, ferrum_fallback_manager_get_backend_name(f->fallback_manager, NULL, 0, NULL)) \
    X(fallback_manager_get_stats, stats_out, ferrum_fallback_manager_get_stats(f->fallback_manager, NULL)) \
    X(fallback_manager_get_fallback_stats, stats_out, ferrum_fallback_manager_get_fallback_stats(f->fallback_manager, NULL)) \
    X(fallback_manager_get_memory, total_out, ferrum_fallback_manager_get_memory(f->fallback_manager, NULL, OUT(uint64_t, {0}))) \
    X(fallback_manager_get_memory, free_out, ferrum_fallback_manager_get_memory(f->fallback_manager, OUT(uint64_t, {0}), NULL)) \
    X(fallback_manager_get_pressure, level_out, ferrum_fallback_manager_get_pressure(f->fallback_manager, NULL)) \
    X(fallback_manager_pressure_callback_add, callback, ferrum_fallback_manager_pressure_callback_add(f->fallback_manager, NULL, NULL, OUT(ferrum_registration, {0}))) \
    X(fallback_manager_pressure_callback_add, registration_out, ferrum_fallback_manager_pressure_callback_add(f->fallback_manager, pressure, NULL, NULL)) \
    X(fallback_manager_shrink, released_out, ferrum_fallback_manager_shrink(f->fallback_manager, NULL)) \
    X(fallback_manager_get_tracker, tracker_out, ferrum_fallback_manager_get_tracker(f->fallback_manager, NULL)) \
    X(fallback_manager_alloc, request, ferrum_fallback_manager_alloc(f->fallback_manager, NULL, OUT(ferrum_fallback_buffer, {0}))) \
    X(fallback_manager_alloc, buffer_out, ferrum_fallback_manager_alloc(f->fallback_manager, OUT(ferrum_buffer_request, FERRUM_BUFFER_REQUEST_INIT), NULL)) \
    X(fallback_manager_return_buffers, moved_out, ferrum_fallback_manager_return_buffers(f->fallback_manager, NULL)) \
    X(fallback_manager_adopt, request, ferrum_fallback_manager_adopt(f->fallback_manager, 0, 4096, NULL, OUT(ferrum_fallback_buffer, {0}))) \
    X(fallback_manager_adopt, buffer_out, ferrum_fallback_manager_adopt(f->fallback_manager, 0, 4096, OUT(ferrum_buffer_request, FERRUM_BUFFER_REQUEST_INIT), NULL)) \
    X(fallback_buffer_get_info, info_out, ferrum_fallback_buffer_get_info(f->buffer, NULL)) \
    X(fallback_buffer_get_address, address_out, ferrum_fallback_buffer_get_address(f->buffer, 0, NULL)) \
    X(fallback_buffer_write, source, ferrum_fallback_buffer_write(f->buffer, 0, NULL, 16)) \
    X(fallback_buffer_read, destination, ferrum_fallback_buffer_read(f->buffer, 0, NULL, 16)) \
    X(fallback_buffer_take, address_out, ferrum_fallback_buffer_take(f->buffer, 0, NULL)) \
    X(estimate_model_memory, shape, ferrum_estimate_model_memory(NULL, OUT(uint64_t, {0}))) \
    X(estimate_model_memory, bytes_out, ferrum_estimate_model_memory(OUT(ferrum_model_shape, FERRUM_MODEL_SHAPE_INIT), NULL)) \
    X(estimate_kv_cache_memory, shape, ferrum_estimate_kv_cache_memory(NULL, OUT(uint64_t, {0}))) \
    X(estimate_kv_cache_memory, bytes_out, ferrum_estimate_kv_cache_memory(OUT(ferrum_kv_cache_shape, FERRUM_KV_CACHE_SHAPE_INIT), NULL)) \
    X(estimate_inference_memory, shape, ferrum_estimate_inference_memory(NULL, OUT(ferrum_inference_estimate, FERRUM_INFERENCE_ESTIMATE_INIT))) \
    X(estimate_inference_memory, estimate_out, ferrum_estimate_inference_memory(OUT(ferrum_model_shape, FERRUM_MODEL_SHAPE_INIT), NULL)) \
    X(estimate_file_json, path, ferrum_estimate_file_json(NULL, NULL, NULL, 0, OUT(size_t, {0}))) \
    X(estimate_file_json, buffer, ferrum_estimate_file_json("/", NULL, NULL, 8, OUT(size_t, {0}))) \
    X(estimate_file_json, length_out, ferrum_estimate_file_json("/", NULL, (char[8]){0}, 8, NULL)) \
    X(estimate_config_json, config_text, ferrum_estimate_config_json(NULL, 2, NULL, NULL, 0, OUT(size_t, {0}))) \
    X(estimate_config_json, buffer, ferrum_estimate_config_json("{}", 2, NULL, NULL, 8, OUT(size_t, {0}))) \
    X(estimate_config_json, length_out, ferrum_estimate_config_json("{}", 2, NULL, (char[8]){0}, 8, NULL)) \
    X(last_error, error_out, ferrum_last_error(NULL)) \
    X(backends_json, length_out, ferrum_backends_json((char[8]){0}, 8, NULL)) \
    X(backends_json, buffer, ferrum_backends_json(NULL, 8, OUT(size_t, {0}))) \
    X(backends_summary, length_out, ferrum_backends_summary((char[8]){0}, 8, NULL)) \
    X(backends_summary, buffer, ferrum_backends_summary(NULL, 8, OUT(size_t, {0}))) \
    X(backend_best, backend_out, ferrum_backend_best(NULL)) \
    X(backend_select, choice_out, ferrum_backend_select(0, 1, NULL)) \
    X(backend_open, device_out, ferrum_backend_open(0, 1, NULL, NULL)) \
    X(device_can_fit, id, ferrum_device_can_fit(NULL, 1, OUT(uint32_t, {0}))) \
    X(device_can_fit, fits_out, ferrum_device_can_fit("cpu:0", 1, NULL)) \
    X(host_get_info, info_out, ferrum_host_get_info(NULL)) \
    X(round_up_power_of_2, result_out, ferrum_round_up_power_of_2(1, NULL)) \
    X(size_class, class_bytes_out, ferrum_size_class(1, NULL)) \
    X(f32_bytes, bytes_out, ferrum_f32_bytes(1, NULL)) \
    X(f16_bytes, bytes_out, ferrum_f16_bytes(1, NULL)) \
    X(snapshot_json, length_out, ferrum_snapshot_json((char[8]){0}, 8, NULL)) \
    X(snapshot_json, buffer, ferrum_snapshot_json(NULL, 8, OUT(size_t, {0}))) \
    X(leak_report_json, length_out, ferrum_leak_report_json((char[8]){0}, 8, NULL)) \
    X(leak_report_json, buffer, ferrum_leak_report_json(NULL, 8, OUT(size_t, {0}))) \
    X(device_open, device_out, ferrum_device_open("cpu:0", NULL)) \
    X(device_open, id, ferrum_device_open(NULL, OUT(ferrum_device, {0}))) \
    X(device_get_info, info_out, ferrum_device_get_info(f->device, NULL)) \
    X(device_measure_bandwidth, gbps_out, ferrum_device_measure_bandwidth(f->device, NULL)) \
    X(device_get_memory_info, info_out, ferrum_device_get_memory_info(f->device, NULL)) \
    X(device_get_statistics, statistics_out, ferrum_device_get_statistics(f->device, NULL)) \
    X(stream_create, stream_out, ferrum_stream_create(f->device, NULL)) \
    X(stream_default, stream_out, ferrum_stream_default(f->device, NULL)) \
    X(stream_is_ready, ready_out, ferrum_stream_is_ready(f->stream, NULL)) \
    X(stream_host_function, function, ferrum_stream_host_function(f->stream, NULL, NULL)) \
    X(event_record, event_out, ferrum_event_record(f->stream, NULL)) \
    X(event_is_ready, ready_out, ferrum_event_is_ready(f->event, NULL)) \
    X(event_elapsed, elapsed_ns_out, ferrum_event_elapsed(f->event, f->event, NULL)) \
    X(pool_create, pool_out, ferrum_pool_create(f->device, NULL, NULL)) \
    X(pool_alloc, address_out, ferrum_pool_alloc(f->pool, 16, f->stream, NULL)) \
    X(pool_alloc_with, address_out, ferrum_pool_alloc_with(f->pool, OUT(ferrum_pool_request, FERRUM_POOL_REQUEST_INIT), NULL)) \
    X(pool_alloc_with, request, ferrum_pool_alloc_with(f->pool, NULL, OUT(ferrum_address, {0}))) \
    X(pool_alloc_batch, addresses_out, ferrum_pool_alloc_batch(f->pool, 16, 2, f->stream, NULL)) \
    X(pool_get_tag, tag_out, ferrum_pool_get_tag(f->pool, "kv", NULL)) \
    X(pool_get_tag, name, ferrum_pool_get_tag(f->pool, NULL, OUT(uint32_t, {0}))) \
    X(pool_free_batch, addresses, ferrum_pool_free_batch(f->pool, NULL, 2, f->stream)) \
    X(pool_usable_size, size_bytes_out, ferrum_pool_usable_size(f->pool, f->block, NULL)) \
    X(device_get_owner, info_out, ferrum_device_get_owner(f->device, f->block, NULL)) \
    X(pool_trim, released_bytes_out, ferrum_pool_trim(f->pool, 0, NULL)) \
    X(pool_get_info, info_out, ferrum_pool_get_info(f->pool, NULL)) \
    X(pool_capture_begin, graph_out, ferrum_pool_capture_begin(f->pool, f->stream, 0, NULL)) \
    X(pool_capture_get_info, info_out, ferrum_pool_capture_get_info(f->pool, 1, NULL)) \
    X(pool_get_statistics, statistics_out, ferrum_pool_get_statistics(f->pool, NULL)) \
    X(manager_create, manager_out, ferrum_manager_create(f->device, NULL, NULL)) \
    X(manager_configure_pool, config, ferrum_manager_configure_pool(f->manager, 0, NULL)) \
    X(manager_get_statistics, statistics_out, ferrum_manager_get_statistics(f->manager, NULL)) \
    X(manager_alloc, memory_out, ferrum_manager_alloc(f->manager, 16, NULL)) \
    X(manager_alloc_with, memory_out, ferrum_manager_alloc_with(f->manager, OUT(ferrum_allocation_request, FERRUM_ALLOCATION_REQUEST_INIT), NULL)) \
    X(manager_alloc_with, request, ferrum_manager_alloc_with(f->manager, NULL, OUT(ferrum_memory, {0}))) \
    X(memory_get_handle_info, info_out, ferrum_memory_get_handle_info(f->memory, NULL)) \
    X(memory_copy, transfer, ferrum_memory_copy(NULL)) \
    X(memory_copy_async, transfer, ferrum_memory_copy_async(NULL, f->stream)) \
    X(memory_write, source, ferrum_memory_write(f->memory, 0, NULL, 1)) \
    X(memory_read, destination_out, ferrum_memory_read(f->memory, 0, NULL, 1)) \
    X(memory_fill_async, fill, ferrum_memory_fill_async(NULL, f->stream)) \
    X(manager_defragment, stats_out, ferrum_manager_defragment(f->manager, NULL)) \
    X(manager_defragment_within, stats_out, ferrum_manager_defragment_within(f->manager, 1, NULL)) \
    X(memory_pin, address_out, ferrum_memory_pin(f->memory, NULL)) \
    X(memory_map, request, ferrum_memory_map(NULL, OUT(ferrum_mapping, FERRUM_MAPPING_INIT))) \
    X(memory_map, mapping_out, ferrum_memory_map(OUT(ferrum_map_request, FERRUM_MAP_REQUEST_INIT), NULL)) \
    X(manager_create_mapping, request, ferrum_manager_create_mapping(f->manager, f->manager, NULL, OUT(ferrum_memory, {0}), OUT(ferrum_memory, {0}))) \
    X(manager_create_mapping, first_out, ferrum_manager_create_mapping(f->manager, f->manager, OUT(ferrum_link_request, FERRUM_LINK_REQUEST_INIT), NULL, OUT(ferrum_memory, {0}))) \
    X(manager_create_mapping, second_out, ferrum_manager_create_mapping(f->manager, f->manager, OUT(ferrum_link_request, FERRUM_LINK_REQUEST_INIT), OUT(ferrum_memory, {0}), NULL)) \
    X(memory_get_usage_hints, hints_out, ferrum_memory_get_usage_hints(f->memory, NULL)) \
    X(memory_get_access_stats, stats_out, ferrum_memory_get_access_stats(f->memory, NULL)) \
    X(manager_adopt, adoption, ferrum_manager_adopt(f->manager, NULL, OUT(ferrum_memory, {0}))) \
    X(manager_adopt, memory_out, ferrum_manager_adopt(f->manager, OUT(ferrum_adoption, FERRUM_ADOPTION_INIT), NULL)) \
    X(stream_adopt, foreign, ferrum_stream_adopt(f->device, NULL, OUT(ferrum_stream, {0}))) \
    X(stream_adopt, stream_out, ferrum_stream_adopt(f->device, OUT(ferrum_foreign_stream, FERRUM_FOREIGN_STREAM_INIT), NULL)) \
    X(stream_adopt, enqueue, stream_of(f->device.id, change_no_enqueue)) \
    X(device_open_native, id, ferrum_device_open_native(NULL, 1, OUT(ferrum_device, {0}))) \
    X(device_open_native, device_out, ferrum_device_open_native("cpu:0", 1, NULL)) \
    X(device_open_native, native, ferrum_device_open_native("cpu:0", 0, OUT(ferrum_device, {0}))) \
    X(device_get_native, native_out, ferrum_device_get_native(f->device, NULL)) \
    X(stream_get_native, native_out, ferrum_stream_get_native(f->stream, NULL)) \
    X(event_adopt, event_out, ferrum_event_adopt(f->device, 5, NULL)) \
    X(event_get_native, native_out, ferrum_event_get_native(f->event, NULL)) \
    X(vpool_export, count_out, ferrum_vpool_export(f->vpool, 0, FIXTURE_PAGE, NULL, 0, NULL)) \
    X(vpool_export, descriptors_out, ferrum_vpool_export(f->vpool, 0, FIXTURE_PAGE, NULL, 1, OUT(size_t, {0}))) \
    X(manager_import_pages, pages, ferrum_manager_import_pages(f->manager, NULL, OUT(ferrum_memory, {0}))) \
    X(manager_import_pages, memory_out, ferrum_manager_import_pages(f->manager, OUT(ferrum_page_import, FERRUM_PAGE_IMPORT_INIT), NULL)) \
    X(manager_import_pages, descriptors, import_with(f->manager.id, change_import_no_list)) \
    X(device_share_memory, shared_out, ferrum_device_share_memory(f->device, f->block, 16, NULL)) \
    X(manager_import_memory, shared, ferrum_manager_import_memory(f->manager, NULL, NULL, OUT(ferrum_memory, {0}))) \
    X(manager_import_memory, memory_out, ferrum_manager_import_memory(f->manager, OUT(ferrum_shared_memory, FERRUM_SHARED_MEMORY_INIT), NULL, NULL)) \
    X(event_share, shared_out, ferrum_event_share(f->stream, NULL, OUT(ferrum_event, {0}))) \
    X(event_share, event_out, ferrum_event_share(f->stream, OUT(ferrum_shared_event, FERRUM_SHARED_EVENT_INIT), NULL)) \
    X(event_open, shared, ferrum_event_open(f->device, NULL, OUT(ferrum_event, {0}))) \
    X(event_open, event_out, ferrum_event_open(f->device, OUT(ferrum_shared_event, FERRUM_SHARED_EVENT_INIT), NULL)) \
    X(device_pressure_callback_add, callback, ferrum_device_pressure_callback_add(f->device, NULL, NULL, OUT(ferrum_registration, {0}))) \
    X(device_pressure_callback_add, registration_out, ferrum_device_pressure_callback_add(f->device, pressure, NULL, NULL)) \
    X(device_reclaim_callback_add, callback, ferrum_device_reclaim_callback_add(f->device, NULL, NULL, NULL, OUT(ferrum_registration, {0}))) \
    X(device_reclaim_callback_add, registration_out, ferrum_device_reclaim_callback_add(f->device, NULL, reclaim, NULL, NULL)) \
    X(device_get_page_sizes, sizes_out, ferrum_device_get_page_sizes(f->device, NULL)) \
    X(vpool_create, config, ferrum_vpool_create(f->device, NULL, OUT(ferrum_vpool, {0}))) \
    X(vpool_create, vpool_out, ferrum_vpool_create(f->device, OUT(ferrum_vpool_config, FERRUM_VPOOL_CONFIG_INIT), NULL)) \
    X(vpool_alloc, address_out, ferrum_vpool_alloc(f->vpool, 4 * FIXTURE_PAGE, 16, NULL)) \
    X(vpool_is_mapped, mapped_out, ferrum_vpool_is_mapped(f->vpool, 0, 1, NULL)) \
    X(vpool_get_info, info_out, ferrum_vpool_get_info(f->vpool, NULL)) \
    X(vpool_get_statistics, statistics_out, ferrum_vpool_get_statistics(f->vpool, NULL)) \
    X(vpool_compact, report_out, ferrum_vpool_compact(f->vpool, NULL)) \
    X(vpool_trim, released_bytes_out, ferrum_vpool_trim(f->vpool, 0, NULL)) \
    X(elastic_pool_create, pool_out, ferrum_elastic_pool_create(f->device, NULL, NULL)) \
    X(elastic_pool_register_model, model, register_with(f->shared, NULL, NULL)) \
    X(elastic_pool_register_model, config, ferrum_elastic_pool_register_model(f->shared, "new", NULL)) \
    X(elastic_pool_unregister_model, model, ferrum_elastic_pool_unregister_model(f->shared, NULL, 0)) \
    X(elastic_pool_alloc, model, shared_allocate_with(f->shared, NULL, 16)) \
    X(elastic_pool_alloc, address_out, ferrum_elastic_pool_alloc(f->shared, "chat", 16, NULL, NULL)) \
    X(elastic_pool_alloc_with_at, model, shared_allocate_at(f->shared, NULL, 4 * FIXTURE_PAGE, 16)) \
    X(elastic_pool_alloc_with, model, model_asked_with(f->shared, NULL, NULL)) \
    X(elastic_pool_alloc_with, request, ferrum_elastic_pool_alloc_with(f->shared, "chat", NULL, OUT(ferrum_address, {0}), NULL)) \
    X(elastic_pool_alloc_with, address_out, ferrum_elastic_pool_alloc_with(f->shared, "chat", OUT(ferrum_model_request, FERRUM_MODEL_REQUEST_INIT), NULL, NULL)) \
    X(elastic_pool_record_stream, model, ferrum_elastic_pool_record_stream(f->shared, NULL, 0, FIXTURE_RANGE, f->stream)) \
    X(elastic_pool_free, model, ferrum_elastic_pool_free(f->shared, NULL, 0, FIXTURE_RANGE, f->stream)) \
    X(elastic_pool_is_mapped, model, ferrum_elastic_pool_is_mapped(f->shared, NULL, 0, 1, OUT(uint32_t, {0}))) \
    X(elastic_pool_is_mapped, mapped_out, ferrum_elastic_pool_is_mapped(f->shared, "chat", 0, 1, NULL)) \
    X(elastic_pool_get_model_info, model, ferrum_elastic_pool_get_model_info(f->shared, NULL, OUT(ferrum_model_info, FERRUM_MODEL_INFO_INIT))) \
    X(elastic_pool_get_model_info, info_out, ferrum_elastic_pool_get_model_info(f->shared, "chat", NULL)) \
    X(elastic_pool_set_model_limits, model, limits_with(f->shared, NULL, 0, 0)) \
    X(elastic_pool_set_model_limits, limits, ferrum_elastic_pool_set_model_limits(f->shared, "chat", NULL)) \
    X(elastic_pool_get_info, info_out, ferrum_elastic_pool_get_info(f->shared, NULL)) \
    X(elastic_pool_get_statistics, statistics_out, ferrum_elastic_pool_get_statistics(f->shared, NULL)) \
    X(elastic_pool_models_json, length_out, ferrum_elastic_pool_models_json(f->shared, (char[8]){0}, 8, NULL)) \
    X(elastic_pool_models_json, buffer, ferrum_elastic_pool_models_json(f->shared, NULL, 8, OUT(size_t, {0}))) \
    X(elastic_pool_compact, report_out, ferrum_elastic_pool_compact(f->shared, NULL)) \
    X(elastic_pool_trim, released_bytes_out, ferrum_elastic_pool_trim(f->shared, 0, NULL)) \
    X(elastic_pool_reclaim_callback_add, model, ferrum_elastic_pool_reclaim_callback_add(f->shared, NULL, NULL, model_reclaim, NULL, OUT(ferrum_registration, {0}))) \
    X(elastic_pool_reclaim_callback_add, callback, ferrum_elastic_pool_reclaim_callback_add(f->shared, "chat", NULL, NULL, NULL, OUT(ferrum_registration, {0}))) \
    X(elastic_pool_reclaim_callback_add, registration_out, ferrum_elastic_pool_reclaim_callback_add(f->shared, "chat", NULL, model_reclaim, NULL, NULL)) \
    X(device_get_recent_memory_info, info_out, ferrum_device_get_recent_memory_info(f->device, 0, NULL)) \
    X(pressure_level_of, level_out, ferrum_pressure_level_of(0, 1, 1, NULL)) \
    X(pressure_from_utilization, level_out, ferrum_pressure_from_utilization(0, 0.5, NULL)) \
    X(monitor_create, monitor_out, ferrum_monitor_create(NULL, NULL)) \
    X(monitor_get_pressure, pressure_out, ferrum_monitor_get_pressure(f->monitor, 0, NULL)) \
    X(monitor_get_levels, count_out, ferrum_monitor_get_levels(f->monitor, 0, NULL, 0, NULL)) \
    X(monitor_get_levels, levels_out, ferrum_monitor_get_levels(f->monitor, 0, NULL, 1, OUT(size_t, {0}))) \
    X(monitor_info_json, length_out, ferrum_monitor_info_json(f->monitor, 0, (char[8]){0}, 8, NULL)) \
    X(monitor_info_json, buffer, ferrum_monitor_info_json(f->monitor, 0, NULL, 8, OUT(size_t, {0}))) \
    X(monitor_collect, count_out, ferrum_monitor_collect(f->monitor, NULL, 0, NULL)) \
    X(monitor_collect, collected_out, ferrum_monitor_collect(f->monitor, NULL, 1, OUT(size_t, {0}))) \
    X(placement_create, strategy, ferrum_placement_create(NULL, OUT(ferrum_placement, {0}))) \
    X(placement_create, placement_out, ferrum_placement_create("spread", NULL)) \
    X(placement_create_own, name, ferrum_placement_create_own(NULL, choose, NULL, OUT(ferrum_placement, {0}))) \
    X(placement_create_own, callback, ferrum_placement_create_own("mine", NULL, NULL, OUT(ferrum_placement, {0}))) \
    X(placement_create_own, placement_out, ferrum_placement_create_own("mine", choose, NULL, NULL)) \
    X(placement_get_name, length_out, ferrum_placement_get_name(f->placement, (char[8]){0}, 8, NULL)) \
    X(placement_get_name, buffer, ferrum_placement_get_name(f->placement, NULL, 8, OUT(size_t, {0}))) \
    X(placement_select, request, ferrum_placement_select(f->placement, NULL, OUT(ferrum_device, {0}))) \
    X(placement_select, device_out, ferrum_placement_select(f->placement, OUT(ferrum_placement_request, FERRUM_PLACEMENT_REQUEST_INIT), NULL)) \
    X(placement_explain_json, request, ferrum_placement_explain_json(f->placement, NULL, NULL, 0, OUT(size_t, {0}))) \
    X(placement_explain_json, length_out, ferrum_placement_explain_json(f->placement, OUT(ferrum_placement_request, FERRUM_PLACEMENT_REQUEST_INIT), (char[8]){0}, 8, NULL)) \
    X(placement_explain_json, buffer, ferrum_placement_explain_json(f->placement, OUT(ferrum_placement_request, FERRUM_PLACEMENT_REQUEST_INIT), NULL, 8, OUT(size_t, {0}))) \
    X(vpool_is_asleep, asleep_out, ferrum_vpool_is_asleep(f->vpool, NULL, NULL)) \
    X(vpool_alloc_with, request, ferrum_vpool_alloc_with(f->vpool, NULL, OUT(ferrum_address, {0}))) \
    X(vpool_alloc_with, address_out, ferrum_vpool_alloc_with(f->vpool, OUT(ferrum_vpool_request, FERRUM_VPOOL_REQUEST_INIT), NULL)) \
    X(elastic_pool_sleep_model, model, ferrum_elastic_pool_sleep_model(f->shared, NULL, NULL, NULL)) \
    X(elastic_pool_wake_model, model, ferrum_elastic_pool_wake_model(f->shared, NULL, NULL, NULL)) \
    X(elastic_pool_is_model_asleep, model, ferrum_elastic_pool_is_model_asleep(f->shared, NULL, NULL, OUT(uint32_t, {0}))) \
    X(elastic_pool_is_model_asleep, asleep_out, ferrum_elastic_pool_is_model_asleep(f->shared, "chat", NULL, NULL))
/* clang-format on */

#define DEFINE(name, argument, expression)                      \
    static ferrum_status null_##name##_##argument(fixture *f) { \
        (void)f;                                                \
        return expression;                                      \
    }
NULL_CALLS(DEFINE)
#undef DEFINE

static const null_call null_calls[] = {
#define ROW(name, argument, expression) \
    {#name, #argument, null_##name##_##argument},
    NULL_CALLS(ROW)
#undef ROW
};

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
/* A tag that no pool has so many of. */
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
/* A model that can be estimated, and what is asked of it. */
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
CHANGE(estimate_flags, ferrum_estimate_request, c->flags = 4;)
CHANGE(estimate_context_0, ferrum_estimate_request, c->context = 0;)
CHANGE(estimate_context_max, ferrum_estimate_request, c->context = UINT64_MAX;)
CHANGE(estimate_batch_0, ferrum_estimate_request, c->batch = 0;)
CHANGE(estimate_devices_0, ferrum_estimate_request, c->tensor_parallel = 0;)
CHANGE(estimate_devices, ferrum_estimate_request, c->tensor_parallel = 65537;)
CHANGE(estimate_overhead, ferrum_estimate_request, c->overhead_permille = 1001;)
CHANGE(estimate_kv_dtype, ferrum_estimate_request, c->kv_dtype = "f7";)
CHANGE(estimate_kv_dtype_long, ferrum_estimate_request,
       c->kv_dtype = long_text;)
CHANGE(estimate_weight_dtype, ferrum_estimate_request, c->weight_dtype = "q9";)
CHANGE(estimate_too_much, ferrum_estimate_request,
       c->context = c->batch = UINT64_C(1) << 40;)
CHANGE(shape_no_heads, ferrum_model_shape, c->num_heads = 0;)
CHANGE(shape_reserved, ferrum_model_shape, c->reserved = 1;)
CHANGE(shape_huge, ferrum_model_shape, c->hidden_size = UINT64_MAX;)
CHANGE(initial_above_max, ferrum_pool_config, c->max_size_bytes = 1 << 20;)
CHANGE(no_increment, ferrum_pool_config, c->growth_increment_bytes = 0;)
CHANGE(odd_alignment, ferrum_pool_config, c->alignment_bytes = 48;)
CHANGE(huge_alignment, ferrum_pool_config,
       c->alignment_bytes = UINT64_C(1) << 31;)
CHANGE(expansion_2, ferrum_pool_config, c->enable_auto_expansion = 2;)
CHANGE(pre_allocate_9, ferrum_pool_config, c->pre_allocate = 9;)
CHANGE(stats_7, ferrum_pool_config, c->enable_stats = 7;)
CHANGE(no_strategy, ferrum_pool_config, c->strategy = "worst_fit";)
CHANGE(long_name, ferrum_pool_config, c->name = long_text;)
CHANGE(bad_utf8, ferrum_pool_config, c->name = "\xff\xfe";)
CHANGE(too_much, ferrum_pool_config, c->pre_allocate = 1;
       c->initial_size_bytes = UINT64_C(1) << 40;)
CHANGE(near_max, ferrum_pool_config, c->pre_allocate = 1;
       c->initial_size_bytes = UINT64_MAX - 5;)
CHANGE(pool_tracking_2, ferrum_pool_config, c->tracking = 2;)
CHANGE(pool_debug_bits, ferrum_pool_config,
       c->debug = FERRUM_DEBUG_POISON | 0x40;)
CHANGE(paging_3, ferrum_pool_config, c->paging = 3;)
CHANGE(segment_source_2, ferrum_pool_config, c->segment_source = 2;)
CHANGE(pool_reserved, ferrum_pool_config, c->reserved = 5;)
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
CHANGE(vpool_flags, ferrum_vpool_config, c->flags = 2;)
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
CHANGE(vpool_backing, ferrum_vpool_config, c->backing = 7;)
CHANGE(vpool_backing_negative, ferrum_vpool_config, c->backing = -1;)
CHANGE(vpool_long_name, ferrum_vpool_config, c->name = long_text;)
CHANGE(vpool_bad_utf8, ferrum_vpool_config, c->name = "\xff\xfe";)
CHANGE(shared_flags, ferrum_elastic_pool_config, c->flags = 1;)
CHANGE(shared_page, ferrum_elastic_pool_config, c->page_bytes = 4096;)
CHANGE(shared_limit_small, ferrum_elastic_pool_config, c->limit_bytes = 1;)
CHANGE(shared_limit, ferrum_elastic_pool_config,
       c->limit_bytes = UINT64_C(1) << 50;)
CHANGE(shared_ready, ferrum_elastic_pool_config, c->ready_pages = 65537;)
CHANGE(shared_backing, ferrum_elastic_pool_config, c->backing = 2;)
CHANGE(shared_name, ferrum_elastic_pool_config, c->name = long_text;)
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
CHANGE(model_unscrubbed, ferrum_model_config, c->unscrubbed = 2;)
CHANGE(model_may_wait, ferrum_model_config, c->guarantee_may_wait = 2;)
CHANGE(range_at_2, ferrum_model_request, c->at_offset = 2;)
CHANGE(range_not_at, ferrum_model_request, c->offset_bytes = 65536;)
CHANGE(range_size_0, ferrum_model_request, c->size_bytes = 0;)
CHANGE(range_tag, ferrum_model_request, c->tag = long_text;)
CHANGE(range_clash, ferrum_model_request, c->at_offset = 1;)
CHANGE(placed_reserved, ferrum_vpool_request, c->reserved = 1;)
CHANGE(placed_tag, ferrum_vpool_request, c->tag = long_text;)
CHANGE(placed_size_0, ferrum_vpool_request, c->size_bytes = 0;)
CHANGE(placed_clash, ferrum_vpool_request, c->offset_bytes = 0;)
CHANGE(sleep_backing, ferrum_sleep_config, c->backing = 3;)
CHANGE(sleep_backing_negative, ferrum_sleep_config, c->backing = -1;)
CHANGE(sleep_tag, ferrum_sleep_config, c->tag = long_text;)
CHANGE(sleep_tag_utf8, ferrum_sleep_config, c->tag = "\xff";)
CHANGE(sleep_tag_unknown, ferrum_sleep_config, c->tag = "none";)
CHANGE(sleep_directory, ferrum_sleep_config, c->directory = "/tmp";)
CHANGE(sleep_directory_long, ferrum_sleep_config,
       static char path[FERRUM_PATH_MAX + 1];
       memset(path, '/', FERRUM_PATH_MAX); c->directory = path;
       c->backing = FERRUM_SLEEP_FILE;)
CHANGE(sleep_directory_missing, ferrum_sleep_config,
       c->directory = "/nonexistent";
       c->backing = FERRUM_SLEEP_FILE;)
CHANGE(sleep_streams, ferrum_sleep_config, c->num_streams = 65;)
CHANGE(sleep_streams_max, ferrum_sleep_config, c->num_streams = UINT32_MAX;)
CHANGE(sleep_reserved, ferrum_sleep_config, c->reserved = 1;)
CHANGE(monitor_profile, ferrum_monitor_config, c->profile = 2;)
CHANGE(monitor_flags, ferrum_monitor_config, c->flags = 2;)
CHANGE(monitor_reserved, ferrum_monitor_config, c->reserved = 1;)
CHANGE(place_size_0, ferrum_placement_request, c->size_bytes = 0;)
CHANGE(place_size_max, ferrum_placement_request, c->size_bytes = UINT64_MAX;)
CHANGE(place_alignment, ferrum_placement_request, c->alignment_bytes = 48;)
CHANGE(place_alignment_huge, ferrum_placement_request,
       c->alignment_bytes = UINT64_C(1) << 31;)
CHANGE(place_type, ferrum_placement_request, c->memory_type = 99;)
CHANGE(place_type_negative, ferrum_placement_request, c->memory_type = -1;)
CHANGE(place_flags, ferrum_placement_request, c->flags = 8;)
CHANGE(place_profile, ferrum_placement_request, c->profile = 5;)
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
CHANGE(tracking_3, ferrum_manager_config, c->enable_tracking = 3;)
CHANGE(gc_3, ferrum_manager_config, c->enable_auto_gc = 3;)
CHANGE(debug_3, ferrum_manager_config, c->enable_debug = 3;)
CHANGE(pool_of_no_type, ferrum_manager_config,
       static const ferrum_pool_config p = FERRUM_POOL_CONFIG_INIT;
       c->pool_configs[7] = &p;)
CHANGE(type_99, ferrum_allocation_request, c->memory_type = 99;)
CHANGE(type_negative, ferrum_allocation_request, c->memory_type = -1;)
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
CHANGE(link_reserved, ferrum_link_request, c->reserved = 1;)
CHANGE(link_tag, ferrum_link_request, c->tag = long_text;)
CHANGE(adopt_address_0, ferrum_adoption, c->address = 0;)
CHANGE(adopt_nowhere, ferrum_adoption, c->address = 4096;)
CHANGE(adopt_text, ferrum_adoption,
       c->address = (ferrum_address)(uintptr_t)"text";
       c->size_bytes = 1;)
CHANGE(adopt_size_0, ferrum_adoption, c->size_bytes = 0;)
CHANGE(adopt_size_max, ferrum_adoption, c->size_bytes = UINT64_MAX;)
CHANGE(adopt_too_long, ferrum_adoption, c->size_bytes = UINT64_C(1) << 60;)
CHANGE(adopt_type, ferrum_adoption, c->memory_type = 7;)
CHANGE(adopt_tag, ferrum_adoption, c->tag = long_text;)
CHANGE(native, ferrum_foreign_stream, c->native_handle = 5;)
CHANGE(foreign_reserved, ferrum_foreign_stream, c->reserved = 1;)
CHANGE(typed_size_0, ferrum_allocation_request, c->size_bytes = 0;)
CHANGE(typed_size_max, ferrum_allocation_request, c->size_bytes = UINT64_MAX;)
CHANGE(typed_alignment, ferrum_allocation_request, c->alignment_bytes = 3;)
CHANGE(typed_flags, ferrum_allocation_request, c->flags = 3;)
CHANGE(typed_reserved, ferrum_allocation_request, c->reserved = 1;)
CHANGE(typed_tag, ferrum_allocation_request, c->tag = long_text;)

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
    X(memory_config_preset_none, INVALID_ARGUMENT, "preset 4", ferrum_memory_config_preset(4, OUT(ferrum_memory_config, FERRUM_MEMORY_CONFIG_INIT))) \
    X(memory_config_preset_negative, INVALID_ARGUMENT, "preset -1", ferrum_memory_config_preset(-1, OUT(ferrum_memory_config, FERRUM_MEMORY_CONFIG_INIT))) \
    X(memory_config_check_fraction, INVALID_CONFIG, "gpu_memory_fraction 1.5", config_with(change_fraction_large)) \
    X(memory_config_check_fraction_nan, INVALID_CONFIG, "gpu_memory_fraction NaN", config_with(change_fraction_nan)) \
    X(memory_config_check_flags, INVALID_ARGUMENT, "flags is 0x8", config_with(change_config_flags)) \
    X(memory_config_check_bucket, INVALID_CONFIG, "max_pooled_per_bucket 18446744073709551615", config_with(change_per_bucket)) \
    X(memory_config_check_pre_many, INVALID_CONFIG, "pre_allocate_count 4097", config_with(change_pre_many)) \
    X(memory_config_check_pre_none, INVALID_CONFIG, "pre_allocate_sizes", config_with(change_pre_none)) \
    X(memory_config_check_pre_zero, INVALID_CONFIG, "pre_allocate_sizes[1] is 0", config_with(change_pre_zero)) \
    X(memory_stats_text_small, BUFFER_TOO_SMALL, "capacity", ({ char t[4] = "abc"; size_t n = 0; ferrum_status s = ferrum_memory_stats_text(OUT(ferrum_memory_stats, FERRUM_MEMORY_STATS_INIT), t, sizeof t, &n); n > sizeof t && t[0] == 0 ? s : FERRUM_OK; })) \
    X(memory_stats_text_reserved, INVALID_STRUCT, "stats->reserved", ({ ferrum_memory_stats g = FERRUM_MEMORY_STATS_INIT; g.reserved = 1; ferrum_memory_stats_text(&g, NULL, 0, OUT(size_t, {0})); })) \
    X(buffer_id_text_small, BUFFER_TOO_SMALL, "capacity", ({ char t[4] = "abc"; size_t n = 0; ferrum_status s = ferrum_buffer_id_text(1, t, sizeof t, &n); n == 8 && t[0] == 0 ? s : FERRUM_OK; })) \
    X(tracker_track_id_0, INVALID_ARGUMENT, "buffer id is 0", track_with(f->tracker.id, change_track_id)) \
    X(tracker_track_location, INVALID_ARGUMENT, "location 2", track_with(f->tracker.id, change_track_location)) \
    X(tracker_track_device, INVALID_HANDLE, "0x7", track_with(f->tracker.id, change_track_device)) \
    X(tracker_track_reserved, INVALID_STRUCT, "metadata->reserved", track_with(f->tracker.id, change_track_reserved)) \
    X(tracker_track_tag_unended, INVALID_ARGUMENT, "metadata->tag", track_with(f->tracker.id, change_track_tag)) \
    X(tracker_track_tag_utf8, INVALID_ARGUMENT, "metadata->tag", track_with(f->tracker.id, change_track_tag_utf8)) \
    X(tracker_track_overflow, OVERFLOW, "Buffer#7", track_with(f->tracker.id, change_track_size)) \
    X(tracker_untrack_unknown, NOT_FOUND, "Buffer#77", ferrum_tracker_untrack(f->tracker, 77, NULL)) \
    X(tracker_get_unknown, NOT_FOUND, "Buffer#0", ferrum_tracker_get(f->tracker, 0, OUT(ferrum_buffer_metadata, {0}))) \
    X(tracker_get_all_small, BUFFER_TOO_SMALL, "capacity is 1", ({ ferrum_buffer_metadata m[1]; size_t n = 0; MUST(track_with(f->tracker.id, NULL)); ferrum_status s = ferrum_tracker_get_all(f->tracker, m, 1, &n); n == 2 ? s : FERRUM_OK; })) \
    X(tracker_destroy_owned, INVALID_STATE, "only read", ({ ferrum_tracker t; MUST(ferrum_fallback_manager_get_tracker(f->fallback_manager, &t)); ferrum_tracker_destroy(t); })) \
    X(tracker_clear_owned, INVALID_STATE, "only read", ({ ferrum_tracker t; MUST(ferrum_fallback_manager_get_tracker(f->fallback_manager, &t)); ferrum_tracker_clear(t); })) \
    X(generic_pool_create_fraction, INVALID_CONFIG, "gpu_memory_fraction", ({ ferrum_memory_config c = FERRUM_MEMORY_CONFIG_INIT; c.gpu_memory_fraction = 0; ferrum_generic_pool_create(&c, OUT(ferrum_generic_pool, {0})); })) \
    X(generic_pool_destroy_flags, INVALID_ARGUMENT, "flags is 0x2", ferrum_generic_pool_destroy(f->generic, 2)) \
    X(generic_pool_destroy_busy, BUSY, "1 of 100 bytes are pooled", ferrum_generic_pool_destroy(f->generic, 0)) \
    X(generic_pool_record_allocation_size_0, INVALID_SIZE, "bytes is 0", ferrum_generic_pool_record_allocation(f->generic, 0, NULL, OUT(uint64_t, {0}))) \
    X(generic_pool_record_allocation_overflow, OVERFLOW, "18446744073709551615", ferrum_generic_pool_record_allocation(f->generic, UINT64_MAX, NULL, OUT(uint64_t, {0}))) \
    X(generic_pool_record_allocation_tag, INVALID_ARGUMENT, "use->tag", ({ ferrum_buffer_use u = FERRUM_BUFFER_USE_INIT; u.tag = long_text; ferrum_generic_pool_record_allocation(f->generic, 1, &u, OUT(uint64_t, {0})); })) \
    X(generic_pool_try_get_size_0, INVALID_SIZE, "min_bytes is 0", ferrum_generic_pool_try_get(f->generic, 0, NULL, OUT(ferrum_buffer_lease, {0}), OUT(uint32_t, {0}))) \
    X(generic_pool_try_get_overflow, OVERFLOW, "18446744073709551615", ferrum_generic_pool_try_get(f->generic, UINT64_MAX, NULL, OUT(ferrum_buffer_lease, {0}), OUT(uint32_t, {0}))) \
    X(generic_pool_try_get_location, INVALID_ARGUMENT, "use->location is 5", ({ ferrum_buffer_use u = FERRUM_BUFFER_USE_INIT; u.location = 5; ferrum_generic_pool_try_get(f->generic, 1, &u, OUT(ferrum_buffer_lease, {0}), OUT(uint32_t, {0})); })) \
    X(generic_pool_return_size_0, INVALID_SIZE, "bytes is 0", ferrum_generic_pool_return(f->generic, OUT(ferrum_buffer_lease, {0}), OUT(uint32_t, {0}))) \
    X(generic_pool_return_too_much, INVALID_SIZE, "only 0 are in use", ferrum_generic_pool_return(f->generic, OUT(ferrum_buffer_lease, {.size_bytes = 100}), OUT(uint32_t, {0}))) \
    X(generic_pool_add_free_size_0, INVALID_SIZE, "bytes is 0", ferrum_generic_pool_add_free(f->generic, 1, 0)) \
    X(generic_pool_get_tracker_none, INVALID_STATE, "does not track", ferrum_generic_pool_get_tracker(f->generic, OUT(ferrum_tracker, {0}))) \
    X(fallback_manager_create_fraction, INVALID_CONFIG, "gpu_memory_fraction 1.5", manage_with(f, change_fraction_large)) \
    X(fallback_manager_create_no_host, INVALID_CONFIG, "no host device", fallback_manager_on(f->other_device.id, 0)) \
    X(fallback_manager_create_own_host, INVALID_ARGUMENT, "cpu:1 is the device itself", fallback_manager_on(f->other_device.id, f->other_device.id)) \
    X(fallback_manager_create_pre_too_much, OUT_OF_MEMORY, "min_free_bytes 536870912", manage_with(f, change_pre_too_much)) \
    X(fallback_manager_destroy_flags, INVALID_ARGUMENT, "flags is 0x2", ferrum_fallback_manager_destroy(f->fallback_manager, 2)) \
    X(fallback_manager_destroy_busy, BUSY, "1 buffers are live", ferrum_fallback_manager_destroy(f->fallback_manager, 0)) \
    X(fallback_manager_get_backend_name_small, BUFFER_TOO_SMALL, "capacity", ({ char t[2] = "a"; size_t n = 0; ferrum_status s = ferrum_fallback_manager_get_backend_name(f->fallback_manager, t, sizeof t, &n); n == 3 && t[0] == 0 ? s : FERRUM_OK; })) \
    X(fallback_manager_alloc_len_0, INVALID_SIZE, "len is 0", buffer_with(f->fallback_manager.id, change_buffer_len)) \
    X(fallback_manager_alloc_overflow, OVERFLOW, "does not fit 64 bits", buffer_with(f->fallback_manager.id, change_buffer_huge)) \
    X(fallback_manager_alloc_too_much, OUT_OF_MEMORY, "neither the device nor the host", buffer_with(f->fallback_manager.id, change_buffer_large)) \
    X(fallback_manager_alloc_dtype, INVALID_ARGUMENT, "dtype 10", buffer_with(f->fallback_manager.id, change_buffer_dtype)) \
    X(fallback_manager_alloc_place, INVALID_ARGUMENT, "place -1", buffer_with(f->fallback_manager.id, change_buffer_place)) \
    X(fallback_manager_alloc_flags, INVALID_ARGUMENT, "flags is 0x2", buffer_with(f->fallback_manager.id, change_buffer_flags)) \
    X(fallback_manager_alloc_tag, INVALID_ARGUMENT, "request->tag", buffer_with(f->fallback_manager.id, change_buffer_tag)) \
    X(fallback_manager_alloc_other_device, INVALID_ARGUMENT, "cpu:0", buffer_on(f, f->stream.id)) \
    X(fallback_manager_adopt_unknown, INVALID_ADDRESS, "0x1000", adopt_with(f->fallback_manager, FERRUM_LOCATION_GPU, 4096)) \
    X(fallback_manager_adopt_location, INVALID_ADDRESS, "side 9", adopt_with(f->fallback_manager, 9, 4096)) \
    X(fallback_manager_release_unknown, INVALID_ADDRESS, "0x1000", ferrum_fallback_manager_release(f->fallback_manager, FERRUM_LOCATION_CPU, 4096, (ferrum_stream){0})) \
    X(fallback_manager_release_live, INVALID_ADDRESS, "no storage that was taken", ({ ferrum_address a; MUST(ferrum_fallback_buffer_get_address(f->buffer, FERRUM_LOCATION_GPU, &a)); ferrum_fallback_manager_release(f->fallback_manager, FERRUM_LOCATION_GPU, a, (ferrum_stream){0}); })) \
    X(fallback_buffer_free_pinned, BUSY, "pinned 1 times", ({ MUST(ferrum_fallback_buffer_pin(f->buffer, NULL, NULL)); ferrum_status s = ferrum_fallback_buffer_free(f->buffer, (ferrum_stream){0}); MUST(ferrum_fallback_buffer_unpin(f->buffer)); s; })) \
    X(fallback_buffer_free_other_device, INVALID_ARGUMENT, "cpu:0", ferrum_fallback_buffer_free(f->buffer, f->stream)) \
    X(fallback_buffer_get_address_other, INVALID_STATE, "on the GPU", ferrum_fallback_buffer_get_address(f->buffer, FERRUM_LOCATION_CPU, OUT(ferrum_address, {0}))) \
    X(fallback_buffer_get_address_none, INVALID_ARGUMENT, "location 2", ferrum_fallback_buffer_get_address(f->buffer, 2, OUT(ferrum_address, {0}))) \
    X(fallback_buffer_move_none, INVALID_ARGUMENT, "location -1", ferrum_fallback_buffer_move(f->buffer, -1)) \
    X(fallback_buffer_move_pinned, BUSY, "pinned 1 times", ({ MUST(ferrum_fallback_buffer_pin(f->buffer, NULL, NULL)); ferrum_status s = ferrum_fallback_buffer_move(f->buffer, FERRUM_LOCATION_CPU); MUST(ferrum_fallback_buffer_unpin(f->buffer)); s; })) \
    X(fallback_buffer_unpin_none, INVALID_STATE, "not pinned", ferrum_fallback_buffer_unpin(f->buffer)) \
    X(fallback_buffer_write_size_0, INVALID_SIZE, "size_bytes is 0", ferrum_fallback_buffer_write(f->buffer, 0, "x", 0)) \
    X(fallback_buffer_write_outside, INVALID_OFFSET, "offset_bytes 4000 + size_bytes 97", ferrum_fallback_buffer_write(f->buffer, 4000, long_text, 97)) \
    X(fallback_buffer_read_wraps, INVALID_OFFSET, "size_bytes 18446744073709551615", ferrum_fallback_buffer_read(f->buffer, 1, (char[4]){0}, UINT64_MAX)) \
    X(fallback_buffer_take_other, INVALID_STATE, "on the GPU", ferrum_fallback_buffer_take(f->buffer, FERRUM_LOCATION_CPU, OUT(ferrum_address, {0}))) \
    X(fallback_buffer_take_none, INVALID_ARGUMENT, "side 3", ferrum_fallback_buffer_take(f->buffer, 3, OUT(ferrum_address, {0}))) \
    X(estimate_model_memory_heads, INVALID_ARGUMENT, "n_heads is 0", shape_with(change_shape_no_heads)) \
    X(estimate_model_memory_reserved, INVALID_STRUCT, "reserved", shape_with(change_shape_reserved)) \
    X(estimate_model_memory_huge, OVERFLOW, "the size of the model", shape_with(change_shape_huge)) \
    X(estimate_kv_cache_memory_huge, OVERFLOW, "the size of the KV cache", ({ ferrum_kv_cache_shape s = FERRUM_KV_CACHE_SHAPE_INIT; s.num_layers = UINT64_MAX; s.num_kv_heads = s.head_dim = s.max_seq_len = s.dtype_bytes = 1; ferrum_estimate_kv_cache_memory(&s, OUT(uint64_t, {0})); })) \
    X(estimate_file_json_missing, NOT_FOUND, "/nonexistent", ferrum_estimate_file_json("/nonexistent", NULL, NULL, 0, OUT(size_t, {0}))) \
    X(estimate_file_json_empty, NOT_FOUND, "no such file", ferrum_estimate_file_json("", NULL, NULL, 0, OUT(size_t, {0}))) \
    X(estimate_file_json_device, INVALID_ARGUMENT, "/dev/null is not a file", ferrum_estimate_file_json("/dev/null", NULL, NULL, 0, OUT(size_t, {0}))) \
    X(estimate_file_json_long, INVALID_ARGUMENT, "path", ({ static char name[FERRUM_PATH_MAX + 1]; memset(name, 'x', FERRUM_PATH_MAX); ferrum_estimate_file_json(name, NULL, NULL, 0, OUT(size_t, {0})); })) \
    X(estimate_config_json_empty, INVALID_FORMAT, "config.json", ferrum_estimate_config_json("", 0, NULL, NULL, 0, OUT(size_t, {0}))) \
    X(estimate_config_json_long, INVALID_SIZE, "config_bytes", ferrum_estimate_config_json("{}", SIZE_MAX, NULL, NULL, 0, OUT(size_t, {0}))) \
    X(estimate_config_json_field, INVALID_FORMAT, "model_type: is missing", ferrum_estimate_config_json("{}", 2, NULL, NULL, 0, OUT(size_t, {0}))) \
    X(estimate_config_json_flags, INVALID_ARGUMENT, "flags is 0x4", estimate_with(change_estimate_flags)) \
    X(estimate_config_json_context_0, INVALID_ARGUMENT, "context 0", estimate_with(change_estimate_context_0)) \
    X(estimate_config_json_context_max, INVALID_ARGUMENT, "context 18446744073709551615", estimate_with(change_estimate_context_max)) \
    X(estimate_config_json_batch_0, INVALID_ARGUMENT, "batch 0", estimate_with(change_estimate_batch_0)) \
    X(estimate_config_json_devices_0, INVALID_ARGUMENT, "tensor_parallel", estimate_with(change_estimate_devices_0)) \
    X(estimate_config_json_devices, INVALID_ARGUMENT, "tensor_parallel 65537", estimate_with(change_estimate_devices)) \
    X(estimate_config_json_overhead, INVALID_ARGUMENT, "overhead_permille 1001", estimate_with(change_estimate_overhead)) \
    X(estimate_config_json_kv_dtype, INVALID_ARGUMENT, "\"f7\"", estimate_with(change_estimate_kv_dtype)) \
    X(estimate_config_json_kv_dtype_long, INVALID_ARGUMENT, "request->kv_dtype", estimate_with(change_estimate_kv_dtype_long)) \
    X(estimate_config_json_weight_dtype, INVALID_ARGUMENT, "\"q9\"", estimate_with(change_estimate_weight_dtype)) \
    X(estimate_config_json_too_much, OVERFLOW, "the size of the KV cache", estimate_with(change_estimate_too_much)) \
    X(init_other_settings, INVALID_STATE, "", init_with(1 << 30, 1, 0, 0)) \
    X(init_flags, INVALID_ARGUMENT, "flags", init_with(0, 0, 8, 0)) \
    X(init_reserved, INVALID_STRUCT, "reserved", init_with(0, 0, 0, 1)) \
    X(shutdown_flags, INVALID_ARGUMENT, "flags", ferrum_shutdown(8)) \
    X(shutdown_in_use, BUSY, "", ferrum_shutdown(0)) \
    X(log_set_callback_level, INVALID_ARGUMENT, "17", ferrum_log_set_callback(17, NULL, NULL)) \
    X(log_set_callback_negative, INVALID_ARGUMENT, "-1", ferrum_log_set_callback(-1, NULL, NULL)) \
    X(backends_json_small, BUFFER_TOO_SMALL, "capacity", small_buffer(ferrum_backends_json)) \
    X(backends_summary_small, BUFFER_TOO_SMALL, "capacity", small_buffer(ferrum_backends_summary)) \
    X(backend_select_number, INVALID_ARGUMENT, "preference is 6", ferrum_backend_select(6, 1, OUT(ferrum_backend_choice, FERRUM_BACKEND_CHOICE_INIT))) \
    X(backend_select_negative, INVALID_ARGUMENT, "preference is -1", ferrum_backend_select(-1, 1, OUT(ferrum_backend_choice, FERRUM_BACKEND_CHOICE_INIT))) \
    X(backend_select_never_fits, OUT_OF_MEMORY, "cpu:0: needs", ferrum_backend_select(0, UINT64_MAX, OUT(ferrum_backend_choice, FERRUM_BACKEND_CHOICE_INIT))) \
    X(backend_open_number, INVALID_ARGUMENT, "preference is 1000", ferrum_backend_open(1000, 1, OUT(ferrum_device, {0}), NULL)) \
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
    X(device_open_long, INVALID_ARGUMENT, "id", ferrum_device_open(long_text, OUT(ferrum_device, {0}))) \
    X(device_open_utf8, INVALID_ARGUMENT, "id", ferrum_device_open("\xff:0", OUT(ferrum_device, {0}))) \
    X(device_close_flags, INVALID_ARGUMENT, "flags", ferrum_device_close(f->device, 2)) \
    X(device_close_in_use, BUSY, "", ferrum_device_close(f->device, 0)) \
    X(stream_destroy_flags, INVALID_ARGUMENT, "flags", ferrum_stream_destroy(f->stream, 2)) \
    X(stream_destroy_default, INVALID_ARGUMENT, "default", ({ ferrum_stream s; MUST(ferrum_stream_default(f->device, &s)); ferrum_stream_destroy(s, 0); })) \
    X(event_elapsed_two_devices, INVALID_ARGUMENT, "", ({ ferrum_event e; MUST(ferrum_event_record(f->other_stream, &e)); MUST(ferrum_event_synchronize(e, FERRUM_WAIT_FOREVER)); ferrum_status s = ferrum_event_elapsed(f->event, e, OUT(int64_t, {0})); MUST(ferrum_event_destroy(e)); s; })) \
    X(pool_create_initial_above_max, INVALID_CONFIG, "max", pool_with(f, change_initial_above_max)) \
    X(pool_create_no_increment, INVALID_CONFIG, "increment", pool_with(f, change_no_increment)) \
    X(pool_create_odd_alignment, INVALID_ALIGNMENT, "48", pool_with(f, change_odd_alignment)) \
    X(pool_create_huge_alignment, INVALID_ALIGNMENT, "2147483648", pool_with(f, change_huge_alignment)) \
    X(pool_create_expansion, INVALID_ARGUMENT, "enable_auto_expansion", pool_with(f, change_expansion_2)) \
    X(pool_create_pre_allocate, INVALID_ARGUMENT, "pre_allocate", pool_with(f, change_pre_allocate_9)) \
    X(pool_create_stats, INVALID_ARGUMENT, "enable_stats", pool_with(f, change_stats_7)) \
    X(pool_create_strategy, NOT_FOUND, "worst_fit", pool_with(f, change_no_strategy)) \
    X(pool_create_long_name, INVALID_ARGUMENT, "name", pool_with(f, change_long_name)) \
    X(pool_create_utf8, INVALID_ARGUMENT, "name", pool_with(f, change_bad_utf8)) \
    X(pool_create_too_much, OUT_OF_MEMORY, "", pool_with(f, change_too_much)) \
    X(pool_create_near_max, OVERFLOW, "", pool_with(f, change_near_max)) \
    X(pool_destroy_flags, INVALID_ARGUMENT, "flags", ferrum_pool_destroy(f->pool, 16)) \
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
    X(pool_create_tracking, INVALID_ARGUMENT, "tracking", pool_with(f, change_pool_tracking_2)) \
    X(pool_create_debug, INVALID_ARGUMENT, "0x40", pool_with(f, change_pool_debug_bits)) \
    X(pool_create_paging, INVALID_CONFIG, "paging is 3", pool_with(f, change_paging_3)) \
    X(pool_create_source, INVALID_CONFIG, "segment_source is 2", pool_with(f, change_segment_source_2)) \
    X(pool_create_reserved, INVALID_STRUCT, "reserved is 5", pool_with(f, change_pool_reserved)) \
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
    X(pool_get_tag_long, INVALID_ARGUMENT, "name", ferrum_pool_get_tag(f->pool, long_text, OUT(uint32_t, {0}))) \
    X(pool_get_tag_utf8, INVALID_ARGUMENT, "name", ferrum_pool_get_tag(f->pool, "\xff", OUT(uint32_t, {0}))) \
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
    X(pool_capture_begin_on_the_host, UNSUPPORTED, "do not capture", ferrum_pool_capture_begin(f->pool, f->stream, 0, OUT(uint64_t, {0}))) \
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
    X(manager_create_tracking, INVALID_ARGUMENT, "enable_tracking", manager_with(f, change_tracking_3)) \
    X(manager_create_gc, INVALID_ARGUMENT, "enable_auto_gc", manager_with(f, change_gc_3)) \
    X(manager_create_debug, INVALID_ARGUMENT, "enable_debug", manager_with(f, change_debug_3)) \
    X(manager_create_pool_of_no_type, INVALID_STRUCT, "pool_configs[7]", manager_with(f, change_pool_of_no_type)) \
    X(manager_destroy_flags, INVALID_ARGUMENT, "flags", ferrum_manager_destroy(f->manager, 2)) \
    X(manager_destroy_in_use, BUSY, "", ferrum_manager_destroy(f->manager, 0)) \
    X(manager_configure_pool_type, INVALID_ARGUMENT, "42", ({ ferrum_pool_config c = FERRUM_POOL_CONFIG_INIT; ferrum_manager_configure_pool(f->manager, 42, &c); })) \
    X(manager_configure_pool_bad, INVALID_CONFIG, "increment", ({ ferrum_pool_config c = FERRUM_POOL_CONFIG_INIT; c.growth_increment_bytes = 0; ferrum_manager_configure_pool(f->manager, 0, &c); })) \
    X(manager_alloc_size_0, INVALID_SIZE, "size", ferrum_manager_alloc(f->manager, 0, OUT(ferrum_memory, {0}))) \
    X(manager_alloc_size_max, OVERFLOW, "18446744073709551615", ferrum_manager_alloc(f->manager, UINT64_MAX, OUT(ferrum_memory, {0}))) \
    X(manager_alloc_never_fits, OUT_OF_MEMORY, "", ferrum_manager_alloc(f->manager, UINT64_C(1) << 50, OUT(ferrum_memory, {0}))) \
    X(manager_alloc_with_alignment_odd, INVALID_ALIGNMENT, "3", manager_alloc_aligned(f->manager, 16, 3, OUT(ferrum_memory, {0}))) \
    X(manager_alloc_with_alignment_huge, INVALID_ALIGNMENT, "2147483648", manager_alloc_aligned(f->manager, 16, UINT64_C(1) << 31, OUT(ferrum_memory, {0}))) \
    X(manager_alloc_with_99, INVALID_ARGUMENT, "99", typed_with(f, change_type_99)) \
    X(manager_alloc_with_negative, INVALID_ARGUMENT, "-1", typed_with(f, change_type_negative)) \
    X(manager_alloc_with_pinned_moving, INVALID_ARGUMENT, "relocatable", typed_with(f, change_type_pinned)) \
    X(manager_alloc_with_pinned_huge, OVERFLOW, "18446744073709551615", typed_with(f, change_type_pinned_huge)) \
    X(manager_alloc_with_mapped_huge, OVERFLOW, "18446744073709551615", typed_with(f, change_type_mapped)) \
    X(manager_alloc_with_size_0, INVALID_SIZE, "size", typed_with(f, change_typed_size_0)) \
    X(manager_alloc_with_size_max, OVERFLOW, "18446744073709551615", typed_with(f, change_typed_size_max)) \
    X(manager_alloc_with_alignment, INVALID_ALIGNMENT, "3", typed_with(f, change_typed_alignment)) \
    X(manager_alloc_with_flags, INVALID_ARGUMENT, "0x2 is not known", typed_with(f, change_typed_flags)) \
    X(manager_alloc_with_reserved, INVALID_STRUCT, "reserved", typed_with(f, change_typed_reserved)) \
    X(memory_unpin_not_pinned, INVALID_STATE, "not pinned", ferrum_memory_unpin(f->memory)) \
    X(memory_map_size_0, INVALID_SIZE, "size_bytes is 0", map_with(f->memory.id, 0, 0, 0)) \
    X(memory_map_range, INVALID_OFFSET, "offset_bytes 4095", map_with(f->memory.id, 4095, 2, 0)) \
    X(memory_map_to_end, INVALID_OFFSET, "", map_with(f->memory.id, 4096, 1, 0)) \
    X(memory_map_to_no_end, INVALID_OFFSET, "offset_bytes 4096", map_with(f->memory.id, 4096, FERRUM_MAP_TO_END, 0)) \
    X(memory_map_overflow, OVERFLOW, "64 bits", map_with(f->memory.id, UINT64_MAX, 2, 0)) \
    X(memory_map_access, INVALID_ARGUMENT, "access 3", map_with(f->memory.id, 0, 1, 3)) \
    X(memory_map_access_negative, INVALID_ARGUMENT, "access -1", map_with(f->memory.id, 0, 1, -1)) \
    X(memory_map_overlap, BUSY, "overlap", while_mapped(f, 0)) \
    X(memory_free_mapped, BUSY, "1 mappings", while_mapped(f, 1)) \
    X(memory_unmap_not_mapped, NOT_MAPPED, "mapping 0", ferrum_memory_unmap(f->memory, 0)) \
    X(memory_unmap_unknown, NOT_MAPPED, "mapping 77", ferrum_memory_unmap(f->memory, 77)) \
    X(manager_create_mapping_one_device, INVALID_ARGUMENT, "cpu:0", link_with(f->manager.id, f->manager.id, NULL)) \
    X(manager_create_mapping_size_0, INVALID_SIZE, "size_bytes is 0", link_from(f, change_link_size_0)) \
    X(manager_create_mapping_size_max, OVERFLOW, "18446744073709551615", link_from(f, change_link_size_max)) \
    X(manager_create_mapping_alignment, INVALID_ALIGNMENT, "48", link_from(f, change_link_alignment)) \
    X(manager_create_mapping_reserved, INVALID_STRUCT, "reserved", link_from(f, change_link_reserved)) \
    X(manager_create_mapping_tag, INVALID_ARGUMENT, "request->tag", link_from(f, change_link_tag)) \
    X(memory_prefetch_other_device, INVALID_ARGUMENT, "cpu:1", ferrum_memory_prefetch(f->memory, f->device, f->other_stream)) \
    X(memory_set_usage_hint_unknown, INVALID_ARGUMENT, "hint 7", ferrum_memory_set_usage_hint(f->memory, 7)) \
    X(memory_set_usage_hint_negative, INVALID_ARGUMENT, "hint -1", ferrum_memory_set_usage_hint(f->memory, -1)) \
    X(manager_adopt_address_0, INVALID_ADDRESS, "address is 0", adopt_foreign(f->manager.id, change_adopt_address_0)) \
    X(manager_adopt_nowhere, INVALID_ADDRESS, "0x1000", adopt_foreign(f->manager.id, change_adopt_nowhere)) \
    X(manager_adopt_read_only, INVALID_ADDRESS, "writable", adopt_foreign(f->manager.id, change_adopt_text)) \
    X(manager_adopt_size_0, INVALID_SIZE, "size_bytes is 0", adopt_foreign(f->manager.id, change_adopt_size_0)) \
    X(manager_adopt_size_max, OVERFLOW, "18446744073709551615", adopt_foreign(f->manager.id, change_adopt_size_max)) \
    X(manager_adopt_too_long, INVALID_ADDRESS, "1152921504606846976", adopt_foreign(f->manager.id, change_adopt_too_long)) \
    X(manager_adopt_type, INVALID_ARGUMENT, "memory_type 7", adopt_foreign(f->manager.id, change_adopt_type)) \
    X(manager_adopt_tag, INVALID_ARGUMENT, "adoption->tag", adopt_foreign(f->manager.id, change_adopt_tag)) \
    X(manager_adopt_twice, ALREADY_EXISTS, "overlaps", adopt_twice(f)) \
    X(stream_adopt_native, UNSUPPORTED, "0x5", stream_of(f->device.id, change_native)) \
    X(stream_adopt_reserved, INVALID_STRUCT, "reserved", stream_of(f->device.id, change_foreign_reserved)) \
    X(stream_adopt_refuses, DEVICE, "status -25", refused_by_its_owner(f)) \
    X(device_open_native_host, ALREADY_EXISTS, "0x7", ferrum_device_open_native("cpu:0", 7, OUT(ferrum_device, {0}))) \
    X(device_open_native_id, INVALID_ARGUMENT, "cpu-0", ferrum_device_open_native("cpu-0", 7, OUT(ferrum_device, {0}))) \
    X(device_open_native_none, DEVICE_NOT_FOUND, "nothing:0", ferrum_device_open_native("nothing:0", 7, OUT(ferrum_device, {0}))) \
    X(device_get_native_host, UNSUPPORTED, "native", ferrum_device_get_native(f->device, OUT(uint64_t, {0}))) \
    X(stream_get_native_host, UNSUPPORTED, "native", ferrum_stream_get_native(f->stream, OUT(uint64_t, {0}))) \
    X(event_adopt_host, UNSUPPORTED, "events of others", ferrum_event_adopt(f->device, 5, OUT(ferrum_event, {0}))) \
    X(event_get_native_host, UNSUPPORTED, "native", ferrum_event_get_native(f->event, OUT(uint64_t, {0}))) \
    X(device_grant_peer_itself, INVALID_ARGUMENT, "the device itself", ferrum_device_grant_peer(f->device, f->device)) \
    X(vpool_export_movable, INVALID_ARGUMENT, "backing is 0", ferrum_vpool_export(f->vpool, 0, FIXTURE_PAGE, NULL, 0, OUT(size_t, {0}))) \
    X(manager_import_pages_none, INVALID_ARGUMENT, "pages->count is 0", import_with(f->manager.id, change_import_none)) \
    X(manager_import_pages_many, INVALID_ARGUMENT, "pages->count is 18446744073709551615", import_with(f->manager.id, change_import_many)) \
    X(manager_import_pages_closed, INVALID_ARGUMENT, "descriptor -1", import_with(f->manager.id, change_import_closed)) \
    X(manager_import_pages_size_0, INVALID_PAGE_SIZE, "of 0 bytes", import_with(f->manager.id, change_import_size_0)) \
    X(manager_import_pages_size, INVALID_PAGE_SIZE, "page size 3", import_with(f->manager.id, change_import_size)) \
    X(manager_import_pages_size_max, INVALID_PAGE_SIZE, "18446744073709551615", import_with(f->manager.id, change_import_size_max)) \
    X(manager_import_pages_file, INVALID_ARGUMENT, "is no page that was exported", import_with(f->manager.id, NULL)) \
    X(manager_import_pages_reserved, INVALID_STRUCT, "reserved", import_with(f->manager.id, change_import_reserved)) \
    X(manager_import_pages_tag, INVALID_ARGUMENT, "pages->tag", import_with(f->manager.id, change_import_tag)) \
    X(device_share_memory_host, UNSUPPORTED, "cpu:0", ferrum_device_share_memory(f->device, f->block, 16, OUT(ferrum_shared_memory, FERRUM_SHARED_MEMORY_INIT))) \
    X(manager_import_memory_host, UNSUPPORTED, "cpu:0", ferrum_manager_import_memory(f->manager, OUT(ferrum_shared_memory, FERRUM_SHARED_MEMORY_INIT), NULL, OUT(ferrum_memory, {0}))) \
    X(manager_import_memory_reserved, INVALID_STRUCT, "reserved", ({ ferrum_shared_memory m = FERRUM_SHARED_MEMORY_INIT; m.reserved = 1; ferrum_manager_import_memory(f->manager, &m, NULL, OUT(ferrum_memory, {0})); })) \
    X(manager_import_memory_tag, INVALID_ARGUMENT, "tag", ferrum_manager_import_memory(f->manager, OUT(ferrum_shared_memory, FERRUM_SHARED_MEMORY_INIT), "\xff", OUT(ferrum_memory, {0}))) \
    X(event_share_host, UNSUPPORTED, "cpu:0", ferrum_event_share(f->stream, OUT(ferrum_shared_event, FERRUM_SHARED_EVENT_INIT), OUT(ferrum_event, {0}))) \
    X(event_open_host, UNSUPPORTED, "cpu:0", ferrum_event_open(f->device, OUT(ferrum_shared_event, FERRUM_SHARED_EVENT_INIT), OUT(ferrum_event, {0}))) \
    X(event_open_reserved, INVALID_STRUCT, "reserved", ({ ferrum_shared_event e = FERRUM_SHARED_EVENT_INIT; e.reserved = 1; ferrum_event_open(f->device, &e, OUT(ferrum_event, {0})); })) \
    X(manager_alloc_with_tag, INVALID_ARGUMENT, "tag", typed_with(f, change_typed_tag)) \
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
    X(vpool_create_flags, INVALID_ARGUMENT, "flags is 0x2", vpool_on(f->device, change_vpool_flags)) \
    X(vpool_create_capacity_0, INVALID_SIZE, "capacity_bytes is 0", vpool_on(f->device, change_vpool_capacity_0)) \
    X(vpool_create_capacity_max, INVALID_SIZE, "18446744073709551615", vpool_on(f->device, change_vpool_capacity_max)) \
    X(vpool_create_capacity_huge, OUT_OF_VIRTUAL_MEMORY, "4611686018427387904", vpool_on(f->device, change_vpool_capacity_huge)) \
    X(vpool_create_capacity_of_the_system, OUT_OF_VIRTUAL_MEMORY, "2251799813685248", vpool_on(f->device, change_vpool_capacity_of_the_system)) \
    X(vpool_create_page_3, INVALID_PAGE_SIZE, "page_bytes 3", vpool_on(f->device, change_vpool_page_3)) \
    X(vpool_create_page_small, INVALID_PAGE_SIZE, "page_bytes 32768", vpool_on(f->device, change_vpool_page_small)) \
    X(vpool_create_page_odd, INVALID_PAGE_SIZE, "page_bytes 196608", vpool_on(f->device, change_vpool_page_odd)) \
    X(vpool_create_page_max, INVALID_PAGE_SIZE, "18446744073709551615", vpool_on(f->device, change_vpool_page_max)) \
    X(vpool_create_limit, OUT_OF_PHYSICAL_MEMORY, "requested 1125899906842624, available 268435456", vpool_on(f->device, change_vpool_limit)) \
    X(vpool_create_ready, INVALID_ARGUMENT, "ready_pages is 65537", vpool_on(f->device, change_vpool_ready)) \
    X(vpool_create_backing, INVALID_CONFIG, "backing 7", vpool_on(f->device, change_vpool_backing)) \
    X(vpool_create_backing_negative, INVALID_CONFIG, "backing -1", vpool_on(f->device, change_vpool_backing_negative)) \
    X(vpool_create_long_name, INVALID_ARGUMENT, "name", vpool_on(f->device, change_vpool_long_name)) \
    X(vpool_create_utf8, INVALID_ARGUMENT, "name", vpool_on(f->device, change_vpool_bad_utf8)) \
    X(vpool_destroy_flags, INVALID_ARGUMENT, "flags", ferrum_vpool_destroy(f->vpool, 2)) \
    X(vpool_destroy_in_use, BUSY, "elastic", ferrum_vpool_destroy(f->vpool, 0)) \
    X(vpool_alloc_size_0, INVALID_SIZE, "size 0", vpool_alloc_with(f->vpool, 4 * FIXTURE_PAGE, 0)) \
    X(vpool_alloc_outside, INVALID_OFFSET, "offset 67108864, size 1, capacity 67108864", vpool_alloc_with(f->vpool, UINT64_C(64) << 20, 1)) \
    X(vpool_alloc_past_the_end, INVALID_OFFSET, "offset 67108863, size 2, capacity 67108864", vpool_alloc_with(f->vpool, (UINT64_C(64) << 20) - 1, 2)) \
    X(vpool_alloc_offset_max, INVALID_OFFSET, "offset 18446744073709551615, size 1", vpool_alloc_with(f->vpool, UINT64_MAX, 1)) \
    X(vpool_alloc_size_max, INVALID_OFFSET, "offset 1, size 18446744073709551615", vpool_alloc_with(f->vpool, 1, UINT64_MAX)) \
    X(vpool_alloc_both_max, INVALID_OFFSET, "18446744073709551615", vpool_alloc_with(f->vpool, UINT64_MAX, UINT64_MAX)) \
    X(vpool_alloc_mapped, ALREADY_MAPPED, "offset 65536, page size 65536", vpool_alloc_with(f->vpool, FIXTURE_PAGE + 5, 4 * FIXTURE_PAGE)) \
    X(vpool_alloc_above_the_limit, OUT_OF_PHYSICAL_MEMORY, "requested 33554432 bytes, available 16646144", vpool_alloc_with(f->vpool, 4 * FIXTURE_PAGE, UINT64_C(32) << 20)) \
    X(vpool_alloc_with_tag_long, INVALID_ARGUMENT, "tag", vpool_tagged_with(f->vpool, long_text)) \
    X(vpool_alloc_with_tag_utf8, INVALID_ARGUMENT, "tag", vpool_tagged_with(f->vpool, "\xff")) \
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
    X(vpool_set_limit_too_much, OUT_OF_PHYSICAL_MEMORY, "requested 1125899906842624, available 268435456", ferrum_vpool_set_limit(f->vpool, UINT64_C(1) << 50)) \
    X(vpool_set_limit_max, OUT_OF_PHYSICAL_MEMORY, "18446744073709551615", ferrum_vpool_set_limit(f->vpool, UINT64_MAX)) \
    X(elastic_pool_create_flags, INVALID_ARGUMENT, "flags is 0x1", shared_on(f->device, change_shared_flags)) \
    X(elastic_pool_create_page, INVALID_PAGE_SIZE, "page_bytes 4096", shared_on(f->device, change_shared_page)) \
    X(elastic_pool_create_limit_small, INVALID_CONFIG, "limit_bytes 1 ", shared_on(f->device, change_shared_limit_small)) \
    X(elastic_pool_create_limit, OUT_OF_PHYSICAL_MEMORY, "requested 1125899906842624, available 268435456", shared_on(f->device, change_shared_limit)) \
    X(elastic_pool_create_ready, INVALID_ARGUMENT, "ready_pages is 65537", shared_on(f->device, change_shared_ready)) \
    X(elastic_pool_create_backing, INVALID_CONFIG, "backing 2", shared_on(f->device, change_shared_backing)) \
    X(elastic_pool_create_name, INVALID_ARGUMENT, "name", shared_on(f->device, change_shared_name)) \
    X(elastic_pool_destroy_flags, INVALID_ARGUMENT, "flags", ferrum_elastic_pool_destroy(f->shared, 4)) \
    X(elastic_pool_destroy_in_use, BUSY, "chat", ferrum_elastic_pool_destroy(f->shared, 0)) \
    X(elastic_pool_register_model_twice, MODEL_ALREADY_EXISTS, "\"chat\"", register_with(f->shared, "chat", NULL)) \
    X(elastic_pool_register_model_empty, INVALID_ARGUMENT, "id", register_with(f->shared, "", NULL)) \
    X(elastic_pool_register_model_long, INVALID_ARGUMENT, "model", register_with(f->shared, long_text, NULL)) \
    X(elastic_pool_register_model_utf8, INVALID_ARGUMENT, "model", register_with(f->shared, "\xff", NULL)) \
    X(elastic_pool_register_model_virtual_0, INVALID_SIZE, "0", register_with(f->shared, "new", change_model_virtual_0)) \
    X(elastic_pool_register_model_virtual_max, INVALID_SIZE, "18446744073709551615", register_with(f->shared, "new", change_model_virtual_max)) \
    X(elastic_pool_register_model_virtual_huge, OUT_OF_VIRTUAL_MEMORY, "4611686018427387904", register_with(f->shared, "new", change_model_virtual_huge)) \
    X(elastic_pool_register_model_guaranteed, INVALID_CONFIG, "guaranteed_bytes 17825792", register_with(f->shared, "new", change_model_guaranteed)) \
    X(elastic_pool_register_model_guaranteed_max, INVALID_CONFIG, "18446744073709551615", register_with(f->shared, "new", change_model_guaranteed_max)) \
    X(elastic_pool_register_model_above_its_max, INVALID_CONFIG, "max_bytes 65536", register_with(f->shared, "new", change_model_above_its_max)) \
    X(elastic_pool_register_model_max_small, INVALID_CONFIG, "max_bytes 100", register_with(f->shared, "new", change_model_max_small)) \
    X(elastic_pool_register_model_unscrubbed, INVALID_ARGUMENT, "unscrubbed is 2", register_with(f->shared, "new", change_model_unscrubbed)) \
    X(elastic_pool_register_model_may_wait, INVALID_ARGUMENT, "guarantee_may_wait is 2", register_with(f->shared, "new", change_model_may_wait)) \
    X(elastic_pool_set_model_limits_may_wait, INVALID_ARGUMENT, "guarantee_may_wait is 2", ({ ferrum_model_limits l = FERRUM_MODEL_LIMITS_INIT; l.guarantee_may_wait = 2; ferrum_elastic_pool_set_model_limits(f->shared, "chat", &l); })) \
    X(elastic_pool_set_model_limits_reserved, INVALID_STRUCT, "reserved", ({ ferrum_model_limits l = FERRUM_MODEL_LIMITS_INIT; l.reserved = 1; ferrum_elastic_pool_set_model_limits(f->shared, "chat", &l); })) \
    X(elastic_pool_unregister_model_unknown, MODEL_NOT_FOUND, "\"code\"", ferrum_elastic_pool_unregister_model(f->shared, "code", 0)) \
    X(elastic_pool_unregister_model_flags, INVALID_ARGUMENT, "flags", ferrum_elastic_pool_unregister_model(f->shared, "chat", 2)) \
    X(elastic_pool_unregister_model_in_use, BUSY, "chat", ferrum_elastic_pool_unregister_model(f->shared, "chat", 0)) \
    X(elastic_pool_alloc_unknown, MODEL_NOT_FOUND, "\"code\"", shared_allocate_with(f->shared, "code", 16)) \
    X(elastic_pool_alloc_empty, MODEL_NOT_FOUND, "\"\"", shared_allocate_with(f->shared, "", 16)) \
    X(elastic_pool_alloc_long, INVALID_ARGUMENT, "model", shared_allocate_with(f->shared, long_text, 16)) \
    X(elastic_pool_alloc_size_0, INVALID_SIZE, "size", shared_allocate_with(f->shared, "chat", 0)) \
    X(elastic_pool_alloc_size_max, OUT_OF_VIRTUAL_MEMORY, "18446744073709551615", shared_allocate_with(f->shared, "chat", UINT64_MAX)) \
    X(elastic_pool_alloc_above_the_limit, OUT_OF_PHYSICAL_MEMORY, "requested 33554432 bytes, available 16646144", shared_allocate_with(f->shared, "chat", UINT64_C(32) << 20)) \
    X(elastic_pool_alloc_with_at_unknown, MODEL_NOT_FOUND, "\"code\"", shared_allocate_at(f->shared, "code", 0, 16)) \
    X(elastic_pool_alloc_with_at_mapped, ALREADY_MAPPED, "offset 0, page size 65536", shared_allocate_at(f->shared, "chat", 0, 16)) \
    X(elastic_pool_alloc_with_at_outside, INVALID_OFFSET, "offset 67108864, size 1, capacity 67108864", shared_allocate_at(f->shared, "chat", UINT64_C(64) << 20, 1)) \
    X(elastic_pool_alloc_with_at_max, INVALID_OFFSET, "18446744073709551615", shared_allocate_at(f->shared, "chat", UINT64_MAX, UINT64_MAX)) \
    X(elastic_pool_alloc_with_at, INVALID_ARGUMENT, "at_offset is 2", model_asked_with(f->shared, "chat", change_range_at_2)) \
    X(elastic_pool_alloc_with_not_at, INVALID_OFFSET, "65536", model_asked_with(f->shared, "chat", change_range_not_at)) \
    X(elastic_pool_alloc_with_size_0, INVALID_SIZE, "size", model_asked_with(f->shared, "chat", change_range_size_0)) \
    X(elastic_pool_alloc_with_tag, INVALID_ARGUMENT, "tag", model_asked_with(f->shared, "chat", change_range_tag)) \
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
    X(elastic_pool_set_limit_too_much, OUT_OF_PHYSICAL_MEMORY, "requested 1125899906842624, available 268435456", ferrum_elastic_pool_set_limit(f->shared, UINT64_C(1) << 50)) \
    X(elastic_pool_reclaim_callback_add_unknown, MODEL_NOT_FOUND, "\"code\"", ferrum_elastic_pool_reclaim_callback_add(f->shared, "code", NULL, model_reclaim, NULL, OUT(ferrum_registration, {0}))) \
    X(elastic_pool_reclaim_callback_add_forever, INVALID_ARGUMENT, "deadline_ns", ({ ferrum_reclaim_config c = FERRUM_RECLAIM_CONFIG_INIT; c.deadline_ns = UINT64_MAX; ferrum_elastic_pool_reclaim_callback_add(f->shared, "chat", &c, model_reclaim, NULL, OUT(ferrum_registration, {0})); })) \
    X(elastic_pool_reclaim_callback_add_priority, INVALID_ARGUMENT, "priority is 3", ({ ferrum_reclaim_config c = FERRUM_RECLAIM_CONFIG_INIT; c.priority = 3; ferrum_elastic_pool_reclaim_callback_add(f->shared, "chat", &c, model_reclaim, NULL, OUT(ferrum_registration, {0})); })) \
    X(pressure_level_of_profile, INVALID_ARGUMENT, "profile 2", ({ ferrum_pressure_level l = 7; ferrum_status s = ferrum_pressure_level_of(2, 100, 50, &l); l == 0 ? s : FERRUM_OK; })) \
    X(pressure_level_of_profile_negative, INVALID_ARGUMENT, "profile -1", ferrum_pressure_level_of(-1, 100, 50, OUT(ferrum_pressure_level, {0}))) \
    X(pressure_from_utilization_profile, INVALID_ARGUMENT, "profile 2", level_of_ratio(2, 0.5)) \
    X(pressure_from_utilization_negative, INVALID_ARGUMENT, "-0.25", level_of_ratio(0, -0.25)) \
    X(pressure_from_utilization_nan, INVALID_ARGUMENT, "NaN", level_of_ratio(1, 0.0 / 0.0)) \
    X(pressure_from_utilization_below_all, INVALID_ARGUMENT, "-Inf", level_of_ratio(1, -1.0 / 0.0)) \
    X(monitor_create_profile, INVALID_ARGUMENT, "profile 2", monitor_with(change_monitor_profile)) \
    X(monitor_create_flags, INVALID_ARGUMENT, "flags is 0x2", monitor_with(change_monitor_flags)) \
    X(monitor_create_reserved, INVALID_STRUCT, "reserved", monitor_with(change_monitor_reserved)) \
    X(monitor_register_twice, ALREADY_EXISTS, "cpu:0", ({ MUST(ferrum_monitor_register(f->monitor, f->manager)); ferrum_status s = ferrum_monitor_register(f->monitor, f->manager); MUST(ferrum_monitor_unregister(f->monitor, f->manager)); s; })) \
    X(monitor_unregister_unknown, NOT_FOUND, "cpu:0", ferrum_monitor_unregister(f->monitor, f->manager)) \
    X(monitor_unregister_device_unknown, NOT_FOUND, "cpu:1", ferrum_monitor_unregister_device(f->monitor, f->other_device)) \
    X(monitor_get_levels_small, BUFFER_TOO_SMALL, "capacity is 1", ({ ferrum_manager m; ferrum_device_level l[1]; size_t n = 0; MUST(ferrum_manager_create(f->other_device, NULL, &m)); MUST(ferrum_monitor_register(f->monitor, f->manager)); MUST(ferrum_monitor_register(f->monitor, m)); ferrum_status s = ferrum_monitor_get_levels(f->monitor, 0, l, 1, &n); MUST(ferrum_monitor_unregister(f->monitor, f->manager)); MUST(ferrum_manager_destroy(m, 0)); n == 2 ? s : FERRUM_OK; })) \
    X(monitor_info_json_small, BUFFER_TOO_SMALL, "capacity", ({ char t[4] = "abc"; size_t n = 0; ferrum_status s = ferrum_monitor_info_json(f->monitor, 0, t, sizeof t, &n); n > sizeof t && t[0] == 0 ? s : FERRUM_OK; })) \
    X(monitor_collect_small, BUFFER_TOO_SMALL, "capacity is 0", ({ size_t n = 0; MUST(ferrum_monitor_register(f->monitor, f->manager)); ferrum_status s = ferrum_monitor_collect(f->monitor, NULL, 0, &n); MUST(ferrum_monitor_unregister(f->monitor, f->manager)); n == 1 ? s : FERRUM_OK; })) \
    X(placement_create_unknown, NOT_FOUND, "\"worst_fit\"", ({ ferrum_placement p = {1}; ferrum_status s = ferrum_placement_create("worst_fit", &p); p.id == 0 ? s : FERRUM_OK; })) \
    X(placement_create_empty, NOT_FOUND, "best_fit", ferrum_placement_create("", OUT(ferrum_placement, {0}))) \
    X(placement_create_utf8, INVALID_ARGUMENT, "strategy", ferrum_placement_create("\xff", OUT(ferrum_placement, {0}))) \
    X(placement_create_own_empty, INVALID_ARGUMENT, "name", name_own("")) \
    X(placement_create_own_long, INVALID_ARGUMENT, "name", name_own(long_text)) \
    X(placement_create_own_utf8, INVALID_ARGUMENT, "name", name_own("\xc3")) \
    X(placement_create_own_built_in, ALREADY_EXISTS, "\"spread\"", name_own("spread")) \
    X(placement_get_name_small, BUFFER_TOO_SMALL, "capacity", ({ char t[8] = "before"; size_t n = 0; ferrum_status s = ferrum_placement_get_name(f->placement, t, sizeof t, &n); n >= sizeof t && t[0] == 0 ? s : FERRUM_OK; })) \
    X(placement_select_size_0, INVALID_SIZE, "size", place(f->placement.id, change_place_size_0, 0)) \
    X(placement_select_too_much, NOT_FOUND, "cpu:1", place(f->placement.id, change_place_size_max, 0)) \
    X(placement_select_alignment, INVALID_ALIGNMENT, "48", place(f->placement.id, change_place_alignment, 0)) \
    X(placement_select_alignment_huge, INVALID_ALIGNMENT, "2147483648", place(f->placement.id, change_place_alignment_huge, 0)) \
    X(placement_select_type, INVALID_ARGUMENT, "99", place(f->placement.id, change_place_type, 0)) \
    X(placement_select_type_negative, INVALID_ARGUMENT, "-1", place(f->placement.id, change_place_type_negative, 0)) \
    X(placement_select_flags, INVALID_ARGUMENT, "flags is 0x8", place(f->placement.id, change_place_flags, 0)) \
    X(placement_select_profile, INVALID_ARGUMENT, "profile 5", place(f->placement.id, change_place_profile, 0)) \
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
    X(placement_explain_json_flags, INVALID_ARGUMENT, "flags is 0x8", place(f->placement.id, change_place_flags, 1)) \
    X(placement_explain_json_small, BUFFER_TOO_SMALL, "capacity", ({ ferrum_placement_request r = FERRUM_PLACEMENT_REQUEST_INIT; char t[4] = "abc"; size_t n = 0; r.size_bytes = 16; ferrum_status s = ferrum_placement_explain_json(f->placement, &r, t, sizeof t, &n); n > sizeof t && t[0] == 0 ? s : FERRUM_OK; })) \
    X(vpool_sleep_backing, INVALID_ARGUMENT, "backing 3", sleep_with(f, change_sleep_backing, 0)) \
    X(elastic_pool_sleep_model_backing, INVALID_ARGUMENT, "backing 3", sleep_with(f, change_sleep_backing, 1)) \
    X(vpool_sleep_backing_negative, INVALID_ARGUMENT, "backing -1", sleep_with(f, change_sleep_backing_negative, 0)) \
    X(elastic_pool_sleep_model_backing_negative, INVALID_ARGUMENT, "backing -1", sleep_with(f, change_sleep_backing_negative, 1)) \
    X(vpool_sleep_tag, INVALID_ARGUMENT, "config->tag", sleep_with(f, change_sleep_tag, 0)) \
    X(elastic_pool_sleep_model_tag, INVALID_ARGUMENT, "config->tag", sleep_with(f, change_sleep_tag, 1)) \
    X(vpool_sleep_tag_utf8, INVALID_ARGUMENT, "config->tag", sleep_with(f, change_sleep_tag_utf8, 0)) \
    X(elastic_pool_sleep_model_tag_utf8, INVALID_ARGUMENT, "config->tag", sleep_with(f, change_sleep_tag_utf8, 1)) \
    X(vpool_sleep_tag_unknown, NOT_FOUND, "none", sleep_with(f, change_sleep_tag_unknown, 0)) \
    X(elastic_pool_sleep_model_tag_unknown, NOT_FOUND, "none", sleep_with(f, change_sleep_tag_unknown, 1)) \
    X(vpool_sleep_directory, INVALID_ARGUMENT, "dir", sleep_with(f, change_sleep_directory, 0)) \
    X(elastic_pool_sleep_model_directory, INVALID_ARGUMENT, "dir", sleep_with(f, change_sleep_directory, 1)) \
    X(vpool_sleep_directory_long, INVALID_ARGUMENT, "config->directory", sleep_with(f, change_sleep_directory_long, 0)) \
    X(elastic_pool_sleep_model_directory_long, INVALID_ARGUMENT, "config->directory", sleep_with(f, change_sleep_directory_long, 1)) \
    X(vpool_sleep_directory_missing, IO, "/nonexistent", sleep_with(f, change_sleep_directory_missing, 0)) \
    X(elastic_pool_sleep_model_directory_missing, IO, "/nonexistent", sleep_with(f, change_sleep_directory_missing, 1)) \
    X(vpool_sleep_streams, INVALID_ARGUMENT, "streams 65", sleep_with(f, change_sleep_streams, 0)) \
    X(elastic_pool_sleep_model_streams, INVALID_ARGUMENT, "streams 65", sleep_with(f, change_sleep_streams, 1)) \
    X(vpool_sleep_streams_max, INVALID_ARGUMENT, "streams 2147483647", sleep_with(f, change_sleep_streams_max, 0)) \
    X(elastic_pool_sleep_model_streams_max, INVALID_ARGUMENT, "streams 2147483647", sleep_with(f, change_sleep_streams_max, 1)) \
    X(vpool_sleep_reserved, INVALID_STRUCT, "reserved", sleep_with(f, change_sleep_reserved, 0)) \
    X(elastic_pool_sleep_model_reserved, INVALID_STRUCT, "reserved", sleep_with(f, change_sleep_reserved, 1)) \
    X(vpool_sleep_no_time, TIMEOUT, "not to wait", sleep_unwaiting(f, 0)) \
    X(elastic_pool_sleep_model_no_time, TIMEOUT, "not to wait", sleep_unwaiting(f, 1)) \
    X(vpool_sleep_other_device, INVALID_ARGUMENT, "cpu:1", sleep_after(f, f->other_stream, 0)) \
    X(elastic_pool_sleep_model_other_device, INVALID_ARGUMENT, "cpu:1", sleep_after(f, f->other_stream, 1)) \
    X(vpool_sleep_twice, INVALID_STATE, "elastic", ({ MUST(ferrum_vpool_sleep(f->vpool, NULL, NULL)); ferrum_status s = ferrum_vpool_sleep(f->vpool, NULL, NULL); MUST(ferrum_vpool_wake(f->vpool, NULL, NULL)); s; })) \
    X(vpool_wake_awake, INVALID_STATE, "elastic", ferrum_vpool_wake(f->vpool, NULL, NULL)) \
    X(elastic_pool_sleep_model_unknown, MODEL_NOT_FOUND, "\"code\"", ferrum_elastic_pool_sleep_model(f->shared, "code", NULL, NULL)) \
    X(elastic_pool_wake_model_unknown, MODEL_NOT_FOUND, "\"code\"", ferrum_elastic_pool_wake_model(f->shared, "code", NULL, NULL)) \
    X(elastic_pool_is_model_asleep_unknown, MODEL_NOT_FOUND, "\"code\"", ferrum_elastic_pool_is_model_asleep(f->shared, "code", NULL, OUT(uint32_t, {0}))) \
    X(elastic_pool_sleep_model_long, INVALID_ARGUMENT, "model", ferrum_elastic_pool_sleep_model(f->shared, long_text, NULL, NULL)) \
    X(elastic_pool_is_model_asleep_tag, INVALID_ARGUMENT, "tag", ferrum_elastic_pool_is_model_asleep(f->shared, "chat", long_text, OUT(uint32_t, {0}))) \
    X(vpool_is_asleep_tag, INVALID_ARGUMENT, "tag", ferrum_vpool_is_asleep(f->vpool, long_text, OUT(uint32_t, {0}))) \
    X(vpool_alloc_with_reserved, INVALID_STRUCT, "reserved", vpool_asked_with(f->vpool, change_placed_reserved)) \
    X(vpool_alloc_with_tag, INVALID_ARGUMENT, "request->tag", vpool_asked_with(f->vpool, change_placed_tag)) \
    X(vpool_alloc_with_size_0, INVALID_SIZE, "size 0", vpool_asked_with(f->vpool, change_placed_size_0)) \
    X(vpool_alloc_with_clash, ALREADY_MAPPED, "offset 0, page size 65536", vpool_asked_with(f->vpool, change_placed_clash)) \
    X(vpool_wake_tag_of, INVALID_ARGUMENT, "config->tag", ({ ferrum_wake_config c = FERRUM_WAKE_CONFIG_INIT; c.tag = long_text; ferrum_vpool_wake(f->vpool, &c, NULL); })) \
    X(vpool_wake_streams_of, INVALID_ARGUMENT, "streams 65", ({ ferrum_wake_config c = FERRUM_WAKE_CONFIG_INIT; c.num_streams = 65; ferrum_vpool_wake(f->vpool, &c, NULL); })) \
    X(vpool_wake_awake_of, INVALID_STATE, "kv", ({ ferrum_wake_config c = FERRUM_WAKE_CONFIG_INIT; c.tag = "kv"; ferrum_vpool_wake(f->vpool, &c, NULL); })) \
    X(elastic_pool_wake_model_tag_of, INVALID_ARGUMENT, "config->tag", ({ ferrum_wake_config c = FERRUM_WAKE_CONFIG_INIT; c.tag = long_text; ferrum_elastic_pool_wake_model(f->shared, "chat", &c, NULL); })) \
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

/* ------------------------------------------------------------ one case, all */

#define COUNT(array) (sizeof(array) / sizeof *(array))
#define HANDLE_CASES (COUNT(handle_calls) * HANDLE_CLASSES)
#define STRUCT_CASES (COUNT(struct_calls) * STRUCT_CLASSES)
#define CASES \
    (HANDLE_CASES + STRUCT_CASES + COUNT(null_calls) + COUNT(value_calls))

/* What a case is: its name, and whether it is one. */
static int case_name(size_t n, char *name, size_t size) {
    if (n < HANDLE_CASES) {
        const handle_call *c = &handle_calls[n / HANDLE_CLASSES];
        size_t class = n % HANDLE_CLASSES;
        snprintf(name, size, "%s handle:%s", c->name, handle_classes[class]);
        return class != 0 || c->zero_is_bad;
    }
    n -= HANDLE_CASES;
    if (n < STRUCT_CASES) {
        const struct_call *c = &struct_calls[n / STRUCT_CLASSES];
        size_t class = n % STRUCT_CLASSES;
        snprintf(name, size, "%s struct:%s", c->name, struct_classes[class]);
        return struct_class_applies(c, class);
    }
    n -= STRUCT_CASES;
    if (n < COUNT(null_calls)) {
        snprintf(name, size, "%s null:%s", null_calls[n].name,
                 null_calls[n].argument);
        return 1;
    }
    n -= COUNT(null_calls);
    snprintf(name, size, "%s value", value_calls[n].name);
    return 1;
}

static ferrum_status run_case(fixture *f, size_t n, ferrum_status *want,
                              const char **names) {
    *names = "";
    if (n < HANDLE_CASES) {
        const handle_call *c = &handle_calls[n / HANDLE_CLASSES];
        *want = FERRUM_ERROR_INVALID_HANDLE;
        return c->call(f, bad_handle(f, c->kind, n % HANDLE_CLASSES));
    }
    n -= HANDLE_CASES;
    if (n < STRUCT_CASES) {
        const struct_call *c = &struct_calls[n / STRUCT_CLASSES];
        *want = FERRUM_ERROR_INVALID_STRUCT;
        *names = c->argument;
        return run_struct(f, c, n % STRUCT_CLASSES);
    }
    n -= STRUCT_CASES;
    if (n < COUNT(null_calls)) {
        *want = FERRUM_ERROR_NULL_POINTER;
        *names = null_calls[n].argument;
        return null_calls[n].call(f);
    }
    n -= COUNT(null_calls);
    *want = value_calls[n].want;
    *names = value_calls[n].names;
    return value_calls[n].call(f);
}

/* The current values of the books, which a failed call leaves alone. */
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
    ferrum_status want;
    const char *names;
    ferrum_status got = run_case(&f, n, &want, &names);
    ferrum_error_info error = FERRUM_ERROR_INFO_INIT;
    MUST(ferrum_last_error(&error));
    int failed = 0;
    if (got != want) {
        fprintf(stderr, "  returned %s, want %s\n", ferrum_status_name(got),
                ferrum_status_name(want));
        failed = 1;
    }
    if (error.status != got || error.message[0] == 0 ||
        strstr(error.message, names) == NULL ||
        strncmp(error.function, "ferrum_", 7) != 0) {
        fprintf(stderr, "  %s said \"%s\" (%s), want it to name \"%s\"\n",
                error.function, error.message, ferrum_status_name(error.status),
                names);
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

/* Runs case n in a process of its own; 0 when it passed. */
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

/* ------------------------------------------------- completeness of the table */

/* Functions that have no argument that could be bad. */
static const char *const no_bad_argument[] = {
    "ferrum_abi_version",         "ferrum_version_string",
    "ferrum_status_name",         "ferrum_status_text",
    "ferrum_backends_refresh",    "ferrum_backend_name",
    "ferrum_backend_display_name"};

static int has_case(const char *function) {
    for (size_t i = 0; i < COUNT(no_bad_argument); i++)
        if (strcmp(function, no_bad_argument[i]) == 0)
            return 1;
    const char *bare = function + strlen("ferrum_");
    size_t length = strlen(bare);
    char name[128];
    for (size_t n = 0; n < CASES; n++) {
        if (!case_name(n, name, sizeof name) ||
            strncmp(name, bare, length) != 0)
            continue;
        if (name[length] == ' ' || name[length] == '_')
            return 1;
    }
    return 0;
}

/* Every function that the header declares, one a line, in the named file. */
static int check_complete(const char *file) {
    FILE *list = fopen(file, "r");
    if (list == NULL) {
        fprintf(stderr, "%s: %s\n", file, strerror(errno));
        return 1;
    }
    char function[128];
    int missing = 0, seen = 0;
    while (fscanf(list, "%127s", function) == 1) {
        seen++;
        if (!has_case(function)) {
            fprintf(stderr, "no case for %s\n", function);
            missing++;
        }
    }
    fclose(list);
    return missing + (seen == 0);
}

int main(int argc, char **argv) {
    if (argc == 3 && strcmp(argv[1], "--case") == 0)
        return child((size_t)strtoul(argv[2], NULL, 10));
    if (argc != 2) {
        fprintf(stderr, "usage: %s FILE-WITH-THE-HEADER'S-FUNCTIONS\n",
                argv[0]);
        return 2;
    }
    int passed = 0, failed = check_complete(argv[1]);
    char name[128];
    for (size_t n = 0; n < CASES; n++) {
        if (!case_name(n, name, sizeof name))
            continue;
        int code = run_in_process("/proc/self/exe", n);
        if (code == 0) {
            passed++;
            continue;
        }
        failed++;
        fprintf(stderr, "FAILED %s: exit %d%s\n", name, code,
                code == 124   ? " (it hung)"
                : code >= 128 ? " (it crashed)"
                              : "");
    }
    printf("%d passed, %d failed\n", passed, failed);
    return failed != 0;
}
