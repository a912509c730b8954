package rangealloc

import (
	"math"
	"math/bits"

	"ferrum_mem/core/device"
)

const (
	defaultPageBytes = 2 << 20
	// maxPerPage bounds the bits of a page, which may have to be searched. A page with
	// more blocks counts as several pages.
	maxPerPage = 1 << 16
	// lowestPerPage is the number of blocks that form a page of the tables if each block
	// is a page of its own: one word of bits.
	lowestPerPage = 64
	// maxFixedBlocks keeps block numbers, which are slots, within 32 bits.
	maxFixedBlocks = math.MaxUint32
)

// checkFixed validates a configuration of "fixed", and fills in the default page.
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

// fixedGrid states where blocks are: every stride is a page, and per blocks are adjacent
// from the start of a page. Lengths are in granules.
type fixedGrid struct {
	length, block, stride uint64
	byBlock, byStride     divider
	// lowest is set if each block would be a page of its own; then the lowest blocks are
	// used first.
	lowest bool
	// per is the number of blocks in a page, and lastPer that in the last page.
	per, lastPer uint32
	pages        uint64
	// blocks is the number of blocks; usable is the number of those that can have a slot.
	blocks, usable uint64
	// align is the alignment of every block's address, in bytes. gridAlign is that
	// alignment if the range started at address 0.
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

// pageStride returns the length of the shortest run of whole pages in which blocks leave
// at most a sixteenth unused. If that is longer than the range, it returns the length of
// the range.
func pageStride(total, block, page uint64) uint64 {
	for count := (block-1)/page + 1; count <= total/page; count++ {
		if run := count * page; run%block <= run/16 {
			return run
		}
	}
	return total
}

// locate returns the block that contains a granule, and whether it is the first granule
// of the block. A granule behind the last block of a page gets an index that no block
// has.
func (g *fixedGrid) locate(granule uint64) (page, index uint32, starts bool) {
	at, within := g.byStride.divide(granule)
	number, rest := g.byBlock.divide(within)
	page = uint32(min(at, math.MaxUint32))
	if at >= g.pages { // the rest behind the last page belongs to that page
		return uint32(min(g.pages-1, math.MaxUint32)), math.MaxUint32, false
	}
	index = uint32(min(number, math.MaxUint32))
	return page, index, rest == 0 && index < g.perOf(page)
}

// perOf returns the number of blocks of a page.
func (g *fixedGrid) perOf(page uint32) uint32 {
	if uint64(page) == g.pages-1 {
		return g.lastPer
	}
	return g.per
}

// start returns the first granule of a block.
func (g *fixedGrid) start(page, index uint32) uint64 {
	return uint64(page)*g.stride + uint64(index)*g.block
}

// end returns the granule behind a page. The rest of the range behind the last page
// belongs to that page.
func (g *fixedGrid) end(page uint32) uint64 {
	if uint64(page) == g.pages-1 {
		return g.length
	}
	return (uint64(page) + 1) * g.stride
}

// divider divides by a constant number by means of a multiplication.
type divider struct{ by, inverse uint64 }

func newDivider(by uint64) divider { return divider{by: by, inverse: math.MaxUint64 / by} }

// divide is exact for every n: inverse is less than 2^64/by by at most 1, so the first
// quotient is too small by at most 1 as well.
func (d divider) divide(n uint64) (quotient, rest uint64) {
	quotient, _ = bits.Mul64(n, d.inverse)
	rest = n - quotient*d.by
	if rest >= d.by {
		quotient++
		rest -= d.by
	}
	return quotient, rest
}
