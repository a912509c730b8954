package weights

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"ferrum_mem/core/weights/header"
)

// plainArray is the oracle: a shape, and the stored place of each element in the order of the
// shape. Every transformation moves the elements.
type plainArray struct {
	shape  []uint64
	places []uint64
}

func indexOf(shape []uint64, flat uint64) []uint64 {
	index := make([]uint64, len(shape))
	for i := len(shape) - 1; i >= 0; i-- {
		index[i] = flat % shape[i]
		flat /= shape[i]
	}
	return index
}

func flatOf(shape, index []uint64) (flat uint64) {
	for i := range shape {
		flat = flat*shape[i] + index[i]
	}
	return flat
}

// picked returns an array of a shape. from returns, for each index, the index in the old array.
func (a plainArray) picked(shape []uint64, from func(index []uint64) []uint64) plainArray {
	all := uint64(1)
	for _, side := range shape {
		all *= side
	}
	out := plainArray{shape: shape}
	for flat := range all {
		out.places = append(out.places, a.places[flatOf(a.shape, from(indexOf(shape, flat)))])
	}
	return out
}

func (a plainArray) transposed(x, y int) plainArray {
	shape := slices.Clone(a.shape)
	shape[x], shape[y] = shape[y], shape[x]
	return a.picked(shape, func(index []uint64) []uint64 {
		index[x], index[y] = index[y], index[x]
		return index
	})
}

func (a plainArray) sliced(dimension int, start, end uint64) plainArray {
	shape := slices.Clone(a.shape)
	shape[dimension] = end - start
	return a.picked(shape, func(index []uint64) []uint64 {
		index[dimension] += start
		return index
	})
}

func drawShape(t *rapid.T, label string) []uint64 {
	return rapid.SliceOfN(rapid.Uint64Range(0, 5), 0, 4).Draw(t, label)
}

// factored draws a shape with a given number of elements.
func factored(t *rapid.T, elements uint64) (shape []uint64) {
	for elements > 1 {
		var factors []uint64
		for f := uint64(1); f <= elements; f++ {
			if elements%f == 0 {
				factors = append(factors, f)
			}
		}
		side := rapid.SampledFrom(factors).Draw(t, "side")
		shape = append(shape, side)
		elements /= side
		if len(shape) > 5 {
			return append(shape, elements)
		}
	}
	if elements == 0 {
		return []uint64{3, 0}
	}
	return shape
}

// Views return the same elements as the oracle, which moves all of them.
func TestViewsAreTransformations(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		shape := drawShape(t, "shape")
		stored := header.Tensor{Shape: shape}
		if rapid.Bool().Draw(t, "stored in another order") {
			stored.Strides = make([]uint64, len(shape))
			step := uint64(1)
			for i, side := range shape {
				stored.Strides[i] = step
				step *= max(side, 1)
			}
		}
		v := viewOf(&stored)
		a := plainArray{shape: []uint64{}}
		a.shape = slices.Clone(shape)
		for flat := range v.elements() {
			place := uint64(0)
			for i, index := range indexOf(shape, flat) {
				place += index * v.levels[0].strides[i]
			}
			a.places = append(a.places, place)
		}
		for range rapid.IntRange(0, 6).Draw(t, "transformations") {
			n := len(a.shape)
			switch kind := rapid.IntRange(0, 2).Draw(t, "kind"); {
			case kind == 0 && n > 0:
				x, y := rapid.IntRange(0, n-1).Draw(t, "x"), rapid.IntRange(0, n-1).Draw(t, "y")
				v.transpose(x, y)
				a = a.transposed(x, y)
			case kind == 1 && n > 0:
				dimension := rapid.IntRange(0, n-1).Draw(t, "dimension")
				start := rapid.Uint64Range(0, a.shape[dimension]).Draw(t, "start")
				end := rapid.Uint64Range(start, a.shape[dimension]).Draw(t, "end")
				v.slice(dimension, start, end)
				a = a.sliced(dimension, start, end)
			case kind == 2:
				to := factored(t, uint64(len(a.places)))
				v.reshape(to)
				a = plainArray{shape: to, places: a.places}
			}
		}
		require.Equal(t, append([]uint64{}, a.shape...), append([]uint64{}, v.shape()...))
		first := rapid.Uint64Range(0, v.elements()).Draw(t, "first")
		count := rapid.Uint64Range(0, v.elements()-first).Draw(t, "count")
		var places []uint64
		require.NoError(t, v.runs(first, count, func(r run) error {
			for i := range r.count {
				places = append(places, r.first+i*r.step)
			}
			return nil
		}))
		require.Equal(t, append([]uint64{}, a.places[first:first+count]...), append([]uint64{}, places...))
		if place, is := v.adjacent(); is {
			for i, of := range a.places {
				require.Equal(t, place+uint64(i), of)
			}
		}
	})
}

// A slice of rows is one run. A transposed matrix has one run for each row of the result.
func TestRunsAreLong(t *testing.T) {
	count := func(v *view) (n int) {
		require.NoError(t, v.runs(0, v.elements(), func(run) error { n++; return nil }))
		return n
	}
	adjacent := func(v *view, place uint64) {
		t.Helper()
		require.Equal(t, 1, count(v))
		from, is := v.adjacent()
		require.True(t, is)
		require.Equal(t, place, from)
	}
	rows := viewOf(&header.Tensor{Shape: []uint64{64, 8, 16}})
	adjacent(rows, 0)
	rows.slice(0, 16, 32)
	adjacent(rows, 2048)
	rows.reshape([]uint64{4, 512})
	adjacent(rows, 2048)
	rows.slice(1, 0, 128)
	require.Equal(t, 4, count(rows))
	_, is := rows.adjacent()
	require.False(t, is)
	turned := viewOf(&header.Tensor{Shape: []uint64{64, 32}})
	turned.transpose(0, 1)
	require.Equal(t, 32, count(turned))
	turned.reshape([]uint64{2048})
	require.Len(t, turned.levels, 2)
	require.Equal(t, 32, count(turned))
}
