/*
 * Generated from include/ferrum_mem.h by scripts/genabi.py; do not edit.
 *
 * The calls of a ferrum_sequence.
 * Each comes in two forms: `name(...)` throws ferrum::error, `try_name(...)` returns
 * a ferrum::result. ferrum_mem.h documents the C function that each of them calls, with
 * its errors and its threads.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef FERRUM_MEM_CALLS_SEQUENCE_HPP
#define FERRUM_MEM_CALLS_SEQUENCE_HPP

#include "../result.hpp"

namespace ferrum {

/** The calls of a ferrum_sequence, for a class `Self` that inherits them and has
 *  `get()`. */
template <class Self> class sequence_calls {
  public:
    /**
     * Runs all operations of a sequence, as ferrum_op_run does. The first run
     * after an addition makes the workspace.
     */
    result<done> try_run(ferrum_stream stream = {}) const {
        return detail::outcome(ferrum_sequence_run(handle(), stream));
    }
    void run(ferrum_stream stream = {}) const { try_run(stream).value(); }

  private:
    ferrum_sequence handle() const noexcept {
        return static_cast<const Self &>(*this).get();
    }
};

} // namespace ferrum

#endif /* FERRUM_MEM_CALLS_SEQUENCE_HPP */
