/*
 * The header's promises about compute: backends and their settings, the choice
 * of a backend, operations, packing, sequences, the order of streams, ends,
 * and wrong arguments. Results are compared with sums in double precision.
 * Each test ends with a clean stop of the library, which fails if anything is
 * left.
 */
#include "asserts.h"
#include "fixture.h"
#include "operations.h"

#include <pthread.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

static fixture f;

static int set_up(void **state) {
    (void)state;
    fixture_make(&f);
    return 0;
}
static int tear_down(void **state) {
    (void)state;
    fixture_end(&f);
    return 0;
}

static ferrum_tensor make(const float *values, const int64_t *shape,
                          uint64_t count) {
    ferrum_weights_memory memory = {.pool = f.pool};
    ferrum_tensor tensor;
    assert_ok(ferrum_tensor_create(&memory, FERRUM_DTYPE_F32, shape, count,
                                   f.stream, &tensor));
    ferrum_tensor_desc desc = FERRUM_TENSOR_DESC_INIT;
    assert_ok(ferrum_tensor_describe(tensor, &desc));
    assert_ok(ferrum_tensor_write(tensor, values, desc.size_bytes, f.stream));
    return tensor;
}

/* The distance, relative to numbers above 1. */
static float far(float got, float want) {
    float distance = got > want ? got - want : want - got;
    float size = want < 0 ? -want : want;
    return distance / (size > 1 ? size : 1);
}

static void holds(ferrum_tensor tensor, const float *want, size_t count) {
    float *got = malloc(count * sizeof *got);
    assert_non_null(got);
    assert_ok(ferrum_tensor_read(tensor, got, count * sizeof *got, f.stream));
    for (size_t i = 0; i < count; i++)
        if (!(far(got[i], want[i]) <= 1e-5f))
            fail_msg("element %zu is %g, not %g", i, got[i], want[i]);
    free(got);
}

static ferrum_op prepare(const char *name, const char *attributes) {
    ferrum_op op;
    assert_ok(ferrum_op_prepare(f.compute, name, attributes, strlen(attributes),
                                0, &op));
    return op;
}

/* The text of a call with a backend. */
static char *json_of(ferrum_status (*call)(ferrum_compute, char *, size_t,
                                           size_t *)) {
    static char text[1 << 16];
    size_t length;
    assert_ok(call(f.compute, text, sizeof text, &length));
    return text;
}

enum { M = 7, K = 33, N = 20 };
static float left[M * K], right[K * N], product[M * N];

static void fill_matrices(void) {
    for (int i = 0; i < M * K; i++)
        left[i] = (float)((i * 37) % 101 - 50) / 64;
    for (int i = 0; i < K * N; i++)
        right[i] = (float)((i * 53) % 97 - 48) / 32;
    for (int i = 0; i < M; i++)
        for (int j = 0; j < N; j++) {
            double sum = 0;
            for (int k = 0; k < K; k++)
                sum += (double)left[i * K + k] * right[k * N + j];
            product[i * N + j] = (float)sum;
        }
}

static void test_runs_a_matrix_product(void **state) {
    (void)state;
    fill_matrices();
    ferrum_op op = prepare("MatMul", "");
    ferrum_tensor inputs[] = {make(left, SHAPE(M, K)),
                              make(right, SHAPE(K, N))};
    ferrum_tensor output = {0}, into = make(product, SHAPE(M, N)), packed;

    /* The call makes the output. */
    assert_ok(ferrum_op_run(op, inputs, 2, &output, 1, f.stream));
    ferrum_tensor_desc desc = FERRUM_TENSOR_DESC_INIT;
    assert_ok(ferrum_tensor_describe(output, &desc));
    assert_int_equal(desc.shape[0], M);
    assert_int_equal(desc.shape[1], N);
    holds(output, product, M * N);
    assert_ok(ferrum_tensor_destroy(output));

    /* Into a given output. */
    assert_ok(ferrum_tensor_fill(into, 0, f.stream));
    output = into;
    assert_ok(ferrum_op_run(op, inputs, 2, &output, 1, f.stream));
    assert_int_equal(output.id, into.id);
    holds(into, product, M * N);

    /* With a view as an input, and packed weights instead of the others. */
    ferrum_tensor turned = make(right, SHAPE(K, N)), columns, back;
    ferrum_weights_memory memory = {0};
    assert_ok(ferrum_tensor_permute(turned, (int32_t[]){1, 0}, 2, &columns));
    assert_ok(ferrum_tensor_permute(columns, (int32_t[]){1, 0}, 2, &back));
    ferrum_tensor through[] = {inputs[0], back};
    output.id = 0;
    assert_ok(ferrum_op_run(op, through, 2, &output, 1, f.stream));
    holds(output, product, M * N);
    assert_ok(ferrum_tensor_destroy(output));
    assert_ok(ferrum_op_pack(op, 1, inputs[1], &memory, f.stream, &packed));
    assert_ok(ferrum_tensor_describe(packed, &desc));
    assert_int_equal(desc.flags & FERRUM_ELEMENTS_PACKED,
                     FERRUM_ELEMENTS_PACKED);
    float one;
    assert_status(ferrum_tensor_read(packed, &one, desc.size_bytes, f.stream),
                  FERRUM_ERROR_UNSUPPORTED);
    assert_status(ferrum_tensor_fill(packed, 0, f.stream),
                  FERRUM_ERROR_UNSUPPORTED);
    assert_ok(ferrum_tensor_destroy(inputs[1]));
    inputs[1] = packed;
    output.id = 0;
    assert_ok(ferrum_op_run(op, inputs, 2, &output, 1, f.stream));
    holds(output, product, M * N);

    char *status = json_of(ferrum_compute_status_json);
    assert_non_null(strstr(status, "\"operations_completed\":4"));
    assert_non_null(strstr(status, "\"last_error\":null"));
    const ferrum_tensor all[] = {inputs[0], packed,  output, into,
                                 turned,    columns, back};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        assert_ok(ferrum_tensor_destroy(all[i]));
    assert_ok(ferrum_op_destroy(op));
}

static void test_infers_without_running(void **state) {
    (void)state;
    ferrum_op op = prepare("MatMul", "{}");
    ferrum_tensor_desc inputs[2] = {FERRUM_TENSOR_DESC_INIT,
                                    FERRUM_TENSOR_DESC_INIT},
                       output = FERRUM_TENSOR_DESC_INIT;
    for (int i = 0; i < 2; i++) {
        inputs[i].flags = FERRUM_ELEMENTS_CONTIGUOUS;
        inputs[i].rank = 2;
    }
    inputs[0].shape[0] = 1 << 20;
    inputs[0].shape[1] = inputs[1].shape[0] = 300;
    inputs[1].shape[1] = 1 << 20;
    uint64_t workspace = 1;
    assert_ok(ferrum_op_infer(op, inputs, 2, &output, 1, &workspace));
    assert_int_equal(output.rank, 2);
    assert_int_equal(output.shape[0], 1 << 20);
    assert_int_equal(output.size_bytes, UINT64_C(1) << 42);
    assert_string_equal(output.device, "cpu:0");

    ferrum_tensor_desc before = output;
    inputs[1].shape[0] = 301;
    assert_status(ferrum_op_infer(op, inputs, 2, &output, 1, &workspace),
                  FERRUM_ERROR_INVALID_ARGUMENT);
    assert_message("301");
    assert_memory_equal(&output, &before, sizeof output);
    assert_int_equal(workspace, 0);
    inputs[1].struct_size = 12;
    assert_status(ferrum_op_infer(op, inputs, 2, &output, 1, &workspace),
                  FERRUM_ERROR_INVALID_STRUCT);
    inputs[1].struct_size = sizeof inputs[1];
    inputs[1].flags = FERRUM_ELEMENTS_ABSENT;
    assert_status(ferrum_op_infer(op, inputs, 2, &output, 1, &workspace),
                  FERRUM_ERROR_INVALID_ARGUMENT);
    assert_status(
        ferrum_op_infer(op, inputs, UINT64_MAX, &output, 1, &workspace),
        FERRUM_ERROR_INVALID_ARGUMENT);
    assert_status(
        ferrum_op_infer(op, inputs, 2, &output, UINT64_MAX, &workspace),
        FERRUM_ERROR_INVALID_ARGUMENT);
    inputs[0].rank = 9;
    assert_status(ferrum_op_infer(op, inputs, 2, &output, 1, &workspace),
                  FERRUM_ERROR_INVALID_ARGUMENT);
    assert_ok(ferrum_op_destroy(op));
}

/* Each operator: the descriptions of its inputs give the outputs that a run
 * makes. Inputs that carry shapes, axes and sizes have their elements. */
static void test_infers_every_operator(void **state) {
    (void)state;
    ferrum_weights_memory memory = {.pool = f.pool};
    int read_elements = 0;
    for (size_t i = 0; i < operation_count; i++) {
        const operation *of = &operations[i];
        ferrum_tensor inputs[OPERATION_INPUTS], out[OPERATION_OUTPUTS] = {{0}};
        ferrum_tensor_desc in[OPERATION_INPUTS], want = FERRUM_TENSOR_DESC_INIT,
                                                 found[OPERATION_OUTPUTS];
        int64_t elements[OPERATION_INPUTS][8];
        uint64_t count = make_inputs(of, &memory, inputs), workspace;
        ferrum_op op = prepare(of->name, of->attributes);
        for (uint64_t k = 0; k < count; k++) {
            in[k] = (ferrum_tensor_desc)FERRUM_TENSOR_DESC_INIT;
            assert_ok(ferrum_tensor_describe(inputs[k], &in[k]));
            assert_null(in[k].elements);
        }
        for (int o = 0; o < OPERATION_OUTPUTS; o++)
            found[o] = (ferrum_tensor_desc)FERRUM_TENSOR_DESC_INIT;
        ferrum_status without =
            ferrum_op_infer(op, in, count, found, of->output_count, &workspace);
        if (without != FERRUM_OK) {
            assert_status(without, FERRUM_ERROR_INVALID_ARGUMENT);
            assert_message("must be known");
            read_elements++;
        }
        for (uint64_t k = 0; k < count; k++) {
            if (in[k].dtype != FERRUM_DTYPE_I64 || in[k].rank != 1)
                continue;
            assert_ok(ferrum_tensor_read(inputs[k], elements[k],
                                         in[k].size_bytes, f.stream));
            in[k].elements = elements[k];
            in[k].element_count = (uint64_t)in[k].shape[0];
        }
        assert_ok(ferrum_op_infer(op, in, count, found, of->output_count,
                                  &workspace));
        assert_ok(
            ferrum_op_run(op, inputs, count, out, of->output_count, f.stream));
        for (uint64_t o = 0; o < of->output_count; o++) {
            assert_ok(ferrum_tensor_describe(out[o], &want));
            assert_int_equal(found[o].dtype, want.dtype);
            assert_int_equal(found[o].rank, want.rank);
            assert_memory_equal(found[o].shape, want.shape, sizeof want.shape);
            assert_null(found[o].elements);
            assert_ok(ferrum_tensor_destroy(out[o]));
        }
        for (uint64_t k = 0; k < count; k++)
            assert_ok(ferrum_tensor_destroy(inputs[k]));
        assert_ok(ferrum_op_destroy(op));
    }
    /* Expand, Reshape, Slice, Split, Squeeze, TopK, Unsqueeze, reductions. */
    assert_int_equal(read_elements, 10);

    ferrum_op op = prepare("Reshape", "");
    ferrum_tensor_desc in[2] = {FERRUM_TENSOR_DESC_INIT,
                                FERRUM_TENSOR_DESC_INIT},
                       out = FERRUM_TENSOR_DESC_INIT;
    uint64_t workspace;
    in[0].rank = 2;
    in[0].shape[0] = 6;
    in[0].shape[1] = 4;
    in[1].dtype = FERRUM_DTYPE_I64;
    in[1].rank = 1;
    in[1].shape[0] = 2;
    in[1].elements = (int64_t[]){8, -1};
    in[1].element_count = 2;
    assert_ok(ferrum_op_infer(op, in, 2, &out, 1, &workspace));
    assert_int_equal(out.shape[0], 8);
    assert_int_equal(out.shape[1], 3);
    in[1].element_count = 1;
    assert_status(ferrum_op_infer(op, in, 2, &out, 1, &workspace),
                  FERRUM_ERROR_INVALID_ARGUMENT);
    assert_message("known");
    in[1].element_count = FERRUM_TENSOR_LIST_MAX + 1;
    assert_status(ferrum_op_infer(op, in, 2, &out, 1, &workspace),
                  FERRUM_ERROR_INVALID_ARGUMENT);
    assert_message("element_count");
    in[1].element_count = 2;
    in[1].elements = NULL;
    assert_status(ferrum_op_infer(op, in, 2, &out, 1, &workspace),
                  FERRUM_ERROR_NULL_POINTER);
    assert_ok(ferrum_op_destroy(op));
}

/* Runs refuse what is wrong, name it, and leave the outputs as they were. */
static void refuses(ferrum_op op, ferrum_tensor a, ferrum_tensor b,
                    ferrum_tensor output, ferrum_status want,
                    const char *says) {
    ferrum_tensor inputs[] = {a, b}, outputs[] = {output};
    assert_status(ferrum_op_run(op, inputs, 2, outputs, 1, f.stream), want);
    assert_message(says);
    assert_int_equal(outputs[0].id, output.id);
}

static void test_wrong_runs(void **state) {
    (void)state;
    static const float zeros[24];
    ferrum_tensor a = make(zeros, SHAPE(2, 3)), b = make(zeros, SHAPE(4, 2)),
                  c = make(zeros, SHAPE(2, 3));
    const ferrum_tensor none = {0}, unwanted = {FERRUM_TENSOR_UNWANTED},
                        dead = {f.dead[TENSOR]};
    refuses(f.op, a, b, none, FERRUM_ERROR_INVALID_ARGUMENT, "Add");
    assert_message("[4, 2]");
    refuses(f.op, a, none, none, FERRUM_ERROR_INVALID_ARGUMENT, "Add");
    refuses(f.op, a, c, b, FERRUM_ERROR_INVALID_ARGUMENT, "[4, 2]");
    refuses(f.op, a, dead, none, FERRUM_ERROR_INVALID_HANDLE, "");
    refuses(f.op, a, c, dead, FERRUM_ERROR_INVALID_HANDLE, "");
    refuses(f.op, a, unwanted, none, FERRUM_ERROR_INVALID_HANDLE, "");
    refuses(f.op, a, (ferrum_tensor){f.pool.id}, none,
            FERRUM_ERROR_INVALID_HANDLE, "");
    ferrum_tensor lists[3] = {a, c, a}, out[2] = {{0}, {0}};
    assert_status(ferrum_op_run(f.op, lists, 3, out, 1, f.stream),
                  FERRUM_ERROR_INVALID_ARGUMENT);
    assert_status(ferrum_op_run(f.op, lists, 1, out, 1, f.stream),
                  FERRUM_ERROR_INVALID_ARGUMENT);
    assert_status(ferrum_op_run(f.op, lists, 2, out, 2, f.stream),
                  FERRUM_ERROR_INVALID_ARGUMENT);
    assert_status(ferrum_op_run(f.op, lists, UINT64_MAX, out, 1, f.stream),
                  FERRUM_ERROR_INVALID_ARGUMENT);
    assert_message("inputs has");
    assert_status(ferrum_op_run(f.op, lists, 2, out, 1025, f.stream),
                  FERRUM_ERROR_INVALID_ARGUMENT);
    assert_status(ferrum_op_run(f.op, lists, 2, out, 1, f.other_stream),
                  FERRUM_ERROR_INVALID_ARGUMENT);
    assert_int_equal(out[0].id | out[1].id, 0);

    /* Outputs that cannot be written: read-only, repeated, overlapping. */
    ferrum_tensor_desc desc = FERRUM_TENSOR_DESC_INIT;
    assert_ok(ferrum_tensor_describe(f.tensor, &desc));
    ferrum_tensor constant, wide, row, shifted, memory = make(zeros, SHAPE(24));
    float values[6] = {0};
    desc.shape[0] = 2;
    desc.shape[1] = 3;
    desc.flags = FERRUM_ELEMENTS_CONTIGUOUS | FERRUM_ELEMENTS_READ_ONLY;
    desc.address = 0;
    void done(void *data) { (void)data; }
    assert_ok(ferrum_tensor_wrap(f.device, (uintptr_t)values, sizeof values,
                                 &desc, done, NULL, &constant));
    refuses(f.op, a, c, constant, FERRUM_ERROR_PERMISSION_DENIED, "read-only");
    assert_ok(ferrum_tensor_narrow(a, 0, 0, 1, &row));
    assert_ok(ferrum_tensor_expand(row, SHAPE(2, 3), &wide));
    refuses(f.op, c, c, wide, FERRUM_ERROR_INVALID_ARGUMENT, "");
    ferrum_tensor first, second;
    assert_ok(ferrum_tensor_narrow(memory, 0, 0, 6, &first));
    assert_ok(ferrum_tensor_narrow(memory, 0, 3, 6, &shifted));
    refuses(f.op, first, first, shifted, FERRUM_ERROR_INVALID_ARGUMENT, "");
    /* Of another device. */
    ferrum_pool other;
    assert_ok(ferrum_pool_create(f.other_device, NULL, &other));
    assert_ok(ferrum_tensor_to(a, &(ferrum_weights_memory){.pool = other},
                               FERRUM_DTYPE_F32, f.stream, &second));
    refuses(f.op, a, second, none, FERRUM_ERROR_UNSUPPORTED_DEVICE, "cpu:1");
    const ferrum_tensor all[] = {a,    b,     c,       constant, row,
                                 wide, first, shifted, second,   memory};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        assert_ok(ferrum_tensor_destroy(all[i]));
    assert_ok(ferrum_pool_destroy(other, 0));
    assert_null(
        strstr(json_of(ferrum_compute_status_json), "\"last_error\":null"));
}

static void test_wrong_operations(void **state) {
    (void)state;
    ferrum_op op = {1};
    const struct {
        const char *name, *attributes;
        uint32_t opset;
        ferrum_status want;
        const char *says;
    } wrong[] = {
        {"MatMull", "", 0, FERRUM_ERROR_NOT_FOUND, "MatMul"},
        {"", "", 0, FERRUM_ERROR_NOT_FOUND, ""},
        {"Softmax", "{\"axes\": 1}", 0, FERRUM_ERROR_INVALID_ARGUMENT, "axis"},
        {"Softmax", "{\"axis\": \"one\"}", 0, FERRUM_ERROR_INVALID_ARGUMENT,
         "axis"},
        {"Softmax", "[1]", 0, FERRUM_ERROR_INVALID_ARGUMENT, ""},
        {"Softmax", "{\"axis\": 1", 0, FERRUM_ERROR_INVALID_ARGUMENT, ""},
        {"Softmax", "", 9999, FERRUM_ERROR_UNSUPPORTED, "9999"},
        {"Softmax", "", UINT32_MAX, FERRUM_ERROR_INVALID_ARGUMENT, "opset"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_status(
            ferrum_op_prepare(f.compute, wrong[i].name, wrong[i].attributes,
                              strlen(wrong[i].attributes), wrong[i].opset, &op),
            wrong[i].want);
        assert_message(wrong[i].says);
        assert_int_equal(op.id, 0);
    }
    assert_status(ferrum_op_prepare(f.compute, "Softmax", NULL, 4, 0, &op),
                  FERRUM_ERROR_NULL_POINTER);
    assert_message("attributes_bytes is 4, but the text is NULL");
    assert_ok(ferrum_op_prepare(f.compute, "Softmax", NULL, 0, 0, &op));
    assert_ok(ferrum_op_destroy(op));
    static const float zeros[6];
    ferrum_tensor a = make(zeros, SHAPE(2, 3)), packed;
    ferrum_weights_memory memory = {0};
    assert_status(ferrum_op_pack(f.op, 1, a, &memory, f.stream, &packed),
                  FERRUM_ERROR_UNSUPPORTED);
    assert_status(
        ferrum_op_pack(f.op, UINT32_MAX, a, &memory, f.stream, &packed),
        FERRUM_ERROR_INVALID_ARGUMENT);
    memory.model = "chat";
    assert_int_equal(packed.id, 0);
    assert_ok(ferrum_tensor_destroy(a));
}

/* Work is ordered by stream. Its tensors may end before it runs. */
static void test_the_order_of_a_stream(void **state) {
    (void)state;
    ferrum_tensor a = make((float[]){1, 2}, SHAPE(2)),
                  b = make((float[]){10, 20}, SHAPE(2)), sum = {0}, twice = {0};
    gate door = GATE;
    assert_ok(ferrum_stream_host_function(f.stream, gate_wait, &door));
    assert_ok(
        ferrum_op_run(f.op, (ferrum_tensor[]){a, b}, 2, &sum, 1, f.stream));
    assert_ok(ferrum_op_run(f.op, (ferrum_tensor[]){sum, sum}, 2, &twice, 1,
                            f.stream));
    assert_ok(ferrum_tensor_destroy(a));
    assert_ok(ferrum_tensor_destroy(b));
    assert_ok(ferrum_tensor_destroy(sum));
    assert_status(ferrum_compute_synchronize(f.compute, 1000000),
                  FERRUM_ERROR_TIMEOUT);
    gate_open(&door);
    assert_ok(ferrum_compute_synchronize(f.compute, FERRUM_WAIT_FOREVER));
    holds(twice, (float[]){22, 44}, 2);
    assert_ok(ferrum_tensor_destroy(twice));
}

static void test_sequences(void **state) {
    (void)state;
    ferrum_op gelu = prepare("Relu", "");
    ferrum_tensor a = make((float[]){-3, 2}, SHAPE(2)),
                  b = make((float[]){1, 1}, SHAPE(2)), sum = {0}, out = {0};
    assert_ok(ferrum_sequence_add(f.sequence, f.op, (ferrum_tensor[]){a, b}, 2,
                                  &sum, 1));
    assert_ok(ferrum_sequence_add(f.sequence, gelu, &sum, 1, &out, 1));
    assert_true(sum.id != 0 && out.id != 0);
    /* An addition that fails changes nothing. */
    ferrum_tensor none = {0};
    assert_status(ferrum_sequence_add(f.sequence, f.op, &a, 1, &none, 1),
                  FERRUM_ERROR_INVALID_ARGUMENT);
    assert_int_equal(none.id, 0);
    assert_ok(ferrum_tensor_destroy(sum));
    assert_ok(ferrum_tensor_destroy(b));
    for (float value = 1; value < 4; value++) {
        assert_ok(ferrum_tensor_fill(a, value, f.stream));
        assert_ok(ferrum_sequence_run(f.sequence, f.stream));
        holds(out, (float[]){value + 1, value + 1}, 2);
    }
    assert_ok(ferrum_tensor_fill(a, -8, f.stream));
    gate door = GATE;
    assert_ok(ferrum_stream_host_function(f.stream, gate_wait, &door));
    assert_ok(ferrum_sequence_run(f.sequence, f.stream));
    assert_status(ferrum_sequence_destroy(f.sequence), FERRUM_ERROR_BUSY);
    gate_open(&door);
    holds(out, (float[]){0, 0}, 2);
    assert_ok(ferrum_tensor_destroy(a));
    assert_ok(ferrum_sequence_destroy(f.sequence));
    holds(out, (float[]){0, 0}, 2);
    assert_ok(ferrum_tensor_destroy(out));
    assert_ok(ferrum_op_destroy(gelu));
    assert_ok(ferrum_sequence_create(f.compute, &f.sequence));
}

static void test_ends(void **state) {
    (void)state;
    ferrum_compute_config config = FERRUM_COMPUTE_CONFIG_INIT;
    config.device = f.device;
    config.threads = 2;
    ferrum_compute compute;
    ferrum_op op;
    ferrum_sequence sequence;
    assert_ok(ferrum_compute_open(&config, &compute));
    assert_ok(ferrum_op_prepare(compute, "Add", "", 0, 0, &op));
    assert_status(ferrum_compute_close(compute, 0), FERRUM_ERROR_BUSY);
    assert_ok(ferrum_sequence_create(compute, &sequence));
    ferrum_tensor a = make((float[]){1, 2}, SHAPE(2)), out = {0};
    assert_ok(ferrum_op_run(op, (ferrum_tensor[]){a, a}, 2, &out, 1, f.stream));
    assert_status(ferrum_sequence_add(f.sequence, op, (ferrum_tensor[]){a, a},
                                      2, &(ferrum_tensor){0}, 1),
                  FERRUM_ERROR_INVALID_ARGUMENT);
    char *report = text_of(ferrum_leak_report_json);
    assert_non_null(strstr(report, "\"kind\":\"compute\""));
    assert_non_null(strstr(report, "\"kind\":\"op\""));
    assert_non_null(strstr(report, "\"kind\":\"sequence\""));
    free(report);
    assert_ok(ferrum_compute_close(compute, FERRUM_FORCE));
    assert_status(ferrum_op_run(op, (ferrum_tensor[]){a, a}, 2,
                                &(ferrum_tensor){0}, 1, f.stream),
                  FERRUM_ERROR_INVALID_HANDLE);
    assert_status(ferrum_sequence_run(sequence, f.stream),
                  FERRUM_ERROR_INVALID_HANDLE);
    ferrum_tensor_desc desc = FERRUM_TENSOR_DESC_INIT;
    assert_status(ferrum_tensor_describe(out, &desc),
                  FERRUM_ERROR_INVALID_STATE);
    assert_ok(ferrum_tensor_destroy(out));
    assert_ok(ferrum_op_destroy(op));
    assert_ok(ferrum_sequence_destroy(sequence));
    assert_status(ferrum_op_destroy(op), FERRUM_ERROR_INVALID_HANDLE);
    assert_ok(ferrum_tensor_destroy(a));
}

static void test_settings(void **state) {
    (void)state;
    const struct {
        int type;
        ferrum_status want;
        const char *says;
    } kinds[] = {
        {FERRUM_COMPUTE_CANDLE, FERRUM_ERROR_UNSUPPORTED, "candle"},
        {FERRUM_COMPUTE_TENSORRT, FERRUM_ERROR_UNSUPPORTED, "tensorrt"},
        {FERRUM_COMPUTE_METAL, FERRUM_ERROR_UNSUPPORTED, "metal"},
        {FERRUM_COMPUTE_CUSTOM, FERRUM_ERROR_INVALID_CONFIG, "name"},
    };
    ferrum_compute compute = {1};
    ferrum_compute_config config;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        config = (ferrum_compute_config)FERRUM_COMPUTE_CONFIG_INIT;
        config.device = f.device;
        config.type = kinds[i].type;
        assert_status(ferrum_compute_validate(&config), kinds[i].want);
        assert_message(kinds[i].says);
        assert_status(ferrum_compute_open(&config, &compute), kinds[i].want);
        assert_int_equal(compute.id, 0);
    }
    config.name = "nobody";
    assert_status(ferrum_compute_open(&config, &compute),
                  FERRUM_ERROR_NOT_FOUND);
#define WRONG(field, value, want)                               \
    config = (ferrum_compute_config)FERRUM_COMPUTE_CONFIG_INIT; \
    config.device = f.device;                                   \
    config.field = value;                                       \
    assert_status(ferrum_compute_validate(&config), want);      \
    assert_status(ferrum_compute_open(&config, &compute), want)
    WRONG(optimization_level, 4, FERRUM_ERROR_INVALID_CONFIG);
    WRONG(threads, UINT32_MAX, FERRUM_ERROR_INVALID_CONFIG);
    WRONG(growth, 3, FERRUM_ERROR_INVALID_CONFIG);
    WRONG(alignment_bytes, 3, FERRUM_ERROR_INVALID_CONFIG);
    WRONG(name, "mine", FERRUM_ERROR_INVALID_CONFIG);
#define OPTIONS(text, want)                                     \
    config = (ferrum_compute_config)FERRUM_COMPUTE_CONFIG_INIT; \
    config.device = f.device;                                   \
    config.options_json = text;                                 \
    config.options_bytes = strlen(text);                        \
    assert_status(ferrum_compute_open(&config, &compute), want)
    OPTIONS("{\"plan\": 3}", FERRUM_ERROR_INVALID_CONFIG);
    assert_message("plans");
    OPTIONS("nonsense", FERRUM_ERROR_INVALID_FORMAT);
    OPTIONS("{\"instruction_set\": \"mmx\"}", FERRUM_ERROR_INVALID_CONFIG);
    assert_message("mmx");

    /* A static pool is taken at once, and bounds what runs make. */
    config = (ferrum_compute_config)FERRUM_COMPUTE_CONFIG_INIT;
    config.device = f.device;
    config.growth = FERRUM_COMPUTE_GROWTH_STATIC;
    config.pool_size_bytes = 4 * MIB;
    assert_ok(ferrum_compute_open(&config, &compute));
    ferrum_op op;
    assert_ok(ferrum_op_prepare(compute, "Add", "", 0, 0, &op));
    static float zeros[1 << 20];
    ferrum_tensor big = make(zeros, SHAPE(1 << 20)), out[2] = {{0}, {0}};
    ferrum_status first =
        ferrum_op_run(op, (ferrum_tensor[]){big, big}, 2, out, 1, f.stream);
    if (first == FERRUM_OK)
        assert_status(ferrum_op_run(op, (ferrum_tensor[]){big, big}, 2, out + 1,
                                    1, f.stream),
                      FERRUM_ERROR_OUT_OF_MEMORY);
    else
        assert_status(first, FERRUM_ERROR_OUT_OF_MEMORY);
    assert_int_equal(out[1].id, 0);
    if (out[0].id != 0)
        assert_ok(ferrum_tensor_destroy(out[0]));
    assert_ok(ferrum_tensor_destroy(big));
    assert_ok(ferrum_op_destroy(op));
    assert_ok(ferrum_compute_close(compute, 0));
}

/* Every operator has the same bits at each level, on the first run and on one
 * with a kept plan. */
static void test_levels(void **state) {
    (void)state;
    ferrum_compute levels[4];
    ferrum_weights_memory memory = {.pool = f.pool};
    for (uint32_t level = 0; level < 4; level++) {
        ferrum_compute_config config = FERRUM_COMPUTE_CONFIG_INIT;
        config.device = f.device;
        config.optimization_level = level;
        assert_ok(ferrum_compute_open(&config, &levels[level]));
    }
    for (size_t i = 0; i < operation_count; i++) {
        const operation *of = &operations[i];
        static char bytes[8][4096];
        memset(bytes, 0, sizeof bytes);
        ferrum_tensor inputs[OPERATION_INPUTS];
        uint64_t count = make_inputs(of, &memory, inputs);
        for (int round = 0; round < 8; round++) {
            ferrum_op op;
            ferrum_tensor out[OPERATION_OUTPUTS] = {{0}};
            assert_ok(ferrum_op_prepare(levels[round / 2], of->name,
                                        of->attributes, strlen(of->attributes),
                                        0, &op));
            size_t at = 0;
            for (int again = 0; again <= round % 2; again++) {
                for (uint64_t o = 0; o < of->output_count; o++) {
                    if (out[o].id != 0)
                        assert_ok(ferrum_tensor_destroy(out[o]));
                    out[o].id = 0;
                }
                assert_ok(ferrum_op_run(op, inputs, count, out,
                                        of->output_count, f.stream));
            }
            for (uint64_t o = 0; o < of->output_count; o++) {
                ferrum_tensor_desc desc = FERRUM_TENSOR_DESC_INIT;
                assert_ok(ferrum_tensor_describe(out[o], &desc));
                assert_true(at + desc.size_bytes <= sizeof bytes[0]);
                assert_ok(ferrum_tensor_read(out[o], bytes[round] + at,
                                             desc.size_bytes, f.stream));
                at += desc.size_bytes;
                assert_ok(ferrum_tensor_destroy(out[o]));
            }
            assert_memory_equal(bytes[round], bytes[0], sizeof bytes[0]);
            assert_ok(ferrum_op_destroy(op));
        }
        for (uint64_t n = 0; n < count; n++)
            assert_ok(ferrum_tensor_destroy(inputs[n]));
    }
    for (int level = 0; level < 4; level++)
        assert_ok(ferrum_compute_close(levels[level], 0));
}

static char *found(const char *requirements) {
    static char text[1 << 16];
    size_t length;
    assert_ok(ferrum_compute_find_json(requirements, strlen(requirements), text,
                                       sizeof text, &length));
    return text;
}

static void test_the_choice_of_a_backend(void **state) {
    (void)state;
    char *list = text_of(ferrum_compute_backends_json);
    assert_non_null(strstr(list, "\"name\":\"cpu\""));
    assert_non_null(strstr(list, "\"name\":\"candle\""));
    assert_non_null(strstr(list, "\"available\":false,\"reason\":"));
    free(list);
    assert_non_null(strstr(found(""), "\"best\":\"cpu\""));
    assert_non_null(strstr(
        found(
            "{\"required_dtypes\": [\"f32\", \"bf16\"], \"required_devices\": "
            "[\"cpu:0\"], \"requires_flash_attention\": true}"),
        "\"best\":\"cpu\""));
    char *none = found("{\"required_devices\": [\"cuda:0\"]}");
    assert_non_null(strstr(none, "\"best\":\"\""));
    assert_non_null(strstr(none, "cuda:0"));
    size_t length;
    const char *wrong = "{\"required_speed\": 1}";
    assert_status(
        ferrum_compute_find_json(wrong, strlen(wrong), NULL, 0, &length),
        FERRUM_ERROR_INVALID_FORMAT);
    assert_message("required_speed");
    char *capabilities = json_of(ferrum_compute_capabilities_json);
    assert_non_null(strstr(capabilities, "\"supports_bf16\":true"));
    assert_non_null(
        strstr(capabilities, "\"supported_devices\":[\"cpu:0\",\"cpu:1\"]"));
}

/* Threads run one operation at a time with each other. */
static void *run_often(void *given) {
    ferrum_op op = *(ferrum_op *)given;
    float values[64], got[64];
    for (int i = 0; i < 64; i++)
        values[i] = (float)i;
    ferrum_tensor a = make(values, SHAPE(64));
    for (int round = 0; round < 100; round++) {
        ferrum_tensor out = {0};
        if (ferrum_op_run(op, (ferrum_tensor[]){a, a}, 2, &out, 1,
                          default_stream) != FERRUM_OK ||
            ferrum_tensor_read(out, got, sizeof got, default_stream) !=
                FERRUM_OK ||
            got[63] != 126 || ferrum_tensor_destroy(out) != FERRUM_OK)
            return "failed";
    }
    return ferrum_tensor_destroy(a) == FERRUM_OK ? NULL : "failed";
}

static void test_threads(void **state) {
    (void)state;
    pthread_t threads[4];
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, run_often, &f.op),
                         0);
    for (int i = 0; i < 4; i++) {
        void *failure;
        pthread_join(threads[i], &failure);
        assert_null(failure);
    }
}

/* A forked child has no threads of the engine. Its calls fail, and it ends. */
static void test_fork(void **state) {
    (void)state;
    fill_matrices();
    ferrum_op op = prepare("MatMul", "");
    ferrum_tensor inputs[] = {make(left, SHAPE(M, K)),
                              make(right, SHAPE(K, N))},
                  output = {0};
    assert_ok(ferrum_op_run(op, inputs, 2, &output, 1, f.stream));
    pid_t child = fork();
    if (child == 0) {
        ferrum_tensor none = {0};
        int right_status = ferrum_op_run(op, inputs, 2, &none, 1, f.stream) ==
                           FERRUM_ERROR_FORKED;
        _exit(right_status ? 0 : 1);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    assert_ok(ferrum_op_run(op, inputs, 2, &output, 1, f.stream));
    holds(output, product, M * N);
    const ferrum_tensor all[] = {inputs[0], inputs[1], output};
    for (int i = 0; i < 3; i++)
        assert_ok(ferrum_tensor_destroy(all[i]));
    assert_ok(ferrum_op_destroy(op));
}

/* The stop by force ends everything while work is queued. */
static void test_a_forced_stop(void **state) {
    (void)state;
    for (int closes = 0; closes < 2; closes++) {
        assert_ok(ferrum_init(NULL));
        assert_ok(ferrum_device_open("cpu:0", &f.device));
        assert_ok(ferrum_stream_create(f.device, &f.stream));
        assert_ok(ferrum_pool_create(f.device, NULL, &f.pool));
        ferrum_compute_config config = FERRUM_COMPUTE_CONFIG_INIT;
        config.device = f.device;
        config.threads = 2;
        assert_ok(ferrum_compute_open(&config, &f.compute));
        ferrum_op op = prepare("Add", "");
        ferrum_sequence sequence;
        assert_ok(ferrum_sequence_create(f.compute, &sequence));
        ferrum_tensor a = make((float[]){1, 2}, SHAPE(2)), out = {0},
                      later = {0};
        assert_ok(ferrum_sequence_add(sequence, op, (ferrum_tensor[]){a, a}, 2,
                                      &later, 1));
        for (int i = 0; i < 20; i++) {
            assert_ok(ferrum_op_run(op, (ferrum_tensor[]){a, a}, 2, &out, 1,
                                    f.stream));
            assert_ok(ferrum_sequence_run(sequence, f.stream));
        }
        if (closes) {
            assert_status(ferrum_device_close(f.device, 0), FERRUM_ERROR_BUSY);
            assert_message("1 compute backend, 1 operation, 1 sequence");
            assert_ok(ferrum_device_close(f.device, FERRUM_FORCE));
        }
        assert_ok(ferrum_shutdown(closes ? 0 : FERRUM_FORCE));
        assert_status(ferrum_op_destroy(op), FERRUM_ERROR_NOT_INITIALIZED);
    }
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        CASE(test_runs_a_matrix_product),
        CASE(test_infers_without_running),
        CASE(test_infers_every_operator),
        CASE(test_wrong_runs),
        CASE(test_wrong_operations),
        CASE(test_the_order_of_a_stream),
        CASE(test_sequences),
        CASE(test_ends),
        CASE(test_settings),
        CASE(test_levels),
        CASE(test_the_choice_of_a_backend),
        CASE(test_threads),
        CASE(test_fork),
        cmocka_unit_test(test_a_forced_stop),
    };
    return cmocka_run_group_tests_name("compute", tests, NULL, NULL);
}
