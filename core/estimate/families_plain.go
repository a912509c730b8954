package estimate

// Further families of plain transformers.

// olderFamilies returns families with an MLP without a gate and norms with a bias.
func olderFamilies() map[string]family {
	return map[string]family{
		"gpt2": older(func(f *family) {
			f.tied, f.positionsLearned, f.innerTimes = true, true, 4
			f.names = map[string]string{
				"hidden_size": "n_embd", "num_hidden_layers": "n_layer", "num_attention_heads": "n_head",
				"intermediate_size": "n_inner", "max_position_embeddings": "n_positions",
			}
			f.defaults = map[string]uint64{
				"vocab_size": 50257, "max_position_embeddings": 1024, "hidden_size": 768, "num_hidden_layers": 12, "num_attention_heads": 12,
			}
		}),
		"gptj": older(func(f *family) {
			f.normsPerLayer, f.qkvBias, f.outputBias, f.lmHeadBias, f.innerTimes = 1, false, false, true, 4
			f.names = map[string]string{
				"hidden_size": "n_embd", "num_hidden_layers": "n_layer", "num_attention_heads": "n_head",
				"intermediate_size": "n_inner", "max_position_embeddings": "n_positions",
			}
		}),
		"gpt_neox": older(func(f *family) { f.biasFixed = false }),
		"opt": older(func(f *family) {
			f.tied, f.positionsLearned, f.positionsMore, f.allBias = true, true, 2, "enable_bias"
			f.names = map[string]string{"intermediate_size": "ffn_dim"}
			f.only, f.layers = map[string]bool{"do_layer_norm_before": true}, reader.optLayers
		}),
		"bloom": older(func(f *family) {
			f.tied, f.embeddingNorm, f.innerTimes = true, true, 4
			f.names = map[string]string{"num_hidden_layers": "n_layer", "num_attention_heads": "n_head"}
		}),
		"starcoder2": older(func(f *family) {
			f.tied, f.allBias, f.window = true, "use_bias", windowAll
			f.defaults = map[string]uint64{"num_key_value_heads": 2, "max_position_embeddings": 4096}
		}),
		"nemotron": older(func(f *family) {
			f.mlpBias, f.qkvBias, f.outputBias, f.biasFixed = false, false, false, false
		}),
	}
}

// gatedFamilies returns families with a gated MLP.
func gatedFamilies() map[string]family {
	return map[string]family{
		"cohere": decoder(func(f *family) { f.tied, f.normsPerLayer = true, 1 }),
		"cohere2": decoder(func(f *family) {
			f.tied, f.normsPerLayer, f.window = true, 1, windowPattern
			f.defaults = map[string]uint64{"sliding_window": 4096, "sliding_window_pattern": 4, "max_position_embeddings": 8192}
		}),
		"ernie4_5": decoder(func(f *family) {
			f.tied, f.allBias = true, "use_bias"
			f.defaults = map[string]uint64{"num_key_value_heads": 2, "head_dim": 128}
		}),
		"exaone4": decoder(func(f *family) {
			f.headNorms, f.biasFixed, f.window = 2, true, windowPattern
			f.defaults = map[string]uint64{"sliding_window": 4096, "sliding_window_pattern": 4}
		}),
		"glm":  decoder(func(f *family) { f.qkvBias, f.qkvOnly, f.defaults = true, true, glmDefaults() }),
		"glm4": decoder(func(f *family) { f.qkvOnly, f.normsPerLayer, f.defaults = true, 4, glmDefaults() }),
		"gpt_oss": decoder(func(f *family) {
			f.qkvBias, f.outputBias, f.biasFixed, f.sinks, f.expertBias = true, true, true, true, true
			f.window, f.experts = windowEven, expertsAll
			f.routerBias = true
			f.defaults = map[string]uint64{
				"num_hidden_layers": 36, "num_local_experts": 128, "vocab_size": 201088, "hidden_size": 2880, "intermediate_size": 2880,
				"head_dim": 64, "num_attention_heads": 64, "num_key_value_heads": 8, "sliding_window": 128, "num_experts_per_tok": 4,
				"max_position_embeddings": 131072,
			}
		}),
		"granite": decoder(func(f *family) {}),
		"granitemoe": decoder(func(f *family) {
			f.experts, f.defaults = expertsAll, map[string]uint64{"num_local_experts": 8, "num_experts_per_tok": 2}
		}),
		"olmo2": decoder(func(f *family) { f.wideNorms = true }),
		"olmoe": decoder(func(f *family) {
			f.wideNorms, f.experts = true, expertsAll
			f.names = map[string]string{"num_local_experts": "num_experts"}
			f.defaults = map[string]uint64{"num_local_experts": 64, "num_experts_per_tok": 8}
		}),
		"seed_oss": decoder(func(f *family) { f.qkvBias, f.qkvOnly, f.defaults = true, true, map[string]uint64{"head_dim": 128} }),
		"smollm3":  decoder(func(f *family) { f.tied, f.defaults = true, map[string]uint64{"num_key_value_heads": 4} }),
		"stablelm": decoder(func(f *family) {
			f.normBias, f.qkvOnly, f.biasField = true, true, "use_qkv_bias"
			f.only = map[string]bool{"qk_layernorm": false}
		}),
	}
}

// optLayers rejects embeddings of another width than the model.
func (r reader) optLayers(m *Model) error {
	width, err := r.numberOr("word_embed_proj_dim", 1, m.Hidden)
	if err == nil && width != m.Hidden {
		err = r.wrong("word_embed_proj_dim", "is %d, and only the hidden size of %d is known", width, m.Hidden)
	}
	return err
}

// older returns a decoder in which every part has a bias and the MLPs have no gate.
func older(change func(*family)) family {
	return decoder(func(f *family) {
		f.gated, f.mlpBias, f.normBias, f.qkvBias, f.outputBias, f.biasFixed = false, true, true, true, true, true
		change(f)
	})
}

func glmDefaults() map[string]uint64 {
	return map[string]uint64{"num_key_value_heads": 2, "head_dim": 128, "max_position_embeddings": 131072}
}
