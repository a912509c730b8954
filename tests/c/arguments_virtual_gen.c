/* Generated from include/ferrum_mem/virtual.h by scripts/genabi.py; do not edit. */
#include "arguments.h"

static const ferrum_page_sizes init_ferrum_page_sizes = FERRUM_PAGE_SIZES_INIT;
static const struct_type type_ferrum_page_sizes = {
    sizeof(ferrum_page_sizes), &init_ferrum_page_sizes, NULL, 0};

static const struct_field fields_ferrum_vpool_config[] = {
    FIELD(ferrum_vpool_config, flags, FLAGS),
    FIELD(ferrum_vpool_config, capacity_bytes, VALUE),
    FIELD(ferrum_vpool_config, page_bytes, VALUE),
    FIELD(ferrum_vpool_config, limit_bytes, VALUE),
    FIELD(ferrum_vpool_config, name, TEXT),
    FIELD(ferrum_vpool_config, ready_pages, VALUE),
    FIELD(ferrum_vpool_config, backing, ENUMERATION, .unknown = {-1, 5})};
static const ferrum_vpool_config init_ferrum_vpool_config =
    FERRUM_VPOOL_CONFIG_INIT;
static const struct_type type_ferrum_vpool_config = {
    sizeof(ferrum_vpool_config), &init_ferrum_vpool_config,
    fields_ferrum_vpool_config, 7};

static const struct_field fields_ferrum_vpool_request[] = {
    FIELD(ferrum_vpool_request, reserved, RESERVED),
    FIELD(ferrum_vpool_request, offset_bytes, VALUE),
    FIELD(ferrum_vpool_request, size_bytes, VALUE),
    FIELD(ferrum_vpool_request, tag, TEXT),
    FIELD(ferrum_vpool_request, asleep_wait_ns, VALUE),
    FIELD(ferrum_vpool_request, stream, HANDLE, .kind = STREAM,
          .is_optional = 1)};
static const ferrum_vpool_request init_ferrum_vpool_request =
    FERRUM_VPOOL_REQUEST_INIT;
static const struct_type type_ferrum_vpool_request = {
    sizeof(ferrum_vpool_request), &init_ferrum_vpool_request,
    fields_ferrum_vpool_request, 6};

static const struct_field fields_ferrum_batch_options[] = {
    FIELD(ferrum_batch_options, reserved, RESERVED),
    FIELD(ferrum_batch_options, tag, TEXT),
    FIELD(ferrum_batch_options, asleep_wait_ns, VALUE),
    FIELD(ferrum_batch_options, stream, HANDLE, .kind = STREAM,
          .is_optional = 1)};
static const ferrum_batch_options init_ferrum_batch_options =
    FERRUM_BATCH_OPTIONS_INIT;
static const struct_type type_ferrum_batch_options = {
    sizeof(ferrum_batch_options), &init_ferrum_batch_options,
    fields_ferrum_batch_options, 4};

static const ferrum_vpool_info init_ferrum_vpool_info = FERRUM_VPOOL_INFO_INIT;
static const struct_type type_ferrum_vpool_info = {
    sizeof(ferrum_vpool_info), &init_ferrum_vpool_info, NULL, 0};

static const ferrum_statistics init_ferrum_statistics = FERRUM_STATISTICS_INIT;
static const struct_type type_ferrum_statistics = {
    sizeof(ferrum_statistics), &init_ferrum_statistics, NULL, 0};

static const ferrum_compact_report init_ferrum_compact_report =
    FERRUM_COMPACT_REPORT_INIT;
static const struct_type type_ferrum_compact_report = {
    sizeof(ferrum_compact_report), &init_ferrum_compact_report, NULL, 0};

static ferrum_status call_device_get_page_sizes(const argument *a) {
    return ferrum_device_get_page_sizes((ferrum_device){a[0].number},
                                        a[1].pointer);
}
static const parameter parameters_device_get_page_sizes[] = {
    PARAMETER(device, HANDLE, .kind = DEVICE),
    PARAMETER(sizes_out, STRUCT_OUT, .type = &type_ferrum_page_sizes)};

static ferrum_status call_vpool_create(const argument *a) {
    return ferrum_vpool_create((ferrum_device){a[0].number}, a[1].pointer,
                               a[2].pointer);
}
static const parameter parameters_vpool_create[] = {
    PARAMETER(device, HANDLE, .kind = DEVICE),
    PARAMETER(config, STRUCT_IN, .type = &type_ferrum_vpool_config),
    PARAMETER(vpool_out, OUT, .size = sizeof(ferrum_vpool))};

static ferrum_status call_vpool_destroy(const argument *a) {
    return ferrum_vpool_destroy((ferrum_vpool){a[0].number},
                                (uint32_t)a[1].number);
}
static const parameter parameters_vpool_destroy[] = {
    PARAMETER(vpool, HANDLE, .kind = VPOOL), PARAMETER(flags, FLAGS)};

static ferrum_status call_vpool_alloc(const argument *a) {
    return ferrum_vpool_alloc((ferrum_vpool){a[0].number},
                              (uint64_t)a[1].number, (uint64_t)a[2].number,
                              a[3].pointer);
}
static const parameter parameters_vpool_alloc[] = {
    PARAMETER(vpool, HANDLE, .kind = VPOOL), PARAMETER(offset_bytes, VALUE),
    PARAMETER(size_bytes, VALUE),
    PARAMETER(address_out, OUT, .size = sizeof(ferrum_address))};

static ferrum_status call_vpool_alloc_with(const argument *a) {
    return ferrum_vpool_alloc_with((ferrum_vpool){a[0].number}, a[1].pointer,
                                   a[2].pointer);
}
static const parameter parameters_vpool_alloc_with[] = {
    PARAMETER(vpool, HANDLE, .kind = VPOOL),
    PARAMETER(request, STRUCT_IN, .type = &type_ferrum_vpool_request),
    PARAMETER(address_out, OUT, .size = sizeof(ferrum_address))};

static ferrum_status call_vpool_alloc_batch(const argument *a) {
    return ferrum_vpool_alloc_batch((ferrum_vpool){a[0].number}, a[1].pointer,
                                    (uint64_t)a[2].number, a[3].pointer);
}
static const parameter parameters_vpool_alloc_batch[] = {
    PARAMETER(vpool, HANDLE, .kind = VPOOL),
    PARAMETER(ranges, ARRAY, .size = sizeof(ferrum_byte_range)),
    PARAMETER(count, VALUE),
    PARAMETER(options, STRUCT_IN, .type = &type_ferrum_batch_options,
              .is_optional = 1)};

static ferrum_status call_vpool_free(const argument *a) {
    return ferrum_vpool_free((ferrum_vpool){a[0].number}, (uint64_t)a[1].number,
                             (uint64_t)a[2].number,
                             (ferrum_stream){a[3].number});
}
static const parameter parameters_vpool_free[] = {
    PARAMETER(vpool, HANDLE, .kind = VPOOL), PARAMETER(offset_bytes, VALUE),
    PARAMETER(size_bytes, VALUE),
    PARAMETER(stream, HANDLE, .kind = STREAM, .is_optional = 1)};

static ferrum_status call_vpool_free_batch(const argument *a) {
    return ferrum_vpool_free_batch((ferrum_vpool){a[0].number}, a[1].pointer,
                                   (uint64_t)a[2].number,
                                   (ferrum_stream){a[3].number});
}
static const parameter parameters_vpool_free_batch[] = {
    PARAMETER(vpool, HANDLE, .kind = VPOOL),
    PARAMETER(ranges, ARRAY, .size = sizeof(ferrum_byte_range)),
    PARAMETER(count, VALUE),
    PARAMETER(stream, HANDLE, .kind = STREAM, .is_optional = 1)};

static ferrum_status call_vpool_record_stream(const argument *a) {
    return ferrum_vpool_record_stream(
        (ferrum_vpool){a[0].number}, (uint64_t)a[1].number,
        (uint64_t)a[2].number, (ferrum_stream){a[3].number});
}
static const parameter parameters_vpool_record_stream[] = {
    PARAMETER(vpool, HANDLE, .kind = VPOOL), PARAMETER(offset_bytes, VALUE),
    PARAMETER(size_bytes, VALUE),
    PARAMETER(stream, HANDLE, .kind = STREAM, .is_optional = 1)};

static ferrum_status call_vpool_record_stream_batch(const argument *a) {
    return ferrum_vpool_record_stream_batch((ferrum_vpool){a[0].number},
                                            a[1].pointer, (uint64_t)a[2].number,
                                            (ferrum_stream){a[3].number});
}
static const parameter parameters_vpool_record_stream_batch[] = {
    PARAMETER(vpool, HANDLE, .kind = VPOOL),
    PARAMETER(ranges, ARRAY, .size = sizeof(ferrum_byte_range)),
    PARAMETER(count, VALUE),
    PARAMETER(stream, HANDLE, .kind = STREAM, .is_optional = 1)};

static ferrum_status call_vpool_is_mapped(const argument *a) {
    return ferrum_vpool_is_mapped((ferrum_vpool){a[0].number},
                                  (uint64_t)a[1].number, (uint64_t)a[2].number,
                                  a[3].pointer);
}
static const parameter parameters_vpool_is_mapped[] = {
    PARAMETER(vpool, HANDLE, .kind = VPOOL), PARAMETER(offset_bytes, VALUE),
    PARAMETER(size_bytes, VALUE),
    PARAMETER(mapped_out, OUT, .size = sizeof(uint32_t))};

static ferrum_status call_vpool_get_info(const argument *a) {
    return ferrum_vpool_get_info((ferrum_vpool){a[0].number}, a[1].pointer);
}
static const parameter parameters_vpool_get_info[] = {
    PARAMETER(vpool, HANDLE, .kind = VPOOL),
    PARAMETER(info_out, STRUCT_OUT, .type = &type_ferrum_vpool_info)};

static ferrum_status call_vpool_get_statistics(const argument *a) {
    return ferrum_vpool_get_statistics((ferrum_vpool){a[0].number},
                                       a[1].pointer);
}
static const parameter parameters_vpool_get_statistics[] = {
    PARAMETER(vpool, HANDLE, .kind = VPOOL),
    PARAMETER(statistics_out, STRUCT_OUT, .type = &type_ferrum_statistics)};

static ferrum_status call_vpool_compact(const argument *a) {
    return ferrum_vpool_compact((ferrum_vpool){a[0].number}, a[1].pointer);
}
static const parameter parameters_vpool_compact[] = {
    PARAMETER(vpool, HANDLE, .kind = VPOOL),
    PARAMETER(report_out, STRUCT_OUT, .type = &type_ferrum_compact_report)};

static ferrum_status call_vpool_trim(const argument *a) {
    return ferrum_vpool_trim((ferrum_vpool){a[0].number}, (uint64_t)a[1].number,
                             a[2].pointer);
}
static const parameter parameters_vpool_trim[] = {
    PARAMETER(vpool, HANDLE, .kind = VPOOL), PARAMETER(keep_bytes, VALUE),
    PARAMETER(released_bytes_out, OUT, .size = sizeof(uint64_t))};

static ferrum_status call_vpool_set_limit(const argument *a) {
    return ferrum_vpool_set_limit((ferrum_vpool){a[0].number},
                                  (uint64_t)a[1].number);
}
static const parameter parameters_vpool_set_limit[] = {
    PARAMETER(vpool, HANDLE, .kind = VPOOL), PARAMETER(limit_bytes, VALUE)};

static ferrum_status call_vpool_synchronize(const argument *a) {
    return ferrum_vpool_synchronize((ferrum_vpool){a[0].number},
                                    (uint64_t)a[1].number);
}
static const parameter parameters_vpool_synchronize[] = {
    PARAMETER(vpool, HANDLE, .kind = VPOOL), PARAMETER(timeout_ns, VALUE)};

static ferrum_status call_vpool_pause(const argument *a) {
    return ferrum_vpool_pause((ferrum_vpool){a[0].number});
}
static const parameter parameters_vpool_pause[] = {
    PARAMETER(vpool, HANDLE, .kind = VPOOL)};

static ferrum_status call_vpool_resume(const argument *a) {
    return ferrum_vpool_resume((ferrum_vpool){a[0].number});
}
static const parameter parameters_vpool_resume[] = {
    PARAMETER(vpool, HANDLE, .kind = VPOOL)};

const function arguments_virtual[] = {
    FUNCTION(device_get_page_sizes,
             .parameters = parameters_device_get_page_sizes, .count = 2),
    FUNCTION(vpool_create, .parameters = parameters_vpool_create, .count = 3),
    FUNCTION(vpool_destroy, .parameters = parameters_vpool_destroy, .count = 2,
             .waits = 1),
    FUNCTION(vpool_alloc, .parameters = parameters_vpool_alloc, .count = 4),
    FUNCTION(vpool_alloc_with, .parameters = parameters_vpool_alloc_with,
             .count = 3),
    FUNCTION(vpool_alloc_batch, .parameters = parameters_vpool_alloc_batch,
             .count = 4),
    FUNCTION(vpool_free, .parameters = parameters_vpool_free, .count = 4),
    FUNCTION(vpool_free_batch, .parameters = parameters_vpool_free_batch,
             .count = 4),
    FUNCTION(vpool_record_stream, .parameters = parameters_vpool_record_stream,
             .count = 4),
    FUNCTION(vpool_record_stream_batch,
             .parameters = parameters_vpool_record_stream_batch, .count = 4),
    FUNCTION(vpool_is_mapped, .parameters = parameters_vpool_is_mapped,
             .count = 4),
    FUNCTION(vpool_get_info, .parameters = parameters_vpool_get_info,
             .count = 2),
    FUNCTION(vpool_get_statistics,
             .parameters = parameters_vpool_get_statistics, .count = 2),
    FUNCTION(vpool_compact, .parameters = parameters_vpool_compact, .count = 2),
    FUNCTION(vpool_trim, .parameters = parameters_vpool_trim, .count = 3),
    FUNCTION(vpool_set_limit, .parameters = parameters_vpool_set_limit,
             .count = 2),
    FUNCTION(vpool_synchronize, .parameters = parameters_vpool_synchronize,
             .count = 2, .waits = 1),
    FUNCTION(vpool_pause, .parameters = parameters_vpool_pause, .count = 1),
    FUNCTION(vpool_resume, .parameters = parameters_vpool_resume, .count = 1),
    {.name = NULL}};
