//! Futures that are dropped before they are done, at every reachable point. Afterwards nothing is
//! left and every part still works.

use std::sync::atomic::{AtomicUsize, Ordering};

use ferrum_interfaces::memory::{
    AdvancedMemoryManager, DeviceMemoryManager, MemoryAccess, MemoryHandle, MemoryTransfer,
};
use ferrum_types::Device;

use crate::support::*;

/// How often a future is polled before it is dropped: from never to more often than most need.
const POLLS: [usize; 5] = [0, 1, 2, 5, 200];

fn settled(manager: &dyn DeviceMemoryManager, blocks: usize) {
    eventually("the books are right", || {
        live(manager, &Device::CPU).0 == blocks
    });
}

#[test]
fn test_a_dropped_allocation_leaves_no_block() {
    let engine = engine();
    let manager = engine.manager();
    let mut kept = Vec::new();
    for round in 0..200 {
        let polls = POLLS[round % POLLS.len()];
        let call = manager.allocate(1000 + round, &Device::CPU);
        kept.extend(give_up_after(polls, call).map(Result::unwrap));
    }
    settled(&*manager, kept.len());
    assert!(kept
        .iter()
        .all(|handle| manager.handle_info(*handle).is_some()));
    for handle in kept {
        block_on(manager.deallocate(handle)).unwrap();
    }
    settled(&*manager, 0);
    assert_eq!(live(&*manager, &Device::CPU).1, 0);
}

#[test]
fn test_a_dropped_deallocation_is_done_or_not_begun() {
    let engine = engine();
    let manager = engine.manager();
    for round in 0..100 {
        let handle = allocate(&*manager, 4096);
        let done = give_up_after(POLLS[round % POLLS.len()], manager.deallocate(handle));
        if done.is_none() && manager.handle_info(handle).is_some() {
            block_on(manager.deallocate(handle)).unwrap();
        }
        assert!(manager.handle_info(handle).is_none());
    }
    settled(&*manager, 0);
}

fn copies(manager: &dyn AdvancedMemoryManager, size: usize) -> (MemoryHandle, MemoryHandle) {
    let (from, to) = (allocate(manager, size), allocate(manager, size));
    put(manager, from, &counting(size, 5));
    (from, to)
}

#[test]
fn test_dropped_copy_releases_its_slot() {
    let engine = engine();
    let manager = engine.manager_with(|config| config.max_concurrent_transfers = 2);
    let size = 2 * MIB;
    let (from, to) = copies(&*manager, size);
    for round in 0..60 {
        let polls = POLLS[round % POLLS.len()];
        if round % 2 == 0 {
            give_up_after(polls, manager.copy(from, to, size, 0, 0));
        } else {
            let transfer = MemoryTransfer::new(from, to, size);
            give_up_after(polls, manager.copy_async(transfer, None));
        }
    }
    block_on(manager.copy(from, to, size, 0, 0)).unwrap();
    assert_eq!(get(&*manager, to, size), counting(size, 5));
    // Blocks may be freed while their copies are in flight.
    for round in 0..40 {
        let (from, to) = (allocate(&*manager, size), allocate(&*manager, size));
        give_up_after(round % 3, manager.copy(from, to, size, 0, 0));
        block_on(manager.deallocate(from)).unwrap();
        block_on(manager.deallocate(to)).unwrap();
    }
    settled(&*manager, 2);
    block_on(manager.deallocate(from)).unwrap();
    block_on(manager.deallocate(to)).unwrap();
    nothing_left(&*manager, &Device::CPU);
}

#[test]
fn test_dropped_waits_for_streams() {
    let engine = engine();
    let (manager, streams) = (engine.manager(), engine.streams());
    let size = 4 * MIB;
    let (from, to) = copies(&*manager, size);
    for round in 0..30 {
        let polls = POLLS[round % POLLS.len()];
        let stream = block_on(streams.create_stream(&Device::CPU)).unwrap();
        let transfer = MemoryTransfer::new(from, to, size);
        block_on(manager.copy_async(transfer, Some(stream))).unwrap();
        give_up_after(polls, streams.synchronize_stream(stream));
        if give_up_after(polls, streams.destroy_stream(stream)).is_none() {
            // Its handle is invalid after a poll, and valid without one.
            let destroyed = block_on(streams.destroy_stream(stream));
            assert_eq!(destroyed.is_ok(), polls == 0);
        }
    }
    // Streams with work when their manager is dropped.
    for _ in 0..4 {
        let stream = block_on(streams.create_stream(&Device::CPU)).unwrap();
        let transfer = MemoryTransfer::new(from, to, size);
        block_on(manager.copy_async(transfer, Some(stream))).unwrap();
    }
    drop(streams);
    block_on(manager.deallocate(from)).unwrap();
    assert_eq!(get(&*manager, to, size), counting(size, 5));
    block_on(manager.deallocate(to)).unwrap();
    nothing_left(&*manager, &Device::CPU);
}

#[test]
fn test_dropped_mappings_and_collections() {
    let engine = engine();
    let manager = engine.manager();
    let handle = allocate(&*manager, 4096);
    put(&*manager, handle, b"kept");
    let mapped = AtomicUsize::new(0);
    for round in 0..60 {
        let polls = POLLS[round % POLLS.len()];
        let call = async {
            manager
                .map_memory(handle, MemoryAccess::ReadOnly)
                .await
                .unwrap();
            mapped.fetch_add(1, Ordering::SeqCst);
        };
        give_up_after(polls, call);
        give_up_after(polls, manager.defragment(&Device::CPU));
        give_up_after(polls, manager.prefetch(handle, &Device::CPU));
    }
    // A mapping whose future was dropped ends.
    for _ in 0..mapped.into_inner() {
        block_on(manager.unmap_memory(handle)).unwrap();
    }
    eventually("nothing is mapped", || {
        manager
            .handle_info(handle)
            .is_some_and(|info| !info.is_mapped)
    });
    assert_eq!(get(&*manager, handle, 4), b"kept");
    // A call whose future was dropped may still run, and map the block once more.
    eventually("the block is given back", || {
        block_on(manager.deallocate(handle)).is_ok()
    });
    settled(&*manager, 0);
}

/// Everything is dropped just after futures were dropped.
#[test]
fn test_managers_are_dropped_with_work_in_flight() {
    let engine = engine();
    let witness = engine.manager();
    for round in 0..20 {
        let manager = engine.manager();
        let size = 2 * MIB;
        let (from, to) = (allocate(&*manager, size), allocate(&*manager, size));
        give_up_after(round % 4, manager.copy(from, to, size, 0, 0));
        give_up_after(round % 4, manager.allocate(size, &Device::CPU));
        give_up_after(round % 4, manager.defragment(&Device::CPU));
        drop(manager);
    }
    nothing_left(&*witness, &Device::CPU);
}
