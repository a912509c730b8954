package sharetest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
)

// SystemPressure runs the suite of device.SystemPressured on a device, and closes it.
func SystemPressure(t *testing.T, dev device.Device) {
	pressured, is := dev.(device.SystemPressured)
	require.True(t, is, "the device has the capability")
	last := pressured.SystemPressure()
	for range 20 {
		now := pressured.SystemPressure()
		requireStalls(t, last.Machine, now.Machine)
		requireStalls(t, last.Group, now.Group)
		requireReason(t, now.Events.Err, now.Events.Events == device.Events{})
		if last.Events.Err == nil && now.Events.Err == nil {
			before, after := last.Events.Events, now.Events.Events
			for _, c := range [][2]uint64{
				{before.Low, after.Low}, {before.High, after.High}, {before.Max, after.Max}, {before.OOM, after.OOM},
				{before.OOMKill, after.OOMKill},
			} {
				require.LessOrEqual(t, c[0], c[1], "events are counted and never taken back")
			}
		}
		requireReason(t, now.High.Err, now.High.Bytes == 0)
		last = now
	}
	// Any number of threads may read.
	var workers []<-chan struct{}
	for range 4 {
		workers = append(workers, device.Go("pressure", func() {
			for range 20 {
				pressured.SystemPressure()
			}
		}))
	}
	for _, worker := range workers {
		<-worker
	}
	closed(t, dev)
}

func requireStalls(t *testing.T, before, now device.StallReading) {
	t.Helper()
	requireReason(t, now.Err, now.Stalls == device.Stalls{})
	for _, s := range []device.Stall{now.Stalls.Some, now.Stalls.Full} {
		require.LessOrEqual(t, max(s.Avg10, s.Avg60, s.Avg300), uint32(10000), "hundredths of a percent")
	}
	if before.Err == nil && now.Err == nil {
		require.LessOrEqual(t, before.Stalls.Some.TotalMicroseconds, now.Stalls.Some.TotalMicroseconds)
		require.LessOrEqual(t, before.Stalls.Full.TotalMicroseconds, now.Stalls.Full.TotalMicroseconds)
	}
}

// requireReason: a missing part has a reason and no values.
func requireReason(t *testing.T, err error, empty bool) {
	t.Helper()
	if err == nil {
		return
	}
	require.Contains(t, []device.Code{device.CodeUnsupported, device.CodeInvalidFormat}, device.CodeOf(err), "%v", err)
	require.NotEmpty(t, err.Error())
	require.True(t, empty, "what is not there has no numbers")
}
