//! Loads a file of weights into a model of an elastic pool, puts the model to sleep and wakes it,
//! and uses the tensors. Without an argument the program writes a small file of its own.

use std::ops::ControlFlow;
use std::path::PathBuf;

use ferrum_mem::{
    DType, Device, ElasticPoolConfig, ErrorKind, Library, LoadMemory, LoadRequest, ModelConfig,
    Order, Result, Selection, SleepRequest, WakeRequest, Weights,
};

const MIB: u64 = 1 << 20;

/// Writes a file of safetensors with one tensor of 2 x 3 numbers.
fn small_file() -> PathBuf {
    let header = r#"{"layer.weight":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]}}    "#;
    let mut file = (header.len() as u64).to_le_bytes().to_vec();
    file.extend(header.bytes());
    file.extend((0..6).flat_map(|number| (number as f32).to_le_bytes()));
    let path = std::env::temp_dir().join(format!("ferrum-{}.safetensors", std::process::id()));
    std::fs::write(&path, file).expect("the file is written");
    path
}

fn main() -> Result<()> {
    let given = std::env::args_os().nth(1).map(PathBuf::from);
    let is_own = given.is_none();
    let path = given.unwrap_or_else(small_file);
    let library = Library::start()?;
    let device = Device::open(&library, "cpu:0")?;
    let weights = Weights::open(&library, &path)?;
    let metadata = weights.metadata()?;
    println!(
        "{}: {} tensors, {} bytes, types {:?}",
        metadata.format,
        metadata.tensors.len(),
        metadata.total_size_bytes,
        metadata.dtypes
    );

    let pool = device.create_elastic_pool(&ElasticPoolConfig::default())?;
    let model = pool.register_model(
        "chat",
        &ModelConfig {
            virtual_bytes: 2 * metadata.total_size_bytes + 64 * MIB,
            ..Default::default()
        },
    )?;
    let request = LoadRequest {
        order: Order::Chosen(Selection {
            float_dtype: Some(DType::F32),
            ..Default::default()
        }),
        ..LoadRequest::to(LoadMemory::model(&model).tag("weights"))
    };
    let set = weights.load_with(&request, |progress| {
        println!("{} bytes read", progress.done_bytes);
        ControlFlow::Continue(())
    })?;
    set.wait(None)?;

    // The tensors have the same addresses after the sleep.
    model.sleep(&SleepRequest::default())?;
    model.wake(&WakeRequest::default())?;
    for tensor in set.iter()?.take(3) {
        println!("{} {:?}", tensor.name(), tensor.shape());
        // SAFETY: nothing writes the tensors, and the model is awake.
        match unsafe { tensor.as_slice::<f32>() } {
            Ok(numbers) => println!("  sum {}", numbers.iter().sum::<f32>()),
            Err(error) if error.kind == ErrorKind::InvalidArgument => println!("  {error}"),
            Err(error) => return Err(error),
        }
    }
    set.close()?;
    if is_own {
        let _ = std::fs::remove_file(&path);
    }
    Ok(())
}
