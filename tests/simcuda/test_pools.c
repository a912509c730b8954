/* Memory that is allocated in the order of streams, and its pools. */
#include "rules.h"

static CUstream stream, second;

static void prepare(void) {
    begin();
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    OK(cuStreamCreate(&second, CU_STREAM_NON_BLOCKING));
}

static void finish(void) {
    OK(cuStreamDestroy(second));
    OK(cuStreamDestroy(stream));
    end();
}

static size_t free_bytes(void) {
    size_t left, total;
    OK(cuMemGetInfo(&left, &total));
    return left;
}

static cuuint64_t number(CUmemoryPool pool, CUmemPool_attribute which) {
    cuuint64_t value = 0;
    OK(cuMemPoolGetAttribute(pool, which, &value));
    return value;
}

static void bytes_and_books(void) {
    prepare();
    CUdeviceptr a, none;
    CUmemoryPool pool;
    unsigned char byte;
    size_t before = free_bytes();
    OK(cuDeviceGetDefaultMemPool(&pool, 0));
    OK(cuMemAllocAsync(&a, 4 * MEGABYTE, stream));
    OK(cuMemsetD8Async(a, 3, 4 * MEGABYTE, stream));
    OK(cuMemcpyDtoHAsync(&byte, a + 9, 1, stream));
    EXPECT(byte == 3);
    EXPECT(number(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT) == 4 * MEGABYTE);
    EXPECT(free_bytes() == before - 4 * MEGABYTE);
    OK(cuMemFreeAsync(a, stream));
    OK(cuStreamSynchronize(stream));
    EXPECT(number(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT) == 0);
    EXPECT(number(pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH) == 4 * MEGABYTE);
    EXPECT(free_bytes() == before);
    GIVES(CUDA_ERROR_OUT_OF_MEMORY,
          cuMemAllocAsync(&none, 100 * MEGABYTE, stream));
    finish();
}

static void a_pool_keeps_what_it_may(void) {
    prepare();
    CUdeviceptr a, b;
    CUmemoryPool pool;
    cuuint64_t keep = 2 * MEGABYTE, zero = 0;
    size_t before = free_bytes();
    OK(cuDeviceGetDefaultMemPool(&pool, 0));
    OK(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &keep));
    OK(cuMemAllocAsync(&a, 6 * MEGABYTE, stream));
    OK(cuMemFreeAsync(a, stream));
    OK(cuStreamSynchronize(stream));
    EXPECT(number(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT) == keep);
    EXPECT(free_bytes() == before - keep);
    OK(cuMemPoolTrimTo(pool, MEGABYTE));
    EXPECT(free_bytes() == before - MEGABYTE);
    /* A full device takes the memory back from the pool. */
    OK(cuMemAlloc(&b, before));
    EXPECT(free_bytes() == 0);
    OK(cuMemFree(b));
    EXPECT(number(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH) == 6 * MEGABYTE);
    OK(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH, &zero));
    EXPECT(number(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH) == 0);
    INVALID(
        cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH, &keep));
    INVALID(
        cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &zero));
    INVALID(cuMemPoolGetAttribute(pool, (CUmemPool_attribute)99, &keep));
    finish();
}

static void own_pools(void) {
    prepare();
    CUmemoryPool pool, current, standard;
    CUmemPoolProps props;
    CUdeviceptr a;
    memset(&props, 0, sizeof props);
    INVALID(cuMemPoolCreate(&pool, &props));
    props.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    props.location = (CUmemLocation){CU_MEM_LOCATION_TYPE_DEVICE, 0};
    props.maxSize = MEGABYTE;
    OK(cuMemPoolCreate(&pool, &props));
    OK(cuDeviceGetDefaultMemPool(&standard, 0));
    OK(cuDeviceSetMemPool(0, pool));
    OK(cuDeviceGetMemPool(&current, 0));
    EXPECT(current == pool);
    INVALID(cuDeviceSetMemPool(1, pool));
    /* The driver rounds the largest size up. */
    GIVES(CUDA_SUCCESS,
          cuMemAllocFromPoolAsync(&a, 2 * MEGABYTE, pool, stream));
    CLEAN(cuMemFreeAsync(a, stream));
    OK(cuMemAllocFromPoolAsync(&a, 1000, pool, stream));
    INVALID(cuMemPoolDestroy(standard));
    OK(cuMemPoolDestroy(pool));
    OPEN(CUDA_ERROR_INVALID_VALUE, cuMemPoolDestroy(pool));
    OPEN(CUDA_ERROR_INVALID_VALUE, cuMemPoolTrimTo(pool, 0));
    INVALID(cuMemPoolTrimTo(NULL, 0));
    OK(cuDeviceGetMemPool(&current, 0));
    EXPECT(current == standard);
    OK(cuMemFreeAsync(a, stream));
    OK(cuStreamSynchronize(stream));
    finish();
}

static void the_largest_size(void) {
    prepare();
    CUmemoryPool pool;
    CUmemPoolProps props;
    CUdeviceptr a, none;
    memset(&props, 0, sizeof props);
    props.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    props.location = (CUmemLocation){CU_MEM_LOCATION_TYPE_DEVICE, 0};
    props.maxSize = MEGABYTE;
    OK(cuMemPoolCreate(&pool, &props));
    OK(cuMemAllocFromPoolAsync(&a, 32 * MEGABYTE, pool, stream));
    GIVES(CUDA_ERROR_OUT_OF_MEMORY,
          cuMemAllocFromPoolAsync(&none, 1000, pool, stream));
    OK(cuMemFreeAsync(a, stream));
    OK(cuStreamSynchronize(stream));
    OK(cuMemPoolDestroy(pool));
    finish();
}

static void order_rules(void) {
    prepare();
    CUdeviceptr a, b;
    GIVES(CUDA_SUCCESS, cuMemAllocAsync(&a, 0, stream));
    OK(cuMemAllocAsync(&a, 1000, stream));
    OK(cuMemAlloc(&b, 1000));
    INVALID(cuMemFreeAsync(b, stream));
    INVALID(cuMemFreeAsync(a + 256, stream));
    INVALID(cuMemsetD8Async(a, 1, 1001, stream));
    OK(cuMemFreeAsync(a, stream));
    INVALID(cuMemsetD8Async(a, 1, 1000, stream));
    INVALID(cuMemsetD8Async(a, 1, 1000, second));
    INVALID(cuMemFreeAsync(a, stream));
    INVALID(cuMemFree(a));
    OK(cuStreamSynchronize(stream));
    OK(cuMemFree(b));
    INVALID(cuMemAllocAsync(NULL, 1000, stream));
    OK(cuMemAllocAsync(&a, 1000, stream));
    OK(cuMemFree(a));
    finish();
}

/* Another stream that does not wait uses the memory before the allocation. */
static void used_too_early(void) {
    prepare();
    static Gate gate = GATE_INIT;
    CUdeviceptr a;
    OK(cuLaunchHostFunc(stream, gate_pass, &gate));
    OK(cuMemAllocAsync(&a, 1000, stream));
    OK(cuMemsetD8Async(a, 1, 1000, second));
    GIVES(CUDA_ERROR_ILLEGAL_ADDRESS, cuStreamSynchronize(second));
    gate_open(&gate);
    broken++;
    OK(cuDevicePrimaryCtxReset(0));
    end();
}

/* Another stream uses the memory after the free. */
static void used_too_late(void) {
    prepare();
    static Gate gate = GATE_INIT;
    CUdeviceptr a;
    OK(cuMemAllocAsync(&a, 1000, stream));
    OK(cuStreamSynchronize(stream));
    OK(cuLaunchHostFunc(second, gate_pass, &gate));
    OK(cuMemsetD8Async(a, 1, 1000, second));
    OK(cuMemFreeAsync(a, stream));
    OK(cuStreamSynchronize(stream));
    gate_open(&gate);
    GIVES(CUDA_ERROR_ILLEGAL_ADDRESS, cuStreamSynchronize(second));
    broken++;
    end();
}

static void freed_too_early(void) {
    prepare();
    static Gate gate = GATE_INIT;
    CUdeviceptr a;
    OK(cuLaunchHostFunc(stream, gate_pass, &gate));
    OK(cuMemAllocAsync(&a, 1000, stream));
    OK(cuMemFreeAsync(a, second));
    GIVES(CUDA_ERROR_ILLEGAL_ADDRESS, cuStreamSynchronize(second));
    gate_open(&gate);
    broken++;
    end();
}

/* The call without "Async" in its name does not wait either. */
static void freed_under_work(void) {
    prepare();
    static Gate gate = GATE_INIT;
    CUdeviceptr a;
    OK(cuMemAllocAsync(&a, 1000, stream));
    OK(cuStreamSynchronize(stream));
    OK(cuLaunchHostFunc(second, gate_pass, &gate));
    OK(cuMemsetD8Async(a, 1, 1000, second));
    OK(cuMemFree(a));
    gate_open(&gate);
    GIVES(CUDA_ERROR_ILLEGAL_ADDRESS, cuStreamSynchronize(second));
    broken++;
    end();
}

static void access_of_peers(void) {
    begin();
    CUmemoryPool pool;
    CUmemAccess_flags flags;
    CUmemAccessDesc access = {{CU_MEM_LOCATION_TYPE_DEVICE, 1},
                              CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    OK(cuDeviceGetDefaultMemPool(&pool, 0));
    OK(cuMemPoolGetAccess(&flags, pool, &access.location));
    EXPECT(flags == CU_MEM_ACCESS_FLAGS_PROT_NONE);
    OK(cuMemPoolSetAccess(pool, &access, 1));
    OK(cuMemPoolGetAccess(&flags, pool, &access.location));
    EXPECT(flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    access.location.id = 0;
    access.flags = CU_MEM_ACCESS_FLAGS_PROT_NONE;
    INVALID(cuMemPoolSetAccess(pool, &access, 1));
    end();
}

/* Access between contexts does not apply to memory of a pool. Work of a
 * peer there is an illegal address until the pool gives the peer access. */
static CUdeviceptr memory_for_a_peer(CUmemoryPool *pool, CUcontext *peer) {
    CUdeviceptr a;
    OK(cuDeviceGetDefaultMemPool(pool, 0));
    OK(cuMemAllocAsync(&a, 4096, NULL));
    OK(cuCtxSynchronize());
    OK(cuDevicePrimaryCtxRetain(peer, 1));
    OK(cuCtxPushCurrent(*peer));
    OK(cuCtxEnablePeerAccess(context, 0));
    return a;
}

static void a_peer_that_is_let_in(void) {
    begin();
    CUmemoryPool pool;
    CUcontext peer;
    CUmemAccessDesc access = {{CU_MEM_LOCATION_TYPE_DEVICE, 1},
                              CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    unsigned char byte = 0;
    CUdeviceptr a = memory_for_a_peer(&pool, &peer);
    OK(cuMemPoolSetAccess(pool, &access, 1));
    OK(cuMemsetD8Async(a, 7, 4096, NULL));
    OK(cuCtxSynchronize());
    OK(cuCtxPopCurrent(&peer));
    OK(cuMemcpyDtoH(&byte, a, 1));
    EXPECT(byte == 7);
    OK(cuMemFreeAsync(a, NULL));
    OK(cuDevicePrimaryCtxRelease(1));
    end();
}

static void a_peer_that_is_not_let_in(void) {
    begin();
    CUmemoryPool pool;
    CUcontext peer;
    CUdeviceptr a = memory_for_a_peer(&pool, &peer);
    CUresult first = cuMemsetD8Async(a, 7, 4096, NULL);
    CUresult then = cuCtxSynchronize();
    EXPECT(first != CUDA_SUCCESS || then == CUDA_ERROR_ILLEGAL_ADDRESS);
    exit(0);
}

static void there_may_be_none(void) {
    begin();
    CUdeviceptr a;
    CUmemoryPool pool;
    GIVES(CUDA_ERROR_NOT_SUPPORTED, cuMemAllocAsync(&a, 16, NULL));
    GIVES(CUDA_ERROR_NOT_SUPPORTED, cuDeviceGetDefaultMemPool(&pool, 0));
    end();
}

static void leak_memory_of_a_pool(void) {
    prepare();
    CUdeviceptr a;
    OK(cuMemAllocAsync(&a, 1000, stream));
    finish();
    EXPECT(simcuda_leaks(NULL, 0) == 1);
}

static void leak_pool(void) {
    begin();
    CUmemoryPool pool;
    CUmemPoolProps props;
    memset(&props, 0, sizeof props);
    props.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    props.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    OK(cuMemPoolCreate(&pool, &props));
    end();
    EXPECT(simcuda_leaks(NULL, 0) == 1);
}

static const Case cases[] = {
    {"bytes and books", bytes_and_books, 0, "SIMCUDA_BYTES=64M"},
    {"a pool keeps what it may", a_pool_keeps_what_it_may, 0,
     "SIMCUDA_BYTES=64M"},
    {"own pools", own_pools, 0, NULL},
    {"the largest size", the_largest_size, UNDEFINED, NULL},
    {"order rules", order_rules, 0, NULL},
    {"used too early", used_too_early, UNDEFINED, NULL},
    {"used too late", used_too_late, UNDEFINED, NULL},
    {"freed too early", freed_too_early, UNDEFINED, NULL},
    {"freed under work", freed_under_work, UNDEFINED, NULL},
    {"access of peers", access_of_peers, 0, NULL},
    {"a peer that is let in", a_peer_that_is_let_in, 0, NULL},
    {"a peer that is not let in", a_peer_that_is_not_let_in, UNDEFINED,
     "SIMCUDA_LEAKS="},
    {"there may be none", there_may_be_none, 0, "SIMCUDA_WITHOUT=pools"},
    {"leaked memory of a pool", leak_memory_of_a_pool, LEAKS, NULL},
    {"leaked pool", leak_pool, LEAKS, NULL},
};

int main(void) { return RUN(cases); }
