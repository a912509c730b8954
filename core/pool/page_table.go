package pool

import (
	"math/bits"

	"ferrum_mem/core/device"
	"ferrum_mem/core/internal/offheap"
)

// pageTable is what a virtual segment knows of its pages: which are mapped, and
// which a block touches. It is as long as the highest page that was ever mapped.
//
// Only the first and the last page of a block can have another block in it, so
// only they are counted. The pages between are busy as a run of bits: to touch
// and to leave a block of any size costs one operation for 64 of its pages.
type pageTable struct {
	paging  *paging
	shift   uint
	entries []pageEntry
	// mapped and busy have a bit for each page. A page that is mapped and not busy
	// is idle.
	mapped, busy []uint64

	entryMemory              offheap.Table[pageEntry]
	mappedMemory, busyMemory offheap.Table[uint64]
}

// pageEntry is one page.
type pageEntry struct {
	// page is what is mapped; 0: nothing.
	page device.Page
	// blocks counts those that start or end in the page.
	blocks uint32
}

// pageRun is pages of one segment that lie one after the other.
type pageRun struct {
	segment     *segment
	first, last uint64
}

func (r pageRun) count() uint64 { return r.last - r.first + 1 }

// addr is where a run starts, and bytes how long it is.
func (r pageRun) addr() device.Addr {
	return r.segment.base + device.Addr(r.first<<r.segment.pages.shift)
}

func (r pageRun) bytes() uint64 { return r.count() << r.segment.pages.shift }

// pagesOf is the run of pages that a range lies in.
func (s *segment) pagesOf(offset, size uint64) pageRun {
	return pageRun{s, offset >> s.pages.shift, (offset + size - 1) >> s.pages.shift}
}

// touch counts a block in; false, and nothing is changed, when not all of its
// pages are mapped.
func (t *pageTable) touch(offset, size uint64) bool {
	first, last := offset>>t.shift, (offset+size-1)>>t.shift
	if first == last && first < uint64(len(t.entries)) {
		if e := &t.entries[first]; e.blocks != 0 {
			e.blocks++
			return true
		}
	}
	return t.touchRun(first, last)
}

func (t *pageTable) touchRun(first, last uint64) bool {
	if last >= uint64(len(t.entries)) {
		return false
	}
	from, to := t.fresh(first, last)
	if from < to {
		if !allSet(t.mapped, from, to) {
			return false
		}
		setBits(t.busy, from, to)
		t.paging.took(to - from)
	}
	t.entries[first].blocks++
	if first != last {
		t.entries[last].blocks++
	}
	return true
}

// leave counts a block out.
func (t *pageTable) leave(offset, size uint64) {
	first, last := offset>>t.shift, (offset+size-1)>>t.shift
	if e := &t.entries[first]; first == last && e.blocks > 1 {
		e.blocks--
		return
	}
	t.entries[first].blocks--
	if first != last {
		t.entries[last].blocks--
	}
	if from, to := t.fresh(first, last); from < to {
		clearBits(t.busy, from, to)
		t.paging.idle += to - from
	}
}

// fresh is the part [from, to) of a block's pages that no other block is in.
func (t *pageTable) fresh(first, last uint64) (from, to uint64) {
	from, to = first, last+1
	if t.entries[first].blocks != 0 {
		from++
	}
	if first != last && t.entries[last].blocks != 0 {
		to--
	}
	return from, to
}

// isMapped takes pages beyond the table too.
func (t *pageTable) isMapped(page uint64) bool {
	return page < uint64(len(t.entries)) && t.mapped[page>>6]>>(page&63)&1 != 0
}

func (t *pageTable) isBusy(page uint64) bool {
	return page < uint64(len(t.entries)) && t.busy[page>>6]>>(page&63)&1 != 0
}

// reach makes the table long enough for a page, or changes nothing.
func (t *pageTable) reach(page uint64) error {
	if page < uint64(len(t.entries)) {
		return nil
	}
	count := int(page) + 1
	if err := t.entryMemory.Grow(&t.entries, count); err != nil {
		return err
	}
	count = cap(t.entries)
	words := (count + 63) / 64
	if err := t.mappedMemory.Grow(&t.mapped, words); err != nil {
		return err
	}
	if err := t.busyMemory.Grow(&t.busy, words); err != nil {
		return err
	}
	t.mapped, t.busy, t.entries = t.mapped[:words], t.busy[:words], t.entries[:count]
	return nil
}

// missing appends the runs of a block's pages that are not mapped.
func (r pageRun) missing(to []pageRun) []pageRun {
	t := r.segment.pages
	for page := r.first; page <= r.last; page++ {
		if t.isMapped(page) {
			continue
		}
		run := pageRun{r.segment, page, page}
		for run.last < r.last && !t.isMapped(run.last+1) {
			run.last++
		}
		to = append(to, run)
		page = run.last
	}
	return to
}

// set notes pages that were mapped: they are idle.
func (t *pageTable) set(first uint64, pages []device.Page) {
	for i, page := range pages {
		t.entries[first+uint64(i)].page = page
	}
	setBits(t.mapped, first, first+uint64(len(pages)))
	t.paging.idle += uint64(len(pages))
}

// drop forgets a mapped, idle page and gives it.
func (t *pageTable) drop(page uint64) device.Page {
	was := t.entries[page].page
	t.entries[page].page = 0
	t.mapped[page>>6] &^= 1 << (page & 63)
	t.paging.took(1)
	return was
}

// idleIn is the idle pages of a word of the table.
func (t *pageTable) idleIn(word int) uint64 { return t.mapped[word] &^ t.busy[word] }

// mappedCount counts the mapped pages of the segment.
func (t *pageTable) mappedCount() (count uint64) {
	for _, word := range t.mapped {
		count += uint64(bits.OnesCount64(word))
	}
	return count
}

// runs lists what is mapped, in order.
func (t *pageTable) runs(s *segment) []pageRun {
	var runs []pageRun
	for page := uint64(0); page < uint64(len(t.entries)); page++ {
		if !t.isMapped(page) {
			continue
		}
		if n := len(runs); n > 0 && runs[n-1].last+1 == page {
			runs[n-1].last = page
		} else {
			runs = append(runs, pageRun{s, page, page})
		}
	}
	return runs
}

func (t *pageTable) close() {
	t.entryMemory.Free(&t.entries)
	t.mappedMemory.Free(&t.mapped)
	t.busyMemory.Free(&t.busy)
}

// allSet says whether all bits [from, to) are set.
func allSet(words []uint64, from, to uint64) bool {
	word, last := from>>6, (to-1)>>6
	low, high := ^uint64(0)<<(from&63), ^uint64(0)>>(63-(to-1)&63)
	if word == last {
		return ^words[word]&low&high == 0
	}
	if ^words[word]&low|^words[last]&high != 0 {
		return false
	}
	for word++; word < last; word++ {
		if ^words[word] != 0 {
			return false
		}
	}
	return true
}

func setBits(words []uint64, from, to uint64) {
	word, last := from>>6, (to-1)>>6
	low, high := ^uint64(0)<<(from&63), ^uint64(0)>>(63-(to-1)&63)
	if word == last {
		words[word] |= low & high
		return
	}
	words[word] |= low
	for word++; word < last; word++ {
		words[word] = ^uint64(0)
	}
	words[last] |= high
}

func clearBits(words []uint64, from, to uint64) {
	word, last := from>>6, (to-1)>>6
	low, high := ^uint64(0)<<(from&63), ^uint64(0)>>(63-(to-1)&63)
	if word == last {
		words[word] &^= low & high
		return
	}
	words[word] &^= low
	for word++; word < last; word++ {
		words[word] = 0
	}
	words[last] &^= high
}
