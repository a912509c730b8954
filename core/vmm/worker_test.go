package vmm

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/core/device/devicetest"
	"ferrum_mem/core/engine"
)

func TestReadyPagesArePreallocated(t *testing.T) {
	r := newRig(t, devicetest.Config{}, func(c *Config) { c.ReadyPages = 3 })
	ph := r.pool.physical
	ph.Settle()
	require.Zero(t, r.dev.Pages(), "no page exists before the first allocation")
	_, err := r.pool.Alloc(0, page)
	require.NoError(t, err)
	ph.Settle()
	require.Equal(t, uint64(3), r.pool.Stats().ReadyPages)
	require.Equal(t, 3*page, r.engine.Statistics().Cached.Current, "ready pages are counted as cached")
	r.check(t)
	creates := r.dev.Calls(devicetest.Create)
	_, err = r.pool.Alloc(page, 3*page)
	require.NoError(t, err)
	require.Equal(t, creates, r.dev.Calls(devicetest.Create), "the caller's path creates nothing")

	ph.Pause()
	ph.Settle()
	require.Zero(t, r.pool.Stats().ReadyPages)
	ph.Resume()
	ph.Settle()
	require.Equal(t, uint64(3), r.pool.Stats().ReadyPages)
	r.quit(t)
}

// If the limit allows no page to be made ready, the worker is not woken.
func TestNoWorkAtTheLimit(t *testing.T) {
	r := newRig(t, devicetest.Config{}, func(c *Config) { c.ReadyPages, c.LimitBytes = 3, 4*page })
	ph := r.pool.physical
	_, err := r.pool.Alloc(0, 3*page)
	require.NoError(t, err)
	require.True(t, ph.wanted)
	ph.Settle()
	require.Equal(t, uint64(1), r.pool.Stats().ReadyPages)
	_, err = r.pool.Alloc(3*page, page)
	require.NoError(t, err)
	require.False(t, ph.wanted)
	require.NoError(t, r.pool.Free(3*page, page, nil))
	_, err = r.pool.Alloc(4*page, page)
	require.NoError(t, err, "the parked page moves")
	require.False(t, ph.wanted)
	require.NoError(t, r.pool.SetLimit(8*page))
	_, err = r.pool.Alloc(5*page, page)
	require.NoError(t, err)
	require.True(t, ph.wanted)
	ph.Settle()
	require.Equal(t, uint64(3), r.pool.Stats().ReadyPages)
	r.check(t)
	r.quit(t)
}

func TestParkedPagesAreTakenBeforeNewOnes(t *testing.T) {
	r := newRig(t, devicetest.Config{}, func(c *Config) { c.ReadyPages = 4 })
	ph := r.pool.physical
	_, err := r.pool.Alloc(0, 8*page)
	require.NoError(t, err)
	ph.Settle()
	require.NoError(t, r.pool.Free(0, 8*page, nil))
	_, err = r.pool.Alloc(10*page, 3*page)
	require.NoError(t, err)
	creates := r.dev.Calls(devicetest.Create)
	ph.Settle()
	stats := r.pool.Stats()
	require.Equal(t, []uint64{4, 5}, []uint64{stats.ReadyPages, stats.ParkedPages})
	require.Equal(t, creates, r.dev.Calls(devicetest.Create))
	r.check(t)
	r.quit(t)
}

// Pages that no allocation needed for a window are released; pages used in it stay.
func TestIdlePagesGoAfterAWindow(t *testing.T) {
	r := newRig(t, devicetest.Config{}, func(c *Config) { c.ReadyPages = 2 })
	ph := r.pool.physical
	_, err := r.pool.Alloc(0, 10*page)
	require.NoError(t, err)
	ph.Settle()
	require.NoError(t, r.pool.Free(0, 10*page, nil))
	require.True(t, ph.startTicking())
	require.False(t, ph.startTicking(), "the worker ticks already")
	_, err = r.pool.Alloc(0, 4*page)
	require.NoError(t, err)
	require.NoError(t, r.pool.Free(0, 4*page, nil))
	ph.tick()
	stats := r.pool.Stats()
	require.Equal(t, []uint64{4, 2}, []uint64{stats.ParkedPages, stats.ReadyPages},
		"four were wanted in the window, two are kept ready")
	require.True(t, ph.keepTicking())
	ph.tick()
	stats = r.pool.Stats()
	require.Equal(t, []uint64{0, 2}, []uint64{stats.ParkedPages, stats.ReadyPages})
	require.False(t, ph.keepTicking())
	require.Equal(t, 2*page, r.dev.HeldBytes())
	r.check(t)
	r.quit(t)
}

func TestWorkerTakesNothingFromOthers(t *testing.T) {
	var mu sync.Mutex
	var messages []string
	r := newRigWith(t, devicetest.Config{TotalBytes: 8 * page}, engine.Options{Log: func(_ engine.Level, message string) {
		mu.Lock()
		defer mu.Unlock()
		messages = append(messages, message)
	}}, nil)
	r.dev.SetOthersBytes(7 * page)
	_, err := r.pool.Alloc(0, page)
	require.NoError(t, err)
	calls := r.dev.Calls(devicetest.Create)
	r.pool.physical.Settle()
	r.pool.physical.Settle()
	require.Equal(t, calls+1, r.dev.Calls(devicetest.Create), "the worker tries once until the next allocation")
	require.Len(t, messages, 1)
	require.Contains(t, messages[0], "too few ready pages")
	r.check(t)
	r.quit(t)
}

// The worker alone makes pages ready, releases surplus pages, and ends with the pool.
func TestWorkerMakesPagesReadyAndReleasesSurplus(t *testing.T) {
	dev := devicetest.Open(devicetest.Config{TotalBytes: 64 * mib})
	e := engine.New(dev, engine.Options{})
	p, err := NewPool(e, Config{Name: "p", CapacityBytes: 64 * page, PageBytes: page, ReadyPages: 4})
	require.NoError(t, err)
	_, err = p.Alloc(0, 20*page)
	require.NoError(t, err)
	until(t, func() bool { return p.Stats().ReadyPages == 4 })
	require.NoError(t, p.Free(0, 20*page, nil))
	until(t, func() bool {
		stats := p.Stats()
		return stats.ReadyPages == 4 && stats.ParkedPages == 0 && stats.HeldBytes == 4*page
	})
	_, err = p.Alloc(0, page)
	require.NoError(t, err)
	require.NoError(t, p.SetLimit(page))
	until(t, func() bool { return p.Stats().HeldBytes == page })
	require.NoError(t, p.SetLimit(0))
	dev.FailNth(devicetest.Unreserve, 1, nil)
	require.ErrorIs(t, p.Close(true), device.CodeDevice)
	_, err = p.Alloc(0, page)
	require.NoError(t, err)
	until(t, func() bool { return p.Stats().ReadyPages == 4 })
	p.Physical().Pause()
	p.Physical().Resume()
	require.NoError(t, p.Close(true))
	require.Zero(t, dev.HeldBytes())
	require.NoError(t, e.Close())
}

// Another pool of the device gets the memory that this one holds and does not use.
func TestSiblingsAndLimitsOfTheDevice(t *testing.T) {
	r := newRig(t, devicetest.Config{TotalBytes: 20 * page}, func(c *Config) { c.ReadyPages = 4 })
	other, err := newPool(r.engine, Config{Name: "other", CapacityBytes: 32 * page, PageBytes: page, ReadyPages: -1}, false)
	require.NoError(t, err)
	_, err = r.pool.Alloc(0, 12*page)
	require.NoError(t, err)
	r.pool.physical.Settle()
	require.NoError(t, r.pool.Free(2*page, 10*page, nil))
	_, err = other.Alloc(0, 18*page)
	require.NoError(t, err, "idle and parked pages of the sibling went")
	require.Equal(t, 2*page, r.pool.Stats().HeldBytes)
	require.NoError(t, other.Free(0, 18*page, nil))
	require.NoError(t, r.engine.SetLimit(5*page))
	require.LessOrEqual(t, r.dev.HeldBytes(), 5*page)
	_, err = other.Alloc(0, 4*page)
	refused(t, err, device.CodeOutOfMemory, "limit of the device: "+sized(5*page))
	info, err := r.engine.MemoryInfo()
	require.NoError(t, err)
	require.Equal(t, info.TotalBytes, info.UsedBytes+info.FreeBytes+info.ReservedBytes)
	require.NoError(t, other.Close(true))
	r.quit(t)
}

func TestCompactKeepsTheLongestRuns(t *testing.T) {
	r := newRig(t, devicetest.Config{}, func(c *Config) { c.ReadyPages = 4 })
	_, err := r.pool.Alloc(0, 12*page)
	require.NoError(t, err)
	for _, first := range []uint64{1, 3} {
		require.NoError(t, r.pool.Free(first*page, page, nil))
	}
	queued(t, r.dev.Default())
	require.NoError(t, r.pool.Free(5*page, 5*page, nil))
	r.dev.Default().Release()
	report, err := r.pool.Compact()
	require.NoError(t, err)
	require.Equal(t, CompactReport{
		LandedPages: 5, UnmappedPages: 7, ReleasedBytes: 3 * page, RunsBefore: 3, RunsAfter: 1,
	}, report)
	require.True(t, r.pool.IsMapped(0, page), "live blocks stay")
	require.True(t, r.pool.IsMapped(10*page, 2*page))
	r.check(t)
	again, err := r.pool.Compact()
	require.NoError(t, err)
	require.Equal(t, CompactReport{RunsBefore: 1, RunsAfter: 1}, again, "there is nothing to do")
	r.dev.FailNth(devicetest.Unmap, 1, nil)
	require.NoError(t, r.pool.Free(0, page, nil))
	_, err = r.pool.Compact()
	require.ErrorIs(t, err, device.CodeDevice)
	r.check(t)
	r.quit(t)
}
