package onnx

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"

	"ferrum_mem/core/dtype"
	"ferrum_mem/core/ir"
)

// Operators whose shape depends on the lengths of a run.

// input adds an input of the definition. A dynamic dimension without a name gets one.
func (c *converter) input(in *Value, rule ir.Default) *value {
	v := &value{name: in.Name, kind: in.Type, node: in.Name}
	t := ir.Tensor{Name: in.Name, Shape: make([]int64, len(in.Shape)), DType: in.Type}
	dims := make([]string, len(in.Shape))
	for axis, d := range in.Shape {
		t.Shape[axis], dims[axis] = d.Length, d.Name
		switch {
		case d.Length != ir.Dynamic:
			v.shape = append(v.shape, constantOf(d.Length))
			dims[axis] = ""
		case d.Name == "":
			dims[axis] = fmt.Sprintf("%s.%d", in.Name, axis)
			fallthrough
		default:
			v.shape = append(v.shape, atomOf(dims[axis]))
		}
	}
	metadata := map[string]json.RawMessage{ir.MetadataDims: raw(dims)}
	if rule != "" {
		metadata[ir.MetadataDefault] = raw(rule)
	}
	c.m.Layers = append(c.m.Layers, ir.Layer{Name: in.Name, Type: ir.InputType, Inputs: []ir.Tensor{}, Outputs: []ir.Tensor{t}, Parameters: []string{}})
	c.m.Graph.Nodes = append(c.m.Graph.Nodes, ir.Node{ID: in.Name, LayerName: in.Name, Metadata: metadata})
	c.m.Graph.Inputs = append(c.m.Graph.Inputs, in.Name)
	c.ids[in.Name], c.layers[in.Name] = true, true
	c.values[in.Name] = v
	return v
}

// expand converts an Expand whose shape may depend on the lengths of a run. Lengths that the input has are 1
// in the new shape. For any other length that a run decides, Where of a flag for each index has it: both
// choices are the input, so the flags do not matter.
func (c *converter) expand(x, to *value) error {
	if to.known == nil {
		return c.unsupported("the new shape %.120q is computed in a run", to.name)
	}
	target := to.known
	fixed, shape := make([]int64, len(target)), c.broadcast(x.shape, target)
	var open []int
	for i, length := range target {
		fixed[i] = 1
		at := i - len(target) + len(x.shape)
		switch {
		case at >= 0 && x.shape[at] == length:
		case length.isNumber():
			fixed[i] = length.factor
		default:
			open = append(open, i)
		}
	}
	if len(x.shape) > len(target) {
		fixed = append(slices.Repeat([]int64{1}, len(x.shape)-len(target)), fixed...)
	}
	isSame := len(fixed) == len(x.shape) && !slices.ContainsFunc(fixed, func(length int64) bool { return length != 1 })
	if len(open) == 0 && isSame {
		c.alias(x)
		return nil
	}
	out := &value{name: c.node.Outputs[0], kind: x.kind, shape: shape, grown: x}
	node := c.node
	out.pending = func() error {
		before := c.node
		c.node = node
		defer func() { c.node = before }()
		var pads []int64
		if !isSame {
			pads = fixed
		}
		return c.grow(x, out, pads, target, open)
	}
	c.values[out.name] = out
	return nil
}

// grow adds the nodes of an Expand: to fixed lengths, if there are any, and then for each place of target in
// open.
func (c *converter) grow(x, out *value, fixed []int64, target []expression, open []int) error {
	// next is the value of the next node. The last one is out.
	next := func(shape []expression, isLast bool) (*value, use) {
		if isLast {
			return out, use{id: c.idOf([]*value{out}), layer: c.node.Name}
		}
		return &value{kind: x.kind, shape: shape}, use{id: unique(c.ids, out.name+".grown")}
	}
	if fixed != nil {
		lengths := make([]expression, len(fixed))
		for i, length := range fixed {
			lengths[i] = constantOf(length)
		}
		made, u := next(c.broadcast(x.shape, lengths), len(open) == 0)
		u.kind = "Expand"
		if _, err := c.add(u, []*value{x, c.integers(out.name+".shape", fixed...)}, []*value{made}); err != nil {
			return err
		}
		x = made
	}
	for i, axis := range open {
		flags, err := c.flags(target[axis], len(target)-1-axis)
		if err != nil {
			return err
		}
		made, u := next(c.broadcast(x.shape, flags.shape), i == len(open)-1)
		u.kind = "Where"
		if _, err := c.add(u, []*value{flags, x, x}, []*value{made}); err != nil {
			return err
		}
		x = made
	}
	return nil
}

// flags returns a value of flags with one for each index of a dimension of an input, and further dimensions
// of 1. What the flags are does not matter.
func (c *converter) flags(length expression, further int) (*value, error) {
	name, isName := length.name()
	for _, id := range c.m.Graph.Inputs {
		in := c.values[id]
		axis := -1
		if isName {
			axis = slices.Index(in.shape, length)
		}
		if axis < 0 {
			continue
		}
		base := unique(c.ids, c.node.Outputs[0]+"."+name)
		step := func(ending, kind string, config map[string]json.RawMessage, shape []expression, to dtype.DType, in ...*value) (*value, error) {
			out := &value{kind: to, shape: shape}
			_, err := c.add(use{id: unique(c.ids, base+ending), kind: kind, config: config}, in, []*value{out})
			return out, err
		}
		x, err := step(".numbers", "Cast", map[string]json.RawMessage{"to": raw(dtype.I64.String())}, in.shape, dtype.I64, in)
		if err != nil {
			return nil, err
		}
		var others []int64
		for other := range in.shape {
			if other != axis {
				others = append(others, int64(other))
			}
		}
		if len(others) > 0 {
			x, err = step(".sum", "ReduceSum", map[string]json.RawMessage{"keepdims": raw(0)}, []expression{length}, dtype.I64, x, c.integers(base+".axes", others...))
			if err != nil {
				return nil, err
			}
		}
		x, err = step(".flags", "Cast", map[string]json.RawMessage{"to": raw(dtype.Bool.String())}, []expression{length}, dtype.Bool, x)
		if err != nil || further == 0 {
			return x, err
		}
		shape, axes := []expression{length}, []int64{}
		for i := range further {
			shape, axes = append(shape, constantOf(1)), append(axes, int64(1+i))
		}
		return step(".column", "Unsqueeze", nil, shape, dtype.Bool, x, c.integers(base+".further", axes...))
	}
	return nil, c.unsupported("the length %v of the new shape is no dimension of an input", length)
}

// fill converts a ConstantOfShape: a scalar, expanded.
func (c *converter) fill(shape *value) error {
	of, wrong := c.filling(c.node)
	if wrong != "" {
		return c.unsupported("%s", wrong)
	}
	scalar := &value{name: c.node.Outputs[0] + ".element", kind: of.kind, shape: []expression{}}
	switch {
	case isInteger(of.kind):
		scalar.known = []expression{constantOf(of.integer)}
	case of.integer != 0 && of.integer != 1:
		return c.unsupported("its value is %d of the type %s", of.integer, of.kind)
	default:
		p := ir.Parameter{Name: unique(c.parameters, scalar.name), Shape: []int64{}, DType: of.kind, Initialization: ir.Initialization{Strategy: ir.StrategyZeros}}
		switch {
		case of.integer == 1 || of.number == 1:
			p.Initialization.Strategy = ir.StrategyOnes
		case of.number != 0:
			// A normal distribution whose numbers are all the mean.
			p.Initialization = ir.Initialization{Strategy: ir.StrategyNormal, Mean: float32(of.number)}
		}
		c.m.Parameters = append(c.m.Parameters, p)
		again := p
		again.Name = unique(c.parameters, scalar.name)
		c.m.Parameters = append(c.m.Parameters, again)
		scalar.parameters = []string{p.Name, again.Name}
	}
	return c.expand(scalar, shape)
}

// count converts a Range from 0 on along a dimension of an input. It is a further input of the definition,
// which counts if a run does not give it.
func (c *converter) count(in []*value) error {
	if len(in) != 3 {
		return c.wrong("it has %d inputs: 3 are needed", len(in))
	}
	start, isStart := in[0].numbers()
	step, isStep := in[2].numbers()
	if !isStart || !isStep || len(start) != 1 || start[0] != 0 || len(step) != 1 || step[0] != 1 || in[1] == nil || len(in[1].known) != 1 || in[0].kind != dtype.I64 {
		return c.unsupported("a range is supported from 0 on in steps of 1, up to a dimension of an input, in i64")
	}
	v, err := c.positionsOf(in[1].known[0])
	if err == nil {
		c.alias(v)
	}
	return err
}

// positionsOf returns the input that counts along a dimension.
func (c *converter) positionsOf(length expression) (*value, error) {
	name, isName := length.name()
	if !isName {
		return nil, c.unsupported("the length %v is no dimension of an input", length)
	}
	if v := c.positions[name]; v != nil {
		return v, nil
	}
	id := "positions." + name
	for c.ids[id] || c.values[id] != nil || c.isRead[id] {
		id += "_"
	}
	v := c.input(&Value{Name: id, Type: dtype.I64, HasShape: true, Shape: []Dim{{ir.Dynamic, name}}}, ir.DefaultPositions)
	c.positions[name] = v
	return v, nil
}

// slice converts a Slice whose end depends on the lengths of a run: a Slice of the whole dimension, or the
// first rows of a tensor of the file, which a Gather takes. isDone is false for other slices.
func (c *converter) slice(in []*value) (isDone bool, err error) {
	if len(in) < 3 || in[0] == nil || in[1] == nil || in[2] == nil || in[2].known == nil {
		return false, nil
	}
	if _, isKnown := in[2].numbers(); isKnown {
		return false, nil
	}
	starts, isKnown := in[1].numbers()
	if !isKnown || len(starts) != len(in[2].known) {
		return false, nil
	}
	axes := make([]int64, len(starts))
	for i := range axes {
		axes[i] = int64(i)
	}
	if len(in) > 3 && in[3] != nil {
		if axes, isKnown = in[3].numbers(); !isKnown || len(axes) != len(starts) {
			return false, nil
		}
	}
	if len(in) > 4 && in[4] != nil {
		steps, isKnown := in[4].numbers()
		if !isKnown || slices.ContainsFunc(steps, func(step int64) bool { return step != 1 }) {
			return false, nil
		}
	}
	ends := make([]int64, len(starts))
	for i, end := range in[2].known {
		axis, fits := axisOf(axes[i], len(in[0].shape))
		switch {
		case !fits:
			return true, c.wrong("its axes do not fit")
		case end.isNumber():
			ends[i] = end.factor
		case in[0].shape[axis] == end:
			ends[i] = math.MaxInt64
		case len(starts) == 1 && starts[0] == 0:
			return true, c.firstRows(in[0], axis, end)
		default:
			return false, nil
		}
	}
	changed := slices.Clone(in)
	changed[2] = c.integers(c.node.Outputs[0]+".ends", ends...)
	return true, c.ordinary(changed)
}

// firstRows takes the first rows of a dimension. If a run has fewer rows than it needs, the Gather fails,
// where the Slice would be shorter.
func (c *converter) firstRows(x *value, axis int, length expression) error {
	positions, err := c.positionsOf(length)
	if err != nil {
		return err
	}
	shape := slices.Clone(x.shape)
	shape[axis] = length
	out := []*value{{name: c.node.Outputs[0], kind: x.kind, shape: shape}}
	_, err = c.add(use{id: c.idOf(out), layer: c.node.Name, kind: "Gather", config: map[string]json.RawMessage{"axis": raw(axis)}}, []*value{x, positions}, out)
	return err
}
