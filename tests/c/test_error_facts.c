/*
 * The facts of each kind of failure beside its text: exactly the numbers that
 * the header promises for the status.
 */
#include "each.h"
#include "requests.h"

#define PAGE FIXTURE_PAGE

/* The error record of this thread, which must have that status and exactly
 * these facts. */
static ferrum_error_info stated(ferrum_status got, ferrum_status want,
                                uint32_t facts, const char *model) {
    assert_string_equal(ferrum_status_name(got), ferrum_status_name(want));
    ferrum_error_info error = FERRUM_ERROR_INFO_INIT;
    assert_ok(ferrum_last_error(&error));
    assert_int_equal(error.status, want);
    assert_int_equal(error.facts, facts);
    assert_int_equal(error.reserved, 0);
    assert_string_equal(error.model, model);
    const uint64_t values[] = {error.offset_bytes,      error.size_bytes,
                               error.capacity_bytes,    error.page_bytes,
                               error.requested_bytes,   error.available_bytes,
                               error.largest_free_bytes};
    for (int i = 0; i < 7; i++)
        if (!(facts & UINT32_C(1) << i))
            assert_int_equal(values[i], 0);
    return error;
}

#define RANGE                                            \
    (FERRUM_FACT_OFFSET_BYTES | FERRUM_FACT_SIZE_BYTES | \
     FERRUM_FACT_CAPACITY_BYTES)
#define MAPPING \
    (FERRUM_FACT_OFFSET_BYTES | FERRUM_FACT_SIZE_BYTES | FERRUM_FACT_PAGE_BYTES)
#define ROOM (FERRUM_FACT_REQUESTED_BYTES | FERRUM_FACT_AVAILABLE_BYTES)

static void assert_range(ferrum_error_info error, uint64_t offset,
                         uint64_t size, uint64_t capacity) {
    assert_int_equal(error.offset_bytes, offset);
    assert_int_equal(error.size_bytes, size);
    assert_int_equal(error.capacity_bytes, capacity);
}
static void assert_page(ferrum_error_info error, uint64_t offset) {
    assert_int_equal(error.offset_bytes, offset);
    assert_int_equal(error.size_bytes, PAGE);
    assert_int_equal(error.page_bytes, PAGE);
}
static void assert_room(ferrum_error_info error, uint64_t requested,
                        uint64_t available) {
    assert_int_equal(error.requested_bytes, requested);
    assert_int_equal(error.available_bytes, available);
}

static void test_page_size_errors(void **state) {
    (void)state;
    const uint64_t wrong[] = {3 * PAGE, PAGE / 2, 1, UINT64_MAX};
    for (int i = 0; i < 4; i++) {
        ferrum_vpool vpool;
        ferrum_vpool_config config = FERRUM_VPOOL_CONFIG_INIT;
        config.capacity_bytes = MIB;
        config.page_bytes = wrong[i];
        ferrum_error_info error =
            stated(ferrum_vpool_create(f.device, &config, &vpool),
                   FERRUM_ERROR_INVALID_PAGE_SIZE, FERRUM_FACT_PAGE_BYTES, "");
        assert_int_equal(error.page_bytes, wrong[i]);
        ferrum_elastic_pool pool;
        ferrum_elastic_pool_config shared = FERRUM_ELASTIC_POOL_CONFIG_INIT;
        shared.limit_bytes = MIB;
        shared.page_bytes = wrong[i];
        error =
            stated(ferrum_elastic_pool_create(f.device, &shared, &pool),
                   FERRUM_ERROR_INVALID_PAGE_SIZE, FERRUM_FACT_PAGE_BYTES, "");
        assert_int_equal(error.page_bytes, wrong[i]);
    }
}

static void test_ranges_and_pages(void **state) {
    (void)state;
    ferrum_address address;
    ferrum_error_info error =
        stated(ferrum_vpool_alloc(f.vpool, 64 * MIB - 1, 2, &address),
               FERRUM_ERROR_INVALID_OFFSET, RANGE, "");
    assert_range(error, 64 * MIB - 1, 2, 64 * MIB);
    error =
        stated(ferrum_vpool_alloc(f.vpool, UINT64_MAX, UINT64_MAX, &address),
               FERRUM_ERROR_INVALID_OFFSET, RANGE, "");
    assert_range(error, UINT64_MAX, UINT64_MAX, 64 * MIB);
    /* Ranges that are neither whole pages nor one allocation. */
    error = stated(ferrum_vpool_free(f.vpool, 1, PAGE, default_stream),
                   FERRUM_ERROR_INVALID_OFFSET, RANGE, "");
    assert_range(error, 1, PAGE, 64 * MIB);
    error = stated(ferrum_vpool_free(f.vpool, 0, 99, default_stream),
                   FERRUM_ERROR_INVALID_OFFSET, RANGE, "");
    assert_range(error, 0, 99, 64 * MIB);
    error = stated(ferrum_vpool_alloc(f.vpool, PAGE + 7, 5 * PAGE, &address),
                   FERRUM_ERROR_ALREADY_MAPPED, MAPPING, "");
    assert_page(error, PAGE);
    error = stated(ferrum_vpool_free(f.vpool, 0, 4 * PAGE, default_stream),
                   FERRUM_ERROR_NOT_MAPPED, MAPPING, "");
    assert_page(error, 2 * PAGE);
    /* The same for a model. The record has the name of the model. */
    error = stated(
        elastic_pool_alloc_at(f.shared, "chat", 64 * MIB + 1, 1, &address),
        FERRUM_ERROR_INVALID_OFFSET, RANGE, "chat");
    assert_range(error, 64 * MIB + 1, 1, 64 * MIB);
    error = stated(elastic_pool_alloc_at(f.shared, "chat", 0, PAGE, &address),
                   FERRUM_ERROR_ALREADY_MAPPED, MAPPING, "chat");
    assert_page(error, 0);
    error = stated(ferrum_elastic_pool_free(f.shared, "chat", 5 * PAGE, PAGE,
                                            default_stream),
                   FERRUM_ERROR_NOT_MAPPED, MAPPING, "chat");
    assert_page(error, 5 * PAGE);
    error = stated(ferrum_vpool_alloc(f.vpool, 9, 0, &address),
                   FERRUM_ERROR_INVALID_SIZE,
                   FERRUM_FACT_OFFSET_BYTES | FERRUM_FACT_SIZE_BYTES, "");
    assert_int_equal(error.offset_bytes, 9);
}

static void test_model_errors(void **state) {
    (void)state;
    ferrum_model_config config = FERRUM_MODEL_CONFIG_INIT;
    config.virtual_bytes = MIB;
    stated(ferrum_elastic_pool_register_model(f.shared, "chat", &config),
           FERRUM_ERROR_MODEL_ALREADY_EXISTS, 0, "chat");
    ferrum_address address;
    stated(ferrum_elastic_pool_alloc(f.shared, "nobody", 1, &address, NULL),
           FERRUM_ERROR_MODEL_NOT_FOUND, 0, "nobody");
    stated(ferrum_elastic_pool_unregister_model(f.shared, "nobody", 0),
           FERRUM_ERROR_MODEL_NOT_FOUND, 0, "nobody");
    stated(ferrum_elastic_pool_sleep_model(f.shared, "nobody", NULL, NULL),
           FERRUM_ERROR_MODEL_NOT_FOUND, 0, "nobody");
    /* The next failure does not keep the facts of this one. */
    stated(ferrum_pool_alloc(f.pool, 0, default_stream, &address),
           FERRUM_ERROR_INVALID_SIZE, 0, "");
}

static void test_physical_and_virtual_memory(void **state) {
    (void)state;
    ferrum_address address;
    /* Two pages of 16 MiB are in use. */
    ferrum_error_info error =
        stated(ferrum_vpool_alloc(f.vpool, MIB, 16 * MIB, &address),
               FERRUM_ERROR_OUT_OF_PHYSICAL_MEMORY, ROOM, "");
    assert_room(error, 16 * MIB, 16 * MIB - 2 * PAGE);
    error = stated(
        ferrum_elastic_pool_alloc(f.shared, "chat", 16 * MIB, &address, NULL),
        FERRUM_ERROR_OUT_OF_PHYSICAL_MEMORY, ROOM, "chat");
    assert_room(error, 16 * MIB, 16 * MIB - 2 * PAGE);
    error = stated(ferrum_vpool_set_limit(f.vpool, 1024 * MIB),
                   FERRUM_ERROR_OUT_OF_PHYSICAL_MEMORY, ROOM, "");
    assert_room(error, 1024 * MIB, 256 * MIB);
    error = stated(ferrum_elastic_pool_alloc(f.shared, "chat", 64 * MIB + 1,
                                             &address, NULL),
                   FERRUM_ERROR_OUT_OF_VIRTUAL_MEMORY,
                   FERRUM_FACT_REQUESTED_BYTES | FERRUM_FACT_CAPACITY_BYTES,
                   "chat");
    assert_int_equal(error.requested_bytes, 64 * MIB + 1);
    assert_int_equal(error.capacity_bytes, 64 * MIB);
    /* Enough free pages in total, but no run of that length. */
    ferrum_model_config small = FERRUM_MODEL_CONFIG_INIT;
    small.virtual_bytes = 8 * MIB;
    assert_ok(ferrum_elastic_pool_register_model(f.shared, "small", &small));
    assert_ok(
        elastic_pool_alloc_at(f.shared, "small", 4 * MIB, PAGE, &address));
    error = stated(
        ferrum_elastic_pool_alloc(f.shared, "small", 5 * MIB, &address, NULL),
        FERRUM_ERROR_OUT_OF_VIRTUAL_MEMORY,
        FERRUM_FACT_REQUESTED_BYTES | FERRUM_FACT_CAPACITY_BYTES |
            FERRUM_FACT_LARGEST_FREE_BYTES,
        "small");
    assert_int_equal(error.requested_bytes, 5 * MIB);
    assert_int_equal(error.capacity_bytes, 8 * MIB);
    assert_int_equal(error.largest_free_bytes, 4 * MIB);
    assert_ok(
        ferrum_elastic_pool_unregister_model(f.shared, "small", FERRUM_FORCE));
    ferrum_vpool vpool;
    ferrum_vpool_config config = FERRUM_VPOOL_CONFIG_INIT;
    config.capacity_bytes = UINT64_C(1) << 50;
    error = stated(ferrum_vpool_create(f.device, &config, &vpool),
                   FERRUM_ERROR_OUT_OF_VIRTUAL_MEMORY,
                   FERRUM_FACT_REQUESTED_BYTES, "");
    assert_int_equal(error.requested_bytes, UINT64_C(1) << 50);
}

/* Conversion: a failure of the system keeps its error number. */
static void test_errors_of_the_system_keep_their_number(void **state) {
    (void)state;
    ferrum_sleep_config config = FERRUM_SLEEP_CONFIG_INIT;
    config.backing = FERRUM_SLEEP_FILE;
    config.directory = "/nowhere at all";
    ferrum_error_info error = stated(ferrum_vpool_sleep(f.vpool, &config, NULL),
                                     FERRUM_ERROR_IO, 0, "");
    assert_int_equal(error.native_code, 2);
    assert_string_equal(error.device, "cpu:0");
    assert_non_null(strstr(error.message, "/nowhere at all"));
    error =
        stated(ferrum_elastic_pool_sleep_model(f.shared, "chat", &config, NULL),
               FERRUM_ERROR_IO, 0, "chat");
    assert_int_equal(error.native_code, 2);
}

static void test_memory(void **state) {
    (void)state;
    ferrum_pool_config config = FERRUM_POOL_CONFIG_INIT;
    config.initial_size_bytes = 4 * MIB;
    config.max_size_bytes = 8 * MIB;
    config.growth_increment_bytes = 4 * MIB;
    ferrum_pool pool;
    assert_ok(ferrum_pool_create(f.device, &config, &pool));
    ferrum_address block, address;
    ferrum_error_info error =
        stated(ferrum_pool_alloc(pool, 9 * MIB, default_stream, &address),
               FERRUM_ERROR_OUT_OF_MEMORY,
               FERRUM_FACT_REQUESTED_BYTES | FERRUM_FACT_CAPACITY_BYTES, "");
    assert_true(error.requested_bytes >= 9 * MIB);
    assert_int_equal(error.capacity_bytes, 8 * MIB);
    assert_ok(ferrum_pool_alloc(pool, 3 * MIB, default_stream, &block));
    assert_ok(ferrum_pool_alloc(pool, 3 * MIB, default_stream, &address));
    error = stated(ferrum_pool_alloc(pool, 3 * MIB, default_stream, &address),
                   FERRUM_ERROR_OUT_OF_MEMORY,
                   ROOM | FERRUM_FACT_LARGEST_FREE_BYTES, "");
    assert_room(error, 3 * MIB, 2 * MIB);
    ferrum_statistics statistics = FERRUM_STATISTICS_INIT;
    assert_ok(ferrum_pool_get_statistics(pool, &statistics));
    assert_int_equal(error.largest_free_bytes, statistics.largest_free_bytes);
    assert_ok(ferrum_pool_destroy(pool, FERRUM_FORCE));
    /* The failure of a manager has the facts of its pool. */
    ferrum_manager_config managed = FERRUM_MANAGER_CONFIG_INIT;
    managed.pool_configs[FERRUM_MEMORY_GENERAL] = &config;
    ferrum_manager manager;
    assert_ok(ferrum_manager_create(f.device, &managed, &manager));
    ferrum_memory memory;
    error =
        stated(ferrum_manager_alloc(manager, 9 * MIB, &memory),
               FERRUM_ERROR_OUT_OF_MEMORY,
               FERRUM_FACT_REQUESTED_BYTES | FERRUM_FACT_CAPACITY_BYTES, "");
    assert_int_equal(error.capacity_bytes, 8 * MIB);
    assert_ok(ferrum_manager_destroy(manager, 0));
}

/* A caller that was built with the older record gets the fields that it
 * knows. */
static void test_an_older_record_without_facts(void **state) {
    (void)state;
    struct {
        ferrum_error_info info;
        unsigned char after[64];
    } old;
    memset(&old, 0x5a, sizeof old);
    old.info.struct_size = offsetof(ferrum_error_info, facts);
    ferrum_address address;
    assert_int_equal(ferrum_vpool_alloc(f.vpool, 0, PAGE, &address),
                     FERRUM_ERROR_ALREADY_MAPPED);
    assert_ok(ferrum_last_error(&old.info));
    assert_int_equal(old.info.status, FERRUM_ERROR_ALREADY_MAPPED);
    const unsigned char *bytes = (const unsigned char *)&old;
    for (size_t i = offsetof(ferrum_error_info, facts); i < sizeof old; i++)
        assert_int_equal(bytes[i], 0x5a);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_page_size_errors),
        TEST(test_ranges_and_pages),
        TEST(test_model_errors),
        TEST(test_physical_and_virtual_memory),
        TEST(test_errors_of_the_system_keep_their_number),
        TEST(test_memory),
        TEST(test_an_older_record_without_facts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
