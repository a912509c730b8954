/* Generated from include/ferrum_mem/base.h by scripts/genabi.py; do not edit. */
#include "_cgo_export.h"
#include "guard.h"
#include "guest.h"

ferrum_status ferrum_shutdown(uint32_t flags) {
    FM_ENTER();
    FM_RETURN(fmgo_shutdown(flags));
}

ferrum_status ferrum_log_set_callback(ferrum_log_level minimum_level,
                                      ferrum_log_fn callback, void *user_data) {
    FM_ENTER();
    FM_RETURN(
        fmgo_log_set_callback(minimum_level, callback, (uintptr_t)user_data));
}
