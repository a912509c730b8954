use std::mem::ManuallyDrop;
use std::ptr::NonNull;

use crate::ending::dropped;
use crate::error::check;
use crate::manager::Memory;
use crate::{sys, AccessStats, HostAccess, Rejected, Result};

/// A range of a block that the host addresses, until it is dropped. A copy is
/// written back then; [`HostMapping::unmap`] tells whether that succeeded.
#[derive(Debug)]
#[must_use = "dropping it ends the mapping"]
pub struct HostMapping<'a> {
    memory: &'a Memory,
    id: u64,
    pointer: NonNull<u8>,
    size_bytes: u64,
    staged: bool,
}

// SAFETY: the pointer is only handed out; whoever uses it answers for that.
unsafe impl Send for HostMapping<'_> {}
// SAFETY: as above.
unsafe impl Sync for HostMapping<'_> {}

impl Drop for HostMapping<'_> {
    fn drop(&mut self) {
        // SAFETY: plain values.
        let status = unsafe { sys::ferrum_memory_unmap(self.memory.raw(), self.id) };
        dropped("ferrum_memory_unmap", status);
    }
}

impl HostMapping<'_> {
    /// Where the range is, for as long as the mapping lives. Work that is queued on
    /// the block, and other mappings of it, may read and write it meanwhile.
    pub fn as_ptr(&self) -> *mut u8 {
        self.pointer.as_ptr()
    }

    /// Length of the range.
    pub fn size_bytes(&self) -> u64 {
        self.size_bytes
    }

    /// Whether it is a copy, not the block itself.
    pub fn is_staged(&self) -> bool {
        self.staged
    }

    /// The bytes.
    ///
    /// # Safety
    /// Nobody writes to the range while the slice lives, and it was not mapped
    /// for writing only.
    pub unsafe fn as_slice(&self) -> &[u8] {
        // SAFETY: the library keeps so many bytes there; the rest is the caller's.
        unsafe { std::slice::from_raw_parts(self.pointer.as_ptr(), self.size_bytes as usize) }
    }

    /// The bytes, to be written.
    ///
    /// # Safety
    /// Nobody else reads or writes the range while the slice lives, and it was not
    /// mapped for reading only.
    pub unsafe fn as_mut_slice(&mut self) -> &mut [u8] {
        // SAFETY: the library keeps so many bytes there; the rest is the caller's.
        unsafe { std::slice::from_raw_parts_mut(self.pointer.as_ptr(), self.size_bytes as usize) }
    }

    /// Ends the mapping now.
    ///
    /// # Errors
    ///
    /// Those of the device that a copy is written back to. The mapping has not ended then, and comes back.
    /// C function: [`ferrum_memory_unmap`](crate::sys::ferrum_memory_unmap).
    pub fn unmap(self) -> std::result::Result<(), Rejected<Self>> {
        let mapping = ManuallyDrop::new(self);
        // SAFETY: plain values.
        match check(unsafe { sys::ferrum_memory_unmap(mapping.memory.raw(), mapping.id) }) {
            Ok(()) => Ok(()),
            Err(error) => Err(Rejected::new(error, ManuallyDrop::into_inner(mapping))),
        }
    }
}

impl Memory {
    /// Makes the whole block addressable by the host, after what is queued on the
    /// streams that have used it.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Busy`](crate::ErrorKind::Busy) for a range that is to be written and overlaps another
    /// one that is mapped for writing; [`ErrorKind::InvalidOffset`](crate::ErrorKind::InvalidOffset) when
    /// it leaves the block, [`ErrorKind::Overflow`](crate::ErrorKind::Overflow) when offset + size does not
    /// fit 64 bits; [`ErrorKind::OutOfMemory`](crate::ErrorKind::OutOfMemory) when the host has no memory
    /// for a copy.
    ///
    /// C function: [`ferrum_memory_map`](crate::sys::ferrum_memory_map).
    pub fn map(&self, access: HostAccess) -> Result<HostMapping<'_>> {
        self.map_range(access, 0, None)
    }

    /// As `map`, for a range; without a size, all from the offset on.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Busy`](crate::ErrorKind::Busy) for a range that is to be written and overlaps another
    /// one that is mapped for writing; [`ErrorKind::InvalidOffset`](crate::ErrorKind::InvalidOffset) when
    /// it leaves the block, [`ErrorKind::Overflow`](crate::ErrorKind::Overflow) when offset + size does not
    /// fit 64 bits; [`ErrorKind::OutOfMemory`](crate::ErrorKind::OutOfMemory) when the host has no memory
    /// for a copy.
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
        // SAFETY: the request lives through the call, raw is an output of it.
        check(unsafe { sys::ferrum_memory_map(&request, &mut raw) })?;
        Ok(HostMapping {
            memory: self,
            id: raw.mapping_id,
            pointer: NonNull::new(raw.host_pointer.cast()).unwrap_or(NonNull::dangling()),
            size_bytes: raw.size_bytes,
            staged: raw.is_staged != 0,
        })
    }

    /// How the block was used; none when its manager does not track.
    ///
    /// # Errors
    ///
    /// The errors of every call, such as [`ErrorKind::InvalidHandle`](crate::ErrorKind::InvalidHandle).
    ///
    /// C function: [`ferrum_memory_get_access_stats`](crate::sys::ferrum_memory_get_access_stats).
    pub fn access_stats(&self) -> Result<Option<AccessStats>> {
        let mut raw = sys::ferrum_access_stats::default();
        // SAFETY: raw is an output of the call, with its size set.
        check(unsafe { sys::ferrum_memory_get_access_stats(self.raw(), &mut raw) })?;
        Ok((raw.is_tracked != 0).then(|| (&raw).into()))
    }
}
