package unified

import (
	"encoding/binary"
	"errors"
	"math"
	"sync"

	"ferrum_mem/core/device"
)

// Storage is one side's memory.
type Storage[S any] interface {
	// Allocate makes storage of at least so many bytes.
	Allocate(bytes uint64) (S, error)
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
	// Moved is told of each move, with the buffer's lock held; nil: nobody is.
	Moved func(id BufferID, now Side)
}

// FallbackBuffer is elements that are on one side or the other. All methods are
// safe for concurrent use; what AsGPU and AsCPU give is good until the buffer moves,
// and it does not move while it is pinned.
type FallbackBuffer[G, C any] struct {
	sides Sides[G, C]
	id    BufferID
	shape Shape
	bytes uint64

	mu   sync.Mutex
	side Side
	gpu  G
	cpu  C
	// gone says that the storage was taken or released.
	gone bool
	pins uint32
}

// NewGPUBuffer makes a buffer of storage on the GPU; CodeInvalidSize when that is
// less than the elements take.
func NewGPUBuffer[G, C any](sides Sides[G, C], s Shape, storage G) (*FallbackBuffer[G, C], error) {
	b := &FallbackBuffer[G, C]{sides: sides, id: NewBufferID(), shape: s, side: GPU, gpu: storage}
	return b, b.fit(func() uint64 { return sides.GPU.Bytes(storage) })
}

// NewCPUBuffer is NewGPUBuffer for storage on the CPU.
func NewCPUBuffer[G, C any](sides Sides[G, C], s Shape, storage C) (*FallbackBuffer[G, C], error) {
	b := &FallbackBuffer[G, C]{sides: sides, id: NewBufferID(), shape: s, side: CPU, cpu: storage}
	return b, b.fit(func() uint64 { return sides.CPU.Bytes(storage) })
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
		return device.Errorf(device.CodeInvalidSize, "unified.buffer", "storage of %d bytes is less than the %d of %d x %v",
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

// TakeGPU is AsGPU, and the storage is the caller's from then on: the buffer has
// none. False also while the buffer is pinned.
func (b *FallbackBuffer[G, C]) TakeGPU() (storage G, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.side != GPU || b.gone || b.pins > 0 {
		return storage, false
	}
	storage, b.gone = b.gpu, true
	b.forgetLocked()
	return storage, true
}

// TakeCPU is TakeGPU for the CPU.
func (b *FallbackBuffer[G, C]) TakeCPU() (storage C, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.side != CPU || b.gone || b.pins > 0 {
		return storage, false
	}
	storage, b.gone = b.cpu, true
	b.forgetLocked()
	return storage, true
}

func (b *FallbackBuffer[G, C]) forgetLocked() {
	var noGPU G
	var noCPU C
	b.gpu, b.cpu = noGPU, noCPU
}

// Pin keeps the buffer where it is until Unpin has been called as often. Errors:
// CodeInvalidState when it has no storage, CodeResourceExhausted for one that is
// pinned 2^32 - 1 times.
func (b *FallbackBuffer[G, C]) Pin() error {
	const op = "unified.pin"
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.gone {
		return b.goneError(op)
	}
	if b.pins == math.MaxUint32 {
		return device.Errorf(device.CodeResourceExhausted, op, "%v is pinned %d times", b.id, b.pins)
	}
	b.pins++
	return nil
}

// Unpin ends one Pin; CodeInvalidState when there is none.
func (b *FallbackBuffer[G, C]) Unpin() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.pins == 0 {
		return device.Errorf(device.CodeInvalidState, "unified.unpin", "%v is not pinned", b.id)
	}
	b.pins--
	return nil
}

func (b *FallbackBuffer[G, C]) goneError(op string) error {
	return device.Errorf(device.CodeInvalidState, op, "%v has no storage any more", b.id)
}

func (b *FallbackBuffer[G, C]) movableLocked(op string) error {
	if b.gone {
		return b.goneError(op)
	}
	if b.pins > 0 {
		return device.Errorf(device.CodeBusy, op, "%v is pinned %d times", b.id, b.pins)
	}
	return nil
}

// ToCPU moves the buffer to the CPU; on the CPU already it does nothing. A failed
// call leaves it whole where it was. Errors: CodeBusy while it is pinned,
// CodeInvalidState when it has no storage, those of the storage and of the copy.
func (b *FallbackBuffer[G, C]) ToCPU() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := b.movableLocked("unified.to_cpu"); err != nil || b.side == CPU {
		return err
	}
	made, err := b.sides.CPU.Allocate(b.bytes)
	if err != nil {
		return err
	}
	if err := b.sides.ToCPU(made, b.gpu, b.bytes); err != nil {
		return errors.Join(err, b.sides.CPU.Release(made))
	}
	if err := b.sides.GPU.Release(b.gpu); err != nil {
		return errors.Join(err, b.sides.CPU.Release(made))
	}
	b.forgetLocked()
	b.cpu = made
	b.arriveLocked(CPU)
	return nil
}

// ToGPU is ToCPU the other way.
func (b *FallbackBuffer[G, C]) ToGPU() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := b.movableLocked("unified.to_gpu"); err != nil || b.side == GPU {
		return err
	}
	made, err := b.sides.GPU.Allocate(b.bytes)
	if err != nil {
		return err
	}
	if err := b.sides.ToGPU(made, b.cpu, b.bytes); err != nil {
		return errors.Join(err, b.sides.GPU.Release(made))
	}
	if err := b.sides.CPU.Release(b.cpu); err != nil {
		return errors.Join(err, b.sides.GPU.Release(made))
	}
	b.forgetLocked()
	b.gpu = made
	b.arriveLocked(GPU)
	return nil
}

func (b *FallbackBuffer[G, C]) arriveLocked(side Side) {
	b.side = side
	if b.sides.Moved != nil {
		b.sides.Moved(b.id, side)
	}
}

// Close releases the storage. Errors, after which the buffer is as it was: CodeBusy
// while it is pinned, CodeInvalidState when it has no storage, those of the storage.
func (b *FallbackBuffer[G, C]) Close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := b.movableLocked("unified.free"); err != nil {
		return err
	}
	release := func() error { return b.sides.GPU.Release(b.gpu) }
	if b.side == CPU {
		release = func() error { return b.sides.CPU.Release(b.cpu) }
	}
	if err := release(); err != nil {
		return err
	}
	b.gone = true
	b.forgetLocked()
	return nil
}
