package fallback

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
)

// The statistics are read while the test holds every lock of a manager, its pool and its
// tracker.
func TestStatisticsTakeNoLock(t *testing.T) {
	free, err := NewGenericMemoryPool[device.Addr](DefaultMemoryConfig().WithTracking(true), nil)
	require.NoError(t, err)
	id, err := free.RecordAllocation(4096, Use{})
	require.NoError(t, err)
	require.NotZero(t, id)
	p := &DevicePool{free: free}
	m := &Manager{gpu: p, tracker: free.Tracker()}
	m.active.Store(1)

	free.mu.Lock()
	free.tracker.mu.Lock()
	p.growth.Lock()
	p.mu.Lock()
	p.ending.Lock()
	m.returning.Lock()
	m.ending.Lock()
	m.mu.Lock()
	read := make(chan Stats, 1)
	go func() {
		free.Stats()
		p.Stats()
		read <- m.FallbackStats()
	}()
	// The timeout matters only for a failure: a reader that needs a lock would wait for
	// ever.
	select {
	case stats := <-read:
		require.EqualValues(t, 4096, stats.InUseBytes)
		require.EqualValues(t, 1, stats.ActiveBuffers)
	case <-time.After(time.Minute):
		t.Fatal("reading the statistics waits for a lock")
	}
}
