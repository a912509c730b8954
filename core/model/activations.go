package model

import (
	"slices"

	"ferrum_mem/core/backend"
	"ferrum_mem/core/compute"
	"ferrum_mem/core/device"
	"ferrum_mem/core/dtype"
	"ferrum_mem/core/strided"
)

// The activations of one shape: which values share memory, and when each piece of memory is live.
//
// Times count steps: 0 is before the first step, when the inputs are written, and one more than the
// number of steps is after the last, when the outputs are read. A buffer is live from first to last,
// both included.
//
// A node that only gives its first input another shape (Reshape, Squeeze, Unsqueeze), or takes a part of
// it (Split, Slice), is a view: it makes no step and its values are places in the buffer of the input. If
// the engine cannot compute with the strides of a view, the node is a step after all, and the draft begins
// again.
//
// wholeOf makes the draft in which each step computes its outputs as a whole. tiles.go makes drafts of it in
// which some steps run tile by tile, and sharing.go lets values share buffers.

// Role states what a buffer of the arena is for.
type Role string

// The roles of buffers.
const (
	RoleInput      Role = "input"
	RoleActivation Role = "activation"
	RoleOutput     Role = "output"
	RoleWorkspace  Role = "workspace"
)

// place is where a value lies in a buffer.
type place struct {
	buffer int
	kind   dtype.DType
	// layout counts elements from the start of the buffer.
	layout strided.Layout
}

// bytes returns the size of the elements, which was checked when the value was made.
func (p *place) bytes() uint64 {
	size, _ := p.kind.Size(uint64(p.layout.Elements()))
	return size
}

// operand describes the value for the engine.
func (p *place) operand() compute.Operand {
	return compute.Operand{Type: p.kind, Layout: p.layout.FromZero()}
}

// buffer is memory that holds the elements of one or several values.
type buffer struct {
	// name is that of the first value.
	name        string
	role        Role
	sizeBytes   uint64
	first, last int
}

// step is a run of an operation.
type step struct {
	node int
	// workspace is the buffer of the workspace; -1: it needs none.
	workspace int
	// loop is the loop whose tiles the step computes; -1: it computes whole values.
	loop int
	// role states which parts of whole values a tile reads and writes; nil outside of a loop.
	role    *role
	inPlace func(output, input int) bool
}

// draft is the activations of one shape without places in the arena.
type draft struct {
	program *program
	dims    map[string]uint64
	steps   []step
	// places has the place of each value. A value that no node makes, or of which only tiles exist, has none.
	places  []*place
	buffers []buffer
	// loops are the steps that run tile by tile.
	loops []*loop
}

// whole is a draft without loops, and what it was made of. It does not change.
type whole struct {
	draft
	// predicted has the prediction of each node.
	predicted []*backend.Prediction
	// madeBy has the node that made a value; -1: an input of the model, or none.
	madeBy []int
	// isView has the nodes that are views, and copies those that could be and are steps.
	isView []bool
	copies map[int]bool
}

// wholeOf computes the activations for lengths of the dynamic dimensions. Errors: those of
// backend.Op.Predict, which name the node.
func wholeOf(p *program, dims map[string]uint64) (*whole, error) {
	copies := map[int]bool{}
	for {
		d := &whole{
			draft: draft{program: p, dims: dims, places: make([]*place, p.values)}, predicted: make([]*backend.Prediction, len(p.nodes)),
			madeBy: make([]int, p.values), isView: make([]bool, len(p.nodes)), copies: copies,
		}
		before := len(copies)
		err := d.fill()
		if err == nil {
			return d, nil
		}
		if len(copies) == before {
			return nil, err
		}
	}
}

// fill makes the steps and the buffers.
func (d *whole) fill() error {
	for i := range d.madeBy {
		d.madeBy[i] = -1
	}
	for i := range d.program.inputs {
		in := &d.program.inputs[i]
		layout, err := strided.Contiguous(in.lengths(d.dims)...)
		if err != nil {
			return device.Errorf(device.CodeOf(err), opPlan, "input %q: %w", in.name, err)
		}
		if err := d.add(in.value, in.name, RoleInput, in.kind, layout, 0); err != nil {
			return err
		}
	}
	for i := range d.program.nodes {
		if err := d.addNode(i); err != nil {
			return err
		}
	}
	for _, out := range d.program.outputs {
		at := d.places[out.value]
		if at == nil {
			return device.Errorf(device.CodeModel, opPlan, "output %q: its node makes no first output", out.name)
		}
		d.use(at, len(d.steps)+1)
		d.buffers[at.buffer].role = RoleOutput
	}
	return nil
}

// lengths returns the shape of an input.
func (in *input) lengths(dims map[string]uint64) []int64 {
	shape := slices.Clone(in.shape)
	for axis, name := range in.dims {
		if name != "" {
			shape[axis] = int64(dims[name])
		}
	}
	return shape
}

// add gives a value a buffer of its own.
func (d *draft) add(value int, name string, role Role, kind dtype.DType, layout strided.Layout, first int) error {
	size, err := kind.Size(uint64(layout.Elements()))
	if err != nil {
		return device.Errorf(device.CodeOf(err), opPlan, "%q: %w", name, err)
	}
	d.places[value] = &place{buffer: len(d.buffers), kind: kind, layout: layout}
	d.buffers = append(d.buffers, buffer{name: name, role: role, sizeBytes: size, first: first, last: first})
	return nil
}

// use states that the buffer of a value is read at a time.
func (d *draft) use(at *place, time int) {
	d.buffers[at.buffer].last = max(d.buffers[at.buffer].last, time)
}

// operands describes the inputs of a node.
func (d *whole) operands(n *node) ([]compute.Operand, error) {
	list := make([]compute.Operand, len(n.inputs))
	for i, in := range n.inputs {
		switch in.kind {
		case absent:
			list[i].IsAbsent = true
		case ofParameter:
			list[i] = d.program.parameters[in.at].operand()
		case ofValue:
			if d.places[in.at] == nil {
				return nil, device.Errorf(device.CodeModel, opPlan, "node %q: its input %d is an output that its node does not make", n.id, i)
			}
			list[i] = d.places[in.at].operand()
		}
	}
	return list, nil
}

// addNode adds a step, or a view.
func (d *whole) addNode(at int) error {
	n := &d.program.nodes[at]
	inputs, err := d.operands(n)
	if err != nil {
		return err
	}
	predicted, err := n.op.Predict(inputs, n.wanted)
	if err != nil {
		d.copyViews(n, device.CodeOf(err))
		return device.Errorf(device.CodeOf(err), opPlan, "node %q: %w", n.id, err)
	}
	d.predicted[at] = predicted
	for _, value := range n.outputs {
		if value >= 0 {
			d.madeBy[value] = at
		}
	}
	if !d.copies[at] && n.inputs[0].kind == ofValue {
		if views := viewsOf(n, d.places[n.inputs[0].at], predicted.Layout, predicted.Outputs); views != nil {
			d.isView[at] = true
			for i, value := range n.outputs {
				if value >= 0 {
					d.places[value] = views[i]
				}
			}
			return nil
		}
	}
	time := d.addStep(step{node: at, loop: -1, inPlace: predicted.InPlace})
	for _, in := range n.inputs {
		if in.kind == ofValue {
			d.use(d.places[in.at], time)
		}
	}
	for i, value := range n.outputs {
		if value < 0 {
			continue
		}
		out := &predicted.Outputs[i]
		if err := d.add(value, n.outputName(i), RoleActivation, out.Type, out.Layout, time); err != nil {
			return err
		}
	}
	d.addWorkspace(time, predicted.WorkspaceBytes)
	return nil
}

// outputName names an output in plans.
func (n *node) outputName(i int) string {
	if i > 0 {
		return n.id + "." + n.layer.Outputs[i].Name
	}
	return n.id
}

// addStep adds a step without a workspace, and returns its time.
func (d *draft) addStep(s step) (time int) {
	s.workspace = -1
	d.steps = append(d.steps, s)
	return len(d.steps)
}

// addWorkspace gives the step of a time a workspace, if it needs one.
func (d *draft) addWorkspace(time int, bytes uint64) {
	if bytes == 0 {
		return
	}
	s := &d.steps[time-1]
	s.workspace = len(d.buffers)
	d.buffers = append(d.buffers, buffer{name: d.program.nodes[s.node].id, role: RoleWorkspace, sizeBytes: bytes, first: time, last: time})
}

// copyViews makes steps of the views with gaps that a node reads, if the engine cannot compute with them.
func (d *whole) copyViews(n *node, code device.Code) {
	if code != device.CodeUnsupported {
		return
	}
	for _, in := range n.inputs {
		if in.kind != ofValue || d.places[in.at] == nil || d.places[in.at].layout.IsContiguous() {
			continue
		}
		if by := d.madeBy[in.at]; by >= 0 && d.isView[by] {
			d.copies[by] = true
		}
	}
}
