use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use crate::device::Device;
use crate::error::check;
use crate::library::c_text;
use crate::manager::{Manager, Memory};
use crate::stream::{Event, Stream};
use crate::virtual_pool::VirtualPool;
use crate::{sys, Result, SharedMemory};

impl Device {
    /// Describes a range of plain device memory for other processes. The memory stays allocated
    /// while they have it open.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidAddress`](crate::ErrorKind::InvalidAddress) for a range that is not in
    /// one segment; [`ErrorKind::Unsupported`](crate::ErrorKind::Unsupported) for a device without
    /// [`DeviceInfo::shared_memory`](crate::DeviceInfo::shared_memory).
    ///
    /// C function: [`ferrum_device_share_memory`](crate::sys::ferrum_device_share_memory).
    pub fn share_memory(&self, address: u64, size_bytes: u64) -> Result<SharedMemory> {
        let mut raw = Default::default();
        // SAFETY: raw is an output of the call, with its size set.
        check(unsafe {
            sys::ferrum_device_share_memory(self.raw(), address, size_bytes, &mut raw)
        })?;
        Ok((&raw).into())
    }

    /// Opens an event of another process by its 64 bytes.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidArgument`](crate::ErrorKind::InvalidArgument) for a destroyed event and
    /// for bytes without an event; [`ErrorKind::InvalidState`](crate::ErrorKind::InvalidState) for
    /// an event of this process.
    ///
    /// C function: [`ferrum_event_open`](crate::sys::ferrum_event_open).
    pub fn open_event(&self, handle: &[u8; 64]) -> Result<Event> {
        let shared = sys::ferrum_shared_event {
            handle: *handle,
            ..Default::default()
        };
        let mut raw = Default::default();
        // SAFETY: shared is valid during the call, raw is an output of it.
        check(unsafe { sys::ferrum_event_open(self.raw(), &shared, &mut raw) })?;
        Ok(Event::own(raw, self))
    }

    /// An external event, by its handle in the vendor's runtime, such as a `CUevent`. It completes
    /// with the point that its owner recorded last. Dropping it does not destroy the external
    /// event.
    ///
    /// # Safety
    ///
    /// The handle is of an event, and valid while the result exists.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Unsupported`](crate::ErrorKind::Unsupported) for a device without such events,
    /// such as a host device; [`ErrorKind::InvalidArgument`](crate::ErrorKind::InvalidArgument) for
    /// 0.
    ///
    /// C function: [`ferrum_event_adopt`](crate::sys::ferrum_event_adopt).
    pub unsafe fn adopt_event(&self, native_handle: u64) -> Result<Event> {
        let mut raw = Default::default();
        // SAFETY: raw is an output of the call; the caller guarantees the rest.
        check(unsafe { sys::ferrum_event_adopt(self.raw(), native_handle, &mut raw) })?;
        Ok(Event::own(raw, self))
    }
}

impl Stream {
    /// Records an event that other processes can open by the returned bytes. Keep the event until
    /// they have opened it.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Unsupported`](crate::ErrorKind::Unsupported) for a device without
    /// [`DeviceInfo::shared_memory`](crate::DeviceInfo::shared_memory).
    ///
    /// C function: [`ferrum_event_share`](crate::sys::ferrum_event_share).
    pub fn share_event(&self) -> Result<(Event, [u8; 64])> {
        let (mut shared, mut raw) = (sys::ferrum_shared_event::default(), Default::default());
        // SAFETY: both are outputs of the call, the first with its size set.
        check(unsafe { sys::ferrum_event_share(self.raw(), &mut shared, &mut raw) })?;
        Ok((Event::own(raw, self.device()), shared.handle))
    }
}

impl VirtualPool {
    /// A file descriptor for each page of a range, in order, for [`Manager::import_pages`] in
    /// another process. When the range is freed, the pool reuses the pages. So every importer must
    /// drop its block before.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidArgument`](crate::ErrorKind::InvalidArgument) for a pool with another
    /// backing; [`ErrorKind::InvalidOffset`](crate::ErrorKind::InvalidOffset),
    /// [`ErrorKind::InvalidSize`](crate::ErrorKind::InvalidSize),
    /// [`ErrorKind::NotMapped`](crate::ErrorKind::NotMapped).
    ///
    /// C function: [`ferrum_vpool_export`](crate::sys::ferrum_vpool_export).
    pub fn export(&self, offset_bytes: u64, size_bytes: u64) -> Result<Vec<OwnedFd>> {
        let info = self.info()?;
        let room = size_bytes.min(info.virtual_capacity_bytes) / info.page_bytes;
        let mut files = vec![-1_i32; usize::try_from(room.max(1)).unwrap_or(1)];
        let mut count = 0;
        // SAFETY: the array has the length that is passed.
        check(unsafe {
            sys::ferrum_vpool_export(
                self.raw(),
                offset_bytes,
                size_bytes,
                files.as_mut_ptr(),
                files.len(),
                &mut count,
            )
        })?;
        files.truncate(count);
        // SAFETY: the call has opened them, and the caller owns them.
        Ok(files
            .into_iter()
            .map(|file| unsafe { OwnedFd::from_raw_fd(file) })
            .collect())
    }
}

impl VirtualPool {
    /// Fabric handles of the pages of a range, in order, for [`Manager::import_fabric_pages`] in a
    /// process of this host or of another host: 64 bytes for each page. They do not keep the memory
    /// allocated. When the range is freed, the pool reuses the pages. So every importer must drop
    /// its block before.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidArgument`](crate::ErrorKind::InvalidArgument) for a pool with another
    /// backing, and those of [`VirtualPool::export`] for the range. C function:
    /// `ferrum_vpool_export_fabric`.
    pub fn export_fabric(&self, offset_bytes: u64, size_bytes: u64) -> Result<Vec<u8>> {
        let info = self.info()?;
        let pages = size_bytes.min(info.virtual_capacity_bytes) / info.page_bytes;
        let room = pages.max(1) * u64::from(sys::FERRUM_FABRIC_HANDLE_BYTES);
        let mut handles = vec![0_u8; usize::try_from(room).unwrap_or(usize::MAX)];
        let mut count = 0;
        // SAFETY: the array has the length that is passed.
        check(unsafe {
            sys::ferrum_vpool_export_fabric(
                self.raw(),
                offset_bytes,
                size_bytes,
                handles.as_mut_ptr(),
                handles.len(),
                &mut count,
            )
        })?;
        handles.truncate(count);
        Ok(handles)
    }
}

impl Manager {
    /// Creates a block of pages that a process exported, in order.
    ///
    /// # Safety
    ///
    /// While this process reads the pages, no process changes them except by copies.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidArgument`](crate::ErrorKind::InvalidArgument) for no pages, for
    /// descriptors together with handles, for a descriptor that is closed, of another kind, or of
    /// another device's memory, and for a handle without memory;
    /// [`ErrorKind::InvalidPageSize`](crate::ErrorKind::InvalidPageSize);
    /// [`ErrorKind::Unsupported`](crate::ErrorKind::Unsupported) for a device without
    /// [`DeviceInfo::exported_pages`](crate::DeviceInfo::exported_pages), or
    /// [`DeviceInfo::fabric_pages`](crate::DeviceInfo::fabric_pages) for handles.
    ///
    /// C function: [`ferrum_manager_import_pages`](crate::sys::ferrum_manager_import_pages).
    pub unsafe fn import_pages(
        &self,
        pages: &[BorrowedFd<'_>],
        page_bytes: u64,
        tag: Option<&str>,
    ) -> Result<Memory> {
        let tag = tag
            .map(|t| c_text("ferrum_manager_import_pages", "tag", t))
            .transpose()?;
        let files: Vec<i32> = pages.iter().map(AsRawFd::as_raw_fd).collect();
        let request = sys::ferrum_page_import {
            descriptors: files.as_ptr(),
            count: files.len() as u64,
            page_bytes,
            tag: tag.as_ref().map_or(std::ptr::null(), |t| t.as_ptr()),
            ..Default::default()
        };
        let mut raw = Default::default();
        // SAFETY: the request and its list are valid during the call, raw is an output of it.
        check(unsafe { sys::ferrum_manager_import_pages(self.raw(), &request, &mut raw) })?;
        Ok(Memory::own(raw, self))
    }

    /// Creates a block of pages of this host or of another host, in order, by the handles of
    /// [`VirtualPool::export_fabric`].
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidArgument`](crate::ErrorKind::InvalidArgument) for no handles, a part of
    /// a handle, or a handle without memory;
    /// [`ErrorKind::InvalidPageSize`](crate::ErrorKind::InvalidPageSize);
    /// [`ErrorKind::Unsupported`](crate::ErrorKind::Unsupported) for a device without fabric pages.
    /// C function: `ferrum_manager_import_pages`.
    ///
    /// # Safety
    ///
    /// As for [`Manager::import_pages`].
    pub unsafe fn import_fabric_pages(
        &self,
        handles: &[u8],
        page_bytes: u64,
        tag: Option<&str>,
    ) -> Result<Memory> {
        let tag = tag
            .map(|t| c_text("ferrum_manager_import_pages", "tag", t))
            .transpose()?;
        let request = sys::ferrum_page_import {
            page_bytes,
            tag: tag.as_ref().map_or(std::ptr::null(), |t| t.as_ptr()),
            fabric_handles: handles.as_ptr(),
            fabric_handle_bytes: handles.len() as u64,
            ..Default::default()
        };
        let mut raw = Default::default();
        // SAFETY: the request and its list are valid during the call, raw is an output of it.
        check(unsafe { sys::ferrum_manager_import_pages(self.raw(), &request, &mut raw) })?;
        Ok(Memory::own(raw, self))
    }

    /// Creates a block of memory that another process shared.
    ///
    /// # Safety
    ///
    /// As for [`Manager::import_pages`], and the other process keeps the memory allocated.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidArgument`](crate::ErrorKind::InvalidArgument) for memory that was freed
    /// and for bytes without memory; [`ErrorKind::InvalidState`](crate::ErrorKind::InvalidState)
    /// for memory of this process; [`ErrorKind::InvalidSize`](crate::ErrorKind::InvalidSize) for a
    /// range that ends outside the memory;
    /// [`ErrorKind::AlreadyExists`](crate::ErrorKind::AlreadyExists) for a range that is open.
    ///
    /// C function: [`ferrum_manager_import_memory`](crate::sys::ferrum_manager_import_memory).
    pub unsafe fn import_memory(&self, shared: &SharedMemory, tag: Option<&str>) -> Result<Memory> {
        let tag = tag
            .map(|t| c_text("ferrum_manager_import_memory", "tag", t))
            .transpose()?;
        let given = shared.raw();
        let text = tag.as_ref().map_or(std::ptr::null(), |t| t.as_ptr());
        let mut raw = Default::default();
        // SAFETY: the arguments are valid during the call, raw is an output of it.
        check(unsafe { sys::ferrum_manager_import_memory(self.raw(), &given, text, &mut raw) })?;
        Ok(Memory::own(raw, self))
    }
}
