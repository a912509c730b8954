//go:build cgo && (amd64 || arm64) && linux

package operations

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/dtype"
	"ferrum_mem/core/operator"
	"ferrum_mem/core/operator/reference"
)

// A cache in blocks, and the same keys and values in one piece for each sequence.
type pagedCase struct {
	sequences, queries, heads, keyHeads, size, most, tokens uint64
	window                                                  int64
	softcap                                                 float64
}

// toPages copies what each sequence has into blocks in a random order. All else in the blocks is NaN, and
// the numbers of blocks that no query sees are those of no block.
func (c *pagedCase) toPages(whole *argument, lengths, ids []int64) *argument {
	pages := reference.New(whole.Type, []uint64{uint64(len(ids)), c.keyHeads, c.tokens, c.size})
	for i := range pages.Floats {
		pages.Floats[i] = math.NaN()
	}
	width := c.keyHeads * c.size
	for at := range whole.Floats {
		i := uint64(at)
		sequence, token, head, element := i/(c.most*c.tokens*width), i/width%(c.most*c.tokens), i%width/c.size, i%c.size
		id := ids[sequence*c.most+token/c.tokens]
		if int64(token) < lengths[sequence] && id >= 0 {
			pages.Floats[((uint64(id)*c.keyHeads+head)*c.tokens+token%c.tokens)*c.size+element] = whole.Floats[at]
		}
	}
	return &argument{Tensor: pages}
}

// ids returns a number for each block of each sequence, and the table with the numbers that are read.
func (c *pagedCase) ids(r *rand.Rand, lengths []int64) (all []int64, table *argument) {
	table = &argument{Tensor: tensorOf(dtype.I32, []uint64{c.sequences, c.most})}
	for i, id := range r.Perm(int(c.sequences * c.most)) {
		all = append(all, int64(id))
		first, length := int64(uint64(i)%c.most*c.tokens), lengths[uint64(i)/c.most]
		table.Ints[i] = int64(id)
		if first >= length || c.window >= 0 && first+int64(c.tokens) <= length-int64(c.queries)-c.window {
			table.Ints[i] = -1
		}
	}
	return all, table
}

// resultOf returns the bytes of the output.
func resultOf(t *testing.T, e *Engine, c call) []byte {
	t.Helper()
	x := c.prepare(t, []pattern{inOrder}, inOrder)
	p, err := e.Plan(x.request)
	require.NoError(t, err)
	space, check := workspace(t, p.WorkspaceBytes())
	require.NoError(t, p.Run(addresses(x.inputs), addresses(x.outputs), space), "%v", c)
	check()
	return bytes.Clone(x.outputs[0].memory)
}

// The bits do not depend on where the keys and values are: in blocks of any size, or in one piece.
func TestPagedAttentionHasTheBitsOfAttention(t *testing.T) {
	cases := []pagedCase{
		{sequences: 5, queries: 1, heads: 4, keyHeads: 2, size: 16, most: 20, tokens: 16, window: -1},
		{sequences: 1, queries: 37, heads: 2, keyHeads: 1, size: 19, most: 50, tokens: 3, window: -1, softcap: 30},
		{sequences: 3, queries: 1, heads: 6, keyHeads: 2, size: 8, most: 3, tokens: 128, window: 70},
		{sequences: 2, queries: 9, heads: 3, keyHeads: 3, size: 4, most: 150, tokens: 1, window: 20, softcap: 5},
	}
	onEachSet(t, 2, func(t *testing.T, e *Engine) {
		r := rand.New(rand.NewPCG(7, 8))
		for _, kind := range []dtype.DType{dtype.F32, dtype.F16, dtype.F64} {
			for _, c := range cases {
				keys := c.most * c.tokens
				lengths := make([]int64, c.sequences)
				for s := range lengths {
					lengths[s] = r.Int64N(int64(keys) + 1)
				}
				lengths[0] = int64(keys)
				ids, table := c.ids(r, lengths)
				q := random(kind, c.sequences, c.queries, c.heads*c.size)
				k, v := random(kind, c.sequences, keys, c.keyHeads*c.size), random(kind, c.sequences, keys, c.keyHeads*c.size)
				common := fmt.Sprintf(`"softcap": %v, "left_window_size": %d`, c.softcap, c.window)
				whole := callOf(t, operator.ONNX, "Attention", fmt.Sprintf(`{%s, "is_causal": 1, "q_num_heads": %d, "kv_num_heads": %d}`, common, c.heads, c.keyHeads),
					q, k, v, nil, nil, nil, &argument{Tensor: tensorOf(dtype.I64, []uint64{c.sequences}, lengths...)})
				paged := callOf(t, operator.Ferrum, "paged_attention", "{"+common+"}",
					q, c.toPages(k, lengths, ids), c.toPages(v, lengths, ids), table,
					&argument{Tensor: tensorOf(dtype.I32, []uint64{c.sequences}, lengths...)})
				require.Equal(t, resultOf(t, e, whole), resultOf(t, e, paged), "%v: %+v", kind, c)
			}
		}
	})
}
