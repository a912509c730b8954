package conformance

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/core/rangealloc"
)

// A suite must be able to fail. These tests give it strategies with one fault each, built
// on a correct one, and it must detect every fault.

// faulty passes calls on, except where a fault changes a call.
type faulty struct {
	rangealloc.Strategy
	config rangealloc.Config
	fault  fault
}

type fault struct {
	name  string
	alloc func(s rangealloc.Strategy, c rangealloc.Config, r Request) (rangealloc.Range, error)
	free  func(s rangealloc.Strategy, offset uint64) (uint64, error)
	look  func(s rangealloc.Strategy, offset uint64) (rangealloc.Range, bool)
	stats func(rangealloc.Stats) rangealloc.Stats
	block func(rangealloc.Block) (rangealloc.Block, bool)
	check func() error
}

func (f faulty) Alloc(r Request) (rangealloc.Range, error) {
	if f.fault.alloc != nil {
		return f.fault.alloc(f.Strategy, f.config, r)
	}
	return f.Strategy.Alloc(r)
}

func (f faulty) Free(offset uint64) (uint64, error) {
	if f.fault.free != nil {
		return f.fault.free(f.Strategy, offset)
	}
	return f.Strategy.Free(offset)
}

func (f faulty) Lookup(offset uint64) (rangealloc.Range, bool) {
	if f.fault.look != nil {
		return f.fault.look(f.Strategy, offset)
	}
	return f.Strategy.Lookup(offset)
}

func (f faulty) Stats() rangealloc.Stats {
	if f.fault.stats != nil {
		return f.fault.stats(f.Strategy.Stats())
	}
	return f.Strategy.Stats()
}

func (f faulty) Walk(visit func(rangealloc.Block) bool) {
	f.Strategy.Walk(func(b rangealloc.Block) bool {
		if f.fault.block != nil {
			changed, shown := f.fault.block(b)
			return !shown || visit(changed)
		}
		return visit(b)
	})
}

func (f faulty) Check() error {
	if f.fault.check != nil {
		return f.fault.check()
	}
	return f.Strategy.Check()
}

// worstFit is right except for the place.
func worstFit(c rangealloc.Config, free []rangealloc.Range, r Request) (offset uint64, ok bool) {
	var best rangealloc.Range
	for _, run := range free {
		if at, fits := FirstAligned(c, run, r); fits && run.Size > best.Size {
			best, offset, ok = run, at, true
		}
	}
	return offset, ok
}

var faults = []fault{
	{name: "alignment of the offset and not of the address",
		alloc: func(s rangealloc.Strategy, c rangealloc.Config, r Request) (rangealloc.Range, error) {
			got, err := s.Alloc(r)
			got.Offset -= c.BaseAddr % max(r.Align, 1)
			return got, err
		}},
	{name: "no alignment",
		alloc: func(s rangealloc.Strategy, _ rangealloc.Config, r Request) (rangealloc.Range, error) {
			if r.Align&(r.Align-1) == 0 {
				r.Align = min(r.Align, 1)
			}
			return s.Alloc(r)
		}},
	{name: "false refusal of large alignments",
		alloc: func(s rangealloc.Strategy, c rangealloc.Config, r Request) (rangealloc.Range, error) {
			if r.Size > 0 && r.Align&(r.Align-1) == 0 && r.Align > c.GranuleBytes && r.Size < s.Stats().LargestFreeBytes &&
				r.Size+r.Align > s.Stats().LargestFreeBytes {
				return rangealloc.Range{}, rangealloc.ErrNoRoom
			}
			return s.Alloc(r)
		}},
	{name: "another error than ErrNoRoom",
		alloc: func(s rangealloc.Strategy, _ rangealloc.Config, r Request) (rangealloc.Range, error) {
			got, err := s.Alloc(r)
			if err == rangealloc.ErrNoRoom {
				err = device.Errorf(device.CodeOutOfMemory, "rangealloc.alloc", "full")
			}
			return got, err
		}},
	{name: "size 0 becomes 1",
		alloc: func(s rangealloc.Strategy, _ rangealloc.Config, r Request) (rangealloc.Range, error) {
			return s.Alloc(Request{Size: max(r.Size, 1), Align: r.Align})
		}},
	{name: "alignment 0 becomes 1",
		alloc: func(s rangealloc.Strategy, _ rangealloc.Config, r Request) (rangealloc.Range, error) {
			return s.Alloc(Request{Size: r.Size, Align: max(r.Align, 1)})
		}},
	{name: "size not rounded",
		alloc: func(s rangealloc.Strategy, _ rangealloc.Config, r Request) (rangealloc.Range, error) {
			got, err := s.Alloc(r)
			got.Size = r.Size
			return got, err
		}},
	{name: "a granule too many",
		alloc: func(s rangealloc.Strategy, c rangealloc.Config, r Request) (rangealloc.Range, error) {
			if r.Size > 0 && r.Size < c.SizeBytes-c.GranuleBytes {
				r.Size += c.GranuleBytes
			}
			return s.Alloc(r)
		}},
	{name: "a refused request leaves a block behind",
		alloc: func(s rangealloc.Strategy, c rangealloc.Config, r Request) (rangealloc.Range, error) {
			got, err := s.Alloc(r)
			if err == rangealloc.ErrNoRoom {
				_, _ = s.Alloc(Request{Size: 1, Align: 1})
			}
			return got, err
		}},
	{name: "free does nothing",
		free: func(s rangealloc.Strategy, offset uint64) (uint64, error) {
			if block, ok := s.Lookup(offset); ok {
				return block.Size, nil
			}
			return s.Free(offset)
		}},
	{name: "free gives another size",
		free: func(s rangealloc.Strategy, offset uint64) (uint64, error) {
			size, err := s.Free(offset)
			return size + 1, err
		}},
	{name: "a second free is fine",
		free: func(s rangealloc.Strategy, offset uint64) (uint64, error) {
			size, err := s.Free(offset)
			if device.CodeOf(err) == device.CodeDoubleFree {
				err = nil
			}
			return size, err
		}},
	{name: "a second free is a bad address",
		free: func(s rangealloc.Strategy, offset uint64) (uint64, error) {
			size, err := s.Free(offset)
			if device.CodeOf(err) == device.CodeDoubleFree {
				err = device.Errorf(device.CodeInvalidAddress, "rangealloc.free", "offset is %d", offset)
			}
			return size, err
		}},
	{name: "an offset inside a block frees it",
		free: func(s rangealloc.Strategy, offset uint64) (uint64, error) {
			start, inside := offset, false
			s.Walk(func(b rangealloc.Block) bool {
				if b.Live && offset >= b.Offset && offset-b.Offset < b.Size {
					start, inside = b.Offset, true
				}
				return !inside
			})
			return s.Free(start)
		}},
	{name: "the size of what is not live",
		look: func(s rangealloc.Strategy, offset uint64) (rangealloc.Range, bool) {
			block, _ := s.Lookup(offset)
			return block, true
		}},
	{name: "two live blocks of one slot",
		alloc: func(s rangealloc.Strategy, c rangealloc.Config, r Request) (rangealloc.Range, error) {
			got, err := s.Alloc(r)
			got.Slot = 7
			return got, err
		}},
	{name: "a slot that changes",
		look: func(s rangealloc.Strategy, offset uint64) (rangealloc.Range, bool) {
			block, ok := s.Lookup(offset)
			if ok {
				block.Slot++
			}
			return block, ok
		}},
	{name: "free bytes too low",
		stats: func(s rangealloc.Stats) rangealloc.Stats { s.FreeBytes--; return s }},
	{name: "largest run is all that is free",
		stats: func(s rangealloc.Stats) rangealloc.Stats { s.LargestFreeBytes = s.FreeBytes; return s }},
	{name: "high water falls",
		stats: func(s rangealloc.Stats) rangealloc.Stats {
			s.HighWaterBytes = min(s.HighWaterBytes, s.SizeBytes-s.FreeBytes)
			return s
		}},
	{name: "live blocks are not counted",
		stats: func(s rangealloc.Stats) rangealloc.Stats { s.LiveBlocks = min(s.LiveBlocks, 3); return s }},
	{name: "free runs are not counted",
		stats: func(s rangealloc.Stats) rangealloc.Stats { s.FreeRuns = min(s.FreeRuns, 2); return s }},
	{name: "the walk leaves free runs out",
		block: func(b rangealloc.Block) (rangealloc.Block, bool) { return b, b.Live }},
	{name: "the walk calls all blocks live",
		block: func(b rangealloc.Block) (rangealloc.Block, bool) { b.Live = true; return b, true }},
	{name: "check finds something",
		check: func() error { return device.Errorf(device.CodeInternal, "rangealloc.check", "broken") }},
}

// find runs random scripts until one shows the fault.
func find(make Make, o Options) error {
	r := rand.New(rand.NewPCG(9, 10))
	for range 300 {
		data := randomScript(r)
		if err := runScript(make, o, data); err != nil {
			return err
		}
	}
	return nil
}

func randomScript(r *rand.Rand) []byte {
	data := make([]byte, 400)
	for i := range data {
		data[i] = byte(r.Uint32())
	}
	return data
}

func bestFit(c rangealloc.Config) (rangealloc.Strategy, error) { return rangealloc.New("best_fit", c) }

// halved shows every free run as two, in the walk and in the statistics.
type halved struct {
	rangealloc.Strategy
	config rangealloc.Config
}

func (h halved) Walk(visit func(rangealloc.Block) bool) {
	h.Strategy.Walk(func(b rangealloc.Block) bool {
		if b.Live || b.Size == h.config.GranuleBytes {
			return visit(b)
		}
		first, second := b, b
		first.Size = h.config.GranuleBytes
		second.Offset += first.Size
		second.Size -= first.Size
		return visit(first) && visit(second)
	})
}

func (h halved) Stats() rangealloc.Stats {
	s := h.Strategy.Stats()
	s.FreeRuns, s.LargestFreeBytes = 0, 0
	h.Walk(func(b rangealloc.Block) bool {
		if !b.Live {
			s.FreeRuns++
			s.LargestFreeBytes = max(s.LargestFreeBytes, b.Size)
		}
		return true
	})
	return s
}

func TestSuiteDetectsRunsThatAreNotMerged(t *testing.T) {
	make := func(c rangealloc.Config) (rangealloc.Strategy, error) {
		s, err := bestFit(c)
		return halved{Strategy: s, config: c}, err
	}
	require.ErrorContains(t, find(make, promises), "not coalesced")
	require.NoError(t, find(make, Options{Exact: true}))
}

var promises = Options{Exact: true, Coalesces: true}

func TestSuiteDetectsFaults(t *testing.T) {
	for _, f := range faults {
		t.Run(f.name, func(t *testing.T) {
			require.Error(t, find(func(c rangealloc.Config) (rangealloc.Strategy, error) {
				s, err := bestFit(c)
				return faulty{Strategy: s, config: c, fault: f}, err
			}, promises))
		})
	}
}

func TestSuiteDetectsWrongPlacement(t *testing.T) {
	o := promises
	o.Placement = worstFit
	require.ErrorContains(t, find(bestFit, o), "naive placement")
}

func TestSuiteAcceptsACorrectStrategy(t *testing.T) {
	require.NoError(t, find(bestFit, promises))
}
