package offheap

import (
	"math"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"ferrum_mem/core/device"
)

type item struct {
	a uint64
	b [3]uint32
}

// The reference model is a slice of the Go heap. However a table grows, it keeps its items
// and new items are 0. At the end no memory is left mapped.
func TestTableIsASlice(t *testing.T) {
	before := Mapped()
	rapid.Check(t, func(t *rapid.T) {
		var table Table[item]
		var items, model []item
		for range rapid.IntRange(1, 20).Draw(t, "steps") {
			want := rapid.OneOf(rapid.IntRange(0, 300), rapid.IntRange(0, 5000)).Draw(t, "want")
			require.NoError(t, table.Grow(&items, want))
			require.GreaterOrEqual(t, cap(items), want)
			require.Equal(t, len(model), len(items))
			if more := want - len(items); more > 0 {
				start := len(items)
				items = items[:want]
				model = append(model, make([]item, more)...)
				require.True(t, slices.Equal(model, items), "new items are 0")
				for i := start; i < want; i++ {
					items[i] = item{a: uint64(i), b: [3]uint32{1, 2, uint32(want)}}
					model[i] = items[i]
				}
			}
			require.True(t, slices.Equal(model, items))
			require.GreaterOrEqual(t, table.Bytes(), cap(items)*24)
		}
		table.Free(&items)
		require.Nil(t, items)
		require.Zero(t, table.Bytes())
		table.Free(&items)
		require.NoError(t, table.Grow(&items, 5), "a freed table is as new")
		table.Free(&items)
	})
	require.Equal(t, before, Mapped())
}

// A shared table keeps its items and has its own pages from then on, however small it is. C
// code finds the pages at the returned address.
func TestShare(t *testing.T) {
	before := Mapped()
	var table Table[uint64]
	var items []uint64
	_, ok := table.Share(&items)
	require.False(t, ok, "an empty table")
	require.NoError(t, table.Grow(&items, 5))
	items = append(items, 1, 2, 3)
	address, ok := table.Share(&items)
	require.Equal(t, Pages, ok)
	require.Equal(t, []uint64{1, 2, 3}, items)
	if !ok {
		return
	}
	require.Equal(t, uint64(uintptr(unsafe.Pointer(unsafe.SliceData(items)))), address)
	require.Greater(t, Mapped(), before)
	again, ok := table.Share(&items)
	require.True(t, ok)
	require.Equal(t, address, again)
	require.NoError(t, table.Grow(&items, 100_000))
	require.Equal(t, []uint64{1, 2, 3}, items)
	table.Free(&items)
	require.Equal(t, before, Mapped())

	require.NoError(t, table.Grow(&items, 1))
	items = append(items, 7)
	limit := SetLimit(Mapped())
	_, ok = table.Share(&items)
	SetLimit(limit)
	if smallBytes > 0 {
		require.False(t, ok, "there is no memory for it")
	}
	require.Equal(t, []uint64{7}, items)
	table.Free(&items)
}

// A large table grows by at most an eighth and a page, or to the requested capacity.
func TestGrowth(t *testing.T) {
	var table Table[uint64]
	var items []uint64
	defer func() { table.Free(&items) }()
	for items = nil; cap(items) < 1<<20; {
		had := cap(items) * 8
		require.NoError(t, table.Grow(&items, cap(items)+1))
		if had > 64<<10 {
			require.LessOrEqual(t, table.Bytes(), had+had/8+64<<10)
			require.GreaterOrEqual(t, table.Bytes(), had+had/8-8)
		}
		items = items[:cap(items)]
	}
	require.NoError(t, table.Grow(&items, 5<<20))
	require.LessOrEqual(t, table.Bytes(), 5<<23+64<<10)
	clipped := items[:3:3]
	require.NoError(t, table.Grow(&clipped, 5<<20))
	require.GreaterOrEqual(t, cap(clipped), 5<<20, "a slice that was clipped has its room again")
	require.Len(t, clipped, 3)
	items = clipped
}

func TestBadUseOfATable(t *testing.T) {
	panics := func(names string, f func()) {
		t.Helper()
		defer func() {
			t.Helper()
			text, ok := recover().(string)
			require.True(t, ok && strings.Contains(text, names), "%v", text)
		}()
		f()
	}
	panics("*int", func() { var s []*int; _ = new(Table[*int]).Grow(&s, 1) })
	panics("string", func() { var s []struct{ a [2]string }; _ = new(Table[struct{ a [2]string }]).Grow(&s, 1) })
	panics("[]int", func() { var s [][]int; _ = new(Table[[]int]).Grow(&s, 1) })
	var table Table[item]
	panics("not the table's", func() { s := make([]item, 1); _ = table.Grow(&s, 2) })
	panics("not the table's", func() { s := make([]item, 1); table.Free(&s) })
}

func TestTooLong(t *testing.T) {
	var table Table[item]
	var items []item
	defer func() { table.Free(&items) }()
	require.NoError(t, table.Grow(&items, 10))
	items = items[:10]
	items[9].a = 7
	bytes, mapped := table.Bytes(), Mapped()
	for _, want := range []int{math.MaxInt, math.MaxInt / 24, math.MaxInt/96 + 1} {
		err := table.Grow(&items, want)
		require.ErrorIs(t, err, device.CodeResourceExhausted)
		require.Equal(t, bytes, table.Bytes())
		require.Equal(t, mapped, Mapped())
		require.Equal(t, uint64(7), items[9].a)
	}
}
