/* Generated from include/ferrum_mem/pools.h by scripts/genabi.py; do not edit. */
#include "arguments.h"

static const struct_field fields_ferrum_pool_config[] = {
    FIELD(ferrum_pool_config, enable_auto_expansion, TRUTH),
    FIELD(ferrum_pool_config, initial_size_bytes, VALUE),
    FIELD(ferrum_pool_config, max_size_bytes, VALUE),
    FIELD(ferrum_pool_config, growth_increment_bytes, VALUE),
    FIELD(ferrum_pool_config, alignment_bytes, VALUE),
    FIELD(ferrum_pool_config, pre_allocate, TRUTH),
    FIELD(ferrum_pool_config, enable_stats, TRUTH),
    FIELD(ferrum_pool_config, strategy, TEXT),
    FIELD(ferrum_pool_config, name, TEXT),
    FIELD(ferrum_pool_config, tracking, TRUTH),
    FIELD(ferrum_pool_config, debug, FLAGS),
    FIELD(ferrum_pool_config, thread_cache_bytes, VALUE),
    FIELD(ferrum_pool_config, min_held_bytes, VALUE),
    FIELD(ferrum_pool_config, release_threshold_bytes, VALUE),
    FIELD(ferrum_pool_config, fixed_block_bytes, VALUE),
    FIELD(ferrum_pool_config, page_bytes, VALUE),
    FIELD(ferrum_pool_config, paging, ENUMERATION, .unknown = {-1, 3}),
    FIELD(ferrum_pool_config, ready_pages, VALUE),
    FIELD(ferrum_pool_config, physical_page_bytes, VALUE),
    FIELD(ferrum_pool_config, segment_source, ENUMERATION, .unknown = {-1, 2}),
    FIELD(ferrum_pool_config, reserved, RESERVED)};
static const ferrum_pool_config init_ferrum_pool_config =
    FERRUM_POOL_CONFIG_INIT;
static const struct_type type_ferrum_pool_config = {
    sizeof(ferrum_pool_config), &init_ferrum_pool_config,
    fields_ferrum_pool_config, 21};

static const struct_field fields_ferrum_pool_request[] = {
    FIELD(ferrum_pool_request, tag, VALUE),
    FIELD(ferrum_pool_request, size_bytes, VALUE),
    FIELD(ferrum_pool_request, alignment_bytes, VALUE),
    FIELD(ferrum_pool_request, stream, HANDLE, .kind = STREAM,
          .is_optional = 1),
    FIELD(ferrum_pool_request, expected_lifetime_ns, VALUE),
    FIELD(ferrum_pool_request, group, VALUE)};
static const ferrum_pool_request init_ferrum_pool_request =
    FERRUM_POOL_REQUEST_INIT;
static const struct_type type_ferrum_pool_request = {
    sizeof(ferrum_pool_request), &init_ferrum_pool_request,
    fields_ferrum_pool_request, 6};

static const ferrum_graph_info init_ferrum_graph_info = FERRUM_GRAPH_INFO_INIT;
static const struct_type type_ferrum_graph_info = {
    sizeof(ferrum_graph_info), &init_ferrum_graph_info, NULL, 0};

static const ferrum_pool_info init_ferrum_pool_info = FERRUM_POOL_INFO_INIT;
static const struct_type type_ferrum_pool_info = {
    sizeof(ferrum_pool_info), &init_ferrum_pool_info, NULL, 0};

static const ferrum_statistics init_ferrum_statistics = FERRUM_STATISTICS_INIT;
static const struct_type type_ferrum_statistics = {
    sizeof(ferrum_statistics), &init_ferrum_statistics, NULL, 0};

static const ferrum_block_info init_ferrum_block_info = FERRUM_BLOCK_INFO_INIT;
static const struct_type type_ferrum_block_info = {
    sizeof(ferrum_block_info), &init_ferrum_block_info, NULL, 0};

static ferrum_status call_pool_create(const argument *a) {
    return ferrum_pool_create((ferrum_device){a[0].number}, a[1].pointer,
                              a[2].pointer);
}
static const parameter parameters_pool_create[] = {
    PARAMETER(device, HANDLE, .kind = DEVICE),
    PARAMETER(config, STRUCT_IN, .type = &type_ferrum_pool_config,
              .is_optional = 1),
    PARAMETER(pool_out, OUT, .size = sizeof(ferrum_pool))};

static ferrum_status call_pool_destroy(const argument *a) {
    return ferrum_pool_destroy((ferrum_pool){a[0].number},
                               (uint32_t)a[1].number);
}
static const parameter parameters_pool_destroy[] = {
    PARAMETER(pool, HANDLE, .kind = POOL), PARAMETER(flags, FLAGS)};

static ferrum_status call_pool_alloc(const argument *a) {
    return ferrum_pool_alloc((ferrum_pool){a[0].number}, (uint64_t)a[1].number,
                             (ferrum_stream){a[2].number}, a[3].pointer);
}
static const parameter parameters_pool_alloc[] = {
    PARAMETER(pool, HANDLE, .kind = POOL), PARAMETER(size_bytes, VALUE),
    PARAMETER(stream, HANDLE, .kind = STREAM, .is_optional = 1),
    PARAMETER(address_out, OUT, .size = sizeof(ferrum_address))};

static ferrum_status call_pool_alloc_with(const argument *a) {
    return ferrum_pool_alloc_with((ferrum_pool){a[0].number}, a[1].pointer,
                                  a[2].pointer);
}
static const parameter parameters_pool_alloc_with[] = {
    PARAMETER(pool, HANDLE, .kind = POOL),
    PARAMETER(request, STRUCT_IN, .type = &type_ferrum_pool_request),
    PARAMETER(address_out, OUT, .size = sizeof(ferrum_address))};

static ferrum_status call_pool_alloc_batch(const argument *a) {
    return ferrum_pool_alloc_batch((ferrum_pool){a[0].number},
                                   (uint64_t)a[1].number, (uint64_t)a[2].number,
                                   (ferrum_stream){a[3].number}, a[4].pointer);
}
static const parameter parameters_pool_alloc_batch[] = {
    PARAMETER(pool, HANDLE, .kind = POOL), PARAMETER(size_bytes, VALUE),
    PARAMETER(count, VALUE),
    PARAMETER(stream, HANDLE, .kind = STREAM, .is_optional = 1),
    PARAMETER(addresses_out, OUT, .size = sizeof(ferrum_address))};

static ferrum_status call_pool_get_tag(const argument *a) {
    return ferrum_pool_get_tag((ferrum_pool){a[0].number}, a[1].pointer,
                               a[2].pointer);
}
static const parameter parameters_pool_get_tag[] = {
    PARAMETER(pool, HANDLE, .kind = POOL), PARAMETER(name, TEXT),
    PARAMETER(tag_out, OUT, .size = sizeof(uint32_t))};

static ferrum_status call_pool_free(const argument *a) {
    return ferrum_pool_free((ferrum_pool){a[0].number},
                            (ferrum_address)a[1].number,
                            (ferrum_stream){a[2].number});
}
static const parameter parameters_pool_free[] = {
    PARAMETER(pool, HANDLE, .kind = POOL), PARAMETER(address, VALUE),
    PARAMETER(stream, HANDLE, .kind = STREAM, .is_optional = 1)};

static ferrum_status call_pool_free_sized(const argument *a) {
    return ferrum_pool_free_sized(
        (ferrum_pool){a[0].number}, (ferrum_address)a[1].number,
        (uint64_t)a[2].number, (ferrum_stream){a[3].number});
}
static const parameter parameters_pool_free_sized[] = {
    PARAMETER(pool, HANDLE, .kind = POOL), PARAMETER(address, VALUE),
    PARAMETER(size_bytes, VALUE),
    PARAMETER(stream, HANDLE, .kind = STREAM, .is_optional = 1)};

static ferrum_status call_pool_free_batch(const argument *a) {
    return ferrum_pool_free_batch((ferrum_pool){a[0].number}, a[1].pointer,
                                  (uint64_t)a[2].number,
                                  (ferrum_stream){a[3].number});
}
static const parameter parameters_pool_free_batch[] = {
    PARAMETER(pool, HANDLE, .kind = POOL),
    PARAMETER(addresses, ARRAY, .size = sizeof(ferrum_address)),
    PARAMETER(count, VALUE),
    PARAMETER(stream, HANDLE, .kind = STREAM, .is_optional = 1)};

static ferrum_status call_pool_record_stream(const argument *a) {
    return ferrum_pool_record_stream((ferrum_pool){a[0].number},
                                     (ferrum_address)a[1].number,
                                     (ferrum_stream){a[2].number});
}
static const parameter parameters_pool_record_stream[] = {
    PARAMETER(pool, HANDLE, .kind = POOL), PARAMETER(address, VALUE),
    PARAMETER(stream, HANDLE, .kind = STREAM, .is_optional = 1)};

static ferrum_status call_pool_record_stream_batch(const argument *a) {
    return ferrum_pool_record_stream_batch((ferrum_pool){a[0].number},
                                           a[1].pointer, (uint64_t)a[2].number,
                                           (ferrum_stream){a[3].number});
}
static const parameter parameters_pool_record_stream_batch[] = {
    PARAMETER(pool, HANDLE, .kind = POOL),
    PARAMETER(addresses, ARRAY, .size = sizeof(ferrum_address)),
    PARAMETER(count, VALUE),
    PARAMETER(stream, HANDLE, .kind = STREAM, .is_optional = 1)};

static ferrum_status call_pool_usable_size(const argument *a) {
    return ferrum_pool_usable_size((ferrum_pool){a[0].number},
                                   (ferrum_address)a[1].number, a[2].pointer);
}
static const parameter parameters_pool_usable_size[] = {
    PARAMETER(pool, HANDLE, .kind = POOL), PARAMETER(address, VALUE),
    PARAMETER(size_bytes_out, OUT, .size = sizeof(uint64_t))};

static ferrum_status call_pool_capture_begin(const argument *a) {
    return ferrum_pool_capture_begin((ferrum_pool){a[0].number},
                                     (ferrum_stream){a[1].number},
                                     (uint64_t)a[2].number, a[3].pointer);
}
static const parameter parameters_pool_capture_begin[] = {
    PARAMETER(pool, HANDLE, .kind = POOL),
    PARAMETER(stream, HANDLE, .kind = STREAM, .is_optional = 1),
    PARAMETER(shared_graph, VALUE),
    PARAMETER(graph_out, OUT, .size = sizeof(uint64_t))};

static ferrum_status call_pool_capture_end(const argument *a) {
    return ferrum_pool_capture_end((ferrum_pool){a[0].number},
                                   (uint64_t)a[1].number);
}
static const parameter parameters_pool_capture_end[] = {
    PARAMETER(pool, HANDLE, .kind = POOL), PARAMETER(graph, VALUE)};

static ferrum_status call_pool_capture_release(const argument *a) {
    return ferrum_pool_capture_release((ferrum_pool){a[0].number},
                                       (uint64_t)a[1].number,
                                       (ferrum_stream){a[2].number});
}
static const parameter parameters_pool_capture_release[] = {
    PARAMETER(pool, HANDLE, .kind = POOL), PARAMETER(graph, VALUE),
    PARAMETER(stream, HANDLE, .kind = STREAM, .is_optional = 1)};

static ferrum_status call_pool_capture_get_info(const argument *a) {
    return ferrum_pool_capture_get_info((ferrum_pool){a[0].number},
                                        (uint64_t)a[1].number, a[2].pointer);
}
static const parameter parameters_pool_capture_get_info[] = {
    PARAMETER(pool, HANDLE, .kind = POOL), PARAMETER(graph, VALUE),
    PARAMETER(info_out, STRUCT_OUT, .type = &type_ferrum_graph_info)};

static ferrum_status call_pool_reset(const argument *a) {
    return ferrum_pool_reset((ferrum_pool){a[0].number},
                             (ferrum_stream){a[1].number});
}
static const parameter parameters_pool_reset[] = {
    PARAMETER(pool, HANDLE, .kind = POOL),
    PARAMETER(stream, HANDLE, .kind = STREAM, .is_optional = 1)};

static ferrum_status call_pool_check(const argument *a) {
    return ferrum_pool_check((ferrum_pool){a[0].number});
}
static const parameter parameters_pool_check[] = {
    PARAMETER(pool, HANDLE, .kind = POOL)};

static ferrum_status call_pool_trim(const argument *a) {
    return ferrum_pool_trim((ferrum_pool){a[0].number}, (uint64_t)a[1].number,
                            a[2].pointer);
}
static const parameter parameters_pool_trim[] = {
    PARAMETER(pool, HANDLE, .kind = POOL), PARAMETER(keep_bytes, VALUE),
    PARAMETER(released_bytes_out, OUT, .size = sizeof(uint64_t))};

static ferrum_status call_pool_set_limit(const argument *a) {
    return ferrum_pool_set_limit((ferrum_pool){a[0].number},
                                 (uint64_t)a[1].number);
}
static const parameter parameters_pool_set_limit[] = {
    PARAMETER(pool, HANDLE, .kind = POOL), PARAMETER(max_size_bytes, VALUE)};

static ferrum_status call_pool_set_min_held(const argument *a) {
    return ferrum_pool_set_min_held((ferrum_pool){a[0].number},
                                    (uint64_t)a[1].number);
}
static const parameter parameters_pool_set_min_held[] = {
    PARAMETER(pool, HANDLE, .kind = POOL), PARAMETER(min_held_bytes, VALUE)};

static ferrum_status call_pool_set_release_threshold(const argument *a) {
    return ferrum_pool_set_release_threshold((ferrum_pool){a[0].number},
                                             (uint64_t)a[1].number);
}
static const parameter parameters_pool_set_release_threshold[] = {
    PARAMETER(pool, HANDLE, .kind = POOL),
    PARAMETER(release_threshold_bytes, VALUE)};

static ferrum_status call_pool_get_info(const argument *a) {
    return ferrum_pool_get_info((ferrum_pool){a[0].number}, a[1].pointer);
}
static const parameter parameters_pool_get_info[] = {
    PARAMETER(pool, HANDLE, .kind = POOL),
    PARAMETER(info_out, STRUCT_OUT, .type = &type_ferrum_pool_info)};

static ferrum_status call_pool_get_statistics(const argument *a) {
    return ferrum_pool_get_statistics((ferrum_pool){a[0].number}, a[1].pointer);
}
static const parameter parameters_pool_get_statistics[] = {
    PARAMETER(pool, HANDLE, .kind = POOL),
    PARAMETER(statistics_out, STRUCT_OUT, .type = &type_ferrum_statistics)};

static ferrum_status call_device_get_owner(const argument *a) {
    return ferrum_device_get_owner((ferrum_device){a[0].number},
                                   (ferrum_address)a[1].number, a[2].pointer);
}
static const parameter parameters_device_get_owner[] = {
    PARAMETER(device, HANDLE, .kind = DEVICE), PARAMETER(address, VALUE),
    PARAMETER(info_out, STRUCT_OUT, .type = &type_ferrum_block_info)};

static ferrum_status call_device_get_call_site_json(const argument *a) {
    return ferrum_device_get_call_site_json(
        (ferrum_device){a[0].number}, (ferrum_address)a[1].number, a[2].pointer,
        (size_t)a[3].number, a[4].pointer);
}
static const parameter parameters_device_get_call_site_json[] = {
    PARAMETER(device, HANDLE, .kind = DEVICE), PARAMETER(address, VALUE),
    PARAMETER(buffer, BUFFER), PARAMETER(capacity, CAPACITY),
    PARAMETER(length_out, OUT, .size = sizeof(size_t))};

const function arguments_pools[] = {
    FUNCTION(pool_create, .parameters = parameters_pool_create, .count = 3),
    FUNCTION(pool_destroy, .parameters = parameters_pool_destroy, .count = 2,
             .waits = 1),
    FUNCTION(pool_alloc, .parameters = parameters_pool_alloc, .count = 4),
    FUNCTION(pool_alloc_with, .parameters = parameters_pool_alloc_with,
             .count = 3),
    FUNCTION(pool_alloc_batch, .parameters = parameters_pool_alloc_batch,
             .count = 5),
    FUNCTION(pool_get_tag, .parameters = parameters_pool_get_tag, .count = 3),
    FUNCTION(pool_free, .parameters = parameters_pool_free, .count = 3),
    FUNCTION(pool_free_sized, .parameters = parameters_pool_free_sized,
             .count = 4),
    FUNCTION(pool_free_batch, .parameters = parameters_pool_free_batch,
             .count = 4),
    FUNCTION(pool_record_stream, .parameters = parameters_pool_record_stream,
             .count = 3),
    FUNCTION(pool_record_stream_batch,
             .parameters = parameters_pool_record_stream_batch, .count = 4),
    FUNCTION(pool_usable_size, .parameters = parameters_pool_usable_size,
             .count = 3),
    FUNCTION(pool_capture_begin, .parameters = parameters_pool_capture_begin,
             .count = 4),
    FUNCTION(pool_capture_end, .parameters = parameters_pool_capture_end,
             .count = 2),
    FUNCTION(pool_capture_release,
             .parameters = parameters_pool_capture_release, .count = 3),
    FUNCTION(pool_capture_get_info,
             .parameters = parameters_pool_capture_get_info, .count = 3),
    FUNCTION(pool_reset, .parameters = parameters_pool_reset, .count = 2),
    FUNCTION(pool_check, .parameters = parameters_pool_check, .count = 1),
    FUNCTION(pool_trim, .parameters = parameters_pool_trim, .count = 3),
    FUNCTION(pool_set_limit, .parameters = parameters_pool_set_limit,
             .count = 2),
    FUNCTION(pool_set_min_held, .parameters = parameters_pool_set_min_held,
             .count = 2),
    FUNCTION(pool_set_release_threshold,
             .parameters = parameters_pool_set_release_threshold, .count = 2),
    FUNCTION(pool_get_info, .parameters = parameters_pool_get_info, .count = 2),
    FUNCTION(pool_get_statistics, .parameters = parameters_pool_get_statistics,
             .count = 2),
    FUNCTION(device_get_owner, .parameters = parameters_device_get_owner,
             .count = 3),
    FUNCTION(device_get_call_site_json,
             .parameters = parameters_device_get_call_site_json, .count = 5),
    {.name = NULL}};
