use crate::ending::dropped;
use crate::error::check;
use crate::fallback_manager::FallbackManager;
use crate::rejected::{ended, Rejected};
use crate::stream::{raw_of, Stream};
use crate::tracker::BufferId;
use crate::{sys, BufferLocation, Result};

/// A buffer of a [`FallbackManager`], on its device or on its host.
#[derive(Debug)]
#[must_use = "dropping it ends the buffer"]
pub struct FallbackBuffer {
    raw: sys::ferrum_fallback_buffer,
    manager: FallbackManager,
}

impl Drop for FallbackBuffer {
    fn drop(&mut self) {
        if self.raw.id == 0 {
            return;
        }
        // SAFETY: the handle is ours. Nobody is left who could unpin it.
        let status = unsafe {
            let free = || sys::ferrum_fallback_buffer_free(self.raw, Default::default());
            let mut status = free();
            while status == sys::FERRUM_ERROR_BUSY
                && sys::ferrum_fallback_buffer_unpin(self.raw) == sys::FERRUM_OK
            {
                status = free();
            }
            status
        };
        dropped("ferrum_fallback_buffer_free", status);
    }
}

/// Keeps a buffer where it is while it lives.
#[derive(Debug)]
#[must_use = "dropping it ends the pin: the buffer may move"]
pub struct PinnedBuffer<'a> {
    buffer: &'a FallbackBuffer,
    /// Where that is: an address of the device, or one of the process's memory.
    pub address: u64,
    /// On which side.
    pub location: BufferLocation,
}

impl Drop for PinnedBuffer<'_> {
    fn drop(&mut self) {
        // SAFETY: undoes the one pin of this value.
        let status = unsafe { sys::ferrum_fallback_buffer_unpin(self.buffer.raw) };
        dropped("ferrum_fallback_buffer_unpin", status);
    }
}

impl FallbackBuffer {
    pub(crate) fn own(manager: &FallbackManager, raw: sys::ferrum_fallback_buffer) -> Self {
        Self {
            raw,
            manager: manager.clone(),
        }
    }

    /// The manager that it is of.
    pub fn manager(&self) -> &FallbackManager {
        &self.manager
    }

    fn info(&self) -> Result<sys::ferrum_fallback_buffer_info> {
        let mut raw = Default::default();
        // SAFETY: raw is an output of the call, with its size set.
        check(unsafe { sys::ferrum_fallback_buffer_get_info(self.raw, &mut raw) })?;
        Ok(raw)
    }

    /// Stays the same when the buffer moves.
    ///
    /// # Errors
    ///
    /// Those of every call, such as [`ErrorKind::InvalidHandle`](crate::ErrorKind::InvalidHandle).
    ///
    /// C function: [`ferrum_fallback_buffer_get_info`](crate::sys::ferrum_fallback_buffer_get_info).
    pub fn id(&self) -> Result<BufferId> {
        Ok(BufferId(self.info()?.buffer_id))
    }

    /// How many elements there are.
    ///
    /// # Errors
    ///
    /// Those of every call, such as [`ErrorKind::InvalidHandle`](crate::ErrorKind::InvalidHandle).
    ///
    /// C function: [`ferrum_fallback_buffer_get_info`](crate::sys::ferrum_fallback_buffer_get_info).
    pub fn num_elements(&self) -> Result<u64> {
        Ok(self.info()?.num_elements)
    }

    /// What they take.
    ///
    /// # Errors
    ///
    /// Those of every call, such as [`ErrorKind::InvalidHandle`](crate::ErrorKind::InvalidHandle).
    ///
    /// C function: [`ferrum_fallback_buffer_get_info`](crate::sys::ferrum_fallback_buffer_get_info).
    pub fn size_bytes(&self) -> Result<u64> {
        Ok(self.info()?.size_bytes)
    }

    /// Where the buffer is now.
    ///
    /// # Errors
    ///
    /// Those of every call, such as [`ErrorKind::InvalidHandle`](crate::ErrorKind::InvalidHandle).
    ///
    /// C function: [`ferrum_fallback_buffer_get_info`](crate::sys::ferrum_fallback_buffer_get_info).
    pub fn location(&self) -> Result<BufferLocation> {
        Ok(BufferLocation::from_raw(self.info()?.location))
    }

    /// Whether it is on the device.
    ///
    /// # Errors
    ///
    /// Those of every call, such as [`ErrorKind::InvalidHandle`](crate::ErrorKind::InvalidHandle).
    ///
    /// C function: [`ferrum_fallback_buffer_get_info`](crate::sys::ferrum_fallback_buffer_get_info).
    pub fn is_gpu(&self) -> Result<bool> {
        Ok(self.location()? == BufferLocation::Gpu)
    }

    /// Whether it is on the host.
    ///
    /// # Errors
    ///
    /// Those of every call, such as [`ErrorKind::InvalidHandle`](crate::ErrorKind::InvalidHandle).
    ///
    /// C function: [`ferrum_fallback_buffer_get_info`](crate::sys::ferrum_fallback_buffer_get_info).
    pub fn is_cpu_fallback(&self) -> Result<bool> {
        Ok(self.location()? == BufferLocation::Cpu)
    }

    fn address(&self, location: BufferLocation) -> Result<Option<u64>> {
        let mut address = 0;
        // SAFETY: address is an output of the call.
        let status = unsafe {
            sys::ferrum_fallback_buffer_get_address(self.raw, location.to_raw(), &mut address)
        };
        if status == sys::FERRUM_ERROR_INVALID_STATE {
            return Ok(None);
        }
        check(status)?;
        Ok(Some(address))
    }

    /// Its address on the device, good until it moves; none when it is on the host.
    ///
    /// # Errors
    ///
    /// Those of every call, such as [`ErrorKind::InvalidHandle`](crate::ErrorKind::InvalidHandle).
    ///
    /// C function: [`ferrum_fallback_buffer_get_address`](crate::sys::ferrum_fallback_buffer_get_address).
    pub fn as_gpu(&self) -> Result<Option<u64>> {
        self.address(BufferLocation::Gpu)
    }

    /// Its address in the process's memory, good until it moves; none when it is on the
    /// device.
    ///
    /// # Errors
    ///
    /// Those of every call, such as [`ErrorKind::InvalidHandle`](crate::ErrorKind::InvalidHandle).
    ///
    /// C function: [`ferrum_fallback_buffer_get_address`](crate::sys::ferrum_fallback_buffer_get_address).
    pub fn as_cpu(&self) -> Result<Option<u64>> {
        self.address(BufferLocation::Cpu)
    }

    fn move_to(&self, location: BufferLocation) -> Result<()> {
        // SAFETY: a plain handle.
        check(unsafe { sys::ferrum_fallback_buffer_move(self.raw, location.to_raw()) })
    }

    /// Moves the buffer to the host, where it stays. A failed call leaves it whole.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Busy`](crate::ErrorKind::Busy) while it is pinned;
    /// [`ErrorKind::OutOfMemory`](crate::ErrorKind::OutOfMemory);
    /// [`ErrorKind::InvalidState`](crate::ErrorKind::InvalidState) for the CPU with a manager that does not
    /// fall back, and from a host function.
    ///
    /// C function: [`ferrum_fallback_buffer_move`](crate::sys::ferrum_fallback_buffer_move).
    pub fn to_cpu(&self) -> Result<()> {
        self.move_to(BufferLocation::Cpu)
    }

    /// Moves the buffer to the device. A failed call leaves it whole.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Busy`](crate::ErrorKind::Busy) while it is pinned;
    /// [`ErrorKind::OutOfMemory`](crate::ErrorKind::OutOfMemory);
    /// [`ErrorKind::InvalidState`](crate::ErrorKind::InvalidState) for the CPU with a manager that does not
    /// fall back, and from a host function.
    ///
    /// C function: [`ferrum_fallback_buffer_move`](crate::sys::ferrum_fallback_buffer_move).
    pub fn to_gpu(&self) -> Result<()> {
        self.move_to(BufferLocation::Gpu)
    }

    /// Keeps the buffer where it is while the value lives.
    ///
    /// # Errors
    ///
    /// Those of every call, such as [`ErrorKind::InvalidHandle`](crate::ErrorKind::InvalidHandle).
    ///
    /// C function: [`ferrum_fallback_buffer_pin`](crate::sys::ferrum_fallback_buffer_pin).
    pub fn pin(&self) -> Result<PinnedBuffer<'_>> {
        let (mut address, mut location) = (0, 0);
        // SAFETY: both are outputs of the call.
        check(unsafe { sys::ferrum_fallback_buffer_pin(self.raw, &mut address, &mut location) })?;
        Ok(PinnedBuffer {
            buffer: self,
            address,
            location: BufferLocation::from_raw(location),
        })
    }

    /// Copies bytes into the buffer, wherever it is.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidSize`](crate::ErrorKind::InvalidSize) for no bytes;
    /// [`ErrorKind::InvalidOffset`](crate::ErrorKind::InvalidOffset) for a part that leaves the buffer;
    /// [`ErrorKind::InvalidState`](crate::ErrorKind::InvalidState) from a host function.
    ///
    /// C function: [`ferrum_fallback_buffer_write`](crate::sys::ferrum_fallback_buffer_write).
    pub fn write(&self, offset_bytes: u64, data: &[u8]) -> Result<()> {
        // SAFETY: data has as many bytes as is told.
        check(unsafe {
            sys::ferrum_fallback_buffer_write(
                self.raw,
                offset_bytes,
                data.as_ptr().cast(),
                data.len() as u64,
            )
        })
    }

    /// Copies bytes out of the buffer.
    ///
    /// # Errors
    ///
    /// Those of every call, such as [`ErrorKind::InvalidHandle`](crate::ErrorKind::InvalidHandle).
    ///
    /// C function: [`ferrum_fallback_buffer_read`](crate::sys::ferrum_fallback_buffer_read).
    pub fn read(&self, offset_bytes: u64, to: &mut [u8]) -> Result<()> {
        // SAFETY: to has room for as many bytes as is told.
        check(unsafe {
            sys::ferrum_fallback_buffer_read(
                self.raw,
                offset_bytes,
                to.as_mut_ptr().cast(),
                to.len() as u64,
            )
        })
    }

    /// Ends the buffer, after what is queued on a stream of its device: none stands for the default one.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Busy`](crate::ErrorKind::Busy) while it is pinned: the buffer comes back.
    /// C function: [`ferrum_fallback_buffer_free`](crate::sys::ferrum_fallback_buffer_free).
    pub fn free(mut self, stream: Option<&Stream>) -> std::result::Result<(), Rejected<Self>> {
        // SAFETY: the handle is ours.
        let freed = check(unsafe { sys::ferrum_fallback_buffer_free(self.raw, raw_of(stream)) });
        if freed.is_ok() {
            self.raw = Default::default();
        }
        ended(freed, self)
    }

    /// Gives up the buffer without ending it: whoever has the handle does that with
    /// [`ferrum_fallback_buffer_free`](crate::sys::ferrum_fallback_buffer_free), or as the object that
    /// [`FallbackBuffer::from_raw`] makes of it.
    pub fn into_raw(mut self) -> sys::ferrum_fallback_buffer {
        std::mem::take(&mut self.raw)
    }

    /// Makes a buffer of a handle, which it owns from then on.
    ///
    /// # Safety
    ///
    /// The handle is that of a live buffer of the manager, and nobody else frees it.
    pub unsafe fn from_raw(manager: &FallbackManager, raw: sys::ferrum_fallback_buffer) -> Self {
        Self::own(manager, raw)
    }

    /// Ends the buffer on that side and gives the address of its storage, which
    /// [`FallbackManager::release`] ends.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidState`](crate::ErrorKind::InvalidState) when it is on the other side, and
    /// [`ErrorKind::Busy`](crate::ErrorKind::Busy) while it is pinned: the buffer comes back.
    /// C function: [`ferrum_fallback_buffer_take`](crate::sys::ferrum_fallback_buffer_take).
    pub fn take(mut self, location: BufferLocation) -> std::result::Result<u64, Rejected<Self>> {
        let mut address = 0;
        // SAFETY: address is an output of the call.
        let taken = check(unsafe {
            sys::ferrum_fallback_buffer_take(self.raw, location.to_raw(), &mut address)
        });
        if let Err(error) = taken {
            return Err(Rejected::new(error, self));
        }
        self.raw = Default::default();
        Ok(address)
    }
}
