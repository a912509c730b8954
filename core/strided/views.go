package strided

import (
	"fmt"

	"ferrum_mem/core/device"
)

// Axis returns the number of a dimension, where -1 is the last one. Errors:
// CodeInvalidArgument.
func (l *Layout) Axis(axis int) (int, error) {
	at := axis
	if at < 0 {
		at += l.dimensions
	}
	if at < 0 || at >= l.dimensions {
		return 0, device.Errorf(device.CodeInvalidArgument, op, "axis %d is out of range: a shape of %s has %d dimensions", axis, Text(l.Shape()), l.dimensions)
	}
	return at, nil
}

// Narrow keeps count indices of a dimension, from start on. Errors: CodeInvalidArgument for
// the axis; CodeInvalidOffset if the dimension has fewer.
func (l Layout) Narrow(axis int, start, count int64) (Layout, error) {
	return l.Slice(axis, start, count, 1)
}

// Slice keeps the count indices start, start+step and so on of a dimension. The step may be negative. Errors:
// CodeInvalidArgument for the axis and a step of 0; CodeInvalidOffset if the dimension does not have them.
func (l Layout) Slice(axis int, start, count, step int64) (Layout, error) {
	at, err := l.Axis(axis)
	if err != nil {
		return Layout{}, err
	}
	length := l.shape[at]
	if step == 0 {
		return Layout{}, device.Errorf(device.CodeInvalidArgument, op, "a step of 0 along dimension %d of %s", at, Text(l.Shape()))
	}
	if !hasIndices(length, start, count, step) {
		steps := ""
		if step != 1 {
			steps = fmt.Sprintf(", each %d after the one before,", step)
		}
		return Layout{}, device.Errorf(device.CodeInvalidOffset, op, "%d indices from %d on%s are out of range: dimension %d of %s has %d", count, start, steps, at, Text(l.Shape()), length)
	}
	if count > 0 && l.Elements() > 0 {
		l.first += start * l.strides[at]
		if count > 1 {
			l.strides[at] *= step // does not overflow: it leads to elements of the layout
		}
	}
	l.shape[at] = count
	return l, nil
}

// hasIndices states whether a dimension of a length has the count indices start, start+step and so on. Without
// indices, start may be the length.
func hasIndices(length, start, count, step int64) bool {
	if start < 0 || count < 0 || start > length {
		return false
	}
	if count == 0 {
		return true
	}
	room := length - 1 - start
	if step < 0 {
		room = start
	}
	return start < length && uint64(count-1) <= uint64(room)/abs(step)
}

// Permute puts the dimensions into another order: dimension i of the result is dimension
// axes[i]. Errors: CodeInvalidArgument if axes does not name each dimension once.
func (l Layout) Permute(axes ...int) (Layout, error) {
	wrong := func() (Layout, error) {
		return Layout{}, device.Errorf(device.CodeInvalidArgument, op, "the axes %s of a shape of %s: each dimension must be named once", Text(wide(axes)), Text(l.Shape()))
	}
	if len(axes) != l.dimensions {
		return wrong()
	}
	result := l
	var named [MostDimensions]bool
	for i, axis := range axes {
		at, err := l.Axis(axis)
		if err != nil || named[at] {
			return wrong()
		}
		named[at] = true
		result.shape[i], result.strides[i] = l.shape[at], l.strides[at]
	}
	return result, nil
}

func wide(axes []int) []int64 {
	numbers := make([]int64, len(axes))
	for i, axis := range axes {
		numbers[i] = int64(axis)
	}
	return numbers
}

// Transpose exchanges two dimensions. Errors: CodeInvalidArgument.
func (l Layout) Transpose(a, b int) (Layout, error) {
	one, err := l.Axis(a)
	if err != nil {
		return Layout{}, err
	}
	other, err := l.Axis(b)
	if err != nil {
		return Layout{}, err
	}
	l.shape[one], l.shape[other] = l.shape[other], l.shape[one]
	l.strides[one], l.strides[other] = l.strides[other], l.strides[one]
	return l, nil
}

// Expand repeats elements so that the layout gets a larger shape, by the rule of NumPy: the
// shapes are compared from the last dimension on, and a dimension that is missing or has the
// length 1 takes the length of the new shape. Errors: CodeInvalidArgument if the rule does
// not allow it; those of Contiguous.
func (l Layout) Expand(shape ...int64) (Layout, error) {
	result, err := withShape(shape)
	if err != nil {
		return Layout{}, err
	}
	added := len(shape) - l.dimensions
	for i := range l.dimensions {
		if added < 0 || l.shape[i] != 1 && l.shape[i] != shape[added+i] {
			return Layout{}, device.Errorf(device.CodeInvalidArgument, op, "a shape of %s does not expand to %s", Text(l.Shape()), Text(shape))
		}
		if l.shape[i] == shape[added+i] {
			result.strides[added+i] = l.strides[i]
		}
	}
	result.first = l.first
	return result, nil
}

// Reshape gives the elements, in their order, another shape. fits is false if the elements
// would have to be copied. Errors: those of Contiguous; CodeInvalidArgument if the number of
// elements is another one.
func (l Layout) Reshape(shape ...int64) (result Layout, fits bool, err error) {
	result, err = withShape(shape)
	if err != nil {
		return Layout{}, false, err
	}
	if result.Elements() != l.Elements() {
		return Layout{}, false, device.Errorf(device.CodeInvalidArgument, op, "a shape of %s has %d elements, and %s has %d", Text(l.Shape()), l.Elements(), Text(shape), result.Elements())
	}
	strides, fits := Restride(l.Shape(), l.Strides(), shape)
	if !fits {
		return Layout{}, false, nil
	}
	copy(result.strides[:], strides)
	result.first = l.first
	return result, true, nil
}
