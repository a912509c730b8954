//! A small engine that uses only the published traits, except for the constructor of ferrum_mem.
//! For each prompt it fills a KV block, copies the block and frees it. Under memory pressure it
//! drops the oldest blocks.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;

use ferrum_interfaces::memory::{
    AdvancedMemoryManager, MemoryAccess, MemoryHandle, MemoryManagerConfig, MemoryManagerFactory,
    MemoryPoolConfig, MemoryPressure, MemoryTransfer, MemoryType, StreamHandle, StreamManager,
};
use ferrum_types::{Device, Result};

const KV_BLOCK: usize = 4 << 20;

struct Engine {
    memory: Box<dyn AdvancedMemoryManager>,
    streams: Box<dyn StreamManager>,
    stream: StreamHandle,
    device: Device,
    blocks: VecDeque<MemoryHandle>,
    is_short: Arc<AtomicBool>,
    dropped: usize,
}

impl Engine {
    async fn start(factory: &dyn MemoryManagerFactory, device: Device) -> Result<Self> {
        let pool = MemoryPoolConfig {
            initial_size: 2 * KV_BLOCK as u64,
            growth_increment: 2 * KV_BLOCK as u64,
            ..Default::default()
        };
        let mut config = MemoryManagerConfig::default();
        config.pool_configs.insert(MemoryType::General, pool);
        let memory = factory
            .create_advanced_memory_manager(&device, &config)
            .await?;
        let streams = factory.create_stream_manager(&device).await?;
        let is_short = Arc::new(AtomicBool::new(false));
        let told = is_short.clone();
        memory.set_pressure_callback(Box::new(move |level| {
            told.store(level >= MemoryPressure::High, Ordering::Release);
        }));
        Ok(Self {
            stream: streams.create_stream(&device).await?,
            memory,
            streams,
            device,
            blocks: VecDeque::new(),
            is_short,
            dropped: 0,
        })
    }

    /// Keeps the state of a prompt, and drops the oldest ones when memory is short.
    async fn prefill(&mut self, prompt: &[u8]) -> Result<MemoryHandle> {
        while self.is_short.load(Ordering::Acquire) || self.blocks.len() == 40 {
            let Some(oldest) = self.blocks.pop_front() else {
                break;
            };
            self.memory.deallocate(oldest).await?;
            self.dropped += 1;
        }
        let block = self.memory.allocate(KV_BLOCK, &self.device).await?;
        self.write(block, prompt).await?;
        self.blocks.push_back(block);
        Ok(block)
    }

    async fn write(&self, block: MemoryHandle, bytes: &[u8]) -> Result<()> {
        let to = self
            .memory
            .map_memory(block, MemoryAccess::WriteOnly)
            .await?;
        // SAFETY: the block is mapped, and is longer.
        unsafe { to.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
        self.memory.unmap_memory(block).await
    }

    async fn read(&self, block: MemoryHandle, size: usize) -> Result<Vec<u8>> {
        let from = self
            .memory
            .map_memory(block, MemoryAccess::ReadOnly)
            .await?;
        // SAFETY: as above.
        let bytes = unsafe { std::slice::from_raw_parts(from, size) }.to_vec();
        self.memory.unmap_memory(block).await?;
        Ok(bytes)
    }

    /// A copy of a block for another continuation of the same prompt.
    async fn fork(&mut self, block: MemoryHandle) -> Result<MemoryHandle> {
        let copy = self.memory.allocate(KV_BLOCK, &self.device).await?;
        let transfer = MemoryTransfer::new(block, copy, KV_BLOCK);
        self.memory.copy_async(transfer, Some(self.stream)).await?;
        self.streams.synchronize_stream(self.stream).await?;
        self.blocks.push_back(copy);
        Ok(copy)
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    // Another implementation of the traits needs only another constructor here.
    let factory = ferrum_mem_interfaces::FerrumMem::start()?;

    let mut engine = Engine::start(&factory, Device::CPU).await?;
    let mut last = None;
    for number in 0..60 {
        let prompt = format!("prompt {number}");
        last = Some(engine.prefill(prompt.as_bytes()).await?);
    }
    let block = last.expect("there were prompts");
    let fork = engine.fork(block).await?;
    println!(
        "forked: {}",
        String::from_utf8_lossy(&engine.read(fork, 9).await?)
    );
    println!("kept {}, dropped {}", engine.blocks.len(), engine.dropped);
    while let Some(block) = engine.blocks.pop_front() {
        engine.memory.deallocate(block).await?;
    }
    let stats = engine.memory.defragment(&Device::CPU).await?;
    println!("returned to the device: {} MiB", stats.memory_freed >> 20);
    engine.streams.destroy_stream(engine.stream).await?;
    let info = engine.memory.memory_info(&Device::CPU).await?;
    println!(
        "in use: {} bytes, {} blocks",
        info.used_bytes, info.active_allocations
    );
    Ok(())
}
