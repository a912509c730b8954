package rangealloc

import (
	"math"
	"math/bits"
)

// nearestOf is the number of partly used pages that are compared for the nearest expected
// end. More pages did not improve the placement on recorded serving traces.
const nearestOf = 64

// place allocates count blocks. The caller has checked that so many are free and have
// slots.
func (f *fixed) place(r Request, count uint64, runs []Run) []Run {
	if count == 0 {
		return runs
	}
	f.live += count
	if f.lowest {
		for count > 0 {
			count, runs = f.take(f.lowestPage(), r, count, runs)
		}
		return runs
	}
	alone := false
	batch := count > 1
	var page uint32
	if r.Group != 0 {
		last, known, batched := f.groups.find(r.Group)
		batch = batch || batched
		alone = !batch
		if known && f.table[last].listed > listedEmpty {
			page = last
			count, runs = f.take(page, r, count, runs)
		}
	}
	for count >= uint64(f.per) {
		fresh, ok := f.emptyPage()
		if !ok {
			break
		}
		page = fresh
		count, runs = f.take(page, r, count, runs)
	}
	for count > 0 {
		page = f.choose(r, uint32(min(count, maxPerPage)), alone)
		count, runs = f.take(page, r, count, runs)
	}
	if r.Group != 0 {
		f.groups.put(r.Group, page, batch)
	}
	return runs
}

// lowestPage returns the lowest page that has a free block.
func (f *fixed) lowestPage() uint32 {
	empty, isEmpty := f.sets.first(setEmpty)
	partial, isPartial := f.sets.first(setPartial)
	if isPartial && (!isEmpty || partial < empty) {
		return partial
	}
	page, _ := f.emptyPage()
	return page
}

// choose returns the page for the rest of a batch. The rest has fewer blocks than a page,
// unless the range is nearly full. At least one page has a free block.
func (f *fixed) choose(r Request, count uint32, alone bool) uint32 {
	if !alone {
		if page, ok := f.fitting(r, count); ok {
			return page
		}
	}
	if page, ok := f.emptyPage(); ok {
		return page
	}
	page, _ := f.sets.first(setPartial)
	return page
}

// fitting returns the best partly used page with count free blocks.
func (f *fixed) fitting(r Request, count uint32) (best uint32, ok bool) {
	if r.End != 0 {
		if best, ok = f.nearest(r.End, count); ok {
			return best, true
		}
	}
	if count == 1 {
		return f.sets.first(setPartial)
	}
	for set := f.setOfAtLeast(count); set < f.sets.count; set++ {
		if page, found := f.sets.first(set); found && (!ok || page < best) {
			best, ok = page, true
		}
	}
	return best, ok
}

// nearest returns the page with the nearest expected end among the lowest nearestOf
// partly used pages that have enough free blocks. Holding a page longer than expected so
// far counts four times, because the whole page then waits for this request.
func (f *fixed) nearest(end uint64, count uint32) (best uint32, ok bool) {
	least := uint64(math.MaxUint64)
	page, more := f.sets.first(setPartial)
	for looked := 0; more && looked < nearestOf; looked++ {
		p := &f.table[page]
		if f.perOf(page)-p.live >= count {
			cost := p.end - end
			if end > p.end {
				cost = min(end-p.end, math.MaxUint64/4) * 4
			}
			if cost < least || !ok {
				best, least, ok = page, cost, true
			}
		}
		page, more = f.sets.after(setPartial, page)
	}
	return best, ok
}

// emptyPage returns the lowest empty page.
func (f *fixed) emptyPage() (uint32, bool) {
	if page, ok := f.sets.first(setEmpty); ok {
		return page, true
	}
	page := uint64(len(f.table))
	if page == f.pages || (page+1)*uint64(f.per) > maxFixedBlocks {
		return 0, false
	}
	f.grow(f.perOf(uint32(page)))
	return uint32(page), true
}

// take allocates the lowest free blocks of a page, up to wanted of them, and returns how
// many are still wanted.
func (f *fixed) take(page uint32, r Request, wanted uint64, runs []Run) (uint64, []Run) {
	p := &f.table[page]
	if p.live == 0 {
		p.end = 0
	}
	p.end = max(p.end, r.End)
	count := uint32(min(wanted, uint64(f.perOf(page)-p.live)))
	words, at, index := f.pageWords(page), uint32(p.low), uint32(0)
	for left := count; left > 0; at++ {
		word := words[at]
		for word != 0 && left > 0 {
			bit := uint32(bits.TrailingZeros64(word))
			some := min(left, uint32(bits.TrailingZeros64(^(word >> bit))))
			word &^= (1<<some - 1) << bit
			left -= some
			index = at<<6 + bit
			runs = appendRun(runs, f.config.BlockBytes,
				Run{Offset: f.start(page, index) << f.shift, Slot: page*f.per + index, Count: some})
			index += some
		}
		words[at] = word
		p.low = uint16(at)
	}
	p.live += count
	f.highWater = max(f.highWater, f.start(page, index))
	f.relist(page)
	return wanted - uint64(count), runs
}
