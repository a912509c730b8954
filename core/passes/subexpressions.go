package passes

import (
	"fmt"
	"strings"

	"ferrum_mem/core/ir"
)

// mergeSame joins nodes that compute the same: one operator with the same attributes and the same inputs.
// Operators have no state, so one of the nodes is enough.
func mergeSame(n *network) error {
	known := map[string]*node{}
	// class has the first of the nodes that compute the same.
	class := map[*node]*node{}
	for _, at := range n.sorted {
		class[at] = at
		// A layer of the program may have a state.
		if at.operator == nil || at.operator.Custom != nil {
			continue
		}
		key, err := keyOf(at, class)
		if err != nil {
			return err
		}
		kept := known[key]
		if kept == nil {
			known[key] = at
			continue
		}
		class[at] = class[kept]
		// The node of an output of the model stays, whatever reads it.
		if at.isOutput && !kept.isOutput {
			known[key] = at
			kept, at = at, kept
		}
		for output := range at.layer.Outputs {
			n.replace(source{from: at, output: output}, source{from: kept, output: output})
		}
	}
	return nil
}

// keyOf returns a text that is the same for nodes that compute the same.
func keyOf(at *node, class map[*node]*node) (string, error) {
	config, err := at.operator.AttributesJSON()
	if err != nil {
		return "", err
	}
	var key strings.Builder
	fmt.Fprintf(&key, "%s %s", at.layer.Type, config)
	for _, out := range at.layer.Outputs {
		fmt.Fprintf(&key, " %t", out.Name != "")
	}
	for _, in := range at.in {
		switch {
		case in.parameter != nil:
			key.WriteString(" " + elementsKey(in.parameter))
		case in.from != nil:
			fmt.Fprintf(&key, " %q.%d", class[in.from].ID, in.output)
		default:
			key.WriteString(" -")
		}
	}
	return key.String(), nil
}

// elementsKey returns a text that is the same for parameters with the same elements.
func elementsKey(p *ir.Parameter) string {
	switch {
	case p.IsConstant():
		return fmt.Sprintf("constant %v %v", p.Shape, p.Value)
	case p.Source != "":
		return fmt.Sprintf("tensor %q %v %v", p.Source, p.DType, p.Shape)
	}
	return fmt.Sprintf("parameter %q", p.Name)
}
