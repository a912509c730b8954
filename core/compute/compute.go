package compute

import (
	"ferrum_mem/core/device"
	"ferrum_mem/core/dtype"
	"ferrum_mem/core/operator"
	"ferrum_mem/core/strided"
)

// Operand describes an input or an output of a request, without its elements.
type Operand struct {
	Type dtype.DType
	// Layout has the shape and the strides in elements. Its First is 0: the address of a run is that of
	// the element with the index 0 in each dimension. A packed operand has only a shape.
	Layout strided.Layout
	// Packing names the opaque layout of an input that Pack has written; "": the elements are at their
	// strides.
	Packing string
	// Known has the elements of an I64 or I32 input that carries a shape, axes or sizes.
	Known []int64
	// IsAbsent states that an optional input is not given, or that an output is not wanted. The other
	// fields are zero.
	IsAbsent bool
}

// Request is an operation on operands.
type Request struct {
	Operator *operator.Operator
	// Inferred is what the operator has inferred from the inputs.
	Inferred        *operator.Inferred
	Inputs, Outputs []Operand
}

// Plan computes one request. All methods may be called by any number of threads at the same time.
type Plan interface {
	// WorkspaceBytes is the size of the memory that a run needs besides its operands.
	WorkspaceBytes() uint64
	// Run computes the outputs, and returns when they are complete. Addresses are in the order of the
	// operands; that of an absent operand is 0. An output may be an input if InPlace allows it;
	// otherwise it overlaps no input. workspace has WorkspaceBytes bytes and is aligned to 64 bytes.
	// Errors: CodeInvalidArgument for an index out of range, with no output written.
	Run(inputs, outputs []device.Addr, workspace device.Addr) error
	// InPlace states whether an output may have the address of an input.
	InPlace(output, input int) bool
}

// Step is a Plan with the addresses of one run.
type Step struct {
	Plan            Plan
	Inputs, Outputs []device.Addr
	Workspace       device.Addr
}

// Packed describes an input of an operation in an opaque layout.
type Packed struct {
	// Packing names the layout.
	Packing   string
	SizeBytes uint64
	// Write packs elements into the memory at to, which is aligned to 64 bytes.
	Write func(from, to device.Addr) error
}

// Engine computes operations on one device. All methods but Close may be called by any number of
// threads at the same time.
type Engine interface {
	// Capabilities states what the engine computes.
	Capabilities() Capabilities
	// Plan chooses how to compute a request. Errors: CodeUnsupported for a combination of operator,
	// types and strides that the engine does not compute; the message names them.
	Plan(r Request) (Plan, error)
	// Bind joins steps that will run in this order any number of times. The result runs them all.
	Bind(steps []Step) (run func() error, err error)
	// Pack describes the opaque layout of an input that is a constant, such as a matrix of weights.
	// Errors: CodeUnsupported for an operator, input or type without one.
	Pack(o *operator.Operator, input int, from Operand) (Packed, error)
	// Close ends the engine. The caller makes sure that no other call is in progress.
	Close()
}

// Divider is an Engine that states which requests it can compute part by part.
type Divider interface {
	Engine
	// Divides states whether an operation can be computed part by part along one dimension of its outputs:
	// each element gets the bits that the plan whole gives it, and the parts take about as long as the whole.
	// part is the plan of one part.
	Divides(whole, part Plan) bool
}

// Options configure an engine. The zero value is valid.
type Options struct {
	// Device is the device on which the engine will compute. The zero value: it will only state its
	// capabilities.
	Device device.ID
	// Threads is the number of threads that compute; 0: as many as the process may use.
	Threads int
	// InstructionSet names the instruction set, such as "avx2"; "": the engine chooses.
	InstructionSet string
	// Level is how much an engine may prepare to be fast, from 0 to 3.
	Level int
	// Prepacking lets an engine of graphs keep matrices a second time, in the layout that it reads fastest.
	Prepacking bool
	// ReducedPrecision lets an engine multiply matrices of f32 with fewer bits of the mantissa where the device is
	// faster then.
	ReducedPrecision bool
}

// Capabilities are the properties of an engine.
type Capabilities struct {
	// Name and Version identify the engine, such as "cpu". Details has more, such as the instruction
	// set.
	Name, Version string
	Details       map[string]string
	// Types are the data types of at least one operation.
	Types []dtype.DType
	// DeviceBackends are the backends of the devices on which the engine computes; nil: all for which it can be
	// opened.
	DeviceBackends []string
	// Operations has for each operator, such as "MatMul" or "ferrum.linear", the types of its first
	// input.
	Operations map[string][]dtype.DType
	// HasTiledAttention states that Attention never makes the matrix of all scores.
	HasTiledAttention bool
	// Threads is the number of threads that compute.
	Threads int
	// AlignmentBytes is the alignment of memory that the engine reads fastest.
	AlignmentBytes uint64
}
