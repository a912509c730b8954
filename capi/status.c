/* Versions and status texts: functions that work at any time, without Go. */
#include "ferrum_mem.h"

#define FM_TEXT(number) #number
#define FM_NUMBER(number) FM_TEXT(number)

uint32_t ferrum_abi_version(void) { return FERRUM_ABI_VERSION; }

const char *ferrum_version_string(void) {
    return FM_NUMBER(FERRUM_VERSION_MAJOR) "." FM_NUMBER(
        FERRUM_VERSION_MINOR) "." FM_NUMBER(FERRUM_VERSION_PATCH);
}

const char *ferrum_status_name(ferrum_status status) {
    switch (status) {
#define FM_CASE(name, value, text) \
    case value:                    \
        return #name;
        FERRUM_STATUS_TABLE(FM_CASE)
#undef FM_CASE
    default:
        return "FERRUM_ERROR_UNKNOWN";
    }
}

const char *ferrum_status_text(ferrum_status status) {
    switch (status) {
#define FM_CASE(name, value, text) \
    case value:                    \
        return text;
        FERRUM_STATUS_TABLE(FM_CASE)
#undef FM_CASE
    default:
        return "not a status of this library";
    }
}
