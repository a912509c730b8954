package vmm

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/core/device/devicetest"
	"ferrum_mem/core/engine"
)

// watch has a look at every use of host memory, once it is had and before it is given
// back. Several copies may run at once.
func (n *nap) watch(look func()) {
	var one sync.Mutex
	seen := look
	look = func() {
		one.Lock()
		defer one.Unlock()
		seen()
	}
	keepers := &n.shared.physical.keepers
	take := keepers.takeBlock
	keepers.takeBlock = func(size uint64) (*block, error) {
		b, err := take(size)
		if err != nil {
			return nil, err
		}
		look()
		free := b.free
		b.free = func() { look(); free() }
		return b, nil
	}
}

// Pages and what is kept of them are never there twice, but for a chunk of each stream:
// by the books of the engine at any time of a Sleep, of one that is undone and of a
// Wake. The pages of a Wake are had at its beginning and filled as it goes.
func TestNothingIsThereTwice(t *testing.T) {
	for _, pages := range []device.Backing{device.BackingMovable, device.BackingPrivate} {
		n := newNap(t, pages, 1)
		const all, chunk = 9 * page, 2 * page
		peak, least := uint64(0), uint64(0)
		n.watch(func() {
			asleep := n.engine.Asleep().HostBytes
			peak = max(peak, n.engine.Statistics().Reserved.Current+asleep)
			least = min(least, asleep)
		})
		_, err := n.model.Sleep(background, SleepRequest{Streams: 1})
		require.NoError(t, err)
		require.Greater(t, peak, uint64(0))
		require.LessOrEqual(t, peak, all+chunk)
		n.check(t)
		require.Zero(t, n.engine.Statistics().Reserved.Current, "the pages are the device's again")

		least = all
		_, err = n.model.Wake(background, WakeRequest{Streams: 1})
		require.NoError(t, err)
		require.LessOrEqual(t, least, chunk, "the copy goes as the bytes come")
		n.check(t)

		// The fourth chunk cannot be copied: the others come back.
		peak = 0
		n.dev.FailNth(devicetest.CopyToHost, 4, nil)
		_, err = n.model.Sleep(background, SleepRequest{Streams: 1})
		require.ErrorIs(t, err, device.CodeDevice)
		require.LessOrEqual(t, peak, all+2*chunk)
		require.Equal(t, all, n.model.Stats().PhysicalBytes)
		require.Zero(t, n.engine.Asleep())
		n.check(t)
		n.look(t)
		n.end(t)
	}
}

// While a Sleep is under way nobody else can have the pages that it has given back: it
// may have to have them again.
func TestPagesOfAnUnfinishedSleepStayCharged(t *testing.T) {
	n := newNap(t, device.BackingMovable, 1)
	other := n.party.model(t, "other", 0, 0, 0)
	used := uint64(0)
	chunks := 0
	n.watch(func() {
		if chunks++; chunks == 2 {
			require.ErrorIs(t, n.model.Deallocate(0, 4*page, nil), device.CodeBusy, "a part of it is awake yet")
		} else if chunks == 4 {
			used = n.shared.GlobalStats().PhysicalBytes
			_, err := other.Allocate(8 * page)
			require.ErrorIs(t, err, device.CodeOutOfPhysicalMemory)
			require.ErrorIs(t, n.model.Deallocate(0, page, nil), device.CodeBusy, "it is being put to sleep")
			_, err = n.model.AllocateAt(0, page)
			require.ErrorIs(t, err, device.CodeInvalidState)
		}
	})
	_, err := n.model.Sleep(background, SleepRequest{Streams: 1})
	require.NoError(t, err)
	require.Equal(t, 9*page, used)
	a, err := other.Allocate(8 * page)
	require.NoError(t, err)
	n.check(t)
	free(t, other, a)
	_, err = n.model.Wake(background, WakeRequest{})
	require.NoError(t, err)
	n.look(t)
	n.end(t)
}

// What happens to one page costs what is there of it, however many chunks sleep.
func TestFreeingWhatSleepsLooksAtItsOwnChunks(t *testing.T) {
	r := newRig(t, backed(devicetest.Config{TotalBytes: 1024 * page}), func(c *Config) { c.CapacityBytes = 1024 * page })
	keep(r.pool.physical, r.dev)
	r.pool.physical.keepers.chunkBytes = page
	const all = 1000
	_, err := r.pool.Allocate(0, all*page)
	require.NoError(t, err)
	_, err = r.pool.Sleep(background, SleepRequest{Streams: 1})
	require.NoError(t, err)
	s := r.pool.space
	require.Len(t, s.kept.ordered(), all)
	steps := func(at run) (seen int) {
		s.kept.each(at, func(*chunk, run) { seen++ })
		return seen
	}
	require.Equal(t, 1, steps(run{500, 1}))
	require.Equal(t, 3, steps(run{500, 3}))
	require.NoError(t, r.pool.Deallocate(500*page, 2*page, nil))
	r.check(t)
	require.Equal(t, 0, steps(run{500, 2}))
	require.Len(t, s.kept.ordered(), all-2)
	require.Len(t, s.kept.spare, 2)
	_, err = r.pool.Wake(background, WakeRequest{})
	require.NoError(t, err)
	r.check(t)
	_, err = r.pool.Sleep(background, SleepRequest{})
	require.NoError(t, err)
	require.Len(t, s.kept.all, all, "numbers are used again")
	require.Equal(t, engine.Asleep{HostBytes: (all - 2) * page}, r.engine.Asleep())
	r.check(t)
	r.quit(t)
}
