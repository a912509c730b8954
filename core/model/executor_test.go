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

// The oracles of these tests: package irtest computes a definition with the reference of the operators in
// float64, and rig.naive runs the operations one by one with memory of their own.

// lengths are some lengths of the dynamic dimensions.
var lengths = []map[string]uint64{{"batch": 2, "sequence": 3}, {"batch": 1, "sequence": 1}, {"batch": 3, "sequence": 17}, {"batch": 1, "sequence": 40}}

func TestRandomModelsComputeWhatTheOraclesCompute(t *testing.T) {
	seeds := 60
	if testing.Short() {
		seeds = 15
	}
	r := newRig(t)
	for seed := range uint64(seeds) {
		m := randomModel(t, seed)
		for _, issue := range m.Validate() {
			require.Equal(t, ir.Warning, issue.Severity, "seed %d: %v", seed, issue)
		}
		plain := r.settings(m)
		plain.Plain = true
		packed := plain
		packed.Plain = false
		for _, s := range []model.Settings{plain, packed} {
			x := r.start(s)
			for _, of := range lengths {
				inputs, err := irtest.Inputs(m, of)
				require.NoError(t, err)
				want, err := irtest.Run(m, inputs, irtest.Elements)
				require.NoError(t, err)
				got := r.run(x, inputs)
				require.NoError(t, irtest.Difference(want, values(t, want, got), 1e-4), "seed %d, %v", seed, of)
				require.Equal(t, r.naive(m, inputs), got, "seed %d, %v, plain %v: not the same bits", seed, of, s.Plain)
				require.Equal(t, got, r.run(x, inputs), "the second run has other bits")
			}
			require.NoError(t, x.Close(false))
		}
	}
}

// TestBuffersThatLiveTogetherDoNotOverlap checks plans with times and offsets alone.
func TestBuffersThatLiveTogetherDoNotOverlap(t *testing.T) {
	r := newRig(t)
	for seed := range uint64(40) {
		m := randomModel(t, 1000+seed)
		x := r.start(r.settings(m))
		for _, of := range lengths {
			p, err := x.Plan(context.Background(), of)
			require.NoError(t, err)
			end := uint64(0)
			for i, a := range p.Buffers {
				require.Zero(t, a.OffsetBytes%64)
				require.LessOrEqual(t, a.FirstTime, a.LastTime)
				end = max(end, a.OffsetBytes+a.SizeBytes)
				for _, b := range p.Buffers[:i] {
					isApart := a.LastTime < b.FirstTime || b.LastTime < a.FirstTime
					require.True(t, isApart || a.OffsetBytes+a.SizeBytes <= b.OffsetBytes || b.OffsetBytes+b.SizeBytes <= a.OffsetBytes, "%v and %v", a, b)
				}
			}
			require.LessOrEqual(t, end, p.ArenaBytes)
			require.LessOrEqual(t, p.LowerBoundBytes, p.ArenaBytes)
			require.LessOrEqual(t, p.ArenaBytes, max(p.SumBytes, 64))
			text, err := p.JSON()
			require.NoError(t, err)
			require.Contains(t, string(text), `"lower_bound_bytes"`)
		}
		require.Zero(t, x.Info().ArenaBytes, "a plan takes no memory")
		require.NoError(t, x.Close(false))
	}
}

// chain is three elementwise operations on one value.
func chain(t testing.TB) *ir.Model {
	b := irtest.New(t)
	x := b.Input("x", dtype.F32, "batch", "sequence", 8)
	y := b.Node("first", "Relu", "", x)
	y = b.Node("second", "Tanh", "", y)
	y = b.Node("flat", "Reshape", "", y, b.Constant("shape", 0, -1))
	b.Output(b.Node("third", "Add", "", y, b.Parameter("p", 1)))
	return b.Model()
}

func TestOperationsInPlaceShareOneBuffer(t *testing.T) {
	r := newRig(t)
	x := r.start(r.settings(chain(t)))
	p, err := x.Plan(context.Background(), map[string]uint64{"batch": 2, "sequence": 4})
	require.NoError(t, err)
	require.Len(t, p.Buffers, 1)
	assert.Equal(t, 5, p.Buffers[0].Values)
	assert.Equal(t, uint64(256), p.ArenaBytes)
	assert.Equal(t, uint64(5*256), p.SumBytes)
	assert.Len(t, p.Steps, 3, "a reshape is a view")
}

func TestPartsOfAValueAreViews(t *testing.T) {
	r := newRig(t)
	b := irtest.New(t)
	x := b.Input("x", dtype.F32, "batch", "sequence", 8)
	halves := b.Node("halves", "Split", `{"axis": -1}`, x, b.Constant("sizes", 4, 4))
	b.Output(b.Node("sum", "Add", "", halves, halves.Output(1)))
	e := r.start(r.settings(b.Model()))
	p, err := e.Plan(context.Background(), map[string]uint64{"batch": 2, "sequence": 4})
	require.NoError(t, err)
	require.Len(t, p.Steps, 1)
	assert.Equal(t, "Add", p.Steps[0].Operation)
}

func TestAWarmRunAllocatesNothingFromTheDevice(t *testing.T) {
	r := newRig(t)
	m := randomModel(t, 7)
	x := r.start(r.settings(m))
	inputs, outputs := map[string]*tensor.Tensor{}, map[string]*tensor.Tensor{}
	given, err := irtest.Inputs(m, lengths[2])
	require.NoError(t, err)
	for name, of := range given {
		inputs[name] = r.put(of)
	}
	for _, name := range m.Graph.Outputs {
		outputs[name] = nil
	}
	require.NoError(t, x.Run(context.Background(), inputs, outputs, model.RunOptions{}))
	require.NoError(t, x.Run(context.Background(), inputs, outputs, model.RunOptions{}))
	taken := r.dev.taken
	held := r.backend.Status().MemoryUsage
	for range 3 {
		require.NoError(t, x.Run(context.Background(), inputs, outputs, model.RunOptions{}))
	}
	assert.Equal(t, taken, r.dev.taken)
	assert.Equal(t, held, r.backend.Status().MemoryUsage)
	assert.Equal(t, uint64(5), x.Info().Counters.Runs)
	assert.Equal(t, uint64(1), x.Info().Counters.Plans)
	r.closeAll(inputs)
	r.closeAll(outputs)
}

func TestOneArenaForAllShapesGrowsToTheLargest(t *testing.T) {
	r := newRig(t)
	m := randomModel(t, 3)
	s := r.settings(m)
	s.Shapes = 2
	x := r.start(s)
	var results []map[string][]byte
	sizes := []uint64{}
	for _, of := range lengths {
		inputs, err := irtest.Inputs(m, of)
		require.NoError(t, err)
		results = append(results, r.run(x, inputs))
		sizes = append(sizes, x.Info().ArenaBytes)
	}
	for i, of := range lengths {
		inputs, err := irtest.Inputs(m, of)
		require.NoError(t, err)
		assert.Equal(t, results[i], r.run(x, inputs), "shapes of other lengths, and a larger arena, change nothing")
		p, err := x.Plan(context.Background(), of)
		require.NoError(t, err)
		assert.GreaterOrEqual(t, x.Info().ArenaBytes, p.ArenaBytes)
	}
	assert.IsNonDecreasing(t, sizes)
	info := x.Info()
	assert.Equal(t, 2, info.Shapes)
	assert.Equal(t, uint64(len(lengths)*2), info.Counters.Plans)
	assert.Equal(t, uint64(len(lengths)*2-2), info.Counters.Evictions)
}

// embedding is a model over ids with defaults for two more inputs.
func embedding(t testing.TB) *ir.Model {
	b := irtest.New(t)
	ids := b.Input("input_ids", dtype.I64, "batch", "sequence")
	types := b.Input("token_type_ids", dtype.I64, "batch", "sequence")
	positions := b.Input("position_ids", dtype.I64, "batch", "sequence")
	mask := b.Input("mask", dtype.F32, "batch", "sequence")
	table := b.Parameter("table", 16, 8)
	sum := b.Node("words", "Gather", "", table, ids)
	sum = b.Node("with_types", "Add", "", sum, b.Node("types", "Gather", "", b.Parameter("type_table", 2, 8), types))
	sum = b.Node("with_positions", "Add", "", sum, b.Node("positions", "Gather", "", b.Parameter("position_table", 64, 8), positions))
	sum = b.Node("masked", "Mul", "", sum, b.Node("column", "Unsqueeze", "", mask, b.Constant("axes", 2)))
	b.Output(b.Node("out", "MatMul", "", sum, b.Parameter("matrix", 8, 5)))
	m := b.Model()
	for i := range m.Graph.Nodes {
		n := &m.Graph.Nodes[i]
		rule := map[string]string{"token_type_ids": `"zeros"`, "position_ids": `"positions"`, "mask": `"ones"`}[n.ID]
		if rule != "" {
			n.Metadata[ir.MetadataDefault] = []byte(rule)
		}
	}
	return m
}

func TestInputsThatAreNotGivenHaveTheirDefaults(t *testing.T) {
	r := newRig(t)
	m := embedding(t)
	x := r.start(r.settings(m))
	ids := reference.New(dtype.I64, []uint64{2, 5})
	copy(ids.Ints, []int64{1, 2, 3, 4, 5, 15, 14, 0, 12, 11})
	zeros, positions, ones := reference.New(dtype.I64, ids.Shape), reference.New(dtype.I64, ids.Shape), reference.New(dtype.F32, ids.Shape)
	for i := range ones.Floats {
		positions.Ints[i], ones.Floats[i] = int64(i%5), 1
	}
	few := map[string]*reference.Tensor{"input_ids": ids}
	all := map[string]*reference.Tensor{"input_ids": ids, "token_type_ids": zeros, "position_ids": positions, "mask": ones}
	want, err := irtest.Run(m, all, irtest.Elements)
	require.NoError(t, err)
	got := r.run(x, few)
	require.NoError(t, irtest.Difference(want, values(t, want, got), 1e-5))
	// Another run overwrites the inputs in the arena.
	ones.Floats[3], zeros.Ints[4] = 0, 1
	assert.NotEqual(t, got, r.run(x, all))
	assert.Equal(t, got, r.run(x, few))
	for _, kind := range []dtype.DType{dtype.I32, dtype.U32, dtype.I16, dtype.U8} {
		narrow := reference.New(kind, ids.Shape)
		copy(narrow.Ints, ids.Ints)
		assert.Equal(t, got, r.run(x, map[string]*reference.Tensor{"input_ids": narrow}), "indices of %v", kind)
	}
}

func TestWrongInputsAreNamed(t *testing.T) {
	r := newRig(t)
	x := r.start(r.settings(embedding(t)))
	before := x.Info()
	good := r.ids(2, 4, 1, 2, 3, 4, 5, 6, 7, 8)
	long, other, low, high := r.ids(1, 65), r.ids(2, 5), r.ids(2, 4, 0, -1), r.ids(2, 4, 0, 0, 0, 0, 0, 16)
	flat := r.put(reference.New(dtype.I64, []uint64{8}))
	floats := r.put(reference.New(dtype.F32, []uint64{2, 4}))
	small := r.put(reference.New(dtype.F32, []uint64{2, 4, 4}))
	out := func() map[string]*tensor.Tensor { return map[string]*tensor.Tensor{"out": nil} }
	type tensors = map[string]*tensor.Tensor
	for _, one := range []struct {
		name            string
		inputs, outputs tensors
		says            []string
	}{
		{"missing", tensors{}, out(), []string{`"input_ids"`, "i64[batch, sequence]", "required"}},
		{"unknown", tensors{"input_ids": good, "input_id": good}, out(), []string{`"input_id"`, `nearest is "input_ids"`}},
		{"unknown output", tensors{"input_ids": good}, tensors{"ou": nil}, []string{`output "ou"`, `"out"`}},
		{"no output", tensors{"input_ids": good}, tensors{}, []string{"no output"}},
		{"rank", tensors{"input_ids": flat}, out(), []string{`"input_ids"`, "i64[8]", "i64[batch, sequence]"}},
		{"two lengths", tensors{"input_ids": good, "token_type_ids": other}, out(), []string{`"token_type_ids"`, "i64[2, 5]", `"input_ids"`, "i64[2, 4]", `"sequence"`}},
		{"too long", tensors{"input_ids": long}, out(), []string{`"sequence"`, "65", "at most 64"}},
		{"negative", tensors{"input_ids": low}, out(), []string{`"input_ids"`, "element 1 is -1", `"table"`, "0 to 15"}},
		{"out of the vocabulary", tensors{"input_ids": high}, out(), []string{`"input_ids"`, "element 5 is 16", `"table"`}},
		{"floats", tensors{"input_ids": floats}, out(), []string{`"input_ids"`, "f32[2, 4]", "integers"}},
		{"shape of an output", tensors{"input_ids": good}, tensors{"out": small}, []string{`output "out"`, "f32[2, 4, 4]", "f32[2, 4, 5]"}},
	} {
		t.Run(one.name, func(t *testing.T) {
			requireError(t, device.CodeInvalidArgument, x.Run(context.Background(), one.inputs, one.outputs, model.RunOptions{}), one.says...)
			for _, made := range one.outputs {
				assert.True(t, made == nil || made == small)
			}
		})
	}
	_, err := x.Plan(context.Background(), map[string]uint64{"batch": 1})
	requireError(t, device.CodeInvalidArgument, err, `"sequence"`)
	_, err = x.Plan(context.Background(), map[string]uint64{"batch": 1, "sequence": 1, "heads": 1})
	requireError(t, device.CodeInvalidArgument, err, `"heads"`)
	_, err = x.Plan(context.Background(), map[string]uint64{"batch": 0, "sequence": 1})
	requireError(t, device.CodeInvalidArgument, err, `"batch"`)
	for _, huge := range []uint64{1 << 40, 1 << 62, 1<<63 + 1, 1<<64 - 1} {
		p, err := x.Plan(context.Background(), map[string]uint64{"batch": huge, "sequence": 64})
		if huge == 1<<40 {
			require.NoError(t, err, "a plan takes no memory")
			require.GreaterOrEqual(t, p.ArenaBytes, huge*64*8*4)
			continue
		}
		require.Error(t, err, "%d", huge)
		require.NotEqual(t, device.CodeInternal, device.CodeOf(err), "%v", err)
	}
	after := x.Info()
	after.Counters = before.Counters
	after.ArenaBytes, after.HeldBytes, after.Shapes = before.ArenaBytes, before.HeldBytes, before.Shapes
	assert.Equal(t, before, after)
	r.closeAll(tensors{"a": good, "b": long, "c": other, "d": low, "e": high, "f": flat, "g": floats, "h": small})
}

func TestSettingsThatAreWrong(t *testing.T) {
	r := newRig(t)
	m := chain(t)
	ctx := context.Background()
	build := func(change func(*model.Settings)) error {
		s := r.settings(m)
		change(&s)
		x, err := model.New(ctx, s)
		if err == nil {
			require.NoError(t, x.Close(false))
		}
		return err
	}
	requireError(t, device.CodeInvalidArgument, build(func(s *model.Settings) { s.Definition = nil }), "definition")
	requireError(t, device.CodeInvalidConfig, build(func(s *model.Settings) { s.Shapes = -1 }), "shapes")
	requireError(t, device.CodeInvalidConfig, build(func(s *model.Settings) { s.Fill.Threads = -1 }), "threads")
	requireError(t, device.CodeInvalidArgument, build(func(s *model.Settings) { s.ID = "" }), "id")
	broken := m.Clone()
	broken.Graph.Edges = append(broken.Graph.Edges, ir.Edge{Source: "third", Target: "first"})
	requireError(t, device.CodeInvalidConfig, build(func(s *model.Settings) { s.Definition = broken }))
	missing := m.Clone()
	missing.Parameters[1].Source = "weights.q"
	requireError(t, device.CodeNotFound, build(func(s *model.Settings) { s.Definition, s.Weights = missing, sourceOf(t, m) }), `"p"`, `"weights.q"`, `"weights.p"`)
	wrong := m.Clone()
	wrong.Parameters[1].Shape = []int64{32}
	requireError(t, device.CodeModel, build(func(s *model.Settings) { s.Weights = sourceOf(t, wrong) }), `"p"`, "[1]", "[32]")
	e := r.start(r.settings(m))
	requireError(t, device.CodeModelAlreadyExists, build(func(*model.Settings) {}), `"test"`)
	require.NoError(t, e.Close(false))
	requireError(t, device.CodeInvalidState, e.Close(false), "closed")
	requireError(t, device.CodeInvalidState, e.Run(ctx, nil, nil, model.RunOptions{}), "closed")
	_, err := e.Plan(ctx, nil)
	requireError(t, device.CodeInvalidState, err, "closed")
	assert.Equal(t, model.StateClosed, e.Info().State)
	require.Equal(t, "[]", fmt.Sprint(r.pool.Models()))
}

func TestAModelWithoutParameters(t *testing.T) {
	r := newRig(t)
	b := irtest.New(t)
	x := b.Input("x", dtype.F32, "batch", 3)
	b.Output(b.Node("out", "Relu", "", x), b.Node("same", "Unsqueeze", "", x, b.Constant("axes", 0)))
	m := b.Model()
	e := r.start(r.settings(m))
	inputs, err := irtest.Inputs(m, map[string]uint64{"batch": 2})
	require.NoError(t, err)
	want, err := irtest.Run(m, inputs, irtest.Elements)
	require.NoError(t, err)
	require.NoError(t, irtest.Difference(want, values(t, want, r.run(e, inputs)), 1e-6), "an output may be a view of an input")
	assert.Zero(t, e.Info().Parameters)
}

func TestAModelWhosePoolWasClosedByForceCanBeClosed(t *testing.T) {
	r := newRig(t)
	pool, err := vmm.NewElastic(r.device, vmm.ElasticConfig{Name: "other", LimitBytes: 64 << 20, PageBytes: pageBytes, ReadyPages: -1, Stepped: true})
	require.NoError(t, err)
	m := chain(t)
	s := r.settings(m)
	s.Pool = pool
	x, err := model.New(context.Background(), s)
	require.NoError(t, err)
	inputs, err := irtest.Inputs(m, lengths[0])
	require.NoError(t, err)
	r.run(x, inputs)
	require.NoError(t, pool.Close(true))
	in, out := map[string]*tensor.Tensor{"x": r.put(inputs["x"])}, map[string]*tensor.Tensor{"third": nil}
	require.Error(t, x.Run(context.Background(), in, out, model.RunOptions{}))
	r.closeAll(in)
	require.NoError(t, x.Close(false))
}
