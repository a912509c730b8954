//! `offset-allocator`: ranges of at most 2³² − 1 granules. Its tables are
//! outside of the ranges.

use std::ffi::CStr;
use std::mem::{size_of, transmute};

use offset_allocator::{Allocation, Allocator};

use crate::{Blocks, Place};

/// The maximum number of live and free runs. The crate allocates its table for
/// them at once. The bench has up to 100 000 live blocks.
const MOST_RUNS: u32 = 1 << 18;

pub struct OffsetBlocks {
    allocator: Allocator,
    granule_shift: u32,
}

const _: () = assert!(size_of::<Allocation>() == size_of::<u64>());

impl OffsetBlocks {
    pub fn new(granule_bytes: u64) -> Self {
        Self {
            allocator: Allocator::with_max_allocs(u32::MAX, MOST_RUNS),
            granule_shift: granule_bytes.trailing_zeros(),
        }
    }

    fn granules(&self, size_bytes: u64) -> u64 {
        (size_bytes + (1 << self.granule_shift) - 1) >> self.granule_shift
    }
}

impl Blocks for OffsetBlocks {
    const VERSION: &'static CStr = c"0.2.0";
    const SINGLE_THREADED: bool = true;

    #[inline(always)]
    fn allocate(&mut self, size_bytes: u64) -> u64 {
        let Ok(granules) = u32::try_from(self.granules(size_bytes)) else {
            return 0;
        };
        match self.allocator.allocate(granules) {
            // SAFETY: two 32-bit fields without padding. The stored number of the
            // table entry is never 0.
            Some(allocation) => unsafe { transmute::<Allocation, u64>(allocation) },
            None => 0,
        }
    }

    #[inline(always)]
    fn release(&mut self, block: u64) -> bool {
        // SAFETY: the bench frees only blocks of `allocate`.
        self.allocator
            .free(unsafe { transmute::<u64, Allocation>(block) });
        true
    }

    fn place(&mut self, block: u64, size_bytes: u64) -> Place {
        // SAFETY: as in `release`.
        let allocation = unsafe { transmute::<u64, Allocation>(block) };
        let begin = u64::from(allocation.offset);
        Place {
            begin_bytes: begin << self.granule_shift,
            end_bytes: (begin + self.granules(size_bytes)) << self.granule_shift,
        }
    }
}
