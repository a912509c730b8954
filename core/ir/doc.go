// Package ir is the intermediate representation of a model: metadata, dimensions, parameters, layers,
// and the graph that connects the layers.
//
// A layer is an operator of package operator with its attributes. A node is one use of a layer. An edge
// connects an output of a node to an input of another node. So the graph means the same as a graph of
// ONNX operators, and other programs can check it.
//
// The package has the description only: it reads no file, owns no memory of a device and computes no
// elements.
//
// Lock order: the package has no locks. A Model may be read by any number of threads; the caller
// orders changes.
//
// # Files in reading order
//
// model.go, initialization.go.
package ir
