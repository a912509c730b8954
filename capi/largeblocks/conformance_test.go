package largeblocks

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/lending"
	"ferrum_mem/core/rangealloc"
	"ferrum_mem/core/rangealloc/conformance"
)

// byC is a best_fit strategy whose tables are lent for each call that C can serve.
type byC struct {
	rangealloc.Strategy
	config rangealloc.Config
	places lending.Places
	calls  *int
}

// ExactSizes is the promise of best_fit.
func (s *byC) ExactSizes() {}

func (s *byC) Alloc(r rangealloc.Request) (rangealloc.Range, error) {
	lender := s.Strategy.(rangealloc.Lender)
	plain := r.Size != 0 && r.Size <= s.config.SizeBytes && r.End == 0 && r.Align == s.config.GranuleBytes
	if !plain || !lender.Lend(&s.places) {
		return s.Strategy.Alloc(r)
	}
	granules := (r.Size + s.config.GranuleBytes - 1) / s.config.GranuleBytes
	offset, done := taken(&s.places, granules)
	lender.Absorb(&s.places)
	if !done {
		return s.Strategy.Alloc(r)
	}
	*s.calls++
	got, there := s.Lookup(offset * s.config.GranuleBytes)
	if !there {
		return got, fmt.Errorf("C has placed a block at granule %d that is not there", offset)
	}
	return got, nil
}

func (s *byC) Free(offset uint64) (uint64, error) {
	lender := s.Strategy.(rangealloc.Lender)
	found, there := s.Lookup(offset)
	if !there || !lender.Lend(&s.places) {
		return s.Strategy.Free(offset)
	}
	_, done := give(&s.places, offset/s.config.GranuleBytes)
	lender.Absorb(&s.places)
	if !done {
		return s.Strategy.Free(offset)
	}
	*s.calls++
	return found.Size, nil
}

// admitBestFit is the rule of the reference model: the shortest run that is long enough;
// of several the lowest.
func admitBestFit(c rangealloc.Config, free []rangealloc.Range, r conformance.Request, got rangealloc.Range) error {
	if r.End != 0 {
		return nil
	}
	var best, offset, found = uint64(0), uint64(0), false
	for _, run := range free {
		if at, fits := conformance.FirstAligned(c, run, r); fits && (!found || run.Size < best) {
			best, offset, found = run.Size, at, true
		}
	}
	if !found || offset != got.Offset {
		return fmt.Errorf("put at %d, where best fit says %d, %v", got.Offset, offset, found)
	}
	return nil
}

// C code on lent tables passes the conformance suite of all strategies.
func TestPlacementInCPassesTheConformanceSuite(t *testing.T) {
	skipWithoutPages(t)
	calls := 0
	conformance.Run(t, func(c rangealloc.Config) (rangealloc.Strategy, error) {
		made, err := rangealloc.New(rangealloc.Default, c)
		if err != nil {
			return nil, err
		}
		return &byC{Strategy: made, config: c, calls: &calls}, nil
	}, conformance.Options{Exact: true, Coalesces: true, Admits: admitBestFit})
	require.Greater(t, calls, 1000)
}
