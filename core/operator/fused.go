package operator

// The operators of the domain Ferrum. They join operations that models compute together.

// rmsNormResidual adds the residual and normalises the sum over its last dimension. Both are
// outputs.
func rmsNormResidual(int) Schema {
	return Schema{
		Inputs: []Parameter{
			input("X", "T", floats), input("residual", "T", floats), input("scale", "T", floats),
		},
		Outputs:    []Parameter{input("Y", "T", floats), input("sum", "T", floats)},
		Attributes: []Attribute{float("epsilon", 1e-5)},
		infer: func(c *call) error {
			x := c.in(0).Shape
			if len(x) == 0 {
				return c.wrong("%s has no dimensions: expected at least 1", c.describe(0))
			}
			if err := c.exactly(1, x...); err != nil {
				return err
			}
			if err := c.exactly(2, x[len(x)-1]); err != nil {
				return err
			}
			c.result.Layout.Axes = []int{len(x) - 1}
			c.give(c.in(0).Type, x)
			c.give(c.in(0).Type, x)
			return nil
		},
	}
}

// siluMul is gate * sigmoid(gate) * up.
func siluMul(int) Schema {
	return Schema{
		Inputs:  []Parameter{input("gate", "T", floats), input("up", "T", floats)},
		Outputs: []Parameter{input("Y", "T", floats)},
		infer: func(c *call) error {
			if err := c.exactly(1, c.in(0).Shape...); err != nil {
				return err
			}
			return inferSame(c)
		},
	}
}

// linear is X * transpose(W) + bias. W has a row for each element of the output.
func linear(int) Schema {
	return Schema{
		Inputs:  []Parameter{input("X", "T", floats), input("W", "T", floats), optional("bias", "T", floats)},
		Outputs: []Parameter{input("Y", "T", floats)},
		infer:   inferLinear,
	}
}

// quantizedLinear is linear with a W of blocks along its rows.
func quantizedLinear(version int) Schema {
	s := linear(version)
	s.Inputs[1] = input("W", "Q", blocks)
	return s
}

func inferLinear(c *call) error {
	x := c.in(0).Shape
	if len(x) == 0 {
		return c.wrong("%s has no dimensions: expected at least 1", c.describe(0))
	}
	if err := c.rank(1, 2); err != nil {
		return err
	}
	w := c.in(1).Shape
	if x[len(x)-1] != w[1] {
		return c.wrong("%s do not fit: the last dimensions are %d and %d", c.describeAll(0, 1), x[len(x)-1], w[1])
	}
	if !c.in(2).IsAbsent {
		if err := c.exactly(2, w[0]); err != nil {
			return err
		}
	}
	c.give(c.in(0).Type, with(x, len(x)-1, w[0]))
	return nil
}
