package virtualtest

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"ferrum_mem/core/device"
)

// leastBytes is the device memory that the suite needs.
const leastBytes = 64 << 20

// Run runs the suite. open returns a device with the capability whose memory the
// process can see. The device has at least 64 MiB that nothing else uses. The suite
// closes it.
func Run(t *testing.T, open func(t *testing.T) device.Device) { run(t, open, subject{}) }

// RunEager is Run for a device that allocates the memory of a page at its creation, and
// not at the first use.
func RunEager(t *testing.T, open func(t *testing.T) device.Device) {
	run(t, open, subject{eager: true})
}

// RunShared is RunEager for a device that other processes use at the same time. The
// suite does not fill it, and does not compare its free memory.
func RunShared(t *testing.T, open func(t *testing.T) device.Device) {
	run(t, open, subject{eager: true, shared: true})
}

func run(t *testing.T, open func(t *testing.T) device.Device, kind subject) {
	for name, test := range map[string]func(*testing.T, subject){
		"random programs": randomPrograms,
		"address space":   addressSpace,
		"capacity":        capacity,
		"new pages":       newPages,
		"unfilled pages":  unfilledPages,
		"kept contents":   keptContents,
		"many pages":      manyPages,
		"exports":         exports,
		"close":           closing,
	} {
		if kind.shared && name == "capacity" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			dev := open(t)
			v, ok := dev.(device.VirtualMemory)
			require.True(t, ok && dev.Info().VirtualMemory, "the device has the capability and says so")
			visible, ok := dev.(device.HostVisible)
			require.True(t, ok && dev.Info().HostVisible, "the process sees the device's memory")
			require.GreaterOrEqual(t, dev.Info().TotalBytes, uint64(leastBytes))
			test(t, subject{Device: dev, VirtualMemory: v, visible: visible, eager: kind.eager, shared: kind.shared})
			if name != "close" {
				require.NoError(t, dev.Close(), "nothing is left behind")
			}
		})
	}
}

// firstLook: a device may keep what it allocates for the first comparison of memory.
func firstLook(t *testing.T, dev subject) {
	const size = 1 << 20
	addr, err := dev.Alloc(size)
	require.NoError(t, err)
	require.NoError(t, dev.visible.FillNow(addr, 1, size))
	_, other, err := dev.visible.FirstOther(addr, 1, size)
	require.NoError(t, err)
	require.False(t, other)
	require.NoError(t, dev.Free(addr, size))
}

func randomPrograms(t *testing.T, dev subject) {
	firstLook(t, dev)
	before := free(t, dev)
	rapid.Check(t, func(t *rapid.T) {
		p := &program{t: t, dev: dev, model: model{
			granule: dev.Granularity().MinimumBytes, exports: dev.Info().Exporter, rdma: dev.Info().RDMAPages, fabric: dev.Info().FabricExporter, at: map[device.Addr]*page{},
		}}
		// Also after a failed check, so that rapid can continue with a smaller program.
		defer p.giveBack()
		t.Repeat(map[string]func(*rapid.T){
			"reserve": p.reserve, "unreserve": p.unreserve, "create": p.create, "release": p.release, "zero": p.zero,
			"map": p.mapPages, "access": p.setAccess, "unmap": p.unmap, "resident": p.resident,
			"fill": p.fill, "copy": p.copy, "look": p.look,
			// Repeated, so that more memory is mapped and used.
			"map 2": p.mapPages, "map 3": p.mapPages, "access 2": p.setAccess, "fill 2": p.fill,
		})
		p.end()
	})
	if !dev.shared {
		require.Equal(t, before, free(t, dev), "all memory is back")
	}
}

func free(t *testing.T, dev subject) uint64 {
	reading, err := dev.Memory()
	require.NoError(t, err)
	return reading.FreeBytes
}

func addressSpace(t *testing.T, dev subject) {
	g := dev.Granularity()
	require.EqualValues(t, 1, popCount(g.MinimumBytes))
	require.EqualValues(t, 1, popCount(g.RecommendedBytes))
	require.GreaterOrEqual(t, g.RecommendedBytes, g.MinimumBytes)
	before := free(t, dev)
	const large = 1 << 40
	addr, err := dev.Reserve(large, 1<<30)
	require.NoError(t, err)
	require.Zero(t, uint64(addr)%(1<<30))
	if !dev.shared {
		require.Equal(t, before, free(t, dev), "address space is no memory")
	}
	_, err = dev.Reserve(1<<62, g.MinimumBytes)
	requireCode(t, device.CodeOutOfVirtualMemory, err)
	_, err = dev.Reserve(g.MinimumBytes, 1<<63)
	requireCode(t, device.CodeOutOfVirtualMemory, err)
	requireCode(t, device.CodeInvalidAddress, dev.Unreserve(addr, large/2))
	requireCode(t, device.CodeInvalidAddress, dev.visible.FillNow(addr+large-1, 1, 2))
	requireCode(t, device.CodeNotMapped, dev.visible.FillNow(addr+large-1, 1, 1))
	require.NoError(t, dev.Unreserve(addr, large))
	requireCode(t, device.CodeInvalidAddress, dev.Unreserve(addr, large))
}

func popCount(x uint64) (n int) {
	for ; x != 0; x &= x - 1 {
		n++
	}
	return n
}

// capacity: the device holds created pages, mapped or not.
func capacity(t *testing.T, dev subject) {
	size := dev.Granularity().MinimumBytes
	left := free(t, dev)
	all := make([]device.Page, left/size)
	require.NoError(t, dev.Create(all, size, device.BackingMovable))
	require.Less(t, free(t, dev), size)
	for _, backing := range []device.Backing{device.BackingMovable, device.BackingPrivate} {
		one := []device.Page{7}
		requireCode(t, device.CodeOutOfMemory, dev.Create(one, size, backing))
		require.Equal(t, []device.Page{7}, one, "the list is as it was")
		requireCode(t, device.CodeOutOfMemory, dev.Create(one, 1<<63, backing))
		requireCode(t, device.CodeOutOfMemory, dev.Create(make([]device.Page, 4), 1<<62, backing))
	}
	require.NoError(t, dev.Release(all[:1]))
	require.NoError(t, dev.Create(all[:1], size, device.BackingPrivate))
	require.NoError(t, dev.Release(all))
	require.Equal(t, left, free(t, dev))
}

// newPages: nobody can read what was written to a released page.
func newPages(t *testing.T, dev subject) {
	size := dev.Granularity().RecommendedBytes
	addr, err := dev.Reserve(8*size, size)
	require.NoError(t, err)
	for round := range 4 {
		for _, backing := range []device.Backing{device.BackingMovable, device.BackingPrivate} {
			pages := make([]device.Page, 8)
			require.NoError(t, dev.Create(pages, size, backing))
			require.NoError(t, dev.Map(addr, pages))
			require.NoError(t, dev.SetAccess(addr, 8*size, device.AccessReadWrite))
			_, other, err := dev.visible.FirstOther(addr, 0, 8*size)
			require.NoError(t, err)
			require.False(t, other, "a page of somebody else's bytes")
			require.NoError(t, dev.visible.FillNow(addr, byte(round+1), 8*size))
			require.NoError(t, dev.Unmap(addr, 8*size))
			require.NoError(t, dev.Release(pages))
			requireCode(t, device.CodeInvalidHandle, dev.Map(addr, pages))
		}
	}
	require.NoError(t, dev.Unreserve(addr, 8*size))
}

// unfilledPages: they are like other pages, but only Zero promises their contents.
func unfilledPages(t *testing.T, dev subject) {
	quick, is := dev.Device.(device.UnfilledCreator)
	if !is {
		t.Skip("new pages of this device are always zeros")
	}
	firstLook(t, dev)
	size := dev.Granularity().RecommendedBytes
	addr, err := dev.Reserve(4*size, size)
	require.NoError(t, err)
	before := free(t, dev)
	for _, backing := range []device.Backing{device.BackingMovable, device.BackingPrivate} {
		pages := []device.Page{7, 7, 7, 7}
		requireCode(t, device.CodeInvalidSize, quick.CreateUnfilled(nil, size, backing))
		requireCode(t, device.CodeInvalidPageSize, quick.CreateUnfilled(pages, 3*size, backing))
		requireCode(t, device.CodeOutOfMemory, quick.CreateUnfilled(pages, 1<<62, backing))
		require.Equal(t, []device.Page{7, 7, 7, 7}, pages, "the list is as it was")
		require.NoError(t, quick.CreateUnfilled(pages, size, backing))
		require.NoError(t, dev.Zero(pages[:2]))
		require.NoError(t, dev.Map(addr, pages))
		require.NoError(t, dev.SetAccess(addr, 4*size, device.AccessReadWrite))
		_, other, err := dev.visible.FirstOther(addr, 0, 2*size)
		require.NoError(t, err)
		require.False(t, other, "Zero fills an unfilled page")
		require.NoError(t, dev.visible.FillNow(addr, 3, 4*size))
		_, other, err = dev.visible.FirstOther(addr, 3, 4*size)
		require.NoError(t, err)
		require.False(t, other)
		requireCode(t, device.CodeBusy, dev.Release(pages))
		require.NoError(t, dev.Unmap(addr, 4*size))
		require.NoError(t, dev.Release(pages))
	}
	if !dev.shared {
		require.Equal(t, before, free(t, dev), "all memory is back")
	}
	require.NoError(t, dev.Unreserve(addr, 4*size))
}

// keptContents: the contents of private pages outlive their pages, until they get new ones or
// are dropped.
func keptContents(t *testing.T, dev subject) {
	keeper, is := dev.Device.(device.ContentKeeper)
	if !is || !keeper.KeepsContents(device.BackingPrivate) {
		require.NoError(t, dev.Close())
		t.Skip("this device keeps no contents without pages")
	}
	require.False(t, keeper.KeepsContents(device.BackingMovable))
	size := dev.Granularity().MinimumBytes
	before := free(t, dev)
	addr, err := dev.Reserve(4*size, size)
	require.NoError(t, err)
	at := func(page int) device.Addr { return addr + device.Addr(page)*device.Addr(size) }
	pages, movable := make([]device.Page, 4), make([]device.Page, 1)
	fresh := func() {
		require.NoError(t, dev.Create(pages, size, device.BackingPrivate))
	}
	look := func(page int, value byte, count uint64) {
		_, other, err := dev.visible.FirstOther(at(page), value, count*size)
		require.NoError(t, err)
		require.False(t, other, "page %d", page)
	}
	fresh()
	require.NoError(t, dev.Create(movable, size, device.BackingMovable))
	require.NoError(t, dev.Map(addr, movable))
	requireCode(t, device.CodeUnsupported, keeper.UnmapKeeping(addr, size, 1))
	require.NoError(t, dev.Unmap(addr, size))
	require.NoError(t, dev.Map(addr, pages))
	require.NoError(t, dev.SetAccess(addr, 4*size, device.AccessReadWrite))
	require.NoError(t, dev.visible.FillNow(addr, 7, 4*size))
	requireCode(t, device.CodeInvalidArgument, keeper.UnmapKeeping(addr, size, 0))
	requireCode(t, device.CodeInvalidSize, keeper.MapKept(addr, nil, 1))

	// They get new pages.
	require.NoError(t, keeper.UnmapKeeping(addr, 2*size, 1))
	require.NoError(t, keeper.UnmapKeeping(at(2), 2*size, 2))
	require.NoError(t, dev.Release(pages))
	require.NoError(t, dev.Release(movable))
	if !dev.shared {
		require.Equal(t, before, free(t, dev), "kept contents are not counted")
	}
	requireCode(t, device.CodeNotMapped, dev.visible.FillNow(addr, 1, 1))
	fresh()
	requireCode(t, device.CodeNotFound, keeper.MapKept(addr, pages, 1))
	requireCode(t, device.CodeInvalidArgument, keeper.MapKept(addr, pages[:2], 0))
	require.NoError(t, keeper.MapKept(addr, pages[:2], 1))
	require.NoError(t, keeper.MapKept(at(2), pages[2:], 2))
	requireCode(t, device.CodePermissionDenied, dev.visible.FillNow(addr, 1, 1))
	require.NoError(t, dev.SetAccess(addr, 4*size, device.AccessReadWrite))
	look(0, 7, 4)

	// They are dropped: by their mark, by Map, and with the reservation.
	require.NoError(t, keeper.UnmapKeeping(addr, 3*size, 3))
	require.NoError(t, keeper.DropKept(addr, 4*size, 9))
	require.NoError(t, keeper.DropKept(addr, size, 3))
	requireCode(t, device.CodeNotFound, keeper.MapKept(addr, pages[:1], 3))
	require.NoError(t, dev.Map(addr, pages[:2]))
	require.NoError(t, keeper.MapKept(at(2), pages[2:3], 3))
	require.NoError(t, dev.SetAccess(addr, 4*size, device.AccessReadWrite))
	look(0, 0, 2)
	look(2, 7, 2)
	require.NoError(t, keeper.UnmapKeeping(addr, 4*size, 4))
	require.NoError(t, dev.Release(pages))
	require.NoError(t, dev.Unreserve(addr, 4*size))
	if !dev.shared {
		require.Equal(t, before, free(t, dev), "all memory is back")
	}
}

// manyPages: no two pages share memory, in whatever order they are mapped.
func manyPages(t *testing.T, dev subject) {
	size := dev.Granularity().MinimumBytes
	const count = 255
	pages := make([]device.Page, count)
	require.NoError(t, dev.Create(pages, size, device.BackingMovable))
	addr, err := dev.Reserve(count*size, size)
	require.NoError(t, err)
	order := func(round, i int) int { return i * []int{1, 2, 7, 254}[round] % count }
	for round := range 4 {
		for i := range count {
			require.NoError(t, dev.Map(addr+device.Addr(i)*device.Addr(size), pages[order(round, i):][:1]))
		}
		require.NoError(t, dev.SetAccess(addr, count*size, device.AccessReadWrite))
		for i := range count {
			at := addr + device.Addr(i)*device.Addr(size)
			if round == 0 {
				require.NoError(t, dev.visible.FillNow(at, byte(order(round, i)+1), size))
			}
			_, other, err := dev.visible.FirstOther(at, byte(order(round, i)+1), size)
			require.NoError(t, err)
			require.False(t, other, "round %d, place %d", round, i)
		}
		require.NoError(t, dev.Unmap(addr, count*size))
	}
	require.NoError(t, dev.Release(pages))
	require.NoError(t, dev.Unreserve(addr, count*size))
}

// closing: a device is busy while objects exist, and rejects calls after Close.
func closing(t *testing.T, dev subject) {
	size := dev.Granularity().MinimumBytes
	addr, err := dev.Reserve(size, size)
	require.NoError(t, err)
	requireCode(t, device.CodeBusy, dev.Close())
	pages := make([]device.Page, 1)
	require.NoError(t, dev.Create(pages, size, device.BackingMovable))
	require.NoError(t, dev.Unreserve(addr, size))
	requireCode(t, device.CodeBusy, dev.Close())
	require.NoError(t, dev.Release(pages))
	require.NoError(t, dev.Close())

	_, err = dev.Reserve(size, size)
	requireCode(t, device.CodeInvalidState, err)
	requireCode(t, device.CodeInvalidState, dev.Unreserve(addr, size))
	requireCode(t, device.CodeInvalidState, dev.Create(pages, size, device.BackingMovable))
	requireCode(t, device.CodeInvalidState, dev.Release(pages))
	requireCode(t, device.CodeInvalidState, dev.Map(addr, pages))
	requireCode(t, device.CodeInvalidState, dev.SetAccess(addr, size, device.AccessRead))
	requireCode(t, device.CodeInvalidState, dev.Unmap(addr, size))
	requireCode(t, device.CodeInvalidState, dev.Zero(pages))
	if x, is := dev.Device.(device.Exporter); is && dev.Info().Exporter {
		_, err = x.ExportPage(pages[0])
		requireCode(t, device.CodeInvalidState, err)
		_, err = x.ImportPage(0, size)
		requireCode(t, device.CodeInvalidState, err)
	}
	_, err = dev.Resident(addr, size)
	requireCode(t, device.CodeInvalidState, err)
}
