package passes

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"ferrum_mem/core/device"
	"ferrum_mem/core/ir"
)

// Options are the settings of Run. The zero value is fine.
type Options struct {
	// Lengths are the lengths of the dynamic dimensions at which memory is measured; nil: those of
	// SampleLengths.
	Lengths map[string]uint64
	// Measure measures the times of a run before and after a pass at the lengths of the dynamic dimensions;
	// nil: nobody measures, and the speed-up is 1. It must not change the models. CodeCancelled and
	// CodeTimeout end Run; another error is a warning of the pass.
	Measure func(ctx context.Context, before, after *ir.Model, lengths map[string]uint64) (Times, error)
}

// Run applies passes to a copy of a model, each after its dependencies, and returns the changed copy with
// one result for each pass, in the order in which they ran. The memory, parameters and operations of a
// result are measured by Run, whatever the pass states.
//
// After each pass the model is checked: it is valid, and its inputs and outputs have the names, types and
// shapes that they had. After an error there is no changed model; m does not change in any case.
//
// Errors: those of the passes; CodeInvalidConfig for a model with issues, and for a pass that makes one;
// CodeModel for a pass that changes the inputs or outputs; CodeInvalidArgument for dependencies in a cycle,
// for a missing pass or name, and for Lengths that do not fit the model; CodeAlreadyExists for a name that
// occurs twice; CodeNotFound for a dependency that is not in the list; CodeCancelled and CodeTimeout from
// ctx and Measure.
func Run(ctx context.Context, m *ir.Model, list []Pass, o Options) (*ir.Model, []Result, error) {
	checked, err := check(m.Clone())
	if err != nil {
		return nil, nil, err
	}
	changed, results, err := RunChecked(ctx, checked, list, o)
	if err != nil {
		return nil, nil, err
	}
	return changed.Model, results, nil
}

// RunChecked is Run for the result of ir.Model.Check, without an Error or Critical. It returns m if no pass
// changes it.
func RunChecked(ctx context.Context, m *ir.Resolved, list []Pass, o Options) (*ir.Resolved, []Result, error) {
	order, err := ordered(list)
	if err != nil {
		return nil, nil, err
	}
	r := &runner{Options: o, current: m, lengths: o.Lengths}
	if r.lengths == nil {
		r.lengths = sampleLengths(m)
	}
	for _, p := range order {
		if err := ended(ctx); err != nil {
			return nil, nil, err
		}
		if err := r.step(ctx, p); err != nil {
			return nil, nil, named(p.Name(), err)
		}
	}
	return r.current, r.results, nil
}

// ended returns the error of a context that has ended.
func ended(ctx context.Context) error {
	switch err := ctx.Err(); {
	case err == nil:
		return nil
	case errors.Is(err, context.DeadlineExceeded):
		return device.Errorf(device.CodeTimeout, opRun, "the time is over: %w", err)
	default:
		return device.Errorf(device.CodeCancelled, opRun, "the passes were cancelled: %w", err)
	}
}

// named adds the name of a pass to its error. An error without a code says that the model cannot be used.
func named(name string, err error) error {
	code := device.CodeOf(err)
	var typed *device.Error
	if code == device.CodeInternal && !errors.As(err, &typed) {
		code = device.CodeModel
	}
	return device.Errorf(code, opRun, "pass %q: %w", name, err)
}

// check resolves a model. Its error is the first issue that is not a warning.
func check(m *ir.Model) (*ir.Resolved, error) {
	resolved, issues := m.Check()
	for _, issue := range issues {
		if issue.Severity >= ir.Error {
			return nil, device.Errorf(device.CodeInvalidConfig, opRun, "the model cannot be used: %s: %s", issue.ConfigPath, issue.Description)
		}
	}
	return resolved, nil
}

// runner has the model between two passes.
type runner struct {
	Options
	current *ir.Resolved
	lengths map[string]uint64
	// before has the numbers of the current model; nil: it is not measured yet.
	before  *measured
	results []Result
}

// step runs a pass.
func (r *runner) step(ctx context.Context, p Pass) error {
	next, made, err := r.apply(ctx, p)
	if err != nil {
		return err
	}
	result := Result{Pass: p.Name(), Stats: Stats{EstimatedSpeedup: 1}, Warnings: []string{}}
	result.Warnings = append(result.Warnings, made.Warnings...)
	if made.Applied {
		resolved, err := check(next)
		if err != nil {
			return fmt.Errorf("it made a wrong model: %w", err)
		}
		result.Applied = true
		if err := r.measure(ctx, &result, resolved); err != nil {
			return err
		}
		r.current = resolved
	}
	r.results = append(r.results, result)
	return nil
}

// apply lets a pass change a copy of the current model. A pass of this package gets the model itself,
// which is valid: it makes the copy.
func (r *runner) apply(ctx context.Context, p Pass) (*ir.Model, Result, error) {
	if s, isStandard := p.(standard); isStandard {
		n, err := s.run(r.current)
		if err != nil || !n.isChanged {
			return nil, n.result(), err
		}
		return n.write(), n.result(), nil
	}
	if !p.IsApplicable(r.current.Model) {
		return nil, Result{}, nil
	}
	next := r.current.Model.Clone()
	made, err := p.Apply(ctx, next)
	return next, made, err
}

// measure measures the numbers of a result.
func (r *runner) measure(ctx context.Context, result *Result, next *ir.Resolved) error {
	if r.before == nil {
		before := measure(r.current, r.lengths)
		r.before = &before
	}
	after := measure(next, r.lengths)
	if err := sameInterface(r.current, next); err != nil {
		return err
	}
	if err := sameOutputs(r.before, &after); err != nil {
		return err
	}
	stats, warning, err := difference(*r.before, after)
	switch {
	case err != nil && r.Lengths != nil:
		return fmt.Errorf("the memory cannot be measured: %w", err)
	case err != nil:
		warning = fmt.Sprintf("the memory of a run was not measured: %v", err)
	default:
		result.Lengths = r.lengths
	}
	if warning != "" {
		result.Warnings = append(result.Warnings, warning)
	}
	r.before, result.Stats = &after, stats
	return r.time(ctx, result, next)
}

// time measures the times of a run, if the caller of Run wants that.
func (r *runner) time(ctx context.Context, result *Result, next *ir.Resolved) error {
	if r.Measure == nil {
		return nil
	}
	times, err := r.Measure(ctx, r.current.Model, next.Model, r.lengths)
	switch {
	case err == nil:
		result.Times, result.Stats.EstimatedSpeedup, result.Lengths = &times, times.speedup(), r.lengths
	case errors.Is(err, device.CodeCancelled) || errors.Is(err, device.CodeTimeout):
		return err
	default:
		result.Warnings = append(result.Warnings, fmt.Sprintf("the times of a run were not measured: %v", err))
	}
	return nil
}

// sameInterface checks that a pass kept the inputs and outputs of the model.
func sameInterface(old, made *ir.Resolved) error {
	if !slices.Equal(old.Model.Graph.Inputs, made.Model.Graph.Inputs) {
		return changed("the list of inputs")
	}
	if !slices.Equal(old.Model.Graph.Outputs, made.Model.Graph.Outputs) {
		return changed("the list of outputs")
	}
	for i, in := range old.Inputs {
		other := made.Inputs[i]
		a, b := old.Model.Layers[old.Nodes[in.Node].Layer].Outputs[0], made.Model.Layers[made.Nodes[other.Node].Layer].Outputs[0]
		if in.Default != other.Default || !slices.Equal(in.Dims, other.Dims) || a.DType != b.DType || !slices.Equal(a.Shape, b.Shape) {
			return changed(fmt.Sprintf("the input %q", old.Model.Graph.Inputs[i]))
		}
	}
	return nil
}

// sameOutputs checks the types and shapes of the outputs. It checks nothing if they cannot be inferred at
// the lengths of the measurement, which difference reports.
func sameOutputs(before, after *measured) error {
	if before.shapes == nil || after.shapes == nil {
		return nil
	}
	old, made := before.shapes.Graph, after.shapes.Graph
	for i, id := range old.Model.Graph.Outputs {
		x, y := before.shapes.Nodes[old.Outputs[i]].Outputs[0], after.shapes.Nodes[made.Outputs[i]].Outputs[0]
		if x.String() != y.String() {
			return changed(fmt.Sprintf("the output %q from %v to %v", id, x, y))
		}
	}
	return nil
}

// changed is the error for a pass that changed the interface of the model.
func changed(what string) error {
	return device.Errorf(device.CodeModel, opRun, "it changed %s: a pass must keep the inputs and outputs of the model", what)
}
