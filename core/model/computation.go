package model

import (
	"context"

	"ferrum_mem/core/device"
	"ferrum_mem/core/ir"
	"ferrum_mem/core/tensor"
	"ferrum_mem/core/weights"
)

// computation is how a model computes: in steps of an engine of operations, or with a session of an engine
// of graphs. A build calls compile, bind, choose, register and fill in this order, and compile and bind
// again after the passes. Then the caller of each method has the turn of the model.
type computation interface {
	// compile finds the inputs, the outputs and the operations of the definition.
	compile(resolved *ir.Resolved) error
	// bind finds the tensors of the parameters.
	bind(source *weights.Source) error
	// choose chooses the form of each parameter in memory.
	choose(s *Settings) error
	// register registers the model in the pool.
	register(s *Settings) error
	// fill places the parameters in memory.
	fill(ctx context.Context, s *Settings, tell func(done, total uint64)) error

	// plan describes the memory of the activations for lengths of the dimensions.
	plan(ctx context.Context, dims map[string]uint64) (*MemoryPlan, error)
	// run computes outputs from inputs whose names and shapes are checked.
	run(ctx context.Context, dims map[string]uint64, inputs, outputs map[string]*tensor.Tensor, stream device.Stream) error
	// trial runs the model with defaults and zeros, and frees the memory of that run. It returns an issue for
	// an output that is not finite.
	trial(ctx context.Context, dims map[string]uint64) (*ir.Issue, error)
	// rehearse runs the model with defaults and zeros, and copies no output.
	rehearse(ctx context.Context, dims map[string]uint64) error
	// needsArena states that something in the arena is needed after a run.
	needsArena() bool
	// parameterBytes returns the number of elements of the parameters in memory, and their size.
	sizes() parameterSizes
	// close frees everything but the zones. After an error it can be called again.
	close() error
}

// parameterSizes are the sizes of the parameters in memory.
type parameterSizes struct{ elements, bytes, packed uint64 }
