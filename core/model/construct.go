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
	if err := c.choose(); err != nil {
		return err
	}
	if err := c.register(); err != nil {
		return err
	}
	return c.fill(ctx, nil)
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
	made, err := compile(c.resolved, c.backend)
	if err != nil {
		return err
	}
	c.program = made
	return made.findOrigins(c.settings.Weights)
}

// choose chooses the form of each parameter, and checks the rules of those that are initialised.
func (c *construction) choose() error {
	if err := c.program.chooseForms(!c.settings.Plain); err != nil {
		return err
	}
	for _, p := range c.program.parameters {
		for _, of := range p.origin.pieces {
			if of.tensor != nil || of.spec.Value != nil {
				continue
			}
			if !of.spec.DType.IsConvertible() && !of.spec.DType.CanQuantise() {
				return device.Errorf(device.CodeUnsupported, opBuild, "parameter %q: elements of %s are not made", of.spec.Name, of.spec.DType)
			}
			if _, err := initializer(of.spec, c.settings.Fill.Seed, c.settings.Fill.Initializers); err != nil {
				return err
			}
		}
	}
	return nil
}

// register registers the model in the pool, with room for its parameters and the largest arena that the
// limit of the pool allows.
func (c *construction) register() error {
	segment := c.program.place()
	page := c.pool.PageBytes()
	start := up(max(segment, 1), page)
	most := up(c.pool.Limit(), page)
	model, err := c.pool.Register(c.id, vmm.ModelConfig{
		VirtualBytes: start + most, GuaranteedBytes: c.settings.Limits.GuaranteedBytes, MaxBytes: c.settings.Limits.MaxBytes, Priority: c.settings.Limits.Priority,
		GuaranteeMayWait: c.settings.Limits.GuaranteeMayWait,
	})
	if err != nil {
		return err
	}
	on := c.backend.Device()
	c.model = model
	c.parameters = &zone{model: model, engine: on, tag: ParametersTag, most: start}
	c.arena = &zone{model: model, engine: on, tag: ArenaTag, offset: start, most: most}
	return nil
}

// fill places the parameters in memory. The room of the arena is scratch memory meanwhile.
func (c *construction) fill(ctx context.Context, tell func(done, total uint64)) error {
	stream := c.backend.Device().Device().DefaultStream()
	if err := c.parameters.grow(c.program.place(), stream); err != nil {
		return err
	}
	// Loads and packing use other streams.
	if err := stream.Synchronize(device.Forever); err != nil {
		return err
	}
	scratch := &zone{model: c.model, engine: c.backend.Device(), tag: scratchTag, offset: c.arena.offset, most: c.arena.most}
	f := &filling{program: c.program, backend: c.backend, source: c.settings.Weights, to: c.parameters, scratch: scratch, options: c.settings.Fill}
	err := f.run(ctx, tell)
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
