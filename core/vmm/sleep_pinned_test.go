package vmm

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/core/device/devicetest"
	"ferrum_mem/core/engine"
	"ferrum_mem/core/vmm/sleep"
)

// hostPlace is a way in which contents sleep in host memory.
type hostPlace struct {
	name string
	// lockableBytes is the size of the memory that the device can page-lock.
	lockableBytes uint64
	// pinnedBytes and bufferBytes are the fields of sleep.Keepers.
	pinnedBytes, bufferBytes uint64
	// keepsContents states that the contents of private pages stay in place.
	keepsContents bool
}

var hostPlaces = []hostPlace{
	{name: "pageable"},
	{name: "page-locked", lockableBytes: 64 * page, pinnedBytes: 2 * page, bufferBytes: page},
	// Short chunks are page-locked. The others are pageable, with parts that are shorter
	// than a page.
	{name: "through staging buffers", lockableBytes: 3 * page, pinnedBytes: 4 * page, bufferBytes: page / 2},
	// The staging buffers cannot be page-locked either.
	{name: "no room", lockableBytes: 1, pinnedBytes: 4 * page, bufferBytes: page},
	inPlace,
}

var inPlace = hostPlace{name: "in place", keepsContents: true}

// config returns the config of a backed device with the place.
func (p hostPlace) config() devicetest.Config {
	return backed(devicetest.Config{PinnedBytes: p.lockableBytes, KeepsContents: p.keepsContents})
}

func (p hostPlace) set(ph *Physical) {
	if p.lockableBytes > 0 {
		ph.keepers.PinnedBytes, ph.keepers.BufferBytes = p.pinnedBytes, p.bufferBytes
	}
}

func requireNothingLocked(t require.TestingT, dev *devicetest.Device) {
	require.Zero(t, dev.PinnedBytes())
	require.Zero(t, sleep.StagingBytes())
	require.Zero(t, sleep.LockedBytes())
}

// While contents are asleep, they are in page-locked memory, as much of it as the
// counters say, and there is no staging memory.
func TestContentsSleepInPageLockedMemory(t *testing.T) {
	n := newNapIn(t, device.BackingMovable, 2, hostPlaces[1])
	_, err := n.model.Sleep(background, SleepRequest{Streams: 2})
	require.NoError(t, err)
	require.Zero(t, n.kept.taken, "no pageable memory")
	require.Equal(t, 9*page, n.dev.PinnedBytes())
	require.Equal(t, 9*page, n.model.Stats().AsleepHostBytes)
	require.Equal(t, 9*page, sleep.LockedBytes())
	require.Zero(t, sleep.StagingBytes())
	_, err = n.model.Wake(background, WakeRequest{Tag: "kv"})
	require.NoError(t, err)
	require.Equal(t, 6*page, n.dev.PinnedBytes())
	require.Equal(t, 6*page, n.model.Stats().AsleepHostBytes)
	n.check(t)
	_, err = n.model.Wake(background, WakeRequest{})
	require.NoError(t, err)
	n.look(t)
	n.end(t)
}

// Memory that the device does not free stays counted. The next Sleep, Wake or Close
// frees it.
func TestPageLockedMemoryThatIsNotFreed(t *testing.T) {
	n := newNapIn(t, device.BackingMovable, 1, hostPlaces[1])
	_, err := n.model.Sleep(background, SleepRequest{Tag: "kv", Streams: 1})
	require.NoError(t, err)
	n.dev.FailNth(devicetest.FreePinned, 1, nil)
	n.dev.FailNth(devicetest.FreePinned, 2, nil)
	_, err = n.model.Wake(background, WakeRequest{Streams: 1})
	require.NoError(t, err, "the contents are back")
	require.Zero(t, n.dev.ClearFaults())
	n.look(t)
	require.NotZero(t, n.dev.PinnedBytes())
	require.Equal(t, n.dev.PinnedBytes(), n.model.Stats().AsleepHostBytes)
	require.Equal(t, n.dev.PinnedBytes(), sleep.LockedBytes())
	require.NoError(t, n.model.space.sweep())
	n.check(t)
	requireNothingLocked(t, n.dev)
	n.end(t)
}

// A Wake does not wait until much page-locked memory is freed. Until then the counters
// have it. The next Sleep and Close wait for it.
func TestAWakeFreesPageLockedMemoryLater(t *testing.T) {
	for _, closes := range []bool{false, true} {
		p := newPartyWith(t, backed(devicetest.Config{PinnedBytes: 64 * page}), engine.Options{},
			ElasticConfig{LimitBytes: 16 * page, ReadyPages: -1}, true)
		keep(p.shared.physical, p.dev)
		keepers := &p.shared.physical.keepers
		keepers.LateBytes = 4 * page
		take, gate := keepers.TakePinned, make(chan struct{})
		keepers.TakePinned = func(size uint64) (*sleep.Block, error) {
			b, err := take(size)
			if err == nil {
				free := b.Free
				b.Free = func() error { <-gate; return free() }
			}
			return b, err
		}
		m := p.model(t, "m", 0, 0, 0)
		get(t, m, 4)
		_, err := m.Sleep(background, SleepRequest{})
		require.NoError(t, err)
		_, err = m.Wake(background, WakeRequest{})
		require.NoError(t, err, "the call does not wait for the blocked stream")
		require.Equal(t, 4*page, m.Stats().AsleepHostBytes)
		require.Zero(t, m.Stats().AsleepBytes)
		_, err = m.Sleep(background, SleepRequest{NoWait: true, Backing: SleepDiscard})
		require.NoError(t, err)
		_, err = m.Wake(background, WakeRequest{})
		require.NoError(t, err)

		ended := device.Go("test", func() {
			if closes {
				err = p.shared.Close(true)
			} else {
				_, err = m.Sleep(background, SleepRequest{})
			}
		})
		select {
		case <-ended:
			t.Error("the call has not waited")
		case <-time.After(10 * time.Millisecond):
		}
		close(gate)
		<-ended
		require.NoError(t, err)
		if !closes {
			require.Equal(t, 4*page, p.dev.PinnedBytes())
			require.NoError(t, p.shared.Close(true))
		}
		requireNothingLocked(t, p.dev)
	}
}
