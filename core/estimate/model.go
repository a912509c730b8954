package estimate

import (
	"fmt"

	"ferrum_mem/core/device"
)

// Model is the contents of a configuration, with every default filled in: widths and
// counts in elements. None of them depends on the serving.
type Model struct {
	// Type is the model_type of the configuration.
	Type string
	// Encoder states that the model reads a text as a whole: it keeps no cache and
	// computes no logits.
	Encoder bool

	Layers    uint64
	Hidden    uint64
	Vocab     uint64
	Positions uint64
	// PositionsLearned states that there is a table of Positions rows, which bounds the
	// context. Otherwise Positions is the context for which the model was trained, 0 if
	// it is not known.
	PositionsLearned bool
	// Stretch is the extension of Positions from the original context; the zero value:
	// none.
	Stretch Stretch
	// PositionsMore is the number of unused rows of that table.
	PositionsMore uint64
	// TokenTypes is the number of rows of the table of token types, 0 for none.
	TokenTypes uint64
	// TiedEmbeddings states that the output layer is the table of the embeddings.
	TiedEmbeddings bool
	// OutputBias states that the output layer has a bias.
	OutputBias bool
	// PoolerDense states that an encoder ends with a dense layer over the first token.
	PoolerDense bool
	// EmbeddingWidth is the width of the tables of an embedding and of its norm. If it is not Hidden, a dense
	// layer with a bias follows.
	EmbeddingWidth uint64
	// EmbeddingNorm states that the embeddings have their own norm.
	EmbeddingNorm bool
	// FinalNorm states that a norm follows the last layer.
	FinalNorm bool
	// NormsPerLayer counts vectors of the hidden width, each with a bias if NormBias is
	// set. NormsLeftOut counts those that some layers do not have.
	NormsPerLayer uint64
	NormsLeftOut  uint64
	NormBias      bool

	// AttentionLayers is the number of layers that keep keys and values.
	AttentionLayers uint64
	Attention       Attention
	MLP             MLP
	// Mixers has the parts that other layers have instead of attention, or in addition
	// to it. Each keeps a state of fixed size for each sequence.
	Mixers []Mixer

	// SlidingLayers is the number of layers whose cache keeps only the last Window
	// tokens.
	SlidingLayers uint64
	Window        uint64

	// Vision is nil for a model without a vision tower.
	Vision *Vision

	// Encoding is nil for decoders, and for encoders whose rules are not known.
	Encoding *Encoding

	// Weights has the formats of the elements in the checkpoint.
	Weights Storage

	// Notes states what the numbers do not include.
	Notes []string
}

// Stretch is a method that extends the context of rotary positions.
type Stretch struct {
	// Method is its name, such as yarn; From is the original context.
	Method string
	From   uint64
}

// String returns an addition to a sentence that names the context.
func (s Stretch) String() string {
	if s.From == 0 {
		return ""
	}
	return fmt.Sprintf(" (%d before its positions were scaled by %s)", s.From, s.Method)
}

// Attention is the attention of one layer.
type Attention struct {
	Heads   uint64
	KVHeads uint64
	HeadDim uint64
	// Copies is the number of copies of its weights: one for each layer, unless layers
	// share them.
	Copies uint64
	// Inputs is the width from which queries, keys and values are computed.
	Inputs uint64
	// QueryGate states that queries have a gate of the same width.
	QueryGate bool
	// QKVBias and OutputBias state which projections have a bias.
	QKVBias    bool
	OutputBias bool
	// HeadNorms counts vectors of HeadDim elements over queries and keys. WideNorms
	// states that there are norms over all heads of queries and keys.
	HeadNorms uint64
	WideNorms bool
	// Sinks states that each head has an additional number in its softmax.
	Sinks bool
	// Latent is set if keys and values are compressed into one latent vector for all
	// heads (multi-head latent attention); HeadDim is then 0.
	Latent *Latent
}

// Latent has the widths of multi-head latent attention.
type Latent struct {
	// QueryRank is the width to which queries are compressed; 0: they are not.
	QueryRank uint64
	// KVRank is the width of the latent vector, RopeDim the width of the part of a key
	// with the position. The cache of a token is the two together.
	KVRank  uint64
	RopeDim uint64
	// NopeDim is the width of the rest of a key, ValueDim the width of a value, for
	// each head.
	NopeDim  uint64
	ValueDim uint64
}

// MLP is the feed-forward part of the layers.
type MLP struct {
	// DenseLayers is the number of layers with one MLP of the width Intermediate,
	// ExpertLayers the number of layers with experts.
	DenseLayers  uint64
	ExpertLayers uint64
	Intermediate uint64
	// Gated MLPs have three matrices, others two.
	Gated bool
	Bias  bool

	// Experts is the number of experts of the width ExpertIntermediate, of which
	// PerToken are used for a token. SharedIntermediate is the width of a shared expert
	// (0: none), which SharedGate weights.
	Experts            uint64
	PerToken           uint64
	ExpertIntermediate uint64
	SharedIntermediate uint64
	SharedGate         bool
	// RouterBias states that the router has one more number for each expert, ExpertBias
	// that the matrices of each expert have biases.
	RouterBias bool
	ExpertBias bool
}

// QueryWidth returns the elements of one token's queries.
func (a Attention) QueryWidth() uint64 {
	if a.Latent != nil {
		return a.Heads * (a.Latent.NopeDim + a.Latent.RopeDim)
	}
	return a.Heads * a.HeadDim
}

// validate checks the conditions of the formulas: every product of two widths fits,
// counts of layers add up, and heads can be grouped.
func (m *Model) validate(o *object) error {
	a := m.Attention
	if a.Heads > 0 && a.Latent == nil && a.Heads%a.KVHeads != 0 {
		return o.wrong("num_key_value_heads", "%d does not divide the %d attention heads", a.KVHeads, a.Heads)
	}
	if m.MLP.ExpertLayers > 0 && m.MLP.PerToken > m.MLP.Experts {
		return o.wrong("num_experts_per_tok", "%d is more than the %d experts", m.MLP.PerToken, m.MLP.Experts)
	}
	widths := []struct {
		field string
		a, b  uint64
	}{{"head_dim", a.Heads, a.HeadDim}, {"hidden_size", m.Hidden, 1}, {"vocab_size", m.Vocab, 1}}
	if l := a.Latent; l != nil {
		widths = append(widths, struct {
			field string
			a, b  uint64
		}{"qk_nope_head_dim", a.Heads, l.NopeDim + l.RopeDim + l.ValueDim})
	}
	for _, w := range widths {
		var c calculation
		if width := c.product(w.a, w.b); c.overflowed || width > maxNumber {
			return aboutField(o.path+w.field, device.Errorf(device.CodeOverflow, o.op, "%s: %s%s: %d x %d elements are more than %d", o.file, o.path, w.field, w.a, w.b, uint64(maxNumber)))
		}
	}
	return nil
}

// Vision is a vision tower of the SigLIP kind with the projector to the text model. One
// convolution embeds a patch, positions are learned, each layer has two norms, all with
// biases, and the projector is a norm and one matrix.
type Vision struct {
	Hidden       uint64
	Intermediate uint64
	Layers       uint64
	// Patch and Image are the side lengths of a patch and of the image, in pixels.
	Patch uint64
	Image uint64
}
