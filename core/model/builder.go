package model

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"ferrum_mem/core/architecture"
	"ferrum_mem/core/backend"
	"ferrum_mem/core/device"
	"ferrum_mem/core/ir"
	"ferrum_mem/core/operator"
	"ferrum_mem/core/passes"
	"ferrum_mem/core/vmm"
	"ferrum_mem/core/weights"
)

// Builder builds models, and remembers how long that took. The zero value has built nothing yet. All methods
// are safe for concurrent use.
type Builder struct {
	// Operators has the layer types of the program for models of files; nil: there are none. A definition
	// of a Request has its own.
	Operators operator.Vocabulary

	speed  speed
	passes passes.Registry
	// timed counts the models that were built to measure passes.
	timed atomic.Uint64
}

// Passes returns the passes that Options.Passes may name. A program may add its own.
func (b *Builder) Passes() *passes.Registry { return &b.passes }

// Request states what to build and where.
type Request struct {
	// ID is the id of the model; "": the name of the definition.
	ID string
	// Path is a folder or file with a model. Without it, Definition is the model and Weights has its
	// tensors; nil: all parameters are initialised. The caller closes the weights after the build.
	Path       string
	Definition *ir.Model
	Weights    *weights.Source

	Backend *backend.Backend
	Pool    *vmm.Elastic
	Limits  vmm.ModelLimits
	Options Options
	// Initializers are the rules of custom initialisations.
	Initializers map[string]Initializer
	// Progress is told on a thread of the build, one call at a time, while no lock is held that a function
	// of this library needs. The build waits for each call. nil: progress is not told.
	Progress func(Progress)
}

// build is one build in progress.
type build struct {
	builder *Builder
	request Request
	construction
	reporter   reporter
	additional additional
	// opened is the source that the build has opened, and closes.
	opened *weights.Source
	// passes are those of the build, which calls passesDone in the end, unless that is nil.
	passes     []passes.Pass
	passesDone func()
	report     Report
	times      [phases]time.Duration
	placed     time.Duration
}

// Build builds a model in eight phases. Errors: those of Options.Validate and New; CodeUnsupported for a
// path that is not on this machine; those of architecture.Open, passes.Registry.Take and passes.Run;
// CodeInvalidConfig for a definition with issues that stop a build; CodeCancelled when ctx ends, and
// CodeTimeout for its deadline and that of the options. After an error nothing is left: the pool and the
// books are as before.
func (b *Builder) Build(ctx context.Context, r Request) (*Executor, error) {
	m := &build{builder: b, request: r, reporter: reporter{tell: r.Progress, began: time.Now()}}
	if limit := r.Options.timeout(); limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, limit)
		defer cancel()
	}
	err := m.phases(ctx)
	if m.passesDone != nil {
		m.passesDone()
	}
	if m.opened != nil {
		if closed := m.opened.Close(); err == nil {
			err = closed
		}
	}
	if err != nil {
		return nil, errors.Join(m.failed(err), m.undo())
	}
	x := m.Executor
	x.report = m.report
	b.speed.learn(m.work(), m.report.Took, m.placed)
	m.reporter.end()
	return x, nil
}

// failed is the error of the build, which names the model.
func (m *build) failed(err error) error {
	id := m.request.ID
	if id == "" && m.settings.Definition != nil {
		id = m.settings.Definition.Metadata.Name
	}
	if id == "" {
		return err
	}
	e := aboutModel(id, device.CodeOf(err), opBuild, "%w", err)
	if m.request.Backend != nil {
		e = e.On(m.request.Backend.Device().ID())
	}
	return e
}

// phases runs the phases in their order.
func (m *build) phases(ctx context.Context) error {
	for _, p := range []struct {
		phase     Phase
		operation string
		do        func(context.Context) error
	}{
		{PhaseValidation, "validate the definition", m.validate},
		{PhaseWeightLoading, "read the files of the weights", m.preload},
		{PhaseModelInitialization, "check the settings of the memory", m.initialize},
		{PhaseLayerConstruction, "prepare the operations", m.constructLayers},
		{PhaseParameterBinding, "find the tensors of the parameters", m.bindParameters},
		{PhaseOptimization, "run the passes and place the parameters", m.optimize},
		{PhaseFinalValidation, "run the model once", m.validateFinally},
		{PhaseFinalization, "free what only the build needed", m.finalize},
	} {
		m.reporter.enter(p.phase, p.operation)
		if err := ended(ctx, opBuild, nil); err != nil {
			return err
		}
		start := time.Now()
		if err := p.do(ctx); err != nil {
			return device.Errorf(device.CodeOf(err), opBuild, "%s: %w", p.phase, ended(ctx, opBuild, err))
		}
		m.times[p.phase] = time.Since(start)
	}
	m.report.Took = breakdown(&m.times)
	return nil
}

// validate is the phase Validation.
func (m *build) validate(context.Context) (err error) {
	if err := m.request.Options.Validate(); err != nil {
		return err
	}
	if m.additional, err = m.request.Options.additional(); err != nil {
		return err
	}
	if err := m.open(); err != nil {
		return err
	}
	if err := m.takePasses(); err != nil {
		return err
	}
	if m.settings.Definition == nil {
		return device.Errorf(device.CodeInvalidArgument, opBuild, "a path or a definition is required")
	}
	if m.settings.Definition, err = withLayerParameters(m.settings.Definition, m.settings.Weights); err != nil {
		return err
	}
	var issues []ir.Issue
	if m.settings.undefined == nil {
		m.resolved, issues = m.settings.Definition.Check()
	}
	if err := firstIssue(issues); err != nil {
		return err
	}
	m.report.Issues = append(m.report.Issues, issues...)
	if m.report.Issues == nil {
		m.report.Issues = []ir.Issue{}
	}
	m.report.Estimate = m.builder.speed.estimate(m.work())
	m.settings = Settings{
		ID: m.request.ID, Definition: m.settings.Definition, Weights: m.settings.Weights, Backend: m.request.Backend, Pool: m.request.Pool,
		Limits: m.request.Limits, Fill: m.additional.fill, Plain: m.request.Options.level() == 0, NoTiles: !m.additional.tiles,
		Shapes: m.additional.shapes, file: m.settings.file, undefined: m.settings.undefined,
	}
	m.settings.Fill.Initializers = m.request.Initializers
	if m.settings.ID == "" {
		m.settings.ID = m.settings.Definition.Metadata.Name
	}
	return m.begin()
}

// open reads the definition and the headers of the weights.
func (m *build) open() error {
	if m.request.Path == "" {
		m.settings.Definition = m.request.Definition
		m.settings.Weights = m.request.Weights
		return nil
	}
	if m.request.Definition != nil || m.request.Weights != nil {
		return device.Errorf(device.CodeInvalidArgument, opBuild, "a path and a definition are given: want one of them")
	}
	if scheme, _, isRemote := strings.Cut(m.request.Path, "://"); isRemote {
		return device.Errorf(device.CodeUnsupported, opBuild, "%.64q: models are not read through %.16q: want a folder or a file of this machine", m.request.Path, scheme)
	}
	if m.isOfGraphs() && strings.EqualFold(filepath.Ext(m.request.Path), ".onnx") {
		return m.openFile()
	}
	made, err := architecture.Open(m.request.Path, architecture.Options{})
	if err != nil {
		return err
	}
	m.settings.Definition, m.report.Issues = made.Model, made.Issues
	made.Model.Operators = m.builder.Operators
	if !hasSources(made.Model) {
		return nil
	}
	if m.opened, err = weights.Open(m.request.Path, weights.Options{}); err != nil {
		return err
	}
	m.settings.Weights = m.opened
	return nil
}

// withLayerParameters returns a definition with the parameters of its layers of the program.
func withLayerParameters(of *ir.Model, source *weights.Source) (*ir.Model, error) {
	if of.Operators == nil {
		return of, nil
	}
	made := of.Clone()
	err := made.AddLayerParameters(func(name string) bool {
		if source == nil {
			return false
		}
		_, err := source.Find(name)
		return err == nil
	})
	return made, err
}

// work returns what the time of the build depends on.
func (m *build) work() work { return workOf(m.settings.Definition) }

func workOf(definition *ir.Model) work {
	w := work{layers: float64(len(definition.Graph.Nodes))}
	for i := range definition.Parameters {
		p := &definition.Parameters[i]
		elements := 1.0
		for _, length := range p.Shape {
			elements *= float64(length)
		}
		if each, width := p.DType.Block(); each > 0 {
			w.bytes += elements * float64(width) / float64(each)
		}
	}
	return w
}

// preload is the phase WeightLoading. Bytes that do not fit beside the model in memory are read when they
// are placed.
func (m *build) preload(ctx context.Context) error {
	if m.settings.Weights == nil || !m.additional.preload {
		return nil
	}
	var names []string
	sum := uint64(0)
	for i := range m.settings.Definition.Parameters {
		for _, of := range piecesOf(&m.settings.Definition.Parameters[i]) {
			if of.Source == "" {
				continue
			}
			found, err := m.settings.Weights.Find(of.Source)
			if err != nil {
				return err
			}
			names, sum = append(names, of.Source), sum+found.Size
		}
	}
	if len(names) == 0 || sum > m.settings.Pool.Limit()/2 {
		return nil
	}
	slices.Sort(names)
	_, err := m.settings.Weights.Preload(ctx, slices.Compact(names), m.reporter.bytes)
	return err
}

// initialize is the phase ModelInitialization.
func (m *build) initialize(context.Context) error {
	if _, isThere := m.pool.ModelStats(m.id); isThere {
		return device.Errorf(device.CodeModelAlreadyExists, opBuild, "model %q is registered in %q already", m.id, m.pool.Name()).OfModel(m.id)
	}
	return nil
}

// constructLayers is the phase LayerConstruction.
func (m *build) constructLayers(context.Context) error {
	return m.computation.compile(m.resolved)
}

// bindParameters is the phase ParameterBinding.
func (m *build) bindParameters(context.Context) error {
	return m.computation.bind(m.settings.Weights)
}

// optimize is the phase Optimization.
func (m *build) optimize(ctx context.Context) error {
	m.report.Passes = []passes.Result{}
	if len(m.passes) > 0 {
		var options passes.Options
		if m.request.Options.MeasurePasses {
			timer := &passTimer{settings: m.settings, number: &m.builder.timed}
			defer timer.close()
			options.Measure = timer.measure
		}
		changed, results, err := passes.RunChecked(ctx, m.resolved, m.passes, options)
		if err != nil {
			return err
		}
		m.report.Passes = results
		if changed != m.resolved {
			m.resolved, m.definition = changed, changed.Model
			if err := m.prepare(); err != nil {
				return err
			}
		}
	}
	if err := m.computation.choose(&m.settings); err != nil {
		return err
	}
	if err := m.computation.register(&m.settings); err != nil {
		return err
	}
	start := time.Now()
	err := m.computation.fill(ctx, &m.settings, m.reporter.bytes)
	m.placed = time.Since(start)
	if of, isSession := m.computation.(*sessions); isSession {
		m.report.SessionSeconds = of.opening.Seconds()
	}
	return err
}

// takePasses finds the passes of the build, which stay registered until its end. An engine of graphs gets
// those that the options name.
func (m *build) takePasses() (err error) {
	o, isOfGraphs := &m.request.Options, m.isOfGraphs()
	if isOfGraphs {
		if err := m.checkPassesOfGraphs(); err != nil {
			return err
		}
	}
	switch {
	case o.Passes != nil:
		m.passes, m.passesDone, err = m.builder.passes.Take(o.Passes)
	case !isOfGraphs:
		m.passes, err = passes.Standard(int(o.level()))
	}
	if err != nil {
		return err
	}
	name, err := o.quantizer()
	if err != nil || name == "" {
		return err
	}
	quantizer, err := passes.Find(name)
	m.passes = append(m.passes, quantizer)
	return err
}

// validateFinally is the phase FinalValidation.
func (m *build) validateFinally(ctx context.Context) error {
	if !m.request.Options.EnableValidation {
		return nil
	}
	dims := map[string]uint64{}
	for i := range m.program.inputs {
		for _, name := range m.program.inputs[i].dims {
			if name != "" {
				dims[name] = 1
			}
		}
	}
	issue, err := m.computation.trial(ctx, dims)
	m.counters = Counters{}
	if issue != nil {
		m.report.Issues = append(m.report.Issues, *issue)
	}
	return err
}

// finalize is the phase Finalization: it returns scratch memory that no model needs to the device.
func (m *build) finalize(context.Context) error {
	if err := m.model.Synchronize(); err != nil {
		return err
	}
	return nil
}
