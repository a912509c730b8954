package operator

import (
	"slices"

	"ferrum_mem/core/device"
)

// Infer computes the types and shapes of the outputs from those of the inputs. wanted states for
// each output whether the caller wants it. The others are absent in the result. A nil wanted has
// all outputs that are not optional.
//
// Every message names the operator, the input and its shape. Errors: CodeInvalidArgument for a
// missing or an additional input, for a type that the operator does not take, and for shapes,
// axes or sizes that do not fit; CodeOverflow for an input or output of more than 2^63 bytes; those of an
// operator of the program.
func (o *Operator) Infer(inputs []Value, wanted []bool) (*Inferred, error) {
	if o.Custom != nil {
		return o.inferCustom(inputs, wanted)
	}
	c := &call{Operator: o, inputs: inputs, wanted: wanted}
	for len(c.inputs) > 0 && c.inputs[len(c.inputs)-1].IsAbsent {
		c.inputs = c.inputs[:len(c.inputs)-1]
	}
	if err := c.checkInputs(); err != nil {
		return nil, err
	}
	last := o.Outputs[len(o.Outputs)-1]
	if len(wanted) > len(o.Outputs) && !last.IsVariadic || len(wanted) > maxVariadic {
		return nil, c.wrong("%d outputs are wanted: the operator has %d", len(wanted), len(o.Outputs))
	}
	if err := o.infer(c); err != nil {
		return nil, err
	}
	for at := range c.result.Outputs {
		out := &c.result.Outputs[at]
		if !c.gives(at) {
			*out = Value{IsAbsent: true}
			continue
		}
		if code, why := out.check(); code != device.CodeOK {
			return nil, c.fail(code, "output %q %v of %s is not possible: %s", c.outputName(at), out, c.describeInputs(), why)
		}
		out.Shape = slices.Clone(out.Shape)
	}
	return &c.result, nil
}

// gives states whether an output is part of the result.
func (c *call) gives(at int) bool {
	if c.wanted != nil {
		return c.isWanted(at)
	}
	return !c.Outputs[min(at, len(c.Outputs)-1)].IsOptional
}

func (c *call) outputName(at int) string { return c.Outputs[min(at, len(c.Outputs)-1)].Name }

// checkInputs checks the number of the inputs, their types and their sizes.
func (c *call) checkInputs() error {
	parameters := c.Inputs
	last := parameters[len(parameters)-1]
	switch {
	case !last.IsVariadic && len(c.inputs) > len(parameters):
		return c.wrong("%d inputs are given: the operator takes at most %d", len(c.inputs), len(parameters))
	case len(c.inputs) > maxVariadic:
		return c.wrong("%d inputs are given: at most %d are possible", len(c.inputs), maxVariadic)
	}
	for at := range max(len(c.inputs), len(parameters)) {
		p, v := parameters[min(at, len(parameters)-1)], c.in(at)
		if v.IsAbsent {
			if !p.IsOptional {
				return c.wrong("input %q is required", c.inputName(at))
			}
			continue
		}
		if !p.Types.Has(v.Type) {
			return c.wrong("%s has a type that the operator does not take: expected %v", c.describe(at), p.Types)
		}
		if first := c.firstOf(p.Variable, at); first != at && c.in(first).Type != v.Type {
			return c.wrong("%s must have the same type", c.describeAll(first, at))
		}
		if code, why := v.check(); code != device.CodeOK {
			return c.fail(code, "%s is not possible: %s", c.describe(at), why)
		}
	}
	return nil
}

// firstOf returns the first input with this type variable that is not absent. If there is none
// before input at, it returns at.
func (c *call) firstOf(variable string, at int) int {
	for i := range at {
		if c.Inputs[min(i, len(c.Inputs)-1)].Variable == variable && !c.in(i).IsAbsent {
			return i
		}
	}
	return at
}
