/*
 * Functions of the program that the library calls: exceptions become errors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef FERRUM_MEM_PROGRAM_FUNCTION_HPP
#define FERRUM_MEM_PROGRAM_FUNCTION_HPP

#include "result.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <exception>
#include <string>
#include <utility>

namespace ferrum {

/** Makes the error of a function of the program, such as that of a compute backend or a
 *  pass. */
inline error program_failure(ferrum_status status, std::string message) {
    failure why;
    why.status = status;
    why.message = std::move(message);
    return error(std::move(why));
}

namespace detail {

/** Room for the message of a failed function of the program. */
struct message_room {
    char *start;
    std::size_t size;

    void write(const char *text) const noexcept {
        if (start == nullptr)
            return;
        const std::size_t length =
            std::min<std::size_t>(std::strlen(text), size - 1);
        std::memcpy(start, text, length);
        start[length] = 0;
    }
};

/** Calls a function of the program. An exception becomes a status and a message. */
template <class Call>
ferrum_status program_status(message_room message, Call call) noexcept {
    try {
        call();
        return FERRUM_OK;
    } catch (const error &failed) {
        message.write(failed.why().message.c_str());
        if (failed.status() != FERRUM_OK)
            return failed.status();
    } catch (const std::exception &failed) {
        message.write(failed.what());
    } catch (...) {
        message.write("an exception of an unknown type");
    }
    return FERRUM_ERROR_INTERNAL;
}

} // namespace detail

} // namespace ferrum

#endif /* FERRUM_MEM_PROGRAM_FUNCTION_HPP */
