use std::mem::ManuallyDrop;
use std::ptr::NonNull;
use std::time::Duration;

use crate::device::Device;
use crate::error::check;
use crate::manager::Memory;
use crate::stream::{raw_of, Stream};
use crate::{sys, Error, Result};

/// What a program does through a mapping.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum HostAccess {
    /// Reads only.
    ReadOnly,
    /// Writes only: what is not written has no defined value afterwards.
    WriteOnly,
    /// Both.
    #[default]
    ReadWrite,
}

impl HostAccess {
    fn to_raw(self) -> sys::ferrum_host_access {
        match self {
            Self::ReadOnly => sys::FERRUM_HOST_READ_ONLY,
            Self::WriteOnly => sys::FERRUM_HOST_WRITE_ONLY,
            Self::ReadWrite => sys::FERRUM_HOST_READ_WRITE,
        }
    }
}

/// What a program expects of a block, on one of three axes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum UsageHint {
    /// Nothing; as a hint, it takes all others back.
    #[default]
    None,
    /// Order: one after the other.
    Sequential,
    /// Order: scattered.
    Random,
    /// Direction: mostly read.
    ReadMostly,
    /// Direction: mostly written.
    WriteMostly,
    /// Lifetime: may be dropped eagerly.
    Temporary,
    /// Lifetime: to be kept resident.
    Resident,
}

impl UsageHint {
    fn to_raw(self) -> sys::ferrum_usage_hint {
        match self {
            Self::None => sys::FERRUM_USAGE_NONE,
            Self::Sequential => sys::FERRUM_USAGE_SEQUENTIAL,
            Self::Random => sys::FERRUM_USAGE_RANDOM,
            Self::ReadMostly => sys::FERRUM_USAGE_READ_MOSTLY,
            Self::WriteMostly => sys::FERRUM_USAGE_WRITE_MOSTLY,
            Self::Temporary => sys::FERRUM_USAGE_TEMPORARY,
            Self::Resident => sys::FERRUM_USAGE_RESIDENT,
        }
    }

    fn from_raw(raw: sys::ferrum_usage_hint) -> Self {
        match raw {
            sys::FERRUM_USAGE_SEQUENTIAL => Self::Sequential,
            sys::FERRUM_USAGE_RANDOM => Self::Random,
            sys::FERRUM_USAGE_READ_MOSTLY => Self::ReadMostly,
            sys::FERRUM_USAGE_WRITE_MOSTLY => Self::WriteMostly,
            sys::FERRUM_USAGE_TEMPORARY => Self::Temporary,
            sys::FERRUM_USAGE_RESIDENT => Self::Resident,
            _ => Self::None,
        }
    }
}

/// The last hint of each axis.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UsageHints {
    /// Sequential, random or none.
    pub order: UsageHint,
    /// Mostly read, mostly written or none.
    pub direction: UsageHint,
    /// Temporary, resident or none.
    pub lifetime: UsageHint,
}

/// How a block is used, as far as its last accesses show.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum AccessPattern {
    /// Too few accesses.
    #[default]
    Unknown,
    /// One after the other.
    Sequential,
    /// Scattered.
    Random,
    /// Clusters in time.
    Burst,
    /// More than one kind.
    Mixed,
}

/// What copies, fills, writes, reads and mappings did with a block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AccessStats {
    /// Number of reads.
    pub read_count: u64,
    /// Number of writes.
    pub write_count: u64,
    /// Mean bytes per read, rounded down; 0 when there was none.
    pub average_read_bytes: u64,
    /// Mean bytes per write, rounded down; 0 when there was none.
    pub average_write_bytes: u64,
    /// Time of the last access since the library started; none: never.
    pub last_access: Option<Duration>,
    /// The pattern of the last accesses.
    pub pattern: AccessPattern,
}

/// A range of a block that the host addresses, until it is dropped. A copy is
/// written back then; [`HostMapping::unmap`] tells whether that succeeded.
#[derive(Debug)]
pub struct HostMapping<'a> {
    memory: &'a Memory,
    id: u64,
    pointer: NonNull<u8>,
    size_bytes: u64,
    staged: bool,
}

// SAFETY: the pointer is only handed out; whoever uses it answers for that.
unsafe impl Send for HostMapping<'_> {}
// SAFETY: as above.
unsafe impl Sync for HostMapping<'_> {}

impl Drop for HostMapping<'_> {
    fn drop(&mut self) {
        // SAFETY: plain values.
        unsafe { sys::ferrum_memory_unmap(self.memory.raw(), self.id) };
    }
}

impl HostMapping<'_> {
    /// Where the range is, for as long as the mapping lives. Work that is queued on
    /// the block, and other mappings of it, may read and write it meanwhile.
    pub fn as_ptr(&self) -> *mut u8 {
        self.pointer.as_ptr()
    }

    /// Length of the range.
    pub fn size_bytes(&self) -> u64 {
        self.size_bytes
    }

    /// Whether it is a copy, not the block itself.
    pub fn is_staged(&self) -> bool {
        self.staged
    }

    /// The bytes.
    ///
    /// # Safety
    /// Nobody writes to the range while the slice lives, and it was not mapped
    /// for writing only.
    pub unsafe fn as_slice(&self) -> &[u8] {
        // SAFETY: the library keeps so many bytes there; the rest is the caller's.
        unsafe { std::slice::from_raw_parts(self.pointer.as_ptr(), self.size_bytes as usize) }
    }

    /// The bytes, to be written.
    ///
    /// # Safety
    /// Nobody else reads or writes the range while the slice lives, and it was not
    /// mapped for reading only.
    pub unsafe fn as_mut_slice(&mut self) -> &mut [u8] {
        // SAFETY: the library keeps so many bytes there; the rest is the caller's.
        unsafe { std::slice::from_raw_parts_mut(self.pointer.as_ptr(), self.size_bytes as usize) }
    }

    /// Ends the mapping now. When that fails it has not ended.
    pub fn unmap(self) -> std::result::Result<(), Box<(Self, Error)>> {
        let mapping = ManuallyDrop::new(self);
        // SAFETY: plain values.
        match check(unsafe { sys::ferrum_memory_unmap(mapping.memory.raw(), mapping.id) }) {
            Ok(()) => Ok(()),
            Err(error) => Err(Box::new((ManuallyDrop::into_inner(mapping), error))),
        }
    }
}

impl Memory {
    /// Makes the whole block addressable by the host, after what is queued on the
    /// streams that have used it.
    pub fn map(&self, access: HostAccess) -> Result<HostMapping<'_>> {
        self.map_range(access, 0, None)
    }

    /// As `map`, for a range; without a size, all from the offset on.
    pub fn map_range(
        &self,
        access: HostAccess,
        offset_bytes: u64,
        size_bytes: Option<u64>,
    ) -> Result<HostMapping<'_>> {
        let request = sys::ferrum_map_request {
            access: access.to_raw(),
            memory: self.raw(),
            offset_bytes,
            size_bytes: size_bytes.unwrap_or(sys::FERRUM_MAP_TO_END),
            ..Default::default()
        };
        let mut raw = sys::ferrum_mapping::default();
        // SAFETY: the request lives through the call, raw is an output of it.
        check(unsafe { sys::ferrum_memory_map(&request, &mut raw) })?;
        Ok(HostMapping {
            memory: self,
            id: raw.mapping_id,
            pointer: NonNull::new(raw.host_pointer.cast()).unwrap_or(NonNull::dangling()),
            size_bytes: raw.size_bytes,
            staged: raw.is_staged != 0,
        })
    }

    /// Queues, on a stream of the block's device or on its default one, that the
    /// block is brought near a device before it is used there.
    pub fn prefetch(&self, target: &Device, stream: Option<&Stream>) -> Result<()> {
        // SAFETY: plain values.
        check(unsafe { sys::ferrum_memory_prefetch(self.raw(), target.raw(), raw_of(stream)) })
    }

    /// Keeps a hint with the block, in place of an earlier one of the same axis.
    pub fn set_usage_hint(&self, hint: UsageHint) -> Result<()> {
        // SAFETY: plain values.
        check(unsafe { sys::ferrum_memory_set_usage_hint(self.raw(), hint.to_raw()) })
    }

    /// The hints of the block.
    pub fn usage_hints(&self) -> Result<UsageHints> {
        let mut raw = sys::ferrum_usage_hints::default();
        // SAFETY: raw is an output of the call, with its size set.
        check(unsafe { sys::ferrum_memory_get_usage_hints(self.raw(), &mut raw) })?;
        Ok(UsageHints {
            order: UsageHint::from_raw(raw.order),
            direction: UsageHint::from_raw(raw.direction),
            lifetime: UsageHint::from_raw(raw.lifetime),
        })
    }

    /// How the block was used; none when its manager does not track.
    pub fn access_stats(&self) -> Result<Option<AccessStats>> {
        let mut raw = sys::ferrum_access_stats::default();
        // SAFETY: raw is an output of the call, with its size set.
        check(unsafe { sys::ferrum_memory_get_access_stats(self.raw(), &mut raw) })?;
        Ok((raw.is_tracked != 0).then(|| AccessStats {
            read_count: raw.read_count,
            write_count: raw.write_count,
            average_read_bytes: raw.average_read_bytes,
            average_write_bytes: raw.average_write_bytes,
            last_access: (raw.is_accessed != 0).then(|| Duration::from_nanos(raw.last_access_ns)),
            pattern: match raw.pattern {
                sys::FERRUM_PATTERN_SEQUENTIAL => AccessPattern::Sequential,
                sys::FERRUM_PATTERN_RANDOM => AccessPattern::Random,
                sys::FERRUM_PATTERN_BURST => AccessPattern::Burst,
                sys::FERRUM_PATTERN_MIXED => AccessPattern::Mixed,
                _ => AccessPattern::Unknown,
            },
        }))
    }
}
