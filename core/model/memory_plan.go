package model

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"ferrum_mem/core/device"
	"ferrum_mem/core/plan"
)

// MemoryPlan is the memory of the activations of a model for one shape. Times count steps: inputs are
// written at 0, step i runs at i + 1, and outputs are read after the last step.
type MemoryPlan struct {
	// Dimensions are the lengths of the dynamic dimensions, such as "batch" and "sequence".
	Dimensions map[string]uint64 `json:"dimensions"`
	// ArenaBytes is the size of the arena. No arena is smaller than LowerBoundBytes. SumBytes is what the
	// buffers would take without sharing memory.
	ArenaBytes      uint64 `json:"arena_bytes"`
	LowerBoundBytes uint64 `json:"lower_bound_bytes"`
	SumBytes        uint64 `json:"sum_bytes"`
	// ParameterBytes is the memory of the parameters, which all shapes share.
	ParameterBytes uint64 `json:"parameter_bytes"`
	// Steps are the operations in the order in which they run.
	Steps   []PlannedStep   `json:"steps"`
	Buffers []PlannedBuffer `json:"buffers"`
	// Loops are the steps that run tile by tile, in their order.
	Loops []PlannedLoop `json:"loops"`
}

// PlannedStep is an operation of a plan.
type PlannedStep struct {
	// Node is the id of the node, and Operation the name of its operator.
	Node      string `json:"node"`
	Operation string `json:"operation"`
	// WorkspaceBytes is the part of the arena that only this step uses.
	WorkspaceBytes uint64 `json:"workspace_bytes"`
	// Tiles is how often the step runs: once for each tile of its loop, or once.
	Tiles int64 `json:"tiles"`
}

// PlannedLoop is steps that run one after another for the first part of a dimension, then for the next part,
// until all is computed. Buffers that live only during the steps hold one part at a time.
type PlannedLoop struct {
	// Dimension is the name of the dimension at the inputs of the model; "": it has none.
	Dimension string `json:"dimension"`
	// FirstTime and LastTime are the times of the first and the last step.
	FirstTime int `json:"first_time"`
	LastTime  int `json:"last_time"`
	// Tiles is the number of parts. The dimension has Length units, and a part TileLength of them; the last parts
	// may have one less.
	Tiles      int64 `json:"tiles"`
	Length     int64 `json:"length"`
	TileLength int64 `json:"tile_length"`
}

// PlannedBuffer is a piece of the arena. It holds its first value, and further ones that are views of it
// or are computed in its place.
type PlannedBuffer struct {
	// Name is that of the node that first writes it.
	Name        string `json:"name"`
	Role        Role   `json:"role"`
	OffsetBytes uint64 `json:"offset_bytes"`
	SizeBytes   uint64 `json:"size_bytes"`
	// FirstTime and LastTime are the times between which the buffer is live, both included.
	FirstTime int `json:"first_time"`
	LastTime  int `json:"last_time"`
	// Values counts the values that it holds.
	Values int `json:"values"`
}

// JSON returns the plan as text.
func (p *MemoryPlan) JSON() ([]byte, error) {
	text, err := json.Marshal(p)
	if err != nil {
		return nil, device.Errorf(device.CodeSerialization, opPlan, "%w", err)
	}
	return text, nil
}

// planned is a draft with places in the arena.
type planned struct {
	*draft
	offsets    []uint64
	arenaBytes uint64
	lowerBound uint64
}

// searchSteps bounds the search for a smaller arena. It is a number of attempts and not a time, so that a
// shape has the same plan in every process.
const searchSteps = 20_000

// planOf computes the plan of a shape. Errors: those of wholeOf; CodeOverflow; CodeCancelled and
// CodeTimeout for ctx.
func planOf(ctx context.Context, p *program, dims map[string]uint64) (*planned, error) {
	w, err := wholeOf(p, dims)
	if err != nil {
		return nil, err
	}
	d, err := tiled(w, p.rule)
	if err != nil {
		return nil, err
	}
	made := &planned{draft: d, offsets: make([]uint64, len(d.buffers))}
	var list []plan.Buffer
	var number []int
	for i, b := range d.buffers {
		if b.sizeBytes > 0 {
			number = append(number, i)
			list = append(list, plan.Buffer{
				Lower: int64(b.first), Upper: int64(b.last) + 1, SizeBytes: b.sizeBytes, AlignmentBytes: bufferAlignmentBytes,
			})
		}
	}
	if len(list) == 0 {
		return made, nil
	}
	placed, err := plan.Place(ctx, list, plan.Options{Steps: searchSteps})
	if err != nil {
		return nil, ended(ctx, opPlan, err)
	}
	for i, at := range number {
		made.offsets[at] = placed.OffsetsBytes[i]
	}
	made.arenaBytes, made.lowerBound = placed.ArenaBytes, placed.LowerBoundBytes
	return made, nil
}

// bufferAlignmentBytes is the alignment of a buffer in the arena: a line of the cache, which is also what
// workspaces need.
const bufferAlignmentBytes = 64

// describe returns the plan for people and programs.
func (p *planned) describe() *MemoryPlan {
	made := &MemoryPlan{
		Dimensions: maps.Clone(p.dims), ArenaBytes: p.arenaBytes, LowerBoundBytes: p.lowerBound, ParameterBytes: p.program.place(),
		Steps: []PlannedStep{}, Buffers: []PlannedBuffer{}, Loops: []PlannedLoop{},
	}
	if made.Dimensions == nil {
		made.Dimensions = map[string]uint64{}
	}
	for _, s := range p.steps {
		n := &p.program.nodes[s.node]
		one := PlannedStep{Node: n.id, Operation: n.op.Name(), Tiles: 1}
		if s.loop >= 0 {
			one.Tiles = p.loops[s.loop].tiles
		}
		if s.workspace >= 0 {
			one.WorkspaceBytes = p.buffers[s.workspace].sizeBytes
		}
		made.Steps = append(made.Steps, one)
	}
	values := make([]int, len(p.buffers))
	count := func(places []*place) {
		for _, at := range places {
			if at != nil {
				values[at.buffer]++
				made.SumBytes += up(at.bytes(), bufferAlignmentBytes)
			}
		}
	}
	count(p.places)
	for _, s := range p.loops {
		count(s.places[0])
		made.Loops = append(made.Loops, PlannedLoop{
			Dimension: s.name, FirstTime: s.from + 1, LastTime: s.end, Tiles: s.tiles, Length: s.units, TileLength: s.sizes()[0],
		})
	}
	for i, b := range p.buffers {
		if b.role == RoleWorkspace {
			made.SumBytes += up(b.sizeBytes, bufferAlignmentBytes)
		}
		made.Buffers = append(made.Buffers, PlannedBuffer{
			Name: b.name, Role: b.role, OffsetBytes: p.offsets[i], SizeBytes: b.sizeBytes, FirstTime: b.first, LastTime: b.last, Values: values[i],
		})
	}
	return made
}

// keyOf is equal for equal lengths.
func keyOf(dims map[string]uint64) string {
	var key strings.Builder
	for _, name := range slices.Sorted(maps.Keys(dims)) {
		fmt.Fprintf(&key, "%s=%d,", name, dims[name])
	}
	return key.String()
}
