package dtype

import "math"

// layout is the format of the values of a floating-point type of at most 32 bits: a sign bit if it
// has one, the exponent with a bias, and the mantissa without its leading 1.
type layout struct {
	exponentBits, mantissaBits uint
	bias                       int
	// overflow has the bits of the result for a value that is too large. nan has those of NaN. Both
	// are without the sign.
	overflow, nan uint32
	// largest has the bits of the largest finite value.
	largest uint32
}

func layoutOf(t DType) layout {
	switch t {
	case F32:
		return layout{8, 23, 127, 0x7F800000, 0x7FC00000, 0x7F7FFFFF}
	case F16:
		return layout{5, 10, 15, 0x7C00, 0x7E00, 0x7BFF}
	case BF16:
		return layout{8, 7, 127, 0x7F80, 0x7FC0, 0x7F7F}
	case F8E5M2:
		return layout{5, 2, 15, 0x7C, 0x7E, 0x7B}
	case F8E4M3:
		return layout{4, 3, 7, 0x7F, 0x7F, 0x7E}
	}
	return layout{2, 1, 1, 0x7, 0x8, 0x7} // F4E2M1
}

// encode rounds a value to the nearest value of the type, ties to the even mantissa.
func (l layout) encode(value float64) uint32 {
	sign := uint32(math.Float64bits(value)>>63) << (l.exponentBits + l.mantissaBits)
	if value != value {
		return l.nan ^ sign
	}
	value = math.Abs(value)
	if math.IsInf(value, 0) {
		return sign | l.overflow
	}
	if value == 0 {
		return sign
	}
	_, exponent := math.Frexp(value)
	// value is in [2^(exponent-1), 2^exponent). The distance between values of the type is constant
	// there. It has a minimum at the least normal exponent and does not shrink below it.
	power := max(exponent-1, 1-l.bias)
	units := math.RoundToEven(math.Ldexp(value, int(l.mantissaBits)-power))
	// units includes the leading 1 of normal values. A carry into it gives the next exponent.
	code := uint64(units) + uint64(power+l.bias-1)<<l.mantissaBits
	if code > uint64(l.largest) {
		return sign | l.overflow
	}
	return sign | uint32(code)
}

// decode returns the value that some bits encode.
func (l layout) decode(code uint32) float64 {
	signBit := uint32(1) << (l.exponentBits + l.mantissaBits)
	sign := 1.0
	if code&signBit != 0 {
		sign = -1
		code &^= signBit
	}
	if code > l.largest {
		if code == l.overflow && l.overflow != l.nan {
			return math.Inf(int(sign))
		}
		return math.Copysign(math.NaN(), sign)
	}
	exponent := int(code >> l.mantissaBits)
	mantissa := float64(code & (1<<l.mantissaBits - 1))
	if exponent == 0 {
		return sign * math.Ldexp(mantissa, 1-l.bias-int(l.mantissaBits))
	}
	return sign * math.Ldexp(mantissa+float64(uint32(1)<<l.mantissaBits), exponent-l.bias-int(l.mantissaBits))
}

// Powers of two with a bias of 127; all bits set are NaN.
const (
	powerBias = 127
	powerNaN  = 0xFF
)

func encodePower(value float64) uint32 {
	if !(value > 0) || math.IsInf(value, 0) {
		return powerNaN
	}
	fraction, exponent := math.Frexp(value)
	exponent--
	code := exponent + powerBias
	if fraction >= 0.75 { // at least 1.5 times the lower power
		code++
	}
	switch {
	case code < 0:
		return 0
	case code >= powerNaN:
		return powerNaN
	}
	return uint32(code)
}

func decodePower(code uint32) float64 {
	if code == powerNaN {
		return math.NaN()
	}
	return math.Ldexp(1, int(code)-powerBias)
}

// halfToSingle widens an F16. Multiplying by a power of two adjusts the exponent, and normalises
// subnormal numbers.
func halfToSingle(half uint16) uint32 {
	const toBias = 0x1p+112 // 2^(127-15)
	sign := uint32(half&0x8000) << 16
	magnitude := uint32(half&0x7FFF) << 13
	if magnitude >= 0x7C00<<13 {
		return sign | 0x7F800000 | magnitude&0x7FFFFF
	}
	return sign | math.Float32bits(math.Float32frombits(magnitude)*toBias)
}

// singleToBrain rounds an F32 to BF16: it adds half of the last bit, minus one if the last bit is
// even.
func singleToBrain(single uint32) uint16 {
	if single&0x7FFFFFFF > 0x7F800000 {
		return uint16(single>>16)&0x8000 | 0x7FC0
	}
	return uint16((single + 0x7FFF + single>>16&1) >> 16)
}

// singleToHalf rounds an F32 to F16.
func singleToHalf(single uint32) uint16 {
	sign := uint16(single >> 16 & 0x8000)
	magnitude := single & 0x7FFFFFFF
	switch {
	case magnitude > 0x7F800000:
		return sign | 0x7E00
	case magnitude >= 0x47800000: // 65536 and more
		return sign | 0x7C00
	case magnitude < 0x38800000: // below 2^-14: adding a half rounds to units of 2^-24
		return sign | uint16(math.Float32bits(math.Float32frombits(magnitude)+0.5)-math.Float32bits(0.5))
	}
	// A carry out of the mantissa gives the next exponent. After the largest exponent it gives
	// infinity.
	return sign | uint16((magnitude-(127-15)<<23+0xFFF+magnitude>>13&1)>>13)
}
