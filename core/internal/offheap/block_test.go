package offheap

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"ferrum_mem/core/device"
)

// Blocks of any size start as zeros and keep what is written. After their free, no memory
// is left mapped.
func TestBlocks(t *testing.T) {
	before := Mapped()
	rapid.Check(t, func(t *rapid.T) {
		var blocks []*Block
		for i := range rapid.IntRange(1, 4).Draw(t, "blocks") {
			size := rapid.OneOf(rapid.IntRange(1, 9000), rapid.SampledFrom([]int{
				hugeBytes - 1, hugeBytes, hugeBytes + 1, 3 * hugeBytes,
			})).Draw(t, "size")
			b, err := NewBlock(size)
			require.NoError(t, err)
			items := b.Bytes()
			require.Len(t, items, size)
			for at := 0; at < size; at += 1 + size/64 {
				require.Zero(t, items[at])
			}
			items[0], items[size-1] = byte(i+1), byte(i+1)
			blocks = append(blocks, b)
		}
		for i, b := range blocks {
			require.EqualValues(t, i+1, b.Bytes()[0])
			require.EqualValues(t, i+1, b.Bytes()[len(b.Bytes())-1])
			b.Free()
			require.Nil(t, b.Bytes())
		}
		require.Equal(t, before, Mapped())
	})
}

func TestBlocksThatCannotBe(t *testing.T) {
	for _, size := range []int{0, -1} {
		_, err := NewBlock(size)
		require.ErrorIs(t, err, device.CodeInvalidSize)
	}
	_, err := NewBlock(maxBytes + 1)
	require.ErrorIs(t, err, device.CodeResourceExhausted)
	if !Pages {
		return
	}
	before := Mapped()
	limit := SetLimit(before + hugeBytes)
	defer SetLimit(limit)
	_, err = NewBlock(2 * hugeBytes)
	require.ErrorIs(t, err, device.CodeResourceExhausted)
	require.Equal(t, before, Mapped())
}
