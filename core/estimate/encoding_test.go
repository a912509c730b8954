package estimate

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
)

func TestRulesOfEncoders(t *testing.T) {
	bert := Encoding{NormEpsilon: 1e-12, Activation: "gelu", InitialStd: 0.02, PositionKind: AbsolutePositions}
	roberta := bert
	roberta.PadToken, roberta.FirstPosition = 1, 2
	for text, want := range map[string]Encoding{
		`{"model_type":"bert"}`:        bert,
		`{"model_type":"roberta"}`:     roberta,
		`{"model_type":"xlm-roberta"}`: roberta,
		`{"model_type":"distilbert", "activation":"relu", "layer_norm_eps":0.5, "hidden_act":"tanh"}`: {
			NormEpsilon: 1e-12, Activation: "relu", InitialStd: 0.02, PositionKind: AbsolutePositions,
		},
		`{"model_type":"camembert", "layer_norm_eps":1e-5, "pad_token_id":5, "initializer_range":0.1, "hidden_act":"gelu_new",
			"position_embedding_type":"relative_key", "is_decoder":true, "add_cross_attention":true}`: {
			NormEpsilon: 1e-5, Activation: "gelu_new", InitialStd: 0.1, PadToken: 5, FirstPosition: 6, PositionKind: "relative_key",
			IsCausal: true, CrossAttention: true,
		},
	} {
		m, err := ReadConfig("x", []byte(text))
		require.NoError(t, err)
		require.NotNil(t, m.Encoding)
		assert.Len(t, m.Encoding.Missing, 6)
		assert.Contains(t, m.Encoding.Missing, FieldName(m.Type, "num_attention_heads"))
		m.Encoding.Missing = nil
		assert.Equal(t, want, *m.Encoding, text)
		notes := 0
		if want.CrossAttention {
			notes = 2
		}
		assert.Len(t, m.Notes, notes, "what the family has besides is not counted")
	}
	assert.Empty(t, readConfig(t, "distilbert-base-uncased").Encoding.Missing)
	assert.Nil(t, readConfig(t, "llama-3.1-8b").Encoding)
	assert.Nil(t, readConfig(t, "modernbert-base").Encoding)
	assert.Equal(t, "n_heads", FieldName("distilbert", "num_attention_heads"))
	assert.Equal(t, "num_attention_heads", FieldName("bert", "num_attention_heads"))
}

// A dense layer follows embeddings of another width.
func TestWidthOfEmbeddings(t *testing.T) {
	count := func(text string) int {
		m, err := ReadConfig("x", []byte(text))
		require.NoError(t, err)
		n, err := m.Parameters()
		require.NoError(t, err)
		return int(n)
	}
	assert.Equal(t, 13483008, count(`{"model_type":"electra"}`), "the defaults are those of the small model")
	same, wide := count(`{"model_type":"electra","embedding_size":256}`), count(`{"model_type":"electra","embedding_size":257}`)
	assert.Equal(t, 30522+512+2+2+257*256+256, wide-same)
	_, err := ReadConfig("x", []byte(`{"model_type":"electra","embedding_size":0}`))
	assert.Equal(t, "embedding_size", FieldOf(err))
	assert.Equal(t, readConfig(t, "bert-base-uncased").Hidden, readConfig(t, "bert-base-uncased").EmbeddingWidth)
}

func TestErrorsHaveTheirField(t *testing.T) {
	for text, field := range map[string]string{
		`{"model_type":"bert","layer_norm_eps":"x"}`:                   "layer_norm_eps",
		`{"model_type":"bert","layer_norm_eps":1.5}`:                   "layer_norm_eps",
		`{"model_type":"bert","layer_norm_eps":1e999}`:                 "layer_norm_eps",
		`{"model_type":"bert","is_decoder":1}`:                         "is_decoder",
		`{"model_type":"bert","position_embedding_type":[]}`:           "position_embedding_type",
		`{"model_type":"bort"}`:                                        "model_type",
		`{"text_config":{"model_type":"bert","num_hidden_layers":-1}}`: "text_config.num_hidden_layers",
		`{"model_type":"bert","head_dim":1099511627776}`:               "head_dim",
		`{"model_type":"bert"`:                                         "",
	} {
		_, err := ReadConfig("x", []byte(text))
		require.Error(t, err, text)
		assert.Equal(t, field, FieldOf(err), "%v", err)
		assert.Equal(t, text == `{"model_type":"bort"}`, IsUnknownFamily(err))
	}
	assert.Empty(t, FieldOf(device.Errorf(device.CodeIO, "x", "y")))
	assert.Empty(t, FieldOf(nil))
}

// The converters of llama.cpp write these keys and tables for bert, without the dense layer at its end.
func TestGGUFOfAnEncoder(t *testing.T) {
	keys := func() *gguf {
		return new(gguf).set("general.architecture", "bert").set("bert.embedding_length", 384).set("bert.block_count", 6).
			set("bert.feed_forward_length", 1536).set("bert.attention.head_count", 12).set("bert.context_length", 512).
			bits("bert.attention.causal", 7, uint8(0))
	}
	g := keys().set("bert.attention.layer_norm_epsilon", 0.25).set("bert.vocab_size", 30522).tensor("token_types.weight", 0, 0, 384, 2)
	g.data = 4 * 384 * 2
	_, h, err := readGGUFBytes("m.gguf", g.bytes())
	require.NoError(t, err)
	m, note, err := h.model()
	require.NoError(t, err)
	assert.Empty(t, note)
	assert.True(t, m.Encoder)
	assert.Equal(t, 0.25, m.Encoding.NormEpsilon)
	assert.False(t, m.Encoding.IsCausal)
	n, err := m.Parameters()
	require.NoError(t, err)
	assert.EqualValues(t, 22713216-384*385, n, "MiniLM without its dense layer")

	_, h, err = readGGUFBytes("m.gguf", keys().set("bert.attention.layer_norm_epsilon", 1).set("bert.vocab_size", 9).bytes())
	require.NoError(t, err)
	_, _, err = h.model()
	assert.ErrorContains(t, err, "bert.attention.layer_norm_epsilon: is not a number with a fraction")
	assert.Equal(t, "bert.attention.layer_norm_epsilon", FieldOf(err))
}
