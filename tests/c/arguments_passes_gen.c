/* Generated from include/ferrum_mem/passes.h by scripts/genabi.py; do not edit. */
#include "arguments.h"

static void nothing_ferrum_optimized_fn(const char *result_json,
                                        uint64_t result_bytes,
                                        void *user_data) {
    (void)result_json;
    (void)result_bytes;
    (void)user_data;
}

static const struct_field fields_ferrum_pass[] = {
    FIELD(ferrum_pass, dependency_count, VALUE), FIELD(ferrum_pass, name, TEXT),
    FIELD(ferrum_pass, dependencies, LIST)};
static const ferrum_pass init_ferrum_pass = FERRUM_PASS_INIT;
static const struct_type type_ferrum_pass = {
    sizeof(ferrum_pass), &init_ferrum_pass, fields_ferrum_pass, 3};

static ferrum_status call_pass_register(const argument *a) {
    return ferrum_pass_register(a[0].pointer, a[1].pointer);
}
static const parameter parameters_pass_register[] = {
    PARAMETER(pass, STRUCT_IN, .type = &type_ferrum_pass),
    PARAMETER(registration_out, OUT, .size = sizeof(ferrum_registration))};

static ferrum_status call_definition_optimize(const argument *a) {
    return ferrum_definition_optimize(
        a[0].pointer, (size_t)a[1].number, a[2].pointer, (size_t)a[3].number,
        (ferrum_optimized_fn)a[4].function, a[5].pointer);
}
static const parameter parameters_definition_optimize[] = {
    PARAMETER(definition_text, BYTES),
    PARAMETER(definition_bytes, VALUE),
    PARAMETER(passes_text, BYTES, .is_optional = 1),
    PARAMETER(passes_bytes, VALUE),
    PARAMETER(optimized, CALLBACK,
              .nothing = (any_function)nothing_ferrum_optimized_fn),
    PARAMETER(user_data, DATA)};

const function arguments_passes[] = {
    FUNCTION(pass_register, .parameters = parameters_pass_register, .count = 2),
    FUNCTION(definition_optimize, .parameters = parameters_definition_optimize,
             .count = 6),
    {.name = NULL}};
