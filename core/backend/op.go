package backend

import (
	"sync"
	"sync/atomic"

	"ferrum_mem/core/compute"
	"ferrum_mem/core/device"
	"ferrum_mem/core/operator"
	"ferrum_mem/core/strided"
	"ferrum_mem/core/tensor"
)

// Op is an operation of a backend, prepared with its attributes. All methods are safe for concurrent
// use.
type Op struct {
	backend  *Backend
	operator *operator.Operator
	// custom is nil for an operator of the library. keep ends its use.
	custom   UserOperator
	keep     func()
	isClosed atomic.Bool
	plans    planCache

	// spare is a run for reuse. idle has further ones; all are as many as ran at the same time.
	spare atomic.Pointer[run]
	mu    sync.Mutex
	idle  []*run
}

// Prepare prepares an operation from a name, such as "MatMul" or "ferrum.linear", from attributes as
// a JSON object, and for an opset of its domain; 0: the default. An operator of the program computes on
// every backend. Errors: CodeNotFound for an unknown name, which names the nearest; CodeInvalidArgument for
// attributes; CodeUnsupported for an opset, and for an operator that the engine does not compute;
// CodeInvalidHandle for a closed backend, and for an operator of the program that ends.
func (b *Backend) Prepare(name string, attributes []byte, opset int) (*Op, error) {
	if err := b.enter(opPrepare); err != nil {
		return nil, err
	}
	defer b.gate.exit()
	domain, short := operator.SplitName(name)
	schema, err := operator.FindIn(b.operators, domain, short, opset)
	if err != nil {
		return nil, b.note(device.About(b.device.ID(), err))
	}
	prepared, err := schema.Prepare(attributes)
	if err != nil {
		return nil, b.note(device.About(b.device.ID(), err))
	}
	if schema.Custom != nil {
		made, err := b.prepareCustom(prepared)
		return made, b.note(err)
	}
	if known := b.engine.Capabilities().Operations; known != nil && known[schema.FullName()] == nil {
		return nil, b.note(device.Errorf(device.CodeUnsupported, opPrepare, "backend %s does not compute %s", b.name, schema.FullName()).On(b.device.ID()))
	}
	b.prepared.Add(1)
	return &Op{backend: b, operator: prepared, plans: planCache{most: b.plansKept()}}, nil
}

// prepareCustom prepares an operator of the program.
func (b *Backend) prepareCustom(prepared *operator.Operator) (*Op, error) {
	custom, is := prepared.Custom.(UserOperator)
	if !is {
		return nil, device.Errorf(device.CodeUnsupported, opPrepare, "%s computes on no backend", prepared.FullName()).On(b.device.ID())
	}
	keep, err := custom.Keep()
	if err != nil {
		return nil, device.About(b.device.ID(), err)
	}
	b.prepared.Add(1)
	return &Op{backend: b, operator: prepared, custom: custom, keep: keep, plans: planCache{most: b.plansKept()}}, nil
}

// plansKept returns how many plans an operation keeps.
func (b *Backend) plansKept() int {
	if b.config.OptimizationLevel == 0 {
		return 0
	}
	return b.config.Options.Plans
}

// Name returns the name of the operator, such as "MatMul" or "ferrum.linear".
func (o *Op) Name() string { return o.operator.FullName() }

// Backend returns the backend of the operation.
func (o *Op) Backend() *Backend { return o.backend }

// HasEnded states that the operation is closed, or its backend is.
func (o *Op) HasEnded() bool { return o.isClosed.Load() || o.backend.HasEnded() }

// Close ends the operation. Queued runs of it complete. Errors: CodeInvalidState for a closed one.
func (o *Op) Close() error {
	if !o.isClosed.CompareAndSwap(false, true) {
		return o.ended("op.close")
	}
	o.backend.prepared.Add(-1)
	if o.keep != nil {
		o.keep()
	}
	return nil
}

func (o *Op) ended(op string) error {
	return device.Errorf(device.CodeInvalidState, op, "the operation %s has been closed", o.Name()).On(o.backend.device.ID())
}

// enter begins a call. The caller calls backend.gate.exit.
func (o *Op) enter(op string) error {
	if o.isClosed.Load() {
		return o.ended(op)
	}
	return o.backend.enter(op)
}

// Infer returns the outputs of a run with such inputs, contiguous, and the workspace that it takes
// from the pool. It is a Predict that does not keep the plan.
func (o *Op) Infer(inputs []compute.Operand, wanted []bool) (outputs []compute.Operand, workspaceBytes uint64, err error) {
	p, err := o.Predict(inputs, wanted)
	if err != nil {
		return nil, 0, err
	}
	return p.Outputs, p.WorkspaceBytes, nil
}

// infer infers the outputs from the inputs.
func (o *Op) infer(values []operator.Value, wanted []bool) (*operator.Inferred, error) {
	found, err := o.operator.Infer(values, wanted)
	return found, device.About(o.backend.device.ID(), err)
}

// valuesOf describes operands without their strides.
func valuesOf(list []compute.Operand) []operator.Value {
	values := make([]operator.Value, len(list))
	for i := range list {
		values[i] = valueOf(&list[i])
	}
	return values
}

// contiguous describes outputs without gaps.
func contiguous(values []operator.Value) ([]compute.Operand, error) {
	operands := make([]compute.Operand, len(values))
	for i, v := range values {
		if operands[i].IsAbsent = v.IsAbsent; v.IsAbsent {
			continue
		}
		shape := make([]int64, len(v.Shape))
		for axis, length := range v.Shape {
			shape[axis] = int64(length) // Infer has bounded the size
		}
		layout, err := strided.Contiguous(shape...)
		if err != nil {
			return nil, err
		}
		operands[i].Type, operands[i].Layout = v.Type, layout
	}
	return operands, nil
}

// plan asks the engine. An error about packed inputs names both layouts.
func (o *Op) plan(r compute.Request) (compute.Plan, error) {
	if o.custom != nil {
		return o.planCustom(r)
	}
	plan, err := o.backend.engine.Plan(r)
	if err == nil {
		return plan, nil
	}
	for i, in := range r.Inputs {
		if in.Packing != "" && device.CodeOf(err) == device.CodeUnsupported {
			return nil, o.wrongPacking(i, in, err)
		}
	}
	return nil, device.About(o.backend.device.ID(), err)
}

// wrongPacking is the error about a packed input that the engine does not read.
func (o *Op) wrongPacking(input int, in compute.Operand, cause error) error {
	plain := in
	plain.Packing = ""
	takes := "takes it unpacked only"
	if packed, err := o.backend.engine.Pack(o.operator, input, plain); err == nil {
		takes = "takes it packed as \"" + packed.Packing + "\""
	}
	return device.Errorf(device.CodeUnsupported, opRun, "input %q of %s is packed as %q, and the backend %s %s: %w",
		o.inputName(input), o.Name(), in.Packing, o.backend.name, takes, cause).On(o.backend.device.ID())
}

// inputName returns the name of an input.
func (o *Op) inputName(at int) string { return o.parameter(at).Name }

// parameter returns the description of an input. The last one stands for further ones.
func (o *Op) parameter(at int) operator.Parameter {
	return o.operator.Inputs[min(at, len(o.operator.Inputs)-1)]
}

// outputName returns the name of an output.
func (o *Op) outputName(at int) string {
	return o.operator.Outputs[min(at, len(o.operator.Outputs)-1)].Name
}

// Pack packs an input that is a constant, such as a matrix of weights, into the layout that the engine
// reads fastest. The result replaces the tensor as that input of this operation. It is in the memory,
// or in the backend's for nil. The work is ordered by stream, as in Run. Errors: CodeUnsupported for an
// input or a type without such a layout; CodeInvalidArgument for an input that does not exist; those of
// a run. After an error nothing is left.
func (o *Op) Pack(input int, from *tensor.Tensor, p Packing) (*tensor.Tensor, error) {
	if err := o.enter(opPack); err != nil {
		return nil, err
	}
	defer o.backend.gate.exit()
	made, err := o.pack(input, from, p)
	return made, o.backend.note(err)
}

func (o *Op) planCustom(r compute.Request) (compute.Plan, error) {
	for i := range r.Inputs {
		if r.Inputs[i].Packing != "" {
			return nil, device.Errorf(device.CodeUnsupported, opRun, "input %d of %s is packed as %q: a layer of the program reads plain tensors", i, o.Name(), r.Inputs[i].Packing).On(o.backend.device.ID())
		}
	}
	made, err := o.custom.Plan(o.backend.device.ID(), r)
	if err != nil {
		return nil, device.About(o.backend.device.ID(), err)
	}
	return &userPlan{made}, nil
}

// Config returns the configuration of an operator of the program; nil for others.
func (o *Op) Config() []byte { return o.operator.Config() }

func (o *Op) packsNothing() error {
	return device.Errorf(device.CodeUnsupported, opPack, "%s is a layer of the program, which packs nothing", o.Name()).On(o.backend.device.ID())
}
