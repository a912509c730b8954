//! Random programs in which each block's bytes name its owner, with drops of all objects in any order.
//!
//! Two threads allocate and free blocks, batches and ranges with queued work; an early `?` drops some of
//! them. Streams are dropped before the blocks of their work. Work expects its owner's byte in the whole
//! block, so memory with two owners at a time shows as a wrong byte. The work itself is C
//! (`tests/c/on_device.c`), which can reach the memory of a device. `FERRUM_WORK_LIBRARY` names its
//! library.
//!
//! A process has one library, which reads the environment when it is loaded. So the programs of each
//! device run in a process of their own.

use std::ffi::{c_char, c_int, c_void, CString};
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicI32, AtomicU8, Ordering};
use std::sync::{Arc, Mutex, RwLock};
use std::time::Duration;

use ferrum_mem::sys::ferrum_stream;
use ferrum_mem::{
    Config, Device, ElasticPoolConfig, Library, MappedRange, Model, ModelConfig, ModelRequest,
    Pool, PoolBatch, PoolBlock, PoolConfig, PoolRequest, Result, Stream, VirtualPool,
    VirtualPoolConfig,
};

const MIB: u64 = 1 << 20;
const STEPS: usize = 200;
const STREAMS: usize = 3;
const BLOCKS: usize = 10;
const RANGES: u64 = 12;

extern "C" {
    fn dlopen(path: *const c_char, flags: c_int) -> *mut c_void;
    fn dlsym(library: *mut c_void, name: *const c_char) -> *mut c_void;
}

/// `block_work` of `tests/c/on_device.h`.
#[repr(C)]
struct Work {
    address: u64,
    size: u64,
    before: u8,
    after: u8,
    first: bool,
    damaged: *const AtomicI32,
}

type QueueWork = unsafe extern "C" fn(ferrum_stream, Work) -> i32;

fn queue_work() -> QueueWork {
    let path = CString::new(std::env::var("FERRUM_WORK_LIBRARY").unwrap()).unwrap();
    // SAFETY: the texts are valid during the calls, and the function has the type of its header.
    unsafe {
        let library = dlopen(path.as_ptr(), 2);
        assert!(!library.is_null(), "{path:?} cannot be loaded");
        let found = dlsym(library, c"queue_work".as_ptr());
        assert!(!found.is_null(), "{path:?} has no queue_work");
        std::mem::transmute::<*mut c_void, QueueWork>(found)
    }
}

/// A stream that is dropped while no thread uses it. `None`: it has been dropped, after its work.
type Lane = Arc<RwLock<Option<Stream>>>;

/// The object of a block, kept only for its drop.
enum Taken {
    Block(PoolBlock),
    Batch(PoolBatch),
    Range(MappedRange),
}

struct Block {
    taken: Taken,
    addresses: Vec<u64>,
    size: u64,
    byte: u8,
    /// The stream of its last work.
    last: Lane,
    part: Option<Part>,
}

/// A part of a space. It is free again after the drop of the range in it.
struct Part {
    offset: u64,
    of: Arc<Mutex<Vec<u64>>>,
}

impl Drop for Part {
    fn drop(&mut self) {
        self.of.lock().unwrap().push(self.offset);
    }
}

fn lane(device: &Device) -> Result<Lane> {
    Ok(Arc::new(RwLock::new(Some(device.create_stream()?))))
}

/// Drops the stream, which waits for its work. Meanwhile no other thread can take the stream for
/// ended.
fn end(lane: &Lane) {
    drop(lane.write().unwrap().take());
}

struct Program {
    queue_work: QueueWork,
    device: Device,
    pool: Pool,
    space: VirtualPool,
    model: Model,
    page: u64,
    parts: [Arc<Mutex<Vec<u64>>>; 2],
    exchange: Mutex<Vec<Option<Block>>>,
    next_byte: AtomicU8,
    damaged: &'static AtomicI32,
}

impl Program {
    fn work(&self, block: &Block, stream: &Stream, first: bool) -> Result<()> {
        for &address in &block.addresses {
            let work = Work {
                address,
                size: block.size,
                before: block.byte,
                after: block.byte,
                first,
                damaged: self.damaged,
            };
            // SAFETY: the block is live, and damaged is static.
            let status = unsafe { (self.queue_work)(stream.raw(), work) };
            assert_eq!(status, 0, "queue_work");
        }
        Ok(())
    }
}

struct Worker<'a> {
    program: &'a Program,
    random: u64,
    streams: Vec<Lane>,
    blocks: Vec<Option<Block>>,
}

impl Worker<'_> {
    fn draw(&mut self, below: u64) -> u64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.random % below
    }

    fn lane(&mut self) -> Lane {
        let at = self.draw(STREAMS as u64) as usize;
        self.streams[at].clone()
    }

    fn lag(&mut self, stream: &Stream) -> Result<()> {
        let time = Duration::from_micros(self.draw(2000));
        stream.call(move || std::thread::sleep(time))
    }

    fn step(&mut self) -> Result<()> {
        let at = self.draw(BLOCKS as u64) as usize;
        match self.draw(100) {
            what if what < 85 => match self.blocks[at].take() {
                None => self.blocks[at] = self.take()?,
                Some(block) if what < 40 => self.give_back(block)?,
                Some(block) => self.blocks[at] = Some(self.use_more(block)?),
            },
            what if what < 93 => {
                let other = self.draw(4) as usize;
                let mut exchange = self.program.exchange.lock().unwrap();
                std::mem::swap(&mut self.blocks[at], &mut exchange[other]);
            }
            _ => {
                let at = self.draw(STREAMS as u64) as usize;
                let made = lane(&self.program.device)?;
                end(&std::mem::replace(&mut self.streams[at], made));
            }
        }
        Ok(())
    }

    fn take(&mut self) -> Result<Option<Block>> {
        let program = self.program;
        let lane = self.lane();
        let held = lane.read().unwrap();
        let stream = held.as_ref().unwrap();
        let exponent = 8 + self.draw(9);
        let mut size = 1 + self.draw(1 << exponent);
        let mut part = None;
        let taken = match self.draw(4) {
            0 => Taken::Batch(program.pool.alloc_batch(size, 3, Some(stream))?),
            1 => Taken::Block(program.pool.alloc(size, Some(stream))?),
            2 => Taken::Block(
                program
                    .pool
                    .alloc_with(&PoolRequest::new(size).on(stream))?,
            ),
            _ => {
                let which = self.draw(2) as usize;
                let of = program.parts[which].clone();
                let Some(offset) = of.lock().unwrap().pop() else {
                    return Ok(None);
                };
                part = Some(Part { offset, of });
                size = program.page;
                Taken::Range(self.range(which, offset, size, stream)?)
            }
        };
        let block = Block {
            addresses: match &taken {
                Taken::Block(block) => vec![block.address()],
                Taken::Batch(batch) => batch.addresses().to_vec(),
                Taken::Range(range) => vec![range.address()],
            },
            taken,
            size,
            byte: program.next_byte.fetch_add(1, Ordering::Relaxed) % 255 + 1,
            last: lane.clone(),
            part,
        };
        program.work(&block, stream, true)?;
        self.lag(stream)?;
        program.work(&block, stream, false)?;
        Ok(Some(block))
    }

    fn range(&self, which: usize, offset: u64, size: u64, stream: &Stream) -> Result<MappedRange> {
        let program = self.program;
        let range = match which {
            0 => program.space.alloc(offset, size)?,
            _ => program.model.alloc_with(&ModelRequest {
                offset_bytes: Some(offset),
                size_bytes: size,
                ..Default::default()
            })?,
        };
        range.record_stream(stream)?;
        Ok(range)
    }

    /// Queues more work on a stream of this thread, behind the queued work.
    fn use_more(&mut self, mut block: Block) -> Result<Block> {
        let lane = self.lane();
        let held = lane.read().unwrap();
        let stream = held.as_ref().unwrap();
        match &block.taken {
            Taken::Block(taken) => taken.record_stream(stream)?,
            Taken::Range(taken) => taken.record_stream(stream)?,
            Taken::Batch(_) => return Ok(block),
        }
        if !Arc::ptr_eq(&block.last, &lane) {
            if let Some(last) = &*block.last.read().unwrap() {
                stream.wait_event(&last.record()?)?;
            }
        }
        if self.draw(2) == 0 {
            self.lag(stream)?;
        }
        self.program.work(&block, stream, false)?;
        block.last = lane.clone();
        Ok(block)
    }

    /// Frees a block in a random way, with its work queued.
    fn give_back(&mut self, block: Block) -> Result<()> {
        let lane = self.lane();
        let other = lane.read().unwrap();
        let stream = match self.draw(4) {
            0 => None,
            1 => other.as_ref(),
            2 => {
                assert!(leave_early(block, &self.program.pool).is_err());
                return Ok(());
            }
            _ => return Ok(()), // dropped here
        };
        let Block { taken, part, .. } = block;
        match taken {
            Taken::Block(taken) => taken.free(stream)?,
            Taken::Batch(taken) => taken.free(stream)?,
            Taken::Range(taken) => taken.free(stream)?,
        }
        drop(part);
        Ok(())
    }

    fn run(mut self) -> Result<()> {
        for _ in 0..STEPS {
            if self.program.damaged.load(Ordering::Relaxed) != 0 {
                break;
            }
            self.step()?;
        }
        self.streams.iter().for_each(end);
        Ok(())
    }
}

/// The `?` drops the block.
fn leave_early(block: Block, pool: &Pool) -> Result<()> {
    drop(pool.alloc(0, None)?);
    drop(block);
    Ok(())
}

fn run(library: &Library, number: u64) -> Result<()> {
    static DAMAGED: AtomicI32 = AtomicI32::new(0);
    let name = std::env::var("FERRUM_TEST_DEVICE").unwrap_or("cpu:0".into());
    let device = Device::open(library, &name)?;
    let page = device.page_sizes()?.minimum_bytes;
    let size = 2 * RANGES * page;
    let shared = device.create_elastic_pool(&ElasticPoolConfig {
        limit_bytes: Some(size),
        page_bytes: Some(page),
        ..Default::default()
    })?;
    let offsets = || Arc::new(Mutex::new((0..RANGES).map(|i| i * 2 * page).collect()));
    let program = Program {
        queue_work: queue_work(),
        pool: device.create_pool(&PoolConfig {
            initial_size_bytes: Some(4 * MIB),
            growth_increment_bytes: 4 * MIB,
            ..Default::default()
        })?,
        space: device.create_virtual_pool(&VirtualPoolConfig {
            capacity_bytes: size,
            page_bytes: Some(page),
            ..Default::default()
        })?,
        model: shared.register_model(
            "a",
            &ModelConfig {
                virtual_bytes: size,
                ..Default::default()
            },
        )?,
        device,
        page,
        parts: [offsets(), offsets()],
        exchange: Mutex::new((0..4).map(|_| None).collect()),
        next_byte: AtomicU8::new(0),
        damaged: &DAMAGED,
    };
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..2)
            .map(|i| {
                let worker = Worker {
                    program: &program,
                    random: (number * 2 + i + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15),
                    streams: (0..STREAMS)
                        .map(|_| lane(&program.device))
                        .collect::<Result<_>>()?,
                    blocks: (0..BLOCKS).map(|_| None).collect(),
                };
                Ok(scope.spawn(move || worker.run()))
            })
            .collect::<Result<_>>()?;
        workers
            .into_iter()
            .try_for_each(|worker| worker.join().unwrap())
    })?;
    program.exchange.lock().unwrap().clear();
    program.device.synchronize(None)?;
    assert_eq!(
        DAMAGED.load(Ordering::SeqCst),
        0,
        "program {number}: the bytes of a block were another owner's"
    );
    Ok(())
}

/// The test below starts it with the environment of a device. `OWNER_PROGRAMS` is the number of
/// programs, `OWNER_FIRST` the first one.
#[test]
#[ignore = "the other test starts it for each device"]
fn programs() {
    let number = |name, otherwise| {
        std::env::var(name).map_or(otherwise, |text| text.parse::<u64>().unwrap())
    };
    let config = Config {
        host_devices: Some(1),
        host_memory_bytes: Some(512 * MIB),
        ..Default::default()
    };
    let first = number("OWNER_FIRST", 0);
    for program in first..first + number("OWNER_PROGRAMS", 4) {
        let library = Library::start_with(&config).unwrap();
        run(&library, program).unwrap();
        let leaks = ferrum_mem::leak_report_json().unwrap();
        assert!(!leaks.contains("\"kind\""), "{leaks}");
    }
}

/// On the host, and on every generation of the simulated driver in the folder
/// `FERRUM_SIMCUDA`.
#[test]
fn every_device() {
    let mut devices = vec![None];
    if let Ok(folder) = std::env::var("FERRUM_SIMCUDA") {
        for found in Path::new(&folder).read_dir().unwrap() {
            let driver = found.unwrap().path().join("libcuda.so.1");
            if driver.exists() {
                devices.push(Some(driver));
            }
        }
        assert!(devices.len() > 1, "{folder} has no simulated driver");
    }
    for driver in devices {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--ignored", "--exact", "programs"]);
        if let Some(driver) = &driver {
            command
                .env("FERRUM_TEST_DEVICE", "cuda:0")
                .env("FERRUM_CUDA_LIBRARY", driver)
                .env("SIMCUDA_GRANULARITY", "64K")
                .env("SIMCUDA_BYTES", "2G")
                .env("SIMCUDA_LEAKS", "");
        }
        let done = command.output().unwrap();
        assert!(
            done.status.success(),
            "{driver:?}: {}{}",
            String::from_utf8_lossy(&done.stdout),
            String::from_utf8_lossy(&done.stderr)
        );
    }
}
