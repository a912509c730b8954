package model

import (
	"math"
	"math/bits"
)

// Elements of parameters that the weights do not have. They are the same bits on every machine and for any
// number of threads: each element depends only on the seed, the name of its parameter and its index.
//
// Random bits come from Philox4x32-10 (Salmon and others, "Parallel random numbers: as easy as 1, 2, 3",
// 2011), a cipher of a counter. The key is the seed. The counter has the hash FNV-1a of the name in its
// upper half, and half of the index of the element in its lower half: one block makes the bits of two
// elements.
//
// Normal numbers are the inverse of the distribution at a uniform number (algorithm AS 241, PPND16, of
// Wichura, 1988). It uses +, -, *, / and the square root, which IEEE 754 rounds correctly. Each product is
// converted explicitly, so that no compiler joins it with a sum. The logarithm is logarithm below, because
// that of the standard library is assembly on some machines.

// stream makes random bits.
type stream struct {
	key  [2]uint32
	high [2]uint32
}

// streamOf returns the bits of a parameter.
func streamOf(seed uint64, name string) stream {
	const offset, prime = 14695981039346656037, 1099511628211
	hash := uint64(offset)
	for i := range len(name) {
		hash = (hash ^ uint64(name[i])) * prime
	}
	return stream{key: [2]uint32{uint32(seed), uint32(seed >> 32)}, high: [2]uint32{uint32(hash), uint32(hash >> 32)}}
}

// block returns 128 bits.
func (s *stream) block(counter uint64) [4]uint32 {
	const first, second = 0xD2511F53, 0xCD9E8D57
	x := [4]uint32{uint32(counter), uint32(counter >> 32), s.high[0], s.high[1]}
	key := s.key
	for range 10 {
		high0, low0 := bits.Mul32(first, x[0])
		high1, low1 := bits.Mul32(second, x[2])
		x = [4]uint32{high1 ^ x[1] ^ key[0], low1, high0 ^ x[3] ^ key[1], low0}
		key[0] += 0x9E3779B9
		key[1] += 0xBB67AE85
	}
	return x
}

// bits returns the 64 bits of an element.
func (s *stream) bits(index uint64) uint64 {
	x := s.block(index / 2)
	if index%2 == 0 {
		return uint64(x[0]) | uint64(x[1])<<32
	}
	return uint64(x[2]) | uint64(x[3])<<32
}

// unit returns a uniform number in [0, 1): a multiple of 2^-53.
func unit(random uint64) float64 { return float64(random>>11) * (1.0 / (1 << 53)) }

// uniform returns a number in [low, high); low if both are equal.
func uniform(random uint64, low, high float64) float64 {
	span := high - low
	value := low + float64(unit(random)*span)
	if value >= high && low < high {
		value = math.Nextafter(high, low)
	}
	return value
}

// normal returns a number of the standard normal distribution.
func normal(random uint64) float64 {
	// The middle of a step of 2^-52 is neither 0 nor 1.
	p := float64(random>>12)*(1.0/(1<<52)) + 1.0/(1<<53)
	q := p - 0.5
	if math.Abs(q) <= 0.425 {
		r := 0.180625 - float64(q*q)
		return q * polynomial(r, &nearNumerator) / polynomial(r, &nearDenominator)
	}
	tail := p
	if q > 0 {
		tail = 1 - p
	}
	r := math.Sqrt(-logarithm(tail))
	value := 0.0
	if r <= 5 {
		value = polynomial(r-1.6, &middleNumerator) / polynomial(r-1.6, &middleDenominator)
	} else {
		value = polynomial(r-5, &farNumerator) / polynomial(r-5, &farDenominator)
	}
	if q < 0 {
		return -value
	}
	return value
}

// polynomial evaluates a polynomial whose coefficient of the highest power is the last.
func polynomial(x float64, of *[8]float64) float64 {
	sum := of[7]
	for i := 6; i >= 0; i-- {
		sum = float64(sum*x) + of[i]
	}
	return sum
}

// The coefficients of PPND16.
var (
	nearNumerator = [8]float64{
		3.3871328727963666080e0, 1.3314166789178437745e+2, 1.9715909503065514427e+3, 1.3731693765509461125e+4,
		4.5921953931549871457e+4, 6.7265770927008700853e+4, 3.3430575583588128105e+4, 2.5090809287301226727e+3,
	}
	nearDenominator = [8]float64{
		1, 4.2313330701600911252e+1, 6.8718700749205790830e+2, 5.3941960214247511077e+3,
		2.1213794301586595867e+4, 3.9307895800092710610e+4, 2.8729085735721942674e+4, 5.2264952788528545610e+3,
	}
	middleNumerator = [8]float64{
		1.42343711074968357734e0, 4.63033784615654529590e0, 5.76949722146069140550e0, 3.64784832476320460504e0,
		1.27045825245236838258e0, 2.41780725177450611770e-1, 2.27238449892691845833e-2, 7.74545014278341407640e-4,
	}
	middleDenominator = [8]float64{
		1, 2.05319162663775882187e0, 1.67638483018380384940e0, 6.89767334985100004550e-1,
		1.48103976427480074590e-1, 1.51986665636164571966e-2, 5.47593808499534494600e-4, 1.05075007164441684324e-9,
	}
	farNumerator = [8]float64{
		6.65790464350110377720e0, 5.46378491116411436990e0, 1.78482653991729133580e0, 2.96560571828504891230e-1,
		2.65321895265761230930e-2, 1.24266094738807843860e-3, 2.71155556874348757815e-5, 2.01033439929228813265e-7,
	}
	farDenominator = [8]float64{
		1, 5.99832206555887937690e-1, 1.36929880922735805310e-1, 1.48753612908506148525e-2,
		7.86869131145613259100e-4, 1.84631831751005468180e-5, 1.42151175831644588870e-7, 2.04426310338993978564e-15,
	}
)

// logarithm returns the natural logarithm of a positive normal number: that of its power of two, and
// 2 artanh((m-1)/(m+1)) of its fraction m in [1/sqrt 2, sqrt 2) as a series.
func logarithm(x float64) float64 {
	fraction, power := math.Frexp(x)
	if fraction < math.Sqrt2/2 {
		fraction, power = fraction*2, power-1
	}
	z := (fraction - 1) / (fraction + 1)
	square := float64(z * z)
	sum := 0.0
	for odd := 25; odd >= 1; odd -= 2 {
		sum = float64(sum*square) + 1/float64(odd)
	}
	return float64(float64(power)*math.Ln2) + float64(2*float64(z*sum))
}
