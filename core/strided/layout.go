package strided

import (
	"fmt"
	"math"
	"math/bits"
	"strings"

	"ferrum_mem/core/device"
)

// MostDimensions is the largest number of dimensions of a layout.
const MostDimensions = 8

const op = "shape"

// Layout is a shape with strides and the place of its first element. The zero value is the
// layout of one element at place 0, without dimensions.
type Layout struct {
	dimensions int
	shape      [MostDimensions]int64
	strides    [MostDimensions]int64
	first      int64
}

// Contiguous returns the layout of a shape whose elements lie in its order without gaps, from
// place 0 on. Errors: CodeInvalidArgument for too many dimensions or a negative length;
// CodeOverflow.
func Contiguous(shape ...int64) (Layout, error) {
	l, err := withShape(shape)
	if err != nil {
		return Layout{}, err
	}
	setRowMajor(l.strides[:l.dimensions], l.Shape())
	return l, nil
}

// Strided returns a layout with these strides, whose element with the index 0 in each
// dimension lies at the place first. Errors: as of Contiguous; CodeInvalidArgument if shape
// and strides have different lengths.
func Strided(shape, strides []int64, first int64) (Layout, error) {
	l, err := withShape(shape)
	if err != nil {
		return Layout{}, err
	}
	if len(strides) != len(shape) {
		return Layout{}, device.Errorf(device.CodeInvalidArgument, op, "%s given for the %s of the shape %s", device.Count(len(strides), "stride"), device.Count(len(shape), "dimension"), Text(shape))
	}
	copy(l.strides[:], strides)
	l.first = first
	if _, _, err := l.span(); err != nil {
		return Layout{}, err
	}
	return l, nil
}

// withShape checks the shape and the number of its elements.
func withShape(shape []int64) (Layout, error) {
	if len(shape) > MostDimensions {
		return Layout{}, device.Errorf(device.CodeInvalidArgument, op, "%d dimensions; a tensor has at most %d", len(shape), MostDimensions)
	}
	l := Layout{dimensions: len(shape)}
	for i, length := range shape {
		if length < 0 {
			return Layout{}, device.Errorf(device.CodeInvalidArgument, op, "the length of dimension %d of %s is negative", i, Text(shape))
		}
	}
	if _, fits := Count(shape); !fits {
		return Layout{}, device.Errorf(device.CodeOverflow, op, "a shape of %s has more than 2^63 elements", Text(shape))
	}
	copy(l.shape[:], shape)
	return l, nil
}

// Count returns the number of elements of a shape without negative lengths. The product of the
// lengths other than 0 must be below 2^63: then strides do not overflow either.
func Count[N int64 | uint64](shape []N) (elements uint64, fits bool) {
	product, isEmpty := uint64(1), false
	for _, length := range shape {
		if length == 0 {
			isEmpty = true
			continue
		}
		high, low := bits.Mul64(product, uint64(length))
		if high != 0 || low > math.MaxInt64 {
			return 0, false
		}
		product = low
	}
	if isEmpty {
		return 0, true
	}
	return product, true
}

// setRowMajor sets the strides of elements that lie in the order of the shape without gaps.
func setRowMajor[N int64 | uint64](strides, shape []N) {
	step := N(1)
	for i := len(shape) - 1; i >= 0; i-- {
		strides[i] = step
		step *= max(shape[i], 1)
	}
}

// Shape returns the lengths of the dimensions. The slice belongs to the layout.
func (l *Layout) Shape() []int64 { return l.shape[:l.dimensions] }

// FromZero returns the layout whose first element has the place 0. Two layouts that differ only in
// their first place become equal.
func (l Layout) FromZero() Layout {
	l.first = 0
	return l
}

// Strides returns the distance from one index to the next, for each dimension. The slice
// belongs to the layout.
func (l *Layout) Strides() []int64 { return l.strides[:l.dimensions] }

// First returns the place of the element with the index 0 in each dimension.
func (l *Layout) First() int64 { return l.first }

// Elements returns the number of elements.
func (l *Layout) Elements() int64 {
	product := int64(1)
	for _, length := range l.Shape() {
		product *= length
	}
	return product
}

// Span returns the lowest and the highest place of an element. A layout without elements has
// none: ok is false.
func (l *Layout) Span() (lowest, highest int64, ok bool) {
	if l.Elements() == 0 {
		return 0, 0, false
	}
	lowest, highest, _ = l.span() // checked when the layout was made
	return lowest, highest, true
}

func (l *Layout) span() (lowest, highest int64, err error) {
	lowest, highest = l.first, l.first
	if l.Elements() == 0 {
		return lowest, highest, nil
	}
	for i, length := range l.Shape() {
		reach, ok := times(length-1, l.strides[i])
		if reach > 0 {
			ok = ok && highest <= math.MaxInt64-reach
			highest += reach
		} else {
			ok = ok && lowest >= math.MinInt64-reach
			lowest += reach
		}
		if !ok {
			return 0, 0, device.Errorf(device.CodeOverflow, op, "the stride of %d of dimension %d of %s leads to a place beyond 64 bits", l.strides[i], i, Text(l.Shape()))
		}
	}
	return lowest, highest, nil
}

// times multiplies a number that is not negative with a stride.
func times(count, stride int64) (int64, bool) {
	high, low := bits.Mul64(uint64(count), abs(stride))
	if high != 0 || low > math.MaxInt64 {
		return 0, false
	}
	if stride < 0 {
		return -int64(low), true
	}
	return int64(low), true
}

// IsContiguous states whether the elements lie in the order of the shape without gaps. The
// strides of dimensions with one index do not matter, and an empty layout is contiguous.
func (l *Layout) IsContiguous() bool {
	if l.Elements() == 0 {
		return true
	}
	step := int64(1)
	for i := l.dimensions - 1; i >= 0; i-- {
		if l.shape[i] == 1 {
			continue
		}
		if l.strides[i] != step {
			return false
		}
		step *= l.shape[i]
	}
	return true
}

// IsInjective states whether it is certain that no two indices have the same place, so that
// the layout can be written to. It is certain if each stride, from the smallest on, is longer
// than what the dimensions with smaller strides reach; views of contiguous tensors that do
// not repeat elements are of this kind.
func (l *Layout) IsInjective() bool {
	if l.Elements() == 0 {
		return true
	}
	var taken [MostDimensions]bool
	reach := uint64(0)
	for range l.dimensions {
		next := -1
		for i := range l.dimensions {
			if !taken[i] && (next < 0 || abs(l.strides[i]) < abs(l.strides[next])) {
				next = i
			}
		}
		taken[next] = true
		if l.shape[next] == 1 {
			continue
		}
		if abs(l.strides[next]) <= reach {
			return false
		}
		reach += uint64(l.shape[next]-1) * abs(l.strides[next])
	}
	return true
}

func abs(stride int64) uint64 {
	if stride < 0 {
		return -uint64(stride)
	}
	return uint64(stride)
}

// String formats the layout for an error: "[2, 3] with strides [3, 1] from 0 on".
func (l Layout) String() string {
	if l.IsContiguous() && l.first == 0 {
		return Text(l.Shape())
	}
	return fmt.Sprintf("%s with strides %s from %d on", Text(l.Shape()), Text(l.Strides()), l.first)
}

// Text formats a shape for an error: "[4096, 1024]".
func Text[N int64 | uint64](shape []N) string {
	return strings.ReplaceAll(fmt.Sprint(shape), " ", ", ")
}
