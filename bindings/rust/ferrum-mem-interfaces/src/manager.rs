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
use crate::turns::Turns;

/// [`DeviceMemoryManager`] and [`ferrum_interfaces::memory::AdvancedMemoryManager`] on
/// ferrum_mem; [`crate::FerrumMem`] makes it. It serves the device that it was made
/// for and, as each call names one, any other with the same settings. Its blocks go
/// with it. Handles are those of the C ABI.
pub struct FerrumMemoryManager {
    pub(crate) inner: Arc<Inner>,
}

pub(crate) struct Inner {
    pub(crate) hub: Arc<Hub>,
    id: u64,
    config: ManagerConfig,
    relocatable: bool,
    parts: Mutex<HashMap<Device, Arc<Part>>>,
    /// Held while a part is made, by workers only.
    making: Mutex<()>,
    pressures: Arc<Pressures>,
    registrations: Mutex<HashMap<Device, Registration>>,
}

/// The manager's side of one device.
pub(crate) struct Part {
    pub(crate) manager: ferrum_mem::Manager,
    pub(crate) device: ferrum_mem::Device,
    turns: Arc<Turns>,
}

thread_local! {
    /// Where a manager that is asked who it is puts the answer; none: nobody asks.
    static ASKED: RefCell<Option<Option<Arc<Inner>>>> = const { RefCell::new(None) };
}

/// A handle that is never given: whom it is asked for says who it is.
const WHO_ARE_YOU: MemoryHandle = MemoryHandle(u64::MAX);

/// The manager behind a trait object, if it is one of this crate.
pub(crate) fn known(manager: &dyn DeviceMemoryManager) -> Option<Arc<Inner>> {
    ASKED.set(Some(None));
    manager.handle_info(WHO_ARE_YOU);
    ASKED.take().flatten()
}

impl FerrumMemoryManager {
    /// Makes the manager, and its side of the device at once.
    pub(crate) async fn create(
        hub: Arc<Hub>,
        id: u64,
        settings: (ManagerConfig, bool),
        device: &Device,
    ) -> Result<Self> {
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
        inner.part(device).await?;
        Ok(Self { inner })
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
        // A manager waits for the copies of its blocks, and a registration for its
        // callback; what needs not wait gives its memory back here and now.
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

    /// The manager's side of a device, which is made when it is first asked for.
    pub(crate) async fn part(self: &Arc<Self>, device: &Device) -> Result<Arc<Part>> {
        if let Some(part) = self.find_part(device) {
            return Ok(part);
        }
        let (inner, device) = (self.clone(), device.clone());
        self.hub.workers.run(move || inner.make_part(&device)).await
    }

    /// Makes it, on a thread that may wait.
    pub(crate) fn make_part(&self, device: &Device) -> Result<Arc<Part>> {
        let _one = locked(&self.making);
        if let Some(part) = self.find_part(device) {
            return Ok(part);
        }
        let opened = self.hub.devices.open(device)?;
        let part = Arc::new(Part {
            manager: opened.create_manager(&self.config).map_err(error_of)?,
            device: opened,
            turns: Turns::new(config::count(self.config.max_concurrent_transfers.into())),
        });
        if self.pressures.is_set() {
            self.listen(device, &part)?;
        }
        locked(&self.parts).insert(device.clone(), part.clone());
        Ok(part)
    }

    /// A block of this manager, just allocated.
    pub(crate) fn block(&self, memory: Memory, device: Device, part: &Part) -> Result<Block> {
        let (at, info) = (Instant::now(), memory.info().map_err(error_of)?);
        Ok(Block {
            memory,
            device,
            owner: self.id,
            turns: part.turns.clone(),
            at,
            at_library: info.allocated_at,
        })
    }

    fn listen(&self, device: &Device, part: &Part) -> Result<()> {
        let (pressures, name) = (self.pressures.clone(), device.clone());
        let heard = move |level| pressures.tell(&name, config::pressure_of(level));
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
        // Entered by the future itself: if it is dropped, so is the block.
        let block = self.hub.workers.run(call).await?;
        Ok(self.hub.insert(block))
    }
}

/// The alignment of a request: in one, 0 would be the pool's.
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

    /// Copies that are in flight finish undisturbed.
    async fn deallocate(&self, handle: MemoryHandle) -> Result<()> {
        let call = move |hub: &Hub| hub.deallocate(handle);
        self.inner.hub.unmoved(call).await
    }

    /// When the future is dropped, a copy that has begun is finished.
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

    /// Returns when the copy is queued; no stream, and that of number 0, is the
    /// default one of the destination's device. While `max_concurrent_transfers` are
    /// in flight the future waits for its turn.
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
        let turn = copying.dst.turns.take().await?;
        let call = move |_: &Hub| {
            queue.queue(|stream| {
                ferrum_mem::Memory::copy_async(copying.transfer(), Some(stream))?;
                // The copy is queued, whether its end can be heard of or not.
                let _ = stream.call(move || drop(turn));
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
        if handle == WHO_ARE_YOU {
            ASKED.with_borrow_mut(|asked| {
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

    /// The settings of the pool that new blocks come from.
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

    /// Moves blocks that nobody uses, unless [`crate::Settings::relocatable`] is off,
    /// and gives back what is cached.
    async fn defragment(&self, device: &Device) -> Result<DefragmentationStats> {
        let part = self.inner.part(device).await?;
        let call = move || part.manager.defragment().map_err(error_of);
        let stats = self.inner.hub.moving(call).await?;
        Ok(config::defragmentation(&stats))
    }

    /// Takes the place of the former one. Hears of each change of the worst level of
    /// the manager's devices, on a thread of the library.
    fn set_pressure_callback(&self, callback: Box<dyn Fn(MemoryPressure) + Send + Sync>) {
        let inner = &self.inner;
        inner.pressures.set(callback);
        let parts: Vec<_> = locked(&inner.parts)
            .iter()
            .map(|(device, part)| (device.clone(), part.clone()))
            .collect();
        for (device, part) in parts {
            if !locked(&inner.registrations).contains_key(&device) {
                // A device that takes no callback has no levels to tell.
                let _ = inner.listen(&device, &part);
            }
        }
    }
}
