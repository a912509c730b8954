package estimate

// qwen3NextLayers: three of four layers have a linear attention with a gate. Its state
// is a matrix for each head of values.
func (r reader) qwen3NextLayers(m *Model) error {
	var keyHeads, valueHeads, key, value, kernel, interval uint64
	err := r.widths([]place{
		{"linear_num_key_heads", &keyHeads}, {"linear_num_value_heads", &valueHeads}, {"linear_key_head_dim", &key},
		{"linear_value_head_dim", &value}, {"linear_conv_kernel_dim", &kernel}, {"full_attention_interval", &interval},
	})
	if err != nil {
		return err
	}
	if valueHeads%keyHeads != 0 {
		return r.wrong("linear_num_key_heads", "%d does not divide the %d heads of values", keyHeads, valueHeads)
	}
	kinds, err := r.kinds("layer_types", m.Layers)
	if err != nil {
		return err
	}
	if kinds == nil {
		kinds = every(interval, interval-1, m.Layers)
	}
	keys, values := Part{keyHeads, key}, Part{valueHeads, value}
	convolved := Span{keys, keys, values}
	projected := Span{keys, keys, values, values, {valueHeads, 2}}
	var c calculation
	m.mix(kinds, Mixer{
		Kind: "linear attention", Heads: valueHeads,
		Matrices: []Matrix{{Span{whole(m.Hidden)}, projected}, {Span{values}, Span{whole(m.Hidden)}}},
		// The convolution, the bias of the step and the decay of each head, and a norm.
		Vectors:     append(convolved.times(&c, kernel), Part{valueHeads, 2}, whole(value)),
		Convolution: convolved.times(&c, kernel),
		State:       Span{{valueHeads, c.product(key, value)}},
		Inner:       append(append(Span{values, whole(m.Hidden)}, projected...), convolved...),
	})
	return nil
}

// griffinLayers: two of three layers have a gated linear recurrence, and the third has
// attention over a window.
func (r reader) griffinLayers(m *Model) error {
	pattern := []layerKind{mixerLayer, mixerLayer, attentionLayer}
	types := "block_types"
	if !r.has(types) {
		types = "_block_types"
	}
	if list, err := r.listOr(types); err != nil {
		return err
	} else if list != nil {
		if pattern, err = r.kinds(types, uint64(len(list))); err != nil {
			return err
		}
	}
	if len(pattern) == 0 {
		return r.wrong(types, "is empty")
	}
	kinds := make([]layerKind, m.Layers)
	for i := range kinds {
		kinds[i] = pattern[i%len(pattern)]
	}
	width, err := r.numberOr("lru_width", 1, m.Hidden)
	if err != nil {
		return err
	}
	var kernel uint64
	if err := r.widths([]place{{"conv1d_width", &kernel}}); err != nil {
		return err
	}
	if width > maxWidth {
		return r.wrong("lru_width", "is %d, not within 1 to %d", width, maxWidth)
	}
	heads, h := m.Attention.Heads, m.Hidden
	if width%heads != 0 {
		return r.wrong("lru_width", "the %d attention heads do not divide its %d", heads, width)
	}
	block := width / heads
	var c calculation
	m.mix(kinds, Mixer{
		Kind: "recurrent", Heads: heads,
		Matrices: []Matrix{{Span{whole(h)}, Span{{heads, c.product(2, block)}}}, {Span{{heads, block}}, Span{whole(h)}}},
		// Biases, the convolution with its bias, the decay, and two gates with their
		// biases.
		Vectors:     Span{{heads, c.product(block, c.sum(2, kernel, 1, 1, 2, c.product(2, block)))}, whole(h)},
		Convolution: Span{{heads, c.product(block, kernel)}},
		State:       Span{{heads, block}},
		Inner:       Span{{heads, c.product(6, block)}, whole(h)},
	})
	// The field is the width of gate and value together.
	m.MLP.Intermediate /= 2
	return nil
}
