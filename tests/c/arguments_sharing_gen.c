/* Generated from include/ferrum_mem/sharing.h by scripts/genabi.py; do not edit. */
#include "arguments.h"

static const struct_field fields_ferrum_page_import[] = {
    FIELD(ferrum_page_import, reserved, RESERVED),
    FIELD(ferrum_page_import, descriptors, LIST),
    FIELD(ferrum_page_import, count, VALUE),
    FIELD(ferrum_page_import, page_bytes, VALUE),
    FIELD(ferrum_page_import, tag, TEXT),
    FIELD(ferrum_page_import, fabric_handles, LIST),
    FIELD(ferrum_page_import, fabric_handle_bytes, VALUE)};
static const ferrum_page_import init_ferrum_page_import =
    FERRUM_PAGE_IMPORT_INIT;
static const struct_type type_ferrum_page_import = {
    sizeof(ferrum_page_import), &init_ferrum_page_import,
    fields_ferrum_page_import, 7};

static const struct_field fields_ferrum_shared_memory[] = {
    FIELD(ferrum_shared_memory, reserved, RESERVED),
    FIELD(ferrum_shared_memory, offset_bytes, VALUE),
    FIELD(ferrum_shared_memory, size_bytes, VALUE)};
static const ferrum_shared_memory init_ferrum_shared_memory =
    FERRUM_SHARED_MEMORY_INIT;
static const struct_type type_ferrum_shared_memory = {
    sizeof(ferrum_shared_memory), &init_ferrum_shared_memory,
    fields_ferrum_shared_memory, 3};

static const struct_field fields_ferrum_shared_event[] = {
    FIELD(ferrum_shared_event, reserved, RESERVED)};
static const ferrum_shared_event init_ferrum_shared_event =
    FERRUM_SHARED_EVENT_INIT;
static const struct_type type_ferrum_shared_event = {
    sizeof(ferrum_shared_event), &init_ferrum_shared_event,
    fields_ferrum_shared_event, 1};

static ferrum_status call_device_open_native(const argument *a) {
    return ferrum_device_open_native(a[0].pointer, (uint64_t)a[1].number,
                                     a[2].pointer);
}
static const parameter parameters_device_open_native[] = {
    PARAMETER(id, TEXT), PARAMETER(native_context, VALUE),
    PARAMETER(device_out, OUT, .size = sizeof(ferrum_device))};

static ferrum_status call_device_get_native(const argument *a) {
    return ferrum_device_get_native((ferrum_device){a[0].number}, a[1].pointer);
}
static const parameter parameters_device_get_native[] = {
    PARAMETER(device, HANDLE, .kind = DEVICE),
    PARAMETER(native_out, OUT, .size = sizeof(uint64_t))};

static ferrum_status call_stream_get_native(const argument *a) {
    return ferrum_stream_get_native((ferrum_stream){a[0].number}, a[1].pointer);
}
static const parameter parameters_stream_get_native[] = {
    PARAMETER(stream, HANDLE, .kind = STREAM),
    PARAMETER(native_out, OUT, .size = sizeof(uint64_t))};

static ferrum_status call_event_get_native(const argument *a) {
    return ferrum_event_get_native((ferrum_event){a[0].number}, a[1].pointer);
}
static const parameter parameters_event_get_native[] = {
    PARAMETER(event, HANDLE, .kind = EVENT),
    PARAMETER(native_out, OUT, .size = sizeof(uint64_t))};

static ferrum_status call_device_grant_peer(const argument *a) {
    return ferrum_device_grant_peer((ferrum_device){a[0].number},
                                    (ferrum_device){a[1].number});
}
static const parameter parameters_device_grant_peer[] = {
    PARAMETER(device, HANDLE, .kind = DEVICE),
    PARAMETER(peer, HANDLE, .kind = DEVICE)};

static ferrum_status call_vpool_export(const argument *a) {
    return ferrum_vpool_export((ferrum_vpool){a[0].number},
                               (uint64_t)a[1].number, (uint64_t)a[2].number,
                               a[3].pointer, (size_t)a[4].number, a[5].pointer);
}
static const parameter parameters_vpool_export[] = {
    PARAMETER(vpool, HANDLE, .kind = VPOOL),
    PARAMETER(offset_bytes, VALUE),
    PARAMETER(size_bytes, VALUE),
    PARAMETER(descriptors_out, PLACES),
    PARAMETER(capacity, CAPACITY),
    PARAMETER(count_out, OUT, .size = sizeof(size_t))};

static ferrum_status call_vpool_export_fabric(const argument *a) {
    return ferrum_vpool_export_fabric(
        (ferrum_vpool){a[0].number}, (uint64_t)a[1].number,
        (uint64_t)a[2].number, a[3].pointer, (size_t)a[4].number, a[5].pointer);
}
static const parameter parameters_vpool_export_fabric[] = {
    PARAMETER(vpool, HANDLE, .kind = VPOOL),
    PARAMETER(offset_bytes, VALUE),
    PARAMETER(size_bytes, VALUE),
    PARAMETER(handles_out, PLACES),
    PARAMETER(capacity, CAPACITY),
    PARAMETER(count_out, OUT, .size = sizeof(size_t))};

static ferrum_status call_manager_import_pages(const argument *a) {
    return ferrum_manager_import_pages((ferrum_manager){a[0].number},
                                       a[1].pointer, a[2].pointer);
}
static const parameter parameters_manager_import_pages[] = {
    PARAMETER(manager, HANDLE, .kind = MANAGER),
    PARAMETER(pages, STRUCT_IN, .type = &type_ferrum_page_import),
    PARAMETER(memory_out, OUT, .size = sizeof(ferrum_memory))};

static ferrum_status call_device_share_memory(const argument *a) {
    return ferrum_device_share_memory((ferrum_device){a[0].number},
                                      (ferrum_address)a[1].number,
                                      (uint64_t)a[2].number, a[3].pointer);
}
static const parameter parameters_device_share_memory[] = {
    PARAMETER(device, HANDLE, .kind = DEVICE), PARAMETER(address, VALUE),
    PARAMETER(size_bytes, VALUE),
    PARAMETER(shared_out, STRUCT_OUT, .type = &type_ferrum_shared_memory)};

static ferrum_status call_manager_import_memory(const argument *a) {
    return ferrum_manager_import_memory((ferrum_manager){a[0].number},
                                        a[1].pointer, a[2].pointer,
                                        a[3].pointer);
}
static const parameter parameters_manager_import_memory[] = {
    PARAMETER(manager, HANDLE, .kind = MANAGER),
    PARAMETER(shared, STRUCT_IN, .type = &type_ferrum_shared_memory),
    PARAMETER(tag, TEXT, .is_optional = 1),
    PARAMETER(memory_out, OUT, .size = sizeof(ferrum_memory))};

static ferrum_status call_event_share(const argument *a) {
    return ferrum_event_share((ferrum_stream){a[0].number}, a[1].pointer,
                              a[2].pointer);
}
static const parameter parameters_event_share[] = {
    PARAMETER(stream, HANDLE, .kind = STREAM),
    PARAMETER(shared_out, STRUCT_OUT, .type = &type_ferrum_shared_event),
    PARAMETER(event_out, OUT, .size = sizeof(ferrum_event))};

static ferrum_status call_event_open(const argument *a) {
    return ferrum_event_open((ferrum_device){a[0].number}, a[1].pointer,
                             a[2].pointer);
}
static const parameter parameters_event_open[] = {
    PARAMETER(device, HANDLE, .kind = DEVICE),
    PARAMETER(shared, STRUCT_IN, .type = &type_ferrum_shared_event),
    PARAMETER(event_out, OUT, .size = sizeof(ferrum_event))};

const function arguments_sharing[] = {
    FUNCTION(device_open_native, .parameters = parameters_device_open_native,
             .count = 3),
    FUNCTION(device_get_native, .parameters = parameters_device_get_native,
             .count = 2),
    FUNCTION(stream_get_native, .parameters = parameters_stream_get_native,
             .count = 2),
    FUNCTION(event_get_native, .parameters = parameters_event_get_native,
             .count = 2),
    FUNCTION(device_grant_peer, .parameters = parameters_device_grant_peer,
             .count = 2),
    FUNCTION(vpool_export, .parameters = parameters_vpool_export, .count = 6),
    FUNCTION(vpool_export_fabric, .parameters = parameters_vpool_export_fabric,
             .count = 6),
    FUNCTION(manager_import_pages,
             .parameters = parameters_manager_import_pages, .count = 3),
    FUNCTION(device_share_memory, .parameters = parameters_device_share_memory,
             .count = 4),
    FUNCTION(manager_import_memory,
             .parameters = parameters_manager_import_memory, .count = 4),
    FUNCTION(event_share, .parameters = parameters_event_share, .count = 3),
    FUNCTION(event_open, .parameters = parameters_event_open, .count = 3),
    {.name = NULL}};
