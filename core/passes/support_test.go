package passes

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"ferrum_mem/core/dtype"
	"ferrum_mem/core/ir"
	"ferrum_mem/core/ir/irtest"
	"ferrum_mem/core/operator/reference"
)

// tolerance is the largest difference between outputs before and after a pass, relative to the largest
// element.
const tolerance = 1e-12

// testing is what *testing.T and *rapid.T have.
type tester interface {
	require.TestingT
	irtest.T
}

// outputsOf computes the outputs of a model in float64.
func outputsOf(t tester, m *ir.Model) map[string]*reference.Tensor {
	t.Helper()
	inputs, err := irtest.Inputs(m, irtest.Lengths())
	require.NoError(t, err)
	outputs, err := irtest.Run(m, inputs, irtest.Elements)
	require.NoError(t, err)
	return outputs
}

func textOf(t tester, m *ir.Model) string {
	t.Helper()
	text, err := m.JSON()
	require.NoError(t, err)
	return string(text)
}

// findPass returns a pass of this package.
func findPass(t tester, name string) Pass {
	t.Helper()
	p, err := Find(name)
	require.NoError(t, err)
	return p
}

// applied runs passes and checks that the model is as before, the changed model is valid and computes the
// same, and the same passes have nothing to do in it.
func applied(t tester, m *ir.Model, names ...string) (*ir.Model, []Result) {
	t.Helper()
	list := []Pass{}
	for _, name := range names {
		list = append(list, findPass(t, name))
	}
	before := textOf(t, m)
	changed, results, err := Run(context.Background(), m, list, Options{Lengths: lengthsOf(t, m)})
	require.NoError(t, err)
	require.Equal(t, before, textOf(t, m), "the model of the caller changed")
	_, err = check(changed)
	require.NoError(t, err)
	require.NoError(t, irtest.Difference(outputsOf(t, m), outputsOf(t, changed), tolerance))
	for i, r := range results {
		require.Equal(t, names[i], r.Pass)
		require.EqualValues(t, 1, r.Stats.EstimatedSpeedup)
		if !r.Applied {
			require.Equal(t, Stats{EstimatedSpeedup: 1}, r.Stats)
		}
	}
	return changed, results
}

// lengthsOf returns the lengths of the tests for the dimensions that a model has.
func lengthsOf(t tester, m *ir.Model) map[string]uint64 {
	t.Helper()
	resolved, err := m.Resolve()
	require.NoError(t, err)
	lengths := map[string]uint64{}
	for _, name := range resolved.DynamicDims() {
		lengths[name] = irtest.Lengths()[name]
	}
	return lengths
}

// isFinal checks that a pass has nothing to do.
func isFinal(t tester, m *ir.Model, name string) {
	t.Helper()
	again, results, err := Run(context.Background(), m, []Pass{findPass(t, name)}, Options{})
	require.NoError(t, err)
	require.False(t, results[0].Applied, "%s has more to do after itself", name)
	require.Equal(t, textOf(t, m), textOf(t, again))
}

// types counts the nodes of each type, without inputs.
func types(m *ir.Model) map[string]int {
	layers, counts := map[string]string{}, map[string]int{}
	for _, l := range m.Layers {
		layers[l.Name] = l.Type
	}
	for _, n := range m.Graph.Nodes {
		if layers[n.LayerName] != ir.InputType {
			counts[layers[n.LayerName]]++
		}
	}
	return counts
}

// drawn returns a random model.
func drawn(t *rapid.T) *ir.Model {
	return irtest.Draw(t, func(n int) int { return rapid.IntRange(0, n-1).Draw(t, "pick") })
}

// wide is an input of the small models of the tests.
func wide(b *irtest.Builder) irtest.Value { return b.Input("x", dtype.F32, "batch", "sequence", 8) }

// only runs one pass on a model that a function builds, and returns the changed model with the numbers.
func only(t *testing.T, name string, build func(b *irtest.Builder)) (*ir.Model, Result) {
	t.Helper()
	b := irtest.New(t)
	build(b)
	m := b.Model()
	changed, results := applied(t, m, name)
	isFinal(t, changed, name)
	return changed, results[0]
}
