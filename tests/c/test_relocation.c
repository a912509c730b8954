/*
 * The header's promises about blocks that may move, about pins, and about the
 * report of a defragmentation. Each test starts with one live object of every
 * kind and ends with a clean stop of the library, which fails if anything is
 * left.
 */
#include "each.h"

#include <stdio.h>

#define PAGE (64 * KIB)
#define BLOCK (4 * KIB)
#define BLOCKS 64

/* Every fourth of 64 blocks of 4 KiB is left, in four pages or segments of
 * 64 KiB. */
typedef struct {
    ferrum_manager manager;
    ferrum_memory left[BLOCKS / 4];
} scattered;

static scattered scatter(ferrum_paging paging, uint32_t flags) {
    ferrum_pool_config pool = FERRUM_POOL_CONFIG_INIT;
    pool.initial_size_bytes = pool.growth_increment_bytes = PAGE;
    pool.paging = paging;
    pool.physical_page_bytes = PAGE;
    pool.ready_pages = FERRUM_READY_PAGES_ALL;
    ferrum_manager_config config = FERRUM_MANAGER_CONFIG_INIT;
    config.pool_configs[FERRUM_MEMORY_GENERAL] = &pool;
    scattered s;
    assert_ok(ferrum_manager_create(f.device, &config, &s.manager));
    ferrum_memory all[BLOCKS];
    for (int i = 0; i < BLOCKS; i++) {
        ferrum_allocation_request request = FERRUM_ALLOCATION_REQUEST_INIT;
        request.size_bytes = BLOCK;
        request.flags = flags;
        assert_ok(ferrum_manager_alloc_with(s.manager, &request, &all[i]));
    }
    for (int i = 0; i < BLOCKS; i++) {
        char bytes[BLOCK];
        memset(bytes, i + 1, sizeof bytes);
        if (i % 4 != 0) {
            assert_ok(ferrum_memory_free(all[i]));
            continue;
        }
        s.left[i / 4] = all[i];
        assert_ok(ferrum_memory_write(all[i], 0, bytes, sizeof bytes));
    }
    return s;
}

static void assert_bytes(const scattered *s) {
    for (int i = 0; i < BLOCKS / 4; i++) {
        char bytes[BLOCK], want[BLOCK];
        memset(want, 4 * i + 1, sizeof want);
        assert_ok(ferrum_memory_read(s->left[i], 0, bytes, sizeof bytes));
        assert_memory_equal(bytes, want, sizeof bytes);
    }
}

static ferrum_handle_info info_of(ferrum_memory memory) {
    ferrum_handle_info info = FERRUM_HANDLE_INFO_INIT;
    assert_ok(ferrum_memory_get_handle_info(memory, &info));
    return info;
}

static ferrum_defragmentation_stats defragment(const scattered *s,
                                               uint64_t budget_ns) {
    ferrum_defragmentation_stats stats = FERRUM_DEFRAGMENTATION_STATS_INIT;
    assert_ok(ferrum_manager_defragment_within(s->manager, budget_ns, &stats));
    assert_int_equal(stats.blocks_skipped,
                     stats.skipped_not_relocatable + stats.skipped_debugged +
                         stats.skipped_pinned + stats.skipped_in_use +
                         stats.skipped_no_room + stats.skipped_over_budget +
                         stats.skipped_mapped);
    assert_int_equal(stats.blocks_moved + stats.blocks_skipped +
                         stats.blocks_kept,
                     BLOCKS / 4);
    assert_true(stats.time_taken_ns > 0);
    return stats;
}

static void moves(ferrum_paging paging) {
    scattered s = scatter(paging, FERRUM_ALLOCATE_RELOCATABLE);
    assert_int_equal(info_of(s.left[0]).is_relocatable, 1);
    ferrum_defragmentation_stats stats = defragment(&s, FERRUM_WAIT_FOREVER);
    assert_int_equal(stats.blocks_moved, 12);
    assert_int_equal(stats.bytes_moved, 12 * BLOCK);
    assert_int_equal(stats.memory_freed_bytes, 3 * PAGE);
    int over_pages = paging == FERRUM_PAGING_ON;
    assert_int_equal(stats.pages_emptied, over_pages ? 3 : 0);
    assert_int_equal(stats.segments_emptied, over_pages ? 0 : 3);
    assert_int_equal(stats.budget_ended, 0);
    assert_int_equal(stats.blocks_skipped, 0);
    assert_int_equal(stats.blocks_kept, 4);
    assert_bytes(&s);
    ferrum_statistics books = FERRUM_STATISTICS_INIT;
    assert_ok(ferrum_manager_get_statistics(s.manager, &books));
    assert_int_equal(books.reserved.current, PAGE);
    assert_int_equal(books.live_blocks.current, BLOCKS / 4);
    assert_int_equal(defragment(&s, FERRUM_WAIT_FOREVER).blocks_moved, 0);
    assert_ok(ferrum_manager_destroy(s.manager, FERRUM_FORCE));
}

static void test_defragmentation_frees_pages(void **state) {
    (void)state;
    moves(FERRUM_PAGING_ON);
}

static void test_defragmentation_frees_segments(void **state) {
    (void)state;
    moves(FERRUM_PAGING_OFF);
}

static void test_blocks_stay_unless_asked(void **state) {
    (void)state;
    scattered s = scatter(FERRUM_PAGING_ON, 0);
    ferrum_address before = info_of(s.left[15]).address;
    assert_int_equal(info_of(s.left[15]).is_relocatable, 0);
    assert_int_equal(
        defragment(&s, FERRUM_WAIT_FOREVER).skipped_not_relocatable, 16);
    assert_int_equal(info_of(s.left[15]).address, before);
    assert_bytes(&s);
    assert_ok(ferrum_manager_destroy(s.manager, FERRUM_FORCE));
}

static void test_pins(void **state) {
    (void)state;
    scattered s = scatter(FERRUM_PAGING_ON, FERRUM_ALLOCATE_RELOCATABLE);
    ferrum_address addresses[BLOCKS / 4], again;
    for (int i = 0; i < BLOCKS / 4; i++) {
        assert_ok(ferrum_memory_pin(s.left[i], &addresses[i]));
        assert_ok(ferrum_memory_pin(s.left[i], &again));
        assert_int_equal(again, addresses[i]);
    }
    assert_int_equal(defragment(&s, FERRUM_WAIT_FOREVER).skipped_pinned, 16);
    for (int i = 0; i < BLOCKS / 4; i++) {
        ferrum_handle_info info = info_of(s.left[i]);
        assert_int_equal(info.address, addresses[i]);
        assert_int_equal(info.pin_count, 2);
        assert_status(ferrum_memory_free(s.left[i]), FERRUM_ERROR_BUSY);
        assert_message("pinned 2 times");
        assert_ok(ferrum_memory_unpin(s.left[i]));
    }
    assert_int_equal(defragment(&s, FERRUM_WAIT_FOREVER).skipped_pinned, 16);
    for (int i = 0; i < BLOCKS / 4; i++) {
        assert_ok(ferrum_memory_unpin(s.left[i]));
        assert_status(ferrum_memory_unpin(s.left[i]),
                      FERRUM_ERROR_INVALID_STATE);
    }
    assert_int_equal(defragment(&s, FERRUM_WAIT_FOREVER).blocks_moved, 12);
    assert_bytes(&s);
    assert_ok(ferrum_memory_free(s.left[0]));
    assert_status(ferrum_memory_pin(s.left[0], &again),
                  FERRUM_ERROR_INVALID_HANDLE);
    assert_int_equal(again, 0);
    assert_status(ferrum_memory_unpin(s.left[0]), FERRUM_ERROR_INVALID_HANDLE);
    assert_ok(ferrum_memory_pin(s.left[1], &again));
    assert_status(ferrum_manager_destroy(s.manager, 0), FERRUM_ERROR_BUSY);
    assert_ok(ferrum_manager_destroy(s.manager, FERRUM_FORCE));
}

static void test_work_in_a_stream(void **state) {
    (void)state;
    scattered s = scatter(FERRUM_PAGING_ON, FERRUM_ALLOCATE_RELOCATABLE);
    gate g = GATE;
    assert_ok(ferrum_stream_host_function(f.stream, gate_wait, &g));
    ferrum_fill fill = FERRUM_FILL_INIT;
    for (int i = 0; i < BLOCKS / 4; i++) {
        fill.memory = s.left[i];
        fill.size_bytes = BLOCK;
        fill.pattern = (uint32_t)(4 * i + 1);
        assert_ok(ferrum_memory_fill_async(&fill, f.stream));
    }
    assert_int_equal(defragment(&s, FERRUM_WAIT_FOREVER).skipped_in_use, 16);
    gate_open(&g);
    assert_ok(ferrum_stream_synchronize(f.stream, FERRUM_WAIT_FOREVER));
    assert_int_equal(defragment(&s, FERRUM_WAIT_FOREVER).blocks_moved, 12);
    assert_bytes(&s);
    /* A copy into a block that has moved uses the new address. */
    ferrum_transfer transfer = FERRUM_TRANSFER_INIT;
    transfer.src = s.left[3];
    transfer.dst = s.left[15];
    transfer.size_bytes = BLOCK;
    assert_ok(ferrum_memory_copy_async(&transfer, default_stream));
    char byte;
    assert_ok(ferrum_memory_read(s.left[15], 0, &byte, 1));
    assert_int_equal(byte, 13);
    assert_ok(ferrum_manager_destroy(s.manager, FERRUM_FORCE));
}

static void test_mapped_blocks_stay(void **state) {
    (void)state;
    scattered s = scatter(FERRUM_PAGING_ON, FERRUM_ALLOCATE_RELOCATABLE);
    ferrum_mapping mappings[BLOCKS / 4];
    for (int i = 0; i < BLOCKS / 4; i++) {
        ferrum_map_request request = FERRUM_MAP_REQUEST_INIT;
        request.memory = s.left[i];
        mappings[i] = (ferrum_mapping)FERRUM_MAPPING_INIT;
        assert_ok(ferrum_memory_map(&request, &mappings[i]));
    }
    assert_int_equal(defragment(&s, FERRUM_WAIT_FOREVER).skipped_mapped, 16);
    for (int i = 0; i < BLOCKS / 4; i++) {
        assert_int_equal(*(const char *)mappings[i].host_pointer, 4 * i + 1);
        assert_ok(ferrum_memory_unmap(s.left[i], mappings[i].mapping_id));
    }
    assert_int_equal(defragment(&s, FERRUM_WAIT_FOREVER).blocks_moved, 12);
    assert_bytes(&s);
    assert_ok(ferrum_manager_destroy(s.manager, FERRUM_FORCE));
}

static void test_budget(void **state) {
    (void)state;
    scattered s = scatter(FERRUM_PAGING_ON, FERRUM_ALLOCATE_RELOCATABLE);
    ferrum_defragmentation_stats stats = defragment(&s, 0);
    assert_int_equal(stats.skipped_over_budget, 16);
    assert_int_equal(stats.budget_ended, 1);
    stats = defragment(&s, UINT64_C(3600) * 1000000000);
    assert_int_equal(stats.blocks_moved, 12);
    assert_int_equal(stats.budget_ended, 0);
    assert_bytes(&s);
    assert_ok(ferrum_manager_destroy(s.manager, FERRUM_FORCE));
}

static void test_debugged_blocks_stay(void **state) {
    (void)state;
    ferrum_manager_config config = FERRUM_MANAGER_CONFIG_INIT;
    config.enable_debug = 1;
    ferrum_manager manager;
    assert_ok(ferrum_manager_create(f.device, &config, &manager));
    ferrum_allocation_request request = FERRUM_ALLOCATION_REQUEST_INIT;
    request.size_bytes = 100;
    request.flags = FERRUM_ALLOCATE_RELOCATABLE;
    ferrum_memory memory;
    assert_ok(ferrum_manager_alloc_with(manager, &request, &memory));
    ferrum_defragmentation_stats stats = FERRUM_DEFRAGMENTATION_STATS_INIT;
    assert_ok(ferrum_manager_defragment(manager, &stats));
    assert_int_equal(stats.skipped_debugged, 1);
    assert_int_equal(stats.blocks_skipped, 1);
    assert_ok(ferrum_memory_free(memory));
    assert_ok(ferrum_manager_destroy(manager, 0));
}

/* A caller that was built before flags and reasons existed. */
static void test_callers_without_flags_and_reasons(void **state) {
    (void)state;
    struct {
        ferrum_allocation_request request;
    } old_request = {FERRUM_ALLOCATION_REQUEST_INIT};
    old_request.request.struct_size =
        (uint32_t)offsetof(ferrum_allocation_request, flags);
    old_request.request.size_bytes = 100;
    old_request.request.flags = 0xffffffff; /* the library must not read it */
    ferrum_memory memory;
    assert_ok(
        ferrum_manager_alloc_with(f.manager, &old_request.request, &memory));
    assert_int_equal(info_of(memory).is_relocatable, 0);
    ferrum_defragmentation_stats stats = FERRUM_DEFRAGMENTATION_STATS_INIT;
    memset(&stats, 0x55, sizeof stats);
    stats.struct_size =
        (uint32_t)offsetof(ferrum_defragmentation_stats, bytes_moved);
    assert_ok(ferrum_manager_defragment(f.manager, &stats));
    assert_int_equal(stats.blocks_skipped, 2);
    assert_int_equal(stats.bytes_moved, UINT64_C(0x5555555555555555));
    stats.struct_size =
        (uint32_t)offsetof(ferrum_defragmentation_stats, skipped_mapped);
    assert_ok(ferrum_manager_defragment(f.manager, &stats));
    assert_int_equal(stats.bytes_moved, 0);
    assert_int_equal(stats.skipped_mapped, UINT64_C(0x5555555555555555));
    ferrum_handle_info info = FERRUM_HANDLE_INFO_INIT;
    info.struct_size = (uint32_t)offsetof(ferrum_handle_info, is_relocatable);
    info.pin_count = 77;
    assert_ok(ferrum_memory_get_handle_info(memory, &info));
    assert_int_equal(info.size_bytes, 100);
    assert_int_equal(info.pin_count, 77);
    assert_ok(ferrum_memory_free(memory));
}

/* Threads use their blocks while another thread defragments all the time. */
typedef struct {
    scattered *s;
    int first, failed;
} user;

static void *use(void *data) {
    user *u = data;
    for (int round = 0; round < 200; round++) {
        int i = u->first + round % 2;
        char byte = (char)(4 * i + 1), back[BLOCK];
        ferrum_address address;
        u->failed |=
            ferrum_memory_read(u->s->left[i], 0, back, BLOCK) != FERRUM_OK;
        for (size_t at = 0; at < BLOCK; at++)
            u->failed |= back[at] != byte;
        u->failed |= ferrum_memory_pin(u->s->left[i], &address) != FERRUM_OK;
        /* On the host an address is a pointer, and the pin keeps it valid. */
        char *bytes = (char *)(uintptr_t)address;
        u->failed |= bytes[round] != byte;
        bytes[round] = byte;
        u->failed |= ferrum_memory_unpin(u->s->left[i]) != FERRUM_OK;
    }
    return NULL;
}

static void test_blocks_are_used_while_they_move(void **state) {
    (void)state;
    for (int round = 0; round < 20; round++) {
        scattered s = scatter(FERRUM_PAGING_ON, FERRUM_ALLOCATE_RELOCATABLE);
        pthread_t threads[8];
        user users[8];
        for (int i = 0; i < 8; i++) {
            users[i] = (user){&s, 2 * i, 0};
            assert_int_equal(pthread_create(&threads[i], NULL, use, &users[i]),
                             0);
        }
        ferrum_defragmentation_stats stats = FERRUM_DEFRAGMENTATION_STATS_INIT;
        for (int i = 0; i < 5; i++)
            assert_ok(ferrum_manager_defragment(s.manager, &stats));
        for (int i = 0; i < 8; i++) {
            assert_int_equal(pthread_join(threads[i], NULL), 0);
            assert_int_equal(users[i].failed, 0);
        }
        assert_bytes(&s);
        assert_ok(ferrum_manager_destroy(s.manager, FERRUM_FORCE));
    }
}

#define WITH_FIXTURE(test) \
    cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        WITH_FIXTURE(test_defragmentation_frees_pages),
        WITH_FIXTURE(test_defragmentation_frees_segments),
        WITH_FIXTURE(test_blocks_stay_unless_asked),
        WITH_FIXTURE(test_pins),
        WITH_FIXTURE(test_work_in_a_stream),
        WITH_FIXTURE(test_mapped_blocks_stay),
        WITH_FIXTURE(test_budget),
        WITH_FIXTURE(test_debugged_blocks_stay),
        WITH_FIXTURE(test_callers_without_flags_and_reasons),
        WITH_FIXTURE(test_blocks_are_used_while_they_move),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
