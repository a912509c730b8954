package operations

import (
	"slices"

	"ferrum_mem/core/dtype"
	"ferrum_mem/core/operator"
	"ferrum_mem/engines/cpu"
)

// nameIs returns a function that finds an attribute.
func nameIs(name string) func(operator.Attribute) bool {
	return func(a operator.Attribute) bool { return a.Name == name }
}

// rowed is an operand whose rows have one step: the elements of a row are along the axes.
type rowed struct {
	operand
	step    int64
	strides [cpu.Rank]int64 // of the rows
}

// asRows returns the rows of an operand, whose shape is that of input 0. An operand whose axes are
// not one dimension in memory is copied.
func (l *lowering) asRows(o operand) (rowed, error) {
	axes := l.layout.Axes
	step, fits := o.only(axes).line()
	if !fits {
		made, err := l.temporary(o.kind, o.shape)
		if err != nil {
			return rowed{}, err
		}
		l.copy(o, made)
		o = made
		if step, fits = o.only(axes).line(); !fits {
			return rowed{}, unsupported("rows over the dimensions %v of %v", axes, o.shape)
		}
	}
	return rowed{operand: o, step: step, strides: fill(o.without(axes).strides)}, nil
}

// rowsOfResult is asRows for an output. then must be called after the requests that write it.
func (l *lowering) rowsOfResult(o operand) (r rowed, then func(), err error) {
	axes := l.layout.Axes
	then = func() {}
	if _, fits := o.only(axes).line(); !fits {
		to := o
		if o, err = l.temporary(o.kind, o.shape); err != nil {
			return rowed{}, nil, err
		}
		then = func() { l.copy(o, to) }
	}
	r, err = l.asRows(o)
	return r, then, err
}

// rows returns the request of an operation on the rows of input 0.
func (l *lowering) rows(o cpu.RowOperation) (*cpu.Rows, error) {
	x, err := l.asRows(l.in(0))
	if err != nil {
		return nil, err
	}
	rows := x.without(l.layout.Axes)
	return &cpu.Rows{
		Operation: o, N: x.only(l.layout.Axes).elements(), Rank: int64(len(rows.shape)), Dims: fill(rows.shape),
		X: x.place(), XType: x.cpuType(), XStep: x.step, XStrides: x.strides,
	}, nil
}

// writeTo sets the output of the rows.
func writeTo(r *cpu.Rows, y rowed) {
	r.Y, r.YType, r.YStep, r.YStrides = y.place(), y.cpuType(), y.step, y.strides
}

func (l *lowering) softmax() error {
	r, err := l.rows(cpu.Softmax)
	if err != nil {
		return err
	}
	y, then, err := l.rowsOfResult(l.out(0))
	if err != nil {
		return err
	}
	writeTo(r, y)
	l.add(r)
	l.mayShare(0, 0)
	then()
	return nil
}

// setScale sets the scale and the bias, which broadcast to input 0.
func (l *lowering) setScale(r *cpu.Rows, scale, bias operand) error {
	s, err := l.factor(scale)
	if err != nil {
		return err
	}
	r.Scale, r.ScaleType, r.ScaleStep, r.ScaleStrides = s.place(), s.cpuType(), s.step, s.strides
	if !bias.isPresent() {
		return nil
	}
	b, err := l.factor(bias)
	r.Bias, r.BiasType, r.BiasStep, r.BiasStrides = b.place(), b.cpuType(), b.step, b.strides
	return err
}

// factor returns the rows of an operand that broadcasts to input 0. If it is the same for all rows,
// their strides are 0.
func (l *lowering) factor(o operand) (rowed, error) {
	axes := l.layout.Axes
	o = o.expand(l.in(0).shape)
	rows, one := o.without(axes), o.only(axes)
	if slices.ContainsFunc(rows.strides, func(s int64) bool { return s != 0 }) {
		return l.asRows(o)
	}
	step, fits := one.line()
	if !fits {
		made, err := l.contiguous(one)
		return rowed{operand: made, step: 1}, err
	}
	return rowed{operand: one, step: step}, nil
}

func (l *lowering) layerNorm() error {
	r, err := l.rows(cpu.LayerNormalization)
	if err != nil {
		return err
	}
	r.Epsilon = l.op.Float("epsilon")
	if err := l.setScale(r, l.in(1), l.in(2)); err != nil {
		return err
	}
	then, err := l.setResult(r, 0)
	if err != nil {
		return err
	}
	mean, meanThen, err := l.statistic(l.out(1))
	if err != nil {
		return err
	}
	deviation, deviationThen, err := l.statistic(l.out(2))
	if err != nil {
		return err
	}
	r.Mean, r.Deviation = mean.place(), deviation.place()
	l.add(r)
	l.mayShare(0, 0)
	then()
	meanThen()
	deviationThen()
	return nil
}

// setResult sets the output of the rows. One that is not wanted is computed in the workspace.
func (l *lowering) setResult(r *cpu.Rows, output int) (then func(), err error) {
	o := l.out(output)
	if !o.isPresent() {
		if o, err = l.temporary(l.in(1).kind, l.in(0).shape); err != nil {
			return nil, err
		}
	}
	y, then, err := l.rowsOfResult(o)
	writeTo(r, y)
	return then, err
}

// statistic returns where to write an F32 for each row.
func (l *lowering) statistic(o operand) (made operand, then func(), err error) {
	then = func() {}
	if !o.isPresent() || o.kind == dtype.F32 && o.isContiguous() {
		return o, then, nil
	}
	made, err = l.temporary(dtype.F32, o.shape)
	return made, func() { l.convert(made, o) }, err
}

func (l *lowering) rmsNorm() error {
	r, err := l.rows(cpu.RMSNormalization)
	if err != nil {
		return err
	}
	r.Epsilon = l.op.Float("epsilon")
	if err := l.setScale(r, l.in(1), operand{}); err != nil {
		return err
	}
	then, err := l.setResult(r, 0)
	if err != nil {
		return err
	}
	l.add(r)
	l.mayShare(0, 0)
	then()
	return nil
}

// normResidual normalises rows along the last dimension, so no operand is copied.
func normResidual(o cpu.RowOperation) func(*lowering) error {
	return func(l *lowering) error {
		r, err := l.rows(o)
		if err != nil {
			return err
		}
		r.Epsilon = l.op.Float("epsilon")
		residual, err := l.asRows(l.in(1))
		if err != nil {
			return err
		}
		r.Residual, r.ResidualType, r.ResidualStep, r.ResidualStrides = residual.place(), residual.cpuType(), residual.step, residual.strides
		if err := l.setScale(r, l.in(2), l.in(3)); err != nil {
			return err
		}
		then, err := l.setResult(r, 0)
		if err != nil {
			return err
		}
		if sum := l.out(1); sum.isPresent() {
			to, err := l.asRows(sum)
			if err != nil {
				return err
			}
			r.Sum, r.SumType, r.SumStep, r.SumStrides = to.place(), to.cpuType(), to.step, to.strides
		}
		l.add(r)
		for output := range 2 {
			for input := range 2 {
				l.mayShare(output, input)
			}
		}
		then()
		return nil
	}
}
