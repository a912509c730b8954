package estimate

import "ferrum_mem/core/device"

const opPlan = "estimate.plan"

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
}

// Plan is what one device needs, in bytes: of several the one that holds most.
type Plan struct {
	// Parameters are the floating-point elements of the weights of the whole
	// model.
	Parameters uint64
	// WeightsBytes are the weights; BufferBytes what else the checkpoint holds,
	// such as tables of positions.
	WeightsBytes uint64
	BufferBytes  uint64
	KVCacheBytes uint64
	// ActivationBytes is the peak within one pass through the model.
	ActivationBytes uint64
	// OverheadBytes is the allocator's share.
	OverheadBytes uint64
	// TotalBytes is the sum.
	TotalBytes uint64
}

// check holds a serving to its bounds and fills its defaults in.
func (s *Serving) check(x *Subject) error {
	if s.TensorParallel == 0 {
		s.TensorParallel = 1
	}
	bounds := []struct {
		name            string
		value, low, top uint64
	}{
		{"context", s.Context, 1, maxNumber}, {"batch", s.Batch, 1, maxNumber},
		{"tensor_parallel", s.TensorParallel, 1, MaxTensorParallel},
		{"prefill_tokens", s.PrefillTokens, 0, maxNumber}, {"overhead_permille", s.OverheadPermille, 0, 1000},
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
	return nil
}

// Plan puts together what one device needs. A serving out of its bounds is
// CodeInvalidArgument, an amount beyond 64 bits CodeOverflow. Without a model
// (only safetensors files were given) there are weights and nothing else, and
// TensorParallel shares them out evenly.
func (x *Subject) Plan(s Serving) (Plan, error) {
	if err := s.check(x); err != nil {
		return Plan{}, err
	}
	var c calculation
	p, err := x.weights(&c, s)
	if err != nil {
		return Plan{}, err
	}
	if err := c.err(opPlan, "the size of the weights"); err != nil {
		return Plan{}, err
	}
	if x.Model != nil {
		p.KVCacheBytes = c.cache(x.Model, s)
		if err := c.err(opPlan, "the size of the KV cache"); err != nil {
			return Plan{}, err
		}
		p.ActivationBytes = c.activations(x.Model, s)
		if err := c.err(opPlan, "the size of the activations"); err != nil {
			return Plan{}, err
		}
	}
	live := c.sum(p.WeightsBytes, p.BufferBytes, p.KVCacheBytes, p.ActivationBytes)
	p.OverheadBytes = c.share(live, s.OverheadPermille, 1000)
	p.TotalBytes = c.sum(live, p.OverheadBytes)
	if err := c.err(opPlan, "the total"); err != nil {
		return Plan{}, err
	}
	return p, nil
}

// weights is the parameters and the bytes of the weights: those of the files if
// there are any and they are not converted, else those of the configuration.
func (x *Subject) weights(c *calculation, s Serving) (Plan, error) {
	var p Plan
	var whole, part tally
	if x.Model != nil {
		whole, part = c.count(x.Model, 1), c.count(x.Model, s.TensorParallel)
		p.Parameters = whole.total(c)
	}
	files := x.Checkpoint
	if files != nil && (x.Model == nil || !files.Packed()) {
		p.Parameters = files.FloatElements
	}
	if files != nil {
		p.BufferBytes = files.BufferBytes
	}
	switch {
	case s.WeightDType.Bits > 0 && x.Model != nil:
		p.WeightsBytes = convert(s.WeightDType, x.Model.Weights.Plain).bytes(c, part)
	case s.WeightDType.Bits > 0 && files.Packed():
		return p, device.Errorf(device.CodeInvalidArgument, opPlan, "dtype %s: these files hold packed weights, and what they would be unpacked is not known without a config.json", s.WeightDType.Name)
	case s.WeightDType.Bits > 0:
		p.WeightsBytes = ceilDiv(c.stored(s.WeightDType, files.FloatElements), s.TensorParallel)
	case files == nil:
		p.WeightsBytes = x.Model.Weights.bytes(c, part)
	case x.Model == nil:
		p.WeightsBytes = ceilDiv(files.WeightBytes, s.TensorParallel)
	default:
		p.WeightsBytes = c.share(files.WeightBytes, part.total(c), max(1, whole.total(c)))
	}
	return p, nil
}

// convert is how weights are stored once converted: with fewer than 16 bits the
// matrices of the layers only, the rest as before or in 16 bits.
func convert(to, before DType) Storage {
	if to.Bits >= 16 {
		return Storage{Plain: to}
	}
	if before.Bits < 16 {
		before = BFloat16
	}
	return Storage{Plain: before, Quantised: &Quantisation{
		Method: to.Name, Bits: to.Bits, GroupElements: to.GroupElements, GroupBits: to.GroupBits,
	}}
}

// computeType is the type of activations: that of what is not quantised, never
// fewer than 16 bits.
func (m *Model) computeType(s Serving) DType {
	t := m.Weights.Plain
	if s.WeightDType.Bits >= 16 {
		t = s.WeightDType
	}
	if t.Bits < 16 {
		return BFloat16
	}
	return t
}

// cacheType is the type of keys and values.
func (m *Model) cacheType(s Serving) DType {
	if s.KVDType.Bits > 0 {
		return s.KVDType
	}
	return m.computeType(s)
}

// cache is the keys and values of all sequences on one device. A head's vector
// ends with a whole byte.
func (c *calculation) cache(m *Model, s Serving) uint64 {
	if m.Encoder {
		return 0
	}
	t := m.cacheType(s)
	a := m.Attention
	_, kvHeads := a.split(s.TensorParallel)
	token := c.product(2, kvHeads, c.stored(t, a.HeadDim))
	if a.Latent != nil {
		token = c.sum(c.stored(t, a.Latent.KVRank), c.stored(t, a.Latent.RopeDim))
	}
	full := c.product(m.Layers-m.SlidingLayers, s.Context)
	sliding := c.product(m.SlidingLayers, min(s.Context, m.Window))
	return c.product(c.sum(full, sliding), s.Batch, token)
}
