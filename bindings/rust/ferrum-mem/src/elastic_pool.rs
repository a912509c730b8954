use std::ffi::{CStr, CString};
use std::sync::Arc;
use std::time::Duration;

use crate::callback::Registration;
use crate::device::Device;
use crate::error::check;
use crate::library::{c_text, json_of};
use crate::mapped_range::{Late, MappedRange, Space};
use crate::stream::{raw_of, timeout_ns, Stream};
use crate::values::Statistics;
use crate::virtual_pool::ready_pages;
use crate::virtual_values::{Backing, CompactReport, ElasticPoolInfo, ModelInfo};
use crate::{sys, Result};

/// Settings of an elastic pool; zeros and none leave a choice to the library.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ElasticPoolConfig {
    /// Upper bound of the memory of all models together; 0: what the device has.
    pub limit_bytes: u64,
    /// A power of two; 0: what the device recommends.
    pub page_bytes: u64,
    /// How many pages are kept ready while nothing asks for any.
    pub ready_pages: Option<u32>,
    /// What the memory behind the pages can do.
    pub backing: Backing,
    /// Name in reports.
    pub name: Option<String>,
}

/// Limits of a model, which can be changed while it runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ModelLimits {
    /// What is kept of the pool's limit for the model; pages that no other model uses
    /// or is guaranteed back it.
    pub guaranteed_bytes: u64,
    /// What is not backed of it waits, and becomes effective as pages come back; else
    /// the call is refused.
    pub guarantee_may_wait: bool,
    /// What the model may have at most; 0: no bound of its own.
    pub max_bytes: u64,
    /// When pages are short, models of lower priority give first.
    pub priority: i32,
}

/// Settings of a model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ModelConfig {
    /// Address space, rounded up to whole pages; not 0.
    pub virtual_bytes: u64,
    /// What it gets of the memory.
    pub limits: ModelLimits,
    /// Its pages may go to another model that is unscrubbed as well without being
    /// made zeros.
    pub unscrubbed: bool,
}

/// Several models under one physical limit. Clones share one pool; it goes after
/// the last of them, of its models and of their ranges.
#[derive(Clone, Debug)]
pub struct ElasticPool {
    made: Arc<Made>,
}

#[derive(Debug)]
struct Made {
    raw: sys::ferrum_elastic_pool,
    device: Device,
}

impl Drop for Made {
    fn drop(&mut self) {
        // SAFETY: the handle is ours, and every Model has gone before.
        unsafe { sys::ferrum_elastic_pool_destroy(self.raw, sys::FERRUM_FORCE) };
    }
}

impl ElasticPool {
    pub(crate) fn create(device: &Device, config: &ElasticPoolConfig) -> Result<Self> {
        let name = config
            .name
            .as_deref()
            .map(|name| c_text("ferrum_elastic_pool_create", "name", name))
            .transpose()?;
        let settings = sys::ferrum_elastic_pool_config {
            limit_bytes: config.limit_bytes,
            page_bytes: config.page_bytes,
            name: name.as_ref().map_or(std::ptr::null(), |name| name.as_ptr()),
            ready_pages: ready_pages(config.ready_pages),
            backing: config.backing.to_raw(),
            ..Default::default()
        };
        let mut raw = Default::default();
        // SAFETY: the settings live through the call, raw is an output of it.
        check(unsafe { sys::ferrum_elastic_pool_create(device.raw(), &settings, &mut raw) })?;
        Ok(Self {
            made: Arc::new(Made {
                raw,
                device: device.clone(),
            }),
        })
    }

    /// The C handle.
    pub fn raw(&self) -> sys::ferrum_elastic_pool {
        self.made.raw
    }

    /// The device that it is on.
    pub fn device(&self) -> &Device {
        &self.made.device
    }

    /// Adds a model with an id of 1 to 63 bytes, while others run.
    pub fn register_model(&self, id: &str, config: &ModelConfig) -> Result<Model> {
        let text = c_text("ferrum_elastic_pool_register_model", "model", id)?;
        let raw = sys::ferrum_model_config {
            priority: config.limits.priority,
            virtual_bytes: config.virtual_bytes,
            guaranteed_bytes: config.limits.guaranteed_bytes,
            max_bytes: config.limits.max_bytes,
            unscrubbed: config.unscrubbed.into(),
            guarantee_may_wait: config.limits.guarantee_may_wait.into(),
            ..Default::default()
        };
        // SAFETY: id and settings live through the call.
        check(unsafe { sys::ferrum_elastic_pool_register_model(self.raw(), text.as_ptr(), &raw) })?;
        Ok(Model {
            registered: Arc::new(Registered {
                id: text,
                pool: self.clone(),
                late: Late::default(),
            }),
        })
    }

    /// All models of one moment, as JSON.
    pub fn models_json(&self) -> Result<String> {
        json_of(|to, room, length| {
            // SAFETY: the buffer has the room that is told, length is an output.
            unsafe { sys::ferrum_elastic_pool_models_json(self.raw(), to, room, length) }
        })
    }

    /// Describes the pool.
    pub fn info(&self) -> Result<ElasticPoolInfo> {
        let mut raw = Default::default();
        // SAFETY: raw is an output of the call, with its size set.
        check(unsafe { sys::ferrum_elastic_pool_get_info(self.raw(), &mut raw) })?;
        Ok((&raw).into())
    }

    /// The books of the pool: its live blocks are the ranges of all models.
    pub fn statistics(&self) -> Result<Statistics> {
        let mut raw = Default::default();
        // SAFETY: raw is an output of the call, with its size set.
        check(unsafe { sys::ferrum_elastic_pool_get_statistics(self.raw(), &mut raw) })?;
        Ok((&raw).into())
    }

    /// Brings together what no range uses, and gives back what is not kept ready.
    pub fn compact(&self) -> Result<CompactReport> {
        let mut raw = Default::default();
        // SAFETY: raw is an output of the call, with its size set.
        check(unsafe { sys::ferrum_elastic_pool_compact(self.raw(), &mut raw) })?;
        Ok((&raw).into())
    }

    /// Gives free pages back until no more than `keep_bytes` of them are held.
    pub fn trim(&self, keep_bytes: u64) -> Result<u64> {
        let mut released = 0;
        // SAFETY: released is an output of the call.
        check(unsafe { sys::ferrum_elastic_pool_trim(self.raw(), keep_bytes, &mut released) })?;
        Ok(released)
    }

    /// Changes the limit of all models together; 0: what the device has.
    pub fn set_limit(&self, limit_bytes: u64) -> Result<()> {
        // SAFETY: plain values.
        check(unsafe { sys::ferrum_elastic_pool_set_limit(self.raw(), limit_bytes) })
    }

    /// Waits until no range of any model is retiring; none: without an end.
    pub fn synchronize(&self, timeout: Option<Duration>) -> Result<()> {
        // SAFETY: plain values.
        check(unsafe { sys::ferrum_elastic_pool_synchronize(self.raw(), timeout_ns(timeout)) })
    }

    /// Has the pool's worker make no more pages ready, until `resume`.
    pub fn pause(&self) -> Result<()> {
        // SAFETY: plain values.
        check(unsafe { sys::ferrum_elastic_pool_pause(self.raw()) })
    }

    /// Ends a `pause`.
    pub fn resume(&self) -> Result<()> {
        // SAFETY: plain values.
        check(unsafe { sys::ferrum_elastic_pool_resume(self.raw()) })
    }
}

/// A model of an elastic pool. Clones share one registration; the model is
/// unregistered after the last of them and of its ranges.
#[derive(Clone, Debug)]
pub struct Model {
    registered: Arc<Registered>,
}

#[derive(Debug)]
struct Registered {
    id: CString,
    pool: ElasticPool,
    late: Late,
}

impl Drop for Registered {
    fn drop(&mut self) {
        // SAFETY: the model is ours, and every MappedRange has gone before.
        unsafe {
            sys::ferrum_elastic_pool_unregister_model(
                self.pool.raw(),
                self.id.as_ptr(),
                sys::FERRUM_FORCE,
            )
        };
    }
}

/// A range of a model, as asked for.
#[derive(Clone, Copy, Debug, Default)]
pub struct ModelRequest<'a> {
    /// Not 0.
    pub size_bytes: u64,
    /// From the model's base address; none: the first place where there is room.
    pub offset_bytes: Option<u64>,
    /// Name for the books; none: the model's id.
    pub tag: Option<&'a str>,
    /// How long to wait while what it needs sleeps; zero: such a call fails at once.
    pub asleep_wait: Duration,
    /// What uses the range first, and is waited for when it is unmapped, also by its
    /// drop; none: the default stream.
    pub stream: Option<&'a Stream>,
}

impl Model {
    pub(crate) fn c_id(&self) -> &CStr {
        &self.registered.id
    }

    pub(crate) fn late(&self) -> &Late {
        &self.registered.late
    }

    /// The id that it was registered with.
    pub fn id(&self) -> &str {
        self.c_id().to_str().unwrap_or("")
    }

    /// The pool that it is of.
    pub fn pool(&self) -> &ElasticPool {
        &self.registered.pool
    }

    /// Puts memory behind the first range that is free and long enough.
    pub fn alloc(&self, size_bytes: u64) -> Result<MappedRange> {
        let (mut address, mut offset) = (0, 0);
        // SAFETY: the id lives through the call, the others are outputs of it.
        check(unsafe {
            sys::ferrum_elastic_pool_alloc(
                self.pool().raw(),
                self.c_id().as_ptr(),
                size_bytes,
                &mut address,
                &mut offset,
            )
        })?;
        Ok(self.range(address, offset, size_bytes))
    }

    /// Puts memory behind a range as described.
    pub fn alloc_with(&self, request: &ModelRequest<'_>) -> Result<MappedRange> {
        let tag = request
            .tag
            .map(|tag| c_text("ferrum_elastic_pool_alloc_with", "tag", tag))
            .transpose()?;
        let raw = sys::ferrum_model_request {
            at_offset: request.offset_bytes.is_some().into(),
            offset_bytes: request.offset_bytes.unwrap_or(0),
            size_bytes: request.size_bytes,
            tag: tag.as_ref().map_or(std::ptr::null(), |tag| tag.as_ptr()),
            asleep_wait_ns: timeout_ns(Some(request.asleep_wait)),
            stream: raw_of(request.stream),
            ..Default::default()
        };
        let (mut address, mut offset) = (0, 0);
        // SAFETY: id and request live through the call, the others are outputs.
        check(unsafe {
            sys::ferrum_elastic_pool_alloc_with(
                self.pool().raw(),
                self.c_id().as_ptr(),
                &raw,
                &mut address,
                &mut offset,
            )
        })?;
        Ok(self.range(address, offset, request.size_bytes))
    }

    fn range(&self, address: u64, offset_bytes: u64, size_bytes: u64) -> MappedRange {
        MappedRange::new(
            Space::Model(self.clone()),
            address,
            offset_bytes,
            size_bytes,
        )
    }

    /// Unmaps by offset: whole pages, of one range or of several, or one range.
    ///
    /// # Safety
    ///
    /// As for [`VirtualPool::free`](crate::VirtualPool::free).
    pub unsafe fn free(
        &self,
        offset_bytes: u64,
        size_bytes: u64,
        stream: Option<&Stream>,
    ) -> Result<()> {
        // SAFETY: the id lives through the call; the ranges are the caller's word.
        check(unsafe {
            sys::ferrum_elastic_pool_free(
                self.pool().raw(),
                self.c_id().as_ptr(),
                offset_bytes,
                size_bytes,
                raw_of(stream),
            )
        })
    }

    /// As [`VirtualPool::record_stream`](crate::VirtualPool::record_stream).
    pub fn record_stream(&self, offset_bytes: u64, size_bytes: u64, stream: &Stream) -> Result<()> {
        // SAFETY: the id lives through the call.
        check(unsafe {
            sys::ferrum_elastic_pool_record_stream(
                self.pool().raw(),
                self.c_id().as_ptr(),
                offset_bytes,
                size_bytes,
                stream.raw(),
            )
        })
    }

    /// Whether every page that a range touches is mapped; false outside.
    pub fn is_mapped(&self, offset_bytes: u64, size_bytes: u64) -> Result<bool> {
        let mut mapped = 0;
        // SAFETY: the id lives through the call, mapped is an output of it.
        check(unsafe {
            sys::ferrum_elastic_pool_is_mapped(
                self.pool().raw(),
                self.c_id().as_ptr(),
                offset_bytes,
                size_bytes,
                &mut mapped,
            )
        })?;
        Ok(mapped != 0)
    }

    /// Describes the model.
    pub fn info(&self) -> Result<ModelInfo> {
        let mut raw = Default::default();
        // SAFETY: the id lives through the call, raw is an output with its size set.
        check(unsafe {
            sys::ferrum_elastic_pool_get_model_info(
                self.pool().raw(),
                self.c_id().as_ptr(),
                &mut raw,
            )
        })?;
        Ok((&raw).into())
    }

    /// Changes its limits, all of them or none, while it and others run.
    pub fn set_limits(&self, limits: &ModelLimits) -> Result<()> {
        let raw = sys::ferrum_model_limits {
            priority: limits.priority,
            guaranteed_bytes: limits.guaranteed_bytes,
            max_bytes: limits.max_bytes,
            guarantee_may_wait: limits.guarantee_may_wait.into(),
            ..Default::default()
        };
        // SAFETY: id and limits live through the call.
        check(unsafe {
            sys::ferrum_elastic_pool_set_model_limits(self.pool().raw(), self.c_id().as_ptr(), &raw)
        })
    }

    /// Asks the closure to free memory of the model when pages are short. It gets the
    /// bytes needed and returns the bytes that it freed. An allocation waits for it
    /// no longer than the deadline; none: 100 ms. A closure that holds the model
    /// keeps it registered.
    pub fn on_reclaim(
        &self,
        deadline: Option<Duration>,
        closure: impl Fn(u64) -> u64 + Send + Sync + 'static,
    ) -> Result<Registration> {
        Registration::model_reclaim(self, deadline, Box::new(closure))
    }
}
