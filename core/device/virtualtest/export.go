package virtualtest

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
)

// exports: exported and imported pages are the same memory as long as any process has one
// of them. The export of an imported page and of an invalid one is rejected. A device
// without the capability has no such pages.
func exports(t *testing.T, dev subject) {
	size := dev.Granularity().RecommendedBytes
	pages := make([]device.Page, 3)
	x, is := dev.Device.(device.Exporter)
	if !is || !dev.Info().Exporter {
		requireCode(t, device.CodeUnsupported, dev.Create(pages, size, device.BackingShareable))
		return
	}
	plain := make([]device.Page, 1)
	require.NoError(t, dev.Create(plain, size, device.BackingMovable))
	// Go's runtime opens descriptors of its own with the first file that it may have to
	// wait for.
	read, write, err := os.Pipe()
	require.NoError(t, err)
	require.NoError(t, errors.Join(read.Close(), write.Close()))
	before := descriptors(t)
	require.NoError(t, dev.Create(pages, size, device.BackingShareable))
	addr, err := dev.Reserve(8*size, size)
	require.NoError(t, err)
	at := func(place uint64) device.Addr { return addr + device.Addr(place*size) }
	put := func(place, count uint64, list []device.Page) {
		require.NoError(t, dev.Map(at(place), list))
		require.NoError(t, dev.SetAccess(at(place), count*size, device.AccessReadWrite))
	}
	put(0, 3, pages)
	require.NoError(t, dev.visible.FillNow(at(0), 5, 3*size))

	copies := make([]device.Page, 2)
	for i, p := range pages[:2] {
		file := exported(t, x, p)
		_, err := x.ImportPage(int(file.Fd()), 2*size)
		requireCode(t, device.CodeInvalidPageSize, err)
		copies[i], err = x.ImportPage(int(file.Fd()), size)
		require.NoError(t, err)
		require.NotContains(t, pages, copies[i])
		require.NoError(t, file.Close())
	}
	put(4, 2, copies)
	same := func(place uint64, value byte) {
		_, other, err := dev.visible.FirstOther(at(place), value, size)
		require.NoError(t, err)
		require.False(t, other, "place %d is all %d", place, value)
	}
	same(4, 5)
	require.NoError(t, dev.visible.FillNow(at(4), 6, 2*size))
	for place, value := range []byte{6, 6, 5} {
		same(uint64(place), value)
	}
	refusals(t, dev, x, plain[0])
	again := exported(t, x, pages[0])
	importedStays(t, x, copies[0])

	require.NoError(t, dev.Unmap(at(0), 3*size))
	require.NoError(t, dev.Release(pages))
	importedStays(t, x, copies[0])
	same(4, 6)
	require.NoError(t, dev.Unmap(at(4), 2*size))
	require.NoError(t, dev.Zero(copies[:1]))
	require.NoError(t, dev.Release(copies))
	late, err := x.ImportPage(int(again.Fd()), size)
	require.NoError(t, err, "a descriptor keeps the memory")
	require.NoError(t, again.Close())
	put(0, 1, []device.Page{late})
	same(0, 0)
	require.NoError(t, dev.Unmap(at(0), size))
	require.NoError(t, dev.Release(append(plain, late)))
	require.NoError(t, dev.Unreserve(addr, 8*size))
	require.Equal(t, before, descriptors(t), "no descriptor is left open")
}

// exported returns a page's descriptor as a file, which the caller closes.
func exported(t *testing.T, x device.Exporter, page device.Page) *os.File {
	fd, err := x.ExportPage(page)
	require.NoError(t, err)
	return os.NewFile(uintptr(fd), "page")
}

// importedStays checks that an imported page cannot be exported.
func importedStays(t *testing.T, x device.Exporter, page device.Page) {
	_, err := x.ExportPage(page)
	requireCode(t, device.CodeInvalidArgument, err)
	require.ErrorContains(t, err, "was imported, and only the process that created it can export it")
}

func refusals(t *testing.T, dev subject, x device.Exporter, plain device.Page) {
	size := dev.Granularity().RecommendedBytes
	for _, wrong := range []device.Page{0, 1 << 62} {
		_, err := x.ExportPage(wrong)
		requireCode(t, device.CodeInvalidHandle, err)
	}
	_, err := x.ExportPage(plain)
	requireCode(t, device.CodeInvalidArgument, err)
	empty, err := os.CreateTemp(t.TempDir(), "no page")
	require.NoError(t, err)
	for _, wrong := range []int{-1, 1 << 20, int(empty.Fd())} {
		_, err := x.ImportPage(wrong, size)
		requireCode(t, device.CodeInvalidArgument, err)
	}
	for _, wrong := range []uint64{0, 3 * size, dev.Granularity().MinimumBytes / 2, 1<<63 + 1} {
		_, err := x.ImportPage(int(empty.Fd()), wrong)
		requireCode(t, device.CodeInvalidPageSize, err)
	}
	require.NoError(t, empty.Close())
}

// descriptors counts the open descriptors of memory. It ignores other descriptors,
// which Go's runtime opens at any time.
func descriptors(t *testing.T) int {
	entries, err := os.ReadDir("/proc/self/fd")
	require.NoError(t, err)
	count := 0
	for _, entry := range entries {
		// One descriptor may be closed by now: that of the folder itself.
		if target, err := os.Readlink("/proc/self/fd/" + entry.Name()); err == nil && strings.HasPrefix(target, "/memfd:") {
			count++
		}
	}
	return count
}

func requireCode(t *testing.T, code device.Code, err error) {
	t.Helper()
	require.Equal(t, code, device.CodeOf(err), "%v", err)
}
