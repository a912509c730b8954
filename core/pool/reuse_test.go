package pool

import (
	"testing"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/core/device/devicetest"
	"ferrum_mem/core/engine"
)

func allocOn(t require.TestingT, p *Pool, size uint64, s device.Stream) Block {
	block, err := p.Alloc(Request{SizeBytes: size, Stream: s})
	require.NoError(t, err)
	return block
}

func TestStreamReusesItsBlocksAtOnce(t *testing.T) {
	b := newBench(devicetest.Config{}, engine.Options{})
	p := b.pool(t, nil)
	s, other := newStream(t, b), newStream(t, b)
	busy(t, s)
	large, small := allocOn(t, p, 5000, s), allocOn(t, p, 4096, s)
	require.NoError(t, p.Free(large.Addr, s))
	require.NoError(t, p.Free(small.Addr, s))
	require.NotContains(t, []device.Addr{large.Addr, small.Addr}, allocOn(t, p, 4096, other).Addr)
	require.NotContains(t, []device.Addr{large.Addr, small.Addr}, allocOn(t, p, 1000, s).Addr, "too long for that")
	require.Equal(t, small.Addr, allocOn(t, p, 4000, s).Addr, "the smallest free block that fits is used")
	got := allocOn(t, p, 4096, s)
	require.Equal(t, large.Addr, got.Addr)
	require.Equal(t, large.SizeBytes, got.SizeBytes, "the block is used as a whole")
	require.Zero(t, b.dev.OpenEvents(), "no event is left")
	require.EqualValues(t, 4, p.Statistics().LiveBlocks.Current)
	b.check(t, p)
	require.NoError(t, p.Free(got.Addr, s))
	s.Release()
	require.Equal(t, large.Addr, allocOn(t, p, 5000, other).Addr, "the work is done")
	require.NoError(t, s.Close())
	require.NoError(t, other.Close())
	quiet(t, b, p)
}

// A stream gets a block of its own that is much too long rather than wait.
func TestTooLongBlockIsReusedRatherThanWait(t *testing.T) {
	b := newBench(devicetest.Config{TotalBytes: mib}, engine.Options{})
	p := b.pool(t, nil)
	s := newStream(t, b)
	busy(t, s)
	block := allocOn(t, p, mib, s)
	require.NoError(t, p.Free(block.Addr, s))
	require.Equal(t, block.Addr, allocOn(t, p, 1000, s).Addr)
	require.Zero(t, b.dev.Calls(devicetest.EventSynchronize))
	b.check(t, p)
	s.Release()
	require.NoError(t, s.Close())
	quiet(t, b, p)
}

func TestFreeWaitsForRecordedStreams(t *testing.T) {
	b := newBench(devicetest.Config{}, engine.Options{})
	p := b.pool(t, nil)
	s, other, gone := newStream(t, b), newStream(t, b), newStream(t, b)
	block := allocOn(t, p, 1000, s)
	require.ErrorIs(t, p.RecordStream(block.Addr+1024, other), device.CodeDoubleFree)
	require.ErrorIs(t, p.RecordStream(1, other), device.CodeInvalidAddress)
	require.NoError(t, p.RecordStream(block.Addr, other))
	require.NoError(t, p.RecordStream(block.Addr, other))
	require.NoError(t, p.RecordStream(block.Addr, gone))
	require.NoError(t, gone.Close(), "a stream that was closed has run dry")
	busy(t, s)
	busy(t, other)
	b.dev.FailNth(devicetest.RecordEvent, 1, nil)
	require.ErrorIs(t, p.Free(block.Addr, s), device.CodeDevice)
	require.Zero(t, b.dev.OpenEvents())
	b.dev.FailNth(devicetest.RecordEvent, 2, nil)
	require.NoError(t, p.Free(block.Addr, s), "a free whose event cannot be recorded now succeeds")
	require.NotEqual(t, block.Addr, allocOn(t, p, 1000, s).Addr, "another stream may still use it")
	other.Release()
	p.CompleteFrees()
	require.EqualValues(t, 2048, p.Statistics().Active.Current)
	require.Equal(t, block.Addr, allocOn(t, p, 1000, s).Addr, "only the stream of the block still uses it")
	require.Empty(t, p.heap.streams.named)
	b.check(t, p)
	s.Release()
	require.NoError(t, s.Close())
	require.NoError(t, other.Close())
	quiet(t, b, p)
}

// A wait for memory ends with the first event that completes, on any stream.
func TestWaitEndsWithTheFirstCompletedEvent(t *testing.T) {
	b := newBench(devicetest.Config{TotalBytes: mib}, engine.Options{})
	p := b.pool(t, nil)
	stands, moves := newStream(t, b), newStream(t, b)
	busy(t, stands)
	busy(t, moves)
	one, two := allocOn(t, p, mib/2, stands), allocOn(t, p, mib/2, moves)
	require.NoError(t, p.Free(one.Addr, stands))
	require.NoError(t, p.Free(two.Addr, moves))
	var got Block
	done := device.Go("alloc", func() { got = allocOn(t, p, mib/2, nil) })
	for b.dev.Calls(devicetest.EventSynchronize) == 0 {
		select {
		case <-done:
			t.Fatal("handed out before any work was done")
		default:
		}
	}
	moves.Release()
	<-done
	require.Equal(t, two.Addr, got.Addr)
	b.check(t, p)
	stands.Release()
	require.NoError(t, stands.Close())
	require.NoError(t, moves.Close())
	quiet(t, b, p)
}

// Blocks that are freed and reused on a stream that does not progress leave nothing
// behind.
func TestTablesDoNotGrowWhileAStreamIsBlocked(t *testing.T) {
	b := newBench(devicetest.Config{}, engine.Options{})
	p := b.pool(t, nil)
	s := newStream(t, b)
	s.Hold()
	require.NoError(t, s.HostFunction(func() {}))
	stuck := allocOn(t, p, 100*kib, s)
	require.NoError(t, p.Free(stuck.Addr, s))
	held := []Block{allocOn(t, p, 4096, s), allocOn(t, p, 4096, s), allocOn(t, p, 4096, s)}
	for range 2000 {
		require.NoError(t, p.Free(held[0].Addr, s))
		require.NoError(t, p.Free(held[1].Addr, s))
		held = []Block{held[2], allocOn(t, p, 4096, s), allocOn(t, p, 4096, s)}
	}
	require.Equal(t, 1, b.dev.OpenEvents())
	b.check(t, p)
	s.Release()
	require.NoError(t, s.Close())
	quiet(t, b, p)
}

func TestResetFreesAllBlocksOrNone(t *testing.T) {
	b := newBench(devicetest.Config{}, engine.Options{})
	p, c, s := cached(t, b, nil)
	require.NoError(t, p.Reset(nil))
	plain, named := mustAlloc(t, p, 1000), mustAlloc(t, p, 300*kib)
	other := newStream(t, b)
	require.NoError(t, p.RecordStream(named.Addr, other))
	require.NotZero(t, c.alloc(0, 1000, 0))
	busy(t, s)
	busy(t, other)
	b.dev.FailNth(devicetest.RecordEvent, 1, nil)
	require.ErrorIs(t, p.Reset(s), device.CodeDevice)
	require.EqualValues(t, 3, p.Statistics().LiveBlocks.Current, "nothing was freed")
	require.NoError(t, p.Reset(s))
	stats := p.Statistics()
	require.Zero(t, stats.LiveBlocks.Current)
	require.EqualValues(t, 300*kib+2*1024, stats.Active.Current)
	require.Zero(t, stats.ThreadCachedBytes)
	require.ErrorIs(t, p.Free(plain.Addr, nil), device.CodeDoubleFree)
	s.Release()
	p.CompleteFrees()
	require.EqualValues(t, 300*kib, p.Statistics().Active.Current)
	other.Release()
	p.CompleteFrees()
	require.Zero(t, p.Statistics().Active.Current)
	b.check(t, p)
	require.NoError(t, s.Close())
	require.NoError(t, other.Close())
	quiet(t, b, p)
}
