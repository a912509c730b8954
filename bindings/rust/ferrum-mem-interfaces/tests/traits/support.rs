use std::collections::HashMap;
use std::future::Future;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::Thread;

use ferrum_interfaces::memory::{
    AdvancedMemoryManager, DeviceMemoryManager, MemoryAccess, MemoryHandle, MemoryManagerConfig,
    MemoryManagerFactory, MemoryPoolConfig, MemoryType, StreamManager,
};
use ferrum_mem_interfaces::{FerrumMem, Settings};
use ferrum_types::Device;

pub const MIB: usize = 1 << 20;

/// The second device of the tests.
pub const OTHER: Device = Device::CUDA(0);

/// A device that does not exist.
pub const NOWHERE: Device = Device::CUDA(7);

/// The memory of the two devices.
pub const CAPACITY: usize = 256 * MIB;

/// One test at a time: a process has one library, and the tests check its counters.
static ONE: Mutex<()> = Mutex::new(());

pub struct Engine {
    pub factory: FerrumMem,
    _one: MutexGuard<'static, ()>,
}

/// The only constructor.
pub fn engine() -> Engine {
    let one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    Engine {
        factory: start(),
        _one: one,
    }
}

fn start() -> FerrumMem {
    let settings = Settings {
        library: ferrum_mem::Config {
            host_devices: Some(2),
            host_memory_bytes: Some(2 * CAPACITY as u64),
            ..Default::default()
        },
        devices: HashMap::from([(OTHER, "cpu:1".to_owned()), (NOWHERE, "cpu:7".to_owned())]),
        ..Default::default()
    };
    FerrumMem::start_with(&settings).unwrap()
}

impl Engine {
    pub fn manager(&self) -> Box<dyn AdvancedMemoryManager> {
        self.manager_with(|_| ())
    }

    pub fn manager_with(
        &self,
        change: impl FnOnce(&mut MemoryManagerConfig),
    ) -> Box<dyn AdvancedMemoryManager> {
        let mut config = MemoryManagerConfig::default();
        config.pool_configs.insert(MemoryType::General, small());
        change(&mut config);
        let factory: &dyn MemoryManagerFactory = &self.factory;
        block_on(factory.create_advanced_memory_manager(&Device::CPU, &config)).unwrap()
    }

    /// A factory that was created separately.
    pub fn stranger(&self) -> FerrumMem {
        start()
    }

    pub fn streams(&self) -> Box<dyn StreamManager> {
        let factory: &dyn MemoryManagerFactory = &self.factory;
        block_on(factory.create_stream_manager(&Device::CPU)).unwrap()
    }
}

pub fn small() -> MemoryPoolConfig {
    MemoryPoolConfig {
        initial_size: 8 * MIB as u64,
        growth_increment: 8 * MIB as u64,
        ..Default::default()
    }
}

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// A minimal executor: one future on the calling thread.
pub fn block_on<F: Future>(future: F) -> F::Output {
    let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
    let mut future = std::pin::pin!(future);
    loop {
        match future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(value) => return value,
            Poll::Pending => std::thread::park(),
        }
    }
}

/// Polls a future that many times and drops it. Returns its result if it was done.
pub fn give_up_after<F: Future>(polls: usize, future: F) -> Option<F::Output> {
    let mut future = std::pin::pin!(future);
    for _ in 0..polls {
        let mut cx = Context::from_waker(Waker::noop());
        if let Poll::Ready(value) = future.as_mut().poll(&mut cx) {
            return Some(value);
        }
        std::thread::yield_now();
    }
    None
}

/// Waits for the effects of the library's threads after a future was dropped.
pub fn eventually(what: &str, mut is_so: impl FnMut() -> bool) {
    let end = std::time::Instant::now() + std::time::Duration::from_secs(60);
    while !is_so() {
        assert!(std::time::Instant::now() < end, "{what}: it never came");
        std::thread::yield_now();
    }
}

/// Live blocks of a device and the bytes in use.
pub fn live(manager: &dyn DeviceMemoryManager, device: &Device) -> (usize, u64) {
    let info = block_on(manager.memory_info(device)).unwrap();
    assert_eq!(
        info.used_bytes + info.free_bytes + info.reserved_bytes,
        info.total_bytes
    );
    (info.active_allocations, info.used_bytes)
}

pub fn allocate(manager: &dyn DeviceMemoryManager, size: usize) -> MemoryHandle {
    block_on(manager.allocate(size, &Device::CPU)).unwrap()
}

/// Writes into a block through a mapping.
pub fn put(manager: &dyn AdvancedMemoryManager, handle: MemoryHandle, bytes: &[u8]) {
    block_on(async {
        let to = manager.map_memory(handle, MemoryAccess::ReadWrite).await;
        // SAFETY: the block is mapped, and is at least that long.
        unsafe {
            to.unwrap()
                .copy_from_nonoverlapping(bytes.as_ptr(), bytes.len())
        };
        manager.unmap_memory(handle).await.unwrap();
    });
}

/// Reads the first bytes of a block through a mapping.
pub fn get(manager: &dyn AdvancedMemoryManager, handle: MemoryHandle, size: usize) -> Vec<u8> {
    block_on(async {
        let from = manager.map_memory(handle, MemoryAccess::ReadOnly).await;
        // SAFETY: as above.
        let bytes = unsafe { std::slice::from_raw_parts(from.unwrap(), size) }.to_vec();
        manager.unmap_memory(handle).await.unwrap();
        bytes
    })
}

/// Bytes that differ by position.
pub fn counting(size: usize, seed: usize) -> Vec<u8> {
    (0..size).map(|at| (at * 7 + seed * 13) as u8).collect()
}

/// No block is live, and a request for all memory gets it.
pub fn nothing_left(manager: &dyn DeviceMemoryManager, device: &Device) {
    eventually("nothing is in use", || {
        let blocks = live(manager, device).0;
        if blocks == 0 {
            block_on(manager.defragment(device)).unwrap();
        }
        live(manager, device) == (0, 0)
    });
}
