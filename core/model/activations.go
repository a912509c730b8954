package model

import (
	"slices"

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
// again. An output takes the buffer of an input if the engine computes in place and no later step reads
// the input.

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
	inPlace   func(output, input int) bool
}

// draft is the activations of one shape without places in the arena.
type draft struct {
	program *program
	dims    map[string]uint64
	steps   []step
	// places has the place of each value. A value that no node makes has none.
	places  []*place
	buffers []buffer
	// copies has the nodes that could be views and are steps.
	copies map[int]bool
	// madeBy has the view that made a value; -1: none.
	madeBy []int
}

// draftOf computes the activations for lengths of the dynamic dimensions. Errors: those of
// backend.Op.Predict, which name the node.
func draftOf(p *program, dims map[string]uint64) (*draft, error) {
	copies := map[int]bool{}
	for {
		d := &draft{program: p, dims: dims, places: make([]*place, p.values), madeBy: make([]int, p.values), copies: copies}
		before := len(copies)
		err := d.fill()
		if err == nil {
			d.share()
			return d, nil
		}
		if len(copies) == before {
			return nil, err
		}
	}
}

// fill makes the steps and the buffers.
func (d *draft) fill() error {
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
func (d *draft) operands(n *node) ([]compute.Operand, error) {
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
func (d *draft) addNode(at int) error {
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
	if !d.copies[at] && n.inputs[0].kind == ofValue {
		if views := viewsOf(n, d.places[n.inputs[0].at], predicted.Layout, predicted.Outputs); views != nil {
			for i, value := range n.outputs {
				if value >= 0 {
					d.places[value], d.madeBy[value] = views[i], at
				}
			}
			return nil
		}
	}
	d.steps = append(d.steps, step{node: at, workspace: -1, inPlace: predicted.InPlace})
	time := len(d.steps)
	for _, in := range n.inputs {
		if in.kind == ofValue {
			d.use(d.places[in.at], time)
		}
	}
	for i, value := range n.outputs {
		if value < 0 {
			continue
		}
		name := n.id
		if i > 0 {
			name = n.id + "." + n.layer.Outputs[i].Name
		}
		out := &predicted.Outputs[i]
		if err := d.add(value, name, RoleActivation, out.Type, out.Layout, time); err != nil {
			return err
		}
	}
	if predicted.WorkspaceBytes > 0 {
		d.steps[time-1].workspace = len(d.buffers)
		d.buffers = append(d.buffers, buffer{name: n.id, role: RoleWorkspace, sizeBytes: predicted.WorkspaceBytes, first: time, last: time})
	}
	return nil
}

// copyViews makes steps of the views with gaps that a node reads, if the engine cannot compute with them.
func (d *draft) copyViews(n *node, code device.Code) {
	if code != device.CodeUnsupported {
		return
	}
	for _, in := range n.inputs {
		if in.kind != ofValue || d.places[in.at] == nil || d.places[in.at].layout.IsContiguous() {
			continue
		}
		if by := d.madeBy[in.at]; by >= 0 {
			d.copies[by] = true
		}
	}
}

// share gives outputs the buffers of inputs of their steps, where the engine computes in place.
func (d *draft) share() {
	// owner has for each buffer the one that it became part of.
	owner := make([]int, len(d.buffers))
	for i := range owner {
		owner[i] = i
	}
	for at := range d.steps {
		n := &d.program.nodes[d.steps[at].node]
		taken := map[int]bool{}
		for i, value := range n.outputs {
			if value < 0 {
				continue
			}
			from := d.inPlaceOf(at, i, value, owner, taken)
			if from < 0 {
				continue
			}
			taken[from] = true
			part := d.places[value].buffer
			owner[part] = from
			d.buffers[from].last = max(d.buffers[from].last, d.buffers[part].last)
			if d.buffers[part].role == RoleOutput {
				d.buffers[from].role = RoleOutput
			}
		}
	}
	d.compact(owner)
}

// inPlaceOf returns the buffer of an input that an output can take; -1: none.
func (d *draft) inPlaceOf(at, output, value int, owner []int, taken map[int]bool) int {
	s := &d.steps[at]
	n, out := &d.program.nodes[s.node], d.places[value]
	for i, in := range n.inputs {
		if in.kind != ofValue {
			continue
		}
		place := d.places[in.at]
		from := owner[place.buffer]
		b := &d.buffers[from]
		size, _ := place.kind.Size(uint64(place.layout.Elements())) // checked when the value was made
		if b.last != at+1 || taken[from] || size == 0 || size != b.sizeBytes || place.kind != out.kind ||
			place.layout != out.layout || !s.inPlace(output, i) {
			continue
		}
		// Other inputs in this buffer are overwritten too.
		others := slices.ContainsFunc(n.inputs, func(other operand) bool {
			return other.kind == ofValue && other.at != in.at && owner[d.places[other.at].buffer] == from
		})
		twice := 0
		for j, other := range n.inputs {
			if other == in && !s.inPlace(output, j) {
				twice++
			}
		}
		if !others && twice == 0 {
			return from
		}
	}
	return -1
}

// compact removes the buffers that became part of others.
func (d *draft) compact(owner []int) {
	var kept []buffer
	number := make([]int, len(d.buffers))
	for i, b := range d.buffers {
		if owner[i] == i {
			number[i] = len(kept)
			kept = append(kept, b)
		}
	}
	for _, at := range d.places {
		if at != nil && at.buffer >= 0 {
			// A place is the same pointer for one value only.
			at.buffer = number[owner[at.buffer]]
		}
	}
	for i := range d.steps {
		if d.steps[i].workspace >= 0 {
			d.steps[i].workspace = number[d.steps[i].workspace]
		}
	}
	d.buffers = kept
}
