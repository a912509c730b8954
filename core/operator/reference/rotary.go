package reference

import (
	"ferrum_mem/core/operator"
	"ferrum_mem/core/strided"
)

// headOffset returns the position of an element of a head, in both forms of the inputs.
func headOffset(h operator.Heads, heads, tokens, size, batch, head, token, at uint64) int {
	if h.IsPacked {
		return int(((batch*tokens+token)*heads+head)*size + at)
	}
	return int(((batch*heads+head)*tokens+token)*size + at)
}

// rotate computes RotaryEmbedding: the pair (x, y) becomes (x cos - y sin, x sin + y cos). The
// elements of a pair are neighbours, or one half of the rotated elements apart.
func (r *run) rotate() error {
	in, out, positions := r.in[0], r.out[0], r.in[3]
	h, half := r.layout.Heads, r.layout.Heads.Rotated/2
	if positions != nil {
		for at, position := range positions.Ints {
			if position < 0 || uint64(position) >= r.in[1].Shape[0] {
				return r.wrong("element %d of input \"position_ids\" is %d: input \"cos_cache\" %s has %d positions", at, position, strided.Text(r.in[1].Shape), r.in[1].Shape[0])
			}
		}
	}
	copy(out.Floats, in.Floats)
	each([]uint64{h.Batch, h.QueryHeads, h.Queries, half}, func(_ int, index []uint64) {
		batch, head, token, pair := index[0], index[1], index[2], index[3]
		row := batch*h.Queries + token
		if positions != nil {
			row = uint64(positions.Ints[row])
		}
		cos, sin := r.in[1].Floats[row*half+pair], r.in[2].Floats[row*half+pair]
		first, second := pair, pair+half
		if r.op.Int("interleaved") == 1 {
			first, second = 2*pair, 2*pair+1
		}
		i := headOffset(h, h.QueryHeads, h.Queries, h.Size, batch, head, token, first)
		j := headOffset(h, h.QueryHeads, h.Queries, h.Size, batch, head, token, second)
		x, y := in.Floats[i], in.Floats[j]
		out.Floats[i], out.Floats[j] = x*cos-y*sin, x*sin+y*cos
	})
	return nil
}
