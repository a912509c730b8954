package reference

import "ferrum_mem/core/strided"

// same copies all elements in their order.
func (r *run) same() {
	for at := range int(r.in[0].count()) {
		r.out[0].copyFrom(at, r.in[0], at)
	}
}

func (r *run) expand() {
	in, out := r.in[0], r.out[0]
	each(out.Shape, func(at int, index []uint64) {
		out.copyFrom(at, in, offset(in.Shape, index))
	})
}

func (r *run) transpose() {
	in, out := r.in[0], r.out[0]
	source := make([]uint64, len(in.Shape))
	each(out.Shape, func(at int, index []uint64) {
		for i, axis := range r.layout.Axes {
			source[axis] = index[i]
		}
		out.copyFrom(at, in, offset(in.Shape, source))
	})
}

func (r *run) slice() {
	in, out := r.in[0], r.out[0]
	source := make([]uint64, len(in.Shape))
	each(out.Shape, func(at int, index []uint64) {
		for axis := range source {
			source[axis] = uint64(r.layout.Starts[axis] + int64(index[axis])*r.layout.Steps[axis])
		}
		out.copyFrom(at, in, offset(in.Shape, source))
	})
}

func (r *run) concat() {
	out, axis, begin := r.out[0], r.layout.Axes[0], uint64(0)
	for _, in := range r.in {
		each(in.Shape, func(at int, index []uint64) {
			index[axis] += begin
			out.copyFrom(offset(out.Shape, index), in, at)
			index[axis] -= begin
		})
		begin += in.Shape[axis]
	}
}

func (r *run) split() {
	in, axis, begin := r.in[0], r.layout.Axes[0], uint64(0)
	for part, out := range r.out {
		if out != nil {
			each(out.Shape, func(at int, index []uint64) {
				index[axis] += begin
				out.copyFrom(at, in, offset(in.Shape, index))
				index[axis] -= begin
			})
		}
		begin += r.layout.Sizes[part]
	}
}

// gather copies the parts that the indices name. A negative index counts from the end.
func (r *run) gather() error {
	in, indices, out := r.in[0], r.in[1], r.out[0]
	axis, rank := r.layout.Axes[0], len(indices.Shape)
	size := int64(in.Shape[axis])
	for at, index := range indices.Ints {
		if index < -size || index >= size {
			return r.wrong("element %d of input \"indices\" is %d: dimension %d of input \"data\" %s has %d elements", at, index, axis, strided.Text(in.Shape), size)
		}
	}
	source := make([]uint64, len(in.Shape))
	each(out.Shape, func(at int, index []uint64) {
		chosen := indices.Ints[offset(indices.Shape, index[axis:axis+rank])]
		if chosen < 0 {
			chosen += size
		}
		copy(source, index[:axis])
		source[axis] = uint64(chosen)
		copy(source[axis+1:], index[axis+rank:])
		out.copyFrom(at, in, offset(in.Shape, source))
	})
	return nil
}
