package pool

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/core/device/devicetest"
	"ferrum_mem/core/engine"
)

// streamScript is one fixed program with streams, batches and caches. Each step may fail;
// the script continues with what it has.
type streamScript struct {
	*bench
	pool     *Pool
	caches   *fakeCache
	one, two *devicetest.Stream
	live     []device.Addr
	failed   int
}

func newStreamScript(t require.TestingT) *streamScript {
	s := &streamScript{bench: newBench(devicetest.Config{TotalBytes: 6 * mib}, engine.Options{})}
	s.pool, s.caches, s.one = cached(t, s.bench, func(c *Config) {
		c.ReleaseThresholdBytes, c.MinHeldBytes = 2*mib, mib
	})
	s.two = newStream(t, s.bench)
	s.one.Hold()
	s.two.Hold()
	return s
}

func (s *streamScript) fails(err error) {
	if err != nil {
		s.failed++
	}
}

func (s *streamScript) alloc(t require.TestingT, size uint64, stream device.Stream) {
	before := s.pool.Statistics()
	block, err := s.pool.Alloc(Request{SizeBytes: size, Stream: stream})
	if err != nil {
		s.fails(err)
		require.Equal(t, before.LiveBlocks.Current, s.pool.Statistics().LiveBlocks.Current)
		return
	}
	s.live = append(s.live, block.Addr)
}

func (s *streamScript) batch(t require.TestingT, count int, stream device.Stream) {
	addrs := make([]device.Addr, count)
	before := s.pool.Statistics().LiveBlocks.Current
	if err := s.pool.AllocBatch(Request{SizeBytes: 40 * kib, Stream: stream}, addrs); err != nil {
		s.fails(err)
		require.Equal(t, make([]device.Addr, count), addrs)
		require.Equal(t, before, s.pool.Statistics().LiveBlocks.Current)
		return
	}
	s.live = append(s.live, addrs...)
}

// cachedAlloc allocates from the caches, or from the pool if they cannot serve it.
func (s *streamScript) cachedAlloc(t require.TestingT, stream uint64) {
	if addr := s.caches.alloc(0, 3000, stream); addr != 0 {
		s.live = append(s.live, addr)
		return
	}
	s.alloc(t, 3000, nil)
}

// release tries to free the first live blocks; after an error all of them are live.
func (s *streamScript) release(t require.TestingT, count int, free func([]device.Addr) error) {
	count = min(count, len(s.live))
	if err := free(s.live[:count]); err != nil {
		s.fails(err)
		for _, addr := range s.live[:count] {
			_, live := s.pool.Lookup(addr)
			require.True(t, live, "a free that fails leaves the blocks live")
		}
		return
	}
	s.live = s.live[count:]
}

func (s *streamScript) freeOne(t require.TestingT, stream device.Stream) {
	s.release(t, 1, func(addrs []device.Addr) error {
		if len(addrs) == 0 {
			return nil
		}
		return s.pool.Free(addrs[0], stream)
	})
}

func (s *streamScript) cachedFree(t require.TestingT, stream uint64) {
	s.release(t, 1, func(addrs []device.Addr) error {
		if len(addrs) == 0 {
			return nil
		}
		return s.caches.free(0, addrs[0], stream)
	})
}

func (s *streamScript) run(t require.TestingT, after func()) {
	record := func(stream device.Stream) {
		if len(s.live) > 0 {
			s.fails(s.pool.RecordStream(s.live[0], stream))
		}
	}
	steps := []func(){
		func() { s.alloc(t, 100*kib, s.one) },
		func() { s.alloc(t, 700*kib, s.two) },
		func() { s.fails(s.one.HostFunction(func() {})) },
		func() { s.fails(s.two.HostFunction(func() {})) },
		func() { record(s.two) },
		func() { s.freeOne(t, s.one) },
		func() { s.batch(t, 20, s.one) },
		func() { s.cachedAlloc(t, 1) },
		func() { s.cachedAlloc(t, 1) },
		func() { s.freeOne(t, s.two) },
		func() { s.alloc(t, 650*kib, s.two) },
		func() {
			s.release(t, 8, func(addrs []device.Addr) error { return s.pool.FreeBatch(addrs, s.one) })
		},
		func() { s.batch(t, 12, s.two) },
		func() { s.two.Step(100) },
		func() {
			for range 12 {
				s.cachedAlloc(t, 1)
			}
		},
		func() {
			s.release(t, 4, func(addrs []device.Addr) error { return s.pool.FreeBatch(addrs, s.two) })
		},
		func() {
			for len(s.live) > 4 {
				before := len(s.live)
				if s.cachedFree(t, 1); len(s.live) == before {
					break
				}
			}
		},
		func() { s.pool.Flush() },
		func() { s.one.Step(3) },
		func() { _, err := s.pool.Trim(0); s.fails(err) },
		func() { s.alloc(t, 2*mib, nil) },
		func() { record(s.one) },
		func() { s.alloc(t, 1*mib, s.one) },
		func() { s.fails(s.pool.SetReleaseThreshold(mib)) },
		func() {
			s.release(t, len(s.live), func([]device.Addr) error { return s.pool.Reset(s.one) })
		},
		func() { s.one.Release(); s.two.Release(); s.pool.CompleteFrees() },
		func() { _, err := s.pool.Trim(0); s.fails(err) },
	}
	for _, step := range steps {
		step()
		after()
	}
}

func (s *streamScript) audit(t require.TestingT) {
	stats := s.pool.Statistics()
	require.NoError(t, stats.Check())
	require.NoError(t, s.pool.audit())
	require.EqualValues(t, len(s.live), stats.LiveBlocks.Current)
	for _, addr := range s.live {
		_, live := s.pool.Lookup(addr)
		require.True(t, live)
	}
	require.Equal(t, s.dev.HeldBytes(), stats.Reserved.Current)
}

// For every n the n-th call of each kind fails: counters and memory are exact after every
// step.
func TestEveryCallOfAStreamProgramFailsOnce(t *testing.T) {
	count := newStreamScript(t)
	kinds := []devicetest.Call{
		devicetest.Alloc, devicetest.Free, devicetest.RecordEvent, devicetest.StreamIdle,
		devicetest.EventDone, devicetest.EventClose, devicetest.EventSynchronize, devicetest.Any,
	}
	before := map[devicetest.Call]int{}
	for _, kind := range kinds {
		before[kind] = count.dev.Calls(kind)
	}
	count.run(t, func() { count.audit(t) })
	require.Zero(t, count.failed, "without a fault every step works")
	for _, kind := range kinds {
		calls := count.dev.Calls(kind) - before[kind]
		seen := 0
		for n := 1; n <= calls; n++ {
			t.Run(fmt.Sprint(kind, " ", n), func(t *testing.T) {
				s := newStreamScript(t)
				s.dev.FailNth(kind, n, nil)
				s.run(t, func() { s.audit(t) })
				s.dev.ClearFaults()
				if s.failed > 0 {
					seen++
				}
				s.alloc(t, 100*kib, nil)
				require.NotEmpty(t, s.live, "the next operation works")
				s.one.Release()
				s.two.Release()
				require.NoError(t, s.one.Close())
				require.NoError(t, s.two.Close())
				s.closeAll(t, s.pool)
			})
		}
		if kind == devicetest.RecordEvent || kind == devicetest.StreamIdle {
			require.Greater(t, seen, calls/2, "%s: faults are reported, not swallowed", kind)
		}
	}
	require.Greater(t, count.dev.Calls(devicetest.RecordEvent), 8)
	require.Greater(t, count.dev.Calls(devicetest.EventDone), 8)
}
