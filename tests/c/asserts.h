/* Includes cmocka, and defines assertions about calls of the library. */
#ifndef FERRUM_TESTS_ASSERTS_H
#define FERRUM_TESTS_ASSERTS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "ferrum_mem.h"

#define KIB UINT64_C(1024)
#define MIB (KIB * KIB)
#define GIB (KIB * MIB)
#define assert_ok(call) assert_int_equal((call), FERRUM_OK)
#define assert_status(call, want) \
    assert_string_equal(ferrum_status_name(call), ferrum_status_name(want))

static const ferrum_stream default_stream = {0};

/** Asserts that the error record of this thread contains part. */
static inline void assert_message(const char *part) {
    ferrum_error_info error = FERRUM_ERROR_INFO_INIT;
    assert_ok(ferrum_last_error(&error));
    if (strstr(error.message, part) == NULL)
        fail_msg("\"%s\" does not say \"%s\"", error.message, part);
}

/** Returns the text of a call, to be freed by the caller. */
static inline char *text_of(ferrum_status (*call)(char *, size_t, size_t *)) {
    size_t length = 0;
    char *text = NULL;
    ferrum_status status;
    assert_ok(call(NULL, 0, &length));
    do { /* the text may have grown in between */
        text = realloc(text, length + 1);
        assert_non_null(text);
        status = call(text, length + 1, &length);
    } while (status == FERRUM_ERROR_BUFFER_TOO_SMALL);
    assert_ok(status);
    assert_int_equal(strlen(text), length);
    return text;
}

#endif
