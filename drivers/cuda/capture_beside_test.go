package cuda

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
)

// A capture in global mode forbids its thread all calls that manage memory. The library
// still opens, shares, links and closes devices, and the capture continues.
func TestCallsThatACaptureForbidsWorkDuringIt(t *testing.T) {
	const size = 2 << 20
	driver := testDriver(t)
	opened := func(index int) *openDevice {
		d, err := driver.Open(index)
		require.NoError(t, err)
		return d.(*openDevice)
	}
	o := opened(0)
	managed, err := o.AllocManaged(size)
	require.NoError(t, err)
	p := newProgram(t, o)
	p.beginCapture(captureGlobal)

	reading, err := driver.ReadMemory(1)
	require.NoError(t, err)
	require.NotZero(t, reading.TotalBytes)
	other := opened(1)
	segment, err := other.Alloc(size)
	require.NoError(t, err)
	_, err = other.ShareMemory(segment, size)
	require.NoError(t, err)
	event, _, err := other.ShareEvent(other.DefaultStream())
	require.NoError(t, err)
	require.NoError(t, event.Close())
	_, err = o.Link(other, segment, size)
	require.NoError(t, err)
	require.NoError(t, o.Unlink(segment, size))
	pages := make([]device.Page, 1)
	require.NoError(t, other.Create(pages, size, device.BackingShareable))
	fd, err := other.ExportPage(pages[0])
	require.NoError(t, err)
	file := os.NewFile(uintptr(fd), "page")
	again, err := other.ImportPage(fd, size)
	require.NoError(t, err)
	require.NoError(t, file.Close())
	require.NoError(t, other.Release([]device.Page{pages[0], again}))
	require.NoError(t, other.Free(segment, size))
	require.NoError(t, other.Close())

	// A graph has no node for a prefetch, so the library rejects the call itself.
	err = o.Prefetch(p.stream, managed.Addr, size, o)
	require.Contains(t, requireCode(t, device.CodeInvalidState, err).Message, "no prefetch")
	p.sim.must("cuGraphExecDestroy", p.endCapture())
	require.NoError(t, o.Prefetch(p.stream, managed.Addr, size, o))
	require.NoError(t, p.stream.Synchronize(device.Forever))
	p.close()
	require.NoError(t, o.FreeManaged(managed.Addr, size))
	require.NoError(t, o.Close())
	p.sim.clean()
}
