package tensor

import (
	"errors"
	"sync/atomic"

	"ferrum_mem/core/device"
	"ferrum_mem/core/dtype"
	"ferrum_mem/core/engine"
	"ferrum_mem/core/strided"
	"ferrum_mem/core/weights"
)

const opNew, opWrap, opView, opUse = "tensor.create", "tensor.wrap", "tensor.view", "tensor.use"

// Tensor is a typed view of a storage. All methods may be called from any number of threads.
type Tensor struct {
	storage *storage
	kind    dtype.DType
	// layout counts elements from the start of the storage.
	layout strided.Layout
	// packing names the opaque layout of the bytes; "": the elements are at their places.
	packing string
	closed  atomic.Bool
}

// New allocates memory for a contiguous tensor. The elements have no value yet. The first work
// on the memory is queued on stream. A tensor without elements takes no memory. Errors:
// CodeInvalidArgument for an unknown type, a negative length, more than eight dimensions, or
// elements that do not fill whole blocks; CodeOverflow; those of the memory.
func New(memory weights.Memory, kind dtype.DType, shape []int64, stream device.Stream) (*Tensor, error) {
	layout, err := strided.Contiguous(shape...)
	if err != nil {
		return nil, device.About(memory.Engine().ID(), err)
	}
	size, err := bytesOf(opNew, kind, &layout)
	if err != nil {
		return nil, device.About(memory.Engine().ID(), err)
	}
	s, err := newStorage(memory, size, stream)
	if err != nil {
		return nil, err
	}
	return &Tensor{storage: s, kind: kind, layout: layout}, nil
}

// bytesOf returns the bytes of the elements of a contiguous layout. A row of a type with
// several elements in a block has whole blocks, so that parts along the other dimensions do.
func bytesOf(op string, kind dtype.DType, layout *strided.Layout) (uint64, error) {
	each, _ := kind.Block()
	if shape := layout.Shape(); each > 1 && layout.Elements() > 0 && (len(shape) == 0 || uint64(shape[len(shape)-1])%each != 0) {
		return 0, device.Errorf(device.CodeInvalidArgument, op, "a shape of %s: the last dimension of a tensor of %s has a multiple of %d elements", strided.Text(shape), kind, each)
	}
	return kind.Size(uint64(layout.Elements()))
}

// Foreign is memory of another owner.
type Foreign struct {
	Engine    *engine.Engine
	Addr      device.Addr
	SizeBytes uint64
	// Release is called once, after the last tensor was closed; nil: nothing is called. If it
	// fails, the last tensor stays open.
	Release func() error
	// Hold keeps the memory awake and mapped until release is called; nil: it always is. It
	// returns CodeInvalidState while the memory sleeps.
	Hold func() (release func(), err error)
	// ReadOnly states that no element may be written.
	ReadOnly bool
}

// Wrap makes a tensor over memory of another owner. The layout counts elements from Addr on,
// and each of its elements must lie in the memory. The alignment of Addr must be that of an
// element. Errors: CodeInvalidArgument for an unknown type, and for a type with several
// elements in a block with a layout that is not contiguous; CodeInvalidAlignment;
// CodeInvalidOffset for elements outside of the memory. After an error Release is not called.
func Wrap(memory Foreign, kind dtype.DType, layout strided.Layout) (*Tensor, error) {
	wrong := func(code device.Code, format string, values ...any) (*Tensor, error) {
		return nil, device.Errorf(code, opWrap, format, values...).On(memory.Engine.ID())
	}
	each, width := kind.Block()
	if each == 0 {
		return wrong(device.CodeInvalidArgument, "%d is not a data type", int32(kind))
	}
	if each > 1 && !(layout.IsContiguous() && layout.First()%int64(each) == 0) {
		return wrong(device.CodeInvalidArgument, "a layout of %v: a tensor of %s is contiguous, because %d elements share %v", layout, kind, each, device.Size(width))
	}
	if each == 1 && width&(width-1) == 0 && uint64(memory.Addr)%width != 0 {
		return wrong(device.CodeInvalidAlignment, "address %#x is not a multiple of %v, the size of an element of %s", uint64(memory.Addr), device.Size(width), kind)
	}
	if _, err := bytesOf(opWrap, kind, &layout); err != nil {
		return nil, device.About(memory.Engine.ID(), err)
	}
	if lowest, highest, some := layout.Span(); some {
		fits := memory.SizeBytes / width * each
		if lowest < 0 || uint64(highest) >= fits {
			return wrong(device.CodeInvalidOffset, "elements %d to %d of %s are outside of the memory: its %v have %d elements", lowest, highest, kind, device.Size(memory.SizeBytes), fits)
		}
	}
	release := memory.Release
	if release == nil {
		release = func() error { return nil }
	}
	s := &storage{engine: memory.Engine, addr: memory.Addr, bytes: memory.SizeBytes, free: release, hold: memory.Hold, readOnly: memory.ReadOnly}
	s.tensors.Store(1)
	return &Tensor{storage: s, kind: kind, layout: layout}, nil
}

// Type returns the type of the elements.
func (t *Tensor) Type() dtype.DType { return t.kind }

// Layout returns shape and strides. Places count elements from the start of the storage.
func (t *Tensor) Layout() strided.Layout { return t.layout }

// IsClosed states that the tensor is closed.
func (t *Tensor) IsClosed() bool { return t.closed.Load() }

// ReadOnly states that no element may be written.
func (t *Tensor) ReadOnly() bool { return t.storage.readOnly }

// Engine returns the device of the memory.
func (t *Tensor) Engine() *engine.Engine { return t.storage.engine }

// Addr returns the address of the element with the index 0 in each dimension. It has no
// meaning for a tensor without elements.
func (t *Tensor) Addr() device.Addr {
	return t.storage.addr + device.Addr(t.offset())
}

// offset returns the offset of the first element in the storage, in bytes. It is modulo 2^64
// for a layout without elements, whose place may be anywhere.
func (t *Tensor) offset() uint64 {
	each, width := t.kind.Block()
	return uint64(t.layout.First() / int64(each) * int64(width))
}

// SizeBytes returns the size of the elements without gaps, and of an opaque tensor that of its
// memory.
func (t *Tensor) SizeBytes() uint64 {
	if t.packing != "" {
		return t.storage.bytes
	}
	size, _ := t.kind.Size(uint64(t.layout.Elements())) // checked when the tensor was made
	return size
}

// Hold keeps the memory awake until release is called: a Sleep and a forced end of the memory wait for that. Errors: CodeBusy
// while the memory sleeps; CodeInvalidState for a closed tensor.
func (t *Tensor) Hold() (release func(), err error) {
	if t.closed.Load() {
		return nil, t.isClosed()
	}
	if t.storage.hold == nil {
		return func() {}, nil
	}
	release, err = t.storage.hold()
	return release, asleep(t.storage.engine, err)
}

// asleep turns the error of a hold on memory that sleeps into CodeBusy.
func asleep(on *engine.Engine, err error) error {
	if errors.Is(err, device.CodeInvalidState) {
		return device.Errorf(device.CodeBusy, opUse, "the memory of the tensor sleeps: %w", err).On(on.ID())
	}
	return err
}

func (t *Tensor) isClosed() error {
	return device.Errorf(device.CodeInvalidState, opView, "the tensor is closed").On(t.storage.engine.ID())
}

// Close ends the tensor. The last tensor over a storage frees its memory, or releases it to
// its owner. Errors: CodeInvalidState for a closed tensor; those of the memory, after which
// the tensor is open as before.
func (t *Tensor) Close() error {
	if !t.closed.CompareAndSwap(false, true) {
		return t.isClosed()
	}
	err := t.storage.leave()
	if err != nil {
		t.closed.Store(false)
	}
	return err
}
