package pool

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/core/device/devicetest"
	"ferrum_mem/core/engine"
)

// TestThawedThreadsRunBeforeTheNextFreeze freezes the counters again and again, as a
// traversal of the caches does. A thread that waited for one thaw does not wait for the
// next freeze.
func TestThawedThreadsRunBeforeTheNextFreeze(t *testing.T) {
	b := newBench(devicetest.Config{}, engine.Options{})
	p, _, s := cached(t, b, nil)
	for range 50 {
		p.leases.freeze()
		done := make(chan struct{})
		served := false
		go func() {
			defer close(done)
			p.heap.lock()
			defer p.heap.mu.Unlock()
			served = true
		}()
		for waits := false; !waits; runtime.Gosched() {
			p.heap.mu.LockToRead()
			waits = p.heap.awaiting == 1
			p.heap.mu.Unlock()
		}
		p.leases.thaw()
		p.leases.freeze()
		p.heap.mu.LockToRead()
		wasServed := served
		p.heap.mu.Unlock()
		p.leases.thaw()
		<-done
		require.True(t, wasServed)
	}
	require.NoError(t, s.Close())
	quiet(t, b, p)
}

// slowToFree is caches that use the pool while they release their memory.
type slowToFree struct {
	*fakeCache
	freeing func()
}

func (c *slowToFree) Drop() (free func()) {
	c.fakeCache.Drop()
	return c.freeing
}

func TestReleaseOfCacheMemoryHoldsNoLock(t *testing.T) {
	b := newBench(devicetest.Config{}, engine.Options{})
	p, c, s := cached(t, b, nil)
	mustAlloc(t, p, 256)
	require.NotZero(t, c.alloc(0, 1000, 0))
	freed := 0
	p.SetCache(&slowToFree{c, func() {
		freed++
		p.heap.mu.LockToRead()
		frozen := p.heap.frozen
		p.heap.mu.Unlock()
		require.False(t, frozen)
		require.True(t, p.leases.census.TryLock())
		p.leases.census.Unlock()
	}}, c.streamOf)
	require.NoError(t, p.Close(true))
	require.Equal(t, 1, freed)
	require.NoError(t, s.Close())
	b.closeAll(t)
}

// TestAllocReportsAClosingPoolWithoutTheLock holds the lock that a close takes for every
// slice.
func TestAllocReportsAClosingPoolWithoutTheLock(t *testing.T) {
	b := newBench(devicetest.Config{}, engine.Options{})
	p, c, s := cached(t, b, nil)
	addr := mustAlloc(t, p, 1000).Addr
	checked := 0
	p.SetCache(&slowToFree{c, func() {
		checked++
		p.heap.mu.Lock()
		defer p.heap.mu.Unlock()
		to := make([]device.Addr, 3)
		for what, call := range map[string]func() error{
			"alloc":       func() error { _, err := p.Alloc(Request{SizeBytes: 10}); return err },
			"alloc batch": func() error { return p.AllocBatch(Request{SizeBytes: 10}, to) },
			"lease":       func() error { _, err := p.Lease(1024, nil, to, nil); return err },
			"free":        func() error { return p.Free(addr, nil) },
			"free sized":  func() error { return p.FreeSized(addr, 1000, nil) },
			"free batch":  func() error { return p.FreeBatch([]device.Addr{addr}, nil) },
			"free on a stream": func() error {
				s.Hold()
				defer s.Release()
				require.NoError(t, s.HostFunction(func() {}))
				return p.Free(addr, s)
			},
		} {
			require.ErrorIs(t, call(), device.CodeInvalidState, what)
		}
		_, ok := p.AllocNow(10)
		require.False(t, ok)
	}}, c.streamOf)
	require.NoError(t, p.Close(true))
	require.Equal(t, 1, checked)
	require.NoError(t, s.Close())
	b.closeAll(t)
}

// TestCloseThatFailsKeepsTheCaches makes the device fail before its work has completed.
func TestCloseThatFailsKeepsTheCaches(t *testing.T) {
	b := newBench(devicetest.Config{}, engine.Options{})
	p, c, s := cached(t, b, nil)
	mustAlloc(t, p, 256)
	addr := c.alloc(0, 1000, 0)
	require.NotZero(t, addr)
	b.dev.FailNth(devicetest.DeviceSynchronize, 1, nil)
	require.ErrorIs(t, p.Close(true), device.CodeDevice)
	require.False(t, c.gone)
	require.False(t, c.paused)
	block, live := c.Block(addr)
	require.True(t, live && block.Live)
	require.NoError(t, c.free(0, addr, 0))
	require.Equal(t, addr, c.alloc(0, 1000, 0), "the block came from the thread cache")
	b.check(t, p)
	require.NoError(t, s.Close())
	b.closeAll(t, p)
}
