/* ferrum_mem/monitor.h: placement. */
#include "_cgo_export.h"
#include "guard.h"
#include "guest.h"

ferrum_status ferrum_placement_create(const char *strategy,
                                      ferrum_placement *placement_out) {
    FM_ENTER();
    FM_REQUIRE(placement_out);
    placement_out->id = 0;
    FM_REQUIRE(strategy);
    FM_LOOK();
    FM_RETURN(fmgo_placement_create((char *)strategy, &placement_out->id));
}

ferrum_status ferrum_placement_create_own(const char *name,
                                          ferrum_placement_fn callback,
                                          void *user_data,
                                          ferrum_placement *placement_out) {
    FM_ENTER();
    FM_REQUIRE(placement_out);
    placement_out->id = 0;
    FM_REQUIRE(name);
    FM_REQUIRE(callback);
    FM_LOOK();
    FM_RETURN(fmgo_placement_create_own(
        (char *)name, callback, (uintptr_t)user_data, &placement_out->id));
}

ferrum_status ferrum_placement_destroy(ferrum_placement placement) {
    FM_ENTER();
    FM_RETURN(fmgo_placement_destroy(placement.id));
}

ferrum_status ferrum_placement_get_name(ferrum_placement placement,
                                        char *buffer, size_t capacity,
                                        size_t *length_out) {
    FM_ENTER();
    FM_TEXT_OUT(buffer, capacity, length_out);
    FM_RETURN(
        fmgo_placement_get_name(placement.id, buffer, capacity, length_out));
}

ferrum_status ferrum_placement_select(ferrum_placement placement,
                                      const ferrum_placement_request *request,
                                      ferrum_device *device_out) {
    FM_ENTER();
    FM_REQUIRE(device_out);
    device_out->id = 0;
    FM_REQUIRE(request);
    ferrum_placement_request full = FERRUM_PLACEMENT_REQUEST_INIT;
    FM_STRUCT_IN(request, full);
    FM_RETURN(fmgo_placement_select(placement.id, &full, &device_out->id));
}

ferrum_status ferrum_placement_explain_json(
    ferrum_placement placement, const ferrum_placement_request *request,
    char *buffer, size_t capacity, size_t *length_out) {
    FM_ENTER();
    FM_TEXT_OUT(buffer, capacity, length_out);
    FM_REQUIRE(request);
    ferrum_placement_request full = FERRUM_PLACEMENT_REQUEST_INIT;
    FM_STRUCT_IN(request, full);
    FM_RETURN(fmgo_placement_explain_json(placement.id, &full, buffer, capacity,
                                          length_out));
}
