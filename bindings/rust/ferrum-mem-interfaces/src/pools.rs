use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use ferrum_mem::{Library, Pool, PoolConfig};
use ferrum_types::{Device, Result};

use crate::error::error_of;
use crate::hub::{locked, Hub};

/// The pools of tensors that belong together, one for each device.
pub(crate) struct Pools {
    hub: Arc<Hub>,
    config: PoolConfig,
    open: Mutex<HashMap<Device, Pool>>,
}

impl Pools {
    pub(crate) fn new(hub: Arc<Hub>, config: PoolConfig) -> Arc<Self> {
        Arc::new(Self {
            hub,
            config,
            open: Mutex::default(),
        })
    }

    pub(crate) fn library(&self) -> &Library {
        self.hub.devices.library()
    }

    /// The pool of a device. The first call for a device opens the device, which may take seconds.
    pub(crate) fn of(&self, device: &Device) -> Result<Pool> {
        let opened = self.hub.devices.open(device)?;
        let mut open = locked(&self.open);
        if let Some(pool) = open.get(device) {
            return Ok(pool.clone());
        }
        let pool = opened.create_pool(&self.config).map_err(error_of)?;
        open.insert(device.clone(), pool.clone());
        Ok(pool)
    }

    /// Waits for the work of the default stream of a device.
    pub(crate) fn settle(&self, device: &Device) -> Result<()> {
        let stream = self.hub.devices.open(device)?.default_stream();
        stream.and_then(|it| it.synchronize(None)).map_err(error_of)
    }
}
