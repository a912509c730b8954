/*
 * Weights: files of tensors.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef FERRUM_MEM_WEIGHTS_HPP
#define FERRUM_MEM_WEIGHTS_HPP

#include "calls/weights.hpp"
#include "registration.hpp"
#include "tensor_set.hpp"
#include "unique_handle.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ferrum {

namespace detail {

inline void end_weights(ferrum_weights h) noexcept {
    ferrum_weights_close(h, FERRUM_FORCE);
}

} // namespace detail

/** Called while bytes are read or written; it returns false to cancel. An exception from
 *  it terminates the process. */
using weights_progress_function =
    std::function<bool(const ferrum_weights_progress &)>;

namespace detail {

inline std::int32_t call_weights_progress(const ferrum_weights_progress *now,
                                          void *data) noexcept {
    return (*static_cast<weights_progress_function *>(data))(*now) ? 0 : 1;
}

} // namespace detail

/** The tensors to load, and the memory for them. Texts and memories are copied. */
struct weights_load_request {
    /** FERRUM_WEIGHTS_LOAD_* flags. */
    std::uint32_t flags = 0;
    /** Memories; empty for a load that maps or preloads. */
    std::vector<ferrum_weights_memory> memories;
    /** The order as JSON (docs/weights.md); empty: all tensors unchanged. */
    std::string specs_json;
    std::uint32_t threads = 0;
    std::uint64_t staging_bytes = 0;
    /** Called on a thread of the library; empty: not called. */
    weights_progress_function progress;
};

/** The settings of a conversion. */
struct weights_convert_request {
    ferrum_weights_format format = FERRUM_WEIGHTS_FORMAT_ANY;
    /** Replace an existing file of that name. */
    bool replaces = false;
    /** The order as JSON; empty: all tensors unchanged. */
    std::string specs_json;
    /** The metadata of the file as a JSON object of texts; empty: none. */
    std::string texts_json;
    weights_progress_function progress;
};

/** A file whose format a decoder reads; valid during the call that describes it. */
class weights_file {
  public:
    explicit weights_file(const ferrum_weights_file &raw) noexcept
        : raw_(raw) {}
    /** Its path, or the name of the memory. */
    const char *name() const noexcept { return raw_.name; }
    std::uint64_t size_bytes() const noexcept { return raw_.size_bytes; }
    /** Reads bytes of it. */
    result<done> try_read(std::uint64_t offset_bytes, void *to,
                          std::uint64_t size_bytes) const {
        return detail::outcome(
            raw_.read_at(raw_.file, offset_bytes, to, size_bytes));
    }
    void read(std::uint64_t offset_bytes, void *to,
              std::uint64_t size_bytes) const {
        try_read(offset_bytes, to, size_bytes).value();
    }

  private:
    const ferrum_weights_file &raw_;
};

/** A decoder of a format of the program. Exceptions from it end the process, except for
 *  ferrum::error from describe, which becomes the error of the call that opens the
 *  file. */
struct weights_decoder {
    /** Whether a file with these first bytes and this length is of the format. */
    std::function<bool(std::string_view start, std::uint64_t file_bytes)>
        recognises;
    /** Describes a file, as JSON (docs/weights.md). */
    std::function<std::string(const weights_file &)> describe;
};

/** A registered decoder, and its number for a source. */
struct weights_decoder_registration {
    registration held;
    std::uint32_t number = 0;
};

namespace detail {

inline std::int32_t call_recognises(const void *start, std::size_t size,
                                    std::uint64_t file_bytes,
                                    void *data) noexcept {
    const auto &decoder = *static_cast<weights_decoder *>(data);
    return decoder.recognises(
               std::string_view(static_cast<const char *>(start), size),
               file_bytes)
               ? 1
               : 0;
}

inline ferrum_status call_describe(const ferrum_weights_file *file,
                                   void *data) noexcept {
    try {
        const std::string json =
            static_cast<weights_decoder *>(data)->describe(weights_file(*file));
        return file->describe(file->file, json.data(), json.size());
    } catch (const error &failed) {
        return failed.status();
    }
}

} // namespace detail

/** A source to open. It refers to bytes of the caller, and owns its other values. */
class weights_source {
  public:
    /** A file, the index of several files, or a folder. */
    static weights_source file(std::string path) {
        return weights_source(FERRUM_WEIGHTS_SOURCE_FILE, std::move(path));
    }
    /** The bytes of a file in memory, with a name for messages. They stay valid and
     *  unchanged until the source is closed. */
    static weights_source memory(std::string_view bytes,
                                 std::string name = "memory") {
        weights_source made(FERRUM_WEIGHTS_SOURCE_MEMORY, std::move(name));
        made.raw_.data = bytes.data();
        made.raw_.data_bytes = bytes.size();
        return made;
    }

    /** Accepts only this format. */
    weights_source &format(ferrum_weights_format format) noexcept {
        raw_.format = format;
        return *this;
    }
    /** Accepts only the format of a decoder, by the number of its registration. */
    weights_source &decoder(std::uint32_t number) noexcept {
        raw_.decoder = number;
        return format(FERRUM_WEIGHTS_FORMAT_CUSTOM);
    }
    /** One tensor without a header, of this type and shape. The slowest dimension is
     *  first. */
    weights_source &raw(ferrum_dtype dtype,
                        const std::vector<std::uint64_t> &shape) noexcept {
        raw_.raw_dtype = dtype;
        raw_.raw_rank = static_cast<std::uint32_t>(shape.size());
        std::uint64_t *to = raw_.raw_shape;
        for (std::size_t i = 0; i < shape.size() && i < FERRUM_WEIGHTS_RANK_MAX;
             i++)
            to[i] = shape[i];
        return format(FERRUM_WEIGHTS_FORMAT_RAW);
    }

    /** The struct for C, valid as long as this object and the bytes. */
    ferrum_weights_source get() const noexcept {
        ferrum_weights_source made = raw_;
        made.path = name_.c_str();
        return made;
    }

  private:
    weights_source(ferrum_weights_source_kind kind, std::string name)
        : name_(std::move(name)) {
        raw_.kind = kind;
    }

    std::string name_;
    ferrum_weights_source raw_ = FERRUM_WEIGHTS_SOURCE_INIT;
};

/** Owns a ferrum_weights: an open source of tensors. */
class weights
    : public detail::unique_handle<ferrum_weights, detail::end_weights>,
      public weights_calls<weights> {
  public:
    using unique_handle::unique_handle;

    static result<weights> try_open(const ferrum_weights_source &source) {
        ferrum_weights out{};
        const ferrum_status status = ferrum_weights_open(&source, &out);
        if (status != FERRUM_OK)
            return failure::last(status);
        return weights(out);
    }
    static weights open(const ferrum_weights_source &source) {
        return try_open(source).value();
    }
    static result<weights> try_open(const weights_source &source) {
        return try_open(source.get());
    }
    static weights open(const weights_source &source) {
        return try_open(source).value();
    }
    /** Opens a file, the index of several files, or a folder. */
    static result<weights> try_open(detail::c_text path) {
        ferrum_weights_source source = FERRUM_WEIGHTS_SOURCE_INIT;
        source.path = path.data();
        return try_open(source);
    }
    static weights open(detail::c_text path) { return try_open(path).value(); }
    /** Whether a source can be loaded; if not, the failure has the reason. */
    static result<done> try_check(const ferrum_weights_source &source) {
        return detail::outcome(ferrum_weights_check(&source));
    }
    static void check(const ferrum_weights_source &source) {
        try_check(source).value();
    }
    static result<done> try_check(const weights_source &source) {
        return try_check(source.get());
    }
    static void check(const weights_source &source) {
        try_check(source).value();
    }

    /** Registers a decoder of another format, until the registration ends. */
    static result<weights_decoder_registration>
    try_add_decoder(detail::c_text format, weights_decoder decoder) {
        auto owned = std::make_shared<weights_decoder>(std::move(decoder));
        ferrum_weights_decoder raw = FERRUM_WEIGHTS_DECODER_INIT;
        raw.format = format.data();
        if (owned->recognises)
            raw.recognises = detail::call_recognises;
        if (owned->describe)
            raw.decode = detail::call_describe;
        raw.user_data = owned.get();
        std::uint32_t number = 0;
        ferrum_registration out{};
        const ferrum_status status =
            ferrum_weights_decoder_add(&raw, &number, &out);
        if (status != FERRUM_OK)
            return failure::last(status);
        return weights_decoder_registration{registration(std::move(owned), out),
                                            number};
    }
    static weights_decoder_registration add_decoder(detail::c_text format,
                                                    weights_decoder decoder) {
        return try_add_decoder(format, std::move(decoder)).value();
    }

    /** Starts a load. The set owns the callable of the request. */
    result<tensor_set> try_load(const weights_load_request &request) const {
        ferrum_weights_load_request raw = FERRUM_WEIGHTS_LOAD_REQUEST_INIT;
        raw.flags = request.flags;
        raw.memories = request.memories.data();
        raw.memory_count = static_cast<std::uint32_t>(request.memories.size());
        raw.threads = request.threads;
        raw.staging_bytes = request.staging_bytes;
        raw.specs_json = text(request.specs_json);
        raw.specs_bytes = request.specs_json.size();
        auto held = hold(request.progress);
        raw.progress = held ? detail::call_weights_progress : nullptr;
        raw.user_data = held.get();
        ferrum_tensor_set out{};
        const ferrum_status status = ferrum_weights_load(get(), &raw, &out);
        if (status != FERRUM_OK)
            return failure::last(status);
        return tensor_set(std::move(held), out);
    }
    tensor_set load(const weights_load_request &request) const {
        return try_load(request).value();
    }
    /** Loads all tensors into blocks of a pool, and waits for the end. */
    result<tensor_set> try_load(ferrum_pool pool,
                                const std::string &specs_json = {}) const {
        weights_load_request request;
        ferrum_weights_memory memory{};
        memory.pool = pool;
        request.memories.push_back(memory);
        request.specs_json = specs_json;
        auto started = try_load(request);
        if (!started)
            return started;
        tensor_set set = std::move(started).value();
        const auto over = set.try_wait();
        if (!over)
            return over.why();
        return set;
    }
    tensor_set load(ferrum_pool pool,
                    const std::string &specs_json = {}) const {
        return try_load(pool, specs_json).value();
    }
    /** Maps tensors without a copy: they are mapped pages of the files. */
    result<tensor_set> try_map(const std::string &specs_json = {}) const {
        weights_load_request request;
        request.flags = FERRUM_WEIGHTS_LOAD_MAP;
        request.specs_json = specs_json;
        return try_load(request);
    }
    tensor_set map(const std::string &specs_json = {}) const {
        return try_map(specs_json).value();
    }

    /** Returns the SHA-256 sums of all files as JSON, and compares them with lines of
     *  sha256sum. */
    result<std::string>
    try_verify(const std::string *sums = nullptr,
               const weights_progress_function &progress = {}) const {
        auto held = hold(progress);
        return detail::text(
            [&](char *to, std::size_t room, std::size_t *length) {
                return ferrum_weights_verify(
                    get(), sums != nullptr ? sums->c_str() : nullptr,
                    sums != nullptr ? sums->size() : 0,
                    held ? detail::call_weights_progress : nullptr, held.get(),
                    to, room, length);
            });
    }
    std::string verify(const std::string *sums = nullptr,
                       const weights_progress_function &progress = {}) const {
        return try_verify(sums, progress).value();
    }

    /** Writes tensors to a file. */
    result<done>
    try_convert(detail::c_text path,
                const weights_convert_request &request = {}) const {
        ferrum_weights_convert_request raw =
            FERRUM_WEIGHTS_CONVERT_REQUEST_INIT;
        raw.format = request.format;
        raw.flags = request.replaces ? FERRUM_WEIGHTS_CONVERT_REPLACE : 0;
        raw.specs_json = text(request.specs_json);
        raw.specs_bytes = request.specs_json.size();
        raw.texts_json = text(request.texts_json);
        raw.texts_bytes = request.texts_json.size();
        auto held = hold(request.progress);
        raw.progress = held ? detail::call_weights_progress : nullptr;
        raw.user_data = held.get();
        return detail::outcome(
            ferrum_weights_convert(get(), path.data(), &raw));
    }
    void convert(detail::c_text path,
                 const weights_convert_request &request = {}) const {
        try_convert(path, request).value();
    }

    /** Closes the source. Sets keep their tensors. */
    result<done> try_close(std::uint32_t flags = 0) {
        return ended(ferrum_weights_close(get(), flags));
    }
    void close(std::uint32_t flags = 0) { try_close(flags).value(); }

  private:
    static const char *text(const std::string &of) {
        return of.empty() ? nullptr : of.c_str();
    }
    static std::shared_ptr<weights_progress_function>
    hold(const weights_progress_function &of) {
        return of ? std::make_shared<weights_progress_function>(of) : nullptr;
    }
};

} // namespace ferrum

#endif /* FERRUM_MEM_WEIGHTS_HPP */
