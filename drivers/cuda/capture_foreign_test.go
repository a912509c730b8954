package cuda

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/internal/dl"
)

// The states of a capture.
const (
	captureStands = 1
	captureSpoilt = 2
)

// captureStatus queries whether the program's stream captures.
func (p *program) captureStatus() (status int32) {
	p.sim.must("cuStreamIsCapturing", p.handle, dl.Pointer(&status))
	return status
}

// ownEvent returns an event that the program has recorded on its stream.
func (p *program) ownEvent() (event uintptr) {
	p.sim.must("cuEventCreate", dl.Pointer(&event), eventDisableTiming)
	p.sim.must("cuEventRecord", event, p.handle)
	return event
}

// rejoin makes the program's stream wait for s. The capture could not end without that.
func (p *program) rejoin(s device.Stream) {
	back, err := s.RecordEvent()
	require.NoError(p.t, err)
	require.NoError(p.t, p.stream.WaitEvent(back))
	require.NoError(p.t, back.Close())
}

// The library adopts an event that the program recorded in a capture, waits for it and
// closes it, all without a query: a query would invalidate the capture.
func TestEventOfACaptureIsAdoptedWithoutQueries(t *testing.T) {
	for _, mode := range []int{captureGlobal, captureThreadLocal, captureRelaxed} {
		o := open(t, 0)
		p := newProgram(t, o)
		own, err := o.NewStream()
		require.NoError(t, err)
		p.beginCapture(mode)
		event := p.ownEvent()
		e, err := o.AdoptEvent(uint64(event))
		require.NoError(t, err)
		require.EqualValues(t, captureStands, p.captureStatus())
		// The library knows only that a stream captures. The event may belong to that
		// capture, so the library rejects the query.
		_, err = e.Done()
		require.Contains(t, requireCode(t, device.CodeInvalidState, err).Message, "capturing")
		requireCode(t, device.CodeInvalidState, e.Synchronize(0))
		requireCode(t, device.CodeInvalidState, e.Synchronize(device.Forever))
		require.EqualValues(t, captureStands, p.captureStatus())

		// Its own stream joins the capture through the event, so the library is equally
		// careful with that stream.
		require.NoError(t, own.WaitEvent(e))
		now, err := device.CaptureOf(own)
		require.NoError(t, err)
		require.Equal(t, device.CaptureActive, now.State)
		_, err = own.Idle()
		requireCode(t, device.CodeInvalidState, err)
		requireCode(t, device.CodeInvalidState, own.Synchronize(device.Forever))
		requireCode(t, device.CodeInvalidState, own.Synchronize(time.Hour))
		requireCode(t, device.CodeInvalidState, own.Close())
		_, err = e.Done()
		requireCode(t, device.CodeInvalidState, err)
		require.EqualValues(t, captureStands, p.captureStatus())
		// No work was queued on the library's stream. The capture can therefore end
		// although this stream does not rejoin the program's stream.
		p.sim.must("cuGraphExecDestroy", p.endCapture())
		require.NoError(t, own.Synchronize(device.Forever))

		// After the capture the library queries the event again. The event is still an edge
		// of the graph, so the query fails, but it does no harm.
		_, err = e.Done()
		requireCode(t, device.CodeInvalidState, err)
		p.sim.call("simcuda_clear_violations")
		p.sim.must("cuEventRecord", event, p.handle)
		require.NoError(t, e.Synchronize(device.Forever))
		done, err := e.Done()
		require.NoError(t, err)
		require.True(t, done)
		require.NoError(t, e.Close())
		p.sim.must("cuEventDestroy_v2", event)
		require.NoError(t, own.Close())
		p.close()
		require.NoError(t, o.Close())
		p.sim.clean()
	}
}

// The default stream of a device can join a capture like any other stream. Then the device
// can neither be closed nor queried through that stream.
func TestDefaultStreamJoinsACapture(t *testing.T) {
	o, other := open(t, 0), open(t, 1)
	p := newProgram(t, o)
	p.beginCapture(captureGlobal)
	event := p.ownEvent()
	e, err := o.AdoptEvent(uint64(event))
	require.NoError(t, err)
	require.NoError(t, o.DefaultStream().WaitEvent(e))
	// The check for a lost device does not query a stream that may capture.
	require.NoError(t, o.checkAlive("test"))
	require.NoError(t, other.Synchronize(device.Forever))
	requireCode(t, device.CodeInvalidState, o.DefaultStream().Synchronize(device.Forever))
	require.EqualValues(t, captureStands, p.captureStatus())
	require.NoError(t, e.Close())
	p.rejoin(o.DefaultStream())
	p.sim.must("cuGraphExecDestroy", p.endCapture())
	p.sim.must("cuEventDestroy_v2", event)

	p.beginCapture(captureGlobal)
	edge, err := p.stream.RecordEvent()
	require.NoError(t, err)
	require.NoError(t, other.DefaultStream().WaitEvent(edge))
	require.Contains(t, requireCode(t, device.CodeInvalidState, other.Close()).Message, "capturing")
	require.EqualValues(t, captureStands, p.captureStatus())
	p.rejoin(other.DefaultStream())
	p.sim.must("cuGraphExecDestroy", p.endCapture())
	require.NoError(t, edge.Close())
	require.NoError(t, other.Close())
	p.close()
	require.NoError(t, o.Close())
	p.sim.clean()
}

// While one stream captures, the call waits for all other streams of the device. The error
// names the stream that it did not wait for.
func TestDeviceWaitsForStreamsThatDoNotCapture(t *testing.T) {
	o := open(t, 0)
	p := newProgram(t, o)
	own, err := o.NewStream()
	require.NoError(t, err)
	for _, timeout := range []time.Duration{device.Forever, time.Hour} {
		p.beginCapture(captureGlobal)
		for _, s := range []device.Stream{own, o.DefaultStream()} {
			release, ran := make(chan struct{}), false
			require.NoError(t, s.HostFunction(func() { <-release; ran = true }))
			requireCode(t, device.CodeTimeout, o.Synchronize(0))
			requireCode(t, device.CodeTimeout, o.Synchronize(time.Millisecond))
			close(release)
			message := requireCode(t, device.CodeInvalidState, o.Synchronize(timeout)).Message
			require.Contains(t, message, "1 of 3 streams")
			require.True(t, ran, "the call waited for the work")
		}
		require.EqualValues(t, captureStands, p.captureStatus())
		p.sim.must("cuGraphExecDestroy", p.endCapture())
		require.NoError(t, o.Synchronize(timeout))
	}
	require.NoError(t, own.Close())
	p.close()
	require.NoError(t, o.Close())
	p.sim.clean()
}

// Measuring the time between events is also a query. A graph cannot contain an event for
// another process.
func TestCaptureRejectsTimingAndSharedEvents(t *testing.T) {
	o := open(t, 0)
	p := newProgram(t, o)
	before, err := p.stream.(device.TimedStream).RecordTimedEvent()
	require.NoError(t, err)
	p.beginCapture(captureGlobal)
	edge, err := p.stream.(device.TimedStream).RecordTimedEvent()
	require.NoError(t, err)
	_, err = device.Elapsed(before, edge)
	require.Contains(t, requireCode(t, device.CodeInvalidState, err).Message, "edge of the graph")
	_, err = device.Elapsed(edge, before)
	requireCode(t, device.CodeInvalidState, err)
	_, _, err = o.ShareEvent(p.stream)
	require.Contains(t, requireCode(t, device.CodeInvalidState, err).Message, "capturing")
	require.EqualValues(t, captureStands, p.captureStatus())
	p.sim.must("cuGraphExecDestroy", p.endCapture())
	require.NoError(t, before.Close())
	require.NoError(t, edge.Close())
	p.close()
	require.NoError(t, o.Close())
	p.sim.clean()
}
