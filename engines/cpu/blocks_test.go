//go:build cgo && (amd64 || arm64) && linux

package cpu

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/dtype"
)

// A row times blocks has the error of its form in fixed point: 2^-30 of the largest element
// of each block of the row, times the weights. Rows that have no such form have only the
// roundings of F32.
func TestARowTimesBlocksIsNearF64ForAnyMagnitudes(t *testing.T) {
	const k = 128
	ordinary := func(r *rand.Rand) float64 { return r.Float64()*2 - 1 }
	rows := map[string]func(r *rand.Rand, i int) float64{
		"ordinary":                func(r *rand.Rand, _ int) float64 { return ordinary(r) },
		"equal":                   func(*rand.Rand, int) float64 { return -0.99999 },
		"zeros":                   func(*rand.Rand, int) float64 { return 0 },
		"one element":             func(_ *rand.Rand, i int) float64 { return []float64{0, 3}[min(1, i/(k-1))] },
		"magnitudes in a block":   func(r *rand.Rand, _ int) float64 { return math.Ldexp(ordinary(r), r.IntN(60)-30) },
		"magnitudes of blocks":    func(r *rand.Rand, i int) float64 { return math.Ldexp(ordinary(r), i/32*50-100) },
		"one large in each block": func(r *rand.Rand, i int) float64 { return ordinary(r) * []float64{1, 1e4}[min(1, i%32/31)] },
		"powers of two":           func(r *rand.Rand, _ int) float64 { return math.Ldexp(1, r.IntN(8)) },
		"tiny":                    func(r *rand.Rand, _ int) float64 { return math.Ldexp(ordinary(r), -62) },
		"subnormal":               func(r *rand.Rand, _ int) float64 { return math.Ldexp(ordinary(r), -130) },
		"the least":               func(r *rand.Rand, i int) float64 { return math.Ldexp(ordinary(r), -60-i) },
		"the largest":             func(r *rand.Rand, _ int) float64 { return math.Ldexp(ordinary(r), 97) },
		"an infinity":             func(_ *rand.Rand, i int) float64 { return []float64{1, math.Inf(1)}[min(1, i/(k-1))] },
		"NaN":                     func(_ *rand.Rand, i int) float64 { return []float64{math.NaN(), 1}[min(1, i)] },
	}
	onEachSet(t, func(t *testing.T, e *Engine, r *rand.Rand) {
		multiply := func(kind dtype.DType, n int64) {
			memory, weights := blocks(t, r, kind, n, k)
			packed := pack(t, e, r, &Pack{N: n, K: k, B: addressIn(memory), BType: Type(kind)})
			for name, element := range rows {
				i := -1
				x := place(t, r, dtype.F32, false, k).fill(func() float64 { i++; return element(r, i) })
				y := place(t, r, dtype.F32, false, n)
				run(t, e, &MatMul{
					M: 1, N: n, K: k, A: x.address(), AType: Type(dtype.F32), ARow: k, AColumn: x.strides[0],
					B: packed, BType: Type(kind), IsPacked: 1,
					Y: y.address(), YType: Type(dtype.F32), YRow: n, Alpha: 1,
				})
				requireRowTimesBlocks(t, x.values(), weights, y.values(), name)
				y.requireUntouched(t)
			}
		}
		for _, kind := range []dtype.DType{Q8Zero, Q4Zero} {
			// A matrix with few columns is multiplied by the row as it is.
			multiply(kind, 70)
			multiply(kind, 150)
		}
	})
}

func requireRowTimesBlocks(t *testing.T, x, weights, got []float64, name string) {
	t.Helper()
	for j := range got {
		sum, most := 0.0, 0.0
		for from := 0; from < len(x); from += 32 {
			largest, numbers := 0.0, 0.0
			for i := from; i < from+32; i++ {
				w := weights[j*len(x)+i]
				sum += x[i] * w
				// Below 2^-149 all numbers of F32 are 0.
				most += math.Ldexp(math.Abs(x[i]*w), -20) + math.Ldexp(1, -149)
				largest = max(largest, math.Abs(x[i]))
				numbers += math.Abs(w)
			}
			most += math.Ldexp(largest*numbers, -30)
		}
		if math.IsNaN(sum) || math.IsInf(sum, 0) {
			require.True(t, math.IsNaN(got[j]) || got[j] == sum, "column %d of %s: %v, where %v is right", j, name, got[j], sum)
			continue
		}
		require.LessOrEqual(t, math.Abs(got[j]-sum), most, "column %d of %s: %v, where %v is right", j, name, got[j], sum)
	}
}

// Each thread converts the row for its own columns.
func TestARowTimesBlocksHasTheSameBitsOnAnyNumberOfThreads(t *testing.T) {
	const n, k = 1030, 256
	for _, set := range Sets() {
		r := rand.New(rand.NewPCG(5, 6))
		for _, kind := range []dtype.DType{Q8Zero, Q4Zero} {
			memory, _ := blocks(t, r, kind, n, k)
			x := place(t, r, dtype.F32, false, k).fill(func() float64 { return r.Float64()*2 - 1 })
			var want []float64
			for threads := 1; threads <= 4; threads++ {
				e, err := Open(Config{Instructions: set, Threads: threads})
				require.NoError(t, err)
				packed := pack(t, e, r, &Pack{N: n, K: k, B: addressIn(memory), BType: Type(kind)})
				y := place(t, r, dtype.F32, false, n)
				run(t, e, &MatMul{
					M: 1, N: n, K: k, A: x.address(), AType: Type(dtype.F32), ARow: k, AColumn: x.strides[0],
					B: packed, BType: Type(kind), IsPacked: 1,
					Y: y.address(), YType: Type(dtype.F32), YRow: n, Alpha: 1,
				})
				if threads == 1 {
					want = y.values()
				}
				require.Equal(t, want, y.values(), "%d threads, %s", threads, set)
				e.Close()
			}
		}
	}
}
