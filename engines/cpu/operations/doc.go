// Package operations computes the operators of core/operator on the CPU engine: it is the
// compute.Engine of the processors of this machine.
//
// Plan lowers an operator to requests of engines/cpu, whose addresses are places of the operands and
// of the workspace. Where a kernel does not take the strides of an operand, the plan copies the
// operand into the workspace first, or a result out of it at the end. A plan is one program of
// engines/cpu, so it runs in one call of C; Bind joins any number of plans to one program.
//
// The package knows shapes and strides, and no elements: all arithmetic is in the kernels.
//
// Pack names the layout of a packed matrix by the instruction set and by the dimension that the
// product sums over, because no other product can read it.
//
// It owns the engine that New starts. Nothing is kept for a plan outside of it.
//
// Lock order: the package has no locks.
//
// # Files in reading order
//
// engine.go, plan.go, operand.go, elementwise.go, movement.go, reduction.go, normalisation.go,
// product.go, packing.go, rotary.go, attention.go.
package operations
