/*
 * The part of ferrum_mem/pools.h that is about graphs: what a pool keeps for
 * work that is captured.
 */
#include "_cgo_export.h"
#include "guard.h"

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
    ferrum_graph_info full = FERRUM_GRAPH_INFO_INIT;
    FM_RETURN_STRUCT(fmgo_pool_capture_get_info(pool.id, graph, &full),
                     info_out, full);
}
