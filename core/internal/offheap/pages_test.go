//go:build linux && !race

package offheap

import (
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
)

// If the system or the limit gives a table no more memory, the table stays unchanged and
// the mapped bytes do too.
func TestNoMemory(t *testing.T) {
	var table Table[uint64]
	var items []uint64
	defer func() { table.Free(&items) }()
	require.NoError(t, table.Grow(&items, 10_000))
	items = items[:10_000]
	items[9_999] = 7
	before, room := Mapped(), cap(items)

	err := table.Grow(&items, 1<<57) // more than the address space of a process
	require.ErrorIs(t, err, device.CodeResourceExhausted)
	require.ErrorContains(t, err, "the system did not provide 1048576 TiB for a table of 80 KiB")

	defer SetLimit(SetLimit(before + 4096))
	err = table.Grow(&items, 20_000)
	require.ErrorIs(t, err, device.CodeResourceExhausted)
	require.ErrorContains(t, err, "above the limit of")

	require.Equal(t, before, Mapped())
	require.Equal(t, room, cap(items))
	require.Equal(t, uint64(7), items[9_999])
}

// This check is the reason to run the tests with the build tag: an access faults if its
// slice is older than the last growth, or than the free, of the table.
func TestOldSlicesFault(t *testing.T) {
	if smallBytes != 0 {
		t.Skip("needs -tags ferrum_moving_tables")
	}
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	var table Table[uint64]
	var items []uint64
	require.NoError(t, table.Grow(&items, 10))
	first := items[:10]
	first[3] = 5
	require.NoError(t, table.Grow(&items, 10_000))
	require.Equal(t, uint64(5), items[:4][3])
	require.Panics(t, func() { first[3]++ })
	second := items[:10]
	table.Free(&items)
	require.Panics(t, func() { second[3]++ })
}

// Leaves fails before the growth if too little memory would remain, and allocates nothing.
func TestLeaves(t *testing.T) {
	var table Table[uint64]
	before := Mapped()
	require.NoError(t, table.Leaves(10, 1<<60), "small tables are not checked")
	require.NoError(t, table.Leaves(1<<20, 1<<20))
	require.ErrorIs(t, table.Leaves(1<<20, 1<<60), device.CodeResourceExhausted)
	require.ErrorIs(t, table.Leaves(1<<62, 0), device.CodeResourceExhausted)
	require.Equal(t, before, Mapped())
}
