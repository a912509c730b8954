//! The published backend with its operations, used only through the traits. Expected numbers are
//! computed here, in float64.

use std::sync::Arc;

use ferrum_interfaces::backend::*;
use ferrum_interfaces::kernel_ops::*;
use ferrum_interfaces::tensor::{AsyncTensorOps, TensorBatchOps};
use ferrum_interfaces::{TensorOps, TensorRef};
use ferrum_mem_interfaces::{FerrumBackendRegistry, FerrumMem};
use ferrum_types::{DataType, Device, FerrumError, Result};
use serde_json::json;

use crate::support::*;
use crate::tensors::Foreign;

const CPU: Device = Device::CPU;

fn config() -> BackendConfig {
    FerrumMem::default_backend_config()
}

fn create(engine: &Engine, config: &BackendConfig) -> Box<dyn ComputeBackend> {
    let factory: &dyn BackendFactory = &engine.factory;
    block_on(factory.create_compute_backend(config)).unwrap()
}

/// An initialised backend.
fn started(engine: &Engine) -> Box<dyn ComputeBackend> {
    let mut backend = create(engine, &config());
    block_on(backend.initialize(&CPU)).unwrap();
    backend
}

fn tensor(backend: &dyn ComputeBackend, data: &[f32], shape: &[usize]) -> TensorRef {
    let make = backend.tensor_factory();
    make.from_slice(data, shape, DataType::FP32, CPU).unwrap()
}

/// Numbers from -2, below 2, as a tensor and in float64.
fn random(backend: &dyn ComputeBackend, shape: &[usize]) -> (TensorRef, Vec<f64>) {
    let make = backend.tensor_factory();
    let made = make
        .uniform(shape, -2.0, 2.0, DataType::FP32, &CPU)
        .unwrap();
    let numbers = made.to_vec_f32().unwrap();
    (made, numbers.into_iter().map(f64::from).collect())
}

#[track_caller]
fn close(found: &TensorRef, shape: &[usize], expected: &[f64]) {
    assert_eq!(found.shape(), shape);
    let found = found.to_vec_f32().unwrap();
    assert_eq!(found.len(), expected.len());
    for (at, (found, expected)) in found.iter().zip(expected).enumerate() {
        let error = (f64::from(*found) - expected).abs();
        assert!(
            error <= 1e-5 * (1.0 + expected.abs()),
            "{at}: {found} for {expected}"
        );
    }
}

#[track_caller]
fn invalid<T>(result: Result<T>) -> String {
    match result.err() {
        Some(FerrumError::InvalidParameter { message }) => message,
        other => panic!("{other:?}"),
    }
}

fn silu(x: f64) -> f64 {
    x / (1.0 + (-x).exp())
}

fn gelu(x: f64) -> f64 {
    let inner = (2.0 / std::f64::consts::PI).sqrt() * (x + 0.044715 * x.powi(3));
    0.5 * x * (1.0 + inner.tanh())
}

fn softmax(row: &[f64]) -> Vec<f64> {
    let top = row.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let powers: Vec<f64> = row.iter().map(|it| (it - top).exp()).collect();
    let sum: f64 = powers.iter().sum();
    powers.iter().map(|it| it / sum).collect()
}

fn rms_norm(rows: &[f64], weight: &[f64], eps: f64) -> Vec<f64> {
    let rows = rows.chunks(weight.len()).flat_map(|row| {
        let mean = row.iter().map(|it| it * it).sum::<f64>() / row.len() as f64;
        let scale = 1.0 / (mean + eps).sqrt();
        row.iter()
            .zip(weight)
            .map(move |(it, weight)| it * scale * weight)
    });
    rows.collect()
}

#[test]
fn test_a_backend_starts_and_stops() {
    let engine = engine();
    let mut backend = create(&engine, &config());
    assert_eq!(backend.name(), "cpu");
    assert!(!backend.version().is_empty());
    let idle = backend.status();
    assert!(!idle.is_initialized && !idle.is_ready && idle.active_devices.is_empty());
    let has = backend.capabilities();
    assert!(has.supported_devices.contains(&CPU));
    assert!(backend.supports_device(&CPU) && !backend.supports_device(&Device::CUDA(3)));
    for (flag, dtype) in [
        (has.supports_fp16, DataType::FP16),
        (has.supports_bf16, DataType::BF16),
        (has.supports_int8, DataType::INT8),
    ] {
        assert_eq!(flag, has.supported_dtypes.contains(&dtype));
    }
    assert!(has.supported_dtypes.contains(&DataType::FP32));
    assert!(has.max_tensor_dims == 8 && has.memory_alignment.is_power_of_two());
    assert!(has.max_batch_size > 0 && has.max_sequence_length > 0);
    assert!(!has.supports_custom_kernels && backend.kernel_executor().is_none());
    assert!(has.supports_flash_attention && has.supports_paged_attention);
    assert!(!has.supports_tensor_parallelism && !has.supports_pipeline_parallelism);
    assert!(!has.supports_cuda_graphs && has.extra_capabilities.contains_key("operations"));
    let (one, wrong) = (tensor(&*backend, &[1.0], &[1]), CPU);
    let early = backend.tensor_ops().add(&one, &one);
    assert!(matches!(early, Err(FerrumError::Backend { .. })));
    assert!(block_on(backend.synchronize(&wrong)).is_err());
    let nowhere = block_on(backend.initialize(&NOWHERE));
    assert!(matches!(nowhere, Err(FerrumError::NotFound { .. })));

    block_on(backend.initialize(&CPU)).unwrap();
    block_on(backend.initialize(&CPU)).unwrap();
    let twice = block_on(backend.initialize(&OTHER));
    assert!(matches!(twice, Err(FerrumError::AlreadyExists { .. })));
    let sum = backend.tensor_ops().add(&one, &one).unwrap();
    assert_eq!((sum.device(), sum.dtype()), (CPU, DataType::FP32));
    block_on(backend.synchronize(&CPU)).unwrap();
    assert!(block_on(backend.synchronize(&OTHER)).is_err());
    let busy = backend.status();
    assert!(busy.is_initialized && busy.is_ready);
    assert_eq!(
        (busy.active_devices, busy.operations_completed),
        (vec![CPU], 1)
    );
    assert!(busy.memory_usage[&CPU] > 0, "{:?}", busy.memory_usage);
    assert!(busy.backend_specific["memory_usage"]["cpu:0"].as_u64() > Some(0));
    assert_eq!(busy.last_error, None);
    let odd = tensor(&*backend, &[1.0; 6], &[2, 3]);
    invalid(backend.tensor_ops().matmul(&odd, &odd));
    let failed = backend.status().last_error.unwrap();
    assert!(failed.contains("MatMul"), "{failed}");

    block_on(backend.shutdown()).unwrap();
    block_on(backend.shutdown()).unwrap();
    assert!(!backend.status().is_ready);
    assert!(backend.tensor_ops().add(&one, &one).is_err());
    // Its tensors stay valid, and it starts again, also elsewhere.
    assert_eq!(sum.to_vec_f32().unwrap(), [2.0]);
    block_on(backend.initialize(&OTHER)).unwrap();
    assert!(backend.supports_device(&OTHER) && backend.supports_device(&CPU));
    let here = backend
        .tensor_factory()
        .ones(&[2], DataType::FP32, &OTHER)
        .unwrap();
    let there = backend.tensor_ops().add(&here, &here).unwrap();
    assert_eq!(
        (there.device(), there.to_vec_f32().unwrap()),
        (OTHER, vec![2.0; 2])
    );
    assert!(
        backend.tensor_ops().add(&one, &one).is_err(),
        "of another device"
    );
    drop((one, sum, odd, here, there, backend));
    nothing_left(&*engine.manager(), &CPU);
}

#[test]
fn test_a_backend_has_a_memory_manager() {
    let engine = engine();
    let mut config = config();
    config.memory_config.pool_size = Some(8 * MIB as u64);
    let backend = create(&engine, &config);
    let memory = backend.memory_manager();
    let block = allocate(memory, MIB);
    let info = memory.handle_info(block).unwrap();
    assert_eq!((info.size, info.device), (MIB, CPU));
    let vast = block_on(memory.allocate(16 * MIB, &CPU));
    assert!(matches!(vast, Err(FerrumError::ResourceExhausted { .. })));
    block_on(memory.deallocate(block)).unwrap();
}

#[test]
fn test_products_and_arithmetic() {
    let engine = engine();
    let backend = started(&engine);
    let ops = backend.tensor_ops();
    let (batch, m, k, n) = (2, 5, 7, 3);
    let (a, a64) = random(&*backend, &[batch, m, k]);
    let (b, b64) = random(&*backend, &[k, n]);
    let product = |at: usize| {
        let (row, column) = (at / n, at % n);
        (0..k)
            .map(|it| a64[row * k + it] * b64[it * n + column])
            .sum::<f64>()
    };
    let expected: Vec<f64> = (0..batch * m * n).map(product).collect();
    close(&ops.matmul(&a, &b).unwrap(), &[batch, m, n], &expected);
    // The same product of a transposed view.
    let (bt, bt64) = random(&*backend, &[n, k]);
    let product = |at: usize| {
        let (row, column) = (at / n, at % n);
        (0..k)
            .map(|it| a64[row * k + it] * bt64[column * k + it])
            .sum::<f64>()
    };
    let expected: Vec<f64> = (0..batch * m * n).map(product).collect();
    let turned = ops.transpose(&bt, 0, 1).unwrap();
    close(&ops.matmul(&a, &turned).unwrap(), &[batch, m, n], &expected);

    let (row, row64) = random(&*backend, &[k]);
    type Operation = fn(&dyn TensorOps, &TensorRef, &TensorRef) -> Result<TensorRef>;
    type Formula = fn(f64, f64) -> f64;
    let cases: [(Operation, Formula); 4] = [
        (|ops, a, b| ops.add(a, b), |a, b| a + b),
        (|ops, a, b| ops.sub(a, b), |a, b| a - b),
        (|ops, a, b| ops.mul(a, b), |a, b| a * b),
        (|ops, a, b| ops.div(a, b), |a, b| a / b),
    ];
    for (operation, of) in cases {
        // The row is repeated.
        let numbers = a64.iter().zip(row64.iter().cycle());
        let expected: Vec<f64> = numbers.map(|(a, b)| of(*a, *b)).collect();
        close(
            &operation(ops, &a, &row).unwrap(),
            &[batch, m, k],
            &expected,
        );
    }
    let foreign: TensorRef = Arc::new(Foreign(vec![1], vec![2.0]));
    let doubled: Vec<f64> = row64.iter().map(|it| it * 2.0).collect();
    close(&ops.mul(&row, &foreign).unwrap(), &[k], &doubled);
    let message = invalid(ops.matmul(&a, &a));
    assert!(
        message.contains("MatMul") && message.contains("[2, 5, 7]"),
        "{message}"
    );
    let half = row.to_dtype(DataType::FP16).unwrap();
    assert_eq!(ops.add(&half, &half).unwrap().dtype(), DataType::FP16);
    invalid(ops.add(&half, &row));
}

#[test]
fn test_norms_and_activations() {
    let engine = engine();
    let backend = started(&engine);
    let ops = backend.tensor_ops();
    let shape = [2, 3, 8];
    let (x, x64) = random(&*backend, &shape);
    let (weight, w64) = random(&*backend, &[8]);
    let (bias, b64) = random(&*backend, &[8]);
    let rows = || x64.chunks(8);
    let expected: Vec<f64> = rows().flat_map(softmax).collect();
    for dim in [-1, 2] {
        close(&ops.softmax(&x, dim).unwrap(), &shape, &expected);
    }
    let middle = ops.softmax(&x, -2).unwrap();
    let columns = ops.permute(&x, &[0, 2, 1]).unwrap();
    let columns = ops.softmax(&columns, -1).unwrap();
    let columns = ops.permute(&columns, &[0, 2, 1]).unwrap();
    let columns: Vec<_> = columns
        .to_vec_f32()
        .unwrap()
        .into_iter()
        .map(f64::from)
        .collect();
    close(&middle, &shape, &columns);
    invalid(ops.softmax(&x, 3));
    let normed = |bias: &[f64]| -> Vec<f64> {
        let rows = rows().flat_map(|row| {
            let mean = row.iter().sum::<f64>() / 8.0;
            let variance = row.iter().map(|it| (it - mean).powi(2)).sum::<f64>() / 8.0;
            let scale = 1.0 / (variance + 1e-3).sqrt();
            let numbers = row.iter().zip(&w64).zip(bias);
            let numbers = numbers.map(move |((it, w), b)| (it - mean) * scale * w + b);
            numbers.collect::<Vec<_>>()
        });
        rows.collect()
    };
    close(
        &ops.layer_norm(&x, &weight, Some(&bias), 1e-3).unwrap(),
        &shape,
        &normed(&b64),
    );
    close(
        &ops.layer_norm(&x, &weight, None, 1e-3).unwrap(),
        &shape,
        &normed(&[0.0; 8]),
    );
    close(
        &ops.rms_norm(&x, &weight, 1e-3).unwrap(),
        &shape,
        &rms_norm(&x64, &w64, 1e-3),
    );
    let each = |of: fn(f64) -> f64| -> Vec<f64> { x64.iter().map(|it| of(*it)).collect() };
    close(&ops.relu(&x).unwrap(), &shape, &each(|it| it.max(0.0)));
    close(&ops.gelu(&x).unwrap(), &shape, &each(gelu));
    close(&ops.silu(&x).unwrap(), &shape, &each(silu));
}

#[test]
fn test_parts_and_orders() {
    let engine = engine();
    let backend = started(&engine);
    let ops = backend.tensor_ops();
    let numbers: Vec<f32> = (0..12).map(|it| it as f32).collect();
    let x = tensor(&*backend, &numbers, &[3, 4]);
    let parts = ops.split(&x, &[1, 0, 3], 1).unwrap();
    let shapes: Vec<_> = parts.iter().map(|it| it.shape().to_vec()).collect();
    assert_eq!(shapes, [[3, 1], [3, 0], [3, 3]]);
    assert_eq!(parts[0].to_vec_f32().unwrap(), [0.0, 4.0, 8.0]);
    let joined = ops.concat(&[&parts[2], &parts[1], &parts[0]], 1).unwrap();
    assert_eq!(joined.shape(), [3, 4]);
    assert_eq!(joined.to_vec_f32().unwrap()[..4], [1.0, 2.0, 3.0, 0.0]);
    let turned = ops.transpose(&x, 1, 0).unwrap();
    assert_eq!(
        (turned.shape(), turned.is_contiguous()),
        (&[4, 3][..], false)
    );
    assert_eq!(turned.to_vec_f32().unwrap()[..3], [0.0, 4.0, 8.0]);
    let cube = x.reshape(&[3, 2, 2]).unwrap();
    let moved = ops.permute(&cube, &[2, 0, 1]).unwrap();
    assert_eq!(moved.shape(), [2, 3, 2]);
    assert_eq!(
        moved.to_vec_f32().unwrap()[..6],
        [0.0, 2.0, 4.0, 6.0, 8.0, 10.0]
    );
    for (sizes, dim) in [(&[1, 2][..], 1), (&[4], 2), (&[usize::MAX, 5], 1)] {
        invalid(ops.split(&x, sizes, dim));
    }
    invalid(ops.transpose(&x, 0, 2));
    invalid(ops.permute(&x, &[0, 0]));
    invalid(ops.permute(&x, &[0]));
    invalid(ops.concat(&[], 0));
    invalid(ops.concat(&[&x, &turned], 0));
}

#[test]
fn test_batches() {
    let engine = engine();
    let backend = engine.factory.create_backend(&config()).unwrap();
    block_on(backend.start(&CPU)).unwrap();
    let (ops, batch): (&dyn AsyncTensorOps, &dyn TensorBatchOps) =
        (backend.own_tensor_ops(), backend.own_tensor_ops());
    let a = tensor(&backend, &[1.0, 2.0, 3.0, 4.0], &[2, 2]);
    let b = tensor(&backend, &[0.0, 1.0, 1.0, 0.0], &[2, 2]);
    let swapped = [2.0, 1.0, 4.0, 3.0];
    let product = block_on(ops.matmul_async(&a, &b)).unwrap();
    assert_eq!(product.to_vec_f32().unwrap(), swapped);
    let rows = block_on(ops.softmax_async(&a, -1)).unwrap();
    close(
        &rows,
        &[2, 2],
        &[softmax(&[1.0, 2.0]), softmax(&[3.0, 4.0])].concat(),
    );
    // A future that is dropped leaves nothing.
    drop(give_up_after(1, ops.matmul_async(&a, &b)));
    block_on(ops.synchronize()).unwrap();
    let products = batch.batch_matmul(&[&a, &b], &[&b, &b]).unwrap();
    assert_eq!(products[0].to_vec_f32().unwrap(), swapped);
    assert_eq!(products[1].to_vec_f32().unwrap(), [1.0, 0.0, 0.0, 1.0]);
    invalid(batch.batch_matmul(&[&a], &[]));

    let stacked = batch.stack(&[&a, &b], 1).unwrap();
    assert_eq!(stacked.shape(), [2, 2, 2]);
    assert_eq!(
        stacked.to_vec_f32().unwrap(),
        [1.0, 2.0, 0.0, 1.0, 3.0, 4.0, 1.0, 0.0]
    );
    let parts = batch.unstack(&stacked, 1).unwrap();
    assert_eq!((parts.len(), parts[1].shape()), (2, &[2, 2][..]));
    assert_eq!(parts[1].to_vec_f32().unwrap(), [0.0, 1.0, 1.0, 0.0]);
    invalid(batch.stack(&[&a], 3));
    invalid(batch.stack(&[], 0));
    invalid(batch.unstack(&a, 2));
    let turned = ops.transpose(&a, 0, 1).unwrap();
    let padded = batch.pad_batch(&[&turned, &b], &[2, 3]).unwrap();
    assert_eq!(
        padded[0].to_vec_f32().unwrap(),
        [1.0, 3.0, 0.0, 2.0, 4.0, 0.0]
    );
    assert_eq!(
        padded[1].to_vec_f32().unwrap(),
        [0.0, 1.0, 0.0, 1.0, 0.0, 0.0]
    );
    invalid(batch.pad_batch(&[&a], &[2, 1]));
    invalid(batch.pad_batch(&[&a], &[4]));
    drop((
        a, b, product, rows, products, stacked, parts, turned, padded, backend,
    ));
    nothing_left(&*engine.manager(), &CPU);
}

#[test]
fn test_fused_operations() {
    let engine = engine();
    let backend = started(&engine);
    let kernels = backend.kernel_ops().unwrap();
    assert_eq!(kernels.backend_name(), "cpu");
    let (x, x64) = random(&*backend, &[3, 32]);
    let (y, y64) = random(&*backend, &[3, 32]);
    let (w, w64) = random(&*backend, &[32]);
    let norm = kernels.norm_ops().unwrap();
    close(
        &norm.rms_norm(&x, &w, 1e-5).unwrap(),
        &[3, 32],
        &rms_norm(&x64, &w64, 1e-5),
    );
    let (normed, sum) = norm.rms_norm_residual(&x, &y, &w, 1e-5).unwrap();
    let sum64: Vec<f64> = x64.iter().zip(&y64).map(|(x, y)| x + y).collect();
    close(&sum, &[3, 32], &sum64);
    close(&normed, &[3, 32], &rms_norm(&sum64, &w64, 1e-5));
    let activation = kernels.activation_ops().unwrap();
    let gated: Vec<f64> = x64.iter().zip(&y64).map(|(x, y)| silu(*x) * y).collect();
    close(&activation.silu_mul(&x, &y).unwrap(), &[3, 32], &gated);
    let each: Vec<f64> = x64.iter().map(|it| gelu(*it)).collect();
    close(&activation.gelu(&x).unwrap(), &[3, 32], &each);
    let linear = kernels.linear_ops().unwrap();
    let (weight, v64) = random(&*backend, &[4, 32]);
    let product = |weight: &[f64]| -> Vec<f64> {
        let rows = x64.chunks(32).flat_map(|x| {
            let columns = weight.chunks(32);
            columns.map(move |w| x.iter().zip(w).map(|(x, w)| x * w).sum())
        });
        rows.collect()
    };
    close(
        &linear.linear(&x, &weight).unwrap(),
        &[3, 4],
        &product(&v64),
    );
    // Without kernels the dispatch falls back to other operations.
    let dispatch = KernelOpsDispatch::new(None, backend.tensor_ops());
    close(&dispatch.silu_mul(&x, &y).unwrap(), &[3, 32], &gated);

    // Two rows of one block each: the scale 0.5 as f16, and 32 numbers of 8 or 4 bits.
    let mut bytes = Vec::new();
    for row in 0..2i32 {
        bytes.extend([0x00, 0x38]);
        bytes.extend((0..32).map(|at| (at - 16 + row) as i8 as u8));
    }
    let packed = |bytes: &[u8]| {
        let numbers: Vec<f32> = bytes.iter().map(|it| f32::from(*it)).collect();
        let shape = [2, bytes.len() / 2];
        let make = backend.tensor_factory();
        make.from_slice(&numbers, &shape, DataType::UINT8, CPU)
            .unwrap()
    };
    let eight = QuantScheme::Q8_0 { group_size: 32 };
    let numbers = (0..64).map(|at| f64::from(at % 32 - 16 + at / 32) * 0.5);
    let expected = product(&numbers.collect::<Vec<_>>());
    let made = linear
        .quantized_linear(&x, &packed(&bytes), &eight)
        .unwrap();
    close(&made, &[3, 2], &expected);
    let mut bytes = Vec::new();
    for row in 0..2u8 {
        bytes.extend([0x00, 0x38]);
        bytes.extend((0..16).map(|at: u8| at | ((15 - at + row) % 16) << 4));
    }
    let nibble = |at: i32| {
        let (row, at) = (at / 32, at % 32);
        let low = if at < 16 {
            at
        } else {
            (15 - (at - 16) + row) % 16
        };
        f64::from(low - 8) * 0.5
    };
    let expected = product(&(0..64).map(nibble).collect::<Vec<_>>());
    let four = QuantScheme::Q4_0 { group_size: 32 };
    let made = linear.quantized_linear(&x, &packed(&bytes), &four).unwrap();
    close(&made, &[3, 2], &expected);
    invalid(linear.quantized_linear(&x, &packed(&bytes), &eight));
    invalid(linear.quantized_linear(&x, &weight, &four));
    let groups = QuantScheme::Q4_0 { group_size: 64 };
    let other = linear.quantized_linear(&x, &packed(&bytes), &groups);
    assert!(matches!(other, Err(FerrumError::Unsupported { .. })));
}

#[test]
fn test_attention_and_rotation() {
    let engine = engine();
    let backend = started(&engine);
    let kernels = backend.kernel_ops().unwrap();
    let (batch, queries, keys, heads, groups, size) = (2, 3, 5, 4, 2, 8);
    let (q, q64) = random(&*backend, &[batch, queries, heads, size]);
    let (k, k64) = random(&*backend, &[batch, keys, groups, size]);
    let (v, v64) = random(&*backend, &[batch, keys, groups, size]);
    let attention = kernels.attention_ops().unwrap();
    for causal in [false, true] {
        let params = AttentionParams {
            num_heads: heads,
            num_kv_heads: groups,
            head_dim: size,
            softmax_scale: 0.3,
            causal,
        };
        let mut expected = Vec::new();
        for place in 0..batch * queries * heads {
            let (b, i, h) = (
                place / (queries * heads),
                place / heads % queries,
                place % heads,
            );
            let at = |key: usize| ((b * keys + key) * groups + h / (heads / groups)) * size;
            let visible = if causal { keys - queries + i + 1 } else { keys };
            let score = |key: usize| {
                let products = (0..size).map(|it| q64[place * size + it] * k64[at(key) + it]);
                products.sum::<f64>() * f64::from(0.3f32)
            };
            let weights = softmax(&(0..visible).map(score).collect::<Vec<_>>());
            expected.extend((0..size).map(|it| {
                let sums = weights
                    .iter()
                    .enumerate()
                    .map(|(key, w)| w * v64[at(key) + it]);
                sums.sum::<f64>()
            }));
        }
        let made = attention.attention(&q, &k, &v, &params).unwrap();
        close(&made, &[batch, queries, heads, size], &expected);
        let wrong = AttentionParams {
            num_kv_heads: 4,
            ..params.clone()
        };
        assert!(invalid(attention.attention(&q, &k, &v, &wrong)).contains("4 heads"));
        invalid(attention.attention(&q.reshape(&[6, 4, 8]).unwrap(), &k, &v, &params));
        let paged = attention.paged_attention(&q, &k, &v, &[0], &params);
        assert!(matches!(paged, Err(FerrumError::Unsupported { .. })));
    }

    let rotation = kernels.position_ops().unwrap();
    let (cos, cos64) = random(&*backend, &[10, size / 2]);
    let (sin, sin64) = random(&*backend, &[10, size / 2]);
    let rotated = |positions: &[usize]| -> Vec<f64> {
        let numbers = q64.chunks(size).enumerate().flat_map(|(row, x)| {
            let at = positions[row / heads] * (size / 2);
            let (first, second) = x.split_at(size / 2);
            let cos = &cos64[at..at + size / 2];
            let sin = &sin64[at..at + size / 2];
            let low = (0..size / 2).map(|it| first[it] * cos[it] - second[it] * sin[it]);
            let high = (0..size / 2).map(|it| second[it] * cos[it] + first[it] * sin[it]);
            low.chain(high).collect::<Vec<_>>()
        });
        numbers.collect()
    };
    let shape = [batch, queries, heads, size];
    let made = rotation
        .rotary_embedding(&q, &cos, &sin, &[4, 5, 9])
        .unwrap();
    close(&made, &shape, &rotated(&[4, 5, 9, 4, 5, 9]));
    let own = [0, 1, 2, 7, 8, 9];
    let made = rotation.rotary_embedding(&q, &cos, &sin, &own).unwrap();
    close(&made, &shape, &rotated(&own));
    invalid(rotation.rotary_embedding(&q, &cos, &sin, &[1, 2]));
    invalid(rotation.rotary_embedding(&q, &cos, &sin, &[8, 9, 10]));
    invalid(rotation.rotary_embedding(&q, &cos, &sin, &[usize::MAX, 1, 2]));
}

#[test]
fn test_tokens_are_chosen() {
    let engine = engine();
    let backend = started(&engine);
    let sampling = backend.kernel_ops().unwrap().sampling_ops().unwrap();
    let logits = tensor(&*backend, &[1.0, 3.0, 3.0, -1.0], &[1, 4]);
    assert_eq!(sampling.argmax(&logits).unwrap(), 1);
    let mut params = SamplingParams {
        temperature: 1.0,
        top_k: 3,
        top_p: 0.9,
        repetition_penalty: 1.5,
        repetition_token_ids: vec![1],
        repetition_token_freqs: vec![3],
        rng_seed: 5,
    };
    let token = sampling.sample_token(&logits, &params).unwrap();
    assert_eq!(sampling.sample_token(&logits, &params).unwrap(), token);
    params.temperature = 0.0;
    assert_eq!(sampling.sample_token(&logits, &params).unwrap(), 2);
    params.top_p = -1.0;
    assert!(invalid(sampling.sample_token(&logits, &params)).contains("top_p"));
    invalid(sampling.argmax(&logits.reshape(&[2, 2]).unwrap()));
}

#[test]
fn test_settings_are_checked() {
    let engine = engine();
    let factory: &dyn BackendFactory = &engine.factory;
    let mut types = factory.supported_backend_types();
    types.retain(|it| *it != BackendType::OnnxRuntime); // it may be installed
    assert_eq!(types, [BackendType::CPU, BackendType::Custom]);
    factory.validate_config(&config()).unwrap();
    for kind in [
        BackendType::Candle,
        BackendType::TensorRT,
        BackendType::Metal,
    ] {
        let other = BackendConfig {
            backend_type: kind,
            ..config()
        };
        let error = factory.validate_config(&other).unwrap_err();
        assert!(matches!(error, FerrumError::Unsupported { .. }), "{error}");
        assert!(error.to_string().contains("not available"), "{error}");
        assert!(block_on(factory.create_compute_backend(&other)).is_err());
    }
    type Change = fn(&mut BackendConfig);
    let option = |name: &str, value| {
        let mut config = config();
        config.backend_options.insert(name.to_owned(), value);
        config
    };
    let changes: [(Change, &str); 4] = [
        (|it| it.optimization_level = 4, "optimization_level"),
        (|it| it.memory_config.alignment = 0, "alignment"),
        (|it| it.memory_config.alignment = 48, "alignment"),
        (|it| it.memory_config.pool_size = Some(0), "pool_size"),
    ];
    let changed = changes.map(|(change, name)| {
        let mut config = config();
        change(&mut config);
        (config, name)
    });
    let options = [
        (option("threads", json!(0)), "threads"),
        (option("seed", json!("x")), "seed"),
        (option("name", json!(1)), "name"),
        (option("plan", json!(1)), "plans"),
        (option("plans", json!(0)), "plans"),
    ];
    for (config, name) in changed.into_iter().chain(options) {
        let error = factory.validate_config(&config).unwrap_err();
        assert!(matches!(error, FerrumError::Config { .. }), "{error}");
        assert!(error.to_string().contains(name), "{error}");
    }
    let mut small = option("threads", json!(1));
    small.backend_options.insert("seed".into(), json!(9));
    small.backend_options.insert("plans".into(), json!(2));
    small.memory_config.growth_strategy = MemoryGrowthStrategy::Static;
    small.memory_config.pool_size = Some(MIB as u64);
    let mut backend = create(&engine, &small);
    block_on(backend.initialize(&CPU)).unwrap();
    // The results, the tensors of the factory and the blocks are bounded each.
    let (some, _) = random(&*backend, &[MIB / 8]);
    let wide = some.reshape(&[1, MIB / 8]).unwrap();
    let tall = tensor(&*backend, &[1.0; 8], &[8, 1]);
    let full = backend.tensor_ops().mul(&wide, &tall);
    assert!(matches!(full, Err(FerrumError::ResourceExhausted { .. })));
    let make = backend.tensor_factory();
    let full = make.zeros(&[MIB], DataType::FP32, &CPU);
    assert!(matches!(full, Err(FerrumError::ResourceExhausted { .. })));
    let mut again = create(&engine, &small);
    block_on(again.initialize(&CPU)).unwrap();
    assert_eq!(
        random(&*again, &[4]).1,
        random(&*create(&engine, &small), &[4]).1
    );
    let loader = WeightLoaderConfig {
        enable_caching: false,
        cache_dir: None,
        max_cache_size: None,
        max_concurrent_downloads: 0,
        download_timeout_seconds: 0,
        enable_integrity_checks: false,
        default_headers: Default::default(),
    };
    let loader = block_on(factory.create_weight_loader(&loader)).unwrap();
    assert!(loader.capabilities().supports_concurrent);
}

/// What a backend holds from its device.
fn held(backend: &dyn ComputeBackend) -> u64 {
    backend.status().memory_usage[&CPU]
}

#[test]
fn test_memory_grows_as_the_settings_state() {
    let engine = engine();
    let size = 8 * MIB as u64;
    let held_by = |change: fn(&mut BackendMemoryConfig)| {
        let mut config = config();
        config.enable_debug = true;
        config.memory_config.pool_size = Some(size);
        change(&mut config.memory_config);
        let mut backend = create(&engine, &config);
        block_on(backend.initialize(&CPU)).unwrap();
        let first = held(&*backend);
        let one = tensor(&*backend, &[1.0], &[1]);
        let sum = backend.tensor_ops().add(&one, &one).unwrap();
        assert_eq!(sum.to_vec_f32().unwrap(), [2.0]);
        let during = held(&*backend);
        drop(sum);
        (first, during, held(&*backend))
    };
    let fixed = held_by(|it| it.growth_strategy = MemoryGrowthStrategy::Static);
    assert_eq!(fixed, (size, size, size));
    let steps = held_by(|it| it.growth_strategy = MemoryGrowthStrategy::Incremental);
    assert_eq!(steps, (size / 4, size / 4, size / 4));
    let (first, during, after) = held_by(|it| it.growth_strategy = MemoryGrowthStrategy::Dynamic);
    assert!(
        first == 0 && during > 0 && after == during,
        "{first} {during} {after}"
    );
    let (first, during, after) = held_by(|it| it.enable_pooling = false);
    assert!(
        first == 0 && during > 0 && after == 0,
        "{first} {during} {after}"
    );
}

#[test]
fn test_a_registered_backend_starts_and_stops() {
    let engine = engine();
    let backend = engine.factory.create_backend(&config()).unwrap();
    let mut registry = FerrumBackendRegistry::new();
    registry
        .register_compute_backend("own", Box::new(backend.clone()))
        .unwrap();
    let required = BackendRequirements {
        required_devices: vec![CPU],
        required_dtypes: vec![DataType::FP32],
        min_batch_size: 1,
        min_sequence_length: 4096,
        requires_flash_attention: true,
        requires_paged_attention: false,
        extra_requirements: Default::default(),
    };
    let found = registry.find_best_compute_backend(&required).unwrap();
    assert!(found.capabilities().meets_requirements(&required));
    assert!(!found.status().is_ready);
    block_on(backend.start(&CPU)).unwrap();
    assert!(found.status().is_ready);
    let one = tensor(found, &[1.0], &[1]);
    assert_eq!(
        found
            .tensor_ops()
            .add(&one, &one)
            .unwrap()
            .to_vec_f32()
            .unwrap(),
        [2.0]
    );
    block_on(backend.stop()).unwrap();
    assert!(!found.status().is_ready);
    let paged = BackendRequirements {
        requires_paged_attention: true,
        ..required
    };
    assert!(registry.find_best_compute_backend(&paged).is_some());
    let other = BackendRequirements {
        extra_requirements: [("tensor_cores".into(), json!(true))].into(),
        ..paged
    };
    assert!(registry.find_best_compute_backend(&other).is_none());
}

/// Doubles the elements of its first input.
struct Doubler;

impl ferrum_mem::ProgramBackend for Doubler {
    fn run(
        &self,
        call: &ferrum_mem::ComputeCall<'_>,
    ) -> std::result::Result<(), ferrum_mem::ProgramFailure> {
        let numbers = call.input(0)?.read::<f32>()?;
        let doubled: Vec<f32> = numbers.iter().map(|it| 2.0 * it).collect();
        call.output(0)?.write(&doubled)
    }
}

#[test]
fn test_a_custom_backend_is_created_by_its_name() {
    let engine = engine();
    let properties = r#"{"supported_devices": ["cpu:0"], "supported_dtypes": ["f32"]}"#;
    let held = engine
        .factory
        .library()
        .register_compute("doubler", properties, Doubler)
        .unwrap();
    let mut custom = BackendConfig {
        backend_type: BackendType::Custom,
        ..config()
    };
    custom
        .backend_options
        .insert("name".to_owned(), json!("doubler"));
    let backend = engine.factory.create_backend(&custom).unwrap();
    block_on(backend.start(&CPU)).unwrap();
    let found: &dyn ComputeBackend = &backend;
    let one = tensor(found, &[1.5], &[1]);
    let sum = found.tensor_ops().add(&one, &one).unwrap();
    assert_eq!(sum.to_vec_f32().unwrap(), [3.0]);
    let product = found.tensor_ops().mul(&one, &one).unwrap();
    assert_eq!(
        product.to_vec_f32().unwrap(),
        [3.0],
        "1.5 is doubled, not squared"
    );
    drop((one, sum, product));
    block_on(backend.stop()).unwrap();
    drop(backend);
    held.close().unwrap();
}
