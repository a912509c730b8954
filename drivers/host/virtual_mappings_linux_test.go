package host

import (
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
)

// Mappings that are kept for the rest of the process are given away by the first call
// that the system refuses, and no more are taken until they are back.
func TestSpareMappings(t *testing.T) {
	m := systemMapper()
	virtual := *m.virtual
	m.virtual = &virtual
	refuses, makes := false, 0
	protect, makeMappings := virtual.protect, virtual.makeMappings
	virtual.protect = func(address, size uint64, access device.Access) error {
		if refuses && access != device.AccessNone {
			return syscall.ENOMEM
		}
		return protect(address, size, access)
	}
	virtual.makeMappings = func(count uint64) (uint64, uint64, error) {
		makes++
		if refuses {
			return 0, 0, syscall.ENOMEM
		}
		return makeMappings(count)
	}
	o := openForced(t, m)
	pages := make([]device.Page, 4)
	require.NoError(t, o.Create(pages, scriptPage, device.BackingPrivate))
	addr, err := o.Reserve(4*scriptPage, scriptPage)
	require.NoError(t, err)
	require.NoError(t, o.Map(addr, pages))
	middle := addr + device.Addr(scriptPage)
	require.NoError(t, o.SetAccess(middle, scriptPage, device.AccessReadWrite))
	require.NoError(t, o.SetAccess(middle, scriptPage, device.AccessNone))
	require.True(t, spare.there.Load())
	in := mappingsIn(t, spare.address, spare.size)
	require.GreaterOrEqual(t, len(in), spareMappings)

	made := makes
	refuses = true
	requireCode(t, device.CodeOutOfMemory, o.SetAccess(middle, scriptPage, device.AccessReadWrite))
	require.False(t, spare.there.Load())
	require.Zero(t, spare.give(m.virtual), "once")
	requireCode(t, device.CodeResourceExhausted, o.SetAccess(middle, scriptPage, device.AccessReadWrite), "hardly any left", "vm.max_map_count")
	require.Equal(t, made+1, makes)
	require.Zero(t, o.driver.mappings.count.Load())
	refuses = false
	require.NoError(t, o.SetAccess(middle, scriptPage, device.AccessReadWrite))
	require.True(t, spare.there.Load())
	require.NoError(t, o.FillNow(middle, 1, scriptPage))

	// They cannot be halved: none are kept.
	require.EqualValues(t, spareMappings, spare.give(m.virtual))
	unmap := virtual.unmap
	left := 1
	virtual.unmap = func(address, size uint64) error {
		if left--; left == 0 {
			return syscall.ENOMEM
		}
		return unmap(address, size)
	}
	requireCode(t, device.CodeResourceExhausted, o.SetAccess(addr+device.Addr(3*scriptPage), scriptPage, device.AccessReadWrite))
	require.False(t, spare.there.Load())
	require.NoError(t, o.SetAccess(addr+device.Addr(3*scriptPage), scriptPage, device.AccessReadWrite))
	require.NoError(t, o.Unmap(addr, 4*scriptPage))
	require.NoError(t, o.Release(pages))
	require.NoError(t, o.Unreserve(addr, 4*scriptPage))
	require.NoError(t, o.Close())
}
