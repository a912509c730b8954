package cuda

import (
	"testing"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/internal/dl"
)

// The driver reports that the memory belongs to another device, so it cannot be adopted.
func TestMemoryOfAnotherDeviceCannotBeAdopted(t *testing.T) {
	o, other, sim := open(t, 0), open(t, 1), newSimulator(t)
	var far uint64
	require.NoError(t, other.ctx.within("test", func() error {
		sim.must("cuMemAlloc_v2", dl.Pointer(&far), 4096)
		return nil
	}))
	requireCode(t, device.CodeInvalidAddress, o.Adopt(device.Addr(far), 16, device.AccessReadWrite, device.Alone))
	require.NoError(t, other.ctx.within("test", func() error { sim.must("cuMemFree_v2", uintptr(far)); return nil }))
	require.NoError(t, other.Close())
	require.NoError(t, o.Close())
	sim.clean()
}

func TestAStreamWaitsForExternalEvents(t *testing.T) {
	o, sim := open(t, 0), newSimulator(t)
	other := open(t, 1)
	addr, err := o.Alloc(64 << 10)
	require.NoError(t, err)
	var theirs, unrecorded uintptr
	require.NoError(t, other.ctx.within("test", func() error {
		sim.must("cuEventCreate", dl.Pointer(&theirs), eventDisableTiming)
		sim.must("cuEventCreate", dl.Pointer(&unrecorded), 0)
		return nil
	}))
	release := make(chan struct{})
	far := other.DefaultStream().(*stream)
	require.NoError(t, far.HostFunction(func() { <-release }))
	require.NoError(t, far.use("test", func() error { sim.must("cuEventRecord", theirs, far.handle); return nil }))

	e, err := o.AdoptEvent(uint64(theirs))
	require.NoError(t, err)
	done, err := e.Done()
	require.NoError(t, err)
	require.False(t, done)
	requireCode(t, device.CodeTimeout, e.Synchronize(0))
	s := o.DefaultStream()
	require.NoError(t, s.WaitEvent(e))
	require.NoError(t, s.Fill(addr, device.Pattern{Value: 7, WidthBytes: 1}, 64<<10))
	idle, err := s.Idle()
	require.NoError(t, err)
	require.False(t, idle, "the call waits, but must return")
	close(release)
	require.NoError(t, e.Synchronize(device.Forever))
	require.Equal(t, []byte{7}, get(t, s, addr, 1))
	_, err = device.Elapsed(e, e)
	require.Error(t, err)
	require.NoError(t, e.Close())
	requireCode(t, device.CodeInvalidState, e.Close())

	never, err := o.AdoptEvent(uint64(unrecorded))
	require.NoError(t, err)
	done, err = never.Done()
	require.NoError(t, err)
	require.True(t, done, "an event without a record is complete")
	_, err = o.AdoptEvent(0)
	requireCode(t, device.CodeInvalidArgument, err)
	require.NoError(t, o.Free(addr, 64<<10))
	require.NoError(t, o.Close(), "an external event still belongs to its owner")
	require.NoError(t, other.ctx.within("test", func() error {
		for _, event := range []uintptr{theirs, unrecorded} {
			sim.must("cuEventQuery", event)
			sim.must("cuEventDestroy_v2", event)
		}
		return nil
	}))
	require.NoError(t, never.Close())
	require.NoError(t, other.Close())
	sim.clean()
}

func TestAnAdoptedStreamOrdersWorkAndIsNotDestroyed(t *testing.T) {
	o, sim := open(t, 0), newSimulator(t)
	addr, err := o.Alloc(64 << 10)
	require.NoError(t, err)
	var theirs, context, elsewhere uintptr
	require.NoError(t, o.ctx.within("test", func() error {
		sim.must("cuStreamCreate", dl.Pointer(&theirs), streamNonBlocking)
		sim.newContext(&context, 0)
		sim.must("cuStreamCreate", dl.Pointer(&elsewhere), streamNonBlocking)
		var popped uintptr
		sim.must("cuCtxPopCurrent_v2", dl.Pointer(&popped))
		return nil
	}))
	for i, native := range []uint64{uint64(theirs), 1} {
		s, err := o.AdoptStream(device.ForeignStream{Native: native})
		require.NoError(t, err)
		require.NoError(t, s.Fill(addr, device.Pattern{Value: uint64(i + 1), WidthBytes: 1}, 64<<10))
		e, err := s.RecordEvent()
		require.NoError(t, err)
		require.NoError(t, o.DefaultStream().WaitEvent(e))
		require.NoError(t, e.Close())
		require.Equal(t, []byte{byte(i + 1)}, get(t, o.DefaultStream(), addr+65535, 1))
		requireCode(t, device.CodeBusy, o.Close())
		require.NoError(t, s.Close())
		requireCode(t, device.CodeInvalidState, s.Close())
	}
	for _, wrong := range []device.ForeignStream{{}, {Native: uint64(elsewhere)}} {
		_, err := o.AdoptStream(wrong)
		requireCode(t, device.CodeInvalidArgument, err)
	}
	_, err = o.AdoptStream(device.ForeignStream{Native: streamPerThread})
	require.Contains(t, requireCode(t, device.CodeUnsupported, err).Message, "per-thread default stream")
	_, err = o.AdoptStream(device.ForeignStream{Enqueue: func(func()) error { return nil }})
	requireCode(t, device.CodeUnsupported, err)
	require.NoError(t, o.ctx.within("test", func() error {
		sim.must("cuStreamQuery", theirs)
		sim.must("cuStreamDestroy_v2", theirs)
		sim.must("cuCtxDestroy_v2", context)
		return nil
	}))
	require.NoError(t, o.Free(addr, 64<<10))
	require.NoError(t, o.Close())
	sim.clean()
}
