/*
 * Tensors: memory with a data type, a shape and strides.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef FERRUM_MEM_TENSOR_HPP
#define FERRUM_MEM_TENSOR_HPP

#include "calls/tensor.hpp"
#include "unique_handle.hpp"

#include <functional>
#include <memory>
#include <utility>
#include <vector>

namespace ferrum {

namespace detail {

inline void end_tensor(ferrum_tensor h) noexcept { ferrum_tensor_destroy(h); }

} // namespace detail

/** A tensor. Views of it are tensors of their own, which keep the memory. */
class tensor : public detail::unique_handle<ferrum_tensor, detail::end_tensor>,
               public tensor_calls<tensor> {
  public:
    using unique_handle::unique_handle;

    /** A description without strides: the elements lie in the order of the shape. At most
     *  FERRUM_TENSOR_RANK_MAX dimensions; more are an error of the call that takes it. */
    static ferrum_tensor_desc
    contiguous(ferrum_dtype dtype, const std::vector<std::int64_t> &shape) {
        ferrum_tensor_desc desc = FERRUM_TENSOR_DESC_INIT;
        desc.dtype = dtype;
        desc.rank = static_cast<std::uint32_t>(shape.size());
        desc.flags = FERRUM_ELEMENTS_CONTIGUOUS;
        for (std::size_t i = 0; i < shape.size() && i < FERRUM_TENSOR_RANK_MAX;
             i++)
            desc.shape[i] = shape[i];
        return desc;
    }

    /** A description of a shape, axes or sizes for op::infer. It refers to the list, which
     *  must stay valid. */
    static ferrum_tensor_desc known(const std::vector<std::int64_t> &elements) {
        ferrum_tensor_desc desc = contiguous(
            FERRUM_DTYPE_I64, {static_cast<std::int64_t>(elements.size())});
        desc.elements = elements.empty() ? nullptr : elements.data();
        desc.element_count = elements.size();
        return desc;
    }

    /** Makes a tensor over a block of a manager, which is pinned meanwhile. */
    static result<tensor> try_from_memory(ferrum_memory memory,
                                          const ferrum_tensor_desc &desc,
                                          std::uint64_t offset_bytes = 0) {
        ferrum_tensor made{};
        const ferrum_status status =
            ferrum_tensor_from_memory(memory, offset_bytes, &desc, &made);
        return detail::made<tensor>(status, made);
    }
    static tensor from_memory(ferrum_memory memory,
                              const ferrum_tensor_desc &desc,
                              std::uint64_t offset_bytes = 0) {
        return try_from_memory(memory, desc, offset_bytes).value();
    }

    /** Makes a tensor over memory of the program. release is called once after the last
     *  tensor over it, under the conditions of ferrum_release_fn, and must not throw. After
     *  an error it is not called. */
    static result<tensor> try_wrap(ferrum_device device, ferrum_address address,
                                   std::uint64_t size_bytes,
                                   const ferrum_tensor_desc &desc,
                                   std::function<void()> release) {
        auto owned =
            std::make_unique<std::function<void()>>(std::move(release));
        ferrum_tensor made{};
        const ferrum_status status =
            ferrum_tensor_wrap(device, address, size_bytes, &desc, call_release,
                               owned.get(), &made);
        if (status == FERRUM_OK)
            owned.release();
        return detail::made<tensor>(status, made);
    }
    static tensor wrap(ferrum_device device, ferrum_address address,
                       std::uint64_t size_bytes, const ferrum_tensor_desc &desc,
                       std::function<void()> release) {
        return try_wrap(device, address, size_bytes, desc, std::move(release))
            .value();
    }

    /** Makes a tensor over a loaded tensor of a set. */
    static result<tensor> try_from_set(ferrum_tensor_set set,
                                       std::uint64_t index) {
        ferrum_tensor made{};
        const ferrum_status status = ferrum_tensor_from_set(set, index, &made);
        return detail::made<tensor>(status, made);
    }
    static tensor from_set(ferrum_tensor_set set, std::uint64_t index) {
        return try_from_set(set, index).value();
    }

    /** Exports the tensor to DLPack. The receiver calls the deleter of the struct once. */
    result<ferrum_dlpack> try_to_dlpack(bool is_versioned = true) const {
        ferrum_dlpack dlpack = FERRUM_DLPACK_INIT;
        const ferrum_status status =
            ferrum_tensor_to_dlpack(get(), is_versioned ? 1u : 0u, &dlpack);
        return detail::outcome(status, dlpack);
    }
    ferrum_dlpack to_dlpack(bool is_versioned = true) const {
        return try_to_dlpack(is_versioned).value();
    }

    /** Makes a tensor over memory that another library has exported to DLPack, and owns
     *  the struct then. After an error the caller still owns it. */
    static result<tensor> try_from_dlpack(const ferrum_dlpack &dlpack,
                                          ferrum_device device = {}) {
        ferrum_tensor made{};
        const ferrum_status status =
            ferrum_tensor_from_dlpack(device, &dlpack, &made);
        return detail::made<tensor>(status, made);
    }
    static tensor from_dlpack(const ferrum_dlpack &dlpack,
                              ferrum_device device = {}) {
        return try_from_dlpack(dlpack, device).value();
    }

    /** Ends the tensor. On failure the object still owns it. */
    result<done> try_destroy() { return ended(ferrum_tensor_destroy(get())); }
    void destroy() { try_destroy().value(); }

  private:
    static void call_release(void *user_data) {
        std::unique_ptr<std::function<void()>> owned(
            static_cast<std::function<void()> *>(user_data));
        if (*owned)
            (*owned)();
    }
};

namespace detail {

/** The outputs of a run as objects: the made ones are owned by the caller. */
inline std::vector<tensor> made_tensors(const std::vector<ferrum_tensor> &ids) {
    std::vector<tensor> made;
    made.reserve(ids.size());
    for (const ferrum_tensor id : ids)
        made.emplace_back(id);
    return made;
}

} // namespace detail

} // namespace ferrum

#endif /* FERRUM_MEM_TENSOR_HPP */
