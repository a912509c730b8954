/* Creates a fixture for each test of a program. */
#ifndef FERRUM_TESTS_EACH_H
#define FERRUM_TESTS_EACH_H

#include "asserts.h"
#include "fixture.h"

static fixture f;

static inline int set_up(void **state) {
    (void)state;
    fixture_make(&f);
    return 0;
}
static inline int tear_down(void **state) {
    (void)state;
    fixture_end(&f);
    return 0;
}

#endif
