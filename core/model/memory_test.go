package model_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/core/dtype"
	"ferrum_mem/core/ir"
	"ferrum_mem/core/ir/irtest"
	"ferrum_mem/core/model"
	"ferrum_mem/core/operator/reference"
	"ferrum_mem/core/tensor"
	"ferrum_mem/core/vmm"
)

func TestTiedParametersAreInMemoryOnce(t *testing.T) {
	r := newRig(t)
	b := irtest.New(t)
	x := b.Input("x", dtype.F32, "batch", 8)
	one, other := b.Parameter("one", 8, 8), b.Add(ir.Parameter{Name: "other", Shape: []int64{8, 8}, Source: "weights.one"})
	b.Output(b.Node("out", "MatMul", "", b.Node("middle", "MatMul", "", x, one), other))
	m := b.Model()
	m.Parameters[0].Initialization = ir.Initialization{}
	for _, isPlain := range []bool{true, false} {
		s := r.settings(m)
		s.Plain = isPlain
		e := r.start(s)
		info := e.Info()
		assert.Equal(t, uint64(64), info.Parameters)
		if isPlain {
			assert.Equal(t, uint64(256), info.ParameterBytes)
			assert.Zero(t, info.PackedBytes)
		} else {
			assert.NotZero(t, info.PackedBytes)
			assert.Equal(t, info.PackedBytes, info.ParameterBytes)
		}
		inputs, err := irtest.Inputs(m, map[string]uint64{"batch": 4})
		require.NoError(t, err)
		want, err := irtest.Run(m, inputs, func(p *ir.Parameter) (*reference.Tensor, error) { return irtest.Elements(&m.Parameters[0]) })
		require.NoError(t, err)
		require.NoError(t, irtest.Difference(want, values(t, want, r.run(e, inputs)), 1e-5))
		require.NoError(t, e.Close(false))
	}
}

// TestModelsShareAnElasticPool has two models of which only one fits awake.
func TestModelsShareAnElasticPool(t *testing.T) {
	r := newRig(t)
	b := irtest.New(t)
	x := b.Input("x", dtype.F32, "batch", 256)
	b.Output(b.Node("out", "MatMul", "", x, b.Parameter("p", 256, 256)))
	m := b.Model()
	s := r.settings(m)
	s.Plain = true
	one := r.start(s)
	inputs, err := irtest.Inputs(m, map[string]uint64{"batch": 16})
	require.NoError(t, err)
	want := r.run(one, inputs)
	ctx := context.Background()
	held := one.Info().HeldBytes
	require.NoError(t, r.pool.SetLimit(2*held-pageBytes))
	s.ID = "other"
	s.Limits.GuaranteedBytes = held
	_, err = model.New(ctx, s)
	require.ErrorIs(t, err, device.CodeOutOfPhysicalMemory, "the pages of the first model do not back the guarantee")
	_, err = one.Sleep(ctx, model.SleepOptions{})
	require.NoError(t, err)
	other := r.start(s)
	require.Equal(t, want, r.run(other, inputs))
	_, err = one.Wake(ctx, vmm.WakeRequest{NoWait: true})
	require.ErrorIs(t, err, device.CodeOutOfPhysicalMemory)
	require.True(t, one.IsAsleep())
	_, err = other.Sleep(ctx, model.SleepOptions{})
	require.NoError(t, err)
	_, err = one.Wake(ctx, vmm.WakeRequest{NoWait: true})
	require.ErrorIs(t, err, device.CodeOutOfPhysicalMemory, "the guarantee stays that of the sleeping model")
	require.NoError(t, other.Close(false))
	_, err = one.Wake(ctx, vmm.WakeRequest{NoWait: true})
	require.NoError(t, err)
	require.Equal(t, want, r.run(one, inputs))
}

// TestABuildNeedsLittleMoreThanTheModel counts the pages of a build whose matrices are packed.
func TestABuildNeedsLittleMoreThanTheModel(t *testing.T) {
	r := newRig(t)
	b := irtest.New(t)
	v := b.Input("x", dtype.F32, "batch", 128)
	for i := range 40 {
		v = b.Node(fmt.Sprint("n", i), "MatMul", "", v, b.Parameter(fmt.Sprint("p", i), 128, 128))
	}
	b.Output(v)
	s := r.settings(b.Model())
	s.Fill.WorkingSetBytes, s.Fill.Threads = 2*pageBytes, 2
	x := r.start(s)
	info := x.Info()
	assert.Equal(t, info.ParameterBytes, info.PackedBytes)
	assert.Equal(t, uint64(40*128*128), info.Parameters)
	assert.LessOrEqual(t, r.pool.Stats().PeakPhysicalBytes, info.ParameterBytes+3*pageBytes)
	assert.LessOrEqual(t, info.HeldBytes, info.ParameterBytes+pageBytes, "the scratch memory was freed")
}

func TestAPlanBeforeTheBuild(t *testing.T) {
	r := newRig(t)
	m := randomModel(t, 21)
	s := r.settings(m)
	early, err := model.Plan(context.Background(), s, lengths[2])
	require.NoError(t, err)
	require.Empty(t, r.pool.Models())
	x := r.start(s)
	late, err := x.Plan(context.Background(), lengths[2])
	require.NoError(t, err)
	assert.Equal(t, early, late)
	assert.NotZero(t, late.ParameterBytes)
	assert.GreaterOrEqual(t, x.Info().HeldBytes, late.ParameterBytes)
	_, err = model.Plan(context.Background(), model.Settings{}, nil)
	requireError(t, device.CodeInvalidArgument, err)
	_, err = model.Plan(context.Background(), s, map[string]uint64{"batch": 1})
	requireError(t, device.CodeInvalidArgument, err, `"sequence"`)
}

func TestADimensionThatOneInputFixesIsFixedForAll(t *testing.T) {
	r := newRig(t)
	b := irtest.New(t)
	x, y := b.Input("x", dtype.F32, "batch", "sequence"), b.Input("y", dtype.F32, "batch", 3)
	b.Output(b.Node("out", "Concat", `{"axis": 1}`, x, y))
	m := b.Model()
	for i := range m.Graph.Nodes {
		if m.Graph.Nodes[i].ID == "y" {
			m.Graph.Nodes[i].Metadata[ir.MetadataDims] = []byte(`["batch", "sequence"]`)
		}
	}
	e := r.start(r.settings(m))
	p, err := e.Plan(context.Background(), map[string]uint64{"batch": 2})
	require.NoError(t, err, "the length of the sequence is known")
	assert.NotZero(t, p.ArenaBytes)
	ones := func(length uint64) *reference.Tensor {
		made := reference.New(dtype.F32, []uint64{2, length})
		for i := range made.Floats {
			made.Floats[i] = 1
		}
		return made
	}
	r.run(e, map[string]*reference.Tensor{"x": ones(3), "y": ones(3)})
	in := map[string]*tensor.Tensor{"x": r.put(ones(2)), "y": r.put(ones(3))}
	requireError(t, device.CodeInvalidArgument, e.Run(context.Background(), in, map[string]*tensor.Tensor{"out": nil}, model.RunOptions{}), `"x"`, "f32[2, 2]", "f32[batch, 3]")
	r.closeAll(in)
	_, err = e.Plan(context.Background(), map[string]uint64{"batch": 2, "sequence": 3})
	requireError(t, device.CodeInvalidArgument, err, `"sequence"`)
}
