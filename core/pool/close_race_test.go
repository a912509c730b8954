package pool

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/core/device/devicetest"
	"ferrum_mem/core/engine"
)

// rival allocates and frees while another thread closes the pool without force.
type rival struct {
	alloc func(size uint64) (device.Addr, error)
	free  func(device.Addr) error
}

// race lets rivals use a pool during a close, until they get the error of a closed pool
// or a number of rounds is over. They may get that error only from a close that succeeds,
// and no allocated block may end with the pool.
func race(t *testing.T, p *Pool, rivals ...rival) (closed bool) {
	var over atomic.Int32
	var wait, begun sync.WaitGroup
	begun.Add(len(rivals))
	for _, r := range rivals {
		wait.Go(func() {
			for i := range uint64(300) {
				var held []device.Addr
				var err error
				for n := uint64(0); n <= i%4 && err == nil; n++ {
					var addr device.Addr
					if addr, err = r.alloc((n*i%8 + 1) * 4 * kib); err == nil {
						held = append(held, addr)
					}
				}
				for _, addr := range held {
					assert.NoError(t, r.free(addr), "a live block can be freed while the pool closes")
				}
				if i == 10 {
					begun.Done()
				}
				if err != nil {
					assert.ErrorIs(t, err, device.CodeInvalidState)
					over.Add(1)
					return
				}
			}
		})
	}
	begun.Wait()
	for range 300 {
		err := p.Close(false)
		if closed = err == nil; closed {
			break
		}
		require.ErrorIs(t, err, device.CodeBusy)
		require.Zero(t, over.Load(), "the pool stays open, and no call has failed because of the rejected close")
	}
	wait.Wait()
	require.True(t, closed || over.Load() == 0, "the pool stays open, and no call has failed because of the rejected close")
	return closed
}

func own(p *Pool) rival {
	return rival{
		alloc: func(size uint64) (device.Addr, error) {
			b, err := p.Alloc(Request{SizeBytes: size})
			return b.Addr, err
		},
		free: func(addr device.Addr) error { return p.Free(addr, nil) },
	}
}

// through is a rival that uses the caches, as one of their threads.
func through(p *Pool, c *fakeCache, thread int) rival {
	r := own(p)
	direct := r.alloc
	r.alloc = func(size uint64) (device.Addr, error) {
		if addr := c.alloc(thread, size, 0); addr != 0 {
			return addr, nil
		}
		return direct(size)
	}
	r.free = func(addr device.Addr) error { return c.free(thread, addr, 0) }
	return r
}

func (c *fakeCache) isPaused() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.paused
}

func TestRejectedCloseDisturbsNoThread(t *testing.T) {
	for range 40 {
		b := newBench(devicetest.Config{}, engine.Options{})
		p := b.pool(t, nil)
		if !race(t, p, own(p), own(p)) {
			require.NoError(t, p.Close(false))
		}
		p, c, s := cached(t, b, nil)
		if !race(t, p, through(p, c, 1), through(p, c, 2)) {
			require.NoError(t, p.Close(false))
		}
		require.NoError(t, s.Close())
		require.NoError(t, b.engine.Close())
	}
}

// While a close counts and decides, the caches allocate nothing, and a call that arrives
// waits for the decision.
func TestCallsWaitWhileACloseDecides(t *testing.T) {
	for _, busy := range []bool{true, false} {
		b := newBench(devicetest.Config{}, engine.Options{})
		p, c, s := cached(t, b, nil)
		first := mustAlloc(t, p, 4*kib)
		require.NoError(t, p.Free(first.Addr, nil))
		var kept device.Addr
		var last, once sync.Once
		c.pausing = func() {
			last.Do(func() {
				if busy {
					kept = c.alloc(1, 4*kib, 0)
					assert.NotZero(t, kept, "the close has not begun")
				}
			})
		}
		heard := make(chan error, 1)
		c.counting = func() {
			if !c.isPaused() {
				return
			}
			once.Do(func() {
				assert.Zero(t, c.alloc(2, 4*kib, 0), "the thread caches are paused")
				arrived := make(chan struct{})
				go func() {
					close(arrived)
					block, err := p.Alloc(Request{SizeBytes: 4 * kib})
					if err == nil {
						err = p.Free(block.Addr, nil)
					}
					heard <- err
				}()
				<-arrived
				runtime.Gosched()
				select {
				case err := <-heard:
					t.Errorf("a call did not wait for what the close decides: %v", err)
				default:
				}
			})
		}
		err := p.Close(false)
		if busy {
			require.ErrorIs(t, err, device.CodeBusy)
			require.NoError(t, <-heard)
			require.False(t, p.HasEnded())
			require.NoError(t, c.free(1, kept, 0))
			require.False(t, c.isPaused())
			require.NoError(t, p.Close(false), "a second close succeeds")
		} else {
			require.NoError(t, err)
			require.ErrorIs(t, <-heard, device.CodeInvalidState)
		}
		require.NoError(t, s.Close())
		require.NoError(t, b.engine.Close())
	}
}
