package onnx

import (
	"slices"

	"ferrum_mem/core/ir"
	"ferrum_mem/core/operator"
)

// Rows: a value whose leading dimensions were merged into one by a Reshape. Exporters write it before a
// product with a matrix, and split the rows again behind it. A definition cannot split a dimension into
// several lengths that a run decides. So an operator that computes each row by itself is applied to the value
// before the Reshape, whose dimensions are kept:
//
//	Reshape(x, [batch*sequence, width]), Gemm, Reshape(…, [batch, sequence, width]) becomes ferrum.linear(x)
//
// The Reshape is added only if another operator reads the rows.

// asRows makes out a value of rows, if x has leading dimensions that a run decides and out merges them.
func (c *converter) asRows(x, out *value) bool {
	last := len(x.shape) - 1
	if last < 2 || len(out.shape) != 2 || out.shape[1] != x.shape[last] || out.shape[0] != c.product(x.shape[:last]) || !isWidth(out.shape[1]) {
		return false
	}
	c.rowsOf(x, out)
	return true
}

// isWidth states whether a length is that of the rows of a Reshape to [-1, length].
func isWidth(length expression) bool { return length.isNumber() && length.factor > 0 }

// rowsOf makes out the rows of x. The Reshape is added when something reads out.
func (c *converter) rowsOf(x, out *value) {
	node := c.node
	out.split = x
	out.pending = func() error {
		before := c.node
		c.node = node
		defer func() { c.node = before }()
		lengths := c.integers(out.name+".shape", ir.Dynamic, out.shape[1].factor)
		_, err := c.add(use{id: c.idOf([]*value{out}), layer: node.Name, kind: "Reshape"}, []*value{x, lengths}, []*value{out})
		return err
	}
	c.values[out.name] = out
}

// rowwise converts a node that computes each row by itself. isDone is false for other nodes.
func (c *converter) rowwise(in []*value) (isDone bool, err error) {
	at := slices.IndexFunc(in, func(v *value) bool { return v != nil && v.split != nil })
	if at < 0 || len(c.node.Outputs) != 1 {
		return false, nil
	}
	rows := in[at]
	leading := rows.split.shape[:len(rows.split.shape)-1]
	isProduct := c.node.Type == "MatMul" || c.node.Type == "Gemm"
	split := slices.Clone(in)
	for i, v := range in {
		switch {
		case v == nil:
		case v.split != nil && (i == 0 || !isProduct) && slices.Equal(v.split.shape[:len(v.split.shape)-1], leading):
			split[i] = v.split
		case !c.isSameForRows(i, v):
			return false, nil
		}
	}
	node := c.node
	changed := *node
	c.node = &changed
	defer func() { c.node = node }()
	changed.Outputs = []string{node.Outputs[0] + ".split"}
	for c.values[changed.Outputs[0]] != nil || c.isRead[changed.Outputs[0]] {
		changed.Outputs[0] += "_"
	}
	if node.Type == "Gemm" {
		isDone, err = c.rowProduct(split)
	} else if isDone = changed.isRowwise(); isDone {
		err = c.ordinary(split)
	}
	if !isDone || err != nil {
		return isDone, err
	}
	made := c.values[changed.Outputs[0]]
	out := &value{name: node.Outputs[0], kind: made.kind, shape: []expression{rows.shape[0], made.shape[len(made.shape)-1]}}
	c.node = node
	c.rowsOf(made, out)
	return true, nil
}

// isSameForRows states whether an input without rows is the same for all of them. The last dimension of the
// result is then a number.
func (c *converter) isSameForRows(at int, v *value) bool {
	switch c.node.Type {
	case "MatMul", "Gemm":
		return at == 1 && len(v.shape) == 2 && isWidth(v.shape[0]) && isWidth(v.shape[1]) || at == 2 && len(v.shape) == 1
	}
	return len(v.shape) == 0 || len(v.shape) == 1 && isWidth(v.shape[0])
}

// isRowwise states whether a node computes each row by itself. It then leaves out an axis that is the last
// one, so that the node does the same with more dimensions.
func (n *Node) isRowwise() bool {
	switch n.Type {
	case "Add", "Sub", "Mul", "Div", "Pow", "Erf", "Tanh", "Sqrt", "Relu", "Gelu", "Cast", "MatMul":
		return true
	case "Softmax", "LayerNormalization":
		axis := n.attribute("axis")
		if axis != nil && axis.Int != -1 && axis.Int != 1 {
			return false
		}
		n.Attributes = slices.DeleteFunc(slices.Clone(n.Attributes), func(a Attribute) bool { return a.Name == "axis" })
		return true
	}
	return false
}

// rowProduct converts a Gemm of rows. A matrix with a row for each output is that of ferrum.linear.
func (c *converter) rowProduct(in []*value) (isDone bool, err error) {
	n := c.node
	isTransposed := false
	for i := range n.Attributes {
		switch a := &n.Attributes[i]; {
		case a.Name == "alpha" && a.Float == 1, a.Name == "beta" && a.Float == 1, a.Name == "transA" && a.Int == 0, a.Name == "transB" && a.Int == 0:
		case a.Name == "transB" && a.Int == 1:
			isTransposed = true
		default:
			return false, nil
		}
	}
	if len(in) < 2 || in[0] == nil || in[1] == nil {
		return false, nil
	}
	width := in[1].shape[1]
	if isTransposed {
		width = in[1].shape[0]
	}
	last := len(in[0].shape) - 1
	if len(in) == 3 && in[2] != nil && in[2].shape[0] != width {
		return false, nil
	}
	made := &value{name: n.Outputs[0], kind: in[0].kind, shape: append(slices.Clone(in[0].shape[:last]), width)}
	if isTransposed {
		_, err = c.add(use{id: c.idOf([]*value{made}), layer: n.Name, kind: operator.FullName(operator.Ferrum, "linear")}, in, []*value{made})
		return true, err
	}
	hasBias := len(in) == 3 && in[2] != nil
	product := made
	if hasBias {
		product = &value{kind: made.kind, shape: made.shape}
	}
	if _, err = c.add(use{id: unique(c.ids, n.Outputs[0]), layer: n.Name, kind: "MatMul"}, in[:2], []*value{product}); err == nil && hasBias {
		_, err = c.add(use{id: unique(c.ids, n.Outputs[0]+".bias"), kind: "Add"}, []*value{product, in[2]}, []*value{made})
	}
	return true, err
}
