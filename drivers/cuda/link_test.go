package cuda

import (
	"testing"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/internal/dl"
)

// openSome opens the first devices of one driver.
func openSome(t testing.TB, count int) []*openDevice {
	d, opened := testDriver(t), make([]*openDevice, count)
	for index := range opened {
		dev, err := d.Open(index)
		require.NoError(t, err)
		opened[index] = dev.(*openDevice)
	}
	return opened
}

func openTwo(t testing.TB) (a, b *openDevice) {
	both := openSome(t, 2)
	return both[0], both[1]
}

// After Link and before Unlink, work of the other device can use each kind of memory. At
// other times the library rejects that work.
func TestLinkedMemoryIsUsedBetweenLinkAndUnlink(t *testing.T) {
	if !alone(t, "SIMCUDA_DEVICES=4") {
		return
	}
	const size = 2 << 20
	all, sim := openSome(t, 4), newSimulator(t)
	a := all[0]
	plain, err := a.Alloc(size)
	require.NoError(t, err)
	pinned, err := a.AllocPinned(size)
	require.NoError(t, err)
	space, err := a.Reserve(4*size, size)
	require.NoError(t, err)
	pages := make([]device.Page, 2)
	require.NoError(t, a.Create(pages, size, device.BackingMovable))
	require.NoError(t, a.Map(space, pages))
	require.NoError(t, a.SetAccess(space, 2*size, device.AccessReadWrite))
	for index, b := range all {
		if index == 0 {
			continue
		}
		for name, addr := range map[string]device.Addr{"plain": plain, "pinned": pinned.Addr, "virtual": space + size/2} {
			requireCode(t, device.CodeInvalidAddress, b.DefaultStream().Fill(addr, device.Pattern{WidthBytes: 1}, 8))
			there, err := b.Link(a, addr+64, 4096)
			require.NoError(t, err, name)
			_, err = b.Link(a, addr+64, 8)
			requireCode(t, device.CodeAlreadyExists, err)
			requireCode(t, device.CodeInvalidAddress, b.Unlink(there, 8))
			requireCode(t, device.CodeInvalidAddress, b.Free(there, 4096))
			put(t, b.DefaultStream(), there, []byte{byte(index), 2, 3})
			require.Equal(t, []byte{byte(index), 2, 3}, get(t, a.DefaultStream(), addr+64, 3), name)
			requireCode(t, device.CodeInvalidAddress, b.DefaultStream().Fill(there, device.Pattern{WidthBytes: 1}, 4097))
			requireCode(t, device.CodeBusy, b.Close())
			// A device cannot link memory that it has itself linked from another device.
			_, err = a.Link(b, there, 8)
			requireCode(t, device.CodeUnsupported, err)
			require.NoError(t, b.Unlink(there, 4096))
			requireCode(t, device.CodeInvalidAddress, b.Unlink(there, 4096))
		}
		require.NoError(t, b.Close())
	}
	require.EqualValues(t, 3, sim.calls("cuCtxEnablePeerAccess"), "one call for each device")
	require.NoError(t, a.Unmap(space, 2*size))
	require.NoError(t, a.Release(pages))
	require.NoError(t, a.Unreserve(space, 4*size))
	require.NoError(t, a.FreePinned(pinned.Addr, size))
	require.NoError(t, a.Free(plain, size))
	require.NoError(t, a.Close())
	sim.clean()
}

// The library passes the context of the memory to the driver. It never copies a range onto
// itself or onto a part of itself.
func TestCopiesOfLinkedMemory(t *testing.T) {
	const size = 64 << 10
	a, b := openTwo(t)
	sim := newSimulator(t)
	mine, err := a.Alloc(size)
	require.NoError(t, err)
	theirs, err := b.Alloc(size)
	require.NoError(t, err)
	there, err := a.Link(b, theirs, size)
	require.NoError(t, err)
	s := a.DefaultStream()
	put(t, s, mine, []byte{1, 2, 3, 4})
	require.NoError(t, a.CopyFromPeer(s, there, a, mine, 4), "a copy into linked memory of the same device")
	require.NoError(t, a.CopyFromPeer(s, there+1, b, theirs, 3), "the same memory by both names")
	require.NoError(t, a.CopyFromPeer(s, there, b, theirs, size))
	require.Equal(t, []byte{1, 1, 2, 3}, get(t, s, there, 4))
	require.NoError(t, a.CopyFromPeer(s, there+8, b, theirs, 4))
	require.Equal(t, []byte{1, 1, 2, 3}, get(t, s, there+8, 4))
	require.NoError(t, a.CopyFromPeer(s, mine+2, a, mine, 3))
	require.Equal(t, []byte{1, 2, 1, 2, 3}, get(t, s, mine, 5))
	require.NoError(t, b.CopyFromPeer(b.DefaultStream(), theirs+16, a, there, 4), "a copy from linked memory")
	require.Equal(t, []byte{1, 1, 2, 3}, get(t, b.DefaultStream(), theirs+16, 4))
	require.NoError(t, a.Unlink(there, size))
	require.NoError(t, a.Free(mine, size))
	require.NoError(t, b.Free(theirs, size))
	require.NoError(t, a.Close())
	require.NoError(t, b.Close())
	sim.clean()
}

func TestPeersRejectBadInput(t *testing.T) {
	a, b := openTwo(t)
	requireCode(t, device.CodeUnsupported, b.GrantPeer(nil))
	requireCode(t, device.CodeInvalidArgument, b.GrantPeer(b))
	require.NoError(t, a.Close())
	requireCode(t, device.CodeInvalidState, b.GrantPeer(a))
	require.NoError(t, b.Close())
	newSimulator(t).clean()
}

// A device without peer access reports that it cannot link the memory of another device.
// Page-locked memory belongs to the host, and both devices can access it.
func TestLinksWithoutPeerAccess(t *testing.T) {
	if !alone(t, "SIMCUDA_WITHOUT=peer") {
		return
	}
	a, b := openTwo(t)
	require.True(t, b.Info().Linker)
	addr, err := a.Alloc(64 << 10)
	require.NoError(t, err)
	space, err := a.Reserve(2<<20, 2<<20)
	require.NoError(t, err)
	pages := make([]device.Page, 1)
	require.NoError(t, a.Create(pages, 2<<20, device.BackingMovable))
	require.NoError(t, a.Map(space, pages))
	require.NoError(t, a.SetAccess(space, 2<<20, device.AccessReadWrite))
	for _, at := range []device.Addr{addr, space} {
		_, err = b.Link(a, at, 8)
		require.Contains(t, requireCode(t, device.CodeUnsupported, err).Message, "cuda:0")
	}
	requireCode(t, device.CodeUnsupported, a.GrantPeer(b))
	pinned, err := a.AllocPinned(64 << 10)
	require.NoError(t, err)
	there, err := b.Link(a, pinned.Addr, 8)
	require.NoError(t, err)
	put(t, b.DefaultStream(), there, []byte{4})
	require.NoError(t, b.Unlink(there, 8))
	require.NoError(t, a.FreePinned(pinned.Addr, 64<<10))
	require.NoError(t, a.Unmap(space, 2<<20))
	require.NoError(t, a.Release(pages))
	require.NoError(t, a.Unreserve(space, 2<<20))
	require.NoError(t, a.Free(addr, 64<<10))
	require.NoError(t, a.Close())
	require.NoError(t, b.Close())
	newSimulator(t).clean()
}

// Other devices with access get the same access to pages as the owner. GrantPeer makes one
// driver call for each run of pages that are mapped already. A later SetAccess makes a
// single call for all devices.
func TestAccessOfSeveralDevices(t *testing.T) {
	if !alone(t, "SIMCUDA_DEVICES=4") {
		return
	}
	const page = 2 << 20
	all, sim := openSome(t, 4), newSimulator(t)
	a, others := all[0], all[1:]
	space, err := a.Reserve(16*page, page)
	require.NoError(t, err)
	pages := make([]device.Page, 7)
	require.NoError(t, a.Create(pages, page, device.BackingMovable))
	access := func() (n int) { return sim.calls("cuMemSetAccess") }
	// flags returns the access of a device to a page, as the driver reports it.
	flags := func(o *openDevice, number int) (allowed uint64) {
		of := &location{locationDevice, o.ctx.cuDevice}
		sim.must("cuMemGetAccess", dl.Pointer(&allowed), dl.Pointer(of), uintptr(uint64(space)+uint64(number)*page))
		return allowed
	}
	require.NoError(t, a.Map(space, pages[:3]))
	require.NoError(t, a.Map(space+4*page, pages[3:5]))
	require.NoError(t, a.SetAccess(space, 2*page, device.AccessReadWrite))
	require.NoError(t, a.SetAccess(space+2*page, page, device.AccessRead))
	require.NoError(t, a.SetAccess(space+4*page, page, device.AccessReadWrite))
	before := access()
	require.NoError(t, a.GrantPeer(others[0]))
	require.Equal(t, 3, access()-before, "pages 0 and 1, page 2, page 4")
	require.NoError(t, a.GrantPeer(others[0]))
	require.Equal(t, 3, access()-before, "the member is in the list already")
	for number, want := range map[int]uint64{0: accessReadWrite, 1: accessReadWrite, 2: accessRead, 4: accessReadWrite, 5: accessNone} {
		require.Equal(t, want, flags(a, number), number)
		require.Equal(t, want, flags(others[0], number), number)
		require.Zero(t, flags(others[1], number), number)
	}
	require.NoError(t, a.GrantPeer(others[1]))
	require.NoError(t, a.Map(space+8*page, pages[5:]))
	before = access()
	require.NoError(t, a.SetAccess(space+8*page, 2*page, device.AccessReadWrite))
	require.Equal(t, 1, access()-before, "one call for three devices")
	require.EqualValues(t, accessReadWrite, flags(others[0], 9))
	require.EqualValues(t, accessReadWrite, flags(others[1], 9))
	require.Zero(t, flags(others[2], 9))
	require.NoError(t, a.SetAccess(space+8*page, 2*page, device.AccessNone))
	require.Zero(t, flags(others[1], 9), "an access right is removed on all devices")

	// If any of the calls fails, the device gets no access at all.
	for n := 1; n <= 3; n++ {
		sim.fault("cuMemSetAccess", n, resultOutOfMemory)
		requireCode(t, device.CodeOutOfMemory, a.GrantPeer(others[2]))
		sim.call("simcuda_clear_faults")
		for _, number := range []int{0, 1, 2, 4} {
			require.Zero(t, flags(others[2], number), "fault %d, page %d", n, number)
			require.NotZero(t, flags(others[1], number), "fault %d, page %d", n, number)
		}
	}
	for _, part := range []struct{ at, count int }{{0, 3}, {4, 2}, {8, 2}} {
		require.NoError(t, a.Unmap(space+device.Addr(part.at*page), uint64(part.count*page)))
	}
	require.NoError(t, a.Release(pages))
	require.NoError(t, a.Unreserve(space, 16*page))
	for _, o := range all {
		require.NoError(t, o.Close())
	}
	sim.clean()
}

// A link that fails leaks nothing, whichever call of the vendor driver fails.
func TestAFailedLinkLeaksNothing(t *testing.T) {
	sim := newSimulator(t)
	for _, name := range []string{"cuCtxEnablePeerAccess", "cuMemHostGetDevicePointer_v2", "cuMemSetAccess"} {
		a, b := openTwo(t)
		plain, err := a.Alloc(64 << 10)
		require.NoError(t, err)
		pinned, err := a.AllocPinned(64 << 10)
		require.NoError(t, err)
		space, err := a.Reserve(2<<20, 2<<20)
		require.NoError(t, err)
		pages := make([]device.Page, 1)
		require.NoError(t, a.Create(pages, 2<<20, device.BackingMovable))
		require.NoError(t, a.Map(space, pages))
		require.NoError(t, a.SetAccess(space, 2<<20, device.AccessReadWrite))
		at := map[string]device.Addr{
			"cuCtxEnablePeerAccess": plain, "cuMemHostGetDevicePointer_v2": pinned.Addr, "cuMemSetAccess": space,
		}[name]
		sim.fault(name, 1, resultOutOfMemory)
		_, err = b.Link(a, at, 8)
		require.Contains(t, requireCode(t, device.CodeOutOfMemory, err).Message, name)
		there, err := b.Link(a, at, 8)
		require.NoError(t, err)
		require.NoError(t, b.Unlink(there, 8))
		require.NoError(t, b.Close())
		require.NoError(t, a.Unmap(space, 2<<20))
		require.NoError(t, a.Release(pages))
		require.NoError(t, a.Unreserve(space, 2<<20))
		require.NoError(t, a.FreePinned(pinned.Addr, 64<<10))
		require.NoError(t, a.Free(plain, 64<<10))
		require.NoError(t, a.Close())
		sim.clean()
	}
}

// Other code of the process may have enabled the peer access already. The library then uses
// it.
func TestPeerAccessThatIsAlreadyEnabled(t *testing.T) {
	if !alone(t) {
		return
	}
	a, b := openTwo(t)
	sim := newSimulator(t)
	require.NoError(t, b.ctx.within("test", func() error {
		sim.must("cuCtxEnablePeerAccess", a.ctx.context, 0)
		return nil
	}))
	addr, err := a.Alloc(64 << 10)
	require.NoError(t, err)
	there, err := b.Link(a, addr, 64<<10)
	require.NoError(t, err)
	put(t, b.DefaultStream(), there, []byte{4})
	require.NoError(t, b.Unlink(there, 64<<10))
	require.NoError(t, a.Free(addr, 64<<10))
	require.NoError(t, a.Close())
	require.NoError(t, b.Close())
	sim.clean()
}
