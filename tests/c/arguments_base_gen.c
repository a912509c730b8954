/* Generated from include/ferrum_mem/base.h by scripts/genabi.py; do not edit. */
#include "arguments.h"

static void nothing_ferrum_log_fn(ferrum_log_level level, const char *message,
                                  void *user_data) {
    (void)level;
    (void)message;
    (void)user_data;
}

static size_t nothing_ferrum_call_site_fn(char *buffer, size_t capacity,
                                          void *user_data) {
    (void)buffer;
    (void)capacity;
    (void)user_data;
    return 0;
}

static const struct_field fields_ferrum_config[] = {
    FIELD(ferrum_config, host_devices, VALUE),
    FIELD(ferrum_config, host_memory_bytes, VALUE),
    FIELD(ferrum_config, flags, FLAGS),
    FIELD(ferrum_config, reserved, RESERVED)};
static const ferrum_config init_ferrum_config = FERRUM_CONFIG_INIT;
static const struct_type type_ferrum_config = {
    sizeof(ferrum_config), &init_ferrum_config, fields_ferrum_config, 4};

static const ferrum_error_info init_ferrum_error_info = FERRUM_ERROR_INFO_INIT;
static const struct_type type_ferrum_error_info = {
    sizeof(ferrum_error_info), &init_ferrum_error_info, NULL, 0};

static ferrum_status call_init(const argument *a) {
    return ferrum_init(a[0].pointer);
}
static const parameter parameters_init[] = {PARAMETER(
    config, STRUCT_IN, .type = &type_ferrum_config, .is_optional = 1)};

static ferrum_status call_shutdown(const argument *a) {
    return ferrum_shutdown((uint32_t)a[0].number);
}
static const parameter parameters_shutdown[] = {PARAMETER(flags, FLAGS)};

static ferrum_status call_last_error(const argument *a) {
    return ferrum_last_error(a[0].pointer);
}
static const parameter parameters_last_error[] = {
    PARAMETER(error_out, STRUCT_OUT, .type = &type_ferrum_error_info)};

static ferrum_status call_log_set_callback(const argument *a) {
    return ferrum_log_set_callback((ferrum_log_level)a[0].number,
                                   (ferrum_log_fn)a[1].function, a[2].pointer);
}
static const parameter parameters_log_set_callback[] = {
    PARAMETER(minimum_level, ENUMERATION, .unknown = {-1, 4}),
    PARAMETER(callback, CALLBACK,
              .nothing = (any_function)nothing_ferrum_log_fn, .is_optional = 1),
    PARAMETER(user_data, DATA)};

static ferrum_status call_call_site_set_callback(const argument *a) {
    return ferrum_call_site_set_callback((ferrum_call_site_fn)a[0].function,
                                         a[1].pointer);
}
static const parameter parameters_call_site_set_callback[] = {
    PARAMETER(callback, CALLBACK,
              .nothing = (any_function)nothing_ferrum_call_site_fn,
              .is_optional = 1),
    PARAMETER(user_data, DATA)};

const function arguments_base[] = {
    FUNCTION(init, .parameters = parameters_init, .count = 1),
    FUNCTION(shutdown, .parameters = parameters_shutdown, .count = 1),
    FUNCTION(last_error, .parameters = parameters_last_error, .count = 1,
             .is_always = 1),
    FUNCTION(log_set_callback, .parameters = parameters_log_set_callback,
             .count = 3, .is_stateless = 1),
    FUNCTION(call_site_set_callback,
             .parameters = parameters_call_site_set_callback, .count = 2,
             .is_stateless = 1),
    {.name = NULL}};
