//! Mappings, links, hints, statistics, and external memory and streams, with the real library.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{mpsc, Arc, Mutex};

use ferrum_mem::{
    AccessPattern, Adoption, AllocationRequest, Config, Device, ErrorKind, Fill, HostAccess,
    Library, LinkRequest, Manager, ManagerConfig, MemoryType, Stream, UsageHint,
};

fn devices() -> (Device, Device) {
    let config = Config {
        host_devices: Some(2),
        host_memory_bytes: Some(256 << 20),
        ..Default::default()
    };
    let library = Library::start_with(&config).unwrap();
    (
        Device::open(&library, "cpu:0").unwrap(),
        Device::open(&library, "cpu:1").unwrap(),
    )
}

fn manager(device: &Device) -> Manager {
    device.create_manager(&ManagerConfig::default()).unwrap()
}

fn fill(pattern: u32, size_bytes: u64) -> Fill {
    Fill {
        offset_bytes: 0,
        size_bytes,
        pattern,
        pattern_bytes: 1,
    }
}

#[test]
fn mapping_ends_with_its_guard() {
    let (device, _) = devices();
    let manager = manager(&device);
    let block = manager.alloc(100).unwrap();
    let mut mapping = block.map(HostAccess::ReadWrite).unwrap();
    assert_eq!(mapping.size_bytes(), 100);
    assert!(!mapping.is_staged());
    // SAFETY: nothing is queued on the block.
    unsafe { mapping.as_mut_slice()[..6].copy_from_slice(b"mapped") };
    let part = block.map_range(HostAccess::ReadOnly, 3, Some(3)).unwrap();
    // SAFETY: as above.
    assert_eq!(unsafe { part.as_slice() }, b"ped");
    assert!(block.info().unwrap().is_mapped);
    let error = block
        .map_range(HostAccess::WriteOnly, 99, None)
        .unwrap_err();
    assert_eq!(error.kind, ErrorKind::Busy);
    drop(part);
    mapping.unmap().unwrap();
    assert!(!block.info().unwrap().is_mapped);
    let mut bytes = [0; 6];
    block.read(0, &mut bytes).unwrap();
    assert_eq!(&bytes, b"mapped");
    let error = block
        .map_range(HostAccess::ReadOnly, 100, None)
        .unwrap_err();
    assert_eq!(error.kind, ErrorKind::InvalidOffset);
    // A forgotten mapping does not keep its block.
    std::mem::forget(block.map(HostAccess::ReadOnly).unwrap());
    std::mem::forget(block.pin().unwrap());
    drop(block);
    assert_eq!(manager.statistics().unwrap().live_blocks.current, 0);
}

#[test]
fn linked_blocks_are_one_memory() {
    let (device, other) = devices();
    let (first_manager, second_manager) = (manager(&device), manager(&other));
    let request = LinkRequest {
        size_bytes: 64,
        tag: Some("both"),
        ..Default::default()
    };
    let (first, second) = first_manager
        .create_mapping(&second_manager, &request)
        .unwrap();
    assert_eq!(first.info().unwrap().linked, Some(second.raw()));
    assert_eq!(second.info().unwrap().memory_type, MemoryType::Mapped);
    first.write(0, b"shared").unwrap();
    drop(first);
    let mut bytes = [0; 6];
    second.read(0, &mut bytes).unwrap();
    assert_eq!(&bytes, b"shared");
    assert_eq!(second.info().unwrap().linked, None);
    let error = first_manager
        .create_mapping(&first_manager, &request)
        .unwrap_err();
    assert_eq!(error.kind, ErrorKind::InvalidArgument);
}

#[test]
fn hints_statistics_and_prefetch() {
    let (device, other) = devices();
    let manager = manager(&device);
    let block = manager.alloc(64).unwrap();
    block.set_usage_hint(UsageHint::Random).unwrap();
    block.set_usage_hint(UsageHint::Sequential).unwrap();
    block.set_usage_hint(UsageHint::Temporary).unwrap();
    let hints = block.usage_hints().unwrap();
    assert_eq!(hints.order, UsageHint::Sequential);
    assert_eq!(hints.direction, UsageHint::None);
    assert_eq!(hints.lifetime, UsageHint::Temporary);
    let stats = block.access_stats().unwrap().unwrap();
    assert_eq!(stats.last_access, None);
    assert_eq!(stats.pattern, AccessPattern::Unknown);
    block.write(0, b"12345678").unwrap();
    let stats = block.access_stats().unwrap().unwrap();
    assert_eq!((stats.write_count, stats.average_write_bytes), (1, Some(8)));
    assert!(stats.last_access.unwrap() >= block.info().unwrap().allocated_at);
    block.prefetch(&device, None).unwrap();
    block.prefetch(&other, None).unwrap();
    let blind = device
        .create_manager(&ManagerConfig {
            tracking: false,
            ..Default::default()
        })
        .unwrap();
    assert_eq!(blind.alloc(1).unwrap().access_stats().unwrap(), None);
}

#[test]
fn pinned_memory_is_page_locked_host_memory() {
    let (device, _) = devices();
    let manager = manager(&device);
    let request = AllocationRequest {
        memory_type: MemoryType::Pinned,
        size_bytes: 1 << 16,
        ..Default::default()
    };
    let block = manager.alloc_with(&request).unwrap();
    assert!(block.info().unwrap().host_pointer.is_some());
    block.write(0, b"locked").unwrap();
}

#[test]
fn adopted_memory_is_not_freed() {
    let (device, _) = devices();
    let manager = manager(&device);
    let mut own = vec![0_u8; 1000];
    let adoption = Adoption {
        address: own.as_mut_ptr() as u64,
        size_bytes: 1000,
        ..Default::default()
    };
    // SAFETY: own outlives the block, and is read only when no work is queued.
    let block = unsafe { manager.adopt(&adoption) }.unwrap();
    assert!(block.info().unwrap().is_adopted);
    // SAFETY: as above.
    let error = unsafe { manager.adopt(&adoption) }.unwrap_err();
    assert_eq!(error.kind, ErrorKind::AlreadyExists);
    let stream = device.create_stream().unwrap();
    for pattern in 1..=50 {
        block
            .fill_async(&fill(pattern, 1000), Some(&stream))
            .unwrap();
    }
    // Waits for the fills, which would otherwise write to freed memory.
    drop(block);
    assert_eq!(own, vec![50; 1000]);
}

#[test]
fn read_only_adopted_memory_rejects_writes() {
    let (device, _) = devices();
    let manager = manager(&device);
    static WEIGHTS: [u8; 4096] = [7; 4096];
    let adoption = Adoption {
        address: WEIGHTS.as_ptr() as u64,
        size_bytes: 4096,
        is_read_only: true,
        ..Default::default()
    };
    // SAFETY: no code writes to it.
    let block = unsafe { manager.adopt(&adoption) }.unwrap();
    assert!(block.info().unwrap().is_read_only);
    let mut bytes = [0; 2];
    block.read(4094, &mut bytes).unwrap();
    assert_eq!(bytes, [7, 7]);
    for error in [
        block.write(0, b"x").unwrap_err(),
        block.fill_async(&fill(1, 4096), None).unwrap_err(),
    ] {
        assert_eq!(error.kind, ErrorKind::PermissionDenied, "{error}");
    }
}

#[test]
fn an_adopted_stream_runs_in_its_owners_queue() {
    let (device, _) = devices();
    let manager = manager(&device);
    let block = manager.alloc(4096).unwrap();
    let (sender, receiver) = mpsc::channel::<ferrum_mem::StreamWork>();
    let done = Arc::new(AtomicU32::new(0));
    let counted = Arc::clone(&done);
    let server = std::thread::spawn(move || {
        for work in receiver {
            work.run();
            counted.fetch_add(1, Ordering::SeqCst);
        }
    });
    let sender = Mutex::new(sender);
    let stream = Stream::adopt(&device, move |work| {
        sender
            .lock()
            .unwrap()
            .send(work)
            .map_err(|refused| refused.0)
    })
    .unwrap();
    block.fill_async(&fill(7, 4096), Some(&stream)).unwrap();
    stream.synchronize(None).unwrap();
    let mut bytes = [0; 1];
    block.read(4095, &mut bytes).unwrap();
    assert_eq!(bytes, [7]);
    drop(block);
    drop(stream);
    server.join().unwrap();
    assert!(done.load(Ordering::SeqCst) >= 2);

    let block = manager.alloc(16).unwrap();
    let refusing = Stream::adopt(&device, Err).unwrap();
    let error = block.fill_async(&fill(1, 16), Some(&refusing)).unwrap_err();
    assert_eq!(error.kind, ErrorKind::Device);
    drop(refusing);
    // SAFETY: host devices have no such streams, and reject it.
    let error = unsafe { Stream::adopt_native(&device, 5) }.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Unsupported);
}
