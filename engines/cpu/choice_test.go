//go:build cgo && (amd64 || arm64) && linux

package cpu

import (
	"cmp"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/core/dtype"
)

// In long lines the largest and the smallest elements are the same as after a sort. NaN is larger than
// every number.
func TestTopAgreesWithASort(t *testing.T) {
	onEachSet(t, func(t *testing.T, e *Engine, r *rand.Rand) {
		for range requests(40) {
			kind := pick(r, dtype.F32, dtype.F32, dtype.F16, dtype.BF16, dtype.I8, dtype.F64, dtype.I32)
			lines, n := pick[int64](r, 0, 1, 3), pick[int64](r, 1, 15, 16, 17, 64, 65, 513, 5000)
			k := min(n, pick[int64](r, 0, 1, 1, 7, 16, 17, 50, 5000)) // up to 16 are kept sorted
			x := place(t, r, kind, true, lines, n).fill(numbers(r, kind.IsFloat()))
			if !kind.IsFloat() {
				x.fill(func() float64 { return float64(r.IntN(200) - 100) })
			}
			requireSorted(t, e, r, x, k)
		}
	})
}

// Lines of up to 16 elements are ranked. Few different values give many equal elements.
func TestTopOfShortLinesAgreesWithASort(t *testing.T) {
	special := []float64{0, math.Copysign(0, -1), math.Inf(1), math.Inf(-1), math.NaN(), 1, -1, 0x1p-24, -0x1p-24, 65504}
	onEachSet(t, func(t *testing.T, e *Engine, r *rand.Rand) {
		for range requests(10) {
			for n := int64(1); n <= 17; n++ {
				kind := pick(r, dtype.F32, dtype.F32, dtype.F16, dtype.BF16, dtype.I8, dtype.F64, dtype.I32)
				x := place(t, r, kind, r.IntN(2) == 0, 2, n)
				values := 1 + r.IntN(20)
				x.fill(func() float64 {
					if kind.IsFloat() && r.IntN(3) == 0 {
						return special[r.IntN(len(special))]
					}
					return float64(r.IntN(values) - values/2)
				})
				requireSorted(t, e, r, x, r.Int64N(n+1))
			}
		}
	})
}

// requireSorted finds the k largest or smallest elements of the lines of x, and compares them with those of
// a sort.
func requireSorted(t *testing.T, e *Engine, r *rand.Rand, x *array, k int64) {
	t.Helper()
	kind, lines, n := x.kind, x.dims[0], x.dims[1]
	values, indices := place(t, r, kind, false, lines, k), place(t, r, dtype.I64, false, lines, k)
	q := &Top{
		N: n, K: k, IsSmallest: pick[int64](r, 0, 1), PrefersLast: pick[int64](r, 0, 1), Rank: 1, Dims: [Rank]int64{lines},
		X: x.address(), XType: Type(kind), XStep: x.strides[1], XStrides: [Rank]int64{x.strides[0]},
		Values: values.address(), ValuesStep: values.strides[1], ValuesStrides: [Rank]int64{values.strides[0]},
		Indices: indices.address(), IndicesStep: indices.strides[1], IndicesStrides: [Rank]int64{indices.strides[0]},
	}
	run(t, e, q)
	for line := range lines {
		order := make([]int64, n)
		for i := range order {
			order[i] = int64(i)
		}
		slices.SortFunc(order, func(a, b int64) int { return q.compare(x, line, a, b) })
		for i := range k {
			got := int64(binary.LittleEndian.Uint64(indices.memory[8*(indices.origin+line*indices.strides[0]+i*indices.strides[1]):]))
			require.Equal(t, order[i], got, "place %d of %d, %v", i, n, kind)
			want, value := x.element(line, got), values.element(line, i)
			require.True(t, want == value || math.IsNaN(want) && math.IsNaN(value))
		}
	}
	values.requireUntouched(t)
	indices.requireUntouched(t)
}

// compare orders two elements of a line as the request states.
func (r *Top) compare(x *array, line, a, b int64) int {
	v, w := x.element(line, a), x.element(line, b)
	if math.IsNaN(v) {
		v = math.Inf(1)
	}
	if math.IsNaN(w) {
		w = math.Inf(1)
	}
	order := cmp.Compare(v, w)
	if order == 0 {
		// NaN is above infinity.
		order = cmp.Compare(nanRank(x.element(line, a)), nanRank(x.element(line, b)))
	}
	if r.IsSmallest == 0 {
		order = -order
	}
	if order == 0 && r.PrefersLast == 1 {
		return cmp.Compare(b, a)
	}
	return cmp.Or(order, cmp.Compare(a, b))
}

func nanRank(v float64) int {
	if math.IsNaN(v) {
		return 1
	}
	return 0
}

func TestWhereOfEverySize(t *testing.T) {
	kinds := map[int64]dtype.DType{1: dtype.U8, 2: dtype.I16, 4: dtype.F32, 8: dtype.I64}
	onEachSet(t, func(t *testing.T, e *Engine, r *rand.Rand) {
		for range 30 {
			bytes := pick[int64](r, 1, 2, 4, 8)
			dims := []int64{pick[int64](r, 0, 1, 3), pick[int64](r, 1, 4), pick[int64](r, 1, 15, 700)}
			free := r.IntN(2) == 0
			value := func() float64 { return float64(r.IntN(100)) }
			condition := place(t, r, dtype.Bool, free, dims...).fill(func() float64 { return float64(r.IntN(2)) })
			x, z := place(t, r, kinds[bytes], free, dims...).fill(value), place(t, r, kinds[bytes], free, dims...).fill(value)
			y := placeOutput(t, r, kinds[bytes], dims...)
			q := &Where{Bytes: bytes, Rank: 3, Condition: condition.address(), X: x.address(), Z: z.address(), Y: y.address()}
			copy(q.Dims[:], dims)
			copy(q.ConditionStrides[:], condition.strides)
			copy(q.XStrides[:], x.strides)
			copy(q.ZStrides[:], z.strides)
			copy(q.YStrides[:], y.strides)
			run(t, e, q)
			y.each(func(index []int64, element int64) {
				want := z.element(index...)
				if condition.element(index...) != 0 {
					want = x.element(index...)
				}
				require.Equal(t, want, y.get(element), "%v", index)
			})
			y.requireUntouched(t)
		}
	})
}

func TestRejectedChoices(t *testing.T) {
	e, err := Open(Config{Threads: 1})
	require.NoError(t, err)
	defer e.Close()
	assert.ErrorIs(t, e.Run(&Where{Bytes: 16}, 0, 0), device.CodeUnsupported)
	assert.ErrorIs(t, e.Run(&Where{Bytes: 4, Rank: 9}, 0, 0), device.CodeInvalidArgument)
	assert.ErrorIs(t, e.Run(&Top{N: 1, K: 2}, 0, 0), device.CodeInvalidArgument)
	assert.ErrorIs(t, e.Run(&Top{XType: Type(dtype.Bool)}, 0, 0), device.CodeUnsupported)
}
