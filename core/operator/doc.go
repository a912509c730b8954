// Package operator is the vocabulary of operations on tensors: names, attributes, inputs, outputs,
// data types, and the rules for shapes.
//
// The operators of the domain ONNX ("", also "ai.onnx") are those of the ONNX standard, restricted
// to the data types of core/dtype. The domain Ferrum ("ferrum") has operators that ONNX lacks.
//
// A program may have operators in domains of its own: a Custom infers their outputs, and a Vocabulary finds
// them.
//
// Find returns the Schema of an operator at an opset. Prepare reads its attributes from JSON.
// Infer computes the data types and shapes of the outputs, and the Layout: attributes and inputs
// that control the operation, with defaults and negative numbers resolved. So an engine
// does not interpret them again. Origins states which part of the inputs a part of the outputs needs.
//
// The package computes no elements. It never allocates memory in proportion to a shape. Package
// reference computes the elements.
//
// Lock order: the package has no locks and keeps nothing. A Schema and an Operator do not change;
// any number of threads may use them.
//
// # Files in reading order
//
// types.go, value.go, names.go, schema.go, prepare.go, call.go, axes.go, shapes.go, origins.go, arithmetic.go,
// movement.go, slicing.go, reduction.go, order.go, product.go, normalisation.go, rotary.go, attention.go, paged.go,
// fused.go, registry.go, custom.go, infer.go.
package operator
