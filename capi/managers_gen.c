/* Generated from include/ferrum_mem/managers.h by scripts/genabi.py; do not edit. */
#include "_cgo_export.h"
#include "guard.h"
#include "guest.h"

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
    ferrum_pool_config config_full = FERRUM_POOL_CONFIG_INIT;
    FM_STRUCT_IN(config, config_full);
    FM_RETURN(
        fmgo_manager_configure_pool(manager.id, memory_type, &config_full));
}

ferrum_status ferrum_manager_get_statistics(ferrum_manager manager,
                                            ferrum_statistics *statistics_out) {
    FM_ENTER();
    FM_REQUIRE(statistics_out);
    FM_STRUCT_OUT(statistics_out);
    ferrum_statistics statistics_full = FERRUM_STATISTICS_INIT;
    FM_RETURN_STRUCT(fmgo_manager_get_statistics(manager.id, &statistics_full),
                     statistics_out, statistics_full);
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
    ferrum_allocation_request request_full = FERRUM_ALLOCATION_REQUEST_INIT;
    FM_STRUCT_IN(request, request_full);
    FM_RETURN(
        fmgo_manager_alloc_with(manager.id, &request_full, &memory_out->id));
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
    ferrum_handle_info info_full = FERRUM_HANDLE_INFO_INIT;
    FM_RETURN_STRUCT(fmgo_memory_get_handle_info(memory.id, &info_full),
                     info_out, info_full);
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
    ferrum_transfer transfer_full = FERRUM_TRANSFER_INIT;
    FM_STRUCT_IN(transfer, transfer_full);
    FM_NOT_IN_HOST_FUNCTION();
    FM_RETURN(fmgo_memory_copy(&transfer_full));
}

ferrum_status ferrum_memory_copy_async(const ferrum_transfer *transfer,
                                       ferrum_stream stream) {
    FM_ENTER();
    FM_REQUIRE(transfer);
    ferrum_transfer transfer_full = FERRUM_TRANSFER_INIT;
    FM_STRUCT_IN(transfer, transfer_full);
    FM_NOT_IN_HOST_FUNCTION();
    FM_RETURN(fmgo_memory_copy_async(&transfer_full, stream.id));
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
    ferrum_fill fill_full = FERRUM_FILL_INIT;
    FM_STRUCT_IN(fill, fill_full);
    FM_RETURN(fmgo_memory_fill_async(&fill_full, stream.id));
}

ferrum_status
ferrum_manager_defragment(ferrum_manager manager,
                          ferrum_defragmentation_stats *stats_out) {
    FM_ENTER();
    FM_REQUIRE(stats_out);
    FM_STRUCT_OUT(stats_out);
    FM_NOT_IN_HOST_FUNCTION();
    ferrum_defragmentation_stats stats_full = FERRUM_DEFRAGMENTATION_STATS_INIT;
    FM_RETURN_STRUCT(fmgo_manager_defragment(manager.id, &stats_full),
                     stats_out, stats_full);
}

ferrum_status
ferrum_manager_defragment_within(ferrum_manager manager, uint64_t budget_ns,
                                 ferrum_defragmentation_stats *stats_out) {
    FM_ENTER();
    FM_REQUIRE(stats_out);
    FM_STRUCT_OUT(stats_out);
    FM_NOT_IN_HOST_FUNCTION();
    ferrum_defragmentation_stats stats_full = FERRUM_DEFRAGMENTATION_STATS_INIT;
    FM_RETURN_STRUCT(
        fmgo_manager_defragment_within(manager.id, budget_ns, &stats_full),
        stats_out, stats_full);
}
