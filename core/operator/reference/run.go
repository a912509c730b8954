package reference

import (
	"slices"

	"ferrum_mem/core/device"
	"ferrum_mem/core/operator"
)

const opRun = "operator.reference"

// run is one computation.
type run struct {
	op     *operator.Operator
	layout operator.Layout
	// in has nil for an absent input, out for an output that is not wanted.
	in, out []*Tensor
}

// Run computes an operator. inputs has nil for an absent input. The result has nil for an output
// that is not wanted; wanted is as in Infer. Errors: those of Infer; CodeInvalidArgument for an
// index outside its range.
func Run(op *operator.Operator, inputs []*Tensor, wanted []bool) ([]*Tensor, error) {
	values := make([]operator.Value, len(inputs))
	for i, t := range inputs {
		values[i] = operator.Value{IsAbsent: t == nil}
		if t != nil {
			values[i] = operator.Value{Type: t.Type, Shape: t.Shape, Known: t.Ints}
		}
	}
	inferred, err := op.Infer(values, wanted)
	if err != nil {
		return nil, err
	}
	r := &run{op: op, layout: inferred.Layout, in: inputs}
	for len(r.in) < len(op.Inputs) {
		r.in = append(r.in, nil)
	}
	for _, v := range inferred.Outputs {
		if v.IsAbsent {
			r.out = append(r.out, nil)
			continue
		}
		r.out = append(r.out, New(v.Type, v.Shape))
	}
	if !slices.ContainsFunc(r.out, func(t *Tensor) bool { return t != nil }) {
		return r.out, nil
	}
	if err := r.compute(); err != nil {
		return nil, err
	}
	for _, t := range r.out {
		if t != nil {
			if err := t.wrap(); err != nil {
				return nil, err
			}
		}
	}
	return r.out, nil
}

func (r *run) wrong(format string, values ...any) error {
	return device.Errorf(device.CodeInvalidArgument, opRun, r.op.Name+": "+format, values...)
}
