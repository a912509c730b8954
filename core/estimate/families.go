package estimate

import (
	"maps"
	"slices"
	"sync"
)

// decoder returns the plain decoder with a gated MLP, two norms and no bias, changed by
// change. Inlined into the tables below it would add 16 kB to the library.
//
//go:noinline
func decoder(change func(*family)) family {
	f := family{gated: true, normsPerLayer: 2, finalNorm: true, defaults: map[string]uint64{}}
	change(&f)
	return f
}

func bertLike(positions, types uint64) family {
	return family{
		encoder: true, mlpBias: true, normsPerLayer: 2, normBias: true, embeddingNorm: true,
		qkvBias: true, outputBias: true, biasFixed: true, positionsLearned: true, pooler: true, tied: true,
		defaults: map[string]uint64{
			"vocab_size": 30522, "hidden_size": 768, "num_hidden_layers": 12, "num_attention_heads": 12,
			"intermediate_size": 3072, "max_position_embeddings": positions, "type_vocab_size": types,
		},
		encoding: &Encoding{NormEpsilon: 1e-12, Activation: "gelu", InitialStd: 0.02, PositionKind: AbsolutePositions},
	}
}

// families has the known model types. The table is created at its first use, so that
// programs without estimates do not pay for it at start.
var families = sync.OnceValue(func() map[string]family {
	all := map[string]family{
		"llama":   decoder(func(f *family) {}),
		"mistral": decoder(func(f *family) { f.biasFixed, f.window = true, windowAll; f.defaults = mistralDefaults() }),
		"mixtral": decoder(func(f *family) {
			f.biasFixed, f.window, f.experts = true, windowAll, expertsAll
			f.defaults = map[string]uint64{"num_key_value_heads": 8, "num_local_experts": 8, "num_experts_per_tok": 2}
		}),
		"qwen2": decoder(func(f *family) {
			f.qkvBias, f.biasFixed, f.window = true, true, windowFromLayer
			f.defaults = map[string]uint64{"num_key_value_heads": 32, "sliding_window": 4096, "max_window_layers": 28}
		}),
		"qwen2_moe": decoder(func(f *family) {
			f.qkvBias, f.biasFixed, f.window, f.experts = true, true, windowFromLayer, expertsStep
			f.defaults = map[string]uint64{
				"num_key_value_heads": 16, "sliding_window": 4096, "max_window_layers": 28, "num_experts": 60, "num_experts_per_tok": 4,
				"moe_intermediate_size": 1408, "shared_expert_intermediate_size": 5632, "decoder_sparse_step": 1,
			}
		}),
		"qwen3": decoder(func(f *family) {
			f.headNorms, f.window = 2, windowFromLayer
			f.defaults = map[string]uint64{"num_key_value_heads": 32, "head_dim": 128, "sliding_window": 4096, "max_window_layers": 28}
		}),
		"qwen3_moe": decoder(func(f *family) {
			f.headNorms, f.window, f.experts = 2, windowFromLayer, expertsStep
			f.defaults = map[string]uint64{
				"num_key_value_heads": 4, "sliding_window": 4096, "max_window_layers": 28, "num_experts": 128, "num_experts_per_tok": 8,
				"moe_intermediate_size": 768, "decoder_sparse_step": 1,
			}
		}),
		"gemma": decoder(func(f *family) { f.tied, f.defaults = true, map[string]uint64{"head_dim": 256} }),
		"gemma2": decoder(func(f *family) {
			f.tied, f.normsPerLayer, f.window = true, 4, windowEven
			f.defaults = map[string]uint64{"head_dim": 256, "sliding_window": 4096}
		}),
		"gemma3_text": decoder(gemma3),
		// A text model with a vision tower.
		"gemma3": decoder(gemma3),
		"phi": decoder(func(f *family) {
			f.gated, f.mlpBias, f.normsPerLayer, f.normBias = false, true, 1, true
			f.qkvBias, f.outputBias, f.biasFixed, f.lmHeadBias = true, true, true, true
		}),
		"phi3": decoder(func(f *family) { f.biasFixed, f.window = true, windowAll }),
		"phimoe": decoder(func(f *family) {
			f.normBias, f.window, f.experts = true, windowAll, expertsAll
			f.defaults = map[string]uint64{"num_local_experts": 16, "num_experts_per_tok": 2, "num_key_value_heads": 8}
		}),
		"deepseek_v2": decoder(func(f *family) { f.latent, f.experts = true, expertsDeepSeek; f.defaults = deepSeekDefaults(1536) }),
		"deepseek_v3": decoder(func(f *family) { f.latent, f.experts = true, expertsDeepSeek; f.defaults = deepSeekDefaults(1536) }),

		"bert":        bertLike(512, 2),
		"roberta":     robertaLike(),
		"xlm-roberta": robertaLike(),
		"camembert":   robertaLike(),
		"distilbert":  distilBERT(),
		"electra":     electra(),
		"mpnet":       mpnet(),
		"modernbert":  modernBERT(),
	}
	maps.Copy(all, olderFamilies())
	maps.Copy(all, gatedFamilies())
	maps.Copy(all, hybridFamilies())
	return all
})

func mistralDefaults() map[string]uint64 {
	return map[string]uint64{"num_key_value_heads": 8, "sliding_window": 4096}
}

func gemma3(f *family) {
	f.tied, f.normsPerLayer, f.headNorms, f.window = true, 4, 2, windowPattern
	f.defaults = map[string]uint64{
		"vocab_size": 262208, "num_attention_heads": 8, "num_key_value_heads": 4, "head_dim": 256,
		"max_position_embeddings": 131072, "sliding_window": 4096, "sliding_window_pattern": 6,
	}
}

func deepSeekDefaults(queryRank uint64) map[string]uint64 {
	return map[string]uint64{
		"q_lora_rank": queryRank, "kv_lora_rank": 512, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "v_head_dim": 128,
		"first_k_dense_replace": 0, "moe_layer_freq": 1,
	}
}

func robertaLike() family {
	f := bertLike(512, 2)
	f.defaults["vocab_size"] = 50265
	f.encoding.PadToken, f.positionsAfterPad = 1, true
	return f
}

func distilBERT() family {
	f := bertLike(512, 0)
	f.pooler, f.normEpsilonFixed = false, true
	f.names = map[string]string{
		"hidden_size": "dim", "intermediate_size": "hidden_dim", "num_hidden_layers": "n_layers", "num_attention_heads": "n_heads",
		"hidden_act": "activation",
	}
	return f
}

func electra() family {
	f := bertLike(512, 2)
	f.pooler = false
	for field, small := range map[string]uint64{
		"embedding_size": 128, "hidden_size": 256, "num_attention_heads": 4, "intermediate_size": 1024,
	} {
		f.defaults[field] = small
	}
	return f
}

// mpnet has numbers that attention adds for the distance of two tokens. Two rows of its table of positions are not used,
// whatever the pad token is.
func mpnet() family {
	f := bertLike(512, 0)
	f.defaults["vocab_size"], f.defaults["relative_attention_num_buckets"] = 30527, 32
	f.encoding.PadToken, f.encoding.FirstPosition = 1, 2
	return f
}

func modernBERT() family {
	return family{
		encoder: true, gated: true, normsPerLayer: 2, normsLeftOut: 1, embeddingNorm: true, finalNorm: true, tied: true,
		defaults: map[string]uint64{
			"vocab_size": 50368, "hidden_size": 768, "num_hidden_layers": 22, "num_attention_heads": 12,
			"intermediate_size": 1152, "max_position_embeddings": 8192,
		},
	}
}

// ModelTypes returns the model types that ReadConfig knows, sorted.
func ModelTypes() []string { return slices.Sorted(maps.Keys(families())) }

// FieldName returns the name that a family has for a field, such as n_heads for num_attention_heads.
func FieldName(modelType, field string) string {
	return reader{family: families()[modelType]}.name(field)
}

func familyOf(o *object) (string, family, error) {
	name, err := o.textOr("model_type", "")
	if err != nil {
		return "", family{}, err
	}
	if name == "" {
		return "", family{}, o.wrong("model_type", "is missing: it determines the meaning of the other fields")
	}
	f, ok := families()[name]
	if !ok {
		return "", family{}, unknownFamily(o, name)
	}
	return name, f, nil
}
