package cuda

// Structs of the vendor driver's interface, with the layout of cuda.h in versions 11.2 to
// 12.9. Unused fields have no name and stay 0. The comment on each field and number is its
// name in cuda.h; a test compares it with the header.

// location is CUmemLocation.
type location struct {
	kind int32 // type
	id   int32 // id
}

// pageProperties is CUmemAllocationProp: 32 bytes.
type pageProperties struct {
	kind     int32    // type
	handles  int32    // requestedHandleTypes
	location location // location
	// A pointer for Windows, and the compression of the memory.
	_    uintptr
	_    uint8
	rdma uint8 // allocFlags.gpuDirectRDMACapable
	_    [6]byte
}

// poolProperties is CUmemPoolProps: 88 bytes. Later versions use more of them.
type poolProperties struct {
	kind int32 // allocType
	// The kinds of handles for sharing: none.
	_        int32
	location location // location
	_        [72]byte
}

// accessDescription is CUmemAccessDesc: 12 bytes.
type accessDescription struct {
	location location // location
	access   int32    // flags
}

// Values of the vendor driver's interface. Each is the same in every version.
const (
	allocationPinned = 1 // CU_MEM_ALLOCATION_TYPE_PINNED
	locationDevice   = 1 // CU_MEM_LOCATION_TYPE_DEVICE
	locationHost     = 2 // CU_MEM_LOCATION_TYPE_HOST
	// deviceHost is the number of the host in the older calls, in place of a device.
	deviceHost = -1 // CU_DEVICE_CPU

	attachGlobal = 1 // CU_MEM_ATTACH_GLOBAL

	adviseReadMostly   = 1 // CU_MEM_ADVISE_SET_READ_MOSTLY
	adviseReadSeldom   = 2 // CU_MEM_ADVISE_UNSET_READ_MOSTLY
	advisePreferred    = 3 // CU_MEM_ADVISE_SET_PREFERRED_LOCATION
	adviseNotPreferred = 4 // CU_MEM_ADVISE_UNSET_PREFERRED_LOCATION

	accessNone      = 0 // CU_MEM_ACCESS_FLAGS_PROT_NONE
	accessRead      = 1 // CU_MEM_ACCESS_FLAGS_PROT_READ
	accessReadWrite = 3 // CU_MEM_ACCESS_FLAGS_PROT_READWRITE

	handleFileDescriptor = 1 // CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR
	handleFabric         = 8 // CU_MEM_HANDLE_TYPE_FABRIC

	ipcLazyPeer = 1 // CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS

	granularityMinimum     = 0 // CU_MEM_ALLOC_GRANULARITY_MINIMUM
	granularityRecommended = 1 // CU_MEM_ALLOC_GRANULARITY_RECOMMENDED

	streamNonBlocking = 1 // CU_STREAM_NON_BLOCKING

	eventBlockingSync  = 1 // CU_EVENT_BLOCKING_SYNC
	eventInterprocess  = 4 // CU_EVENT_INTERPROCESS
	eventDisableTiming = 2 // CU_EVENT_DISABLE_TIMING

	registerPortable  = 1 // CU_MEMHOSTREGISTER_PORTABLE
	registerDeviceMap = 2 // CU_MEMHOSTREGISTER_DEVICEMAP
	registerReadOnly  = 8 // CU_MEMHOSTREGISTER_READ_ONLY

	hostPortable  = 1 // CU_MEMHOSTALLOC_PORTABLE
	hostDeviceMap = 2 // CU_MEMHOSTALLOC_DEVICEMAP

	captureRelaxed = 2 // CU_STREAM_CAPTURE_MODE_RELAXED

	captureStatusNone   = 0 // CU_STREAM_CAPTURE_STATUS_NONE
	captureStatusActive = 1 // CU_STREAM_CAPTURE_STATUS_ACTIVE

	memoryTypeHost   = 1 // CU_MEMORYTYPE_HOST
	memoryTypeDevice = 2 // CU_MEMORYTYPE_DEVICE

	pointerMemoryType = 2  // CU_POINTER_ATTRIBUTE_MEMORY_TYPE
	pointerManaged    = 8  // CU_POINTER_ATTRIBUTE_IS_MANAGED
	pointerOrdinal    = 9  // CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL
	pointerRangeStart = 11 // CU_POINTER_ATTRIBUTE_RANGE_START_ADDR
	pointerRangeSize  = 12 // CU_POINTER_ATTRIBUTE_RANGE_SIZE

	jitErrorLog      = 5 // CU_JIT_ERROR_LOG_BUFFER
	jitErrorLogBytes = 6 // CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES

	functionMaxThreads  = 0 // CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK
	functionSharedBytes = 1 // CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES

	attributeThreads     = 1 // CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK
	attributeBlockX      = 2 // CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X
	attributeBlockY      = 3 // CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y
	attributeBlockZ      = 4 // CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z
	attributeGridX       = 5 // CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X
	attributeGridY       = 6 // CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y
	attributeGridZ       = 7 // CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z
	attributeSharedBytes = 8 // CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK

	attributeMajor      = 75  // CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR
	attributeMinor      = 76  // CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR
	attributeVirtual    = 102 // CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED
	attributeUnified    = 41  // CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING
	attributeDescriptor = 103 // CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED
	attributeManaged    = 83  // CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY
	attributeConcurrent = 89  // CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS
	attributeRegister   = 99  // CU_DEVICE_ATTRIBUTE_HOST_REGISTER_SUPPORTED
	attributeMapHost    = 19  // CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY
	attributeReadOnly   = 113 // CU_DEVICE_ATTRIBUTE_READ_ONLY_HOST_REGISTER_SUPPORTED
	attributeRDMA       = 110 // CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WITH_CUDA_VMM_SUPPORTED
	attributeFabric     = 128 // CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_FABRIC_SUPPORTED
	attributeOrdered    = 115 // CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED
)
