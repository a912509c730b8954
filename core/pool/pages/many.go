package pages

import "math/bits"

// TouchMany is Touch for count adjacent blocks of one size, all or none. It counts all
// blocks of a page at once.
func (t *Table) TouchMany(offset, size, count uint64) bool {
	end := offset + size*count
	first, last := offset>>t.shift, (end-1)>>t.shift
	if last >= uint64(len(t.entries)) || t.splitsMany(offset, size, count) {
		return false
	}
	if t.wholePages(offset, size) {
		if !allSet(t.mapped, first, last+1) {
			return false
		}
		setBits(t.busy, first, last+1)
		t.counts.subtract(last + 1 - first)
		t.countWhole(first, last, size, 1)
		return true
	}
	for page := first; page <= last; page++ {
		if t.entries[page].Blocks == 0 && !t.IsMapped(page) {
			return false
		}
	}
	if size>>t.shift > 0 {
		for at := offset; at < end; at += size {
			t.Touch(at, size)
		}
		return true
	}
	for page := first; page <= last; page++ {
		e := &t.entries[page]
		if e.Blocks == 0 {
			setBits(t.busy, page, page+1)
			t.counts.subtract(1)
		}
		e.Blocks += t.inPage(page, offset, size, end)
	}
	return true
}

// ReleaseMany is Release for the blocks of TouchMany.
func (t *Table) ReleaseMany(offset, size, count uint64) {
	end := offset + size*count
	if t.wholePages(offset, size) {
		first, last := offset>>t.shift, (end-1)>>t.shift
		clearBits(t.busy, first, last+1)
		t.counts.Idle += last + 1 - first
		t.countWhole(first, last, size, ^uint32(0))
		return
	}
	if size>>t.shift > 0 {
		for at := offset; at < end; at += size {
			t.Release(at, size)
		}
		return
	}
	for page := offset >> t.shift; page <= (end-1)>>t.shift; page++ {
		e := &t.entries[page]
		if e.Blocks -= t.inPage(page, offset, size, end); e.Blocks == 0 {
			clearBits(t.busy, page, page+1)
			t.counts.Idle++
		}
	}
}

// wholePages reports whether blocks share no page with other blocks.
func (t *Table) wholePages(offset, size uint64) bool {
	return (offset|size)&(1<<t.shift-1) == 0
}

// countWhole adds more to the counts of pages in which blocks of whole pages start or
// end.
func (t *Table) countWhole(first, last, size uint64, more uint32) {
	entries, pages := t.entries[first:last+1], size>>t.shift
	for at := uint64(0); at < uint64(len(entries)); at += pages {
		entries[at].Blocks += more
		if pages > 1 {
			entries[at+pages-1].Blocks += more
		}
	}
}

// inPage returns the number of blocks of a size, from offset to end, that have a part in
// a page.
func (t *Table) inPage(page, offset, size, end uint64) uint32 {
	from, to := max(offset, page<<t.shift), min(end, (page+1)<<t.shift)
	return uint32((to-1-offset)/size - (from-offset)/size + 1)
}

// EachMapped visits the mapped parts of a range.
func (t *Table) EachMapped(offset, size uint64, visit func(offset, length uint64)) {
	end := min(offset+size, uint64(len(t.entries))<<t.shift)
	for at := offset; at < end; {
		page := at >> t.shift
		mapped := t.IsMapped(page)
		for mapped == t.IsMapped(page) && page<<t.shift < end {
			page = t.nextChange(page, mapped)
		}
		next := min(page<<t.shift, end)
		if mapped {
			visit(at, next-at)
		}
		at = next
	}
}

// EachSmall is EachMapped without the large pages.
func (t *Table) EachSmall(offset, size uint64, visit func(offset, length uint64)) {
	t.EachMapped(offset, size, func(from, length uint64) {
		if t.largeBytes == 0 {
			visit(from, length)
			return
		}
		end := from + length
		for at := from; at < end; {
			next := min((at|(t.largeBytes-1))+1, end)
			if t.IsLarge(at >> t.shift) {
				if from < at {
					visit(from, at-from)
				}
				from = next
			}
			at = next
		}
		if from < end {
			visit(from, end-from)
		}
	})
}

// nextChange returns the next page whose state differs from mapped. The search ends at
// the end of a word of the table; then it returns the first page of the next word.
func (t *Table) nextChange(page uint64, mapped bool) uint64 {
	word := t.mapped[page>>6]
	if mapped {
		word = ^word
	}
	if rest := word >> (page & 63) >> 1; rest != 0 {
		return page + 1 + uint64(bits.TrailingZeros64(rest))
	}
	return (page | 63) + 1
}
