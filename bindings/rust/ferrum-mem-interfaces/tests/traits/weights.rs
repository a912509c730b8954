//! The published loader of weights, used only through its trait.

use std::sync::Arc;

use ferrum_interfaces::backend::*;
use ferrum_interfaces::TensorRef;
use ferrum_types::{DataType, Device, FerrumError, Result};

use crate::support::*;

/// A file of safetensors: "a" of 2 x 3 floats, "ids" of two numbers of 64 bits.
fn safetensors() -> Vec<u8> {
    let header = concat!(
        r#"{"__metadata__":{"made":"here"},"#,
        r#""a":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]},"#,
        r#""ids":{"dtype":"I64","shape":[2],"data_offsets":[24,40]}}"#
    );
    let header = format!("{header:<width$}", width = header.len().next_multiple_of(8));
    let mut file = (header.len() as u64).to_le_bytes().to_vec();
    file.extend(header.bytes());
    for number in 0..6 {
        file.extend((number as f32).to_le_bytes());
    }
    file.extend([7u64, 8].iter().flat_map(|it| it.to_le_bytes()));
    file
}

fn in_memory() -> WeightSource {
    WeightSource::Memory {
        data: safetensors(),
        format: WeightFormat::SafeTensors,
    }
}

fn spec(name: &str, shape: &[usize], dtype: DataType, source: WeightSource) -> TensorSpec {
    TensorSpec {
        name: name.to_owned(),
        shape: shape.to_vec(),
        dtype,
        device: Device::CPU,
        source,
        transformations: Vec::new(),
    }
}

fn load(loader: &dyn WeightLoader, spec: &TensorSpec) -> Result<TensorRef> {
    block_on(loader.load_tensor(spec))
}

#[test]
fn test_tensors_are_loaded_in_the_order_of_their_specs() {
    let engine = engine();
    let loader: Box<dyn WeightLoader> = Box::new(engine.factory.create_weight_loader());
    let path = std::env::temp_dir().join(format!("ferrum-traits-{}", std::process::id()));
    std::fs::write(&path, safetensors()).unwrap();
    let file = WeightSource::File {
        path: path.to_str().unwrap().to_owned(),
        tensor_name: Some("a".to_owned()),
    };
    let raw = WeightSource::Memory {
        data: vec![1, 2, 3],
        format: WeightFormat::Raw,
    };
    let turned = TensorSpec {
        transformations: vec![
            TensorTransformation::Transpose { dim0: 0, dim1: 1 },
            TensorTransformation::Scale { factor: 2.0 },
        ],
        device: OTHER,
        ..spec("turned", &[2, 3], DataType::FP32, file.clone())
    };
    let ids = TensorSpec {
        transformations: vec![TensorTransformation::Cast {
            dtype: DataType::UINT32,
        }],
        ..spec("ids", &[2], DataType::UINT32, in_memory())
    };
    let specs = [
        turned,
        spec("bytes", &[3], DataType::UINT8, raw),
        ids,
        spec("plain", &[2, 3], DataType::FP32, file.clone()),
    ];
    let tensors = block_on(loader.load_tensors(&specs)).unwrap();
    assert_eq!(tensors.len(), 4);
    assert_eq!(
        (tensors[0].shape(), tensors[0].device()),
        (&[3, 2][..], OTHER)
    );
    assert_eq!(
        tensors[0].to_vec_f32().unwrap(),
        [0.0, 6.0, 2.0, 8.0, 4.0, 10.0]
    );
    assert_eq!(tensors[1].to_vec_f32().unwrap(), [1.0, 2.0, 3.0]);
    assert_eq!(tensors[2].to_vec_u32().unwrap(), [7, 8]);
    assert_eq!(
        tensors[3].to_vec_f32().unwrap(),
        [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]
    );
    assert!(block_on(loader.is_available(&file)));
    block_on(loader.preload(&file)).unwrap();
    block_on(loader.preload(&file)).unwrap();
    std::fs::remove_file(&path).unwrap();
    assert!(!block_on(loader.is_available(&file)));
    // The tensors remain valid after their loader is dropped. After the tensors, all memory is
    // free.
    drop(loader);
    assert_eq!(tensors[0].to_cpu().unwrap().device(), Device::CPU);
    drop(tensors);
    let manager = engine.manager();
    nothing_left(&*manager, &Device::CPU);
}

#[test]
fn test_tensors_have_views_and_types() {
    let engine = engine();
    let loader = engine.factory.create_weight_loader();
    let tensor = load(&loader, &spec("a", &[2, 3], DataType::FP32, in_memory())).unwrap();
    assert_eq!((tensor.numel(), tensor.size_bytes()), (6, 24));
    assert!(tensor.is_contiguous());
    let row = tensor.view(&[1, 0], &[2, 3]).unwrap();
    assert_eq!(row.to_vec_f32().unwrap(), [3.0, 4.0, 5.0]);
    let part = row.view(&[0, 1], &[1, 2]).unwrap();
    assert_eq!(
        (part.shape(), part.to_vec_f32().unwrap()),
        (&[1, 1][..], vec![4.0])
    );
    let column = tensor.view(&[0, 1], &[2, 2]).unwrap();
    assert_eq!(
        (column.is_contiguous(), column.to_vec_f32().unwrap()),
        (false, vec![1.0, 4.0])
    );
    assert_eq!(
        column.reshape(&[2]).unwrap().to_vec_f32().unwrap(),
        [1.0, 4.0]
    );
    assert_eq!(row.argmax_last_dim_u32().unwrap(), 2);
    assert!(tensor.argmax_last_dim_u32().is_err());
    for (start, end) in [
        (vec![0], vec![1]),
        (vec![0, 2], vec![1, 1]),
        (vec![0, 0], vec![3, 3]),
    ] {
        let error = tensor.view(&start, &end).unwrap_err();
        assert!(
            matches!(error, FerrumError::InvalidParameter { .. }),
            "{error}"
        );
    }
    assert_eq!(tensor.view(&[0, 1], &[0, 2]).unwrap().numel(), 0);
    let flat = tensor.reshape(&[6]).unwrap();
    assert_eq!(flat.shape(), [6]);
    assert!(tensor.reshape(&[7]).is_err());
    let half = flat.to_dtype(DataType::FP16).unwrap();
    assert_eq!((half.dtype(), half.size_bytes()), (DataType::FP16, 12));
    assert_eq!(half.to_vec_f32().unwrap(), flat.to_vec_f32().unwrap());
    let there = half.to_device(&OTHER).unwrap();
    assert_eq!((there.device(), there.dtype()), (OTHER, DataType::FP16));
    assert_eq!(there.to_vec_f32().unwrap(), flat.to_vec_f32().unwrap());
    assert!(half.to_device(&NOWHERE).is_err());
    // A view keeps the memory.
    let last: TensorRef = Arc::clone(&part);
    drop((tensor, row, column, part, flat, half, there));
    assert_eq!(last.to_vec_f32().unwrap(), [4.0]);
}

#[test]
fn test_a_source_is_described() {
    let engine = engine();
    let loader = engine.factory.create_weight_loader();
    let metadata = block_on(loader.get_metadata(&in_memory())).unwrap();
    assert!(matches!(metadata.format, WeightFormat::SafeTensors));
    assert_eq!(metadata.total_size_bytes, 40);
    assert_eq!(metadata.tensors["a"], [2, 3]);
    // The traits have no type of 64 bits.
    assert_eq!(metadata.dtypes, [DataType::FP32]);
    assert_eq!(metadata.extra["dtypes"].to_string(), r#"["f32","i64"]"#);
    assert_eq!(metadata.extra["texts"]["made"], "here");
    let able = loader.capabilities();
    assert!(able.supports_streaming && able.supports_concurrent);
    assert!(able
        .supported_formats
        .iter()
        .any(|it| matches!(it, WeightFormat::Onnx)));
    assert_eq!(able.supported_sources.len(), 2);
    assert_eq!(able.supported_transformations.len(), 5);
}

#[test]
fn test_errors_name_the_cause() {
    let engine = engine();
    let loader = engine.factory.create_weight_loader();
    let wanted = |spec: &TensorSpec| load(&loader, spec).unwrap_err();
    let missing = wanted(&spec("z", &[1], DataType::FP32, in_memory()));
    assert!(matches!(missing, FerrumError::NotFound { .. }), "{missing}");
    let shape = wanted(&spec("a", &[3, 2], DataType::FP32, in_memory()));
    assert!(
        matches!(shape, FerrumError::InvalidParameter { .. }),
        "{shape}"
    );
    let dtype = wanted(&spec("a", &[2, 3], DataType::FP16, in_memory()));
    assert!(
        matches!(dtype, FerrumError::InvalidParameter { .. }),
        "{dtype}"
    );
    let fp8 = wanted(&spec("a", &[2, 3], DataType::FP8, in_memory()));
    assert!(matches!(fp8, FerrumError::InvalidParameter { .. }), "{fp8}");
    let device = TensorSpec {
        device: NOWHERE,
        ..spec("a", &[2, 3], DataType::FP32, in_memory())
    };
    assert!(matches!(wanted(&device), FerrumError::NotFound { .. }));
    let quantised = TensorSpec {
        transformations: vec![TensorTransformation::Quantize {
            config: QuantizationConfig::INT8 { symmetric: true },
        }],
        ..spec("a", &[2, 3], DataType::FP32, in_memory())
    };
    assert!(matches!(
        wanted(&quantised),
        FerrumError::Unsupported { .. }
    ));
    let url = WeightSource::Url {
        url: "https://example.org/model".to_owned(),
        headers: Default::default(),
    };
    assert!(!block_on(loader.is_available(&url)));
    let error = block_on(loader.get_metadata(&url)).unwrap_err();
    assert!(matches!(error, FerrumError::Unsupported { .. }), "{error}");
    assert!(block_on(loader.preload(&url)).is_err());
    // With one wrong spec no tensor stays loaded.
    let good = spec("a", &[2, 3], DataType::FP32, in_memory());
    let bad = spec("z", &[1], DataType::FP32, in_memory());
    assert!(block_on(loader.load_tensors(&[good.clone(), bad])).is_err());
    assert!(block_on(loader.load_tensors(&[])).unwrap().is_empty());
    // A dropped future leaves no memory allocated.
    drop(give_up_after(1, loader.load_tensor(&good)));
    drop(loader);
    let manager = engine.manager();
    nothing_left(&*manager, &Device::CPU);
}
