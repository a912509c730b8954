/*
 * The header's promises about pools beyond the allocation and free of one
 * block: requests, batches, tags, sizes, owners, several streams, retention,
 * strategies, thread caches and debug mode. Each test starts with one live
 * object of every kind and ends with a clean stop of the library, which fails
 * if anything is left.
 */
#include "each.h"

#include <stdio.h>

static ferrum_statistics books(ferrum_pool pool) {
    ferrum_statistics s = FERRUM_STATISTICS_INIT;
    assert_ok(ferrum_pool_get_statistics(pool, &s));
    assert_int_equal(s.reserved.current,
                     s.active.current + s.cached.current + s.unusable.current);
    assert_true(s.thread_cached_bytes <= s.cached.current);
    return s;
}
static ferrum_pool_config small(void) {
    ferrum_pool_config config = FERRUM_POOL_CONFIG_INIT;
    config.initial_size_bytes = config.growth_increment_bytes = 4 * MIB;
    config.ready_pages = FERRUM_READY_PAGES_ALL;
    return config;
}
static ferrum_pool make(const ferrum_pool_config *config) {
    ferrum_pool pool;
    assert_ok(ferrum_pool_create(f.device, config, &pool));
    return pool;
}
static ferrum_address take(ferrum_pool pool, uint64_t size,
                           ferrum_stream stream) {
    ferrum_address address;
    assert_ok(ferrum_pool_alloc(pool, size, stream, &address));
    return address;
}
static int overlap(ferrum_address a, ferrum_address b, uint64_t size) {
    return a < b + size && b < a + size;
}

/* ------------------------------------------------------------ older callers */

static void test_a_caller_of_the_first_version(void **state) {
    (void)state;
    assert_int_equal(offsetof(ferrum_pool_config, tracking), 64);
    assert_int_equal(offsetof(ferrum_statistics, thread_cached_bytes), 168);
    /* Bytes behind the struct of that version are not settings. */
    ferrum_pool_config config = small();
    memset((char *)&config + 64, 0xee, sizeof config - 64);
    config.struct_size = 64;
    config.name = "first";
    ferrum_pool pool = make(&config);
    ferrum_address block = take(pool, 100, default_stream);
    ferrum_statistics s;
    memset(&s, 0xee, sizeof s);
    s.struct_size = 168;
    s.reserved_field = 0;
    assert_ok(ferrum_pool_get_statistics(pool, &s));
    assert_int_equal(s.requested.current, 100);
    assert_int_equal(s.reserved.current, 2 * MIB); /* a page */
    assert_true(s.thread_cached_bytes == UINT64_C(0xeeeeeeeeeeeeeeee));
    ferrum_manager_config manager_config = FERRUM_MANAGER_CONFIG_INIT;
    manager_config.pool_configs[FERRUM_MEMORY_GENERAL] = &config;
    ferrum_manager manager;
    assert_ok(ferrum_manager_create(f.device, &manager_config, &manager));
    ferrum_memory memory;
    assert_ok(ferrum_manager_alloc(manager, 100, &memory));
    assert_ok(ferrum_memory_free(memory));
    assert_ok(ferrum_manager_destroy(manager, 0));
    assert_ok(ferrum_pool_free(pool, block, default_stream));
    assert_ok(ferrum_pool_destroy(pool, 0));
}

/* -------------------------------------------------------------- paging */

static ferrum_pool_info info_of(ferrum_pool pool) {
    ferrum_pool_info info = FERRUM_POOL_INFO_INIT;
    assert_ok(ferrum_pool_get_info(pool, &info));
    return info;
}

static void test_pages(void **state) {
    (void)state;
    assert_int_equal(offsetof(ferrum_pool_config, paging), 112);
    ferrum_pool_config config = small();
    config.paging = FERRUM_PAGING_ON;
    config.physical_page_bytes = 64 * KIB;
    ferrum_pool pool = make(&config);
    ferrum_address a = take(pool, 640 * KIB, default_stream);
    ferrum_address b = take(pool, 64 * KIB, default_stream);
    assert_ok(ferrum_pool_free(pool, a, default_stream));
    ferrum_pool_info info = info_of(pool);
    assert_int_equal(info.page_bytes, 64 * KIB);
    assert_int_equal(info.mapped_pages, 11);
    assert_int_equal(info.idle_pages, 10);
    assert_int_equal(info.held_bytes, 11 * 64 * KIB);
    assert_int_equal(info.segments, 1);
    assert_true(info.address_bytes >= info.held_bytes);
    /* Pages in front of a live block are released as well. */
    uint64_t released;
    assert_ok(ferrum_pool_trim(pool, 0, &released));
    assert_int_equal(released, 640 * KIB);
    assert_int_equal(info_of(pool).mapped_pages, 1);
    assert_ok(ferrum_pool_free(pool, b, default_stream));
    assert_ok(ferrum_pool_destroy(pool, 0));

    config.paging = FERRUM_PAGING_OFF;
    pool = make(&config);
    a = take(pool, 640 * KIB, default_stream);
    info = info_of(pool);
    assert_int_equal(info.page_bytes, 0);
    assert_int_equal(info.mapped_pages, 0);
    assert_int_equal(info.held_bytes, 4 * MIB);
    assert_int_equal(info.address_bytes, 4 * MIB);
    assert_ok(ferrum_pool_free(pool, a, default_stream));
    assert_ok(ferrum_pool_destroy(pool, 0));

    /* By default a pool has no pages if a page would be a large part of the
     * pool. */
    config.paging = FERRUM_PAGING_AUTO;
    config.physical_page_bytes = 0;
    config.max_size_bytes = 62 * MIB;
    pool = make(&config);
    assert_int_equal(info_of(pool).page_bytes, 0);
    assert_ok(ferrum_pool_destroy(pool, 0));
    config.max_size_bytes = 64 * MIB;
    pool = make(&config);
    assert_int_equal(info_of(pool).page_bytes, 2 * MIB);
    assert_ok(ferrum_pool_destroy(pool, 0));
}

/* Idle memory is released without a call, except the configured number of
 * pages. */
static void test_idle_pages_go_back(void **state) {
    (void)state;
    ferrum_pool_config config = small();
    config.paging = FERRUM_PAGING_ON;
    config.ready_pages = 3;
    ferrum_pool pool = make(&config);
    assert_ok(ferrum_pool_free(pool, take(pool, 40 * MIB, default_stream),
                               default_stream));
    struct timespec pause = {0, 1000000};
    while (info_of(pool).mapped_pages != 3)
        nanosleep(&pause, NULL);
    assert_int_equal(info_of(pool).ready_pages, 3);
    assert_ok(ferrum_pool_destroy(pool, 0));
}

/* ------------------------------------------------------- requests and tags */

static void test_requests(void **state) {
    (void)state;
    uint32_t tag = 0, again = 0;
    assert_ok(ferrum_pool_get_tag(f.pool, "kv", &tag));
    assert_ok(ferrum_pool_get_tag(f.pool, "kv", &again));
    assert_true(tag != 0 && tag == again);
    ferrum_pool_request r = FERRUM_POOL_REQUEST_INIT;
    r.size_bytes = 1000;
    r.alignment_bytes = 64 * KIB;
    r.tag = tag;
    r.stream = f.stream;
    r.expected_lifetime_ns = 50000000;
    r.group = 7;
    ferrum_address a, b;
    assert_ok(ferrum_pool_alloc_with(f.pool, &r, &a));
    assert_int_equal(a % (64 * KIB), 0);
    ferrum_block_info info = FERRUM_BLOCK_INFO_INIT;
    assert_ok(ferrum_device_get_owner(f.device, a + 999, &info));
    assert_string_equal(info.tag, "kv");
    assert_int_equal(info.requested_bytes, 1000);
    /* Hints accept any value. */
    r.expected_lifetime_ns = r.group = UINT64_MAX;
    r.alignment_bytes = 0;
    r.tag = 0;
    assert_ok(ferrum_pool_alloc_with(f.pool, &r, &b));
    assert_false(overlap(a, b, 1000));
    r.tag = tag + 1;
    assert_status(ferrum_pool_alloc_with(f.pool, &r, &b),
                  FERRUM_ERROR_INVALID_ARGUMENT);
    assert_int_equal(b, 0);
    assert_message("tag");
    assert_ok(ferrum_pool_reset(f.pool, default_stream));
    f.block = take(f.pool, 4096, f.stream);
}

static void test_tags_are_bounded(void **state) {
    (void)state;
    ferrum_pool_config config = small();
    ferrum_pool pool = make(&config);
    uint32_t tag, first = 0;
    char name[64];
    for (int i = 0; i < 4095; i++) {
        snprintf(name, sizeof name, "tag %d", i);
        assert_ok(ferrum_pool_get_tag(pool, name, &tag));
        assert_int_not_equal(tag, 0);
        first = i == 0 ? tag : first;
    }
    assert_status(ferrum_pool_get_tag(pool, "one too many", &tag),
                  FERRUM_ERROR_RESOURCE_EXHAUSTED);
    assert_int_equal(tag, 0);
    assert_ok(ferrum_pool_get_tag(pool, "tag 0", &tag));
    assert_int_equal(tag, first);
    assert_ok(ferrum_pool_destroy(pool, 0));
}

/* ----------------------------------------------------------------- batches */

enum { MANY = 256 };

static void test_batches(void **state) {
    (void)state;
    ferrum_pool_config config = small();
    ferrum_pool pool = make(&config);
    ferrum_address blocks[MANY + 1];
    assert_ok(
        ferrum_pool_alloc_batch(pool, 5000, MANY, default_stream, blocks));
    for (int i = 0; i < MANY; i++) {
        assert_int_equal(blocks[i] % 256, 0);
        memset((void *)(uintptr_t)blocks[i], i, 5000);
    }
    for (int i = 0; i < MANY; i++)
        for (int b = 0; b < 5000; b += 4999)
            assert_int_equal(((unsigned char *)(uintptr_t)blocks[i])[b],
                             i % 256);
    ferrum_statistics s = books(pool);
    assert_int_equal(s.live_blocks.current, MANY);
    assert_int_equal(s.requested.current, MANY * 5000);
    assert_int_equal(s.allocations, MANY);
    /* All or none: one wrong block keeps all of them. */
    blocks[MANY] = blocks[17];
    assert_status(
        ferrum_pool_free_batch(pool, blocks, MANY + 1, default_stream),
        FERRUM_ERROR_DOUBLE_FREE);
    assert_message("256");
    blocks[MANY] = blocks[17] + 256;
    assert_status(
        ferrum_pool_free_batch(pool, blocks, MANY + 1, default_stream),
        FERRUM_ERROR_INVALID_ADDRESS);
    assert_message("256");
    assert_int_equal(books(pool).live_blocks.current, MANY);
    assert_int_equal(books(pool).frees, 0);
    assert_ok(ferrum_pool_free_batch(pool, blocks, MANY, default_stream));
    assert_int_equal(books(pool).live_blocks.current, 0);
    assert_int_equal(books(pool).frees, MANY);
    assert_status(ferrum_pool_free_batch(pool, blocks, 1, default_stream),
                  FERRUM_ERROR_DOUBLE_FREE);
    assert_ok(ferrum_pool_destroy(pool, 0));
}

static void test_a_failed_batch_allocates_nothing(void **state) {
    (void)state;
    ferrum_pool_config config = small();
    config.max_size_bytes = 4 * MIB;
    ferrum_pool pool = make(&config);
    ferrum_address blocks[MANY];
    memset(blocks, 0xff, sizeof blocks);
    assert_status(
        ferrum_pool_alloc_batch(pool, 17 * KIB, MANY, default_stream, blocks),
        FERRUM_ERROR_OUT_OF_MEMORY);
    for (int i = 0; i < MANY; i++)
        assert_int_equal(blocks[i], 0);
    ferrum_statistics s = books(pool);
    assert_int_equal(s.live_blocks.current, 0);
    assert_int_equal(s.allocations, 0);
    assert_int_equal(s.failures, 1);
    assert_ok(
        ferrum_pool_alloc_batch(pool, 16 * KIB, MANY, default_stream, blocks));
    assert_ok(ferrum_pool_free_batch(pool, blocks, MANY, default_stream));
    assert_ok(ferrum_pool_destroy(pool, 0));
}

static void test_the_longest_batch(void **state) {
    (void)state;
    ferrum_pool_config config = small();
    config.alignment_bytes = 16;
    config.growth_increment_bytes = 64 * MIB;
    ferrum_pool pool = make(&config);
    ferrum_address *blocks = calloc(FERRUM_BATCH_MAX, sizeof *blocks);
    assert_non_null(blocks);
    assert_ok(ferrum_pool_alloc_batch(pool, 16, FERRUM_BATCH_MAX,
                                      default_stream, blocks));
    assert_int_equal(books(pool).live_blocks.current, FERRUM_BATCH_MAX);
    assert_ok(
        ferrum_pool_free_batch(pool, blocks, FERRUM_BATCH_MAX, default_stream));
    assert_int_equal(books(pool).live_blocks.current, 0);
    free(blocks);
    assert_ok(ferrum_pool_destroy(pool, 0));
}

/* ---------------------------------------------------------- sizes and owners */

static void test_sizes(void **state) {
    (void)state;
    ferrum_address block = take(f.pool, 1000, default_stream);
    uint64_t usable = 0;
    assert_ok(ferrum_pool_usable_size(f.pool, block, &usable));
    assert_true(usable >= 1000);
    memset((void *)(uintptr_t)block, 1, (size_t)usable);
    assert_status(ferrum_pool_free_sized(f.pool, block, 999, default_stream),
                  FERRUM_ERROR_INVALID_SIZE);
    assert_message("1000");
    assert_status(ferrum_pool_free_sized(f.pool, block, 0, default_stream),
                  FERRUM_ERROR_INVALID_SIZE);
    assert_status(
        ferrum_pool_free_sized(f.pool, block + 256, 1000, default_stream),
        FERRUM_ERROR_INVALID_ADDRESS);
    assert_int_equal(books(f.pool).live_blocks.current, 2);
    assert_ok(ferrum_pool_free_sized(f.pool, block, 1000, default_stream));
    assert_status(ferrum_pool_free_sized(f.pool, block, 1000, default_stream),
                  FERRUM_ERROR_DOUBLE_FREE);
    assert_status(ferrum_pool_usable_size(f.pool, block, &usable),
                  FERRUM_ERROR_DOUBLE_FREE);
    assert_int_equal(usable, 0);
    assert_status(ferrum_pool_usable_size(f.pool, f.block + 8, &usable),
                  FERRUM_ERROR_INVALID_ADDRESS);
}

static void test_owners(void **state) {
    (void)state;
    ferrum_pool_config config = small();
    config.name = "owned";
    config.tracking = 1;
    ferrum_pool pool = make(&config);
    gate held = GATE;
    ferrum_address block = take(pool, 64 * KIB, f.stream);
    ferrum_block_info info = FERRUM_BLOCK_INFO_INIT;
    assert_ok(ferrum_device_get_owner(f.device, block + 64 * KIB - 1, &info));
    assert_int_equal(info.state, FERRUM_BLOCK_LIVE);
    assert_int_equal(info.pool.id, pool.id);
    assert_int_equal(info.manager, 0);
    assert_int_equal(info.address, block);
    assert_int_equal(info.size_bytes, 64 * KIB);
    assert_int_equal(info.requested_bytes, 64 * KIB);
    assert_true(info.age_ns > 0);
    assert_string_equal(info.pool_name, "owned");
    assert_string_equal(info.tag, "owned");
    assert_ok(ferrum_stream_host_function(f.stream, gate_wait, &held));
    assert_ok(ferrum_pool_free(pool, block, f.stream));
    assert_ok(ferrum_device_get_owner(f.device, block, &info));
    assert_int_equal(info.state, FERRUM_BLOCK_IN_FLIGHT);
    assert_int_equal(info.requested_bytes, 0);
    assert_int_equal(info.age_ns, 0);
    assert_string_equal(info.tag, "");
    assert_string_equal(info.pool_name, "owned");
    gate_open(&held);
    assert_ok(ferrum_stream_synchronize(f.stream, FERRUM_WAIT_FOREVER));
    assert_ok(ferrum_pool_free(pool, take(pool, 256, default_stream),
                               default_stream));
    assert_ok(ferrum_device_get_owner(f.device, block + 32 * KIB, &info));
    assert_int_equal(info.state, FERRUM_BLOCK_FREE);
    assert_true(info.address <= block + 32 * KIB);
    assert_true(info.address + info.size_bytes > block + 32 * KIB);
    assert_ok(ferrum_pool_destroy(pool, 0));
    assert_status(ferrum_device_get_owner(f.device, block, &info),
                  FERRUM_ERROR_NOT_FOUND);
    assert_int_equal(info.struct_size, sizeof info);
    assert_status(ferrum_device_get_owner(f.other_device, f.block, &info),
                  FERRUM_ERROR_NOT_FOUND);
    ferrum_handle_info memory = FERRUM_HANDLE_INFO_INIT;
    assert_ok(ferrum_memory_get_handle_info(f.memory, &memory));
    assert_ok(ferrum_device_get_owner(f.device, memory.address, &info));
    assert_int_equal(info.state, FERRUM_BLOCK_LIVE);
    assert_int_equal(info.pool.id, 0);
    assert_int_equal(info.manager, f.manager.id);
}

/* ---------------------------------------------------------- several streams */

static void test_the_same_stream_has_the_memory_at_once(void **state) {
    (void)state;
    ferrum_pool_config config = small();
    config.max_size_bytes = 4 * MIB;
    ferrum_pool pool = make(&config);
    gate held = GATE;
    assert_ok(ferrum_stream_host_function(f.stream, gate_wait, &held));
    ferrum_address block = take(pool, 4 * MIB, f.stream);
    for (int i = 0; i < 5; i++) {
        assert_ok(ferrum_pool_free(pool, block, f.stream));
        assert_int_equal(books(pool).active.current, 4 * MIB);
        /* There is no other memory, and the stream is blocked. */
        assert_int_equal(take(pool, 4 * MIB, f.stream), block);
    }
    gate_open(&held);
    assert_ok(ferrum_pool_free(pool, block, f.stream));
    /* Another stream waits for the block. The pages may have another
     * address by then. */
    block = take(pool, 4 * MIB, default_stream);
    assert_int_equal(books(pool).reserved.current, 4 * MIB);
    assert_ok(ferrum_pool_free(pool, block, default_stream));
    assert_ok(ferrum_pool_destroy(pool, 0));
}

static void test_recorded_streams(void **state) {
    (void)state;
    const uint64_t sizes[] = {512, 3 * MIB};
    for (int i = 0; i < 2; i++) {
        ferrum_stream second;
        gate held = GATE;
        assert_ok(ferrum_stream_create(f.device, &second));
        ferrum_address block = take(f.pool, sizes[i], f.stream);
        assert_ok(ferrum_pool_record_stream(f.pool, block, second));
        /* Only work that was queued before the free counts. */
        assert_ok(ferrum_stream_host_function(second, gate_wait, &held));
        assert_ok(ferrum_pool_free(f.pool, block, f.stream));
        assert_status(ferrum_pool_record_stream(f.pool, block, second),
                      FERRUM_ERROR_DOUBLE_FREE);
        ferrum_block_info info = FERRUM_BLOCK_INFO_INIT;
        assert_ok(ferrum_device_get_owner(f.device, block, &info));
        assert_int_equal(info.state, FERRUM_BLOCK_IN_FLIGHT);
        ferrum_address others[20];
        for (int n = 0; n < 20; n++) {
            others[n] =
                take(f.pool, sizes[i], n % 2 ? f.stream : default_stream);
            assert_false(overlap(others[n], block, sizes[i]));
        }
        assert_ok(ferrum_pool_free_batch(f.pool, others, 20, default_stream));
        gate_open(&held);
        assert_ok(ferrum_stream_synchronize(second, FERRUM_WAIT_FOREVER));
        assert_ok(ferrum_stream_destroy(second, 0));
    }
}

static void test_reset(void **state) {
    (void)state;
    ferrum_pool_config config = small();
    ferrum_pool pool = make(&config);
    gate held = GATE;
    ferrum_address blocks[40];
    for (int i = 0; i < 40; i++)
        blocks[i] = take(pool, (uint64_t)(i + 1) * 5000, default_stream);
    assert_ok(ferrum_stream_host_function(f.stream, gate_wait, &held));
    assert_ok(ferrum_pool_reset(pool, f.stream));
    ferrum_statistics s = books(pool);
    assert_int_equal(s.live_blocks.current, 0);
    assert_int_equal(s.requested.current, 0);
    assert_int_equal(s.allocations, 40);
    assert_int_equal(s.frees, 40);
    assert_true(s.active.current > 0);
    for (int i = 0; i < 40; i++)
        assert_status(ferrum_pool_free(pool, blocks[i], default_stream),
                      FERRUM_ERROR_DOUBLE_FREE);
    gate_open(&held);
    assert_ok(ferrum_stream_synchronize(f.stream, FERRUM_WAIT_FOREVER));
    assert_ok(ferrum_pool_reset(pool, default_stream));
    uint64_t released = 0;
    assert_ok(ferrum_pool_trim(pool, 0, &released));
    assert_int_equal(books(pool).reserved.current, 0);
    assert_ok(ferrum_pool_destroy(pool, 0));
}

static ferrum_status from_inside[6];
static void call_from_inside(void *data) {
    fixture *g = data;
    ferrum_address blocks[3] = {0};
    ferrum_pool_request r = FERRUM_POOL_REQUEST_INIT;
    r.size_bytes = 64;
    from_inside[0] =
        ferrum_pool_alloc_batch(g->pool, 64, 2, default_stream, blocks);
    from_inside[1] = ferrum_pool_alloc_with(g->pool, &r, &blocks[2]);
    from_inside[2] =
        ferrum_pool_record_stream(g->pool, blocks[0], default_stream);
    from_inside[3] = ferrum_pool_free_batch(g->pool, blocks, 3, default_stream);
    uint64_t released;
    from_inside[4] = ferrum_pool_trim(g->pool, 0, &released);
    from_inside[5] = ferrum_pool_set_min_held(g->pool, 0);
}
static void test_inside_a_host_function(void **state) {
    (void)state;
    assert_ok(ferrum_stream_host_function(f.stream, call_from_inside, &f));
    assert_ok(ferrum_stream_synchronize(f.stream, FERRUM_WAIT_FOREVER));
    for (int i = 0; i < 6; i++)
        assert_ok(from_inside[i]);
}

/* --------------------------------------------------------------- retention */

static void test_retention(void **state) {
    (void)state;
    ferrum_pool_config config = small();
    config.release_threshold_bytes = 4 * MIB;
    config.min_held_bytes = 4 * MIB;
    ferrum_pool pool = make(&config);
    uint64_t released;
    ferrum_address a = take(pool, 4 * MIB, default_stream);
    ferrum_address b = take(pool, 4 * MIB, default_stream);
    assert_int_equal(books(pool).reserved.current, 8 * MIB);
    assert_ok(ferrum_pool_free(pool, b, default_stream));
    assert_int_equal(books(pool).reserved.current, 4 * MIB);
    assert_ok(ferrum_pool_free(pool, a, default_stream));
    assert_int_equal(books(pool).reserved.current, 4 * MIB);
    assert_ok(ferrum_pool_trim(pool, 0, &released));
    assert_int_equal(released, 0);
    assert_ok(ferrum_pool_set_release_threshold(pool, 0));
    assert_int_equal(books(pool).reserved.current, 4 * MIB);
    assert_ok(ferrum_pool_set_min_held(pool, 0));
    assert_ok(ferrum_pool_trim(pool, 0, &released));
    assert_int_equal(released, 4 * MIB);
    assert_ok(ferrum_pool_set_release_threshold(pool, UINT64_MAX));
    assert_ok(ferrum_pool_free(pool, take(pool, 4 * MIB, default_stream),
                               default_stream));
    assert_int_equal(books(pool).reserved.current, 4 * MIB);
    assert_ok(ferrum_pool_set_release_threshold(pool, 0));
    assert_int_equal(books(pool).reserved.current, 0);
    assert_ok(ferrum_pool_destroy(pool, 0));
}

/* -------------------------------------------------------------- strategies */

static void test_strategies(void **state) {
    (void)state;
    static const char *const names[] = {"best_fit", "size_class", "tlsf",
                                        "buddy",    "arena",      "fixed"};
    for (int n = 0; n < 6; n++) {
        int fixed = strcmp(names[n], "fixed") == 0;
        ferrum_pool_config config = small();
        config.strategy = names[n];
        config.name = "strategies";
        config.fixed_block_bytes = fixed ? 16 * KIB : 0;
        config.page_bytes = fixed ? 64 * KIB : 0;
        ferrum_pool pool = make(&config);
        ferrum_address blocks[64];
        for (int round = 0; round < 3; round++) {
            for (int i = 0; i < 64; i++) {
                blocks[i] =
                    take(pool, fixed ? 16 * KIB : (uint64_t)(i + 1) * 300,
                         default_stream);
                memset((void *)(uintptr_t)blocks[i], i, (size_t)(i + 1) * 250);
            }
            for (int i = 0; i < 64; i++)
                assert_int_equal(((unsigned char *)(uintptr_t)blocks[i])[249],
                                 i);
            assert_ok(ferrum_pool_free_batch(pool, blocks, 64, default_stream));
        }
        size_t length = 0;
        char text[65536], wanted[64];
        assert_ok(ferrum_snapshot_json(text, sizeof text, &length));
        snprintf(wanted, sizeof wanted, "\"strategy\":\"%s\"", names[n]);
        assert_non_null(strstr(strstr(text, "\"strategies\""), wanted));
        assert_non_null(strstr(text, "\"thread_cached_bytes\":"));
        uint64_t released;
        assert_ok(ferrum_pool_trim(pool, 0, &released));
        assert_int_equal(books(pool).reserved.current, 0);
        assert_ok(ferrum_pool_destroy(pool, 0));
    }
}

/* ------------------------------------------------------------ thread caches */

static uint64_t cached_after_a_free(const ferrum_pool_config *config) {
    ferrum_pool pool = make(config);
    for (int i = 0; i < 100; i++)
        assert_ok(ferrum_pool_free(pool, take(pool, 2000, default_stream),
                                   default_stream));
    uint64_t cached = books(pool).thread_cached_bytes, released;
    assert_int_equal(books(pool).live_blocks.current, 0);
    assert_int_equal(books(pool).active.current, 0);
    assert_int_equal(books(pool).allocations, 100);
    assert_ok(ferrum_pool_trim(pool, 0, &released));
    assert_int_equal(books(pool).thread_cached_bytes, 0);
    assert_int_equal(books(pool).reserved.current, 0);
    assert_ok(ferrum_pool_destroy(pool, 0));
    return cached;
}
static void test_thread_caches(void **state) {
    (void)state;
    ferrum_pool_config config = small();
    assert_true(cached_after_a_free(&config) > 0);
    config.thread_cache_bytes = 64 * KIB;
    uint64_t little = cached_after_a_free(&config);
    assert_true(little > 0 && little <= 64 * KIB);
    config.thread_cache_bytes = 0;
    assert_int_equal(cached_after_a_free(&config), 0);
    config.thread_cache_bytes = FERRUM_THREAD_CACHE_AUTO;
    config.tracking = 1;
    assert_int_equal(cached_after_a_free(&config), 0);
    config.tracking = 0;
    config.debug = FERRUM_DEBUG_CALL_SITES;
    assert_int_equal(cached_after_a_free(&config), 0);
}

/* A block in a cache is available for a request that needs all memory. */
static void test_caches_release_before_memory_runs_out(void **state) {
    (void)state;
    ferrum_pool_config config = small();
    config.max_size_bytes = 4 * MIB;
    ferrum_pool pool = make(&config);
    /* The caches get no block of a pool that would have to grow for it. */
    ferrum_address first = take(pool, 1000, default_stream);
    ferrum_address block = take(pool, 1000, default_stream);
    assert_ok(ferrum_pool_free(pool, first, default_stream));
    ferrum_block_info info = FERRUM_BLOCK_INFO_INIT;
    assert_ok(ferrum_device_get_owner(f.device, block, &info));
    assert_int_equal(info.state, FERRUM_BLOCK_LIVE);
    assert_int_equal(info.requested_bytes, 1000);
    assert_ok(ferrum_pool_free(pool, block, default_stream));
    assert_ok(ferrum_device_get_owner(f.device, block, &info));
    assert_int_equal(info.state, FERRUM_BLOCK_CACHED);
    assert_int_equal(info.pool.id, pool.id);
    assert_int_equal(info.requested_bytes, 0);
    block = take(pool, 4 * MIB, default_stream);
    assert_int_equal(books(pool).thread_cached_bytes, 0);
    assert_ok(ferrum_pool_free(pool, block, default_stream));
    assert_ok(ferrum_pool_destroy(pool, 0));
}

/* ------------------------------------------------------------------- debug */

static void test_red_zones(void **state) {
    (void)state;
    ferrum_pool_config config = small();
    config.debug = FERRUM_DEBUG_ALL;
    ferrum_pool pool = make(&config);
    ferrum_address good = take(pool, 1000, default_stream);
    ferrum_address bad = take(pool, 1000, default_stream);
    memset((void *)(uintptr_t)good, 1, 1000);
    uint64_t usable;
    assert_ok(ferrum_pool_usable_size(pool, bad, &usable));
    memset((void *)(uintptr_t)bad, 1, (size_t)usable + 1);
    assert_ok(ferrum_pool_free(pool, good, default_stream));
    assert_status(ferrum_pool_free(pool, bad, default_stream),
                  FERRUM_ERROR_CORRUPTED);
    assert_ok(ferrum_pool_destroy(pool, FERRUM_FORCE));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_a_caller_of_the_first_version),
        TEST(test_pages),
        TEST(test_idle_pages_go_back),
        TEST(test_requests),
        TEST(test_tags_are_bounded),
        TEST(test_batches),
        TEST(test_a_failed_batch_allocates_nothing),
        TEST(test_the_longest_batch),
        TEST(test_sizes),
        TEST(test_owners),
        TEST(test_the_same_stream_has_the_memory_at_once),
        TEST(test_recorded_streams),
        TEST(test_reset),
        TEST(test_inside_a_host_function),
        TEST(test_retention),
        TEST(test_strategies),
        TEST(test_thread_caches),
        TEST(test_caches_release_before_memory_runs_out),
        TEST(test_red_zones),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
