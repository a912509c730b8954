package streams

import (
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
)

// One thread is reserved while host functions of a stream are queued, however many. If no
// thread is available, the call fails and nothing is queued.
func TestHostFunctionsReserveTheirThread(t *testing.T) {
	var held, reserved atomic.Int64
	refuse := device.Errorf(device.CodeResourceExhausted, "host.host_function", "no thread")
	var full atomic.Bool
	device.OnReserveThread(func(string) (func(), error) {
		if full.Load() {
			return nil, refuse
		}
		held.Add(1)
		reserved.Add(1)
		return func() { held.Add(-1) }, nil
	})
	t.Cleanup(func() { device.OnReserveThread(nil) })
	o := openOne(t)
	s, other := newQueue(t, o), newQueue(t, o)
	g := holdUp(t, s)
	require.EqualValues(t, 1, held.Load(), "the gate is a host function")
	var ran atomic.Int64
	for range 10 {
		require.NoError(t, s.HostFunction(func() { ran.Add(1) }))
	}
	require.EqualValues(t, 1, held.Load(), "one thread for all work of a stream")
	full.Store(true)
	requireCode(t, device.CodeResourceExhausted, other.HostFunction(func() { ran.Add(100) }), o.id.String(), "no thread")
	require.NoError(t, s.HostFunction(func() { ran.Add(1) }), "the thread of the stream exists")
	g.open()
	require.NoError(t, s.Synchronize(device.Forever))
	require.NoError(t, other.Synchronize(device.Forever))
	require.EqualValues(t, 11, ran.Load())
	require.Zero(t, held.Load())
	full.Store(false)
	require.NoError(t, other.HostFunction(func() { ran.Add(1) }))
	require.NoError(t, other.Synchronize(device.Forever))
	require.Zero(t, held.Load())
	require.EqualValues(t, 2, reserved.Load())
}
