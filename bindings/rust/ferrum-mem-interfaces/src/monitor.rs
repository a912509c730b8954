use std::collections::HashMap;
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use ferrum_interfaces::memory::{
    DefragmentationStats, DeviceMemoryManager, GlobalMemoryMonitor, MemoryInfo, MemoryPressure,
};
use ferrum_mem::{DeviceLevel, Monitor, MonitorConfig};
use ferrum_types::{Device, Result};

use crate::config;
use crate::error::{error_of, failed_with};
use crate::hub::{locked, Hub};
use crate::manager::{known, Part};

/// [`GlobalMemoryMonitor`] on ferrum_mem. [`crate::FerrumMem::create_monitor`] creates it. A
/// registration is weak: a manager that is dropped is unregistered, and so is the device of the
/// last one. Managers of other crates are ignored, because the monitor has them only during the
/// call.
pub struct FerrumMemoryMonitor {
    hub: Arc<Hub>,
    monitor: Arc<Monitor>,
    watched: Mutex<HashMap<Device, Vec<Weak<Part>>>>,
}

impl std::fmt::Debug for FerrumMemoryMonitor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FerrumMemoryMonitor")
            .field("devices", &self.devices())
            .finish()
    }
}

impl FerrumMemoryMonitor {
    pub(crate) fn new(hub: Arc<Hub>) -> Result<Self> {
        let library = hub.devices.library();
        let monitor = Monitor::new(library, &MonitorConfig::default()).map_err(error_of)?;
        Ok(Self {
            hub,
            monitor: Arc::new(monitor),
            watched: Mutex::default(),
        })
    }

    /// The devices that have a manager.
    fn devices(&self) -> Vec<Device> {
        let mut watched = locked(&self.watched);
        watched.retain(|_, parts| {
            parts.retain(|part| part.strong_count() > 0);
            !parts.is_empty()
        });
        watched.keys().cloned().collect()
    }
}

impl GlobalMemoryMonitor for FerrumMemoryMonitor {
    /// A device that cannot be queried is left out.
    fn global_memory_info(&self) -> HashMap<Device, MemoryInfo> {
        let info_of = |device: Device| {
            let info = self.hub.devices.find(&device)?.memory_info().ok()?;
            Some((device, config::memory_info(&info)))
        };
        self.devices().into_iter().filter_map(info_of).collect()
    }

    /// The worst level of any device; low if none is known.
    fn global_memory_pressure(&self) -> MemoryPressure {
        let pressure = self.monitor.pressure(Duration::ZERO);
        pressure.map_or(MemoryPressure::Low, |all| config::pressure_of(all.level))
    }

    fn register_manager(&mut self, device: Device, manager: &dyn DeviceMemoryManager) {
        let Some(manager) = known(manager) else {
            return;
        };
        let Ok(part) = manager.make_part(&device) else {
            return;
        };
        // Fails if it is registered already, which is the desired state.
        let _ = self.monitor.register(&part.manager);
        let mut watched = locked(&self.watched);
        let parts = watched.entry(device).or_default();
        let part = Arc::downgrade(&part);
        if !parts.iter().any(|known| known.ptr_eq(&part)) {
            parts.push(part);
        }
    }

    fn unregister_manager(&mut self, device: &Device) {
        let removed = locked(&self.watched).remove(device);
        for part in removed.unwrap_or_default() {
            if let Some(part) = part.upgrade() {
                // Fails if it is not registered, which is the desired state.
                let _ = self.monitor.unregister(&part.manager);
            }
        }
    }

    /// Replaces the previous callback. It is called at every change, on a thread of the library.
    fn set_global_pressure_callback(
        &mut self,
        callback: Box<dyn Fn(HashMap<Device, MemoryPressure>) + Send + Sync>,
    ) {
        let devices = self.hub.devices.by_handle().clone();
        let heard = move |levels: &[DeviceLevel]| {
            let level_of = |level: &DeviceLevel| {
                let device = locked(&devices).get(&level.device.id).cloned()?;
                Some((device, config::pressure_of(level.level)))
            };
            let levels = levels.iter().filter_map(level_of).collect();
            callback(levels);
        };
        // Fails only while the library stops; then there are no changes.
        let _ = self.monitor.on_change(heard);
    }

    /// Defragments every registered manager. After a failure of one device the others are still
    /// defragmented, and the first failure is returned.
    async fn global_gc(&self) -> Result<HashMap<Device, DefragmentationStats>> {
        let monitor = self.monitor.clone();
        let collect = move || monitor.collect().map_err(error_of);
        let collected = self.hub.moving(collect).await?;
        let mut all = HashMap::new();
        for one in &collected {
            if let Some(kind) = one.status {
                return Err(failed_with(kind));
            }
            let device = locked(self.hub.devices.by_handle())
                .get(&one.device.id)
                .cloned();
            let Some(device) = device else { continue };
            let stats = DefragmentationStats {
                memory_freed: one.memory_freed_bytes,
                blocks_moved: config::count(one.blocks_moved),
                time_taken_ms: config::whole_milliseconds(one.time_taken.as_nanos()),
                fragmentation_before: one.fragmentation_before,
                fragmentation_after: one.fragmentation_after,
            };
            all.insert(device, stats);
        }
        Ok(all)
    }
}
