//! Pages by fabric handles: rejected on the host, and shared over the simulated driver, if it is
//! built.

use std::path::Path;
use std::process::Command;

use ferrum_mem::{
    Backing, Device, ErrorKind, Library, Manager, ManagerConfig, VirtualPool, VirtualPoolConfig,
};

const PAGE: u64 = 2 << 20;
const HANDLE: usize = 64;
const ALONE: &str = "FERRUM_TEST_RUST_FABRIC";

fn start(id: &str) -> (Library, Device, Manager) {
    let library = Library::start().unwrap();
    let device = Device::open(&library, id).unwrap();
    let manager = device.create_manager(&ManagerConfig::default()).unwrap();
    (library, device, manager)
}

fn pool(device: &Device, backing: Backing) -> ferrum_mem::Result<VirtualPool> {
    device.create_virtual_pool(&VirtualPoolConfig {
        capacity_bytes: 4 * PAGE,
        page_bytes: Some(PAGE),
        backing,
        ..Default::default()
    })
}

fn over_the_driver() {
    let (_library, device, manager) = start("cuda:0");
    let pool = pool(&device, Backing::Fabric).unwrap();
    let range = pool.alloc(0, 2 * PAGE).unwrap();
    let handles = pool.export_fabric(0, 2 * PAGE).unwrap();
    assert_eq!(handles.len(), 2 * HANDLE);
    assert_eq!(
        pool.export_fabric(0, 3 * PAGE).unwrap_err().kind,
        ErrorKind::NotMapped
    );
    // SAFETY: the pages are only copied.
    let both = unsafe { manager.import_fabric_pages(&handles, PAGE, Some("both")) }.unwrap();
    // SAFETY: as above.
    let last = unsafe { manager.import_fabric_pages(&handles[HANDLE..], PAGE, None) }.unwrap();
    both.write(PAGE, b"same").unwrap();
    let mut bytes = [0; 4];
    last.read(0, &mut bytes).unwrap();
    assert_eq!(&bytes, b"same");
    for wrong in [&handles[..HANDLE - 1], &[]] {
        // SAFETY: the call fails.
        let error = unsafe { manager.import_fabric_pages(wrong, PAGE, None) }.unwrap_err();
        assert_eq!(error.kind, ErrorKind::InvalidArgument, "{error}");
    }
    drop(range);
}

#[test]
fn fabric_handles_import_the_same_memory() {
    const NAME: &str = "fabric_handles_import_the_same_memory";
    if std::env::var_os(ALONE).is_some() {
        return over_the_driver();
    }
    let driver = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../../build/test/simcuda/12090/libcuda.so.1");
    if !driver.exists() {
        eprintln!("skipped: the simulated driver is not built (make simcuda)");
        return;
    }
    let done = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "--nocapture", NAME])
        .env(ALONE, "1")
        .env("FERRUM_CUDA_LIBRARY", driver)
        .env("SIMCUDA_LEAKS", "")
        .output()
        .unwrap();
    assert!(
        done.status.success(),
        "{}{}",
        String::from_utf8_lossy(&done.stdout),
        String::from_utf8_lossy(&done.stderr)
    );
}

#[test]
fn the_host_has_no_fabric() {
    let (_library, device, manager) = start("cpu:0");
    assert_eq!(
        pool(&device, Backing::Fabric).unwrap_err().kind,
        ErrorKind::Unsupported
    );
    // SAFETY: the call fails.
    let error = unsafe { manager.import_fabric_pages(&[1; HANDLE], PAGE, None) }.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Unsupported, "{error}");
}
