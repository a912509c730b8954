package estimate

import (
	"math"
	"math/big"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"ferrum_mem/core/device"
)

func mistral7B(dtypeBytes uint64) InferenceShape {
	return InferenceShape{ModelShape: ModelShape{
		HiddenSize: 4096, IntermediateSize: 14336, Layers: 32, VocabSize: 32000, Heads: 32, KVHeads: 8, DTypeBytes: dtypeBytes,
	}, MaxSeqLen: 4096}
}

func TestSeedExampleInFP32(t *testing.T) {
	e, err := EstimateInferenceMemory(mistral7B(4))
	require.NoError(t, err)
	assert.Equal(t, InferenceMemoryEstimate{
		ModelBytes: 28966928384, KVCacheBytes: 1073741824, ActivationBytes: 262144, TotalBytes: 30040932352,
	}, e)
	assert.InDelta(t, 27.98, e.TotalGB(), 0.005)
	assert.Greater(t, e.TotalGB(), 20.0)
	assert.Less(t, e.TotalGB(), 40.0)
}

func TestSeedExampleInFP16(t *testing.T) {
	e, err := EstimateInferenceMemory(mistral7B(2))
	require.NoError(t, err)
	assert.EqualValues(t, 15020466176, e.TotalBytes)
	assert.InDelta(t, 13.99, e.TotalGB(), 0.005)
}

func TestSeedEstimateInUnits(t *testing.T) {
	e := InferenceMemoryEstimate{ModelBytes: 3 << 19, KVCacheBytes: 1 << 20, ActivationBytes: 1 << 18, TotalBytes: 11 << 18}
	assert.Equal(t, 1.5, e.ModelMB())
	assert.Equal(t, 1.0, e.KVCacheMB())
	assert.Equal(t, 0.25, e.ActivationMB())
	assert.Equal(t, 2.75, e.TotalMB())
	assert.Equal(t, 2.75/1024, e.TotalGB())
	assert.Equal(t, "model 1.50 MiB + KV cache 1.00 MiB + activations 0.25 MiB = 2.75 MiB (0.00 GiB)", e.String())
}

func TestSeedKVCache(t *testing.T) {
	bytes, err := EstimateKVCacheMemory(KVCacheShape{Layers: 32, KVHeads: 8, HeadDim: 128, MaxSeqLen: 4096, DTypeBytes: 4})
	require.NoError(t, err)
	assert.EqualValues(t, 1073741824, bytes)
	_, err = EstimateKVCacheMemory(KVCacheShape{Layers: math.MaxUint64, KVHeads: 1, HeadDim: 1, MaxSeqLen: 1, DTypeBytes: 1})
	assert.Equal(t, device.CodeOverflow, device.CodeOf(err))
	bytes, err = EstimateKVCacheMemory(KVCacheShape{Layers: math.MaxUint64, KVHeads: math.MaxUint64, HeadDim: 0, MaxSeqLen: 1, DTypeBytes: 1})
	require.NoError(t, err, "0 layers of any size have 0 bytes")
	assert.Zero(t, bytes)
}

func TestSeedRefusesNoHeads(t *testing.T) {
	s := mistral7B(4)
	s.Heads = 0
	_, err := EstimateModelMemory(s.ModelShape)
	assert.Equal(t, device.CodeInvalidArgument, device.CodeOf(err))
	assert.ErrorContains(t, err, "n_heads is 0")
	_, err = EstimateInferenceMemory(s)
	assert.Equal(t, device.CodeInvalidArgument, device.CodeOf(err))
}

// The reference model computes the formula with unbounded integers. The estimate equals
// that result, or reports an overflow.
func TestSeedAgainstUnboundedNumbers(t *testing.T) {
	amount := rapid.OneOf(rapid.Uint64Range(0, 1<<20), rapid.Uint64())
	rapid.Check(t, func(t *rapid.T) {
		draw := func(name string) uint64 { return amount.Draw(t, name) }
		s := InferenceShape{ModelShape: ModelShape{
			draw("hidden"), draw("inner"), draw("layers"), draw("vocab"), max(1, draw("heads")), draw("kv"), draw("bytes"),
		}, MaxSeqLen: draw("sequence")}
		n := func(v uint64) *big.Int { return new(big.Int).SetUint64(v) }
		mul := func(f ...*big.Int) *big.Int {
			p := n(1)
			for _, x := range f {
				p.Mul(p, x)
			}
			return p
		}
		add := func(f ...*big.Int) *big.Int {
			p := n(0)
			for _, x := range f {
				p.Add(p, x)
			}
			return p
		}
		h, i, dim := n(s.HiddenSize), n(s.IntermediateSize), n(s.HiddenSize/s.Heads)
		layer := add(mul(n(2), h, h), mul(n(2), h, n(s.KVHeads), dim), mul(n(3), h, i), mul(n(2), h))
		model := mul(add(mul(n(s.Layers), layer), mul(n(2), n(s.VocabSize), h), h), n(s.DTypeBytes))
		cache := mul(n(2), n(s.Layers), n(s.MaxSeqLen), n(s.KVHeads), dim, n(s.DTypeBytes))
		activation := mul(n(2), n(s.DTypeBytes), add(h, mul(n(2), i)))
		total := add(model, cache, activation)

		e, err := EstimateInferenceMemory(s)
		if err == nil {
			require.Equal(t, total.String(), n(e.TotalBytes).String())
			require.Equal(t, model.String(), n(e.ModelBytes).String())
			require.Equal(t, cache.String(), n(e.KVCacheBytes).String())
			require.Equal(t, activation.String(), n(e.ActivationBytes).String())
			return
		}
		require.Equal(t, device.CodeOverflow, device.CodeOf(err))
		// Without layers or element bytes a part is 0, but the product of its other factors
		// may still overflow.
		if s.Layers != 0 && s.DTypeBytes != 0 {
			require.False(t, total.IsUint64(), "%v: %v", s, err)
		}
		require.Zero(t, e)
	})
}
