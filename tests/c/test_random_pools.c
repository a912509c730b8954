/*
 * Random programs over the pool calls on one thread, against the model of
 * pool_model.h: every strategy, thread caches off, small and on, and several
 * streams with work in flight.
 */
#include "fixture.h"
#include "on_device.h"
#include "pool_model.h"

#include <stdio.h>
#include <stdlib.h>

enum { PROGRAMS = 150 / SANITIZER_SHARE, STEPS = 600 };

static int program_fails(unsigned long seed) {
    char name[64];
    snprintf(name, sizeof name, "program %lu", seed);
    decisions d = {NULL, 0, 0, seed * UINT64_C(0x9e3779b97f4a7c15), STEPS};
    return pool_model_fails(&d, name);
}

/* test_random_pools [SEED [PROGRAMS]]: with a seed one program, if no number is
 * given. */
int main(int argc, char **argv) {
    ferrum_config config = FERRUM_CONFIG_INIT;
    config.host_devices = 2;
    config.host_memory_bytes = UINT64_C(512) << 20;
    MUST(ferrum_init(&config));
    pool_model_start();
    int failed = 0, ran = 0;
    unsigned long first = argc > 1 ? strtoul(argv[1], NULL, 10) : 1;
    int programs = argc > 2    ? atoi(argv[2])
                   : argc > 1  ? 1
                   : on_host() ? PROGRAMS
                               : PROGRAMS / 3;
    for (; ran < programs && failed == 0; ran++)
        failed += program_fails(first + (unsigned long)ran);
    if (failed == 0) {
        pool_model_stop();
        MUST(ferrum_shutdown(0));
    }
    printf("%d passed, %d failed\n", ran - failed, failed);
    return failed != 0;
}
