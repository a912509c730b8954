package rangealloc

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"ferrum_mem/core/device"
)

// A batch that is freed tells the slots that Lookup told before, and changes
// nothing when one of its offsets is bad.
func TestFixedTellsTheSlotsOfABatch(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := Config{SizeBytes: 1 << 20, BaseAddr: 1 << 30, GranuleBytes: 256,
			BlockBytes: 256 * rapid.Uint64Range(1, 40).Draw(t, "block"), PageBytes: 8 << 10}
		s, err := New("fixed", c)
		require.NoError(t, err)
		ranges := make([]Range, rapid.IntRange(1, 90).Draw(t, "count"))
		require.NoError(t, s.(SlotBatcher).AllocBatch(Request{Size: c.BlockBytes, Align: 1}, ranges))
		var offsets []uint64
		var want []uint32
		for _, at := range rapid.Permutation(ranges).Draw(t, "order") {
			offsets, want = append(offsets, at.Offset), append(want, at.Slot)
		}
		slots := make([]uint32, len(offsets)+1)
		_, err = s.(SlotBatcher).FreeBatchSlots(append(offsets, offsets[0]), slots)
		require.ErrorIs(t, err, device.CodeDoubleFree)
		require.EqualValues(t, len(offsets), s.Stats().LiveBlocks)
		size, err := s.(SlotBatcher).FreeBatchSlots(offsets, slots)
		require.NoError(t, err)
		require.Equal(t, c.BlockBytes, size)
		require.Equal(t, want, slots[:len(offsets)])
		require.Zero(t, s.Stats().LiveBlocks)
		require.NoError(t, s.Check())
	})
}
