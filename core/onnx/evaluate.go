package onnx

import (
	"slices"

	"ferrum_mem/core/dtype"
	"ferrum_mem/core/operator"
)

// The elements of short lists of integers, such as shapes, as expressions. Exporters write many operations
// that compute the shape of a Reshape from the shapes of other values. They are computed here once, for the
// lengths of every run.

// evaluate returns the result of a node whose inputs are known, or nil.
func (c *converter) evaluate(n *Node, in []*value) *value {
	switch n.Type {
	case "Shape":
		return c.shapeOf(n, in)
	case "Size":
		if len(in) == 1 && in[0] != nil {
			return &value{kind: dtype.I64, shape: []expression{}, known: []expression{c.product(in[0].shape)}}
		}
		return nil
	}
	if len(in) == 0 || slices.ContainsFunc(in, func(v *value) bool { return v != nil && v.known == nil }) || in[0] == nil {
		return nil
	}
	switch n.Type {
	case "Cast":
		to := n.attribute("to")
		kind, known := dtype.DType(0), false
		if to != nil {
			kind, known = typeOf(uint64(to.Int))
		}
		if known && isInteger(kind) && (kind == in[0].kind || kind == dtype.I64) {
			return &value{kind: kind, shape: in[0].shape, known: in[0].known}
		}
	case "Unsqueeze", "Squeeze":
		return c.reshaped(n, in)
	case "Concat":
		return concatenated(in)
	case "Gather":
		return gathered(n, in)
	case "Slice":
		return sliced(in)
	case "Add", "Sub", "Mul", "Div", "Equal":
		if len(in) == 2 {
			return c.combined(n.Type, in[0], in[1])
		}
	case "Where":
		return selected(in)
	case "ReduceProd":
		if keep := n.attribute("keepdims"); len(in[0].shape) == 1 && len(in) == 1 {
			out := listValue(in[0].kind, []expression{c.product(in[0].known)})
			if keep != nil && keep.Int == 0 {
				out.shape = []expression{}
			}
			return out
		}
	case "ConstantOfShape":
		return c.filled(n, in[0])
	case "Range":
		return c.counted(in)
	}
	return nil
}

// shapeOf is the operator Shape.
func (c *converter) shapeOf(n *Node, in []*value) *value {
	if len(in) != 1 || in[0] == nil {
		return nil
	}
	rank := int64(len(in[0].shape))
	start, end := int64(0), rank
	for name, into := range map[string]*int64{"start": &start, "end": &end} {
		if a := n.attribute(name); a != nil {
			*into = a.Int
		}
		if *into < 0 {
			*into += rank
		}
		*into = max(0, min(*into, rank))
	}
	return listValue(dtype.I64, slices.Clone(in[0].shape[start:max(start, end)]))
}

// reshaped is Unsqueeze or Squeeze of known elements.
func (c *converter) reshaped(n *Node, in []*value) *value {
	shape, wrong := c.newShape(n.Type, in)
	if wrong != "" {
		return nil
	}
	return &value{kind: in[0].kind, shape: shape, known: in[0].known}
}

// newShape returns the shape after Unsqueeze or Squeeze, or what is wrong.
func (c *converter) newShape(kind string, in []*value) (shape []expression, wrong string) {
	if in[0] == nil {
		return nil, "has no input"
	}
	rank := int64(len(in[0].shape))
	var axes []int64
	if len(in) > 1 && in[1] != nil {
		given, isKnown := in[1].numbers()
		if !isKnown || len(given) > operator.MaxRank {
			return nil, "has axes that are not known before a run"
		}
		axes = slices.Clone(given)
	} else {
		for axis, length := range in[0].shape {
			switch {
			case length.is(1):
				axes = append(axes, int64(axis))
			case !length.isNumber():
				return nil, "has no axes, and lengths that a run decides"
			}
		}
	}
	if kind == "Unsqueeze" {
		rank += int64(len(axes))
	}
	for i, axis := range axes {
		if axis < 0 {
			axes[i] += rank
		}
		if axes[i] < 0 || axes[i] >= rank || rank > operator.MaxRank {
			return nil, "has axes that do not fit"
		}
	}
	slices.Sort(axes)
	if len(slices.Compact(slices.Clone(axes))) != len(axes) {
		return nil, "has an axis twice"
	}
	shape = slices.Clone(in[0].shape)
	if kind == "Unsqueeze" {
		for _, axis := range axes {
			shape = slices.Insert(shape, int(axis), constantOf(1))
		}
		return shape, ""
	}
	for _, axis := range slices.Backward(axes) {
		shape = slices.Delete(shape, int(axis), int(axis)+1)
	}
	return shape, ""
}

func concatenated(in []*value) *value {
	var all []expression
	for _, v := range in {
		if v == nil || len(v.shape) != 1 || len(all)+len(v.known) > maxKnown || v.kind != in[0].kind {
			return nil
		}
		all = append(all, v.known...)
	}
	return listValue(in[0].kind, all)
}

// gathered is Gather of a list.
func gathered(n *Node, in []*value) *value {
	axis := n.attribute("axis")
	if len(in) != 2 || in[1] == nil || len(in[0].shape) != 1 || axis != nil && axis.Int != 0 && axis.Int != -1 {
		return nil
	}
	indices, isKnown := in[1].numbers()
	if !isKnown {
		return nil
	}
	picked := make([]expression, len(indices))
	for i, index := range indices {
		if index < 0 {
			index += int64(len(in[0].known))
		}
		if index < 0 || index >= int64(len(in[0].known)) {
			return nil
		}
		picked[i] = in[0].known[index]
	}
	return &value{kind: in[0].kind, shape: in[1].shape, known: picked}
}

// sliced is Slice of a list.
func sliced(in []*value) *value {
	if len(in) < 3 || len(in[0].shape) != 1 {
		return nil
	}
	bounds := []int64{0, 0, 0, 1}
	for i := 1; i < len(in); i++ {
		if in[i] == nil {
			continue
		}
		given, isKnown := in[i].numbers()
		if !isKnown || len(given) != 1 || i > 4 {
			return nil
		}
		if i == 3 && given[0] != 0 && given[0] != -1 {
			return nil
		}
		if i != 3 {
			bounds[[]int{0, 0, 1, 0, 3}[i]] = given[0]
		}
	}
	if in[1] == nil || in[2] == nil || bounds[3] != 1 {
		return nil
	}
	size := int64(len(in[0].known))
	start, end := bounds[0], bounds[1]
	if start < 0 {
		start += size
	}
	if end < 0 {
		end += size
	}
	start = max(0, min(start, size))
	end = max(start, min(end, size))
	return listValue(in[0].kind, slices.Clone(in[0].known[start:end]))
}

// combined computes two lists of one shape, or a list and a single element.
func (c *converter) combined(kind string, a, b *value) *value {
	if a == nil || b == nil || a.kind != b.kind || a.kind == dtype.Bool {
		return nil
	}
	shape, isKnown := spread(a, b)
	if !isKnown {
		return nil
	}
	out := &value{kind: a.kind, shape: shape, known: make([]expression, max(len(a.known), len(b.known)))}
	for i := range out.known {
		x, y := a.known[min(i, len(a.known)-1)], b.known[min(i, len(b.known)-1)]
		isKnown := true
		switch kind {
		case "Add":
			out.known[i], isKnown = c.plus(x, y)
		case "Sub":
			out.known[i], isKnown = c.minus(x, y)
		case "Mul":
			out.known[i] = c.times(x, y)
		case "Div":
			out.known[i], isKnown = c.over(x, y)
		case "Equal":
			var isEqual bool
			out.kind = dtype.Bool
			isEqual, isKnown = equal(x, y)
			out.known[i] = constantOf(0)
			if isEqual {
				out.known[i] = constantOf(1)
			}
		}
		if !isKnown {
			return nil
		}
	}
	return out
}

// spread returns the shape of two lists of one shape, or of a list and a single element.
func spread(a, b *value) ([]expression, bool) {
	switch {
	case len(a.known) == 0 || len(b.known) == 0:
		return nil, false
	case slices.Equal(a.shape, b.shape), len(b.known) == 1 && len(b.shape) <= len(a.shape):
		return a.shape, true
	case len(a.known) == 1 && len(a.shape) <= len(b.shape):
		return b.shape, true
	}
	return nil, false
}

// selected is Where.
func selected(in []*value) *value {
	if len(in) != 3 || in[1] == nil || in[2] == nil || in[1].kind != in[2].kind {
		return nil
	}
	flags, isKnown := in[0].numbers()
	shape, fits := spread(in[1], in[2])
	if !isKnown || !fits || len(flags) != max(len(in[1].known), len(in[2].known)) || len(in[0].shape) > len(shape) {
		return nil
	}
	out := &value{kind: in[1].kind, shape: shape, known: make([]expression, len(flags))}
	for i, flag := range flags {
		from := in[2].known
		if flag != 0 {
			from = in[1].known
		}
		out.known[i] = from[min(i, len(from)-1)]
	}
	return out
}

// filled is ConstantOfShape with few elements of a known shape.
func (c *converter) filled(n *Node, shape *value) *value {
	lengths, isKnown := shape.numbers()
	of, wrong := c.filling(n)
	if !isKnown || wrong != "" || !isInteger(of.kind) || len(lengths) > operator.MaxRank {
		return nil
	}
	out := &value{kind: of.kind, shape: shape.known}
	count := int64(1)
	for _, length := range lengths {
		if length < 0 || length > maxKnown {
			return nil
		}
		if count *= length; count > maxKnown {
			return nil
		}
	}
	out.known = make([]expression, count)
	for i := range out.known {
		out.known[i] = constantOf(of.integer)
	}
	return out
}

// counted is Range with few elements.
func (c *converter) counted(in []*value) *value {
	if len(in) != 3 {
		return nil
	}
	var bounds [3]int64
	for i, v := range in {
		given, isKnown := v.numbers()
		if !isKnown || len(given) != 1 {
			return nil
		}
		bounds[i] = given[0]
	}
	start, limit, delta := bounds[0], bounds[1], bounds[2]
	if delta == 0 || magnitude(start) > 1<<40 || magnitude(limit) > 1<<40 || magnitude(delta) > 1<<40 {
		return nil
	}
	elements := []expression{}
	for at := start; delta > 0 && at < limit || delta < 0 && at > limit; at += delta {
		if len(elements) == maxKnown {
			return nil
		}
		elements = append(elements, constantOf(at))
	}
	return listValue(in[0].kind, elements)
}
