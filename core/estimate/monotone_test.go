package estimate

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"ferrum_mem/core/device"
)

// The short formulas never return less when an argument grows. Heads are the exception:
// more heads make each head narrower, so the formulas never return more. If the smaller
// shape overflows, the larger shape does too.
func TestSeedIsMonotone(t *testing.T) {
	amount := rapid.OneOf(rapid.Uint64Range(0, 1<<16), rapid.Uint64Range(0, 1<<62))
	fields := []func(*InferenceShape) *uint64{
		func(s *InferenceShape) *uint64 { return &s.IntermediateSize }, func(s *InferenceShape) *uint64 { return &s.Layers },
		func(s *InferenceShape) *uint64 { return &s.VocabSize }, func(s *InferenceShape) *uint64 { return &s.KVHeads },
		func(s *InferenceShape) *uint64 { return &s.DTypeBytes }, func(s *InferenceShape) *uint64 { return &s.MaxSeqLen },
		func(s *InferenceShape) *uint64 { return &s.HiddenSize }, func(s *InferenceShape) *uint64 { return &s.Heads },
	}
	heads := len(fields) - 1
	rapid.Check(t, func(t *rapid.T) {
		draw := func(name string) uint64 { return amount.Draw(t, name) }
		less := InferenceShape{ModelShape: ModelShape{
			draw("hidden"), draw("inner"), draw("layers"), draw("vocab"), 1 + draw("heads"), draw("kv"), draw("bytes"),
		}, MaxSeqLen: draw("sequence")}
		more := less
		argument := rapid.IntRange(0, heads).Draw(t, "argument")
		*fields[argument](&more) += draw("step")
		if argument == heads {
			less, more = more, less
		}
		small, errSmall := EstimateInferenceMemory(less)
		large, errLarge := EstimateInferenceMemory(more)
		if errSmall != nil {
			require.ErrorIs(t, errSmall, device.CodeOverflow)
			require.ErrorIs(t, errLarge, device.CodeOverflow, "%+v is too much, and %+v is not", less, more)
		}
		if errLarge != nil {
			require.ErrorIs(t, errLarge, device.CodeOverflow)
			return
		}
		for _, pair := range [][2]uint64{
			{small.ModelBytes, large.ModelBytes}, {small.KVCacheBytes, large.KVCacheBytes},
			{small.ActivationBytes, large.ActivationBytes}, {small.TotalBytes, large.TotalBytes},
		} {
			require.LessOrEqual(t, pair[0], pair[1], "%+v then %+v", less, more)
		}
	})
}

// A configuration with more of something never needs less of anything.
func TestConfigurationsAreMonotone(t *testing.T) {
	families := map[string][]string{
		"llama": {"hidden_size", "intermediate_size", "num_hidden_layers", "num_key_value_heads", "head_dim", "vocab_size"},
		"mixtral": {
			"hidden_size", "intermediate_size", "num_hidden_layers", "num_key_value_heads", "vocab_size",
			"num_local_experts", "num_experts_per_tok", "sliding_window",
		},
		"gemma2": {"hidden_size", "intermediate_size", "num_hidden_layers", "vocab_size", "sliding_window"},
		"deepseek_v3": {
			"hidden_size", "intermediate_size", "num_hidden_layers", "vocab_size", "kv_lora_rank", "qk_rope_head_dim",
			"qk_nope_head_dim", "v_head_dim", "q_lora_rank", "n_routed_experts", "n_shared_experts", "moe_intermediate_size",
		},
		"bert": {"hidden_size", "intermediate_size", "num_hidden_layers", "vocab_size", "type_vocab_size", "max_position_embeddings"},
	}
	least := map[string]any{
		"hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 4, "num_attention_heads": 8, "num_key_value_heads": 2,
		"head_dim": 8, "vocab_size": 100, "num_local_experts": 4, "num_experts_per_tok": 2, "sliding_window": 16,
		"kv_lora_rank": 16, "qk_rope_head_dim": 8, "qk_nope_head_dim": 8, "v_head_dim": 8, "q_lora_rank": 16,
		"n_routed_experts": 4, "n_shared_experts": 1, "moe_intermediate_size": 32, "first_k_dense_replace": 1,
		"type_vocab_size": 2, "max_position_embeddings": 64,
	}
	// Without head_dim, the width of a head is the hidden size divided by the 8 heads. So
	// the hidden size grows in steps of 8.
	unit := map[string]int{"hidden_size": 8}
	rapid.Check(t, func(r *rapid.T) {
		family := rapid.SampledFrom([]string{"llama", "mixtral", "gemma2", "deepseek_v3", "bert"}).Draw(r, "family")
		field := rapid.SampledFrom(families[family]).Draw(r, "field")
		plan := func(value int) Plan {
			changes := map[string]any{"model_type": family}
			for name, number := range least {
				changes[name] = number
			}
			changes[field] = value
			if family == "mixtral" || family == "deepseek_v3" || family == "bert" {
				changes["head_dim"] = absent{}
			}
			x, err := OpenConfig("config.json", configText(t, changes))
			require.NoError(r, err)
			p, err := x.Plan(Serving{Context: 48, Batch: 3, PrefillTokens: 32, OverheadPermille: 16})
			require.NoError(r, err)
			return p
		}
		first, _ := least[field].(int)
		steps := rapid.IntRange(0, 6)
		if field == "num_key_value_heads" {
			// The number must divide the 8 heads.
			steps = rapid.SampledFrom([]int{0, 2, 6})
		}
		if field == "num_experts_per_tok" {
			steps = rapid.IntRange(0, 2)
		}
		step := max(1, unit[field])
		before := plan(first)
		after := plan(first + step*steps.Draw(r, "steps"))
		for _, pair := range [][2]uint64{
			{before.Parameters, after.Parameters}, {before.WeightsBytes, after.WeightsBytes},
			{before.KVCacheBytes, after.KVCacheBytes}, {before.ActivationBytes, after.ActivationBytes}, {before.TotalBytes, after.TotalBytes},
		} {
			require.LessOrEqual(r, pair[0], pair[1], "%s of %s: %+v then %+v", field, family, before, after)
		}
	})
}

// Weights in a wider type, with their scales, are never smaller, and have the same number
// of parameters. Types of fewer than 16 bits apply only to the matrices of the layers, so
// they are compared only with each other.
func TestWiderTypesOfWeightsAreMonotone(t *testing.T) {
	for _, byWidth := range [][]DType{{Int4, Float8, Int8}, {BFloat16, Float16, Float32}} {
		for _, p := range published {
			x := subject(t, p.file)
			var last Plan
			for _, dtype := range byWidth {
				now := planOf(t, x, Serving{Context: 1, Batch: 1, WeightDType: dtype})
				require.LessOrEqual(t, last.WeightsBytes, now.WeightsBytes, "%s in %s", p.file, dtype.Name)
				if last.Parameters != 0 {
					require.Equal(t, last.Parameters, now.Parameters, p.file)
				}
				last = now
			}
		}
	}
}
