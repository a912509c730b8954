//! A call that ends an object and fails: the error returns the object, which is usable as before,
//! can be ended again, and ends with its drop.

use ferrum_mem::{
    leak_report_json, BufferLocation, BufferRequest, Config, DType, Device, ElasticPoolConfig,
    ErrorKind, FallbackManager, Library, ManagerConfig, MemoryConfig, ModelConfig, PoolConfig,
    Rejected, Stream, VirtualPoolConfig,
};

const MIB: u64 = 1 << 20;
const PAGE: u64 = 1 << 16;

/// Expects an error of that kind, and returns the object in it.
fn refused<T>(ended: Result<(), Rejected<T>>, kind: ErrorKind) -> T {
    let rejected = ended.expect_err("it ended");
    assert_eq!(rejected.kind(), kind, "{rejected}");
    rejected.object
}

// One test function, because the tests of a process share one library and see its objects.
#[test]
fn failed_end_returns_the_object() {
    let library = Library::start_with(&Config {
        host_devices: Some(2),
        host_memory_bytes: Some(512 * MIB),
        ..Default::default()
    })
    .unwrap();
    let device = Device::open(&library, "cpu:0").unwrap();
    let other = Device::open(&library, "cpu:1").unwrap();
    // A free on a stream of another device is rejected.
    let foreign = other.create_stream().unwrap();
    blocks(&device, &foreign);
    ranges(&device, &foreign);
    memory(&device);
    buffers(&device, &other);
    drop(foreign);
    let left = leak_report_json().unwrap();
    for kind in ["block", "range", "memory", "buffer", "pool"] {
        assert!(!left.contains(&format!("\"kind\":\"{kind}\"")), "{left}");
    }
}

fn blocks(device: &Device, foreign: &Stream) {
    let pool = device.create_pool(&PoolConfig::default()).unwrap();
    let block = pool.alloc(1000, None).unwrap();
    // The text of an object for debugging is short.
    let text = format!("{block:?}");
    assert!(
        text.contains("pool: Pool(0x") && !text.contains("Library"),
        "{text}"
    );
    let address = block.address();
    let block = refused(block.free_sized(999, None), ErrorKind::InvalidSize).unwrap();
    let block = refused(block.free(Some(foreign)), ErrorKind::InvalidArgument).unwrap();
    assert_eq!(block.address(), address);
    assert!(block.usable_bytes().unwrap() >= 1000);
    block.free(None).unwrap();

    let batch = pool.alloc_batch(100, 3, None).unwrap();
    let batch = refused(batch.free(Some(foreign)), ErrorKind::InvalidArgument).unwrap();
    assert_eq!(batch.addresses().len(), 3);
    batch.free(None).unwrap();

    // An object that is dropped after a failed call ends.
    drop(refused(
        pool.alloc(1000, None).unwrap().free(Some(foreign)),
        ErrorKind::InvalidArgument,
    ));
    assert_eq!(pool.statistics().unwrap().live_blocks.current, 0);
}

fn ranges(device: &Device, foreign: &Stream) {
    let pool = device
        .create_virtual_pool(&VirtualPoolConfig {
            capacity_bytes: 64 * PAGE,
            page_bytes: Some(PAGE),
            ..Default::default()
        })
        .unwrap();
    let range = pool.alloc(0, PAGE).unwrap();
    let range = refused(range.free(Some(foreign)), ErrorKind::InvalidArgument);
    assert!(pool.is_mapped(0, PAGE).unwrap());
    range.free(None).unwrap();
    assert!(!pool.is_mapped(0, PAGE).unwrap());

    let shared = device
        .create_elastic_pool(&ElasticPoolConfig {
            limit_bytes: Some(64 * PAGE),
            page_bytes: Some(PAGE),
            ..Default::default()
        })
        .unwrap();
    let model = shared
        .register_model(
            "chat",
            &ModelConfig {
                virtual_bytes: 64 * PAGE,
                ..Default::default()
            },
        )
        .unwrap();
    let range = model.alloc(PAGE).unwrap();
    let range = refused(range.free(Some(foreign)), ErrorKind::InvalidArgument);
    range.free(None).unwrap();
    drop(refused(
        model.alloc(PAGE).unwrap().free(Some(foreign)),
        ErrorKind::InvalidArgument,
    ));
    assert_eq!(shared.statistics().unwrap().live_blocks.current, 0);
}

fn memory(device: &Device) {
    let manager = device.create_manager(&ManagerConfig::default()).unwrap();
    let block = manager.alloc(1000).unwrap();
    block.write(0, &[7; 1000]).unwrap();
    // A pin that is never ended.
    std::mem::forget(block.pin().unwrap());
    let block = refused(block.free(), ErrorKind::Busy).unwrap();
    let block = refused(block.free(), ErrorKind::Busy).unwrap();
    let mut seen = [0; 1000];
    block.read(0, &mut seen).unwrap();
    assert_eq!(seen, [7; 1000]);
    let mapping = block.map(ferrum_mem::HostAccess::ReadOnly).unwrap();
    assert_eq!(mapping.size_bytes(), 1000);
    mapping.unmap().unwrap();
    drop(block);
    assert_eq!(manager.statistics().unwrap().live_blocks.current, 0);
}

fn buffers(device: &Device, host: &Device) {
    let manager = FallbackManager::new(
        device,
        Some(host),
        &MemoryConfig::default().with_min_free_bytes(0),
    )
    .unwrap();
    let request = BufferRequest {
        dtype: DType::U8,
        num_elements: 100,
        ..Default::default()
    };
    let buffer = manager.alloc(&request).unwrap();
    let rejected = buffer.take(BufferLocation::Cpu).unwrap_err();
    assert_eq!(rejected.kind(), ErrorKind::InvalidState);
    let buffer = rejected.object;
    std::mem::forget(buffer.pin().unwrap());
    let rejected = buffer.take(BufferLocation::Gpu).unwrap_err();
    assert_eq!(rejected.kind(), ErrorKind::Busy);
    let buffer = refused(rejected.object.free(None), ErrorKind::Busy);
    buffer.write(0, &[1, 2, 3]).unwrap();
    drop(buffer);
    assert_eq!(manager.stats().unwrap().active_buffers, 0);
}
