//! Transfer slots: how many asynchronous copies of one manager may be in flight. The library has
//! the same limit, and its calls block at the limit; here only the future waits.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ferrum_types::Result;

use crate::completion::{pair, Promise};

pub(crate) struct TransferSlots {
    state: Mutex<State>,
}

struct State {
    free: usize,
    waiting: VecDeque<Promise<TransferSlot>>,
}

/// A transfer slot. Dropping it passes it to the future that has waited longest.
pub(crate) struct TransferSlot(Option<Arc<TransferSlots>>);

impl TransferSlots {
    pub(crate) fn new(most: usize) -> Arc<Self> {
        Arc::new(Self {
            state: Mutex::new(State {
                free: most,
                waiting: VecDeque::new(),
            }),
        })
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for a slot. A future that is dropped leaves the queue, and no slot is lost.
    pub(crate) async fn acquire(self: &Arc<Self>) -> Result<TransferSlot> {
        let answer = {
            let mut state = self.lock();
            // Removes dropped futures from the queue.
            state.waiting.retain(|promise| !promise.is_abandoned());
            if state.free > 0 {
                state.free -= 1;
                return Ok(TransferSlot(Some(self.clone())));
            }
            let (promise, answer) = pair();
            state.waiting.push_back(promise);
            answer
        };
        answer.await
    }
}

impl Drop for TransferSlot {
    fn drop(&mut self) {
        let Some(transfer_slots) = self.0.take() else {
            return;
        };
        let mut slot = TransferSlot(Some(transfer_slots.clone()));
        loop {
            let mut state = transfer_slots.lock();
            let Some(next) = state.waiting.pop_front() else {
                state.free += 1;
                drop(state);
                slot.0 = None;
                return;
            };
            drop(state);
            match next.fulfil(slot) {
                Ok(()) => return,
                // That future was dropped: pass the slot to the next one.
                Err(back) => slot = back,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::Future;
    use std::pin::{pin, Pin};
    use std::task::{Context, Poll, Waker};

    use super::*;
    use crate::testing::block_on;

    type Taking<'a> = Pin<Box<dyn Future<Output = Result<TransferSlot>> + 'a>>;

    fn poll(taking: &mut Taking<'_>) -> Option<TransferSlot> {
        match taking
            .as_mut()
            .poll(&mut Context::from_waker(Waker::noop()))
        {
            Poll::Ready(slot) => Some(slot.unwrap()),
            Poll::Pending => None,
        }
    }

    #[test]
    fn test_slots_go_to_waiting_futures_in_order_and_skip_dropped_ones() {
        let transfer_slots = TransferSlots::new(1);
        let first = block_on(transfer_slots.acquire()).unwrap();
        let mut waiting: Vec<Taking<'_>> = (0..4)
            .map(|_| Box::pin(transfer_slots.acquire()) as _)
            .collect();
        assert!(waiting.iter_mut().all(|taking| poll(taking).is_none()));
        drop(waiting.remove(0));
        drop(first);
        let second = poll(&mut waiting[0]).unwrap();
        assert!(poll(&mut waiting[1]).is_none() && poll(&mut waiting[2]).is_none());
        // One future was passed the slot, and is dropped before it is polled.
        drop(second);
        drop(waiting.remove(1));
        let third = poll(&mut waiting[1]).unwrap();
        drop(third);
        let fourth = pin!(transfer_slots.acquire());
        assert!(fourth
            .poll(&mut Context::from_waker(Waker::noop()))
            .is_ready());
        drop(waiting);
        assert_eq!(transfer_slots.lock().free, 1);
    }
}
