//! Virtual and elastic pools with the real library. The tests share one start, because a process
//! has one library.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use ferrum_mem::{
    leak_report_json, BatchOptions, BlockState, ByteRange, Config, Device, ElasticPool,
    ElasticPoolConfig, ErrorKind, Facts, Library, ModelConfig, ModelLimits, ModelRequest,
    VirtualPool, VirtualPoolConfig, VirtualPoolRequest,
};

const MIB: u64 = 1 << 20;
const PAGE: u64 = 1 << 16;

/// One test at a time: each checks that nothing is left.
static ONE: Mutex<()> = Mutex::new(());

fn session() -> (Device, MutexGuard<'static, ()>) {
    let one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    let config = Config {
        host_devices: Some(1),
        host_memory_bytes: Some(256 * MIB),
        ..Default::default()
    };
    let library = Library::start_with(&config).unwrap();
    (Device::open(&library, "cpu:0").unwrap(), one)
}

fn pool(device: &Device) -> VirtualPool {
    device
        .create_virtual_pool(&VirtualPoolConfig {
            capacity_bytes: 64 * PAGE,
            page_bytes: Some(PAGE),
            limit_bytes: Some(8 * PAGE),
            ready_pages: Some(0),
            name: Some("elastic".into()),
            ..Default::default()
        })
        .unwrap()
}

fn shared(device: &Device) -> ElasticPool {
    device
        .create_elastic_pool(&ElasticPoolConfig {
            limit_bytes: Some(4 * PAGE),
            page_bytes: Some(PAGE),
            ready_pages: Some(0),
            ..Default::default()
        })
        .unwrap()
}

fn model_config() -> ModelConfig {
    ModelConfig {
        virtual_bytes: 64 * PAGE,
        ..Default::default()
    }
}

#[test]
fn test_ranges() {
    let (device, _one) = session();
    let sizes = device.page_sizes().unwrap();
    assert!(device.info().unwrap().virtual_memory);
    assert!(sizes.minimum_bytes >= PAGE && sizes.recommended_bytes >= sizes.minimum_bytes);
    let pool = pool(&device);
    let range = pool
        .alloc_with(&VirtualPoolRequest {
            tag: Some("kv"),
            offset_bytes: 10,
            size_bytes: PAGE,
            ..Default::default()
        })
        .unwrap();
    let info = pool.info().unwrap();
    assert_eq!(range.address(), info.base_address + range.offset_bytes());
    assert_eq!((info.mapped_pages, info.requested_bytes), (2, PAGE));
    assert_eq!(info.physical_bytes, 2 * PAGE);
    let bytes = range.as_ptr().unwrap().unwrap();
    // SAFETY: the range is mapped, and no other code uses it.
    unsafe { bytes.as_ptr().write_bytes(7, range.size_bytes() as usize) };
    let owner = device.owner_of(range.address()).unwrap();
    assert_eq!(owner.virtual_pool, Some(pool.raw()));
    assert_eq!(
        (owner.state, owner.tag.as_deref()),
        (BlockState::Live, Some("kv"))
    );
    assert!(pool.is_mapped(0, 2 * PAGE).unwrap());
    let error = pool.alloc(PAGE, 1).unwrap_err();
    assert_eq!(error.kind, ErrorKind::AlreadyMapped);
    assert!(
        error.message.contains("offset 65536, page size 65536"),
        "{error}"
    );
    let error = pool.alloc(2 * PAGE, 7 * PAGE).unwrap_err();
    assert_eq!(error.kind, ErrorKind::OutOfPhysicalMemory);
    assert!(
        error
            .message
            .contains("requested 448 KiB, available 384 KiB"),
        "{error}"
    );
    pool.set_limit(None).unwrap();
    drop(pool.alloc(2 * PAGE, 7 * PAGE).unwrap());
    drop(range);
    assert!(!pool.is_mapped(0, 1).unwrap());
    assert_eq!(pool.statistics().unwrap().live_blocks.current, 0);
    pool.pause().unwrap();
    pool.compact().unwrap();
    pool.trim(0).unwrap();
    pool.resume().unwrap();
    assert_eq!(pool.info().unwrap().held_bytes, 0);
}

#[test]
fn test_a_range_waits_for_its_stream() {
    let (device, _one) = session();
    let pool = pool(&device);
    let stream = device.create_stream().unwrap();
    let gate = Arc::new(Mutex::new(()));
    let held = gate.lock().unwrap();
    let inside = Arc::clone(&gate);
    stream.call(move || drop(inside.lock().unwrap())).unwrap();
    pool.alloc(0, PAGE).unwrap().free(Some(&stream)).unwrap();
    assert_eq!(pool.info().unwrap().retiring_pages, 1);
    let error = pool.synchronize(Some(Duration::ZERO)).unwrap_err();
    assert_eq!(error.kind, ErrorKind::Timeout);
    drop(held);
    pool.synchronize(None).unwrap();
    assert_eq!(pool.info().unwrap().retiring_pages, 0);
}

#[test]
fn test_ranges_by_offset() {
    let (device, _one) = session();
    let pool = pool(&device);
    let base = pool.info().unwrap().base_address;
    assert_eq!(pool.alloc(0, 4 * PAGE).unwrap().into_address(), base);
    // SAFETY: the range was ended with into_address.
    unsafe { pool.free(PAGE, 2 * PAGE, None) }.unwrap();
    assert_eq!(pool.info().unwrap().mapped_pages, 2);
    // SAFETY: as before.
    let error = unsafe { pool.free(0, 4 * PAGE, None) }.unwrap_err();
    assert_eq!(error.kind, ErrorKind::NotMapped);
    drop(pool);
    assert!(!leak_report_json().unwrap().contains("\"range\""));
}

#[test]
fn test_models() {
    let (device, _one) = session();
    let pool = shared(&device);
    let chat = pool.register_model("chat", &model_config()).unwrap();
    let code = pool.register_model("code", &model_config()).unwrap();
    let error = pool.register_model("chat", &model_config()).unwrap_err();
    assert_eq!(error.kind, ErrorKind::ModelAlreadyExists);
    let first = chat.alloc(PAGE).unwrap();
    let second = chat
        .alloc_with(&ModelRequest {
            size_bytes: 10,
            tag: Some("weights"),
            ..Default::default()
        })
        .unwrap();
    assert_eq!((first.offset_bytes(), second.offset_bytes()), (0, PAGE));
    let owner = device.owner_of(second.address()).unwrap();
    assert_eq!(
        (owner.model.as_deref(), owner.tag.as_deref()),
        (Some("chat"), Some("weights"))
    );
    assert_eq!(owner.elastic_pool, Some(pool.raw()));
    let placed = code
        .alloc_with(&ModelRequest {
            offset_bytes: Some(3 * PAGE),
            size_bytes: PAGE,
            ..Default::default()
        })
        .unwrap();
    assert_eq!(placed.device().raw(), device.raw());
    assert!(code.is_mapped(3 * PAGE, 1).unwrap());
    assert_eq!(chat.info().unwrap().requested_bytes, PAGE + 10);
    assert_eq!(pool.info().unwrap().physical_bytes, 3 * PAGE);
    assert!(pool.models_json().unwrap().contains("\"id\":\"code\""));
    chat.set_limits(&ModelLimits {
        guaranteed_bytes: PAGE,
        max_bytes: Some(2 * PAGE),
        priority: 3,
        ..Default::default()
    })
    .unwrap();
    assert_eq!(chat.info().unwrap().priority, 3);
    assert_eq!(
        chat.alloc(1).unwrap_err().kind,
        ErrorKind::OutOfPhysicalMemory
    );
    assert_eq!(
        pool.set_limit(Some(1)).unwrap_err().kind,
        ErrorKind::InvalidConfig
    );
    // The model is kept while its ranges exist.
    drop(code);
    assert_eq!(pool.info().unwrap().num_models, 2);
    drop(placed);
    assert_eq!(pool.info().unwrap().num_models, 1);
    assert_eq!(chat.id(), "chat");
    drop((first, second, chat));
    pool.synchronize(None).unwrap();
    pool.pause().unwrap();
    pool.compact().unwrap();
    pool.trim(0).unwrap();
    pool.resume().unwrap();
    let info = pool.info().unwrap();
    assert_eq!((info.num_models, info.held_bytes), (0, 0));
    assert_eq!(pool.statistics().unwrap().live_blocks.current, 0);
}

#[test]
fn test_model_above_its_guarantee_releases_pages() {
    let (device, _one) = session();
    let pool = shared(&device);
    let chat = pool.register_model("chat", &model_config()).unwrap();
    let code = pool.register_model("code", &model_config()).unwrap();
    let kept = Arc::new(Mutex::new(Some(chat.alloc(4 * PAGE).unwrap())));
    let given = Arc::clone(&kept);
    let registration = chat
        .on_reclaim(Some(Duration::from_secs(20)), move |needed| {
            assert_eq!(needed, PAGE);
            given
                .lock()
                .unwrap()
                .take()
                .map_or(0, |range| range.size_bytes())
        })
        .unwrap();
    let range = code.alloc(PAGE).unwrap();
    assert!(kept.lock().unwrap().is_none());
    assert_eq!(chat.info().unwrap().reclaim_calls, 1);
    drop((registration, range));
    let error = chat
        .on_reclaim(Some(Duration::MAX), |_| 0)
        .map(drop)
        .unwrap_err();
    assert_eq!(error.kind, ErrorKind::InvalidArgument);
}

#[test]
fn test_failures_state_their_numbers() {
    let (device, _one) = session();
    let pool = pool(&device);
    let _kept = pool.alloc(PAGE, PAGE).unwrap();
    let page = |facts: &Facts, offset| {
        let all = (facts.offset_bytes, facts.size_bytes, facts.page_bytes);
        assert_eq!(all, (Some(offset), Some(PAGE), Some(PAGE)));
    };
    let error = pool.alloc(0, 2 * PAGE).unwrap_err();
    assert_eq!(error.kind, ErrorKind::AlreadyMapped);
    page(&error.facts, PAGE);
    // SAFETY: nothing is mapped.
    let error = unsafe { pool.free(0, PAGE, None) }.unwrap_err();
    assert_eq!(error.kind, ErrorKind::NotMapped);
    page(&error.facts, 0);
    let facts = pool.alloc(63 * PAGE, PAGE + 1).unwrap_err().facts;
    let range = (facts.offset_bytes, facts.size_bytes, facts.capacity_bytes);
    assert_eq!(range, (Some(63 * PAGE), Some(PAGE + 1), Some(64 * PAGE)));
    assert_eq!((facts.page_bytes, facts.model), (None, None));
    let facts = pool.alloc(2 * PAGE, 8 * PAGE).unwrap_err().facts;
    let room = (facts.requested_bytes, facts.available_bytes);
    assert_eq!(room, (Some(8 * PAGE), Some(7 * PAGE)));
    let wrong = VirtualPoolConfig {
        capacity_bytes: 1,
        page_bytes: Some(3 * PAGE),
        ..Default::default()
    };
    let error = device.create_virtual_pool(&wrong).unwrap_err();
    assert_eq!(error.kind, ErrorKind::InvalidPageSize);
    assert_eq!(error.facts.page_bytes, Some(3 * PAGE));
    let shared = shared(&device);
    let chat = shared.register_model("chat", &model_config()).unwrap();
    let exists = shared.register_model("chat", &model_config()).unwrap_err();
    assert_eq!(exists.facts.model.as_deref(), Some("chat"));
    let error = chat.alloc(65 * PAGE).unwrap_err();
    assert_eq!(error.kind, ErrorKind::OutOfVirtualMemory);
    assert_eq!(error.facts.model.as_deref(), Some("chat"));
    assert_eq!(error.facts.capacity_bytes, Some(64 * PAGE));
}

#[test]
fn test_ranges_in_batches() {
    let (device, _one) = session();
    let pages = |list: &[(u64, u64)]| -> Vec<ByteRange> {
        let range = |&(page, pages): &(u64, u64)| ByteRange {
            offset_bytes: page * PAGE,
            size_bytes: pages * PAGE,
        };
        list.iter().map(range).collect()
    };
    let options = BatchOptions::default();
    let pool = pool(&device);
    assert!(pool.alloc_batch(&[], &options).unwrap().is_empty());
    let mut ranges = pool
        .alloc_batch(&pages(&[(9, 1), (0, 2)]), &options)
        .unwrap();
    assert_eq!(ranges[0].address(), pool.base_address() + 9 * PAGE);
    assert_eq!(ranges[1].size_bytes(), 2 * PAGE);
    let error = pool
        .alloc_batch(&pages(&[(3, 1), (1, 1)]), &options)
        .unwrap_err();
    assert_eq!(error.kind, ErrorKind::AlreadyMapped);
    assert!(error.to_string().contains("ranges[1]"), "{error}");
    assert!(!pool.is_mapped(3 * PAGE, PAGE).unwrap());
    // One range ends by itself, the others by offset.
    ranges.remove(0).free(None).unwrap();
    for range in ranges {
        range.into_address();
    }
    // SAFETY: no object of these ranges exists.
    unsafe {
        let error = pool.free_batch(&pages(&[(0, 2), (9, 1)]), None);
        assert_eq!(error.unwrap_err().kind, ErrorKind::NotMapped);
        pool.free_batch(&pages(&[(1, 1), (0, 1)]), None).unwrap();
    }
    assert_eq!(pool.info().unwrap().mapped_pages, 0);

    let shared = shared(&device);
    let model = shared.register_model("chat", &model_config()).unwrap();
    let ranges = model
        .alloc_batch(&pages(&[(7, 1), (2, 2)]), &options)
        .unwrap();
    assert_eq!(ranges[1].address(), model.base_address() + 2 * PAGE);
    let error = model
        .alloc_batch(&pages(&[(20, 1), (30, 1)]), &options)
        .unwrap_err();
    assert_eq!(error.kind, ErrorKind::OutOfPhysicalMemory);
    for range in ranges {
        range.into_address();
    }
    // SAFETY: no object of these ranges exists.
    unsafe { model.free_batch(&pages(&[(2, 2), (7, 1)]), None) }.unwrap();
    assert_eq!(model.info().unwrap().mapped_pages, 0);
}
