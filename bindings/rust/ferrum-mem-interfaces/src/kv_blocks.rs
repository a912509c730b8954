use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use ferrum_interfaces::kv_cache::BlockAllocator;
use ferrum_types::{BlockId, FerrumError, Result};

use crate::config::count;
use crate::error::error_of;
use crate::hub::locked;
use crate::kv_requests::Requests;

/// [`BlockAllocator`] on the cache of a [`crate::FerrumKvCacheManager`], for blocks that belong to
/// no request. Each block is a sequence of the cache with one token. A drop frees the blocks.
pub struct FerrumBlockAllocator {
    requests: Arc<Requests>,
    /// The sequences of the blocks. It is not locked during a call of the cache, which may run a
    /// pressure callback.
    sequences: Mutex<HashMap<BlockId, u64>>,
}

impl std::fmt::Debug for FerrumBlockAllocator {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FerrumBlockAllocator")
            .field("blocks", &locked(&self.sequences).len())
            .finish_non_exhaustive()
    }
}

impl FerrumBlockAllocator {
    pub(crate) fn new(requests: Arc<Requests>) -> Self {
        Self {
            requests,
            sequences: Mutex::default(),
        }
    }
}

impl Drop for FerrumBlockAllocator {
    fn drop(&mut self) {
        let sequences: Vec<u64> = locked(&self.sequences).drain().map(|it| it.1).collect();
        if !sequences.is_empty() {
            // Fails only if the cache has ended, and the sequences with it.
            drop(self.requests.cache.free(&sequences));
        }
    }
}

impl BlockAllocator for FerrumBlockAllocator {
    /// All blocks, or none.
    ///
    /// [`FerrumError::ResourceExhausted`] if there are not enough blocks or sequences.
    fn allocate_blocks(&self, num_blocks: usize) -> Result<Vec<BlockId>> {
        let cache = &self.requests.cache;
        let most = self.total_block_count();
        if num_blocks > most {
            return Err(FerrumError::resource_exhausted(format!(
                "num_blocks is {num_blocks}: the cache has {most} blocks"
            )));
        }
        if num_blocks == 0 {
            return Ok(Vec::new());
        }
        let made = cache.allocate(&vec![1; num_blocks], &[], &[]);
        let made = made.map_err(error_of)?;
        let made: Vec<u64> = made.iter().map(|it| it.sequence).collect();
        let tables = match cache.block_tables(&made, 1) {
            Ok(tables) => tables,
            Err(error) => {
                // Fails only if the cache has ended, and the sequences with it.
                drop(cache.free(&made));
                return Err(error_of(error));
            }
        };
        // A sequence with a token has a block, and its number is not negative.
        let blocks: Vec<BlockId> = tables.iter().map(|it| *it as BlockId).collect();
        locked(&self.sequences).extend(blocks.iter().copied().zip(made));
        Ok(blocks)
    }

    /// All blocks, or none.
    ///
    /// [`FerrumError::NotFound`] for a block that this allocator does not have, and for a block that
    /// is in the list twice.
    fn free_blocks(&self, blocks: &[BlockId]) -> Result<()> {
        let mut freed = HashMap::new();
        let mut sequences = locked(&self.sequences);
        for block in blocks {
            match sequences.remove(block) {
                Some(sequence) => drop(freed.insert(*block, sequence)),
                None => {
                    sequences.extend(freed);
                    return Err(FerrumError::not_found(format!(
                        "the allocator does not have the block {block}"
                    )));
                }
            }
        }
        drop(sequences);
        if freed.is_empty() {
            return Ok(());
        }
        let list: Vec<u64> = freed.values().copied().collect();
        self.requests.cache.free(&list).map_err(|error| {
            locked(&self.sequences).extend(freed);
            error_of(error)
        })
    }

    /// The blocks that can be allocated now: at most as many as the cache has free sequences.
    fn free_block_count(&self) -> usize {
        let stats = self.requests.stats();
        let most = u64::from(self.requests.config.sequences);
        let sequences = most.saturating_sub(stats.sequences);
        count((stats.blocks - stats.used_blocks).min(sequences))
    }

    /// The blocks of the cache.
    fn total_block_count(&self) -> usize {
        count(self.requests.stats().blocks)
    }

    fn block_size(&self) -> usize {
        self.requests.config.block_tokens as usize
    }

    /// [`FerrumError::Unsupported`]: blocks of one size need no defragmentation, and a cache does not
    /// move blocks.
    fn defragment(&self) -> Result<()> {
        Err(FerrumError::unsupported(
            "defragment: all blocks have one size, and a KV cache does not move blocks",
        ))
    }
}
