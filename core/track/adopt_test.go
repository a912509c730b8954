package track

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Two blocks are adopted from caches whose last known counts include only the larger one
// as live. Adopting the smaller one first must not lose the bytes of the larger one.
func TestAdoptWithOldCountsOfTheCaches(t *testing.T) {
	b := NewCounters(true)
	b.AddSegment(Segment{UsableBytes: 16384})
	for _, bytes := range []uint64{5120, 256} {
		b.Lease(bytes)
	}
	b.SetOutside(Outside{RequestedBytes: 5000, LiveBytes: 5120, LiveBlocks: 1, IdleBytes: 256, CachedBytes: 256, Allocations: 1})
	require.NoError(t, b.Check())

	b.Adopt(Block{RequestedBytes: 256, AllocatedBytes: 256}, 256)
	require.NoError(t, b.Check())
	b.Adopt(Block{RequestedBytes: 5000, AllocatedBytes: 5120}, 5120)
	require.NoError(t, b.Check())

	s := b.Statistics()
	require.EqualValues(t, 5376, s.Active.Current)
	require.EqualValues(t, 5376, s.Allocated.Current)
	require.EqualValues(t, 5256, s.Requested.Current)
	require.EqualValues(t, 2, s.LiveBlocks.Current)
	require.EqualValues(t, 16384-5376, s.Cached.Current)
	require.Equal(t, Outside{Allocations: 1, IdleBytes: 256}, b.Outside())
}
