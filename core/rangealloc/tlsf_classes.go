package rangealloc

import "math/bits"

// classes has the free runs of tlsf, in a doubly linked list for each class of sizes.
// Each size below 64 granules is a class. From there on every power of two has 32 classes
// of equal width, so the runs of a class differ by less than a 32nd in length. A bit for
// each class is set if its list has a run, and a bit for each row of 32 classes if any of
// them has.
type classes struct {
	rows  uint64
	row   [64]uint32
	heads []uint32
	count uint64
}

const (
	rowBits = 5
	rowMask = 1<<rowBits - 1
)

// newClasses returns empty lists for runs of up to total granules.
func newClasses(total uint64) classes {
	return classes{heads: make([]uint32, classOf(total)+1)}
}

// classOf returns the class of a run of a size. It does not decrease with the size.
func classOf(size uint64) uint {
	drop := uint(bits.Len64(size>>rowBits|1)) - 1
	return drop<<rowBits + uint(size>>(drop&63))
}

// classFor returns the first class whose runs all have at least this size, which is not
// 0.
func classFor(size uint64) uint { return classOf(size-1) + 1 }

func (c *classes) insert(all []record[uint64], at uint32) {
	class := classOf(all[at].size())
	push(all, &c.heads[class], at)
	c.row[class>>rowBits&63] |= 1 << (class & rowMask)
	c.rows |= 1 << (class >> rowBits & 63)
	c.count++
}

func (c *classes) remove(all []record[uint64], at uint32) {
	c.unlink(all, at, classOf(all[at].size()))
}

// resize moves a run to the list of its new size. was is its old size. Usually the list
// is the same.
func (c *classes) resize(all []record[uint64], at uint32, was uint64) {
	if class := classOf(was); class != classOf(all[at].size()) {
		c.unlink(all, at, class)
		c.insert(all, at)
	}
}

func (c *classes) unlink(all []record[uint64], at uint32, class uint) {
	c.count--
	if !pull(all, &c.heads[class], at) {
		return
	}
	row := class >> rowBits & 63
	c.row[row] &^= 1 << (class & rowMask)
	if c.row[row] == 0 {
		c.rows &^= 1 << row
	}
}

// from returns a run of the first class, from this class on, that has any.
func (c *classes) from(class uint) uint32 {
	row := class >> rowBits & 63
	set := c.row[row] >> (class & rowMask) << (class & rowMask)
	if set == 0 {
		rows := c.rows >> row >> 1
		if rows == 0 {
			return none
		}
		row += 1 + uint(bits.TrailingZeros64(rows))
		set = c.row[row&63]
	}
	return c.heads[row<<rowBits+uint(bits.TrailingZeros32(set))]
}

// in returns a run of this class.
func (c *classes) in(class uint) uint32 {
	if class >= uint(len(c.heads)) {
		return none
	}
	return c.heads[class]
}

// last returns a run of the last class that has any.
func (c *classes) last() uint32 {
	if c.rows == 0 {
		return none
	}
	row := uint(bits.Len64(c.rows)) - 1
	return c.heads[row<<rowBits+uint(bits.Len32(c.row[row&63]))-1]
}
