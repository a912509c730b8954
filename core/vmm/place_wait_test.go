package vmm

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"ferrum_mem/core/device"
	"ferrum_mem/core/device/devicetest"
	"ferrum_mem/core/engine"
	"ferrum_mem/core/vmm/pageset"
)

// An allocation waits for retiring address space if no free run is long enough and the
// retiring ranges would make one. The model has 64 pages of address space.
func TestAllocWaitsForAddressSpaceThatRetires(t *testing.T) {
	p := newParty(t, devicetest.Config{}, 256)
	m := p.model(t, "m", 0, 0, 0)
	low, high := get(t, m, 40), get(t, m, 16)
	other, err := p.dev.NewStream()
	require.NoError(t, err)
	stands := other.(*devicetest.Stream)
	queued(t, stands)
	queued(t, p.dev.Default())
	require.NoError(t, m.Free(low.OffsetBytes, 10*page, stands))
	require.NoError(t, m.Free(10*page, 30*page, nil))

	a := get(t, m, 8)
	require.Equal(t, 56*page, a.OffsetBytes, "a free address range is used first")
	free(t, m, a)
	_, err = m.Alloc(41 * page)
	refused(t, err, device.CodeOutOfVirtualMemory, "the longest free run of model \"m\" is 0 bytes of 4 MiB, 3 MiB are retiring")
	require.Zero(t, p.dev.Calls(devicetest.EventSynchronize), "all that retires would not be enough")

	got := make(chan Allocation)
	go func() {
		a, err := m.Alloc(24 * page)
		if err != nil {
			panic(err)
		}
		got <- a
	}()
	until(t, func() bool { return p.dev.Calls(devicetest.EventSynchronize) > 3 })
	require.Zero(t, p.shared.GlobalStats().PendingBytes, "the waiting request takes no pages from other models")
	p.dev.Default().Release()
	require.Equal(t, 10*page, (<-got).OffsetBytes, "a blocked stream does not delay other streams")
	stands.Release()
	require.NoError(t, stands.Close())
	require.True(t, m.IsMapped(high.OffsetBytes, high.SizeBytes))
	require.NoError(t, m.Synchronize())
	p.check(t)
	p.quit(t)
}

// The wait ends when the model is unregistered. A call on a thread that must not wait
// fails at once.
func TestTheWaitForAddressSpaceEnds(t *testing.T) {
	var inside insideFlag
	p := newPartyWith(t, devicetest.Config{}, inside.options(), ElasticConfig{LimitBytes: 256 * page}, false)
	m := p.model(t, "m", 0, 0, 0)
	a := get(t, m, 64)
	queued(t, p.dev.Default())
	free(t, m, a)
	leave := inside.enter()
	_, err := m.Alloc(page)
	refused(t, err, device.CodeOutOfVirtualMemory, "4 MiB are retiring")
	leave()
	require.Zero(t, p.dev.Calls(devicetest.EventSynchronize))
	m.space.patience = time.Millisecond
	_, err = m.Alloc(page)
	refused(t, err, device.CodeOutOfVirtualMemory, "4 MiB are retiring")
	p.dev.FailNth(devicetest.EventSynchronize, 1, nil)
	_, err = m.Alloc(page)
	require.ErrorIs(t, err, device.CodeDevice)
	p.check(t)

	m.space.patience = time.Hour
	calls := p.dev.Calls(devicetest.EventSynchronize)
	done := device.Go("allocate", func() { _, err = m.Alloc(page) })
	until(t, func() bool { return p.dev.Calls(devicetest.EventSynchronize) > calls })
	ended := device.Go("unregister", func() {
		if err := p.shared.Unregister("m", false); err != nil {
			panic(err)
		}
	})
	<-done
	require.ErrorIs(t, err, device.CodeModelNotFound)
	p.dev.Default().Release()
	<-ended
	p.quit(t)
}

// fitSoon agrees with a slice of pages, where each range takes the first run that is long
// enough. It leaves the free map as it was.
func TestFitSoonMatchesASlice(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := newRigWith(t, devicetest.Config{}, engine.Options{}, func(c *Config) { c.CapacityBytes = 40 * page })
		s := r.pool.space
		streams := []*devicetest.Stream{r.dev.Default()}
		other, err := r.dev.NewStream()
		require.NoError(t, err)
		streams = append(streams, other.(*devicetest.Stream))
		for _, stream := range streams {
			queued(t, stream)
		}
		_, err = r.pool.Alloc(0, 40*page)
		require.NoError(t, err)
		var usable [40]bool
		for at := range usable {
			switch rapid.IntRange(0, 3).Draw(t, "page") {
			case 0:
				usable[at] = true
				idle, err := r.dev.NewStream()
				require.NoError(t, err)
				require.NoError(t, r.pool.Free(uint64(at)*page, page, idle))
				require.NoError(t, idle.Close())
			case 1, 2:
				usable[at] = true
				require.NoError(t, r.pool.Free(uint64(at)*page, page, streams[at%2]))
			}
		}
		s.mu.Lock()
		longest := s.table.free.Longest()
		for range 4 {
			var list []target
			for _, pages := range rapid.SliceOfN(rapid.IntRange(1, 12), 1, 5).Draw(t, "pages") {
				list = append(list, target{run: pageset.Run{Pages: uint64(pages)}})
			}
			require.Equal(t, firstFits(usable, list), s.fitSoon(list))
			require.Equal(t, longest, s.table.free.Longest())
		}
		s.mu.Unlock()
		streams[1].Release()
		require.NoError(t, streams[1].Synchronize(device.Forever))
		streams[0].Release()
		require.NoError(t, r.pool.Synchronize())
		require.NoError(t, streams[1].Close())
		r.quit(t)
	})
}

// firstFits reports whether each range finds a run of usable pages, one after the other.
func firstFits(usable [40]bool, list []target) bool {
next:
	for _, at := range list {
		row := 0
		for page := range usable {
			if row++; !usable[page] {
				row = 0
			}
			if row == int(at.run.Pages) {
				clear(usable[page+1-row : page+1])
				continue next
			}
		}
		return false
	}
	return true
}
