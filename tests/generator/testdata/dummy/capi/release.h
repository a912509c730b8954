/* Calls release callbacks of C. */
#ifndef FERRUM_CAPI_RELEASE_H
#define FERRUM_CAPI_RELEASE_H

#include "bridge.h"

/** Calls the caller's function. user_data is a number here, because Go could
 *  mistake an arbitrary value of the caller for a pointer. */
void fm_call_release(ferrum_release_fn release, uintptr_t user_data);

#endif
