package cuda

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/internal/dl"
)

// ownContext creates a context of the program that is not current on any thread.
func ownContext(t *testing.T, sim simulator, index int) uintptr {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var made, popped uintptr
	sim.newContext(&made, uintptr(index))
	sim.must("cuCtxPopCurrent_v2", dl.Pointer(&popped))
	require.Equal(t, made, popped)
	return made
}

// A device that was opened on the program's context makes all calls in that context. It
// does not use the primary context. Closing the device does not destroy the program's
// context.
func TestDeviceUsesOnlyTheProgramsContext(t *testing.T) {
	for _, generation := range []string{"11020", "12000", "12040", "12090", "13000"} {
		t.Run(generation, func(t *testing.T) {
			if !alone(t, envLibrary+"="+simulated(generation)) {
				return
			}
			d, sim := testDriver(t), newSimulator(t)
			context := ownContext(t, sim, 1)
			dev, err := d.OpenContext(1, uint64(context))
			require.NoError(t, err)
			o := dev.(*openDevice)
			native, err := o.NativeHandle()
			require.NoError(t, err)
			require.EqualValues(t, context, native)
			require.Zero(t, sim.calls("cuDevicePrimaryCtxRetain"))
			everyCall(t, o, func(string) {})
			// Streams of the device belong to the program's context. Streams of the primary
			// context are external.
			var of uintptr
			handle, err := o.DefaultStream().(device.Native).NativeHandle()
			require.NoError(t, err)
			var stream, elsewhere uintptr
			require.NoError(t, o.ctx.within("test", func() error {
				sim.must("cuStreamGetCtx", uintptr(handle), dl.Pointer(&of))
				sim.must("cuStreamCreate", dl.Pointer(&stream), streamNonBlocking)
				return nil
			}))
			require.Equal(t, context, of)
			s, err := o.AdoptStream(device.ForeignStream{Native: uint64(stream)})
			require.NoError(t, err)
			require.NoError(t, s.Close())
			primary := mustOpen(t, d, 1)
			require.NoError(t, primary.ctx.within("test", func() error {
				sim.must("cuStreamCreate", dl.Pointer(&elsewhere), streamNonBlocking)
				return nil
			}))
			_, err = o.AdoptStream(device.ForeignStream{Native: uint64(elsewhere)})
			requireCode(t, device.CodeInvalidArgument, err)
			require.NoError(t, primary.ctx.within("test", func() error { sim.must("cuStreamDestroy_v2", elsewhere); return nil }))
			// Plain memory of one context does not belong to another context of the same
			// device.
			addr, err := o.Alloc(64 << 10)
			require.NoError(t, err)
			_, err = primary.Link(o, addr, 8)
			requireCode(t, device.CodeUnsupported, err)
			require.NoError(t, o.Free(addr, 64<<10))
			require.NoError(t, primary.Close())
			releases := sim.calls("cuDevicePrimaryCtxRelease_v2")
			require.NoError(t, o.ctx.within("test", func() error { sim.must("cuStreamDestroy_v2", stream); return nil }))
			require.NoError(t, o.Close())
			require.Equal(t, releases, sim.calls("cuDevicePrimaryCtxRelease_v2"))
			_, err = o.NativeHandle()
			requireCode(t, device.CodeInvalidState, err)
			sim.must("cuCtxDestroy_v2", context)
			sim.clean()
		})
	}
}

func TestOpeningOnAContextRejectsBadInput(t *testing.T) {
	d, sim := testDriver(t), newSimulator(t)
	context := ownContext(t, sim, 1)
	_, err := d.OpenContext(0, uint64(context))
	require.Contains(t, requireCode(t, device.CodeInvalidArgument, err).Message, "is one of the CUDA device 1")
	_, err = d.OpenContext(0, 0)
	requireCode(t, device.CodeNullPointer, err)
	_, err = d.OpenContext(2, uint64(context))
	requireCode(t, device.CodeDeviceNotFound, err)
	for n := 1; n <= 2; n++ {
		sim.fault("cuStreamCreateWithPriority", n, resultOutOfMemory)
		_, err = d.OpenContext(1, uint64(context))
		requireCode(t, device.CodeOutOfMemory, err)
	}
	sim.fault("cuCtxGetDevice", 1, resultOutOfMemory)
	_, err = d.OpenContext(1, uint64(context))
	requireCode(t, device.CodeOutOfMemory, err)
	sim.must("cuCtxDestroy_v2", context)
	sim.clean()
	_, err = d.OpenContext(1, uint64(context))
	require.Contains(t, requireCode(t, device.CodeInvalidArgument, err).Message, "is not a live context")
	require.Empty(t, sim.text("simcuda_leaks"))
	sim.call("simcuda_clear_violations")
}

// If the program destroys its context too early, the device is lost. It reports the loss
// and can still be closed.
func TestDeviceIsLostWhenItsContextIsDestroyed(t *testing.T) {
	if !alone(t) {
		return
	}
	d, sim := testDriver(t), newSimulator(t)
	context := ownContext(t, sim, 0)
	dev, err := d.OpenContext(0, uint64(context))
	require.NoError(t, err)
	o := dev.(*openDevice)
	held := possess(t, o)
	sim.must("cuCtxDestroy_v2", context)
	_, err = o.Memory()
	lost := requireCode(t, device.CodeDeviceLost, err)
	require.Contains(t, lost.Message, "the program destroyed the context that the device was opened on")
	requireLost(t, o, held, int32(lost.Native))
	oneLife(t, mustOpen(t, d, 0))
}

// The handles of streams and events that the library returns are those of the vendor
// driver, which accepts them.
func TestNativeHandlesAreTheDriversOwn(t *testing.T) {
	o, sim := open(t, 0), newSimulator(t)
	s, err := o.NewStream()
	require.NoError(t, err)
	e, err := s.RecordEvent()
	require.NoError(t, err)
	stream, err := s.(device.Native).NativeHandle()
	require.NoError(t, err)
	event, err := e.(device.Native).NativeHandle()
	require.NoError(t, err)
	require.NoError(t, o.ctx.within("test", func() error {
		sim.must("cuStreamSynchronize", uintptr(stream))
		sim.must("cuEventQuery", uintptr(event))
		sim.must("cuStreamWaitEvent", uintptr(stream), uintptr(event), 0)
		return nil
	}))
	require.NoError(t, e.Close())
	require.NoError(t, s.Close())
	_, err = e.(device.Native).NativeHandle()
	requireCode(t, device.CodeInvalidState, err)
	_, err = s.(device.Native).NativeHandle()
	requireCode(t, device.CodeInvalidState, err)
	require.NoError(t, o.Close())
	sim.clean()
}

// Other code works in the primary context of the stream's device, and the thread has its own context afterwards.
func TestOtherCodeWorksInTheContextOfAStream(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	d, sim := testDriver(t), newSimulator(t)
	now := func() (context uintptr) {
		sim.must("cuCtxGetCurrent", dl.Pointer(&context))
		return context
	}
	o := mustOpen(t, d, 1)
	made, err := o.NewStream()
	require.NoError(t, err)
	s := made.(*stream)
	require.Zero(t, now())
	require.NoError(t, s.InContext(func() error {
		require.Equal(t, o.ctx.context, now())
		addr, err := o.Alloc(2 << 20) // work may call the library
		require.NoError(t, err)
		return o.Free(addr, 2<<20)
	}))
	require.Zero(t, now())
	stop := device.Errorf(device.CodeModel, "test", "it stops")
	require.ErrorIs(t, s.InContext(func() error { return stop }), stop)
	require.NoError(t, s.Close())
	require.Equal(t, device.CodeInvalidState, device.CodeOf(s.InContext(func() error { panic("it ran") })))
	require.NoError(t, o.Close())

	context := ownContext(t, sim, 1)
	dev, err := d.OpenContext(1, uint64(context))
	require.NoError(t, err)
	err = dev.DefaultStream().(device.ContextRunner).InContext(func() error { panic("it ran") })
	require.ErrorIs(t, err, device.CodeUnsupported)
	require.NoError(t, dev.Close())
	sim.must("cuCtxDestroy_v2", context)
	sim.clean()
}
