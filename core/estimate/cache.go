package estimate

// DefaultBlockTokens is how many tokens of one layer a block of a paged KV cache
// commonly holds.
const DefaultBlockTokens = 16

// cacheSize is the keys and values of all sequences on one device, in bytes.
type cacheSize struct {
	// paged is by the blocks that serving engines keep, which is what a plan counts.
	paged uint64
	// least is the tokens in reach of some window and no others; most has the whole
	// context in every layer, as engines that know no windows keep it.
	least, most uint64
}

// cache counts the keys and values. A head's vector ends with a whole byte.
func (c *calculation) cache(m *Model, s Serving) cacheSize {
	if m.Encoder || m.AttentionLayers == 0 {
		return cacheSize{}
	}
	t := m.cacheType(s)
	a := m.Attention
	_, kvHeads := a.split(s.TensorParallel)
	token := c.product(2, kvHeads, c.stored(t, a.HeadDim))
	if a.Latent != nil {
		token = c.sum(c.stored(t, a.Latent.KVRank), c.stored(t, a.Latent.RopeDim))
	}
	full := c.product(m.AttentionLayers-m.SlidingLayers, s.Batch, s.Context)
	in := func(windowTokens uint64) uint64 {
		return c.product(c.sum(full, c.product(m.SlidingLayers, windowTokens)), token)
	}
	if m.SlidingLayers == 0 {
		all := in(0)
		return cacheSize{all, all, all}
	}
	blocks, all := c.windowBlocks(m.Window, s)
	return cacheSize{
		paged: in(c.product(blocks, s.BlockTokens)),
		least: in(c.product(s.Batch, min(s.Context, m.Window))),
		most:  in(c.product(all, s.BlockTokens)),
	}
}

// windowBlocks is the blocks of one layer that looks back over a window, and those
// that the whole context would take. Engines keep whole blocks, and a window begins
// anywhere in its first one: one block more than the window fills. Prompts that are
// computed in one step lie in blocks as a whole until the step is done.
func (c *calculation) windowBlocks(window uint64, s Serving) (kept, all uint64) {
	all = c.product(s.Batch, ceilDiv(s.Context, s.BlockTokens))
	tokens := c.stepTokens(s)
	// Beyond one token of each sequence, wherever the rest lies.
	more := tokens - s.Batch
	more = min(more, c.sum(more/s.BlockTokens, s.Batch))
	kept = c.sum(c.product(s.Batch, c.sum(ceilDiv(window, s.BlockTokens), 1)), more)
	return min(all, kept), all
}

// stepTokens is the most tokens that one step computes: even in the smallest each
// sequence goes on by one.
func (c *calculation) stepTokens(s Serving) uint64 {
	tokens := c.product(s.Batch, s.Context)
	if s.PrefillTokens > 0 {
		tokens = max(s.Batch, min(tokens, s.PrefillTokens))
	}
	return max(tokens, s.Batch)
}

// stateBytes is 32 bits for an element of a carried state.
const stateBytes = 4

// states is what the mixers keep of all sequences on one device.
func (c *calculation) states(m *Model, s Serving) uint64 {
	var sequence uint64
	t := m.computeType(s)
	for _, x := range m.Mixers {
		layer := c.sum(c.stored(t, x.Convolution.on(c, s.TensorParallel)), c.product(stateBytes, x.State.on(c, s.TensorParallel)))
		sequence = c.sum(sequence, c.product(x.Layers, layer))
	}
	return c.product(s.Batch, sequence)
}
