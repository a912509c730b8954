package pool

import (
	"testing"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/core/device/devicetest"
	"ferrum_mem/core/engine"
)

// Whatever streams a free names, the block waits for its own stream. That stream may
// reuse the memory at once if no other stream has queued work.
func TestFreesWaitForTheStreamOfTheBlock(t *testing.T) {
	frees := map[string]func(p *Pool, addr device.Addr, other device.Stream) error{
		"plain":   func(p *Pool, addr device.Addr, _ device.Stream) error { return p.Free(addr, nil) },
		"another": func(p *Pool, addr device.Addr, other device.Stream) error { return p.Free(addr, other) },
		"sized":   func(p *Pool, addr device.Addr, other device.Stream) error { return p.FreeSized(addr, 5000, other) },
		"after":   func(p *Pool, addr device.Addr, _ device.Stream) error { return p.FreeAfter(addr, nil) },
		"batch": func(p *Pool, addr device.Addr, other device.Stream) error {
			return p.FreeBatch([]device.Addr{addr}, other)
		},
		"reset": func(p *Pool, _ device.Addr, other device.Stream) error { return p.Reset(other) },
	}
	for name, free := range frees {
		for _, strategy := range []string{"best_fit", "size_class", "fixed"} {
			t.Run(name+" "+strategy, func(t *testing.T) {
				b := newBench(devicetest.Config{}, engine.Options{})
				p := b.pool(t, func(c *Config) {
					if c.Strategy = strategy; strategy == "fixed" {
						c.FixedBlockBytes = 5 * kib
					}
				})
				own, other := newStream(t, b), newStream(t, b)
				block := allocOn(t, p, 5000, own)
				busy(t, own)
				require.NoError(t, free(p, block.Addr, other))
				for range 3 {
					require.NotEqual(t, block.Addr, allocOn(t, p, 5000, other).Addr)
					require.NotEqual(t, block.Addr, mustAlloc(t, p, 5000).Addr)
				}
				require.Equal(t, block.Addr, allocOn(t, p, 5000, own).Addr)
				b.check(t, p)
				own.Release()
				require.NoError(t, own.Close())
				require.NoError(t, other.Close())
				require.NoError(t, p.Close(true))
				require.Zero(t, b.dev.OpenEvents())
			})
		}
	}
}

// An event that cannot be recorded at the free is recorded later. No other stream gets
// the memory before.
func TestEventThatFailsIsRecordedLater(t *testing.T) {
	for _, failing := range []devicetest.Call{devicetest.RecordEvent, devicetest.StreamIdle} {
		b := newBench(devicetest.Config{}, engine.Options{})
		p := b.pool(t, nil)
		own := newStream(t, b)
		block := allocOn(t, p, 5000, own)
		busy(t, own)
		nth := 1
		if failing == devicetest.StreamIdle {
			nth = 2 // the first query is for the stream of the free
		}
		b.dev.FailNth(failing, nth, nil)
		require.NoError(t, p.Free(block.Addr, nil), failing)
		for range 3 {
			require.NotEqual(t, block.Addr, mustAlloc(t, p, 5000).Addr)
		}
		p.CompleteFrees()
		require.Equal(t, 1, b.dev.OpenEvents(), "the event of the block was recorded meanwhile")
		own.Release()
		p.CompleteFrees()
		require.Equal(t, block.Addr, mustAlloc(t, p, 5000).Addr)
		b.check(t, p)
		require.NoError(t, own.Close())
		require.NoError(t, p.Close(true))
		require.Zero(t, b.dev.OpenEvents())
	}
}

// A closed stream has no queued work, and its number can be reused.
func TestClosedStreamsReleaseTheirNumbers(t *testing.T) {
	b := newBench(devicetest.Config{}, engine.Options{})
	p := b.pool(t, nil)
	var blocks []Block
	for range 300 {
		s := newStream(t, b)
		blocks = append(blocks, allocOn(t, p, 1000, s))
		require.NoError(t, s.Close())
		if len(blocks) == 3 {
			require.NoError(t, p.Free(blocks[0].Addr, nil))
			blocks = blocks[1:]
		}
		b.check(t, p)
	}
	require.LessOrEqual(t, len(p.heap.streams.byNumber), 4)
	for _, block := range blocks {
		require.NoError(t, p.Free(block.Addr, nil))
	}
	require.Zero(t, p.Statistics().Active.Current)
	quiet(t, b, p)
}

// A pool has a limited number of stream numbers. Further streams are recorded as
// RecordStream does.
func TestStreamsBeyondTheNumbersAreRecorded(t *testing.T) {
	b := newBench(devicetest.Config{}, engine.Options{})
	p := b.pool(t, nil)
	p.heap.streams.byNumber = make([]numberedStream, maxNumbers)
	own := newStream(t, b)
	block := allocOn(t, p, 5000, own)
	busy(t, own)
	require.NoError(t, p.Free(block.Addr, nil))
	require.NotEqual(t, block.Addr, mustAlloc(t, p, 5000).Addr)
	require.Equal(t, block.Addr, allocOn(t, p, 5000, own).Addr)
	own.Release()
	require.NoError(t, own.Close())
	require.NoError(t, p.Close(true))
}
