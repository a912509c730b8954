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

/// A mapping on its way to the caller: ended when that has gone.
struct Mapped {
    memory: sys::ferrum_memory,
    id: u64,
    address: usize,
}

impl Drop for Mapped {
    fn drop(&mut self) {
        // SAFETY: plain values.
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
    // SAFETY: the request lives through the call, mapping is an output of it.
    check(unsafe { sys::ferrum_memory_map(&request, &mut mapping) })?;
    Ok(Mapped {
        memory: block.memory.raw(),
        id: mapping.mapping_id,
        address: mapping.host_pointer as usize,
    })
}

#[async_trait]
impl AdvancedMemoryManager for FerrumMemoryManager {
    /// The whole block, after what is queued on the streams that have used it. The same
    /// access nests: it gives the same pointer, and wants as many calls of
    /// `unmap_memory`. While it is mapped a block is neither moved nor given back.
    async fn map_memory(&self, handle: MemoryHandle, access: MemoryAccess) -> Result<*mut u8> {
        let hub = self.inner.hub.clone();
        // On a worker: it waits for the streams.
        let call = move || map(&hub, handle, access);
        let mapped = self.inner.hub.workers.run(call).await?;
        let address = mapped.address;
        // From here on it is the caller's to end.
        std::mem::forget(mapped);
        Ok(address as *mut u8)
    }

    /// Ends the mapping that was made last. When the future is dropped, one that has
    /// begun is finished.
    async fn unmap_memory(&self, handle: MemoryHandle) -> Result<()> {
        let hub = self.inner.hub.clone();
        let call = move || {
            let block = hub.block(handle)?;
            // SAFETY: plain values.
            check(unsafe { sys::ferrum_memory_unmap(block.memory.raw(), 0) })
        };
        // On a worker: what is mapped by a copy is written back.
        self.inner.hub.workers.run(call).await
    }

    /// The memory counts as the source device's, and is free when both blocks are.
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

    /// None also without `enable_tracking`. Of a block that was never accessed
    /// `last_access` is the time of its allocation, and every number 0.
    fn access_stats(&self, handle: MemoryHandle) -> Option<MemoryAccessStats> {
        let block = self.inner.hub.block(handle).ok()?;
        let stats = block.memory.access_stats().ok()??;
        let last = stats.last_access.unwrap_or(block.at_library);
        Some(MemoryAccessStats {
            read_count: stats.read_count,
            write_count: stats.write_count,
            avg_read_size: count(stats.average_read_bytes),
            avg_write_size: count(stats.average_write_bytes),
            last_access: block.at + last.saturating_sub(block.at_library),
            pattern_type: pattern_of(stats.pattern),
        })
    }

    /// A hint takes the place of an earlier one of the same kind: order, direction,
    /// lifetime.
    async fn set_usage_hint(&self, handle: MemoryHandle, hint: MemoryUsageHint) -> Result<()> {
        let call = move |hub: &Hub| {
            let block = hub.block(handle)?;
            let hint = hint_to(hint);
            block.memory.set_usage_hint(hint).map_err(error_of)
        };
        self.inner.hub.unmoved(call).await
    }
}
