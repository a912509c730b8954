package operations

import (
	"slices"

	"ferrum_mem/core/dtype"
	"ferrum_mem/engines/cpu"
)

// mapped returns the request of an operation on the elements of one or two inputs.
func (l *lowering) mapped(o cpu.Operation, inputs int) *cpu.Map {
	y := l.out(0)
	x := l.in(0).expand(y.shape)
	z := x
	if inputs == 2 {
		z = l.in(1).expand(y.shape)
	}
	dims, steps := merged(y.shape, x.strides, z.strides, y.strides)
	m := &cpu.Map{
		Operation: o, Rank: int64(len(dims)), Dims: fill(dims), X: x.place(), XType: x.cpuType(),
		XStrides: fill(steps[0]), Y: y.place(), YType: y.cpuType(), YStrides: fill(steps[2]),
	}
	l.mayShare(0, 0)
	if inputs == 2 {
		m.Z, m.ZType, m.ZStrides = z.place(), z.cpuType(), fill(steps[1])
		l.mayShare(0, 1)
	}
	l.add(m)
	return m
}

func unary(o cpu.Operation) func(*lowering) error {
	return func(l *lowering) error {
		l.mapped(o, 1)
		return nil
	}
}

func binary(o cpu.Operation) func(*lowering) error {
	return func(l *lowering) error {
		l.mapped(o, 2)
		return nil
	}
}

func (l *lowering) gelu() error {
	o := cpu.Gelu
	if l.op.Text("approximate") == "tanh" {
		o = cpu.GeluTanh
	}
	l.mapped(o, 1)
	return nil
}

func (l *lowering) swish() error {
	l.mapped(cpu.Swish, 1).Factor = l.op.Float("alpha")
	return nil
}

func (l *lowering) where() error {
	y := l.out(0)
	condition, x, z := l.in(0).expand(y.shape), l.in(1).expand(y.shape), l.in(2).expand(y.shape)
	dims, steps := merged(y.shape, condition.strides, x.strides, z.strides, y.strides)
	l.add(&cpu.Where{
		Bytes: y.elementBytes(), Rank: int64(len(dims)), Dims: fill(dims),
		Condition: condition.place(), ConditionStrides: fill(steps[0]), X: x.place(), XStrides: fill(steps[1]),
		Z: z.place(), ZStrides: fill(steps[2]), Y: y.place(), YStrides: fill(steps[3]),
	})
	l.mayShare(0, 1)
	l.mayShare(0, 2)
	return nil
}

// cast copies elements of the same type. Those of 8-bit floating point saturate even then.
func (l *lowering) cast() error {
	x, y := l.in(0), l.out(0)
	l.mayShare(0, 0)
	isSmall := slices.Contains([]dtype.DType{dtype.F8E4M3, dtype.F8E5M2, dtype.F8E8M0}, y.kind)
	if x.kind == y.kind && !isSmall {
		l.copy(x, y)
		return nil
	}
	m := l.mapped(cpu.Copy, 1)
	m.Saturates = l.op.Int("saturate")
	switch l.op.Text("round_mode") {
	case "down":
		m.Rounding = cpu.RoundDown
	case "nearest":
		m.Rounding = cpu.RoundNearest
	}
	return nil
}
