use ferrum_interfaces::memory::{EventHandle, MemoryTransfer, StreamHandle};
use ferrum_types::{Device, FerrumError};

use crate::support::*;

#[test]
fn test_streams_are_created_and_destroyed() {
    let engine = engine();
    let streams = engine.streams();
    let stream = block_on(streams.create_stream(&Device::CPU)).unwrap();
    assert!(block_on(streams.is_stream_ready(stream)).unwrap());
    block_on(streams.synchronize_stream(stream)).unwrap();
    block_on(streams.destroy_stream(stream)).unwrap();
    let wrong = [stream, StreamHandle(1), StreamHandle(u64::MAX)];
    let event = block_on(streams.record_event(StreamHandle::default())).unwrap();
    for wrong in wrong {
        for failed in [
            block_on(streams.destroy_stream(wrong)),
            block_on(streams.synchronize_stream(wrong)),
            block_on(streams.is_stream_ready(wrong)).map(drop),
            block_on(streams.record_event(wrong)).map(drop),
            block_on(streams.wait_event(wrong, event)),
        ] {
            match failed {
                Err(FerrumError::NotFound { message }) => {
                    assert!(message.contains(&format!("{:#x}", wrong.0)), "{message}");
                }
                other => panic!("{wrong:?}: {other:?}"),
            }
        }
    }
    let failed = block_on(streams.create_stream(&NOWHERE));
    assert!(matches!(failed, Err(FerrumError::NotFound { .. })));
}

#[test]
fn test_default_streams() {
    let engine = engine();
    let (streams, again) = (engine.streams(), engine.streams());
    let stream = streams.default_stream(&Device::CPU);
    assert_eq!(stream, again.default_stream(&Device::CPU));
    assert_ne!(stream, streams.default_stream(&OTHER));
    block_on(streams.synchronize_stream(stream)).unwrap();
    let failed = block_on(streams.destroy_stream(stream));
    assert!(matches!(failed, Err(FerrumError::InvalidParameter { .. })));
    assert!(block_on(streams.is_stream_ready(StreamHandle::default())).unwrap());
    let nowhere = streams.default_stream(&NOWHERE);
    let failed = block_on(streams.synchronize_stream(nowhere));
    assert!(matches!(failed, Err(FerrumError::NotFound { .. })));
}

#[test]
fn test_unknown_events_are_rejected() {
    let engine = engine();
    let streams = engine.streams();
    let stream = block_on(streams.create_stream(&Device::CPU)).unwrap();
    let event = block_on(streams.record_event(stream)).unwrap();
    let wrong = [0, 1, u64::MAX, stream.0, event.0 + 1, event.0 ^ (1 << 63)];
    for wrong in wrong.map(EventHandle) {
        let failed = block_on(streams.wait_event(stream, wrong));
        assert!(
            matches!(failed, Err(FerrumError::NotFound { .. })),
            "{wrong:?}"
        );
    }
    block_on(streams.wait_event(stream, event)).unwrap();
}

/// Far more events than the table keeps: all handles stay valid.
#[test]
fn test_completed_events_stay_valid() {
    let engine = engine();
    let streams = engine.streams();
    let stream = block_on(streams.create_stream(&Device::CPU)).unwrap();
    let events: Vec<_> = (0..1000)
        .map(|_| block_on(streams.record_event(stream)).unwrap())
        .collect();
    block_on(streams.synchronize_stream(stream)).unwrap();
    for event in &events {
        block_on(streams.wait_event(stream, *event)).unwrap();
    }
    block_on(streams.synchronize_stream(stream)).unwrap();
    let mut distinct = events.clone();
    distinct.sort_unstable_by_key(|event| event.0);
    distinct.dedup();
    assert_eq!(distinct.len(), events.len());
}

#[test]
fn test_work_of_two_streams_in_order() {
    let engine = engine();
    let (manager, streams) = (engine.manager(), engine.streams());
    let size = 8 * MIB;
    let blocks: Vec<_> = (0..3).map(|_| allocate(&*manager, size)).collect();
    let bytes = counting(size, 3);
    put(&*manager, blocks[0], &bytes);
    let first = block_on(streams.create_stream(&Device::CPU)).unwrap();
    let second = block_on(streams.create_stream(&Device::CPU)).unwrap();
    block_on(async {
        let there = MemoryTransfer::new(blocks[0], blocks[1], size);
        manager.copy_async(there, Some(first)).await.unwrap();
        let event = streams.record_event(first).await.unwrap();
        streams.wait_event(second, event).await.unwrap();
        let on = MemoryTransfer::new(blocks[1], blocks[2], size);
        manager.copy_async(on, Some(second)).await.unwrap();
        streams.synchronize_stream(second).await.unwrap();
        assert!(streams.is_stream_ready(second).await.unwrap());
        streams.destroy_stream(first).await.unwrap();
    });
    assert_eq!(get(&*manager, blocks[2], size), bytes);
}

#[test]
fn test_a_stream_is_of_the_destinations_device() {
    let engine = engine();
    let (manager, streams) = (engine.manager(), engine.streams());
    let here = allocate(&*manager, 64);
    let there = block_on(manager.allocate(64, &OTHER)).unwrap();
    put(&*manager, here, b"across");
    let stream = block_on(streams.create_stream(&OTHER)).unwrap();
    let transfer = MemoryTransfer::new(here, there, 6);
    block_on(manager.copy_async(transfer, Some(stream))).unwrap();
    block_on(streams.synchronize_stream(stream)).unwrap();
    assert_eq!(get(&*manager, there, 6), b"across");
    let back = MemoryTransfer::new(there, here, 6);
    let failed = block_on(manager.copy_async(back, Some(stream)));
    assert!(
        matches!(failed, Err(FerrumError::InvalidParameter { .. })),
        "{failed:?}"
    );
}

#[test]
fn test_many_copies_wait_for_transfer_slots() {
    let engine = engine();
    let manager = engine.manager_with(|config| config.max_concurrent_transfers = 1);
    let streams = engine.streams();
    let (a, b) = (allocate(&*manager, MIB), allocate(&*manager, MIB));
    put(&*manager, a, &counting(MIB, 1));
    let several: Vec<_> = (0..4)
        .map(|_| block_on(streams.create_stream(&Device::CPU)).unwrap())
        .collect();
    block_on(async {
        for round in 0..40 {
            let transfer = MemoryTransfer::new(a, b, MIB);
            manager
                .copy_async(transfer, Some(several[round % 4]))
                .await
                .unwrap();
        }
        for stream in several {
            streams.destroy_stream(stream).await.unwrap();
        }
    });
    assert_eq!(get(&*manager, b, MIB), counting(MIB, 1));
}
