package ir

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"ferrum_mem/core/device"
	"ferrum_mem/core/internal/similar"
)

const opInfer = "ir.infer"

// named is a dimension with a name.
type named struct {
	name string
	// length is Dynamic if the inputs of a run decide it.
	length int64
	// input is the position in Resolved.Inputs, axis the position in its shape.
	input, axis int
}

// named lists the dimensions with a name, in the order of the inputs.
func (g *Resolved) named() []named {
	var list []named
	for i, in := range g.Inputs {
		if len(in.Dims) == 0 {
			continue
		}
		shape := g.layerOf(in.Node).Outputs[0].Shape
		for axis, name := range in.Dims {
			if name != "" {
				list = append(list, named{name, shape[axis], i, axis})
			}
		}
	}
	return list
}

// layerOf returns the layer of a node.
func (g *Resolved) layerOf(node int) *Layer { return &g.Model.Layers[g.Nodes[node].Layer] }

// DynamicDims returns the names of the dimensions whose lengths Infer needs, sorted.
func (g *Resolved) DynamicDims() []string {
	fixed, _ := g.fixed()
	open := map[string]bool{}
	for _, d := range g.named() {
		if _, isFixed := fixed[d.name]; !isFixed {
			open[d.name] = true
		}
	}
	return slices.Sorted(maps.Keys(open))
}

// fixed returns the lengths of named dimensions that the definition states. conflict is the first
// dimension that has another length than an earlier one with the same name.
func (g *Resolved) fixed() (lengths map[string]uint64, conflict *named) {
	lengths = map[string]uint64{}
	for _, d := range g.named() {
		if d.length == Dynamic {
			continue
		}
		if earlier, twice := lengths[d.name]; twice && earlier != uint64(d.length) && conflict == nil {
			conflict = &d
		} else {
			lengths[d.name] = uint64(d.length)
		}
	}
	return lengths, conflict
}

// describe names a dimension with its input, for messages.
func (g *Resolved) describe(d named) string {
	in := g.Inputs[d.input]
	return fmt.Sprintf("dimension %d (%s) of the input %s %s", d.axis, quoted(d.name), quoted(g.Model.Graph.Nodes[in.Node].ID), shapeText(g.layerOf(in.Node).Outputs[0].Shape))
}

// lengths returns the length of each named dimension.
func (g *Resolved) lengths(dims map[string]uint64) (map[string]uint64, error) {
	lengths, conflict := g.fixed()
	if conflict != nil {
		return nil, device.Errorf(device.CodeInvalidConfig, opInfer, "%s has the length %d, and another dimension with this name has %d", g.describe(*conflict), conflict.length, lengths[conflict.name])
	}
	all := g.named()
	first := make(map[string]*named, len(all))
	for i := range all {
		if first[all[i].name] == nil {
			first[all[i].name] = &all[i]
		}
	}
	for _, name := range slices.Sorted(maps.Keys(dims)) {
		length, d := dims[name], first[name]
		stated, isFixed := lengths[name]
		switch {
		case d == nil && len(all) == 0:
			return nil, device.Errorf(device.CodeInvalidArgument, opInfer, "the dimension %s is not known: the inputs of the model have no named dimension", quoted(name))
		case d == nil:
			return nil, device.Errorf(device.CodeInvalidArgument, opInfer, "the dimension %s is not known: the nearest is %s", quoted(name), quoted(nearestDim(name, all)))
		case length > math.MaxInt64:
			return nil, device.Errorf(device.CodeOverflow, opInfer, "the length of %s is %d: it must be below 2^63", g.describe(*d), length)
		case isFixed && stated != length:
			return nil, device.Errorf(device.CodeInvalidArgument, opInfer, "the length of %s is %d in the definition: it cannot be %d", g.describe(*d), stated, length)
		}
		lengths[name] = length
	}
	for _, d := range all {
		if _, isGiven := lengths[d.name]; !isGiven {
			return nil, device.Errorf(device.CodeInvalidArgument, opInfer, "the length of %s is not given", g.describe(d))
		}
	}
	return lengths, nil
}

func nearestDim(name string, all []named) string {
	names := make([]string, len(all))
	for i, d := range all {
		names[i] = d.name
	}
	return similar.Names(name, names, 1)[0]
}
