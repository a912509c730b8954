//go:build cgo && (amd64 || arm64) && linux

package operations

import (
	"math"

	"pgregory.net/rapid"

	"ferrum_mem/core/dtype"
	"ferrum_mem/core/operator"
)

func (g *generator) rotation(kind dtype.DType) drawn {
	batch, heads, tokens, size := g.from(1, 2), g.from(1, 3), g.size(), 2*g.from(1, 5)
	rotated := 2 * g.from(1, int(size/2))
	d := drawn{attributes: attributes{"interleaved": g.from(0, 1), "rotary_embedding_dim": rotated}}
	if g.flip() {
		d.attributes["num_heads"] = heads
		d.inputs = append(d.inputs, g.tensor(kind, batch, tokens, heads*size))
	} else {
		d.inputs = append(d.inputs, g.tensor(kind, batch, heads, tokens, size))
	}
	if g.flip() {
		most := g.from(1, 6)
		d.inputs = append(d.inputs, g.tensor(kind, most, rotated/2), g.tensor(kind, most, rotated/2), g.between(dtype.I64, 0, int64(most)-1, batch, tokens))
	} else {
		d.inputs = append(d.inputs, g.tensor(kind, batch, tokens, rotated/2), g.tensor(kind, batch, tokens, rotated/2))
	}
	return d
}

func (g *generator) attention(s *operator.Schema, kind dtype.DType) drawn {
	batch, keyHeads, size, valueSize := g.from(1, 2), g.from(1, 2), g.size(), g.size()
	heads := keyHeads * g.from(1, 3)
	queries, keys := g.size(), g.size()
	of := g.kindOf(s.Inputs[2].Types)
	d := drawn{attributes: attributes{"is_causal": g.from(0, 1), "qk_matmul_output_mode": g.from(0, 3)}, outputs: 4}
	if g.flip() {
		d.attributes["softcap"] = 2
	}
	if g.flip() {
		d.attributes["scale"] = 0.5
	}
	if g.from(0, 2) == 0 {
		d.attributes["left_window_size"] = g.from(0, 4)
	}
	if g.from(0, 2) == 0 {
		d.attributes["right_window_size"] = g.from(0, 4)
	}
	if g.flip() {
		d.attributes["q_num_heads"], d.attributes["kv_num_heads"] = heads, keyHeads
		d.inputs = []*argument{g.tensor(kind, batch, queries, heads*size), g.tensor(kind, batch, keys, keyHeads*size), g.tensor(of, batch, keys, keyHeads*valueSize)}
	} else {
		d.inputs = []*argument{g.tensor(kind, batch, heads, queries, size), g.tensor(kind, batch, keyHeads, keys, size), g.tensor(of, batch, keyHeads, keys, valueSize)}
	}
	past, form := uint64(0), g.from(0, 2)
	if form == 1 {
		past = g.size()
	}
	all := keys + past
	d.inputs = append(d.inputs, nil, nil, nil, nil)
	if g.flip() {
		d.inputs[3] = g.mask(s.Inputs[3].Types, batch, heads, queries, all)
	}
	switch form {
	case 1:
		d.inputs[4], d.inputs[5] = g.tensor(kind, batch, keyHeads, past, size), g.tensor(of, batch, keyHeads, past, valueSize)
	case 2:
		d.hasLengths = true
		d.inputs[6] = g.between(dtype.I64, 0, int64(keys), batch)
	}
	return d
}

// mask returns a mask that broadcasts to the scores of some keys, or of fewer.
func (g *generator) mask(types operator.Types, batch, heads, queries, keys uint64) *argument {
	shape := g.narrowed([]uint64{batch, heads, queries, keys})
	if len(shape) == 0 {
		shape = []uint64{1}
	}
	shape[len(shape)-1] = min(keys, rapid.SampledFrom([]uint64{keys, keys, keys / 2}).Draw(g.T, "mask"))
	mask := g.tensor(g.kindOf(types), shape...)
	for i := range mask.Floats {
		if g.elements.IntN(4) == 0 {
			mask.Floats[i] = math.Inf(-1)
		}
	}
	for i := range mask.Ints {
		mask.Ints[i] &= 1
	}
	return mask
}

// selfAttention has shapes with whole squares of queries, and others.
func (g *generator) selfAttention(s *operator.Schema, kind dtype.DType) drawn {
	keyHeads := g.from(1, 2)
	heads := keyHeads * g.from(1, 3)
	batch, tokens := g.from(1, 2), rapid.SampledFrom([]uint64{0, 1, 2, 5, 17, 33}).Draw(g.T, "tokens")
	size := rapid.SampledFrom([]uint64{0, 1, 3, 16, 19}).Draw(g.T, "size")
	d := drawn{
		attributes: attributes{"num_heads": heads, "kv_num_heads": keyHeads, "is_causal": g.from(0, 1)},
		inputs:     []*argument{g.tensor(kind, batch, tokens, (heads+2*keyHeads)*size)},
	}
	if g.flip() {
		d.attributes["scale"] = 0.5
	}
	if g.flip() {
		d.inputs = append(d.inputs, g.mask(s.Inputs[1].Types, batch, heads, tokens, tokens))
	}
	return d
}

// pagedAttention has sequences of any lengths. Blocks that no query sees have numbers of no block.
func (g *generator) pagedAttention(s *operator.Schema, kind dtype.DType) drawn {
	keyHeads, size, valueSize := g.from(1, 2), g.from(1, 20), g.size()
	heads := keyHeads * g.from(1, 3)
	sequences, queries := g.from(0, 3), rapid.SampledFrom([]uint64{0, 1, 1, 2, 5, 33}).Draw(g.T, "queries")
	blocks, most, tokens := g.from(1, 6), g.from(0, 5), rapid.SampledFrom([]uint64{1, 2, 3, 16, 64}).Draw(g.T, "tokens")
	of := g.kindOf(s.Inputs[1].Types)
	window := int64(g.from(0, 40)) - 20
	lengths := g.between(dtype.I32, 0, int64(most*tokens), sequences)
	tables := g.between(dtype.I32, 0, int64(blocks)-1, sequences, most)
	for i := range tables.Ints {
		length, first := lengths.Ints[i/int(most)], int64(i%int(most))*int64(tokens)
		if first >= length || window >= 0 && first+int64(tokens) <= length-int64(queries)-window {
			tables.Ints[i] = rapid.SampledFrom([]int64{-1, int64(blocks)}).Draw(g.T, "unused")
		}
	}
	d := drawn{
		attributes: attributes{"left_window_size": max(-1, window)},
		inputs: []*argument{
			g.tensor(kind, sequences, queries, heads*size), g.tensor(of, blocks, keyHeads, tokens, size),
			g.tensor(of, blocks, keyHeads, tokens, valueSize), tables, lengths,
		},
	}
	if g.flip() {
		d.attributes["scale"] = 0.5
	}
	if g.flip() {
		d.attributes["softcap"] = 2
	}
	return d
}
