/* Generated from include/ferrum_mem/streams.h by scripts/genabi.py; do not edit. */
#include "arguments.h"

static void nothing_ferrum_host_fn(void *user_data) { (void)user_data; }

static ferrum_status call_stream_create(const argument *a) {
    return ferrum_stream_create((ferrum_device){a[0].number}, a[1].pointer);
}
static const parameter parameters_stream_create[] = {
    PARAMETER(device, HANDLE, .kind = DEVICE),
    PARAMETER(stream_out, OUT, .size = sizeof(ferrum_stream))};

static ferrum_status call_stream_destroy(const argument *a) {
    return ferrum_stream_destroy((ferrum_stream){a[0].number},
                                 (uint32_t)a[1].number);
}
static const parameter parameters_stream_destroy[] = {
    PARAMETER(stream, HANDLE, .kind = STREAM), PARAMETER(flags, FLAGS)};

static ferrum_status call_stream_default(const argument *a) {
    return ferrum_stream_default((ferrum_device){a[0].number}, a[1].pointer);
}
static const parameter parameters_stream_default[] = {
    PARAMETER(device, HANDLE, .kind = DEVICE),
    PARAMETER(stream_out, OUT, .size = sizeof(ferrum_stream))};

static ferrum_status call_stream_synchronize(const argument *a) {
    return ferrum_stream_synchronize((ferrum_stream){a[0].number},
                                     (uint64_t)a[1].number);
}
static const parameter parameters_stream_synchronize[] = {
    PARAMETER(stream, HANDLE, .kind = STREAM), PARAMETER(timeout_ns, VALUE)};

static ferrum_status call_stream_is_ready(const argument *a) {
    return ferrum_stream_is_ready((ferrum_stream){a[0].number}, a[1].pointer);
}
static const parameter parameters_stream_is_ready[] = {
    PARAMETER(stream, HANDLE, .kind = STREAM),
    PARAMETER(ready_out, OUT, .size = sizeof(uint32_t))};

static ferrum_status call_stream_host_function(const argument *a) {
    return ferrum_stream_host_function((ferrum_stream){a[0].number},
                                       (ferrum_host_fn)a[1].function,
                                       a[2].pointer);
}
static const parameter parameters_stream_host_function[] = {
    PARAMETER(stream, HANDLE, .kind = STREAM),
    PARAMETER(function, CALLBACK,
              .nothing = (any_function)nothing_ferrum_host_fn),
    PARAMETER(user_data, DATA)};

static ferrum_status call_stream_copy_batch(const argument *a) {
    return ferrum_stream_copy_batch((ferrum_stream){a[0].number}, a[1].pointer,
                                    (uint64_t)a[2].number);
}
static const parameter parameters_stream_copy_batch[] = {
    PARAMETER(stream, HANDLE, .kind = STREAM),
    PARAMETER(copies, ARRAY, .size = sizeof(ferrum_address_copy)),
    PARAMETER(count, VALUE)};

static ferrum_status call_event_record(const argument *a) {
    return ferrum_event_record((ferrum_stream){a[0].number}, a[1].pointer);
}
static const parameter parameters_event_record[] = {
    PARAMETER(stream, HANDLE, .kind = STREAM),
    PARAMETER(event_out, OUT, .size = sizeof(ferrum_event))};

static ferrum_status call_event_destroy(const argument *a) {
    return ferrum_event_destroy((ferrum_event){a[0].number});
}
static const parameter parameters_event_destroy[] = {
    PARAMETER(event, HANDLE, .kind = EVENT)};

static ferrum_status call_event_is_ready(const argument *a) {
    return ferrum_event_is_ready((ferrum_event){a[0].number}, a[1].pointer);
}
static const parameter parameters_event_is_ready[] = {
    PARAMETER(event, HANDLE, .kind = EVENT),
    PARAMETER(ready_out, OUT, .size = sizeof(uint32_t))};

static ferrum_status call_event_synchronize(const argument *a) {
    return ferrum_event_synchronize((ferrum_event){a[0].number},
                                    (uint64_t)a[1].number);
}
static const parameter parameters_event_synchronize[] = {
    PARAMETER(event, HANDLE, .kind = EVENT), PARAMETER(timeout_ns, VALUE)};

static ferrum_status call_event_elapsed(const argument *a) {
    return ferrum_event_elapsed((ferrum_event){a[0].number},
                                (ferrum_event){a[1].number}, a[2].pointer);
}
static const parameter parameters_event_elapsed[] = {
    PARAMETER(start, HANDLE, .kind = EVENT),
    PARAMETER(end, HANDLE, .kind = EVENT),
    PARAMETER(elapsed_ns_out, OUT, .size = sizeof(int64_t))};

static ferrum_status call_stream_wait_event(const argument *a) {
    return ferrum_stream_wait_event((ferrum_stream){a[0].number},
                                    (ferrum_event){a[1].number});
}
static const parameter parameters_stream_wait_event[] = {
    PARAMETER(stream, HANDLE, .kind = STREAM),
    PARAMETER(event, HANDLE, .kind = EVENT)};

const function arguments_streams[] = {
    FUNCTION(stream_create, .parameters = parameters_stream_create, .count = 2),
    FUNCTION(stream_destroy, .parameters = parameters_stream_destroy,
             .count = 2, .waits = 1),
    FUNCTION(stream_default, .parameters = parameters_stream_default,
             .count = 2),
    FUNCTION(stream_synchronize, .parameters = parameters_stream_synchronize,
             .count = 2, .waits = 1),
    FUNCTION(stream_is_ready, .parameters = parameters_stream_is_ready,
             .count = 2),
    FUNCTION(stream_host_function,
             .parameters = parameters_stream_host_function, .count = 3),
    FUNCTION(stream_copy_batch, .parameters = parameters_stream_copy_batch,
             .count = 3),
    FUNCTION(event_record, .parameters = parameters_event_record, .count = 2),
    FUNCTION(event_destroy, .parameters = parameters_event_destroy, .count = 1),
    FUNCTION(event_is_ready, .parameters = parameters_event_is_ready,
             .count = 2),
    FUNCTION(event_synchronize, .parameters = parameters_event_synchronize,
             .count = 2, .waits = 1),
    FUNCTION(event_elapsed, .parameters = parameters_event_elapsed, .count = 3),
    FUNCTION(stream_wait_event, .parameters = parameters_stream_wait_event,
             .count = 2),
    {.name = NULL}};
