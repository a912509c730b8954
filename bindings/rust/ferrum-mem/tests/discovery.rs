//! Discovery and the choice of a backend by memory.

use ferrum_mem::{
    backends_json, compute_f16_bytes, compute_f32_bytes, host_info, round_up_power_of_2,
    size_class, BackendType, Config, ErrorKind, Library,
};

#[test]
fn backends_are_chosen_by_memory() {
    let library = Library::start().unwrap();
    let summary = library.backend_summary().unwrap();
    assert!(summary.starts_with("=== Available Backends ===\n✓ CPU (CPU)\n"));
    let best = library.best_available_backend().unwrap();
    assert!(summary.ends_with(&format!("\nRecommended backend: {best}\n")));
    library.refresh_backends().unwrap();

    let choice = library
        .select_backend_for_model(BackendType::Cpu, 1 << 20)
        .unwrap();
    assert_eq!((choice.backend, choice.device_index), (BackendType::Cpu, 0));
    assert_eq!(
        (choice.id.as_str(), choice.tried.as_str()),
        ("cpu:0", "cpu:0: chosen\n")
    );
    let (device, choice) = library
        .init_backend_with_memory_check(BackendType::Auto, 1 << 20)
        .unwrap();
    assert!(choice.tried.ends_with(&format!("{}: chosen\n", choice.id)));
    drop(device);

    let error = library
        .init_backend_with_memory_check(BackendType::Auto, 1 << 50)
        .err()
        .unwrap();
    assert_eq!(error.kind, ErrorKind::OutOfMemory);
    assert!(
        error.to_string().contains("cpu:0: needs 1024 TiB"),
        "{error}"
    );
    let error = library
        .select_backend_for_model(BackendType::Metal, 1)
        .err()
        .unwrap();
    assert!(
        error.to_string().contains("Metal is not supported"),
        "{error}"
    );
    assert!(library.device_can_fit("cpu:0", 1).unwrap());
    assert!(!library.device_can_fit("cpu:0", 1 << 60).unwrap());
    assert!(library.device_can_fit("cpu:0\0", 1).is_err());
}

/// Set in the process that the test starts. The test needs a process of its own because the library
/// reads the environment when it starts.
const ALONE: &str = "FERRUM_TEST_PROBE_ALONE";

#[test]
fn discovery_may_probe_in_the_process() {
    if std::env::var_os(ALONE).is_some() {
        let misses_helper = |probe_in_process| {
            let config = Config {
                probe_in_process,
                ..Config::default()
            };
            let library = Library::start_with(&config).unwrap();
            let found = backends_json().unwrap();
            drop(library);
            found.contains("helper_unavailable")
        };
        assert!(misses_helper(false));
        assert!(!misses_helper(true));
        return;
    }
    let done = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "discovery_may_probe_in_the_process"])
        .env(ALONE, "1")
        .env("FERRUM_PROBE_HELPER", "/nonexistent/helper")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&done.stdout);
    assert!(done.status.success(), "{said}");
    assert!(said.contains("1 passed"), "{said}");
}

#[test]
fn names_and_sizes() {
    for (backend, name, display) in [
        (BackendType::Auto, "auto", "Auto"),
        (BackendType::Rocm, "rocm", "ROCm"),
        (BackendType::OpenCl, "opencl", "OpenCL"),
    ] {
        assert_eq!(
            (backend.name(), backend.to_string().as_str()),
            (name, display)
        );
        // Both texts are read, in any case.
        for text in [name, display] {
            assert_eq!(text.parse::<BackendType>().unwrap(), backend);
        }
    }
    for backend in BackendType::ALL {
        let raw = backend as i32;
        // SAFETY: the text is constant.
        let named = unsafe { std::ffi::CStr::from_ptr(ferrum_mem::sys::ferrum_backend_name(raw)) };
        assert_eq!(named.to_str().unwrap(), backend.name());
    }
    for (n, want) in [(0, 1), (1, 1), (3, 4), (5, 8), (1000, 1024)] {
        assert_eq!(round_up_power_of_2(n).unwrap(), want);
        assert_eq!(size_class(n).unwrap(), want);
    }
    assert!(round_up_power_of_2(u64::MAX).is_err());
    assert_eq!(compute_f32_bytes(7).unwrap(), 28);
    assert_eq!(compute_f16_bytes(7).unwrap(), 14);
    assert!(compute_f32_bytes(u64::MAX).is_err());
    let host = host_info().unwrap();
    assert!(!host.cpu_name.is_empty());
    assert!(host.available_bytes <= host.total_bytes && host.available_bytes.is_some());
}
