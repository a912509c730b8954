package tensor

import (
	"ferrum_mem/core/device"
	"ferrum_mem/core/dtype"
	"ferrum_mem/core/strided"
	"ferrum_mem/core/weights"
)

const opOpaque = "tensor.create_opaque"

// Opaque describes a tensor whose elements only an engine can read.
type Opaque struct {
	// Type and Shape are those of the elements from which the bytes were made.
	Type  dtype.DType
	Shape []int64
	// Packing names the layout. It is not "".
	Packing string
	// SizeBytes is not 0.
	SizeBytes uint64
}

// NewOpaque allocates memory for an opaque tensor. Errors: CodeInvalidArgument for an unknown type,
// a wrong shape, a layout without a name or a size of 0; those of the memory.
func NewOpaque(memory weights.Memory, o Opaque, stream device.Stream) (*Tensor, error) {
	wrong := func(format string, values ...any) (*Tensor, error) {
		return nil, device.Errorf(device.CodeInvalidArgument, opOpaque, format, values...).On(memory.Engine().ID())
	}
	switch {
	case o.Packing == "" || o.SizeBytes == 0:
		return wrong("the layout %q of %v has no name or no bytes", o.Packing, device.Size(o.SizeBytes))
	case !o.Type.IsKnown():
		return wrong("%d is not a data type", int32(o.Type))
	}
	layout, err := strided.Contiguous(o.Shape...)
	if err != nil {
		return nil, device.About(memory.Engine().ID(), err)
	}
	s, err := newStorage(memory, o.SizeBytes, stream)
	if err != nil {
		return nil, err
	}
	return &Tensor{storage: s, kind: o.Type, layout: layout, packing: o.Packing}, nil
}

// Packing names the layout of an opaque tensor; "": the tensor is not opaque.
func (t *Tensor) Packing() string { return t.packing }

func (t *Tensor) isOpaque(op string) error {
	return device.Errorf(device.CodeUnsupported, op, "the tensor is packed as %q, which only the engine that packed it can read", t.packing).On(t.storage.engine.ID())
}
