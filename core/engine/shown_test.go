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

func (s *publishingPool) ShowAt(place *mirror.Pool) {
	s.lock.Lock()
	defer s.lock.Unlock()
	s.place = place
	if place == nil {
		s.lock.Place(nil)
	} else {
		s.lock.Place(&place.Version)
	}
}

func (s *publishingPool) Show() {
	s.lock.Peek()
	defer s.lock.Unlock()
	if s.lock.Wanted() {
		s.place.Counters = mirror.PoolCounters{LiveBlocks: 1}
		s.lock.Show()
	}
}

func isShown(place *mirror.Device) bool { return place.Version.Load()%2 == 1 }

func TestADeviceIsShownUntilItChanges(t *testing.T) {
	dev, e := open(100 * mib)
	place := &mirror.Device{}
	e.Show()
	e.ShowAt(place, 5)
	require.False(t, isShown(place))
	e.Show()
	require.True(t, isShown(place))
	require.EqualValues(t, 1, place.Counters.Partial, "the device was never asked")
	dev.SetOthersBytes(10 * mib)
	info, err := e.MemoryInfo()
	require.NoError(t, err)
	require.False(t, isShown(place), "there is a new reading")
	e.Show()
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
		require.False(t, isShown(place), name)
		e.Show()
		require.True(t, isShown(place), name)
		require.Equal(t, changes[name].available, place.Counters.AvailableBytes, name)
	}
	_, err = e.RecentMemoryInfo(math.MaxInt64)
	require.NoError(t, err)
	e.Statistics()
	e.Tags()
	e.Limit()
	require.True(t, isShown(place), "it was only looked at")
	gbps, err := e.MeasureBandwidth()
	require.NoError(t, err)
	e.Show()
	require.Equal(t, mirror.BandwidthKnown|uint64(math.Float32bits(float32(gbps))), place.Counters.Bandwidth)
	require.NoError(t, e.Close())
	e.Show()
	require.False(t, isShown(place), "a closed device")
}

func TestPoolsShareThePlacesWhereCountersAreShown(t *testing.T) {
	_, e := open(100 * mib)
	place := &mirror.Device{}
	e.ShowAt(place, 5)
	_, err := e.MemoryInfo()
	require.NoError(t, err)
	var pools []*publishingPool
	for range mirror.PoolCount {
		p := &publishingPool{counterPool: &counterPool{name: "shown", counters: track.NewCounters(true, e.Totals())}}
		require.NoError(t, e.Register(p))
		pools = append(pools, p)
	}
	e.Show()
	require.EqualValues(t, 1<<mirror.PoolCount-1, place.Counters.Pools)
	require.Zero(t, place.Counters.Partial)
	for i := range place.Pool {
		require.EqualValues(t, 1, place.Pool[i].Version.Load()%2)
	}
	// All places are in use, so the counters of one more pool are not published and Partial
	// is 1.
	more := &publishingPool{counterPool: &counterPool{name: "more", counters: track.NewCounters(true, e.Totals())}}
	require.NoError(t, e.Register(more))
	e.Show()
	require.EqualValues(t, 1, place.Counters.Partial)
	e.Unregister(more)
	e.Show()
	require.Zero(t, place.Counters.Partial)
	e.Unregister(pools[3])
	require.Zero(t, place.Pool[3].Version.Load()%2)
	e.Show()
	require.EqualValues(t, uint64(1<<mirror.PoolCount-1)&^(1<<3), place.Counters.Pools)
	require.Zero(t, place.Pool[3].Version.Load()%2)
	// A new pool gets the place that the removed pool left.
	require.NoError(t, e.Register(more))
	e.Show()
	require.EqualValues(t, 1, place.Pool[3].Version.Load()%2)
	require.EqualValues(t, 1<<mirror.PoolCount-1, place.Counters.Pools)
	plain := newCounterPool(t, e, "not shown")
	e.Show()
	require.EqualValues(t, 1, place.Counters.Partial)
	e.Unregister(plain)
	e.ShowAt(nil, 0)
	require.False(t, isShown(place))
	e.Show()
	require.False(t, isShown(place))
}
