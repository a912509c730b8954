package notify

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
)

func TestDeliversInOrderFromManyPosters(t *testing.T) {
	const posters, each = 8, 500
	d := New("test", posters*each)
	defer d.Close()
	got := make([][]int, posters)
	var wait sync.WaitGroup
	for poster := range posters {
		wait.Go(func() {
			for i := range each {
				// One function runs at a time, so the slices need no lock.
				assert.True(t, d.Post(func() { got[poster] = append(got[poster], i) }))
			}
		})
	}
	wait.Wait()
	d.Flush()
	for _, numbers := range got {
		require.Len(t, numbers, each)
		require.IsIncreasing(t, numbers)
	}
	require.Zero(t, d.Dropped())
}

func TestFullQueueDropsAndCounts(t *testing.T) {
	d := New("test", 2)
	started, hold := make(chan struct{}), make(chan struct{})
	require.True(t, d.Post(func() { close(started); <-hold }))
	<-started
	ran := 0
	require.True(t, d.Post(func() { ran++ }))
	require.True(t, d.Post(func() { ran++ }))
	require.False(t, d.Post(func() { ran++ }))
	require.EqualValues(t, 1, d.Dropped())
	close(hold)
	d.Close()
	require.Equal(t, 2, ran, "events that were queued before Close are delivered")
	require.False(t, d.Post(func() { ran++ }))
	require.EqualValues(t, 1, d.Dropped(), "a refused post is not a drop")
}

func TestNoWorkerBeforeTheFirstPost(t *testing.T) {
	d := New("test", 1)
	require.Nil(t, d.worker)
	d.Flush()
	d.Close()
	require.Nil(t, d.worker)
}

func TestStopFromADeliveredFunction(t *testing.T) {
	d := New("test", 4)
	done := make(chan struct{})
	require.True(t, d.Post(func() { d.Stop(); close(done) }))
	<-done
	d.Close()
	require.False(t, d.Post(func() {}))
}

func TestPanicEndsWaits(t *testing.T) {
	caught := make(chan any, 1)
	device.OnWorkerPanic(func(_ string, value any, _ []byte) { caught <- value })
	defer device.OnWorkerPanic(nil)
	d := New("test", 4)
	require.True(t, d.Post(func() { panic("broken") }))
	require.Equal(t, "broken", <-caught)
	d.Flush()
	d.Close()
	require.False(t, d.Post(func() {}))
}
