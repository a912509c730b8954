package vmm

import (
	"testing"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/core/device/devicetest"
	"ferrum_mem/core/engine"
)

// queued queues work on a stream that runs only when the test releases it.
func queued(t require.TestingT, s *devicetest.Stream) {
	s.Hold()
	require.NoError(t, s.HostFunction(func() {}))
}

func TestFreedRangeRetiresUntilItsWorkIsDone(t *testing.T) {
	r := newRig(t, devicetest.Config{}, func(c *Config) { c.LimitBytes, c.ReadyPages = 4*page, -1 })
	p := r.pool
	_, err := p.Alloc(0, 4*page)
	require.NoError(t, err)
	queued(t, r.dev.Default())
	require.NoError(t, p.Free(0, 3*page, nil))
	r.check(t)
	stats := p.Stats()
	require.Equal(t, []uint64{1, 3}, []uint64{stats.MappedPages, stats.RetiringPages})
	require.Equal(t, 4*page, stats.PhysicalBytes, "its pages count as used")
	require.False(t, p.IsMapped(0, page))
	_, err = p.Alloc(10*page, page)
	refused(t, err, device.CodeOutOfPhysicalMemory, "available 0")
	refused(t, p.Free(0, page, nil), device.CodeNotMapped)

	r.dev.Default().Release()
	_, err = p.Alloc(10*page, 3*page)
	require.NoError(t, err, "a free is completed when its memory is requested")
	require.Zero(t, p.Stats().RetiringPages)
	require.Zero(t, r.dev.OpenEvents())
	r.check(t)
	r.quit(t)
}

// An allocation of a retiring range waits for the work of that range and for no other
// work.
func TestAllocationWaitsForItsRange(t *testing.T) {
	r := newRig(t, devicetest.Config{}, nil)
	_, err := r.pool.Alloc(0, 8*page)
	require.NoError(t, err)
	other, err := r.dev.NewStream()
	require.NoError(t, err)
	queued(t, r.dev.Default())
	queued(t, other.(*devicetest.Stream))
	require.NoError(t, r.pool.Free(0, 4*page, nil))
	require.NoError(t, r.pool.Free(4*page, 4*page, other))
	done := make(chan error)
	go func() {
		_, err := r.pool.Alloc(2*page, page)
		done <- err
	}()
	until(t, func() bool { return r.dev.Calls(devicetest.EventSynchronize) > 0 })
	require.Equal(t, uint64(8), r.pool.Stats().RetiringPages, "other threads can query the pool meanwhile")
	_, err = r.pool.Alloc(20*page, page)
	require.NoError(t, err, "other threads can use the pool meanwhile")
	r.dev.Default().Release()
	require.NoError(t, <-done)
	require.Equal(t, uint64(4), r.pool.Stats().RetiringPages)
	r.check(t)
	other.(*devicetest.Stream).Release()
	require.NoError(t, r.pool.Synchronize())
	require.Zero(t, r.pool.Stats().RetiringPages)
	require.NoError(t, other.Close())
	r.quit(t)
}

func TestThreadThatMayNotWaitReturnsBusy(t *testing.T) {
	r := newRigWith(t, devicetest.Config{}, engine.Options{MayNotWait: func() bool { return true }}, nil)
	_, err := r.pool.Alloc(0, 4*page)
	require.NoError(t, err)
	queued(t, r.dev.Default())
	require.NoError(t, r.pool.Free(0, 4*page, nil))
	_, err = r.pool.Alloc(3*page, 2*page)
	refused(t, err, device.CodeBusy, "offset "+text(3*page), "size "+text(2*page))
	r.check(t)
	r.quit(t)
}

// The reclaim path waits for retiring ranges when the device has no more memory.
func TestReclaimPathWaitsForRetiringRanges(t *testing.T) {
	r := newRig(t, devicetest.Config{TotalBytes: 8 * page}, nil)
	r.dev.SetOthersBytes(4 * page)
	_, err := r.pool.Alloc(0, 4*page)
	require.NoError(t, err)
	queued(t, r.dev.Default())
	require.NoError(t, r.pool.Free(0, 4*page, nil))
	done := make(chan error)
	go func() {
		_, err := r.pool.Alloc(8*page, 2*page)
		done <- err
	}()
	until(t, func() bool { return r.dev.Calls(devicetest.EventSynchronize) > 0 })
	r.dev.Default().Release()
	require.NoError(t, <-done)
	r.check(t)
	r.quit(t)
}

func TestEventThatCannotBeClosedIsClosedLater(t *testing.T) {
	r := newRig(t, devicetest.Config{}, nil)
	_, err := r.pool.Alloc(0, page)
	require.NoError(t, err)
	queued(t, r.dev.Default())
	require.NoError(t, r.pool.Free(0, page, nil))
	r.dev.FailNth(devicetest.EventClose, 1, nil)
	r.dev.Default().Release()
	r.pool.physical.CompleteFrees()
	require.Equal(t, 1, r.dev.OpenEvents())
	require.Zero(t, r.pool.Stats().RetiringPages)
	r.pool.physical.CompleteFrees()
	require.Zero(t, r.dev.OpenEvents())
	r.quit(t)
}

// A page that queued work uses is not unmapped, even if the range was freed on another
// stream.
func TestWorkOfAnotherStreamKeepsPagesMapped(t *testing.T) {
	r := newRig(t, devicetest.Config{Backed: true}, nil)
	addr, err := r.pool.Alloc(0, page)
	require.NoError(t, err)
	other, err := r.dev.NewStream()
	require.NoError(t, err)
	other.(*devicetest.Stream).Hold()
	require.NoError(t, other.Fill(addr, device.Pattern{Value: 1, WidthBytes: 1}, page))
	require.NoError(t, r.pool.Free(0, page, nil))
	_, err = r.pool.physical.Trim(0)
	require.ErrorIs(t, err, device.CodeBusy)
	r.check(t)
	other.(*devicetest.Stream).Release()
	released, err := r.pool.physical.Trim(0)
	require.NoError(t, err)
	require.Equal(t, page, released)
	require.NoError(t, other.Close())
	r.quit(t)
}
