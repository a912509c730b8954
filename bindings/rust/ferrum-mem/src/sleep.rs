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

/// Where the contents of sleeping ranges are kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SleepBacking<'a> {
    /// In memory of this process.
    #[default]
    Host,
    /// In a file of that directory, with checksums; `None`: the system's directory for temporary
    /// files.
    File(Option<&'a Path>),
    /// Nowhere: after the wake the memory is zero.
    Discard,
}

/// A request for a sleep.
#[derive(Clone, Copy, Debug, Default)]
pub struct SleepRequest<'a> {
    /// Ranges of this tag; `None`: all ranges. Ranges without a tag have the pool's name, or the
    /// model's id.
    pub tag: Option<&'a str>,
    /// Where the contents are kept.
    pub backing: SleepBacking<'a>,
    /// Wait only for the queued work of this stream; `None`: of the whole device.
    pub stream: Option<&'a Stream>,
    /// The maximum duration of the call; `None`: no limit; zero: fail if the call has to wait.
    pub timeout: Option<Duration>,
    /// Number of parallel copies, at most 64; `None`: the library chooses.
    pub num_streams: Option<u32>,
}

/// The result of a sleep.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SleepReport {
    /// Memory that was released.
    pub released_bytes: u64,
    /// Duration of the sleep.
    pub elapsed: Duration,
    /// The file, if there is one.
    pub path: Option<PathBuf>,
}

/// A request for a wake.
#[derive(Clone, Copy, Debug, Default)]
pub struct WakeRequest<'a> {
    /// Ranges of this tag; `None`: all ranges.
    pub tag: Option<&'a str>,
    /// The maximum duration of the call; `None`: no limit; zero: fail if the call has to wait.
    pub timeout: Option<Duration>,
    /// Number of parallel copies, at most 64; `None`: the library chooses.
    pub num_streams: Option<u32>,
}

/// Sleeps with the C function of that name, and unmaps ranges that were dropped meanwhile.
fn sleep(
    function: &'static str,
    space: &Space,
    request: &SleepRequest<'_>,
    call: impl FnOnce(&sys::ferrum_sleep_config, &mut sys::ferrum_sleep_report) -> i32,
) -> Result<SleepReport> {
    let slept = sleep_with(function, request, call);
    space.unmap_late();
    slept
}

/// Sleeps with the C function of that name.
pub(crate) fn sleep_with(
    function: &'static str,
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
                Error::argument(
                    function,
                    format!("directory contains a NUL character: {path:?}"),
                )
            })
        })
        .transpose()?;
    let raw = sys::ferrum_sleep_config {
        backing,
        tag: pointer(&tag),
        directory: pointer(&directory),
        stream: raw_of(request.stream),
        timeout_ns: timeout_ns(request.timeout),
        num_streams: request.num_streams.unwrap_or(0),
        ..Default::default()
    };
    let mut report = sys::ferrum_sleep_report::default();
    check(call(&raw, &mut report))?;
    // SAFETY: the library ends the path with a NUL.
    let path = unsafe { CStr::from_ptr(report.path.as_ptr()) }.to_bytes();
    Ok(SleepReport {
        released_bytes: report.released_bytes,
        elapsed: Duration::from_nanos(report.elapsed_ns),
        path: (!path.is_empty()).then(|| std::ffi::OsStr::from_bytes(path).into()),
    })
}

/// Wakes with the C function of that name, and unmaps ranges that were dropped meanwhile.
fn wake(
    function: &'static str,
    space: &Space,
    request: &WakeRequest<'_>,
    call: impl FnOnce(&sys::ferrum_wake_config, &mut sys::ferrum_wake_report) -> i32,
) -> Result<WakeReport> {
    let woken = wake_with(function, request, call);
    space.unmap_late();
    woken
}

/// Wakes with the C function of that name.
pub(crate) fn wake_with(
    function: &'static str,
    request: &WakeRequest<'_>,
    call: impl FnOnce(&sys::ferrum_wake_config, &mut sys::ferrum_wake_report) -> i32,
) -> Result<WakeReport> {
    let tag = optional_text(function, "tag", request.tag)?;
    let raw = sys::ferrum_wake_config {
        num_streams: request.num_streams.unwrap_or(0),
        tag: pointer(&tag),
        timeout_ns: timeout_ns(request.timeout),
        ..Default::default()
    };
    let mut report = sys::ferrum_wake_report::default();
    check(call(&raw, &mut report))?;
    Ok((&report).into())
}

impl VirtualPool {
    /// Ranges release their memory and keep their addresses until `wake`. Their pointers must not
    /// be used meanwhile. A failed call changes nothing. While it runs, its ranges cannot be
    /// unmapped ([`ErrorKind::Busy`](crate::ErrorKind::Busy)); ranges that are dropped are unmapped
    /// afterwards.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidState`](crate::ErrorKind::InvalidState) if the tag, or everything, is
    /// asleep already, and in a host function; [`ErrorKind::NotFound`](crate::ErrorKind::NotFound)
    /// for a tag without ranges;
    /// [`ErrorKind::ResourceExhausted`](crate::ErrorKind::ResourceExhausted) if host memory, disk
    /// space or the process's limit on file size (RLIMIT_FSIZE) is exhausted;
    /// [`ErrorKind::Io`](crate::ErrorKind::Io) and
    /// [`ErrorKind::PermissionDenied`](crate::ErrorKind::PermissionDenied) for the file, with its
    /// name; [`ErrorKind::Timeout`](crate::ErrorKind::Timeout);
    /// [`ErrorKind::InvalidArgument`](crate::ErrorKind::InvalidArgument).
    ///
    /// C function: [`ferrum_vpool_sleep`](crate::sys::ferrum_vpool_sleep).
    pub fn sleep(&self, request: &SleepRequest<'_>) -> Result<SleepReport> {
        let space = Space::Pool(self.clone());
        sleep("ferrum_vpool_sleep", &space, request, |config, report| {
            // SAFETY: the settings are valid during the call, report has its size set.
            unsafe { sys::ferrum_vpool_sleep(self.raw(), config, report) }
        })
    }

    /// Restores the memory of ranges that are asleep, at their addresses and with their contents.
    /// After a failed call all of them are asleep as before.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidState`](crate::ErrorKind::InvalidState) if nothing of the tag, or
    /// nothing at all, is asleep, and in a host function;
    /// [`ErrorKind::OutOfPhysicalMemory`](crate::ErrorKind::OutOfPhysicalMemory) and
    /// [`ErrorKind::OutOfMemory`](crate::ErrorKind::OutOfMemory), as for
    /// [`ferrum_vpool_alloc`](crate::sys::ferrum_vpool_alloc);
    /// [`ErrorKind::Corrupted`](crate::ErrorKind::Corrupted) if a file differs from what was
    /// written, with its name and the offset; [`ErrorKind::Io`](crate::ErrorKind::Io);
    /// [`ErrorKind::Timeout`](crate::ErrorKind::Timeout);
    /// [`ErrorKind::InvalidArgument`](crate::ErrorKind::InvalidArgument).
    ///
    /// C function: [`ferrum_vpool_wake`](crate::sys::ferrum_vpool_wake).
    pub fn wake(&self, request: &WakeRequest<'_>) -> Result<WakeReport> {
        let space = Space::Pool(self.clone());
        wake("ferrum_vpool_wake", &space, request, |config, report| {
            // SAFETY: the settings are valid during the call, report has its size set.
            unsafe { sys::ferrum_vpool_wake(self.raw(), config, report) }
        })
    }

    /// Whether a tag is asleep. `None`: whether everything is, including ranges of later calls.
    ///
    /// # Errors
    ///
    /// The errors of every call, such as
    /// [`ErrorKind::InvalidHandle`](crate::ErrorKind::InvalidHandle).
    ///
    /// C function: [`ferrum_vpool_is_asleep`](crate::sys::ferrum_vpool_is_asleep).
    pub fn is_asleep(&self, tag: Option<&str>) -> Result<bool> {
        let tag = optional_text("ferrum_vpool_is_asleep", "tag", tag)?;
        let mut asleep = 0;
        // SAFETY: the text is valid during the call, asleep is an output of it.
        check(unsafe { sys::ferrum_vpool_is_asleep(self.raw(), pointer(&tag), &mut asleep) })?;
        Ok(asleep != 0)
    }

    /// Maps memory to a range as requested.
    ///
    /// # Errors
    ///
    /// Those of [`VirtualPool::alloc`], and
    /// [`ErrorKind::InvalidState`](crate::ErrorKind::InvalidState) while the tag, everything, or a
    /// range at that offset is asleep; [`ErrorKind::Timeout`](crate::ErrorKind::Timeout) if it is
    /// asleep longer than `asleep_wait_ns`;
    /// [`ErrorKind::ResourceExhausted`](crate::ErrorKind::ResourceExhausted) while about a million
    /// other tags are in use.
    ///
    /// C function: [`ferrum_vpool_alloc_with`](crate::sys::ferrum_vpool_alloc_with).
    pub fn alloc_with(&self, request: &VirtualPoolRequest<'_>) -> Result<MappedRange> {
        let mut address = 0;
        request.with_raw("ferrum_vpool_alloc_with", |request| {
            // SAFETY: the request is valid during the call, address is an output of it.
            check(unsafe { sys::ferrum_vpool_alloc_with(self.raw(), request, &mut address) })
        })?;
        Ok(self.range(address, request.offset_bytes, request.size_bytes))
    }
}

impl Model {
    /// Like [`VirtualPool::sleep`]. Other models may then get the model's pages.
    ///
    /// # Errors
    ///
    /// Those of [`VirtualPool::sleep`], and
    /// [`ErrorKind::ModelNotFound`](crate::ErrorKind::ModelNotFound).
    ///
    /// C function: [`ferrum_elastic_pool_sleep_model`](crate::sys::ferrum_elastic_pool_sleep_model).
    pub fn sleep(&self, request: &SleepRequest<'_>) -> Result<SleepReport> {
        let (pool, id) = (self.pool().raw(), self.c_id().as_ptr());
        sleep(
            "ferrum_elastic_pool_sleep_model",
            &Space::Model(self.clone()),
            request,
            |config, report| {
                // SAFETY: id and settings are valid during the call, report has its size set.
                unsafe { sys::ferrum_elastic_pool_sleep_model(pool, id, config, report) }
            },
        )
    }

    /// Like [`VirtualPool::wake`]. The memory comes from the same source as for `alloc`.
    ///
    /// # Errors
    ///
    /// Those of [`VirtualPool::wake`], and
    /// [`ErrorKind::ModelNotFound`](crate::ErrorKind::ModelNotFound).
    ///
    /// C function: [`ferrum_elastic_pool_wake_model`](crate::sys::ferrum_elastic_pool_wake_model).
    pub fn wake(&self, request: &WakeRequest<'_>) -> Result<WakeReport> {
        let (pool, id) = (self.pool().raw(), self.c_id().as_ptr());
        wake(
            "ferrum_elastic_pool_wake_model",
            &Space::Model(self.clone()),
            request,
            |config, report| {
                // SAFETY: id and settings are valid during the call, report has its size set.
                unsafe { sys::ferrum_elastic_pool_wake_model(pool, id, config, report) }
            },
        )
    }

    /// Like [`VirtualPool::is_asleep`].
    ///
    /// # Errors
    ///
    /// The errors of every call, such as
    /// [`ErrorKind::InvalidHandle`](crate::ErrorKind::InvalidHandle).
    ///
    /// C function: [`ferrum_elastic_pool_is_model_asleep`](crate::sys::ferrum_elastic_pool_is_model_asleep).
    pub fn is_asleep(&self, tag: Option<&str>) -> Result<bool> {
        let tag = optional_text("ferrum_elastic_pool_is_model_asleep", "tag", tag)?;
        let mut asleep = 0;
        // SAFETY: the texts are valid during the call, asleep is an output of it.
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
