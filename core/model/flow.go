package model

import (
	"slices"

	"ferrum_mem/core/operator"
)

// How dimensions go through a graph. An operator states for a dimension of its outputs from which dimensions of
// its inputs it comes (operator.Operator.Origins). Dimensions that come from each other are one group, such as the
// batch of all values: a part of one of them is computed from the same part of the others.

// portOf is a dimension of a value.
type portOf struct{ value, axis int }

// number returns the number of a dimension among those of all values.
func (p portOf) number() int { return p.value*operator.MaxRank + p.axis }

// flow has the groups of a draft.
type flow struct {
	whole *whole
	// above leads from each dimension to the one that stands for its group, which is the number of the group.
	above []int
	// units has for each group the largest number of parts into which all of its dimensions divide.
	units []int64
	// roles has for each group that was used the roles of the nodes.
	roles map[int][]*role
}

// role is how a node takes part in a group: a part of dimension axis of its outputs comes from the same part of
// dimension origins[i] of input i, or from the whole input for operator.Whole.
type role struct {
	axis    int
	origins []int
}

// originOf returns the dimension of an input of which a tile reads a part, or operator.Whole. The nil role has
// whole inputs.
func (r *role) originOf(input int) int {
	if r == nil || input >= len(r.origins) {
		return operator.Whole
	}
	return r.origins[input]
}

// axisOfOutputs returns the dimension of which a tile writes a part, or operator.Whole.
func (r *role) axisOfOutputs() int {
	if r == nil {
		return operator.Whole
	}
	return r.axis
}

// flowOf finds the groups.
func flowOf(w *whole) *flow {
	f := &flow{whole: w, above: make([]int, len(w.places)*operator.MaxRank), roles: map[int][]*role{}}
	for i := range f.above {
		f.above[i] = i
	}
	for at := range w.program.nodes {
		f.join(at)
	}
	f.units = make([]int64, len(f.above))
	for value, at := range w.places {
		if at == nil {
			continue
		}
		for axis, length := range at.layout.Shape() {
			group := f.groupOf(value, axis)
			f.units[group] = divisor(length, f.units[group])
		}
	}
	return f
}

// divisor returns the greatest common divisor.
func divisor(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// groupOf returns the number of the group of a dimension.
func (f *flow) groupOf(value, axis int) int {
	at := portOf{value, axis}.number()
	for f.above[at] != at {
		f.above[at] = f.above[f.above[at]]
		at = f.above[at]
	}
	return at
}

// join joins the dimensions of the outputs of a node with those that they come from.
func (f *flow) join(at int) {
	n := &f.whole.program.nodes[at]
	first := slices.IndexFunc(n.outputs, func(value int) bool { return value >= 0 })
	if first < 0 {
		return
	}
	for axis, length := range f.whole.places[n.outputs[first]].layout.Shape() {
		origins, isKnown := f.whole.predicted[at].Origins(axis)
		if length < 2 || !isKnown {
			continue
		}
		group := f.groupOf(n.outputs[first], axis)
		for _, value := range n.outputs {
			if value >= 0 && axis < len(f.whole.places[value].layout.Shape()) {
				f.above[f.groupOf(value, axis)] = group
			}
		}
		for i, origin := range origins {
			if origin != operator.Whole && n.inputs[i].kind == ofValue {
				f.above[f.groupOf(n.inputs[i].at, origin)] = group
			}
		}
	}
}

// axisOf returns the dimension of a value in a group; -1: it has none, or several.
func (f *flow) axisOf(value, group int) int {
	found := -1
	for axis := range f.whole.places[value].layout.Shape() {
		if f.groupOf(value, axis) != group {
			continue
		}
		if found >= 0 {
			return -1
		}
		found = axis
	}
	return found
}

// roleOf returns how a node takes part in a group; nil: it does not.
func (f *flow) roleOf(at, group int) *role {
	if f.roles[group] == nil {
		list := make([]*role, len(f.whole.program.nodes))
		for i := range list {
			list[i] = f.findRole(i, group)
		}
		f.roles[group] = list
	}
	return f.roles[group][at]
}

func (f *flow) findRole(at, group int) *role {
	n := &f.whole.program.nodes[at]
	axis := -1
	for _, value := range n.outputs {
		if value < 0 {
			continue
		}
		found := f.axisOf(value, group)
		if found < 0 || axis >= 0 && found != axis || !f.whole.places[value].hasWholeBytes() {
			return nil
		}
		axis = found
	}
	if axis < 0 {
		return nil
	}
	origins, isKnown := f.whole.predicted[at].Origins(axis)
	if !isKnown {
		return nil
	}
	for i, in := range n.inputs {
		if i >= len(origins) || origins[i] == operator.Whole {
			continue
		}
		// Parameters may be packed, so they have no parts.
		if in.kind != ofValue || !f.whole.places[in.at].hasWholeBytes() {
			return nil
		}
	}
	return &role{axis: axis, origins: origins}
}

// nameOf returns the name that the inputs of the model give the group; "": none.
func (f *flow) nameOf(group int) string {
	for i := range f.whole.program.inputs {
		in := &f.whole.program.inputs[i]
		for axis, name := range in.dims {
			if name != "" && f.groupOf(in.value, axis) == group {
				return name
			}
		}
	}
	return ""
}
