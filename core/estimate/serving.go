package estimate

import "ferrum_mem/core/device"

// Defaults of Serving.
const (
	// DefaultPrefillTokens is how many tokens engines that cut long prompts
	// commonly compute at once.
	DefaultPrefillTokens = 2048
	// DefaultOverheadPermille is what the pools of this library take beyond what
	// is alive in them: 1.6 %, the area of physical over live memory measured on
	// the Azure code trace, paged with groups, 4 blocks a page (docs/rationale.md).
	DefaultOverheadPermille = 16
	// MaxTensorParallel bounds the devices that a model is spread over.
	MaxTensorParallel = 1 << 16
	maxBlockTokens    = 1 << 20
)

// Serving is how a model is to be served.
type Serving struct {
	// Context is the tokens of one sequence, prompt and answer; Batch the
	// sequences at a time. Both are at least 1.
	Context uint64
	Batch   uint64
	// KVDType is the type of the cache; zero: that of the activations.
	KVDType DType
	// WeightDType is the type that weights are converted to; zero: as stored.
	WeightDType DType
	// TensorParallel is the devices that the model is spread over; 0: 1.
	TensorParallel uint64
	// PrefillTokens is the most tokens computed at once, over all sequences,
	// but one of each; 0: whole prompts. Encoders compute whole texts.
	PrefillTokens uint64
	// EagerAttention keeps the scores of all pairs of tokens, which fused
	// kernels do not.
	EagerAttention bool
	// AllLogits makes the logits of every token, not of the last of each
	// sequence.
	AllLogits bool
	// OverheadPermille is the allocator's share, in thousandths of the rest.
	OverheadPermille uint64
	// BlockTokens is the tokens of a block of the cache; 0: DefaultBlockTokens.
	BlockTokens uint64
}

// check holds a serving to its bounds and fills its defaults in.
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
		return device.Errorf(device.CodeInvalidArgument, opPlan, "context %d: this model has a table of %d positions and can go no further", s.Context, m.Positions)
	}
	if m != nil {
		if why := m.divides(s.TensorParallel); why != "" {
			return device.Errorf(device.CodeInvalidArgument, opPlan, "tensor_parallel %d: %s", s.TensorParallel, why)
		}
	}
	return nil
}
