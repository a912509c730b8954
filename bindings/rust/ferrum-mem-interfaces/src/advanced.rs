use async_trait::async_trait;
use ferrum_interfaces::memory::{
    AccessPatternType, AdvancedMemoryManager, MemoryAccess, MemoryAccessStats, MemoryHandle,
    MemoryUsageHint,
};
use ferrum_mem::{sys, AccessPattern, LinkRequest, UsageHint};
use ferrum_types::{Device, Result};

use crate::config::count;
use crate::error::{check, error_of};
use crate::hub::Hub;
use crate::manager::FerrumMemoryManager;

fn access_to(access: MemoryAccess) -> sys::ferrum_host_access {
    match access {
        MemoryAccess::ReadOnly => sys::FERRUM_HOST_READ_ONLY,
        MemoryAccess::WriteOnly => sys::FERRUM_HOST_WRITE_ONLY,
        MemoryAccess::ReadWrite => sys::FERRUM_HOST_READ_WRITE,
    }
}

fn hint_to(hint: MemoryUsageHint) -> UsageHint {
    match hint {
        MemoryUsageHint::Sequential => UsageHint::Sequential,
        MemoryUsageHint::Random => UsageHint::Random,
        MemoryUsageHint::ReadMostly => UsageHint::ReadMostly,
        MemoryUsageHint::WriteMostly => UsageHint::WriteMostly,
        MemoryUsageHint::Temporary => UsageHint::Temporary,
        MemoryUsageHint::Resident => UsageHint::Resident,
    }
}

fn pattern_of(pattern: AccessPattern) -> AccessPatternType {
    match pattern {
        AccessPattern::Sequential => AccessPatternType::Sequential,
        AccessPattern::Random => AccessPatternType::Random,
        AccessPattern::Burst => AccessPatternType::Burst,
        AccessPattern::Mixed => AccessPatternType::Mixed,
        _ => AccessPatternType::Unknown,
    }
}

/// A mapping on its way to the caller. It ends if the caller's future is dropped.
struct Mapped {
    memory: sys::ferrum_memory,
    id: u64,
    address: usize,
}

impl Drop for Mapped {
    fn drop(&mut self) {
        // SAFETY: takes only numbers.
        unsafe { sys::ferrum_memory_unmap(self.memory, self.id) };
    }
}

fn map(hub: &Hub, handle: MemoryHandle, access: MemoryAccess) -> Result<Mapped> {
    let block = hub.block(handle)?;
    let request = sys::ferrum_map_request {
        access: access_to(access),
        memory: block.memory.raw(),
        ..sys::ferrum_map_request::INIT
    };
    let mut mapping = sys::ferrum_mapping::INIT;
    // SAFETY: the request is valid during the call, mapping is an output of it.
    check(unsafe { sys::ferrum_memory_map(&request, &mut mapping) })?;
    Ok(Mapped {
        memory: block.memory.raw(),
        id: mapping.mapping_id,
        address: mapping.host_pointer as usize,
    })
}

#[async_trait]
impl AdvancedMemoryManager for FerrumMemoryManager {
    /// Maps the whole block after the work that is queued on the streams that have used it.
    /// Mappings with the same access nest: they return the same pointer, and need as many calls of
    /// `unmap_memory`. A mapped block is neither moved nor freed.
    async fn map_memory(&self, handle: MemoryHandle, access: MemoryAccess) -> Result<*mut u8> {
        let hub = self.inner.hub.clone();
        // On a worker, because it waits for the streams.
        let call = move || map(&hub, handle, access);
        let mapped = self.inner.hub.workers.run(call).await?;
        let address = mapped.address;
        // From here on the caller ends it.
        std::mem::forget(mapped);
        Ok(address as *mut u8)
    }

    /// Ends the newest mapping. If the future is dropped, a call that has begun runs to its end.
    async fn unmap_memory(&self, handle: MemoryHandle) -> Result<()> {
        let hub = self.inner.hub.clone();
        let call = move || {
            let block = hub.block(handle)?;
            // SAFETY: takes only numbers.
            check(unsafe { sys::ferrum_memory_unmap(block.memory.raw(), 0) })
        };
        // On a worker, because a staging copy is written back.
        self.inner.hub.workers.run(call).await
    }

    /// The counters of the source device include the memory. It is freed when both blocks are
    /// freed.
    async fn create_mapping(
        &self,
        src_device: &Device,
        dst_device: &Device,
        size: usize,
    ) -> Result<(MemoryHandle, MemoryHandle)> {
        let inner = &self.inner;
        let first = inner.part(src_device).await?;
        let second = inner.part(dst_device).await?;
        let request = LinkRequest {
            size_bytes: size as u64,
            ..Default::default()
        };
        let (owner, devices) = (inner.clone(), (src_device.clone(), dst_device.clone()));
        let call = move || {
            let made = first.manager.create_mapping(&second.manager, &request);
            let (here, there) = made.map_err(error_of)?;
            Ok((
                owner.block(here, devices.0, &first)?,
                owner.block(there, devices.1, &second)?,
            ))
        };
        let (here, there) = inner.hub.workers.run(call).await?;
        Ok((inner.hub.insert(here), inner.hub.insert(there)))
    }

    /// Queued on the default stream of the block's device.
    async fn prefetch(&self, handle: MemoryHandle, target_device: &Device) -> Result<()> {
        let target = self.inner.hub.opened(target_device).await?;
        let call = move |hub: &Hub| {
            let block = hub.block(handle)?;
            block.memory.prefetch(&target, None).map_err(error_of)
        };
        self.inner.hub.unmoved(call).await
    }

    /// Also `None` without `enable_tracking`. For a block that was never accessed, `last_access` is
    /// the time of its allocation, and every number is 0.
    fn access_stats(&self, handle: MemoryHandle) -> Option<MemoryAccessStats> {
        let block = self.inner.hub.block(handle).ok()?;
        let stats = block.memory.access_stats().ok()??;
        let last = stats.last_access.unwrap_or(block.at_library);
        Some(MemoryAccessStats {
            read_count: stats.read_count,
            write_count: stats.write_count,
            avg_read_size: count(stats.average_read_bytes.unwrap_or(0)),
            avg_write_size: count(stats.average_write_bytes.unwrap_or(0)),
            last_access: block.at + last.saturating_sub(block.at_library),
            pattern_type: pattern_of(stats.pattern),
        })
    }

    /// A hint replaces an earlier one of the same kind: order, direction, lifetime.
    async fn set_usage_hint(&self, handle: MemoryHandle, hint: MemoryUsageHint) -> Result<()> {
        let call = move |hub: &Hub| {
            let block = hub.block(handle)?;
            let hint = hint_to(hint);
            block.memory.set_usage_hint(hint).map_err(error_of)
        };
        self.inner.hub.unmoved(call).await
    }
}
