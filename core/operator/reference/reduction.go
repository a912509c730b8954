package reference

import (
	"math"

	"ferrum_mem/core/dtype"
)

// sum computes ReduceSum and ReduceMean.
func (r *run) sum() {
	in, out := r.in[0], r.out[0]
	groups := kept(in.Shape, r.layout.Axes)
	each(in.Shape, func(at int, index []uint64) {
		group := offset(groups, index)
		if in.isFloat() {
			out.Floats[group] += in.Floats[at]
		} else {
			out.Ints[group] += in.Ints[at]
		}
	})
	if r.op.Name == "ReduceSum" {
		return
	}
	elements := sizeOf(in.Shape, r.layout.Axes)
	for group := range out.Floats {
		out.Floats[group] /= float64(elements)
	}
	for group := range out.Ints {
		out.Ints[group] = binaryInt("Div", out.Ints[group], int64(elements), in.Type == dtype.U64, true)
	}
}

// sizeOf returns how many elements each group of some dimensions has.
func sizeOf(shape []uint64, axes []int) uint64 {
	elements := uint64(1)
	for _, axis := range axes {
		elements *= shape[axis]
	}
	return elements
}

// largest computes ReduceMax. The maximum of no elements is the least value of the type.
func (r *run) largest() {
	in, out := r.in[0], r.out[0]
	groups := kept(in.Shape, r.layout.Axes)
	best := make([]int, count(groups))
	for group := range best {
		best[group] = -1
	}
	each(in.Shape, func(at int, index []uint64) {
		group := offset(groups, index)
		if best[group] < 0 || in.isLess(best[group], at) {
			best[group] = at
		}
	})
	for group, at := range best {
		switch {
		case at >= 0:
			out.copyFrom(group, in, at)
		case in.isFloat():
			out.Floats[group] = math.Inf(-1)
		default:
			out.Ints[group] = truncated(in.Type, math.Inf(-1))
		}
	}
	if in.Type == dtype.Bool {
		for group, at := range best {
			if at < 0 {
				out.Ints[group] = 0
			}
		}
	}
}
