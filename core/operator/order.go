package operator

import "ferrum_mem/core/dtype"

// Operators that find the largest elements.

func argMax(version int) Schema {
	types := Types(standardFloats | integers)
	if version >= 13 {
		types |= brain
	}
	s := Schema{
		Inputs:     []Parameter{input("data", "T", types)},
		Outputs:    []Parameter{input("reduced", "tensor(int64)", shapeNumbers)},
		Attributes: []Attribute{integer("axis", 0), zeroOrOne("keepdims", 1)},
		infer:      inferArgMax,
		origins:    eachKept,
	}
	if version >= 12 {
		s.Attributes = append(s.Attributes, zeroOrOne("select_last_index", 0))
	}
	return s
}

func inferArgMax(c *call) error {
	axis, err := c.axisOf(0)
	if err != nil {
		return err
	}
	from := c.in(0).Shape
	if from[axis] == 0 {
		return c.wrong("dimension %d of %s is 0: there is no largest element", axis, c.describe(0))
	}
	c.give(dtype.I64, without(from, []int{axis}, c.Int("keepdims") == 1))
	return nil
}

// topK is the form of TopK. The number of elements is an attribute before opset 10.
func topK(version int) Schema {
	types := Types(standardFloats)
	if version >= 11 {
		types |= integers
	}
	if version >= 24 {
		types |= brain
	}
	s := Schema{
		Inputs:     []Parameter{input("X", "T", types)},
		Outputs:    []Parameter{input("Values", "T", types), input("Indices", "I", shapeNumbers)},
		Attributes: []Attribute{integer("axis", -1)},
		infer:      inferTopK,
		origins:    eachLine(1),
	}
	if version < 10 {
		s.Attributes = append(s.Attributes, Attribute{Name: "k", Kind: Int, IsRequired: true})
		return s
	}
	s.Inputs = append(s.Inputs, numbers("K", false))
	if version >= 11 {
		s.Attributes = append(s.Attributes, zeroOrOne("largest", 1), zeroOrOne("sorted", 1))
	}
	return s
}

func inferTopK(c *call) error {
	axis, err := c.axisOf(0)
	if err != nil {
		return err
	}
	k := c.Int("k")
	if len(c.Inputs) > 1 {
		given, err := c.known(1)
		if err != nil {
			return err
		}
		if len(given) != 1 {
			return c.wrong("%s has %d elements: expected 1", c.describe(1), len(given))
		}
		k = given[0]
	}
	from := c.in(0).Shape
	if k < 0 || uint64(k) > from[axis] {
		return c.wrong("K is %d: dimension %d of %s has %d elements", k, axis, c.describe(0), from[axis])
	}
	c.give(c.in(0).Type, with(from, axis, uint64(k)))
	c.give(dtype.I64, with(from, axis, uint64(k)))
	return nil
}
