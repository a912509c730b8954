/*
 * Every function of the header with every bad argument that its declaration speaks of:
 * NULL, handles that are none, structs of a wrong size, reserved fields that are used,
 * truth values, flags and enumerations that are none; and every function without
 * ferrum_init, in a forked child and inside a host function.
 *
 * A call passes when it returns the status that it must, the record of the thread is
 * about it and names the argument, the outputs are zeroed, and all that lives is as it
 * was before. What a value means to its function is tested in test_bad_arguments.c.
 */
#include "alone.h"
#include "arguments.h"

#include <stdarg.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

enum {
    PARAMETERS_MAX = 12,
    PLACES = 8,
    /* The largest struct with a tail, PLACES records. */
    SCRATCH_BYTES = 8192,
    UNTOUCHED = 0x5a
};

static const function *const families[] = {
#define ROW(family) arguments_##family,
    ARGUMENTS_FAMILIES(ROW)
#undef ROW
};

/* A call, with the memory that its pointers point to. */
typedef struct {
    const function *function;
    const fixture *fixture; /* NULL: there is none, handles are 0 */
    argument arguments[PARAMETERS_MAX];
    unsigned char scratch[PARAMETERS_MAX][SCRATCH_BYTES]
        __attribute__((aligned(16)));
} attempt;

/* ------------------------------------------------------------------ outcome */

static int failures;
static size_t cases;
static char case_name[160];

/* Names the case that is under way: should it end the process, this is the last line.
 * alone.c reads the output from a file; the next case is written over it. */
static void begin(const attempt *a, const char *what, const char *detail) {
    snprintf(case_name, sizeof case_name, "%s %s %s", a->function->name, what,
             detail);
    cases++;
    char line[sizeof case_name + 16];
    int length = snprintf(line, sizeof line, "  in %-*s\n",
                          (int)sizeof case_name, case_name);
    off_t mark = lseek(2, 0, SEEK_CUR);
    if (mark >= 0 && write(2, line, (size_t)length) == length)
        lseek(2, mark, SEEK_SET);
}

static void failed(const char *format, ...)
    __attribute__((format(printf, 1, 2)));
static void failed(const char *format, ...) {
    char text[1400];
    int length = snprintf(text, sizeof text, "  %s: ", case_name);
    va_list values;
    va_start(values, format);
    length += vsnprintf(text + length, sizeof text - (size_t)length - 2, format,
                        values);
    va_end(values);
    if ((size_t)length > sizeof text - 2)
        length = sizeof text - 2;
    text[length++] = '\n';
    failures++;
    if (write(2, text, (size_t)length) != length)
        abort();
}

/* Ends a check. */
static void end(void) {
    off_t mark = lseek(2, 0, SEEK_CUR);
    if (mark >= 0 && ftruncate(2, mark) != 0)
        abort();
    EXPECT(cases > 0);
    if (failures != 0) {
        fprintf(stderr, "  %d of %zu cases failed\n", failures, cases);
        exit(1);
    }
}

/* ------------------------------------------------------------ good arguments */

/* Numbers that a call needs before it looks at what is wrong. Others are 16. */
static uint64_t good_number(const attempt *a, const char *name) {
    static const struct {
        const char *name;
        uint64_t number;
    } known[] = {{"offset_bytes", 0},
                 {"timeout_ns", 0},
                 {"max_age_ns", 0},
                 {"count", 1},
                 {"graph", 1},
                 {"shared_graph", 0},
                 {"capacity_bytes", UINT64_C(64) << 20},
                 {"virtual_bytes", UINT64_C(64) << 20},
                 {"limit_bytes", UINT64_C(16) << 20}};
    if (strcmp(name, "address") == 0)
        return a->fixture != NULL ? a->fixture->block : 4096;
    for (size_t i = 0; i < COUNT(known); i++)
        if (strcmp(name, known[i].name) == 0)
            return known[i].number;
    return 16;
}

static const char *good_text(const char *name) {
    static const char *const known[][2] = {{"id", "cpu:0"},
                                           {"model", "chat"},
                                           {"strategy", "spread"},
                                           {"path", "/"}};
    for (size_t i = 0; i < COUNT(known); i++)
        if (strcmp(name, known[i][0]) == 0)
            return known[i][1];
    return "kv";
}

static uint64_t good_handle(const attempt *a, enum kind kind, int is_optional) {
    return a->fixture == NULL || is_optional ? 0 : a->fixture->live[kind];
}

static void set_field(unsigned char *at, const struct_field *field,
                      uint64_t value) {
    memcpy(at + field->offset, &value, field->size);
}

/* Numbers of a struct that have no default and must not be 0. */
static const char *const needed[] = {
    "size_bytes",  "capacity_bytes",    "virtual_bytes", "num_elements",
    "buffer_id",   "context",           "num_layers",    "num_heads",
    "hidden_size", "intermediate_size", "count"};

static void fill_field(const attempt *a, unsigned char *at,
                       const struct_field *field) {
    static const uint64_t zeros[PLACES];
    uint64_t value = 0;
    memcpy(&value, at + field->offset, field->size);
    if (field->role == ROLE_HANDLE)
        set_field(at, field, good_handle(a, field->kind, field->is_optional));
    if (field->role == ROLE_LIST)
        set_field(at, field, (uint64_t)(uintptr_t)zeros);
    for (size_t n = 0; n < COUNT(needed) && value == 0; n++)
        if (strcmp(field->name, needed[n]) == 0)
            set_field(at, field, good_number(a, field->name));
}

static void fill_struct(const attempt *a, unsigned char *at,
                        const struct_type *type) {
    if (type->init != NULL)
        memcpy(at, type->init, type->size);
    for (size_t i = 0; i < type->field_count; i++)
        fill_field(a, at, &type->fields[i]);
}

static void prepare_one(attempt *a, size_t i) {
    const parameter *p = &a->function->parameters[i];
    argument *to = &a->arguments[i];
    unsigned char *scratch = a->scratch[i];
    *to = (argument){.real = 0.5};
    switch (p->role) {
    case ROLE_VALUE:
        to->number = good_number(a, p->name);
        break;
    case ROLE_HANDLE:
        to->number = good_handle(a, p->kind, p->is_optional);
        break;
    case ROLE_TEXT:
        to->pointer = (void *)(uintptr_t)good_text(p->name);
        break;
    case ROLE_CALLBACK:
        to->function = p->nothing;
        break;
    case ROLE_CAPACITY:
        to->number = PLACES;
        break;
    case ROLE_STRUCT_IN:
        memset(scratch, 0, SCRATCH_BYTES);
        fill_struct(a, scratch, p->type);
        to->pointer = scratch;
        break;
    case ROLE_STRUCT_OUT:
        memset(scratch, UNTOUCHED, SCRATCH_BYTES);
        memcpy(scratch, p->type->init, sizeof(uint32_t));
        to->pointer = scratch;
        break;
    case ROLE_ARRAY:
        memset(scratch, 0, SCRATCH_BYTES);
        if (a->fixture != NULL && p->size == sizeof a->fixture->block)
            memcpy(scratch, &a->fixture->block, p->size);
        to->pointer = scratch;
        break;
    case ROLE_TEXTS: {
        const char *text = good_text(p->name);
        memcpy(scratch, &text, sizeof text);
        to->pointer = scratch;
        break;
    }
    case ROLE_BYTES:
    case ROLE_OUT:
    case ROLE_BUFFER:
    case ROLE_PLACES:
        memset(scratch, UNTOUCHED, SCRATCH_BYTES);
        to->pointer = scratch;
        break;
    default: /* 0 is good */
        break;
    }
}

/* Makes all arguments good. */
static void prepare(attempt *a, const function *function, const fixture *f) {
    EXPECT(function->count <= PARAMETERS_MAX);
    a->function = function;
    a->fixture = f;
    for (size_t i = 0; i < function->count; i++)
        prepare_one(a, i);
}

/* ------------------------------------------------------------------- checks */

/* Statuses that a case may have; 0 ends them. */
typedef const ferrum_status statuses[3];
static statuses null_pointer = {FERRUM_ERROR_NULL_POINTER};
static statuses invalid_handle = {FERRUM_ERROR_INVALID_HANDLE};
static statuses invalid_struct = {FERRUM_ERROR_INVALID_STRUCT};
static statuses invalid_value = {FERRUM_ERROR_INVALID_ARGUMENT,
                                 FERRUM_ERROR_INVALID_CONFIG};
static statuses not_initialized = {FERRUM_ERROR_NOT_INITIALIZED};
static statuses invalid_state = {FERRUM_ERROR_INVALID_STATE};
static statuses forked = {FERRUM_ERROR_FORKED};

/* An output that may be one of the inputs is written last. */
static int is_written_last(const attempt *a, const parameter *p) {
    for (size_t i = 0; i < a->function->count; i++)
        if (a->function->parameters[i].role == ROLE_STRUCT_IN &&
            a->function->parameters[i].type == p->type)
            return p->role == ROLE_STRUCT_OUT;
    return 0;
}

static void check_zeroed(const attempt *a, size_t i) {
    const parameter *p = &a->function->parameters[i];
    const unsigned char *at = a->arguments[i].pointer;
    size_t from = 0, to = 0;
    if (at != a->scratch[i] || is_written_last(a, p))
        return;
    if (p->role == ROLE_OUT)
        to = p->size;
    if (p->role == ROLE_BUFFER)
        to = 1;
    if (p->role == ROLE_STRUCT_OUT) {
        from = sizeof(uint32_t);
        to = p->type->size;
    }
    for (size_t n = from; n < to; n++)
        if (at[n] != 0) {
            failed("byte %zu of %s is not zero", n, p->name);
            return;
        }
}

/* The outputs that are zeroed before parameter i is looked at: all of them if it is an
 * input, otherwise those before it, structs behind the others. */
static void check_outputs(const attempt *a, size_t bad) {
    const parameter *p = a->function->parameters;
    role bad_role = bad < a->function->count ? p[bad].role : ROLE_VALUE;
    for (size_t i = 0; i < a->function->count; i++) {
        int before = bad_role < ROLE_OUT;
        if (bad_role == ROLE_STRUCT_OUT)
            before = p[i].role != ROLE_STRUCT_OUT || i < bad;
        else if (bad_role >= ROLE_OUT)
            before = p[i].role != ROLE_STRUCT_OUT && i < bad;
        if (before)
            check_zeroed(a, i);
    }
}

/* Makes the call, which must give one of these statuses and a message that says this. */
static int refused(const attempt *a, const ferrum_status *wants,
                   const char *says) {
    ferrum_status got = a->function->call(a->arguments);
    ferrum_error_info error = FERRUM_ERROR_INFO_INIT;
    if (ferrum_last_error(&error) != FERRUM_OK)
        failed("the error cannot be read");
    int wanted = 0;
    for (const ferrum_status *want = wants; *want != FERRUM_OK; want++)
        wanted |= got == *want;
    if (!wanted) {
        failed("%s, not %s: %s", ferrum_status_name(got),
               ferrum_status_name(wants[0]),
               got != FERRUM_OK ? error.message : "");
        return 0;
    }
    if (error.status != got || strcmp(error.function, a->function->name) != 0)
        failed("the record is of %s in %s", ferrum_status_name(error.status),
               error.function);
    if (error.message[0] == 0 || strstr(error.message, says) == NULL)
        failed("\"%s\" does not say \"%s\"", error.message, says);
    return 1;
}

/* The same, of one bad parameter. */
static void refused_for(const attempt *a, size_t bad,
                        const ferrum_status *wants, const char *says) {
    if (refused(a, wants, says))
        check_outputs(a, bad);
}

/* ----------------------------------------------------------- what lives stays */

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

/* Goes over all functions, of which nothing may remain. */
static void over_functions(const fixture *f,
                           void (*check)(attempt *, const fixture *)) {
    static attempt a;
    static char before[REPORT_BYTES], after[REPORT_BYTES];
    for (size_t family = 0; family < COUNT(families); family++)
        for (const function *at = families[family]; at->name != NULL; at++) {
            prepare(&a, at, f);
            if (f != NULL)
                read_report(before);
            check(&a, f);
            if (f != NULL)
                read_report(after);
            if (f != NULL && strcmp(before, after) != 0)
                failed("what lives has changed:\n%s\n%s", before, after);
        }
}

static void check_with_fixture(void (*check)(attempt *, const fixture *)) {
    static fixture f;
    fixture_make(&f);
    over_functions(&f, check);
    fixture_end(&f);
    end();
}

/* --------------------------------------------------------------------- NULL */

static int is_pointer(const parameter *p) {
    return p->role >= ROLE_TEXT && p->role != ROLE_DATA &&
           p->role != ROLE_CAPACITY;
}

static void with_null(attempt *a, const fixture *f) {
    for (size_t i = 0; i < a->function->count; i++) {
        const parameter *p = &a->function->parameters[i];
        if (!is_pointer(p) || p->is_optional)
            continue;
        prepare(a, a->function, f);
        begin(a, "NULL:", p->name);
        a->arguments[i].pointer = NULL;
        a->arguments[i].function = NULL;
        char says[96];
        snprintf(says, sizeof says, "argument %s is NULL", p->name);
        refused_for(a, i, null_pointer, says);
    }
}
static void check_null(void) { check_with_fixture(with_null); }

/* ------------------------------------------------------------------- handles */

static const char *const handle_classes[] = {"zero",    "other-kind", "dead",
                                             "made-up", "garbage",    "ones"};

static uint64_t bad_handle(const fixture *f, enum kind kind, size_t class) {
    switch (class) {
    case 0:
        return 0;
    case 1:
        return f->live[(kind + 1) % KINDS];
    case 2:
        return f->dead[kind];
    case 3: /* a generation that the slot has not had */
        return f->live[kind] + (UINT64_C(1) << 40);
    case 4:
        return UINT64_C(0x0123456789abcdef);
    default:
        return UINT64_MAX;
    }
}

/* Handles of which a function says that it does not look at them, or not at 0. */
static int is_free(const char *function, const char *name, size_t class) {
    if (strcmp(function, "ferrum_fallback_manager_adopt") == 0)
        return strcmp(name, "stream") == 0;
    return class == 0 &&
           strcmp(function, "ferrum_fallback_manager_create") == 0 &&
           strcmp(name, "host") == 0;
}

static void with_handle(attempt *a, const fixture *f, size_t i,
                        const struct_field *field) {
    const parameter *p = &a->function->parameters[i];
    enum kind kind = field != NULL ? field->kind : p->kind;
    int is_optional = field != NULL ? field->is_optional : p->is_optional;
    for (size_t class = is_optional; class < COUNT(handle_classes); class++) {
        const char *name = field != NULL ? field->name : p->name;
        if (is_free(a->function->name, name, class))
            continue;
        prepare(a, a->function, f);
        uint64_t id = bad_handle(f, kind, class);
        a->arguments[i].number = id;
        if (field != NULL)
            set_field(a->scratch[i], field, id);
        char what[64], says[32] = "handle is 0";
        snprintf(what, sizeof what, "%s:", name);
        if (id != 0)
            snprintf(says, sizeof says, "%#llx", (unsigned long long)id);
        begin(a, what, handle_classes[class]);
        refused_for(a, i, invalid_handle, says);
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

/* How much longer than the library's a struct may be. */
enum { TAIL_MAX = 1024 };

static void set_size(attempt *a, size_t i, uint32_t size) {
    char what[64], number[16];
    snprintf(what, sizeof what,
             "%s->struct_size:", a->function->parameters[i].name);
    snprintf(number, sizeof number, "%u", (unsigned)size);
    begin(a, what, number);
    memcpy(a->scratch[i], &size, sizeof size);
}

static int has_size(const parameter *p) {
    return p->role == ROLE_STRUCT_OUT ||
           (p->role == ROLE_STRUCT_IN && p->type->init != NULL);
}

static void with_struct(attempt *a, const fixture *f, size_t i) {
    const parameter *p = &a->function->parameters[i];
    uint32_t full = (uint32_t)p->type->size;
    const uint32_t sizes[] = {
        0, 4, 12, UINT32_C(0xfffffff8), full + TAIL_MAX + 8, full + 64};
    for (size_t n = 0; n < COUNT(sizes); n++) {
        int has_setting = sizes[n] == full + 64;
        /* A tail that the library fills is the caller's to have. */
        if (has_setting && p->role == ROLE_STRUCT_OUT)
            continue;
        prepare(a, a->function, f);
        set_size(a, i, sizes[n]);
        if (has_setting)
            a->scratch[i][full + 8] = 1;
        refused_for(a, i, invalid_struct, p->name);
    }
}

static void with_structs(attempt *a, const fixture *f) {
    for (size_t i = 0; i < a->function->count; i++) {
        if (has_size(&a->function->parameters[i]))
            with_struct(a, f, i);
    }
}
static void check_structs(void) { check_with_fixture(with_structs); }

/* ---------------------------------------------- fields and values with a meaning */

static void with_value(attempt *a, const fixture *f, size_t i,
                       const struct_field *field, role role, int64_t value) {
    const parameter *p = &a->function->parameters[i];
    const char *name = field != NULL ? field->name : p->name;
    prepare(a, a->function, f);
    a->arguments[i].number = (uint64_t)value;
    if (field != NULL) {
        a->arguments[i].pointer = a->scratch[i];
        set_field(a->scratch[i], field, (uint64_t)value);
    }
    char what[64], number[32];
    snprintf(what, sizeof what, "%s%s%s:", field != NULL ? p->name : "",
             field != NULL ? "->" : "", name);
    snprintf(number, sizeof number, "%lld", (long long)value);
    begin(a, what, number);
    refused_for(a, i, role == ROLE_RESERVED ? invalid_struct : invalid_value,
                name);
}

/* Texts that are none: longer than any may be, and no UTF-8, which only the names of
 * files may be without. */
static void with_texts(attempt *a, const fixture *f, size_t i,
                       const struct_field *field) {
    static char texts[2][FERRUM_PATH_MAX + 1] = {{0}, "\xff"};
    const parameter *p = &a->function->parameters[i];
    const char *name = field != NULL ? field->name : p->name;
    memset(texts[0], 'x', FERRUM_PATH_MAX);
    for (size_t n = 0; n < (strcmp(name, "path") == 0 ? 1 : COUNT(texts));
         n++) {
        prepare(a, a->function, f);
        if (field != NULL)
            set_field(a->scratch[i], field, (uint64_t)(uintptr_t)texts[n]);
        else
            a->arguments[i].pointer = texts[n];
        begin(a, name, n == 0 ? "too long" : "no UTF-8");
        refused_for(a, i, invalid_value, name);
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

/* ------------------------------------------------------------ where to be called */

static void in_host_function(attempt *a, const fixture *f) {
    (void)f;
    if (!a->function->waits)
        return;
    begin(a, "in a", "host function");
    refused_for(a, a->function->count, invalid_state, "host function");
}
static void host_function(void *f) { over_functions(f, in_host_function); }
static void check_host_function(void) {
    static fixture f;
    fixture_make(&f);
    MUST(ferrum_stream_host_function(f.other_stream, host_function, &f));
    MUST(ferrum_stream_synchronize(f.other_stream, FERRUM_WAIT_FOREVER));
    fixture_end(&f);
    end();
}

/* Sizes of older and of newer callers, whose tail is zero, are none that are wrong. */
static void with_other_sizes(attempt *a, size_t i) {
    uint32_t full = (uint32_t)a->function->parameters[i].type->size;
    const uint32_t sizes[] = {8, full - 8, full + 8, full + TAIL_MAX};
    for (size_t n = 0; n < COUNT(sizes); n++) {
        prepare(a, a->function, NULL);
        set_size(a, i, sizes[n]);
        if (sizes[n] >= 8 &&
            a->function->call(a->arguments) == FERRUM_ERROR_INVALID_STRUCT)
            failed("it is refused");
    }
}

static void uninitialized(attempt *a, const fixture *f) {
    if (a->function->is_always || strcmp(a->function->name, "ferrum_init") == 0)
        return;
    for (size_t i = 0; i < a->function->count; i++)
        if (has_size(&a->function->parameters[i]))
            with_other_sizes(a, i);
    prepare(a, a->function, f);
    begin(a, "without", "ferrum_init");
    if (!a->function->is_stateless) {
        refused_for(a, a->function->count, not_initialized, "ferrum_init");
        return;
    }
    if (a->function->call(a->arguments) == FERRUM_ERROR_NOT_INITIALIZED)
        failed("it works only with it");
}
static void check_uninitialized(void) {
    over_functions(NULL, uninitialized);
    static fixture f;
    fixture_make(&f);
    fixture_end(&f);
    over_functions(NULL, uninitialized);
    end();
}

/* With good arguments, and with nothing but zeros. */
static void in_child(attempt *a, const fixture *f) {
    (void)f;
    if (a->function->is_always)
        return;
    begin(a, "in a", "forked child");
    refused(a, forked, "forked child");
    memset(a->arguments, 0, sizeof a->arguments);
    begin(a, "in a forked child", "with zeros");
    refused(a, forked, "forked child");
}
static void check_forked(void) {
    static fixture f;
    fixture_make(&f);
    pid_t pid = fork();
    EXPECT(pid >= 0);
    if (pid == 0) {
        static attempt a;
        for (size_t family = 0; family < COUNT(families); family++)
            for (const function *at = families[family]; at->name != NULL;
                 at++) {
                prepare(&a, at, &f);
                in_child(&a, &f);
            }
        end();
        _exit(0);
    }
    int status;
    EXPECT(waitpid(pid, &status, 0) == pid);
    EXPECT(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    fixture_end(&f);
}

/* ------------------------------------------------------------ what may be left out */

/* Each optional pointer as NULL, and then all: whatever the call does, it does not ask
 * for them. */
static void with_optional(const function *at) {
    static attempt a;
    for (size_t i = 0; i <= at->count; i++) {
        if (i < at->count &&
            (!at->parameters[i].is_optional || !is_pointer(&at->parameters[i])))
            continue;
        fixture f;
        fixture_make(&f);
        prepare(&a, at, &f);
        for (size_t n = 0; n < at->count; n++)
            if (at->parameters[n].is_optional && (n == i || i == at->count)) {
                a.arguments[n].pointer = NULL;
                a.arguments[n].function = NULL;
            }
        begin(&a, "without",
              i < at->count ? at->parameters[i].name : "all that is optional");
        if (at->call(a.arguments) == FERRUM_ERROR_NULL_POINTER)
            failed("it is asked for");
        while (ferrum_shutdown(FERRUM_FORCE) == FERRUM_OK)
            ;
    }
}
static void check_optional(void) {
    for (size_t family = 0; family < COUNT(families); family++)
        for (const function *at = families[family]; at->name != NULL; at++)
            for (size_t i = 0; i < at->count; i++)
                if (at->parameters[i].is_optional &&
                    is_pointer(&at->parameters[i])) {
                    with_optional(at);
                    break;
                }
    end();
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
