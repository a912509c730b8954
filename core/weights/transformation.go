package weights

import (
	"fmt"
	"math"
	"slices"

	"ferrum_mem/core/device"
	"ferrum_mem/core/dtype"
	"ferrum_mem/core/strided"
	"ferrum_mem/core/weights/header"
)

const opTransform = "weights.transform"

// Kind is the kind of a transformation.
type Kind string

// The kinds of the contract.
const (
	Transpose Kind = "transpose"
	Reshape   Kind = "reshape"
	Cast      Kind = "cast"
	Scale     Kind = "scale"
	Slice     Kind = "slice"
	Quantize  Kind = "quantize"
)

// Transformation changes a tensor while it is loaded. Several are applied in the order of the list.
type Transformation struct {
	Kind Kind
	// Dim0 and Dim1 are the dimensions that Transpose swaps. Slice uses Dim0. They count from 0;
	// negative numbers count from the end: -1 is the last dimension.
	Dim0, Dim1 int
	// Shape is the new shape of Reshape. It must have the same number of elements.
	Shape []uint64
	// Type is the new type of Cast; package dtype has the rules of rounding. Q8_0 and Q4_0 are possible
	// for floating-point tensors whose rows are whole blocks; no transformation may follow.
	Type dtype.DType
	// Factor is the factor of Scale. The product is rounded once, to the type that the tensor has
	// at that point.
	Factor float32
	// Start and End are the indices [Start, End) that Slice keeps. nil: from the first index, or to
	// the end.
	Start, End *uint64
}

// step changes the value of each element: a conversion to another type, or a multiplication in the
// type.
type step struct {
	to     dtype.DType
	scales bool
	factor float32
}

// plan is a tensor with its transformations. Both are checked before the tensor is read.
type plan struct {
	tensor *Tensor
	view   *view
	// unit is the number of stored elements in one element of the view. It is the block size for a
	// type whose blocks are copied unchanged, otherwise 1.
	unit uint64
	// read is the type of the elements that the view returns, before the steps.
	read  dtype.DType
	steps []step
	// Type and shape of the result.
	kind  dtype.DType
	shape []uint64
}

func (t *Tensor) wrong(at int, of Transformation, format string, args ...any) error {
	return device.Errorf(device.CodeInvalidArgument, opTransform, "%s: %q: transformation %d, %s: %s", t.File(), t.Name, at, of.Kind, fmt.Sprintf(format, args...))
}

func (t *Tensor) cannot(at int, of Transformation, format string, args ...any) error {
	return device.Errorf(device.CodeUnsupported, opTransform, "%s: %q: transformation %d, %s: %s", t.File(), t.Name, at, of.Kind, fmt.Sprintf(format, args...))
}

// planOf checks transformations and combines them. Errors: CodeInvalidArgument for a dimension,
// range, shape or factor that does not fit; CodeUnsupported for Quantize, for computing with a type
// whose values the library cannot compute with, and for changes of shape inside the blocks of a
// type.
func planOf(t *Tensor, transformations []Transformation) (*plan, error) {
	p := &plan{tensor: t, unit: 1, read: t.Type, kind: t.Type}
	casts := slices.ContainsFunc(transformations, func(of Transformation) bool { return of.Kind == Cast && of.Type != t.Type })
	stored := t.Tensor
	switch each, _ := t.Type.Block(); {
	case t.Type.CanDequantise() && casts:
		p.read, p.kind = dtype.F32, dtype.F32
	case each > 1 && !t.Type.IsConvertible():
		if err := p.countBlocks(&stored, each); err != nil {
			return nil, err
		}
	}
	p.view = viewOf(&stored)
	for at, of := range transformations {
		if err := p.add(at, of); err != nil {
			return nil, err
		}
	}
	p.shape = slices.Clone(p.view.shape())
	if p.unit > 1 {
		p.shape[len(p.shape)-1] *= p.unit
	}
	if _, err := p.kind.Size(p.view.elements() * p.unit); err != nil {
		return nil, device.Errorf(device.CodeInvalidArgument, opTransform, "%s: %q: the result has a shape of %s of %s, which is not a whole number of bytes", t.File(), t.Name, strided.Text(p.shape), p.kind)
	}
	return p, nil
}

// countBlocks makes one block one element of the view, for a tensor whose values do not change.
func (p *plan) countBlocks(stored *header.Tensor, each uint64) error {
	last := len(stored.Shape) - 1
	if last < 0 || stored.Strides != nil || stored.Shape[last]%each != 0 {
		return device.Errorf(device.CodeUnsupported, opTransform, "%s: %q: rows of a shape of %s are not whole blocks of %d elements of %s", p.tensor.File(), p.tensor.Name, strided.Text(stored.Shape), each, stored.Type)
	}
	stored.Shape = slices.Clone(stored.Shape)
	stored.Shape[last] /= each
	p.unit = each
	return nil
}

func (p *plan) add(at int, of Transformation) error {
	t := p.tensor
	if p.quantises() {
		return t.cannot(at, of, "the elements are blocks of %s already: the cast must be the last transformation", p.kind)
	}
	switch of.Kind {
	case Transpose:
		a, okA := p.dimension(of.Dim0)
		b, okB := p.dimension(of.Dim1)
		last := len(p.view.shape()) - 1
		switch {
		case !okA || !okB:
			return t.wrong(at, of, "dimensions %d and %d of a shape of %s", of.Dim0, of.Dim1, strided.Text(p.view.shape()))
		case p.unit > 1 && a != b && (a == last || b == last):
			return t.cannot(at, of, "the last dimension has blocks of %d elements of %s", p.unit, t.Type)
		}
		p.view.transpose(a, b)
	case Reshape:
		return p.reshape(at, of)
	case Slice:
		return p.slice(at, of)
	case Cast:
		return p.cast(at, of)
	case Scale:
		factor := float64(of.Factor)
		switch {
		case math.IsNaN(factor) || math.IsInf(factor, 0):
			return t.wrong(at, of, "the factor is %v", of.Factor)
		case !p.kind.IsFloat():
			return t.wrong(at, of, "elements of type %s are not scaled, only floating point is", p.kind)
		}
		p.steps = append(p.steps, step{to: p.kind, scales: true, factor: of.Factor})
	case Quantize:
		return t.cannot(at, of, "weights are not quantised while they are loaded")
	default:
		return t.wrong(at, of, "this is not a kind of transformation: the kinds are transpose, reshape, cast, scale, slice and quantize")
	}
	return nil
}

// dimension resolves a dimension. Negative numbers count from the end.
func (p *plan) dimension(given int) (int, bool) {
	n := len(p.view.shape())
	if given < 0 {
		given += n
	}
	return given, given >= 0 && given < n
}

func (p *plan) reshape(at int, of Transformation) error {
	elements := uint64(1)
	for _, side := range of.Shape {
		if side != 0 && elements > math.MaxUint64/side {
			return p.tensor.wrong(at, of, "a shape of %s has more elements than 64 bits count", strided.Text(of.Shape))
		}
		elements *= side
	}
	to := slices.Clone(of.Shape)
	if p.unit > 1 {
		last := len(to) - 1
		if last < 0 || to[last]%p.unit != 0 {
			return p.tensor.cannot(at, of, "rows of a shape of %s are not whole blocks of %d elements of %s", strided.Text(of.Shape), p.unit, p.tensor.Type)
		}
		to[last] /= p.unit
	}
	switch have := p.view.elements() * p.unit; {
	case len(of.Shape) > header.MaxDimensions:
		return p.tensor.wrong(at, of, "%d dimensions are more than %d", len(of.Shape), header.MaxDimensions)
	case elements != have:
		return p.tensor.wrong(at, of, "a shape of %s has %d elements, and the tensor %d", strided.Text(of.Shape), elements, have)
	}
	p.view.reshape(to)
	return nil
}

func (p *plan) slice(at int, of Transformation) error {
	dimension, ok := p.dimension(of.Dim0)
	if !ok {
		return p.tensor.wrong(at, of, "dimension %d of a shape of %s", of.Dim0, strided.Text(p.view.shape()))
	}
	unit := uint64(1)
	if dimension == len(p.view.shape())-1 {
		unit = p.unit
	}
	side := p.view.shape()[dimension] * unit
	start, end := uint64(0), side
	if of.Start != nil {
		start = *of.Start
	}
	if of.End != nil {
		end = *of.End
	}
	switch {
	case start > end || end > side:
		return p.tensor.wrong(at, of, "%d to %d of dimension %d, which has %d", start, end, dimension, side)
	case start%unit != 0 || end%unit != 0:
		return p.tensor.cannot(at, of, "%d to %d are not whole blocks of %d elements of %s", start, end, unit, p.tensor.Type)
	}
	p.view.slice(dimension, start/unit, end/unit)
	return nil
}

// quantises states whether the last step makes blocks.
func (p *plan) quantises() bool { return len(p.steps) > 0 && p.kind.CanQuantise() }

func (p *plan) cast(at int, of Transformation) error {
	each, _ := of.Type.Block()
	shape := p.view.shape()
	switch {
	case of.Type.CanQuantise() && p.kind.IsFloat():
		if len(shape) == 0 || shape[len(shape)-1]%each != 0 {
			return p.tensor.cannot(at, of, "rows of a shape of %s are not whole blocks of %d elements of %s", strided.Text(shape), each, of.Type)
		}
	case !of.Type.IsConvertible() && of.Type != p.kind:
		return p.tensor.cannot(at, of, "values of type %s cannot be made", of.Type)
	case !p.kind.IsConvertible() && of.Type != p.kind:
		return p.tensor.cannot(at, of, "values of type %s cannot be read", p.kind)
	case of.Type == p.kind:
		return nil
	}
	p.steps = append(p.steps, step{to: of.Type})
	p.kind = of.Type
	return nil
}
