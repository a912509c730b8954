//! Allocators from crates, as C functions. The harness of the bench calls them
//! through a table of pointers for each allocator.
//!
//! A block is a 64-bit number that is never 0. It has what the allocator needs to
//! free the block. Users of these crates store that too.

mod gpu;
mod offset;
mod vma;

use std::ffi::{c_char, c_void, CStr};

/// A range of an allocator's memory.
#[repr(C)]
pub struct Place {
    pub begin_bytes: u64,
    pub end_bytes: u64,
}

/// An open allocator, in the layout of the harness.
#[repr(C)]
pub struct Peer {
    context: *mut c_void,
    allocate: unsafe extern "C" fn(*mut c_void, u64) -> u64,
    release: unsafe extern "C" fn(*mut c_void, u64) -> bool,
    place: unsafe extern "C" fn(*mut c_void, u64, u64, *mut Place),
    close: unsafe extern "C" fn(*mut c_void),
    version: *const c_char,
    single_threaded: bool,
}

/// The calls of every allocator. Several threads call it at once only if
/// [`Blocks::SINGLE_THREADED`] is false.
trait Blocks {
    const VERSION: &'static CStr;
    const SINGLE_THREADED: bool;

    /// Allocates a block. Returns 0 on failure.
    fn allocate(&mut self, size_bytes: u64) -> u64;

    /// Frees a block.
    fn release(&mut self, block: u64) -> bool;

    /// The range of a live block of that size, or of all the allocator's memory.
    fn place(&mut self, block: u64, size_bytes: u64) -> Place;
}

/// A single-threaded allocator in a mutex.
struct Locked<B>(std::sync::Mutex<B>);

/// How a C call reaches an allocator: directly or through its mutex.
trait Reach {
    type Inner: Blocks;
    const SINGLE_THREADED: bool;

    /// # Safety
    /// `context` comes from `peer`. If the allocator is single-threaded, no
    /// other call is running.
    unsafe fn with<R>(context: *mut c_void, call: impl FnOnce(&mut Self::Inner) -> R) -> R;
}

/// An allocator without a lock around it.
struct Bare<B>(B);

impl<B: Blocks> Reach for Bare<B> {
    type Inner = B;
    const SINGLE_THREADED: bool = B::SINGLE_THREADED;

    #[inline(always)]
    unsafe fn with<R>(context: *mut c_void, call: impl FnOnce(&mut B) -> R) -> R {
        call(&mut (*context.cast::<Self>()).0)
    }
}

impl<B: Blocks> Reach for Locked<B> {
    type Inner = B;
    const SINGLE_THREADED: bool = false;

    #[inline(always)]
    unsafe fn with<R>(context: *mut c_void, call: impl FnOnce(&mut B) -> R) -> R {
        // A panic ends the process, so the mutex is never poisoned.
        match (*context.cast::<Self>()).0.lock() {
            Ok(mut inner) => call(&mut inner),
            Err(_) => unreachable!(),
        }
    }
}

unsafe extern "C" fn allocate<T: Reach>(context: *mut c_void, size_bytes: u64) -> u64 {
    T::with(context, |inner| inner.allocate(size_bytes))
}

unsafe extern "C" fn release<T: Reach>(context: *mut c_void, block: u64) -> bool {
    T::with(context, |inner| inner.release(block))
}

unsafe extern "C" fn place<T: Reach>(
    context: *mut c_void,
    block: u64,
    size_bytes: u64,
    out: *mut Place,
) {
    *out = T::with(context, |inner| inner.place(block, size_bytes));
}

unsafe extern "C" fn close<T>(context: *mut c_void) {
    drop(Box::from_raw(context.cast::<T>()));
}

fn peer<T: Reach>(allocator: T) -> Peer {
    Peer {
        context: Box::into_raw(Box::new(allocator)).cast(),
        allocate: allocate::<T>,
        release: release::<T>,
        place: place::<T>,
        close: close::<T>,
        version: T::Inner::VERSION.as_ptr(),
        single_threaded: T::SINGLE_THREADED,
    }
}

fn bare<B: Blocks>(blocks: B) -> Peer {
    peer(Bare(blocks))
}

fn locked<B: Blocks>(blocks: B) -> Peer {
    peer(Locked(std::sync::Mutex::new(blocks)))
}

/// Opens an allocator by name. Returns false if no allocator has that name.
///
/// # Safety
/// `name` is a C string. `peer_out` points to memory for a [`Peer`].
#[no_mangle]
pub unsafe extern "C" fn bench_peer_open(
    name: *const c_char,
    granule_bytes: u64,
    peer_out: *mut Peer,
) -> bool {
    *peer_out = match CStr::from_ptr(name).to_bytes() {
        b"offset_allocator" => bare(offset::OffsetBlocks::new(granule_bytes)),
        b"offset_allocator_mutex" => locked(offset::OffsetBlocks::new(granule_bytes)),
        b"gpu_allocator" => bare(gpu::GpuBlocks::new(granule_bytes)),
        b"gpu_allocator_mutex" => locked(gpu::GpuBlocks::new(granule_bytes)),
        b"vma" => bare(vma::VmaBlocks::new(granule_bytes, vma::Strategy::Default)),
        b"vma_mutex" => locked(vma::VmaBlocks::new(granule_bytes, vma::Strategy::Default)),
        b"vma_min_memory" => bare(vma::VmaBlocks::new(granule_bytes, vma::Strategy::MinMemory)),
        b"vma_min_offset" => bare(vma::VmaBlocks::new(granule_bytes, vma::Strategy::MinOffset)),
        _ => return false,
    };
    true
}
