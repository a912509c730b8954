package model

import "slices"

// share gives outputs the buffers of inputs of their steps, where the engine computes in place.
//
// In a loop only values of one tile share buffers. A whole value is there before or after the loop, and
// the buffer of a tile has another size.
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
			part := d.placeOf(&d.steps[at], value).buffer
			owner[part] = from
			d.buffers[from].last = max(d.buffers[from].last, d.buffers[part].last)
			if d.buffers[part].role == RoleOutput {
				d.buffers[from].role = RoleOutput
			}
		}
	}
	d.compact(owner)
}

// placeOf returns where a value lies for a step: in a tile, or as a whole.
func (d *draft) placeOf(s *step, value int) *place {
	if s.loop >= 0 {
		if at := d.loops[s.loop].places[0][value]; at != nil {
			return at
		}
	}
	return d.places[value]
}

// canShare states whether a step can compute an output in the place of an input, by their places.
func (d *draft) canShare(s *step, output, input int) bool {
	if s.loop < 0 {
		from, to := d.places[input], d.places[output]
		return from.kind == to.kind && from.layout == to.layout
	}
	for _, places := range d.loops[s.loop].places {
		from, to := places[input], places[output]
		if from == nil || to == nil || from.kind != to.kind || from.layout != to.layout {
			return false
		}
	}
	return true
}

// inPlaceOf returns the buffer of an input that an output can take; -1: none.
func (d *draft) inPlaceOf(at, output, value int, owner []int, taken map[int]bool) int {
	s := &d.steps[at]
	n := &d.program.nodes[s.node]
	for i, in := range n.inputs {
		if in.kind != ofValue || !d.canShare(s, value, in.at) {
			continue
		}
		place := d.placeOf(s, in.at)
		from := owner[place.buffer]
		b := &d.buffers[from]
		size := place.bytes()
		if b.last != at+1 || taken[from] || size == 0 || size != b.sizeBytes || !s.inPlace(output, i) {
			continue
		}
		// Other inputs in this buffer are overwritten too.
		others := slices.ContainsFunc(n.inputs, func(other operand) bool {
			return other.kind == ofValue && other.at != in.at && owner[d.placeOf(s, other.at).buffer] == from
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
	move := func(places []*place) {
		for _, at := range places {
			if at != nil {
				// A place is the same pointer for one value only. The owner of a buffer has no owner itself.
				at.buffer = number[owner[at.buffer]]
			}
		}
	}
	move(d.places)
	for _, s := range d.loops {
		for _, places := range s.places {
			move(places)
		}
	}
	for i := range d.steps {
		if d.steps[i].workspace >= 0 {
			d.steps[i].workspace = number[d.steps[i].workspace]
		}
	}
	d.buffers = kept
}
