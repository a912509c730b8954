package model_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/core/dtype"
	"ferrum_mem/core/ir"
	"ferrum_mem/core/ir/irtest"
	"ferrum_mem/core/model"
	"ferrum_mem/core/tensor"
	"ferrum_mem/core/vmm"
)

// books are what must be the same after a call that failed.
type books struct {
	models []string
	used   uint64
	memory map[string]uint64
	status string
}

func (r *rig) books() books {
	stats := r.pool.Stats()
	specific := r.backend.Status().Specific
	return books{r.pool.Models(), stats.PhysicalBytes, nil, string(specific["tensors"]) + " " + string(specific["operations"]) + " " + string(specific["sequences"])}
}

func TestEveryCallFailsOnceDuringABuild(t *testing.T) {
	r := newRig(t)
	m := embedding(t)
	s := r.settings(m)
	s.Fill.WorkingSetBytes = 1
	before := r.books()
	n := 1
	for ; ; n++ {
		r.dev.failAt(n)
		x, err := model.New(context.Background(), s)
		reached := r.dev.counted() >= n
		if err == nil {
			require.NoError(t, x.Close(false))
		} else {
			require.ErrorIs(t, err, device.CodeResourceExhausted, "call %d", n)
		}
		require.Equal(t, before, r.books(), "call %d", n)
		if !reached {
			require.NoError(t, err)
			break
		}
	}
	assert.Greater(t, n, 20)
}

func TestEveryCallFailsOnceDuringAFirstRun(t *testing.T) {
	r := newRig(t)
	m := embedding(t)
	ctx := context.Background()
	ids := r.ids(2, 4, 1, 2, 3, 4, 5, 6, 7, 8)
	inputs := map[string]*tensor.Tensor{"input_ids": ids}
	for n := 1; ; n++ {
		x, err := model.New(ctx, r.settings(m))
		require.NoError(t, err)
		before := r.books()
		r.dev.failAt(n)
		outputs := map[string]*tensor.Tensor{"out": nil}
		err = x.Run(ctx, inputs, outputs, model.RunOptions{})
		reached := r.dev.counted() >= n
		if err != nil {
			require.Nil(t, outputs["out"])
			after := r.books()
			after.used, after.status = before.used, before.status // the shape may be planned
			require.Equal(t, before, after)
			outputs["out"] = nil
			require.NoError(t, x.Run(ctx, inputs, outputs, model.RunOptions{}), "the next run succeeds, call %d", n)
		}
		require.NoError(t, outputs["out"].Close())
		require.NoError(t, x.Close(false))
		if !reached {
			require.NoError(t, err)
			break
		}
	}
	require.NoError(t, ids.Close())
}

func TestAPoolThatIsFull(t *testing.T) {
	r := newRigOf(t, 6*pageBytes, 1)
	b := irtest.New(t)
	x := b.Input("x", dtype.F32, "batch", 256)
	b.Output(b.Node("out", "MatMul", "", x, b.Parameter("p", 256, 256)))
	m := b.Model()
	before := r.books()
	s := r.settings(m)
	s.Limits = vmm.ModelLimits{MaxBytes: 3 * pageBytes}
	_, err := model.New(context.Background(), s)
	require.ErrorIs(t, err, device.CodeOutOfPhysicalMemory)
	require.Equal(t, before, r.books())
	// 262144 bytes of parameters are 4 pages, and the working set would be 4 more.
	_, err = model.New(context.Background(), r.settings(m))
	require.ErrorIs(t, err, device.CodeOutOfPhysicalMemory)
	require.Equal(t, before, r.books())
	plain := r.settings(m)
	plain.Plain = true
	e, err := model.New(context.Background(), plain)
	require.NoError(t, err, "without packing no scratch memory is needed")
	err = e.Run(context.Background(), map[string]*tensor.Tensor{"x": nil}, nil, model.RunOptions{})
	requireError(t, device.CodeInvalidArgument, err)
	in := r.ids(1, 1)
	_, err = e.Plan(context.Background(), map[string]uint64{"batch": 1 << 20})
	require.NoError(t, err)
	require.NoError(t, in.Close())
	require.NoError(t, e.Close(false))
}

func TestACancelledBuildLeavesNothing(t *testing.T) {
	r := newRig(t)
	m := embedding(t)
	before := r.books()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err := model.New(ctx, r.settings(m))
	requireError(t, device.CodeCancelled, err)
	require.Equal(t, before, r.books())
	// A rule of the program cancels half-way.
	ctx, cancel = context.WithCancel(context.Background())
	defer cancel()
	own := m.Clone()
	for i := range own.Parameters {
		if p := &own.Parameters[i]; p.Source != "" {
			p.Source, p.Initialization = "", ir.Initialization{Strategy: ir.StrategyCustom, Name: "mine"}
		}
	}
	s := r.settings(own)
	s.Fill.Threads = 1
	calls := 0
	s.Fill.Initializers = map[string]model.Initializer{"mine": func(p *ir.Parameter, index uint64) float64 {
		if calls++; calls == 100 {
			cancel()
		}
		return float64(index)
	}}
	_, err = model.New(ctx, s)
	requireError(t, device.CodeCancelled, err)
	require.Equal(t, before, r.books())
	require.False(t, errors.Is(err, device.CodeInternal))
}
