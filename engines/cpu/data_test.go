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

// randomDims returns up to most dimensions with few elements in all.
func randomDims(r *rand.Rand, most int) []int64 {
	var dims []int64
	for range r.IntN(most + 1) {
		dims = append(dims, pick[int64](r, 0, 1, 1, 2, 3, 5, 16, 31, 33, 70))
	}
	for elementsOf(dims) > 20_000 {
		dims = dims[1:]
	}
	return dims
}

func TestCopiesOfAnyStridesAndSizes(t *testing.T) {
	onEachSet(t, func(t *testing.T, e *Engine, r *rand.Rand) {
		for range requests(200) {
			t.Run("", func(t *testing.T) {
				kind := pick(r, dtype.U8, dtype.I16, dtype.I32, dtype.F64, dtype.C64)
				dims := randomDims(r, 4)
				x, y := place(t, r, kind, true, dims...), placeOutput(t, r, kind, dims...)
				q := &CopyElements{Bytes: x.elementBytes(), Rank: int64(len(dims)), X: x.address(), Y: y.address()}
				copy(q.Dims[:], dims)
				copy(q.XStrides[:], x.strides)
				copy(q.YStrides[:], y.strides)
				for i := range x.memory {
					x.memory[i] = byte(r.IntN(256))
				}
				run(t, e, q)
				var places []int64
				x.each(func(_ []int64, element int64) { places = append(places, element) })
				i := 0
				y.each(func(_ []int64, element int64) {
					size := q.Bytes
					require.Equal(t, x.memory[places[i]*size:(places[i]+1)*size], y.memory[element*size:(element+1)*size])
					i++
				})
				y.requireUntouched(t)
			})
		}
	})
}

// integers makes adjacent integers in a region.
func integers(t *testing.T, isShort bool, values []int64) uint64 {
	var all []byte
	for _, v := range values {
		if isShort {
			all = binary.LittleEndian.AppendUint32(all, uint32(v))
		} else {
			all = binary.LittleEndian.AppendUint64(all, uint64(v))
		}
	}
	memory := region(t, int64(len(all)))
	copy(memory, all)
	return addressIn(memory)
}

func TestGather(t *testing.T) {
	onEachSet(t, func(t *testing.T, e *Engine, r *rand.Rand) {
		for range requests(60) {
			t.Run("", func(t *testing.T) {
				outer, length, run1 := pick[int64](r, 0, 1, 3), pick[int64](r, 1, 5, 100), pick[int64](r, 0, 1, 7, 384, 3000)
				count := pick[int64](r, 0, 1, 4, 50)
				x := place(t, r, dtype.U8, false, outer, length, run1)
				for i := range x.memory {
					x.memory[i] = byte(r.IntN(256))
				}
				y := place(t, r, dtype.U8, false, outer, count, run1)
				indices := make([]int64, count)
				for i := range indices {
					indices[i] = r.Int64N(2*length) - length
				}
				isShort := r.IntN(2) == 0
				q := &Gather{
					Rank: 1, Dims: [Rank]int64{outer}, Count: count, Length: length, RunBytes: run1,
					X: x.address(), XStrides: [Rank]int64{x.strides[0]}, XIndex: x.strides[1], Indices: integers(t, isShort, indices),
					Y: y.address(), YStrides: [Rank]int64{y.strides[0]}, YIndex: y.strides[1],
				}
				if run1%7 == 0 && r.IntN(2) == 0 { // in runs of a byte
					q.Rank, q.Dims[1], q.XStrides[1], q.YStrides[1], q.RunBytes = 2, run1, 1, 1, 1
				}
				if isShort {
					q.IsShort = 1
				}
				run(t, e, q)
				y.each(func(at []int64, element int64) {
					index := (indices[at[1]] + length) % length
					want := x.memory[x.origin+at[0]*x.strides[0]+index*x.strides[1]+at[2]]
					if want != y.memory[element] {
						require.Fail(t, "a wrong byte", "at %v", at)
					}
				})
				y.requireUntouched(t)
				if count > 0 {
					indices[count-1] = pick(r, length, -length-1)
					q.Indices = integers(t, isShort, indices)
					err := e.Run(q, 0, 0)
					require.ErrorIs(t, err, device.CodeInvalidArgument)
					require.ErrorContains(t, err, "out of the")
				}
			})
		}
	})
}

func TestReductionsAgreeWithF64(t *testing.T) {
	onEachSet(t, func(t *testing.T, e *Engine, r *rand.Rand) {
		for round := range requests(200) {
			t.Run("", func(t *testing.T) { checkReduce(t, e, r, round%5 == 0) })
		}
	})
}

func checkReduce(t *testing.T, e *Engine, r *rand.Rand, special bool) {
	dims := randomDims(r, 4)
	if len(dims) > 0 && r.IntN(5) == 0 {
		dims[r.IntN(len(dims))] = pick[int64](r, 130, 600, 1100)
		for elementsOf(dims) > 20_000 {
			dims = dims[1:]
		}
	}
	x := place(t, r, pick(r, dtype.F32, dtype.F32, dtype.F16, dtype.BF16, dtype.I8), true, dims...).fill(numbers(r, special))
	q := &Reduce{Operation: Reduction(r.IntN(int(reductions))), X: x.address(), XType: Type(x.kind)}
	isReduced := make([]bool, len(dims))
	var kept []int64
	for d, n := range dims {
		if isReduced[d] = r.IntN(2) == 0; isReduced[d] {
			q.Reduced[q.ReducedRank], q.ReducedStrides[q.ReducedRank] = n, x.strides[d]
			q.ReducedRank++
		} else {
			q.Dims[q.Rank], q.XStrides[q.Rank] = n, x.strides[d]
			q.Rank++
			kept = append(kept, n)
		}
	}
	y := placeOutput(t, r, pick(r, dtype.F32, dtype.F32, dtype.F16, dtype.BF16), kept...)
	q.Y, q.YType = y.address(), Type(y.kind)
	copy(q.YStrides[:], y.strides)
	run(t, e, q)
	type total struct{ sum, size, largest, count float64 }
	totals := map[int64]*total{}
	y.each(func(_ []int64, element int64) { totals[element] = &total{largest: math.Inf(-1)} })
	x.each(func(index []int64, element int64) {
		at, k := y.origin, 0
		for d, i := range index {
			if !isReduced[d] {
				at += i * y.strides[k]
				k++
			}
		}
		v, one := x.get(element), totals[at]
		one.sum, one.size, one.count = one.sum+v, one.size+math.Abs(v), one.count+1
		if v > one.largest || math.IsNaN(v) { // math.Max of infinity and NaN is infinity
			one.largest = v
		}
	})
	for at, one := range totals {
		want := one.sum
		switch q.Operation {
		case ReduceMean:
			want /= one.count
			one.size /= max(1, one.count)
		case ReduceMax:
			want = one.largest
		}
		requireNear(t, y.kind, want, y.get(at), one.size, []any{q.Operation, dims, isReduced})
	}
	y.requireUntouched(t)
}

func TestRotaryAgreesWithF64(t *testing.T) {
	onEachSet(t, func(t *testing.T, e *Engine, r *rand.Rand) {
		for range requests(120) {
			t.Run("", func(t *testing.T) { checkRotary(t, e, r) })
		}
	})
}

func checkRotary(t *testing.T, e *Engine, r *rand.Rand) {
	kinds := []dtype.DType{dtype.F32, dtype.F32, dtype.F16, dtype.BF16}
	q := &Rotary{
		Batch: pick[int64](r, 0, 1, 2), Heads: pick[int64](r, 1, 3), Rows: pick[int64](r, 0, 1, 4, 9),
		Depth: pick[int64](r, 2, 6, 34, 64, 300), Most: 20, IsInterleaved: r.Int64N(2),
	}
	q.Rotated = pick(r, 0, 2, q.Depth, q.Depth/4*2)
	value := numbers(r, false)
	x := place(t, r, pick(r, kinds...), false, q.Batch, q.Heads, q.Rows, q.Depth).fill(value)
	y := place(t, r, pick(r, kinds...), false, q.Batch, q.Heads, q.Rows, q.Depth)
	if r.IntN(4) == 0 {
		x = y.fill(value)
	}
	q.X, q.XType, q.XBatch, q.XHead, q.XRow = x.address(), Type(x.kind), x.strides[0], x.strides[1], x.strides[2]
	q.Y, q.YType, q.YBatch, q.YHead, q.YRow = y.address(), Type(y.kind), y.strides[0], y.strides[1], y.strides[2]
	positions := make([]int64, q.Batch*q.Rows)
	angles := []int64{q.Batch, q.Rows, q.Rotated / 2}
	if r.IntN(2) == 0 {
		angles = []int64{1, q.Most, q.Rotated / 2}
		for i := range positions {
			positions[i] = r.Int64N(q.Most)
		}
		q.Positions = integers(t, false, positions)
	}
	kind, same := pick(r, kinds...), r.Uint64()
	cosines := place(t, rand.New(rand.NewPCG(same, 1)), kind, false, angles...).fill(value)
	sines := place(t, rand.New(rand.NewPCG(same, 1)), kind, false, angles...).fill(value)
	q.Cosines, q.Sines, q.AngleType, q.AngleBatch, q.AngleRow = cosines.address(), sines.address(), Type(kind), cosines.strides[0], cosines.strides[1]
	before := x.values()
	run(t, e, q)
	got := y.values()
	half := q.Rotated / 2
	for row := range q.Batch * q.Heads * q.Rows {
		b, s := row/q.Heads/q.Rows, row%q.Rows
		if q.Positions != 0 {
			b, s = 0, positions[b*q.Rows+s]
		}
		from, to := before[row*q.Depth:(row+1)*q.Depth], got[row*q.Depth:(row+1)*q.Depth]
		for i := range half {
			one, two := i, i+half
			if q.IsInterleaved == 1 {
				one, two = 2*i, 2*i+1
			}
			c, n := cosines.element(b, s, i), sines.element(b, s, i)
			requireNear(t, y.kind, c*from[one]-n*from[two], to[one], 1, i)
			requireNear(t, y.kind, n*from[one]+c*from[two], to[two], 1, i)
		}
		for i := q.Rotated; i < q.Depth; i++ {
			requireNear(t, y.kind, from[i], to[i], 1, i)
		}
	}
	y.requireUntouched(t)
	if q.Positions != 0 && len(positions) > 0 {
		positions[len(positions)-1] = pick(r, -1, q.Most)
		q.Positions = integers(t, false, positions)
		require.ErrorContains(t, e.Run(q, 0, 0), "out of the 20 positions")
	}
}

func TestRejectedMoves(t *testing.T) {
	e, err := Open(Config{Threads: 1})
	require.NoError(t, err)
	defer e.Close()
	assert.ErrorIs(t, e.Run(&CopyElements{Bytes: 3}, 0, 0), device.CodeUnsupported)
	assert.ErrorIs(t, e.Run(&CopyElements{Bytes: 4, Rank: -1}, 0, 0), device.CodeInvalidArgument)
	assert.ErrorIs(t, e.Run(&Gather{Count: -1}, 0, 0), device.CodeInvalidArgument)
	assert.ErrorIs(t, e.Run(&Reduce{Operation: reductions}, 0, 0), device.CodeInvalidArgument)
	assert.ErrorIs(t, e.Run(&Reduce{ReducedRank: 9}, 0, 0), device.CodeInvalidArgument)
	assert.ErrorIs(t, e.Run(&Reduce{XType: Type(dtype.F64)}, 0, 0), device.CodeUnsupported)
	assert.ErrorIs(t, e.Run(&Rotary{Depth: 4, Rotated: 3}, 0, 0), device.CodeInvalidArgument)
	assert.ErrorIs(t, e.Run(&Rotary{Depth: 4, Rotated: 6}, 0, 0), device.CodeInvalidArgument)
	assert.ErrorIs(t, e.Run(&Rotary{Batch: -1}, 0, 0), device.CodeInvalidArgument)
	assert.ErrorIs(t, e.Run(&Rotary{YType: Type(dtype.I8)}, 0, 0), device.CodeUnsupported)
}
