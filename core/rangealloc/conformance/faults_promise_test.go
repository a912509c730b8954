package conformance

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/rangealloc"
)

// Each case breaks one promise that a strategy makes by its Options.

func withFault(inner Make, f fault) Make {
	return func(c rangealloc.Config) (rangealloc.Strategy, error) {
		s, err := inner(c)
		return faulty{Strategy: s, config: c, fault: f}, err
	}
}

func arena(c rangealloc.Config) (rangealloc.Strategy, error) { return rangealloc.New("arena", c) }

// roomier sometimes requests a granule more than it should.
func roomier(when func(Request) bool) fault {
	return fault{alloc: func(s rangealloc.Strategy, c rangealloc.Config, r Request) (rangealloc.Range, error) {
		if when(r) && r.Size > 0 && r.Size < c.SizeBytes-c.GranuleBytes {
			r.Size += c.GranuleBytes
		}
		return s.Alloc(r)
	}}
}

// timid rejects what is more than half of the largest size.
var timid = fault{alloc: func(s rangealloc.Strategy, _ rangealloc.Config, r Request) (rangealloc.Range, error) {
	if r.Align&(r.Align-1) == 0 && r.Align > 0 && r.Size > s.Stats().LargestFreeBytes/2 {
		return rangealloc.Range{}, rangealloc.ErrNoRoom
	}
	return s.Alloc(r)
}}

func TestSuiteDetectsBrokenPromises(t *testing.T) {
	always := func(Request) bool { return true }
	never := func(rangealloc.Config, []rangealloc.Range, Request) bool { return false }
	nowhere := func(rangealloc.Config, []rangealloc.Range, Request, rangealloc.Range) error {
		return errors.New("not there")
	}
	arenaPromises := Options{ExactSize: true, Monotonic: true, ServesLargest: true}
	for _, test := range []struct {
		name    string
		make    Make
		options Options
		finds   string
	}{
		{"a size too large", withFault(bestFit, roomier(always)), Options{ExactSize: true}, "rounds up"},
		{"an end that makes a block longer",
			withFault(bestFit, roomier(func(r Request) bool { return r.End != 0 })), Options{ExactSize: true}, "rounds up"},
		{"a group that makes a block longer",
			withFault(bestFit, roomier(func(r Request) bool { return r.Group != 0 })), Options{ExactSize: true}, "rounds up"},
		{"the largest is not served", withFault(bestFit, timid), Options{ServesLargest: true}, "it is refused"},
		{"more than the largest is served", withFault(bestFit, fault{
			stats: func(s rangealloc.Stats) rangealloc.Stats { s.LargestFreeBytes /= 2; return s },
		}), Options{ServesLargest: true}, "and got"},
		{"a largest beyond every run", withFault(bestFit, fault{
			stats: func(s rangealloc.Stats) rangealloc.Stats { s.LargestFreeBytes = s.FreeBytes; return s },
		}), Options{ServesLargest: true}, "statistics"},
		{"a freed hole is used again", bestFit, Options{Monotonic: true}, "all live blocks end at"},
		{"room at the end is refused", withFault(arena, timid), Options{Monotonic: true}, "free from"},
		{"a place that is not admitted", bestFit, Options{Admits: nowhere}, "not there"},
		{"a refusal that may not be", bestFit, Options{MayRefuse: never}, "though there is room"},
	} {
		t.Run(test.name, func(t *testing.T) {
			require.ErrorContains(t, find(test.make, test.options), test.finds)
		})
	}
	require.NoError(t, find(arena, arenaPromises))
	require.NoError(t, find(bestFit, Options{Exact: true, Coalesces: true, ServesLargest: true}))
}

// fresh gives every block a new slot.
type fresh struct {
	rangealloc.Strategy
	slots map[uint64]uint32
	next  uint32
}

func (f *fresh) Alloc(r Request) (rangealloc.Range, error) {
	got, err := f.Strategy.Alloc(r)
	if err == nil {
		f.next++
		got.Slot, f.slots[got.Offset] = f.next, f.next
	}
	return got, err
}

func (f *fresh) Lookup(offset uint64) (rangealloc.Range, bool) {
	got, ok := f.Strategy.Lookup(offset)
	got.Slot = f.slots[offset]
	return got, ok
}

func TestSuiteDetectsSlotsThatAreNotReused(t *testing.T) {
	forgetful := func(c rangealloc.Config) (rangealloc.Strategy, error) {
		s, err := bestFit(c)
		return &fresh{Strategy: s, slots: map[uint64]uint32{}}, err
	}
	require.ErrorContains(t, churn(forgetful, promises), "never were more")
	require.NoError(t, churn(bestFit, promises))
}

// ordered states of any strategy that its sizes are ordered.
type ordered struct{ rangealloc.Strategy }

func (ordered) SizeOrdered() {}

// named has the traits of another strategy.
type named struct {
	rangealloc.Strategy
	name string
}

func (n named) Name() string { return n.name }

// longer returns from a free by slot a run that is a granule too long.
type longer struct {
	rangealloc.Strategy
	freer rangealloc.SlotFreer
}

func (l longer) FreeSlot(slot uint32) uint64 { return l.freer.FreeSlot(slot) + 1 }

func TestSuiteDetectsWrongTraits(t *testing.T) {
	withClaim := func(inner Make) Make {
		return func(c rangealloc.Config) (rangealloc.Strategy, error) {
			s, err := inner(c)
			return ordered{s}, err
		}
	}
	claiming := func(name string) Make {
		return withClaim(func(c rangealloc.Config) (rangealloc.Strategy, error) { return rangealloc.New(name, c) })
	}
	require.ErrorContains(t, refusals(claiming("tlsf"), Options{ServesLargest: true}), "said to be ordered")
	require.NoError(t, refusals(claiming("best_fit"), Options{ServesLargest: true}))
	// Slabs alone would do this: none has a free small block, and there is a free run.
	require.ErrorContains(t, refusals(withClaim(withFault(bestFit, fault{
		alloc: func(s rangealloc.Strategy, c rangealloc.Config, r Request) (rangealloc.Range, error) {
			if r.Size <= 4*c.GranuleBytes && s.Stats().FreeBytes < c.SizeBytes/2 {
				return rangealloc.Range{}, rangealloc.ErrNoRoom
			}
			return s.Alloc(r)
		},
	})), Options{}), "said to be ordered")
	require.ErrorContains(t, find(func(c rangealloc.Config) (rangealloc.Strategy, error) {
		s, err := bestFit(c)
		return named{s, "fixed"}, err
	}, Options{}), "of one size")
	require.ErrorContains(t, find(func(c rangealloc.Config) (rangealloc.Strategy, error) {
		s, err := bestFit(c)
		return longer{s, s.(rangealloc.SlotFreer)}, err
	}, Options{}), "free by slot")
}
