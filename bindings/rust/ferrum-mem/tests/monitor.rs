//! The global monitor and placement over three host devices.

use std::sync::mpsc;
use std::time::Duration;

use ferrum_mem::{
    Config, Device, ErrorKind, Library, Monitor, MonitorConfig, Placement, PlacementRequest,
    PoolConfig, PressureLevel, PressureProfile,
};

const MIB: u64 = 1 << 20;
const SHARE: u64 = 64 * MIB;

fn devices() -> (Library, Vec<Device>) {
    let config = Config {
        host_devices: 3,
        host_memory_bytes: 3 * SHARE,
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
        initial_size_bytes: MIB,
        growth_increment_bytes: MIB,
        ..Default::default()
    }
}

// One library of one process: the tests would see each other's settings.
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
    let turns = Placement::new(library, "round_robin").unwrap();
    for want in [0, 1, 2, 0] {
        let chosen = turns.select(&request, devices).unwrap();
        assert_eq!(chosen.raw().id, devices[want].raw().id);
    }
    let best = Placement::new(library, "best_fit").unwrap();
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
    let unknown = Placement::new(library, "first_fit").unwrap_err();
    assert_eq!(unknown.kind, ErrorKind::NotFound);
}

fn own_strategies(library: &Library, devices: &[Device]) {
    let request = PlacementRequest {
        size_bytes: MIB,
        ..Default::default()
    };
    let last = Placement::with(library, "last", |_, options| Some(options.len() - 1)).unwrap();
    let chosen = last.select(&request, devices).unwrap();
    assert_eq!(chosen.raw().id, devices[2].raw().id);
    let none = Placement::with(library, "none", |_, _| None).unwrap();
    let error = none.select(&request, devices).unwrap_err();
    assert_eq!(error.kind, ErrorKind::NotFound);
    let panics = Placement::with(library, "panics", |_, _| panic!("on purpose")).unwrap();
    let error = panics.select(&request, devices).unwrap_err();
    assert_eq!(error.kind, ErrorKind::Internal);
    assert!(error.message.contains("panics"), "{error}");
}
