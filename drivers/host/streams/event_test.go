package streams

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
)

func record(t testing.TB, s device.Stream) device.Event {
	t.Helper()
	e, err := s.RecordEvent()
	require.NoError(t, err)
	return e
}

func done(t testing.TB, e device.Event) bool {
	t.Helper()
	passed, err := e.Done()
	require.NoError(t, err)
	return passed
}

func TestEventsCompleteInQueueOrder(t *testing.T) {
	o := openOne(t)
	s := newQueue(t, o)
	early := record(t, s)
	require.True(t, done(t, early), "nothing is queued before it")
	g := holdUp(t, s)
	late := record(t, s)
	require.False(t, done(t, late))
	_, err := late.PassedAt()
	requireCode(t, device.CodeInvalidState, err)
	requireCode(t, device.CodeTimeout, late.Synchronize(0))
	requireCode(t, device.CodeTimeout, late.Synchronize(time.Nanosecond), "1ns")
	requireCode(t, device.CodeInvalidArgument, late.Synchronize(-2))
	g.open()
	require.NoError(t, late.Synchronize(device.Forever))
	require.NoError(t, late.Synchronize(0))
	from, err := early.PassedAt()
	require.NoError(t, err)
	to, err := late.PassedAt()
	require.NoError(t, err)
	require.Greater(t, to, from)

	require.NoError(t, early.Close())
	requireCode(t, device.CodeInvalidState, early.Close())
	_, err = early.Done()
	requireCode(t, device.CodeInvalidState, err)
	_, err = early.PassedAt()
	requireCode(t, device.CodeInvalidState, err)
	requireCode(t, device.CodeInvalidState, early.Synchronize(0))
	requireCode(t, device.CodeInvalidState, s.WaitEvent(early))
}

func TestAStreamIsIdleAfterItsLastEvent(t *testing.T) {
	o := openOne(t)
	s := newQueue(t, o)
	for range 5000 {
		g := holdUp(t, s)
		last := record(t, s)
		g.open()
		for !last.(*event).passed.Load() {
		}
		idle, err := s.Idle()
		require.NoError(t, err)
		require.True(t, idle)
	}
}

// TestAWaitBlocksOnlyOneStream covers streams of one device and of two, and an event that
// is closed while a stream waits for it.
func TestAWaitBlocksOnlyOneStream(t *testing.T) {
	devices := openSome(t, 2)
	for _, follower := range devices {
		leader, s, free := newQueue(t, devices[0]), newQueue(t, follower), newQueue(t, follower)
		var order []string
		g := holdUp(t, leader)
		require.NoError(t, leader.HostFunction(func() { order = append(order, "leader") }))
		e := record(t, leader)
		require.NoError(t, s.WaitEvent(e))
		require.NoError(t, s.HostFunction(func() { order = append(order, "follower") }))
		require.NoError(t, e.Close())
		require.NoError(t, free.HostFunction(func() {}))
		require.NoError(t, free.Synchronize(device.Forever))
		requireCode(t, device.CodeTimeout, s.Synchronize(0))
		g.open()
		require.NoError(t, s.Synchronize(device.Forever))
		require.Equal(t, []string{"leader", "follower"}, order)
	}
}

func TestEventsOutliveTheirStream(t *testing.T) {
	o := openOne(t)
	s, other := newQueue(t, o), newQueue(t, o)
	g := holdUp(t, s)
	e := record(t, s)
	require.NoError(t, other.WaitEvent(e))
	closed := device.Go("test", func() { require.NoError(t, s.Close()) })
	g.open()
	<-closed
	require.True(t, done(t, e))
	require.NoError(t, other.Synchronize(device.Forever))
	require.NoError(t, other.WaitEvent(e))
}

func TestWaitingForAnOwnEventQueuesNothing(t *testing.T) {
	o := openOne(t)
	s := newQueue(t, o)
	g := holdUp(t, s)
	e := record(t, s)
	queued := s.submitted.Load()
	require.NoError(t, s.WaitEvent(e))
	require.Equal(t, queued, s.submitted.Load())
	g.open()
	require.NoError(t, s.Synchronize(device.Forever))
}
