/* Generated from include/ferrum_mem/callbacks.h by scripts/genabi.py; do not edit. */
#include "_cgo_export.h"
#include "guard.h"
#include "guest.h"

ferrum_status ferrum_device_pressure_callback_add(
    ferrum_device device, ferrum_pressure_fn callback, void *user_data,
    ferrum_registration *registration_out) {
    FM_ENTER();
    FM_REQUIRE(registration_out);
    registration_out->id = 0;
    FM_REQUIRE(callback);
    FM_RETURN(fmgo_device_pressure_callback_add(
        device.id, callback, (uintptr_t)user_data, &registration_out->id));
}

ferrum_status
ferrum_device_reclaim_callback_add(ferrum_device device,
                                   const ferrum_reclaim_config *config,
                                   ferrum_reclaim_fn callback, void *user_data,
                                   ferrum_registration *registration_out) {
    FM_ENTER();
    FM_REQUIRE(registration_out);
    registration_out->id = 0;
    FM_REQUIRE(callback);
    ferrum_reclaim_config config_full = FERRUM_RECLAIM_CONFIG_INIT;
    if (config != NULL)
        FM_STRUCT_IN(config, config_full);
    FM_RETURN(fmgo_device_reclaim_callback_add(device.id, &config_full,
                                               callback, (uintptr_t)user_data,
                                               &registration_out->id));
}

ferrum_status ferrum_registration_remove(ferrum_registration registration) {
    FM_ENTER();
    FM_RETURN(fmgo_registration_remove(registration.id));
}
