/*
 * Settings and counters of fallback managers and generic pools.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef FERRUM_MEM_MEMORY_CONFIG_HPP
#define FERRUM_MEM_MEMORY_CONFIG_HPP

#include "result.hpp"

#include <utility>

namespace ferrum {

/** Counters of a fallback manager or a generic pool, with ratios. */
struct memory_stats : ferrum_memory_stats {
    memory_stats() : ferrum_memory_stats(FERRUM_MEMORY_STATS_INIT) {}
    explicit memory_stats(const ferrum_memory_stats &raw)
        : ferrum_memory_stats(raw) {}

    result<ferrum_memory_ratios> try_ratios() const {
        ferrum_memory_ratios out = FERRUM_MEMORY_RATIOS_INIT;
        const ferrum_status status = ferrum_memory_stats_ratios(this, &out);
        return detail::outcome(status, out);
    }
    double hit_rate() const { return try_ratios().value().hit_rate; }
    double utilization() const { return try_ratios().value().utilization; }
    double efficiency() const { return try_ratios().value().efficiency; }
    result<memory_stats> try_merge(const memory_stats &other) const {
        memory_stats out;
        const ferrum_status status =
            ferrum_memory_stats_merge(this, &other, &out);
        return detail::outcome(status, out);
    }
    memory_stats merge(const memory_stats &other) const {
        return try_merge(other).value();
    }
    result<std::string> try_text() const {
        return detail::text(
            [&](char *buffer, std::size_t room, std::size_t *length) {
                return ferrum_memory_stats_text(this, buffer, room, length);
            });
    }
    /** One line for people. */
    std::string text() const { return try_text().value(); }
};

/** Settings of a fallback manager or a generic pool, by chained setters. */
class memory_config {
  public:
    memory_config() = default;
    static result<memory_config> try_preset(ferrum_memory_preset which) {
        memory_config out;
        const ferrum_status status =
            ferrum_memory_config_preset(which, &out.raw_);
        return detail::outcome(status, out);
    }
    static memory_config preset(ferrum_memory_preset which) {
        return try_preset(which).value();
    }
    static memory_config for_inference() {
        return preset(FERRUM_MEMORY_PRESET_INFERENCE);
    }
    static memory_config for_training() {
        return preset(FERRUM_MEMORY_PRESET_TRAINING);
    }
    static memory_config for_constrained() {
        return preset(FERRUM_MEMORY_PRESET_CONSTRAINED);
    }

    /** The fraction is clamped to 0.1 to 1. */
    memory_config &with_gpu_memory_fraction(double fraction) {
        raw_.gpu_memory_fraction =
            fraction < 0.1 ? 0.1 : (fraction > 1 ? 1 : fraction);
        return *this;
    }
    memory_config &with_cpu_fallback(bool enabled) {
        return with_flag(FERRUM_MEMORY_CPU_FALLBACK, enabled);
    }
    memory_config &with_min_free_bytes(std::uint64_t bytes) {
        raw_.min_free_bytes = bytes;
        return *this;
    }
    memory_config &with_tracking(bool enabled) {
        return with_flag(FERRUM_MEMORY_TRACK_ALLOCATIONS, enabled);
    }
    memory_config &with_max_pooled(std::uint64_t per_bucket) {
        raw_.max_pooled_per_bucket = per_bucket;
        return *this;
    }
    memory_config &with_max_pooled_bytes(std::uint64_t bytes) {
        raw_.max_pooled_bytes = bytes;
        return *this;
    }
    memory_config &with_pre_allocation(std::vector<std::uint64_t> sizes) {
        sizes_ = std::move(sizes);
        return with_flag(FERRUM_MEMORY_PRE_ALLOCATE, true);
    }
    result<done> try_check() const {
        const ferrum_memory_config raw = get();
        return detail::outcome(ferrum_memory_config_check(&raw));
    }
    void check() const { try_check().value(); }

    /** The settings for a call. The struct points into this object. */
    ferrum_memory_config get() const noexcept {
        ferrum_memory_config raw = raw_;
        raw.pre_allocate_sizes = sizes_.data();
        raw.pre_allocate_count = sizes_.size();
        return raw;
    }

  private:
    memory_config &with_flag(std::uint32_t flag, bool on) {
        raw_.flags = on ? raw_.flags | flag : raw_.flags & ~flag;
        return *this;
    }

    ferrum_memory_config raw_ = FERRUM_MEMORY_CONFIG_INIT;
    std::vector<std::uint64_t> sizes_;
};

} // namespace ferrum

#endif /* FERRUM_MEM_MEMORY_CONFIG_HPP */
