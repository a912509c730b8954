package manager

import (
	"testing"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/core/device/devicetest"
)

func ofAllKinds() devicetest.Config {
	return devicetest.Config{Backed: true, Kinds: true, PinnedBytes: 8 << 20, TotalBytes: 64 << 20}
}

func TestManagedBlocksHaveBothAddresses(t *testing.T) {
	r := cleanRig(t, ofAllKinds())
	m := r.manager(t, nil)
	copies := copiesOn(r)
	require.True(t, Managed.SupportedOn(r.engine))
	h := m.mustAllocType(t, Managed, 100)
	info, err := r.factory.HandleInfo(h)
	require.NoError(t, err)
	require.Equal(t, Managed, info.Type)
	content := counting(100)
	r.write(t, h, content)
	require.Equal(t, content, r.dev.HostBytes(info.HostAddr, 100))
	mapped, err := r.factory.Map(MapRequest{Memory: h, OffsetBytes: 10, SizeBytes: MapToEnd})
	require.NoError(t, err)
	require.Equal(t, info.HostAddr+10, mapped.HostAddr)
	require.Zero(t, copies.live(), "the block itself")
	require.NoError(t, r.factory.Unmap(h, mapped.ID))
	require.NoError(t, r.factory.Prefetch(h, r.engine, 0))

	require.Zero(t, r.dev.HeldBytes(), "page-locked memory is not counted as memory of the device")
	require.Zero(t, r.engine.Statistics().Reserved.Current)
	require.EqualValues(t, managedStepBytes, m.Statistics().Reserved.Current)
	_, err = m.AllocTyped(Request{Type: Managed, SizeBytes: 1, Relocatable: true})
	requireError(t, err, device.CodeInvalidArgument, "managed", "relocatable")
	paged := smallPool()
	paged.Paging = 2
	requireError(t, m.ConfigurePool(Managed, paged), device.CodeInvalidConfig, "paging", "managed")
	require.NoError(t, r.factory.Free(h))
	require.NoError(t, m.Close(false))
	require.Zero(t, r.dev.Segments())
}

// The device gets the hints that it can use, and they are removed when the block is
// freed.
func TestHintsOfManagedBlocksGoToTheDevice(t *testing.T) {
	r := cleanRig(t, ofAllKinds())
	m := r.manager(t, nil)
	h := m.mustAllocType(t, Managed, 100)
	plain := m.mustAlloc(t, 100)
	info, err := r.factory.HandleInfo(h)
	require.NoError(t, err)
	said := 0
	for _, c := range []struct {
		hint   UsageHint
		advice device.Advice
		calls  int
	}{
		{HintSequential, device.Advice{}, 0},
		{HintReadMostly, device.Advice{ReadMostly: true}, 1},
		{HintReadMostly, device.Advice{ReadMostly: true}, 0},
		{HintResident, device.Advice{ReadMostly: true, Resident: true}, 1},
		{HintWriteMostly, device.Advice{Resident: true}, 1},
		{HintTemporary, device.Advice{}, 1},
		{HintResident, device.Advice{Resident: true}, 1},
		{HintNone, device.Advice{}, 1},
		{HintReadMostly, device.Advice{ReadMostly: true}, 1},
	} {
		require.NoError(t, r.factory.SetUsageHint(plain, c.hint))
		require.NoError(t, r.factory.SetUsageHint(h, c.hint))
		require.Equal(t, c.advice, r.dev.Advice(info.Addr), "%v", c.hint)
		said += c.calls
		require.Equal(t, said, r.dev.Calls(devicetest.Advise), "%v", c.hint)
	}
	r.dev.FailNth(devicetest.Advise, 1, nil)
	requireError(t, r.factory.SetUsageHint(h, HintResident), device.CodeDevice)
	hints, err := r.factory.UsageHints(h)
	require.NoError(t, err)
	require.Equal(t, Hints{Direction: HintReadMostly}, hints, "a rejected hint changes no hint")
	require.NoError(t, r.factory.SetUsageHint(h, HintResident))
	require.NoError(t, r.factory.Free(h))
	require.Equal(t, device.Advice{}, r.dev.Advice(info.Addr))
	require.NoError(t, r.factory.Free(plain))
}

// Memory of the process is page-locked while it has a handle of that type, and can be
// used at once. Other memory is accepted as what the device knows it to be.
func TestAdoptedMemoryIsPageLocked(t *testing.T) {
	r := cleanRig(t, ofAllKinds())
	m := r.manager(t, nil)
	copies := copiesOn(r)
	own := counting(4096)
	at := device.Addr(r.dev.HostBuffer(own))
	for _, kind := range []MemoryType{Pinned, Mapped} {
		h, err := m.Adopt(Adoption{Type: kind, Addr: at, SizeBytes: 4096})
		require.NoError(t, err)
		info, err := r.factory.HandleInfo(h)
		require.NoError(t, err)
		require.EqualValues(t, at, info.HostAddr)
		require.NotEqual(t, at, info.Addr)
		require.Equal(t, Adopted{Blocks: 1, Bytes: 4096}, m.Adopted())
		r.write(t, h, []byte("hello"))
		require.Equal(t, "hello", string(own[:5]))
		mapped, err := r.factory.Map(MapRequest{Memory: h, SizeBytes: MapToEnd})
		require.NoError(t, err)
		require.EqualValues(t, at, mapped.HostAddr)
		require.Zero(t, copies.live())
		require.NoError(t, r.factory.Unmap(h, mapped.ID))
		_, err = m.Adopt(Adoption{Type: kind, Addr: at + 8, SizeBytes: 8})
		requireError(t, err, device.CodeAlreadyExists)
		require.NoError(t, r.factory.Free(h))
		require.Zero(t, r.dev.Segments())
	}
	known, err := m.Adopt(Adoption{Type: Pinned, Addr: foreignAddr, SizeBytes: 100})
	require.NoError(t, err)
	info, err := r.factory.HandleInfo(known)
	require.NoError(t, err)
	require.Equal(t, foreignAddr, info.Addr)
	require.Zero(t, info.HostAddr)
	require.Equal(t, 3, r.dev.Calls(devicetest.Register)-r.dev.Calls(devicetest.Unregister), "two registrations failed, and one block is external")

	last, err := m.Adopt(Adoption{Type: Pinned, Addr: at, SizeBytes: 4096})
	require.NoError(t, err)
	require.NoError(t, m.Close(true))
	_, err = r.factory.HandleInfo(last)
	requireError(t, err, device.CodeInvalidHandle)
	require.Zero(t, r.dev.Segments())
}

// Whichever driver call fails, the operation is all or nothing.
func TestKindsOfMemoryUnderFaults(t *testing.T) {
	for n := 1; ; n++ {
		r := newRig(t, ofAllKinds())
		m := r.manager(t, nil)
		own := device.Addr(r.dev.HostBuffer(counting(4096)))
		r.dev.FailNth(devicetest.Any, n, nil)
		again := func(call func() error) {
			if err := call(); err != nil {
				require.Equal(t, device.CodeDevice, device.CodeOf(err), "%v", err)
				require.NoError(t, call())
			}
		}
		var managed, locked MemoryHandle
		again(func() (err error) {
			managed, err = m.AllocTyped(Request{Type: Managed, SizeBytes: 1 << 20})
			return err
		})
		again(func() error { return r.factory.SetUsageHint(managed, HintResident) })
		again(func() (err error) {
			locked, err = m.Adopt(Adoption{Type: Pinned, Addr: own, SizeBytes: 4096})
			return err
		})
		again(func() error { return r.factory.Free(locked) })
		again(func() error { return r.factory.Free(managed) })
		left := r.dev.ClearFaults()
		require.NoError(t, m.Close(false))
		require.Zero(t, r.dev.Segments())
		r.finish(t)
		if left > 0 {
			require.Greater(t, n, 4)
			return
		}
	}
}
