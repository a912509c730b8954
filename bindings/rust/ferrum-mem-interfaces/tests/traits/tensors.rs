//! The published factory of tensors, used only through its trait.

use std::any::Any;
use std::sync::Arc;

use ferrum_interfaces::{TensorFactory, TensorLike, TensorRef};
use ferrum_types::{DataType, Device, FerrumError, Result};

use crate::support::*;

const CPU: Device = Device::CPU;

/// A tensor of another implementation: floats on the CPU.
#[derive(Debug)]
pub struct Foreign(pub Vec<usize>, pub Vec<f32>);

fn absent<T>() -> Result<T> {
    Err(FerrumError::unsupported("not in this test"))
}

impl TensorLike for Foreign {
    fn as_any(&self) -> &dyn Any {
        self
    }
    fn shape(&self) -> &[usize] {
        &self.0
    }
    fn dtype(&self) -> DataType {
        DataType::FP32
    }
    fn device(&self) -> Device {
        Device::CPU
    }
    fn is_contiguous(&self) -> bool {
        true
    }
    fn view(&self, _: &[usize], _: &[usize]) -> Result<TensorRef> {
        absent()
    }
    fn reshape(&self, _: &[usize]) -> Result<TensorRef> {
        absent()
    }
    fn to_cpu(&self) -> Result<TensorRef> {
        absent()
    }
    fn to_device(&self, _: &Device) -> Result<TensorRef> {
        absent()
    }
    fn to_dtype(&self, _: DataType) -> Result<TensorRef> {
        absent()
    }
    fn to_vec_f32(&self) -> Result<Vec<f32>> {
        Ok(self.1.clone())
    }
}

fn factory(engine: &Engine, seed: u64) -> Box<dyn TensorFactory> {
    Box::new(engine.factory.create_tensor_factory(seed))
}

fn values(tensor: &TensorRef) -> Vec<f32> {
    tensor.to_vec_f32().unwrap()
}

#[test]
fn test_tensors_are_made_and_filled() {
    let engine = engine();
    let make = factory(&engine, 1);
    let made = make
        .from_slice(&[1.0, 2.5, -3.0], &[3, 1], DataType::FP32, CPU)
        .unwrap();
    assert_eq!((made.shape(), made.device()), (&[3, 1][..], CPU));
    assert_eq!(values(&made), [1.0, 2.5, -3.0]);
    let whole = make
        .from_slice(&[1.0, 2.5, -3.0], &[3], DataType::INT8, CPU)
        .unwrap();
    assert_eq!((whole.dtype(), whole.size_bytes()), (DataType::INT8, 3));
    assert_eq!(values(&whole), [1.0, 2.0, -3.0]);
    for dtype in [
        DataType::FP32,
        DataType::FP16,
        DataType::BF16,
        DataType::FP8,
        DataType::INT32,
        DataType::UINT8,
        DataType::BOOL,
    ] {
        let ones = make.ones(&[2, 3], dtype, &CPU).unwrap();
        assert_eq!((ones.dtype(), values(&ones)), (dtype, vec![1.0; 6]));
        let zeros = make.zeros_like(&ones).unwrap();
        assert_eq!((zeros.dtype(), zeros.shape()), (dtype, ones.shape()));
        assert_eq!(values(&zeros), [0.0; 6]);
    }
    assert_eq!(
        values(&make.zeros(&[], DataType::FP32, &CPU).unwrap()),
        [0.0]
    );
    let empty = make.empty(&[4, 0], DataType::FP16, CPU).unwrap();
    assert_eq!((empty.shape(), empty.size_bytes()), (&[4, 0][..], 0));

    let short = make.from_slice(&[1.0], &[2], DataType::FP32, CPU);
    assert!(matches!(short, Err(FerrumError::InvalidParameter { .. })));
    let vast = make.uniform(&[usize::MAX, 2], 0.0, 1.0, DataType::FP32, &CPU);
    assert!(matches!(vast, Err(FerrumError::InvalidParameter { .. })));
    let missing = make.zeros(&[1], DataType::FP32, &NOWHERE);
    assert!(matches!(missing, Err(FerrumError::NotFound { .. })));
    let large = make.empty(&[CAPACITY], DataType::FP32, CPU);
    assert!(matches!(large, Err(FerrumError::ResourceExhausted { .. })));
    drop((make, made, whole, empty));
    nothing_left(&*engine.manager(), &CPU);
}

#[test]
fn test_views_share_memory_and_devices_do_not() {
    let engine = engine();
    let make = factory(&engine, 1);
    let table = make
        .from_slice(
            &[0.0, 1.0, 2.0, 3.0, 4.0, 5.0],
            &[3, 2],
            DataType::FP32,
            CPU,
        )
        .unwrap();
    let column = make.narrow(&table, 1, 1, 1).unwrap();
    assert_eq!(
        (column.shape(), values(&column)),
        (&[3, 1][..], vec![1.0, 3.0, 5.0])
    );
    assert!(!column.is_contiguous());
    // A copy, because no strides express the shape.
    assert_eq!(
        values(&make.reshape(&column, &[3]).unwrap()),
        [1.0, 3.0, 5.0]
    );
    assert_eq!(make.reshape(&table, &[2, 3]).unwrap().shape(), [2, 3]);
    assert!(make.reshape(&table, &[7]).is_err());
    for (dim, start, length) in [(2, 0, 1), (usize::MAX, 0, 1), (0, 2, 2)] {
        let wrong = make.narrow(&table, dim, start, length);
        assert!(matches!(wrong, Err(FerrumError::InvalidParameter { .. })));
    }
    let there = make.to_device(&column, OTHER).unwrap();
    assert_eq!(
        (there.device(), values(&there)),
        (OTHER, vec![1.0, 3.0, 5.0])
    );
    let same = make.from_tensor(&there, &OTHER).unwrap();
    assert_eq!(same.device(), OTHER);
    let foreign: TensorRef = Arc::new(Foreign(vec![2], vec![7.0, 8.0]));
    let known = make.from_tensor(&foreign, &OTHER).unwrap();
    assert_eq!((known.device(), values(&known)), (OTHER, vec![7.0, 8.0]));
    assert_eq!(values(&make.narrow(&foreign, 0, 1, 1).unwrap()), [8.0]);
}

#[test]
fn test_a_seed_determines_random_numbers() {
    let engine = engine();
    let (make, again) = (factory(&engine, 7), factory(&engine, 7));
    let draw = |make: &dyn TensorFactory| {
        let uniform = make.uniform(&[4000], -2.0, 6.0, DataType::FP32, &CPU);
        let normal = make.normal(&[4001], 3.0, 0.5, DataType::FP32, &CPU);
        (values(&uniform.unwrap()), values(&normal.unwrap()))
    };
    let (uniform, normal) = draw(&*make);
    assert_eq!((uniform.clone(), normal.clone()), draw(&*again));
    assert_ne!(uniform, draw(&*make).0);
    assert_ne!(uniform, draw(&*factory(&engine, 8)).0);
    assert!(uniform.iter().all(|it| (-2.0..6.0).contains(it)));
    let mean = |of: &[f32]| of.iter().sum::<f32>() / of.len() as f32;
    let deviation = |of: &[f32]| {
        let mean = mean(of);
        let squares: Vec<f32> = of.iter().map(|it| (it - mean).powi(2)).collect();
        squares.iter().sum::<f32>().sqrt() / (of.len() as f32).sqrt()
    };
    // Four deviations of the mean of so many numbers.
    assert!((mean(&uniform) - 2.0).abs() < 0.15, "{}", mean(&uniform));
    assert!((mean(&normal) - 3.0).abs() < 0.04, "{}", mean(&normal));
    assert!(
        (deviation(&normal) - 0.5).abs() < 0.03,
        "{}",
        deviation(&normal)
    );
    let half = make.normal(&[3], 0.0, 1.0, DataType::FP16, &CPU).unwrap();
    assert_eq!(half.dtype(), DataType::FP16);
    for (low, high) in [(1.0, 0.0), (f32::NAN, 1.0), (0.0, f32::INFINITY)] {
        let wrong = make.uniform(&[1], low, high, DataType::FP32, &CPU);
        assert!(matches!(wrong, Err(FerrumError::InvalidParameter { .. })));
    }
    for (mean, std) in [(0.0, -1.0), (0.0, f32::NAN), (f32::INFINITY, 1.0)] {
        let wrong = make.normal(&[1], mean, std, DataType::FP32, &CPU);
        assert!(matches!(wrong, Err(FerrumError::InvalidParameter { .. })));
    }
}

#[test]
fn test_the_largest_element_is_found() {
    let engine = engine();
    let make = factory(&engine, 1);
    let best = |data: &[f32], shape: &[usize], dtype| {
        let tensor = make.from_slice(data, shape, dtype, CPU).unwrap();
        tensor.argmax_last_dim_u32()
    };
    assert_eq!(
        best(&[1.0, 5.0, 5.0, 2.0], &[4], DataType::FP32).unwrap(),
        1
    );
    assert_eq!(best(&[1.0, 2.0, 3.0], &[1, 3], DataType::INT32).unwrap(), 2);
    let nan = [f32::INFINITY, f32::NAN, f32::NAN];
    assert_eq!(best(&nan, &[3], DataType::FP16).unwrap(), 1);
    for shape in [&[2, 2][..], &[4, 1]] {
        let error = best(&[1.0; 4], shape, DataType::FP32).unwrap_err();
        assert!(
            matches!(error, FerrumError::InvalidParameter { .. }),
            "{error}"
        );
    }
    assert!(best(&[], &[0], DataType::FP32).is_err());
    assert!(best(&[1.0], &[], DataType::FP32).is_err());
}
