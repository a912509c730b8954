package passes

import (
	"slices"

	"ferrum_mem/core/ir"
)

// removeUnused makes finish remove everything that no output of the model needs. Inputs of the model
// stay: they are its interface.
func (n *network) removeUnused() {
	isNeeded := map[*node]bool{}
	var open []*node
	need := func(at *node) {
		if !isNeeded[at] {
			isNeeded[at] = true
			open = append(open, at)
		}
	}
	for _, at := range n.nodes {
		if at.isOutput || at.layer.Type == ir.InputType {
			need(at)
		}
	}
	for len(open) > 0 {
		at := open[len(open)-1]
		open = open[:len(open)-1]
		for _, in := range at.in {
			if in.from != nil {
				need(in.from)
			}
		}
	}
	for _, at := range n.nodes {
		at.hadUsers = true
		at.users = slices.DeleteFunc(at.users, func(u use) bool { return !isNeeded[u.by] })
	}
	for _, l := range n.layers {
		n.wasUsed[l] = true
	}
	for _, p := range n.parameters {
		n.wasUsed[p] = true
	}
}

// finish removes what the pass left without a use.
func (n *network) finish() {
	for _, at := range n.nodes {
		at.release()
	}
	count := len(n.nodes)
	n.nodes = slices.DeleteFunc(n.nodes, func(at *node) bool { return at.isReleased })
	n.isChanged = n.isChanged || len(n.nodes) < count
	isUsed := map[any]bool{}
	for _, at := range n.nodes {
		isUsed[at.layer] = true
		for _, in := range at.in {
			if in.parameter != nil {
				isUsed[in.parameter] = true
			}
		}
	}
	isDropped := func(thing any) bool {
		dropped := !isUsed[thing] && (n.wasUsed[thing] || n.isNew[thing])
		n.isChanged = n.isChanged || dropped && !n.isNew[thing]
		return dropped
	}
	n.layers = slices.DeleteFunc(n.layers, func(l *ir.Layer) bool { return isDropped(l) })
	n.parameters = slices.DeleteFunc(n.parameters, func(p *ir.Parameter) bool { return isDropped(p) })
	n.rename()
}

// rename gives written layers the names of the layers that they replace, where these are gone.
func (n *network) rename() {
	isTaken := map[string]bool{}
	for _, l := range n.layers {
		isTaken[l.Name] = true
	}
	for _, l := range n.layers {
		if name, isWritten := n.replaced[l]; isWritten && !isTaken[name] {
			l.Name, isTaken[name] = name, true
		}
	}
}

// write returns the changed model, which shares nothing with the network.
func (n *network) write() *ir.Model {
	m := *n.model.Model
	m.Parameters, m.Layers = make([]ir.Parameter, len(n.parameters)), make([]ir.Layer, len(n.layers))
	for i, p := range n.parameters {
		m.Parameters[i] = *p
	}
	for i, l := range n.layers {
		m.Layers[i] = *l
	}
	m.Graph.Nodes, m.Graph.Edges = make([]ir.Node, len(n.nodes)), []ir.Edge{}
	for i, at := range n.nodes {
		at.LayerName = at.layer.Name
		m.Graph.Nodes[i] = at.Node
		for input, s := range at.in {
			if s.from != nil {
				m.Graph.Edges = append(m.Graph.Edges, ir.Edge{
					Source: s.from.ID, Target: at.ID, SourceOutput: index(s.output), TargetInput: index(input),
				})
			}
		}
	}
	return m.Clone()
}

// index is the form of a position in an edge.
func index(at int) *uint32 {
	if at == 0 {
		return nil
	}
	position := uint32(at)
	return &position
}
