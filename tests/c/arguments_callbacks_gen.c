/* Generated from include/ferrum_mem/callbacks.h by scripts/genabi.py; do not edit. */
#include "arguments.h"

static void nothing_ferrum_pressure_fn(ferrum_device device,
                                       ferrum_pressure_level level,
                                       void *user_data) {
    (void)device;
    (void)level;
    (void)user_data;
}

static uint64_t nothing_ferrum_reclaim_fn(ferrum_device device,
                                          uint64_t needed_bytes,
                                          void *user_data) {
    (void)device;
    (void)needed_bytes;
    (void)user_data;
    return 0;
}

static const struct_field fields_ferrum_reclaim_config[] = {
    FIELD(ferrum_reclaim_config, priority, VALUE),
    FIELD(ferrum_reclaim_config, deadline_ns, VALUE)};
static const ferrum_reclaim_config init_ferrum_reclaim_config =
    FERRUM_RECLAIM_CONFIG_INIT;
static const struct_type type_ferrum_reclaim_config = {
    sizeof(ferrum_reclaim_config), &init_ferrum_reclaim_config,
    fields_ferrum_reclaim_config, 2};

static ferrum_status call_device_pressure_callback_add(const argument *a) {
    return ferrum_device_pressure_callback_add(
        (ferrum_device){a[0].number}, (ferrum_pressure_fn)a[1].function,
        a[2].pointer, a[3].pointer);
}
static const parameter parameters_device_pressure_callback_add[] = {
    PARAMETER(device, HANDLE, .kind = DEVICE),
    PARAMETER(callback, CALLBACK,
              .nothing = (any_function)nothing_ferrum_pressure_fn),
    PARAMETER(user_data, DATA),
    PARAMETER(registration_out, OUT, .size = sizeof(ferrum_registration))};

static ferrum_status call_device_reclaim_callback_add(const argument *a) {
    return ferrum_device_reclaim_callback_add(
        (ferrum_device){a[0].number}, a[1].pointer,
        (ferrum_reclaim_fn)a[2].function, a[3].pointer, a[4].pointer);
}
static const parameter parameters_device_reclaim_callback_add[] = {
    PARAMETER(device, HANDLE, .kind = DEVICE),
    PARAMETER(config, STRUCT_IN, .type = &type_ferrum_reclaim_config,
              .is_optional = 1),
    PARAMETER(callback, CALLBACK,
              .nothing = (any_function)nothing_ferrum_reclaim_fn),
    PARAMETER(user_data, DATA),
    PARAMETER(registration_out, OUT, .size = sizeof(ferrum_registration))};

static ferrum_status call_registration_remove(const argument *a) {
    return ferrum_registration_remove((ferrum_registration){a[0].number});
}
static const parameter parameters_registration_remove[] = {
    PARAMETER(registration, HANDLE, .kind = REGISTRATION)};

const function arguments_callbacks[] = {
    FUNCTION(device_pressure_callback_add,
             .parameters = parameters_device_pressure_callback_add, .count = 4),
    FUNCTION(device_reclaim_callback_add,
             .parameters = parameters_device_reclaim_callback_add, .count = 5),
    FUNCTION(registration_remove, .parameters = parameters_registration_remove,
             .count = 1),
    {.name = NULL}};
