/*
 * The library as an object: started, stopped, and what it logs.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef FERRUM_MEM_LIBRARY_HPP
#define FERRUM_MEM_LIBRARY_HPP

#include "result.hpp"

#include <utility>

namespace ferrum {

/** Keeps the library started while it lives. */
class library {
  public:
    static result<library> try_start(const ferrum_config *config = nullptr) {
        ferrum_status status = ferrum_init(config);
        if (status != FERRUM_OK)
            return failure::last(status);
        return library(true);
    }
    /** Starts the library, or joins it when it runs. */
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

    /** Stops it now; BUSY, and nothing has changed, while things are left. */
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

  private:
    explicit library(bool started) : started_(started) {}
    bool started_;
};

} // namespace ferrum

#endif /* FERRUM_MEM_LIBRARY_HPP */
