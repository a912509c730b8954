package estimate

import (
	"fmt"

	"ferrum_mem/core/device"
)

// ModelShape is the input of the short formula for weights.
type ModelShape struct {
	HiddenSize       uint64
	IntermediateSize uint64
	Layers           uint64
	VocabSize        uint64
	// Heads is the number of attention heads and not 0; KVHeads the number of heads of
	// keys and values.
	Heads   uint64
	KVHeads uint64
	// DTypeBytes is the size of one element.
	DTypeBytes uint64
}

// KVCacheShape is the input of the short formula for the cache.
type KVCacheShape struct {
	Layers     uint64
	KVHeads    uint64
	HeadDim    uint64
	MaxSeqLen  uint64
	DTypeBytes uint64
}

// InferenceShape is a model and its sequence length.
type InferenceShape struct {
	ModelShape
	MaxSeqLen uint64
}

// InferenceMemoryEstimate is the result of EstimateInferenceMemory, in bytes.
type InferenceMemoryEstimate struct {
	ModelBytes      uint64
	KVCacheBytes    uint64
	ActivationBytes uint64
	// TotalBytes is the sum of the three.
	TotalBytes uint64
}

// EstimateModelMemory returns the bytes of the weights of a transformer with a gated
// MLP, by the formula of the contract. Each layer has 2h² for queries and output,
// 2h(kv·(h/n)) for keys and values, 3hi for the MLP, and 2h for two norms. To this are
// added 2Vh for embedding and output, and h for the last norm. The sum is multiplied by
// the size of an element. h/n is rounded down. The formula ignores tied embeddings,
// biases, experts and separate head sizes; Plan includes them.
//
// It returns CodeInvalidArgument for Heads of 0, and CodeOverflow for a result above 64
// bits.
func EstimateModelMemory(s ModelShape) (uint64, error) {
	const op = "estimate.model_memory"
	if s.Heads == 0 {
		return 0, device.Errorf(device.CodeInvalidArgument, op, "n_heads is 0: a model has at least one attention head")
	}
	var c calculation
	h := s.HiddenSize
	kvWidth := c.product(s.KVHeads, h/s.Heads)
	layer := c.sum(c.product(2, h, h), c.product(2, h, kvWidth), c.product(3, h, s.IntermediateSize), c.product(2, h))
	elements := c.sum(c.product(s.Layers, layer), c.product(2, s.VocabSize, h), h)
	bytes := c.product(elements, s.DTypeBytes)
	return result(bytes, c.err(op, "the size of the model"))
}

// ModelMemory calls EstimateModelMemory for the shape.
func (s ModelShape) ModelMemory() (uint64, error) { return EstimateModelMemory(s) }

// EstimateKVCacheMemory returns the bytes of the keys and values of one sequence, by
// the formula of the contract: 2 x layers x sequence x KV heads x head size x the size
// of an element. It returns CodeOverflow for a result above 64 bits.
func EstimateKVCacheMemory(s KVCacheShape) (uint64, error) {
	var c calculation
	bytes := c.product(2, s.Layers, s.MaxSeqLen, s.KVHeads, s.HeadDim, s.DTypeBytes)
	return result(bytes, c.err("estimate.kv_cache_memory", "the size of the KV cache"))
}

// EstimateInferenceMemory returns the sum of model, cache and activations, by the
// formula of the contract. The activations are those of one token: 2 x the size of an
// element x (h + 2i). Errors: those of the other two functions.
func EstimateInferenceMemory(s InferenceShape) (InferenceMemoryEstimate, error) {
	const op = "estimate.inference_memory"
	model, err := EstimateModelMemory(s.ModelShape)
	if err != nil {
		return InferenceMemoryEstimate{}, err
	}
	cache, err := EstimateKVCacheMemory(KVCacheShape{
		Layers: s.Layers, KVHeads: s.KVHeads, HeadDim: s.HiddenSize / s.Heads, MaxSeqLen: s.MaxSeqLen, DTypeBytes: s.DTypeBytes,
	})
	if err != nil {
		return InferenceMemoryEstimate{}, err
	}
	var c calculation
	activation := c.product(2, s.DTypeBytes, c.sum(s.HiddenSize, c.product(2, s.IntermediateSize)))
	total := c.sum(model, cache, activation)
	if err := c.err(op, "the sum of model, KV cache and activations"); err != nil {
		return InferenceMemoryEstimate{}, err
	}
	return InferenceMemoryEstimate{ModelBytes: model, KVCacheBytes: cache, ActivationBytes: activation, TotalBytes: total}, nil
}

func result(bytes uint64, err error) (uint64, error) {
	if err != nil {
		return 0, err
	}
	return bytes, nil
}

const (
	bytesPerMB = 1 << 20
	bytesPerGB = 1 << 30
)

// TotalGB returns the total in units of 2^30 bytes.
func (e InferenceMemoryEstimate) TotalGB() float64 { return float64(e.TotalBytes) / bytesPerGB }

// TotalMB returns the total in units of 2^20 bytes.
func (e InferenceMemoryEstimate) TotalMB() float64 { return float64(e.TotalBytes) / bytesPerMB }

// ModelMB returns the weights in units of 2^20 bytes.
func (e InferenceMemoryEstimate) ModelMB() float64 { return float64(e.ModelBytes) / bytesPerMB }

// KVCacheMB returns the KV cache in units of 2^20 bytes.
func (e InferenceMemoryEstimate) KVCacheMB() float64 { return float64(e.KVCacheBytes) / bytesPerMB }

// ActivationMB returns the activations in units of 2^20 bytes.
func (e InferenceMemoryEstimate) ActivationMB() float64 {
	return float64(e.ActivationBytes) / bytesPerMB
}

// String returns a summary in one line.
func (e InferenceMemoryEstimate) String() string {
	return fmt.Sprintf("model %.2f MiB + KV cache %.2f MiB + activations %.2f MiB = %.2f MiB (%.2f GiB)",
		e.ModelMB(), e.KVCacheMB(), e.ActivationMB(), e.TotalMB(), e.TotalGB())
}
