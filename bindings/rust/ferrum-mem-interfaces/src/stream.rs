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

/// What stands for the default stream of a device that cannot be opened: no call
/// accepts it.
const NOWHERE: StreamHandle = StreamHandle(u64::MAX);

/// A stream that has a handle.
pub(crate) struct Queue {
    pub(crate) stream: ManuallyDrop<Stream>,
    workers: Arc<Workers>,
    /// Which stream manager it goes with; none for a default stream.
    owner: Option<u64>,
    /// Counts what was queued through its handle.
    queued: AtomicU64,
}

fn unknown_stream(handle: StreamHandle) -> FerrumError {
    FerrumError::not_found(format!("stream handle {:#x} is not alive", handle.0))
}

impl Drop for Queue {
    fn drop(&mut self) {
        // SAFETY: nobody uses it any more, and this is the one taking.
        let stream = unsafe { ManuallyDrop::take(&mut self.stream) };
        // One that has work waits for it when it is dropped: not on this thread.
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

    /// The first failure of what was queued; none while there is work.
    fn ask_idle(&self) -> Option<Result<()>> {
        match self.stream.synchronize(Some(Duration::ZERO)) {
            Err(error) if error.kind == ErrorKind::Timeout => None,
            asked => Some(asked.map_err(error_of)),
        }
    }

    /// The first failure of what was queued up to `number`, where that is done. On a
    /// worker.
    fn ask(&self, number: u64) -> Result<()> {
        // Work that was queued later is not waited for: what failed before it is then
        // told by the next who asks. Otherwise the library may still count the call
        // that said that all is done, for microseconds.
        if self.queued.load(Ordering::SeqCst) != number {
            return self.ask_idle().unwrap_or(Ok(()));
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

    /// The stream of a handle; 0 is the default one of the device.
    pub(crate) fn queue(&self, handle: StreamHandle, device: &Device) -> Result<Arc<Queue>> {
        let handle = if handle == StreamHandle::default() {
            self.default_stream(device)?
        } else {
            handle
        };
        let found = read(&self.streams).get(&handle.0).cloned();
        found.ok_or_else(|| unknown_stream(handle))
    }

    /// How the work that is queued now ends. A worker lets go of the stream then,
    /// whether anybody waits or not.
    fn when_drained(self: &Arc<Self>, queue: Arc<Queue>) -> Result<Answer<Result<()>>> {
        let (promise, answer) = pair();
        let (hub, waited) = (self.clone(), queue.clone());
        let number = queue.queued.fetch_add(1, Ordering::SeqCst) + 1;
        queue
            .stream
            .call(move || {
                let workers = hub.clone();
                workers.workers.submit(move || {
                    let result = waited.ask(number);
                    drop(waited);
                    drop(promise.fulfil(result));
                    drop(hub);
                });
            })
            .map_err(error_of)?;
        Ok(answer)
    }

    /// Ends a stream once its work is done.
    fn end(self: &Arc<Self>, queue: Arc<Queue>) -> Result<Option<Answer<Result<()>>>> {
        match queue.ask_idle() {
            Some(asked) => asked.map(|()| None),
            None => self.when_drained(queue).map(Some),
        }
    }
}

/// [`StreamManager`] on ferrum_mem; [`crate::FerrumMem`] makes it. Its streams go with
/// it, once their work is done. Handles are those of the C ABI.
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
            // Nobody is left who could be told how its work ended.
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

    /// The handle is dead at once. Waits for the stream's work, and returns its first
    /// failure that nobody has asked for; the stream is gone then, too.
    async fn destroy_stream(&self, stream: StreamHandle) -> Result<()> {
        let queue = self.queue(stream)?;
        if queue.owner.is_none() {
            return Err(FerrumError::invalid_parameter(format!(
                "stream {:#x} is a default stream and goes with its device",
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

    /// Returns the first failure of the stream's work that nobody has asked for. While
    /// further work is queued it may be left to the next who asks.
    async fn synchronize_stream(&self, stream: StreamHandle) -> Result<()> {
        let queue = self.queue(stream)?;
        match queue.ask_idle() {
            Some(asked) => asked,
            None => self.hub.when_drained(queue)?.await?,
        }
    }

    async fn is_stream_ready(&self, stream: StreamHandle) -> Result<bool> {
        self.queue(stream)?.stream.is_ready().map_err(error_of)
    }

    /// Of a device that cannot be opened it is a handle that every call refuses.
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
