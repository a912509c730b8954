/* Generated from include/ferrum_mem/mapping.h by scripts/genabi.py; do not edit. */
#include "_cgo_export.h"
#include "guard.h"
#include "guest.h"

ferrum_status ferrum_memory_map(const ferrum_map_request *request,
                                ferrum_mapping *mapping_out) {
    FM_ENTER();
    FM_REQUIRE(mapping_out);
    FM_STRUCT_OUT(mapping_out);
    FM_REQUIRE(request);
    ferrum_map_request request_full = FERRUM_MAP_REQUEST_INIT;
    FM_STRUCT_IN(request, request_full);
    FM_NOT_IN_HOST_FUNCTION();
    ferrum_mapping mapping_full = FERRUM_MAPPING_INIT;
    FM_RETURN_STRUCT(fmgo_memory_map(&request_full, &mapping_full), mapping_out,
                     mapping_full);
}

ferrum_status ferrum_memory_unmap(ferrum_memory memory, uint64_t mapping_id) {
    FM_ENTER();
    FM_NOT_IN_HOST_FUNCTION();
    FM_RETURN(fmgo_memory_unmap(memory.id, mapping_id));
}

ferrum_status ferrum_manager_create_mapping(ferrum_manager first,
                                            ferrum_manager second,
                                            const ferrum_link_request *request,
                                            ferrum_memory *first_out,
                                            ferrum_memory *second_out) {
    FM_ENTER();
    FM_REQUIRE(first_out);
    first_out->id = 0;
    FM_REQUIRE(second_out);
    second_out->id = 0;
    FM_REQUIRE(request);
    ferrum_link_request request_full = FERRUM_LINK_REQUEST_INIT;
    FM_STRUCT_IN(request, request_full);
    FM_RETURN(fmgo_manager_create_mapping(first.id, second.id, &request_full,
                                          &first_out->id, &second_out->id));
}

ferrum_status ferrum_memory_prefetch(ferrum_memory memory, ferrum_device target,
                                     ferrum_stream stream) {
    FM_ENTER();
    FM_RETURN(fmgo_memory_prefetch(memory.id, target.id, stream.id));
}

ferrum_status ferrum_memory_set_usage_hint(ferrum_memory memory,
                                           ferrum_usage_hint hint) {
    FM_ENTER();
    FM_RETURN(fmgo_memory_set_usage_hint(memory.id, hint));
}

ferrum_status ferrum_memory_get_usage_hints(ferrum_memory memory,
                                            ferrum_usage_hints *hints_out) {
    FM_ENTER();
    FM_REQUIRE(hints_out);
    FM_STRUCT_OUT(hints_out);
    ferrum_usage_hints hints_full = FERRUM_USAGE_HINTS_INIT;
    FM_RETURN_STRUCT(fmgo_memory_get_usage_hints(memory.id, &hints_full),
                     hints_out, hints_full);
}

ferrum_status ferrum_memory_get_access_stats(ferrum_memory memory,
                                             ferrum_access_stats *stats_out) {
    FM_ENTER();
    FM_REQUIRE(stats_out);
    FM_STRUCT_OUT(stats_out);
    ferrum_access_stats stats_full = FERRUM_ACCESS_STATS_INIT;
    FM_RETURN_STRUCT(fmgo_memory_get_access_stats(memory.id, &stats_full),
                     stats_out, stats_full);
}

ferrum_status ferrum_manager_adopt(ferrum_manager manager,
                                   const ferrum_adoption *adoption,
                                   ferrum_memory *memory_out) {
    FM_ENTER();
    FM_REQUIRE(memory_out);
    memory_out->id = 0;
    FM_REQUIRE(adoption);
    ferrum_adoption adoption_full = FERRUM_ADOPTION_INIT;
    FM_STRUCT_IN(adoption, adoption_full);
    FM_RETURN(fmgo_manager_adopt(manager.id, &adoption_full, &memory_out->id));
}

ferrum_status ferrum_stream_adopt(ferrum_device device,
                                  const ferrum_foreign_stream *foreign,
                                  ferrum_stream *stream_out) {
    FM_ENTER();
    FM_REQUIRE(stream_out);
    stream_out->id = 0;
    FM_REQUIRE(foreign);
    ferrum_foreign_stream foreign_full = FERRUM_FOREIGN_STREAM_INIT;
    FM_STRUCT_IN(foreign, foreign_full);
    FM_LOOK();
    FM_RETURN(fmgo_stream_adopt(device.id, &foreign_full, &stream_out->id));
}

ferrum_status ferrum_event_adopt(ferrum_device device, uint64_t native_handle,
                                 ferrum_event *event_out) {
    FM_ENTER();
    FM_REQUIRE(event_out);
    event_out->id = 0;
    FM_RETURN(fmgo_event_adopt(device.id, native_handle, &event_out->id));
}
