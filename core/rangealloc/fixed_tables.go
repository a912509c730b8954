package rangealloc

import "math/bits"

// fixedPage is the state of a page, in 16 bytes.
type fixedPage struct {
	// end is the latest expected end of the blocks allocated since the page was empty.
	end  uint64
	live uint32
	// low is the lowest word that may have a free block.
	low uint16
	// listed is the list of the page: listedFull for none, listedEmpty, or the set of
	// partly used pages with its free space.
	listed uint8
}

const (
	listedFull  = 0
	listedEmpty = 1
)

// The sets of pages. From setRoom on there is one set for each number of free blocks that
// a partly used page can have, in units of 1<<roomShift blocks, rounded down.
const (
	setEmpty = iota
	setPartial
	setRoom
)

// fixedTables grow with the highest page ever used.
type fixedTables struct {
	table []fixedPage
	// words has a bit for each free block, wordsPerPage words for each page.
	words        []uint64
	wordsPerPage uint64
	sets         pageSets
	roomShift    uint
	// perPage is the number of blocks in a page, and perLast that in the last page of the
	// table, which may be the last of the range.
	perPage, perLast uint32
}

// newFixedTables creates tables for pages of per blocks. With lowest, the free space of a
// page does not matter.
func newFixedTables(per uint32, lowest bool) fixedTables {
	// A partly used page has at most per-1 free blocks, and 64 sets are enough to choose
	// well.
	roomShift := uint(max(bits.Len32(per-1), 6) - 6)
	if lowest {
		roomShift = uint(bits.Len32(per - 1))
	}
	return fixedTables{
		wordsPerPage: (uint64(per) + 63) / 64,
		sets:         newPageSets(setRoom + int((per-1)>>roomShift) + 1),
		roomShift:    roomShift,
		perPage:      per,
		perLast:      per,
	}
}

// grow adds an empty page of per blocks.
func (t *fixedTables) grow(per uint32) {
	page := uint32(len(t.table))
	t.table = append(t.table, fixedPage{})
	for left := uint64(per); uint64(len(t.words)) < uint64(len(t.table))*t.wordsPerPage; {
		some := min(left, 64)
		t.words = append(t.words, 1<<some-1)
		left -= some
	}
	t.perLast = per
	t.sets.reach(page)
	t.relist(page)
}

// pageWords returns the bits of a page.
func (t *fixedTables) pageWords(page uint32) []uint64 {
	return t.words[uint64(page)*t.wordsPerPage:][:t.wordsPerPage]
}

func (t *fixedTables) room(page uint32) uint32 {
	per := t.perPage
	if int(page) == len(t.table)-1 {
		per = t.perLast
	}
	return per - t.table[page].live
}

// setOfAtLeast returns the first set whose pages all have at least room free blocks.
func (t *fixedTables) setOfAtLeast(room uint32) int {
	return setRoom + int((room+1<<t.roomShift-1)>>t.roomShift)
}

// released updates a page after count blocks of it were freed; word is the word of the
// lowest of them.
func (t *fixedTables) released(page, count, word uint32) {
	p := &t.table[page]
	p.live -= count
	p.low = min(p.low, uint16(word))
	t.relist(page)
}

// relist moves a page to the sets for its number of free blocks.
func (t *fixedTables) relist(page uint32) {
	p := &t.table[page]
	listed := uint8(listedEmpty)
	if p.live != 0 {
		listed = listedFull
		if room := t.room(page); room != 0 {
			listed = uint8(setRoom + room>>t.roomShift)
		}
	}
	if listed == p.listed {
		return
	}
	if p.listed == listedEmpty {
		t.sets.remove(setEmpty, page)
	} else if p.listed != listedFull {
		t.sets.remove(int(p.listed), page)
		if listed < setRoom {
			t.sets.remove(setPartial, page)
		}
	}
	if listed == listedEmpty {
		t.sets.add(setEmpty, page)
	} else if listed != listedFull {
		t.sets.add(int(listed), page)
		if p.listed < setRoom {
			t.sets.add(setPartial, page)
		}
	}
	p.listed = listed
}
