package sharetest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
)

// AdoptedStream tests a device with device.StreamAdopter.
type AdoptedStream struct {
	// Open returns a device that no other test uses.
	Open func(t testing.TB) device.Device
	// Theirs creates an external stream, which exists until the test ends.
	Theirs func(t testing.TB, dev device.Device) Owner
	// Wrong has descriptions that the device cannot use.
	Wrong []device.ForeignStream
}

// Owner is the owner of an external stream.
type Owner interface {
	// Stream describes it.
	Stream() device.ForeignStream
	// Queue queues a piece of work of the owner.
	Queue(work func())
}

// Run runs the suite.
func (a AdoptedStream) Run(t *testing.T) {
	for name, test := range map[string]func(*testing.T, device.Device, device.StreamAdopter){
		"order": a.order, "refusals": a.refusals, "ends": a.ends,
	} {
		t.Run(name, func(t *testing.T) {
			dev := a.Open(t)
			adopter, is := dev.(device.StreamAdopter)
			require.True(t, is, "the device has the capability")
			test(t, dev, adopter)
		})
	}
}

// order: work queued here and work of the owner run in the order in which they were
// queued, and events mark both.
func (a AdoptedStream) order(t *testing.T, dev device.Device, adopter device.StreamAdopter) {
	owner := a.Theirs(t, dev)
	at, size := segment(t, dev, 4096)
	fill(t, dev, at, 0, size)
	s, err := adopter.AdoptStream(owner.Stream())
	require.NoError(t, err)
	held, release := make(chan struct{}), make(chan struct{})
	var steps []string
	owner.Queue(func() {
		close(held)
		<-release
		steps = append(steps, "theirs")
	})
	<-held
	require.NoError(t, s.HostFunction(func() { steps = append(steps, "ours") }))
	require.NoError(t, s.Fill(at, one(4), size))
	marked, err := s.RecordEvent()
	require.NoError(t, err)
	other := dev.DefaultStream()
	require.NoError(t, other.WaitEvent(marked))
	require.NoError(t, other.Fill(at, one(5), 1))
	for _, done := range []func() (bool, error){s.Idle, marked.Done, other.Idle} {
		is, err := done()
		require.NoError(t, err)
		require.False(t, is, "it waits for its owner's work")
	}
	requireCode(t, device.CodeTimeout, s.Synchronize(0))
	requireCode(t, device.CodeTimeout, marked.Synchronize(0))
	last := make(chan struct{})
	owner.Queue(func() {
		steps = append(steps, "theirs again")
		close(last)
	})
	close(release)
	<-last
	require.NoError(t, s.Synchronize(device.Forever))
	require.NoError(t, other.Synchronize(device.Forever))
	require.Equal(t, []string{"theirs", "ours", "theirs again"}, steps)
	requireBytes(t, dev, at, 5, 1)
	requireBytes(t, dev, at+1, 4, size-1)
	idle, err := s.Idle()
	require.NoError(t, err)
	require.True(t, idle)
	require.NoError(t, marked.Close())
	require.NoError(t, s.Close())
	require.NoError(t, dev.Free(at, size))
	closed(t, dev)
}

func (a AdoptedStream) refusals(t *testing.T, dev device.Device, adopter device.StreamAdopter) {
	for _, wrong := range append([]device.ForeignStream{{}}, a.Wrong...) {
		_, err := adopter.AdoptStream(wrong)
		require.Contains(t, []device.Code{
			device.CodeInvalidArgument, device.CodeUnsupported, device.CodeNullPointer,
		}, device.CodeOf(err), "%v", err)
	}
	s, err := adopter.AdoptStream(a.Theirs(t, dev).Stream())
	require.NoError(t, err)
	requireCode(t, device.CodeInvalidAddress, s.Fill(4096, one(1), 1))
	requireCode(t, device.CodeNullPointer, s.WaitEvent(nil))
	requireCode(t, device.CodeInvalidArgument, s.Synchronize(-7))
	require.NoError(t, s.Synchronize(device.Forever), "what was refused is not waited for")
	require.NoError(t, s.Close())
	closed(t, dev)
}

// ends: closing the adopted stream does not close the external one, and the work queued
// here has run by then.
func (a AdoptedStream) ends(t *testing.T, dev device.Device, adopter device.StreamAdopter) {
	owner := a.Theirs(t, dev)
	at, size := segment(t, dev, 4096)
	for round := range uint32(3) {
		s, err := adopter.AdoptStream(owner.Stream())
		require.NoError(t, err)
		requireCode(t, device.CodeBusy, dev.Close())
		require.NoError(t, s.Fill(at, one(uint64(round)), size))
		require.NoError(t, s.Close())
		requireBytes(t, dev, at, byte(round), size)
		requireCode(t, device.CodeInvalidState, s.Close())
		requireCode(t, device.CodeInvalidState, s.Fill(at, one(9), size))
		ran := make(chan struct{})
		owner.Queue(func() { close(ran) })
		<-ran
		// Before that, a stream that leaves work returns an event for its end.
		_, err = s.RecordEvent()
		requireCode(t, device.CodeInvalidState, err)
	}
	require.NoError(t, dev.Free(at, size))
	closed(t, dev)
	_, err := adopter.AdoptStream(owner.Stream())
	requireCode(t, device.CodeInvalidState, err)
}
