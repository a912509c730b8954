package operator

import (
	"cmp"
	"math/bits"
	"slices"

	"ferrum_mem/core/internal/sorting"
	"ferrum_mem/core/strided"
)

// Operators that copy elements to other places, or only change the shape.

func expand(version int) Schema {
	types := movable(version, 13)
	return Schema{
		Inputs:  []Parameter{input("input", "T", types), numbers("shape", false)},
		Outputs: []Parameter{input("output", "T", types)},
		infer:   inferExpand,
		origins: expanded,
	}
}

func inferExpand(c *call) error {
	given, err := c.known(1)
	if err != nil {
		return err
	}
	target, err := c.sizes(given)
	if err != nil {
		return err
	}
	shape, at, fits := broadcast(c.in(0).Shape, target)
	if !fits {
		return c.wrong("%s does not broadcast to %s: dimension %d differs", c.describe(0), described(`input "shape"`, target), at)
	}
	c.give(c.in(0).Type, shape)
	return nil
}

// sizes converts the elements of input 1 to a shape.
func (c *call) sizes(given []int64) ([]uint64, error) {
	if len(given) > MaxRank {
		return nil, c.wrong("%s has %d elements: at most %d dimensions are possible", c.describe(1), len(given), MaxRank)
	}
	shape := make([]uint64, len(given))
	for i, size := range given {
		if size < 0 {
			return nil, c.wrong("input %q is %s: a size is negative", c.inputName(1), strided.Text(given))
		}
		shape[i] = uint64(size)
	}
	return shape, nil
}

func concat(version int) Schema {
	types := movable(version, 13)
	return Schema{
		Inputs:     []Parameter{variadic("inputs", "T", types)},
		Outputs:    []Parameter{input("concat_result", "T", types)},
		Attributes: []Attribute{{Name: "axis", Kind: Int, IsRequired: true}},
		infer:      inferConcat,
		origins:    eachLine(maxVariadic),
	}
}

func inferConcat(c *call) error {
	axis, err := c.axisOf(0)
	if err != nil {
		return err
	}
	first := c.in(0).Shape
	total := uint64(0)
	for at, v := range c.inputs {
		if len(v.Shape) != len(first) || !slices.Equal(without(v.Shape, []int{axis}, true), without(first, []int{axis}, true)) {
			return c.wrong("%s do not fit: only dimension %d may differ", c.describeAll(0, at), axis)
		}
		// Each size is below 2^63 and there are few: the sum may pass 2^63, never 2^64 unnoticed.
		sum, carry := bits.Add64(total, v.Shape[axis], 0)
		if carry != 0 {
			sum = ^uint64(0)
		}
		total = sum
	}
	c.give(c.in(0).Type, with(first, axis, total))
	return nil
}

// reshape is the form of Reshape.
func reshape(version int) Schema {
	types := reshapable(version)
	s := Schema{
		Inputs:  []Parameter{input("data", "T", types), numbers("shape", false)},
		Outputs: []Parameter{input("reshaped", "T", types)},
		infer:   inferReshape,
		origins: regrouped,
	}
	if version >= 14 {
		s.Attributes = []Attribute{zeroOrOne("allowzero", 0)}
	}
	return s
}

func inferReshape(c *call) error {
	given, err := c.known(1)
	if err != nil {
		return err
	}
	if len(given) > MaxRank {
		return c.wrong("%s has %d elements: at most %d dimensions are possible", c.describe(1), len(given), MaxRank)
	}
	from, open := c.in(0).Shape, -1
	shape := make([]uint64, len(given))
	for i, size := range given {
		switch {
		case size > 0, size == 0 && c.Int("allowzero") == 1:
			shape[i] = uint64(size)
		case size == 0 && i < len(from):
			shape[i] = from[i]
		case size == 0:
			return c.wrong("input \"shape\" is %s: element %d is 0, which copies a dimension that %s does not have", strided.Text(given), i, c.describe(0))
		case size == -1 && open < 0:
			open, shape[i] = i, 1
		case size == -1:
			return c.wrong("input \"shape\" is %s: only one size may be -1", strided.Text(given))
		default:
			return c.wrong("input \"shape\" is %s: %d is not a size", strided.Text(given), size)
		}
	}
	elements, _ := strided.Count(from)
	made, fits := strided.Count(shape)
	switch {
	case open >= 0 && made == 0 && fits:
		return c.wrong("input \"shape\" is %s: -1 has no unique value for %s beside a size of 0", strided.Text(given), c.describe(0))
	case open >= 0 && fits && elements%made == 0:
		shape[open] = elements / made
	case open >= 0 || !fits || elements != made:
		return c.wrong("%s does not have the number of elements of shape %s", c.describe(0), strided.Text(given))
	}
	c.give(c.in(0).Type, shape)
	return nil
}

// axesForm is the form of Squeeze and Unsqueeze: axes are an attribute before opset 13.
func axesForm(version int, out string, areRequired bool, infer func(*call) error) Schema {
	types := reshapable(version)
	s := Schema{
		Inputs:  []Parameter{input("data", "T", types)},
		Outputs: []Parameter{input(out, "T", types)},
		infer:   infer,
		origins: regrouped,
	}
	if version >= 13 {
		s.Inputs = append(s.Inputs, numbers("axes", !areRequired))
	} else {
		s.Attributes = []Attribute{list("axes", areRequired)}
	}
	return s
}

func unsqueeze(version int) Schema { return axesForm(version, "expanded", true, inferUnsqueeze) }

func inferUnsqueeze(c *call) error {
	given, _, source, err := c.listOf("axes")
	if err != nil {
		return err
	}
	from := c.in(0).Shape
	rank := len(from) + len(given)
	if rank > MaxRank {
		return c.wrong("%s: %s would get %d dimensions: at most %d are possible", source, c.describe(0), rank, MaxRank)
	}
	axes, err := c.resolveAxes(given, rank, source, "the output")
	if err != nil {
		return err
	}
	sorting.By(axes, cmp.Compare)
	shape := slices.Clone(from)
	for _, axis := range axes {
		shape = slices.Insert(shape, axis, 1)
	}
	c.result.Layout.Axes = axes
	c.give(c.in(0).Type, shape)
	return nil
}

func squeeze(version int) Schema { return axesForm(version, "squeezed", false, inferSqueeze) }

func inferSqueeze(c *call) error {
	given, isGiven, source, err := c.listOf("axes")
	if err != nil {
		return err
	}
	from := c.in(0).Shape
	axes, err := c.resolveAxes(given, len(from), source, c.describe(0))
	if err != nil {
		return err
	}
	for i, size := range from {
		if !isGiven && size == 1 {
			axes = append(axes, i)
		}
	}
	for _, axis := range axes {
		if from[axis] != 1 {
			return c.wrong("%s: dimension %d of %s is not 1", source, axis, c.describe(0))
		}
	}
	sorting.By(axes, cmp.Compare)
	c.result.Layout.Axes = axes
	c.give(c.in(0).Type, without(from, axes, false))
	return nil
}

func transpose(version int) Schema {
	types := reshapable(version)
	return Schema{
		Inputs:     []Parameter{input("data", "T", types)},
		Outputs:    []Parameter{input("transposed", "T", types)},
		Attributes: []Attribute{list("perm", false)},
		infer:      inferTranspose,
		origins:    permuted,
	}
}

func inferTranspose(c *call) error {
	from := c.in(0).Shape
	given, isGiven := c.Ints("perm")
	order := allAxes(0, len(from))
	slices.Reverse(order)
	if isGiven {
		if slices.ContainsFunc(given, func(axis int64) bool { return axis < 0 }) {
			return c.wrong("attribute \"perm\" %s: an axis is negative", shortList(given))
		}
		resolved, err := c.resolveAxes(given, len(from), `attribute "perm"`, c.describe(0))
		if err != nil {
			return err
		}
		order = resolved
	}
	if len(order) != len(from) {
		return c.wrong("attribute \"perm\" %s does not have all axes of %s", shortList(given), c.describe(0))
	}
	shape := make([]uint64, len(from))
	for i, axis := range order {
		shape[i] = from[axis]
	}
	c.result.Layout.Axes = order
	c.give(c.in(0).Type, shape)
	return nil
}

func gather(version int) Schema {
	types := movable(version, 13)
	return Schema{
		Inputs:     []Parameter{input("data", "T", types), input("indices", "Tind", indices)},
		Outputs:    []Parameter{input("output", "T", types)},
		Attributes: []Attribute{integer("axis", 0)},
		origins:    gathered,
		infer: func(c *call) error {
			axis, err := c.axisOf(0)
			if err != nil {
				return err
			}
			from := c.in(0).Shape
			c.give(c.in(0).Type, slices.Concat(from[:axis], c.in(1).Shape, from[axis+1:]))
			return nil
		},
	}
}
