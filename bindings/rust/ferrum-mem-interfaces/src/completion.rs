//! One result that one thread passes to one future.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use ferrum_types::{FerrumError, Result};

enum State<T> {
    Waiting(Option<Waker>),
    Answered(T),
    /// The promise was dropped without a result.
    Broken,
    /// No future waits: it took the result, or was dropped.
    Over,
}

type Cell<T> = Arc<Mutex<State<T>>>;

fn lock<T>(cell: &Cell<T>) -> MutexGuard<'_, State<T>> {
    cell.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The sending end. If it is dropped without a result, the future fails, so that no future waits
/// forever.
pub(crate) struct Promise<T>(Option<Cell<T>>);

/// The waiting end. After its drop the promise is abandoned.
pub(crate) struct Answer<T>(Cell<T>);

/// A promise and the future of its result.
pub(crate) fn pair<T>() -> (Promise<T>, Answer<T>) {
    let cell = Arc::new(Mutex::new(State::Waiting(None)));
    (Promise(Some(cell.clone())), Answer(cell))
}

impl<T> Promise<T> {
    /// Whether the future was dropped.
    pub(crate) fn is_abandoned(&self) -> bool {
        self.0
            .as_ref()
            .is_none_or(|cell| matches!(*lock(cell), State::Over))
    }

    /// Passes the result. Returns the value if no future waits for it.
    pub(crate) fn fulfil(mut self, value: T) -> std::result::Result<(), T> {
        match self.0.take() {
            Some(cell) => settle(&cell, State::Answered(value)).map_err(|refused| match refused {
                State::Answered(value) => value,
                _ => unreachable!("a result was given"),
            }),
            None => Err(value),
        }
    }
}

impl<T> Drop for Promise<T> {
    fn drop(&mut self) {
        if let Some(cell) = self.0.take() {
            // Fails if no future waits; then there is nothing to report.
            let _ = settle(&cell, State::Broken);
        }
    }
}

/// Sets the end state and wakes the future, with no lock held.
fn settle<T>(cell: &Cell<T>, end: State<T>) -> std::result::Result<(), State<T>> {
    let mut state = lock(cell);
    let waker = match &mut *state {
        State::Waiting(waker) => waker.take(),
        _ => return Err(end),
    };
    *state = end;
    drop(state);
    if let Some(waker) = waker {
        waker.wake();
    }
    Ok(())
}

impl<T> Future for Answer<T> {
    type Output = Result<T>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<T>> {
        let mut state = lock(&self.0);
        if let State::Waiting(waker) = &mut *state {
            match waker {
                Some(known) => known.clone_from(cx.waker()),
                None => *waker = Some(cx.waker().clone()),
            }
            return Poll::Pending;
        }
        match std::mem::replace(&mut *state, State::Over) {
            State::Answered(value) => Poll::Ready(Ok(value)),
            _ => Poll::Ready(Err(FerrumError::internal(
                "the call panicked and returned no result",
            ))),
        }
    }
}

impl<T> Drop for Answer<T> {
    fn drop(&mut self) {
        // A result that was not taken is dropped with no lock held.
        let left = std::mem::replace(&mut *lock(&self.0), State::Over);
        drop(left);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::task::Wake;

    use super::*;

    #[derive(Default)]
    struct Count(AtomicUsize);

    impl Wake for Count {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }

    #[test]
    fn test_an_answer_wakes_the_last_waker_once() {
        let (first, second) = (Arc::new(Count::default()), Arc::new(Count::default()));
        let (promise, mut answer) = pair();
        for count in [&first, &second] {
            let waker = Waker::from(count.clone());
            let polled = Pin::new(&mut answer).poll(&mut Context::from_waker(&waker));
            assert!(polled.is_pending());
        }
        assert!(!promise.is_abandoned());
        promise.fulfil(7).unwrap();
        assert_eq!(
            (
                first.0.load(Ordering::SeqCst),
                second.0.load(Ordering::SeqCst)
            ),
            (0, 1)
        );
        let waker = Waker::from(first);
        match Pin::new(&mut answer).poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(Ok(7)) => {}
            _ => panic!("the answer is 7"),
        }
    }

    #[test]
    fn test_a_promise_that_is_dropped_fails_the_future() {
        let (promise, mut answer) = pair::<u32>();
        drop(promise);
        let waker = Waker::from(Arc::new(Count::default()));
        match Pin::new(&mut answer).poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(Err(FerrumError::Internal { .. })) => {}
            _ => panic!("there is no answer"),
        }
    }

    #[test]
    fn test_abandoned_promise_returns_the_value() {
        let (promise, answer) = pair();
        drop(answer);
        assert!(promise.is_abandoned());
        assert_eq!(promise.fulfil("back").unwrap_err(), "back");
    }

    #[test]
    fn test_result_that_is_not_taken_is_dropped() {
        let held = Arc::new(());
        let (promise, answer) = pair();
        promise.fulfil(held.clone()).unwrap();
        assert_eq!(Arc::strong_count(&held), 2);
        drop(answer);
        assert_eq!(Arc::strong_count(&held), 1);
    }
}
