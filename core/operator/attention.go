package operator

import (
	"math"
	"math/bits"
	"slices"

	"ferrum_mem/core/strided"
)

// The inputs of Attention.
const (
	query = iota
	key
	value
	mask
	pastKey
	pastValue
	lengths
)

// The optional outputs of Attention.
const (
	presentKey = 1 + iota
	presentValue
	scores
)

// attention is the form of Attention. Opset 24 added the lengths of sequences, 25 the window.
func attention(version int) Schema {
	s := Schema{
		Inputs: []Parameter{
			input("Q", "T1", floats), input("K", "T1", floats), input("V", "T2", floats),
			optional("attn_mask", "U", floats|integers|booleans),
			optional("past_key", "T1", floats), optional("past_value", "T2", floats),
		},
		Outputs: []Parameter{
			input("Y", "T1", floats), optional("present_key", "T1", floats),
			optional("present_value", "T2", floats), optional("qk_matmul_output", "T1", floats),
		},
		Attributes: []Attribute{
			zeroOrOne("is_causal", 0), atLeast("q_num_heads", 1), atLeast("kv_num_heads", 1),
			{Name: "scale", Kind: Float}, float("softcap", 0),
			{Name: "softmax_precision", Kind: DataType, Types: floats},
			{Name: "qk_matmul_output_mode", Kind: Int, Default: int64(0), Most: 3},
		},
		infer:   inferAttention,
		origins: eachSequence(mask),
	}
	if version >= 24 {
		s.Inputs = append(s.Inputs, optional("nonpad_kv_seqlen", "tensor(int64)", shapeNumbers))
	}
	if version >= 25 {
		for _, name := range []string{"left_window_size", "right_window_size"} {
			s.Attributes = append(s.Attributes, Attribute{Name: name, Kind: Int, Default: int64(-1), Least: -1, Most: 1 << 62})
		}
	}
	return s
}

func inferAttention(c *call) error {
	h, err := c.attentionHeads()
	if err != nil {
		return err
	}
	if err := c.attentionPast(&h); err != nil {
		return err
	}
	if err := c.attentionMask(mask, h, c.describeAll(query, key)); err != nil {
		return err
	}
	c.result.Layout.Heads = h
	c.result.Outputs = make([]Value, 0, 4)
	q, v := c.in(query).Type, c.in(value).Type
	if h.IsPacked {
		c.give(q, []uint64{h.Batch, h.Queries, packed(h.QueryHeads, h.ValueSize)})
	} else {
		c.give(q, []uint64{h.Batch, h.QueryHeads, h.Queries, h.ValueSize})
	}
	c.give(c.in(key).Type, []uint64{h.Batch, h.KeyHeads, h.Keys, h.Size})
	c.give(v, []uint64{h.Batch, h.KeyHeads, h.Keys, h.ValueSize})
	c.give(q, []uint64{h.Batch, h.QueryHeads, h.Queries, h.Keys})
	return nil
}

// packed returns the number of elements of all heads of a token. It is too large for a shape if it
// does not fit: heads without elements may be many.
func packed(heads, size uint64) uint64 {
	high, low := bits.Mul64(heads, size)
	if high != 0 {
		return math.MaxUint64
	}
	return low
}

// attentionHeads returns the sizes of Q, K and V in both of their forms.
func (c *call) attentionHeads() (Heads, error) {
	rank := len(c.in(query).Shape)
	if rank != 3 && rank != 4 {
		return Heads{}, c.wrong("%s has %d dimensions: expected 3 or 4", c.describe(query), rank)
	}
	if len(c.in(key).Shape) != rank || len(c.in(value).Shape) != rank {
		return Heads{}, c.wrong("%s have different numbers of dimensions", c.describeAll(query, key, value))
	}
	var split [3]headShape
	for at := range split {
		name := "kv_num_heads"
		if at == query {
			name = "q_num_heads"
		}
		s, err := c.headShape(at, name)
		if err != nil {
			return Heads{}, err
		}
		split[at] = s
	}
	q, k, v := split[query], split[key], split[value]
	switch {
	case q.batch != k.batch || q.batch != v.batch:
		return Heads{}, c.wrong("%s have different batches", c.describeAll(query, key, value))
	case k.heads != v.heads:
		return Heads{}, c.wrong("%s have different numbers of heads", c.describeAll(key, value))
	case k.tokens != v.tokens:
		return Heads{}, c.wrong("%s have different numbers of tokens", c.describeAll(key, value))
	case q.size != k.size:
		return Heads{}, c.wrong("%s have heads of %d and %d elements", c.describeAll(query, key), q.size, k.size)
	case k.heads == 0 && q.heads != 0 || k.heads != 0 && q.heads%k.heads != 0:
		return Heads{}, c.wrong("%s have %d and %d heads: the first must be a multiple of the second", c.describeAll(query, key), q.heads, k.heads)
	}
	return Heads{
		Batch: q.batch, QueryHeads: q.heads, KeyHeads: k.heads, Queries: q.tokens, Keys: k.tokens,
		Size: q.size, ValueSize: v.size, IsPacked: rank == 3,
	}, nil
}

// headShape has the sizes of one of Q, K and V.
type headShape struct{ batch, heads, tokens, size uint64 }

func (c *call) headShape(at int, name string) (headShape, error) {
	s, given := c.in(at).Shape, uint64(c.Int(name))
	if len(s) == 4 {
		switch {
		case given != 0 && c.Since >= 25:
			return headShape{}, c.wrong("attribute %q is only for inputs with 3 dimensions: %s", name, c.describe(at))
		case given != 0 && given != s[1]:
			return headShape{}, c.wrong("attribute %q is %d: %s has %d heads", name, given, c.describe(at), s[1])
		}
		return headShape{s[0], s[1], s[2], s[3]}, nil
	}
	if given == 0 {
		return headShape{}, c.wrong("attribute %q is required for %s", name, c.describe(at))
	}
	if s[2]%given != 0 {
		return headShape{}, c.wrong("%s has %d elements in a token: attribute %q %d does not divide them", c.describe(at), s[2], name, given)
	}
	return headShape{s[0], given, s[1], s[2] / given}, nil
}

// attentionPast checks the caches and adds their tokens.
func (c *call) attentionPast(h *Heads) error {
	hasPast := !c.in(pastKey).IsAbsent
	if hasPast == c.in(pastValue).IsAbsent {
		return c.wrong("inputs \"past_key\" and \"past_value\" must be given together")
	}
	if !c.in(lengths).IsAbsent {
		if hasPast || c.isWanted(presentKey) || c.isWanted(presentValue) {
			return c.wrong("input \"nonpad_kv_seqlen\" states that K and V are the whole cache: past and present are not possible with it")
		}
		return c.exactly(lengths, h.Batch)
	}
	if !hasPast {
		return nil
	}
	if err := c.rank(pastKey, 4); err != nil {
		return err
	}
	h.Past = c.in(pastKey).Shape[2]
	if err := c.exactly(pastKey, h.Batch, h.KeyHeads, h.Past, h.Size); err != nil {
		return err
	}
	if err := c.exactly(pastValue, h.Batch, h.KeyHeads, h.Past, h.ValueSize); err != nil {
		return err
	}
	// Both are below 2^63: the sum does not overflow, and the sizes of the outputs are checked.
	h.Keys += h.Past
	return nil
}

// attentionMask checks that an input, the mask, broadcasts to the scores of other inputs. Its last
// dimension may be shorter: the remaining keys are not attended.
func (c *call) attentionMask(at int, h Heads, others string) error {
	m := c.in(at)
	if m.IsAbsent {
		return nil
	}
	rank := len(m.Shape)
	if rank < 1 || rank > 4 {
		return c.wrong("%s has %d dimensions: expected 1 to 4", c.describe(at), rank)
	}
	full := []uint64{h.Batch, h.QueryHeads, h.Queries, h.Keys}
	wide, _, fits := broadcast(with(m.Shape, rank-1, h.Keys), full)
	if m.Shape[rank-1] > h.Keys || !fits || !slices.Equal(wide, full) {
		return c.wrong("%s does not broadcast to the scores of %s, which have the shape %s", c.describe(at), others, strided.Text(full))
	}
	return nil
}
