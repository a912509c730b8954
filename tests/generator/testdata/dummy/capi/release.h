/* The call of a release callback. */
#ifndef FERRUM_CAPI_RELEASE_H
#define FERRUM_CAPI_RELEASE_H

#include "bridge.h"

/** Calls the caller's function. user_data is a number here: Go must not take the
 *  caller's word for a pointer. */
void fm_call_release(ferrum_release_fn release, uintptr_t user_data);

#endif
