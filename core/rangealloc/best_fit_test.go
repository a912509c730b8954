package rangealloc_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/core/rangealloc"
	"ferrum_mem/core/rangealloc/conformance"
)

func makeBestFit(c rangealloc.Config) (rangealloc.Strategy, error) {
	return rangealloc.New("best_fit", c)
}

// naiveBestFit examines every free run.
func naiveBestFit(c rangealloc.Config, free []rangealloc.Range, r conformance.Request) (offset uint64, ok bool) {
	var best rangealloc.Range
	for _, run := range free {
		if at, fits := conformance.FirstAligned(c, run, r); fits && (!ok || run.Size < best.Size) {
			best, offset, ok = run, at, true
		}
	}
	return offset, ok
}

// admitBestFit checks requests without a hint. Requests with one have a reference model
// of their own, which knows the ends of the blocks around: TestLifetimesAgainstNaive.
func admitBestFit(c rangealloc.Config, free []rangealloc.Range, r conformance.Request, got rangealloc.Range) error {
	if r.End != 0 {
		return nil
	}
	if offset, ok := naiveBestFit(c, free, r); !ok || offset != got.Offset {
		return fmt.Errorf("put at %d, where best fit says %d, %v", got.Offset, offset, ok)
	}
	return nil
}

var bestFitPromises = conformance.Options{Exact: true, Coalesces: true, Admits: admitBestFit}

func TestBestFit(t *testing.T) {
	conformance.Run(t, makeBestFit, bestFitPromises)
}

func TestWideBestFit(t *testing.T) {
	conformance.Run(t, rangealloc.NewWideBestFit, bestFitPromises)
}

func FuzzStrategy(f *testing.F) {
	conformance.Fuzz(f, makeBestFit, bestFitPromises)
}

func TestNames(t *testing.T) {
	require.Equal(t, "best_fit", rangealloc.Default)
	require.Equal(t, "best_fit", rangealloc.Names()[0])
	for _, name := range rangealloc.Names() {
		c := rangealloc.Config{SizeBytes: 4096, GranuleBytes: 256}
		if name == "fixed" {
			c.BlockBytes = 256
		}
		s, err := rangealloc.New(name, c)
		require.NoError(t, err)
		require.Equal(t, name, s.Name())
	}
}

func TestUnknownName(t *testing.T) {
	for _, name := range []string{"", "BEST_FIT", "worst_fit"} {
		s, err := rangealloc.New(name, rangealloc.Config{SizeBytes: 4096, GranuleBytes: 256})
		require.Nil(t, s)
		require.ErrorIs(t, err, device.CodeNotFound)
		require.ErrorContains(t, err, `"`+name+`"`)
		require.ErrorContains(t, err, "best_fit")
	}
}
