package library

import (
	"encoding/json"

	"ferrum_mem/core/compute"
	"ferrum_mem/core/device"
	"ferrum_mem/core/operator"
	"ferrum_mem/core/strided"
)

// enter begins a call of a function of the layer. The caller calls calls.exit.
func (p *programLayer) enter() error {
	if p.calls.enter() {
		return nil
	}
	return device.Errorf(device.CodeInvalidHandle, "layer.call", "the layer %q has been removed", p.Type)
}

// call calls a function of the layer, whose errors then name the layer and the function.
func (p *programLayer) call(what string, function func() error) error {
	if err := p.enter(); err != nil {
		return err
	}
	defer p.calls.exit()
	return p.named(what, function())
}

func (p *programLayer) named(what string, err error) error {
	if err == nil {
		return nil
	}
	return device.Errorf(device.CodeOf(err), "layer."+what, "layer %q: %s: %w", p.Type, what, err)
}

// Defaults has the fields of the configuration of a use that states none.
func (p *programLayer) Defaults() map[string]json.RawMessage { return p.defaults }

// callOf returns a call of the layer without operands.
func (p *programLayer) callOf(config []byte) ComputeCall {
	return ComputeCall{Domain: p.domain, Name: p.name, Opset: 1, Attributes: config}
}

// Infer returns the outputs for some inputs.
func (p *programLayer) Infer(config []byte, inputs []operator.Value, wanted []bool) ([]operator.Value, error) {
	if err := p.checkInput(&inputs[0]); err != nil {
		return nil, err
	}
	call := p.callOf(config)
	call.Inputs = make([]TensorDesc, len(inputs))
	for i := range inputs {
		call.Inputs[i] = describeValue(&inputs[i])
		call.Inputs[i].ReadOnly = !inputs[i].IsAbsent
	}
	outputs := make([]TensorDesc, len(wanted))
	for i := range outputs {
		outputs[i] = describeValue(&inputs[0])
		outputs[i].SizeBytes = 0
		if !wanted[i] {
			outputs[i] = TensorDesc{Absent: true}
		}
	}
	if p.ProgramLayer.Infer != nil {
		if err := p.call("infer", func() error { return p.ProgramLayer.Infer(&call, outputs) }); err != nil {
			return nil, err
		}
	}
	values := make([]operator.Value, len(outputs))
	for i := range outputs {
		var err error
		if values[i], err = valueOf(&outputs[i]); err != nil {
			return nil, p.named("infer", device.Errorf(device.CodeOf(err), "layer.infer", "output %d: %w", i, err))
		}
	}
	return values, nil
}

// checkInput compares the first input with the shape that the layer states.
func (p *programLayer) checkInput(first *operator.Value) error {
	if !p.HasInputShape {
		return nil
	}
	fits := !first.IsAbsent && len(first.Shape) == len(p.InputShape)
	for i := 0; fits && i < len(p.InputShape); i++ {
		fits = p.InputShape[i] == -1 || uint64(p.InputShape[i]) == first.Shape[i]
	}
	if fits {
		return nil
	}
	return device.Errorf(device.CodeInvalidArgument, "layer.infer", "layer %q: its first input is %v: want the shape %s, where -1 is any length", p.Type, first, strided.Text(p.InputShape))
}

// describeValue describes a tensor without gaps; it has no address.
func describeValue(of *operator.Value) TensorDesc {
	if of.IsAbsent {
		return TensorDesc{Absent: true}
	}
	lengths := make([]int64, len(of.Shape))
	for axis, length := range of.Shape {
		lengths[axis] = int64(length) // its size is checked
	}
	layout, err := strided.Contiguous(lengths...)
	if err != nil {
		return TensorDesc{Absent: true}
	}
	made := described(of.Type, &layout)
	made.SizeBytes, _ = of.Type.Size(uint64(layout.Elements())) // its size is checked
	return made
}

// valueOf reads the type and the shape of an output that a layer has inferred.
func valueOf(of *TensorDesc) (operator.Value, error) {
	if of.Absent {
		return operator.Value{IsAbsent: true}, nil
	}
	if of.Rank > strided.MostDimensions {
		return operator.Value{}, device.Errorf(device.CodeInvalidArgument, "layer.infer", "rank is %d: want at most %d", of.Rank, strided.MostDimensions)
	}
	made := operator.Value{Type: of.DType, Shape: make([]uint64, of.Rank)}
	for axis, length := range of.Shape[:of.Rank] {
		if length < 0 {
			return operator.Value{}, device.Errorf(device.CodeInvalidArgument, "layer.infer", "its shape is %s: no length can be negative", strided.Text(of.Shape[:of.Rank]))
		}
		made.Shape[axis] = uint64(length)
	}
	return made, nil
}

// Parameters returns the parameters of a use as a JSON list; nil: the layer states none.
func (p *programLayer) Parameters(config []byte) (text []byte, err error) {
	if p.ProgramLayer.Parameters == nil {
		return nil, nil
	}
	call := p.callOf(config)
	err = p.call("parameters", func() (err error) { text, err = p.ProgramLayer.Parameters(&call); return err })
	return text, err
}

// Initialize writes the elements of a parameter of a use.
func (p *programLayer) Initialize(config []byte, parameter string, of operator.Value, to device.Addr) error {
	if p.ProgramLayer.Initialize == nil {
		return device.Errorf(device.CodeNotFound, "layer.initialize", "layer %q: it has no function that makes the parameter %q: give it an initialization or a tensor of the weights", p.Type, parameter)
	}
	call := p.callOf(config)
	call.Outputs = []TensorDesc{describeValue(&of)}
	call.Outputs[0].Address = to
	return p.call("initialize", func() error { return p.ProgramLayer.Initialize(&call, parameter) })
}

// layerPlan is the plan of a call of a layer.
type layerPlan struct {
	of *programLayer
	ComputePlan
	run LayerRun
}

// Plan plans a call.
func (p *programLayer) Plan(id device.ID, r compute.Request) (compute.Plan, error) {
	call := p.callOf(r.Operator.Config())
	call.Device = p.library.registry.deviceHandle(id)
	if !p.Strides {
		if err := p.checkLayouts(r.Inputs, "input"); err != nil {
			return nil, err
		}
		if err := p.checkLayouts(r.Outputs, "output"); err != nil {
			return nil, err
		}
	}
	var err error
	if call.Inputs, err = describeInputs(r.Inputs); err != nil {
		return nil, err
	}
	if call.Outputs, err = describeOperands(r.Outputs); err != nil {
		return nil, err
	}
	made := &layerPlan{of: p, ComputePlan: ComputePlan{InPlace: p.InPlace}}
	if p.ProgramLayer.Plan != nil {
		if err := p.call("plan", func() (err error) { made.ComputePlan, err = p.ProgramLayer.Plan(&call); return err }); err != nil {
			return nil, err
		}
		made.ComputePlan.InPlace = made.ComputePlan.InPlace || p.InPlace
	}
	call.WorkspaceBytes = made.ComputePlan.WorkspaceBytes
	made.run = p.Forward(&call)
	return made, nil
}

func (p *programLayer) checkLayouts(operands []compute.Operand, what string) error {
	for i := range operands {
		if of := &operands[i]; !of.IsAbsent && !of.Layout.IsContiguous() {
			return device.Errorf(device.CodeUnsupported, "layer.plan", "layer %q: %s %d %v of %v has gaps: the layer computes with contiguous tensors only", p.Type, what, i, of.Type, of.Layout)
		}
	}
	return nil
}

func (p *layerPlan) WorkspaceBytes() uint64 { return p.ComputePlan.WorkspaceBytes }

func (p *layerPlan) InPlace(int, int) bool { return p.ComputePlan.InPlace }

func (p *layerPlan) Run(inputs, outputs []device.Addr, workspace device.Addr) error {
	if err := p.of.enter(); err != nil {
		return err
	}
	defer p.of.calls.exit()
	if p.of.OneAtATime {
		p.of.turn.Lock()
		defer p.of.turn.Unlock()
	}
	return p.of.named("forward", p.run(inputs, outputs, workspace))
}
