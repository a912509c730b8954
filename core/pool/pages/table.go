package pages

import (
	"iter"
	"math/bits"

	"ferrum_mem/core/device"
	"ferrum_mem/core/internal/offheap"
	"ferrum_mem/core/lending"
)

// Counts has the number of idle pages over all tables of a pool.
type Counts struct {
	// Idle is the present number; Low is its lowest value since BeginWindow.
	Idle, Low uint64
}

// BeginWindow sets Low to the present number.
func (c *Counts) BeginWindow() { c.Low = c.Idle }

// subtract subtracts pages that are no longer idle.
func (c *Counts) subtract(pages uint64) {
	c.Idle -= pages
	c.Low = min(c.Low, c.Idle)
}

// Run is a run of adjacent pages.
type Run struct{ First, Last uint64 }

// Count returns the number of pages.
func (r Run) Count() uint64 { return r.Last - r.First + 1 }

// Table has the state of the pages of one reservation of addresses: which are mapped, and
// which contain a part of a block. It reaches up to the highest page that was ever
// mapped.
//
// Only the first and the last page of a block can contain a part of another block, so
// only these two have a count. The pages between them are set busy as a run of bits. So
// adding and removing a block of any size costs one operation for 64 of its pages.
//
// A large page is one page of the device that backs several adjacent pages of the table
// (large.go).
type Table struct {
	counts *Counts
	shift  uint
	// largeBytes is the size of a large page; 0 means that the table has none.
	largeBytes uint64
	entries    []lending.Page
	// mapped and busy have a bit for each page. A page that is mapped and not busy is
	// idle.
	mapped, busy []uint64

	entryMemory              offheap.Table[lending.Page]
	mappedMemory, busyMemory offheap.Table[uint64]
	lent
}

// lent has the part of a table that is for code outside of Go.
type lent struct {
	// edges is lending.Pages.Edges. All bits are 0 while the table is not lent.
	edges      []uint64
	edgeMemory offheap.Table[uint64]
	// [from, to) is the longest run of mapped pages. It is up to date if known is set.
	from, to uint64
	known    bool
}

// New creates a table with the given page size, a power of two. Its idle pages are
// counted in counts. largeBytes, a larger power of two, is the size of its large pages; 0
// means none.
func New(pageBytes, largeBytes uint64, counts *Counts) *Table {
	return &Table{counts: counts, shift: uint(bits.TrailingZeros64(pageBytes)), largeBytes: largeBytes}
}

// Shift returns the binary logarithm of the page size.
func (t *Table) Shift() uint { return t.shift }

// RunOf returns the pages that contain a range.
func (t *Table) RunOf(offset, size uint64) Run {
	return Run{offset >> t.shift, (offset + size - 1) >> t.shift}
}

// Touch adds a block to the counts of its pages. It returns false and changes nothing if
// not all of its pages are mapped, or if it would occupy only a part of a large page.
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
		t.counts.subtract(to - from)
	}
	t.entries[first].Blocks++
	if first != last {
		t.entries[last].Blocks++
	}
	return true
}

// Release subtracts a block from the counts of its pages.
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

// IsLarge reports whether a page is a part of a large page.
func (t *Table) IsLarge(page uint64) bool {
	return page < uint64(len(t.entries)) && t.entries[page].Large
}

// Whole returns the pages that are dropped together with a page: those of its large page,
// or only the page itself.
func (t *Table) Whole(page uint64) Run {
	if !t.entries[page].Large {
		return Run{page, page}
	}
	first := page &^ (t.largePages() - 1)
	return Run{first, first + t.largePages() - 1}
}

// largePages returns the number of pages of the table that a large page backs.
func (t *Table) largePages() uint64 { return t.largeBytes >> t.shift }

// SetLarge records a large page that was mapped. It is idle.
func (t *Table) SetLarge(first uint64, page device.Page) {
	end := first + t.largePages()
	for at := first; at < end; at++ {
		t.entries[at].Page, t.entries[at].Large = uint64(page), true
	}
	setBits(t.mapped, first, end)
	t.known = false
	t.counts.Idle += end - first
}

// splits reports whether a block from offset to end would occupy only a part of a large
// page.
func (t *Table) splits(offset, end uint64) bool {
	inside := t.largeBytes - 1
	return offset&inside != 0 && t.IsLarge(offset>>t.shift) || end&inside != 0 && t.IsLarge((end-1)>>t.shift)
}

// fresh returns the part [from, to) of a block's pages that contains no other block.
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

// IsMapped also accepts pages beyond the table.
func (t *Table) IsMapped(page uint64) bool {
	return page < uint64(len(t.entries)) && t.mapped[page>>6]>>(page&63)&1 != 0
}

func (t *Table) IsBusy(page uint64) bool {
	return page < uint64(len(t.entries)) && t.busy[page>>6]>>(page&63)&1 != 0
}

// Reach extends the table to include a page. On error the table is unchanged.
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

// Missing yields the runs of pages in r that are not mapped.
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

// Set records pages that were mapped. They are idle.
func (t *Table) Set(first uint64, pages []device.Page) {
	for i, page := range pages {
		t.entries[first+uint64(i)].Page = uint64(page)
	}
	setBits(t.mapped, first, first+uint64(len(pages)))
	t.known = false
	t.counts.Idle += uint64(len(pages))
}

// Drop removes a mapped, idle page from the table and returns it. A large page is removed
// as a whole.
func (t *Table) Drop(page uint64) device.Page {
	was, run := device.Page(t.entries[page].Page), t.Whole(page)
	for at := run.First; at <= run.Last; at++ {
		t.entries[at].Page, t.entries[at].Large = 0, false
	}
	clearBits(t.mapped, run.First, run.Last+1)
	t.known = false
	t.counts.subtract(run.Count())
	return was
}

// idleIn returns the idle pages of a word of the table, as bits.
func (t *Table) idleIn(word int) uint64 { return t.mapped[word] &^ t.busy[word] }

// Idle yields the idle pages in ascending order. The caller may drop a page when it was
// yielded.
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

// IdleFromTheTop yields the idle pages in descending order. The caller may drop a page
// when it was yielded.
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

// Len returns the number of pages for which the table has entries.
func (t *Table) Len() uint64 { return uint64(len(t.entries)) }

// Page returns the device page that backs a page of the table; 0 means none. All parts of
// a large page return the same device page.
func (t *Table) Page(page uint64) device.Page { return device.Page(t.entries[page].Page) }

// Ends returns the number of blocks that start or end in a page of the table.
func (t *Table) Ends(page uint64) uint64 { return uint64(t.entries[page].Blocks) }

// MappedCount returns the number of mapped pages.
func (t *Table) MappedCount() uint64 { return count(t.mapped) }

// BusyCount returns the number of pages that contain a part of a block.
func (t *Table) BusyCount() uint64 { return count(t.busy) }

// Mapped returns the runs of mapped pages, in order.
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

// Close releases the table's memory.
func (t *Table) Close() {
	t.entryMemory.Free(&t.entries)
	t.mappedMemory.Free(&t.mapped)
	t.busyMemory.Free(&t.busy)
	t.edgeMemory.Free(&t.edges)
}
