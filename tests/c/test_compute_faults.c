/*
 * Memory that is used up, in each allocation of backends, of every operator,
 * of packing, of sequences and of tensors. A pool is filled except for a few
 * bytes, and the call is repeated with more and more bytes: each of its
 * allocations fails once. The call then has a typed error, has made nothing,
 * has written nothing, and the counters are as before. The call that succeeds
 * has the same result as one that has met no failure.
 */
#include <stdbool.h>
#include <stdio.h>

#include "each.h"
#include "operations.h"

enum { ROOM = 256 << 10, STEP = 256, READ = 1 << 14 };

/* A backend whose memory has a fixed size, and its filler. */
static struct {
    ferrum_compute compute;
    ferrum_op filling;
    ferrum_tensor zeros, filler;
} b;

static float zeros[ROOM / sizeof(float)];
static const ferrum_weights_memory own;

static void open_narrow(void) {
    ferrum_compute_config config = FERRUM_COMPUTE_CONFIG_INIT;
    config.device = f.device;
    config.threads = 1;
    config.growth = FERRUM_COMPUTE_GROWTH_STATIC;
    config.pool_size_bytes = ROOM;
    config.alignment_bytes = STEP;
    assert_ok(ferrum_compute_open(&config, &b.compute));
    assert_ok(ferrum_op_prepare(b.compute, "Relu", "", 0, 0, &b.filling));
    b.filler.id = 0;
}

/* Nothing of the backend is left. */
static void close_narrow(void) {
    assert_ok(ferrum_op_destroy(b.filling));
    assert_ok(ferrum_compute_close(b.compute, 0));
}

/* Takes all memory of the backend but some bytes. */
static void leave(uint64_t bytes) {
    ferrum_tensor_desc desc = FERRUM_TENSOR_DESC_INIT;
    desc.rank = 1;
    desc.flags = FERRUM_ELEMENTS_CONTIGUOUS;
    desc.shape[0] = (int64_t)((ROOM - bytes) / sizeof(float));
    assert_ok(ferrum_tensor_wrap(f.device, (uintptr_t)zeros, ROOM, &desc, NULL,
                                 NULL, &b.zeros));
    assert_ok(
        ferrum_op_run(b.filling, &b.zeros, 1, &b.filler, 1, default_stream));
}

static void free_filler(void) {
    assert_ok(ferrum_tensor_destroy(b.filler));
    assert_ok(ferrum_tensor_destroy(b.zeros));
    b.filler.id = 0;
}

/* Removes a part of a text: from the first words to before the others. */
static void cut(char *text, const char *first, const char *next) {
    char *from = strstr(text, first);
    char *to = from == NULL ? NULL : strstr(from, next);
    assert_non_null(to);
    memmove(from, to, strlen(to) + 1);
}

/* The state of the backend without its last error, and without the number of
 * plans: a failed run may keep its plan. */
static void counters(char *text, size_t capacity) {
    size_t length;
    assert_ok(ferrum_compute_status_json(b.compute, text, capacity, &length));
    cut(text, "\"last_error\"", "\"backend_specific\"");
    cut(text, "\"plans\"", "\"sequences\"");
}

/* Repeats a call while memory is missing. The call returns whether it has
 * left its results as they were. Returns how often memory was missing. */
static int until_it_works(ferrum_status (*call)(void *),
                          bool (*is_same)(void *), void *data,
                          const char *name) {
    for (uint64_t left = 0; left < ROOM; left += STEP) {
        char before[2048], after[2048];
        leave(left);
        counters(before, sizeof before);
        ferrum_status status = call(data);
        if (status == FERRUM_OK) {
            free_filler();
            return (int)(left / STEP);
        }
        if (status != FERRUM_ERROR_OUT_OF_MEMORY)
            fail_msg("%s with %d bytes: %s", name, (int)left,
                     ferrum_status_name(status));
        assert_message(name);
        assert_true(is_same(data));
        counters(after, sizeof after);
        assert_string_equal(before, after);
        free_filler();
    }
    fail_msg("%s never succeeds", name);
    return 0;
}

/* ---------------------------------------------------------------- operators */

typedef struct {
    const operation *of;
    ferrum_op op;
    ferrum_tensor inputs[OPERATION_INPUTS], outputs[OPERATION_OUTPUTS];
    uint64_t input_count;
    ferrum_sequence sequence;
} call;

static ferrum_status run(void *data) {
    call *c = data;
    return ferrum_op_run(c->op, c->inputs, c->input_count, c->outputs,
                         c->of->output_count, f.stream);
}

static bool made_nothing(void *data) {
    call *c = data;
    for (int i = 0; i < OPERATION_OUTPUTS; i++)
        if (c->outputs[i].id != 0)
            return false;
    return true;
}

enum { PATTERN = 0x55 };

static size_t bytes_of(ferrum_tensor tensor, unsigned char *bytes) {
    ferrum_tensor_desc desc = FERRUM_TENSOR_DESC_INIT;
    assert_ok(ferrum_tensor_describe(tensor, &desc));
    assert_true(desc.size_bytes <= READ);
    assert_ok(ferrum_tensor_read(tensor, bytes, desc.size_bytes, f.stream));
    return desc.size_bytes;
}

/* Given outputs have not been written. */
static bool wrote_nothing(void *data) {
    call *c = data;
    for (uint64_t i = 0; i < c->of->output_count; i++) {
        unsigned char bytes[READ];
        for (size_t at = bytes_of(c->outputs[i], bytes); at > 0; at--)
            if (bytes[at - 1] != PATTERN)
                return false;
    }
    return true;
}

static void same_results(const call *got, const call *want) {
    for (uint64_t i = 0; i < want->of->output_count; i++) {
        unsigned char bytes[READ], others[READ];
        size_t size = bytes_of(want->outputs[i], bytes);
        assert_int_equal(bytes_of(got->outputs[i], others), size);
        if (memcmp(bytes, others, size) != 0)
            fail_msg("output %d of %s has another result", (int)i,
                     want->of->name);
    }
}

static void end_outputs(call *c) {
    for (int i = 0; i < OPERATION_OUTPUTS; i++)
        if (c->outputs[i].id != 0)
            assert_ok(ferrum_tensor_destroy(c->outputs[i]));
    memset(c->outputs, 0, sizeof c->outputs);
}

/* The outputs are given, in another memory. */
static void give_outputs(call *c, const call *like) {
    const ferrum_weights_memory memory = {.pool = f.pool};
    unsigned char bytes[READ];
    memset(bytes, PATTERN, sizeof bytes);
    for (uint64_t i = 0; i < like->of->output_count; i++) {
        ferrum_tensor_desc desc = FERRUM_TENSOR_DESC_INIT;
        assert_ok(ferrum_tensor_describe(like->outputs[i], &desc));
        assert_ok(ferrum_tensor_create(&memory, desc.dtype, desc.shape,
                                       desc.rank, f.stream, &c->outputs[i]));
        assert_ok(ferrum_tensor_write(c->outputs[i], bytes, desc.size_bytes,
                                      f.stream));
    }
}

static ferrum_status add(void *data) {
    call *c = data;
    return ferrum_sequence_add(c->sequence, c->op, c->inputs, c->input_count,
                               c->outputs, c->of->output_count);
}

static ferrum_status run_sequence(void *data) {
    return ferrum_sequence_run(((call *)data)->sequence, f.stream);
}

static const char *short_name(const operation *of) {
    const char *dot = strchr(of->name, '.');
    return dot == NULL ? of->name : dot + 1;
}

static void check_operator(const operation *of, int *missed) {
    const ferrum_weights_memory memory = {.pool = f.pool};
    const char *name = short_name(of);
    call want = {.of = of}, got = {.of = of};
    want.input_count = got.input_count = make_inputs(of, &memory, want.inputs);
    memcpy(got.inputs, want.inputs, sizeof got.inputs);
    assert_ok(ferrum_op_prepare(f.compute, of->name, of->attributes,
                                strlen(of->attributes), 0, &want.op));
    assert_ok(run(&want));

    open_narrow();
    assert_ok(ferrum_op_prepare(b.compute, of->name, of->attributes,
                                strlen(of->attributes), 0, &got.op));
    /* A run that makes its outputs. */
    *missed = until_it_works(run, made_nothing, &got, name);
    assert_true(*missed >= (int)of->output_count);
    same_results(&got, &want);
    end_outputs(&got);
    /* A run with given outputs: only the workspace can be missing. */
    give_outputs(&got, &want);
    *missed += until_it_works(run, wrote_nothing, &got, name);
    same_results(&got, &want);
    end_outputs(&got);
    /* A sequence. */
    assert_ok(ferrum_sequence_create(b.compute, &got.sequence));
    assert_true(until_it_works(add, made_nothing, &got, name) >=
                (int)of->output_count);
    end_outputs(&got);
    assert_ok(ferrum_sequence_destroy(got.sequence));
    assert_ok(ferrum_sequence_create(b.compute, &got.sequence));
    give_outputs(&got, &want);
    assert_ok(add(&got));
    *missed += until_it_works(run_sequence, wrote_nothing, &got, "sequence");
    same_results(&got, &want);
    assert_ok(ferrum_sequence_destroy(got.sequence));
    end_outputs(&got);

    assert_ok(ferrum_op_destroy(got.op));
    close_narrow();
    assert_ok(ferrum_op_destroy(want.op));
    for (uint64_t i = 0; i < want.input_count; i++)
        assert_ok(ferrum_tensor_destroy(want.inputs[i]));
    end_outputs(&want);
}

static void test_each_allocation_of_each_operator(void **state) {
    (void)state;
    static char known[1 << 16];
    size_t length;
    assert_ok(ferrum_compute_capabilities_json(f.compute, known, sizeof known,
                                               &length));
    const char *list = strstr(known, "\"operations\":{");
    assert_non_null(list);
    size_t listed = 0;
    for (const char *at = list; (at = strstr(at, "\":[")) != NULL; at++)
        listed++;
    assert_int_equal(listed, operation_count);
    int all = 0;
    for (size_t i = 0; i < operation_count; i++) {
        int missed;
        check_operator(&operations[i], &missed);
        all += missed;
    }
    printf("%d runs without memory\n", all);
}

/* ---------------------------------------------------------------- packing */

static ferrum_status pack(void *data) {
    call *c = data;
    return ferrum_op_pack(c->op, 1, c->inputs[1], &own, f.stream, c->outputs);
}

static void test_packing(void **state) {
    (void)state;
    const ferrum_weights_memory memory = {.pool = f.pool};
    for (size_t i = 0; i < operation_count; i++) {
        call c = {.of = &operations[i]};
        const char *name = short_name(c.of);
        open_narrow();
        c.input_count = make_inputs(c.of, &memory, c.inputs);
        assert_ok(ferrum_op_prepare(b.compute, c.of->name, c.of->attributes,
                                    strlen(c.of->attributes), 0, &c.op));
        bool packs = strcmp(name, "MatMul") == 0 || strcmp(name, "Gemm") == 0 ||
                     strcmp(name, "linear") == 0 ||
                     strcmp(name, "quantized_linear") == 0;
        if (packs) {
            assert_true(until_it_works(pack, made_nothing, &c, name) > 0);
            assert_ok(ferrum_tensor_destroy(c.outputs[0]));
        } else {
            ferrum_status status = pack(&c);
            /* Input 1 has no layout for this operator, or is missing. */
            if (status != FERRUM_ERROR_UNSUPPORTED &&
                status != FERRUM_ERROR_INVALID_ARGUMENT &&
                status != FERRUM_ERROR_INVALID_HANDLE)
                fail_msg("%s: %s", name, ferrum_status_name(status));
            assert_int_equal(c.outputs[0].id, 0);
        }
        assert_ok(ferrum_op_destroy(c.op));
        close_narrow();
        for (uint64_t at = 0; at < c.input_count; at++)
            assert_ok(ferrum_tensor_destroy(c.inputs[at]));
    }
}

/* ---------------------------------------------------------------- opening */

static uint64_t reserved(void) {
    ferrum_statistics s = FERRUM_STATISTICS_INIT;
    assert_ok(ferrum_device_get_statistics(f.device, &s));
    return s.reserved.current;
}

static void test_opening(void **state) {
    (void)state;
    const uint64_t before = reserved();
    for (int growth = 0; growth < 3; growth++) {
        int failures = 0;
        for (uint64_t more = 0;; more += 64 * KIB) {
            ferrum_compute_config config = FERRUM_COMPUTE_CONFIG_INIT;
            config.device = f.device;
            config.growth = growth;
            config.pool_size_bytes = MIB;
            ferrum_compute compute;
            assert_ok(ferrum_device_set_limit(f.device, before + more));
            ferrum_status status = ferrum_compute_open(&config, &compute);
            assert_true((status == FERRUM_OK) == (compute.id != 0));
            if (status == FERRUM_OK) {
                assert_ok(ferrum_compute_close(compute, 0));
                assert_int_equal(reserved(), before);
                break;
            }
            assert_status(status, FERRUM_ERROR_OUT_OF_MEMORY);
            assert_int_equal(reserved(), before);
            failures++;
        }
        assert_true((failures > 0) ==
                    (growth != FERRUM_COMPUTE_GROWTH_DYNAMIC));
    }
    assert_ok(ferrum_device_set_limit(f.device, 0));
}

/* ---------------------------------------------------------------- tensors */

typedef struct {
    ferrum_weights_memory memory;
    ferrum_tensor source, made;
    ferrum_dtype dtype;
} copying;

static ferrum_status create_tensor(copying *c) {
    return ferrum_tensor_create(&c->memory, FERRUM_DTYPE_F32, SHAPE(20, 60),
                                default_stream, &c->made);
}
static ferrum_status convert_tensor(copying *c) {
    return ferrum_tensor_to(c->source, &c->memory, c->dtype, f.stream,
                            &c->made);
}

static void books_of(ferrum_pool pool, ferrum_statistics *s) {
    *s = (ferrum_statistics)FERRUM_STATISTICS_INIT;
    assert_ok(ferrum_pool_get_statistics(pool, s));
}

/* A pool of 64 KiB on the device of a tensor, and on another device. */
static void test_tensors(void **state) {
    (void)state;
    const ferrum_device devices[] = {f.device, f.other_device};
    const ferrum_dtype types[] = {FERRUM_DTYPE_F32, FERRUM_DTYPE_F16,
                                  FERRUM_DTYPE_F64};
    ferrum_weights_memory memory = {.pool = f.pool};
    ferrum_tensor whole, source;
    float values[20 * 60], got[20 * 60];
    for (int i = 0; i < 20 * 60; i++)
        values[i] = (float)(i % 64);
    assert_ok(ferrum_tensor_create(&memory, FERRUM_DTYPE_F32, SHAPE(60, 20),
                                   f.stream, &whole));
    assert_ok(ferrum_tensor_write(whole, values, sizeof values, f.stream));
    assert_ok(ferrum_tensor_permute(whole, (int32_t[]){1, 0}, 2, &source));
    for (int at = 0; at < 8; at++) {
        ferrum_pool_config config = FERRUM_POOL_CONFIG_INIT;
        config.initial_size_bytes = config.max_size_bytes =
            config.growth_increment_bytes = 64 * KIB;
        config.thread_cache_bytes = 0;
        copying c = {.source = source, .dtype = types[at % 4 % 3]};
        assert_ok(ferrum_pool_create(devices[at / 4], &config, &c.memory.pool));
        int failures = 0;
        for (uint64_t left = 0;; left += STEP) {
            ferrum_statistics before, after;
            ferrum_address filler;
            assert_ok(ferrum_pool_alloc(c.memory.pool, 64 * KIB - left,
                                        default_stream, &filler));
            books_of(c.memory.pool, &before);
            ferrum_status status =
                at % 4 == 3 ? create_tensor(&c) : convert_tensor(&c);
            if (status != FERRUM_OK) {
                assert_status(status, FERRUM_ERROR_OUT_OF_MEMORY);
                assert_int_equal(c.made.id, 0);
                books_of(c.memory.pool, &after);
                assert_int_equal(before.allocated.current,
                                 after.allocated.current);
                assert_int_equal(before.live_blocks.current,
                                 after.live_blocks.current);
                failures++;
            }
            assert_ok(ferrum_pool_free(c.memory.pool, filler, default_stream));
            if (status == FERRUM_OK)
                break;
        }
        assert_true(failures > 0);
        if (at % 4 != 3) {
            ferrum_tensor back;
            assert_ok(ferrum_stream_synchronize(f.stream, FERRUM_WAIT_FOREVER));
            assert_ok(ferrum_tensor_to(c.made, &memory, FERRUM_DTYPE_F32,
                                       default_stream, &back));
            assert_ok(
                ferrum_tensor_read(back, got, sizeof got, default_stream));
            for (int i = 0; i < 20 * 60; i++)
                assert_true(got[i] == values[i % 60 * 20 + i / 60]);
            assert_ok(ferrum_tensor_destroy(back));
        }
        assert_ok(ferrum_tensor_destroy(c.made));
        assert_ok(ferrum_pool_destroy(c.memory.pool, 0));
    }
    assert_ok(ferrum_tensor_destroy(source));
    assert_ok(ferrum_tensor_destroy(whole));
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        CASE(test_opening),
        CASE(test_each_allocation_of_each_operator),
        CASE(test_packing),
        CASE(test_tensors),
    };
    return cmocka_run_group_tests_name("compute faults", tests, NULL, NULL);
}
