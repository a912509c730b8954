//go:build cgo && (amd64 || arm64) && linux

package cpu

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/dtype"
)

// makeFew makes a request for the kernel that keeps all scores in registers.
func makeFew(t *testing.T, r *rand.Rand, keys int64) attentionCase {
	keyHeads := pick[int64](r, 1, 1, 2, 3)
	a := Attention{
		Batch: pick[int64](r, 1, 1, 2), Heads: keyHeads * pick[int64](r, 1, 1, 2), KeyHeads: keyHeads,
		Queries: pick[int64](r, 1, 2, 3, 4, 5), Keys: keys,
		Depth: pick[int64](r, 4, 8, 12, 64), ValueDepth: pick[int64](r, 4, 8, 20, 64), Scale: pick(r, 1, 0.125),
	}
	value := numbers(r, false)
	f32 := Type(dtype.F32)
	c := attentionCase{
		q: place(t, r, dtype.F32, false, a.Batch, a.Heads, a.Queries, a.Depth).fill(value),
		k: place(t, r, dtype.F32, false, a.Batch, a.KeyHeads, a.Keys, a.Depth).fill(value),
		v: place(t, r, dtype.F32, false, a.Batch, a.KeyHeads, a.Keys, a.ValueDepth).fill(value),
		y: place(t, r, dtype.F32, false, a.Batch, a.Heads, a.Queries, a.ValueDepth),
	}
	a.Q, a.QType, a.QBatch, a.QHead, a.QRow, a.QStep = c.q.address(), f32, c.q.strides[0], c.q.strides[1], c.q.strides[2], 1
	a.K, a.KType, a.KBatch, a.KHead, a.KRow, a.KStep = c.k.address(), f32, c.k.strides[0], c.k.strides[1], c.k.strides[2], 1
	a.V, a.VType, a.VBatch, a.VHead, a.VRow, a.VStep = c.v.address(), f32, c.v.strides[0], c.v.strides[1], c.v.strides[2], 1
	a.Y, a.YType, a.YBatch, a.YHead, a.YRow, a.YStep = c.y.address(), f32, c.y.strides[0], c.y.strides[1], c.y.strides[2], 1
	if r.IntN(2) == 0 {
		a.HasLast, a.Last = 1, pick(r, 0, a.Keys-a.Queries, -2, 5, math.MaxInt32)
	}
	c.request = a
	return c
}

func TestAttentionOfFewKeysAgreesWithF64(t *testing.T) {
	onEachSet(t, func(t *testing.T, e *Engine, r *rand.Rand) {
		for keys := int64(1); keys <= fewKeys; keys++ {
			for range requests(6) {
				t.Run(fmt.Sprint(keys, " keys"), func(t *testing.T) {
					c := makeFew(t, r, keys)
					require.Equal(t, kernelFew, c.request.kernel())
					run(t, e, &c.request)
					c.check(t)
				})
			}
		}
	})
}

// The elements of hidden keys do not matter, and infinite values have the result that F64 has.
func TestAttentionOfFewKeysWithSpecialNumbers(t *testing.T) {
	special := []float64{math.Inf(1), math.Inf(-1), math.NaN()}
	onEachSet(t, func(t *testing.T, e *Engine, r *rand.Rand) {
		for range requests(60) {
			t.Run("", func(t *testing.T) {
				c := makeFew(t, r, pick[int64](r, 1, 3, 4, 7, 16))
				a := &c.request
				// No query sees the last key.
				a.HasLast, a.Last = 1, a.Keys-1-a.Queries-pick[int64](r, 0, 0, 1)
				c.k.each(func(index []int64, element int64) {
					if index[2] == a.Keys-1 && r.IntN(2) == 0 {
						c.k.put(element, pick(r, special...))
					}
				})
				c.v.each(func(index []int64, element int64) {
					if index[2] == a.Keys-1 || r.IntN(40) == 0 {
						c.v.put(element, pick(r, special...))
					}
				})
				run(t, e, a)
				c.check(t)
			})
		}
	})
}

// The kernel of few keys reads four elements at a time and keeps its scores in registers. Every other
// request has another kernel.
func TestRequestsOfManyKeysAreNotForFew(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for name, change := range map[string]func(*Attention){
		"keys":    func(a *Attention) { a.Keys = fewKeys + 1 },
		"no keys": func(a *Attention) { a.Keys = 0 },
		"queries": func(a *Attention) { a.Queries = fewQueries + 1 },
		"batch":   func(a *Attention) { a.Batch, a.Heads, a.Queries = 5, 4*a.KeyHeads, 4 },
		"depth":   func(a *Attention) { a.Depth = 6 },
		"values":  func(a *Attention) { a.ValueDepth = 68 },
		"step":    func(a *Attention) { a.VStep = 2 },
		"type":    func(a *Attention) { a.KType = Type(dtype.F16) },
		"mask":    func(a *Attention) { a.Mask, a.MaskType = a.Q, Type(dtype.F32) },
		"lengths": func(a *Attention) { a.Lengths = a.Q },
		"window":  func(a *Attention) { a.HasFirst = 1 },
		"softcap": func(a *Attention) { a.Softcap = 2 },
	} {
		c := makeFew(t, r, 4)
		change(&c.request)
		require.Equal(t, kernelAttention, c.request.kernel(), name)
	}
}
