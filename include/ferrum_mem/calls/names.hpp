/*
 * Generated from include/ferrum_mem.h by scripts/genabi.py; do not edit.
 *
 * The names of the values of enumerations, for logs: FERRUM_PRESSURE_HIGH is "high".
 * The texts are constant. A number that is no value of the enumeration is "unknown".
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef FERRUM_MEM_CALLS_NAMES_HPP
#define FERRUM_MEM_CALLS_NAMES_HPP

#include "../../ferrum_mem.h"

namespace ferrum {

/** Name of a ferrum_log_level. */
constexpr const char *log_level_name(ferrum_log_level value) noexcept {
    switch (value) {
    case FERRUM_LOG_DEBUG:
        return "debug";
    case FERRUM_LOG_INFO:
        return "info";
    case FERRUM_LOG_WARNING:
        return "warning";
    case FERRUM_LOG_ERROR:
        return "error";
    default:
        return "unknown";
    }
}

/** Name of a ferrum_pressure_level. */
constexpr const char *
pressure_level_name(ferrum_pressure_level value) noexcept {
    switch (value) {
    case FERRUM_PRESSURE_LOW:
        return "low";
    case FERRUM_PRESSURE_MEDIUM:
        return "medium";
    case FERRUM_PRESSURE_HIGH:
        return "high";
    case FERRUM_PRESSURE_CRITICAL:
        return "critical";
    default:
        return "unknown";
    }
}

/** Name of a ferrum_paging. */
constexpr const char *paging_name(ferrum_paging value) noexcept {
    switch (value) {
    case FERRUM_PAGING_AUTO:
        return "auto";
    case FERRUM_PAGING_OFF:
        return "off";
    case FERRUM_PAGING_ON:
        return "on";
    default:
        return "unknown";
    }
}

/** Name of a ferrum_segment_source. */
constexpr const char *
segment_source_name(ferrum_segment_source value) noexcept {
    switch (value) {
    case FERRUM_SEGMENTS_PLAIN:
        return "plain";
    case FERRUM_SEGMENTS_STREAM_ORDERED:
        return "stream_ordered";
    default:
        return "unknown";
    }
}

/** Name of a ferrum_block_state. */
constexpr const char *block_state_name(ferrum_block_state value) noexcept {
    switch (value) {
    case FERRUM_BLOCK_LIVE:
        return "live";
    case FERRUM_BLOCK_IN_FLIGHT:
        return "in_flight";
    case FERRUM_BLOCK_CACHED:
        return "cached";
    case FERRUM_BLOCK_FREE:
        return "free";
    case FERRUM_BLOCK_UNUSABLE:
        return "unusable";
    case FERRUM_BLOCK_ASLEEP:
        return "asleep";
    default:
        return "unknown";
    }
}

/** Name of a ferrum_memory_type. */
constexpr const char *memory_type_name(ferrum_memory_type value) noexcept {
    switch (value) {
    case FERRUM_MEMORY_GENERAL:
        return "general";
    case FERRUM_MEMORY_TENSOR:
        return "tensor";
    case FERRUM_MEMORY_CACHE:
        return "cache";
    case FERRUM_MEMORY_TEMPORARY:
        return "temporary";
    case FERRUM_MEMORY_PINNED:
        return "pinned";
    case FERRUM_MEMORY_MAPPED:
        return "mapped";
    case FERRUM_MEMORY_MANAGED:
        return "managed";
    default:
        return "unknown";
    }
}

/** Name of a ferrum_backing. */
constexpr const char *backing_name(ferrum_backing value) noexcept {
    switch (value) {
    case FERRUM_BACKING_MOVABLE:
        return "movable";
    case FERRUM_BACKING_PRIVATE:
        return "private";
    case FERRUM_BACKING_SHAREABLE:
        return "shareable";
    case FERRUM_BACKING_RDMA:
        return "rdma";
    case FERRUM_BACKING_FABRIC:
        return "fabric";
    default:
        return "unknown";
    }
}

/** Name of a ferrum_sleep_backing. */
constexpr const char *sleep_backing_name(ferrum_sleep_backing value) noexcept {
    switch (value) {
    case FERRUM_SLEEP_HOST:
        return "host";
    case FERRUM_SLEEP_FILE:
        return "file";
    case FERRUM_SLEEP_DISCARD:
        return "discard";
    default:
        return "unknown";
    }
}

/** Name of a ferrum_pressure_profile. */
constexpr const char *
pressure_profile_name(ferrum_pressure_profile value) noexcept {
    switch (value) {
    case FERRUM_PRESSURE_PROFILE_STANDARD:
        return "standard";
    case FERRUM_PRESSURE_PROFILE_EARLY:
        return "early";
    default:
        return "unknown";
    }
}

/** Name of a ferrum_placement_reason. */
constexpr const char *
placement_reason_name(ferrum_placement_reason value) noexcept {
    switch (value) {
    case FERRUM_PLACEMENT_CHOSEN:
        return "chosen";
    case FERRUM_PLACEMENT_OUTSCORED:
        return "outscored";
    case FERRUM_PLACEMENT_LOWER_TIER:
        return "lower_tier";
    case FERRUM_PLACEMENT_NOT_PREFERRED:
        return "not_preferred";
    case FERRUM_PLACEMENT_NOT_ITS_TURN:
        return "not_its_turn";
    case FERRUM_PLACEMENT_NOT_TAKEN:
        return "not_taken";
    case FERRUM_PLACEMENT_NO_INFORMATION:
        return "no_information";
    case FERRUM_PLACEMENT_TOO_SMALL:
        return "too_small";
    case FERRUM_PLACEMENT_WRONG_MEMORY_TYPE:
        return "wrong_memory_type";
    case FERRUM_PLACEMENT_NEEDS_EVICTION:
        return "needs_eviction";
    case FERRUM_PLACEMENT_WOULD_BE_CRITICAL:
        return "would_be_critical";
    case FERRUM_PLACEMENT_UNSCORED:
        return "unscored";
    default:
        return "unknown";
    }
}

/** Name of a ferrum_dtype. */
constexpr const char *dtype_name(ferrum_dtype value) noexcept {
    switch (value) {
    case FERRUM_DTYPE_F32:
        return "f32";
    case FERRUM_DTYPE_F16:
        return "f16";
    case FERRUM_DTYPE_BF16:
        return "bf16";
    case FERRUM_DTYPE_F64:
        return "f64";
    case FERRUM_DTYPE_F8:
        return "f8";
    case FERRUM_DTYPE_I8:
        return "i8";
    case FERRUM_DTYPE_U8:
        return "u8";
    case FERRUM_DTYPE_I16:
        return "i16";
    case FERRUM_DTYPE_I32:
        return "i32";
    case FERRUM_DTYPE_I64:
        return "i64";
    case FERRUM_DTYPE_U16:
        return "u16";
    case FERRUM_DTYPE_U32:
        return "u32";
    case FERRUM_DTYPE_U64:
        return "u64";
    case FERRUM_DTYPE_BOOL:
        return "bool";
    case FERRUM_DTYPE_F8_E5M2:
        return "f8_e5m2";
    case FERRUM_DTYPE_F8_E8M0:
        return "f8_e8m0";
    case FERRUM_DTYPE_F4_E2M1:
        return "f4_e2m1";
    case FERRUM_DTYPE_I4:
        return "i4";
    case FERRUM_DTYPE_U4:
        return "u4";
    case FERRUM_DTYPE_C64:
        return "c64";
    case FERRUM_DTYPE_F6_E2M3:
        return "f6_e2m3";
    case FERRUM_DTYPE_F6_E3M2:
        return "f6_e3m2";
    case FERRUM_DTYPE_F8_E4M3FNUZ:
        return "f8_e4m3fnuz";
    case FERRUM_DTYPE_F8_E5M2FNUZ:
        return "f8_e5m2fnuz";
    case FERRUM_DTYPE_Q4_0:
        return "q4_0";
    case FERRUM_DTYPE_Q4_1:
        return "q4_1";
    case FERRUM_DTYPE_Q5_0:
        return "q5_0";
    case FERRUM_DTYPE_Q5_1:
        return "q5_1";
    case FERRUM_DTYPE_Q8_0:
        return "q8_0";
    case FERRUM_DTYPE_Q2_K:
        return "q2_k";
    case FERRUM_DTYPE_Q3_K:
        return "q3_k";
    case FERRUM_DTYPE_Q4_K:
        return "q4_k";
    case FERRUM_DTYPE_Q5_K:
        return "q5_k";
    case FERRUM_DTYPE_Q6_K:
        return "q6_k";
    case FERRUM_DTYPE_Q8_K:
        return "q8_k";
    case FERRUM_DTYPE_IQ2_XXS:
        return "iq2_xxs";
    case FERRUM_DTYPE_IQ2_XS:
        return "iq2_xs";
    case FERRUM_DTYPE_IQ3_XXS:
        return "iq3_xxs";
    case FERRUM_DTYPE_IQ1_S:
        return "iq1_s";
    case FERRUM_DTYPE_IQ4_NL:
        return "iq4_nl";
    case FERRUM_DTYPE_IQ3_S:
        return "iq3_s";
    case FERRUM_DTYPE_IQ2_S:
        return "iq2_s";
    case FERRUM_DTYPE_IQ4_XS:
        return "iq4_xs";
    case FERRUM_DTYPE_IQ1_M:
        return "iq1_m";
    case FERRUM_DTYPE_TQ1_0:
        return "tq1_0";
    case FERRUM_DTYPE_TQ2_0:
        return "tq2_0";
    case FERRUM_DTYPE_MXFP4:
        return "mxfp4";
    case FERRUM_DTYPE_NVFP4:
        return "nvfp4";
    case FERRUM_DTYPE_Q1_0:
        return "q1_0";
    default:
        return "unknown";
    }
}

/** Name of a ferrum_memory_preset. */
constexpr const char *memory_preset_name(ferrum_memory_preset value) noexcept {
    switch (value) {
    case FERRUM_MEMORY_PRESET_DEFAULT:
        return "default";
    case FERRUM_MEMORY_PRESET_INFERENCE:
        return "inference";
    case FERRUM_MEMORY_PRESET_TRAINING:
        return "training";
    case FERRUM_MEMORY_PRESET_CONSTRAINED:
        return "constrained";
    default:
        return "unknown";
    }
}

/** Name of a ferrum_buffer_location. */
constexpr const char *
buffer_location_name(ferrum_buffer_location value) noexcept {
    switch (value) {
    case FERRUM_LOCATION_GPU:
        return "gpu";
    case FERRUM_LOCATION_CPU:
        return "cpu";
    default:
        return "unknown";
    }
}

/** Name of a ferrum_buffer_place. */
constexpr const char *buffer_place_name(ferrum_buffer_place value) noexcept {
    switch (value) {
    case FERRUM_PLACE_EITHER:
        return "either";
    case FERRUM_PLACE_GPU:
        return "gpu";
    case FERRUM_PLACE_CPU:
        return "cpu";
    default:
        return "unknown";
    }
}

/** Name of a ferrum_host_access. */
constexpr const char *host_access_name(ferrum_host_access value) noexcept {
    switch (value) {
    case FERRUM_HOST_READ_ONLY:
        return "read_only";
    case FERRUM_HOST_WRITE_ONLY:
        return "write_only";
    case FERRUM_HOST_READ_WRITE:
        return "read_write";
    default:
        return "unknown";
    }
}

/** Name of a ferrum_usage_hint. */
constexpr const char *usage_hint_name(ferrum_usage_hint value) noexcept {
    switch (value) {
    case FERRUM_USAGE_NONE:
        return "none";
    case FERRUM_USAGE_SEQUENTIAL:
        return "sequential";
    case FERRUM_USAGE_RANDOM:
        return "random";
    case FERRUM_USAGE_READ_MOSTLY:
        return "read_mostly";
    case FERRUM_USAGE_WRITE_MOSTLY:
        return "write_mostly";
    case FERRUM_USAGE_TEMPORARY:
        return "temporary";
    case FERRUM_USAGE_RESIDENT:
        return "resident";
    default:
        return "unknown";
    }
}

/** Name of a ferrum_access_pattern. */
constexpr const char *
access_pattern_name(ferrum_access_pattern value) noexcept {
    switch (value) {
    case FERRUM_PATTERN_UNKNOWN:
        return "unknown";
    case FERRUM_PATTERN_SEQUENTIAL:
        return "sequential";
    case FERRUM_PATTERN_RANDOM:
        return "random";
    case FERRUM_PATTERN_BURST:
        return "burst";
    case FERRUM_PATTERN_MIXED:
        return "mixed";
    default:
        return "unknown";
    }
}

/** Name of a ferrum_weights_source_kind. */
constexpr const char *
weights_source_kind_name(ferrum_weights_source_kind value) noexcept {
    switch (value) {
    case FERRUM_WEIGHTS_SOURCE_FILE:
        return "file";
    case FERRUM_WEIGHTS_SOURCE_MEMORY:
        return "memory";
    case FERRUM_WEIGHTS_SOURCE_URL:
        return "url";
    case FERRUM_WEIGHTS_SOURCE_HUGGING_FACE:
        return "hugging_face";
    case FERRUM_WEIGHTS_SOURCE_S3:
        return "s3";
    default:
        return "unknown";
    }
}

/** Name of a ferrum_weights_format. */
constexpr const char *
weights_format_name(ferrum_weights_format value) noexcept {
    switch (value) {
    case FERRUM_WEIGHTS_FORMAT_ANY:
        return "any";
    case FERRUM_WEIGHTS_FORMAT_PYTORCH:
        return "pytorch";
    case FERRUM_WEIGHTS_FORMAT_SAFETENSORS:
        return "safetensors";
    case FERRUM_WEIGHTS_FORMAT_NUMPY:
        return "numpy";
    case FERRUM_WEIGHTS_FORMAT_RAW:
        return "raw";
    case FERRUM_WEIGHTS_FORMAT_ONNX:
        return "onnx";
    case FERRUM_WEIGHTS_FORMAT_GGUF:
        return "gguf";
    case FERRUM_WEIGHTS_FORMAT_CUSTOM:
        return "custom";
    default:
        return "unknown";
    }
}

/** Name of a ferrum_compute_type. */
constexpr const char *compute_type_name(ferrum_compute_type value) noexcept {
    switch (value) {
    case FERRUM_COMPUTE_CANDLE:
        return "candle";
    case FERRUM_COMPUTE_ONNX_RUNTIME:
        return "onnx_runtime";
    case FERRUM_COMPUTE_TENSORRT:
        return "tensorrt";
    case FERRUM_COMPUTE_METAL:
        return "metal";
    case FERRUM_COMPUTE_CPU:
        return "cpu";
    case FERRUM_COMPUTE_CUSTOM:
        return "custom";
    default:
        return "unknown";
    }
}

/** Name of a ferrum_compute_growth. */
constexpr const char *
compute_growth_name(ferrum_compute_growth value) noexcept {
    switch (value) {
    case FERRUM_COMPUTE_GROWTH_STATIC:
        return "static";
    case FERRUM_COMPUTE_GROWTH_DYNAMIC:
        return "dynamic";
    case FERRUM_COMPUTE_GROWTH_INCREMENTAL:
        return "incremental";
    default:
        return "unknown";
    }
}

/** Name of a ferrum_build_phase. */
constexpr const char *build_phase_name(ferrum_build_phase value) noexcept {
    switch (value) {
    case FERRUM_BUILD_VALIDATION:
        return "validation";
    case FERRUM_BUILD_WEIGHT_LOADING:
        return "weight_loading";
    case FERRUM_BUILD_MODEL_INITIALIZATION:
        return "model_initialization";
    case FERRUM_BUILD_LAYER_CONSTRUCTION:
        return "layer_construction";
    case FERRUM_BUILD_PARAMETER_BINDING:
        return "parameter_binding";
    case FERRUM_BUILD_OPTIMIZATION:
        return "optimization";
    case FERRUM_BUILD_FINAL_VALIDATION:
        return "final_validation";
    case FERRUM_BUILD_FINALIZATION:
        return "finalization";
    default:
        return "unknown";
    }
}

} // namespace ferrum

#endif /* FERRUM_MEM_CALLS_NAMES_HPP */
