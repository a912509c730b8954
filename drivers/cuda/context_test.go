package cuda

import (
	"runtime"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/internal/dl"
)

// everyCall makes every call of a device and of its streams and events, with valid and
// invalid arguments. It passes the name of each call to after.
func everyCall(t testing.TB, o *openDevice, after func(what string)) {
	did := func(what string, err error) {
		assert.NoError(t, err, what)
		after(what)
	}
	_, err := o.Memory()
	did("Memory", err)
	addr, err := o.Alloc(2 << 20)
	did("Alloc", err)
	_, err = o.Alloc(1 << 40)
	assert.ErrorIs(t, err, device.CodeOutOfMemory)
	after("Alloc without room")
	s, err := o.NewPriorityStream(0)
	did("NewPriorityStream", err)
	pinned, err := o.AllocPinned(64 << 10)
	did("AllocPinned", err)
	did("Fill", s.Fill(addr, device.Pattern{Value: 7, WidthBytes: 1}, 64<<10))
	did("Copy", s.Copy(addr+1, addr, 1<<10))
	did("CopyToHost", s.CopyToHost(pinned.HostAddr, addr, 64<<10))
	did("CopyFromHost", s.CopyFromHost(addr, pinned.HostAddr, 64<<10))
	did("HostFunction", s.HostFunction(func() {}))
	e, err := s.RecordEvent()
	did("RecordEvent", err)
	did("WaitEvent", o.DefaultStream().WaitEvent(e))
	_, err = e.Done()
	did("Done", err)
	_, err = s.Idle()
	did("Idle", err)
	did("Event.Synchronize", e.Synchronize(device.Forever))
	did("Synchronize", s.Synchronize(device.Forever))
	did("Device.Synchronize", o.Synchronize(device.Forever))
	did("Event.Close", e.Close())
	did("Stream.Close", s.Close())
	space, err := o.Reserve(8<<20, 2<<20)
	did("Reserve", err)
	pages := make([]device.Page, 2)
	did("Create", o.Create(pages, 2<<20, device.BackingPrivate))
	did("Map", o.Map(space, pages))
	did("SetAccess", o.SetAccess(space, 4<<20, device.AccessReadWrite))
	did("Unmap", o.Unmap(space, 4<<20))
	did("Zero", o.Zero(pages))
	did("Release", o.Release(pages))
	did("Unreserve", o.Unreserve(space, 8<<20))
	did("FillNow", o.FillNow(addr, 3, 2<<20))
	_, _, err = o.FirstOther(addr, 3, 2<<20)
	did("FirstOther", err)
	compileAndLaunch(o, addr, did)
	did("FreePinned", o.FreePinned(pinned.Addr, 64<<10))
	did("Free", o.Free(addr, 2<<20))
}

func compileAndLaunch(o *openDevice, addr device.Addr, did func(string, error)) {
	m, err := o.Compile(firstOtherText)
	did("Compile", err)
	k, err := m.Kernel(firstOtherName)
	did("Kernel", err)
	did("Launch", k.Launch(o.DefaultStream(), firstOther(addr, 64, 3, addr+4096)))
	did("Synchronize", o.DefaultStream().Synchronize(device.Forever))
	did("Module.Close", m.Close())
}

// Calls of the library restore the current context of the thread. The test uses threads
// with their own context, without a context, and with the primary context of another
// device.
func TestCallsRestoreTheThreadsContext(t *testing.T) {
	d := testDriver(t)
	sim := newSimulator(t)
	var other uintptr
	sim.must("cuDevicePrimaryCtxRetain", dl.Pointer(&other), 1)
	current := func() uintptr {
		var now uintptr
		sim.must("cuCtxGetCurrent", dl.Pointer(&now))
		return now
	}
	var all sync.WaitGroup
	for number := range 6 {
		all.Add(1)
		go func() {
			defer all.Done()
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			var own uintptr
			switch number % 3 {
			case 0:
				sim.newContext(&own, uintptr(number/3))
			case 1:
				own = other
				sim.must("cuCtxPushCurrent_v2", own)
			}
			before := current()
			assert.Equal(t, own, before)
			dev, err := d.Open(number % 2)
			if !assert.NoError(t, err) {
				return
			}
			o := dev.(*openDevice)
			everyCall(t, o, func(what string) { assert.Equal(t, before, current(), "after %s", what) })
			assert.NoError(t, o.Close())
			assert.Equal(t, before, current(), "after Close")
			switch number % 3 {
			case 0:
				sim.must("cuCtxDestroy_v2", own)
			case 1:
				var popped uintptr
				sim.must("cuCtxPopCurrent_v2", dl.Pointer(&popped))
			}
		}()
	}
	all.Wait()
	sim.must("cuDevicePrimaryCtxRelease_v2", 1)
	sim.clean()
}

// A capture in global mode forbids the threads of the program to manage memory. Calls of
// the library still succeed, they restore the capture mode of the thread, and the capture
// continues.
func TestCallsDuringAGlobalCapture(t *testing.T) {
	o := open(t, 0)
	sim := newSimulator(t)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	sim.must("cuCtxPushCurrent_v2", o.ctx.context)
	var stream, graph uintptr
	sim.must("cuStreamCreate", dl.Pointer(&stream), streamNonBlocking)
	const global = 0
	sim.must("cuStreamBeginCapture_v2", stream, global)
	everyCall(t, o, func(what string) {
		mode := int32(captureRelaxed)
		sim.must("cuThreadExchangeStreamCaptureMode", dl.Pointer(&mode))
		assert.EqualValues(t, global, mode, "after %s", what)
		sim.must("cuThreadExchangeStreamCaptureMode", dl.Pointer(&mode))
	})
	sim.must("cuStreamEndCapture", stream, dl.Pointer(&graph))
	sim.must("cuGraphDestroy", graph)
	sim.must("cuStreamDestroy_v2", stream)
	var popped uintptr
	sim.must("cuCtxPopCurrent_v2", dl.Pointer(&popped))
	require.NoError(t, o.Close())
	sim.clean()
}

// requireLost requires that every call reports the lost device and that everything can be
// released.
func requireLost(t *testing.T, o *openDevice, held *possessions, native int32) {
	_, err := o.Memory()
	require.EqualValues(t, native, requireCode(t, device.CodeDeviceLost, err).Native)
	_, err = o.Alloc(1 << 20)
	requireCode(t, device.CodeDeviceLost, err)
	_, err = o.NewStream()
	requireCode(t, device.CodeDeviceLost, err)
	_, err = held.stream.RecordEvent()
	requireCode(t, device.CodeDeviceLost, err)
	requireCode(t, device.CodeDeviceLost, held.stream.Synchronize(device.Forever))
	requireCode(t, device.CodeDeviceLost, held.stream.Synchronize(0))
	requireCode(t, device.CodeDeviceLost, held.event.Synchronize(device.Forever))
	requireCode(t, device.CodeDeviceLost, held.stream.Fill(held.addr, device.Pattern{WidthBytes: 1}, 8))
	requireCode(t, device.CodeDeviceLost, o.Synchronize(device.Forever))
	requireCode(t, device.CodeDeviceLost, o.Create(make([]device.Page, 1), 2<<20, device.BackingMovable))
	requireCode(t, device.CodeBusy, o.Close())
	held.giveBack(t, o)
	require.NoError(t, o.Close())
}

// possessions holds one object of each kind.
type possessions struct {
	addr, space device.Addr
	pinned      device.PinnedMemory
	// large are pages of the process.
	large  device.PinnedMemory
	stream device.Stream
	event  device.Event
	pages  []device.Page
}

func possess(t *testing.T, o *openDevice) *possessions {
	var err error
	held := &possessions{pages: make([]device.Page, 2)}
	held.addr, err = o.Alloc(1 << 20)
	require.NoError(t, err)
	held.pinned, err = o.AllocPinned(64 << 10)
	require.NoError(t, err)
	held.large, err = o.AllocPinned(2 << 20)
	require.NoError(t, err)
	require.EqualValues(t, 2<<20, o.driver.pages.UsedBytes())
	held.stream, err = o.NewStream()
	require.NoError(t, err)
	held.event, err = held.stream.RecordEvent()
	require.NoError(t, err)
	held.space, err = o.Reserve(4<<20, 2<<20)
	require.NoError(t, err)
	require.NoError(t, o.Create(held.pages, 2<<20, device.BackingPrivate))
	require.NoError(t, o.Map(held.space, held.pages))
	require.NoError(t, o.SetAccess(held.space, 4<<20, device.AccessReadWrite))
	return held
}

func (p *possessions) giveBack(t *testing.T, o *openDevice) {
	require.NoError(t, p.event.Close())
	require.NoError(t, p.stream.Close())
	require.NoError(t, o.Unmap(p.space, 4<<20))
	require.NoError(t, o.Release(p.pages))
	require.NoError(t, o.Unreserve(p.space, 4<<20))
	require.NoError(t, o.FreePinned(p.pinned.Addr, 64<<10))
	require.NoError(t, o.FreePinned(p.large.Addr, 2<<20))
	require.Zero(t, o.driver.pages.UsedBytes())
	require.NoError(t, o.Free(p.addr, 1<<20))
}

func TestPrimaryContextIsReset(t *testing.T) {
	if !alone(t) {
		return
	}
	o := open(t, 0)
	held := possess(t, o)
	newSimulator(t).must("cuDevicePrimaryCtxReset_v2", 0)
	_, err := o.Memory()
	require.Contains(t, requireCode(t, device.CodeDeviceLost, err).Message, "the program reset the device's primary context")
	requireLost(t, o, held, resultContextDestroyed)
}

// Queued work causes an error that makes the context unusable. The next call reports the
// error, and so does every later call.
func TestALostDeviceFailsEveryLaterCall(t *testing.T) {
	for _, native := range []int32{resultIllegalAddress, resultECC, resultLaunchFailed} {
		t.Run(map[int32]string{700: "address", 214: "ecc", 719: "launch"}[native], func(t *testing.T) {
			if !alone(t) {
				return
			}
			o, sim := open(t, 0), newSimulator(t)
			held := possess(t, o)
			sim.fault("async", 1, native)
			// The work may fail before the call that queued it returns. Then that call
			// reports the error.
			failed := held.stream.Fill(held.addr, device.Pattern{WidthBytes: 1}, 64)
			if failed == nil {
				failed = held.stream.Synchronize(device.Forever)
			}
			err := requireCode(t, device.CodeDeviceLost, failed)
			require.EqualValues(t, native, err.Native)
			require.Equal(t, "cuda:0", err.Device)
			require.Contains(t, err.Message, "CUDA_ERROR_")
			requireLost(t, o, held, native)
			// The other device still works.
			oneLife(t, open(t, 1))
		})
	}
}

// After an illegal address the process gets the primary context of the device only with the
// same error, also when nothing uses the context any more. The device can be opened again in
// a new process. Other devices are not affected.
func TestALostDeviceCannotBeOpenedAgain(t *testing.T) {
	if !alone(t) {
		return
	}
	sim, d := newSimulator(t), testDriver(t)
	o := mustOpen(t, d, 0)
	addr, err := o.Alloc(64 << 10)
	require.NoError(t, err)
	sim.fault("async", 1, resultIllegalAddress)
	// The work may fail before the call that queued it returns.
	failed := o.DefaultStream().Fill(addr, device.Pattern{WidthBytes: 1}, 64)
	if failed == nil {
		failed = o.DefaultStream().Synchronize(device.Forever)
	}
	requireCode(t, device.CodeDeviceLost, failed)
	require.NoError(t, o.Free(addr, 64<<10))
	require.NoError(t, o.Close())
	for range 2 {
		_, err = d.Open(0)
		require.EqualValues(t, resultIllegalAddress, requireCode(t, device.CodeDeviceLost, err).Native)
		_, err = d.ReadMemory(0)
		require.EqualValues(t, resultIllegalAddress, requireCode(t, device.CodeDeviceLost, err).Native)
	}
	oneLife(t, mustOpen(t, d, 1))
	infos, err := d.Devices()
	require.NoError(t, err)
	require.Len(t, infos, 2)
	sim.call("simcuda_clear_faults")
	oneLife(t, mustOpen(t, d, 0))
	sim.clean()
}
