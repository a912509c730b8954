/*
 * A range of a virtual pool or a model belongs to the streams that use it: the
 * stream of its allocation, and the streams that were recorded for one of its
 * pages. Whichever call frees it, its pages retire until the work that was
 * queued on these streams is done, and get no new owner before that. Each case
 * blocks a stream by a gate. Also: no guarantee is given without pages that back
 * it.
 */
#include "each.h"
#include "native_stream.h"
#include "on_device.h"

static uint64_t page;

/* The same cases run on a virtual pool and on a model. */
typedef struct {
    int model;
    ferrum_vpool vpool;
    ferrum_elastic_pool pool;
} place;

static place make(int model, uint64_t pages) {
    place p = {model, {0}, {0}};
    page = device_page(f.device);
    if (!model) {
        ferrum_vpool_config config = FERRUM_VPOOL_CONFIG_INIT;
        config.capacity_bytes = 64 * page;
        config.page_bytes = page;
        config.limit_bytes = pages * page;
        assert_ok(ferrum_vpool_create(f.device, &config, &p.vpool));
        return p;
    }
    ferrum_elastic_pool_config config = FERRUM_ELASTIC_POOL_CONFIG_INIT;
    config.page_bytes = page;
    config.limit_bytes = pages * page;
    assert_ok(ferrum_elastic_pool_create(f.device, &config, &p.pool));
    ferrum_model_config of = FERRUM_MODEL_CONFIG_INIT;
    of.virtual_bytes = 64 * page;
    assert_ok(ferrum_elastic_pool_register_model(p.pool, "chat", &of));
    assert_ok(ferrum_elastic_pool_register_model(p.pool, "code", &of));
    return p;
}

static void end(place p, uint32_t flags) {
    if (p.model)
        assert_ok(ferrum_elastic_pool_destroy(p.pool, flags));
    else
        assert_ok(ferrum_vpool_destroy(p.vpool, flags));
}

static ferrum_address map(place p, uint64_t offset, uint64_t pages,
                          ferrum_stream stream) {
    ferrum_address address = 0;
    if (p.model) {
        ferrum_model_request request = FERRUM_MODEL_REQUEST_INIT;
        request.at_offset = 1;
        request.offset_bytes = offset * page;
        request.size_bytes = pages * page;
        request.stream = stream;
        assert_ok(ferrum_elastic_pool_alloc_with(p.pool, "chat", &request,
                                                 &address, NULL));
        return address;
    }
    ferrum_vpool_request request = FERRUM_VPOOL_REQUEST_INIT;
    request.offset_bytes = offset * page;
    request.size_bytes = pages * page;
    request.stream = stream;
    assert_ok(ferrum_vpool_alloc_with(p.vpool, &request, &address));
    return address;
}

static ferrum_status record(place p, uint64_t offset, uint64_t pages,
                            ferrum_stream stream) {
    return p.model ? ferrum_elastic_pool_record_stream(
                         p.pool, "chat", offset * page, pages * page, stream)
                   : ferrum_vpool_record_stream(p.vpool, offset * page,
                                                pages * page, stream);
}

static ferrum_status unmap(place p, uint64_t offset, uint64_t pages,
                           ferrum_stream stream) {
    return p.model ? ferrum_elastic_pool_free(p.pool, "chat", offset * page,
                                              pages * page, stream)
                   : ferrum_vpool_free(p.vpool, offset * page, pages * page,
                                       stream);
}

static uint64_t retiring(place p) {
    if (p.model) {
        ferrum_model_info info = FERRUM_MODEL_INFO_INIT;
        assert_ok(ferrum_elastic_pool_get_model_info(p.pool, "chat", &info));
        return info.retiring_pages;
    }
    ferrum_vpool_info info = FERRUM_VPOOL_INFO_INIT;
    assert_ok(ferrum_vpool_get_info(p.vpool, &info));
    return info.retiring_pages;
}

static void settle(place p) {
    if (p.model)
        assert_ok(ferrum_elastic_pool_synchronize(p.pool, FERRUM_WAIT_FOREVER));
    else
        assert_ok(ferrum_vpool_synchronize(p.vpool, FERRUM_WAIT_FOREVER));
    assert_int_equal(retiring(p), 0);
}

static ferrum_stream new_stream(void) {
    ferrum_stream stream;
    assert_ok(ferrum_stream_create(f.device, &stream));
    return stream;
}

static void hold(ferrum_stream stream, gate *g) {
    assert_ok(ferrum_stream_host_function(stream, gate_wait, g));
}

/* Each of the streams that use a range delays the free alone, whichever
 * stream the free names. */
static void test_a_range_waits_for_its_streams(void **state) {
    (void)state;
    for (int model = 0; model < 2; model++)
        for (int held = 0; held < 4; held++) {
            place p = make(model, 16);
            ferrum_stream standard;
            assert_ok(ferrum_stream_default(f.device, &standard));
            const ferrum_stream streams[] = {f.stream, new_stream(),
                                             new_stream(), standard};
            map(p, 0, 4, streams[0]);
            assert_ok(record(p, 3, 1, streams[1]));
            gate g = GATE;
            hold(streams[held], &g);
            assert_ok(unmap(p, 0, 4, held == 3 ? default_stream : streams[2]));
            assert_int_equal(retiring(p), 4);
            gate_open(&g);
            settle(p);
            assert_ok(ferrum_stream_destroy(streams[1], FERRUM_FORCE));
            assert_ok(ferrum_stream_destroy(streams[2], FERRUM_FORCE));
            end(p, 0);
        }
}

static void test_a_stream_is_recorded_for_a_part(void **state) {
    (void)state;
    for (int model = 0; model < 2; model++) {
        place p = make(model, 16);
        ferrum_stream stream = new_stream();
        map(p, 0, 4, default_stream);
        assert_ok(record(p, 1, 2, stream));
        assert_status(record(p, 3, 2, stream), FERRUM_ERROR_NOT_MAPPED);
        gate g = GATE;
        hold(stream, &g);
        assert_ok(unmap(p, 0, 1, default_stream));
        assert_ok(unmap(p, 3, 1, default_stream));
        assert_int_equal(retiring(p), 0);
        assert_ok(unmap(p, 1, 1, default_stream));
        assert_int_equal(retiring(p), 1);
        gate_open(&g);
        settle(p);
        assert_ok(ferrum_stream_destroy(stream, FERRUM_FORCE));
        end(p, FERRUM_FORCE);
    }
}

/* A destroyed stream is drained, so a range of it is freed at once. */
static void test_free_after_the_stream_was_destroyed(void **state) {
    (void)state;
    for (int model = 0; model < 2; model++) {
        place p = make(model, 16);
        for (int round = 0; round < 50; round++) {
            ferrum_stream own = new_stream(), recorded = new_stream();
            map(p, 0, 2, own);
            assert_ok(record(p, 0, 1, recorded));
            gate g = GATE;
            hold(recorded, &g);
            gate_open(&g);
            assert_ok(ferrum_stream_destroy(own, FERRUM_FORCE));
            assert_ok(ferrum_stream_destroy(recorded, FERRUM_FORCE));
            assert_ok(unmap(p, 0, 2, round % 2 ? default_stream : f.stream));
            assert_int_equal(retiring(p), 0);
        }
        end(p, 0);
    }
}

/* An external stream is different: work that its owner queued before may
 * still use the range. A device whose streams report their owner's work
 * rejects the destroy. */
static void test_free_after_an_adopted_stream_was_destroyed(void **state) {
    (void)state;
    if (!on_host())
        skip();
    for (int model = 0; model < 2; model++) {
        place p = make(model, 16);
        native_stream *native = native_stream_make();
        ferrum_foreign_stream foreign = native_stream_foreign(native);
        ferrum_stream own;
        assert_ok(ferrum_stream_adopt(f.device, &foreign, &own));
        map(p, 0, 2, own);
        gate g = GATE;
        assert_ok(foreign.enqueue(gate_wait, &g, foreign.user_data));
        assert_ok(ferrum_stream_destroy(own, 0));
        assert_ok(unmap(p, 0, 2, default_stream));
        assert_int_equal(retiring(p), 2);
        gate_open(&g);
        native_stream_end(native);
        settle(p);
        map(p, 0, 2, default_stream);
        assert_ok(unmap(p, 0, 2, default_stream));
        end(p, 0);
    }
}

/* A model's pages go to another model when the work that may still write to
 * them is done. The other model reads zeros, and keeps what it writes. */
static void test_late_work_of_one_model_is_not_seen_by_another(void **state) {
    (void)state;
    place p = make(1, 4);
    atomic_int damaged = 0;
    for (int recorded = 0; recorded < 2; recorded++) {
        ferrum_stream stream = new_stream();
        ferrum_address address =
            map(p, 0, 4, recorded ? default_stream : stream);
        if (recorded)
            assert_ok(record(p, 0, 4, stream));
        gate g = GATE;
        hold(stream, &g);
        assert_ok(queue_work(
            stream, (block_work){address, 4 * page, 0, 0xAA, true, &damaged}));
        assert_ok(unmap(p, 0, 4, default_stream));
        assert_int_equal(retiring(p), 4);
        ferrum_model_info info = FERRUM_MODEL_INFO_INIT;
        assert_ok(ferrum_elastic_pool_get_model_info(p.pool, "code", &info));
        assert_int_equal(info.available_bytes, 0);
        gate_open(&g);
        ferrum_address other;
        uint64_t offset;
        assert_ok(ferrum_elastic_pool_alloc(p.pool, "code", 4 * page, &other,
                                            &offset));
        unsigned char zeros[64] = {0};
        assert_true(has_bytes(other, zeros, sizeof zeros));
        assert_true(
            has_bytes(other + 4 * page - sizeof zeros, zeros, sizeof zeros));
        assert_ok(ferrum_stream_synchronize(stream, FERRUM_WAIT_FOREVER));
        assert_true(has_bytes(other, zeros, sizeof zeros));
        assert_ok(ferrum_elastic_pool_free(p.pool, "code", offset, 4 * page,
                                           default_stream));
        settle(p);
        assert_ok(ferrum_stream_destroy(stream, FERRUM_FORCE));
    }
    assert_int_equal(atomic_load(&damaged), 0);
    end(p, 0);
}

/* Sleep with a stream also waits for the streams of the ranges. */
static void test_sleep_waits_for_the_streams_of_ranges(void **state) {
    (void)state;
    for (int model = 0; model < 2; model++) {
        place p = make(model, 16);
        ferrum_stream recorded = new_stream();
        map(p, 0, 4, f.stream);
        assert_ok(record(p, 2, 1, recorded));
        gate g = GATE;
        hold(recorded, &g);
        ferrum_sleep_config config = FERRUM_SLEEP_CONFIG_INIT;
        config.stream = f.stream;
        config.timeout_ns = 0;
        assert_status(model ? ferrum_elastic_pool_sleep_model(p.pool, "chat",
                                                              &config, NULL)
                            : ferrum_vpool_sleep(p.vpool, &config, NULL),
                      FERRUM_ERROR_TIMEOUT);
        gate_open(&g);
        assert_ok(ferrum_stream_synchronize(recorded, FERRUM_WAIT_FOREVER));
        assert_ok(model ? ferrum_elastic_pool_sleep_model(p.pool, "chat",
                                                          &config, NULL)
                        : ferrum_vpool_sleep(p.vpool, &config, NULL));
        assert_status(record(p, 0, 1, recorded), FERRUM_ERROR_INVALID_STATE);
        assert_ok(unmap(p, 0, 4, default_stream));
        assert_ok(ferrum_stream_destroy(recorded, FERRUM_FORCE));
        end(p, 0);
    }
}

/* Two models keep their guarantees when a third requests memory that
 * nothing backs. */
static void test_no_guarantee_without_backing(void **state) {
    (void)state;
    place p = make(1, 100);
    ferrum_model_config config = FERRUM_MODEL_CONFIG_INIT;
    config.virtual_bytes = 100 * page;
    config.guaranteed_bytes = 50 * page;
    assert_ok(ferrum_elastic_pool_register_model(p.pool, "guarded", &config));
    map(p, 0, 40, default_stream);
    ferrum_address address;
    uint64_t offset;
    assert_ok(
        ferrum_elastic_pool_alloc(p.pool, "guarded", page, &address, &offset));
    assert_status(ferrum_elastic_pool_register_model(p.pool, "late", &config),
                  FERRUM_ERROR_OUT_OF_PHYSICAL_MEMORY);
    config.guarantee_may_wait = 1;
    assert_ok(ferrum_elastic_pool_register_model(p.pool, "late", &config));
    ferrum_model_info info = FERRUM_MODEL_INFO_INIT;
    assert_ok(ferrum_elastic_pool_get_model_info(p.pool, "late", &info));
    assert_int_equal(info.guaranteed_bytes, 10 * page);
    assert_int_equal(info.requested_guarantee_bytes, 50 * page);
    assert_ok(ferrum_elastic_pool_alloc(p.pool, "guarded", 49 * page, &address,
                                        &offset));
    assert_ok(ferrum_elastic_pool_alloc(p.pool, "late", 10 * page, &address,
                                        &offset));
    ferrum_model_limits limits = FERRUM_MODEL_LIMITS_INIT;
    limits.guaranteed_bytes = 50 * page;
    assert_status(ferrum_elastic_pool_set_model_limits(p.pool, "late", &limits),
                  FERRUM_ERROR_OUT_OF_PHYSICAL_MEMORY);
    assert_ok(unmap(p, 0, 30, default_stream));
    settle(p);
    assert_ok(ferrum_elastic_pool_get_model_info(p.pool, "late", &info));
    assert_int_equal(info.guaranteed_bytes, 40 * page);
    assert_ok(unmap(p, 30, 10, default_stream));
    settle(p);
    assert_ok(ferrum_elastic_pool_set_model_limits(p.pool, "late", &limits));
    assert_ok(ferrum_elastic_pool_get_model_info(p.pool, "late", &info));
    assert_int_equal(info.guaranteed_bytes, 50 * page);
    end(p, FERRUM_FORCE);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_a_range_waits_for_its_streams),
        TEST(test_a_stream_is_recorded_for_a_part),
        TEST(test_free_after_the_stream_was_destroyed),
        TEST(test_free_after_an_adopted_stream_was_destroyed),
        TEST(test_late_work_of_one_model_is_not_seen_by_another),
        TEST(test_sleep_waits_for_the_streams_of_ranges),
        TEST(test_no_guarantee_without_backing),
    };
    return cmocka_run_group_tests_name("range_streams", tests, NULL, NULL);
}
