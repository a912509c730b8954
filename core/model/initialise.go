package model

import (
	"encoding/binary"
	"math"

	"ferrum_mem/core/device"
	"ferrum_mem/core/dtype"
	"ferrum_mem/core/internal/similar"
	"ferrum_mem/core/ir"
)

// Initializer makes the elements of a parameter by a rule of the program: the element with an index, in
// the order of the shape. It is called on several threads at the same time.
type Initializer func(parameter *ir.Parameter, index uint64) float64

// initializer returns the rule for the elements of a parameter. Numbers are computed in 64 bits and
// rounded once to the type of the parameter. Errors: CodeNotFound for the name of a rule that the program
// did not give; CodeModel for a shape for which a strategy has no meaning, and for numbers that are not
// finite.
func initializer(p *ir.Parameter, seed uint64, known map[string]Initializer) (func(index uint64) float64, error) {
	wrong := func(format string, values ...any) (func(uint64) float64, error) {
		return nil, device.Errorf(device.CodeModel, opCompile, "parameter %q: initialization: "+format, append([]any{p.Name}, values...)...)
	}
	of, random := p.Initialization, streamOf(seed, p.Name)
	within := func(low, high float64) func(uint64) float64 {
		return func(index uint64) float64 { return uniform(random.bits(index), low, high) }
	}
	for _, number := range []float32{of.Min, of.Max, of.Mean, of.Std} {
		if value := float64(number); math.IsNaN(value) || math.IsInf(value, 0) {
			return wrong("%v is not finite", value)
		}
	}
	switch of.Strategy {
	case ir.StrategyZeros:
		return func(uint64) float64 { return 0 }, nil
	case ir.StrategyOnes:
		return func(uint64) float64 { return 1 }, nil
	case ir.StrategyUniform:
		if of.Min > of.Max {
			return wrong("min %v is above max %v", of.Min, of.Max)
		}
		return within(float64(of.Min), float64(of.Max)), nil
	case ir.StrategyNormal:
		if of.Std < 0 {
			return wrong("std is %v: want at least 0", of.Std)
		}
		mean, deviation := float64(of.Mean), float64(of.Std)
		return func(index uint64) float64 { return mean + float64(normal(random.bits(index))*deviation) }, nil
	case ir.StrategyXavier, ir.StrategyKaiming:
		in, out, ok := fans(p.Shape)
		if !ok {
			return wrong("%s needs a matrix: the shape has %s", of.Strategy, device.Count(uint64(len(p.Shape)), "dimension"))
		}
		sum := in
		if of.Strategy == ir.StrategyXavier {
			sum += out
		}
		bound := math.Sqrt(6 / sum)
		return within(-bound, bound), nil
	case ir.StrategyCustom:
		if rule := known[of.Name]; rule != nil {
			return func(index uint64) float64 { return rule(p, index) }, nil
		}
		names := make([]string, 0, len(known))
		for name := range known {
			names = append(names, name)
		}
		hint := "the program has given none"
		if near := similar.Names(of.Name, names, 1); len(near) > 0 {
			hint = "the nearest is \"" + near[0] + "\""
		}
		return nil, device.Errorf(device.CodeNotFound, opCompile, "parameter %q: the initialization %q is not known: %s", p.Name, of.Name, hint)
	}
	return wrong("the strategy %q is not known", of.Strategy)
}

// fans returns fan-in and fan-out. Dimensions after the second are those of a window of a convolution.
func fans(shape []int64) (in, out float64, ok bool) {
	if len(shape) < 2 {
		return 0, 0, false
	}
	window := 1.0
	for _, length := range shape[2:] {
		window *= float64(length)
	}
	in, out = float64(shape[1])*window, float64(shape[0])*window
	return in, out, in > 0 && out > 0
}

// mostMade is how many elements are made at a time.
const mostMade = 1 << 14

// makeElements writes elements from an index on as numbers of 64 bits, and converts them to the type.
func makeElements(kind dtype.DType, rule func(uint64) float64, from uint64, to []byte, wide []byte) error {
	each, width := kind.Block()
	count := uint64(len(to)) / width * each
	for i := range count {
		binary.NativeEndian.PutUint64(wide[8*i:], math.Float64bits(rule(from+i)))
	}
	return dtype.Convert(kind, to, dtype.F64, wide[:8*count])
}
