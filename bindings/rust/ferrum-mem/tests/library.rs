//! The safe crate with the real library. The tests share one start, because a process has one
//! library.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{mpsc, Arc, Barrier, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use ferrum_mem::{
    abi_version, backends_json, leak_report_json, no_log, on_log, snapshot_json, version,
    AddressCopy, AllocationRequest, BackendType, BlockState, Config, DebugFlags, Device, ErrorKind,
    Fill, Library, LogLevel, ManagerConfig, Memory, MemoryType, Paging, PoolConfig, PoolRequest,
    PressureLevel, ReadyPages, ReclaimConfig, Rejected, Strategy, ThreadCache, Transfer,
};
use proptest::prelude::*;

const MIB: u64 = 1 << 20;

/// One test at a time: each checks that nothing is left.
static ONE: Mutex<()> = Mutex::new(());

struct Session {
    device: Device,
    other: Device,
    library: Library,
    _one: MutexGuard<'static, ()>,
}

fn session() -> Session {
    let one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    let config = Config {
        host_devices: Some(2),
        host_memory_bytes: Some(512 * MIB),
        ..Default::default()
    };
    let library = Library::start_with(&config).unwrap();
    let device = Device::open(&library, "cpu:0").unwrap();
    let other = Device::open(&library, "cpu:1").unwrap();
    Session {
        device,
        other,
        library,
        _one: one,
    }
}

fn small() -> PoolConfig {
    PoolConfig {
        initial_size_bytes: Some(8 * MIB),
        growth_increment_bytes: 8 * MIB,
        ready_pages: ReadyPages::All,
        ..Default::default()
    }
}

/// Paged and segmented pools, with the size of a page or a segment.
const WAYS: [(Paging, u64); 2] = [(Paging::On, 2 * MIB), (Paging::Off, 8 * MIB)];

#[test]
fn test_error_kinds_cover_the_table() {
    for status in -48..0 {
        let kind = ErrorKind::from_status(status);
        assert_eq!(kind.status(), status);
        assert!(
            !matches!(kind, ErrorKind::Other(_)),
            "{status} is {}",
            kind.name()
        );
        assert_ne!(kind.name(), "FERRUM_ERROR_UNKNOWN");
    }
    // The end of the table: a new code must be added above.
    assert_eq!(ErrorKind::Other(-49).name(), "FERRUM_ERROR_UNKNOWN");
}

#[test]
fn test_devices_and_books() {
    let s = session();
    assert_eq!(version(), "0.1.0");
    assert!(abi_version() >= ferrum_mem::sys::FERRUM_ABI_VERSION);
    assert_eq!(ErrorKind::Busy.text(), "in use");
    let info = s.other.info().unwrap();
    assert_eq!(
        (info.id.as_str(), info.backend, info.ordinal),
        ("cpu:1", BackendType::Cpu, 1)
    );
    assert_eq!(
        (info.backend_name(), info.total_bytes),
        ("cpu", Some(256 * MIB))
    );
    assert!(info.host_addressable && info.peer && !info.name.is_empty());
    let pool = s
        .device
        .create_pool(&PoolConfig {
            name: Some("books".into()),
            ..small()
        })
        .unwrap();
    let block = pool.alloc(1000, None).unwrap();
    let memory = s.device.memory_info().unwrap();
    assert_eq!(
        Some(memory.used_bytes + memory.free_bytes + memory.reserved_bytes),
        memory.total_bytes
    );
    assert_eq!(memory.active_allocations, 1);
    assert_eq!(memory.pressure, PressureLevel::Low);
    assert_eq!(memory.bandwidth_gbps, None);
    assert!(s.device.measure_bandwidth().unwrap() > 0.0);
    assert!(s.device.memory_info().unwrap().bandwidth_gbps.unwrap() > 0.0);
    s.device.set_limit(Some(100 * MIB)).unwrap();
    let limited = s.device.memory_info().unwrap();
    assert_eq!(
        (limited.total_bytes, limited.limit_bytes),
        (Some(100 * MIB), Some(100 * MIB))
    );
    assert_eq!(limited.device_total_bytes, Some(256 * MIB));
    assert!(limited.device_free_bytes < 256 * MIB);
    s.device.set_limit(None).unwrap();
    assert_eq!(s.device.memory_info().unwrap().limit_bytes, None);
    let books = s.device.statistics().unwrap();
    assert_eq!(books.requested.current, 1000);
    assert_eq!(
        books.reserved.current,
        books.active.current + books.cached.current + books.unusable.current
    );
    assert!(snapshot_json().unwrap().contains("\"books\""));
    assert!(backends_json().unwrap().contains("\"cpu:1\""));
    assert!(leak_report_json().unwrap().contains("\"block\""));
    drop(block);
    assert_eq!(pool.statistics().unwrap().live_blocks.current, 0);
}

#[test]
fn test_objects_keep_what_they_need() {
    let s = session();
    let users = s.library.users();
    let block = {
        let device = Device::open(&s.library, "cpu:0").unwrap();
        let manager = device.create_manager(&Default::default()).unwrap();
        manager.alloc(4096).unwrap()
    };
    assert_eq!(s.library.users(), users + 1);
    block.write(0, b"still here").unwrap();
    drop(block);
    assert_eq!(s.library.users(), users);
    assert_eq!(s.device.statistics().unwrap().reserved.current, 0);
}

#[test]
fn test_errors_name_what_was_wrong() {
    let s = session();
    let error = Device::open(&s.library, "cpu:9").unwrap_err();
    assert_eq!(error.kind, ErrorKind::DeviceNotFound);
    assert_eq!(error.function, "ferrum_device_open");
    assert!(
        error.message.contains('9') && error.to_string().contains("FERRUM_ERROR_DEVICE_NOT_FOUND")
    );
    assert_eq!(
        Device::open(&s.library, "c\0pu").unwrap_err().kind,
        ErrorKind::InvalidArgument
    );
    let pool = s.device.create_pool(&small()).unwrap();
    assert_eq!(
        pool.alloc(0, None).unwrap_err().kind,
        ErrorKind::InvalidSize
    );
    assert_eq!(
        pool.alloc(u64::MAX, None).unwrap_err().kind,
        ErrorKind::Overflow
    );
    assert_eq!(
        pool.alloc_with(&PoolRequest::new(1).aligned(3))
            .unwrap_err()
            .kind,
        ErrorKind::InvalidAlignment
    );
    let error = pool.alloc(1 << 40, None).unwrap_err();
    assert_eq!(
        (error.kind, error.device.as_deref(), error.facts.native_code),
        (ErrorKind::OutOfMemory, Some("cpu:0"), None)
    );
    let text = format!("{error:?}");
    assert!(
        text.contains("device: \"cpu:0\"") && !text.contains("None"),
        "{text}"
    );
    let manager = s.device.create_manager(&Default::default()).unwrap();
    let never = AllocationRequest {
        memory_type: MemoryType::Pinned,
        size_bytes: u64::MAX,
        ..Default::default()
    };
    assert_eq!(
        manager.alloc_with(&never).unwrap_err().kind,
        ErrorKind::Overflow
    );
    let bad = ManagerConfig {
        gc_threshold: f32::NAN,
        ..Default::default()
    };
    assert_eq!(
        s.device.create_manager(&bad).unwrap_err().kind,
        ErrorKind::InvalidConfig
    );
    assert_eq!(s.device.statistics().unwrap().live_blocks.current, 0);
}

#[test]
fn test_pools() {
    let s = session();
    let pool = s.device.create_pool(&small()).unwrap();
    let block = pool
        .alloc_with(&PoolRequest::new(MIB).aligned(2 * MIB))
        .unwrap();
    assert_eq!(block.address() % (2 * MIB), 0);
    assert_eq!(block.size_bytes(), MIB);
    let pointer = block.as_ptr().unwrap();
    // SAFETY: the block is 1 MiB of host memory that no other code uses.
    unsafe { pointer.as_ptr().write_bytes(7, MIB as usize) };
    block.free(None).unwrap();
    pool.set_limit(Some(16 * MIB)).unwrap();
    assert_eq!(
        pool.alloc(32 * MIB, None).unwrap_err().kind,
        ErrorKind::OutOfMemory
    );
    assert_eq!(pool.info().unwrap().page_bytes, Some(2 * MIB));
    assert_eq!(pool.info().unwrap().idle_pages, 1);
    assert_eq!(pool.trim(0).unwrap(), 2 * MIB);
    assert_eq!(pool.info().unwrap().held_bytes, 0);
    s.device.set_limit(Some(MIB)).unwrap();
    assert_eq!(
        pool.alloc(2 * MIB, None).unwrap_err().kind,
        ErrorKind::OutOfMemory
    );
    s.device.set_limit(None).unwrap();
}

#[test]
fn test_pool_requests_and_owners() {
    let s = session();
    let config = PoolConfig {
        name: Some("rust".into()),
        tracking: true,
        ..small()
    };
    let pool = s.device.create_pool(&config).unwrap();
    let stream = s.device.create_stream().unwrap();
    let tag = pool.tag("kv").unwrap();
    assert_eq!(pool.tag("kv").unwrap(), tag);
    assert_eq!(pool.tag("").unwrap_err().kind, ErrorKind::InvalidArgument);
    let request = PoolRequest::new(1000)
        .aligned(8192)
        .on(&stream)
        .tag(tag)
        .lifetime(Duration::from_millis(50))
        .group(7);
    let block = pool.alloc_with(&request).unwrap();
    assert_eq!(block.address() % 8192, 0);
    assert!(block.usable_bytes().unwrap() >= 1000);
    let owner = s.device.owner_of(block.address() + 500).unwrap();
    assert_eq!(owner.state, BlockState::Live);
    assert_eq!(
        (owner.address, owner.requested_bytes),
        (block.address(), Some(1000))
    );
    assert_eq!(
        (owner.tag.as_deref(), owner.pool_name.as_deref()),
        (Some("kv"), Some("rust"))
    );
    assert_eq!((owner.pool, owner.manager), (Some(pool.raw()), None));
    assert!(owner.age.unwrap() > Duration::ZERO && owner.model.is_none());
    assert_eq!(s.device.call_site_json(block.address()).unwrap(), "[]");
    assert_eq!(
        s.other.owner_of(block.address()).unwrap_err().kind,
        ErrorKind::NotFound
    );
    let second = s.device.create_stream().unwrap();
    block.record_stream(&second).unwrap();
    let (open, gate) = mpsc::channel::<()>();
    second.call(move || gate.recv().unwrap()).unwrap();
    let address = block.address();
    let rejected = block.free_sized(999, Some(&stream)).unwrap_err();
    assert_eq!(rejected.kind(), ErrorKind::InvalidSize);
    let block = rejected.object.unwrap();
    block.free_sized(1000, Some(&stream)).unwrap();
    let state = s.device.owner_of(address).unwrap().state;
    assert_eq!(state, BlockState::InFlight);
    open.send(()).unwrap();
    second.synchronize(None).unwrap();
    let manager = s.device.create_manager(&Default::default()).unwrap();
    let memory = manager.alloc(10).unwrap();
    let owner = s.device.owner_of(memory.info().unwrap().address).unwrap();
    assert_eq!((owner.pool, owner.manager), (None, Some(manager.raw())));
}

#[test]
fn test_pool_batches() {
    let s = session();
    let pool = s.device.create_pool(&small()).unwrap();
    let batch = pool.alloc_batch(5000, 256, None).unwrap();
    let mut addresses = batch.addresses().to_vec();
    addresses.sort_unstable();
    addresses.dedup();
    assert_eq!((addresses.len(), batch.size_bytes()), (256, 5000));
    batch.free(None).unwrap();
    drop(pool.alloc_batch(16, 3, None).unwrap());
    let books = pool.statistics().unwrap();
    assert_eq!((books.live_blocks.current, books.frees), (0, 259));
    for count in [0, (1 << 20) + 1, usize::MAX] {
        let error = pool.alloc_batch(16, count, None).unwrap_err();
        assert_eq!(error.kind, ErrorKind::InvalidArgument);
    }
    let other = s.device.create_pool(&small()).unwrap();
    let mut blocks: Vec<_> = (1..20)
        .map(|i| pool.alloc(i * 100, None).unwrap())
        .collect();
    blocks.push(other.alloc(1, None).unwrap());
    let Rejected {
        error,
        object: mut blocks,
    } = pool.free_batch(blocks, None).unwrap_err();
    assert_eq!(error.kind, ErrorKind::InvalidArgument);
    assert!(error.message.contains("blocks[19]"));
    drop(blocks.pop());
    pool.free_batch(blocks, None).unwrap();
    pool.free_batch(Vec::new(), None).unwrap();
    pool.alloc_batch(100, 10, None).unwrap().into_addresses();
    pool.alloc(100, None).unwrap().into_address();
    assert_eq!(pool.statistics().unwrap().live_blocks.current, 11);
    // SAFETY: no object of a block of the pool exists.
    unsafe { pool.reset(None) }.unwrap();
    assert_eq!(pool.statistics().unwrap().live_blocks.current, 0);
}

#[test]
fn test_pool_settings() {
    let s = session();
    let names = Strategy::ALL.map(Strategy::name);
    assert_eq!(
        names,
        ["best_fit", "size_class", "tlsf", "buddy", "arena", "fixed"]
    );
    for (strategy, (paging, piece)) in Strategy::ALL.iter().flat_map(|s| WAYS.map(|w| (*s, w))) {
        let fixed = strategy == Strategy::Fixed;
        let config = PoolConfig {
            strategy: Some(strategy),
            fixed_block_bytes: fixed.then_some(16384),
            page_bytes: fixed.then_some(65536),
            thread_cache: ThreadCache::Off,
            paging,
            ..small()
        };
        let pool = s.device.create_pool(&config).unwrap();
        drop(pool.alloc_batch(16384, 10, None).unwrap());
        assert_eq!(pool.statistics().unwrap().thread_cached_bytes, 0);
        assert_eq!(pool.trim(0).unwrap(), piece);
    }
    for thread_cache in [ThreadCache::Auto, ThreadCache::Bytes(65536)] {
        let config = PoolConfig {
            thread_cache,
            min_held_bytes: 8 * MIB,
            ..small()
        };
        let pool = s.device.create_pool(&config).unwrap();
        // The thread caches get no block from a pool that would have to grow for it.
        drop(pool.alloc(2000, None).unwrap());
        drop(pool.alloc(2000, None).unwrap());
        assert!(pool.statistics().unwrap().thread_cached_bytes > 0);
        assert_eq!(pool.trim(0).unwrap(), 0);
        assert_eq!(pool.statistics().unwrap().thread_cached_bytes, 0);
        pool.set_min_held(0).unwrap();
        pool.set_release_threshold(Some(0)).unwrap();
        assert_eq!(pool.statistics().unwrap().reserved.current, 0);
        pool.set_release_threshold(None).unwrap();
    }
    let debug = DebugFlags::RED_ZONES | DebugFlags::POISON;
    assert_eq!(debug.bits(), 3);
    let config = PoolConfig { debug, ..small() };
    let pool = s.device.create_pool(&config).unwrap();
    let block = pool.alloc(1000, None).unwrap();
    let usable = block.usable_bytes().unwrap() as usize;
    // SAFETY: the red zone behind the block is host memory of the same pool.
    unsafe { block.as_ptr().unwrap().as_ptr().add(usable).write(1) };
    let Rejected {
        error,
        object: gone,
    } = block.free(None).unwrap_err();
    assert_eq!(error.kind, ErrorKind::Corrupted);
    assert!(gone.is_none());
    assert_eq!(pool.statistics().unwrap().live_blocks.current, 0);
    pool.check().unwrap();
    let blocks = vec![pool.alloc(100, None).unwrap()];
    // SAFETY: as above.
    let damage = || unsafe { blocks[0].as_ptr().unwrap().as_ptr().add(100).write(1) };
    damage();
    assert_eq!(pool.check().unwrap_err().kind, ErrorKind::Corrupted);
    pool.check().unwrap();
    damage();
    let Rejected {
        error,
        object: gone,
    } = pool.free_batch(blocks, None).unwrap_err();
    assert_eq!(error.kind, ErrorKind::Corrupted);
    assert!(gone.is_empty());
}

#[test]
fn test_blocks_and_copies() {
    let s = session();
    let config = ManagerConfig {
        pools: vec![(MemoryType::General, small()), (MemoryType::Cache, small())],
        ..Default::default()
    };
    let here = s.device.create_manager(&config).unwrap();
    let there = s.other.create_manager(&config).unwrap();
    let request = AllocationRequest {
        memory_type: MemoryType::Cache,
        size_bytes: 1000,
        alignment_bytes: Some(4096),
        tag: Some("kv"),
        relocatable: false,
    };
    let a = here.alloc_with(&request).unwrap();
    let info = a.info().unwrap();
    assert_eq!(
        (info.memory_type, info.size_bytes, info.allocated_bytes),
        (MemoryType::Cache, 1000, 1024)
    );
    assert_eq!(
        (info.tag.as_deref(), info.address % 4096, info.is_mapped),
        (Some("kv"), 0, false)
    );
    assert_eq!(info.host_pointer.unwrap().as_ptr() as u64, info.address);
    let b = there
        .alloc_with(&AllocationRequest {
            size_bytes: 1000,
            alignment_bytes: Some(64),
            ..Default::default()
        })
        .unwrap();
    a.write(10, b"across").unwrap();
    let stream = s.other.create_stream().unwrap();
    Memory::copy_async(
        Transfer::new(&a, &b, 6)
            .with_src_offset(10)
            .with_dst_offset(20),
        Some(&stream),
    )
    .unwrap();
    stream.synchronize(None).unwrap();
    let mut back = [0; 6];
    b.read(20, &mut back).unwrap();
    assert_eq!(&back, b"across");
    Memory::copy(
        Transfer::new(&b, &b, 6)
            .with_src_offset(20)
            .with_dst_offset(22),
    )
    .unwrap();
    b.read(22, &mut back).unwrap();
    assert_eq!(&back, b"across");
    let error = Memory::copy(Transfer::new(&a, &b, 1001)).unwrap_err();
    assert_eq!(error.kind, ErrorKind::InvalidOffset);
    a.fill_async(
        &Fill {
            offset_bytes: 0,
            size_bytes: 8,
            pattern: 0x0102_0304,
            pattern_bytes: 4,
        },
        None,
    )
    .unwrap();
    let mut filled = [0; 8];
    a.read(0, &mut filled).unwrap();
    assert_eq!(filled, [4, 3, 2, 1, 4, 3, 2, 1]);
    a.free().unwrap();
    let done = here.defragment().unwrap();
    assert_eq!(
        (
            done.memory_freed_bytes,
            done.blocks_moved,
            done.blocks_skipped
        ),
        (2 * MIB, 0, 0)
    );
    assert!(done.time_taken > Duration::ZERO);
    let whole = done.time_taken.as_nanos().div_ceil(1_000_000);
    assert_eq!(u128::from(done.time_taken_ms), whole);
    here.configure_pool(MemoryType::Tensor, &small()).unwrap();
    assert_eq!(there.statistics().unwrap().live_blocks.current, 1);
}

/// While other work runs on a stream, copies of another stream complete.
#[test]
fn test_copies_overlap_other_work() {
    let s = session();
    let manager = s.device.create_manager(&Default::default()).unwrap();
    let (a, b) = (manager.alloc(MIB).unwrap(), manager.alloc(MIB).unwrap());
    let text = vec![b'o'; MIB as usize];
    a.write(0, &text).unwrap();
    let (compute, transfers) = (
        s.device.create_stream().unwrap(),
        s.device.create_stream().unwrap(),
    );
    let (open, gate) = mpsc::channel::<()>();
    compute.call(move || gate.recv().unwrap()).unwrap();
    let queued = Memory::copy_async(Transfer::new(&a, &b, MIB), Some(&transfers));
    let copied = transfers.synchronize(Some(Duration::from_secs(60)));
    let other = compute.synchronize(Some(Duration::ZERO));
    open.send(()).unwrap();
    compute.synchronize(None).unwrap();
    queued.unwrap();
    copied.unwrap();
    assert_eq!(other.unwrap_err().kind, ErrorKind::Timeout);
    let mut back = vec![0; MIB as usize];
    b.read(0, &mut back).unwrap();
    assert!(back == text);
}

#[test]
fn test_copies_by_address() {
    let s = session();
    let stream = s.device.create_stream().unwrap();
    let pool = s.device.create_pool(&PoolConfig::default()).unwrap();
    let blocks: Vec<_> = (0..4).map(|_| pool.alloc(64, None).unwrap()).collect();
    let at = |i: usize| blocks[i].address() as *mut u8;
    let copy = |from: usize, to: usize| AddressCopy {
        source: blocks[from].address(),
        destination: blocks[to].address(),
        size_bytes: 64,
    };
    // SAFETY: the blocks are live, of 64 bytes, and of the host; no other code uses them.
    unsafe {
        for i in 0..4 {
            at(i).write_bytes(i as u8, 64);
        }
        let error = stream.copy_batch(&[copy(0, 2), copy(1, 2)]).unwrap_err();
        assert_eq!(error.kind, ErrorKind::InvalidArgument);
        assert!(error.to_string().contains("copies[1]"), "{error}");
        stream.copy_batch(&[]).unwrap();
        stream.copy_batch(&[copy(0, 2), copy(1, 3)]).unwrap();
        stream.synchronize(None).unwrap();
        assert_eq!((*at(2).add(63), *at(3)), (0, 1));
    }
}

#[test]
fn test_streams_and_events() {
    let s = session();
    let (first, second) = (
        s.device.create_stream().unwrap(),
        s.other.create_stream().unwrap(),
    );
    let (open, gate) = mpsc::channel::<()>();
    let (tell, hear) = mpsc::channel();
    first.call(move || gate.recv().unwrap()).unwrap();
    let told = tell.clone();
    first.call(move || told.send(1).unwrap()).unwrap();
    let event = first.record().unwrap();
    second.wait_event(&event).unwrap();
    second.call(move || tell.send(2).unwrap()).unwrap();
    assert!(!event.is_ready().unwrap() && !second.is_ready().unwrap());
    assert_eq!(
        event
            .synchronize(Some(Duration::from_micros(10)))
            .unwrap_err()
            .kind,
        ErrorKind::Timeout
    );
    assert_eq!(
        s.device.synchronize(Some(Duration::ZERO)).unwrap_err().kind,
        ErrorKind::Timeout
    );
    open.send(()).unwrap();
    second.synchronize(None).unwrap();
    assert_eq!((hear.recv(), hear.recv()), (Ok(1), Ok(2)));
    let later = first.record().unwrap();
    later.synchronize(None).unwrap();
    assert!(event.nanoseconds_until(&later).unwrap() >= 0);
    assert_eq!(
        s.device.default_stream().unwrap().raw(),
        s.device.default_stream().unwrap().raw()
    );
}

#[test]
fn test_callbacks() {
    let s = session();
    let pool = s
        .device
        .create_pool(&PoolConfig {
            growth_increment_bytes: 64 * MIB,
            ..small()
        })
        .unwrap();
    let (tell, hear) = mpsc::channel();
    let pressure = s
        .device
        .on_pressure(move |level| tell.send(level).unwrap())
        .unwrap();
    let cached = Arc::new(Mutex::new(Some(pool.alloc(200 * MIB, None).unwrap())));
    assert!(hear.recv().unwrap() >= PressureLevel::Medium);
    drop(pressure);
    let asked = Arc::new(AtomicU64::new(0));
    let (freeing, seen) = (cached.clone(), asked.clone());
    let how = ReclaimConfig {
        deadline: Some(Duration::from_secs(60)),
        ..Default::default()
    };
    let reclaim = s
        .device
        .on_reclaim(&how, move |needed| {
            seen.store(needed, Ordering::SeqCst);
            freeing
                .lock()
                .unwrap()
                .take()
                .map_or(0, |block| block.size_bytes())
        })
        .unwrap();
    let block = pool.alloc(150 * MIB, None).unwrap();
    assert!(asked.load(Ordering::SeqCst) >= 150 * MIB);
    drop((block, reclaim));
    // A closure that panics counts as one that freed nothing.
    let _panics = s.device.on_reclaim(&how, |_| panic!("provoked")).unwrap();
    let _full = pool.alloc(200 * MIB, None).unwrap();
    assert_eq!(
        pool.alloc(150 * MIB, None).unwrap_err().kind,
        ErrorKind::OutOfMemory
    );
}

#[test]
fn test_log() {
    let s = session();
    let (tell, hear) = mpsc::channel();
    let tell = Mutex::new(tell);
    on_log(LogLevel::Debug, move |level, text| {
        let _ = tell.lock().unwrap().send((level, text.to_owned()));
    })
    .unwrap();
    drop(s.device.create_pool(&small()).unwrap());
    let (level, text) = hear.recv().unwrap();
    assert!(level <= LogLevel::Info && !text.is_empty());
    no_log().unwrap();
}

#[test]
fn test_many_threads() {
    let s = session();
    let pool = s.device.create_pool(&small()).unwrap();
    let manager = s.device.create_manager(&Default::default()).unwrap();
    let (start, rounds) = (Barrier::new(8), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        for t in 0..8u64 {
            let (pool, manager, start, rounds) = (&pool, &manager, &start, &rounds);
            scope.spawn(move || {
                start.wait();
                for i in 0..300 {
                    let block = pool.alloc(64 + (i * 37 + t) % 5000, None).unwrap();
                    let memory = manager.alloc(100 + i).unwrap();
                    memory.write(0, &[t as u8; 16]).unwrap();
                    let mut back = [0; 16];
                    memory.read(0, &mut back).unwrap();
                    assert_eq!(back, [t as u8; 16]);
                    drop((block, memory));
                    rounds.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
    });
    assert_eq!(rounds.into_inner(), 2400);
    // A block that was freed while another thread's copy was queued on the stream stays
    // active until the pool looks at the stream again.
    s.device.synchronize(None).unwrap();
    pool.trim(0).unwrap();
    manager.defragment().unwrap();
    let books = s.device.statistics().unwrap();
    assert_eq!((books.live_blocks.current, books.active.current), (0, 0));
    assert_eq!(books.allocations, books.frees);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    /// A pool compared with a reference model: blocks never overlap, keep their bytes, and the
    /// counters equal the model's sums. The library states the rounding of sizes.
    #[test]
    fn test_random_pool_matches_a_reference_model(steps in prop::collection::vec((any::<bool>(), 1u64..200_000, 0usize..64), 1..120)) {
        let s = session();
        let pool = s.device.create_pool(&small()).unwrap();
        let mut live: Vec<(ferrum_mem::PoolBlock, u8)> = Vec::new();
        for (number, (take, size, which)) in steps.into_iter().enumerate() {
            if take || live.is_empty() {
                let block = pool.alloc(size, None).unwrap();
                let mark = number as u8;
                // SAFETY: host memory of the block's size that no other code uses.
                unsafe { block.as_ptr().unwrap().as_ptr().write_bytes(mark, size as usize) };
                live.push((block, mark));
            } else {
                let (block, mark) = live.swap_remove(which % live.len());
                // SAFETY: as above.
                let bytes = unsafe { std::slice::from_raw_parts(block.as_ptr().unwrap().as_ptr(), block.size_bytes() as usize) };
                prop_assert!(bytes.iter().all(|b| *b == mark));
            }
            let books = pool.statistics().unwrap();
            prop_assert_eq!(books.live_blocks.current, live.len() as u64);
            prop_assert_eq!(books.requested.current, live.iter().map(|(b, _)| b.size_bytes()).sum::<u64>());
            let rounded = live.iter().map(|(b, _)| b.usable_bytes().unwrap()).sum::<u64>();
            prop_assert_eq!(books.allocated.current, rounded);
            prop_assert_eq!(books.reserved.current, books.active.current + books.cached.current + books.unusable.current);
        }
    }
}
