package estimate

// DefaultBlockTokens is the usual number of tokens of one layer in a block of a paged
// KV cache.
const DefaultBlockTokens = 16

// cacheSize has the bytes of the keys and values of all sequences on one device.
type cacheSize struct {
	// paged counts the blocks that inference engines keep. A plan uses this number.
	paged uint64
	// least counts only the tokens inside some window. most counts the whole context in
	// every layer, as engines without support for windows keep it.
	least, most uint64
}

// cache computes the size of the keys and values. The vector of a head ends with a
// whole byte.
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

// windowBlocks returns the blocks that one layer with a window keeps, and those of the
// whole context. Engines keep whole blocks, and a window begins anywhere in its first
// block, so they keep one block more than the window fills. Prompts that are computed
// in one step have all their blocks until the step ends.
func (c *calculation) windowBlocks(window uint64, s Serving) (kept, all uint64) {
	all = c.product(s.Batch, ceilDiv(s.Context, s.BlockTokens))
	tokens := c.stepTokens(s)
	// The tokens beyond one of each sequence, in whichever sequences they are.
	more := tokens - s.Batch
	more = min(more, c.sum(more/s.BlockTokens, s.Batch))
	kept = c.sum(c.product(s.Batch, c.sum(ceilDiv(window, s.BlockTokens), 1)), more)
	return min(all, kept), all
}

// stepTokens returns the most tokens that one step computes. Even the smallest step
// computes one token of each sequence.
func (c *calculation) stepTokens(s Serving) uint64 {
	tokens := c.product(s.Batch, s.Context)
	if s.PrefillTokens > 0 {
		tokens = max(s.Batch, min(tokens, s.PrefillTokens))
	}
	return max(tokens, s.Batch)
}

// stateBytes is the size of an element of a carried state: 32 bits.
const stateBytes = 4

// states returns the bytes that the mixers keep of all sequences on one device.
func (c *calculation) states(m *Model, s Serving) uint64 {
	var sequence uint64
	t := m.computeType(s)
	for _, x := range m.Mixers {
		layer := c.sum(c.stored(t, x.Convolution.on(c, s.TensorParallel)), c.product(stateBytes, x.State.on(c, s.TensorParallel)))
		sequence = c.sum(sequence, c.product(x.Layers, layer))
	}
	return c.product(s.Batch, sequence)
}
