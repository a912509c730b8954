/* ferrum_mem/monitor.h: levels, recent memory information and monitors. */
#include "_cgo_export.h"
#include "guard.h"
#include "guest.h"
#include "mirror.h"

ferrum_status
ferrum_device_get_recent_memory_info(ferrum_device device, uint64_t max_age_ns,
                                     ferrum_memory_info *info_out) {
    FM_ENTER();
    FM_REQUIRE(info_out);
    ferrum_memory_info full = FERRUM_MEMORY_INFO_INIT;
    enum fm_mirror_reading reading =
        fm_mirror_read(device.id, max_age_ns, &full);
    if (reading == FM_MIRROR_READ && info_out->struct_size == sizeof full) {
        *info_out = full;
        return FERRUM_OK;
    }
    FM_STRUCT_OUT(info_out);
    if (reading == FM_MIRROR_HIDDEN) {
        ferrum_status status = fmgo_memory_show(device.id);
        if (status != FERRUM_OK)
            return fm_failed_in(__func__, status);
        reading = fm_mirror_read(device.id, max_age_ns, &full);
    }
    if (reading == FM_MIRROR_READ) {
        fm_struct_give(info_out, &full, sizeof full);
        return FERRUM_OK;
    }
    FM_RETURN_STRUCT(
        fmgo_device_get_recent_memory_info(device.id, max_age_ns, &full),
        info_out, full);
}

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
    ferrum_monitor_config full = FERRUM_MONITOR_CONFIG_INIT;
    if (config != NULL)
        FM_STRUCT_IN(config, full);
    FM_LOOK();
    FM_RETURN(fmgo_monitor_create(&full, &monitor_out->id));
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
    ferrum_monitor_pressure full = FERRUM_MONITOR_PRESSURE_INIT;
    FM_RETURN_STRUCT(fmgo_monitor_get_pressure(monitor.id, max_age_ns, &full),
                     pressure_out, full);
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
