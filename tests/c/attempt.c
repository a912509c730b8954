#include "attempt.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "alone.h"

/* ------------------------------------------------------------------ outcome */

static int failures;
static size_t cases;
static char case_name[160];

/* Names the case that starts. If it ends the process, this is the last line
 * of output. alone.c reads the output from a file, and the next case
 * overwrites the line. */
void attempt_begin(const attempt *a, const char *what, const char *detail) {
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

void attempt_failed(const char *format, ...) {
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
void attempt_end_check(void) {
    off_t mark = lseek(2, 0, SEEK_CUR);
    if (mark >= 0 && ftruncate(2, mark) != 0)
        abort();
    EXPECT(cases > 0);
    if (failures != 0) {
        fprintf(stderr, "  %d of %zu cases failed\n", failures, cases);
        exit(1);
    }
}

/* ------------------------------------------------------- tables of functions */

const function *const attempt_families[] = {
#define ROW(family) arguments_##family,
    ARGUMENTS_FAMILIES(ROW)
#undef ROW
};
const size_t attempt_family_count = COUNT(attempt_families);

int attempt_is_pointer(const parameter *p) {
    return p->role >= ROLE_TEXT && p->role != ROLE_DATA &&
           p->role != ROLE_CAPACITY;
}

int attempt_has_size(const parameter *p) {
    return p->role == ROLE_STRUCT_OUT ||
           (p->role == ROLE_STRUCT_IN && p->type->init != NULL);
}

uint64_t attempt_bad_handle(const fixture *f, enum kind kind, size_t class) {
    switch (class) {
    case 0:
        return 0;
    case 1:
        return f->live[(kind + 1) % KINDS];
    case 2:
        return f->dead[kind];
    case 3: /* a generation that the slot never had */
        return f->live[kind] + (UINT64_C(1) << 40);
    case 4:
        return UINT64_C(0x0123456789abcdef);
    default:
        return UINT64_MAX;
    }
}

int attempt_handle_is_free(const char *function, const char *name,
                           size_t class) {
    if (strcmp(function, "ferrum_fallback_manager_adopt") == 0)
        return strcmp(name, "stream") == 0;
    if (strcmp(function, "ferrum_compute_validate") == 0)
        return class == 0;
    return class == 0 &&
           strcmp(function, "ferrum_fallback_manager_create") == 0 &&
           strcmp(name, "host") == 0;
}

/* ------------------------------------------------------------ good arguments */

/* Numbers that a call needs before it checks the wrong argument. The
 * default is 16. */
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
    static float memory[16];
    /* The memory of such a tensor must stay as long as the tensor. */
    if (strcmp(name, "address") == 0 &&
        strcmp(a->function->name, "ferrum_tensor_wrap") == 0)
        return (uintptr_t)memory;
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

void attempt_set_field(unsigned char *at, const struct_field *field,
                       uint64_t value) {
    memcpy(at + field->offset, &value, field->size);
}

/* Fields of a struct that have no default and must not be 0. */
static const char *const needed[] = {
    "size_bytes",  "capacity_bytes",    "virtual_bytes", "num_elements",
    "buffer_id",   "context",           "num_layers",    "num_heads",
    "hidden_size", "intermediate_size", "count"};

static void fill_field(const attempt *a, unsigned char *at,
                       const struct_field *field) {
    /* Enough for PLACES elements of any list. */
    static const uint64_t zeros[SCRATCH_BYTES / sizeof(uint64_t)];
    uint64_t value = 0;
    memcpy(&value, at + field->offset, field->size);
    if (field->role == ROLE_HANDLE)
        attempt_set_field(at, field,
                          good_handle(a, field->kind, field->is_optional));
    if (field->role == ROLE_LIST)
        attempt_set_field(at, field, (uint64_t)(uintptr_t)zeros);
    for (size_t n = 0; n < COUNT(needed) && value == 0; n++)
        if (strcmp(field->name, needed[n]) == 0)
            attempt_set_field(at, field, good_number(a, field->name));
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
    const ferrum_named_tensor named = {"y", {0}};
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
        if (strcmp(a->function->name, "ferrum_executor_run") == 0)
            /* The caller names the outputs. */
            for (size_t i = 0; i < PLACES; i++)
                memcpy(scratch + i * sizeof named, &named, sizeof named);
        to->pointer = scratch;
        break;
    default: /* 0 is valid */
        break;
    }
}

/* Makes all arguments valid. */
void attempt_prepare(attempt *a, const function *function, const fixture *f) {
    EXPECT(function->count <= PARAMETERS_MAX);
    a->function = function;
    a->fixture = f;
    for (size_t i = 0; i < function->count; i++)
        prepare_one(a, i);
}

/* ------------------------------------------------------------------- checks */

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
            attempt_failed("byte %zu of %s is not zero", n, p->name);
            return;
        }
}

/* Checks the outputs that the call zeroes before it checks parameter bad.
 * If that parameter is an input, these are all outputs. If it is an output,
 * these are the outputs before it, and structs come after the others. */
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

/* Makes the call, which must return one of these statuses with a message
 * that contains says. */
int attempt_refused(const attempt *a, const ferrum_status *wants,
                    const char *says) {
    ferrum_status got = a->function->call(a->arguments);
    ferrum_error_info error = FERRUM_ERROR_INFO_INIT;
    if (ferrum_last_error(&error) != FERRUM_OK)
        attempt_failed("the error cannot be read");
    int wanted = 0;
    for (const ferrum_status *want = wants; *want != FERRUM_OK; want++)
        wanted |= got == *want;
    if (!wanted) {
        attempt_failed("%s, not %s: %s", ferrum_status_name(got),
                       ferrum_status_name(wants[0]),
                       got != FERRUM_OK ? error.message : "");
        return 0;
    }
    if (error.status != got || strcmp(error.function, a->function->name) != 0)
        attempt_failed("the record is of %s in %s",
                       ferrum_status_name(error.status), error.function);
    if (error.message[0] == 0 || strstr(error.message, says) == NULL)
        attempt_failed("\"%s\" does not say \"%s\"", error.message, says);
    return 1;
}

/* The same, for one bad parameter. */
void attempt_refused_for(const attempt *a, size_t bad,
                         const ferrum_status *wants, const char *says) {
    if (attempt_refused(a, wants, says))
        check_outputs(a, bad);
}
