/* Calls every function of the dummy family, with valid and invalid
 * arguments. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ferrum_mem.h"

#define CHECK(condition)                                               \
    do {                                                               \
        if (!(condition)) {                                            \
            fprintf(stderr, "calls.c:%d: %s\n", __LINE__, #condition); \
            exit(1);                                                   \
        }                                                              \
    } while (0)
#define OK(call) is(__LINE__, #call, (call), FERRUM_OK)
#define REFUSED(status, call) is(__LINE__, #call, (call), (status))

static void is(int line, const char *call, ferrum_status got,
               ferrum_status want) {
    if (got == want)
        return;
    ferrum_error_info info = FERRUM_ERROR_INFO_INIT;
    ferrum_last_error(&info);
    fprintf(stderr, "calls.c:%d: %s is %s (%s), not %s\n", line, call,
            ferrum_status_name(got), info.message, ferrum_status_name(want));
    exit(1);
}

static int says(const char *part) {
    ferrum_error_info info = FERRUM_ERROR_INFO_INIT;
    ferrum_last_error(&info);
    if (strstr(info.message, part))
        return 1;
    fprintf(stderr, "the message is: %s\n", info.message);
    return 0;
}

static ferrum_dummy_item item(const char *name, uint64_t offset,
                              uint64_t size) {
    ferrum_dummy_item made = {{0}, {offset, size}, -7, 0};
    strcpy(made.name, name);
    return made;
}

static ferrum_dummy make(void) {
    ferrum_dummy_config config = FERRUM_DUMMY_CONFIG_INIT;
    ferrum_dummy made;
    config.name = "list";
    config.room.offset_bytes = 4096;
    config.room.size_bytes = 8192;
    config.flags = FERRUM_DUMMY_TRAIT_UNIQUE;
    OK(ferrum_dummy_create(&config, &made));
    return made;
}

/* A struct inside a struct, a set of flags, and a boolean. */
static void structs(void) {
    ferrum_dummy_info info = FERRUM_DUMMY_INFO_INIT;
    ferrum_dummy_config config = FERRUM_DUMMY_CONFIG_INIT;
    ferrum_dummy dummy = make(), none = {0}, other = {7};
    OK(ferrum_dummy_get_info(dummy, &info));
    CHECK(strcmp(info.name, "list") == 0 && info.room.offset_bytes == 4096);
    CHECK(info.room.size_bytes == 8192 && info.is_empty == 1);
    CHECK(info.flags == FERRUM_DUMMY_TRAIT_UNIQUE && info.items == 0);

    OK(ferrum_dummy_set_traits(dummy, FERRUM_DUMMY_TRAIT_ALL));
    OK(ferrum_dummy_get_info(dummy, &info));
    CHECK(info.flags == FERRUM_DUMMY_TRAIT_ALL);
    REFUSED(FERRUM_ERROR_INVALID_ARGUMENT, ferrum_dummy_set_traits(dummy, 4));
    CHECK(says("traits"));

    REFUSED(FERRUM_ERROR_NULL_POINTER, ferrum_dummy_get_info(dummy, NULL));
    info.struct_size = 4;
    REFUSED(FERRUM_ERROR_INVALID_STRUCT, ferrum_dummy_get_info(dummy, &info));
    REFUSED(FERRUM_ERROR_NULL_POINTER, ferrum_dummy_create(NULL, NULL));
    config.flags = 4;
    REFUSED(FERRUM_ERROR_INVALID_ARGUMENT, ferrum_dummy_create(&config, &none));
    config.flags = 0;
    config.reserved = 1;
    REFUSED(FERRUM_ERROR_INVALID_STRUCT, ferrum_dummy_create(&config, &none));
    config.reserved = 0;
    config.order = 9;
    REFUSED(FERRUM_ERROR_INVALID_ARGUMENT, ferrum_dummy_create(&config, &none));
    CHECK(none.id == 0);
    info.struct_size = sizeof info;
    REFUSED(FERRUM_ERROR_INVALID_HANDLE, ferrum_dummy_get_info(none, &info));
    REFUSED(FERRUM_ERROR_INVALID_HANDLE, ferrum_dummy_get_info(other, &info));
    OK(ferrum_dummy_destroy(dummy, 0));
    REFUSED(FERRUM_ERROR_INVALID_HANDLE, ferrum_dummy_destroy(dummy, 0));
}

/* Arrays of records as inputs and outputs. */
static void arrays(void) {
    ferrum_dummy dummy = make();
    ferrum_dummy_item in[2] = {item("b", 4096, 200), item("a", 4296, 100)};
    ferrum_dummy_item out[4];
    size_t count = 9;
    OK(ferrum_dummy_add(dummy, in, 2));
    OK(ferrum_dummy_get_items(dummy, NULL, 0, &count));
    CHECK(count == 2);
    REFUSED(FERRUM_ERROR_BUFFER_TOO_SMALL,
            ferrum_dummy_get_items(dummy, out, 1, &count));
    CHECK(count == 2);
    OK(ferrum_dummy_get_items(dummy, out, 4, &count));
    CHECK(count == 2 && memcmp(in, out, sizeof in) == 0);

    REFUSED(FERRUM_ERROR_ALREADY_EXISTS, ferrum_dummy_add(dummy, in, 1));
    in[0] = item("c", 4096, 1);
    in[1] = item("d", 0, 1);
    REFUSED(FERRUM_ERROR_INVALID_OFFSET, ferrum_dummy_add(dummy, in, 2));
    in[1] = item("d", 4096, 1);
    memset(in[1].name, 'd', sizeof in[1].name);
    REFUSED(FERRUM_ERROR_INVALID_ARGUMENT, ferrum_dummy_add(dummy, in, 2));
    in[1] = item("d", 4096, 1);
    in[1].reserved = 1;
    REFUSED(FERRUM_ERROR_INVALID_STRUCT, ferrum_dummy_add(dummy, in, 2));
    REFUSED(FERRUM_ERROR_NULL_POINTER, ferrum_dummy_add(dummy, NULL, 2));
    REFUSED(FERRUM_ERROR_INVALID_ARGUMENT,
            ferrum_dummy_add(dummy, in, UINT64_MAX));
    REFUSED(FERRUM_ERROR_NULL_POINTER,
            ferrum_dummy_get_items(dummy, NULL, 4, &count));
    /* The call removes all or none. It removed none, because there is no
     * item c. */
    OK(ferrum_dummy_get_items(dummy, NULL, 0, &count));
    CHECK(count == 2);
    OK(ferrum_dummy_destroy(dummy, 0));
}

/* Lists of texts, texts and JSON, and outputs that may be NULL. */
static void texts(void) {
    static const char items[] =
        "[{\"name\": \"x\", \"offset_bytes\": 4096, \"size_bytes\": 3},"
        " {\"name\": \"y\", \"offset_bytes\": 4099, \"size_bytes\": 2, "
        "\"rank\": 5}]";
    const char *names[2] = {"y", "z"};
    ferrum_dummy dummy = make();
    ferrum_dummy_item found;
    char text[64] = "?";
    char many[65];
    size_t length = 0;
    uint64_t index = 0, removed = 9;

    OK(ferrum_dummy_add_json(dummy, items, strlen(items)));
    REFUSED(FERRUM_ERROR_INVALID_FORMAT, ferrum_dummy_add_json(dummy, "[", 1));
    REFUSED(FERRUM_ERROR_INVALID_FORMAT, ferrum_dummy_add_json(dummy, "", 0));
    REFUSED(FERRUM_ERROR_NULL_POINTER, ferrum_dummy_add_json(dummy, NULL, 1));
    OK(ferrum_dummy_names_json(dummy, NULL, 0, &length));
    CHECK(length == strlen("[\"x\",\"y\"]"));
    REFUSED(FERRUM_ERROR_BUFFER_TOO_SMALL,
            ferrum_dummy_names_json(dummy, text, length, &length));
    OK(ferrum_dummy_names_json(dummy, text, length + 1, &length));
    CHECK(strcmp(text, "[\"x\",\"y\"]") == 0);

    OK(ferrum_dummy_find(dummy, "y", &index, &found));
    CHECK(index == 1 && strcmp(found.name, "y") == 0 && found.rank == 5);
    CHECK(found.extent.offset_bytes == 4099 && found.extent.size_bytes == 2);
    OK(ferrum_dummy_find(dummy, "x", NULL, NULL));
    OK(ferrum_dummy_find(dummy, "x", &index, NULL));
    CHECK(index == 0);
    REFUSED(FERRUM_ERROR_NOT_FOUND,
            ferrum_dummy_find(dummy, "z", &index, &found));
    CHECK(index == 0 && found.name[0] == 0);
    REFUSED(FERRUM_ERROR_NULL_POINTER,
            ferrum_dummy_find(dummy, NULL, NULL, NULL));

    REFUSED(FERRUM_ERROR_NOT_FOUND,
            ferrum_dummy_remove(dummy, names, 2, &removed));
    CHECK(removed == 0 && says("names[1]"));
    names[1] = NULL;
    REFUSED(FERRUM_ERROR_NULL_POINTER,
            ferrum_dummy_remove(dummy, names, 2, &removed));
    CHECK(says("names[1]"));
    memset(many, 'n', sizeof many);
    many[64] = 0;
    names[1] = many;
    REFUSED(FERRUM_ERROR_INVALID_ARGUMENT,
            ferrum_dummy_remove(dummy, names, 2, &removed));
    OK(ferrum_dummy_remove(dummy, names, 0, &removed));
    CHECK(removed == 0);
    REFUSED(FERRUM_ERROR_INVALID_ARGUMENT,
            ferrum_dummy_remove(dummy, names, UINT64_MAX, &removed));
    REFUSED(FERRUM_ERROR_NULL_POINTER,
            ferrum_dummy_remove(dummy, NULL, 1, &removed));
    names[1] = "x";
    OK(ferrum_dummy_remove(dummy, names, 2, &removed));
    CHECK(removed == 2);
    OK(ferrum_dummy_destroy(dummy, 0));
}

static void count(void *user_data) { ++*(int *)user_data; }

/* The library releases an adopted object once. If the call fails, the
 * caller keeps it. */
static void adopt_and_destroy(void) {
    int released = 0;
    ferrum_dummy dummy = make();
    OK(ferrum_dummy_adopt(dummy, count, &released));
    OK(ferrum_dummy_adopt(dummy, count, &released));
    REFUSED(FERRUM_ERROR_NULL_POINTER,
            ferrum_dummy_adopt(dummy, NULL, &released));
    OK(ferrum_dummy_set_traits(dummy, FERRUM_DUMMY_TRAIT_CLOSED));
    REFUSED(FERRUM_ERROR_INVALID_STATE,
            ferrum_dummy_adopt(dummy, count, &released));
    CHECK(released == 0);
    OK(ferrum_dummy_destroy(dummy, 0));
    CHECK(released == 2);
    REFUSED(FERRUM_ERROR_INVALID_HANDLE,
            ferrum_dummy_adopt(dummy, count, &released));
    CHECK(released == 2);
}

/* Jobs that are waited for, that are cancelled, and that end with their
 * dummy. */
static void jobs(void) {
    ferrum_dummy dummy = make();
    ferrum_dummy_item in[2] = {item("b", 4096, 200), item("a", 4296, 100)};
    ferrum_dummy_job job, second = {9};
    ferrum_dummy_job_progress progress = FERRUM_DUMMY_JOB_PROGRESS_INIT;
    ferrum_dummy_job_result result = FERRUM_DUMMY_JOB_RESULT_INIT;
    OK(ferrum_dummy_add(dummy, in, 2));
    OK(ferrum_dummy_hold(dummy, 1));
    REFUSED(FERRUM_ERROR_INVALID_ARGUMENT, ferrum_dummy_hold(dummy, 2));
    REFUSED(FERRUM_ERROR_INVALID_ARGUMENT, ferrum_dummy_sort(dummy, 2, &job));
    OK(ferrum_dummy_sort(dummy, FERRUM_DUMMY_ORDER_SIZE, &job));
    REFUSED(FERRUM_ERROR_BUSY, ferrum_dummy_sort(dummy, 0, &second));
    CHECK(second.id == 0);
    OK(ferrum_dummy_job_get_progress(job, &progress));
    CHECK(progress.done == 0 && progress.total == 2 && !progress.is_over);
    REFUSED(FERRUM_ERROR_TIMEOUT, ferrum_dummy_job_wait(job, 0));
    REFUSED(FERRUM_ERROR_INVALID_STATE,
            ferrum_dummy_job_get_result(job, &result));
    REFUSED(FERRUM_ERROR_BUSY, ferrum_dummy_job_destroy(job, 0));
    REFUSED(FERRUM_ERROR_BUSY, ferrum_dummy_destroy(dummy, 0));
    REFUSED(FERRUM_ERROR_INVALID_ARGUMENT, ferrum_dummy_job_destroy(job, 2));
    OK(ferrum_dummy_hold(dummy, 0));
    OK(ferrum_dummy_job_wait(job, FERRUM_WAIT_FOREVER));
    OK(ferrum_dummy_job_get_progress(job, &progress));
    CHECK(progress.done == 2 && progress.is_over == 1);
    OK(ferrum_dummy_job_get_result(job, &result));
    OK(ferrum_dummy_job_get_result(job, &result));
    CHECK(result.moved == 2);
    OK(ferrum_dummy_job_cancel(job));
    OK(ferrum_dummy_job_destroy(job, 0));
    REFUSED(FERRUM_ERROR_INVALID_HANDLE, ferrum_dummy_job_cancel(job));

    OK(ferrum_dummy_hold(dummy, 1));
    OK(ferrum_dummy_sort(dummy, FERRUM_DUMMY_ORDER_SIZE, &job));
    OK(ferrum_dummy_job_cancel(job));
    OK(ferrum_dummy_job_wait(job, FERRUM_WAIT_FOREVER));
    REFUSED(FERRUM_ERROR_CANCELLED, ferrum_dummy_job_get_result(job, &result));
    OK(ferrum_dummy_job_destroy(job, 0));

    OK(ferrum_dummy_sort(dummy, FERRUM_DUMMY_ORDER_SIZE, &job));
    OK(ferrum_dummy_destroy(dummy, FERRUM_FORCE));
    REFUSED(FERRUM_ERROR_INVALID_HANDLE, ferrum_dummy_job_wait(job, 0));
}

/* The function that the four edits added. */
static void added_function(void) {
    ferrum_device device;
    ferrum_pool pool, none = {0};
    ferrum_pool_config config = FERRUM_POOL_CONFIG_INIT;
    ferrum_address address;
    uint64_t held = 1;
    OK(ferrum_device_open("cpu:0", &device));
    OK(ferrum_pool_create(device, &config, &pool));
    OK(ferrum_pool_alloc(pool, 1000, (ferrum_stream){0}, &address));
    OK(ferrum_pool_get_kept_bytes(pool, &held));
    CHECK(held >= 1000);
    REFUSED(FERRUM_ERROR_NULL_POINTER, ferrum_pool_get_kept_bytes(pool, NULL));
    REFUSED(FERRUM_ERROR_INVALID_HANDLE,
            ferrum_pool_get_kept_bytes(none, &held));
    CHECK(held == 0);
    OK(ferrum_device_close(device, FERRUM_FORCE));
}

/* The library ends the remaining dummies and releases the objects that they
 * adopted. */
static void leftovers(void) {
    int released = 0;
    ferrum_dummy dummy = make();
    char leaks[4096];
    size_t length;
    OK(ferrum_dummy_adopt(dummy, count, &released));
    REFUSED(FERRUM_ERROR_BUSY, ferrum_shutdown(0));
    OK(ferrum_leak_report_json(leaks, sizeof leaks, &length));
    CHECK(strstr(leaks, "\"kind\":\"dummy\""));
    OK(ferrum_shutdown(FERRUM_FORCE));
    CHECK(released == 1);
    REFUSED(FERRUM_ERROR_NOT_INITIALIZED,
            ferrum_dummy_adopt(dummy, count, &released));
}

int main(void) {
    ferrum_dummy dummy;
    REFUSED(FERRUM_ERROR_NOT_INITIALIZED, ferrum_dummy_create(NULL, &dummy));
    OK(ferrum_init(NULL));
    structs();
    arrays();
    texts();
    adopt_and_destroy();
    jobs();
    added_function();
    leftovers();
    return 0;
}
