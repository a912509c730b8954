/* Measures calls of allocators on a device, ours and the driver's own:
 *
 *   bench hot ALLOCATOR BYTES          ns for an allocation and free of one block
 *   bench random ALLOCATOR BYTES       ns for a replacement, with BYTES live in
 *                                      about 1000 blocks
 *   bench trace ALLOCATOR FILE         peaks of held and of live bytes
 *
 * ALLOCATOR is pool, pool_segments, driver_ordered (cuMemAllocAsync) or
 * driver_plain (cuMemAlloc). Each prints one JSON object. FILE has the lines
 * `a NUMBER BYTES` and `f NUMBER`. */
#include "bench.h"

enum { ROUNDS = 7 };

/* --- allocators ------------------------------------------------------------ */

typedef struct allocator {
    const char *name;
    void (*open)(void);
    bool (*alloc)(uint64_t size, uint64_t *address);
    void (*free)(uint64_t address);
    uint64_t (*peak)(void); /* of held bytes */
} allocator;

static ferrum_pool pool;

static void open_pool_paged(ferrum_paging paging) {
    ferrum_pool_config config = FERRUM_POOL_CONFIG_INIT;
    config.paging = paging;
    MUST(ferrum_pool_create(device, &config, &pool));
}
static void open_pool(void) { open_pool_paged(FERRUM_PAGING_AUTO); }
static void open_segments(void) { open_pool_paged(FERRUM_PAGING_OFF); }
static bool alloc_pool(uint64_t size, uint64_t *address) {
    return ferrum_pool_alloc(pool, size, stream, address) == FERRUM_OK;
}
static void free_pool(uint64_t address) {
    MUST(ferrum_pool_free(pool, address, stream));
}
static uint64_t peak_pool(void) {
    ferrum_statistics books = FERRUM_STATISTICS_INIT;
    MUST(ferrum_device_get_statistics(device, &books));
    return books.reserved.peak;
}

static CUmemoryPool ordered;
static __typeof__(&cuMemAllocAsync) driver_alloc_async;
static __typeof__(&cuMemFreeAsync) driver_free_async;
static __typeof__(&cuMemAlloc) driver_alloc;
static __typeof__(&cuMemFree) driver_free;

static void open_ordered(void) {
    cuuint64_t all = UINT64_MAX;
    driver_alloc_async = CU(cuMemAllocAsync);
    driver_free_async = CU(cuMemFreeAsync);
    CUDA_MUST(CU(cuDeviceGetDefaultMemPool)(&ordered, device_ordinal()));
    CUDA_MUST(CU(cuMemPoolSetAttribute)(
        ordered, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &all));
}
static bool alloc_ordered(uint64_t size, uint64_t *address) {
    CUdeviceptr at;
    bool good = driver_alloc_async(&at, size, native) == CUDA_SUCCESS;
    *address = good ? at : 0;
    return good;
}
static void free_ordered(uint64_t address) {
    CUDA_MUST(driver_free_async(address, native));
}
static uint64_t peak_ordered(void) {
    cuuint64_t bytes = 0;
    CUDA_MUST(CU(cuMemPoolGetAttribute)(
        ordered, CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH, &bytes));
    return bytes;
}

static void open_plain(void) {
    driver_alloc = CU(cuMemAlloc);
    driver_free = CU(cuMemFree);
}
static bool alloc_plain(uint64_t size, uint64_t *address) {
    CUdeviceptr at;
    bool good = driver_alloc(&at, size) == CUDA_SUCCESS;
    *address = good ? at : 0;
    return good;
}
static void free_plain(uint64_t address) { CUDA_MUST(driver_free(address)); }
static uint64_t peak_plain(void) { return 0; }

static const allocator allocators[] = {
    {"pool", open_pool, alloc_pool, free_pool, peak_pool},
    {"pool_segments", open_segments, alloc_pool, free_pool, peak_pool},
    {"driver_ordered", open_ordered, alloc_ordered, free_ordered, peak_ordered},
    {"driver_plain", open_plain, alloc_plain, free_plain, peak_plain},
};

static const allocator *find(const char *name) {
    for (size_t i = 0; i < sizeof allocators / sizeof *allocators; i++)
        if (strcmp(allocators[i].name, name) == 0)
            return &allocators[i];
    fprintf(stderr, "bench: no allocator %s\n", name);
    exit(2);
}

/* --- calls ------------------------------------------------------------------ */

static void hot(const allocator *from, uint64_t size) {
    double values[ROUNDS];
    uint64_t address;
    int pairs = 1000;
    for (int round = -1; round < ROUNDS; round++) {
        double start = now_seconds();
        for (int i = 0; i < pairs; i++) {
            end_unless(from->alloc(size, &address), "the pair's block");
            from->free(address);
        }
        double each = (now_seconds() - start) / pairs;
        CUDA_MUST(CU(cuStreamSynchronize)(native));
        /* The first round warms up. It also shows how many pairs take 50 ms. */
        if (round < 0)
            pairs = each < 5e-8 ? 1000000 : (int)(0.05 / each) + 10;
        else
            values[round] = each * 1e9;
    }
    printf("{\"allocator\": \"%s\", \"bytes\": %llu, ", from->name,
           (unsigned long long)size);
    print_values("pair_ns", values, ROUNDS);
    printf("}\n");
}

static uint64_t random_state = 1;
static uint64_t next_random(void) {
    random_state =
        random_state * 6364136223846793005u + UINT64_C(1442695040888963407);
    return random_state >> 33;
}

/* Sizes from 512 B to 32 times the mean. Small sizes are more frequent. */
static uint64_t random_size(uint64_t live_bytes) {
    uint64_t mean = live_bytes / 1000;
    uint64_t size = mean * (1 + next_random() % 64) / 32;
    return next_random() % 4 != 0 ? 512 + size / 4 : 512 + size * 3;
}

static void random_replacement(const allocator *from, uint64_t live_bytes) {
    enum { LIVE = 1000 };
    static uint64_t blocks[LIVE];
    double values[ROUNDS];
    int steps = 2000;
    for (int i = 0; i < LIVE; i++)
        end_unless(from->alloc(random_size(live_bytes), &blocks[i]),
                   "the live blocks");
    for (int round = -1; round < ROUNDS; round++) {
        double start = now_seconds();
        for (int i = 0; i < steps; i++) {
            int at = (int)(next_random() % LIVE);
            from->free(blocks[at]);
            end_unless(from->alloc(random_size(live_bytes), &blocks[at]),
                       "a replacement");
        }
        double each = (now_seconds() - start) / steps;
        CUDA_MUST(CU(cuStreamSynchronize)(native));
        if (round < 0)
            steps = each < 5e-8 ? 1000000 : (int)(0.1 / each) + 10;
        else
            values[round] = each * 1e9;
    }
    for (int i = 0; i < LIVE; i++)
        from->free(blocks[i]);
    printf("{\"allocator\": \"%s\", \"live_bytes\": %llu, ", from->name,
           (unsigned long long)live_bytes);
    print_values("replacement_ns", values, ROUNDS);
    printf("}\n");
}

/* --- traces ----------------------------------------------------------------- */

static void trace(const allocator *from, const char *path) {
    FILE *file = fopen(path, "r");
    end_unless(file != NULL, path);
    enum { BLOCKS = 1 << 20 };
    typedef struct block {
        uint64_t address, size;
    } block;
    block *blocks = calloc(BLOCKS, sizeof *blocks);
    uint64_t live = 0, peak = 0, steps = 0, refused = 0;
    unsigned long number;
    unsigned long long size;
    char kind;
    double start = now_seconds();
    while (fscanf(file, " %c %lu", &kind, &number) == 2 && number < BLOCKS) {
        block *at = &blocks[number];
        steps++;
        if (kind == 'a') {
            end_unless(fscanf(file, " %llu", &size) == 1, "a line");
            if (!from->alloc(size, &at->address)) {
                refused++;
                continue;
            }
            at->size = size;
            live += size;
            peak = live > peak ? live : peak;
        } else if (at->size != 0) {
            from->free(at->address);
            live -= at->size;
            at->size = 0;
        }
    }
    double seconds = now_seconds() - start;
    CUDA_MUST(CU(cuStreamSynchronize)(native));
    uint64_t held = from->peak();
    for (int i = 0; i < BLOCKS; i++)
        if (blocks[i].size != 0)
            from->free(blocks[i].address);
    free(blocks);
    fclose(file);
    printf("{\"allocator\": \"%s\", \"steps\": %llu, \"refused\": %llu, "
           "\"live_peak_bytes\": %llu, \"held_peak_bytes\": %llu, "
           "\"step_ns\": %.1f}\n",
           from->name, (unsigned long long)steps, (unsigned long long)refused,
           (unsigned long long)peak, (unsigned long long)held,
           seconds * 1e9 / (double)(steps + (steps == 0)));
}

int main(int count, char **words) {
    const char *what = count == 4 ? words[1] : "";
    const char *last = words[count - 1];
    bool known = true;
    start();
    const allocator *from = count == 4 ? find(words[2]) : NULL;
    if (from != NULL)
        from->open();
    if (strcmp(what, "hot") == 0)
        hot(from, strtoull(last, NULL, 10));
    else if (strcmp(what, "random") == 0)
        random_replacement(from, strtoull(last, NULL, 10));
    else if (strcmp(what, "trace") == 0)
        trace(from, last);
    else
        known = false;
    if (pool.id != 0)
        MUST(ferrum_pool_destroy(pool, 0));
    stop();
    if (!known)
        fprintf(stderr, "bench: see the head of tests/gpu/bench.c\n");
    return known ? 0 : 2;
}
