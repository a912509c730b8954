package model_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"ferrum_mem/core/dtype"
	"ferrum_mem/core/ir"
	"ferrum_mem/core/ir/irtest"
	"ferrum_mem/core/model"
	"ferrum_mem/core/operator/reference"
	"ferrum_mem/core/passes"
)

// rounded returns the elements of a parameter as a build has them: rounded to blocks if the type has
// blocks.
func rounded(p *ir.Parameter) (*reference.Tensor, error) {
	if p.DType < dtype.GGUFBase {
		return irtest.Elements(p)
	}
	plain := *p
	plain.DType = dtype.F32
	plain.Parts = nil
	for _, part := range p.Parts {
		part.DType = dtype.F32
		plain.Parts = append(plain.Parts, part)
	}
	elements, err := irtest.Elements(&plain)
	if err != nil {
		return nil, err
	}
	singles, err := elements.Bytes()
	if err != nil {
		return nil, err
	}
	size, err := p.DType.Size(uint64(len(elements.Floats)))
	if err != nil {
		return nil, err
	}
	blocks := make([]byte, size)
	if err := dtype.Convert(p.DType, blocks, dtype.F32, singles); err != nil {
		return nil, err
	}
	return reference.FromBytes(p.DType, elements.Shape, blocks)
}

// withQuantisation names the standard passes and one that quantises.
func withQuantisation(t *testing.T, name string) []string {
	t.Helper()
	list, err := passes.Standard(2)
	require.NoError(t, err)
	var names []string
	for _, p := range list {
		names = append(names, p.Name())
	}
	return append(names, name)
}

// A build rounds the matrices that a pass quantises: merged ones, those of the weights, and those that it
// initialises.
func TestQuantisedMatricesAreRoundedInABuild(t *testing.T) {
	r := newRig(t)
	b := irtest.New(t)
	x := b.Input("x", dtype.F32, "batch", "sequence", 64)
	product := func(name string, x irtest.Value, rows, columns int64) irtest.Value {
		return b.Node(name, "ferrum.linear", "", x, b.Parameter(name+".w", rows, columns), b.Parameter(name+".b", rows))
	}
	y := b.Node("attention", "Attention", `{"q_num_heads":4,"kv_num_heads":4}`, product("q", x, 64, 64), product("k", x, 64, 64), product("v", x, 64, 64))
	ones := b.Add(ir.Parameter{Name: "ones", Shape: []int64{96, 64}, Initialization: ir.Initialization{Strategy: ir.StrategyOnes}})
	y = b.Node("active", "Gelu", "", b.Node("inner", "ferrum.linear", "", y, ones))
	b.Output(product("outer", y, 40, 96))
	// The oracle does not know the elements that a build makes from its seed.
	random := b.Add(ir.Parameter{Name: "random", Shape: []int64{64, 64}, Initialization: ir.Initialization{Strategy: ir.StrategyXavier}})
	random = b.Node("random product", "ferrum.linear", "", x, random)
	b.Output(random)
	m := b.Model()
	for _, name := range []string{"quantize_q8_0", "quantize_q4_0"} {
		q := r.request(m)
		q.Options.Passes = withQuantisation(t, name)
		made, err := new(model.Builder).Build(context.Background(), q)
		require.NoError(t, err)
		changed, err := made.Definition()
		require.NoError(t, err)
		for _, of := range lengths {
			inputs, err := irtest.Inputs(m, of)
			require.NoError(t, err)
			want, err := irtest.Run(changed, inputs, rounded)
			require.NoError(t, err)
			got := values(t, want, r.run(made, inputs))
			seeded := got[random.ID()]
			require.NotEqual(t, seeded.Floats[0], seeded.Floats[1])
			delete(want, random.ID())
			delete(got, random.ID())
			require.NoError(t, irtest.Difference(want, got, 1e-4), "%s %v", name, of)
		}
		results := made.Report().Passes
		assert.True(t, results[len(results)-1].Applied)
		require.NoError(t, made.Close(false))
	}
}

// With matrices of Q8_0 MiniLM needs less memory, and its cosines change little.
func TestMiniLMQuantised(t *testing.T) {
	folder, told := miniLM(t), readSentences(t)
	r := newRigOf(t, 1<<30, 1)
	inputs := map[string]*reference.Tensor{"input_ids": table(told.IDs), "attention_mask": table(told.Mask)}
	held := map[bool]uint64{}
	for _, isQuantised := range []bool{false, true} {
		q := model.Request{Path: folder, Backend: r.backend, Pool: r.pool, Options: model.DefaultOptions()}
		if isQuantised {
			q.Options.Passes = withQuantisation(t, "quantize_q8_0")
		}
		x, err := new(model.Builder).Build(context.Background(), q)
		require.NoError(t, err)
		held[isQuantised] = x.Info().HeldBytes
		got := r.run(x, inputs)
		rows, tokens := len(told.IDs), len(told.IDs[0])
		hidden, err := reference.FromBytes(dtype.F32, []uint64{uint64(rows), uint64(tokens), 384}, got["last_hidden_state"])
		require.NoError(t, err)
		vectors := pooled(hidden, told.Mask)
		for i, published := range []float64{0.6945773, 0.9429151, 0.2568761} {
			got := cosine(vectors[0], vectors[i+1])
			t.Logf("quantised %v: cosine %.7f, published %.7f", isQuantised, got, published)
			assert.InDelta(t, published, got, 0.005)
		}
		require.NoError(t, x.Close(false))
	}
	t.Logf("held: %d bytes, quantised %d", held[false], held[true])
	// 10,616,832 elements of matrices in the layers, and 147,456 of the pooler, have 34 bytes for 32
	// elements instead of 4 for each.
	assert.Less(t, held[true], held[false]-25_000_000)
}

func TestOptionsChooseTheBlocks(t *testing.T) {
	r := newRig(t)
	b := irtest.New(t)
	x := b.Input("x", dtype.F32, "batch", 64)
	b.Output(b.Node("out", "ferrum.linear", "", x, b.Parameter("matrix", 32, 64)))
	m := b.Model()
	for _, format := range []string{"q8_0", "q4_0"} {
		q := r.request(m)
		q.Options.EnableQuantization, q.Options.QuantizationConfig = true, []byte(fmt.Sprintf(`{"format": %q}`, format))
		x, err := new(model.Builder).Build(context.Background(), q)
		require.NoError(t, err)
		changed, err := x.Definition()
		require.NoError(t, err)
		require.Len(t, changed.Parameters, 1)
		assert.Equal(t, format, changed.Parameters[0].DType.String())
		require.NoError(t, x.Close(false))
	}
}
