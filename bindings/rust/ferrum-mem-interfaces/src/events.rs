use std::collections::BTreeMap;
use std::sync::Arc;

use ferrum_interfaces::memory::EventHandle;
use ferrum_mem::Event;
use ferrum_types::{FerrumError, Result};

/// The upper half of every event's handle, so that no other number is taken for one.
const MARK: u64 = 0x4556_4e54 << 32;

/// Events by handle. The traits never end one, so that one which has been passed is
/// forgotten here: to wait for it is to wait for nothing.
#[derive(Default)]
pub(crate) struct Events {
    made: u64,
    open: BTreeMap<u64, Arc<Event>>,
    /// How many may be open before the passed ones are looked for.
    bound: usize,
}

impl Events {
    pub(crate) fn insert(&mut self, event: Event) -> EventHandle {
        if self.open.len() >= self.bound {
            self.open
                .retain(|_, event| !matches!(event.is_ready(), Ok(true)));
            // Twice what is left, so that a look at all of them is paid for by as
            // many new ones.
            self.bound = (2 * self.open.len()).max(32);
        }
        self.made += 1;
        self.open.insert(self.made, Arc::new(event));
        EventHandle(MARK | self.made)
    }

    /// The event, or none when it has been passed.
    pub(crate) fn find(&self, handle: EventHandle) -> Result<Option<Arc<Event>>> {
        let number = handle.0 ^ MARK;
        if number == 0 || number > self.made {
            return Err(FerrumError::not_found(format!(
                "event handle {:#x} was never given",
                handle.0
            )));
        }
        Ok(self.open.get(&number).cloned())
    }
}
