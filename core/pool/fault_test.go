package pool

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/core/device/devicetest"
	"ferrum_mem/core/engine"
)

// script is one fixed program with everything that calls the driver. Each step may fail;
// the script continues with what it has.
type script struct {
	*bench
	pools  []*Pool
	stream *devicetest.Stream
	live   []shadowBlock
	failed int
}

func newScript(t require.TestingT) *script {
	s := &script{bench: newBench(devicetest.Config{TotalBytes: 5 * mib}, engine.Options{})}
	s.stream = newStream(t, s.bench)
	s.stream.Hold()
	for _, name := range []string{"a", "b"} {
		s.pools = append(s.pools, s.pool(t, func(c *Config) { c.Name = name }))
	}
	return s
}

func (s *script) alloc(t require.TestingT, pool int, size uint64) {
	p := s.pools[pool]
	before := p.Statistics()
	got, err := p.Alloc(Request{SizeBytes: size})
	if err != nil {
		s.fails(err)
		require.Equal(t, before.Active.Current, p.Statistics().Active.Current)
		require.Equal(t, before.LiveBlocks.Current, p.Statistics().LiveBlocks.Current)
		return
	}
	s.live = append(s.live, shadowBlock{Block: got, pool: p})
}

func (s *script) fails(err error) {
	if err != nil {
		s.failed++
	}
}

// free frees the oldest live block, on the held stream if queued.
func (s *script) free(t require.TestingT, queued bool) {
	if len(s.live) == 0 {
		return
	}
	block := s.live[0]
	var stream device.Stream
	if queued {
		stream = s.stream
	}
	if err := block.pool.Free(block.Addr, stream); err != nil {
		s.fails(err)
		got, live := block.pool.Lookup(block.Addr)
		require.True(t, live, "a free that fails leaves the block live")
		require.Equal(t, block.Block, got)
		return
	}
	s.live = s.live[1:]
}

func (s *script) run(t require.TestingT, after func()) {
	steps := []func(){
		func() { s.alloc(t, 0, 100*kib) },
		func() { s.alloc(t, 0, 900*kib) },
		func() { s.alloc(t, 0, 300*kib) },
		func() { s.free(t, false) },
		func() { s.fails(s.stream.HostFunction(func() {})) },
		func() { s.free(t, true) },
		func() { s.alloc(t, 1, 2*mib) },
		func() { s.stream.Step(100) },
		func() { s.alloc(t, 1, 2*mib) },
		func() { s.free(t, false) },
		func() { s.alloc(t, 0, 1*mib) },
		func() { _, err := s.pools[0].Trim(0); s.fails(err) },
		func() { s.fails(s.engine.SetLimit(2 * mib)) },
		func() { s.free(t, false) },
		func() { s.alloc(t, 1, 1*mib) },
		func() { s.fails(s.engine.SetLimit(0)) },
		func() { _, err := s.engine.MemoryInfo(); s.fails(err) },
		func() { s.free(t, false) },
		func() { s.free(t, false) },
		func() { s.fails(s.pools[1].SetLimit(mib)) },
		func() { _, err := s.engine.MeasureBandwidth(); s.fails(err) },
		func() {
			p, err := New(s.engine, Config{Name: "c", InitialSizeBytes: mib, PreAlloc: true,
				ReleaseThresholdBytes: NeverRelease})
			s.fails(err)
			if err == nil {
				s.pools = append(s.pools, p)
			}
		},
	}
	for _, step := range steps {
		step()
		after()
	}
}

// For every n the n-th driver call of the script fails: the counters and the memory are
// exact after every step, and the next step works.
func TestEveryDriverCallFailsOnce(t *testing.T) {
	count := newScript(t)
	before := count.dev.Calls(devicetest.Any)
	count.run(t, func() {})
	require.Zero(t, count.failed, "without a fault every step works")
	calls := count.dev.Calls(devicetest.Any) - before
	require.Greater(t, calls, 30)

	seen := 0
	step := devicetest.Step()
	for n := 1; n <= calls; n += step {
		t.Run(fmt.Sprint("call ", n), func(t *testing.T) {
			s := newScript(t)
			s.dev.FailNth(devicetest.Any, n, nil)
			s.run(t, func() { s.audit(t) })
			require.Zero(t, s.dev.ClearFaults(), "the fault was met")
			if s.failed > 0 {
				seen++
			}
			s.alloc(t, 0, 100*kib)
			require.NotEmpty(t, s.live, "the next operation works")
			s.stream.Release()
			require.NoError(t, s.stream.Close())
			s.closeAll(t, s.pools...)
		})
	}
	require.Greater(t, seen, calls/step/3, "faults are reported, not swallowed")
}

// audit is check for a device that may hold scratch memory whose release failed.
func (s *script) audit(t require.TestingT) {
	var live uint64
	for _, p := range s.pools {
		require.NoError(t, p.audit())
		live += p.Statistics().LiveBlocks.Current
	}
	require.EqualValues(t, len(s.live), live)
	require.NoError(t, s.engine.Statistics().Check())
}

func TestCloseThatFailsCanBeRepeated(t *testing.T) {
	for _, call := range []devicetest.Call{giveBackCall(), devicetest.DeviceSynchronize, devicetest.EventSynchronize} {
		b := newBench(devicetest.Config{}, engine.Options{})
		p := b.pool(t, nil)
		freed := mustAlloc(t, p, 1000)
		mustAlloc(t, p, 2*mib)
		require.NoError(t, b.dev.Default().HostFunction(func() {}))
		b.dev.Default().Hold()
		require.NoError(t, b.dev.Default().HostFunction(func() {}))
		require.NoError(t, p.Free(freed.Addr, nil))
		if call != devicetest.EventSynchronize {
			b.dev.Default().Release()
		}
		b.dev.FailNth(call, 1, nil)
		require.ErrorIs(t, p.Close(true), device.CodeDevice, "%s", call)
		b.dev.Default().Release()
		b.check(t, p)
		mustAlloc(t, p, 100)
		b.check(t, p)
		b.closeAll(t, p)
	}
}

func TestTrimKeepsMemoryThatTheDeviceRejects(t *testing.T) {
	onSegments(t, "each goes with a call of its own")
	b := newBench(devicetest.Config{}, engine.Options{})
	p := b.pool(t, nil)
	blocks := []Block{mustAlloc(t, p, mib), mustAlloc(t, p, mib), mustAlloc(t, p, mib)}
	for _, block := range blocks {
		require.NoError(t, p.Free(block.Addr, nil))
	}
	b.dev.FailNth(devicetest.Free, 2, nil)
	released, err := p.Trim(0)
	require.ErrorIs(t, err, device.CodeDevice)
	require.Equal(t, 2*mib, released)
	b.check(t, p)
	released, err = p.Trim(0)
	require.NoError(t, err)
	require.Equal(t, mib, released)
	quiet(t, b, p)
}

func TestEventThatCannotBeClosedIsClosedLater(t *testing.T) {
	b := newBench(devicetest.Config{}, engine.Options{})
	p := b.pool(t, nil)
	busy(t, b.dev.Default())
	require.NoError(t, p.Free(mustAlloc(t, p, 1000).Addr, nil))
	b.dev.FailNth(devicetest.EventClose, 1, nil)
	b.dev.Default().Release()
	p.CompleteFrees()
	require.Equal(t, 1, b.dev.OpenEvents())
	require.Zero(t, p.Statistics().Active.Current, "the block itself is free")
	p.CompleteFrees()
	require.Zero(t, b.dev.OpenEvents())
	quiet(t, b, p)
}
