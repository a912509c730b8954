package rangealloc

import (
	"math"
	"math/bits"

	"ferrum_mem/core/device"
)

const nameFixed = "fixed"

// fixed allocates blocks of one size, for the pages of a key-value cache. A free block is
// a bit, so an operation is O(1), and 64 blocks are allocated or freed with one access to
// a word.
//
// Blocks are grouped in pages. They are placed so that pages become empty, because an
// owner that maps memory under the range can release an empty page:
//
//   - A batch fills empty pages of its own as long as it fills them completely. The rest
//     of the batch goes into one partly used page that has space for all of it: the
//     lowest such page, or, for a request with an expected end, the one with the nearest
//     expected end. A single block is a batch of one.
//   - Blocks of a group go to the page from which the group allocated last, while that
//     page has space. After that, a group that allocates single blocks, and never a
//     batch, gets an empty page: it will probably fill it.
//
// If a batch were scattered over the gaps of many pages, it would hold all of those pages
// as long as the batch lives.
//
// If each block is a page of its own, the lowest free blocks are used. 64 of them then
// form one page of the tables, so that they too are allocated and freed by words.
//
// A page has PageBytes if blocks fill it exactly. Otherwise it is the shortest run of
// such pages that leaves at most a sixteenth unused. Pages are counted from the start of
// the range. The tables grow with the highest page ever used, not with the range.
type fixed struct {
	geometry
	fixedGrid
	fixedTables
	groups fixedGroups
	// runs is a buffer that batches reuse.
	runs []Run
	// highWater is in granules.
	live, highWater uint64
}

func newFixed(c Config) (Strategy, error) {
	g, err := c.checkFixed()
	if err != nil {
		return nil, err
	}
	grid := newFixedGrid(g)
	return &fixed{geometry: g, fixedGrid: grid, fixedTables: newFixedTables(grid.per, grid.lowest)}, nil
}

func (f *fixed) Name() string { return nameFixed }

// SizeOrdered implements SizeOrdered.
func (f *fixed) SizeOrdered() {}

// Close does nothing: the tables have a few bits for each block, on the Go heap.
func (f *fixed) Close() {}

// Alloc allocates one block. It has these errors besides those of every strategy:
// INVALID_SIZE for a size above block_bytes; INVALID_ALIGNMENT for an alignment that not
// all blocks have.
func (f *fixed) Alloc(r Request) (Range, error) {
	if err := f.admit(r, 1); err != nil {
		return Range{}, err
	}
	var one [1]Run
	got := f.place(r, 1, one[:0])
	return Range{Offset: got[0].Offset, Size: f.config.BlockBytes, Slot: got[0].Slot}, nil
}

// AllocBatch implements Batcher.
func (f *fixed) AllocBatch(r Request, to []Range) error {
	if err := f.admit(r, uint64(len(to))); err != nil {
		return err
	}
	f.runs = f.place(r, uint64(len(to)), f.runs[:0])
	size := f.config.BlockBytes
	for _, run := range f.runs {
		for i := range uint64(run.Count) {
			to[i] = Range{Offset: run.Offset + i*size, Size: size, Slot: run.Slot + uint32(i)}
		}
		to = to[run.Count:]
	}
	return nil
}

// AllocRuns implements RunBatcher.
func (f *fixed) AllocRuns(r Request, count int, runs []Run) ([]Run, uint64, error) {
	runs = runs[:0]
	if err := f.admit(r, uint64(count)); err != nil {
		return runs, 0, err
	}
	return f.place(r, uint64(count), runs), f.config.BlockBytes, nil
}

// admit returns an error if a request for count blocks cannot succeed. Otherwise place
// does not fail.
func (f *fixed) admit(r Request, count uint64) error {
	const op = "rangealloc.alloc"
	if r.Size == 0 || r.Align == 0 || r.Align&(r.Align-1) != 0 {
		return r.check()
	}
	if count == 0 {
		return nil
	}
	if r.Size > f.config.BlockBytes {
		return device.Errorf(device.CodeInvalidSize, op,
			"size is %d, more than block_bytes %d", r.Size, f.config.BlockBytes)
	}
	if r.Align > f.gridAlign {
		return device.Errorf(device.CodeInvalidAlignment, op,
			"alignment is %d, and blocks of %v are aligned to %d", r.Align, device.Size(f.config.BlockBytes), f.gridAlign)
	}
	// This differs from the check above only in a range with a badly aligned start; in
	// another range the request may succeed.
	if r.Align > f.align {
		return ErrNoRoom
	}
	if count <= f.usable-f.live {
		return nil
	}
	if count <= f.blocks-f.live {
		return device.Errorf(device.CodeResourceExhausted, op,
			"the table of pages is full: %d blocks wanted, %d of %d possible ones live", count, f.live, f.usable)
	}
	return ErrNoRoom
}

// Free frees a block.
func (f *fixed) Free(offset uint64) (uint64, error) {
	page, index, err := f.liveBlock(offset)
	if err != nil {
		return 0, err
	}
	f.pageWords(page)[index>>6] |= 1 << (index & 63)
	f.released(page, 1, index>>6)
	f.live--
	return f.config.BlockBytes, nil
}

// FreeBatch implements Batcher.
func (f *fixed) FreeBatch(offsets []uint64) (err error) {
	f.runs, _, err = f.FreeRuns(offsets, f.runs)
	return err
}

// FreeRuns implements RunBatcher. It frees each block as soon as it reads it, so it
// detects a second mention of the block. An invalid offset makes all blocks before it
// live again. Neighbours in the list are usually neighbours in a page, so they are looked
// up once and freed by words.
func (f *fixed) FreeRuns(offsets []uint64, runs []Run) ([]Run, uint64, error) {
	mask, shift, byBlock, size := f.config.GranuleBytes-1, f.shift&63, f.byBlock, f.config.BlockBytes
	var page, count, low, per uint32
	var start, length uint64
	var words []uint64
	runs = runs[:0]
	for at := 0; at < len(offsets); {
		offset := offsets[at]
		within := offset>>shift - start
		if within >= length {
			if count != 0 {
				f.released(page, count, low)
			}
			count, low = 0, math.MaxUint32
			if page, _, _ = f.locate(offset >> shift); uint64(page) < uint64(len(f.table)) {
				per, words = f.perOf(page), f.pageWords(page)
				start, length = f.start(page, 0), uint64(per)*f.block
				within = offset>>shift - start
			}
		}
		index, rest := byBlock.divide(within)
		freed := uint32(0)
		if within < length && rest == 0 && offset&mask == 0 {
			neighbours := offsets[at : at+min(len(offsets)-at, int(per)-int(index))]
			freed = freeBits(words, uint32(index), neighboursOf(neighbours, size))
		}
		if freed == 0 {
			err := f.badFree(offset)
			if count != 0 {
				f.released(page, count, low)
			}
			f.unfree(runs)
			return runs[:0], 0, err
		}
		count, low = count+freed, min(low, uint32(index)>>6)
		runs = appendRun(runs, size, Run{Offset: offset, Slot: page*f.per + uint32(index), Count: freed})
		at += int(freed)
	}
	if count != 0 {
		f.released(page, count, low)
	}
	f.live -= uint64(len(offsets))
	return runs, size, nil
}

// neighboursOf returns how many of the first offsets follow each other at the given
// distance.
func neighboursOf(offsets []uint64, distance uint64) uint32 {
	next := offsets[0]
	for i, offset := range offsets {
		if offset != next {
			return uint32(i)
		}
		next += distance
	}
	return uint32(len(offsets))
}

// freeBits sets up to count bits, until the first bit that is already set, and returns
// their number.
func freeBits(words []uint64, index, count uint32) (freed uint32) {
	for freed < count {
		word, bit := (index+freed)>>6, (index+freed)&63
		some := min(count-freed, 64-bit)
		free := min(some, uint32(bits.TrailingZeros64(words[word]>>bit)))
		words[word] |= (1<<free - 1) << bit
		freed += free
		if free < some {
			break
		}
	}
	return freed
}

// appendRun appends a run. A run that continues the last one extends it.
func appendRun(runs []Run, size uint64, run Run) []Run {
	if n := len(runs); n > 0 {
		last := &runs[n-1]
		if last.Slot+last.Count == run.Slot && last.Offset+uint64(last.Count)*size == run.Offset {
			last.Count += run.Count
			return runs
		}
	}
	return append(runs, run)
}

// unfree makes the blocks live again that a batch has freed so far. A run may continue in
// the next page.
func (f *fixed) unfree(runs []Run) {
	for _, run := range runs {
		for slot := run.Slot; slot < run.Slot+run.Count; slot++ {
			page, index := slot/f.per, slot%f.per
			f.pageWords(page)[index>>6] &^= 1 << (index & 63)
			f.table[page].live++
			f.relist(page)
		}
	}
}

// liveBlock returns the live block that starts at offset. Otherwise the error states what
// is there.
func (f *fixed) liveBlock(offset uint64) (page, index uint32, err error) {
	if offset&(f.config.GranuleBytes-1) == 0 && offset < f.config.SizeBytes {
		page, index, starts := f.locate(offset >> f.shift)
		if starts && f.isLive(page, index) {
			return page, index, nil
		}
	}
	return 0, 0, f.badFree(offset)
}

// badFree returns the error for an offset at which no live block starts. It states what
// is there.
func (f *fixed) badFree(offset uint64) error {
	const op = "rangealloc.free"
	if offset >= f.config.SizeBytes {
		return device.Errorf(device.CodeInvalidAddress, op,
			"offset is %d, outside the range of %v", offset, device.Size(f.config.SizeBytes))
	}
	page, index, _ := f.locate(offset >> f.shift)
	if f.isLive(page, index) {
		return device.Errorf(device.CodeInvalidAddress, op, "offset is %d, inside the live block of %v at %d",
			offset, device.Size(f.config.BlockBytes), f.start(page, index)<<f.shift)
	}
	return device.Errorf(device.CodeDoubleFree, op, "offset is %d, which is free", offset)
}

// isLive accepts any page and index that locate returns.
func (f *fixed) isLive(page, index uint32) bool {
	return uint64(page) < uint64(len(f.table)) && index < f.perOf(page) &&
		f.pageWords(page)[index>>6]>>(index&63)&1 == 0
}

func (f *fixed) Lookup(offset uint64) (Range, bool) {
	if offset&(f.config.GranuleBytes-1) != 0 || offset >= f.config.SizeBytes {
		return Range{}, false
	}
	page, index, starts := f.locate(offset >> f.shift)
	if !starts || !f.isLive(page, index) {
		return Range{}, false
	}
	return Range{Offset: offset, Size: f.config.BlockBytes, Slot: page*f.per + index}, true
}
