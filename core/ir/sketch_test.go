package ir

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"ferrum_mem/core/dtype"
)

// sketch writes models for tests.
type sketch struct{ Model }

func newSketch() *sketch {
	return &sketch{Model{
		Metadata: Metadata{Name: "sketch", Version: "1", ModelType: "sketch", Family: FamilyTransformer},
		Architecture: Architecture{
			Name:       "sketch",
			Dimensions: Dimensions{VocabSize: 16, HiddenSize: 8, NumLayers: 1, NumHeads: 2, MaxSequenceLength: 32},
		},
	}}
}

// tensorOf reads a tensor, such as "f32[?, 4]", where ? is dynamic.
func tensorOf(name, text string) Tensor {
	kind, lengths, _ := strings.Cut(strings.TrimSuffix(text, "]"), "[")
	t, err := dtype.Named(kind)
	if err != nil {
		panic(err)
	}
	made := Tensor{Name: name, DType: t, Shape: []int64{}}
	for _, length := range strings.FieldsFunc(lengths, func(r rune) bool { return r == ',' || r == ' ' }) {
		n, err := strconv.ParseInt(length, 10, 64)
		if err != nil {
			n = Dynamic
		}
		made.Shape = append(made.Shape, n)
	}
	return made
}

func rawOf(value any) json.RawMessage {
	text, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	return text
}

// input adds an input with the names of its dimensions.
func (s *sketch) input(id, text string, dims ...string) {
	s.Layers = append(s.Layers, Layer{Name: id, Type: InputType, Inputs: []Tensor{}, Outputs: []Tensor{tensorOf(id, text)}, Parameters: []string{}})
	s.Graph.Nodes = append(s.Graph.Nodes, Node{ID: id, LayerName: id, Metadata: map[string]json.RawMessage{MetadataDims: rawOf(dims)}})
	s.Graph.Inputs = append(s.Graph.Inputs, id)
}

// parameter adds a parameter whose elements the weights have.
func (s *sketch) parameter(name, text string) {
	t := tensorOf(name, text)
	s.Parameters = append(s.Parameters, Parameter{Name: name, Shape: t.Shape, DType: t.DType, Source: "weights." + name, Trainable: true})
}

func (s *sketch) constant(name string, values ...int64) {
	s.Parameters = append(s.Parameters, Parameter{Name: name, Shape: []int64{int64(len(values))}, DType: dtype.I64, Value: values})
}

// node adds a layer and a node with the same name. An input is a parameter, the id of a node, the id with
// a colon and the position of an output, or "" for an absent one. outputs has tensors with | between.
func (s *sketch) node(id, operator, config, outputs string, inputs ...string) {
	l := Layer{Name: id, Type: operator, Inputs: []Tensor{}, Outputs: []Tensor{}, Parameters: []string{}}
	if config != "" {
		if err := json.Unmarshal([]byte(config), &l.Config); err != nil {
			panic(err)
		}
	}
	for i, text := range strings.Split(outputs, "|") {
		if text == "" {
			l.Outputs = append(l.Outputs, Tensor{Shape: []int64{}})
			continue
		}
		l.Outputs = append(l.Outputs, tensorOf(fmt.Sprintf("out%d", i), text))
	}
	for i, in := range inputs {
		if in == "" {
			l.Inputs = append(l.Inputs, Tensor{Shape: []int64{}})
			continue
		}
		if at := slices.IndexFunc(s.Parameters, func(p Parameter) bool { return p.Name == in }); at >= 0 {
			p := s.Parameters[at]
			l.Inputs = append(l.Inputs, Tensor{Name: p.Name, Shape: slices.Clone(p.Shape), DType: p.DType})
			l.Parameters = append(l.Parameters, p.Name)
			continue
		}
		source, output := sourceOf(in)
		from := s.layerOfNode(source).Outputs[output]
		l.Inputs = append(l.Inputs, Tensor{Name: fmt.Sprintf("in%d", i), Shape: slices.Clone(from.Shape), DType: from.DType})
		s.Graph.Edges = append(s.Graph.Edges, edgeOf(source, output, id, i))
	}
	s.Layers = append(s.Layers, l)
	s.Graph.Nodes = append(s.Graph.Nodes, Node{ID: id, LayerName: id})
}

// sourceOf splits "id:1" into the id and the position of an output.
func sourceOf(in string) (id string, output int) {
	id, position, _ := strings.Cut(in, ":")
	output, _ = strconv.Atoi(position)
	return id, output
}

func edgeOf(source string, output int, target string, input int) Edge {
	e := Edge{Source: source, Target: target}
	if output > 0 {
		at := uint32(output)
		e.SourceOutput = &at
	}
	if input > 0 {
		at := uint32(input)
		e.TargetInput = &at
	}
	return e
}

func (s *sketch) layerOfNode(id string) *Layer {
	at := slices.IndexFunc(s.Graph.Nodes, func(n Node) bool { return n.ID == id })
	return &s.Layers[slices.IndexFunc(s.Layers, func(l Layer) bool { return l.Name == s.Graph.Nodes[at].LayerName })]
}

// small is a valid model with several outputs, a constant, an absent input and a node with two outputs.
func small() *Model {
	s := newSketch()
	s.input("ids", "i64[?, ?]", "batch", "sequence")
	s.parameter("table", "f32[16, 8]")
	s.parameter("weight", "f32[8, 8]")
	s.parameter("bias", "f32[8]")
	s.parameter("scale", "f32[8]")
	s.constant("sizes", 4, 4)
	s.constant("rows", 0, -1)
	s.node("embedded", "Gather", "", "f32[?, ?, 8]", "table", "ids")
	s.node("hidden", "ferrum.linear", "", "f32[?, ?, 8]", "embedded", "weight", "bias")
	s.node("sum", "Add", "", "f32[?, ?, 8]", "hidden", "embedded")
	s.node("norm", "LayerNormalization", `{"axis": -1}`, "f32[?, ?, 8]", "sum", "scale", "")
	s.node("halves", "Split", `{"axis": -1}`, "f32[?, ?, 4]|f32[?, ?, 4]", "norm", "sizes")
	s.node("turned", "Transpose", `{"perm": [0,2,1]}`, "f32[?, 4, ?]", "halves:1")
	s.node("product", "MatMul", "", "f32[?, ?, ?]", "halves", "turned")
	s.node("scores", "Softmax", "", "f32[?, ?, ?]", "product")
	s.node("flat", "Reshape", "", "f32[?, ?]", "norm", "rows")
	s.Graph.Outputs = []string{"scores", "flat"}
	return &s.Model
}

// chain is a model of n nodes, each the input of the next.
func chain(n int) *Model {
	s := newSketch()
	s.input("x", "f32[?, 8]", "batch")
	s.Graph.Nodes[0].Metadata = nil
	from := "x"
	for i := range n {
		id := "node_" + strconv.Itoa(i)
		s.Layers = append(s.Layers, Layer{
			Name: id, Type: "Relu", Inputs: []Tensor{tensorOf("in", "f32[?, 8]")}, Outputs: []Tensor{tensorOf("out", "f32[?, 8]")}, Parameters: []string{},
		})
		s.Graph.Nodes = append(s.Graph.Nodes, Node{ID: id, LayerName: id})
		s.Graph.Edges = append(s.Graph.Edges, edgeOf(from, 0, id, 0))
		from = id
	}
	s.Graph.Outputs = []string{from}
	return &s.Model
}
