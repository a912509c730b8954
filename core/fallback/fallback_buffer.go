package fallback

import (
	"encoding/binary"
	"math"
	"sync"

	"ferrum_mem/core/device"
)

// Storage is the memory of one side.
type Storage[S any] interface {
	// Alloc allocates storage of at least that many bytes.
	Alloc(bytes uint64) (S, error)
	// Bytes returns the size of a storage.
	Bytes(storage S) uint64
	// Release frees a storage that no work uses. If it fails the storage does not
	// change.
	Release(storage S) error
}

// Sides has the two storages of a FallbackBuffer and the copies between them. A copy
// returns when the bytes are copied, or when it has failed and no work writes to dst
// any more.
type Sides[G, C any] struct {
	GPU   Storage[G]
	CPU   Storage[C]
	ToCPU func(dst C, src G, bytes uint64) error
	ToGPU func(dst G, src C, bytes uint64) error
	// Moved is called for each move before other threads can see it; nil: no call.
	Moved func(id BufferID, now Side)
}

// FallbackBuffer has elements on one side or the other. All methods are safe for
// concurrent use. The results of AsGPU and AsCPU are valid until the buffer moves. It
// does not move while it is pinned. Pin and the calls that move, take or end the buffer
// wait for each other; other methods do not wait.
type FallbackBuffer[G, C any] struct {
	sides Sides[G, C]
	id    BufferID
	shape Shape
	bytes uint64

	mu sync.Mutex
	// settled is signalled when claimed or uses has decreased.
	settled *sync.Cond
	// claimed states that one call moves or ends the buffer. uses counts the calls that
	// copy to or from it. Neither begins before the other has ended, and mu is not held
	// during either.
	claimed bool
	uses    int
	side    Side
	gpu     G
	cpu     C
	// gone states that the storage was taken or released.
	gone bool
	pins uint32
}

// NewGPUBuffer makes a buffer of storage on the GPU. It returns CodeInvalidSize if the
// storage is smaller than the elements.
func NewGPUBuffer[G, C any](sides Sides[G, C], s Shape, storage G) (*FallbackBuffer[G, C], error) {
	b := newBuffer(sides, s)
	b.side, b.gpu = GPU, storage
	return b, b.fit(func() uint64 { return sides.GPU.Bytes(storage) })
}

// NewCPUBuffer is NewGPUBuffer for storage on the CPU.
func NewCPUBuffer[G, C any](sides Sides[G, C], s Shape, storage C) (*FallbackBuffer[G, C], error) {
	b := newBuffer(sides, s)
	b.side, b.cpu = CPU, storage
	return b, b.fit(func() uint64 { return sides.CPU.Bytes(storage) })
}

func newBuffer[G, C any](sides Sides[G, C], s Shape) *FallbackBuffer[G, C] {
	b := &FallbackBuffer[G, C]{sides: sides, id: NewBufferID(), shape: s}
	b.settled = sync.NewCond(&b.mu)
	return b
}

// NewFloat32Buffer makes a buffer on the CPU with a copy of the numbers, each in 4
// bytes, little-endian.
func NewFloat32Buffer[G any](sides Sides[G, []byte], data []float32) (*FallbackBuffer[G, []byte], error) {
	storage := make([]byte, 0, 4*len(data))
	for _, number := range data {
		storage = binary.LittleEndian.AppendUint32(storage, math.Float32bits(number))
	}
	return NewCPUBuffer(sides, Shape{DType: F32, Len: uint64(len(data))}, storage)
}

func (b *FallbackBuffer[G, C]) fit(has func() uint64) (err error) {
	if b.bytes, err = b.shape.Bytes(); err != nil {
		return err
	}
	if size := has(); size < b.bytes {
		return device.Errorf(device.CodeInvalidSize, "fallback.buffer", "storage of %v is less than the %v of %d x %v",
			device.Size(size), device.Size(b.bytes), b.shape.Len, b.shape.DType)
	}
	return nil
}

// ID returns the id of the buffer, which does not change when the buffer moves.
func (b *FallbackBuffer[G, C]) ID() BufferID { return b.id }

// Len returns the number of elements.
func (b *FallbackBuffer[G, C]) Len() uint64 { return b.shape.Len }

// DType returns the type of the elements.
func (b *FallbackBuffer[G, C]) DType() DType { return b.shape.DType }

// SizeBytes returns the size of the elements.
func (b *FallbackBuffer[G, C]) SizeBytes() uint64 { return b.bytes }

// IsEmpty reports whether there are no elements.
func (b *FallbackBuffer[G, C]) IsEmpty() bool { return b.shape.Len == 0 }

// Side returns the side of the buffer or, after its storage was taken, its last side.
func (b *FallbackBuffer[G, C]) Side() Side {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.side
}

// IsGPU reports whether the buffer is on the GPU.
func (b *FallbackBuffer[G, C]) IsGPU() bool { return b.Side() == GPU }

// IsCPUFallback reports whether the buffer is on the CPU.
func (b *FallbackBuffer[G, C]) IsCPUFallback() bool { return b.Side() == CPU }

// AsGPU returns the storage on the GPU; false if the buffer is not there.
func (b *FallbackBuffer[G, C]) AsGPU() (G, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.gpu, b.side == GPU && !b.gone
}

// AsCPU returns the storage on the CPU; false if the buffer is not there.
func (b *FallbackBuffer[G, C]) AsCPU() (C, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.cpu, b.side == CPU && !b.gone
}
