package strided

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"ferrum_mem/core/device"
)

// indices returns all indices of a shape, in its order.
func indices(shape []int64) [][]int64 {
	all := [][]int64{{}}
	for _, length := range shape {
		var longer [][]int64
		for _, index := range all {
			for i := range length {
				longer = append(longer, append(slices.Clone(index), i))
			}
		}
		all = longer
	}
	return all
}

// place is the place of an element by the definition of strides.
func place(l *Layout, index []int64) int64 {
	at := l.First()
	for i, n := range index {
		at += n * l.Strides()[i]
	}
	return at
}

// places returns the place of each element in the order of the shape.
func places(l *Layout) []int64 {
	all := []int64{}
	for _, index := range indices(l.Shape()) {
		all = append(all, place(l, index))
	}
	return all
}

func drawShape(t *rapid.T, label string) []int64 {
	return rapid.SliceOfN(rapid.Int64Range(0, 4), 0, 4).Draw(t, label)
}

// drawLayout draws a contiguous layout and takes random views of it.
func drawLayout(t *rapid.T) Layout {
	l, err := Contiguous(drawShape(t, "shape")...)
	require.NoError(t, err)
	for range rapid.IntRange(0, 4).Draw(t, "views") {
		n := len(l.Shape())
		switch kind := rapid.IntRange(0, 3).Draw(t, "view"); {
		case n == 0:
		case kind == 0:
			axis := rapid.IntRange(-n, n-1).Draw(t, "axis")
			at, err := l.Axis(axis)
			require.NoError(t, err)
			start := rapid.Int64Range(0, l.Shape()[at]).Draw(t, "start")
			count := rapid.Int64Range(0, l.Shape()[at]-start).Draw(t, "count")
			l, err = l.Narrow(axis, start, count)
			require.NoError(t, err)
		case kind == 1:
			order := make([]int, n)
			for i := range order {
				order[i] = i
			}
			l, err = l.Permute(rapid.Permutation(order).Draw(t, "order")...)
			require.NoError(t, err)
		case kind == 2:
			l, err = l.Transpose(rapid.IntRange(0, n-1).Draw(t, "a"), rapid.IntRange(0, n-1).Draw(t, "b"))
			require.NoError(t, err)
		default:
			l, err = l.Expand(append([]int64{rapid.Int64Range(1, 2).Draw(t, "times")}, l.Shape()...)...)
			require.NoError(t, err)
		}
	}
	return l
}

func TestViewsAgainstTheirDefinitions(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := drawLayout(t)
		n := len(l.Shape())
		if n == 0 {
			return
		}
		a, b := rapid.IntRange(0, n-1).Draw(t, "a"), rapid.IntRange(0, n-1).Draw(t, "b")
		exchanged, err := l.Transpose(a, b-n)
		require.NoError(t, err)
		for _, index := range indices(exchanged.Shape()) {
			old := slices.Clone(index)
			old[a], old[b] = old[b], old[a]
			require.Equal(t, place(&l, old), place(&exchanged, index))
		}
		start := rapid.Int64Range(0, l.Shape()[a]).Draw(t, "start")
		part, err := l.Narrow(a, start, l.Shape()[a]-start)
		require.NoError(t, err)
		for _, index := range indices(part.Shape()) {
			old := slices.Clone(index)
			old[a] += start
			require.Equal(t, place(&l, old), place(&part, index))
		}
		if start == l.Shape()[a] {
			return
		}
		step := rapid.SampledFrom([]int64{-3, -2, -1, 1, 2, 3}).Draw(t, "step")
		room := l.Shape()[a] - 1 - start
		if step < 0 {
			room = start
		}
		count := room/max(step, -step) + 1
		sliced, err := l.Slice(a, start, count, step)
		require.NoError(t, err)
		for _, index := range indices(sliced.Shape()) {
			old := slices.Clone(index)
			old[a] = start + index[a]*step
			require.Equal(t, place(&l, old), place(&sliced, index))
		}
		_, err = l.Slice(a, start, count+1, step)
		require.Equal(t, device.CodeInvalidOffset, device.CodeOf(err), "one more")
	})
}

func TestReshapeKeepsTheOrder(t *testing.T) {
	fitted := 0
	rapid.Check(t, func(t *rapid.T) {
		l := drawLayout(t)
		shape := drawShape(t, "to")
		other, err := Contiguous(shape...)
		require.NoError(t, err)
		got, fits, err := l.Reshape(shape...)
		if other.Elements() != l.Elements() {
			require.Equal(t, device.CodeInvalidArgument, device.CodeOf(err))
			return
		}
		require.NoError(t, err)
		if l.IsContiguous() {
			require.True(t, fits, "%v as %v", l, shape)
		}
		if fits {
			fitted++
			require.Equal(t, places(&l), places(&got), "%v as %v", l, shape)
		}
	})
	require.NotZero(t, fitted)
}

// A layout that does not fit one shape must be one that no strides can express: the places of
// the elements decide.
func TestReshapeRefusesOnlyWhatStridesCannotExpress(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := drawLayout(t)
		elements := l.Elements()
		if elements == 0 {
			return
		}
		shape := []int64{}
		for rest := elements; rest > 1; {
			length := rapid.SampledFrom(divisors(rest)).Draw(t, "length")
			shape, rest = append(shape, length), rest/length
		}
		if len(shape) > MostDimensions {
			return
		}
		_, fits, err := l.Reshape(shape...)
		require.NoError(t, err)
		require.Equal(t, isExpressible(places(&l), shape), fits, "%v as %v", l, shape)
	})
}

func divisors(n int64) (all []int64) {
	for d := int64(2); d <= n; d++ {
		if n%d == 0 {
			all = append(all, d)
		}
	}
	return all
}

// isExpressible states whether strides lead to these places in the order of the shape.
func isExpressible(places, shape []int64) bool {
	rows := RowMajor(shape)
	l := Layout{dimensions: len(shape), first: places[0]}
	for i, length := range shape {
		l.shape[i] = length
		if length > 1 {
			l.strides[i] = places[rows[i]] - places[0]
		}
	}
	for n, index := range indices(shape) {
		if place(&l, index) != places[n] {
			return false
		}
	}
	return true
}

func TestExpandRepeats(t *testing.T) {
	l, err := Contiguous(3, 1, 2)
	require.NoError(t, err)
	wide, err := l.Expand(2, 3, 4, 2)
	require.NoError(t, err)
	for _, index := range indices(wide.Shape()) {
		require.Equal(t, place(&l, []int64{index[1], 0, index[3]}), place(&wide, index))
	}
	require.False(t, wide.IsInjective())
	for _, shape := range [][]int64{{3, 4}, {2, 4, 2}, {3, 1, 3}, {}} {
		_, err := l.Expand(shape...)
		require.Equal(t, device.CodeInvalidArgument, device.CodeOf(err))
		require.ErrorContains(t, err, "[3, 1, 2] does not expand to "+Text(shape))
	}
	none, err := Contiguous(3, 0)
	require.NoError(t, err)
	_, err = none.Expand(2, 3, 0)
	require.NoError(t, err)
}

func TestPropertiesAgainstThePlaces(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := drawLayout(t)
		all := places(&l)
		require.EqualValues(t, len(all), l.Elements())
		lowest, highest, ok := l.Span()
		require.Equal(t, len(all) > 0, ok)
		if !ok {
			return
		}
		require.Equal(t, slices.Min(all), lowest)
		require.Equal(t, slices.Max(all), highest)
		inOrder := true
		for i, at := range all {
			inOrder = inOrder && at == all[0]+int64(i)
		}
		require.Equal(t, inOrder, l.IsContiguous(), "%v", l)
		distinct := slices.Compact(slices.Sorted(slices.Values(all)))
		require.Equal(t, len(distinct) == len(all), l.IsInjective(), "%v", l)
	})
}

func TestPairsVisitEachElementOnceInOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		from := drawLayout(t)
		n := len(from.Shape())
		strides := rapid.SliceOfN(rapid.Int64Range(-9, 9), n, n).Draw(t, "strides")
		to, err := Strided(from.Shape(), strides, rapid.Int64Range(-5, 5).Draw(t, "first"))
		require.NoError(t, err)
		a, b := []int64{}, []int64{}
		require.NoError(t, Pairs(&from, &to, func(r Run) error {
			for i := range r.Count {
				a, b = append(a, r.From+i*r.FromStep), append(b, r.To+i*r.ToStep)
			}
			return nil
		}))
		require.Equal(t, places(&from), a)
		require.Equal(t, places(&to), b)
	})
}

func TestPairsJoinDimensions(t *testing.T) {
	runs := func(from, to Layout) (count int) {
		require.NoError(t, Pairs(&from, &to, func(Run) error { count++; return nil }))
		return count
	}
	l, err := Contiguous(4, 3, 5)
	require.NoError(t, err)
	assert.Equal(t, 1, runs(l, l))
	part, err := l.Narrow(0, 1, 2)
	require.NoError(t, err)
	two, err := Contiguous(2, 3, 5)
	require.NoError(t, err)
	assert.Equal(t, 1, runs(part, two))
	turned, err := l.Permute(2, 0, 1)
	require.NoError(t, err)
	five, err := Contiguous(5, 4, 3)
	require.NoError(t, err)
	assert.Equal(t, 5, runs(turned, five), "the two inner dimensions are one")
	failed := device.Errorf(device.CodeCancelled, "test", "enough")
	assert.Equal(t, error(failed), Pairs(&turned, &five, func(Run) error { return failed }))
}

func TestWrongShapesAndStrides(t *testing.T) {
	cases := []struct {
		name           string
		shape, strides []int64
		first          int64
		code           device.Code
		text           string
	}{
		{"nine dimensions", make([]int64, 9), make([]int64, 9), 0, device.CodeInvalidArgument, "9 dimensions; a tensor has at most 8"},
		{"a negative length", []int64{2, -1}, []int64{1, 1}, 0, device.CodeInvalidArgument, "dimension 1 of [2, -1] is negative"},
		{"too many elements", []int64{math.MaxInt64, 2}, []int64{1, 1}, 0, device.CodeOverflow, "[9223372036854775807, 2] has more than 2^63"},
		{"too many elements beside a zero", []int64{math.MaxInt64, 0, 2}, []int64{1, 1, 1}, 0, device.CodeOverflow, "more than 2^63"},
		{"too few strides", []int64{2, 3}, []int64{1}, 0, device.CodeInvalidArgument, "1 stride given for the 2 dimensions of the shape [2, 3]"},
		{"a stride too long", []int64{3}, []int64{math.MaxInt64 / 2}, 2, device.CodeOverflow, "dimension 0 of [3]"},
		{"a stride too long downwards", []int64{3}, []int64{math.MinInt64 / 2}, -1, device.CodeOverflow, "dimension 0 of [3]"},
		{"the longest stride", []int64{2}, []int64{math.MinInt64}, 0, device.CodeOverflow, "dimension 0 of [2]"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			_, err := Strided(c.shape, c.strides, c.first)
			require.Equal(t, c.code, device.CodeOf(err))
			require.ErrorContains(t, err, c.text)
		})
	}
	far, err := Strided([]int64{0, 3}, []int64{math.MaxInt64, math.MinInt64}, math.MaxInt64)
	require.NoError(t, err, "a layout without elements has no place")
	require.True(t, far.IsInjective())
	edge, err := Strided([]int64{2, 2}, []int64{math.MaxInt64, math.MinInt64 + 1}, 0)
	require.NoError(t, err)
	require.False(t, edge.IsInjective())
}

func TestWrongAxes(t *testing.T) {
	l, err := Contiguous(2, 3)
	require.NoError(t, err)
	for _, axis := range []int{2, -3} {
		_, err := l.Narrow(axis, 0, 1)
		require.Equal(t, device.CodeInvalidArgument, device.CodeOf(err))
		_, err = l.Transpose(0, axis)
		require.ErrorContains(t, err, "a shape of [2, 3]")
		_, err = l.Transpose(axis, 0)
		require.Error(t, err)
	}
	for _, axes := range [][]int{{0}, {0, 0}, {0, 2}, {0, 1, 2}, {0, -2}} {
		_, err := l.Permute(axes...)
		require.ErrorContains(t, err, "each dimension must be named once")
	}
	for _, part := range [][2]int64{{-1, 1}, {0, 4}, {4, 0}, {2, 2}, {1, -1}, {math.MaxInt64, 1}, {1, math.MaxInt64}} {
		_, err := l.Narrow(1, part[0], part[1])
		require.Equal(t, device.CodeInvalidOffset, device.CodeOf(err), "%v", part)
		require.ErrorContains(t, err, "dimension 1 of [2, 3]")
	}
}

func TestText(t *testing.T) {
	l, err := Contiguous(2, 3)
	require.NoError(t, err)
	assert.Equal(t, "[2, 3]", l.String())
	turned, err := l.Transpose(0, 1)
	require.NoError(t, err)
	assert.Equal(t, "[3, 2] with strides [1, 3] from 0 on", turned.String())
	assert.Equal(t, "[]", Layout{}.String())
	assert.EqualValues(t, 1, (&Layout{}).Elements())
}

func TestFromZeroKeepsShapeAndStrides(t *testing.T) {
	whole, err := Contiguous(4, 6)
	require.NoError(t, err)
	upper, err := whole.Narrow(0, 1, 2)
	require.NoError(t, err)
	lower, err := whole.Narrow(0, 2, 2)
	require.NoError(t, err)
	require.NotEqual(t, upper, lower)
	require.Equal(t, upper.FromZero(), lower.FromZero())
	moved := lower.FromZero()
	require.Zero(t, moved.First())
	require.Equal(t, lower.Shape(), moved.Shape())
	require.Equal(t, lower.Strides(), moved.Strides())
}
