/*
 * The header's promises about elastic pools and their models. Each test starts
 * with one live object of every kind and ends with a clean stop of the
 * library, which fails if anything is left.
 */
#include "each.h"
#include "requests.h"

#include <stdio.h>

#define PAGE FIXTURE_PAGE

static ferrum_elastic_pool make(uint64_t limit) {
    ferrum_elastic_pool_config config = FERRUM_ELASTIC_POOL_CONFIG_INIT;
    config.limit_bytes = limit;
    config.page_bytes = PAGE;
    config.ready_pages = 0;
    config.name = "made";
    ferrum_elastic_pool pool;
    assert_ok(ferrum_elastic_pool_create(f.device, &config, &pool));
    return pool;
}
static void add(ferrum_elastic_pool pool, const char *id, uint64_t guaranteed,
                int32_t priority) {
    ferrum_model_config config = FERRUM_MODEL_CONFIG_INIT;
    config.virtual_bytes = 64 * GIB;
    config.guaranteed_bytes = guaranteed;
    config.priority = priority;
    assert_ok(ferrum_elastic_pool_register_model(pool, id, &config));
}
static unsigned char *take(ferrum_elastic_pool pool, const char *id,
                           uint64_t size, uint64_t *offset) {
    ferrum_address address;
    assert_ok(ferrum_elastic_pool_alloc(pool, id, size, &address, offset));
    return (unsigned char *)(uintptr_t)address;
}
static ferrum_model_info info_of(ferrum_elastic_pool pool, const char *id) {
    ferrum_model_info info = FERRUM_MODEL_INFO_INIT;
    assert_ok(ferrum_elastic_pool_get_model_info(pool, id, &info));
    assert_int_equal(info.physical_bytes,
                     (info.mapped_pages + info.retiring_pages) *
                         info.page_bytes);
    return info;
}
static ferrum_elastic_pool_info global(ferrum_elastic_pool pool) {
    ferrum_elastic_pool_info info = FERRUM_ELASTIC_POOL_INFO_INIT;
    assert_ok(ferrum_elastic_pool_get_info(pool, &info));
    return info;
}
static void give(ferrum_elastic_pool pool, const char *id, uint64_t offset,
                 uint64_t size) {
    assert_ok(ferrum_elastic_pool_free(pool, id, offset, size, default_stream));
}

/* -------------------------------------------------------- models and addresses */

static void test_models(void **state) {
    (void)state;
    ferrum_elastic_pool pool = make(8 * MIB);
    assert_int_equal(global(pool).physical_limit_bytes, 8 * MIB);
    assert_int_equal(global(pool).num_models, 0);
    /* More address space than the machine has memory. */
    add(pool, "chat", 0, 0);
    add(pool, "code", MIB, 1);
    ferrum_model_config config = FERRUM_MODEL_CONFIG_INIT;
    config.virtual_bytes = MIB;
    assert_status(ferrum_elastic_pool_register_model(pool, "chat", &config),
                  FERRUM_ERROR_MODEL_ALREADY_EXISTS);
    assert_message("model \"chat\"");
    ferrum_elastic_pool_info all = global(pool);
    assert_int_equal(all.num_models, 2);
    assert_int_equal(all.virtual_bytes, 128 * GIB);
    assert_int_equal(all.guaranteed_bytes, MIB);
    assert_int_equal(all.physical_bytes + all.held_bytes, 0);
    /* Each model has its own statistics. */
    take(pool, "chat", 3 * PAGE, NULL);
    take(pool, "code", PAGE + 1, NULL);
    assert_int_equal(info_of(pool, "chat").physical_bytes, 3 * PAGE);
    assert_int_equal(info_of(pool, "chat").requested_bytes, 3 * PAGE);
    ferrum_model_info code = info_of(pool, "code");
    assert_int_equal(code.physical_bytes, 2 * PAGE);
    assert_int_equal(code.requested_bytes, PAGE + 1);
    assert_int_equal(code.guaranteed_bytes, MIB);
    assert_int_equal(code.priority, 1);
    assert_int_equal(code.available_bytes, 8 * MIB - 5 * PAGE);
    assert_int_equal(global(pool).physical_bytes, 5 * PAGE);
    assert_status(ferrum_elastic_pool_unregister_model(pool, "chat", 0),
                  FERRUM_ERROR_BUSY);
    assert_ok(ferrum_elastic_pool_unregister_model(pool, "chat", FERRUM_FORCE));
    assert_int_equal(global(pool).physical_bytes, 2 * PAGE);
    ferrum_address address;
    assert_status(ferrum_elastic_pool_alloc(pool, "chat", 1, &address, NULL),
                  FERRUM_ERROR_MODEL_NOT_FOUND);
    assert_message("model \"chat\"");
    assert_status(
        ferrum_elastic_pool_free(pool, "chat", 0, PAGE, default_stream),
        FERRUM_ERROR_MODEL_NOT_FOUND);
    assert_status(ferrum_elastic_pool_unregister_model(pool, "chat", 0),
                  FERRUM_ERROR_MODEL_NOT_FOUND);
    ferrum_model_info gone = FERRUM_MODEL_INFO_INIT;
    assert_status(ferrum_elastic_pool_get_model_info(pool, "chat", &gone),
                  FERRUM_ERROR_MODEL_NOT_FOUND);
    assert_int_equal(global(pool).physical_bytes, 2 * PAGE);
    /* Physical memory falls by the freed pages, to 0 and not below. */
    give(pool, "code", 0, PAGE);
    assert_int_equal(global(pool).physical_bytes, PAGE);
    give(pool, "code", PAGE, PAGE);
    assert_status(
        ferrum_elastic_pool_free(pool, "code", 0, PAGE + 1, default_stream),
        FERRUM_ERROR_NOT_MAPPED);
    assert_int_equal(global(pool).physical_bytes, 0);
    assert_int_equal(info_of(pool, "code").physical_bytes, 0);
    assert_ok(ferrum_elastic_pool_unregister_model(pool, "code", 0));
    assert_ok(ferrum_elastic_pool_destroy(pool, 0));
}

static void test_places(void **state) {
    (void)state;
    ferrum_elastic_pool pool = make(8 * MIB);
    add(pool, "chat", 0, 0);
    uint64_t offset = 1;
    ferrum_address base = info_of(pool, "chat").base_address;
    /* Ranges are placed one after the other. After a free, the first free
     * run that is long enough is used. */
    for (uint64_t i = 0; i < 4; i++) {
        unsigned char *at = take(pool, "chat", 2 * PAGE, &offset);
        assert_int_equal(offset, 2 * i * PAGE);
        assert_int_equal((ferrum_address)(uintptr_t)at, base + offset);
        memset(at, (int)i, 2 * PAGE);
    }
    give(pool, "chat", 0, 2 * PAGE);
    give(pool, "chat", 4 * PAGE, 2 * PAGE);
    take(pool, "chat", 3 * PAGE, &offset);
    assert_int_equal(offset, 8 * PAGE);
    take(pool, "chat", PAGE, &offset);
    assert_int_equal(offset, 0);
    ferrum_address address;
    assert_status(ferrum_elastic_pool_alloc(pool, "none", 1, &address, &offset),
                  FERRUM_ERROR_MODEL_NOT_FOUND);
    /* One byte more than the free space in whole pages. */
    assert_int_equal(global(pool).physical_bytes, 8 * PAGE);
    assert_status(ferrum_elastic_pool_alloc(
                      pool, "chat", 8 * MIB - 8 * PAGE + 1, &address, &offset),
                  FERRUM_ERROR_OUT_OF_PHYSICAL_MEMORY);
    assert_message("requested 7.50 MiB (7864321 bytes), available 7.50 MiB "
                   "(7864320 bytes)");
    assert_int_equal(global(pool).physical_bytes, 8 * PAGE);
    assert_ok(
        elastic_pool_alloc_at(pool, "chat", 100 * PAGE + 7, 10, &address));
    assert_int_equal(address, base + 100 * PAGE + 7);
    uint32_t mapped = 0;
    assert_ok(
        ferrum_elastic_pool_is_mapped(pool, "chat", 100 * PAGE, PAGE, &mapped));
    assert_int_equal(mapped, 1);
    ferrum_model_request request = FERRUM_MODEL_REQUEST_INIT;
    request.size_bytes = PAGE;
    request.tag = "kv";
    assert_ok(ferrum_elastic_pool_alloc_with(pool, "chat", &request, &address,
                                             &offset));
    assert_int_equal(offset, PAGE);
    request.at_offset = 1;
    assert_status(ferrum_elastic_pool_alloc_with(pool, "chat", &request,
                                                 &address, &offset),
                  FERRUM_ERROR_ALREADY_MAPPED);
    assert_int_equal(address | offset, 0);
    ferrum_block_info owner = FERRUM_BLOCK_INFO_INIT;
    assert_ok(ferrum_device_get_owner(f.device, base + PAGE + 9, &owner));
    assert_int_equal(owner.elastic_pool.id, pool.id);
    assert_int_equal(owner.pool.id | owner.vpool.id | owner.manager, 0);
    assert_string_equal(owner.model, "chat");
    assert_string_equal(owner.tag, "kv");
    assert_string_equal(owner.pool_name, "made");
    assert_int_equal(owner.state, FERRUM_BLOCK_LIVE);
    assert_ok(ferrum_elastic_pool_destroy(pool, FERRUM_FORCE));
}

/* A model never reads what another model has written. */
static void test_models_never_read_each_others_bytes(void **state) {
    (void)state;
    ferrum_elastic_pool pool = make(16 * PAGE);
    add(pool, "first", 0, 0);
    add(pool, "second", 0, 0);
    for (int round = 0; round < 4; round++) {
        const char *id = round % 2 == 0 ? "first" : "second";
        unsigned char *block = take(pool, id, 16 * PAGE, NULL);
        for (uint64_t i = 0; i < 16 * PAGE; i++)
            if (block[i] != 0 && block[i] != (unsigned char)(1 + round % 2))
                fail_msg("round %d: byte %u is %u", round, (unsigned)i,
                         block[i]);
        memset(block, 1 + round % 2, 16 * PAGE);
        give(pool, id, 0, 16 * PAGE);
    }
    assert_ok(ferrum_elastic_pool_destroy(pool, 0));
}

/* ------------------------------------------------------------------ contention */

static void test_guarantees_and_limits(void **state) {
    (void)state;
    ferrum_elastic_pool pool = make(10 * PAGE);
    add(pool, "chat", 0, 0);
    add(pool, "code", 4 * PAGE, 0);
    ferrum_address address;
    /* Four of the ten pages belong to code. */
    assert_status(
        ferrum_elastic_pool_alloc(pool, "chat", 7 * PAGE, &address, NULL),
        FERRUM_ERROR_OUT_OF_PHYSICAL_MEMORY);
    assert_message("requested 448 KiB, available 384 KiB");
    assert_int_equal(info_of(pool, "chat").failures, 1);
    take(pool, "chat", 6 * PAGE, NULL);
    take(pool, "code", 4 * PAGE, NULL);
    assert_status(ferrum_elastic_pool_alloc(pool, "code", PAGE, &address, NULL),
                  FERRUM_ERROR_OUT_OF_PHYSICAL_MEMORY);
    assert_message("requested 64 KiB, available 0 bytes");
    assert_ok(ferrum_elastic_pool_set_limit(pool, 11 * PAGE));
    take(pool, "code", PAGE, NULL);
    assert_status(ferrum_elastic_pool_set_limit(pool, 3 * PAGE),
                  FERRUM_ERROR_INVALID_CONFIG);
    assert_ok(ferrum_elastic_pool_set_limit(pool, 4 * PAGE));
    assert_int_equal(global(pool).physical_bytes, 11 * PAGE);
    assert_ok(ferrum_elastic_pool_set_limit(pool, 20 * PAGE));
    ferrum_model_limits limits = FERRUM_MODEL_LIMITS_INIT;
    limits.guaranteed_bytes = 8 * PAGE;
    limits.max_bytes = 9 * PAGE;
    limits.priority = -5;
    assert_ok(ferrum_elastic_pool_set_model_limits(pool, "chat", &limits));
    ferrum_model_info chat = info_of(pool, "chat");
    assert_int_equal(chat.guaranteed_bytes, 8 * PAGE);
    assert_int_equal(chat.max_bytes, 9 * PAGE);
    assert_int_equal(chat.priority, -5);
    assert_status(
        ferrum_elastic_pool_alloc(pool, "chat", 4 * PAGE, &address, NULL),
        FERRUM_ERROR_OUT_OF_PHYSICAL_MEMORY);
    take(pool, "chat", 3 * PAGE, NULL);
    assert_ok(ferrum_elastic_pool_destroy(pool, FERRUM_FORCE));
}

typedef struct {
    ferrum_registration registration;
    uint64_t offset, size, asked;
    int calls, order;
    ferrum_status removed, nested, shutdown;
    gate done;
} giver;
static int order;

/* Frees the range that the user data names, in its model. */
static uint64_t give_up(ferrum_elastic_pool pool, const char *model,
                        uint64_t needed, void *data) {
    giver *g = data;
    g->calls++;
    g->asked = needed;
    g->order = ++order;
    ferrum_address address;
    g->nested =
        ferrum_elastic_pool_alloc(pool, model, 100 * PAGE, &address, NULL);
    g->shutdown = ferrum_shutdown(FERRUM_FORCE);
    if (g->size == 0)
        return 0;
    if (ferrum_elastic_pool_free(pool, model, g->offset, g->size,
                                 default_stream) != FERRUM_OK)
        return 0;
    uint64_t given = g->size;
    g->size = 0;
    g->removed = ferrum_registration_remove(g->registration);
    gate_open(&g->done);
    return given;
}

static void test_models_above_their_guarantee_release_pages(void **state) {
    (void)state;
    ferrum_elastic_pool pool = make(12 * PAGE);
    add(pool, "high", 0, 5);
    add(pool, "low", 0, -5);
    add(pool, "kept", 4 * PAGE, -9);
    add(pool, "needs", 0, 0);
    giver high = {.size = 4 * PAGE, .removed = 1, .done = GATE};
    giver low = {.size = 4 * PAGE, .removed = 1, .done = GATE};
    giver kept = {.size = 4 * PAGE};
    order = 0;
    take(pool, "high", 4 * PAGE, &high.offset);
    take(pool, "low", 4 * PAGE, &low.offset);
    take(pool, "kept", 4 * PAGE, &kept.offset);
    ferrum_reclaim_config config = FERRUM_RECLAIM_CONFIG_INIT;
    config.deadline_ns = UINT64_C(20000000000);
    assert_ok(ferrum_elastic_pool_reclaim_callback_add(
        pool, "high", &config, give_up, &high, &high.registration));
    assert_ok(ferrum_elastic_pool_reclaim_callback_add(
        pool, "low", &config, give_up, &low, &low.registration));
    assert_ok(ferrum_elastic_pool_reclaim_callback_add(
        pool, "kept", &config, give_up, &kept, &kept.registration));
    take(pool, "needs", 6 * PAGE, NULL);
    /* The pages may be available before the call that released them has
     * returned. */
    gate_wait(&low.done);
    gate_wait(&high.done);
    assert_int_equal(low.calls, 1);
    assert_int_equal(low.order, 1);
    assert_int_equal(high.calls, 1);
    assert_int_equal(high.asked, 2 * PAGE);
    /* A guarantee is never broken. */
    assert_int_equal(kept.calls, 0);
    assert_int_equal(info_of(pool, "kept").physical_bytes, 4 * PAGE);
    assert_ok(low.removed);
    assert_status(low.nested, FERRUM_ERROR_OUT_OF_PHYSICAL_MEMORY);
    assert_status(low.shutdown, FERRUM_ERROR_INVALID_STATE);
    ferrum_model_info info = info_of(pool, "low");
    assert_int_equal(info.reclaim_calls, 1);
    assert_int_equal(info.reclaimed_bytes, 4 * PAGE);
    assert_int_equal(info.physical_bytes, 0);
    assert_true(info_of(pool, "needs").waits >= 1);
    assert_status(ferrum_registration_remove(low.registration),
                  FERRUM_ERROR_INVALID_HANDLE);
    /* A registration still exists after its model was unregistered, and can
     * be removed. */
    assert_ok(ferrum_elastic_pool_unregister_model(pool, "kept", FERRUM_FORCE));
    ferrum_address address;
    assert_ok(
        ferrum_elastic_pool_alloc(pool, "needs", 6 * PAGE, &address, NULL));
    assert_int_equal(kept.calls, 0);
    assert_ok(ferrum_elastic_pool_destroy(pool, FERRUM_FORCE));
    assert_status(ferrum_device_close(f.device, 0), FERRUM_ERROR_BUSY);
    assert_ok(ferrum_registration_remove(kept.registration));
}

static void test_free_pages_are_used_before_waiting_for_streams(void **state) {
    (void)state;
    ferrum_elastic_pool pool = make(4 * PAGE);
    add(pool, "chat", 0, 0);
    add(pool, "code", 0, 0);
    take(pool, "chat", 4 * PAGE, NULL);
    give(pool, "chat", 0, 4 * PAGE);
    assert_int_equal(info_of(pool, "chat").cached_bytes, 4 * PAGE);
    take(pool, "code", 4 * PAGE, NULL);
    assert_int_equal(global(pool).held_bytes, 4 * PAGE);
    /* The pages become available when the work of the stream is done. */
    gate g = GATE;
    assert_ok(ferrum_stream_host_function(f.stream, gate_wait, &g));
    assert_ok(ferrum_elastic_pool_free(pool, "code", 0, 4 * PAGE, f.stream));
    assert_int_equal(global(pool).retiring_bytes, 4 * PAGE);
    assert_status(ferrum_elastic_pool_synchronize(pool, 0),
                  FERRUM_ERROR_TIMEOUT);
    gate_open(&g);
    take(pool, "chat", 4 * PAGE, NULL);
    assert_ok(ferrum_elastic_pool_synchronize(pool, FERRUM_WAIT_FOREVER));
    give(pool, "chat", 0, 4 * PAGE);
    uint64_t released = 0;
    assert_ok(ferrum_elastic_pool_pause(pool));
    assert_ok(ferrum_elastic_pool_trim(pool, PAGE, &released));
    assert_int_equal(released, 3 * PAGE);
    ferrum_compact_report report = FERRUM_COMPACT_REPORT_INIT;
    assert_ok(ferrum_elastic_pool_compact(pool, &report));
    assert_int_equal(report.released_bytes, PAGE);
    assert_ok(ferrum_elastic_pool_resume(pool));
    assert_int_equal(global(pool).held_bytes, 0);
    assert_ok(ferrum_elastic_pool_destroy(pool, 0));
}

/* --------------------------------------------------------------------- counters */

static void test_counters_of_models(void **state) {
    (void)state;
    static char text[1 << 16];
    size_t length;
    assert_ok(ferrum_elastic_pool_models_json(f.shared, NULL, 0, &length));
    assert_ok(
        ferrum_elastic_pool_models_json(f.shared, text, sizeof text, &length));
    assert_int_equal(strlen(text), length);
    assert_non_null(strstr(text, "{\"models\":[{\"base_address\":"));
    assert_non_null(strstr(text, "\"id\":\"chat\""));
    assert_non_null(strstr(text, "\"requested_bytes\":100000"));
    assert_non_null(strstr(text, "\"unmapped_share\":"));
    assert_null(strstr(text, "fragmentation_ratio"));
    ferrum_statistics books = FERRUM_STATISTICS_INIT;
    assert_ok(ferrum_elastic_pool_get_statistics(f.shared, &books));
    assert_int_equal(books.requested.current, FIXTURE_RANGE);
    assert_int_equal(books.active.current, 2 * PAGE);
    assert_int_equal(books.live_blocks.current, 1);
    assert_ok(ferrum_snapshot_json(text, sizeof text, &length));
    assert_non_null(strstr(text, "\"elastic_pools\":[{\"name\":\"several\""));
    assert_non_null(strstr(text, "\"num_models\":1"));
    assert_non_null(strstr(text, "{\"tag\":\"chat\",\"requested_bytes\":100000,"
                                 "\"allocated_bytes\":131072,\"blocks\":1}"));
    assert_ok(ferrum_leak_report_json(text, sizeof text, &length));
    assert_non_null(strstr(text, "\"kind\":\"elastic_pool\""));
    assert_non_null(
        strstr(text, "\"bytes\":100000,\"tag\":\"chat\",\"model\":\"chat\""));
}

/* ------------------------------------------------------------------- 8 threads */

#define THREADS 8
#define ROUNDS 300

typedef struct {
    pthread_t thread;
    ferrum_elastic_pool pool;
    int number, failures;
    uint64_t refused;
} worker;

static uint64_t step(uint64_t *state) {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    return *state ^= *state << 17;
}

/* Two threads for each model. Each keeps one range and checks its bytes. */
static void *work(void *data) {
    worker *w = data;
    char id[16];
    snprintf(id, sizeof id, "m%d", w->number / 2);
    uint64_t random = 77 + (uint64_t)w->number, offset = 0, size = 0;
    unsigned char *block = NULL;
    for (int round = 0; round < ROUNDS; round++) {
        if (block != NULL) {
            for (uint64_t i = 0; i < size; i += 1009)
                w->failures += block[i] != w->number + 1;
            ferrum_stream stream =
                step(&random) % 2 ? f.stream : default_stream;
            w->failures += ferrum_elastic_pool_free(w->pool, id, offset, size,
                                                    stream) != FERRUM_OK;
        }
        size = 1 + step(&random) % (4 * PAGE);
        ferrum_address address;
        ferrum_status status =
            ferrum_elastic_pool_alloc(w->pool, id, size, &address, &offset);
        block = (unsigned char *)(uintptr_t)address;
        if (status == FERRUM_OK) {
            memset(block, w->number + 1, size);
        } else {
            w->refused++;
            w->failures += status != FERRUM_ERROR_OUT_OF_PHYSICAL_MEMORY;
        }
        if (w->number == 0 && round % 16 == 0)
            w->failures +=
                ferrum_elastic_pool_set_limit(
                    w->pool, (24 + step(&random) % 24) * PAGE) != FERRUM_OK;
        if (w->number == 1 && round % 16 == 0) {
            ferrum_model_limits limits = FERRUM_MODEL_LIMITS_INIT;
            limits.guaranteed_bytes = step(&random) % 5 * PAGE;
            w->failures += ferrum_elastic_pool_set_model_limits(
                               w->pool, id, &limits) != FERRUM_OK;
        }
    }
    if (block != NULL)
        w->failures += ferrum_elastic_pool_free(w->pool, id, offset, size,
                                                f.stream) != FERRUM_OK;
    return NULL;
}

static void test_eight_threads(void **state) {
    (void)state;
    ferrum_elastic_pool pool = make(32 * PAGE);
    for (int i = 0; i < THREADS / 2; i++) {
        char id[16];
        snprintf(id, sizeof id, "m%d", i);
        add(pool, id, 2 * PAGE, i);
    }
    worker workers[THREADS];
    for (int i = 0; i < THREADS; i++) {
        workers[i] = (worker){.pool = pool, .number = i};
        assert_int_equal(
            pthread_create(&workers[i].thread, NULL, work, &workers[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(workers[i].thread, NULL);
        assert_int_equal(workers[i].failures, 0);
        assert_true(workers[i].refused < ROUNDS);
    }
    assert_ok(ferrum_elastic_pool_synchronize(pool, FERRUM_WAIT_FOREVER));
    ferrum_elastic_pool_info info = global(pool);
    assert_int_equal(info.physical_bytes, 0);
    assert_int_equal(info.waiting, 0);
    ferrum_statistics books = FERRUM_STATISTICS_INIT;
    assert_ok(ferrum_elastic_pool_get_statistics(pool, &books));
    assert_int_equal(books.requested.current + books.active.current, 0);
    assert_int_equal(books.allocations, books.frees);
    assert_ok(ferrum_elastic_pool_destroy(pool, 0));
}

static void test_ranges_in_batches(void **state) {
    (void)state;
    ferrum_elastic_pool pool = make(6 * PAGE);
    add(pool, "chat", 0, 0);
    add(pool, "code", 2 * PAGE, 0);
    ferrum_byte_range ranges[] = {
        {9 * PAGE, PAGE}, {0, PAGE}, {4 * PAGE, 2 * PAGE}};
    assert_ok(ferrum_elastic_pool_alloc_batch(pool, "chat", ranges, 3, NULL));
    assert_int_equal(info_of(pool, "chat").mapped_pages, 4);
    /* The rest is guaranteed to the other model. */
    ferrum_byte_range more[] = {{20 * PAGE, PAGE}, {30 * PAGE, PAGE}};
    assert_status(ferrum_elastic_pool_alloc_batch(pool, "chat", more, 2, NULL),
                  FERRUM_ERROR_OUT_OF_PHYSICAL_MEMORY);
    assert_ok(ferrum_elastic_pool_alloc_batch(pool, "code", more, 2, NULL));
    assert_int_equal(global(pool).physical_bytes, 6 * PAGE);
    assert_status(
        ferrum_elastic_pool_free_batch(pool, "chat", more, 2, default_stream),
        FERRUM_ERROR_NOT_MAPPED);
    assert_message("ranges[0]");
    assert_ok(ferrum_elastic_pool_free_batch(pool, "chat", ranges, 3,
                                             default_stream));
    assert_int_equal(info_of(pool, "chat").mapped_pages, 0);
    assert_int_equal(info_of(pool, "chat").frees, 3);
    assert_status(ferrum_elastic_pool_alloc_batch(pool, "none", more, 2, NULL),
                  FERRUM_ERROR_MODEL_NOT_FOUND);
    assert_ok(ferrum_elastic_pool_destroy(pool, FERRUM_FORCE));
}

static void test_batches_at_the_first_free_places(void **state) {
    (void)state;
    ferrum_elastic_pool pool = make(6 * PAGE);
    add(pool, "chat", 0, 0);
    ferrum_byte_range taken[] = {{PAGE, PAGE}};
    assert_ok(ferrum_elastic_pool_alloc_batch(pool, "chat", taken, 1, NULL));
    /* The first is too long for the hole at 0, the second fits. */
    uint64_t sizes[] = {2 * PAGE, PAGE, 1}, offsets[] = {7, 7, 7};
    assert_ok(ferrum_elastic_pool_alloc_batch_anywhere(pool, "chat", sizes, 3,
                                                       NULL, offsets));
    assert_int_equal(offsets[0], 2 * PAGE);
    assert_int_equal(offsets[1], 0);
    assert_int_equal(offsets[2], 4 * PAGE);
    assert_int_equal(info_of(pool, "chat").mapped_pages, 5);
    /* All or none: one page is left. */
    assert_status(ferrum_elastic_pool_alloc_batch_anywhere(
                      pool, "chat", sizes + 1, 2, NULL, offsets),
                  FERRUM_ERROR_OUT_OF_PHYSICAL_MEMORY);
    assert_int_equal(offsets[0], 0);
    assert_int_equal(offsets[1], 0);
    assert_int_equal(info_of(pool, "chat").mapped_pages, 5);
    uint64_t wrong[] = {PAGE, 0};
    assert_status(ferrum_elastic_pool_alloc_batch_anywhere(pool, "chat", wrong,
                                                           2, NULL, offsets),
                  FERRUM_ERROR_INVALID_SIZE);
    assert_message("sizes[1]");
    assert_status(ferrum_elastic_pool_alloc_batch_anywhere(
                      pool, "chat", sizes, FERRUM_BATCH_MAX + 1, NULL, offsets),
                  FERRUM_ERROR_INVALID_ARGUMENT);
    assert_message("1048577");
    assert_ok(ferrum_elastic_pool_alloc_batch_anywhere(pool, "chat", sizes, 0,
                                                       NULL, offsets));
    ferrum_byte_range ranges[] = {{2 * PAGE, 2 * PAGE}, {4 * PAGE, 1}};
    assert_ok(ferrum_elastic_pool_record_stream_batch(pool, "chat", ranges, 2,
                                                      default_stream));
    ranges[1].offset_bytes = 9 * PAGE;
    assert_status(ferrum_elastic_pool_record_stream_batch(pool, "chat", ranges,
                                                          2, default_stream),
                  FERRUM_ERROR_NOT_MAPPED);
    assert_message("ranges[1]");
    assert_ok(ferrum_elastic_pool_destroy(pool, FERRUM_FORCE));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_models),
        TEST(test_places),
        TEST(test_models_never_read_each_others_bytes),
        TEST(test_ranges_in_batches),
        TEST(test_batches_at_the_first_free_places),
        TEST(test_guarantees_and_limits),
        TEST(test_models_above_their_guarantee_release_pages),
        TEST(test_free_pages_are_used_before_waiting_for_streams),
        TEST(test_counters_of_models),
        TEST(test_eight_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
