package vmm

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/core/device/devicetest"
	"ferrum_mem/core/engine"
	"ferrum_mem/core/vmm/sleep"
)

// watch calls look at every use of host memory: after its allocation and before its
// free. Several copies may run at once.
func (n *nap) watch(look func()) {
	var one sync.Mutex
	seen := look
	look = func() {
		one.Lock()
		defer one.Unlock()
		if seen != nil {
			seen()
		}
	}
	keepers := &n.shared.physical.keepers
	take := keepers.TakeBlock
	keepers.TakeBlock = func(size uint64) (*sleep.Block, error) {
		b, err := take(size)
		if err != nil {
			return nil, err
		}
		look()
		free := b.Free
		b.Free = func() error { look(); return free() }
		return b, nil
	}
}

// The price of all or nothing, by the counters of the engine: during a Sleep or Wake
// the bytes exist twice, in the pages and in the copies, and never more often. After it
// they exist once.
func TestSleepHoldsBytesTwiceUntilItsEnd(t *testing.T) {
	for _, pages := range everyPage {
		n := newNap(t, pages, 1)
		const all = 9 * page
		peak, least := uint64(0), uint64(0)
		n.watch(func() {
			asleep := n.engine.Asleep().HostBytes
			peak = max(peak, n.engine.Statistics().Reserved.Current+asleep)
			least = min(least, n.engine.Statistics().Reserved.Current)
		})
		least = all
		_, err := n.model.Sleep(background, SleepRequest{Streams: 1})
		require.NoError(t, err)
		require.Greater(t, peak, all)
		require.LessOrEqual(t, peak, 2*all)
		require.Equal(t, all, least, "no page is given up while bytes are copied")
		n.check(t)
		require.Zero(t, n.engine.Statistics().Reserved.Current, "the pages are the device's again")
		require.Equal(t, all, n.engine.Asleep().HostBytes)

		peak = 0
		_, err = n.model.Wake(background, WakeRequest{Streams: 1})
		require.NoError(t, err)
		require.Equal(t, 2*all, peak, "no copy is given up before all is awake")
		require.Equal(t, all, n.engine.Statistics().Reserved.Current)
		require.Zero(t, n.engine.Asleep())
		n.check(t)

		// The copy of the fourth chunk fails; no page has to be allocated again.
		peak, least = 0, all
		n.dev.FailNth(devicetest.CopyToHost, 4, nil)
		_, err = n.model.Sleep(background, SleepRequest{Streams: 1})
		require.ErrorIs(t, err, device.CodeDevice)
		require.Equal(t, all+8*page, peak)
		require.Equal(t, all, least)
		require.Zero(t, n.engine.Asleep())
		n.check(t)
		n.look(t)
		n.end(t)
	}
}

// The pages of a Sleep in progress stay charged to the model, however far it is.
func TestPagesOfAnUnfinishedSleepStayCharged(t *testing.T) {
	n := newNap(t, device.BackingMovable, 1)
	other := n.party.model(t, "other", 0, 0, 0)
	used := uint64(0)
	chunks := 0
	n.watch(func() {
		if chunks++; chunks == 2 {
			require.ErrorIs(t, n.model.Free(0, 4*page, nil), device.CodeBusy, "it is being put to sleep")
		} else if chunks == 4 {
			used = n.shared.GlobalStats().PhysicalBytes
			_, err := other.Alloc(8 * page)
			require.ErrorIs(t, err, device.CodeOutOfPhysicalMemory)
			require.ErrorIs(t, n.model.Free(0, page, nil), device.CodeBusy, "it is being put to sleep")
			_, err = n.model.AllocAt(0, page)
			require.ErrorIs(t, err, device.CodeInvalidState)
		}
	})
	_, err := n.model.Sleep(background, SleepRequest{Streams: 1})
	require.NoError(t, err)
	require.Equal(t, 9*page, used)
	a, err := other.Alloc(8 * page)
	require.NoError(t, err)
	n.check(t)
	free(t, other, a)
	_, err = n.model.Wake(background, WakeRequest{})
	require.NoError(t, err)
	n.look(t)
	n.end(t)
}

// Pages that are freed while they sleep leave the kept chunks, with one chunk for each
// page.
func TestFreedPagesAreKeptNoLonger(t *testing.T) {
	r := newRig(t, backed(devicetest.Config{TotalBytes: 1024 * page}), func(c *Config) { c.CapacityBytes = 1024 * page })
	keep(r.pool.physical, r.dev)
	r.pool.physical.keepers.ChunkBytes = page
	const all = 1000
	_, err := r.pool.Alloc(0, all*page)
	require.NoError(t, err)
	_, err = r.pool.Sleep(background, SleepRequest{Streams: 1})
	require.NoError(t, err)
	s := r.pool.space
	chunks := func() int { return len(s.table.saved.Jobs(func(uint32) bool { return true })) }
	require.Equal(t, all, chunks())
	require.NoError(t, r.pool.Free(500*page, 2*page, nil))
	r.check(t)
	require.Equal(t, all-2, chunks())
	_, err = r.pool.Wake(background, WakeRequest{})
	require.NoError(t, err)
	r.check(t)
	_, err = r.pool.Sleep(background, SleepRequest{})
	require.NoError(t, err)
	require.Equal(t, engine.Asleep{HostBytes: (all - 2) * page}, r.engine.Asleep())
	r.check(t)
	r.quit(t)
}
