package strided

import "slices"

// RowMajor returns the strides of a shape whose elements lie in its order without gaps.
func RowMajor[N int64 | uint64](shape []N) []N {
	strides := make([]N, len(shape))
	setRowMajor(strides, shape)
	return strides
}

// Restride computes strides for another shape with the same number of elements; false: no
// strides can express it. It traverses the old and the new dimensions together, from the last
// one, in groups with the same product. The old dimensions of a group must be adjacent in
// memory, like one long dimension.
func Restride[N int64 | uint64](shape, strides, to []N) ([]N, bool) {
	if slices.Contains(to, 0) {
		return RowMajor(to), true
	}
	out := make([]N, len(to))
	old, now := len(shape)-1, len(to)-1
	for now >= 0 {
		if to[now] == 1 {
			now--
			continue
		}
		for shape[old] == 1 {
			old--
		}
		step, product := strides[old], shape[old]
		wanted := N(1)
		for {
			for now >= 0 && wanted*to[now] <= product && product%(wanted*to[now]) == 0 {
				out[now] = step * wanted
				wanted *= to[now]
				now--
			}
			if wanted == product {
				old--
				break
			}
			// The next old dimension must be adjacent to this one.
			old--
			for old >= 0 && shape[old] == 1 {
				old--
			}
			if old < 0 || strides[old] != step*product {
				return nil, false
			}
			product *= shape[old]
		}
	}
	return out, true
}
