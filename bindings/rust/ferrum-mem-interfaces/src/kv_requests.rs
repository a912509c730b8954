//! The requests of a KV cache manager, and their sequences in the cache.
//!
//! No lock is held during a call of the cache, because such a call may run the pressure callback of
//! the program, which may call the manager. Instead, a request has one change at a time: a second
//! call for it fails.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use ferrum_interfaces::kv_cache::BlockTable;
use ferrum_mem::{ErrorKind, KvCache, KvCacheConfig, KvCacheStats, Registration};
use ferrum_types::{BlockId, DataType, Device, FerrumError, RequestId, Result};

use crate::config::pressure_of;
use crate::data_types::data_type_of;
use crate::error::error_of;
use crate::hub::{locked, Hub};
use crate::pools::Pools;
use crate::pressure::Pressures;

/// A request with a sequence.
pub(crate) struct Request {
    pub(crate) id: RequestId,
    state: Mutex<State>,
}

#[derive(Clone, Copy)]
pub(crate) struct State {
    /// 0: the request is not allocated yet, or has ended.
    pub(crate) sequence: u64,
    /// The first sequence, which names the request: share() replaces the sequence.
    pub(crate) number: u64,
    pub(crate) is_swapped: bool,
    /// Whether a call changes it.
    is_changing: bool,
    pub(crate) last_access: Instant,
}

impl Request {
    pub(crate) fn state(&self) -> State {
        *locked(&self.state)
    }

    pub(crate) fn touch(&self) {
        locked(&self.state).last_access = Instant::now();
    }

    /// Begins the one change of a request.
    fn change(self: &Arc<Self>) -> Result<Change> {
        let mut state = locked(&self.state);
        if state.sequence == 0 {
            return Err(unknown(&self.id));
        }
        if state.is_changing {
            return Err(FerrumError::resource_exhausted(format!(
                "the request {} is busy: another call changes it",
                self.id
            )));
        }
        state.is_changing = true;
        state.last_access = Instant::now();
        Ok(Change {
            sequence: state.sequence,
            request: self.clone(),
        })
    }

    /// The error of a call for this request.
    fn failed(&self, mut error: ferrum_mem::Error) -> FerrumError {
        error.message = format!("request {}: {}", self.id, error.message);
        error_of(error)
    }
}

fn unknown(id: &RequestId) -> FerrumError {
    FerrumError::not_found(format!("no cache has the request {id}"))
}

/// A change of a request. A drop ends the change.
struct Change {
    request: Arc<Request>,
    sequence: u64,
}

impl Drop for Change {
    fn drop(&mut self) {
        locked(&self.request.state).is_changing = false;
    }
}

/// A request with a sequence that no other call sees yet. A drop ends both.
pub(crate) struct NewRequest {
    requests: Arc<Requests>,
    request: Arc<Request>,
    sequence: u64,
}

impl NewRequest {
    /// Shows the request to other calls.
    pub(crate) fn keep(mut self) -> Arc<Request> {
        let sequence = std::mem::take(&mut self.sequence);
        let mut state = locked(&self.request.state);
        (state.sequence, state.number) = (sequence, sequence);
        drop(state);
        self.request.clone()
    }
}

impl Drop for NewRequest {
    fn drop(&mut self) {
        if self.sequence != 0 {
            // Fails only if the cache has ended, and the sequence with it.
            drop(self.requests.cache.free(&[self.sequence]));
            locked(&self.requests.by_id).remove(&self.request.id);
        }
    }
}

/// A cache and the requests in it.
pub(crate) struct Requests {
    /// Ends before the cache.
    _registration: Registration,
    pub(crate) pressures: Arc<Pressures>,
    pub(crate) cache: Arc<KvCache>,
    pub(crate) config: KvCacheConfig,
    pub(crate) dtype: DataType,
    pub(crate) device: Device,
    hub: Arc<Hub>,
    /// The pools of copies of the tensors over the cache.
    pub(crate) pools: Arc<Pools>,
    /// Whether a call of the cache may wait for memory.
    may_wait: bool,
    by_id: Mutex<HashMap<RequestId, Arc<Request>>>,
    pub(crate) allocations: AtomicU64,
    pub(crate) failures: AtomicU64,
}

impl Requests {
    pub(crate) fn new(
        hub: &Arc<Hub>,
        device: &Device,
        cache: KvCache,
        config: &KvCacheConfig,
        may_wait: bool,
    ) -> Result<Arc<Self>> {
        let pressures = Arc::<Pressures>::default();
        let (told, source) = (pressures.clone(), device.clone());
        let registration = cache
            .on_pressure(move |level| told.update(&source, pressure_of(level)))
            .map_err(error_of)?;
        Ok(Arc::new(Self {
            _registration: registration,
            pressures,
            cache: Arc::new(cache),
            config: *config,
            dtype: usable(config)?,
            device: device.clone(),
            hub: hub.clone(),
            pools: Pools::new(hub.clone(), Default::default()),
            may_wait,
            by_id: Mutex::default(),
            allocations: AtomicU64::new(0),
            failures: AtomicU64::new(0),
        }))
    }

    /// Makes a call: on a worker if it may wait, and otherwise here.
    pub(crate) async fn call<T: Send + 'static>(
        self: &Arc<Self>,
        call: impl FnOnce(&Arc<Self>) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        if !self.may_wait {
            return call(self);
        }
        let requests = self.clone();
        self.hub.workers.run(move || call(&requests)).await
    }

    /// The state of the cache; all zero if the cache has ended with its pool or model.
    pub(crate) fn stats(&self) -> KvCacheStats {
        self.cache.stats().unwrap_or_default()
    }

    /// Blocks that no sequence uses.
    pub(crate) fn free_blocks(&self) -> u64 {
        let stats = self.stats();
        stats.blocks - stats.used_blocks
    }

    /// The number of blocks of that many tokens.
    pub(crate) fn blocks_of(&self, tokens: u32) -> u64 {
        tokens.div_ceil(self.config.block_tokens).into()
    }

    pub(crate) fn find(&self, id: &RequestId) -> Result<Arc<Request>> {
        let found = locked(&self.by_id).get(id).cloned();
        found
            .filter(|it| it.state().sequence != 0)
            .ok_or_else(|| unknown(id))
    }

    /// Whether a request has this id, also one that is not allocated yet.
    pub(crate) fn is_taken(&self, id: &RequestId) -> bool {
        locked(&self.by_id).contains_key(id)
    }

    /// The allocated requests.
    pub(crate) fn all(&self) -> Vec<Arc<Request>> {
        let mut all: Vec<_> = locked(&self.by_id).values().cloned().collect();
        all.retain(|it| it.state().sequence != 0);
        all
    }

    pub(crate) fn allocate(self: &Arc<Self>, id: &RequestId, tokens: u32) -> Result<NewRequest> {
        let request = Arc::new(Request {
            id: id.clone(),
            state: Mutex::new(State {
                sequence: 0,
                number: 0,
                is_swapped: false,
                is_changing: false,
                last_access: Instant::now(),
            }),
        });
        if self.is_taken_now(&request) {
            self.failures.fetch_add(1, Ordering::Relaxed);
            return Err(FerrumError::already_exists(format!(
                "the request {id} has a cache"
            )));
        }
        let made = self.cache.allocate(&[tokens], &[], &[]);
        match made.as_deref() {
            Ok([made]) => {
                self.allocations.fetch_add(1, Ordering::Relaxed);
                Ok(NewRequest {
                    requests: self.clone(),
                    request,
                    sequence: made.sequence,
                })
            }
            other => {
                locked(&self.by_id).remove(id);
                self.failures.fetch_add(1, Ordering::Relaxed);
                Err(match other {
                    Err(error) => request.failed(error.clone()),
                    Ok(_) => FerrumError::internal("one sequence was allocated, but not returned"),
                })
            }
        }
    }

    /// Reserves the id of a request, unless it is taken.
    fn is_taken_now(&self, request: &Arc<Request>) -> bool {
        use std::collections::hash_map::Entry;
        match locked(&self.by_id).entry(request.id.clone()) {
            Entry::Occupied(_) => true,
            Entry::Vacant(place) => {
                place.insert(request.clone());
                false
            }
        }
    }

    pub(crate) fn extend(&self, request: &Arc<Request>, tokens: u32) -> Result<()> {
        let change = request.change()?;
        let made = self.cache.append(&[change.sequence], &[tokens]);
        made.map(drop).map_err(|error| request.failed(error))
    }

    pub(crate) fn deallocate(&self, request: &Arc<Request>) -> Result<()> {
        let change = request.change()?;
        // A pressure callback does not see the request any more.
        locked(&request.state).sequence = 0;
        if let Err(error) = self.cache.free(&[change.sequence]) {
            locked(&request.state).sequence = change.sequence;
            return Err(request.failed(error));
        }
        locked(&self.by_id).remove(&request.id);
        Ok(())
    }

    /// Moves a request to the host, or back.
    pub(crate) fn swap(&self, request: &Arc<Request>, out: bool) -> Result<()> {
        let change = request.change()?;
        let sequences = [change.sequence];
        let moved = if out {
            self.cache.swap_out(&sequences)
        } else {
            self.cache.swap_in(&sequences)
        };
        moved.map_err(|error| request.failed(error))?;
        locked(&request.state).is_swapped = out;
        Ok(())
    }

    /// Gives the target the blocks of the source for its first tokens. Its other tokens get other
    /// blocks.
    pub(crate) fn share(
        &self,
        source: &Arc<Request>,
        target: &Arc<Request>,
        tokens: u32,
    ) -> Result<()> {
        if Arc::ptr_eq(source, target) {
            return Err(FerrumError::invalid_parameter(format!(
                "the request {} cannot share a prefix with itself",
                source.id
            )));
        }
        let from = source.change()?;
        let to = target.change()?;
        for change in [&from, &to] {
            let request = &change.request;
            if request.state().is_swapped {
                return Err(FerrumError::backend(format!(
                    "the request {} is swapped out",
                    request.id
                )));
            }
            let length = self.length(change)?;
            if tokens > length {
                return Err(FerrumError::invalid_parameter(format!(
                    "shared_tokens is {tokens}: the request {} has {length} tokens",
                    request.id
                )));
            }
        }
        let rest = self.length(&to)? - tokens;
        let made = self.cache.fork(&[from.sequence]);
        let made = made.map_err(|error| source.failed(error))?;
        let shortened = self.cache.truncate(&made, &[tokens]);
        let filled = shortened.and_then(|()| self.cache.append(&made, &[rest]));
        let replaced = filled.and_then(|_| self.cache.free(&[to.sequence]));
        if let Err(error) = replaced {
            // Fails only if the cache has ended, and the sequence with it.
            drop(self.cache.free(&made));
            return Err(target.failed(error));
        }
        locked(&target.state).sequence = made[0];
        Ok(())
    }

    fn length(&self, change: &Change) -> Result<u32> {
        let lengths = self.cache.lengths(&[change.sequence]);
        let lengths = lengths.map_err(|error| change.request.failed(error))?;
        Ok(lengths[0])
    }

    /// The present block table of a request. It has no blocks while the request is swapped out, and
    /// no tokens after its end.
    pub(crate) fn table(&self, request: &Request) -> Result<BlockTable> {
        loop {
            let state = request.state();
            if state.sequence == 0 {
                return Ok(BlockTable::new(self.config.block_tokens as usize));
            }
            let error = match self.table_of(state.sequence) {
                Ok(table) => return Ok(table),
                Err(error) => error,
            };
            // Another call has changed the request between two calls of the cache.
            let is_longer = error.kind == ErrorKind::BufferTooSmall;
            if !is_longer && request.state().sequence == state.sequence {
                return Err(request.failed(error));
            }
        }
    }

    fn table_of(&self, sequence: u64) -> ferrum_mem::Result<BlockTable> {
        let mut table = BlockTable::new(self.config.block_tokens as usize);
        let tokens = self.cache.lengths(&[sequence])?[0];
        table.sequence_length = tokens as usize;
        if tokens == 0 {
            return Ok(table);
        }
        match self.cache.block_tables(&[sequence], self.blocks_of(tokens)) {
            Ok(blocks) => {
                let blocks = blocks.iter().filter_map(|it| BlockId::try_from(*it).ok());
                table.add_blocks(&blocks.collect::<Vec<_>>());
                Ok(table)
            }
            // It is swapped out.
            Err(error) if error.kind == ErrorKind::InvalidState => Ok(table),
            Err(error) => Err(error),
        }
    }
}

/// The type of the traits for the type of a cache. The error names what the traits do not have.
pub(crate) fn usable(config: &KvCacheConfig) -> Result<DataType> {
    if config.window_tokens > 0 {
        return Err(FerrumError::unsupported(
            "window_tokens: a block table of the traits has no entry for a released block",
        ));
    }
    data_type_of(config.dtype).ok_or_else(|| {
        FerrumError::unsupported(format!(
            "dtype: the traits do not have the type {}",
            config.dtype
        ))
    })
}
