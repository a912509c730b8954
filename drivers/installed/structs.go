package installed

import (
	"unsafe"

	"ferrum_mem/internal/dl"
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
	status  int32
	_       int64    // nativeCode
	_       [64]byte // function
	_       [64]byte // operation
	device  [32]byte
	message [1024]byte
	_       uint32 // facts
	_       uint32
	_       [7]uint64
	_       [64]byte // model
}

type elasticPoolConfig struct {
	sized
	_          uint32 // flags
	limitBytes uint64
	_          uint64 // pageBytes
	_          *byte  // name
	readyPages uint32
	backing    int32
}

type computeConfig struct {
	sized
	kind              int32
	_                 *byte // name
	device            uint64
	optimizationLevel uint32
	threads           uint32
	_                 uint32 // enableDebug
	growth            int32
	_                 uint64 // poolSizeBytes
	_                 uint64 // alignmentBytes
	enablePooling     uint32
	_                 uint32
	_                 *byte  // optionsJSON
	_                 uint64 // optionsBytes
}

type buildRequest struct {
	sized
	_               uint32
	_               *byte // model
	path            *byte
	definitionJSON  *byte
	definitionBytes uint64
	_               uint64 // weights
	compute         uint64
	elasticPool     uint64
	_               uint64 // guaranteedBytes
	_               uint64 // maxBytes
	_               int32  // priority
	_               uint32 // guaranteeMayWait
	_               *byte  // optionsJSON
	_               uint64 // optionsBytes
	progress        uintptr
	_               uintptr // userData
}

type buildProgress struct {
	sized
	phase      int32
	progress   float64
	_          float64 // elapsedSeconds
	_          float64 // remainingSeconds
	doneBytes  uint64
	totalBytes uint64
	operation  *byte
}

type namedTensor struct {
	name   *byte
	tensor uint64
}

type tensorDesc struct {
	sized
	dtype     uint32
	rank      uint32
	flags     uint32
	shape     [rankMax]int64
	_         [rankMax]int64 // strides
	_         uint64         // address
	sizeBytes uint64
	_         [64]byte // device
	_         *int64   // elements
	_         uint64   // elementCount
}

type sleepConfig struct {
	sized
	backing   int32
	_         *byte  // tag
	_         *byte  // directory
	_         uint64 // stream
	timeoutNS uint64
	_         uint32 // numStreams
	_         uint32
}

type sleepReport struct {
	sized
	_             uint32
	releasedBytes uint64
	_             uint64        // elapsedNS
	_             [pathMax]byte // path
}

type wakeReport struct {
	sized
	_             uint32
	restoredBytes uint64
	_             uint64 // elapsedNS
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
