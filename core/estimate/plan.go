package estimate

import "ferrum_mem/core/device"

const opPlan = "estimate.plan"

// Plan is the memory of one device, in bytes; of several devices the one with the most.
type Plan struct {
	// Parameters is the number of floating-point elements of the weights of the whole
	// model.
	Parameters uint64
	// WeightsBytes counts the weights. BufferBytes counts other tensors of the
	// checkpoint, such as tables of positions.
	WeightsBytes uint64
	BufferBytes  uint64
	// KVCacheBytes counts keys and values, in whole blocks for layers with a window.
	// KVCacheLeastBytes counts only the tokens inside a window, KVCacheMostBytes the
	// whole context in every layer.
	KVCacheBytes      uint64
	KVCacheLeastBytes uint64
	KVCacheMostBytes  uint64
	// StateBytes counts what layers without attention keep of each sequence, regardless
	// of its length.
	StateBytes uint64
	// ActivationBytes is the peak within one pass through the model.
	ActivationBytes uint64
	// OverheadBytes is the overhead of the allocator.
	OverheadBytes uint64
	// TotalBytes is the sum.
	TotalBytes uint64
}

// Plan computes the memory of one device. It returns CodeInvalidArgument for a serving
// out of its bounds, and CodeOverflow for an amount above 64 bits. Without a model
// (only safetensors files were given) there are only weights, and TensorParallel
// divides them evenly.
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
		cache := c.cache(x.Model, s)
		p.KVCacheBytes, p.KVCacheLeastBytes, p.KVCacheMostBytes = cache.paged, cache.least, cache.most
		if err := c.err(opPlan, "the size of the KV cache"); err != nil {
			return Plan{}, err
		}
		p.StateBytes = c.states(x.Model, s)
		if err := c.err(opPlan, "the size of the recurrent states"); err != nil {
			return Plan{}, err
		}
		p.ActivationBytes = c.activations(x.Model, s)
		if err := c.err(opPlan, "the size of the activations"); err != nil {
			return Plan{}, err
		}
	}
	live := c.sum(p.WeightsBytes, p.BufferBytes, p.KVCacheBytes, p.StateBytes, p.ActivationBytes)
	p.OverheadBytes = c.share(live, s.OverheadPermille, 1000)
	p.TotalBytes = c.sum(live, p.OverheadBytes)
	if err := c.err(opPlan, "the total"); err != nil {
		return Plan{}, err
	}
	return p, nil
}

// weights returns the parameters and the bytes of the weights: those of the files if
// there are any and they are not converted, otherwise those of the configuration.
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
		return p, device.Errorf(device.CodeInvalidArgument, opPlan, "dtype %s: these files hold packed weights; their unpacked size is unknown without a config.json", s.WeightDType.Name)
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

// convert returns the storage of converted weights. With fewer than 16 bits only the
// matrices of the layers are converted, and the rest stays as before or in 16 bits.
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

// computeType returns the type of activations: the type of the weights that are not
// quantised, with at least 16 bits.
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

// cacheType returns the type of keys and values.
func (m *Model) cacheType(s Serving) DType {
	if s.KVDType.Bits > 0 {
		return s.KVDType
	}
	return m.computeType(s)
}
