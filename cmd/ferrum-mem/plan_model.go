package main

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"ferrum_mem/core/device"
	"ferrum_mem/core/plan"
	"ferrum_mem/drivers/installed"
)

// modelPlanFlags are the flags of plan for a model.
type modelPlanFlags struct {
	batch, sequence uint64
	dims            []string
	device          string
}

func (f *modelPlanFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.Uint64Var(&f.batch, "batch", 0, "the length `N` of the dimension batch of a model")
	flags.Uint64Var(&f.sequence, "sequence", 0, "the length `N` of the dimension sequence of a model")
	flags.StringArrayVar(&f.dims, "dim", nil, "the length of a dimension of a model, as `NAME=LENGTH`; may be given several times")
	flags.StringVar(&f.device, "device", "cpu:0", "the `ID` of the device for which a model is planned")
}

// modelReport is the part of the plan of a model that a file of lifetimes does not have.
type modelReport struct {
	Dimensions map[string]uint64 `json:"dimensions"`
	// SumBytes is what the buffers would take without sharing memory.
	SumBytes uint64 `json:"sum_bytes"`
	// Parameters is the number of elements of the parameters.
	Parameters uint64 `json:"parameters"`
	// ParameterBytes is their memory in the types of the definition, without packing.
	ParameterBytes uint64 `json:"parameter_bytes"`
	// Loops are the steps that run tile by tile.
	Loops []installed.Loop `json:"loops"`
}

func (m *modelReport) facts() []fact {
	var lengths []string
	for _, name := range slices.Sorted(maps.Keys(m.Dimensions)) {
		lengths = append(lengths, fmt.Sprintf("%s %d", name, m.Dimensions[name]))
	}
	return []fact{
		{"dimensions", "Dimensions", strings.Join(lengths, ", ")},
		{"loops", "Steps tile by tile", m.tiles()},
		{"sum_bytes", "Buffers without sharing", device.Size(m.SumBytes).String()},
		{"parameter_bytes", "Parameters besides the arena", fmt.Sprintf("%v of %d elements", device.Size(m.ParameterBytes), m.Parameters)},
	}
}

// tiles describes the loops. Those of one kind are counted.
func (m *modelReport) tiles() string {
	if len(m.Loops) == 0 {
		return "none"
	}
	var kinds []string
	counts := map[string]int{}
	for _, s := range m.Loops {
		kind := fmt.Sprintf("%s in %d tiles of at most %d of %d", s.Dimension, s.Tiles, s.TileLength, s.Length)
		if s.Dimension == "" {
			kind = "a dimension" + kind
		}
		if counts[kind]++; counts[kind] == 1 {
			kinds = append(kinds, kind)
		}
	}
	for i, kind := range kinds {
		if counts[kind] > 1 {
			kinds[i] = fmt.Sprintf("%s, %d times", kind, counts[kind])
		}
	}
	return strings.Join(kinds, "; ")
}

// lengths returns the length of each dimension that the flags give.
func (f *modelPlanFlags) lengths(cmd *cobra.Command) (map[string]uint64, error) {
	dims, err := dimLengths(cmd, f.dims)
	if err != nil {
		return nil, err
	}
	for name, length := range map[string]uint64{"batch": f.batch, "sequence": f.sequence} {
		if !cmd.Flags().Changed(name) {
			continue
		}
		if _, twice := dims[name]; twice {
			return nil, usagef(cmd, "--%s %d: the length of %q is given twice", name, length, name)
		}
		dims[name] = length
	}
	return dims, nil
}

// planModel returns the arena of a model as the library plans it.
func (f planFlags) planModel(cmd *cobra.Command, s streams, path string, limitBytes uint64) (*planReport, error) {
	if name := firstChanged(cmd, "time", "alignment"); name != "" {
		return nil, usagef(cmd, "--%s is for files of lifetimes, and %s is a model", name, path)
	}
	dims, err := f.model.lengths(cmd)
	if err != nil {
		return nil, err
	}
	d, err := define(cmd, s, path)
	if err != nil {
		return nil, err
	}
	if isStopped := printIssues(s.err, append(d.Issues, d.Model.Validate()...)); isStopped {
		return nil, errNo
	}
	text, err := d.Model.JSON()
	if err != nil {
		return nil, err
	}
	made, took, err := placeModel(s, f.model.device, text, dims)
	if err != nil {
		return nil, ofModel(path, err)
	}
	r, err := reportModel(cmd, path, made, limitBytes)
	if err != nil {
		return nil, err
	}
	r.DurationNS = took.Nanoseconds()
	r.Model = &modelReport{Dimensions: made.Dimensions, SumBytes: made.SumBytes, Loops: made.Loops}
	counts, err := d.Model.Count()
	r.Model.Parameters, r.Model.ParameterBytes = counts.Parameters, counts.Bytes
	return r, err
}

// placeModel asks the library for a plan.
func placeModel(s streams, id string, definition []byte, dims map[string]uint64) (*installed.Plan, time.Duration, error) {
	e, err := openComputing(installed.Settings{Device: id, Threads: 1})
	if err != nil {
		return nil, 0, err
	}
	end := busy(s.progress, "planning")
	began := time.Now()
	made, err := e.Plan(definition, dims)
	took := time.Since(began)
	end()
	return made, took, errors.Join(err, e.close())
}

// reportModel makes the report of a plan of the library. A buffer is live until after its last
// time. The arena without a search is computed here.
func reportModel(cmd *cobra.Command, path string, made *installed.Plan, limitBytes uint64) (*planReport, error) {
	named := make([]namedBuffer, len(made.Buffers))
	buffers := make([]plan.Buffer, len(made.Buffers))
	placed := plan.Placement{ArenaBytes: made.ArenaBytes, LowerBoundBytes: made.LowerBoundBytes}
	for i, b := range made.Buffers {
		buffers[i] = plan.Buffer{Lower: b.FirstTime, Upper: b.LastTime + 1, SizeBytes: b.SizeBytes, AlignmentBytes: arenaAlignmentBytes}
		named[i] = namedBuffer{b.Name, buffers[i]}
		if b.Role == "workspace" {
			named[i].id += " (workspace)"
		}
		placed.OffsetsBytes = append(placed.OffsetsBytes, b.OffsetBytes)
	}
	greedy, err := plan.Place(cmd.Context(), buffers, plan.Options{})
	if err != nil {
		return nil, err
	}
	placed.GreedyBytes, placed.PeakBytes = greedy.ArenaBytes, greedy.PeakBytes
	return newPlanReport(path, named, plan.Options{LimitBytes: limitBytes}, &placed, 0), nil
}

// arenaAlignmentBytes is the alignment of a buffer of a model: a line of the cache.
const arenaAlignmentBytes = 64
