use std::time::Duration;

use crate::stream::{raw_of, Stream};
use crate::sys;

/// A tag of a pool, from `Pool::tag`. The counters name the holder of a block by it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PoolTag(pub(crate) u32);

impl PoolTag {
    /// Its number in the pool.
    pub fn number(self) -> u32 {
        self.0
    }
}

/// A request for a block of a pool.
///
/// ```no_run
/// # use ferrum_mem::{Pool, PoolRequest, Result, Stream};
/// # fn take(pool: &Pool, stream: &Stream) -> Result<()> {
/// let request = PoolRequest::new(1 << 16).on(stream).tag(pool.tag("kv")?).group(7);
/// let block = pool.alloc_with(&request)?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug)]
pub struct PoolRequest<'a> {
    size_bytes: u64,
    alignment_bytes: u64,
    stream: Option<&'a Stream>,
    tag: u32,
    lifetime_ns: u64,
    group: u64,
}

impl<'a> PoolRequest<'a> {
    /// A block of a size, which must not be 0.
    pub fn new(size_bytes: u64) -> Self {
        Self {
            size_bytes,
            alignment_bytes: 0,
            stream: None,
            tag: 0,
            lifetime_ns: 0,
            group: 0,
        }
    }

    /// The alignment of the address, a power of two.
    pub fn aligned(mut self, alignment_bytes: u64) -> Self {
        self.alignment_bytes = alignment_bytes;
        self
    }

    /// The first stream that uses the block; otherwise the default stream.
    pub fn on(mut self, stream: &'a Stream) -> Self {
        self.stream = Some(stream);
        self
    }

    /// Name for the counters; otherwise the pool's name.
    pub fn tag(mut self, tag: PoolTag) -> Self {
        self.tag = tag.0;
        self
    }

    /// The expected lifetime of the block: only a hint for the placement.
    pub fn lifetime(mut self, expected: Duration) -> Self {
        self.lifetime_ns = u64::try_from(expected.as_nanos()).unwrap_or(u64::MAX);
        self
    }

    /// A number that is common to blocks that will probably be freed together: only a hint for the
    /// placement.
    pub fn group(mut self, group: u64) -> Self {
        self.group = group;
        self
    }

    pub(crate) fn size_bytes(&self) -> u64 {
        self.size_bytes
    }

    pub(crate) fn raw(&self) -> sys::ferrum_pool_request {
        sys::ferrum_pool_request {
            tag: self.tag,
            size_bytes: self.size_bytes,
            alignment_bytes: self.alignment_bytes,
            stream: raw_of(self.stream),
            expected_lifetime_ns: self.lifetime_ns,
            group: self.group,
            ..Default::default()
        }
    }
}
