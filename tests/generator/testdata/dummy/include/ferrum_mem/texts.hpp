/*
 * Lists of texts in the form that the library takes.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef FERRUM_MEM_TEXTS_HPP
#define FERRUM_MEM_TEXTS_HPP

#include <string>
#include <vector>

namespace ferrum {
namespace detail {

/** Returns the list for one call. It is valid as long as texts. */
inline std::vector<const char *>
c_texts(const std::vector<std::string> &texts) {
    std::vector<const char *> out;
    out.reserve(texts.size());
    for (const std::string &text : texts)
        out.push_back(text.c_str());
    return out;
}

} // namespace detail
} // namespace ferrum

#endif /* FERRUM_MEM_TEXTS_HPP */
