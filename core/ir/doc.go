// Package ir is the intermediate representation of a model: metadata, dimensions, parameters, layers,
// and the graph that connects the layers.
//
// A layer is an operator of package operator with its attributes. A node is one use of a layer. An edge
// connects an output of a node to an input of another node. So the graph means the same as a graph of
// ONNX operators, and other programs can check it.
//
// Parse and JSON read and write the text of a definition. Validate lists what is wrong with it. Resolve
// replaces names by positions, and Infer computes the type and shape of each tensor for the lengths of
// a run. No function recurses as deep as its input: the time is O(n log n) for n nodes and edges.
//
// The package has the description only: it reads no file, owns no memory of a device and computes no
// elements.
//
// Lock order: the package has no locks. A Model, a Resolved and Shapes may be read by any number of
// threads; the caller orders changes.
//
// # Files in reading order
//
// initialization.go, model.go, clone.go, read.go, count.go, issue.go, parse.go, json.go, resolve_layer.go,
// resolve_ends.go, order.go, resolve.go, layer_parameters.go, lengths.go, infer.go, validate_parameters.go, validate.go, text.go, dot.go.
package ir
