use std::sync::Arc;

use ferrum_interfaces::memory::{AdvancedMemoryManager, MemoryTransfer, StreamManager};
use ferrum_types::Device;

use crate::support::*;

const TASKS: usize = 8;
const ROUNDS: usize = 30;

/// The work of each task: blocks of its own, copies in three ways, and checks that no bytes of
/// other tasks appear.
async fn work(
    manager: Arc<Box<dyn AdvancedMemoryManager>>,
    streams: Arc<Box<dyn StreamManager>>,
    task: usize,
) {
    let device = if task.is_multiple_of(2) {
        Device::CPU
    } else {
        OTHER
    };
    let stream = streams.create_stream(&device).await.unwrap();
    for round in 0..ROUNDS {
        let size = 1000 + task * 100 + round;
        let from = manager.allocate(size, &Device::CPU).await.unwrap();
        let to = manager.allocate_aligned(size, 4096, &device).await.unwrap();
        let bytes = counting(size, task * ROUNDS + round);
        write(&**manager, from, &bytes).await;
        if round.is_multiple_of(2) {
            manager.copy(from, to, size, 0, 0).await.unwrap();
        } else {
            let transfer = MemoryTransfer::new(from, to, size);
            manager.copy_async(transfer, Some(stream)).await.unwrap();
            streams.synchronize_stream(stream).await.unwrap();
        }
        if round % 10 == 9 {
            manager.defragment(&device).await.unwrap();
        }
        manager.deallocate(from).await.unwrap();
        assert_eq!(read(&**manager, to, size).await, bytes);
        manager.deallocate(to).await.unwrap();
    }
    streams.destroy_stream(stream).await.unwrap();
}

async fn write(
    manager: &dyn AdvancedMemoryManager,
    handle: ferrum_interfaces::memory::MemoryHandle,
    bytes: &[u8],
) {
    use ferrum_interfaces::memory::MemoryAccess::WriteOnly;
    let to = Pointer(manager.map_memory(handle, WriteOnly).await.unwrap());
    // SAFETY: the block is mapped, and is that long.
    unsafe { to.0.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
    manager.unmap_memory(handle).await.unwrap();
}

async fn read(
    manager: &dyn AdvancedMemoryManager,
    handle: ferrum_interfaces::memory::MemoryHandle,
    size: usize,
) -> Vec<u8> {
    use ferrum_interfaces::memory::MemoryAccess::ReadOnly;
    let from = Pointer(manager.map_memory(handle, ReadOnly).await.unwrap());
    // SAFETY: as above.
    let bytes = unsafe { std::slice::from_raw_parts(from.0, size) }.to_vec();
    manager.unmap_memory(handle).await.unwrap();
    bytes
}

/// A pointer that a task may move to another thread together with its mapping.
struct Pointer(*mut u8);
// SAFETY: only the task that has it uses the block.
unsafe impl Send for Pointer {}

#[test]
fn test_eight_threads_without_a_runtime() {
    let engine = engine();
    let (manager, streams) = (Arc::new(engine.manager()), Arc::new(engine.streams()));
    std::thread::scope(|scope| {
        for task in 0..TASKS {
            let (manager, streams) = (manager.clone(), streams.clone());
            scope.spawn(move || block_on(work(manager, streams, task)));
        }
    });
    for device in [Device::CPU, OTHER] {
        nothing_left(&**manager, &device);
    }
}

#[test]
fn test_eight_tasks_of_tokio() {
    let engine = engine();
    let (manager, streams) = (Arc::new(engine.manager()), Arc::new(engine.streams()));
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .build()
        .unwrap();
    runtime.block_on(async {
        let tasks: Vec<_> = (0..TASKS)
            .map(|task| tokio::spawn(work(manager.clone(), streams.clone(), task)))
            .collect();
        for task in tasks {
            task.await.unwrap();
        }
    });
    for device in [Device::CPU, OTHER] {
        nothing_left(&**manager, &device);
    }
}

/// Tasks that the runtime drops at any point.
#[test]
fn test_aborted_tasks_of_tokio() {
    let engine = engine();
    let (manager, streams) = (Arc::new(engine.manager()), Arc::new(engine.streams()));
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .build()
        .unwrap();
    runtime.block_on(async {
        for round in 0..40 {
            let (manager, streams) = (manager.clone(), streams.clone());
            let task = tokio::spawn(async move {
                let stream = streams.create_stream(&Device::CPU).await.unwrap();
                let from = manager.allocate(MIB, &Device::CPU).await.unwrap();
                let to = manager.allocate(MIB, &Device::CPU).await.unwrap();
                loop {
                    manager.copy(from, to, MIB, 0, 0).await.unwrap();
                    let transfer = MemoryTransfer::new(to, from, MIB);
                    manager.copy_async(transfer, Some(stream)).await.unwrap();
                    streams.synchronize_stream(stream).await.unwrap();
                }
            });
            for _ in 0..round {
                tokio::task::yield_now().await;
            }
            task.abort();
            assert!(task.await.unwrap_err().is_cancelled());
        }
    });
    drop(runtime);
    // The manager owns the blocks of the tasks and frees them.
    let witness = engine.manager();
    drop(manager);
    nothing_left(&*witness, &Device::CPU);
}
