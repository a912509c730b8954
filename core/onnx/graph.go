package onnx

import (
	"strconv"

	"ferrum_mem/core/dtype"
	"ferrum_mem/core/internal/protobuf"
	"ferrum_mem/core/ir"
	"ferrum_mem/core/operator"
	"ferrum_mem/core/weights"
)

// Graph is a model without the elements of its larger tensors, for a runtime that gets them by name from
// memory.
type Graph struct {
	// Bytes is the model, a ModelProto. The tensors of Initializers have type and shape there, and state
	// that their elements are in the file ExternalName, which does not exist.
	Bytes []byte
	// Initializers has the tensors without elements, in the order of the model.
	Initializers []Initializer
	// Functions has the nodes of other domains than those of the library. Each has an operator of its own there.
	Functions []Function
	// Inputs and Outputs are those of the graph, in their order.
	Inputs, Outputs []Value
}

// Function is a node of a graph for a runtime whose operator the caller computes.
type Function struct {
	// Domain and Name are those of the operator in the graph, where no other node has it.
	Domain, Name string
	// Node is the position of the node in the resolved definition.
	Node int
}

// ExternalName is the name of the file in which tensors without elements would be.
const ExternalName = "elements"

// InlineBytes is the size up to which tensors of a file keep their elements in Graph.Bytes. Runtimes read
// shapes, axes and scalars while they prepare a model.
const InlineBytes = 1024

// Initializer is a tensor without elements.
type Initializer struct {
	Name string
	Type dtype.DType
	// Shape and SizeBytes are those of the tensor in the model: after the transformations of Spec.
	Shape     []uint64
	SizeBytes uint64
	// Spec loads the elements from the weights: those of the file, or those of the definition. Its Tensor
	// is "" if the weights do not have them, and the rule of Parameter makes them.
	Spec weights.Spec
	// Parameter is the parameter of the definition; nil: the graph is that of a file.
	Parameter *ir.Parameter
	// IsTransposed states that the tensor is the matrix of Parameter with its dimensions exchanged. Spec
	// has that transformation.
	IsTransposed bool
}

// document is a model that is ready to be written, but for the places of the elements.
type document struct {
	// head are the fields of the model before the graph, start and end the fields of the graph before and
	// after its initialisers.
	head, start, end []byte
	tensors          []tensor
	functions        []Function
	inputs, outputs  []Value
}

// tensor is an initialiser of a document. elements has its bytes; nil: it is an Initializer.
type tensor struct {
	Initializer
	elements []byte
}

// place states where the elements of a tensor are.
type place struct {
	// location is the name of a file; "": the elements follow in the model.
	location string
	offset   uint64
}

// piece is a part of a written model: bytes, followed by the elements of a tensor.
type piece struct {
	before []byte
	// tensor is the position in document.tensors, or -1.
	tensor int
}

// pieces returns the bytes of the model as parts between the elements that the model has inside.
func (d *document) pieces(where func(at int) place) []piece {
	var parts []piece
	size := uint64(len(d.start) + len(d.end))
	var before []byte
	for at := range d.tensors {
		t := &d.tensors[at]
		header := t.header()
		inside := uint64(0)
		switch p := where(at); {
		case t.elements != nil:
			header = protobuf.AppendText(header, tensorRawData, t.elements)
		case p.location == "":
			header = protobuf.AppendStart(header, tensorRawData, t.SizeBytes)
			inside = t.SizeBytes
		default:
			for _, e := range []Entry{
				{"location", p.location}, {"offset", strconv.FormatUint(p.offset, 10)}, {"length", strconv.FormatUint(t.SizeBytes, 10)},
			} {
				header = protobuf.AppendText(header, tensorExternal, e.encode())
			}
			header = protobuf.AppendNumber(header, tensorLocation, isExternal)
		}
		key := protobuf.AppendStart(nil, graphInitializer, uint64(len(header))+inside)
		before = append(append(before, key...), header...)
		size += uint64(len(key)+len(header)) + inside
		if inside > 0 {
			parts = append(parts, piece{before, at})
			before = nil
		}
	}
	parts = append(parts, piece{append(before, d.end...), -1})
	first := append(protobuf.AppendStart(append([]byte{}, d.head...), modelGraph, size), d.start...)
	parts[0].before = append(first, parts[0].before...)
	return parts
}

// header returns the fields of a tensor before its elements.
func (t *Initializer) header() []byte {
	var out []byte
	for _, length := range t.Shape {
		out = protobuf.AppendNumber(out, tensorDims, length)
	}
	out = protobuf.AppendNumber(out, tensorDataType, uint64(operator.ONNXNumber(t.Type)))
	return protobuf.AppendText(out, tensorName, t.Name)
}

func (e *Entry) encode() []byte {
	return protobuf.AppendText(protobuf.AppendText(nil, entryKey, e.Key), entryValue, e.Value)
}

// graph returns the model without the elements of its initialisers.
func (d *document) graph() *Graph {
	g := &Graph{Functions: d.functions, Inputs: d.inputs, Outputs: d.outputs}
	for i := range d.tensors {
		if d.tensors[i].elements == nil {
			g.Initializers = append(g.Initializers, d.tensors[i].Initializer)
		}
	}
	g.Bytes = d.pieces(func(int) place { return place{location: ExternalName} })[0].before
	return g
}
