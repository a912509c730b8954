package estimate

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
)

// absent is a value that removes its field. configText applies such changes to the
// configuration of a small llama.
type absent struct{}

func configText(t testing.TB, changes map[string]any) []byte {
	fields := map[string]any{
		"model_type": "llama", "hidden_size": 64, "intermediate_size": 256, "num_hidden_layers": 4,
		"num_attention_heads": 8, "vocab_size": 1000, "max_position_embeddings": 128, "torch_dtype": "bfloat16",
	}
	maps.Copy(fields, changes)
	maps.DeleteFunc(fields, func(_ string, v any) bool { return v == absent{} })
	text, err := json.Marshal(fields)
	require.NoError(t, err)
	return text
}

func parse(t testing.TB, changes map[string]any) *Model {
	m, err := ReadConfig("config.json", configText(t, changes))
	require.NoError(t, err)
	return m
}

func parameters(t testing.TB, changes map[string]any) int {
	n, err := parse(t, changes).Parameters()
	require.NoError(t, err)
	return int(n)
}

// The expected numbers are matrices written out by hand: each case has the part that one
// field adds.
func TestFieldsCountWhatTheyAdd(t *testing.T) {
	const h, i, layers, vocab = 64, 256, 4, 1000
	base := parameters(t, nil)
	assert.Equal(t, layers*(4*h*h+3*h*i+2*h)+2*vocab*h+h, base)
	for _, c := range []struct {
		name    string
		changes map[string]any
		more    int
	}{
		{"tied", map[string]any{"tie_word_embeddings": true}, -vocab * h},
		{"two kv heads", map[string]any{"num_key_value_heads": 2}, -layers * 2 * h * (h - 2*8)},
		{"head size", map[string]any{"head_dim": 16}, layers * 4 * h * h},
		{"attention bias", map[string]any{"attention_bias": true}, layers * 4 * h},
		{"mlp bias", map[string]any{"mlp_bias": true}, layers * (2*i + h)},
		{"head norms", map[string]any{"model_type": "qwen3", "num_key_value_heads": 8, "head_dim": 8}, layers * 2 * 8},
		{"four norms, tied", map[string]any{"model_type": "gemma2", "head_dim": 8}, layers*2*h - vocab*h},
		{"null is absent", map[string]any{"head_dim": nil, "num_key_value_heads": nil}, 0},
	} {
		t.Run(c.name, func(t *testing.T) { assert.Equal(t, c.more, parameters(t, c.changes)-base) })
	}
}

func TestLayersWithExperts(t *testing.T) {
	qwen := map[string]any{
		"model_type": "qwen3_moe", "num_key_value_heads": 8, "head_dim": 8,
		"num_experts": 16, "moe_intermediate_size": 32, "num_experts_per_tok": 2,
	}
	for _, c := range []struct {
		changes map[string]any
		layers  uint64
	}{
		{map[string]any{}, 4},
		{map[string]any{"decoder_sparse_step": 2}, 2},
		{map[string]any{"mlp_only_layers": []int{0, 3, 77}}, 2},
		{map[string]any{"decoder_sparse_step": 2, "mlp_only_layers": []int{1}}, 1},
		{map[string]any{"decoder_sparse_step": 5}, 0},
	} {
		maps.Copy(c.changes, qwen)
		m := parse(t, c.changes)
		assert.Equal(t, c.layers, m.MLP.ExpertLayers, c.changes)
		assert.Equal(t, 4-c.layers, m.MLP.DenseLayers)
	}
	deepSeek := map[string]any{
		"model_type": "deepseek_v2", "n_routed_experts": 8, "n_shared_experts": 2, "moe_intermediate_size": 32,
		"num_experts_per_tok": 2, "first_k_dense_replace": 1, "q_lora_rank": nil,
	}
	m := parse(t, deepSeek)
	assert.EqualValues(t, 3, m.MLP.ExpertLayers)
	assert.EqualValues(t, 64, m.MLP.SharedIntermediate)
	assert.Zero(t, m.Attention.Latent.QueryRank, "null: queries are not compressed")
	deepSeek["moe_layer_freq"], deepSeek["first_k_dense_replace"] = 2, 0
	assert.EqualValues(t, 2, parse(t, deepSeek).MLP.ExpertLayers)
	deepSeek["first_k_dense_replace"] = 1 << 39
	assert.Zero(t, parse(t, deepSeek).MLP.ExpertLayers)
	delete(deepSeek, "q_lora_rank")
	assert.EqualValues(t, 1536, parse(t, deepSeek).Attention.Latent.QueryRank, "a missing field has its default")
	deepSeek["n_routed_experts"] = nil
	assert.EqualValues(t, 4, parse(t, deepSeek).MLP.DenseLayers)
}

func TestWhichLayersSlide(t *testing.T) {
	kinds := func(names string) []string {
		return strings.Split(strings.NewReplacer("s", "sliding_attention", "f", "full_attention").Replace(names), " ")
	}
	for _, c := range []struct {
		name           string
		changes        map[string]any
		layers, window uint64
	}{
		{"llama never", map[string]any{"sliding_window": 32}, 0, 0},
		{"mistral all", map[string]any{"model_type": "mistral", "sliding_window": 32}, 4, 32},
		{"mistral null", map[string]any{"model_type": "mistral", "sliding_window": nil}, 0, 0},
		{"mistral by default", map[string]any{"model_type": "mistral"}, 4, 4096},
		{"mixtral by default", map[string]any{"model_type": "mixtral"}, 0, 0},
		{"qwen2 unused", map[string]any{"model_type": "qwen2", "num_key_value_heads": 8, "sliding_window": 32}, 0, 0},
		{"qwen2 late", map[string]any{"model_type": "qwen2", "num_key_value_heads": 8, "sliding_window": 32, "use_sliding_window": true, "max_window_layers": 3}, 1, 32},
		{"qwen2 later than all", map[string]any{"model_type": "qwen2", "num_key_value_heads": 8, "use_sliding_window": true, "max_window_layers": 9}, 0, 0},
		{"gemma2 every second", map[string]any{"model_type": "gemma2", "num_hidden_layers": 5}, 3, 4096},
		{"gemma3 pattern", map[string]any{"model_type": "gemma3_text", "num_key_value_heads": 4, "num_hidden_layers": 13, "sliding_window": 512}, 11, 512},
		{"gemma3 other pattern", map[string]any{"model_type": "gemma3_text", "num_key_value_heads": 4, "_sliding_window_pattern": 2}, 2, 4096},
		{"types", map[string]any{"model_type": "gemma3_text", "num_key_value_heads": 4, "layer_types": kinds("s f s s")}, 3, 4096},
		{"all full", map[string]any{"model_type": "gemma2", "layer_types": kinds("f f f f")}, 0, 0},
		{"encoder", map[string]any{"model_type": "modernbert", "sliding_window": 32}, 0, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := parse(t, c.changes)
			assert.Equal(t, c.layers, m.SlidingLayers)
			assert.Equal(t, c.window, m.Window)
		})
	}
}

func TestQuantisedWeights(t *testing.T) {
	whole := parse(t, nil)
	var c calculation
	count := c.count(whole, 1)
	plain := 2 * count.other
	for _, q := range []struct {
		config map[string]any
		bytes  uint64
	}{
		{map[string]any{"quant_method": "gptq", "bits": 4, "group_size": 128}, count.linear/2 + (count.linear/128*20+7)/8},
		{map[string]any{"quant_method": "awq", "bits": 4}, count.linear/2 + (count.linear/128*20+7)/8},
		{map[string]any{"quant_method": "gptq", "bits": 8, "group_size": -1}, count.linear + count.rows*3},
		{map[string]any{"quant_method": "fp8"}, count.linear + count.rows*4},
		{map[string]any{"quant_method": "fp8", "weight_block_size": []int{128, 128}}, count.linear + 4*((count.linear+16383)/16384)},
		{map[string]any{"quant_method": "bitsandbytes", "load_in_4bit": true}, count.linear/2 + count.linear/64*4},
		{map[string]any{"quant_method": "bitsandbytes", "load_in_8bit": true}, count.linear + count.rows*4},
		{map[string]any{"quant_method": "compressed-tensors", "config_groups": map[string]any{"group_0": map[string]any{"weights": map[string]any{"num_bits": 4, "group_size": 64}}}}, count.linear/2 + count.linear/64*2},
		{map[string]any{"quant_method": "compressed-tensors", "config_groups": map[string]any{"group_0": map[string]any{"weights": map[string]any{"num_bits": 8, "group_size": nil}}}}, count.linear + count.rows*2},
	} {
		m := parse(t, map[string]any{"quantization_config": q.config})
		assert.Equal(t, q.bytes+plain, m.Weights.bytes(&c, count), q.config)
	}
	assert.Equal(t, 2*count.total(&c), whole.Weights.bytes(&c, count))
	assert.Equal(t, Float32, parse(t, map[string]any{"torch_dtype": absent{}}).Weights.Plain)
	assert.Equal(t, Float16, parse(t, map[string]any{"torch_dtype": nil, "dtype": "float16"}).Weights.Plain)
	assert.Equal(t, Float32, parse(t, map[string]any{"torch_dtype": "auto"}).Weights.Plain)
	require.False(t, c.overflowed)
}

// An impossible value of a mixer's field is rejected, and the error names the field.
func TestMixerErrorsNameTheField(t *testing.T) {
	for _, c := range []struct {
		family  string
		changes map[string]any
		says    string
	}{
		{"mamba", map[string]any{"intermediate_size": absent{}, "expand": 1 << 39}, "expand: is 549755813888, too much for a hidden size of 64"},
		{"mamba", map[string]any{"state_size": 1 << 30}, "state_size: is 1073741824, not within 1 to 16777216"},
		{"mamba", map[string]any{"time_step_rank": "many"}, `time_step_rank: is the text "many", not`},
		{"mamba2", map[string]any{"num_heads": 7, "head_dim": 64}, "num_heads: 7 heads of 64 are 448, not the inner width of 128"},
		{"mamba2", map[string]any{"num_heads": 2, "n_groups": 3}, "n_groups: 3 does not divide the 2 heads"},
		{"bamba", map[string]any{"mamba_n_heads": 7, "mamba_d_head": "auto"}, "mamba_n_heads: 7 does not divide the inner width of 128"},
		{"bamba", map[string]any{"mamba_n_heads": 8, "attn_layer_indices": []int{-1}}, "attn_layer_indices[0]: is the number -1"},
		{"jamba", map[string]any{"attn_layer_period": 0}, "attn_layer_period: is 0"},
		{"granitemoehybrid", map[string]any{"mamba_n_heads": 8, "layer_types": []string{"mamba"}}, "layer_types: has 1 entries for 4 layers"},
		{"granitemoehybrid", map[string]any{"mamba_n_heads": 8, "layer_types": []string{"mamba", "mamba", "mamba", "x"}}, `layer_types[3]: is the text "x", not a kind of layer`},
		{"nemotron_h", map[string]any{}, "hybrid_override_pattern: is missing"},
		{"nemotron_h", map[string]any{"hybrid_override_pattern": "M-"}, "hybrid_override_pattern: has 2 letters for 4 layers"},
		{"nemotron_h", map[string]any{"hybrid_override_pattern": "M-x*"}, `hybrid_override_pattern: letter 2 is "x"`},
		{"nemotron_h", map[string]any{"hybrid_override_pattern": "MEM*"}, "hybrid_override_pattern: layers with experts (E) are not known"},
		{"lfm2", map[string]any{"block_ffn_dim_multiplier": 1.5}, "block_ffn_dim_multiplier: is the number 1.5, and only 1 is known"},
		{"qwen3_next", map[string]any{"linear_num_key_heads": 5}, "linear_num_key_heads: 5 does not divide the 32 heads of values"},
		{"recurrent_gemma", map[string]any{"lru_width": 63}, "lru_width: the 8 attention heads do not divide its 63"},
		{"recurrent_gemma", map[string]any{"block_types": []int{}}, "block_types: is empty"},
		{"recurrent_gemma", map[string]any{"lru_width": 1 << 30}, "lru_width: is 1073741824, not within"},
		{"zamba2", map[string]any{"num_attention_heads": 7}, "num_attention_heads: 7 does not divide the width of 128, twice the hidden size"},
	} {
		t.Run(c.family+" "+c.says, func(t *testing.T) {
			c.changes["model_type"] = c.family
			if _, ok := c.changes["num_key_value_heads"]; !ok {
				c.changes["num_key_value_heads"] = c.changes["num_attention_heads"]
			}
			_, err := ReadConfig("my.json", configText(t, c.changes))
			assert.Equal(t, device.CodeInvalidFormat, device.CodeOf(err), "%v", err)
			assert.ErrorContains(t, err, "my.json: "+c.says)
		})
	}
}

// The context of a model includes the scaling of its positions.
func TestTheModelsOwnContext(t *testing.T) {
	scaling := func(kind string, factor any, from any) map[string]any {
		return map[string]any{"type": kind, "factor": factor, "original_max_position_embeddings": from}
	}
	for _, c := range []struct {
		name    string
		changes map[string]any
		reach   uint64
		stretch Stretch
	}{
		{"plain", nil, 128, Stretch{}},
		{"default", map[string]any{"rope_scaling": map[string]any{"rope_type": "default"}}, 128, Stretch{}},
		{"linear", map[string]any{"rope_scaling": scaling("linear", 4.0, nil)}, 512, Stretch{"linear", 128}},
		{"dynamic", map[string]any{"rope_scaling": scaling("dynamic", 2, nil)}, 256, Stretch{"dynamic", 128}},
		{"a fraction", map[string]any{"rope_scaling": scaling("linear", 1.55, nil)}, 198, Stretch{"linear", 128}},
		{"yarn, already in the number", map[string]any{"rope_scaling": scaling("yarn", 4.0, 32)}, 128, Stretch{"yarn", 32}},
		{"yarn, not in the number", map[string]any{"rope_scaling": scaling("yarn", 4.0, 128)}, 512, Stretch{"yarn", 128}},
		{"yarn, no original", map[string]any{"rope_scaling": scaling("yarn", 4.0, nil)}, 512, Stretch{"yarn", 128}},
		{"llama3", map[string]any{"rope_scaling": scaling("llama3", 8.0, 16)}, 128, Stretch{"llama3", 16}},
		{"longrope", map[string]any{"rope_scaling": scaling("longrope", nil, 64)}, 128, Stretch{"longrope", 64}},
		{"parameters", map[string]any{"rope_parameters": scaling("linear", 2.0, nil)}, 256, Stretch{"linear", 128}},
		{"gemma3", map[string]any{"model_type": "gemma3_text", "num_key_value_heads": 8, "rope_scaling": scaling("linear", 8.0, nil)}, 128, Stretch{}},
		{"cohere", map[string]any{"model_type": "cohere", "model_max_length": 4096}, 4096, Stretch{}},
	} {
		m := parse(t, c.changes)
		assert.Equal(t, c.reach, m.Positions, c.name)
		assert.Equal(t, c.stretch, m.Stretch, c.name)
		assert.Empty(t, m.Notes, c.name)
	}
	m := parse(t, map[string]any{"rope_scaling": scaling("spiral", 8.0, 16)})
	assert.EqualValues(t, 128, m.Positions)
	assert.Equal(t, []string{`rope_scaling of the kind "spiral" is unknown: the model's own context is stated without it`}, m.Notes)
}

// Every error names the file and the field.
func TestConfigErrorsNameTheField(t *testing.T) {
	quant := func(fields map[string]any) map[string]any { return map[string]any{"quantization_config": fields} }
	moe := func(fields map[string]any) map[string]any {
		maps.Copy(fields, map[string]any{"model_type": "qwen3_moe", "num_key_value_heads": 8})
		return fields
	}
	for _, c := range []struct {
		changes map[string]any
		says    string
	}{
		{map[string]any{"model_type": absent{}}, "model_type: is missing"},
		{map[string]any{"model_type": 7}, "model_type: is the number 7, not a text"},
		{
			map[string]any{"model_type": "lama2"},
			`model_type: "lama2" is not a known family, so the contents of its layers are unknown; the nearest known are llama, lfm2 and mamba2; ` +
				"a model like llama needs hidden_size, num_hidden_layers, vocab_size, num_attention_heads and intermediate_size, and this file has all of them",
		},
		{
			map[string]any{"model_type": "qwen3.9_moe", "vocab_size": absent{}, "hidden_size": nil},
			`model_type: "qwen3.9_moe" is not a known family, so the contents of its layers are unknown; the nearest known are qwen3_moe, qwen2_moe and qwen3; ` +
				"a model like qwen3_moe needs hidden_size, num_hidden_layers, vocab_size, num_attention_heads and intermediate_size, and this file lacks hidden_size and vocab_size",
		},
		{map[string]any{"model_type": "distilbrt"}, `model_type: "distilbrt" is not a known family`},
		{map[string]any{"model_type": "opt", "ffn_dim": 8, "word_embed_proj_dim": 32}, "word_embed_proj_dim: is 32, and only the hidden size of 64 is known"},
		{map[string]any{"model_type": "opt", "ffn_dim": 8, "do_layer_norm_before": false}, "do_layer_norm_before: is false, and only true is known"},
		{map[string]any{"model_type": "stablelm", "qk_layernorm": true}, "qk_layernorm: is true, and only false is known"},
		{map[string]any{"rope_scaling": map[string]any{"type": "yarn"}}, "rope_scaling.factor: is null, not a number"},
		{map[string]any{"rope_scaling": map[string]any{"type": "linear", "factor": 0.5}}, "rope_scaling.factor: is the number 0.5, not within 1 to 1048576"},
		{map[string]any{"rope_scaling": map[string]any{"type": "linear", "factor": json.Number("1e999")}}, "rope_scaling.factor: is the number 1e999, not within"},
		{map[string]any{"rope_scaling": []int{1}}, "rope_scaling: is a list, not an object"},
		{map[string]any{"hidden_size": absent{}}, `hidden_size: is missing, and a "llama" model`},
		{map[string]any{"hidden_size": nil}, "hidden_size: is missing"},
		{map[string]any{"hidden_size": -64}, "hidden_size: is the number -64, not a whole number"},
		{map[string]any{"hidden_size": 64.5}, "hidden_size: is the number 64.5, not"},
		{map[string]any{"hidden_size": "64"}, `hidden_size: is the text "64", not`},
		{map[string]any{"hidden_size": []int{64}}, "hidden_size: is a list, not"},
		{map[string]any{"hidden_size": map[string]any{}}, "hidden_size: is an object, not"},
		{map[string]any{"hidden_size": true}, "hidden_size: is true, not"},
		{map[string]any{"hidden_size": 0}, "hidden_size: is 0, not within 1 to"},
		{map[string]any{"hidden_size": json.Number("1" + strings.Repeat("0", 50))}, "hidden_size: is 18446744073709551615, not within"},
		{map[string]any{"num_hidden_layers": 1 << 17}, "num_hidden_layers: is 131072, not within 1 to 65536"},
		{map[string]any{"num_attention_heads": 7}, "num_attention_heads: 7 does not divide the hidden size of 64"},
		{map[string]any{"num_key_value_heads": 3}, "num_key_value_heads: 3 does not divide the 8"},
		{map[string]any{"num_key_value_heads": 0}, "num_key_value_heads: is 0"},
		{map[string]any{"head_dim": 0}, "head_dim: is 0"},
		{map[string]any{"tie_word_embeddings": "yes"}, `tie_word_embeddings: is the text "yes", not true or false`},
		{map[string]any{"torch_dtype": "float7"}, `torch_dtype: "float7" is not one of`},
		{map[string]any{"text_config": 3}, "text_config: is the number 3, not an object"},
		{map[string]any{"text_config": map[string]any{"hidden_size": "x"}}, "text_config.hidden_size: is the text"},
		{map[string]any{"vision_config": true}, "vision_config: is true, not an object"},
		{map[string]any{"vision_config": map[string]any{"model_type": 1}}, "vision_config.model_type: is the number 1"},
		{map[string]any{"vision_config": map[string]any{"model_type": siglip, "hidden_size": "x"}}, "vision_config.hidden_size: is the text"},
		{map[string]any{"vision_config": map[string]any{"model_type": siglip, "num_hidden_layers": 1 << 30}}, "vision_config.num_hidden_layers: is 1073741824"},
		{map[string]any{"vision_config": map[string]any{"model_type": siglip, "patch_size": 225}}, "vision_config.patch_size: is 225, larger"},
		{map[string]any{"model_type": "mistral", "sliding_window": 0}, "sliding_window: is 0"},
		{map[string]any{"model_type": "gemma2", "layer_types": []string{"full_attention"}}, "layer_types: has 1 entries for 4 layers"},
		{map[string]any{"model_type": "gemma2", "layer_types": []any{"full_attention", "full_attention", 3, "x"}}, "layer_types[2]: is the number 3"},
		{map[string]any{"model_type": "deepseek_v3", "kv_lora_rank": "x"}, "kv_lora_rank: is the text"},
		{map[string]any{"model_type": "deepseek_v3", "n_routed_experts": 8}, "num_experts_per_tok: is missing"},
		{map[string]any{"model_type": "deepseek_v3", "n_routed_experts": 8, "num_experts_per_tok": 1, "moe_intermediate_size": 1 << 39, "n_shared_experts": 60000}, "moe_intermediate_size: is 549755813888, too wide for 60000"},
		{moe(map[string]any{"mlp_only_layers": 3}), "mlp_only_layers: is the number 3, not a list"},
		{moe(map[string]any{"mlp_only_layers": []any{0, -1}}), "mlp_only_layers[1]: is the number -1"},
		{moe(map[string]any{"num_experts": 1 << 20}), "num_experts: is 1048576"},
		{moe(map[string]any{"num_experts": 4, "num_experts_per_tok": 5}), "num_experts_per_tok: 5 is more than the 4 experts"},
		{moe(map[string]any{"decoder_sparse_step": 0}), "decoder_sparse_step: is 0"},
		{quant(map[string]any{}), "quantization_config.quant_method: is missing"},
		{quant(map[string]any{"quant_method": "magic"}), `quantization_config.quant_method: "magic" is not one of`},
		{quant(map[string]any{"quant_method": "gptq"}), "quantization_config.bits: is missing"},
		{quant(map[string]any{"quant_method": "gptq", "bits": 16}), "quantization_config.bits: is 16, not within 2 to 8"},
		{quant(map[string]any{"quant_method": "awq", "bits": 4, "group_size": 0}), "quantization_config.group_size: is 0"},
		{quant(map[string]any{"quant_method": "fp8", "weight_block_size": []int{128}}), "quantization_config.weight_block_size: has 1 entries"},
		{quant(map[string]any{"quant_method": "fp8", "weight_block_size": []int{128, 1 << 30}}), "quantization_config.weight_block_size[1]: is 1073741824"},
		{quant(map[string]any{"quant_method": "bitsandbytes"}), "quantization_config.load_in_4bit: either it"},
		{quant(map[string]any{"quant_method": "compressed-tensors", "config_groups": map[string]any{"group_0": map[string]any{}}}), "quantization_config.config_groups.group_0.weights: is missing"},
	} {
		t.Run(c.says, func(t *testing.T) {
			_, err := ReadConfig("my.json", configText(t, c.changes))
			assert.Equal(t, device.CodeInvalidFormat, device.CodeOf(err), "%v", err)
			assert.ErrorContains(t, err, "my.json: "+c.says)
		})
	}
	_, err := ReadConfig("my.json", configText(t, map[string]any{"model_type": "llama", "head_dim": 1 << 39}))
	assert.Equal(t, device.CodeOverflow, device.CodeOf(err))
	assert.ErrorContains(t, err, "my.json: head_dim: 8 x 549755813888 elements")
}

func TestTowersOfOtherKindsAreNoted(t *testing.T) {
	m := parse(t, map[string]any{"vision_config": map[string]any{"model_type": "pixtral"}})
	assert.Nil(t, m.Vision)
	assert.Equal(t, []string{"the numbers of the configuration do not include the vision tower"}, m.Notes)
}

func TestOtherNamesOfFields(t *testing.T) {
	_, err := ReadConfig("c", configText(t, map[string]any{"model_type": "distilbert", "dim": "wide"}))
	assert.ErrorContains(t, err, "c: dim: is the text", "the name that the file uses")
}

func TestMalformedJSON(t *testing.T) {
	deep := strings.Repeat(`{"a":`, MaxJSONDepth+1)
	many := `{"a":[` + strings.Repeat("0,", MaxConfigValues) + "0]}"
	for name, c := range map[string]struct{ text, says string }{
		"empty":      {"", "is not JSON at byte 0"},
		"list":       {"[1]", "is a list, not a JSON object"},
		"number":     {"1", "is the number 1, not a JSON object"},
		"cut off":    {`{"model_type": "llama`, "is not JSON"},
		"unclosed":   {`{"model_type": "llama"`, "is not JSON"},
		"trailing":   {`{} {}`, "something follows"},
		"comma":      {`{"a":1,}`, "is not JSON"},
		"twice":      {`{"a":1,"b":{"c":1,"c":2}}`, "b.c: the key occurs twice"},
		"same twice": {`{"hidden_size":64,"hidden_size":64}`, "hidden_size: the key occurs twice"},
		"odd key":    {`{"a b":1,"a b":1}`, `"a b": the key occurs twice`},
		"deep":       {deep, "is nested deeper than 64"},
		"deep list":  {`{"a":` + strings.Repeat("[", 1<<20), "is nested deeper than 64"},
		"many":       {many, "has more than 262144 values"},
		"not text":   {"{\"a\":\"\xff\"}", "is not UTF-8"},
		"long":       {strings.Repeat(" ", MaxConfigBytes+1), "16.00 MiB (16777217 bytes) are more than the 16 MiB"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := ReadConfig("my.json", []byte(c.text))
			assert.Equal(t, device.CodeInvalidFormat, device.CodeOf(err))
			assert.ErrorContains(t, err, "my.json: ")
			assert.ErrorContains(t, err, c.says)
		})
	}
	_, err := ReadConfig("my.json", []byte(fmt.Sprintf(`{"model_type":%q}`, strings.Repeat("x", 1<<20))))
	assert.Less(t, len(err.Error()), 500, "an error stays readable whatever it quotes")
}
