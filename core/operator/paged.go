package operator

import (
	"math"
	"math/bits"

	"ferrum_mem/core/dtype"
)

// The inputs of paged_attention.
const (
	pagedQuery = iota
	pagedKey
	pagedValue
	pagedTables
	pagedLengths
)

// pagedAttention is causal attention of sequences whose keys and values lie in blocks of a cache.
//
//	Q            [sequences, queries, heads * size]
//	K            [blocks, kv_heads, block_tokens, size]
//	V            [blocks, kv_heads, block_tokens, value_size]
//	block_tables [sequences, most blocks of a sequence]
//	lengths      [sequences]
//	Y            [sequences, queries, heads * value_size]
//
// Each layer of a model has its own K and V. The number of a block is the same in all layers, so one table
// serves them all: token t of sequence s is row t % block_tokens of block block_tables[s, t / block_tokens].
// Sequence s has lengths[s] tokens, and its queries are the last of them. A query before the first token has the
// result 0. A block of which no query of the sequence sees a token is not read, and its number may be any: the
// blocks after the last token, and those before the window.
func pagedAttention(int) Schema {
	const numbers = 1 << dtype.I32
	return Schema{
		Inputs: []Parameter{
			input("Q", "T", floats), input("K", "P", floats), input("V", "P", floats),
			input("block_tables", "I", numbers), input("lengths", "I", numbers),
		},
		Outputs: []Parameter{input("Y", "T", floats)},
		Attributes: []Attribute{
			{Name: "scale", Kind: Float}, float("softcap", 0),
			{Name: "left_window_size", Kind: Int, Default: int64(-1), Least: -1, Most: 1 << 62},
		},
		infer:   inferPagedAttention,
		origins: pagedSequence,
	}
}

func inferPagedAttention(c *call) error {
	for at, rank := range []int{pagedQuery: 3, pagedKey: 4, pagedValue: 4, pagedTables: 2} {
		if err := c.rank(at, rank); err != nil {
			return err
		}
	}
	q, k, v, tables := c.in(pagedQuery).Shape, c.in(pagedKey).Shape, c.in(pagedValue).Shape, c.in(pagedTables).Shape
	keyHeads, tokens, size := k[1], k[2], k[3]
	if keyHeads == 0 || tokens == 0 || size == 0 {
		return c.wrong("%s has blocks without elements: heads, tokens and elements of a head must be at least 1", c.describe(pagedKey))
	}
	if err := c.exactly(pagedValue, k[0], keyHeads, tokens, v[3]); err != nil {
		return err
	}
	if err := c.exactly(pagedTables, q[0], tables[1]); err != nil {
		return err
	}
	if err := c.exactly(pagedLengths, q[0]); err != nil {
		return err
	}
	heads := q[2] / size
	if q[2]%size != 0 || heads%keyHeads != 0 {
		return c.wrong("%s do not fit: %d elements of a token are not a multiple of %d heads of %d", c.describeAll(pagedQuery, pagedKey), q[2], keyHeads, size)
	}
	high, keys := bits.Mul64(tables[1], tokens)
	if high != 0 || keys > math.MaxInt64 {
		return c.wrong("%s and blocks of %d tokens are too many tokens for a sequence", c.describe(pagedTables), tokens)
	}
	c.result.Layout.Heads = Heads{
		Batch: q[0], QueryHeads: heads, KeyHeads: keyHeads, Queries: q[1], Keys: keys, Size: size, ValueSize: v[3], IsPacked: true,
	}
	c.give(c.in(pagedQuery).Type, []uint64{q[0], q[1], packed(heads, v[3])})
	return nil
}

// pagedSequence is the rule of paged_attention: sequences do not depend on each other, and share the blocks.
func pagedSequence(p *part) bool {
	for _, at := range []int{pagedQuery, pagedTables, pagedLengths} {
		p.from(at, 0)
	}
	return p.axis == 0
}
