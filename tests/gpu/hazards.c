/* Mistakes and special cases of programs that once made the library lose a
 * device or give memory to two users: streams that the program destroys, a
 * stream handle that names another stream in each thread, and memory that a
 * peer can access. */
#include "driver.h"

#define MEGABYTE ((uint64_t)1 << 20)

static CUcontext context;
static ferrum_device device;
static const ferrum_stream none = {0};

static ferrum_stream adopt(CUstream native) {
    ferrum_foreign_stream foreign = FERRUM_FOREIGN_STREAM_INIT;
    ferrum_stream stream = none;
    foreign.native_handle = (uint64_t)(uintptr_t)native;
    OK(ferrum_stream_adopt(device, &foreign, &stream));
    return stream;
}

/* A stream that the program destroyed too early must not cost the device. A
 * real driver may do anything with such a handle, so only the simulated
 * driver runs this test. */
static void a_destroyed_stream(void) {
    CUstream native;
    ferrum_stream stream, fresh;
    ferrum_pool pool;
    ferrum_address mine = 0, other = 0, more = 0;
    void *library = dlopen(getenv("FERRUM_CUDA_LIBRARY"), RTLD_NOW);
    if (library == NULL || dlsym(library, "simcuda_calls") == NULL) {
        check_skip("a real driver may end the process");
        return;
    }
    CUDA_OK(CU(cuStreamCreate)(&native, CU_STREAM_NON_BLOCKING));
    stream = adopt(native);
    OK(ferrum_pool_create(device, NULL, &pool));
    OK(ferrum_pool_alloc(pool, MEGABYTE, stream, &mine));
    OK(ferrum_pool_alloc(pool, MEGABYTE, none, &other));
    CUDA_OK(CU(cuStreamDestroy)(native));
    CHECK(ferrum_stream_synchronize(stream, FERRUM_WAIT_FOREVER) !=
          FERRUM_ERROR_DEVICE_LOST);
    CHECK(ferrum_pool_free(pool, mine, stream) != FERRUM_ERROR_DEVICE_LOST);
    OK(ferrum_pool_free(pool, other, none));
    OK(ferrum_pool_alloc(pool, 64 * MEGABYTE, none, &more));
    OK(ferrum_pool_free(pool, more, none));
    OK(ferrum_stream_create(device, &fresh));
    OK(ferrum_stream_destroy(fresh, 0));
    OK(ferrum_stream_destroy(stream, FERRUM_FORCE));
    OK(ferrum_pool_destroy(pool, FERRUM_FORCE));
}

/* Handle 2 names another stream in each thread, so a stream of the library
 * cannot represent it. The legacy stream waits for all of these streams. */
static void a_stream_in_each_thread(void) {
    ferrum_foreign_stream foreign = FERRUM_FOREIGN_STREAM_INIT;
    ferrum_error_info why = FERRUM_ERROR_INFO_INIT;
    ferrum_stream stream = {1};
    foreign.native_handle = (uint64_t)(uintptr_t)CU_STREAM_PER_THREAD;
    GIVES(FERRUM_ERROR_UNSUPPORTED,
          ferrum_stream_adopt(device, &foreign, &stream));
    CHECK(stream.id == 0);
    ferrum_last_error(&why);
    CHECK(strstr(why.message, "per-thread default stream") != NULL);
    foreign.native_handle = 0;
    GIVES(FERRUM_ERROR_INVALID_ARGUMENT,
          ferrum_stream_adopt(device, &foreign, &stream));
    stream = adopt(CU_STREAM_LEGACY);
    OK(ferrum_stream_destroy(stream, 0));
}

/* A peer gets access to the stream-ordered memory of a pool as to all other
 * memory. Otherwise its first access would spoil its context. */
static void a_peer_is_let_in(void) {
    ferrum_device other;
    ferrum_pool_config config = FERRUM_POOL_CONFIG_INIT;
    ferrum_pool pool;
    ferrum_address early = 0, late = 0;
    CUcontext there;
    int count = 0, can = 0;
    CUDA_OK(CU(cuDeviceGetCount)(&count));
    if (count > 1)
        CUDA_OK(CU(cuDeviceCanAccessPeer)(&can, 1 - device_ordinal(),
                                          device_ordinal()));
    config.segment_source = FERRUM_SEGMENTS_STREAM_ORDERED;
    if (!can || device_ordinal() > 1 ||
        ferrum_pool_create(device, &config, &pool) != FERRUM_OK) {
        check_skip("no peer, or no pools of the driver");
        return;
    }
    OK(ferrum_device_open(device_ordinal() == 0 ? "cuda:1" : "cuda:0", &other));
    OK(ferrum_pool_alloc(pool, MEGABYTE, none, &early));
    OK(ferrum_device_grant_peer(device, other));
    OK(ferrum_pool_alloc(pool, 64 * MEGABYTE, none, &late));
    CUDA_OK(CU(cuDevicePrimaryCtxRetain)(&there, 1 - device_ordinal()));
    CUDA_OK(CU(cuCtxPushCurrent)(there));
    CUDA_OK(CU(cuMemsetD8Async)(early, 3, MEGABYTE, NULL));
    CUDA_OK(CU(cuMemsetD8Async)(late, 4, MEGABYTE, NULL));
    CUDA_OK(CU(cuCtxSynchronize)());
    CUDA_OK(CU(cuCtxPopCurrent)(&there));
    unsigned char bytes[2] = {0, 0};
    CUDA_OK(CU(cuMemcpyDtoH)(&bytes[0], early, 1));
    CUDA_OK(CU(cuMemcpyDtoH)(&bytes[1], late, 1));
    CHECK(bytes[0] == 3 && bytes[1] == 4);
    OK(ferrum_pool_free(pool, early, none));
    OK(ferrum_pool_free(pool, late, none));
    OK(ferrum_pool_destroy(pool, 0));
    OK(ferrum_device_close(other, 0));
    CUDA_OK(CU(cuDevicePrimaryCtxRelease)(1 - device_ordinal()));
}

static void all_memory_is_released(void) {
    ferrum_statistics books = FERRUM_STATISTICS_INIT;
    OK(ferrum_device_get_statistics(device, &books));
    CHECK(books.reserved.current == 0 && books.live_blocks.current == 0);
    CUDA_OK(CU(cuCtxSetCurrent)(NULL));
    CUDA_OK(CU(cuDevicePrimaryCtxRelease)(device_ordinal()));
    OK(ferrum_device_close(device, 0));
    OK(ferrum_shutdown(0));
}

int main(void) {
    setvbuf(stdout, NULL, _IONBF, 0);
    check_name = "start";
    CUDA_OK(CU(cuInit)(0));
    CUDA_OK(CU(cuDevicePrimaryCtxRetain)(&context, device_ordinal()));
    CUDA_OK(CU(cuCtxSetCurrent)(context));
    OK(ferrum_init(NULL));
    OK(ferrum_device_open(device_id(), &device));
    check_run("a destroyed stream", a_destroyed_stream);
    check_run("a stream in each thread", a_stream_in_each_thread);
    check_run("a peer is let in", a_peer_is_let_in);
    check_run("all memory is released", all_memory_is_released);
    return check_end();
}
