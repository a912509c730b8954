package cuda

import (
	"testing"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/drivers/internal/dl"
)

func TestMemoryOfOthers(t *testing.T) {
	o, sim := open(t, 0), newSimulator(t)
	var theirs, far uint64
	allocate := func(o *openDevice, out *uint64) {
		require.NoError(t, o.within("test", func() error {
			sim.must("cuMemAlloc_v2", dl.Pointer(out), 4096)
			return nil
		}))
	}
	other := open(t, 1)
	allocate(o, &theirs)
	allocate(other, &far)
	s, at := o.DefaultStream(), device.Addr(theirs)
	one := device.Pattern{Value: 5, WidthBytes: 1}
	requireCode(t, device.CodeInvalidAddress, s.Fill(at, one, 16))
	require.NoError(t, o.Adopt(at+1024, 1024))
	require.NoError(t, s.Fill(at+1024, one, 1024))
	require.Equal(t, []byte{5, 5}, get(t, s, at+2046, 2))
	requireCode(t, device.CodeInvalidAddress, s.Fill(at+1024, one, 1025))
	space, err := o.Reserve(2<<20, 2<<20)
	require.NoError(t, err)
	for _, c := range []struct {
		code device.Code
		addr device.Addr
		size uint64
	}{
		{device.CodeInvalidSize, at, 0},
		{device.CodeOverflow, at, ^uint64(0)},
		{device.CodeInvalidAddress, at, 4097},
		{device.CodeInvalidAddress, 4096, 16},
		{device.CodeInvalidAddress, device.Addr(far), 16},
		{device.CodeAlreadyExists, at + 1024, 1024},
		{device.CodeAlreadyExists, at, 1025},
		{device.CodeAlreadyExists, at + 2047, 1},
		{device.CodeInvalidAddress, space, 16},
	} {
		requireCode(t, c.code, o.Adopt(c.addr, c.size))
	}
	require.NoError(t, o.Adopt(at, 1024))
	require.NoError(t, o.Adopt(at+2048, 2048))
	requireCode(t, device.CodeInvalidAddress, o.Disown(at+1024, 1023))
	requireCode(t, device.CodeInvalidAddress, o.Free(at+1024, 1024))
	require.NoError(t, o.Unreserve(space, 2<<20))
	requireCode(t, device.CodeBusy, o.Close())
	require.NoError(t, o.Disown(at, 1024))
	require.NoError(t, o.Disown(at+1024, 1024))
	require.NoError(t, o.Disown(at+2048, 2048))
	requireCode(t, device.CodeInvalidAddress, o.Disown(at, 1024))
	for d, addr := range map[*openDevice]uint64{o: theirs, other: far} {
		require.NoError(t, d.within("test", func() error { sim.must("cuMemFree_v2", uintptr(addr)); return nil }))
		require.NoError(t, d.Close())
	}
	require.Empty(t, sim.text("simcuda_leaks"))
	// To ask about an address that is nobody's is how it is found out.
	sim.call("simcuda_clear_violations")
}

func TestEventsOfOthers(t *testing.T) {
	o, sim := open(t, 0), newSimulator(t)
	other := open(t, 1)
	addr, err := o.Allocate(64 << 10)
	require.NoError(t, err)
	var theirs, unrecorded uintptr
	require.NoError(t, other.within("test", func() error {
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
	require.False(t, idle, "it waits")
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
	require.True(t, done, "nothing was recorded")
	_, err = o.AdoptEvent(0)
	requireCode(t, device.CodeInvalidArgument, err)
	require.NoError(t, o.Free(addr, 64<<10))
	require.NoError(t, o.Close(), "an event that is left with it stays its owner's")
	require.NoError(t, other.within("test", func() error {
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

func TestStreamsOfOthers(t *testing.T) {
	o, sim := open(t, 0), newSimulator(t)
	addr, err := o.Allocate(64 << 10)
	require.NoError(t, err)
	var theirs, context, elsewhere uintptr
	require.NoError(t, o.within("test", func() error {
		sim.must("cuStreamCreate", dl.Pointer(&theirs), streamNonBlocking)
		sim.must("cuCtxCreate_v2", dl.Pointer(&context), 0, 0)
		sim.must("cuStreamCreate", dl.Pointer(&elsewhere), streamNonBlocking)
		var popped uintptr
		sim.must("cuCtxPopCurrent_v2", dl.Pointer(&popped))
		return nil
	}))
	for i, native := range []uint64{uint64(theirs), 1, 2} {
		s, err := o.AdoptStream(device.ForeignStream{Native: native})
		require.NoError(t, err)
		require.NoError(t, s.Fill(addr, device.Pattern{Value: uint32(i + 1), WidthBytes: 1}, 64<<10))
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
	_, err = o.AdoptStream(device.ForeignStream{Enqueue: func(func()) error { return nil }})
	requireCode(t, device.CodeUnsupported, err)
	require.NoError(t, o.within("test", func() error {
		sim.must("cuStreamQuery", theirs)
		sim.must("cuStreamDestroy_v2", theirs)
		sim.must("cuCtxDestroy_v2", context)
		return nil
	}))
	require.NoError(t, o.Free(addr, 64<<10))
	require.NoError(t, o.Close())
	sim.clean()
}
