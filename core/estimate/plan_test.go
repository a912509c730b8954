package estimate

import (
	"math/big"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"ferrum_mem/core/device"
)

func subject(t testing.TB, name string) *Subject {
	x, err := Open(configPath(name))
	require.NoError(t, err)
	return x
}

func planOf(t testing.TB, x *Subject, s Serving) Plan {
	p, err := x.Plan(s)
	require.NoError(t, err)
	return p
}

// The expected values are the bytes of the cache in BF16 unless the case has another type.
// The widths are from the reports of the models.
func TestKVCacheOfPublishedModels(t *testing.T) {
	for _, c := range []struct {
		name    string
		context uint64
		bytes   uint64
	}{
		{"llama-3.1-8b", 1, 32 * 2 * 8 * 128 * 2},
		{"llama-3.1-8b", 131072, 16 << 30},
		{"llama-2-7b", 4096, 2 << 30},
		{"mixtral-8x7b-v0.1", 1, 131072},
		{"mistral-7b-v0.1", 4096, 131072 * 4096},
		{"mistral-7b-v0.1", 32768, 131072 * 4096},
		{"gemma-2-9b", 8192, 2 * 8 * 256 * 4 * (21*8192 + 21*4096)},
		{"gemma-3-1b", 32768, 2 * 1 * 256 * 2 * (4*32768 + 22*512)},
		{"qwen3-0.6b", 1, 28 * 2 * 8 * 128 * 2},
		{"deepseek-v3", 1, 61 * (512 + 64) * 2},
		{"deepseek-v2-lite", 1, 27 * (512 + 64) * 2},
		{"bert-base-uncased", 512, 0},
	} {
		assert.Equal(t, c.bytes, planOf(t, subject(t, c.name), Serving{Context: c.context, Batch: 1}).KVCacheLeastBytes, c.name)
	}
	x := subject(t, "llama-3.1-8b")
	for _, c := range []struct {
		dtype DType
		bytes uint64
	}{{Float32, 512}, {Float16, 256}, {Float8, 128}, {Int8, 136}, {Int4, 72}} {
		p := planOf(t, x, Serving{Context: 10, Batch: 3, KVDType: c.dtype})
		assert.Equal(t, 10*3*32*2*8*c.bytes, p.KVCacheBytes, c.dtype.Name)
	}
}

func TestWeightsOfPublishedModels(t *testing.T) {
	s := Serving{Context: 1, Batch: 1}
	assert.EqualValues(t, 2*8030261248, planOf(t, subject(t, "llama-3.1-8b"), s).WeightsBytes)
	assert.EqualValues(t, 4*9241705984, planOf(t, subject(t, "gemma-2-9b"), s).WeightsBytes)
	s.WeightDType = Float8
	// The matrices of the layers have 8 bits. The two of the vocabulary and the norms have
	// 16.
	assert.EqualValues(t, 8030261248+2*128256*4096+65*4096, planOf(t, subject(t, "llama-3.1-8b"), s).WeightsBytes)
	s.WeightDType = Int4
	small := planOf(t, subject(t, "llama-3.1-8b"), s).WeightsBytes
	linear := uint64(8030261248 - 2*128256*4096 - 65*4096)
	assert.Equal(t, linear/2+linear/32*2+2*(8030261248-linear), small)
	// Nearly all of the 671B parameters have 8 bits.
	v3 := planOf(t, subject(t, "deepseek-v3"), Serving{Context: 1, Batch: 1})
	assert.InDelta(t, 671e9, float64(v3.WeightsBytes), 4e9)
}

func TestActivations(t *testing.T) {
	x, err := OpenConfig("c", configText(t, map[string]any{"num_key_value_heads": 2}))
	require.NoError(t, err)
	const h, i, heads, kv, dim, vocab = 64, 256, 8, 2, 8, 1000
	activation := func(s Serving) uint64 { return planOf(t, x, s).ActivationBytes }
	// With few tokens, the logits of the last token of each sequence are the largest part.
	assert.EqualValues(t, 2*3*h*2+3*vocab*6, activation(Serving{Context: 1, Batch: 3}))
	// With many tokens, the MLP is the largest part. With the logits of all tokens, the
	// logits are the largest part again.
	assert.EqualValues(t, 2*100*h*2+100*(2*i+h)*2, activation(Serving{Context: 100, Batch: 1}))
	assert.EqualValues(t, 2*100*h*2+100*vocab*6, activation(Serving{Context: 100, Batch: 1, AllLogits: true}))
	// Attention that stores its scores is the largest part.
	eager := 100*2*(heads+kv)*dim*2 + 100*heads*100*6
	assert.EqualValues(t, 2*100*h*2+eager, activation(Serving{Context: 100, Batch: 1, EagerAttention: true}))
	// A step has at most 10 tokens of prompts, but always at least one token of each
	// sequence.
	assert.Equal(t, activation(Serving{Context: 10, Batch: 1}), activation(Serving{Context: 100, Batch: 1, PrefillTokens: 10}))
	assert.Equal(t, activation(Serving{Context: 1, Batch: 40}), activation(Serving{Context: 100, Batch: 40, PrefillTokens: 10}))
	// An encoder reads whole texts, so PrefillTokens changes nothing.
	e := subject(t, "all-minilm-l6-v2")
	assert.Equal(t, planOf(t, e, Serving{Context: 512, Batch: 2}), planOf(t, e, Serving{Context: 512, Batch: 2, PrefillTokens: 1}))
	assert.EqualValues(t, 2*1024*384*4+1024*(1536+384)*4, planOf(t, e, Serving{Context: 512, Batch: 2}).ActivationBytes)
}

func TestHeadsOnSeveralDevices(t *testing.T) {
	for _, c := range []struct{ heads, kv, tp, wantHeads, wantKV uint64 }{
		{32, 8, 1, 32, 8}, {32, 8, 2, 16, 4}, {32, 8, 8, 4, 1}, {32, 8, 16, 2, 1}, {32, 8, 32, 1, 1},
		{14, 2, 2, 7, 1}, {40, 10, 5, 8, 2}, {40, 10, 20, 2, 1}, {28, 4, 28, 1, 1}, {12, 12, 6, 2, 2},
	} {
		m := Model{Attention: Attention{Heads: c.heads, KVHeads: c.kv}}
		assert.Empty(t, m.divides(c.tp), c)
		heads, kv := m.Attention.split(c.tp)
		assert.Equal(t, [2]uint64{c.wantHeads, c.wantKV}, [2]uint64{heads, kv}, c)
	}
	for _, c := range []struct {
		heads, kv, tp uint64
		says          string
	}{
		{32, 8, 3, "the 32 attention heads cannot be divided by 3"},
		{32, 8, 64, "the 32 attention heads cannot be divided by 64"},
		{40, 10, 4, "the 10 key-value heads cannot be divided by 4 devices, nor the devices by the heads"},
		{48, 6, 16, "the 6 key-value heads cannot be divided by 16 devices, nor the devices by the heads"},
	} {
		m := Model{Attention: Attention{Heads: c.heads, KVHeads: c.kv}}
		assert.Equal(t, c.says, m.divides(c.tp))
	}
	x := subject(t, "llama-3.1-8b")
	_, err := x.Fit(Serving{Context: 1, Batch: 1, TensorParallel: 5}, 1<<40)
	assert.Equal(t, device.CodeInvalidArgument, device.CodeOf(err))
	assert.ErrorContains(t, err, "tensor_parallel 5: the 32 attention heads cannot be divided by 5")
	one, eight := planOf(t, x, Serving{Context: 1000, Batch: 1}), planOf(t, x, Serving{Context: 1000, Batch: 1, TensorParallel: 8})
	assert.Equal(t, one.Parameters, eight.Parameters, "the parameters are those of the whole model")
	assert.Equal(t, one.KVCacheBytes/8, eight.KVCacheBytes)
	norms := uint64(65 * 4096 * 2)
	assert.Equal(t, (one.WeightsBytes-norms)/8+norms, eight.WeightsBytes)
	sixteen := planOf(t, x, Serving{Context: 1000, Batch: 1, TensorParallel: 16})
	assert.Equal(t, eight.KVCacheBytes, sixteen.KVCacheBytes, "a head of keys and values is not cut")
}

func TestServingOutOfBounds(t *testing.T) {
	x, e := subject(t, "llama-3.1-8b"), subject(t, "all-minilm-l6-v2")
	for says, s := range map[string]Serving{
		"context 0 is not within 1 to":               {Batch: 1},
		"batch 0 is not within 1 to":                 {Context: 1},
		"context 1099511627777":                      {Context: 1<<40 + 1, Batch: 1},
		"tensor_parallel 65537 is not within":        {Context: 1, Batch: 1, TensorParallel: 65537},
		"overhead_permille 1001 is not within":       {Context: 1, Batch: 1, OverheadPermille: 1001},
		"prefill_tokens 1099511627777 is not within": {Context: 1, Batch: 1, PrefillTokens: 1<<40 + 1},
	} {
		_, err := x.Plan(s)
		assert.Equal(t, device.CodeInvalidArgument, device.CodeOf(err))
		assert.ErrorContains(t, err, says)
	}
	_, err := e.Plan(Serving{Context: 513, Batch: 1})
	assert.Equal(t, device.CodeInvalidArgument, device.CodeOf(err))
	assert.ErrorContains(t, err, "context 513: this model has a table of 512 positions")
	_, err = x.Plan(Serving{Context: 1 << 40, Batch: 1 << 40})
	assert.Equal(t, device.CodeOverflow, device.CodeOf(err))
	assert.ErrorContains(t, err, "the size of the KV cache")
	_, err = ParseDType("f7")
	assert.Equal(t, device.CodeInvalidArgument, device.CodeOf(err))
	assert.ErrorContains(t, err, `"f7" is not one of f32, f16`)
}

// serving draws settings for serving a model. If the positions of the model are learned,
// the context is at most their number.
func serving(t *rapid.T, m *Model) Serving {
	dtypes := []DType{{}, Float32, Float16, BFloat16, Float8, Int8, Int4}
	top := uint64(1 << 20)
	if m.PositionsLearned {
		top = m.Positions
	}
	return Serving{
		Context: rapid.Uint64Range(1, top).Draw(t, "context"), Batch: rapid.Uint64Range(1, 1<<12).Draw(t, "batch"),
		KVDType: rapid.SampledFrom(dtypes).Draw(t, "kv"), WeightDType: rapid.SampledFrom(dtypes).Draw(t, "weights"),
		TensorParallel: rapid.SampledFrom(devicesOf(m)).Draw(t, "devices"), BlockTokens: rapid.Uint64Range(1, 1024).Draw(t, "block"),
		PrefillTokens:  rapid.Uint64Range(1, 1<<16).Draw(t, "prefill"),
		EagerAttention: rapid.Bool().Draw(t, "eager"), AllLogits: rapid.Bool().Draw(t, "logits"),
		OverheadPermille: rapid.Uint64Range(0, 1000).Draw(t, "overhead"),
	}
}

// devicesOf returns the numbers of devices, up to 128, over which a model can be divided.
func devicesOf(m *Model) (list []uint64) {
	for n := range uint64(128) {
		if m.divides(n+1) == "" {
			list = append(list, n+1)
		}
	}
	return list
}

func anyModel(t *testing.T) *rapid.Generator[*Subject] {
	var all []*Subject
	for _, p := range published {
		all = append(all, subject(t, p.file))
	}
	return rapid.SampledFrom(all)
}

// No part becomes smaller when an argument grows, and no part becomes larger on more
// devices.
func TestPlansAreMonotone(t *testing.T) {
	models := anyModel(t)
	rapid.Check(t, func(t *rapid.T) {
		x := models.Draw(t, "model")
		s := serving(t, x.Model)
		before, err := x.Plan(s)
		require.NoError(t, err)
		more := s
		step := rapid.Uint64Range(1, 1<<16)
		fewer := false
		switch rapid.IntRange(0, 7).Draw(t, "argument") {
		case 0:
			more.Context += step.Draw(t, "step")
			if x.Model.PositionsLearned {
				more.Context = x.Model.Positions
			}
		case 1:
			more.Batch += step.Draw(t, "step")
		case 2:
			more.PrefillTokens += step.Draw(t, "step")
		case 3:
			more.OverheadPermille = 1000
		case 4:
			more.EagerAttention = true
		case 5:
			more.AllLogits = true
		case 6:
			s.KVDType = rapid.SampledFrom([]DType{Float8, Int4, Int8, Float16}).Draw(t, "small")
			more.KVDType = Float32
			before, err = x.Plan(s)
			require.NoError(t, err)
		case 7:
			list := devicesOf(x.Model)
			more.TensorParallel = rapid.SampledFrom(list[slices.Index(list, s.TensorParallel):]).Draw(t, "devices more")
			fewer = true
		}
		after, err := x.Plan(more)
		require.NoError(t, err)
		if fewer {
			before, after = after, before
		}
		require.Equal(t, before.Parameters, after.Parameters)
		require.LessOrEqual(t, before.KVCacheLeastBytes, before.KVCacheBytes)
		require.LessOrEqual(t, before.KVCacheBytes, before.KVCacheMostBytes)
		for _, pair := range [][2]uint64{
			{before.WeightsBytes, after.WeightsBytes}, {before.KVCacheBytes, after.KVCacheBytes},
			{before.KVCacheLeastBytes, after.KVCacheLeastBytes}, {before.KVCacheMostBytes, after.KVCacheMostBytes}, {before.StateBytes, after.StateBytes},
			{before.ActivationBytes, after.ActivationBytes}, {before.OverheadBytes, after.OverheadBytes}, {before.TotalBytes, after.TotalBytes},
		} {
			require.LessOrEqual(t, pair[0], pair[1], "%+v then %+v: %+v then %+v", s, more, before, after)
		}
	})
}

// The returned maximum fits, and one more does not.
func TestTheMostThatFitsIsExact(t *testing.T) {
	models := anyModel(t)
	rapid.Check(t, func(t *rapid.T) {
		x := models.Draw(t, "model")
		s := serving(t, x.Model)
		free := rapid.Uint64Range(0, 1<<rapid.IntRange(20, 44).Draw(t, "bits")).Draw(t, "free")
		v, err := x.Fit(s, free)
		require.NoError(t, err)
		require.Equal(t, v.TotalBytes <= free, v.Fits)
		require.Equal(t, free, v.TotalBytes+v.LeftBytes-v.MissingBytes)
		fits := func(change func(*Serving)) bool {
			n := s
			change(&n)
			p, err := x.Plan(n)
			if device.CodeOf(err) == device.CodeOverflow {
				return false
			}
			require.NoError(t, err)
			return p.TotalBytes <= free
		}
		for _, m := range []struct {
			most Most
			set  func(uint64) func(*Serving)
		}{
			{v.MaxContext, func(n uint64) func(*Serving) { return func(s *Serving) { s.Context = n } }},
			{v.MaxBatch, func(n uint64) func(*Serving) { return func(s *Serving) { s.Batch = n } }},
		} {
			if m.most.Value > 0 {
				require.True(t, fits(m.set(m.most.Value)))
			}
			if m.most.LimitedBy == ByMemory {
				require.False(t, fits(m.set(m.most.Value+1)))
			}
		}
		require.Equal(t, v.Fits, s.Context <= v.MaxContext.Value)
		require.Equal(t, v.Fits, s.Batch <= v.MaxBatch.Value)
	})
}

// Sums, products and shares are correct, or the calculation reports an overflow.
func TestArithmeticAgainstUnboundedNumbers(t *testing.T) {
	n := func(v uint64) *big.Int { return new(big.Int).SetUint64(v) }
	number := rapid.OneOf(rapid.Uint64Range(0, 1<<33), rapid.Uint64())
	rapid.Check(t, func(t *rapid.T) {
		list := rapid.SliceOfN(number, 0, 5).Draw(t, "numbers")
		sum, product := n(0), n(1)
		for _, v := range list {
			sum.Add(sum, n(v))
			product.Mul(product, n(v))
		}
		var s, p calculation
		gotSum, gotProduct := s.sum(list...), p.product(list...)
		require.Equal(t, !sum.IsUint64(), s.overflowed)
		require.Equal(t, !product.IsUint64(), p.overflowed)
		if !s.overflowed {
			require.Equal(t, sum.Uint64(), gotSum)
		}
		if !p.overflowed {
			require.Equal(t, product.Uint64(), gotProduct)
		}
		whole := max(1, number.Draw(t, "whole"))
		amount, part := number.Draw(t, "amount"), number.Draw(t, "part")
		var c calculation
		got := c.share(amount, part, whole)
		want := new(big.Int).Mul(n(amount), n(part))
		want.Add(want, n(whole-1)).Div(want, n(whole))
		require.Equal(t, !want.IsUint64(), c.overflowed)
		if !c.overflowed {
			require.Equal(t, want.Uint64(), got)
		}
		require.Equal(t, new(big.Int).Div(new(big.Int).Add(n(amount), n(whole-1)), n(whole)).Uint64(), ceilDiv(amount, whole))
	})
}

func TestSubjects(t *testing.T) {
	folder := t.TempDir()
	write := func(name string, text []byte) string {
		path := filepath.Join(folder, name)
		require.NoError(t, os.WriteFile(path, text, 0o600))
		return path
	}
	s := Serving{Context: 10, Batch: 1, OverheadPermille: 100}
	// Weights without a configuration: the plan has no cache and no activations.
	weights := new(file).add("w", "F32", 50, 20).add("position_ids", "I64", 4).write(t, folder, "model.safetensors")
	x, err := Open(weights)
	require.NoError(t, err)
	assert.Equal(t, Plan{Parameters: 1000, WeightsBytes: 4000, BufferBytes: 32, OverheadBytes: 404, TotalBytes: 4436}, planOf(t, x, s))
	assert.Contains(t, x.Notes[0], "there is no config.json")
	s.TensorParallel, s.WeightDType = 3, Float16
	assert.EqualValues(t, 667, planOf(t, x, s).WeightsBytes)
	s.WeightDType = DType{}
	assert.EqualValues(t, 1334, planOf(t, x, s).WeightsBytes)
	v, err := x.Fit(s, 1<<20)
	require.NoError(t, err)
	assert.Equal(t, ByNothing, v.MaxContext.LimitedBy)
	assert.EqualValues(t, 1, x.DefaultContext())

	// With a configuration beside the weights, the file and its folder give the same plan.
	config := write(ConfigName, configText(t, nil))
	for _, path := range []string{weights, folder} {
		x, err = Open(path)
		require.NoError(t, err)
		p := planOf(t, x, Serving{Context: 10, Batch: 1})
		assert.EqualValues(t, 1000, p.Parameters, "the files decide the number of parameters")
		assert.NotZero(t, p.KVCacheBytes)
		assert.EqualValues(t, 128, x.DefaultContext())
		require.Len(t, x.Notes, 1)
		assert.Contains(t, x.Notes[0], "the files hold 1000 parameters, the configuration implies ")
	}
	// The configuration without weights.
	x, err = Open(config)
	require.NoError(t, err)
	assert.Nil(t, x.Checkpoint)

	// The elements of packed weights are not the parameters of the model.
	new(file).add("w.qweight", "I32", 100).add("w.scales", "F16", 10).write(t, folder, "model.safetensors")
	x, err = Open(folder)
	require.NoError(t, err)
	implied, err := x.Model.Parameters()
	require.NoError(t, err)
	p := planOf(t, x, Serving{Context: 10, Batch: 1})
	assert.Equal(t, implied, p.Parameters)
	assert.EqualValues(t, 420, p.WeightsBytes)
	require.NoError(t, os.Remove(config))
	x, err = Open(folder)
	require.NoError(t, err)
	_, err = x.Plan(Serving{Context: 1, Batch: 1, WeightDType: Float16})
	assert.ErrorContains(t, err, "dtype f16: these files hold packed weights")
}

func TestSubjectsThatAreNotThere(t *testing.T) {
	folder := t.TempDir()
	for _, path := range []string{folder, filepath.Join(folder, "config.json"), filepath.Join(folder, "m.safetensors")} {
		_, err := Open(path)
		assert.Equal(t, device.CodeNotFound, device.CodeOf(err), path)
	}
	require.NoError(t, os.WriteFile(filepath.Join(folder, ConfigName), configText(t, nil), 0o600))
	_, err := Open(folder)
	require.NoError(t, err, "a configuration is enough")
	writeIndex(t, folder, map[string]string{"a": "gone.safetensors"})
	_, err = Open(folder)
	assert.Equal(t, device.CodeNotFound, device.CodeOf(err), "a missing file of an index is an error")
}
