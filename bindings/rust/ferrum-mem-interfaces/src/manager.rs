use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use async_trait::async_trait;
use ferrum_interfaces::memory::{
    DefragmentationStats, DeviceMemoryManager, MemoryHandle, MemoryHandleInfo, MemoryInfo,
    MemoryPoolConfig, MemoryPressure, MemoryTransfer, StreamHandle,
};
use ferrum_mem::{AllocationRequest, ManagerConfig, Memory, MemoryType, Registration};
use ferrum_types::{Device, Result};

use crate::config;
use crate::error::error_of;
use crate::hub::{locked, Block, Hub};
use crate::pressure::Pressures;
use crate::transfer_slots::TransferSlots;

/// [`DeviceMemoryManager`] and [`ferrum_interfaces::memory::AdvancedMemoryManager`] on ferrum_mem.
/// [`crate::FerrumMem`] creates it. It serves the device of its creation and, because each call
/// names a device, any other device with the same settings. Its blocks end with it. Handles are
/// those of the C ABI.
pub struct FerrumMemoryManager {
    pub(crate) inner: Arc<Inner>,
}

pub(crate) struct Inner {
    pub(crate) hub: Arc<Hub>,
    id: u64,
    config: ManagerConfig,
    relocatable: bool,
    parts: Mutex<HashMap<Device, Arc<Part>>>,
    /// Locked while a part is created, by workers only.
    making: Mutex<()>,
    pressures: Arc<Pressures>,
    registrations: Mutex<HashMap<Device, Registration>>,
}

/// The part of the manager for one device.
pub(crate) struct Part {
    pub(crate) manager: ferrum_mem::Manager,
    pub(crate) device: ferrum_mem::Device,
    transfer_slots: Arc<TransferSlots>,
}

thread_local! {
    /// The result of the query IDENTIFY. `None` outside the query, `Some(None)` until a manager
    /// of this crate sets it.
    static IDENTITY: RefCell<Option<Option<Arc<Inner>>>> = const { RefCell::new(None) };
}

/// A handle that no block has. A manager of this crate identifies itself when it is queried.
const IDENTIFY: MemoryHandle = MemoryHandle(u64::MAX);

/// The manager behind a trait object, if it is one of this crate.
pub(crate) fn known(manager: &dyn DeviceMemoryManager) -> Option<Arc<Inner>> {
    IDENTITY.set(Some(None));
    manager.handle_info(IDENTIFY);
    IDENTITY.take().flatten()
}

impl FerrumMemoryManager {
    /// Creates the manager and its part for the device.
    pub(crate) async fn create(
        hub: Arc<Hub>,
        id: u64,
        settings: (ManagerConfig, bool),
        device: &Device,
    ) -> Result<Self> {
        let made = Self::without_parts(hub, id, settings);
        made.inner.part(device).await?;
        Ok(made)
    }

    /// Creates the manager. The first call for a device creates its part.
    pub(crate) fn without_parts(hub: Arc<Hub>, id: u64, settings: (ManagerConfig, bool)) -> Self {
        let (config, relocatable) = settings;
        let inner = Arc::new(Inner {
            hub,
            id,
            config,
            relocatable,
            parts: Mutex::default(),
            making: Mutex::new(()),
            pressures: Arc::default(),
            registrations: Mutex::default(),
        });
        Self { inner }
    }
}

impl std::fmt::Debug for FerrumMemoryManager {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let devices: Vec<_> = locked(&self.inner.parts).keys().cloned().collect();
        f.debug_struct("FerrumMemoryManager")
            .field("devices", &devices)
            .finish()
    }
}

impl Drop for FerrumMemoryManager {
    fn drop(&mut self) {
        let inner = &self.inner;
        let blocks = inner.hub.take_blocks(inner.id);
        let parts = std::mem::take(&mut *locked(&inner.parts));
        let registrations = std::mem::take(&mut *locked(&inner.registrations));
        let is_busy = |block: &Arc<Block>| {
            block
                .memory
                .info()
                .is_ok_and(|info| info.operations_in_flight > 0)
        };
        // A manager waits for the copies of its blocks, and a registration for its callback. If
        // there is nothing to wait for, the memory is released here.
        if blocks.iter().any(is_busy) || inner.pressures.is_set() {
            let everything = (blocks, parts, registrations);
            inner.hub.workers.submit(move || drop(everything));
        }
    }
}

impl Inner {
    pub(crate) fn find_part(&self, device: &Device) -> Option<Arc<Part>> {
        locked(&self.parts).get(device).cloned()
    }

    /// The part of the manager for a device. The first call creates it.
    pub(crate) async fn part(self: &Arc<Self>, device: &Device) -> Result<Arc<Part>> {
        if let Some(part) = self.find_part(device) {
            return Ok(part);
        }
        let (inner, device) = (self.clone(), device.clone());
        self.hub.workers.run(move || inner.make_part(&device)).await
    }

    /// Creates the part, on a thread that may wait.
    pub(crate) fn make_part(&self, device: &Device) -> Result<Arc<Part>> {
        let _one = locked(&self.making);
        if let Some(part) = self.find_part(device) {
            return Ok(part);
        }
        let opened = self.hub.devices.open(device)?;
        let part = Arc::new(Part {
            manager: opened.create_manager(&self.config).map_err(error_of)?,
            device: opened,
            transfer_slots: TransferSlots::new(config::count(
                self.config.max_concurrent_transfers.into(),
            )),
        });
        if self.pressures.is_set() {
            self.listen(device, &part)?;
        }
        locked(&self.parts).insert(device.clone(), part.clone());
        Ok(part)
    }

    /// A new block of this manager.
    pub(crate) fn block(&self, memory: Memory, device: Device, part: &Part) -> Result<Block> {
        let (at, info) = (Instant::now(), memory.info().map_err(error_of)?);
        Ok(Block {
            memory,
            device,
            owner: self.id,
            transfer_slots: part.transfer_slots.clone(),
            at,
            at_library: info.allocated_at,
        })
    }

    fn listen(&self, device: &Device, part: &Part) -> Result<()> {
        let (pressures, name) = (self.pressures.clone(), device.clone());
        let heard = move |level| pressures.update(&name, config::pressure_of(level));
        let registration = part.device.on_pressure(heard).map_err(error_of)?;
        locked(&self.registrations).insert(device.clone(), registration);
        Ok(())
    }

    pub(crate) async fn allocate(
        self: &Arc<Self>,
        device: &Device,
        request: AllocationRequest<'static>,
    ) -> Result<MemoryHandle> {
        let part = match self.find_part(device) {
            Some(part) => part,
            None => self.part(device).await?,
        };
        let request = AllocationRequest {
            relocatable: self.relocatable,
            ..request
        };
        let (inner, device) = (self.clone(), device.clone());
        let call = move || {
            let memory = part.manager.alloc_with(&request).map_err(error_of)?;
            inner.block(memory, device, &part)
        };
        // Inserted by the future itself: if the future is dropped, so is the block.
        let block = self.hub.workers.run(call).await?;
        Ok(self.hub.insert(block))
    }
}

/// A request with an alignment. 0 is rejected: in a request it would mean the pool's.
fn aligned(size: usize, alignment: usize) -> Result<AllocationRequest<'static>> {
    if alignment == 0 {
        return Err(ferrum_types::FerrumError::invalid_parameter(
            "alignment 0 is not a power of two",
        ));
    }
    Ok(AllocationRequest {
        size_bytes: size as u64,
        alignment_bytes: Some(alignment as u64),
        ..Default::default()
    })
}

#[async_trait]
impl DeviceMemoryManager for FerrumMemoryManager {
    async fn allocate(&self, size: usize, device: &Device) -> Result<MemoryHandle> {
        let request = AllocationRequest {
            size_bytes: size as u64,
            ..Default::default()
        };
        self.inner.allocate(device, request).await
    }

    async fn allocate_aligned(
        &self,
        size: usize,
        alignment: usize,
        device: &Device,
    ) -> Result<MemoryHandle> {
        self.inner.allocate(device, aligned(size, alignment)?).await
    }

    /// Copies in flight run to their end.
    async fn deallocate(&self, handle: MemoryHandle) -> Result<()> {
        let call = move |hub: &Hub| hub.deallocate(handle);
        self.inner.hub.unmoved(call).await
    }

    /// If the future is dropped, a copy that has begun runs to its end.
    async fn copy(
        &self,
        src: MemoryHandle,
        dst: MemoryHandle,
        size: usize,
        src_offset: usize,
        dst_offset: usize,
    ) -> Result<()> {
        let transfer = MemoryTransfer {
            src,
            dst,
            size,
            src_offset,
            dst_offset,
        };
        self.inner.hub.copy(&transfer).await
    }

    /// Returns when the copy is queued. No stream, or stream 0, is the default stream of the
    /// destination's device. While `max_concurrent_transfers` copies are in flight, the future
    /// waits for a transfer slot.
    async fn copy_async(
        &self,
        transfer: MemoryTransfer,
        stream: Option<StreamHandle>,
    ) -> Result<()> {
        let hub = &self.inner.hub;
        let copying = hub.copying(&transfer)?;
        let queue = hub.queue(
            stream.unwrap_or(StreamHandle::default()),
            &copying.dst.device,
        )?;
        let slot = copying.dst.transfer_slots.acquire().await?;
        let call = move |_: &Hub| {
            queue.queue(|stream| {
                ferrum_mem::Memory::copy_async(copying.transfer(), Some(stream))?;
                // The copy is queued, even if its end cannot be observed.
                let _ = stream.call(move || drop(slot));
                Ok(())
            })
        };
        hub.unmoved(call).await
    }

    async fn memory_info(&self, device: &Device) -> Result<MemoryInfo> {
        let opened = self.inner.hub.opened(device).await?;
        let info = opened.memory_info().map_err(error_of)?;
        Ok(config::memory_info(&info))
    }

    fn handle_info(&self, handle: MemoryHandle) -> Option<MemoryHandleInfo> {
        if handle == IDENTIFY {
            IDENTITY.with_borrow_mut(|asked| {
                if let Some(answer) = asked {
                    *answer = Some(self.inner.clone());
                }
            });
            return None;
        }
        let block = self.inner.hub.block(handle).ok()?;
        let info = block.memory.info().ok()?;
        Some(config::handle_info(&block, &info))
    }

    /// Sets the configuration of the pool of new blocks.
    async fn configure_pool(&self, device: &Device, config: MemoryPoolConfig) -> Result<()> {
        let part = self.inner.part(device).await?;
        let config = config::pool_config(&config);
        let call = move || {
            part.manager
                .configure_pool(MemoryType::General, &config)
                .map_err(error_of)
        };
        self.inner.hub.workers.run(call).await
    }

    /// Moves blocks that are not in use, unless [`crate::Settings::relocatable`] is off, and
    /// releases cached memory.
    async fn defragment(&self, device: &Device) -> Result<DefragmentationStats> {
        let part = self.inner.part(device).await?;
        let call = move || part.manager.defragment().map_err(error_of);
        let stats = self.inner.hub.moving(call).await?;
        Ok(config::defragmentation(&stats))
    }

    /// Replaces the previous callback. It is called at each change of the worst level of the
    /// manager's devices, on a thread of the library.
    fn set_pressure_callback(&self, callback: Box<dyn Fn(MemoryPressure) + Send + Sync>) {
        let inner = &self.inner;
        inner.pressures.set(callback);
        let parts: Vec<_> = locked(&inner.parts)
            .iter()
            .map(|(device, part)| (device.clone(), part.clone()))
            .collect();
        for (device, part) in parts {
            if !locked(&inner.registrations).contains_key(&device) {
                // A device without callbacks has no levels.
                let _ = inner.listen(&device, &part);
            }
        }
    }
}
