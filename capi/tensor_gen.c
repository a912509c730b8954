/* Generated from include/ferrum_mem/tensor.h by scripts/genabi.py; do not edit. */
#include "_cgo_export.h"
#include "guard.h"
#include "guest.h"

ferrum_status ferrum_tensor_create(const ferrum_weights_memory *memory,
                                   ferrum_dtype dtype, const int64_t *shape,
                                   uint64_t count, ferrum_stream stream,
                                   ferrum_tensor *tensor_out) {
    FM_ENTER();
    FM_REQUIRE(tensor_out);
    tensor_out->id = 0;
    FM_REQUIRE(memory);
    FM_REQUIRE(shape);
    ferrum_weights_memory memory_full = *memory;
    FM_LOOK();
    FM_RETURN(fmgo_tensor_create(&memory_full, dtype, (int64_t *)shape, count,
                                 stream.id, &tensor_out->id));
}

ferrum_status ferrum_tensor_from_memory(ferrum_memory memory,
                                        uint64_t offset_bytes,
                                        const ferrum_tensor_desc *desc,
                                        ferrum_tensor *tensor_out) {
    FM_ENTER();
    FM_REQUIRE(tensor_out);
    tensor_out->id = 0;
    FM_REQUIRE(desc);
    ferrum_tensor_desc desc_full = FERRUM_TENSOR_DESC_INIT;
    FM_STRUCT_IN(desc, desc_full);
    FM_LOOK();
    FM_RETURN(fmgo_tensor_from_memory(memory.id, offset_bytes, &desc_full,
                                      &tensor_out->id));
}

ferrum_status ferrum_tensor_wrap(ferrum_device device, ferrum_address address,
                                 uint64_t size_bytes,
                                 const ferrum_tensor_desc *desc,
                                 ferrum_release_fn release, void *user_data,
                                 ferrum_tensor *tensor_out) {
    FM_ENTER();
    FM_REQUIRE(tensor_out);
    tensor_out->id = 0;
    FM_REQUIRE(desc);
    ferrum_tensor_desc desc_full = FERRUM_TENSOR_DESC_INIT;
    FM_STRUCT_IN(desc, desc_full);
    FM_LOOK();
    FM_RETURN(fmgo_tensor_wrap(device.id, address, size_bytes, &desc_full,
                               release, (uintptr_t)user_data, &tensor_out->id));
}

ferrum_status ferrum_tensor_from_set(ferrum_tensor_set set, uint64_t index,
                                     ferrum_tensor *tensor_out) {
    FM_ENTER();
    FM_REQUIRE(tensor_out);
    tensor_out->id = 0;
    FM_LOOK();
    FM_RETURN(fmgo_tensor_from_set(set.id, index, &tensor_out->id));
}

ferrum_status ferrum_tensor_narrow(ferrum_tensor tensor, int32_t axis,
                                   int64_t start, int64_t length,
                                   ferrum_tensor *view_out) {
    FM_ENTER();
    FM_REQUIRE(view_out);
    view_out->id = 0;
    FM_RETURN(
        fmgo_tensor_narrow(tensor.id, axis, start, length, &view_out->id));
}

ferrum_status ferrum_tensor_slice(ferrum_tensor tensor, int32_t axis,
                                  int64_t start, int64_t length, int64_t step,
                                  ferrum_tensor *view_out) {
    FM_ENTER();
    FM_REQUIRE(view_out);
    view_out->id = 0;
    FM_RETURN(
        fmgo_tensor_slice(tensor.id, axis, start, length, step, &view_out->id));
}

ferrum_status ferrum_tensor_permute(ferrum_tensor tensor, const int32_t *axes,
                                    uint64_t count, ferrum_tensor *view_out) {
    FM_ENTER();
    FM_REQUIRE(view_out);
    view_out->id = 0;
    FM_REQUIRE(axes);
    FM_RETURN(
        fmgo_tensor_permute(tensor.id, (int32_t *)axes, count, &view_out->id));
}

ferrum_status ferrum_tensor_reshape(ferrum_tensor tensor, const int64_t *shape,
                                    uint64_t count, ferrum_tensor *view_out) {
    FM_ENTER();
    FM_REQUIRE(view_out);
    view_out->id = 0;
    FM_REQUIRE(shape);
    FM_RETURN(
        fmgo_tensor_reshape(tensor.id, (int64_t *)shape, count, &view_out->id));
}

ferrum_status ferrum_tensor_expand(ferrum_tensor tensor, const int64_t *shape,
                                   uint64_t count, ferrum_tensor *view_out) {
    FM_ENTER();
    FM_REQUIRE(view_out);
    view_out->id = 0;
    FM_REQUIRE(shape);
    FM_RETURN(
        fmgo_tensor_expand(tensor.id, (int64_t *)shape, count, &view_out->id));
}

ferrum_status ferrum_tensor_copy(ferrum_tensor tensor, ferrum_tensor source,
                                 ferrum_stream stream) {
    FM_ENTER();
    FM_RETURN(fmgo_tensor_copy(tensor.id, source.id, stream.id));
}

ferrum_status ferrum_tensor_to(ferrum_tensor tensor,
                               const ferrum_weights_memory *memory,
                               ferrum_dtype dtype, ferrum_stream stream,
                               ferrum_tensor *tensor_out) {
    FM_ENTER();
    FM_REQUIRE(tensor_out);
    tensor_out->id = 0;
    FM_REQUIRE(memory);
    ferrum_weights_memory memory_full = *memory;
    FM_NOT_IN_HOST_FUNCTION();
    FM_LOOK();
    FM_RETURN(fmgo_tensor_to(tensor.id, &memory_full, dtype, stream.id,
                             &tensor_out->id));
}

ferrum_status ferrum_tensor_read(ferrum_tensor tensor, void *destination_out,
                                 uint64_t size_bytes, ferrum_stream stream) {
    FM_ENTER();
    FM_REQUIRE(destination_out);
    FM_NOT_IN_HOST_FUNCTION();
    FM_RETURN(fmgo_tensor_read(tensor.id, (uintptr_t)destination_out,
                               size_bytes, stream.id));
}

ferrum_status ferrum_tensor_write(ferrum_tensor tensor, const void *source,
                                  uint64_t size_bytes, ferrum_stream stream) {
    FM_ENTER();
    FM_REQUIRE(source);
    FM_NOT_IN_HOST_FUNCTION();
    FM_RETURN(
        fmgo_tensor_write(tensor.id, (uintptr_t)source, size_bytes, stream.id));
}

ferrum_status ferrum_tensor_fill(ferrum_tensor tensor, double value,
                                 ferrum_stream stream) {
    FM_ENTER();
    FM_RETURN(fmgo_tensor_fill(tensor.id, value, stream.id));
}

ferrum_status ferrum_tensor_describe(ferrum_tensor tensor,
                                     ferrum_tensor_desc *desc_out) {
    FM_ENTER();
    FM_REQUIRE(desc_out);
    FM_STRUCT_OUT(desc_out);
    ferrum_tensor_desc desc_full = FERRUM_TENSOR_DESC_INIT;
    FM_RETURN_STRUCT(fmgo_tensor_describe(tensor.id, &desc_full), desc_out,
                     desc_full);
}

ferrum_status ferrum_tensor_destroy(ferrum_tensor tensor) {
    FM_ENTER();
    FM_RETURN(fmgo_tensor_destroy(tensor.id));
}

ferrum_status ferrum_tensor_to_dlpack(ferrum_tensor tensor,
                                      uint32_t is_versioned,
                                      ferrum_dlpack *dlpack_out) {
    FM_ENTER();
    FM_REQUIRE(dlpack_out);
    FM_STRUCT_OUT(dlpack_out);
    ferrum_dlpack dlpack_full = FERRUM_DLPACK_INIT;
    FM_RETURN_STRUCT(
        fmgo_tensor_to_dlpack(tensor.id, is_versioned, &dlpack_full),
        dlpack_out, dlpack_full);
}

ferrum_status ferrum_tensor_from_dlpack(ferrum_device device,
                                        const ferrum_dlpack *dlpack,
                                        ferrum_tensor *tensor_out) {
    FM_ENTER();
    FM_REQUIRE(tensor_out);
    tensor_out->id = 0;
    FM_REQUIRE(dlpack);
    ferrum_dlpack dlpack_full = FERRUM_DLPACK_INIT;
    FM_STRUCT_IN(dlpack, dlpack_full);
    FM_LOOK();
    FM_RETURN(
        fmgo_tensor_from_dlpack(device.id, &dlpack_full, &tensor_out->id));
}
