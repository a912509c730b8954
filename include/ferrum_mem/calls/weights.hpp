/*
 * Generated from include/ferrum_mem.h by scripts/genabi.py; do not edit.
 *
 * The calls of a ferrum_weights.
 * Each comes in two forms: `name(...)` throws ferrum::error, `try_name(...)` returns
 * a ferrum::result. ferrum_mem.h documents the C function that each of them calls, with
 * its errors and its threads.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef FERRUM_MEM_CALLS_WEIGHTS_HPP
#define FERRUM_MEM_CALLS_WEIGHTS_HPP

#include "../result.hpp"

namespace ferrum {

/** The calls of a ferrum_weights, for a class `Self` that inherits them and has
 *  `get()`. */
template <class Self> class weights_calls {
  public:
    /**
     * Returns the content of the source, as JSON with the fields of
     * docs/weights.md: format, total_size_bytes, dtypes, tensors with their
     * shapes, and extra.
     */
    result<std::string> try_metadata_json() const {
        return detail::text(
            [&](char *to, std::size_t room, std::size_t *found) {
                return ferrum_weights_metadata_json(handle(), to, room, found);
            });
    }
    std::string metadata_json() const { return try_metadata_json().value(); }

    /**
     * Returns the formats and types that the library can load, as JSON with the
     * fields of docs/weights.md: supported_formats (with the formats of
     * decoders), supported_sources, max_tensor_size, supports_streaming,
     * supports_concurrent and supported_transformations.
     */
    static result<std::string> try_capabilities_json() {
        return detail::text(ferrum_weights_capabilities_json);
    }
    static std::string capabilities_json() {
        return try_capabilities_json().value();
    }

    /** Finds a tensor of a source by its name. */
    result<ferrum_tensor_info> try_find(detail::c_text name) const {
        ferrum_tensor_info info_out = FERRUM_TENSOR_INFO_INIT;
        const ferrum_status status =
            ferrum_weights_find(handle(), name.data(), &info_out);
        return detail::outcome(status, info_out);
    }
    ferrum_tensor_info find(detail::c_text name) const {
        return try_find(name).value();
    }

  private:
    ferrum_weights handle() const noexcept {
        return static_cast<const Self &>(*this).get();
    }
};

} // namespace ferrum

#endif /* FERRUM_MEM_CALLS_WEIGHTS_HPP */
