//! Threads for calls of the library that may wait, so that no thread of an executor waits.
//!
//! A job never waits in the queue for another job: if no thread is idle, a new one starts, up to
//! [`MAX_THREADS`]. Idle threads end after a while, except for one, so that jobs are always accepted.

use std::collections::VecDeque;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use ferrum_types::{FerrumError, Result};

use crate::completion::pair;

/// Maximum number of threads.
const MAX_THREADS: usize = 256;

/// How long an idle thread waits for a job.
const IDLE_TIMEOUT: Duration = Duration::from_millis(500);

type Job = Box<dyn FnOnce() + Send>;

/// The threads. After a drop they run the remaining jobs and end.
pub(crate) struct Workers {
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    /// One job for each future that was polled and is not done, and drops of objects that may wait.
    /// Their number is bounded by the calls of the program. A job is never rejected.
    jobs: VecDeque<Job>,
    threads: usize,
    idle: usize,
    closed: bool,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Workers {
    /// Starts the first thread.
    pub(crate) fn start() -> Result<Self> {
        let workers = Self {
            shared: Arc::default(),
        };
        workers.shared.lock().threads = 1;
        spawn(&workers.shared).map_err(|error| {
            FerrumError::resource_exhausted(format!("no thread could be started: {error}"))
        })?;
        Ok(workers)
    }

    /// Runs the job on a thread, in any case.
    pub(crate) fn submit(&self, job: impl FnOnce() + Send + 'static) {
        let mut state = self.shared.lock();
        state.jobs.push_back(Box::new(job));
        if state.jobs.len() <= state.idle || state.threads >= MAX_THREADS {
            drop(state);
            self.shared.changed.notify_one();
            return;
        }
        state.threads += 1;
        drop(state);
        if spawn(&self.shared).is_err() {
            // An existing thread runs it.
            self.shared.lock().threads -= 1;
            self.shared.changed.notify_one();
        }
    }

    /// Runs a call on a thread and returns its result. If the future is dropped, a call that has
    /// not begun is not made, and a call that has begun runs to its end and its result is dropped.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        call: impl FnOnce() -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let (promise, answer) = pair();
        self.submit(move || {
            if !promise.is_abandoned() {
                drop(promise.fulfil(call()));
            }
        });
        answer.await?
    }
}

impl Drop for Workers {
    fn drop(&mut self) {
        self.shared.lock().closed = true;
        self.shared.changed.notify_all();
    }
}

fn spawn(shared: &Arc<Shared>) -> std::io::Result<()> {
    let shared = shared.clone();
    std::thread::Builder::new()
        .name("ferrum-mem".into())
        .spawn(move || work(&shared))
        .map(drop)
}

fn work(shared: &Shared) {
    let mut state = shared.lock();
    loop {
        while let Some(job) = state.jobs.pop_front() {
            drop(state);
            // The panic hook has reported it, and the job's promise is dropped.
            let _ = catch_unwind(AssertUnwindSafe(job));
            state = shared.lock();
        }
        if state.closed {
            break;
        }
        state.idle += 1;
        let (woken, waited) = shared
            .changed
            .wait_timeout(state, IDLE_TIMEOUT)
            .unwrap_or_else(PoisonError::into_inner);
        state = woken;
        state.idle -= 1;
        if waited.timed_out() && state.jobs.is_empty() && state.threads > 1 && !state.closed {
            break;
        }
    }
    state.threads -= 1;
}

#[cfg(test)]
mod tests {
    use std::future::Future;
    use std::sync::mpsc::channel;
    use std::task::{Context, Waker};

    use super::*;

    #[test]
    fn test_a_job_never_waits_for_another() {
        let workers = Workers::start().unwrap();
        let (told, hear) = channel();
        let gates: Vec<_> = (0..20)
            .map(|number| {
                let (open, gate) = channel::<()>();
                let told = told.clone();
                workers.submit(move || {
                    told.send(number).unwrap();
                    gate.recv().unwrap();
                    told.send(100 + number).unwrap();
                });
                open
            })
            .collect();
        let mut begun: Vec<_> = (0..20).map(|_| hear.recv().unwrap()).collect();
        begun.sort_unstable();
        assert_eq!(begun, (0..20).collect::<Vec<_>>());
        drop(workers);
        gates.iter().for_each(|open| open.send(()).unwrap());
        drop(told);
        assert_eq!(hear.iter().count(), 20);
    }

    #[test]
    fn test_a_panic_is_an_error_and_the_next_job_runs() {
        let workers = Workers::start().unwrap();
        let failed = crate::testing::block_on(workers.run::<()>(|| panic!("provoked")));
        assert!(matches!(failed, Err(FerrumError::Internal { .. })));
        assert_eq!(crate::testing::block_on(workers.run(|| Ok(3))).unwrap(), 3);
    }

    #[test]
    fn test_call_of_a_dropped_future_is_not_made() {
        let workers = Workers::start().unwrap();
        workers.shared.lock().threads = MAX_THREADS;
        let (open, gate) = channel::<()>();
        workers.submit(move || gate.recv().unwrap());
        let (told, hear) = channel::<()>();
        {
            let run = workers.run(move || {
                told.send(()).unwrap();
                Ok(())
            });
            let mut run = std::pin::pin!(run);
            let polled = run.as_mut().poll(&mut Context::from_waker(Waker::noop()));
            assert!(polled.is_pending());
        }
        open.send(()).unwrap();
        assert!(hear.recv().is_err(), "the call was made");
        workers.shared.lock().threads = 1;
    }
}
