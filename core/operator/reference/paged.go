package reference

import (
	"ferrum_mem/core/strided"
)

// pagedAttention is attention to the keys and values that the blocks of each sequence hold, with the tokens in
// the order of its table.
func (r *run) pagedAttention() error {
	h, tables, lengths := r.layout.Heads, r.in[3], r.in[4]
	pages, tokens, most := r.in[1].Shape[0], r.in[1].Shape[2], r.in[3].Shape[1]
	keys := New(r.in[1].Type, []uint64{h.Batch, h.Keys, h.KeyHeads * h.Size})
	values := New(r.in[2].Type, []uint64{h.Batch, h.Keys, h.KeyHeads * h.ValueSize})
	for s := range h.Batch {
		length := lengths.Ints[s]
		if length < 0 || uint64(length) > h.Keys {
			return r.wrong("element %d of input \"lengths\" is %d: expected 0 to the %d tokens of %s", s, length, h.Keys, strided.Text(tables.Shape))
		}
		first := int64(0)
		if window := r.op.Int("left_window_size"); window >= 0 {
			first = max(0, length-int64(h.Queries)-window)
		}
		for b := uint64(first) / tokens; b*tokens < uint64(length); b++ {
			id := tables.Ints[s*most+b]
			if id < 0 || uint64(id) >= pages {
				return r.wrong("element %d of sequence %d of input \"block_tables\" is %d: there are %d blocks", b, s, id, pages)
			}
			copyBlock(keys, r.in[1], s, b, uint64(id), h.Size)
			copyBlock(values, r.in[2], s, b, uint64(id), h.ValueSize)
		}
	}
	contiguous := &run{
		op: r.op, layout: r.layout, out: []*Tensor{r.out[0], nil, nil, nil},
		in: []*Tensor{r.in[0], keys, values, nil, nil, nil, lengths},
	}
	contiguous.attention()
	return nil
}

// copyBlock copies block `from` of a cache to the tokens of block b of a sequence.
func copyBlock(to, pages *Tensor, sequence, b, from, size uint64) {
	heads, tokens := pages.Shape[1], pages.Shape[2]
	each([]uint64{heads, tokens, size}, func(_ int, index []uint64) {
		head, token, element := index[0], index[1], index[2]
		at := ((sequence*to.Shape[1]+b*tokens+token)*heads+head)*size + element
		to.copyFrom(int(at), pages, int(((from*heads+head)*tokens+token)*size+element))
	})
}

// sight returns which keys a query may see: none after it, and how many before and after it; -1 is no limit.
func (r *run) sight() (isCausal bool, left, right int64) {
	switch {
	case r.op.Name == "paged_attention":
		return true, r.op.Int("left_window_size"), -1
	case r.op.Since >= 25:
		left, right = r.op.Int("left_window_size"), r.op.Int("right_window_size")
	default: // earlier opsets, and self_attention, have no window
		left, right = -1, -1
	}
	return r.op.Int("is_causal") == 1, left, right
}
