/* Tests the C interface of the library on a device whose memory the host
 * cannot read: pools, managers, virtual and elastic pools, sleep and wake,
 * and streams. The current context of the caller must stay the same. */
#include "driver.h"

static ferrum_device device;
static CUcontext context;

#define MEGABYTE (UINT64_C(1) << 20)

static void put(ferrum_address at, unsigned char value, size_t size) {
    CUDA_OK(CU(cuMemsetD8)(at, value, size));
    CUDA_OK(CU(cuCtxSynchronize)());
}

static unsigned char get(ferrum_address at) {
    unsigned char byte = 0;
    CUDA_OK(CU(cuMemcpyDtoH)(&byte, at, 1));
    return byte;
}

static void the_device_is_described(void) {
    ferrum_device_info info = FERRUM_DEVICE_INFO_INIT;
    ferrum_memory_info memory = FERRUM_MEMORY_INFO_INIT;
    size_t left, total;
    OK(ferrum_device_get_info(device, &info));
    CHECK(strcmp(info.id, device_id()) == 0);
    CHECK((info.capabilities & FERRUM_CAPABILITY_HOST_ADDRESSABLE) == 0);
    CUDA_OK(CU(cuMemGetInfo)(&left, &total));
    CHECK(info.total_bytes == total);
    OK(ferrum_device_get_memory_info(device, &memory));
    CHECK(memory.total_bytes == total);
    CHECK(memory.used_bytes + memory.free_bytes + memory.reserved_bytes ==
          total);
}

static void a_pool_keeps_blocks_apart(void) {
    enum { BLOCKS = 200 };
    ferrum_pool pool;
    ferrum_address blocks[BLOCKS];
    uint64_t sizes[BLOCKS];
    unsigned state = 1;
    OK(ferrum_pool_create(device, NULL, &pool));
    for (int i = 0; i < BLOCKS; i++) {
        state = state * 1664525u + 1013904223u;
        sizes[i] = 1 + (state >> 8) % (2 * MEGABYTE);
        OK(ferrum_pool_alloc(pool, sizes[i], (ferrum_stream){0}, &blocks[i]));
        put(blocks[i], (unsigned char)i, sizes[i]);
    }
    for (int i = 0; i < BLOCKS; i += 2)
        OK(ferrum_pool_free(pool, blocks[i], (ferrum_stream){0}));
    for (int i = 0; i < BLOCKS; i += 2) {
        OK(ferrum_pool_alloc(pool, sizes[i], (ferrum_stream){0}, &blocks[i]));
        put(blocks[i], (unsigned char)(i + 1), sizes[i]);
    }
    for (int i = 0; i < BLOCKS; i++) {
        unsigned char wanted = (unsigned char)(i % 2 == 0 ? i + 1 : i);
        CHECK(get(blocks[i]) == wanted);
        CHECK(get(blocks[i] + sizes[i] - 1) == wanted);
        OK(ferrum_pool_free_sized(pool, blocks[i], sizes[i],
                                  (ferrum_stream){0}));
    }
    GIVES(FERRUM_ERROR_DOUBLE_FREE,
          ferrum_pool_free(pool, blocks[0], (ferrum_stream){0}));
    OK(ferrum_pool_destroy(pool, 0));
}

/* Another stream gets a freed block only when the work before the free has
 * completed. */
static void the_order_of_streams(void) {
    gate held = GATE;
    ferrum_pool pool;
    ferrum_stream one, two;
    ferrum_address a, b, c;
    OK(ferrum_pool_create(device, NULL, &pool));
    OK(ferrum_stream_create(device, &one));
    OK(ferrum_stream_create(device, &two));
    OK(ferrum_pool_alloc(pool, MEGABYTE, one, &a));
    OK(ferrum_stream_host_function(one, gate_wait, &held));
    OK(ferrum_pool_free(pool, a, one));
    OK(ferrum_pool_alloc(pool, MEGABYTE, two, &b));
    CHECK(a != b);
    OK(ferrum_pool_alloc(pool, MEGABYTE, one, &c));
    CHECK(a == c);
    gate_open(&held);
    OK(ferrum_device_synchronize(device, FERRUM_WAIT_FOREVER));
    OK(ferrum_pool_free(pool, b, two));
    OK(ferrum_pool_free(pool, c, one));
    OK(ferrum_stream_destroy(one, 0));
    OK(ferrum_stream_destroy(two, 0));
    OK(ferrum_pool_destroy(pool, 0));
}

static void a_manager_moves_bytes(void) {
    enum { SIZE = 5000001 };
    ferrum_manager manager;
    ferrum_memory a, b;
    ferrum_transfer transfer = FERRUM_TRANSFER_INIT;
    ferrum_fill fill = FERRUM_FILL_INIT;
    unsigned char *from = malloc(SIZE), *to = malloc(SIZE);
    for (int i = 0; i < SIZE; i++)
        from[i] = (unsigned char)(i * 7 >> 2);
    OK(ferrum_manager_create(device, NULL, &manager));
    OK(ferrum_manager_alloc(manager, SIZE, &a));
    OK(ferrum_manager_alloc(manager, SIZE, &b));
    OK(ferrum_memory_write(a, 0, from, SIZE));
    transfer.src = a;
    transfer.dst = b;
    transfer.size_bytes = SIZE;
    OK(ferrum_memory_copy(&transfer));
    /* A copy within one block works like memmove. */
    transfer.src = b;
    transfer.src_offset_bytes = 0;
    transfer.dst_offset_bytes = 1000;
    transfer.size_bytes = SIZE - 1000;
    OK(ferrum_memory_copy(&transfer));
    OK(ferrum_memory_read(b, 0, to, SIZE));
    CHECK(memcmp(to, from, 1000) == 0);
    CHECK(memcmp(to + 1000, from, SIZE - 1000) == 0);
    fill.memory = b;
    fill.pattern_bytes = 4;
    fill.pattern = 0x04030201;
    fill.offset_bytes = 4;
    fill.size_bytes = 8;
    OK(ferrum_memory_fill_async(&fill, (ferrum_stream){0}));
    OK(ferrum_memory_read(b, 0, to, 16));
    CHECK(memcmp(to + 4, "\1\2\3\4\1\2\3\4", 8) == 0);
    GIVES(FERRUM_ERROR_INVALID_OFFSET, ferrum_memory_read(b, SIZE, to, 1));
    OK(ferrum_memory_free(a));
    OK(ferrum_memory_free(b));
    OK(ferrum_manager_destroy(manager, 0));
    free(from);
    free(to);
}

static bool has_virtual_memory(void) {
    ferrum_device_info info = FERRUM_DEVICE_INFO_INIT;
    OK(ferrum_device_get_info(device, &info));
    if ((info.capabilities & FERRUM_CAPABILITY_VIRTUAL_MEMORY) != 0)
        return true;
    check_skip("the device has no virtual memory");
    return false;
}

static ferrum_vpool make_vpool(uint64_t pages, uint64_t *page) {
    ferrum_vpool vpool = {0};
    ferrum_page_sizes sizes = FERRUM_PAGE_SIZES_INIT;
    ferrum_vpool_config config = FERRUM_VPOOL_CONFIG_INIT;
    OK(ferrum_device_get_page_sizes(device, &sizes));
    *page = sizes.recommended_bytes;
    config.capacity_bytes = pages * *page;
    config.limit_bytes = pages / 2 * *page;
    OK(ferrum_vpool_create(device, &config, &vpool));
    return vpool;
}

static void pages_are_mapped_and_unmapped(void) {
    uint64_t page;
    ferrum_address a, b;
    ferrum_vpool_info info = FERRUM_VPOOL_INFO_INIT;
    if (!has_virtual_memory())
        return;
    ferrum_vpool vpool = make_vpool(16, &page);
    OK(ferrum_vpool_alloc(vpool, 0, 3 * page, &a));
    CHECK(get(a) == 0 && get(a + 3 * page - 1) == 0);
    put(a, 7, 3 * page);
    GIVES(FERRUM_ERROR_ALREADY_MAPPED,
          ferrum_vpool_alloc(vpool, 2 * page, page, &b));
    GIVES(FERRUM_ERROR_OUT_OF_PHYSICAL_MEMORY,
          ferrum_vpool_alloc(vpool, 4 * page, 6 * page, &b));
    OK(ferrum_vpool_free(vpool, page, page, (ferrum_stream){0}));
    OK(ferrum_vpool_synchronize(vpool, FERRUM_WAIT_FOREVER));
    CHECK(get(a) == 7 && get(a + 3 * page - 1) == 7);
    OK(ferrum_vpool_alloc(vpool, 10 * page, 2 * page, &b));
    CHECK(b == a + 10 * page);
    put(b, 9, 2 * page);
    OK(ferrum_vpool_get_info(vpool, &info));
    CHECK(info.mapped_pages == 4);
    OK(ferrum_vpool_free(vpool, 0, page, (ferrum_stream){0}));
    OK(ferrum_vpool_free(vpool, 2 * page, page, (ferrum_stream){0}));
    OK(ferrum_vpool_free(vpool, 10 * page, 2 * page, (ferrum_stream){0}));
    OK(ferrum_vpool_destroy(vpool, 0));
}

static void a_sleeping_range_wakes_with_its_bytes(void) {
    uint64_t page;
    ferrum_address at;
    ferrum_sleep_report slept = FERRUM_SLEEP_REPORT_INIT;
    ferrum_wake_report woken = FERRUM_WAKE_REPORT_INIT;
    if (!has_virtual_memory())
        return;
    ferrum_vpool vpool = make_vpool(32, &page);
    OK(ferrum_vpool_alloc(vpool, 0, 16 * page, &at));
    for (uint64_t i = 0; i < 16; i++)
        put(at + i * page, (unsigned char)(i + 1), page);
    OK(ferrum_vpool_sleep(vpool, NULL, &slept));
    CHECK(slept.released_bytes == 16 * page);
    OK(ferrum_vpool_wake(vpool, NULL, &woken));
    CHECK(woken.restored_bytes == 16 * page);
    for (uint64_t i = 0; i < 16; i++) {
        CHECK(get(at + i * page) == i + 1);
        CHECK(get(at + (i + 1) * page - 1) == i + 1);
    }
    OK(ferrum_vpool_free(vpool, 0, 16 * page, (ferrum_stream){0}));
    OK(ferrum_vpool_destroy(vpool, 0));
}

/* Pages move from one model to the other and are zero there. */
static void models_share(void) {
    ferrum_page_sizes sizes = FERRUM_PAGE_SIZES_INIT;
    ferrum_elastic_pool_config config = FERRUM_ELASTIC_POOL_CONFIG_INIT;
    ferrum_model_config model = FERRUM_MODEL_CONFIG_INIT;
    ferrum_elastic_pool pool;
    ferrum_address a, b;
    uint64_t offset;
    if (!has_virtual_memory())
        return;
    OK(ferrum_device_get_page_sizes(device, &sizes));
    uint64_t page = sizes.recommended_bytes;
    config.limit_bytes = 8 * page;
    OK(ferrum_elastic_pool_create(device, &config, &pool));
    model.virtual_bytes = 8 * page;
    model.guaranteed_bytes = 2 * page;
    OK(ferrum_elastic_pool_register_model(pool, "chat", &model));
    OK(ferrum_elastic_pool_register_model(pool, "code", &model));
    OK(ferrum_elastic_pool_alloc(pool, "chat", 6 * page, &a, &offset));
    put(a, 3, 6 * page);
    GIVES(FERRUM_ERROR_OUT_OF_PHYSICAL_MEMORY,
          ferrum_elastic_pool_alloc(pool, "code", 4 * page, &b, NULL));
    OK(ferrum_elastic_pool_free(pool, "chat", offset, 6 * page,
                                (ferrum_stream){0}));
    OK(ferrum_elastic_pool_alloc(pool, "code", 6 * page, &b, NULL));
    CHECK(get(b) == 0 && get(b + 6 * page - 1) == 0);
    OK(ferrum_elastic_pool_destroy(pool, FERRUM_FORCE));
}

static void the_callers_context_stays(void) {
    CUcontext current = NULL, own = NULL;
    ferrum_pool pool;
    ferrum_address a;
    CUDA_OK(CU(cuCtxCreate)(&own, 0, device_ordinal()));
    OK(ferrum_pool_create(device, NULL, &pool));
    OK(ferrum_pool_alloc(pool, MEGABYTE, (ferrum_stream){0}, &a));
    OK(ferrum_pool_free(pool, a, (ferrum_stream){0}));
    OK(ferrum_pool_destroy(pool, 0));
    CUDA_OK(CU(cuCtxGetCurrent)(&current));
    CHECK(current == own);
    CUDA_OK(CU(cuCtxDestroy)(own));
    CUDA_OK(CU(cuCtxSetCurrent)(context));
}

static void a_request_that_cannot_fit_fails(void) {
    ferrum_pool pool;
    ferrum_address a;
    OK(ferrum_pool_create(device, NULL, &pool));
    GIVES(FERRUM_ERROR_OUT_OF_MEMORY,
          ferrum_pool_alloc(pool, UINT64_C(1) << 60, (ferrum_stream){0}, &a));
    OK(ferrum_device_set_limit(device, 64 * MEGABYTE));
    GIVES(FERRUM_ERROR_OUT_OF_MEMORY,
          ferrum_pool_alloc(pool, 65 * MEGABYTE, (ferrum_stream){0}, &a));
    OK(ferrum_pool_alloc(pool, 32 * MEGABYTE, (ferrum_stream){0}, &a));
    OK(ferrum_device_set_limit(device, 0));
    OK(ferrum_pool_free(pool, a, (ferrum_stream){0}));
    OK(ferrum_pool_destroy(pool, 0));
}

/* After everything was freed, the device holds nothing. */
static void all_memory_is_released(void) {
    ferrum_statistics books = FERRUM_STATISTICS_INIT;
    char text[4096];
    size_t needed;
    OK(ferrum_device_get_statistics(device, &books));
    CHECK(books.reserved.current == 0 && books.live_blocks.current == 0);
    CHECK(books.reserved.peak > 0);
    OK(ferrum_leak_report_json(text, sizeof text, &needed));
    CUDA_OK(CU(cuCtxSetCurrent)(NULL));
    CUDA_OK(CU(cuDevicePrimaryCtxRelease)(device_ordinal()));
    OK(ferrum_device_close(device, 0));
    OK(ferrum_shutdown(0));
}

int main(void) {
    check_name = "the device opens";
    OK(ferrum_init(NULL));
    OK(ferrum_device_open(device_id(), &device));
    CUDA_OK(CU(cuDevicePrimaryCtxRetain)(&context, device_ordinal()));
    CUDA_OK(CU(cuCtxSetCurrent)(context));
    if (check_failures != 0)
        return 1;
    check_run("the device is described", the_device_is_described);
    check_run("a pool keeps blocks apart", a_pool_keeps_blocks_apart);
    check_run("the order of streams", the_order_of_streams);
    check_run("a manager moves bytes", a_manager_moves_bytes);
    check_run("pages are mapped and unmapped", pages_are_mapped_and_unmapped);
    check_run("a sleeping range wakes with its bytes",
              a_sleeping_range_wakes_with_its_bytes);
    check_run("models share", models_share);
    check_run("the caller's context stays", the_callers_context_stays);
    check_run("a request that cannot fit fails",
              a_request_that_cannot_fit_fails);
    check_run("all memory is released", all_memory_is_released);
    return check_end();
}
