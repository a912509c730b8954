use std::ffi::{c_char, CStr};
use std::fmt;

use crate::sys;

/// The result of calls of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// Why a call failed. Its `Debug` text leaves out what the error does not have.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Error {
    /// The kind of the failure.
    pub kind: ErrorKind,
    /// The C function that failed.
    pub function: String,
    /// The operation inside the library, if the error is from there.
    pub operation: Option<String>,
    /// The id of the device, if the error belongs to one.
    pub device: Option<String>,
    /// The problem, with the argument and its value.
    pub message: String,
    /// The numbers that an error of this kind carries.
    pub facts: Box<Facts>,
}

/// The numbers of an error, and its model. The C ABI's `ferrum_error_info` describes them. `None`
/// means that the error does not carry the number.
#[derive(Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Facts {
    /// The number from the vendor's runtime or the system.
    pub native_code: Option<i64>,
    /// Start of the range or page.
    pub offset_bytes: Option<u64>,
    /// Size of that range or page.
    pub size_bytes: Option<u64>,
    /// The upper bound.
    pub capacity_bytes: Option<u64>,
    /// Size of a page: the requested one, or the pool's.
    pub page_bytes: Option<u64>,
    /// The requested bytes.
    pub requested_bytes: Option<u64>,
    /// The available bytes, which may be in several parts.
    pub available_bytes: Option<u64>,
    /// The longest free run.
    pub largest_free_bytes: Option<u64>,
    /// The model of an elastic pool.
    pub model: Option<String>,
}

impl Facts {
    fn of(info: &sys::ferrum_error_info) -> Self {
        let stated = |fact, value| (info.facts & fact != 0).then_some(value);
        Self {
            native_code: (info.native_code != 0).then_some(info.native_code),
            offset_bytes: stated(sys::FERRUM_FACT_OFFSET_BYTES, info.offset_bytes),
            size_bytes: stated(sys::FERRUM_FACT_SIZE_BYTES, info.size_bytes),
            capacity_bytes: stated(sys::FERRUM_FACT_CAPACITY_BYTES, info.capacity_bytes),
            page_bytes: stated(sys::FERRUM_FACT_PAGE_BYTES, info.page_bytes),
            requested_bytes: stated(sys::FERRUM_FACT_REQUESTED_BYTES, info.requested_bytes),
            available_bytes: stated(sys::FERRUM_FACT_AVAILABLE_BYTES, info.available_bytes),
            largest_free_bytes: stated(
                sys::FERRUM_FACT_LARGEST_FREE_BYTES,
                info.largest_free_bytes,
            ),
            model: stated_text(&info.model),
        }
    }
}

/// The `Debug` text of a struct, with the optional fields that have a value.
macro_rules! debug_stated {
    ($type:ident: $($always:ident),*; $($optional:ident),* $(; $last:ident)?) => {
        impl fmt::Debug for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                let mut text = f.debug_struct(stringify!($type));
                $(text.field(stringify!($always), &self.$always);)*
                $(if let Some(stated) = &self.$optional {
                    text.field(stringify!($optional), stated);
                })*
                $(if *self.$last != Default::default() {
                    text.field(stringify!($last), &self.$last);
                })?
                text.finish()
            }
        }
    };
}

debug_stated!(Error: kind, function, message; operation, device; facts);
debug_stated!(Facts: ; native_code, offset_bytes, size_bytes, capacity_bytes, page_bytes,
    requested_bytes, available_bytes, largest_free_bytes, model);

macro_rules! kinds {
    ($($name:ident = $code:ident),* $(,)?) => {
        /// The kind of a failure: a status of the C ABI.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum ErrorKind {
            $(
                #[doc = concat!("`", stringify!($code), "`")]
                $name,
            )*
            /// A status that this version of the crate does not know.
            Other(i32),
        }

        impl ErrorKind {
            /// The kind of a status that is not 0.
            pub fn from_status(status: i32) -> Self {
                match status {
                    $(sys::$code => Self::$name,)*
                    other => Self::Other(other),
                }
            }

            /// The status in the C ABI.
            pub fn status(self) -> i32 {
                match self {
                    $(Self::$name => sys::$code,)*
                    Self::Other(status) => status,
                }
            }
        }
    };
}

kinds! {
    Internal = FERRUM_ERROR_INTERNAL,
    Poisoned = FERRUM_ERROR_POISONED,
    Forked = FERRUM_ERROR_FORKED,
    NotInitialized = FERRUM_ERROR_NOT_INITIALIZED,
    InvalidState = FERRUM_ERROR_INVALID_STATE,
    NullPointer = FERRUM_ERROR_NULL_POINTER,
    InvalidHandle = FERRUM_ERROR_INVALID_HANDLE,
    InvalidArgument = FERRUM_ERROR_INVALID_ARGUMENT,
    InvalidSize = FERRUM_ERROR_INVALID_SIZE,
    InvalidAlignment = FERRUM_ERROR_INVALID_ALIGNMENT,
    InvalidStruct = FERRUM_ERROR_INVALID_STRUCT,
    InvalidOffset = FERRUM_ERROR_INVALID_OFFSET,
    InvalidAddress = FERRUM_ERROR_INVALID_ADDRESS,
    InvalidConfig = FERRUM_ERROR_INVALID_CONFIG,
    InvalidFormat = FERRUM_ERROR_INVALID_FORMAT,
    Overflow = FERRUM_ERROR_OVERFLOW,
    BufferTooSmall = FERRUM_ERROR_BUFFER_TOO_SMALL,
    OutOfMemory = FERRUM_ERROR_OUT_OF_MEMORY,
    OutOfVirtualMemory = FERRUM_ERROR_OUT_OF_VIRTUAL_MEMORY,
    OutOfPhysicalMemory = FERRUM_ERROR_OUT_OF_PHYSICAL_MEMORY,
    ResourceExhausted = FERRUM_ERROR_RESOURCE_EXHAUSTED,
    DoubleFree = FERRUM_ERROR_DOUBLE_FREE,
    Busy = FERRUM_ERROR_BUSY,
    Timeout = FERRUM_ERROR_TIMEOUT,
    Cancelled = FERRUM_ERROR_CANCELLED,
    NotFound = FERRUM_ERROR_NOT_FOUND,
    AlreadyExists = FERRUM_ERROR_ALREADY_EXISTS,
    DeviceNotFound = FERRUM_ERROR_DEVICE_NOT_FOUND,
    BackendUnavailable = FERRUM_ERROR_BACKEND_UNAVAILABLE,
    Unsupported = FERRUM_ERROR_UNSUPPORTED,
    UnsupportedDevice = FERRUM_ERROR_UNSUPPORTED_DEVICE,
    Device = FERRUM_ERROR_DEVICE,
    DeviceLost = FERRUM_ERROR_DEVICE_LOST,
    MappingFailed = FERRUM_ERROR_MAPPING_FAILED,
    UnmappingFailed = FERRUM_ERROR_UNMAPPING_FAILED,
    AlreadyMapped = FERRUM_ERROR_ALREADY_MAPPED,
    NotMapped = FERRUM_ERROR_NOT_MAPPED,
    InvalidPageSize = FERRUM_ERROR_INVALID_PAGE_SIZE,
    ModelNotFound = FERRUM_ERROR_MODEL_NOT_FOUND,
    ModelAlreadyExists = FERRUM_ERROR_MODEL_ALREADY_EXISTS,
    Model = FERRUM_ERROR_MODEL,
    Io = FERRUM_ERROR_IO,
    PermissionDenied = FERRUM_ERROR_PERMISSION_DENIED,
    Network = FERRUM_ERROR_NETWORK,
    Authentication = FERRUM_ERROR_AUTHENTICATION,
    RateLimited = FERRUM_ERROR_RATE_LIMITED,
    Serialization = FERRUM_ERROR_SERIALIZATION,
    Corrupted = FERRUM_ERROR_CORRUPTED,
}

impl ErrorKind {
    /// The name in the C ABI, for example "FERRUM_ERROR_BUSY".
    pub fn name(self) -> &'static str {
        // SAFETY: the library's texts are constant and always valid.
        let text = unsafe { CStr::from_ptr(sys::ferrum_status_name(self.status())) };
        text.to_str().unwrap_or("FERRUM_ERROR_UNKNOWN")
    }

    /// The meaning of the kind, in a few words.
    pub fn text(self) -> &'static str {
        // SAFETY: as for the name.
        let text = unsafe { CStr::from_ptr(sys::ferrum_status_text(self.status())) };
        text.to_str().unwrap_or("")
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.kind.name(), self.message)
    }
}

impl std::error::Error for Error {}

impl Error {
    /// The error of this thread's last call, which failed with the given status.
    pub(crate) fn last(status: i32) -> Self {
        let mut info = sys::ferrum_error_info::default();
        // SAFETY: info is a struct of the library, with its size set.
        unsafe { sys::ferrum_last_error(&mut info) };
        if info.status != status {
            info = Default::default();
        }
        Self {
            kind: ErrorKind::from_status(status),
            function: text_of(&info.function),
            operation: stated_text(&info.operation),
            device: stated_text(&info.device),
            message: text_of(&info.message),
            facts: Box::new(Facts::of(&info)),
        }
    }

    /// The error of an argument that this crate rejects before any call.
    pub(crate) fn argument(function: &str, message: String) -> Self {
        Self::found(ErrorKind::InvalidArgument, function, message)
    }

    /// An error that this crate detects itself.
    pub(crate) fn found(kind: ErrorKind, function: &str, message: String) -> Self {
        Self {
            kind,
            function: function.to_owned(),
            operation: None,
            device: None,
            message,
            facts: Box::default(),
        }
    }
}

/// Turns a status into a result.
pub(crate) fn check(status: sys::ferrum_status) -> Result<()> {
    if status == sys::FERRUM_OK {
        Ok(())
    } else {
        Err(Error::last(status))
    }
}

/// Reads a fixed text field that is empty if it has no information.
pub(crate) fn stated_text(field: &[c_char]) -> Option<String> {
    Some(text_of(field)).filter(|text| !text.is_empty())
}

/// Reads a fixed text field up to its NUL.
pub(crate) fn text_of(field: &[c_char]) -> String {
    let bytes: Vec<u8> = field
        .iter()
        .take_while(|c| **c != 0)
        .map(|c| *c as u8)
        .collect();
    String::from_utf8_lossy(&bytes).into_owned()
}
