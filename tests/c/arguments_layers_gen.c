/* Generated from include/ferrum_mem/layers.h by scripts/genabi.py; do not edit. */
#include "arguments.h"

static const struct_field fields_ferrum_layer[] = {
    FIELD(ferrum_layer, flags, FLAGS),
    FIELD(ferrum_layer, type, TEXT),
    FIELD(ferrum_layer, name, TEXT),
    FIELD(ferrum_layer, input_rank, VALUE),
    FIELD(ferrum_layer, output_count, VALUE),
    FIELD(ferrum_layer, config_json, TEXT),
    FIELD(ferrum_layer, config_bytes, VALUE)};
static const ferrum_layer init_ferrum_layer = FERRUM_LAYER_INIT;
static const struct_type type_ferrum_layer = {
    sizeof(ferrum_layer), &init_ferrum_layer, fields_ferrum_layer, 7};

static ferrum_status call_layer_register(const argument *a) {
    return ferrum_layer_register(a[0].pointer, a[1].pointer);
}
static const parameter parameters_layer_register[] = {
    PARAMETER(layer, STRUCT_IN, .type = &type_ferrum_layer),
    PARAMETER(registration_out, OUT, .size = sizeof(ferrum_registration))};

static ferrum_status call_layers_json(const argument *a) {
    return ferrum_layers_json(a[0].pointer, (size_t)a[1].number, a[2].pointer);
}
static const parameter parameters_layers_json[] = {
    PARAMETER(buffer, BUFFER), PARAMETER(capacity, CAPACITY),
    PARAMETER(length_out, OUT, .size = sizeof(size_t))};

const function arguments_layers[] = {
    FUNCTION(layer_register, .parameters = parameters_layer_register,
             .count = 2),
    FUNCTION(layers_json, .parameters = parameters_layers_json, .count = 3),
    {.name = NULL}};
