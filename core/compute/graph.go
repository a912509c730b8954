package compute

import (
	"ferrum_mem/core/device"
	"ferrum_mem/core/dtype"
)

// GraphEngine is an engine that runs whole graphs, as a runtime with an interface of its own does. All
// methods but Close may be called by any number of threads at the same time.
type GraphEngine interface {
	// Capabilities states what the engine computes. Operations and Types are empty: an engine of graphs has
	// no list, and OpenGraph tells.
	Capabilities() Capabilities
	// OpenGraph prepares a graph. Errors: CodeUnsupported for an operator or a type that the engine lacks;
	// those of the runtime and of the memory. After an error nothing is left.
	OpenGraph(g Graph) (Session, error)
	// Close ends the engine. The caller has closed its sessions.
	Close()
}

// Memory gives a session its memory. All methods may be called by any thread.
type Memory interface {
	// Alloc returns memory of at least that size, at a multiple of 64. Errors: those of the pool.
	Alloc(sizeBytes uint64) (device.Addr, error)
	// Free frees memory that Alloc has returned.
	Free(addr device.Addr)
}

// Graph is a graph that a runtime can run.
type Graph struct {
	// Name is that of the model, for errors.
	Name string
	// ONNX is the model as ModelProto. Constants states its larger initialisers, which have no elements
	// there: their elements would be in the file External.
	ONNX      []byte
	External  string
	Constants []Constant
	// Functions are the operators of the graph that the caller computes.
	Functions []Function
	// Memory gives the session all other memory.
	Memory Memory
	// Device is the open device with the constants and the memory, and Stream the stream on which an engine of
	// such a device queues its work; nil: the session opens one, and closes it. Memory that is freed during a run
	// may still be used by work of the stream.
	Device device.Device
	Stream device.Stream
}

// Function is an operator of a graph that the caller computes. A session calls its functions in the thread of
// Run, and not while it is opened.
type Function struct {
	// Domain and Name are those of the operator in the graph. One node has it.
	Domain, Name string
	// Inputs and Outputs are the operands of the node.
	Inputs, Outputs []FunctionOperand
	// Plan states how to compute inputs of some shapes, in the order of Inputs; that of an absent input is nil.
	// A session keeps some plans. Any number of threads may call Plan.
	Plan func(shapes [][]int64) (FunctionPlan, error)
}

// FunctionOperand is an input or an output of a Function.
type FunctionOperand struct {
	Type dtype.DType
	// IsAbsent states that the node does not have the operand. Its type has no meaning then.
	IsAbsent bool
}

// FunctionPlan computes inputs of some shapes.
type FunctionPlan struct {
	// Shapes are those of the outputs; that of an absent one has no meaning.
	Shapes [][]int64
	// WorkspaceBytes is the memory that Run needs besides its operands.
	WorkspaceBytes uint64
	// Run computes the outputs, as Plan.Run does. The operands are contiguous. After an error the run of the
	// session fails with it. Any number of threads may call Run.
	Run func(inputs, outputs []device.Addr, workspace device.Addr) error
}

// Constant is an initialiser whose elements are in memory, in the order of its shape. The memory belongs to
// the caller, and stays until the session is closed. While no run is in progress, its pages may be
// elsewhere.
type Constant struct {
	Name  string
	Type  dtype.DType
	Shape []int64
	Addr  device.Addr
}

// GraphValue is an input or an output of a session.
type GraphValue struct {
	Name string
	Type dtype.DType
	// Shape has -1 for a length that is not fixed. Dims has the names of such dimensions; "": it has none.
	Shape []int64
	Dims  []string
}

// Bound is a tensor of a run, contiguous and in the memory of the device.
type Bound struct {
	Name  string
	Type  dtype.DType
	Shape []int64
	Addr  device.Addr
}

// Session runs a graph. Any number of threads may call Run at the same time.
type Session interface {
	// Inputs and Outputs describe the graph, in its order.
	Inputs() []GraphValue
	Outputs() []GraphValue
	// Run computes outputs from inputs, and returns when they are complete. An output with the address 0 is
	// made in the memory of the session: Run sets its type, its shape and its address, which are valid until
	// done is called. done is never nil. Errors: those of the runtime and of the memory. After an error the
	// outputs that were given have undefined elements.
	Run(inputs, outputs []Bound) (done func(), err error)
	// Close ends the session and frees its memory.
	Close()
}
