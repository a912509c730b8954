package operator

import "slices"

// Parts of operations: which part of the inputs a part of the outputs is computed from.

// Whole states that all of an input is needed.
const Whole = -1

// part is some indices of one dimension of the outputs.
type part struct {
	*Operator
	inputs []Value
	layout *Layout
	// axis is the dimension, and shape that of an output with it.
	axis  int
	shape []uint64
	// origins has for each input the dimension that the part comes from; at first Whole.
	origins []int
}

// Origins states what a part of the outputs is computed from: the same share of the indices of dimension
// axis in each output. It is computed from that share of the indices of dimension origins[i] of input i, or from
// all of the input if origins[i] is Whole. So 2 of 4 indices of an output may come from 6 of 12 of an input.
// found is the result of Infer for the inputs. isKnown is false if the elements along the dimension depend on
// each other, or if no rule is known.
func (o *Operator) Origins(inputs []Value, found *Inferred, axis int) (origins []int, isKnown bool) {
	p := &part{Operator: o, inputs: inputs, layout: &found.Layout, axis: axis, origins: make([]int, len(inputs))}
	for i := range p.origins {
		p.origins[i] = Whole
	}
	first := slices.IndexFunc(found.Outputs, func(v Value) bool { return !v.IsAbsent })
	if o.origins == nil || first < 0 {
		return nil, false
	}
	p.shape = found.Outputs[first].Shape
	if axis < 0 || axis >= len(p.shape) || p.shape[axis] == 0 || !o.origins(p) {
		return nil, false
	}
	return p.origins, true
}

// in returns an input, which is absent if it was not given.
func (p *part) in(at int) Value {
	if at < len(p.inputs) {
		return p.inputs[at]
	}
	return Value{IsAbsent: true}
}

// from states that the part comes from a dimension of an input, if the input is given.
func (p *part) from(input, axis int) {
	if !p.in(input).IsAbsent {
		p.origins[input] = axis
	}
}

// broadcast states that an input broadcasts to some dimensions of the output, which end before last. Whatever is
// repeated along the dimension is needed as a whole.
func (p *part) broadcast(input int, of []uint64, last int) {
	at := p.axis - last + len(of)
	if at >= 0 && at < len(of) && of[at] == p.shape[p.axis] {
		p.from(input, at)
	}
}

// eachElement is the rule of operators on single elements, whose inputs broadcast.
func eachElement(p *part) bool {
	for i, in := range p.inputs {
		p.broadcast(i, in.Shape, len(p.shape))
	}
	return true
}

// eachRow is the rule of operators that combine the elements along Layout.Axes. The first inputs have the shape
// of the output, or broadcast to it.
func eachRow(p *part) bool { return !slices.Contains(p.layout.Axes, p.axis) && eachElement(p) }

// eachLine is the rule of operators along one dimension of their data inputs, with further inputs that are
// needed as a whole.
func eachLine(inputs int) func(*part) bool {
	return func(p *part) bool {
		for i := range min(inputs, len(p.inputs)) {
			p.from(i, p.axis)
		}
		return !slices.Contains(p.layout.Axes, p.axis)
	}
}

// eachKept is the rule of operators that remove the dimensions of Layout.Axes, or keep them with one index.
func eachKept(p *part) bool {
	axes := p.layout.Axes
	if len(p.shape) == len(p.in(0).Shape) {
		p.from(0, p.axis)
		return !slices.Contains(axes, p.axis)
	}
	kept := -1
	for axis := range p.in(0).Shape {
		if slices.Contains(axes, axis) {
			continue
		}
		if kept++; kept == p.axis {
			p.from(0, axis)
			return true
		}
	}
	return false
}

// linearRows is the rule of linear layers: a row of the output comes from a row of X and of the residual.
func linearRows(p *part) bool {
	p.from(0, p.axis)
	p.from(3, p.axis)
	return p.axis < len(p.shape)-1
}

// productRows is the rule of MatMul: rows of the left matrix, and leading dimensions of both.
func productRows(p *part) bool {
	a, b := p.in(0).Shape, p.in(1).Shape
	batch := len(p.shape)
	if len(b) > 1 {
		batch-- // the columns
	}
	if len(a) > 1 {
		if batch--; p.axis == batch {
			p.from(0, len(a)-2)
			return true
		}
	}
	if p.axis > batch {
		return false
	}
	p.broadcast(0, a[:max(len(a)-2, 0)], batch)
	p.broadcast(1, b[:max(len(b)-2, 0)], batch)
	return p.axis < batch
}

// gemmRows is the rule of Gemm.
func gemmRows(p *part) bool {
	p.from(0, int(p.Int("transA")))
	p.broadcast(2, p.in(2).Shape, len(p.shape))
	return p.axis == 0
}

// permuted is the rule of Transpose.
func permuted(p *part) bool {
	p.from(0, p.layout.Axes[p.axis])
	return true
}

// regrouped is the rule of operators that only change the shape. A dimension comes from the one with as many
// elements before it. Dimensions of one index do not matter.
func regrouped(p *part) bool {
	if p.shape[p.axis] == 1 {
		return false
	}
	before, count := uint64(1), uint64(1)
	for _, length := range p.shape[:p.axis] {
		before *= length
	}
	for axis, length := range p.in(0).Shape {
		if count == before && length != 1 {
			p.from(0, axis)
			return true
		}
		count *= length
	}
	return false
}

// expanded is the rule of Expand.
func expanded(p *part) bool {
	p.broadcast(0, p.in(0).Shape, len(p.shape))
	return true
}

// sliced is the rule of Slice: dimensions of which it keeps all indices in their order.
func sliced(p *part) bool {
	p.from(0, p.axis)
	return p.layout.Starts[p.axis] == 0 && p.layout.Steps[p.axis] == 1 && p.in(0).Shape[p.axis] == p.shape[p.axis]
}

// gathered is the rule of Gather: the dimensions of the indices replace one of the data.
func gathered(p *part) bool {
	axis, rank := p.layout.Axes[0], len(p.in(1).Shape)
	switch {
	case p.axis < axis:
		p.from(0, p.axis)
	case p.axis < axis+rank:
		p.from(1, p.axis-axis)
	default:
		p.from(0, p.axis-rank+1)
	}
	return true
}

// eachSequence is the rule of attention: the sequences of a batch do not depend on each other.
func eachSequence(maskInput int) func(*part) bool {
	return func(p *part) bool {
		if p.axis != 0 {
			return false
		}
		for i, in := range p.inputs {
			// A mask broadcasts to [batch, heads, queries, keys]. All other inputs have the batch first.
			if i != maskInput || len(in.Shape) == 4 && in.Shape[0] == p.shape[0] {
				p.from(i, 0)
			}
		}
		return true
	}
}

// rotated is the rule of RotaryEmbedding: sequences, tokens, and heads that have a dimension of their own.
func rotated(p *part) bool {
	tokens := len(p.shape) - 2
	p.from(0, p.axis)
	positions := p.axis
	switch {
	case p.axis == tokens:
		positions = 1
	case p.axis != 0:
		return p.axis < tokens
	}
	if !p.in(3).IsAbsent {
		p.from(3, positions)
		return true
	}
	p.from(1, positions)
	p.from(2, positions)
	return true
}
