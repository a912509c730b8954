//! Tensors: made in every kind of memory, views and what they keep alive, elements, memory of the
//! program, DLPack both ways, sleep, handles, and wrong arguments.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Arc;
use std::time::{Duration, Instant};

use ferrum_mem::{
    leak_report_json, sys, Config, DType, Device, DlPack, ElasticPoolConfig, ErrorKind, KvCache,
    KvCacheConfig, Library, LoadMemory, LoadRequest, ModelConfig, Pool, PoolConfig, Result,
    SleepRequest, Stream, Tensor, TensorLayout, VirtualPoolConfig, WakeRequest, Weights,
    WeightsSource,
};

const MIB: u64 = 1 << 20;
const SIX: [f32; 6] = [0.0, 1.0, 2.0, 3.0, 4.0, 5.0];

struct Rig {
    device: Device,
    pool: Pool,
    stream: Stream,
}

// One test function, because the tests of a process share one library and see its objects.
#[test]
fn tensors() {
    let library = Library::start_with(&Config {
        host_devices: Some(2),
        host_memory_bytes: Some(256 * MIB),
        ..Default::default()
    })
    .unwrap();
    let device = Device::open(&library, "cpu:0").unwrap();
    let rig = Rig {
        pool: device.create_pool(&PoolConfig::default()).unwrap(),
        stream: device.create_stream().unwrap(),
        device,
    };
    for test in [
        described,
        viewed,
        elements,
        converted,
        memories,
        kv_caches,
        weights,
        wrapped,
        owned,
        exchanged,
        exchanged_by_hand,
        asleep,
        handles,
    ] {
        test(&library, &rig);
        assert_eq!(live_blocks(&rig), 0);
    }
    let Rig {
        device,
        pool,
        stream,
    } = rig;
    stream.close().unwrap();
    pool.close().unwrap();
    let mut open = Some(device);
    eventually("the device is not used", || {
        open = open
            .take()
            .and_then(|it| it.close().err().map(|busy| busy.object));
        open.is_none()
    });
    library.close().unwrap();
    let left = leak_report_json().unwrap();
    assert!(!left.contains("\"kind\""), "{left}");
}

fn live_blocks(rig: &Rig) -> u64 {
    rig.pool.statistics().unwrap().live_blocks.current
}

/// Waits for the thread that ends the pool of an export.
fn eventually(what: &str, mut is_so: impl FnMut() -> bool) {
    let end = Instant::now() + Duration::from_secs(60);
    while !is_so() {
        assert!(Instant::now() < end, "{what}");
        std::thread::yield_now();
    }
}

fn create(rig: &Rig, dtype: DType, shape: &[u64]) -> Tensor {
    Tensor::create(
        &LoadMemory::pool(&rig.pool),
        dtype,
        shape,
        Some(&rig.stream),
    )
    .unwrap()
}

/// 0 to 5 in the shape [2, 3].
fn six(rig: &Rig) -> Tensor {
    let made = create(rig, DType::F32, &[2, 3]);
    made.write(&SIX, Some(&rig.stream)).unwrap();
    made
}

fn floats(tensor: &Tensor) -> Vec<f32> {
    tensor.to_vec(None).unwrap()
}

fn kind<T>(result: Result<T>) -> ErrorKind {
    result.err().expect("it has to fail").kind
}

fn described(_: &Library, rig: &Rig) {
    let tensor = six(rig);
    let known = tensor.description();
    assert_eq!((known.dtype, tensor.dtype()), (DType::F32, DType::F32));
    assert_eq!(
        (known.shape.as_slice(), known.strides.as_slice()),
        ([2, 3].as_slice(), [3, 1].as_slice())
    );
    assert_eq!((known.size_bytes, known.device.as_str()), (24, "cpu:0"));
    assert!(known.is_contiguous && !known.is_read_only && !known.is_packed);
    let owner = rig.device.owner_of(known.address.unwrap()).unwrap();
    assert_eq!(owner.pool.unwrap().id, rig.pool.raw().id);
    assert_eq!(live_blocks(rig), 1);
    tensor.close().unwrap();
    assert_eq!(live_blocks(rig), 0);
    let one = create(rig, DType::F64, &[]);
    assert_eq!(
        (one.shape(), one.description().size_bytes),
        ([].as_slice(), 8)
    );
    let none = create(rig, DType::F64, &[3, 0, 2]);
    assert_eq!(
        (none.description().address, none.description().size_bytes),
        (None, 0)
    );
    assert!(none.to_vec::<f64>(None).unwrap().is_empty());
    assert_eq!(live_blocks(rig), 1);

    let memory = LoadMemory::pool(&rig.pool);
    let wrong = |dtype, shape: &[u64]| kind(Tensor::create(&memory, dtype, shape, None));
    assert_eq!(wrong(DType::F32, &[1; 9]), ErrorKind::InvalidArgument);
    assert_eq!(wrong(DType::F32, &[1 << 40, 1 << 40]), ErrorKind::Overflow);
    assert_eq!(wrong(DType::F32, &[u64::MAX]), ErrorKind::Overflow);
    assert_eq!(wrong(DType::I4, &[3]), ErrorKind::InvalidArgument);
    let tag = memory.tag("a\0b");
    assert_eq!(
        kind(Tensor::create(&tag, DType::F32, &[1], None)),
        ErrorKind::InvalidArgument
    );
    let caller = LoadMemory::caller(&rig.device);
    assert_eq!(
        kind(Tensor::create(&caller, DType::F32, &[1], None)),
        ErrorKind::InvalidArgument
    );
}

fn viewed(_: &Library, rig: &Rig) {
    let tensor = six(rig);
    let row = tensor.narrow(0, 1, 1).unwrap();
    let column = tensor.narrow(-1, 2, 1).unwrap();
    let turned = tensor.permute(&[1, 0]).unwrap();
    let outer = tensor.slice(-1, 2, 2, -2).unwrap();
    assert_eq!(outer.description().strides, [3, -2]);
    assert_eq!(floats(&outer), [2.0, 0.0, 5.0, 3.0]);
    let wrong = |start, length, step| kind(tensor.slice(1, start, length, step));
    assert_eq!(wrong(0, 2, 3), ErrorKind::InvalidOffset);
    assert_eq!(wrong(0, u64::MAX, 1), ErrorKind::InvalidOffset);
    assert_eq!(wrong(0, 1, 0), ErrorKind::InvalidArgument);
    drop(outer);
    let flat = tensor.reshape(&[6]).unwrap();
    let wide = row.expand(&[2, 2, 3]).unwrap();
    assert_eq!(live_blocks(rig), 1);
    drop(tensor);
    assert_eq!(floats(&row), [3.0, 4.0, 5.0]);
    assert_eq!(
        (column.shape(), floats(&column)),
        ([2, 1].as_slice(), vec![2.0, 5.0])
    );
    assert_eq!(floats(&turned), [0.0, 3.0, 1.0, 4.0, 2.0, 5.0]);
    assert_eq!(turned.description().strides, [1, 3]);
    assert!(!turned.description().is_contiguous);
    assert_eq!(floats(&flat), SIX);
    assert_eq!(floats(&wide).len(), 12);
    assert_eq!(wide.description().strides, [0, 0, 1]);
    // A view writes the elements of the others.
    turned
        .write(&[9.0f32, 8.0, 7.0, 6.0, 5.0, 4.0], None)
        .unwrap();
    assert_eq!(floats(&flat), [9.0, 7.0, 5.0, 8.0, 6.0, 4.0]);
    assert_eq!(kind(wide.fill(1.0, None)), ErrorKind::InvalidArgument);
    assert_eq!(kind(turned.reshape(&[6])), ErrorKind::Unsupported);
    assert_eq!(kind(flat.reshape(&[5])), ErrorKind::InvalidArgument);
    assert_eq!(kind(flat.narrow(1, 0, 1)), ErrorKind::InvalidArgument);
    assert_eq!(kind(flat.narrow(0, 4, 3)), ErrorKind::InvalidOffset);
    assert_eq!(
        kind(flat.narrow(0, u64::MAX, u64::MAX)),
        ErrorKind::InvalidOffset
    );
    assert_eq!(kind(turned.permute(&[0, 0])), ErrorKind::InvalidArgument);
    assert_eq!(kind(turned.permute(&[])), ErrorKind::InvalidArgument);
    assert_eq!(kind(turned.expand(&[3, 4])), ErrorKind::InvalidArgument);
    for view in [row, column, turned, flat, wide] {
        assert_eq!(live_blocks(rig), 1);
        drop(view);
    }
}

fn elements(_: &Library, rig: &Rig) {
    let tensor = six(rig);
    let mut to = [0.0f32; 6];
    tensor.read(&mut to, None).unwrap();
    assert_eq!(to, SIX);
    let mut bytes = [1u8; 24];
    tensor.read_bytes(&mut bytes, None).unwrap();
    assert_eq!(bytes[20..], 5.0f32.to_ne_bytes());
    bytes[..4].copy_from_slice(&7.0f32.to_ne_bytes());
    tensor.write_bytes(&bytes, None).unwrap();
    assert_eq!(floats(&tensor)[..2], [7.0, 1.0]);
    tensor.fill(-1.5, None).unwrap();
    assert_eq!(floats(&tensor), [-1.5; 6]);
    assert_eq!(
        kind(tensor.read(&mut to[..5], None)),
        ErrorKind::InvalidSize
    );
    assert_eq!(kind(tensor.write(&SIX[..5], None)), ErrorKind::InvalidSize);
    let other = tensor.to_vec::<i32>(None).unwrap_err();
    assert_eq!(other.message, "the elements are of the type f32, not i32");
    assert_eq!(
        kind(tensor.write(&[0i32; 6], None)),
        ErrorKind::InvalidArgument
    );
    let mut wrong = [0i32; 6];
    assert_eq!(
        kind(tensor.read(&mut wrong, None)),
        ErrorKind::InvalidArgument
    );
}

fn converted(library: &Library, rig: &Rig) {
    let from = six(rig);
    let to = create(rig, DType::F16, &[3, 2]);
    to.copy_from(&from.permute(&[1, 0]).unwrap(), Some(&rig.stream))
        .unwrap();
    drop(from);
    let here = LoadMemory::pool(&rig.pool);
    let whole = to.to(&here, DType::I64, Some(&rig.stream)).unwrap();
    assert_eq!(
        whole.to_vec::<i64>(Some(&rig.stream)).unwrap(),
        [0, 3, 1, 4, 2, 5]
    );
    let other = Device::open(library, "cpu:1").unwrap();
    let there = other.create_pool(&PoolConfig::default()).unwrap();
    let moved = to
        .to(&LoadMemory::pool(&there), DType::F32, Some(&rig.stream))
        .unwrap();
    assert_eq!(moved.description().device, "cpu:1");
    assert_eq!(floats(&moved), [0.0, 3.0, 1.0, 4.0, 2.0, 5.0]);
    assert_eq!(
        kind(moved.copy_from(&to, None)),
        ErrorKind::UnsupportedDevice
    );
    assert_eq!(
        kind(to.copy_from(&six(rig), None)),
        ErrorKind::InvalidArgument
    );
    // A tensor keeps its pool and its device open.
    let busy = there.close().unwrap_err();
    assert_eq!(busy.kind(), ErrorKind::Busy);
    drop((busy, other));
    assert_eq!(floats(&moved)[5], 5.0);
}

fn memories(_: &Library, rig: &Rig) {
    let space = VirtualPoolConfig {
        capacity_bytes: 16 * MIB,
        ..Default::default()
    };
    let ranges = rig.device.create_virtual_pool(&space).unwrap();
    let tensor = Tensor::create(
        &LoadMemory::virtual_pool(&ranges, 0),
        DType::I32,
        &[4],
        None,
    )
    .unwrap();
    drop(ranges);
    tensor.write(&[1i32, 2, 3, 4], None).unwrap();
    assert_eq!(tensor.to_vec::<i32>(None).unwrap(), [1, 2, 3, 4]);

    let manager = rig.device.create_manager(&Default::default()).unwrap();
    let block = Arc::new(manager.alloc(4096).unwrap());
    block.write(256, &5i32.to_ne_bytes()).unwrap();
    let layout = TensorLayout::new(DType::I32, &[2, 2]).strided(&[1, 2]);
    let tensor = Tensor::from_memory(&block, 256, &layout).unwrap();
    assert_eq!(tensor.to_vec::<i32>(None).unwrap()[0], 5);
    let far = Tensor::from_memory(&block, 4096 - 8, &layout);
    assert_eq!(kind(far), ErrorKind::InvalidOffset);
    let odd = TensorLayout::new(DType::I32, &[2]).strided(&[1, 2]);
    assert_eq!(
        kind(Tensor::from_memory(&block, 0, &odd)),
        ErrorKind::InvalidArgument
    );
    let deep = TensorLayout::new(DType::I32, &[1; 9]);
    assert_eq!(
        kind(Tensor::from_memory(&block, 0, &deep)),
        ErrorKind::InvalidArgument
    );
    assert_eq!(Arc::strong_count(&block), 2);
    drop((block, manager));
    tensor.fill(3.0, None).unwrap();
    assert_eq!(tensor.to_vec::<i32>(None).unwrap(), [3; 4]);
}

fn weights(library: &Library, rig: &Rig) {
    let bytes: Vec<u8> = SIX.iter().flat_map(|it| it.to_le_bytes()).collect();
    let source = WeightsSource::memory("memory", bytes).raw(DType::F32, vec![2, 3]);
    let opened = Weights::open_source(library, &source).unwrap();
    let set = opened
        .load(&LoadRequest::to(LoadMemory::pool(&rig.pool)))
        .unwrap();
    set.wait(None).unwrap();
    let set = Arc::new(set);
    let tensor = Tensor::from_set(&set, 0).unwrap();
    assert_eq!(kind(Tensor::from_set(&set, 1)), ErrorKind::InvalidArgument);
    drop((set, opened));
    assert_eq!(
        (tensor.shape(), floats(&tensor)),
        ([2, 3].as_slice(), SIX.to_vec())
    );
}

fn wrapped(_: &Library, rig: &Rig) {
    static RELEASED: AtomicUsize = AtomicUsize::new(0);
    let released = || RELEASED.load(Ordering::SeqCst);
    let held = Arc::new(());
    let counted = |held: Arc<()>| {
        move || {
            drop(held);
            RELEASED.fetch_add(1, Ordering::SeqCst);
        }
    };
    let memory: &'static mut [f32; 6] = Box::leak(Box::new(SIX));
    let (address, end) = (memory.as_ptr() as u64, memory.as_ptr() as u64 + 20);
    let backwards = TensorLayout::new(DType::F32, &[6])
        .strided(&[-1])
        .first_at(end)
        .read_only();
    let wrap = |layout: &TensorLayout, release: Box<dyn FnOnce() + Send>| {
        // SAFETY: nothing else uses the memory, which is never freed.
        unsafe { Tensor::wrap(&rig.device, address, 24, layout, release) }
    };
    let tensor = wrap(&backwards, Box::new(counted(held.clone()))).unwrap();
    assert_eq!(floats(&tensor), [5.0, 4.0, 3.0, 2.0, 1.0, 0.0]);
    assert!(tensor.description().is_read_only);
    assert_eq!(kind(tensor.fill(1.0, None)), ErrorKind::PermissionDenied);
    let view = tensor.narrow(0, 0, 2).unwrap();
    drop(tensor);
    assert_eq!((released(), Arc::strong_count(&held)), (0, 2));
    drop(view);
    assert_eq!((released(), Arc::strong_count(&held)), (1, 1));

    // After an error the closure is dropped, and not called.
    let long = TensorLayout::new(DType::F32, &[7]);
    assert_eq!(
        kind(wrap(&long, Box::new(counted(held.clone())))),
        ErrorKind::InvalidOffset
    );
    assert_eq!((released(), Arc::strong_count(&held)), (1, 1));
    // A panic ends in the closure.
    let layout = TensorLayout::new(DType::F32, &[6]);
    let panicking = wrap(&layout, Box::new(|| panic!("provoked"))).unwrap();
    panicking.close().unwrap();
}

fn owned(_: &Library, rig: &Rig) {
    let tensor = Tensor::from_vec(&rig.device, SIX.to_vec(), &[3, 2]).unwrap();
    assert_eq!(floats(&tensor), SIX);
    tensor
        .narrow(0, 2, 1)
        .unwrap()
        .fill(8.0, Some(&rig.stream))
        .unwrap();
    assert_eq!(
        tensor.to_vec::<f32>(Some(&rig.stream)).unwrap()[4..],
        [8.0, 8.0]
    );
    let none = Tensor::from_vec(&rig.device, Vec::<i64>::new(), &[0, 4]).unwrap();
    assert!(none.to_vec::<i64>(None).unwrap().is_empty());
    for shape in [[2, 2], [u64::MAX, 2]] {
        assert_eq!(
            kind(Tensor::from_vec(&rig.device, SIX.to_vec(), &shape)),
            ErrorKind::InvalidArgument
        );
    }
}

fn exchanged(_: &Library, rig: &Rig) {
    for is_versioned in [true, false] {
        let tensor = six(rig);
        let export = tensor
            .permute(&[1, 0])
            .unwrap()
            .to_dlpack(is_versioned)
            .unwrap();
        assert_eq!(export.is_versioned(), is_versioned);
        drop(tensor);
        assert_eq!(live_blocks(rig), 1);
        let back = Tensor::from_dlpack(&rig.device, export).unwrap();
        assert_eq!(
            (back.shape(), floats(&back)),
            ([3, 2].as_slice(), vec![0.0, 3.0, 1.0, 4.0, 2.0, 5.0])
        );
        drop(back);
        assert_eq!(live_blocks(rig), 0);
        drop(six(rig).to_dlpack(is_versioned).unwrap());
        assert_eq!(live_blocks(rig), 0);
    }
    // A struct keeps the pool of its memory open.
    let pool = rig.device.create_pool(&PoolConfig::default()).unwrap();
    let tensor = Tensor::create(&LoadMemory::pool(&pool), DType::F32, &[1], None).unwrap();
    tensor.fill(4.0, None).unwrap();
    let export = tensor.to_dlpack(true).unwrap();
    drop((tensor, pool));
    let managed = export.into_raw();
    // SAFETY: the struct is the one above.
    let again = unsafe { DlPack::from_raw(managed, true) };
    let back = Tensor::from_dlpack(&rig.device, again).unwrap();
    assert_eq!(floats(&back), [4.0]);
    let quantised = create(rig, DType::Q80, &[32]);
    assert_eq!(kind(quantised.to_dlpack(true)), ErrorKind::Unsupported);
}

/// The older struct of DLPack, as another library declares it.
#[repr(C)]
struct Foreign {
    data: *mut f32,
    device: [i32; 2],
    ndim: i32,
    code: u8,
    bits: u8,
    lanes: u16,
    shape: *mut i64,
    strides: *mut i64,
    byte_offset: u64,
    context: *mut AtomicUsize,
    deleter: Option<unsafe extern "C" fn(*mut Foreign)>,
}

fn exchanged_by_hand(_: &Library, rig: &Rig) {
    unsafe extern "C" fn count(managed: *mut Foreign) {
        // SAFETY: the context is the counter below.
        unsafe { &*(*managed).context }.fetch_add(1, Ordering::SeqCst);
    }
    let mut deleted = AtomicUsize::new(0);
    let (mut memory, mut shape) = (SIX, [6i64]);
    let mut foreign = Foreign {
        data: memory.as_mut_ptr(),
        device: [1, 0],
        ndim: 1,
        code: 2,
        bits: 32,
        lanes: 2,
        shape: shape.as_mut_ptr(),
        strides: std::ptr::null_mut(),
        byte_offset: 0,
        context: &mut deleted,
        deleter: Some(count),
    };
    let managed = std::ptr::NonNull::from(&mut foreign).cast();
    // SAFETY: the struct and its memory outlive the tensors of this function.
    let mut dlpack = unsafe { DlPack::from_raw(managed, false) };
    // The library does not know vectors as elements. The struct comes back.
    let rejected = Tensor::from_dlpack(&rig.device, dlpack).unwrap_err();
    assert_eq!(rejected.kind(), ErrorKind::Unsupported);
    dlpack = rejected.object.unwrap();
    // SAFETY: the struct is the one above, and nothing else uses it now.
    unsafe { managed.cast::<Foreign>().as_mut() }.lanes = 1;
    assert_eq!(deleted.load(Ordering::SeqCst), 0);
    let tensor = Tensor::from_dlpack(&rig.device, dlpack).unwrap();
    assert_eq!(floats(&tensor), SIX);
    drop(tensor);
    assert_eq!(deleted.load(Ordering::SeqCst), 1);
    // SAFETY: as above; the deleter may be called once more.
    drop(unsafe { DlPack::from_raw(managed, false) });
    assert_eq!(deleted.load(Ordering::SeqCst), 2);
}

fn asleep(_: &Library, rig: &Rig) {
    let elastic = rig
        .device
        .create_elastic_pool(&ElasticPoolConfig::default())
        .unwrap();
    let config = ModelConfig {
        virtual_bytes: 16 * MIB,
        ..Default::default()
    };
    let model = elastic.register_model("chat", &config).unwrap();
    let tensor = Tensor::create(&LoadMemory::model(&model), DType::F32, &[6], None).unwrap();
    tensor.write(&SIX, None).unwrap();
    model.sleep(&SleepRequest::default()).unwrap();
    assert_eq!(kind(tensor.to_vec::<f32>(None)), ErrorKind::Busy);
    assert_eq!(kind(tensor.fill(1.0, None)), ErrorKind::Busy);
    assert_eq!(kind(tensor.to_dlpack(true)), ErrorKind::Busy);
    let view = tensor.narrow(0, 4, 2).unwrap();
    model.wake(&WakeRequest::default()).unwrap();
    assert_eq!(floats(&view), [4.0, 5.0]);
    drop((elastic, model, tensor));
    assert_eq!(floats(&view), [4.0, 5.0]);
}

fn handles(_: &Library, rig: &Rig) {
    let pool = rig.device.create_pool(&PoolConfig::default()).unwrap();
    let tensor = Tensor::create(&LoadMemory::pool(&pool), DType::F32, &[2], None).unwrap();
    tensor.fill(2.0, None).unwrap();
    let raw = tensor.into_raw();
    drop(pool);
    // SAFETY: the handle is of the tensor above.
    let again = unsafe { Tensor::from_raw(&rig.device, raw) }.unwrap();
    assert_eq!(floats(&again), [2.0, 2.0]);
    again.close().unwrap();
    // SAFETY: a handle without a tensor is an error.
    let ended = unsafe { Tensor::from_raw(&rig.device, raw) };
    assert_eq!(kind(ended), ErrorKind::InvalidHandle);
    let shared = six(rig);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| assert_eq!(floats(&shared.narrow(0, 1, 1).unwrap())[0], 3.0));
        }
    });
    // A forced end of the memory leaves a tensor that only ends.
    let pool = rig.device.create_pool(&PoolConfig::default()).unwrap();
    let tensor = Tensor::create(&LoadMemory::pool(&pool), DType::F32, &[2], None).unwrap();
    // SAFETY: the pool of the test ends twice, which is an error of its drop and nothing else.
    assert_eq!(
        unsafe { sys::ferrum_pool_destroy(pool.raw(), sys::FERRUM_FORCE) },
        sys::FERRUM_OK
    );
    assert_eq!(kind(tensor.to_vec::<f32>(None)), ErrorKind::InvalidState);
    tensor.close().unwrap();
}

/// The block manager of an engine, and a cache in a pool.
fn kv_caches(library: &Library, rig: &Rig) {
    let config = KvCacheConfig {
        block_tokens: 4,
        blocks: 10,
        sequences: 4,
        sequence_tokens: 40,
        ..Default::default()
    };
    let cache = KvCache::create(library, &config).unwrap();
    let levels = Arc::new(AtomicUsize::new(0));
    let seen = levels.clone();
    let registration = cache
        .on_pressure(move |level| seen.store(level as usize, Ordering::Relaxed))
        .unwrap();
    let hashes = cache.hash_tokens(0, &[1, 2, 3, 4, 5]).unwrap();
    let made = cache.allocate(&[6, 26], &[1, 0], &hashes).unwrap();
    assert_eq!(levels.load(Ordering::Relaxed), 2);
    let child = cache.fork(&[made[0].sequence]).unwrap()[0];
    let copies = cache.append(&[child], &[]).unwrap();
    let tables = cache.block_tables(&[made[0].sequence, child], 2).unwrap();
    assert_eq!((copies[0].source, copies[0].target), (tables[1], tables[3]));
    cache.publish(&[child], &[1], &hashes).unwrap();
    assert_eq!(cache.find(&hashes).unwrap(), 1);
    assert_eq!(
        cache.append(&[0], &[]).unwrap_err().kind,
        ErrorKind::InvalidHandle
    );
    assert_eq!(cache.stats().unwrap().copies, 1);
    let rejected = cache.close().unwrap_err();
    assert_eq!(rejected.kind(), ErrorKind::Busy);
    drop(rejected.object);
    drop(registration);

    let planes = KvCacheConfig {
        dtype: DType::F16,
        layers: 2,
        kv_heads: 2,
        head_dim: 64,
        host_blocks: 2,
        ..config
    };
    let memory = LoadMemory::pool(&rig.pool).tag("kv");
    let cache = KvCache::create_in(&memory, &planes, Some(&rig.pool), Some(&rig.stream)).unwrap();
    let cache = Arc::new(cache);
    let made = cache.allocate(&[6], &[], &[]).unwrap();
    assert!(cache.swap_out(&[made[0].sequence]).unwrap().is_empty());
    assert!(cache.swap_in(&[made[0].sequence]).unwrap().is_empty());
    let tensor = cache.plane_tensor(1, true).unwrap();
    assert_eq!(tensor.description().shape, [10, 2, 4, 64]);
    assert_eq!(
        cache.plane(2, false).unwrap_err().kind,
        ErrorKind::InvalidArgument
    );
    drop(cache);
    tensor.close().unwrap();
}
