//! A layer of a language model through the published traits alone: a backend is found by
//! requirements, and computes norm, attention with rotated heads, a gated product, and a token.

use ferrum_interfaces::backend::{BackendFactory, BackendRegistry, BackendRequirements};
use ferrum_interfaces::kernel_ops::{AttentionParams, SamplingParams};
use ferrum_interfaces::{ComputeBackend, TensorRef};
use ferrum_mem_interfaces::{FerrumBackendRegistry, FerrumMem};
use ferrum_types::{DataType, Device, FerrumError, Result};

const TOKENS: usize = 6;
const HEADS: usize = 4;
const SIZE: usize = 16;
const HIDDEN: usize = HEADS * SIZE;
const WORDS: usize = 100;

#[tokio::main]
async fn main() -> Result<()> {
    let factory = FerrumMem::start()?;
    let config = FerrumMem::default_backend_config();
    let mut backend = factory.create_compute_backend(&config).await?;
    backend.initialize(&Device::CPU).await?;
    let mut registry = FerrumBackendRegistry::new();
    registry.register_compute_backend("ours", backend)?;
    let required = BackendRequirements {
        required_devices: vec![Device::CPU],
        required_dtypes: vec![DataType::FP32],
        min_batch_size: 1,
        min_sequence_length: TOKENS,
        requires_flash_attention: true,
        requires_paged_attention: false,
        extra_requirements: Default::default(),
    };
    let found = registry.find_best_compute_backend(&required);
    let found = found.ok_or_else(|| FerrumError::not_found("no backend meets the requirements"))?;
    println!("{} {}", found.name(), found.version());
    let token = layer(found)?;
    assert!((token as usize) < WORDS);
    let status = found.status();
    println!(
        "token {token} after {} operations",
        status.operations_completed
    );
    Ok(())
}

fn layer(backend: &dyn ComputeBackend) -> Result<u32> {
    let none = || FerrumError::unsupported("the backend has no such kernels");
    let kernels = backend.kernel_ops().ok_or_else(none)?;
    let (ops, make) = (backend.tensor_ops(), backend.tensor_factory());
    let (norm, linear) = (
        kernels.norm_ops().ok_or_else(none)?,
        kernels.linear_ops().ok_or_else(none)?,
    );
    let weights =
        |rows, columns| make.normal(&[rows, columns], 0.0, 0.1, DataType::FP32, &Device::CPU);
    let x = weights(TOKENS, HIDDEN)?;
    let scale = make.ones(&[HIDDEN], DataType::FP32, &Device::CPU)?;
    let normed = norm.rms_norm(&x, &scale, 1e-6)?;

    let heads = |weight: &TensorRef| {
        let joined = linear.linear(&normed, weight)?;
        joined.reshape(&[1, TOKENS, HEADS, SIZE])
    };
    let (cos, sin) = angles(backend)?;
    let positions: Vec<usize> = (0..TOKENS).collect();
    let rotation = kernels.position_ops().ok_or_else(none)?;
    let rotate = |it: &TensorRef| rotation.rotary_embedding(it, &cos, &sin, &positions);
    let q = rotate(&heads(&weights(HIDDEN, HIDDEN)?)?)?;
    let k = rotate(&heads(&weights(HIDDEN, HIDDEN)?)?)?;
    let v = heads(&weights(HIDDEN, HIDDEN)?)?;
    let params = AttentionParams {
        num_heads: HEADS,
        num_kv_heads: HEADS,
        head_dim: SIZE,
        softmax_scale: 1.0 / (SIZE as f32).sqrt(),
        causal: true,
    };
    let attention = kernels.attention_ops().ok_or_else(none)?;
    let attended = attention.attention(&q, &k, &v, &params)?;
    let attended = attended.reshape(&[TOKENS, HIDDEN])?;

    let (normed, residual) = norm.rms_norm_residual(&attended, &x, &scale, 1e-6)?;
    let gate = linear.linear(&normed, &weights(2 * HIDDEN, HIDDEN)?)?;
    let up = linear.linear(&normed, &weights(2 * HIDDEN, HIDDEN)?)?;
    let gated = kernels
        .activation_ops()
        .ok_or_else(none)?
        .silu_mul(&gate, &up)?;
    let y = ops.add(
        &residual,
        &linear.linear(&gated, &weights(HIDDEN, 2 * HIDDEN)?)?,
    )?;

    let last = make.narrow(&y, 0, TOKENS - 1, 1)?;
    let logits = linear.linear(&last, &weights(WORDS, HIDDEN)?)?;
    let params = SamplingParams {
        temperature: 0.8,
        top_k: 20,
        top_p: 0.9,
        repetition_penalty: 1.1,
        repetition_token_ids: vec![1],
        repetition_token_freqs: vec![2],
        rng_seed: 7,
    };
    kernels
        .sampling_ops()
        .ok_or_else(none)?
        .sample_token(&logits, &params)
}

/// The cosine and sine of the angle of each position and pair.
fn angles(backend: &dyn ComputeBackend) -> Result<(TensorRef, TensorRef)> {
    let angle = |at: usize| {
        let (position, pair) = (at / (SIZE / 2), at % (SIZE / 2));
        position as f32 / 10000f32.powf(2.0 * pair as f32 / SIZE as f32)
    };
    let make = |of: fn(f32) -> f32| {
        let numbers: Vec<f32> = (0..TOKENS * SIZE / 2).map(|at| of(angle(at))).collect();
        let factory = backend.tensor_factory();
        factory.from_slice(&numbers, &[TOKENS, SIZE / 2], DataType::FP32, Device::CPU)
    };
    Ok((make(f32::cos)?, make(f32::sin)?))
}
