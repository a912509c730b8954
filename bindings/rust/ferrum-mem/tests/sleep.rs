//! Sleep and wake with the real library. The tests share one start, because a process has one
//! library.

use std::sync::{mpsc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use ferrum_mem::{
    BlockState, Config, Device, ElasticPool, ElasticPoolConfig, ErrorKind, Library, MappedRange,
    Model, ModelConfig, ModelRequest, Rejected, SleepBacking, SleepRequest, Stream, VirtualPool,
    VirtualPoolConfig, VirtualPoolRequest, WakeRequest,
};

const PAGE: u64 = 1 << 16;

/// One test at a time: each checks that nothing is left.
static ONE: Mutex<()> = Mutex::new(());

fn session() -> (Device, MutexGuard<'static, ()>) {
    let one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    let config = Config {
        host_devices: Some(1),
        host_memory_bytes: Some(256 << 20),
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

/// A model with more address space than physical memory.
fn model(shared: &ElasticPool, id: &str) -> Model {
    let config = ModelConfig {
        virtual_bytes: 64 * PAGE,
        ..Default::default()
    };
    shared.register_model(id, &config).unwrap()
}

fn fill(range: &MappedRange, value: u8) {
    let at = range.as_ptr().unwrap().unwrap();
    // SAFETY: the range is mapped, and no other code uses it.
    unsafe { at.as_ptr().write_bytes(value, range.size_bytes() as usize) };
}

fn holds(range: &MappedRange, value: u8) -> bool {
    let at = range.as_ptr().unwrap().unwrap();
    // SAFETY: as above.
    let bytes = unsafe { std::slice::from_raw_parts(at.as_ptr(), range.size_bytes() as usize) };
    bytes[0] == value && bytes[1..] == bytes[..bytes.len() - 1]
}

#[test]
fn sleep_and_wake_keep_contents_and_addresses() {
    let (device, _one) = session();
    let folder = std::env::temp_dir().join(format!("ferrum-rust-sleep-{}", std::process::id()));
    std::fs::create_dir(&folder).unwrap();
    let pool = pool(&device);
    let range = pool.alloc(7, 3 * PAGE).unwrap();
    for backing in [
        SleepBacking::Host,
        SleepBacking::File(Some(&folder)),
        SleepBacking::Discard,
    ] {
        fill(&range, 5);
        let request = SleepRequest {
            backing,
            ..Default::default()
        };
        let slept = pool.sleep(&request).unwrap();
        assert_eq!(slept.released_bytes, 4 * PAGE);
        let file = matches!(backing, SleepBacking::File(_));
        assert_eq!(slept.path.as_ref().is_some_and(|path| path.exists()), file);
        let info = pool.info().unwrap();
        assert_eq!((info.asleep_pages, info.physical_bytes), (4, 0));
        assert_eq!(info.asleep_file_bytes, if file { 4 * PAGE } else { 0 });
        let owner = device.owner_of(range.address()).unwrap();
        assert_eq!(owner.state, BlockState::Asleep);
        assert!(pool.is_asleep(None).unwrap());
        let twice = pool.sleep(&request).unwrap_err();
        assert_eq!(twice.kind, ErrorKind::InvalidState);
        let woken = pool.wake(&WakeRequest::default()).unwrap();
        assert_eq!(woken.restored_bytes, 4 * PAGE);
        let lost = backing == SleepBacking::Discard;
        assert!(holds(&range, if lost { 0 } else { 5 }));
        let twice = pool.wake(&WakeRequest::default()).unwrap_err();
        assert_eq!(twice.kind, ErrorKind::InvalidState);
    }
    std::fs::remove_dir(&folder).unwrap();
    let missing = SleepRequest {
        backing: SleepBacking::File(Some(&folder)),
        ..Default::default()
    };
    assert_eq!(pool.sleep(&missing).unwrap_err().kind, ErrorKind::Io);
    assert!(!pool.is_asleep(Some("elastic")).unwrap());
}

/// A closed gate, and the stream that waits at it.
fn stand(device: &Device) -> (Stream, mpsc::Sender<()>) {
    let stream = device.create_stream().unwrap();
    let (open, gate) = mpsc::channel::<()>();
    stream
        .call(move || {
            let _ = gate.recv();
        })
        .unwrap();
    (stream, open)
}

#[test]
fn ranges_are_busy_while_they_fall_asleep() {
    let (device, _one) = session();
    let pool = pool(&device);
    let shared = shared(&device);
    let model = model(&shared, "chat");
    for of_model in [false, true] {
        let (stream, open) = stand(&device);
        let ranges: Vec<MappedRange> = (0..2)
            .map(|number| {
                if of_model {
                    model.alloc(PAGE).unwrap()
                } else {
                    pool.alloc(number * PAGE, PAGE).unwrap()
                }
            })
            .collect();
        ranges.iter().for_each(|range| fill(range, 8));
        let mapped = || {
            if of_model {
                let info = model.info().unwrap();
                info.mapped_pages + info.asleep_pages
            } else {
                let info = pool.info().unwrap();
                info.mapped_pages + info.asleep_pages
            }
        };
        std::thread::scope(|scope| {
            let sleeping = scope.spawn(|| {
                let request = SleepRequest {
                    stream: Some(&stream),
                    ..Default::default()
                };
                if of_model {
                    model.sleep(&request)
                } else {
                    pool.sleep(&request)
                }
            });
            let begun = || {
                if of_model {
                    model.is_asleep(None)
                } else {
                    pool.is_asleep(None)
                }
            };
            while !begun().unwrap() {
                std::thread::yield_now();
            }
            let mut ranges = ranges.into_iter();
            let Rejected {
                error,
                object: kept,
            } = ranges.next().unwrap().free(None).unwrap_err();
            assert_eq!(error.kind, ErrorKind::Busy);
            // A range that is dropped meanwhile is unmapped when the call has ended.
            drop(ranges);
            assert_eq!(mapped(), 2);
            open.send(()).unwrap();
            let slept = sleeping.join().unwrap().unwrap();
            assert_eq!(slept.released_bytes, 2 * PAGE);
            assert_eq!(mapped(), 1);
            if of_model {
                model.wake(&WakeRequest::default()).unwrap();
            } else {
                pool.wake(&WakeRequest::default()).unwrap();
            }
            assert!(holds(&kept, 8));
        });
        assert_eq!(mapped(), 0);
    }
}

/// A call that times out at any point keeps all contents.
#[test]
fn timed_out_calls_change_nothing() {
    let (device, _one) = session();
    let pool = device
        .create_virtual_pool(&VirtualPoolConfig {
            capacity_bytes: 16 << 20,
            page_bytes: Some(PAGE),
            ready_pages: Some(0),
            ..Default::default()
        })
        .unwrap();
    let range = pool.alloc(0, 16 << 20).unwrap();
    fill(&range, 6);
    pool.set_limit(Some(PAGE)).unwrap();
    let mut time = Duration::from_micros(1);
    loop {
        let request = SleepRequest {
            timeout: Some(time),
            ..Default::default()
        };
        match pool.sleep(&request) {
            Ok(_) => break,
            Err(error) => assert_eq!(error.kind, ErrorKind::Timeout, "{error}"),
        }
        assert_eq!(pool.info().unwrap().mapped_pages, (16 << 20) / PAGE);
        assert!(holds(&range, 6));
        time += time / 2;
    }
    let short = pool.wake(&WakeRequest::default()).unwrap_err();
    assert_eq!(short.kind, ErrorKind::OutOfPhysicalMemory);
    assert!(pool.is_asleep(None).unwrap());
    pool.set_limit(None).unwrap();
    pool.wake(&WakeRequest::default()).unwrap();
    assert!(holds(&range, 6));
}

#[test]
fn pointers_to_unmapped_ranges_are_rejected() {
    let (device, _one) = session();
    let pool = pool(&device);
    let shared = shared(&device);
    let model = model(&shared, "chat");
    let kept = pool.alloc(0, 2 * PAGE).unwrap();
    let range = model.alloc(2 * PAGE).unwrap();
    let request = SleepRequest::default();
    pool.sleep(&request).unwrap();
    model.sleep(&request).unwrap();
    for asleep in [&kept, &range] {
        let error = asleep.as_ptr().unwrap_err();
        assert_eq!(error.kind, ErrorKind::InvalidState);
        assert!(error.message.contains("offset 0, size 131072"), "{error}");
    }
    pool.wake(&WakeRequest::default()).unwrap();
    model.wake(&WakeRequest::default()).unwrap();
    fill(&kept, 3);
    fill(&range, 4);

    // A range keeps its pool or model, also after all other references are dropped.
    let (pool_raw, shared_raw) = (pool.raw(), shared.raw());
    drop((pool, shared, model));
    assert!(holds(&kept, 3) && holds(&range, 4));

    // Ended through the C functions. SAFETY: takes only numbers; no code uses the pointers of the
    // ranges any more.
    let statuses = unsafe {
        [
            ferrum_mem::sys::ferrum_vpool_destroy(pool_raw, ferrum_mem::sys::FERRUM_FORCE),
            ferrum_mem::sys::ferrum_elastic_pool_destroy(shared_raw, ferrum_mem::sys::FERRUM_FORCE),
        ]
    };
    assert_eq!(statuses, [ferrum_mem::sys::FERRUM_OK; 2]);
    for gone in [kept, range] {
        let error = gone.as_ptr().unwrap_err();
        assert_eq!(error.kind, ErrorKind::InvalidHandle);
        let Rejected {
            error,
            object: again,
        } = gone.free(None).unwrap_err();
        assert_eq!(error.kind, ErrorKind::InvalidHandle);
        drop(again);
    }
}

#[test]
fn models_sleep_and_wake_by_tag() {
    let (device, _one) = session();
    let shared = shared(&device);
    let weights = ModelRequest {
        size_bytes: 3 * PAGE,
        tag: Some("weights"),
        ..Default::default()
    };
    let chat = model(&shared, "chat");
    let code = model(&shared, "code");
    let first = chat.alloc_with(&weights).unwrap();
    fill(&first, 1);
    let by_tag = SleepRequest {
        tag: Some("weights"),
        ..Default::default()
    };
    chat.sleep(&by_tag).unwrap();
    let second = code.alloc_with(&weights).unwrap();
    fill(&second, 2);
    let full = chat.wake(&WakeRequest::default()).unwrap_err();
    assert_eq!(full.kind, ErrorKind::OutOfPhysicalMemory);
    assert!(chat.is_asleep(Some("weights")).unwrap());
    code.sleep(&by_tag).unwrap();
    chat.wake(&WakeRequest::default()).unwrap();
    assert!(holds(&first, 1));
    let refused = code.alloc_with(&weights).unwrap_err();
    assert_eq!(refused.kind, ErrorKind::InvalidState);
    let late = ModelRequest {
        asleep_wait: Duration::from_millis(1),
        ..weights
    };
    assert_eq!(code.alloc_with(&late).unwrap_err().kind, ErrorKind::Timeout);
    drop(first);
    code.wake(&WakeRequest {
        tag: Some("weights"),
        ..Default::default()
    })
    .unwrap();
    assert!(holds(&second, 2));
    assert_eq!(code.info().unwrap().wakes, 1);
}

#[test]
fn allocations_wait_for_a_wake_on_request() {
    let (device, _one) = session();
    let pool = pool(&device);
    let _kept = pool.alloc(0, PAGE).unwrap();
    pool.sleep(&SleepRequest::default()).unwrap();
    let mut request = VirtualPoolRequest {
        offset_bytes: PAGE,
        size_bytes: PAGE,
        ..Default::default()
    };
    let refused = pool.alloc_with(&request).unwrap_err();
    assert_eq!(refused.kind, ErrorKind::InvalidState);
    request.asleep_wait = Duration::MAX;
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| pool.alloc_with(&request));
        pool.wake(&WakeRequest::default()).unwrap();
        fill(&waiting.join().unwrap().unwrap(), 1);
    });
}
