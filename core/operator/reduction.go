package operator

import (
	"cmp"

	"ferrum_mem/core/internal/sorting"
)

// Operators that combine the elements along some dimensions into one.

// reduce is the form of ReduceSum, ReduceMean and ReduceMax. From opset moved on, axes are an
// input.
func reduce(version, moved int, types Types) Schema {
	s := Schema{
		Inputs:     []Parameter{input("data", "T", types)},
		Outputs:    []Parameter{input("reduced", "T", types)},
		Attributes: []Attribute{zeroOrOne("keepdims", 1)},
		infer:      inferReduce,
		origins:    eachKept,
	}
	if version < moved {
		s.Attributes = append(s.Attributes, list("axes", false))
		return s
	}
	s.Inputs = append(s.Inputs, numbers("axes", true))
	s.Attributes = append(s.Attributes, zeroOrOne("noop_with_empty_axes", 0))
	return s
}

func reduceSum(version int) Schema {
	return reduce(version, 13, floating(version)|wideIntegers)
}

func reduceMean(version int) Schema {
	return reduce(version, 18, floating(version)|wideIntegers)
}

func reduceMax(version int) Schema {
	types := floating(version) | wideIntegers
	if version >= 12 {
		types |= byteIntegers
	}
	if version >= 20 {
		types |= booleans
	}
	return reduce(version, 18, types)
}

func inferReduce(c *call) error {
	given, _, source, err := c.listOf("axes")
	if err != nil {
		return err
	}
	from := c.in(0).Shape
	axes, err := c.resolveAxes(given, len(from), source, c.describe(0))
	if err != nil {
		return err
	}
	if len(given) == 0 && c.Int("noop_with_empty_axes") == 0 {
		axes = allAxes(0, len(from))
	}
	sorting.By(axes, cmp.Compare)
	c.result.Layout.Axes = axes
	c.give(c.in(0).Type, without(from, axes, c.Int("keepdims") == 1))
	return nil
}
