package operations

import (
	"math"
	"slices"

	"ferrum_mem/core/compute"
	"ferrum_mem/core/device"
	"ferrum_mem/core/dtype"
	"ferrum_mem/core/strided"
	"ferrum_mem/engines/cpu"
)

// source is whose memory an operand is.
type source uint8

const (
	absent source = iota
	ofInput
	ofOutput
	ofWorkspace
)

// operand is an input, an output, an intermediate value in the workspace, or a view of one.
type operand struct {
	source source
	index  int
	// offset is the distance in bytes of the element with the index 0 in each dimension.
	offset  int64
	kind    dtype.DType
	shape   []int64
	strides []int64
	packing string
}

// newOperand describes an operand of a request, whose shape and strides it shares: nothing changes them.
func newOperand(s source, index int, o *compute.Operand) operand {
	if o.IsAbsent {
		return operand{}
	}
	return operand{source: s, index: index, kind: o.Type, packing: o.Packing, shape: o.Layout.Shape(), strides: o.Layout.Strides()}
}

func (o operand) isPresent() bool { return o.source != absent }

func (o operand) elements() int64 {
	n, _ := strided.Count(o.shape)
	return int64(n)
}

// elementBytes is the size of an element; 0 for a type whose elements share bytes.
func (o operand) elementBytes() int64 {
	each, bytes := o.kind.Block()
	if each != 1 {
		return 0
	}
	return int64(bytes)
}

// place is the address of the operand in a request; 0: it is absent.
func (o operand) place() uint64 {
	switch o.source {
	case ofInput:
		return cpu.InputAt(o.index, o.offset)
	case ofOutput:
		return cpu.OutputAt(o.index, o.offset)
	case ofWorkspace:
		return cpu.WorkspaceAt(o.offset)
	}
	return 0
}

func (o operand) cpuType() cpu.Type { return cpu.Type(o.kind) }

// stride returns the stride of a dimension: 0 if it has one index, so that it repeats.
func (o operand) stride(axis int) int64 {
	if o.shape[axis] == 1 {
		return 0
	}
	return o.strides[axis]
}

// moved returns the view whose first element lies some elements further.
func (o operand) moved(elements int64) operand {
	o.offset += elements * o.elementBytes()
	return o
}

// narrow returns the view of some indices of a dimension.
func (o operand) narrow(axis int, start, count int64) operand {
	o = o.moved(start * o.strides[axis])
	o.shape = slices.Clone(o.shape)
	o.shape[axis] = count
	return o
}

// view returns the elements with another shape and strides.
func (o operand) view(shape, strides []int64) operand {
	o.shape, o.strides = shape, strides
	return o
}

// expand returns the view that repeats elements to a larger shape, to which the operand broadcasts.
func (o operand) expand(shape []int64) operand {
	strides := make([]int64, len(shape))
	for axis := range o.shape {
		strides[axis+len(shape)-len(o.shape)] = o.stride(axis)
	}
	return o.view(shape, strides)
}

// without returns the view with index 0 of some dimensions, which are ascending.
func (o operand) without(axes []int) operand {
	var shape, strides []int64
	for axis := range o.shape {
		if !slices.Contains(axes, axis) {
			shape, strides = append(shape, o.shape[axis]), append(strides, o.strides[axis])
		}
	}
	return o.view(shape, strides)
}

// only returns the view with index 0 of all dimensions but some.
func (o operand) only(axes []int) operand {
	var others []int
	for axis := range o.shape {
		if !slices.Contains(axes, axis) {
			others = append(others, axis)
		}
	}
	return o.without(others)
}

// line returns the stride of all elements as one dimension. fits is false if they have none.
func (o operand) line() (step int64, fits bool) {
	n := o.elements()
	if n == 0 {
		return 1, true
	}
	strides, fits := strided.Restride(o.shape, o.strides, []int64{n})
	if !fits {
		return 0, false
	}
	if n == 1 {
		return 1, true
	}
	return strides[0], true
}

func (o operand) isContiguous() bool {
	step, fits := o.line()
	return fits && step == 1
}

// liesAs states whether two operands have the same elements at the same distances.
func (o operand) liesAs(other operand) bool {
	if !slices.Equal(o.shape, other.shape) || o.elementBytes() != other.elementBytes() || o.elementBytes() == 0 ||
		o.offset != other.offset || other.packing != "" {
		return false
	}
	for axis := range o.shape {
		if o.shape[axis] > 1 && o.strides[axis] != other.strides[axis] {
			return false
		}
	}
	return true
}

// fill copies a list of dimensions into a request.
func fill(values []int64) (list [cpu.Rank]int64) {
	copy(list[:], values)
	return list
}

// merged returns a shape and strides with fewer dimensions and the same elements: dimensions that are
// adjacent in all lists of strides become one. The result has at least one dimension.
func merged(shape []int64, strides ...[]int64) (dims []int64, steps [][]int64) {
	steps = make([][]int64, len(strides))
	for axis, n := range shape {
		if n == 1 {
			continue
		}
		last := len(dims) - 1
		isAdjacent := last >= 0
		for i := range strides {
			isAdjacent = isAdjacent && steps[i][last] == n*strides[i][axis]
		}
		if !isAdjacent {
			dims, last = append(dims, 1), last+1
		}
		dims[last] *= n
		for i := range strides {
			steps[i] = append(steps[i][:last], strides[i][axis])
		}
	}
	if len(dims) == 0 {
		dims = []int64{1}
		for i := range steps {
			steps[i] = []int64{1}
		}
	}
	return dims, steps
}

// temporary returns an intermediate value in the workspace, without gaps. Errors: CodeOverflow.
func (l *lowering) temporary(kind dtype.DType, shape []int64) (operand, error) {
	n, fits := strided.Count(shape)
	each, bytes := kind.Block()
	blocks := (n + each - 1) / each
	if !fits || blocks > math.MaxInt64/4/bytes {
		return operand{}, device.Errorf(device.CodeOverflow, opPlan, "an intermediate value of the shape %s is too large", strided.Text(shape))
	}
	return l.reserve(int64(blocks*bytes), kind, shape)
}

// reserve returns an intermediate value of some bytes. Errors: CodeOverflow.
func (l *lowering) reserve(bytes int64, kind dtype.DType, shape []int64) (operand, error) {
	at := l.own
	if bytes > cpu.MaxDistance-63-at {
		return operand{}, device.Errorf(device.CodeOverflow, opPlan, "the workspace is too large")
	}
	l.own = at + (bytes+63)/64*64
	return operand{
		source: ofWorkspace, offset: at, kind: kind, shape: slices.Clone(shape), strides: strided.RowMajor(shape),
	}, nil
}

// copy adds a request that copies elements. Both have the same shape and type.
func (l *lowering) copy(from, to operand) {
	if from.elements() == 0 {
		return
	}
	bytes := from.elementBytes()
	if bytes == 0 {
		l.convert(from, to)
		return
	}
	dims, steps := merged(to.shape, from.strides, to.strides)
	l.add(&cpu.CopyElements{
		Bytes: bytes, Rank: int64(len(dims)), Dims: fill(dims), X: from.place(), XStrides: fill(steps[0]),
		Y: to.place(), YStrides: fill(steps[1]),
	})
}

// convert adds a request that converts elements. Both have the same shape.
func (l *lowering) convert(from, to operand) {
	dims, steps := merged(to.shape, from.strides, to.strides)
	l.add(&cpu.Map{
		Operation: cpu.Copy, Rank: int64(len(dims)), Dims: fill(dims), X: from.place(), XType: from.cpuType(),
		XStrides: fill(steps[0]), Y: to.place(), YType: to.cpuType(), YStrides: fill(steps[1]),
	})
}

// contiguous returns an operand whose elements lie in the order of its shape without gaps: itself,
// or a copy.
func (l *lowering) contiguous(o operand) (operand, error) {
	if !o.isPresent() || o.isContiguous() {
		return o.view(o.shape, strided.RowMajor(o.shape)), nil
	}
	made, err := l.temporary(o.kind, o.shape)
	if err == nil {
		l.copy(o, made)
	}
	return made, err
}

// result returns where to compute an output that must be without gaps, and copies it to the output
// afterwards. then must be called after the requests that write it.
func (l *lowering) result(o operand) (made operand, then func(), err error) {
	if o.isContiguous() {
		return o.view(o.shape, strided.RowMajor(o.shape)), func() {}, nil
	}
	made, err = l.temporary(o.kind, o.shape)
	return made, func() { l.copy(made, o) }, err
}
