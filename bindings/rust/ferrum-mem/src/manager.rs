use std::ffi::c_void;
use std::sync::Arc;
use std::time::Duration;

use crate::device::Device;
use crate::ending::{dropped, shared_handle};
use crate::error::check;
use crate::stream::{raw_of, timeout_ns, Stream};
use crate::{
    sys, AllocationRequest, BlockInfo, DefragmentationStats, ErrorKind, MemoryType, PoolConfig,
    Rejected, Result,
};

/// Settings of a manager.
#[derive(Clone, Debug, PartialEq)]
pub struct ManagerConfig {
    /// Record age and tag of each block, and statistics.
    pub tracking: bool,
    /// Release cached memory when `gc_threshold` is reached.
    pub auto_gc: bool,
    /// Fill new and freed blocks with patterns, and check the patterns.
    pub debug: bool,
    /// Used share of the device, above 0 and up to 1, that starts a collection.
    pub gc_threshold: f32,
    /// Asynchronous copies in flight, 1 to 1024.
    pub max_concurrent_transfers: u32,
    /// Pool settings by memory type. The last entry of a type counts.
    pub pools: Vec<(MemoryType, PoolConfig)>,
}

impl Default for ManagerConfig {
    fn default() -> Self {
        let raw = sys::ferrum_manager_config::INIT;
        Self {
            tracking: raw.enable_tracking != 0,
            auto_gc: raw.enable_auto_gc != 0,
            debug: raw.enable_debug != 0,
            gc_threshold: raw.gc_threshold,
            max_concurrent_transfers: raw.max_concurrent_transfers,
            pools: Vec::new(),
        }
    }
}

/// Memory by handle. Clones share one manager. It is destroyed after its last clone and its blocks
/// are dropped.
#[derive(Clone)]
#[must_use = "dropping it destroys the manager"]
pub struct Manager {
    made: Arc<Made>,
}

struct Made {
    raw: sys::ferrum_manager,
    _device: Device,
}

shared_handle!(Manager { made: Made } of ferrum_manager, "manager", ferrum_manager_destroy);

impl Manager {
    pub(crate) fn create(device: &Device, config: &ManagerConfig) -> Result<Self> {
        let mut raw = Default::default();
        let settings = sys::ferrum_manager_config {
            enable_tracking: config.tracking.into(),
            enable_auto_gc: config.auto_gc.into(),
            enable_debug: config.debug.into(),
            gc_threshold: config.gc_threshold,
            max_concurrent_transfers: config.max_concurrent_transfers,
            ..Default::default()
        };
        create_with(device, settings, &config.pools, &mut raw)?;
        Ok(Self::own(device, raw))
    }

    fn own(device: &Device, raw: sys::ferrum_manager) -> Self {
        Self {
            made: Arc::new(Made {
                raw,
                _device: device.clone(),
            }),
        }
    }

    /// Creates a manager object from a handle. The object owns the handle from then on.
    ///
    /// # Safety
    ///
    /// The handle is of a live manager of the device, and no other code destroys it.
    pub unsafe fn from_raw(device: &Device, raw: sys::ferrum_manager) -> Self {
        Self::own(device, raw)
    }

    /// The C handle.
    pub fn raw(&self) -> sys::ferrum_manager {
        self.made.raw
    }

    /// Allocates a block of the general type.
    ///
    /// # Errors
    ///
    /// Those of [`ferrum_pool_alloc`](crate::sys::ferrum_pool_alloc).
    ///
    /// C function: [`ferrum_manager_alloc`](crate::sys::ferrum_manager_alloc).
    pub fn alloc(&self, size_bytes: u64) -> Result<Memory> {
        let mut raw = Default::default();
        // SAFETY: raw is an output of the call.
        check(unsafe { sys::ferrum_manager_alloc(self.raw(), size_bytes, &mut raw) })?;
        Ok(Memory::own(raw, self))
    }

    /// Allocates a block as requested.
    ///
    /// # Errors
    ///
    /// The errors of every call, such as
    /// [`ErrorKind::InvalidHandle`](crate::ErrorKind::InvalidHandle).
    ///
    /// C function: [`ferrum_manager_alloc_with`](crate::sys::ferrum_manager_alloc_with).
    pub fn alloc_with(&self, request: &AllocationRequest<'_>) -> Result<Memory> {
        let mut raw = Default::default();
        request.with_raw("ferrum_manager_alloc_with", |request| {
            // SAFETY: the request is valid during the call, raw is an output of it.
            check(unsafe { sys::ferrum_manager_alloc_with(self.raw(), request, &mut raw) })
        })?;
        Ok(Memory::own(raw, self))
    }

    /// Moves relocatable blocks that are not in use in order to empty pages. Releases the memory
    /// that the manager's pools hold and do not use.
    ///
    /// # Errors
    ///
    /// The errors of every call, such as
    /// [`ErrorKind::InvalidHandle`](crate::ErrorKind::InvalidHandle).
    ///
    /// C function: [`ferrum_manager_defragment_within`](crate::sys::ferrum_manager_defragment_within).
    pub fn defragment(&self) -> Result<DefragmentationStats> {
        self.defragment_within(None)
    }

    /// Like `defragment`, but moves no further block after the budget has passed.
    ///
    /// # Errors
    ///
    /// The errors of every call, such as
    /// [`ErrorKind::InvalidHandle`](crate::ErrorKind::InvalidHandle).
    ///
    /// C function: [`ferrum_manager_defragment_within`](crate::sys::ferrum_manager_defragment_within).
    pub fn defragment_within(&self, budget: Option<Duration>) -> Result<DefragmentationStats> {
        let mut raw = Default::default();
        // SAFETY: raw is an output of the call, with its size set.
        check(unsafe {
            sys::ferrum_manager_defragment_within(self.raw(), timeout_ns(budget), &mut raw)
        })?;
        Ok((&raw).into())
    }
}

/// Adds the pool settings one by one, because each is valid only during its own call, and creates
/// the manager at the end.
fn create_with(
    device: &Device,
    mut settings: sys::ferrum_manager_config,
    pools: &[(MemoryType, PoolConfig)],
    raw: &mut sys::ferrum_manager,
) -> Result<()> {
    let Some(((memory_type, pool), rest)) = pools.split_first() else {
        // SAFETY: the settings and the pools in them are valid during the call.
        return check(unsafe { sys::ferrum_manager_create(device.raw(), &settings, raw) });
    };
    pool.with_raw("ferrum_manager_create", |pool| {
        settings.pool_configs[memory_type.to_raw() as usize] = pool;
        create_with(device, settings, rest, raw)
    })
}

/// Pins a block: it does not move until this is dropped.
#[derive(Debug)]
#[must_use = "dropping it ends the pin: the block may move"]
pub struct PinnedMemory<'a> {
    memory: &'a Memory,
    address: u64,
}

impl PinnedMemory<'_> {
    /// Ends the pin, as a drop does.
    ///
    /// # Errors
    ///
    /// The errors of every call, such as
    /// [`ErrorKind::InvalidHandle`](crate::ErrorKind::InvalidHandle) for a block that has ended.
    /// The error returns the pin.
    ///
    /// C function: [`ferrum_memory_unpin`](crate::sys::ferrum_memory_unpin).
    pub fn unpin(self) -> std::result::Result<(), Rejected<Self>> {
        let pin = std::mem::ManuallyDrop::new(self);
        // SAFETY: the block is live, and was pinned when this was created.
        match check(unsafe { sys::ferrum_memory_unpin(pin.memory.raw) }) {
            Ok(()) => Ok(()),
            Err(error) => Err(Rejected::new(
                error,
                std::mem::ManuallyDrop::into_inner(pin),
            )),
        }
    }

    /// The block's address.
    pub fn address(&self) -> u64 {
        self.address
    }
}

impl Drop for PinnedMemory<'_> {
    fn drop(&mut self) {
        // SAFETY: the block is live, and was pinned when this was created.
        let status = unsafe { sys::ferrum_memory_unpin(self.memory.raw) };
        dropped("ferrum_memory_unpin", status);
    }
}

/// A block of a manager. Dropping it frees it: its memory is reused after the work that is in
/// flight on it.
#[derive(Debug)]
#[must_use = "dropping it frees the block"]
pub struct Memory {
    raw: sys::ferrum_memory,
    _manager: Manager,
}

impl Drop for Memory {
    fn drop(&mut self) {
        if self.raw.id == 0 {
            return;
        }
        // No code can end a forgotten pin or mapping any more. Work on adopted memory must be done
        // before its owner gets it back. SAFETY: we own the handle.
        let free = || unsafe { sys::ferrum_memory_free(self.raw) };
        let mut status = free();
        // SAFETY: as above.
        while status == sys::FERRUM_ERROR_BUSY
            && (unsafe { sys::ferrum_memory_unpin(self.raw) } == sys::FERRUM_OK
                || unsafe { sys::ferrum_memory_unmap(self.raw, 0) } == sys::FERRUM_OK
                || self.settle())
        {
            status = free();
        }
        dropped("ferrum_memory_free", status);
    }
}

impl Memory {
    pub(crate) fn own(raw: sys::ferrum_memory, manager: &Manager) -> Self {
        Self {
            raw,
            _manager: manager.clone(),
        }
    }

    /// Waits for the work on the block, in the way of a mapping.
    fn settle(&self) -> bool {
        let request = sys::ferrum_map_request {
            access: sys::FERRUM_HOST_READ_ONLY,
            memory: self.raw,
            ..Default::default()
        };
        let mut mapped = sys::ferrum_mapping::default();
        // SAFETY: the request is valid during the call, mapped is an output of it.
        let status = unsafe { sys::ferrum_memory_map(&request, &mut mapped) };
        // SAFETY: takes only numbers.
        status == sys::FERRUM_OK
            && unsafe { sys::ferrum_memory_unmap(self.raw, mapped.mapping_id) } == sys::FERRUM_OK
    }

    /// The C handle.
    pub fn raw(&self) -> sys::ferrum_memory {
        self.raw
    }

    /// Describes the block.
    ///
    /// # Errors
    ///
    /// The errors of every call, such as [`ErrorKind::InvalidHandle`](crate::ErrorKind::InvalidHandle).
    ///
    /// C function: [`ferrum_memory_get_handle_info`](crate::sys::ferrum_memory_get_handle_info).
    pub fn info(&self) -> Result<BlockInfo> {
        let mut raw = sys::ferrum_handle_info::default();
        // SAFETY: raw is an output of the call, with its size set.
        check(unsafe { sys::ferrum_memory_get_handle_info(self.raw, &mut raw) })?;
        Ok((&raw).into())
    }

    /// Pins the block while the returned value exists, and returns its address with it.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::ResourceExhausted`](crate::ErrorKind::ResourceExhausted) for a block with 2^32
    /// - 1 pins.
    ///
    /// C function: [`ferrum_memory_pin`](crate::sys::ferrum_memory_pin).
    pub fn pin(&self) -> Result<PinnedMemory<'_>> {
        let mut address = 0;
        // SAFETY: address is an output of the call.
        check(unsafe { sys::ferrum_memory_pin(self.raw, &mut address) })?;
        Ok(PinnedMemory {
            memory: self,
            address,
        })
    }

    /// Copies bytes into the block.
    ///
    /// # Errors
    ///
    /// The errors of every call, such as [`ErrorKind::InvalidHandle`](crate::ErrorKind::InvalidHandle).
    ///
    /// C function: [`ferrum_memory_write`](crate::sys::ferrum_memory_write).
    pub fn write(&self, offset_bytes: u64, source: &[u8]) -> Result<()> {
        let data = source.as_ptr().cast::<c_void>();
        // SAFETY: source is as long as the call states.
        check(unsafe {
            sys::ferrum_memory_write(self.raw, offset_bytes, data, source.len() as u64)
        })
    }

    /// Copies bytes out of the block.
    ///
    /// # Errors
    ///
    /// The errors of every call, such as [`ErrorKind::InvalidHandle`](crate::ErrorKind::InvalidHandle).
    ///
    /// C function: [`ferrum_memory_read`](crate::sys::ferrum_memory_read).
    pub fn read(&self, offset_bytes: u64, destination: &mut [u8]) -> Result<()> {
        let data = destination.as_mut_ptr().cast::<c_void>();
        // SAFETY: destination is as long as the call states.
        check(unsafe {
            sys::ferrum_memory_read(self.raw, offset_bytes, data, destination.len() as u64)
        })
    }

    /// Queues a fill on a stream; `None`: the default stream.
    ///
    /// # Errors
    ///
    /// The errors of every call, such as
    /// [`ErrorKind::InvalidHandle`](crate::ErrorKind::InvalidHandle).
    ///
    /// C function: [`ferrum_memory_fill_async`](crate::sys::ferrum_memory_fill_async).
    pub fn fill_async(&self, fill: &Fill, stream: Option<&Stream>) -> Result<()> {
        let raw = sys::ferrum_fill {
            pattern_bytes: fill.pattern_bytes,
            memory: self.raw,
            offset_bytes: fill.offset_bytes,
            size_bytes: fill.size_bytes,
            pattern: fill.pattern,
            ..Default::default()
        };
        // SAFETY: raw is valid during the call.
        check(unsafe { sys::ferrum_memory_fill_async(&raw, raw_of(stream)) })
    }

    /// Frees the block.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Busy`](crate::ErrorKind::Busy) while the block is pinned or mapped: the error
    /// returns the block, which is usable as before.
    /// [`ErrorKind::Corrupted`](crate::ErrorKind::Corrupted) from a manager with debug mode, if
    /// bytes beside the block were overwritten: the block is freed and not returned. C function:
    /// [`ferrum_memory_free`](crate::sys::ferrum_memory_free).
    pub fn free(mut self) -> std::result::Result<(), Rejected<Option<Self>>> {
        // SAFETY: we own the handle, and it is not freed again.
        let freed = check(unsafe { sys::ferrum_memory_free(self.raw) });
        let Err(error) = freed else {
            self.raw = Default::default();
            return Ok(());
        };
        let object = if error.kind == ErrorKind::Corrupted {
            self.raw = Default::default();
            None
        } else {
            Some(self)
        };
        Err(Rejected::new(error, object))
    }

    /// Returns the handle and does not free the block. The owner of the handle frees it with
    /// [`ferrum_memory_free`](crate::sys::ferrum_memory_free), or creates an object from it with
    /// [`Memory::from_raw`]. The block ends at the latest with its manager.
    pub fn into_raw(mut self) -> sys::ferrum_memory {
        std::mem::take(&mut self.raw)
    }

    /// Creates a block object from a handle. The object owns the handle from then on.
    ///
    /// # Safety
    ///
    /// The handle is of a live block of the manager, and no other code frees it.
    pub unsafe fn from_raw(manager: &Manager, raw: sys::ferrum_memory) -> Self {
        Self::own(raw, manager)
    }
}

/// A range of a block to fill with a pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fill {
    /// First byte, a multiple of `pattern_bytes`.
    pub offset_bytes: u64,
    /// Bytes to fill, a multiple of `pattern_bytes`, not 0.
    pub size_bytes: u64,
    /// The pattern, in its low bytes.
    pub pattern: u32,
    /// Bytes of the pattern: 1, 2 or 4.
    pub pattern_bytes: u32,
}

/// A copy between two blocks, of one device or of two.
#[derive(Clone, Copy, Debug)]
pub struct Transfer<'a> {
    src: &'a Memory,
    dst: &'a Memory,
    size_bytes: u64,
    src_offset_bytes: u64,
    dst_offset_bytes: u64,
}

impl<'a> Transfer<'a> {
    /// From the start of one block to the start of another.
    pub fn new(src: &'a Memory, dst: &'a Memory, size_bytes: u64) -> Self {
        Self {
            src,
            dst,
            size_bytes,
            src_offset_bytes: 0,
            dst_offset_bytes: 0,
        }
    }

    /// Sets the offset in the source.
    pub fn with_src_offset(mut self, bytes: u64) -> Self {
        self.src_offset_bytes = bytes;
        self
    }

    /// Sets the offset in the destination.
    pub fn with_dst_offset(mut self, bytes: u64) -> Self {
        self.dst_offset_bytes = bytes;
        self
    }

    fn to_raw(self) -> sys::ferrum_transfer {
        sys::ferrum_transfer {
            src: self.src.raw,
            dst: self.dst.raw,
            size_bytes: self.size_bytes,
            src_offset_bytes: self.src_offset_bytes,
            dst_offset_bytes: self.dst_offset_bytes,
            ..Default::default()
        }
    }
}

impl Memory {
    /// Copies from one block to another, and returns when the copy is done.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidOffset`](crate::ErrorKind::InvalidOffset) for a range outside its block,
    /// [`ErrorKind::Overflow`](crate::ErrorKind::Overflow) if offset + size does not fit 64 bits.
    /// This call, [`ferrum_memory_write`](crate::sys::ferrum_memory_write) and
    /// [`ferrum_memory_read`](crate::sys::ferrum_memory_read) use the default stream of the device,
    /// and also return a failure of earlier work on it.
    ///
    /// C function: [`ferrum_memory_copy`](crate::sys::ferrum_memory_copy).
    pub fn copy(transfer: Transfer<'_>) -> Result<()> {
        // SAFETY: the struct is valid during the call.
        check(unsafe { sys::ferrum_memory_copy(&transfer.to_raw()) })
    }

    /// Queues a copy on a stream of the destination's device; `None`: its default stream. Both
    /// blocks keep their memory until the copy is done, also if they are dropped.
    ///
    /// # Errors
    ///
    /// The errors of every call, such as
    /// [`ErrorKind::InvalidHandle`](crate::ErrorKind::InvalidHandle).
    ///
    /// C function: [`ferrum_memory_copy_async`](crate::sys::ferrum_memory_copy_async).
    pub fn copy_async(transfer: Transfer<'_>, stream: Option<&Stream>) -> Result<()> {
        // SAFETY: the struct is valid during the call.
        check(unsafe { sys::ferrum_memory_copy_async(&transfer.to_raw(), raw_of(stream)) })
    }
}
