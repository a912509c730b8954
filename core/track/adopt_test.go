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
	require.Equal(t, Outside{Allocations: 1}, b.Outside())
}

// The last known counts are from a time when a block was idle. When the pool adopts it or
// takes it back, the caches cannot hold more idle bytes than there are cached bytes.
func TestIdleBytesOfTheCachesWithOldCounts(t *testing.T) {
	for name, change := range map[string]func(*Counters){
		"adopt":  func(b *Counters) { b.Adopt(Block{RequestedBytes: 1000, AllocatedBytes: 1024}, 1024) },
		"return": func(b *Counters) { b.Return(1024) },
	} {
		t.Run(name, func(t *testing.T) {
			b := NewCounters(true)
			b.AddSegment(Segment{UsableBytes: 1024})
			b.Lease(1024)
			b.SetOutside(Outside{IdleBytes: 1024, CachedBytes: 1024})
			require.NoError(t, b.Check())
			change(b)
			require.NoError(t, b.Check())
			require.Zero(t, b.Statistics().ThreadCachedBytes)
		})
	}
}
