//! Pages of one process in another, and the features that the host lacks.

use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::process::Command;

use ferrum_mem::{
    Backing, Config, Device, ErrorKind, Library, Manager, ManagerConfig, SharedMemory, VirtualPool,
    VirtualPoolConfig,
};

const PAGE: u64 = 64 << 10;
const OTHER: &str = "FERRUM_TEST_RUST_OTHER";

fn start() -> (Library, Device) {
    let config = Config {
        host_memory_bytes: Some(256 << 20),
        ..Default::default()
    };
    let library = Library::start_with(&config).unwrap();
    let device = Device::open(&library, "cpu:0").unwrap();
    (library, device)
}

fn manager(device: &Device) -> Manager {
    device.create_manager(&ManagerConfig::default()).unwrap()
}

fn pool(device: &Device, backing: Backing) -> VirtualPool {
    let config = VirtualPoolConfig {
        capacity_bytes: 4 * PAGE,
        page_bytes: Some(PAGE),
        backing,
        ..Default::default()
    };
    device.create_virtual_pool(&config).unwrap()
}

/// The other process, which has the pages under these numbers.
fn other(numbers: &str) {
    let (_library, device) = start();
    let manager = manager(&device);
    // SAFETY: the process has inherited them, and keeps them open.
    let files: Vec<BorrowedFd<'_>> = numbers
        .split(' ')
        .map(|n| unsafe { BorrowedFd::borrow_raw(n.parse().unwrap()) })
        .collect();
    // SAFETY: the first process waits for this one.
    let block = unsafe { manager.import_pages(&files, PAGE, Some("theirs")) }.unwrap();
    let mut bytes = [0; 4];
    block.read(PAGE - 2, &mut bytes).unwrap();
    assert_eq!(&bytes, b"from");
    block.write(0, b"back").unwrap();
}

#[test]
fn pages_of_another_process() {
    if let Ok(numbers) = std::env::var(OTHER) {
        return other(&numbers);
    }
    let (_library, device) = start();
    let manager = manager(&device);
    let pool = pool(&device, Backing::Shareable);
    let _range = pool.alloc(0, 2 * PAGE).unwrap();
    let files = pool.export(0, 2 * PAGE).unwrap();
    let borrowed: Vec<_> = files.iter().map(AsFd::as_fd).collect();
    // SAFETY: the pages are only copied.
    let block = unsafe { manager.import_pages(&borrowed, PAGE, None) }.unwrap();
    block.write(PAGE - 2, b"from").unwrap();
    for file in &files {
        inherit(file.as_raw_fd());
    }
    let numbers: Vec<_> = files.iter().map(|f| f.as_raw_fd().to_string()).collect();
    let done = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "pages_of_another_process"])
        .env(OTHER, numbers.join(" "))
        .output()
        .unwrap();
    assert!(done.status.success(), "{done:?}");
    let mut bytes = [0; 4];
    block.read(0, &mut bytes).unwrap();
    assert_eq!(&bytes, b"back");
    // SAFETY: as above.
    let wrong = unsafe { manager.import_pages(&borrowed, 2 * PAGE, None) }.unwrap_err();
    assert_eq!(wrong.kind, ErrorKind::InvalidPageSize);
    let wrong = unsafe { manager.import_pages(&[], PAGE, None) }.unwrap_err();
    assert_eq!(wrong.kind, ErrorKind::InvalidArgument);
    assert_eq!(
        pool.export(0, 3 * PAGE).unwrap_err().kind,
        ErrorKind::NotMapped
    );
}

/// Lets processes that this process starts inherit a descriptor.
fn inherit(file: i32) {
    extern "C" {
        fn fcntl(file: i32, command: i32, ...) -> i32;
    }
    // SAFETY: F_SETFD of an open descriptor.
    assert_eq!(unsafe { fcntl(file, 2, 0) }, 0);
}

#[test]
fn host_lacks_shared_memory() {
    let (library, device) = start();
    let manager = manager(&device);
    let stream = device.create_stream().unwrap();
    let event = stream.record().unwrap();
    let none = SharedMemory {
        handle: [0; 64],
        offset_bytes: 0,
        size_bytes: 8,
    };
    for error in [
        device.native().unwrap_err(),
        stream.native().unwrap_err(),
        event.native().unwrap_err(),
        device.share_memory(4096, 8).unwrap_err(),
        stream.share_event().unwrap_err(),
        device.open_event(&[0; 64]).unwrap_err(),
        // SAFETY: the call fails.
        unsafe { device.adopt_event(5) }.unwrap_err(),
        // SAFETY: the call fails.
        unsafe { manager.import_memory(&none, Some("none")) }.unwrap_err(),
    ] {
        assert_eq!(error.kind, ErrorKind::Unsupported, "{error}");
    }
    assert_eq!(
        device.grant_peer(&device).unwrap_err().kind,
        ErrorKind::InvalidArgument
    );
    // SAFETY: the call fails before the context is used.
    let again = unsafe { Device::open_native(&library, "cpu:0", 5) };
    assert_eq!(again.unwrap_err().kind, ErrorKind::AlreadyExists);
    let movable = pool(&device, Backing::Movable);
    let _range = movable.alloc(0, PAGE).unwrap();
    assert_eq!(
        movable.export(0, PAGE).unwrap_err().kind,
        ErrorKind::InvalidArgument
    );
    assert!(device.info().unwrap().exported_pages);
    assert!(!device.info().unwrap().shared_memory);
}
