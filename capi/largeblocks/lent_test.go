package largeblocks

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/core/device/devicetest"
	"ferrum_mem/core/engine"
	"ferrum_mem/core/lending"
	"ferrum_mem/core/pool"
)

// lender returns a pool that has lent its tables, with a block and another one behind it.
func lender(t *testing.T, change func(*pool.Config)) (p *pool.Pool, dev device.Device, first uint64) {
	t.Helper()
	skipWithoutPages(t)
	dev = openHost(t, 1<<34)
	p = openPool(t, engine.New(dev, engine.Options{}), Places{}.Of(theHandle), change)
	t.Cleanup(func() {
		if !p.HasEnded() {
			require.NoError(t, p.Close(true))
		}
	})
	addr, err := p.Alloc(pool.Request{SizeBytes: 8 * mib})
	require.NoError(t, err)
	_, err = p.Alloc(pool.Request{SizeBytes: 8 * mib})
	require.NoError(t, err)
	lendAgain(t, p)
	return p, dev, uint64(addr.Addr)
}

// lendAgain makes the pool lend its tables, by a call that C would have passed on.
func lendAgain(t *testing.T, p *pool.Pool) {
	t.Helper()
	addr, ok := p.AllocNow(2 * mib)
	if !ok {
		block, err := p.Alloc(pool.Request{SizeBytes: 2 * mib})
		require.NoError(t, err)
		addr = block.Addr
	}
	require.NoError(t, p.Free(addr, nil))
}

func isLent(t *testing.T) bool {
	t.Helper()
	return Places{}.Of(theHandle).Word.Load() == lending.Lent
}

// C must not free a block that queued work may use, nor a block on a device whose work it
// cannot see.
func TestQueuedWorkPreventsFreesInC(t *testing.T) {
	p, dev, addr := lender(t, nil)
	require.True(t, isLent(t))
	hold := make(chan struct{})
	require.NoError(t, dev.DefaultStream().HostFunction(func() { <-hold }))
	require.False(t, free(theHandle, addr, 0))
	require.True(t, isLent(t))
	require.NoError(t, p.Free(device.Addr(addr), nil))
	require.False(t, isLent(t), "a block is in flight")
	require.NotZero(t, p.Statistics().Active.Current-p.Statistics().Allocated.Current)
	close(hold)
	require.NoError(t, dev.DefaultStream().Synchronize(device.Forever))
	lendAgain(t, p)
	require.True(t, isLent(t))
}

// Nothing is lent while blocks are in flight: the next allocation has to query their
// events.
func TestBlocksInFlightPreventLending(t *testing.T) {
	p, dev, _ := lender(t, nil)
	stream, err := dev.NewStream()
	require.NoError(t, err)
	defer func() { require.NoError(t, stream.Close()) }()
	block, err := p.Alloc(pool.Request{SizeBytes: 2 * mib})
	require.NoError(t, err)
	hold := make(chan struct{})
	require.NoError(t, stream.HostFunction(func() { <-hold }))
	require.NoError(t, p.Free(block.Addr, stream))
	lendAgain(t, p)
	require.False(t, isLent(t))
	close(hold)
	require.NoError(t, stream.Synchronize(device.Forever))
	lendAgain(t, p)
	require.True(t, isLent(t))
}

// While graphs are captured and while their pools exist, a call has to find the pool that
// serves it.
func TestCapturesPreventLending(t *testing.T) {
	skipWithoutPages(t)
	dev := devicetest.Open(devicetest.Config{TotalBytes: 1 << 30, Capture: true})
	p := openPool(t, engine.New(dev, engine.Options{}), Places{}.Of(theHandle), nil)
	defer func() { require.NoError(t, p.Close(true)) }()
	lendAgain(t, p)
	lendAgain(t, p)
	require.True(t, isLent(t))
	made, err := dev.NewStream()
	require.NoError(t, err)
	stream := made.(*devicetest.Stream)
	defer func() { require.NoError(t, stream.Close()) }()
	graph := stream.BeginCapture()
	number, err := p.CaptureBegin(stream, 0)
	require.NoError(t, err)
	require.False(t, isLent(t), "beginning a capture takes the tables back")
	lendAgain(t, p)
	require.False(t, isLent(t))
	graph.End()
	require.NoError(t, p.CaptureEnd(number))
	lendAgain(t, p)
	require.False(t, isLent(t), "the graph has a private pool")
	require.NoError(t, p.CaptureRelease(number, nil))
	lendAgain(t, p)
	lendAgain(t, p)
	require.True(t, isLent(t))
	block, done := alloc(theHandle, 2*mib, 0, 0)
	require.True(t, done)
	require.False(t, free(theHandle, block, 0), "the device cannot report whether its queue is empty")
}

// There are more blocks than the tables have room for at first: they grow, in Go.
func TestTablesGrowInGo(t *testing.T) {
	p, _, _ := lender(t, func(c *pool.Config) { c.ReadyPages = pool.KeepAllPages })
	const count, size = 3000, mib + 1
	whole, err := p.Alloc(pool.Request{SizeBytes: count * (mib + 256)})
	require.NoError(t, err)
	require.NoError(t, p.Free(whole.Addr, nil))
	calls := 0
	addrs := map[uint64]bool{}
	for range count {
		addr, done := alloc(theHandle, size, 0, 0)
		if done {
			calls++
		} else {
			block, err := p.Alloc(pool.Request{SizeBytes: size})
			require.NoError(t, err)
			addr = uint64(block.Addr)
		}
		addrs[addr] = true
	}
	require.Len(t, addrs, count)
	require.Greater(t, calls, count*9/10)
	for addr := range addrs {
		block, there := p.Lookup(device.Addr(addr))
		require.True(t, there)
		require.EqualValues(t, size, block.RequestedBytes)
	}
}

// A pool with unusual settings does not lend.
func TestUnusualSettingsPreventLending(t *testing.T) {
	for name, change := range map[string]func(*pool.Config){
		"times are kept":         func(c *pool.Config) { c.Tracking = true },
		"another strategy":       func(c *pool.Config) { c.Strategy = "tlsf" },
		"memory goes back early": func(c *pool.Config) { c.ReleaseThresholdBytes = 1 },
		"several segments": func(c *pool.Config) {
			c.Paging, c.InitialSizeBytes = pool.PagingOff, mib
		},
	} {
		t.Run(name, func(t *testing.T) {
			p, _, _ := lender(t, change)
			require.False(t, isLent(t))
			_, err := p.Alloc(pool.Request{SizeBytes: 5 * mib / 2})
			require.NoError(t, err)
			_, ok := p.AllocNow(5 * mib / 4)
			require.True(t, ok, "the rest of a page")
			require.False(t, isLent(t), "after an allocation")
		})
	}
	t.Run("a block of another stream", func(t *testing.T) {
		p, dev, _ := lender(t, nil)
		stream, err := dev.NewStream()
		require.NoError(t, err)
		defer func() { require.NoError(t, stream.Close()) }()
		block, err := p.Alloc(pool.Request{SizeBytes: 2 * mib, Stream: stream})
		require.NoError(t, err)
		lendAgain(t, p)
		require.False(t, isLent(t))
		require.NoError(t, p.Free(block.Addr, stream))
		lendAgain(t, p)
		require.True(t, isLent(t))
	})
	t.Run("a block that another stream uses", func(t *testing.T) {
		p, dev, addr := lender(t, nil)
		stream, err := dev.NewStream()
		require.NoError(t, err)
		defer func() { require.NoError(t, stream.Close()) }()
		require.NoError(t, p.RecordStream(device.Addr(addr), stream))
		lendAgain(t, p)
		require.False(t, isLent(t))
	})
	t.Run("somebody watches the use", func(t *testing.T) {
		p, _, _ := lender(t, nil)
		require.True(t, isLent(t))
		p.Engine().WatchUse(true)
		require.False(t, isLent(t), "a watcher recalls the counters")
		lendAgain(t, p)
		require.False(t, isLent(t))
		p.Engine().WatchUse(false)
		lendAgain(t, p)
		require.True(t, isLent(t))
	})
}

// With a second pool on the device, C does nothing that would have to update the totals.
func TestLentPoolKeepsTheTotalsOfSeveralPools(t *testing.T) {
	p, _, addr := lender(t, func(c *pool.Config) { c.ReadyPages = pool.KeepAllPages })
	large, err := p.Alloc(pool.Request{SizeBytes: 100 * mib})
	require.NoError(t, err)
	require.NoError(t, p.Free(large.Addr, nil))
	require.True(t, isLent(t))
	alone, done := alloc(theHandle, 100*mib, 0, 0)
	require.True(t, done)
	require.True(t, free(theHandle, alone, 0))
	other := openPool(t, p.Engine(), nil, nil)
	defer func() { require.NoError(t, other.Close(true)) }()
	require.False(t, isLent(t), "the pool was alone, and is no more")
	lendAgain(t, p)
	require.True(t, isLent(t))
	require.True(t, free(theHandle, addr, 0), "8 MiB are near enough")
	_, done = alloc(theHandle, 100*mib, 0, 0)
	require.False(t, done, "100 MiB more are not")
	large, err = p.Alloc(pool.Request{SizeBytes: 100 * mib})
	require.NoError(t, err)
	lendAgain(t, p)
	require.True(t, isLent(t))
	require.False(t, free(theHandle, uint64(large.Addr), 0), "100 MiB less are not")
	require.True(t, isLent(t))
	require.NoError(t, p.Free(large.Addr, nil))
}

// Go knows which blocks C has placed and freed in a segment of fixed size: there is room
// again, and a segment with a block is not released.
func TestSegmentKnowsWhatCDid(t *testing.T) {
	p, _, first := lender(t, func(c *pool.Config) {
		c.Paging, c.InitialSizeBytes, c.AutoExpansion = pool.PagingOff, 20*mib, false
	})
	require.True(t, isLent(t))
	_, err := p.Alloc(pool.Request{SizeBytes: 6 * mib})
	require.ErrorIs(t, err, device.CodeOutOfMemory, "4 MiB are free")
	lendAgain(t, p)
	require.True(t, free(theHandle, first, 0))
	addr, err := p.Alloc(pool.Request{SizeBytes: 6 * mib})
	require.NoError(t, err, "C has freed 8 MiB")
	lendAgain(t, p)
	block, done := alloc(theHandle, 4*mib, 0, 0)
	require.True(t, done)
	require.NoError(t, p.Free(addr.Addr, nil))
	require.NoError(t, p.Free(device.Addr(first+8*mib), nil))
	_, err = p.Trim(0)
	require.NoError(t, err)
	_, there := p.Lookup(device.Addr(block))
	require.True(t, there)
	require.EqualValues(t, 20*mib, p.HeldBytes())
	lendAgain(t, p)
	require.True(t, free(theHandle, block, 0))
	_, err = p.Trim(0)
	require.NoError(t, err)
	require.Zero(t, p.HeldBytes())
}

// Pages that C leaves idle are released later, like all others.
func TestIdlePagesLeftByCAreReleased(t *testing.T) {
	p, _, first := lender(t, nil)
	held := p.HeldBytes()
	lendAgain(t, p)
	freed := free(theHandle, first, 0)
	if !freed {
		require.NoError(t, p.Free(device.Addr(first), nil), "so many idle pages are more than may stay")
	}
	require.Eventually(t, func() bool { return p.HeldBytes() < held }, 10*time.Second, 5*time.Millisecond)
}

// Loans that C does not use are not repeated all the time.
func TestUnusedLoansPause(t *testing.T) {
	p, _, _ := lender(t, nil)
	times := 0
	for range 200 {
		lendAgain(t, p)
		if isLent(t) {
			times++
		}
		p.HeldBytes()
	}
	require.Less(t, times, 50)
	require.Positive(t, times)
}

// C code uses the lent tables also if it only looks at blocks.
func TestLooksAreUses(t *testing.T) {
	p, _, addr := lender(t, nil)
	for range 200 {
		require.True(t, isLent(t))
		_, done := usableSize(theHandle, addr)
		require.True(t, done)
		lendAgain(t, p)
	}
}

// The handle of a pool that was destroyed, or that never existed, finds no pool.
func TestUnknownHandlesFindNoPool(t *testing.T) {
	p, _, addr := lender(t, nil)
	require.True(t, isLent(t))
	for _, handle := range []uint64{0, theHandle + 1<<32, 1<<32 - 1, 12345} {
		_, done := alloc(handle, 2*mib, 0, 0)
		require.False(t, done)
		require.False(t, free(handle, addr, 0))
		_, done = usableSize(handle, addr)
		require.False(t, done)
	}
	require.True(t, isLent(t))
	require.Nil(t, Places{}.Of(1<<32-1), "slots end somewhere")
	require.NoError(t, p.Close(true))
	require.Equal(t, lending.Owned, Places{}.Of(theHandle).Word.Load(), "a pool that is closed lends nothing")
	require.False(t, free(theHandle, addr, 0))
}
