use std::ops::ControlFlow;
use std::sync::{Arc, Mutex};

use crate::error::check;
use crate::parent::Parent;
use crate::raw::{optional_text, pointer};
use crate::weights::convert;
use crate::weights::order::Order;
use crate::weights::progress::{of_load, OnProgress};
use crate::weights::source::Weights;
use crate::weights::tensors::TensorSet;
use crate::{sys, Device, Model, Pool, Result, VirtualPool, WeightsProgress};

/// Memory for the tensors of a load, or for a [`Tensor`](crate::Tensor).
#[derive(Clone, Debug)]
pub struct LoadMemory<'a> {
    kind: Kind<'a>,
    tag: Option<&'a str>,
}

#[derive(Clone, Debug)]
enum Kind<'a> {
    Pool(&'a Pool),
    VirtualPool(&'a VirtualPool, u64),
    Model(&'a Model),
    Caller(&'a Device),
}

impl<'a> LoadMemory<'a> {
    fn new(kind: Kind<'a>) -> Self {
        Self { kind, tag: None }
    }

    /// Blocks of a pool.
    pub fn pool(pool: &'a Pool) -> Self {
        Self::new(Kind::Pool(pool))
    }

    /// Pages of a virtual pool, from an offset on.
    pub fn virtual_pool(pool: &'a VirtualPool, offset_bytes: u64) -> Self {
        Self::new(Kind::VirtualPool(pool, offset_bytes))
    }

    /// Pages of a model of an elastic pool.
    pub fn model(model: &'a Model) -> Self {
        Self::new(Kind::Model(model))
    }

    /// Memory of the program on a device: each tensor has an address of its own, by
    /// [`TensorOrder::at`](crate::TensorOrder::at).
    pub fn caller(device: &'a Device) -> Self {
        Self::new(Kind::Caller(device))
    }

    /// Tag of the memory, for sleep and reports; otherwise the name of the pool or the id of the
    /// model.
    pub fn tag(mut self, tag: &'a str) -> Self {
        self.tag = Some(tag);
        self
    }

    /// Returns the device of the memory.
    pub fn device(&self) -> &Device {
        match self.kind {
            Kind::Pool(pool) => pool.device(),
            Kind::VirtualPool(pool, _) => pool.device(),
            Kind::Model(model) => model.device(),
            Kind::Caller(device) => device,
        }
    }

    pub(crate) fn parent(&self) -> Parent {
        match self.kind {
            Kind::Pool(pool) => Parent::Pool(pool.clone()),
            Kind::VirtualPool(pool, _) => Parent::VirtualPool(pool.clone()),
            Kind::Model(model) => Parent::Model(model.clone()),
            Kind::Caller(device) => Parent::Device(device.clone()),
        }
    }

    /// Calls the closure with the memory in the form of C, with its tag.
    pub(crate) fn with_raw<T>(
        &self,
        function: &str,
        call: impl FnOnce(&sys::ferrum_weights_memory) -> Result<T>,
    ) -> Result<T> {
        let tag = optional_text(function, "tag", self.tag)?;
        let mut raw = self.raw();
        raw.tag = pointer(&tag);
        call(&raw)
    }

    fn raw(&self) -> sys::ferrum_weights_memory {
        // SAFETY: all fields are numbers and pointers, for which zero is a valid value.
        let mut raw: sys::ferrum_weights_memory = unsafe { std::mem::zeroed() };
        match self.kind {
            Kind::Pool(pool) => raw.pool = pool.raw(),
            Kind::VirtualPool(pool, offset_bytes) => {
                (raw.vpool, raw.offset_bytes) = (pool.raw(), offset_bytes);
            }
            Kind::Model(model) => {
                (raw.elastic_pool, raw.model) = (model.pool().raw(), model.c_id().as_ptr());
            }
            Kind::Caller(device) => raw.device = device.raw(),
        }
        raw
    }
}

/// The tensors to load, and the memory for them.
#[derive(Clone, Debug, Default)]
pub struct LoadRequest<'a> {
    /// The memories. A tensor goes to the first memory, unless the order names another one.
    pub memories: Vec<LoadMemory<'a>>,
    /// The tensors and their transformations.
    pub order: Order,
    /// Number of threads that read; `None`: 8. More than 256 count as 256.
    pub threads: Option<u32>,
    /// Bound of the staging memory, at most 256 MiB; `None`: 64 MiB. Tensors for a device whose
    /// memory the host cannot write go through this host memory.
    pub staging_bytes: Option<u64>,
}

impl<'a> LoadRequest<'a> {
    /// All tensors, to one memory.
    pub fn to(memory: LoadMemory<'a>) -> Self {
        Self {
            memories: vec![memory],
            ..Default::default()
        }
    }
}

impl Weights {
    /// Starts to load tensors: all, or none. [`TensorSet::wait`] waits for them. While the set
    /// exists, its pools cannot be closed.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidArgument`](crate::ErrorKind::InvalidArgument) and
    /// [`ErrorKind::InvalidSize`](crate::ErrorKind::InvalidSize) for the request and the order;
    /// [`ErrorKind::NotFound`](crate::ErrorKind::NotFound) for a tensor;
    /// [`ErrorKind::Unsupported`](crate::ErrorKind::Unsupported) for a transformation.
    ///
    /// C function: [`ferrum_weights_load`](crate::sys::ferrum_weights_load).
    pub fn load(&self, request: &LoadRequest<'_>) -> Result<TensorSet> {
        self.start(request, 0, None)
    }

    /// Starts to load tensors, and reports the progress to the closure. The closure runs on a
    /// thread of the library. It cancels the load if it breaks or panics.
    ///
    /// # Errors
    ///
    /// The errors of [`Weights::load`].
    ///
    /// C function: [`ferrum_weights_load`](crate::sys::ferrum_weights_load).
    pub fn load_with(
        &self,
        request: &LoadRequest<'_>,
        on_progress: impl FnMut(&WeightsProgress) -> ControlFlow<()> + Send + 'static,
    ) -> Result<TensorSet> {
        let on: Arc<OnProgress<'static>> = Arc::new(Mutex::new(Box::new(on_progress)));
        self.start(request, 0, Some(on))
    }

    /// Maps the files instead of copying their bytes. The tensors are the mapped pages and are
    /// read-only.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Unsupported`](crate::ErrorKind::Unsupported) for a tensor that cannot be mapped;
    /// the errors of [`Weights::load`] for the order.
    ///
    /// C function: [`ferrum_weights_load`](crate::sys::ferrum_weights_load).
    pub fn map(&self, order: Order) -> Result<TensorSet> {
        let request = LoadRequest {
            order,
            ..Default::default()
        };
        self.start(&request, sys::FERRUM_WEIGHTS_LOAD_MAP, None)
    }

    /// Starts to read the bytes of the tensors into the page cache of the system. The set has no
    /// tensors. Dropping the set releases the pages that the load has read; pages that were in the
    /// cache before stay there.
    ///
    /// # Errors
    ///
    /// The errors of [`Weights::load`] for the order.
    ///
    /// C function: [`ferrum_weights_load`](crate::sys::ferrum_weights_load).
    pub fn preload(&self, order: Order) -> Result<TensorSet> {
        let request = LoadRequest {
            order,
            ..Default::default()
        };
        self.start(&request, sys::FERRUM_WEIGHTS_LOAD_PRELOAD, None)
    }

    fn start(
        &self,
        request: &LoadRequest<'_>,
        flags: u32,
        on: Option<Arc<OnProgress<'static>>>,
    ) -> Result<TensorSet> {
        const FUNCTION: &str = "ferrum_weights_load";
        let tags = request.memories.iter();
        let tags = tags.map(|memory| optional_text(FUNCTION, "tag", memory.tag));
        let tags = tags.collect::<Result<Vec<_>>>()?;
        let mut memories: Vec<_> = request.memories.iter().map(LoadMemory::raw).collect();
        for (memory, tag) in memories.iter_mut().zip(&tags) {
            memory.tag = pointer(tag);
        }
        let order = request.order.json();
        let (specs_json, specs_bytes) = convert::pointer(&order);
        let mut raw = sys::ferrum_weights_load_request {
            flags,
            memory_count: u32::try_from(memories.len()).unwrap_or(u32::MAX),
            threads: request.threads.unwrap_or(0),
            specs_json,
            specs_bytes,
            staging_bytes: request.staging_bytes.unwrap_or(0),
            ..Default::default()
        };
        if !memories.is_empty() {
            raw.memories = memories.as_ptr();
        }
        if let Some(on) = &on {
            raw.progress = Some(of_load);
            raw.user_data = Arc::as_ptr(on).cast_mut().cast();
        }
        let mut set = Default::default();
        // SAFETY: the request is valid during the call, the closure as long as the set.
        check(unsafe { sys::ferrum_weights_load(self.raw(), &raw, &mut set) })?;
        let parents = request.memories.iter().map(LoadMemory::parent).collect();
        Ok(TensorSet::of(self, set, parents, on))
    }
}
