// Package backend computes operations on tensors, as programs see it: backends that are found by
// requirements and opened from settings, operations that are prepared once and run many times, and
// sequences of them.
//
// A Registry has the backends of a process. Each is an engine of this build, or a backend that the
// program has registered. Find chooses one by requirements, and states for each other one why not.
//
// A program may also have operators of its own, which compute on every backend: a sequence runs them between
// the operations that the engine joins.
//
// The package computes no elements: an engine of package compute does. It opens no device and
// imports no engine: both are given from above.
//
// A Backend is open on one device, and has a memory manager with a pool there. An Op infers the outputs
// of a run and plans it once for the shapes and strides of its tensors, and keeps the plans. A run uses
// its tensors until its end, so they may be closed or asked to sleep meanwhile. If all work of the
// stream is done, the run is in the calling thread, otherwise in a host function of the stream. A
// Sequence joins runs with fixed tensors.
//
// An engine of graphs (compute.GraphEngine) computes an operation as a graph of one operator. The sessions of
// such plans end before the memory of the backend does, and a run makes them again.
//
// Lock order: Backend.closeMu and Registry.probing are taken first, alone. Sequence.turn comes before
// Sequence.mu. memory.mu, Registry.mu, Op.mu, planCache.mu, graphOperations.mu, gate.mu and workspaces.mu come
// last: none is held while another of them is taken, except memory.mu before workspaces.mu, and gate.mu
// before the others in a Close, which closes the manager and the engine with it. graphPlan.mu is held while
// an engine of graphs opens or runs the graph of a plan, and comes before graphOperations.mu. Sequence.mu and memory.mu are held
// during calls of the pool, Sequence.mu also while an Add or the first Run waits for a stream, and
// Registry.probing while an engine opens. No other lock is held during calls of an engine, a driver or the
// program.
//
// # Files in reading order
//
// failure.go, type.go, options.go, config.go, lists.go, capabilities.go, requirements.go, custom.go,
// gate.go, memory.go, graph_operations.go, registry.go, find.go, backend.go, op.go, predict.go, plans.go,
// run.go, pack.go, sequence.go.
package backend
