/* Generated from include/ferrum_mem/books.h by scripts/genabi.py; do not edit. */
#include "arguments.h"

static const ferrum_memory_info init_ferrum_memory_info =
    FERRUM_MEMORY_INFO_INIT;
static const struct_type type_ferrum_memory_info = {
    sizeof(ferrum_memory_info), &init_ferrum_memory_info, NULL, 0};

static const ferrum_statistics init_ferrum_statistics = FERRUM_STATISTICS_INIT;
static const struct_type type_ferrum_statistics = {
    sizeof(ferrum_statistics), &init_ferrum_statistics, NULL, 0};

static ferrum_status call_device_get_memory_info(const argument *a) {
    return ferrum_device_get_memory_info((ferrum_device){a[0].number},
                                         a[1].pointer);
}
static const parameter parameters_device_get_memory_info[] = {
    PARAMETER(device, HANDLE, .kind = DEVICE),
    PARAMETER(info_out, STRUCT_OUT, .type = &type_ferrum_memory_info)};

static ferrum_status call_device_get_recent_memory_info(const argument *a) {
    return ferrum_device_get_recent_memory_info(
        (ferrum_device){a[0].number}, (uint64_t)a[1].number, a[2].pointer);
}
static const parameter parameters_device_get_recent_memory_info[] = {
    PARAMETER(device, HANDLE, .kind = DEVICE), PARAMETER(max_age_ns, VALUE),
    PARAMETER(info_out, STRUCT_OUT, .type = &type_ferrum_memory_info)};

static ferrum_status call_device_get_statistics(const argument *a) {
    return ferrum_device_get_statistics((ferrum_device){a[0].number},
                                        a[1].pointer);
}
static const parameter parameters_device_get_statistics[] = {
    PARAMETER(device, HANDLE, .kind = DEVICE),
    PARAMETER(statistics_out, STRUCT_OUT, .type = &type_ferrum_statistics)};

static ferrum_status call_snapshot_json(const argument *a) {
    return ferrum_snapshot_json(a[0].pointer, (size_t)a[1].number,
                                a[2].pointer);
}
static const parameter parameters_snapshot_json[] = {
    PARAMETER(buffer, BUFFER), PARAMETER(capacity, CAPACITY),
    PARAMETER(length_out, OUT, .size = sizeof(size_t))};

static ferrum_status call_leak_report_json(const argument *a) {
    return ferrum_leak_report_json(a[0].pointer, (size_t)a[1].number,
                                   a[2].pointer);
}
static const parameter parameters_leak_report_json[] = {
    PARAMETER(buffer, BUFFER), PARAMETER(capacity, CAPACITY),
    PARAMETER(length_out, OUT, .size = sizeof(size_t))};

const function arguments_books[] = {
    FUNCTION(device_get_memory_info,
             .parameters = parameters_device_get_memory_info, .count = 2),
    FUNCTION(device_get_recent_memory_info,
             .parameters = parameters_device_get_recent_memory_info,
             .count = 3),
    FUNCTION(device_get_statistics,
             .parameters = parameters_device_get_statistics, .count = 2),
    FUNCTION(snapshot_json, .parameters = parameters_snapshot_json, .count = 3),
    FUNCTION(leak_report_json, .parameters = parameters_leak_report_json,
             .count = 3, .is_stateless = 1),
    {.name = NULL}};
