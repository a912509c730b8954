package reference

import (
	"math"

	"ferrum_mem/core/dtype"
)

// cast computes Cast. Only conversions to 8-bit floating point saturate: all others follow the
// rules of core/dtype.
func (r *run) cast() error {
	in, out := r.in[0], r.out[0]
	isSaturating := !hasAttribute(r, "saturate") || r.op.Int("saturate") == 1
	from := in
	switch out.Type {
	case dtype.F8E4M3, dtype.F8E5M2, dtype.F8E8M0:
		from = New(dtype.F64, in.Shape)
		for at := range from.Floats {
			from.Floats[at] = toFloat8(out.Type, in.number(at), isSaturating, r.op.Text("round_mode"))
		}
	}
	converted, err := convert(from, out.Type)
	if err == nil {
		out.Floats, out.Ints = converted.Floats, converted.Ints
	}
	return err
}

func hasAttribute(r *run, name string) bool {
	for _, a := range r.op.Attributes {
		if a.Name == name {
			return true
		}
	}
	return false
}

// convert converts a tensor with the rules of core/dtype.
func convert(from *Tensor, to dtype.DType) (*Tensor, error) {
	data, err := from.Bytes()
	if err != nil {
		return nil, err
	}
	source, bytes := from.Type.Block()
	each, size := to.Block()
	// The number of elements is rounded up to whole bytes of both types.
	elements := from.count() + from.count()%2
	data = append(data, make([]byte, elements/source*bytes-uint64(len(data)))...)
	out := make([]byte, elements/each*size)
	if err := dtype.Convert(to, out, from.Type, data); err != nil {
		return nil, err
	}
	return FromBytes(to, from.Shape, out[:(from.count()+each-1)/each*size])
}

// toFloat8 returns the value that is then rounded to an 8-bit type.
func toFloat8(t dtype.DType, x float64, isSaturating bool, mode string) float64 {
	largest := 448.0
	switch t {
	case dtype.F8E8M0:
		return toPower(x, isSaturating, mode)
	case dtype.F8E5M2:
		largest = 57344
	}
	if isSaturating && math.Abs(x) > largest {
		return math.Copysign(largest, x)
	}
	return x
}

// toPower rounds to a power of two from 2^-127 to 2^127. There is no other value in F8_E8M0.
func toPower(x float64, isSaturating bool, mode string) float64 {
	const least, most = -127, 127
	if math.IsNaN(x) || x < 0 {
		return math.NaN()
	}
	exponent := math.MaxInt32
	switch {
	case x == 0:
		exponent = math.MinInt32
	case !math.IsInf(x, 1):
		fraction, above := math.Frexp(x) // fraction is from 0.5 to 1
		exponent = above - 1
		if fraction > 0.5 && (mode == "up" || mode == "nearest" && fraction >= 0.75) {
			exponent = above
		}
	}
	limited := max(least, min(exponent, most))
	if limited != exponent && !isSaturating {
		return math.NaN()
	}
	return math.Ldexp(1, limited)
}
