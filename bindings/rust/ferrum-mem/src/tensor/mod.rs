//! Tensors: memory with a data type, a shape and strides.

mod description;
mod dlpack;

use std::fmt;
use std::sync::Arc;

pub use description::{TensorDescription, TensorLayout};
pub use dlpack::DlPack;

use crate::callback::Once;
use crate::ending::dropped;
use crate::error::{check, Error};
use crate::kept::Kept;
use crate::parent::Parent;
use crate::rejected::{ended, Rejected};
use crate::stream::raw_of;
use crate::{
    sys, DType, Device, Element, ErrorKind, LoadMemory, Memory, Result, Stream, TensorSet,
};
use description::sides;

/// A view of memory. Several tensors can be views of the same memory, each ends by itself, and the
/// memory is freed, or returned to its owner, with the last of them.
///
/// Elements are read and written in the order of streams. Work that is queued keeps the memory of
/// its tensors, which may be dropped before it runs.
///
/// ```no_run
/// # use ferrum_mem::{DType, LoadMemory, Pool, Result, Tensor};
/// # fn rows(pool: &Pool) -> Result<()> {
/// let table = Tensor::create(&LoadMemory::pool(pool), DType::F32, &[4, 3], None)?;
/// table.fill(0.0, None)?;
/// let row = table.narrow(0, 2, 1)?;
/// row.write(&[1.0f32, 2.0, 3.0], None)?;
/// assert_eq!(table.to_vec::<f32>(None)?[6..9], [1.0, 2.0, 3.0]);
/// # Ok(())
/// # }
/// ```
///
/// While its memory sleeps, a call that reads or writes elements is [`ErrorKind::Busy`]. A pool, a
/// model, a block or a set stays alive as long as its tensors, unless it is closed by force through
/// its handle. Then such a call is [`ErrorKind::InvalidState`].
#[must_use = "dropping it ends the tensor, and the last one frees the memory"]
pub struct Tensor {
    raw: sys::ferrum_tensor,
    description: Box<TensorDescription>,
    /// All tensors over the memory share it.
    parent: Arc<Parent>,
}

static KEPT: Kept<Arc<Parent>> = Kept::new();

impl Drop for Tensor {
    fn drop(&mut self) {
        if self.raw.id != 0 {
            // SAFETY: this object owns the handle.
            let status = unsafe { sys::ferrum_tensor_destroy(self.raw) };
            dropped("ferrum_tensor_destroy", status);
        }
    }
}

impl fmt::Debug for Tensor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tensor")
            .field("handle", &self.raw.id)
            .field("dtype", &self.description.dtype)
            .field("shape", &self.description.shape)
            .finish_non_exhaustive()
    }
}

/// Making tensors.
impl Tensor {
    /// The object of a handle that was made. The handle is ended if it cannot be described.
    pub(crate) fn own(raw: sys::ferrum_tensor, parent: impl Into<Arc<Parent>>) -> Result<Self> {
        let mut desc = sys::ferrum_tensor_desc::default();
        // SAFETY: desc is an output of the call, with its size set.
        let described = check(unsafe { sys::ferrum_tensor_describe(raw, &mut desc) });
        let made = Self {
            raw,
            description: Box::new(TensorDescription::of(&desc)),
            parent: parent.into(),
        };
        described.map(|()| made)
    }

    /// Allocates memory for contiguous elements, which have no value yet. The stream (`None`: the
    /// default stream) uses the memory first.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidArgument`] for a shape, a type, and [`LoadMemory::caller`];
    /// [`ErrorKind::Overflow`]; [`ErrorKind::InvalidState`] for memory that sleeps; the errors of
    /// the memory, such as [`ErrorKind::OutOfMemory`].
    ///
    /// C function: [`ferrum_tensor_create`](crate::sys::ferrum_tensor_create).
    pub fn create(
        memory: &LoadMemory<'_>,
        dtype: DType,
        shape: &[u64],
        stream: Option<&Stream>,
    ) -> Result<Self> {
        let sides = sides(shape);
        let mut raw = Default::default();
        memory.with_raw("ferrum_tensor_create", |memory| {
            let (shape, count) = (sides.as_ptr(), sides.len() as u64);
            // SAFETY: the memory and the shape are valid during the call, raw is an output of it.
            check(unsafe {
                sys::ferrum_tensor_create(
                    memory,
                    dtype.to_raw(),
                    shape,
                    count,
                    raw_of(stream),
                    &mut raw,
                )
            })
        })?;
        Self::own(raw, memory.parent())
    }

    /// Makes a tensor over a block of a manager, from an offset on. The block is pinned and cannot
    /// be freed while the tensor exists.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidArgument`] for the layout; [`ErrorKind::InvalidAlignment`];
    /// [`ErrorKind::InvalidOffset`] for elements outside of the block.
    ///
    /// C function: [`ferrum_tensor_from_memory`](crate::sys::ferrum_tensor_from_memory).
    pub fn from_memory(
        memory: &Arc<Memory>,
        offset_bytes: u64,
        layout: &TensorLayout,
    ) -> Result<Self> {
        let desc = layout.raw("ferrum_tensor_from_memory")?;
        let mut raw = Default::default();
        // SAFETY: the description is valid during the call, raw is an output of it.
        check(unsafe {
            sys::ferrum_tensor_from_memory(memory.raw(), offset_bytes, &desc, &mut raw)
        })?;
        Self::own(raw, Parent::Memory(memory.clone()))
    }

    /// Makes a tensor over memory of the program. The closure gives the memory back. It is called
    /// once, after the last tensor over the memory has ended and the work on it has run: in the call
    /// that ends the tensor, or on a thread of the library. It must not wait for a stream. After an
    /// error it is dropped and not called.
    ///
    /// # Safety
    ///
    /// Until the closure is called, the memory stays valid and no reference to it exists, except
    /// for shared ones to memory that is [read-only](TensorLayout::read_only).
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidAddress`] for memory that the device cannot use, as far as it can check
    /// it; the errors of [`Tensor::from_memory`].
    ///
    /// C function: [`ferrum_tensor_wrap`](crate::sys::ferrum_tensor_wrap).
    pub unsafe fn wrap(
        device: &Device,
        address: u64,
        size_bytes: u64,
        layout: &TensorLayout,
        release: impl FnOnce() + Send + 'static,
    ) -> Result<Self> {
        let desc = layout.raw("ferrum_tensor_wrap")?;
        let once = Once::new(Box::new(release));
        let mut raw = Default::default();
        // SAFETY: the description is valid during the call, raw is an output of it, the closure is
        // valid until its call; the caller guarantees the memory.
        let made = check(unsafe {
            sys::ferrum_tensor_wrap(
                device.raw(),
                address,
                size_bytes,
                &desc,
                Some(Once::call),
                once.data(),
                &mut raw,
            )
        });
        once.settle(made)?;
        Self::own(raw, Parent::Device(device.clone()))
    }

    /// Makes a tensor that owns the elements of a vector, without a copy.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidArgument`] for a shape with another number of elements;
    /// [`ErrorKind::UnsupportedDevice`] for a device whose memory the host cannot address.
    ///
    /// C function: [`ferrum_tensor_wrap`](crate::sys::ferrum_tensor_wrap).
    pub fn from_vec<T: Element>(device: &Device, elements: Vec<T>, shape: &[u64]) -> Result<Self> {
        const FUNCTION: &str = "Tensor::from_vec";
        let count = elements.len();
        let wanted = shape
            .iter()
            .try_fold(1, |all: u64, side| all.checked_mul(*side));
        if wanted != Some(count as u64) {
            let message = format!("{count} elements do not fill the shape {shape:?}");
            return Err(Error::argument(FUNCTION, message));
        }
        if !device.info()?.host_addressable {
            let message =
                "the elements are in host memory, which the device does not address".to_owned();
            return Err(Error::found(
                ErrorKind::UnsupportedDevice,
                FUNCTION,
                message,
            ));
        }
        let (address, size) = (elements.as_ptr() as u64, size_of(&elements));
        let layout = TensorLayout::new(T::DTYPE, shape);
        // SAFETY: the closure owns the vector, and only drops it.
        unsafe { Self::wrap(device, address, size, &layout, move || drop(elements)) }
    }

    /// Makes a tensor over a loaded tensor, by its index in the order of the load. A mapped tensor
    /// is read-only, and of the first open host device.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidArgument`] for an index without a tensor, and for more than 8
    /// dimensions; [`ErrorKind::InvalidState`] while the load runs, and for a mapped tensor while
    /// no host device is open; the error of the load.
    ///
    /// C function: [`ferrum_tensor_from_set`](crate::sys::ferrum_tensor_from_set).
    pub fn from_set(set: &Arc<TensorSet>, index: u64) -> Result<Self> {
        let mut raw = Default::default();
        // SAFETY: raw is an output of the call.
        check(unsafe { sys::ferrum_tensor_from_set(set.raw(), index, &mut raw) })?;
        Self::own(raw, Parent::Set(set.clone()))
    }
}

/// Views, which share the memory.
impl Tensor {
    fn view(
        &self,
        make: impl FnOnce(&mut sys::ferrum_tensor) -> sys::ferrum_status,
    ) -> Result<Self> {
        let mut raw = Default::default();
        check(make(&mut raw))?;
        Self::own(raw, self.parent.clone())
    }

    /// Makes a view that keeps some indices of a dimension; -1 is the last dimension.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidArgument`] for the axis; [`ErrorKind::InvalidOffset`] for indices that
    /// the dimension does not have; [`ErrorKind::Unsupported`] for a type with several elements in
    /// a block, if the view is not contiguous.
    ///
    /// C function: [`ferrum_tensor_narrow`](crate::sys::ferrum_tensor_narrow).
    pub fn narrow(&self, axis: i32, start: u64, length: u64) -> Result<Self> {
        let whole = |number| i64::try_from(number).unwrap_or(i64::MAX);
        let (start, length) = (whole(start), whole(length));
        // SAFETY: view is an output of the call.
        self.view(|view| unsafe { sys::ferrum_tensor_narrow(self.raw, axis, start, length, view) })
    }

    /// Makes a view that keeps every `step`-th index of a dimension: `start`, `start + step`, and so
    /// on. `length` is the number of indices of the view. A negative step reverses their order.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidArgument`] for the axis and a step of 0; [`ErrorKind::InvalidOffset`] for
    /// indices that the dimension does not have; [`ErrorKind::Unsupported`] as for
    /// [`Tensor::narrow`].
    ///
    /// C function: [`ferrum_tensor_slice`](crate::sys::ferrum_tensor_slice).
    pub fn slice(&self, axis: i32, start: u64, length: u64, step: i64) -> Result<Self> {
        let whole = |number| i64::try_from(number).unwrap_or(i64::MAX);
        let (start, length, raw) = (whole(start), whole(length), self.raw);
        // SAFETY: view is an output of the call.
        self.view(|view| unsafe { sys::ferrum_tensor_slice(raw, axis, start, length, step, view) })
    }

    /// Makes a view with the dimensions in another order: for each dimension of the view, `axes`
    /// has the dimension of the tensor.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidArgument`] unless `axes` has each dimension once;
    /// [`ErrorKind::Unsupported`] as for [`Tensor::narrow`].
    ///
    /// C function: [`ferrum_tensor_permute`](crate::sys::ferrum_tensor_permute).
    pub fn permute(&self, axes: &[i32]) -> Result<Self> {
        let (list, count) = (axes.as_ptr(), axes.len() as u64);
        // SAFETY: the list has the length that is passed, view is an output of the call.
        self.view(|view| unsafe { sys::ferrum_tensor_permute(self.raw, list, count, view) })
    }

    /// Makes a view with another shape of the same elements in the same order.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidArgument`] for a shape with another number of elements;
    /// [`ErrorKind::Unsupported`] if no strides express the shape: a copy by [`Tensor::to`] has
    /// every shape.
    ///
    /// C function: [`ferrum_tensor_reshape`](crate::sys::ferrum_tensor_reshape).
    pub fn reshape(&self, shape: &[u64]) -> Result<Self> {
        let sides = sides(shape);
        let (list, count) = (sides.as_ptr(), sides.len() as u64);
        // SAFETY: the list has the length that is passed, view is an output of the call.
        self.view(|view| unsafe { sys::ferrum_tensor_reshape(self.raw, list, count, view) })
    }

    /// Makes a view that repeats elements along new dimensions, and along dimensions of length 1, as
    /// NumPy broadcasts. Its elements cannot be written if some are repeated.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidArgument`] for a shape to which the tensor does not broadcast;
    /// [`ErrorKind::Unsupported`] as for [`Tensor::narrow`].
    ///
    /// C function: [`ferrum_tensor_expand`](crate::sys::ferrum_tensor_expand).
    pub fn expand(&self, shape: &[u64]) -> Result<Self> {
        let sides = sides(shape);
        let (list, count) = (sides.as_ptr(), sides.len() as u64);
        // SAFETY: the list has the length that is passed, view is an output of the call.
        self.view(|view| unsafe { sys::ferrum_tensor_expand(self.raw, list, count, view) })
    }
}

/// Elements.
impl Tensor {
    /// Queues a copy of the elements of another tensor of the same shape and device to this one.
    /// Elements of another type are converted.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidArgument`] for another shape, tensors that overlap, and repeated elements
    /// of this one; [`ErrorKind::PermissionDenied`] if this one is read-only;
    /// [`ErrorKind::UnsupportedDevice`] for another device; [`ErrorKind::Unsupported`] for types
    /// that are not converted; [`ErrorKind::Busy`] and [`ErrorKind::InvalidState`] for memory that
    /// sleeps or has ended.
    ///
    /// C function: [`ferrum_tensor_copy`](crate::sys::ferrum_tensor_copy).
    pub fn copy_from(&self, source: &Tensor, stream: Option<&Stream>) -> Result<()> {
        // SAFETY: takes only numbers.
        check(unsafe { sys::ferrum_tensor_copy(self.raw, source.raw, raw_of(stream)) })
    }

    /// Makes a contiguous tensor with the same elements, of another type, in other memory, or both.
    /// The copy is queued on the stream of this tensor's device if the memory is of that device.
    /// Otherwise the call waits for the copy.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Unsupported`] for types that are not converted; the errors of
    /// [`Tensor::create`], [`Tensor::copy_from`] and [`Tensor::read`].
    ///
    /// C function: [`ferrum_tensor_to`](crate::sys::ferrum_tensor_to).
    pub fn to(
        &self,
        memory: &LoadMemory<'_>,
        dtype: DType,
        stream: Option<&Stream>,
    ) -> Result<Self> {
        let mut raw = Default::default();
        memory.with_raw("ferrum_tensor_to", |memory| {
            // SAFETY: the memory is valid during the call, raw is an output of it.
            check(unsafe {
                sys::ferrum_tensor_to(self.raw, memory, dtype.to_raw(), raw_of(stream), &mut raw)
            })
        })?;
        Self::own(raw, memory.parent())
    }

    /// Copies the elements to a slice, in the order of the shape. Waits for the work of the stream
    /// and for the copy.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidArgument`] for another type; [`ErrorKind::InvalidSize`] for another
    /// number of elements; [`ErrorKind::Unsupported`] for elements in more than 4096 parts on a
    /// device whose memory the host cannot address; [`ErrorKind::Busy`] and
    /// [`ErrorKind::InvalidState`] for memory that sleeps or has ended.
    ///
    /// C function: [`ferrum_tensor_read`](crate::sys::ferrum_tensor_read).
    pub fn read<T: Element>(&self, elements: &mut [T], stream: Option<&Stream>) -> Result<()> {
        self.check_type::<T>("ferrum_tensor_read")?;
        let (to, size) = (elements.as_mut_ptr().cast(), size_of(elements));
        // SAFETY: the slice has the size that is passed, and every value of T is valid.
        check(unsafe { sys::ferrum_tensor_read(self.raw, to, size, raw_of(stream)) })
    }

    /// The elements in the order of the shape, as [`Tensor::read`] copies them.
    ///
    /// # Errors
    ///
    /// Those of [`Tensor::read`].
    ///
    /// C function: [`ferrum_tensor_read`](crate::sys::ferrum_tensor_read).
    pub fn to_vec<T: Element>(&self, stream: Option<&Stream>) -> Result<Vec<T>> {
        self.check_type::<T>("ferrum_tensor_read")?;
        let size = self.description.size_bytes;
        let count = size as usize / std::mem::size_of::<T>();
        let mut elements = Vec::<T>::with_capacity(count);
        let to = elements.as_mut_ptr().cast();
        // SAFETY: the vector has room for the size that is passed.
        check(unsafe { sys::ferrum_tensor_read(self.raw, to, size, raw_of(stream)) })?;
        // SAFETY: the call has set all elements, and every value of T is valid.
        unsafe { elements.set_len(count) };
        Ok(elements)
    }

    /// Copies the bytes of the elements to a slice, also of types that Rust does not have.
    ///
    /// # Errors
    ///
    /// Those of [`Tensor::read`], except for the type.
    ///
    /// C function: [`ferrum_tensor_read`](crate::sys::ferrum_tensor_read).
    pub fn read_bytes(&self, bytes: &mut [u8], stream: Option<&Stream>) -> Result<()> {
        let (to, size) = (bytes.as_mut_ptr().cast(), bytes.len() as u64);
        // SAFETY: the slice has the size that is passed.
        check(unsafe { sys::ferrum_tensor_read(self.raw, to, size, raw_of(stream)) })
    }

    /// Copies a slice to the elements, in the order of the shape. Waits as [`Tensor::read`] does.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::PermissionDenied`] for a read-only tensor; [`ErrorKind::InvalidArgument`] for
    /// repeated elements; those of [`Tensor::read`].
    ///
    /// C function: [`ferrum_tensor_write`](crate::sys::ferrum_tensor_write).
    pub fn write<T: Element>(&self, elements: &[T], stream: Option<&Stream>) -> Result<()> {
        self.check_type::<T>("ferrum_tensor_write")?;
        let (from, size) = (elements.as_ptr().cast(), size_of(elements));
        // SAFETY: the slice has the size that is passed.
        check(unsafe { sys::ferrum_tensor_write(self.raw, from, size, raw_of(stream)) })
    }

    /// Copies bytes to the elements, also of types that Rust does not have.
    ///
    /// # Errors
    ///
    /// Those of [`Tensor::write`], except for the type.
    ///
    /// C function: [`ferrum_tensor_write`](crate::sys::ferrum_tensor_write).
    pub fn write_bytes(&self, bytes: &[u8], stream: Option<&Stream>) -> Result<()> {
        let (from, size) = (bytes.as_ptr().cast(), bytes.len() as u64);
        // SAFETY: the slice has the size that is passed.
        check(unsafe { sys::ferrum_tensor_write(self.raw, from, size, raw_of(stream)) })
    }

    /// Queues work that gives every element the value, converted to the type of the tensor.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Unsupported`] for a type to which numbers are not converted, and for elements
    /// that the device cannot fill; otherwise those of [`Tensor::write`].
    ///
    /// C function: [`ferrum_tensor_fill`](crate::sys::ferrum_tensor_fill).
    pub fn fill(&self, value: f64, stream: Option<&Stream>) -> Result<()> {
        // SAFETY: takes only numbers.
        check(unsafe { sys::ferrum_tensor_fill(self.raw, value, raw_of(stream)) })
    }

    fn check_type<T: Element>(&self, function: &str) -> Result<()> {
        let has = self.description.dtype;
        if has == T::DTYPE {
            return Ok(());
        }
        let message = format!("the elements are of the type {has}, not {}", T::DTYPE);
        Err(Error::argument(function, message))
    }
}

/// Properties, and the end.
impl Tensor {
    /// Type, shape and place. They never change, so this calls no C function.
    pub fn description(&self) -> &TensorDescription {
        &self.description
    }

    /// The type of its elements.
    pub fn dtype(&self) -> DType {
        self.description.dtype
    }

    /// Length of each dimension, the slowest first.
    pub fn shape(&self) -> &[u64] {
        &self.description.shape
    }

    /// Type, shape and strides, for [`Op::infer`](crate::Op::infer).
    pub fn layout(&self) -> TensorLayout {
        let known = &self.description;
        TensorLayout::new(known.dtype, &known.shape).strided(&known.strides)
    }

    pub(crate) fn parent(&self) -> &Arc<Parent> {
        &self.parent
    }

    /// The C handle.
    pub fn raw(&self) -> sys::ferrum_tensor {
        self.raw
    }

    /// Ends the tensor, as a drop does.
    ///
    /// # Errors
    ///
    /// An error of the device that failed to free the memory. The error returns the tensor.
    ///
    /// C function: [`ferrum_tensor_destroy`](crate::sys::ferrum_tensor_destroy).
    pub fn close(mut self) -> std::result::Result<(), Rejected<Self>> {
        // SAFETY: we own the handle.
        let closed = check(unsafe { sys::ferrum_tensor_destroy(self.raw) });
        if closed.is_ok() {
            self.raw = Default::default();
        }
        ended(closed, self)
    }

    /// Returns the handle and does not end the tensor. The owner of its memory stays open until an
    /// object of [`Tensor::from_raw`] ends.
    pub fn into_raw(mut self) -> sys::ferrum_tensor {
        let raw = std::mem::take(&mut self.raw);
        KEPT.put(raw.id, self.parent.clone());
        raw
    }

    /// Creates an object from a handle. The object owns the handle from then on.
    ///
    /// # Safety
    ///
    /// The handle is of a live tensor of the device, and no other code ends it.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidHandle`] for a handle without a tensor.
    ///
    /// C function: [`ferrum_tensor_describe`](crate::sys::ferrum_tensor_describe).
    pub unsafe fn from_raw(device: &Device, raw: sys::ferrum_tensor) -> Result<Self> {
        let parent = KEPT.take(raw.id);
        Self::own(
            raw,
            parent.unwrap_or_else(|| Parent::Device(device.clone()).into()),
        )
    }
}

/// The size of a slice in bytes.
fn size_of<T>(elements: &[T]) -> u64 {
    std::mem::size_of_val(elements) as u64
}
