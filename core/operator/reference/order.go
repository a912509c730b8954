package reference

import "slices"

// lines visits the lines along a dimension: the positions of their elements, and the index of their
// first element.
func lines(shape []uint64, axis int, visit func(line []int, index []uint64)) {
	each(kept(shape, []int{axis}), func(_ int, index []uint64) {
		line := make([]int, shape[axis])
		for i := range line {
			index[axis] = uint64(i)
			line[i] = offset(shape, index)
		}
		index[axis] = 0
		visit(line, index)
	})
}

// argMax returns the first of equal elements, or the last one if the attribute select_last_index is
// 1.
func (r *run) argMax() {
	in, out, axis := r.in[0], r.out[0], r.layout.Axes[0]
	isLast := r.op.Int("select_last_index") == 1
	groups := kept(in.Shape, r.layout.Axes)
	lines(in.Shape, axis, func(line []int, index []uint64) {
		best := 0
		for i, at := range line {
			if in.isLess(line[best], at) || isLast && !in.isLess(at, line[best]) {
				best = i
			}
		}
		out.Ints[offset(groups, index)] = int64(best)
	})
}

// topK sorts each line. Of equal elements the one with the lower index comes first.
func (r *run) topK() {
	in, axis := r.in[0], r.layout.Axes[0]
	isSmallest := hasAttribute(r, "largest") && r.op.Int("largest") == 0
	lines(in.Shape, axis, func(line []int, index []uint64) {
		order := make([]int, len(line))
		for i := range order {
			order[i] = i
		}
		slices.SortStableFunc(order, func(a, b int) int {
			if isSmallest {
				a, b = b, a
			}
			switch {
			case in.isLess(line[b], line[a]):
				return -1
			case in.isLess(line[a], line[b]):
				return 1
			}
			return 0
		})
		for i, chosen := range order {
			index[axis] = uint64(i)
			if values := r.out[0]; values != nil && uint64(i) < values.Shape[axis] {
				values.copyFrom(offset(values.Shape, index), in, line[chosen])
			}
			if indices := r.out[1]; indices != nil && uint64(i) < indices.Shape[axis] {
				indices.Ints[offset(indices.Shape, index)] = int64(chosen)
			}
		}
		index[axis] = 0
	})
}
