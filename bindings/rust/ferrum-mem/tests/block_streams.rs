//! Blocks belong to the stream of their allocation: in whichever way they are freed, their memory
//! is not reused while work is queued on that stream.

use std::sync::mpsc;

use ferrum_mem::{
    Config, Device, Library, Pool, PoolBlock, PoolConfig, PoolRequest, Result, Stream, ThreadCache,
};

const MIB: u64 = 1 << 20;

/// A stream that a gate blocks, and the sender that opens the gate.
fn held(device: &Device) -> (Stream, mpsc::Sender<()>) {
    let stream = device.create_stream().unwrap();
    let (open, gate) = mpsc::channel();
    stream.call(move || gate.recv().unwrap()).unwrap();
    (stream, open)
}

fn overlaps(block: &PoolBlock, address: u64, size: u64) -> bool {
    block.address() < address + size && address < block.address() + block.size_bytes()
}

fn nobody_gets(pool: &Pool, streams: &[Option<&Stream>], address: u64, size: u64, what: &str) {
    let others: Vec<_> = (0..24)
        .map(|i| pool.alloc(size, streams[i % streams.len()]).unwrap())
        .collect();
    for (i, other) in others.iter().enumerate() {
        let at = i % streams.len();
        assert!(!overlaps(other, address, size), "{what}: stream {at}");
    }
}

/// A function that allocates a block and fails before it frees the block.
fn fails_early(pool: &Pool, size: u64, stream: &Stream, address: &mut u64) -> Result<()> {
    let block = pool.alloc_with(&PoolRequest::new(size).on(stream))?;
    *address = block.address();
    stream.call(|| ())?;
    Ok(pool.alloc(0, Some(stream))?.free(None)?)
}

type Way = fn(&Pool, u64, &Stream, &Stream) -> u64;

/// The ways to free a block. Each returns the block's address.
const WAYS: [(&str, Way); 9] = [
    ("dropped", |pool, size, own, _| {
        pool.alloc(size, Some(own)).unwrap().address()
    }),
    ("dropped by an early return", |pool, size, own, _| {
        let mut address = 0;
        fails_early(pool, size, own, &mut address).unwrap_err();
        address
    }),
    ("dropped by a panic", |pool, size, own, _| {
        let block = pool.alloc(size, Some(own)).unwrap();
        let address = block.address();
        let unwound = std::panic::catch_unwind(std::panic::AssertUnwindSafe(move || {
            let _block = block;
            std::panic::resume_unwind(Box::new(()));
        }));
        assert!(unwound.is_err());
        address
    }),
    ("dropped by another thread", |pool, size, own, _| {
        let block = pool.alloc(size, Some(own)).unwrap();
        let address = block.address();
        std::thread::spawn(move || drop(block)).join().unwrap();
        address
    }),
    ("freed without a stream", |pool, size, own, _| {
        let block = pool.alloc(size, Some(own)).unwrap();
        let address = block.address();
        block.free_sized(size, None).unwrap();
        address
    }),
    ("freed on another stream", |pool, size, own, other| {
        let block = pool
            .alloc_with(&PoolRequest::new(size).aligned(256).on(own))
            .unwrap();
        let address = block.address();
        block.free(Some(other)).unwrap();
        address
    }),
    ("a batch dropped", |pool, size, own, _| {
        pool.alloc_batch(size, 3, Some(own)).unwrap().addresses()[1]
    }),
    (
        "a batch freed on another stream",
        |pool, size, own, other| {
            let batch = pool.alloc_batch(size, 3, Some(own)).unwrap();
            let address = batch.addresses()[2];
            batch.free(Some(other)).unwrap();
            address
        },
    ),
    ("freed with blocks of others", |pool, size, own, other| {
        let blocks = [Some(own), None, Some(other)].map(|s| pool.alloc(size, s).unwrap());
        let address = blocks[0].address();
        pool.free_batch(blocks.into(), None).unwrap();
        address
    }),
];

#[test]
fn test_freed_blocks_are_reused_after_the_work_of_their_stream() {
    let library = Library::start_with(&Config {
        host_memory_bytes: Some(1024 * MIB),
        ..Default::default()
    })
    .unwrap();
    let device = Device::open(&library, "cpu:0").unwrap();
    for cache in [ThreadCache::Off, ThreadCache::default()] {
        for size in [1000, 300 << 10, 2 * MIB] {
            for (what, way) in WAYS {
                let config = PoolConfig {
                    thread_cache: cache,
                    ..Default::default()
                };
                let pool = device.create_pool(&config).unwrap();
                let other = device.create_stream().unwrap();
                let (own, open) = held(&device);
                let address = way(&pool, size, &own, &other);
                nobody_gets(&pool, &[None, Some(&other)], address, size, what);
                open.send(()).unwrap();
                own.synchronize(None).unwrap();
                let books = pool.statistics().unwrap();
                assert_eq!(books.live_blocks.current, 0, "{what}");
                pool.trim(0).unwrap();
                assert_eq!(pool.statistics().unwrap().active.current, 0, "{what}");
            }
        }
    }
    streams_that_go_first(&device);
}

/// A stream that is dropped waits for its work. Its blocks are freed as usual.
fn streams_that_go_first(device: &Device) {
    let pool = device.create_pool(&PoolConfig::default()).unwrap();
    for _ in 0..20 {
        let stream = device.create_stream().unwrap();
        let block = pool.alloc(1000, Some(&stream)).unwrap();
        let large = pool.alloc(3 * MIB, Some(&stream)).unwrap();
        let freed = pool.alloc(5000, Some(&stream)).unwrap();
        let batch = pool.alloc_batch(700, 40, Some(&stream)).unwrap();
        stream.call(|| ()).unwrap();
        drop(stream);
        freed.free(None).unwrap();
        drop((block, large, batch));
        assert_eq!(pool.statistics().unwrap().live_blocks.current, 0);
    }
}
