package model

import (
	"slices"

	"ferrum_mem/core/backend"
	"ferrum_mem/core/compute"
	"ferrum_mem/core/operator"
)

// assembly makes a draft with loops from a draft without them.
type assembly struct {
	*draft
	chooser *chooser
	whole   *whole
	// number has for each buffer of the whole draft its number in the new one; -1: none yet.
	number []int
	// held are buffers of whole values that the present loop reads or writes.
	held []int
}

// assemble makes a draft with loops, which are in the order of their nodes. Its values share no buffers yet.
// isPossible is false if a node cannot be computed tile by tile after all.
func (c *chooser) assemble(loops []loop) (made *draft, isPossible bool) {
	w := c.whole
	a := &assembly{
		draft: &draft{program: w.program, dims: w.dims, places: make([]*place, len(w.places))}, chooser: c, whole: w,
		number: make([]int, len(w.buffers)),
	}
	for i := range a.number {
		a.number[i] = -1
	}
	for i := range w.program.inputs {
		a.keep(w.program.inputs[i].value, 0)
	}
	next := 0
	for i := range loops {
		s := loops[i]
		for ; next < s.first; next++ {
			a.addWhole(next)
		}
		if !a.addLoop(&s) {
			return nil, false
		}
		next = s.last + 1
	}
	for ; next < len(w.program.nodes); next++ {
		a.addWhole(next)
	}
	for _, out := range w.program.outputs {
		a.use(a.places[out.value], len(a.steps)+1)
	}
	return a.draft, true
}

// keep gives a whole value the place that it has in the whole draft.
func (a *assembly) keep(value, time int) {
	from := a.whole.places[value]
	if a.number[from.buffer] < 0 {
		b := a.whole.buffers[from.buffer]
		b.first, b.last = time, time
		a.number[from.buffer] = len(a.buffers)
		a.buffers = append(a.buffers, b)
	}
	a.places[value] = &place{buffer: a.number[from.buffer], kind: from.kind, layout: from.layout}
}

// addWhole adds a node that computes whole values.
func (a *assembly) addWhole(at int) {
	n := &a.program.nodes[at]
	time := len(a.steps)
	if !a.whole.isView[at] {
		time = a.addStep(step{node: at, loop: -1, inPlace: a.whole.predicted[at].InPlace})
		for _, in := range n.inputs {
			if in.kind == ofValue {
				a.use(a.places[in.at], time)
			}
		}
	}
	for _, value := range n.outputs {
		if value >= 0 {
			a.keep(value, time)
		}
	}
	if !a.whole.isView[at] {
		a.addWorkspace(time, a.whole.predicted[at].WorkspaceBytes)
	}
}

// addLoop adds the nodes of a loop.
func (a *assembly) addLoop(s *loop) bool {
	for at := s.first; at <= s.last; at++ {
		if !s.isTiled[at-s.first] {
			a.addWhole(at)
		}
	}
	s.from, s.places, a.held = len(a.steps), nil, nil
	for range s.sizes() {
		s.places = append(s.places, make([]*place, len(a.places)))
	}
	a.loops = append(a.loops, s)
	for at := s.first; at <= s.last; at++ {
		if s.isTiled[at-s.first] && !a.addTiled(s, at) {
			return false
		}
	}
	s.end = len(a.steps)
	for _, buffer := range a.held {
		a.buffers[buffer].last = max(a.buffers[buffer].last, s.end)
	}
	return s.largestBytes >= a.chooser.rule.leastTileBytes
}

// operands describes the inputs of a node for a tile that begins at 0.
func (a *assembly) operands(s *loop, at, size int, count int64) (list []compute.Operand, isPossible bool) {
	n, r := &a.program.nodes[at], a.chooser.flow.roleOf(at, s.group)
	list = make([]compute.Operand, len(n.inputs))
	for i, in := range n.inputs {
		origin := r.originOf(i)
		switch in.kind {
		case absent:
			list[i].IsAbsent = true
		case ofParameter:
			list[i] = a.program.parameters[in.at].operand()
		case ofValue:
			from := s.places[size][in.at]
			switch {
			case from != nil && origin == operator.Whole:
				return nil, false
			case from == nil && origin == operator.Whole:
				from = a.places[in.at]
			case from == nil:
				layout, err := s.partOf(a.places[in.at].layout, origin, 0, count)
				if err != nil {
					return nil, false
				}
				from = a.places[in.at].with(layout)
			}
			list[i] = from.operand()
		}
	}
	return list, true
}

// addTiled adds a node that computes tiles.
func (a *assembly) addTiled(s *loop, at int) bool {
	n := &a.program.nodes[at]
	if a.whole.isView[at] && s.places[0][n.inputs[0].at] == nil {
		// A view of a whole value is one itself.
		a.addWhole(at)
		return true
	}
	var parts []*backend.Prediction
	for size, count := range s.sizes() {
		operands, isPossible := a.operands(s, at, size, count)
		if !isPossible {
			return false
		}
		part := a.chooser.predict(at, operands)
		if part == nil || !a.chooser.isPart(s, at, part, count) {
			return false
		}
		parts = append(parts, part)
	}
	if a.whole.isView[at] {
		return a.addViews(s, at, parts)
	}
	return a.addTiledStep(s, at, parts)
}

// addViews adds views of values of a tile.
func (a *assembly) addViews(s *loop, at int, parts []*backend.Prediction) bool {
	n := &a.program.nodes[at]
	for size, part := range parts {
		views := viewsOf(n, s.places[size][n.inputs[0].at], part.Layout, part.Outputs)
		if views == nil {
			return false
		}
		for i, value := range n.outputs {
			if value >= 0 {
				s.places[size][value] = views[i]
			}
		}
	}
	return true
}

// addTiledStep adds a step that computes tiles.
func (a *assembly) addTiledStep(s *loop, at int, parts []*backend.Prediction) bool {
	n := &a.program.nodes[at]
	workspace := uint64(0)
	for _, part := range parts {
		workspace = max(workspace, part.WorkspaceBytes)
	}
	r := a.chooser.flow.roleOf(at, s.group)
	time := a.addStep(step{node: at, loop: len(a.loops) - 1, role: r, inPlace: func(output, input int) bool {
		return !slices.ContainsFunc(parts, func(part *backend.Prediction) bool { return !part.InPlace(output, input) })
	}})
	for _, in := range n.inputs {
		if in.kind != ofValue {
			continue
		}
		from := s.places[0][in.at]
		if from == nil {
			from = a.places[in.at]
			a.held = append(a.held, from.buffer)
		}
		a.use(from, time)
	}
	for i, value := range n.outputs {
		if value < 0 {
			continue
		}
		if a.chooser.isReadAfter(value, s.last) {
			a.keep(value, s.from+1)
			a.held = append(a.held, a.places[value].buffer)
			if !s.isWritable(a.places[value], r.axis) {
				return false
			}
			continue
		}
		if !a.addTile(s, value, n.outputName(i), i, parts, time) {
			return false
		}
	}
	a.addWorkspace(time, workspace)
	return true
}

// addTile gives a value of a tile a buffer, which has room for the largest tile.
func (a *assembly) addTile(s *loop, value int, name string, output int, parts []*backend.Prediction, time int) bool {
	for size, part := range parts {
		out := &part.Outputs[output]
		s.places[size][value] = &place{buffer: len(a.buffers), kind: out.Type, layout: out.Layout}
	}
	bytes, err := parts[0].Outputs[output].Type.Size(uint64(parts[0].Outputs[output].Layout.Elements()))
	if err != nil {
		return false
	}
	s.largestBytes = max(s.largestBytes, bytes)
	a.buffers = append(a.buffers, buffer{name: name, role: RoleActivation, sizeBytes: bytes, first: time, last: time})
	return true
}
