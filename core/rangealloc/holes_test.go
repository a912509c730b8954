package rangealloc

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// The longest hole below a size equals that of a walk over all blocks, with few holes and
// with many.
func TestLargestBelow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const granule, total = 256, 1 << 22
		s, err := New(Default, Config{SizeBytes: total, GranuleBytes: granule})
		require.NoError(t, err)
		defer s.Close()
		var live []uint64
		for range rapid.IntRange(1, 300).Draw(t, "blocks") {
			size := rapid.OneOf(rapid.Uint64Range(1, 8), rapid.Uint64Range(1, 60)).Draw(t, "granules")
			if got, err := s.Alloc(Request{Size: size * granule, Align: granule}); err == nil {
				live = append(live, got.Offset)
			}
		}
		for _, offset := range live {
			if rapid.IntRange(0, 2).Draw(t, "free") == 0 {
				_, err := s.Free(offset)
				require.NoError(t, err)
			}
		}
		finder := s.(HoleFinder)
		for _, size := range []uint64{0, 1, granule, granule + 1, 5 * granule, 64 * granule, total, 2 * total, rapid.Uint64Range(1, total).Draw(t, "size")} {
			want := uint64(0)
			s.Walk(func(b Block) bool {
				if !b.Live && b.Offset+b.Size < total && b.Size < size {
					want = max(want, b.Size)
				}
				return true
			})
			require.Equal(t, want, finder.LargestBelow(size), "below %d", size)
		}
	})
}

func TestBitsetBefore(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const size = 3 << 12
		set, members := newBitset(size), map[uint]bool{}
		for range rapid.IntRange(0, 20).Draw(t, "count") {
			i := rapid.UintRange(0, size-1).Draw(t, "member")
			set.add(i)
			members[i] = true
		}
		i := rapid.UintRange(0, size-1).Draw(t, "i")
		want, some := uint(0), false
		for member := range members {
			if member < i {
				want, some = max(want, member), true
			}
		}
		got, ok := set.before(i)
		require.Equal(t, some, ok)
		require.Equal(t, want, got)
	})
}
