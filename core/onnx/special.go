package onnx

import (
	"encoding/json"
	"slices"

	"ferrum_mem/core/operator"
)

// Operators that are converted in a way of their own: those that change nothing in inference, and those whose
// shape depends on the lengths of a run.

// special converts such a node. isDone is false for other nodes.
func (c *converter) special(in []*value) (isDone bool, err error) {
	n := c.node
	switch n.Type {
	case "Identity", "Dropout", "Reshape", "Flatten", "Expand", "ConstantOfShape", "Sigmoid":
		if len(in) == 0 || in[0] == nil {
			return true, c.wrong("it has no input")
		}
	}
	switch n.Type {
	case "Identity":
		c.alias(in[0])
	case "Dropout":
		if len(in) > 2 && in[2] != nil && !isFalse(in[2]) || len(n.Outputs) > 1 && c.isRead[n.Outputs[1]] {
			return true, c.unsupported("dropout is supported in inference only, without its mask")
		}
		c.alias(in[0])
	case "Reshape":
		return true, c.reshape(in)
	case "Flatten":
		return true, c.flatten(in[0])
	case "Expand":
		if len(in) != 2 || in[1] == nil {
			return true, c.wrong("it has no shape")
		}
		return true, c.expand(in[0], in[1])
	case "ConstantOfShape":
		return true, c.fill(in[0])
	case "Range":
		return true, c.count(in)
	case "Slice":
		return c.slice(in)
	case "Sigmoid":
		c.values[n.Outputs[0]] = &value{name: n.Outputs[0], kind: in[0].kind, shape: in[0].shape, sigmoid: in[0], at: n}
	case "Mul":
		return c.swish(in)
	default:
		return false, nil
	}
	return true, nil
}

// alias gives a value the name of the first output of the node too.
func (c *converter) alias(v *value) { c.values[c.node.Outputs[0]] = v }

func isFalse(v *value) bool {
	numbers, isKnown := v.numbers()
	return isKnown && len(numbers) == 1 && numbers[0] == 0
}

// reshape converts a Reshape whose shape may depend on the lengths of a run. A length that a dimension of the
// input at the same place has is 0 in the new shape, and one other length is -1.
func (c *converter) reshape(in []*value) error {
	if len(in) < 2 || in[1] == nil {
		return c.wrong("it has no shape")
	}
	target := in[1].known
	if target == nil && in[1].stored != nil && in[1].stored.Elements <= operator.MaxRank {
		if err := c.readKnown(in[1]); err != nil {
			return err
		}
		target = in[1].known
	}
	if target == nil {
		return c.unsupported("the new shape %.120q is computed in a run", in[1].name)
	}
	if len(target) > operator.MaxRank {
		return c.unsupported("the new shape has %d dimensions: at most %d are supported", len(target), operator.MaxRank)
	}
	allowsZero := false
	if a := c.node.attribute("allowzero"); a != nil {
		allowsZero = a.Int != 0
	}
	return c.reshapeTo(in[0], target, allowsZero)
}

// reshapeTo adds the Reshape to a shape whose elements may be 0 and -1 as in ONNX.
func (c *converter) reshapeTo(x *value, target []expression, allowsZero bool) error {
	if x.split != nil {
		// The rows are split again: the elements have the same order before they were merged.
		whole := slices.Clone(target)
		for i, length := range whole {
			if length.is(0) && !allowsZero && i < len(x.shape) {
				whole[i] = x.shape[i]
			}
		}
		target, x = whole, x.split
	}
	shape, encoded := make([]expression, len(target)), make([]int64, len(target))
	open, isCopied, hasZero := -1, false, false
	others := constantOf(1)
	for i, length := range target {
		switch {
		case length.is(-1):
			if open >= 0 {
				return c.wrong("the new shape %v has -1 twice", texts(target))
			}
			open = i
			continue
		case length.is(0) && !allowsZero:
			if i >= len(x.shape) {
				return c.wrong("the new shape %v copies a dimension that the input does not have", texts(target))
			}
			shape[i], encoded[i], isCopied = x.shape[i], 0, true
		case length.isNumber():
			shape[i], encoded[i] = length, length.factor
			hasZero = hasZero || length.is(0)
		case i < len(x.shape) && x.shape[i] == length:
			shape[i], encoded[i], isCopied = length, 0, true
		default:
			shape[i], encoded[i] = length, -1
		}
		others = c.times(others, shape[i])
	}
	if open >= 0 {
		quotient, isKnown := c.over(c.product(x.shape), others)
		if !isKnown {
			quotient = c.fresh()
		}
		shape[open], encoded[open] = quotient, -1
		switch {
		case quotient.isNumber():
			encoded[open] = quotient.factor
		case open < len(x.shape) && x.shape[open] == quotient && !hasZero:
			encoded[open], isCopied = 0, true
		}
	}
	dynamic := 0
	for _, length := range encoded {
		if length == -1 {
			dynamic++
		}
	}
	if dynamic > 1 || isCopied && hasZero && allowsZero {
		return c.unsupported("the new shape %v of the input %v has several lengths that a run decides, at other places than in the input", texts(target), texts(x.shape))
	}
	config := map[string]json.RawMessage{}
	if hasZero && allowsZero {
		config["allowzero"] = raw(1)
	}
	out := []*value{{name: c.node.Outputs[0], kind: x.kind, shape: shape}}
	if slices.Equal(shape, x.shape) {
		c.alias(x)
		return nil
	}
	if c.asRows(x, out[0]) {
		return nil
	}
	_, err := c.add(use{id: c.idOf(out), layer: c.node.Name, kind: "Reshape", config: config}, []*value{x, c.integers(c.node.Outputs[0]+".shape", encoded...)}, out)
	return err
}

// flatten is Reshape to a matrix.
func (c *converter) flatten(x *value) error {
	axis := int64(1)
	if a := c.node.attribute("axis"); a != nil {
		axis = a.Int
	}
	if axis < 0 {
		axis += int64(len(x.shape))
	}
	if axis < 0 || axis > int64(len(x.shape)) {
		return c.wrong("its axis does not fit")
	}
	return c.reshapeTo(x, []expression{c.product(x.shape[:axis]), c.product(x.shape[axis:])}, true)
}

// swish converts x * Sigmoid(x). isDone is false for other products.
func (c *converter) swish(in []*value) (isDone bool, err error) {
	if len(in) != 2 || in[0] == nil || in[1] == nil {
		return false, nil
	}
	x, s := in[0], in[1]
	if x.sigmoid != nil && x.sigmoid == s {
		x, s = s, x
	}
	if s.sigmoid == nil || s.sigmoid != x {
		return false, nil
	}
	out := []*value{{name: c.node.Outputs[0], kind: x.kind, shape: x.shape}}
	_, err = c.add(use{id: c.idOf(out), layer: c.node.Name, kind: "Swish"}, []*value{x}, out)
	return true, err
}
