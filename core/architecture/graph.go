package architecture

import (
	"encoding/json"

	"ferrum_mem/core/dtype"
	"ferrum_mem/core/ir"
	"ferrum_mem/core/operator"
)

// value is an output of a node.
type value struct {
	node  string
	shape []int64
	dtype dtype.DType
}

// graph writes the layers, nodes and edges of a model. Each layer has one node.
type graph struct {
	model *ir.Model
	// dtype is the type of the parameters, and of what is computed from them.
	dtype dtype.DType
	err   error
}

// operand is an input of an operator: a value, or the parameter with a name.
type operand struct {
	value
	parameter string
}

func (v value) operand() operand { return operand{value: v} }

// floats adds a parameter of floating-point elements, and returns it as an input of an operator.
func (g *graph) floats(name string, start ir.Initialization, shape ...uint64) operand {
	signed := make([]int64, len(shape))
	for i, length := range shape {
		signed[i] = int64(length)
	}
	return g.add(ir.Parameter{Name: name, Shape: signed, DType: g.dtype, Trainable: true, Initialization: start})
}

// integers adds a constant: a list of integers, or a scalar.
func (g *graph) integers(name string, isScalar bool, elements ...int64) operand {
	shape := []int64{int64(len(elements))}
	if isScalar {
		shape = []int64{}
	}
	return g.add(ir.Parameter{
		Name: name, Shape: shape, DType: dtype.I64, Initialization: ir.Initialization{Strategy: ir.StrategyZeros}, Value: elements,
	})
}

func (g *graph) add(p ir.Parameter) operand {
	g.model.Parameters = append(g.model.Parameters, p)
	return operand{value: value{shape: p.Shape, dtype: p.DType}, parameter: p.Name}
}

// input adds an input of the model.
func (g *graph) input(id string, rule ir.Default, dims ...string) value {
	shape := make([]int64, len(dims))
	for i := range shape {
		shape[i] = ir.Dynamic
	}
	g.model.Layers = append(g.model.Layers, ir.Layer{
		Name: id, Type: ir.InputType, Inputs: []ir.Tensor{}, Outputs: []ir.Tensor{{Name: id, Shape: shape, DType: dtype.I64}}, Parameters: []string{},
	})
	metadata := map[string]json.RawMessage{ir.MetadataDims: g.json(dims)}
	if rule != "" {
		metadata[ir.MetadataDefault] = g.json(rule)
	}
	g.model.Graph.Nodes = append(g.model.Graph.Nodes, ir.Node{ID: id, LayerName: id, Metadata: metadata})
	g.model.Graph.Inputs = append(g.model.Graph.Inputs, id)
	return value{id, shape, dtype.I64}
}

// step is one operator: the name of its layer, which is also the id of its node unless id states
// another, its full name, attributes, and the type and shape of its output.
type step struct {
	id, layer  string
	operator   string
	attributes map[string]any
	dtype      dtype.DType
	shape      []int64
}

// node adds an operator with its inputs.
func (g *graph) node(s step, inputs ...operand) value {
	if s.id == "" {
		s.id = s.layer
	}
	domain, name := operator.SplitName(s.operator)
	form, err := operator.Find(domain, name, 0)
	if err != nil {
		g.fail(err)
		return value{}
	}
	layer := ir.Layer{
		Name: s.layer, Type: s.operator, Inputs: make([]ir.Tensor, len(inputs)), Parameters: []string{},
		Outputs: []ir.Tensor{{Name: form.Outputs[0].Name, Shape: s.shape, DType: s.dtype}},
	}
	for i, in := range inputs {
		layer.Inputs[i] = ir.Tensor{Name: form.Inputs[i].Name, Shape: in.shape, DType: in.dtype}
		if in.parameter != "" {
			layer.Inputs[i].Name = in.parameter
			layer.Parameters = append(layer.Parameters, in.parameter)
			continue
		}
		g.model.Graph.Edges = append(g.model.Graph.Edges, edge(in.node, s.id, i))
	}
	if len(s.attributes) > 0 {
		layer.Config = make(map[string]json.RawMessage, len(s.attributes))
		for key, setting := range s.attributes {
			layer.Config[key] = g.json(setting)
		}
	}
	g.model.Layers = append(g.model.Layers, layer)
	g.model.Graph.Nodes = append(g.model.Graph.Nodes, ir.Node{ID: s.id, LayerName: s.layer})
	return value{s.id, s.shape, s.dtype}
}

// edge connects the first output of a node to an input of another one.
func edge(source, target string, input int) ir.Edge {
	e := ir.Edge{Source: source, Target: target}
	if input > 0 {
		at := uint32(input)
		e.TargetInput = &at
	}
	return e
}

// output makes the value an output of the model.
func (g *graph) output(v value) { g.model.Graph.Outputs = append(g.model.Graph.Outputs, v.node) }

func (g *graph) json(of any) json.RawMessage {
	text, err := json.Marshal(of)
	if err != nil {
		g.fail(err)
	}
	return text
}

// fail keeps the first error.
func (g *graph) fail(err error) {
	if g.err == nil {
		g.err = err
	}
}
