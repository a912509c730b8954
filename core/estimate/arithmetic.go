package estimate

import (
	"math/bits"

	"ferrum_mem/core/device"
)

// calculation adds and multiplies amounts. After an overflow of 64 bits its results are
// invalid and err returns an error. So a chain of formulas is written without checks,
// and checked once at the end.
type calculation struct{ overflowed bool }

// product returns the product of all factors; 1 without factors.
func (c *calculation) product(factors ...uint64) uint64 {
	result := uint64(1)
	for _, f := range factors {
		// A factor of 0 makes the product 0, even after an overflow.
		if f == 0 {
			return 0
		}
	}
	for _, f := range factors {
		high, low := bits.Mul64(result, f)
		if high != 0 {
			c.overflowed = true
		}
		result = low
	}
	return result
}

// sum returns the sum of all terms.
func (c *calculation) sum(terms ...uint64) uint64 {
	var result uint64
	for _, t := range terms {
		added, carry := bits.Add64(result, t, 0)
		if carry != 0 {
			c.overflowed = true
		}
		result = added
	}
	return result
}

// share returns amount x part / whole, rounded up and without loss of precision. part
// is at most whole, and whole is not 0.
func (c *calculation) share(amount, part, whole uint64) uint64 {
	high, low := bits.Mul64(amount, part)
	low, carry := bits.Add64(low, whole-1, 0)
	high += carry
	if high >= whole {
		c.overflowed = true
		return 0
	}
	quotient, _ := bits.Div64(high, low, whole)
	return quotient
}

// err returns an error that names the amount after an overflow, and nil otherwise.
func (c *calculation) err(op, amount string) error {
	if !c.overflowed {
		return nil
	}
	return device.Errorf(device.CodeOverflow, op, "%s is more than can be counted in 64 bits", amount)
}

// ceilDiv returns a / b, rounded up; b is not 0.
func ceilDiv(a, b uint64) uint64 {
	quotient := a / b
	if a%b != 0 {
		quotient++
	}
	return quotient
}
