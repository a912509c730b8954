/* ferrum_mem/managers.h: managers and their blocks. */
#include "_cgo_export.h"
#include "guard.h"
#include "guest.h"

/* Entries of ferrum_manager_config.pool_configs. */
#define FM_POOL_CONFIGS \
    (sizeof((ferrum_manager_config *)0)->pool_configs / sizeof(void *))

ferrum_status ferrum_manager_create(ferrum_device device,
                                    const ferrum_manager_config *config,
                                    ferrum_manager *manager_out) {
    FM_ENTER();
    FM_REQUIRE(manager_out);
    manager_out->id = 0;
    ferrum_manager_config full = FERRUM_MANAGER_CONFIG_INIT;
    if (config != NULL)
        FM_STRUCT_IN(config, full);
    ferrum_pool_config pools[FM_POOL_CONFIGS];
    for (size_t i = 0; i < FM_POOL_CONFIGS; i++) {
        pools[i] = (ferrum_pool_config)FERRUM_POOL_CONFIG_INIT;
        const ferrum_pool_config *pool_config = full.pool_configs[i];
        if (pool_config == NULL)
            continue;
        FM_STRUCT_IN(pool_config, pools[i]);
        full.pool_configs[i] = &pools[i];
    }
    FM_LOOK();
    FM_RETURN(fmgo_manager_create(device.id, &full, &manager_out->id));
}

ferrum_status ferrum_manager_destroy(ferrum_manager manager, uint32_t flags) {
    FM_ENTER();
    FM_NOT_IN_HOST_FUNCTION();
    FM_RETURN(fmgo_manager_destroy(manager.id, flags));
}

ferrum_status ferrum_manager_configure_pool(ferrum_manager manager,
                                            ferrum_memory_type memory_type,
                                            const ferrum_pool_config *config) {
    FM_ENTER();
    FM_REQUIRE(config);
    ferrum_pool_config full = FERRUM_POOL_CONFIG_INIT;
    FM_STRUCT_IN(config, full);
    FM_RETURN(fmgo_manager_configure_pool(manager.id, memory_type, &full));
}

ferrum_status ferrum_manager_get_statistics(ferrum_manager manager,
                                            ferrum_statistics *statistics_out) {
    FM_ENTER();
    FM_REQUIRE(statistics_out);
    FM_STRUCT_OUT(statistics_out);
    ferrum_statistics full = FERRUM_STATISTICS_INIT;
    FM_RETURN_STRUCT(fmgo_manager_get_statistics(manager.id, &full),
                     statistics_out, full);
}

ferrum_status ferrum_manager_alloc(ferrum_manager manager, uint64_t size_bytes,
                                   ferrum_memory *memory_out) {
    FM_ENTER();
    FM_REQUIRE(memory_out);
    memory_out->id = 0;
    FM_RETURN(fmgo_manager_alloc(manager.id, size_bytes, &memory_out->id));
}

ferrum_status
ferrum_manager_alloc_with(ferrum_manager manager,
                          const ferrum_allocation_request *request,
                          ferrum_memory *memory_out) {
    FM_ENTER();
    FM_REQUIRE(memory_out);
    memory_out->id = 0;
    FM_REQUIRE(request);
    ferrum_allocation_request full = FERRUM_ALLOCATION_REQUEST_INIT;
    FM_STRUCT_IN(request, full);
    FM_RETURN(fmgo_manager_alloc_with(manager.id, &full, &memory_out->id));
}

ferrum_status ferrum_memory_free(ferrum_memory memory) {
    FM_ENTER();
    FM_RETURN(fmgo_memory_free(memory.id));
}

ferrum_status ferrum_memory_get_handle_info(ferrum_memory memory,
                                            ferrum_handle_info *info_out) {
    FM_ENTER();
    FM_REQUIRE(info_out);
    FM_STRUCT_OUT(info_out);
    ferrum_handle_info full = FERRUM_HANDLE_INFO_INIT;
    FM_RETURN_STRUCT(fmgo_memory_get_handle_info(memory.id, &full), info_out,
                     full);
}

ferrum_status ferrum_memory_pin(ferrum_memory memory,
                                ferrum_address *address_out) {
    FM_ENTER();
    FM_REQUIRE(address_out);
    *address_out = 0;
    FM_RETURN(fmgo_memory_pin(memory.id, address_out));
}

ferrum_status ferrum_memory_unpin(ferrum_memory memory) {
    FM_ENTER();
    FM_RETURN(fmgo_memory_unpin(memory.id));
}

ferrum_status ferrum_memory_copy(const ferrum_transfer *transfer) {
    FM_ENTER();
    FM_REQUIRE(transfer);
    ferrum_transfer full = FERRUM_TRANSFER_INIT;
    FM_STRUCT_IN(transfer, full);
    FM_NOT_IN_HOST_FUNCTION();
    FM_RETURN(fmgo_memory_copy(&full));
}

ferrum_status ferrum_memory_copy_async(const ferrum_transfer *transfer,
                                       ferrum_stream stream) {
    FM_ENTER();
    FM_REQUIRE(transfer);
    ferrum_transfer full = FERRUM_TRANSFER_INIT;
    FM_STRUCT_IN(transfer, full);
    FM_NOT_IN_HOST_FUNCTION();
    FM_RETURN(fmgo_memory_copy_async(&full, stream.id));
}

ferrum_status ferrum_memory_write(ferrum_memory memory, uint64_t offset_bytes,
                                  const void *source, uint64_t size_bytes) {
    FM_ENTER();
    FM_REQUIRE(source);
    FM_NOT_IN_HOST_FUNCTION();
    FM_RETURN(fmgo_memory_write(memory.id, offset_bytes, (uintptr_t)source,
                                size_bytes));
}

ferrum_status ferrum_memory_read(ferrum_memory memory, uint64_t offset_bytes,
                                 void *destination_out, uint64_t size_bytes) {
    FM_ENTER();
    FM_REQUIRE(destination_out);
    FM_NOT_IN_HOST_FUNCTION();
    FM_RETURN(fmgo_memory_read(memory.id, offset_bytes,
                               (uintptr_t)destination_out, size_bytes));
}

ferrum_status ferrum_memory_fill_async(const ferrum_fill *fill,
                                       ferrum_stream stream) {
    FM_ENTER();
    FM_REQUIRE(fill);
    ferrum_fill full = FERRUM_FILL_INIT;
    FM_STRUCT_IN(fill, full);
    FM_RETURN(fmgo_memory_fill_async(&full, stream.id));
}

ferrum_status
ferrum_manager_defragment(ferrum_manager manager,
                          ferrum_defragmentation_stats *stats_out) {
    FM_ENTER();
    FM_REQUIRE(stats_out);
    FM_STRUCT_OUT(stats_out);
    FM_NOT_IN_HOST_FUNCTION();
    ferrum_defragmentation_stats full = FERRUM_DEFRAGMENTATION_STATS_INIT;
    FM_RETURN_STRUCT(
        fmgo_manager_defragment(manager.id, FERRUM_WAIT_FOREVER, &full),
        stats_out, full);
}

ferrum_status
ferrum_manager_defragment_within(ferrum_manager manager, uint64_t budget_ns,
                                 ferrum_defragmentation_stats *stats_out) {
    FM_ENTER();
    FM_REQUIRE(stats_out);
    FM_STRUCT_OUT(stats_out);
    FM_NOT_IN_HOST_FUNCTION();
    ferrum_defragmentation_stats full = FERRUM_DEFRAGMENTATION_STATS_INIT;
    FM_RETURN_STRUCT(fmgo_manager_defragment(manager.id, budget_ns, &full),
                     stats_out, full);
}
