package model

import (
	"context"

	"ferrum_mem/core/architecture"
	"ferrum_mem/core/backend"
	"ferrum_mem/core/device"
	"ferrum_mem/core/ir"
	"ferrum_mem/core/passes"
	"ferrum_mem/core/weights"
	"ferrum_mem/core/weights/header"
)

// BuilderInfo describes a builder.
type BuilderInfo struct {
	Name    string `json:"name"`
	Version string `json:"version"`
	// SupportedArchitectures are the model types that are built.
	SupportedArchitectures []Architecture     `json:"supported_architectures"`
	SupportedWeightFormats []weights.Format   `json:"supported_weight_formats"`
	SupportedOptimizations []passes.Technique `json:"supported_optimizations"`
	// Passes are those that Options.Passes may name.
	Passes       []passes.Description `json:"passes"`
	Capabilities BuilderCapabilities  `json:"capabilities"`
}

// Architecture describes a model type.
type Architecture struct {
	Name             string    `json:"name"`
	Family           ir.Family `json:"family"`
	Variants         []string  `json:"variants"`
	RequiredFeatures []string  `json:"required_features"`
}

// BuilderCapabilities state what a builder can do.
type BuilderCapabilities struct {
	// MaxModelSize is the largest number of parameters; nil: memory alone bounds it.
	MaxModelSize             *uint64 `json:"max_model_size"`
	SupportsDynamicShapes    bool    `json:"supports_dynamic_shapes"`
	SupportsCustomOps        bool    `json:"supports_custom_ops"`
	SupportsMixedPrecision   bool    `json:"supports_mixed_precision"`
	SupportsModelParallelism bool    `json:"supports_model_parallelism"`
	SupportsParallelBuild    bool    `json:"supports_parallel_build"`
	SupportsIncrementalBuild bool    `json:"supports_incremental_build"`
}

// Version is the version of the builder.
const Version = "1"

// SupportedModelTypes returns the model types that are built from files, sorted. A definition may have
// any type.
func (b *Builder) SupportedModelTypes() []string { return architecture.ModelTypes() }

// Info describes the builder.
func (b *Builder) Info() BuilderInfo {
	info := BuilderInfo{
		Name: "ferrum", Version: Version, SupportedArchitectures: []Architecture{},
		SupportedWeightFormats: []weights.Format{header.Safetensors, header.PyTorch, header.GGUF, header.ONNX},
		SupportedOptimizations: techniques(),
		Passes:                 b.passes.List(),
		Capabilities:           BuilderCapabilities{SupportsDynamicShapes: true, SupportsCustomOps: true, SupportsParallelBuild: true, SupportsIncrementalBuild: true},
	}
	for _, name := range architecture.ModelTypes() {
		info.SupportedArchitectures = append(info.SupportedArchitectures, Architecture{
			Name: name, Family: ir.FamilyTransformer, Variants: []string{}, RequiredFeatures: []string{},
		})
	}
	return info
}

// techniques returns what a build runs: the passes of its levels, packing, the choice of kernels
// for each operation, and blocks of GGUF.
func techniques() []passes.Technique {
	return []passes.Technique{
		passes.OperatorFusion, passes.ConstantFolding, passes.DeadCodeElimination, passes.MemoryLayoutOptimization, passes.KernelSelection,
		passes.Quantization,
	}
}

// Validate returns everything that a build would notice about a folder or a file with a model, without
// building it. An issue of the severity Error or Critical stops a build. Errors: the files cannot be read.
func (b *Builder) Validate(path string) ([]ir.Issue, error) { return architecture.Validate(path) }

// Export returns the definition of the model in a folder or a file, before the passes. Errors: those of
// architecture.Open.
func (b *Builder) Export(path string) (*ir.Model, error) {
	made, err := architecture.Open(path, architecture.Options{})
	if err != nil {
		return nil, err
	}
	return made.Model, nil
}

// EstimateBuildTime returns how long the build of a definition takes.
func (b *Builder) EstimateBuildTime(definition *ir.Model) BuildTimeEstimate {
	return b.speed.estimate(workOf(definition))
}

// Optimize runs the passes with these names over a definition; nil: those of the default level of
// optimisation. Nothing is built. Errors: those of passes.Registry.Take and passes.Run.
func (b *Builder) Optimize(ctx context.Context, definition *ir.Model, names []string) (*ir.Model, []passes.Result, error) {
	if names == nil {
		list, err := passes.Standard(defaultLevel)
		if err != nil {
			return nil, nil, err
		}
		return passes.Run(ctx, definition, list, passes.Options{})
	}
	list, done, err := b.passes.Take(names)
	if err != nil {
		return nil, nil, err
	}
	defer done()
	return passes.Run(ctx, definition, list, passes.Options{})
}

// Plan computes the memory that a build with a level of optimisation, 0 to MaxOptimizationLevel, would plan
// for the activations of a definition. Nothing is built. Errors: CodeInvalidConfig for the level; those of
// the passes and of Plan.
func (b *Builder) Plan(ctx context.Context, definition *ir.Model, on *backend.Backend, level uint32, dims map[string]uint64) (*MemoryPlan, error) {
	if level > MaxOptimizationLevel {
		return nil, wrongOption("optimization_level is %d: want 0 to %d", level, MaxOptimizationLevel)
	}
	definition, err := withLayerParameters(definition, nil)
	if err != nil {
		return nil, err
	}
	resolved, err := check(definition)
	if err != nil {
		return nil, err
	}
	list, err := passes.Standard(int(level))
	if err != nil {
		return nil, err
	}
	if resolved, _, err = passes.RunChecked(ctx, resolved, list, passes.Options{}); err != nil {
		return nil, err
	}
	return planResolved(ctx, resolved, Settings{ID: definition.Metadata.Name, Backend: on, Plain: level == 0}, dims)
}

// Plan computes the memory of a definition without building it. Only ID, Definition, Weights, Backend, Plain and
// NoTiles of the settings are used. Errors: those of Executor.Plan; CodeInvalidConfig for a definition with
// issues; those of New about parameters.
func Plan(ctx context.Context, s Settings, dims map[string]uint64) (*MemoryPlan, error) {
	if s.Definition == nil || s.Backend == nil {
		return nil, device.Errorf(device.CodeInvalidArgument, opPlan, "a definition and a backend are required")
	}
	resolved, err := check(s.Definition)
	if err != nil {
		return nil, err
	}
	return planResolved(ctx, resolved, s, dims)
}

// planResolved is Plan for a definition that is resolved.
func planResolved(ctx context.Context, of *ir.Resolved, s Settings, dims map[string]uint64) (*MemoryPlan, error) {
	if s.Backend.RunsGraphs() {
		return nil, noPlan(s.Backend)
	}
	p, err := compile(of, s.Backend)
	if err != nil {
		return nil, err
	}
	defer p.close()
	if err := p.findOrigins(s.Weights); err != nil {
		return nil, err
	}
	if err := p.chooseForms(!s.Plain); err != nil {
		return nil, err
	}
	if !s.NoTiles {
		p.rule = standardRule()
	}
	x := &Executor{id: s.ID, definition: of.Model, backend: s.Backend, program: p}
	x.computation = &steps{Executor: x}
	return x.plan(ctx, dims)
}
