package model_test

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/core/ir"
	"ferrum_mem/core/model"
	"ferrum_mem/core/tensor"
	"ferrum_mem/core/vmm"
)

// requireReadable checks the message of an error as programs see it: no part of it is there twice, it names
// the model once, and it has no negative length.
func requireReadable(t *testing.T, err error, names ...string) {
	t.Helper()
	var typed *device.Error
	require.True(t, errors.As(err, &typed), "%v", err)
	t.Log(typed.Message)
	parts := strings.Split(typed.Op+": "+typed.Message, ": ")
	slices.Sort(parts)
	assert.Equal(t, len(parts), len(slices.Compact(slices.Clone(parts))), "a part is there twice: %s: %s", typed.Op, typed.Message)
	assert.Equal(t, 1, strings.Count(typed.Message, `model "test"`), "%s", typed.Message)
	assert.Equal(t, "test", typed.Facts.Model)
	assert.NotContains(t, typed.Message, "[-")
	for _, name := range names {
		assert.Contains(t, typed.Message, name)
	}
}

func TestMessagesOfExecutors(t *testing.T) {
	r := newRig(t)
	ctx := context.Background()
	over, cancel := context.WithCancel(ctx)
	cancel()
	s := r.settings(embedding(t))
	s.Limits = vmm.ModelLimits{MaxBytes: 3 * pageBytes}
	x := r.start(s)
	ids, wrong, foreign := r.ids(2, 3, 1, 2, 3, 4, 5, 6), r.ids(2, 4), r.ids(1, 1, 16)
	large := r.ids(512, 64)
	run := func(name string, input *tensor.Tensor, output string) error {
		return x.Run(ctx, map[string]*tensor.Tensor{name: input}, map[string]*tensor.Tensor{output: nil}, model.RunOptions{})
	}
	requireReadable(t, run("inputs_ids", ids, "out"), "inputs_ids", `"input_ids"`)
	requireReadable(t, run("mask", ids, "out"), "input_ids", "required")
	requireReadable(t, run("input_ids", ids, "logits"), "logits", "out")
	requireReadable(t, run("input_ids", foreign, "out"), "16", "table")
	requireReadable(t, run("input_ids", large, "out"), "arena")
	requireReadable(t, x.Run(ctx, map[string]*tensor.Tensor{"input_ids": ids}, nil, model.RunOptions{}), "no output")
	requireReadable(t, x.Run(ctx, map[string]*tensor.Tensor{"input_ids": ids, "position_ids": wrong}, map[string]*tensor.Tensor{"out": nil}, model.RunOptions{}),
		"[2, 3]", "[2, 4]")
	requireReadable(t, x.Run(ctx, map[string]*tensor.Tensor{"input_ids": ids}, map[string]*tensor.Tensor{"out": wrong}, model.RunOptions{}),
		"[2, 4]", "[2, 3, 5]")
	plan := func(dims map[string]uint64) error {
		_, err := x.Plan(ctx, dims)
		return err
	}
	requireReadable(t, plan(nil), "batch")
	requireReadable(t, plan(map[string]uint64{"batch": 1, "sequence": 1, "rows": 1}), "rows")
	requireReadable(t, plan(map[string]uint64{"batch": 0, "sequence": 1}), "length 0")
	requireReadable(t, plan(map[string]uint64{"batch": math.MaxUint64, "sequence": 4}), "18446744073709551615")
	requireReadable(t, plan(map[string]uint64{"batch": math.MaxInt64, "sequence": 4}), "9223372036854775807")
	_, err := x.Plan(over, map[string]uint64{"batch": 7, "sequence": 9})
	requireReadable(t, err, "cancelled")
	_, err = x.Sleep(ctx, model.SleepOptions{Backing: vmm.SleepDiscard})
	requireReadable(t, err, "discarded")
	_, err = x.Wake(ctx, vmm.WakeRequest{})
	requireReadable(t, err, "awake")
	_, err = x.Sleep(over, model.SleepOptions{})
	requireReadable(t, err)
	_, err = x.Sleep(ctx, model.SleepOptions{})
	require.NoError(t, err)
	_, err = x.Sleep(ctx, model.SleepOptions{})
	requireReadable(t, err, "sleeps")
	inputs, outputs := map[string]*tensor.Tensor{"input_ids": ids}, map[string]*tensor.Tensor{"out": nil}
	requireReadable(t, x.Run(ctx, inputs, outputs, model.RunOptions{NoWait: true}), "sleeps")
	requireReadable(t, x.Run(over, inputs, outputs, model.RunOptions{}), "cancelled")
	// A call with wrong inputs does not wait for the wake.
	requireReadable(t, x.Run(ctx, map[string]*tensor.Tensor{"ids": ids}, outputs, model.RunOptions{}), "no input \"ids\"")
	_, err = x.Wake(over, vmm.WakeRequest{})
	requireReadable(t, err)
	require.NoError(t, x.Close(false))
	requireReadable(t, x.Close(false), "closed")
	requireReadable(t, run("input_ids", ids, "out"), "closed")
	requireReadable(t, plan(map[string]uint64{"batch": 1, "sequence": 1}), "closed")
	for _, one := range []*tensor.Tensor{ids, wrong, foreign, large} {
		require.NoError(t, one.Close())
	}
}

func TestMessagesOfBuilds(t *testing.T) {
	r := newRigOf(t, 4*pageBytes, 1)
	ctx := context.Background()
	var b model.Builder
	request := func(change func(*model.Request)) error {
		m := embedding(t)
		q := model.Request{ID: "test", Definition: m, Weights: sourceOf(t, m), Backend: r.backend, Pool: r.pool, Options: model.DefaultOptions()}
		change(&q)
		_, err := b.Build(ctx, q)
		return err
	}
	requireReadable(t, request(func(q *model.Request) { q.Definition.Graph.Outputs = []string{"nothing"} }), "graph.outputs", "nothing")
	requireReadable(t, request(func(q *model.Request) { q.Definition.Parameters[0].Source = "nowhere" }), "nowhere")
	requireReadable(t, request(func(q *model.Request) { q.Limits.MaxBytes = pageBytes }), "maximum of 64 KiB")
	requireReadable(t, request(func(q *model.Request) { q.Limits.MaxBytes = 1 }), "max_bytes")
	requireReadable(t, request(func(q *model.Request) { q.Options.OptimizationLevel = 9 }), "optimization_level")
	requireReadable(t, request(func(q *model.Request) { q.Options.EnableCompression = true }), "enable_compression")
	requireReadable(t, request(func(q *model.Request) { q.Path = "/nowhere" }), "a path and a definition")
	requireReadable(t, request(func(q *model.Request) {
		q.Path, q.Definition, q.Weights = "/nowhere", nil, nil
	}), "/nowhere")
	requireReadable(t, request(func(q *model.Request) {
		q.Definition.Parameters[0].Source, q.Definition.Parameters[0].Initialization = "", ir.Initialization{Strategy: ir.StrategyCustom, Name: "mine"}
	}), "mine")
	x, err := b.Build(ctx, model.Request{ID: "test", Definition: embedding(t), Backend: r.backend, Pool: r.pool, Options: model.DefaultOptions()})
	if err == nil {
		requireReadable(t, request(func(*model.Request) {}), "already")
		require.NoError(t, x.Close(false))
	}
	plan := func(level uint32, dims map[string]uint64) error {
		m := embedding(t)
		m.Metadata.Name = "test"
		_, err := b.Plan(ctx, m, r.backend, level, dims)
		return err
	}
	requireReadable(t, plan(0, nil), "batch")
	requireReadable(t, plan(2, map[string]uint64{"batch": math.MaxUint64, "sequence": 4}), "18446744073709551615")
	requireReadable(t, plan(2, map[string]uint64{"batch": math.MaxInt64, "sequence": 4}), "9223372036854775807")
}
