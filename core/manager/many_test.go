package manager

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device/devicetest"
)

// comingManagers returns the bytes that are allocated to create and close that many
// managers, each with a close hook.
func comingManagers(t *testing.T, managers int) (bytes uint64) {
	t.Helper()
	r := cleanRig(t, devicetest.Config{TotalBytes: 1 << 30})
	made := make([]*Manager, managers)
	heard := 0
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for i := range made {
		var err error
		made[i], err = r.factory.CreateMemoryManager(r.engine, DefaultConfig())
		require.NoError(t, err)
		_, err = made[i].OnClose(func() { heard++ })
		require.NoError(t, err)
		forget, err := made[0].OnClose(func() { t.Error("it was taken back") })
		require.NoError(t, err)
		forget()
	}
	for i := range made {
		require.NoError(t, made[(i*7919)%managers].Close(false))
	}
	runtime.ReadMemStats(&after)
	require.Equal(t, managers, heard)
	return after.TotalAlloc - before.TotalAlloc
}

// TestAddingAndRemovingManagersCostsLinearWork holds that a manager more costs the same however many
// there are.
func TestAddingAndRemovingManagersCostsLinearWork(t *testing.T) {
	const few = 300
	bytes := comingManagers(t, few)
	require.Less(t, comingManagers(t, 2*few), 3*bytes)
}

// TestManagersAreListedInTheirOrder tests that the remaining managers keep their order.
func TestManagersAreListedInTheirOrder(t *testing.T) {
	r := cleanRig(t, devicetest.Config{TotalBytes: 1 << 30})
	var left []*Manager
	for i := range 200 {
		m, err := r.factory.CreateMemoryManager(r.engine, DefaultConfig())
		require.NoError(t, err)
		left = append(left, m)
		if i%3 != 0 {
			at := (i * 31) % len(left)
			require.NoError(t, left[at].Close(false))
			left = append(left[:at], left[at+1:]...)
		}
		require.Equal(t, len(left), len(r.factory.deviceOf(r.engine).listManagers()))
	}
	for i, m := range r.factory.deviceOf(r.engine).listManagers() {
		require.Same(t, left[i], m)
	}
}
