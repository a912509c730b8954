package cuda

import (
	"testing"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
)

// Some drivers support only read-write protection. The library returns an error for other
// protections and changes nothing.
func TestUnsupportedProtectionsChangeNothing(t *testing.T) {
	if !alone(t, "SIMCUDA_WITHOUT=protection") {
		return
	}
	const size = 2 << 20
	o, sim := open(t, 0), newSimulator(t)
	space, err := o.Reserve(size, size)
	require.NoError(t, err)
	pages := make([]device.Page, 1)
	require.NoError(t, o.Create(pages, size, device.BackingPrivate))
	require.NoError(t, o.Map(space, pages))
	requireCode(t, device.CodeUnsupported, o.SetAccess(space, size, device.AccessRead))
	requireCode(t, device.CodePermissionDenied, o.DefaultStream().Fill(space, device.Pattern{WidthBytes: 1}, 16))
	require.NoError(t, o.SetAccess(space, size, device.AccessReadWrite))
	requireCode(t, device.CodeUnsupported, o.SetAccess(space, size, device.AccessRead))
	requireCode(t, device.CodeUnsupported, o.SetAccess(space, size, device.AccessNone))
	put(t, o.DefaultStream(), space, []byte{1, 2, 3})
	require.NoError(t, o.Unmap(space, size))
	require.NoError(t, o.Release(pages))
	require.NoError(t, o.Unreserve(space, size))
	require.NoError(t, o.Close())
	require.Empty(t, sim.text("simcuda_leaks"))
}

// If a driver ignores the alignment of a reservation, the library reserves more address
// space, and the device works as usual.
func TestDriverThatIgnoresAlignment(t *testing.T) {
	if !alone(t, "SIMCUDA_WITHOUT=alignment") {
		return
	}
	const size = 2 << 20
	o, sim := open(t, 0), newSimulator(t)
	for _, align := range []uint64{size, 2 * size, 16 * size, 1 << 30} {
		before := sim.calls("cuMemAddressReserve")
		space, err := o.Reserve(3*size, align)
		require.NoError(t, err)
		require.Zero(t, uint64(space)%align)
		if align > size {
			require.Equal(t, 2, sim.calls("cuMemAddressReserve")-before, "one more reservation, for more addresses")
		}
		pages := make([]device.Page, 3)
		require.NoError(t, o.Create(pages, size, device.BackingPrivate))
		require.NoError(t, o.Map(space, pages))
		require.NoError(t, o.SetAccess(space, 3*size, device.AccessReadWrite))
		put(t, o.DefaultStream(), space+3*size-3, []byte{1, 2, 3})
		require.NoError(t, o.Unmap(space, 3*size))
		require.NoError(t, o.Release(pages))
		require.NoError(t, o.Unreserve(space, 3*size))
	}
	require.NoError(t, o.Close())
	sim.clean()
}
