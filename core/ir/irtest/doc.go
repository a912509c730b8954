// Package irtest makes models for tests and runs them in float64 with the reference operators.
//
// A Builder makes a model node by node. Draw makes a random one. Run computes the outputs of a model: two
// models that should mean the same are compared by their outputs.
//
// Lock order: the package has no locks.
//
// # Files in reading order
//
// builder.go, draw.go, run.go, elements.go, compare.go.
package irtest
