use std::collections::HashSet;
use std::time::Instant;

use ferrum_interfaces::memory::{
    AccessPatternType, MemoryAccess, MemoryHandle, MemoryType, MemoryUsageHint,
};
use ferrum_types::{Device, FerrumError};

use crate::support::*;

#[test]
fn test_bytes_survive_copies() {
    let engine = engine();
    let manager = engine.manager();
    let (a, b) = (
        allocate(&*manager, 1000),
        block_on(manager.allocate(1000, &OTHER)).unwrap(),
    );
    let bytes = counting(1000, 1);
    put(&*manager, a, &bytes);
    block_on(manager.copy(a, b, 900, 100, 0)).unwrap();
    assert_eq!(get(&*manager, b, 900), bytes[100..]);
    // Within a block it works like memmove.
    block_on(manager.copy(a, a, 500, 0, 250)).unwrap();
    assert_eq!(get(&*manager, a, 750)[250..], bytes[..500]);
}

#[test]
fn test_mappings_nest() {
    let engine = engine();
    let manager = engine.manager();
    let handle = allocate(&*manager, 4096);
    let is_mapped = || manager.handle_info(handle).unwrap().is_mapped;
    let map = |access| block_on(manager.map_memory(handle, access));
    let first = map(MemoryAccess::ReadWrite).unwrap();
    assert_eq!(map(MemoryAccess::ReadWrite).unwrap(), first);
    assert!(is_mapped());
    let failed = map(MemoryAccess::WriteOnly);
    assert!(matches!(failed, Err(FerrumError::ResourceExhausted { .. })));
    let failed = block_on(manager.deallocate(handle));
    assert!(
        matches!(failed, Err(FerrumError::ResourceExhausted { .. })),
        "{failed:?}"
    );
    block_on(manager.unmap_memory(handle)).unwrap();
    assert!(is_mapped());
    block_on(manager.unmap_memory(handle)).unwrap();
    assert!(!is_mapped());
    let failed = block_on(manager.unmap_memory(handle));
    assert!(
        matches!(failed, Err(FerrumError::Device { .. })),
        "{failed:?}"
    );
    block_on(manager.deallocate(handle)).unwrap();
    for failed in [
        block_on(manager.map_memory(handle, MemoryAccess::ReadOnly)).map(drop),
        block_on(manager.unmap_memory(handle)),
        block_on(manager.prefetch(handle, &Device::CPU)),
        block_on(manager.set_usage_hint(handle, MemoryUsageHint::Resident)),
    ] {
        assert!(
            matches!(failed, Err(FerrumError::NotFound { .. })),
            "{failed:?}"
        );
    }
}

#[test]
fn test_a_link_is_one_memory_of_two_devices() {
    let engine = engine();
    let manager = engine.manager();
    let (here, there) = block_on(manager.create_mapping(&Device::CPU, &OTHER, 8192)).unwrap();
    for (handle, device) in [(here, Device::CPU), (there, OTHER)] {
        let info = manager.handle_info(handle).unwrap();
        assert_eq!((info.size, info.device), (8192, device));
        assert_eq!(info.memory_type, MemoryType::Mapped);
    }
    put(&*manager, here, b"seen by both");
    assert_eq!(get(&*manager, there, 12), b"seen by both");
    block_on(manager.deallocate(here)).unwrap();
    assert_eq!(get(&*manager, there, 12), b"seen by both");
    block_on(manager.deallocate(there)).unwrap();
    nothing_left(&*manager, &Device::CPU);
    let failed = block_on(manager.create_mapping(&Device::CPU, &Device::CPU, 64));
    assert!(
        matches!(failed, Err(FerrumError::InvalidParameter { .. })),
        "{failed:?}"
    );
    let failed = block_on(manager.create_mapping(&Device::CPU, &OTHER, 0));
    assert!(
        matches!(failed, Err(FerrumError::InvalidParameter { .. })),
        "{failed:?}"
    );
    for polls in [0, 1, 2, 50] {
        let made = give_up_after(polls, manager.create_mapping(&Device::CPU, &OTHER, 64));
        if let Some(made) = made {
            let (here, there) = made.unwrap();
            block_on(manager.deallocate(there)).unwrap();
            block_on(manager.deallocate(here)).unwrap();
        }
    }
    nothing_left(&*manager, &Device::CPU);
    assert_eq!(live(&*manager, &OTHER).0, 0);
}

#[test]
fn test_accesses_are_counted() {
    let engine = engine();
    let manager = engine.manager();
    let (a, b) = (allocate(&*manager, 4096), allocate(&*manager, 4096));
    let stats = manager.access_stats(a).unwrap();
    assert_eq!((stats.read_count, stats.write_count), (0, 0));
    assert_eq!(
        (stats.avg_read_size, stats.pattern_type),
        (0, AccessPatternType::Unknown)
    );
    // Never accessed: the time of its allocation.
    assert_eq!(
        stats.last_access,
        manager.handle_info(a).unwrap().allocated_at
    );
    let before = Instant::now();
    for at in 0..16 {
        block_on(manager.copy(a, b, 256, at * 256, at * 256)).unwrap();
    }
    let (read, written) = (
        manager.access_stats(a).unwrap(),
        manager.access_stats(b).unwrap(),
    );
    assert_eq!(
        (read.read_count, read.write_count, read.avg_read_size),
        (16, 0, 256)
    );
    assert_eq!(
        (
            written.read_count,
            written.write_count,
            written.avg_write_size
        ),
        (0, 16, 256)
    );
    // A busy machine makes pauses, and pauses make bursts.
    assert!(matches!(
        read.pattern_type,
        AccessPatternType::Sequential | AccessPatternType::Mixed
    ));
    assert!(read.last_access >= before && read.last_access <= Instant::now());
    let untracked = engine.manager_with(|config| config.enable_tracking = false);
    assert!(untracked.access_stats(allocate(&*untracked, 64)).is_none());
}

#[test]
fn test_hints_and_prefetching() {
    let engine = engine();
    let manager = engine.manager();
    let handle = allocate(&*manager, MIB);
    put(&*manager, handle, b"kept");
    block_on(async {
        use MemoryUsageHint::*;
        for hint in [
            Sequential,
            Random,
            ReadMostly,
            WriteMostly,
            Temporary,
            Resident,
        ] {
            manager.set_usage_hint(handle, hint).await.unwrap();
        }
        manager.prefetch(handle, &Device::CPU).await.unwrap();
        let failed = manager.prefetch(handle, &NOWHERE).await;
        assert!(
            matches!(failed, Err(FerrumError::NotFound { .. })),
            "{failed:?}"
        );
    });
    assert_eq!(get(&*manager, handle, 4), b"kept");
}

/// Blocks that stay after many others were freed are moved together. Bytes and handles stay.
#[test]
fn test_a_defragmentation_moves_blocks() {
    let engine = engine();
    let manager = engine.manager();
    let size = 256 << 10;
    let all: Vec<MemoryHandle> = (0..64).map(|_| allocate(&*manager, size)).collect();
    let mut kept = HashSet::new();
    for (number, handle) in all.iter().enumerate() {
        if number % 8 == 0 {
            put(&*manager, *handle, &counting(size, number));
            kept.insert(number);
        } else {
            block_on(manager.deallocate(*handle)).unwrap();
        }
    }
    let mapped = block_on(manager.map_memory(all[0], MemoryAccess::ReadOnly)).unwrap();
    let stats = block_on(manager.defragment(&Device::CPU)).unwrap();
    assert!(
        stats.blocks_moved > 0 && stats.memory_freed > 0 && stats.time_taken_ms >= 1,
        "{stats:?}"
    );
    // A mapped block keeps its address.
    assert_eq!(
        block_on(manager.map_memory(all[0], MemoryAccess::ReadOnly)).unwrap(),
        mapped
    );
    block_on(manager.unmap_memory(all[0])).unwrap();
    block_on(manager.unmap_memory(all[0])).unwrap();
    for number in kept {
        assert_eq!(get(&*manager, all[number], size), counting(size, number));
    }
    let pinned = block_on(engine.factory.pin(all[8])).unwrap();
    assert_ne!(pinned, 0);
    let failed = block_on(manager.deallocate(all[8]));
    assert!(matches!(failed, Err(FerrumError::ResourceExhausted { .. })));
    engine.factory.unpin(all[8]).unwrap();
    assert!(engine.factory.unpin(all[8]).is_err());
    block_on(manager.deallocate(all[8])).unwrap();
}
