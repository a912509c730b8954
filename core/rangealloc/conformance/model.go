package conformance

import (
	"fmt"
	"math/bits"
	"slices"

	"ferrum_mem/core/device"
	"ferrum_mem/core/rangealloc"
)

// model is a range as a sorted slice of adjacent blocks, with free runs as long as
// possible. Every operation is a plain loop over it.
type model struct {
	config    rangealloc.Config
	blocks    []rangealloc.Block
	highWater uint64
	// bump is the highest end of any block since the last time when none was live.
	bump uint64
}

func newModel(c rangealloc.Config) *model {
	return &model{config: c, blocks: []rangealloc.Block{{Size: c.SizeBytes}}}
}

// FirstAligned returns the first offset in a free run at which a request fits, with its
// size rounded up to the granule.
func FirstAligned(c rangealloc.Config, run rangealloc.Range, r Request) (offset uint64, ok bool) {
	size, carry := bits.Add64(r.Size, c.GranuleBytes-1, 0)
	if carry != 0 {
		return 0, false
	}
	size -= size % c.GranuleBytes
	address := c.BaseAddr + run.Offset
	aligned, carry := bits.Add64(address, r.Align-1, 0)
	if carry != 0 {
		return 0, false
	}
	aligned -= aligned % r.Align
	padding := aligned - address
	if padding > run.Size || run.Size-padding < size {
		return 0, false
	}
	return run.Offset + padding, true
}

// free returns the free runs in address order.
func (m *model) free() []rangealloc.Range {
	var runs []rangealloc.Range
	for _, b := range m.blocks {
		if !b.Live {
			runs = append(runs, rangealloc.Range{Offset: b.Offset, Size: b.Size})
		}
	}
	return runs
}

// tail returns the range behind all blocks since the last time when none was live.
func (m *model) tail() rangealloc.Range {
	return rangealloc.Range{Offset: m.bump, Size: m.config.SizeBytes - m.bump}
}

// live returns the live blocks in address order.
func (m *model) live() []rangealloc.Range {
	var runs []rangealloc.Range
	for _, b := range m.blocks {
		if b.Live {
			runs = append(runs, rangealloc.Range{Offset: b.Offset, Size: b.Size})
		}
	}
	return runs
}

// holds reports whether any free run holds the request.
func (m *model) holds(r Request) bool {
	return slices.ContainsFunc(m.free(), func(run rangealloc.Range) bool {
		_, ok := FirstAligned(m.config, run, r)
		return ok
	})
}

// at returns the index of the block that contains the byte at offset.
func (m *model) at(offset uint64) int {
	return slices.IndexFunc(m.blocks, func(b rangealloc.Block) bool {
		return offset >= b.Offset && offset-b.Offset < b.Size
	})
}

// take makes a range live. The error states what it would overlap.
func (m *model) take(r rangealloc.Range) error {
	i := m.at(r.Offset)
	if i < 0 {
		return fmt.Errorf("block [%d,+%d) starts outside the range", r.Offset, r.Size)
	}
	b := m.blocks[i]
	before := r.Offset - b.Offset
	if b.Live || r.Size == 0 || r.Size > b.Size-before {
		return fmt.Errorf("block [%d,+%d) does not lie in the block %+v", r.Offset, r.Size, b)
	}
	parts := []rangealloc.Block{{Offset: r.Offset, Size: r.Size, Live: true}}
	if before != 0 {
		parts = slices.Insert(parts, 0, rangealloc.Block{Offset: b.Offset, Size: before})
	}
	if after := b.Size - before - r.Size; after != 0 {
		parts = append(parts, rangealloc.Block{Offset: r.Offset + r.Size, Size: after})
	}
	m.blocks = slices.Replace(m.blocks, i, i+1, parts...)
	m.highWater = max(m.highWater, r.Offset+r.Size)
	m.bump = max(m.bump, r.Offset+r.Size)
	return nil
}

// badFree returns the code of the error that a free of offset must return, or OK.
func (m *model) badFree(offset uint64) device.Code {
	i := m.at(offset)
	switch {
	case i < 0:
		return device.CodeInvalidAddress
	case !m.blocks[i].Live:
		return device.CodeDoubleFree
	case m.blocks[i].Offset != offset:
		return device.CodeInvalidAddress
	}
	return device.CodeOK
}

// release frees the block that starts at offset, or returns the code of the required
// error.
func (m *model) release(offset uint64) (size uint64, code device.Code) {
	if code := m.badFree(offset); code != device.CodeOK {
		return 0, code
	}
	i := m.at(offset)
	size = m.blocks[i].Size
	m.blocks[i].Live = false
	if i+1 < len(m.blocks) && !m.blocks[i+1].Live {
		m.blocks[i].Size += m.blocks[i+1].Size
		m.blocks = slices.Delete(m.blocks, i+1, i+2)
	}
	if i > 0 && !m.blocks[i-1].Live {
		m.blocks[i-1].Size += m.blocks[i].Size
		m.blocks = slices.Delete(m.blocks, i, i+1)
	}
	if len(m.blocks) == 1 {
		m.bump = 0 // the one block is free
	}
	return size, device.CodeOK
}

// stats returns the statistics of a strategy that coalesces.
func (m *model) stats() rangealloc.Stats {
	s := rangealloc.Stats{SizeBytes: m.config.SizeBytes, HighWaterBytes: m.highWater}
	for _, b := range m.blocks {
		if b.Live {
			s.LiveBlocks++
			continue
		}
		s.FreeRuns++
		s.FreeBytes += b.Size
		s.LargestFreeBytes = max(s.LargestFreeBytes, b.Size)
	}
	return s
}
