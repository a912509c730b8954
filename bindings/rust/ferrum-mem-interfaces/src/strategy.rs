use std::collections::HashMap;
use std::sync::Arc;

use ferrum_interfaces::memory::{AllocationRequirements, AllocationStrategy, MemoryInfo};
use ferrum_mem::{Placement, PlacementRequest, PlacementStrategy};
use ferrum_types::{Device, Result};

use crate::config;
use crate::devices::Devices;
use crate::error::error_of;
use crate::hub::Hub;

/// [`AllocationStrategy`] on ferrum_mem. [`crate::FerrumMem::create_strategy`] creates it.
///
/// A device is a candidate if it is available, and the caller's information about it states enough
/// free bytes. A strategy of the library chooses from the candidates by the library's current
/// numbers; the caller's numbers may be older. A device that the library does not have is no
/// candidate.
pub struct FerrumAllocationStrategy {
    hub: Arc<Hub>,
    placement: Placement,
    strategy: PlacementStrategy,
}

impl std::fmt::Debug for FerrumAllocationStrategy {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FerrumAllocationStrategy")
            .field("strategy", &self.strategy)
            .finish_non_exhaustive()
    }
}

impl FerrumAllocationStrategy {
    pub(crate) fn new(hub: Arc<Hub>, strategy: PlacementStrategy) -> Result<Self> {
        let placement =
            Placement::new(Devices::library(&hub.devices), strategy).map_err(error_of)?;
        Ok(Self {
            hub,
            placement,
            strategy,
        })
    }

    /// The devices with their devices in the library. Devices that the library lacks are left out.
    fn opened<'d>(
        &self,
        devices: impl Iterator<Item = &'d Device>,
    ) -> (Vec<&'d Device>, Vec<ferrum_mem::Device>) {
        devices
            .filter_map(|device| Some((device, self.hub.devices.open(device).ok()?)))
            .unzip()
    }
}

impl AllocationStrategy for FerrumAllocationStrategy {
    /// Opens the devices that are not open yet, which may take long.
    fn select_device(
        &self,
        size: usize,
        requirements: &AllocationRequirements,
        available_devices: &[Device],
        memory_info: &HashMap<Device, MemoryInfo>,
    ) -> Option<Device> {
        let has_room = |device: &&Device| {
            memory_info
                .get(device)
                .is_some_and(|info| info.free_bytes >= size as u64)
        };
        let (devices, candidates) = self.opened(available_devices.iter().filter(has_room));
        if candidates.is_empty() {
            // For the library an empty list means all open devices.
            return None;
        }
        let (_, preferred) = self.opened(requirements.preferred_devices.iter());
        let request = PlacementRequest {
            size_bytes: size as u64,
            alignment_bytes: requirements.alignment.map(|bytes| bytes as u64),
            memory_type: config::memory_type_to(requirements.memory_type),
            preferred: &preferred,
            critical: requirements.is_critical,
            expected_lifetime: requirements.expected_lifetime,
            ..Default::default()
        };
        let chosen = self.placement.select(&request, &candidates).ok()?;
        let place = candidates
            .iter()
            .position(|candidate| candidate.raw().id == chosen.raw().id)?;
        Some(devices[place].clone())
    }

    fn name(&self) -> &str {
        self.strategy.name()
    }
}
