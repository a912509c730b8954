/* Generated from include/ferrum_mem/sharing.h by scripts/genabi.py; do not edit. */
#include "_cgo_export.h"
#include "guard.h"
#include "guest.h"

ferrum_status ferrum_device_open_native(const char *id, uint64_t native_context,
                                        ferrum_device *device_out) {
    FM_ENTER();
    FM_REQUIRE(device_out);
    device_out->id = 0;
    FM_REQUIRE(id);
    FM_LOOK();
    FM_RETURN(
        fmgo_device_open_native((char *)id, native_context, &device_out->id));
}

ferrum_status ferrum_device_get_native(ferrum_device device,
                                       uint64_t *native_out) {
    FM_ENTER();
    FM_REQUIRE(native_out);
    *native_out = 0;
    FM_RETURN(fmgo_device_get_native(device.id, native_out));
}

ferrum_status ferrum_stream_get_native(ferrum_stream stream,
                                       uint64_t *native_out) {
    FM_ENTER();
    FM_REQUIRE(native_out);
    *native_out = 0;
    FM_RETURN(fmgo_stream_get_native(stream.id, native_out));
}

ferrum_status ferrum_event_get_native(ferrum_event event,
                                      uint64_t *native_out) {
    FM_ENTER();
    FM_REQUIRE(native_out);
    *native_out = 0;
    FM_RETURN(fmgo_event_get_native(event.id, native_out));
}

ferrum_status ferrum_device_grant_peer(ferrum_device device,
                                       ferrum_device peer) {
    FM_ENTER();
    FM_RETURN(fmgo_device_grant_peer(device.id, peer.id));
}

ferrum_status ferrum_vpool_export(ferrum_vpool vpool, uint64_t offset_bytes,
                                  uint64_t size_bytes, int32_t *descriptors_out,
                                  size_t capacity, size_t *count_out) {
    FM_ENTER();
    FM_REQUIRE(count_out);
    *count_out = 0;
    if (capacity > 0)
        FM_REQUIRE(descriptors_out);
    FM_RETURN(fmgo_vpool_export(vpool.id, offset_bytes, size_bytes,
                                descriptors_out, capacity, count_out));
}

ferrum_status ferrum_vpool_export_fabric(ferrum_vpool vpool,
                                         uint64_t offset_bytes,
                                         uint64_t size_bytes,
                                         uint8_t *handles_out, size_t capacity,
                                         size_t *count_out) {
    FM_ENTER();
    FM_REQUIRE(count_out);
    *count_out = 0;
    if (capacity > 0)
        FM_REQUIRE(handles_out);
    FM_RETURN(fmgo_vpool_export_fabric(vpool.id, offset_bytes, size_bytes,
                                       handles_out, capacity, count_out));
}

ferrum_status ferrum_manager_import_pages(ferrum_manager manager,
                                          const ferrum_page_import *pages,
                                          ferrum_memory *memory_out) {
    FM_ENTER();
    FM_REQUIRE(memory_out);
    memory_out->id = 0;
    FM_REQUIRE(pages);
    ferrum_page_import pages_full = FERRUM_PAGE_IMPORT_INIT;
    FM_STRUCT_IN(pages, pages_full);
    FM_RETURN(
        fmgo_manager_import_pages(manager.id, &pages_full, &memory_out->id));
}

ferrum_status ferrum_device_share_memory(ferrum_device device,
                                         ferrum_address address,
                                         uint64_t size_bytes,
                                         ferrum_shared_memory *shared_out) {
    FM_ENTER();
    FM_REQUIRE(shared_out);
    FM_STRUCT_OUT(shared_out);
    ferrum_shared_memory shared_full = FERRUM_SHARED_MEMORY_INIT;
    FM_RETURN_STRUCT(
        fmgo_device_share_memory(device.id, address, size_bytes, &shared_full),
        shared_out, shared_full);
}

ferrum_status ferrum_manager_import_memory(ferrum_manager manager,
                                           const ferrum_shared_memory *shared,
                                           const char *tag,
                                           ferrum_memory *memory_out) {
    FM_ENTER();
    FM_REQUIRE(memory_out);
    memory_out->id = 0;
    FM_REQUIRE(shared);
    ferrum_shared_memory shared_full = FERRUM_SHARED_MEMORY_INIT;
    FM_STRUCT_IN(shared, shared_full);
    FM_RETURN(fmgo_manager_import_memory(manager.id, &shared_full, (char *)tag,
                                         &memory_out->id));
}

ferrum_status ferrum_event_share(ferrum_stream stream,
                                 ferrum_shared_event *shared_out,
                                 ferrum_event *event_out) {
    FM_ENTER();
    FM_REQUIRE(event_out);
    event_out->id = 0;
    FM_REQUIRE(shared_out);
    FM_STRUCT_OUT(shared_out);
    ferrum_shared_event shared_full = FERRUM_SHARED_EVENT_INIT;
    FM_RETURN_STRUCT(fmgo_event_share(stream.id, &shared_full, &event_out->id),
                     shared_out, shared_full);
}

ferrum_status ferrum_event_open(ferrum_device device,
                                const ferrum_shared_event *shared,
                                ferrum_event *event_out) {
    FM_ENTER();
    FM_REQUIRE(event_out);
    event_out->id = 0;
    FM_REQUIRE(shared);
    ferrum_shared_event shared_full = FERRUM_SHARED_EVENT_INIT;
    FM_STRUCT_IN(shared, shared_full);
    FM_RETURN(fmgo_event_open(device.id, &shared_full, &event_out->id));
}
