use std::collections::HashMap;
use std::sync::{
    Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard, TryLockError,
    Weak,
};
use std::time::{Duration, Instant};

use ferrum_interfaces::memory::{MemoryHandle, MemoryTransfer};
use ferrum_mem::{Memory, Stream, Transfer};
use ferrum_types::{Device, FerrumError, Result};

use crate::completion::{pair, Answer};
use crate::custom_layers::Forward;
use crate::devices::Devices;
use crate::error::error_of;
use crate::events::Events;
use crate::pools::Pools;
use crate::running::Slot;
use crate::stream::Queue;
use crate::transfer_slots::{TransferSlot, TransferSlots};
use crate::workers::Workers;

/// The state that the managers, stream managers and monitors of one [`crate::FerrumMem`] share. A
/// handle has the same meaning for all of them. Lock order: `moves`, then a block. The tables are
/// locked last and only for a look-up.
pub(crate) struct Hub {
    pub(crate) devices: Devices,
    pub(crate) workers: Arc<Workers>,
    pub(crate) events: Mutex<Events>,
    blocks: RwLock<HashMap<u64, Arc<Block>>>,
    pub(crate) streams: RwLock<HashMap<u64, Arc<Queue>>>,
    /// Idle streams of this crate, by device, for copies without a stream.
    lanes: Mutex<HashMap<Device, Vec<Arc<Stream>>>>,
    /// The backends that exist, by the pools of their tensors.
    engines: Mutex<Vec<(Weak<Pools>, Weak<Slot>)>>,
    /// The functions that compute layer types of the program, by type.
    pub(crate) forwards: Mutex<HashMap<String, Forward>>,
    /// Write-locked while blocks are moved. A call that uses such a block waits for the move, so it
    /// is then made on a worker.
    moves: RwLock<()>,
}

/// A block with a handle. It is freed when the table and all calls have dropped it.
pub(crate) struct Block {
    pub(crate) memory: Memory,
    pub(crate) device: Device,
    /// The manager that owns it.
    pub(crate) owner: u64,
    pub(crate) transfer_slots: Arc<TransferSlots>,
    /// Time of its allocation, by the clock of the traits.
    pub(crate) at: Instant,
    /// The same, by the library's clock.
    pub(crate) at_library: Duration,
}

pub(crate) fn read<T>(lock: &RwLock<T>) -> RwLockReadGuard<'_, T> {
    lock.read().unwrap_or_else(PoisonError::into_inner)
}

pub(crate) fn written<T>(lock: &RwLock<T>) -> RwLockWriteGuard<'_, T> {
    lock.write().unwrap_or_else(PoisonError::into_inner)
}

pub(crate) fn locked<T>(lock: &Mutex<T>) -> MutexGuard<'_, T> {
    lock.lock().unwrap_or_else(PoisonError::into_inner)
}

pub(crate) fn unknown_memory(handle: MemoryHandle) -> FerrumError {
    FerrumError::not_found(format!("no block has the memory handle {:#x}", handle.0))
}

/// A copy with its blocks.
#[derive(Clone)]
pub(crate) struct Copying {
    pub(crate) src: Arc<Block>,
    pub(crate) dst: Arc<Block>,
    transfer: MemoryTransfer,
}

impl Copying {
    pub(crate) fn transfer(&self) -> Transfer<'_> {
        let t = &self.transfer;
        Transfer::new(&self.src.memory, &self.dst.memory, t.size as u64)
            .with_src_offset(t.src_offset as u64)
            .with_dst_offset(t.dst_offset as u64)
    }

    /// Whether earlier work on the blocks is in flight.
    fn is_busy(&self) -> Result<bool> {
        for block in [&self.src, &self.dst] {
            if block.memory.info().map_err(error_of)?.operations_in_flight > 0 {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// A stream of the hub. A drop returns it to the idle ones.
struct Lane {
    hub: Arc<Hub>,
    device: Device,
    stream: Arc<Stream>,
}

impl Drop for Lane {
    fn drop(&mut self) {
        let mut lanes = locked(&self.hub.lanes);
        let idle = lanes.entry(self.device.clone()).or_default();
        idle.push(self.stream.clone());
    }
}

impl Hub {
    pub(crate) fn new(devices: Devices) -> Result<Arc<Self>> {
        Ok(Arc::new(Self {
            devices,
            workers: Arc::new(Workers::start()?),
            events: Mutex::default(),
            blocks: RwLock::default(),
            streams: RwLock::default(),
            lanes: Mutex::default(),
            engines: Mutex::default(),
            forwards: Mutex::default(),
            moves: RwLock::default(),
        }))
    }

    /// Adds a backend.
    pub(crate) fn add_engine(&self, pools: &Arc<Pools>, slot: &Arc<Slot>) {
        let mut engines = locked(&self.engines);
        engines.retain(|(pools, _)| pools.strong_count() > 0);
        engines.push((Arc::downgrade(pools), Arc::downgrade(slot)));
    }

    /// The backend whose tensors are in these pools.
    pub(crate) fn engine_of(&self, pools: &Arc<Pools>) -> Option<Arc<Slot>> {
        let engines = locked(&self.engines);
        let found = engines
            .iter()
            .find(|it| it.0.as_ptr() == Arc::as_ptr(pools));
        found.and_then(|it| it.1.upgrade())
    }

    /// The open device. Opening it may take long.
    pub(crate) async fn opened(self: &Arc<Self>, device: &Device) -> Result<ferrum_mem::Device> {
        if let Some(found) = self.devices.find(device) {
            return Ok(found);
        }
        let (hub, device) = (self.clone(), device.clone());
        self.workers.run(move || hub.devices.open(&device)).await
    }

    /// Inserts a block, and returns its handle, which is the handle of the C ABI.
    pub(crate) fn insert(&self, block: Block) -> MemoryHandle {
        let id = block.memory.raw().id;
        written(&self.blocks).insert(id, Arc::new(block));
        MemoryHandle(id)
    }

    pub(crate) fn block(&self, handle: MemoryHandle) -> Result<Arc<Block>> {
        let found = read(&self.blocks).get(&handle.0).cloned();
        found.ok_or_else(|| unknown_memory(handle))
    }

    /// Removes all blocks of a manager from the table.
    pub(crate) fn take_blocks(&self, owner: u64) -> Vec<Arc<Block>> {
        let mut blocks = written(&self.blocks);
        let ids: Vec<u64> = blocks
            .iter()
            .filter(|(_, block)| block.owner == owner)
            .map(|(id, _)| *id)
            .collect();
        ids.iter().filter_map(|id| blocks.remove(id)).collect()
    }

    /// Makes a call that may wait for the move of a block: here if nothing is being moved, and
    /// otherwise on a worker.
    pub(crate) async fn unmoved<T: Send + 'static>(
        self: &Arc<Self>,
        call: impl FnOnce(&Self) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        match self.while_nothing_moves(call) {
            Ok(result) => result,
            Err(call) => {
                let hub = self.clone();
                self.workers.run(move || call(&hub)).await
            }
        }
    }

    /// Makes the call now, or returns it if blocks are being moved.
    fn while_nothing_moves<T, F: FnOnce(&Self) -> T>(&self, call: F) -> std::result::Result<T, F> {
        let _guard = match self.moves.try_read() {
            Ok(guard) => guard,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return Err(call),
        };
        Ok(call(self))
    }

    /// Makes a call that moves blocks.
    pub(crate) async fn moving<T: Send + 'static>(
        self: &Arc<Self>,
        call: impl FnOnce() -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let hub = self.clone();
        self.workers
            .run(move || {
                let _guard = written(&hub.moves);
                call()
            })
            .await
    }

    /// Frees a block. Its handle is invalid from here on, unless the call fails. If another
    /// thread's call uses the block, the block is freed at the end of that call.
    pub(crate) fn deallocate(&self, handle: MemoryHandle) -> Result<()> {
        // Held until the result is known, so that no thread misses a block that stays. The library
        // does not wait here.
        let mut blocks = written(&self.blocks);
        let removed = blocks.remove(&handle.0);
        let (block, error) = match Arc::try_unwrap(removed.ok_or_else(|| unknown_memory(handle))?) {
            Ok(block) => {
                let Block { memory, .. } = block;
                let Err(failed) = memory.free() else {
                    return Ok(());
                };
                let error = error_of(*failed.error);
                // A corrupted block is freed too.
                let Some(memory) = failed.object else {
                    return Err(error);
                };
                (Arc::new(Block { memory, ..block }), error)
            }
            Err(shared) => {
                let info = match shared.memory.info() {
                    Ok(info) => info,
                    Err(error) => {
                        blocks.insert(handle.0, shared);
                        return Err(error_of(error));
                    }
                };
                if !info.is_mapped && info.pin_count == 0 {
                    // The last user frees it, and may have to wait.
                    drop(blocks);
                    return Ok(());
                }
                let what = if info.is_mapped { "mapped" } else { "pinned" };
                let message = format!("memory handle {:#x} is {what}", handle.0);
                (shared, FerrumError::resource_exhausted(message))
            }
        };
        blocks.insert(handle.0, block);
        Err(error)
    }

    pub(crate) fn copying(&self, transfer: &MemoryTransfer) -> Result<Copying> {
        Ok(Copying {
            src: self.block(transfer.src)?,
            dst: self.block(transfer.dst)?,
            transfer: transfer.clone(),
        })
    }

    /// Copies after all earlier work on the blocks.
    pub(crate) async fn copy(self: &Arc<Self>, transfer: &MemoryTransfer) -> Result<()> {
        let copying = self.copying(transfer)?;
        let looked = copying.clone();
        if self.unmoved(move |_| looked.is_busy()).await? {
            // The library knows the streams that the copy must wait for.
            let call = move || ferrum_mem::Memory::copy(copying.transfer()).map_err(error_of);
            return self.workers.run(call).await;
        }
        let slot = copying.dst.transfer_slots.acquire().await?;
        let lane = self.lane(&copying.dst.device)?;
        let queued = self.unmoved(move |_| {
            ferrum_mem::Memory::copy_async(copying.transfer(), Some(&lane.stream))
                .map_err(error_of)?;
            lane.when_done(slot)
        });
        queued.await?.await?
    }

    fn lane(self: &Arc<Self>, device: &Device) -> Result<Lane> {
        let idle = locked(&self.lanes).get_mut(device).and_then(Vec::pop);
        let stream = match idle {
            Some(stream) => stream,
            None => {
                let opened = self.devices.open(device)?;
                Arc::new(opened.create_stream().map_err(error_of)?)
            }
        };
        Ok(Lane {
            hub: self.clone(),
            device: device.clone(),
            stream,
        })
    }
}

impl Lane {
    /// The result of the lane's copy. Afterwards lane and slot are released, whether or not a
    /// future waits.
    fn when_done(self, slot: TransferSlot) -> Result<Answer<Result<()>>> {
        let (promise, answer) = pair();
        let stream = self.stream.clone();
        let called = move || {
            // A worker queries the result, because the stream counts this call of the library as
            // work until it has returned.
            let hub = self.hub.clone();
            hub.workers.submit(move || {
                let result = self.stream.synchronize(None).map_err(error_of);
                drop((slot, self));
                // fulfil returns the result if no future waits for it. Then the result is not needed.
                drop(promise.fulfil(result));
            });
        };
        stream.call(called).map_err(error_of)?;
        Ok(answer)
    }
}
