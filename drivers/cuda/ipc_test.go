package cuda

import (
	"testing"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
)

// Another process opens memory and an event of this process. It waits for the event, then
// reads and writes the memory.
func TestMemoryOfAnotherProcess(t *testing.T) {
	for _, generation := range []string{"11020", "12000", "12040", "12090", "13000"} {
		t.Run(generation, func(t *testing.T) {
			var told message
			if isOther(t, &told) {
				readsOther(t, told)
				return
			}
			if alone(t, envLibrary+"="+simulated(generation)) {
				sharesWithOther(t)
			}
		})
	}
}

func readsOther(t *testing.T, told message) {
	o := open(t, 0)
	e, err := o.OpenSharedEvent(told.Event)
	require.NoError(t, err)
	addr, err := o.OpenShared(told.Memory)
	require.NoError(t, err)
	_, err = o.OpenShared(told.Memory)
	requireCode(t, device.CodeAlreadyExists, err)
	s := o.DefaultStream()
	require.NoError(t, s.WaitEvent(e))
	require.Equal(t, []byte{7, 7}, get(t, s, addr, 2))
	done, err := e.Done()
	require.NoError(t, err)
	require.True(t, done)
	require.NoError(t, e.Synchronize(device.Forever))
	put(t, s, addr+4, []byte{8})
	requireCode(t, device.CodeInvalidAddress, s.Fill(addr, device.Pattern{WidthBytes: 1}, told.Memory.SizeBytes+1))
	_, err = o.ShareMemory(addr, 8)
	requireCode(t, device.CodeInvalidAddress, err)
	// A second context of the device cannot open it too.
	sim, d := newSimulator(t), testDriver(t)
	context := ownContext(t, sim, 0)
	second, err := d.OpenContext(0, uint64(context))
	require.NoError(t, err)
	_, err = second.(device.ProcessSharer).OpenShared(told.Memory)
	require.Contains(t, requireCode(t, device.CodeInvalidArgument, err).Message, "another context of this process has its memory open")
	require.NoError(t, second.Close())
	sim.must("cuCtxDestroy_v2", context)
	sim.call("simcuda_clear_violations")
	// Another range of the same memory can be opened. A range outside the memory cannot.
	next := told.Memory
	next.OffsetBytes += next.SizeBytes
	also, err := o.OpenShared(next)
	require.NoError(t, err)
	require.Equal(t, addr+device.Addr(next.SizeBytes), also)
	for _, wrong := range []device.SharedMemory{
		{Handle: next.Handle, SizeBytes: 1<<20 + 1}, {Handle: next.Handle, OffsetBytes: 1 << 20, SizeBytes: 1},
		{Handle: next.Handle, OffsetBytes: 1 << 40, SizeBytes: 1}, {Handle: next.Handle},
	} {
		_, err = o.OpenShared(wrong)
		requireCode(t, device.CodeInvalidSize, err)
	}
	_, err = o.OpenShared(device.SharedMemory{Handle: next.Handle, OffsetBytes: 2, SizeBytes: ^uint64(0)})
	requireCode(t, device.CodeOverflow, err)
	requireCode(t, device.CodeInvalidAddress, o.CloseShared(addr+1, told.Memory.SizeBytes))
	requireCode(t, device.CodeInvalidAddress, o.Free(addr, told.Memory.SizeBytes))
	requireCode(t, device.CodeBusy, o.Close())
	require.NoError(t, o.CloseShared(addr, told.Memory.SizeBytes))
	requireCode(t, device.CodeInvalidAddress, o.CloseShared(addr, told.Memory.SizeBytes))
	require.Equal(t, []byte{7}, get(t, s, also, 1))
	require.NoError(t, o.CloseShared(also, next.SizeBytes))
	require.NoError(t, e.Close())
	require.NoError(t, o.Close())
	newSimulator(t).clean()
}

func sharesWithOther(t *testing.T) {
	o := open(t, 0)
	addr, err := o.Alloc(1 << 20)
	require.NoError(t, err)
	s, err := o.NewStream()
	require.NoError(t, err)
	require.NoError(t, s.Fill(addr, device.Pattern{Value: 7, WidthBytes: 1}, 1<<20))
	e, handle, err := o.ShareEvent(s)
	require.NoError(t, err)
	m, err := o.ShareMemory(addr+4096, 64<<10)
	require.NoError(t, err)
	require.EqualValues(t, 4096, m.OffsetBytes)
	runOther(t, message{Memory: m, Event: handle})
	require.Equal(t, []byte{7, 8}, get(t, s, addr+4096+3, 2))

	// A process cannot open its own handles. The error states the reason, and the device
	// still works.
	_, err = o.OpenShared(m)
	requireCode(t, device.CodeInvalidState, err)
	_, err = o.OpenSharedEvent(handle)
	requireCode(t, device.CodeInvalidState, err)
	_, err = o.Memory()
	require.NoError(t, err)
	require.NoError(t, e.Close())
	require.NoError(t, s.Close())
	require.NoError(t, o.Free(addr, 1<<20))
	require.NoError(t, o.Close())
	require.Empty(t, newSimulator(t).text("simcuda_leaks"))
}

// Closing an event for other processes destroys the native event. If that fails, the event
// stays open and usable, and the next close destroys it.
func TestSharedEventStaysOpenWhenItsReleaseFails(t *testing.T) {
	o := open(t, 0)
	sim := newSimulator(t)
	e, _, err := o.ShareEvent(o.DefaultStream())
	require.NoError(t, err)
	for _, call := range []string{"cuEventDestroy_v2", "cuCtxPushCurrent_v2"} {
		sim.fault(call, 1, 304)
		require.Error(t, e.Close(), call)
		require.Zero(t, sim.call("simcuda_faults_left"), call)
		require.NoError(t, e.Synchronize(device.Forever), call)
	}
	require.NoError(t, e.Close())
	requireCode(t, device.CodeInvalidState, e.Close())
	require.NoError(t, o.Close())
	sim.clean()
}

func TestSharingRejectsBadInput(t *testing.T) {
	a, b := openTwo(t)
	addr, err := a.Alloc(64 << 10)
	require.NoError(t, err)
	pinned, err := a.AllocPinned(64 << 10)
	require.NoError(t, err)
	for _, c := range []struct {
		code device.Code
		addr device.Addr
		size uint64
	}{
		{device.CodeInvalidSize, addr, 0},
		{device.CodeInvalidAddress, addr, 64<<10 + 1},
		{device.CodeInvalidAddress, addr, ^uint64(0)},
		{device.CodeInvalidAddress, 8, 8},
		{device.CodeInvalidAddress, pinned.Addr, 8},
	} {
		_, err := a.ShareMemory(c.addr, c.size)
		requireCode(t, c.code, err)
	}
	_, err = a.OpenShared(device.SharedMemory{SizeBytes: 8})
	requireCode(t, device.CodeInvalidArgument, err)
	_, err = a.OpenSharedEvent(device.ProcessHandle{1, 2, 3})
	require.EqualValues(t, resultMapFailed, requireCode(t, device.CodeInvalidArgument, err).Native)
	for _, wrong := range []device.Stream{nil, b.DefaultStream()} {
		_, _, err = a.ShareEvent(wrong)
		requireCode(t, device.CodeInvalidArgument, err)
	}
	require.NoError(t, a.FreePinned(pinned.Addr, 64<<10))
	require.NoError(t, a.Free(addr, 64<<10))
	require.NoError(t, a.Close())
	require.NoError(t, b.Close())
	_, err = a.ShareMemory(addr, 8)
	requireCode(t, device.CodeInvalidState, err)
	_, err = a.OpenShared(device.SharedMemory{SizeBytes: 8})
	requireCode(t, device.CodeInvalidState, err)
	sim := newSimulator(t)
	require.Empty(t, sim.text("simcuda_leaks"))
	sim.call("simcuda_clear_violations")
}

// The process that shared the memory may free it before another process opens the handle.
func TestOpeningFreedSharedMemoryFails(t *testing.T) {
	var told message
	if isOther(t, &told) {
		o := open(t, 0)
		_, err := o.OpenShared(told.Memory)
		require.Contains(t, requireCode(t, device.CodeInvalidArgument, err).Message, "cuIpcOpenMemHandle_v2")
		require.NoError(t, o.Close())
		return
	}
	o := open(t, 0)
	addr, err := o.Alloc(64 << 10)
	require.NoError(t, err)
	m, err := o.ShareMemory(addr, 64<<10)
	require.NoError(t, err)
	require.NoError(t, o.Free(addr, 64<<10))
	runOther(t, message{Memory: m})
	require.NoError(t, o.Close())
	newSimulator(t).clean()
}

// Each call of the vendor driver fails once, and nothing leaks.
func TestFailedSharingLeaksNothing(t *testing.T) {
	var told message
	sim := newSimulator(t)
	once := func(o *openDevice, name string, call func() error) {
		sim.fault(name, 1, resultOutOfMemory)
		require.Contains(t, requireCode(t, device.CodeOutOfMemory, call()).Message, name)
		require.Zero(t, sim.call("simcuda_faults_left"), name)
		require.NoError(t, call(), name)
	}
	if isOther(t, &told) {
		o := open(t, 0)
		for _, name := range []string{"cuIpcOpenMemHandle_v2", "cuPointerGetAttribute"} {
			var addr device.Addr
			once(o, name, func() (err error) { addr, err = o.OpenShared(told.Memory); return err })
			once(o, "cuIpcCloseMemHandle", func() error { return o.CloseShared(addr, told.Memory.SizeBytes) })
		}
		var e device.Event
		once(o, "cuIpcOpenEventHandle", func() (err error) { e, err = o.OpenSharedEvent(told.Event); return err })
		require.NoError(t, e.Close())
		require.NoError(t, o.Close())
		sim.clean()
		return
	}
	o := open(t, 0)
	addr, err := o.Alloc(64 << 10)
	require.NoError(t, err)
	var m message
	once(o, "cuIpcGetMemHandle", func() (err error) { m.Memory, err = o.ShareMemory(addr, 64<<10); return err })
	var e device.Event
	for _, name := range []string{"cuEventCreate", "cuIpcGetEventHandle", "cuEventRecord"} {
		once(o, name, func() (err error) { e, m.Event, err = o.ShareEvent(o.DefaultStream()); return err })
		if name != "cuEventRecord" {
			require.NoError(t, e.Close())
		}
	}
	runOther(t, m)
	require.NoError(t, e.Close())
	require.NoError(t, o.Free(addr, 64<<10))
	require.NoError(t, o.Close())
	sim.clean()
}

func TestDeviceHasNoHandles(t *testing.T) {
	if !alone(t, "SIMCUDA_WITHOUT=ipc") {
		return
	}
	o := open(t, 0)
	addr, err := o.Alloc(64 << 10)
	require.NoError(t, err)
	_, err = o.ShareMemory(addr, 8)
	requireCode(t, device.CodeUnsupported, err)
	_, _, err = o.ShareEvent(o.DefaultStream())
	requireCode(t, device.CodeUnsupported, err)
	require.NoError(t, o.Free(addr, 64<<10))
	require.NoError(t, o.Close())
	newSimulator(t).clean()
}
