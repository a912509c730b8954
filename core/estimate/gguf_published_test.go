package estimate

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The metadata of a GGUF file and the configuration of the same model give the same
// parameters, cache, state and context, on any number of devices. The keys are those that
// the converters of llama.cpp write for the architecture.
func TestGGUFMetadataSayWhatTheConfigurationSays(t *testing.T) {
	pattern := func(text string, at rune, n int) []int {
		var list []int
		for _, letter := range text {
			value := 0
			if letter == at {
				value = n
			}
			list = append(list, value)
		}
		return list
	}
	nano := "M-M-M-MM-M-M-M*-M-M-M*-M-M-M-M*-M-M-M-M*-M-MM-M-M-M-M-M-"
	granite := strings.Repeat("MMMMM*MMMM", 4)
	for _, c := range []struct {
		file, arch string
		tied       bool
		keys       map[string]any
	}{
		{"llama-3.1-8b", "llama", false, map[string]any{
			"embedding_length": 4096, "block_count": 32, "feed_forward_length": 14336, "attention.head_count": 32, "attention.head_count_kv": 8,
			"context_length": 131072, "vocab_size": 128256,
		}},
		{"mixtral-8x7b-v0.1", "llama", false, map[string]any{
			"embedding_length": 4096, "block_count": 32, "feed_forward_length": 14336, "attention.head_count": 32, "attention.head_count_kv": 8,
			"context_length": 32768, "vocab_size": 32000, "expert_count": 8, "expert_used_count": 2,
		}},
		{"qwen2.5-0.5b", "qwen2", true, map[string]any{
			"embedding_length": 896, "block_count": 24, "feed_forward_length": 4864, "attention.head_count": 14, "attention.head_count_kv": 2,
			"context_length": 32768, "vocab_size": 151936,
		}},
		{"qwen3-30b-a3b", "qwen3moe", false, map[string]any{
			"embedding_length": 2048, "block_count": 48, "feed_forward_length": 6144, "attention.head_count": 32, "attention.head_count_kv": 4,
			"attention.key_length": 128, "context_length": 40960, "vocab_size": 151936, "expert_count": 128, "expert_used_count": 8,
			"expert_feed_forward_length": 768,
		}},
		{"gemma-3-1b", "gemma3", true, map[string]any{
			"embedding_length": 1152, "block_count": 26, "feed_forward_length": 6912, "attention.head_count": 4, "attention.head_count_kv": 1,
			"attention.key_length": 256, "context_length": 32768, "vocab_size": 262144, "attention.sliding_window": 512,
		}},
		{"gpt-oss-20b", "gpt-oss", false, map[string]any{
			"embedding_length": 2880, "block_count": 24, "feed_forward_length": 2880, "attention.head_count": 64, "attention.head_count_kv": 8,
			"attention.key_length": 64, "context_length": 131072, "vocab_size": 201088, "attention.sliding_window": 128, "expert_count": 32,
			"expert_used_count": 4, "expert_feed_forward_length": 2880, "rope.scaling.type": "yarn", "rope.scaling.factor": 32.0,
			"rope.scaling.original_context_length": 4096,
		}},
		{"deepseek-v3", "deepseek2", false, map[string]any{
			"embedding_length": 7168, "block_count": 61, "feed_forward_length": 18432, "attention.head_count": 128, "attention.head_count_kv": 1,
			"context_length": 163840, "vocab_size": 129280, "attention.q_lora_rank": 1536, "attention.kv_lora_rank": 512,
			"attention.key_length": 576, "attention.value_length": 512, "attention.key_length_mla": 192, "attention.value_length_mla": 128,
			"rope.dimension_count": 64, "leading_dense_block_count": 3, "expert_count": 256, "expert_used_count": 8, "expert_shared_count": 1,
			"expert_feed_forward_length": 2048, "expert_gating_func": 2,
		}},
		{"mamba-130m", "mamba", true, map[string]any{
			"embedding_length": 768, "block_count": 24, "feed_forward_length": 0, "attention.head_count": 0, "vocab_size": 50280,
			"context_length": 1 << 20, "ssm.conv_kernel": 4, "ssm.inner_size": 1536, "ssm.state_size": 16, "ssm.time_step_rank": 48,
		}},
		{"mamba-codestral-7b", "mamba2", false, map[string]any{
			"embedding_length": 4096, "block_count": 64, "feed_forward_length": 0, "attention.head_count": 0, "vocab_size": 32768,
			"context_length": 1 << 20, "ssm.conv_kernel": 4, "ssm.inner_size": 8192, "ssm.state_size": 128, "ssm.time_step_rank": 128, "ssm.group_count": 8,
		}},
		{"jamba-v0.1", "jamba", false, map[string]any{
			"embedding_length": 4096, "block_count": 32, "feed_forward_length": 14336, "attention.head_count": 32,
			"attention.head_count_kv": pattern(strings.Repeat("MMMM*MMM", 4), '*', 8), "context_length": 262144, "vocab_size": 65536,
			"expert_count": 16, "expert_used_count": 2, "ssm.conv_kernel": 4, "ssm.inner_size": 8192, "ssm.state_size": 16, "ssm.time_step_rank": 256,
		}},
		{"granite-4.0-h-small", "granitehybrid", true, map[string]any{
			"embedding_length": 4096, "block_count": 40, "feed_forward_length": 768, "expert_shared_feed_forward_length": 1536,
			"attention.head_count": 32, "attention.head_count_kv": pattern(granite, '*', 8), "context_length": 131072, "vocab_size": 100352,
			"expert_count": 72, "expert_used_count": 10, "ssm.conv_kernel": 4, "ssm.inner_size": 8192, "ssm.state_size": 128,
			"ssm.time_step_rank": 128, "ssm.group_count": 1,
		}},
		{"granite-4.0-h-micro", "granitehybrid", true, map[string]any{
			"embedding_length": 2048, "block_count": 40, "feed_forward_length": 8192, "attention.head_count": 32,
			"attention.head_count_kv": pattern(granite, '*', 8), "context_length": 131072, "vocab_size": 100352, "ssm.conv_kernel": 4,
			"ssm.inner_size": 4096, "ssm.state_size": 128, "ssm.time_step_rank": 64, "ssm.group_count": 1,
		}},
		{"nemotron-nano-9b-v2", "nemotron_h", false, map[string]any{
			"embedding_length": 4480, "block_count": 56, "feed_forward_length": pattern(nano, '-', 15680), "attention.head_count": 40,
			"attention.head_count_kv": pattern(nano, '*', 8), "attention.key_length": 128, "context_length": 131072, "vocab_size": 131072,
			"ssm.conv_kernel": 4, "ssm.inner_size": 10240, "ssm.state_size": 128, "ssm.time_step_rank": 128, "ssm.group_count": 8,
		}},
		{"falcon-h1-7b", "falcon-h1", false, map[string]any{
			"embedding_length": 3072, "block_count": 44, "feed_forward_length": 12288, "attention.head_count": 12, "attention.head_count_kv": 2,
			"attention.key_length": 128, "context_length": 262144, "vocab_size": 130049, "ssm.conv_kernel": 4, "ssm.inner_size": 3072,
			"ssm.state_size": 256, "ssm.time_step_rank": 24, "ssm.group_count": 1,
		}},
		{"lfm2-1.2b", "lfm2", true, map[string]any{
			"embedding_length": 2048, "block_count": 16, "feed_forward_length": 8192, "attention.head_count": 32,
			"attention.head_count_kv": pattern("cc*cc*cc*c*c*c*c", '*', 8), "context_length": 128000, "vocab_size": 65536, "shortconv.l_cache": 3,
		}},
		{"qwen3-next-80b-a3b", "qwen3next", false, map[string]any{
			"embedding_length": 2048, "block_count": 48, "feed_forward_length": 5120, "attention.head_count": 16, "attention.head_count_kv": 2,
			"attention.key_length": 256, "context_length": 262144, "vocab_size": 151936, "expert_count": 512, "expert_used_count": 10,
			"expert_feed_forward_length": 512, "expert_shared_feed_forward_length": 512, "ssm.conv_kernel": 4, "ssm.inner_size": 4096,
			"ssm.state_size": 128, "ssm.time_step_rank": 32, "ssm.group_count": 16, "full_attention_interval": 4,
		}},
	} {
		t.Run(c.file, func(t *testing.T) {
			g := new(gguf).set("general.architecture", c.arch)
			for key, value := range c.keys {
				g.set(c.arch+"."+key, value)
			}
			if !c.tied {
				g.tensor("output.weight", 0, 0, 1, 0)
			}
			_, h, err := readGGUFBytes("m.gguf", g.bytes())
			require.NoError(t, err)
			m, note, err := h.model()
			require.NoError(t, err)
			assert.Empty(t, note)
			want := subject(t, c.file)
			for i := range published {
				if published[i].file == c.file {
					n, err := m.Parameters()
					require.NoError(t, err)
					assert.Equal(t, published[i].parameters, n)
				}
			}
			if want.Model.AttentionLayers > 0 {
				assert.Equal(t, want.Model.Positions, m.Positions)
				assert.Equal(t, want.Model.Stretch.From, m.Stretch.From)
			}
			x := &Subject{Model: m}
			s := Serving{Context: 20000, Batch: 2, PrefillTokens: 512, WeightDType: BFloat16}
			for _, devices := range devicesOf(want.Model) {
				s.TensorParallel = devices
				a, b := planOf(t, want, s), planOf(t, x, s)
				assert.Equal(t, a, b, "on %d devices", devices)
			}
		})
	}
}
