package passes

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/core/dtype"
	"ferrum_mem/core/ir"
)

// renames is a pass that changes nothing that a run computes.
func renames(name string, result Result) fake {
	return fake{name: name, change: func(m *ir.Model) (Result, error) {
		m.Metadata.Name += "+" + name
		return result, nil
	}}
}

func TestFailedPassLeavesTheModel(t *testing.T) {
	m := small(t)
	before := textOf(t, m)
	failing := fake{name: "fails", change: func(m *ir.Model) (Result, error) {
		m.Graph.Nodes, m.Layers[0].Outputs[0].Shape[0] = nil, 5
		return Result{}, device.Errorf(device.CodeOutOfMemory, "test", "no more")
	}}
	changed, results, err := Run(context.Background(), m, []Pass{renames("first", Result{Applied: true, Stats: Stats{EstimatedSpeedup: 1}}), failing}, Options{})
	require.ErrorIs(t, err, device.CodeOutOfMemory)
	assert.ErrorContains(t, err, `pass "fails"`)
	assert.Nil(t, changed)
	assert.Nil(t, results)
	assert.Equal(t, before, textOf(t, m))

	failing.change = func(*ir.Model) (Result, error) { return Result{}, errors.New("not typed") }
	_, _, err = Run(context.Background(), m, []Pass{failing}, Options{})
	require.ErrorIs(t, err, device.CodeModel)
	assert.ErrorContains(t, err, "not typed")
}

// What a pass did without saying so is dropped.
func TestChangeThatIsNotStatedIsDropped(t *testing.T) {
	m := small(t)
	changed, results, err := Run(context.Background(), m, []Pass{renames("quiet", Result{Warnings: []string{"nothing to do"}})}, Options{})
	require.NoError(t, err)
	assert.Equal(t, textOf(t, m), textOf(t, changed))
	assert.Equal(t, []Result{{Pass: "quiet", Stats: Stats{EstimatedSpeedup: 1}, Warnings: []string{"nothing to do"}}}, results)
}

func TestWrongModelsOfPassesAreRefused(t *testing.T) {
	done := Result{Applied: true, Stats: Stats{EstimatedSpeedup: 1}}
	for _, c := range []struct {
		change func(m *ir.Model)
		code   device.Code
		text   string
	}{
		{func(m *ir.Model) { m.Graph.Edges = m.Graph.Edges[:1] }, device.CodeInvalidConfig, "it made a wrong model"},
		{func(m *ir.Model) { m.Graph.Outputs = []string{"sum"} }, device.CodeModel, "it changed the list of outputs"},
		{func(m *ir.Model) { m.Graph.Nodes[0].Metadata[ir.MetadataDims] = json.RawMessage(`["b","s","w"]`) }, device.CodeModel, `it changed the input "x"`},
		{func(m *ir.Model) { m.Graph.Nodes[0].Metadata[ir.MetadataDefault] = json.RawMessage(`"zeros"`) }, device.CodeModel, `it changed the input "x"`},
		{func(m *ir.Model) {
			y := &m.Layers[2]
			y.Type, y.Config, y.Outputs[0].DType = "Cast", attributes{"to": json.RawMessage(`"f64"`)}, dtype.F64
		}, device.CodeModel, `it changed the output "y" from f32[1, 1, 8] to f64[1, 1, 8]`},
	} {
		m := small(t)
		before := textOf(t, m)
		_, _, err := Run(context.Background(), m, []Pass{fake{name: "wrong", change: func(m *ir.Model) (Result, error) {
			c.change(m)
			return done, nil
		}}}, Options{Lengths: map[string]uint64{"batch": 1, "sequence": 1}})
		require.ErrorIs(t, err, c.code)
		assert.ErrorContains(t, err, c.text)
		assert.ErrorContains(t, err, `pass "wrong"`)
		assert.Equal(t, before, textOf(t, m))
	}
	m := small(t)
	m.Graph.Edges = nil
	_, _, err := Run(context.Background(), m, nil, Options{})
	assert.ErrorIs(t, err, device.CodeInvalidConfig)
}

// Whatever a pass states, its numbers are those that Run measures.
func TestNumbersAreMeasured(t *testing.T) {
	stated := Result{Applied: true, Stats: Stats{ParametersEliminated: 1 << 40, OperationsEliminated: 7, MemorySaved: 1 << 50, EstimatedSpeedup: 1.5}}
	_, results, err := Run(context.Background(), small(t), []Pass{renames("boasts", stated)}, Options{})
	require.NoError(t, err)
	assert.Equal(t, Stats{EstimatedSpeedup: 1}, results[0].Stats)
	assert.Nil(t, results[0].Times)
	assert.Equal(t, map[string]uint64{"batch": 1, "sequence": 64}, results[0].Lengths)
}

func TestSpeedupsAreMeasuredAndMultiplied(t *testing.T) {
	done := Result{Applied: true, Stats: Stats{EstimatedSpeedup: 9}}
	var seen []string
	times := map[string]Times{"test+a": {BeforeNs: 500, AfterNs: 400, Runs: 3}, "test+a+b": {BeforeNs: 8, AfterNs: 4, Runs: 5}}
	measure := func(_ context.Context, before, after *ir.Model, lengths map[string]uint64) (Times, error) {
		seen = append(seen, before.Metadata.Name+" -> "+after.Metadata.Name)
		assert.Equal(t, map[string]uint64{"batch": 1, "sequence": 64}, lengths)
		return times[after.Metadata.Name], nil
	}
	list := []Pass{renames("a", done), fake{name: "idle"}, renames("b", done)}
	_, results, err := Run(context.Background(), small(t), list, Options{Measure: measure})
	require.NoError(t, err)
	assert.Equal(t, []string{"test -> test+a", "test+a -> test+a+b"}, seen)
	assert.EqualValues(t, 1.25, results[0].Stats.EstimatedSpeedup)
	assert.Equal(t, &Times{BeforeNs: 500, AfterNs: 400, Runs: 3}, results[0].Times)
	assert.EqualValues(t, 1, results[1].Stats.EstimatedSpeedup)
	assert.Nil(t, results[1].Times)
	assert.EqualValues(t, 2.5, Total(results).EstimatedSpeedup)

	// A clock that is too coarse gives a number that JSON has.
	times["test+a"] = Times{Runs: 1}
	_, results, err = Run(context.Background(), small(t), list[:1], Options{Measure: measure})
	require.NoError(t, err)
	assert.EqualValues(t, 1, results[0].Stats.EstimatedSpeedup)
}

// What is not measured is a warning, except for the end of the context.
func TestMeasurementThatFails(t *testing.T) {
	done := Result{Applied: true}
	for code, ends := range map[device.Code]bool{
		device.CodeTimeout: true, device.CodeCancelled: true, device.CodeOutOfMemory: false, device.CodeUnsupported: false,
	} {
		measure := func(context.Context, *ir.Model, *ir.Model, map[string]uint64) (Times, error) {
			return Times{BeforeNs: 7, AfterNs: 1}, device.Errorf(code, "test", "too much")
		}
		_, results, err := Run(context.Background(), small(t), []Pass{renames("a", done)}, Options{Measure: measure})
		if ends {
			require.ErrorIs(t, err, code)
			continue
		}
		require.NoError(t, err)
		assert.True(t, results[0].Applied)
		assert.EqualValues(t, 1, results[0].Stats.EstimatedSpeedup)
		assert.Nil(t, results[0].Times)
		require.Len(t, results[0].Warnings, 1)
		assert.Contains(t, results[0].Warnings[0], "the times of a run were not measured: ")
	}
}

func TestTotalDoesNotWrap(t *testing.T) {
	most := Stats{ParametersEliminated: math.MaxUint64, OperationsEliminated: 1, MemorySaved: math.MaxUint64 - 1, EstimatedSpeedup: math.MaxFloat32}
	total := Total([]Result{{Stats: most}, {Stats: most}})
	assert.Equal(t, Stats{ParametersEliminated: math.MaxUint64, OperationsEliminated: 2, MemorySaved: math.MaxUint64, EstimatedSpeedup: math.MaxFloat32}, total)
	assert.Equal(t, Stats{EstimatedSpeedup: 1}, Total(nil))
	text, err := json.Marshal(Total([]Result{{Stats: Stats{EstimatedSpeedup: 1e-30}}, {Stats: Stats{EstimatedSpeedup: 1e-30}}}))
	require.NoError(t, err)
	assert.Contains(t, string(text), `"estimated_speedup":1e-45`)
}

func TestResultAsJSON(t *testing.T) {
	text, err := json.Marshal(Result{Pass: "p", Applied: true, Stats: Stats{1, 2, 3, 1}, Warnings: []string{}})
	require.NoError(t, err)
	assert.JSONEq(t, `{"pass":"p","applied":true,"warnings":[],
		"stats":{"parameters_eliminated":1,"operations_eliminated":2,"memory_saved":3,"estimated_speedup":1}}`, string(text))
}

func TestEndedContextStopsThePasses(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	stopping := fake{name: "stops", change: func(*ir.Model) (Result, error) {
		cancel()
		return Result{}, nil
	}}
	_, _, err := Run(ctx, small(t), []Pass{stopping, fake{name: "next"}}, Options{})
	assert.ErrorIs(t, err, device.CodeCancelled)
	late, cancel := context.WithDeadline(context.Background(), time.Unix(1, 0))
	defer cancel()
	_, _, err = Run(late, small(t), []Pass{fake{name: "next"}}, Options{})
	assert.ErrorIs(t, err, device.CodeTimeout)
}

func TestLengths(t *testing.T) {
	m := small(t)
	lengths, err := SampleLengths(m)
	require.NoError(t, err)
	assert.Equal(t, map[string]uint64{"batch": 1, "sequence": 64}, lengths, "the model takes 64 tokens")
	m.Architecture.Dimensions.MaxSequenceLength = 4096
	lengths, err = SampleLengths(m)
	require.NoError(t, err)
	assert.EqualValues(t, 128, lengths["sequence"])
	done := Result{Applied: true, Stats: Stats{EstimatedSpeedup: 1}}
	_, _, err = Run(context.Background(), m, []Pass{renames("a", done)}, Options{Lengths: map[string]uint64{"batch": 1}})
	require.ErrorIs(t, err, device.CodeInvalidArgument)
	assert.ErrorContains(t, err, "sequence")
}

// A pass that needs more memory says so: the number cannot be negative.
func TestMoreMemoryIsAWarning(t *testing.T) {
	grows := fake{name: "grows", change: func(m *ir.Model) (Result, error) {
		m.Parameters = append(m.Parameters, ir.Parameter{Name: "more", Shape: []int64{1 << 20}, Initialization: ir.Initialization{Strategy: ir.StrategyOnes}})
		return Result{Applied: true, Stats: Stats{EstimatedSpeedup: 1}}, nil
	}}
	_, results, err := Run(context.Background(), small(t), []Pass{grows}, Options{})
	require.NoError(t, err)
	assert.Zero(t, results[0].Stats.MemorySaved)
	assert.Equal(t, []string{"the changed model needs 4 MiB more memory"}, results[0].Warnings)
}
