package estimate

// scoreBytes is the size of a score, logit or sum that is kept in 32 bits.
const scoreBytes = 4

// pass is one pass through the layers on one device.
type pass struct {
	*calculation
	model *Model
	s     Serving
	// tokens is the number of tokens that are computed at once; element is the bytes of
	// an activation.
	tokens  uint64
	element uint64
}

// activations returns the peak of one pass. The residual stream and the input of a part
// stay in memory while the part runs. The parts run one after the other, so only the
// largest of attention, MLP and output layer counts.
func (c *calculation) activations(m *Model, s Serving) uint64 {
	p := pass{calculation: c, model: m, s: s, element: m.computeType(s).Bits / 8}
	// Encoders compute whole texts at once.
	p.tokens = c.product(s.Batch, s.Context)
	if !m.Encoder {
		p.tokens = c.stepTokens(s)
	}
	stream := c.product(2, p.tokens, m.Hidden, p.element)
	return c.sum(stream, max(p.attention(), p.mixers(), p.mlp(), p.logits()))
}

// mixers returns the inner activations of the widest mixer.
func (p pass) mixers() uint64 {
	var most uint64
	for _, x := range p.model.Mixers {
		if x.Layers > 0 {
			most = max(most, p.product(p.tokens, x.Inner.on(p.calculation, p.s.TensorParallel), p.element))
		}
	}
	return most
}

// attention returns the bytes of queries, keys, values and their result, and of the
// workspace. With fused kernels the workspace is the logarithm of a sum for each token
// and head. Otherwise it is the scores of each token with each token of its sequence,
// in 32 bits and in the type of the activations.
func (p pass) attention() uint64 {
	a := p.model.Attention
	if a.Copies == 0 {
		return 0
	}
	heads, kvHeads := a.split(p.s.TensorParallel)
	var widths uint64
	if l := a.Latent; l != nil {
		key := p.sum(l.NopeDim, l.RopeDim)
		widths = p.sum(
			p.product(heads, p.sum(key, key, l.ValueDim, l.ValueDim)),
			l.QueryRank, l.KVRank, l.RopeDim)
	} else {
		widths = p.product(2, p.sum(heads, kvHeads), a.HeadDim)
		if a.QueryGate {
			widths = p.sum(widths, p.product(heads, a.HeadDim))
		}
	}
	workspace := p.product(p.tokens, heads, scoreBytes)
	if p.s.EagerAttention {
		workspace = p.product(p.tokens, heads, p.s.Context, p.element+scoreBytes)
	}
	return p.sum(p.product(p.tokens, widths, p.element), workspace)
}

// mlp returns the bytes of the inner activations and the result. With experts it counts
// those of all experts that a token is sent to, and the scores of the router.
func (p pass) mlp() uint64 {
	f := p.model.MLP
	var dense, experts uint64
	if f.DenseLayers > 0 {
		dense = p.product(p.tokens, p.inner(f.Intermediate), p.element)
	}
	if f.ExpertLayers > 0 {
		experts = p.sum(
			p.product(p.tokens, f.PerToken, p.inner(f.ExpertIntermediate), p.element),
			p.product(p.tokens, f.Experts, scoreBytes))
		if f.SharedIntermediate > 0 {
			experts = p.sum(experts, p.product(p.tokens, p.inner(f.SharedIntermediate), p.element))
		}
	}
	return max(dense, experts)
}

// inner returns the elements of one token in an MLP of a width.
func (p pass) inner(width uint64) uint64 {
	width = ceilDiv(width, p.s.TensorParallel)
	if p.model.MLP.Gated {
		width = p.product(2, width)
	}
	return p.sum(width, p.model.Hidden)
}

// logits returns the bytes of the logits, which each device has in full, in the type of
// the activations and in 32 bits.
func (p pass) logits() uint64 {
	if p.model.Encoder {
		return 0
	}
	rows := p.s.Batch
	if p.s.AllLogits {
		rows = p.tokens
	}
	return p.product(rows, p.model.Vocab, p.element+scoreBytes)
}
