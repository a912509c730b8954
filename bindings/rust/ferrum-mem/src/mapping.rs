use std::mem::ManuallyDrop;
use std::ptr::NonNull;

use crate::ending::dropped;
use crate::error::check;
use crate::manager::Memory;
use crate::{sys, AccessStats, HostAccess, Rejected, Result};

/// A range of a block that the host can address, until it is dropped. The drop writes a staging
/// copy back; only [`HostMapping::unmap`] returns the result of that.
#[derive(Debug)]
#[must_use = "dropping it ends the mapping"]
pub struct HostMapping<'a> {
    memory: &'a Memory,
    id: u64,
    pointer: NonNull<u8>,
    size_bytes: u64,
    staged: bool,
}

// SAFETY: this type only returns the pointer; the user of the pointer guarantees its use.
unsafe impl Send for HostMapping<'_> {}
// SAFETY: as above.
unsafe impl Sync for HostMapping<'_> {}

impl Drop for HostMapping<'_> {
    fn drop(&mut self) {
        // SAFETY: takes only numbers.
        let status = unsafe { sys::ferrum_memory_unmap(self.memory.raw(), self.id) };
        dropped("ferrum_memory_unmap", status);
    }
}

impl HostMapping<'_> {
    /// The address of the range, valid while the mapping exists. Work that is queued on the block,
    /// and other mappings of the block, may read and write it meanwhile.
    pub fn as_ptr(&self) -> *mut u8 {
        self.pointer.as_ptr()
    }

    /// Length of the range.
    pub fn size_bytes(&self) -> u64 {
        self.size_bytes
    }

    /// Whether it is a staging copy, not the block itself.
    pub fn is_staged(&self) -> bool {
        self.staged
    }

    /// The bytes.
    ///
    /// # Safety
    ///
    /// No code writes to the range while the slice exists, and it was not mapped for writing only.
    pub unsafe fn as_slice(&self) -> &[u8] {
        // SAFETY: the library guarantees the length, the caller the rest.
        unsafe { std::slice::from_raw_parts(self.pointer.as_ptr(), self.size_bytes as usize) }
    }

    /// The bytes, writable.
    ///
    /// # Safety
    ///
    /// No other code reads or writes the range while the slice exists, and it was not mapped for
    /// reading only.
    pub unsafe fn as_mut_slice(&mut self) -> &mut [u8] {
        // SAFETY: the library guarantees the length, the caller the rest.
        unsafe { std::slice::from_raw_parts_mut(self.pointer.as_ptr(), self.size_bytes as usize) }
    }

    /// Ends the mapping.
    ///
    /// # Errors
    ///
    /// Those of the device that a staging copy is written back to. The mapping has not ended then,
    /// and the error returns it.
    ///
    /// C function: [`ferrum_memory_unmap`](crate::sys::ferrum_memory_unmap).
    pub fn unmap(self) -> std::result::Result<(), Rejected<Self>> {
        let mapping = ManuallyDrop::new(self);
        // SAFETY: takes only numbers.
        match check(unsafe { sys::ferrum_memory_unmap(mapping.memory.raw(), mapping.id) }) {
            Ok(()) => Ok(()),
            Err(error) => Err(Rejected::new(error, ManuallyDrop::into_inner(mapping))),
        }
    }
}

impl Memory {
    /// Maps the whole block for the host, after the work that is queued on the streams that have
    /// used it.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Busy`](crate::ErrorKind::Busy) for a range that is mapped for writing and
    /// overlaps another mapping for writing;
    /// [`ErrorKind::InvalidOffset`](crate::ErrorKind::InvalidOffset) for a range outside the block,
    /// [`ErrorKind::Overflow`](crate::ErrorKind::Overflow) if offset + size does not fit 64 bits;
    /// [`ErrorKind::OutOfMemory`](crate::ErrorKind::OutOfMemory) if the host has no memory for a
    /// staging copy.
    ///
    /// C function: [`ferrum_memory_map`](crate::sys::ferrum_memory_map).
    pub fn map(&self, access: HostAccess) -> Result<HostMapping<'_>> {
        self.map_range(access, 0, None)
    }

    /// Like `map`, for a range; `None` means all from the offset on.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Busy`](crate::ErrorKind::Busy) for a range that is mapped for writing and
    /// overlaps another mapping for writing;
    /// [`ErrorKind::InvalidOffset`](crate::ErrorKind::InvalidOffset) for a range outside the block,
    /// [`ErrorKind::Overflow`](crate::ErrorKind::Overflow) if offset + size does not fit 64 bits;
    /// [`ErrorKind::OutOfMemory`](crate::ErrorKind::OutOfMemory) if the host has no memory for a
    /// staging copy.
    ///
    /// C function: [`ferrum_memory_map`](crate::sys::ferrum_memory_map).
    pub fn map_range(
        &self,
        access: HostAccess,
        offset_bytes: u64,
        size_bytes: Option<u64>,
    ) -> Result<HostMapping<'_>> {
        let request = sys::ferrum_map_request {
            access: access.to_raw(),
            memory: self.raw(),
            offset_bytes,
            size_bytes: size_bytes.unwrap_or(sys::FERRUM_MAP_TO_END),
            ..Default::default()
        };
        let mut raw = sys::ferrum_mapping::default();
        // SAFETY: the request is valid during the call, raw is an output of it.
        check(unsafe { sys::ferrum_memory_map(&request, &mut raw) })?;
        Ok(HostMapping {
            memory: self,
            id: raw.mapping_id,
            pointer: NonNull::new(raw.host_pointer.cast()).unwrap_or(NonNull::dangling()),
            size_bytes: raw.size_bytes,
            staged: raw.is_staged != 0,
        })
    }

    /// How the block was used; `None` if its manager does not track.
    ///
    /// # Errors
    ///
    /// The errors of every call, such as
    /// [`ErrorKind::InvalidHandle`](crate::ErrorKind::InvalidHandle).
    ///
    /// C function: [`ferrum_memory_get_access_stats`](crate::sys::ferrum_memory_get_access_stats).
    pub fn access_stats(&self) -> Result<Option<AccessStats>> {
        let mut raw = sys::ferrum_access_stats::default();
        // SAFETY: raw is an output of the call, with its size set.
        check(unsafe { sys::ferrum_memory_get_access_stats(self.raw(), &mut raw) })?;
        Ok((raw.is_tracked != 0).then(|| (&raw).into()))
    }
}
