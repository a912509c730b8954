/* ferrum_mem/fallback.h: fallback managers and their buffers. */
#include "_cgo_export.h"
#include "guard.h"
#include "guest.h"

ferrum_status
ferrum_fallback_manager_create(ferrum_device device, ferrum_device host,
                               const ferrum_memory_config *config,
                               ferrum_fallback_manager *manager_out) {
    FM_ENTER();
    FM_REQUIRE(manager_out);
    manager_out->id = 0;
    ferrum_memory_config full = FERRUM_MEMORY_CONFIG_INIT;
    if (config != NULL)
        FM_STRUCT_IN(config, full);
    FM_LOOK();
    FM_RETURN(fmgo_fallback_manager_create(device.id, host.id, &full,
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
    ferrum_memory_stats full = FERRUM_MEMORY_STATS_INIT;
    FM_RETURN_STRUCT(fmgo_fallback_manager_get_stats(manager.id, &full),
                     stats_out, full);
}

ferrum_status
ferrum_fallback_manager_get_fallback_stats(ferrum_fallback_manager manager,
                                           ferrum_fallback_stats *stats_out) {
    FM_ENTER();
    FM_REQUIRE(stats_out);
    FM_STRUCT_OUT(stats_out);
    ferrum_fallback_stats full = FERRUM_FALLBACK_STATS_INIT;
    FM_RETURN_STRUCT(
        fmgo_fallback_manager_get_fallback_stats(manager.id, &full), stats_out,
        full);
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
    ferrum_buffer_request full = FERRUM_BUFFER_REQUEST_INIT;
    FM_STRUCT_IN(request, full);
    FM_RETURN(fmgo_fallback_manager_alloc(manager.id, &full, &buffer_out->id));
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

ferrum_status ferrum_fallback_manager_adopt(
    ferrum_fallback_manager manager, ferrum_buffer_location location,
    ferrum_address address, const ferrum_buffer_request *request,
    ferrum_fallback_buffer *buffer_out) {
    FM_ENTER();
    FM_REQUIRE(buffer_out);
    buffer_out->id = 0;
    FM_REQUIRE(request);
    ferrum_buffer_request full = FERRUM_BUFFER_REQUEST_INIT;
    FM_STRUCT_IN(request, full);
    FM_RETURN(fmgo_fallback_manager_adopt(manager.id, location, address, &full,
                                          &buffer_out->id));
}

ferrum_status ferrum_fallback_manager_release(ferrum_fallback_manager manager,
                                              ferrum_buffer_location location,
                                              ferrum_address address,
                                              ferrum_stream stream) {
    FM_ENTER();
    FM_RETURN(fmgo_fallback_manager_release(manager.id, location, address,
                                            stream.id));
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
    ferrum_fallback_buffer_info full = FERRUM_FALLBACK_BUFFER_INFO_INIT;
    FM_RETURN_STRUCT(fmgo_fallback_buffer_get_info(buffer.id, &full), info_out,
                     full);
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
    ferrum_address address = 0;
    ferrum_buffer_location location = 0;
    if (address_out != NULL)
        *address_out = 0;
    if (location_out != NULL)
        *location_out = 0;
    FM_NOT_IN_HOST_FUNCTION();
    ferrum_status status =
        fmgo_fallback_buffer_pin(buffer.id, &address, &location);
    if (status == FERRUM_OK && address_out != NULL)
        *address_out = address;
    if (status == FERRUM_OK && location_out != NULL)
        *location_out = location;
    FM_RETURN(status);
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
