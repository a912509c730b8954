package host

import (
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/drivers/host/streams"
)

func TestWorkersStartLateAndStop(t *testing.T) {
	before := runtime.NumGoroutine()
	o := openOne(t)
	var queues []*streams.Stream
	for range 8 {
		s := newQueue(t, o)
		e, err := s.RecordEvent()
		require.NoError(t, err)
		require.NoError(t, s.WaitEvent(e))
		require.NoError(t, s.Synchronize(device.Forever))
		queues = append(queues, s)
	}
	// The number is lower if a goroutine of an earlier test was still counted.
	require.LessOrEqual(t, runtime.NumGoroutine(), before, "a stream without work has no worker")
	var ran atomic.Int32
	for _, s := range queues {
		for range 10 {
			require.NoError(t, s.HostFunction(func() { ran.Add(1) }))
		}
	}
	require.NoError(t, o.DefaultStream().HostFunction(func() { ran.Add(1) }))
	for _, s := range queues {
		require.NoError(t, s.Close())
	}
	require.GreaterOrEqual(t, ran.Load(), int32(80), "closing a stream runs its queue dry")
	require.NoError(t, o.Close())
	require.EqualValues(t, 81, ran.Load(), "closing the device runs its default stream dry")
	// A goroutine is still counted for a moment after its end is visible.
	for end := time.Now().Add(10 * time.Second); runtime.NumGoroutine() > before && time.Now().Before(end); {
		runtime.Gosched()
	}
	require.LessOrEqual(t, runtime.NumGoroutine(), before)
}

func TestAClosedDeviceRejectsEveryCall(t *testing.T) {
	o := openOne(t)
	s := newQueue(t, o)
	passed, err := s.RecordEvent()
	require.NoError(t, err)
	requireCode(t, device.CodeInvalidArgument, o.DefaultStream().Close())
	requireCode(t, device.CodeBusy, o.Close(), "0 segments and 1 stream,")
	require.NoError(t, s.Close())
	addr := allocate(t, o, 64<<10)
	requireCode(t, device.CodeBusy, o.Close(), "1 segment and 0 streams")
	require.NoError(t, o.Free(addr, 64<<10))
	require.NoError(t, o.Close())
	require.Equal(t, "cpu:0", o.Info().ID.String())
	for _, queue := range []device.Stream{s, o.DefaultStream()} {
		_, idle := queue.Idle()
		_, record := queue.RecordEvent()
		for _, err := range []error{
			idle, record, queue.Copy(addr, addr, 1), queue.CopyFromHost(addr, 8, 1), queue.CopyToHost(8, addr, 1),
			queue.Fill(addr, device.Pattern{WidthBytes: 1}, 1), queue.HostFunction(func() {}), queue.Synchronize(0),
			queue.WaitEvent(passed),
		} {
			requireCode(t, device.CodeInvalidState, err, "closed")
		}
	}
	requireCode(t, device.CodeInvalidState, s.Close())
	_, allocated := o.Alloc(64 << 10)
	_, created := o.NewStream()
	_, read := o.Memory()
	for _, err := range []error{allocated, created, read, o.Free(addr, 64<<10), o.Synchronize(0), o.Close()} {
		requireCode(t, device.CodeInvalidState, err, "closed", "cpu:0")
	}
}
