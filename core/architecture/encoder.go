package architecture

import (
	"fmt"

	"ferrum_mem/core/dtype"
	"ferrum_mem/core/estimate"
	"ferrum_mem/core/ir"
)

// The dimensions of the inputs.
const (
	batch    = "batch"
	sequence = "sequence"
)

// The inputs and outputs of an encoder.
const (
	inputIDs        = "input_ids"
	attentionMask   = "attention_mask"
	tokenTypeIDs    = "token_type_ids"
	positionIDs     = "position_ids"
	tokenNumbers    = "token_numbers"
	lastHiddenState = "last_hidden_state"
	poolerOutput    = "pooler_output"
)

// encoder writes the graph of an encoder with absolute positions and norms after its parts:
//
//	x = norm(words[ids] + types[token types] + positions[positions]), and a dense layer if its width differs
//	for each layer:
//		x = norm(x + attended(attention(query(x), key(x), value(x))))
//		x = norm(x + outer(activation(inner(x))))
//	pooler output = tanh(pooler(x of the first token))
//
// This is BERT (Devlin et al., 2018). ELECTRA, RoBERTa and DistilBERT differ in their tables and names. MPNet
// (Song et al., 2020) adds numbers for distances to the scores of attention.
type encoder struct {
	graph
	of    *estimate.Model
	names names
}

// write adds the whole graph.
func (e *encoder) write(hasPooler bool) {
	ids := e.input(inputIDs, "", batch, sequence)
	mask := e.input(attentionMask, ir.DefaultOnes, batch, sequence)
	x := e.embeddings(ids)
	seen := e.mask(mask)
	if e.names.distances != "" {
		seen = e.distances(seen)
	}
	for layer := range int(e.of.Layers) {
		x = e.layer(fmt.Sprintf(e.names.layer, layer), x, seen, layer == int(e.of.Layers)-1)
	}
	e.output(x)
	if hasPooler {
		e.output(e.pooler(x))
	}
}

// width returns the shape of one vector for each token.
func width(elements uint64) []int64 { return []int64{ir.Dynamic, ir.Dynamic, int64(elements)} }

// normal is the initialisation of weights.
func (e *encoder) normal() ir.Initialization {
	return ir.Initialization{Strategy: ir.StrategyNormal, Std: float32(e.of.Encoding.InitialStd)}
}

func zeros() ir.Initialization { return ir.Initialization{Strategy: ir.StrategyZeros} }

func ones() ir.Initialization { return ir.Initialization{Strategy: ir.StrategyOnes} }

func (e *encoder) embeddings(ids value) value {
	m := e.of
	x := e.look(e.names.words, m.Vocab, ids)
	if m.TokenTypes > 0 {
		types := e.input(tokenTypeIDs, ir.DefaultZeros, batch, sequence)
		x = e.sum("embeddings.add_token_types", x, e.look(e.names.types, m.TokenTypes, types))
	}
	positions := e.input(positionIDs, ir.DefaultPositions, batch, sequence)
	if first := m.Encoding.FirstPosition; first > 0 {
		unused := e.integers("embeddings.unused_positions", false, int64(first))
		positions = e.node(step{layer: "embeddings.skip_unused_positions", operator: "Add", dtype: dtype.I64, shape: positions.shape}, positions.operand(), unused)
	}
	x = e.sum("embeddings.add_positions", x, e.look(e.names.positions, m.Positions+m.PositionsMore, positions))
	if x = e.norm("", e.names.norm, x); m.EmbeddingWidth != m.Hidden {
		x = e.linear(e.names.project, x, m.Hidden, true)
	}
	return x
}

// look returns the rows of a table that the indices select.
func (e *encoder) look(name string, rows uint64, indices value) value {
	table := e.floats(name+".weight", e.normal(), rows, e.of.EmbeddingWidth)
	return e.node(step{layer: name, operator: "Gather", dtype: e.dtype, shape: width(e.of.EmbeddingWidth)}, table, indices.operand())
}

func (e *encoder) sum(name string, a, b value) value {
	return e.node(step{layer: name, operator: "Add", dtype: e.dtype, shape: a.shape}, a.operand(), b.operand())
}

func (e *encoder) norm(id, name string, x value) value {
	elements := uint64(x.shape[len(x.shape)-1])
	inputs := []operand{x.operand(), e.floats(name+".weight", ones(), elements)}
	if e.of.NormBias {
		inputs = append(inputs, e.floats(name+".bias", zeros(), elements))
	}
	attributes := map[string]any{"epsilon": e.of.Encoding.NormEpsilon}
	return e.node(step{id: id, layer: name, operator: "LayerNormalization", attributes: attributes, dtype: e.dtype, shape: x.shape}, inputs...)
}

// mask returns the flags of the keys that queries see, which broadcast over heads and queries.
func (e *encoder) mask(given value) value {
	flags := e.node(step{
		layer: "attention_mask.to_bool", operator: "Cast", attributes: map[string]any{"to": dtype.Bool.String()},
		dtype: dtype.Bool, shape: given.shape,
	}, given.operand())
	axes := e.integers("attention_mask.axes", false, 1, 2)
	return e.node(step{
		layer: "attention_mask.broadcast", operator: "Unsqueeze", dtype: dtype.Bool, shape: []int64{ir.Dynamic, 1, 1, ir.Dynamic},
	}, flags.operand(), axes)
}

// distances returns what attention adds to its scores: the numbers for the distances, and a negative number
// that leaves a key no weight where the mask excludes it.
func (e *encoder) distances(seen value) value {
	most := int64(e.of.Positions - e.of.Encoding.FirstPosition)
	kinds := make([]int64, 2*most-1)
	for i := range kinds {
		kinds[i] = distanceKind(int64(i) - most + 1)
	}
	heads := int64(e.of.Attention.Heads)
	const name = "distances."
	square := []int64{ir.Dynamic, ir.Dynamic}
	numbers := e.input(tokenNumbers, ir.DefaultPositions, sequence)
	queries := e.node(step{layer: name + "queries", operator: "Unsqueeze", dtype: dtype.I64, shape: []int64{ir.Dynamic, 1}},
		numbers.operand(), e.integers(name+"axis", false, 1))
	from := e.node(step{layer: name + "from_queries", operator: "Sub", dtype: dtype.I64, shape: square}, numbers.operand(), queries.operand())
	index := e.node(step{layer: name + "index", operator: "Add", dtype: dtype.I64, shape: square},
		from.operand(), e.integers(name+"longest", false, most-1))

	table := e.floats(e.names.distances+".weight", e.normal(), e.of.Encoding.RelativeBuckets, e.of.Attention.Heads)
	each := e.node(step{layer: e.names.distances, operator: "Gather", dtype: e.dtype, shape: []int64{2*most - 1, heads}},
		table, e.integers(name+"kinds", false, kinds...))
	each = e.node(step{layer: name + "by_head", operator: "Transpose", attributes: map[string]any{"perm": []int64{1, 0}}, dtype: e.dtype, shape: []int64{heads, 2*most - 1}},
		each.operand())
	added := e.node(step{layer: name + "select", operator: "Gather", attributes: map[string]any{"axis": 1}, dtype: e.dtype, shape: []int64{heads, ir.Dynamic, ir.Dynamic}},
		each.operand(), index.operand())

	// The number is finite in each type.
	never := e.node(step{layer: name + "excluded", operator: "Cast", attributes: map[string]any{"to": e.dtype.String()}, dtype: e.dtype, shape: []int64{1}},
		e.integers(name+"lowest", false, -60000))
	return e.node(step{layer: name + "mask", operator: "Where", dtype: e.dtype, shape: []int64{ir.Dynamic, heads, ir.Dynamic, ir.Dynamic}},
		seen.operand(), added.operand(), never.operand())
}

// linear multiplies with a matrix that has a row for each output.
func (e *encoder) linear(name string, x value, outputs uint64, hasBias bool) value {
	last := len(x.shape) - 1
	inputs := []operand{x.operand(), e.floats(name+".weight", e.normal(), outputs, uint64(x.shape[last]))}
	if hasBias {
		inputs = append(inputs, e.floats(name+".bias", zeros(), outputs))
	}
	shape := append(append([]int64{}, x.shape[:last]...), int64(outputs))
	return e.node(step{layer: name, operator: "ferrum.linear", dtype: e.dtype, shape: shape}, inputs...)
}

func (e *encoder) layer(prefix string, x, seen value, isLast bool) value {
	a, p := e.of.Attention, e.of.MLP
	queries, keys := a.Heads*a.HeadDim, a.KVHeads*a.HeadDim
	q := e.linear(prefix+e.names.query, x, queries, a.QKVBias)
	k := e.linear(prefix+e.names.key, x, keys, a.QKVBias)
	v := e.linear(prefix+e.names.value, x, keys, a.QKVBias)
	heads := map[string]any{"q_num_heads": a.Heads, "kv_num_heads": a.KVHeads}
	attended := e.node(step{
		layer: prefix + "attention", operator: "Attention", attributes: heads, dtype: e.dtype, shape: width(queries),
	}, q.operand(), k.operand(), v.operand(), seen.operand())
	attended = e.linear(prefix+e.names.attended, attended, e.of.Hidden, a.OutputBias)
	x = e.norm("", prefix+e.names.attendedNorm, e.sum(prefix+"attention.residual", attended, x))

	inner := e.linear(prefix+e.names.inner, x, p.Intermediate, p.Bias)
	name, attributes, _ := activationOf(e.of.Encoding.Activation)
	inner = e.node(step{layer: prefix + "activation", operator: name, attributes: attributes, dtype: e.dtype, shape: inner.shape}, inner.operand())
	outer := e.sum(prefix+"residual", e.linear(prefix+e.names.outer, inner, e.of.Hidden, p.Bias), x)
	id := ""
	if isLast {
		id = lastHiddenState
	}
	return e.norm(id, prefix+e.names.outerNorm, outer)
}

// pooler computes one vector from the first token of each text.
func (e *encoder) pooler(x value) value {
	vector := []int64{ir.Dynamic, int64(e.of.Hidden)}
	first := e.node(step{
		layer: "pooler.first_token", operator: "Gather", attributes: map[string]any{"axis": 1}, dtype: e.dtype, shape: vector,
	}, x.operand(), e.integers("pooler.first", true, 0))
	dense := e.linear(e.names.pooler, first, e.of.Hidden, true)
	return e.node(step{id: poolerOutput, layer: "pooler.activation", operator: "Tanh", dtype: e.dtype, shape: vector}, dense.operand())
}
