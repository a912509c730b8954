/* Generated from include/ferrum_mem/elastic.h by scripts/genabi.py; do not edit. */
#include "_cgo_export.h"
#include "guard.h"
#include "guest.h"

ferrum_status
ferrum_elastic_pool_create(ferrum_device device,
                           const ferrum_elastic_pool_config *config,
                           ferrum_elastic_pool *pool_out) {
    FM_ENTER();
    FM_REQUIRE(pool_out);
    pool_out->id = 0;
    ferrum_elastic_pool_config config_full = FERRUM_ELASTIC_POOL_CONFIG_INIT;
    if (config != NULL)
        FM_STRUCT_IN(config, config_full);
    FM_LOOK();
    FM_RETURN(fmgo_elastic_pool_create(device.id, &config_full, &pool_out->id));
}

ferrum_status ferrum_elastic_pool_destroy(ferrum_elastic_pool pool,
                                          uint32_t flags) {
    FM_ENTER();
    FM_NOT_IN_HOST_FUNCTION();
    FM_RETURN(fmgo_elastic_pool_destroy(pool.id, flags));
}

ferrum_status
ferrum_elastic_pool_register_model(ferrum_elastic_pool pool, const char *model,
                                   const ferrum_model_config *config) {
    FM_ENTER();
    FM_REQUIRE(model);
    FM_REQUIRE(config);
    ferrum_model_config config_full = FERRUM_MODEL_CONFIG_INIT;
    FM_STRUCT_IN(config, config_full);
    FM_LOOK();
    FM_RETURN(
        fmgo_elastic_pool_register_model(pool.id, (char *)model, &config_full));
}

ferrum_status ferrum_elastic_pool_unregister_model(ferrum_elastic_pool pool,
                                                   const char *model,
                                                   uint32_t flags) {
    FM_ENTER();
    FM_REQUIRE(model);
    FM_NOT_IN_HOST_FUNCTION();
    FM_RETURN(
        fmgo_elastic_pool_unregister_model(pool.id, (char *)model, flags));
}

ferrum_status ferrum_elastic_pool_alloc(ferrum_elastic_pool pool,
                                        const char *model, uint64_t size_bytes,
                                        ferrum_address *address_out,
                                        uint64_t *offset_bytes_out) {
    FM_ENTER();
    FM_REQUIRE(address_out);
    *address_out = 0;
    if (offset_bytes_out != NULL)
        *offset_bytes_out = 0;
    FM_REQUIRE(model);
    uint64_t offset_bytes_full = 0;
    ferrum_status status = fmgo_elastic_pool_alloc(
        pool.id, (char *)model, size_bytes, address_out, &offset_bytes_full);
    if (status != FERRUM_OK)
        return fm_failed_in(__func__, status);
    if (offset_bytes_out != NULL)
        *offset_bytes_out = offset_bytes_full;
    return FERRUM_OK;
}

ferrum_status
ferrum_elastic_pool_alloc_with(ferrum_elastic_pool pool, const char *model,
                               const ferrum_model_request *request,
                               ferrum_address *address_out,
                               uint64_t *offset_bytes_out) {
    FM_ENTER();
    FM_REQUIRE(address_out);
    *address_out = 0;
    if (offset_bytes_out != NULL)
        *offset_bytes_out = 0;
    FM_REQUIRE(model);
    FM_REQUIRE(request);
    ferrum_model_request request_full = FERRUM_MODEL_REQUEST_INIT;
    FM_STRUCT_IN(request, request_full);
    uint64_t offset_bytes_full = 0;
    ferrum_status status = fmgo_elastic_pool_alloc_with(
        pool.id, (char *)model, &request_full, address_out, &offset_bytes_full);
    if (status != FERRUM_OK)
        return fm_failed_in(__func__, status);
    if (offset_bytes_out != NULL)
        *offset_bytes_out = offset_bytes_full;
    return FERRUM_OK;
}

ferrum_status
ferrum_elastic_pool_alloc_batch(ferrum_elastic_pool pool, const char *model,
                                const ferrum_byte_range *ranges, uint64_t count,
                                const ferrum_batch_options *options) {
    FM_ENTER();
    FM_REQUIRE(model);
    FM_REQUIRE(ranges);
    ferrum_batch_options options_full = FERRUM_BATCH_OPTIONS_INIT;
    if (options != NULL)
        FM_STRUCT_IN(options, options_full);
    FM_RETURN(fmgo_elastic_pool_alloc_batch(pool.id, (char *)model,
                                            (ferrum_byte_range *)ranges, count,
                                            &options_full));
}

ferrum_status ferrum_elastic_pool_alloc_batch_anywhere(
    ferrum_elastic_pool pool, const char *model, const uint64_t *sizes,
    uint64_t count, const ferrum_batch_options *options,
    uint64_t *offsets_out) {
    FM_ENTER();
    FM_REQUIRE(offsets_out);
    if (count <= FERRUM_BATCH_MAX)
        memset(offsets_out, 0, count * sizeof(*offsets_out));
    FM_REQUIRE(model);
    FM_REQUIRE(sizes);
    ferrum_batch_options options_full = FERRUM_BATCH_OPTIONS_INIT;
    if (options != NULL)
        FM_STRUCT_IN(options, options_full);
    FM_RETURN(fmgo_elastic_pool_alloc_batch_anywhere(
        pool.id, (char *)model, (uint64_t *)sizes, count, &options_full,
        offsets_out));
}

ferrum_status ferrum_elastic_pool_free(ferrum_elastic_pool pool,
                                       const char *model, uint64_t offset_bytes,
                                       uint64_t size_bytes,
                                       ferrum_stream stream) {
    FM_ENTER();
    FM_REQUIRE(model);
    FM_RETURN(fmgo_elastic_pool_free(pool.id, (char *)model, offset_bytes,
                                     size_bytes, stream.id));
}

ferrum_status ferrum_elastic_pool_free_batch(ferrum_elastic_pool pool,
                                             const char *model,
                                             const ferrum_byte_range *ranges,
                                             uint64_t count,
                                             ferrum_stream stream) {
    FM_ENTER();
    FM_REQUIRE(model);
    FM_REQUIRE(ranges);
    FM_RETURN(fmgo_elastic_pool_free_batch(
        pool.id, (char *)model, (ferrum_byte_range *)ranges, count, stream.id));
}

ferrum_status ferrum_elastic_pool_record_stream(ferrum_elastic_pool pool,
                                                const char *model,
                                                uint64_t offset_bytes,
                                                uint64_t size_bytes,
                                                ferrum_stream stream) {
    FM_ENTER();
    FM_REQUIRE(model);
    FM_RETURN(fmgo_elastic_pool_record_stream(
        pool.id, (char *)model, offset_bytes, size_bytes, stream.id));
}

ferrum_status ferrum_elastic_pool_record_stream_batch(
    ferrum_elastic_pool pool, const char *model,
    const ferrum_byte_range *ranges, uint64_t count, ferrum_stream stream) {
    FM_ENTER();
    FM_REQUIRE(model);
    FM_REQUIRE(ranges);
    FM_RETURN(fmgo_elastic_pool_record_stream_batch(
        pool.id, (char *)model, (ferrum_byte_range *)ranges, count, stream.id));
}

ferrum_status ferrum_elastic_pool_is_mapped(ferrum_elastic_pool pool,
                                            const char *model,
                                            uint64_t offset_bytes,
                                            uint64_t size_bytes,
                                            uint32_t *mapped_out) {
    FM_ENTER();
    FM_REQUIRE(mapped_out);
    *mapped_out = 0;
    FM_REQUIRE(model);
    FM_RETURN(fmgo_elastic_pool_is_mapped(pool.id, (char *)model, offset_bytes,
                                          size_bytes, mapped_out));
}

ferrum_status ferrum_elastic_pool_get_model_info(ferrum_elastic_pool pool,
                                                 const char *model,
                                                 ferrum_model_info *info_out) {
    FM_ENTER();
    FM_REQUIRE(info_out);
    FM_STRUCT_OUT(info_out);
    FM_REQUIRE(model);
    ferrum_model_info info_full = FERRUM_MODEL_INFO_INIT;
    FM_RETURN_STRUCT(
        fmgo_elastic_pool_get_model_info(pool.id, (char *)model, &info_full),
        info_out, info_full);
}

ferrum_status
ferrum_elastic_pool_set_model_limits(ferrum_elastic_pool pool,
                                     const char *model,
                                     const ferrum_model_limits *limits) {
    FM_ENTER();
    FM_REQUIRE(model);
    FM_REQUIRE(limits);
    ferrum_model_limits limits_full = FERRUM_MODEL_LIMITS_INIT;
    FM_STRUCT_IN(limits, limits_full);
    FM_RETURN(fmgo_elastic_pool_set_model_limits(pool.id, (char *)model,
                                                 &limits_full));
}

ferrum_status ferrum_elastic_pool_get_info(ferrum_elastic_pool pool,
                                           ferrum_elastic_pool_info *info_out) {
    FM_ENTER();
    FM_REQUIRE(info_out);
    FM_STRUCT_OUT(info_out);
    ferrum_elastic_pool_info info_full = FERRUM_ELASTIC_POOL_INFO_INIT;
    FM_RETURN_STRUCT(fmgo_elastic_pool_get_info(pool.id, &info_full), info_out,
                     info_full);
}

ferrum_status
ferrum_elastic_pool_get_statistics(ferrum_elastic_pool pool,
                                   ferrum_statistics *statistics_out) {
    FM_ENTER();
    FM_REQUIRE(statistics_out);
    FM_STRUCT_OUT(statistics_out);
    ferrum_statistics statistics_full = FERRUM_STATISTICS_INIT;
    FM_RETURN_STRUCT(
        fmgo_elastic_pool_get_statistics(pool.id, &statistics_full),
        statistics_out, statistics_full);
}

ferrum_status ferrum_elastic_pool_models_json(ferrum_elastic_pool pool,
                                              char *buffer, size_t capacity,
                                              size_t *length_out) {
    FM_ENTER();
    FM_TEXT_OUT(buffer, capacity, length_out);
    FM_RETURN(
        fmgo_elastic_pool_models_json(pool.id, buffer, capacity, length_out));
}

ferrum_status ferrum_elastic_pool_set_limit(ferrum_elastic_pool pool,
                                            uint64_t limit_bytes) {
    FM_ENTER();
    FM_RETURN(fmgo_elastic_pool_set_limit(pool.id, limit_bytes));
}

ferrum_status ferrum_elastic_pool_compact(ferrum_elastic_pool pool,
                                          ferrum_compact_report *report_out) {
    FM_ENTER();
    FM_REQUIRE(report_out);
    FM_STRUCT_OUT(report_out);
    ferrum_compact_report report_full = FERRUM_COMPACT_REPORT_INIT;
    FM_RETURN_STRUCT(fmgo_elastic_pool_compact(pool.id, &report_full),
                     report_out, report_full);
}

ferrum_status ferrum_elastic_pool_trim(ferrum_elastic_pool pool,
                                       uint64_t keep_bytes,
                                       uint64_t *released_bytes_out) {
    FM_ENTER();
    FM_REQUIRE(released_bytes_out);
    *released_bytes_out = 0;
    FM_RETURN(fmgo_elastic_pool_trim(pool.id, keep_bytes, released_bytes_out));
}

ferrum_status ferrum_elastic_pool_synchronize(ferrum_elastic_pool pool,
                                              uint64_t timeout_ns) {
    FM_ENTER();
    FM_NOT_IN_HOST_FUNCTION();
    FM_RETURN(fmgo_elastic_pool_synchronize(pool.id, timeout_ns));
}

ferrum_status ferrum_elastic_pool_pause(ferrum_elastic_pool pool) {
    FM_ENTER();
    FM_RETURN(fmgo_elastic_pool_pause(pool.id));
}

ferrum_status ferrum_elastic_pool_resume(ferrum_elastic_pool pool) {
    FM_ENTER();
    FM_RETURN(fmgo_elastic_pool_resume(pool.id));
}

ferrum_status ferrum_elastic_pool_reclaim_callback_add(
    ferrum_elastic_pool pool, const char *model,
    const ferrum_reclaim_config *config, ferrum_model_reclaim_fn callback,
    void *user_data, ferrum_registration *registration_out) {
    FM_ENTER();
    FM_REQUIRE(registration_out);
    registration_out->id = 0;
    FM_REQUIRE(model);
    FM_REQUIRE(callback);
    ferrum_reclaim_config config_full = FERRUM_RECLAIM_CONFIG_INIT;
    if (config != NULL)
        FM_STRUCT_IN(config, config_full);
    FM_RETURN(fmgo_elastic_pool_reclaim_callback_add(
        pool.id, (char *)model, &config_full, callback, (uintptr_t)user_data,
        &registration_out->id));
}
