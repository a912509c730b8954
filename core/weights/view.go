package weights

import (
	"cmp"
	"slices"

	"ferrum_mem/core/internal/sorting"
	"ferrum_mem/core/strided"
	"ferrum_mem/core/weights/header"
)

// view maps each element of a transformed tensor to a stored element. It is a chain of levels. The
// highest level has the shape of the result. Strides and an offset convert an index of a level to a
// number. That number counts the elements of the level below, in the order of its shape. The
// numbers of the lowest level count the stored elements in the file.
//
// Transposing and slicing change the highest level. Reshaping changes it too if strides can express
// the new shape; otherwise it adds a level on top. No element is moved: a view is created before
// the tensor is read, and strips then returns which elements a part of the result needs.
type view struct {
	levels []level
}

type level struct {
	shape, strides []uint64
	offset         uint64
}

// viewOf returns the view of a whole stored tensor.
func viewOf(t *header.Tensor) *view {
	strides := t.Strides
	if strides == nil {
		strides = strided.RowMajor(t.Shape)
	}
	return &view{levels: []level{{shape: slices.Clone(t.Shape), strides: slices.Clone(strides)}}}
}

func (v *view) top() *level { return &v.levels[len(v.levels)-1] }

func (v *view) shape() []uint64 { return v.top().shape }

// elements returns the product of the shape. The caller knows that it fits 64 bits.
func (v *view) elements() uint64 {
	return product(v.shape())
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

// reshape gives the elements another shape with the same number of elements.
func (v *view) reshape(shape []uint64) {
	top := v.top()
	if strides, ok := strided.Restride(top.shape, top.strides, shape); ok {
		top.shape, top.strides = slices.Clone(shape), strides
		return
	}
	v.levels = append(v.levels, level{shape: slices.Clone(shape), strides: strided.RowMajor(shape)})
}

// strip is count elements of a result with their stored places: element at+i*apart of the result is
// the stored element place+i*step.
type strip struct {
	place, step uint64
	at, apart   uint64
	count       uint64
}

// strips calls emit for the stored elements of the elements [first, first+count) of the result,
// until emit returns an error. The order follows the file from front to back as far as possible:
// elements that are adjacent in the file are in one strip, even if they are far apart in the
// result, as after a transposition. In a strip, at counts from first.
func (v *view) strips(first, count uint64, emit func(strip) error) error {
	levels, skipped := v.moving()
	if top := levels[len(levels)-1].merged(); len(levels) == 1 && top.isScattered() {
		return top.boxes(skipped+first, count, emit)
	}
	at := uint64(0)
	return runsOf(levels, skipped+first, count, func(r run) error {
		p := strip{place: r.first, step: r.step, at: at, apart: 1, count: r.count}
		at += r.count
		return emit(p)
	})
}

// scatteredRow returns the distance in the result between two elements that are adjacent in the file;
// 0 if they are adjacent in the result too.
func (v *view) scatteredRow() uint64 {
	levels, _ := v.moving()
	top := levels[len(levels)-1].merged()
	if len(levels) > 1 || !top.isScattered() {
		return 0
	}
	return product(top.shape[top.fastest()+1:])
}

// adjacent states whether the elements of the result are adjacent in the file and in the same order. It
// returns the place of the first stored element.
func (v *view) adjacent() (place uint64, is bool) {
	levels, skipped := v.moving()
	top := levels[0].merged()
	if len(levels) > 1 || len(top.shape) > 1 || len(top.shape) == 1 && top.strides[0] != 1 {
		return 0, false
	}
	return top.offset + skipped, true
}

// moving returns the view without the top levels that only reshape the elements. The first element
// of the result has the returned number of skipped elements before it.
func (v *view) moving() (levels []level, skipped uint64) {
	levels = v.levels
	for len(levels) > 1 {
		top := levels[len(levels)-1].merged()
		if len(top.shape) > 1 || len(top.shape) == 1 && top.strides[0] != 1 {
			break
		}
		levels, skipped = levels[:len(levels)-1], skipped+top.offset
	}
	return levels, skipped
}

// fastest returns the dimension whose indices are closest to each other in the level below, or -1
// for a level of one element.
func (l *level) fastest() int {
	best := -1
	for i := range l.shape {
		if best < 0 || l.strides[i] <= l.strides[best] {
			best = i
		}
	}
	return best
}

func product(sides []uint64) uint64 {
	all := uint64(1)
	for _, side := range sides {
		all *= side
	}
	return all
}

// isScattered states whether the fastest dimension is not the last one.
func (l *level) isScattered() bool {
	fast := l.fastest()
	return fast >= 0 && fast < len(l.shape)-1
}

// boxes emits the strips of a scattered level. A row is the elements with one index in the fastest
// dimension and in the dimensions before it. Several adjacent whole rows are read together: one
// strip has the same element of each row.
func (l *level) boxes(first, count uint64, emit func(strip) error) error {
	fast := l.fastest()
	inner := level{shape: l.shape[fast+1:], strides: l.strides[fast+1:]}
	row, side := product(inner.shape), l.shape[fast]
	for at := uint64(0); at < count; {
		inRow, of := (first+at)%row, (first+at)/row
		p := strip{place: l.offset + of%side*l.strides[fast], step: l.strides[fast], at: at, apart: row, count: 1}
		for i, rest := fast-1, of/side; i >= 0; i-- {
			p.place += rest % l.shape[i] * l.strides[i]
			rest /= l.shape[i]
		}
		if inRow != 0 || count-at < row {
			elements := min(count-at, row-inRow)
			if err := inner.across(inner.inOrder(), inRow, elements, p, emit); err != nil {
				return err
			}
			at += elements
			continue
		}
		p.count = min((count-at)/row, side-of%side)
		if err := inner.across(inner.byStride(), 0, row, p, emit); err != nil {
			return err
		}
		at += p.count * row
	}
	return nil
}

// across emits a copy of p for each of the elements [first, first+count) of the level, in an order
// of its dimensions. p belongs to the element first.
func (l *level) across(order []int, first, count uint64, p strip, emit func(strip) error) error {
	apart := strided.RowMajor(l.shape)
	for i := range count {
		of := p
		of.at -= first
		for at, rest := len(order)-1, first+i; at >= 0; at-- {
			d := order[at]
			index := rest % l.shape[d]
			rest /= l.shape[d]
			of.place += index * l.strides[d]
			of.at += index * apart[d]
		}
		if err := emit(of); err != nil {
			return err
		}
	}
	return nil
}

// inOrder returns the dimensions from the slowest to the fastest in the result. byStride returns
// them from the slowest to the fastest in the level below.
func (l *level) inOrder() []int {
	order := make([]int, len(l.shape))
	for d := range order {
		order[d] = d
	}
	return order
}

func (l *level) byStride() []int {
	order := l.inOrder()
	sorting.StableBy(order, func(a, b int) int { return cmp.Compare(l.strides[b], l.strides[a]) })
	return order
}

// run is count stored elements: the place of the first, and the distance from one to the next.
type run struct {
	first, count, step uint64
}

// runs calls emit for the stored elements of the elements [first, first+count) of the result, in
// their order, until emit returns an error.
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

// below maps a run of one level to runs of the levels below.
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

// merged returns the same level with adjacent dimensions joined to one, so that runs are as long as
// possible.
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
