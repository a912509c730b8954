/*
 * Calls every function of the header with every bad argument that follows from
 * its declaration: NULL, invalid handles, structs of a wrong size, reserved
 * fields that are not 0, and invalid truth values, flags, enumerations and
 * texts. Also calls every function without ferrum_init, in a forked child and
 * inside a host function.
 *
 * A call passes if it returns the expected status, the thread's error record
 * is about the call and names the argument, the outputs are zeroed, and all
 * live objects are unchanged. The meaning of a value for its function is
 * tested in test_bad_arguments.c.
 */
#include "alone.h"
#include "attempt.h"

#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* The possible statuses of a case. 0 ends the list. */
typedef const ferrum_status statuses[3];
static statuses null_pointer = {FERRUM_ERROR_NULL_POINTER};
static statuses invalid_handle = {FERRUM_ERROR_INVALID_HANDLE};
static statuses invalid_struct = {FERRUM_ERROR_INVALID_STRUCT};
static statuses invalid_value = {FERRUM_ERROR_INVALID_ARGUMENT,
                                 FERRUM_ERROR_INVALID_CONFIG};
static statuses not_initialized = {FERRUM_ERROR_NOT_INITIALIZED};
static statuses invalid_state = {FERRUM_ERROR_INVALID_STATE};
static statuses forked = {FERRUM_ERROR_FORKED};

/* ---------------------------------------------------------- unchanged objects */

enum { REPORT_BYTES = 1 << 16 };

/* The leak report without ages. */
static void read_report(char *text) {
    static const char age[] = "\"age_ns\":";
    size_t length = 0;
    MUST(ferrum_leak_report_json(text, REPORT_BYTES, &length));
    char *to = text;
    for (const char *from = text; *from != 0; from++) {
        *to++ = *from;
        if ((size_t)(to - text) >= sizeof age - 1 &&
            memcmp(to - (sizeof age - 1), age, sizeof age - 1) == 0)
            from += strspn(from + 1, "0123456789");
    }
    *to = 0;
}

/* Runs a check for all functions. The functions must leave nothing behind. */
static void over_functions(const fixture *f,
                           void (*check)(attempt *, const fixture *)) {
    static attempt a;
    static char before[REPORT_BYTES], after[REPORT_BYTES];
    for (size_t family = 0; family < attempt_family_count; family++)
        for (const function *at = attempt_families[family]; at->name != NULL;
             at++) {
            attempt_prepare(&a, at, f);
            if (f != NULL)
                read_report(before);
            check(&a, f);
            if (f != NULL)
                read_report(after);
            if (f != NULL && strcmp(before, after) != 0)
                attempt_failed("the live objects have changed:\n%s\n%s", before,
                               after);
        }
}

static void check_with_fixture(void (*check)(attempt *, const fixture *)) {
    static fixture f;
    fixture_make(&f);
    over_functions(&f, check);
    fixture_end(&f);
    attempt_end_check();
}

/* --------------------------------------------------------------------- NULL */

static void with_null(attempt *a, const fixture *f) {
    for (size_t i = 0; i < a->function->count; i++) {
        const parameter *p = &a->function->parameters[i];
        if (!attempt_is_pointer(p) || p->is_optional)
            continue;
        attempt_prepare(a, a->function, f);
        attempt_begin(a, "NULL:", p->name);
        a->arguments[i].pointer = NULL;
        a->arguments[i].function = NULL;
        char says[96];
        snprintf(says, sizeof says, "argument %s is NULL", p->name);
        attempt_refused_for(a, i, null_pointer, says);
    }
}
static void check_null(void) { check_with_fixture(with_null); }

/* ------------------------------------------------------------------- handles */

static const char *const handle_classes[] = {"zero",    "other-kind", "dead",
                                             "made-up", "garbage",    "ones"};

static void with_handle(attempt *a, const fixture *f, size_t i,
                        const struct_field *field) {
    const parameter *p = &a->function->parameters[i];
    enum kind kind = field != NULL ? field->kind : p->kind;
    int is_optional = field != NULL ? field->is_optional : p->is_optional;
    for (size_t class = is_optional; class < ATTEMPT_BAD_HANDLES; class++) {
        const char *name = field != NULL ? field->name : p->name;
        if (attempt_handle_is_free(a->function->name, name, class))
            continue;
        attempt_prepare(a, a->function, f);
        uint64_t id = attempt_bad_handle(f, kind, class);
        a->arguments[i].number = id;
        if (field != NULL)
            attempt_set_field(a->scratch[i], field, id);
        char what[64], says[32] = "handle is 0";
        snprintf(what, sizeof what, "%s:", name);
        if (id != 0)
            snprintf(says, sizeof says, "%#llx", (unsigned long long)id);
        attempt_begin(a, what, handle_classes[class]);
        attempt_refused_for(a, i, invalid_handle, says);
    }
}

static void with_handles(attempt *a, const fixture *f) {
    for (size_t i = 0; i < a->function->count; i++) {
        const parameter *p = &a->function->parameters[i];
        if (p->role == ROLE_HANDLE)
            with_handle(a, f, i, NULL);
        for (size_t n = 0;
             p->role == ROLE_STRUCT_IN && n < p->type->field_count; n++)
            if (p->type->fields[n].role == ROLE_HANDLE)
                with_handle(a, f, i, &p->type->fields[n]);
    }
}
static void check_handles(void) { check_with_fixture(with_handles); }

/* ----------------------------------------------------------- sizes of structs */

static void set_size(attempt *a, size_t i, uint32_t size) {
    char what[64], number[16];
    snprintf(what, sizeof what,
             "%s->struct_size:", a->function->parameters[i].name);
    snprintf(number, sizeof number, "%u", (unsigned)size);
    attempt_begin(a, what, number);
    memcpy(a->scratch[i], &size, sizeof size);
}

static void with_struct(attempt *a, const fixture *f, size_t i) {
    const parameter *p = &a->function->parameters[i];
    uint32_t full = (uint32_t)p->type->size;
    const uint32_t sizes[] = {
        0, 4, 12, UINT32_C(0xfffffff8), full + TAIL_MAX + 8, full + 64};
    for (size_t n = 0; n < COUNT(sizes); n++) {
        int has_setting = sizes[n] == full + 64;
        /* The caller may have a tail in a struct that the library fills. */
        if (has_setting && p->role == ROLE_STRUCT_OUT)
            continue;
        attempt_prepare(a, a->function, f);
        set_size(a, i, sizes[n]);
        if (has_setting)
            a->scratch[i][full + 8] = 1;
        attempt_refused_for(a, i, invalid_struct, p->name);
    }
}

static void with_structs(attempt *a, const fixture *f) {
    for (size_t i = 0; i < a->function->count; i++) {
        if (attempt_has_size(&a->function->parameters[i]))
            with_struct(a, f, i);
    }
}
static void check_structs(void) { check_with_fixture(with_structs); }

/* ----------------------------------------------- values of fields and parameters */

static void with_value(attempt *a, const fixture *f, size_t i,
                       const struct_field *field, role role, int64_t value) {
    const parameter *p = &a->function->parameters[i];
    const char *name = field != NULL ? field->name : p->name;
    attempt_prepare(a, a->function, f);
    a->arguments[i].number = (uint64_t)value;
    if (field != NULL) {
        a->arguments[i].pointer = a->scratch[i];
        attempt_set_field(a->scratch[i], field, (uint64_t)value);
    }
    char what[64], number[32];
    snprintf(what, sizeof what, "%s%s%s:", field != NULL ? p->name : "",
             field != NULL ? "->" : "", name);
    snprintf(number, sizeof number, "%lld", (long long)value);
    attempt_begin(a, what, number);
    attempt_refused_for(
        a, i, role == ROLE_RESERVED ? invalid_struct : invalid_value, name);
}

/* Invalid texts: longer than allowed, and not UTF-8. Only names of files
 * need not be UTF-8. */
static void with_texts(attempt *a, const fixture *f, size_t i,
                       const struct_field *field) {
    static char texts[2][FERRUM_PATH_MAX + 1] = {{0}, "\xff"};
    const parameter *p = &a->function->parameters[i];
    const char *name = field != NULL ? field->name : p->name;
    memset(texts[0], 'x', FERRUM_PATH_MAX);
    int is_file = strcmp(name, "path") == 0 || strcmp(name, "file") == 0;
    for (size_t n = 0; n < (is_file ? 1 : COUNT(texts)); n++) {
        attempt_prepare(a, a->function, f);
        if (field != NULL)
            attempt_set_field(a->scratch[i], field,
                              (uint64_t)(uintptr_t)texts[n]);
        else
            a->arguments[i].pointer = texts[n];
        attempt_begin(a, name, n == 0 ? "too long" : "no UTF-8");
        attempt_refused_for(a, i, invalid_value, name);
    }
}

static void with_role(attempt *a, const fixture *f, size_t i,
                      const struct_field *field, role role,
                      const int64_t unknown[2]) {
    if (role == ROLE_RESERVED)
        with_value(a, f, i, field, role, 1);
    if (role == ROLE_TRUTH)
        with_value(a, f, i, field, role, 2);
    if (role == ROLE_FLAGS)
        with_value(a, f, i, field, role, INT64_C(1) << 30);
    for (size_t n = 0; role == ROLE_ENUMERATION && n < 2; n++)
        with_value(a, f, i, field, role, unknown[n]);
    if (role == ROLE_TEXT)
        with_texts(a, f, i, field);
}

static void with_values(attempt *a, const fixture *f) {
    for (size_t i = 0; i < a->function->count; i++) {
        const parameter *p = &a->function->parameters[i];
        with_role(a, f, i, NULL, p->role, p->unknown);
        for (size_t n = 0;
             p->role == ROLE_STRUCT_IN && n < p->type->field_count; n++) {
            const struct_field *field = &p->type->fields[n];
            with_role(a, f, i, field, field->role, field->unknown);
        }
    }
}
static void check_values(void) { check_with_fixture(with_values); }

/* ---------------------------------- without init, in a child, in a host function */

static void in_host_function(attempt *a, const fixture *f) {
    (void)f;
    if (!a->function->waits)
        return;
    attempt_begin(a, "in a", "host function");
    attempt_refused_for(a, a->function->count, invalid_state, "host function");
}
static void host_function(void *f) { over_functions(f, in_host_function); }
static void check_host_function(void) {
    static fixture f;
    fixture_make(&f);
    MUST(ferrum_stream_host_function(f.other_stream, host_function, &f));
    MUST(ferrum_stream_synchronize(f.other_stream, FERRUM_WAIT_FOREVER));
    fixture_end(&f);
    attempt_end_check();
}

/* Valid sizes of older and newer callers. The tail of a newer caller is
 * zero. */
static void with_other_sizes(attempt *a, size_t i) {
    uint32_t full = (uint32_t)a->function->parameters[i].type->size;
    const uint32_t sizes[] = {8, full - 8, full + 8, full + TAIL_MAX};
    for (size_t n = 0; n < COUNT(sizes); n++) {
        attempt_prepare(a, a->function, NULL);
        set_size(a, i, sizes[n]);
        if (sizes[n] >= 8 &&
            a->function->call(a->arguments) == FERRUM_ERROR_INVALID_STRUCT)
            attempt_failed("a struct of that size is rejected");
    }
}

static void uninitialized(attempt *a, const fixture *f) {
    if (a->function->is_always || strcmp(a->function->name, "ferrum_init") == 0)
        return;
    for (size_t i = 0; i < a->function->count; i++)
        if (attempt_has_size(&a->function->parameters[i]))
            with_other_sizes(a, i);
    attempt_prepare(a, a->function, f);
    attempt_begin(a, "without", "ferrum_init");
    if (!a->function->is_stateless) {
        attempt_refused_for(a, a->function->count, not_initialized,
                            "ferrum_init");
        return;
    }
    if (a->function->call(a->arguments) == FERRUM_ERROR_NOT_INITIALIZED)
        attempt_failed("the call works only after ferrum_init");
}
static void check_uninitialized(void) {
    over_functions(NULL, uninitialized);
    static fixture f;
    fixture_make(&f);
    fixture_end(&f);
    over_functions(NULL, uninitialized);
    attempt_end_check();
}

/* Calls with valid arguments, and with zeros only. */
static void in_child(attempt *a, const fixture *f) {
    (void)f;
    if (a->function->is_always)
        return;
    attempt_begin(a, "in a", "forked child");
    attempt_refused(a, forked, "forked child");
    memset(a->arguments, 0, sizeof a->arguments);
    attempt_begin(a, "in a forked child", "with zeros");
    attempt_refused(a, forked, "forked child");
}
static void check_forked(void) {
    static fixture f;
    fixture_make(&f);
    pid_t pid = fork();
    EXPECT(pid >= 0);
    if (pid == 0) {
        static attempt a;
        for (size_t family = 0; family < attempt_family_count; family++)
            for (const function *at = attempt_families[family];
                 at->name != NULL; at++) {
                attempt_prepare(&a, at, &f);
                in_child(&a, &f);
            }
        attempt_end_check();
        _exit(0);
    }
    int status;
    EXPECT(waitpid(pid, &status, 0) == pid);
    EXPECT(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    fixture_end(&f);
}

/* -------------------------------------------------------------- optional arguments */

/* Passes NULL for each optional pointer, and then for all of them; a text that
 * is NULL has the length 0. Whatever the call returns, it must not demand
 * them. */
static void with_optional(const function *at) {
    static attempt a;
    for (size_t i = 0; i <= at->count; i++) {
        if (i < at->count && (!at->parameters[i].is_optional ||
                              !attempt_is_pointer(&at->parameters[i])))
            continue;
        fixture f;
        fixture_make(&f);
        attempt_prepare(&a, at, &f);
        for (size_t n = 0; n < at->count; n++)
            if (at->parameters[n].is_optional && (n == i || i == at->count)) {
                a.arguments[n].pointer = NULL;
                if (at->parameters[n].role == ROLE_BYTES)
                    a.arguments[n + 1].number = 0;
                a.arguments[n].function = NULL;
            }
        attempt_begin(&a, "without",
                      i < at->count ? at->parameters[i].name
                                    : "all that is optional");
        if (at->call(a.arguments) == FERRUM_ERROR_NULL_POINTER)
            attempt_failed("an optional argument is required");
        while (ferrum_shutdown(FERRUM_FORCE) == FERRUM_OK)
            ;
    }
}
static void check_optional(void) {
    for (size_t family = 0; family < attempt_family_count; family++)
        for (const function *at = attempt_families[family]; at->name != NULL;
             at++)
            for (size_t i = 0; i < at->count; i++)
                if (at->parameters[i].is_optional &&
                    attempt_is_pointer(&at->parameters[i])) {
                    with_optional(at);
                    break;
                }
    attempt_end_check();
}

int main(int argc, char **argv) {
    static const alone_check checks[] = {
        {"NULL", check_null, NULL, NULL},
        {"handles", check_handles, NULL, NULL},
        {"sizes of structs", check_structs, NULL, NULL},
        {"values", check_values, NULL, NULL},
        {"without ferrum_init", check_uninitialized, NULL, NULL},
        {"in a host function", check_host_function, NULL, NULL},
        {"in a forked child", check_forked, NULL, NULL},
        {"without what is optional", check_optional, NULL, NULL}};
    return alone_main(argc, argv, checks, COUNT(checks));
}
