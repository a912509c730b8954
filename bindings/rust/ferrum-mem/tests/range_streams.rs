//! A mapped range belongs to the streams that use it: it is unmapped after their work, whichever
//! code drops or frees it. Each case blocks a stream with a gate. The tests share one start,
//! because a process has one library.

use std::sync::mpsc::{channel, Sender};
use std::sync::{Mutex, MutexGuard, PoisonError};

use ferrum_mem::{
    BatchOptions, ByteRange, Config, Device, ElasticPool, ElasticPoolConfig, ErrorKind, Library,
    MappedRange, ModelConfig, ModelLimits, ModelRequest, Stream, VirtualPool, VirtualPoolConfig,
    VirtualPoolRequest,
};

const MIB: u64 = 1 << 20;
const PAGE: u64 = 1 << 16;

static ONE: Mutex<()> = Mutex::new(());

fn session() -> (Device, MutexGuard<'static, ()>) {
    let one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    let config = Config {
        host_devices: Some(1),
        host_memory_bytes: Some(256 * MIB),
        ..Default::default()
    };
    let library = Library::start_with(&config).unwrap();
    (Device::open(&library, "cpu:0").unwrap(), one)
}

fn vpool(device: &Device) -> VirtualPool {
    let config = VirtualPoolConfig {
        capacity_bytes: 64 * PAGE,
        page_bytes: Some(PAGE),
        ready_pages: Some(0),
        ..Default::default()
    };
    device.create_virtual_pool(&config).unwrap()
}

fn shared(device: &Device, pages: u64) -> ElasticPool {
    let config = ElasticPoolConfig {
        limit_bytes: Some(pages * PAGE),
        page_bytes: Some(PAGE),
        ready_pages: Some(0),
        ..Default::default()
    };
    device.create_elastic_pool(&config).unwrap()
}

/// Blocks a stream until the returned sender is dropped.
fn hold(stream: &Stream) -> Sender<()> {
    let (open, gate) = channel::<()>();
    stream
        .call(move || {
            let _ = gate.recv();
        })
        .unwrap();
    open
}

/// The ways to end a range.
fn ways() -> [fn(MappedRange, &Stream); 4] {
    [
        |range, _| drop(range),
        |range, _| range.free(None).unwrap(),
        |range, other| range.free(Some(other)).unwrap(),
        |range, other| {
            range.record_stream(other).unwrap();
            drop(range);
        },
    ]
}

#[test]
fn pool_range_is_unmapped_after_the_work_of_its_streams() {
    let (device, _one) = session();
    for recorded in [false, true] {
        for end in ways() {
            let pool = vpool(&device);
            let (user, other) = (
                device.create_stream().unwrap(),
                device.create_stream().unwrap(),
            );
            let request = VirtualPoolRequest {
                size_bytes: 4 * PAGE,
                stream: (!recorded).then_some(&user),
                ..Default::default()
            };
            let range = pool.alloc_with(&request).unwrap();
            if recorded {
                pool.record_stream(2 * PAGE, 1, &user).unwrap();
            }
            let gate = hold(&user);
            end(range, &other);
            let info = pool.info().unwrap();
            assert_eq!((info.retiring_pages, info.mapped_pages), (4, 0));
            drop(gate);
            pool.synchronize(None).unwrap();
            assert_eq!(pool.info().unwrap().retiring_pages, 0);
        }
    }
}

#[test]
fn model_range_is_unmapped_after_the_work_of_its_streams() {
    let (device, _one) = session();
    for recorded in [false, true] {
        for end in ways() {
            let pool = shared(&device, 8);
            let config = ModelConfig {
                virtual_bytes: 64 * PAGE,
                ..Default::default()
            };
            let model = pool.register_model("chat", &config).unwrap();
            let (user, other) = (
                device.create_stream().unwrap(),
                device.create_stream().unwrap(),
            );
            let request = ModelRequest {
                size_bytes: 4 * PAGE,
                stream: (!recorded).then_some(&user),
                ..Default::default()
            };
            let range = model.alloc_with(&request).unwrap();
            if recorded {
                range.record_stream(&user).unwrap();
            }
            let gate = hold(&user);
            end(range, &other);
            assert_eq!(model.info().unwrap().retiring_pages, 4);
            drop(gate);
            pool.synchronize(None).unwrap();
            assert_eq!(model.info().unwrap().retiring_pages, 0);
        }
    }
}

/// A stream that is dropped first has completed its work.
#[test]
fn stream_may_be_dropped_before_its_range() {
    let (device, _one) = session();
    let pool = vpool(&device);
    for end in ways() {
        let (user, other) = (
            device.create_stream().unwrap(),
            device.create_stream().unwrap(),
        );
        let request = VirtualPoolRequest {
            size_bytes: 4 * PAGE,
            stream: Some(&user),
            ..Default::default()
        };
        let range = pool.alloc_with(&request).unwrap();
        drop(hold(&user));
        drop(user);
        end(range, &other);
        assert_eq!(pool.info().unwrap().retiring_pages, 0);
    }
    let error = pool
        .record_stream(0, PAGE, &device.create_stream().unwrap())
        .unwrap_err();
    assert_eq!(error.kind, ErrorKind::NotMapped);
}

#[test]
fn guarantees_are_backed_or_wait() {
    let (device, _one) = session();
    let pool = shared(&device, 10);
    let config = |limits: ModelLimits| ModelConfig {
        virtual_bytes: 64 * PAGE,
        guaranteed_bytes: limits.guaranteed_bytes,
        guarantee_may_wait: limits.guarantee_may_wait,
        ..Default::default()
    };
    let user = pool.register_model("user", &config(Default::default()));
    let used = user.unwrap().alloc(8 * PAGE).unwrap();
    let mut limits = ModelLimits {
        guaranteed_bytes: 6 * PAGE,
        ..Default::default()
    };
    let refused = pool.register_model("late", &config(limits)).unwrap_err();
    assert_eq!(refused.kind, ErrorKind::OutOfPhysicalMemory);
    limits.guarantee_may_wait = true;
    let late = pool.register_model("late", &config(limits)).unwrap();
    let info = late.info().unwrap();
    assert_eq!(info.guaranteed_bytes, 2 * PAGE);
    assert_eq!(info.requested_guarantee_bytes, 6 * PAGE);
    drop(used);
    assert_eq!(late.info().unwrap().guaranteed_bytes, 6 * PAGE);
}

#[test]
fn batches_are_recorded_and_placed() {
    let (device, _one) = session();
    let pool = shared(&device, 6);
    let config = ModelConfig {
        virtual_bytes: 64 * PAGE,
        ..Default::default()
    };
    let chat = pool.register_model("chat", &config).unwrap();
    let options = BatchOptions::default();
    let made = chat.alloc_batch_anywhere(&[2 * PAGE, 1], &options).unwrap();
    assert_eq!(made[0].offset_bytes(), 0);
    assert_eq!(made[1].offset_bytes(), 2 * PAGE);
    assert!(chat.alloc_batch_anywhere(&[], &options).unwrap().is_empty());
    let error = chat
        .alloc_batch_anywhere(&[PAGE, 3 * PAGE], &options)
        .unwrap_err();
    assert_eq!(error.kind, ErrorKind::OutOfPhysicalMemory);
    let error = chat.alloc_batch_anywhere(&[PAGE, 0], &options).unwrap_err();
    assert!(error.to_string().contains("sizes[1]"), "{error}");
    let stream = device.create_stream().unwrap();
    let list = [0, 2, 9].map(|at| ByteRange {
        offset_bytes: at * PAGE,
        size_bytes: PAGE,
    });
    let error = chat.record_stream_batch(&list, &stream).unwrap_err();
    assert_eq!(error.kind, ErrorKind::NotMapped);
    chat.record_stream_batch(&list[..2], &stream).unwrap();
    let open = hold(&stream);
    drop(made);
    assert_eq!(chat.info().unwrap().retiring_pages, 3);
    drop(open);
    stream.synchronize(None).unwrap();

    let own = vpool(&device);
    let ranges = own.alloc_batch(&list, &options).unwrap();
    own.record_stream_batch(&list, &stream).unwrap();
    let open = hold(&stream);
    drop(ranges);
    assert_eq!(own.info().unwrap().retiring_pages, 3);
    drop(open);
    stream.synchronize(None).unwrap();

    let pool = device.create_pool(&Default::default()).unwrap();
    let batch = pool.alloc_batch(1000, 3, None).unwrap();
    batch.record_stream(&stream).unwrap();
    let taken = batch.addresses().to_vec();
    let open = hold(&stream);
    batch.free(None).unwrap();
    let next = pool.alloc(1000, None).unwrap();
    assert!(!taken.contains(&next.address()));
    drop(open);
    stream.synchronize(None).unwrap();
}
