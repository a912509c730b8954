/*
 * Generated from include/ferrum_mem.h by scripts/genabi.py; do not edit.
 *
 * The calls of a ferrum_tensor.
 * Each comes in two forms: `name(...)` throws ferrum::error, `try_name(...)` returns
 * a ferrum::result. ferrum_mem.h documents the C function that each of them calls, with
 * its errors and its threads.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef FERRUM_MEM_CALLS_TENSOR_HPP
#define FERRUM_MEM_CALLS_TENSOR_HPP

#include "../result.hpp"

namespace ferrum {

/** The calls of a ferrum_tensor, for a class `Self` that inherits them and has
 *  `get()`. */
template <class Self> class tensor_calls {
  public:
    /**
     * Allocates memory for a contiguous tensor. The elements have no value yet.
     */
    static result<Self> try_create(const ferrum_weights_memory &memory,
                                   ferrum_dtype dtype,
                                   const std::int64_t *shape, std::size_t count,
                                   ferrum_stream stream = {}) {
        ferrum_tensor tensor_out{};
        const ferrum_status status = ferrum_tensor_create(
            &memory, dtype, shape, count, stream, &tensor_out);
        return detail::made<Self>(status, tensor_out);
    }
    static Self create(const ferrum_weights_memory &memory, ferrum_dtype dtype,
                       const std::int64_t *shape, std::size_t count,
                       ferrum_stream stream = {}) {
        return try_create(memory, dtype, shape, count, stream).value();
    }
    static result<Self> try_create(const ferrum_weights_memory &memory,
                                   ferrum_dtype dtype,
                                   const std::vector<std::int64_t> &shape,
                                   ferrum_stream stream = {}) {
        return try_create(memory, dtype, detail::items(shape), shape.size(),
                          stream);
    }
    static Self create(const ferrum_weights_memory &memory, ferrum_dtype dtype,
                       const std::vector<std::int64_t> &shape,
                       ferrum_stream stream = {}) {
        return try_create(memory, dtype, shape, stream).value();
    }

    /** Makes a view that keeps some indices of a dimension. */
    result<Self> try_narrow(std::int32_t axis, std::int64_t start,
                            std::int64_t length) const {
        ferrum_tensor view_out{};
        const ferrum_status status =
            ferrum_tensor_narrow(handle(), axis, start, length, &view_out);
        return detail::made<Self>(status, view_out);
    }
    Self narrow(std::int32_t axis, std::int64_t start,
                std::int64_t length) const {
        return try_narrow(axis, start, length).value();
    }

    /**
     * Makes a view that keeps every step-th index of a dimension: start, start
     * + step, and so on. With a negative step the order of the indices is
     * reversed.
     */
    result<Self> try_slice(std::int32_t axis, std::int64_t start,
                           std::int64_t length, std::int64_t step) const {
        ferrum_tensor view_out{};
        const ferrum_status status =
            ferrum_tensor_slice(handle(), axis, start, length, step, &view_out);
        return detail::made<Self>(status, view_out);
    }
    Self slice(std::int32_t axis, std::int64_t start, std::int64_t length,
               std::int64_t step) const {
        return try_slice(axis, start, length, step).value();
    }

    /** Makes a view with the dimensions in another order. */
    result<Self> try_permute(const std::int32_t *axes,
                             std::size_t count) const {
        ferrum_tensor view_out{};
        const ferrum_status status =
            ferrum_tensor_permute(handle(), axes, count, &view_out);
        return detail::made<Self>(status, view_out);
    }
    Self permute(const std::int32_t *axes, std::size_t count) const {
        return try_permute(axes, count).value();
    }
    result<Self> try_permute(const std::vector<std::int32_t> &axes) const {
        return try_permute(detail::items(axes), axes.size());
    }
    Self permute(const std::vector<std::int32_t> &axes) const {
        return try_permute(axes).value();
    }

    /**
     * Makes a view with another shape of the same elements in the same order.
     */
    result<Self> try_reshape(const std::int64_t *shape,
                             std::size_t count) const {
        ferrum_tensor view_out{};
        const ferrum_status status =
            ferrum_tensor_reshape(handle(), shape, count, &view_out);
        return detail::made<Self>(status, view_out);
    }
    Self reshape(const std::int64_t *shape, std::size_t count) const {
        return try_reshape(shape, count).value();
    }
    result<Self> try_reshape(const std::vector<std::int64_t> &shape) const {
        return try_reshape(detail::items(shape), shape.size());
    }
    Self reshape(const std::vector<std::int64_t> &shape) const {
        return try_reshape(shape).value();
    }

    /**
     * Makes a view that repeats elements along new dimensions, and along
     * dimensions of length 1, as NumPy broadcasts. Its elements cannot be
     * written if some are repeated.
     */
    result<Self> try_expand(const std::int64_t *shape,
                            std::size_t count) const {
        ferrum_tensor view_out{};
        const ferrum_status status =
            ferrum_tensor_expand(handle(), shape, count, &view_out);
        return detail::made<Self>(status, view_out);
    }
    Self expand(const std::int64_t *shape, std::size_t count) const {
        return try_expand(shape, count).value();
    }
    result<Self> try_expand(const std::vector<std::int64_t> &shape) const {
        return try_expand(detail::items(shape), shape.size());
    }
    Self expand(const std::vector<std::int64_t> &shape) const {
        return try_expand(shape).value();
    }

    /**
     * Queues a copy of the elements of a tensor to another tensor of the same
     * shape on the same device. Elements of another type are converted by the
     * rules of docs/tensors.md.
     */
    result<done> try_copy(ferrum_tensor source,
                          ferrum_stream stream = {}) const {
        return detail::outcome(ferrum_tensor_copy(handle(), source, stream));
    }
    void copy(ferrum_tensor source, ferrum_stream stream = {}) const {
        try_copy(source, stream).value();
    }

    /**
     * Makes a contiguous tensor with the same elements, of another type, in
     * other memory, or both. The copy is queued on stream if the memory is of
     * the same device, and the device can make the copy. Otherwise the elements
     * go through memory of the host, and the call waits for the work of the
     * stream and for the copy.
     */
    result<Self> try_to(const ferrum_weights_memory &memory, ferrum_dtype dtype,
                        ferrum_stream stream = {}) const {
        ferrum_tensor tensor_out{};
        const ferrum_status status =
            ferrum_tensor_to(handle(), &memory, dtype, stream, &tensor_out);
        return detail::made<Self>(status, tensor_out);
    }
    Self to(const ferrum_weights_memory &memory, ferrum_dtype dtype,
            ferrum_stream stream = {}) const {
        return try_to(memory, dtype, stream).value();
    }

    /**
     * Copies the elements to memory of the program, in the order of the shape
     * and without gaps. Waits for the work that is queued on the stream, and
     * for the copy.
     */
    result<done> try_read(void *destination, std::uint64_t size_bytes,
                          ferrum_stream stream = {}) const {
        return detail::outcome(
            ferrum_tensor_read(handle(), destination, size_bytes, stream));
    }
    void read(void *destination, std::uint64_t size_bytes,
              ferrum_stream stream = {}) const {
        try_read(destination, size_bytes, stream).value();
    }

    /**
     * Copies memory of the program to the elements, in the order of the shape.
     * Waits as ferrum_tensor_read does.
     */
    result<done> try_write(const void *source, std::uint64_t size_bytes,
                           ferrum_stream stream = {}) const {
        return detail::outcome(
            ferrum_tensor_write(handle(), source, size_bytes, stream));
    }
    void write(const void *source, std::uint64_t size_bytes,
               ferrum_stream stream = {}) const {
        try_write(source, size_bytes, stream).value();
    }

    /**
     * Queues work that gives every element the value, converted to the type of
     * the tensor.
     */
    result<done> try_fill(double value, ferrum_stream stream = {}) const {
        return detail::outcome(ferrum_tensor_fill(handle(), value, stream));
    }
    void fill(double value, ferrum_stream stream = {}) const {
        try_fill(value, stream).value();
    }

    /** Describes a tensor. Works for a tensor whose memory sleeps. */
    result<ferrum_tensor_desc> try_describe() const {
        ferrum_tensor_desc desc_out = FERRUM_TENSOR_DESC_INIT;
        const ferrum_status status =
            ferrum_tensor_describe(handle(), &desc_out);
        return detail::outcome(status, desc_out);
    }
    ferrum_tensor_desc describe() const { return try_describe().value(); }

  private:
    ferrum_tensor handle() const noexcept {
        return static_cast<const Self &>(*this).get();
    }
};

} // namespace ferrum

#endif /* FERRUM_MEM_CALLS_TENSOR_HPP */
