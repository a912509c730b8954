use std::sync::Arc;

use ferrum_interfaces::kernel_ops::{
    ActivationOps, AttentionOps, AttentionParams, KernelOps, LinearOps, NormOps, PositionOps,
    QuantScheme, SamplingOps, SamplingParams,
};
use ferrum_interfaces::{TensorLike, TensorRef};
use ferrum_mem::{DType, Tensor, TensorLayout};
use ferrum_types::{DataType, FerrumError, Result};
use serde_json::{json, Value};

use crate::error::error_of;
use crate::running::Engine;
use crate::sampling::{greedy, sample};
use crate::tensor::FerrumTensor;

/// [`KernelOps`] of a [`crate::FerrumBackend`], with all parts. Results are as those of
/// [`crate::FerrumTensorOps`].
pub struct FerrumKernelOps {
    engine: Engine,
    name: String,
}

impl FerrumKernelOps {
    pub(crate) fn new(engine: Engine, name: &str) -> Self {
        Self {
            engine,
            name: name.to_owned(),
        }
    }
}

/// The name of an operator of the library beyond ONNX.
const LINEAR: &str = "ferrum.linear";
const QUANTIZED_LINEAR: &str = "ferrum.quantized_linear";
const RMS_NORM_RESIDUAL: &str = "ferrum.rms_norm_residual";
const SILU_MUL: &str = "ferrum.silu_mul";

impl KernelOps for FerrumKernelOps {
    fn norm_ops(&self) -> Option<&dyn NormOps> {
        Some(self)
    }

    fn position_ops(&self) -> Option<&dyn PositionOps> {
        Some(self)
    }

    fn attention_ops(&self) -> Option<&dyn AttentionOps> {
        Some(self)
    }

    fn activation_ops(&self) -> Option<&dyn ActivationOps> {
        Some(self)
    }

    fn linear_ops(&self) -> Option<&dyn LinearOps> {
        Some(self)
    }

    fn sampling_ops(&self) -> Option<&dyn SamplingOps> {
        Some(self)
    }

    fn backend_name(&self) -> &str {
        &self.name
    }
}

impl NormOps for FerrumKernelOps {
    /// Over the last dimension.
    fn rms_norm(&self, input: &TensorRef, weight: &TensorRef, eps: f32) -> Result<TensorRef> {
        let attributes = json!({"epsilon": eps});
        self.engine
            .of("RMSNormalization", attributes, &[input, weight])
    }

    fn rms_norm_residual(
        &self,
        input: &TensorRef,
        residual: &TensorRef,
        weight: &TensorRef,
        eps: f32,
    ) -> Result<(TensorRef, TensorRef)> {
        let known = [input, residual, weight].map(|it| self.engine.known(it));
        let [input, residual, weight] = known;
        let (input, residual, weight) = (input?, residual?, weight?);
        let inputs = [&input, &residual, &weight].map(|it| Some(&**it.tensor()));
        let attributes = json!({"epsilon": eps});
        let made = self.engine.run(RMS_NORM_RESIDUAL, attributes, &inputs, 2)?;
        match <[FerrumTensor; 2]>::try_from(made) {
            Ok([normed, sum]) => Ok((Arc::new(normed), Arc::new(sum))),
            Err(made) => Err(FerrumError::internal(format!(
                "{RMS_NORM_RESIDUAL} has {} outputs",
                made.len()
            ))),
        }
    }
}

/// The tensor `[batch, tokens, heads, size]` in the form `[batch, tokens, heads * size]`.
fn joined(tensor: &FerrumTensor, what: &str) -> Result<FerrumTensor> {
    let [batch, tokens, heads, size] = *tensor.shape() else {
        return Err(FerrumError::invalid_parameter(format!(
            "{what} has the shape {:?}, and not [batch, tokens, heads, size]",
            tensor.shape()
        )));
    };
    tensor.reshaped(&[batch, tokens, heads * size])
}

impl PositionOps for FerrumKernelOps {
    /// The first half of each head is rotated with the second half. `position_ids` has one position
    /// for each token of a sequence, or for each token of all sequences.
    fn rotary_embedding(
        &self,
        x: &TensorRef,
        cos_cache: &TensorRef,
        sin_cache: &TensorRef,
        position_ids: &[usize],
    ) -> Result<TensorRef> {
        let x = self.engine.known(x)?;
        let rows = joined(&x, "rotary_embedding: x")?;
        let (batch, tokens) = (x.shape()[0], x.shape()[1]);
        let count = position_ids.len();
        let positions = position_ids
            .iter()
            .map(|it| i64::try_from(*it).unwrap_or(i64::MAX));
        let positions: Vec<i64> = match count {
            _ if count == batch * tokens => positions.collect(),
            _ if count == tokens => positions.cycle().take(batch * tokens).collect(),
            _ => {
                return Err(FerrumError::invalid_parameter(format!(
                    "rotary_embedding: {count} positions for {batch} sequences of {tokens} tokens"
                )))
            }
        };
        let positions = self
            .engine
            .numbers(positions, &[batch as u64, tokens as u64])?;
        let (cos, sin) = (self.engine.known(cos_cache)?, self.engine.known(sin_cache)?);
        let inputs = [rows.tensor(), cos.tensor(), sin.tensor()].map(|it| Some(&**it));
        let inputs = [&inputs[..], &[Some(&positions)]].concat();
        let attributes = json!({"num_heads": x.shape()[2]});
        let made = self.engine.one("RotaryEmbedding", attributes, &inputs)?;
        made.reshape(x.shape())
    }
}

impl AttentionOps for FerrumKernelOps {
    /// With `causal`, the last query attends to all keys, and each earlier one to one key less.
    fn attention(
        &self,
        q: &TensorRef,
        k: &TensorRef,
        v: &TensorRef,
        params: &AttentionParams,
    ) -> Result<TensorRef> {
        let (q, k, v) = (
            self.engine.known(q)?,
            self.engine.known(k)?,
            self.engine.known(v)?,
        );
        let rows = [
            joined(&q, "attention: q")?,
            joined(&k, "attention: k")?,
            joined(&v, "attention: v")?,
        ];
        let wanted = [params.num_heads, params.num_kv_heads, params.num_kv_heads];
        for ((name, tensor), heads) in [("q", &q), ("k", &k), ("v", &v)].into_iter().zip(wanted) {
            if tensor.shape()[2..] != [heads, params.head_dim] {
                return Err(FerrumError::invalid_parameter(format!(
                    "attention: {name} has the shape {:?}, the parameters have {heads} heads of {}",
                    tensor.shape(),
                    params.head_dim
                )));
            }
        }
        let (batch, keys) = (q.shape()[0], k.shape()[1]);
        let length = i64::try_from(keys).unwrap_or(i64::MAX);
        let lengths = self.engine.numbers(vec![length; batch], &[batch as u64])?;
        let [q_rows, k_rows, v_rows] = &rows;
        let inputs = [
            Some(&**q_rows.tensor()),
            Some(&**k_rows.tensor()),
            Some(&**v_rows.tensor()),
            None,
            None,
            None,
            Some(&lengths),
        ];
        let attributes = json!({
            "is_causal": i32::from(params.causal),
            "q_num_heads": params.num_heads,
            "kv_num_heads": params.num_kv_heads,
            "scale": params.softmax_scale,
        });
        let made = self.engine.one("Attention", attributes, &inputs)?;
        made.reshape(q.shape())
    }
}

impl ActivationOps for FerrumKernelOps {
    fn silu_mul(&self, gate: &TensorRef, up: &TensorRef) -> Result<TensorRef> {
        self.engine.of(SILU_MUL, Value::Null, &[gate, up])
    }

    /// The form with tanh.
    fn gelu(&self, input: &TensorRef) -> Result<TensorRef> {
        let attributes = json!({"approximate": "tanh"});
        self.engine.of("Gelu", attributes, &[input])
    }
}

impl LinearOps for FerrumKernelOps {
    fn linear(&self, input: &TensorRef, weight: &TensorRef) -> Result<TensorRef> {
        self.engine.of(LINEAR, Value::Null, &[input, weight])
    }

    /// `packed_weight` has the bytes of the blocks, as in GGUF files: a tensor of the type UINT8 with
    /// a row for each output. Groups have 32 elements.
    fn quantized_linear(
        &self,
        input: &TensorRef,
        packed_weight: &TensorRef,
        scheme: &QuantScheme,
    ) -> Result<TensorRef> {
        let (dtype, group, block_bytes) = match scheme {
            QuantScheme::Q4_0 { group_size } => (DType::Q40, *group_size, 18),
            QuantScheme::Q8_0 { group_size } => (DType::Q80, *group_size, 34),
        };
        if group != 32 {
            return Err(FerrumError::unsupported(format!(
                "quantized_linear: groups of {group} elements, the library has groups of 32"
            )));
        }
        let (input, weight) = (self.engine.known(input)?, self.engine.known(packed_weight)?);
        let blocks = match *weight.shape() {
            [rows, bytes] if weight.dtype() == DataType::UINT8 && bytes % block_bytes == 0 => {
                Some([rows as u64, (bytes / block_bytes * group) as u64])
            }
            _ => None,
        };
        let Some(shape) = blocks else {
            return Err(FerrumError::invalid_parameter(format!(
                "quantized_linear: the weight has the type {} and the shape {:?}, \
                 and not rows of blocks of {block_bytes} bytes",
                weight.dtype(),
                weight.shape()
            )));
        };
        let weight = weight.contiguous()?;
        let running = self.engine.slot.running()?;
        let size = weight.size_bytes() as u64;
        let address = weight.tensor().description().address.unwrap_or(0);
        let layout = TensorLayout::new(dtype, &shape).read_only();
        // SAFETY: the closure keeps the tensor, whose elements are only read.
        let blocks = unsafe {
            Tensor::wrap(
                running.compute.device(),
                address,
                size,
                &layout,
                move || drop(weight),
            )
        };
        let blocks = blocks.map_err(error_of)?;
        let inputs = [Some(&**input.tensor()), Some(&blocks)];
        Ok(Arc::new(self.engine.one(
            QUANTIZED_LINEAR,
            Value::Null,
            &inputs,
        )?))
    }
}

impl SamplingOps for FerrumKernelOps {
    /// The penalty of a repeated token is `repetition_penalty` to the power of its frequency: a
    /// positive logit is divided by it, a negative one multiplied. Then follow temperature (0 is
    /// greedy), `top_k` (0 keeps all) and `top_p` (1 keeps all). The seed determines the draw.
    fn sample_token(&self, logits: &TensorRef, params: &SamplingParams) -> Result<u32> {
        sample(self.engine.known(logits)?.row()?, params)
    }

    /// The first one of equal logits.
    fn argmax(&self, logits: &TensorRef) -> Result<u32> {
        greedy(&self.engine.known(logits)?.row()?)
    }
}
