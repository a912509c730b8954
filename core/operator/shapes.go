package operator

import (
	"fmt"
	"slices"

	"ferrum_mem/core/strided"
)

// broadcast returns the shape to which shapes broadcast: dimensions are aligned at the end, and a
// dimension of 1 or a missing one is repeated. at is the dimension that does not fit, counted from
// the end.
func broadcast(a, b []uint64) (shape []uint64, at int, fits bool) {
	shape = make([]uint64, max(len(a), len(b)))
	for i := 1; i <= len(shape); i++ {
		x, y := uint64(1), uint64(1)
		if i <= len(a) {
			x = a[len(a)-i]
		}
		if i <= len(b) {
			y = b[len(b)-i]
		}
		switch {
		case x == y, y == 1:
			shape[len(shape)-i] = x
		case x == 1:
			shape[len(shape)-i] = y
		default:
			return nil, -i, false
		}
	}
	return shape, 0, true
}

// broadcastInputs broadcasts all given inputs.
func (c *call) broadcastInputs() ([]uint64, error) {
	shape := c.in(0).Shape
	for i := 1; i < len(c.inputs); i++ {
		next, at, fits := broadcast(shape, c.inputs[i].Shape)
		if !fits {
			return nil, c.wrong("%s do not broadcast: dimension %d differs", c.describeInputs(), at)
		}
		shape = next
	}
	return shape, nil
}

// fitsInto checks that an input broadcasts to a shape and leaves it as it is. what names the shape
// in messages.
func (c *call) fitsInto(at int, shape []uint64, what string) error {
	wide, _, fits := broadcast(c.in(at).Shape, shape)
	if !fits || !slices.Equal(wide, shape) {
		return c.wrong("%s does not broadcast to %s", c.describe(at), what)
	}
	return nil
}

// rank checks the number of dimensions of an input.
func (c *call) rank(at, rank int) error {
	if len(c.in(at).Shape) != rank {
		return c.wrong("%s has %d dimensions: expected %d", c.describe(at), len(c.in(at).Shape), rank)
	}
	return nil
}

// exactly checks the shape of an input.
func (c *call) exactly(at int, shape ...uint64) error {
	if !slices.Equal(c.in(at).Shape, shape) {
		return c.wrong("%s has another shape than %s: expected %s", c.describe(at), c.describe(0), strided.Text(shape))
	}
	return nil
}

// without returns the shape without some dimensions. If keep is set, they remain with 1 element.
func without(shape []uint64, axes []int, keep bool) []uint64 {
	left := make([]uint64, 0, len(shape))
	for i, size := range shape {
		switch {
		case !slices.Contains(axes, i):
			left = append(left, size)
		case keep:
			left = append(left, 1)
		}
	}
	return left
}

// with returns the shape with another size of one dimension.
func with(shape []uint64, axis int, size uint64) []uint64 {
	changed := slices.Clone(shape)
	changed[axis] = size
	return changed
}

// described is a shape with its origin, for messages.
func described(name string, shape []uint64) string {
	return fmt.Sprintf("%s %s", name, strided.Text(shape))
}
