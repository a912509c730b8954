/*
 * The class of a ferrum_dummy_job.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef FERRUM_MEM_DUMMY_JOB_HPP
#define FERRUM_MEM_DUMMY_JOB_HPP

#include "calls/dummy_job.hpp"
#include "unique_handle.hpp"

namespace ferrum {

namespace detail {

inline void end_dummy_job(ferrum_dummy_job h) noexcept {
    ferrum_dummy_job_destroy(h, FERRUM_FORCE);
}

} // namespace detail

/** Owns a ferrum_dummy_job. */
class dummy_job
    : public detail::unique_handle<ferrum_dummy_job, detail::end_dummy_job>,
      public dummy_job_calls<dummy_job> {
  public:
    using unique_handle::unique_handle;

    ferrum::result<done> try_destroy(std::uint32_t flags = 0) {
        return ended(ferrum_dummy_job_destroy(get(), flags));
    }
    void destroy(std::uint32_t flags = 0) { try_destroy(flags).value(); }
};

} // namespace ferrum

#endif /* FERRUM_MEM_DUMMY_JOB_HPP */
