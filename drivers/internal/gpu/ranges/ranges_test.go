package ranges

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// Spans are added and removed at random and compared with a plain list.
func TestSpansEqualAPlainList(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var table Table[string]
		list := map[uint64]Span[string]{}
		draw := func() Span[string] {
			return Span[string]{
				Base: rapid.Uint64Range(1, 60).Draw(t, "base"), Size: rapid.Uint64Range(1, 12).Draw(t, "size"),
				Kind: Kind(rapid.IntRange(int(Segment), int(Ordered)).Draw(t, "kind")), Owner: rapid.SampledFrom([]string{"", "a"}).Draw(t, "owner"),
			}
		}
		clear := func(s Span[string]) bool {
			for _, other := range list {
				if s.Base < other.Base+other.Size && other.Base < s.Base+s.Size {
					return false
				}
			}
			return true
		}
		for range 60 {
			s := draw()
			switch rapid.IntRange(0, 3).Draw(t, "step") {
			case 0:
				require.Equal(t, clear(s), table.InsertApart(s))
				if clear(s) {
					list[s.Base] = s
				}
			case 1:
				if clear(s) {
					table.Insert(s)
					list[s.Base] = s
				}
			case 2:
				if there, ok := list[s.Base]; ok && rapid.Bool().Draw(t, "right") {
					s.Size, s.Kind = there.Size, there.Kind
				}
				there, ok := list[s.Base]
				ok = ok && there.Size == s.Size && there.Kind == s.Kind
				got, found := table.Remove(s.Kind, s.Base, s.Size)
				require.Equal(t, ok, found)
				if ok {
					require.Equal(t, there, got)
					delete(list, s.Base)
				}
			case 3:
				var want Span[string]
				whole := false
				for _, other := range list {
					if s.Base >= other.Base && s.Base < other.Base+other.Size {
						want, whole = other, s.Base+s.Size <= other.Base+other.Size
					}
				}
				got, holds := table.Holding(s.Base, s.Size)
				require.Equal(t, whole, holds)
				if whole {
					require.Equal(t, want, got)
				}
			}
		}
	})
}

// Shared spans are added and removed at random and compared with a plain list.
func TestSharedSpansEqualAPlainList(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var table Table[string]
		table.Insert(Span[string]{Base: 20, Size: 5, Kind: Segment})
		table.Insert(Span[string]{Base: 40, Size: 5, Kind: Foreign})
		var list []Span[string]
		for range 60 {
			base, size := rapid.Uint64Range(1, 60).Draw(t, "base"), rapid.Uint64Range(1, 12).Draw(t, "size")
			if rapid.Bool().Draw(t, "share") {
				s := Span[string]{Base: base, Size: size, Kind: Foreign, ReadOnly: rapid.Bool().Draw(t, "read only")}
				isApart := base+size <= 20 || base >= 25
				require.Equal(t, isApart, table.Share(s))
				if isApart {
					list = append(list, s)
				}
			} else {
				if len(list) > 0 && rapid.Bool().Draw(t, "right") {
					s := rapid.SampledFrom(list).Draw(t, "span")
					base, size = s.Base, s.Size
				}
				same := func(s Span[string]) bool { return s.Base == base && s.Size == size }
				at := slices.IndexFunc(list, func(s Span[string]) bool { return same(s) && s.ReadOnly })
				if at < 0 {
					at = slices.IndexFunc(list, same)
				}
				require.Equal(t, at >= 0, table.Unshare(base, size))
				if at >= 0 {
					list = slices.Delete(list, at, at+1)
				}
			}
			for addr := uint64(1); addr < 70; addr += 3 {
				var wantWhole, wantWritable bool
				for _, s := range list {
					if s.Base <= addr && addr+4 <= s.Base+s.Size {
						wantWhole, wantWritable = true, wantWritable || !s.ReadOnly
					}
				}
				whole, writable := table.Sharing(addr, 4)
				require.Equal(t, [2]bool{wantWhole, wantWritable}, [2]bool{whole, writable})
			}
		}
	})
}
