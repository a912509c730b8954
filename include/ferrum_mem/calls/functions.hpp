/*
 * Generated from include/ferrum_mem.h by scripts/genabi.py; do not edit.
 *
 * The calls that need no handle.
 * Each comes in two forms: `name(...)` throws ferrum::error, `try_name(...)` returns
 * a ferrum::result. ferrum_mem.h documents the C function that each of them calls, with
 * its errors and its threads.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef FERRUM_MEM_CALLS_FUNCTIONS_HPP
#define FERRUM_MEM_CALLS_FUNCTIONS_HPP

#include "../result.hpp"

namespace ferrum {

/**
 * Lists every backend with its devices, or with the reason why the backend
 * cannot be used here, as JSON. The host comes first, then cuda, rocm, metal
 * and opencl.
 */
inline result<std::string> try_backends_json() {
    return detail::text(ferrum_backends_json);
}
inline std::string backends_json() { return try_backends_json().value(); }

/**
 * Queries all backends again. Calls that run at the same time share one query.
 */
inline result<done> try_backends_refresh() {
    return detail::outcome(ferrum_backends_refresh());
}
inline void backends_refresh() { try_backends_refresh().value(); }

/**
 * Returns the content of ferrum_backends_json as text for people: a header
 * line, a tick or a cross for each backend with its devices or its error, and
 * the recommended backend.
 */
inline result<std::string> try_backends_summary() {
    return detail::text(ferrum_backends_summary);
}
inline std::string backends_summary() { return try_backends_summary().value(); }

/**
 * Returns the backend that FERRUM_BACKEND_AUTO tries first: the first of CUDA,
 * ROCm, Metal and OpenCL that is usable and has a device, otherwise the CPU.
 */
inline result<ferrum_backend> try_backend_best() {
    ferrum_backend backend_out = 0;
    const ferrum_status status = ferrum_backend_best(&backend_out);
    return detail::outcome(status, backend_out);
}
inline ferrum_backend backend_best() { return try_backend_best().value(); }

/**
 * Finds the first device that has enough room: enough free memory or, where
 * free memory is not known, enough of 80 % of the capacity. Opens no device.
 * The data of vendors' devices comes from the last discovery.
 */
inline result<ferrum_backend_choice>
try_backend_select(ferrum_backend preference, std::uint64_t required_bytes) {
    ferrum_backend_choice choice_out = FERRUM_BACKEND_CHOICE_INIT;
    const ferrum_status status =
        ferrum_backend_select(preference, required_bytes, &choice_out);
    return detail::outcome(status, choice_out);
}
inline ferrum_backend_choice backend_select(ferrum_backend preference,
                                            std::uint64_t required_bytes) {
    return try_backend_select(preference, required_bytes).value();
}

/**
 * Reads memory and processor of this machine. Works also before ferrum_init.
 */
inline result<ferrum_host_info> try_host_info() {
    ferrum_host_info info_out = FERRUM_HOST_INFO_INIT;
    const ferrum_status status = ferrum_host_get_info(&info_out);
    return detail::outcome(status, info_out);
}
inline ferrum_host_info host_info() { return try_host_info().value(); }

/** Returns all counters as JSON, for tools. */
inline result<std::string> try_snapshot_json() {
    return detail::text(ferrum_snapshot_json);
}
inline std::string snapshot_json() { return try_snapshot_json().value(); }

/**
 * Lists the objects and blocks that are live now as JSON, or, after
 * ferrum_shutdown, those that were live when the library stopped.
 */
inline result<std::string> try_leak_report_json() {
    return detail::text(ferrum_leak_report_json);
}
inline std::string leak_report_json() { return try_leak_report_json().value(); }

/**
 * Returns the pressure level for a capacity and a number of free bytes,
 * computed with integers and without hysteresis. A capacity of 0 means unknown
 * and gives LOW. More free bytes than the capacity count as an empty device.
 */
inline result<ferrum_pressure_level>
try_pressure_level_of(ferrum_pressure_profile profile,
                      std::uint64_t total_bytes, std::uint64_t free_bytes) {
    ferrum_pressure_level level_out = 0;
    const ferrum_status status =
        ferrum_pressure_level_of(profile, total_bytes, free_bytes, &level_out);
    return detail::outcome(status, level_out);
}
inline ferrum_pressure_level pressure_level_of(ferrum_pressure_profile profile,
                                               std::uint64_t total_bytes,
                                               std::uint64_t free_bytes) {
    return try_pressure_level_of(profile, total_bytes, free_bytes).value();
}

/**
 * Returns the pressure level for a ratio, 0 for empty and 1 for full, for
 * callers that have only the ratio. A ratio above 1 counts as 1.
 */
inline result<ferrum_pressure_level>
try_pressure_from_utilization(ferrum_pressure_profile profile, double ratio) {
    ferrum_pressure_level level_out = 0;
    const ferrum_status status =
        ferrum_pressure_from_utilization(profile, ratio, &level_out);
    return detail::outcome(status, level_out);
}
inline ferrum_pressure_level
pressure_from_utilization(ferrum_pressure_profile profile, double ratio) {
    return try_pressure_from_utilization(profile, ratio).value();
}

/**
 * Returns the size of the weights. With h = hidden_size, i = intermediate_size,
 * n heads and kv key and value heads, each layer has 2h^2 + 2h(kv (h/n)) + 3hi
 * + 2h elements, with h/n rounded down, and the rest has 2 vocab_size h + h
 * elements.
 */
inline result<std::uint64_t>
try_estimate_model_memory(const ferrum_model_shape &shape) {
    std::uint64_t bytes_out = 0;
    const ferrum_status status =
        ferrum_estimate_model_memory(&shape, &bytes_out);
    return detail::outcome(status, bytes_out);
}
inline std::uint64_t estimate_model_memory(const ferrum_model_shape &shape) {
    return try_estimate_model_memory(shape).value();
}

/**
 * Returns the size of the keys and values of one sequence: 2 x num_layers x
 * max_seq_len x num_kv_heads x head_dim x dtype_bytes.
 */
inline result<std::uint64_t>
try_estimate_kv_cache_memory(const ferrum_kv_cache_shape &shape) {
    std::uint64_t bytes_out = 0;
    const ferrum_status status =
        ferrum_estimate_kv_cache_memory(&shape, &bytes_out);
    return detail::outcome(status, bytes_out);
}
inline std::uint64_t
estimate_kv_cache_memory(const ferrum_kv_cache_shape &shape) {
    return try_estimate_kv_cache_memory(shape).value();
}

/**
 * Returns the size of the weights, of the keys and values (with h/n elements in
 * a head), and of the activations of one token, 2 x dtype_bytes x (h + 2i).
 */
inline result<ferrum_inference_estimate>
try_estimate_inference_memory(const ferrum_model_shape &shape) {
    ferrum_inference_estimate estimate_out = FERRUM_INFERENCE_ESTIMATE_INIT;
    const ferrum_status status =
        ferrum_estimate_inference_memory(&shape, &estimate_out);
    return detail::outcome(status, estimate_out);
}
inline ferrum_inference_estimate
estimate_inference_memory(const ferrum_model_shape &shape) {
    return try_estimate_inference_memory(shape).value();
}

/**
 * Estimates the memory for serving a model, as JSON with the fields of
 * docs/estimate.md. These are the fields of `ferrum-mem fit --json` without
 * device and devices. Without free_bytes, the fields of the result are missing
 * too (fits, free_bytes, left_bytes, missing_bytes, max_context, max_batch and
 * their reasons). The longest context and the largest batch are exact.
 */
inline result<std::string>
try_estimate_file_json(detail::c_text path,
                       const ferrum_estimate_request *request = nullptr) {
    return detail::text([&](char *to, std::size_t room, std::size_t *found) {
        return ferrum_estimate_file_json(path.data(), request, to, room, found);
    });
}
inline std::string
estimate_file_json(detail::c_text path,
                   const ferrum_estimate_request *request = nullptr) {
    return try_estimate_file_json(path, request).value();
}

/** The same as ferrum_estimate_file_json, for the text of a config.json. */
inline result<std::string>
try_estimate_config_json(std::string_view config_text,
                         const ferrum_estimate_request *request = nullptr) {
    return detail::text([&](char *to, std::size_t room, std::size_t *found) {
        return ferrum_estimate_config_json(
            config_text.data(), config_text.size(), request, to, room, found);
    });
}
inline std::string
estimate_config_json(std::string_view config_text,
                     const ferrum_estimate_request *request = nullptr) {
    return try_estimate_config_json(config_text, request).value();
}

/**
 * Returns an id that no buffer of the process has had. Ids increase from 1; 0
 * is no id. Needs no ferrum_init.
 */
inline result<std::uint64_t> try_buffer_id_new() {
    std::uint64_t id_out = 0;
    const ferrum_status status = ferrum_buffer_id_new(&id_out);
    return detail::outcome(status, id_out);
}
inline std::uint64_t buffer_id_new() { return try_buffer_id_new().value(); }

/** Returns an id as text for messages: "Buffer#7". Needs no ferrum_init. */
inline result<std::string> try_buffer_id_text(std::uint64_t buffer_id) {
    return detail::text([&](char *to, std::size_t room, std::size_t *found) {
        return ferrum_buffer_id_text(buffer_id, to, room, found);
    });
}
inline std::string buffer_id_text(std::uint64_t buffer_id) {
    return try_buffer_id_text(buffer_id).value();
}

/** Returns the smallest power of two that is not below n; 1 for 0. */
inline result<std::uint64_t> try_round_up_power_of_2(std::uint64_t n) {
    std::uint64_t result_out = 0;
    const ferrum_status status = ferrum_round_up_power_of_2(n, &result_out);
    return detail::outcome(status, result_out);
}
inline std::uint64_t round_up_power_of_2(std::uint64_t n) {
    return try_round_up_power_of_2(n).value();
}

/**
 * Returns the bucket of a size: the next power of two, like
 * ferrum_round_up_power_of_2.
 */
inline result<std::uint64_t> try_size_class(std::uint64_t size_bytes) {
    std::uint64_t class_bytes_out = 0;
    const ferrum_status status =
        ferrum_size_class(size_bytes, &class_bytes_out);
    return detail::outcome(status, class_bytes_out);
}
inline std::uint64_t size_class(std::uint64_t size_bytes) {
    return try_size_class(size_bytes).value();
}

/**
 * Returns the size of a number of 32-bit floats. FERRUM_ERROR_OVERFLOW when it
 * does not fit 64 bits.
 */
inline result<std::uint64_t> try_f32_bytes(std::uint64_t count) {
    std::uint64_t bytes_out = 0;
    const ferrum_status status = ferrum_f32_bytes(count, &bytes_out);
    return detail::outcome(status, bytes_out);
}
inline std::uint64_t f32_bytes(std::uint64_t count) {
    return try_f32_bytes(count).value();
}

/** The same as ferrum_f32_bytes, for 16-bit floats. */
inline result<std::uint64_t> try_f16_bytes(std::uint64_t count) {
    std::uint64_t bytes_out = 0;
    const ferrum_status status = ferrum_f16_bytes(count, &bytes_out);
    return detail::outcome(status, bytes_out);
}
inline std::uint64_t f16_bytes(std::uint64_t count) {
    return try_f16_bytes(count).value();
}

/**
 * Lists the layer types of the program in alphabetical order, as JSON with the
 * fields of docs/layers.md.
 */
inline result<std::string> try_layers_json() {
    return detail::text(ferrum_layers_json);
}
inline std::string layers_json() { return try_layers_json().value(); }

/** Returns the definition of the model in a folder or a file, as JSON. */
inline result<std::string> try_model_export_json(detail::c_text path) {
    return detail::text([&](char *to, std::size_t room, std::size_t *found) {
        return ferrum_model_export_json(path.data(), to, room, found);
    });
}
inline std::string model_export_json(detail::c_text path) {
    return try_model_export_json(path).value();
}

/**
 * Writes the model in a folder or a file as a file of ONNX. docs/onnx.md
 * describes it. The file gets its name at the end: after an error no new file
 * exists.
 */
inline result<done> try_model_export_onnx(detail::c_text path,
                                          detail::c_text file,
                                          std::uint32_t flags = 0) {
    return detail::outcome(
        ferrum_model_export_onnx(path.data(), file.data(), flags));
}
inline void model_export_onnx(detail::c_text path, detail::c_text file,
                              std::uint32_t flags = 0) {
    try_model_export_onnx(path, file, flags).value();
}

/** Writes a definition as a file of ONNX. */
inline result<done> try_definition_export_onnx(std::string_view definition_text,
                                               ferrum_weights weights,
                                               detail::c_text file,
                                               std::uint32_t flags = 0) {
    return detail::outcome(ferrum_definition_export_onnx(
        definition_text.data(), definition_text.size(), weights, file.data(),
        flags));
}
inline void definition_export_onnx(std::string_view definition_text,
                                   ferrum_weights weights, detail::c_text file,
                                   std::uint32_t flags = 0) {
    try_definition_export_onnx(definition_text, weights, file, flags).value();
}

/**
 * Checks the model in a folder or a file without building it, and returns the
 * issues as JSON. Warnings let a build go on; issues of the severity error or
 * critical stop it.
 */
inline result<std::string> try_model_validate_json(detail::c_text path) {
    return detail::text([&](char *to, std::size_t room, std::size_t *found) {
        return ferrum_model_validate_json(path.data(), to, room, found);
    });
}
inline std::string model_validate_json(detail::c_text path) {
    return try_model_validate_json(path).value();
}

/** Checks a definition, and returns the issues as JSON. */
inline result<std::string>
try_definition_validate_json(std::string_view definition_text) {
    return detail::text([&](char *to, std::size_t room, std::size_t *found) {
        return ferrum_definition_validate_json(
            definition_text.data(), definition_text.size(), to, room, found);
    });
}
inline std::string definition_validate_json(std::string_view definition_text) {
    return try_definition_validate_json(definition_text).value();
}

/**
 * Returns what the library can build, as JSON: architectures, formats of
 * weights, optimizations and capabilities.
 */
inline result<std::string> try_builder_info_json() {
    return detail::text(ferrum_builder_info_json);
}
inline std::string builder_info_json() {
    return try_builder_info_json().value();
}

/**
 * Estimates how long the build of a definition takes on this machine, as JSON.
 * Earlier builds of the process make the estimate better.
 */
inline result<std::string>
try_build_estimate_json(std::string_view definition_text) {
    return detail::text([&](char *to, std::size_t room, std::size_t *found) {
        return ferrum_build_estimate_json(
            definition_text.data(), definition_text.size(), to, room, found);
    });
}
inline std::string build_estimate_json(std::string_view definition_text) {
    return try_build_estimate_json(definition_text).value();
}

/**
 * Lists the executors that have a name, as JSON: {"executors": [...]} in the
 * order of the names, each with its name and the fields of
 * ferrum_executor_info_json.
 */
inline result<std::string> try_executors_json() {
    return detail::text(ferrum_executors_json);
}
inline std::string executors_json() { return try_executors_json().value(); }

} // namespace ferrum

#endif /* FERRUM_MEM_CALLS_FUNCTIONS_HPP */
