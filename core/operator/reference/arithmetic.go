package reference

import (
	"math"

	"ferrum_mem/core/dtype"
)

// binary computes Add, Sub, Mul, Div and Pow.
func (r *run) binary() {
	a, b, out := r.in[0], r.in[1], r.out[0]
	each(out.Shape, func(at int, index []uint64) {
		i, j := offset(a.Shape, index), offset(b.Shape, index)
		switch {
		case out.isFloat():
			out.Floats[at] = binaryFloat(r.op.Name, a.number(i), b.number(j))
		case b.isFloat():
			out.Ints[at] = truncated(out.Type, math.Pow(a.number(i), b.number(j)))
		default:
			out.Ints[at] = binaryInt(r.op.Name, a.Ints[i], b.Ints[j], a.Type == dtype.U64, b.Type == dtype.U64)
		}
	})
}

func binaryFloat(name string, a, b float64) float64 {
	switch name {
	case "Add":
		return a + b
	case "Sub":
		return a - b
	case "Mul":
		return a * b
	case "Div":
		return a / b
	}
	return math.Pow(a, b)
}

// binaryInt computes in 64 bits. The bits of sums, differences and products are the same with and
// without a sign.
func binaryInt(name string, a, b int64, isUnsigned, isPositive bool) int64 {
	switch name {
	case "Add":
		return a + b
	case "Sub":
		return a - b
	case "Mul":
		return a * b
	case "Div":
		switch {
		case b == 0:
			return 0
		case isUnsigned:
			return int64(uint64(a) / uint64(b))
		}
		return a / b
	}
	return integerPower(a, b, isPositive)
}

// integerPower multiplies in 64 bits. A negative exponent drops the fraction.
func integerPower(base, exponent int64, isPositive bool) int64 {
	if exponent < 0 && !isPositive {
		switch {
		case base == 1, base == -1 && exponent%2 == 0:
			return 1
		case base == -1:
			return -1
		}
		return 0
	}
	result := int64(1)
	for left := uint64(exponent); left > 0; left >>= 1 {
		if left&1 == 1 {
			result *= base
		}
		base *= base
	}
	return result
}

// truncated converts to an integer with the rules of core/dtype.
func truncated(t dtype.DType, value float64) int64 {
	from := &Tensor{Type: dtype.F64, Floats: []float64{value}}
	to, err := convert(from, t)
	if err != nil {
		return 0
	}
	return to.Ints[0]
}

// unary computes the operators with one input.
func (r *run) unary() {
	in, out := r.in[0], r.out[0]
	for at := range int(in.count()) {
		if !out.isFloat() {
			out.Ints[at] = r.unaryInt(in, at)
			continue
		}
		out.Floats[at] = r.unaryFloat(in.Floats[at])
	}
}

// unaryInt computes Relu, and Erf of old opsets.
func (r *run) unaryInt(in *Tensor, at int) int64 {
	if r.op.Name == "Erf" {
		return truncated(in.Type, math.Erf(in.number(at)))
	}
	return max(in.Ints[at], 0)
}

func (r *run) unaryFloat(x float64) float64 {
	switch r.op.Name {
	case "Sqrt":
		return math.Sqrt(x)
	case "Tanh":
		return math.Tanh(x)
	case "Erf":
		return math.Erf(x)
	case "Relu":
		return max(x, 0)
	case "Swish":
		return sigmoidProduct(x, r.op.Float("alpha"))
	}
	if r.op.Text("approximate") == "tanh" {
		return geluTanh(x)
	}
	return gelu(x)
}

// gelu is x (1 + erf(x / sqrt 2)) / 2. 1 + erf(y) = erfc(-y), without the loss of digits for negative
// numbers.
func gelu(x float64) float64 { return 0.5 * x * math.Erfc(-x/math.Sqrt2) }

func geluTanh(x float64) float64 {
	return 0.5 * x * (1 + math.Tanh(math.Sqrt(2/math.Pi)*(x+0.044715*x*x*x)))
}

// activated applies the function that the attribute "activation" names.
func activated(name string, x float64) float64 {
	switch name {
	case "relu":
		return max(x, 0)
	case "gelu":
		return gelu(x)
	case "gelu_tanh":
		return geluTanh(x)
	case "silu":
		return sigmoidProduct(x, 1)
	}
	return x
}

// sigmoidProduct is x * sigmoid(alpha * x).
func sigmoidProduct(x, alpha float64) float64 { return x / (1 + math.Exp(-alpha*x)) }

func (r *run) siluMul() {
	gate, up, out := r.in[0], r.in[1], r.out[0]
	for at := range out.Floats {
		out.Floats[at] = sigmoidProduct(gate.Floats[at], 1) * up.Floats[at]
	}
}

func (r *run) where() {
	condition, x, y, out := r.in[0], r.in[1], r.in[2], r.out[0]
	each(out.Shape, func(at int, index []uint64) {
		if condition.Ints[offset(condition.Shape, index)] != 0 {
			out.copyFrom(at, x, offset(x.Shape, index))
		} else {
			out.copyFrom(at, y, offset(y.Shape, index))
		}
	})
}
