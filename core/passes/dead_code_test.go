package passes

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"ferrum_mem/core/dtype"
	"ferrum_mem/core/ir"
	"ferrum_mem/core/ir/irtest"
)

func TestDeadCodeIsRemoved(t *testing.T) {
	m, result := only(t, "remove_dead_code", func(b *irtest.Builder) {
		x := wide(b)
		b.Input("unused", dtype.I64, "batch")
		b.Parameter("never read", 3, 5)
		y := b.Node("y", "Relu", "", x)
		dead := b.Node("dead", "ferrum.linear", "", y, b.Parameter("dead.w", 4, 8))
		b.Node("dead too", "Gelu", "", dead)
		b.Output(y)
	})
	assert.Equal(t, map[string]int{"Relu": 1}, types(m))
	assert.Equal(t, []string{"x", "unused"}, m.Graph.Inputs, "inputs are the interface of the model")
	assert.Empty(t, m.Parameters)
	assert.Len(t, m.Layers, 3)
	// 2 x 3 tokens of two tensors of 4 elements, and 47 elements of parameters, of 4 bytes.
	assert.Equal(t, Stats{ParametersEliminated: 47, OperationsEliminated: 2, MemorySaved: 4 * (2*2*3*4 + 47), EstimatedSpeedup: 1}, result.Stats)
}

// What a dead node reads stays if something else reads it, too.
func TestLayersAndParametersWithAnotherUseStay(t *testing.T) {
	m, result := only(t, "remove_dead_code", func(b *irtest.Builder) {
		x, w := wide(b), irtest.Value{}
		w = b.Parameter("w", 8, 8)
		y := b.Node("y", "ferrum.linear", "", x, w)
		b.Again("dead", y, y)
		b.Node("dead too", "ferrum.linear", "", y, w)
		b.Output(y)
	})
	assert.Equal(t, map[string]int{"ferrum.linear": 1}, types(m))
	assert.Len(t, m.Parameters, 1)
	assert.Zero(t, result.Stats.ParametersEliminated)
	assert.EqualValues(t, 2, result.Stats.OperationsEliminated)
}

func TestOutputsThatNothingReadsAreNotComputed(t *testing.T) {
	b := irtest.New(t)
	x := wide(b)
	y := b.Node("y", "LayerNormalization", "", x, b.Parameter("scale", 8))
	b.Output(y)
	m := b.Model()
	for i := range m.Layers {
		if m.Layers[i].Type == "LayerNormalization" {
			for _, name := range []string{"mean", "inverse"} {
				m.Layers[i].Outputs = append(m.Layers[i].Outputs, ir.Tensor{Name: name, Shape: []int64{ir.Dynamic, ir.Dynamic, 1}})
			}
		}
	}
	changed, results := applied(t, m, "remove_dead_code")
	assert.True(t, results[0].Applied)
	assert.EqualValues(t, 2*2*3*4, results[0].Stats.MemorySaved)
	assert.Zero(t, results[0].Stats.OperationsEliminated)
	isFinal(t, changed, "remove_dead_code")
	assert.Len(t, changed.Layers[1].Outputs, 1)
}

func TestNothingIsDead(t *testing.T) {
	_, result := only(t, "remove_dead_code", func(b *irtest.Builder) { b.Output(b.Node("y", "Relu", "", wide(b))) })
	assert.False(t, result.Applied)
}
