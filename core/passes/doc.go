// Package passes changes the definition of a model so that it runs faster or needs less memory, and
// computes the same.
//
// Run applies a list of passes, in an order that their dependencies allow, to a copy of a definition:
//
//	list, err := passes.Standard(2)
//	...
//	optimised, results, err := passes.Run(ctx, model, list, passes.Options{})
//
// A pass of this package works on a network: the definition with its nodes linked. It rewrites nodes;
// what is left without a use is removed, and what had no use before is left to remove_dead_code. It
// keeps the ids of the inputs and outputs of the model, never changes a parameter that something else
// reads, and never computes elements of weights. A parameter that joins others has them as its Parts.
//
// Numbers in a Result are measured: elements, nodes and bytes are counted before and after. A speed-up is
// 1 unless the caller of Run measures the times.
//
// A Registry finds passes by name, and has those of a program.
//
// Lock order: Registry.mu is a leaf. Any number of threads may use a pass; the caller orders changes of
// a model.
//
// # Files in reading order
//
// pass.go, order.go, measure.go, run.go, network.go, change.go, finish.go, samples.go, dead_code.go, constants.go,
// subexpressions.go, linear.go, residual.go, merge_qkv.go, standard.go, registry.go.
package passes
