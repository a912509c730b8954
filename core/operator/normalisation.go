package operator

import "ferrum_mem/core/dtype"

// Softmax and the norms, which need all elements along some dimensions for each element.

// softmax is the form of Softmax. Before opset 13 it combines all dimensions from axis on.
func softmax(version int) Schema {
	axis := int64(-1)
	if version < 13 {
		axis = 1
	}
	s := unary("input", "output", floating(version), integer("axis", axis))
	s.infer, s.origins = inferSoftmax, eachRow
	return s
}

func inferSoftmax(c *call) error {
	axis, err := c.axisOf(0)
	if err != nil {
		return err
	}
	if c.Since < 13 {
		c.result.Layout.Axes = allAxes(axis, len(c.in(0).Shape))
	}
	return inferSame(c)
}

// stash is the attribute with the type of intermediate values.
func stash() Attribute {
	return Attribute{Name: "stash_type", Kind: DataType, Default: "f32", Types: 1<<dtype.F32 | brain}
}

func layerNormalization(int) Schema {
	const stashed = 1<<dtype.F32 | brain
	return Schema{
		Inputs: []Parameter{input("X", "T", floats), input("Scale", "T", floats), optional("B", "T", floats)},
		Outputs: []Parameter{
			input("Y", "T", floats), optional("Mean", "U", stashed), optional("InvStdDev", "U", stashed),
		},
		Attributes: []Attribute{integer("axis", -1), float("epsilon", 1e-5), stash()},
		infer:      inferNorm,
		origins:    eachRow,
	}
}

func rmsNormalization(int) Schema {
	return Schema{
		Inputs:     []Parameter{input("X", "T", floats), input("scale", "V", floats)},
		Outputs:    []Parameter{input("Y", "V", floats)},
		Attributes: []Attribute{integer("axis", -1), float("epsilon", 1e-5), stash()},
		infer:      inferNorm,
		origins:    eachRow,
	}
}

// inferNorm is the rule of both norms. The output of RMSNormalization has the type of its scale.
func inferNorm(c *call) error {
	axis, err := c.axisOf(0)
	if err != nil {
		return err
	}
	from := c.in(0).Shape
	for at := 1; at < len(c.inputs); at++ {
		if c.in(at).IsAbsent {
			continue
		}
		if err := c.fitsInto(at, from, c.describe(0)); err != nil {
			return err
		}
	}
	c.result.Layout.Axes = allAxes(axis, len(from))
	c.give(c.in(1).Type, from)
	stashed, _ := c.DataType("stash_type")
	for range c.Outputs[1:] {
		c.give(stashed, without(from, c.result.Layout.Axes, true))
	}
	return nil
}
