package ir

import (
	"encoding/json"

	"ferrum_mem/core/device"
	"ferrum_mem/core/operator"
)

const (
	opResolve  = "ir.resolve"
	opValidate = "ir.validate"
)

// Resolved is the graph of a model with positions instead of names. It refers to the model, which must
// not change.
type Resolved struct {
	Model *Model
	// Nodes has an entry for each node of the graph, at the position of the node.
	Nodes []ResolvedNode
	// Order has the positions of the nodes in an order in which they can run: a node comes after the
	// sources of its inputs. Of the nodes that can run next, the first of the list comes first. So a
	// list that is in such an order keeps it.
	Order []int
	// Inputs has the inputs of the model, in the order of Graph.Inputs.
	Inputs []Input
	// Outputs has the positions of the nodes of Graph.Outputs.
	Outputs []int
}

// ResolvedNode is a node with its layer.
type ResolvedNode struct {
	// Layer is the position of the layer in Model.Layers.
	Layer int
	// Operator is nil for an input of the model. Nodes with the same layer share it.
	Operator *operator.Operator
	// Operands has the source of each input of the layer.
	Operands []Operand
}

// Operand is the source of an input of a node: a parameter, an output of a node, or nothing for an
// absent input.
type Operand struct {
	// Parameter is the position in Model.Parameters, or None.
	Parameter int
	// Node is the position of the source in Graph.Nodes, or None. Output is the position in the outputs
	// of its layer.
	Node, Output int
}

// None is the position of an object that is not there.
const None = -1

// absent is the operand of an optional input that is not given.
var absent = Operand{Parameter: None, Node: None}

// IsAbsent states that the optional input is not given.
func (o Operand) IsAbsent() bool { return o.Parameter == None && o.Node == None }

// Input is an input of a model.
type Input struct {
	// Node is the position in Graph.Nodes.
	Node int
	// Dims has the name of each dimension. A dimension with the length Dynamic that has no name in the
	// metadata gets the id of the node and its position, such as "ids.1". "" is a fixed dimension
	// without a name.
	Dims []string
	// Default is the rule for an input that a run does not give; "": a run must give it.
	Default Default
}

// Operator returns the operator of a layer with its attributes. A layer of type InputType has none. known
// has the operators of the program; nil: there are none. Errors: CodeNotFound for an unknown type, with the
// nearest; CodeInvalidArgument for a wrong attribute.
func (l *Layer) Operator(known operator.Vocabulary) (*operator.Operator, error) {
	domain, name := operator.SplitName(l.Type)
	schema, err := operator.FindIn(known, domain, name, 0)
	if err != nil {
		return nil, err
	}
	var attributes []byte
	if len(l.Config) > 0 {
		if attributes, err = json.Marshal(l.Config); err != nil {
			return nil, device.Errorf(device.CodeInvalidArgument, opResolve, "%s: the attributes are not JSON", schema.FullName())
		}
	}
	return schema.Prepare(attributes)
}

// Resolve returns the graph with its names resolved. Errors: CodeInvalidConfig for the worst issue that
// Validate would find in the layers and the graph, without those of shapes, with its path.
func (m *Model) Resolve() (*Resolved, error) {
	f := &findings{}
	g, _ := f.resolve(m)
	if err := f.err(opResolve); err != nil {
		return nil, err
	}
	return g, nil
}

// resolvedLayer is a layer whose names are resolved, once for all its nodes.
type resolvedLayer struct {
	operator *operator.Operator
	// operands has the parameters of the layer. The operands that edges decide are open.
	operands []Operand
	// isBroken states that an issue of the layer prevents the inference of its nodes.
	isBroken bool
}

// open is an operand that an edge must set.
var open = Operand{Parameter: None, Node: None, Output: None}

// maxTensors is the maximum number of inputs and outputs of all nodes. A short text can have many nodes
// that share a layer with many outputs: the bound holds for the memory of Resolve and Infer.
const maxTensors = 1 << 20

// resolver resolves the names of a model.
type resolver struct {
	*findings
	model *Model
	graph *Resolved
	// tensors counts the inputs and outputs of the nodes.
	tensors int

	parameters, layers, nodes             map[string]int
	parameterNames, layerNames, nodeNames []string
	forms                                 []resolvedLayer
	isBroken                              []bool
	isUsedParameter, isUsedLayer          []bool
}

// resolve resolves all names that it can. A node is broken if its inference has no meaning.
func (f *findings) resolve(m *Model) (*Resolved, *resolver) {
	r := &resolver{findings: f, model: m, graph: &Resolved{Model: m}}
	r.parameters, r.parameterNames = r.names(CategoryParameters, "parameters", "name", len(m.Parameters), func(i int) string { return m.Parameters[i].Name })
	r.layers, r.layerNames = r.names(CategoryLayers, "layers", "name", len(m.Layers), func(i int) string { return m.Layers[i].Name })
	r.nodes, r.nodeNames = r.names(CategoryGraph, "graph.nodes", "id", len(m.Graph.Nodes), func(i int) string { return m.Graph.Nodes[i].ID })
	r.forms = make([]resolvedLayer, len(m.Layers))
	r.isUsedParameter, r.isUsedLayer = make([]bool, len(m.Parameters)), make([]bool, len(m.Layers))
	for i := range m.Layers {
		r.layer(i)
	}
	r.isBroken = make([]bool, len(m.Graph.Nodes))
	r.graph.Nodes = make([]ResolvedNode, len(m.Graph.Nodes))
	for i := range m.Graph.Nodes {
		r.node(i)
	}
	for i := range m.Graph.Edges {
		r.edge(i)
	}
	r.unconnected()
	r.inputs()
	r.outputs()
	r.order()
	return r.graph, r
}

// names returns the positions of the names of a list, and the names in order. It reports names that
// are empty or not unique.
func (r *resolver) names(category, list, field string, count int, name func(int) string) (map[string]int, []string) {
	found, names := make(map[string]int, count), make([]string, count)
	for i := range count {
		n := name(i)
		names[i] = n
		first, twice := found[n]
		switch {
		case n == "":
			r.fault(category, elementPath(list, i)+"."+field, "the %s is empty", field).suggest("give it a unique %s", field)
		case twice:
			r.fault(category, elementPath(list, i)+"."+field, "%s is also the %s of %s", quoted(n), field, elementPath(list, first)).suggest("give it a unique %s", field)
		default:
			found[n] = i
		}
	}
	return found, names
}

// node resolves the layer of a node.
func (r *resolver) node(at int) {
	n, resolved := &r.model.Graph.Nodes[at], &r.graph.Nodes[at]
	layer, known := r.layers[n.LayerName]
	if !known {
		i := r.fault(CategoryGraph, elementPath("graph.nodes", at)+".layer_name", "the node %s refers to the layer %s, which does not exist", quoted(n.ID), quoted(n.LayerName))
		r.nearest(i, n.LayerName, r.layerNames)
		resolved.Layer, r.isBroken[at] = None, true
		return
	}
	r.isUsedLayer[layer] = true
	form := &r.forms[layer]
	before := r.tensors
	r.tensors += len(form.operands) + len(r.model.Layers[layer].Outputs)
	if r.tensors > maxTensors {
		if before <= maxTensors {
			r.report(Critical, CategoryGraph, elementPath("graph.nodes", at), "the nodes up to %s have more than %d inputs and outputs", quoted(n.ID), maxTensors)
		}
		resolved.Layer, r.isBroken[at] = None, true
		return
	}
	resolved.Layer, resolved.Operator, r.isBroken[at] = layer, form.operator, form.isBroken
	resolved.Operands = append([]Operand(nil), form.operands...)
}

// edge sets the operand that an edge decides.
func (r *resolver) edge(at int) {
	e, path := &r.model.Graph.Edges[at], elementPath("graph.edges", at)
	source, hasSource := r.end(e.Source, path+".source")
	target, hasTarget := r.end(e.Target, path+".target")
	if hasSource {
		hasSource = r.hasOutput(source, e.output(), path+".source_output")
	}
	if !hasTarget || !r.hasInput(target, e.input(), path) {
		return
	}
	operand := &r.graph.Nodes[target].Operands[e.input()]
	if *operand != open {
		r.isBroken[target] = true
		r.fault(CategoryGraph, path, "input %d of the node %s is connected twice: from %s and from %s", e.input(), quoted(e.Target), r.sourceName(*operand), quoted(e.Source)).
			suggest("remove one of the edges")
		return
	}
	if !hasSource {
		r.isBroken[target], *operand = true, absent
		return
	}
	*operand = Operand{Parameter: None, Node: source, Output: e.output()}
}

// sourceName names the node of an operand in messages.
func (r *resolver) sourceName(o Operand) string {
	if o.Node == None {
		return "an unknown node"
	}
	return quoted(r.nodeNames[o.Node])
}

// output returns the position of the output at which the edge begins.
func (e *Edge) output() int { return positionOr0(e.SourceOutput) }

// input returns the position of the input at which the edge ends.
func (e *Edge) input() int { return positionOr0(e.TargetInput) }

func positionOr0(at *uint32) int {
	if at == nil {
		return 0
	}
	return int(*at)
}

// end returns the position of the node at an end of an edge.
func (r *resolver) end(id, path string) (at int, known bool) {
	if at, known = r.nodes[id]; !known {
		r.nearest(r.fault(CategoryGraph, path, "the node %s does not exist", quoted(id)), id, r.nodeNames)
	}
	return at, known
}

// hasOutput states whether a node has an output. A node without a layer has an issue already.
func (r *resolver) hasOutput(node, output int, path string) bool {
	layer := r.graph.Nodes[node].Layer
	if layer == None {
		return false
	}
	outputs := r.model.Layers[layer].Outputs
	if output < len(outputs) && outputs[output].Name != "" {
		return true
	}
	r.fault(CategoryGraph, path, "the node %s has no output %d: its layer %s has %s", quoted(r.nodeNames[node]), output, quoted(r.layerNames[layer]), device.Count(len(outputs), "output"))
	return false
}

// hasInput states whether a node has an input that takes an edge.
func (r *resolver) hasInput(node, input int, path string) bool {
	layer := r.graph.Nodes[node].Layer
	if layer == None {
		return false
	}
	l, name := &r.model.Layers[layer], quoted(r.nodeNames[node])
	switch {
	case input >= len(l.Inputs):
		r.fault(CategoryGraph, path+".target_input", "the node %s has no input %d: its layer %s has %s", name, input, quoted(l.Name), device.Count(len(l.Inputs), "input"))
	case l.Inputs[input].Name == "":
		r.fault(CategoryGraph, path+".target_input", "input %d of the node %s is absent: its layer %s has no name for it", input, name, quoted(l.Name))
	case r.forms[layer].operands[input].Parameter != None:
		r.fault(CategoryGraph, path+".target_input", "input %d of the node %s is the parameter %s", input, name, quoted(l.Inputs[input].Name)).
			suggest("remove the edge")
	default:
		return true
	}
	return false
}

// unconnected reports the inputs that no edge has set.
func (r *resolver) unconnected() {
	for at := range r.graph.Nodes {
		n := &r.graph.Nodes[at]
		for i := range n.Operands {
			if n.Operands[i] != open {
				continue
			}
			n.Operands[i], r.isBroken[at] = absent, true
			l := &r.model.Layers[n.Layer]
			name := l.Inputs[i].Name
			issue := r.fault(CategoryGraph, elementPath("graph.nodes", at), "input %d %s of %s is not connected", i, quoted(name), nodeText(r.nodeNames[at], l.Name, ""))
			if _, isParameter := r.parameters[name]; isParameter {
				issue.suggest("add %s to the parameters of the layer", quoted(name))
			} else {
				issue.suggest("add an edge to this input")
			}
		}
	}
}
