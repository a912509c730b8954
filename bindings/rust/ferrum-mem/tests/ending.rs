//! How objects end: by `?` on an error that contains its object, by `close`, by a drop that the
//! library rejects; and `into_raw` with `from_raw`.

use std::sync::{Arc, Mutex};

use ferrum_mem::{
    leak_report_json, no_log, on_log, sys, AllocationTracker, BufferRequest, BufferUse, Config,
    DType, Device, ElasticPoolConfig, Error, ErrorKind, FallbackManager, GenericMemoryPool,
    HostAccess, Library, LogLevel, ManagerConfig, MappedRange, MemoryConfig, ModelConfig, Monitor,
    Placement, Pool, PoolBlock, PoolConfig, Rejected, Result, VirtualPool, VirtualPoolConfig,
};

const MIB: u64 = 1 << 20;
const PAGE: u64 = 1 << 16;

// One test function, because the tests of a process share one library and see its objects.
#[test]
fn how_objects_end() {
    let library = Library::start_with(&Config {
        host_devices: Some(2),
        host_memory_bytes: Some(512 * MIB),
        ..Default::default()
    })
    .unwrap();
    let device = Device::open(&library, "cpu:0").unwrap();
    let other = Device::open(&library, "cpu:1").unwrap();
    the_question_mark(&device, &other);
    closed(&library, &device, &other);
    given_up(&library, &device, &other);
    split(&device);
    iterated(&device);
    a_drop_that_is_refused(&device);
    without_a_call(&device);
    // Nothing is left, so closing without force succeeds.
    let library = library.close().unwrap_err().object;
    other.close().unwrap();
    device.close().unwrap();
    library.close().unwrap();
    let left = leak_report_json().unwrap();
    assert!(!left.contains("\"kind\""), "{left}");
}

/// `?` works after every call that returns its object with the error.
fn the_question_mark(device: &Device, other: &Device) {
    let pool = device.create_pool(&PoolConfig::default()).unwrap();
    let ranges = device.create_virtual_pool(&small_space()).unwrap();
    let manager = device.create_manager(&ManagerConfig::default()).unwrap();
    let foreign = other.create_stream().unwrap();
    let block = || -> Result<()> { Ok(pool.alloc(100, None)?.free(Some(&foreign))?) };
    let batch = || -> Result<()> { Ok(pool.alloc_batch(100, 3, None)?.free(Some(&foreign))?) };
    let range = || -> Result<()> { Ok(ranges.alloc(0, PAGE)?.free(Some(&foreign))?) };
    let memory = || -> Result<()> {
        let memory = manager.alloc(100)?;
        std::mem::forget(memory.pin()?);
        Ok(memory.free()?)
    };
    let shared = || -> Result<()> { Ok(pool.clone().close()?) };
    let boxed = || -> std::result::Result<(), Box<dyn std::error::Error>> {
        pool.alloc(100, None)?.free(Some(&foreign))?;
        Ok(())
    };
    assert_eq!(block().unwrap_err().kind, ErrorKind::InvalidArgument);
    assert_eq!(batch().unwrap_err().kind, ErrorKind::InvalidArgument);
    assert_eq!(range().unwrap_err().kind, ErrorKind::InvalidArgument);
    assert_eq!(memory().unwrap_err().kind, ErrorKind::Busy);
    assert_eq!(shared().unwrap_err().kind, ErrorKind::Busy);
    let error = boxed().unwrap_err();
    assert!(error.is::<Rejected<Option<PoolBlock>>>());
    assert!(error
        .to_string()
        .starts_with("FERRUM_ERROR_INVALID_ARGUMENT: "));
    assert!(format!("{error:?}").starts_with("Rejected {"));
    // A boxed error keeps its object.
    assert_eq!(pool.statistics().unwrap().live_blocks.current, 1);
    drop(error);
    // Objects that `?` dropped have ended.
    assert_eq!(pool.statistics().unwrap().live_blocks.current, 0);
    assert_eq!(ranges.statistics().unwrap().live_blocks.current, 0);
    assert_eq!(manager.statistics().unwrap().live_blocks.current, 0);
}

/// Expects an error of that kind, and returns the object in it.
fn refused<T>(ended: std::result::Result<(), Rejected<T>>, kind: ErrorKind) -> T {
    let rejected = ended.expect_err("it ended");
    assert_eq!(rejected.kind(), kind, "{rejected}");
    let error: Error = (*rejected.error).clone();
    assert!(!error.message.is_empty());
    rejected.object
}

fn small_space() -> VirtualPoolConfig {
    VirtualPoolConfig {
        capacity_bytes: 64 * PAGE,
        page_bytes: Some(PAGE),
        ..Default::default()
    }
}

fn closed(library: &Library, device: &Device, other: &Device) {
    let again = device.clone();
    drop(refused(again.close(), ErrorKind::Busy));

    let pool = device.create_pool(&PoolConfig::default()).unwrap();
    let block = pool.alloc(100, None).unwrap();
    let pool = refused(pool.close(), ErrorKind::Busy);
    let address = block.into_address();
    // The library itself rejects it: the block has no object any more. SAFETY: from into_address
    // above.
    let pool = refused(pool.close(), ErrorKind::Busy);
    // SAFETY: from into_address above.
    drop(unsafe { PoolBlock::from_address(&pool, address, 100, None) });
    pool.close().unwrap();

    let ranges = device.create_virtual_pool(&small_space()).unwrap();
    let range = ranges.alloc(0, PAGE).unwrap();
    let ranges = refused(ranges.close(), ErrorKind::Busy);
    drop(range);
    ranges.close().unwrap();

    let elastic = device
        .create_elastic_pool(&ElasticPoolConfig {
            limit_bytes: Some(64 * PAGE),
            page_bytes: Some(PAGE),
            ..Default::default()
        })
        .unwrap();
    let config = ModelConfig {
        virtual_bytes: 64 * PAGE,
        ..Default::default()
    };
    let model = elastic.register_model("chat", &config).unwrap();
    let elastic = refused(elastic.close(), ErrorKind::Busy);
    let range = model.alloc(PAGE).unwrap();
    let model = refused(model.close(), ErrorKind::Busy);
    drop(range);
    let id = model.into_id().unwrap();
    // SAFETY: from into_id above.
    let model = unsafe { elastic.model_from_id(&id) }.unwrap();
    assert_eq!((model.id(), model.capacity_bytes()), ("chat", 64 * PAGE));
    model.close().unwrap();
    // SAFETY: the model does not exist.
    let unknown = unsafe { elastic.model_from_id(&id) }.unwrap_err();
    assert_eq!(unknown.kind, ErrorKind::ModelNotFound);
    elastic.close().unwrap();

    let manager = device.create_manager(&ManagerConfig::default()).unwrap();
    let block = manager.alloc(100).unwrap();
    let pin = block.pin().unwrap();
    pin.unpin().unwrap();
    block.map(HostAccess::ReadOnly).unwrap().unmap().unwrap();
    let manager = refused(manager.close(), ErrorKind::Busy);
    block.free().unwrap();
    manager.close().unwrap();

    let buffers = FallbackManager::new(device, Some(other), &MemoryConfig::default()).unwrap();
    let buffer = buffers.alloc(&ten_bytes()).unwrap();
    let buffers = refused(buffers.close(), ErrorKind::Busy);
    buffer.free(None).unwrap();
    buffers.close().unwrap();

    let generic = GenericMemoryPool::new(library, &MemoryConfig::default()).unwrap();
    let lease = generic
        .record_allocation(vec![0_u8; 64], 64, &BufferUse::default())
        .unwrap();
    let generic = refused(generic.close(), ErrorKind::Busy);
    generic.return_buffer(lease).unwrap();
    generic.close().unwrap();

    let stream = device.create_stream().unwrap();
    let (open, gate) = std::sync::mpsc::channel::<()>();
    stream.call(move || gate.recv().unwrap()).unwrap();
    let stream = refused(stream.close(), ErrorKind::Busy);
    open.send(()).unwrap();
    stream.synchronize(None).unwrap();
    stream.record().unwrap().close().unwrap();
    stream.close().unwrap();
    device.default_stream().unwrap().close().unwrap();

    device.on_pressure(|_| ()).unwrap().close().unwrap();
    Placement::with(library, "own", |_, _| None)
        .unwrap()
        .close()
        .unwrap();
    let monitor = Monitor::new(library, &Default::default()).unwrap();
    monitor.on_change(|_| ()).unwrap();
    monitor.close().unwrap();
    AllocationTracker::new(library).unwrap().close().unwrap();
}

fn ten_bytes() -> BufferRequest<'static> {
    BufferRequest {
        dtype: DType::U8,
        num_elements: 10,
        ..Default::default()
    }
}

/// `into_raw` ends nothing, and the object of `from_raw` ends it.
fn given_up(library: &Library, device: &Device, host: &Device) {
    let opened = Device::open(library, "cpu:1").unwrap().into_raw().unwrap();
    // SAFETY: from into_raw above, like all handles below.
    drop(unsafe { Device::from_raw(library, opened) });

    let pool = device.create_pool(&PoolConfig::default()).unwrap();
    let block = pool.alloc(100, None).unwrap();
    let address = block.into_address();
    let raw = pool.into_raw().unwrap();
    let pool = unsafe { Pool::from_raw(device, raw) }.unwrap();
    drop(unsafe { PoolBlock::from_address(&pool, address, 100, None) });
    assert_eq!(pool.statistics().unwrap().live_blocks.current, 0);
    drop(pool);
    let dead = unsafe { Pool::from_raw(device, raw) }.unwrap_err();
    assert_eq!(dead.kind, ErrorKind::InvalidHandle);

    let ranges = device.create_virtual_pool(&small_space()).unwrap();
    let address = ranges.alloc(PAGE, 2 * PAGE).unwrap().into_address();
    let raw = ranges.into_raw().unwrap();
    let ranges = unsafe { VirtualPool::from_raw(device, raw) }.unwrap();
    let range = unsafe { MappedRange::from_offset(&ranges, PAGE, 2 * PAGE) };
    assert_eq!(range.address(), address);
    drop(range);
    assert_eq!(ranges.statistics().unwrap().live_blocks.current, 0);

    let manager = device.create_manager(&ManagerConfig::default()).unwrap();
    let block = manager.alloc(100).unwrap().into_raw();
    assert_eq!(manager.statistics().unwrap().live_blocks.current, 1);
    drop(unsafe { ferrum_mem::Memory::from_raw(&manager, block) });
    let raw = manager.into_raw().unwrap();
    unsafe { ferrum_mem::Manager::from_raw(device, raw) }
        .close()
        .unwrap();

    let buffers = FallbackManager::new(device, Some(host), &MemoryConfig::default()).unwrap();
    let buffer = buffers.alloc(&ten_bytes()).unwrap().into_raw();
    drop(unsafe { ferrum_mem::FallbackBuffer::from_raw(&buffers, buffer) });
    let raw = buffers.into_raw().unwrap();
    unsafe { FallbackManager::from_raw(device, Some(host), raw) }
        .close()
        .unwrap();

    let stream = device.create_stream().unwrap();
    let event = stream.record().unwrap().into_raw();
    unsafe { ferrum_mem::Event::from_raw(device, event) }
        .close()
        .unwrap();
    let raw = stream.into_raw().unwrap();
    unsafe { ferrum_mem::Stream::from_raw(device, raw) }
        .close()
        .unwrap();
    let of_device = device.default_stream().unwrap().into_raw().unwrap_err();
    assert_eq!(of_device.kind(), ErrorKind::InvalidState);
}

/// The parts of a range are freed one by one, and no page of a neighbor with them.
fn split(device: &Device) {
    let pool = device.create_virtual_pool(&small_space()).unwrap();
    let live = || pool.info().unwrap().mapped_pages;
    // Neither end is a page boundary.
    let before = pool.alloc(0, PAGE).unwrap();
    let range = pool.alloc(PAGE + 100, 4 * PAGE).unwrap();
    let after = pool.alloc(6 * PAGE, PAGE).unwrap();
    assert_eq!(live(), 7);
    let pages: Vec<u64> = range.pages().collect();
    let base = pool.base_address();
    assert_eq!(
        pages,
        (1..6).map(|page| base + page * PAGE).collect::<Vec<_>>()
    );
    let range = {
        let mut range = range;
        for wrong in [0, 1, PAGE, 4 * PAGE, 5 * PAGE, u64::MAX] {
            let rejected = range.split_at(wrong).unwrap_err();
            assert_eq!(rejected.kind(), ErrorKind::InvalidOffset);
            range = rejected.object;
        }
        let rejected = range.split_every(PAGE).unwrap_err();
        assert_eq!(rejected.kind(), ErrorKind::InvalidOffset);
        rejected.object
    };
    let (first, rest) = range.split_at(2 * PAGE - 100).unwrap();
    assert_eq!(
        (first.size_bytes(), rest.offset_bytes()),
        (2 * PAGE - 100, 3 * PAGE)
    );
    assert_eq!(rest.address(), first.address() + first.size_bytes());
    let (middle, last) = rest.split_at(PAGE).unwrap();
    middle.free(None).unwrap();
    assert_eq!(live(), 6);
    assert!(!pool.is_mapped(3 * PAGE, PAGE).unwrap());
    drop(first);
    assert_eq!(live(), 4);
    last.free(None).unwrap();
    assert_eq!(live(), 2);
    before.free(None).unwrap();
    after.free(None).unwrap();

    let parts = pool
        .alloc(0, 5 * PAGE)
        .unwrap()
        .split_every(2 * PAGE)
        .unwrap();
    let sizes: Vec<u64> = parts.iter().map(MappedRange::size_bytes).collect();
    assert_eq!(sizes, [2 * PAGE, 2 * PAGE, PAGE]);
    drop(parts);
    assert_eq!(live(), 0);
    let whole = pool.alloc(0, PAGE).unwrap().split_every(PAGE + 1).unwrap();
    assert_eq!(whole.len(), 1);
    let rejected = pool.alloc(PAGE, PAGE).unwrap().split_every(0).unwrap_err();
    assert_eq!(rejected.kind(), ErrorKind::InvalidOffset);
}

fn iterated(device: &Device) {
    let pool = device.create_pool(&PoolConfig::default()).unwrap();
    let live = || pool.statistics().unwrap().live_blocks.current;
    let mut batch = pool.alloc_batch(100, 10, None).unwrap();
    let addresses = batch.addresses().to_vec();
    assert!(batch.iter().eq(addresses.iter().copied()));
    assert!((&batch).into_iter().eq(addresses.iter().copied()));
    let tail = batch.split_off(7);
    assert_eq!((batch.len(), tail.len()), (7, 3));
    assert_eq!(tail.addresses(), &addresses[7..]);
    tail.free(None).unwrap();
    assert_eq!(live(), 7);
    let mut blocks = batch.into_iter();
    assert_eq!(blocks.len(), 7);
    let first = blocks.next().unwrap();
    assert_eq!(first.address(), addresses[0]);
    assert_eq!(blocks.next().unwrap().address(), addresses[1]);
    assert_eq!(live(), 6);
    drop(blocks);
    assert_eq!(live(), 1);
    first.free(None).unwrap();
    let mut all = pool.alloc_batch(100, 2, None).unwrap();
    let taken = all.split_off(0);
    assert!(all.is_empty());
    all.free(None).unwrap();
    assert_eq!(live(), 2);
    drop(taken);
}

/// The log receives an error when the library rejects a drop.
fn a_drop_that_is_refused(device: &Device) {
    let pool = device.create_pool(&PoolConfig::default()).unwrap();
    let heard = Arc::new(Mutex::new(Vec::new()));
    let told = heard.clone();
    on_log(LogLevel::Error, move |level, text| {
        told.lock().unwrap().push((level, text.to_owned()));
    })
    .unwrap();
    let block = pool.alloc(100, None).unwrap();
    // SAFETY: the second free is the subject of the test.
    let status = unsafe { sys::ferrum_pool_free(pool.raw(), block.address(), Default::default()) };
    assert_eq!(status, sys::FERRUM_OK);
    drop(block);
    no_log().unwrap();
    let heard = heard.lock().unwrap();
    let text = &heard[0].1;
    assert_eq!(heard.len(), 1);
    assert!(text.starts_with("ferrum_pool_free failed while an object was dropped: FERRUM_ERROR_"));
}

/// Constant values are stored in the object.
fn without_a_call(device: &Device) {
    let ranges = device.create_virtual_pool(&small_space()).unwrap();
    let info = ranges.info().unwrap();
    let kept = (
        ranges.base_address(),
        ranges.capacity_bytes(),
        ranges.page_bytes(),
    );
    assert_eq!(kept, (info.base_address, 64 * PAGE, PAGE));
    let elastic = device
        .create_elastic_pool(&ElasticPoolConfig {
            limit_bytes: Some(64 * PAGE),
            page_bytes: Some(PAGE),
            ..Default::default()
        })
        .unwrap();
    assert_eq!(elastic.page_bytes(), PAGE);
    let config = ModelConfig {
        virtual_bytes: 3 * PAGE - 1,
        ..Default::default()
    };
    let model = elastic.register_model("chat", &config).unwrap();
    assert_eq!(model.capacity_bytes(), 3 * PAGE);
    assert_eq!(model.base_address(), model.info().unwrap().base_address);
    let pool = device.create_pool(&PoolConfig::default()).unwrap();
    let paged = pool.info().unwrap().page_bytes;
    assert_eq!(pool.page_bytes(), paged);
    assert_eq!(
        pool.host_addressable(),
        device.info().unwrap().host_addressable
    );
    // Proves that no C function is called: a call would fail with a destroyed handle. SAFETY: the
    // pool has no range.
    let status = unsafe { sys::ferrum_vpool_destroy(ranges.raw(), 0) };
    assert_eq!(status, sys::FERRUM_OK);
    assert_eq!(ranges.info().unwrap_err().kind, ErrorKind::InvalidHandle);
    assert_eq!(
        (
            ranges.base_address(),
            ranges.capacity_bytes(),
            ranges.page_bytes()
        ),
        kept
    );
}
