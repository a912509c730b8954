use ferrum_interfaces::memory::{
    DefragmentationStats, MemoryHandle, MemoryHandleInfo, MemoryInfo, MemoryManagerConfig,
    MemoryPoolConfig, MemoryPressure, MemoryType,
};
use ferrum_mem::{ManagerConfig, PoolConfig, PressureLevel};
use ferrum_types::{FerrumError, Result};

use crate::hub::Block;

pub(crate) fn memory_type_to(kind: MemoryType) -> ferrum_mem::MemoryType {
    match kind {
        MemoryType::General => ferrum_mem::MemoryType::General,
        MemoryType::Tensor => ferrum_mem::MemoryType::Tensor,
        MemoryType::Cache => ferrum_mem::MemoryType::Cache,
        MemoryType::Temporary => ferrum_mem::MemoryType::Temporary,
        MemoryType::Pinned => ferrum_mem::MemoryType::Pinned,
        MemoryType::Mapped => ferrum_mem::MemoryType::Mapped,
    }
}

fn memory_type_of(kind: ferrum_mem::MemoryType) -> MemoryType {
    match kind {
        ferrum_mem::MemoryType::General => MemoryType::General,
        ferrum_mem::MemoryType::Tensor => MemoryType::Tensor,
        ferrum_mem::MemoryType::Cache => MemoryType::Cache,
        ferrum_mem::MemoryType::Temporary => MemoryType::Temporary,
        ferrum_mem::MemoryType::Pinned => MemoryType::Pinned,
        // The traits have no type for managed memory. Devices share it, like mapped memory.
        _ => MemoryType::Mapped,
    }
}

pub(crate) fn pool_config(config: &MemoryPoolConfig) -> PoolConfig {
    PoolConfig {
        initial_size_bytes: Some(config.initial_size),
        max_size_bytes: config.max_size,
        growth_increment_bytes: config.growth_increment,
        alignment_bytes: Some(config.alignment as u64),
        auto_expansion: config.enable_auto_expansion,
        pre_allocate: config.pre_allocate,
        stats: config.enable_stats,
        ..Default::default()
    }
}

pub(crate) fn manager_config(config: &MemoryManagerConfig) -> Result<ManagerConfig> {
    let transfers = config.max_concurrent_transfers;
    Ok(ManagerConfig {
        tracking: config.enable_tracking,
        auto_gc: config.enable_auto_gc,
        debug: config.enable_debug,
        gc_threshold: config.gc_threshold,
        max_concurrent_transfers: u32::try_from(transfers).map_err(|_| {
            FerrumError::config(format!(
                "max_concurrent_transfers {transfers} does not fit 32 bits"
            ))
        })?,
        pools: config
            .pool_configs
            .iter()
            .map(|(kind, pool)| (memory_type_to(*kind), pool_config(pool)))
            .collect(),
    })
}

pub(crate) fn pressure_of(level: PressureLevel) -> MemoryPressure {
    match level {
        PressureLevel::Low => MemoryPressure::Low,
        PressureLevel::Medium => MemoryPressure::Medium,
        PressureLevel::High => MemoryPressure::High,
        // The traits have no higher level.
        _ => MemoryPressure::Critical,
    }
}

/// A number in the type of the traits.
pub(crate) fn count(value: u64) -> usize {
    usize::try_from(value).unwrap_or(usize::MAX)
}

pub(crate) fn memory_info(info: &ferrum_mem::MemoryInfo) -> MemoryInfo {
    MemoryInfo {
        // The traits have no word for an unknown capacity.
        total_bytes: info.total_bytes.unwrap_or(0),
        used_bytes: info.used_bytes,
        free_bytes: info.free_bytes,
        reserved_bytes: info.reserved_bytes,
        active_allocations: count(info.active_allocations),
        fragmentation_ratio: info.fragmentation_ratio,
        bandwidth_gbps: info.bandwidth_gbps,
    }
}

pub(crate) fn defragmentation(stats: &ferrum_mem::DefragmentationStats) -> DefragmentationStats {
    DefragmentationStats {
        memory_freed: stats.memory_freed_bytes,
        blocks_moved: count(stats.blocks_moved),
        time_taken_ms: whole_milliseconds(stats.time_taken.as_nanos()),
        fragmentation_before: stats.fragmentation_before,
        fragmentation_after: stats.fragmentation_after,
    }
}

/// Rounded up, so that no duration becomes 0.
pub(crate) fn whole_milliseconds(nanoseconds: u128) -> u64 {
    u64::try_from(nanoseconds.div_ceil(1_000_000)).unwrap_or(u64::MAX)
}

pub(crate) fn handle_info(block: &Block, info: &ferrum_mem::BlockInfo) -> MemoryHandleInfo {
    MemoryHandleInfo {
        handle: MemoryHandle(block.memory.raw().id),
        size: count(info.size_bytes),
        device: block.device.clone(),
        alignment: count(info.alignment_bytes),
        allocated_at: block.at,
        is_mapped: info.is_mapped,
        memory_type: memory_type_of(info.memory_type),
    }
}
