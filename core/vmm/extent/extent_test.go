package extent

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"ferrum_mem/core/device"
)

// The pages of a range are those of its bytes, one at a time.
func TestRangeTouchesThePagesOfItsBytes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := Extent{
			Kind: "pool", Name: "p", Base: 4096,
			PageBytes: rapid.Uint64Range(1, 9).Draw(t, "page"), Pages: rapid.Uint64Range(1, 9).Draw(t, "pages"),
		}
		b := Span{rapid.Uint64Range(0, 90).Draw(t, "offset"), rapid.Uint64Range(0, 90).Draw(t, "size")}
		touched := map[uint64]bool{}
		for at := b.Offset; at < b.Offset+b.Size; at++ {
			touched[at/e.PageBytes] = true
		}
		r, err := e.RunOf("free", b)
		switch {
		case b.Size == 0:
			require.ErrorIs(t, err, device.CodeInvalidSize)
			require.ErrorContains(t, err, "pool.free")
		case b.Offset+b.Size > e.Pages*e.PageBytes:
			require.ErrorIs(t, err, device.CodeInvalidOffset)
		default:
			require.NoError(t, err)
			require.Len(t, touched, int(r.Pages))
			for page := range touched {
				require.True(t, r.Start <= page && page < r.End())
				require.Equal(t, device.Addr(4096+page*e.PageBytes), e.Addr(page))
			}
		}
	})
}

func TestRangeWhoseEndOverflowsEndsOutside(t *testing.T) {
	e := Extent{PageBytes: 4, Pages: 2}
	_, err := e.RunOf("free", Span{Offset: 1, Size: ^uint64(0)})
	require.ErrorIs(t, err, device.CodeInvalidOffset)
}

func TestPagesForASizeHoldItAndNoMore(t *testing.T) {
	e := Extent{PageBytes: 5, Pages: 3}
	for size := uint64(1); size <= e.Bytes(); size++ {
		pages, err := e.PagesFor("alloc", size)
		require.NoError(t, err)
		require.True(t, pages*5 >= size && (pages-1)*5 < size, "size %d takes %d pages", size, pages)
	}
	_, err := e.PagesFor("alloc", 0)
	require.ErrorIs(t, err, device.CodeInvalidSize)
	_, err = e.PagesFor("alloc", e.Bytes()+1)
	require.ErrorIs(t, err, device.CodeOutOfVirtualMemory)
}

func TestErrorsOfAModelNameIt(t *testing.T) {
	e := Extent{Kind: "model", Name: "m", OfModel: true, PageBytes: 1, Pages: 1}
	require.Equal(t, "m", e.Fault(device.CodeBusy, "free", "busy").Facts.Model)
	e.OfModel = false
	require.Empty(t, e.Fault(device.CodeBusy, "free", "busy").Facts.Model)
}
