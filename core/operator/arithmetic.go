package operator

import (
	"ferrum_mem/core/dtype"
)

// Operators on single elements: the output has the shape of the input, or the one to which the
// inputs broadcast.

// binary is the form of Add, Sub, Mul and Div.
func binary(version int) Schema {
	types := numeric(version)
	return Schema{
		Inputs:  []Parameter{input("A", "T", types), input("B", "T", types)},
		Outputs: []Parameter{input("C", "T", types)},
		infer:   inferBroadcast,
		origins: eachElement,
	}
}

func power(version int) Schema {
	base, exponent := Types(standardFloats), Types(standardFloats)
	if version >= 12 {
		base, exponent = base|indices, exponent|integers
	}
	if version >= 13 {
		base |= brain
	}
	if version >= 15 {
		exponent |= brain
	}
	variable := "T1"
	if version < 12 {
		variable = "T"
	}
	return Schema{
		Inputs:  []Parameter{input("X", "T", base), input("Y", variable, exponent)},
		Outputs: []Parameter{input("Z", "T", base)},
		infer:   inferBroadcast,
		origins: eachElement,
	}
}

func inferBroadcast(c *call) error {
	shape, err := c.broadcastInputs()
	if err == nil {
		c.give(c.in(0).Type, shape)
	}
	return err
}

// unary is the form of an operator with one input, from its types and names.
func unary(in, out string, types Types, attributes ...Attribute) Schema {
	return Schema{
		Inputs:     []Parameter{input(in, "T", types)},
		Outputs:    []Parameter{input(out, "T", types)},
		Attributes: attributes,
		infer:      inferSame,
		origins:    eachElement,
	}
}

func inferSame(c *call) error {
	c.give(c.in(0).Type, c.in(0).Shape)
	return nil
}

func squareRoot(version int) Schema { return unary("X", "Y", floating(version)) }

func tangent(version int) Schema { return unary("input", "output", floating(version)) }

func errorFunction(version int) Schema {
	if version < 13 {
		return unary("input", "output", standardFloats|integers)
	}
	return unary("input", "output", floats)
}

func rectifier(version int) Schema {
	types := floating(version)
	if version >= 14 {
		types |= 1<<dtype.I8 | 1<<dtype.I16 | 1<<dtype.I32 | 1<<dtype.I64
	}
	return unary("X", "Y", types)
}

func gelu(int) Schema {
	return unary("X", "Y", floats, Attribute{
		Name: "approximate", Kind: Text, Default: "none", Choices: []string{"none", "tanh"},
	})
}

func swish(int) Schema { return unary("X", "Y", floats, float("alpha", 1)) }

func where(version int) Schema {
	types := movable(version, 16)
	return Schema{
		Inputs: []Parameter{
			input("condition", "B", booleans), input("X", "T", types), input("Y", "T", types),
		},
		Outputs: []Parameter{input("output", "T", types)},
		origins: eachElement,
		infer: func(c *call) error {
			shape, err := c.broadcastInputs()
			if err == nil {
				c.give(c.in(1).Type, shape)
			}
			return err
		},
	}
}

// cast is the form of Cast. The attribute "to" is required.
func cast(version int) Schema {
	types := reshapable(version)
	attributes := []Attribute{{Name: "to", Kind: DataType, IsRequired: true, Types: types}}
	if version >= 19 {
		attributes = append(attributes, zeroOrOne("saturate", 1))
	}
	if version >= 24 {
		attributes = append(attributes, Attribute{
			Name: "round_mode", Kind: Text, Default: "up", Choices: []string{"up", "down", "nearest"},
		})
	}
	return Schema{
		Inputs:     []Parameter{input("input", "T1", types)},
		Outputs:    []Parameter{input("output", "T2", types)},
		Attributes: attributes,
		origins:    eachElement,
		infer: func(c *call) error {
			to, _ := c.DataType("to")
			c.give(to, c.in(0).Shape)
			return nil
		},
	}
}
