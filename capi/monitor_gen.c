/* Generated from include/ferrum_mem/monitor.h by scripts/genabi.py; do not edit. */
#include "_cgo_export.h"
#include "guard.h"
#include "guest.h"

ferrum_status ferrum_pressure_level_of(ferrum_pressure_profile profile,
                                       uint64_t total_bytes,
                                       uint64_t free_bytes,
                                       ferrum_pressure_level *level_out) {
    FM_ENTER();
    FM_REQUIRE(level_out);
    *level_out = 0;
    FM_RETURN(
        fmgo_pressure_level_of(profile, total_bytes, free_bytes, level_out));
}

ferrum_status
ferrum_pressure_from_utilization(ferrum_pressure_profile profile, double ratio,
                                 ferrum_pressure_level *level_out) {
    FM_ENTER();
    FM_REQUIRE(level_out);
    *level_out = 0;
    FM_RETURN(fmgo_pressure_from_utilization(profile, ratio, level_out));
}

ferrum_status ferrum_monitor_create(const ferrum_monitor_config *config,
                                    ferrum_monitor *monitor_out) {
    FM_ENTER();
    FM_REQUIRE(monitor_out);
    monitor_out->id = 0;
    ferrum_monitor_config config_full = FERRUM_MONITOR_CONFIG_INIT;
    if (config != NULL)
        FM_STRUCT_IN(config, config_full);
    FM_LOOK();
    FM_RETURN(fmgo_monitor_create(&config_full, &monitor_out->id));
}

ferrum_status ferrum_monitor_destroy(ferrum_monitor monitor) {
    FM_ENTER();
    FM_RETURN(fmgo_monitor_destroy(monitor.id));
}

ferrum_status ferrum_monitor_register(ferrum_monitor monitor,
                                      ferrum_manager manager) {
    FM_ENTER();
    FM_RETURN(fmgo_monitor_register(monitor.id, manager.id));
}

ferrum_status ferrum_monitor_unregister(ferrum_monitor monitor,
                                        ferrum_manager manager) {
    FM_ENTER();
    FM_RETURN(fmgo_monitor_unregister(monitor.id, manager.id));
}

ferrum_status ferrum_monitor_unregister_device(ferrum_monitor monitor,
                                               ferrum_device device) {
    FM_ENTER();
    FM_RETURN(fmgo_monitor_unregister_device(monitor.id, device.id));
}

ferrum_status ferrum_monitor_set_callback(ferrum_monitor monitor,
                                          ferrum_monitor_fn callback,
                                          void *user_data) {
    FM_ENTER();
    FM_RETURN(
        fmgo_monitor_set_callback(monitor.id, callback, (uintptr_t)user_data));
}

ferrum_status
ferrum_monitor_get_pressure(ferrum_monitor monitor, uint64_t max_age_ns,
                            ferrum_monitor_pressure *pressure_out) {
    FM_ENTER();
    FM_REQUIRE(pressure_out);
    FM_STRUCT_OUT(pressure_out);
    ferrum_monitor_pressure pressure_full = FERRUM_MONITOR_PRESSURE_INIT;
    FM_RETURN_STRUCT(
        fmgo_monitor_get_pressure(monitor.id, max_age_ns, &pressure_full),
        pressure_out, pressure_full);
}

ferrum_status ferrum_monitor_get_levels(ferrum_monitor monitor,
                                        uint64_t max_age_ns,
                                        ferrum_device_level *levels_out,
                                        size_t capacity, size_t *count_out) {
    FM_ENTER();
    FM_REQUIRE(count_out);
    *count_out = 0;
    if (capacity > 0)
        FM_REQUIRE(levels_out);
    FM_RETURN(fmgo_monitor_get_levels(monitor.id, max_age_ns, levels_out,
                                      capacity, count_out));
}

ferrum_status ferrum_monitor_info_json(ferrum_monitor monitor,
                                       uint64_t max_age_ns, char *buffer,
                                       size_t capacity, size_t *length_out) {
    FM_ENTER();
    FM_TEXT_OUT(buffer, capacity, length_out);
    FM_RETURN(fmgo_monitor_info_json(monitor.id, max_age_ns, buffer, capacity,
                                     length_out));
}

ferrum_status ferrum_monitor_collect(ferrum_monitor monitor,
                                     ferrum_collected *collected_out,
                                     size_t capacity, size_t *count_out) {
    FM_ENTER();
    FM_REQUIRE(count_out);
    *count_out = 0;
    if (capacity > 0)
        FM_REQUIRE(collected_out);
    FM_NOT_IN_HOST_FUNCTION();
    FM_RETURN(
        fmgo_monitor_collect(monitor.id, collected_out, capacity, count_out));
}

ferrum_status ferrum_placement_create(const char *strategy,
                                      ferrum_placement *placement_out) {
    FM_ENTER();
    FM_REQUIRE(placement_out);
    placement_out->id = 0;
    FM_REQUIRE(strategy);
    FM_LOOK();
    FM_RETURN(fmgo_placement_create((char *)strategy, &placement_out->id));
}

ferrum_status ferrum_placement_create_own(const char *name,
                                          ferrum_placement_fn callback,
                                          void *user_data,
                                          ferrum_placement *placement_out) {
    FM_ENTER();
    FM_REQUIRE(placement_out);
    placement_out->id = 0;
    FM_REQUIRE(name);
    FM_REQUIRE(callback);
    FM_LOOK();
    FM_RETURN(fmgo_placement_create_own(
        (char *)name, callback, (uintptr_t)user_data, &placement_out->id));
}

ferrum_status ferrum_placement_destroy(ferrum_placement placement) {
    FM_ENTER();
    FM_RETURN(fmgo_placement_destroy(placement.id));
}

ferrum_status ferrum_placement_get_name(ferrum_placement placement,
                                        char *buffer, size_t capacity,
                                        size_t *length_out) {
    FM_ENTER();
    FM_TEXT_OUT(buffer, capacity, length_out);
    FM_RETURN(
        fmgo_placement_get_name(placement.id, buffer, capacity, length_out));
}

ferrum_status ferrum_placement_select(ferrum_placement placement,
                                      const ferrum_placement_request *request,
                                      ferrum_device *device_out) {
    FM_ENTER();
    FM_REQUIRE(device_out);
    device_out->id = 0;
    FM_REQUIRE(request);
    ferrum_placement_request request_full = FERRUM_PLACEMENT_REQUEST_INIT;
    FM_STRUCT_IN(request, request_full);
    FM_RETURN(
        fmgo_placement_select(placement.id, &request_full, &device_out->id));
}

ferrum_status ferrum_placement_explain_json(
    ferrum_placement placement, const ferrum_placement_request *request,
    char *buffer, size_t capacity, size_t *length_out) {
    FM_ENTER();
    FM_TEXT_OUT(buffer, capacity, length_out);
    FM_REQUIRE(request);
    ferrum_placement_request request_full = FERRUM_PLACEMENT_REQUEST_INIT;
    FM_STRUCT_IN(request, request_full);
    FM_RETURN(fmgo_placement_explain_json(placement.id, &request_full, buffer,
                                          capacity, length_out));
}
