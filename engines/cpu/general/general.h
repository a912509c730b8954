/* The general kernels, which are compiled once for the processor's base. */
#ifndef FK_GENERAL_H
#define FK_GENERAL_H

#include "../kernels/interface.h"

extern const struct fk_kernel fk_generals[FK_GENERALS];

#endif
