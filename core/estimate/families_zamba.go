package estimate

// zamba2Layers: every layer has a mixer. Some layers have attention and an MLP before
// it. These share their weights in num_mem_blocks blocks, and each has its own small
// adapter matrices.
func (r reader) zamba2Layers(m *Model) error {
	n, err := r.stateSpace(zambaNames, m.Hidden, 0)
	if err != nil {
		return err
	}
	kinds, err := r.kinds("layers_block_type", m.Layers)
	if err != nil {
		return err
	}
	if kinds == nil {
		if kinds, err = r.numbered("hybrid_layer_ids", m.Layers); err != nil {
			return err
		}
	}
	var blocks, rank uint64
	if err := r.into([]place{{"num_mem_blocks", &blocks}, {"adapter_rank", &rank}}); err != nil {
		return err
	}
	adapted, err := r.flagOr("use_shared_attention_adapter", false)
	if err != nil {
		return err
	}
	a, h := &m.Attention, m.Hidden
	m.AttentionLayers = countOf(kinds, attentionLayer)
	blocks = min(blocks, m.AttentionLayers)
	a.Copies, a.Inputs = blocks, 2*h
	if (2*h)%a.Heads != 0 {
		return r.wrong("num_attention_heads", "%d does not divide the width of %d, twice the hidden size", a.Heads, 2*h)
	}
	a.HeadDim = 2 * h / a.Heads
	m.MLP.DenseLayers = blocks
	if m.MLP.Bias, err = r.flagOr("add_bias_linear", false); err != nil {
		return err
	}
	mixer := r.mamba2(h, n)
	mixer.Layers = m.Layers
	// The norms of a block: over its input of twice the width, and before its MLP.
	block := Mixer{Kind: "shared", Layers: blocks, Vectors: Span{{1, 2 * h}, whole(h)}}
	// The weights that each use of a block has of its own: the output matrix, and
	// adapters.
	use := Mixer{Kind: "adapter", Layers: m.AttentionLayers, Matrices: []Matrix{
		{Span{whole(h)}, Span{whole(h)}},
		{Span{whole(h)}, Span{whole(rank)}},
		{Span{whole(rank)}, Span{{m.MLP.Intermediate, 2}}},
	}}
	if adapted {
		for range 3 {
			use.Matrices = append(use.Matrices, Matrix{Span{whole(2 * h)}, Span{whole(rank)}}, Matrix{Span{whole(rank)}, Span{{a.Heads, a.HeadDim}}})
		}
	}
	m.Mixers = append(m.Mixers, mixer, block, use)
	return nil
}
