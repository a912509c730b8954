/*
 * Estimates of the memory of a model.
 * A part of ferrum_mem.h, which programs include, and which has the rules that hold for all.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef FERRUM_MEM_ESTIMATE_H
#define FERRUM_MEM_ESTIMATE_H

#include "base.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * The memory that a model needs, before the model is loaded. No function of this
 * section needs ferrum_init, queries a device or keeps anything. Amounts are whole bytes
 * with checked arithmetic: an amount beyond 64 bits returns FERRUM_ERROR_OVERFLOW, and
 * the message names it.
 *
 * The first three are the short formulas, which take the numbers of a model as
 * arguments. They are for transformers with gated MLPs only. The other two read the
 * published files of a model, as `ferrum-mem fit` does; docs/estimate.md states what
 * is counted and how.
 */

/** Dimensions of a model, for the short formulas.
 *  @go estimate.InferenceShape */
typedef struct ferrum_model_shape {
    uint32_t struct_size;
    uint32_t reserved;
    /** Width of the model. */
    uint64_t hidden_size;
    /** Width of the MLPs. */
    uint64_t intermediate_size;
    /** Layers.
     *  @go Layers */
    uint64_t num_layers;
    /** Tokens of the vocabulary. */
    uint64_t vocab_size;
    /** Attention heads, not 0.
     *  @go Heads */
    uint64_t num_heads;
    /** Key and value heads.
     *  @go KVHeads */
    uint64_t num_kv_heads;
    /** Tokens of the sequence, for ferrum_estimate_inference_memory only. */
    uint64_t max_seq_len;
    /** Size of one element. */
    uint64_t dtype_bytes;
} ferrum_model_shape;

/* clang-format off */
#define FERRUM_MODEL_SHAPE_INIT {FERRUM_SIZE_OF(ferrum_model_shape), 0, 0, 0, 0, 0, 0, 0, 0, 0}
/* clang-format on */

/** Dimensions of a KV cache, for the short formula.
 *  @go estimate.KVCacheShape */
typedef struct ferrum_kv_cache_shape {
    uint32_t struct_size;
    uint32_t reserved;
    /** Layers.
     *  @go Layers */
    uint64_t num_layers;
    /** Key and value heads.
     *  @go KVHeads */
    uint64_t num_kv_heads;
    /** Elements of a head. */
    uint64_t head_dim;
    /** Tokens of the sequence. */
    uint64_t max_seq_len;
    /** Size of one element. */
    uint64_t dtype_bytes;
} ferrum_kv_cache_shape;

/* clang-format off */
#define FERRUM_KV_CACHE_SHAPE_INIT {FERRUM_SIZE_OF(ferrum_kv_cache_shape), 0, 0, 0, 0, 0, 0}
/* clang-format on */

/** Result of ferrum_estimate_inference_memory.
 *  @name inference_memory_estimate
 *  @go estimate.InferenceMemoryEstimate */
typedef struct ferrum_inference_estimate {
    uint32_t struct_size;
    uint32_t reserved;
    /** The weights. */
    uint64_t model_bytes;
    /** Keys and values of the sequence. */
    uint64_t kv_cache_bytes;
    /** The activations of one token. */
    uint64_t activation_bytes;
    /** The sum of the three. */
    uint64_t total_bytes;
} ferrum_inference_estimate;

/* clang-format off */
#define FERRUM_INFERENCE_ESTIMATE_INIT {FERRUM_SIZE_OF(ferrum_inference_estimate), 0, 0, 0, 0, 0}
/* clang-format on */

/**
 * Returns the size of the weights. With h = hidden_size, i = intermediate_size, n
 * heads and kv key and value heads, each layer has 2h^2 + 2h(kv (h/n)) + 3hi + 2h
 * elements, with h/n rounded down, and the rest has 2 vocab_size h + h elements.
 *
 * @return FERRUM_ERROR_INVALID_ARGUMENT when num_heads is 0; FERRUM_ERROR_OVERFLOW.
 *
 * @stateless
 * @go estimate.InferenceShape.ModelMemory
 */
FERRUM_API ferrum_status ferrum_estimate_model_memory(
    const ferrum_model_shape *shape, uint64_t *bytes_out);

/**
 * Returns the size of the keys and values of one sequence: 2 x num_layers x
 * max_seq_len x num_kv_heads x head_dim x dtype_bytes.
 *
 * @return FERRUM_ERROR_OVERFLOW.
 *
 * @stateless
 * @go estimate.EstimateKVCacheMemory
 */
FERRUM_API ferrum_status ferrum_estimate_kv_cache_memory(
    const ferrum_kv_cache_shape *shape, uint64_t *bytes_out);

/**
 * Returns the size of the weights, of the keys and values (with h/n elements in a
 * head), and of the activations of one token, 2 x dtype_bytes x (h + 2i).
 *
 * @return as ferrum_estimate_model_memory.
 *
 * @stateless
 * @go estimate.EstimateInferenceMemory
 */
FERRUM_API ferrum_status ferrum_estimate_inference_memory(
    const ferrum_model_shape *shape, ferrum_inference_estimate *estimate_out);

/** Store the attention scores of each token with its whole sequence, as attention
 *  without a fused kernel does. */
#define FERRUM_ESTIMATE_EAGER_ATTENTION 1u
/** Compute logits for every token, instead of the last token of each sequence. */
#define FERRUM_ESTIMATE_ALL_LOGITS 2u

/** How a model will be served.
 *  @go estimate.Request */
typedef struct ferrum_estimate_request {
    uint32_t struct_size;
    /** FERRUM_ESTIMATE_ bits.
     *  @flags FERRUM_ESTIMATE */
    uint32_t flags;
    /** Tokens of one sequence, prompt and answer; 0: the model's own context.
     *  @none 0 */
    uint64_t context;
    /** Number of sequences at a time, at least 1. */
    uint64_t batch;
    /** Number of devices that share the model, 1 to 65536. The estimate is for the
     *  device that holds most. */
    uint64_t tensor_parallel;
    /** Prompt tokens that are computed at once; 0: whole prompts.
     *  @none 0 */
    uint64_t prefill_tokens;
    /** The share of the allocator, in thousandths of all other memory, at most
     *  1000. */
    uint64_t overhead_permille;
    /** Free memory that the model must fit into; 0: the result does not state
     *  whether it fits.
     *  @none 0 */
    uint64_t free_bytes;
    /** Type of the elements of the KV cache; NULL or empty: the type of the activations.
     *
     *    "f32"   32-bit floating point
     *    "f16"   16-bit floating point
     *    "bf16"  16-bit floating point with the exponent of "f32"
     *    "f8"    8-bit floating point
     *    "int8"  8-bit integers, in groups of 32 with a scale
     *    "int4"  4-bit integers, in groups of 32 with a scale
     *
     *  @words estimate_dtype
     *  @go KVDTypeName */
    const char *kv_dtype;
    /** Type that the weights are converted to, one of the same words; NULL or empty:
     *  the type in the files.
     *  @words estimate_dtype
     *  @go WeightDTypeName */
    const char *weight_dtype;
    /** Tokens of one layer in a block of a paged KV cache, 1 to 1048576. Layers
     *  with a window keep whole blocks. */
    uint64_t block_tokens;
} ferrum_estimate_request;

/* clang-format off */
#define FERRUM_ESTIMATE_REQUEST_INIT {FERRUM_SIZE_OF(ferrum_estimate_request), 0, 0, 1, 1, 2048, 16, 0, NULL, NULL, 16}
/* clang-format on */

/**
 * Estimates the memory for serving a model, as JSON with the fields of
 * docs/estimate.md. These are the fields of `ferrum-mem fit --json` without device
 * and devices. Without free_bytes, the fields of the result are missing too (fits,
 * free_bytes, left_bytes, missing_bytes, max_context, max_batch and their reasons).
 * The longest context and the largest batch are exact.
 *
 * The call reads only headers of safetensors and GGUF files, never a tensor. It
 * does not trust them: everything is bounded, and errors name the file and the
 * field.
 *
 * @param path  a folder with a config.json, safetensors files, or both, or with the
 *                GGUF files of one model; a GGUF file, also one part of a split
 *                model; a safetensors file or the index of several; or a
 *                configuration. Shorter than FERRUM_PATH_MAX.
 * @param request  how the model will be served, or NULL for
 *                FERRUM_ESTIMATE_REQUEST_INIT.
 * @param buffer,capacity,length_out  as for ferrum_backends_json.
 * @return FERRUM_ERROR_NOT_FOUND, FERRUM_ERROR_PERMISSION_DENIED and
 *         FERRUM_ERROR_IO for the file; FERRUM_ERROR_INVALID_FORMAT for its
 *         content; FERRUM_ERROR_UNSUPPORTED for a GGUF file of another version or
 *         byte order, or with an unknown type; FERRUM_ERROR_INVALID_ARGUMENT for
 *         the request, also for a context beyond a model's table of positions and
 *         for a number of devices that does not divide the heads;
 *         FERRUM_ERROR_OVERFLOW.
 *
 * @optional request
 * @stateless
 * @go estimate.FileJSON
 * @path path
 */
FERRUM_API ferrum_status ferrum_estimate_file_json(
    const char *path, const ferrum_estimate_request *request, char *buffer,
    size_t capacity, size_t *length_out);

/**
 * The same as ferrum_estimate_file_json, for the text of a config.json.
 *
 * @param config_text  UTF-8, needs no NUL.
 * @param config_bytes  its length, at most 16 MiB.
 *
 * @optional request
 * @stateless
 * @go estimate.ConfigJSON
 */
FERRUM_API ferrum_status
ferrum_estimate_config_json(const char *config_text, size_t config_bytes,
                            const ferrum_estimate_request *request,
                            char *buffer, size_t capacity, size_t *length_out);

#ifdef __cplusplus
}
#endif

#endif /* FERRUM_MEM_ESTIMATE_H */
