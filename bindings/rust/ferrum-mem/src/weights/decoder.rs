use std::collections::BTreeMap;
use std::ffi::c_void;
use std::sync::Arc;

use serde_json::{json, Map, Value};

use crate::callback::{run, share, Registration};
use crate::error::{check, Error};
use crate::library::{c_text, Library};
use crate::weights::source::lossy;
use crate::{sys, DType, ErrorKind, Result};

/// A decoder of a format of the program. The library reads the tensors itself; the decoder only
/// describes where they are. Several threads may call it at a time.
pub trait WeightsDecoder: Send + Sync {
    /// Whether a file is of the format, by its first bytes and its length.
    fn recognises(&self, start: &[u8], file_bytes: u64) -> bool;

    /// Describes a file of the format.
    ///
    /// # Errors
    ///
    /// The call that opens the file returns the kind of the error.
    fn decode(&self, file: &DecodedFile<'_>) -> Result<Description>;
}

/// The description that a decoder returns for a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Description {
    /// The tensors by name.
    pub tensors: BTreeMap<String, DescribedTensor>,
    /// The other metadata of the file.
    pub texts: BTreeMap<String, String>,
}

/// A tensor of a [`Description`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DescribedTensor {
    /// Type of its elements.
    pub dtype: DType,
    /// Its shape, the slowest dimension first.
    pub shape: Vec<u64>,
    /// Offset of its bytes in the file.
    pub offset_bytes: u64,
    /// The most significant byte of an element comes first.
    pub is_big_endian: bool,
}

impl Description {
    fn json(&self) -> String {
        let tensors = self.tensors.iter().map(|(name, it)| {
            let mut fields = Map::new();
            fields.insert("dtype".into(), json!(it.dtype.name()));
            fields.insert("shape".into(), json!(it.shape));
            fields.insert("offset_bytes".into(), json!(it.offset_bytes));
            if it.is_big_endian {
                fields.insert("is_big_endian".into(), json!(true));
            }
            (name.clone(), Value::Object(fields))
        });
        let tensors: Map<String, Value> = tensors.collect();
        json!({"tensors": tensors, "texts": self.texts}).to_string()
    }
}

/// A file that a decoder describes.
pub struct DecodedFile<'a> {
    raw: &'a sys::ferrum_weights_file,
}

impl DecodedFile<'_> {
    /// Its length.
    pub fn size_bytes(&self) -> u64 {
        self.raw.size_bytes
    }

    /// Its path, or the name of the memory.
    pub fn name(&self) -> String {
        // SAFETY: the library's text is valid during the callback.
        unsafe { lossy(self.raw.name) }
    }

    /// Reads bytes of it.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidSize`](crate::ErrorKind::InvalidSize) for bytes beyond the end of the
    /// file; [`ErrorKind::Io`](crate::ErrorKind::Io).
    ///
    /// C function: `read_at` of [`ferrum_weights_file`](crate::sys::ferrum_weights_file).
    pub fn read_at(&self, offset_bytes: u64, destination: &mut [u8]) -> Result<()> {
        let Some(read_at) = self.raw.read_at else {
            return Err(missing("read_at"));
        };
        let (to, size) = (destination.as_mut_ptr().cast(), destination.len() as u64);
        // SAFETY: the destination has the size that is passed.
        check(unsafe { read_at(self.raw.file, offset_bytes, to, size) })
    }

    fn describe(&self, description: &Description) -> Result<()> {
        let Some(describe) = self.raw.describe else {
            return Err(missing("describe"));
        };
        let text = description.json();
        // SAFETY: the text has the length that is passed.
        check(unsafe { describe(self.raw.file, text.as_ptr().cast(), text.len() as u64) })
    }
}

fn missing(function: &str) -> Error {
    let message = "the library provides no such function".to_owned();
    Error::found(ErrorKind::Internal, function, message)
}

type Held = Box<dyn WeightsDecoder>;

unsafe extern "C" fn recognises(
    start: *const c_void,
    start_bytes: usize,
    file_bytes: u64,
    data: *mut c_void,
) -> i32 {
    // SAFETY: data is the registration's decoder.
    let decoder: Arc<Held> = unsafe { share(data) };
    let start = if start_bytes == 0 {
        &[]
    } else {
        // SAFETY: the library passes the start of the file with its length.
        unsafe { std::slice::from_raw_parts(start.cast::<u8>(), start_bytes) }
    };
    i32::from(run(|| decoder.recognises(start, file_bytes)))
}

unsafe extern "C" fn decode(
    file: *const sys::ferrum_weights_file,
    data: *mut c_void,
) -> sys::ferrum_status {
    // SAFETY: data is the registration's decoder.
    let decoder: Arc<Held> = unsafe { share(data) };
    // SAFETY: the file is valid during the callback.
    let file = DecodedFile {
        raw: unsafe { &*file },
    };
    // A panic returns the default, None.
    let described = run(|| {
        let described = decoder.decode(&file);
        Some(described.and_then(|description| file.describe(&description)))
    });
    match described {
        Some(Ok(())) => sys::FERRUM_OK,
        Some(Err(error)) => error.kind.status(),
        None => sys::FERRUM_ERROR_INTERNAL,
    }
}

impl Library {
    /// Registers a decoder of another format, with its name of 1 to 63 bytes. Returns the number
    /// for [`WeightsSource::decoder`](crate::WeightsSource::decoder). The formats of the library
    /// have precedence. A panic in the decoder fails the call that opens the file.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::AlreadyExists`](crate::ErrorKind::AlreadyExists) for the name of another
    /// format.
    ///
    /// C function: [`ferrum_weights_decoder_add`](crate::sys::ferrum_weights_decoder_add).
    pub fn add_decoder(
        &self,
        format: &str,
        decoder: impl WeightsDecoder + 'static,
    ) -> Result<(u32, Registration)> {
        let format = c_text("ferrum_weights_decoder_add", "format", format)?;
        let held: Arc<Held> = Arc::new(Box::new(decoder));
        let raw = sys::ferrum_weights_decoder {
            format: format.as_ptr(),
            recognises: Some(recognises),
            decode: Some(decode),
            user_data: Arc::as_ptr(&held).cast_mut().cast(),
            ..Default::default()
        };
        let (mut number, mut handle) = (0, Default::default());
        // SAFETY: the record is valid during the call, the decoder until the registration ends.
        check(unsafe { sys::ferrum_weights_decoder_add(&raw, &mut number, &mut handle) })?;
        Ok((number, Registration::decoder(self, handle, held)))
    }
}
