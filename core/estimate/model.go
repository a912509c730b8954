package estimate

import (
	"fmt"

	"ferrum_mem/core/device"
)

// Model is what a configuration says of a model, with every default filled in:
// widths and counts in elements, none of which depends on how it is served.
type Model struct {
	// Type is the model_type of the configuration.
	Type string
	// Encoder says that the model reads a text as a whole: it keeps no cache
	// and makes no logits.
	Encoder bool

	Layers    uint64
	Hidden    uint64
	Vocab     uint64
	Positions uint64
	// PositionsLearned says that there is a table of Positions rows, beyond
	// which the model cannot go; otherwise Positions is what it was trained for,
	// 0 where that is not known.
	PositionsLearned bool
	// Stretch says how Positions were got from those that the model was trained
	// for at first; zero: they were not.
	Stretch Stretch
	// PositionsMore are rows of that table that no token has.
	PositionsMore uint64
	// TokenTypes is the rows of the table of token types, 0 for none.
	TokenTypes uint64
	// TiedEmbeddings says that the output layer is the table of the embeddings.
	TiedEmbeddings bool
	// OutputBias says that the output layer has a bias.
	OutputBias bool
	// PoolerDense says that an encoder ends in a dense layer over the first
	// token.
	PoolerDense bool
	// EmbeddingNorm says that the embeddings pass a norm of their own.
	EmbeddingNorm bool
	// FinalNorm says that a norm follows the last layer.
	FinalNorm bool
	// NormsPerLayer are vectors of the hidden width, each with a bias if
	// NormBias is set; NormsLeftOut are those that some layer does without.
	NormsPerLayer uint64
	NormsLeftOut  uint64
	NormBias      bool

	// AttentionLayers are the layers that keep keys and values.
	AttentionLayers uint64
	Attention       Attention
	MLP             MLP
	// Mixers are what other layers have in place of attention, or beside it:
	// each keeps a state of fixed size for each sequence.
	Mixers []Mixer

	// SlidingLayers are the layers whose cache keeps the last Window tokens
	// only.
	SlidingLayers uint64
	Window        uint64

	// Vision is nil for a model of texts only.
	Vision *Vision

	// Weights is how the checkpoint stores its elements.
	Weights Storage

	// Notes say what the numbers leave out.
	Notes []string
}

// Stretch is a way to make rotary positions reach further.
type Stretch struct {
	// Method is its name, such as yarn; From is the context before it.
	Method string
	From   uint64
}

// String is an addition to a sentence that names the context.
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
	// Copies is how often its weights are there: once for each layer, unless
	// layers share them.
	Copies uint64
	// Inputs is the width that queries, keys and values are made from.
	Inputs uint64
	// QueryGate says that queries are made with a gate of the same width.
	QueryGate bool
	// QKVBias and OutputBias say which projections have a bias.
	QKVBias    bool
	OutputBias bool
	// HeadNorms are vectors of HeadDim elements over queries and keys; WideNorms
	// says that there are norms over all heads of both together.
	HeadNorms uint64
	WideNorms bool
	// Sinks says that each head has a number that takes part in its softmax.
	Sinks bool
	// Latent is set where keys and values are compressed into one latent vector
	// for all heads (multi-head latent attention); HeadDim is then 0.
	Latent *Latent
}

// Latent is the widths of multi-head latent attention.
type Latent struct {
	// QueryRank is the width that queries are compressed to; 0: they are not.
	QueryRank uint64
	// KVRank is the width of the latent vector, RopeDim that of the part of a
	// key that carries the position: a token's cache is the two together.
	KVRank  uint64
	RopeDim uint64
	// NopeDim is the rest of a key, ValueDim the width of a value, of each head.
	NopeDim  uint64
	ValueDim uint64
}

// MLP is the feed-forward part of the layers.
type MLP struct {
	// DenseLayers have one MLP of the width Intermediate, ExpertLayers experts.
	DenseLayers  uint64
	ExpertLayers uint64
	Intermediate uint64
	// Gated has three matrices, else there are two.
	Gated bool
	Bias  bool

	// Experts of the width ExpertIntermediate each are chosen from for a token,
	// PerToken at a time, beside a shared one of the width SharedIntermediate
	// (0: none), which SharedGate weighs.
	Experts            uint64
	PerToken           uint64
	ExpertIntermediate uint64
	SharedIntermediate uint64
	SharedGate         bool
	// RouterBias says that the router has a number more for each expert;
	// ExpertBias that each expert's matrices have biases.
	RouterBias bool
	ExpertBias bool
}

// QueryWidth is the elements of one token's queries.
func (a Attention) QueryWidth() uint64 {
	if a.Latent != nil {
		return a.Heads * (a.Latent.NopeDim + a.Latent.RopeDim)
	}
	return a.Heads * a.HeadDim
}

// validate holds a model to what its formulas take for granted: every product
// of two widths fits, counts of layers add up, and heads can be grouped.
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
			return device.Errorf(device.CodeOverflow, o.op, "%s: %s%s: %d x %d elements are more than %d", o.file, o.path, w.field, w.a, w.b, uint64(maxNumber))
		}
	}
	return nil
}

// Vision is a tower of the SigLIP kind with what leads from it to the text
// model: a patch is embedded by one convolution, places are learned, each layer
// has two norms, all with biases, and the projector is a norm and one matrix.
type Vision struct {
	Hidden       uint64
	Intermediate uint64
	Layers       uint64
	// Patch and Image are the sides of a patch and of the image, in pixels.
	Patch uint64
	Image uint64
}
