#include "guard.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "threadcache/library.h"

_Atomic int32_t fm_gate;
_Thread_local int32_t fm_inside;

/* The innermost callback that this thread runs. */
static _Thread_local const struct fm_mark *fm_marks;

/*
 * The error record is too large for static TLS, so each thread has a pointer
 * to it. It also has the bare status, for the case that malloc fails.
 */
static _Thread_local ferrum_error_info *fm_record;
static _Thread_local ferrum_status fm_status;
static pthread_key_t fm_record_key;
static bool fm_record_key_made;

static void fm_record_free(void *record) {
    fm_record = NULL;
    free(record);
}

static void fm_child_after_fork(void) {
    atomic_store(&fm_gate, FERRUM_ERROR_FORKED);
}

bool fm_is_forked(void) { return atomic_load(&fm_gate) == FERRUM_ERROR_FORKED; }

__attribute__((constructor)) static void fm_load(void) {
    fm_record_key_made =
        pthread_key_create(&fm_record_key, fm_record_free) == 0;
    pthread_atfork(NULL, NULL, fm_child_after_fork);
}

/* ------------------------------------------------------------- open files */

static struct rlimit fm_file_limit;

/* Runs before the Go runtime starts, which raises the process's limit on
 * open files to one below the hard limit. */
__attribute__((constructor(101))) static void fm_file_limit_load(void) {
    if (getrlimit(RLIMIT_NOFILE, &fm_file_limit) != 0)
        fm_file_limit.rlim_max = 0;
}

/* A program that calls select, or that closes all possible files, depends
 * on its limit. A limit that the Go runtime did not set is not changed. */
void fm_restore_file_limit(void) {
    struct rlimit now;
    if (fm_file_limit.rlim_max == 0 || getrlimit(RLIMIT_NOFILE, &now) != 0)
        return;
    if (now.rlim_max == fm_file_limit.rlim_max &&
        now.rlim_cur == now.rlim_max - 1 &&
        fm_file_limit.rlim_cur < now.rlim_cur)
        setrlimit(RLIMIT_NOFILE, &fm_file_limit);
}

/* ---------------------------------------------------------------- errors */

/* Copies text, truncated at the end of a UTF-8 character. */
static void fm_copy_text(char *to, size_t capacity, const char *text) {
    size_t length = strlen(text);
    if (length >= capacity) {
        length = capacity - 1;
        while (length > 0 && ((unsigned char)text[length] & 0xC0) == 0x80)
            length--;
    }
    memcpy(to, text, length);
    memset(to + length, 0, capacity - length);
}

static ferrum_error_info *fm_record_get(void) {
    if (fm_record == NULL && fm_record_key_made) {
        ferrum_error_info *record = calloc(1, sizeof *record);
        if (record != NULL && pthread_setspecific(fm_record_key, record) != 0) {
            free(record);
            record = NULL;
        }
        fm_record = record;
    }
    return fm_record;
}

void fm_error_keep(ferrum_status status, int64_t native_code, char *operation,
                   char *device, char *message) {
    fm_status = status;
    ferrum_error_info *record = fm_record_get();
    if (record == NULL)
        return;
    record->status = status;
    record->native_code = native_code;
    record->function[0] = 0;
    fm_copy_text(record->operation, sizeof record->operation, operation);
    fm_copy_text(record->device, sizeof record->device, device);
    fm_copy_text(record->message, sizeof record->message, message);
    memset(&record->facts, 0,
           sizeof *record - offsetof(ferrum_error_info, facts));
}

void fm_error_facts(uint32_t facts, uint64_t *values, char *model) {
    ferrum_error_info *record = fm_record_get();
    if (record == NULL)
        return;
    record->facts = facts;
    record->offset_bytes = values[0];
    record->size_bytes = values[1];
    record->capacity_bytes = values[2];
    record->page_bytes = values[3];
    record->requested_bytes = values[4];
    record->available_bytes = values[5];
    record->largest_free_bytes = values[6];
    fm_copy_text(record->model, sizeof record->model, model);
}

ferrum_status fm_failed_in(const char *function, ferrum_status status) {
    if (fm_record != NULL)
        fm_copy_text(fm_record->function, sizeof fm_record->function, function);
    return status;
}

ferrum_status fm_fail(const char *function, ferrum_status status,
                      const char *message) {
    fm_error_keep(status, 0, "capi.check", "", (char *)message);
    return fm_failed_in(function, status);
}

ferrum_status fm_refuse(const char *function) {
    ferrum_status status = atomic_load(&fm_gate);
    return fm_fail(
        function, status,
        status == FERRUM_ERROR_FORKED
            ? "this is a forked child, in which the library does not work: "
              "start the library after the fork, or call exec"
            : "an earlier call found a defect of the library: it does "
              "no more work");
}

ferrum_status fm_null(const char *function, const char *argument) {
    char message[96];
    snprintf(message, sizeof message, "argument %s is NULL", argument);
    return fm_fail(function, FERRUM_ERROR_NULL_POINTER, message);
}

ferrum_status ferrum_last_error(ferrum_error_info *error_out) {
    FM_REQUIRE(error_out);
    FM_STRUCT_OUT(error_out);
    ferrum_error_info full = FERRUM_ERROR_INFO_INIT;
    if (fm_record != NULL)
        full = *fm_record;
    full.status = fm_status;
    fm_struct_give(error_out, &full, sizeof full);
    return FERRUM_OK;
}

void fm_poison(void) {
    int32_t gate = atomic_load(&fm_gate);
    while (gate >= 0 && !atomic_compare_exchange_weak(&fm_gate, &gate,
                                                      FERRUM_ERROR_POISONED))
        continue;
}

/* --------------------------------------------------------------- structs */

/* The maximum number of bytes by which a newer caller's struct may be
 * longer than ours. */
#define FM_TAIL_MAX 1024u

static ferrum_status fm_struct_size(const char *function, const char *argument,
                                    uint32_t size, uint32_t full_size) {
    /* Every struct of the header consists of 8-byte fields, so the size of
     * every version is a multiple of 8. Any other size would cut a field. */
    if (size >= 8 && size % 8 == 0 && size <= full_size + FM_TAIL_MAX)
        return FERRUM_OK;
    char message[160];
    snprintf(message, sizeof message,
             "%s->struct_size is %u: want sizeof of the struct, here %u",
             argument, (unsigned)size, (unsigned)full_size);
    return fm_fail(function, FERRUM_ERROR_INVALID_STRUCT, message);
}

ferrum_status fm_struct_in(const char *function, const char *argument,
                           const void *given, void *full, uint32_t full_size) {
    uint32_t size;
    memcpy(&size, given, sizeof size);
    ferrum_status status = fm_struct_size(function, argument, size, full_size);
    if (status != FERRUM_OK)
        return status;
    for (uint32_t i = full_size; i < size; i++) {
        if (((const unsigned char *)given)[i] == 0)
            continue;
        char message[160];
        snprintf(message, sizeof message,
                 "byte %u of %s is not 0, but this library knows only the "
                 "first %u bytes of the struct: use a newer library",
                 (unsigned)i, argument, (unsigned)full_size);
        return fm_fail(function, FERRUM_ERROR_INVALID_STRUCT, message);
    }
    memcpy(full, given, size < full_size ? size : full_size);
    memcpy(full, &full_size, sizeof full_size);
    return FERRUM_OK;
}

ferrum_status fm_struct_out(const char *function, const char *argument,
                            void *given, uint32_t full_size) {
    uint32_t size;
    memcpy(&size, given, sizeof size);
    ferrum_status status = fm_struct_size(function, argument, size, full_size);
    if (status == FERRUM_OK)
        memset((char *)given + sizeof size, 0, size - sizeof size);
    return status;
}

void fm_struct_give(void *given, const void *full, uint32_t full_size) {
    uint32_t size;
    memcpy(&size, given, sizeof size);
    if (size > full_size)
        size = full_size;
    memcpy((char *)given + sizeof size, (const char *)full + sizeof size,
           size - sizeof size);
}

/* ------------------------------------------------- the caller's functions */

int32_t fm_inside_now(void) { return fm_inside; }

int32_t fm_is_inside(uint64_t token) {
    for (const struct fm_mark *mark = fm_marks; mark != NULL;
         mark = mark->outer)
        for (size_t i = 0; i < mark->count; i++)
            if (mark->tokens[i] == token)
                return 1;
    return 0;
}

size_t fm_tokens_now(uint64_t *tokens, size_t capacity) {
    size_t count = 0;
    for (const struct fm_mark *mark = fm_marks; mark != NULL;
         mark = mark->outer)
        for (size_t i = 0; i < mark->count; i++, count++)
            if (count < capacity)
                tokens[count] = mark->tokens[i];
    return count;
}

void fm_mark_set(struct fm_mark *mark, enum fm_inside inside,
                 const uint64_t *tokens, size_t count) {
    *mark = (struct fm_mark){tokens, count, fm_marks, fm_inside};
    fm_marks = mark;
    fm_inside = (int32_t)inside;
}

void fm_mark_work(struct fm_mark *mark, const uint64_t *tokens, size_t count) {
    enum fm_inside inside = fm_inside != FM_INSIDE_NOTHING
                                ? (enum fm_inside)fm_inside
                                : FM_INSIDE_WEIGHTS;
    fm_mark_set(mark, inside, tokens, count);
}

void fm_mark_restore(const struct fm_mark *mark) {
    fm_inside = mark->inside_before;
    fm_marks = mark->outer;
}

void fm_call_log(ferrum_log_fn callback, ferrum_log_level level, char *message,
                 uintptr_t user_data, uint64_t token) {
    struct fm_mark mark;
    fm_mark_set(&mark, FM_INSIDE_LOG, &token, 1);
    callback(level, message, (void *)user_data);
    fm_mark_restore(&mark);
}

void fm_call_pressure(ferrum_pressure_fn callback, uint64_t device,
                      ferrum_pressure_level level, uintptr_t user_data,
                      uint64_t token) {
    struct fm_mark mark;
    fm_mark_set(&mark, FM_INSIDE_PRESSURE, &token, 1);
    callback((ferrum_device){device}, level, (void *)user_data);
    fm_mark_restore(&mark);
}

uint64_t fm_call_reclaim(ferrum_reclaim_fn callback, uint64_t device,
                         uint64_t needed_bytes, uintptr_t user_data,
                         uint64_t token) {
    struct fm_mark mark;
    fm_mark_set(&mark, FM_INSIDE_RECLAIM, &token, 1);
    uint64_t freed =
        callback((ferrum_device){device}, needed_bytes, (void *)user_data);
    fm_mark_restore(&mark);
    return freed;
}

uint64_t fm_call_model_reclaim(ferrum_model_reclaim_fn callback, uint64_t pool,
                               char *model, uint64_t needed_bytes,
                               uintptr_t user_data, uint64_t token) {
    struct fm_mark mark;
    fm_mark_set(&mark, FM_INSIDE_RECLAIM, &token, 1);
    uint64_t freed = callback((ferrum_elastic_pool){pool}, model, needed_bytes,
                              (void *)user_data);
    fm_mark_restore(&mark);
    return freed;
}

void fm_call_monitor(ferrum_monitor_fn callback, uint64_t monitor,
                     ferrum_device_level *levels, size_t count,
                     uintptr_t user_data) {
    struct fm_mark mark;
    fm_mark_set(&mark, FM_INSIDE_MONITOR, &monitor, 1);
    callback((ferrum_monitor){monitor}, levels, count, (void *)user_data);
    fm_mark_restore(&mark);
}

ferrum_status fm_call_placement(ferrum_placement_fn callback,
                                ferrum_placement_request *request,
                                ferrum_device *preferred,
                                size_t preferred_count,
                                ferrum_placement_option *options, size_t count,
                                int64_t *chosen_out, uintptr_t user_data,
                                uint64_t token) {
    request->struct_size = sizeof *request;
    ferrum_placement_request full = *request;
    full.preferred = preferred_count > 0 ? preferred : NULL;
    full.preferred_count = (uint32_t)preferred_count;
    /* The callback runs on the caller's thread, so the caller's
     * restrictions on waiting apply. */
    enum fm_inside inside = fm_inside != FM_INSIDE_NOTHING
                                ? (enum fm_inside)fm_inside
                                : FM_INSIDE_PLACEMENT;
    struct fm_mark mark;
    fm_mark_set(&mark, inside, &token, 1);
    ferrum_status status =
        callback(&full, options, count, chosen_out, (void *)user_data);
    fm_mark_restore(&mark);
    return status;
}

void fm_call_host(ferrum_host_fn function, uintptr_t user_data) {
    struct fm_mark mark;
    fm_mark_set(&mark, FM_INSIDE_HOST_FUNCTION, NULL, 0);
    function((void *)user_data);
    fm_mark_restore(&mark);
}
