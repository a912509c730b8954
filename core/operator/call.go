package operator

import (
	"fmt"
	"strings"

	"ferrum_mem/core/device"
	"ferrum_mem/core/dtype"
	"ferrum_mem/core/strided"
)

const opInfer = "operator.infer"

// Inferred is the result of Infer.
type Inferred struct {
	// Outputs has the type and shape of each output. An output that is not wanted is absent.
	Outputs []Value
	Layout  Layout
}

// Layout has the values that an operation needs beside the shapes, resolved from attributes and
// inputs. Fields that the operator does not use are zero.
type Layout struct {
	// Axes are dimensions of the first input, none negative. Softmax, Reduce* and the norms: the
	// dimensions over which elements are combined, ascending. Concat, Split, Gather, ArgMax and
	// TopK: one dimension. Transpose: the permutation. Squeeze: the removed dimensions.
	// Unsqueeze: the inserted dimensions of the output.
	Axes []int
	// Starts and Steps have for each dimension the first index of a Slice and the distance between
	// two indices. The output has the number of them.
	Starts, Steps []int64
	// Sizes are the sizes of the outputs of a Split.
	Sizes []uint64
	// Heads are the sizes of RotaryEmbedding and Attention.
	Heads Heads
}

// Heads are the sizes of RotaryEmbedding and Attention, whichever form their inputs have.
type Heads struct {
	Batch, QueryHeads, KeyHeads uint64
	// Queries, Keys and Past are numbers of tokens. Keys includes Past.
	Queries, Keys, Past uint64
	// Size and ValueSize are numbers of elements of a head.
	Size, ValueSize uint64
	// Rotated is the number of elements of a head that RotaryEmbedding rotates.
	Rotated uint64
	// IsPacked states that the heads of a token lie together in one dimension: [batch, tokens,
	// heads * size]. Otherwise the inputs are [batch, heads, tokens, size].
	IsPacked bool
}

// call is one inference.
type call struct {
	*Operator
	inputs []Value
	wanted []bool
	result Inferred
}

// in returns an input, which is absent if it was not given.
func (c *call) in(at int) Value {
	if at < len(c.inputs) {
		return c.inputs[at]
	}
	return Value{IsAbsent: true}
}

// inputName returns the name of an input. One of several has its index.
func (c *call) inputName(at int) string {
	last := len(c.Inputs) - 1
	if c.Inputs[min(at, last)].IsVariadic {
		return fmt.Sprintf("%s[%d]", c.Inputs[last].Name, at-last)
	}
	return c.Inputs[at].Name
}

// describe returns the name, type and shape of an input for messages.
func (c *call) describe(at int) string {
	return fmt.Sprintf("input %q %v", c.inputName(at), c.in(at))
}

// describeAll describes several inputs.
func (c *call) describeAll(at ...int) string {
	text := ""
	for i, index := range at {
		switch {
		case i == 0:
		case i == len(at)-1:
			text += " and "
		default:
			text += ", "
		}
		text += c.describe(index)
	}
	return text
}

// describeInputs describes the first inputs of the call, which are all of them unless the operator
// takes any number.
func (c *call) describeInputs() string {
	const most = 8
	indices := make([]int, min(len(c.inputs), most))
	for i := range indices {
		indices[i] = i
	}
	return c.describeAll(indices...)
}

func (c *call) fail(code device.Code, format string, values ...any) error {
	name := c.Name
	if c.Custom != nil {
		name = c.FullName()
	}
	return device.Errorf(code, opInfer, "%s", name+": "+fmt.Sprintf(format, values...))
}

func (c *call) wrong(format string, values ...any) error {
	return c.fail(device.CodeInvalidArgument, format, values...)
}

// give adds an output.
func (c *call) give(t dtype.DType, shape []uint64) {
	c.result.Outputs = append(c.result.Outputs, Value{Type: t, Shape: shape})
}

// isWanted states whether the caller wants an optional output.
func (c *call) isWanted(at int) bool { return at < len(c.wanted) && c.wanted[at] }

// known returns the elements of an input that carries a shape, axes or sizes. The input has one
// dimension.
func (c *call) known(at int) ([]int64, error) {
	v := c.in(at)
	switch {
	case len(v.Shape) != 1:
		return nil, c.wrong("%s has %d dimensions: expected 1", c.describe(at), len(v.Shape))
	case v.Shape[0] > maxVariadic:
		return nil, c.wrong("%s has more than %d elements", c.describe(at), maxVariadic)
	case v.Shape[0] != uint64(len(v.Known)) && v.Known == nil:
		return nil, c.wrong("the elements of %s must be known", c.describe(at))
	case v.Shape[0] != uint64(len(v.Known)):
		return nil, c.wrong("%s has %d known elements", c.describe(at), len(v.Known))
	}
	return v.Known, nil
}

// listOf returns numbers that are an attribute up to some opset and an input after it. isGiven is
// false if they are absent. source names them in messages.
func (c *call) listOf(name string) (values []int64, isGiven bool, source string, err error) {
	for at, p := range c.Inputs {
		if p.Name == name {
			if c.in(at).IsAbsent {
				return nil, false, "", nil
			}
			values, err = c.known(at)
			return values, true, fmt.Sprintf("input %q %s", name, shortList(values)), err
		}
	}
	values, isGiven = c.Ints(name)
	return values, isGiven, fmt.Sprintf("attribute %q %s", name, shortList(values)), nil
}

// shortList formats numbers for messages, without the end of a long list.
func shortList(values []int64) string {
	const most = 16
	if len(values) > most {
		return strings.TrimSuffix(strided.Text(values[:most]), "]") + ", ...]"
	}
	return strided.Text(values)
}
