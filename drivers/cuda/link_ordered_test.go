package cuda

import (
	"testing"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/internal/dl"
)

// Peer access between contexts does not include the memory of a driver pool. GrantPeer
// gives the peer access to the present and future memory of the pool. Otherwise an access
// would make the context of the peer unusable.
func TestPeersUseOrderedMemory(t *testing.T) {
	const size = 64 << 10
	for _, made := range []string{"before", "after"} {
		t.Run(made, func(t *testing.T) {
			if !alone(t) {
				return
			}
			a, b := openTwo(t)
			sim := newSimulator(t)
			var addr device.Addr
			var err error
			if made == "before" {
				addr, err = a.AllocOrdered(size)
				require.NoError(t, err)
			}
			sim.fault("cuMemPoolSetAccess", 1, resultNotSupported)
			if made == "before" {
				requireCode(t, device.CodeUnsupported, a.GrantPeer(b))
			}
			require.NoError(t, a.GrantPeer(b))
			require.NoError(t, a.GrantPeer(b), "again")
			if made == "after" {
				_, err = a.AllocOrdered(size)
				requireCode(t, device.CodeUnsupported, err)
				addr, err = a.AllocOrdered(size)
				require.NoError(t, err)
			}
			later, err := a.AllocOrdered(size)
			require.NoError(t, err)
			for _, at := range []device.Addr{addr, later} {
				// The program queues this work on the peer.
				require.NoError(t, b.ctx.within("test", func() error {
					sim.must("cuMemsetD8Async", uintptr(at), 7, size, b.scrub.stream.handle)
					sim.must("cuStreamSynchronize", b.scrub.stream.handle)
					return nil
				}))
				require.Equal(t, []byte{7}, get(t, a.DefaultStream(), at+size-1, 1))
				require.NoError(t, a.FreeOrdered(at, size))
			}
			require.NoError(t, a.Close())
			require.NoError(t, b.Close())
			sim.clean()
		})
	}
}

func TestStreamOrderedMemoryCanBeLinked(t *testing.T) {
	const size = 64 << 10
	a, b := openTwo(t)
	sim := newSimulator(t)
	addr, err := a.AllocOrdered(size)
	require.NoError(t, err)
	there, err := b.Link(a, addr, size)
	require.NoError(t, err)
	put(t, b.DefaultStream(), there, []byte{1, 2, 3})
	require.Equal(t, []byte{1, 2, 3}, get(t, a.DefaultStream(), addr, 3))
	require.NoError(t, b.Unlink(there, size))
	require.NoError(t, a.FreeOrdered(addr, size))
	require.NoError(t, a.Close())
	require.NoError(t, b.Close())
	sim.clean()
}

// Devices without peer access still share page-locked host memory, whichever device locked
// it, and managed memory.
func TestHostMemoryIsLinkedWithoutPeerAccess(t *testing.T) {
	if !alone(t, "SIMCUDA_WITHOUT=peer") {
		return
	}
	const size = 64 << 10
	a, b := openTwo(t)
	sim := newSimulator(t)
	own := make([]byte, size)
	registered, err := a.Register(device.HostAddr(dl.Pointer(&own[0])), size, device.AccessReadWrite)
	require.NoError(t, err)
	managed, err := a.AllocManaged(size)
	require.NoError(t, err)
	pinned, err := a.AllocPinned(size)
	require.NoError(t, err)
	var theirs uintptr
	require.NoError(t, a.ctx.within("test", func() error {
		const portable = 1
		sim.must("cuMemHostAlloc", dl.Pointer(&theirs), size, portable|2)
		return nil
	}))
	require.NoError(t, a.Adopt(device.Addr(theirs), size, device.AccessReadWrite, device.Alone))
	for name, addr := range map[string]device.Addr{
		"registered": registered, "managed": managed.Addr, "pinned": pinned.Addr, "adopted": device.Addr(theirs),
	} {
		there, err := b.Link(a, addr+16, 64)
		require.NoError(t, err, name)
		put(t, b.DefaultStream(), there, []byte{4, 5, 6})
		require.Equal(t, []byte{4, 5, 6}, get(t, a.DefaultStream(), addr+16, 3), name)
		require.NoError(t, b.Unlink(there, 64))
	}
	plain, err := a.Alloc(size)
	require.NoError(t, err)
	ordered, err := a.AllocOrdered(size)
	require.NoError(t, err)
	for _, addr := range []device.Addr{plain, ordered} {
		_, err = b.Link(a, addr, size)
		requireCode(t, device.CodeUnsupported, err)
	}
	requireCode(t, device.CodeUnsupported, a.GrantPeer(b))
	require.NoError(t, a.FreeOrdered(ordered, size))
	require.NoError(t, a.Free(plain, size))
	require.NoError(t, a.Disown(device.Addr(theirs), size, device.Alone))
	require.NoError(t, a.ctx.within("test", func() error { sim.must("cuMemFreeHost", theirs); return nil }))
	require.NoError(t, a.FreePinned(pinned.Addr, size))
	require.NoError(t, a.FreeManaged(managed.Addr, size))
	require.NoError(t, a.Unregister(registered, size))
	require.NoError(t, a.Close())
	require.NoError(t, b.Close())
	sim.clean()
}
