package rangealloc

import (
	"math/bits"

	"ferrum_mem/core/device"
)

// geometry is a checked Config in granules, the unit of the tables.
type geometry struct {
	config Config
	// shift is the binary logarithm of the granule in bytes.
	shift uint
	// total is the length of the range and base the address of offset 0.
	total, base uint64
}

// check validates a configuration for any strategy except "fixed". The error names the
// invalid field.
func (c Config) check() (geometry, error) {
	const op = "rangealloc.new"
	if c.GranuleBytes == 0 || c.GranuleBytes&(c.GranuleBytes-1) != 0 {
		return geometry{}, device.Errorf(device.CodeInvalidConfig, op,
			"granule_bytes is %d, which is not a power of two", c.GranuleBytes)
	}
	if c.SizeBytes == 0 || c.SizeBytes&(c.GranuleBytes-1) != 0 {
		return geometry{}, device.Errorf(device.CodeInvalidConfig, op,
			"size_bytes is %d, which is not a positive multiple of granule_bytes %d", c.SizeBytes, c.GranuleBytes)
	}
	if c.BaseAddr&(c.GranuleBytes-1) != 0 {
		return geometry{}, device.Errorf(device.CodeInvalidConfig, op,
			"base_addr is %#x, which is not a multiple of granule_bytes %d", c.BaseAddr, c.GranuleBytes)
	}
	if _, carry := bits.Add64(c.BaseAddr, c.SizeBytes-1, 0); carry != 0 {
		return geometry{}, device.Errorf(device.CodeInvalidConfig, op,
			"base_addr %#x and size_bytes %d reach beyond 2^64", c.BaseAddr, c.SizeBytes)
	}
	if c.BlockBytes != 0 || c.PageBytes != 0 {
		return geometry{}, device.Errorf(device.CodeInvalidConfig, op,
			"block_bytes is %d and page_bytes is %d, which only the strategy %q has", c.BlockBytes, c.PageBytes, nameFixed)
	}
	shift := uint(bits.TrailingZeros64(c.GranuleBytes))
	return geometry{config: c, shift: shift, total: c.SizeBytes >> shift, base: c.BaseAddr >> shift}, nil
}

// granules converts a size to granules, rounded up. It cannot overflow, because nothing
// is added in bytes.
func (g *geometry) granules(size uint64) uint64 {
	n := size >> g.shift
	if size&(g.config.GranuleBytes-1) != 0 {
		n++
	}
	return n
}

// padding returns the number of granules from offset to the next address with the
// required alignment; mask is that alignment in granules, minus 1.
func (g *geometry) padding(offset, mask uint64) uint64 {
	return -(g.base + offset) & mask
}

// check returns the error of an invalid request; it names the field.
func (r Request) check() error {
	const op = "rangealloc.alloc"
	if r.Size == 0 {
		return device.Errorf(device.CodeInvalidSize, op, "size is 0")
	}
	if r.Align == 0 || r.Align&(r.Align-1) != 0 {
		return device.Errorf(device.CodeInvalidAlignment, op, "alignment is %d, which is not a power of two", r.Align)
	}
	return nil
}
