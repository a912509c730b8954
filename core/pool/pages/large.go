package pages

import "iter"

// Large pages. A device may map a long piece of memory by as many calls as a short one.
// Such a piece can be unmapped as a whole only, so one small block in it would keep all
// of it. Therefore a large page serves only blocks that contain all of its bytes: it is
// all busy, with one block, or all idle. To any other block its addresses are as if
// nothing were mapped there, and the owner gives the large page back before it maps
// others in its place.
//
// A large page starts at a multiple of its size.

// Split is the large pages of which count blocks of a size that lie behind each other
// would have a part, by one page of each. A large page may be dropped when it has come.
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
		// A block that is as long has a part of those only that go over one of its ends.
		for at := offset; at <= end; at += size {
			if page := (at - 1) >> t.shift; at&inside != 0 && t.IsLarge(page) && !yield(page) {
				return
			}
		}
	}
}

// splitsMany is splits for count blocks of a size that lie behind each other.
func (t *Table) splitsMany(offset, size, count uint64) bool {
	for range t.Split(offset, size, count) {
		return true
	}
	return false
}

// Bare is the places for large pages in a block at which nothing is mapped, by the first
// page of each.
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

// isBare says that none of the pages [from, to) is mapped.
func (t *Table) isBare(from, to uint64) bool {
	for page := from; page < to; page++ {
		if t.IsMapped(page) {
			return false
		}
	}
	return true
}
