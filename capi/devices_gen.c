/* Generated from include/ferrum_mem/devices.h by scripts/genabi.py; do not edit. */
#include "_cgo_export.h"
#include "guard.h"
#include "guest.h"

ferrum_status ferrum_backends_json(char *buffer, size_t capacity,
                                   size_t *length_out) {
    FM_ENTER();
    FM_TEXT_OUT(buffer, capacity, length_out);
    FM_RETURN(fmgo_backends_json(buffer, capacity, length_out));
}

ferrum_status ferrum_backends_refresh(void) {
    FM_ENTER();
    FM_RETURN(fmgo_backends_refresh());
}

ferrum_status ferrum_backends_summary(char *buffer, size_t capacity,
                                      size_t *length_out) {
    FM_ENTER();
    FM_TEXT_OUT(buffer, capacity, length_out);
    FM_RETURN(fmgo_backends_summary(buffer, capacity, length_out));
}

ferrum_status ferrum_backend_best(ferrum_backend *backend_out) {
    FM_ENTER();
    FM_REQUIRE(backend_out);
    *backend_out = 0;
    FM_RETURN(fmgo_backend_best(backend_out));
}

ferrum_status ferrum_backend_select(ferrum_backend preference,
                                    uint64_t required_bytes,
                                    ferrum_backend_choice *choice_out) {
    FM_ENTER();
    FM_REQUIRE(choice_out);
    FM_STRUCT_OUT(choice_out);
    ferrum_backend_choice choice_full = FERRUM_BACKEND_CHOICE_INIT;
    FM_RETURN_STRUCT(
        fmgo_backend_select(preference, required_bytes, &choice_full),
        choice_out, choice_full);
}

ferrum_status ferrum_backend_open(ferrum_backend preference,
                                  uint64_t required_bytes,
                                  ferrum_device *device_out,
                                  ferrum_backend_choice *choice_out) {
    FM_ENTER();
    FM_REQUIRE(device_out);
    device_out->id = 0;
    if (choice_out != NULL)
        FM_STRUCT_OUT(choice_out);
    FM_NOT_IN_HOST_FUNCTION();
    FM_LOOK();
    ferrum_backend_choice choice_full = FERRUM_BACKEND_CHOICE_INIT;
    ferrum_status status = fmgo_backend_open(preference, required_bytes,
                                             &device_out->id, &choice_full);
    if (status != FERRUM_OK)
        return fm_failed_in(__func__, status);
    if (choice_out != NULL)
        fm_struct_give(choice_out, &choice_full, sizeof choice_full);
    return FERRUM_OK;
}

ferrum_status ferrum_device_can_fit(const char *id, uint64_t bytes,
                                    uint32_t *fits_out) {
    FM_ENTER();
    FM_REQUIRE(fits_out);
    *fits_out = 0;
    FM_REQUIRE(id);
    FM_RETURN(fmgo_device_can_fit((char *)id, bytes, fits_out));
}

ferrum_status ferrum_host_get_info(ferrum_host_info *info_out) {
    FM_ENTER();
    FM_REQUIRE(info_out);
    FM_STRUCT_OUT(info_out);
    ferrum_host_info info_full = FERRUM_HOST_INFO_INIT;
    FM_RETURN_STRUCT(fmgo_host_get_info(&info_full), info_out, info_full);
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
    ferrum_device_info info_full = FERRUM_DEVICE_INFO_INIT;
    FM_RETURN_STRUCT(fmgo_device_get_info(device.id, &info_full), info_out,
                     info_full);
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
