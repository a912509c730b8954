package model

import (
	"errors"

	"ferrum_mem/core/backend"
	"ferrum_mem/core/device"
	"ferrum_mem/core/dtype"
	"ferrum_mem/core/ir"
	"ferrum_mem/core/operator"
	"ferrum_mem/core/strided"
	"ferrum_mem/core/tensor"
)

// shape is a plan that is bound to the arena: one sequence of operations on tensors at fixed addresses.
type shape struct {
	key      string
	plan     *planned
	sequence *backend.Sequence
	// arena is the tensor of all bytes. tensors has one tensor for each value.
	arena   *tensor.Tensor
	tensors []*tensor.Tensor
	// inputs are in the order of the program.
	inputs []boundInput
}

// boundInput is an input of a shape.
type boundInput struct {
	to *tensor.Tensor
	// bytes has room for the elements of indices, which are checked; nil for other inputs.
	bytes []byte
	// rule has the elements of an input that is not given, once a run needed them.
	rule []byte
}

// bind makes the sequence of a plan. The arena has the memory.
func bind(p *planned, b *backend.Backend, arena *zone) (*shape, error) {
	s := &shape{key: keyOf(p.dims), plan: p, tensors: make([]*tensor.Tensor, len(p.places))}
	err := s.bind(b, arena)
	if err != nil {
		return nil, errors.Join(err, s.close())
	}
	return s, nil
}

func (s *shape) bind(b *backend.Backend, arena *zone) (err error) {
	if s.sequence, err = b.NewSequence(); err != nil {
		return err
	}
	if s.arena, err = arena.view(); err != nil {
		return err
	}
	for i, at := range s.plan.places {
		if at == nil {
			continue
		}
		if s.tensors[i], err = s.arena.Part(s.plan.offsets[at.buffer], at.kind, at.layout); err != nil {
			return err
		}
	}
	for at := 0; at < len(s.plan.steps); {
		of := &s.plan.steps[at]
		if of.loop >= 0 {
			loop := s.plan.loops[of.loop]
			if err := s.addLoop(loop); err != nil {
				return err
			}
			at = loop.end
			continue
		}
		whole := func(value, _ int) (*tensor.Tensor, error) { return s.tensors[value], nil }
		if err := s.add(of, whole); err != nil {
			return err
		}
		at++
	}
	for i := range s.plan.program.inputs {
		in := &s.plan.program.inputs[i]
		s.inputs = append(s.inputs, boundInput{to: s.tensors[in.value]})
		if in.table != nil {
			s.inputs[i].bytes = make([]byte, s.tensors[in.value].SizeBytes())
		}
	}
	return nil
}

// tensorOf returns the tensor of a value: the part along a dimension that a tile reads or writes, or all of it for
// operator.Whole.
type tensorOf func(value, axis int) (*tensor.Tensor, error)

// addLoop adds the steps of a loop for one tile after the other.
func (s *shape) addLoop(of *loop) (err error) {
	var made []*tensor.Tensor
	defer func() { err = errors.Join(err, closeAll(made)) }() // the sequence has its own
	keep := func(at *place, layout strided.Layout) (*tensor.Tensor, error) {
		one, err := s.arena.Part(s.plan.offsets[at.buffer], at.kind, layout)
		if err == nil {
			made = append(made, one)
		}
		return one, err
	}
	tiles := make([]map[int]*tensor.Tensor, len(of.places))
	for size, places := range of.places {
		tiles[size] = map[int]*tensor.Tensor{}
		for value, at := range places {
			if at == nil {
				continue
			}
			if tiles[size][value], err = keep(at, at.layout); err != nil {
				return err
			}
		}
	}
	return of.each(func(size int, start, count int64) error {
		parts := map[portOf]*tensor.Tensor{}
		find := func(value, axis int) (*tensor.Tensor, error) {
			if tile := tiles[size][value]; tile != nil {
				return tile, nil
			}
			if axis == operator.Whole {
				return s.tensors[value], nil
			}
			port := portOf{value, axis}
			if parts[port] == nil {
				at := s.plan.places[value]
				layout, err := of.partOf(at.layout, axis, start, count)
				if err != nil {
					return nil, err
				}
				if parts[port], err = keep(at, layout); err != nil {
					return nil, err
				}
			}
			return parts[port], nil
		}
		for i := of.from; i < of.end; i++ {
			if err := s.add(&s.plan.steps[i], find); err != nil {
				return err
			}
		}
		return nil
	})
}

// add adds a step to the sequence.
func (s *shape) add(of *step, find tensorOf) (err error) {
	n := &s.plan.program.nodes[of.node]
	inputs, outputs := make([]*tensor.Tensor, len(n.inputs)), make([]*tensor.Tensor, len(n.outputs))
	for i, in := range n.inputs {
		switch in.kind {
		case ofValue:
			inputs[i], err = find(in.at, of.role.originOf(i))
		case ofParameter:
			inputs[i] = s.plan.program.parameters[in.at].tensor
		}
		if err != nil {
			return err
		}
	}
	for i, value := range n.outputs {
		outputs[i] = backend.Unwanted
		if value < 0 {
			continue
		}
		if outputs[i], err = find(value, of.role.axisOfOutputs()); err != nil {
			return err
		}
	}
	var workspace *tensor.Tensor
	if of.workspace >= 0 {
		layout, err := strided.Contiguous(int64(s.plan.buffers[of.workspace].sizeBytes))
		if err != nil {
			return err
		}
		if workspace, err = s.arena.Part(s.plan.offsets[of.workspace], dtype.U8, layout); err != nil {
			return err
		}
		defer func() { _ = workspace.Close() }() // the sequence has its own
	}
	if err := s.sequence.AddIn(n.op, inputs, outputs, workspace); err != nil {
		return device.Errorf(device.CodeOf(err), opPlan, "node %q: %w", n.id, err)
	}
	return nil
}

// close ends the sequence and its tensors. After an error it can be called again.
func (s *shape) close() error {
	if s.sequence != nil {
		if err := s.sequence.Close(); err != nil && !errors.Is(err, device.CodeInvalidState) {
			return err
		}
		s.sequence = nil
	}
	return closeAll(append(s.tensors, s.arena))
}

// ruleBytes returns the elements of an input that a run does not give.
func (s *shape) ruleBytes(in *input, at *boundInput) (bytes []byte, err error) {
	if at.rule == nil {
		at.rule, err = elementsByRule(in, at.to)
	}
	return at.rule, err
}

// elementsByRule makes the elements of an input by its rule. An input without one has zeros.
func elementsByRule(in *input, to *tensor.Tensor) ([]byte, error) {
	layout := to.Layout()
	lengths := layout.Shape()
	last := uint64(1)
	if len(lengths) > 0 {
		last = max(uint64(lengths[len(lengths)-1]), 1)
	}
	rule := func(index uint64) float64 {
		switch in.rule {
		case ir.DefaultOnes:
			return 1
		case ir.DefaultPositions:
			return float64(index % last)
		}
		return 0
	}
	bytes := make([]byte, to.SizeBytes())
	wide := make([]byte, 8*layout.Elements())
	if err := makeElements(in.kind, rule, 0, bytes, wide); err != nil {
		return nil, device.Errorf(device.CodeOf(err), opRun, "input %q: %w", in.name, err)
	}
	return bytes, nil
}
