//! Fallback managers, trackers and generic pools over two host devices.

use std::rc::Rc;
use std::time::Duration;

use ferrum_mem::{
    AllocationTracker, BufferId, BufferLocation, BufferMetadata, BufferPlace, BufferRequest,
    BufferUse, Config, DType, Device, ErrorKind, FallbackManager, GenericMemoryPool, GpuMemoryPool,
    Library, MemoryConfig, MemoryStats, PressureLevel, Rejected,
};

const MIB: u64 = 1 << 20;

fn plain() -> MemoryConfig {
    MemoryConfig::default()
        .with_gpu_memory_fraction(3.0)
        .with_min_free_bytes(0)
        .with_tracking(true)
}

fn bytes(count: u64) -> BufferRequest<'static> {
    BufferRequest {
        dtype: DType::U8,
        num_elements: count,
        tag: Some("kv"),
        ..Default::default()
    }
}

// One test function, because the tests of a process share one library and its settings.
#[test]
fn fallback_managers() {
    let library = Library::start_with(&Config {
        host_devices: Some(2),
        host_memory_bytes: Some(64 * MIB),
        ..Default::default()
    })
    .unwrap();
    let host = Device::open(&library, "cpu:0").unwrap();
    let gpu = Device::open(&library, "cpu:1").unwrap();
    falls_back(&gpu, &host);
    storage(&gpu, &host);
    pressure(&gpu, &host);
    generic_pool(&library);
    tracker(&library);
    settings_and_counters();
    for error in [
        FallbackManager::new(&gpu, None, &plain()).unwrap_err(),
        FallbackManager::new(
            &gpu,
            Some(&host),
            &MemoryConfig {
                gpu_memory_fraction: 0.0,
                ..plain()
            },
        )
        .unwrap_err(),
    ] {
        assert_eq!(error.kind, ErrorKind::InvalidConfig);
    }
}

fn falls_back(gpu: &Device, host: &Device) {
    let manager = FallbackManager::new(gpu, Some(host), &plain()).unwrap();
    let hog = manager.alloc(&bytes(28 * MIB)).unwrap();
    let buffer = manager.alloc(&bytes(20 * MIB)).unwrap();
    assert!(hog.is_gpu().unwrap());
    assert!(buffer.is_cpu_fallback().unwrap());
    assert_eq!(buffer.as_gpu().unwrap(), None);
    assert!(buffer.as_cpu().unwrap().is_some());
    assert_eq!(manager.stats().unwrap().cpu_fallbacks, 1);
    assert_eq!(manager.fallback_stats().unwrap().cpu_bytes, 20 * MIB);
    let given: Vec<u8> = (0..100_000u32).map(|i| (i * 7) as u8).collect();
    buffer.write(MIB, &given).unwrap();
    assert_eq!(buffer.to_gpu().unwrap_err().kind, ErrorKind::OutOfMemory);
    let id = buffer.id().unwrap();
    let known = manager.tracker().unwrap().get(id).unwrap().unwrap();
    assert_eq!(
        (known.tag.as_deref(), known.location),
        (Some("kv"), BufferLocation::Cpu)
    );
    assert_eq!(known.device, Some(host.raw()));
    drop(hog);
    assert_eq!(manager.return_buffers().unwrap(), 1);
    assert!(buffer.is_gpu().unwrap());
    let mut got = vec![0; given.len()];
    buffer.read(MIB, &mut got).unwrap();
    assert_eq!(got, given);
    let pinned = buffer.pin().unwrap();
    assert_eq!(Some(pinned.address), buffer.as_gpu().unwrap());
    assert_eq!(buffer.to_cpu().unwrap_err().kind, ErrorKind::Busy);
    drop(pinned);
    buffer.to_cpu().unwrap();
    assert_eq!(manager.fallback_stats().unwrap().moved_to_cpu, 1);
    assert_eq!(buffer.num_elements().unwrap(), 20 * MIB);
    drop(buffer);
    assert_eq!(manager.stats().unwrap().active_buffers, 0);
    let pool: &dyn GpuMemoryPool = &manager;
    assert_eq!(pool.backend_name().unwrap(), "cpu");
    assert_eq!(pool.total_memory().unwrap(), Some(32 * MIB));
    assert!(pool.free_memory().unwrap() <= 32 * MIB);
    pool.clear_pool().unwrap();
    pool.shrink().unwrap();
    assert_eq!(pool.pressure().unwrap(), PressureLevel::Low);
}

fn storage(gpu: &Device, host: &Device) {
    let manager = FallbackManager::new(gpu, Some(host), &plain()).unwrap();
    let request = BufferRequest {
        place: BufferPlace::Cpu,
        ..bytes(16)
    };
    let buffer = manager.alloc(&request).unwrap();
    buffer.write(0, b"sixteen bytes it").unwrap();
    let Rejected {
        error,
        object: buffer,
    } = buffer.take(BufferLocation::Gpu).unwrap_err();
    assert_eq!(error.kind, ErrorKind::InvalidState);
    let address = buffer.take(BufferLocation::Cpu).unwrap();
    let again = manager
        .adopt(BufferLocation::Cpu, address, &bytes(7))
        .unwrap();
    let mut got = [0; 7];
    again.read(0, &mut got).unwrap();
    assert_eq!(&got, b"sixteen");
    assert_eq!(again.take(BufferLocation::Cpu).unwrap(), address);
    manager.release(BufferLocation::Cpu, address, None).unwrap();
    let gone = manager.release(BufferLocation::Cpu, address, None);
    assert_eq!(gone.unwrap_err().kind, ErrorKind::InvalidAddress);
}

fn pressure(gpu: &Device, host: &Device) {
    let manager = FallbackManager::new(gpu, Some(host), &plain()).unwrap();
    let (tell, heard) = std::sync::mpsc::channel();
    let registration = manager
        .on_pressure(move |level| tell.send(level).unwrap_or_default())
        .unwrap();
    let _buffer = manager.alloc(&bytes(20 * MIB)).unwrap();
    assert_eq!(
        heard.recv_timeout(Duration::from_secs(30)).unwrap(),
        PressureLevel::Medium
    );
    drop(registration);
}

fn generic_pool(library: &Library) {
    let token = Rc::new(());
    let config = plain().with_max_pooled(1);
    let pool = GenericMemoryPool::new(library, &config).unwrap();
    let any = BufferUse::default();
    assert!(pool.try_get(100, &any).unwrap().is_none());
    let named = BufferUse {
        tag: Some("first"),
        num_elements: 250,
        ..any
    };
    let first = pool.record_allocation(token.clone(), 1000, &named).unwrap();
    let second = pool.record_allocation(token.clone(), 900, &any).unwrap();
    let known = pool
        .tracker()
        .unwrap()
        .get(first.id.unwrap())
        .unwrap()
        .unwrap();
    assert_eq!(
        (known.tag.as_deref(), known.num_elements),
        (Some("first"), 250)
    );
    assert!(pool.return_buffer(first).unwrap());
    assert!(!pool.return_buffer(second).unwrap(), "its bucket is full");
    assert_eq!(Rc::strong_count(&token), 2);
    assert!(pool.try_get(1001, &any).unwrap().is_none());
    let mut got = pool.try_get(500, &any).unwrap().unwrap();
    assert_eq!(got.size_bytes, 1000);
    got.size_bytes = 7;
    let Rejected { error, object: got } = pool.return_buffer(got).unwrap_err();
    assert_eq!(error.kind, ErrorKind::InvalidArgument);
    let mut got = got.unwrap();
    got.size_bytes = 1000;
    assert!(pool.return_buffer(got).unwrap());
    let full = pool.add_free(token.clone(), 1024).unwrap_err();
    assert_eq!(full.kind, ErrorKind::ResourceExhausted);
    pool.add_free(token.clone(), 5000).unwrap();
    pool.record_cpu_fallback().unwrap();
    assert_eq!(pool.pooled_count().unwrap(), 2);
    assert_eq!(Rc::strong_count(&token), 3);
    assert_eq!(pool.shrink().unwrap(), 6000);
    pool.clear().unwrap();
    let want = MemoryStats {
        peak_bytes: 1900,
        pool_hits: 1,
        pool_misses: 2,
        cpu_fallbacks: 1,
        ..Default::default()
    };
    assert_eq!(pool.stats().unwrap(), want);
    pool.add_free(token.clone(), 10).unwrap();
    drop(pool);
    assert_eq!(Rc::strong_count(&token), 1, "what waits goes with the pool");
}

fn tracker(library: &Library) {
    let tracker = AllocationTracker::new(library).unwrap();
    let (first, second) = (BufferId::new().unwrap(), BufferId::new().unwrap());
    assert!(first < second);
    assert_eq!(BufferId(42).to_string(), "Buffer#42");
    let old = BufferMetadata {
        id: first,
        size_bytes: MIB,
        age: Duration::from_secs(3600),
        ..Default::default()
    }
    .with_tag("attention_scores");
    tracker.track(&old).unwrap();
    let young = BufferMetadata {
        id: second,
        size_bytes: 512,
        location: BufferLocation::Cpu,
        ..Default::default()
    };
    tracker.track(&young).unwrap();
    let totals = tracker.totals().unwrap();
    assert_eq!((totals.count, totals.total_bytes), (2, MIB + 512));
    let all = tracker.all_allocations().unwrap();
    assert_eq!([all[0].id, all[1].id], [first, second]);
    let found = tracker
        .find_old_allocations(Duration::from_secs(1800))
        .unwrap();
    assert_eq!(
        (found.len(), found[0].tag.as_deref()),
        (1, Some("attention_scores"))
    );
    assert_eq!(tracker.untrack(first).unwrap().unwrap().size_bytes, MIB);
    assert_eq!(tracker.untrack(first).unwrap(), None);
    assert_eq!(
        tracker.get(second).unwrap().unwrap().location.to_string(),
        "CPU"
    );
    tracker.clear().unwrap();
    assert_eq!(tracker.totals().unwrap().peak_bytes, MIB + 512);
    let long = tracker.track(&young.with_tag("x".repeat(64)));
    assert_eq!(long.unwrap_err().kind, ErrorKind::InvalidArgument);
}

fn settings_and_counters() {
    let default = MemoryConfig::default();
    assert_eq!(default.gpu_memory_fraction, 0.9);
    assert_eq!(default.min_free_bytes, 512 * MIB);
    assert_eq!(default.max_pooled_bytes, Some(1024 * MIB));
    assert!(default.cpu_fallback);
    for (made, want) in [
        (MemoryConfig::for_inference(), (0.95, true, 256, 4, 512)),
        (MemoryConfig::for_training(), (0.8, false, 1024, 16, 4096)),
        (MemoryConfig::for_constrained(), (0.7, true, 128, 2, 64)),
    ] {
        let c = made.unwrap();
        c.check().unwrap();
        let got = (
            c.gpu_memory_fraction,
            c.cpu_fallback,
            c.min_free_bytes / MIB,
            c.max_pooled_per_bucket,
            c.max_pooled_bytes.unwrap() / MIB,
        );
        assert_eq!(got, want);
    }
    let ahead = default.with_max_pooled_bytes(9).with_cpu_fallback(false);
    ahead
        .clone()
        .with_pre_allocation(vec![4, 5])
        .check()
        .unwrap();
    let error = ahead.with_pre_allocation(vec![8, 8]).check().unwrap_err();
    assert_eq!(error.kind, ErrorKind::InvalidConfig);

    let stats = MemoryStats {
        total_allocated_bytes: 1 << 30,
        in_use_bytes: 1 << 29,
        pool_hits: 100,
        pool_misses: 10,
        ..Default::default()
    };
    let text = stats.text().unwrap();
    assert!(
        text.contains("1024.00 MB") && text.contains("90.9%"),
        "{text}"
    );
    assert_eq!(stats.utilization().unwrap(), 0.5);
    assert_eq!(stats.efficiency().unwrap(), 0.5);
    assert_eq!(MemoryStats::default().efficiency().unwrap(), 1.0);
    assert_eq!(MemoryStats::default().hit_rate().unwrap(), 0.0);
    assert_eq!(stats.merge(stats).unwrap().pool_hits, 200);
}
