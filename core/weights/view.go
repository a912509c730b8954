package weights

import (
	"slices"

	"ferrum_mem/core/weights/header"
)

// view says where each element of a transformed tensor is among the elements that are stored.
// It is a chain of levels. The highest has the shape of the result; an index in it gives, by
// strides and offset, a number. That number counts the elements of the level below in the order
// of its shape, and those of the lowest level are places in the file.
//
// Transposing and slicing change the highest level. So does reshaping where strides can say it;
// otherwise it puts a level on top. Nothing is moved: a view is made before anything is read,
// and runs then tells which elements a part of the result needs.
type view struct {
	levels []level
}

type level struct {
	shape, strides []uint64
	offset         uint64
}

// rowMajor are the strides of a shape whose elements lie in its order without gaps.
func rowMajor(shape []uint64) []uint64 {
	strides, step := make([]uint64, len(shape)), uint64(1)
	for i := len(shape) - 1; i >= 0; i-- {
		strides[i] = step
		step *= max(shape[i], 1)
	}
	return strides
}

// viewOf is all of a stored tensor.
func viewOf(t *header.Tensor) *view {
	strides := t.Strides
	if strides == nil {
		strides = rowMajor(t.Shape)
	}
	return &view{levels: []level{{shape: slices.Clone(t.Shape), strides: slices.Clone(strides)}}}
}

func (v *view) top() *level { return &v.levels[len(v.levels)-1] }

func (v *view) shape() []uint64 { return v.top().shape }

// elements is the product of the shape, which the caller knows to fit 64 bits.
func (v *view) elements() uint64 {
	all := uint64(1)
	for _, side := range v.shape() {
		all *= side
	}
	return all
}

func (v *view) transpose(a, b int) {
	top := v.top()
	top.shape[a], top.shape[b] = top.shape[b], top.shape[a]
	top.strides[a], top.strides[b] = top.strides[b], top.strides[a]
}

// slice keeps the indices [start, end) of a dimension.
func (v *view) slice(dimension int, start, end uint64) {
	top := v.top()
	if start < end { // an empty view has no first element
		top.offset += start * top.strides[dimension]
	}
	top.shape[dimension] = end - start
}

// reshape gives the same elements another shape of as many.
func (v *view) reshape(shape []uint64) {
	top := v.top()
	if strides, ok := reshaped(top.shape, top.strides, shape); ok {
		top.shape, top.strides = slices.Clone(shape), strides
		return
	}
	v.levels = append(v.levels, level{shape: slices.Clone(shape), strides: rowMajor(shape)})
}

// reshaped finds strides for a new shape; false: there are none. Dimensions of the old and of the
// new shape are gone through together, from the last one, in groups with the same product. The
// old dimensions of a group have to lie behind each other like one long dimension.
func reshaped(shape, strides, to []uint64) ([]uint64, bool) {
	if slices.Contains(to, 0) {
		return rowMajor(to), true
	}
	out := make([]uint64, len(to))
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
		wanted := uint64(1)
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
			// The next old dimension has to follow this one.
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

// run is count stored elements: the first, and how far one is from the next.
type run struct {
	first, count, step uint64
}

// runs calls emit for the stored elements that the elements [first, first+count) of the result
// are, in their order, until emit gives an error.
func (v *view) runs(first, count uint64, emit func(run) error) error {
	return runsOf(v.levels, first, count, emit)
}

func runsOf(levels []level, first, count uint64, emit func(run) error) error {
	top := levels[len(levels)-1].merged()
	side, step := uint64(1), uint64(1)
	outer := top.shape
	if n := len(top.shape); n > 0 {
		side, step, outer = top.shape[n-1], top.strides[n-1], top.shape[:n-1]
	}
	for count > 0 {
		row, column := first/side, first%side
		part := run{first: top.offset + column*step, count: min(count, side-column), step: step}
		for i := len(outer) - 1; i >= 0; i-- {
			part.first += row % outer[i] * top.strides[i]
			row /= outer[i]
		}
		if err := below(levels[:len(levels)-1], part, emit); err != nil {
			return err
		}
		first, count = first+part.count, count-part.count
	}
	return nil
}

// below finds what a run of one level is in the levels under it.
func below(levels []level, r run, emit func(run) error) error {
	if len(levels) == 0 {
		return emit(r)
	}
	if r.step == 1 {
		return runsOf(levels, r.first, r.count, emit)
	}
	for i := range r.count {
		if err := runsOf(levels, r.first+i*r.step, 1, emit); err != nil {
			return err
		}
	}
	return nil
}

// merged is the same level with dimensions that lie behind each other made one, so that runs are
// as long as they can be.
func (l level) merged() level {
	out := level{offset: l.offset}
	for i, side := range l.shape {
		if side == 1 {
			continue
		}
		if last := len(out.shape) - 1; last >= 0 && out.strides[last] == side*l.strides[i] {
			out.shape[last] *= side
			out.strides[last] = l.strides[i]
			continue
		}
		out.shape, out.strides = append(out.shape, side), append(out.strides, l.strides[i])
	}
	return out
}
