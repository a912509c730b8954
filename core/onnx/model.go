package onnx

import (
	"math"

	"ferrum_mem/core/dtype"
	"ferrum_mem/core/internal/protobuf"
	"ferrum_mem/core/ir"
	"ferrum_mem/core/operator"
	"ferrum_mem/core/weights"
)

// Opset is a version of the operators of a domain. The domain "" is that of ONNX.
type Opset struct {
	Domain  string
	Version int64
}

// Entry is a text of the metadata of a model.
type Entry struct{ Key, Value string }

// Dim is a dimension of a value: a length, or ir.Dynamic with the name that the model gives it, which may be
// "".
type Dim struct {
	Length int64
	Name   string
}

// Value is the type and shape of an input, an output or another value of a graph.
type Value struct {
	Name string
	Type dtype.DType
	// Shape has no meaning if the model does not state it.
	Shape    []Dim
	HasShape bool
}

// Attribute is an attribute of a node. The field that its kind names is set.
type Attribute struct {
	Name   string
	Kind   Kind
	Int    int64
	Float  float32
	Text   string
	Ints   []int64
	Floats []float32
	Texts  []string
	// at and size are the place of a tensor in the file.
	at, size uint64
}

// Node is a use of an operator. An input or an output with the name "" is absent.
type Node struct {
	Name, Domain, Type string
	Inputs, Outputs    []string
	Attributes         []Attribute
}

// attribute returns an attribute of a node by its name; nil: the node does not have it.
func (n *Node) attribute(name string) *Attribute {
	for i := range n.Attributes {
		if n.Attributes[i].Name == name {
			return &n.Attributes[i]
		}
	}
	return nil
}

// fullName returns the operator of the node with its domain.
func (n *Node) fullName() string { return operator.FullName(n.Domain, n.Type) }

func (n *Node) encode() []byte {
	var out []byte
	for _, name := range n.Inputs {
		out = protobuf.AppendText(out, nodeInput, name)
	}
	for _, name := range n.Outputs {
		out = protobuf.AppendText(out, nodeOutput, name)
	}
	out = protobuf.AppendText(out, nodeName, n.Name)
	out = protobuf.AppendText(out, nodeType, n.Type)
	for i := range n.Attributes {
		out = protobuf.AppendText(out, nodeAttribute, n.Attributes[i].encode())
	}
	if n.Domain != "" {
		out = protobuf.AppendText(out, nodeDomain, n.Domain)
	}
	return out
}

func (a *Attribute) encode() []byte {
	out := protobuf.AppendText(nil, attributeName, a.Name)
	switch a.Kind {
	case Float:
		out = protobuf.AppendFixed32(out, attributeFloat, math.Float32bits(a.Float))
	case Int:
		out = protobuf.AppendNumber(out, attributeInt, uint64(a.Int))
	case Text:
		out = protobuf.AppendText(out, attributeText, a.Text)
	case Floats:
		for _, number := range a.Floats {
			out = protobuf.AppendFixed32(out, attributeFloats, math.Float32bits(number))
		}
	case Ints:
		for _, number := range a.Ints {
			out = protobuf.AppendNumber(out, attributeInts, uint64(number))
		}
	case Texts:
		for _, text := range a.Texts {
			out = protobuf.AppendText(out, attributeTexts, text)
		}
	}
	return protobuf.AppendNumber(out, attributeType, uint64(a.Kind))
}

func (v *Value) encode() []byte {
	tensor := protobuf.AppendNumber(nil, tensorElement, uint64(operator.ONNXNumber(v.Type)))
	if v.HasShape {
		var shape []byte
		for _, d := range v.Shape {
			var dim []byte
			switch {
			case d.Length != ir.Dynamic:
				dim = protobuf.AppendNumber(nil, dimValue, uint64(d.Length))
			case d.Name != "":
				dim = protobuf.AppendText(nil, dimParam, d.Name)
			}
			shape = protobuf.AppendText(shape, shapeDim, dim)
		}
		tensor = protobuf.AppendText(tensor, tensorShape, shape)
	}
	out := protobuf.AppendText(nil, valueName, v.Name)
	return protobuf.AppendText(out, valueType, protobuf.AppendText(nil, typeTensor, tensor))
}

// File is a model whose file is open. It is read-only: any number of threads may use it until Close.
type File struct {
	// Source has the tensors: initialisers, and the elements of nodes of type Constant under the names of
	// their outputs.
	Source *weights.Source

	IRVersion    int64
	Producer     string
	ModelVersion int64
	Description  string
	Opsets       []Opset
	Metadata     []Entry

	// Name is the name of the graph.
	Name string
	// Nodes are in an order in which they can run. Nodes of type Constant that have a tensor in Source are
	// among them.
	Nodes []Node
	// Inputs has the inputs that a run must give: an initialiser is not among them.
	Inputs, Outputs []Value
	// Values has the types and shapes that the model states for other values.
	Values []Value

	// head and graph are the places of the fields that Graph copies, in their order.
	head, graph []part
	// tensors are the initialisers in their order, and the nodes of type Constant with a large tensor.
	tensors []stored
}

// part is a range of bytes of the file.
type part struct{ at, end uint64 }

// stored is a tensor of the graph with the place of its field.
type stored struct {
	name string
	part part
}

// Opset returns the version of the operators of a domain, or 0.
func (f *File) Opset(domain string) int64 {
	for _, o := range f.Opsets {
		if o.Domain == domain {
			return o.Version
		}
	}
	return 0
}
