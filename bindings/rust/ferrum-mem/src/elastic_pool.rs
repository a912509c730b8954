use std::ffi::{CStr, CString};
use std::sync::Arc;
use std::time::Duration;

use crate::callback::Registration;
use crate::device::Device;
use crate::ending::{self, dropped, shared_handle, Owned};
use crate::error::check;
use crate::library::c_text;
use crate::mapped_range::{Late, MappedRange, Space};
use crate::stream::{raw_of, Stream};
use crate::{
    sys, BatchOptions, ByteRange, ElasticPoolConfig, ModelConfig, ModelInfo, ModelLimits,
    ModelRequest, Rejected, Result,
};

/// Several models under one physical limit. Clones share one pool. The pool is destroyed after its
/// last clone, its models and their ranges are dropped.
#[derive(Clone)]
#[must_use = "dropping it destroys the pool"]
pub struct ElasticPool {
    made: Arc<Made>,
}

struct Made {
    raw: sys::ferrum_elastic_pool,
    device: Device,
    page_bytes: u64,
}

shared_handle!(ElasticPool { made: Made } of ferrum_elastic_pool, "pool", ferrum_elastic_pool_destroy);

impl ElasticPool {
    pub(crate) fn create(device: &Device, config: &ElasticPoolConfig) -> Result<Self> {
        let mut raw = Default::default();
        config.with_raw("ferrum_elastic_pool_create", |config| {
            // SAFETY: the settings are valid during the call, raw is an output of it.
            check(unsafe { sys::ferrum_elastic_pool_create(device.raw(), config, &mut raw) })
        })?;
        Self::own(device, raw).inspect_err(|_| {
            // SAFETY: the pool was created above, and no other code has it.
            unsafe { sys::ferrum_elastic_pool_destroy(raw, sys::FERRUM_FORCE) };
        })
    }

    /// The object that owns a pool.
    fn own(device: &Device, raw: sys::ferrum_elastic_pool) -> Result<Self> {
        let mut info = sys::ferrum_elastic_pool_info::default();
        // SAFETY: info is an output of the call, with its size set.
        check(unsafe { sys::ferrum_elastic_pool_get_info(raw, &mut info) })?;
        Ok(Self {
            made: Arc::new(Made {
                raw,
                device: device.clone(),
                page_bytes: info.page_bytes,
            }),
        })
    }

    /// Creates a pool object from a handle. The object owns the handle from then on.
    ///
    /// # Safety
    ///
    /// The handle is of a live elastic pool of the device, and no other code destroys it.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidHandle`](crate::ErrorKind::InvalidHandle) for a handle without a pool.
    ///
    /// C function: [`ferrum_elastic_pool_get_info`](crate::sys::ferrum_elastic_pool_get_info).
    pub unsafe fn from_raw(device: &Device, raw: sys::ferrum_elastic_pool) -> Result<Self> {
        Self::own(device, raw)
    }

    /// Size of its pages. It never changes, so this calls no C function.
    pub fn page_bytes(&self) -> u64 {
        self.made.page_bytes
    }

    /// The C handle.
    pub fn raw(&self) -> sys::ferrum_elastic_pool {
        self.made.raw
    }

    /// The device of the pool.
    pub fn device(&self) -> &Device {
        &self.made.device
    }

    /// Adds a model with an id of 1 to 63 bytes. Other models may run meanwhile.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::ModelAlreadyExists`](crate::ErrorKind::ModelAlreadyExists), with the id in the
    /// message; [`ErrorKind::InvalidArgument`](crate::ErrorKind::InvalidArgument) for an invalid
    /// id; [`ErrorKind::InvalidSize`](crate::ErrorKind::InvalidSize) and
    /// [`ErrorKind::OutOfVirtualMemory`](crate::ErrorKind::OutOfVirtualMemory) for its address
    /// space; [`ErrorKind::InvalidConfig`](crate::ErrorKind::InvalidConfig) for guarantees above
    /// the limit, or a guarantee above the model's own maximum or address space;
    /// [`ErrorKind::OutOfPhysicalMemory`](crate::ErrorKind::OutOfPhysicalMemory), with the backed
    /// bytes, for a guarantee that cannot be backed and may not wait: no existing guarantee is
    /// reduced for it.
    ///
    /// C function: [`ferrum_elastic_pool_register_model`](crate::sys::ferrum_elastic_pool_register_model).
    pub fn register_model(&self, id: &str, config: &ModelConfig) -> Result<Model> {
        let text = c_text("ferrum_elastic_pool_register_model", "model", id)?;
        let raw = config.raw();
        // SAFETY: id and settings are valid during the call.
        check(unsafe { sys::ferrum_elastic_pool_register_model(self.raw(), text.as_ptr(), &raw) })?;
        self.own_model(&text).inspect_err(|_| {
            // SAFETY: the id is valid during the call; the model was registered above.
            unsafe {
                sys::ferrum_elastic_pool_unregister_model(
                    self.raw(),
                    text.as_ptr(),
                    sys::FERRUM_FORCE,
                )
            };
        })
    }

    /// The object that owns the registration of a model.
    fn own_model(&self, id: &CStr) -> Result<Model> {
        let mut info = sys::ferrum_model_info::default();
        // SAFETY: the id is valid during the call, info is an output of it with its size set.
        check(unsafe {
            sys::ferrum_elastic_pool_get_model_info(self.raw(), id.as_ptr(), &mut info)
        })?;
        Ok(Model {
            registered: Arc::new(Registered {
                id: id.to_owned(),
                is_owned: true,
                pool: self.clone(),
                late: Late::default(),
                base_address: info.base_address,
                capacity_bytes: info.virtual_capacity_bytes,
            }),
        })
    }

    /// Creates the object of a registered model, for example of one from [`Model::into_id`]. The
    /// object owns the registration from then on.
    ///
    /// # Safety
    ///
    /// No other code unregisters the model.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::ModelNotFound`](crate::ErrorKind::ModelNotFound) for an id without a model.
    ///
    /// C function: [`ferrum_elastic_pool_get_model_info`](crate::sys::ferrum_elastic_pool_get_model_info).
    pub unsafe fn model_from_id(&self, id: &str) -> Result<Model> {
        let text = c_text("ferrum_elastic_pool_get_model_info", "model", id)?;
        self.own_model(&text)
    }
}

/// A model of an elastic pool. Clones share one registration. The model is unregistered after its
/// last clone and its ranges are dropped.
#[derive(Clone)]
#[must_use = "dropping it unregisters the model and unmaps its memory"]
pub struct Model {
    registered: Arc<Registered>,
}

impl std::fmt::Debug for Model {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Model")
            .field("id", &self.registered.id)
            .field("pool", &self.registered.pool)
            .finish()
    }
}

struct Registered {
    id: CString,
    /// Whether a drop unregisters it.
    is_owned: bool,
    pool: ElasticPool,
    late: Late,
    base_address: u64,
    capacity_bytes: u64,
}

impl Owned for Registered {
    const END: &'static str = "ferrum_elastic_pool_unregister_model";

    fn end(&self, flags: u32) -> sys::ferrum_status {
        // SAFETY: we own the model, and every MappedRange has ended before.
        unsafe {
            sys::ferrum_elastic_pool_unregister_model(self.pool.raw(), self.id.as_ptr(), flags)
        }
    }

    fn release(&mut self) {
        self.is_owned = false;
    }
}

impl Drop for Registered {
    fn drop(&mut self) {
        if self.is_owned {
            dropped(Self::END, self.end(sys::FERRUM_FORCE));
        }
    }
}

impl Model {
    pub(crate) fn c_id(&self) -> &CStr {
        &self.registered.id
    }

    pub(crate) fn late(&self) -> &Late {
        &self.registered.late
    }

    /// The device of its pool.
    pub(crate) fn device(&self) -> &Device {
        self.registered.pool.device()
    }

    /// Unregisters the model without `FERRUM_FORCE`, which a drop uses.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Busy`](crate::ErrorKind::Busy) while a clone or a range of it exists. The error
    /// returns the model.
    ///
    /// C function: [`ferrum_elastic_pool_unregister_model`](crate::sys::ferrum_elastic_pool_unregister_model).
    pub fn close(self) -> std::result::Result<(), Rejected<Self>> {
        ending::close(self.registered, |registered| Self { registered })
    }

    /// Ends the object and leaves the model registered under the returned id.
    /// [`ElasticPool::model_from_id`] creates an object of it again.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Busy`](crate::ErrorKind::Busy) while a clone or a range of it exists. The error
    /// returns the model. It calls no C function.
    pub fn into_id(self) -> std::result::Result<String, Rejected<Self>> {
        let id = self.id().to_owned();
        let again = |registered| Self { registered };
        ending::take(self.registered, again, |_| id)
    }

    /// Start of its address space. The address and the size never change, so this and the next
    /// function call no C function.
    pub fn base_address(&self) -> u64 {
        self.registered.base_address
    }

    /// Size of its address space in bytes, a multiple of the page size.
    pub fn capacity_bytes(&self) -> u64 {
        self.registered.capacity_bytes
    }

    /// The id of its registration.
    pub fn id(&self) -> &str {
        self.c_id().to_str().unwrap_or("")
    }

    /// The pool of the model.
    pub fn pool(&self) -> &ElasticPool {
        &self.registered.pool
    }

    /// Maps memory to the first free range that is long enough.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::ModelNotFound`](crate::ErrorKind::ModelNotFound);
    /// [`ErrorKind::InvalidSize`](crate::ErrorKind::InvalidSize);
    /// [`ErrorKind::OutOfVirtualMemory`](crate::ErrorKind::OutOfVirtualMemory) if no free range is
    /// long enough; [`ErrorKind::OutOfPhysicalMemory`](crate::ErrorKind::OutOfPhysicalMemory), with
    /// requested and available bytes, if the limits allow no more and no memory could be reclaimed;
    /// [`ErrorKind::OutOfMemory`](crate::ErrorKind::OutOfMemory) if the device has less memory than
    /// the limits allow. In a host function or a reclaim callback the call does not wait for
    /// memory.
    ///
    /// C function: [`ferrum_elastic_pool_alloc`](crate::sys::ferrum_elastic_pool_alloc).
    pub fn alloc(&self, size_bytes: u64) -> Result<MappedRange> {
        let (mut address, mut offset) = (0, 0);
        // SAFETY: the id is valid during the call, the others are outputs of it.
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

    /// Maps memory to a range as requested.
    ///
    /// # Errors
    ///
    /// Those of [`Model::alloc`]; with `at_offset` 1 also
    /// [`ErrorKind::InvalidOffset`](crate::ErrorKind::InvalidOffset) and
    /// [`ErrorKind::AlreadyMapped`](crate::ErrorKind::AlreadyMapped), as for
    /// [`ferrum_vpool_alloc`](crate::sys::ferrum_vpool_alloc).
    ///
    /// C function: [`ferrum_elastic_pool_alloc_with`](crate::sys::ferrum_elastic_pool_alloc_with).
    pub fn alloc_with(&self, request: &ModelRequest<'_>) -> Result<MappedRange> {
        let (mut address, mut offset) = (0, 0);
        request.with_raw("ferrum_elastic_pool_alloc_with", |request| {
            // SAFETY: id and request are valid during the call, the others are outputs.
            check(unsafe {
                sys::ferrum_elastic_pool_alloc_with(
                    self.pool().raw(),
                    self.c_id().as_ptr(),
                    request,
                    &mut address,
                    &mut offset,
                )
            })
        })?;
        Ok(self.range(address, offset, request.size_bytes))
    }

    /// Maps many ranges of the model in one call, as
    /// [`VirtualPool::alloc_batch`](crate::VirtualPool::alloc_batch). The pages of all ranges are one request
    /// to the pool.
    ///
    /// # Errors
    ///
    /// Those of [`Model::alloc_with`], and of the list as there.
    ///
    /// C function: [`ferrum_elastic_pool_alloc_batch`](crate::sys::ferrum_elastic_pool_alloc_batch).
    pub fn alloc_batch(
        &self,
        ranges: &[ByteRange],
        options: &BatchOptions<'_>,
    ) -> Result<Vec<MappedRange>> {
        let raw: Vec<_> = ranges.iter().map(ByteRange::raw).collect();
        options.with_raw("ferrum_elastic_pool_alloc_batch", |options| {
            // SAFETY: the id and the list, of that length, are valid during the call.
            check(unsafe {
                sys::ferrum_elastic_pool_alloc_batch(
                    self.pool().raw(),
                    self.c_id().as_ptr(),
                    raw.as_ptr(),
                    raw.len() as u64,
                    options,
                )
            })
        })?;
        let base = self.base_address();
        let made = |r: &ByteRange| self.range(base + r.offset_bytes, r.offset_bytes, r.size_bytes);
        Ok(ranges.iter().map(made).collect())
    }

    /// Maps ranges of these sizes in one call, each at the first free place: all of them, or none. The
    /// library places them in the order of the list. An empty list maps nothing.
    ///
    /// # Errors
    ///
    /// Those of [`Model::alloc`]. An error about one size names it by its index;
    /// [`ErrorKind::OutOfVirtualMemory`](crate::ErrorKind::OutOfVirtualMemory) also if the sizes together exceed
    /// the address space. Nothing has changed then.
    ///
    /// C function: [`ferrum_elastic_pool_alloc_batch_anywhere`](crate::sys::ferrum_elastic_pool_alloc_batch_anywhere).
    pub fn alloc_batch_anywhere(
        &self,
        sizes: &[u64],
        options: &BatchOptions<'_>,
    ) -> Result<Vec<MappedRange>> {
        // The library writes nothing for a list that is too long.
        let mut offsets = vec![0; sizes.len()];
        options.with_raw("ferrum_elastic_pool_alloc_batch_anywhere", |options| {
            // SAFETY: the id and the lists, of that length, are valid during the call.
            check(unsafe {
                sys::ferrum_elastic_pool_alloc_batch_anywhere(
                    self.pool().raw(),
                    self.c_id().as_ptr(),
                    sizes.as_ptr(),
                    sizes.len() as u64,
                    options,
                    offsets.as_mut_ptr(),
                )
            })
        })?;
        let base = self.base_address();
        let made = |(&offset, &size): (&u64, &u64)| self.range(base + offset, offset, size);
        Ok(offsets.iter().zip(sizes).map(made).collect())
    }

    /// Unmaps many ranges of the model by offset in one call: all of them, or none.
    ///
    /// # Safety
    ///
    /// As for [`VirtualPool::free`](crate::VirtualPool::free).
    ///
    /// # Errors
    ///
    /// Those of [`Model::free`], and of the list as for
    /// [`VirtualPool::free_batch`](crate::VirtualPool::free_batch).
    ///
    /// C function: [`ferrum_elastic_pool_free_batch`](crate::sys::ferrum_elastic_pool_free_batch).
    pub unsafe fn free_batch(&self, ranges: &[ByteRange], stream: Option<&Stream>) -> Result<()> {
        let raw: Vec<_> = ranges.iter().map(ByteRange::raw).collect();
        // SAFETY: the id and the list, of that length, are valid during the call; the ranges are the
        // caller's word.
        check(unsafe {
            sys::ferrum_elastic_pool_free_batch(
                self.pool().raw(),
                self.c_id().as_ptr(),
                raw.as_ptr(),
                raw.len() as u64,
                raw_of(stream),
            )
        })
    }

    pub(crate) fn range(&self, address: u64, offset_bytes: u64, size_bytes: u64) -> MappedRange {
        MappedRange::new(
            Space::Model(self.clone()),
            address,
            offset_bytes,
            size_bytes,
        )
    }

    /// Unmaps by offset: whole pages of one or several ranges, or one range.
    ///
    /// # Safety
    ///
    /// As for [`VirtualPool::free`](crate::VirtualPool::free).
    ///
    /// # Errors
    ///
    /// Those of [`ferrum_vpool_free`](crate::sys::ferrum_vpool_free), including
    /// [`ErrorKind::Busy`](crate::ErrorKind::Busy) while a sleep or a wake works on the range;
    /// [`ErrorKind::ModelNotFound`](crate::ErrorKind::ModelNotFound).
    ///
    /// C function: [`ferrum_elastic_pool_free`](crate::sys::ferrum_elastic_pool_free).
    pub unsafe fn free(
        &self,
        offset_bytes: u64,
        size_bytes: u64,
        stream: Option<&Stream>,
    ) -> Result<()> {
        // SAFETY: the id is valid during the call; the caller guarantees the ranges.
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
    ///
    /// # Errors
    ///
    /// besides: [`ErrorKind::ModelNotFound`](crate::ErrorKind::ModelNotFound).
    ///
    /// C function: [`ferrum_elastic_pool_record_stream`](crate::sys::ferrum_elastic_pool_record_stream).
    pub fn record_stream(&self, offset_bytes: u64, size_bytes: u64, stream: &Stream) -> Result<()> {
        // SAFETY: the id is valid during the call.
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

    /// As [`VirtualPool::record_stream_batch`](crate::VirtualPool::record_stream_batch).
    ///
    /// # Errors
    ///
    /// besides: [`ErrorKind::ModelNotFound`](crate::ErrorKind::ModelNotFound).
    ///
    /// C function: [`ferrum_elastic_pool_record_stream_batch`](crate::sys::ferrum_elastic_pool_record_stream_batch).
    pub fn record_stream_batch(&self, ranges: &[ByteRange], stream: &Stream) -> Result<()> {
        let raw: Vec<_> = ranges.iter().map(ByteRange::raw).collect();
        // SAFETY: the id and the list, of that length, are valid during the call.
        check(unsafe {
            sys::ferrum_elastic_pool_record_stream_batch(
                self.pool().raw(),
                self.c_id().as_ptr(),
                raw.as_ptr(),
                raw.len() as u64,
                stream.raw(),
            )
        })
    }

    /// Whether every page that a range touches is mapped; false outside the address space.
    ///
    /// # Errors
    ///
    /// The errors of every call, such as
    /// [`ErrorKind::InvalidHandle`](crate::ErrorKind::InvalidHandle).
    ///
    /// C function: [`ferrum_elastic_pool_is_mapped`](crate::sys::ferrum_elastic_pool_is_mapped).
    pub fn is_mapped(&self, offset_bytes: u64, size_bytes: u64) -> Result<bool> {
        let mut mapped = 0;
        // SAFETY: the id is valid during the call, mapped is an output of it.
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
    ///
    /// # Errors
    ///
    /// The errors of every call, such as [`ErrorKind::InvalidHandle`](crate::ErrorKind::InvalidHandle).
    ///
    /// C function: [`ferrum_elastic_pool_get_model_info`](crate::sys::ferrum_elastic_pool_get_model_info).
    pub fn info(&self) -> Result<ModelInfo> {
        let mut raw = Default::default();
        // SAFETY: the id is valid during the call, raw is an output with its size set.
        check(unsafe {
            sys::ferrum_elastic_pool_get_model_info(
                self.pool().raw(),
                self.c_id().as_ptr(),
                &mut raw,
            )
        })?;
        Ok((&raw).into())
    }

    /// Changes its limits, all or none. The model and others may run meanwhile.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidConfig`](crate::ErrorKind::InvalidConfig) and
    /// [`ErrorKind::OutOfPhysicalMemory`](crate::ErrorKind::OutOfPhysicalMemory), as for
    /// [`ferrum_elastic_pool_register_model`](crate::sys::ferrum_elastic_pool_register_model);
    /// [`ErrorKind::ModelNotFound`](crate::ErrorKind::ModelNotFound).
    ///
    /// C function: [`ferrum_elastic_pool_set_model_limits`](crate::sys::ferrum_elastic_pool_set_model_limits).
    pub fn set_limits(&self, limits: &ModelLimits) -> Result<()> {
        let raw = limits.raw();
        // SAFETY: id and limits are valid during the call.
        check(unsafe {
            sys::ferrum_elastic_pool_set_model_limits(self.pool().raw(), self.c_id().as_ptr(), &raw)
        })
    }

    /// Calls the closure to free memory of the model when pages are short. The closure gets the
    /// number of needed bytes and returns the number of bytes that it freed. An allocation waits
    /// for it at most for the deadline; `None`: 100 ms. A closure that contains the model keeps the
    /// model registered.
    ///
    /// # Errors
    ///
    /// The errors of every call, such as
    /// [`ErrorKind::InvalidHandle`](crate::ErrorKind::InvalidHandle).
    ///
    /// C function: [`ferrum_elastic_pool_reclaim_callback_add`](crate::sys::ferrum_elastic_pool_reclaim_callback_add).
    pub fn on_reclaim(
        &self,
        deadline: Option<Duration>,
        closure: impl Fn(u64) -> u64 + Send + Sync + 'static,
    ) -> Result<Registration> {
        Registration::model_reclaim(self, deadline, Box::new(closure))
    }
}
