/* Virtual memory: reserve, create, map, set access, share. */
#include "mapping.h"

static void bytes_stay_with_pages(void) {
    begin();
    unsigned char byte;
    CUdeviceptr at = reserve(4 * PAGE);
    CUmemGenericAllocationHandle one = create(PAGE), two = create(PAGE);
    OK(cuMemMap(at, PAGE, 0, one, 0));
    OK(cuMemMap(at + PAGE, PAGE, 0, two, 0));
    OK(allow(at, 2 * PAGE, 0, 3));
    OK(cuMemsetD8(at, 1, PAGE));
    OK(cuMemsetD8(at + PAGE, 2, PAGE));
    /* One copy across both mappings. */
    OK(cuMemcpyDtoD(at + PAGE - 8, at + PAGE + 8, 8));
    OK(cuCtxSynchronize());
    OK(cuMemUnmap(at, 2 * PAGE));
    OK(cuMemMap(at + 3 * PAGE, PAGE, 0, one, 0));
    OK(allow(at + 3 * PAGE, PAGE, 0, 1));
    OK(cuMemcpyDtoH(&byte, at + 3 * PAGE, 1));
    EXPECT(byte == 1);
    OK(cuMemcpyDtoH(&byte, at + 4 * PAGE - 1, 1));
    EXPECT(byte == 2);
    OK(cuMemUnmap(at + 3 * PAGE, PAGE));
    OK(cuMemRelease(one));
    OK(cuMemRelease(two));
    OK(cuMemAddressFree(at, 4 * PAGE));
    end();
}

static void sizes_and_alignment(void) {
    begin();
    size_t granularity;
    CUdeviceptr at, near;
    CUmemGenericAllocationHandle handle;
    CUmemAllocationProp prop = properties(0, false), wrong;
    OK(cuMemGetAllocationGranularity(&granularity, &prop,
                                     CU_MEM_ALLOC_GRANULARITY_MINIMUM));
    EXPECT(granularity == PAGE);
    INVALID(cuMemAddressReserve(&at, PAGE - 1, 0, 0, 0));
    INVALID(cuMemAddressReserve(&at, 0, 0, 0, 0));
    INVALID(cuMemAddressReserve(&at, PAGE, 3 * PAGE, 0, 0));
    INVALID(cuMemAddressReserve(&at, PAGE, 0, 0, 1));
    INVALID(cuMemCreate(&handle, PAGE / 2, &prop, 0));
    INVALID(cuMemCreate(&handle, 0, &prop, 0));
    INVALID(cuMemCreate(&handle, PAGE, &prop, 1));
    wrong = prop;
    wrong.location.id = 99;
    BREAKS(CUDA_ERROR_INVALID_DEVICE, cuMemCreate(&handle, PAGE, &wrong, 0));
    wrong = prop;
    wrong.type = (CUmemAllocationType)0;
    INVALID(cuMemCreate(&handle, PAGE, &wrong, 0));
    wrong = prop;
    wrong.allocFlags.reserved[1] = 1;
    INVALID(cuMemCreate(&handle, PAGE, &wrong, 0));
    OK(cuMemAddressReserve(&at, PAGE, 16 * PAGE, 0, 0));
    EXPECT(at % (16 * PAGE) == 0);
    OK(cuMemAddressReserve(&near, PAGE, 0, at + PAGE, 0));
    SHOWS(near == at + PAGE);
    OK(cuMemAddressFree(at, PAGE));
    OK(cuMemAddressFree(near, PAGE));
    end();
}

static void mapping_rules(void) {
    begin();
    CUdeviceptr at = reserve(4 * PAGE);
    CUmemGenericAllocationHandle handle = create(2 * PAGE);
    BREAKS(CUDA_ERROR_NOT_SUPPORTED, cuMemMap(at, PAGE, PAGE, handle, 0));
    INVALID(cuMemMap(at, PAGE, 0, handle, 1));
    BREAKS(CUDA_ERROR_NOT_SUPPORTED, cuMemMap(at, 4 * PAGE, 0, handle, 0));
    BREAKS(CUDA_ERROR_NOT_SUPPORTED, cuMemMap(at + 4096, PAGE, 0, handle, 0));
    INVALID(cuMemMap(at + 3 * PAGE, 2 * PAGE, 0, handle, 0));
    BREAKS(CUDA_ERROR_NOT_SUPPORTED,
           cuMemMap(at + 8 * PAGE, PAGE, 0, handle, 0));
    OPEN(CUDA_ERROR_INVALID_VALUE, cuMemMap(at, PAGE, 0, 0x777, 0));
    OK(cuMemMap(at + PAGE, 2 * PAGE, 0, handle, 0));
    INVALID(cuMemMap(at, 2 * PAGE, 0, handle, 0));
    BREAKS(CUDA_ERROR_NOT_SUPPORTED,
           cuMemMap(at + 2 * PAGE, PAGE, 0, handle, 0));
    INVALID(cuMemUnmap(at + PAGE, PAGE));
    INVALID(cuMemUnmap(at + 2 * PAGE, PAGE));
    INVALID(cuMemUnmap(at, 3 * PAGE));
    INVALID(cuMemUnmap(at, PAGE));
    INVALID(cuMemAddressFree(at, 4 * PAGE));
    OK(cuMemUnmap(at + PAGE, 2 * PAGE));
    INVALID(cuMemUnmap(at + PAGE, 2 * PAGE));
    INVALID(cuMemAddressFree(at, PAGE));
    INVALID(cuMemAddressFree(at + PAGE, 3 * PAGE));
    INVALID(cuMemFree(at));
    OK(cuMemAddressFree(at, 4 * PAGE));
    INVALID(cuMemAddressFree(at, 4 * PAGE));
    OK(cuMemRelease(handle));
    OPEN(CUDA_ERROR_INVALID_VALUE, cuMemRelease(handle));
    end();
}

static void access_rules(void) {
    begin();
    unsigned char byte;
    unsigned long long flags;
    CUmemLocation first = {CU_MEM_LOCATION_TYPE_DEVICE, 0},
                  second = {CU_MEM_LOCATION_TYPE_DEVICE, 1};
    CUdeviceptr at = reserve(2 * PAGE);
    CUmemGenericAllocationHandle handle = create(PAGE);
    INVALID(cuMemcpyDtoH(&byte, at, 1));
    INVALID(allow(at, PAGE, 0, 3));
    OK(cuMemMap(at, PAGE, 0, handle, 0));
    INVALID(cuMemcpyDtoH(&byte, at, 1));
    INVALID(allow(at, 2 * PAGE, 0, 3));
    INVALID(allow(at, PAGE / 2, 0, 3));
    INVALID(allow(at, PAGE, 0, 2));
    INVALID(allow(at, PAGE, 99, 3));
    OK(allow(at, PAGE, 0, 1));
    OK(cuMemcpyDtoH(&byte, at, 1));
    INVALID(cuMemsetD8(at, 1, 1));
    OK(cuMemGetAccess(&flags, &first, at));
    EXPECT(flags == 1);
    OK(cuMemGetAccess(&flags, &second, at));
    EXPECT(flags == 0);
    OK(allow(at, PAGE, 0, 3));
    OK(cuMemsetD8(at, 1, 1));
    INVALID(cuMemsetD8(at + PAGE - 1, 1, 2));
    OK(cuCtxSynchronize());
    OK(cuMemUnmap(at, PAGE));
    OK(cuMemMap(at, PAGE, 0, handle, 0));
    /* Access ends with the mapping. */
    INVALID(cuMemsetD8(at, 1, 1));
    OK(cuMemUnmap(at, PAGE));
    OK(cuMemRelease(handle));
    OK(cuMemAddressFree(at, 2 * PAGE));
    end();
}

/* Each device has its own access: access of one device does not give access
 * to another. */
static void access_of_each_device(void) {
    begin();
    CUcontext other;
    CUdeviceptr at = reserve(PAGE);
    CUmemGenericAllocationHandle handle = create(PAGE);
    OK(cuMemMap(at, PAGE, 0, handle, 0));
    OK(allow(at, PAGE, 0, 3));
    OK(cuMemsetD8(at, 1, PAGE));
    OK(cuCtxSynchronize());
    OK(cuCtxCreate(&other, 0, 1));
    INVALID(cuMemsetD8(at, 2, PAGE));
    OK(allow(at, PAGE, 1, 3));
    OK(cuMemsetD8(at, 2, PAGE));
    OK(cuCtxSynchronize());
    OK(allow(at, PAGE, 1, 0));
    INVALID(cuMemsetD8(at, 2, PAGE));
    OK(cuCtxDestroy(other));
    OK(cuMemUnmap(at, PAGE));
    OK(cuMemRelease(handle));
    OK(cuMemAddressFree(at, PAGE));
    end();
}

/* Unmapping does not wait. Late work is a fault and spoils the context. */
static void unmapped_under_work(void) {
    begin();
    static Gate gate = GATE_INIT;
    CUstream stream;
    CUdeviceptr at = reserve(PAGE);
    CUmemGenericAllocationHandle handle = create(PAGE);
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    OK(cuMemMap(at, PAGE, 0, handle, 0));
    OK(allow(at, PAGE, 0, 3));
    OK(cuLaunchHostFunc(stream, gate_pass, &gate));
    OK(cuMemsetD8Async(at, 1, PAGE, stream));
    OK(cuMemUnmap(at, PAGE));
    gate_open(&gate);
    GIVES(CUDA_ERROR_ILLEGAL_ADDRESS, cuStreamSynchronize(stream));
    broken++;
    GIVES(CUDA_ERROR_ILLEGAL_ADDRESS, cuStreamDestroy(stream));
    OK(cuMemRelease(handle));
    OK(cuMemAddressFree(at, PAGE));
    end();
}

static void unmapped_under_a_copy(void) {
    begin();
    static Gate gate = GATE_INIT;
    CUstream stream;
    CUdeviceptr at = reserve(PAGE), a;
    CUmemGenericAllocationHandle handle = create(PAGE);
    OK(cuMemAlloc(&a, PAGE));
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    OK(cuMemMap(at, PAGE, 0, handle, 0));
    OK(allow(at, PAGE, 0, 3));
    OK(cuLaunchHostFunc(stream, gate_pass, &gate));
    OK(cuMemcpyDtoDAsync(a, at, PAGE, stream));
    OK(cuMemUnmap(at, PAGE));
    gate_open(&gate);
    GIVES(CUDA_ERROR_ILLEGAL_ADDRESS, cuStreamSynchronize(stream));
    broken++;
    OK(cuMemRelease(handle));
    OK(cuMemAddressFree(at, PAGE));
    end();
}

static size_t free_bytes(void) {
    size_t left, total;
    OK(cuMemGetInfo(&left, &total));
    return left;
}

/* Physical memory exists as long as a handle or a mapping of it. */
static void books_are_kept(void) {
    begin();
    size_t before = free_bytes();
    CUmemGenericAllocationHandle handle = create(PAGE), same, none;
    CUmemAllocationProp prop = properties(0, false);
    CUdeviceptr at = reserve(64 * PAGE);
    EXPECT(free_bytes() == before - PAGE);
    OK(cuMemMap(at, PAGE, 0, handle, 0));
    OK(cuMemRetainAllocationHandle(&same, (void *)at));
    EXPECT(same == handle);
    OK(cuMemRelease(handle));
    OK(cuMemRelease(handle));
    EXPECT(free_bytes() == before - PAGE);
    OK(allow(at, PAGE, 0, 3));
    OK(cuMemsetD8(at, 1, PAGE));
    OK(cuCtxSynchronize());
    OK(cuMemUnmap(at, PAGE));
    EXPECT(free_bytes() == before);
    GIVES(CUDA_ERROR_OUT_OF_MEMORY, cuMemCreate(&none, 64 * PAGE, &prop, 0));
    OK(cuMemAddressFree(at, 64 * PAGE));
    end();
}

static void there_may_be_none(void) {
    begin();
    CUdeviceptr at;
    int value;
    OK(cuDeviceGetAttribute(
        &value, CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, 0));
    EXPECT(value == 0);
    GIVES(CUDA_ERROR_NOT_SUPPORTED, cuMemAddressReserve(&at, PAGE, 0, 0, 0));
    end();
}

/* All rules of the usual granularity also apply to a smaller one. */
static void small_pages(void) {
    begin();
    const size_t small = 64 << 10;
    size_t granularity;
    CUdeviceptr at, wrong;
    CUmemGenericAllocationHandle handle, other;
    CUmemAllocationProp prop = properties(0, false);
    OK(cuMemGetAllocationGranularity(&granularity, &prop,
                                     CU_MEM_ALLOC_GRANULARITY_RECOMMENDED));
    EXPECT(granularity == small);
    INVALID(cuMemAddressReserve(&wrong, small / 2, 0, 0, 0));
    INVALID(cuMemCreate(&handle, small / 2, &prop, 0));
    OK(cuMemAddressReserve(&at, 2 * small, 0, 0, 0));
    OK(cuMemCreate(&handle, small, &prop, 0));
    OK(cuMemCreate(&other, small, &prop, 0));
    BREAKS(CUDA_ERROR_NOT_SUPPORTED,
           cuMemMap(at + small / 2, small, 0, handle, 0));
    OK(cuMemMap(at, small, 0, handle, 0));
    OK(cuMemMap(at + small, small, 0, other, 0));
    INVALID(cuMemUnmap(at, small / 2));
    OK(cuMemUnmap(at, 2 * small));
    OK(cuMemRelease(handle));
    OK(cuMemRelease(other));
    OK(cuMemAddressFree(at, 2 * small));
    end();
}

static void leak_addresses(void) {
    begin();
    reserve(PAGE);
    EXPECT(simcuda_leaks(NULL, 0) == 2);
}

static void leak_physical(void) {
    begin();
    create(PAGE);
    EXPECT(simcuda_leaks(NULL, 0) == 2);
}

static void an_alignment_that_is_not_kept(void) {
    begin();
    CUdeviceptr at;
    OK(cuMemAddressReserve(&at, 4 * PAGE, 4 * PAGE, 0, 0));
    EXPECT(at % PAGE == 0 && at % (4 * PAGE) != 0);
    OK(cuMemAddressFree(at, 4 * PAGE));
    end();
}

static void protections_that_are_refused(void) {
    begin();
    CUdeviceptr at = reserve(PAGE);
    CUmemGenericAllocationHandle handle = create(PAGE);
    OK(cuMemMap(at, PAGE, 0, handle, 0));
    INVALID(allow(at, PAGE, 0, 1));
    INVALID(allow(at, PAGE, 0, 0));
    OK(allow(at, PAGE, 0, 3));
    OK(cuMemUnmap(at, PAGE));
    OK(cuMemRelease(handle));
    OK(cuMemAddressFree(at, PAGE));
    end();
}

static void leak_mapping(void) {
    char text[512];
    begin();
    CUdeviceptr at = reserve(PAGE);
    CUmemGenericAllocationHandle handle = create(PAGE);
    OK(cuMemMap(at, PAGE, 0, handle, 0));
    OK(cuMemRelease(handle));
    EXPECT(simcuda_leaks(text, sizeof text) == 3);
    EXPECT(strstr(text, "mapping"));
}

static const Case cases[] = {
    {"bytes stay with their pages", bytes_stay_with_pages, 0, NULL},
    {"sizes and alignment", sizes_and_alignment, 0, NULL},
    {"mapping rules", mapping_rules, 0, NULL},
    {"access rules", access_rules, 0, NULL},
    {"access of each device", access_of_each_device, 0, NULL},
    {"unmapped under work", unmapped_under_work, UNDEFINED, NULL},
    {"unmapped under a copy", unmapped_under_a_copy, UNDEFINED, NULL},
    {"books are kept", books_are_kept, 0, "SIMCUDA_BYTES=64M"},
    {"there may be none", there_may_be_none, 0, "SIMCUDA_WITHOUT=vmm"},
    {"small pages", small_pages, 0, "SIMCUDA_GRANULARITY=64K"},
    {"an alignment that is not kept", an_alignment_that_is_not_kept, UNDEFINED,
     "SIMCUDA_WITHOUT=alignment"},
    {"protections that are refused", protections_that_are_refused, UNDEFINED,
     "SIMCUDA_WITHOUT=protection"},
    {"leaked addresses", leak_addresses, LEAKS, NULL},
    {"leaked physical memory", leak_physical, LEAKS, NULL},
    {"leaked mapping", leak_mapping, LEAKS, NULL},
};

int main(void) { return RUN(cases); }
