/* ferrum_mem/base.h and devices.h: the library, backends and devices. */
#include "_cgo_export.h"
#include "guard.h"
#include "guest.h"
#include "signals.h"

ferrum_status ferrum_init(const ferrum_config *config) {
    FM_ENTER();
    ferrum_config full = FERRUM_CONFIG_INIT;
    if (config != NULL)
        FM_STRUCT_IN(config, full);
    ferrum_status status = fm_guest_start(__func__);
    if (status != FERRUM_OK)
        return status;
    status = fmgo_init(config == NULL ? NULL : &full);
    if (status != FERRUM_OK)
        return fm_failed_in(__func__, status);
    /* Who joins a library that runs has it look as well. */
    fm_handlers_look();
    return FERRUM_OK;
}

ferrum_status ferrum_shutdown(uint32_t flags) {
    FM_ENTER();
    FM_RETURN(fmgo_shutdown(flags));
}

ferrum_status ferrum_log_set_callback(ferrum_log_level minimum_level,
                                      ferrum_log_fn callback, void *user_data) {
    FM_ENTER();
    FM_RETURN(
        fmgo_log_set_callback(minimum_level, callback, (uintptr_t)user_data));
}

ferrum_status ferrum_backends_json(char *buffer, size_t capacity,
                                   size_t *length_out) {
    FM_ENTER();
    FM_TEXT_OUT(buffer, capacity, length_out);
    FM_RETURN(fmgo_backends_json(buffer, capacity, length_out));
}

ferrum_status ferrum_device_open(const char *id, ferrum_device *device_out) {
    FM_ENTER();
    FM_REQUIRE(device_out);
    device_out->id = 0;
    FM_REQUIRE(id);
    FM_LOOK();
    FM_RETURN(fmgo_device_open((char *)id, &device_out->id));
}

ferrum_status ferrum_device_close(ferrum_device device, uint32_t flags) {
    FM_ENTER();
    FM_NOT_IN_HOST_FUNCTION();
    FM_RETURN(fmgo_device_close(device.id, flags));
}

ferrum_status ferrum_device_get_info(ferrum_device device,
                                     ferrum_device_info *info_out) {
    FM_ENTER();
    FM_REQUIRE(info_out);
    FM_STRUCT_OUT(info_out);
    ferrum_device_info full = FERRUM_DEVICE_INFO_INIT;
    FM_RETURN_STRUCT(fmgo_device_get_info(device.id, &full), info_out, full);
}

ferrum_status ferrum_device_synchronize(ferrum_device device,
                                        uint64_t timeout_ns) {
    FM_ENTER();
    FM_NOT_IN_HOST_FUNCTION();
    FM_RETURN(fmgo_device_synchronize(device.id, timeout_ns));
}

ferrum_status ferrum_device_set_limit(ferrum_device device,
                                      uint64_t limit_bytes) {
    FM_ENTER();
    FM_RETURN(fmgo_device_set_limit(device.id, limit_bytes));
}

ferrum_status ferrum_device_measure_bandwidth(ferrum_device device,
                                              double *gbps_out) {
    FM_ENTER();
    FM_REQUIRE(gbps_out);
    *gbps_out = 0;
    FM_NOT_IN_HOST_FUNCTION();
    FM_RETURN(fmgo_device_measure_bandwidth(device.id, gbps_out));
}
