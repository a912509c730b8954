package fallback

import (
	"encoding/binary"
	"math"
	"sync"

	"ferrum_mem/core/device"
)

// Storage is one side's memory.
type Storage[S any] interface {
	// Alloc makes storage of at least so many bytes.
	Alloc(bytes uint64) (S, error)
	// Bytes is the size of a storage.
	Bytes(storage S) uint64
	// Release ends a storage that nothing uses. When it fails the storage is as
	// it was.
	Release(storage S) error
}

// Sides is what a FallbackBuffer moves between. Both copies return when the bytes
// are there, or when nothing writes to dst any more.
type Sides[G, C any] struct {
	GPU   Storage[G]
	CPU   Storage[C]
	ToCPU func(dst C, src G, bytes uint64) error
	ToGPU func(dst G, src C, bytes uint64) error
	// Moved is told of each move before anybody can see it; nil: nobody is.
	Moved func(id BufferID, now Side)
}

// FallbackBuffer is elements that are on one side or the other. All methods are
// safe for concurrent use; what AsGPU and AsCPU give is good until the buffer moves,
// and it does not move while it is pinned. Pin and what moves, takes or ends the
// buffer wait for one another; the rest waits for nothing.
type FallbackBuffer[G, C any] struct {
	sides Sides[G, C]
	id    BufferID
	shape Shape
	bytes uint64

	mu sync.Mutex
	// settled is signalled when claimed or uses has fallen.
	settled *sync.Cond
	// claimed says that one call moves or ends the buffer, and uses how many copy to
	// or from it. Neither begins before the other is over, and mu is held for neither.
	claimed bool
	uses    int
	side    Side
	gpu     G
	cpu     C
	// gone says that the storage was taken or released.
	gone bool
	pins uint32
}

// NewGPUBuffer makes a buffer of storage on the GPU; CodeInvalidSize when that is
// less than the elements take.
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
// bytes with the lowest first.
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
		return device.Errorf(device.CodeInvalidSize, "fallback.buffer", "storage of %d bytes is less than the %d of %d x %v",
			size, b.bytes, b.shape.Len, b.shape.DType)
	}
	return nil
}

// ID names the buffer; it keeps it when it moves.
func (b *FallbackBuffer[G, C]) ID() BufferID { return b.id }

// Len is the number of elements.
func (b *FallbackBuffer[G, C]) Len() uint64 { return b.shape.Len }

// DType is what they are.
func (b *FallbackBuffer[G, C]) DType() DType { return b.shape.DType }

// SizeBytes is what they take.
func (b *FallbackBuffer[G, C]) SizeBytes() uint64 { return b.bytes }

// IsEmpty says that there are none.
func (b *FallbackBuffer[G, C]) IsEmpty() bool { return b.shape.Len == 0 }

// Side is where the buffer is or, once its storage was taken, was last.
func (b *FallbackBuffer[G, C]) Side() Side {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.side
}

// IsGPU says that it is on the GPU.
func (b *FallbackBuffer[G, C]) IsGPU() bool { return b.Side() == GPU }

// IsCPUFallback says that it is on the CPU.
func (b *FallbackBuffer[G, C]) IsCPUFallback() bool { return b.Side() == CPU }

// AsGPU is the storage on the GPU; false when the buffer is not there.
func (b *FallbackBuffer[G, C]) AsGPU() (G, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.gpu, b.side == GPU && !b.gone
}

// AsCPU is the storage on the CPU; false when the buffer is not there.
func (b *FallbackBuffer[G, C]) AsCPU() (C, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.cpu, b.side == CPU && !b.gone
}
