/*
 * Generated from include/ferrum_mem.h by scripts/genabi.py; do not edit.
 *
 * The calls of a ferrum_compute.
 * Each comes in two forms: `name(...)` throws ferrum::error, `try_name(...)` returns
 * a ferrum::result. ferrum_mem.h documents the C function that each of them calls, with
 * its errors and its threads.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef FERRUM_MEM_CALLS_COMPUTE_HPP
#define FERRUM_MEM_CALLS_COMPUTE_HPP

#include "../result.hpp"

namespace ferrum {

/** The calls of a ferrum_compute, for a class `Self` that inherits them and has
 *  `get()`. */
template <class Self> class compute_calls {
  public:
    /** Opens a backend on a device. */
    static result<Self> try_open(const ferrum_compute_config &config) {
        ferrum_compute compute_out{};
        const ferrum_status status = ferrum_compute_open(&config, &compute_out);
        return detail::made<Self>(status, compute_out);
    }
    static Self open(const ferrum_compute_config &config) {
        return try_open(config).value();
    }

    /**
     * Returns the manager of the memory of a backend, for statistics and for
     * blocks of the program. It belongs to the backend: ferrum_manager_destroy
     * and ferrum_manager_configure_pool return FERRUM_ERROR_INVALID_STATE for
     * it, and the handle is invalid after the backend was closed. It is the
     * same handle each time.
     */
    result<ferrum_manager> try_manager() const {
        ferrum_manager manager_out{};
        const ferrum_status status =
            ferrum_compute_get_manager(handle(), &manager_out);
        return detail::outcome(status, manager_out);
    }
    ferrum_manager manager() const { return try_manager().value(); }

    /**
     * Returns the properties of a backend, as JSON with the fields of
     * docs/compute.md.
     */
    result<std::string> try_capabilities_json() const {
        return detail::text([&](char *to, std::size_t room,
                                std::size_t *found) {
            return ferrum_compute_capabilities_json(handle(), to, room, found);
        });
    }
    std::string capabilities_json() const {
        return try_capabilities_json().value();
    }

    /**
     * Returns the state of a backend, as JSON with the fields of
     * docs/compute.md: completed operations, memory by device, the last error.
     * Does not wait for the device.
     */
    result<std::string> try_status_json() const {
        return detail::text(
            [&](char *to, std::size_t room, std::size_t *found) {
                return ferrum_compute_status_json(handle(), to, room, found);
            });
    }
    std::string status_json() const { return try_status_json().value(); }

    /** Waits until all work of the device of a backend is done. */
    result<done>
    try_synchronize(std::chrono::nanoseconds timeout = forever) const {
        return detail::outcome(
            ferrum_compute_synchronize(handle(), detail::nanoseconds(timeout)));
    }
    void synchronize(std::chrono::nanoseconds timeout = forever) const {
        try_synchronize(timeout).value();
    }

    /**
     * Lists all backends in alphabetical order, also those that are not
     * available with the reason, as JSON with the fields of docs/compute.md.
     */
    static result<std::string> try_backends_json() {
        return detail::text(ferrum_compute_backends_json);
    }
    static std::string backends_json() { return try_backends_json().value(); }

    /**
     * Chooses a backend by requirements, and returns, as JSON with the fields
     * of docs/compute.md, its name and for each other backend why not. Among
     * backends that meet all requirements, one with another device than the
     * host is better; then one with more extra capabilities; then one with
     * larger limits; then the first name.
     */
    static result<std::string>
    try_find_json(std::string_view requirements_text) {
        return detail::text(
            [&](char *to, std::size_t room, std::size_t *found) {
                return ferrum_compute_find_json(requirements_text.data(),
                                                requirements_text.size(), to,
                                                room, found);
            });
    }
    static std::string find_json(std::string_view requirements_text) {
        return try_find_json(requirements_text).value();
    }

    /**
     * Returns the memory of the activations of a definition on a backend for
     * given lengths of its dimensions, as JSON, without building it.
     */
    result<std::string>
    try_compute_plan_json_(std::string_view definition_text,
                           std::uint32_t optimization_level,
                           std::string_view dimensions_text) const {
        return detail::text(
            [&](char *to, std::size_t room, std::size_t *found) {
                return ferrum_compute_plan_json(
                    handle(), definition_text.data(), definition_text.size(),
                    optimization_level, dimensions_text.data(),
                    dimensions_text.size(), to, room, found);
            });
    }
    std::string compute_plan_json_(std::string_view definition_text,
                                   std::uint32_t optimization_level,
                                   std::string_view dimensions_text) const {
        return try_compute_plan_json_(definition_text, optimization_level,
                                      dimensions_text)
            .value();
    }

  private:
    ferrum_compute handle() const noexcept {
        return static_cast<const Self &>(*this).get();
    }
};

} // namespace ferrum

#endif /* FERRUM_MEM_CALLS_COMPUTE_HPP */
