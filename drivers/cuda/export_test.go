package cuda

import (
	"os"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
)

// Another process imports pages of this process, maps, reads and writes them. This process
// then imports one of its own pages twice.
func TestPagesOfAnotherProcess(t *testing.T) {
	const size = 2 << 20
	var told message
	if isOther(t, &told) {
		o, before := open(t, 1), descriptors(t)
		space, err := o.Reserve(4*size, size)
		require.NoError(t, err)
		pages := make([]device.Page, 2)
		for i := range pages {
			pages[i], err = o.ImportPage(3+i, size)
			require.NoError(t, err)
		}
		require.NoError(t, o.Map(space, pages))
		require.NoError(t, o.SetAccess(space, 2*size, device.AccessReadWrite))
		require.Equal(t, []byte{1, 2}, get(t, o.DefaultStream(), space+size-1, 2))
		put(t, o.DefaultStream(), space+size-1, []byte{3, 4})
		_, err = o.ExportPage(pages[0])
		require.ErrorContains(t, requireCode(t, device.CodeInvalidArgument, err), "was imported")
		require.NoError(t, o.Unmap(space, 2*size))
		require.NoError(t, o.Release(pages))
		require.NoError(t, o.Unreserve(space, 4*size))
		require.Equal(t, before, descriptors(t))
		require.NoError(t, o.Close())
		newSimulator(t).clean()
		return
	}
	o, before := open(t, 1), descriptors(t)
	space, err := o.Reserve(2*size, size)
	require.NoError(t, err)
	pages := make([]device.Page, 2)
	require.NoError(t, o.Create(pages, size, device.BackingShareable))
	require.NoError(t, o.Map(space, pages))
	require.NoError(t, o.SetAccess(space, 2*size, device.AccessReadWrite))
	put(t, o.DefaultStream(), space+size-1, []byte{1, 2})
	var files []*os.File
	for _, p := range pages {
		fd, err := o.ExportPage(p)
		require.NoError(t, err)
		files = append(files, os.NewFile(uintptr(fd), "page"))
	}
	runOther(t, message{}, files...)
	require.Equal(t, []byte{3, 4}, get(t, o.DefaultStream(), space+size-1, 2))

	// The process imports one of its own pages twice. The page and both imports are the
	// same memory.
	twice := make([]device.Page, 2)
	for i := range twice {
		twice[i], err = o.ImportPage(int(files[0].Fd()), size)
		require.NoError(t, err)
	}
	other, err := o.Reserve(2*size, size)
	require.NoError(t, err)
	require.NoError(t, o.Map(other, twice))
	require.NoError(t, o.SetAccess(other, 2*size, device.AccessReadWrite))
	put(t, o.DefaultStream(), other, []byte{9})
	require.Equal(t, []byte{9}, get(t, o.DefaultStream(), other+size, 1))
	require.Equal(t, []byte{9}, get(t, o.DefaultStream(), space, 1))
	require.NoError(t, o.Unmap(space, 2*size))
	require.NoError(t, o.Release(pages))
	require.Equal(t, []byte{9}, get(t, o.DefaultStream(), other, 1), "the memory exists while one process uses it")
	require.NoError(t, o.Unmap(other, 2*size))
	require.NoError(t, o.Release(twice[:1]))
	requireCode(t, device.CodeInvalidHandle, o.Release(twice[:1]))
	requireCode(t, device.CodeBusy, o.Close())
	require.NoError(t, o.Release(twice[1:]))
	require.NoError(t, o.Unreserve(space, 2*size))
	require.NoError(t, o.Unreserve(other, 2*size))
	for _, f := range files {
		require.NoError(t, f.Close())
	}
	require.Equal(t, before, descriptors(t))
	require.NoError(t, o.Close())
	newSimulator(t).clean()
}

func TestImportRefusesBadInput(t *testing.T) {
	const size = 2 << 20
	sim := newSimulator(t)
	a, b := openTwo(t)
	before := descriptors(t)
	pages, plain := make([]device.Page, 1), make([]device.Page, 1)
	require.NoError(t, a.Create(pages, size, device.BackingShareable))
	require.NoError(t, a.Create(plain, size, device.BackingMovable))
	_, err := a.ExportPage(plain[0])
	require.Contains(t, requireCode(t, device.CodeInvalidArgument, err).Message, "backing 0")
	for _, wrong := range []device.Page{0, 99} {
		_, err = a.ExportPage(wrong)
		requireCode(t, device.CodeInvalidHandle, err)
	}
	fd, err := a.ExportPage(pages[0])
	require.NoError(t, err)
	nothing, err := os.Open("/dev/null")
	require.NoError(t, err)
	for _, c := range []struct {
		code  device.Code
		on    *openDevice
		fd    int
		bytes uint64
		words string
	}{
		{device.CodeInvalidArgument, a, -1, size, "descriptor -1: bad file descriptor"},
		{device.CodeInvalidArgument, a, 1 << 20, size, "bad file descriptor"},
		{device.CodeInvalidArgument, a, int(nothing.Fd()), size, "cuMemImportFromShareableHandle"},
		{device.CodeInvalidArgument, b, fd, size, "is memory of the CUDA device 0"},
		{device.CodeInvalidPageSize, a, fd, 2 * size, "cuMemMap"},
		{device.CodeInvalidPageSize, a, fd, 0, "page size 0"},
		{device.CodeInvalidPageSize, a, fd, 3 * size, "power of two"},
		{device.CodeInvalidPageSize, a, fd, size / 2, "power of two"},
		{device.CodeInvalidPageSize, a, fd, 1 << 63, "power of two"},
	} {
		_, err := c.on.ImportPage(c.fd, c.bytes)
		require.Contains(t, requireCode(t, c.code, err).Message, c.words)
	}
	require.NoError(t, nothing.Close())
	require.NoError(t, syscall.Close(fd))
	_, err = a.ImportPage(fd, size)
	require.Contains(t, requireCode(t, device.CodeInvalidArgument, err).Message, "bad file descriptor")
	require.NoError(t, a.Release(pages))
	_, err = a.ExportPage(pages[0])
	requireCode(t, device.CodeInvalidHandle, err)
	require.NoError(t, a.Release(plain))
	require.NoError(t, a.Close())
	require.NoError(t, b.Close())
	require.Equal(t, before, descriptors(t))
	require.Empty(t, sim.text("simcuda_leaks"))
	// The library detects some invalid arguments only by a driver call that fails. The
	// simulator reports these calls.
	sim.call("simcuda_clear_violations")
	_, err = a.ExportPage(1)
	requireCode(t, device.CodeInvalidState, err)
	_, err = a.ImportPage(0, size)
	requireCode(t, device.CodeInvalidState, err)
}

// Each call of the vendor driver fails once. Nothing leaks, and the next attempt succeeds.
func TestFailedExportLeaksNothing(t *testing.T) {
	const size = 2 << 20
	sim, o := newSimulator(t), open(t, 0)
	before := descriptors(t)
	pages := make([]device.Page, 1)
	require.NoError(t, o.Create(pages, size, device.BackingShareable))
	failed := 0
	for _, name := range []string{
		"cuMemExportToShareableHandle", "cuMemImportFromShareableHandle", "cuMemGetAllocationPropertiesFromHandle",
		"cuMemAddressReserve", "cuMemMap", "cuMemUnmap", "cuMemAddressFree", "cuMemRelease",
	} {
		sim.fault(name, 1, resultOutOfMemory)
		fd, err := o.ExportPage(pages[0])
		if err != nil {
			require.Contains(t, requireCode(t, device.CodeOutOfMemory, err).Message, name)
			failed++
			fd, err = o.ExportPage(pages[0])
		}
		require.NoError(t, err)
		imported, err := o.ImportPage(fd, size)
		if err != nil {
			require.Contains(t, err.Error(), name)
			failed++
			imported, err = o.ImportPage(fd, size)
		}
		require.NoError(t, err, name)
		if err := o.Release([]device.Page{imported}); err != nil {
			require.Equal(t, "cuMemRelease", name)
			failed++
			require.NoError(t, o.Release([]device.Page{imported}))
		}
		require.NoError(t, syscall.Close(fd))
		require.Zero(t, sim.call("simcuda_faults_left"), name)
	}
	require.GreaterOrEqual(t, failed, 6)
	require.NoError(t, o.Release(pages))
	require.NoError(t, o.Close())
	require.Equal(t, before, descriptors(t))
	sim.clean()
}

// The driver releases an imported page and then repeatedly fails to release the next page.
// An imported page cannot be created again, so Release must succeed. The device keeps the
// second page as owed and releases it later.
func TestFailedReleaseLosesNoPage(t *testing.T) {
	const size = 2 << 20
	sim, o := newSimulator(t), open(t, 0)
	own := make([]device.Page, 1)
	require.NoError(t, o.Create(own, size, device.BackingShareable))
	fd, err := o.ExportPage(own[0])
	require.NoError(t, err)
	first, err := o.ImportPage(fd, size)
	require.NoError(t, err)
	require.NoError(t, syscall.Close(fd))
	for n := 2; n <= 10; n++ {
		sim.fault("cuMemRelease", n, resultOutOfMemory)
	}
	addr, err := o.Alloc(size)
	require.NoError(t, err)
	require.NoError(t, o.Release([]device.Page{first, own[0]}))
	requireCode(t, device.CodeInvalidHandle, o.Release([]device.Page{first}))
	requireCode(t, device.CodeInvalidHandle, o.Release(own))
	require.NoError(t, o.FillNow(addr, 1, 256), "no fill waits for an unknown page")
	require.NoError(t, o.Free(addr, size))
	requireCode(t, device.CodeOutOfMemory, o.Close())
	require.NoError(t, o.Close())
	sim.clean()
}

func TestDeviceHasNoDescriptors(t *testing.T) {
	if !alone(t, "SIMCUDA_WITHOUT=fd") {
		return
	}
	o := open(t, 0)
	require.False(t, o.Info().Exporter)
	require.True(t, o.Info().VirtualMemory)
	requireCode(t, device.CodeUnsupported, o.Create(make([]device.Page, 1), 2<<20, device.BackingShareable))
	_, err := o.ExportPage(1)
	requireCode(t, device.CodeUnsupported, err)
	_, err = o.ImportPage(0, 2<<20)
	requireCode(t, device.CodeUnsupported, err)
	require.NoError(t, o.Close())
	newSimulator(t).clean()
}

// A lost device exports and imports no pages, but it can release imported pages.
func TestDeviceIsLostWithImportedPages(t *testing.T) {
	if !alone(t) {
		return
	}
	const size = 2 << 20
	o, sim := open(t, 0), newSimulator(t)
	pages := make([]device.Page, 1)
	require.NoError(t, o.Create(pages, size, device.BackingShareable))
	fd, err := o.ExportPage(pages[0])
	require.NoError(t, err)
	imported, err := o.ImportPage(fd, size)
	require.NoError(t, err)
	sim.must("cuDevicePrimaryCtxReset_v2", 0)
	_, err = o.Memory()
	requireCode(t, device.CodeDeviceLost, err)
	_, err = o.ExportPage(pages[0])
	requireCode(t, device.CodeDeviceLost, err)
	_, err = o.ImportPage(fd, size)
	requireCode(t, device.CodeDeviceLost, err)
	requireCode(t, device.CodeDeviceLost, o.GrantPeer(mustOpen(t, o.driver, 1)))
	require.NoError(t, o.Release([]device.Page{imported, pages[0]}))
	require.NoError(t, o.Close())
	require.NoError(t, syscall.Close(fd))
}

func mustOpen(t *testing.T, d *Driver, index int) *openDevice {
	dev, err := d.Open(index)
	require.NoError(t, err)
	return dev.(*openDevice)
}
