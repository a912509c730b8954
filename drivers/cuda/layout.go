package cuda

// Structs of the driver's interface, as cuda.h lays them out since 10.2. What is
// not used has no name and stays 0.

// location is CUmemLocation.
type location struct {
	kind int32
	id   int32
}

// pageProperties is CUmemAllocationProp: 32 bytes.
type pageProperties struct {
	kind int32
	// The kinds of handles to share it by: none.
	_        int32
	location location
	// A pointer for Windows, and flags.
	_ uintptr
	_ [8]byte
}

// accessDescription is CUmemAccessDesc: 12 bytes.
type accessDescription struct {
	location location
	access   int32
}

// What the driver's interface means by these numbers.
const (
	allocationPinned = 1
	locationDevice   = 1

	accessNone      = 0
	accessRead      = 1
	accessReadWrite = 3

	granularityMinimum     = 0
	granularityRecommended = 1

	streamNonBlocking = 1

	eventBlockingSync  = 1
	eventDisableTiming = 2

	hostPortable  = 1
	hostDeviceMap = 2

	captureRelaxed = 2

	memoryTypeDevice = 2

	pointerMemoryType = 2
	pointerOrdinal    = 9
	pointerRangeStart = 11
	pointerRangeSize  = 12

	attributeVirtual = 102
	attributeMapHost = 19
	attributeOrdered = 115
)
