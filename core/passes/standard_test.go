package passes

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/core/dtype"
	"ferrum_mem/core/ir"
	"ferrum_mem/core/ir/irtest"
	"ferrum_mem/core/operator/reference"
)

func TestLevels(t *testing.T) {
	removing := []string{"remove_dead_code", "fold_constants", "merge_same"}
	joining := append(removing[:3:3], "merge_qkv", "fuse_activation", "fuse_norm")
	for level, want := range [][]string{nil, removing, joining, append(joining[:6:6], "fuse_residual")} {
		list, err := Standard(level)
		require.NoError(t, err)
		var names []string
		for _, p := range list {
			names = append(names, p.Name())
		}
		assert.Equal(t, want, names)
	}
	for _, level := range []int{-1, 4} {
		_, err := Standard(level)
		require.ErrorIs(t, err, device.CodeInvalidArgument)
		assert.ErrorContains(t, err, "expected 0 to 3")
	}
}

func TestPassesByName(t *testing.T) {
	for _, name := range Names() {
		p, err := Find(name)
		require.NoError(t, err)
		assert.Equal(t, name, p.Name())
		assert.Empty(t, p.Dependencies())
	}
	for name, text := range map[string]string{
		"pruning": "pruning is not available", "distillation": "distillation is not available", "compression": "compression is not available",
		"kernel_selection": "the engine does it", "memory_layout_optimization": "the engine does it",
	} {
		_, err := Find(name)
		require.ErrorIs(t, err, device.CodeUnsupported, name)
		assert.ErrorContains(t, err, text)
	}
	_, err := Find("fuse_norms")
	require.ErrorIs(t, err, device.CodeNotFound)
	assert.ErrorContains(t, err, `the nearest is "fuse_norm"`)
}

func TestTechniques(t *testing.T) {
	assert.ElementsMatch(t, []Technique{OperatorFusion, ConstantFolding, DeadCodeElimination, Quantization}, Techniques())
}

func TestWrongModelIsNotChanged(t *testing.T) {
	m := small(t)
	m.Graph.Edges[0].Source = "nobody"
	before := m.Clone()
	for _, name := range Names() {
		p := findPass(t, name)
		assert.False(t, p.IsApplicable(m))
		_, err := p.Apply(context.Background(), m)
		require.ErrorIs(t, err, device.CodeInvalidConfig)
		assert.ErrorContains(t, err, "nobody")
		assert.Equal(t, before, m)
	}
}

// The matrices of products have blocks; matrices that other operators read, and short rows, stay.
func TestMatricesAreQuantised(t *testing.T) {
	b := irtest.New(t)
	x, ids := b.Input("x", dtype.F32, "batch", "sequence", 32), b.Input("ids", dtype.I64, "batch", "sequence")
	y := b.Node("y", "ferrum.linear", `{"activation":"gelu"}`, x, b.Parameter("w", 64, 32), b.Parameter("b", 64))
	tied := b.Parameter("tied", 4, 32)
	z := b.Node("z", "ferrum.linear", "", b.Node("g", "Gather", "", tied, ids), tied)
	short := b.Node("short", "ferrum.linear", "", b.Input("narrow", dtype.F32, "batch", 8), b.Parameter("short rows", 8, 8))
	b.Output(y, z, short)
	m := b.Model()
	changed, results, err := Run(context.Background(), m, []Pass{findPass(t, "quantize_q8_0")}, Options{})
	require.NoError(t, err)
	assert.Equal(t, map[string]int{"ferrum.quantized_linear": 1, "ferrum.linear": 2, "Gather": 1}, types(changed))
	assert.Equal(t, []string{
		"the matrix tied is not quantised: another operator reads it",
		"the matrix short rows is not quantised: the length of its rows is not a multiple of a block",
	}, results[0].Warnings)
	w := parameterOf(t, changed, "w")
	assert.Equal(t, "q8_0", w.DType.String())
	assert.Equal(t, "weights.w", w.Source, "the elements are rounded when they are loaded")
	assert.JSONEq(t, `"gelu"`, string(layerOf(t, changed, "y").Config["activation"]))
	// A block of 32 elements has 34 bytes.
	assert.EqualValues(t, 64*32*4-64*34, results[0].Stats.MemorySaved)
	assert.Equal(t, dtype.F32, parameterOf(t, m, "w").DType, "the model of the caller is as before")
	isFinal(t, changed, "quantize_q8_0")

	// Apart from the rounding of the elements nothing changes.
	inputs, err := irtest.Inputs(m, irtest.Lengths())
	require.NoError(t, err)
	want, err := irtest.Run(m, inputs, irtest.Elements)
	require.NoError(t, err)
	got, err := irtest.Run(changed, inputs, func(p *ir.Parameter) (*reference.Tensor, error) { return irtest.Elements(p) })
	require.NoError(t, err)
	assert.NoError(t, irtest.Difference(want, got, tolerance))
}

// Merged matrices are quantised as a whole: their parts have blocks, too.
func TestMergedMatricesAreQuantised(t *testing.T) {
	b := irtest.New(t)
	x := b.Input("x", dtype.F32, "batch", "sequence", 32)
	p := func(name string) irtest.Value {
		return b.Node(name, "ferrum.linear", "", x, b.Parameter(name+".w", 32, 32))
	}
	b.Output(b.Node("y", "Attention", twoHeads, p("q"), p("k"), p("v")))
	changed, results, err := Run(context.Background(), b.Model(), []Pass{findPass(t, "merge_qkv"), findPass(t, "quantize_q4_0")}, Options{})
	require.NoError(t, err)
	require.True(t, results[1].Applied)
	w := parameterOf(t, changed, "y.qkv.weight")
	assert.Equal(t, "q4_0", w.DType.String())
	for _, part := range w.Parts {
		assert.Equal(t, w.DType, part.DType)
	}
}
