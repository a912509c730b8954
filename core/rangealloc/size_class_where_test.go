package rangealloc_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"ferrum_mem/core/rangealloc"
)

type stretch struct{ offset, size uint64 }

// size_class can allocate at every place about which it asks, and asks about no more
// places than allowed. A call that allocates nothing leaves the range unchanged.
func TestSizeClassAllocatesWhereAllowed(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, err := rangealloc.SizeClassWithSlabs(4)(rangealloc.Config{SizeBytes: 1 << 12, GranuleBytes: 1})
		require.NoError(t, err)
		defer s.Close()
		live := map[uint64]uint64{}
		size := rapid.OneOf(rapid.Uint64Range(1, 4), rapid.Uint64Range(1, 64))
		for range rapid.IntRange(0, 200).Draw(t, "blocks") {
			got, err := s.Alloc(rangealloc.Request{Size: size.Draw(t, "size"), Align: 1})
			require.NoError(t, err)
			live[got.Offset] = got.Size
		}
		for offset := range live {
			if rapid.Bool().Draw(t, "freed") {
				_, err := s.Free(offset)
				require.NoError(t, err)
				delete(live, offset)
			}
		}
		r := rangealloc.Request{Size: size.Draw(t, "wanted"), Align: 1}
		most := rapid.IntRange(1, 100).Draw(t, "most")
		before := s.Stats()
		var asked []stretch
		got, count, err := s.(rangealloc.Asker).AllocWhere(r, most, func(offset, size uint64) bool {
			asked = append(asked, stretch{offset, size})
			return false
		})
		require.ErrorIs(t, err, rangealloc.ErrNoRoom)
		require.Zero(t, got)
		require.LessOrEqual(t, len(asked), count)
		require.LessOrEqual(t, count, most)
		require.Equal(t, before.FreeBytes, s.Stats().FreeBytes)
		require.NoError(t, s.Check())
		require.NotEmpty(t, asked)
		want := rapid.SampledFrom(asked).Draw(t, "suits")
		got, _, err = s.(rangealloc.Asker).AllocWhere(r, 1000, func(offset, size uint64) bool {
			return stretch{offset, size} == want
		})
		require.NoError(t, err)
		require.GreaterOrEqual(t, got.Offset, want.offset)
		require.LessOrEqual(t, got.Offset+got.Size, want.offset+want.size)
		require.GreaterOrEqual(t, got.Size, r.Size)
		for offset, length := range live {
			require.True(t, got.Offset+got.Size <= offset || offset+length <= got.Offset, "the offset is inside a live block")
		}
		found, ok := s.Lookup(got.Offset)
		require.True(t, ok)
		require.Equal(t, got, found)
		require.NoError(t, s.Check())
	})
}

func TestSizeClassRejectsInvalidRequests(t *testing.T) {
	s, err := makeSizeClass(rangealloc.Config{SizeBytes: 1 << 20, GranuleBytes: 256})
	require.NoError(t, err)
	defer s.Close()
	for _, r := range []rangealloc.Request{{Size: 0, Align: 1}, {Size: 1, Align: 3}} {
		_, asked, err := s.(rangealloc.Asker).AllocWhere(r, 9, func(uint64, uint64) bool { return true })
		require.Error(t, err)
		require.Zero(t, asked)
	}
}
