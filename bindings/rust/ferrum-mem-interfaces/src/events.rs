use std::collections::BTreeMap;
use std::sync::Arc;

use ferrum_interfaces::memory::EventHandle;
use ferrum_mem::Event;
use ferrum_types::{FerrumError, Result};

/// The upper half of every event's handle, so that other numbers are not taken for events.
const MARK: u64 = 0x4556_4e54 << 32;

/// Events by handle. The traits never destroy an event, so a completed event is removed here:
/// waiting for it is waiting for nothing.
#[derive(Default)]
pub(crate) struct Events {
    made: u64,
    open: BTreeMap<u64, Arc<Event>>,
    /// The number of open events at which completed ones are searched.
    bound: usize,
}

impl Events {
    pub(crate) fn insert(&mut self, event: Event) -> EventHandle {
        if self.open.len() >= self.bound {
            self.open
                .retain(|_, event| !matches!(event.is_ready(), Ok(true)));
            // Twice the rest, so that the cost of a search is spread over as many new events.
            self.bound = (2 * self.open.len()).max(32);
        }
        self.made += 1;
        self.open.insert(self.made, Arc::new(event));
        EventHandle(MARK | self.made)
    }

    /// The event; `None` if it has completed.
    pub(crate) fn find(&self, handle: EventHandle) -> Result<Option<Arc<Event>>> {
        let number = handle.0 ^ MARK;
        if number == 0 || number > self.made {
            return Err(FerrumError::not_found(format!(
                "event handle {:#x} was never returned",
                handle.0
            )));
        }
        Ok(self.open.get(&number).cloned())
    }
}
