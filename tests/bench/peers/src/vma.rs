//! Virtual blocks of the Vulkan Memory Allocator: its algorithm (TLSF) without
//! a device. The crate `vk-mem` contains the sources.

use std::ffi::CStr;
use std::mem::{size_of, transmute};

use vk_mem::{
    VirtualAllocation, VirtualAllocationCreateFlags, VirtualAllocationCreateInfo, VirtualBlock,
    VirtualBlockCreateInfo,
};

use crate::{Blocks, Place};

/// The size of the range: 1 TiB, as for the other peers.
const RANGE_BYTES: u64 = 1 << 40;

/// The strategy that chooses a free run.
pub enum Strategy {
    Default,
    MinMemory,
    MinOffset,
}

pub struct VmaBlocks {
    block: VirtualBlock,
    flags: VirtualAllocationCreateFlags,
    granule_bytes: u64,
}

// SAFETY: any thread may call VMA, but only one thread at a time for one virtual
// block. `Locked` ensures that.
unsafe impl Send for VmaBlocks {}

const _: () = assert!(size_of::<VirtualAllocation>() == size_of::<u64>());

impl VmaBlocks {
    pub fn new(granule_bytes: u64, strategy: Strategy) -> Self {
        let info = VirtualBlockCreateInfo {
            size: RANGE_BYTES,
            ..Default::default()
        };
        Self {
            block: VirtualBlock::new(info).expect("a virtual block"),
            flags: match strategy {
                Strategy::Default => VirtualAllocationCreateFlags::empty(),
                Strategy::MinMemory => {
                    VirtualAllocationCreateFlags::VMA_VIRTUAL_ALLOCATION_CREATE_STRATEGY_MIN_MEMORY_BIT
                }
                Strategy::MinOffset => {
                    VirtualAllocationCreateFlags::VMA_VIRTUAL_ALLOCATION_CREATE_STRATEGY_MIN_OFFSET_BIT
                }
            },
            granule_bytes,
        }
    }

    fn rounded(&self, size_bytes: u64) -> u64 {
        size_bytes.next_multiple_of(self.granule_bytes)
    }
}

impl Blocks for VmaBlocks {
    const VERSION: &'static CStr = c"3.3.0";
    const SINGLE_THREADED: bool = true;

    #[inline(always)]
    fn allocate(&mut self, size_bytes: u64) -> u64 {
        let info = VirtualAllocationCreateInfo {
            size: self.rounded(size_bytes),
            alignment: self.granule_bytes,
            user_data: 0,
            flags: self.flags,
        };
        // SAFETY: the size is not 0 and the alignment a power of two.
        match unsafe { self.block.allocate(info) } {
            // SAFETY: a valid handle of VMA is never 0.
            Ok((allocation, _)) => unsafe { transmute::<VirtualAllocation, u64>(allocation) },
            Err(_) => 0,
        }
    }

    #[inline(always)]
    fn release(&mut self, block: u64) -> bool {
        // SAFETY: the bench frees only blocks of `allocate`.
        unsafe {
            self.block
                .free(&mut transmute::<u64, VirtualAllocation>(block))
        };
        true
    }

    fn place(&mut self, block: u64, size_bytes: u64) -> Place {
        // SAFETY: the block is live.
        let begin = unsafe {
            let allocation = transmute::<u64, VirtualAllocation>(block);
            self.block.get_allocation_info(&allocation)
        }
        .expect("a live block")
        .offset;
        Place {
            begin_bytes: begin,
            end_bytes: begin + self.rounded(size_bytes),
        }
    }
}
