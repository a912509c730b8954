//! `into_raw` and `from_raw` of objects with closures or with buffers of the program.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Arc;
use std::time::Duration;

use ferrum_mem::{
    leak_report_json, sys, AllocationTracker, BufferId, BufferMetadata, BufferUse, Config, Device,
    ErrorKind, GenericMemoryPool, Library, MemoryConfig, Monitor, MonitorConfig, Placement,
    PlacementRequest, PlacementStrategy, PoolConfig, PressureLevel, Registration,
};

const MIB: u64 = 1 << 20;

// One test function, because the tests of a process share one library and see its objects.
#[test]
fn handles_of_objects() {
    let library = Library::start_with(&Config {
        host_memory_bytes: Some(64 * MIB),
        ..Default::default()
    })
    .unwrap();
    let device = Device::open(&library, "cpu:0").unwrap();
    a_registration(&library, &device);
    a_monitor(&library, &device);
    a_placement(&library, &device);
    a_tracker(&library);
    a_generic_pool(&library);
    device.close().unwrap();
    library.close().unwrap();
    let left = leak_report_json().unwrap();
    assert!(!left.contains("\"kind\""), "{left}");
}

/// Fills the device and empties it again, so that its level rises and falls.
fn press(device: &Device) {
    let pool = device.create_pool(&PoolConfig::default()).unwrap();
    drop(pool.alloc(62 * MIB, None).unwrap());
    pool.trim(0).unwrap();
}

/// Waits until the number is above the given one.
fn more_than(heard: &AtomicUsize, before: usize) -> usize {
    for _ in 0..1000 {
        let now = heard.load(Ordering::SeqCst);
        if now > before {
            return now;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    panic!("the closure was not called");
}

fn a_registration(library: &Library, device: &Device) {
    let heard = Arc::new(AtomicUsize::new(0));
    let told = heard.clone();
    let registration = device
        .on_pressure(move |level| {
            if level >= PressureLevel::High {
                told.fetch_add(1, Ordering::SeqCst);
            }
        })
        .unwrap();
    let raw = registration.into_raw();
    press(device);
    let first = more_than(&heard, 0);
    // SAFETY: the handle is of the registration above.
    let registration = unsafe { Registration::from_raw(library, raw) };
    assert_eq!(registration.raw(), raw);
    press(device);
    more_than(&heard, first);
    registration.close().unwrap();
    assert_eq!(Arc::strong_count(&heard), 1, "the closure has ended");
    // SAFETY: a number.
    let again = unsafe { sys::ferrum_registration_remove(raw) };
    assert_eq!(again, sys::FERRUM_ERROR_INVALID_HANDLE);
}

fn a_monitor(library: &Library, device: &Device) {
    let manager = device.create_manager(&Default::default()).unwrap();
    let config = MonitorConfig {
        interval: Some(Duration::from_millis(5)),
        ..Default::default()
    };
    let monitor = Monitor::new(library, &config).unwrap();
    monitor.register(&manager).unwrap();
    let heard = Arc::new(AtomicUsize::new(0));
    let told = heard.clone();
    monitor
        .on_change(move |_| {
            told.fetch_add(1, Ordering::SeqCst);
        })
        .unwrap();
    let raw = monitor.into_raw();
    let pool = device.create_pool(&PoolConfig::default()).unwrap();
    let block = pool.alloc(62 * MIB, None).unwrap();
    let first = more_than(&heard, 0);
    // SAFETY: the handle is of the monitor above.
    let monitor = unsafe { Monitor::from_raw(library, raw) };
    drop(block);
    pool.trim(0).unwrap();
    more_than(&heard, first);
    monitor.close().unwrap();
    assert_eq!(Arc::strong_count(&heard), 1, "the closure has ended");
}

fn a_placement(library: &Library, device: &Device) {
    let heard = Arc::new(AtomicUsize::new(0));
    let told = heard.clone();
    let own = Placement::with(library, "first", move |_, _| {
        told.fetch_add(1, Ordering::SeqCst);
        Some(0)
    })
    .unwrap();
    let raw = own.into_raw();
    assert_eq!(Arc::strong_count(&heard), 2);
    // SAFETY: the handle is of the strategy above.
    let own = unsafe { Placement::from_raw(library, raw) };
    let request = PlacementRequest {
        size_bytes: 1,
        ..Default::default()
    };
    let devices = [device.clone()];
    assert_eq!(own.select(&request, &devices).unwrap().raw(), device.raw());
    assert_eq!(heard.load(Ordering::SeqCst), 1);
    drop(own);
    assert_eq!(Arc::strong_count(&heard), 1, "the closure has ended");
    for strategy in PlacementStrategy::ALL {
        let made = Placement::new(library, strategy).unwrap();
        assert_eq!(made.name().unwrap(), strategy.to_string());
        assert_eq!(
            strategy.name().parse::<PlacementStrategy>().unwrap(),
            strategy
        );
        let raw = made.into_raw();
        // SAFETY: the handle is of the strategy above.
        unsafe { Placement::from_raw(library, raw) }
            .close()
            .unwrap();
    }
    let error = "worst_fit".parse::<PlacementStrategy>().unwrap_err();
    assert_eq!(
        (error.kind, error.message.as_str()),
        (
            ErrorKind::InvalidArgument,
            "\"worst_fit\" is not one of best_fit, best_fit_original, spread, pack, round_robin"
        )
    );
}

fn a_tracker(library: &Library) {
    let tracker = AllocationTracker::new(library).unwrap();
    let id = BufferId::new().unwrap();
    let record = BufferMetadata {
        id,
        size_bytes: 9,
        ..Default::default()
    };
    tracker.track(&record).unwrap();
    let raw = tracker.into_raw();
    // SAFETY: the handle is of the tracker above.
    let tracker = unsafe { AllocationTracker::from_raw(library, raw) };
    let found = tracker.get(id).unwrap().unwrap();
    assert_eq!((found.size_bytes, found.tag, found.device), (9, None, None));
    tracker.close().unwrap();
}

fn a_generic_pool(library: &Library) {
    let pool = GenericMemoryPool::new(library, &MemoryConfig::default()).unwrap();
    for text in ["first", "second"] {
        pool.add_free(text.to_owned(), 1024).unwrap();
    }
    let (raw, buffers) = pool.into_raw();
    assert_eq!(buffers.len(), 2);
    // SAFETY: both are of the pool above.
    let pool = unsafe { GenericMemoryPool::from_raw(library, raw, buffers) };
    pool.add_free("third".to_owned(), 1024).unwrap();
    let mut found: Vec<String> = (0..3)
        .map(|_| pool.try_get(1000, &BufferUse::default()).unwrap().unwrap())
        .map(|lease| {
            assert_eq!(lease.id, None, "the pool does not track");
            let text = lease.buffer.clone();
            pool.return_buffer(lease).unwrap();
            text
        })
        .collect();
    found.sort();
    found.dedup();
    assert!(!found.is_empty());
    assert_eq!(pool.pooled_count().unwrap(), 3);
    pool.close().unwrap();
}
