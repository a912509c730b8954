package estimate

import "ferrum_mem/core/device"

// The defaults and bounds of Serving.
const (
	// DefaultPrefillTokens is the usual number of tokens that engines with chunked
	// prefill compute at once.
	DefaultPrefillTokens = 2048
	// DefaultOverheadPermille is the memory that the pools of this library need beyond
	// the live memory: 1.6 %, the area of physical over live memory measured on the
	// Azure code trace, paged with groups, 4 blocks a page (docs/rationale.md).
	DefaultOverheadPermille = 16
	// MaxTensorParallel bounds the number of devices of a model.
	MaxTensorParallel = 1 << 16
	maxBlockTokens    = 1 << 20
)

// Serving has the settings with which a model is served.
type Serving struct {
	// Context is the number of tokens of one sequence, prompt and answer. Batch is the
	// number of concurrent sequences. Both are at least 1.
	Context uint64
	Batch   uint64
	// KVDType is the type of the cache; the zero value: the type of the activations.
	KVDType DType
	// WeightDType is the type to which weights are converted; the zero value: as
	// stored.
	WeightDType DType
	// TensorParallel is the number of devices of the model; 0: 1.
	TensorParallel uint64
	// PrefillTokens is the maximum number of tokens that are computed at once, over all
	// sequences, but at least one of each; 0: whole prompts. Encoders compute whole
	// texts.
	PrefillTokens uint64
	// EagerAttention keeps the scores of all pairs of tokens; fused kernels do not keep
	// them.
	EagerAttention bool
	// AllLogits computes the logits of every token, and not only of the last token of
	// each sequence.
	AllLogits bool
	// OverheadPermille is the overhead of the allocator, in thousandths of the rest.
	OverheadPermille uint64
	// BlockTokens is the number of tokens of a block of the cache; 0:
	// DefaultBlockTokens.
	BlockTokens uint64
}

// check checks the bounds of a serving and fills in its defaults.
func (s *Serving) check(x *Subject) error {
	if s.TensorParallel == 0 {
		s.TensorParallel = 1
	}
	if s.BlockTokens == 0 {
		s.BlockTokens = DefaultBlockTokens
	}
	bounds := []struct {
		name            string
		value, low, top uint64
	}{
		{"context", s.Context, 1, maxNumber}, {"batch", s.Batch, 1, maxNumber},
		{"tensor_parallel", s.TensorParallel, 1, MaxTensorParallel},
		{"prefill_tokens", s.PrefillTokens, 0, maxNumber}, {"overhead_permille", s.OverheadPermille, 0, 1000},
		{"block_tokens", s.BlockTokens, 1, maxBlockTokens},
	}
	for _, b := range bounds {
		if b.value < b.low || b.value > b.top {
			return device.Errorf(device.CodeInvalidArgument, opPlan, "%s %d is not within %d to %d", b.name, b.value, b.low, b.top)
		}
	}
	m := x.Model
	if m != nil && m.PositionsLearned && s.Context > m.Positions {
		return device.Errorf(device.CodeInvalidArgument, opPlan, "context %d: this model has a table of %d positions, which is its longest context", s.Context, m.Positions)
	}
	if m != nil {
		if why := m.divides(s.TensorParallel); why != "" {
			return device.Errorf(device.CodeInvalidArgument, opPlan, "tensor_parallel %d: %s", s.TensorParallel, why)
		}
	}
	return nil
}
