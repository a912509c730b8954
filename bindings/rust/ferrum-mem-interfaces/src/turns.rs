//! Turns of the asynchronous copies: how many may be in flight to one manager. The
//! library has the same bound and waits when it is reached; here only the future does.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ferrum_types::Result;

use crate::completion::{pair, Promise};

pub(crate) struct Turns {
    state: Mutex<State>,
}

struct State {
    free: usize,
    waiting: VecDeque<Promise<Turn>>,
}

/// A turn; dropping it hands it to the one who has waited longest.
pub(crate) struct Turn(Option<Arc<Turns>>);

impl Turns {
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

    /// Waits for a turn. A future that is dropped loses its place and no turn.
    pub(crate) async fn take(self: &Arc<Self>) -> Result<Turn> {
        let answer = {
            let mut state = self.lock();
            // Who gave up would be in the way of the count only until a turn comes.
            state.waiting.retain(|promise| !promise.is_abandoned());
            if state.free > 0 {
                state.free -= 1;
                return Ok(Turn(Some(self.clone())));
            }
            let (promise, answer) = pair();
            state.waiting.push_back(promise);
            answer
        };
        answer.await
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        let Some(turns) = self.0.take() else { return };
        let mut turn = Turn(Some(turns.clone()));
        loop {
            let mut state = turns.lock();
            let Some(next) = state.waiting.pop_front() else {
                state.free += 1;
                drop(state);
                turn.0 = None;
                return;
            };
            drop(state);
            match next.fulfil(turn) {
                Ok(()) => return,
                // That one has given up; the turn is for the next.
                Err(back) => turn = back,
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

    type Taking<'a> = Pin<Box<dyn Future<Output = Result<Turn>> + 'a>>;

    fn poll(taking: &mut Taking<'_>) -> Option<Turn> {
        match taking
            .as_mut()
            .poll(&mut Context::from_waker(Waker::noop()))
        {
            Poll::Ready(turn) => Some(turn.unwrap()),
            Poll::Pending => None,
        }
    }

    #[test]
    fn test_turns_are_given_in_order_and_those_who_gave_up_are_passed_over() {
        let turns = Turns::new(1);
        let first = block_on(turns.take()).unwrap();
        let mut waiting: Vec<Taking<'_>> = (0..4).map(|_| Box::pin(turns.take()) as _).collect();
        assert!(waiting.iter_mut().all(|taking| poll(taking).is_none()));
        drop(waiting.remove(0));
        drop(first);
        let second = poll(&mut waiting[0]).unwrap();
        assert!(poll(&mut waiting[1]).is_none() && poll(&mut waiting[2]).is_none());
        // One was given the turn, and goes before it has looked.
        drop(second);
        drop(waiting.remove(1));
        let third = poll(&mut waiting[1]).unwrap();
        drop(third);
        let fourth = pin!(turns.take());
        assert!(fourth
            .poll(&mut Context::from_waker(Waker::noop()))
            .is_ready());
        drop(waiting);
        assert_eq!(turns.lock().free, 1);
    }
}
