/* Generated from include/ferrum_mem/tensor.h by scripts/genabi.py; do not edit. */
#include "arguments.h"

static void nothing_ferrum_release_fn(void *user_data) { (void)user_data; }

static const struct_field fields_ferrum_weights_memory[] = {
    FIELD(ferrum_weights_memory, pool, HANDLE, .kind = POOL, .is_optional = 1),
    FIELD(ferrum_weights_memory, vpool, HANDLE, .kind = VPOOL,
          .is_optional = 1),
    FIELD(ferrum_weights_memory, elastic_pool, HANDLE, .kind = ELASTIC_POOL,
          .is_optional = 1),
    FIELD(ferrum_weights_memory, device, HANDLE, .kind = DEVICE,
          .is_optional = 1),
    FIELD(ferrum_weights_memory, model, TEXT),
    FIELD(ferrum_weights_memory, offset_bytes, VALUE),
    FIELD(ferrum_weights_memory, tag, TEXT),
    FIELD(ferrum_weights_memory, reserved, RESERVED)};
static const struct_type type_ferrum_weights_memory = {
    sizeof(ferrum_weights_memory), NULL, fields_ferrum_weights_memory, 8};

static const struct_field fields_ferrum_tensor_desc[] = {
    FIELD(ferrum_tensor_desc, dtype, ENUMERATION, .unknown = {-1, 298}),
    FIELD(ferrum_tensor_desc, rank, VALUE),
    FIELD(ferrum_tensor_desc, flags, FLAGS),
    FIELD(ferrum_tensor_desc, address, VALUE),
    FIELD(ferrum_tensor_desc, size_bytes, VALUE),
    FIELD(ferrum_tensor_desc, elements, LIST),
    FIELD(ferrum_tensor_desc, element_count, VALUE)};
static const ferrum_tensor_desc init_ferrum_tensor_desc =
    FERRUM_TENSOR_DESC_INIT;
static const struct_type type_ferrum_tensor_desc = {
    sizeof(ferrum_tensor_desc), &init_ferrum_tensor_desc,
    fields_ferrum_tensor_desc, 7};

static const struct_field fields_ferrum_dlpack[] = {
    FIELD(ferrum_dlpack, is_versioned, TRUTH)};
static const ferrum_dlpack init_ferrum_dlpack = FERRUM_DLPACK_INIT;
static const struct_type type_ferrum_dlpack = {
    sizeof(ferrum_dlpack), &init_ferrum_dlpack, fields_ferrum_dlpack, 1};

static ferrum_status call_tensor_create(const argument *a) {
    return ferrum_tensor_create(a[0].pointer, (ferrum_dtype)a[1].number,
                                a[2].pointer, (uint64_t)a[3].number,
                                (ferrum_stream){a[4].number}, a[5].pointer);
}
static const parameter parameters_tensor_create[] = {
    PARAMETER(memory, STRUCT_IN, .type = &type_ferrum_weights_memory),
    PARAMETER(dtype, ENUMERATION, .unknown = {-1, 298}),
    PARAMETER(shape, ARRAY, .size = sizeof(int64_t)),
    PARAMETER(count, VALUE),
    PARAMETER(stream, HANDLE, .kind = STREAM, .is_optional = 1),
    PARAMETER(tensor_out, OUT, .size = sizeof(ferrum_tensor))};

static ferrum_status call_tensor_from_memory(const argument *a) {
    return ferrum_tensor_from_memory((ferrum_memory){a[0].number},
                                     (uint64_t)a[1].number, a[2].pointer,
                                     a[3].pointer);
}
static const parameter parameters_tensor_from_memory[] = {
    PARAMETER(memory, HANDLE, .kind = MEMORY), PARAMETER(offset_bytes, VALUE),
    PARAMETER(desc, STRUCT_IN, .type = &type_ferrum_tensor_desc),
    PARAMETER(tensor_out, OUT, .size = sizeof(ferrum_tensor))};

static ferrum_status call_tensor_wrap(const argument *a) {
    return ferrum_tensor_wrap(
        (ferrum_device){a[0].number}, (ferrum_address)a[1].number,
        (uint64_t)a[2].number, a[3].pointer, (ferrum_release_fn)a[4].function,
        a[5].pointer, a[6].pointer);
}
static const parameter parameters_tensor_wrap[] = {
    PARAMETER(device, HANDLE, .kind = DEVICE),
    PARAMETER(address, VALUE),
    PARAMETER(size_bytes, VALUE),
    PARAMETER(desc, STRUCT_IN, .type = &type_ferrum_tensor_desc),
    PARAMETER(release, CALLBACK,
              .nothing = (any_function)nothing_ferrum_release_fn,
              .is_optional = 1),
    PARAMETER(user_data, DATA),
    PARAMETER(tensor_out, OUT, .size = sizeof(ferrum_tensor))};

static ferrum_status call_tensor_from_set(const argument *a) {
    return ferrum_tensor_from_set((ferrum_tensor_set){a[0].number},
                                  (uint64_t)a[1].number, a[2].pointer);
}
static const parameter parameters_tensor_from_set[] = {
    PARAMETER(set, HANDLE, .kind = TENSOR_SET), PARAMETER(index, VALUE),
    PARAMETER(tensor_out, OUT, .size = sizeof(ferrum_tensor))};

static ferrum_status call_tensor_narrow(const argument *a) {
    return ferrum_tensor_narrow((ferrum_tensor){a[0].number},
                                (int32_t)a[1].number, (int64_t)a[2].number,
                                (int64_t)a[3].number, a[4].pointer);
}
static const parameter parameters_tensor_narrow[] = {
    PARAMETER(tensor, HANDLE, .kind = TENSOR), PARAMETER(axis, VALUE),
    PARAMETER(start, VALUE), PARAMETER(length, VALUE),
    PARAMETER(view_out, OUT, .size = sizeof(ferrum_tensor))};

static ferrum_status call_tensor_slice(const argument *a) {
    return ferrum_tensor_slice((ferrum_tensor){a[0].number},
                               (int32_t)a[1].number, (int64_t)a[2].number,
                               (int64_t)a[3].number, (int64_t)a[4].number,
                               a[5].pointer);
}
static const parameter parameters_tensor_slice[] = {
    PARAMETER(tensor, HANDLE, .kind = TENSOR),
    PARAMETER(axis, VALUE),
    PARAMETER(start, VALUE),
    PARAMETER(length, VALUE),
    PARAMETER(step, VALUE),
    PARAMETER(view_out, OUT, .size = sizeof(ferrum_tensor))};

static ferrum_status call_tensor_permute(const argument *a) {
    return ferrum_tensor_permute((ferrum_tensor){a[0].number}, a[1].pointer,
                                 (uint64_t)a[2].number, a[3].pointer);
}
static const parameter parameters_tensor_permute[] = {
    PARAMETER(tensor, HANDLE, .kind = TENSOR),
    PARAMETER(axes, ARRAY, .size = sizeof(int32_t)), PARAMETER(count, VALUE),
    PARAMETER(view_out, OUT, .size = sizeof(ferrum_tensor))};

static ferrum_status call_tensor_reshape(const argument *a) {
    return ferrum_tensor_reshape((ferrum_tensor){a[0].number}, a[1].pointer,
                                 (uint64_t)a[2].number, a[3].pointer);
}
static const parameter parameters_tensor_reshape[] = {
    PARAMETER(tensor, HANDLE, .kind = TENSOR),
    PARAMETER(shape, ARRAY, .size = sizeof(int64_t)), PARAMETER(count, VALUE),
    PARAMETER(view_out, OUT, .size = sizeof(ferrum_tensor))};

static ferrum_status call_tensor_expand(const argument *a) {
    return ferrum_tensor_expand((ferrum_tensor){a[0].number}, a[1].pointer,
                                (uint64_t)a[2].number, a[3].pointer);
}
static const parameter parameters_tensor_expand[] = {
    PARAMETER(tensor, HANDLE, .kind = TENSOR),
    PARAMETER(shape, ARRAY, .size = sizeof(int64_t)), PARAMETER(count, VALUE),
    PARAMETER(view_out, OUT, .size = sizeof(ferrum_tensor))};

static ferrum_status call_tensor_copy(const argument *a) {
    return ferrum_tensor_copy((ferrum_tensor){a[0].number},
                              (ferrum_tensor){a[1].number},
                              (ferrum_stream){a[2].number});
}
static const parameter parameters_tensor_copy[] = {
    PARAMETER(tensor, HANDLE, .kind = TENSOR),
    PARAMETER(source, HANDLE, .kind = TENSOR),
    PARAMETER(stream, HANDLE, .kind = STREAM, .is_optional = 1)};

static ferrum_status call_tensor_to(const argument *a) {
    return ferrum_tensor_to((ferrum_tensor){a[0].number}, a[1].pointer,
                            (ferrum_dtype)a[2].number,
                            (ferrum_stream){a[3].number}, a[4].pointer);
}
static const parameter parameters_tensor_to[] = {
    PARAMETER(tensor, HANDLE, .kind = TENSOR),
    PARAMETER(memory, STRUCT_IN, .type = &type_ferrum_weights_memory),
    PARAMETER(dtype, ENUMERATION, .unknown = {-1, 298}),
    PARAMETER(stream, HANDLE, .kind = STREAM, .is_optional = 1),
    PARAMETER(tensor_out, OUT, .size = sizeof(ferrum_tensor))};

static ferrum_status call_tensor_read(const argument *a) {
    return ferrum_tensor_read((ferrum_tensor){a[0].number}, a[1].pointer,
                              (uint64_t)a[2].number,
                              (ferrum_stream){a[3].number});
}
static const parameter parameters_tensor_read[] = {
    PARAMETER(tensor, HANDLE, .kind = TENSOR),
    PARAMETER(destination_out, BYTES), PARAMETER(size_bytes, VALUE),
    PARAMETER(stream, HANDLE, .kind = STREAM, .is_optional = 1)};

static ferrum_status call_tensor_write(const argument *a) {
    return ferrum_tensor_write((ferrum_tensor){a[0].number}, a[1].pointer,
                               (uint64_t)a[2].number,
                               (ferrum_stream){a[3].number});
}
static const parameter parameters_tensor_write[] = {
    PARAMETER(tensor, HANDLE, .kind = TENSOR), PARAMETER(source, BYTES),
    PARAMETER(size_bytes, VALUE),
    PARAMETER(stream, HANDLE, .kind = STREAM, .is_optional = 1)};

static ferrum_status call_tensor_fill(const argument *a) {
    return ferrum_tensor_fill((ferrum_tensor){a[0].number}, a[1].real,
                              (ferrum_stream){a[2].number});
}
static const parameter parameters_tensor_fill[] = {
    PARAMETER(tensor, HANDLE, .kind = TENSOR), PARAMETER(value, VALUE),
    PARAMETER(stream, HANDLE, .kind = STREAM, .is_optional = 1)};

static ferrum_status call_tensor_describe(const argument *a) {
    return ferrum_tensor_describe((ferrum_tensor){a[0].number}, a[1].pointer);
}
static const parameter parameters_tensor_describe[] = {
    PARAMETER(tensor, HANDLE, .kind = TENSOR),
    PARAMETER(desc_out, STRUCT_OUT, .type = &type_ferrum_tensor_desc)};

static ferrum_status call_tensor_destroy(const argument *a) {
    return ferrum_tensor_destroy((ferrum_tensor){a[0].number});
}
static const parameter parameters_tensor_destroy[] = {
    PARAMETER(tensor, HANDLE, .kind = TENSOR)};

static ferrum_status call_tensor_to_dlpack(const argument *a) {
    return ferrum_tensor_to_dlpack((ferrum_tensor){a[0].number},
                                   (uint32_t)a[1].number, a[2].pointer);
}
static const parameter parameters_tensor_to_dlpack[] = {
    PARAMETER(tensor, HANDLE, .kind = TENSOR), PARAMETER(is_versioned, TRUTH),
    PARAMETER(dlpack_out, STRUCT_OUT, .type = &type_ferrum_dlpack)};

static ferrum_status call_tensor_from_dlpack(const argument *a) {
    return ferrum_tensor_from_dlpack((ferrum_device){a[0].number}, a[1].pointer,
                                     a[2].pointer);
}
static const parameter parameters_tensor_from_dlpack[] = {
    PARAMETER(device, HANDLE, .kind = DEVICE, .is_optional = 1),
    PARAMETER(dlpack, STRUCT_IN, .type = &type_ferrum_dlpack),
    PARAMETER(tensor_out, OUT, .size = sizeof(ferrum_tensor))};

const function arguments_tensor[] = {
    FUNCTION(tensor_create, .parameters = parameters_tensor_create, .count = 6),
    FUNCTION(tensor_from_memory, .parameters = parameters_tensor_from_memory,
             .count = 4),
    FUNCTION(tensor_wrap, .parameters = parameters_tensor_wrap, .count = 7),
    FUNCTION(tensor_from_set, .parameters = parameters_tensor_from_set,
             .count = 3),
    FUNCTION(tensor_narrow, .parameters = parameters_tensor_narrow, .count = 5),
    FUNCTION(tensor_slice, .parameters = parameters_tensor_slice, .count = 6),
    FUNCTION(tensor_permute, .parameters = parameters_tensor_permute,
             .count = 4),
    FUNCTION(tensor_reshape, .parameters = parameters_tensor_reshape,
             .count = 4),
    FUNCTION(tensor_expand, .parameters = parameters_tensor_expand, .count = 4),
    FUNCTION(tensor_copy, .parameters = parameters_tensor_copy, .count = 3),
    FUNCTION(tensor_to, .parameters = parameters_tensor_to, .count = 5,
             .waits = 1),
    FUNCTION(tensor_read, .parameters = parameters_tensor_read, .count = 4,
             .waits = 1),
    FUNCTION(tensor_write, .parameters = parameters_tensor_write, .count = 4,
             .waits = 1),
    FUNCTION(tensor_fill, .parameters = parameters_tensor_fill, .count = 3),
    FUNCTION(tensor_describe, .parameters = parameters_tensor_describe,
             .count = 2),
    FUNCTION(tensor_destroy, .parameters = parameters_tensor_destroy,
             .count = 1),
    FUNCTION(tensor_to_dlpack, .parameters = parameters_tensor_to_dlpack,
             .count = 3),
    FUNCTION(tensor_from_dlpack, .parameters = parameters_tensor_from_dlpack,
             .count = 3),
    {.name = NULL}};
