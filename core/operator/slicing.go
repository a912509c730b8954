package operator

import (
	"math/bits"

	"ferrum_mem/core/device"
	"ferrum_mem/core/strided"
)

// Slice and Split, which copy parts of a tensor.

// slice is the form of Slice. Its numbers are attributes before opset 10.
func slice(version int) Schema {
	types := movable(version, 13)
	s := Schema{
		Inputs:  []Parameter{input("data", "T", types)},
		Outputs: []Parameter{input("output", "T", types)},
		infer:   inferSlice,
		origins: sliced,
	}
	if version < 10 {
		s.Attributes = []Attribute{list("starts", true), list("ends", true), list("axes", false)}
		return s
	}
	s.Inputs = append(s.Inputs, bounds("starts", false), bounds("ends", false), bounds("axes", true), bounds("steps", true))
	return s
}

func inferSlice(c *call) error {
	given := map[string][]int64{}
	from := c.in(0).Shape
	axes := allAxes(0, len(from))
	for _, name := range []string{"starts", "ends", "axes", "steps"} {
		values, isGiven, source, err := c.listOf(name)
		if err != nil {
			return err
		}
		switch {
		case name == "starts" && len(values) > len(from):
			return c.wrong("%s has %d elements: %s has %d dimensions", source, len(values), c.describe(0), len(from))
		case isGiven && len(values) != len(given["starts"]) && name != "starts":
			return c.wrong("%s has %d elements, starts has %d", source, len(values), len(given["starts"]))
		case isGiven && name == "axes":
			if axes, err = c.resolveAxes(values, len(from), source, c.describe(0)); err != nil {
				return err
			}
		}
		given[name] = values
	}
	shape := make([]uint64, len(from))
	starts, steps := make([]int64, len(from)), make([]int64, len(from))
	copy(shape, from)
	for i := range steps {
		steps[i] = 1
	}
	for i, start := range given["starts"] {
		axis, step := axes[i], int64(1)
		if given["steps"] != nil {
			step = given["steps"][i]
		}
		if step == 0 {
			return c.wrong("input \"steps\" %s: a step is 0", strided.Text(given["steps"]))
		}
		starts[axis], shape[axis] = stretch(int64(from[axis]), start, given["ends"][i], step)
		steps[axis] = step
	}
	c.result.Layout.Starts, c.result.Layout.Steps = starts, steps
	c.give(c.in(0).Type, shape)
	return nil
}

// stretch returns the first index and the number of the indices from start to end, which is
// excluded, in a dimension of some size. Unlike Python it limits a start before the first element
// to 0 also if the step is negative: that is the rule of ONNX.
func stretch(size, start, end, step int64) (first int64, elements uint64) {
	if size == 0 {
		return 0, 0
	}
	if start < 0 {
		start += size
	}
	if end < 0 {
		end += size
	}
	if step > 0 {
		start, end = max(0, min(start, size)), max(0, min(end, size))
	} else {
		start, end = max(0, min(start, size-1)), max(-1, min(end, size-1))
	}
	switch {
	case step > 0 && end > start:
		return start, 1 + uint64(end-start-1)/uint64(step)
	case step < 0 && end < start:
		// -(step + 1) does not overflow for the least step.
		return start, 1 + uint64(start-end-1)/(uint64(-(step+1))+1)
	}
	return 0, 0
}

// split is the form of Split. The sizes are an attribute before opset 13.
func split(version int) Schema {
	types := movable(version, 13)
	s := Schema{
		Inputs:     []Parameter{input("input", "T", types)},
		Outputs:    []Parameter{variadic("outputs", "T", types)},
		Attributes: []Attribute{integer("axis", 0)},
		infer:      inferSplit,
		origins:    eachLine(1),
	}
	if version < 13 {
		s.Attributes = append(s.Attributes, list("split", false))
	} else {
		s.Inputs = append(s.Inputs, numbers("split", true))
	}
	if version >= 18 {
		s.Attributes = append(s.Attributes, atLeast("num_outputs", 1))
	}
	return s
}

func inferSplit(c *call) error {
	axis, err := c.axisOf(0)
	if err != nil {
		return err
	}
	given, isGiven, source, err := c.listOf("split")
	if err != nil {
		return err
	}
	sizes, err := c.parts(axis, given, isGiven, source)
	if err != nil {
		return err
	}
	if len(c.wanted) > len(sizes) {
		return c.wrong("%d outputs are wanted: %s splits into %d", len(c.wanted), c.describe(0), len(sizes))
	}
	c.result.Layout.Sizes = sizes
	for _, size := range sizes {
		c.give(c.in(0).Type, with(c.in(0).Shape, axis, size))
	}
	return nil
}

// parts returns the sizes of the outputs of a Split.
func (c *call) parts(axis int, given []int64, isGiven bool, list string) ([]uint64, error) {
	size := c.in(0).Shape[axis]
	if isGiven {
		if c.Has("num_outputs") {
			return nil, c.wrong("%s and attribute \"num_outputs\" are both given", list)
		}
		return c.givenParts(axis, given, list)
	}
	// Since opset 18 the number of outputs is an attribute. Before, it is the number of outputs that
	// the caller passes.
	parts, source := uint64(len(c.wanted)), "the number of outputs"
	if c.Since >= 18 {
		parts, source = uint64(c.Int("num_outputs")), `attribute "num_outputs"`
	}
	if parts == 0 || parts > maxVariadic {
		return nil, c.wrong("%s is %d and input \"split\" is absent: expected 1 to %d outputs", source, parts, maxVariadic)
	}
	if c.Since < 18 && size%parts != 0 {
		return nil, c.wrong("dimension %d of %s is not a multiple of %d, the number of outputs", axis, c.describe(0), parts)
	}
	each := size/parts + min(size%parts, 1)
	if each*(parts-1) > size {
		return nil, c.wrong("%s is %d: dimension %d of %s has too few elements: only the last output may be smaller", source, parts, axis, c.describe(0))
	}
	sizes := make([]uint64, parts)
	for i := range sizes {
		sizes[i] = min(each, size)
		size -= sizes[i]
	}
	return sizes, nil
}

func (c *call) givenParts(axis int, given []int64, source string) ([]uint64, error) {
	if len(given) == 0 || len(given) > maxVariadic {
		return nil, c.wrong("%s has %d sizes: expected 1 to %d", source, len(given), maxVariadic)
	}
	sizes, sum := make([]uint64, len(given)), uint64(0)
	for i, part := range given {
		if part < 0 {
			return nil, c.wrong("%s: a size is negative", source)
		}
		next, carry := bits.Add64(sum, uint64(part), 0)
		if carry != 0 {
			return nil, c.fail(device.CodeOverflow, "%s: the sum of the sizes is above 2^64", source)
		}
		sizes[i], sum = uint64(part), next
	}
	if sum != c.in(0).Shape[axis] {
		return nil, c.wrong("%s has the sum %d: dimension %d of %s differs", source, sum, axis, c.describe(0))
	}
	return sizes, nil
}
