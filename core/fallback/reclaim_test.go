package fallback_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/core/engine"
	"ferrum_mem/core/fallback"
)

// The memory that a reclaim callback frees serves the request that ran the callback.
// Meanwhile the callback may use the manager, and also the buffer that the request moves.
func TestOnDeviceAReclaimCallbackFreesBuffers(t *testing.T) {
	r := newRig(t, 4*mib)
	defer r.close(t)
	m := r.manager(t, plainConfig().WithTracking(true))
	cached, fallen := make1(t, m, bytesOf(3*mib)), make1(t, m, bytesOf(2*mib))
	require.True(t, fallen.IsCPUFallback())
	content := fill(t, fallen)
	asked := 0
	registration, err := r.gpu.OnReclaim(engine.ReclaimConfig{Deadline: time.Minute}, func(uint64) uint64 {
		if asked++; asked > 1 {
			return 0
		}
		require.NoError(t, fallen.Pin())
		require.NoError(t, fallen.Unpin())
		require.EqualValues(t, 2, m.Stats().ActiveBuffers)
		if err := cached.Free(nil); err != nil {
			return 0
		}
		return 3 * mib
	})
	require.NoError(t, err)
	require.NoError(t, fallen.ToGPU())
	require.Equal(t, content, contents(t, fallen))
	require.Positive(t, asked)
	registration.Remove(false)
	require.NoError(t, fallen.Free(nil))
	require.NoError(t, m.Close(false))
}

// A manager that fails to preallocate leaves nothing allocated, whichever device call
// fails.
func TestOnDeviceEachFailedCallOfMakingAManagerLeavesNothing(t *testing.T) {
	failures := 0
	for n := 0; ; n++ {
		r := newRig(t, 10*mib)
		r.gpuDevice.failAfter(n)
		m, err := fallback.NewManager(r.gpu, r.host, plainConfig().WithMinFreeBytes(mib).WithPreAllocation([]uint64{mib, 2 * mib}))
		failed := r.gpuDevice.hasFailed()
		if err != nil {
			failures++
			require.ErrorIs(t, err, device.CodeDevice, "call %d", n)
		} else {
			require.EqualValues(t, 3*mib, m.Stats().PooledBytes)
			require.NoError(t, m.Close(false))
		}
		r.close(t)
		if !failed {
			require.Positive(t, failures)
			return
		}
	}
}
