/* Generated from include/ferrum_mem/pools.h by scripts/genabi.py; do not edit. */
#include "_cgo_export.h"
#include "guard.h"
#include "guest.h"

ferrum_status ferrum_pool_create(ferrum_device device,
                                 const ferrum_pool_config *config,
                                 ferrum_pool *pool_out) {
    FM_ENTER();
    FM_REQUIRE(pool_out);
    pool_out->id = 0;
    ferrum_pool_config config_full = FERRUM_POOL_CONFIG_INIT;
    if (config != NULL)
        FM_STRUCT_IN(config, config_full);
    FM_LOOK();
    FM_RETURN(fmgo_pool_create(device.id, &config_full, &pool_out->id));
}

ferrum_status ferrum_pool_destroy(ferrum_pool pool, uint32_t flags) {
    FM_ENTER();
    FM_NOT_IN_HOST_FUNCTION();
    FM_RETURN(fmgo_pool_destroy(pool.id, flags));
}

ferrum_status ferrum_pool_get_tag(ferrum_pool pool, const char *name,
                                  uint32_t *tag_out) {
    FM_ENTER();
    FM_REQUIRE(tag_out);
    *tag_out = 0;
    FM_REQUIRE(name);
    FM_RETURN(fmgo_pool_get_tag(pool.id, (char *)name, tag_out));
}

ferrum_status ferrum_pool_record_stream(ferrum_pool pool,
                                        ferrum_address address,
                                        ferrum_stream stream) {
    FM_ENTER();
    FM_RETURN(fmgo_pool_record_stream(pool.id, address, stream.id));
}

ferrum_status ferrum_pool_record_stream_batch(ferrum_pool pool,
                                              const ferrum_address *addresses,
                                              uint64_t count,
                                              ferrum_stream stream) {
    FM_ENTER();
    FM_REQUIRE(addresses);
    FM_RETURN(fmgo_pool_record_stream_batch(
        pool.id, (ferrum_address *)addresses, count, stream.id));
}

ferrum_status ferrum_pool_capture_begin(ferrum_pool pool, ferrum_stream stream,
                                        uint64_t shared_graph,
                                        uint64_t *graph_out) {
    FM_ENTER();
    FM_REQUIRE(graph_out);
    *graph_out = 0;
    FM_RETURN(
        fmgo_pool_capture_begin(pool.id, stream.id, shared_graph, graph_out));
}

ferrum_status ferrum_pool_capture_end(ferrum_pool pool, uint64_t graph) {
    FM_ENTER();
    FM_RETURN(fmgo_pool_capture_end(pool.id, graph));
}

ferrum_status ferrum_pool_capture_release(ferrum_pool pool, uint64_t graph,
                                          ferrum_stream stream) {
    FM_ENTER();
    FM_RETURN(fmgo_pool_capture_release(pool.id, graph, stream.id));
}

ferrum_status ferrum_pool_capture_get_info(ferrum_pool pool, uint64_t graph,
                                           ferrum_graph_info *info_out) {
    FM_ENTER();
    FM_REQUIRE(info_out);
    FM_STRUCT_OUT(info_out);
    ferrum_graph_info info_full = FERRUM_GRAPH_INFO_INIT;
    FM_RETURN_STRUCT(fmgo_pool_capture_get_info(pool.id, graph, &info_full),
                     info_out, info_full);
}

ferrum_status ferrum_pool_reset(ferrum_pool pool, ferrum_stream stream) {
    FM_ENTER();
    FM_RETURN(fmgo_pool_reset(pool.id, stream.id));
}

ferrum_status ferrum_pool_check(ferrum_pool pool) {
    FM_ENTER();
    FM_RETURN(fmgo_pool_check(pool.id));
}

ferrum_status ferrum_pool_trim(ferrum_pool pool, uint64_t keep_bytes,
                               uint64_t *released_bytes_out) {
    FM_ENTER();
    FM_REQUIRE(released_bytes_out);
    *released_bytes_out = 0;
    FM_RETURN(fmgo_pool_trim(pool.id, keep_bytes, released_bytes_out));
}

ferrum_status ferrum_pool_set_limit(ferrum_pool pool, uint64_t max_size_bytes) {
    FM_ENTER();
    FM_RETURN(fmgo_pool_set_limit(pool.id, max_size_bytes));
}

ferrum_status ferrum_pool_set_min_held(ferrum_pool pool,
                                       uint64_t min_held_bytes) {
    FM_ENTER();
    FM_RETURN(fmgo_pool_set_min_held(pool.id, min_held_bytes));
}

ferrum_status
ferrum_pool_set_release_threshold(ferrum_pool pool,
                                  uint64_t release_threshold_bytes) {
    FM_ENTER();
    FM_RETURN(
        fmgo_pool_set_release_threshold(pool.id, release_threshold_bytes));
}

ferrum_status ferrum_pool_get_info(ferrum_pool pool,
                                   ferrum_pool_info *info_out) {
    FM_ENTER();
    FM_REQUIRE(info_out);
    FM_STRUCT_OUT(info_out);
    ferrum_pool_info info_full = FERRUM_POOL_INFO_INIT;
    FM_RETURN_STRUCT(fmgo_pool_get_info(pool.id, &info_full), info_out,
                     info_full);
}

ferrum_status ferrum_pool_get_statistics(ferrum_pool pool,
                                         ferrum_statistics *statistics_out) {
    FM_ENTER();
    FM_REQUIRE(statistics_out);
    FM_STRUCT_OUT(statistics_out);
    ferrum_statistics statistics_full = FERRUM_STATISTICS_INIT;
    FM_RETURN_STRUCT(fmgo_pool_get_statistics(pool.id, &statistics_full),
                     statistics_out, statistics_full);
}

ferrum_status ferrum_device_get_owner(ferrum_device device,
                                      ferrum_address address,
                                      ferrum_block_info *info_out) {
    FM_ENTER();
    FM_REQUIRE(info_out);
    FM_STRUCT_OUT(info_out);
    ferrum_block_info info_full = FERRUM_BLOCK_INFO_INIT;
    FM_RETURN_STRUCT(fmgo_device_get_owner(device.id, address, &info_full),
                     info_out, info_full);
}

ferrum_status ferrum_device_get_call_site_json(ferrum_device device,
                                               ferrum_address address,
                                               char *buffer, size_t capacity,
                                               size_t *length_out) {
    FM_ENTER();
    FM_TEXT_OUT(buffer, capacity, length_out);
    FM_RETURN(fmgo_device_get_call_site_json(device.id, address, buffer,
                                             capacity, length_out));
}
