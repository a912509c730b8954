package rangealloc_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/rangealloc"
	"ferrum_mem/core/rangealloc/conformance"
)

func makeSizeClass(c rangealloc.Config) (rangealloc.Strategy, error) {
	return rangealloc.New("size_class", c)
}

var sizeClassPromises = conformance.Options{ServesLargest: true}

func TestSizeClass(t *testing.T) {
	conformance.Run(t, makeSizeClass, sizeClassPromises)
}

// With slabs that are large for the range, slabs are filled, kept and released all the
// time.
func TestSizeClassWithLargeSlabs(t *testing.T) {
	conformance.Run(t, rangealloc.SizeClassWithSlabs(4), sizeClassPromises)
}

func FuzzSizeClass(f *testing.F) {
	conformance.Fuzz(f, rangealloc.SizeClassWithSlabs(4), sizeClassPromises)
}

// A slab that is kept in the middle of a range must not make a batch fail that the range
// has space for.
func TestSizeClassBatchReleasesKeptSlabs(t *testing.T) {
	const blocks, size = 24, 87
	s, err := makeSizeClass(rangealloc.Config{SizeBytes: blocks*size + 32, GranuleBytes: 1})
	require.NoError(t, err)
	defer s.Close()
	large, err := s.Alloc(rangealloc.Request{Size: size, Align: 1})
	require.NoError(t, err)
	small, err := s.Alloc(rangealloc.Request{Size: 1, Align: 1})
	require.NoError(t, err)
	require.Greater(t, small.Offset, large.Offset, "the slab is behind the large block")
	for _, block := range []rangealloc.Range{large, small} {
		_, err := s.Free(block.Offset)
		require.NoError(t, err)
	}
	to := make([]rangealloc.Range, blocks)
	require.NoError(t, s.(rangealloc.Batcher).AllocBatch(rangealloc.Request{Size: size, Align: 1}, to))
	require.NoError(t, s.Check())
}
