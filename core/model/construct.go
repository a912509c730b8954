package model

import (
	"context"
	"errors"

	"ferrum_mem/core/device"
	"ferrum_mem/core/ir"
	"ferrum_mem/core/vmm"
)

// construction makes an executor in steps. After an error of a step the caller calls undo, which frees
// everything that the steps have taken.
type construction struct {
	settings Settings
	// resolved is the definition that is built, with its names resolved.
	resolved *ir.Resolved
	*Executor
}

// New builds an executor from a valid definition: it registers the model in the pool, and places its
// parameters in memory. Package users mostly build with a Builder, which also reads a folder, validates and
// optimises. Errors: CodeInvalidArgument and CodeInvalidConfig for settings; CodeUnsupportedDevice for a
// pool on another device; those of ir.Model.Validate, as CodeInvalidConfig; CodeNotFound, CodeModel and
// CodeUnsupported for parameters and layers; CodeModelAlreadyExists; those of the memory; CodeCancelled
// and CodeTimeout for ctx. After an error nothing is left.
func New(ctx context.Context, s Settings) (*Executor, error) {
	c := &construction{settings: s}
	err := c.all(ctx)
	if err != nil {
		return nil, errors.Join(err, c.undo())
	}
	return c.Executor, nil
}

func (c *construction) all(ctx context.Context) (err error) {
	if err := c.begin(); err != nil {
		return err
	}
	if c.resolved, err = check(c.settings.Definition); err != nil {
		return err
	}
	if err := c.prepare(); err != nil {
		return err
	}
	if err := c.computation.choose(&c.settings); err != nil {
		return err
	}
	if err := c.computation.register(&c.settings); err != nil {
		return err
	}
	return c.computation.fill(ctx, &c.settings, nil)
}

// begin checks the settings.
func (c *construction) begin() error {
	s := &c.settings
	wrong := func(code device.Code, format string, values ...any) error {
		return device.Errorf(code, opBuild, format, values...)
	}
	switch {
	case s.Definition == nil || s.Backend == nil || s.Pool == nil:
		return wrong(device.CodeInvalidArgument, "a definition, a backend and a pool are required")
	case s.Pool.Physical().Engine() != s.Backend.Device():
		return wrong(device.CodeUnsupportedDevice, "the pool %q is on %s, and the backend on %s", s.Pool.Name(), s.Pool.Physical().Engine().ID(), s.Backend.Device().ID())
	case s.Shapes < 0 || s.Shapes > MaxShapes:
		return wrong(device.CodeInvalidConfig, "shapes is %d: want 1 to %d, or 0 for %d", s.Shapes, MaxShapes, DefaultShapes)
	case s.Fill.Threads < 0:
		return wrong(device.CodeInvalidConfig, "threads is %d: want at least 0", s.Fill.Threads)
	}
	if s.Shapes == 0 {
		s.Shapes = DefaultShapes
	}
	c.Executor = &Executor{
		id: s.ID, definition: s.Definition, backend: s.Backend, pool: s.Pool, turn: make(chan struct{}, 1), mostShapes: s.Shapes,
	}
	c.computation = &steps{Executor: c.Executor}
	if s.Backend.RunsGraphs() {
		c.computation = &sessions{Executor: c.Executor, file: s.file, original: s.Definition}
		c.undefined = s.undefined
	}
	return nil
}

// check resolves a definition. Its error is the first issue that stops a build.
func check(m *ir.Model) (*ir.Resolved, error) {
	resolved, issues := m.Check()
	return resolved, firstIssue(issues)
}

// firstIssue returns an error for the worst issue that stops a build; nil: none does.
func firstIssue(issues []ir.Issue) error {
	var worst *ir.Issue
	stopping := 0
	for i := range issues {
		if issues[i].Severity == ir.Warning {
			continue
		}
		stopping++
		if worst == nil || issues[i].Severity > worst.Severity {
			worst = &issues[i]
		}
	}
	if worst == nil {
		return nil
	}
	text := worst.Description
	if worst.ConfigPath != "" {
		text = worst.ConfigPath + ": " + text
	}
	if worst.SuggestedFix != "" {
		text += ": " + worst.SuggestedFix
	}
	if stopping > 1 {
		text += ", and " + device.Count(uint64(stopping-1), "further issue")
	}
	return device.Errorf(device.CodeInvalidConfig, opBuild, "%s", text)
}

// prepare prepares the operations of the definition, again after it was changed, and finds the tensors of
// its parameters.
func (c *construction) prepare() error {
	if c.program != nil {
		c.program.close()
		c.program = nil
	}
	if err := c.computation.compile(c.resolved); err != nil {
		return err
	}
	return c.computation.bind(c.settings.Weights)
}

// enroll registers the model in the pool, with room for its parameters, and behind them for parts that may
// each grow up to the limit of the pool. The last part is the arena. It returns the start of the first.
func (x *Executor) enroll(s *Settings, parameterBytes, parts uint64) (start uint64, err error) {
	page := x.pool.PageBytes()
	start = up(max(parameterBytes, 1), page)
	most := up(x.pool.Limit(), page)
	model, err := x.pool.Register(x.id, vmm.ModelConfig{
		VirtualBytes: start + parts*most, GuaranteedBytes: s.Limits.GuaranteedBytes, MaxBytes: s.Limits.MaxBytes, Priority: s.Limits.Priority,
		GuaranteeMayWait: s.Limits.GuaranteeMayWait,
	})
	if err != nil {
		return 0, err
	}
	on := x.backend.Device()
	x.model = model
	x.parameters = &zone{model: model, engine: on, tag: ParametersTag, most: start}
	x.arena = &zone{model: model, engine: on, tag: ArenaTag, offset: start + (parts-1)*most, most: most}
	return start, nil
}

// place makes the memory of the parameters and fills it. The room of the arena is scratch memory meanwhile.
func (x *Executor) place(s *Settings, parameterBytes uint64, fill func(f *filling) error) error {
	stream := x.backend.Device().Device().DefaultStream()
	if err := x.parameters.grow(parameterBytes, stream); err != nil {
		return err
	}
	// Loads and packing use other streams.
	if err := stream.Synchronize(device.Forever); err != nil {
		return err
	}
	scratch := &zone{model: x.model, engine: x.backend.Device(), tag: scratchTag, offset: x.arena.offset, most: x.arena.most}
	err := fill(&filling{program: x.program, backend: x.backend, source: s.Weights, to: x.parameters, scratch: scratch, options: s.Fill, stream: stream})
	if freed := scratch.free(); freed != nil {
		err = errors.Join(err, freed)
	}
	return err
}

// undo frees what the steps have taken.
func (c *construction) undo() error {
	if c.Executor == nil {
		return nil
	}
	err := c.release()
	if err != nil && c.model != nil {
		// Nobody else knows the model.
		if forced := c.pool.Unregister(c.id, true); forced == nil {
			c.isUnregistered = true
			return nil
		}
	}
	return err
}
