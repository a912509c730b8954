/* Generated from include/ferrum_mem/mapping.h by scripts/genabi.py; do not edit. */
#include "arguments.h"

static const struct_field fields_ferrum_map_request[] = {
    FIELD(ferrum_map_request, access, ENUMERATION, .unknown = {-1, 3}),
    FIELD(ferrum_map_request, memory, HANDLE, .kind = MEMORY),
    FIELD(ferrum_map_request, offset_bytes, VALUE),
    FIELD(ferrum_map_request, size_bytes, VALUE)};
static const ferrum_map_request init_ferrum_map_request =
    FERRUM_MAP_REQUEST_INIT;
static const struct_type type_ferrum_map_request = {
    sizeof(ferrum_map_request), &init_ferrum_map_request,
    fields_ferrum_map_request, 4};

static const ferrum_mapping init_ferrum_mapping = FERRUM_MAPPING_INIT;
static const struct_type type_ferrum_mapping = {sizeof(ferrum_mapping),
                                                &init_ferrum_mapping, NULL, 0};

static const struct_field fields_ferrum_link_request[] = {
    FIELD(ferrum_link_request, reserved, RESERVED),
    FIELD(ferrum_link_request, size_bytes, VALUE),
    FIELD(ferrum_link_request, alignment_bytes, VALUE),
    FIELD(ferrum_link_request, tag, TEXT)};
static const ferrum_link_request init_ferrum_link_request =
    FERRUM_LINK_REQUEST_INIT;
static const struct_type type_ferrum_link_request = {
    sizeof(ferrum_link_request), &init_ferrum_link_request,
    fields_ferrum_link_request, 4};

static const ferrum_usage_hints init_ferrum_usage_hints =
    FERRUM_USAGE_HINTS_INIT;
static const struct_type type_ferrum_usage_hints = {
    sizeof(ferrum_usage_hints), &init_ferrum_usage_hints, NULL, 0};

static const ferrum_access_stats init_ferrum_access_stats =
    FERRUM_ACCESS_STATS_INIT;
static const struct_type type_ferrum_access_stats = {
    sizeof(ferrum_access_stats), &init_ferrum_access_stats, NULL, 0};

static const struct_field fields_ferrum_adoption[] = {
    FIELD(ferrum_adoption, memory_type, ENUMERATION, .unknown = {-1, 8}),
    FIELD(ferrum_adoption, address, VALUE),
    FIELD(ferrum_adoption, size_bytes, VALUE),
    FIELD(ferrum_adoption, tag, TEXT),
    FIELD(ferrum_adoption, is_read_only, TRUTH),
    FIELD(ferrum_adoption, reserved, RESERVED)};
static const ferrum_adoption init_ferrum_adoption = FERRUM_ADOPTION_INIT;
static const struct_type type_ferrum_adoption = {
    sizeof(ferrum_adoption), &init_ferrum_adoption, fields_ferrum_adoption, 6};

static const struct_field fields_ferrum_foreign_stream[] = {
    FIELD(ferrum_foreign_stream, reserved, RESERVED),
    FIELD(ferrum_foreign_stream, native_handle, VALUE)};
static const ferrum_foreign_stream init_ferrum_foreign_stream =
    FERRUM_FOREIGN_STREAM_INIT;
static const struct_type type_ferrum_foreign_stream = {
    sizeof(ferrum_foreign_stream), &init_ferrum_foreign_stream,
    fields_ferrum_foreign_stream, 2};

static ferrum_status call_memory_map(const argument *a) {
    return ferrum_memory_map(a[0].pointer, a[1].pointer);
}
static const parameter parameters_memory_map[] = {
    PARAMETER(request, STRUCT_IN, .type = &type_ferrum_map_request),
    PARAMETER(mapping_out, STRUCT_OUT, .type = &type_ferrum_mapping)};

static ferrum_status call_memory_unmap(const argument *a) {
    return ferrum_memory_unmap((ferrum_memory){a[0].number},
                               (uint64_t)a[1].number);
}
static const parameter parameters_memory_unmap[] = {
    PARAMETER(memory, HANDLE, .kind = MEMORY), PARAMETER(mapping_id, VALUE)};

static ferrum_status call_manager_create_mapping(const argument *a) {
    return ferrum_manager_create_mapping(
        (ferrum_manager){a[0].number}, (ferrum_manager){a[1].number},
        a[2].pointer, a[3].pointer, a[4].pointer);
}
static const parameter parameters_manager_create_mapping[] = {
    PARAMETER(first, HANDLE, .kind = MANAGER),
    PARAMETER(second, HANDLE, .kind = MANAGER),
    PARAMETER(request, STRUCT_IN, .type = &type_ferrum_link_request),
    PARAMETER(first_out, OUT, .size = sizeof(ferrum_memory)),
    PARAMETER(second_out, OUT, .size = sizeof(ferrum_memory))};

static ferrum_status call_memory_prefetch(const argument *a) {
    return ferrum_memory_prefetch((ferrum_memory){a[0].number},
                                  (ferrum_device){a[1].number},
                                  (ferrum_stream){a[2].number});
}
static const parameter parameters_memory_prefetch[] = {
    PARAMETER(memory, HANDLE, .kind = MEMORY),
    PARAMETER(target, HANDLE, .kind = DEVICE),
    PARAMETER(stream, HANDLE, .kind = STREAM, .is_optional = 1)};

static ferrum_status call_memory_set_usage_hint(const argument *a) {
    return ferrum_memory_set_usage_hint((ferrum_memory){a[0].number},
                                        (ferrum_usage_hint)a[1].number);
}
static const parameter parameters_memory_set_usage_hint[] = {
    PARAMETER(memory, HANDLE, .kind = MEMORY),
    PARAMETER(hint, ENUMERATION, .unknown = {-1, 7})};

static ferrum_status call_memory_get_usage_hints(const argument *a) {
    return ferrum_memory_get_usage_hints((ferrum_memory){a[0].number},
                                         a[1].pointer);
}
static const parameter parameters_memory_get_usage_hints[] = {
    PARAMETER(memory, HANDLE, .kind = MEMORY),
    PARAMETER(hints_out, STRUCT_OUT, .type = &type_ferrum_usage_hints)};

static ferrum_status call_memory_get_access_stats(const argument *a) {
    return ferrum_memory_get_access_stats((ferrum_memory){a[0].number},
                                          a[1].pointer);
}
static const parameter parameters_memory_get_access_stats[] = {
    PARAMETER(memory, HANDLE, .kind = MEMORY),
    PARAMETER(stats_out, STRUCT_OUT, .type = &type_ferrum_access_stats)};

static ferrum_status call_manager_adopt(const argument *a) {
    return ferrum_manager_adopt((ferrum_manager){a[0].number}, a[1].pointer,
                                a[2].pointer);
}
static const parameter parameters_manager_adopt[] = {
    PARAMETER(manager, HANDLE, .kind = MANAGER),
    PARAMETER(adoption, STRUCT_IN, .type = &type_ferrum_adoption),
    PARAMETER(memory_out, OUT, .size = sizeof(ferrum_memory))};

static ferrum_status call_stream_adopt(const argument *a) {
    return ferrum_stream_adopt((ferrum_device){a[0].number}, a[1].pointer,
                               a[2].pointer);
}
static const parameter parameters_stream_adopt[] = {
    PARAMETER(device, HANDLE, .kind = DEVICE),
    PARAMETER(foreign, STRUCT_IN, .type = &type_ferrum_foreign_stream),
    PARAMETER(stream_out, OUT, .size = sizeof(ferrum_stream))};

static ferrum_status call_event_adopt(const argument *a) {
    return ferrum_event_adopt((ferrum_device){a[0].number},
                              (uint64_t)a[1].number, a[2].pointer);
}
static const parameter parameters_event_adopt[] = {
    PARAMETER(device, HANDLE, .kind = DEVICE), PARAMETER(native_handle, VALUE),
    PARAMETER(event_out, OUT, .size = sizeof(ferrum_event))};

const function arguments_mapping[] = {
    FUNCTION(memory_map, .parameters = parameters_memory_map, .count = 2,
             .waits = 1),
    FUNCTION(memory_unmap, .parameters = parameters_memory_unmap, .count = 2,
             .waits = 1),
    FUNCTION(manager_create_mapping,
             .parameters = parameters_manager_create_mapping, .count = 5),
    FUNCTION(memory_prefetch, .parameters = parameters_memory_prefetch,
             .count = 3),
    FUNCTION(memory_set_usage_hint,
             .parameters = parameters_memory_set_usage_hint, .count = 2),
    FUNCTION(memory_get_usage_hints,
             .parameters = parameters_memory_get_usage_hints, .count = 2),
    FUNCTION(memory_get_access_stats,
             .parameters = parameters_memory_get_access_stats, .count = 2),
    FUNCTION(manager_adopt, .parameters = parameters_manager_adopt, .count = 3),
    FUNCTION(stream_adopt, .parameters = parameters_stream_adopt, .count = 3),
    FUNCTION(event_adopt, .parameters = parameters_event_adopt, .count = 3),
    {.name = NULL}};
