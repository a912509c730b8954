use ferrum_interfaces::memory::{
    MemoryHandle, MemoryManagerConfig, MemoryManagerFactory, MemoryPoolConfig, MemoryPressure,
    MemoryTransfer, MemoryType,
};
use ferrum_types::{Device, FerrumError};
use std::sync::mpsc::channel;
use std::time::Instant;

use crate::support::*;

#[test]
fn test_blocks_are_allocated_and_freed() {
    let engine = engine();
    let manager = engine.manager();
    let before = Instant::now();
    let handle = allocate(&*manager, 1000);
    assert!(handle.is_valid());
    let info = manager.handle_info(handle).unwrap();
    assert_eq!((info.handle, info.size), (handle, 1000));
    assert_eq!(
        (info.device, info.memory_type),
        (Device::CPU, MemoryType::General)
    );
    assert!(info.allocated_at >= before && info.allocated_at <= Instant::now());
    assert!(!info.is_mapped && info.alignment >= 256);
    let aligned = block_on(manager.allocate_aligned(10, 1 << 16, &OTHER)).unwrap();
    let info = manager.handle_info(aligned).unwrap();
    assert_eq!((info.device, info.alignment >= 1 << 16), (OTHER, true));
    assert_eq!(live(&*manager, &Device::CPU).0, 1);
    assert_eq!(live(&*manager, &OTHER).0, 1);
    for handle in [handle, aligned] {
        block_on(manager.deallocate(handle)).unwrap();
        assert!(manager.handle_info(handle).is_none());
    }
    assert_eq!(live(&*manager, &Device::CPU), (0, 0));
    assert_eq!(live(&*manager, &OTHER), (0, 0));
    let info = block_on(manager.memory_info(&OTHER)).unwrap();
    assert_eq!(info.total_bytes, CAPACITY as u64);
    assert_eq!(info.pressure_level(), MemoryPressure::Low);
    assert_eq!(info.bandwidth_gbps, None);
}

#[test]
fn test_bad_arguments_name_what_was_wrong() {
    let engine = engine();
    let manager = engine.manager();
    for (size, alignment, device, expected) in [
        (0, 1, &Device::CPU, "size_bytes"),
        (1, 0, &Device::CPU, "alignment 0"),
        (1, 3, &Device::CPU, "3"),
        (usize::MAX, 1, &Device::CPU, "18446744073709551615"),
    ] {
        match block_on(manager.allocate_aligned(size, alignment, device)) {
            Err(FerrumError::InvalidParameter { message }) => {
                assert!(message.contains(expected), "{message}");
            }
            other => panic!("{size}, {alignment}: {other:?}"),
        }
    }
    match block_on(manager.allocate(CAPACITY + 1, &Device::CPU)) {
        Err(error @ FerrumError::ResourceExhausted { .. }) => {
            assert!(error.is_retryable());
            assert!(
                error.to_string().contains("FERRUM_ERROR_OUT_OF_MEMORY"),
                "{error}"
            );
        }
        other => panic!("{other:?}"),
    }
    for failed in [
        block_on(manager.allocate(1, &NOWHERE)).map(drop),
        block_on(manager.memory_info(&NOWHERE)).map(drop),
        block_on(manager.defragment(&NOWHERE)).map(drop),
        block_on(manager.configure_pool(&NOWHERE, small())),
    ] {
        match failed {
            Err(FerrumError::NotFound { message }) => {
                assert!(message.contains("cuda:7"), "{message}")
            }
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(live(&*manager, &Device::CPU), (0, 0));
}

#[test]
fn test_wrong_handles_are_errors() {
    let engine = engine();
    let (manager, streams) = (engine.manager(), engine.streams());
    let good = allocate(&*manager, 64);
    let dead = allocate(&*manager, 64);
    block_on(manager.deallocate(dead)).unwrap();
    let stream = block_on(streams.create_stream(&Device::CPU)).unwrap();
    let others = [
        0,
        1,
        u64::MAX,
        u64::MAX - 1,
        good.0 ^ 1,
        good.0 ^ (1 << 40),
        stream.0,
    ];
    for wrong in others.map(MemoryHandle).into_iter().chain([dead]) {
        assert!(manager.handle_info(wrong).is_none());
        assert!(manager.access_stats(wrong).is_none());
        let (to, from) = (
            MemoryTransfer::new(good, wrong, 1),
            MemoryTransfer::new(wrong, good, 1),
        );
        for failed in [
            block_on(manager.deallocate(wrong)),
            block_on(manager.copy(wrong, good, 1, 0, 0)),
            block_on(manager.copy(good, wrong, 1, 0, 0)),
            block_on(manager.copy_async(to, None)),
            block_on(manager.copy_async(from, Some(stream))),
        ] {
            match failed {
                Err(FerrumError::NotFound { message }) => {
                    assert!(message.contains(&format!("{:#x}", wrong.0)), "{message}");
                }
                other => panic!("{wrong:?}: {other:?}"),
            }
        }
    }
    assert_eq!(live(&*manager, &Device::CPU).0, 1);
}

#[test]
fn test_handles_are_valid_in_one_factory_only() {
    let engine = engine();
    let (first, second) = (engine.manager(), engine.manager());
    let handle = allocate(&*first, 64);
    let into = allocate(&*second, 64);
    block_on(second.copy(handle, into, 64, 0, 0)).unwrap();
    let stranger = engine.stranger();
    let config = MemoryManagerConfig::default();
    let stranger = block_on(stranger.create_memory_manager(&Device::CPU, &config)).unwrap();
    assert!(stranger.handle_info(handle).is_none());
    let failed = block_on(stranger.deallocate(handle));
    assert!(matches!(failed, Err(FerrumError::NotFound { .. })));
    block_on(second.deallocate(handle)).unwrap();
    assert!(first.handle_info(handle).is_none());
}

#[test]
fn test_ranges_of_copies() {
    let engine = engine();
    let manager = engine.manager();
    let (a, b) = (allocate(&*manager, 100), allocate(&*manager, 50));
    for (size, from, to) in [
        (0, 0, 0),
        (51, 0, 0),
        (50, 51, 0),
        (50, 0, 1),
        (1, usize::MAX, 0),
        (1, 0, usize::MAX),
    ] {
        let transfer = MemoryTransfer::new(a, b, size)
            .with_src_offset(from)
            .with_dst_offset(to);
        for failed in [
            block_on(manager.copy(a, b, size, from, to)),
            block_on(manager.copy_async(transfer, None)),
        ] {
            assert!(
                matches!(failed, Err(FerrumError::InvalidParameter { .. })),
                "{size} from {from} to {to}: {failed:?}"
            );
        }
    }
    block_on(manager.copy(a, b, 50, 50, 0)).unwrap();
    // Rejected ranges have released their transfer slots and streams.
    for _ in 0..20 {
        block_on(manager.copy(a, b, 1, 99, 49)).unwrap();
    }
}

#[test]
fn test_pools_are_configured() {
    let engine = engine();
    let manager = engine.manager();
    let bounded = MemoryPoolConfig {
        max_size: Some(16 * MIB as u64),
        ..small()
    };
    block_on(manager.configure_pool(&Device::CPU, bounded.clone())).unwrap();
    let failed = block_on(manager.allocate(32 * MIB, &Device::CPU));
    assert!(matches!(failed, Err(FerrumError::ResourceExhausted { .. })));
    // The other device still has its first settings.
    block_on(manager.allocate(32 * MIB, &OTHER)).unwrap();
    for wrong in [
        MemoryPoolConfig {
            alignment: 3,
            ..small()
        },
        MemoryPoolConfig {
            max_size: Some(1),
            ..small()
        },
        MemoryPoolConfig {
            growth_increment: 0,
            ..small()
        },
    ] {
        let failed = block_on(manager.configure_pool(&Device::CPU, wrong));
        assert!(
            matches!(
                failed,
                Err(FerrumError::Config { .. } | FerrumError::InvalidParameter { .. })
            ),
            "{failed:?}"
        );
    }
    let failed = block_on(manager.allocate(32 * MIB, &Device::CPU));
    assert!(matches!(failed, Err(FerrumError::ResourceExhausted { .. })));
}

#[test]
fn test_factory_rejects_invalid_settings() {
    let engine = engine();
    let factory: &dyn MemoryManagerFactory = &engine.factory;
    let with = |change: fn(&mut MemoryManagerConfig)| {
        let mut config = MemoryManagerConfig::default();
        change(&mut config);
        block_on(factory.create_memory_manager(&Device::CPU, &config)).err()
    };
    let refused = [
        with(|config| config.gc_threshold = f32::NAN),
        with(|config| config.gc_threshold = 1.5),
        with(|config| config.max_concurrent_transfers = 0),
        with(|config| config.max_concurrent_transfers = usize::MAX),
    ];
    for error in refused {
        assert!(
            matches!(error, Some(FerrumError::Config { .. })),
            "{error:?}"
        );
    }
    let config = MemoryManagerConfig::default();
    let failed = block_on(factory.create_memory_manager(&NOWHERE, &config)).err();
    assert!(
        matches!(failed, Some(FerrumError::NotFound { .. })),
        "{failed:?}"
    );
    assert!(block_on(factory.create_stream_manager(&NOWHERE)).is_err());
}

#[test]
fn test_pressure_callback() {
    let engine = engine();
    let manager = engine.manager();
    let (tell, hear) = channel();
    manager.set_pressure_callback(Box::new(|_| panic!("it was replaced")));
    manager.set_pressure_callback(Box::new(move |level| {
        let _ = tell.send(level);
    }));
    let first = allocate(&*manager, 190 * MIB);
    assert_eq!(hear.recv().unwrap(), MemoryPressure::Medium);
    // A device that is opened later counts too.
    let second = block_on(manager.allocate(250 * MIB, &OTHER)).unwrap();
    assert_eq!(hear.recv().unwrap(), MemoryPressure::Critical);
    block_on(manager.deallocate(first)).unwrap();
    block_on(manager.deallocate(second)).unwrap();
    drop(manager);
    assert!(hear.iter().all(|level| level < MemoryPressure::Critical));
}

#[test]
fn test_blocks_end_with_their_manager() {
    let engine = engine();
    let (manager, other) = (engine.manager(), engine.manager());
    let handle = allocate(&*manager, MIB);
    block_on(manager.allocate(MIB, &OTHER)).unwrap();
    let kept = allocate(&*other, MIB);
    drop(manager);
    assert!(other.handle_info(handle).is_none());
    assert!(other.handle_info(kept).is_some());
    assert_eq!(live(&*other, &Device::CPU).0, 1);
    assert_eq!(live(&*other, &OTHER), (0, 0));
}
