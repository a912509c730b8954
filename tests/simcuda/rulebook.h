/* The rules. Each place where a call is rejected is a rule. The linker
 * collects the rules in a list, so that tests can query which rules exist
 * and which were broken. */
#ifndef SIMCUDA_RULEBOOK_H
#define SIMCUDA_RULEBOOK_H

#include <cuda.h>
#include <stdint.h>

typedef struct Rule {
    const char *file, *text; /* text is the format of the message */
    uint64_t broken;
} Rule;

/* Records that a rule was broken, and returns the code. */
CUresult rule_broken(Rule *rule, const char *call, CUresult code,
                     const char *format, ...)
    __attribute__((format(printf, 4, 5)));

#define fail(call, code, format, ...)                                       \
    ({                                                                      \
        static Rule rule_here __attribute__((                               \
            section("simcuda_rules"), aligned(8))) = {__FILE__, format, 0}; \
        rule_broken(&rule_here, call, code, format, ##__VA_ARGS__);         \
    })
#define FAIL(code, ...) fail(__func__, code, __VA_ARGS__)
#define INVALID(...) FAIL(CUDA_ERROR_INVALID_VALUE, __VA_ARGS__)

#endif
