//go:build cgo && (amd64 || arm64) && linux

package cpu

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/core/dtype"
)

// element returns an element of an array by its index.
func (a *array) element(index ...int64) float64 {
	at := a.origin
	for d, i := range index {
		at += i * a.strides[d]
	}
	return a.get(at)
}

// attentionCase is a request with the arrays behind it.
type attentionCase struct {
	request    Attention
	q, k, v, y *array
	mask       *array
	lengths    []int64
}

func makeAttention(t *testing.T, r *rand.Rand) attentionCase {
	kinds := []dtype.DType{dtype.F32, dtype.F32, dtype.F16, dtype.BF16}
	keyHeads := pick[int64](r, 1, 1, 2, 3)
	a := Attention{
		Batch: pick[int64](r, 0, 1, 1, 2), Heads: keyHeads * pick[int64](r, 1, 1, 2, 4), KeyHeads: keyHeads,
		Queries: pick[int64](r, 0, 1, 1, 2, 5, 17, 33, 70), Keys: pick[int64](r, 0, 1, 2, 11, 12, 13, 64, 127, 128, 129, 300),
		Depth: pick[int64](r, 0, 1, 3, 16, 33, 64), ValueDepth: pick[int64](r, 0, 1, 2, 7, 11, 13, 32, 64, 65),
		Scale: pick(r, 1, 0.125), Softcap: pick[float64](r, 0, 0, 0, 2),
	}
	c := attentionCase{}
	value := numbers(r, false)
	c.q = place(t, r, pick(r, kinds...), true, a.Batch, a.Heads, a.Queries, a.Depth).fill(value)
	c.k = place(t, r, pick(r, kinds...), true, a.Batch, a.KeyHeads, a.Keys, a.Depth).fill(value)
	c.v = place(t, r, pick(r, kinds...), true, a.Batch, a.KeyHeads, a.Keys, a.ValueDepth).fill(value)
	c.y = placeOutput(t, r, pick(r, kinds...), a.Batch, a.Heads, a.Queries, a.ValueDepth)
	four := func(x *array, address *uint64, kind *Type, strides ...*int64) {
		*address, *kind = x.address(), Type(x.kind)
		for d, s := range strides {
			*s = x.strides[d]
		}
	}
	four(c.q, &a.Q, &a.QType, &a.QBatch, &a.QHead, &a.QRow, &a.QStep)
	four(c.k, &a.K, &a.KType, &a.KBatch, &a.KHead, &a.KRow, &a.KStep)
	four(c.v, &a.V, &a.VType, &a.VBatch, &a.VHead, &a.VRow, &a.VStep)
	four(c.y, &a.Y, &a.YType, &a.YBatch, &a.YHead, &a.YRow, &a.YStep)
	if r.IntN(2) == 0 {
		a.HasLast, a.Last = 1, pick[int64](r, 0, 0, a.Keys-a.Queries, -2, 5)
	}
	if r.IntN(3) == 0 {
		a.HasFirst, a.First = 1, pick[int64](r, -3, 0, -40, a.Keys-a.Queries-1)
	}
	if r.IntN(2) == 0 {
		kind := pick(r, dtype.F32, dtype.F16, dtype.Bool)
		c.mask = place(t, r, kind, true, a.Batch, a.Heads, a.Queries, a.Keys).fill(func() float64 {
			if kind == dtype.Bool {
				return float64(min(1, r.IntN(4)))
			}
			if r.IntN(5) == 0 {
				return math.Inf(-1)
			}
			return value()
		})
		switch r.IntN(3) { // broadcast
		case 0:
			c.mask.strides[1], c.mask.strides[2] = 0, 0
			c.mask = again(c.mask)
		case 1:
			c.mask.strides[0], c.mask.strides[2] = 0, 0
			c.mask = again(c.mask)
		}
		a.MaskKeys = pick(r, a.Keys, a.Keys, a.Keys/2)
		four(c.mask, &a.Mask, &a.MaskType, &a.MaskBatch, &a.MaskHead, &a.MaskRow, &a.MaskKey)
	}
	if r.IntN(3) == 0 && a.Batch > 0 {
		memory := region(t, 8*a.Batch)
		for i := range a.Batch {
			c.lengths = append(c.lengths, r.Int64N(a.Keys+2))
			binary.LittleEndian.PutUint64(memory[8*i:], uint64(c.lengths[i]))
		}
		a.Lengths, a.FollowsLength = addressIn(memory), pick[int64](r, 0, 1)
	}
	c.request = a
	return c
}

// again moves the origin of an array whose strides were set to 0 to where all its elements are
// inside of the memory.
func again(a *array) *array {
	least := int64(0)
	for d, s := range a.strides {
		if s < 0 {
			least += (a.dims[d] - 1) * s
		}
	}
	if elementsOf(a.dims) > 0 {
		a.origin = -least
	}
	return a
}

// weights returns e^(score - largest) of each key for a query, in F64, and their sum.
func (c *attentionCase) weights(b, h, i int64) (weights []float64, sum float64) {
	a := &c.request
	group := h * a.KeyHeads / a.Heads
	keys, shift := a.Keys, int64(0)
	if c.lengths != nil {
		keys = min(keys, c.lengths[b])
		if a.FollowsLength == 1 {
			shift = c.lengths[b] - a.Queries
		}
	}
	query := make([]float64, a.Depth)
	for x := range query {
		query[x] = c.q.element(b, h, i, int64(x))
	}
	largest := math.Inf(-1)
	for j := range keys {
		s := 0.0
		for x, q := range query {
			s += q * c.k.element(b, group, j, int64(x))
		}
		s *= a.Scale
		if a.Softcap > 0 {
			s = a.Softcap * math.Tanh(s/a.Softcap)
		}
		if c.mask != nil {
			m := c.mask.element(b, h, i, j)
			if c.mask.kind == dtype.Bool {
				m = math.Log(m)
			}
			s += m
		}
		isHidden := a.HasLast == 1 && j > i+shift+a.Last || a.HasFirst == 1 && j < i+shift+a.First ||
			c.mask != nil && j >= a.MaskKeys
		if isHidden {
			s = math.Inf(-1)
		}
		weights = append(weights, s)
		largest = math.Max(largest, s)
	}
	for j, s := range weights {
		weights[j] = math.Exp(s - largest)
		sum += weights[j]
	}
	return weights, sum
}

// check compares results with attention in F64: all of some queries, and some of all queries.
func (c *attentionCase) check(t *testing.T) {
	a := &c.request
	var weights []float64
	var sum float64
	c.y.each(func(index []int64, element int64) {
		b, h, i, d := index[0], index[1], index[2], index[3]
		if i > 3 && i < a.Queries-3 && i%5 != 0 {
			return
		}
		if d == 0 {
			weights, sum = c.weights(b, h, i)
		}
		if d > 2 && d < a.ValueDepth-2 && i%5 != 0 {
			return
		}
		group := h * a.KeyHeads / a.Heads
		result, size := 0.0, 0.0
		for j, w := range weights {
			if w != 0 {
				x := c.v.element(b, group, int64(j), d)
				result += w * x
				size += w * math.Abs(x)
			}
		}
		if !(sum > 0) {
			requireNear(t, c.y.kind, 0, c.y.get(element), 0, index)
			return
		}
		requireNear(t, c.y.kind, result/sum, c.y.get(element), 10*(size/sum), index)
	})
	c.y.requireUntouched(t)
}

func TestAttentionAgreesWithF64(t *testing.T) {
	onEachSet(t, func(t *testing.T, e *Engine, r *rand.Rand) {
		for range requests(40) {
			t.Run("", func(t *testing.T) {
				c := makeAttention(t, r)
				run(t, e, &c.request)
				c.check(t)
			})
		}
	})
}

func TestAttentionNeedsLittleMemory(t *testing.T) {
	onEachSet(t, func(t *testing.T, e *Engine, _ *rand.Rand) {
		bytes, err := e.Workspace(&Attention{Batch: 1, Heads: 12, KeyHeads: 12, Queries: 4096, Keys: 4096, Depth: 64, ValueDepth: 64})
		require.NoError(t, err)
		assert.LessOrEqual(t, bytes, int64(e.Threads())<<18)
	})
}

func TestRejectedAttention(t *testing.T) {
	e, err := Open(Config{Threads: 1})
	require.NoError(t, err)
	defer e.Close()
	assert.ErrorIs(t, e.Run(&Attention{Heads: 3, KeyHeads: 2}, 0, 0), device.CodeInvalidArgument)
	assert.ErrorIs(t, e.Run(&Attention{Heads: 3, KeyHeads: 0}, 0, 0), device.CodeInvalidArgument)
	assert.ErrorIs(t, e.Run(&Attention{Heads: 1, KeyHeads: 1, Keys: -1}, 0, 0), device.CodeInvalidArgument)
	assert.ErrorIs(t, e.Run(&Attention{Heads: 1, KeyHeads: 1, Stage: 4}, 0, 0), device.CodeInvalidArgument)
	assert.ErrorIs(t, e.Run(&Attention{Heads: 1, KeyHeads: 1, Mask: 64, MaskType: Type(dtype.I4)}, 0, 0), device.CodeUnsupported)
	assert.ErrorIs(t, e.Run(&Attention{Heads: 1, KeyHeads: 1, KType: Type(dtype.I64)}, 0, 0), device.CodeUnsupported)
}
