use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use ferrum_mem::Library;
use ferrum_types::{Device, FerrumError, Result};

use crate::error::error_of;
use crate::hub::locked;

/// The devices of the traits, and their devices in the library. Each is opened at its first use.
pub(crate) struct Devices {
    library: Library,
    names: HashMap<Device, String>,
    open: Mutex<HashMap<Device, ferrum_mem::Device>>,
    by_handle: Arc<ByHandle>,
}

/// The devices by handle, for callbacks. It keeps no device open.
pub(crate) type ByHandle = Mutex<HashMap<u64, Device>>;

impl Devices {
    pub(crate) fn new(library: Library, names: HashMap<Device, String>) -> Self {
        Self {
            library,
            names,
            open: Mutex::default(),
            by_handle: Arc::default(),
        }
    }

    pub(crate) fn library(&self) -> &Library {
        &self.library
    }

    /// The library's id of a device.
    pub(crate) fn name_of(&self, device: &Device) -> String {
        self.names
            .get(device)
            .cloned()
            .unwrap_or_else(|| match device {
                Device::CPU => "cpu:0".into(),
                // A device with a number has the same name in the library. A device without one is
                // the first of its backend.
                numbered if numbered.index().is_some() => numbered.to_string(),
                only => format!("{only}:0"),
            })
    }

    /// The devices of the traits that are a device of the library.
    pub(crate) fn of_name(&self, name: &str) -> Vec<Device> {
        let number = |backend: &str| -> Option<usize> {
            name.strip_prefix(backend)?.strip_prefix(':')?.parse().ok()
        };
        let own = match name {
            "cpu:0" => Some(Device::CPU),
            #[cfg(any(target_os = "macos", target_os = "ios"))]
            "metal:0" => Some(Device::Metal),
            _ => number("cuda")
                .map(Device::CUDA)
                .or_else(|| number("rocm").map(Device::ROCm)),
        };
        let named = self.names.iter().filter(|(_, it)| *it == name);
        let named = named.map(|(device, _)| device.clone());
        let own = own.filter(|device| !self.names.contains_key(device));
        own.into_iter().chain(named).collect()
    }

    /// The open device. Opening one may take long.
    pub(crate) fn open(&self, device: &Device) -> Result<ferrum_mem::Device> {
        if let Some(found) = self.find(device) {
            return Ok(found);
        }
        let name = self.name_of(device);
        let opened =
            ferrum_mem::Device::open(&self.library, &name).map_err(|error| {
                match error_of(error) {
                    FerrumError::NotFound { message } => {
                        FerrumError::not_found(format!("device {device}: {message}"))
                    }
                    other => other,
                }
            })?;
        locked(&self.by_handle).insert(opened.raw().id, device.clone());
        // Two threads that open it at once get the same device.
        Ok(locked(&self.open)
            .entry(device.clone())
            .or_insert(opened)
            .clone())
    }

    /// The device, if it is open.
    pub(crate) fn find(&self, device: &Device) -> Option<ferrum_mem::Device> {
        locked(&self.open).get(device).cloned()
    }

    /// The device of the traits for each handle.
    pub(crate) fn by_handle(&self) -> &Arc<ByHandle> {
        &self.by_handle
    }
}
