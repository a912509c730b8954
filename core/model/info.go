package model

import (
	"ferrum_mem/core/dtype"
	"ferrum_mem/core/ir"
)

// State is what a model does.
type State string

// The states of a model.
const (
	StateAwake  State = "awake"
	StateAsleep State = "asleep"
	StateClosed State = "closed"
)

// Info describes a built model.
type Info struct {
	ID     string    `json:"id"`
	Name   string    `json:"name"`
	Type   string    `json:"model_type"`
	Family ir.Family `json:"architecture_family"`
	Device string    `json:"device"`
	// Backend is the name of what computes.
	Backend string `json:"backend"`
	State   State  `json:"state"`
	// Parameters counts the elements of the parameters in memory, each once.
	Parameters uint64 `json:"parameters"`
	// ParameterBytes is the size of the parameters in memory, and PackedBytes the part of it that is
	// packed.
	ParameterBytes uint64 `json:"parameter_bytes"`
	PackedBytes    uint64 `json:"packed_bytes"`
	// ArenaBytes is the size of the arena, which grows with the shapes of runs.
	ArenaBytes uint64 `json:"arena_bytes"`
	// HeldBytes is the memory of the device that the model has now: whole pages.
	HeldBytes uint64 `json:"held_bytes"`
	// SavedBytes are in other memory or a file while the model sleeps.
	SavedBytes  uint64           `json:"saved_bytes"`
	Dimensions  ir.Dimensions    `json:"dimensions"`
	Inputs      []DescribedInput `json:"inputs"`
	Outputs     []string         `json:"outputs"`
	Shapes      int              `json:"shapes"`
	MaxShapes   int              `json:"max_shapes"`
	Counters    Counters         `json:"counters"`
	Description string           `json:"description,omitempty"`
}

// DescribedInput describes an input of a model.
type DescribedInput struct {
	Name string      `json:"name"`
	Type dtype.DType `json:"dtype"`
	// Shape has ir.Dynamic for the dimensions that have a name.
	Shape []int64 `json:"shape"`
	// Dims names the dynamic dimensions; "" for a fixed one.
	Dims []string `json:"dims"`
	// Default is the rule for an input that is not given; "": it is required.
	Default ir.Default `json:"default,omitempty"`
}

// Info returns the state of the model. It does not wait for the call that uses the model.
func (x *Executor) Info() Info {
	x.mu.Lock()
	isClosed, counters, arenaBytes, shapes := x.isClosed, x.counters, x.arenaBytes, x.shapesNow
	x.mu.Unlock()
	sleeps := x.IsAsleep()
	about := &x.definition.Metadata
	made := Info{
		ID: x.id, Name: about.Name, Type: about.ModelType, Family: about.Family, Device: x.backend.Device().ID().String(), Backend: x.backend.Name(),
		State: StateAwake, Dimensions: x.definition.Architecture.Dimensions, Inputs: []DescribedInput{}, Outputs: []string{},
		Shapes: shapes, MaxShapes: x.mostShapes, Counters: counters,
	}
	if about.Description != nil {
		made.Description = *about.Description
	}
	switch {
	case isClosed:
		made.State = StateClosed
	case sleeps:
		made.State = StateAsleep
	}
	for i := range x.program.inputs {
		in := &x.program.inputs[i]
		made.Inputs = append(made.Inputs, DescribedInput{Name: in.name, Type: in.kind, Shape: in.shape, Dims: in.dims, Default: in.rule})
	}
	for _, out := range x.program.outputs {
		made.Outputs = append(made.Outputs, out.name)
	}
	if isClosed {
		return made
	}
	sizes := x.computation.sizes()
	made.Parameters, made.ParameterBytes, made.PackedBytes = sizes.elements, sizes.bytes, sizes.packed
	stats := x.model.Stats()
	made.ArenaBytes, made.HeldBytes = arenaBytes, stats.PhysicalBytes
	made.SavedBytes = stats.AsleepHostBytes + stats.AsleepFileBytes
	return made
}
