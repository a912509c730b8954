package passes

import (
	"context"
	"slices"

	"ferrum_mem/core/device"
	"ferrum_mem/core/dtype"
	"ferrum_mem/core/ir"
)

const opFind = "passes.find"

// Technique is a kind of optimisation.
type Technique string

// The techniques of the contract. Techniques lists those that passes of this package use.
const (
	OperatorFusion           Technique = "operator_fusion"
	ConstantFolding          Technique = "constant_folding"
	DeadCodeElimination      Technique = "dead_code_elimination"
	MemoryLayoutOptimization Technique = "memory_layout_optimization"
	KernelSelection          Technique = "kernel_selection"
	Quantization             Technique = "quantization"
	Pruning                  Technique = "pruning"
	Distillation             Technique = "distillation"
)

// MaxLevel is the highest level of optimisation.
const MaxLevel = 3

// standard is a pass of this package.
type standard struct {
	name      string
	technique Technique
	// level is the lowest level of optimisation with the pass; 0: no level has it.
	level  int
	change func(*network) error
}

// all returns the passes in the order in which they run best.
func all() []standard {
	blocks := func(number dtype.DType) func(*network) error {
		return func(n *network) error {
			t := dtype.GGUFBase + number
			elements, _ := t.Block()
			return quantize(n, blockType{t, int64(elements)})
		}
	}
	return []standard{
		{"remove_dead_code", DeadCodeElimination, 1, removeDeadCode},
		{"fold_constants", ConstantFolding, 1, foldConstants},
		{"merge_same", DeadCodeElimination, 1, mergeSame},
		{"merge_qkv", OperatorFusion, 2, mergeProjections},
		{"fuse_activation", OperatorFusion, 2, fuseActivations},
		{"fuse_norm", OperatorFusion, 2, fuseNorms},
		{"fuse_residual", OperatorFusion, 3, fuseResiduals},
		{"quantize_q8_0", Quantization, 0, blocks(8)},
		{"quantize_q4_0", Quantization, 0, blocks(2)},
	}
}

// Standard returns the passes of a level of optimisation in the order in which they run best. Level 0 has
// none; 1 has those that only remove; 2 also those that join operators; 3 also fuse_residual, which joins
// more and does not help every model. Quantised weights are not part of a level. Errors:
// CodeInvalidArgument.
func Standard(level int) ([]Pass, error) {
	if level < 0 || level > MaxLevel {
		return nil, device.Errorf(device.CodeInvalidArgument, opFind, "the level of optimisation is %d: expected 0 to %d", level, MaxLevel)
	}
	var list []Pass
	for _, s := range all() {
		if s.level > 0 && s.level <= level {
			list = append(list, s)
		}
	}
	return list, nil
}

// Names returns the names of the passes of this package in the order in which they run best.
func Names() []string {
	var names []string
	for _, s := range all() {
		names = append(names, s.name)
	}
	return names
}

// Find returns a pass of this package by its name. Errors: CodeUnsupported for pruning, distillation and
// compression, and for what the engine does when it takes a model; CodeNotFound for another name, with the
// most similar one.
func Find(name string) (Pass, error) { return find(name, nil) }

// find is Find, with the names of further passes for the most similar one.
func find(name string, others []string) (Pass, error) {
	for _, s := range all() {
		if s.name == name {
			return s, nil
		}
	}
	switch name {
	case string(Pruning), string(Distillation):
		return nil, device.Errorf(device.CodeUnsupported, opFind, "%s is not available: it changes what a model computes, and needs training", name)
	case "compression":
		return nil, device.Errorf(device.CodeUnsupported, opFind, "compression is not available: weights stay as they are")
	case string(MemoryLayoutOptimization), string(KernelSelection):
		return nil, device.Errorf(device.CodeUnsupported, opFind, "%s is not a pass: the engine does it for each layer when a model is built", name)
	}
	return nil, device.Errorf(device.CodeNotFound, opFind, "there is no pass %.64q: the nearest is %q", name, nearest(name, others))
}

// Techniques returns the techniques that the passes of this package use.
func Techniques() []Technique {
	var list []Technique
	for _, s := range all() {
		if !slices.Contains(list, s.technique) {
			list = append(list, s.technique)
		}
	}
	return list
}

// Name returns the name of the pass.
func (s standard) Name() string { return s.name }

// Dependencies returns no names: each pass of this package works without the others.
func (s standard) Dependencies() []string { return nil }

// IsApplicable states whether the pass would change the model, or warn.
func (s standard) IsApplicable(m *ir.Model) bool {
	resolved, err := check(m)
	if err != nil {
		return false
	}
	n, err := s.run(resolved)
	return err == nil && (n.isChanged || len(n.warnings) > 0)
}

// run links a valid model and changes the network.
func (s standard) run(m *ir.Resolved) (*network, error) {
	n := link(m)
	if err := s.change(n); err != nil {
		return nil, err
	}
	n.finish()
	return n, nil
}

// result returns what a pass noticed, without numbers.
func (n *network) result() Result {
	if n == nil {
		return Result{}
	}
	return Result{Applied: n.isChanged, Stats: Stats{EstimatedSpeedup: 1}, Warnings: n.warnings}
}

// Apply changes a valid model. The memory is measured at the lengths of SampleLengths. Errors:
// CodeInvalidConfig for a model that is not valid; it is then as before.
func (s standard) Apply(ctx context.Context, m *ir.Model) (Result, error) {
	changed, results, err := Run(ctx, m, []Pass{s}, Options{})
	if err != nil {
		return Result{}, err
	}
	*m = *changed
	return results[0], nil
}
