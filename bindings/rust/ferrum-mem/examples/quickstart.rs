//! The first program in Rust: a device, blocks by handle, a copy on a stream, a pool, and the error
//! of an allocation that fails.

use ferrum_mem::{Device, Library, Memory, PoolConfig, Result, Transfer};

const MIB: u64 = 1 << 20;

fn main() -> Result<()> {
    let library = Library::start()?;
    let device = Device::open(&library, "cpu:0")?;
    let memory = device.memory_info()?;
    println!(
        "{}: {} MiB free",
        device.info()?.name,
        memory.free_bytes / MIB
    );

    let manager = device.create_manager(&Default::default())?;
    let (prompt, cache) = (manager.alloc(MIB)?, manager.alloc(MIB)?);
    prompt.write(0, b"tokens on their way")?;
    let stream = device.create_stream()?;
    Memory::copy_async(Transfer::new(&prompt, &cache, 19), Some(&stream))?;
    stream.synchronize(None)?;
    let mut text = [0; 19];
    cache.read(0, &mut text)?;
    println!("copied on a stream: {:?}", String::from_utf8_lossy(&text));

    let pool = device.create_pool(&PoolConfig {
        initial_size_bytes: Some(32 * MIB),
        max_size_bytes: Some(64 * MIB),
        name: Some("activations".into()),
        ..Default::default()
    })?;
    let _first = pool.alloc(48 * MIB, None)?;
    if let Err(error) = pool.alloc(48 * MIB, None) {
        println!("a second one: {error}");
    }
    Ok(())
}
