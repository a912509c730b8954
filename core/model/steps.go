package model

import (
	"context"
	"errors"
	"maps"
	"slices"

	"ferrum_mem/core/device"
	"ferrum_mem/core/ir"
	"ferrum_mem/core/tensor"
	"ferrum_mem/core/weights"
)

// steps computes a model with an engine of operations: a planned sequence for each shape.
type steps struct {
	*Executor
	shapes []*shape // the last one was used last
}

var _ computation = (*steps)(nil)

func (x *steps) compile(resolved *ir.Resolved) (err error) {
	x.program, err = compile(resolved, x.backend)
	return err
}

func (x *steps) bind(source *weights.Source) error { return x.program.findOrigins(source) }

// choose chooses the form of each parameter and whether operations may run tile by tile, and checks the rules of
// parameters that are initialised.
func (x *steps) choose(s *Settings) error {
	if err := x.program.chooseForms(!s.Plain); err != nil {
		return err
	}
	if !s.NoTiles {
		x.program.rule = standardRule()
	}
	for _, p := range x.program.parameters {
		for _, of := range p.origin.pieces {
			if of.tensor != nil || of.spec.Value != nil || layerTypeOf(x.definition.Operators, of.spec) != nil {
				continue
			}
			if !of.spec.DType.IsConvertible() && !of.spec.DType.CanQuantise() {
				return device.Errorf(device.CodeUnsupported, opBuild, "parameter %q: elements of %s are not made", of.spec.Name, of.spec.DType)
			}
			if _, err := initializer(of.spec, s.Fill.Seed, s.Fill.Initializers); err != nil {
				return err
			}
		}
	}
	return nil
}

func (x *steps) register(s *Settings) error {
	_, err := x.enroll(s, x.program.place(), 1)
	return err
}

func (x *steps) fill(ctx context.Context, s *Settings, tell func(done, total uint64)) error {
	return x.place(s, x.program.place(), func(f *filling) error { return f.run(ctx, tell) })
}

// shapeFor returns the shape for lengths of the dynamic dimensions, bound to the arena. The caller has the
// turn.
func (x *steps) shapeFor(ctx context.Context, dims map[string]uint64) (*shape, error) {
	key := keyOf(dims)
	for i, s := range x.shapes {
		if s.key == key {
			x.shapes = append(slices.Delete(x.shapes, i, i+1), s)
			return s, nil
		}
	}
	p, err := planOf(ctx, x.program, dims)
	if err != nil {
		return nil, err
	}
	stream := x.backend.Device().Device().DefaultStream()
	if err := x.arena.grow(p.arenaBytes, stream); err != nil {
		return nil, err
	}
	// Runs may be on other streams than the first work on the memory.
	if err := stream.Synchronize(device.Forever); err != nil {
		return nil, err
	}
	made, err := bind(p, x.backend, x.arena)
	if err != nil {
		return nil, err
	}
	if len(x.shapes) >= x.mostShapes {
		if err := x.shapes[0].close(); err != nil {
			return nil, errors.Join(err, made.close())
		}
		x.shapes = slices.Delete(x.shapes, 0, 1)
		x.count(func(c *Counters) { c.Evictions++ })
	}
	x.shapes = append(x.shapes, made)
	x.count(func(c *Counters) { c.Plans++ })
	x.publish(len(x.shapes))
	return made, nil
}

func (x *steps) run(ctx context.Context, dims map[string]uint64, inputs, outputs map[string]*tensor.Tensor, stream device.Stream) error {
	s, err := x.shapeFor(ctx, dims)
	if err != nil {
		return err
	}
	if err := x.checkOutputs(s, outputs); err != nil {
		return err
	}
	return settled(stream, x.compute(s, inputs, outputs, stream))
}

// settled waits for the queued work of a run that has failed: a sleep or the end of the model takes the
// memory that this work uses.
func settled(stream device.Stream, err error) error {
	if err != nil {
		_ = stream.Synchronize(device.Forever) // the run has failed already
	}
	return err
}

// compute queues the work of a run, and waits for it.
func (x *steps) compute(s *shape, inputs, outputs map[string]*tensor.Tensor, stream device.Stream) error {
	for i := range x.program.inputs {
		in := &x.program.inputs[i]
		if err := s.give(in, &s.inputs[i], inputs[in.name], stream); err != nil {
			return device.Errorf(device.CodeOf(err), opRun, "input %q: %w", in.name, err)
		}
	}
	if err := s.sequence.Run(stream); err != nil {
		return err
	}
	return x.copyOutputs(s, outputs, stream)
}

// checkOutputs checks the outputs that the caller gives.
func (x *steps) checkOutputs(s *shape, outputs map[string]*tensor.Tensor) error {
	for _, out := range x.program.outputs {
		given := outputs[out.name]
		if given == nil {
			continue
		}
		have, want := given.Layout(), s.tensors[out.value].Layout()
		if given.Type() != s.tensors[out.value].Type() || !slices.Equal(have.Shape(), want.Shape()) {
			return invalid("output %q is %s, and the result is %s", out.name, describe(given), describe(s.tensors[out.value]))
		}
	}
	return nil
}

// copyOutputs copies the outputs that are wanted, and waits for them.
func (x *steps) copyOutputs(s *shape, outputs map[string]*tensor.Tensor, stream device.Stream) error {
	made := map[string]*tensor.Tensor{}
	err := func() error {
		for _, out := range x.program.outputs {
			given, isWanted := outputs[out.name]
			if !isWanted {
				continue
			}
			from := s.tensors[out.value]
			if given == nil {
				layout := from.Layout()
				var err error
				if given, err = tensor.New(x.backend.Memory(), from.Type(), layout.Shape(), stream); err != nil {
					return device.Errorf(device.CodeOf(err), opRun, "output %q: %w", out.name, err)
				}
				made[out.name] = given
			}
			if err := given.Copy(from, stream); err != nil {
				return device.Errorf(device.CodeOf(err), opRun, "output %q: %w", out.name, err)
			}
		}
		return stream.Synchronize(device.Forever)
	}()
	if err != nil {
		for _, t := range made {
			err = errors.Join(err, t.Close())
		}
		return err
	}
	maps.Copy(outputs, made)
	return nil
}
func (x *steps) trial(ctx context.Context, dims map[string]uint64) (issue *ir.Issue, err error) {
	s, err := x.shapeFor(ctx, dims)
	if err != nil {
		return nil, err
	}
	defer func() {
		x.shapes = nil
		if closed := s.close(); closed != nil {
			x.shapes, err = []*shape{s}, errors.Join(err, closed)
			return
		}
		err = errors.Join(err, x.arena.free())
		x.publish(len(x.shapes))
	}()
	stream := x.backend.Device().Device().DefaultStream()
	for i := range x.program.inputs {
		in := &x.program.inputs[i]
		if err := s.give(in, &s.inputs[i], nil, stream); err != nil {
			return nil, settled(stream, err)
		}
	}
	if err := s.sequence.Run(stream); err != nil {
		return nil, settled(stream, err)
	}
	if err := stream.Synchronize(device.Forever); err != nil {
		return nil, err
	}
	for _, out := range x.program.outputs {
		isFinite, err := isFinite(s.tensors[out.value], stream)
		if err != nil {
			return nil, err
		}
		if !isFinite {
			issue = notFinite(out.name)
		}
	}
	return issue, nil
}

func (x *steps) rehearse(ctx context.Context, dims map[string]uint64) error {
	return x.run(ctx, dims, nil, nil, x.backend.Device().Device().DefaultStream())
}

func (x *steps) plan(ctx context.Context, dims map[string]uint64) (*MemoryPlan, error) {
	key := keyOf(dims)
	for _, s := range x.shapes {
		if s.key == key {
			return s.plan.describe(), nil
		}
	}
	p, err := planOf(ctx, x.program, dims)
	if err != nil {
		return nil, err
	}
	return p.describe(), nil
}

func (x *steps) needsArena() bool { return false }

func (x *steps) sizes() (s parameterSizes) {
	for _, p := range x.program.parameters {
		if p.same != nil || p.spec.Value != nil {
			continue
		}
		s.elements += uint64(p.layout.Elements())
		s.bytes += p.sizeBytes
		if p.packing != "" {
			s.packed += p.sizeBytes
		}
	}
	return s
}

func (x *steps) close() error {
	for len(x.shapes) > 0 {
		last := len(x.shapes) - 1
		if err := x.shapes[last].close(); err != nil {
			return err
		}
		x.shapes = x.shapes[:last]
	}
	if x.program == nil {
		return nil
	}
	if err := x.program.dropTensors(); err != nil {
		return err
	}
	x.program.close()
	return nil
}
