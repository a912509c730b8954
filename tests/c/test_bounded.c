/*
 * Reports and forced ends when memory is short: with very many live blocks and
 * little free address space, each call returns a status and the process
 * continues. Each case runs in a separate process, because a failure ends the
 * process.
 */
#include <stdbool.h>
#include <sys/resource.h>
#include <unistd.h>

#include "alone.h"
#include "ferrum_mem.h"

/* The number of live blocks. make soak has time for all of them, also with the
 * address sanitizer, with which a block takes ten times as long. */
enum { BLOCKS_MOST = 1000000 };
#ifdef __SANITIZE_ADDRESS__
static uint64_t live = 50000;
#else
static uint64_t live = 400000;
#endif
/* A list of the blocks took 100 bytes for each block, and twice that while
 * it grew. */
#define LEFT_BYTES (UINT64_C(96) * live / 1000000 << 20)

/* A full queue, and what the garbage collector needs while the queue drains. */
#define QUEUE_BYTES (UINT64_C(512) << 20)

static const ferrum_stream anywhere = {0};
static ferrum_device host;
static ferrum_pool pool;
static ferrum_address middle;
static ferrum_address blocks[BLOCKS_MOST];

static void leave(uint64_t bytes) {
    FILE *file = fopen("/proc/self/statm", "r");
    unsigned long pages = 0;
    EXPECT(file != NULL && fscanf(file, "%lu", &pages) == 1);
    fclose(file);
    struct rlimit limit;
    EXPECT(getrlimit(RLIMIT_AS, &limit) == 0);
    limit.rlim_cur = pages * (rlim_t)sysconf(_SC_PAGESIZE) + bytes;
    EXPECT(setrlimit(RLIMIT_AS, &limit) == 0);
}

static void crowd(const char *strategy, uint32_t tracking) {
    ferrum_pool_config config = FERRUM_POOL_CONFIG_INIT;
    config.strategy = strategy;
    config.tracking = tracking;
    EXPECT(ferrum_init(NULL) == FERRUM_OK);
    EXPECT(ferrum_device_open("cpu:0", &host) == FERRUM_OK);
    EXPECT(ferrum_pool_create(host, &config, &pool) == FERRUM_OK);
    for (uint64_t i = 0; i < live; i++)
        EXPECT(ferrum_pool_alloc(pool, 256, anywhere, &blocks[i]) == FERRUM_OK);
    middle = blocks[live / 2];
    leave(LEFT_BYTES);
}

static void report(void) {
    static char text[1 << 20];
    size_t length;
    EXPECT(ferrum_leak_report_json(NULL, 0, &length) == FERRUM_OK);
    EXPECT(ferrum_leak_report_json(text, sizeof text, &length) == FERRUM_OK);
    EXPECT(ferrum_snapshot_json(NULL, 0, &length) == FERRUM_OK);
    EXPECT(ferrum_snapshot_json(text, sizeof text, &length) == FERRUM_OK);
    ferrum_block_info info = FERRUM_BLOCK_INFO_INIT;
    EXPECT(ferrum_device_get_owner(host, middle + 5, &info) == FERRUM_OK);
    EXPECT(info.address == middle && info.requested_bytes == 256);
    EXPECT(ferrum_pool_free(pool, middle + 5, anywhere) ==
           FERRUM_ERROR_INVALID_ADDRESS);
    ferrum_address none;
    EXPECT(ferrum_pool_alloc(pool, UINT64_C(1) << 62, anywhere, &none) !=
           FERRUM_OK);
}

static void cached_reports(void) {
    crowd("best_fit", 0);
    report();
}

static void slab_reports(void) {
    crowd("size_class", 0);
    report();
}

static void tracked_reports(void) {
    crowd("best_fit", 1);
    report();
}

static void reset(void) {
    crowd("best_fit", 0);
    EXPECT(ferrum_pool_reset(pool, anywhere) == FERRUM_OK);
    EXPECT(ferrum_pool_destroy(pool, 0) == FERRUM_OK);
}

static void destroy(void) {
    crowd("best_fit", 0);
    EXPECT(ferrum_pool_destroy(pool, FERRUM_FORCE) == FERRUM_OK);
    EXPECT(ferrum_device_close(host, 0) == FERRUM_OK);
}

static void close_device(void) {
    crowd("size_class", 0);
    EXPECT(ferrum_device_close(host, FERRUM_FORCE) == FERRUM_OK);
}

static void stop(void) {
    crowd("best_fit", 1);
    EXPECT(ferrum_shutdown(FERRUM_FORCE) == FERRUM_OK);
}

static void wait_for(void *gate) {
    char byte;
    EXPECT(read(((int *)gate)[0], &byte, 1) == 1);
}

static void nothing(void *unused) { (void)unused; }

static uint64_t live_blocks(void) {
    ferrum_statistics statistics = FERRUM_STATISTICS_INIT;
    EXPECT(ferrum_pool_get_statistics(pool, &statistics) == FERRUM_OK);
    return statistics.live_blocks.current;
}

static bool freed_or_full(ferrum_status status) {
    EXPECT(status == FERRUM_OK || status == FERRUM_ERROR_RESOURCE_EXHAUSTED);
    return status == FERRUM_OK;
}

/* Queues work that waits for the gate, and then uses up the address space except
 * for this many bytes. */
static ferrum_stream hold(int gate[2], uint64_t bytes) {
    ferrum_stream stream;
    EXPECT(pipe(gate) == 0);
    crowd("best_fit", 0);
    leave(LEFT_BYTES * 4);
    EXPECT(ferrum_stream_create(host, &stream) == FERRUM_OK);
    EXPECT(ferrum_stream_host_function(stream, wait_for, gate) == FERRUM_OK);
    leave(bytes);
    return stream;
}

/* Blocks that could not be recorded behind the work are live, and are freed
 * after it. */
static void let_go(int gate[2], ferrum_stream stream, uint64_t left) {
    EXPECT(live_blocks() == left);
    EXPECT(write(gate[1], "x", 1) == 1);
    EXPECT(ferrum_stream_synchronize(stream, FERRUM_WAIT_FOREVER) == FERRUM_OK);
    EXPECT(ferrum_pool_reset(pool, stream) == FERRUM_OK);
    EXPECT(live_blocks() == 0);
    EXPECT(ferrum_pool_destroy(pool, 0) == FERRUM_OK);
    EXPECT(ferrum_shutdown(FERRUM_FORCE) == FERRUM_OK);
}

static void reset_behind(uint64_t bytes) {
    int gate[2];
    ferrum_stream stream = hold(gate, bytes);
    bool freed = freed_or_full(ferrum_pool_reset(pool, stream));
    let_go(gate, stream, freed ? 0 : live);
}

static void reset_behind_work(void) { reset_behind(LEFT_BYTES); }

static void reset_behind_work_in_little(void) { reset_behind(LEFT_BYTES / 6); }

static void destroy_behind_work(void) {
    int gate[2];
    ferrum_stream stream = hold(gate, LEFT_BYTES);
    freed_or_full(ferrum_pool_reset(pool, stream));
    EXPECT(write(gate[1], "x", 1) == 1);
    EXPECT(ferrum_pool_destroy(pool, FERRUM_FORCE) == FERRUM_OK);
    EXPECT(ferrum_shutdown(FERRUM_FORCE) == FERRUM_OK);
}

static void frees_behind(uint64_t bytes) {
    int gate[2];
    ferrum_stream stream = hold(gate, bytes);
    uint64_t left = live;
    for (uint64_t i = 0; i < live; i++)
        left -= freed_or_full(ferrum_pool_free(pool, blocks[i], stream));
    let_go(gate, stream, left);
}

static void frees_behind_work(void) { frees_behind(LEFT_BYTES); }

static void frees_behind_work_in_little(void) { frees_behind(LEFT_BYTES / 6); }

static void batches_behind_work(void) {
    int gate[2];
    ferrum_stream stream = hold(gate, LEFT_BYTES);
    uint64_t left = live, step = FERRUM_BATCH_MAX;
    for (uint64_t i = 0; i < live; i += step) {
        uint64_t count = live - i < step ? live - i : step;
        if (freed_or_full(
                ferrum_pool_free_batch(pool, blocks + i, count, stream)))
            left -= count;
    }
    let_go(gate, stream, left);
}

/* The bound in the header, and memory that is freed behind a full queue. */
static void queue(void) {
    int gate[2];
    ferrum_stream stream;
    ferrum_address block;
    EXPECT(pipe(gate) == 0);
    EXPECT(ferrum_init(NULL) == FERRUM_OK);
    EXPECT(ferrum_device_open("cpu:0", &host) == FERRUM_OK);
    EXPECT(ferrum_pool_create(host, NULL, &pool) == FERRUM_OK);
    EXPECT(ferrum_stream_create(host, &stream) == FERRUM_OK);
    EXPECT(ferrum_pool_alloc(pool, 1 << 22, stream, &block) == FERRUM_OK);
    EXPECT(ferrum_stream_host_function(stream, wait_for, gate) == FERRUM_OK);
    leave(QUEUE_BYTES);
    ferrum_status last = FERRUM_OK;
    uint64_t queued = 0;
    for (; queued < 2000000 && last == FERRUM_OK; queued++)
        last = ferrum_stream_host_function(stream, nothing, NULL);
    EXPECT(last == FERRUM_ERROR_RESOURCE_EXHAUSTED);
    EXPECT(queued - 1 == 1048576 || queued - 1 == 1048575);
    ferrum_event event;
    EXPECT(ferrum_event_record(stream, &event) == FERRUM_OK);
    EXPECT(ferrum_pool_free(pool, block, stream) == FERRUM_OK);
    EXPECT(write(gate[1], "x", 1) == 1);
    EXPECT(ferrum_stream_synchronize(stream, FERRUM_WAIT_FOREVER) == FERRUM_OK);
    EXPECT(ferrum_stream_host_function(stream, nothing, NULL) == FERRUM_OK);
    EXPECT(ferrum_shutdown(FERRUM_FORCE) == FERRUM_OK);
}

int main(int argc, char **argv) {
    static const alone_check checks[] = {
        {"reports_of_cached_blocks", cached_reports, NULL, NULL},
        {"reports_of_slabs", slab_reports, NULL, NULL},
        {"reports_of_tracked_blocks", tracked_reports, NULL, NULL},
        {"reset", reset, NULL, NULL},
        {"destroy_by_force", destroy, NULL, NULL},
        {"close_by_force", close_device, NULL, NULL},
        {"shutdown_by_force", stop, NULL, NULL},
        {"reset_behind_work", reset_behind_work, NULL, NULL},
        {"reset_behind_work_in_little", reset_behind_work_in_little, NULL,
         NULL},
        {"destroy_behind_work", destroy_behind_work, NULL, NULL},
        {"frees_behind_work", frees_behind_work, NULL, NULL},
        {"frees_behind_work_in_little", frees_behind_work_in_little, NULL,
         NULL},
        {"batches_behind_work", batches_behind_work, NULL, NULL},
        {"a_full_queue", queue, NULL, NULL},
    };
    if (getenv("SOAK") != NULL)
        live = BLOCKS_MOST;
    return alone_main(argc, argv, checks, sizeof checks / sizeof *checks);
}
