/* Generated from include/ferrum_mem/streams.h by scripts/genabi.py; do not edit. */
#include "_cgo_export.h"
#include "guard.h"
#include "guest.h"

ferrum_status ferrum_stream_create(ferrum_device device,
                                   ferrum_stream *stream_out) {
    FM_ENTER();
    FM_REQUIRE(stream_out);
    stream_out->id = 0;
    FM_LOOK();
    FM_RETURN(fmgo_stream_create(device.id, &stream_out->id));
}

ferrum_status ferrum_stream_destroy(ferrum_stream stream, uint32_t flags) {
    FM_ENTER();
    FM_NOT_IN_HOST_FUNCTION();
    FM_RETURN(fmgo_stream_destroy(stream.id, flags));
}

ferrum_status ferrum_stream_default(ferrum_device device,
                                    ferrum_stream *stream_out) {
    FM_ENTER();
    FM_REQUIRE(stream_out);
    stream_out->id = 0;
    FM_RETURN(fmgo_stream_default(device.id, &stream_out->id));
}

ferrum_status ferrum_stream_synchronize(ferrum_stream stream,
                                        uint64_t timeout_ns) {
    FM_ENTER();
    FM_NOT_IN_HOST_FUNCTION();
    FM_RETURN(fmgo_stream_synchronize(stream.id, timeout_ns));
}

ferrum_status ferrum_stream_is_ready(ferrum_stream stream,
                                     uint32_t *ready_out) {
    FM_ENTER();
    FM_REQUIRE(ready_out);
    *ready_out = 0;
    FM_RETURN(fmgo_stream_is_ready(stream.id, ready_out));
}

ferrum_status ferrum_stream_host_function(ferrum_stream stream,
                                          ferrum_host_fn function,
                                          void *user_data) {
    FM_ENTER();
    FM_REQUIRE(function);
    FM_RETURN(
        fmgo_stream_host_function(stream.id, function, (uintptr_t)user_data));
}

ferrum_status ferrum_stream_copy_batch(ferrum_stream stream,
                                       const ferrum_address_copy *copies,
                                       uint64_t count) {
    FM_ENTER();
    FM_REQUIRE(copies);
    FM_RETURN(fmgo_stream_copy_batch(stream.id, (ferrum_address_copy *)copies,
                                     count));
}

ferrum_status ferrum_event_record(ferrum_stream stream,
                                  ferrum_event *event_out) {
    FM_ENTER();
    FM_REQUIRE(event_out);
    event_out->id = 0;
    FM_RETURN(fmgo_event_record(stream.id, &event_out->id));
}

ferrum_status ferrum_event_destroy(ferrum_event event) {
    FM_ENTER();
    FM_RETURN(fmgo_event_destroy(event.id));
}

ferrum_status ferrum_event_is_ready(ferrum_event event, uint32_t *ready_out) {
    FM_ENTER();
    FM_REQUIRE(ready_out);
    *ready_out = 0;
    FM_RETURN(fmgo_event_is_ready(event.id, ready_out));
}

ferrum_status ferrum_event_synchronize(ferrum_event event,
                                       uint64_t timeout_ns) {
    FM_ENTER();
    FM_NOT_IN_HOST_FUNCTION();
    FM_RETURN(fmgo_event_synchronize(event.id, timeout_ns));
}

ferrum_status ferrum_event_elapsed(ferrum_event start, ferrum_event end,
                                   int64_t *elapsed_ns_out) {
    FM_ENTER();
    FM_REQUIRE(elapsed_ns_out);
    *elapsed_ns_out = 0;
    FM_RETURN(fmgo_event_elapsed(start.id, end.id, elapsed_ns_out));
}

ferrum_status ferrum_stream_wait_event(ferrum_stream stream,
                                       ferrum_event event) {
    FM_ENTER();
    FM_RETURN(fmgo_stream_wait_event(stream.id, event.id));
}
