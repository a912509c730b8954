/* Generated from include/ferrum_mem/virtual.h by scripts/genabi.py; do not edit. */
#include "_cgo_export.h"
#include "guard.h"
#include "guest.h"

ferrum_status ferrum_device_get_page_sizes(ferrum_device device,
                                           ferrum_page_sizes *sizes_out) {
    FM_ENTER();
    FM_REQUIRE(sizes_out);
    FM_STRUCT_OUT(sizes_out);
    ferrum_page_sizes sizes_full = FERRUM_PAGE_SIZES_INIT;
    FM_RETURN_STRUCT(fmgo_device_get_page_sizes(device.id, &sizes_full),
                     sizes_out, sizes_full);
}

ferrum_status ferrum_vpool_create(ferrum_device device,
                                  const ferrum_vpool_config *config,
                                  ferrum_vpool *vpool_out) {
    FM_ENTER();
    FM_REQUIRE(vpool_out);
    vpool_out->id = 0;
    FM_REQUIRE(config);
    ferrum_vpool_config config_full = FERRUM_VPOOL_CONFIG_INIT;
    FM_STRUCT_IN(config, config_full);
    FM_LOOK();
    FM_RETURN(fmgo_vpool_create(device.id, &config_full, &vpool_out->id));
}

ferrum_status ferrum_vpool_destroy(ferrum_vpool vpool, uint32_t flags) {
    FM_ENTER();
    FM_NOT_IN_HOST_FUNCTION();
    FM_RETURN(fmgo_vpool_destroy(vpool.id, flags));
}

ferrum_status ferrum_vpool_alloc(ferrum_vpool vpool, uint64_t offset_bytes,
                                 uint64_t size_bytes,
                                 ferrum_address *address_out) {
    FM_ENTER();
    FM_REQUIRE(address_out);
    *address_out = 0;
    FM_RETURN(
        fmgo_vpool_alloc(vpool.id, offset_bytes, size_bytes, address_out));
}

ferrum_status ferrum_vpool_alloc_with(ferrum_vpool vpool,
                                      const ferrum_vpool_request *request,
                                      ferrum_address *address_out) {
    FM_ENTER();
    FM_REQUIRE(address_out);
    *address_out = 0;
    FM_REQUIRE(request);
    ferrum_vpool_request request_full = FERRUM_VPOOL_REQUEST_INIT;
    FM_STRUCT_IN(request, request_full);
    FM_RETURN(fmgo_vpool_alloc_with(vpool.id, &request_full, address_out));
}

ferrum_status ferrum_vpool_alloc_batch(ferrum_vpool vpool,
                                       const ferrum_byte_range *ranges,
                                       uint64_t count,
                                       const ferrum_batch_options *options) {
    FM_ENTER();
    FM_REQUIRE(ranges);
    ferrum_batch_options options_full = FERRUM_BATCH_OPTIONS_INIT;
    if (options != NULL)
        FM_STRUCT_IN(options, options_full);
    FM_RETURN(fmgo_vpool_alloc_batch(vpool.id, (ferrum_byte_range *)ranges,
                                     count, &options_full));
}

ferrum_status ferrum_vpool_free(ferrum_vpool vpool, uint64_t offset_bytes,
                                uint64_t size_bytes, ferrum_stream stream) {
    FM_ENTER();
    FM_RETURN(fmgo_vpool_free(vpool.id, offset_bytes, size_bytes, stream.id));
}

ferrum_status ferrum_vpool_free_batch(ferrum_vpool vpool,
                                      const ferrum_byte_range *ranges,
                                      uint64_t count, ferrum_stream stream) {
    FM_ENTER();
    FM_REQUIRE(ranges);
    FM_RETURN(fmgo_vpool_free_batch(vpool.id, (ferrum_byte_range *)ranges,
                                    count, stream.id));
}

ferrum_status ferrum_vpool_record_stream(ferrum_vpool vpool,
                                         uint64_t offset_bytes,
                                         uint64_t size_bytes,
                                         ferrum_stream stream) {
    FM_ENTER();
    FM_RETURN(fmgo_vpool_record_stream(vpool.id, offset_bytes, size_bytes,
                                       stream.id));
}

ferrum_status ferrum_vpool_record_stream_batch(ferrum_vpool vpool,
                                               const ferrum_byte_range *ranges,
                                               uint64_t count,
                                               ferrum_stream stream) {
    FM_ENTER();
    FM_REQUIRE(ranges);
    FM_RETURN(fmgo_vpool_record_stream_batch(
        vpool.id, (ferrum_byte_range *)ranges, count, stream.id));
}

ferrum_status ferrum_vpool_is_mapped(ferrum_vpool vpool, uint64_t offset_bytes,
                                     uint64_t size_bytes,
                                     uint32_t *mapped_out) {
    FM_ENTER();
    FM_REQUIRE(mapped_out);
    *mapped_out = 0;
    FM_RETURN(
        fmgo_vpool_is_mapped(vpool.id, offset_bytes, size_bytes, mapped_out));
}

ferrum_status ferrum_vpool_get_info(ferrum_vpool vpool,
                                    ferrum_vpool_info *info_out) {
    FM_ENTER();
    FM_REQUIRE(info_out);
    FM_STRUCT_OUT(info_out);
    ferrum_vpool_info info_full = FERRUM_VPOOL_INFO_INIT;
    FM_RETURN_STRUCT(fmgo_vpool_get_info(vpool.id, &info_full), info_out,
                     info_full);
}

ferrum_status ferrum_vpool_get_statistics(ferrum_vpool vpool,
                                          ferrum_statistics *statistics_out) {
    FM_ENTER();
    FM_REQUIRE(statistics_out);
    FM_STRUCT_OUT(statistics_out);
    ferrum_statistics statistics_full = FERRUM_STATISTICS_INIT;
    FM_RETURN_STRUCT(fmgo_vpool_get_statistics(vpool.id, &statistics_full),
                     statistics_out, statistics_full);
}

ferrum_status ferrum_vpool_compact(ferrum_vpool vpool,
                                   ferrum_compact_report *report_out) {
    FM_ENTER();
    FM_REQUIRE(report_out);
    FM_STRUCT_OUT(report_out);
    ferrum_compact_report report_full = FERRUM_COMPACT_REPORT_INIT;
    FM_RETURN_STRUCT(fmgo_vpool_compact(vpool.id, &report_full), report_out,
                     report_full);
}

ferrum_status ferrum_vpool_trim(ferrum_vpool vpool, uint64_t keep_bytes,
                                uint64_t *released_bytes_out) {
    FM_ENTER();
    FM_REQUIRE(released_bytes_out);
    *released_bytes_out = 0;
    FM_RETURN(fmgo_vpool_trim(vpool.id, keep_bytes, released_bytes_out));
}

ferrum_status ferrum_vpool_set_limit(ferrum_vpool vpool, uint64_t limit_bytes) {
    FM_ENTER();
    FM_RETURN(fmgo_vpool_set_limit(vpool.id, limit_bytes));
}

ferrum_status ferrum_vpool_synchronize(ferrum_vpool vpool,
                                       uint64_t timeout_ns) {
    FM_ENTER();
    FM_NOT_IN_HOST_FUNCTION();
    FM_RETURN(fmgo_vpool_synchronize(vpool.id, timeout_ns));
}

ferrum_status ferrum_vpool_pause(ferrum_vpool vpool) {
    FM_ENTER();
    FM_RETURN(fmgo_vpool_pause(vpool.id));
}

ferrum_status ferrum_vpool_resume(ferrum_vpool vpool) {
    FM_ENTER();
    FM_RETURN(fmgo_vpool_resume(vpool.id));
}
