package rangealloc

import (
	"math"
	"math/bits"

	"ferrum_mem/core/device"
)

const (
	defaultPageBytes = 2 << 20
	// maxPerPage bounds the bits that a page can have to be searched for. A page
	// of more blocks counts as several.
	maxPerPage = 1 << 16
	// lowestPerPage is how many blocks that are pages of their own are kept
	// together: a word of bits.
	lowestPerPage = 64
	// maxFixedBlocks keeps block numbers, which are slots, in 32 bits.
	maxFixedBlocks = math.MaxUint32
)

// checkFixed accepts a configuration of "fixed", and fills in the default page.
func (c Config) checkFixed() (geometry, error) {
	const op = "rangealloc.new"
	plain := c
	plain.BlockBytes, plain.PageBytes = 0, 0
	g, err := plain.check()
	if err != nil {
		return geometry{}, err
	}
	if c.BlockBytes == 0 || c.BlockBytes&(c.GranuleBytes-1) != 0 {
		return geometry{}, device.Errorf(device.CodeInvalidConfig, op,
			"block_bytes is %d, which is not a positive multiple of granule_bytes %d", c.BlockBytes, c.GranuleBytes)
	}
	if c.BlockBytes > c.SizeBytes {
		return geometry{}, device.Errorf(device.CodeInvalidConfig, op,
			"size_bytes is %d, less than block_bytes %d", c.SizeBytes, c.BlockBytes)
	}
	if c.PageBytes == 0 {
		c.PageBytes = max(defaultPageBytes, c.GranuleBytes)
	}
	if c.PageBytes&(c.PageBytes-1) != 0 || c.PageBytes < c.GranuleBytes {
		return geometry{}, device.Errorf(device.CodeInvalidConfig, op,
			"page_bytes is %d, which is not a power of two of at least granule_bytes %d", c.PageBytes, c.GranuleBytes)
	}
	g.config = c
	return g, nil
}

// fixedGrid says where blocks lie: per of them from the start of every page, and
// a page every stride. Lengths are in granules.
type fixedGrid struct {
	length, block, stride uint64
	byBlock, byStride     divider
	// lowest: each block was a page of its own, so the lowest ones come first.
	lowest bool
	// per is blocks in a page, and lastPer in the last one.
	per, lastPer uint32
	pages        uint64
	// blocks is how many there are, and usable how many of them can have a slot.
	blocks, usable uint64
	// align is what every block's address is a multiple of, in bytes, and
	// gridAlign what it would be if the range started at address 0.
	align, gridAlign uint64
}

func newFixedGrid(g geometry) fixedGrid {
	c := g.config
	grid := fixedGrid{length: g.total, block: c.BlockBytes >> g.shift}
	grid.stride = pageStride(grid.length, grid.block, c.PageBytes>>g.shift)
	per := grid.stride / grid.block
	if per > maxPerPage {
		per, grid.stride = maxPerPage, maxPerPage*grid.block
	}
	if grid.lowest = grid.stride == grid.block; grid.lowest {
		per = min(lowestPerPage, grid.length/grid.block)
		grid.stride = per * grid.block
	}
	grid.per, grid.lastPer, grid.pages = uint32(per), uint32(per), grid.length/grid.stride
	if rest := grid.length % grid.stride / grid.block; rest != 0 {
		grid.lastPer, grid.pages = uint32(rest), grid.pages+1
	}
	grid.blocks = (grid.pages-1)*per + uint64(grid.lastPer)
	grid.usable = grid.blocks
	if grid.pages > maxFixedBlocks/per {
		grid.usable = maxFixedBlocks / per * per
	}
	grid.byBlock, grid.byStride = newDivider(grid.block), newDivider(grid.stride)
	common := grid.block
	if grid.pages > 1 {
		common |= grid.stride
	}
	grid.gridAlign = common & -common << g.shift
	grid.align = grid.gridAlign
	if base := c.BaseAddr; base != 0 {
		grid.align = min(grid.align, base&-base)
	}
	return grid
}

// pageStride is the shortest run of whole pages that blocks leave at most a
// sixteenth of unused, or all of the range if that is not longer.
func pageStride(total, block, page uint64) uint64 {
	for count := (block-1)/page + 1; count <= total/page; count++ {
		if run := count * page; run%block <= run/16 {
			return run
		}
	}
	return total
}

// locate is the block that a granule is in, and whether it is its first granule.
// A granule behind the last block of a page gets an index that is none there.
func (g *fixedGrid) locate(granule uint64) (page, index uint32, starts bool) {
	at, within := g.byStride.divide(granule)
	number, rest := g.byBlock.divide(within)
	page = uint32(min(at, math.MaxUint32))
	if at >= g.pages { // what is left behind the last page belongs to it
		return uint32(min(g.pages-1, math.MaxUint32)), math.MaxUint32, false
	}
	index = uint32(min(number, math.MaxUint32))
	return page, index, rest == 0 && index < g.perOf(page)
}

// perOf is how many blocks a page has.
func (g *fixedGrid) perOf(page uint32) uint32 {
	if uint64(page) == g.pages-1 {
		return g.lastPer
	}
	return g.per
}

// start is the first granule of a block.
func (g *fixedGrid) start(page, index uint32) uint64 {
	return uint64(page)*g.stride + uint64(index)*g.block
}

// end is the granule behind a page; what is left of the range behind the last
// one belongs to it.
func (g *fixedGrid) end(page uint32) uint64 {
	if uint64(page) == g.pages-1 {
		return g.length
	}
	return (uint64(page) + 1) * g.stride
}

// divider divides by a number that is known beforehand, with a multiplication.
type divider struct{ by, inverse uint64 }

func newDivider(by uint64) divider { return divider{by: by, inverse: math.MaxUint64 / by} }

// divide is exact for every n: inverse falls short of 2^64/by by at most 1, so
// the first quotient falls short by at most 1 as well.
func (d divider) divide(n uint64) (quotient, rest uint64) {
	quotient, _ = bits.Mul64(n, d.inverse)
	rest = n - quotient*d.by
	if rest >= d.by {
		quotient++
		rest -= d.by
	}
	return quotient, rest
}
