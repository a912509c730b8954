// Package model builds models and runs them: from a definition (package ir), a source of weights and an
// open backend to an executor whose memory is planned.
//
//	var b model.Builder
//	x, err := b.Build(ctx, model.Request{ID: "minilm", Path: folder, Backend: opened, Pool: elastic, Options: model.DefaultOptions()})
//	...
//	defer x.Close(true)
//	outputs := map[string]*tensor.Tensor{"last_hidden_state": nil}
//	err = x.Run(ctx, map[string]*tensor.Tensor{"input_ids": ids}, outputs, model.RunOptions{})
//
// A Builder reads the files of a model, validates the definition, runs passes over it and places the
// parameters. New does the last step alone, for a definition that is ready.
//
// Memory. A model is one model of an elastic pool. Its parameters are one segment with the tag
// ParametersTag: each matrix in the layout that the backend reads fastest, in place of the original, and
// tensors with the same elements once. Its activations are one arena with the tag ArenaTag, for all shapes:
// it grows to the largest. For each shape the package infers the types, shapes and lifetimes of all values,
// lets outputs take the memory of inputs where the engine computes in place, makes views of reshapes,
// splits and slices, and gives each buffer an offset with package plan. Workspaces of operations are
// buffers too. Steps whose values are large run in a loop, tile by tile, where the engine gives the same bits.
// A run with a shape that is planned allocates no memory of the device. A model that sleeps keeps its
// addresses and so its plans.
//
// An engine of graphs (compute.GraphEngine) runs a model with a session of its own instead. The parameters
// are placed as the definition states, and the session reads them there. What it allocates while it is
// opened stays with the tag of the parameters, and what it allocates in a run is in the arena. It has no
// plan before a run. Everything else, such as names, dimensions, sleep and wake, is the same.
//
// The package computes no elements of activations, reads no file itself, and opens no device.
//
// Ownership: an Executor belongs to its caller, who closes it. Backend, pool and weights belong to the
// caller.
//
// Lock order: Executor.turn is held by the one call that
// uses a model, and comes before Executor.mu, the locks of the backend and those of the pool.
// filling.telling and then reporter.telling are held while progress is told, and nothing else is.
// Executor.mu comes before the locks of the pool too, speed.mu is a leaf. sessionMemory.mu comes after the
// turn and before the locks of the pool: threads of a runtime take it alone.
//
// # Files in reading order
//
// failure.go, space.go, random.go, initialise.go, parameter.go, program.go, activations.go, views.go,
// flow.go, loop.go, assembly.go, sharing.go, tiles.go, memory_plan.go, layer_elements.go, fill.go, shape.go,
// progress.go, build_time.go, computation.go, finite.go, executor.go, run.go, steps.go, session_memory.go, sessions.go,
// session_functions.go, session_run.go, sleep.go, info.go, construct.go, options.go, pass_times.go, builder.go,
// session_build.go, builder_info.go, onnx.go.
package model
