/* Measures pages, waking and a full device:
 *
 *   bench_memory remap PAGES    us for one page, for each way to map and unmap it
 *   bench_memory wake BYTES PAGE_BYTES
 *                               GB/s of waking with such pages (0: the
 *                               recommended ones), and of a copy of pinned
 *                               memory
 *   bench_memory fill           allocates the whole device, and frees it again
 *
 * Each prints one JSON object. */
#include "bench.h"

/* --- pages ------------------------------------------------------------------ */

/* Number of driver calls so far, if a simulated driver counts them. */
static uint64_t driver_calls(void) {
    uint64_t (*count)(const char *) = NULL;
    *(void **)&count = dlsym(RTLD_DEFAULT, "simcuda_calls");
    if (count == NULL) {
        const char *path = getenv("FERRUM_CUDA_LIBRARY");
        void *library = path == NULL ? NULL : dlopen(path, RTLD_NOW);
        if (library != NULL)
            *(void **)&count = dlsym(library, "simcuda_calls");
    }
    return count == NULL ? 0 : count(NULL);
}

typedef struct page_times {
    double *map_us, *free_us, *unmap_us, *same_us;
} page_times;

/* Measures one page. It is allocated at an address and freed there. It is
 * allocated there again while it is still mapped. It is freed and unmapped.
 * Then it is allocated at another address. */
static void page_goes_round(ferrum_vpool vpool, uint64_t page, int i, int pages,
                            page_times *to, uint64_t *calls) {
    ferrum_address address;
    ferrum_compact_report report = FERRUM_COMPACT_REPORT_INIT;
    uint64_t here = (uint64_t)(i % pages) * page;
    uint64_t there = (uint64_t)((i + pages / 2) % pages) * page;
    MUST(ferrum_vpool_alloc(vpool, here, page, &address));
    MUST(ferrum_vpool_free(vpool, here, page, stream));
    MUST(ferrum_vpool_synchronize(vpool, FERRUM_WAIT_FOREVER));
    uint64_t before = driver_calls();
    double start = now_seconds();
    MUST(ferrum_vpool_alloc(vpool, here, page, &address));
    to->same_us[i] = (now_seconds() - start) * 1e6;
    *calls += driver_calls() - before;
    start = now_seconds();
    MUST(ferrum_vpool_free(vpool, here, page, stream));
    to->free_us[i] = (now_seconds() - start) * 1e6;
    MUST(ferrum_vpool_synchronize(vpool, FERRUM_WAIT_FOREVER));
    start = now_seconds();
    MUST(ferrum_vpool_compact(vpool, &report));
    to->unmap_us[i] = (now_seconds() - start) * 1e6;
    start = now_seconds();
    MUST(ferrum_vpool_alloc(vpool, there, page, &address));
    to->map_us[i] = (now_seconds() - start) * 1e6;
    MUST(ferrum_vpool_free(vpool, there, page, stream));
    MUST(ferrum_vpool_synchronize(vpool, FERRUM_WAIT_FOREVER));
}

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void print_times(const char *name, double *values, int count,
                        const char *behind) {
    qsort(values, (size_t)count, sizeof *values, by_value);
    printf("\"%s\": {\"median\": %.3f, \"p90\": %.3f, \"max\": %.3f}%s", name,
           values[count / 2], values[count * 9 / 10], values[count - 1],
           behind);
}

static void remap(int pages) {
    ferrum_page_sizes sizes = FERRUM_PAGE_SIZES_INIT;
    ferrum_vpool_config config = FERRUM_VPOOL_CONFIG_INIT;
    ferrum_vpool vpool;
    MUST(ferrum_device_get_page_sizes(device, &sizes));
    uint64_t page = sizes.recommended_bytes, calls = 0;
    config.capacity_bytes = (uint64_t)pages * page;
    config.ready_pages = 4;
    MUST(ferrum_vpool_create(device, &config, &vpool));
    /* Pause the pool's own thread, so that its driver calls are not counted
     * for the caller. */
    MUST(ferrum_vpool_pause(vpool));
    size_t count = (size_t)pages;
    page_times times = {
        calloc(count, sizeof(double)), calloc(count, sizeof(double)),
        calloc(count, sizeof(double)), calloc(count, sizeof(double))};
    for (int i = 0; i < pages; i++)
        page_goes_round(vpool, page, i, pages, &times, &calls);
    MUST(ferrum_vpool_destroy(vpool, 0));
    printf("{\"page_bytes\": %llu, \"pages\": %d, ", (unsigned long long)page,
           pages);
    print_times("map_at_another_address_us", times.map_us, pages, ", ");
    print_times("free_us", times.free_us, pages, ", ");
    print_times("unmap_us", times.unmap_us, pages, ", ");
    print_times("same_address_us", times.same_us, pages, ", ");
    /* A real driver does not count its calls. */
    if (driver_calls() != 0)
        printf("\"same_address_driver_calls\": %llu}\n",
               (unsigned long long)calls);
    else
        printf("\"same_address_driver_calls\": null}\n");
    free(times.map_us);
    free(times.free_us);
    free(times.unmap_us);
    free(times.same_us);
}

/* --- waking ----------------------------------------------------------------- */

static double pinned_gbps(uint64_t bytes) {
    CUdeviceptr to;
    void *from;
    uint64_t part = bytes < (UINT64_C(256) << 20) ? bytes : UINT64_C(256) << 20;
    CUDA_MUST(CU(cuMemHostAlloc)(&from, part, 0));
    memset(from, 1, part);
    CUDA_MUST(CU(cuMemAlloc)(&to, part));
    double start = 0;
    int copies = (int)(bytes / part);
    for (int i = -1; i < copies; i++) {
        if (i == 0) {
            CUDA_MUST(CU(cuStreamSynchronize)(native));
            start = now_seconds();
        }
        CUDA_MUST(CU(cuMemcpyHtoDAsync)(to, from, part, native));
    }
    CUDA_MUST(CU(cuStreamSynchronize)(native));
    double gbps = (double)part * copies / (now_seconds() - start) / 1e9;
    CUDA_MUST(CU(cuMemFree)(to));
    CUDA_MUST(CU(cuMemFreeHost)(from));
    return gbps;
}

static void wake(uint64_t bytes, uint64_t page_bytes) {
    ferrum_page_sizes sizes = FERRUM_PAGE_SIZES_INIT;
    ferrum_vpool_config config = FERRUM_VPOOL_CONFIG_INIT;
    ferrum_vpool vpool;
    ferrum_address at;
    double woken[5], slept[5], pinned[5];
    MUST(ferrum_device_get_page_sizes(device, &sizes));
    if (page_bytes == 0)
        page_bytes = sizes.recommended_bytes;
    bytes -= bytes % page_bytes;
    config.capacity_bytes = bytes;
    config.page_bytes = page_bytes;
    MUST(ferrum_vpool_create(device, &config, &vpool));
    MUST(ferrum_vpool_alloc(vpool, 0, bytes, &at));
    CUDA_MUST(CU(cuMemsetD8)(at, 5, bytes));
    CUDA_MUST(CU(cuCtxSynchronize)());
    for (int i = 0; i < 5; i++) {
        ferrum_sleep_report sleep = FERRUM_SLEEP_REPORT_INIT;
        ferrum_wake_report report = FERRUM_WAKE_REPORT_INIT;
        MUST(ferrum_vpool_sleep(vpool, NULL, &sleep));
        slept[i] = (double)bytes / (double)sleep.elapsed_ns;
        pinned[i] = pinned_gbps(bytes);
        MUST(ferrum_vpool_wake(vpool, NULL, &report));
        woken[i] = (double)bytes / (double)report.elapsed_ns;
    }
    unsigned char byte = 0;
    CUDA_MUST(CU(cuMemcpyDtoH)(&byte, at + bytes - 1, 1));
    end_unless(byte == 5, "the bytes after waking");
    MUST(ferrum_vpool_free(vpool, 0, bytes, stream));
    MUST(ferrum_vpool_destroy(vpool, 0));
    printf("{\"bytes\": %llu, \"page_bytes\": %llu, ",
           (unsigned long long)bytes, (unsigned long long)page_bytes);
    print_values("wake_gbps", woken, 5);
    printf(", ");
    print_values("sleep_gbps", slept, 5);
    printf(", ");
    print_values("pinned_copy_gbps", pinned, 5);
    printf("}\n");
}

/* --- the whole device ------------------------------------------------------- */

static size_t free_bytes(void) {
    size_t left, total;
    CUDA_MUST(CU(cuMemGetInfo)(&left, &total));
    return left;
}

/* Allocates blocks of 64 MiB, then of 2 MiB, until the device is full. */
static void fill(void) {
    enum { BLOCKS = 1 << 16 };
    static uint64_t blocks[BLOCKS];
    int count = 0;
    size_t before = free_bytes();
    ferrum_pool pool;
    MUST(ferrum_pool_create(device, NULL, &pool));
    double start = now_seconds();
    for (uint64_t size = UINT64_C(64) << 20; size >= UINT64_C(2) << 20;
         size /= 32)
        while (count < BLOCKS && ferrum_pool_alloc(pool, size, stream,
                                                   &blocks[count]) == FERRUM_OK)
            count++;
    double filled = now_seconds() - start;
    size_t left = free_bytes();
    uint64_t released = 0;
    ferrum_statistics books = FERRUM_STATISTICS_INIT;
    MUST(ferrum_pool_get_statistics(pool, &books));
    start = now_seconds();
    for (int i = 0; i < count; i++)
        MUST(ferrum_pool_free(pool, blocks[i], stream));
    CUDA_MUST(CU(cuStreamSynchronize)(native));
    MUST(ferrum_pool_trim(pool, 0, &released));
    double emptied = now_seconds() - start;
    MUST(ferrum_pool_destroy(pool, 0));
    printf("{\"free_before_bytes\": %zu, \"held_bytes\": %llu, "
           "\"left_bytes\": %zu, \"fill_seconds\": %.3f, "
           "\"empty_seconds\": %.3f, \"free_after_bytes\": %zu}\n",
           before, (unsigned long long)books.reserved.current, left, filled,
           emptied, free_bytes());
}

int main(int count, char **words) {
    const char *what = count > 1 ? words[1] : "", *last = words[count - 1];
    bool known = true;
    start();
    if (strcmp(what, "remap") == 0 && count == 3)
        remap(atoi(last));
    else if (strcmp(what, "wake") == 0 && count == 4)
        wake(strtoull(words[2], NULL, 10), strtoull(last, NULL, 10));
    else if (strcmp(what, "fill") == 0 && count == 2)
        fill();
    else
        known = false;
    stop();
    if (!known)
        fprintf(stderr, "bench: see the head of tests/gpu/bench_memory.c\n");
    return known ? 0 : 2;
}
