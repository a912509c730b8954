/*
 * The header's promises about virtual pools. Each test starts with one live
 * object of every kind and ends with a clean stop of the library, which fails
 * if anything is left.
 */
#include "each.h"
#include "requests.h"

#include <errno.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAGE FIXTURE_PAGE

static ferrum_vpool make(uint64_t capacity, uint64_t limit,
                         uint32_t ready_pages) {
    ferrum_vpool_config config = FERRUM_VPOOL_CONFIG_INIT;
    config.capacity_bytes = capacity;
    config.limit_bytes = limit;
    config.page_bytes = PAGE;
    config.ready_pages = ready_pages;
    config.name = "made";
    ferrum_vpool vpool;
    assert_ok(ferrum_vpool_create(f.device, &config, &vpool));
    return vpool;
}
static ferrum_vpool_info info_of(ferrum_vpool vpool) {
    ferrum_vpool_info info = FERRUM_VPOOL_INFO_INIT;
    assert_ok(ferrum_vpool_get_info(vpool, &info));
    assert_int_equal(info.physical_bytes,
                     (info.mapped_pages + info.retiring_pages) *
                         info.page_bytes);
    assert_true(info.peak_physical_bytes >= info.physical_bytes);
    return info;
}
static unsigned char *take(ferrum_vpool vpool, uint64_t offset, uint64_t size) {
    ferrum_address address;
    assert_ok(ferrum_vpool_alloc(vpool, offset, size, &address));
    assert_int_equal(address, info_of(vpool).base_address + offset);
    return (unsigned char *)(uintptr_t)address;
}
static int mapped(ferrum_vpool vpool, uint64_t offset, uint64_t size) {
    uint32_t is = 7;
    assert_ok(ferrum_vpool_is_mapped(vpool, offset, size, &is));
    return (int)is;
}

/* --------------------------------------------- allocating and freeing a range */

static void test_page_sizes(void **state) {
    (void)state;
    ferrum_page_sizes sizes = FERRUM_PAGE_SIZES_INIT;
    assert_ok(ferrum_device_get_page_sizes(f.device, &sizes));
    assert_true(sizes.minimum_bytes >= 64 * KIB);
    assert_true(sizes.recommended_bytes >= sizes.minimum_bytes);
    assert_int_equal(sizes.recommended_bytes & (sizes.recommended_bytes - 1),
                     0);
    ferrum_device_info device = FERRUM_DEVICE_INFO_INIT;
    assert_ok(ferrum_device_get_info(f.device, &device));
    assert_true(device.capabilities & FERRUM_CAPABILITY_VIRTUAL_MEMORY);
    /* 0 means the recommended size. The capacity is rounded up to it. */
    ferrum_vpool_config config = FERRUM_VPOOL_CONFIG_INIT;
    config.capacity_bytes = 1;
    ferrum_vpool vpool;
    assert_ok(ferrum_vpool_create(f.device, &config, &vpool));
    ferrum_vpool_info info = info_of(vpool);
    assert_int_equal(info.page_bytes, sizes.recommended_bytes);
    assert_int_equal(info.virtual_capacity_bytes, sizes.recommended_bytes);
    assert_int_equal(info.limit_bytes, device.total_bytes);
    assert_ok(ferrum_vpool_destroy(vpool, 0));
    /* On the host: 128 GiB in pages of 2 MiB, with 256 MiB of memory. */
    assert_int_equal(sizes.recommended_bytes, 2 * MIB);
    config.capacity_bytes = 128 * GIB;
    assert_ok(ferrum_vpool_create(f.device, &config, &vpool));
    take(vpool, 128 * GIB - 1, 1)[0] = 1;
    assert_int_equal(info_of(vpool).physical_bytes, 2 * MIB);
    assert_ok(ferrum_vpool_destroy(vpool, FERRUM_FORCE));
}

static void test_a_new_pool_holds_no_memory(void **state) {
    (void)state;
    ferrum_memory_info before = FERRUM_MEMORY_INFO_INIT;
    ferrum_memory_info after = FERRUM_MEMORY_INFO_INIT;
    assert_ok(ferrum_device_get_memory_info(f.device, &before));
    /* Rounded up to whole pages, and aligned to a page. */
    ferrum_vpool vpool = make((UINT64_C(1) << 40) - PAGE + 1, 0, 0);
    ferrum_vpool_info info = info_of(vpool);
    assert_int_equal(info.base_address % PAGE, 0);
    assert_int_equal(info.virtual_capacity_bytes, UINT64_C(1) << 40);
    assert_int_equal(info.physical_bytes + info.held_bytes, 0);
    assert_true(info.unmapped_share == 1);
    assert_true(info.fragmentation == 0);
    assert_ok(ferrum_device_get_memory_info(f.device, &after));
    assert_int_equal(after.used_bytes, before.used_bytes);
    /* The far end can be used like the start. */
    unsigned char *end = take(vpool, (UINT64_C(1) << 40) - 10, 10);
    memset(end, 1, 10);
    assert_int_equal(info_of(vpool).physical_bytes, PAGE);
    assert_ok(ferrum_vpool_destroy(vpool, FERRUM_FORCE));
    /* The device is checked first, then the page size. */
    ferrum_vpool_config wrong = FERRUM_VPOOL_CONFIG_INIT;
    wrong.page_bytes = 3;
    assert_status(
        ferrum_vpool_create((ferrum_device){f.dead[DEVICE]}, &wrong, &vpool),
        FERRUM_ERROR_INVALID_HANDLE);
    assert_status(ferrum_vpool_create(f.device, &wrong, &vpool),
                  FERRUM_ERROR_INVALID_PAGE_SIZE);
}

static void test_ranges(void **state) {
    (void)state;
    ferrum_vpool vpool = make(16 * MIB, 8 * MIB, 0);
    /* An offset inside a page: both pages are mapped. */
    unsigned char *block = take(vpool, PAGE - 100, 200);
    for (int i = 0; i < 200; i++)
        assert_int_equal(block[i], 0);
    memset(block, 0xab, 200);
    for (int i = 0; i < 200; i++)
        assert_int_equal(block[i], 0xab);
    assert_true(mapped(vpool, 0, 2 * PAGE));
    assert_false(mapped(vpool, 0, 2 * PAGE + 1));
    assert_false(mapped(vpool, 2 * PAGE, 1));
    assert_false(mapped(vpool, 0, 0));
    assert_false(mapped(vpool, UINT64_MAX, 2));
    ferrum_vpool_info info = info_of(vpool);
    assert_int_equal(info.mapped_pages, 2);
    assert_int_equal(info.physical_bytes, 2 * PAGE);
    assert_int_equal(info.requested_bytes, 200);
    assert_int_equal(info.available_bytes, 8 * MIB - 2 * PAGE);
    assert_int_equal(info.allocations, 1);
    assert_true(info.unmapped_share == 1 - 2.0f / 256);
    assert_int_equal(info.largest_free_run_bytes, 254 * PAGE);
    /* All or nothing: the second page of this range is already mapped. */
    ferrum_address address = 1;
    assert_status(ferrum_vpool_alloc(vpool, PAGE, 5 * PAGE, &address),
                  FERRUM_ERROR_ALREADY_MAPPED);
    assert_int_equal(address, 0);
    assert_status(ferrum_vpool_alloc(vpool, 16 * MIB - 1, 2, &address),
                  FERRUM_ERROR_INVALID_OFFSET);
    assert_status(ferrum_vpool_alloc(vpool, 1, UINT64_MAX, &address),
                  FERRUM_ERROR_INVALID_OFFSET);
    assert_int_equal(info_of(vpool).mapped_pages, 2);
    /* Two free runs. */
    take(vpool, 128 * PAGE, PAGE);
    info = info_of(vpool);
    assert_int_equal(info.largest_free_run_bytes, 127 * PAGE);
    assert_true(info.fragmentation == (float)(1 - 127.0 / 253));
    /* Freed by its own offset and size. Then whole pages of two allocations
     * are freed. */
    assert_ok(ferrum_vpool_free(vpool, PAGE - 100, 200, default_stream));
    assert_false(mapped(vpool, 0, 1));
    take(vpool, 129 * PAGE, PAGE);
    assert_ok(ferrum_vpool_free(vpool, 128 * PAGE, 2 * PAGE, default_stream));
    info = info_of(vpool);
    assert_int_equal(info.mapped_pages, 0);
    assert_int_equal(info.requested_bytes, 0);
    assert_int_equal(info.peak_physical_bytes, 3 * PAGE);
    assert_ok(ferrum_vpool_destroy(vpool, 0));
}

static void test_a_part_of_a_range_is_freed(void **state) {
    (void)state;
    ferrum_vpool vpool = make(16 * MIB, 0, 0);
    unsigned char *block = take(vpool, 0, 4 * PAGE);
    memset(block, 7, 4 * PAGE);
    assert_ok(ferrum_vpool_free(vpool, PAGE, PAGE, default_stream));
    assert_int_equal(block[0] + block[2 * PAGE] + block[4 * PAGE - 1], 21);
    assert_status(ferrum_vpool_free(vpool, 0, 4 * PAGE, default_stream),
                  FERRUM_ERROR_NOT_MAPPED);
    assert_message("offset 65536, page size 65536");
    /* A range outside, and bytes that are not one allocation: nothing
     * changes. */
    assert_status(ferrum_vpool_free(vpool, 0, 16 * MIB + PAGE, default_stream),
                  FERRUM_ERROR_INVALID_OFFSET);
    assert_status(ferrum_vpool_free(vpool, UINT64_MAX - PAGE + 1, 2 * PAGE,
                                    default_stream),
                  FERRUM_ERROR_INVALID_OFFSET);
    assert_status(ferrum_vpool_free(vpool, 0, 1, default_stream),
                  FERRUM_ERROR_INVALID_OFFSET);
    assert_int_equal(info_of(vpool).mapped_pages, 3);
    assert_int_equal(block[0] + block[2 * PAGE] + block[4 * PAGE - 1], 21);
    ferrum_block_info owner = FERRUM_BLOCK_INFO_INIT;
    assert_ok(ferrum_device_get_owner(
        f.device, (ferrum_address)(uintptr_t)block + 3 * PAGE, &owner));
    assert_int_equal(owner.size_bytes, 2 * PAGE);
    assert_int_equal(owner.address,
                     (ferrum_address)(uintptr_t)block + 2 * PAGE);
    assert_int_equal(owner.requested_bytes, 2 * PAGE);
    assert_true(owner.age_ns > 0);
    take(vpool, PAGE, PAGE);
    assert_ok(ferrum_vpool_free(vpool, 0, 4 * PAGE, default_stream));
    assert_ok(ferrum_vpool_destroy(vpool, 0));
}

/* ----------------------------------------------------------------- with streams */

static void test_a_free_waits_for_its_stream(void **state) {
    (void)state;
    ferrum_vpool vpool = make(16 * MIB, 4 * PAGE, 0);
    unsigned char *block = take(vpool, 0, 2 * PAGE);
    gate g = GATE;
    assert_ok(ferrum_stream_host_function(f.stream, gate_wait, &g));
    assert_ok(ferrum_vpool_free(vpool, 0, 2 * PAGE, f.stream));
    ferrum_vpool_info info = info_of(vpool);
    assert_int_equal(info.mapped_pages, 0);
    assert_int_equal(info.retiring_pages, 2);
    assert_int_equal(info.physical_bytes, 2 * PAGE);
    /* The queued work may still use the range. */
    memset(block, 1, 2 * PAGE);
    ferrum_block_info owner = FERRUM_BLOCK_INFO_INIT;
    assert_ok(ferrum_device_get_owner(
        f.device, (ferrum_address)(uintptr_t)block, &owner));
    assert_int_equal(owner.state, FERRUM_BLOCK_IN_FLIGHT);
    assert_int_equal(owner.age_ns, 0);
    assert_status(ferrum_vpool_synchronize(vpool, 0), FERRUM_ERROR_TIMEOUT);
    assert_status(ferrum_vpool_synchronize(vpool, 1000000),
                  FERRUM_ERROR_TIMEOUT);
    /* Other ranges can be allocated, within the limit. */
    take(vpool, 8 * PAGE, 2 * PAGE);
    ferrum_address address;
    assert_status(ferrum_vpool_alloc(vpool, 12 * PAGE, PAGE, &address),
                  FERRUM_ERROR_OUT_OF_PHYSICAL_MEMORY);
    assert_message("requested 64 KiB, available 0 bytes");
    gate_open(&g);
    assert_ok(ferrum_vpool_synchronize(vpool, FERRUM_WAIT_FOREVER));
    assert_int_equal(info_of(vpool).retiring_pages, 0);
    take(vpool, 0, 2 * PAGE);
    assert_ok(ferrum_vpool_destroy(vpool, FERRUM_FORCE));
}

typedef struct {
    ferrum_vpool vpool;
    ferrum_status destroy, synchronize, allocate;
} inside;

static void call_inside(void *data) {
    inside *i = data;
    ferrum_address address;
    i->destroy = ferrum_vpool_destroy(i->vpool, FERRUM_FORCE);
    i->synchronize = ferrum_vpool_synchronize(i->vpool, FERRUM_WAIT_FOREVER);
    /* The pages retire until this host function has ended. */
    i->allocate = ferrum_vpool_alloc(i->vpool, 0, PAGE, &address);
}

static void test_inside_a_host_function(void **state) {
    (void)state;
    inside i = {make(MIB, 0, 0), 1, 1, 1};
    take(i.vpool, 0, PAGE);
    gate g = GATE;
    assert_ok(ferrum_stream_host_function(f.stream, gate_wait, &g));
    assert_ok(ferrum_stream_host_function(f.stream, call_inside, &i));
    assert_ok(ferrum_vpool_free(i.vpool, 0, PAGE, f.stream));
    gate_open(&g);
    assert_ok(ferrum_stream_synchronize(f.stream, FERRUM_WAIT_FOREVER));
    assert_status(i.destroy, FERRUM_ERROR_INVALID_STATE);
    assert_status(i.synchronize, FERRUM_ERROR_INVALID_STATE);
    assert_status(i.allocate, FERRUM_ERROR_BUSY);
    assert_ok(ferrum_vpool_destroy(i.vpool, 0));
}

/* ------------------------------------------------------- limits and recycling */

static void test_limits_can_change(void **state) {
    (void)state;
    ferrum_vpool vpool = make(16 * MIB, 4 * PAGE, 0);
    take(vpool, 0, 4 * PAGE);
    ferrum_address address;
    assert_status(ferrum_vpool_alloc(vpool, 4 * PAGE, PAGE, &address),
                  FERRUM_ERROR_OUT_OF_PHYSICAL_MEMORY);
    assert_message("requested 64 KiB, available 0 bytes");
    assert_ok(ferrum_vpool_set_limit(vpool, 5 * PAGE));
    take(vpool, 4 * PAGE, PAGE);
    /* Mapped pages stay. */
    assert_ok(ferrum_vpool_set_limit(vpool, PAGE));
    ferrum_vpool_info info = info_of(vpool);
    assert_int_equal(info.limit_bytes, PAGE);
    assert_int_equal(info.mapped_pages, 5);
    assert_int_equal(info.available_bytes, 0);
    assert_status(ferrum_vpool_alloc(vpool, 6 * PAGE, PAGE, &address),
                  FERRUM_ERROR_OUT_OF_PHYSICAL_MEMORY);
    assert_ok(ferrum_vpool_set_limit(vpool, 0));
    assert_int_equal(info_of(vpool).limit_bytes, 256 * MIB);
    assert_ok(ferrum_vpool_free(vpool, 0, 5 * PAGE, default_stream));
    assert_ok(ferrum_vpool_destroy(vpool, 0));
}

static void test_pages_are_reused_and_released(void **state) {
    (void)state;
    ferrum_vpool vpool = make(16 * MIB, 0, 0);
    assert_ok(ferrum_vpool_pause(vpool));
    take(vpool, 0, 8 * PAGE);
    assert_int_equal(info_of(vpool).held_bytes, 8 * PAGE);
    assert_ok(ferrum_vpool_free(vpool, 0, 8 * PAGE, default_stream));
    ferrum_vpool_info info = info_of(vpool);
    assert_int_equal(info.parked_pages + info.ready_pages, 8);
    /* Another range gets the same pages. */
    take(vpool, 100 * PAGE, 8 * PAGE);
    assert_int_equal(info_of(vpool).held_bytes, 8 * PAGE);
    assert_ok(ferrum_vpool_free(vpool, 100 * PAGE, 8 * PAGE, default_stream));
    uint64_t released = 0;
    assert_ok(ferrum_vpool_trim(vpool, 3 * PAGE, &released));
    assert_int_equal(released, 5 * PAGE);
    take(vpool, 50 * PAGE, 2 * PAGE);
    ferrum_compact_report report = FERRUM_COMPACT_REPORT_INIT;
    assert_ok(ferrum_vpool_compact(vpool, &report));
    assert_int_equal(report.released_bytes, PAGE);
    assert_true(report.runs_after <= report.runs_before);
    info = info_of(vpool);
    assert_int_equal(info.parked_pages, 0);
    assert_int_equal(info.held_bytes, 2 * PAGE);
    assert_ok(ferrum_vpool_resume(vpool));
    assert_ok(ferrum_vpool_free(vpool, 50 * PAGE, 2 * PAGE, default_stream));
    assert_ok(ferrum_vpool_destroy(vpool, 0));
}

/* --------------------------------------------------------------------- counters */

static void test_counters_of_ranges(void **state) {
    (void)state;
    ferrum_statistics before = FERRUM_STATISTICS_INIT;
    ferrum_statistics after = FERRUM_STATISTICS_INIT;
    assert_ok(ferrum_device_get_statistics(f.device, &before));
    ferrum_vpool vpool = make(16 * MIB, 0, 0);
    ferrum_address address;
    assert_ok(vpool_alloc_tagged(vpool, 0, PAGE + 1, "weights", &address));
    ferrum_address plain;
    assert_ok(vpool_alloc_tagged(vpool, 4 * PAGE, PAGE, NULL, &plain));
    assert_ok(ferrum_device_get_statistics(f.device, &after));
    assert_int_equal(after.requested.current - before.requested.current,
                     2 * PAGE + 1);
    assert_int_equal(after.active.current - before.active.current, 3 * PAGE);
    assert_int_equal(after.live_blocks.current - before.live_blocks.current, 2);
    ferrum_statistics own = FERRUM_STATISTICS_INIT;
    assert_ok(ferrum_vpool_get_statistics(vpool, &own));
    assert_int_equal(own.live_blocks.current, 2);
    assert_int_equal(own.reserved.current,
                     own.active.current + own.cached.current);
    char *text = text_of(ferrum_snapshot_json);
    assert_non_null(strstr(text, "{\"name\":\"elastic\",\"statistics\""));
    assert_non_null(strstr(text, "{\"name\":\"made\",\"statistics\""));
    assert_non_null(strstr(text, "\"unmapped_share\""));
    assert_non_null(strstr(text,
                           "{\"tag\":\"weights\",\"requested_bytes\":65537,"
                           "\"allocated_bytes\":131072,\"blocks\":1}"));
    free(text);
    text = text_of(ferrum_leak_report_json);
    assert_non_null(strstr(text, "\"kind\":\"vpool\""));
    assert_non_null(strstr(text, "\"bytes\":65537,\"tag\":\"weights\""));
    assert_non_null(strstr(text, "\"bytes\":65536,\"tag\":\"made\""));
    free(text);
    ferrum_block_info owner = FERRUM_BLOCK_INFO_INIT;
    assert_ok(ferrum_device_get_owner(f.device, address + PAGE + 5, &owner));
    assert_int_equal(owner.state, FERRUM_BLOCK_LIVE);
    assert_int_equal(owner.vpool.id, vpool.id);
    assert_int_equal(owner.pool.id | owner.manager, 0);
    assert_int_equal(owner.address, address);
    assert_int_equal(owner.size_bytes, 2 * PAGE);
    assert_int_equal(owner.requested_bytes, PAGE + 1);
    assert_string_equal(owner.tag, "weights");
    assert_string_equal(owner.pool_name, "made");
    assert_ok(ferrum_device_get_owner(f.device, address + 9 * PAGE, &owner));
    assert_int_equal(owner.state, FERRUM_BLOCK_FREE);
    assert_int_equal(owner.address, address + 9 * PAGE);
    assert_ok(ferrum_vpool_free(vpool, 0, PAGE + 1, default_stream));
    assert_ok(ferrum_device_get_owner(f.device, address, &owner));
    assert_int_equal(owner.state, FERRUM_BLOCK_CACHED);
    assert_int_equal(owner.size_bytes, PAGE);
    assert_string_equal(owner.tag, "");
    assert_ok(ferrum_vpool_destroy(vpool, FERRUM_FORCE));
    assert_status(ferrum_device_get_owner(f.device, address, &owner),
                  FERRUM_ERROR_NOT_FOUND);
}

/* ------------------------------------------------------------- end of a pool */

static void test_memory_is_released_with_the_pool(void **state) {
    (void)state;
    ferrum_vpool vpool = make(16 * MIB, 0, 4);
    take(vpool, 0, PAGE);
    assert_status(ferrum_vpool_destroy(vpool, 0), FERRUM_ERROR_BUSY);
    assert_message("1 allocation of 1 page");
    assert_true(mapped(vpool, 0, PAGE));
    gate g = GATE;
    assert_ok(ferrum_stream_host_function(f.stream, gate_wait, &g));
    assert_ok(ferrum_vpool_free(vpool, 0, PAGE, f.stream));
    gate_open(&g);
    /* The call waits for the work behind the retiring range. */
    assert_ok(ferrum_vpool_destroy(vpool, 0));
    assert_status(ferrum_vpool_pause(vpool), FERRUM_ERROR_INVALID_HANDLE);
    /* The memory of mapped pages is released with the pool. */
    ferrum_memory_info before = FERRUM_MEMORY_INFO_INIT;
    ferrum_memory_info after = FERRUM_MEMORY_INFO_INIT;
    assert_ok(ferrum_device_get_memory_info(f.device, &before));
    vpool = make(16 * MIB, 0, 0);
    memset(take(vpool, 0, 16 * MIB), 1, 16 * MIB);
    assert_ok(ferrum_device_get_memory_info(f.device, &after));
    assert_int_equal(after.used_bytes, before.used_bytes + 16 * MIB);
    assert_ok(ferrum_vpool_destroy(vpool, FERRUM_FORCE));
    assert_ok(ferrum_device_get_memory_info(f.device, &after));
    assert_int_equal(after.used_bytes, before.used_bytes);
}

static void test_shutdown_by_force(void **state) {
    (void)state;
    ferrum_vpool vpool = make(16 * MIB, 0, 0);
    take(vpool, 0, PAGE);
    assert_status(ferrum_device_close(f.device, 0), FERRUM_ERROR_BUSY);
    assert_message("2 virtual pools");
    assert_ok(ferrum_shutdown(FERRUM_FORCE));
    char *text = text_of(ferrum_leak_report_json);
    assert_non_null(strstr(text, "\"kind\":\"range\""));
    free(text);
    assert_status(ferrum_vpool_pause(vpool), FERRUM_ERROR_NOT_INITIALIZED);
    fixture_make(&f);
    assert_status(ferrum_vpool_pause(vpool), FERRUM_ERROR_INVALID_HANDLE);
}

static void test_in_a_forked_child(void **state) {
    (void)state;
    unsigned char *range = (unsigned char *)(uintptr_t)f.range;
    memset(range, 5, FIXTURE_RANGE);
    ferrum_vpool_config config = FERRUM_VPOOL_CONFIG_INIT;
    config.capacity_bytes = MIB;
    config.page_bytes = PAGE;
    config.backing = FERRUM_BACKING_PRIVATE;
    ferrum_vpool vpool;
    assert_ok(ferrum_vpool_create(f.device, &config, &vpool));
    unsigned char *own = take(vpool, 0, PAGE);
    memset(own, 7, PAGE);
    int to_child[2], seen[2];
    assert_int_equal(pipe(to_child) + pipe(seen), 0);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        ferrum_address address;
        char go_on;
        ferrum_status status =
            ferrum_vpool_alloc(f.vpool, 8 * PAGE, 1, &address);
        if (status != FERRUM_ERROR_FORKED || read(to_child[0], &go_on, 1) != 1)
            _exit(1);
        /* The system reports which pages exist, without ending the process. */
        if (write(seen[1], range, 1) != -1 || errno != EFAULT)
            _exit(2);
        if (write(seen[1], own, 1) != 1)
            _exit(3);
        memset(own, 9, PAGE);
        _exit(0);
    }
    memset(own, 8, PAGE);
    assert_int_equal(write(to_child[1], "x", 1), 1);
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    unsigned char found = 0;
    assert_int_equal(read(seen[0], &found, 1), 1);
    assert_int_equal(found, 7);
    assert_int_equal(own[0] + own[PAGE - 1], 16);
    assert_int_equal(range[FIXTURE_RANGE - 1], 5);
    for (int i = 0; i < 2; i++) {
        close(to_child[i]);
        close(seen[i]);
    }
    assert_ok(ferrum_vpool_destroy(vpool, FERRUM_FORCE));
}

static void test_ranges_in_batches(void **state) {
    (void)state;
    ferrum_vpool vpool = make(64 * PAGE, 8 * PAGE, 0);
    unsigned char *base =
        (unsigned char *)(uintptr_t)info_of(vpool).base_address;
    ferrum_byte_range ranges[] = {
        {40 * PAGE, PAGE}, {0, 2 * PAGE}, {2 * PAGE + 8, PAGE / 2}};
    assert_ok(ferrum_vpool_alloc_batch(vpool, ranges, 0, NULL));
    assert_ok(ferrum_vpool_alloc_batch(vpool, ranges, 3, NULL));
    for (int i = 0; i < 3; i++)
        memset(base + ranges[i].offset_bytes, 7, ranges[i].size_bytes);
    assert_int_equal(info_of(vpool).mapped_pages, 4);
    assert_int_equal(info_of(vpool).allocations, 3);
    assert_int_equal(info_of(vpool).requested_bytes, 3 * PAGE + PAGE / 2);

    /* All or nothing, and the error names the range. */
    ferrum_byte_range more[] = {{8 * PAGE, PAGE}, {10 * PAGE, 2 * PAGE}};
    more[1].offset_bytes = 39 * PAGE;
    assert_status(ferrum_vpool_alloc_batch(vpool, more, 2, NULL),
                  FERRUM_ERROR_ALREADY_MAPPED);
    assert_message("ranges[1]: page at offset");
    more[1] = (ferrum_byte_range){8 * PAGE + 1, 1};
    assert_status(ferrum_vpool_alloc_batch(vpool, more, 2, NULL),
                  FERRUM_ERROR_INVALID_OFFSET);
    assert_message("ranges[1]: ");
    assert_message("in common with ranges[0]");
    more[1] = (ferrum_byte_range){64 * PAGE, 1};
    assert_status(ferrum_vpool_alloc_batch(vpool, more, 2, NULL),
                  FERRUM_ERROR_INVALID_OFFSET);
    more[1] = (ferrum_byte_range){10 * PAGE, 0};
    assert_status(ferrum_vpool_alloc_batch(vpool, more, 2, NULL),
                  FERRUM_ERROR_INVALID_SIZE);
    assert_message("ranges[1]: ");
    more[1] = (ferrum_byte_range){10 * PAGE, 4 * PAGE};
    assert_status(ferrum_vpool_alloc_batch(vpool, more, 2, NULL),
                  FERRUM_ERROR_OUT_OF_PHYSICAL_MEMORY);
    assert_status(
        ferrum_vpool_alloc_batch(vpool, more, FERRUM_BATCH_MAX + 1, NULL),
        FERRUM_ERROR_INVALID_ARGUMENT);
    assert_int_equal(mapped(vpool, 8 * PAGE, 1), 0);
    assert_int_equal(info_of(vpool).mapped_pages, 4);

    /* Each range of the batch can be freed on its own, so another list may
     * contain some of them. */
    ferrum_byte_range freed[] = {ranges[2], {PAGE, PAGE}, ranges[1]};
    assert_status(ferrum_vpool_free_batch(vpool, freed, 3, default_stream),
                  FERRUM_ERROR_INVALID_OFFSET);
    freed[2] = (ferrum_byte_range){50 * PAGE, PAGE};
    assert_status(ferrum_vpool_free_batch(vpool, freed, 3, default_stream),
                  FERRUM_ERROR_NOT_MAPPED);
    assert_message("ranges[2]: page at offset");
    assert_int_equal(info_of(vpool).mapped_pages, 4);
    assert_ok(ferrum_vpool_free_batch(vpool, freed, 2, default_stream));
    assert_int_equal(info_of(vpool).mapped_pages, 2);
    assert_ok(ferrum_vpool_free(vpool, 40 * PAGE, PAGE, default_stream));

    /* One tag and one stream apply to all ranges of a batch. */
    ferrum_batch_options options = FERRUM_BATCH_OPTIONS_INIT;
    options.tag = "kv";
    options.stream = f.stream;
    assert_ok(ferrum_vpool_alloc_batch(vpool, more, 1, &options));
    assert_ok(ferrum_vpool_free_batch(vpool, more, 1, f.stream));
    assert_ok(ferrum_vpool_destroy(vpool, FERRUM_FORCE));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_page_sizes),
        TEST(test_a_new_pool_holds_no_memory),
        TEST(test_ranges),
        TEST(test_a_part_of_a_range_is_freed),
        TEST(test_ranges_in_batches),
        TEST(test_a_free_waits_for_its_stream),
        TEST(test_inside_a_host_function),
        TEST(test_limits_can_change),
        TEST(test_pages_are_reused_and_released),
        TEST(test_counters_of_ranges),
        TEST(test_memory_is_released_with_the_pool),
        TEST(test_shutdown_by_force),
        TEST(test_in_a_forked_child),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
