package model

import (
	"ferrum_mem/core/compute"
	"ferrum_mem/core/operator"
	"ferrum_mem/core/strided"
)

// viewsOf returns the places of the outputs of a node in the buffer of its first input; nil: the node is
// not a view of it. An output that is not wanted has the place nil.
func viewsOf(n *node, from *place, layout operator.Layout, outputs []compute.Operand) []*place {
	switch n.op.Name() {
	case "Reshape", "Squeeze", "Unsqueeze":
		return reshaped(from, &outputs[0])
	case "Split":
		return parts(from, layout, outputs)
	case "Slice":
		return sliced(from, layout, &outputs[0])
	}
	return nil
}

func (p *place) with(layout strided.Layout) *place {
	return &place{buffer: p.buffer, kind: p.kind, layout: layout}
}

// hasWholeBytes states whether each element of a place has an address of its own.
func (p *place) hasWholeBytes() bool {
	each, _ := p.kind.Block()
	return each == 1
}

func reshaped(from *place, out *compute.Operand) []*place {
	layout, fits, err := from.layout.Reshape(out.Layout.Shape()...)
	if err != nil || !fits || !from.layout.IsContiguous() && !from.hasWholeBytes() {
		return nil
	}
	return []*place{from.with(layout)}
}

// parts returns the places of the outputs of a Split.
func parts(from *place, of operator.Layout, outputs []compute.Operand) []*place {
	if len(of.Axes) != 1 || !from.hasWholeBytes() {
		return nil
	}
	places, start := make([]*place, len(outputs)), int64(0)
	for i := range outputs {
		count := int64(of.Sizes[i])
		layout, err := from.layout.Narrow(of.Axes[0], start, count)
		if err != nil {
			return nil
		}
		if start += count; !outputs[i].IsAbsent {
			places[i] = from.with(layout)
		}
	}
	return places
}

// sliced returns the place of the output of a Slice.
func sliced(from *place, of operator.Layout, out *compute.Operand) []*place {
	if !from.hasWholeBytes() {
		return nil
	}
	layout := from.layout
	for axis := range of.Starts {
		count := out.Layout.Shape()[axis]
		if count == 0 || of.Steps[axis] < 1 {
			return nil
		}
		var err error
		if layout, err = layout.Slice(axis, of.Starts[axis], count, of.Steps[axis]); err != nil {
			return nil
		}
	}
	return []*place{from.with(layout)}
}
