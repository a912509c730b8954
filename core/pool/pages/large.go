package pages

import "iter"

// Large pages. A device maps a long range with the same number of calls as a short one. A
// large page can only be unmapped as a whole, so one small block in it would keep all of
// it. Therefore a large page serves only blocks that contain all of its bytes: it is
// either completely busy with one block, or completely idle. For any other block, the
// addresses of an idle large page count as not mapped, and the owner releases the large
// page before it maps other pages there.
//
// A large page starts at a multiple of its size.

// Split yields the large pages of which count adjacent blocks of one size would occupy
// only a part; it yields one page number of each. The caller may drop a large page when
// it was yielded.
func (t *Table) Split(offset, size, count uint64) iter.Seq[uint64] {
	return func(yield func(uint64) bool) {
		if t.largeBytes == 0 {
			return
		}
		inside, end := t.largeBytes-1, offset+size*count
		if size < t.largeBytes {
			for at := offset; at < end; at = (at | inside) + 1 {
				if page := at >> t.shift; t.IsLarge(page) && !yield(page) {
					return
				}
			}
			return
		}
		// Blocks of at least that size occupy only a part of a large page that contains
		// one of their ends.
		for at := offset; at <= end; at += size {
			if page := (at - 1) >> t.shift; at&inside != 0 && t.IsLarge(page) && !yield(page) {
				return
			}
		}
	}
}

// splitsMany is splits for count adjacent blocks of one size.
func (t *Table) splitsMany(offset, size, count uint64) bool {
	for range t.Split(offset, size, count) {
		return true
	}
	return false
}

// Bare yields the places in a block where a large page fits and nothing is mapped, by the
// first page number of each.
func (t *Table) Bare(offset, size uint64) iter.Seq[uint64] {
	return func(yield func(uint64) bool) {
		if t.largeBytes == 0 {
			return
		}
		inside, end := t.largeBytes-1, offset+size
		for at := (offset + inside) &^ inside; at < end && end-at >= t.largeBytes; at += t.largeBytes {
			if first := at >> t.shift; t.isBare(first, first+t.largePages()) && !yield(first) {
				return
			}
		}
	}
}

// isBare reports whether none of the pages [from, to) is mapped.
func (t *Table) isBare(from, to uint64) bool {
	for page := from; page < to; page++ {
		if t.IsMapped(page) {
			return false
		}
	}
	return true
}
