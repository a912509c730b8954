/* Generated from include/ferrum_mem/layers.h by scripts/genabi.py; do not edit. */
#include "_cgo_export.h"
#include "guard.h"
#include "guest.h"

ferrum_status ferrum_layer_register(const ferrum_layer *layer,
                                    ferrum_registration *registration_out) {
    FM_ENTER();
    FM_REQUIRE(registration_out);
    registration_out->id = 0;
    FM_REQUIRE(layer);
    ferrum_layer layer_full = FERRUM_LAYER_INIT;
    FM_STRUCT_IN(layer, layer_full);
    FM_RETURN(fmgo_layer_register(&layer_full, &registration_out->id));
}

ferrum_status ferrum_layers_json(char *buffer, size_t capacity,
                                 size_t *length_out) {
    FM_ENTER();
    FM_TEXT_OUT(buffer, capacity, length_out);
    FM_RETURN(fmgo_layers_json(buffer, capacity, length_out));
}
