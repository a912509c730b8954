package engine

import (
	"fmt"
	"runtime"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/pressure"
	"ferrum_mem/core/track"
)

// counted is a pool that counts how often its counters are read.
type counted struct {
	*counterPool
	readings *int
}

func (c counted) Statistics() track.Statistics {
	*c.readings++
	return c.counters.Statistics()
}

// registering registers that many pools and unregisters them. It returns how often counters
// were read, and how many bytes were allocated.
func registering(t *testing.T, pools int) (readings int, bytes uint64) {
	t.Helper()
	_, e := open(mib)
	made := make([]counted, pools)
	for i := range made {
		made[i] = counted{&counterPool{name: fmt.Sprint(i), counters: track.NewCounters(true, e.Totals())}, &readings}
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for _, p := range made {
		require.NoError(t, e.Register(p))
	}
	for i := range made {
		// This order is neither the order of registration nor its reverse.
		p := made[(i*7919)%pools]
		p.counters.Close()
		e.Unregister(p)
	}
	runtime.ReadMemStats(&after)
	require.Empty(t, e.Pools(nil))
	require.NoError(t, e.Close())
	return readings, after.TotalAlloc - before.TotalAlloc
}

// TestAddingAndRemovingPoolsCostsLinearWork tests that the cost to add or remove a pool
// does not depend on the number of pools. The costs are counter reads and allocated bytes.
func TestAddingAndRemovingPoolsCostsLinearWork(t *testing.T) {
	const few = 2000
	readings, bytes := registering(t, few)
	twice, twiceBytes := registering(t, 2*few)
	require.LessOrEqual(t, twice, 2*readings+2)
	require.LessOrEqual(t, readings, 3*few, "each pool is read at its end, and the first pool when the second is created")
	require.Less(t, twiceBytes, 3*bytes)
	require.Less(t, bytes, uint64(few*1024))
}

// TestPoolsAreVisitedInTheirOrder compares the list of pools with a plain slice.
func TestPoolsAreVisitedInTheirOrder(t *testing.T) {
	_, e := open(mib)
	var want []Pool
	for i := range 500 {
		p := newCounterPool(t, e, fmt.Sprint(i))
		want = append(want, p)
		if i%3 != 0 {
			gone := want[(i*31)%len(want)].(*counterPool)
			gone.counters.Close()
			e.Unregister(gone)
			want = append(want[:(i*31)%len(want)], want[(i*31)%len(want)+1:]...)
		}
		require.Equal(t, len(want), len(e.Pools(nil)))
	}
	require.Equal(t, want, e.Pools(nil))
	require.Equal(t, want[1:], e.Pools(want[0]))
}

// TestPoolLeavesWhileOthersAreVisited tests that an iteration continues when pools are
// removed meanwhile.
func TestPoolLeavesWhileOthersAreVisited(t *testing.T) {
	_, e := open(mib)
	var all []*counterPool
	for i := range 100 {
		all = append(all, newCounterPool(t, e, fmt.Sprint(i)))
	}
	visited := 0
	for range e.pools.All() {
		visited++
		last := all[len(all)-1]
		all = all[:len(all)-1]
		last.counters.Close()
		e.Unregister(last)
	}
	require.Equal(t, 50, visited)
}

// TestWatchersReadThePoolsOnce tests that only the first of several watchers reads the
// counters of all pools.
func TestWatchersReadThePoolsOnce(t *testing.T) {
	_, e := open(mib)
	readings := 0
	for i := range 100 {
		p := counted{&counterPool{name: fmt.Sprint(i), counters: track.NewCounters(true, e.Totals())}, &readings}
		require.NoError(t, e.Register(p))
	}
	readings = 0
	for range 50 {
		e.WatchUse(true)
	}
	require.Equal(t, 100, readings)
	for range 50 {
		e.WatchUse(false)
	}
	e.WatchUse(true)
	require.Equal(t, 200, readings, "no watcher existed in between")
	e.WatchUse(false)
}

// hearing registers and removes that many callbacks of each kind. It returns the allocated
// bytes.
func hearing(t *testing.T, callbacks int) uint64 {
	t.Helper()
	_, e := open(mib)
	var made []*Registration
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for i := range callbacks {
		listener, _, err := e.OnPressureBy(pressure.Profile(i%int(pressure.ProfileCount)), func(pressure.Level) {})
		require.NoError(t, err)
		reclaim, err := e.OnReclaim(ReclaimConfig{Priority: int32(i % 5)}, func(uint64) uint64 { return 0 })
		require.NoError(t, err)
		made = append(made, listener, reclaim)
	}
	for i := range made {
		made[(i*7919)%len(made)].Remove(false)
	}
	runtime.ReadMemStats(&after)
	require.NoError(t, e.Close())
	return after.TotalAlloc - before.TotalAlloc
}

// TestAddingAndRemovingCallbacksCostsLinearWork tests that adding or removing a callback
// neither traverses nor copies all callbacks.
func TestAddingAndRemovingCallbacksCostsLinearWork(t *testing.T) {
	const few = 1000
	bytes := hearing(t, few)
	require.Less(t, hearing(t, 2*few), 3*bytes)
	require.Less(t, bytes, uint64(few*4096))
}

// TestReclaimCallbacksAreAskedInTheirOrder tests the order of reclaim callbacks, also after
// some were removed: by priority, and by registration for equal priorities.
func TestReclaimCallbacksAreAskedInTheirOrder(t *testing.T) {
	_, e := open(mib)
	var left []*Registration
	for i := range 200 {
		r, err := e.OnReclaim(ReclaimConfig{Priority: int32((i * 31) % 7)}, func(uint64) uint64 { return 0 })
		require.NoError(t, err)
		if i%3 == 0 {
			r.Remove(false)
			continue
		}
		left = append(left, r)
	}
	want := slices.Clone(left)
	slices.SortStableFunc(want, func(a, b *Registration) int { return int(a.priority) - int(b.priority) })
	require.Equal(t, len(want), len(e.subscribers.listReclaims()))
	for i, r := range e.subscribers.listReclaims() {
		require.Same(t, want[i], r)
	}
	for _, r := range left {
		r.Remove(false)
	}
	require.NoError(t, e.Close())
}
