use std::ffi::{CStr, CString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::elastic_pool::Model;
use crate::error::check;
use crate::mapped_range::{MappedRange, Space};
use crate::raw::{optional_text, pointer};
use crate::stream::{raw_of, timeout_ns, Stream};
use crate::virtual_pool::VirtualPool;
use crate::{sys, Error, Result, VirtualPoolRequest, WakeReport};

/// Where the bytes of what sleeps are kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SleepBacking<'a> {
    /// In memory of this process.
    #[default]
    Host,
    /// In a file of that directory, with checksums; none: the system's directory for
    /// temporary files.
    File(Option<&'a Path>),
    /// Nowhere: what wakes is zeros.
    Discard,
}

/// What is to sleep, and how.
#[derive(Clone, Copy, Debug, Default)]
pub struct SleepRequest<'a> {
    /// Ranges of this tag; none: everything. Those that were given none have the
    /// pool's name, or the model's id.
    pub tag: Option<&'a str>,
    /// Where their bytes are kept.
    pub backing: SleepBacking<'a>,
    /// Only its queued work is waited for; none: all of the device.
    pub stream: Option<&'a Stream>,
    /// How long the call may take; none: without an end; zero: as long as nothing has
    /// to be waited for.
    pub timeout: Option<Duration>,
    /// Copies at once, at most 64; 0: the library chooses.
    pub num_streams: u32,
}

/// What has gone to sleep.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SleepReport {
    /// Memory that was given up.
    pub released_bytes: u64,
    /// How long it took.
    pub elapsed: Duration,
    /// The file, if there is one.
    pub path: Option<PathBuf>,
}

/// What is to wake.
#[derive(Clone, Copy, Debug, Default)]
pub struct WakeRequest<'a> {
    /// What sleeps of this tag; none: everything.
    pub tag: Option<&'a str>,
    /// How long the call may take; none: without an end; zero: as long as nothing has
    /// to be waited for.
    pub timeout: Option<Duration>,
    /// Copies at once, at most 64; 0: the library chooses.
    pub num_streams: u32,
}

/// Puts to sleep through the C function of that name, and unmaps what was dropped
/// meanwhile.
fn sleep(
    function: &'static str,
    space: &Space,
    request: &SleepRequest<'_>,
    call: impl FnOnce(&sys::ferrum_sleep_config, &mut sys::ferrum_sleep_report) -> i32,
) -> Result<SleepReport> {
    let tag = optional_text(function, "tag", request.tag)?;
    let (backing, directory) = match request.backing {
        SleepBacking::Host => (sys::FERRUM_SLEEP_HOST, None),
        SleepBacking::File(directory) => (sys::FERRUM_SLEEP_FILE, directory),
        SleepBacking::Discard => (sys::FERRUM_SLEEP_DISCARD, None),
    };
    let directory = directory
        .map(|path| {
            CString::new(path.as_os_str().as_bytes()).map_err(|_| {
                Error::argument(function, format!("directory has a NUL inside: {path:?}"))
            })
        })
        .transpose()?;
    let raw = sys::ferrum_sleep_config {
        backing,
        tag: pointer(&tag),
        directory: pointer(&directory),
        stream: raw_of(request.stream),
        timeout_ns: timeout_ns(request.timeout),
        num_streams: request.num_streams,
        ..Default::default()
    };
    let mut report = sys::ferrum_sleep_report::default();
    let outcome = check(call(&raw, &mut report));
    space.unmap_late();
    outcome?;
    // SAFETY: the library ends the path with a NUL.
    let path = unsafe { CStr::from_ptr(report.path.as_ptr()) }.to_bytes();
    Ok(SleepReport {
        released_bytes: report.released_bytes,
        elapsed: Duration::from_nanos(report.elapsed_ns),
        path: (!path.is_empty()).then(|| std::ffi::OsStr::from_bytes(path).into()),
    })
}

/// Wakes through the C function of that name, and unmaps what was dropped meanwhile.
fn wake(
    function: &'static str,
    space: &Space,
    request: &WakeRequest<'_>,
    call: impl FnOnce(&sys::ferrum_wake_config, &mut sys::ferrum_wake_report) -> i32,
) -> Result<WakeReport> {
    let tag = optional_text(function, "tag", request.tag)?;
    let raw = sys::ferrum_wake_config {
        num_streams: request.num_streams,
        tag: pointer(&tag),
        timeout_ns: timeout_ns(request.timeout),
        ..Default::default()
    };
    let mut report = sys::ferrum_wake_report::default();
    let outcome = check(call(&raw, &mut report));
    space.unmap_late();
    outcome?;
    Ok((&report).into())
}

impl VirtualPool {
    /// Has ranges give up their memory and keep their addresses, until `wake`. There
    /// is nothing behind their pointers meanwhile. When it fails everything is as
    /// before. Until it has ended the ranges cannot be unmapped ([`ErrorKind::Busy`]);
    /// those that are dropped are unmapped then.
    ///
    /// [`ErrorKind::Busy`]: crate::ErrorKind::Busy
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidState`](crate::ErrorKind::InvalidState) when the tag, or everything, sleeps
    /// already, and in a host function; [`ErrorKind::NotFound`](crate::ErrorKind::NotFound) for a tag that
    /// no range has; [`ErrorKind::ResourceExhausted`](crate::ErrorKind::ResourceExhausted) when host
    /// memory, the disk or the process's bound on the size of files (RLIMIT_FSIZE) is used up;
    /// [`ErrorKind::Io`](crate::ErrorKind::Io) and
    /// [`ErrorKind::PermissionDenied`](crate::ErrorKind::PermissionDenied) for the file, with its name;
    /// [`ErrorKind::Timeout`](crate::ErrorKind::Timeout);
    /// [`ErrorKind::InvalidArgument`](crate::ErrorKind::InvalidArgument).
    ///
    /// C function: [`ferrum_vpool_sleep`](crate::sys::ferrum_vpool_sleep).
    pub fn sleep(&self, request: &SleepRequest<'_>) -> Result<SleepReport> {
        let space = Space::Pool(self.clone());
        sleep("ferrum_vpool_sleep", &space, request, |config, report| {
            // SAFETY: the settings live through the call, report has its size set.
            unsafe { sys::ferrum_vpool_sleep(self.raw(), config, report) }
        })
    }

    /// Has what sleeps get memory at its addresses, and its bytes back. When it fails
    /// all of it sleeps as before.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidState`](crate::ErrorKind::InvalidState) when nothing of the tag, or nothing at
    /// all, sleeps, and in a host function;
    /// [`ErrorKind::OutOfPhysicalMemory`](crate::ErrorKind::OutOfPhysicalMemory) and
    /// [`ErrorKind::OutOfMemory`](crate::ErrorKind::OutOfMemory) as
    /// [`ferrum_vpool_alloc`](crate::sys::ferrum_vpool_alloc);
    /// [`ErrorKind::Corrupted`](crate::ErrorKind::Corrupted) when a file is not what was written, with its
    /// name and the place; [`ErrorKind::Io`](crate::ErrorKind::Io);
    /// [`ErrorKind::Timeout`](crate::ErrorKind::Timeout);
    /// [`ErrorKind::InvalidArgument`](crate::ErrorKind::InvalidArgument).
    ///
    /// C function: [`ferrum_vpool_wake`](crate::sys::ferrum_vpool_wake).
    pub fn wake(&self, request: &WakeRequest<'_>) -> Result<WakeReport> {
        let space = Space::Pool(self.clone());
        wake("ferrum_vpool_wake", &space, request, |config, report| {
            // SAFETY: the settings live through the call, report has its size set.
            unsafe { sys::ferrum_vpool_wake(self.raw(), config, report) }
        })
    }

    /// Whether a tag sleeps; none: everything, with what may still come.
    ///
    /// # Errors
    ///
    /// The errors of every call, such as [`ErrorKind::InvalidHandle`](crate::ErrorKind::InvalidHandle).
    ///
    /// C function: [`ferrum_vpool_is_asleep`](crate::sys::ferrum_vpool_is_asleep).
    pub fn is_asleep(&self, tag: Option<&str>) -> Result<bool> {
        let tag = optional_text("ferrum_vpool_is_asleep", "tag", tag)?;
        let mut asleep = 0;
        // SAFETY: the text lives through the call, asleep is an output of it.
        check(unsafe { sys::ferrum_vpool_is_asleep(self.raw(), pointer(&tag), &mut asleep) })?;
        Ok(asleep != 0)
    }

    /// Puts memory behind a range as described.
    ///
    /// # Errors
    ///
    /// besides: [`ErrorKind::InvalidState`](crate::ErrorKind::InvalidState) while the tag, everything, or a
    /// range at that place sleeps; [`ErrorKind::Timeout`](crate::ErrorKind::Timeout) when it does so longer
    /// than `asleep_wait_ns`; [`ErrorKind::ResourceExhausted`](crate::ErrorKind::ResourceExhausted) while
    /// about a million other tags are in use.
    ///
    /// C function: [`ferrum_vpool_alloc_with`](crate::sys::ferrum_vpool_alloc_with).
    pub fn alloc_with(&self, request: &VirtualPoolRequest<'_>) -> Result<MappedRange> {
        let mut address = 0;
        request.with_raw("ferrum_vpool_alloc_with", |request| {
            // SAFETY: the request lives through the call, address is an output of it.
            check(unsafe { sys::ferrum_vpool_alloc_with(self.raw(), request, &mut address) })
        })?;
        Ok(self.range(address, request.offset_bytes, request.size_bytes))
    }
}

impl Model {
    /// As [`VirtualPool::sleep`]; others may have the model's pages then.
    ///
    /// # Errors
    ///
    /// besides: [`ErrorKind::ModelNotFound`](crate::ErrorKind::ModelNotFound).
    ///
    /// C function: [`ferrum_elastic_pool_sleep_model`](crate::sys::ferrum_elastic_pool_sleep_model).
    pub fn sleep(&self, request: &SleepRequest<'_>) -> Result<SleepReport> {
        let (pool, id) = (self.pool().raw(), self.c_id().as_ptr());
        sleep(
            "ferrum_elastic_pool_sleep_model",
            &Space::Model(self.clone()),
            request,
            |config, report| {
                // SAFETY: id and settings live through the call, report has its size set.
                unsafe { sys::ferrum_elastic_pool_sleep_model(pool, id, config, report) }
            },
        )
    }

    /// As [`VirtualPool::wake`], with memory as `alloc` has it.
    ///
    /// # Errors
    ///
    /// besides: [`ErrorKind::ModelNotFound`](crate::ErrorKind::ModelNotFound).
    ///
    /// C function: [`ferrum_elastic_pool_wake_model`](crate::sys::ferrum_elastic_pool_wake_model).
    pub fn wake(&self, request: &WakeRequest<'_>) -> Result<WakeReport> {
        let (pool, id) = (self.pool().raw(), self.c_id().as_ptr());
        wake(
            "ferrum_elastic_pool_wake_model",
            &Space::Model(self.clone()),
            request,
            |config, report| {
                // SAFETY: id and settings live through the call, report has its size set.
                unsafe { sys::ferrum_elastic_pool_wake_model(pool, id, config, report) }
            },
        )
    }

    /// As [`VirtualPool::is_asleep`].
    ///
    /// # Errors
    ///
    /// The errors of every call, such as [`ErrorKind::InvalidHandle`](crate::ErrorKind::InvalidHandle).
    ///
    /// C function: [`ferrum_elastic_pool_is_model_asleep`](crate::sys::ferrum_elastic_pool_is_model_asleep).
    pub fn is_asleep(&self, tag: Option<&str>) -> Result<bool> {
        let tag = optional_text("ferrum_elastic_pool_is_model_asleep", "tag", tag)?;
        let mut asleep = 0;
        // SAFETY: the texts live through the call, asleep is an output of it.
        check(unsafe {
            sys::ferrum_elastic_pool_is_model_asleep(
                self.pool().raw(),
                self.c_id().as_ptr(),
                pointer(&tag),
                &mut asleep,
            )
        })?;
        Ok(asleep != 0)
    }
}
