/*
 * Mappings, links, prefetching, hints, access statistics, page-locked memory,
 * and external memory and streams, on three host devices.
 */
#include "asserts.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>

typedef struct {
    ferrum_device devices[3];
    ferrum_manager managers[3];
} state;

static int begin(void **data) {
    static state s;
    ferrum_config config = FERRUM_CONFIG_INIT;
    config.host_devices = 3;
    config.host_memory_bytes = UINT64_C(384) << 20;
    assert_ok(ferrum_init(&config));
    static const char *const ids[] = {"cpu:0", "cpu:1", "cpu:2"};
    for (int i = 0; i < 3; i++) {
        assert_ok(ferrum_device_open(ids[i], &s.devices[i]));
        assert_ok(ferrum_manager_create(s.devices[i], NULL, &s.managers[i]));
    }
    *data = &s;
    return 0;
}

/* Every object must have ended by then. */
static int end(void **data) {
    state *s = *data;
    for (int i = 0; i < 3; i++) {
        assert_ok(ferrum_manager_destroy(s->managers[i], 0));
        assert_ok(ferrum_device_close(s->devices[i], 0));
    }
    assert_ok(ferrum_shutdown(0));
    return 0;
}

static ferrum_handle_info info_of(ferrum_memory memory) {
    ferrum_handle_info info = FERRUM_HANDLE_INFO_INIT;
    assert_ok(ferrum_memory_get_handle_info(memory, &info));
    return info;
}

static ferrum_mapping map_all(ferrum_memory memory, ferrum_host_access access) {
    ferrum_map_request request = FERRUM_MAP_REQUEST_INIT;
    ferrum_mapping made = FERRUM_MAPPING_INIT;
    request.memory = memory;
    request.access = access;
    assert_ok(ferrum_memory_map(&request, &made));
    return made;
}

static void a_mapping_shows_the_block(void **data) {
    state *s = *data;
    ferrum_memory block;
    char bytes[10];
    assert_ok(ferrum_manager_alloc(s->managers[0], 1000, &block));
    ferrum_mapping made = map_all(block, FERRUM_HOST_READ_WRITE);
    assert_ptr_equal(made.host_pointer, info_of(block).host_pointer);
    assert_int_equal(made.size_bytes, 1000);
    assert_int_equal(made.is_staged, 0);
    memcpy(made.host_pointer, "mapped", 7);
    assert_int_equal(info_of(block).is_mapped, 1);
    ferrum_mapping again = map_all(block, FERRUM_HOST_READ_WRITE);
    assert_int_equal(again.mapping_id, made.mapping_id);
    ferrum_mapping reader = map_all(block, FERRUM_HOST_READ_ONLY);
    assert_int_not_equal(reader.mapping_id, made.mapping_id);
    assert_string_equal(reader.host_pointer, "mapped");
    assert_status(ferrum_memory_free(block), FERRUM_ERROR_BUSY);
    assert_status(ferrum_manager_destroy(s->managers[0], 0), FERRUM_ERROR_BUSY);
    assert_ok(ferrum_memory_unmap(block, made.mapping_id));
    assert_ok(ferrum_memory_unmap(block, made.mapping_id));
    assert_status(ferrum_memory_unmap(block, made.mapping_id),
                  FERRUM_ERROR_NOT_MAPPED);
    assert_ok(ferrum_memory_unmap(block, 0));
    assert_int_equal(info_of(block).is_mapped, 0);
    assert_ok(ferrum_memory_read(block, 0, bytes, 7));
    assert_string_equal(bytes, "mapped");
    assert_ok(ferrum_memory_free(block));
    assert_status(ferrum_memory_unmap(block, 0), FERRUM_ERROR_INVALID_HANDLE);
}

/* A mapping waits for the work that is queued on the block. A
 * defragmentation does not move the block. */
static void a_mapping_waits_for_work_and_pins_its_block(void **data) {
    state *s = *data;
    ferrum_memory block;
    ferrum_allocation_request request = FERRUM_ALLOCATION_REQUEST_INIT;
    request.size_bytes = 1 << 20;
    request.flags = FERRUM_ALLOCATE_RELOCATABLE;
    assert_ok(ferrum_manager_alloc_with(s->managers[0], &request, &block));
    ferrum_stream stream;
    assert_ok(ferrum_stream_create(s->devices[0], &stream));
    ferrum_fill fill = FERRUM_FILL_INIT;
    fill.memory = block;
    fill.size_bytes = 1 << 20;
    for (uint32_t i = 1; i <= 20; i++) {
        fill.pattern = i;
        assert_ok(ferrum_memory_fill_async(&fill, stream));
    }
    ferrum_mapping made = map_all(block, FERRUM_HOST_READ_ONLY);
    assert_int_equal(((unsigned char *)made.host_pointer)[(1 << 20) - 1], 20);
    ferrum_defragmentation_stats moved = FERRUM_DEFRAGMENTATION_STATS_INIT;
    assert_ok(ferrum_manager_defragment(s->managers[0], &moved));
    assert_int_equal(moved.skipped_mapped, 1);
    assert_int_equal(moved.blocks_skipped, 1);
    assert_ptr_equal(info_of(block).host_pointer, made.host_pointer);
    assert_ok(ferrum_memory_unmap(block, 0));
    assert_ok(ferrum_memory_free(block));
    assert_ok(ferrum_stream_destroy(stream, 0));
}

static void linked_blocks_are_one_memory(void **data) {
    state *s = *data;
    ferrum_memory first, second;
    char bytes[8];
    ferrum_link_request request = FERRUM_LINK_REQUEST_INIT;
    request.size_bytes = 100000;
    request.alignment_bytes = 4096;
    request.tag = "both";
    for (int last = 0; last < 2; last++) {
        assert_ok(ferrum_manager_create_mapping(s->managers[0], s->managers[2],
                                                &request, &first, &second));
        assert_int_equal(info_of(first).address % 4096, 0);
        assert_int_equal(info_of(first).linked.id, second.id);
        assert_int_equal(info_of(second).linked.id, first.id);
        assert_int_equal(info_of(second).device.id, s->devices[2].id);
        assert_int_equal(info_of(second).memory_type, FERRUM_MEMORY_MAPPED);
        assert_string_equal(info_of(second).tag, "both");
        assert_ok(ferrum_memory_write(first, 99992, "shared!", 8));
        assert_ok(ferrum_memory_read(second, 99992, bytes, 8));
        assert_string_equal(bytes, "shared!");
        assert_ok(ferrum_memory_free(last == 0 ? first : second));
        ferrum_memory left = last == 0 ? second : first;
        assert_int_equal(info_of(left).linked.id, 0);
        assert_status(ferrum_manager_destroy(s->managers[0], 0),
                      FERRUM_ERROR_BUSY);
        assert_ok(ferrum_memory_read(left, 99992, bytes, 8));
        assert_string_equal(bytes, "shared!");
        assert_ok(ferrum_memory_free(left));
    }
    assert_status(ferrum_manager_create_mapping(s->managers[1], s->managers[1],
                                                &request, &first, &second),
                  FERRUM_ERROR_INVALID_ARGUMENT);
}

static void prefetching_changes_no_byte(void **data) {
    state *s = *data;
    ferrum_memory block;
    assert_ok(ferrum_manager_alloc(s->managers[0], 1 << 20, &block));
    assert_ok(ferrum_memory_write(block, 12345, "x", 1));
    assert_ok(ferrum_memory_prefetch(block, s->devices[0], (ferrum_stream){0}));
    assert_ok(ferrum_memory_prefetch(block, s->devices[1], (ferrum_stream){0}));
    char byte = 0;
    assert_ok(ferrum_memory_read(block, 12345, &byte, 1));
    assert_int_equal(byte, 'x');
    assert_ok(ferrum_memory_free(block));
}

static void hints_and_accesses(void **data) {
    state *s = *data;
    ferrum_memory block;
    char bytes[64] = {0};
    assert_ok(ferrum_manager_alloc(s->managers[1], 64, &block));
    assert_ok(ferrum_memory_set_usage_hint(block, FERRUM_USAGE_RANDOM));
    assert_ok(ferrum_memory_set_usage_hint(block, FERRUM_USAGE_SEQUENTIAL));
    assert_ok(ferrum_memory_set_usage_hint(block, FERRUM_USAGE_READ_MOSTLY));
    ferrum_usage_hints hints = FERRUM_USAGE_HINTS_INIT;
    assert_ok(ferrum_memory_get_usage_hints(block, &hints));
    assert_int_equal(hints.order, FERRUM_USAGE_SEQUENTIAL);
    assert_int_equal(hints.direction, FERRUM_USAGE_READ_MOSTLY);
    assert_int_equal(hints.lifetime, FERRUM_USAGE_NONE);

    ferrum_access_stats stats = FERRUM_ACCESS_STATS_INIT;
    assert_ok(ferrum_memory_get_access_stats(block, &stats));
    assert_int_equal(stats.is_tracked, 1);
    assert_int_equal(stats.is_accessed, 0);
    assert_int_equal(stats.last_access_ns, 0);
    for (int i = 0; i < 8; i++)
        assert_ok(ferrum_memory_write(block, (uint64_t)i * 8, bytes, 8));
    assert_ok(ferrum_memory_read(block, 0, bytes, 64));
    assert_ok(ferrum_memory_read(block, 0, bytes, 1));
    assert_ok(ferrum_memory_get_access_stats(block, &stats));
    assert_int_equal(stats.is_accessed, 1);
    assert_int_equal(stats.write_count, 8);
    assert_int_equal(stats.average_write_bytes, 8);
    assert_int_equal(stats.read_count, 2);
    assert_int_equal(stats.average_read_bytes, 32);
    assert_true(stats.last_access_ns > 0);
    assert_true(stats.last_access_ns >= info_of(block).allocated_at_ns);
    assert_ok(ferrum_memory_free(block));

    ferrum_manager_config config = FERRUM_MANAGER_CONFIG_INIT;
    config.enable_tracking = 0;
    ferrum_manager blind;
    assert_ok(ferrum_manager_create(s->devices[0], &config, &blind));
    assert_ok(ferrum_manager_alloc(blind, 64, &block));
    assert_ok(ferrum_memory_write(block, 0, bytes, 64));
    assert_ok(ferrum_memory_get_access_stats(block, &stats));
    assert_int_equal(stats.is_tracked, 0);
    assert_int_equal(stats.write_count, 0);
    assert_ok(ferrum_memory_free(block));
    assert_ok(ferrum_manager_destroy(blind, 0));
}

static void pinned_memory_is_bounded(void **data) {
    state *s = *data;
    ferrum_allocation_request request = FERRUM_ALLOCATION_REQUEST_INIT;
    ferrum_memory block;
    request.memory_type = FERRUM_MEMORY_PINNED;
    request.size_bytes = 256 << 10;
    assert_ok(ferrum_manager_alloc_with(s->managers[0], &request, &block));
    assert_int_equal(info_of(block).memory_type, FERRUM_MEMORY_PINNED);
    assert_non_null(info_of(block).host_pointer);
    memset(info_of(block).host_pointer, 1, 256 << 10);
    /* The range is locked: this fails for unmapped memory, and mincore
     * reports which pages are in memory. */
    unsigned char resident[64];
    uintptr_t page = info_of(block).address & ~UINT64_C(4095);
    assert_int_equal(mincore((void *)page, sizeof resident * 4096, resident),
                     0);
    for (size_t i = 0; i < sizeof resident; i++)
        assert_int_equal(resident[i] & 1, 1);
    /* More than the device has. */
    request.size_bytes = UINT64_C(1) << 40;
    ferrum_memory more = {1};
    assert_status(ferrum_manager_alloc_with(s->managers[0], &request, &more),
                  FERRUM_ERROR_OUT_OF_MEMORY);
    assert_int_equal(more.id, 0);
    assert_ok(ferrum_memory_free(block));
}

static void adopted_memory_stays_its_owners(void **data) {
    state *s = *data;
    char *own = calloc(1, 5000);
    ferrum_adoption adoption = FERRUM_ADOPTION_INIT;
    adoption.address = (ferrum_address)(uintptr_t)own;
    adoption.size_bytes = 5000;
    adoption.tag = "theirs";
    ferrum_memory block, copied;
    assert_ok(ferrum_manager_adopt(s->managers[0], &adoption, &block));
    assert_int_equal(info_of(block).is_adopted, 1);
    assert_ptr_equal(info_of(block).host_pointer, own);
    assert_ok(ferrum_memory_write(block, 4990, "adopted", 8));
    assert_string_equal(own + 4990, "adopted");
    assert_ok(ferrum_manager_alloc(s->managers[1], 5000, &copied));
    ferrum_transfer transfer = FERRUM_TRANSFER_INIT;
    transfer.src = block;
    transfer.dst = copied;
    transfer.size_bytes = 5000;
    assert_ok(ferrum_memory_copy(&transfer));
    char bytes[8];
    assert_ok(ferrum_memory_read(copied, 4990, bytes, 8));
    assert_string_equal(bytes, "adopted");
    assert_ok(ferrum_memory_free(copied));
    assert_ok(ferrum_memory_free(block));
    assert_status(ferrum_memory_free(block), FERRUM_ERROR_INVALID_HANDLE);
    assert_string_equal(own + 4990, "adopted");
    free(own);
}

/* Memory that the process can only read can be read. A call that would
 * write to it returns an error, because the write itself would end the
 * process. */
static void read_only_memory_is_never_written(void **data) {
    state *s = *data;
    enum { SIZE = 8192 };
    char *own = mmap(NULL, SIZE, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(own, MAP_FAILED);
    own[SIZE - 1] = 7;
    assert_int_equal(mprotect(own, SIZE, PROT_READ), 0);
    ferrum_adoption adoption = FERRUM_ADOPTION_INIT;
    adoption.address = (ferrum_address)(uintptr_t)own;
    adoption.size_bytes = SIZE;
    ferrum_memory block, copied;
    assert_status(ferrum_manager_adopt(s->managers[0], &adoption, &block),
                  FERRUM_ERROR_INVALID_ADDRESS);
    adoption.is_read_only = 1;
    assert_ok(ferrum_manager_adopt(s->managers[0], &adoption, &block));
    assert_int_equal(info_of(block).is_read_only, 1);
    assert_ok(ferrum_manager_alloc(s->managers[1], SIZE, &copied));
    ferrum_transfer transfer = FERRUM_TRANSFER_INIT;
    transfer.src = block;
    transfer.dst = copied;
    transfer.size_bytes = SIZE;
    assert_ok(ferrum_memory_copy(&transfer));
    char last = 0;
    assert_ok(ferrum_memory_read(copied, SIZE - 1, &last, 1));
    assert_int_equal(last, 7);
    transfer.src = copied;
    transfer.dst = block;
    assert_status(ferrum_memory_copy(&transfer),
                  FERRUM_ERROR_PERMISSION_DENIED);
    assert_status(ferrum_memory_copy_async(&transfer, (ferrum_stream){0}),
                  FERRUM_ERROR_PERMISSION_DENIED);
    assert_status(ferrum_memory_write(block, 0, "x", 1),
                  FERRUM_ERROR_PERMISSION_DENIED);
    ferrum_map_request request = FERRUM_MAP_REQUEST_INIT;
    ferrum_mapping mapping = FERRUM_MAPPING_INIT;
    request.memory = block;
    assert_status(ferrum_memory_map(&request, &mapping),
                  FERRUM_ERROR_PERMISSION_DENIED);
    request.access = FERRUM_HOST_READ_ONLY;
    assert_ok(ferrum_memory_map(&request, &mapping));
    assert_ptr_equal(mapping.host_pointer, own);
    assert_ok(ferrum_memory_unmap(block, 0));
    assert_ok(ferrum_memory_prefetch(block, s->devices[0], (ferrum_stream){0}));
    assert_ok(ferrum_device_synchronize(s->devices[0], FERRUM_WAIT_FOREVER));
    assert_ok(ferrum_memory_free(copied));
    assert_ok(ferrum_memory_free(block));
    assert_int_equal(munmap(own, SIZE), 0);
}

/* A queue of the caller with its own thread. */
typedef struct {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    struct {
        ferrum_host_fn work;
        void *data;
    } queue[256];
    size_t queued, done;
    int stop;
} queue;

/* The owner's own work, between the work of the library. */
static unsigned char seen[2];
static void look(void *data) {
    static int at;
    seen[at++ % 2] = *(unsigned char *)data;
}

static ferrum_status queue_push(ferrum_host_fn work, void *work_data,
                                void *user_data) {
    queue *q = user_data;
    pthread_mutex_lock(&q->mutex);
    q->queue[q->queued % 256].work = work;
    q->queue[q->queued % 256].data = work_data;
    q->queued++;
    pthread_cond_broadcast(&q->changed);
    pthread_mutex_unlock(&q->mutex);
    return FERRUM_OK;
}

static void *queue_run(void *data) {
    queue *q = data;
    pthread_mutex_lock(&q->mutex);
    for (;;) {
        while (q->done == q->queued && !q->stop)
            pthread_cond_wait(&q->changed, &q->mutex);
        if (q->done == q->queued)
            break;
        ferrum_host_fn work = q->queue[q->done % 256].work;
        void *work_data = q->queue[q->done % 256].data;
        pthread_mutex_unlock(&q->mutex);
        work(work_data);
        if (work != look)
            work(work_data); /* a second call does nothing */
        pthread_mutex_lock(&q->mutex);
        q->done++;
    }
    pthread_mutex_unlock(&q->mutex);
    return NULL;
}

static void adopted_streams_keep_their_owners_order(void **data) {
    state *s = *data;
    static queue q = {.mutex = PTHREAD_MUTEX_INITIALIZER,
                      .changed = PTHREAD_COND_INITIALIZER};
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, queue_run, &q), 0);
    ferrum_foreign_stream foreign = FERRUM_FOREIGN_STREAM_INIT;
    foreign.enqueue = queue_push;
    foreign.user_data = &q;
    ferrum_stream stream;
    assert_ok(ferrum_stream_adopt(s->devices[0], &foreign, &stream));
    ferrum_memory block;
    assert_ok(ferrum_manager_alloc(s->managers[0], 1 << 20, &block));
    unsigned char *bytes = info_of(block).host_pointer;
    ferrum_fill fill = FERRUM_FILL_INIT;
    fill.memory = block;
    fill.size_bytes = 1 << 20;
    for (uint32_t i = 1; i <= 2; i++) {
        fill.pattern = i;
        assert_ok(ferrum_memory_fill_async(&fill, stream));
        assert_ok(queue_push(look, bytes + (1 << 20) - 1, &q));
    }
    ferrum_event event;
    assert_ok(ferrum_event_record(stream, &event));
    assert_ok(ferrum_event_synchronize(event, FERRUM_WAIT_FOREVER));
    assert_int_equal(seen[0], 1);
    assert_int_equal(seen[1], 2);
    assert_ok(ferrum_event_destroy(event));
    assert_ok(ferrum_memory_free(block));
    assert_ok(ferrum_stream_synchronize(stream, FERRUM_WAIT_FOREVER));
    assert_ok(ferrum_stream_destroy(stream, FERRUM_FORCE));
    assert_ok(queue_push(look, &foreign, &q));
    pthread_mutex_lock(&q.mutex);
    q.stop = 1;
    pthread_cond_broadcast(&q.changed);
    pthread_mutex_unlock(&q.mutex);
    pthread_join(thread, NULL);
}

/* Devices with linked blocks can be closed by force, one after the other. */
static void linked_devices_close_in_any_order(void **data) {
    (void)data;
    for (int last = 0; last < 2; last++) {
        ferrum_config config = FERRUM_CONFIG_INIT;
        config.host_devices = 3;
        assert_ok(ferrum_init(&config));
        ferrum_device devices[2];
        ferrum_manager managers[2];
        ferrum_memory blocks[2];
        assert_ok(ferrum_device_open("cpu:0", &devices[0]));
        assert_ok(ferrum_device_open("cpu:2", &devices[1]));
        for (int i = 0; i < 2; i++)
            assert_ok(ferrum_manager_create(devices[i], NULL, &managers[i]));
        ferrum_link_request link = FERRUM_LINK_REQUEST_INIT;
        link.size_bytes = 1 << 20;
        assert_ok(ferrum_manager_create_mapping(managers[0], managers[1], &link,
                                                &blocks[0], &blocks[1]));
        ferrum_fill fill = FERRUM_FILL_INIT;
        fill.size_bytes = 1 << 20;
        for (int i = 0; i < 2; i++) {
            fill.memory = blocks[i];
            assert_ok(ferrum_memory_fill_async(&fill, default_stream));
        }
        assert_status(ferrum_device_close(devices[1 - last], 0),
                      FERRUM_ERROR_BUSY);
        assert_ok(ferrum_device_close(devices[1 - last], FERRUM_FORCE));
        /* The memory belongs to the first block. */
        ferrum_handle_info info = FERRUM_HANDLE_INFO_INIT;
        assert_status(ferrum_memory_get_handle_info(blocks[last], &info),
                      last == 0 ? FERRUM_OK : FERRUM_ERROR_INVALID_HANDLE);
        if (last == 0)
            assert_ok(ferrum_memory_free(blocks[0]));
        assert_ok(ferrum_manager_destroy(managers[last], 0));
        assert_ok(ferrum_device_close(devices[last], 0));
        assert_ok(ferrum_shutdown(0));
    }
}

/* Every object still exists when the library is stopped by force. */
static void forced_end(void **data) {
    (void)data;
    ferrum_config config = FERRUM_CONFIG_INIT;
    config.host_devices = 3;
    assert_ok(ferrum_init(&config));
    ferrum_device devices[2];
    ferrum_manager managers[2];
    ferrum_memory block, first, second, adopted;
    ferrum_stream stream;
    static char own[100];
    assert_ok(ferrum_device_open("cpu:0", &devices[0]));
    assert_ok(ferrum_device_open("cpu:2", &devices[1]));
    for (int i = 0; i < 2; i++)
        assert_ok(ferrum_manager_create(devices[i], NULL, &managers[i]));
    assert_ok(ferrum_manager_alloc(managers[0], 100, &block));
    map_all(block, FERRUM_HOST_READ_WRITE);
    ferrum_link_request link = FERRUM_LINK_REQUEST_INIT;
    link.size_bytes = 100;
    assert_ok(ferrum_manager_create_mapping(managers[0], managers[1], &link,
                                            &first, &second));
    map_all(second, FERRUM_HOST_READ_ONLY);
    ferrum_adoption adoption = FERRUM_ADOPTION_INIT;
    adoption.address = (ferrum_address)(uintptr_t)own;
    adoption.size_bytes = sizeof own;
    assert_ok(ferrum_manager_adopt(managers[1], &adoption, &adopted));
    static queue q = {.mutex = PTHREAD_MUTEX_INITIALIZER,
                      .changed = PTHREAD_COND_INITIALIZER};
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, queue_run, &q), 0);
    ferrum_foreign_stream foreign = FERRUM_FOREIGN_STREAM_INIT;
    foreign.enqueue = queue_push;
    foreign.user_data = &q;
    assert_ok(ferrum_stream_adopt(devices[0], &foreign, &stream));
    assert_status(ferrum_shutdown(0), FERRUM_ERROR_BUSY);
    assert_ok(ferrum_manager_destroy(managers[0], FERRUM_FORCE));
    assert_status(ferrum_memory_unmap(second, 0), FERRUM_ERROR_INVALID_HANDLE);
    assert_status(ferrum_memory_free(second), FERRUM_ERROR_INVALID_HANDLE);
    assert_ok(ferrum_device_close(devices[1], FERRUM_FORCE));
    assert_ok(ferrum_shutdown(FERRUM_FORCE));
    pthread_mutex_lock(&q.mutex);
    q.stop = 1;
    pthread_cond_broadcast(&q.changed);
    pthread_mutex_unlock(&q.mutex);
    pthread_join(thread, NULL);
    assert_status(ferrum_memory_unmap(block, 0), FERRUM_ERROR_NOT_INITIALIZED);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_mapping_shows_the_block, begin, end),
        cmocka_unit_test_setup_teardown(
            a_mapping_waits_for_work_and_pins_its_block, begin, end),
        cmocka_unit_test_setup_teardown(linked_blocks_are_one_memory, begin,
                                        end),
        cmocka_unit_test_setup_teardown(prefetching_changes_no_byte, begin,
                                        end),
        cmocka_unit_test_setup_teardown(hints_and_accesses, begin, end),
        cmocka_unit_test_setup_teardown(pinned_memory_is_bounded, begin, end),
        cmocka_unit_test_setup_teardown(adopted_memory_stays_its_owners, begin,
                                        end),
        cmocka_unit_test_setup_teardown(read_only_memory_is_never_written,
                                        begin, end),
        cmocka_unit_test_setup_teardown(adopted_streams_keep_their_owners_order,
                                        begin, end),
        cmocka_unit_test(linked_devices_close_in_any_order),
        cmocka_unit_test(forced_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
