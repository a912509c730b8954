package estimate

// Families whose layers keep a state of fixed size, in all layers or together with
// layers with attention. The structure follows the modelling files of transformers
// 4.57; for nemotron_h those of 5.24, the first release that had it.

func hybridFamilies() map[string]family {
	return map[string]family{
		"mamba":        stateFamily(reader.mambaLayers, map[string]uint64{"state_size": 16, "num_hidden_layers": 32, "vocab_size": 50280, "hidden_size": 768, "expand": 2, "conv_kernel": 4}, true),
		"falcon_mamba": stateFamily(reader.mambaLayers, map[string]uint64{"state_size": 16, "num_hidden_layers": 32, "vocab_size": 50280, "hidden_size": 768, "expand": 2, "conv_kernel": 4}, true),
		"mamba2": stateFamily(reader.mamba2Layers, map[string]uint64{
			"num_heads": 128, "head_dim": 64, "vocab_size": 32768, "hidden_size": 4096, "state_size": 128, "num_hidden_layers": 64,
			"expand": 2, "conv_kernel": 4, "n_groups": 8,
		}, false),
		"jamba": decoder(func(f *family) {
			f.biasFixed, f.layers = true, reader.jambaLayers
			f.defaults = map[string]uint64{
				"vocab_size": 65536, "hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers": 32, "num_attention_heads": 32,
				"num_key_value_heads": 8, "max_position_embeddings": 262144, "num_experts": 16, "num_experts_per_tok": 2,
				"expert_layer_period": 2, "attn_layer_period": 8, "mamba_d_state": 16, "mamba_d_conv": 4, "mamba_expand": 2,
			}
		}),
		"bamba": decoder(func(f *family) {
			f.layers = reader.bambaLayers
			f.defaults = mambaDefaults()
			f.defaults["num_key_value_heads"] = 8
			f.defaults["max_position_embeddings"] = 262144
		}),
		"granitemoehybrid": decoder(func(f *family) {
			f.layers = reader.graniteHybridLayers
			f.defaults = mambaDefaults()
			f.defaults["num_local_experts"], f.defaults["num_experts_per_tok"], f.defaults["shared_intermediate_size"] = 8, 2, 1024
			f.defaults["max_position_embeddings"] = 2048
		}),
		"zamba2": decoder(func(f *family) {
			f.biasFixed, f.tied, f.normsPerLayer, f.layers = true, true, 1, reader.zamba2Layers
			f.defaults = map[string]uint64{
				"num_attention_heads": 32, "n_mamba_heads": 8, "mamba_ngroups": 1, "mamba_d_state": 64, "mamba_d_conv": 4, "mamba_expand": 2,
				"num_mem_blocks": 1, "adapter_rank": 128, "max_position_embeddings": 4096,
			}
		}),
		"nemotron_h": decoder(func(f *family) {
			f.gated, f.normsPerLayer, f.layers = false, 1, reader.nemotronLayers
			f.defaults = map[string]uint64{
				"num_key_value_heads": 8, "head_dim": 128, "ssm_state_size": 128, "mamba_num_heads": 128, "mamba_head_dim": 64, "n_groups": 8,
				"conv_kernel": 4, "max_position_embeddings": 4096,
			}
		}),
		"falcon_h1": decoder(func(f *family) {
			f.layers = reader.falconH1Layers
			f.defaults = mambaDefaults()
			f.defaults["num_key_value_heads"], f.defaults["mamba_d_ssm"], f.defaults["max_position_embeddings"] = 8, 1024, 8192
		}),
		"lfm2": decoder(func(f *family) {
			f.tied, f.headNorms, f.biasFixed, f.layers = true, 2, true, reader.lfm2Layers
			f.defaults = map[string]uint64{
				"num_key_value_heads": 8, "conv_L_cache": 3, "block_multiple_of": 256, "max_position_embeddings": 128000, "intermediate_size": 12288,
			}
		}),
		"qwen3_next": decoder(func(f *family) {
			f.headNorms, f.queryGate, f.experts, f.layers = 2, true, expertsStep, reader.qwen3NextLayers
			f.defaults = map[string]uint64{
				"num_key_value_heads": 2, "head_dim": 256, "linear_conv_kernel_dim": 4, "linear_key_head_dim": 128, "linear_value_head_dim": 128,
				"linear_num_key_heads": 16, "linear_num_value_heads": 32, "decoder_sparse_step": 1, "moe_intermediate_size": 512,
				"shared_expert_intermediate_size": 512, "num_experts_per_tok": 10, "num_experts": 512, "max_position_embeddings": 32768,
				"full_attention_interval": 4, "intermediate_size": 5632,
			}
		}),
		"recurrent_gemma": decoder(func(f *family) {
			f.tied, f.mlpBias, f.outputBias, f.qkvOnly, f.window, f.layers = true, true, true, true, windowAll, reader.griffinLayers
			f.names = map[string]string{"sliding_window": "attention_window_size"}
			f.defaults = map[string]uint64{
				"num_hidden_layers": 26, "vocab_size": 256000, "hidden_size": 2560, "intermediate_size": 7680, "num_attention_heads": 10,
				"sliding_window": 2048, "conv1d_width": 4,
			}
		}),
	}
}

// stateFamily returns a family whose layers have only one mixer.
func stateFamily(layers func(reader, *Model) error, defaults map[string]uint64, tied bool) family {
	return family{noAttention: true, normsPerLayer: 1, finalNorm: true, tied: tied, defaults: defaults, layers: layers}
}

func mambaDefaults() map[string]uint64 {
	return map[string]uint64{
		"mamba_n_heads": 128, "mamba_n_groups": 1, "mamba_d_state": 256, "mamba_d_conv": 4, "mamba_expand": 2,
	}
}

// mambaFirst reads a mixer of the first kind.
func (r reader) mambaFirst(m *Model, state, kernel, expand, rank, convBias, projBias string) (n stateSpace, err error) {
	if err = r.widths([]place{{state, &n.state}, {kernel, &n.kernel}}); err != nil {
		return n, err
	}
	// A width in the file has precedence over the computed one.
	if r.family.noAttention && r.has("intermediate_size") {
		n.dim, err = r.number("intermediate_size", 1)
	} else {
		n.dim, err = r.expanded(expand, m.Hidden)
	}
	if err != nil {
		return n, err
	}
	if n.rank, err = r.rank(rank, m.Hidden); err != nil {
		return n, err
	}
	if n.convBias, err = r.flagOr(convBias, true); err != nil {
		return n, err
	}
	n.inBias, err = r.flagOr(projBias, false)
	n.outBias = n.inBias
	return n, err
}

func (r reader) mambaLayers(m *Model) error {
	n, err := r.mambaFirst(m, "state_size", "conv_kernel", "expand", "time_step_rank", "use_conv_bias", "use_bias")
	if err == nil {
		m.mix(allOf(mixerLayer, m.Layers), r.mamba(m.Hidden, n))
	}
	return err
}

func (r reader) mamba2Layers(m *Model) error {
	n, err := r.stateSpace(bareNames, m.Hidden, 0)
	if err == nil {
		m.mix(allOf(mixerLayer, m.Layers), r.mamba2(m.Hidden, n))
	}
	return err
}

func (r reader) jambaLayers(m *Model) error {
	n, err := r.mambaFirst(m, "mamba_d_state", "mamba_d_conv", "mamba_expand", "mamba_dt_rank", "mamba_conv_bias", "mamba_proj_bias")
	if err != nil {
		return err
	}
	n.innerNorms = true
	period, err := r.get("attn_layer_period")
	if err != nil {
		return err
	}
	offset, err := r.numberOr("attn_layer_offset", 0, 4)
	if err != nil {
		return err
	}
	// A list of the layers has precedence over the numbers.
	kinds, err := r.kinds("layers_block_type", m.Layers)
	if err != nil {
		return err
	}
	if kinds == nil {
		kinds = every(period, offset, m.Layers)
	}
	m.mix(kinds, r.mamba(m.Hidden, n))
	p := &m.MLP
	if err := r.into([]place{{"num_experts", &p.Experts}, {"num_experts_per_tok", &p.PerToken}, {"expert_layer_period", &period}}); err != nil {
		return err
	}
	if offset, err = r.numberOr("expert_layer_offset", 0, 1); err != nil {
		return err
	}
	// A single expert is a plain MLP.
	if p.Experts > 1 {
		p.ExpertLayers, p.ExpertIntermediate = countOf(every(period, offset, m.Layers), attentionLayer), p.Intermediate
	}
	p.DenseLayers = m.Layers - p.ExpertLayers
	return r.expertBounds(m)
}

func (r reader) bambaLayers(m *Model) error {
	n, err := r.stateSpace(mambaNames, m.Hidden, 0)
	if err != nil {
		return err
	}
	kinds, err := r.numbered("attn_layer_indices", m.Layers)
	if err == nil {
		m.mix(kinds, r.mamba2(m.Hidden, n))
	}
	return err
}

func (r reader) graniteHybridLayers(m *Model) error {
	n, err := r.stateSpace(mambaNames, m.Hidden, 0)
	if err != nil {
		return err
	}
	list := "layer_types"
	if !r.has(list) {
		list = "layers_block_type"
	}
	kinds, err := r.kinds(list, m.Layers)
	if err != nil {
		return err
	}
	if kinds == nil {
		kinds = allOf(mixerLayer, m.Layers)
	}
	m.mix(kinds, r.mamba2(m.Hidden, n))
	p := &m.MLP
	if p.SharedIntermediate, err = r.get("shared_intermediate_size"); err != nil {
		return err
	}
	if p.Experts, err = r.numberOr("num_local_experts", 0, 8); err != nil {
		return err
	}
	if p.Experts == 0 {
		p.DenseLayers, p.Intermediate, p.SharedIntermediate = m.Layers, p.SharedIntermediate, 0
		return nil
	}
	if p.PerToken, err = r.get("num_experts_per_tok"); err != nil {
		return err
	}
	p.DenseLayers, p.ExpertLayers, p.ExpertIntermediate = 0, m.Layers, p.Intermediate
	return r.expertBounds(m)
}

// nemotronLayers: each layer is a mixer, attention or an MLP.
func (r reader) nemotronLayers(m *Model) error {
	n, err := r.stateSpace(nemotronNames, m.Hidden, 0)
	if err != nil {
		return err
	}
	kinds, err := r.letters("hybrid_override_pattern", m.Layers)
	if err == nil && kinds == nil {
		kinds, err = r.kinds("layers_block_type", m.Layers)
	}
	if err != nil {
		return err
	}
	if kinds == nil {
		return r.wrong("hybrid_override_pattern", "is missing: it determines which layers have attention")
	}
	if countOf(kinds, expertLayer) > 0 {
		return r.wrong("hybrid_override_pattern", "layers with experts (E) are not known for this family")
	}
	m.mix(kinds, r.mamba2(m.Hidden, n))
	m.MLP.DenseLayers = countOf(kinds, mlpLayer)
	return nil
}

// falconH1Layers: each layer has a mixer and attention in parallel.
func (r reader) falconH1Layers(m *Model) error {
	inner, err := r.get("mamba_d_ssm")
	if err != nil {
		return err
	}
	n, err := r.stateSpace(mambaNames, m.Hidden, inner)
	if err != nil {
		return err
	}
	if n.norm, err = r.flagOr("mamba_rms_norm", false); err != nil {
		return err
	}
	if n.outBias, err = r.flagOr("projectors_bias", false); err != nil {
		return err
	}
	x := r.mamba2(m.Hidden, n)
	x.Layers = m.Layers
	m.Mixers = append(m.Mixers, x)
	return nil
}

// lfm2Layers: the mixer is a short convolution between two gates.
func (r reader) lfm2Layers(m *Model) error {
	var kernel uint64
	if err := r.widths([]place{{"conv_L_cache", &kernel}}); err != nil {
		return err
	}
	kinds, err := r.kinds("layer_types", m.Layers)
	if err == nil && kinds == nil {
		kinds, err = r.numbered("full_attn_idxs", m.Layers)
		if !r.has("full_attn_idxs") {
			kinds = allOf(attentionLayer, m.Layers)
		}
	}
	if err != nil {
		return err
	}
	h := m.Hidden
	x := Mixer{
		Kind:        "convolution",
		Matrices:    []Matrix{{Span{whole(h)}, Span{{h, 3}}}, {Span{cut(h)}, Span{whole(h)}}},
		Vectors:     Span{{h, kernel}},
		Convolution: Span{{h, kernel}},
		Inner:       Span{{h, 4}, whole(h)},
	}
	bias, err := r.flagOr("conv_bias", false)
	if err != nil {
		return err
	}
	if bias {
		x.Vectors = append(x.Vectors, Part{h, 4}, whole(h))
	}
	m.mix(kinds, x)
	return r.lfm2Width(m)
}

// lfm2Width rounds the width of the MLPs as the family does: two thirds, rounded up to
// a multiple.
func (r reader) lfm2Width(m *Model) error {
	p := &m.MLP
	for _, field := range []string{"block_ff_dim", "block_dim_ff"} {
		if !r.has(field) {
			continue
		}
		var err error
		if p.Intermediate, err = r.number(field, 1); err != nil {
			return err
		}
		break
	}
	adjust, err := r.flagOr("block_auto_adjust_ff_dim", true)
	if err != nil || !adjust {
		return err
	}
	if text := r.fields["block_ffn_dim_multiplier"]; text != nil && kindOf(text) != "the number 1.0" && kindOf(text) != "the number 1" {
		return r.wrong("block_ffn_dim_multiplier", "is %s, and only 1 is known", kindOf(text))
	}
	multiple, err := r.get("block_multiple_of")
	if err != nil {
		return err
	}
	var c calculation
	p.Intermediate = c.product(multiple, ceilDiv(2*p.Intermediate/3, multiple))
	if c.overflowed || p.Intermediate > maxNumber {
		return r.wrong("block_multiple_of", "is %d, too much to round a width up to", multiple)
	}
	return nil
}
