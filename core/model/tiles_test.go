package model_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"ferrum_mem/core/backend"
	"ferrum_mem/core/device"
	"ferrum_mem/core/dtype"
	"ferrum_mem/core/ir"
	"ferrum_mem/core/ir/irtest"
	"ferrum_mem/core/model"
	"ferrum_mem/core/operator/reference"
	"ferrum_mem/core/passes"
	"ferrum_mem/core/tensor"
	"ferrum_mem/core/vmm"
	"ferrum_mem/engines/cpu"
)

// The oracle of these tests is the same model without tiles: its outputs must have the same bits.

// longLengths give products of a part enough rows. Some do not divide into equal parts.
var longLengths = []map[string]uint64{
	{"batch": 3, "sequence": 64, "memory": 9}, {"batch": 7, "sequence": 33, "memory": 64}, {"batch": 131, "sequence": 2, "memory": 3},
	{"batch": 1, "sequence": 64, "memory": 1}, {"batch": 300, "sequence": 1, "memory": 2},
}

// drawnModel makes a definition with attention, norms, layers with several nodes and parts without a use, and runs
// the passes of a level over it.
func drawnModel(t testing.TB, seed uint64, level int) *ir.Model {
	random := rand.New(rand.NewPCG(seed, 3))
	m := irtest.Draw(t, random.IntN)
	list, err := passes.Standard(level)
	require.NoError(t, err)
	if len(list) > 0 {
		m, _, err = passes.Run(context.Background(), m, list, passes.Options{})
		require.NoError(t, err)
	}
	return m
}

// tilesOf returns how many tiles a plan has.
func tilesOf(t testing.TB, x *model.Executor, of map[string]uint64) (tiles int) {
	p, err := x.Plan(context.Background(), known(x, of))
	require.NoError(t, err)
	for _, s := range p.Loops {
		tiles += int(s.Tiles)
	}
	return tiles
}

// known returns the lengths of the dimensions that a model has.
func known(x *model.Executor, of map[string]uint64) map[string]uint64 {
	made := map[string]uint64{}
	for _, in := range x.Info().Inputs {
		for _, name := range in.Dims {
			if length, isThere := of[name]; isThere {
				made[name] = length
			}
		}
	}
	return made
}

func TestTilesHaveTheBitsOfWholeValues(t *testing.T) {
	sets := cpu.Sets()
	for number, threads := range []int{1, 2, 3} {
		set := sets[number%len(sets)]
		t.Run(fmt.Sprint(set, " ", threads), func(t *testing.T) { compareTiles(t, newRigOn(t, set, 1<<30, threads)) })
	}
}

func compareTiles(t *testing.T, r *rig) {
	seeds := 60
	if testing.Short() {
		seeds = 12
	}
	divided, tiles := 0, 0
	for seed := range uint64(seeds) {
		m := randomModel(t, 2000+seed)
		if seed%2 == 1 {
			m = drawnModel(t, seed, int(seed/2%4))
		}
		s := r.settings(m)
		s.Plain, s.NoTiles = seed%4 == 0, true
		whole := r.start(s)
		s.ID, s.NoTiles = "tiled", false
		tiled := r.start(s)
		tiled.UseSmallTiles()
		for _, of := range longLengths {
			inputs, err := irtest.Inputs(m, of)
			require.NoError(t, err)
			require.Equal(t, r.run(whole, inputs), r.run(tiled, inputs), "seed %d, %v: not the same bits", seed, of)
			require.Zero(t, tilesOf(t, whole, of))
			if n := tilesOf(t, tiled, of); n > 0 {
				divided, tiles = divided+1, tiles+n
				requireSmaller(t, whole, tiled, of)
			}
		}
		require.NoError(t, whole.Close(false))
		require.NoError(t, tiled.Close(false))
	}
	t.Logf("%d of %d shapes have %d tiles", divided, seeds*len(longLengths), tiles)
	require.Greater(t, divided, seeds/6)
}

// requireSmaller checks the plan with tiles.
func requireSmaller(t *testing.T, whole, tiled *model.Executor, of map[string]uint64) {
	t.Helper()
	before, err := whole.Plan(context.Background(), known(whole, of))
	require.NoError(t, err)
	p, err := tiled.Plan(context.Background(), known(tiled, of))
	require.NoError(t, err)
	require.Less(t, p.LowerBoundBytes, before.LowerBoundBytes)
	require.Len(t, p.Steps, len(before.Steps))
	require.LessOrEqual(t, p.ArenaBytes, p.SumBytes)
	last := 0
	for _, s := range p.Loops {
		require.Greater(t, s.FirstTime, last)
		require.GreaterOrEqual(t, s.LastTime, s.FirstTime)
		last = s.LastTime
		require.GreaterOrEqual(t, s.Length, s.Tiles)
		require.Equal(t, (s.Length+s.Tiles-1)/s.Tiles, s.TileLength)
		for i := s.FirstTime; i <= s.LastTime; i++ {
			require.Equal(t, s.Tiles, p.Steps[i-1].Tiles)
		}
	}
	for i, a := range p.Buffers {
		for _, b := range p.Buffers[:i] {
			isApart := a.LastTime < b.FirstTime || b.LastTime < a.FirstTime
			require.True(t, isApart || a.OffsetBytes+a.SizeBytes <= b.OffsetBytes || b.OffsetBytes+b.SizeBytes <= a.OffsetBytes, "%v and %v", a, b)
		}
	}
}

// TestMiniLMInTiles compares the model with and without tiles at each level, for the best instruction set.
func TestMiniLMInTiles(t *testing.T) {
	folder := miniLM(t)
	for _, threads := range []int{1, 2} {
		r := newRigOf(t, 1<<30, threads)
		for level := range uint8(model.MaxOptimizationLevel + 1) {
			// With -short the race detector runs, which does not see the kernels.
			if (threads > 1 || testing.Short()) && level != 2 {
				continue
			}
			build := func(id, more string) *model.Executor {
				o, err := model.ParseOptions(fmt.Appendf(nil, `{"optimization_level": %d, "additional_options": {%s}}`, level, more))
				require.NoError(t, err)
				x, err := new(model.Builder).Build(context.Background(), model.Request{ID: id, Path: folder, Backend: r.backend, Pool: r.pool, Options: o})
				require.NoError(t, err)
				return x
			}
			whole, tiled := build("whole", `"tiles": false`), build("tiled", "")
			for _, of := range []map[string]uint64{{"batch": 1, "sequence": 128}, {"batch": 8, "sequence": 128}, {"batch": 3, "sequence": 100}, {"batch": 9, "sequence": 21}} {
				definition, err := whole.Definition()
				require.NoError(t, err)
				inputs, err := irtest.Inputs(definition, of)
				require.NoError(t, err)
				require.Equal(t, r.run(whole, inputs), r.run(tiled, inputs), "level %d, %d threads, %v: not the same bits", level, threads, of)
				before, err := whole.Plan(context.Background(), of)
				require.NoError(t, err)
				after, err := tiled.Plan(context.Background(), of)
				require.NoError(t, err)
				assert.Empty(t, before.Loops)
				assert.LessOrEqual(t, after.ArenaBytes, before.ArenaBytes)
				if of["batch"] == 8 {
					assert.Less(t, after.ArenaBytes, before.ArenaBytes/2)
				}
				t.Logf("level %d, %d threads, %v: arena %d without tiles, %d with %+v", level, threads, of, before.ArenaBytes, after.ArenaBytes, after.Loops)
			}
			require.NoError(t, whole.Close(false))
			require.NoError(t, tiled.Close(false))
		}
	}
}

// feedForward is two linear layers with a norm, which run in tiles by the rule of builds.
func feedForward(t testing.TB) *ir.Model {
	b := irtest.New(t)
	x := b.Input("x", dtype.F32, "batch", "sequence", 32)
	wide := b.Node("wide", "ferrum.linear", `{"activation": "gelu"}`, x, b.Parameter("up", 128, 32), b.Parameter("bias", 128))
	narrow := b.Node("narrow", "ferrum.linear", "", wide, b.Parameter("down", 32, 128))
	b.Output(b.Node("out", "ferrum.layer_norm_residual", "", narrow, x, b.Parameter("scale", 32)))
	return b.Model()
}

func TestThePlanHasTheTiles(t *testing.T) {
	r := newRig(t)
	x := r.start(r.settings(feedForward(t)))
	p, err := x.Plan(context.Background(), map[string]uint64{"batch": 8, "sequence": 64})
	require.NoError(t, err)
	assert.Equal(t, []model.PlannedLoop{{Dimension: "batch", FirstTime: 1, LastTime: 3, Tiles: 4, Length: 8, TileLength: 2}}, p.Loops)
	for i, node := range []string{"wide", "narrow", "out"} {
		assert.Equal(t, node, p.Steps[i].Node)
		assert.EqualValues(t, 4, p.Steps[i].Tiles)
	}
	sizes := map[string]uint64{}
	for _, b := range p.Buffers {
		if b.Role != model.RoleWorkspace {
			sizes[b.Name] = b.SizeBytes
		}
	}
	assert.Equal(t, map[string]uint64{"x": 8 * 64 * 32 * 4, "wide": 2 * 64 * 128 * 4, "narrow": 2 * 64 * 32 * 4, "out": 8 * 64 * 32 * 4}, sizes)
	text, err := p.JSON()
	require.NoError(t, err)
	assert.Contains(t, string(text), `"loops":[{"dimension":"batch","first_time":1,"last_time":3,"tiles":4,"length":8,"tile_length":2}]`)
	// The arena of 64 tokens is small.
	for _, of := range []map[string]uint64{{"batch": 1, "sequence": 64}, {"batch": 2, "sequence": 32}} {
		p, err = x.Plan(context.Background(), of)
		require.NoError(t, err)
		assert.Empty(t, p.Loops, "%v", of)
	}
	s := r.settings(feedForward(t))
	s.NoTiles = true
	p, err = model.Plan(context.Background(), s, map[string]uint64{"batch": 8, "sequence": 64})
	require.NoError(t, err)
	assert.Empty(t, p.Loops)
	assert.EqualValues(t, 1, p.Steps[0].Tiles)
}

// A backend of level 0 keeps no plans, so each tile is planned anew.
func TestTilesOfABackendThatKeepsNoPlans(t *testing.T) {
	c := backend.DefaultConfig()
	c.Threads, c.OptimizationLevel = 1, 0
	r := newRigWith(t, 1<<30, c)
	m := feedForward(t)
	of := map[string]uint64{"batch": 9, "sequence": 64}
	inputs, err := irtest.Inputs(m, of)
	require.NoError(t, err)
	s := r.settings(m)
	s.NoTiles = true
	want := r.run(r.start(s), inputs)
	s.ID, s.NoTiles = "tiled", false
	tiled := r.start(s)
	require.Equal(t, want, r.run(tiled, inputs))
	require.Equal(t, 4, tilesOf(t, tiled, of), "one tile of 3 sequences and 3 of 2")
}

func TestTheOptionOfTilesIsTrueOrFalse(t *testing.T) {
	_, err := model.ParseOptions([]byte(`{"additional_options": {"tiles": 1}}`))
	requireError(t, device.CodeInvalidConfig, err, "additional_options.tiles")
}

func TestATiledModelSleepsAndWakes(t *testing.T) {
	r := newRig(t)
	m := feedForward(t)
	x := r.start(r.settings(m))
	of := map[string]uint64{"batch": 9, "sequence": 64}
	inputs, err := irtest.Inputs(m, of)
	require.NoError(t, err)
	before := r.run(x, inputs)
	require.Positive(t, tilesOf(t, x, of))
	_, err = x.Sleep(context.Background(), model.SleepOptions{})
	require.NoError(t, err)
	require.Positive(t, tilesOf(t, x, of), "a sleeping model has its plans")
	_, err = x.Wake(context.Background(), vmm.WakeRequest{})
	require.NoError(t, err)
	require.Equal(t, before, r.run(x, inputs))
}

func TestAWarmRunInTilesTakesNoMemory(t *testing.T) {
	r := newRig(t)
	m := feedForward(t)
	x := r.start(r.settings(m))
	given, err := irtest.Inputs(m, map[string]uint64{"batch": 8, "sequence": 64})
	require.NoError(t, err)
	inputs, outputs := map[string]*tensor.Tensor{"x": r.put(given["x"])}, map[string]*tensor.Tensor{"out": nil}
	for range 2 {
		require.NoError(t, x.Run(context.Background(), inputs, outputs, model.RunOptions{}))
	}
	taken, held := r.dev.taken, r.backend.Status().MemoryUsage
	for range 3 {
		require.NoError(t, x.Run(context.Background(), inputs, outputs, model.RunOptions{}))
	}
	assert.Equal(t, taken, r.dev.taken)
	assert.Equal(t, held, r.backend.Status().MemoryUsage)
	r.closeAll(inputs)
	r.closeAll(outputs)
}

func TestDefaultsOfInputsInTiles(t *testing.T) {
	r := newRig(t)
	m := embedding(t)
	s := r.settings(m)
	s.NoTiles = true
	whole := r.start(s)
	s.ID, s.NoTiles = "tiled", false
	tiled := r.start(s)
	tiled.UseSmallTiles()
	of := map[string]uint64{"batch": 160, "sequence": 5}
	require.Positive(t, tilesOf(t, tiled, of))
	ids := reference.New(dtype.I64, []uint64{160, 5})
	for i := range ids.Ints {
		ids.Ints[i] = int64(i*i) % 16
	}
	few := map[string]*reference.Tensor{"input_ids": ids}
	require.Equal(t, r.run(whole, few), r.run(tiled, few))
}

// Each call of the device and of the engine fails once, while the shape is planned, bound and run.
func TestAFailedRunInTilesLeavesNothing(t *testing.T) {
	r := newRig(t)
	m := feedForward(t)
	given, err := irtest.Inputs(m, map[string]uint64{"batch": 8, "sequence": 64})
	require.NoError(t, err)
	inputs := map[string]*tensor.Tensor{"x": r.put(given["x"])}
	for n := 1; ; n++ {
		x := r.start(r.settings(m))
		before := r.books()
		outputs := map[string]*tensor.Tensor{"out": nil}
		r.dev.failAt(n)
		err := x.Run(context.Background(), inputs, outputs, model.RunOptions{})
		reached := r.dev.counted() >= n
		if err != nil {
			require.Nil(t, outputs["out"])
			after := r.books()
			after.used, after.status = before.used, before.status // the shape may be planned
			require.Equal(t, before, after)
			require.NoError(t, x.Run(context.Background(), inputs, outputs, model.RunOptions{}), "the next run succeeds, call %d", n)
		} else {
			require.False(t, reached, "call %d has failed, and the run has not", n)
		}
		require.NoError(t, outputs["out"].Close())
		require.NoError(t, x.Close(false))
		if !reached {
			break
		}
	}
	r.closeAll(inputs)
}
