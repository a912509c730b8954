/* The queries of Go about the process, for the discovery of backends. */
#ifndef FERRUM_CAPI_DISCOVERY_H
#define FERRUM_CAPI_DISCOVERY_H

#include <stddef.h>

/** Writes the path of this library's file with links resolved, and returns
 *  its length. 0: the path is not known or does not fit. */
size_t fm_library_path(char *buffer, size_t capacity);

/** The current environment of the process. */
char **fm_environment(void);

#endif
