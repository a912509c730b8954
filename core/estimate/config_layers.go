package estimate

import "fmt"

// mlp reads the feed-forward part: its width, and where the layers have experts.
func (r reader) mlp(m *Model) (err error) {
	p := &m.MLP
	p.Gated = r.family.gated
	if p.Bias, err = r.flagOr("mlp_bias", r.family.mlpBias); err != nil {
		return err
	}
	if p.Intermediate, err = r.get("intermediate_size"); err != nil {
		return err
	}
	switch r.family.experts {
	case expertsNever:
	case expertsAll:
		p.ExpertLayers, p.ExpertIntermediate = m.Layers, p.Intermediate
		err = r.into([]place{{"num_local_experts", &p.Experts}, {"num_experts_per_tok", &p.PerToken}})
	case expertsStep:
		err = r.stepExperts(m)
	case expertsDeepSeek:
		err = r.deepSeekExperts(m)
	}
	if err != nil {
		return err
	}
	if p.Experts > maxLayers {
		return r.wrong("num_experts", "is %d and not within 1 to %d", p.Experts, maxLayers)
	}
	p.DenseLayers = m.Layers - p.ExpertLayers
	return nil
}

func (r reader) stepExperts(m *Model) error {
	p := &m.MLP
	var step uint64
	err := r.into([]place{
		{"num_experts", &p.Experts}, {"num_experts_per_tok", &p.PerToken},
		{"moe_intermediate_size", &p.ExpertIntermediate}, {"decoder_sparse_step", &step},
	})
	if err != nil {
		return err
	}
	if shared, ok := r.family.defaults["shared_expert_intermediate_size"]; ok {
		if p.SharedIntermediate, err = r.numberOr("shared_expert_intermediate_size", 0, shared); err != nil {
			return err
		}
		p.SharedGate = p.SharedIntermediate > 0
	}
	list, err := r.listOr("mlp_only_layers")
	if err != nil {
		return err
	}
	dense := map[uint64]bool{}
	for i, value := range list {
		layer, err := r.whole(fmt.Sprintf("mlp_only_layers[%d]", i), value, 0)
		if err != nil {
			return err
		}
		dense[layer] = true
	}
	for layer := range m.Layers {
		if (layer+1)%step == 0 && !dense[layer] {
			p.ExpertLayers++
		}
	}
	return nil
}

func (r reader) deepSeekExperts(m *Model) error {
	if !r.has("n_routed_experts") {
		return nil
	}
	p := &m.MLP
	var every uint64
	err := r.into([]place{
		{"n_routed_experts", &p.Experts}, {"num_experts_per_tok", &p.PerToken},
		{"moe_intermediate_size", &p.ExpertIntermediate}, {"moe_layer_freq", &every},
	})
	if err != nil {
		return err
	}
	shared, err := r.numberOr("n_shared_experts", 0, 0)
	if err != nil {
		return err
	}
	if shared > maxLayers {
		return r.wrong("n_shared_experts", "is %d and not within 0 to %d", shared, maxLayers)
	}
	var c calculation
	p.SharedIntermediate = c.product(shared, p.ExpertIntermediate)
	if p.SharedIntermediate > maxNumber {
		return r.wrong("moe_intermediate_size", "is %d, too wide for %d shared experts", p.ExpertIntermediate, shared)
	}
	first, err := r.numberOr("first_k_dense_replace", 0, r.family.defaults["first_k_dense_replace"])
	if err != nil {
		return err
	}
	method, err := r.textOr("topk_method", "")
	if err != nil {
		return err
	}
	// The bias that balances the experts without a loss of its own.
	p.RouterBias = method == "noaux_tc" || m.Type == "deepseek_v3"
	for layer := first; layer < m.Layers; layer++ {
		if layer%every == 0 {
			p.ExpertLayers++
		}
	}
	return nil
}

// windows reads which layers keep the last tokens only, and how many of those.
func (r reader) windows(m *Model) error {
	err := r.slidingLayers(m)
	if m.SlidingLayers == 0 {
		m.Window = 0
	}
	return err
}

// slidingLayers: encoders keep no cache at all.
func (r reader) slidingLayers(m *Model) error {
	if m.Encoder || r.family.window == windowNever {
		return nil
	}
	// null switches the window off, where leaving it out may not.
	if value, ok := r.fields["sliding_window"]; ok && value == nil {
		return nil
	}
	var err error
	if m.Window, err = r.numberOr("sliding_window", 1, r.family.defaults["sliding_window"]); err != nil || m.Window == 0 {
		return err
	}
	if r.has("layer_types") {
		m.SlidingLayers, err = r.layerTypes(m.Layers)
		return err
	}
	switch r.family.window {
	case windowAll:
		m.SlidingLayers = m.Layers
	case windowEven:
		m.SlidingLayers = ceilDiv(m.Layers, 2)
	case windowPattern:
		return r.patternWindows(m)
	case windowFromLayer:
		return r.windowsFromLayer(m)
	}
	return nil
}

func (r reader) windowsFromLayer(m *Model) error {
	used, err := r.flagOr("use_sliding_window", false)
	if err != nil || !used {
		return err
	}
	first, err := r.numberOr("max_window_layers", 0, r.family.defaults["max_window_layers"])
	if err != nil {
		return err
	}
	m.SlidingLayers = m.Layers - min(first, m.Layers)
	return nil
}

func (r reader) patternWindows(m *Model) error {
	// Later configurations write the name with an underscore in front.
	field := "sliding_window_pattern"
	if r.has("_" + field) {
		field = "_" + field
	}
	every, err := r.numberOr(field, 1, r.family.defaults["sliding_window_pattern"])
	if err != nil {
		return err
	}
	m.SlidingLayers = m.Layers - m.Layers/every
	return nil
}

func (r reader) layerTypes(layers uint64) (sliding uint64, err error) {
	list, err := r.listOr("layer_types")
	if err != nil {
		return 0, err
	}
	if uint64(len(list)) != layers {
		return 0, r.wrong("layer_types", "has %d entries for %d layers", len(list), layers)
	}
	for i, value := range list {
		switch value {
		case "sliding_attention":
			sliding++
		case "full_attention":
		default:
			return 0, r.wrong(fmt.Sprintf("layer_types[%d]", i), "is %s and neither full_attention nor sliding_attention", kindOf(value))
		}
	}
	return sliding, nil
}
