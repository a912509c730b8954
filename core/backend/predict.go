package backend

import (
	"slices"

	"ferrum_mem/core/compute"
	"ferrum_mem/core/device"
	"ferrum_mem/core/operator"
)

// Prediction describes a run with operands of certain types, shapes and strides, before a tensor exists.
type Prediction struct {
	// Outputs are contiguous. Those that are not wanted are absent.
	Outputs []compute.Operand
	// WorkspaceBytes is the memory that the run needs besides its operands.
	WorkspaceBytes uint64
	// Layout has the axes, starts and sizes of the operation.
	Layout operator.Layout

	op       *Op
	values   []operator.Value
	inferred *operator.Inferred
	plan     compute.Plan
}

// InPlace states whether an output may have the address of an input of the same type and strides.
func (p *Prediction) InPlace(output, input int) bool { return p.plan.InPlace(output, input) }

// Origins states from which dimensions of the inputs a part of the outputs comes, as operator.Operator.Origins.
func (p *Prediction) Origins(axis int) (origins []int, isKnown bool) {
	return p.op.operator.Origins(p.values, p.inferred, axis)
}

// Divides states whether the run can be computed part by part, as compute.Divider.Divides. part predicts the run
// of one part. It is false for an engine that does not state it.
func (p *Prediction) Divides(part *Prediction) bool {
	engine, canDivide := p.op.backend.engine.(compute.Divider)
	return canDivide && engine.Divides(p.plan, part.plan)
}

// Run computes the outputs at some addresses, in the thread of the call, as compute.Plan.Run. The operands have the
// strides of the prediction. The caller keeps the operation and its backend open.
func (p *Prediction) Run(inputs, outputs []device.Addr, workspace device.Addr) error {
	return p.plan.Run(inputs, outputs, workspace)
}

// Predict plans a run with such inputs. An input with a shape, axes or sizes has its elements in Known.
// wanted states for each output whether it is wanted; nil: all that are not optional.
// Errors: CodeInvalidArgument for inputs that the operator does not take; CodeUnsupported for a
// combination that the engine does not compute; CodeOverflow; CodeInvalidState.
func (o *Op) Predict(inputs []compute.Operand, wanted []bool) (*Prediction, error) {
	if err := o.enter(opInfer); err != nil {
		return nil, err
	}
	defer o.backend.gate.exit()
	made, err := o.predict(inputs, wanted)
	return made, o.backend.note(err)
}

func (o *Op) predict(inputs []compute.Operand, wanted []bool) (*Prediction, error) {
	r := compute.Request{Operator: o.operator, Inputs: slices.Clone(inputs)}
	for i := range r.Inputs {
		r.Inputs[i].Layout = r.Inputs[i].Layout.FromZero()
		if !o.parameter(i).IsRead {
			r.Inputs[i].Known = nil
		}
	}
	values := valuesOf(r.Inputs)
	var err error
	if r.Inferred, err = o.infer(values, wanted); err != nil {
		return nil, err
	}
	if r.Outputs, err = contiguous(r.Inferred.Outputs); err != nil {
		return nil, device.About(o.backend.device.ID(), err)
	}
	plan, err := o.plan(r)
	if err != nil {
		return nil, err
	}
	return &Prediction{
		Outputs: r.Outputs, WorkspaceBytes: plan.WorkspaceBytes(), Layout: r.Inferred.Layout, op: o, values: values, inferred: r.Inferred, plan: plan,
	}, nil
}

// PredictPack returns the name and the size of the layout that Pack gives an input. Errors: as of Pack.
func (o *Op) PredictPack(input int, from compute.Operand) (packing string, sizeBytes uint64, err error) {
	if err := o.enter(opPack); err != nil {
		return "", 0, err
	}
	defer o.backend.gate.exit()
	if o.custom != nil {
		return "", 0, o.packsNothing()
	}
	if input < 0 || input >= len(o.operator.Inputs) {
		return "", 0, o.backend.note(o.wrong("there is no input %d: the operator has %d", input, len(o.operator.Inputs)))
	}
	from.Layout = from.Layout.FromZero()
	packed, err := o.backend.engine.Pack(o.operator, input, from)
	if err != nil {
		return "", 0, device.About(o.backend.device.ID(), err)
	}
	return packed.Packing, packed.SizeBytes, nil
}
