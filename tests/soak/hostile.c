#include "hostile.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t state;

static uint64_t mixed(uint64_t x) {
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

void draw_seed(uint64_t seed) { state = mixed(seed + 1); }

uint64_t draw(uint64_t below) {
    state += UINT64_C(0x9e3779b97f4a7c15);
    return mixed(state) % below;
}

static const function *one_function(void) {
    static size_t count;
    if (count == 0)
        for (size_t i = 0; i < attempt_family_count; i++)
            for (const function *f = attempt_families[i]; f->name != NULL; f++)
                count++;
    size_t at = draw(count);
    for (size_t i = 0;; i++)
        for (const function *f = attempt_families[i]; f->name != NULL; f++)
            if (at-- == 0)
                return f;
}

const function *draw_function(void) {
    static const char writes[] = "_export_onnx";
    for (;;) {
        const function *f = one_function();
        size_t length = strlen(f->name), end = sizeof writes - 1;
        /* No files are written. */
        if (length < end || strcmp(f->name + length - end, writes) != 0)
            return f;
    }
}

/* -------------------------------------------------------------- valid values */

static int ends_with(const char *name, const char *end) {
    size_t length = strlen(name), n = strlen(end);
    return length >= n && strcmp(name + length - n, end) == 0;
}

/* Numbers at which arithmetic is likely to overflow, and common numbers. */
static uint64_t any_number(void) {
    uint64_t power = UINT64_C(1) << draw(64);
    switch (draw(8)) {
    case 0:
        return draw(3);
    case 1:
        return UINT64_MAX - draw(3);
    case 2:
        return power;
    case 3:
        return power - 1;
    case 4:
        return power + draw(4096);
    default:
        return draw(UINT64_C(1) << (4 + draw(20)));
    }
}

/* Waits must be short. */
static int is_a_wait(const char *name) {
    return ends_with(name, "timeout_ns") || ends_with(name, "wait_ns") ||
           ends_with(name, "deadline_ns");
}

/* Returns the largest allowed value of a number that states how much memory
 * of the caller is used, or UINT64_MAX for other numbers. */
static uint64_t bound_of(const attempt *a, size_t i) {
    const parameter *p = a->function->parameters;
    if (strcmp(p[i].name, "count") == 0)
        return SCRATCH_BYTES / 64;
    if (i > 0 && (p[i - 1].role == ROLE_BYTES || p[i - 1].role == ROLE_ARRAY ||
                  p[i - 1].role == ROLE_TEXTS))
        return SCRATCH_BYTES / 64;
    if (p[i].role == ROLE_CAPACITY && p[i - 1].role == ROLE_PLACES)
        return PLACES; /* the elements that a call reads too */
    if (p[i].role == ROLE_CAPACITY)
        return p[i - 1].size > 1 ? SCRATCH_BYTES / p[i - 1].size
                                 : SCRATCH_BYTES;
    return UINT64_MAX;
}

static const char *any_text(const char *name) {
    static const char *const models[] = {"chat", "code", "draft", "nobody"};
    static const char *const devices[] = {"cpu:0",  "cpu:1", "cuda:0",
                                          "cuda:1", "cpu:9", "nothing"};
    static const char *const tags[] = {"kv", "weights", "", "\xc3\xa9",
                                       "a.b/c"};
    static const char *const strategies[] = {
        "best_fit", "tlsf", "buddy", "arena", "fixed", "size_class", "none"};
    static const char *const formats[] = {"f16", "int8", "fp8", "q4", ""};
#define ANY(texts) texts[draw(COUNT(texts))]
    if (strcmp(name, "id") == 0)
        return ANY(devices);
    if (strcmp(name, "model") == 0)
        return ANY(models);
    if (strcmp(name, "strategy") == 0)
        return ANY(strategies);
    if (ends_with(name, "dtype"))
        return ANY(formats);
    return ANY(tags);
}

static uint64_t any_of(const int64_t unknown[2]) {
    int64_t range = unknown[1] - unknown[0] - 1;
    return (uint64_t)(unknown[0] + 1 +
                      (range > 0 ? (int64_t)draw((uint64_t)range) : 0));
}

static void draw_field(unsigned char *at, const struct_field *field) {
    switch (field->role) {
    case ROLE_VALUE:
        if (is_a_wait(field->name))
            attempt_set_field(at, field, draw(1000000));
        else if (ends_with(field->name, "count") ||
                 strcmp(field->name, "fabric_handle_bytes") == 0)
            attempt_set_field(at, field, draw(PLACES + 1));
        /* The length of a text, which has at least its NUL. */
        else if (strcmp(field->name, "options_bytes") == 0 ||
                 strcmp(field->name, "specs_bytes") == 0)
            attempt_set_field(at, field, draw(2));
        else if (strcmp(field->name, "address") != 0 &&
                 strncmp(field->name, "native_", 7) != 0)
            attempt_set_field(at, field, any_number());
        break;
    case ROLE_TRUTH:
        attempt_set_field(at, field, draw(2));
        break;
    case ROLE_FLAGS:
        attempt_set_field(at, field, UINT64_C(1) << draw(4));
        break;
    case ROLE_ENUMERATION:
        attempt_set_field(at, field, any_of(field->unknown));
        break;
    case ROLE_TEXT:
        /* No files are written. */
        if (strcmp(field->name, "directory") != 0)
            attempt_set_field(at, field,
                              (uint64_t)(uintptr_t)any_text(field->name));
        break;
    default:
        break;
    }
}

static void draw_value(attempt *a, size_t i) {
    static const double reals[] = {0, 1, -1, 0.5, 1e300, NAN, INFINITY};
    const parameter *p = &a->function->parameters[i];
    argument *to = &a->arguments[i];
    uint64_t bound = bound_of(a, i);
    switch (p->role) {
    case ROLE_VALUE:
    case ROLE_CAPACITY:
        to->real = reals[draw(COUNT(reals))];
        if (bound != UINT64_MAX)
            to->number = draw(bound + 1);
        else if (is_a_wait(p->name))
            to->number = draw(1000000);
        /* The library may write to memory at this address, so neither the
         * address nor the size must be random. */
        else if (strcmp(a->function->name, "ferrum_fallback_manager_adopt") !=
                     0 &&
                 strcmp(a->function->name, "ferrum_tensor_wrap") != 0 &&
                 strncmp(p->name, "native_", 7) != 0)
            to->number = any_number();
        break;
    case ROLE_FLAGS:
        to->number = draw(2);
        break;
    case ROLE_ENUMERATION:
        to->number = any_of(p->unknown);
        break;
    case ROLE_TEXT:
        to->pointer = (void *)(uintptr_t)any_text(p->name);
        break;
    case ROLE_STRUCT_IN:
        for (size_t n = 0; n < p->type->field_count; n++)
            if (draw(3) == 0)
                draw_field(a->scratch[i], &p->type->fields[n]);
        if (p->is_optional && draw(4) == 0)
            to->pointer = NULL;
        break;
    default:
        break;
    }
}

void draw_values(attempt *a) {
    for (size_t i = 0; i < a->function->count; i++)
        if (draw(2) == 0)
            draw_value(a, i);
}

/* ---------------------------------------------------------- invalid arguments */

/* Invalid texts: longer than the maximum, or not valid UTF-8. */
static char *bad_text(const char *name) {
    static char texts[2][FERRUM_PATH_MAX + 1] = {{0}, "\xff"};
    memset(texts[0], 'x', FERRUM_PATH_MAX);
    int has_bytes = strcmp(name, "path") == 0 || strcmp(name, "directory") == 0;
    return texts[has_bytes ? 0 : draw(2)];
}

/* Chooses a value that the role forbids. Returns 0 if there is none. */
static int bad_value(role role, const char *name, const int64_t unknown[2],
                     uint64_t *value) {
    switch (role) {
    case ROLE_RESERVED:
        *value = 1 + draw(255);
        return 1;
    case ROLE_TRUTH:
        *value = 2 + draw(200);
        return 1;
    case ROLE_FLAGS:
        *value = UINT64_C(1) << (24 + draw(8));
        return 1;
    case ROLE_ENUMERATION:
        *value = (uint64_t)(draw(2) ? unknown[1] + (int64_t)draw(1000)
                                    : unknown[0] - (int64_t)draw(1000));
        return 1;
    case ROLE_TEXT:
        *value = (uint64_t)(uintptr_t)bad_text(name);
        return 1;
    default:
        return 0;
    }
}

static int bad_handle_of(const attempt *a, enum kind kind, int is_optional,
                         const char *name, uint64_t *id) {
    size_t class = draw(ATTEMPT_BAD_HANDLES);
    if ((class == 0 && is_optional) ||
        attempt_handle_is_free(a->function->name, name, class))
        return 0;
    *id = attempt_bad_handle(a->fixture, kind, class);
    /* The neighbour of a handle does not exist if no object of the kind is
     * live. */
    return *id != 0 || class == 0;
}

static int bad_struct_size(attempt *a, size_t i, uint32_t *size) {
    const parameter *p = &a->function->parameters[i];
    uint32_t full = (uint32_t)p->type->size;
    const uint32_t sizes[] = {(uint32_t)draw(8), UINT32_C(0xfffffff8),
                              full + TAIL_MAX + 8 + 8 * (uint32_t)draw(1000),
                              9 + 8 * (uint32_t)draw(full / 8)};
    *size = sizes[draw(COUNT(sizes))];
    memcpy(a->scratch[i], size, sizeof *size);
    a->arguments[i].pointer = a->scratch[i];
    return 1;
}

/* Makes one field of an input struct invalid. */
static int bad_field(attempt *a, size_t i, char *what, size_t capacity) {
    const parameter *p = &a->function->parameters[i];
    if (p->type->field_count == 0)
        return 0;
    const struct_field *field = &p->type->fields[draw(p->type->field_count)];
    uint64_t value = 0;
    int found =
        field->role == ROLE_HANDLE
            ? bad_handle_of(a, field->kind, field->is_optional, field->name,
                            &value)
            : bad_value(field->role, field->name, field->unknown, &value);
    if (!found)
        return 0;
    a->arguments[i].pointer = a->scratch[i];
    attempt_set_field(a->scratch[i], field, value);
    snprintf(what, capacity, "%s->%s = %#llx", p->name, field->name,
             (unsigned long long)value);
    return 1;
}

static int bad_argument(attempt *a, size_t i, char *what, size_t capacity) {
    const parameter *p = &a->function->parameters[i];
    uint64_t value = 0;
    uint32_t size = 0;
    if (attempt_is_pointer(p) && !p->is_optional && draw(3) == 0) {
        a->arguments[i].pointer = NULL;
        a->arguments[i].function = NULL;
        /* With a capacity of 0, NULL is valid: it queries the needed size. */
        if (p->role == ROLE_BUFFER || p->role == ROLE_PLACES)
            a->arguments[i + 1].number |= 1;
        snprintf(what, capacity, "%s = NULL", p->name);
        return 1;
    }
    if (attempt_has_size(p) && draw(3) == 0 && bad_struct_size(a, i, &size)) {
        snprintf(what, capacity, "%s->struct_size = %u", p->name,
                 (unsigned)size);
        return 1;
    }
    if (p->role == ROLE_STRUCT_IN)
        return bad_field(a, i, what, capacity);
    int found = p->role == ROLE_HANDLE
                    ? bad_handle_of(a, p->kind, p->is_optional, p->name, &value)
                    : bad_value(p->role, p->name, p->unknown, &value);
    if (!found)
        return 0;
    a->arguments[i].number = value;
    if (p->role == ROLE_TEXT)
        a->arguments[i].pointer = (void *)(uintptr_t)value;
    snprintf(what, capacity, "%s = %#llx", p->name, (unsigned long long)value);
    return 1;
}

int draw_bad(attempt *a, char *what, size_t capacity) {
    for (int tries = 0; a->function->count > 0 && tries < 20; tries++)
        if (bad_argument(a, draw(a->function->count), what, capacity))
            return 1;
    return 0;
}

/* ------------------------------------------------------------------ the call */

/* If SOAK_TRACE is set, prints each call before the call. The last line
 * then shows the call that ended the process. */
static void trace(const attempt *a) {
    static int is_on = -1;
    if (is_on < 0)
        is_on = getenv("SOAK_TRACE") != NULL;
    if (!is_on)
        return;
    fprintf(stderr, "%s(", a->function->name);
    for (size_t i = 0; i < a->function->count; i++)
        fprintf(stderr, "%s %s=%#llx", i > 0 ? "," : "",
                a->function->parameters[i].name,
                (unsigned long long)(a->arguments[i].pointer != NULL
                                         ? (uintptr_t)a->arguments[i].pointer
                                         : a->arguments[i].number));
    fprintf(stderr, " )\n");
}

const char *call_it(const attempt *a, int is_bad, ferrum_status *status_out) {
    trace(a);
    ferrum_status status = a->function->call(a->arguments);
    *status_out = status;
    if (status == FERRUM_ERROR_INTERNAL || status == FERRUM_ERROR_POISONED)
        return "a defect of the library";
    if (is_bad && status == FERRUM_OK)
        return "a bad argument was not refused";
    if (status == FERRUM_OK)
        return NULL;
    ferrum_error_info error = FERRUM_ERROR_INFO_INIT;
    if (ferrum_last_error(&error) != FERRUM_OK)
        return "the error cannot be read";
    if (strcmp(a->function->name, "ferrum_last_error") != 0 &&
        (error.status != status ||
         strcmp(error.function, a->function->name) != 0))
        return "the record of the thread is about another call";
    return error.message[0] == 0 ? "the error has no message" : NULL;
}
