package reference

import (
	"math"

	"ferrum_mem/core/dtype"
	"ferrum_mem/core/operator"
)

// cache returns keys or values with those of the past before them: [batch, heads, tokens, size].
func cache(past, in *Tensor, h operator.Heads, size uint64) *Tensor {
	whole := New(in.Type, []uint64{h.Batch, h.KeyHeads, h.Keys, size})
	added := h.Keys - h.Past
	each(whole.Shape, func(at int, index []uint64) {
		batch, head, token, element := index[0], index[1], index[2], index[3]
		if token < h.Past {
			whole.copyFrom(at, past, int(((batch*h.KeyHeads+head)*h.Past+token)*size+element))
			return
		}
		whole.copyFrom(at, in, headOffset(h, h.KeyHeads, added, size, batch, head, token-h.Past, element))
	})
	return whole
}

func (r *run) attention() {
	h := r.layout.Heads
	keys, values := cache(r.in[4], r.in[1], h, h.Size), cache(r.in[5], r.in[2], h, h.ValueSize)
	if r.out[1] != nil {
		r.out[1] = keys
	}
	if r.out[2] != nil {
		r.out[2] = values
	}
	scale := r.scale()
	each([]uint64{h.Batch, h.QueryHeads, h.Queries}, func(row int, index []uint64) {
		batch, head, token := index[0], index[1], index[2]
		shared := (batch*h.KeyHeads + head/(h.QueryHeads/h.KeyHeads)) * h.Keys
		query := headOffset(h, h.QueryHeads, h.Queries, h.Size, batch, head, token, 0)
		scores, bias := make([]float64, h.Keys), make([]float64, h.Keys)
		for j := range h.Keys {
			bias[j] = r.bias(index, j)
			for element := range h.Size {
				scores[j] += r.in[0].Floats[query+int(element)] * keys.Floats[(shared+j)*h.Size+element]
			}
			if h.Size > 0 {
				scores[j] *= scale
			}
		}
		r.toProbabilities(row, scores, bias)
		if r.out[0] == nil {
			return
		}
		result := headOffset(h, h.QueryHeads, h.Queries, h.ValueSize, batch, head, token, 0)
		for j := range h.Keys {
			if math.IsInf(bias[j], -1) {
				continue
			}
			for element := range h.ValueSize {
				r.out[0].Floats[result+int(element)] += scores[j] * values.Floats[(shared+j)*h.ValueSize+element]
			}
		}
	})
}

// selfAttention is attention with the three parts of each token of one input.
func (r *run) selfAttention() {
	h, whole := r.layout.Heads, r.in[0]
	first := uint64(0)
	part := func(heads uint64) *Tensor {
		made := New(whole.Type, []uint64{h.Batch, h.Queries, heads * h.Size})
		each(made.Shape, func(at int, index []uint64) {
			token := index[0]*h.Queries + index[1]
			made.copyFrom(at, whole, int(token*whole.Shape[2]+first+index[2]))
		})
		first += heads * h.Size
		return made
	}
	parts := &run{
		op: r.op, layout: r.layout, out: []*Tensor{r.out[0], nil, nil, nil},
		in: []*Tensor{part(h.QueryHeads), part(h.KeyHeads), part(h.KeyHeads), r.in[1], nil, nil},
	}
	parts.attention()
}

func (r *run) scale() float64 {
	if r.op.Has("scale") {
		return r.op.Float("scale")
	}
	return 1 / math.Sqrt(float64(r.layout.Heads.Size))
}

// toProbabilities replaces the scores of a query by their softmax, and writes the output of one of
// the four stages.
func (r *run) toProbabilities(row int, scores, bias []float64) {
	show := func(stage int64) {
		if out := r.out[3]; out != nil && stage == r.op.Int("qk_matmul_output_mode") {
			copy(out.Floats[row*len(scores):], scores)
		}
	}
	show(0)
	if limit := r.op.Float("softcap"); limit > 0 {
		for j := range scores {
			scores[j] = limit * math.Tanh(scores[j]/limit)
		}
	}
	show(1)
	largest, sum := math.Inf(-1), 0.0
	for j := range scores {
		scores[j] += bias[j]
		if !math.IsInf(bias[j], -1) {
			largest = max(largest, scores[j])
		}
	}
	show(2)
	for j := range scores {
		if math.IsInf(bias[j], -1) || math.IsInf(largest, -1) {
			scores[j] = 0
			continue
		}
		scores[j] = math.Exp(scores[j] - largest)
		sum += scores[j]
	}
	for j := range scores {
		if sum != 0 && !math.IsInf(bias[j], -1) {
			scores[j] /= sum
		}
	}
	show(3)
}

// bias returns the number that is added to the score of a key: -infinity if the query does not
// attend it.
func (r *run) bias(index []uint64, key uint64) float64 {
	h := r.layout.Heads
	batch, head, token := index[0], index[1], index[2]
	offset := int64(h.Past)
	if lengths := r.lengths(); lengths != nil {
		length := lengths.Ints[batch]
		if int64(key) >= length {
			return math.Inf(-1)
		}
		offset = length - int64(h.Queries)
	}
	distance := int64(token) + offset - int64(key) // above 0: the key is before the query
	isCausal, left, right := r.sight()
	isHidden := isCausal && distance < 0 ||
		left >= 0 && distance > left || right >= 0 && -distance > right
	if isHidden {
		return math.Inf(-1)
	}
	return maskAt(r.in[3], []uint64{batch, head, token, key})
}

func (r *run) lengths() *Tensor {
	if len(r.in) > 6 {
		return r.in[6]
	}
	return nil
}

// maskAt returns the bias of a mask. Keys after its last one are not attended.
func maskAt(mask *Tensor, index []uint64) float64 {
	if mask == nil {
		return 0
	}
	last := len(mask.Shape) - 1
	columns := mask.Shape[last]
	if index[3] >= columns {
		return math.Inf(-1)
	}
	at := offset(mask.Shape[:last], index[3-last:3])*int(columns) + int(index[3])
	if mask.Type != dtype.Bool {
		return mask.number(at)
	}
	if mask.Ints[at] == 0 {
		return math.Inf(-1)
	}
	return 0
}
