//! Tests with a stream that is blocked at a gate, so that the work in flight is known.

use std::collections::HashMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::mpsc::{channel, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use ferrum_interfaces::memory::{
    AdvancedMemoryManager, DeviceMemoryManager, MemoryAccess, MemoryHandle, MemoryManagerConfig,
    MemoryManagerFactory, MemoryPoolConfig, MemoryTransfer, MemoryType, StreamHandle,
    StreamManager,
};
use ferrum_types::{Device, FerrumError, Result};

use crate::testing::block_on;
use crate::{FerrumMem, FerrumMemoryManager, Settings};

const CPU: Device = Device::CPU;
const SIZE: usize = 4096;

static ONE: Mutex<()> = Mutex::new(());

struct Rig {
    manager: FerrumMemoryManager,
    streams: Box<dyn StreamManager>,
    stream: StreamHandle,
    from: MemoryHandle,
    to: MemoryHandle,
    factory: FerrumMem,
    _one: MutexGuard<'static, ()>,
}

fn rig(transfers: usize) -> Rig {
    let one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    let settings = Settings {
        library: ferrum_mem::Config {
            host_devices: Some(1),
            host_memory_bytes: Some(256 << 20),
            ..Default::default()
        },
        ..Default::default()
    };
    let factory = FerrumMem::start_with(&settings).unwrap();
    let pool = MemoryPoolConfig {
        initial_size: 8 << 20,
        growth_increment: 8 << 20,
        ..Default::default()
    };
    let config = MemoryManagerConfig {
        pool_configs: HashMap::from([(MemoryType::General, pool)]),
        max_concurrent_transfers: transfers,
        ..Default::default()
    };
    block_on(async {
        let manager = factory.create_manager(&CPU, &config).await.unwrap();
        let streams = factory.create_stream_manager(&CPU).await.unwrap();
        Rig {
            stream: streams.create_stream(&CPU).await.unwrap(),
            from: manager.allocate(SIZE, &CPU).await.unwrap(),
            to: manager.allocate(SIZE, &CPU).await.unwrap(),
            manager,
            streams,
            factory,
            _one: one,
        }
    })
}

impl Rig {
    /// Blocks the stream until the sender sends or is dropped.
    fn gate(&self, stream: StreamHandle) -> Sender<()> {
        let (open, gate) = channel();
        let queue = self.factory.hub().queue(stream, &CPU).unwrap();
        queue
            .queue(|stream| {
                stream.call(move || {
                    let _ = gate.recv();
                })
            })
            .unwrap();
        open
    }

    fn put(&self, byte: u8) {
        block_on(async {
            let to = self
                .manager
                .map_memory(self.from, MemoryAccess::WriteOnly)
                .await;
            // SAFETY: the block is mapped, and is that long.
            unsafe { to.unwrap().write_bytes(byte, SIZE) };
            self.manager.unmap_memory(self.from).await.unwrap();
        });
    }

    fn first_byte(&self) -> u8 {
        block_on(async {
            let from = self
                .manager
                .map_memory(self.to, MemoryAccess::ReadOnly)
                .await;
            // SAFETY: as above.
            let byte = unsafe { from.unwrap().read() };
            self.manager.unmap_memory(self.to).await.unwrap();
            byte
        })
    }

    fn transfer(&self) -> MemoryTransfer {
        MemoryTransfer::new(self.from, self.to, SIZE)
    }
}

type Call<'a, T> = Pin<Box<dyn Future<Output = Result<T>> + Send + 'a>>;

fn poll<T>(call: &mut Call<'_, T>) -> Option<Result<T>> {
    match call.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => Some(value),
        Poll::Pending => None,
    }
}

#[test]
fn test_waiting_for_a_stream_blocks_no_thread() {
    let rig = rig(4);
    let gate = rig.gate(rig.stream);
    let mut waits: Vec<Call<'_, ()>> = (0..50)
        .map(|_| rig.streams.synchronize_stream(rig.stream))
        .collect();
    assert!(waits.iter_mut().all(|wait| poll(wait).is_none()));
    assert!(!block_on(rig.streams.is_stream_ready(rig.stream)).unwrap());
    waits.truncate(25);
    // The only executor thread continues with other calls.
    let other = block_on(rig.manager.allocate(SIZE, &CPU)).unwrap();
    block_on(rig.manager.copy(rig.from, other, SIZE, 0, 0)).unwrap();
    gate.send(()).unwrap();
    for wait in waits {
        block_on(wait).unwrap();
    }
    // The host functions of dropped waits may be behind the last one that was awaited.
    block_on(rig.streams.synchronize_stream(rig.stream)).unwrap();
    assert!(block_on(rig.streams.is_stream_ready(rig.stream)).unwrap());
}

#[test]
fn test_synchronize_does_not_wait_for_later_work() {
    let rig = rig(4);
    let first = rig.gate(rig.stream);
    let mut wait = rig.streams.synchronize_stream(rig.stream);
    assert!(poll(&mut wait).is_none());
    let second = rig.gate(rig.stream);
    first.send(()).unwrap();
    block_on(wait).unwrap();
    assert!(!block_on(rig.streams.is_stream_ready(rig.stream)).unwrap());
    second.send(()).unwrap();
    block_on(rig.streams.synchronize_stream(rig.stream)).unwrap();
}

#[test]
fn test_copy_waits_for_earlier_work_on_its_blocks() {
    let rig = rig(4);
    rig.put(1);
    let gate = rig.gate(rig.stream);
    block_on(rig.manager.copy_async(rig.transfer(), Some(rig.stream))).unwrap();
    let mut copy = rig.manager.copy(rig.to, rig.from, SIZE, 0, 0);
    assert!(poll(&mut copy).is_none());
    gate.send(()).unwrap();
    block_on(copy).unwrap();
    assert_eq!(rig.first_byte(), 1);
}

#[test]
fn test_copies_wait_for_slots_and_dropped_ones_leave_the_queue() {
    let rig = rig(1);
    rig.put(7);
    let gate = rig.gate(rig.stream);
    block_on(rig.manager.copy_async(rig.transfer(), Some(rig.stream))).unwrap();
    let other = block_on(rig.streams.create_stream(&CPU)).unwrap();
    let mut waiting: Vec<Call<'_, ()>> = (0..3)
        .map(|_| rig.manager.copy_async(rig.transfer(), Some(other)))
        .collect();
    assert!(waiting.iter_mut().all(|copy| poll(copy).is_none()));
    assert!(block_on(rig.streams.is_stream_ready(other)).unwrap());
    drop(waiting.remove(0));
    gate.send(()).unwrap();
    for copy in waiting {
        block_on(copy).unwrap();
    }
    block_on(rig.manager.copy(rig.from, rig.to, SIZE, 0, 0)).unwrap();
    assert_eq!(rig.first_byte(), 7);
}

#[test]
fn test_a_dropped_copy_that_was_queued_is_done() {
    let rig = rig(4);
    rig.put(9);
    let gate = rig.gate(rig.stream);
    block_on(rig.manager.copy_async(rig.transfer(), Some(rig.stream))).unwrap();
    block_on(rig.manager.deallocate(rig.from)).unwrap();
    let mut wait = rig.streams.synchronize_stream(rig.stream);
    assert!(poll(&mut wait).is_none());
    drop(wait);
    gate.send(()).unwrap();
    block_on(rig.streams.synchronize_stream(rig.stream)).unwrap();
    assert_eq!(rig.first_byte(), 9);
}

#[test]
fn test_rejected_deallocation_never_hides_the_block() {
    let rig = rig(4);
    block_on(rig.factory.pin(rig.from)).unwrap();
    let (manager, pinned) = (&rig.manager, rig.from);
    std::thread::scope(|threads| {
        let looking =
            threads.spawn(move || (0..3000).all(|_| manager.handle_info(pinned).is_some()));
        while !looking.is_finished() {
            block_on(manager.deallocate(pinned)).unwrap_err();
        }
        assert!(looking.join().unwrap(), "a block that stays was missed");
    });
    rig.factory.unpin(pinned).unwrap();
    block_on(manager.deallocate(pinned)).unwrap();
    assert!(manager.handle_info(pinned).is_none());
}

#[test]
fn test_a_stream_that_is_destroyed_ends_after_its_work() {
    let rig = rig(4);
    rig.put(3);
    let gate = rig.gate(rig.stream);
    block_on(rig.manager.copy_async(rig.transfer(), Some(rig.stream))).unwrap();
    let held = Arc::downgrade(&rig.factory.hub().queue(rig.stream, &CPU).unwrap());
    let mut destroy = rig.streams.destroy_stream(rig.stream);
    assert!(poll(&mut destroy).is_none());
    let dead = block_on(rig.streams.synchronize_stream(rig.stream));
    assert!(matches!(dead, Err(FerrumError::NotFound { .. })));
    drop(destroy);
    assert!(held.upgrade().is_some());
    gate.send(()).unwrap();
    while held.upgrade().is_some() {
        std::thread::yield_now();
    }
    assert_eq!(rig.first_byte(), 3);
}

#[test]
fn test_events_block_a_stream_until_they_complete() {
    let rig = rig(4);
    let gate = rig.gate(rig.stream);
    let other = block_on(rig.streams.create_stream(&CPU)).unwrap();
    block_on(async {
        let event = rig.streams.record_event(rig.stream).await.unwrap();
        // Many other events after it, so that completed ones are searched.
        for _ in 0..200 {
            rig.streams.record_event(other).await.unwrap();
        }
        rig.streams.wait_event(other, event).await.unwrap();
    });
    let mut wait = rig.streams.synchronize_stream(other);
    assert!(poll(&mut wait).is_none());
    gate.send(()).unwrap();
    block_on(wait).unwrap();
}

/// Everything is dropped while a stream is blocked, and no drop waits for it.
#[test]
fn test_drops_do_not_wait_for_a_blocked_stream() {
    let mut rig = rig(4);
    let gate = rig.gate(rig.stream);
    block_on(rig.manager.copy_async(rig.transfer(), Some(rig.stream))).unwrap();
    let hub = Arc::downgrade(rig.factory.hub());
    // Only a monitor queries this handle. The query keeps no reference.
    assert!(rig.manager.handle_info(MemoryHandle(u64::MAX)).is_none());
    let Rig {
        manager,
        streams,
        factory,
        ..
    } = &mut rig;
    let spare = block_on(factory.create_manager(&CPU, &MemoryManagerConfig::default())).unwrap();
    drop(std::mem::replace(manager, spare));
    let spare = block_on(factory.create_stream_manager(&CPU)).unwrap();
    drop(std::mem::replace(streams, spare));
    gate.send(()).unwrap();
    drop(rig);
    while hub.upgrade().is_some() {
        std::thread::yield_now();
    }
}
