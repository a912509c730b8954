/*
 * Sequences of operations.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef FERRUM_MEM_SEQUENCE_HPP
#define FERRUM_MEM_SEQUENCE_HPP

#include "calls/sequence.hpp"
#include "tensor.hpp"
#include "unique_handle.hpp"

#include <vector>

namespace ferrum {

namespace detail {

inline void end_sequence(ferrum_sequence h) noexcept {
    ferrum_sequence_destroy(h);
}

} // namespace detail

/** Operations with fixed tensors, which run in one call. */
class sequence
    : public detail::unique_handle<ferrum_sequence, detail::end_sequence>,
      public sequence_calls<sequence> {
  public:
    using unique_handle::unique_handle;

    static result<sequence> try_create(ferrum_compute compute) {
        ferrum_sequence made{};
        const ferrum_status status = ferrum_sequence_create(compute, &made);
        return detail::made<sequence>(status, made);
    }
    static sequence create(ferrum_compute compute) {
        return try_create(compute).value();
    }

    /** Adds a run of an operation with outputs that the call makes. */
    result<std::vector<tensor>>
    try_add(ferrum_op op, const std::vector<ferrum_tensor> &inputs,
            std::size_t output_count = 1) const {
        std::vector<ferrum_tensor> outputs(output_count);
        const ferrum_status status = call(op, inputs, outputs);
        if (status != FERRUM_OK)
            outputs.clear();
        return detail::outcome(status, detail::made_tensors(outputs));
    }
    std::vector<tensor> add(ferrum_op op,
                            const std::vector<ferrum_tensor> &inputs,
                            std::size_t output_count = 1) const {
        return try_add(op, inputs, output_count).value();
    }

    /** Adds a run with given outputs, as op::run_into does. */
    result<done> try_add_into(ferrum_op op,
                              const std::vector<ferrum_tensor> &inputs,
                              std::vector<ferrum_tensor> &outputs) const {
        return detail::outcome(call(op, inputs, outputs));
    }
    void add_into(ferrum_op op, const std::vector<ferrum_tensor> &inputs,
                  std::vector<ferrum_tensor> &outputs) const {
        try_add_into(op, inputs, outputs).value();
    }

    /** Ends the sequence. On failure the object still owns it. */
    result<done> try_destroy() { return ended(ferrum_sequence_destroy(get())); }
    void destroy() { try_destroy().value(); }

  private:
    ferrum_status call(ferrum_op op, const std::vector<ferrum_tensor> &inputs,
                       std::vector<ferrum_tensor> &outputs) const {
        ferrum_tensor none{};
        return ferrum_sequence_add(
            get(), op, inputs.empty() ? &none : inputs.data(), inputs.size(),
            outputs.empty() ? &none : outputs.data(), outputs.size());
    }
};

} // namespace ferrum

#endif /* FERRUM_MEM_SEQUENCE_HPP */
