package operations

import (
	"slices"

	"ferrum_mem/core/strided"
	"ferrum_mem/engines/cpu"
)

func (l *lowering) expand() error {
	l.copy(l.in(0).expand(l.out(0).shape), l.out(0))
	return nil
}

func (l *lowering) concat() error {
	axis, begin := l.layout.Axes[0], int64(0)
	for _, in := range l.inputs {
		count := in.shape[axis]
		l.copy(in, l.out(0).narrow(axis, begin, count))
		begin += count
	}
	return nil
}

func (l *lowering) split() error {
	axis, begin := l.layout.Axes[0], int64(0)
	for i, size := range l.layout.Sizes {
		if out := l.out(i); out.isPresent() {
			l.copy(l.in(0).narrow(axis, begin, int64(size)), out)
		}
		begin += int64(size)
	}
	return nil
}

func (l *lowering) slice() error {
	x, y := l.in(0), l.out(0)
	strides := slices.Clone(x.strides)
	for axis, start := range l.layout.Starts {
		x = x.moved(start * x.strides[axis])
		if y.shape[axis] > 1 {
			strides[axis] *= l.layout.Steps[axis]
		}
	}
	l.copy(x.view(y.shape, strides), y)
	return nil
}

func (l *lowering) transpose() error {
	x, y := l.in(0), l.out(0)
	strides := make([]int64, len(y.shape))
	for i, axis := range l.layout.Axes {
		strides[i] = x.strides[axis]
	}
	l.copy(x.view(y.shape, strides), y)
	return nil
}

// reshape copies the elements in their order, in the shape of the side whose strides allow it.
func (l *lowering) reshape() error {
	x, y := l.in(0), l.out(0)
	if x.elements() == 0 {
		return nil
	}
	if x.isContiguous() && y.isContiguous() && x.elementBytes() > 0 {
		x, y = x.view([]int64{x.elements()}, []int64{1}), y.view([]int64{y.elements()}, []int64{1})
		l.copy(x, y)
		l.aliases = append(l.aliases, alias{0, 0})
		return nil
	}
	if strides, fits := strided.Restride(x.shape, x.strides, y.shape); fits {
		l.copy(x.view(y.shape, strides), y)
		return nil
	}
	if strides, fits := strided.Restride(y.shape, y.strides, x.shape); fits {
		l.copy(x, y.view(x.shape, strides))
		return nil
	}
	made, err := l.temporary(x.kind, x.shape)
	if err == nil {
		l.copy(x, made)
		l.copy(made.view(y.shape, strided.RowMajor(y.shape)), y)
	}
	return err
}

// gather copies runs of bytes: the dimensions after the axis that are adjacent on both sides.
func (l *lowering) gather() error {
	x, y, axis := l.in(0), l.out(0), l.layout.Axes[0]
	indices, err := l.contiguous(l.in(1))
	if err != nil {
		return err
	}
	rank := len(indices.shape)
	places := make([]int, rank)
	for i := range places {
		places[i] = axis + i
	}
	step, fits := y.only(places).line()
	then := func() {}
	if !fits {
		if y, then, err = l.result(y); err != nil {
			return err
		}
		step, _ = y.only(places).line()
	}
	g := &cpu.Gather{
		Count: indices.elements(), Length: x.shape[axis], RunBytes: x.elementBytes(), X: x.place(), Indices: indices.place(),
		Y: y.place(), XIndex: x.strides[axis] * x.elementBytes(), YIndex: step * y.elementBytes(),
	}
	if indices.elementBytes() == 4 {
		g.IsShort = 1
	}
	inRuns(g, x.without([]int{axis}), y.without(places))
	l.add(g)
	then()
	return nil
}

// inRuns divides the elements beside the axis into runs, which are adjacent on both sides, and
// dimensions of runs.
func inRuns(g *cpu.Gather, x, y operand) {
	bytes := g.RunBytes
	for axis := len(x.shape) - 1; axis >= 0; axis-- {
		n, from, to := x.shape[axis], x.strides[axis]*bytes, y.strides[axis]*bytes
		switch {
		case n == 1:
		case from == g.RunBytes && to == g.RunBytes:
			g.RunBytes *= n
		default:
			g.Dims[g.Rank], g.XStrides[g.Rank], g.YStrides[g.Rank] = n, from, to
			g.Rank++
		}
	}
}
