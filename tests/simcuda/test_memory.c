/* Memory of devices and of the host, copies and fills: what works, what is
 * rejected, and what leaks. */
#include "rules.h"

#include <sys/mman.h>

static void bytes_travel(void) {
    begin();
    CUdeviceptr a, b;
    char from[1000], to[1000];
    for (int i = 0; i < 1000; i++)
        from[i] = (char)(i * 7);
    OK(cuMemAlloc(&a, 1000));
    OK(cuMemAlloc(&b, 1000));
    OK(cuMemcpyHtoD(a, from, 1000));
    OK(cuMemcpyDtoD(b, a, 1000));
    OK(cuMemsetD32(b + 8, 0x01020304, 2));
    OK(cuMemcpyDtoH(to, b, 1000));
    EXPECT(memcmp(to, from, 8) == 0 && memcmp(to + 16, from + 16, 984) == 0);
    EXPECT(memcmp(to + 8, "\4\3\2\1\4\3\2\1", 8) == 0);
    EXPECT(a % 256 == 0);
    SHOWS(a % 4096 != 0);
    OK(cuMemFree(a));
    OK(cuMemFree(b));
    end();
}

/* Long copies run in parts. The calls with unified addressing tell host
 * memory from device memory. */
static void long_copies(void) {
    begin();
    size_t size = 3 * MEGABYTE + 5;
    unsigned char *from, *to = malloc(size);
    CUdeviceptr a, b;
    EXPECT(to != NULL);
    OK(cuMemHostAlloc((void **)&from, size, 0));
    for (size_t i = 0; i < size; i++)
        from[i] = (unsigned char)(i * 31 >> 3);
    OK(cuMemAlloc(&a, size));
    OK(cuMemAlloc(&b, size));
    OK(cuMemcpyAsync(a, (CUdeviceptr)(uintptr_t)from, size, NULL));
    OK(cuMemcpyDtoDAsync(b, a, size, NULL));
    OK(cuMemcpy((CUdeviceptr)(uintptr_t)to, b, size));
    EXPECT(memcmp(to, from, size) == 0);
    OK(cuMemsetD16(a, 0x0102, 100));
    OK(cuMemcpyDtoH(to, a, 200));
    EXPECT(to[198] == 2 && to[199] == 1);
    OK(cuMemFree(a));
    OK(cuMemFree(b));
    OK(cuMemFreeHost(from));
    free(to);
    end();
}

/* A real driver does not count. The counters tell copies of pageable memory from those of pinned memory,
 * and show that pinned copies queue behind each other. */
static void copies_are_counted(void) {
    begin();
    enum { SIZE = 1 << 22 };
    char *pinned, *pageable = malloc(SIZE);
    CUdeviceptr a;
    CUstream stream;
    EXPECT(pageable != NULL);
    OK(cuMemHostAlloc((void **)&pinned, SIZE, 0));
    memset(pinned, 3, SIZE);
    OK(cuMemAlloc(&a, SIZE));
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    EXPECT(simcuda_pageable_copies() == 0);
    for (int i = 0; i < 3; i++)
        OK(cuMemcpyHtoDAsync(a, pinned, SIZE, stream));
    OK(cuMemcpyDtoHAsync(pinned, a, SIZE, stream));
    OK(cuStreamSynchronize(stream));
    EXPECT(simcuda_pageable_copies() == 0);
    SHOWS(simcuda_deepest_queue() >= 2);
    EXPECT(simcuda_deepest_queue() == 0);
    OK(cuMemcpyDtoHAsync(pageable, a, SIZE, stream));
    EXPECT(simcuda_pageable_copies() == 1 && pageable[SIZE - 1] == 3);
    OK(cuMemcpyHtoD(a, pageable, SIZE));
    EXPECT(simcuda_pageable_copies() == 2);
    EXPECT(simcuda_deepest_queue() == 1);
    OK(cuStreamDestroy(stream));
    OK(cuMemFree(a));
    OK(cuMemFreeHost(pinned));
    free(pageable);
    end();
}

static void books_are_kept(void) {
    begin();
    size_t before, total, during, after;
    CUdeviceptr a;
    OK(cuMemGetInfo(&before, &total));
    EXPECT(total == (size_t)64 << 20 && before == total);
    OK(cuMemAlloc(&a, 10 * MEGABYTE));
    OK(cuMemGetInfo(&during, &total));
    EXPECT(during == before - 10 * MEGABYTE);
    CUdeviceptr none = 7;
    GIVES(CUDA_ERROR_OUT_OF_MEMORY, cuMemAlloc(&none, 60 * MEGABYTE));
    EXPECT(none == 7);
    simcuda_others_take(0, 50 * MEGABYTE);
    GIVES(CUDA_ERROR_OUT_OF_MEMORY, cuMemAlloc(&none, 5 * MEGABYTE));
    OK(cuMemFree(a));
    OK(cuMemGetInfo(&after, &total));
    EXPECT(after == 14 * MEGABYTE);
    end();
}

static void allocation_rules(void) {
    begin();
    CUdeviceptr a, base;
    size_t size;
    INVALID(cuMemAlloc(&a, 0));
    INVALID(cuMemAlloc(NULL, 16));
    OK(cuMemAlloc(&a, 1000));
    OK(cuMemGetAddressRange(&base, &size, a + 999));
    EXPECT(base == a && size == 1000);
    BREAKS(CUDA_ERROR_NOT_FOUND, cuMemGetAddressRange(&base, &size, a + 1000));
    INVALID(cuMemFree(a + 256));
    OK(cuMemFree(a));
    INVALID(cuMemFree(a));
    INVALID(cuMemFree(0x1234000));
    OK(cuMemFree(0));
    end();
}

static void copy_rules(void) {
    begin();
    CUdeviceptr a, b;
    char host[2000];
    OK(cuMemAlloc(&a, 1000));
    OK(cuMemAlloc(&b, 1000));
    INVALID(cuMemcpyHtoD(a, host, 1001));
    INVALID(cuMemcpyHtoD(a + 1, host, 1000));
    INVALID(cuMemcpyDtoH(host, a - 1, 10));
    INVALID(cuMemcpyDtoD(a, b + 999, 2));
    OPEN(CUDA_ERROR_INVALID_VALUE, cuMemcpyDtoD(a, a + 10, 100));
    INVALID(cuMemcpyHtoD(a, (void *)b, 10));
    INVALID(cuMemcpyDtoH((void *)b, a, 10));
    INVALID(cuMemcpyDtoH(host, 0, 10));
    INVALID(cuMemcpyHtoD((CUdeviceptr)(uintptr_t)host, host, 10));
    INVALID(cuMemsetD8(a, 1, 1001));
    INVALID(cuMemsetD16(a + 1, 1, 4));
    INVALID(cuMemsetD32(a + 2, 1, 4));
    INVALID(cuMemsetD32(a, 1, SIZE_MAX / 2));
    OK(cuMemcpyHtoD(a, host, 0));
    OK(cuMemFree(b));
    INVALID(cuMemcpyDtoD(a, b, 10));
    OK(cuMemFree(a));
    end();
}

/* The host cannot read the memory of a device. */
/* A matrix has rows, which are pitch bytes apart, and a part of each is filled. */
static void columns_are_filled(void) {
    begin();
    CUdeviceptr a;
    CUstream stream;
    uint32_t host[64];
    OK(cuMemAlloc(&a, sizeof host));
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    OK(cuMemsetD8Async(a, 0, sizeof host, stream));
    OK(cuMemsetD2D32Async(a, 8, 0x01020304, 1, 32, stream));
    OK(cuMemsetD2D32Async(a + 4, 8, 5, 1, 31, stream));
    OK(cuMemsetD2D32Async(a + 16, 16, 7, 2, 2, stream));
    OK(cuMemsetD2D32Async(a + 252, 3, 9, 1, 1, stream)); /* no second row */
    OK(cuStreamSynchronize(stream));
    OK(cuMemcpyDtoH(host, a, sizeof host));
    for (unsigned i = 0; i < 63; i++)
        if (i == 4 || i == 5 || i == 8 || i == 9)
            EXPECT(host[i] == 7);
        else
            EXPECT(host[i] == (i % 2 == 0 ? 0x01020304 : 5));
    EXPECT(host[63] == 9);
    OK(cuMemsetD2D32Async(a, 8, 1, 1, 0, stream));
    OK(cuMemsetD2D32Async(a, 8, 1, 0, 9, stream));
    INVALID(cuMemsetD2D32Async(a + 2, 8, 1, 1, 2, stream));
    INVALID(cuMemsetD2D32Async(a, 10, 1, 1, 2, stream));
    INVALID(cuMemsetD2D32Async(a, 8, 1, 1, 33, stream));
    OPEN(CUDA_ERROR_INVALID_VALUE, cuMemsetD2D32Async(a, 4, 1, 2, 2, stream));
    OK(cuStreamDestroy(stream));
    OK(cuMemFree(a));
    end();
}

/* The size of a row in bytes does not fit 64 bits. A real driver accepts the
 * call, and the context fails afterwards. */
static void a_row_is_too_large(void) {
    begin();
    CUdeviceptr a;
    CUstream stream;
    OK(cuMemAlloc(&a, 256));
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    INVALID(cuMemsetD2D32Async(a, 8, 1, SIZE_MAX / 2, 1, stream));
    OK(cuStreamDestroy(stream));
    OK(cuMemFree(a));
    end();
}

static void device_memory_is_apart(void) {
    begin();
    CUdeviceptr a;
    OK(cuMemAlloc(&a, 1000));
    *(volatile char *)(uintptr_t)a = 1;
}

static void fresh_memory_is_not_zero(void) {
    begin();
    CUdeviceptr a;
    unsigned char byte = 0;
    OK(cuMemAlloc(&a, 100));
    OK(cuMemcpyDtoH(&byte, a + 50, 1));
    SHOWS(byte != 0);
    OK(cuMemFree(a));
    end();
}

static void pinned_rules(void) {
    begin();
    void *host;
    static char own[8192];
    CUdeviceptr device;
    unsigned flags;
    GIVES(CUDA_SUCCESS, cuMemHostAlloc(&host, 0, 0));
    INVALID(cuMemHostAlloc(&host, 16, 64));
    OK(cuMemHostAlloc(&host, 5000, CU_MEMHOSTALLOC_PORTABLE));
    OK(cuMemHostGetFlags(&flags, host));
    EXPECT((flags & CU_MEMHOSTALLOC_PORTABLE) != 0);
    OK(cuMemHostGetDevicePointer(&device, host, 0));
    OK(cuMemsetD8(device, 9, 5000));
    EXPECT(((char *)host)[4999] == 9);
    INVALID(cuMemFreeHost((char *)host + 8));
    INVALID(cuMemFree((CUdeviceptr)(uintptr_t)host));
    OK(cuMemFreeHost(host));
    INVALID(cuMemFreeHost(host));
    OK(cuMemHostRegister(own, 4096, 0));
    BREAKS(CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED,
           cuMemHostRegister(own + 100, 4096, 0));
    INVALID(cuMemFreeHost(own));
    INVALID(cuMemHostUnregister(own + 8));
    OK(cuMemHostUnregister(own));
    BREAKS(CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED, cuMemHostUnregister(own));
    INVALID(cuMemHostGetDevicePointer(&device, own, 0));
    end();
}

static void registered_to_be_read(void) {
    begin();
    void *own = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    EXPECT(own != MAP_FAILED);
    CUdeviceptr device, there;
    OK(cuMemAlloc(&device, 4096));
    GIVES(CUDA_ERROR_INVALID_VALUE, cuMemHostRegister(own, 4096, 0));
    OK(cuMemHostRegister(own, 4096, CU_MEMHOSTREGISTER_READ_ONLY));
    OK(cuMemHostGetDevicePointer(&there, own, 0));
    OK(cuMemcpyHtoD(device, own, 4096));
    INVALID(cuMemsetD8(there, 1, 4096));
    OK(cuMemHostUnregister(own));
    OK(cuMemFree(device));
    EXPECT(munmap(own, 4096) == 0);
    end();
}

static void nothing_registered_to_be_read(void) {
    static char own[4096];
    begin();
    GIVES(CUDA_ERROR_NOT_SUPPORTED,
          cuMemHostRegister(own, 4096, CU_MEMHOSTREGISTER_READ_ONLY));
    end();
}

static void no_registered_memory(void) {
    static char own[4096];
    begin();
    GIVES(CUDA_ERROR_NOT_SUPPORTED, cuMemHostRegister(own, 4096, 0));
    end();
}

/* Without unified addressing, memory is mapped only on request. */
static void mapped_only_if_asked(void) {
    begin();
    void *plain, *mapped;
    CUdeviceptr device;
    OK(cuMemHostAlloc(&plain, 100, 0));
    OK(cuMemHostAlloc(&mapped, 100, CU_MEMHOSTALLOC_DEVICEMAP));
    INVALID(cuMemHostGetDevicePointer(&device, plain, 0));
    OK(cuMemHostGetDevicePointer(&device, mapped, 0));
    OK(cuMemFreeHost(plain));
    OK(cuMemFreeHost(mapped));
    end();
}

static void not_mapped_at_all(void) {
    begin();
    void *host;
    CUdeviceptr device;
    OK(cuMemHostAlloc(&host, 100, CU_MEMHOSTALLOC_DEVICEMAP));
    GIVES(CUDA_ERROR_NOT_SUPPORTED,
          cuMemHostGetDevicePointer(&device, host, 0));
    OK(cuMemFreeHost(host));
    end();
}

static void no_managed_memory(void) {
    begin();
    CUdeviceptr a;
    GIVES(CUDA_ERROR_NOT_SUPPORTED,
          cuMemAllocManaged(&a, 100, CU_MEM_ATTACH_GLOBAL));
    end();
}

static void leak_memory(void) {
    begin();
    CUdeviceptr a;
    char text[512];
    OK(cuMemAlloc(&a, 1000));
    EXPECT(simcuda_leaks(text, sizeof text) == 2);
    EXPECT(strstr(text, "memory") && strstr(text, "1000 bytes, from cuMemAl"));
}

static void leak_pinned(void) {
    begin();
    void *host;
    OK(cuMemHostAlloc(&host, 100, 0));
    EXPECT(simcuda_leaks(NULL, 0) == 2);
}

static void leak_registered(void) {
    static char own[4096];
    begin();
    OK(cuMemHostRegister(own, 4096, 0));
    EXPECT(simcuda_leaks(NULL, 0) == 2);
}

/* Memory that is freed with its context is still listed as a leak. */
static void leak_with_context(void) {
    begin();
    CUdeviceptr a;
    OK(cuMemAlloc(&a, 1000));
    OK(cuDevicePrimaryCtxRelease(0));
    EXPECT(simcuda_leaks(NULL, 0) == 0);
    EXPECT(simcuda_violations(NULL, 0) == 1);
}

static void leaks_go_to_a_file(void) {
    char path[] = "/tmp/simcuda-leaks-XXXXXX", line[64] = "";
    int fd = mkstemp(path);
    EXPECT(fd >= 0);
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        setenv("SIMCUDA_LEAKS", path, 1);
        leak_memory();
        exit(0);
    }
    int status = 1;
    EXPECT(waitpid(child, &status, 0) == child && status == 0);
    EXPECT(read(fd, line, sizeof line - 1) > 0);
    EXPECT(strncmp(line, "simcuda: 2 leaks\n", 17) == 0);
    unlink(path);
}

static void managed_rules(void) {
    begin();
    CUdeviceptr a;
    CUstream stream;
    int place = -5;
    int accessed[3];
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    INVALID(cuMemAllocManaged(&a, 100, 0));
    INVALID(cuMemAllocManaged(&a, 0, CU_MEM_ATTACH_GLOBAL));
    OK(cuMemAllocManaged(&a, 100, CU_MEM_ATTACH_GLOBAL));
    *(char *)(uintptr_t)a = 5;
    OK(cuMemsetD8Async(a + 1, 6, 1, stream));
    OK(cuStreamSynchronize(stream));
    EXPECT(memcmp((char *)(uintptr_t)a, "\5\6", 2) == 0);
    CUmemLocation second = {CU_MEM_LOCATION_TYPE_DEVICE, 1};
    OK(cuMemPrefetchAsync_v2(a, 100, second, 0, stream));
    OK(cuStreamSynchronize(stream));
    OK(cuMemRangeGetAttribute(&place, sizeof place,
                              CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION, a,
                              100));
    EXPECT(place == 1);
    OK(cuMemPrefetchAsync(a, 100, CU_DEVICE_CPU, stream));
    INVALID(cuMemPrefetchAsync_v2(a, 101, second, 0, stream));
    INVALID(cuMemPrefetchAsync_v2(a, 100, second, 1, stream));
    second.id = 2;
    BREAKS(CUDA_ERROR_INVALID_DEVICE,
           cuMemPrefetchAsync_v2(a, 100, second, 0, stream));
    OK(cuMemAdvise(a, 100, CU_MEM_ADVISE_SET_ACCESSED_BY, 1));
    OK(cuMemRangeGetAttribute(accessed, sizeof accessed,
                              CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY, a, 100));
    EXPECT(accessed[0] == 1 && accessed[1] == CU_DEVICE_INVALID);
    INVALID(cuMemAdvise(a, 100, (CUmem_advise)77, 0));
    OK(cuStreamDestroy(stream));
    OK(cuMemFree(a));
    INVALID(cuMemAdvise(a, 100, CU_MEM_ADVISE_SET_READ_MOSTLY, 0));
    end();
}

/* --- two threads at once --------------------------------------------------- */

static void *freed;
static CUresult freed_codes[2];

static void *frees_memory(void *code) {
    OK(cuCtxSetCurrent(context));
    *(CUresult *)code = cuMemFree((CUdeviceptr)(uintptr_t)freed);
    return NULL;
}

static void *frees_pinned(void *code) {
    OK(cuCtxSetCurrent(context));
    *(CUresult *)code = cuMemFreeHost(freed);
    return NULL;
}

/* Both threads are in the call and wait for the device until the gate
 * opens. Each use has a new gate. */
static void free_twice(void *(*run)(void *), const char *name) {
    Gate gate = GATE_INIT;
    CUstream stream;
    pthread_t threads[2];
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    OK(cuLaunchHostFunc(stream, gate_pass, &gate));
    uint64_t before = simcuda_calls(name);
    for (int i = 0; i < 2; i++)
        if (pthread_create(&threads[i], NULL, run, &freed_codes[i]) != 0)
            abort();
    while (simcuda_calls(name) < before + 2)
        usleep(100);
    gate_open(&gate);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    broken++;
    OK(cuStreamDestroy(stream));
}

static void freed_twice_at_once(void) {
    begin();
    CUdeviceptr a;
    OK(cuMemAlloc(&a, 100));
    freed = (void *)(uintptr_t)a;
    free_twice(frees_memory, "cuMemFree_v2");
    EXPECT(freed_codes[0] + freed_codes[1] == CUDA_ERROR_INVALID_VALUE);
    OK(cuMemHostAlloc(&freed, 100, 0));
    free_twice(frees_pinned, "cuMemFreeHost");
    EXPECT(freed_codes[0] + freed_codes[1] == CUDA_ERROR_INVALID_VALUE);
    end();
}

/* A free waits for the work of one context only. The late prefetch of
 * another context finds no memory. */
static void freed_before_its_prefetch(void) {
    begin();
    static Gate gate = GATE_INIT;
    CUcontext made;
    CUdeviceptr a;
    CUstream stream;
    OK(cuMemAllocManaged(&a, 100, CU_MEM_ATTACH_GLOBAL));
    OK(cuCtxCreate(&made, 0, 0));
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    OK(cuLaunchHostFunc(stream, gate_pass, &gate));
    OK(cuMemPrefetchAsync(a, 100, 0, stream));
    OK(cuCtxSetCurrent(context));
    OK(cuMemFree(a));
    OK(cuCtxSetCurrent(made));
    gate_open(&gate);
    GIVES(CUDA_ERROR_ILLEGAL_ADDRESS, cuStreamSynchronize(stream));
    broken++;
    OK(cuCtxDestroy(made));
    end();
}

static void leak_managed(void) {
    begin();
    CUdeviceptr a;
    OK(cuMemAllocManaged(&a, 100, CU_MEM_ATTACH_GLOBAL));
    EXPECT(simcuda_leaks(NULL, 0) == 2);
}

static void pointers_are_known(void) {
    begin();
    CUdeviceptr a;
    int local, managed = 5, ordinal = 5;
    unsigned type = 9;
    CUcontext of = NULL;
    OK(cuMemAlloc(&a, 100));
    OK(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, a + 9));
    EXPECT(type == CU_MEMORYTYPE_DEVICE);
    CUpointer_attribute which[] = {CU_POINTER_ATTRIBUTE_CONTEXT,
                                   CU_POINTER_ATTRIBUTE_IS_MANAGED,
                                   CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL};
    void *data[] = {&of, &managed, &ordinal};
    OK(cuPointerGetAttributes(3, which, data, a));
    EXPECT(of == context && managed == 0 && ordinal == 0);
    OK(cuPointerGetAttributes(3, which, data, (CUdeviceptr)(uintptr_t)&local));
    EXPECT(of == NULL && ordinal == CU_DEVICE_INVALID);
    OK(cuMemFree(a));
    GIVES(CUDA_ERROR_INVALID_VALUE,
          cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, a));
    end();
}

static const Case cases[] = {
    {"bytes travel", bytes_travel, 0, NULL},
    {"long copies", long_copies, 0, NULL},
    {"copies are counted", copies_are_counted, UNDEFINED, NULL},
    {"books are kept", books_are_kept, 0, "SIMCUDA_BYTES=64M"},
    {"allocation rules", allocation_rules, 0, NULL},
    {"copy rules", copy_rules, 0, NULL},
    {"columns are filled", columns_are_filled, 0, NULL},
    {"a row is too large", a_row_is_too_large, UNDEFINED, NULL},
    {"device memory is apart", device_memory_is_apart, 128 + 11, NULL},
    {"fresh memory is not zero", fresh_memory_is_not_zero, 0, NULL},
    {"pinned rules", pinned_rules, 0, NULL},
    {"registered to be read", registered_to_be_read, 0, NULL},
    {"nothing registered to be read", nothing_registered_to_be_read, 0,
     "SIMCUDA_WITHOUT=readonly"},
    {"no registered memory", no_registered_memory, 0,
     "SIMCUDA_WITHOUT=register"},
    {"mapped only if asked", mapped_only_if_asked, 0,
     "SIMCUDA_WITHOUT=unified"},
    {"not mapped at all", not_mapped_at_all, 0, "SIMCUDA_WITHOUT=mapped"},
    {"no managed memory", no_managed_memory, 0, "SIMCUDA_WITHOUT=managed"},
    {"managed rules", managed_rules, 0, NULL},
    {"pointers are known", pointers_are_known, 0, NULL},
    {"leaked memory", leak_memory, LEAKS, NULL},
    {"leaked pinned memory", leak_pinned, LEAKS, NULL},
    {"leaked registered memory", leak_registered, LEAKS, NULL},
    {"leaked managed memory", leak_managed, LEAKS, NULL},
    {"freed twice at once", freed_twice_at_once, UNDEFINED, NULL},
    {"freed before its prefetch", freed_before_its_prefetch, UNDEFINED, NULL},
    {"memory that goes with its context", leak_with_context, 0, NULL},
    {"leaks go to a file", leaks_go_to_a_file, 0, "SIMCUDA_DEVICES=2"},
};

int main(void) { return RUN(cases); }
