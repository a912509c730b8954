package passes

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"ferrum_mem/core/architecture"
	"ferrum_mem/core/device/devicetest"
	"ferrum_mem/core/ir"
)

// encoder returns the definition of an encoder with the layers of MiniLM. Its vocabulary is small.
func encoder(t *testing.T, width int, activation string) *ir.Model {
	t.Helper()
	text := fmt.Sprintf(`{"model_type":"bert","hidden_size":%d,"num_hidden_layers":6,"num_attention_heads":12,"intermediate_size":%d,"vocab_size":64,
		"max_position_embeddings":512,"type_vocab_size":2,"hidden_act":%q,"layer_norm_eps":1e-12}`, width, 4*width, activation)
	d, err := architecture.OpenConfig("config.json", []byte(text), architecture.Options{})
	require.NoError(t, err)
	return d.Model
}

// Each pass, and the passes of each level, keep the outputs of an encoder.
func TestEncoderComputesTheSame(t *testing.T) {
	devicetest.SkipShortRace(t)
	m := encoder(t, 48, "gelu")
	for _, name := range exact() {
		changed, _ := applied(t, m, name)
		isFinal(t, changed, name)
	}
	changed, results := applied(t, m, exact()...)
	// Each layer: 3 products, attention, product, sum, norm, product, activation, product, sum, norm are 12
	// operations before, and product, attention, product, norm, product, product, norm are 7 after. Before the
	// layers one sum is joined with the norm.
	assert.EqualValues(t, 6*5+1, Total(results).OperationsEliminated)
	assert.Zero(t, Total(results).ParametersEliminated)
	for _, name := range exact() {
		isFinal(t, changed, name)
	}
}

func TestEncoderHasTheFusedOperators(t *testing.T) {
	for _, activation := range []string{"gelu", "gelu_new", "relu", "silu"} {
		list, err := Standard(2)
		require.NoError(t, err)
		m := encoder(t, 384, activation)
		changed, results, err := Run(context.Background(), m, list, Options{Lengths: map[string]uint64{"batch": 8, "sequence": 128}})
		require.NoError(t, err)
		counts := types(changed)
		// query, key and value; attended; inner; outer: 4 of each layer, and that of the pooler.
		assert.Equal(t, 4*6+1, counts["ferrum.linear"])
		assert.Equal(t, 6, counts["ferrum.self_attention"])
		assert.Equal(t, 2*6+1, counts["ferrum.layer_norm_residual"])
		for _, gone := range []string{"Gelu", "Relu", "Swish", "LayerNormalization", "Attention"} {
			assert.Zero(t, counts[gone], gone)
		}
		assert.Equal(t, 1, counts["Add"], "the sum of words and token types")
		// The outputs of 6 activations of 1536 elements and of 13 sums of 384, for 8 x 128 tokens of 4 bytes.
		assert.EqualValues(t, 8*128*4*(6*1536+13*384), Total(results).MemorySaved)
		for _, r := range results {
			assert.Empty(t, r.Warnings)
		}
		before, err := m.Count()
		require.NoError(t, err)
		after, err := changed.Count()
		require.NoError(t, err)
		assert.Equal(t, before.Parameters, after.Parameters, "merged parameters have the same elements")
	}
	changed, _ := applied(t, encoder(t, 24, "tanh"), "fuse_activation")
	assert.Equal(t, 7, types(changed)["Tanh"], "linear has no such activation")
}

// The other families have other names and tables, and the same operators.
func TestOtherEncoders(t *testing.T) {
	for family, text := range map[string]string{
		"roberta":    `{"model_type":"roberta","hidden_size":24,"num_hidden_layers":2,"num_attention_heads":3,"intermediate_size":48,"vocab_size":32,"max_position_embeddings":64,"type_vocab_size":2,"pad_token_id":1}`,
		"mpnet":      `{"model_type":"mpnet","hidden_size":24,"num_hidden_layers":2,"num_attention_heads":3,"intermediate_size":48,"vocab_size":32,"max_position_embeddings":64}`,
		"distilbert": `{"model_type":"distilbert","dim":24,"n_layers":2,"n_heads":3,"hidden_dim":48,"vocab_size":32,"max_position_embeddings":64}`,
	} {
		d, err := architecture.OpenConfig("config.json", []byte(text), architecture.Options{})
		require.NoError(t, err)
		changed, _ := applied(t, d.Model, exact()...)
		assert.Equal(t, 2, types(changed)["ferrum.self_attention"], family)
		assert.Equal(t, 5, types(changed)["ferrum.layer_norm_residual"], family)
	}
}
