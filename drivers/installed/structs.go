package installed

import (
	"unsafe"

	"ferrum_mem/drivers/internal/dl"
)

// The structs of the header, field by field. The first field of most is their size. Pointers
// are Go pointers, so that what they point to lives as long as the struct.

const (
	force         = 1
	typeCPU       = 4
	growthDynamic = 1
	backingFile   = 1
	waitForever   = ^uint64(0)
	pathMax       = 4096
	rankMax       = 8
	contiguous    = 1
	readOnly      = 2
)

type sized struct{ size uint32 }

func (s *sized) setSize(size uint32) { s.size = size }

// newStruct makes a struct that states its size.
func newStruct[T any, P interface {
	*T
	setSize(uint32)
}]() *T {
	var made T
	P(&made).setSize(uint32(unsafe.Sizeof(made)))
	return &made
}

type errorInfo struct {
	sized
	status     int32
	nativeCode int64
	function   [64]byte
	operation  [64]byte
	device     [32]byte
	message    [1024]byte
	facts      uint32
	_          uint32
	_          [7]uint64
	model      [64]byte
}

type elasticPoolConfig struct {
	sized
	flags      uint32
	limitBytes uint64
	pageBytes  uint64
	name       *byte
	readyPages uint32
	backing    int32
}

type computeConfig struct {
	sized
	kind              int32
	name              *byte
	device            uint64
	optimizationLevel uint32
	threads           uint32
	enableDebug       uint32
	growth            int32
	poolSizeBytes     uint64
	alignmentBytes    uint64
	enablePooling     uint32
	_                 uint32
	optionsJSON       *byte
	optionsBytes      uint64
}

type buildRequest struct {
	sized
	_                uint32
	model            *byte
	path             *byte
	definitionJSON   *byte
	definitionBytes  uint64
	weights          uint64
	compute          uint64
	elasticPool      uint64
	guaranteedBytes  uint64
	maxBytes         uint64
	priority         int32
	guaranteeMayWait uint32
	optionsJSON      *byte
	optionsBytes     uint64
	progress         uintptr
	userData         uintptr
}

type buildProgress struct {
	sized
	phase            int32
	progress         float64
	elapsedSeconds   float64
	remainingSeconds float64
	doneBytes        uint64
	totalBytes       uint64
	operation        *byte
}

type namedTensor struct {
	name   *byte
	tensor uint64
}

type tensorDesc struct {
	sized
	dtype        uint32
	rank         uint32
	flags        uint32
	shape        [rankMax]int64
	strides      [rankMax]int64
	address      uint64
	sizeBytes    uint64
	device       [64]byte
	elements     *int64
	elementCount uint64
}

type sleepConfig struct {
	sized
	backing    int32
	tag        *byte
	directory  *byte
	stream     uint64
	timeoutNS  uint64
	numStreams uint32
	_          uint32
}

type sleepReport struct {
	sized
	_             uint32
	releasedBytes uint64
	elapsedNS     uint64
	path          [pathMax]byte
}

type wakeReport struct {
	sized
	_             uint32
	restoredBytes uint64
	elapsedNS     uint64
}

// text returns a text for C; "" is NULL.
func text(s string) *byte {
	if s == "" {
		return nil
	}
	return &append([]byte(s), 0)[0]
}

// bytesOf returns the address of a text that has a length of its own.
func bytesOf(b []byte) *byte {
	if len(b) == 0 {
		return nil
	}
	return &b[0]
}

// address returns a pointer as an argument; nil is NULL.
func address[T any](p *T) uintptr {
	if p == nil {
		return 0
	}
	return dl.Pointer(p)
}
