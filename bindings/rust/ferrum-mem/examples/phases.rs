//! A small engine: weights and a KV cache in an elastic pool, phases on a stream, workers, a
//! request that panics, a sleep between two phases. Every error is returned with `?`.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;
use std::time::Duration;

use ferrum_mem::{
    Device, ElasticPoolConfig, Error, ErrorKind, Library, MappedRange, Model, ModelConfig, Pool,
    PoolConfig, PoolRequest, Result, SleepRequest, Strategy, Stream, WakeRequest,
};

const MIB: u64 = 1 << 20;

/// The pages of a request that is being served.
struct Sequence {
    pages: Vec<MappedRange>,
}

struct Engine {
    model: Model,
    activations: Pool,
    stream: Stream,
}

impl Engine {
    fn new(device: &Device) -> Result<Self> {
        let kv = device.create_elastic_pool(&ElasticPoolConfig {
            limit_bytes: Some(64 * MIB),
            page_bytes: Some(64 << 10),
            ..Default::default()
        })?;
        Ok(Self {
            model: kv.register_model(
                "chat",
                &ModelConfig {
                    virtual_bytes: 256 * MIB,
                    ..Default::default()
                },
            )?,
            activations: device.create_pool(&PoolConfig {
                strategy: Some(Strategy::Tlsf),
                initial_size_bytes: Some(8 * MIB),
                ..Default::default()
            })?,
            stream: device.create_stream()?,
        })
    }

    /// One range for the prompt. Its pages are freed one at a time.
    fn prefill(&self, tokens: u64) -> Result<Sequence> {
        let page = self.model.pool().page_bytes();
        let scratch = self
            .activations
            .alloc_with(&PoolRequest::new(tokens * 64).on(&self.stream))?;
        let pages = self.model.alloc(tokens.div_ceil(64) * page)?;
        let done = self.stream.record()?;
        scratch.free(Some(&self.stream))?;
        done.synchronize(Some(Duration::from_secs(10)))?;
        Ok(Sequence {
            pages: pages.split_every(page)?,
        })
    }

    /// Allocates a page and frees the oldest one.
    fn decode(&self, sequence: &mut Sequence) -> Result<()> {
        let page = self.model.pool().page_bytes();
        sequence.pages.push(self.model.alloc(page)?);
        sequence.pages.remove(0).free(Some(&self.stream))?;
        Ok(())
    }
}

fn serve(engine: &Engine, request: u64) -> Result<u64> {
    let mut sequence = engine.prefill(64 * (1 + request % 5))?;
    for step in 0..20 {
        engine.decode(&mut sequence)?;
        assert!(
            request != 7 || step != 10,
            "the model of request 7 is wrong"
        );
    }
    Ok(sequence.pages.iter().map(MappedRange::size_bytes).sum())
}

fn main() -> Result<()> {
    let library = Library::start()?;
    let device = Device::open(&library, "cpu:0")?;
    let engine = Arc::new(Engine::new(&device)?);
    let served = AtomicU64::new(0);
    let panics = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..8)
            .map(|request| {
                let (engine, served) = (&engine, &served);
                scope.spawn(move || -> Result<()> {
                    served.fetch_add(serve(engine, request)?, Ordering::Relaxed);
                    Ok(())
                })
            })
            .collect();
        let mut panics = 0;
        for worker in workers {
            match worker.join() {
                Ok(served) => served?,
                Err(_) => panics += 1,
            }
        }
        Ok::<_, Error>(panics)
    })?;
    println!("{} KiB served, {panics} panic", served.into_inner() >> 10);

    // The panic has leaked nothing.
    device.synchronize(None)?;
    let books = device.statistics()?;
    assert_eq!((books.live_blocks.current, panics), (0, 1));

    let weights = engine.model.alloc(4 * MIB)?;
    let report = engine.model.sleep(&SleepRequest::default())?;
    println!("{} KiB given up", report.released_bytes >> 10);
    let asleep = weights.as_ptr().expect_err("there is nothing behind it");
    assert_eq!(asleep.kind, ErrorKind::InvalidState);
    engine.model.wake(&WakeRequest::default())?;
    weights.free(None)?;

    let engine = Arc::try_unwrap(engine)
        .map_err(|_| ())
        .expect("no worker has it");
    let pool = engine.model.pool().clone();
    engine.model.close()?;
    pool.close()?;
    engine.stream.close()?;
    engine.activations.close()?;
    device.close()?;
    library.close()?;
    Ok(())
}
