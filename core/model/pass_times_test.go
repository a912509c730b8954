package model_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/core/dtype"
	"ferrum_mem/core/ir"
	"ferrum_mem/core/ir/irtest"
	"ferrum_mem/core/model"
	"ferrum_mem/core/passes"
)

const repeated = 60

// repetitive is a model whose operators after the first one change nothing.
func repetitive(t testing.TB, rows int64) *ir.Model {
	b := irtest.New(t)
	x := b.Input("x", dtype.F32, "batch", "sequence", 64)
	y := b.Node("product", "ferrum.linear", "", x, b.Parameter("w", rows, 64))
	for at := range repeated {
		y = b.Node(fmt.Sprint("relu", at), "Relu", "", y)
	}
	b.Output(y)
	return b.Model()
}

// shorten lets the last of the repeated operators read the first one. In each run it removes half of them.
type shorten struct{ name string }

func (s shorten) Name() string                { return s.name }
func (s shorten) Dependencies() []string      { return nil }
func (s shorten) IsApplicable(*ir.Model) bool { return true }
func (s shorten) Apply(_ context.Context, m *ir.Model) (passes.Result, error) {
	left := len(m.Graph.Nodes) / 2
	if left < 3 {
		return passes.Result{}, nil
	}
	dropped := map[string]bool{}
	for _, n := range m.Graph.Nodes[left : len(m.Graph.Nodes)-1] {
		dropped[n.ID] = true
	}
	before, last := m.Graph.Nodes[left-1].ID, m.Graph.Nodes[len(m.Graph.Nodes)-1].ID
	m.Graph.Nodes = slices.DeleteFunc(m.Graph.Nodes, func(n ir.Node) bool { return dropped[n.ID] })
	m.Layers = slices.DeleteFunc(m.Layers, func(l ir.Layer) bool { return dropped[l.Name] })
	m.Graph.Edges = slices.DeleteFunc(m.Graph.Edges, func(e ir.Edge) bool { return dropped[e.Source] || dropped[e.Target] })
	m.Graph.Edges = append(m.Graph.Edges, ir.Edge{Source: before, Target: last})
	return passes.Result{Applied: true, Stats: passes.Stats{EstimatedSpeedup: 1000}}, nil
}

// measuredBuild builds with two passes that remove operators, and one that does nothing.
func measuredBuild(r *rig, m *ir.Model, isMeasured bool) (*model.Executor, error) {
	b := new(model.Builder)
	for _, name := range []string{"once", "again"} {
		require.NoError(r.t, b.Passes().Add(shorten{name}))
	}
	q := r.request(m)
	q.Options.Passes = []string{"once", "fuse_norm", "again"}
	q.Options.MeasurePasses = isMeasured
	return b.Build(context.Background(), q)
}

// A build measures how many times faster a model runs after a pass, whatever the pass states.
func TestABuildMeasuresItsPasses(t *testing.T) {
	r := newRig(t)
	m := repetitive(t, 256)
	x, err := measuredBuild(r, m, true)
	require.NoError(t, err)
	require.Equal(t, []string{"test"}, r.pool.Models(), "the models of the measurement are gone")
	results := x.Report().Passes
	require.Len(t, results, 3)
	for _, at := range []int{0, 2} {
		result := results[at]
		require.True(t, result.Applied)
		require.Empty(t, result.Warnings)
		require.NotNil(t, result.Times)
		assert.GreaterOrEqual(t, result.Times.Runs, 5)
		assert.Equal(t, map[string]uint64{"batch": 1, "sequence": 64}, result.Lengths)
		assert.InDelta(t, float64(result.Times.BeforeNs)/float64(result.Times.AfterNs), result.Stats.EstimatedSpeedup, 1e-5)
		// Half of the work is gone. Other work of the machine slows both models.
		assert.Greater(t, result.Stats.EstimatedSpeedup, float32(1.2))
		assert.Less(t, result.Stats.EstimatedSpeedup, float32(8))
	}
	assert.Nil(t, results[1].Times)
	assert.EqualValues(t, 1, results[1].Stats.EstimatedSpeedup)
	require.NoError(t, x.Close(false))

	x, err = measuredBuild(r, m, false)
	require.NoError(t, err)
	for _, result := range x.Report().Passes {
		assert.Nil(t, result.Times)
		assert.EqualValues(t, 1, result.Stats.EstimatedSpeedup)
	}
	require.NoError(t, x.Close(false))
}

// A pool that has no room for the two models of a measurement: the build succeeds, and says so.
func TestMeasurementWithoutMemoryIsAWarning(t *testing.T) {
	r := newRigOf(t, 22<<20, 1)
	before := r.books()
	x, err := measuredBuild(r, repetitive(t, 32<<10), true) // 8 MiB of parameters
	require.NoError(t, err)
	results := x.Report().Passes
	require.True(t, results[0].Applied)
	require.Nil(t, results[0].Times)
	require.Len(t, results[0].Warnings, 1)
	assert.Contains(t, results[0].Warnings[0], "the times of a run were not measured: ")
	require.NoError(t, x.Close(false))
	require.Equal(t, before, r.books())
}

func TestEveryCallFailsOnceDuringAMeasurement(t *testing.T) {
	r := newRig(t)
	m := repetitive(t, 8)
	before := r.books()
	notMeasured := 0
	for n := 1; ; n++ {
		r.dev.failAt(n)
		x, err := measuredBuild(r, m, true)
		reached := r.dev.counted() >= n
		if err == nil {
			for _, result := range x.Report().Passes {
				if result.Applied && result.Times == nil {
					notMeasured++
					require.Len(t, result.Warnings, 1)
				}
			}
			require.NoError(t, x.Close(false))
		} else {
			require.ErrorIs(t, err, device.CodeResourceExhausted, "call %d", n)
		}
		require.Equal(t, before, r.books(), "call %d", n)
		if !reached {
			require.NoError(t, err)
			break
		}
		if n > 40 {
			n += n / 8 // the runs of a measurement are many
		}
	}
	assert.Greater(t, notMeasured, 5)
}

func TestEndedContextEndsAMeasurement(t *testing.T) {
	r := newRig(t)
	before := r.books()
	ctx, cancel := context.WithCancel(context.Background())
	b := new(model.Builder)
	require.NoError(t, b.Passes().Add(shorten{"once"}))
	require.NoError(t, b.Passes().Add(cancelling{cancel}))
	q := r.request(repetitive(t, 8))
	q.Options.Passes, q.Options.MeasurePasses = []string{"once", "cancels"}, true
	_, err := b.Build(ctx, q)
	requireError(t, device.CodeCancelled, err)
	require.Equal(t, before, r.books())
}

// cancelling changes the model, and cancels the build.
type cancelling struct{ cancel func() }

func (c cancelling) Name() string                { return "cancels" }
func (c cancelling) Dependencies() []string      { return nil }
func (c cancelling) IsApplicable(*ir.Model) bool { return true }
func (c cancelling) Apply(_ context.Context, m *ir.Model) (passes.Result, error) {
	c.cancel()
	m.Metadata.Name += " changed"
	return passes.Result{Applied: true}, nil
}
