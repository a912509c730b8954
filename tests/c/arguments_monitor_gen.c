/* Generated from include/ferrum_mem/monitor.h by scripts/genabi.py; do not edit. */
#include "arguments.h"

static void nothing_ferrum_monitor_fn(ferrum_monitor monitor,
                                      const ferrum_device_level *levels,
                                      size_t count, void *user_data) {
    (void)monitor;
    (void)levels;
    (void)count;
    (void)user_data;
}

static ferrum_status
nothing_ferrum_placement_fn(const ferrum_placement_request *request,
                            const ferrum_placement_option *options,
                            size_t count, int64_t *chosen_out,
                            void *user_data) {
    (void)request;
    (void)options;
    (void)count;
    (void)chosen_out;
    (void)user_data;
    return 0;
}

static const struct_field fields_ferrum_monitor_config[] = {
    FIELD(ferrum_monitor_config, profile, ENUMERATION, .unknown = {-1, 2}),
    FIELD(ferrum_monitor_config, interval_ns, VALUE),
    FIELD(ferrum_monitor_config, flags, FLAGS),
    FIELD(ferrum_monitor_config, reserved, RESERVED)};
static const ferrum_monitor_config init_ferrum_monitor_config =
    FERRUM_MONITOR_CONFIG_INIT;
static const struct_type type_ferrum_monitor_config = {
    sizeof(ferrum_monitor_config), &init_ferrum_monitor_config,
    fields_ferrum_monitor_config, 4};

static const ferrum_monitor_pressure init_ferrum_monitor_pressure =
    FERRUM_MONITOR_PRESSURE_INIT;
static const struct_type type_ferrum_monitor_pressure = {
    sizeof(ferrum_monitor_pressure), &init_ferrum_monitor_pressure, NULL, 0};

static const struct_field fields_ferrum_placement_request[] = {
    FIELD(ferrum_placement_request, memory_type, VALUE),
    FIELD(ferrum_placement_request, size_bytes, VALUE),
    FIELD(ferrum_placement_request, alignment_bytes, VALUE),
    FIELD(ferrum_placement_request, expected_lifetime_ns, VALUE),
    FIELD(ferrum_placement_request, preferred, LIST),
    FIELD(ferrum_placement_request, devices, LIST),
    FIELD(ferrum_placement_request, preferred_count, VALUE),
    FIELD(ferrum_placement_request, device_count, VALUE),
    FIELD(ferrum_placement_request, flags, FLAGS),
    FIELD(ferrum_placement_request, profile, ENUMERATION, .unknown = {-1, 2})};
static const ferrum_placement_request init_ferrum_placement_request =
    FERRUM_PLACEMENT_REQUEST_INIT;
static const struct_type type_ferrum_placement_request = {
    sizeof(ferrum_placement_request), &init_ferrum_placement_request,
    fields_ferrum_placement_request, 10};

static ferrum_status call_pressure_level_of(const argument *a) {
    return ferrum_pressure_level_of((ferrum_pressure_profile)a[0].number,
                                    (uint64_t)a[1].number,
                                    (uint64_t)a[2].number, a[3].pointer);
}
static const parameter parameters_pressure_level_of[] = {
    PARAMETER(profile, ENUMERATION, .unknown = {-1, 2}),
    PARAMETER(total_bytes, VALUE), PARAMETER(free_bytes, VALUE),
    PARAMETER(level_out, OUT, .size = sizeof(ferrum_pressure_level))};

static ferrum_status call_pressure_from_utilization(const argument *a) {
    return ferrum_pressure_from_utilization(
        (ferrum_pressure_profile)a[0].number, a[1].real, a[2].pointer);
}
static const parameter parameters_pressure_from_utilization[] = {
    PARAMETER(profile, ENUMERATION, .unknown = {-1, 2}),
    PARAMETER(ratio, VALUE),
    PARAMETER(level_out, OUT, .size = sizeof(ferrum_pressure_level))};

static ferrum_status call_monitor_create(const argument *a) {
    return ferrum_monitor_create(a[0].pointer, a[1].pointer);
}
static const parameter parameters_monitor_create[] = {
    PARAMETER(config, STRUCT_IN, .type = &type_ferrum_monitor_config,
              .is_optional = 1),
    PARAMETER(monitor_out, OUT, .size = sizeof(ferrum_monitor))};

static ferrum_status call_monitor_destroy(const argument *a) {
    return ferrum_monitor_destroy((ferrum_monitor){a[0].number});
}
static const parameter parameters_monitor_destroy[] = {
    PARAMETER(monitor, HANDLE, .kind = MONITOR)};

static ferrum_status call_monitor_register(const argument *a) {
    return ferrum_monitor_register((ferrum_monitor){a[0].number},
                                   (ferrum_manager){a[1].number});
}
static const parameter parameters_monitor_register[] = {
    PARAMETER(monitor, HANDLE, .kind = MONITOR),
    PARAMETER(manager, HANDLE, .kind = MANAGER)};

static ferrum_status call_monitor_unregister(const argument *a) {
    return ferrum_monitor_unregister((ferrum_monitor){a[0].number},
                                     (ferrum_manager){a[1].number});
}
static const parameter parameters_monitor_unregister[] = {
    PARAMETER(monitor, HANDLE, .kind = MONITOR),
    PARAMETER(manager, HANDLE, .kind = MANAGER)};

static ferrum_status call_monitor_unregister_device(const argument *a) {
    return ferrum_monitor_unregister_device((ferrum_monitor){a[0].number},
                                            (ferrum_device){a[1].number});
}
static const parameter parameters_monitor_unregister_device[] = {
    PARAMETER(monitor, HANDLE, .kind = MONITOR),
    PARAMETER(device, HANDLE, .kind = DEVICE)};

static ferrum_status call_monitor_set_callback(const argument *a) {
    return ferrum_monitor_set_callback((ferrum_monitor){a[0].number},
                                       (ferrum_monitor_fn)a[1].function,
                                       a[2].pointer);
}
static const parameter parameters_monitor_set_callback[] = {
    PARAMETER(monitor, HANDLE, .kind = MONITOR),
    PARAMETER(callback, CALLBACK,
              .nothing = (any_function)nothing_ferrum_monitor_fn,
              .is_optional = 1),
    PARAMETER(user_data, DATA)};

static ferrum_status call_monitor_get_pressure(const argument *a) {
    return ferrum_monitor_get_pressure((ferrum_monitor){a[0].number},
                                       (uint64_t)a[1].number, a[2].pointer);
}
static const parameter parameters_monitor_get_pressure[] = {
    PARAMETER(monitor, HANDLE, .kind = MONITOR), PARAMETER(max_age_ns, VALUE),
    PARAMETER(pressure_out, STRUCT_OUT, .type = &type_ferrum_monitor_pressure)};

static ferrum_status call_monitor_get_levels(const argument *a) {
    return ferrum_monitor_get_levels((ferrum_monitor){a[0].number},
                                     (uint64_t)a[1].number, a[2].pointer,
                                     (size_t)a[3].number, a[4].pointer);
}
static const parameter parameters_monitor_get_levels[] = {
    PARAMETER(monitor, HANDLE, .kind = MONITOR), PARAMETER(max_age_ns, VALUE),
    PARAMETER(levels_out, PLACES), PARAMETER(capacity, CAPACITY),
    PARAMETER(count_out, OUT, .size = sizeof(size_t))};

static ferrum_status call_monitor_info_json(const argument *a) {
    return ferrum_monitor_info_json((ferrum_monitor){a[0].number},
                                    (uint64_t)a[1].number, a[2].pointer,
                                    (size_t)a[3].number, a[4].pointer);
}
static const parameter parameters_monitor_info_json[] = {
    PARAMETER(monitor, HANDLE, .kind = MONITOR), PARAMETER(max_age_ns, VALUE),
    PARAMETER(buffer, BUFFER), PARAMETER(capacity, CAPACITY),
    PARAMETER(length_out, OUT, .size = sizeof(size_t))};

static ferrum_status call_monitor_collect(const argument *a) {
    return ferrum_monitor_collect((ferrum_monitor){a[0].number}, a[1].pointer,
                                  (size_t)a[2].number, a[3].pointer);
}
static const parameter parameters_monitor_collect[] = {
    PARAMETER(monitor, HANDLE, .kind = MONITOR),
    PARAMETER(collected_out, PLACES), PARAMETER(capacity, CAPACITY),
    PARAMETER(count_out, OUT, .size = sizeof(size_t))};

static ferrum_status call_placement_create(const argument *a) {
    return ferrum_placement_create(a[0].pointer, a[1].pointer);
}
static const parameter parameters_placement_create[] = {
    PARAMETER(strategy, TEXT),
    PARAMETER(placement_out, OUT, .size = sizeof(ferrum_placement))};

static ferrum_status call_placement_create_own(const argument *a) {
    return ferrum_placement_create_own(a[0].pointer,
                                       (ferrum_placement_fn)a[1].function,
                                       a[2].pointer, a[3].pointer);
}
static const parameter parameters_placement_create_own[] = {
    PARAMETER(name, TEXT),
    PARAMETER(callback, CALLBACK,
              .nothing = (any_function)nothing_ferrum_placement_fn),
    PARAMETER(user_data, DATA),
    PARAMETER(placement_out, OUT, .size = sizeof(ferrum_placement))};

static ferrum_status call_placement_destroy(const argument *a) {
    return ferrum_placement_destroy((ferrum_placement){a[0].number});
}
static const parameter parameters_placement_destroy[] = {
    PARAMETER(placement, HANDLE, .kind = PLACEMENT)};

static ferrum_status call_placement_get_name(const argument *a) {
    return ferrum_placement_get_name((ferrum_placement){a[0].number},
                                     a[1].pointer, (size_t)a[2].number,
                                     a[3].pointer);
}
static const parameter parameters_placement_get_name[] = {
    PARAMETER(placement, HANDLE, .kind = PLACEMENT), PARAMETER(buffer, BUFFER),
    PARAMETER(capacity, CAPACITY),
    PARAMETER(length_out, OUT, .size = sizeof(size_t))};

static ferrum_status call_placement_select(const argument *a) {
    return ferrum_placement_select((ferrum_placement){a[0].number},
                                   a[1].pointer, a[2].pointer);
}
static const parameter parameters_placement_select[] = {
    PARAMETER(placement, HANDLE, .kind = PLACEMENT),
    PARAMETER(request, STRUCT_IN, .type = &type_ferrum_placement_request),
    PARAMETER(device_out, OUT, .size = sizeof(ferrum_device))};

static ferrum_status call_placement_explain_json(const argument *a) {
    return ferrum_placement_explain_json((ferrum_placement){a[0].number},
                                         a[1].pointer, a[2].pointer,
                                         (size_t)a[3].number, a[4].pointer);
}
static const parameter parameters_placement_explain_json[] = {
    PARAMETER(placement, HANDLE, .kind = PLACEMENT),
    PARAMETER(request, STRUCT_IN, .type = &type_ferrum_placement_request),
    PARAMETER(buffer, BUFFER), PARAMETER(capacity, CAPACITY),
    PARAMETER(length_out, OUT, .size = sizeof(size_t))};

const function arguments_monitor[] = {
    FUNCTION(pressure_level_of, .parameters = parameters_pressure_level_of,
             .count = 4, .is_stateless = 1),
    FUNCTION(pressure_from_utilization,
             .parameters = parameters_pressure_from_utilization, .count = 3,
             .is_stateless = 1),
    FUNCTION(monitor_create, .parameters = parameters_monitor_create,
             .count = 2),
    FUNCTION(monitor_destroy, .parameters = parameters_monitor_destroy,
             .count = 1),
    FUNCTION(monitor_register, .parameters = parameters_monitor_register,
             .count = 2),
    FUNCTION(monitor_unregister, .parameters = parameters_monitor_unregister,
             .count = 2),
    FUNCTION(monitor_unregister_device,
             .parameters = parameters_monitor_unregister_device, .count = 2),
    FUNCTION(monitor_set_callback,
             .parameters = parameters_monitor_set_callback, .count = 3),
    FUNCTION(monitor_get_pressure,
             .parameters = parameters_monitor_get_pressure, .count = 3),
    FUNCTION(monitor_get_levels, .parameters = parameters_monitor_get_levels,
             .count = 5),
    FUNCTION(monitor_info_json, .parameters = parameters_monitor_info_json,
             .count = 5),
    FUNCTION(monitor_collect, .parameters = parameters_monitor_collect,
             .count = 4, .waits = 1),
    FUNCTION(placement_create, .parameters = parameters_placement_create,
             .count = 2),
    FUNCTION(placement_create_own,
             .parameters = parameters_placement_create_own, .count = 4),
    FUNCTION(placement_destroy, .parameters = parameters_placement_destroy,
             .count = 1),
    FUNCTION(placement_get_name, .parameters = parameters_placement_get_name,
             .count = 4),
    FUNCTION(placement_select, .parameters = parameters_placement_select,
             .count = 3),
    FUNCTION(placement_explain_json,
             .parameters = parameters_placement_explain_json, .count = 5),
    {.name = NULL}};
