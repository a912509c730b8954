package operator

import "slices"

// resolveAxis returns a dimension of a shape with some rank; a negative axis counts from the end.
// source names the axis and what names the shape in messages.
func (c *call) resolveAxis(axis int64, rank int, source, what string) (int, error) {
	if axis < int64(-rank) || axis >= int64(rank) {
		if rank == 0 {
			return 0, c.wrong("%s: axis %d is out of range: %s has no dimensions", source, axis, what)
		}
		return 0, c.wrong("%s: axis %d is out of range: %s has the axes %d to %d", source, axis, what, -rank, rank-1)
	}
	if axis < 0 {
		axis += int64(rank)
	}
	return int(axis), nil
}

// axisOf resolves the attribute "axis" against an input.
func (c *call) axisOf(at int) (int, error) {
	axis, err := c.resolveAxis(c.Int("axis"), len(c.in(at).Shape), `attribute "axis"`, c.describe(at))
	if err == nil {
		c.result.Layout.Axes = []int{axis}
	}
	return axis, err
}

// resolveAxes resolves a list of axes, in its order. No axis may occur twice.
func (c *call) resolveAxes(axes []int64, rank int, source, what string) ([]int, error) {
	if len(axes) > rank {
		return nil, c.wrong("%s has %d axes: %s has %d", source, len(axes), what, rank)
	}
	resolved := make([]int, 0, rank)
	for _, given := range axes {
		axis, err := c.resolveAxis(given, rank, source, what)
		if err != nil {
			return nil, err
		}
		if slices.Contains(resolved, axis) {
			return nil, c.wrong("%s: axis %d occurs twice", source, given)
		}
		resolved = append(resolved, axis)
	}
	return resolved, nil
}

// allAxes returns the axes from one on.
func allAxes(from, rank int) []int {
	axes := make([]int, 0, rank-from)
	for axis := from; axis < rank; axis++ {
		axes = append(axes, axis)
	}
	return axes
}
