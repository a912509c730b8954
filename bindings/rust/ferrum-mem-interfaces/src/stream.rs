use std::mem::ManuallyDrop;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use ferrum_interfaces::memory::{EventHandle, StreamHandle, StreamManager};
use ferrum_mem::{ErrorKind, Stream};
use ferrum_types::{Device, FerrumError, Result};

use crate::completion::{pair, Answer};
use crate::error::error_of;
use crate::hub::{locked, read, written, Hub};
use crate::workers::Workers;

/// The default stream of a device that cannot be opened. Every call rejects it.
const NOWHERE: StreamHandle = StreamHandle(u64::MAX);

/// A stream with a handle.
pub(crate) struct Queue {
    pub(crate) stream: ManuallyDrop<Stream>,
    workers: Arc<Workers>,
    /// The stream manager that owns it; `None` for a default stream.
    owner: Option<u64>,
    /// The amount of work that was queued through its handle.
    queued: AtomicU64,
}

fn unknown_stream(handle: StreamHandle) -> FerrumError {
    FerrumError::not_found(format!("no stream has the stream handle {:#x}", handle.0))
}

impl Drop for Queue {
    fn drop(&mut self) {
        // SAFETY: it has no users any more, and is taken only here.
        let stream = unsafe { ManuallyDrop::take(&mut self.stream) };
        // A stream with work waits when it is dropped, so that is done on a worker.
        if !stream.is_ready().unwrap_or(true) {
            self.workers.submit(move || drop(stream));
        }
    }
}

impl Queue {
    /// Queues work and counts it.
    pub(crate) fn queue<T>(
        &self,
        call: impl FnOnce(&Stream) -> ferrum_mem::Result<T>,
    ) -> Result<T> {
        self.queued.fetch_add(1, Ordering::SeqCst);
        call(&self.stream).map_err(error_of)
    }

    /// The first failure of the queued work; `None` while work is running.
    fn result_if_idle(&self) -> Option<Result<()>> {
        match self.stream.synchronize(Some(Duration::ZERO)) {
            Err(error) if error.kind == ErrorKind::Timeout => None,
            asked => Some(asked.map_err(error_of)),
        }
    }

    /// The first failure of the work up to `number`, which is done. Called on a worker.
    fn result_up_to(&self, number: u64) -> Result<()> {
        // Do not wait for later work: the next query then returns the failure. Without later work,
        // wait: the library may count the host function that reported the end as work for some
        // microseconds.
        if self.queued.load(Ordering::SeqCst) != number {
            return self.result_if_idle().unwrap_or(Ok(()));
        }
        match self.stream.synchronize(Some(Duration::from_millis(100))) {
            Err(error) if error.kind == ErrorKind::Timeout => Ok(()),
            asked => asked.map_err(error_of),
        }
    }
}

impl Hub {
    fn add_stream(&self, stream: Stream, owner: Option<u64>) -> StreamHandle {
        let id = stream.raw().id;
        written(&self.streams).entry(id).or_insert_with(|| {
            Arc::new(Queue {
                stream: ManuallyDrop::new(stream),
                workers: self.workers.clone(),
                owner,
                queued: AtomicU64::new(0),
            })
        });
        StreamHandle(id)
    }

    fn default_stream(&self, device: &Device) -> Result<StreamHandle> {
        let stream = self.devices.open(device)?.default_stream();
        Ok(self.add_stream(stream.map_err(error_of)?, None))
    }

    /// The stream of a handle; 0 is the default stream of the device.
    pub(crate) fn queue(&self, handle: StreamHandle, device: &Device) -> Result<Arc<Queue>> {
        let handle = if handle == StreamHandle::default() {
            self.default_stream(device)?
        } else {
            handle
        };
        let found = read(&self.streams).get(&handle.0).cloned();
        found.ok_or_else(|| unknown_stream(handle))
    }

    /// The result of the work that is queued now. A worker then drops the stream, whether or not a
    /// future waits.
    fn when_drained(self: &Arc<Self>, queue: Arc<Queue>) -> Result<Answer<Result<()>>> {
        let (promise, answer) = pair();
        let (hub, waited) = (self.clone(), queue.clone());
        let number = queue.queued.fetch_add(1, Ordering::SeqCst) + 1;
        queue
            .stream
            .call(move || {
                let workers = hub.clone();
                workers.workers.submit(move || {
                    let result = waited.result_up_to(number);
                    drop(waited);
                    drop(promise.fulfil(result));
                    drop(hub);
                });
            })
            .map_err(error_of)?;
        Ok(answer)
    }

    /// Ends a stream after its work is done.
    fn end(self: &Arc<Self>, queue: Arc<Queue>) -> Result<Option<Answer<Result<()>>>> {
        match queue.result_if_idle() {
            Some(asked) => asked.map(|()| None),
            None => self.when_drained(queue).map(Some),
        }
    }
}

/// [`StreamManager`] on ferrum_mem. [`crate::FerrumMem`] creates it. A drop destroys
/// its streams after their work has completed. Handles are those of the C ABI.
pub struct FerrumStreamManager {
    hub: Arc<Hub>,
    id: u64,
    device: Device,
}

impl FerrumStreamManager {
    pub(crate) fn new(hub: Arc<Hub>, id: u64, device: Device) -> Self {
        Self { hub, id, device }
    }

    fn queue(&self, handle: StreamHandle) -> Result<Arc<Queue>> {
        self.hub.queue(handle, &self.device)
    }
}

impl std::fmt::Debug for FerrumStreamManager {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FerrumStreamManager")
            .field("device", &self.device)
            .finish()
    }
}

impl Drop for FerrumStreamManager {
    fn drop(&mut self) {
        let mut streams = written(&self.hub.streams);
        let ids: Vec<u64> = streams
            .iter()
            .filter(|(_, queue)| queue.owner == Some(self.id))
            .map(|(id, _)| *id)
            .collect();
        let ours: Vec<_> = ids.iter().filter_map(|id| streams.remove(id)).collect();
        drop(streams);
        for queue in ours {
            // There is no caller to report the result of its work to.
            drop(self.hub.end(queue));
        }
    }
}

#[async_trait]
impl StreamManager for FerrumStreamManager {
    async fn create_stream(&self, device: &Device) -> Result<StreamHandle> {
        let stream = self.hub.opened(device).await?.create_stream();
        Ok(self
            .hub
            .add_stream(stream.map_err(error_of)?, Some(self.id)))
    }

    /// The handle is invalid at once. Waits for the stream's work, and returns its first failure
    /// that was not reported yet. The stream is destroyed then too.
    async fn destroy_stream(&self, stream: StreamHandle) -> Result<()> {
        let queue = self.queue(stream)?;
        if queue.owner.is_none() {
            return Err(FerrumError::invalid_parameter(format!(
                "stream {:#x} is the default stream, which is destroyed with its device",
                stream.0
            )));
        }
        drop(queue);
        let removed = written(&self.hub.streams).remove(&stream.0);
        let queue = removed.ok_or_else(|| unknown_stream(stream))?;
        match self.hub.end(queue)? {
            Some(answer) => answer.await?,
            None => Ok(()),
        }
    }

    /// Returns the first failure of the stream's work that was not reported yet. If further work is
    /// queued meanwhile, a later call may return it instead.
    async fn synchronize_stream(&self, stream: StreamHandle) -> Result<()> {
        let queue = self.queue(stream)?;
        match queue.result_if_idle() {
            Some(asked) => asked,
            None => self.hub.when_drained(queue)?.await?,
        }
    }

    async fn is_stream_ready(&self, stream: StreamHandle) -> Result<bool> {
        self.queue(stream)?.stream.is_ready().map_err(error_of)
    }

    /// For a device that cannot be opened, returns a handle that every call rejects.
    fn default_stream(&self, device: &Device) -> StreamHandle {
        self.hub.default_stream(device).unwrap_or(NOWHERE)
    }

    async fn record_event(&self, stream: StreamHandle) -> Result<EventHandle> {
        let event = self.queue(stream)?.queue(Stream::record)?;
        Ok(locked(&self.hub.events).insert(event))
    }

    async fn wait_event(&self, stream: StreamHandle, event: EventHandle) -> Result<()> {
        let queue = self.queue(stream)?;
        let found = locked(&self.hub.events).find(event)?;
        match found {
            Some(event) => queue.queue(|stream| stream.wait_event(&event)),
            None => Ok(()),
        }
    }
}
