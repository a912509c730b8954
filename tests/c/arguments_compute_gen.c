/* Generated from include/ferrum_mem/compute.h by scripts/genabi.py; do not edit. */
#include "arguments.h"

static const struct_field fields_ferrum_compute_config[] = {
    FIELD(ferrum_compute_config, type, ENUMERATION, .unknown = {-1, 6}),
    FIELD(ferrum_compute_config, name, TEXT),
    FIELD(ferrum_compute_config, device, HANDLE, .kind = DEVICE),
    FIELD(ferrum_compute_config, optimization_level, VALUE),
    FIELD(ferrum_compute_config, threads, VALUE),
    FIELD(ferrum_compute_config, enable_debug, TRUTH),
    FIELD(ferrum_compute_config, growth, ENUMERATION, .unknown = {-1, 3}),
    FIELD(ferrum_compute_config, pool_size_bytes, VALUE),
    FIELD(ferrum_compute_config, alignment_bytes, VALUE),
    FIELD(ferrum_compute_config, enable_pooling, TRUTH),
    FIELD(ferrum_compute_config, reserved, RESERVED),
    FIELD(ferrum_compute_config, options_json, TEXT),
    FIELD(ferrum_compute_config, options_bytes, VALUE)};
static const ferrum_compute_config init_ferrum_compute_config =
    FERRUM_COMPUTE_CONFIG_INIT;
static const struct_type type_ferrum_compute_config = {
    sizeof(ferrum_compute_config), &init_ferrum_compute_config,
    fields_ferrum_compute_config, 13};

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

static const struct_field fields_ferrum_compute_backend[] = {
    FIELD(ferrum_compute_backend, reserved, RESERVED),
    FIELD(ferrum_compute_backend, name, TEXT),
    FIELD(ferrum_compute_backend, version, TEXT),
    FIELD(ferrum_compute_backend, capabilities_json, TEXT),
    FIELD(ferrum_compute_backend, capabilities_bytes, VALUE)};
static const ferrum_compute_backend init_ferrum_compute_backend =
    FERRUM_COMPUTE_BACKEND_INIT;
static const struct_type type_ferrum_compute_backend = {
    sizeof(ferrum_compute_backend), &init_ferrum_compute_backend,
    fields_ferrum_compute_backend, 5};

static ferrum_status call_compute_validate(const argument *a) {
    return ferrum_compute_validate(a[0].pointer);
}
static const parameter parameters_compute_validate[] = {
    PARAMETER(config, STRUCT_IN, .type = &type_ferrum_compute_config)};

static ferrum_status call_compute_open(const argument *a) {
    return ferrum_compute_open(a[0].pointer, a[1].pointer);
}
static const parameter parameters_compute_open[] = {
    PARAMETER(config, STRUCT_IN, .type = &type_ferrum_compute_config),
    PARAMETER(compute_out, OUT, .size = sizeof(ferrum_compute))};

static ferrum_status call_compute_close(const argument *a) {
    return ferrum_compute_close((ferrum_compute){a[0].number},
                                (uint32_t)a[1].number);
}
static const parameter parameters_compute_close[] = {
    PARAMETER(compute, HANDLE, .kind = COMPUTE), PARAMETER(flags, FLAGS)};

static ferrum_status call_compute_get_manager(const argument *a) {
    return ferrum_compute_get_manager((ferrum_compute){a[0].number},
                                      a[1].pointer);
}
static const parameter parameters_compute_get_manager[] = {
    PARAMETER(compute, HANDLE, .kind = COMPUTE),
    PARAMETER(manager_out, OUT, .size = sizeof(ferrum_manager))};

static ferrum_status call_compute_capabilities_json(const argument *a) {
    return ferrum_compute_capabilities_json((ferrum_compute){a[0].number},
                                            a[1].pointer, (size_t)a[2].number,
                                            a[3].pointer);
}
static const parameter parameters_compute_capabilities_json[] = {
    PARAMETER(compute, HANDLE, .kind = COMPUTE), PARAMETER(buffer, BUFFER),
    PARAMETER(capacity, CAPACITY),
    PARAMETER(length_out, OUT, .size = sizeof(size_t))};

static ferrum_status call_compute_status_json(const argument *a) {
    return ferrum_compute_status_json((ferrum_compute){a[0].number},
                                      a[1].pointer, (size_t)a[2].number,
                                      a[3].pointer);
}
static const parameter parameters_compute_status_json[] = {
    PARAMETER(compute, HANDLE, .kind = COMPUTE), PARAMETER(buffer, BUFFER),
    PARAMETER(capacity, CAPACITY),
    PARAMETER(length_out, OUT, .size = sizeof(size_t))};

static ferrum_status call_compute_synchronize(const argument *a) {
    return ferrum_compute_synchronize((ferrum_compute){a[0].number},
                                      (uint64_t)a[1].number);
}
static const parameter parameters_compute_synchronize[] = {
    PARAMETER(compute, HANDLE, .kind = COMPUTE), PARAMETER(timeout_ns, VALUE)};

static ferrum_status call_compute_backends_json(const argument *a) {
    return ferrum_compute_backends_json(a[0].pointer, (size_t)a[1].number,
                                        a[2].pointer);
}
static const parameter parameters_compute_backends_json[] = {
    PARAMETER(buffer, BUFFER), PARAMETER(capacity, CAPACITY),
    PARAMETER(length_out, OUT, .size = sizeof(size_t))};

static ferrum_status call_compute_find_json(const argument *a) {
    return ferrum_compute_find_json(a[0].pointer, (size_t)a[1].number,
                                    a[2].pointer, (size_t)a[3].number,
                                    a[4].pointer);
}
static const parameter parameters_compute_find_json[] = {
    PARAMETER(requirements_text, BYTES, .is_optional = 1),
    PARAMETER(requirements_bytes, VALUE), PARAMETER(buffer, BUFFER),
    PARAMETER(capacity, CAPACITY),
    PARAMETER(length_out, OUT, .size = sizeof(size_t))};

static ferrum_status call_op_prepare(const argument *a) {
    return ferrum_op_prepare((ferrum_compute){a[0].number}, a[1].pointer,
                             a[2].pointer, (size_t)a[3].number,
                             (uint32_t)a[4].number, a[5].pointer);
}
static const parameter parameters_op_prepare[] = {
    PARAMETER(compute, HANDLE, .kind = COMPUTE),
    PARAMETER(name, TEXT),
    PARAMETER(attributes_text, BYTES, .is_optional = 1),
    PARAMETER(attributes_bytes, VALUE),
    PARAMETER(opset, VALUE),
    PARAMETER(op_out, OUT, .size = sizeof(ferrum_op))};

static ferrum_status call_op_destroy(const argument *a) {
    return ferrum_op_destroy((ferrum_op){a[0].number});
}
static const parameter parameters_op_destroy[] = {
    PARAMETER(op, HANDLE, .kind = OP)};

static ferrum_status call_op_infer(const argument *a) {
    return ferrum_op_infer((ferrum_op){a[0].number}, a[1].pointer,
                           (uint64_t)a[2].number, a[3].pointer,
                           (uint64_t)a[4].number, a[5].pointer);
}
static const parameter parameters_op_infer[] = {
    PARAMETER(op, HANDLE, .kind = OP),
    PARAMETER(inputs, ARRAY, .size = sizeof(ferrum_tensor_desc)),
    PARAMETER(input_count, VALUE),
    PARAMETER(outputs, PLACES),
    PARAMETER(output_count, CAPACITY),
    PARAMETER(workspace_bytes_out, OUT, .size = sizeof(uint64_t))};

static ferrum_status call_op_run(const argument *a) {
    return ferrum_op_run((ferrum_op){a[0].number}, a[1].pointer,
                         (uint64_t)a[2].number, a[3].pointer,
                         (uint64_t)a[4].number, (ferrum_stream){a[5].number});
}
static const parameter parameters_op_run[] = {
    PARAMETER(op, HANDLE, .kind = OP),
    PARAMETER(inputs, ARRAY, .size = sizeof(ferrum_tensor)),
    PARAMETER(input_count, VALUE),
    PARAMETER(outputs, PLACES),
    PARAMETER(output_count, CAPACITY),
    PARAMETER(stream, HANDLE, .kind = STREAM, .is_optional = 1)};

static ferrum_status call_op_pack(const argument *a) {
    return ferrum_op_pack((ferrum_op){a[0].number}, (uint32_t)a[1].number,
                          (ferrum_tensor){a[2].number}, a[3].pointer,
                          (ferrum_stream){a[4].number}, a[5].pointer);
}
static const parameter parameters_op_pack[] = {
    PARAMETER(op, HANDLE, .kind = OP),
    PARAMETER(input, VALUE),
    PARAMETER(tensor, HANDLE, .kind = TENSOR),
    PARAMETER(memory, STRUCT_IN, .type = &type_ferrum_weights_memory),
    PARAMETER(stream, HANDLE, .kind = STREAM, .is_optional = 1),
    PARAMETER(packed_out, OUT, .size = sizeof(ferrum_tensor))};

static ferrum_status call_sequence_create(const argument *a) {
    return ferrum_sequence_create((ferrum_compute){a[0].number}, a[1].pointer);
}
static const parameter parameters_sequence_create[] = {
    PARAMETER(compute, HANDLE, .kind = COMPUTE),
    PARAMETER(sequence_out, OUT, .size = sizeof(ferrum_sequence))};

static ferrum_status call_sequence_add(const argument *a) {
    return ferrum_sequence_add(
        (ferrum_sequence){a[0].number}, (ferrum_op){a[1].number}, a[2].pointer,
        (uint64_t)a[3].number, a[4].pointer, (uint64_t)a[5].number);
}
static const parameter parameters_sequence_add[] = {
    PARAMETER(sequence, HANDLE, .kind = SEQUENCE),
    PARAMETER(op, HANDLE, .kind = OP),
    PARAMETER(inputs, ARRAY, .size = sizeof(ferrum_tensor)),
    PARAMETER(input_count, VALUE),
    PARAMETER(outputs, PLACES),
    PARAMETER(output_count, CAPACITY)};

static ferrum_status call_sequence_run(const argument *a) {
    return ferrum_sequence_run((ferrum_sequence){a[0].number},
                               (ferrum_stream){a[1].number});
}
static const parameter parameters_sequence_run[] = {
    PARAMETER(sequence, HANDLE, .kind = SEQUENCE),
    PARAMETER(stream, HANDLE, .kind = STREAM, .is_optional = 1)};

static ferrum_status call_sequence_destroy(const argument *a) {
    return ferrum_sequence_destroy((ferrum_sequence){a[0].number});
}
static const parameter parameters_sequence_destroy[] = {
    PARAMETER(sequence, HANDLE, .kind = SEQUENCE)};

static ferrum_status call_compute_register(const argument *a) {
    return ferrum_compute_register(a[0].pointer, a[1].pointer);
}
static const parameter parameters_compute_register[] = {
    PARAMETER(backend, STRUCT_IN, .type = &type_ferrum_compute_backend),
    PARAMETER(registration_out, OUT, .size = sizeof(ferrum_registration))};

const function arguments_compute[] = {
    FUNCTION(compute_validate, .parameters = parameters_compute_validate,
             .count = 1),
    FUNCTION(compute_open, .parameters = parameters_compute_open, .count = 2),
    FUNCTION(compute_close, .parameters = parameters_compute_close, .count = 2,
             .waits = 1),
    FUNCTION(compute_get_manager, .parameters = parameters_compute_get_manager,
             .count = 2),
    FUNCTION(compute_capabilities_json,
             .parameters = parameters_compute_capabilities_json, .count = 4),
    FUNCTION(compute_status_json, .parameters = parameters_compute_status_json,
             .count = 4),
    FUNCTION(compute_synchronize, .parameters = parameters_compute_synchronize,
             .count = 2, .waits = 1),
    FUNCTION(compute_backends_json,
             .parameters = parameters_compute_backends_json, .count = 3),
    FUNCTION(compute_find_json, .parameters = parameters_compute_find_json,
             .count = 5),
    FUNCTION(op_prepare, .parameters = parameters_op_prepare, .count = 6),
    FUNCTION(op_destroy, .parameters = parameters_op_destroy, .count = 1),
    FUNCTION(op_infer, .parameters = parameters_op_infer, .count = 6),
    FUNCTION(op_run, .parameters = parameters_op_run, .count = 6, .waits = 1),
    FUNCTION(op_pack, .parameters = parameters_op_pack, .count = 6, .waits = 1),
    FUNCTION(sequence_create, .parameters = parameters_sequence_create,
             .count = 2),
    FUNCTION(sequence_add, .parameters = parameters_sequence_add, .count = 6,
             .waits = 1),
    FUNCTION(sequence_run, .parameters = parameters_sequence_run, .count = 2,
             .waits = 1),
    FUNCTION(sequence_destroy, .parameters = parameters_sequence_destroy,
             .count = 1),
    FUNCTION(compute_register, .parameters = parameters_compute_register,
             .count = 2),
    {.name = NULL}};
