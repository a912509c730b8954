package cuda

// Structs of the driver's interface, as cuda.h lays them out in every version from 11.2
// to 12.9. What is not used has no name and stays 0. Behind each field and number stands
// its name in cuda.h, by which a test holds it to the header.

// location is CUmemLocation.
type location struct {
	kind int32 // type
	id   int32 // id
}

// pageProperties is CUmemAllocationProp: 32 bytes.
type pageProperties struct {
	kind int32 // type
	// The kinds of handles to share it by: none.
	_        int32
	location location // location
	// A pointer for Windows, and flags.
	_ uintptr
	_ [8]byte
}

// accessDescription is CUmemAccessDesc: 12 bytes.
type accessDescription struct {
	location location // location
	access   int32    // flags
}

// What the driver's interface means by these numbers, each the same in every version.
const (
	allocationPinned = 1 // CU_MEM_ALLOCATION_TYPE_PINNED
	locationDevice   = 1 // CU_MEM_LOCATION_TYPE_DEVICE

	accessNone      = 0 // CU_MEM_ACCESS_FLAGS_PROT_NONE
	accessRead      = 1 // CU_MEM_ACCESS_FLAGS_PROT_READ
	accessReadWrite = 3 // CU_MEM_ACCESS_FLAGS_PROT_READWRITE

	granularityMinimum     = 0 // CU_MEM_ALLOC_GRANULARITY_MINIMUM
	granularityRecommended = 1 // CU_MEM_ALLOC_GRANULARITY_RECOMMENDED

	streamNonBlocking = 1 // CU_STREAM_NON_BLOCKING

	eventBlockingSync  = 1 // CU_EVENT_BLOCKING_SYNC
	eventDisableTiming = 2 // CU_EVENT_DISABLE_TIMING

	hostPortable  = 1 // CU_MEMHOSTALLOC_PORTABLE
	hostDeviceMap = 2 // CU_MEMHOSTALLOC_DEVICEMAP

	captureRelaxed = 2 // CU_STREAM_CAPTURE_MODE_RELAXED

	memoryTypeDevice = 2 // CU_MEMORYTYPE_DEVICE

	pointerMemoryType = 2  // CU_POINTER_ATTRIBUTE_MEMORY_TYPE
	pointerOrdinal    = 9  // CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL
	pointerRangeStart = 11 // CU_POINTER_ATTRIBUTE_RANGE_START_ADDR
	pointerRangeSize  = 12 // CU_POINTER_ATTRIBUTE_RANGE_SIZE

	attributeVirtual = 102 // CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED
	attributeMapHost = 19  // CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY
	attributeOrdered = 115 // CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED
)
