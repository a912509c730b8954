package passes

import (
	"slices"

	"ferrum_mem/core/ir"
)

// mostSampled is the maximum number of dynamic dimensions of a model whose shapes are compared.
const mostSampled = 16

// sample infers the shapes of the model, which the pass has not changed, for two choices of lengths. Each
// dimension has another prime number in each of them. So shapes that are equal in both have the same
// dimensions. If a model is so unusual that they are not, the operator refuses the run: fused operators
// take equal shapes only.
func (n *network) sample() {
	if n.samples.isMade {
		return
	}
	n.samples.isMade = true
	dims := n.model.DynamicDims()
	primes := [2 * mostSampled]uint64{
		3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59,
		61, 67, 71, 73, 79, 83, 89, 97, 101, 103, 107, 109, 113, 127, 131, 137,
	}
	if len(dims) > mostSampled {
		n.warn("the model has too many dynamic dimensions: shapes were not compared")
		return
	}
	for choice := range 2 {
		lengths := map[string]uint64{}
		for i, name := range dims {
			lengths[name] = primes[choice*mostSampled+i]
		}
		shapes, err := n.model.Infer(lengths)
		if err != nil {
			n.samples.shapes = nil
			n.warn("shapes were not compared: " + err.Error())
			return
		}
		n.samples.shapes = append(n.samples.shapes, shapes)
	}
}

// addOutput notes that an output which the pass added has the shape of another one.
func (n *network) addOutput(added, like source) {
	if n.samples.like == nil {
		n.samples.like = map[source]source{}
	}
	n.samples.like[added] = like
}

// areAlike states whether two sources have the same type and shape in every run.
func (n *network) areAlike(a, b source) bool {
	n.sample()
	for _, shapes := range n.samples.shapes {
		x, isKnown := n.shapeOf(a, shapes)
		y, isKnownToo := n.shapeOf(b, shapes)
		if !isKnown || !isKnownToo || !slices.Equal(x, y) {
			return false
		}
	}
	return len(n.samples.shapes) > 0 && a.tensor().DType == b.tensor().DType
}

// shapeOf returns the shape of a source in one sample.
func (n *network) shapeOf(s source, shapes *ir.Shapes) (shape []uint64, isKnown bool) {
	if s.parameter != nil {
		for _, length := range s.parameter.Shape {
			shape = append(shape, uint64(length))
		}
		return shape, true
	}
	if like, isAdded := n.samples.like[s]; isAdded {
		s = like
	}
	if s.from == nil || s.from.position == ir.None {
		return nil, false
	}
	outputs := shapes.Nodes[s.from.position].Outputs
	if s.output >= len(outputs) {
		return nil, false
	}
	return outputs[s.output].Shape, true
}
