package host

import (
	"slices"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/core/device/virtualtest"
	"ferrum_mem/drivers/host/mapping"
)

func TestVirtualMemoryConforms(t *testing.T) {
	virtualtest.Run(t, func(t *testing.T) device.Device { return openForced(t, mapping.System()) })
}

// openVirtual opens a device with pages that are mapped for reading and writing.
func openVirtual(t *testing.T, count int, pageBytes uint64, backing device.Backing) (*openDevice, device.Addr, []device.Page) {
	t.Helper()
	o := openSome(t, Config{MemoryBytes: 8 * gib, MemoryForced: true})[0]
	pages := make([]device.Page, count)
	require.NoError(t, o.Create(pages, pageBytes, backing))
	size := uint64(count) * pageBytes
	addr, err := o.Reserve(size, pageBytes)
	require.NoError(t, err)
	require.NoError(t, o.Map(addr, pages))
	require.NoError(t, o.SetAccess(addr, size, device.AccessReadWrite))
	t.Cleanup(func() {
		if err := o.Unmap(addr, size); err != nil {
			requireCode(t, device.CodeNotMapped, err)
		}
		require.NoError(t, o.Release(pages))
		require.NoError(t, o.Unreserve(addr, size))
	})
	return o, addr, pages
}

// Memory that the system has given to pages is not promised again.
func TestTouchedMovablePagesAreNotPromisedTwice(t *testing.T) {
	const benchPage = 2 << 20
	o, addr, _ := openVirtual(t, 8, benchPage, device.BackingMovable)
	o.driver.settings.forced = false
	root := files(t, map[string]string{"proc/meminfo": "MemAvailable: 16777216 kB\n", "proc/self/statm": "1 5 5 0 0 0 0\n"})
	o.driver.system = newSystem(root)
	require.EqualValues(t, 16*gib-8*benchPage, o.driver.available(0))
	require.NoError(t, o.FillNow(addr, 1, 8*benchPage))
	require.EqualValues(t, 16*gib, o.driver.available(0), "the reading of the system excludes this memory already")
	require.NoError(t, o.Unmap(addr, 8*benchPage))
	require.EqualValues(t, 16*gib, o.driver.available(0))
}

// Queued work finds the mapped pages, also in several runs, and the pages that it uses
// cannot be unmapped.
func TestQueuedWorkHoldsPages(t *testing.T) {
	const pageBytes = uint64(64 << 10)
	o, addr, pages := openVirtual(t, 4, pageBytes, device.BackingMovable)
	require.NoError(t, o.Unmap(addr, 4*pageBytes))
	slices.Reverse(pages)
	require.NoError(t, o.Map(addr, pages))
	require.NoError(t, o.SetAccess(addr, 4*pageBytes, device.AccessReadWrite))
	s := newQueue(t, o)
	_, source := hostBuffer(t, 4*pageBytes)
	scramble(source, 1)
	hostAddr := device.HostAddr(uintptr(unsafe.Pointer(&source[0])))
	require.NoError(t, s.CopyFromHost(addr, hostAddr, 4*pageBytes))
	require.NoError(t, s.Synchronize(device.Forever))
	require.True(t, slices.Equal(source, view(addr, 4*pageBytes)))

	g := holdUp(t, s)
	require.NoError(t, s.Copy(addr+1, addr, 2*pageBytes))
	require.NoError(t, s.CopyToHost(hostAddr, addr+device.Addr(pageBytes), 2*pageBytes))
	requireCode(t, device.CodeBusy, o.Unmap(addr, 4*pageBytes), "queued work")
	requireCode(t, device.CodeBusy, o.SetAccess(addr, 3*pageBytes, device.AccessRead))
	require.NoError(t, o.SetAccess(addr, 4*pageBytes, device.AccessReadWrite), "the call removes no access")
	requireCode(t, device.CodeBusy, o.Unreserve(addr, 4*pageBytes))
	require.NoError(t, o.Unmap(addr+device.Addr(3*pageBytes), pageBytes), "an unused page can be unmapped")
	require.NoError(t, o.Map(addr+device.Addr(3*pageBytes), pages[3:]))
	requireCode(t, device.CodePermissionDenied, s.Copy(addr, addr+device.Addr(2*pageBytes), 2*pageBytes))
	want := slices.Clone(source[:3*pageBytes])
	copy(want[1:], source[:2*pageBytes])
	g.open()
	require.NoError(t, s.Synchronize(device.Forever))
	require.True(t, slices.Equal(want, view(addr, 3*pageBytes)), "a copy over several pages and mappings, onto itself")
	require.True(t, slices.Equal(want[pageBytes:], source[:2*pageBytes]))
	require.NoError(t, o.Unmap(addr, 4*pageBytes))
	require.NoError(t, s.Close())
}

// Virtual memory knows whether the system has strict accounting. On such a system, freed
// memory is replaced instead of released in place.
func TestStrictAccountingIsPassedToVirtualMemory(t *testing.T) {
	replaced := 0
	m := mapping.System()
	clear := m.Virtual.Clear
	m.Virtual.Clear = func(address, size uint64) error {
		replaced++
		return clear(address, size)
	}
	for policy, want := range map[string]int{"0": 0, "2": 1} {
		replaced = 0
		root := files(t, map[string]string{
			"proc/sys/vm/overcommit_memory": policy + "\n",
			"proc/meminfo":                  "MemTotal: 1048576 kB\nMemAvailable: 1048576 kB\nCommitLimit: 1048576 kB\nCommitted_AS: 0 kB\n",
		})
		d, err := newDriver(Config{}, noEnv, newSystem(root), m)
		require.NoError(t, err)
		o := openAll(t, d)[0]
		page := make([]device.Page, 1)
		require.NoError(t, o.Create(page, granularity(), device.BackingPrivate))
		addr, err := o.Reserve(granularity(), granularity())
		require.NoError(t, err)
		require.NoError(t, o.Map(addr, page))
		require.NoError(t, o.SetAccess(addr, granularity(), device.AccessReadWrite))
		require.NoError(t, o.Unmap(addr, granularity()))
		require.Equal(t, want, replaced, "policy %s", policy)
		require.NoError(t, o.Release(page))
		require.NoError(t, o.Unreserve(addr, granularity()))
	}
}
