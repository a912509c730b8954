package conformance

import (
	"pgregory.net/rapid"
	"testing"

	"ferrum_mem/core/rangealloc"
)

// properties lets rapid choose a range and operations on it.
func (s suite) properties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := drawConfig(t)
		p, err := newPair(s.make, c, s.options)
		must(t, err)
		defer p.strategy.Close()
		freeLive := func(t *rapid.T) {
			live := p.model.live()
			if len(live) == 0 {
				t.Skip("nothing is live")
			}
			must(t, p.free(rapid.SampledFrom(live).Draw(t, "block").Offset))
		}
		alloc := func(t *rapid.T) {
			_, _, wrong := p.alloc(drawRequest(t, c))
			must(t, wrong)
		}
		actions := map[string]func(*rapid.T){
			"alloc":       alloc,
			"alloc more":  alloc,
			"alloc badly": func(t *rapid.T) { _, _, wrong := p.alloc(drawBadRequest(t)); must(t, wrong) },
			"free":        freeLive,
			"free again":  func(t *rapid.T) { must(t, p.free(drawOffset(t, p.model))) },
			"lookup":      func(t *rapid.T) { must(t, p.lookup(drawOffset(t, p.model))) },
			"largest":     func(*rapid.T) { must(t, p.largest()) },
			"scan":        func(t *rapid.T) { must(t, p.scanned(rapid.IntRange(1, 500).Draw(t, "budget"))) },
			"around":      func(t *rapid.T) { must(t, p.around(drawOffset(t, p.model))) },
			"scan on":     func(t *rapid.T) { must(t, p.scanOn(rapid.IntRange(1, 60).Draw(t, "budget"))) },
		}
		if p.batcher() != nil {
			actions["alloc a batch"] = func(t *rapid.T) {
				_, wrong := p.allocBatch(drawRequest(t, c), rapid.IntRange(1, 30).Draw(t, "count"))
				must(t, wrong)
			}
			actions["free a batch"] = func(t *rapid.T) { must(t, p.freeBatch(drawOffsets(t, p.model))) }
		}
		t.Repeat(actions)
	})
}

func drawConfig(t *rapid.T) rangealloc.Config {
	granule := uint64(1) << rapid.IntRange(0, 20).Draw(t, "granule bits")
	c := rangealloc.Config{GranuleBytes: granule, SizeBytes: rapid.Uint64Range(1, 3000).Draw(t, "granules") * granule}
	if rapid.IntRange(0, 9).Draw(t, "huge") == 0 {
		c.SizeBytes = -granule
	}
	// -SizeBytes is the base whose range ends at 2^64.
	switch rapid.IntRange(0, 2).Draw(t, "base") {
	case 1:
		c.BaseAddr = -c.SizeBytes
	case 2:
		c.BaseAddr = rapid.Uint64Range(0, -c.SizeBytes/granule).Draw(t, "base granules") * granule
	}
	return c
}

// drawRequest adds hints to half of the requests: they may influence only the place.
func drawRequest(t *rapid.T, c rangealloc.Config) Request {
	r := Request{Size: drawSize(t, c), Align: drawAlign(t, c)}
	if rapid.Bool().Draw(t, "hints") {
		r.End = rapid.OneOf(rapid.Uint64Range(0, 100), rapid.Uint64()).Draw(t, "end")
		r.Group = rapid.OneOf(rapid.Uint64Range(0, 3), rapid.Uint64()).Draw(t, "group")
	}
	return r
}

func drawSize(t *rapid.T, c rangealloc.Config) uint64 {
	granules := c.SizeBytes / c.GranuleBytes
	most := rapid.SampledFrom([]uint64{min(16, granules), min(granules, granules/8+1), granules}).Draw(t, "most")
	size := rapid.Uint64Range(1, most).Draw(t, "size in granules") * c.GranuleBytes
	return size - rapid.Uint64Range(0, c.GranuleBytes-1).Draw(t, "less")
}

func drawAlign(t *rapid.T, c rangealloc.Config) uint64 {
	if rapid.Bool().Draw(t, "aligned to a granule") {
		return c.GranuleBytes
	}
	return 1 << rapid.IntRange(0, 63).Draw(t, "alignment bits")
}

// drawBadRequest draws an invalid request, or one that no range can hold.
func drawBadRequest(t *rapid.T) Request {
	return Request{
		Size:  rapid.SampledFrom([]uint64{0, 1, 1 << 63, 1<<64 - 1}).Draw(t, "size"),
		Align: rapid.SampledFrom([]uint64{0, 1, 3, 1 << 63, 1<<64 - 1}).Draw(t, "alignment"),
	}
}

func drawOffset(t *rapid.T, m *model) uint64 {
	b := rapid.SampledFrom(m.blocks).Draw(t, "block")
	return rapid.OneOf(
		rapid.Just(b.Offset),
		rapid.Uint64Range(b.Offset, b.Offset+b.Size-1),
		rapid.Uint64(),
	).Draw(t, "offset")
}

// drawOffsets draws live blocks in any order, and sometimes any offset or one of them
// again.
func drawOffsets(t *rapid.T, m *model) []uint64 {
	var offsets []uint64
	for _, b := range m.live() {
		if rapid.Bool().Draw(t, "free") {
			offsets = append(offsets, b.Offset)
		}
	}
	offsets = rapid.Permutation(offsets).Draw(t, "order")
	if rapid.IntRange(0, 3).Draw(t, "bad") == 0 {
		bad := drawOffset(t, m)
		if len(offsets) > 0 && rapid.Bool().Draw(t, "twice") {
			bad = rapid.SampledFrom(offsets).Draw(t, "again")
		}
		offsets = append(offsets, bad)
	}
	return offsets
}
