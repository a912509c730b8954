use crate::error::check;
use crate::pool::Pool;
use crate::stream::{raw_of, Stream};
use crate::{sys, GraphInfo, Rejected, Result};

/// The memory that a pool keeps for a graph, from the beginning of its capture until it is dropped.
/// A drop states that the graph will not run again after the work that is queued on the default
/// stream. If it is dropped during the capture, for example by an early return, its memory stays in
/// the pool until the capture has ended and another graph of the pool is created or dropped, or
/// [`Pool::trim`](crate::Pool::trim) is called.
#[derive(Debug)]
#[must_use = "dropping it releases the graph: the pool reuses its memory"]
pub struct Graph {
    number: u64,
    pool: Pool,
}

impl Drop for Graph {
    fn drop(&mut self) {
        if self.number != 0 {
            self.pool.release_graphs(Some(self.number));
        }
    }
}

impl Pool {
    /// Makes allocations on the streams of a capture use a private pool of the graph, or the
    /// private pool of another graph. Two graphs that share a private pool must run in the order of
    /// their captures, never at the same time. The stream (`None`: the default stream) must be
    /// capturing.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Unsupported`](crate::ErrorKind::Unsupported) without
    /// [`DeviceInfo::capture`](crate::DeviceInfo::capture);
    /// [`ErrorKind::InvalidState`](crate::ErrorKind::InvalidState) if the stream does not capture,
    /// or an error has invalidated its capture;
    /// [`ErrorKind::AlreadyExists`](crate::ErrorKind::AlreadyExists) if this capture has begun in
    /// the pool before; [`ErrorKind::NotFound`](crate::ErrorKind::NotFound) for the `shared_graph`;
    /// [`ErrorKind::Busy`](crate::ErrorKind::Busy) while another graph of its private pool is being
    /// captured.
    ///
    /// C function: [`ferrum_pool_capture_begin`](crate::sys::ferrum_pool_capture_begin).
    pub fn capture(&self, stream: Option<&Stream>, shared: Option<&Graph>) -> Result<Graph> {
        self.release_graphs(None);
        let mut number = 0;
        let other = shared.map_or(0, |graph| graph.number);
        // SAFETY: number is an output of the call.
        check(unsafe {
            sys::ferrum_pool_capture_begin(self.raw(), raw_of(stream), other, &mut number)
        })?;
        Ok(Graph {
            number,
            pool: self.clone(),
        })
    }
}

impl Graph {
    /// Its number in the pool.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// The pool of the captured work.
    pub fn pool(&self) -> &Pool {
        &self.pool
    }

    /// States that the capture has ended. Live blocks stay live.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::NotFound`](crate::ErrorKind::NotFound);
    /// [`ErrorKind::InvalidState`](crate::ErrorKind::InvalidState) while the stream captures, or
    /// after an earlier call.
    ///
    /// C function: [`ferrum_pool_capture_end`](crate::sys::ferrum_pool_capture_end).
    pub fn end(&self) -> Result<()> {
        // SAFETY: takes only numbers.
        check(unsafe { sys::ferrum_pool_capture_end(self.pool.raw(), self.number) })
    }

    /// States that the graph will not run again after the work that is queued on the stream now.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidState`](crate::ErrorKind::InvalidState) during the capture. The error
    /// returns the graph.
    ///
    /// C function: [`ferrum_pool_capture_release`](crate::sys::ferrum_pool_capture_release).
    pub fn release(mut self, stream: Option<&Stream>) -> std::result::Result<(), Rejected<Self>> {
        // SAFETY: takes only numbers.
        let released = check(unsafe {
            sys::ferrum_pool_capture_release(self.pool.raw(), self.number, raw_of(stream))
        });
        match released {
            Ok(()) => {
                self.number = 0;
                Ok(())
            }
            Err(error) => Err(Rejected::new(error, self)),
        }
    }

    /// Describes the graph.
    ///
    /// # Errors
    ///
    /// The errors of every call, such as
    /// [`ErrorKind::InvalidHandle`](crate::ErrorKind::InvalidHandle).
    ///
    /// C function: [`ferrum_pool_capture_get_info`](crate::sys::ferrum_pool_capture_get_info).
    pub fn info(&self) -> Result<GraphInfo> {
        let mut raw = sys::ferrum_graph_info::default();
        // SAFETY: raw is an output of the call, with its size set.
        check(unsafe {
            sys::ferrum_pool_capture_get_info(self.pool.raw(), self.number, &mut raw)
        })?;
        Ok((&raw).into())
    }
}
