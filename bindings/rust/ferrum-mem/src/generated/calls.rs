// Generated from include/ferrum_mem.h by scripts/genabi.py; do not edit.

use std::time::Duration;

use super::enums::*;
use super::records::*;
use crate::error::check;
use crate::library::json_of;
use crate::library::listed;
use crate::raw::ns;
use crate::stream::timeout_ns;
use crate::{sys, Result};

impl crate::Device {
    /// Describes an open device.
    ///
    /// # Errors
    ///
    /// The errors of every call, such as [`ErrorKind::InvalidHandle`](crate::ErrorKind::InvalidHandle).
    ///
    /// C function: [`ferrum_device_get_info`](crate::sys::ferrum_device_get_info).
    pub fn info(&self) -> Result<DeviceInfo> {
        let mut out = sys::ferrum_device_info::default();
        // SAFETY: out is an output of the call, with its size set.
        check(unsafe { sys::ferrum_device_get_info(self.raw(), &mut out) })?;
        Ok((&out).into())
    }

    /// Waits until no stream of the device has queued work.
    ///
    /// Without a timeout it waits without an end.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Timeout`](crate::ErrorKind::Timeout) when the work takes longer;
    /// [`ErrorKind::InvalidState`](crate::ErrorKind::InvalidState) when the work of all other streams has
    /// completed and some streams are capturing. A capturing stream cannot be waited for.
    ///
    /// C function: [`ferrum_device_synchronize`](crate::sys::ferrum_device_synchronize).
    pub fn synchronize(&self, timeout: Option<Duration>) -> Result<()> {
        // SAFETY: the arguments are plain values.
        check(unsafe { sys::ferrum_device_synchronize(self.raw(), timeout_ns(timeout)) })
    }

    /// Limits the memory that this library holds from the device, for all pools and
    /// managers together. `None` removes the limit. A limit below the held memory releases
    /// cached memory. Live blocks stay, and no further memory is allocated from the
    /// device until the held memory is below the limit.
    ///
    /// A limit below the capacity is the total of [`MemoryInfo`](crate::MemoryInfo). Utilization, pressure
    /// levels, pressure callbacks, monitors, placement, `gc_threshold` and `gpu_memory_fraction`
    /// are computed from it. If a new limit changes the level, pressure callbacks are called.
    ///
    /// # Errors
    ///
    /// The errors of every call, such as [`ErrorKind::InvalidHandle`](crate::ErrorKind::InvalidHandle).
    ///
    /// C function: [`ferrum_device_set_limit`](crate::sys::ferrum_device_set_limit).
    pub fn set_limit(&self, limit_bytes: Option<u64>) -> Result<()> {
        // SAFETY: the arguments are plain values.
        check(unsafe { sys::ferrum_device_set_limit(self.raw(), limit_bytes.unwrap_or(0)) })
    }

    /// Measures the copy bandwidth of the device by timed copies between two temporary
    /// segments of at most 64 MiB each. The call takes some tens of milliseconds and
    /// then releases the segments. From then on [`Device::memory_info`](crate::Device::memory_info) reports
    /// the bandwidth.
    ///
    /// # Errors
    ///
    /// The errors of every call, such as [`ErrorKind::InvalidHandle`](crate::ErrorKind::InvalidHandle).
    ///
    /// C function: [`ferrum_device_measure_bandwidth`](crate::sys::ferrum_device_measure_bandwidth).
    pub fn measure_bandwidth(&self) -> Result<f64> {
        let mut out = 0.0;
        // SAFETY: out is an output of the call.
        check(unsafe { sys::ferrum_device_measure_bandwidth(self.raw(), &mut out) })?;
        Ok(out)
    }

    /// Queries the memory of a device, with all uses of it.
    ///
    /// # Errors
    ///
    /// The errors of every call, such as [`ErrorKind::InvalidHandle`](crate::ErrorKind::InvalidHandle).
    ///
    /// C function: [`ferrum_device_get_memory_info`](crate::sys::ferrum_device_get_memory_info).
    pub fn memory_info(&self) -> Result<MemoryInfo> {
        let mut out = sys::ferrum_memory_info::default();
        // SAFETY: out is an output of the call, with its size set.
        check(unsafe { sys::ferrum_device_get_memory_info(self.raw(), &mut out) })?;
        Ok((&out).into())
    }

    /// Returns the same as [`Device::memory_info`](crate::Device::memory_info), computed from the counters and
    /// the latest reading of the device, if that reading is no older than `max_age`.
    /// Otherwise the call reads the device again. The call is much quicker with an old
    /// reading, and does not delay other threads.
    ///
    /// The result does not contain changes that other processes made since the reading.
    /// In pools with thread caches it does not contain the allocations and frees of another
    /// thread since the cache of that thread last exchanged blocks with the pool. It
    /// contains everything that the calling thread did.
    ///
    /// `max_age`: greatest age of a reading that is used; 0 always reads the device, UINT64_MAX uses a reading of any age.
    ///
    /// # Errors
    ///
    /// The errors of every call, such as [`ErrorKind::InvalidHandle`](crate::ErrorKind::InvalidHandle).
    ///
    /// C function: [`ferrum_device_get_recent_memory_info`](crate::sys::ferrum_device_get_recent_memory_info).
    pub fn recent_memory_info(&self, max_age: Duration) -> Result<MemoryInfo> {
        let mut out = sys::ferrum_memory_info::default();
        // SAFETY: out is an output of the call, with its size set.
        check(unsafe {
            sys::ferrum_device_get_recent_memory_info(self.raw(), ns(max_age), &mut out)
        })?;
        Ok((&out).into())
    }

    /// Returns the counters of a device: the sum over its pools and managers.
    ///
    /// # Errors
    ///
    /// The errors of every call, such as [`ErrorKind::InvalidHandle`](crate::ErrorKind::InvalidHandle).
    ///
    /// C function: [`ferrum_device_get_statistics`](crate::sys::ferrum_device_get_statistics).
    pub fn statistics(&self) -> Result<Statistics> {
        let mut out = sys::ferrum_statistics::default();
        // SAFETY: out is an output of the call, with its size set.
        check(unsafe { sys::ferrum_device_get_statistics(self.raw(), &mut out) })?;
        Ok((&out).into())
    }

    /// Returns the page sizes of a device.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::UnsupportedDevice`](crate::ErrorKind::UnsupportedDevice) when the device has no virtual
    /// memory.
    ///
    /// C function: [`ferrum_device_get_page_sizes`](crate::sys::ferrum_device_get_page_sizes).
    pub fn page_sizes(&self) -> Result<PageSizes> {
        let mut out = sys::ferrum_page_sizes::default();
        // SAFETY: out is an output of the call, with its size set.
        check(unsafe { sys::ferrum_device_get_page_sizes(self.raw(), &mut out) })?;
        Ok((&out).into())
    }

    /// Returns the context that the library uses for a device, such as the CUcontext.
    /// The library owns it, and destroys it when the device is closed.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Unsupported`](crate::ErrorKind::Unsupported) for a backend without such handles.
    ///
    /// C function: [`ferrum_device_get_native`](crate::sys::ferrum_device_get_native).
    pub fn native(&self) -> Result<u64> {
        let mut out = 0;
        // SAFETY: out is an output of the call.
        check(unsafe { sys::ferrum_device_get_native(self.raw(), &mut out) })?;
        Ok(out)
    }

    /// Allows work of another device, such as a kernel that the library does not know
    /// of, to use the memory of a device: its allocations, and memory that is mapped in
    /// virtual memory now and later, with the access rights of the device itself. The
    /// access ends when one of the devices is closed. On devices whose memory the
    /// process can address, the call has no effect.
    ///
    /// `peer`: the device that gets the access.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Unsupported`](crate::ErrorKind::Unsupported) when the peer cannot reach the memory of
    /// the device; [`ErrorKind::InvalidArgument`](crate::ErrorKind::InvalidArgument) for the device itself.
    ///
    /// C function: [`ferrum_device_grant_peer`](crate::sys::ferrum_device_grant_peer).
    pub fn grant_peer(&self, peer: &crate::Device) -> Result<()> {
        // SAFETY: the arguments are plain values.
        check(unsafe { sys::ferrum_device_grant_peer(self.raw(), peer.raw()) })
    }
}

impl crate::ElasticPool {
    /// Describes an elastic pool.
    ///
    /// # Errors
    ///
    /// The errors of every call, such as [`ErrorKind::InvalidHandle`](crate::ErrorKind::InvalidHandle).
    ///
    /// C function: [`ferrum_elastic_pool_get_info`](crate::sys::ferrum_elastic_pool_get_info).
    pub fn info(&self) -> Result<ElasticPoolInfo> {
        let mut out = sys::ferrum_elastic_pool_info::default();
        // SAFETY: out is an output of the call, with its size set.
        check(unsafe { sys::ferrum_elastic_pool_get_info(self.raw(), &mut out) })?;
        Ok((&out).into())
    }

    /// Returns the counters of an elastic pool. Its live blocks are the ranges of all
    /// models.
    ///
    /// # Errors
    ///
    /// The errors of every call, such as [`ErrorKind::InvalidHandle`](crate::ErrorKind::InvalidHandle).
    ///
    /// C function: [`ferrum_elastic_pool_get_statistics`](crate::sys::ferrum_elastic_pool_get_statistics).
    pub fn statistics(&self) -> Result<Statistics> {
        let mut out = sys::ferrum_statistics::default();
        // SAFETY: out is an output of the call, with its size set.
        check(unsafe { sys::ferrum_elastic_pool_get_statistics(self.raw(), &mut out) })?;
        Ok((&out).into())
    }

    /// Describes every model of a pool at one moment, in the order of registration, as
    /// JSON:
    ///
    /// {"models": \[{"id": "chat", "physical_bytes": 0}\]}
    ///
    /// Each model has all fields of [`ModelInfo`](crate::ModelInfo).
    ///
    /// # Errors
    ///
    /// The errors of every call, such as [`ErrorKind::InvalidHandle`](crate::ErrorKind::InvalidHandle).
    ///
    /// C function: [`ferrum_elastic_pool_models_json`](crate::sys::ferrum_elastic_pool_models_json).
    pub fn models_json(&self) -> Result<String> {
        // SAFETY: the buffer has the room that is told.
        json_of(|to, room, length| unsafe {
            sys::ferrum_elastic_pool_models_json(self.raw(), to, room, length)
        })
    }

    /// Changes the limit of all models together while they run; `None`: the memory of the
    /// device. Mapped ranges stay. Free pages above the limit are released to the
    /// device, as with [`VirtualPool::set_limit`](crate::VirtualPool::set_limit). If the limit falls below the memory that
    /// the models use or have as guarantees, a model within its guarantee may have to
    /// wait until models above their guarantees have released pages.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidConfig`](crate::ErrorKind::InvalidConfig) for a limit below the requested
    /// guarantees or below one page;
    /// [`ErrorKind::OutOfPhysicalMemory`](crate::ErrorKind::OutOfPhysicalMemory) for a limit above the
    /// memory of the device.
    ///
    /// C function: [`ferrum_elastic_pool_set_limit`](crate::sys::ferrum_elastic_pool_set_limit).
    pub fn set_limit(&self, limit_bytes: Option<u64>) -> Result<()> {
        // SAFETY: the arguments are plain values.
        check(unsafe { sys::ferrum_elastic_pool_set_limit(self.raw(), limit_bytes.unwrap_or(0)) })
    }

    /// The same as [`VirtualPool::compact`](crate::VirtualPool::compact).
    ///
    /// # Errors
    ///
    /// The errors of every call, such as [`ErrorKind::InvalidHandle`](crate::ErrorKind::InvalidHandle).
    ///
    /// C function: [`ferrum_elastic_pool_compact`](crate::sys::ferrum_elastic_pool_compact).
    pub fn compact(&self) -> Result<CompactReport> {
        let mut out = sys::ferrum_compact_report::default();
        // SAFETY: out is an output of the call, with its size set.
        check(unsafe { sys::ferrum_elastic_pool_compact(self.raw(), &mut out) })?;
        Ok((&out).into())
    }

    /// The same as [`VirtualPool::trim`](crate::VirtualPool::trim).
    ///
    /// # Errors
    ///
    /// The errors of every call, such as [`ErrorKind::InvalidHandle`](crate::ErrorKind::InvalidHandle).
    ///
    /// C function: [`ferrum_elastic_pool_trim`](crate::sys::ferrum_elastic_pool_trim).
    pub fn trim(&self, keep_bytes: u64) -> Result<u64> {
        let mut out = 0;
        // SAFETY: out is an output of the call.
        check(unsafe { sys::ferrum_elastic_pool_trim(self.raw(), keep_bytes, &mut out) })?;
        Ok(out)
    }

    /// The same as [`VirtualPool::synchronize`](crate::VirtualPool::synchronize), for the ranges of all models.
    ///
    /// Without a timeout it waits without an end.
    ///
    /// # Errors
    ///
    /// The errors of every call, such as [`ErrorKind::InvalidHandle`](crate::ErrorKind::InvalidHandle).
    ///
    /// C function: [`ferrum_elastic_pool_synchronize`](crate::sys::ferrum_elastic_pool_synchronize).
    pub fn synchronize(&self, timeout: Option<Duration>) -> Result<()> {
        // SAFETY: the arguments are plain values.
        check(unsafe { sys::ferrum_elastic_pool_synchronize(self.raw(), timeout_ns(timeout)) })
    }

    /// The same as [`VirtualPool::pause`](crate::VirtualPool::pause).
    ///
    /// # Errors
    ///
    /// The errors of every call, such as [`ErrorKind::InvalidHandle`](crate::ErrorKind::InvalidHandle).
    ///
    /// C function: [`ferrum_elastic_pool_pause`](crate::sys::ferrum_elastic_pool_pause).
    pub fn pause(&self) -> Result<()> {
        // SAFETY: the arguments are plain values.
        check(unsafe { sys::ferrum_elastic_pool_pause(self.raw()) })
    }

    /// Ends a [`ElasticPool::pause`](crate::ElasticPool::pause).
    ///
    /// # Errors
    ///
    /// The errors of every call, such as [`ErrorKind::InvalidHandle`](crate::ErrorKind::InvalidHandle).
    ///
    /// C function: [`ferrum_elastic_pool_resume`](crate::sys::ferrum_elastic_pool_resume).
    pub fn resume(&self) -> Result<()> {
        // SAFETY: the arguments are plain values.
        check(unsafe { sys::ferrum_elastic_pool_resume(self.raw()) })
    }
}

impl crate::Event {
    /// Returns without waiting whether the event has completed (1) or not (0).
    ///
    /// # Errors
    ///
    /// The errors of every call, such as [`ErrorKind::InvalidHandle`](crate::ErrorKind::InvalidHandle).
    ///
    /// C function: [`ferrum_event_is_ready`](crate::sys::ferrum_event_is_ready).
    pub fn is_ready(&self) -> Result<bool> {
        let mut out = 0;
        // SAFETY: out is an output of the call.
        check(unsafe { sys::ferrum_event_is_ready(self.raw(), &mut out) })?;
        Ok(out != 0)
    }

    /// Waits until the event has completed.
    ///
    /// Without a timeout it waits without an end.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Timeout`](crate::ErrorKind::Timeout) when the event takes longer.
    ///
    /// C function: [`ferrum_event_synchronize`](crate::sys::ferrum_event_synchronize).
    pub fn synchronize(&self, timeout: Option<Duration>) -> Result<()> {
        // SAFETY: the arguments are plain values.
        check(unsafe { sys::ferrum_event_synchronize(self.raw(), timeout_ns(timeout)) })
    }

    /// The same as [`Device::native`](crate::Device::native), for an event: for example the CUevent,
    /// which has been recorded. The program may wait for it, and must not record it
    /// again.
    ///
    /// # Errors
    ///
    /// The errors of every call, such as [`ErrorKind::InvalidHandle`](crate::ErrorKind::InvalidHandle).
    ///
    /// C function: [`ferrum_event_get_native`](crate::sys::ferrum_event_get_native).
    pub fn native(&self) -> Result<u64> {
        let mut out = 0;
        // SAFETY: out is an output of the call.
        check(unsafe { sys::ferrum_event_get_native(self.raw(), &mut out) })?;
        Ok(out)
    }
}

impl crate::FallbackManager {
    /// Returns the name of the device's backend as text, such as "cpu" or "cuda".
    ///
    /// # Errors
    ///
    /// The errors of every call, such as [`ErrorKind::InvalidHandle`](crate::ErrorKind::InvalidHandle).
    ///
    /// C function: [`ferrum_fallback_manager_get_backend_name`](crate::sys::ferrum_fallback_manager_get_backend_name).
    pub fn backend_name(&self) -> Result<String> {
        // SAFETY: the buffer has the room that is told.
        json_of(|to, room, length| unsafe {
            sys::ferrum_fallback_manager_get_backend_name(self.raw(), to, room, length)
        })
    }

    /// Returns the counters of a fallback manager. They count the buffers on the device;
    /// only `active_buffers` counts both sides. Takes no lock.
    ///
    /// # Errors
    ///
    /// The errors of every call, such as [`ErrorKind::InvalidHandle`](crate::ErrorKind::InvalidHandle).
    ///
    /// C function: [`ferrum_fallback_manager_get_stats`](crate::sys::ferrum_fallback_manager_get_stats).
    pub fn stats(&self) -> Result<MemoryStats> {
        let mut out = sys::ferrum_memory_stats::default();
        // SAFETY: out is an output of the call, with its size set.
        check(unsafe { sys::ferrum_fallback_manager_get_stats(self.raw(), &mut out) })?;
        Ok((&out).into())
    }

    /// Returns the counters of a fallback manager for the host.
    ///
    /// # Errors
    ///
    /// The errors of every call, such as [`ErrorKind::InvalidHandle`](crate::ErrorKind::InvalidHandle).
    ///
    /// C function: [`ferrum_fallback_manager_get_fallback_stats`](crate::sys::ferrum_fallback_manager_get_fallback_stats).
    pub fn fallback_stats(&self) -> Result<FallbackStats> {
        let mut out = sys::ferrum_fallback_stats::default();
        // SAFETY: out is an output of the call, with its size set.
        check(unsafe { sys::ferrum_fallback_manager_get_fallback_stats(self.raw(), &mut out) })?;
        Ok((&out).into())
    }

    /// Queries the memory of the device.
    ///
    /// # Errors
    ///
    /// The errors of every call, such as [`ErrorKind::InvalidHandle`](crate::ErrorKind::InvalidHandle).
    ///
    /// C function: [`ferrum_fallback_manager_get_memory`](crate::sys::ferrum_fallback_manager_get_memory).
    pub fn memory(&self) -> Result<(u64, u64)> {
        let mut total = 0;
        let mut free = 0;
        // SAFETY: the last are outputs of the call.
        check(unsafe {
            sys::ferrum_fallback_manager_get_memory(self.raw(), &mut total, &mut free)
        })?;
        Ok((total, free))
    }

    /// Returns the present level of the device by [`PressureProfile::Early`](crate::PressureProfile::Early).
    ///
    /// # Errors
    ///
    /// The errors of every call, such as [`ErrorKind::InvalidHandle`](crate::ErrorKind::InvalidHandle).
    ///
    /// C function: [`ferrum_fallback_manager_get_pressure`](crate::sys::ferrum_fallback_manager_get_pressure).
    pub fn pressure(&self) -> Result<PressureLevel> {
        let mut out = 0;
        // SAFETY: out is an output of the call.
        check(unsafe { sys::ferrum_fallback_manager_get_pressure(self.raw(), &mut out) })?;
        Ok(PressureLevel::from_raw(out))
    }

    /// Empties the buckets. The memory can then be allocated for buffers of any size,
    /// and may still be held from the device.
    ///
    /// # Errors
    ///
    /// The errors of every call, such as [`ErrorKind::InvalidHandle`](crate::ErrorKind::InvalidHandle).
    ///
    /// C function: [`ferrum_fallback_manager_clear_pool`](crate::sys::ferrum_fallback_manager_clear_pool).
    pub fn clear_pool(&self) -> Result<()> {
        // SAFETY: the arguments are plain values.
        check(unsafe { sys::ferrum_fallback_manager_clear_pool(self.raw()) })
    }

    /// Empties the buckets and releases free memory on both sides.
    ///
    /// # Errors
    ///
    /// The errors of every call, such as [`ErrorKind::InvalidHandle`](crate::ErrorKind::InvalidHandle).
    ///
    /// C function: [`ferrum_fallback_manager_shrink`](crate::sys::ferrum_fallback_manager_shrink).
    pub fn shrink(&self) -> Result<u64> {
        let mut out = 0;
        // SAFETY: out is an output of the call.
        check(unsafe { sys::ferrum_fallback_manager_shrink(self.raw(), &mut out) })?;
        Ok(out)
    }

    /// Moves the buffers that fell back to the device, the oldest first, until the
    /// device has no room for the next one. Pinned buffers stay, and no memory is
    /// reclaimed for it. The addresses of buffers that are not pinned may change. The
    /// call moves none while another thread does the same.
    ///
    /// # Errors
    ///
    /// The errors of every call, such as [`ErrorKind::InvalidHandle`](crate::ErrorKind::InvalidHandle).
    ///
    /// C function: [`ferrum_fallback_manager_return_buffers`](crate::sys::ferrum_fallback_manager_return_buffers).
    pub fn return_buffers(&self) -> Result<u64> {
        let mut out = 0;
        // SAFETY: out is an output of the call.
        check(unsafe { sys::ferrum_fallback_manager_return_buffers(self.raw(), &mut out) })?;
        Ok(out)
    }

    /// Releases taken storage after the work that is queued on a stream of the device,
    /// which is optional. [`ErrorKind::InvalidArgument`](crate::ErrorKind::InvalidArgument) for an unknown location;
    /// [`ErrorKind::InvalidAddress`](crate::ErrorKind::InvalidAddress) for an address without such storage.
    ///
    /// Without a stream it is the default one of the device.
    ///
    /// # Errors
    ///
    /// The errors of every call, such as [`ErrorKind::InvalidHandle`](crate::ErrorKind::InvalidHandle).
    ///
    /// C function: [`ferrum_fallback_manager_release`](crate::sys::ferrum_fallback_manager_release).
    pub fn release(
        &self,
        location: BufferLocation,
        address: u64,
        stream: Option<&crate::Stream>,
    ) -> Result<()> {
        // SAFETY: the arguments are plain values.
        check(unsafe {
            sys::ferrum_fallback_manager_release(
                self.raw(),
                location.to_raw(),
                address,
                stream.map(crate::Stream::raw).unwrap_or_default(),
            )
        })
    }
}

impl crate::KvCache {
    /// Computes the hashes of the whole blocks of tokens. The hash of a block stands for the tokens of
    /// the block and of all blocks before it. Two different prefixes have the same hash with a
    /// probability of 2^-64.
    ///
    /// `parent`: the hash of the block before the tokens; 0 at the start of a sequence.
    ///
    /// # Errors
    ///
    /// The errors of every call, such as [`ErrorKind::InvalidHandle`](crate::ErrorKind::InvalidHandle).
    ///
    /// C function: [`ferrum_kv_cache_hash_tokens`](crate::sys::ferrum_kv_cache_hash_tokens).
    pub fn hash_tokens(&self, parent: u64, tokens: &[i32]) -> Result<Vec<u64>> {
        // SAFETY: the buffer has the room that is told.
        listed(|to, room, count| unsafe {
            sys::ferrum_kv_cache_hash_tokens(
                self.raw(),
                parent,
                tokens.as_ptr(),
                tokens.len() as u64,
                to,
                room,
                count,
            )
        })
    }

    /// Returns how many hashes of a prefix, from the first one, have a block.
    ///
    /// # Errors
    ///
    /// The errors of every call, such as [`ErrorKind::InvalidHandle`](crate::ErrorKind::InvalidHandle).
    ///
    /// C function: [`ferrum_kv_cache_find`](crate::sys::ferrum_kv_cache_find).
    pub fn find(&self, hashes: &[u64]) -> Result<u64> {
        let mut out = 0;
        // SAFETY: what goes in has the length that is told; out is an output of the call.
        check(unsafe {
            sys::ferrum_kv_cache_find(self.raw(), hashes.as_ptr(), hashes.len() as u64, &mut out)
        })?;
        Ok(out)
    }

    /// Makes sequences with blocks for their tokens. The first blocks of a sequence are shared with
    /// the longest published prefix of its hashes; the program computes the keys and values of the
    /// other tokens.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidSize`](crate::ErrorKind::InvalidSize) for a sequence that is longer than those
    /// of the cache; [`ErrorKind::ResourceExhausted`](crate::ErrorKind::ResourceExhausted) for too many
    /// sequences; [`ErrorKind::OutOfMemory`](crate::ErrorKind::OutOfMemory) if there are not enough blocks;
    /// [`ErrorKind::Busy`](crate::ErrorKind::Busy) while the memory sleeps
    ///
    /// C function: [`ferrum_kv_cache_allocate`](crate::sys::ferrum_kv_cache_allocate).
    pub fn allocate(
        &self,
        lengths: &[u32],
        prefix_blocks: &[u32],
        hashes: &[u64],
    ) -> Result<Vec<KvSequence>> {
        // SAFETY: the buffer has the room that is told.
        let found = listed(|to, room, count| unsafe {
            sys::ferrum_kv_cache_allocate(
                self.raw(),
                lengths.as_ptr(),
                lengths.len() as u64,
                prefix_blocks.as_ptr(),
                prefix_blocks.len() as u64,
                hashes.as_ptr(),
                hashes.len() as u64,
                to,
                room,
                count,
            )
        })?;
        Ok(found.iter().map(Into::into).collect())
    }

    /// Adds tokens to sequences, and the blocks that the tokens need. If other sequences share the last
    /// block of a sequence, the sequence gets a copy of its own. A published block whose contents
    /// change loses its hash. With a sliding window, the blocks that the first new token does not reach
    /// are released before new ones are taken.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidHandle`](crate::ErrorKind::InvalidHandle) for a sequence that does not live;
    /// [`ErrorKind::InvalidOffset`](crate::ErrorKind::InvalidOffset) for positions beyond
    /// `sequence_tokens`; [`ErrorKind::InvalidState`](crate::ErrorKind::InvalidState) for a sequence that
    /// is swapped out; [`ErrorKind::OutOfMemory`](crate::ErrorKind::OutOfMemory) if there are not enough
    /// blocks: the sequences live and are unchanged; [`ErrorKind::Busy`](crate::ErrorKind::Busy) while the
    /// memory sleeps
    ///
    /// C function: [`ferrum_kv_cache_append`](crate::sys::ferrum_kv_cache_append).
    pub fn append(&self, sequences: &[u64], lengths: &[u32]) -> Result<Vec<KvCopy>> {
        // SAFETY: the buffer has the room that is told.
        let found = listed(|to, room, count| unsafe {
            sys::ferrum_kv_cache_append(
                self.raw(),
                sequences.as_ptr(),
                sequences.len() as u64,
                lengths.as_ptr(),
                lengths.len() as u64,
                to,
                room,
                count,
            )
        })?;
        Ok(found.iter().map(Into::into).collect())
    }

    /// States that whole blocks of sequences have their contents, and gives them hashes, so that later
    /// sequences with the same prefix share them. A hash that another block has is skipped.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidArgument`](crate::ErrorKind::InvalidArgument) for more hashes than whole blocks;
    /// [`ErrorKind::InvalidHandle`](crate::ErrorKind::InvalidHandle),
    /// [`ErrorKind::InvalidState`](crate::ErrorKind::InvalidState) as for
    /// [`KvCache::append`](crate::KvCache::append).
    ///
    /// C function: [`ferrum_kv_cache_publish`](crate::sys::ferrum_kv_cache_publish).
    pub fn publish(&self, sequences: &[u64], prefix_blocks: &[u32], hashes: &[u64]) -> Result<()> {
        // SAFETY: what goes in has the length that is told.
        check(unsafe {
            sys::ferrum_kv_cache_publish(
                self.raw(),
                sequences.as_ptr(),
                sequences.len() as u64,
                prefix_blocks.as_ptr(),
                prefix_blocks.len() as u64,
                hashes.as_ptr(),
                hashes.len() as u64,
            )
        })
    }

    /// Makes a copy of each sequence, which shares all of its blocks.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidHandle`](crate::ErrorKind::InvalidHandle) for a sequence that does not live;
    /// [`ErrorKind::InvalidState`](crate::ErrorKind::InvalidState) for one that is swapped out;
    /// [`ErrorKind::ResourceExhausted`](crate::ErrorKind::ResourceExhausted) for too many sequences
    ///
    /// C function: [`ferrum_kv_cache_fork`](crate::sys::ferrum_kv_cache_fork).
    pub fn fork(&self, sequences: &[u64]) -> Result<Vec<u64>> {
        // SAFETY: the buffer has the room that is told.
        listed(|to, room, count| unsafe {
            sys::ferrum_kv_cache_fork(
                self.raw(),
                sequences.as_ptr(),
                sequences.len() as u64,
                to,
                room,
                count,
            )
        })
    }

    /// Shortens sequences and releases the blocks behind their end, as after rejected tokens of
    /// speculative decoding.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidOffset`](crate::ErrorKind::InvalidOffset) for a length above the present one,
    /// and for one whose window reaches blocks that were released;
    /// [`ErrorKind::InvalidHandle`](crate::ErrorKind::InvalidHandle),
    /// [`ErrorKind::InvalidState`](crate::ErrorKind::InvalidState) as for
    /// [`KvCache::append`](crate::KvCache::append).
    ///
    /// C function: [`ferrum_kv_cache_truncate`](crate::sys::ferrum_kv_cache_truncate).
    pub fn truncate(&self, sequences: &[u64], lengths: &[u32]) -> Result<()> {
        // SAFETY: what goes in has the length that is told.
        check(unsafe {
            sys::ferrum_kv_cache_truncate(
                self.raw(),
                sequences.as_ptr(),
                sequences.len() as u64,
                lengths.as_ptr(),
                lengths.len() as u64,
            )
        })
    }

    /// Ends sequences and releases their blocks. Published blocks stay cached until the cache needs
    /// them. Sequences that are swapped out can be freed as well.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidHandle`](crate::ErrorKind::InvalidHandle) for a sequence that does not live.
    ///
    /// C function: [`ferrum_kv_cache_free`](crate::sys::ferrum_kv_cache_free).
    pub fn free(&self, sequences: &[u64]) -> Result<()> {
        // SAFETY: what goes in has the length that is told.
        check(unsafe {
            sys::ferrum_kv_cache_free(self.raw(), sequences.as_ptr(), sequences.len() as u64)
        })
    }

    /// Copies sequences to blocks of the host and releases their blocks. Sequences of one call that
    /// share blocks share the copies. Only [`KvCache::swap_in`](crate::KvCache::swap_in), [`KvCache::free`](crate::KvCache::free) and
    /// [`KvCache::lengths`](crate::KvCache::lengths) accept a sequence that is swapped out.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::ResourceExhausted`](crate::ErrorKind::ResourceExhausted) if the host has too few free
    /// blocks; errors of [`KvCache::append`](crate::KvCache::append).
    ///
    /// C function: [`ferrum_kv_cache_swap_out`](crate::sys::ferrum_kv_cache_swap_out).
    pub fn swap_out(&self, sequences: &[u64]) -> Result<Vec<KvCopy>> {
        // SAFETY: the buffer has the room that is told.
        let found = listed(|to, room, count| unsafe {
            sys::ferrum_kv_cache_swap_out(
                self.raw(),
                sequences.as_ptr(),
                sequences.len() as u64,
                to,
                room,
                count,
            )
        })?;
        Ok(found.iter().map(Into::into).collect())
    }

    /// Copies sequences back to blocks of the device. A block whose hash is still published there is
    /// shared instead.
    ///
    /// # Errors
    ///
    /// Errors of [`KvCache::append`](crate::KvCache::append).
    ///
    /// C function: [`ferrum_kv_cache_swap_in`](crate::sys::ferrum_kv_cache_swap_in).
    pub fn swap_in(&self, sequences: &[u64]) -> Result<Vec<KvCopy>> {
        // SAFETY: the buffer has the room that is told.
        let found = listed(|to, room, count| unsafe {
            sys::ferrum_kv_cache_swap_in(
                self.raw(),
                sequences.as_ptr(),
                sequences.len() as u64,
                to,
                room,
                count,
            )
        })?;
        Ok(found.iter().map(Into::into).collect())
    }

    /// Returns the block tables of sequences, one after the other.
    ///
    /// `width`: number of entries for each sequence. Entries behind the blocks of a sequence, and those before its window, are -1.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidHandle`](crate::ErrorKind::InvalidHandle);
    /// [`ErrorKind::InvalidState`](crate::ErrorKind::InvalidState) for a sequence that is swapped out.
    ///
    /// C function: [`ferrum_kv_cache_block_tables`](crate::sys::ferrum_kv_cache_block_tables).
    pub fn block_tables(&self, sequences: &[u64], width: u64) -> Result<Vec<i32>> {
        // SAFETY: the buffer has the room that is told.
        listed(|to, room, count| unsafe {
            sys::ferrum_kv_cache_block_tables(
                self.raw(),
                sequences.as_ptr(),
                sequences.len() as u64,
                width,
                to,
                room,
                count,
            )
        })
    }

    /// Returns the numbers of tokens of sequences.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidHandle`](crate::ErrorKind::InvalidHandle)
    ///
    /// C function: [`ferrum_kv_cache_lengths`](crate::sys::ferrum_kv_cache_lengths).
    pub fn lengths(&self, sequences: &[u64]) -> Result<Vec<u32>> {
        // SAFETY: the buffer has the room that is told.
        listed(|to, room, count| unsafe {
            sys::ferrum_kv_cache_lengths(
                self.raw(),
                sequences.as_ptr(),
                sequences.len() as u64,
                to,
                room,
                count,
            )
        })
    }

    /// Returns the memory of the keys of a layer, or of its values: an array of the shape
    /// \[blocks, `kv_heads`, `block_tokens`, `head_dim`\] without gaps. Only blocks that sequences use can be
    /// accessed.
    ///
    /// `layer`: 0 to layers - 1.
    ///
    /// `values`: 0: the keys, 1: the values.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidArgument`](crate::ErrorKind::InvalidArgument) for layer;
    /// [`ErrorKind::InvalidState`](crate::ErrorKind::InvalidState) for a cache without memory.
    ///
    /// C function: [`ferrum_kv_cache_plane`](crate::sys::ferrum_kv_cache_plane).
    pub fn plane(&self, layer: u32, values: bool) -> Result<(u64, u64)> {
        let mut address = 0;
        let mut size_bytes = 0;
        // SAFETY: the last are outputs of the call.
        check(unsafe {
            sys::ferrum_kv_cache_plane(
                self.raw(),
                layer,
                values.into(),
                &mut address,
                &mut size_bytes,
            )
        })?;
        Ok((address, size_bytes))
    }

    /// Evicts cached blocks, those that were not used for the longest time first, until at most so many
    /// are left, and releases the memory of all chunks without contents.
    ///
    /// `keep_cached_blocks`: number of cached blocks to keep.
    ///
    /// # Errors
    ///
    /// The errors of every call, such as [`ErrorKind::InvalidHandle`](crate::ErrorKind::InvalidHandle).
    ///
    /// C function: [`ferrum_kv_cache_trim`](crate::sys::ferrum_kv_cache_trim).
    pub fn trim(&self, keep_cached_blocks: u64) -> Result<u64> {
        let mut out = 0;
        // SAFETY: out is an output of the call.
        check(unsafe { sys::ferrum_kv_cache_trim(self.raw(), keep_cached_blocks, &mut out) })?;
        Ok(out)
    }

    /// Returns the state of a cache.
    ///
    /// # Errors
    ///
    /// The errors of every call, such as [`ErrorKind::InvalidHandle`](crate::ErrorKind::InvalidHandle).
    ///
    /// C function: [`ferrum_kv_cache_get_stats`](crate::sys::ferrum_kv_cache_get_stats).
    pub fn stats(&self) -> Result<KvCacheStats> {
        let mut out = sys::ferrum_kv_cache_stats::default();
        // SAFETY: out is an output of the call, with its size set.
        check(unsafe { sys::ferrum_kv_cache_get_stats(self.raw(), &mut out) })?;
        Ok((&out).into())
    }
}

impl crate::Manager {
    /// Sets the pool settings of a memory type from now on. Live blocks of the type stay
    /// in their pool until they are freed. New blocks come from a pool with the new
    /// settings.
    ///
    /// # Errors
    ///
    /// The errors of every call, such as [`ErrorKind::InvalidHandle`](crate::ErrorKind::InvalidHandle).
    ///
    /// C function: [`ferrum_manager_configure_pool`](crate::sys::ferrum_manager_configure_pool).
    pub fn configure_pool(&self, memory_type: MemoryType, config: &PoolConfig) -> Result<()> {
        config.with_raw("ferrum_manager_configure_pool", |config| {
            // SAFETY: the arguments are valid during the call.
            check(unsafe {
                sys::ferrum_manager_configure_pool(self.raw(), memory_type.to_raw(), config)
            })
        })
    }

    /// Returns the counters of a manager: the sum over its pools.
    ///
    /// # Errors
    ///
    /// The errors of every call, such as [`ErrorKind::InvalidHandle`](crate::ErrorKind::InvalidHandle).
    ///
    /// C function: [`ferrum_manager_get_statistics`](crate::sys::ferrum_manager_get_statistics).
    pub fn statistics(&self) -> Result<Statistics> {
        let mut out = sys::ferrum_statistics::default();
        // SAFETY: out is an output of the call, with its size set.
        check(unsafe { sys::ferrum_manager_get_statistics(self.raw(), &mut out) })?;
        Ok((&out).into())
    }
}

impl crate::Memory {
    /// Queues a prefetch of a block to a device that will use it, and returns. The
    /// contents stay the same. A prefetch is not counted as an access. On the host, the
    /// system allocates the physical memory of the block. On other devices,
    /// [`MemoryType::Managed`](crate::MemoryType::Managed) migrates to the target (a host device means the host);
    /// other memory stays.
    ///
    /// `target`: the block's own device, or another.
    ///
    /// `stream`: a stream of the block's device; `None`: its default stream.
    ///
    /// Without a stream it is the default one of the device.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Unsupported`](crate::ErrorKind::Unsupported) for a device that the block cannot migrate
    /// to.
    ///
    /// C function: [`ferrum_memory_prefetch`](crate::sys::ferrum_memory_prefetch).
    pub fn prefetch(&self, target: &crate::Device, stream: Option<&crate::Stream>) -> Result<()> {
        // SAFETY: the arguments are plain values.
        check(unsafe {
            sys::ferrum_memory_prefetch(
                self.raw(),
                target.raw(),
                stream.map(crate::Stream::raw).unwrap_or_default(),
            )
        })
    }

    /// Stores a hint with a block, in place of an earlier hint of the same group.
    /// [`UsageHint::None`](crate::UsageHint::None) removes all hints. Programs read hints with
    /// [`Memory::usage_hints`](crate::Memory::usage_hints). The library itself uses them only for
    /// [`MemoryType::Managed`](crate::MemoryType::Managed): it passes [`UsageHint::ReadMostly`](crate::UsageHint::ReadMostly) (each reader may have a
    /// copy) and [`UsageHint::Resident`](crate::UsageHint::Resident) (the memory stays at the device) to the device.
    /// If the device rejects one, the hints stay as they were.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidArgument`](crate::ErrorKind::InvalidArgument) for an unknown hint.
    ///
    /// C function: [`ferrum_memory_set_usage_hint`](crate::sys::ferrum_memory_set_usage_hint).
    pub fn set_usage_hint(&self, hint: UsageHint) -> Result<()> {
        // SAFETY: the arguments are plain values.
        check(unsafe { sys::ferrum_memory_set_usage_hint(self.raw(), hint.to_raw()) })
    }

    /// Returns the hints of a block.
    ///
    /// # Errors
    ///
    /// The errors of every call, such as [`ErrorKind::InvalidHandle`](crate::ErrorKind::InvalidHandle).
    ///
    /// C function: [`ferrum_memory_get_usage_hints`](crate::sys::ferrum_memory_get_usage_hints).
    pub fn usage_hints(&self) -> Result<UsageHints> {
        let mut out = sys::ferrum_usage_hints::default();
        // SAFETY: out is an output of the call, with its size set.
        check(unsafe { sys::ferrum_memory_get_usage_hints(self.raw(), &mut out) })?;
        Ok((&out).into())
    }
}

impl crate::Monitor {
    /// Adds a manager and its device to the monitor. The registration does not prevent
    /// the destruction of either. Destroying a manager removes it from the monitor
    /// before the destroy call returns. Several managers of one device count as one
    /// device.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::AlreadyExists`](crate::ErrorKind::AlreadyExists) for a manager that is registered.
    ///
    /// C function: [`ferrum_monitor_register`](crate::sys::ferrum_monitor_register).
    pub fn register(&self, manager: &crate::Manager) -> Result<()> {
        // SAFETY: the arguments are plain values.
        check(unsafe { sys::ferrum_monitor_register(self.raw(), manager.raw()) })
    }

    /// Removes a manager. [`ErrorKind::NotFound`](crate::ErrorKind::NotFound) when it is not registered.
    ///
    /// # Errors
    ///
    /// The errors of every call, such as [`ErrorKind::InvalidHandle`](crate::ErrorKind::InvalidHandle).
    ///
    /// C function: [`ferrum_monitor_unregister`](crate::sys::ferrum_monitor_unregister).
    pub fn unregister(&self, manager: &crate::Manager) -> Result<()> {
        // SAFETY: the arguments are plain values.
        check(unsafe { sys::ferrum_monitor_unregister(self.raw(), manager.raw()) })
    }

    /// Removes all managers of a device. [`ErrorKind::NotFound`](crate::ErrorKind::NotFound) when none is registered.
    ///
    /// # Errors
    ///
    /// The errors of every call, such as [`ErrorKind::InvalidHandle`](crate::ErrorKind::InvalidHandle).
    ///
    /// C function: [`ferrum_monitor_unregister_device`](crate::sys::ferrum_monitor_unregister_device).
    pub fn unregister_device(&self, device: &crate::Device) -> Result<()> {
        // SAFETY: the arguments are plain values.
        check(unsafe { sys::ferrum_monitor_unregister_device(self.raw(), device.raw()) })
    }

    /// Returns the pressure of all devices together.
    ///
    /// `max_age`: as for [`Device::recent_memory_info`](crate::Device::recent_memory_info), also for the reading of the system.
    ///
    /// # Errors
    ///
    /// The errors of every call, such as [`ErrorKind::InvalidHandle`](crate::ErrorKind::InvalidHandle).
    ///
    /// C function: [`ferrum_monitor_get_pressure`](crate::sys::ferrum_monitor_get_pressure).
    pub fn pressure(&self, max_age: Duration) -> Result<MonitorPressure> {
        let mut out = sys::ferrum_monitor_pressure::default();
        // SAFETY: out is an output of the call, with its size set.
        check(unsafe { sys::ferrum_monitor_get_pressure(self.raw(), ns(max_age), &mut out) })?;
        Ok((&out).into())
    }

    /// Returns the level of every device.
    ///
    /// # Errors
    ///
    /// The errors of every call, such as [`ErrorKind::InvalidHandle`](crate::ErrorKind::InvalidHandle).
    ///
    /// C function: [`ferrum_monitor_get_levels`](crate::sys::ferrum_monitor_get_levels).
    pub fn levels(&self, max_age: Duration) -> Result<Vec<DeviceLevel>> {
        // SAFETY: the buffer has the room that is told.
        let found = listed(|to, room, count| unsafe {
            sys::ferrum_monitor_get_levels(self.raw(), ns(max_age), to, room, count)
        })?;
        Ok(found.iter().map(Into::into).collect())
    }

    /// Returns the state of a monitor as JSON:
    ///
    /// {"profile": "standard", "pressure": {"level": "low", "weighted_level": "low",
    ///     "devices": 1, "unknown": 0, "total_bytes": 0, "used_bytes": 0},
    /// "devices": \[{"id": "cpu:0", "managers": 1, "level": "low",
    ///      "level_by_bytes": "low", "level_by_system": "low", "memory": {...},
    ///      "error": null, "system": {
    ///   "machine": {"some": {"avg10_hundredths": 0, "avg60_hundredths": 0,
    ///   "avg300_hundredths": 0, "total_ns": 0}, "full": {...},
    ///   "reason": null},
    ///   "group": {"some": null, "full": null, "reason": {
    ///   "status": "FERRUM_ERROR_UNSUPPORTED", "message": "..."}},
    ///   "events": {"counts": {"low": 0, "high": 0, "max": 0, "oom": 0,
    ///   "oom_kill": 0}, "reason": null},
    ///   "high": {"bytes": null, "reason": null}}}\]}
    ///
    /// memory has the form of [`ferrum_snapshot_json`](crate::sys::ferrum_snapshot_json); it is null when the device was never
    /// read. error has status and message when the latest query of the device failed.
    /// system is null for a device without one. The unit of hundredths is a hundredth of
    /// a percent of the time. bytes of high is null when there is no limit. Later
    /// versions may add fields.
    ///
    /// # Errors
    ///
    /// The errors of every call, such as [`ErrorKind::InvalidHandle`](crate::ErrorKind::InvalidHandle).
    ///
    /// C function: [`ferrum_monitor_info_json`](crate::sys::ferrum_monitor_info_json).
    pub fn info_json(&self, max_age: Duration) -> Result<String> {
        // SAFETY: the buffer has the room that is told.
        json_of(|to, room, length| unsafe {
            sys::ferrum_monitor_info_json(self.raw(), ns(max_age), to, room, length)
        })
    }

    /// Defragments every registered manager, one after another, like
    /// [`ferrum_manager_defragment`](crate::sys::ferrum_manager_defragment). It skips a manager that is destroyed meanwhile.
    ///
    /// # Errors
    ///
    /// The errors of every call, such as [`ErrorKind::InvalidHandle`](crate::ErrorKind::InvalidHandle).
    ///
    /// C function: [`ferrum_monitor_collect`](crate::sys::ferrum_monitor_collect).
    pub fn collect(&self) -> Result<Vec<Collected>> {
        // SAFETY: the buffer has the room that is told.
        let found = listed(|to, room, count| unsafe {
            sys::ferrum_monitor_collect(self.raw(), to, room, count)
        })?;
        Ok(found.iter().map(Into::into).collect())
    }
}

impl crate::Placement {
    /// Returns the name of a strategy as text.
    ///
    /// # Errors
    ///
    /// The errors of every call, such as [`ErrorKind::InvalidHandle`](crate::ErrorKind::InvalidHandle).
    ///
    /// C function: [`ferrum_placement_get_name`](crate::sys::ferrum_placement_get_name).
    pub fn name(&self) -> Result<String> {
        // SAFETY: the buffer has the room that is told.
        json_of(|to, room, length| unsafe {
            sys::ferrum_placement_get_name(self.raw(), to, room, length)
        })
    }
}

impl crate::Pool {
    /// Checks every block of a pool in debug mode: the red zones of live blocks, and the
    /// contents of blocks in quarantine. The call repairs the damage that it reports, so
    /// each damage is reported once.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Corrupted`](crate::ErrorKind::Corrupted) for the first damage; the log has all of it. A
    /// pool without debug mode is not checked.
    ///
    /// C function: [`ferrum_pool_check`](crate::sys::ferrum_pool_check).
    pub fn check(&self) -> Result<()> {
        // SAFETY: the arguments are plain values.
        check(unsafe { sys::ferrum_pool_check(self.raw()) })
    }

    /// Changes the upper bound of the pool; `None` removes it. A bound below the held memory
    /// releases cached memory. Live blocks stay.
    ///
    /// # Errors
    ///
    /// The errors of every call, such as [`ErrorKind::InvalidHandle`](crate::ErrorKind::InvalidHandle).
    ///
    /// C function: [`ferrum_pool_set_limit`](crate::sys::ferrum_pool_set_limit).
    pub fn set_limit(&self, max_size_bytes: Option<u64>) -> Result<()> {
        // SAFETY: the arguments are plain values.
        check(unsafe { sys::ferrum_pool_set_limit(self.raw(), max_size_bytes.unwrap_or(0)) })
    }

    /// Changes `min_held_bytes` of the pool.
    ///
    /// # Errors
    ///
    /// The errors of every call, such as [`ErrorKind::InvalidHandle`](crate::ErrorKind::InvalidHandle).
    ///
    /// C function: [`ferrum_pool_set_min_held`](crate::sys::ferrum_pool_set_min_held).
    pub fn set_min_held(&self, min_held_bytes: u64) -> Result<()> {
        // SAFETY: the arguments are plain values.
        check(unsafe { sys::ferrum_pool_set_min_held(self.raw(), min_held_bytes) })
    }

    /// Describes the memory of a pool.
    ///
    /// # Errors
    ///
    /// The errors of every call, such as [`ErrorKind::InvalidHandle`](crate::ErrorKind::InvalidHandle).
    ///
    /// C function: [`ferrum_pool_get_info`](crate::sys::ferrum_pool_get_info).
    pub fn info(&self) -> Result<PoolInfo> {
        let mut out = sys::ferrum_pool_info::default();
        // SAFETY: out is an output of the call, with its size set.
        check(unsafe { sys::ferrum_pool_get_info(self.raw(), &mut out) })?;
        Ok((&out).into())
    }

    /// Returns the counters of a pool.
    ///
    /// # Errors
    ///
    /// The errors of every call, such as [`ErrorKind::InvalidHandle`](crate::ErrorKind::InvalidHandle).
    ///
    /// C function: [`ferrum_pool_get_statistics`](crate::sys::ferrum_pool_get_statistics).
    pub fn statistics(&self) -> Result<Statistics> {
        let mut out = sys::ferrum_statistics::default();
        // SAFETY: out is an output of the call, with its size set.
        check(unsafe { sys::ferrum_pool_get_statistics(self.raw(), &mut out) })?;
        Ok((&out).into())
    }
}

impl crate::Stream {
    /// Waits until all work that was queued before the call has completed. Returns the
    /// first failure of queued work since the last [`Stream::synchronize`](crate::Stream::synchronize).
    ///
    /// Without a timeout it waits without an end.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Timeout`](crate::ErrorKind::Timeout) when the work takes longer.
    ///
    /// C function: [`ferrum_stream_synchronize`](crate::sys::ferrum_stream_synchronize).
    pub fn synchronize(&self, timeout: Option<Duration>) -> Result<()> {
        // SAFETY: the arguments are plain values.
        check(unsafe { sys::ferrum_stream_synchronize(self.raw(), timeout_ns(timeout)) })
    }

    /// Returns without waiting whether all work queued so far has completed (1) or not
    /// (0).
    ///
    /// # Errors
    ///
    /// The errors of every call, such as [`ErrorKind::InvalidHandle`](crate::ErrorKind::InvalidHandle).
    ///
    /// C function: [`ferrum_stream_is_ready`](crate::sys::ferrum_stream_is_ready).
    pub fn is_ready(&self) -> Result<bool> {
        let mut out = 0;
        // SAFETY: out is an output of the call.
        check(unsafe { sys::ferrum_stream_is_ready(self.raw(), &mut out) })?;
        Ok(out != 0)
    }

    /// Makes all later work of the stream wait for the event. The event may belong to
    /// another stream, or to another device of the same backend.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Unsupported`](crate::ErrorKind::Unsupported) for an event of another backend.
    ///
    /// C function: [`ferrum_stream_wait_event`](crate::sys::ferrum_stream_wait_event).
    pub fn wait_event(&self, event: &crate::Event) -> Result<()> {
        // SAFETY: the arguments are plain values.
        check(unsafe { sys::ferrum_stream_wait_event(self.raw(), event.raw()) })
    }

    /// The same as [`Device::native`](crate::Device::native), for a stream: for example the CUstream.
    ///
    /// # Errors
    ///
    /// The errors of every call, such as [`ErrorKind::InvalidHandle`](crate::ErrorKind::InvalidHandle).
    ///
    /// C function: [`ferrum_stream_get_native`](crate::sys::ferrum_stream_get_native).
    pub fn native(&self) -> Result<u64> {
        let mut out = 0;
        // SAFETY: out is an output of the call.
        check(unsafe { sys::ferrum_stream_get_native(self.raw(), &mut out) })?;
        Ok(out)
    }
}

impl crate::TensorSet {
    /// Waits until the load is over, and returns its result.
    ///
    /// Without a timeout it waits without an end.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Timeout`](crate::ErrorKind::Timeout);
    /// [`ErrorKind::Cancelled`](crate::ErrorKind::Cancelled) after a cancel; otherwise the error of the
    /// load, such as [`ErrorKind::OutOfMemory`](crate::ErrorKind::OutOfMemory) of its memory, or
    /// [`ErrorKind::Io`](crate::ErrorKind::Io) for a file that became shorter;
    /// [`ErrorKind::InvalidState`](crate::ErrorKind::InvalidState) inside the progress callback of the
    /// load.
    ///
    /// C function: [`ferrum_tensor_set_wait`](crate::sys::ferrum_tensor_set_wait).
    pub fn wait(&self, timeout: Option<Duration>) -> Result<()> {
        // SAFETY: the arguments are plain values.
        check(unsafe { sys::ferrum_tensor_set_wait(self.raw(), timeout_ns(timeout)) })
    }

    /// Makes the load end soon. Has no effect if the load is over.
    ///
    /// # Errors
    ///
    /// The errors of every call, such as [`ErrorKind::InvalidHandle`](crate::ErrorKind::InvalidHandle).
    ///
    /// C function: [`ferrum_tensor_set_cancel`](crate::sys::ferrum_tensor_set_cancel).
    pub fn cancel(&self) -> Result<()> {
        // SAFETY: the arguments are plain values.
        check(unsafe { sys::ferrum_tensor_set_cancel(self.raw()) })
    }

    /// Returns the progress of the load. Never waits.
    ///
    /// # Errors
    ///
    /// The errors of every call, such as [`ErrorKind::InvalidHandle`](crate::ErrorKind::InvalidHandle).
    ///
    /// C function: [`ferrum_tensor_set_get_progress`](crate::sys::ferrum_tensor_set_get_progress).
    pub fn progress(&self) -> Result<WeightsProgress> {
        let mut out = sys::ferrum_weights_progress::default();
        // SAFETY: out is an output of the call, with its size set.
        check(unsafe { sys::ferrum_tensor_set_get_progress(self.raw(), &mut out) })?;
        Ok((&out).into())
    }

    /// Returns the number of tensors.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidState`](crate::ErrorKind::InvalidState) while the load runs; its error after a
    /// failure.
    ///
    /// C function: [`ferrum_tensor_set_get_count`](crate::sys::ferrum_tensor_set_get_count).
    pub fn count(&self) -> Result<u64> {
        let mut out = 0;
        // SAFETY: out is an output of the call.
        check(unsafe { sys::ferrum_tensor_set_get_count(self.raw(), &mut out) })?;
        Ok(out)
    }

    /// Returns the name of a tensor by its index.
    ///
    /// # Errors
    ///
    /// Errors of [`ferrum_tensor_set_get_tensor`](crate::sys::ferrum_tensor_set_get_tensor).
    ///
    /// C function: [`ferrum_tensor_set_get_tensor_name`](crate::sys::ferrum_tensor_set_get_tensor_name).
    pub fn tensor_name(&self, index: u64) -> Result<String> {
        // SAFETY: the buffer has the room that is told.
        json_of(|to, room, length| unsafe {
            sys::ferrum_tensor_set_get_tensor_name(self.raw(), index, to, room, length)
        })
    }

    /// Returns all tensors of a set in their order, as JSON with the fields of
    /// docs/weights.md.
    ///
    /// # Errors
    ///
    /// Errors of [`TensorSet::count`](crate::TensorSet::count).
    ///
    /// C function: [`ferrum_tensor_set_tensors_json`](crate::sys::ferrum_tensor_set_tensors_json).
    pub fn tensors_json(&self) -> Result<String> {
        // SAFETY: the buffer has the room that is told.
        json_of(|to, room, length| unsafe {
            sys::ferrum_tensor_set_tensors_json(self.raw(), to, room, length)
        })
    }

    /// Checks that no file of a mapped set has become shorter. For a set that is not mapped
    /// the check always succeeds.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Io`](crate::ErrorKind::Io), which names a file that became shorter; errors of
    /// [`TensorSet::count`](crate::TensorSet::count).
    ///
    /// C function: [`ferrum_tensor_set_check`](crate::sys::ferrum_tensor_set_check).
    pub fn check(&self) -> Result<()> {
        // SAFETY: the arguments are plain values.
        check(unsafe { sys::ferrum_tensor_set_check(self.raw()) })
    }
}

impl crate::VirtualPool {
    /// Returns whether every page that a range touches is mapped (1) or not (0). The
    /// result is 0 for a range that ends outside the pool or has no bytes.
    ///
    /// # Errors
    ///
    /// The errors of every call, such as [`ErrorKind::InvalidHandle`](crate::ErrorKind::InvalidHandle).
    ///
    /// C function: [`ferrum_vpool_is_mapped`](crate::sys::ferrum_vpool_is_mapped).
    pub fn is_mapped(&self, offset_bytes: u64, size_bytes: u64) -> Result<bool> {
        let mut out = 0;
        // SAFETY: out is an output of the call.
        check(unsafe {
            sys::ferrum_vpool_is_mapped(self.raw(), offset_bytes, size_bytes, &mut out)
        })?;
        Ok(out != 0)
    }

    /// Describes a virtual pool. Does not wait for queued work.
    ///
    /// # Errors
    ///
    /// The errors of every call, such as [`ErrorKind::InvalidHandle`](crate::ErrorKind::InvalidHandle).
    ///
    /// C function: [`ferrum_vpool_get_info`](crate::sys::ferrum_vpool_get_info).
    pub fn info(&self) -> Result<VirtualPoolInfo> {
        let mut out = sys::ferrum_vpool_info::default();
        // SAFETY: out is an output of the call, with its size set.
        check(unsafe { sys::ferrum_vpool_get_info(self.raw(), &mut out) })?;
        Ok((&out).into())
    }

    /// Returns the counters of a virtual pool. Its live blocks are ranges.
    ///
    /// # Errors
    ///
    /// The errors of every call, such as [`ErrorKind::InvalidHandle`](crate::ErrorKind::InvalidHandle).
    ///
    /// C function: [`ferrum_vpool_get_statistics`](crate::sys::ferrum_vpool_get_statistics).
    pub fn statistics(&self) -> Result<Statistics> {
        let mut out = sys::ferrum_statistics::default();
        // SAFETY: out is an output of the call, with its size set.
        check(unsafe { sys::ferrum_vpool_get_statistics(self.raw(), &mut out) })?;
        Ok((&out).into())
    }

    /// Joins unused pages. The call unmaps parked pages. It keeps `ready_pages` free
    /// pages, adjacent ones first, and releases the others to the device. Mapped ranges
    /// keep their places.
    ///
    /// # Errors
    ///
    /// The errors of every call, such as [`ErrorKind::InvalidHandle`](crate::ErrorKind::InvalidHandle).
    ///
    /// C function: [`ferrum_vpool_compact`](crate::sys::ferrum_vpool_compact).
    pub fn compact(&self) -> Result<CompactReport> {
        let mut out = sys::ferrum_compact_report::default();
        // SAFETY: out is an output of the call, with its size set.
        check(unsafe { sys::ferrum_vpool_compact(self.raw(), &mut out) })?;
        Ok((&out).into())
    }

    /// Releases parked and ready pages to the device, until the pool holds no more than
    /// `keep_bytes` of them.
    ///
    /// # Errors
    ///
    /// The errors of every call, such as [`ErrorKind::InvalidHandle`](crate::ErrorKind::InvalidHandle).
    ///
    /// C function: [`ferrum_vpool_trim`](crate::sys::ferrum_vpool_trim).
    pub fn trim(&self, keep_bytes: u64) -> Result<u64> {
        let mut out = 0;
        // SAFETY: out is an output of the call.
        check(unsafe { sys::ferrum_vpool_trim(self.raw(), keep_bytes, &mut out) })?;
        Ok(out)
    }

    /// Changes the limit while the pool is in use; `None`: the memory of the device. Mapped
    /// ranges stay. Free pages above the limit are released to the device. For movable
    /// pages the worker of the pool does that after the call.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::OutOfPhysicalMemory`](crate::ErrorKind::OutOfPhysicalMemory) for a limit above the
    /// memory of the device.
    ///
    /// C function: [`ferrum_vpool_set_limit`](crate::sys::ferrum_vpool_set_limit).
    pub fn set_limit(&self, limit_bytes: Option<u64>) -> Result<()> {
        // SAFETY: the arguments are plain values.
        check(unsafe { sys::ferrum_vpool_set_limit(self.raw(), limit_bytes.unwrap_or(0)) })
    }

    /// Waits until the pool has no retiring range.
    ///
    /// Without a timeout it waits without an end.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Timeout`](crate::ErrorKind::Timeout) when it takes longer.
    ///
    /// C function: [`ferrum_vpool_synchronize`](crate::sys::ferrum_vpool_synchronize).
    pub fn synchronize(&self, timeout: Option<Duration>) -> Result<()> {
        // SAFETY: the arguments are plain values.
        check(unsafe { sys::ferrum_vpool_synchronize(self.raw(), timeout_ns(timeout)) })
    }

    /// Stops the worker of the pool from making pages ready, until [`VirtualPool::resume`](crate::VirtualPool::resume).
    /// The call returns when the worker has finished its present step.
    ///
    /// # Errors
    ///
    /// The errors of every call, such as [`ErrorKind::InvalidHandle`](crate::ErrorKind::InvalidHandle).
    ///
    /// C function: [`ferrum_vpool_pause`](crate::sys::ferrum_vpool_pause).
    pub fn pause(&self) -> Result<()> {
        // SAFETY: the arguments are plain values.
        check(unsafe { sys::ferrum_vpool_pause(self.raw()) })
    }

    /// Undoes a [`VirtualPool::pause`](crate::VirtualPool::pause).
    ///
    /// # Errors
    ///
    /// The errors of every call, such as [`ErrorKind::InvalidHandle`](crate::ErrorKind::InvalidHandle).
    ///
    /// C function: [`ferrum_vpool_resume`](crate::sys::ferrum_vpool_resume).
    pub fn resume(&self) -> Result<()> {
        // SAFETY: the arguments are plain values.
        check(unsafe { sys::ferrum_vpool_resume(self.raw()) })
    }
}

impl crate::Weights {
    /// Returns the content of the source, as JSON with the fields of docs/weights.md:
    /// format, `total_size_bytes`, dtypes, tensors with their shapes, and extra.
    ///
    /// # Errors
    ///
    /// The errors of every call, such as [`ErrorKind::InvalidHandle`](crate::ErrorKind::InvalidHandle).
    ///
    /// C function: [`ferrum_weights_metadata_json`](crate::sys::ferrum_weights_metadata_json).
    pub fn metadata_json(&self) -> Result<String> {
        // SAFETY: the buffer has the room that is told.
        json_of(|to, room, length| unsafe {
            sys::ferrum_weights_metadata_json(self.raw(), to, room, length)
        })
    }
}
