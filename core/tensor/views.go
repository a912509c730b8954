package tensor

import (
	"ferrum_mem/core/device"
	"ferrum_mem/core/dtype"
	"ferrum_mem/core/strided"
)

// view makes another tensor over the storage.
func (t *Tensor) view(layout strided.Layout, err error) (*Tensor, error) {
	if err != nil {
		return nil, device.About(t.storage.engine.ID(), err)
	}
	if t.closed.Load() {
		return nil, t.isClosed()
	}
	if t.packing != "" && layout != t.layout {
		return nil, t.isOpaque(opView)
	}
	if each, _ := t.kind.Block(); each > 1 {
		if _, err := bytesOf(opView, t.kind, &layout); err != nil {
			return nil, device.About(t.storage.engine.ID(), err)
		}
		if !layout.IsContiguous() {
			return nil, device.Errorf(device.CodeUnsupported, opView, "a layout of %v: a tensor of %s is contiguous, because %d elements share bytes", layout, t.kind, each).On(t.storage.engine.ID())
		}
	}
	if err := t.storage.join(); err != nil {
		return nil, err
	}
	return &Tensor{storage: t.storage, kind: t.kind, layout: layout, packing: t.packing}, nil
}

// Narrow keeps count indices of a dimension, from start on; axis -1 is the last dimension.
// Errors: CodeInvalidArgument for the axis; CodeInvalidOffset; CodeUnsupported for a part of a
// type with several elements in a block that is not contiguous; CodeInvalidState for a closed
// tensor.
func (t *Tensor) Narrow(axis int, start, count int64) (*Tensor, error) {
	return t.view(t.layout.Narrow(axis, start, count))
}

// Slice keeps the count indices start, start+step and so on of a dimension; the step may be negative.
// Errors: as of Narrow; CodeInvalidArgument for a step of 0.
func (t *Tensor) Slice(axis int, start, count, step int64) (*Tensor, error) {
	return t.view(t.layout.Slice(axis, start, count, step))
}

// Permute puts the dimensions into another order: dimension i of the result is dimension
// axes[i]. Errors: as of Narrow.
func (t *Tensor) Permute(axes ...int) (*Tensor, error) { return t.view(t.layout.Permute(axes...)) }

// Transpose exchanges two dimensions. Errors: as of Narrow.
func (t *Tensor) Transpose(a, b int) (*Tensor, error) { return t.view(t.layout.Transpose(a, b)) }

// Expand repeats elements so that the tensor gets a larger shape, by NumPy's rule. Errors: as
// of Narrow.
func (t *Tensor) Expand(shape ...int64) (*Tensor, error) { return t.view(t.layout.Expand(shape...)) }

// Reshape gives the elements, in their order, another shape. Errors: as of Narrow;
// CodeInvalidArgument if the number of elements is another one; CodeUnsupported if the strides
// do not allow it: make a contiguous copy of the tensor first.
func (t *Tensor) Reshape(shape ...int64) (*Tensor, error) {
	layout, fits, err := t.layout.Reshape(shape...)
	if err == nil && !fits {
		err = device.Errorf(device.CodeUnsupported, opView, "%v as %s: the elements would have to be copied", t.layout, strided.Text(shape))
	}
	return t.view(layout, err)
}

// Same gives another tensor with the same layout. Errors: CodeInvalidState for a closed tensor.
func (t *Tensor) Same() (*Tensor, error) { return t.view(t.layout, nil) }

// Part gives a tensor of another type and layout over the memory of t, which has bytes of the type U8
// without gaps. The layout counts elements from the byte offset on. Errors: CodeInvalidArgument if t or
// the layout is not possible; CodeInvalidAlignment and CodeInvalidOffset for the offset, also for
// elements outside of t; CodeInvalidState for a closed tensor.
func (t *Tensor) Part(offset uint64, kind dtype.DType, layout strided.Layout) (*Tensor, error) {
	wrong := func(code device.Code, format string, values ...any) (*Tensor, error) {
		return nil, device.Errorf(code, opView, format, values...).On(t.storage.engine.ID())
	}
	each, width := kind.Block()
	size := t.SizeBytes()
	switch {
	case t.kind != dtype.U8 || t.packing != "" || !t.layout.IsContiguous():
		return wrong(device.CodeInvalidArgument, "a part of %s %v: want u8 without gaps", t.kind, t.layout)
	case each == 0:
		return wrong(device.CodeInvalidArgument, "%d is not a data type", int32(kind))
	case offset > size:
		return wrong(device.CodeInvalidOffset, "offset %d is outside of the memory, which has %v", offset, device.Size(size))
	}
	whole := Foreign{Engine: t.storage.engine, Addr: t.Addr() + device.Addr(offset), SizeBytes: size - offset}
	// Wrap checks the type and the layout against the part of the memory.
	checked, err := Wrap(whole, kind, layout)
	if err != nil {
		return nil, err
	}
	start := t.offset() + offset
	if start%width != 0 {
		return wrong(device.CodeInvalidAlignment, "offset %d is not a multiple of %v, the size of an element of %s", start, device.Size(width), kind)
	}
	layout = checked.layout
	moved, err := strided.Strided(layout.Shape(), layout.Strides(), layout.First()+int64(start/width*each))
	if err != nil {
		return nil, device.About(t.storage.engine.ID(), err)
	}
	if t.closed.Load() {
		return nil, t.isClosed()
	}
	if err := t.storage.join(); err != nil {
		return nil, err
	}
	return &Tensor{storage: t.storage, kind: kind, layout: moved}, nil
}
