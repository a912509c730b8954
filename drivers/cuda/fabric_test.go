package cuda

import (
	"testing"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/core/engine"
	"ferrum_mem/core/vmm"
)

// This process exports a page by a fabric handle. Another process maps, reads and writes
// the page, and cannot export it.
func TestFabricPagesOfAnotherProcess(t *testing.T) {
	const size = 2 << 20
	var told message
	if isOther(t, &told) {
		o := open(t, 1)
		page, err := o.ImportFabricPage(told.Fabric, size)
		require.NoError(t, err)
		space := mapped(t, o, page, size)
		require.Equal(t, []byte{1, 2}, get(t, o.DefaultStream(), space+size-2, 2))
		put(t, o.DefaultStream(), space+size-2, []byte{3, 4})
		_, err = o.ExportFabricPage(page)
		require.ErrorContains(t, requireCode(t, device.CodeInvalidArgument, err), "was imported")
		_, err = o.ExportPage(page)
		requireCode(t, device.CodeInvalidArgument, err)
		unmapped(t, o, space, page, size)
		require.NoError(t, o.Close())
		newSimulator(t).clean()
		return
	}
	o, before := open(t, 1), descriptors(t)
	require.True(t, o.Info().FabricExporter)
	pages := make([]device.Page, 1)
	require.NoError(t, o.Create(pages, size, device.BackingFabric))
	space := mapped(t, o, pages[0], size)
	put(t, o.DefaultStream(), space+size-2, []byte{1, 2})
	handle, err := o.ExportFabricPage(pages[0])
	require.NoError(t, err)
	runOther(t, message{Fabric: handle})
	require.Equal(t, []byte{3, 4}, get(t, o.DefaultStream(), space+size-2, 2))

	twice, err := o.ImportFabricPage(handle, size)
	require.NoError(t, err)
	unmapped(t, o, space, pages[0], size)
	_, err = o.ExportFabricPage(pages[0])
	requireCode(t, device.CodeInvalidHandle, err)
	space = mapped(t, o, twice, size)
	require.Equal(t, []byte{3, 4}, get(t, o.DefaultStream(), space+size-2, 2), "the memory exists while one process uses it")
	unmapped(t, o, space, twice, size)
	_, err = o.ImportFabricPage(handle, size)
	require.Contains(t, requireCode(t, device.CodeInvalidArgument, err).Message, "fabric handle", "nobody has it any more")
	require.Equal(t, before, descriptors(t))
	require.NoError(t, o.Close())
	sim := newSimulator(t)
	require.Empty(t, sim.text("simcuda_leaks"))
	sim.call("simcuda_clear_violations")
}

// mapped maps a page at a new reservation.
func mapped(t *testing.T, o *openDevice, page device.Page, size uint64) device.Addr {
	t.Helper()
	space, err := o.Reserve(size, size)
	require.NoError(t, err)
	require.NoError(t, o.Map(space, []device.Page{page}))
	require.NoError(t, o.SetAccess(space, size, device.AccessReadWrite))
	return space
}

// unmapped undoes mapped and releases the page.
func unmapped(t *testing.T, o *openDevice, space device.Addr, page device.Page, size uint64) {
	t.Helper()
	require.NoError(t, o.Unmap(space, size))
	require.NoError(t, o.Release([]device.Page{page}))
	require.NoError(t, o.Unreserve(space, size))
}

func TestImportByFabricHandleRejectsBadInput(t *testing.T) {
	const size = 2 << 20
	sim := newSimulator(t)
	a, b := openTwo(t)
	pages, shareable := make([]device.Page, 1), make([]device.Page, 1)
	require.NoError(t, a.Create(pages, size, device.BackingFabric))
	require.NoError(t, a.Create(shareable, size, device.BackingShareable))
	_, err := a.ExportFabricPage(shareable[0])
	require.Contains(t, requireCode(t, device.CodeInvalidArgument, err).Message, "backing 2")
	_, err = a.ExportFabricPage(99)
	requireCode(t, device.CodeInvalidHandle, err)
	handle, err := a.ExportFabricPage(pages[0])
	require.NoError(t, err)
	for _, c := range []struct {
		code   device.Code
		on     *openDevice
		handle device.FabricHandle
		bytes  uint64
		words  string
	}{
		{device.CodeInvalidArgument, a, device.FabricHandle{}, size, "fabric handle 0000000000000000"},
		{device.CodeInvalidArgument, b, handle, size, "is memory of the CUDA device 0"},
		{device.CodeInvalidPageSize, a, handle, 2 * size, "cuMemMap"},
		{device.CodeInvalidPageSize, a, handle, 3 * size, "power of two"},
	} {
		_, err := c.on.ImportFabricPage(c.handle, c.bytes)
		require.Contains(t, requireCode(t, c.code, err).Message, c.words)
	}
	require.NoError(t, a.Release(pages))
	require.NoError(t, a.Release(shareable))
	require.NoError(t, a.Close())
	require.NoError(t, b.Close())
	require.Empty(t, sim.text("simcuda_leaks"))
	// The library detects some invalid arguments only by a driver call that fails. The
	// simulator reports these calls.
	sim.call("simcuda_clear_violations")
	_, err = a.ImportFabricPage(handle, size)
	requireCode(t, device.CodeInvalidState, err)
	_, err = a.ExportFabricPage(1)
	requireCode(t, device.CodeInvalidState, err)
}

// Each call of the vendor driver fails once. Nothing leaks, and the next attempt succeeds.
func TestFailedExportByFabricHandleLeaksNothing(t *testing.T) {
	const size = 2 << 20
	sim, o := newSimulator(t), open(t, 0)
	before := descriptors(t)
	for _, name := range []string{
		"cuMemCreate", "cuMemExportToShareableHandle", "cuMemImportFromShareableHandle", "cuMemGetAllocationPropertiesFromHandle",
		"cuMemAddressReserve", "cuMemMap",
	} {
		pages := make([]device.Page, 1)
		// The driver returns this code if the process has no access to a channel of the
		// fabric.
		sim.fault(name, 1, resultNotPermitted)
		err := o.Create(pages, size, device.BackingFabric)
		failed := err
		if err != nil {
			require.NoError(t, o.Create(pages, size, device.BackingFabric))
		}
		handle, err := o.ExportFabricPage(pages[0])
		if err != nil {
			failed = err
			handle, err = o.ExportFabricPage(pages[0])
			require.NoError(t, err)
		}
		imported, err := o.ImportFabricPage(handle, size)
		if err != nil {
			failed = err
			imported, err = o.ImportFabricPage(handle, size)
			require.NoError(t, err)
		}
		require.Contains(t, requireCode(t, device.CodePermissionDenied, failed).Message, name)
		require.NoError(t, o.Release([]device.Page{imported}))
		require.NoError(t, o.Release(pages))
		require.Zero(t, sim.call("simcuda_faults_left"), name)
	}
	require.NoError(t, o.Close())
	require.Equal(t, before, descriptors(t))
	sim.clean()
}

// If the device or its driver does not support fabric handles, the library rejects the pool
// and the error states the reason.
func TestFabricPagesUnsupported(t *testing.T) {
	if !alone(t, "SIMCUDA_WITHOUT=fabric") {
		return
	}
	o := open(t, 0)
	require.False(t, o.Info().FabricExporter)
	err := o.Create(make([]device.Page, 1), 2<<20, device.BackingFabric)
	require.ErrorContains(t, requireCode(t, device.CodeUnsupported, err), "fabric handles")
	_, err = o.ImportFabricPage(device.FabricHandle{}, 2<<20)
	requireCode(t, device.CodeUnsupported, err)
	_, err = o.ExportFabricPage(1)
	requireCode(t, device.CodeUnsupported, err)
	_, err = vmm.NewPool(engine.New(o, engine.Options{}), vmm.Config{CapacityBytes: 8 << 20, Backing: device.BackingFabric})
	require.ErrorContains(t, requireCode(t, device.CodeUnsupported, err), "fabric handles")
	require.NoError(t, o.Close())
	newSimulator(t).clean()
}
