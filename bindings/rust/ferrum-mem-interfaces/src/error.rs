use ferrum_mem::{sys, Error, ErrorKind};
use ferrum_types::{FerrumError, Result};

/// The result of a call of the C ABI on this thread.
pub(crate) fn check(status: sys::ferrum_status) -> Result<()> {
    if status == sys::FERRUM_OK {
        return Ok(());
    }
    let mut info = sys::ferrum_error_info::default();
    // SAFETY: info is a struct of the library, with its size set.
    unsafe { sys::ferrum_last_error(&mut info) };
    if info.status != status {
        return Err(failed_with(ErrorKind::from_status(status)));
    }
    let kind = ErrorKind::from_status(status);
    let text = |field: &[std::ffi::c_char]| -> String {
        let bytes: Vec<u8> = field
            .iter()
            .take_while(|c| **c != 0)
            .map(|c| *c as u8)
            .collect();
        String::from_utf8_lossy(&bytes).into_owned()
    };
    let message = format!(
        "{}: {} ({})",
        kind.name(),
        text(&info.message),
        text(&info.function)
    );
    Err(kind_of(kind, message))
}

/// The error of a status without further details.
pub(crate) fn failed_with(kind: ErrorKind) -> FerrumError {
    kind_of(kind, format!("{}: {}", kind.name(), kind.text()))
}

/// The error of the traits for an error of the library. Its text has the name of the status,
/// because several statuses become one error of the traits.
pub(crate) fn error_of(error: Error) -> FerrumError {
    let message = match error.device.as_deref() {
        None => format!("{} ({})", error, error.function),
        Some(device) => format!("{} ({}, {device})", error, error.function),
    };
    kind_of(error.kind, message)
}

fn kind_of(kind: ErrorKind, message: String) -> FerrumError {
    use ErrorKind as K;
    match kind {
        K::OutOfMemory
        | K::OutOfVirtualMemory
        | K::OutOfPhysicalMemory
        | K::ResourceExhausted
        | K::Busy => FerrumError::resource_exhausted(message),
        K::NullPointer
        | K::InvalidArgument
        | K::InvalidSize
        | K::InvalidAlignment
        | K::InvalidStruct
        | K::InvalidOffset
        | K::InvalidAddress
        | K::InvalidPageSize
        | K::Overflow
        | K::BufferTooSmall => FerrumError::invalid_parameter(message),
        K::InvalidHandle | K::DoubleFree | K::NotFound | K::DeviceNotFound | K::ModelNotFound => {
            FerrumError::not_found(message)
        }
        K::AlreadyExists | K::ModelAlreadyExists => FerrumError::already_exists(message),
        K::InvalidConfig => FerrumError::config(message),
        K::InvalidFormat => FerrumError::invalid_format(message),
        K::Unsupported | K::UnsupportedDevice => FerrumError::unsupported(message),
        K::BackendUnavailable | K::NotInitialized | K::InvalidState | K::Forked => {
            FerrumError::backend(message)
        }
        K::Timeout => FerrumError::timeout(message),
        K::Cancelled => FerrumError::cancelled(message),
        K::Device
        | K::DeviceLost
        | K::MappingFailed
        | K::UnmappingFailed
        | K::AlreadyMapped
        | K::NotMapped => FerrumError::device(message),
        K::Model => FerrumError::model(message),
        K::Io => FerrumError::io(message),
        K::PermissionDenied => FerrumError::permission_denied(message),
        K::Network => FerrumError::network(message),
        K::Authentication => FerrumError::auth(message),
        K::RateLimited => FerrumError::rate_limit(message),
        K::Serialization => FerrumError::serialization(message),
        _ => FerrumError::internal(message),
    }
}
