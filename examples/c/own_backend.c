/*
 * A compute backend of the program. It registers functions that add tensors,
 * finds the backend by a requirement, and runs Add on it.
 *
 *   cc own_backend.c $(pkg-config --cflags --libs ferrum_mem) -o own_backend
 */
#include <ferrum_mem.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* If a call failed, prints the error message of the library and exits. */
static void check(ferrum_status status) {
    if (status == FERRUM_OK)
        return;
    ferrum_error_info error = FERRUM_ERROR_INFO_INIT;
    ferrum_last_error(&error);
    fprintf(stderr, "%s failed with %s: %s\n", error.function,
            ferrum_status_name(status), error.message);
    exit(1);
}

/* Accepts Add of contiguous tensors of f32 with equal shapes. */
static ferrum_status plan(const ferrum_compute_call *call,
                          ferrum_compute_plan *plan_out, void *user_data) {
    (void)user_data;
    if (strcmp(call->name, "Add") != 0) {
        snprintf(call->message_out, FERRUM_COMPUTE_MESSAGE_MAX,
                 "only Add: %s is refused", call->name);
        return FERRUM_ERROR_UNSUPPORTED;
    }
    for (uint64_t i = 0; i < call->input_count; i++) {
        const ferrum_tensor_desc *in = &call->inputs[i];
        if (in->dtype != FERRUM_DTYPE_F32 ||
            !(in->flags & FERRUM_ELEMENTS_CONTIGUOUS) ||
            in->size_bytes != call->outputs[0].size_bytes)
            return FERRUM_ERROR_UNSUPPORTED;
    }
    if (!(call->outputs[0].flags & FERRUM_ELEMENTS_CONTIGUOUS))
        return FERRUM_ERROR_UNSUPPORTED;
    plan_out->flags = FERRUM_COMPUTE_PLAN_IN_PLACE;
    return FERRUM_OK;
}

static float *elements(const ferrum_tensor_desc *of) {
    return (float *)(uintptr_t)of->address;
}

static ferrum_status run(const ferrum_compute_call *call, void *user_data) {
    (void)user_data;
    const float *a = elements(&call->inputs[0]),
                *b = elements(&call->inputs[1]);
    float *sum = elements(&call->outputs[0]);
    for (uint64_t i = 0; i < call->outputs[0].size_bytes / sizeof *sum; i++)
        sum[i] = a[i] + b[i];
    return FERRUM_OK;
}

static void released(void *text) { puts(text); }

/* The name of the best backend: the value of "best" in the JSON text. */
static void find(const char *requirements, char *name, size_t capacity) {
    static char text[1 << 16];
    size_t length;
    check(ferrum_compute_find_json(requirements, strlen(requirements), text,
                                   sizeof text, &length));
    const char *best = strstr(text, "\"best\":\"") + strlen("\"best\":\"");
    snprintf(name, capacity, "%.*s", (int)strcspn(best, "\""), best);
}

static ferrum_tensor numbers(ferrum_device device, float *values,
                             int64_t count) {
    ferrum_tensor_desc desc = FERRUM_TENSOR_DESC_INIT;
    desc.dtype = FERRUM_DTYPE_F32;
    desc.flags = FERRUM_ELEMENTS_CONTIGUOUS;
    desc.rank = 1;
    desc.shape[0] = count;
    ferrum_tensor tensor;
    check(ferrum_tensor_wrap(device, (ferrum_address)(uintptr_t)values,
                             (uint64_t)count * sizeof *values, &desc, NULL,
                             NULL, &tensor));
    return tensor;
}

int main(void) {
    static char farewell[] = "released";
    static const char properties[] =
        "{\"supported_devices\": [\"cpu:0\"], \"supported_dtypes\": [\"f32\"],"
        " \"extra_capabilities\": {\"adds\": true}}";
    ferrum_compute_backend backend = FERRUM_COMPUTE_BACKEND_INIT;
    backend.name = "adder";
    backend.capabilities_json = properties;
    backend.capabilities_bytes = sizeof properties - 1;
    backend.plan = plan;
    backend.run = run;
    backend.release = released;
    backend.user_data = farewell;
    ferrum_registration registration;
    check(ferrum_init(NULL));
    check(ferrum_compute_register(&backend, &registration));

    char best[64];
    find("{\"extra_requirements\": {\"adds\": true}}", best, sizeof best);
    printf("best for adders: %s\n", best);

    ferrum_compute_config config = FERRUM_COMPUTE_CONFIG_INIT;
    ferrum_compute compute;
    ferrum_op add, sub;
    check(ferrum_device_open("cpu:0", &config.device));
    config.type = FERRUM_COMPUTE_CUSTOM;
    config.name = best;
    check(ferrum_compute_open(&config, &compute));
    check(ferrum_op_prepare(compute, "Add", "", 0, 0, &add));
    check(ferrum_op_prepare(compute, "Sub", "", 0, 0, &sub));

    float a[] = {1, 2, 3}, b[] = {10, 20, 30};
    ferrum_tensor inputs[] = {numbers(config.device, a, 3),
                              numbers(config.device, b, 3)};
    ferrum_tensor output = inputs[0]; /* in place */
    ferrum_stream stream = {0};
    check(ferrum_op_run(add, inputs, 2, &output, 1, stream));
    check(ferrum_compute_synchronize(compute, FERRUM_WAIT_FOREVER));
    printf("%g %g %g\n", a[0], a[1], a[2]);
    output.id = 0;
    if (ferrum_op_run(sub, inputs, 2, &output, 1, stream) ==
        FERRUM_ERROR_UNSUPPORTED) {
        ferrum_error_info error = FERRUM_ERROR_INFO_INIT;
        ferrum_last_error(&error);
        char *reason = strstr(error.message, "only Add");
        printf("%.*s\n", (int)strlen("only Add: Sub is refused"), reason);
    }

    check(ferrum_tensor_destroy(inputs[0]));
    check(ferrum_tensor_destroy(inputs[1]));
    check(ferrum_op_destroy(add));
    check(ferrum_op_destroy(sub));
    check(ferrum_compute_close(compute, 0));
    check(ferrum_registration_remove(registration));
    check(ferrum_device_close(config.device, 0));
    check(ferrum_shutdown(0));
    return 0;
}
