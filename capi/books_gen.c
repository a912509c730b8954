/* Generated from include/ferrum_mem/books.h by scripts/genabi.py; do not edit. */
#include "_cgo_export.h"
#include "guard.h"
#include "guest.h"

ferrum_status ferrum_device_get_memory_info(ferrum_device device,
                                            ferrum_memory_info *info_out) {
    FM_ENTER();
    FM_REQUIRE(info_out);
    FM_STRUCT_OUT(info_out);
    ferrum_memory_info info_full = FERRUM_MEMORY_INFO_INIT;
    FM_RETURN_STRUCT(fmgo_device_get_memory_info(device.id, &info_full),
                     info_out, info_full);
}

ferrum_status ferrum_device_get_statistics(ferrum_device device,
                                           ferrum_statistics *statistics_out) {
    FM_ENTER();
    FM_REQUIRE(statistics_out);
    FM_STRUCT_OUT(statistics_out);
    ferrum_statistics statistics_full = FERRUM_STATISTICS_INIT;
    FM_RETURN_STRUCT(fmgo_device_get_statistics(device.id, &statistics_full),
                     statistics_out, statistics_full);
}

ferrum_status ferrum_snapshot_json(char *buffer, size_t capacity,
                                   size_t *length_out) {
    FM_ENTER();
    FM_TEXT_OUT(buffer, capacity, length_out);
    FM_RETURN(fmgo_snapshot_json(buffer, capacity, length_out));
}

ferrum_status ferrum_leak_report_json(char *buffer, size_t capacity,
                                      size_t *length_out) {
    FM_ENTER();
    FM_TEXT_OUT(buffer, capacity, length_out);
    FM_RETURN(fmgo_leak_report_json(buffer, capacity, length_out));
}
