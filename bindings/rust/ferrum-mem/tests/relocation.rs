//! Relocatable blocks, and pins, with the real library.

use std::time::Duration;

use ferrum_mem::{
    AllocationRequest, Config, Device, ErrorKind, HostAccess, Library, Manager, ManagerConfig,
    Memory, MemoryType, Paging, PoolConfig, Rejected,
};

const KIB: u64 = 1 << 10;
const PAGE: u64 = 64 * KIB;

fn manager(paging: Paging) -> Manager {
    let config = Config {
        host_devices: Some(1),
        host_memory_bytes: Some(256 << 20),
        ..Default::default()
    };
    let library = Library::start_with(&config).unwrap();
    let pool = PoolConfig {
        initial_size_bytes: Some(PAGE),
        growth_increment_bytes: PAGE,
        paging,
        physical_page_bytes: Some(PAGE),
        ..Default::default()
    };
    Device::open(&library, "cpu:0")
        .unwrap()
        .create_manager(&ManagerConfig {
            pools: vec![(MemoryType::General, pool)],
            ..Default::default()
        })
        .unwrap()
}

/// Every fourth of 64 blocks of 4 KiB stays, in four pages or segments.
fn scatter(manager: &Manager) -> Vec<Memory> {
    let request = AllocationRequest {
        size_bytes: 4 * KIB,
        relocatable: true,
        ..Default::default()
    };
    let all: Vec<_> = (0..64)
        .map(|_| manager.alloc_with(&request).unwrap())
        .collect();
    let left: Vec<_> = all
        .into_iter()
        .enumerate()
        .filter_map(|(i, block)| (i % 4 == 0).then_some(block))
        .collect();
    for (i, block) in left.iter().enumerate() {
        block.write(0, &[i as u8; 4 * KIB as usize]).unwrap();
    }
    left
}

fn assert_intact(left: &[Memory]) {
    for (i, block) in left.iter().enumerate() {
        let mut back = [255; 4 * KIB as usize];
        block.read(0, &mut back).unwrap();
        assert!(back.iter().all(|byte| *byte == i as u8));
    }
}

#[test]
fn blocks_move_unless_they_are_pinned() {
    for paging in [Paging::On, Paging::Off] {
        let manager = manager(paging);
        let left = scatter(&manager);
        assert!(left[0].info().unwrap().is_relocatable);
        let none = manager.defragment_within(Some(Duration::ZERO)).unwrap();
        assert!(none.budget_ended);
        assert_eq!(none.skipped_over_budget, 16);
        assert_eq!((none.blocks_moved, none.blocks_skipped), (0, 16));
        {
            let pins: Vec<_> = left.iter().map(|block| block.pin().unwrap()).collect();
            let again = left[5].pin().unwrap();
            assert_eq!(again.address(), pins[5].address());
            assert_eq!(left[5].info().unwrap().pin_count, 2);
            assert_eq!(manager.defragment().unwrap().skipped_pinned, 16);
            for (block, pin) in left.iter().zip(&pins) {
                assert_eq!(block.info().unwrap().address, pin.address());
            }
        }
        assert_eq!(left[5].info().unwrap().pin_count, 0);
        {
            let _mapped: Vec<_> = left
                .iter()
                .map(|block| block.map(HostAccess::ReadOnly).unwrap())
                .collect();
            assert_eq!(manager.defragment().unwrap().skipped_mapped, 16);
        }
        let done = manager.defragment().unwrap();
        assert_eq!((done.blocks_moved, done.blocks_kept), (12, 4));
        assert_eq!(done.bytes_moved, 12 * 4 * KIB);
        assert_eq!(done.pages_emptied + done.segments_emptied, 3);
        assert_eq!(done.pages_emptied == 3, paging == Paging::On);
        assert!(!done.budget_ended);
        assert_eq!(manager.statistics().unwrap().reserved.current, PAGE);
        assert_intact(&left);
    }
}

#[test]
fn forgotten_pin_ends_with_its_block() {
    let manager = manager(Paging::On);
    let block = manager.alloc(100).unwrap();
    assert!(!block.info().unwrap().is_relocatable);
    std::mem::forget(block.pin().unwrap());
    std::mem::forget(block.pin().unwrap());
    let Rejected {
        error,
        object: block,
    } = block.free().unwrap_err();
    assert_eq!(error.kind, ErrorKind::Busy);
    assert_eq!(manager.statistics().unwrap().live_blocks.current, 1);
    drop(block);
    assert_eq!(manager.statistics().unwrap().live_blocks.current, 0);
}
