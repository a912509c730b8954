/*
 * What Go asks of the process for the discovery of backends.
 */
#ifndef FERRUM_CAPI_DISCOVERY_H
#define FERRUM_CAPI_DISCOVERY_H

#include <stddef.h>

/** The file that this library was loaded from, links resolved; 0 if that is not
 *  known or does not fit, else its length. */
size_t fm_library_path(char *buffer, size_t capacity);

/** The environment of the process as it is now. */
char **fm_environment(void);

#endif
