package rangealloc

import "math/bits"

// The rule of size classes, for the strategy "size_class" and for caches in front of a
// strategy. Sizes are in granules. Up to 16 granules, every size is a class. Above, every
// power of two is divided into eight classes: a class is m<<k granules with m from 9 to
// 16. So rounding up to a class adds less than an eighth.

// exactClasses is the number of sizes that are a class each.
const exactClasses = 16

// MaxClassGranules is the size of the largest class.
const MaxClassGranules = 1 << 63

// SizeClass returns the number, from 0, of the smallest class that holds a size of 1 to
// MaxClassGranules.
func SizeClass(granules uint64) int {
	if granules <= exactClasses {
		return int(granules) - 1
	}
	k := bits.Len64(granules-1) - 4
	m := int((granules - 1) >> k)
	return exactClasses + (k-1)*8 + m - 8
}

// ClassGranules returns the size of a class.
func ClassGranules(class int) uint64 {
	if class < exactClasses {
		return uint64(class) + 1
	}
	above := class - exactClasses
	return uint64(above%8+9) << (above/8 + 1)
}
