package estimate

import (
	"math/bits"

	"ferrum_mem/core/device"
)

// calculation adds and multiplies amounts until one of them is too large to be
// counted in 64 bits; from then on its results mean nothing and its error says
// so. A chain of formulas is written down plainly and checked once.
type calculation struct{ overflowed bool }

// product is the product of all factors; of none it is 1.
func (c *calculation) product(factors ...uint64) uint64 {
	result := uint64(1)
	for _, f := range factors {
		// A later 0 makes the whole product 0 whatever came before.
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

// sum is the sum of all terms.
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

// share is amount x part / whole rounded up, exact in between. part is at most
// whole, and whole is not 0.
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

// err names the amount that did not fit, or is nil.
func (c *calculation) err(op, amount string) error {
	if !c.overflowed {
		return nil
	}
	return device.Errorf(device.CodeOverflow, op, "%s is more than can be counted in 64 bits", amount)
}

// ceilDiv is a / b rounded up; b is not 0.
func ceilDiv(a, b uint64) uint64 {
	quotient := a / b
	if a%b != 0 {
		quotient++
	}
	return quotient
}
