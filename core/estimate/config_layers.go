package estimate

import "fmt"

// mlp reads the feed-forward part: its width, and the layers with experts.
func (r reader) mlp(m *Model) (err error) {
	p := &m.MLP
	p.Gated = r.family.gated
	if r.family.noAttention {
		return nil
	}
	biases := "mlp_bias"
	if r.family.allBias != "" {
		biases = r.family.allBias
	}
	if p.Bias, err = r.flagOr(biases, r.family.mlpBias); err != nil {
		return err
	}
	p.ExpertBias = r.family.expertBias
	if p.Intermediate, err = r.width(m); err != nil {
		return err
	}
	switch r.family.experts {
	case expertsNever:
	case expertsAll:
		p.ExpertLayers, p.ExpertIntermediate, p.RouterBias = m.Layers, p.Intermediate, r.family.routerBias
		err = r.into([]place{{"num_local_experts", &p.Experts}, {"num_experts_per_tok", &p.PerToken}})
	case expertsStep:
		err = r.stepExperts(m)
	case expertsDeepSeek:
		err = r.deepSeekExperts(m)
	}
	if err != nil {
		return err
	}
	p.DenseLayers = m.Layers - p.ExpertLayers
	return r.expertBounds(m)
}

func (r reader) expertBounds(m *Model) error {
	if m.MLP.Experts > maxLayers {
		return r.wrong("num_experts", "is %d, not within 1 to %d", m.MLP.Experts, maxLayers)
	}
	return nil
}

// width reads the width of the MLPs.
func (r reader) width(m *Model) (uint64, error) {
	times, field := r.family.innerTimes, r.name("intermediate_size")
	if times == 0 || r.has(field) {
		return r.get("intermediate_size")
	}
	var c calculation
	width := c.product(times, m.Hidden)
	if width > maxNumber {
		return 0, r.wrong(r.name("hidden_size"), "is %d, too wide for an MLP of %d times that", m.Hidden, times)
	}
	return width, nil
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
		return r.wrong("n_shared_experts", "is %d, not within 0 to %d", shared, maxLayers)
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
	// A bias balances the load of the experts without a loss term.
	p.RouterBias = method == "noaux_tc" || m.Type == "deepseek_v3"
	for layer := first; layer < m.Layers; layer++ {
		if layer%every == 0 {
			p.ExpertLayers++
		}
	}
	return nil
}

// windows reads which layers keep only the last tokens, and how many.
func (r reader) windows(m *Model) error {
	err := r.slidingLayers(m)
	if m.SlidingLayers == 0 {
		m.Window = 0
	}
	return err
}

// slidingLayers reads which layers have a window. Encoders keep no cache, so they have
// none.
func (r reader) slidingLayers(m *Model) error {
	if m.Encoder || r.family.window == windowNever {
		return nil
	}
	// null disables the window; a missing field may not.
	field := r.name("sliding_window")
	if value, ok := r.fields[field]; ok && value == nil {
		return nil
	}
	var err error
	if m.Window, err = r.numberOr(field, 1, r.family.defaults["sliding_window"]); err != nil || m.Window == 0 {
		return err
	}
	if r.has("layer_types") {
		m.SlidingLayers, err = r.layerTypes(m.Layers)
		return err
	}
	switch r.family.window {
	case windowAll:
		m.SlidingLayers = m.AttentionLayers
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
	// Later configurations write the name with a leading underscore.
	field := "sliding_window_pattern"
	if r.has("_" + field) {
		field = "_" + field
	}
	// Some files have the pattern itself, such as LLLG.
	if letters, ok := r.fields[field].(string); ok && letters != "" {
		m.SlidingLayers = m.Layers - m.Layers/uint64(len(letters))
		return nil
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
