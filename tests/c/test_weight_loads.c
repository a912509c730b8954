/*
 * The header's promises about loads of weights: the memory of the tensors,
 * orders, progress, cancellation, threads, and the ends of all objects that a
 * load uses. Each test starts with one live object of every kind and ends with a
 * clean stop of the library, which fails if anything is left.
 */
#include "asserts.h"
#include "fixture.h"
#include "weight_files.h"

#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static fixture f;
static char folder[64], path[96];
static ferrum_weights weights;

static int set_up(void **state) {
    (void)state;
    fixture_make(&f);
    if (weight_folder_make(folder, path, 1 << 20) != 0)
        return 1;
    weights = weight_file_open(path);
    return 0;
}
static int tear_down(void **state) {
    (void)state;
    /* A test may have closed it. */
    ferrum_weights_close(weights, FERRUM_FORCE);
    fixture_end(&f);
    return weight_folder_end(folder, path);
}

static const void *at(const ferrum_tensor_info *info) {
    return (const void *)(uintptr_t)info->address;
}

static ferrum_tensor_info found(ferrum_tensor_set set, const char *name) {
    ferrum_tensor_info info = FERRUM_TENSOR_INFO_INIT;
    assert_ok(ferrum_tensor_set_find(set, name, &info));
    return info;
}

/* Checks the three tensors of the file, at their addresses. */
static void check_tensors(ferrum_tensor_set set) {
    const float a[6] = {0, 1, 2, 3, 4, 5};
    const int64_t b[2] = {7, -8};
    ferrum_tensor_info info = found(set, "a");
    assert_int_equal(info.dtype, FERRUM_DTYPE_F32);
    assert_memory_equal(at(&info), a, sizeof a);
    info = found(set, "b");
    assert_memory_equal(at(&info), b, sizeof b);
    info = found(set, "big");
    const unsigned char *big = at(&info);
    for (uint64_t i = 0; i < info.size_bytes; i++)
        if (big[i] != i % 251)
            fail_msg("byte %llu is %d", (unsigned long long)i, big[i]);
}

static uint64_t pool_used(void) {
    ferrum_statistics stats = FERRUM_STATISTICS_INIT;
    assert_ok(ferrum_pool_get_statistics(f.pool, &stats));
    return stats.allocated.current;
}

/* ------------------------------------------------------------ where tensors go */

static ferrum_tensor_set load_into(const ferrum_weights_memory *memory) {
    ferrum_weights_load_request request = FERRUM_WEIGHTS_LOAD_REQUEST_INIT;
    request.memories = memory;
    request.memory_count = 1;
    ferrum_tensor_set set;
    assert_ok(ferrum_weights_load(weights, &request, &set));
    assert_ok(ferrum_tensor_set_wait(set, FERRUM_WAIT_FOREVER));
    return set;
}

static void test_all_tensors_go_to_a_pool(void **state) {
    (void)state;
    uint64_t before = pool_used(), count = 0;
    ferrum_weights_memory memory = {0};
    memory.pool = f.pool;
    memory.tag = "model";
    ferrum_tensor_set set = load_into(&memory);
    check_tensors(set);
    assert_ok(ferrum_tensor_set_get_count(set, &count));
    assert_int_equal(count, 3);
    char name[8];
    size_t length;
    assert_ok(
        ferrum_tensor_set_get_tensor_name(set, 2, name, sizeof name, &length));
    assert_string_equal(name, "big");
    ferrum_tensor_info info = FERRUM_TENSOR_INFO_INIT;
    assert_ok(ferrum_tensor_set_get_tensor(set, 2, &info));
    assert_int_equal(info.size_bytes, 1 << 20);
    assert_string_equal(info.device, "cpu:0");
    assert_int_equal(info.address % 256, 0);
    assert_status(ferrum_tensor_set_get_tensor(set, 3, &info),
                  FERRUM_ERROR_INVALID_ARGUMENT);
    assert_message("index is 3");
    char text[1024];
    assert_ok(ferrum_tensor_set_tensors_json(set, text, sizeof text, &length));
    assert_non_null(strstr(text, "{\"tensors\":[{\"name\":\"a\",\"dtype\":"
                                 "\"f32\",\"shape\":[2,3],"
                                 "\"device\":\"cpu:0\",\"address\":"));
    ferrum_weights_progress progress = FERRUM_WEIGHTS_PROGRESS_INIT;
    assert_ok(ferrum_tensor_set_get_progress(set, &progress));
    assert_int_equal(progress.is_over, 1);
    assert_int_equal(progress.done_bytes, (1 << 20) + 40);
    assert_int_equal(progress.total_bytes, (1 << 20) + 40);
    assert_ok(ferrum_tensor_set_check(set));
    assert_true(pool_used() >= before + (1 << 20));
    /* The set no longer needs the source. */
    assert_ok(ferrum_weights_close(weights, 0));
    check_tensors(set);
    assert_ok(ferrum_tensor_set_free(set, 0));
    assert_int_equal(pool_used(), before);
    assert_status(ferrum_tensor_set_free(set, 0), FERRUM_ERROR_INVALID_HANDLE);
}

static void test_tensors_go_to_pages(void **state) {
    (void)state;
    ferrum_weights_memory memory = {0};
    memory.vpool = f.vpool;
    memory.offset_bytes = 16 * FIXTURE_PAGE;
    ferrum_tensor_set in_pages = load_into(&memory);
    check_tensors(in_pages);
    ferrum_weights_memory shared = {0};
    shared.elastic_pool = f.shared;
    shared.model = "chat";
    ferrum_tensor_set in_model = load_into(&shared);
    check_tensors(in_model);
    assert_ok(ferrum_tensor_set_free(in_model, 0));
    assert_ok(ferrum_tensor_set_free(in_pages, 0));
}

static void test_tensors_go_to_memory_of_the_caller(void **state) {
    (void)state;
    char order[256];
    int64_t b[3] = {1, 2, 3};
    ferrum_weights_memory memory = {0};
    memory.device = f.device;
    ferrum_weights_load_request request = FERRUM_WEIGHTS_LOAD_REQUEST_INIT;
    request.memories = &memory;
    request.memory_count = 1;
    request.specs_json = order;
    ferrum_tensor_set set;
    static const char form[] =
        "{\"tensors\":[{\"name\":\"b\",\"into\":{\"address\":%llu,"
        "\"size_bytes\":%d}}]}";
    request.specs_bytes = (uint64_t)snprintf(
        order, sizeof order, form, (unsigned long long)(uintptr_t)b, 15);
    assert_status(ferrum_weights_load(weights, &request, &set),
                  FERRUM_ERROR_INVALID_SIZE);
    request.specs_bytes = (uint64_t)snprintf(
        order, sizeof order, form, (unsigned long long)(uintptr_t)b, 16);
    assert_ok(ferrum_weights_load(weights, &request, &set));
    assert_ok(ferrum_tensor_set_wait(set, FERRUM_WAIT_FOREVER));
    assert_int_equal(b[0], 7);
    assert_int_equal(b[1], -8);
    assert_int_equal(b[2], 3);
    assert_ok(ferrum_tensor_set_free(set, 0));
    assert_int_equal(b[0], 7);
    request.specs_json = NULL;
    request.specs_bytes = 0;
    assert_status(ferrum_weights_load(weights, &request, &set),
                  FERRUM_ERROR_INVALID_ARGUMENT);
    assert_message("no \"into\" for \"a\"");
}

static void test_mapped_tensors_are_the_file(void **state) {
    (void)state;
    ferrum_weights_load_request request = FERRUM_WEIGHTS_LOAD_REQUEST_INIT;
    request.flags = FERRUM_WEIGHTS_LOAD_MAP;
    ferrum_tensor_set set;
    assert_ok(ferrum_weights_load(weights, &request, &set));
    check_tensors(set);
    assert_ok(ferrum_weights_close(weights, 0));
    check_tensors(set);
    assert_string_equal(found(set, "a").device, "cpu:0");
    assert_ok(ferrum_tensor_set_check(set));
    assert_int_equal(truncate(path, 1000), 0);
    assert_status(ferrum_tensor_set_check(set), FERRUM_ERROR_IO);
    assert_message(path);
    assert_ok(ferrum_tensor_set_free(set, 0));
    weights = weight_file_open((weight_file_write(path, 10), path));
    request.specs_json = "{\"transformations\":[{\"kind\":\"cast\","
                         "\"dtype\":\"f64\"}]}";
    request.specs_bytes = strlen(request.specs_json);
    assert_status(ferrum_weights_load(weights, &request, &set),
                  FERRUM_ERROR_UNSUPPORTED);
    assert_int_equal(set.id, 0);
}

static void test_preload_has_no_tensors(void **state) {
    (void)state;
    ferrum_weights_load_request request = FERRUM_WEIGHTS_LOAD_REQUEST_INIT;
    request.flags = FERRUM_WEIGHTS_LOAD_PRELOAD;
    ferrum_tensor_set set;
    uint64_t count = 7;
    assert_ok(ferrum_weights_load(weights, &request, &set));
    assert_ok(ferrum_tensor_set_wait(set, FERRUM_WAIT_FOREVER));
    assert_ok(ferrum_tensor_set_get_count(set, &count));
    assert_int_equal(count, 0);
    ferrum_weights_progress progress = FERRUM_WEIGHTS_PROGRESS_INIT;
    assert_ok(ferrum_tensor_set_get_progress(set, &progress));
    assert_int_equal(progress.done_bytes, (1 << 20) + 40);
    /* The end of the set releases pages of the files. The files stay open for
     * this. */
    assert_ok(ferrum_weights_close(weights, 0));
    assert_ok(ferrum_tensor_set_free(set, 0));
}

/* -------------------------------------------------------------------- orders */

static void test_orders_choose_name_and_change_tensors(void **state) {
    (void)state;
    static const char chosen[] =
        "{\"include\":[\"*\"],\"exclude\":[\"big\"],"
        "\"rename\":[{\"from\":\"a\",\"to\":\"A\"}],\"prefix\":\"m.\","
        "\"float_dtype\":\"f64\"}";
    ferrum_tensor_set set;
    assert_ok(weight_file_load(weights, f.pool, chosen, &set));
    assert_ok(ferrum_tensor_set_wait(set, FERRUM_WAIT_FOREVER));
    ferrum_tensor_info info = found(set, "m.A");
    assert_int_equal(info.dtype, FERRUM_DTYPE_F64);
    assert_true(((const double *)at(&info))[5] == 5);
    assert_int_equal(found(set, "m.b").dtype, FERRUM_DTYPE_I64);
    assert_status(ferrum_tensor_set_find(set, "m.big", &info),
                  FERRUM_ERROR_NOT_FOUND);
    assert_ok(ferrum_tensor_set_free(set, 0));

    static const char listed[] =
        "{\"tensors\":[{\"name\":\"t\",\"tensor\":\"a\",\"shape\":[2,3],"
        "\"dtype\":\"bf16\",\"transformations\":["
        "{\"kind\":\"transpose\",\"dim0\":0,\"dim1\":-1},"
        "{\"kind\":\"slice\",\"dim\":0,\"start\":1},"
        "{\"kind\":\"reshape\",\"shape\":[4]},"
        "{\"kind\":\"scale\",\"factor\":2},"
        "{\"kind\":\"cast\",\"dtype\":\"bf16\"}]},"
        "{\"name\":\"b\"},{\"name\":\"again\",\"tensor\":\"b\"}]}";
    assert_ok(weight_file_load(weights, f.pool, listed, &set));
    assert_ok(ferrum_tensor_set_wait(set, FERRUM_WAIT_FOREVER));
    info = found(set, "t");
    assert_int_equal(info.rank, 1);
    assert_int_equal(info.shape[0], 4);
    /* 1, 4, 2 and 5, doubled, in bf16. */
    static const uint16_t doubled[4] = {0x4000, 0x4100, 0x4080, 0x4120};
    assert_memory_equal(at(&info), doubled, sizeof doubled);
    assert_int_equal(found(set, "b").flags, 0);
    assert_int_equal(found(set, "again").flags, FERRUM_TENSOR_TIED);
    assert_int_equal(found(set, "again").address, found(set, "b").address);
    assert_ok(ferrum_tensor_set_free(set, 0));
}

static void test_wrong_orders_are_named(void **state) {
    (void)state;
#define ONE(rest) "{\"tensors\":[{\"name\":\"a\"," rest "}]}"
#define CHANGED(rest) "{\"transformations\":[{" rest "}]}"
    static const struct {
        const char *order;
        ferrum_status status;
        const char *says;
    } wrong[] = {
        {"", 0, "specs_bytes 0"},
        {"x", 0, "is not JSON at byte"},
        {"{\"include\":", 0, "the text ends there"},
        {"[]", 0, "is not an object"},
        {"{} {}", 0, "goes on after its end"},
        {"{\"exklude\":[]}", 0, "\"exklude\""},
        {"{\"Include\":[]}", 0, "\"Include\""},
        {"{\"include\":[\"a\"],\"include\":[]}", 0, "\"include\" twice"},
        {"{\"include\":7}", 0, "include is the JSON number"},
        {"{\"include\":[\"q*\"]}", 0, "\"q*\""},
        {"{\"include\":[\"[\"]}", 0, "\"[\""},
        {"{\"memory\":1}", 0, "memory 1"},
        {"{\"float_dtype\":\"i8\"}", 0, "\"i8\""},
        {"{\"prefix\":\"\xff\"}", 0, "UTF-8"},
        {"{\"tensors\":[],\"prefix\":\"x\"}", 0, "beside others"},
        {"{\"rename\":[{\"from\":\"a\",\"to\":\"b\"}]}", 0, "both get"},
        {"{\"tensors\":[{\"name\":\"q\"}]}", FERRUM_ERROR_NOT_FOUND, "\"q\""},
        {ONE("\"shape\":[6]"), 0, "[2, 3]"},
        {ONE("\"shape\":[-6]"), 0, "tensors.shape"},
        {ONE("\"dtype\":\"f16\""), 0, "f32, not f16"},
        {ONE("\"dtype\":\"f17\""), 0, "\"f17\""},
        {ONE("\"into\":{\"address\":0,\"size_bytes\":24}"), 0, "address 0"},
        {ONE("\"memory\":-1"), 0, "tensors.memory"},
        {CHANGED("\"kind\":\"turn\""), 0, "\"turn\""},
        {CHANGED("\"kind\":\"transpose\",\"dim0\":0"), 0, "\"dim1\""},
        {CHANGED("\"kind\":\"scale\",\"factor\":1,\"dim\":0"), 0, "\"dim\""},
        {CHANGED("\"kind\":\"transpose\",\"dim0\":0,\"dim1\":5"), 0, "5"},
        {CHANGED("\"kind\":\"quantize\",\"config\":{\"Bits\":4}"), 0, "Bits"},
        {CHANGED("\"kind\":\"quantize\",\"config\":{\"bits\":4}"),
         FERRUM_ERROR_UNSUPPORTED, "quantise"},
        {"[[[[[[[[[[[[[[[[[[[[", 0, "more than 16"},
    };
    uint64_t before = pool_used();
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        ferrum_tensor_set set = {7};
        ferrum_status want = wrong[i].status;
        if (want == 0)
            want = FERRUM_ERROR_INVALID_ARGUMENT;
        assert_status(weight_file_load(weights, f.pool, wrong[i].order, &set),
                      want);
        assert_message(wrong[i].says);
        assert_int_equal(set.id, 0);
    }
    assert_int_equal(pool_used(), before);
}

static void test_wrong_requests_are_named(void **state) {
    (void)state;
    ferrum_weights_memory memories[65] = {
        {{0}, {0}, {0}, {0}, NULL, 0, NULL, 0}};
    ferrum_weights_load_request request = FERRUM_WEIGHTS_LOAD_REQUEST_INIT;
    ferrum_tensor_set set;
#define WRONG(status, says)                                                  \
    do {                                                                     \
        assert_status(ferrum_weights_load(weights, &request, &set), status); \
        assert_message(says);                                                \
    } while (0)
    WRONG(FERRUM_ERROR_INVALID_ARGUMENT, "request->memory_count is 0");
    request.memory_count = 1;
    WRONG(FERRUM_ERROR_NULL_POINTER, "request->memories is NULL");
    request.memories = memories;
    WRONG(FERRUM_ERROR_INVALID_ARGUMENT, "memories[0] has 0 of pool");
    request.memory_count = 65;
    WRONG(FERRUM_ERROR_INVALID_ARGUMENT, "request->memory_count is 65");
    request.memory_count = 1;
    memories[0].pool = f.pool;
    memories[0].model = "chat";
    WRONG(FERRUM_ERROR_INVALID_ARGUMENT, "no elastic_pool");
    memories[0].elastic_pool = f.shared;
    WRONG(FERRUM_ERROR_INVALID_ARGUMENT, "has 2 of pool");
    memories[0].pool.id = 0;
    memories[0].model = "talk";
    WRONG(FERRUM_ERROR_MODEL_NOT_FOUND, "talk");
    memories[0].model = NULL;
    WRONG(FERRUM_ERROR_INVALID_ARGUMENT, "no model");
    memories[0].model = "chat";
    memories[0].offset_bytes = 1;
    WRONG(FERRUM_ERROR_INVALID_ARGUMENT, "no vpool");
    memories[0].offset_bytes = 0;
    memories[0].reserved = 1;
    WRONG(FERRUM_ERROR_INVALID_STRUCT, "memories[0]->reserved");
    memories[0].reserved = 0;
    memories[0].tag = "\xff";
    WRONG(FERRUM_ERROR_INVALID_ARGUMENT, "memories[0]->tag");
    memories[0].tag = NULL;
    request.flags = FERRUM_WEIGHTS_LOAD_MAP;
    WRONG(FERRUM_ERROR_INVALID_ARGUMENT, "request->memory_count is 1");
    request.flags |= FERRUM_WEIGHTS_LOAD_PRELOAD;
    WRONG(FERRUM_ERROR_INVALID_ARGUMENT, "MAP and PRELOAD");
    request.flags = 0;
    request.staging_bytes = UINT64_MAX;
    WRONG(FERRUM_ERROR_INVALID_SIZE, "staging_bytes");
    request.staging_bytes = 0;
    request.specs_bytes = 5;
    WRONG(FERRUM_ERROR_NULL_POINTER, "request->specs_json is NULL");
    request.specs_json = "x";
    request.specs_bytes = FERRUM_WEIGHTS_JSON_MAX + 1;
    WRONG(FERRUM_ERROR_INVALID_ARGUMENT, "request->specs_bytes");
    request.specs_json = NULL;
    request.specs_bytes = 0;
    /* Handles of other kinds and of ended objects. */
    for (int kind = 0; kind < KINDS; kind++) {
        memories[0] = (ferrum_weights_memory){0};
        memories[0].pool.id = kind == POOL ? f.dead[POOL] : f.live[kind];
        WRONG(FERRUM_ERROR_INVALID_HANDLE, "handle");
        memories[0].pool.id = 0;
        memories[0].device.id = kind == DEVICE ? f.dead[kind] : f.live[kind];
        WRONG(FERRUM_ERROR_INVALID_HANDLE, "handle");
    }
}

static void test_failed_load_leaves_nothing(void **state) {
    (void)state;
    uint64_t before = pool_used();
    ferrum_weights_memory memory = {0};
    ferrum_tensor_info info = FERRUM_TENSOR_INFO_INIT;
    ferrum_weights_load_request request = FERRUM_WEIGHTS_LOAD_REQUEST_INIT;
    ferrum_tensor_set set;
    request.memories = &memory;
    request.memory_count = 1;
    memory.vpool = f.vpool;
    memory.offset_bytes = 0; /* the range of the fixture is there */
    assert_ok(ferrum_weights_load(weights, &request, &set));
    assert_status(ferrum_tensor_set_wait(set, FERRUM_WAIT_FOREVER),
                  FERRUM_ERROR_ALREADY_MAPPED);
    assert_status(ferrum_tensor_set_find(set, "a", &info),
                  FERRUM_ERROR_ALREADY_MAPPED);
    assert_ok(ferrum_tensor_set_free(set, 0));
    memory = (ferrum_weights_memory){0};
    memory.pool = f.pool;
    assert_int_equal(truncate(path, 5000), 0);
    assert_ok(ferrum_weights_load(weights, &request, &set));
    assert_status(ferrum_tensor_set_wait(set, FERRUM_WAIT_FOREVER),
                  FERRUM_ERROR_IO);
    assert_message(path);
    assert_int_equal(pool_used(), before);
    assert_ok(ferrum_tensor_set_free(set, 0));
}

int main(void) {
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
        TEST(test_all_tensors_go_to_a_pool),
        TEST(test_tensors_go_to_pages),
        TEST(test_tensors_go_to_memory_of_the_caller),
        TEST(test_mapped_tensors_are_the_file),
        TEST(test_preload_has_no_tensors),
        TEST(test_orders_choose_name_and_change_tensors),
        TEST(test_wrong_orders_are_named),
        TEST(test_wrong_requests_are_named),
        TEST(test_failed_load_leaves_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
