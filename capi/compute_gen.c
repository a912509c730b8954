/* Generated from include/ferrum_mem/compute.h by scripts/genabi.py; do not edit. */
#include "_cgo_export.h"
#include "guard.h"
#include "guest.h"

ferrum_status ferrum_compute_validate(const ferrum_compute_config *config) {
    FM_ENTER();
    FM_REQUIRE(config);
    ferrum_compute_config config_full = FERRUM_COMPUTE_CONFIG_INIT;
    FM_STRUCT_IN(config, config_full);
    FM_RETURN(fmgo_compute_validate(&config_full));
}

ferrum_status ferrum_compute_open(const ferrum_compute_config *config,
                                  ferrum_compute *compute_out) {
    FM_ENTER();
    FM_REQUIRE(compute_out);
    compute_out->id = 0;
    FM_REQUIRE(config);
    ferrum_compute_config config_full = FERRUM_COMPUTE_CONFIG_INIT;
    FM_STRUCT_IN(config, config_full);
    FM_LOOK();
    FM_RETURN(fmgo_compute_open(&config_full, &compute_out->id));
}

ferrum_status ferrum_compute_close(ferrum_compute compute, uint32_t flags) {
    FM_ENTER();
    FM_NOT_IN_HOST_FUNCTION();
    FM_RETURN(fmgo_compute_close(compute.id, flags));
}

ferrum_status ferrum_compute_get_manager(ferrum_compute compute,
                                         ferrum_manager *manager_out) {
    FM_ENTER();
    FM_REQUIRE(manager_out);
    manager_out->id = 0;
    FM_RETURN(fmgo_compute_get_manager(compute.id, &manager_out->id));
}

ferrum_status ferrum_compute_capabilities_json(ferrum_compute compute,
                                               char *buffer, size_t capacity,
                                               size_t *length_out) {
    FM_ENTER();
    FM_TEXT_OUT(buffer, capacity, length_out);
    FM_RETURN(fmgo_compute_capabilities_json(compute.id, buffer, capacity,
                                             length_out));
}

ferrum_status ferrum_compute_status_json(ferrum_compute compute, char *buffer,
                                         size_t capacity, size_t *length_out) {
    FM_ENTER();
    FM_TEXT_OUT(buffer, capacity, length_out);
    FM_RETURN(
        fmgo_compute_status_json(compute.id, buffer, capacity, length_out));
}

ferrum_status ferrum_compute_synchronize(ferrum_compute compute,
                                         uint64_t timeout_ns) {
    FM_ENTER();
    FM_NOT_IN_HOST_FUNCTION();
    FM_RETURN(fmgo_compute_synchronize(compute.id, timeout_ns));
}

ferrum_status ferrum_compute_backends_json(char *buffer, size_t capacity,
                                           size_t *length_out) {
    FM_ENTER();
    FM_TEXT_OUT(buffer, capacity, length_out);
    FM_RETURN(fmgo_compute_backends_json(buffer, capacity, length_out));
}

ferrum_status ferrum_compute_find_json(const char *requirements_text,
                                       size_t requirements_bytes, char *buffer,
                                       size_t capacity, size_t *length_out) {
    FM_ENTER();
    FM_TEXT_OUT(buffer, capacity, length_out);
    FM_RETURN(fmgo_compute_find_json((char *)requirements_text,
                                     requirements_bytes, buffer, capacity,
                                     length_out));
}

ferrum_status ferrum_op_prepare(ferrum_compute compute, const char *name,
                                const char *attributes_text,
                                size_t attributes_bytes, uint32_t opset,
                                ferrum_op *op_out) {
    FM_ENTER();
    FM_REQUIRE(op_out);
    op_out->id = 0;
    FM_REQUIRE(name);
    FM_LOOK();
    FM_RETURN(fmgo_op_prepare(compute.id, (char *)name, (char *)attributes_text,
                              attributes_bytes, opset, &op_out->id));
}

ferrum_status ferrum_op_destroy(ferrum_op op) {
    FM_ENTER();
    FM_RETURN(fmgo_op_destroy(op.id));
}

ferrum_status ferrum_op_pack(ferrum_op op, uint32_t input, ferrum_tensor tensor,
                             const ferrum_weights_memory *memory,
                             ferrum_stream stream, ferrum_tensor *packed_out) {
    FM_ENTER();
    FM_REQUIRE(packed_out);
    packed_out->id = 0;
    FM_REQUIRE(memory);
    ferrum_weights_memory memory_full = *memory;
    FM_NOT_IN_HOST_FUNCTION();
    FM_LOOK();
    FM_RETURN(fmgo_op_pack(op.id, input, tensor.id, &memory_full, stream.id,
                           &packed_out->id));
}

ferrum_status ferrum_sequence_create(ferrum_compute compute,
                                     ferrum_sequence *sequence_out) {
    FM_ENTER();
    FM_REQUIRE(sequence_out);
    sequence_out->id = 0;
    FM_LOOK();
    FM_RETURN(fmgo_sequence_create(compute.id, &sequence_out->id));
}

ferrum_status ferrum_sequence_run(ferrum_sequence sequence,
                                  ferrum_stream stream) {
    FM_ENTER();
    FM_NOT_IN_HOST_FUNCTION();
    FM_RETURN(fmgo_sequence_run(sequence.id, stream.id));
}

ferrum_status ferrum_sequence_destroy(ferrum_sequence sequence) {
    FM_ENTER();
    FM_RETURN(fmgo_sequence_destroy(sequence.id));
}

ferrum_status ferrum_compute_register(const ferrum_compute_backend *backend,
                                      ferrum_registration *registration_out) {
    FM_ENTER();
    FM_REQUIRE(registration_out);
    registration_out->id = 0;
    FM_REQUIRE(backend);
    ferrum_compute_backend backend_full = FERRUM_COMPUTE_BACKEND_INIT;
    FM_STRUCT_IN(backend, backend_full);
    FM_RETURN(fmgo_compute_register(&backend_full, &registration_out->id));
}
