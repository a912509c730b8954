package pool

import (
	"testing"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/core/device/devicetest"
	"ferrum_mem/core/engine"
)

// busy queues one piece of work on a stream and holds it.
func busy(t require.TestingT, s *devicetest.Stream) {
	s.Hold()
	require.NoError(t, s.HostFunction(func() {}))
}

func newStream(t require.TestingT, b *bench) *devicetest.Stream {
	s, err := b.dev.NewStream()
	require.NoError(t, err)
	return s.(*devicetest.Stream)
}

func TestFreeOnAnIdleStreamIsReusedAtOnce(t *testing.T) {
	b := newBench(devicetest.Config{}, engine.Options{})
	p := b.pool(t, nil)
	block := mustAlloc(t, p, 1000)
	require.NoError(t, p.Free(block.Addr, nil))
	require.Zero(t, b.dev.Calls(devicetest.RecordEvent))
	require.Equal(t, block.Addr, mustAlloc(t, p, 1000).Addr)
	quiet(t, b, p)
}

func TestBlockInFlightIsNotAllocated(t *testing.T) {
	b := newBench(devicetest.Config{}, engine.Options{})
	p := b.pool(t, nil)
	s := newStream(t, b)
	busy(t, s)
	block := mustAlloc(t, p, 1000)
	require.NoError(t, p.Free(block.Addr, s))
	stats := p.Statistics()
	require.Zero(t, stats.Allocated.Current+stats.LiveBlocks.Current)
	require.EqualValues(t, 1024, stats.Active.Current)
	require.NotEqual(t, block.Addr, mustAlloc(t, p, 1000).Addr)
	b.check(t, p)

	// The work has completed, but not the event behind it.
	require.Equal(t, 1, s.Step(1))
	require.NotEqual(t, block.Addr, mustAlloc(t, p, 1000).Addr)
	require.Equal(t, 1, s.Step(1))
	require.Equal(t, block.Addr, mustAlloc(t, p, 1000).Addr)
	require.Zero(t, b.dev.OpenEvents())
	require.NoError(t, s.Close())
	quiet(t, b, p)
}

func TestFreeWaitsForSeveralEvents(t *testing.T) {
	b := newBench(devicetest.Config{}, engine.Options{})
	p := b.pool(t, nil)
	one, two := newStream(t, b), newStream(t, b)
	busy(t, one)
	busy(t, two)
	block := mustAlloc(t, p, 1000)
	first, err := one.RecordEvent()
	require.NoError(t, err)
	second, err := two.RecordEvent()
	require.NoError(t, err)

	require.ErrorIs(t, p.FreeAfter(block.Addr, []device.Event{first, nil}), device.CodeInvalidArgument)
	require.ErrorIs(t, p.FreeAfter(block.Addr+256, []device.Event{first, second}), device.CodeInvalidAddress)
	require.Equal(t, 2, b.dev.OpenEvents(), "a call that fails leaves the events to the caller")
	require.NoError(t, p.FreeAfter(block.Addr, []device.Event{first, second}))
	one.Release()
	p.CompleteFrees()
	require.EqualValues(t, 1024, p.Statistics().Active.Current)
	two.Release()
	p.CompleteFrees()
	require.Zero(t, p.Statistics().Active.Current)
	require.Zero(t, b.dev.OpenEvents())

	block = mustAlloc(t, p, 1000)
	require.NoError(t, p.FreeAfter(block.Addr, nil))
	require.Zero(t, p.Statistics().Active.Current)
	require.NoError(t, one.Close())
	require.NoError(t, two.Close())
	quiet(t, b, p)
}

// A stream that does not progress must not delay the frees of other streams.
func TestBlockedStreamDoesNotDelayOtherStreams(t *testing.T) {
	b := newBench(devicetest.Config{}, engine.Options{})
	p := b.pool(t, nil)
	var streams []*devicetest.Stream
	for range 20 {
		s := newStream(t, b)
		busy(t, s)
		streams = append(streams, s)
		for range 3 {
			require.NoError(t, p.Free(mustAlloc(t, p, 1000).Addr, s))
		}
	}
	for _, s := range streams[1:] {
		s.Release()
	}
	// Each pair queries a bounded number of events, and all events after some pairs.
	for range 100 {
		require.NoError(t, p.Free(mustAlloc(t, p, 256).Addr, nil))
	}
	require.EqualValues(t, 3*1024, p.Statistics().Active.Current)
	b.check(t, p)
	for _, s := range streams {
		require.NoError(t, s.Close())
	}
	quiet(t, b, p)
}

func TestCloseWaitsForFreedBlocks(t *testing.T) {
	b := newBench(devicetest.Config{}, engine.Options{})
	p := b.pool(t, nil)
	s := newStream(t, b)
	busy(t, s)
	require.NoError(t, p.Free(mustAlloc(t, p, 1000).Addr, s))
	closed := device.Go("close", func() {
		require.NoError(t, p.Close(false))
	})
	for b.dev.Calls(devicetest.EventSynchronize) == 0 {
		select {
		case <-closed:
			t.Fatal("closed before the work was done")
		default:
		}
	}
	require.Equal(t, kind(mib, testPageBytes), b.dev.HeldBytes())
	s.Release()
	<-closed
	require.Zero(t, b.dev.HeldBytes())
	require.NoError(t, s.Close())
	b.closeAll(t)
}

// An allocation that needs a block in flight waits for it instead of failing.
func TestAllocationWaitsForWorkInFlight(t *testing.T) {
	b := newBench(devicetest.Config{TotalBytes: mib}, engine.Options{})
	p := b.pool(t, nil)
	s := newStream(t, b)
	busy(t, s)
	block := mustAlloc(t, p, mib)
	require.NoError(t, p.Free(block.Addr, s))
	var got Block
	done := device.Go("alloc", func() { got = mustAlloc(t, p, mib) })
	for b.dev.Calls(devicetest.EventSynchronize) == 0 {
		select {
		case <-done:
			t.Fatal("handed out before the work was done")
		default:
		}
	}
	s.Release()
	<-done
	require.Equal(t, mib, got.SizeBytes)
	require.NoError(t, s.Close())
	quiet(t, b, p)
}
