//go:build cgo && (amd64 || arm64) && linux

package cpu

import (
	"math"
	"math/rand/v2"
	"testing"

	"ferrum_mem/core/dtype"
)

// wantRow computes an operation on a row in F64.
func wantRow(o RowOperation, x, scale, bias []float64, epsilon float64) (y []float64, mean, inverse float64) {
	y = make([]float64, len(x))
	n := float64(len(x))
	if o == Softmax {
		largest, sum := math.Inf(-1), 0.0
		for _, v := range x {
			largest = math.Max(largest, v)
		}
		for i, v := range x {
			y[i] = math.Exp(v - largest)
			sum += y[i]
		}
		for i := range y {
			y[i] /= sum
		}
		return y, 0, 0
	}
	if o == LayerNormalization {
		for _, v := range x {
			mean += v / n
		}
	}
	squares := 0.0
	for _, v := range x {
		squares += (v - mean) * (v - mean) / n
	}
	inverse = 1 / math.Sqrt(squares+epsilon)
	for i, v := range x {
		y[i] = (v-mean)*inverse*scale[i] + bias[i]
	}
	return y, mean, inverse
}

func TestRowsAgreeWithF64(t *testing.T) {
	onEachSet(t, func(t *testing.T, e *Engine, r *rand.Rand) {
		for round := range requests(250) {
			t.Run("", func(t *testing.T) { checkRows(t, e, r, round%6 == 0) })
		}
	})
}

func checkRows(t *testing.T, e *Engine, r *rand.Rand, special bool) {
	n := pick[int64](r, 0, 1, 2, 3, 7, 15, 16, 17, 31, 33, 64, 100, 511, 512, 513, 1030)
	var dims []int64
	for range r.IntN(3) {
		dims = append(dims, pick[int64](r, 0, 1, 2, 3, 5))
	}
	o := RowOperation(r.IntN(int(rowOperations)))
	inputs := []dtype.DType{dtype.F32, dtype.F32, dtype.F16, dtype.BF16}
	value := numbers(r, special)
	all := append(append([]int64(nil), dims...), n)
	rank := len(dims)
	x := place(t, r, pick(r, inputs...), true, all...).fill(value)
	y := placeOutput(t, r, pick(r, inputs...), all...)
	q := &Rows{Operation: o, N: n, Rank: int64(rank), Epsilon: pick(r, 1e-5, 1e-3)}
	copy(q.Dims[:], dims)
	if r.IntN(5) == 0 {
		x = y.fill(value)
	}
	sums := x.values()
	var residual, sum *array
	scale, bias := make([]float64, n), make([]float64, n)
	for i := range scale {
		scale[i] = 1
	}
	if r.IntN(2) == 0 {
		residual = place(t, r, pick(r, inputs...), true, all...).fill(value)
		if r.IntN(4) == 0 && x != y {
			residual = y.fill(value)
		}
		for i, v := range residual.values() {
			sums[i] = float64(float32(sums[i] + v))
		}
		q.Residual, q.ResidualType, q.ResidualStep = residual.address(), Type(residual.kind), residual.strides[rank]
		copy(q.ResidualStrides[:], residual.strides[:rank])
	}
	var mean, deviation *array
	if o != Softmax {
		if r.IntN(2) == 0 {
			a := place(t, r, pick(r, inputs...), true, n).fill(value)
			scale, q.Scale, q.ScaleType, q.ScaleStep = a.values(), a.address(), Type(a.kind), a.strides[0]
		}
		if r.IntN(2) == 0 {
			a := place(t, r, pick(r, inputs...), true, n).fill(value)
			bias, q.Bias, q.BiasType, q.BiasStep = a.values(), a.address(), Type(a.kind), a.strides[0]
		}
		if r.IntN(2) == 0 {
			sum = placeOutput(t, r, pick(r, inputs...), all...)
			q.Sum, q.SumType, q.SumStep = sum.address(), Type(sum.kind), sum.strides[rank]
			copy(q.SumStrides[:], sum.strides[:rank])
		}
		mean, deviation = place(t, r, dtype.F32, false, elementsOf(dims)), place(t, r, dtype.F32, false, elementsOf(dims))
		q.Mean, q.Deviation = mean.address(), deviation.address()
	}
	q.X, q.XType, q.XStep = x.address(), Type(x.kind), x.strides[rank]
	copy(q.XStrides[:], x.strides[:rank])
	q.Y, q.YType, q.YStep = y.address(), Type(y.kind), y.strides[rank]
	copy(q.YStrides[:], y.strides[:rank])
	run(t, e, q)
	if n == 0 {
		return
	}
	got := y.values()
	for row := range int(elementsOf(dims)) {
		part := sums[row*int(n) : (row+1)*int(n)]
		want, wantMean, wantInverse := wantRow(o, part, scale, bias, q.Epsilon)
		most := 0.0
		for _, v := range part {
			if !math.IsNaN(v) {
				most = math.Max(most, math.Abs(v))
			}
		}
		most = min(most, 1e6)
		for i, v := range want {
			size := math.Abs(v)
			if o != Softmax {
				size += math.Abs(bias[i]) + math.Abs(scale[i])*math.Max(1, math.Min(most, 10))*math.Min(wantInverse, 40)
			}
			requireNear(t, y.kind, v, got[row*int(n)+i], 10*size, []any{o, dims, n, x.kind, y.kind, row, i})
		}
		if mean != nil {
			requireNear(t, dtype.F32, wantMean, mean.get(int64(row)), 10*most, "mean")
			requireNear(t, dtype.F32, wantInverse, deviation.get(int64(row)), 10*math.Abs(wantInverse)*math.Max(1, wantInverse*most), "deviation")
		}
	}
	y.requireUntouched(t)
	if sum != nil {
		for i, v := range sum.values() {
			requireNear(t, sum.kind, sums[i], v, math.Abs(sums[i]), "sum")
		}
		sum.requireUntouched(t)
	}
}
