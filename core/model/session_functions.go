package model

import (
	"slices"

	"ferrum_mem/core/backend"
	"ferrum_mem/core/compute"
	"ferrum_mem/core/device"
	"ferrum_mem/core/ir"
	"ferrum_mem/core/strided"
)

// Layers of the program in a session: each node is a function of the graph, whose operation is prepared as for
// an engine of operations.

// hasProgramLayers states whether a layer of the program computes a node.
func hasProgramLayers(resolved *ir.Resolved) bool {
	return resolved != nil && slices.ContainsFunc(resolved.Nodes, func(n ir.ResolvedNode) bool { return n.Operator != nil && n.Operator.Custom != nil })
}

// prepareFunctions prepares the layers of the program, which end with the program.
func (x *sessions) prepareFunctions(resolved *ir.Resolved) error {
	c := &compiler{program: x.program, of: resolved, backend: x.backend, prepared: make([]*backend.Op, len(resolved.Model.Layers))}
	x.functions = nil
	for _, of := range x.graph.Functions {
		n := &resolved.Nodes[of.Node]
		op, err := c.prepare(n.Layer)
		if err != nil {
			return err
		}
		f := &function{op: op, layer: &resolved.Model.Layers[n.Layer]}
		made := compute.Function{Domain: of.Domain, Name: of.Name, Plan: f.plan}
		for i, o := range n.Operands {
			in := compute.FunctionOperand{IsAbsent: o.IsAbsent()}
			if !in.IsAbsent {
				in.Type = f.layer.Inputs[i].DType
			}
			f.inputs = append(f.inputs, in)
		}
		for _, out := range f.layer.Outputs {
			f.wanted = append(f.wanted, out.Name != "")
			made.Outputs = append(made.Outputs, compute.FunctionOperand{Type: out.DType, IsAbsent: out.Name == ""})
		}
		made.Inputs = f.inputs
		x.functions = append(x.functions, made)
	}
	return nil
}

// function is a layer of the program in a session.
type function struct {
	op     *backend.Op
	layer  *ir.Layer
	inputs []compute.FunctionOperand
	wanted []bool
}

// plan plans a call. The session has the outputs that the definition declares, so others are an error.
func (f *function) plan(shapes [][]int64) (made compute.FunctionPlan, err error) {
	operands := make([]compute.Operand, len(shapes))
	for i, shape := range shapes {
		if operands[i].IsAbsent = f.inputs[i].IsAbsent; operands[i].IsAbsent {
			continue
		}
		operands[i].Type = f.inputs[i].Type
		if operands[i].Layout, err = strided.Contiguous(shape...); err != nil {
			return made, err
		}
	}
	predicted, err := f.op.Predict(operands, f.wanted)
	if err != nil {
		return made, err
	}
	made = compute.FunctionPlan{Shapes: make([][]int64, len(predicted.Outputs)), WorkspaceBytes: predicted.WorkspaceBytes, Run: predicted.Run}
	for i := range predicted.Outputs {
		out := &predicted.Outputs[i]
		if !f.wanted[i] {
			continue
		}
		if err := f.compare(i, out); err != nil {
			return made, err
		}
		made.Shapes[i] = slices.Clone(out.Layout.Shape())
	}
	return made, nil
}

// compare compares an output with the declaration.
func (f *function) compare(at int, out *compute.Operand) error {
	wrong := func(format string, values ...any) error {
		return device.Errorf(device.CodeInvalidArgument, opRun, "layer %q: its output %q is "+format, append([]any{f.layer.Name, f.layer.Outputs[at].Name}, values...)...)
	}
	want := &f.layer.Outputs[at]
	if out.IsAbsent {
		return wrong("not given for these inputs, and the definition has it")
	}
	shape := out.Layout.Shape()
	fits := out.Type == want.DType && len(shape) == len(want.Shape)
	for axis := 0; fits && axis < len(shape); axis++ {
		fits = want.Shape[axis] == ir.Dynamic || want.Shape[axis] == shape[axis]
	}
	if !fits {
		return wrong("%s%s in this run, and the definition declares %s%s", out.Type, strided.Text(shape), want.DType, strided.Text(want.Shape))
	}
	return nil
}
