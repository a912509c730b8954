package cuda

import (
	"testing"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/core/engine"
	"ferrum_mem/core/vmm"
	"ferrum_mem/internal/dl"
)

// Only pages for other cards have the driver's property that allows these cards access.
// They have it again after they were asleep.
func TestPagesForOtherCards(t *testing.T) {
	const size = 2 << 20
	o, sim := open(t, 0), newSimulator(t)
	require.True(t, o.Info().RDMAPages)
	for _, backing := range []device.Backing{
		device.BackingMovable, device.BackingPrivate, device.BackingShareable, device.BackingRDMA,
	} {
		pages := make([]device.Page, 2)
		require.NoError(t, o.Create(pages, size, backing))
		for _, number := range pages {
			p, err := o.virtual.book.Find("test", number)
			require.NoError(t, err)
			of := new(pageProperties)
			sim.must("cuMemGetAllocationPropertiesFromHandle", dl.Pointer(of), uintptr(p.Handle))
			require.Equal(t, backing == device.BackingRDMA, of.rdma == 1)
			require.Equal(t, backing == device.BackingShareable, of.handles == handleFileDescriptor)
		}
		if backing == device.BackingRDMA {
			_, err := o.ExportPage(pages[0])
			requireCode(t, device.CodeInvalidArgument, err)
		}
		require.NoError(t, o.Release(pages))
	}
	p, err := vmm.NewPool(engine.New(o, engine.Options{}), vmm.Config{CapacityBytes: 8 * size, Backing: device.BackingRDMA})
	require.NoError(t, err)
	require.NoError(t, p.Close(false))
	require.NoError(t, o.Close())
	sim.clean()
}

// If the device or its driver lacks the property, the library rejects the pool and the
// error states the reason.
func TestPagesForOtherCardsUnsupported(t *testing.T) {
	if !alone(t, "SIMCUDA_WITHOUT=rdma") {
		return
	}
	o := open(t, 0)
	require.False(t, o.Info().RDMAPages)
	require.ErrorContains(t, requireCode(t, device.CodeUnsupported, o.Create(make([]device.Page, 1), 2<<20, device.BackingRDMA)), "GPUDirect RDMA")
	_, err := vmm.NewPool(engine.New(o, engine.Options{}), vmm.Config{CapacityBytes: 8 << 20, Backing: device.BackingRDMA})
	require.ErrorContains(t, requireCode(t, device.CodeUnsupported, err), "GPUDirect RDMA")
	require.NoError(t, o.Close())
	newSimulator(t).clean()
}
