package irtest

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"ferrum_mem/core/dtype"
	"ferrum_mem/core/ir"
	"ferrum_mem/core/operator/reference"
)

// A model of two nodes computes what the same operations compute by hand.
func TestRunComputesAModel(t *testing.T) {
	b := New(t)
	x := b.Input("x", dtype.F32, "batch", 2)
	w := b.Parameter("w", 2, 2)
	y := b.Node("y", "ferrum.linear", "", x, w)
	parts := b.Node("parts", "Split", `{"axis":1,"num_outputs":2}`, y)
	b.Output(b.Node("difference", "Sub", "", parts.Output(1), parts), b.Again("again", y, y))
	given := map[string]*reference.Tensor{"x": {Type: dtype.F32, Shape: []uint64{1, 2}, Floats: []float64{3, 5}}}
	elements := func(*ir.Parameter) (*reference.Tensor, error) {
		return &reference.Tensor{Type: dtype.F32, Shape: []uint64{2, 2}, Floats: []float64{1, 2, 10, 20}}, nil
	}
	outputs, err := Run(b.Model(), given, elements)
	require.NoError(t, err)
	assert.Equal(t, []float64{130 - 13}, outputs["difference"].Floats)
	assert.Equal(t, []float64{13 + 2*130, 10*13 + 20*130}, outputs["again"].Floats)
	assert.Equal(t, []int64{ir.Dynamic, 1}, parts.Shape())
}

func TestInputsHaveDefaults(t *testing.T) {
	b := New(t)
	x, y := b.Input("x", dtype.I64, "batch", "sequence"), b.Input("y", dtype.I64, "batch", "sequence")
	b.Output(b.Node("sum", "Add", "", x, y))
	m := b.Model()
	given := map[string]*reference.Tensor{"x": {Type: dtype.I64, Shape: []uint64{2, 3}, Ints: make([]int64, 6)}}
	_, err := Run(m, given, Elements)
	require.ErrorContains(t, err, `input "y" is missing`)
	for rule, want := range map[ir.Default][]int64{
		ir.DefaultZeros: {0, 0, 0, 0, 0, 0}, ir.DefaultOnes: {1, 1, 1, 1, 1, 1}, ir.DefaultPositions: {0, 1, 2, 0, 1, 2},
	} {
		text, err := json.Marshal(rule)
		require.NoError(t, err)
		m.Graph.Nodes[1].Metadata[ir.MetadataDefault] = text
		outputs, err := Run(m, given, Elements)
		require.NoError(t, err)
		assert.Equal(t, want, outputs["sum"].Ints)
	}
}

func TestWrongModelsAreNotRun(t *testing.T) {
	b := New(t)
	x := b.Input("x", dtype.F32, "batch", 2)
	b.Output(b.Node("y", "Relu", "", b.Node("z", "Tanh", "", x)))
	for says, change := range map[string]func(m *ir.Model){
		"depends on itself":      func(m *ir.Model) { m.Graph.Edges[0].Source = "y" },
		"its layer is missing":   func(m *ir.Model) { m.Graph.Nodes[1].LayerName = "nobody" },
		`parameter "p" is miss`:  func(m *ir.Model) { m.Layers[1].Inputs[0].Name, m.Layers[1].Parameters = "p", []string{"p"} },
		"is not an operator of":  func(m *ir.Model) { m.Layers[1].Type = "Reluu" },
		`attribute "a" is not k`: func(m *ir.Model) { m.Layers[1].Config = map[string]json.RawMessage{"a": json.RawMessage("1")} },
	} {
		m := b.Model().Clone()
		change(m)
		inputs, err := Inputs(m, Lengths())
		require.NoError(t, err)
		_, err = Run(m, inputs, Elements)
		require.ErrorContains(t, err, says)
	}
}

func TestElements(t *testing.T) {
	at := func(p ir.Parameter) []float64 {
		made, err := Elements(&p)
		require.NoError(t, err)
		return made.Floats
	}
	a, b := ir.Parameter{Name: "a", Shape: []int64{2, 3}}, ir.Parameter{Name: "b", Shape: []int64{1, 3}}
	a.Initialization.Strategy, b.Initialization.Strategy = ir.StrategyNormal, ir.StrategyOnes
	whole := ir.Parameter{Name: "whole", Shape: []int64{3, 3}, Parts: []ir.Parameter{a, b}}
	assert.Equal(t, append(at(a), at(b)...), at(whole))
	assert.Equal(t, []float64{1, 1, 1}, at(b))
	tied := a
	tied.Name, tied.Source = "c", "a"
	assert.Equal(t, at(a), at(tied), "the elements depend on the source")
	constant, err := Elements(&ir.Parameter{Name: "k", Shape: []int64{2}, DType: dtype.I64, Value: []int64{7, -1}})
	require.NoError(t, err)
	assert.Equal(t, []int64{7, -1}, constant.Ints)
}

func TestDifferencesAreFound(t *testing.T) {
	one := func(x float64) map[string]*reference.Tensor {
		return map[string]*reference.Tensor{"y": {Type: dtype.F32, Shape: []uint64{2}, Floats: []float64{4, x}}}
	}
	assert.NoError(t, Difference(one(1), one(1+3e-9), 1e-9), "the tolerance is relative to the largest element")
	assert.ErrorContains(t, Difference(one(1), one(1+5e-9), 1e-9), `output "y", element 1`)
	assert.NoError(t, Difference(one(math.NaN()), one(math.NaN()), 0))
	assert.Error(t, Difference(one(math.NaN()), one(1), 1))
	assert.Error(t, Difference(one(1), one(math.NaN()), 1))
	assert.Error(t, Difference(one(1), nil, 1))
	other := one(1)
	other["y"].Shape = []uint64{1, 2}
	assert.ErrorContains(t, Difference(one(1), other, 1), "another type or shape")
}

// Random models are valid, and all operators occur in them.
func TestDrawnModelsAreValid(t *testing.T) {
	seen := map[string]int{}
	rapid.Check(t, func(t *rapid.T) {
		m := Draw(t, func(n int) int { return rapid.IntRange(0, n-1).Draw(t, "pick") })
		for _, issue := range m.Validate() {
			require.Equal(t, ir.Warning, issue.Severity, issue.Description)
		}
		inputs, err := Inputs(m, Lengths())
		require.NoError(t, err)
		_, err = Run(m, inputs, Elements)
		require.NoError(t, err)
		for _, l := range m.Layers {
			seen[l.Type]++
		}
	})
	for _, full := range []string{
		"ferrum.linear", "Add", "Mul", "Gelu", "Relu", "Swish", "Tanh", "LayerNormalization", "RMSNormalization", "Attention", "RotaryEmbedding",
		"Transpose", "Reshape", "Cast", "Unsqueeze", "Squeeze", "Split", "Concat",
	} {
		assert.NotZero(t, seen[full], full)
	}
}
