/*
 * The header's promises about tensors on the host: what they describe, views
 * and what they keep, copies and conversions, memory of the program, blocks
 * and weights, sleep, forced ends, and wrong arguments. Each test starts with
 * one live object of every kind and ends with a clean stop of the library,
 * which fails if anything is left.
 */
#include "asserts.h"
#include "fixture.h"
#include "requests.h"
#include "weight_files.h"

#include <pthread.h>
#include <stdatomic.h>

static fixture f;
static atomic_int released;

static int set_up(void **state) {
    (void)state;
    atomic_store(&released, 0);
    fixture_make(&f);
    return 0;
}
static int tear_down(void **state) {
    (void)state;
    fixture_end(&f);
    return 0;
}

static void count_release(void *user_data) {
    assert_ptr_equal(user_data, &released);
    atomic_fetch_add(&released, 1);
}

static ferrum_tensor make(ferrum_dtype dtype, const int64_t *shape,
                          uint64_t count) {
    ferrum_weights_memory memory = {.pool = f.pool, .tag = "tensors"};
    ferrum_tensor tensor;
    assert_ok(
        ferrum_tensor_create(&memory, dtype, shape, count, f.stream, &tensor));
    return tensor;
}

static ferrum_tensor_desc described(ferrum_tensor tensor) {
    ferrum_tensor_desc desc = FERRUM_TENSOR_DESC_INIT;
    assert_ok(ferrum_tensor_describe(tensor, &desc));
    return desc;
}

static ferrum_tensor_desc described_as(ferrum_dtype dtype, const int64_t *shape,
                                       uint64_t count) {
    ferrum_tensor_desc desc = FERRUM_TENSOR_DESC_INIT;
    desc.dtype = dtype;
    desc.flags = FERRUM_ELEMENTS_CONTIGUOUS;
    desc.rank = (uint32_t)count;
    memcpy(desc.shape, shape, count * sizeof *shape);
    return desc;
}

static ferrum_tensor wrap(void *memory, uint64_t size,
                          const ferrum_tensor_desc *desc) {
    ferrum_tensor tensor;
    assert_ok(ferrum_tensor_wrap(f.device, (uintptr_t)memory, size, desc,
                                 count_release, &released, &tensor));
    return tensor;
}

static void holds_floats(ferrum_tensor tensor, const float *want,
                         size_t count) {
    float got[64];
    assert_in_range(count, 0, 64);
    assert_ok(ferrum_tensor_read(tensor, got, count * 4, f.stream));
    assert_memory_equal(got, want, count * 4);
}

static uint64_t live_blocks(void) {
    ferrum_statistics statistics = FERRUM_STATISTICS_INIT;
    assert_ok(ferrum_pool_get_statistics(f.pool, &statistics));
    return statistics.live_blocks.current;
}

/* 0 to 5 in the shape [2, 3]. */
static const float six[] = {0, 1, 2, 3, 4, 5};
static ferrum_tensor make_six(void) {
    ferrum_tensor tensor = make(FERRUM_DTYPE_F32, SHAPE(2, 3));
    assert_ok(ferrum_tensor_write(tensor, six, sizeof six, f.stream));
    return tensor;
}

static void test_describes_what_was_made(void **state) {
    (void)state;
    uint64_t before = live_blocks();
    ferrum_tensor tensor = make_six();
    assert_int_equal(live_blocks(), before + 1);
    ferrum_tensor_desc desc = described(tensor);
    assert_int_equal(desc.dtype, FERRUM_DTYPE_F32);
    assert_int_equal(desc.rank, 2);
    assert_int_equal(desc.flags, FERRUM_ELEMENTS_CONTIGUOUS);
    assert_int_equal(desc.shape[0], 2);
    assert_int_equal(desc.shape[1], 3);
    assert_int_equal(desc.shape[2], 0);
    assert_int_equal(desc.strides[0], 3);
    assert_int_equal(desc.strides[1], 1);
    assert_int_equal(desc.size_bytes, 24);
    assert_string_equal(desc.device, "cpu:0");
    ferrum_block_info owner = FERRUM_BLOCK_INFO_INIT;
    assert_ok(ferrum_device_get_owner(f.device, desc.address, &owner));
    assert_int_equal(owner.pool.id, f.pool.id);
    assert_string_equal(owner.tag, "tensors");
    holds_floats(tensor, six, 6);
    assert_ok(ferrum_tensor_destroy(tensor));
    assert_int_equal(live_blocks(), before);
    assert_status(ferrum_tensor_destroy(tensor), FERRUM_ERROR_INVALID_HANDLE);

    /* One element, and none. */
    int64_t none = 0;
    tensor = make(FERRUM_DTYPE_F64, &none, 0);
    assert_int_equal(described(tensor).size_bytes, 8);
    assert_ok(ferrum_tensor_destroy(tensor));
    tensor = make(FERRUM_DTYPE_F64, SHAPE(3, 0, 2));
    assert_int_equal(described(tensor).size_bytes, 0);
    assert_int_equal(described(tensor).address, 0);
    assert_int_equal(live_blocks(), before);
    assert_ok(ferrum_tensor_read(tensor, &none, 0, f.stream));
    assert_ok(ferrum_tensor_fill(tensor, 1, f.stream));
    assert_ok(ferrum_tensor_destroy(tensor));
}

/* Every start, length and step of a dimension, and beside them what it does
 * not have. */
static void test_slices(void **state) {
    (void)state;
    ferrum_tensor tensor = make_six(), rows, view, none = {0};
    assert_ok(ferrum_tensor_permute(tensor, (int32_t[]){1, 0}, 2, &rows));
    for (int64_t start = -1; start < 5; start++)
        for (int64_t length = -1; length < 5; length++)
            for (int64_t step = -4; step < 5; step++) {
                int64_t last = start + (length - 1) * step;
                int has = start >= 0 && start <= 3 && length == 0;
                if (length > 0)
                    has = start >= 0 && start < 3 && last >= 0 && last < 3;
                ferrum_status want = step == 0 ? FERRUM_ERROR_INVALID_ARGUMENT
                                     : has     ? FERRUM_OK
                                               : FERRUM_ERROR_INVALID_OFFSET;
                assert_status(
                    ferrum_tensor_slice(rows, 0, start, length, step, &view),
                    want);
                if (want != FERRUM_OK)
                    continue;
                float expected[8];
                for (int64_t i = 0; i < length; i++)
                    for (int64_t k = 0; k < 2; k++)
                        expected[2 * i + k] = six[k * 3 + start + i * step];
                assert_int_equal(described(view).shape[0], length);
                holds_floats(view, expected, (size_t)(2 * length));
                assert_ok(ferrum_tensor_destroy(view));
            }
    /* A view of a view, and writes through it. */
    ferrum_tensor back;
    assert_ok(ferrum_tensor_slice(tensor, -1, 2, 2, -2, &view));
    assert_int_equal(described(view).strides[1], -2);
    assert_ok(ferrum_tensor_slice(view, 0, 1, 2, -1, &back));
    holds_floats(back, (float[]){5, 3, 2, 0}, 4);
    assert_ok(ferrum_tensor_fill(back, 7, f.stream));
    holds_floats(tensor, (float[]){7, 1, 7, 7, 4, 7}, 6);
    const int64_t far[] = {INT64_MIN, INT64_MAX};
    for (int i = 0; i < 8; i++)
        assert_status(ferrum_tensor_slice(tensor, 0, i & 1 ? far[i & 1] : 0,
                                          i & 2 ? INT64_MAX : 2, far[i >> 2],
                                          &none),
                      FERRUM_ERROR_INVALID_OFFSET);
    assert_ok(ferrum_tensor_slice(tensor, 0, 1, 1, INT64_MIN, &none));
    holds_floats(none, (float[]){7, 4, 7}, 3);
    assert_ok(ferrum_tensor_destroy(none));
    assert_status(ferrum_tensor_slice(tensor, 2, 0, 1, 1, &none),
                  FERRUM_ERROR_INVALID_ARGUMENT);
    const ferrum_tensor all[] = {tensor, rows, view, back};
    for (int i = 0; i < 4; i++)
        assert_ok(ferrum_tensor_destroy(all[i]));
}

/* A description without strides is one of elements without gaps. */
static void test_strides_of_zero(void **state) {
    (void)state;
    ferrum_tensor tensor, wide, again;
    ferrum_tensor_desc desc = FERRUM_TENSOR_DESC_INIT;
    desc.rank = 2;
    desc.shape[0] = 2;
    desc.shape[1] = 3;
    float values[] = {0, 1, 2, 3, 4, 5};
    assert_ok(ferrum_tensor_wrap(f.device, (uintptr_t)values, sizeof values,
                                 &desc, NULL, NULL, &tensor));
    assert_int_equal(described(tensor).flags, FERRUM_ELEMENTS_CONTIGUOUS);
    assert_int_equal(described(tensor).strides[0], 3);
    holds_floats(tensor, six, 6);
    assert_status(ferrum_tensor_wrap(f.device, (uintptr_t)values, 20, &desc,
                                     NULL, NULL, &again),
                  FERRUM_ERROR_INVALID_OFFSET);
    assert_ok(ferrum_tensor_destroy(tensor));

    desc.flags = FERRUM_ELEMENTS_REPEATED;
    assert_ok(ferrum_tensor_wrap(f.device, (uintptr_t)values, 4, &desc, NULL,
                                 NULL, &tensor));
    assert_int_equal(described(tensor).flags, FERRUM_ELEMENTS_REPEATED);
    holds_floats(tensor, (float[6]){0}, 6);
    /* What is described can be an argument. */
    desc = described(tensor);
    assert_ok(ferrum_tensor_wrap(f.device, (uintptr_t)values, 4, &desc, NULL,
                                 NULL, &again));
    holds_floats(again, (float[6]){0}, 6);
    assert_ok(ferrum_tensor_destroy(again));
    assert_ok(ferrum_tensor_destroy(tensor));
    /* One stride of 0 needs no flag. */
    desc.flags = 0;
    desc.strides[1] = 1;
    assert_ok(ferrum_tensor_wrap(f.device, (uintptr_t)values, 12, &desc, NULL,
                                 NULL, &wide));
    assert_int_equal(described(wide).flags, FERRUM_ELEMENTS_REPEATED);
    holds_floats(wide, (float[]){0, 1, 2, 0, 1, 2}, 6);
    assert_ok(ferrum_tensor_destroy(wide));
}

static void test_views_keep_the_memory(void **state) {
    (void)state;
    uint64_t before = live_blocks();
    ferrum_tensor tensor = make_six(), row, turned, flat, wide;
    assert_ok(ferrum_tensor_narrow(tensor, 0, 1, 1, &row));
    assert_ok(ferrum_tensor_permute(tensor, (int32_t[]){1, 0}, 2, &turned));
    assert_ok(ferrum_tensor_reshape(tensor, SHAPE(6), &flat));
    assert_ok(ferrum_tensor_expand(row, SHAPE(3, 2, 3), &wide));
    assert_int_equal(live_blocks(), before + 1);
    assert_ok(ferrum_tensor_destroy(tensor));

    holds_floats(row, (float[]){3, 4, 5}, 3);
    holds_floats(turned, (float[]){0, 3, 1, 4, 2, 5}, 6);
    holds_floats(flat, six, 6);
    holds_floats(
        wide, (float[]){3, 4, 5, 3, 4, 5, 3, 4, 5, 3, 4, 5, 3, 4, 5, 3, 4, 5},
        18);
    ferrum_tensor_desc desc = described(turned);
    assert_int_equal(desc.flags, 0);
    assert_int_equal(desc.strides[0], 1);
    assert_int_equal(desc.strides[1], 3);
    assert_int_equal(described(row).address, desc.address + 12);
    assert_int_equal(described(wide).strides[0], 0);

    /* A view writes to the elements of the others. */
    assert_ok(
        ferrum_tensor_write(turned, (float[]){9, 8, 7, 6, 5, 4}, 24, f.stream));
    holds_floats(flat, (float[]){9, 7, 5, 8, 6, 4}, 6);
    assert_status(ferrum_tensor_fill(wide, 1, f.stream),
                  FERRUM_ERROR_INVALID_ARGUMENT);
    assert_message("several elements have one place");

    ferrum_tensor none = {0};
    assert_status(ferrum_tensor_reshape(turned, SHAPE(6), &none),
                  FERRUM_ERROR_UNSUPPORTED);
    assert_status(ferrum_tensor_reshape(flat, SHAPE(5), &none),
                  FERRUM_ERROR_INVALID_ARGUMENT);
    assert_status(
        ferrum_tensor_reshape(flat, SHAPE(INT64_MAX, INT64_MAX), &none),
        FERRUM_ERROR_OVERFLOW);
    assert_status(ferrum_tensor_narrow(flat, 1, 0, 1, &none),
                  FERRUM_ERROR_INVALID_ARGUMENT);
    assert_status(ferrum_tensor_narrow(flat, -2, 0, 1, &none),
                  FERRUM_ERROR_INVALID_ARGUMENT);
    assert_status(ferrum_tensor_narrow(flat, 0, 4, 3, &none),
                  FERRUM_ERROR_INVALID_OFFSET);
    assert_status(ferrum_tensor_narrow(flat, 0, INT64_MAX, INT64_MAX, &none),
                  FERRUM_ERROR_INVALID_OFFSET);
    assert_status(ferrum_tensor_narrow(flat, 0, -1, 1, &none),
                  FERRUM_ERROR_INVALID_OFFSET);
    assert_status(ferrum_tensor_permute(turned, (int32_t[]){0, 0}, 2, &none),
                  FERRUM_ERROR_INVALID_ARGUMENT);
    assert_status(ferrum_tensor_permute(turned, (int32_t[]){0}, 1, &none),
                  FERRUM_ERROR_INVALID_ARGUMENT);
    assert_status(ferrum_tensor_expand(turned, SHAPE(3, 4), &none),
                  FERRUM_ERROR_INVALID_ARGUMENT);
    assert_status(
        ferrum_tensor_expand(flat, SHAPE(1, 1, 1, 1, 1, 1, 1, 1, 6), &none),
        FERRUM_ERROR_INVALID_ARGUMENT);
    assert_status(ferrum_tensor_expand(flat, (int64_t[]){6}, UINT64_MAX, &none),
                  FERRUM_ERROR_INVALID_ARGUMENT);
    assert_int_equal(none.id, 0);

    ferrum_tensor views[] = {row, turned, flat, wide};
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(live_blocks(), before + 1);
        assert_ok(ferrum_tensor_destroy(views[i]));
    }
    assert_int_equal(live_blocks(), before);
}

static void test_copies_and_converts(void **state) {
    (void)state;
    ferrum_tensor from = make_six(), turned, to, made;
    assert_ok(ferrum_tensor_permute(from, (int32_t[]){1, 0}, 2, &turned));
    to = make(FERRUM_DTYPE_F16, SHAPE(3, 2));
    assert_ok(ferrum_tensor_copy(to, turned, f.stream));
    /* The work keeps both. */
    assert_ok(ferrum_tensor_destroy(from));
    assert_ok(ferrum_tensor_destroy(turned));
    uint16_t halves[6];
    assert_ok(ferrum_tensor_read(to, halves, sizeof halves, f.stream));
    assert_memory_equal(
        halves, ((uint16_t[]){0, 0x4200, 0x3C00, 0x4400, 0x4000, 0x4500}),
        sizeof halves);

    ferrum_weights_memory memory = {.pool = f.pool};
    assert_ok(ferrum_tensor_to(to, &memory, FERRUM_DTYPE_I64, f.stream, &made));
    int64_t numbers[6];
    assert_ok(ferrum_tensor_read(made, numbers, sizeof numbers, f.stream));
    assert_memory_equal(numbers, ((int64_t[]){0, 3, 1, 4, 2, 5}),
                        sizeof numbers);
    assert_ok(ferrum_tensor_destroy(made));

    /* To another device. */
    ferrum_pool other;
    assert_ok(ferrum_pool_create(f.other_device, NULL, &other));
    memory.pool = other;
    assert_ok(ferrum_tensor_to(to, &memory, FERRUM_DTYPE_F32, f.stream, &made));
    assert_string_equal(described(made).device, "cpu:1");
    float floats[6];
    assert_ok(ferrum_tensor_read(made, floats, sizeof floats, f.other_stream));
    assert_memory_equal(floats, ((float[]){0, 3, 1, 4, 2, 5}), sizeof floats);
    assert_status(ferrum_tensor_read(made, floats, sizeof floats, f.stream),
                  FERRUM_ERROR_INVALID_ARGUMENT);
    assert_status(ferrum_tensor_copy(made, to, f.other_stream),
                  FERRUM_ERROR_UNSUPPORTED_DEVICE);
    assert_ok(ferrum_tensor_destroy(made));
    assert_ok(ferrum_pool_destroy(other, 0));

    assert_ok(ferrum_tensor_fill(to, -1.5, f.stream));
    assert_ok(ferrum_tensor_read(to, halves, sizeof halves, f.stream));
    for (int i = 0; i < 6; i++)
        assert_int_equal(halves[i], 0xBE00);

    ferrum_tensor other_shape = make(FERRUM_DTYPE_F16, SHAPE(2, 3));
    ferrum_tensor blocks = make(FERRUM_DTYPE_Q8_0, SHAPE(3, 64));
    assert_status(ferrum_tensor_copy(other_shape, to, f.stream),
                  FERRUM_ERROR_INVALID_ARGUMENT);
    assert_message("[2, 3]");
    assert_status(ferrum_tensor_copy(to, to, f.stream),
                  FERRUM_ERROR_INVALID_ARGUMENT);
    assert_message("overlap");
    assert_status(ferrum_tensor_fill(blocks, 1, f.stream),
                  FERRUM_ERROR_UNSUPPORTED);
    memory.pool = f.pool;
    assert_status(
        ferrum_tensor_to(blocks, &memory, FERRUM_DTYPE_F32, f.stream, &made),
        FERRUM_ERROR_UNSUPPORTED);
    assert_int_equal(made.id, 0);
    assert_status(ferrum_tensor_read(to, halves, 11, f.stream),
                  FERRUM_ERROR_INVALID_SIZE);
    assert_message("size_bytes is 11: the elements have 12 bytes");
    assert_status(ferrum_tensor_write(to, halves, UINT64_MAX, f.stream),
                  FERRUM_ERROR_INVALID_SIZE);
    assert_ok(ferrum_tensor_destroy(to));
    assert_ok(ferrum_tensor_destroy(other_shape));
    assert_ok(ferrum_tensor_destroy(blocks));
}

/* Work of a stream is done in its order, although the calls return at once. */
static void test_work_waits_for_its_stream(void **state) {
    (void)state;
    ferrum_tensor tensor = make_six(),
                  copy = make(FERRUM_DTYPE_F32, SHAPE(2, 3));
    assert_ok(ferrum_tensor_fill(copy, 7, f.stream));
    assert_ok(ferrum_stream_synchronize(f.stream, FERRUM_WAIT_FOREVER));
    gate door = GATE;
    assert_ok(ferrum_stream_host_function(f.stream, gate_wait, &door));
    assert_ok(ferrum_tensor_copy(copy, tensor, f.stream));
    assert_ok(ferrum_tensor_fill(tensor, 1, f.stream));
    ferrum_tensor_desc desc = described(copy);
    assert_true(*(float *)(uintptr_t)desc.address == 7);
    gate_open(&door);
    holds_floats(copy, six, 6);
    holds_floats(tensor, (float[]){1, 1, 1, 1, 1, 1}, 6);
    assert_ok(ferrum_tensor_destroy(tensor));
    assert_ok(ferrum_tensor_destroy(copy));
}

static void test_memory_of_the_program(void **state) {
    (void)state;
    float memory[6] = {0, 1, 2, 3, 4, 5};
    ferrum_tensor_desc desc = described_as(FERRUM_DTYPE_F32, SHAPE(2, 3));
    ferrum_tensor tensor = wrap(memory, sizeof memory, &desc), row, backwards;
    assert_int_equal(described(tensor).address, (uintptr_t)memory);
    holds_floats(tensor, six, 6);
    assert_ok(ferrum_tensor_narrow(tensor, 0, 0, 1, &row));
    assert_ok(ferrum_tensor_fill(row, 8, f.stream));
    assert_ok(ferrum_stream_synchronize(f.stream, FERRUM_WAIT_FOREVER));
    assert_true(memory[2] == 8 && memory[3] == 3);
    assert_ok(ferrum_tensor_destroy(tensor));
    assert_int_equal(atomic_load(&released), 0);
    assert_ok(ferrum_tensor_destroy(row));
    assert_int_equal(atomic_load(&released), 1);

    /* The release waits for queued work. */
    tensor = wrap(memory, sizeof memory, &desc);
    gate door = GATE;
    assert_ok(ferrum_stream_host_function(f.stream, gate_wait, &door));
    assert_ok(ferrum_tensor_fill(tensor, 3, f.stream));
    assert_ok(ferrum_tensor_destroy(tensor));
    assert_int_equal(atomic_load(&released), 1);
    gate_open(&door);
    assert_ok(ferrum_stream_synchronize(f.stream, FERRUM_WAIT_FOREVER));
    assert_int_equal(atomic_load(&released), 2);
    assert_true(memory[5] == 3);

    /* Negative strides: the first element is the last in memory. */
    memcpy(memory, six, sizeof six);
    desc.flags = 0;
    desc.rank = 1;
    desc.shape[0] = 6;
    desc.strides[0] = -1;
    desc.address = (uintptr_t)&memory[5];
    backwards = wrap(memory, sizeof memory, &desc);
    holds_floats(backwards, (float[]){5, 4, 3, 2, 1, 0}, 6);
    assert_ok(ferrum_tensor_destroy(backwards));

    desc = described_as(FERRUM_DTYPE_F32, SHAPE(6));
    desc.flags |= FERRUM_ELEMENTS_READ_ONLY;
    tensor = wrap(memory, sizeof memory, &desc);
    assert_int_equal(described(tensor).flags,
                     FERRUM_ELEMENTS_CONTIGUOUS | FERRUM_ELEMENTS_READ_ONLY);
    assert_status(ferrum_tensor_fill(tensor, 1, f.stream),
                  FERRUM_ERROR_PERMISSION_DENIED);
    assert_status(ferrum_tensor_write(tensor, six, sizeof six, f.stream),
                  FERRUM_ERROR_PERMISSION_DENIED);
    ferrum_tensor other = make_six(), flat;
    assert_ok(ferrum_tensor_reshape(other, SHAPE(6), &flat));
    assert_status(ferrum_tensor_copy(tensor, flat, f.stream),
                  FERRUM_ERROR_PERMISSION_DENIED);
    assert_ok(ferrum_tensor_destroy(other));
    assert_ok(ferrum_tensor_destroy(flat));
    assert_ok(ferrum_tensor_destroy(tensor));
    assert_int_equal(atomic_load(&released), 4);
}

static void refuses(ferrum_address address, uint64_t size,
                    ferrum_tensor_desc desc, ferrum_status want,
                    const char *says) {
    ferrum_tensor tensor = {1};
    assert_status(ferrum_tensor_wrap(f.device, address, size, &desc,
                                     count_release, &released, &tensor),
                  want);
    assert_message(says);
    assert_int_equal(tensor.id, 0);
    assert_int_equal(atomic_load(&released), 0);
}

static void test_memory_that_is_never_released(void **state) {
    (void)state;
    static float memory[2] = {1, 2};
    float read[2];
    ferrum_tensor_desc desc = FERRUM_TENSOR_DESC_INIT;
    ferrum_tensor tensor;
    desc.rank = 1;
    desc.shape[0] = 2;
    desc.strides[0] = 1;
    assert_ok(ferrum_tensor_wrap(f.device, (uintptr_t)memory, sizeof memory,
                                 &desc, NULL, NULL, &tensor));
    assert_ok(ferrum_tensor_read(tensor, read, sizeof read, f.stream));
    assert_memory_equal(read, memory, sizeof read);
    assert_ok(ferrum_tensor_destroy(tensor));
}

static void test_wrong_memory_of_the_program(void **state) {
    (void)state;
    static float memory[8];
    const ferrum_address at = (uintptr_t)memory;
    const ferrum_tensor_desc good = described_as(FERRUM_DTYPE_F32, SHAPE(2, 4));
    ferrum_tensor_desc bad = good;
    refuses(0, 32, good, FERRUM_ERROR_INVALID_ADDRESS, "address is 0");
    refuses(264, 32, good, FERRUM_ERROR_INVALID_ADDRESS, "not readable");
    refuses(4096, 32, good, FERRUM_ERROR_INVALID_ADDRESS, "not readable");
    refuses(UINT64_MAX - 7, 32, good, FERRUM_ERROR_OVERFLOW, "size_bytes");
    refuses(at, 31, good, FERRUM_ERROR_INVALID_OFFSET, "elements 0 to 7");
    refuses(at + 2, 30, good, FERRUM_ERROR_INVALID_ALIGNMENT, "4 bytes");
    bad.rank = 9;
    refuses(at, 32, bad, FERRUM_ERROR_INVALID_ARGUMENT, "rank is 9");
    bad.rank = UINT32_MAX;
    refuses(at, 32, bad, FERRUM_ERROR_INVALID_ARGUMENT, "rank");
    bad = good;
    bad.shape[0] = -2;
    refuses(at, 32, bad, FERRUM_ERROR_INVALID_ARGUMENT, "-2");
    bad.shape[0] = INT64_MAX;
    refuses(at, 32, bad, FERRUM_ERROR_OVERFLOW, "");
    bad = good;
    bad.dtype = 200;
    refuses(at, 32, bad, FERRUM_ERROR_INVALID_ARGUMENT, "dtype");
    bad = good;
    bad.flags = 0;
    bad.strides[0] = INT64_MAX;
    refuses(at, 32, bad, FERRUM_ERROR_INVALID_OFFSET, "elements 0 to");
    bad.strides[1] = INT64_MAX;
    refuses(at, 32, bad, FERRUM_ERROR_OVERFLOW, "");
    bad.strides[0] = -4;
    bad.strides[1] = 1;
    refuses(at, 32, bad, FERRUM_ERROR_INVALID_OFFSET, "elements -4 to 3");
    bad = good;
    bad.address = at + 1;
    refuses(at, 32, bad, FERRUM_ERROR_INVALID_ALIGNMENT, "first element");
    bad.address = at + 16;
    refuses(at, 32, bad, FERRUM_ERROR_INVALID_OFFSET, "elements 4 to 11");
    bad.address = 4;
    refuses(at, 32, bad, FERRUM_ERROR_INVALID_OFFSET, "elements");
    bad = good;
    bad.flags = 128;
    refuses(at, 32, bad, FERRUM_ERROR_INVALID_ARGUMENT, "flags");
}

static void test_wrong_shapes_allocate_nothing(void **state) {
    (void)state;
    uint64_t before = live_blocks();
    ferrum_weights_memory memory = {.pool = f.pool};
    ferrum_tensor tensor = {1};
    const struct {
        int64_t shape[9];
        uint64_t count;
        ferrum_dtype dtype;
        ferrum_status want;
    } wrong[] = {
        {{-1}, 1, FERRUM_DTYPE_F32, FERRUM_ERROR_INVALID_ARGUMENT},
        {{INT64_MIN}, 1, FERRUM_DTYPE_F32, FERRUM_ERROR_INVALID_ARGUMENT},
        {{INT64_MAX, 3}, 2, FERRUM_DTYPE_F32, FERRUM_ERROR_OVERFLOW},
        {{INT64_MAX}, 1, FERRUM_DTYPE_F32, FERRUM_ERROR_OVERFLOW},
        {{INT64_C(1) << 60}, 1, FERRUM_DTYPE_U8, FERRUM_ERROR_OUT_OF_MEMORY},
        {{1, 1, 1, 1, 1, 1, 1, 1, 1},
         9,
         FERRUM_DTYPE_F32,
         FERRUM_ERROR_INVALID_ARGUMENT},
        {{31}, 1, FERRUM_DTYPE_Q8_0, FERRUM_ERROR_INVALID_ARGUMENT},
        {{1}, UINT64_MAX, FERRUM_DTYPE_F32, FERRUM_ERROR_INVALID_ARGUMENT},
        {{1}, 1, 24, FERRUM_ERROR_INVALID_ARGUMENT},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_status(ferrum_tensor_create(&memory, wrong[i].dtype,
                                           wrong[i].shape, wrong[i].count,
                                           f.stream, &tensor),
                      wrong[i].want);
        assert_int_equal(tensor.id, 0);
    }
    memory.device = f.device;
    assert_status(ferrum_tensor_create(&memory, 0, SHAPE(1), f.stream, &tensor),
                  FERRUM_ERROR_INVALID_ARGUMENT);
    assert_message("memory has 2 of");
    memory.pool.id = 0;
    assert_status(ferrum_tensor_create(&memory, 0, SHAPE(1), f.stream, &tensor),
                  FERRUM_ERROR_INVALID_ARGUMENT);
    assert_message("memory->device is set");
    assert_status(
        ferrum_tensor_create(&(ferrum_weights_memory){.elastic_pool = f.shared,
                                                      .model = "nobody"},
                             0, SHAPE(1), f.stream, &tensor),
        FERRUM_ERROR_MODEL_NOT_FOUND);
    assert_status(ferrum_tensor_create(&(ferrum_weights_memory){.pool = f.pool},
                                       0, SHAPE(1), f.other_stream, &tensor),
                  FERRUM_ERROR_INVALID_ARGUMENT);
    assert_status(ferrum_tensor_create(
                      &(ferrum_weights_memory){.pool = f.pool, .reserved = 1},
                      0, SHAPE(1), f.stream, &tensor),
                  FERRUM_ERROR_INVALID_STRUCT);
    assert_int_equal(live_blocks(), before);
}

static void test_blocks_of_managers(void **state) {
    (void)state;
    ferrum_tensor_desc desc = described_as(FERRUM_DTYPE_I32, SHAPE(4));
    ferrum_tensor tensor;
    assert_ok(ferrum_tensor_from_memory(f.memory, 4096 - 16, &desc, &tensor));
    ferrum_handle_info info = FERRUM_HANDLE_INFO_INIT;
    assert_ok(ferrum_memory_get_handle_info(f.memory, &info));
    assert_int_equal(info.pin_count, 1);
    assert_int_equal(described(tensor).address, info.address + 4096 - 16);
    assert_ok(ferrum_tensor_fill(tensor, -9, f.stream));
    int32_t numbers[4];
    assert_ok(ferrum_tensor_read(tensor, numbers, sizeof numbers, f.stream));
    assert_int_equal(numbers[3], -9);
    assert_status(ferrum_memory_free(f.memory), FERRUM_ERROR_BUSY);
    assert_ok(ferrum_tensor_destroy(tensor));
    assert_ok(ferrum_memory_get_handle_info(f.memory, &info));
    assert_int_equal(info.pin_count, 0);
    assert_status(
        ferrum_tensor_from_memory(f.memory, 4096 - 12, &desc, &tensor),
        FERRUM_ERROR_INVALID_OFFSET);
    assert_status(
        ferrum_tensor_from_memory(f.memory, UINT64_MAX, &desc, &tensor),
        FERRUM_ERROR_INVALID_OFFSET);
    assert_status(ferrum_tensor_from_memory(f.memory, 2, &desc, &tensor),
                  FERRUM_ERROR_INVALID_ALIGNMENT);
    assert_ok(ferrum_memory_get_handle_info(f.memory, &info));
    assert_int_equal(info.pin_count, 0);

    /* The manager ends by force: the tensor stays and has no memory. */
    ferrum_manager manager;
    ferrum_memory memory;
    assert_ok(ferrum_manager_create(f.device, NULL, &manager));
    assert_ok(ferrum_manager_alloc(manager, 64, &memory));
    assert_ok(ferrum_tensor_from_memory(memory, 0, &desc, &tensor));
    assert_ok(ferrum_manager_destroy(manager, FERRUM_FORCE));
    assert_status(ferrum_tensor_fill(tensor, 1, f.stream),
                  FERRUM_ERROR_INVALID_STATE);
    assert_ok(ferrum_tensor_destroy(tensor));
}

static void test_pools_with_tensors_are_busy(void **state) {
    (void)state;
    ferrum_pool pool;
    assert_ok(ferrum_pool_create(f.device, NULL, &pool));
    ferrum_vpool vpool;
    ferrum_vpool_config config = FERRUM_VPOOL_CONFIG_INIT;
    config.capacity_bytes = 16 * FIXTURE_PAGE;
    config.page_bytes = FIXTURE_PAGE;
    assert_ok(ferrum_vpool_create(f.device, &config, &vpool));
    ferrum_model_config guest = FERRUM_MODEL_CONFIG_INIT;
    guest.virtual_bytes = 16 * FIXTURE_PAGE;
    assert_ok(ferrum_elastic_pool_register_model(f.shared, "guest", &guest));
    const ferrum_weights_memory places[] = {
        {.pool = pool},
        {.vpool = vpool, .offset_bytes = FIXTURE_PAGE},
        {.elastic_pool = f.shared, .model = "guest"}};
    ferrum_tensor tensors[3], view;
    for (int i = 0; i < 3; i++) {
        assert_ok(ferrum_tensor_create(&places[i], FERRUM_DTYPE_F32, SHAPE(6),
                                       default_stream, &tensors[i]));
        assert_ok(
            ferrum_tensor_write(tensors[i], six, sizeof six, default_stream));
        holds_floats(tensors[i], six, 6);
    }
    assert_ok(ferrum_tensor_narrow(tensors[0], 0, 0, 1, &view));
    assert_ok(ferrum_tensor_destroy(tensors[0]));
    tensors[0] = view;
    assert_status(ferrum_pool_destroy(pool, 0), FERRUM_ERROR_BUSY);
    assert_message("tensor handle");
    assert_status(ferrum_vpool_destroy(vpool, 0), FERRUM_ERROR_BUSY);
    assert_message("tensor handle");
    assert_status(ferrum_elastic_pool_unregister_model(f.shared, "guest", 0),
                  FERRUM_ERROR_BUSY);
    assert_message("tensor handle");
    assert_ok(ferrum_pool_destroy(pool, FERRUM_FORCE));
    assert_ok(ferrum_vpool_destroy(vpool, FERRUM_FORCE));
    assert_ok(
        ferrum_elastic_pool_unregister_model(f.shared, "guest", FERRUM_FORCE));
    for (int i = 0; i < 3; i++) {
        ferrum_tensor_desc desc = FERRUM_TENSOR_DESC_INIT;
        ferrum_dlpack dlpack = FERRUM_DLPACK_INIT;
        float buffer[6];
        assert_status(ferrum_tensor_read(tensors[i], buffer, i == 0 ? 4 : 24,
                                         default_stream),
                      FERRUM_ERROR_INVALID_STATE);
        assert_message("ended by force");
        assert_status(ferrum_tensor_describe(tensors[i], &desc),
                      FERRUM_ERROR_INVALID_STATE);
        assert_status(ferrum_tensor_narrow(tensors[i], 0, 0, 1, &view),
                      FERRUM_ERROR_INVALID_STATE);
        assert_status(ferrum_tensor_to_dlpack(tensors[i], 1, &dlpack),
                      FERRUM_ERROR_INVALID_STATE);
        assert_status(ferrum_tensor_copy(f.tensor, tensors[i], default_stream),
                      FERRUM_ERROR_INVALID_STATE);
        assert_ok(ferrum_tensor_destroy(tensors[i]));
    }
}

static void test_sleep_makes_tensors_busy(void **state) {
    (void)state;
    ferrum_weights_memory memory = {
        .elastic_pool = f.shared, .model = "chat", .tag = "weights"};
    ferrum_tensor tensor, view, copy = make(FERRUM_DTYPE_F32, SHAPE(6));
    assert_ok(ferrum_tensor_create(&memory, FERRUM_DTYPE_F32, SHAPE(6),
                                   f.stream, &tensor));
    assert_ok(ferrum_tensor_write(tensor, six, sizeof six, f.stream));
    ferrum_sleep_config sleep = FERRUM_SLEEP_CONFIG_INIT;
    sleep.tag = "weights";
    ferrum_sleep_report report = FERRUM_SLEEP_REPORT_INIT;
    assert_ok(
        ferrum_elastic_pool_sleep_model(f.shared, "chat", &sleep, &report));
    float buffer[6];
    ferrum_dlpack dlpack = FERRUM_DLPACK_INIT;
    assert_status(ferrum_tensor_read(tensor, buffer, sizeof buffer, f.stream),
                  FERRUM_ERROR_BUSY);
    assert_message("sleeps");
    assert_status(ferrum_tensor_write(tensor, six, sizeof six, f.stream),
                  FERRUM_ERROR_BUSY);
    assert_status(ferrum_tensor_fill(tensor, 0, f.stream), FERRUM_ERROR_BUSY);
    assert_status(ferrum_tensor_copy(copy, tensor, f.stream),
                  FERRUM_ERROR_BUSY);
    assert_status(ferrum_tensor_to_dlpack(tensor, 1, &dlpack),
                  FERRUM_ERROR_BUSY);
    /* Views and descriptions need no elements. */
    assert_int_equal(described(tensor).size_bytes, 24);
    assert_ok(ferrum_tensor_narrow(tensor, 0, 2, 2, &view));
    ferrum_wake_config wake = FERRUM_WAKE_CONFIG_INIT;
    wake.tag = "weights";
    ferrum_wake_report woken = FERRUM_WAKE_REPORT_INIT;
    assert_ok(ferrum_elastic_pool_wake_model(f.shared, "chat", &wake, &woken));
    holds_floats(tensor, six, 6);
    holds_floats(view, (float[]){2, 3}, 2);
    assert_ok(ferrum_tensor_destroy(view));
    assert_ok(ferrum_tensor_destroy(tensor));
    assert_ok(ferrum_tensor_destroy(copy));
}

static void test_loaded_weights(void **state) {
    (void)state;
    char folder[64], path[96];
    assert_int_equal(weight_folder_make(folder, path, 1000), 0);
    ferrum_weights weights = weight_file_open(path);
    ferrum_tensor_set set;
    assert_ok(weight_file_load(weights, f.pool, NULL, &set));
    assert_ok(ferrum_tensor_set_wait(set, FERRUM_WAIT_FOREVER));
    ferrum_tensor a = {0}, row, none;
    uint64_t count;
    assert_ok(ferrum_tensor_set_get_count(set, &count));
    for (uint64_t i = 0; i < count; i++) {
        char name[16];
        size_t length;
        assert_ok(ferrum_tensor_set_get_tensor_name(set, i, name, sizeof name,
                                                    &length));
        if (strcmp(name, "a") == 0)
            assert_ok(ferrum_tensor_from_set(set, i, &a));
    }
    holds_floats(a, six, 6);
    assert_int_equal(described(a).shape[1], 3);
    assert_ok(ferrum_tensor_narrow(a, 0, 1, 1, &row));
    assert_ok(ferrum_tensor_destroy(a));
    assert_status(ferrum_tensor_set_free(set, 0), FERRUM_ERROR_BUSY);
    assert_message("tensor handle");
    holds_floats(row, six + 3, 3);
    assert_status(ferrum_tensor_from_set(set, count, &none),
                  FERRUM_ERROR_INVALID_ARGUMENT);
    assert_ok(ferrum_tensor_set_free(set, FERRUM_FORCE));
    float buffer[3];
    assert_status(ferrum_tensor_read(row, buffer, sizeof buffer, f.stream),
                  FERRUM_ERROR_INVALID_STATE);
    assert_ok(ferrum_tensor_destroy(row));

    /* Mapped tensors are read-only, and stay while queued work reads them. */
    ferrum_weights_load_request request = FERRUM_WEIGHTS_LOAD_REQUEST_INIT;
    request.flags = FERRUM_WEIGHTS_LOAD_MAP;
    assert_ok(ferrum_weights_load(weights, &request, &set));
    ferrum_tensor_info info = FERRUM_TENSOR_INFO_INIT;
    assert_ok(ferrum_tensor_set_get_tensor(set, 0, &info));
    ferrum_tensor mapped;
    assert_ok(ferrum_tensor_from_set(set, 0, &mapped));
    assert_int_equal(described(mapped).flags & FERRUM_ELEMENTS_READ_ONLY,
                     FERRUM_ELEMENTS_READ_ONLY);
    assert_string_equal(described(mapped).device, "cpu:0");
    assert_int_equal(described(mapped).address, info.address);
    assert_status(ferrum_tensor_fill(mapped, 0, f.stream),
                  FERRUM_ERROR_PERMISSION_DENIED);
    assert_ok(ferrum_tensor_destroy(mapped));
    assert_ok(ferrum_tensor_set_free(set, 0));
    assert_ok(ferrum_weights_close(weights, 0));
    assert_int_equal(weight_folder_end(folder, path), 0);
}

/* The close of a device by force ends its tensors and gives memory back. So
 * does the stop of the library. */
static void test_forced_ends_release(void **state) {
    (void)state;
    float memory[2] = {1, 2};
    ferrum_tensor_desc desc = described_as(FERRUM_DTYPE_F32, SHAPE(2));
    ferrum_tensor tensor, view;
    atomic_store(&released, 0);
    for (int stops = 0; stops < 2; stops++) {
        assert_ok(ferrum_init(NULL));
        assert_ok(ferrum_device_open("cpu:0", &f.device));
        tensor = wrap(memory, sizeof memory, &desc);
        assert_ok(ferrum_tensor_reshape(tensor, SHAPE(2, 1), &view));
        assert_status(ferrum_device_close(f.device, 0), FERRUM_ERROR_BUSY);
        assert_message("2 tensors");
        char *report = text_of(ferrum_leak_report_json);
        assert_non_null(strstr(report, "\"kind\":\"tensor\""));
        free(report);
        if (!stops) {
            assert_ok(ferrum_device_close(f.device, FERRUM_FORCE));
            assert_status(ferrum_tensor_destroy(tensor),
                          FERRUM_ERROR_INVALID_HANDLE);
            assert_status(ferrum_tensor_destroy(view),
                          FERRUM_ERROR_INVALID_HANDLE);
        }
        assert_ok(ferrum_shutdown(stops ? FERRUM_FORCE : 0));
        assert_int_equal(atomic_load(&released), stops + 1);
        assert_status(ferrum_tensor_destroy(view),
                      FERRUM_ERROR_NOT_INITIALIZED);
    }
}

/* The release function may call the library, but may not wait. */
static ferrum_status inside[3];
static void call_back(void *user_data) {
    ferrum_tensor_desc desc = FERRUM_TENSOR_DESC_INIT;
    (void)user_data;
    inside[0] = ferrum_tensor_describe(f.tensor, &desc);
    inside[1] = ferrum_stream_synchronize(f.stream, FERRUM_WAIT_FOREVER);
    inside[2] = ferrum_shutdown(FERRUM_FORCE);
    atomic_fetch_add(&released, 1);
}

static void test_the_release_may_call_the_library(void **state) {
    (void)state;
    float memory[2] = {1, 2};
    ferrum_tensor_desc desc = described_as(FERRUM_DTYPE_F32, SHAPE(2));
    ferrum_tensor tensor;
    for (int queued = 0; queued < 2; queued++) {
        assert_ok(ferrum_tensor_wrap(f.device, (uintptr_t)memory, sizeof memory,
                                     &desc, call_back, NULL, &tensor));
        gate door = GATE;
        if (queued) {
            assert_ok(ferrum_stream_host_function(f.stream, gate_wait, &door));
            assert_ok(ferrum_tensor_fill(tensor, 3, f.stream));
        }
        assert_ok(ferrum_tensor_destroy(tensor));
        gate_open(&door);
        assert_ok(ferrum_stream_synchronize(f.stream, FERRUM_WAIT_FOREVER));
        assert_int_equal(atomic_load(&released), queued + 1);
        assert_status(inside[0], FERRUM_OK);
        assert_status(inside[1], FERRUM_ERROR_INVALID_STATE);
        assert_status(inside[2], FERRUM_ERROR_INVALID_STATE);
    }
}

/* Threads make, view, use and end tensors over one memory. */
static void *churn(void *given) {
    ferrum_tensor tensor = *(ferrum_tensor *)given, view, part;
    float one;
    for (int i = 0; i < 300; i++) {
        if (ferrum_tensor_narrow(tensor, 0, i % 2, 1, &view) != FERRUM_OK ||
            ferrum_tensor_reshape(view, SHAPE(3), &part) != FERRUM_OK ||
            ferrum_tensor_destroy(view) != FERRUM_OK ||
            ferrum_tensor_narrow(part, 0, 2, 1, &view) != FERRUM_OK ||
            ferrum_tensor_read(view, &one, 4, default_stream) != FERRUM_OK ||
            one != (i % 2 ? 5 : 2) ||
            ferrum_tensor_destroy(part) != FERRUM_OK ||
            ferrum_tensor_destroy(view) != FERRUM_OK)
            return "failed";
    }
    return NULL;
}

static void test_threads(void **state) {
    (void)state;
    uint64_t before = live_blocks();
    ferrum_tensor tensor = make_six();
    pthread_t threads[4];
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, churn, &tensor), 0);
    for (int i = 0; i < 4; i++) {
        void *failure;
        pthread_join(threads[i], &failure);
        assert_null(failure);
    }
    assert_ok(ferrum_tensor_destroy(tensor));
    assert_int_equal(live_blocks(), before);
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        CASE(test_describes_what_was_made),
        CASE(test_slices),
        CASE(test_strides_of_zero),
        CASE(test_views_keep_the_memory),
        CASE(test_copies_and_converts),
        CASE(test_work_waits_for_its_stream),
        CASE(test_memory_of_the_program),
        CASE(test_memory_that_is_never_released),
        CASE(test_wrong_memory_of_the_program),
        CASE(test_wrong_shapes_allocate_nothing),
        CASE(test_blocks_of_managers),
        CASE(test_pools_with_tensors_are_busy),
        CASE(test_sleep_makes_tensors_busy),
        CASE(test_loaded_weights),
        cmocka_unit_test(test_forced_ends_release),
        CASE(test_the_release_may_call_the_library),
        CASE(test_threads),
    };
    return cmocka_run_group_tests_name("tensors", tests, NULL, NULL);
}
