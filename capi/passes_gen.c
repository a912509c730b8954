/* Generated from include/ferrum_mem/passes.h by scripts/genabi.py; do not edit. */
#include "_cgo_export.h"
#include "guard.h"
#include "guest.h"

ferrum_status ferrum_pass_register(const ferrum_pass *pass,
                                   ferrum_registration *registration_out) {
    FM_ENTER();
    FM_REQUIRE(registration_out);
    registration_out->id = 0;
    FM_REQUIRE(pass);
    ferrum_pass pass_full = FERRUM_PASS_INIT;
    FM_STRUCT_IN(pass, pass_full);
    FM_RETURN(fmgo_pass_register(&pass_full, &registration_out->id));
}

ferrum_status
ferrum_definition_optimize(const char *definition_text, size_t definition_bytes,
                           const char *passes_text, size_t passes_bytes,
                           ferrum_optimized_fn optimized, void *user_data) {
    FM_ENTER();
    FM_REQUIRE(definition_text);
    FM_REQUIRE(optimized);
    FM_RETURN(fmgo_definition_optimize(
        (char *)definition_text, definition_bytes, (char *)passes_text,
        passes_bytes, optimized, (uintptr_t)user_data));
}
