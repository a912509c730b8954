/* The command line of the harness. */
#ifndef FERRUM_BENCH_OPTIONS_H
#define FERRUM_BENCH_OPTIONS_H

#include "workloads.h"

enum { EXIT_USAGE = 2, EXIT_MISSING = 3 };

/** Parses the command line. Ends the process with EXIT_USAGE if it is wrong. */
struct options options_parse(int count, char **arguments);

#endif
