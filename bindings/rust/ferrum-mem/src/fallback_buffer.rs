use crate::ending::dropped;
use crate::error::check;
use crate::fallback_manager::FallbackManager;
use crate::rejected::{ended, Rejected};
use crate::stream::{raw_of, Stream};
use crate::tracker::BufferId;
use crate::{sys, BufferLocation, Result};

/// A buffer of a [`FallbackManager`], on its device or on its host.
#[derive(Debug)]
#[must_use = "dropping it frees the buffer"]
pub struct FallbackBuffer {
    raw: sys::ferrum_fallback_buffer,
    manager: FallbackManager,
}

impl Drop for FallbackBuffer {
    fn drop(&mut self) {
        if self.raw.id == 0 {
            return;
        }
        // SAFETY: we own the handle. No PinnedBuffer exists that would unpin it later.
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

/// Pins a buffer: it does not move while this value exists.
#[derive(Debug)]
#[must_use = "dropping it ends the pin: the buffer may move"]
pub struct PinnedBuffer<'a> {
    buffer: &'a FallbackBuffer,
    /// Its address on the device, or in the process's memory.
    pub address: u64,
    /// The side of the buffer.
    pub location: BufferLocation,
}

impl Drop for PinnedBuffer<'_> {
    fn drop(&mut self) {
        // SAFETY: ends the one pin of this value.
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

    /// The manager of the buffer.
    pub fn manager(&self) -> &FallbackManager {
        &self.manager
    }

    fn info(&self) -> Result<sys::ferrum_fallback_buffer_info> {
        let mut raw = Default::default();
        // SAFETY: raw is an output of the call, with its size set.
        check(unsafe { sys::ferrum_fallback_buffer_get_info(self.raw, &mut raw) })?;
        Ok(raw)
    }

    /// Its id. A move does not change it.
    ///
    /// # Errors
    ///
    /// The errors of every call, such as
    /// [`ErrorKind::InvalidHandle`](crate::ErrorKind::InvalidHandle).
    ///
    /// C function: [`ferrum_fallback_buffer_get_info`](crate::sys::ferrum_fallback_buffer_get_info).
    pub fn id(&self) -> Result<BufferId> {
        Ok(BufferId(self.info()?.buffer_id))
    }

    /// The number of elements.
    ///
    /// # Errors
    ///
    /// The errors of every call, such as
    /// [`ErrorKind::InvalidHandle`](crate::ErrorKind::InvalidHandle).
    ///
    /// C function: [`ferrum_fallback_buffer_get_info`](crate::sys::ferrum_fallback_buffer_get_info).
    pub fn num_elements(&self) -> Result<u64> {
        Ok(self.info()?.num_elements)
    }

    /// The size of all elements in bytes.
    ///
    /// # Errors
    ///
    /// The errors of every call, such as
    /// [`ErrorKind::InvalidHandle`](crate::ErrorKind::InvalidHandle).
    ///
    /// C function: [`ferrum_fallback_buffer_get_info`](crate::sys::ferrum_fallback_buffer_get_info).
    pub fn size_bytes(&self) -> Result<u64> {
        Ok(self.info()?.size_bytes)
    }

    /// The side where the buffer is now.
    ///
    /// # Errors
    ///
    /// The errors of every call, such as
    /// [`ErrorKind::InvalidHandle`](crate::ErrorKind::InvalidHandle).
    ///
    /// C function: [`ferrum_fallback_buffer_get_info`](crate::sys::ferrum_fallback_buffer_get_info).
    pub fn location(&self) -> Result<BufferLocation> {
        Ok(BufferLocation::from_raw(self.info()?.location))
    }

    /// Whether it is on the device.
    ///
    /// # Errors
    ///
    /// The errors of every call, such as [`ErrorKind::InvalidHandle`](crate::ErrorKind::InvalidHandle).
    ///
    /// C function: [`ferrum_fallback_buffer_get_info`](crate::sys::ferrum_fallback_buffer_get_info).
    pub fn is_gpu(&self) -> Result<bool> {
        Ok(self.location()? == BufferLocation::Gpu)
    }

    /// Whether it is on the host.
    ///
    /// # Errors
    ///
    /// The errors of every call, such as [`ErrorKind::InvalidHandle`](crate::ErrorKind::InvalidHandle).
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

    /// Its address on the device, valid until it moves; `None` if it is on the host.
    ///
    /// # Errors
    ///
    /// The errors of every call, such as
    /// [`ErrorKind::InvalidHandle`](crate::ErrorKind::InvalidHandle).
    ///
    /// C function: [`ferrum_fallback_buffer_get_address`](crate::sys::ferrum_fallback_buffer_get_address).
    pub fn as_gpu(&self) -> Result<Option<u64>> {
        self.address(BufferLocation::Gpu)
    }

    /// Its address in the process's memory, valid until it moves; `None` if it is on the device.
    ///
    /// # Errors
    ///
    /// The errors of every call, such as
    /// [`ErrorKind::InvalidHandle`](crate::ErrorKind::InvalidHandle).
    ///
    /// C function: [`ferrum_fallback_buffer_get_address`](crate::sys::ferrum_fallback_buffer_get_address).
    pub fn as_cpu(&self) -> Result<Option<u64>> {
        self.address(BufferLocation::Cpu)
    }

    fn move_to(&self, location: BufferLocation) -> Result<()> {
        // SAFETY: takes only numbers.
        check(unsafe { sys::ferrum_fallback_buffer_move(self.raw, location.to_raw()) })
    }

    /// Moves the buffer to the host, where it stays. A failed move changes nothing.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Busy`](crate::ErrorKind::Busy) while it is pinned;
    /// [`ErrorKind::OutOfMemory`](crate::ErrorKind::OutOfMemory);
    /// [`ErrorKind::InvalidState`](crate::ErrorKind::InvalidState) with a manager without fallback,
    /// and in a host function.
    ///
    /// C function: [`ferrum_fallback_buffer_move`](crate::sys::ferrum_fallback_buffer_move).
    pub fn to_cpu(&self) -> Result<()> {
        self.move_to(BufferLocation::Cpu)
    }

    /// Moves the buffer to the device. A failed move changes nothing.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Busy`](crate::ErrorKind::Busy) while it is pinned;
    /// [`ErrorKind::OutOfMemory`](crate::ErrorKind::OutOfMemory);
    /// [`ErrorKind::InvalidState`](crate::ErrorKind::InvalidState) in a host function.
    ///
    /// C function: [`ferrum_fallback_buffer_move`](crate::sys::ferrum_fallback_buffer_move).
    pub fn to_gpu(&self) -> Result<()> {
        self.move_to(BufferLocation::Gpu)
    }

    /// Pins the buffer while the returned value exists.
    ///
    /// # Errors
    ///
    /// The errors of every call, such as
    /// [`ErrorKind::InvalidHandle`](crate::ErrorKind::InvalidHandle).
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

    /// Copies bytes into the buffer, on either side.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidSize`](crate::ErrorKind::InvalidSize) for 0 bytes;
    /// [`ErrorKind::InvalidOffset`](crate::ErrorKind::InvalidOffset) for a range outside the
    /// buffer; [`ErrorKind::InvalidState`](crate::ErrorKind::InvalidState) in a host function.
    ///
    /// C function: [`ferrum_fallback_buffer_write`](crate::sys::ferrum_fallback_buffer_write).
    pub fn write(&self, offset_bytes: u64, data: &[u8]) -> Result<()> {
        // SAFETY: data has as many bytes as the call states.
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
    /// The errors of every call, such as [`ErrorKind::InvalidHandle`](crate::ErrorKind::InvalidHandle).
    ///
    /// C function: [`ferrum_fallback_buffer_read`](crate::sys::ferrum_fallback_buffer_read).
    pub fn read(&self, offset_bytes: u64, to: &mut [u8]) -> Result<()> {
        // SAFETY: to can hold as many bytes as the call states.
        check(unsafe {
            sys::ferrum_fallback_buffer_read(
                self.raw,
                offset_bytes,
                to.as_mut_ptr().cast(),
                to.len() as u64,
            )
        })
    }

    /// Frees the buffer after the work that is queued on a stream of its device. `None` is the
    /// default stream.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Busy`](crate::ErrorKind::Busy) while it is pinned. The error returns the
    /// buffer.
    ///
    /// C function: [`ferrum_fallback_buffer_free`](crate::sys::ferrum_fallback_buffer_free).
    pub fn free(mut self, stream: Option<&Stream>) -> std::result::Result<(), Rejected<Self>> {
        // SAFETY: we own the handle.
        let freed = check(unsafe { sys::ferrum_fallback_buffer_free(self.raw, raw_of(stream)) });
        if freed.is_ok() {
            self.raw = Default::default();
        }
        ended(freed, self)
    }

    /// Returns the handle and does not free the buffer. The owner of the handle frees it with
    /// [`ferrum_fallback_buffer_free`](crate::sys::ferrum_fallback_buffer_free), or creates an
    /// object from it with [`FallbackBuffer::from_raw`].
    pub fn into_raw(mut self) -> sys::ferrum_fallback_buffer {
        std::mem::take(&mut self.raw)
    }

    /// Creates a buffer object from a handle. The object owns the handle from then on.
    ///
    /// # Safety
    ///
    /// The handle is of a live buffer of the manager, and no other code frees it.
    pub unsafe fn from_raw(manager: &FallbackManager, raw: sys::ferrum_fallback_buffer) -> Self {
        Self::own(manager, raw)
    }

    /// Ends the buffer and returns the address of its storage on that side.
    /// [`FallbackManager::release`] frees the storage.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidState`](crate::ErrorKind::InvalidState) if it is on the other side, and
    /// [`ErrorKind::Busy`](crate::ErrorKind::Busy) while it is pinned. The error returns the
    /// buffer.
    ///
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
