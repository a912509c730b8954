package cpu

import (
	"encoding/binary"
	"unsafe"
)

// Rotary rotates pairs of the first Rotated elements of each row, and copies the others. A pair is
// the elements i and i + Rotated/2, or 2i and 2i+1 if IsInterleaved is 1. Each position has
// Rotated/2 cosines and as many sines, adjacent. With Positions (I64 for each batch and row,
// adjacent) a row has the angles at position * AngleRow; a position that is not in [0, Most) is
// CodeInvalidArgument. Without (0) it has the angles at batch * AngleBatch + row * AngleRow.
//
// The elements of a row are adjacent. x and angles: F32, F16, BF16, I8; y: F32, F16, BF16. y may
// be x, at the same strides, if their elements have the same size.
type Rotary struct {
	Batch, Heads, Rows, Depth, Rotated, IsInterleaved int64

	X                   uint64
	XType               Type
	XBatch, XHead, XRow int64

	Y                   uint64
	YType               Type
	YBatch, YHead, YRow int64

	Cosines, Sines       uint64
	AngleType            Type
	AngleBatch, AngleRow int64

	Positions uint64
	Most      int64
}

func (*Rotary) kernel() kernel { return kernelRotary }

func (r *Rotary) address() unsafe.Pointer { return unsafe.Pointer(r) }

func (r *Rotary) layout() (uintptr, []*uint64) {
	return unsafe.Sizeof(*r), []*uint64{&r.X, &r.Y, &r.Cosines, &r.Sines, &r.Positions}
}

func (r *Rotary) clone() Request { c := *r; return &c }

func (r *Rotary) check() error {
	if r.Batch < 0 || r.Heads < 0 || r.Rows < 0 || r.Depth < 0 {
		return invalid("a rotary embedding of %d x %d x %d x %d", r.Batch, r.Heads, r.Rows, r.Depth)
	}
	if r.Rotated < 0 || r.Rotated > r.Depth || r.Rotated%2 != 0 {
		return invalid("a rotary embedding rotates %d of %d elements", r.Rotated, r.Depth)
	}
	if !isInput(r.XType) || !isInput(r.AngleType) || !isOutput(r.YType) {
		return unsupported("a rotary embedding of %v by angles of %v, with a result of %v", r.XType, r.AngleType, r.YType)
	}
	return nil
}

func (r *Rotary) indices() uint64 { return r.Positions }

func (r *Rotary) outOfRange(place int64, positions uint64) error {
	position := int64(binary.NativeEndian.Uint64(bytesAt(positions+uint64(8*place), 8)))
	return invalid("the position %d of a rotary embedding, at place %d, is out of the %d positions", position, place, r.Most)
}
