/* Generated from include/ferrum_mem/fallback.h by scripts/genabi.py; do not edit. */
#include "_cgo_export.h"
#include "guard.h"
#include "guest.h"

ferrum_status ferrum_memory_config_preset(ferrum_memory_preset preset,
                                          ferrum_memory_config *config_out) {
    FM_ENTER();
    FM_REQUIRE(config_out);
    FM_STRUCT_OUT(config_out);
    ferrum_memory_config config_full = FERRUM_MEMORY_CONFIG_INIT;
    FM_RETURN_STRUCT(fmgo_memory_config_preset(preset, &config_full),
                     config_out, config_full);
}

ferrum_status ferrum_memory_config_check(const ferrum_memory_config *config) {
    FM_ENTER();
    FM_REQUIRE(config);
    ferrum_memory_config config_full = FERRUM_MEMORY_CONFIG_INIT;
    FM_STRUCT_IN(config, config_full);
    FM_RETURN(fmgo_memory_config_check(&config_full));
}

ferrum_status ferrum_memory_stats_ratios(const ferrum_memory_stats *stats,
                                         ferrum_memory_ratios *ratios_out) {
    FM_ENTER();
    FM_REQUIRE(ratios_out);
    FM_STRUCT_OUT(ratios_out);
    FM_REQUIRE(stats);
    ferrum_memory_stats stats_full = FERRUM_MEMORY_STATS_INIT;
    FM_STRUCT_IN(stats, stats_full);
    ferrum_memory_ratios ratios_full = FERRUM_MEMORY_RATIOS_INIT;
    FM_RETURN_STRUCT(fmgo_memory_stats_ratios(&stats_full, &ratios_full),
                     ratios_out, ratios_full);
}

ferrum_status ferrum_memory_stats_merge(const ferrum_memory_stats *stats,
                                        const ferrum_memory_stats *other,
                                        ferrum_memory_stats *merged_out) {
    FM_ENTER();
    FM_REQUIRE(merged_out);
    FM_REQUIRE(stats);
    FM_REQUIRE(other);
    ferrum_memory_stats stats_full = FERRUM_MEMORY_STATS_INIT;
    FM_STRUCT_IN(stats, stats_full);
    ferrum_memory_stats other_full = FERRUM_MEMORY_STATS_INIT;
    FM_STRUCT_IN(other, other_full);
    FM_STRUCT_OUT(merged_out);
    ferrum_memory_stats merged_full = FERRUM_MEMORY_STATS_INIT;
    FM_RETURN_STRUCT(
        fmgo_memory_stats_merge(&stats_full, &other_full, &merged_full),
        merged_out, merged_full);
}

ferrum_status ferrum_memory_stats_text(const ferrum_memory_stats *stats,
                                       char *buffer, size_t capacity,
                                       size_t *length_out) {
    FM_ENTER();
    FM_TEXT_OUT(buffer, capacity, length_out);
    FM_REQUIRE(stats);
    ferrum_memory_stats stats_full = FERRUM_MEMORY_STATS_INIT;
    FM_STRUCT_IN(stats, stats_full);
    FM_RETURN(
        fmgo_memory_stats_text(&stats_full, buffer, capacity, length_out));
}

ferrum_status ferrum_buffer_id_new(uint64_t *id_out) {
    FM_ENTER();
    FM_REQUIRE(id_out);
    *id_out = 0;
    FM_RETURN(fmgo_buffer_id_new(id_out));
}

ferrum_status ferrum_buffer_id_text(uint64_t buffer_id, char *buffer,
                                    size_t capacity, size_t *length_out) {
    FM_ENTER();
    FM_TEXT_OUT(buffer, capacity, length_out);
    FM_RETURN(fmgo_buffer_id_text(buffer_id, buffer, capacity, length_out));
}

ferrum_status ferrum_tracker_create(ferrum_tracker *tracker_out) {
    FM_ENTER();
    FM_REQUIRE(tracker_out);
    tracker_out->id = 0;
    FM_LOOK();
    FM_RETURN(fmgo_tracker_create(&tracker_out->id));
}

ferrum_status ferrum_tracker_destroy(ferrum_tracker tracker) {
    FM_ENTER();
    FM_RETURN(fmgo_tracker_destroy(tracker.id));
}

ferrum_status ferrum_tracker_track(ferrum_tracker tracker,
                                   const ferrum_buffer_metadata *metadata) {
    FM_ENTER();
    FM_REQUIRE(metadata);
    ferrum_buffer_metadata metadata_full = *metadata;
    FM_RETURN(fmgo_tracker_track(tracker.id, &metadata_full));
}

ferrum_status ferrum_tracker_untrack(ferrum_tracker tracker, uint64_t buffer_id,
                                     ferrum_buffer_metadata *metadata_out) {
    FM_ENTER();
    if (metadata_out != NULL)
        memset(metadata_out, 0, sizeof(*metadata_out));
    ferrum_buffer_metadata metadata_full;
    memset(&metadata_full, 0, sizeof(metadata_full));
    ferrum_status status =
        fmgo_tracker_untrack(tracker.id, buffer_id, &metadata_full);
    if (status != FERRUM_OK)
        return fm_failed_in(__func__, status);
    if (metadata_out != NULL)
        *metadata_out = metadata_full;
    return FERRUM_OK;
}

ferrum_status ferrum_tracker_get(ferrum_tracker tracker, uint64_t buffer_id,
                                 ferrum_buffer_metadata *metadata_out) {
    FM_ENTER();
    FM_REQUIRE(metadata_out);
    memset(metadata_out, 0, sizeof(*metadata_out));
    FM_RETURN(fmgo_tracker_get(tracker.id, buffer_id, metadata_out));
}

ferrum_status ferrum_tracker_get_all(ferrum_tracker tracker,
                                     ferrum_buffer_metadata *metadata_out,
                                     size_t capacity, size_t *count_out) {
    FM_ENTER();
    FM_REQUIRE(count_out);
    *count_out = 0;
    if (capacity > 0)
        FM_REQUIRE(metadata_out);
    FM_RETURN(
        fmgo_tracker_get_all(tracker.id, metadata_out, capacity, count_out));
}

ferrum_status ferrum_tracker_find_old(ferrum_tracker tracker, uint64_t age_ns,
                                      ferrum_buffer_metadata *metadata_out,
                                      size_t capacity, size_t *count_out) {
    FM_ENTER();
    FM_REQUIRE(count_out);
    *count_out = 0;
    if (capacity > 0)
        FM_REQUIRE(metadata_out);
    FM_RETURN(fmgo_tracker_find_old(tracker.id, age_ns, metadata_out, capacity,
                                    count_out));
}

ferrum_status ferrum_tracker_get_totals(ferrum_tracker tracker,
                                        ferrum_tracker_totals *totals_out) {
    FM_ENTER();
    FM_REQUIRE(totals_out);
    FM_STRUCT_OUT(totals_out);
    ferrum_tracker_totals totals_full = FERRUM_TRACKER_TOTALS_INIT;
    FM_RETURN_STRUCT(fmgo_tracker_get_totals(tracker.id, &totals_full),
                     totals_out, totals_full);
}

ferrum_status ferrum_tracker_clear(ferrum_tracker tracker) {
    FM_ENTER();
    FM_RETURN(fmgo_tracker_clear(tracker.id));
}

ferrum_status ferrum_generic_pool_create(const ferrum_memory_config *config,
                                         ferrum_generic_pool *pool_out) {
    FM_ENTER();
    FM_REQUIRE(pool_out);
    pool_out->id = 0;
    ferrum_memory_config config_full = FERRUM_MEMORY_CONFIG_INIT;
    if (config != NULL)
        FM_STRUCT_IN(config, config_full);
    FM_LOOK();
    FM_RETURN(fmgo_generic_pool_create(&config_full, &pool_out->id));
}

ferrum_status ferrum_generic_pool_destroy(ferrum_generic_pool pool,
                                          uint32_t flags) {
    FM_ENTER();
    FM_RETURN(fmgo_generic_pool_destroy(pool.id, flags));
}

ferrum_status ferrum_generic_pool_record_allocation(
    ferrum_generic_pool pool, uint64_t size_bytes, const ferrum_buffer_use *use,
    uint64_t *id_out) {
    FM_ENTER();
    FM_REQUIRE(id_out);
    *id_out = 0;
    ferrum_buffer_use use_full = FERRUM_BUFFER_USE_INIT;
    if (use != NULL)
        FM_STRUCT_IN(use, use_full);
    FM_RETURN(fmgo_generic_pool_record_allocation(pool.id, size_bytes,
                                                  &use_full, id_out));
}

ferrum_status ferrum_generic_pool_try_get(ferrum_generic_pool pool,
                                          uint64_t min_bytes,
                                          const ferrum_buffer_use *use,
                                          ferrum_buffer_lease *lease_out,
                                          uint32_t *found_out) {
    FM_ENTER();
    FM_REQUIRE(lease_out);
    memset(lease_out, 0, sizeof(*lease_out));
    FM_REQUIRE(found_out);
    *found_out = 0;
    ferrum_buffer_use use_full = FERRUM_BUFFER_USE_INIT;
    if (use != NULL)
        FM_STRUCT_IN(use, use_full);
    FM_RETURN(fmgo_generic_pool_try_get(pool.id, min_bytes, &use_full,
                                        lease_out, found_out));
}

ferrum_status ferrum_generic_pool_return(ferrum_generic_pool pool,
                                         const ferrum_buffer_lease *lease,
                                         uint32_t *kept_out) {
    FM_ENTER();
    FM_REQUIRE(kept_out);
    *kept_out = 0;
    FM_REQUIRE(lease);
    ferrum_buffer_lease lease_full = *lease;
    FM_RETURN(fmgo_generic_pool_return(pool.id, &lease_full, kept_out));
}

ferrum_status ferrum_generic_pool_add_free(ferrum_generic_pool pool,
                                           uint64_t buffer,
                                           uint64_t size_bytes) {
    FM_ENTER();
    FM_RETURN(fmgo_generic_pool_add_free(pool.id, buffer, size_bytes));
}

ferrum_status ferrum_generic_pool_drain(ferrum_generic_pool pool,
                                        ferrum_buffer_lease *leases_out,
                                        size_t capacity, size_t *count_out) {
    FM_ENTER();
    FM_REQUIRE(count_out);
    *count_out = 0;
    if (capacity > 0)
        FM_REQUIRE(leases_out);
    FM_RETURN(
        fmgo_generic_pool_drain(pool.id, leases_out, capacity, count_out));
}

ferrum_status ferrum_generic_pool_get_pooled_count(ferrum_generic_pool pool,
                                                   uint64_t *count_out) {
    FM_ENTER();
    FM_REQUIRE(count_out);
    *count_out = 0;
    FM_RETURN(fmgo_generic_pool_get_pooled_count(pool.id, count_out));
}

ferrum_status ferrum_generic_pool_get_stats(ferrum_generic_pool pool,
                                            ferrum_memory_stats *stats_out) {
    FM_ENTER();
    FM_REQUIRE(stats_out);
    FM_STRUCT_OUT(stats_out);
    ferrum_memory_stats stats_full = FERRUM_MEMORY_STATS_INIT;
    FM_RETURN_STRUCT(fmgo_generic_pool_get_stats(pool.id, &stats_full),
                     stats_out, stats_full);
}

ferrum_status
ferrum_generic_pool_record_cpu_fallback(ferrum_generic_pool pool) {
    FM_ENTER();
    FM_RETURN(fmgo_generic_pool_record_cpu_fallback(pool.id));
}

ferrum_status ferrum_generic_pool_get_tracker(ferrum_generic_pool pool,
                                              ferrum_tracker *tracker_out) {
    FM_ENTER();
    FM_REQUIRE(tracker_out);
    tracker_out->id = 0;
    FM_RETURN(fmgo_generic_pool_get_tracker(pool.id, &tracker_out->id));
}

ferrum_status
ferrum_fallback_manager_create(ferrum_device device, ferrum_device host,
                               const ferrum_memory_config *config,
                               ferrum_fallback_manager *manager_out) {
    FM_ENTER();
    FM_REQUIRE(manager_out);
    manager_out->id = 0;
    ferrum_memory_config config_full = FERRUM_MEMORY_CONFIG_INIT;
    if (config != NULL)
        FM_STRUCT_IN(config, config_full);
    FM_LOOK();
    FM_RETURN(fmgo_fallback_manager_create(device.id, host.id, &config_full,
                                           &manager_out->id));
}

ferrum_status ferrum_fallback_manager_destroy(ferrum_fallback_manager manager,
                                              uint32_t flags) {
    FM_ENTER();
    FM_NOT_IN_HOST_FUNCTION();
    FM_RETURN(fmgo_fallback_manager_destroy(manager.id, flags));
}

ferrum_status
ferrum_fallback_manager_get_backend_name(ferrum_fallback_manager manager,
                                         char *buffer, size_t capacity,
                                         size_t *length_out) {
    FM_ENTER();
    FM_TEXT_OUT(buffer, capacity, length_out);
    FM_RETURN(fmgo_fallback_manager_get_backend_name(manager.id, buffer,
                                                     capacity, length_out));
}

ferrum_status
ferrum_fallback_manager_get_stats(ferrum_fallback_manager manager,
                                  ferrum_memory_stats *stats_out) {
    FM_ENTER();
    FM_REQUIRE(stats_out);
    FM_STRUCT_OUT(stats_out);
    ferrum_memory_stats stats_full = FERRUM_MEMORY_STATS_INIT;
    FM_RETURN_STRUCT(fmgo_fallback_manager_get_stats(manager.id, &stats_full),
                     stats_out, stats_full);
}

ferrum_status
ferrum_fallback_manager_get_fallback_stats(ferrum_fallback_manager manager,
                                           ferrum_fallback_stats *stats_out) {
    FM_ENTER();
    FM_REQUIRE(stats_out);
    FM_STRUCT_OUT(stats_out);
    ferrum_fallback_stats stats_full = FERRUM_FALLBACK_STATS_INIT;
    FM_RETURN_STRUCT(
        fmgo_fallback_manager_get_fallback_stats(manager.id, &stats_full),
        stats_out, stats_full);
}

ferrum_status
ferrum_fallback_manager_get_memory(ferrum_fallback_manager manager,
                                   uint64_t *total_out, uint64_t *free_out) {
    FM_ENTER();
    FM_REQUIRE(total_out);
    *total_out = 0;
    FM_REQUIRE(free_out);
    *free_out = 0;
    FM_RETURN(
        fmgo_fallback_manager_get_memory(manager.id, total_out, free_out));
}

ferrum_status
ferrum_fallback_manager_get_pressure(ferrum_fallback_manager manager,
                                     ferrum_pressure_level *level_out) {
    FM_ENTER();
    FM_REQUIRE(level_out);
    *level_out = 0;
    FM_RETURN(fmgo_fallback_manager_get_pressure(manager.id, level_out));
}

ferrum_status ferrum_fallback_manager_pressure_callback_add(
    ferrum_fallback_manager manager, ferrum_pressure_fn callback,
    void *user_data, ferrum_registration *registration_out) {
    FM_ENTER();
    FM_REQUIRE(registration_out);
    registration_out->id = 0;
    FM_REQUIRE(callback);
    FM_RETURN(fmgo_fallback_manager_pressure_callback_add(
        manager.id, callback, (uintptr_t)user_data, &registration_out->id));
}

ferrum_status
ferrum_fallback_manager_clear_pool(ferrum_fallback_manager manager) {
    FM_ENTER();
    FM_RETURN(fmgo_fallback_manager_clear_pool(manager.id));
}

ferrum_status ferrum_fallback_manager_shrink(ferrum_fallback_manager manager,
                                             uint64_t *released_out) {
    FM_ENTER();
    FM_REQUIRE(released_out);
    *released_out = 0;
    FM_RETURN(fmgo_fallback_manager_shrink(manager.id, released_out));
}

ferrum_status
ferrum_fallback_manager_get_tracker(ferrum_fallback_manager manager,
                                    ferrum_tracker *tracker_out) {
    FM_ENTER();
    FM_REQUIRE(tracker_out);
    tracker_out->id = 0;
    FM_RETURN(fmgo_fallback_manager_get_tracker(manager.id, &tracker_out->id));
}

ferrum_status
ferrum_fallback_manager_alloc(ferrum_fallback_manager manager,
                              const ferrum_buffer_request *request,
                              ferrum_fallback_buffer *buffer_out) {
    FM_ENTER();
    FM_REQUIRE(buffer_out);
    buffer_out->id = 0;
    FM_REQUIRE(request);
    ferrum_buffer_request request_full = FERRUM_BUFFER_REQUEST_INIT;
    FM_STRUCT_IN(request, request_full);
    FM_RETURN(fmgo_fallback_manager_alloc(manager.id, &request_full,
                                          &buffer_out->id));
}

ferrum_status
ferrum_fallback_manager_return_buffers(ferrum_fallback_manager manager,
                                       uint64_t *moved_out) {
    FM_ENTER();
    FM_REQUIRE(moved_out);
    *moved_out = 0;
    FM_NOT_IN_HOST_FUNCTION();
    FM_RETURN(fmgo_fallback_manager_return_buffers(manager.id, moved_out));
}

ferrum_status ferrum_fallback_buffer_free(ferrum_fallback_buffer buffer,
                                          ferrum_stream stream) {
    FM_ENTER();
    FM_NOT_IN_HOST_FUNCTION();
    FM_RETURN(fmgo_fallback_buffer_free(buffer.id, stream.id));
}

ferrum_status
ferrum_fallback_buffer_get_info(ferrum_fallback_buffer buffer,
                                ferrum_fallback_buffer_info *info_out) {
    FM_ENTER();
    FM_REQUIRE(info_out);
    FM_STRUCT_OUT(info_out);
    ferrum_fallback_buffer_info info_full = FERRUM_FALLBACK_BUFFER_INFO_INIT;
    FM_RETURN_STRUCT(fmgo_fallback_buffer_get_info(buffer.id, &info_full),
                     info_out, info_full);
}

ferrum_status
ferrum_fallback_buffer_get_address(ferrum_fallback_buffer buffer,
                                   ferrum_buffer_location location,
                                   ferrum_address *address_out) {
    FM_ENTER();
    FM_REQUIRE(address_out);
    *address_out = 0;
    FM_RETURN(
        fmgo_fallback_buffer_get_address(buffer.id, location, address_out));
}

ferrum_status ferrum_fallback_buffer_move(ferrum_fallback_buffer buffer,
                                          ferrum_buffer_location location) {
    FM_ENTER();
    FM_NOT_IN_HOST_FUNCTION();
    FM_RETURN(fmgo_fallback_buffer_move(buffer.id, location));
}

ferrum_status ferrum_fallback_buffer_pin(ferrum_fallback_buffer buffer,
                                         ferrum_address *address_out,
                                         ferrum_buffer_location *location_out) {
    FM_ENTER();
    if (address_out != NULL)
        *address_out = 0;
    if (location_out != NULL)
        *location_out = 0;
    FM_NOT_IN_HOST_FUNCTION();
    ferrum_address address_full = 0;
    ferrum_buffer_location location_full = 0;
    ferrum_status status =
        fmgo_fallback_buffer_pin(buffer.id, &address_full, &location_full);
    if (status != FERRUM_OK)
        return fm_failed_in(__func__, status);
    if (address_out != NULL)
        *address_out = address_full;
    if (location_out != NULL)
        *location_out = location_full;
    return FERRUM_OK;
}

ferrum_status ferrum_fallback_buffer_unpin(ferrum_fallback_buffer buffer) {
    FM_ENTER();
    FM_RETURN(fmgo_fallback_buffer_unpin(buffer.id));
}

ferrum_status ferrum_fallback_buffer_write(ferrum_fallback_buffer buffer,
                                           uint64_t offset_bytes,
                                           const void *source,
                                           uint64_t size_bytes) {
    FM_ENTER();
    FM_REQUIRE(source);
    FM_NOT_IN_HOST_FUNCTION();
    FM_RETURN(fmgo_fallback_buffer_write(buffer.id, offset_bytes,
                                         (uintptr_t)source, size_bytes));
}

ferrum_status ferrum_fallback_buffer_read(ferrum_fallback_buffer buffer,
                                          uint64_t offset_bytes,
                                          void *destination,
                                          uint64_t size_bytes) {
    FM_ENTER();
    FM_REQUIRE(destination);
    FM_NOT_IN_HOST_FUNCTION();
    FM_RETURN(fmgo_fallback_buffer_read(buffer.id, offset_bytes,
                                        (uintptr_t)destination, size_bytes));
}

ferrum_status ferrum_fallback_buffer_take(ferrum_fallback_buffer buffer,
                                          ferrum_buffer_location location,
                                          ferrum_address *address_out) {
    FM_ENTER();
    FM_REQUIRE(address_out);
    *address_out = 0;
    FM_NOT_IN_HOST_FUNCTION();
    FM_RETURN(fmgo_fallback_buffer_take(buffer.id, location, address_out));
}

ferrum_status ferrum_fallback_manager_adopt(
    ferrum_fallback_manager manager, ferrum_buffer_location location,
    ferrum_address address, const ferrum_buffer_request *request,
    ferrum_fallback_buffer *buffer_out) {
    FM_ENTER();
    FM_REQUIRE(buffer_out);
    buffer_out->id = 0;
    FM_REQUIRE(request);
    ferrum_buffer_request request_full = FERRUM_BUFFER_REQUEST_INIT;
    FM_STRUCT_IN(request, request_full);
    FM_RETURN(fmgo_fallback_manager_adopt(manager.id, location, address,
                                          &request_full, &buffer_out->id));
}

ferrum_status ferrum_fallback_manager_release(ferrum_fallback_manager manager,
                                              ferrum_buffer_location location,
                                              ferrum_address address,
                                              ferrum_stream stream) {
    FM_ENTER();
    FM_RETURN(fmgo_fallback_manager_release(manager.id, location, address,
                                            stream.id));
}

ferrum_status ferrum_round_up_power_of_2(uint64_t n, uint64_t *result_out) {
    FM_ENTER();
    FM_REQUIRE(result_out);
    *result_out = 0;
    FM_RETURN(fmgo_round_up_power_of_2(n, result_out));
}

ferrum_status ferrum_size_class(uint64_t size_bytes,
                                uint64_t *class_bytes_out) {
    FM_ENTER();
    FM_REQUIRE(class_bytes_out);
    *class_bytes_out = 0;
    FM_RETURN(fmgo_size_class(size_bytes, class_bytes_out));
}

ferrum_status ferrum_f32_bytes(uint64_t count, uint64_t *bytes_out) {
    FM_ENTER();
    FM_REQUIRE(bytes_out);
    *bytes_out = 0;
    FM_RETURN(fmgo_f32_bytes(count, bytes_out));
}

ferrum_status ferrum_f16_bytes(uint64_t count, uint64_t *bytes_out) {
    FM_ENTER();
    FM_REQUIRE(bytes_out);
    *bytes_out = 0;
    FM_RETURN(fmgo_f16_bytes(count, bytes_out));
}
