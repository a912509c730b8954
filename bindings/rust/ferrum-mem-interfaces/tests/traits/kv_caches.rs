//! The published traits of KV caches, and a model of them that keeps the blocks of each request.

use std::collections::{HashMap, HashSet};
use std::sync::mpsc::channel;
use std::sync::Arc;

use ferrum_interfaces::kv_cache::{
    AdvancedKvCacheManager, AllocationRequest, BlockAllocator, MemoryPressure, PrefixCacheConfig,
};
use ferrum_interfaces::{KvCacheHandle, KvCacheManager};
use ferrum_mem::{
    sys, DType, ElasticPoolConfig, KvCacheConfig, LoadMemory, ModelConfig, SleepRequest,
    WakeRequest,
};
use ferrum_mem_interfaces::{FerrumKvCacheManager, FerrumTensor};
use ferrum_types::{DataType, Device, FerrumError, Priority, RequestId};

use crate::support::*;

const CPU: Device = Device::CPU;
const BLOCK: usize = 4;
const BLOCKS: usize = 12;
const HOST_BLOCKS: usize = 6;
const LONGEST: usize = 32;
/// Keys and values of two layers, with two heads of four floats.
const BLOCK_BYTES: usize = 2 * 2 * 2 * BLOCK * 4 * 4;

fn settings() -> KvCacheConfig {
    KvCacheConfig {
        dtype: DType::F32,
        block_tokens: BLOCK as u32,
        blocks: BLOCKS as u32,
        host_blocks: HOST_BLOCKS as u32,
        sequences: 8,
        sequence_tokens: LONGEST as u32,
        layers: 2,
        kv_heads: 2,
        head_dim: 4,
        ..Default::default()
    }
}

fn created(
    engine: &Engine,
    device: &Device,
    config: &KvCacheConfig,
) -> Result<FerrumKvCacheManager, FerrumError> {
    block_on(engine.factory.create_kv_cache_manager(device, config))
}

fn caches(engine: &Engine) -> FerrumKvCacheManager {
    created(engine, &CPU, &settings()).unwrap()
}

fn request(initial_tokens: usize) -> AllocationRequest {
    AllocationRequest {
        request_id: RequestId::new(),
        initial_tokens,
        max_sequence_length: LONGEST,
        num_layers: 2,
        num_heads: 2,
        head_dim: 4,
        device: CPU,
        dtype: DataType::FP32,
        priority: Priority::Normal,
    }
}

/// Allocates a request of that many tokens.
fn allocated(caches: &FerrumKvCacheManager, tokens: usize) -> RequestId {
    let request = request(tokens);
    block_on(caches.allocate(&request)).unwrap();
    request.request_id
}

fn handle(caches: &FerrumKvCacheManager, id: &RequestId) -> Arc<dyn KvCacheHandle> {
    caches.get_handle(id.clone()).unwrap()
}

fn blocks(caches: &FerrumKvCacheManager, id: &RequestId) -> Vec<u32> {
    handle(caches, id).block_table().physical_blocks.to_vec()
}

fn extended(
    caches: &FerrumKvCacheManager,
    id: &RequestId,
    tokens: usize,
) -> Result<(), FerrumError> {
    let mut handle = handle(caches, id);
    let handle = Arc::get_mut(&mut handle).unwrap();
    let before = handle.num_tokens();
    let result = block_on(caches.extend(handle, tokens));
    let added = if result.is_ok() { tokens } else { 0 };
    assert_eq!(handle.num_tokens(), before + added);
    result
}

fn is_exhausted<T>(result: Result<T, FerrumError>) -> bool {
    matches!(result, Err(FerrumError::ResourceExhausted { .. }))
}

fn is_missing<T>(result: Result<T, FerrumError>) -> bool {
    matches!(result, Err(FerrumError::NotFound { .. }))
}

fn is_wrong_state<T>(result: Result<T, FerrumError>) -> bool {
    matches!(result, Err(FerrumError::Backend { .. }))
}

/// The message of a wrong parameter.
fn wrong<T: std::fmt::Debug>(result: Result<T, FerrumError>) -> String {
    match result {
        Err(FerrumError::InvalidParameter { message }) => message,
        other => panic!("{other:?} is not a wrong parameter"),
    }
}

/// The message of what is not supported.
fn unsupported<T: std::fmt::Debug>(result: Result<T, FerrumError>) -> String {
    match result {
        Err(FerrumError::Unsupported { message }) => message,
        other => panic!("{other:?} is supported"),
    }
}

#[test]
fn test_requests_have_handles_with_their_blocks() {
    let engine = engine();
    let caches = caches(&engine);
    let wanted = request(6);
    assert!(caches.can_allocate(&wanted));
    let made = block_on(caches.allocate(&wanted)).unwrap();
    assert!(!caches.can_allocate(&wanted));
    let table = made.block_table();
    assert_eq!((table.num_blocks(), table.block_size), (2, BLOCK));
    assert_eq!((made.num_tokens(), table.free_tokens()), (6, 2));
    assert_eq!(
        (made.num_layers(), made.num_heads(), made.head_dim()),
        (2, 2, 4)
    );
    assert_eq!((made.device(), made.is_valid()), (CPU, true));
    let stats = made.stats();
    assert_eq!(stats.memory_bytes, 2 * BLOCK_BYTES);
    assert_eq!((stats.blocks_allocated, stats.tokens_stored), (2, 6));
    assert_eq!(stats.utilization, 0.75);

    // The handle that is extended, and those that are made later, have the new table.
    let mut own = made.clone_handle().unwrap();
    assert_eq!(own.cache_id(), made.cache_id());
    let other = Arc::get_mut(&mut own).unwrap();
    block_on(caches.extend(other, 3)).unwrap();
    assert_eq!((own.num_tokens(), own.block_table().num_blocks()), (9, 3));
    assert_eq!((made.num_tokens(), made.stats().tokens_stored), (6, 9));
    assert!(own.stats().last_access > stats.last_access);
    let second = allocated(&caches, 0);
    let mut listed = caches.list_handles();
    listed.sort_by_key(|it| it.1.num_tokens());
    assert_eq!((&listed[0].0, &listed[1].0), (&second, &wanted.request_id));
    assert_eq!((listed.len(), listed[1].1.num_tokens()), (2, 9));
    assert_ne!(listed[0].1.cache_id(), own.cache_id());

    let stats = caches.stats();
    assert_eq!(
        (stats.total_blocks, stats.free_blocks),
        (BLOCKS, BLOCKS - 3)
    );
    assert_eq!(stats.total_memory_bytes, BLOCKS * BLOCK_BYTES);
    assert_eq!(stats.used_memory_bytes, 3 * BLOCK_BYTES);
    assert_eq!((stats.active_caches, stats.allocation_count), (2, 2));

    // The id can be used again. The handle of the former request stays invalid.
    block_on(caches.deallocate(wanted.request_id.clone())).unwrap();
    assert!(caches.get_handle(wanted.request_id.clone()).is_none());
    let again = block_on(caches.allocate(&wanted)).unwrap();
    assert_eq!((made.is_valid(), again.is_valid()), (false, true));
    assert_eq!(
        (made.stats().blocks_allocated, made.stats().tokens_stored),
        (0, 0)
    );
    assert_ne!(made.cache_id(), again.cache_id());
    let former = Arc::get_mut(&mut own).unwrap();
    assert!(is_missing(block_on(caches.extend(former, 1))));
    drop((caches, made, own, again, listed));
    nothing_left(&*engine.manager(), &CPU);
}

#[test]
fn test_wrong_requests_name_the_field() {
    let engine = engine();
    let caches = caches(&engine);
    type Change = fn(&mut AllocationRequest);
    let changes: [(&str, Change); 7] = [
        ("num_layers", |it| it.num_layers = 3),
        ("num_heads", |it| it.num_heads = usize::MAX),
        ("head_dim", |it| it.head_dim = 0),
        ("dtype", |it| it.dtype = DataType::FP16),
        ("device", |it| it.device = OTHER),
        ("max_sequence_length", |it| {
            it.max_sequence_length = LONGEST + 1
        }),
        ("initial_tokens", |it| it.max_sequence_length = 3),
    ];
    for (name, change) in changes {
        let mut wanted = request(4);
        change(&mut wanted);
        assert!(!caches.can_allocate(&wanted));
        let message = wrong(block_on(caches.allocate(&wanted)));
        assert!(message.starts_with(name), "{message}");
    }
    let wanted = request(4);
    let mut made = block_on(caches.allocate(&wanted)).unwrap();
    let twice = block_on(caches.allocate(&wanted));
    assert!(matches!(twice, Err(FerrumError::AlreadyExists { .. })));
    let stats = caches.stats();
    assert_eq!((stats.allocation_count, stats.allocation_failures), (1, 8));

    let own = Arc::get_mut(&mut made).unwrap();
    assert!(wrong(block_on(caches.extend(own, usize::MAX))).contains("additional_tokens"));
    let beyond = wrong(block_on(caches.extend(own, LONGEST)));
    assert!(beyond.contains(&wanted.request_id.to_string()), "{beyond}");
    block_on(caches.extend(own, 0)).unwrap();
    assert_eq!(made.num_tokens(), 4);
    let others = self::caches(&engine);
    let own = Arc::get_mut(&mut made).unwrap();
    assert!(wrong(block_on(others.extend(own, 1))).contains("this manager"));

    let nobody = RequestId::new;
    assert!(is_missing(block_on(caches.deallocate(nobody()))));
    assert!(is_missing(block_on(caches.swap_out(nobody()))));
    assert!(is_missing(block_on(caches.swap_in(nobody()))));
    assert!(is_missing(block_on(caches.compress_cache(nobody(), 0.5))));
    let own = || wanted.request_id.clone();
    assert!(is_missing(block_on(caches.share_prefix(
        own(),
        nobody(),
        0
    ))));
    assert!(is_missing(block_on(caches.share_prefix(
        nobody(),
        own(),
        0
    ))));
    wrong(block_on(caches.share_prefix(own(), own(), 1)));
    assert!(caches.get_handle(nobody()).is_none());
}

#[test]
fn test_what_is_missing_has_a_name() {
    let engine = engine();
    let caches = caches(&engine);
    let id = allocated(&caches, 4);
    let compressed = unsupported(block_on(caches.compress_cache(id, 0.5)));
    assert!(compressed.starts_with("compress_cache"), "{compressed}");
    assert_eq!(caches.compression_stats().compressed_caches, 0);
    let prefixes = PrefixCacheConfig {
        max_prefixes: 1,
        min_prefix_length: 1,
        prefix_ttl_seconds: 1,
        enable_cross_request_sharing: true,
    };
    let prefixes = unsupported(block_on(caches.enable_prefix_caching(prefixes)));
    assert!(prefixes.starts_with("enable_prefix_caching"), "{prefixes}");
    let defragmented = unsupported(caches.create_block_allocator().defragment());
    assert!(defragmented.starts_with("defragment"), "{defragmented}");

    type Change = fn(&mut KvCacheConfig);
    let changes: [(&str, Change); 2] = [
        ("window_tokens", |it| it.window_tokens = 8),
        ("dtype", |it| it.dtype = DType::F64),
    ];
    for (name, change) in changes {
        let mut config = settings();
        change(&mut config);
        assert!(unsupported(created(&engine, &CPU, &config)).starts_with(name));
    }
    let config = KvCacheConfig {
        block_tokens: 0,
        ..settings()
    };
    let made = created(&engine, &CPU, &config);
    assert!(matches!(made, Err(FerrumError::Config { .. })), "{made:?}");
    assert!(is_missing(created(&engine, &NOWHERE, &settings())));
}

#[test]
fn test_full_cache_leaves_requests_unchanged() {
    let engine = engine();
    let caches = caches(&engine);
    let (long, short) = (allocated(&caches, 32), allocated(&caches, 13));
    assert!(!caches.can_allocate(&request(1)));
    assert!(caches.can_allocate(&request(0)));
    assert!(is_exhausted(block_on(caches.allocate(&request(1)))));
    assert!(extended(&caches, &short, 3).is_ok());
    let table = blocks(&caches, &short);
    assert!(is_exhausted(extended(&caches, &short, 1)));
    assert_eq!(blocks(&caches, &short), table);
    assert!(is_exhausted(block_on(caches.swap_out(long.clone()))));
    assert!(handle(&caches, &long).is_valid());
    let shared = caches.share_prefix(long.clone(), short.clone(), 5);
    assert!(is_exhausted(block_on(shared)));
    assert_eq!(blocks(&caches, &short), table);

    // A request that is swapped out has no blocks, and does not change.
    block_on(caches.swap_out(short.clone())).unwrap();
    let out = handle(&caches, &short);
    assert_eq!((out.is_valid(), out.num_tokens()), (false, 16));
    assert_eq!(
        (out.block_table().num_blocks(), out.stats().memory_bytes),
        (0, 0)
    );
    assert!(is_wrong_state(extended(&caches, &short, 1)));
    assert!(is_wrong_state(block_on(caches.swap_out(short.clone()))));
    for (source, target) in [(&long, &short), (&short, &long)] {
        let shared = caches.share_prefix(source.clone(), target.clone(), 4);
        assert!(is_wrong_state(block_on(shared)));
    }
    let filler = allocated(&caches, 16);
    assert!(is_exhausted(block_on(caches.swap_in(short.clone()))));
    block_on(caches.deallocate(filler)).unwrap();
    block_on(caches.swap_in(short.clone())).unwrap();
    assert!(is_wrong_state(block_on(caches.swap_in(short.clone()))));
    assert_eq!((out.is_valid(), blocks(&caches, &short).len()), (true, 4));
    block_on(caches.swap_out(short.clone())).unwrap();
    block_on(caches.deallocate(short)).unwrap();
    assert_eq!(caches.stats().free_blocks, 4);
    let ids: Vec<_> = (0..7).map(|_| allocated(&caches, 0)).collect();
    assert!(!caches.can_allocate(&request(0)));
    assert!(is_exhausted(block_on(caches.allocate(&request(0)))));
    assert_eq!(caches.list_handles().len(), ids.len() + 1);
}

/// The keys or values of all blocks of a layer.
fn plane(
    caches: &FerrumKvCacheManager,
    id: &RequestId,
    layer: usize,
    values: bool,
) -> FerrumTensor {
    let (keys, others) = handle(caches, id).kv_cache(layer).unwrap();
    let tensor = if values { others } else { keys }.unwrap();
    assert_eq!(tensor.shape(), [BLOCKS, 2, BLOCK, 4]);
    let known = tensor.as_any().downcast_ref::<FerrumTensor>();
    known.unwrap().clone()
}

/// Writes a number for each block of a request into all planes.
fn write(caches: &FerrumKvCacheManager, id: &RequestId, first: usize) {
    for (at, block) in blocks(caches, id).into_iter().enumerate() {
        for (layer, values) in [(0, false), (0, true), (1, false), (1, true)] {
            let plane = plane(caches, id, layer, values);
            let part = plane.tensor().narrow(0, block.into(), 1).unwrap();
            let number = (first + at) * 10 + layer * 2 + usize::from(values);
            part.fill(number as f64, None).unwrap();
        }
    }
}

/// The numbers of the first blocks of a request.
fn read(caches: &FerrumKvCacheManager, id: &RequestId, count: usize) -> Vec<usize> {
    let mut numbers = Vec::new();
    for block in blocks(caches, id).into_iter().take(count) {
        let mut found = HashSet::new();
        for (layer, values) in [(0, false), (0, true), (1, false), (1, true)] {
            let plane = plane(caches, id, layer, values);
            let part = plane.tensor().narrow(0, block.into(), 1).unwrap();
            for number in part.to_vec::<f32>(None).unwrap() {
                let place = layer * 2 + usize::from(values);
                assert_eq!(number as usize % 10, place);
                found.insert(number as usize / 10);
            }
        }
        assert_eq!(found.len(), 1);
        numbers.extend(found);
    }
    numbers
}

#[test]
fn test_contents_follow_their_requests() {
    let engine = engine();
    let caches = caches(&engine);
    let (first, second) = (allocated(&caches, 10), allocated(&caches, 14));
    write(&caches, &first, 1);
    write(&caches, &second, 11);
    // The prefix of 6 tokens ends in the second block, which is copied.
    block_on(caches.share_prefix(first.clone(), second.clone(), 6)).unwrap();
    let (own, others) = (blocks(&caches, &first), blocks(&caches, &second));
    assert_eq!((own[0], others.len()), (others[0], 4));
    assert_ne!(own[1], others[1]);
    assert_eq!(read(&caches, &second, 2), [1, 2]);
    assert_eq!(read(&caches, &first, 3), [1, 2, 3]);
    write(&caches, &second, 21);
    // The shared block is one block.
    assert_eq!(read(&caches, &first, 3), [21, 2, 3]);

    block_on(caches.swap_out(second.clone())).unwrap();
    let third = allocated(&caches, 32);
    write(&caches, &third, 31);
    block_on(caches.deallocate(third)).unwrap();
    block_on(caches.swap_in(second.clone())).unwrap();
    assert_eq!(read(&caches, &second, 4), [21, 22, 23, 24]);
    assert_ne!(blocks(&caches, &second)[0], own[0]);

    let kept = plane(&caches, &first, 0, false);
    let far = handle(&caches, &first).key_cache(2);
    assert!(wrong(far).contains("layer"));
    // A tensor keeps the cache.
    drop(caches);
    assert_eq!(
        kept.tensor().to_vec::<f32>(None).unwrap().len(),
        BLOCKS * 32
    );
    drop(kept);
    nothing_left(&*engine.manager(), &CPU);
}

#[test]
fn test_block_allocator_has_blocks_of_no_request() {
    let engine = engine();
    let caches = caches(&engine);
    let id = allocated(&caches, 17);
    let own = caches.create_block_allocator();
    assert_eq!((own.block_size(), own.total_block_count()), (BLOCK, BLOCKS));
    assert_eq!(own.free_block_count(), 7);
    let got = own.allocate_blocks(5).unwrap();
    let all: HashSet<u32> = got.iter().copied().chain(blocks(&caches, &id)).collect();
    assert_eq!((all.len(), own.free_block_count()), (10, 2));
    assert_eq!(
        (caches.stats().active_caches, caches.stats().free_blocks),
        (1, 2)
    );
    assert!(own.allocate_blocks(0).unwrap().is_empty());
    assert!(is_exhausted(own.allocate_blocks(3)));
    assert!(is_exhausted(own.allocate_blocks(usize::MAX)));
    assert_eq!(own.free_block_count(), 2);
    for list in [
        &[got[0], got[0]][..],
        &[got[1], blocks(&caches, &id)[0]],
        &[got[2], 99],
    ] {
        assert!(is_missing(own.free_blocks(list)), "{list:?}");
    }
    assert_eq!(own.free_block_count(), 2);
    own.free_blocks(&got[1..3]).unwrap();
    own.free_blocks(&[]).unwrap();
    assert!(is_missing(own.free_blocks(&got[1..2])));
    assert_eq!(own.free_block_count(), 4);
    // As many blocks as sequences are left.
    block_on(caches.deallocate(id)).unwrap();
    assert_eq!((own.free_block_count(), caches.stats().free_blocks), (5, 9));
    assert!(is_exhausted(own.allocate_blocks(6)));
    own.allocate_blocks(5).unwrap();
    drop(own);
    assert_eq!(caches.stats().free_blocks, BLOCKS);
}

#[test]
fn test_pressure_callback_may_call_the_manager() {
    use MemoryPressure::{Critical, High, Low, Medium};
    let engine = engine();
    let caches = Arc::new(caches(&engine));
    caches.set_pressure_callback(Box::new(|_| panic!("it was replaced")));
    let (tell, hear) = channel();
    let (inside, victim) = (Arc::downgrade(&caches), allocated(&caches, 4));
    caches.set_pressure_callback(Box::new(move |level| {
        let caches = inside.upgrade().unwrap();
        tell.send((level, caches.stats().active_caches)).unwrap();
        if level == Critical {
            block_on(caches.deallocate(victim.clone())).unwrap();
        }
    }));
    let growing = allocated(&caches, 27);
    assert_eq!(hear.try_iter().collect::<Vec<_>>(), [(Medium, 1)]);
    extended(&caches, &growing, 5).unwrap();
    let last = allocated(&caches, 4);
    assert_eq!(hear.try_iter().collect::<Vec<_>>(), [(High, 2)]);
    let filler = allocated(&caches, 8);
    // The request of the call is not visible before the call returns.
    assert_eq!(
        hear.try_iter().collect::<Vec<_>>(),
        [(Critical, 3), (High, 2)]
    );
    for id in [growing, last, filler] {
        block_on(caches.deallocate(id)).unwrap();
    }
    assert_eq!(hear.try_iter().last(), Some((Low, 2)));
}

#[test]
fn test_a_request_has_one_change_at_a_time() {
    let engine = engine();
    let caches = Arc::new(caches(&engine));
    let (growing, other) = (allocated(&caches, 4), allocated(&caches, 4));
    let (tell, hear) = channel();
    let (inside, ids) = (Arc::downgrade(&caches), (growing.clone(), other.clone()));
    // Runs during the extension.
    caches.set_pressure_callback(Box::new(move |_| {
        let (caches, (growing, other)) = (inside.upgrade().unwrap(), ids.clone());
        let calls = [
            extended(&caches, &growing, 1),
            block_on(caches.swap_out(growing.clone())),
            block_on(caches.share_prefix(other.clone(), growing.clone(), 1)),
            block_on(caches.share_prefix(growing.clone(), other, 1)),
            block_on(caches.deallocate(growing)),
        ];
        for call in calls {
            tell.send(is_exhausted(call)).unwrap();
        }
    }));
    extended(&caches, &growing, 24).unwrap();
    assert_eq!(hear.try_iter().collect::<Vec<_>>(), [true; 5]);
    assert_eq!(handle(&caches, &growing).num_tokens(), 28);
    // The failed share has ended the change of the other request.
    extended(&caches, &other, 1).unwrap();
}

/// A request in the model: its blocks, which requests share, and its tokens.
struct Model {
    blocks: Vec<Arc<()>>,
    tokens: usize,
    is_swapped: bool,
}

impl Model {
    /// Blocks that an extension needs: new ones, and a copy of a last block that is shared.
    fn missing(&self, tokens: usize) -> (bool, usize) {
        let is_copied = tokens > 0
            && !self.tokens.is_multiple_of(BLOCK)
            && self
                .blocks
                .last()
                .is_some_and(|it| Arc::strong_count(it) > 1);
        let new = (self.tokens + tokens).div_ceil(BLOCK) - self.blocks.len();
        (is_copied, new)
    }

    fn extend(&mut self, tokens: usize) {
        let (is_copied, new) = self.missing(tokens);
        if is_copied {
            self.blocks.pop();
        }
        let new = new + usize::from(is_copied);
        self.blocks.extend((0..new).map(|_| Arc::new(())));
        self.tokens += tokens;
    }
}

/// The blocks that requests on the device use.
fn used(models: &HashMap<RequestId, Model>) -> usize {
    let on_device = models.values().filter(|it| !it.is_swapped);
    let blocks = on_device.flat_map(|it| &it.blocks).map(Arc::as_ptr);
    blocks.collect::<HashSet<_>>().len()
}

/// The blocks of the host that requests use.
fn host_used(models: &HashMap<RequestId, Model>) -> usize {
    let swapped = models.values().filter(|it| it.is_swapped);
    swapped.map(|it| it.blocks.len()).sum()
}

/// Two requests share a block if and only if they do so in the model.
fn assert_equal(caches: &FerrumKvCacheManager, models: &HashMap<RequestId, Model>) {
    let stats = caches.stats();
    assert_eq!(stats.active_caches, models.len());
    assert_eq!(stats.total_blocks - stats.free_blocks, used(models));
    let (mut by_block, mut by_model) = (HashMap::new(), HashMap::new());
    for (id, model) in models {
        let handle = handle(caches, id);
        assert_eq!(handle.num_tokens(), model.tokens);
        assert_eq!(handle.is_valid(), !model.is_swapped);
        let table = &handle.block_table().physical_blocks;
        if model.is_swapped {
            assert!(table.is_empty());
            continue;
        }
        assert_eq!(table.len(), model.blocks.len());
        for (block, own) in table.iter().zip(&model.blocks) {
            assert_eq!(
                *by_block.entry(*block).or_insert(Arc::as_ptr(own)),
                Arc::as_ptr(own)
            );
            assert_eq!(*by_model.entry(Arc::as_ptr(own)).or_insert(*block), *block);
        }
    }
}

#[test]
fn test_random_calls_are_equal_to_a_model() {
    let engine = engine();
    let caches = caches(&engine);
    let mut models: HashMap<RequestId, Model> = HashMap::new();
    let mut ids: Vec<RequestId> = Vec::new();
    let mut state = 22u64;
    let mut random = |below: usize| {
        state = state
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        (state >> 33) as usize % below
    };
    let mut counts = [[0; 2]; 6];
    for _ in 0..3000 {
        let free = BLOCKS - used(&models);
        let call = if ids.is_empty() { 0 } else { random(6) };
        let id = if ids.is_empty() {
            RequestId::new()
        } else {
            ids[random(ids.len())].clone()
        };
        let (result, fits) = match call {
            0 => {
                let wanted = request(random(14));
                let fits = wanted.initial_tokens.div_ceil(BLOCK) <= free && ids.len() < 8;
                assert_eq!(caches.can_allocate(&wanted), fits);
                let result = block_on(caches.allocate(&wanted)).map(drop);
                if fits {
                    let mut model = Model {
                        blocks: Vec::new(),
                        tokens: 0,
                        is_swapped: false,
                    };
                    model.extend(wanted.initial_tokens);
                    models.insert(wanted.request_id.clone(), model);
                    ids.push(wanted.request_id);
                }
                (result, fits)
            }
            1 => {
                let (tokens, model) = (random(6), models.get_mut(&id).unwrap());
                let (is_copied, new) = model.missing(tokens);
                let fits = !model.is_swapped
                    && usize::from(is_copied) + new <= free
                    && model.tokens + tokens <= LONGEST;
                if fits {
                    model.extend(tokens);
                }
                (extended(&caches, &id, tokens), fits)
            }
            2 => {
                let result = block_on(caches.deallocate(id.clone()));
                models.remove(&id);
                ids.retain(|it| *it != id);
                (result, true)
            }
            3 => {
                let source = ids[random(ids.len())].clone();
                let shared = random(14);
                let (from, to) = (&models[&source], &models[&id]);
                // The target has its old blocks until the end.
                let end = shared.div_ceil(BLOCK);
                let is_copied = shared % BLOCK > 0 && to.tokens > shared;
                let new = to.tokens.div_ceil(BLOCK).saturating_sub(end);
                let fits = source != id
                    && !from.is_swapped
                    && !to.is_swapped
                    && shared <= from.tokens.min(to.tokens)
                    && new + usize::from(is_copied) <= free
                    && ids.len() < 8;
                if fits {
                    let blocks = from.blocks[..end].to_vec();
                    let mut made = Model {
                        blocks,
                        tokens: shared,
                        is_swapped: false,
                    };
                    made.extend(to.tokens - shared);
                    models.insert(id.clone(), made);
                }
                let result = block_on(caches.share_prefix(source, id, shared));
                (result, fits)
            }
            out => {
                let host_free = HOST_BLOCKS - host_used(&models);
                let model = models.get_mut(&id).unwrap();
                let room = if out == 4 { host_free } else { free };
                let fits = model.is_swapped == (out == 5) && model.blocks.len() <= room;
                if fits {
                    model.is_swapped = out == 4;
                    // Neither side shares the copies.
                    let blocks = (0..model.blocks.len()).map(|_| Arc::new(()));
                    model.blocks = blocks.collect();
                }
                let result = match out {
                    4 => block_on(caches.swap_out(id)),
                    _ => block_on(caches.swap_in(id)),
                };
                (result, fits)
            }
        };
        assert_eq!(result.is_ok(), fits, "call {call}: {result:?}");
        counts[call][usize::from(fits)] += 1;
        assert_equal(&caches, &models);
    }
    // Each call has succeeded, and each that can fail has failed.
    for (call, [failed, done]) in counts.into_iter().enumerate() {
        assert!(
            done > 20 && (failed > 20 || call == 2),
            "{call}: {failed} {done}"
        );
    }
    for id in ids {
        block_on(caches.deallocate(id)).unwrap();
    }
    assert_eq!(caches.stats().used_memory_bytes, 0);
}

#[test]
fn test_cache_in_a_model_sleeps_and_wakes() {
    let engine = engine();
    let device = ferrum_mem::Device::open(engine.factory.library(), "cpu:0").unwrap();
    let settings_of_pool = ElasticPoolConfig::default();
    let pool = device.create_elastic_pool(&settings_of_pool).unwrap();
    let settings_of_model = ModelConfig {
        virtual_bytes: 16 * MIB as u64,
        ..Default::default()
    };
    let model = pool.register_model("m", &settings_of_model).unwrap();
    let memory = LoadMemory::model(&model).tag("kv");
    let config = KvCacheConfig {
        host_blocks: 0,
        ..settings()
    };
    let factory = &engine.factory;
    let elsewhere = factory.create_kv_cache_manager_in(&OTHER, &memory, &config, None);
    assert!(wrong(elsewhere).contains("cuda:0"));
    let caches = factory
        .create_kv_cache_manager_in(&CPU, &memory, &config, None)
        .unwrap();
    let id = allocated(&caches, 5);
    let before = blocks(&caches, &id);
    let planes = unsupported(handle(&caches, &id).key_cache(0));
    assert!(planes.contains("memory"), "{planes}");
    assert!(is_exhausted(block_on(caches.swap_out(id.clone()))));

    model.sleep(&SleepRequest::default()).unwrap();
    assert!(is_exhausted(extended(&caches, &id, 4)));
    assert!(is_exhausted(block_on(caches.allocate(&request(4)))));
    assert_eq!(
        (blocks(&caches, &id), caches.list_handles().len()),
        (before, 1)
    );
    model.wake(&WakeRequest::default()).unwrap();
    extended(&caches, &id, 4).unwrap();

    // A future that is dropped leaves no request.
    let wanted = request(4);
    for polls in 1..4 {
        let made = give_up_after(polls, caches.allocate(&wanted));
        if made.is_some() {
            block_on(caches.deallocate(wanted.request_id.clone())).unwrap();
        }
        eventually("the request has ended", || caches.can_allocate(&wanted));
    }
    assert_eq!(caches.stats().active_caches, 1);
    block_on(caches.deallocate(id.clone())).unwrap();
    let freed = block_on(caches.gc()).unwrap();
    assert_eq!(
        (freed.caches_freed, caches.stats().total_memory_bytes),
        (0, 0)
    );
    assert!(freed.memory_freed > 0);
    let left = request(4);
    let left = block_on(caches.allocate(&left)).unwrap();
    // The cache ends before its manager.
    // SAFETY: the cache ends twice, which is an error of its drop and nothing else.
    let ended = unsafe { sys::ferrum_kv_cache_destroy(caches.cache().raw(), sys::FERRUM_FORCE) };
    assert_eq!(ended, sys::FERRUM_OK);
    assert_eq!((left.is_valid(), left.stats().blocks_allocated), (false, 0));
    assert_eq!(caches.stats().total_blocks, 0);
    assert!(is_missing(block_on(caches.gc())));
}
