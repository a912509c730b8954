package pages

import (
	"iter"
	"math/bits"

	"ferrum_mem/core/device"
	"ferrum_mem/core/internal/offheap"
	"ferrum_mem/core/lending"
)

// Counts is how many pages of all tables of a pool are mapped and have no block.
type Counts struct {
	// Idle is how many there are, and Low is the least of it since BeginWindow.
	Idle, Low uint64
}

// BeginWindow has Low begin anew.
func (c *Counts) BeginWindow() { c.Low = c.Idle }

// took counts idle pages that are idle no more.
func (c *Counts) took(pages uint64) {
	c.Idle -= pages
	c.Low = min(c.Low, c.Idle)
}

// Run is pages that lie one after the other.
type Run struct{ First, Last uint64 }

// Count is how many they are.
func (r Run) Count() uint64 { return r.Last - r.First + 1 }

// Table is what is known of the pages of one reservation of addresses: which are mapped,
// and which a block touches. It is as long as the highest page that was ever mapped.
//
// Only the first and the last page of a block can have another block in it, so
// only they are counted. The pages between are busy as a run of bits: to touch
// and to leave a block of any size costs one operation for 64 of its pages.
//
// A large page is one page of the device behind as many pages of the table as it is
// long (large.go).
type Table struct {
	counts *Counts
	shift  uint
	// largeBytes is how long a large page is; 0: the table has none.
	largeBytes uint64
	entries    []lending.Page
	// mapped and busy have a bit for each page. A page that is mapped and not busy
	// is idle.
	mapped, busy []uint64

	entryMemory              offheap.Table[lending.Page]
	mappedMemory, busyMemory offheap.Table[uint64]
}

// New makes a table of pages of a size, a power of two, whose idle pages are counted in
// counts. largeBytes, a larger power of two, is the size of its large pages; 0: it has
// none.
func New(pageBytes, largeBytes uint64, counts *Counts) *Table {
	return &Table{counts: counts, shift: uint(bits.TrailingZeros64(pageBytes)), largeBytes: largeBytes}
}

// Shift is the logarithm of the size of a page.
func (t *Table) Shift() uint { return t.shift }

// RunOf is the pages that a range lies in.
func (t *Table) RunOf(offset, size uint64) Run {
	return Run{offset >> t.shift, (offset + size - 1) >> t.shift}
}

// Touch counts a block in; false, and nothing is changed, when not all of its
// pages are mapped, or it would have a part of a large one.
func (t *Table) Touch(offset, size uint64) bool {
	first, last := offset>>t.shift, (offset+size-1)>>t.shift
	if first == last && first < uint64(len(t.entries)) {
		if e := &t.entries[first]; e.Blocks != 0 {
			e.Blocks++
			return true
		}
	}
	if last >= uint64(len(t.entries)) || t.largeBytes != 0 && t.splits(offset, offset+size) {
		return false
	}
	return t.touchRun(first, last)
}

func (t *Table) touchRun(first, last uint64) bool {
	from, to := t.fresh(first, last)
	if from < to {
		if !allSet(t.mapped, from, to) {
			return false
		}
		setBits(t.busy, from, to)
		t.counts.took(to - from)
	}
	t.entries[first].Blocks++
	if first != last {
		t.entries[last].Blocks++
	}
	return true
}

// Release counts a block out.
func (t *Table) Release(offset, size uint64) {
	first, last := offset>>t.shift, (offset+size-1)>>t.shift
	if e := &t.entries[first]; first == last && e.Blocks > 1 {
		e.Blocks--
		return
	}
	t.entries[first].Blocks--
	if first != last {
		t.entries[last].Blocks--
	}
	if from, to := t.fresh(first, last); from < to {
		clearBits(t.busy, from, to)
		t.counts.Idle += to - from
	}
}

// IsLarge says that a page is a part of a large one.
func (t *Table) IsLarge(page uint64) bool {
	return page < uint64(len(t.entries)) && t.entries[page].Large
}

// Whole is the pages that are dropped with a page: those of the large page that it is a
// part of, or only itself.
func (t *Table) Whole(page uint64) Run {
	if !t.entries[page].Large {
		return Run{page, page}
	}
	first := page &^ (t.largePages() - 1)
	return Run{first, first + t.largePages() - 1}
}

// largePages is how many pages of the table a large page is long.
func (t *Table) largePages() uint64 { return t.largeBytes >> t.shift }

// SetLarge notes a large page that was mapped: it is idle.
func (t *Table) SetLarge(first uint64, page device.Page) {
	end := first + t.largePages()
	for at := first; at < end; at++ {
		t.entries[at].Page, t.entries[at].Large = uint64(page), true
	}
	setBits(t.mapped, first, end)
	t.counts.Idle += end - first
}

// splits says that a block from offset to end would have a part of a large page.
func (t *Table) splits(offset, end uint64) bool {
	inside := t.largeBytes - 1
	return offset&inside != 0 && t.IsLarge(offset>>t.shift) || end&inside != 0 && t.IsLarge((end-1)>>t.shift)
}

// fresh is the part [from, to) of a block's pages that no other block is in.
func (t *Table) fresh(first, last uint64) (from, to uint64) {
	from, to = first, last+1
	if t.entries[first].Blocks != 0 {
		from++
	}
	if first != last && t.entries[last].Blocks != 0 {
		to--
	}
	return from, to
}

// IsMapped takes pages beyond the table too.
func (t *Table) IsMapped(page uint64) bool {
	return page < uint64(len(t.entries)) && t.mapped[page>>6]>>(page&63)&1 != 0
}

func (t *Table) IsBusy(page uint64) bool {
	return page < uint64(len(t.entries)) && t.busy[page>>6]>>(page&63)&1 != 0
}

// Reach makes the table long enough for a page, or changes nothing.
func (t *Table) Reach(page uint64) error {
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

// Missing is the runs of pages of a run that are not mapped.
func (t *Table) Missing(r Run) iter.Seq[Run] {
	return func(yield func(Run) bool) {
		for page := r.First; page <= r.Last; page++ {
			if t.IsMapped(page) {
				continue
			}
			run := Run{page, page}
			for run.Last < r.Last && !t.IsMapped(run.Last+1) {
				run.Last++
			}
			if !yield(run) {
				return
			}
			page = run.Last
		}
	}
}

// Set notes pages that were mapped: they are idle.
func (t *Table) Set(first uint64, pages []device.Page) {
	for i, page := range pages {
		t.entries[first+uint64(i)].Page = uint64(page)
	}
	setBits(t.mapped, first, first+uint64(len(pages)))
	t.counts.Idle += uint64(len(pages))
}

// Drop forgets a mapped, idle page and gives it; of a large one, all of it.
func (t *Table) Drop(page uint64) device.Page {
	was, run := device.Page(t.entries[page].Page), t.Whole(page)
	for at := run.First; at <= run.Last; at++ {
		t.entries[at].Page, t.entries[at].Large = 0, false
	}
	clearBits(t.mapped, run.First, run.Last+1)
	t.counts.took(run.Count())
	return was
}

// idleIn is the idle pages of a word of the table.
func (t *Table) idleIn(word int) uint64 { return t.mapped[word] &^ t.busy[word] }

// Idle is the idle pages from the lowest up. A page may be dropped when it has come.
func (t *Table) Idle() iter.Seq[uint64] {
	return func(yield func(uint64) bool) {
		for word := range t.mapped {
			for idle := t.idleIn(word); idle != 0; idle &= (idle - 1) & t.idleIn(word) {
				if !yield(uint64(word)<<6 + uint64(bits.TrailingZeros64(idle))) {
					return
				}
			}
		}
	}
}

// IdleFromTheTop is the idle pages from the highest down. A page may be dropped when it
// has come.
func (t *Table) IdleFromTheTop() iter.Seq[uint64] {
	return func(yield func(uint64) bool) {
		for word := len(t.mapped) - 1; word >= 0; word-- {
			for idle := t.idleIn(word); idle != 0; {
				bit := uint64(bits.Len64(idle) - 1)
				if !yield(uint64(word)<<6 + bit) {
					return
				}
				idle &= (1<<bit - 1) & t.idleIn(word)
			}
		}
	}
}

// Len is how many pages the table has entries for.
func (t *Table) Len() uint64 { return uint64(len(t.entries)) }

// Page is what is mapped at a page of the table; 0: nothing. All parts of a large page
// have the same.
func (t *Table) Page(page uint64) device.Page { return device.Page(t.entries[page].Page) }

// Ends counts the blocks that start or end in a page of the table.
func (t *Table) Ends(page uint64) uint64 { return uint64(t.entries[page].Blocks) }

// MappedCount counts the mapped pages.
func (t *Table) MappedCount() uint64 { return count(t.mapped) }

// BusyCount counts the pages that a block touches.
func (t *Table) BusyCount() uint64 { return count(t.busy) }

// Mapped lists what is mapped, in order.
func (t *Table) Mapped() (runs []Run) {
	for page := range t.Len() {
		if !t.IsMapped(page) {
			continue
		}
		if n := len(runs); n > 0 && runs[n-1].Last+1 == page {
			runs[n-1].Last = page
		} else {
			runs = append(runs, Run{page, page})
		}
	}
	return runs
}

// Lend says where the table is, for code outside of Go that touches and releases in it until
// Absorb; false: it does not lend it now.
func (t *Table) Lend(to *lending.Pages) bool {
	entries, entriesShared := t.entryMemory.Share(&t.entries)
	mapped, mappedShared := t.mappedMemory.Share(&t.mapped)
	busy, busyShared := t.busyMemory.Share(&t.busy)
	if !entriesShared || !mappedShared || !busyShared {
		return false
	}
	to.Shift, to.Count, to.LargeBytes = uint64(t.shift), t.Len(), t.largeBytes
	to.Entries, to.Mapped, to.Busy = entries, mapped, busy
	to.Idle, to.Low = t.counts.Idle, t.counts.Low
	return true
}

// Absorb takes in what has become of the counts.
func (t *Table) Absorb(from *lending.Pages) { t.counts.Idle, t.counts.Low = from.Idle, from.Low }

// Close gives the table's memory back.
func (t *Table) Close() {
	t.entryMemory.Free(&t.entries)
	t.mappedMemory.Free(&t.mapped)
	t.busyMemory.Free(&t.busy)
}
