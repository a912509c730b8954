/*
 * Generated from include/ferrum_mem.h by scripts/genabi.py; do not edit.
 *
 * The calls of a ferrum_executor.
 * Each comes in two forms: `name(...)` throws ferrum::error, `try_name(...)` returns
 * a ferrum::result. ferrum_mem.h documents the C function that each of them calls, with
 * its errors and its threads.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef FERRUM_MEM_CALLS_EXECUTOR_HPP
#define FERRUM_MEM_CALLS_EXECUTOR_HPP

#include "../result.hpp"

namespace ferrum {

/** The calls of a ferrum_executor, for a class `Self` that inherits them and has
 *  `get()`. */
template <class Self> class executor_calls {
  public:
    /**
     * Returns the memory of the activations of an executor for given lengths of
     * its dimensions, as JSON. Allocates no memory of the device; the model may
     * sleep.
     */
    result<std::string> try_plan_json(std::string_view dimensions_text) const {
        return detail::text([&](char *to, std::size_t room,
                                std::size_t *found) {
            return ferrum_executor_plan_json(handle(), dimensions_text.data(),
                                             dimensions_text.size(), to, room,
                                             found);
        });
    }
    std::string plan_json(std::string_view dimensions_text) const {
        return try_plan_json(dimensions_text).value();
    }

    /**
     * Returns the state of an executor, as JSON: its memory, inputs, outputs
     * and counters.
     */
    result<std::string> try_info_json() const {
        return detail::text(
            [&](char *to, std::size_t room, std::size_t *found) {
                return ferrum_executor_info_json(handle(), to, room, found);
            });
    }
    std::string info_json() const { return try_info_json().value(); }

    /**
     * Returns the definition that an executor runs, after the passes, as JSON.
     */
    result<std::string> try_definition_json() const {
        return detail::text([&](char *to, std::size_t room,
                                std::size_t *found) {
            return ferrum_executor_definition_json(handle(), to, room, found);
        });
    }
    std::string definition_json() const {
        return try_definition_json().value();
    }

    /**
     * Writes the model of an executor as a file of ONNX, from the files or the
     * weights of which it was built: its definition before the passes, and the
     * elements as they are stored there.
     */
    result<done> try_export_onnx(detail::c_text file,
                                 std::uint32_t flags = 0) const {
        return detail::outcome(
            ferrum_executor_export_onnx(handle(), file.data(), flags));
    }
    void export_onnx(detail::c_text file, std::uint32_t flags = 0) const {
        try_export_onnx(file, flags).value();
    }

    /**
     * Returns what the build of an executor did, as JSON: warnings, the result
     * of each pass, the time of each part and its estimate.
     */
    result<std::string> try_report_json() const {
        return detail::text(
            [&](char *to, std::size_t room, std::size_t *found) {
                return ferrum_executor_report_json(handle(), to, room, found);
            });
    }
    std::string report_json() const { return try_report_json().value(); }

    /**
     * Puts a model to sleep: its parameters are kept in host memory or a file,
     * and the pages of parameters and arena are released (sleep.h). Addresses
     * and plans stay. A run waits for the wake, or returns FERRUM_ERROR_BUSY.
     */
    result<ferrum_sleep_report>
    try_sleep(const ferrum_sleep_config *config = nullptr) const {
        ferrum_sleep_report report_out = FERRUM_SLEEP_REPORT_INIT;
        const ferrum_status status =
            ferrum_executor_sleep(handle(), config, &report_out);
        return detail::outcome(status, report_out);
    }
    ferrum_sleep_report
    sleep(const ferrum_sleep_config *config = nullptr) const {
        return try_sleep(config).value();
    }

    /** Wakes a sleeping model. Its parameters have the same bits as before. */
    result<ferrum_wake_report>
    try_wake(const ferrum_wake_config *config = nullptr) const {
        ferrum_wake_report report_out = FERRUM_WAKE_REPORT_INIT;
        const ferrum_status status =
            ferrum_executor_wake(handle(), config, &report_out);
        return detail::outcome(status, report_out);
    }
    ferrum_wake_report wake(const ferrum_wake_config *config = nullptr) const {
        return try_wake(config).value();
    }

    /**
     * Gives an executor a name. The name keeps the model until
     * ferrum_executor_remove_name. The handle stays the caller's.
     */
    result<done> try_add_name(detail::c_text name) const {
        return detail::outcome(ferrum_executor_add_name(handle(), name.data()));
    }
    void add_name(detail::c_text name) const { try_add_name(name).value(); }

    /** Finds an executor by its name. */
    static result<Self> try_find(detail::c_text name) {
        ferrum_executor executor_out{};
        const ferrum_status status =
            ferrum_executor_find(name.data(), &executor_out);
        return detail::made<Self>(status, executor_out);
    }
    static Self find(detail::c_text name) { return try_find(name).value(); }

    /** Ends a name of an executor. */
    static result<Self> try_remove_name(detail::c_text name) {
        ferrum_executor executor_out{};
        const ferrum_status status =
            ferrum_executor_remove_name(name.data(), &executor_out);
        return detail::made<Self>(status, executor_out);
    }
    static Self remove_name(detail::c_text name) {
        return try_remove_name(name).value();
    }

  private:
    ferrum_executor handle() const noexcept {
        return static_cast<const Self &>(*this).get();
    }
};

} // namespace ferrum

#endif /* FERRUM_MEM_CALLS_EXECUTOR_HPP */
