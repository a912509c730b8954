package architecture

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"ferrum_mem/core/estimate"
)

// names has the names of the parts of an encoder in its weights. Each part has a tensor that ends with
// .weight; most have one that ends with .bias.
type names struct {
	words, positions, types, norm string
	// layer comes before the names of the parts of a layer, with the number of the layer.
	layer                                     string
	query, key, value, attended, attendedNorm string
	inner, outer, outerNorm                   string
	pooler                                    string
	// project is the dense layer after embeddings of another width.
	project string
	// distances is the table with numbers for the distance of two tokens, for each head.
	distances string
}

// table returns the names of each family. The definitions of the families are the modelling files of
// transformers 4.57.
func table() map[string]names {
	bert := names{
		words: "embeddings.word_embeddings", positions: "embeddings.position_embeddings",
		types: "embeddings.token_type_embeddings", norm: "embeddings.LayerNorm",
		layer: "encoder.layer.%d.",
		query: "attention.self.query", key: "attention.self.key", value: "attention.self.value",
		attended: "attention.output.dense", attendedNorm: "attention.output.LayerNorm",
		inner: "intermediate.dense", outer: "output.dense", outerNorm: "output.LayerNorm",
		pooler: "pooler.dense", project: "embeddings_project",
	}
	return map[string]names{
		"bert": bert, "electra": bert, "roberta": bert, "xlm-roberta": bert, "camembert": bert,
		"distilbert": {
			words: "embeddings.word_embeddings", positions: "embeddings.position_embeddings", norm: "embeddings.LayerNorm",
			layer: "transformer.layer.%d.",
			query: "attention.q_lin", key: "attention.k_lin", value: "attention.v_lin",
			attended: "attention.out_lin", attendedNorm: "sa_layer_norm",
			inner: "ffn.lin1", outer: "ffn.lin2", outerNorm: "output_layer_norm",
		},
		"mpnet": {
			words: "embeddings.word_embeddings", positions: "embeddings.position_embeddings", norm: "embeddings.LayerNorm",
			layer: "encoder.layer.%d.",
			query: "attention.attn.q", key: "attention.attn.k", value: "attention.attn.v",
			attended: "attention.attn.o", attendedNorm: "attention.LayerNorm",
			inner: "intermediate.dense", outer: "output.dense", outerNorm: "output.LayerNorm",
			pooler: "pooler.dense", distances: "encoder.relative_attention_bias",
		},
	}
}

// ggufNames returns the names of the parts of bert in GGUF files.
func ggufNames() *strings.Replacer {
	return strings.NewReplacer(
		"embeddings.word_embeddings", "token_embd", "embeddings.position_embeddings", "position_embd",
		"embeddings.token_type_embeddings", "token_types", "embeddings.LayerNorm", "token_embd_norm",
		"encoder.layer.", "blk.",
		"attention.self.query", "attn_q", "attention.self.key", "attn_k", "attention.self.value", "attn_v",
		"attention.output.dense", "attn_output", "attention.output.LayerNorm", "attn_output_norm",
		"intermediate.dense", "ffn_up", "output.dense", "ffn_down", "output.LayerNorm", "layer_output_norm",
	)
}

// ModelTypes returns the model types whose definitions can be made, sorted.
func ModelTypes() []string { return slices.Sorted(maps.Keys(table())) }

// maxLayers bounds the layers of a definition. Published encoders have at most 48.
const maxLayers = 1024

// useOfKnown suggests the model types whose definitions can be made.
func useOfKnown() string { return "use a model of the type " + strings.Join(ModelTypes(), ", ") }

// refuse returns why a family has no definition here.
func refuse(m *estimate.Model) (finding, bool) {
	_, known := table()[m.Type]
	fix := useOfKnown()
	switch {
	case known:
		return finding{}, false
	case !m.Encoder:
		return unsupported("model_type", fix, "%s is a decoder: definitions of decoders are not built yet", m.Type), true
	}
	return unsupported("model_type", fix, "the definition of the encoder %s is not built yet", m.Type), true
}

// activations has the operators of the functions between the two matrices of an MLP.
func activationOf(name string) (operator string, attributes map[string]any, known bool) {
	switch name {
	case "gelu", "gelu_python":
		return "Gelu", map[string]any{"approximate": "none"}, true
	case "gelu_new", "gelu_fast", "gelu_pytorch_tanh":
		return "Gelu", map[string]any{"approximate": "tanh"}, true
	case "relu":
		return "Relu", nil, true
	case "silu", "swish":
		return "Swish", nil, true
	case "tanh":
		return "Tanh", nil, true
	}
	return "", nil, false
}

// check adds the issues of the settings of an encoder.
func (s *issues) check(file string, m *estimate.Model) {
	e := m.Encoding
	named := func(field string) string { return estimate.FieldName(m.Type, field) }
	if _, _, known := activationOf(e.Activation); !known {
		s.add(file, unsupported(named("hidden_act"), "use gelu, gelu_new, relu, silu or tanh", "the activation %.40q has no operator here", e.Activation))
	}
	if e.PositionKind != estimate.AbsolutePositions {
		s.add(file, unsupported("position_embedding_type", "use a model with a table of positions (absolute)",
			"positions of the kind %.40q are not built: only absolute ones are", e.PositionKind))
	}
	if e.IsCausal {
		s.add(file, unsupported("is_decoder", "set is_decoder to false", "an encoder that is used as a decoder is not built yet"))
	}
	if e.CrossAttention {
		s.add(file, unsupported("add_cross_attention", "set add_cross_attention to false", "attention over the output of another model is not built"))
	}
	if m.Weights.Quantised != nil {
		s.add(file, unsupported("quantization_config", "use the weights without quantisation",
			"weights that are quantised with %.40q are not built yet", m.Weights.Quantised.Method))
	}
	if float32(e.NormEpsilon) == 0 {
		s.add(file, wrong("layer_norm_eps", "state a small number, such as 1e-12", "is 0: the norm of equal elements would divide by 0"))
	}
	if m.Layers > maxLayers {
		s.add(file, wrong(named("num_hidden_layers"), fmt.Sprintf("state at most %d", maxLayers), "is %d: at most %d layers are built", m.Layers, maxLayers))
	}
	if e.RelativeBuckets > 0 && (e.RelativeBuckets < distanceBuckets || e.RelativeBuckets > maxDistances) {
		s.add(file, wrong("relative_attention_num_buckets", fmt.Sprintf("state %d, or more if the table has more rows", distanceBuckets),
			"is %d: distances have %d kinds, and the table has at most %d rows", e.RelativeBuckets, distanceBuckets, maxDistances))
	}
	if e.RelativeBuckets > 0 && m.Positions > maxDistances {
		s.add(file, wrong("max_position_embeddings", fmt.Sprintf("state at most %d", maxDistances),
			"is %d: distances of at most %d tokens are built", m.Positions, maxDistances))
	}
	if e.FirstPosition >= m.Positions {
		s.add(file, wrong("max_position_embeddings", fmt.Sprintf("state more than %d", e.FirstPosition),
			"%d rows of positions are too few: the first %d are not used", m.Positions, e.FirstPosition))
	}
	for _, field := range e.Missing {
		s.add(file, warning(categoryConfiguration, field, "state the value that was published with the model", "is missing: the default of %s is taken", m.Type))
	}
	if e.PadToken >= m.Vocab {
		s.add(file, warning(categoryConfiguration, "pad_token_id", fmt.Sprintf("state an id below %d", m.Vocab),
			"is %d, outside the vocabulary of %d", e.PadToken, m.Vocab))
	}
	if m.Attention.Heads*m.Attention.HeadDim != m.Hidden {
		s.add(file, warning(categoryConfiguration, named("num_attention_heads"), "check head_dim and hidden_size",
			"%d heads of %d elements are not the hidden size of %d", m.Attention.Heads, m.Attention.HeadDim, m.Hidden))
	}
}
