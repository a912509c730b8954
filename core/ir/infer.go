package ir

import (
	"fmt"
	"strings"

	"ferrum_mem/core/device"
	"ferrum_mem/core/operator"
)

// Shapes has the types and shapes of all tensors of a model, for some lengths of its dynamic dimensions.
type Shapes struct {
	Graph *Resolved
	// Lengths has the length of each named dimension of the inputs.
	Lengths map[string]uint64
	// Nodes has an entry for each node of the graph, at the position of the node.
	Nodes []NodeShapes
}

// NodeShapes has the inputs and outputs of a node, in the order of its layer. Constants among the inputs
// have Known elements.
type NodeShapes struct {
	Inputs, Outputs []operator.Value
	// Layout has the attributes and numbers that the operator resolved. It is zero for an input of the
	// model.
	Layout operator.Layout
}

// Infer computes the type and shape of each output of each node. dims has the lengths of the dynamic
// dimensions by name; see Input.Dims. Inferred types and shapes must agree with those that the layers
// declare. It takes O(n log n) time for n nodes and edges.
//
// Every message about a node has its id, its layer, the operator and the shapes. Errors: those of
// Resolve; CodeInvalidArgument for a length that is missing, unknown, or contradicts the definition, and
// for shapes that do not fit; CodeInvalidConfig for an output that differs from its declaration;
// CodeOverflow for a tensor of more than 2^63 bytes.
func (m *Model) Infer(dims map[string]uint64) (*Shapes, error) {
	g, err := m.Resolve()
	if err != nil {
		return nil, err
	}
	return g.Infer(dims)
}

// Infer is Model.Infer for a graph that is resolved already.
func (g *Resolved) Infer(dims map[string]uint64) (*Shapes, error) {
	lengths, err := g.lengths(dims)
	if err != nil {
		return nil, err
	}
	s := g.shapes(lengths)
	for i := range g.Inputs {
		if wrong := s.input(i); wrong != nil {
			return nil, wrong.err()
		}
	}
	for _, at := range g.Order {
		if g.Nodes[at].Operator == nil {
			continue
		}
		if wrong := s.node(at); wrong != nil {
			return nil, wrong.err()
		}
	}
	return s, nil
}

// shapes returns Shapes whose nodes are not inferred yet.
func (g *Resolved) shapes(lengths map[string]uint64) *Shapes {
	return &Shapes{Graph: g, Lengths: lengths, Nodes: make([]NodeShapes, len(g.Nodes))}
}

// mismatch is a problem of the types and shapes of a node.
type mismatch struct {
	code       device.Code
	path, text string
}

func (m *mismatch) err() error { return device.Errorf(m.code, opInfer, "%s: %s", m.path, m.text) }

// input sets the output of an input of the model.
func (s *Shapes) input(at int) *mismatch {
	in := &s.Graph.Inputs[at]
	t := &s.Graph.layerOf(in.Node).Outputs[0]
	v := operator.Value{Type: t.DType, Shape: make([]uint64, len(t.Shape))}
	for axis, length := range t.Shape {
		v.Shape[axis] = uint64(length)
		if name := in.Dims[axis]; name != "" {
			v.Shape[axis] = s.Lengths[name]
		}
	}
	if _, _, wrong := sizeOf(v.Shape, v.Type); wrong != "" {
		return &mismatch{device.CodeOverflow, elementPath("graph.nodes", in.Node), fmt.Sprintf("the input %s %s", s.Graph.name(in.Node), wrong)}
	}
	s.Nodes[in.Node].Outputs = []operator.Value{v}
	return nil
}

// name quotes the id of a node.
func (g *Resolved) name(at int) string { return quoted(g.Model.Graph.Nodes[at].ID) }

// nodeText names a node and its layer in messages, the layer only if it has another name. about is what else
// there is to say, or "".
func nodeText(id, layer, about string) string {
	var parts []string
	if layer != id {
		parts = append(parts, "layer "+quoted(layer))
	}
	if about != "" {
		parts = append(parts, about)
	}
	if len(parts) == 0 {
		return "the node " + quoted(id)
	}
	return fmt.Sprintf("the node %s (%s)", quoted(id), strings.Join(parts, ", "))
}

// node infers the outputs of a node that is not an input of the model. The outputs of its sources are
// inferred already.
func (s *Shapes) node(at int) *mismatch {
	n, l := &s.Graph.Nodes[at], s.Graph.layerOf(at)
	inputs := make([]operator.Value, len(n.Operands))
	for i, o := range n.Operands {
		inputs[i] = s.operand(o)
		if o.Node != None && !l.Inputs[i].agrees(inputs[i]) {
			return s.contradiction(at, inputSide, i, inputs[i], fmt.Sprintf("output %d of the node %s", o.Output, s.Graph.name(o.Node)))
		}
	}
	wanted := make([]bool, len(l.Outputs))
	for i, t := range l.Outputs {
		wanted[i] = t.Name != ""
	}
	inferred, err := n.Operator.Infer(inputs, wanted)
	if err != nil {
		return &mismatch{device.CodeOf(err), elementPath("graph.nodes", at), nodeText(s.Graph.Model.Graph.Nodes[at].ID, l.Name, "") + ": " + messageOf(err)}
	}
	outputs := make([]operator.Value, len(l.Outputs))
	for i := range outputs {
		v := operator.Value{IsAbsent: true}
		if i < len(inferred.Outputs) {
			v = inferred.Outputs[i]
		}
		outputs[i] = v
		if !l.Outputs[i].agrees(v) {
			return s.contradiction(at, outputSide, i, v, n.Operator.FullName())
		}
	}
	s.Nodes[at] = NodeShapes{Inputs: inputs, Outputs: outputs, Layout: inferred.Layout}
	return nil
}

// operand returns the type and shape of an operand.
func (s *Shapes) operand(o Operand) operator.Value {
	switch {
	case o.Parameter != None:
		return s.Graph.Model.Parameters[o.Parameter].value()
	case o.Node != None:
		return s.Nodes[o.Node].Outputs[o.Output]
	}
	return operator.Value{IsAbsent: true}
}

// value describes the parameter as an input of an operator.
func (p *Parameter) value() operator.Value {
	v := operator.Value{Type: p.DType, Shape: make([]uint64, len(p.Shape)), Known: p.Value}
	for i, length := range p.Shape {
		v.Shape[i] = uint64(length)
	}
	return v
}

// agrees states whether a value has the declared type and shape.
func (t *Tensor) agrees(v operator.Value) bool {
	if v.IsAbsent {
		return t.Name == ""
	}
	if t.DType != v.Type || len(t.Shape) != len(v.Shape) {
		return false
	}
	for i, length := range t.Shape {
		if length != Dynamic && uint64(length) != v.Shape[i] {
			return false
		}
	}
	return true
}

// contradiction is an input or output of a node that differs from its declaration. origin is what
// computes the value.
func (s *Shapes) contradiction(at int, side string, i int, v operator.Value, origin string) *mismatch {
	n, l := &s.Graph.Nodes[at], s.Graph.layerOf(at)
	tensors, what := l.Outputs, "output"
	if side == inputSide {
		tensors, what = l.Inputs, "input"
	}
	t := &tensors[i]
	return &mismatch{
		device.CodeInvalidConfig, elementPath(elementPath("layers", n.Layer)+side, i),
		fmt.Sprintf("%s: %s %d %s is declared as %s%s: %s computes %v", nodeText(s.Graph.Model.Graph.Nodes[at].ID, l.Name, n.Operator.FullName()),
			what, i, quoted(t.Name), t.DType, shapeText(t.Shape), origin, v),
	}
}
