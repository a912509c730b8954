package operations

import (
	"slices"

	"ferrum_mem/engines/cpu"
)

// grouped returns the dimensions that stay, of the input and of the output. The output has the
// combined dimensions with one index, or lacks them.
func (l *lowering) grouped(y operand) (x, kept operand) {
	axes := l.layout.Axes
	if len(y.shape) == len(l.in(0).shape) {
		y = y.without(axes)
	}
	return l.in(0).without(axes), y
}

func reduce(o cpu.Reduction) func(*lowering) error {
	return func(l *lowering) error {
		x, y := l.grouped(l.out(0))
		reduced := l.in(0).only(l.layout.Axes)
		l.add(&cpu.Reduce{
			Operation: o, Rank: int64(len(x.shape)), Dims: fill(x.shape), ReducedRank: int64(len(reduced.shape)),
			Reduced: fill(reduced.shape), X: x.place(), XType: x.cpuType(), XStrides: fill(x.strides),
			ReducedStrides: fill(reduced.strides), Y: y.place(), YType: y.cpuType(), YStrides: fill(y.strides),
		})
		return nil
	}
}

func (l *lowering) argMax() error {
	x, y := l.grouped(l.out(0))
	axis := l.layout.Axes[0]
	l.add(&cpu.Top{
		N: l.in(0).shape[axis], K: 1, PrefersLast: l.op.Int("select_last_index"), Rank: int64(len(x.shape)), Dims: fill(x.shape),
		X: x.place(), XType: x.cpuType(), XStep: l.in(0).strides[axis], XStrides: fill(x.strides),
		Indices: y.place(), IndicesStrides: fill(y.strides),
	})
	return nil
}

func (l *lowering) topK() error {
	axes := l.layout.Axes
	axis := axes[0]
	x, values, indices := l.in(0).without(axes), l.out(0), l.out(1)
	t := &cpu.Top{
		N: l.in(0).shape[axis], Rank: int64(len(x.shape)), Dims: fill(x.shape),
		X: x.place(), XType: x.cpuType(), XStep: l.in(0).strides[axis], XStrides: fill(x.strides),
	}
	// Forms before opset 11 have no attribute, and find the largest.
	hasChoice := slices.ContainsFunc(l.op.Attributes, nameIs("largest"))
	if hasChoice && l.op.Int("largest") == 0 {
		t.IsSmallest = 1
	}
	if values.isPresent() {
		t.K, t.Values, t.ValuesStep, t.ValuesStrides = values.shape[axis], values.place(), values.strides[axis], fill(values.without(axes).strides)
	}
	if indices.isPresent() {
		t.K, t.Indices, t.IndicesStep, t.IndicesStrides = indices.shape[axis], indices.place(), indices.strides[axis], fill(indices.without(axes).strides)
	}
	l.add(t)
	return nil
}
