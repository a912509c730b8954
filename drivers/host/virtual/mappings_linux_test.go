package virtual

import (
	"fmt"
	"slices"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"ferrum_mem/core/device"
	"ferrum_mem/drivers/host/mapping"
)

// The first system call that fails releases the spare mappings. No more mappings are used
// until the spare ones exist again.
func TestSpareMappingsAreReleasedOnceAndCreatedAgain(t *testing.T) {
	m := mapping.System()
	virtual := *m.Virtual
	m.Virtual = &virtual
	refuses, makes := false, 0
	protect, makeMappings := virtual.Protect, virtual.MakeMappings
	virtual.Protect = func(address, size uint64, access device.Access) error {
		if refuses && access != device.AccessNone {
			return syscall.ENOMEM
		}
		return protect(address, size, access)
	}
	virtual.MakeMappings = func(count uint64) (uint64, uint64, error) {
		makes++
		if refuses {
			return 0, 0, syscall.ENOMEM
		}
		return makeMappings(count)
	}
	o := openWith(t, m)
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
	require.Zero(t, spare.give(m.Virtual), "once")
	requireCode(t, device.CodeResourceExhausted, o.SetAccess(middle, scriptPage, device.AccessReadWrite), "a spare one", "vm.max_map_count")
	require.Equal(t, made+1, makes)
	require.Zero(t, o.system.mappings.count.Load())
	refuses = false
	require.NoError(t, o.SetAccess(middle, scriptPage, device.AccessReadWrite))
	require.True(t, spare.there.Load())
	require.NoError(t, o.FillNow(middle, 1, scriptPage))

	// If they cannot be split, no mappings are kept.
	require.EqualValues(t, spareMappings, spare.give(m.Virtual))
	unmap := virtual.Unmap
	left := 1
	virtual.Unmap = func(address, size uint64) error {
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

// Mapping a part of a memory file does not change the file's access time, which would cost
// time for each page.
func TestMappingKeepsTheAccessTimeOfTheFile(t *testing.T) {
	o, addr, _ := openVirtual(t, 2, scriptPage, device.BackingMovable)
	fd := o.stores[0].fd
	flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFL, 0)
	require.NoError(t, err)
	require.NotZero(t, flags&unix.O_NOATIME)
	long := unix.Timespec{Sec: 1}
	require.NoError(t, unix.UtimesNanoAt(unix.AT_FDCWD, fmt.Sprintf("/proc/self/fd/%d", fd), []unix.Timespec{long, long}, 0))
	require.NoError(t, o.SetAccess(addr, 2*scriptPage, device.AccessRead))
	var status unix.Stat_t
	require.NoError(t, unix.Fstat(fd, &status))
	require.Equal(t, long.Sec, status.Atim.Sec)
}

// Lists of runs are reused by one call at a time. Long lists are not kept.
func TestListsOfRunsAreReused(t *testing.T) {
	const count = 2*moreRuns + 1
	o, addr, pages := openVirtual(t, count, scriptPage, device.BackingMovable)
	v := o.Memory
	require.Len(t, v.lists, 1)
	kept := &v.lists[0][:1][0]
	require.NoError(t, o.SetAccess(addr, scriptPage, device.AccessRead))
	require.Len(t, v.lists, 1)
	require.Same(t, kept, &v.lists[0][:1][0])
	one, other := v.takeList(), v.takeList()
	require.NotNil(t, one)
	require.Nil(t, other, "it is lent")
	v.returnList(one)
	require.NoError(t, o.Unmap(addr, count*scriptPage))
	require.Len(t, v.lists, 2, "the list from before the change, and the present one")

	slices.Reverse(pages)
	require.NoError(t, o.Map(addr, pages))
	require.NoError(t, o.SetAccess(addr, count*scriptPage, device.AccessReadWrite))
	require.Len(t, v.lists, 1, "a list that became too long was replaced")
	for range 2 * keptLists {
		v.returnList(make([]run, 1))
	}
	require.Len(t, v.lists, keptLists)
}
