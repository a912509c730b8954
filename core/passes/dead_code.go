package passes

import "slices"

// removeDeadCode removes the nodes, layers and parameters that no output of the model needs, and stops
// the computation of optional outputs that no node reads.
func removeDeadCode(n *network) error {
	n.removeUnused()
	for _, at := range n.nodes {
		if at.operator != nil && !at.isUseless() {
			n.dropOutputs(at)
		}
	}
	return nil
}

// dropOutputs gives a node a layer without the optional outputs at the end that nothing reads.
func (n *network) dropOutputs(at *node) {
	kept := len(at.layer.Outputs)
	for kept > 1 {
		last, parameters := kept-1, at.operator.Outputs
		isRead := slices.ContainsFunc(at.users, func(u use) bool { return u.output == last })
		if isRead || last >= len(parameters) || !parameters[last].IsOptional {
			break
		}
		kept = last
	}
	if kept < len(at.layer.Outputs) {
		layer := n.newLayer(at.layer, at.layer.Type, at.layer.Config, at.in, at.layer.Outputs[:kept])
		n.rewrite(at, layer, at.in)
	}
}
