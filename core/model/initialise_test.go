package model_test

import (
	"context"
	"encoding/binary"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/core/dtype"
	"ferrum_mem/core/ir"
	"ferrum_mem/core/ir/irtest"
	"ferrum_mem/core/model"
	"ferrum_mem/core/operator/reference"
)

// initialised builds a model that returns its only parameter, and returns the elements.
func (r *rig) initialised(of ir.Initialization, kind dtype.DType, seed uint64, threads int, shape ...int64) ([]float64, error) {
	r.t.Helper()
	b := irtest.New(r.t)
	x := b.Input("x", kind, append([]any{"batch"}, toAny(shape)...)...)
	p := b.Add(ir.Parameter{Name: "p", Shape: shape, DType: kind, Initialization: of})
	b.Output(b.Node("out", "Add", "", x, p))
	s := model.Settings{ID: "test", Definition: b.Model(), Backend: r.backend, Pool: r.pool}
	s.Fill.Seed, s.Fill.Threads = seed, threads
	e, err := model.New(context.Background(), s)
	if err != nil {
		return nil, err
	}
	defer func() { require.NoError(r.t, e.Close(false)) }()
	zeros := reference.New(kind, append([]uint64{1}, unsigned(shape)...))
	got, err := reference.FromBytes(kind, zeros.Shape, r.run(e, map[string]*reference.Tensor{"x": zeros})["out"])
	require.NoError(r.t, err)
	return got.Floats, nil
}

func toAny(shape []int64) (list []any) {
	for _, length := range shape {
		list = append(list, int(length))
	}
	return list
}

func unsigned(shape []int64) (list []uint64) {
	for _, length := range shape {
		list = append(list, uint64(length))
	}
	return list
}

func moments(of []float64) (mean, deviation, least, most float64) {
	least, most = math.Inf(1), math.Inf(-1)
	for _, x := range of {
		mean += x / float64(len(of))
		least, most = min(least, x), max(most, x)
	}
	for _, x := range of {
		deviation += (x - mean) * (x - mean) / float64(len(of))
	}
	return mean, math.Sqrt(deviation), least, most
}

func TestStrategiesHaveTheirDistributions(t *testing.T) {
	r := newRig(t)
	const rows, columns = 150, 300
	for _, one := range []struct {
		of                         ir.Initialization
		mean, deviation, low, high float64
	}{
		{ir.Initialization{Strategy: ir.StrategyZeros}, 0, 0, 0, 0},
		{ir.Initialization{Strategy: ir.StrategyOnes}, 1, 0, 1, 1},
		{ir.Initialization{Strategy: ir.StrategyUniform, Min: -1, Max: 3}, 1, 4 / math.Sqrt(12), -1, 3},
		{ir.Initialization{Strategy: ir.StrategyNormal, Mean: 2, Std: 0.5}, 2, 0.5, -1, 5},
		{ir.Initialization{Strategy: ir.StrategyXavier}, 0, math.Sqrt(2.0 / (rows + columns)), -math.Sqrt(6.0 / (rows + columns)), math.Sqrt(6.0 / (rows + columns))},
		{ir.Initialization{Strategy: ir.StrategyKaiming}, 0, math.Sqrt(2.0 / columns), -math.Sqrt(6.0 / columns), math.Sqrt(6.0 / columns)},
	} {
		got, err := r.initialised(one.of, dtype.F32, 1, 2, rows, columns)
		require.NoError(t, err)
		mean, deviation, least, most := moments(got)
		assert.InDelta(t, one.mean, mean, 0.02*max(one.high-one.low, 1e-9), "%v", one.of)
		assert.InDelta(t, one.deviation, deviation, 0.02*max(one.deviation, 1e-9), "%v", one.of)
		assert.GreaterOrEqual(t, least, float64(float32(one.low)), "%v", one.of)
		assert.LessOrEqual(t, most, float64(float32(one.high)), "%v", one.of)
	}
}

// The bits are fixed: a change of the generator changes models that were built before.
func TestInitialisedElementsAreTheSameEverywhere(t *testing.T) {
	r := newRig(t)
	normal := ir.Initialization{Strategy: ir.StrategyNormal, Std: 1}
	one, err := r.initialised(normal, dtype.F32, 7, 1, 64, 700)
	require.NoError(t, err)
	for _, threads := range []int{2, 5} {
		again, err := r.initialised(normal, dtype.F32, 7, threads, 64, 700)
		require.NoError(t, err)
		require.Equal(t, one, again)
	}
	flat, err := r.initialised(normal, dtype.F32, 7, 1, 700*64)
	require.NoError(t, err)
	require.Equal(t, one, flat, "an element depends on its index only")
	other, err := r.initialised(normal, dtype.F32, 8, 1, 64, 700)
	require.NoError(t, err)
	require.NotEqual(t, one, other)
	half, err := r.initialised(normal, dtype.F16, 7, 1, 4)
	require.NoError(t, err)
	bytes := make([]byte, 8)
	wide := make([]byte, 16)
	for i := range 4 {
		binary.NativeEndian.PutUint32(wide[4*i:], math.Float32bits(float32(one[i])))
	}
	require.NoError(t, dtype.Convert(dtype.F16, bytes, dtype.F32, wide))
	rounded, err := reference.FromBytes(dtype.F16, []uint64{4}, bytes)
	require.NoError(t, err)
	assert.Equal(t, rounded.Floats, half)
}

func TestStrategiesThatAreNotPossible(t *testing.T) {
	r := newRig(t)
	_, err := r.initialised(ir.Initialization{Strategy: ir.StrategyCustom, Name: "mine"}, dtype.F32, 0, 1, 4)
	requireError(t, device.CodeNotFound, err, `"p"`, `"mine"`)
	_, err = r.initialised(ir.Initialization{Strategy: ir.StrategyXavier}, dtype.F32, 0, 1, 4)
	requireError(t, device.CodeInvalidConfig, err, `"p"`)
	_, err = r.initialised(ir.Initialization{Strategy: "glorot"}, dtype.F32, 0, 1, 4)
	requireError(t, device.CodeInvalidConfig, err, `"p"`)
	require.Empty(t, r.pool.Models())
}

func TestARuleOfTheProgramMakesElements(t *testing.T) {
	r := newRig(t)
	b := irtest.New(t)
	x := b.Input("x", dtype.F32, "batch", 4)
	b.Output(b.Node("out", "Add", "", x, b.Add(ir.Parameter{
		Name: "p", Shape: []int64{4}, Initialization: ir.Initialization{Strategy: ir.StrategyCustom, Name: "steps"},
	})))
	s := model.Settings{ID: "test", Definition: b.Model(), Backend: r.backend, Pool: r.pool}
	_, err := model.New(context.Background(), s)
	requireError(t, device.CodeNotFound, err, `"steps"`, "has given none")
	s.Fill.Initializers = map[string]model.Initializer{"step": func(*ir.Parameter, uint64) float64 { return 0 }}
	_, err = model.New(context.Background(), s)
	requireError(t, device.CodeNotFound, err, `nearest is "step"`)
	s.Fill.Initializers["steps"] = func(p *ir.Parameter, index uint64) float64 { return float64(len(p.Name)) + float64(index)/2 }
	e := r.start(s)
	got, err := reference.FromBytes(dtype.F32, []uint64{4}, r.run(e, map[string]*reference.Tensor{"x": reference.New(dtype.F32, []uint64{1, 4})})["out"])
	require.NoError(t, err)
	assert.Equal(t, []float64{1, 1.5, 2, 2.5}, got.Floats)
}
