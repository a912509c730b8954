/* Generated from include/ferrum_mem.h by scripts/genabi.py; do not edit. */
#ifndef FERRUM_TESTS_ARGUMENTS_GEN_H
#define FERRUM_TESTS_ARGUMENTS_GEN_H

/* clang-format off */
#define ARGUMENTS_FAMILIES(X) \
    X(base) \
    X(books) \
    X(callbacks) \
    X(compute) \
    X(devices) \
    X(elastic) \
    X(estimate) \
    X(executors) \
    X(fallback) \
    X(kv_cache) \
    X(layers) \
    X(managers) \
    X(mapping) \
    X(monitor) \
    X(passes) \
    X(pools) \
    X(sharing) \
    X(sleep) \
    X(streams) \
    X(tensor) \
    X(virtual) \
    X(weights)
/* clang-format on */

#endif
