// Package onnx reads and writes models of ONNX.
//
// Open reads a file and checks it. A File has the graph: nodes, attributes, inputs and outputs. The elements
// of its tensors stay in the file; package weights reads them by their names:
//
//	f, err := onnx.Open("model.onnx")
//	...
//	defer f.Close()
//	g, err := f.Graph()
//
// A Graph is for a runtime that gets the larger tensors from memory: the bytes of a model whose initialisers
// have no elements, and the list of these initialisers. FromDefinition makes one from a definition, and
// ForOperator one for a single operator.
//
// The package has no generated code: core/internal/protobuf reads and writes the encoding. It trusts no file:
// sizes, names, the order of the nodes and the places of elements are checked before anything is used, and
// every error is typed and names the file and the node or value.
//
// Lock order: the package has no locks. A File is read-only until Close; a Graph belongs to its caller.
//
// # Files in reading order
//
// numbers.go, model.go, graph.go, builder.go, attributes.go, expand.go, definition.go, write.go, expression.go,
// read.go, check.go, file.go, converter.go, evaluate.go, shapes.go, layers.go, lengths.go, rows.go, special.go,
// convert.go.
package onnx
