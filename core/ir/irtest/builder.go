package irtest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"ferrum_mem/core/dtype"
	"ferrum_mem/core/ir"
	"ferrum_mem/core/operator"
)

// T is what a Builder needs of a test. *testing.T, *testing.F and *rapid.T have it.
type T interface {
	Helper()
	Fatalf(format string, args ...any)
}

// lengths are two choices of the dynamic dimensions. A dimension of an output is dynamic if its lengths
// differ.
var lengths = [2]map[string]uint64{
	{"batch": 2, "sequence": 3, "memory": 5},
	{"batch": 7, "sequence": 11, "memory": 13},
}

// Lengths returns small lengths of the dimensions that a Builder knows.
func Lengths() map[string]uint64 {
	return map[string]uint64{"batch": 2, "sequence": 3, "memory": 5}
}

// Builder makes a model. Each method ends the test if the operator refuses its arguments.
type Builder struct {
	t     T
	model ir.Model
	made  int
	// inputs has the inputs of each node.
	inputs map[string][]Value
}

// Value is an output of a node, or a parameter. The zero Value is an absent input.
type Value struct {
	node      string
	output    uint32
	parameter string
	// at has the value at both choices of the lengths.
	at      [2]operator.Value
	outputs []Value
}

// Output returns another output of the node of a value.
func (v Value) Output(at int) Value { return v.outputs[at] }

// ID returns the id of the node.
func (v Value) ID() string { return v.node }

// Shape returns the declared shape, with ir.Dynamic.
func (v Value) Shape() []int64 {
	shape := make([]int64, len(v.at[0].Shape))
	for i, size := range v.at[0].Shape {
		shape[i] = int64(size)
		if size != v.at[1].Shape[i] {
			shape[i] = ir.Dynamic
		}
	}
	return shape
}

// Type returns the type of the elements.
func (v Value) Type() dtype.DType { return v.at[0].Type }

func (v Value) isAbsent() bool { return v.node == "" && v.parameter == "" }

func (v Value) tensor(name string) ir.Tensor {
	return ir.Tensor{Name: name, Shape: v.Shape(), DType: v.Type()}
}

// New returns a Builder of a model without nodes.
func New(t T) *Builder {
	return &Builder{t: t, inputs: map[string][]Value{}, model: ir.Model{
		Metadata: ir.Metadata{Name: "test", Version: "1", ModelType: "test", Family: ir.FamilyCustom},
		Architecture: ir.Architecture{Name: "test", Dimensions: ir.Dimensions{
			VocabSize: 16, HiddenSize: 8, NumLayers: 1, NumHeads: 2, MaxSequenceLength: 64,
		}},
	}}
}

// Input adds an input. A dimension is a name, such as "batch", or a number.
func (b *Builder) Input(id string, t dtype.DType, dims ...any) Value {
	b.t.Helper()
	v := Value{node: id}
	names := make([]string, len(dims))
	for choice := range v.at {
		v.at[choice].Type = t
		for i, dim := range dims {
			size, isNumber := dim.(int)
			length := uint64(size)
			if !isNumber {
				names[i] = dim.(string)
				length = lengths[choice][names[i]]
			}
			v.at[choice].Shape = append(v.at[choice].Shape, length)
		}
	}
	text, _ := json.Marshal(names)
	b.model.Layers = append(b.model.Layers, ir.Layer{
		Name: id, Type: ir.InputType, Inputs: []ir.Tensor{}, Outputs: []ir.Tensor{v.tensor("output")}, Parameters: []string{},
	})
	b.model.Graph.Nodes = append(b.model.Graph.Nodes, ir.Node{
		ID: id, LayerName: id, Metadata: map[string]json.RawMessage{ir.MetadataDims: text},
	})
	b.model.Graph.Inputs = append(b.model.Graph.Inputs, id)
	v.outputs = []Value{v}
	return v
}

// Parameter adds a parameter of type F32 whose elements the weights have.
func (b *Builder) Parameter(name string, shape ...int64) Value {
	return b.Add(ir.Parameter{Name: name, Shape: shape, Source: "weights." + name, Trainable: true, Initialization: ir.Initialization{Strategy: ir.StrategyZeros}})
}

// Constant adds a constant with one dimension.
func (b *Builder) Constant(name string, values ...int64) Value {
	return b.Add(ir.Parameter{
		Name: name, Shape: []int64{int64(len(values))}, DType: dtype.I64, Value: values, Initialization: ir.Initialization{Strategy: ir.StrategyZeros},
	})
}

// Add adds a parameter.
func (b *Builder) Add(p ir.Parameter) Value {
	v := Value{parameter: p.Name}
	for choice := range v.at {
		v.at[choice] = operator.Value{Type: p.DType, Known: p.Value}
		for _, size := range p.Shape {
			v.at[choice].Shape = append(v.at[choice].Shape, uint64(size))
		}
	}
	b.model.Parameters = append(b.model.Parameters, p)
	return v
}

// Node adds a layer and a node that uses it, and returns its first output. config is a JSON object, or
// "". An id of "" is replaced by a new one.
func (b *Builder) Node(id, full, config string, inputs ...Value) Value {
	b.t.Helper()
	if id == "" {
		b.made++
		id = fmt.Sprintf("node_%d", b.made)
	}
	outputs := b.infer(full, config, inputs)
	layer := ir.Layer{Name: "layer of " + id, Type: full, Parameters: []string{}, Inputs: []ir.Tensor{}}
	if config != "" {
		if err := json.Unmarshal([]byte(config), &layer.Config); err != nil {
			b.t.Fatalf("%s: %v", id, err)
		}
	}
	for at, in := range inputs {
		tensor := in.tensor(fmt.Sprintf("in %d", at))
		switch {
		case in.isAbsent():
			tensor = ir.Tensor{Shape: []int64{}}
		case in.parameter != "":
			tensor.Name = in.parameter
			if !slices.Contains(layer.Parameters, in.parameter) {
				layer.Parameters = append(layer.Parameters, in.parameter)
			}
		}
		layer.Inputs = append(layer.Inputs, tensor)
	}
	for at, out := range outputs {
		layer.Outputs = append(layer.Outputs, out.tensor(fmt.Sprintf("out %d", at)))
	}
	b.model.Layers = append(b.model.Layers, layer)
	return b.use(id, layer, inputs, outputs)
}

// Again adds a node that uses the layer of another node. Its parameters are those of the layer; other are
// its other inputs.
func (b *Builder) Again(id string, of Value, other ...Value) Value {
	b.t.Helper()
	layer := b.layerOf(of.node)
	inputs := slices.Clone(b.inputs[of.node])
	for at, in := range inputs {
		if in.node != "" && len(other) > 0 {
			inputs[at], other = other[0], other[1:]
		}
	}
	text, _ := json.Marshal(layer.Config)
	return b.use(id, layer, inputs, b.infer(layer.Type, string(text), inputs))
}

func (b *Builder) layerOf(id string) ir.Layer {
	b.t.Helper()
	for _, node := range b.model.Graph.Nodes {
		for _, layer := range b.model.Layers {
			if node.ID == id && layer.Name == node.LayerName {
				return layer
			}
		}
	}
	b.t.Fatalf("no node %q", id)
	return ir.Layer{}
}

// use adds a node and its edges.
func (b *Builder) use(id string, layer ir.Layer, inputs, outputs []Value) Value {
	b.model.Graph.Nodes = append(b.model.Graph.Nodes, ir.Node{ID: id, LayerName: layer.Name})
	b.inputs[id] = inputs
	for at, in := range inputs {
		if in.node != "" {
			b.model.Graph.Edges = append(b.model.Graph.Edges, ir.Edge{
				Source: in.node, Target: id, SourceOutput: index(in.output), TargetInput: index(uint32(at)),
			})
		}
	}
	for at := range outputs {
		outputs[at].node, outputs[at].output = id, uint32(at)
	}
	first := outputs[0]
	for at := range outputs {
		outputs[at].outputs = outputs
	}
	first.outputs = outputs
	return first
}

// index returns how an edge writes a position: nil for 0.
func index(at uint32) *uint32 {
	if at == 0 {
		return nil
	}
	return &at
}

// infer returns the outputs that are not optional.
func (b *Builder) infer(full, config string, inputs []Value) []Value {
	b.t.Helper()
	domain, name := operator.SplitName(full)
	schema, err := operator.Find(domain, name, 0)
	if err != nil {
		b.t.Fatalf("%v", err)
	}
	op, err := schema.Prepare([]byte(strings.TrimPrefix(config, "null")))
	if err != nil {
		b.t.Fatalf("%v", err)
	}
	var outputs []Value
	for choice := range lengths {
		values := make([]operator.Value, len(inputs))
		for i, in := range inputs {
			values[i] = in.at[choice]
			values[i].IsAbsent = in.isAbsent()
		}
		inferred, err := op.Infer(values, nil)
		if err != nil {
			b.t.Fatalf("%v", err)
		}
		for at, out := range inferred.Outputs {
			if out.IsAbsent {
				break
			}
			if choice == 0 {
				outputs = append(outputs, Value{})
			}
			outputs[at].at[choice] = out
		}
	}
	return outputs
}

// Output makes values outputs of the model.
func (b *Builder) Output(values ...Value) {
	for _, v := range values {
		b.model.Graph.Outputs = append(b.model.Graph.Outputs, v.node)
	}
}

// Model returns the model.
func (b *Builder) Model() *ir.Model {
	m := b.model
	if m.Graph.Edges == nil {
		m.Graph.Edges = []ir.Edge{}
	}
	if m.Parameters == nil {
		m.Parameters = []ir.Parameter{}
	}
	return &m
}
