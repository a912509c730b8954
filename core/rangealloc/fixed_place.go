package rangealloc

import (
	"math"
	"math/bits"
)

// nearestOf is how many pages in partial use are compared for the nearest
// expected end. More did not place better on recorded serving traces.
const nearestOf = 64

// place fills all of to. The caller has made sure that so many blocks are free
// and have slots.
func (f *fixed) place(r Request, to []Range) {
	if len(to) == 0 {
		return
	}
	f.live += uint64(len(to))
	alone := false
	batch := len(to) > 1
	var page uint32
	if r.Group != 0 {
		last, known, batched := f.groups.find(r.Group)
		batch = batch || batched
		alone = !batch
		if known && f.table[last].listed > listedEmpty {
			page = last
			to = f.take(page, r, to)
		}
	}
	for len(to) >= int(f.per) {
		fresh, ok := f.emptyPage()
		if !ok {
			break
		}
		page = fresh
		to = f.take(page, r, to)
	}
	for len(to) > 0 {
		page = f.choose(r, uint32(min(len(to), maxPerPage)), alone)
		to = f.take(page, r, to)
	}
	if r.Group != 0 {
		f.groups.put(r.Group, page, batch)
	}
}

// choose is the page for the rest of a batch, fewer blocks than a page has
// unless the range is nearly full. Some page has room.
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

// fitting is the best page in partial use that has room for count blocks.
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

// nearest is the page with the nearest expected end of those in partial use that
// have the room, among the lowest nearestOf. To hold a page longer than expected
// so far counts four times: the whole page then waits for this request.
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

// emptyPage is the lowest empty page.
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

// take takes the lowest free blocks of a page, as many as it has and to wants,
// and gives what is left of to.
func (f *fixed) take(page uint32, r Request, to []Range) []Range {
	p := &f.table[page]
	if p.live == 0 {
		p.end = 0
	}
	p.end = max(p.end, r.End)
	count := min(len(to), int(f.perOf(page)-p.live))
	words := f.pageWords(page)
	// What the loop needs is in variables, for it runs once for every block.
	first, size, slot := f.start(page, 0)<<f.shift, f.config.BlockBytes, page*f.per
	at, index, rest := uint64(p.low), uint32(0), to[:count]
	for ; len(rest) > 0; at++ {
		word := words[at]
		for word != 0 && len(rest) > 0 {
			index = uint32(at)<<6 + uint32(bits.TrailingZeros64(word))
			word &= word - 1
			rest[0] = Range{Offset: first + uint64(index)*size, Size: size, Slot: slot + index}
			rest = rest[1:]
		}
		words[at] = word
		p.low = uint16(at)
	}
	p.live += uint32(count)
	f.highWater = max(f.highWater, f.start(page, index)+f.block)
	f.relist(page)
	return to[count:]
}
