package onnx

import (
	"slices"

	"ferrum_mem/core/dtype"
	"ferrum_mem/core/operator"
)

// The types and shapes of the outputs of an operator as expressions. Package operator checks types and
// shapes when the definition is validated; here what does not fit gets a length that is not known.

// outputsOf returns the values of the outputs of a node. inputs are in the order of the form.
func (c *converter) outputsOf(op *operator.Operator, n *Node, in []*value) ([]*value, string) {
	shapes, wrong := c.shapes(op, n, in)
	if wrong != "" {
		return nil, wrong
	}
	outputs := make([]*value, len(n.Outputs))
	for i, name := range n.Outputs {
		if name == "" {
			continue
		}
		if i >= len(shapes) {
			return nil, "has more outputs than its operator"
		}
		kind, isKnown := typeOfOutput(op, i, in)
		if !isKnown {
			return nil, "has an output whose type does not follow from its inputs"
		}
		if len(shapes[i]) > operator.MaxRank {
			return nil, "has an output with more dimensions than are possible"
		}
		outputs[i] = &value{name: name, kind: kind, shape: shapes[i], output: i}
	}
	return outputs, ""
}

// typeOfOutput returns the type of an output: that of the input with the same variable, or the only one that
// the operator has.
func typeOfOutput(op *operator.Operator, at int, in []*value) (dtype.DType, bool) {
	out := op.Outputs[min(at, len(op.Outputs)-1)]
	if op.Name == "Cast" {
		return op.DataType("to")
	}
	if op.Name == "LayerNormalization" && at > 0 {
		return op.DataType("stash_type")
	}
	for i, v := range in {
		if v != nil && op.Inputs[min(i, len(op.Inputs)-1)].Variable == out.Variable {
			return v.kind, true
		}
	}
	list := out.Types.List()
	if len(list) == 1 {
		return list[0], true
	}
	return 0, false
}

func (c *converter) shapes(op *operator.Operator, n *Node, in []*value) ([][]expression, string) {
	if len(in) == 0 || in[0] == nil {
		return nil, "has no input"
	}
	x := in[0].shape
	one := func(shape []expression) ([][]expression, string) { return [][]expression{shape}, "" }
	switch op.Name {
	case "Add", "Sub", "Mul", "Div", "Pow", "Where":
		shape := x
		for _, v := range in[1:] {
			if v != nil {
				shape = c.broadcast(shape, v.shape)
			}
		}
		return one(shape)
	case "Concat":
		return c.concatShape(op, in)
	case "Gather":
		axis, fits := axisOf(op.Int("axis"), len(x))
		if !fits || len(in) < 2 || in[1] == nil {
			return nil, "has an axis that does not fit"
		}
		return one(slices.Concat(x[:axis], in[1].shape, x[axis+1:]))
	case "MatMul", "Gemm":
		return c.productShape(op, in)
	case "LayerNormalization":
		axis, fits := axisOf(op.Int("axis"), len(x))
		if !fits {
			return nil, "has an axis that does not fit"
		}
		mean := slices.Clone(x)
		for i := axis; i < len(mean); i++ {
			mean[i] = constantOf(1)
		}
		return [][]expression{x, mean, mean}, ""
	case "ReduceSum", "ReduceMean", "ReduceMax", "ArgMax":
		return c.reducedShape(op, in)
	case "Squeeze", "Unsqueeze":
		shape, wrong := c.newShape(op.Name, in)
		return [][]expression{shape}, wrong
	case "Transpose":
		return transposedShape(op, x)
	case "Slice", "Split", "TopK":
		return c.partShapes(op, n, in)
	case "Attention":
		return c.attentionShapes(op, in)
	}
	// Operators on single elements, Softmax, RMSNormalization, RotaryEmbedding.
	return one(x)
}

func axisOf(axis int64, rank int) (int, bool) {
	if axis < 0 {
		axis += int64(rank)
	}
	return int(axis), axis >= 0 && axis < int64(rank)
}

// broadcast returns the shape to which two shapes broadcast.
func (c *converter) broadcast(a, b []expression) []expression {
	shape := make([]expression, max(len(a), len(b)))
	for i := 1; i <= len(shape); i++ {
		x, y := constantOf(1), constantOf(1)
		if i <= len(a) {
			x = a[len(a)-i]
		}
		if i <= len(b) {
			y = b[len(b)-i]
		}
		at := &shape[len(shape)-i]
		switch {
		case x == y || y.is(1):
			*at = x
		case x.is(1):
			*at = y
		case x.isNumber():
			*at = x // the other length is 1 or the same in every run
		case y.isNumber():
			*at = y
		default:
			*at = c.fresh()
		}
	}
	return shape
}

func (c *converter) concatShape(op *operator.Operator, in []*value) ([][]expression, string) {
	axis, fits := axisOf(op.Int("axis"), len(in[0].shape))
	if !fits {
		return nil, "has an axis that does not fit"
	}
	shape := slices.Clone(in[0].shape)
	for _, v := range in[1:] {
		if v == nil || len(v.shape) != len(shape) {
			return nil, "has inputs with different numbers of dimensions"
		}
		sum, isKnown := c.plus(shape[axis], v.shape[axis])
		if !isKnown {
			sum = c.fresh()
		}
		shape[axis] = sum
	}
	return [][]expression{shape}, ""
}

func (c *converter) productShape(op *operator.Operator, in []*value) ([][]expression, string) {
	if len(in) < 2 || in[1] == nil {
		return nil, "has one input"
	}
	a, b := slices.Clone(in[0].shape), slices.Clone(in[1].shape)
	if op.Name == "Gemm" {
		if len(a) != 2 || len(b) != 2 {
			return nil, "has inputs that are not matrices"
		}
		if op.Int("transA") == 1 {
			slices.Reverse(a)
		}
		if op.Int("transB") == 1 {
			slices.Reverse(b)
		}
		return [][]expression{{a[0], b[1]}}, ""
	}
	if len(a) == 0 || len(b) == 0 {
		return nil, "has a scalar as an input"
	}
	isRow, isColumn := len(a) == 1, len(b) == 1
	if isRow {
		a = []expression{constantOf(1), a[0]}
	}
	if isColumn {
		b = []expression{b[0], constantOf(1)}
	}
	m, k := len(a)-2, len(b)-2
	shape := c.broadcast(a[:m], b[:k])
	if !isRow {
		shape = append(shape, a[m])
	}
	if !isColumn {
		shape = append(shape, b[k+1])
	}
	return [][]expression{shape}, ""
}

func (c *converter) reducedShape(op *operator.Operator, in []*value) ([][]expression, string) {
	x := in[0].shape
	var axes []int64
	isGiven := false
	switch {
	case op.Name == "ArgMax":
		axes, isGiven = []int64{op.Int("axis")}, true
	case len(in) > 1 && in[1] != nil:
		if axes, isGiven = in[1].numbers(); !isGiven {
			return nil, "has axes that are not known before a run"
		}
	}
	if (!isGiven || len(axes) == 0) && op.Int("noop_with_empty_axes") == 0 {
		for axis := range x {
			axes = append(axes, int64(axis))
		}
	}
	isReduced := make([]bool, len(x))
	for _, given := range axes {
		axis, fits := axisOf(given, len(x))
		if !fits {
			return nil, "has axes that do not fit"
		}
		isReduced[axis] = true
	}
	shape := []expression{}
	for axis, length := range x {
		switch {
		case !isReduced[axis]:
			shape = append(shape, length)
		case op.Int("keepdims") == 1:
			shape = append(shape, constantOf(1))
		}
	}
	return [][]expression{shape}, ""
}

func transposedShape(op *operator.Operator, x []expression) ([][]expression, string) {
	order, isGiven := op.Ints("perm")
	shape := slices.Clone(x)
	if !isGiven {
		slices.Reverse(shape)
		return [][]expression{shape}, ""
	}
	if len(order) != len(x) {
		return nil, "has an order of axes that does not fit"
	}
	for i, axis := range order {
		if axis < 0 || axis >= int64(len(x)) {
			return nil, "has an order of axes that does not fit"
		}
		shape[i] = x[axis]
	}
	return [][]expression{shape}, ""
}

// partShapes returns the shapes of Slice, Split and TopK.
func (c *converter) partShapes(op *operator.Operator, n *Node, in []*value) ([][]expression, string) {
	x := in[0].shape
	if op.Name == "Slice" {
		shape, wrong := c.slicedShape(in)
		return [][]expression{shape}, wrong
	}
	axis, fits := axisOf(op.Int("axis"), len(x))
	if !fits {
		return nil, "has an axis that does not fit"
	}
	with := func(length expression) []expression {
		shape := slices.Clone(x)
		shape[axis] = length
		return shape
	}
	given, isGiven := []int64(nil), false
	if len(in) > 1 && in[1] != nil {
		if given, isGiven = in[1].numbers(); !isGiven {
			return nil, "has sizes that are not known before a run"
		}
	}
	if op.Name == "TopK" {
		if len(given) != 1 {
			return nil, "has no number of elements"
		}
		shape := with(constantOf(given[0]))
		return [][]expression{shape, shape}, ""
	}
	var shapes [][]expression
	for i := range n.Outputs {
		length := c.fresh()
		switch {
		case isGiven && i < len(given):
			length = constantOf(given[i])
		case !isGiven && x[axis].isNumber() && x[axis].factor >= 0:
			parts := max(1, op.Int("num_outputs"))
			each := (x[axis].factor + parts - 1) / parts
			length = constantOf(max(0, min(each, x[axis].factor-int64(i)*each)))
		case !isGiven && op.Int("num_outputs") == 1:
			length = x[axis]
		}
		shapes = append(shapes, with(length))
	}
	return shapes, ""
}

// slicedShape returns the shape of a Slice with known bounds.
func (c *converter) slicedShape(in []*value) ([]expression, string) {
	var bounds [5][]int64
	for i := 1; i < len(in) && i < len(bounds); i++ {
		if in[i] == nil {
			continue
		}
		given, isKnown := in[i].numbers()
		if !isKnown {
			return nil, "has bounds that are not known before a run"
		}
		bounds[i] = given
	}
	shape := slices.Clone(in[0].shape)
	for i, start := range bounds[1] {
		axis, step := int64(i), int64(1)
		if bounds[3] != nil && i < len(bounds[3]) {
			axis = bounds[3][i]
		}
		if bounds[4] != nil && i < len(bounds[4]) {
			step = bounds[4][i]
		}
		at, fits := axisOf(axis, len(shape))
		if !fits || i >= len(bounds[2]) {
			return nil, "has axes that do not fit"
		}
		end, length := bounds[2][i], shape[at]
		switch {
		case step == 1 && start == 0 && end >= 1<<31-1:
		case length.isNumber():
			sliced, err := slicedLength(length.factor, start, end, step)
			if err != nil {
				return nil, "has bounds that do not fit"
			}
			shape[at] = constantOf(sliced)
		default:
			shape[at] = c.fresh()
		}
	}
	return shape, ""
}

// slicedLength returns the length of a Slice of one dimension.
func slicedLength(length, start, end, step int64) (int64, error) {
	form, err := operator.Find(operator.ONNX, "Slice", 0)
	if err != nil {
		return 0, err
	}
	op, err := form.Prepare(nil)
	if err != nil {
		return 0, err
	}
	bound := func(n int64) operator.Value {
		return operator.Value{Type: dtype.I64, Shape: []uint64{1}, Known: []int64{n}}
	}
	list := operator.Value{Type: dtype.I8, Shape: []uint64{uint64(length)}}
	inferred, err := op.Infer([]operator.Value{list, bound(start), bound(end), bound(0), bound(step)}, nil)
	if err != nil {
		return 0, err
	}
	return int64(inferred.Outputs[0].Shape[0]), nil
}

// attentionShapes returns the shapes of the outputs of Attention.
func (c *converter) attentionShapes(op *operator.Operator, in []*value) ([][]expression, string) {
	if len(in) < 3 || in[1] == nil || in[2] == nil {
		return nil, "has no keys or values"
	}
	q, k, v := in[0].shape, in[1].shape, in[2].shape
	if len(q) != len(k) || len(q) != len(v) || len(q) != 3 && len(q) != 4 {
		return nil, "has inputs with different numbers of dimensions"
	}
	heads, keyHeads := constantOf(op.Int("q_num_heads")), constantOf(op.Int("kv_num_heads"))
	tokens, size, valueSize := k[1], k[len(k)-1], v[len(v)-1]
	y := slices.Clone(q)
	if len(q) == 4 {
		heads, keyHeads, tokens = q[1], k[1], k[2]
		y[3] = v[3]
	} else {
		var fits [2]bool
		size, fits[0] = c.over(size, keyHeads)
		valueSize, fits[1] = c.over(valueSize, keyHeads)
		if !fits[0] || !fits[1] {
			return nil, "has no numbers of heads"
		}
		y[2] = c.times(heads, valueSize)
	}
	if len(in) > 4 && in[4] != nil && len(in[4].shape) == 4 {
		sum, isKnown := c.plus(in[4].shape[2], tokens)
		if tokens = sum; !isKnown {
			tokens = c.fresh()
		}
	}
	queries := q[len(q)-2]
	return [][]expression{y, {q[0], keyHeads, tokens, size}, {q[0], keyHeads, tokens, valueSize}, {q[0], heads, queries, tokens}}, ""
}
