/*
 * Compute: backends, and operations on tensors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef FERRUM_MEM_COMPUTE_HPP
#define FERRUM_MEM_COMPUTE_HPP

#include "calls/compute.hpp"
#include "compute_backend.hpp"
#include "registration.hpp"
#include "sequence.hpp"
#include "tensor.hpp"
#include "unique_handle.hpp"

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace ferrum {

namespace detail {

inline void end_compute(ferrum_compute h) noexcept {
    ferrum_compute_close(h, FERRUM_FORCE);
}
inline void end_op(ferrum_op h) noexcept { ferrum_op_destroy(h); }

} // namespace detail

class compute;

/** A prepared operation. */
class op : public detail::unique_handle<ferrum_op, detail::end_op> {
  public:
    using unique_handle::unique_handle;

    /** Prepares an operation of a backend. attributes is a JSON object, or empty. */
    static result<op> try_prepare(ferrum_compute compute,
                                  const std::string &name,
                                  std::string_view attributes = "",
                                  std::uint32_t opset = 0) {
        ferrum_op made{};
        const ferrum_status status = ferrum_op_prepare(
            compute, name.c_str(), attributes.empty() ? "" : attributes.data(),
            attributes.size(), opset, &made);
        return detail::made<op>(status, made);
    }
    static op prepare(ferrum_compute compute, const std::string &name,
                      std::string_view attributes = "",
                      std::uint32_t opset = 0) {
        return try_prepare(compute, name, attributes, opset).value();
    }

    /** What a run with such inputs makes. */
    struct inferred {
        std::vector<ferrum_tensor_desc> outputs;
        std::uint64_t workspace_bytes = 0;
    };
    /** Infers the outputs of a run without running it. */
    result<inferred> try_infer(const std::vector<ferrum_tensor_desc> &inputs,
                               std::size_t output_count = 1) const {
        const ferrum_tensor_desc empty = FERRUM_TENSOR_DESC_INIT;
        inferred found;
        /* One more, because the library wants no NULL. */
        found.outputs.assign(output_count + 1, empty);
        const ferrum_status status = ferrum_op_infer(
            get(), inputs.empty() ? &empty : inputs.data(), inputs.size(),
            found.outputs.data(), output_count, &found.workspace_bytes);
        found.outputs.resize(output_count);
        return detail::outcome(status, std::move(found));
    }
    inferred infer(const std::vector<ferrum_tensor_desc> &inputs,
                   std::size_t output_count = 1) const {
        return try_infer(inputs, output_count).value();
    }

    /** Runs the operation into outputs that the call makes. */
    result<std::vector<tensor>>
    try_run(const std::vector<ferrum_tensor> &inputs,
            std::size_t output_count = 1, ferrum_stream stream = {}) const {
        std::vector<ferrum_tensor> outputs(output_count);
        const ferrum_status status = call(inputs, outputs, stream);
        if (status != FERRUM_OK)
            outputs.clear();
        return detail::outcome(status, detail::made_tensors(outputs));
    }
    std::vector<tensor> run(const std::vector<ferrum_tensor> &inputs,
                            std::size_t output_count = 1,
                            ferrum_stream stream = {}) const {
        return try_run(inputs, output_count, stream).value();
    }

    /** Runs the operation into given outputs. An output {0} is made, and its id is stored:
     *  the caller then owns it. */
    result<done> try_run_into(const std::vector<ferrum_tensor> &inputs,
                              std::vector<ferrum_tensor> &outputs,
                              ferrum_stream stream = {}) const {
        return detail::outcome(call(inputs, outputs, stream));
    }
    void run_into(const std::vector<ferrum_tensor> &inputs,
                  std::vector<ferrum_tensor> &outputs,
                  ferrum_stream stream = {}) const {
        try_run_into(inputs, outputs, stream).value();
    }

    /** Packs a constant input, into the memory of the backend unless memory is given. */
    result<tensor> try_pack(std::uint32_t input, ferrum_tensor from,
                            const ferrum_weights_memory &memory = {},
                            ferrum_stream stream = {}) const {
        ferrum_tensor packed{};
        const ferrum_status status =
            ferrum_op_pack(get(), input, from, &memory, stream, &packed);
        return detail::made<tensor>(status, packed);
    }
    tensor pack(std::uint32_t input, ferrum_tensor from,
                const ferrum_weights_memory &memory = {},
                ferrum_stream stream = {}) const {
        return try_pack(input, from, memory, stream).value();
    }

    /** Ends the operation. On failure the object still owns it. */
    result<done> try_destroy() { return ended(ferrum_op_destroy(get())); }
    void destroy() { try_destroy().value(); }

  private:
    ferrum_status call(const std::vector<ferrum_tensor> &inputs,
                       std::vector<ferrum_tensor> &outputs,
                       ferrum_stream stream) const {
        ferrum_tensor none{};
        return ferrum_op_run(
            get(), inputs.empty() ? &none : inputs.data(), inputs.size(),
            outputs.empty() ? &none : outputs.data(), outputs.size(), stream);
    }
};

/** A backend that computes operations on a device. */
class compute
    : public detail::unique_handle<ferrum_compute, detail::end_compute>,
      public compute_calls<compute> {
  public:
    using unique_handle::unique_handle;

    /** Checks settings without opening a backend. */
    static result<done> try_validate(const ferrum_compute_config &config) {
        return detail::outcome(ferrum_compute_validate(&config));
    }
    static void validate(const ferrum_compute_config &config) {
        try_validate(config).value();
    }

    /** Registers a backend of the program under a name, with its properties as JSON. It stays
     *  registered while the registration exists, and cannot be removed while it is open:
     *  then a destructor of the registration leaves it to the stop of the library. */
    static result<registration>
    try_register_backend(detail::c_text name,
                         std::string_view capabilities_json,
                         compute_backend backend) {
        auto owned = std::make_unique<compute_backend>(std::move(backend));
        ferrum_compute_backend raw = FERRUM_COMPUTE_BACKEND_INIT;
        raw.name = name.data();
        raw.version = owned->version.c_str();
        raw.capabilities_json = capabilities_json.data();
        raw.capabilities_bytes = capabilities_json.size();
        if (owned->run)
            raw.run = detail::call_compute_run;
        if (owned->plan)
            raw.plan = detail::call_compute_plan;
        if (owned->synchronize)
            raw.synchronize = detail::call_compute_synchronize;
        raw.release = detail::call_compute_release;
        raw.user_data = owned.get();
        ferrum_registration out{};
        const ferrum_status status = ferrum_compute_register(&raw, &out);
        if (status != FERRUM_OK)
            return failure::last(status);
        owned.release(); /* the library calls raw.release */
        return registration(nullptr, out);
    }
    static registration register_backend(detail::c_text name,
                                         std::string_view capabilities_json,
                                         compute_backend backend) {
        return try_register_backend(name, capabilities_json, std::move(backend))
            .value();
    }

    /** Prepares an operation. attributes is a JSON object, or empty. */
    result<op> try_prepare(const std::string &name,
                           std::string_view attributes = "",
                           std::uint32_t opset = 0) const {
        return op::try_prepare(get(), name, attributes, opset);
    }
    op prepare(const std::string &name, std::string_view attributes = "",
               std::uint32_t opset = 0) const {
        return try_prepare(name, attributes, opset).value();
    }

    /** Closes the backend. On failure the object still owns it. */
    result<done> try_close(std::uint32_t flags = 0) {
        return ended(ferrum_compute_close(get(), flags));
    }
    void close(std::uint32_t flags = 0) { try_close(flags).value(); }
};

} // namespace ferrum

#endif /* FERRUM_MEM_COMPUTE_HPP */
