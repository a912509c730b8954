//! Graphs of pools over the simulated driver, if it is built.

use std::ffi::{c_char, c_int, c_void, CString};
use std::path::Path;
use std::process::Command;
use std::ptr;

use ferrum_mem::{
    snapshot_json, DebugFlags, Device, ErrorKind, Library, Pool, PoolConfig, Result, Stream,
};

const ALONE: &str = "FERRUM_TEST_RUST_GRAPHS";
const DRIVER: &str = "FERRUM_CUDA_LIBRARY";

extern "C" {
    fn dlopen(file: *const c_char, flags: c_int) -> *mut c_void;
    fn dlsym(library: *mut c_void, name: *const c_char) -> *mut c_void;
}

/// Calls a function of the program's own driver, with up to two words.
fn cuda(name: &str, first: usize, second: usize) {
    let file = CString::new(std::env::var(DRIVER).unwrap()).unwrap();
    let symbol = CString::new(name).unwrap();
    // SAFETY: the named functions take words and return a number.
    let code = unsafe {
        let found = dlsym(dlopen(file.as_ptr(), 2), symbol.as_ptr());
        assert!(!found.is_null(), "{name}");
        let call: extern "C" fn(usize, usize) -> c_int = std::mem::transmute(found);
        call(first, second)
    };
    assert_eq!(code, 0, "{name}");
}

fn word(place: &mut usize) -> usize {
    ptr::from_mut(place) as usize
}

/// Returns with the error of an allocation while the stream captures.
fn capture_that_fails(pool: &Pool, stream: &Stream) -> Result<()> {
    let graph = pool.capture(Some(stream), None)?;
    let inside = pool.alloc(4096, Some(stream))?;
    inside.free(Some(stream))?;
    drop(pool.alloc(1 << 50, Some(stream))?);
    graph.end()
}

fn beside_the_driver() {
    let library = Library::start().unwrap();
    let device = Device::open(&library, "cuda:0").unwrap();
    let pool = device.create_pool(&PoolConfig::default()).unwrap();
    let stream = device.create_stream().unwrap();
    let native = stream.native().unwrap() as usize;
    let (mut context, mut graph) = (0, 0);
    cuda("cuDevicePrimaryCtxRetain", word(&mut context), 0);
    cuda("cuCtxPushCurrent_v2", context, 0);
    cuda("cuStreamBeginCapture_v2", native, 0);
    let failed = capture_that_fails(&pool, &stream).unwrap_err();
    assert_eq!(failed.kind, ErrorKind::OutOfMemory);
    // The captured work may still become a graph.
    assert!(snapshot_json().unwrap().contains("/graph 1"));
    cuda("cuStreamEndCapture", native, word(&mut graph));
    cuda("cuGraphDestroy", graph, 0);
    pool.trim(0).unwrap();
    assert!(!snapshot_json().unwrap().contains("/graph 1"));
    // The next capture works as usual. Its blocks have call sites if the pool records them.
    let config = PoolConfig {
        debug: DebugFlags::CALL_SITES,
        ..Default::default()
    };
    let pool = device.create_pool(&config).unwrap();
    cuda("cuStreamBeginCapture_v2", native, 0);
    let again = pool.capture(Some(&stream), None).unwrap();
    let inside = pool.alloc(4096, Some(&stream)).unwrap();
    let site = device.call_site_json(inside.address()).unwrap();
    assert!(site.contains("ferrum_pool_alloc"), "{site}");
    inside.free(Some(&stream)).unwrap();
    cuda("cuStreamEndCapture", native, word(&mut graph));
    cuda("cuGraphDestroy", graph, 0);
    again.end().unwrap();
    again.release(Some(&stream)).unwrap();
    cuda("cuDevicePrimaryCtxRelease_v2", 0, 0);
}

#[test]
fn graph_dropped_in_a_capture_is_released_afterwards() {
    if std::env::var_os(ALONE).is_some() {
        return beside_the_driver();
    }
    let driver = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../../build/test/simcuda/12090/libcuda.so.1");
    if !driver.exists() {
        eprintln!("skipped: the simulated driver is not built (make simcuda)");
        return;
    }
    let done = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "--nocapture"])
        .arg("graph_dropped_in_a_capture_is_released_afterwards")
        .env(ALONE, "1")
        .env(DRIVER, driver)
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
