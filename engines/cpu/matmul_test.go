//go:build cgo && (amd64 || arm64) && linux

package cpu

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/dtype"
)

func pick[T any](r *rand.Rand, from ...T) T { return from[r.IntN(len(from))] }

// blocks makes n columns of k weights in a block type, as a GGUF file has them, and their
// values by column.
func blocks(t *testing.T, r *rand.Rand, kind dtype.DType, n, k int64) ([]byte, []float64) {
	size := int64(34)
	if kind == Q4Zero {
		size = 18
	}
	memory := region(t, n*k/32*size)
	var values []float64
	for at := memory; len(at) > 0; at = at[size:] {
		scale := float32(r.IntN(64)+1) / 1024
		half := make([]byte, 2)
		single := binary.LittleEndian.AppendUint32(nil, math.Float32bits(scale))
		require.NoError(t, dtype.Convert(dtype.F16, half, dtype.F32, single))
		copy(at, half)
		for i := range at[2:size] {
			at[2+i] = byte(r.IntN(256))
		}
		for i := range 32 {
			number := int(int8(at[2+min(int64(i), size-3)]))
			if kind == Q4Zero {
				number = int(at[2+i%16]>>(i/16*4)&15) - 8
			}
			values = append(values, float64(scale)*float64(number))
		}
	}
	return memory, values
}

// productCase is a request with the arrays behind it.
type productCase struct {
	request  MatMul
	a, y     *array
	add      *array
	residual *array
	b        func(index []int64, k, n int64) float64
	text     string
}

// makeProduct makes a random product.
func makeProduct(t *testing.T, e *Engine, r *rand.Rand, special bool) productCase {
	m := pick[int64](r, 0, 1, 1, 1, 2, 3, 5, 11, 12, 13, 25, 70)
	n := pick[int64](r, 0, 1, 2, 7, 8, 15, 16, 17, 31, 32, 33, 64, 97, 130)
	k := pick[int64](r, 0, 1, 2, 3, 4, 31, 32, 33, 64, 100)
	switch r.IntN(10) {
	case 0:
		m, n, k = pick[int64](r, 239, 241, 500), min(n, 33), min(k, 5)
	case 1:
		m, n, k = min(m, 13), min(n, 17), pick[int64](r, 511, 512, 513, 1025)
	case 2:
		m, n, k = min(m, 2), pick[int64](r, 1023, 1025, 1100), min(k, 33)
	default:
		for m*n*k > 30_000 {
			m, n, k = (m+1)/2, (n+1)/2, (k+1)/2
		}
	}
	plain := []dtype.DType{dtype.F32, dtype.F32, dtype.F16, dtype.BF16, dtype.I8}
	aType, bType, yType := pick(r, plain...), pick(r, plain...), pick(r, dtype.F32, dtype.F32, dtype.F16, dtype.BF16)
	var batch []int64
	for range r.IntN(2) * r.IntN(3) {
		batch = append(batch, pick[int64](r, 1, 2, 3))
	}
	c := productCase{}
	dims := func(tail ...int64) []int64 { return append(append([]int64(nil), batch...), tail...) }
	value := numbers(r, special)
	c.a = place(t, r, aType, true, dims(m, k)...).fill(value)
	c.y = place(t, r, yType, false, dims(m, n)...)
	rank := len(batch)
	q := &c.request
	*q = MatMul{
		M: m, N: n, K: k, A: c.a.address(), AType: Type(aType), ARow: c.a.strides[rank], AColumn: c.a.strides[rank+1],
		Y: c.y.address(), YType: Type(yType), YRow: c.y.strides[rank], Alpha: 1, BatchRank: int64(rank),
	}
	copy(q.Batch[:], batch)
	copy(q.ABatch[:], c.a.strides[:rank])
	copy(q.YBatch[:], c.y.strides[:rank])
	switch r.IntN(4) {
	case 0: // strides
		b := place(t, r, bType, true, dims(k, n)...).fill(value)
		q.B, q.BType, q.BRow, q.BColumn = b.address(), Type(bType), b.strides[rank], b.strides[rank+1]
		copy(q.BBatch[:], b.strides[:rank])
		c.b = func(index []int64, i, j int64) float64 {
			element := b.origin + i*b.strides[rank] + j*b.strides[rank+1]
			for d, at := range index {
				element += at * b.strides[d]
			}
			return b.get(element)
		}
	case 1: // packed blocks
		kind := pick(r, Q8Zero, Q4Zero)
		k = k / 32 * 32
		q.K = k
		c.a.dims[rank+1] = k
		memory, values := blocks(t, r, kind, n, k)
		q.B, q.BType, q.IsPacked = pack(t, e, r, &Pack{N: n, K: k, B: addressIn(memory), BType: Type(kind)}), Type(kind), 1
		c.b = func(_ []int64, i, j int64) float64 { return values[j*k+i] }
	default: // packed
		b := place(t, r, bType, true, k, n).fill(value)
		p := &Pack{N: n, K: k, B: b.address(), BType: Type(bType), BRow: b.strides[0], BColumn: b.strides[1]}
		q.B, q.BType, q.IsPacked = pack(t, e, r, p), Type(bType), 1
		c.b = func(_ []int64, i, j int64) float64 { return b.get(b.origin + i*b.strides[0] + j*b.strides[1]) }
	}
	if r.IntN(2) == 0 {
		q.Alpha, q.Beta = pick(r, 1, 0.5, -2), pick(r, 1, 0.25)
		c.add = place(t, r, pick(r, plain...), true, dims(m, n)...).fill(value)
		if r.IntN(3) == 0 {
			c.add = c.y
			c.y.fill(value)
		}
		q.Add, q.AddType, q.AddRow, q.AddColumn = c.add.address(), Type(c.add.kind), c.add.strides[rank], c.add.strides[rank+1]
		copy(q.AddBatch[:], c.add.strides[:rank])
	}
	if !special && r.IntN(2) == 0 {
		q.Activation = pick(r, Relu, Gelu, GeluTanh, Swish)
	}
	if r.IntN(2) == 0 {
		c.residual = place(t, r, pick(r, plain...), true, dims(m, n)...).fill(value)
		if r.IntN(3) == 0 && q.Activation == Copy && c.add != c.y {
			c.residual = c.y
			c.y.fill(value)
		}
		q.Residual, q.ResidualType = c.residual.address(), Type(c.residual.kind)
		q.ResidualRow, q.ResidualColumn = c.residual.strides[rank], c.residual.strides[rank+1]
		copy(q.ResidualBatch[:], c.residual.strides[:rank])
	}
	c.text = fmt.Sprintf("%dx%dx%d of %v and %v to %v, batch %v, packed %d, activation %d", m, n, k, q.AType, q.BType, q.YType, batch, q.IsPacked, q.Activation)
	return c
}

func pack(t *testing.T, e *Engine, r *rand.Rand, p *Pack) uint64 {
	bytes, err := e.PackedBytes(dtype.DType(p.BType), p.N, p.K)
	require.NoError(t, err)
	memory := region(t, bytes)
	p.Packed = addressIn(memory)
	run(t, e, p)
	return p.Packed
}

// want computes the product in F64, and the sum of the absolute values that were added.
func (c *productCase) want() (values, scales []float64) {
	q := &c.request
	rank := int(q.BatchRank)
	c.y.each(func(index []int64, _ int64) {
		i, j := index[rank], index[rank+1]
		at := c.a.origin + i*q.ARow
		for d := range rank {
			at += index[d] * c.a.strides[d]
		}
		sum, scale := 0.0, 0.0
		for k := range q.K {
			x := c.a.get(at+k*q.AColumn) * c.b(index[:rank], k, j)
			sum += x
			scale += math.Abs(x)
		}
		sum *= q.Alpha
		scale *= math.Abs(q.Alpha)
		if c.add != nil {
			x := c.add.element(index...)
			sum += q.Beta * x
			scale += math.Abs(q.Beta * x)
		}
		if q.Activation != Copy {
			// No derivative of an activation is above 1.2.
			sum, scale = oracle(q.Activation, sum, 0, 1), 1.2*scale
		}
		if c.residual != nil {
			x := c.residual.element(index...)
			sum += x
			scale += math.Abs(x)
		}
		values, scales = append(values, sum), append(scales, scale)
	})
	return values, scales
}

func TestMatMulAgreesWithF64(t *testing.T) {
	onEachSet(t, func(t *testing.T, e *Engine, r *rand.Rand) {
		for round := range requests(100) {
			t.Run("", func(t *testing.T) {
				c := makeProduct(t, e, r, round%5 == 0)
				values, scales := c.want()
				run(t, e, &c.request)
				for i, got := range c.y.values() {
					// A sum of equal values is the worst case: its roundings go one way.
					requireNear(t, c.y.kind, values[i], got, scales[i]*max(1, float64(c.request.K)/64), c.text)
				}
				c.y.requireUntouched(t)
			})
		}
	})
}

// The order of the sums does not depend on the parts, so the bits do not depend on the number
// of threads.
func TestMatMulHasTheSameBitsOnAnyNumberOfThreads(t *testing.T) {
	for _, name := range Sets() {
		r := rand.New(rand.NewPCG(3, 4))
		var engines []*Engine
		for threads := 1; threads <= 7; threads++ {
			e, err := Open(Config{Instructions: name, Threads: threads})
			require.NoError(t, err)
			defer e.Close()
			engines = append(engines, e)
		}
		for range requests(40) {
			t.Run(name, func(t *testing.T) {
				c := makeProduct(t, engines[0], r, false)
				before := bytes.Clone(c.y.memory)
				run(t, engines[0], &c.request)
				want := bytes.Clone(c.y.memory)
				for _, e := range engines[1:] {
					copy(c.y.memory, before)
					run(t, e, &c.request)
					require.Equal(t, want, c.y.memory, "%d threads, %s", e.Threads(), c.text)
				}
			})
		}
	}
}
