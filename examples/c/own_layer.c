/*
 * A layer type of the program. It registers "mine.swiglu", which multiplies one
 * half of each row by the other half through a gate, builds a model that has
 * such a layer before a Relu of the library, and runs the model.
 *
 *   cc own_layer.c $(pkg-config --cflags --libs ferrum_mem) -lm -o own_layer
 */
#include <ferrum_mem.h>

#include <math.h>
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

/* The output has half of the columns of the input. */
static ferrum_status infer(const ferrum_compute_call *call,
                           ferrum_tensor_desc *outputs_out, void *user_data) {
    (void)user_data;
    const ferrum_tensor_desc *x = &call->inputs[0];
    if (x->dtype != FERRUM_DTYPE_F32 || x->shape[1] % 2 != 0) {
        snprintf(call->message_out, FERRUM_COMPUTE_MESSAGE_MAX,
                 "want f32 with an even number of columns");
        return FERRUM_ERROR_INVALID_ARGUMENT;
    }
    outputs_out[0].shape[1] = x->shape[1] / 2;
    return FERRUM_OK;
}

static ferrum_status forward(const ferrum_compute_call *call, void *user_data) {
    (void)user_data;
    const ferrum_tensor_desc *x = &call->inputs[0];
    const float *in = (const float *)(uintptr_t)x->address;
    float *out = (float *)(uintptr_t)call->outputs[0].address;
    int64_t half = x->shape[1] / 2;
    for (int64_t row = 0; row < x->shape[0]; row++)
        for (int64_t i = 0; i < half; i++) {
            float a = in[row * 2 * half + i], b = in[row * 2 * half + half + i];
            out[row * half + i] = a / (1 + expf(-a)) * b;
        }
    return FERRUM_OK;
}

static void released(void *text) { puts(text); }

#define F32(name, shape) \
    "{\"name\":\"" name "\",\"shape\":" shape ",\"dtype\":\"f32\"}"
static const char DEFINITION[] =
    "{\"metadata\":{\"name\":\"gated\",\"version\":\"1\",\"model_type\":"
    "\"gated\",\"architecture_family\":\"custom\"},\"architecture\":{\"name\":"
    "\"gated\",\"dimensions\":{\"vocab_size\":1,\"hidden_size\":4,"
    "\"num_layers\":1,\"num_heads\":1,\"max_sequence_length\":1}},"
    "\"parameters\":[],\"layers\":["
    "{\"name\":\"x\",\"layer_type\":\"Input\",\"inputs\":[],\"parameters\":[],"
    "\"outputs\":[" F32(
        "x",
        "[-1,4]") "]},"
                  "{\"name\":\"gate\",\"layer_type\":\"mine.swiglu\","
                  "\"parameters\":[],"
                  "\"inputs\":[" F32(
                      "in",
                      "[-1,4]") "],"
                                "\"outputs\":[" F32(
                                    "out",
                                    "[-1,2]") "]},"
                                              "{\"name\":\"y\",\"layer_type\":"
                                              "\"Relu\",\"parameters\":[],"
                                              "\"inputs\":[" F32(
                                                  "X",
                                                  "[-1,2]") "],"
                                                            "\"outputs\":[" F32(
                                                                "Y",
                                                                "[-1,2]") "]}],"
                                                                          "\"gr"
                                                                          "aph"
                                                                          "\":{"
                                                                          "\"in"
                                                                          "puts"
                                                                          "\":["
                                                                          "\"x"
                                                                          "\"],"
                                                                          "\"ou"
                                                                          "tput"
                                                                          "s\":"
                                                                          "[\"y"
                                                                          "\"],"
                                                                          "\"no"
                                                                          "des"
                                                                          "\":["
                                                                          "{\"i"
                                                                          "d\":"
                                                                          "\"x"
                                                                          "\","
                                                                          "\"la"
                                                                          "yer_"
                                                                          "name"
                                                                          "\":"
                                                                          "\"x"
                                                                          "\"},"
                                                                          "{\"i"
                                                                          "d\":"
                                                                          "\"ga"
                                                                          "te\""
                                                                          ",\"l"
                                                                          "ayer"
                                                                          "_nam"
                                                                          "e\":"
                                                                          "\"ga"
                                                                          "te\""
                                                                          "},"
                                                                          "{\"i"
                                                                          "d\":"
                                                                          "\"y"
                                                                          "\","
                                                                          "\"la"
                                                                          "yer_"
                                                                          "name"
                                                                          "\":"
                                                                          "\"y"
                                                                          "\"}]"
                                                                          ",\"e"
                                                                          "dges"
                                                                          "\":["
                                                                          "{\"s"
                                                                          "ourc"
                                                                          "e\":"
                                                                          "\"x"
                                                                          "\","
                                                                          "\"ta"
                                                                          "rget"
                                                                          "\":"
                                                                          "\"ga"
                                                                          "te\""
                                                                          "},"
                                                                          "{\"s"
                                                                          "ourc"
                                                                          "e\":"
                                                                          "\"ga"
                                                                          "te\""
                                                                          ",\"t"
                                                                          "arge"
                                                                          "t\":"
                                                                          "\"y"
                                                                          "\"}]"
                                                                          "}}";

int main(void) {
    check(ferrum_init(NULL));
    ferrum_layer layer = FERRUM_LAYER_INIT;
    layer.type = "mine.swiglu";
    layer.input_rank = 2;
    layer.input_shape[0] = layer.input_shape[1] = -1;
    layer.infer = infer;
    layer.forward = forward;
    layer.release = released;
    layer.user_data = "released";
    ferrum_registration registration;
    check(ferrum_layer_register(&layer, &registration));

    ferrum_device device;
    check(ferrum_device_open("cpu:0", &device));
    ferrum_compute_config config = FERRUM_COMPUTE_CONFIG_INIT;
    config.device = device;
    ferrum_compute compute;
    check(ferrum_compute_open(&config, &compute));
    ferrum_elastic_pool pool;
    check(ferrum_elastic_pool_create(device, NULL, &pool));

    ferrum_build_request request = FERRUM_BUILD_REQUEST_INIT;
    request.definition_json = DEFINITION;
    request.definition_bytes = strlen(DEFINITION);
    request.compute = compute;
    request.elastic_pool = pool;
    ferrum_executor model;
    check(ferrum_executor_build(&request, &model));

    float rows[2][4] = {{1, 2, 3, 4}, {-1, 2, -3, 4}}, results[2][2];
    ferrum_tensor_desc desc = FERRUM_TENSOR_DESC_INIT;
    desc.dtype = FERRUM_DTYPE_F32;
    desc.rank = 2;
    desc.shape[0] = 2;
    desc.shape[1] = 4;
    ferrum_tensor x;
    check(ferrum_tensor_wrap(device, (uintptr_t)rows, sizeof rows, &desc, NULL,
                             NULL, &x));
    ferrum_named_tensor in = {"x", x}, out = {"y", {0}};
    check(ferrum_executor_run(model, &in, 1, &out, 1, (ferrum_stream){0},
                              FERRUM_WAIT_FOREVER));
    check(ferrum_tensor_read(out.tensor, results, sizeof results,
                             (ferrum_stream){0}));
    for (int row = 0; row < 2; row++)
        printf("%.3f %.3f\n", (double)results[row][0], (double)results[row][1]);

    if (ferrum_registration_remove(registration) == FERRUM_ERROR_BUSY)
        puts("the model uses the layer");
    check(ferrum_tensor_destroy(out.tensor));
    check(ferrum_tensor_destroy(x));
    check(ferrum_executor_destroy(model, 0));
    check(ferrum_registration_remove(registration));
    check(ferrum_elastic_pool_destroy(pool, 0));
    check(ferrum_compute_close(compute, 0));
    check(ferrum_device_close(device, 0));
    check(ferrum_shutdown(0));
    return 0;
}
