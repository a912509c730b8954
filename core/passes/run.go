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
	// Measure returns how many times faster a model runs after a pass; nil: nobody measures, and the
	// speed-up is the one that the pass states, which is 1 for the passes of this package. It must not
	// change the models.
	Measure func(before, after *ir.Model) (speedup float64, err error)
}

// Run applies passes to a copy of a model, each after its dependencies, and returns the changed copy with
// one result for each pass, in the order in which they ran. The memory, parameters and operations of a
// result are measured by Run, whatever the pass states.
//
// After each pass the model is checked: it is valid, and its inputs and outputs have the names, types and
// shapes that they had. After an error there is no changed model; m does not change in any case.
//
// Errors: those of the passes and of Measure; CodeInvalidConfig for a model with issues, and for a pass
// that makes one; CodeModel for a pass that changes the inputs or outputs; CodeInvalidArgument for dependencies in a cycle, for a missing pass or name, for a speed-up that
// is not above 0, and for Lengths that do not fit the model; CodeAlreadyExists for a name that occurs
// twice; CodeNotFound for a dependency that is not in the list; CodeCancelled and CodeTimeout from ctx.
func Run(ctx context.Context, m *ir.Model, list []Pass, o Options) (*ir.Model, []Result, error) {
	order, err := ordered(list)
	if err != nil {
		return nil, nil, err
	}
	if err := check(m); err != nil {
		return nil, nil, err
	}
	r := &runner{Options: o, current: m.Clone()}
	for _, p := range order {
		if err := ended(ctx); err != nil {
			return nil, nil, err
		}
		if err := r.step(p); err != nil {
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

// check returns the first issue of a model that is not a warning, as an error.
func check(m *ir.Model) error {
	for _, issue := range m.Validate() {
		if issue.Severity >= ir.Error {
			return device.Errorf(device.CodeInvalidConfig, opRun, "the model cannot be used: %s: %s", issue.ConfigPath, issue.Description)
		}
	}
	return nil
}

// runner has the model between two passes.
type runner struct {
	Options
	current *ir.Model
	results []Result
}

// step runs a pass.
func (r *runner) step(p Pass) error {
	result := Result{Stats: Stats{EstimatedSpeedup: 1}}
	if p.IsApplicable(r.current) {
		next := r.current.Clone()
		made, err := p.Apply(next)
		if err != nil {
			return err
		}
		if made.Applied {
			if err := check(next); err != nil {
				return fmt.Errorf("it made a wrong model: %w", err)
			}
			if err := r.measure(&made, next); err != nil {
				return err
			}
			r.current, result = next, made
		}
		result.Warnings = made.Warnings
	}
	result.Pass = p.Name()
	if result.Warnings == nil {
		result.Warnings = []string{}
	}
	r.results = append(r.results, result)
	return nil
}

// measure replaces the numbers of a result by measured ones.
func (r *runner) measure(result *Result, next *ir.Model) error {
	lengths := r.Lengths
	if lengths == nil {
		var err error
		if lengths, err = SampleLengths(r.current); err != nil {
			return err
		}
	}
	if err := sameInterface(r.current, next, lengths); err != nil {
		return err
	}
	speedup := float64(result.Stats.EstimatedSpeedup)
	stats, warning, err := Compare(r.current, next, lengths)
	switch {
	case err != nil && r.Lengths != nil:
		return fmt.Errorf("the memory cannot be measured: %w", err)
	case err != nil:
		warning = fmt.Sprintf("the memory of a run was not measured: %v", err)
	default:
		result.Lengths = lengths
	}
	if warning != "" && !slices.Contains(result.Warnings, warning) {
		result.Warnings = append(slices.Clone(result.Warnings), warning)
	}
	if r.Measure != nil {
		if speedup, err = r.Measure(r.current, next); err != nil {
			return fmt.Errorf("the speed-up was not measured: %w", err)
		}
	}
	result.Stats = stats
	result.Stats.EstimatedSpeedup = float32(speedup)
	return checkSpeedup(speedup)
}

// sameInterface checks that a pass kept the inputs and outputs of the model.
func sameInterface(before, after *ir.Model, lengths map[string]uint64) error {
	if !slices.Equal(before.Graph.Inputs, after.Graph.Inputs) {
		return changed("the list of inputs")
	}
	if !slices.Equal(before.Graph.Outputs, after.Graph.Outputs) {
		return changed("the list of outputs")
	}
	old, err := before.Resolve()
	if err != nil {
		return err
	}
	made, err := after.Resolve()
	if err != nil {
		return err
	}
	for i, in := range old.Inputs {
		other := made.Inputs[i]
		a, b := before.Layers[old.Nodes[in.Node].Layer].Outputs[0], after.Layers[made.Nodes[other.Node].Layer].Outputs[0]
		if in.Default != other.Default || !slices.Equal(in.Dims, other.Dims) || a.DType != b.DType || !slices.Equal(a.Shape, b.Shape) {
			return changed(fmt.Sprintf("the input %q", before.Graph.Inputs[i]))
		}
	}
	return sameOutputs(old, made, lengths)
}

// sameOutputs checks the types and shapes of the outputs. It checks nothing if they cannot be inferred at
// these lengths, which Compare reports.
func sameOutputs(before, after *ir.Resolved, lengths map[string]uint64) error {
	a, err := before.Infer(lengths)
	if err != nil {
		return nil
	}
	b, err := after.Infer(lengths)
	if err != nil {
		return nil
	}
	for i, id := range before.Model.Graph.Outputs {
		x, y := a.Nodes[before.Outputs[i]].Outputs[0], b.Nodes[after.Outputs[i]].Outputs[0]
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
