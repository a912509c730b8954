/* Generated from include/ferrum_mem/elastic.h by scripts/genabi.py; do not edit. */
#include "arguments.h"

static uint64_t nothing_ferrum_model_reclaim_fn(ferrum_elastic_pool pool,
                                                const char *model,
                                                uint64_t needed_bytes,
                                                void *user_data) {
    (void)pool;
    (void)model;
    (void)needed_bytes;
    (void)user_data;
    return 0;
}

static const struct_field fields_ferrum_elastic_pool_config[] = {
    FIELD(ferrum_elastic_pool_config, flags, FLAGS),
    FIELD(ferrum_elastic_pool_config, limit_bytes, VALUE),
    FIELD(ferrum_elastic_pool_config, page_bytes, VALUE),
    FIELD(ferrum_elastic_pool_config, name, TEXT),
    FIELD(ferrum_elastic_pool_config, ready_pages, VALUE),
    FIELD(ferrum_elastic_pool_config, backing, ENUMERATION,
          .unknown = {-1, 5})};
static const ferrum_elastic_pool_config init_ferrum_elastic_pool_config =
    FERRUM_ELASTIC_POOL_CONFIG_INIT;
static const struct_type type_ferrum_elastic_pool_config = {
    sizeof(ferrum_elastic_pool_config), &init_ferrum_elastic_pool_config,
    fields_ferrum_elastic_pool_config, 6};

static const struct_field fields_ferrum_model_config[] = {
    FIELD(ferrum_model_config, priority, VALUE),
    FIELD(ferrum_model_config, virtual_bytes, VALUE),
    FIELD(ferrum_model_config, guaranteed_bytes, VALUE),
    FIELD(ferrum_model_config, max_bytes, VALUE),
    FIELD(ferrum_model_config, unscrubbed, TRUTH),
    FIELD(ferrum_model_config, guarantee_may_wait, TRUTH)};
static const ferrum_model_config init_ferrum_model_config =
    FERRUM_MODEL_CONFIG_INIT;
static const struct_type type_ferrum_model_config = {
    sizeof(ferrum_model_config), &init_ferrum_model_config,
    fields_ferrum_model_config, 6};

static const struct_field fields_ferrum_model_request[] = {
    FIELD(ferrum_model_request, at_offset, TRUTH),
    FIELD(ferrum_model_request, offset_bytes, VALUE),
    FIELD(ferrum_model_request, size_bytes, VALUE),
    FIELD(ferrum_model_request, tag, TEXT),
    FIELD(ferrum_model_request, asleep_wait_ns, VALUE),
    FIELD(ferrum_model_request, stream, HANDLE, .kind = STREAM,
          .is_optional = 1)};
static const ferrum_model_request init_ferrum_model_request =
    FERRUM_MODEL_REQUEST_INIT;
static const struct_type type_ferrum_model_request = {
    sizeof(ferrum_model_request), &init_ferrum_model_request,
    fields_ferrum_model_request, 6};

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

static const ferrum_model_info init_ferrum_model_info = FERRUM_MODEL_INFO_INIT;
static const struct_type type_ferrum_model_info = {
    sizeof(ferrum_model_info), &init_ferrum_model_info, NULL, 0};

static const struct_field fields_ferrum_model_limits[] = {
    FIELD(ferrum_model_limits, priority, VALUE),
    FIELD(ferrum_model_limits, guaranteed_bytes, VALUE),
    FIELD(ferrum_model_limits, max_bytes, VALUE),
    FIELD(ferrum_model_limits, guarantee_may_wait, TRUTH),
    FIELD(ferrum_model_limits, reserved, RESERVED)};
static const ferrum_model_limits init_ferrum_model_limits =
    FERRUM_MODEL_LIMITS_INIT;
static const struct_type type_ferrum_model_limits = {
    sizeof(ferrum_model_limits), &init_ferrum_model_limits,
    fields_ferrum_model_limits, 5};

static const ferrum_elastic_pool_info init_ferrum_elastic_pool_info =
    FERRUM_ELASTIC_POOL_INFO_INIT;
static const struct_type type_ferrum_elastic_pool_info = {
    sizeof(ferrum_elastic_pool_info), &init_ferrum_elastic_pool_info, NULL, 0};

static const ferrum_statistics init_ferrum_statistics = FERRUM_STATISTICS_INIT;
static const struct_type type_ferrum_statistics = {
    sizeof(ferrum_statistics), &init_ferrum_statistics, NULL, 0};

static const ferrum_compact_report init_ferrum_compact_report =
    FERRUM_COMPACT_REPORT_INIT;
static const struct_type type_ferrum_compact_report = {
    sizeof(ferrum_compact_report), &init_ferrum_compact_report, NULL, 0};

static const struct_field fields_ferrum_reclaim_config[] = {
    FIELD(ferrum_reclaim_config, priority, VALUE),
    FIELD(ferrum_reclaim_config, deadline_ns, VALUE)};
static const ferrum_reclaim_config init_ferrum_reclaim_config =
    FERRUM_RECLAIM_CONFIG_INIT;
static const struct_type type_ferrum_reclaim_config = {
    sizeof(ferrum_reclaim_config), &init_ferrum_reclaim_config,
    fields_ferrum_reclaim_config, 2};

static ferrum_status call_elastic_pool_create(const argument *a) {
    return ferrum_elastic_pool_create((ferrum_device){a[0].number},
                                      a[1].pointer, a[2].pointer);
}
static const parameter parameters_elastic_pool_create[] = {
    PARAMETER(device, HANDLE, .kind = DEVICE),
    PARAMETER(config, STRUCT_IN, .type = &type_ferrum_elastic_pool_config,
              .is_optional = 1),
    PARAMETER(pool_out, OUT, .size = sizeof(ferrum_elastic_pool))};

static ferrum_status call_elastic_pool_destroy(const argument *a) {
    return ferrum_elastic_pool_destroy((ferrum_elastic_pool){a[0].number},
                                       (uint32_t)a[1].number);
}
static const parameter parameters_elastic_pool_destroy[] = {
    PARAMETER(pool, HANDLE, .kind = ELASTIC_POOL), PARAMETER(flags, FLAGS)};

static ferrum_status call_elastic_pool_register_model(const argument *a) {
    return ferrum_elastic_pool_register_model(
        (ferrum_elastic_pool){a[0].number}, a[1].pointer, a[2].pointer);
}
static const parameter parameters_elastic_pool_register_model[] = {
    PARAMETER(pool, HANDLE, .kind = ELASTIC_POOL), PARAMETER(model, TEXT),
    PARAMETER(config, STRUCT_IN, .type = &type_ferrum_model_config)};

static ferrum_status call_elastic_pool_unregister_model(const argument *a) {
    return ferrum_elastic_pool_unregister_model(
        (ferrum_elastic_pool){a[0].number}, a[1].pointer,
        (uint32_t)a[2].number);
}
static const parameter parameters_elastic_pool_unregister_model[] = {
    PARAMETER(pool, HANDLE, .kind = ELASTIC_POOL), PARAMETER(model, TEXT),
    PARAMETER(flags, FLAGS)};

static ferrum_status call_elastic_pool_alloc(const argument *a) {
    return ferrum_elastic_pool_alloc((ferrum_elastic_pool){a[0].number},
                                     a[1].pointer, (uint64_t)a[2].number,
                                     a[3].pointer, a[4].pointer);
}
static const parameter parameters_elastic_pool_alloc[] = {
    PARAMETER(pool, HANDLE, .kind = ELASTIC_POOL), PARAMETER(model, TEXT),
    PARAMETER(size_bytes, VALUE),
    PARAMETER(address_out, OUT, .size = sizeof(ferrum_address)),
    PARAMETER(offset_bytes_out, OUT, .size = sizeof(uint64_t),
              .is_optional = 1)};

static ferrum_status call_elastic_pool_alloc_with(const argument *a) {
    return ferrum_elastic_pool_alloc_with((ferrum_elastic_pool){a[0].number},
                                          a[1].pointer, a[2].pointer,
                                          a[3].pointer, a[4].pointer);
}
static const parameter parameters_elastic_pool_alloc_with[] = {
    PARAMETER(pool, HANDLE, .kind = ELASTIC_POOL), PARAMETER(model, TEXT),
    PARAMETER(request, STRUCT_IN, .type = &type_ferrum_model_request),
    PARAMETER(address_out, OUT, .size = sizeof(ferrum_address)),
    PARAMETER(offset_bytes_out, OUT, .size = sizeof(uint64_t),
              .is_optional = 1)};

static ferrum_status call_elastic_pool_alloc_batch(const argument *a) {
    return ferrum_elastic_pool_alloc_batch((ferrum_elastic_pool){a[0].number},
                                           a[1].pointer, a[2].pointer,
                                           (uint64_t)a[3].number, a[4].pointer);
}
static const parameter parameters_elastic_pool_alloc_batch[] = {
    PARAMETER(pool, HANDLE, .kind = ELASTIC_POOL), PARAMETER(model, TEXT),
    PARAMETER(ranges, ARRAY, .size = sizeof(ferrum_byte_range)),
    PARAMETER(count, VALUE),
    PARAMETER(options, STRUCT_IN, .type = &type_ferrum_batch_options,
              .is_optional = 1)};

static ferrum_status call_elastic_pool_alloc_batch_anywhere(const argument *a) {
    return ferrum_elastic_pool_alloc_batch_anywhere(
        (ferrum_elastic_pool){a[0].number}, a[1].pointer, a[2].pointer,
        (uint64_t)a[3].number, a[4].pointer, a[5].pointer);
}
static const parameter parameters_elastic_pool_alloc_batch_anywhere[] = {
    PARAMETER(pool, HANDLE, .kind = ELASTIC_POOL),
    PARAMETER(model, TEXT),
    PARAMETER(sizes, ARRAY, .size = sizeof(uint64_t)),
    PARAMETER(count, VALUE),
    PARAMETER(options, STRUCT_IN, .type = &type_ferrum_batch_options,
              .is_optional = 1),
    PARAMETER(offsets_out, OUT, .size = sizeof(uint64_t))};

static ferrum_status call_elastic_pool_free(const argument *a) {
    return ferrum_elastic_pool_free(
        (ferrum_elastic_pool){a[0].number}, a[1].pointer, (uint64_t)a[2].number,
        (uint64_t)a[3].number, (ferrum_stream){a[4].number});
}
static const parameter parameters_elastic_pool_free[] = {
    PARAMETER(pool, HANDLE, .kind = ELASTIC_POOL), PARAMETER(model, TEXT),
    PARAMETER(offset_bytes, VALUE), PARAMETER(size_bytes, VALUE),
    PARAMETER(stream, HANDLE, .kind = STREAM, .is_optional = 1)};

static ferrum_status call_elastic_pool_free_batch(const argument *a) {
    return ferrum_elastic_pool_free_batch(
        (ferrum_elastic_pool){a[0].number}, a[1].pointer, a[2].pointer,
        (uint64_t)a[3].number, (ferrum_stream){a[4].number});
}
static const parameter parameters_elastic_pool_free_batch[] = {
    PARAMETER(pool, HANDLE, .kind = ELASTIC_POOL), PARAMETER(model, TEXT),
    PARAMETER(ranges, ARRAY, .size = sizeof(ferrum_byte_range)),
    PARAMETER(count, VALUE),
    PARAMETER(stream, HANDLE, .kind = STREAM, .is_optional = 1)};

static ferrum_status call_elastic_pool_record_stream(const argument *a) {
    return ferrum_elastic_pool_record_stream(
        (ferrum_elastic_pool){a[0].number}, a[1].pointer, (uint64_t)a[2].number,
        (uint64_t)a[3].number, (ferrum_stream){a[4].number});
}
static const parameter parameters_elastic_pool_record_stream[] = {
    PARAMETER(pool, HANDLE, .kind = ELASTIC_POOL), PARAMETER(model, TEXT),
    PARAMETER(offset_bytes, VALUE), PARAMETER(size_bytes, VALUE),
    PARAMETER(stream, HANDLE, .kind = STREAM, .is_optional = 1)};

static ferrum_status call_elastic_pool_record_stream_batch(const argument *a) {
    return ferrum_elastic_pool_record_stream_batch(
        (ferrum_elastic_pool){a[0].number}, a[1].pointer, a[2].pointer,
        (uint64_t)a[3].number, (ferrum_stream){a[4].number});
}
static const parameter parameters_elastic_pool_record_stream_batch[] = {
    PARAMETER(pool, HANDLE, .kind = ELASTIC_POOL), PARAMETER(model, TEXT),
    PARAMETER(ranges, ARRAY, .size = sizeof(ferrum_byte_range)),
    PARAMETER(count, VALUE),
    PARAMETER(stream, HANDLE, .kind = STREAM, .is_optional = 1)};

static ferrum_status call_elastic_pool_is_mapped(const argument *a) {
    return ferrum_elastic_pool_is_mapped((ferrum_elastic_pool){a[0].number},
                                         a[1].pointer, (uint64_t)a[2].number,
                                         (uint64_t)a[3].number, a[4].pointer);
}
static const parameter parameters_elastic_pool_is_mapped[] = {
    PARAMETER(pool, HANDLE, .kind = ELASTIC_POOL), PARAMETER(model, TEXT),
    PARAMETER(offset_bytes, VALUE), PARAMETER(size_bytes, VALUE),
    PARAMETER(mapped_out, OUT, .size = sizeof(uint32_t))};

static ferrum_status call_elastic_pool_get_model_info(const argument *a) {
    return ferrum_elastic_pool_get_model_info(
        (ferrum_elastic_pool){a[0].number}, a[1].pointer, a[2].pointer);
}
static const parameter parameters_elastic_pool_get_model_info[] = {
    PARAMETER(pool, HANDLE, .kind = ELASTIC_POOL), PARAMETER(model, TEXT),
    PARAMETER(info_out, STRUCT_OUT, .type = &type_ferrum_model_info)};

static ferrum_status call_elastic_pool_set_model_limits(const argument *a) {
    return ferrum_elastic_pool_set_model_limits(
        (ferrum_elastic_pool){a[0].number}, a[1].pointer, a[2].pointer);
}
static const parameter parameters_elastic_pool_set_model_limits[] = {
    PARAMETER(pool, HANDLE, .kind = ELASTIC_POOL), PARAMETER(model, TEXT),
    PARAMETER(limits, STRUCT_IN, .type = &type_ferrum_model_limits)};

static ferrum_status call_elastic_pool_get_info(const argument *a) {
    return ferrum_elastic_pool_get_info((ferrum_elastic_pool){a[0].number},
                                        a[1].pointer);
}
static const parameter parameters_elastic_pool_get_info[] = {
    PARAMETER(pool, HANDLE, .kind = ELASTIC_POOL),
    PARAMETER(info_out, STRUCT_OUT, .type = &type_ferrum_elastic_pool_info)};

static ferrum_status call_elastic_pool_get_statistics(const argument *a) {
    return ferrum_elastic_pool_get_statistics(
        (ferrum_elastic_pool){a[0].number}, a[1].pointer);
}
static const parameter parameters_elastic_pool_get_statistics[] = {
    PARAMETER(pool, HANDLE, .kind = ELASTIC_POOL),
    PARAMETER(statistics_out, STRUCT_OUT, .type = &type_ferrum_statistics)};

static ferrum_status call_elastic_pool_models_json(const argument *a) {
    return ferrum_elastic_pool_models_json((ferrum_elastic_pool){a[0].number},
                                           a[1].pointer, (size_t)a[2].number,
                                           a[3].pointer);
}
static const parameter parameters_elastic_pool_models_json[] = {
    PARAMETER(pool, HANDLE, .kind = ELASTIC_POOL), PARAMETER(buffer, BUFFER),
    PARAMETER(capacity, CAPACITY),
    PARAMETER(length_out, OUT, .size = sizeof(size_t))};

static ferrum_status call_elastic_pool_set_limit(const argument *a) {
    return ferrum_elastic_pool_set_limit((ferrum_elastic_pool){a[0].number},
                                         (uint64_t)a[1].number);
}
static const parameter parameters_elastic_pool_set_limit[] = {
    PARAMETER(pool, HANDLE, .kind = ELASTIC_POOL),
    PARAMETER(limit_bytes, VALUE)};

static ferrum_status call_elastic_pool_compact(const argument *a) {
    return ferrum_elastic_pool_compact((ferrum_elastic_pool){a[0].number},
                                       a[1].pointer);
}
static const parameter parameters_elastic_pool_compact[] = {
    PARAMETER(pool, HANDLE, .kind = ELASTIC_POOL),
    PARAMETER(report_out, STRUCT_OUT, .type = &type_ferrum_compact_report)};

static ferrum_status call_elastic_pool_trim(const argument *a) {
    return ferrum_elastic_pool_trim((ferrum_elastic_pool){a[0].number},
                                    (uint64_t)a[1].number, a[2].pointer);
}
static const parameter parameters_elastic_pool_trim[] = {
    PARAMETER(pool, HANDLE, .kind = ELASTIC_POOL), PARAMETER(keep_bytes, VALUE),
    PARAMETER(released_bytes_out, OUT, .size = sizeof(uint64_t))};

static ferrum_status call_elastic_pool_synchronize(const argument *a) {
    return ferrum_elastic_pool_synchronize((ferrum_elastic_pool){a[0].number},
                                           (uint64_t)a[1].number);
}
static const parameter parameters_elastic_pool_synchronize[] = {
    PARAMETER(pool, HANDLE, .kind = ELASTIC_POOL),
    PARAMETER(timeout_ns, VALUE)};

static ferrum_status call_elastic_pool_pause(const argument *a) {
    return ferrum_elastic_pool_pause((ferrum_elastic_pool){a[0].number});
}
static const parameter parameters_elastic_pool_pause[] = {
    PARAMETER(pool, HANDLE, .kind = ELASTIC_POOL)};

static ferrum_status call_elastic_pool_resume(const argument *a) {
    return ferrum_elastic_pool_resume((ferrum_elastic_pool){a[0].number});
}
static const parameter parameters_elastic_pool_resume[] = {
    PARAMETER(pool, HANDLE, .kind = ELASTIC_POOL)};

static ferrum_status call_elastic_pool_reclaim_callback_add(const argument *a) {
    return ferrum_elastic_pool_reclaim_callback_add(
        (ferrum_elastic_pool){a[0].number}, a[1].pointer, a[2].pointer,
        (ferrum_model_reclaim_fn)a[3].function, a[4].pointer, a[5].pointer);
}
static const parameter parameters_elastic_pool_reclaim_callback_add[] = {
    PARAMETER(pool, HANDLE, .kind = ELASTIC_POOL),
    PARAMETER(model, TEXT),
    PARAMETER(config, STRUCT_IN, .type = &type_ferrum_reclaim_config,
              .is_optional = 1),
    PARAMETER(callback, CALLBACK,
              .nothing = (any_function)nothing_ferrum_model_reclaim_fn),
    PARAMETER(user_data, DATA),
    PARAMETER(registration_out, OUT, .size = sizeof(ferrum_registration))};

const function arguments_elastic[] = {
    FUNCTION(elastic_pool_create, .parameters = parameters_elastic_pool_create,
             .count = 3),
    FUNCTION(elastic_pool_destroy,
             .parameters = parameters_elastic_pool_destroy, .count = 2,
             .waits = 1),
    FUNCTION(elastic_pool_register_model,
             .parameters = parameters_elastic_pool_register_model, .count = 3),
    FUNCTION(elastic_pool_unregister_model,
             .parameters = parameters_elastic_pool_unregister_model, .count = 3,
             .waits = 1),
    FUNCTION(elastic_pool_alloc, .parameters = parameters_elastic_pool_alloc,
             .count = 5),
    FUNCTION(elastic_pool_alloc_with,
             .parameters = parameters_elastic_pool_alloc_with, .count = 5),
    FUNCTION(elastic_pool_alloc_batch,
             .parameters = parameters_elastic_pool_alloc_batch, .count = 5),
    FUNCTION(elastic_pool_alloc_batch_anywhere,
             .parameters = parameters_elastic_pool_alloc_batch_anywhere,
             .count = 6),
    FUNCTION(elastic_pool_free, .parameters = parameters_elastic_pool_free,
             .count = 5),
    FUNCTION(elastic_pool_free_batch,
             .parameters = parameters_elastic_pool_free_batch, .count = 5),
    FUNCTION(elastic_pool_record_stream,
             .parameters = parameters_elastic_pool_record_stream, .count = 5),
    FUNCTION(elastic_pool_record_stream_batch,
             .parameters = parameters_elastic_pool_record_stream_batch,
             .count = 5),
    FUNCTION(elastic_pool_is_mapped,
             .parameters = parameters_elastic_pool_is_mapped, .count = 5),
    FUNCTION(elastic_pool_get_model_info,
             .parameters = parameters_elastic_pool_get_model_info, .count = 3),
    FUNCTION(elastic_pool_set_model_limits,
             .parameters = parameters_elastic_pool_set_model_limits,
             .count = 3),
    FUNCTION(elastic_pool_get_info,
             .parameters = parameters_elastic_pool_get_info, .count = 2),
    FUNCTION(elastic_pool_get_statistics,
             .parameters = parameters_elastic_pool_get_statistics, .count = 2),
    FUNCTION(elastic_pool_models_json,
             .parameters = parameters_elastic_pool_models_json, .count = 4),
    FUNCTION(elastic_pool_set_limit,
             .parameters = parameters_elastic_pool_set_limit, .count = 2),
    FUNCTION(elastic_pool_compact,
             .parameters = parameters_elastic_pool_compact, .count = 2),
    FUNCTION(elastic_pool_trim, .parameters = parameters_elastic_pool_trim,
             .count = 3),
    FUNCTION(elastic_pool_synchronize,
             .parameters = parameters_elastic_pool_synchronize, .count = 2,
             .waits = 1),
    FUNCTION(elastic_pool_pause, .parameters = parameters_elastic_pool_pause,
             .count = 1),
    FUNCTION(elastic_pool_resume, .parameters = parameters_elastic_pool_resume,
             .count = 1),
    FUNCTION(elastic_pool_reclaim_callback_add,
             .parameters = parameters_elastic_pool_reclaim_callback_add,
             .count = 6),
    {.name = NULL}};
