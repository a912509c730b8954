/* The start of the library. */
#include "_cgo_export.h"
#include "guard.h"
#include "guest.h"
#include "signals.h"

ferrum_status ferrum_init(const ferrum_config *config) {
    FM_ENTER();
    ferrum_config full = FERRUM_CONFIG_INIT;
    if (config != NULL)
        FM_STRUCT_IN(config, full);
    ferrum_status status = fm_guest_start(__func__);
    if (status != FERRUM_OK)
        return status;
    status = fmgo_init(config == NULL ? NULL : &full);
    if (status != FERRUM_OK)
        return fm_failed_in(__func__, status);
    /* A caller that joins a running library makes the check as well. */
    fm_handlers_look();
    return FERRUM_OK;
}
