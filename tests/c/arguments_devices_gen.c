/* Generated from include/ferrum_mem/devices.h by scripts/genabi.py; do not edit. */
#include "arguments.h"

static const ferrum_backend_choice init_ferrum_backend_choice =
    FERRUM_BACKEND_CHOICE_INIT;
static const struct_type type_ferrum_backend_choice = {
    sizeof(ferrum_backend_choice), &init_ferrum_backend_choice, NULL, 0};

static const ferrum_host_info init_ferrum_host_info = FERRUM_HOST_INFO_INIT;
static const struct_type type_ferrum_host_info = {
    sizeof(ferrum_host_info), &init_ferrum_host_info, NULL, 0};

static const ferrum_device_info init_ferrum_device_info =
    FERRUM_DEVICE_INFO_INIT;
static const struct_type type_ferrum_device_info = {
    sizeof(ferrum_device_info), &init_ferrum_device_info, NULL, 0};

static ferrum_status call_backends_json(const argument *a) {
    return ferrum_backends_json(a[0].pointer, (size_t)a[1].number,
                                a[2].pointer);
}
static const parameter parameters_backends_json[] = {
    PARAMETER(buffer, BUFFER), PARAMETER(capacity, CAPACITY),
    PARAMETER(length_out, OUT, .size = sizeof(size_t))};

static ferrum_status call_backends_refresh(const argument *a) {
    (void)a;
    return ferrum_backends_refresh();
}

static ferrum_status call_backends_summary(const argument *a) {
    return ferrum_backends_summary(a[0].pointer, (size_t)a[1].number,
                                   a[2].pointer);
}
static const parameter parameters_backends_summary[] = {
    PARAMETER(buffer, BUFFER), PARAMETER(capacity, CAPACITY),
    PARAMETER(length_out, OUT, .size = sizeof(size_t))};

static ferrum_status call_backend_best(const argument *a) {
    return ferrum_backend_best(a[0].pointer);
}
static const parameter parameters_backend_best[] = {
    PARAMETER(backend_out, OUT, .size = sizeof(ferrum_backend))};

static ferrum_status call_backend_select(const argument *a) {
    return ferrum_backend_select((ferrum_backend)a[0].number,
                                 (uint64_t)a[1].number, a[2].pointer);
}
static const parameter parameters_backend_select[] = {
    PARAMETER(preference, ENUMERATION, .unknown = {-1, 6}),
    PARAMETER(required_bytes, VALUE),
    PARAMETER(choice_out, STRUCT_OUT, .type = &type_ferrum_backend_choice)};

static ferrum_status call_backend_open(const argument *a) {
    return ferrum_backend_open((ferrum_backend)a[0].number,
                               (uint64_t)a[1].number, a[2].pointer,
                               a[3].pointer);
}
static const parameter parameters_backend_open[] = {
    PARAMETER(preference, ENUMERATION, .unknown = {-1, 6}),
    PARAMETER(required_bytes, VALUE),
    PARAMETER(device_out, OUT, .size = sizeof(ferrum_device)),
    PARAMETER(choice_out, STRUCT_OUT, .type = &type_ferrum_backend_choice,
              .is_optional = 1)};

static ferrum_status call_device_can_fit(const argument *a) {
    return ferrum_device_can_fit(a[0].pointer, (uint64_t)a[1].number,
                                 a[2].pointer);
}
static const parameter parameters_device_can_fit[] = {
    PARAMETER(id, TEXT), PARAMETER(bytes, VALUE),
    PARAMETER(fits_out, OUT, .size = sizeof(uint32_t))};

static ferrum_status call_host_get_info(const argument *a) {
    return ferrum_host_get_info(a[0].pointer);
}
static const parameter parameters_host_get_info[] = {
    PARAMETER(info_out, STRUCT_OUT, .type = &type_ferrum_host_info)};

static ferrum_status call_device_open(const argument *a) {
    return ferrum_device_open(a[0].pointer, a[1].pointer);
}
static const parameter parameters_device_open[] = {
    PARAMETER(id, TEXT),
    PARAMETER(device_out, OUT, .size = sizeof(ferrum_device))};

static ferrum_status call_device_close(const argument *a) {
    return ferrum_device_close((ferrum_device){a[0].number},
                               (uint32_t)a[1].number);
}
static const parameter parameters_device_close[] = {
    PARAMETER(device, HANDLE, .kind = DEVICE), PARAMETER(flags, FLAGS)};

static ferrum_status call_device_get_info(const argument *a) {
    return ferrum_device_get_info((ferrum_device){a[0].number}, a[1].pointer);
}
static const parameter parameters_device_get_info[] = {
    PARAMETER(device, HANDLE, .kind = DEVICE),
    PARAMETER(info_out, STRUCT_OUT, .type = &type_ferrum_device_info)};

static ferrum_status call_device_synchronize(const argument *a) {
    return ferrum_device_synchronize((ferrum_device){a[0].number},
                                     (uint64_t)a[1].number);
}
static const parameter parameters_device_synchronize[] = {
    PARAMETER(device, HANDLE, .kind = DEVICE), PARAMETER(timeout_ns, VALUE)};

static ferrum_status call_device_set_limit(const argument *a) {
    return ferrum_device_set_limit((ferrum_device){a[0].number},
                                   (uint64_t)a[1].number);
}
static const parameter parameters_device_set_limit[] = {
    PARAMETER(device, HANDLE, .kind = DEVICE), PARAMETER(limit_bytes, VALUE)};

static ferrum_status call_device_measure_bandwidth(const argument *a) {
    return ferrum_device_measure_bandwidth((ferrum_device){a[0].number},
                                           a[1].pointer);
}
static const parameter parameters_device_measure_bandwidth[] = {
    PARAMETER(device, HANDLE, .kind = DEVICE),
    PARAMETER(gbps_out, OUT, .size = sizeof(double))};

const function arguments_devices[] = {
    FUNCTION(backends_json, .parameters = parameters_backends_json, .count = 3),
    FUNCTION(backends_refresh, ),
    FUNCTION(backends_summary, .parameters = parameters_backends_summary,
             .count = 3),
    FUNCTION(backend_best, .parameters = parameters_backend_best, .count = 1),
    FUNCTION(backend_select, .parameters = parameters_backend_select,
             .count = 3),
    FUNCTION(backend_open, .parameters = parameters_backend_open, .count = 4,
             .waits = 1),
    FUNCTION(device_can_fit, .parameters = parameters_device_can_fit,
             .count = 3),
    FUNCTION(host_get_info, .parameters = parameters_host_get_info, .count = 1,
             .is_stateless = 1),
    FUNCTION(device_open, .parameters = parameters_device_open, .count = 2),
    FUNCTION(device_close, .parameters = parameters_device_close, .count = 2,
             .waits = 1),
    FUNCTION(device_get_info, .parameters = parameters_device_get_info,
             .count = 2),
    FUNCTION(device_synchronize, .parameters = parameters_device_synchronize,
             .count = 2, .waits = 1),
    FUNCTION(device_set_limit, .parameters = parameters_device_set_limit,
             .count = 2),
    FUNCTION(device_measure_bandwidth,
             .parameters = parameters_device_measure_bandwidth, .count = 2,
             .waits = 1),
    {.name = NULL}};
