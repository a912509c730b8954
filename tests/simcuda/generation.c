/* Only this file is compiled once for each generation. */
#include "internal.h"

const int simcuda_generation = SIMCUDA_GENERATION;
