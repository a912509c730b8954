package estimate

import "fmt"

// tally counts parameters. linear counts those of the matrices in the layers, which
// quantisation makes smaller, rows the outputs of these matrices, and other the rest.
type tally struct {
	linear uint64
	rows   uint64
	other  uint64
	// experts is the part of linear in matrices of experts.
	experts uint64
}

func (t tally) total(c *calculation) uint64 { return c.sum(t.linear, t.other) }

// counter sums up the parameters on one of tp devices, the one with the most. Matrices
// are split along heads, MLP widths and the vocabulary. Each device has all norms,
// routers and latent projections.
type counter struct {
	*calculation
	tally
	model *Model
	tp    uint64
}

// count returns the parameters of a model on one of tp devices; tp is at least 1.
func (c *calculation) count(m *Model, tp uint64) tally {
	k := counter{calculation: c, model: m, tp: tp}
	k.embeddings()
	k.attention()
	k.mixers()
	k.mlp()
	k.norms()
	k.vision()
	return k.tally
}

// Parameters returns the number of floating-point elements of all weights. It returns
// CodeOverflow above 64 bits.
func (m *Model) Parameters() (uint64, error) {
	var c calculation
	total := c.count(m, 1).total(&c)
	return result(total, c.err("estimate.parameters", "the number of parameters"))
}

func (k *counter) matrix(copies, inputs, outputs uint64) {
	k.linear = k.sum(k.linear, k.product(copies, inputs, outputs))
	k.rows = k.sum(k.rows, k.product(copies, outputs))
}

func (k *counter) rest(factors ...uint64) { k.other = k.sum(k.other, k.product(factors...)) }

func (k *counter) embeddings() {
	m := k.model
	h, vocab := m.Hidden, ceilDiv(m.Vocab, k.tp)
	k.rest(vocab, m.EmbeddingWidth)
	if m.PositionsLearned {
		k.rest(k.sum(m.Positions, m.PositionsMore), m.EmbeddingWidth)
	}
	k.rest(m.TokenTypes, m.EmbeddingWidth)
	if m.EmbeddingWidth != h {
		k.rest(k.sum(m.EmbeddingWidth, 1), h)
	}
	if m.PoolerDense {
		k.rest(h, h)
		k.rest(h)
	}
	if m.Encoder {
		return
	}
	if !m.TiedEmbeddings {
		k.rest(vocab, h)
	}
	if m.OutputBias {
		k.rest(vocab)
	}
}

func (k *counter) attention() {
	m := k.model
	a, h, layers := m.Attention, m.Hidden, m.Attention.Copies
	if layers == 0 {
		return
	}
	heads, kvHeads := a.split(k.tp)
	if a.Latent != nil {
		k.latentAttention(heads)
		return
	}
	query, kv := k.product(heads, a.HeadDim), k.product(kvHeads, a.HeadDim)
	queries := query
	if a.QueryGate {
		queries = k.product(2, query)
	}
	k.matrix(layers, a.Inputs, queries)
	k.matrix(k.product(2, layers), a.Inputs, kv)
	k.matrix(layers, query, h)
	if a.QKVBias {
		k.rest(layers, k.sum(queries, kv, kv))
	}
	if a.OutputBias {
		k.rest(layers, h)
	}
	if m.Encoding != nil {
		k.rest(m.Encoding.RelativeBuckets, heads)
	}
	k.rest(layers, a.HeadNorms, a.HeadDim)
	if a.WideNorms {
		k.rest(layers, k.sum(query, kv))
	}
	if a.Sinks {
		k.rest(layers, heads)
	}
}

func (k *counter) mixers() {
	for _, x := range k.model.Mixers {
		for _, w := range x.Matrices {
			k.matrix(x.Layers, w.Inputs.on(k.calculation, k.tp), w.Outputs.on(k.calculation, k.tp))
		}
		k.rest(x.Layers, x.Vectors.on(k.calculation, k.tp))
	}
}

func (k *counter) latentAttention(heads uint64) {
	m := k.model
	a, l, h, layers := m.Attention, m.Attention.Latent, m.Hidden, m.Attention.Copies
	query := k.product(heads, k.sum(l.NopeDim, l.RopeDim))
	if l.QueryRank > 0 {
		k.matrix(layers, h, l.QueryRank)
		k.rest(layers, l.QueryRank)
		k.matrix(layers, l.QueryRank, query)
	} else {
		k.matrix(layers, h, query)
	}
	k.matrix(layers, h, k.sum(l.KVRank, l.RopeDim))
	k.rest(layers, l.KVRank)
	k.matrix(layers, l.KVRank, k.product(heads, k.sum(l.NopeDim, l.ValueDim)))
	k.matrix(layers, k.product(heads, l.ValueDim), h)
	if a.QKVBias {
		k.rest(layers, k.sum(l.QueryRank, l.KVRank, l.RopeDim))
	}
	if a.OutputBias {
		k.rest(layers, h)
	}
}

func (k *counter) mlp() {
	p, h := k.model.MLP, k.model.Hidden
	k.feedForward(p.DenseLayers, p.Intermediate, p.Bias)
	if p.ExpertLayers == 0 {
		return
	}
	k.rest(p.ExpertLayers, h, p.Experts)
	if p.RouterBias {
		k.rest(p.ExpertLayers, p.Experts)
	}
	before := k.tally
	k.feedForward(k.product(p.ExpertLayers, p.Experts), p.ExpertIntermediate, p.ExpertBias)
	k.experts = k.linear - before.linear
	k.feedForward(p.ExpertLayers, p.SharedIntermediate, p.Bias)
	if p.SharedGate {
		k.rest(p.ExpertLayers, h)
	}
}

// feedForward counts copies of one MLP.
func (k *counter) feedForward(copies, width uint64, bias bool) {
	if width == 0 {
		return
	}
	p, h := k.model.MLP, k.model.Hidden
	width = ceilDiv(width, k.tp)
	inputs := uint64(1)
	if p.Gated {
		inputs = 2
	}
	k.matrix(k.product(copies, inputs), h, width)
	k.matrix(copies, width, h)
	if bias {
		k.rest(copies, k.sum(k.product(inputs, width), h))
	}
}

func (k *counter) norms() {
	m := k.model
	vectorsEach := uint64(1)
	if m.NormBias {
		vectorsEach = 2
	}
	vectors := k.product(m.Layers, m.NormsPerLayer)
	vectors -= min(vectors, m.NormsLeftOut)
	if m.FinalNorm {
		vectors = k.sum(vectors, 1)
	}
	if m.EmbeddingNorm {
		k.rest(vectorsEach, m.EmbeddingWidth)
	}
	k.rest(vectors, vectorsEach, m.Hidden)
}

// split returns the heads on one of tp devices; divides has checked that they can be
// split. If there are more devices than heads of keys and values, several devices have
// the same head and share its queries.
func (a Attention) split(tp uint64) (heads, kvHeads uint64) {
	heads = a.Heads / tp
	if a.Latent != nil {
		return heads, heads
	}
	return heads, ceilDiv(a.KVHeads, tp)
}

// divides returns the reason why heads cannot be distributed to tp devices, or "".
func (m *Model) divides(tp uint64) string {
	a := m.Attention
	switch {
	case a.Heads%tp != 0:
		return fmt.Sprintf("the %d attention heads cannot be divided by %d", a.Heads, tp)
	case a.Heads == 0 || a.Latent != nil:
	case tp <= a.KVHeads && a.KVHeads%tp != 0, tp > a.KVHeads && tp%a.KVHeads != 0:
		return fmt.Sprintf("the %d key-value heads cannot be divided by %d devices, nor the devices by the heads", a.KVHeads, tp)
	}
	for _, x := range m.Mixers {
		if x.Heads%tp != 0 {
			return fmt.Sprintf("the %d heads of the %s layers cannot be divided by %d", x.Heads, x.Kind, tp)
		}
	}
	return ""
}
