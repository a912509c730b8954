/* Memory information that may have some age, read from the published
 * counters if they are valid. */
#include "_cgo_export.h"
#include "guard.h"
#include "mirrors/mirror.h"

ferrum_status
ferrum_device_get_recent_memory_info(ferrum_device device, uint64_t max_age_ns,
                                     ferrum_memory_info *info_out) {
    FM_ENTER();
    FM_REQUIRE(info_out);
    ferrum_memory_info full = FERRUM_MEMORY_INFO_INIT;
    enum fm_mirror_reading reading =
        fm_mirror_read(device.id, max_age_ns, &full);
    if (reading == FM_MIRROR_READ && info_out->struct_size == sizeof full) {
        *info_out = full;
        return FERRUM_OK;
    }
    FM_STRUCT_OUT(info_out);
    if (reading == FM_MIRROR_HIDDEN) {
        ferrum_status status = fmgo_memory_show(device.id);
        if (status != FERRUM_OK)
            return fm_failed_in(__func__, status);
        reading = fm_mirror_read(device.id, max_age_ns, &full);
    }
    if (reading == FM_MIRROR_READ) {
        fm_struct_give(info_out, &full, sizeof full);
        return FERRUM_OK;
    }
    FM_RETURN_STRUCT(
        fmgo_device_get_recent_memory_info(device.id, max_age_ns, &full),
        info_out, full);
}
