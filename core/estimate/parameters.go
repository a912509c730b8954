package estimate

// tally counts parameters: linear those of the matrices in the layers, which
// quantisation makes smaller, with the number of their outputs, and other the
// rest.
type tally struct {
	linear uint64
	rows   uint64
	other  uint64
}

func (t tally) total(c *calculation) uint64 { return c.sum(t.linear, t.other) }

// counter adds up what one device holds of a model that is spread over tp of
// them, the one that holds most: matrices are cut along heads, MLP widths and
// the vocabulary, norms, routers and latent projections are held by each.
type counter struct {
	*calculation
	tally
	model *Model
	tp    uint64
}

// count is the parameters of a model on one of tp devices; tp is at least 1.
func (c *calculation) count(m *Model, tp uint64) tally {
	k := counter{calculation: c, model: m, tp: tp}
	k.embeddings()
	k.attention()
	k.mlp()
	k.norms()
	k.vision()
	return k.tally
}

// Parameters is the number of floating-point elements of all weights. A result
// beyond 64 bits is CodeOverflow.
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
	k.rest(vocab, h)
	if m.PositionsLearned {
		k.rest(m.Positions, h)
	}
	k.rest(m.TokenTypes, h)
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
	a, h, layers := m.Attention, m.Hidden, m.Layers
	heads, kvHeads := a.split(k.tp)
	if a.Latent != nil {
		k.latentAttention(heads)
		return
	}
	query, kv := k.product(heads, a.HeadDim), k.product(kvHeads, a.HeadDim)
	k.matrix(layers, h, query)
	k.matrix(k.product(2, layers), h, kv)
	k.matrix(layers, query, h)
	if a.QKVBias {
		k.rest(layers, k.sum(query, kv, kv))
	}
	if a.OutputBias {
		k.rest(layers, h)
	}
	k.rest(layers, a.HeadNorms, a.HeadDim)
}

func (k *counter) latentAttention(heads uint64) {
	m := k.model
	a, l, h, layers := m.Attention, m.Attention.Latent, m.Hidden, m.Layers
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
	k.feedForward(p.DenseLayers, p.Intermediate)
	if p.ExpertLayers == 0 {
		return
	}
	k.rest(p.ExpertLayers, h, p.Experts)
	if p.RouterBias {
		k.rest(p.ExpertLayers, p.Experts)
	}
	k.feedForward(k.product(p.ExpertLayers, p.Experts), p.ExpertIntermediate)
	k.feedForward(p.ExpertLayers, p.SharedIntermediate)
	if p.SharedGate {
		k.rest(p.ExpertLayers, h)
	}
}

// feedForward is copies of one MLP.
func (k *counter) feedForward(copies, width uint64) {
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
	if p.Bias {
		k.rest(copies, k.sum(k.product(inputs, width), h))
	}
}

func (k *counter) norms() {
	m := k.model
	width := m.Hidden
	if m.NormBias {
		width = k.product(2, width)
	}
	vectors := k.product(m.Layers, m.NormsPerLayer)
	vectors -= min(vectors, m.NormsLeftOut)
	if m.FinalNorm {
		vectors = k.sum(vectors, 1)
	}
	if m.EmbeddingNorm {
		vectors = k.sum(vectors, 1)
	}
	k.rest(vectors, width)
}

// split is the heads on one of tp devices, the one that has most. Up to as many
// devices as there are heads of keys and values these are shared out with their
// queries, unevenly where tp does not divide them; beyond that each device has
// one, held by several devices, which share out its queries.
func (a Attention) split(tp uint64) (heads, kvHeads uint64) {
	if a.Latent != nil {
		heads = ceilDiv(a.Heads, tp)
		return heads, heads
	}
	group := a.Heads / a.KVHeads
	if tp <= a.KVHeads {
		kvHeads = ceilDiv(a.KVHeads, tp)
		return kvHeads * group, kvHeads
	}
	return ceilDiv(group, tp/a.KVHeads), 1
}
