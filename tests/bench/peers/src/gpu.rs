//! `gpu-allocator` over a simulated Vulkan device.
//!
//! The crate's algorithm is private, and its public allocator requests memory
//! from a Vulkan device. It needs four functions of the device: two queries, of
//! its memory and of its properties, and the allocation and the free of device
//! memory. This file simulates them. They take almost no time, so the bench
//! measures the crate.

use std::ffi::{c_void, CStr};
use std::sync::atomic::{AtomicU64, Ordering};

use ash::vk::{self, Handle};
use gpu_allocator::vulkan::{
    Allocation, AllocationCreateDesc, AllocationScheme, Allocator, AllocatorCreateDesc,
};
use gpu_allocator::{AllocationSizes, AllocatorDebugSettings, MemoryLocation};

use crate::{Blocks, Place};

const HEAP_BYTES: u64 = 1 << 40;

pub struct GpuBlocks {
    allocator: Allocator,
    granule_bytes: u64,
}

unsafe extern "system" fn memory_properties(
    _: vk::PhysicalDevice,
    properties: *mut vk::PhysicalDeviceMemoryProperties,
) {
    *properties = vk::PhysicalDeviceMemoryProperties {
        memory_type_count: 1,
        memory_heap_count: 1,
        ..Default::default()
    };
    (*properties).memory_types[0].property_flags = vk::MemoryPropertyFlags::DEVICE_LOCAL;
    (*properties).memory_heaps[0].size = HEAP_BYTES;
    (*properties).memory_heaps[0].flags = vk::MemoryHeapFlags::DEVICE_LOCAL;
}

unsafe extern "system" fn properties(
    _: vk::PhysicalDevice,
    properties: *mut vk::PhysicalDeviceProperties,
) {
    *properties = vk::PhysicalDeviceProperties::default();
    (*properties).limits.buffer_image_granularity = 1;
}

unsafe extern "system" fn allocate_memory(
    _: vk::Device,
    _: *const vk::MemoryAllocateInfo<'_>,
    _: *const vk::AllocationCallbacks<'_>,
    memory: *mut vk::DeviceMemory,
) -> vk::Result {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    *memory = vk::DeviceMemory::from_raw(NEXT.fetch_add(1, Ordering::Relaxed));
    vk::Result::SUCCESS
}

unsafe extern "system" fn free_memory(
    _: vk::Device,
    _: vk::DeviceMemory,
    _: *const vk::AllocationCallbacks<'_>,
) {
}

/// Address of a simulated function. For any other function it is null, so that
/// `ash` panics if the crate calls it.
fn simulated(name: &CStr) -> *const c_void {
    match name.to_bytes() {
        b"vkGetPhysicalDeviceMemoryProperties" => memory_properties as *const c_void,
        b"vkGetPhysicalDeviceProperties" => properties as *const c_void,
        b"vkAllocateMemory" => allocate_memory as *const c_void,
        b"vkFreeMemory" => free_memory as *const c_void,
        _ => std::ptr::null(),
    }
}

impl GpuBlocks {
    pub fn new(granule_bytes: u64) -> Self {
        // SAFETY: the called functions have the types of Vulkan. The handles are
        // only passed on to them.
        let description = unsafe {
            AllocatorCreateDesc {
                instance: ash::Instance::load_with(simulated, vk::Instance::from_raw(1)),
                device: ash::Device::load_with(simulated, vk::Device::from_raw(1)),
                physical_device: vk::PhysicalDevice::from_raw(1),
                debug_settings: AllocatorDebugSettings::default(),
                buffer_device_address: false,
                allocation_sizes: AllocationSizes::default(),
            }
        };
        Self {
            allocator: Allocator::new(&description).expect("an allocator"),
            granule_bytes,
        }
    }
}

impl Blocks for GpuBlocks {
    const VERSION: &'static CStr = c"0.28.0";
    const SINGLE_THREADED: bool = true;

    #[inline(always)]
    fn allocate(&mut self, size_bytes: u64) -> u64 {
        let allocation = self.allocator.allocate(&AllocationCreateDesc {
            name: "",
            requirements: vk::MemoryRequirements {
                size: size_bytes.next_multiple_of(self.granule_bytes),
                alignment: self.granule_bytes,
                memory_type_bits: 1,
            },
            location: MemoryLocation::GpuOnly,
            linear: true,
            allocation_scheme: AllocationScheme::GpuAllocatorManaged,
        });
        match allocation {
            // The free of a block needs more than 64 bits. Users of the crate
            // store them too.
            Ok(allocation) => Box::into_raw(Box::new(allocation)) as u64,
            Err(_) => 0,
        }
    }

    #[inline(always)]
    fn release(&mut self, block: u64) -> bool {
        // SAFETY: the bench frees each block of `allocate` once.
        let allocation = unsafe { Box::from_raw(block as *mut Allocation) };
        self.allocator.free(*allocation).is_ok()
    }

    /// All memory of the crate, because its memory blocks have no order.
    fn place(&mut self, _: u64, _: u64) -> Place {
        Place {
            begin_bytes: 0,
            end_bytes: self.allocator.capacity(),
        }
    }
}
