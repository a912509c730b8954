// Package compute is the interface between the operations of tensors and the engines that compute
// them. An engine is to operations what a driver is to memory.
//
// An Engine plans a Request once: an operator with its attributes, and the types, shapes and strides
// of its inputs and outputs. The Plan then runs any number of times, with other addresses. An engine
// checks no shapes, because package operator has inferred and checked them. It returns
// CodeUnsupported for what it does not compute, before anything runs.
//
// Lock order: the package has no locks.
//
// # Files in reading order
//
// compute.go, graph.go.
package compute
