use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use ferrum_interfaces::memory::MemoryPressure;
use ferrum_types::Device;

use crate::hub::locked;

type Callback = Arc<dyn Fn(MemoryPressure) + Send + Sync>;

/// The one pressure callback of a manager and the levels of its devices.
#[derive(Default)]
pub(crate) struct Pressures {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    callback: Option<Callback>,
    levels: HashMap<Device, MemoryPressure>,
}

impl State {
    fn worst(&self) -> MemoryPressure {
        let worst = self.levels.values().max();
        worst.copied().unwrap_or(MemoryPressure::Low)
    }
}

impl Pressures {
    pub(crate) fn is_set(&self) -> bool {
        locked(&self.state).callback.is_some()
    }

    pub(crate) fn set(&self, callback: Box<dyn Fn(MemoryPressure) + Send + Sync>) {
        let former = locked(&self.state).callback.replace(callback.into());
        drop(former);
    }

    /// Stores the level of a device. If the worst level of all devices has changed, calls the
    /// callback with no lock held.
    pub(crate) fn update(&self, device: &Device, level: MemoryPressure) {
        let mut state = locked(&self.state);
        let before = state.worst();
        state.levels.insert(device.clone(), level);
        let worst = state.worst();
        let callback = state.callback.clone();
        drop(state);
        if let (true, Some(callback)) = (worst != before, callback) {
            callback(worst);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use super::*;

    #[test]
    fn test_callback_gets_changes_of_the_worst_level() {
        use MemoryPressure::{Critical, High, Low, Medium};
        let pressures = Pressures::default();
        let (tell, hear) = channel();
        pressures.set(Box::new(move |level| tell.send(level).unwrap()));
        let (a, b) = (Device::CPU, Device::CUDA(0));
        for (device, level) in [
            (&a, Low),
            (&a, Medium),
            (&b, Medium),
            (&b, Critical),
            (&a, High),
            (&b, Low),
            (&a, Low),
        ] {
            pressures.update(device, level);
        }
        drop(pressures);
        assert_eq!(
            hear.iter().collect::<Vec<_>>(),
            [Medium, Critical, High, Low]
        );
    }
}
