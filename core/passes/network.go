package passes

import (
	"slices"
	"strconv"

	"ferrum_mem/core/ir"
	"ferrum_mem/core/operator"
)

// network is a model whose nodes are linked, so that a pass can change it. All lists are in the order of
// the model.
//
// A pass connects inputs to other sources and adds nodes. It never removes one: finish removes the nodes,
// layers and parameters that the pass left without a use. What had no use before stays, unless the pass
// calls removeUnused.
type network struct {
	model      *ir.Resolved
	nodes      []*node
	layers     []*ir.Layer
	parameters []*ir.Parameter
	// sorted has the nodes of the model in an order in which they can run.
	sorted []*node
	// isNew has the layers and parameters that the pass added.
	isNew map[any]bool
	// wasUsed has the layers and parameters that a node used before the pass.
	wasUsed map[any]bool
	// replaced has for each layer that the pass wrote the name of the layer that it replaces.
	replaced map[*ir.Layer]string
	// names has the taken names of each kind.
	names map[kindName]bool
	// written has the layers that the pass wrote, by their content.
	written   map[string]*ir.Layer
	samples   samples
	isChanged bool
	warnings  []string
}

// kindName is a name of a node, a layer or a parameter.
type kindName struct {
	kind nameKind
	name string
}

type nameKind uint8

const (
	nodeName nameKind = iota
	layerName
	parameterName
)

// node is a node of the graph.
type node struct {
	ir.Node
	// position is the position in the model, or ir.None for a node that the pass added.
	position int
	layer    *ir.Layer
	// operator is nil for an input of the model.
	operator *operator.Operator
	// in has a source for each input of the layer.
	in []source
	// users are the inputs of other nodes that read an output.
	users []use
	// isOutput states that the first output is an output of the model under the id of the node.
	isOutput bool
	// hadUsers states that an input read an output before the pass.
	hadUsers bool
	// isReleased states that the pass left the node without a use.
	isReleased bool
}

// source is what an input reads: an output of a node, or a parameter. The zero source is an absent input.
type source struct {
	from      *node
	output    int
	parameter *ir.Parameter
}

// use is an input of a node, and the output that it reads.
type use struct {
	by            *node
	input, output int
}

// link links a valid model, which a network does not change.
func link(resolved *ir.Resolved) *network {
	m := resolved.Model
	n := &network{
		model: resolved, isNew: map[any]bool{}, wasUsed: map[any]bool{}, replaced: map[*ir.Layer]string{}, names: map[kindName]bool{},
		written: map[string]*ir.Layer{},
	}
	for i := range m.Parameters {
		n.parameters = append(n.parameters, &m.Parameters[i])
		n.names[kindName{parameterName, m.Parameters[i].Name}] = true
	}
	for i := range m.Layers {
		n.layers = append(n.layers, &m.Layers[i])
		n.names[kindName{layerName, m.Layers[i].Name}] = true
	}
	for i, given := range m.Graph.Nodes {
		made := &node{Node: given, position: i, layer: n.layers[resolved.Nodes[i].Layer], operator: resolved.Nodes[i].Operator}
		n.nodes = append(n.nodes, made)
		n.names[kindName{nodeName, given.ID}] = true
		n.wasUsed[made.layer] = true
	}
	for _, at := range resolved.Outputs {
		n.nodes[at].isOutput = true
	}
	for i, to := range n.nodes {
		n.linkInputs(to, resolved.Nodes[i].Operands)
	}
	for _, at := range resolved.Order {
		n.sorted = append(n.sorted, n.nodes[at])
	}
	return n
}

// linkInputs sets the sources of a node.
func (n *network) linkInputs(to *node, operands []ir.Operand) {
	to.in = make([]source, len(operands))
	for input, o := range operands {
		switch {
		case o.Parameter != ir.None:
			to.in[input].parameter = n.parameters[o.Parameter]
			n.wasUsed[n.parameters[o.Parameter]] = true
		case o.Node != ir.None:
			from := n.nodes[o.Node]
			to.in[input] = source{from: from, output: o.Output}
			from.users = append(from.users, use{to, input, o.Output})
			from.hadUsers = true
		}
	}
}

// samples has the shapes of all tensors for a few choices of the lengths of the dynamic dimensions.
type samples struct {
	isMade bool
	shapes []*ir.Shapes
	// like has outputs that the pass added, and an output with the same shape.
	like map[source]source
}

// is states whether a node has one of some types.
func (at *node) is(types ...string) bool { return at != nil && slices.Contains(types, at.layer.Type) }

// input returns a source of a node. It is the zero source if the layer has fewer inputs.
func (at *node) input(index int) source {
	if index < len(at.in) {
		return at.in[index]
	}
	return source{}
}

// first returns the first output of a node.
func (at *node) first() source { return source{from: at} }

func (s source) isAbsent() bool { return s.from == nil && s.parameter == nil }

// tensor returns the declared type and shape of a source.
func (s source) tensor() ir.Tensor {
	switch {
	case s.from != nil:
		return s.from.layer.Outputs[s.output]
	case s.parameter != nil:
		return ir.Tensor{Name: s.parameter.Name, Shape: s.parameter.Shape, DType: s.parameter.DType}
	}
	return ir.Tensor{Shape: []int64{}}
}

// hasOneUser states whether exactly one input reads the node, and the node is no output of the model.
func (at *node) hasOneUser() bool { return len(at.users) == 1 && !at.isOutput }

// unique returns a new name of a kind.
func (n *network) unique(kind nameKind, base string) string {
	name := base
	for count := 2; n.names[kindName{kind, name}]; count++ {
		name = base + "." + strconv.Itoa(count)
	}
	n.names[kindName{kind, name}] = true
	return name
}

// maxWarnings bounds the warnings of a pass.
const maxWarnings = 20

func (n *network) warn(text string) {
	switch {
	case slices.Contains(n.warnings, text):
	case len(n.warnings) < maxWarnings:
		n.warnings = append(n.warnings, text)
	case len(n.warnings) == maxWarnings:
		n.warnings = append(n.warnings, "there are further warnings")
	}
}
