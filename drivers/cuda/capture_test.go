package cuda

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/internal/dl"
)

// The modes of a capture.
const (
	captureGlobal      = 0
	captureThreadLocal = 1
)

// program holds the objects that a program owns on a device besides the library: a context
// that is current on its thread, and a stream that the library adopted.
type program struct {
	t      testing.TB
	sim    simulator
	o      *openDevice
	handle uintptr
	stream device.Stream
}

// newProgram locks the goroutine to the calling thread.
func newProgram(t testing.TB, o *openDevice) *program {
	runtime.LockOSThread()
	p := &program{t: t, sim: newSimulator(t), o: o}
	p.sim.must("cuCtxPushCurrent_v2", o.ctx.context)
	p.sim.must("cuStreamCreate", dl.Pointer(&p.handle), streamNonBlocking)
	var err error
	p.stream, err = o.AdoptStream(device.ForeignStream{Native: uint64(p.handle)})
	require.NoError(t, err)
	return p
}

func (p *program) close() {
	require.NoError(p.t, p.stream.Close())
	p.sim.must("cuStreamDestroy_v2", p.handle)
	var popped uintptr
	p.sim.must("cuCtxPopCurrent_v2", dl.Pointer(&popped))
	runtime.UnlockOSThread()
}

func (p *program) beginCapture(mode int) {
	p.sim.must("cuStreamBeginCapture_v2", p.handle, uintptr(mode))
}

// endCapture ends the capture and returns a graph that can be launched.
func (p *program) endCapture() (exec uintptr) {
	var graph uintptr
	p.sim.must("cuStreamEndCapture", p.handle, dl.Pointer(&graph))
	p.sim.must("cuGraphInstantiateWithFlags", dl.Pointer(&exec), graph, 0)
	p.sim.must("cuGraphDestroy", graph)
	return exec
}

func (p *program) launch(exec uintptr) { p.sim.must("cuGraphLaunch", exec, p.handle) }

// In every capture mode the library rejects a call that would invalidate the capture. It
// does not pass the call to the vendor driver, and the capture continues.
func TestCapturingStreamsRejectQueries(t *testing.T) {
	for _, mode := range []int{captureGlobal, captureThreadLocal, captureRelaxed} {
		t.Run(fmt.Sprint(mode), func(t *testing.T) {
			o := open(t, 0)
			p := newProgram(t, o)
			own, err := o.NewStream()
			require.NoError(t, err)
			before, err := p.stream.RecordEvent()
			require.NoError(t, err)
			for _, s := range []device.Stream{p.stream, own} {
				now, err := device.CaptureOf(s)
				require.NoError(t, err)
				require.Equal(t, device.Capture{}, now)
			}

			p.beginCapture(mode)
			now, err := device.CaptureOf(p.stream)
			require.NoError(t, err)
			require.Equal(t, device.CaptureActive, now.State)
			require.NotZero(t, now.ID)
			edge, err := p.stream.RecordEvent()
			require.NoError(t, err)
			require.NoError(t, own.WaitEvent(edge))
			joined, err := device.CaptureOf(own)
			require.NoError(t, err)
			require.Equal(t, now, joined)
			for _, s := range []device.Stream{p.stream, own} {
				_, err = s.Idle()
				require.Contains(t, requireCode(t, device.CodeInvalidState, err).Message, "capturing")
				requireCode(t, device.CodeInvalidState, s.Synchronize(device.Forever))
				requireCode(t, device.CodeInvalidState, s.Synchronize(0))
				requireCode(t, device.CodeInvalidState, s.Close())
				requireCode(t, device.CodeInvalidState, s.HostFunction(func() {}))
			}
			requireCode(t, device.CodeInvalidState, o.Synchronize(device.Forever))
			_, err = edge.Done()
			require.Contains(t, requireCode(t, device.CodeInvalidState, err).Message, "edge of the graph")
			requireCode(t, device.CodeInvalidState, edge.Synchronize(device.Forever))
			requireCode(t, device.CodeInvalidState, edge.Synchronize(0))
			_, err = before.Done()
			require.NoError(t, err, "an event from before the capture can be queried")
			back, err := own.RecordEvent()
			require.NoError(t, err)
			require.NoError(t, p.stream.WaitEvent(back))
			p.sim.must("cuGraphExecDestroy", p.endCapture())

			for _, s := range []device.Stream{p.stream, own} {
				now, err := device.CaptureOf(s)
				require.NoError(t, err)
				require.Equal(t, device.Capture{}, now)
				require.NoError(t, s.Synchronize(device.Forever))
			}
			_, err = edge.Done()
			requireCode(t, device.CodeInvalidState, err)
			for _, e := range []device.Event{before, edge, back} {
				require.NoError(t, e.Close())
			}
			// The driver's event, which was an edge of the graph, can be used again.
			again, err := own.RecordEvent()
			require.NoError(t, err)
			require.NoError(t, again.Synchronize(device.Forever))
			require.NoError(t, again.Close())
			require.NoError(t, own.Close())
			_, err = device.CaptureOf(own)
			requireCode(t, device.CodeInvalidState, err)
			p.close()
			require.NoError(t, o.Close())
			p.sim.clean()
		})
	}
}

// An old driver gives captures no numbers. The library invalidates no capture there either.
func TestNoCaptureIsInvalidatedWithoutCaptureNumbers(t *testing.T) {
	if !alone(t, envLibrary+"="+simulated("11020"), "SIMCUDA_LEAKS=") {
		return
	}
	o := open(t, 0)
	require.False(t, o.Info().Capture)
	p := newProgram(t, o)
	now, err := device.CaptureOf(p.stream)
	require.NoError(t, err)
	require.Equal(t, device.Capture{}, now)
	p.beginCapture(captureGlobal)
	_, err = device.CaptureOf(p.stream)
	require.Contains(t, requireCode(t, device.CodeUnsupported, err).Message, "cuStreamGetCaptureInfo_v2")
	_, err = p.stream.Idle()
	requireCode(t, device.CodeInvalidState, err)
	var graph uintptr
	p.sim.must("cuStreamEndCapture", p.handle, dl.Pointer(&graph))
	p.sim.must("cuGraphDestroy", graph)
	p.close()
	require.NoError(t, o.Close())
	p.sim.clean()
}
