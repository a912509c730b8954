/*
 * Layer types of the program.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef FERRUM_MEM_LAYER_HPP
#define FERRUM_MEM_LAYER_HPP

#include "compute_backend.hpp"
#include "registration.hpp"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ferrum {

/** A layer type of the program, which register_layer registers. Several threads may call a
 *  function at a time. An exception becomes the error of the call: ferrum::error keeps its
 *  status and message, any other has FERRUM_ERROR_INTERNAL. */
struct layer {
    /** The type, such as "mine.scale". */
    std::string type;
    /** Computes the outputs of a call. Parameters are the last inputs. */
    std::function<void(const compute_call &)> forward;
    /** Changes the outputs, which have the type and the shape of the first input; empty: they
     *  keep them. */
    std::function<void(const compute_call &, std::vector<ferrum_tensor_desc> &)>
        infer;
    /** Returns the parameters as a JSON list; empty: the layers of a definition list them. */
    std::function<std::string(const compute_call &)> parameters;
    /** Writes a parameter, which is output 0 of the call; empty: none is made. */
    std::function<void(const compute_call &, std::string_view)> initialize;
    /** Decides how it computes; empty: without a workspace. */
    std::function<ferrum_compute_plan(const compute_call &)> plan;
    /** A text for people; empty: the type. */
    std::string name;
    /** The configuration as a JSON object; empty: {}. */
    std::string config;
    /** Shape of the first input, with -1 for any length. Not read unless has_input_shape. */
    std::vector<std::int64_t> input_shape;
    bool has_input_shape = false;
    std::uint32_t output_count = 1;
    /** FERRUM_LAYER_* flags. */
    std::uint32_t flags = 0;
};

namespace detail {

inline ferrum_status call_layer_forward(const ferrum_compute_call *call,
                                        void *data) noexcept {
    return compute_status(call->message_out, [&] {
        static_cast<layer *>(data)->forward(compute_call(*call));
    });
}

inline ferrum_status call_layer_plan(const ferrum_compute_call *call,
                                     ferrum_compute_plan *plan_out,
                                     void *data) noexcept {
    return compute_status(call->message_out, [&] {
        *plan_out = static_cast<layer *>(data)->plan(compute_call(*call));
    });
}

inline ferrum_status call_layer_infer(const ferrum_compute_call *call,
                                      ferrum_tensor_desc *outputs_out,
                                      void *data) noexcept {
    return compute_status(call->message_out, [&] {
        const std::size_t count = static_cast<std::size_t>(call->output_count);
        std::vector<ferrum_tensor_desc> list(outputs_out, outputs_out + count);
        static_cast<layer *>(data)->infer(compute_call(*call), list);
        if (list.size() != count)
            throw program_failure(FERRUM_ERROR_INVALID_ARGUMENT,
                                  "infer has changed the number of outputs");
        std::copy(list.begin(), list.end(), outputs_out);
    });
}

inline ferrum_status call_layer_parameters(const ferrum_compute_call *call,
                                           ferrum_layer_list_fn take,
                                           std::uint64_t list,
                                           void *data) noexcept {
    return compute_status(call->message_out, [&] {
        const std::string text =
            static_cast<layer *>(data)->parameters(compute_call(*call));
        const ferrum_status status = take(list, text.data(), text.size());
        if (status != FERRUM_OK)
            throw error(failure::last(status));
    });
}

inline ferrum_status call_layer_initialize(const ferrum_compute_call *call,
                                           const char *parameter,
                                           void *data) noexcept {
    return compute_status(call->message_out, [&] {
        static_cast<layer *>(data)->initialize(compute_call(*call), parameter);
    });
}

inline void call_layer_release(void *data) noexcept {
    delete static_cast<layer *>(data);
}

} // namespace detail

/** Registers a layer type. It stays registered while the registration exists, and cannot be
 *  removed while models or operations use it: then a destructor of the registration leaves it
 *  to the stop of the library. */
inline result<registration> try_register_layer(layer of) {
    auto owned = std::make_unique<layer>(std::move(of));
    ferrum_layer raw = FERRUM_LAYER_INIT;
    raw.flags = owned->flags;
    raw.type = owned->type.c_str();
    raw.name = owned->name.empty() ? nullptr : owned->name.c_str();
    if (owned->has_input_shape) {
        raw.input_rank = static_cast<std::uint32_t>(owned->input_shape.size());
        std::copy_n(owned->input_shape.begin(),
                    std::min<std::size_t>(owned->input_shape.size(),
                                          FERRUM_TENSOR_RANK_MAX),
                    raw.input_shape);
    }
    raw.output_count = owned->output_count;
    if (!owned->config.empty()) {
        raw.config_json = owned->config.data();
        raw.config_bytes = owned->config.size();
    }
    if (owned->forward)
        raw.forward = detail::call_layer_forward;
    if (owned->plan)
        raw.plan = detail::call_layer_plan;
    if (owned->infer)
        raw.infer = detail::call_layer_infer;
    if (owned->parameters)
        raw.parameters = detail::call_layer_parameters;
    if (owned->initialize)
        raw.initialize = detail::call_layer_initialize;
    raw.release = detail::call_layer_release;
    raw.user_data = owned.get();
    ferrum_registration out{};
    const ferrum_status status = ferrum_layer_register(&raw, &out);
    if (status != FERRUM_OK)
        return failure::last(status);
    owned.release(); /* the library calls raw.release */
    return registration(nullptr, out);
}
inline registration register_layer(layer of) {
    return try_register_layer(std::move(of)).value();
}

} // namespace ferrum

#endif /* FERRUM_MEM_LAYER_HPP */
