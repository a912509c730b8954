package model_test

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/core/ir"
	"ferrum_mem/core/ir/irtest"
	"ferrum_mem/core/model"
	"ferrum_mem/core/passes"
)

// request builds a definition with the default options.
func (r *rig) request(m *ir.Model) model.Request {
	return model.Request{
		ID: "test", Definition: m, Weights: sourceOf(r.t, m), Backend: r.backend, Pool: r.pool, Options: model.DefaultOptions(),
	}
}

func TestABuilderBuildsWhatTheOracleComputes(t *testing.T) {
	r := newRig(t)
	b := new(model.Builder)
	for seed := range uint64(20) {
		m := randomModel(t, 500+seed)
		text, err := m.JSON()
		require.NoError(t, err)
		for level := range uint8(model.MaxOptimizationLevel + 1) {
			q := r.request(m)
			q.Options.OptimizationLevel = level
			x, err := b.Build(context.Background(), q)
			require.NoError(t, err, "seed %d", seed)
			inputs, err := irtest.Inputs(m, lengths[0])
			require.NoError(t, err)
			want, err := irtest.Run(m, inputs, irtest.Elements)
			require.NoError(t, err)
			require.NoError(t, irtest.Difference(want, values(t, want, r.run(x, inputs)), 1e-4), "seed %d, level %d", seed, level)
			assert.Equal(t, level > 0, len(x.Report().Passes) > 0)
			if level == 0 {
				assert.Zero(t, x.Info().PackedBytes)
			}
			require.NoError(t, x.Close(false))
		}
		after, err := m.JSON()
		require.NoError(t, err)
		require.Equal(t, string(text), string(after), "a build does not change the definition")
	}
}

func TestProgressOfABuild(t *testing.T) {
	r := newRig(t)
	var told []model.Progress
	q := r.request(embedding(t))
	q.Progress = func(p model.Progress) {
		told = append(told, p)
		r.pool.Models() // a callback may call the library
	}
	x, err := new(model.Builder).Build(context.Background(), q)
	require.NoError(t, err)
	require.NoError(t, x.Close(false))
	last := model.Progress{}
	seen := map[model.Phase]bool{}
	for _, p := range told {
		assert.GreaterOrEqual(t, p.Progress, last.Progress)
		assert.GreaterOrEqual(t, p.Phase, last.Phase)
		assert.LessOrEqual(t, p.PhaseDetails["done_bytes"], p.PhaseDetails["total_bytes"])
		assert.NotEmpty(t, p.CurrentOperation)
		seen[p.Phase], last = true, p
		text, err := json.Marshal(p)
		require.NoError(t, err)
		var back model.Progress
		require.NoError(t, json.Unmarshal(text, &back))
		assert.Equal(t, p, back)
	}
	assert.Len(t, seen, 8)
	assert.Equal(t, float32(1), last.Progress)
	require.NotNil(t, last.RemainingSeconds)
	assert.Zero(t, *last.RemainingSeconds)
	require.Error(t, new(model.Phase).UnmarshalText([]byte("loading")))
}

func TestABuildCanBeCancelledInEachPhase(t *testing.T) {
	r := newRig(t)
	b := new(model.Builder)
	before := r.books()
	for phase := model.PhaseValidation; phase <= model.PhaseFinalization; phase++ {
		ctx, cancel := context.WithCancel(context.Background())
		q := r.request(embedding(t))
		isLate := false
		q.Progress = func(p model.Progress) {
			if p.Phase == phase {
				cancel()
			}
			isLate = isLate || p.Phase > phase
		}
		x, err := b.Build(ctx, q)
		if err == nil { // the last phase may have ended
			require.Equal(t, model.PhaseFinalization, phase)
			require.NoError(t, x.Close(false))
		} else {
			requireError(t, device.CodeCancelled, err)
		}
		require.False(t, isLate, "a phase after %v began", phase)
		require.Equal(t, before, r.books())
		cancel()
	}
}

func TestABuildEndsAtItsTime(t *testing.T) {
	r := newRig(t)
	before := r.books()
	q := r.request(embedding(t))
	one := uint64(1)
	q.Options.BuildTimeoutSeconds = &one
	q.Progress = func(p model.Progress) {
		if p.Phase == model.PhaseLayerConstruction {
			time.Sleep(1100 * time.Millisecond)
		}
	}
	_, err := new(model.Builder).Build(context.Background(), q)
	requireError(t, device.CodeTimeout, err)
	require.Equal(t, before, r.books())
}

func TestEveryCallFailsOnceInABuilder(t *testing.T) {
	r := newRig(t)
	b := new(model.Builder)
	before := r.books()
	for n := 1; ; n++ {
		r.dev.failAt(n)
		x, err := b.Build(context.Background(), r.request(embedding(t)))
		reached := r.dev.counted() >= n
		if err == nil {
			require.NoError(t, x.Close(false))
		}
		require.Equal(t, before, r.books(), "call %d", n)
		if !reached {
			require.NoError(t, err)
			break
		}
	}
}

// brokenPass fails, or makes a wrong definition.
type brokenPass struct {
	err    error
	breaks bool
}

func (p brokenPass) Name() string                { return "broken" }
func (p brokenPass) Dependencies() []string      { return nil }
func (p brokenPass) IsApplicable(*ir.Model) bool { return true }
func (p brokenPass) Apply(_ context.Context, m *ir.Model) (passes.Result, error) {
	if p.breaks {
		m.Graph.Edges = nil
	}
	return passes.Result{Applied: p.breaks}, p.err
}

func TestAPassThatFailsLeavesNothing(t *testing.T) {
	r := newRig(t)
	before := r.books()
	for _, p := range []brokenPass{{err: errors.New("no")}, {breaks: true}} {
		q, b := r.request(embedding(t)), new(model.Builder)
		require.NoError(t, b.Passes().Add(p))
		q.Options.Passes = []string{"broken"}
		_, err := b.Build(context.Background(), q)
		require.ErrorContains(t, err, "broken")
		require.ErrorContains(t, err, "optimization")
		require.Equal(t, before, r.books())
		require.NoError(t, b.Passes().Remove("broken", false), "the build does not use it any more")
	}
}

func TestOptions(t *testing.T) {
	o, err := model.ParseOptions(nil)
	require.NoError(t, err)
	assert.Equal(t, model.DefaultOptions(), o)
	assert.True(t, o.EnableValidation && o.EnableOptimization && !o.EnableQuantization && !o.EnableCompression)
	assert.Equal(t, uint8(2), o.OptimizationLevel)
	assert.Equal(t, uint64(3600), *o.BuildTimeoutSeconds)
	text, err := json.Marshal(o)
	require.NoError(t, err)
	again, err := model.ParseOptions(text)
	require.NoError(t, err)
	assert.Equal(t, o.BuildTimeoutSeconds, again.BuildTimeoutSeconds)
	for text, want := range map[string]struct {
		code device.Code
		says string
	}{
		`[]`:                                {device.CodeInvalidFormat, "JSON object"},
		`null`:                              {device.CodeInvalidFormat, "JSON object"},
		`{"optimization_level": 4}`:         {device.CodeInvalidConfig, "optimization_level is 4"},
		`{"optimization_level": -1}`:        {device.CodeInvalidConfig, "optimization_level"},
		`{"optimisation_level": 1}`:         {device.CodeInvalidConfig, `nearest is "optimization_level"`},
		`{"build_timeout_seconds": 0}`:      {device.CodeInvalidConfig, "build_timeout_seconds is 0"},
		`{"enable_quantization": true}`:     {device.CodeInvalidConfig, "quantization_config is not given"},
		`{"quantization_config": {"a": 1}}`: {device.CodeInvalidConfig, "enable_quantization is false"},
		`{"enable_quantization": true, "quantization_config": {"a": 1}}`:                                    {device.CodeUnsupported, "q8_0"},
		`{"enable_quantization": true, "quantization_config": {"INT8": {"symmetric": true}}}`:               {device.CodeUnsupported, "q8_0"},
		`{"enable_quantization": true, "quantization_config": {"format": "q8_0"}, "optimization_level": 1}`: {device.CodeInvalidConfig, "at least 2"},
		`{"passes": "fold_constants"}`:                                 {device.CodeInvalidConfig, "passes"},
		`{"passes": [1]}`:                                              {device.CodeInvalidConfig, "passes"},
		`{"passes": [], "optimization_level": 0}`:                      {device.CodeInvalidConfig, "at least 1"},
		`{"passes": ["fold_constants"], "enable_optimization": false}`: {device.CodeInvalidConfig, "enable_optimization"},
		`{"measure_passes": 1}`:                                        {device.CodeInvalidConfig, "measure_passes"},
		`{"enable_compression": true}`:                                 {device.CodeUnsupported, "compress"},
		`{"additional_options": {"pruning": 0.5}}`:                     {device.CodeUnsupported, "pruning"},
		`{"additional_options": {"distillation": {}}}`:                 {device.CodeUnsupported, "distillation"},
		`{"additional_options": {"sed": 1}}`:                           {device.CodeInvalidConfig, `nearest is "seed"`},
		`{"additional_options": {"threads": -1}}`:                      {device.CodeInvalidConfig, "threads"},
		`{"additional_options": {"shapes": 5000}}`:                     {device.CodeInvalidConfig, "shapes"},
	} {
		_, err := model.ParseOptions([]byte(text))
		requireError(t, want.code, err, want.says)
	}
	for _, text := range []string{`{"build_timeout_seconds": null}`, `{"passes": null, "optimization_level": 0}`, `{"passes": ["of the program"], "measure_passes": true}`, `{"enable_quantization": true, "quantization_config": {"format": "q4_0"}}`, `{"additional_options": {"seed": 5, "threads": 2, "working_set_bytes": 100, "shapes": 3, "preload": false}}`} {
		_, err := model.ParseOptions([]byte(text))
		require.NoError(t, err)
	}
}

func TestRequestsThatAreWrong(t *testing.T) {
	r := newRig(t)
	b := new(model.Builder)
	ctx := context.Background()
	build := func(change func(*model.Request)) error {
		q := r.request(chain(t))
		change(&q)
		_, err := b.Build(ctx, q)
		return err
	}
	requireError(t, device.CodeInvalidArgument, build(func(q *model.Request) { q.Definition = nil }), "definition")
	requireError(t, device.CodeInvalidArgument, build(func(q *model.Request) { q.Path = "model" }), "one of them")
	for _, path := range []string{"https://example.org/model", "s3://bucket/model", "hf://org/model"} {
		requireError(t, device.CodeUnsupported, build(func(q *model.Request) { q.Path, q.Definition, q.Weights = path, nil, nil }), path)
	}
	requireError(t, device.CodeNotFound, build(func(q *model.Request) { q.Path, q.Definition, q.Weights = t.TempDir()+"/none", nil, nil }))
	llama := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(llama, "config.json"), []byte(`{"model_type": "llama", "hidden_size": 8, "num_hidden_layers": 1,
		"num_attention_heads": 2, "intermediate_size": 8, "vocab_size": 16, "max_position_embeddings": 16}`), 0o600))
	requireError(t, device.CodeUnsupported, build(func(q *model.Request) { q.Path, q.Definition, q.Weights = llama, nil, nil }), "llama")
	require.Empty(t, r.pool.Models())
}

func TestBuilderInfoListsWhatRuns(t *testing.T) {
	b := new(model.Builder)
	info := b.Info()
	assert.NotContains(t, info.SupportedOptimizations, passes.Pruning)
	assert.NotContains(t, info.SupportedOptimizations, passes.Distillation)
	assert.Contains(t, info.SupportedOptimizations, passes.Quantization)
	standard, err := passes.Standard(model.MaxOptimizationLevel)
	require.NoError(t, err)
	require.NotEmpty(t, standard)
	names := []string{}
	for _, of := range info.SupportedArchitectures {
		names = append(names, of.Name)
	}
	assert.Equal(t, b.SupportedModelTypes(), names)
	assert.Contains(t, names, "bert")
	assert.NotContains(t, names, "llama")
	_, err = json.Marshal(info)
	require.NoError(t, err)
}

func TestEstimatesOfBuildTimes(t *testing.T) {
	r := newRig(t)
	b := new(model.Builder)
	m := embedding(t)
	check := func(e model.BuildTimeEstimate) {
		t.Helper()
		assert.LessOrEqual(t, e.MinTimeSeconds, e.ExpectedTimeSeconds)
		assert.LessOrEqual(t, e.ExpectedTimeSeconds, e.MaxTimeSeconds)
		assert.InDelta(t, e.ExpectedTimeSeconds, e.Breakdown.Sum(), 1e-12)
		assert.Positive(t, e.MinTimeSeconds)
		assert.False(t, math.IsInf(e.MaxTimeSeconds, 0))
		require.NotEmpty(t, e.Factors)
		_, err := json.Marshal(e)
		require.NoError(t, err)
	}
	first := b.EstimateBuildTime(m)
	check(first)
	assert.Equal(t, "no build measured", first.Factors[0].Factor)
	for range 3 {
		x, err := b.Build(context.Background(), r.request(m))
		require.NoError(t, err)
		report := x.Report()
		check(report.Estimate)
		assert.Positive(t, report.Took.Sum())
		require.NoError(t, x.Close(false))
	}
	later := b.EstimateBuildTime(m)
	check(later)
	assert.NotEqual(t, first, later)
	big := m.Clone()
	big.Parameters[0].Shape = []int64{1 << 20, 1 << 10}
	assert.Greater(t, b.EstimateBuildTime(big).ExpectedTimeSeconds, later.ExpectedTimeSeconds)
}

func TestWarningsLetABuildGoOn(t *testing.T) {
	r := newRig(t)
	m := randomModel(t, 0)
	require.NotEmpty(t, m.Validate())
	x, err := new(model.Builder).Build(context.Background(), r.request(m))
	require.NoError(t, err)
	assert.NotEmpty(t, x.Report().Issues)
	require.NoError(t, x.Close(false))
	m.Graph.Edges = m.Graph.Edges[1:]
	_, err = new(model.Builder).Build(context.Background(), r.request(m))
	requireError(t, device.CodeInvalidConfig, err, "validation")
}
