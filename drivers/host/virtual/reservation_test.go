package virtual

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"ferrum_mem/core/device"
	"ferrum_mem/drivers/host/mapping"
)

// Both iterations are compared with a plain list of the pages at each address. They visit
// every page of a range in order, including those before a gap. They return false after a
// gap or after a visit that ends the iteration.
func TestStretchesEqualAPlainList(t *testing.T) {
	const base, size = uint64(1 << 20), uint64(4 * chunkSlots)
	type found struct {
		page               device.Page
		address, pageBytes uint64
	}
	rapid.Check(t, func(t *rapid.T) {
		r := &reservation{mapping: mapping.Range{Base: base, Size: size}}
		plain := make([]*found, size)
		next := device.Page(1)
		for at := uint64(0); at < size; {
			pageBytes := rapid.SampledFrom([]uint64{1, 2, 32}).Draw(t, "page size")
			at = (at + pageBytes - 1) / pageBytes * pageBytes
			run := rapid.Uint64Range(1, 900).Draw(t, "pages")
			there := rapid.IntRange(0, 3).Draw(t, "there") != 0
			for ; run > 0 && at < size; run-- {
				if there {
					*r.table(pageBytes).ensure(at / pageBytes) = pageSlot{page: next}
					what := &found{page: next, address: base + at, pageBytes: pageBytes}
					for i := range pageBytes {
						plain[at+i] = what
					}
					next++
				}
				at += pageBytes
			}
		}
		for range 8 {
			first := rapid.Uint64Range(0, size-1).Draw(t, "first")
			length := rapid.Uint64Range(1, size-first).Draw(t, "length")
			var want []found
			whole := true
			for _, p := range plain[first : first+length] {
				if whole = p != nil; !whole {
					break
				}
				if n := len(want); n == 0 || want[n-1] != *p {
					want = append(want, *p)
				}
			}
			var pages, stretched []found
			require.Equal(t, whole, r.each(base+first, length, func(p place) bool {
				pages = append(pages, found{page: p.page, address: p.address, pageBytes: p.pageBytes})
				return true
			}))
			require.Equal(t, want, pages)
			require.Equal(t, whole, r.eachSpan(base+first, length, func(s pageSpan) bool {
				for i, p := range s.slots {
					stretched = append(stretched, found{page: p.page, address: s.address + uint64(i)*s.pageBytes, pageBytes: s.pageBytes})
				}
				last := stretched[len(stretched)-1]
				require.Equal(t, last.address+last.pageBytes, s.end())
				return true
			}))
			require.Equal(t, want, stretched)
			require.Equal(t, whole, r.covered(base+first, length))
			if len(want) == 0 {
				continue
			}
			left := rapid.IntRange(1, len(want)).Draw(t, "visits")
			pages = nil
			require.False(t, r.each(base+first, length, func(p place) bool {
				pages = append(pages, found{page: p.page, address: p.address, pageBytes: p.pageBytes})
				return len(pages) < left
			}))
			require.True(t, slices.Equal(want[:left], pages))
		}
	})
}
