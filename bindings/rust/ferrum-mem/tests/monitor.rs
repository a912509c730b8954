//! The global monitor and placement over three host devices.

use std::sync::{mpsc, Arc, Mutex};
use std::time::Duration;

use ferrum_mem::{
    sys, Config, Device, ErrorKind, Library, MemoryType, Monitor, MonitorConfig, Placement,
    PlacementRequest, PlacementStrategy, PoolConfig, PressureLevel, PressureProfile,
};

const MIB: u64 = 1 << 20;
const SHARE: u64 = 64 * MIB;

fn devices() -> (Library, Vec<Device>) {
    let config = Config {
        host_devices: Some(3),
        host_memory_bytes: Some(3 * SHARE),
        ..Default::default()
    };
    let library = Library::start_with(&config).unwrap();
    let devices = (0..3)
        .map(|i| Device::open(&library, &format!("cpu:{i}")).unwrap())
        .collect();
    (library, devices)
}

fn small() -> PoolConfig {
    PoolConfig {
        initial_size_bytes: Some(MIB),
        growth_increment_bytes: MIB,
        ..Default::default()
    }
}

// One test function, because the tests of a process share one library and its settings.
#[test]
fn monitor_and_placement() {
    let (library, devices) = devices();
    profiles();
    monitored(&library, &devices);
    recent(&devices[0]);
    placed(&library, &devices);
    own_strategies(&library, &devices);
}

fn profiles() {
    for (profile, bounds) in [
        (PressureProfile::Standard, [70, 85, 95]),
        (PressureProfile::Early, [60, 80, 95]),
    ] {
        for (bound, level) in bounds.into_iter().zip([
            PressureLevel::Medium,
            PressureLevel::High,
            PressureLevel::Critical,
        ]) {
            assert_eq!(profile.level_of(100, 100 - bound).unwrap(), level);
            assert!(profile.level_of(1000, 1000 - bound * 10 + 1).unwrap() < level);
            let ratio = bound as f64 / 100.0;
            assert_eq!(profile.from_utilization(ratio).unwrap(), level);
        }
    }
    assert!(PressureLevel::High.should_free() && !PressureLevel::High.should_deny());
    assert!(!PressureLevel::Medium.should_free() && PressureLevel::Critical.should_deny());
    let refused = PressureProfile::Standard.from_utilization(f64::NAN);
    assert_eq!(refused.unwrap_err().kind, ErrorKind::InvalidArgument);
}

fn monitored(library: &Library, devices: &[Device]) {
    let config = MonitorConfig {
        interval: Some(Duration::MAX),
        ignore_system: true,
        ..Default::default()
    };
    let monitor = Monitor::new(library, &config).unwrap();
    let (tell, heard) = mpsc::channel();
    let mut managers: Vec<_> = devices
        .iter()
        .map(|device| device.create_manager(&Default::default()).unwrap())
        .collect();
    for manager in &managers {
        monitor.register(manager).unwrap();
    }
    let again = monitor.register(&managers[0]).unwrap_err();
    assert_eq!(again.kind, ErrorKind::AlreadyExists);
    monitor
        .on_change(move |levels| tell.send(levels.to_vec()).unwrap())
        .unwrap();
    let pool = devices[1].create_pool(&small()).unwrap();
    let block = pool.alloc(58 * MIB, None).unwrap();
    let levels = heard.recv_timeout(Duration::from_secs(30)).unwrap();
    assert_eq!(levels.len(), 3);
    assert_eq!(levels[1].device, devices[1].raw());
    assert_eq!(levels[1].level, PressureLevel::High);
    assert_eq!(monitor.levels(Duration::ZERO).unwrap(), levels);
    let pressure = monitor.pressure(Duration::ZERO).unwrap();
    assert_eq!(pressure.level, PressureLevel::High);
    assert_eq!(pressure.weighted_level, PressureLevel::Low);
    assert_eq!((pressure.devices, pressure.total_bytes), (3, 3 * SHARE));
    drop(block);
    drop(pool);
    let levels = heard.recv_timeout(Duration::from_secs(30)).unwrap();
    assert_eq!(levels[1].level, PressureLevel::Low);

    drop(managers.pop());
    let levels = heard.recv_timeout(Duration::from_secs(30)).unwrap();
    assert_eq!(
        levels.len(),
        2,
        "a manager that is dropped leaves by itself"
    );
    assert_eq!(monitor.collect().unwrap().len(), 2);
    monitor.unregister(&managers[0]).unwrap();
    monitor.unregister_device(&devices[1]).unwrap();
    monitor.no_callback().unwrap();
    let info = monitor.info_json(Duration::ZERO).unwrap();
    assert!(info.contains("\"devices\":[]"), "{info}");
}

fn recent(device: &Device) {
    device.memory_info().unwrap();
    let manager = device.create_manager(&Default::default()).unwrap();
    let _block = manager.alloc(MIB).unwrap();
    let recent = device.recent_memory_info(Duration::MAX).unwrap();
    let asked = device.memory_info().unwrap();
    assert!(!recent.reading_age.is_zero() && asked.reading_age.is_zero());
    assert_eq!(recent.used_bytes, asked.used_bytes);
    assert!(asked.largest_free_bytes <= asked.free_bytes);
}

fn placed(library: &Library, devices: &[Device]) {
    let request = PlacementRequest {
        size_bytes: MIB,
        ..Default::default()
    };
    let turns = Placement::new(library, PlacementStrategy::RoundRobin).unwrap();
    for want in [0, 1, 2, 0] {
        let chosen = turns.select(&request, devices).unwrap();
        assert_eq!(chosen.raw().id, devices[want].raw().id);
    }
    let best = Placement::new(library, PlacementStrategy::BestFit).unwrap();
    assert_eq!(best.name().unwrap(), "best_fit");
    let strict = PlacementRequest {
        preferred: &devices[2..],
        strict: true,
        ..request
    };
    let chosen = best.select(&strict, devices).unwrap();
    assert_eq!(chosen.raw().id, devices[2].raw().id);
    let large = PlacementRequest {
        size_bytes: SHARE + 1,
        ..request
    };
    let error = best.select(&large, devices).unwrap_err();
    assert_eq!(error.kind, ErrorKind::NotFound);
    assert!(error.message.contains("cpu:2: too_small"), "{error}");
    let why = best.explain_json(&large, devices).unwrap();
    assert!(why.contains("\"chosen\":null"), "{why}");
    for strategy in PlacementStrategy::ALL {
        let made = Placement::new(library, strategy).unwrap();
        assert_eq!(made.name().unwrap(), strategy.name());
        assert!(made.select(&request, devices).is_ok());
    }
    // The library has no other strategy: for an unknown name its error lists all of them. SAFETY:
    // the name is valid during the call, raw is an output of it.
    let mut raw = sys::ferrum_placement::default();
    // SAFETY: the name is valid during the call, raw is an output of it.
    let status = unsafe { sys::ferrum_placement_create(c"first_fit".as_ptr(), &mut raw) };
    assert_eq!(status, sys::FERRUM_ERROR_NOT_FOUND);
    let mut info = sys::ferrum_error_info::default();
    // SAFETY: info is an output of the call, with its size set.
    unsafe { sys::ferrum_last_error(&mut info) };
    let listed: Vec<u8> = info.message.iter().map(|c| *c as u8).collect();
    let listed = String::from_utf8_lossy(&listed);
    let (_, names) = listed
        .trim_end_matches('\0')
        .split_once("want one of ")
        .unwrap();
    let ours = PlacementStrategy::ALL.map(PlacementStrategy::name);
    assert_eq!(names.split(", ").collect::<Vec<_>>(), ours);
}

fn own_strategies(library: &Library, devices: &[Device]) {
    let request = PlacementRequest {
        size_bytes: MIB,
        ..Default::default()
    };
    let last = Placement::with(library, "last", |_, all| Some(all.len() - 1)).unwrap();
    let chosen = last.select(&request, devices).unwrap();
    assert_eq!(chosen.raw().id, devices[2].raw().id);
    let none = Placement::with(library, "none", |_, _| None).unwrap();
    let error = none.select(&request, devices).unwrap_err();
    assert_eq!(error.kind, ErrorKind::NotFound);
    the_whole_request(library, devices);
    let panics = Placement::with(library, "panics", |_, _| panic!("on purpose")).unwrap();
    let error = panics.select(&request, devices).unwrap_err();
    assert_eq!(error.kind, ErrorKind::Internal);
    assert!(error.message.contains("panics"), "{error}");
}

/// A custom strategy gets the whole request, and may query the devices.
fn the_whole_request(library: &Library, devices: &[Device]) {
    type Seen = (String, Vec<u64>, Vec<(u64, String, u64)>);
    let seen = Arc::new(Mutex::new(Vec::<Seen>::new()));
    let kept = Arc::new(Mutex::new(None));
    let (told, keep) = (seen.clone(), kept.clone());
    let own = Placement::with(library, "asks", move |request, candidates| {
        let preferred = request.preferred.iter().map(|it| it.raw().id).collect();
        let known = candidates.iter().map(|it| {
            let info = it.device.info().unwrap();
            assert_eq!(it.option.device.id, it.device.raw().id);
            assert_eq!(
                it.device.memory_info().unwrap().total_bytes,
                it.option.total_bytes
            );
            (it.device.raw().id, info.id, it.option.total_bytes.unwrap())
        });
        let text = format!("{request:?}");
        told.lock()
            .unwrap()
            .push((text, preferred, known.collect()));
        *keep.lock().unwrap() = Some(candidates[0].device.clone());
        Some(1)
    })
    .unwrap();
    let request = PlacementRequest {
        size_bytes: 3 * MIB,
        alignment_bytes: Some(4096),
        memory_type: MemoryType::Cache,
        preferred: &devices[1..],
        strict: true,
        critical: true,
        refuse_critical: true,
        expected_lifetime: Some(Duration::from_secs(90)),
        profile: PressureProfile::Early,
    };
    let chosen = own.select(&request, devices).unwrap();
    assert_eq!(chosen.raw().id, devices[1].raw().id);
    let nothing_asked = PlacementRequest {
        size_bytes: 1,
        ..Default::default()
    };
    own.select(&nothing_asked, devices).unwrap();
    let seen = seen.lock().unwrap();
    // The request contains the same devices, but borrowed: hide that difference.
    let shown = |text: &str| text.replace("is_borrowed: true", "is_borrowed: false");
    assert_eq!(shown(&seen[0].0), format!("{request:?}"));
    assert_eq!(shown(&seen[1].0), format!("{nothing_asked:?}"));
    let handles: Vec<u64> = devices.iter().map(|it| it.raw().id).collect();
    assert_eq!(seen[0].1, handles[1..]);
    for (i, (handle, id, total)) in seen[0].2.iter().enumerate() {
        assert_eq!(
            (*handle, id.as_str(), *total),
            (handles[i], ["cpu:0", "cpu:1", "cpu:2"][i], SHARE)
        );
    }
    // A kept device closes nothing.
    let kept = kept.lock().unwrap().take().unwrap();
    kept.clone().close().unwrap();
    drop(kept);
    assert!(devices[0].info().is_ok());
}
