use std::collections::HashMap;
use std::sync::{
    Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard, TryLockError,
};
use std::time::{Duration, Instant};

use ferrum_interfaces::memory::{MemoryHandle, MemoryTransfer};
use ferrum_mem::{Memory, Stream, Transfer};
use ferrum_types::{Device, FerrumError, Result};

use crate::completion::{pair, Answer};
use crate::devices::Devices;
use crate::error::error_of;
use crate::events::Events;
use crate::stream::Queue;
use crate::turns::{Turn, Turns};
use crate::workers::Workers;

/// What the managers, stream managers and monitors of one [`crate::FerrumMem`] share:
/// a handle that one of them gave means the same to all.
///
/// Lock order: `moves`, then a block; the tables are leaves, held for a look-up only.
pub(crate) struct Hub {
    pub(crate) devices: Devices,
    pub(crate) workers: Arc<Workers>,
    pub(crate) events: Mutex<Events>,
    blocks: RwLock<HashMap<u64, Arc<Block>>>,
    pub(crate) streams: RwLock<HashMap<u64, Arc<Queue>>>,
    /// Streams of this crate's own for copies without one, idle, by device.
    lanes: Mutex<HashMap<Device, Vec<Arc<Stream>>>>,
    /// Held for writing while blocks are moved: a call that wants such a block waits
    /// for its move, so it is then made on a thread of our own.
    moves: RwLock<()>,
}

/// A block that has a handle. It is given back when the table and every call that
/// uses it have let go of it.
pub(crate) struct Block {
    pub(crate) memory: Memory,
    pub(crate) device: Device,
    /// Which manager it goes with.
    pub(crate) owner: u64,
    pub(crate) turns: Arc<Turns>,
    /// When it was allocated, by the clock of the traits.
    pub(crate) at: Instant,
    /// The same by the library's.
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
    FerrumError::not_found(format!("memory handle {:#x} is not alive", handle.0))
}

/// A copy that has been looked up.
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

    /// Whether earlier work on the blocks has to be waited for.
    fn is_busy(&self) -> Result<bool> {
        for block in [&self.src, &self.dst] {
            if block.memory.info().map_err(error_of)?.operations_in_flight > 0 {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// An idle stream of the hub's own; dropping it gives it back.
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
            moves: RwLock::default(),
        }))
    }

    /// The open device; opening it may take its time.
    pub(crate) async fn opened(self: &Arc<Self>, device: &Device) -> Result<ferrum_mem::Device> {
        if let Some(found) = self.devices.find(device) {
            return Ok(found);
        }
        let (hub, device) = (self.clone(), device.clone());
        self.workers.run(move || hub.devices.open(&device)).await
    }

    /// Enters a block, and gives its handle, which is that of the C ABI.
    pub(crate) fn insert(&self, block: Block) -> MemoryHandle {
        let id = block.memory.raw().id;
        written(&self.blocks).insert(id, Arc::new(block));
        MemoryHandle(id)
    }

    pub(crate) fn block(&self, handle: MemoryHandle) -> Result<Arc<Block>> {
        let found = read(&self.blocks).get(&handle.0).cloned();
        found.ok_or_else(|| unknown_memory(handle))
    }

    /// Takes all blocks of a manager out of the table.
    pub(crate) fn take_blocks(&self, owner: u64) -> Vec<Arc<Block>> {
        let mut blocks = written(&self.blocks);
        let ids: Vec<u64> = blocks
            .iter()
            .filter(|(_, block)| block.owner == owner)
            .map(|(id, _)| *id)
            .collect();
        ids.iter().filter_map(|id| blocks.remove(id)).collect()
    }

    /// Makes a call that waits at most for the move of a block: here while nothing
    /// is moved, otherwise on a thread of our own.
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

    /// Makes the call now, or gives it back when blocks are being moved.
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

    /// Gives a block back. The handle is dead from here on, unless it fails. A block
    /// that a call of another thread uses now goes at the end of that call.
    pub(crate) fn deallocate(&self, handle: MemoryHandle) -> Result<()> {
        // Held until it is decided: nobody misses a block that stays. The library does not
        // wait here.
        let mut blocks = written(&self.blocks);
        let removed = blocks.remove(&handle.0);
        let (block, error) = match Arc::try_unwrap(removed.ok_or_else(|| unknown_memory(handle))?) {
            Ok(block) => {
                let Block { memory, .. } = block;
                let Err(failed) = memory.free() else {
                    return Ok(());
                };
                let error = error_of(*failed.error);
                // A block whose neighbourhood was overwritten is gone all the same.
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
                    // The last user ends it, and may have to wait.
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
            // The library knows which streams have to be waited for.
            let call = move || ferrum_mem::Memory::copy(copying.transfer()).map_err(error_of);
            return self.workers.run(call).await;
        }
        let turn = copying.dst.turns.take().await?;
        let lane = self.lane(&copying.dst.device)?;
        let queued = self.unmoved(move |_| {
            ferrum_mem::Memory::copy_async(copying.transfer(), Some(&lane.stream))
                .map_err(error_of)?;
            lane.when_done(turn)
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
    /// How the lane's copy ends. Lane and turn are given back then, whether anybody
    /// waits or not.
    fn when_done(self, turn: Turn) -> Result<Answer<Result<()>>> {
        let (promise, answer) = pair();
        let stream = self.stream.clone();
        let called = move || {
            // A worker asks how it went: while the library makes this call, the
            // stream counts it as work.
            let hub = self.hub.clone();
            hub.workers.submit(move || {
                let result = self.stream.synchronize(None).map_err(error_of);
                drop((turn, self));
                // Given back when nobody waits: then there is nobody to tell.
                drop(promise.fulfil(result));
            });
        };
        stream.call(called).map_err(error_of)?;
        Ok(answer)
    }
}
