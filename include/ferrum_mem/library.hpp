/*
 * The library as an object: start, stop, and log.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef FERRUM_MEM_LIBRARY_HPP
#define FERRUM_MEM_LIBRARY_HPP

#include "calls/names.hpp"
#include "result.hpp"

#include <utility>

namespace ferrum {

/** Keeps the library started while it exists. */
class library {
  public:
    static result<library> try_start(const ferrum_config *config = nullptr) {
        ferrum_status status = ferrum_init(config);
        if (status != FERRUM_OK)
            return failure::last(status);
        return library(true);
    }
    /** Starts the library, or joins it if it runs. */
    explicit library(const ferrum_config *config = nullptr)
        : library(try_start(config).value()) {}
    library(library &&other) noexcept
        : started_(std::exchange(other.started_, false)) {}
    library &operator=(library &&other) noexcept {
        std::swap(started_, other.started_);
        return *this;
    }
    ~library() {
        if (started_)
            ferrum_shutdown(FERRUM_FORCE);
    }

    /** Stops the library. BUSY, and nothing has changed, while objects exist. */
    result<done> try_stop() {
        ferrum_status status = started_ ? ferrum_shutdown(0) : FERRUM_OK;
        if (status == FERRUM_OK)
            started_ = false;
        return detail::outcome(status);
    }
    void stop() { try_stop().value(); }

    static result<done> try_set_log(ferrum_log_level minimum_level,
                                    ferrum_log_fn callback, void *user_data) {
        return detail::outcome(
            ferrum_log_set_callback(minimum_level, callback, user_data));
    }
    static void set_log(ferrum_log_level minimum_level, ferrum_log_fn callback,
                        void *user_data) {
        try_set_log(minimum_level, callback, user_data).value();
    }

    static result<done> try_set_call_site(ferrum_call_site_fn callback,
                                          void *user_data) {
        return detail::outcome(
            ferrum_call_site_set_callback(callback, user_data));
    }
    static void set_call_site(ferrum_call_site_fn callback, void *user_data) {
        try_set_call_site(callback, user_data).value();
    }

  private:
    explicit library(bool started) : started_(started) {}
    bool started_;
};

/** Version of the binary interface of the loaded library. Callable at any time. */
inline std::uint32_t abi_version() noexcept { return ferrum_abi_version(); }
/** Version of the loaded library, such as "0.1.0". Callable at any time. */
inline const char *version_string() noexcept { return ferrum_version_string(); }
/** Name of a status, such as "FERRUM_ERROR_BUSY". Callable at any time. */
inline const char *status_name(ferrum_status status) noexcept {
    return ferrum_status_name(status);
}
/** The meaning of a status in a few words. Callable at any time. */
inline const char *status_text(ferrum_status status) noexcept {
    return ferrum_status_text(status);
}
/** Name of a backend, such as "cuda". Callable at any time. */
inline const char *backend_name(ferrum_backend backend) noexcept {
    return ferrum_backend_name(backend);
}
/** Name of a backend for people, such as "CUDA". Callable at any time. */
inline const char *backend_display_name(ferrum_backend backend) noexcept {
    return ferrum_backend_display_name(backend);
}

} // namespace ferrum

#endif /* FERRUM_MEM_LIBRARY_HPP */
