package passes

import (
	"slices"

	"ferrum_mem/core/dtype"
	"ferrum_mem/core/ir"
	"ferrum_mem/core/operator"
)

// maxFolded is the maximum number of elements of a constant that foldConstants computes. Shapes and axes
// have a few; weights are never computed.
const maxFolded = 1024

// foldConstants computes what depends on constants only, and removes operations that change nothing:
// a Cast to the same type, the addition of zeros, a product with ones, a Reshape to the same shape, and
// chains of Reshape or Transpose. It trusts the declared types and fixed dimensions, with which every
// inference agrees.
func foldConstants(n *network) error {
	for _, at := range n.sorted {
		if at.operator == nil {
			continue
		}
		if made := n.folded(at); made != nil {
			n.replace(at.first(), source{parameter: made})
			continue
		}
		for n.shortenChain(at) {
		}
		if same := unchanged(at); !same.isAbsent() {
			n.replace(at.first(), same)
		}
	}
	return nil
}

// folded returns the constant that a node computes; nil: it does not compute one.
func (n *network) folded(at *node) *ir.Parameter {
	if len(at.users) == 0 || !at.is("Cast", "Reshape", "Squeeze", "Unsqueeze", "Concat") {
		return nil
	}
	values := make([]operator.Value, len(at.in))
	var elements []int64
	for input, in := range at.in {
		if in.isAbsent() {
			values[input].IsAbsent = true
			continue
		}
		p := in.parameter
		if p == nil || !p.IsConstant() {
			return nil
		}
		values[input] = operator.Value{Type: p.DType, Known: p.Value}
		for _, length := range p.Shape {
			values[input].Shape = append(values[input].Shape, uint64(length))
		}
		if input == 0 || at.is("Concat") {
			elements = append(elements, p.Value...)
		}
	}
	inferred, err := at.operator.Infer(values, nil)
	if err != nil || len(elements) > maxFolded {
		return nil
	}
	out := inferred.Outputs[0]
	// The elements of a Concat of several dimensions are not one list after the other.
	if out.Type != dtype.I64 || at.is("Concat") && len(out.Shape) != 1 {
		return nil
	}
	p := ir.Parameter{
		Name: at.ID, DType: dtype.I64, Value: slices.Clone(elements), Shape: []int64{},
	}
	for _, length := range out.Shape {
		p.Shape = append(p.Shape, int64(length))
	}
	return n.addParameter(p, nil)
}

// unchanged returns the input whose elements and shape the first output of a node has; the zero source: it
// has none.
func unchanged(at *node) source {
	x := at.input(0)
	shape := x.tensor().Shape
	switch at.layer.Type {
	case "Cast":
		if to, _ := at.operator.DataType("to"); x.tensor().DType == to {
			return x
		}
	case "Add":
		if isAll(at.input(0), 0) && fitsInto(at.input(0), at.input(1)) {
			return at.input(1)
		}
		if isAll(at.input(1), 0) && fitsInto(at.input(1), x) {
			return x
		}
	case "Mul":
		if isAll(at.input(0), 1) && fitsInto(at.input(0), at.input(1)) {
			return at.input(1)
		}
		if isAll(at.input(1), 1) && fitsInto(at.input(1), x) {
			return x
		}
	case "Sub":
		if isAll(at.input(1), 0) && fitsInto(at.input(1), x) {
			return x
		}
	case "Div":
		if isAll(at.input(1), 1) && fitsInto(at.input(1), x) {
			return x
		}
	case "Reshape":
		if keepsShape(at, shape) {
			return x
		}
	case "Transpose":
		if isAscending(permutation(at)) {
			return x
		}
	case "Concat":
		if len(at.in) == 1 {
			return x
		}
	case "Squeeze", "Unsqueeze":
		return undone(at)
	}
	return source{}
}

// isAll states whether all elements of a source are a number: it is a constant, or a parameter that no
// weights and no training change.
func isAll(s source, number int64) bool {
	p := s.parameter
	switch {
	case p == nil:
		return false
	case p.IsConstant():
		return !slices.ContainsFunc(p.Value, func(element int64) bool { return element != number })
	case p.Source != "" || p.Trainable || len(p.Parts) > 0:
		return false
	}
	return number == 0 && p.Initialization.Strategy == ir.StrategyZeros || number == 1 && p.Initialization.Strategy == ir.StrategyOnes
}

// fitsInto states whether a parameter broadcasts to the shape of x and leaves it as it is.
func fitsInto(s, x source) bool {
	small, large := s.parameter.Shape, x.tensor().Shape
	if len(small) > len(large) {
		return false
	}
	large = large[len(large)-len(small):]
	for axis, length := range small {
		if length != 1 && length != large[axis] {
			return false
		}
	}
	return true
}

// constantOf returns the elements of an input that is a constant.
func constantOf(s source) (elements []int64, isConstant bool) {
	if s.parameter == nil || !s.parameter.IsConstant() {
		return nil, false
	}
	return s.parameter.Value, true
}

// keepsShape states whether a Reshape always has the shape of its input: each size is 0, which copies the
// dimension, or the fixed size of the dimension, and at most one is open.
func keepsShape(at *node, from []int64) bool {
	target, isConstant := constantOf(at.input(1))
	if !isConstant || len(target) != len(from) {
		return false
	}
	open := 0
	for axis, size := range target {
		switch {
		case size == 0 && at.operator.Int("allowzero") == 0:
		case size == -1:
			open++
		case size != from[axis] || size == 0:
			return false
		}
	}
	return open <= 1
}

// permutation returns the order of the axes of a Transpose.
func permutation(at *node) []int64 {
	rank := len(at.input(0).tensor().Shape)
	given, isGiven := at.operator.Ints("perm")
	if isGiven {
		return given
	}
	order := make([]int64, rank)
	for axis := range order {
		order[axis] = int64(rank - 1 - axis)
	}
	return order
}

func isAscending(order []int64) bool {
	for at, axis := range order {
		if axis != int64(at) {
			return false
		}
	}
	return true
}

// undone returns what an Unsqueeze had before a Squeeze of the same axes, or the reverse.
func undone(at *node) source {
	before := at.input(0).from
	if !before.is("Squeeze", "Unsqueeze") || before.layer.Type == at.layer.Type {
		return source{}
	}
	axes, isKnown := axesOf(at)
	others, isKnownToo := axesOf(before)
	if isKnown && isKnownToo && slices.Equal(axes, others) {
		return before.input(0)
	}
	return source{}
}

// axesOf returns the axes of a Squeeze or Unsqueeze in the larger shape, ascending.
func axesOf(at *node) (axes []int64, isKnown bool) {
	given, isConstant := constantOf(at.input(1))
	if !isConstant {
		return nil, false
	}
	rank := int64(len(at.input(0).tensor().Shape))
	if at.is("Unsqueeze") {
		rank += int64(len(given))
	}
	axes = slices.Clone(given)
	for i := range axes {
		if axes[i] < 0 {
			axes[i] += rank
		}
	}
	slices.Sort(axes)
	return axes, true
}

// shortenChain lets a Reshape or Transpose read what the one before it reads. It returns whether it did.
func (n *network) shortenChain(at *node) bool {
	before := at.input(0).from
	switch {
	case at.is("Reshape") && before.is("Reshape", "Squeeze", "Unsqueeze"):
		// A size of 0 copies a dimension of the input, which would be another one.
		target, isConstant := constantOf(at.input(1))
		if !isConstant || slices.Contains(target, 0) {
			return false
		}
		in := slices.Clone(at.in)
		in[0] = before.input(0)
		return n.reconnect(at, in)
	case at.is("Transpose") && before.is("Transpose"):
		first, second := permutation(before), permutation(at)
		joined := make([]int64, len(second))
		for axis, from := range second {
			joined[axis] = first[from]
		}
		in := []source{before.input(0)}
		n.rewrite(at, n.newLayer(at.layer, at.layer.Type, with(nil, "perm", joined), in, at.layer.Outputs), in)
		return true
	}
	return false
}
