/*
 * Generated from include/ferrum_mem.h by scripts/genabi.py; do not edit.
 *
 * The calls of a ferrum_elastic_pool.
 * Each comes in two forms: `name(...)` throws ferrum::error, `try_name(...)` returns
 * a ferrum::result. ferrum_mem.h documents the C function that each of them calls, with
 * its errors and its threads.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef FERRUM_MEM_CALLS_ELASTIC_POOL_HPP
#define FERRUM_MEM_CALLS_ELASTIC_POOL_HPP

#include "../result.hpp"

namespace ferrum {

/** The calls of a ferrum_elastic_pool, for a class `Self` that inherits them and has
 *  `get()`. */
template <class Self> class elastic_pool_calls {
  public:
    /**
     * Adds a model while other models run. The model gets address space, and
     * memory only for its tables.
     */
    result<done> try_register_model(detail::c_text model,
                                    const ferrum_model_config &config) const {
        return detail::outcome(ferrum_elastic_pool_register_model(
            handle(), model.data(), &config));
    }
    void register_model(detail::c_text model,
                        const ferrum_model_config &config) const {
        try_register_model(model, config).value();
    }

    /**
     * Removes a model while other models run. The call waits for queued work
     * that uses freed ranges of the model, and for running calls of its reclaim
     * callbacks; these are not called again. The memory of the model becomes
     * available to the other models.
     */
    result<done> try_unregister_model(detail::c_text model,
                                      std::uint32_t flags = 0) const {
        return detail::outcome(ferrum_elastic_pool_unregister_model(
            handle(), model.data(), flags));
    }
    void unregister_model(detail::c_text model, std::uint32_t flags = 0) const {
        try_unregister_model(model, flags).value();
    }

    /**
     * Maps memory at many ranges of a model, like ferrum_vpool_alloc_batch: at
     * all of them, or at none on failure. The pages of all ranges are one
     * request to the pool: it waits once, and the reclaim callbacks are called
     * with the sum of the missing memory.
     */
    result<done>
    try_alloc_batch(detail::c_text model, const ferrum_byte_range *ranges,
                    std::size_t count,
                    const ferrum_batch_options *options = nullptr) const {
        return detail::outcome(ferrum_elastic_pool_alloc_batch(
            handle(), model.data(), ranges, count, options));
    }
    void alloc_batch(detail::c_text model, const ferrum_byte_range *ranges,
                     std::size_t count,
                     const ferrum_batch_options *options = nullptr) const {
        try_alloc_batch(model, ranges, count, options).value();
    }
    result<done>
    try_alloc_batch(detail::c_text model,
                    const std::vector<ferrum_byte_range> &ranges,
                    const ferrum_batch_options *options = nullptr) const {
        return try_alloc_batch(model, detail::items(ranges), ranges.size(),
                               options);
    }
    void alloc_batch(detail::c_text model,
                     const std::vector<ferrum_byte_range> &ranges,
                     const ferrum_batch_options *options = nullptr) const {
        try_alloc_batch(model, ranges, options).value();
    }

    /** Frees a range of a model, like ferrum_vpool_free. */
    result<done> try_free(detail::c_text model, std::uint64_t offset_bytes,
                          std::uint64_t size_bytes,
                          ferrum_stream stream = {}) const {
        return detail::outcome(ferrum_elastic_pool_free(
            handle(), model.data(), offset_bytes, size_bytes, stream));
    }
    void free(detail::c_text model, std::uint64_t offset_bytes,
              std::uint64_t size_bytes, ferrum_stream stream = {}) const {
        try_free(model, offset_bytes, size_bytes, stream).value();
    }

    /**
     * Frees many ranges of a model, like ferrum_vpool_free_batch: all of them,
     * or none on failure.
     */
    result<done> try_free_batch(detail::c_text model,
                                const ferrum_byte_range *ranges,
                                std::size_t count,
                                ferrum_stream stream = {}) const {
        return detail::outcome(ferrum_elastic_pool_free_batch(
            handle(), model.data(), ranges, count, stream));
    }
    void free_batch(detail::c_text model, const ferrum_byte_range *ranges,
                    std::size_t count, ferrum_stream stream = {}) const {
        try_free_batch(model, ranges, count, stream).value();
    }
    result<done> try_free_batch(detail::c_text model,
                                const std::vector<ferrum_byte_range> &ranges,
                                ferrum_stream stream = {}) const {
        return try_free_batch(model, detail::items(ranges), ranges.size(),
                              stream);
    }
    void free_batch(detail::c_text model,
                    const std::vector<ferrum_byte_range> &ranges,
                    ferrum_stream stream = {}) const {
        try_free_batch(model, ranges, stream).value();
    }

    /** The same as ferrum_vpool_record_stream, for a range of a model. */
    result<done> try_record_stream(detail::c_text model,
                                   std::uint64_t offset_bytes,
                                   std::uint64_t size_bytes,
                                   ferrum_stream stream = {}) const {
        return detail::outcome(ferrum_elastic_pool_record_stream(
            handle(), model.data(), offset_bytes, size_bytes, stream));
    }
    void record_stream(detail::c_text model, std::uint64_t offset_bytes,
                       std::uint64_t size_bytes,
                       ferrum_stream stream = {}) const {
        try_record_stream(model, offset_bytes, size_bytes, stream).value();
    }

    /** The same as ferrum_vpool_record_stream_batch, for ranges of a model. */
    result<done> try_record_stream_batch(detail::c_text model,
                                         const ferrum_byte_range *ranges,
                                         std::size_t count,
                                         ferrum_stream stream = {}) const {
        return detail::outcome(ferrum_elastic_pool_record_stream_batch(
            handle(), model.data(), ranges, count, stream));
    }
    void record_stream_batch(detail::c_text model,
                             const ferrum_byte_range *ranges, std::size_t count,
                             ferrum_stream stream = {}) const {
        try_record_stream_batch(model, ranges, count, stream).value();
    }
    result<done>
    try_record_stream_batch(detail::c_text model,
                            const std::vector<ferrum_byte_range> &ranges,
                            ferrum_stream stream = {}) const {
        return try_record_stream_batch(model, detail::items(ranges),
                                       ranges.size(), stream);
    }
    void record_stream_batch(detail::c_text model,
                             const std::vector<ferrum_byte_range> &ranges,
                             ferrum_stream stream = {}) const {
        try_record_stream_batch(model, ranges, stream).value();
    }

    /** The same as ferrum_vpool_is_mapped, for a range of a model. */
    result<bool> try_is_mapped(detail::c_text model, std::uint64_t offset_bytes,
                               std::uint64_t size_bytes) const {
        std::uint32_t mapped_out = 0;
        const ferrum_status status = ferrum_elastic_pool_is_mapped(
            handle(), model.data(), offset_bytes, size_bytes, &mapped_out);
        return detail::outcome(status, mapped_out != 0);
    }
    bool is_mapped(detail::c_text model, std::uint64_t offset_bytes,
                   std::uint64_t size_bytes) const {
        return try_is_mapped(model, offset_bytes, size_bytes).value();
    }

    /** Describes a model. FERRUM_ERROR_MODEL_NOT_FOUND for an unknown model. */
    result<ferrum_model_info> try_model_info(detail::c_text model) const {
        ferrum_model_info info_out = FERRUM_MODEL_INFO_INIT;
        const ferrum_status status = ferrum_elastic_pool_get_model_info(
            handle(), model.data(), &info_out);
        return detail::outcome(status, info_out);
    }
    ferrum_model_info model_info(detail::c_text model) const {
        return try_model_info(model).value();
    }

    /**
     * Changes guarantee, maximum and priority of a model while it and others
     * run: all of them, or none on failure. Mapped ranges stay. If the
     * guarantee rises, the part of it that is in effect stays in effect.
     */
    result<done> try_set_model_limits(detail::c_text model,
                                      const ferrum_model_limits &limits) const {
        return detail::outcome(ferrum_elastic_pool_set_model_limits(
            handle(), model.data(), &limits));
    }
    void set_model_limits(detail::c_text model,
                          const ferrum_model_limits &limits) const {
        try_set_model_limits(model, limits).value();
    }

    /** Describes an elastic pool. */
    result<ferrum_elastic_pool_info> try_info() const {
        ferrum_elastic_pool_info info_out = FERRUM_ELASTIC_POOL_INFO_INIT;
        const ferrum_status status =
            ferrum_elastic_pool_get_info(handle(), &info_out);
        return detail::outcome(status, info_out);
    }
    ferrum_elastic_pool_info info() const { return try_info().value(); }

    /**
     * Returns the counters of an elastic pool. Its live blocks are the ranges
     * of all models.
     */
    result<ferrum_statistics> try_statistics() const {
        ferrum_statistics statistics_out = FERRUM_STATISTICS_INIT;
        const ferrum_status status =
            ferrum_elastic_pool_get_statistics(handle(), &statistics_out);
        return detail::outcome(status, statistics_out);
    }
    ferrum_statistics statistics() const { return try_statistics().value(); }

    /**
     * Describes every model of a pool at one moment, in the order of
     * registration, as JSON.
     */
    result<std::string> try_models_json() const {
        return detail::text([&](char *to, std::size_t room,
                                std::size_t *found) {
            return ferrum_elastic_pool_models_json(handle(), to, room, found);
        });
    }
    std::string models_json() const { return try_models_json().value(); }

    /**
     * Changes the limit of all models together while they run; 0: the memory of
     * the device. Mapped ranges stay. Free pages above the limit are released
     * to the device, as with ferrum_vpool_set_limit. If the limit falls below
     * the memory that the models use or have as guarantees, a model within its
     * guarantee may have to wait until models above their guarantees have
     * released pages.
     */
    result<done> try_set_limit(std::uint64_t limit_bytes) const {
        return detail::outcome(
            ferrum_elastic_pool_set_limit(handle(), limit_bytes));
    }
    void set_limit(std::uint64_t limit_bytes) const {
        try_set_limit(limit_bytes).value();
    }

    /** The same as ferrum_vpool_compact. */
    result<ferrum_compact_report> try_compact() const {
        ferrum_compact_report report_out = FERRUM_COMPACT_REPORT_INIT;
        const ferrum_status status =
            ferrum_elastic_pool_compact(handle(), &report_out);
        return detail::outcome(status, report_out);
    }
    ferrum_compact_report compact() const { return try_compact().value(); }

    /** The same as ferrum_vpool_trim. */
    result<std::uint64_t> try_trim(std::uint64_t keep_bytes = 0) const {
        std::uint64_t released_bytes_out = 0;
        const ferrum_status status =
            ferrum_elastic_pool_trim(handle(), keep_bytes, &released_bytes_out);
        return detail::outcome(status, released_bytes_out);
    }
    std::uint64_t trim(std::uint64_t keep_bytes = 0) const {
        return try_trim(keep_bytes).value();
    }

    /** The same as ferrum_vpool_synchronize, for the ranges of all models. */
    result<done>
    try_synchronize(std::chrono::nanoseconds timeout = forever) const {
        return detail::outcome(ferrum_elastic_pool_synchronize(
            handle(), detail::nanoseconds(timeout)));
    }
    void synchronize(std::chrono::nanoseconds timeout = forever) const {
        try_synchronize(timeout).value();
    }

    /** The same as ferrum_vpool_pause. */
    result<done> try_pause() const {
        return detail::outcome(ferrum_elastic_pool_pause(handle()));
    }
    void pause() const { try_pause().value(); }

    /** Ends a ferrum_elastic_pool_pause. */
    result<done> try_resume() const {
        return detail::outcome(ferrum_elastic_pool_resume(handle()));
    }
    void resume() const { try_resume().value(); }

    /**
     * Puts a model, or ranges of it, to sleep, like ferrum_vpool_sleep. Other
     * models may use its pages then. The guarantee of the model stays reserved
     * for it.
     */
    result<ferrum_sleep_report>
    try_sleep_model(detail::c_text model,
                    const ferrum_sleep_config *config = nullptr) const {
        ferrum_sleep_report report_out = FERRUM_SLEEP_REPORT_INIT;
        const ferrum_status status = ferrum_elastic_pool_sleep_model(
            handle(), model.data(), config, &report_out);
        return detail::outcome(status, report_out);
    }
    ferrum_sleep_report
    sleep_model(detail::c_text model,
                const ferrum_sleep_config *config = nullptr) const {
        return try_sleep_model(model, config).value();
    }

    /**
     * Wakes a model, or ranges of it, like ferrum_vpool_wake. It gets its
     * memory by the rules of ferrum_elastic_pool_alloc: within the limits, in
     * turn, and also from models above their guarantees.
     */
    result<ferrum_wake_report>
    try_wake_model(detail::c_text model,
                   const ferrum_wake_config *config = nullptr) const {
        ferrum_wake_report report_out = FERRUM_WAKE_REPORT_INIT;
        const ferrum_status status = ferrum_elastic_pool_wake_model(
            handle(), model.data(), config, &report_out);
        return detail::outcome(status, report_out);
    }
    ferrum_wake_report
    wake_model(detail::c_text model,
               const ferrum_wake_config *config = nullptr) const {
        return try_wake_model(model, config).value();
    }

    /** The same as ferrum_vpool_is_asleep, for a model. */
    result<bool> try_is_model_asleep(detail::c_text model,
                                     detail::c_text tag = nullptr) const {
        std::uint32_t asleep_out = 0;
        const ferrum_status status = ferrum_elastic_pool_is_model_asleep(
            handle(), model.data(), tag.data(), &asleep_out);
        return detail::outcome(status, asleep_out != 0);
    }
    bool is_model_asleep(detail::c_text model,
                         detail::c_text tag = nullptr) const {
        return try_is_model_asleep(model, tag).value();
    }

  private:
    ferrum_elastic_pool handle() const noexcept {
        return static_cast<const Self &>(*this).get();
    }
};

} // namespace ferrum

#endif /* FERRUM_MEM_CALLS_ELASTIC_POOL_HPP */
