/* Calls of the library while the program captures a stream, in each mode.
 * The test checks the result of each call, that the capture stays active
 * after it, and that the capture ends with success. */
#include "driver.h"

#define MEGABYTE ((uint64_t)1 << 20)

static CUcontext context;
static ferrum_device device;
static const ferrum_stream none = {0};

/* native is the stream of the program that captures. captured is its handle
 * in the library. quiet is a stream of the library outside the capture. */
static CUstream native;
static ferrum_stream captured, quiet;
/* Whether the driver numbers captures. Pools need these numbers to serve a
 * capture. */
static bool numbered;

static void capture_stands(const char *call) {
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    CUDA_OK(CU(cuStreamIsCapturing)(native, &status));
    check_that(status == CU_STREAM_CAPTURE_STATUS_ACTIVE,
               "after %s the capture is %d", call, (int)status);
}
#define GIVES_BESIDE(status, call) \
    do {                           \
        GIVES(status, call);       \
        capture_stands(#call);     \
    } while (0)
#define OK_BESIDE(call) GIVES_BESIDE(FERRUM_OK, call)
#define REFUSED(call) GIVES_BESIDE(FERRUM_ERROR_INVALID_STATE, call)

static void begin(CUstreamCaptureMode mode) {
    ferrum_foreign_stream foreign = FERRUM_FOREIGN_STREAM_INIT;
    CUDA_OK(CU(cuStreamCreate)(&native, CU_STREAM_NON_BLOCKING));
    foreign.native_handle = (uint64_t)(uintptr_t)native;
    OK(ferrum_stream_adopt(device, &foreign, &captured));
    OK(ferrum_stream_create(device, &quiet));
    CUDA_OK(CU(cuStreamBeginCapture)(native, mode));
}

/* Ends the capture, which must succeed. */
static void end_capture(void) {
    CUgraph graph = NULL;
    CUDA_OK(CU(cuStreamEndCapture)(native, &graph));
    CUDA_OK(CU(cuGraphDestroy)(graph));
}

static void capture_again(void) {
    CUDA_OK(CU(cuStreamBeginCapture)(native, CU_STREAM_CAPTURE_MODE_GLOBAL));
}

static void end(void) {
    end_capture();
    OK(ferrum_device_synchronize(device, FERRUM_WAIT_FOREVER));
    OK(ferrum_stream_destroy(quiet, 0));
    OK(ferrum_stream_destroy(captured, 0));
    CUDA_OK(CU(cuStreamDestroy)(native));
}

static void in_each_mode(void (*run)(void)) {
    for (int mode = 0; mode <= CU_STREAM_CAPTURE_MODE_RELAXED; mode++) {
        begin((CUstreamCaptureMode)mode);
        run();
        end();
    }
}

static void streams(void) {
    ferrum_stream other;
    uint32_t ready;
    uint64_t handle;
    double gbps;
    REFUSED(ferrum_stream_is_ready(captured, &ready));
    REFUSED(ferrum_stream_synchronize(captured, 0));
    REFUSED(ferrum_stream_synchronize(captured, FERRUM_WAIT_FOREVER));
    REFUSED(ferrum_stream_destroy(captured, 0));
    REFUSED(ferrum_stream_destroy(captured, FERRUM_FORCE));
    OK_BESIDE(ferrum_stream_get_native(captured, &handle));
    OK_BESIDE(ferrum_stream_create(device, &other));
    OK_BESIDE(ferrum_stream_is_ready(other, &ready));
    OK_BESIDE(ferrum_stream_get_native(other, &handle));
    OK_BESIDE(ferrum_stream_synchronize(other, FERRUM_WAIT_FOREVER));
    OK_BESIDE(ferrum_stream_destroy(other, FERRUM_FORCE));
    REFUSED(ferrum_device_synchronize(device, 0));
    REFUSED(ferrum_device_synchronize(device, 1000000000));
    REFUSED(ferrum_device_synchronize(device, FERRUM_WAIT_FOREVER));
    OK_BESIDE(ferrum_device_measure_bandwidth(device, &gbps));
    GIVES_BESIDE(FERRUM_ERROR_BUSY, ferrum_device_close(device, 0));
}

/* Events of the library, and of the program. */
static void events(void) {
    CUevent theirs;
    ferrum_event edge, plain, adopted, shared;
    ferrum_shared_event bytes = FERRUM_SHARED_EVENT_INIT;
    uint32_t ready;
    int64_t elapsed;
    OK_BESIDE(ferrum_event_record(captured, &edge));
    OK_BESIDE(ferrum_event_record(quiet, &plain));
    REFUSED(ferrum_event_is_ready(edge, &ready));
    REFUSED(ferrum_event_synchronize(edge, FERRUM_WAIT_FOREVER));
    OK_BESIDE(ferrum_event_synchronize(plain, FERRUM_WAIT_FOREVER));
    REFUSED(ferrum_event_elapsed(plain, edge, &elapsed));
    REFUSED(ferrum_event_share(captured, &bytes, &shared));
    REFUSED(ferrum_stream_wait_event(captured, plain));
    OK_BESIDE(ferrum_event_destroy(plain));
    OK_BESIDE(ferrum_event_destroy(edge));
    CUDA_OK(CU(cuEventCreate)(&theirs, CU_EVENT_DISABLE_TIMING));
    CUDA_OK(CU(cuEventRecord)(theirs, native));
    OK_BESIDE(
        ferrum_event_adopt(device, (uint64_t)(uintptr_t)theirs, &adopted));
    REFUSED(ferrum_event_is_ready(adopted, &ready));
    REFUSED(ferrum_event_synchronize(adopted, 0));
    REFUSED(ferrum_event_synchronize(adopted, FERRUM_WAIT_FOREVER));
    OK_BESIDE(ferrum_event_destroy(adopted));
    CUDA_OK(CU(cuEventDestroy)(theirs));
}

/* A stream of the library joins the capture through an event of the
 * program. The block that the call tried to free there is kept. The stream
 * then joins back. */
static void joined(void) {
    CUevent theirs;
    ferrum_event adopted, back;
    ferrum_pool pool;
    ferrum_address address = 0;
    OK_BESIDE(ferrum_pool_create(device, NULL, &pool));
    OK_BESIDE(ferrum_pool_alloc(pool, MEGABYTE, quiet, &address));
    CUDA_OK(CU(cuEventCreate)(&theirs, CU_EVENT_DISABLE_TIMING));
    CUDA_OK(CU(cuEventRecord)(theirs, native));
    OK(ferrum_event_adopt(device, (uint64_t)(uintptr_t)theirs, &adopted));
    OK_BESIDE(ferrum_stream_wait_event(quiet, adopted));
    REFUSED(ferrum_pool_free(pool, address, quiet));
    REFUSED(ferrum_stream_synchronize(quiet, FERRUM_WAIT_FOREVER));
    OK_BESIDE(ferrum_event_record(quiet, &back));
    OK_BESIDE(ferrum_stream_wait_event(captured, back));
    OK_BESIDE(ferrum_event_destroy(back));
    OK_BESIDE(ferrum_event_destroy(adopted));
    OK_BESIDE(ferrum_pool_free(pool, address, none));
    /* The pool's cache has memory of the stream, and the capture forbids to
     * wait for that stream. */
    REFUSED(ferrum_pool_destroy(pool, 0));
    end_capture();
    OK(ferrum_pool_destroy(pool, 0));
    capture_again();
    CUDA_OK(CU(cuEventDestroy)(theirs));
}

static void pools(void) {
    ferrum_pool pool;
    ferrum_address some[8], one = 0;
    ferrum_pool_config config = FERRUM_POOL_CONFIG_INIT;
    uint64_t graph, released;
    config.thread_cache_bytes = MEGABYTE;
    OK_BESIDE(ferrum_pool_create(device, &config, &pool));
    OK_BESIDE(ferrum_pool_alloc_batch(pool, 4096, 8, quiet, some));
    OK_BESIDE(ferrum_pool_alloc(pool, 4096, none, &one));
    OK_BESIDE(ferrum_pool_record_stream(pool, one, quiet));
    REFUSED(ferrum_pool_free(pool, one, captured));
    REFUSED(ferrum_pool_reset(pool, captured));
    if (!numbered) {
        REFUSED(ferrum_pool_destroy(pool, FERRUM_FORCE));
        end_capture();
        OK(ferrum_pool_destroy(pool, FERRUM_FORCE));
        capture_again();
        return;
    }
    OK_BESIDE(ferrum_pool_capture_begin(pool, captured, 0, &graph));
    OK_BESIDE(ferrum_pool_free(pool, one, captured));
    OK_BESIDE(ferrum_pool_alloc(pool, 4096, captured, &one));
    OK_BESIDE(ferrum_pool_free(pool, one, captured));
    OK_BESIDE(ferrum_pool_free_batch(pool, some, 8, quiet));
    OK_BESIDE(ferrum_pool_alloc(pool, 64 * MEGABYTE, none, &one));
    OK_BESIDE(ferrum_pool_check(pool));
    OK_BESIDE(ferrum_pool_reset(pool, none));
    OK_BESIDE(ferrum_pool_trim(pool, 0, &released));
    REFUSED(ferrum_pool_capture_end(pool, graph));
    REFUSED(ferrum_pool_capture_release(pool, graph, none));
    GIVES_BESIDE(FERRUM_ERROR_BUSY, ferrum_pool_destroy(pool, 0));
    REFUSED(ferrum_pool_destroy(pool, FERRUM_FORCE));
    end_capture();
    OK(ferrum_pool_capture_release(pool, graph, captured));
    OK(ferrum_pool_destroy(pool, 0));
    capture_again();
}

static void blocks(void) {
    ferrum_manager manager;
    ferrum_memory one, two;
    ferrum_transfer transfer = FERRUM_TRANSFER_INIT;
    ferrum_defragmentation_stats moved = FERRUM_DEFRAGMENTATION_STATS_INIT;
    unsigned char byte = 7;
    OK_BESIDE(ferrum_manager_create(device, NULL, &manager));
    OK_BESIDE(ferrum_manager_alloc(manager, MEGABYTE, &one));
    OK_BESIDE(ferrum_manager_alloc(manager, MEGABYTE, &two));
    OK_BESIDE(ferrum_memory_write(one, 0, &byte, 1));
    transfer.src = one;
    transfer.dst = two;
    transfer.size_bytes = MEGABYTE;
    OK_BESIDE(ferrum_memory_copy(&transfer));
    OK_BESIDE(ferrum_memory_copy_async(&transfer, quiet));
    OK_BESIDE(ferrum_memory_read(two, 0, &byte, 1));
    CHECK(byte == 7);
    OK_BESIDE(ferrum_memory_free(one));
    OK_BESIDE(ferrum_manager_defragment(manager, &moved));
    OK_BESIDE(ferrum_memory_free(two));
    OK_BESIDE(ferrum_manager_destroy(manager, 0));
}

static uint64_t page_bytes(void) {
    ferrum_page_sizes sizes = FERRUM_PAGE_SIZES_INIT;
    OK(ferrum_device_get_page_sizes(device, &sizes));
    return sizes.recommended_bytes;
}

static void pages(void) {
    ferrum_vpool vpool;
    ferrum_vpool_config config = FERRUM_VPOOL_CONFIG_INIT;
    const uint64_t page = page_bytes();
    ferrum_compact_report report = FERRUM_COMPACT_REPORT_INIT;
    uint64_t released;
    ferrum_address address;
    config.capacity_bytes = 8 * page;
    OK_BESIDE(ferrum_vpool_create(device, &config, &vpool));
    OK_BESIDE(ferrum_vpool_alloc(vpool, 0, 4 * page, &address));
    OK_BESIDE(ferrum_vpool_record_stream(vpool, 0, page, quiet));
    REFUSED(ferrum_vpool_free(vpool, 0, page, captured));
    OK_BESIDE(ferrum_vpool_free(vpool, 0, page, quiet));
    OK_BESIDE(ferrum_vpool_free(vpool, page, page, none));
    OK_BESIDE(ferrum_vpool_synchronize(vpool, FERRUM_WAIT_FOREVER));
    OK_BESIDE(ferrum_vpool_trim(vpool, 0, &released));
    OK_BESIDE(ferrum_vpool_compact(vpool, &report));
    /* Work of the captured stream may use the pages. */
    REFUSED(ferrum_vpool_sleep(vpool, NULL, NULL));
    OK_BESIDE(ferrum_vpool_free(vpool, 2 * page, 2 * page, none));
    OK_BESIDE(ferrum_vpool_destroy(vpool, 0));
}

static void models(void) {
    ferrum_elastic_pool pool;
    ferrum_elastic_pool_config config = FERRUM_ELASTIC_POOL_CONFIG_INIT;
    ferrum_model_config model = FERRUM_MODEL_CONFIG_INIT;
    const uint64_t page = page_bytes();
    ferrum_compact_report report = FERRUM_COMPACT_REPORT_INIT;
    uint64_t offset, released;
    ferrum_address address;
    config.limit_bytes = 8 * page;
    model.virtual_bytes = 8 * page;
    OK_BESIDE(ferrum_elastic_pool_create(device, &config, &pool));
    OK_BESIDE(ferrum_elastic_pool_register_model(pool, "a", &model));
    OK_BESIDE(
        ferrum_elastic_pool_alloc(pool, "a", 2 * page, &address, &offset));
    REFUSED(ferrum_elastic_pool_free(pool, "a", offset, 2 * page, captured));
    OK_BESIDE(ferrum_elastic_pool_free(pool, "a", offset, 2 * page, quiet));
    OK_BESIDE(ferrum_elastic_pool_synchronize(pool, FERRUM_WAIT_FOREVER));
    OK_BESIDE(ferrum_elastic_pool_trim(pool, 0, &released));
    OK_BESIDE(ferrum_elastic_pool_compact(pool, &report));
    OK_BESIDE(ferrum_elastic_pool_unregister_model(pool, "a", 0));
    OK_BESIDE(ferrum_elastic_pool_destroy(pool, 0));
}

static void reports(void) {
    size_t length = 0;
    OK_BESIDE(ferrum_snapshot_json(NULL, 0, &length));
    OK_BESIDE(ferrum_leak_report_json(NULL, 0, &length));
}

#define CASE(name) \
    static void beside_##name(void) { in_each_mode(name); }
CASE(streams)
CASE(events)
CASE(joined)
CASE(pools)
CASE(blocks)
CASE(pages)
CASE(models)
CASE(reports)

int main(void) {
    check_name = "the caller's context";
    CUDA_OK(CU(cuInit)(0));
    CUDA_OK(CU(cuDevicePrimaryCtxRetain)(&context, device_ordinal()));
    CUDA_OK(CU(cuCtxSetCurrent)(context));
    OK(ferrum_init(NULL));
    OK(ferrum_device_open(device_id(), &device));
    ferrum_device_info info = FERRUM_DEVICE_INFO_INIT;
    OK(ferrum_device_get_info(device, &info));
    numbered = (info.capabilities & FERRUM_CAPABILITY_CAPTURE) != 0;
    if (check_failures != 0)
        return 1;
    check_run("streams beside a capture", beside_streams);
    check_run("events beside a capture", beside_events);
    check_run("a stream joins a capture", beside_joined);
    check_run("pools beside a capture", beside_pools);
    check_run("blocks beside a capture", beside_blocks);
    check_run("pages beside a capture", beside_pages);
    check_run("models beside a capture", beside_models);
    check_run("reports beside a capture", beside_reports);
    OK(ferrum_device_close(device, 0));
    OK(ferrum_shutdown(0));
    CUDA_OK(CU(cuCtxSetCurrent)(NULL));
    CUDA_OK(CU(cuDevicePrimaryCtxRelease)(device_ordinal()));
    return check_end();
}
