package model

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
)

// The known answers of Philox4x32-10 that its authors published.
func TestPhiloxHasItsKnownAnswers(t *testing.T) {
	zero := stream{}
	assert.Equal(t, [4]uint32{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}, zero.block(0))
	ones := stream{key: [2]uint32{0xffffffff, 0xffffffff}, high: [2]uint32{0xffffffff, 0xffffffff}}
	assert.Equal(t, [4]uint32{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}, ones.block(0xffffffffffffffff))
	pi := stream{key: [2]uint32{0xa4093822, 0x299f31d0}, high: [2]uint32{0x13198a2e, 0x03707344}}
	assert.Equal(t, [4]uint32{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}, pi.block(0x85a308d3243f6a88))
}

func TestNormalNumbersAreTheInverseOfTheDistribution(t *testing.T) {
	s := streamOf(3, "p")
	for i := range uint64(20000) {
		random := s.bits(i)
		if i < 200 { // also the tails
			random = i << 20
		} else if i < 400 {
			random = math.MaxUint64 - i<<30
		}
		p := float64(random>>12)*(1.0/(1<<52)) + 1.0/(1<<53)
		want := math.Sqrt2 * math.Erfinv(2*p-1)
		if p < 1e-3 || p > 1-1e-3 {
			// Erfinv loses digits near 1, so the tail is checked by the distribution itself.
			x := normal(random)
			tail := min(p, 1-p)
			assert.InEpsilon(t, tail, math.Erfc(math.Abs(x)/math.Sqrt2)/2, 1e-9, "%v", p)
			continue
		}
		assert.InDelta(t, want, normal(random), 1e-12*max(1, math.Abs(want)))
	}
}

func TestLogarithm(t *testing.T) {
	for _, x := range []float64{1, 2, 0.5, 1e-300, 3e-16, 0.7071, 0.70712, 1.41421, 1e300, math.Pi} {
		assert.InEpsilon(t, 1+math.Log(x), 1+logarithm(x), 1e-14, "%v", x)
	}
}

func TestUniformStaysBelowItsEnd(t *testing.T) {
	assert.Less(t, uniform(math.MaxUint64, 1, math.Nextafter(1, 2)), math.Nextafter(1, 2))
	assert.Equal(t, -2.0, uniform(0, -2, 5))
	assert.Less(t, uniform(math.MaxUint64, -2, 5), 5.0)
}
