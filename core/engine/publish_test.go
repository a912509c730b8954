package engine

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/mirror"
	"ferrum_mem/core/track"
)

// publishingPool is a pool whose lock can publish its counters.
type publishingPool struct {
	*counterPool
	lock  mirror.Lock
	place *mirror.Pool
}

func (s *publishingPool) PublishAt(place *mirror.Pool) {
	s.lock.Lock()
	defer s.lock.Unlock()
	s.place = place
	if place == nil {
		s.lock.SetPlace(nil)
	} else {
		s.lock.SetPlace(&place.Version)
	}
}

func (s *publishingPool) Publish() {
	s.lock.LockToRead()
	defer s.lock.Unlock()
	if s.lock.NeedsPublish() {
		s.place.Counters = mirror.PoolCounters{LiveBlocks: 1}
		s.lock.Publish()
	}
}

func isPublished(place *mirror.Device) bool { return place.Version.Load()%2 == 1 }

func TestADeviceIsPublishedUntilItChanges(t *testing.T) {
	dev, e := open(100 * mib)
	place := &mirror.Device{}
	e.Publish()
	e.PublishAt(place, 5)
	require.False(t, isPublished(place))
	e.Publish()
	require.True(t, isPublished(place))
	require.EqualValues(t, 1, place.Counters.Partial, "the device was never asked")
	dev.SetOthersBytes(10 * mib)
	info, err := e.MemoryInfo()
	require.NoError(t, err)
	require.False(t, isPublished(place), "there is a new reading")
	e.Publish()
	require.Equal(t, mirror.DeviceCounters{
		Handle: 5, TotalBytes: 100 * mib, AvailableBytes: info.FreeBytes, TakenAt: uint64(e.last.Load().at),
		DeviceTotalBytes: 100 * mib, DeviceFreeBytes: info.FreeBytes,
	}, place.Counters)

	var segment Segment
	changes := map[string]struct {
		change    func()
		available uint64
	}{
		"1 a segment": {func() {
			segment, err = e.Reserve(Want{MinBytes: 4 * mib, PreferredBytes: 4 * mib})
			require.NoError(t, err)
		}, 86 * mib},
		"2 a limit":    {func() { require.NoError(t, e.SetLimit(24*mib)) }, 20 * mib},
		"3 no limit":   {func() { require.NoError(t, e.SetLimit(0)) }, 86 * mib},
		"4 given back": {func() { require.NoError(t, e.Release(segment)) }, 90 * mib},
	}
	for _, name := range []string{"1 a segment", "2 a limit", "3 no limit", "4 given back"} {
		changes[name].change()
		require.False(t, isPublished(place), name)
		e.Publish()
		require.True(t, isPublished(place), name)
		require.Equal(t, changes[name].available, place.Counters.AvailableBytes, name)
	}
	_, err = e.RecentMemoryInfo(math.MaxInt64)
	require.NoError(t, err)
	e.Statistics()
	e.Tags()
	e.Limit()
	require.True(t, isPublished(place), "a query does not invalidate the published counters")
	gbps, err := e.MeasureBandwidth()
	require.NoError(t, err)
	e.Publish()
	require.Equal(t, mirror.BandwidthKnown|uint64(math.Float32bits(float32(gbps))), place.Counters.Bandwidth)
	require.NoError(t, e.Close())
	e.Publish()
	require.False(t, isPublished(place), "a closed device")
}

func TestPoolsShareThePlacesWhereCountersArePublished(t *testing.T) {
	_, e := open(100 * mib)
	place := &mirror.Device{}
	e.PublishAt(place, 5)
	_, err := e.MemoryInfo()
	require.NoError(t, err)
	var pools []*publishingPool
	for range mirror.PoolCount {
		p := &publishingPool{counterPool: &counterPool{name: "published", counters: track.NewCounters(true, e.Totals())}}
		require.NoError(t, e.Register(p))
		pools = append(pools, p)
	}
	e.Publish()
	require.EqualValues(t, 1<<mirror.PoolCount-1, place.Counters.Pools)
	require.Zero(t, place.Counters.Partial)
	for i := range place.Pool {
		require.EqualValues(t, 1, place.Pool[i].Version.Load()%2)
	}
	// All places are in use, so the counters of one more pool are not published and Partial
	// is 1.
	more := &publishingPool{counterPool: &counterPool{name: "more", counters: track.NewCounters(true, e.Totals())}}
	require.NoError(t, e.Register(more))
	e.Publish()
	require.EqualValues(t, 1, place.Counters.Partial)
	e.Unregister(more)
	e.Publish()
	require.Zero(t, place.Counters.Partial)
	e.Unregister(pools[3])
	require.Zero(t, place.Pool[3].Version.Load()%2)
	e.Publish()
	require.EqualValues(t, uint64(1<<mirror.PoolCount-1)&^(1<<3), place.Counters.Pools)
	require.Zero(t, place.Pool[3].Version.Load()%2)
	// A new pool gets the place that the removed pool left.
	require.NoError(t, e.Register(more))
	e.Publish()
	require.EqualValues(t, 1, place.Pool[3].Version.Load()%2)
	require.EqualValues(t, 1<<mirror.PoolCount-1, place.Counters.Pools)
	plain := newCounterPool(t, e, "not published")
	e.Publish()
	require.EqualValues(t, 1, place.Counters.Partial)
	e.Unregister(plain)
	e.PublishAt(nil, 0)
	require.False(t, isPublished(place))
	e.Publish()
	require.False(t, isPublished(place))
}
