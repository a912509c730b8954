/*
 * A first C program. It opens a device, allocates blocks by handle, copies on
 * a stream, allocates from a pool by address, and prints the error of an
 * allocation that fails.
 *
 *   cc quickstart.c $(pkg-config --cflags --libs ferrum_mem) -o quickstart
 */
#include <ferrum_mem.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const uint64_t MiB = 1024 * 1024;

/* If a call failed, prints the error message of the library and exits. */
static void check(ferrum_status status) {
    if (status == FERRUM_OK)
        return;
    ferrum_error_info error = FERRUM_ERROR_INFO_INIT;
    ferrum_last_error(&error);
    fprintf(stderr, "%s failed with %s: %s\n", error.function,
            ferrum_status_name(status), error.message);
    exit(1);
}

static void show_device(ferrum_device device) {
    ferrum_device_info info = FERRUM_DEVICE_INFO_INIT;
    check(ferrum_device_get_info(device, &info));
    ferrum_memory_info memory = FERRUM_MEMORY_INFO_INIT;
    check(ferrum_device_get_memory_info(device, &memory));
    printf("%s is %s: %.1f GiB, %.1f GiB free\n", info.id, info.name,
           (double)memory.total_bytes / (1024.0 * (double)MiB),
           (double)memory.free_bytes / (1024.0 * (double)MiB));
}

/* Blocks by handle: written, copied on a stream, read back. */
static void copy_on_a_stream(ferrum_device device) {
    ferrum_manager manager;
    check(ferrum_manager_create(device, NULL, &manager));
    ferrum_memory prompt, cache;
    check(ferrum_manager_alloc(manager, MiB, &prompt));
    ferrum_allocation_request request = FERRUM_ALLOCATION_REQUEST_INIT;
    request.memory_type = FERRUM_MEMORY_CACHE;
    request.size_bytes = MiB;
    request.tag = "kv";
    check(ferrum_manager_alloc_with(manager, &request, &cache));

    const char text[] = "tokens on their way";
    check(ferrum_memory_write(prompt, 0, text, sizeof text));

    ferrum_stream stream;
    check(ferrum_stream_create(device, &stream));
    ferrum_transfer transfer = FERRUM_TRANSFER_INIT;
    transfer.src = prompt;
    transfer.dst = cache;
    transfer.size_bytes = sizeof text;
    check(ferrum_memory_copy_async(&transfer, stream));
    check(ferrum_stream_synchronize(stream, FERRUM_WAIT_FOREVER));

    char back[sizeof text];
    check(ferrum_memory_read(cache, 0, back, sizeof back));
    printf("copied on a stream: \"%s\"\n", back);

    check(ferrum_stream_destroy(stream, 0));
    check(ferrum_memory_free(prompt));
    check(ferrum_memory_free(cache));
    check(ferrum_manager_destroy(manager, 0));
}

/* Allocates by address until the pool reaches its limit. */
static void pool_and_its_limit(ferrum_device device) {
    ferrum_pool_config config = FERRUM_POOL_CONFIG_INIT;
    config.name = "activations";
    config.initial_size_bytes = 32 * MiB;
    config.max_size_bytes = 64 * MiB;
    ferrum_pool pool;
    check(ferrum_pool_create(device, &config, &pool));

    const ferrum_stream default_stream = {0};
    ferrum_address a, b;
    check(ferrum_pool_alloc(pool, 24 * MiB, default_stream, &a));
    check(ferrum_pool_alloc(pool, 24 * MiB, default_stream, &b));
    printf("two blocks of 24 MiB at %#llx and %#llx\n", (unsigned long long)a,
           (unsigned long long)b);

    ferrum_address c;
    ferrum_status status =
        ferrum_pool_alloc(pool, 24 * MiB, default_stream, &c);
    ferrum_error_info error = FERRUM_ERROR_INFO_INIT;
    check(ferrum_last_error(&error));
    printf("a third one: %s\n  %s\n", ferrum_status_name(status),
           error.message);

    check(ferrum_pool_free(pool, a, default_stream));
    check(ferrum_pool_free(pool, b, default_stream));
    status = ferrum_pool_free(pool, b, default_stream);
    printf("freeing one twice: %s\n", ferrum_status_name(status));
    check(ferrum_pool_destroy(pool, 0));
}

/* The KV blocks of one step of a batch. One call allocates all of them,
 * because they have one size. The "fixed" strategy places them so that
 * whole pages become free when their sequences end. */
static void kv_blocks(ferrum_device device) {
    enum { BLOCKS = 256 };
    ferrum_pool_config config = FERRUM_POOL_CONFIG_INIT;
    config.name = "kv";
    config.strategy = "fixed";
    config.fixed_block_bytes = 64 * 1024;
    config.initial_size_bytes = 32 * MiB;
    ferrum_pool pool;
    check(ferrum_pool_create(device, &config, &pool));

    const ferrum_stream default_stream = {0};
    ferrum_address blocks[BLOCKS];
    check(ferrum_pool_alloc_batch(pool, 64 * 1024, BLOCKS, default_stream,
                                  blocks));
    ferrum_block_info owner = FERRUM_BLOCK_INFO_INIT;
    check(ferrum_device_get_owner(device, blocks[17] + 1000, &owner));
    printf("%d KV blocks in one call; %#llx is in a block of pool \"%s\"\n",
           BLOCKS, (unsigned long long)blocks[17] + 1000, owner.pool_name);
    check(ferrum_pool_free_batch(pool, blocks, BLOCKS, default_stream));
    check(ferrum_pool_destroy(pool, 0));
}

int main(void) {
    printf("ferrum_mem %s\n", ferrum_version_string());
    check(ferrum_init(NULL));
    ferrum_device device;
    check(ferrum_device_open("cpu:0", &device));
    show_device(device);
    copy_on_a_stream(device);
    pool_and_its_limit(device);
    kv_blocks(device);
    check(ferrum_device_close(device, 0));
    check(ferrum_shutdown(0));
    return 0;
}
