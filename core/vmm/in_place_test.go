package vmm

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/core/device/devicetest"
)

// Contents in place are not copied: a Sleep and a Wake unmap and map, and take no host memory.
func TestContentsInPlaceAreNotCopied(t *testing.T) {
	n := newNapIn(t, device.BackingPrivate, 1, inPlace)
	_, err := n.model.Sleep(background, SleepRequest{})
	require.NoError(t, err)
	n.check(t)
	require.Equal(t, 9*page, n.dev.KeptBytes())
	require.Equal(t, 9*page, n.model.Stats().AsleepHostBytes)
	require.Zero(t, n.engine.Statistics().Reserved.Current, "the pages are the device's again")
	require.Zero(t, n.kept.taken)
	_, err = n.model.Wake(background, WakeRequest{Tag: "kv"})
	require.NoError(t, err)
	n.check(t)
	require.Equal(t, 6*page, n.dev.KeptBytes())
	require.Equal(t, 6*page, n.model.Stats().AsleepHostBytes)
	_, err = n.model.Wake(background, WakeRequest{})
	require.NoError(t, err)
	require.Zero(t, n.dev.KeptBytes())
	n.look(t)
	require.Zero(t, n.dev.Calls(devicetest.CopyToHost)+n.dev.Calls(devicetest.CopyFromHost))
	n.end(t)
}

// Pages that are freed while they sleep lose what was kept for them, and nothing else. If the
// device fails to drop it, a later call drops it, and pages that are mapped there read as zeros.
func TestPagesFreedWhileInPlaceLoseTheirContents(t *testing.T) {
	for _, fails := range []bool{false, true} {
		n := newNapIn(t, device.BackingPrivate, 1, inPlace)
		_, err := n.model.Sleep(background, SleepRequest{Tag: "weights"})
		require.NoError(t, err)
		if fails {
			n.dev.FailNth(devicetest.DropKept, 1, nil)
		}
		require.NoError(t, n.model.Free(page, 2*page, nil))
		require.Zero(t, n.dev.ClearFaults())
		left := 4 * page
		require.Equal(t, left, n.model.Stats().AsleepHostBytes)
		if fails {
			require.Equal(t, left+2*page, n.dev.KeptBytes())
		} else {
			require.Equal(t, left, n.dev.KeptBytes())
		}
		// Another allocation takes the place, and sleeps there too. The second attempt of the
		// drop does not reach its contents.
		again, err := n.model.AllocTaggedAt(AllocRequest{OffsetBytes: page, SizeBytes: 2 * page, Tag: "next"})
		require.NoError(t, err)
		_, other, err := n.dev.FirstOther(again.Addr, 0, 2*page)
		require.NoError(t, err)
		require.False(t, other, "bytes of the freed allocation")
		require.Equal(t, left, n.dev.KeptBytes())
		require.NoError(t, n.dev.FillNow(again.Addr, 77, 2*page))
		_, err = n.model.Sleep(background, SleepRequest{Tag: "next"})
		require.NoError(t, err)
		n.check(t)
		_, err = n.model.Wake(background, WakeRequest{})
		require.NoError(t, err)
		n.values[1], n.values[2] = 77, 77
		n.look(t)
		n.check(t)
		n.end(t)
	}
}

// If the device allows neither the rest of a Sleep nor its undo, everything ends asleep. The
// pages that stay mapped have their contents.
func TestSleepInPlaceThatCannotBeUndoneContinues(t *testing.T) {
	n := newNapIn(t, device.BackingPrivate, 1, inPlace)
	n.dev.FailNth(devicetest.UnmapKeeping, 2, nil)
	n.dev.FailNth(devicetest.MapKept, 1, nil)
	n.dev.FailNth(devicetest.UnmapKeeping, 3, nil)
	report, err := n.model.Sleep(background, n.request(SleepToHost))
	require.NoError(t, err)
	require.Zero(t, n.dev.ClearFaults())
	require.Equal(t, 7*page, report.Bytes, "the pages whose unmap failed stay")
	require.Equal(t, 2*page, n.model.Stats().PhysicalBytes)
	require.True(t, allAsleep(n.record(t)))
	require.Equal(t, 7*page, n.dev.KeptBytes())
	n.check(t)
	n.settle(t, SleepToHost, true)
	n.end(t)
}

// slowKeeper stops in DropKept until leave is closed.
type slowKeeper struct {
	device.ContentKeeper
	dev            *devicetest.Device
	entered, leave chan struct{}
	reservations   int
}

func (k *slowKeeper) DropKept(addr device.Addr, size uint64, mark uint32) error {
	close(k.entered)
	<-k.leave
	k.reservations = k.dev.Reservations()
	return k.ContentKeeper.DropKept(addr, size, mark)
}

// A Close waits for another thread that drops contents of the address space.
func TestCloseWaitsForADrop(t *testing.T) {
	r := newRig(t, inPlace.config(), func(c *Config) { c.Backing = device.BackingPrivate })
	slow := &slowKeeper{ContentKeeper: r.dev.ContentKeeper, dev: r.dev, entered: make(chan struct{}), leave: make(chan struct{})}
	r.dev.ContentKeeper = slow
	_, err := r.pool.AllocTagged(AllocRequest{SizeBytes: 2 * page})
	require.NoError(t, err)
	_, err = r.pool.Sleep(background, SleepRequest{})
	require.NoError(t, err)
	freed, closed := make(chan error, 1), make(chan error, 1)
	go func() { freed <- r.pool.Free(0, 2*page, nil) }()
	<-slow.entered
	go func() { closed <- r.pool.Close(false) }()
	for isClosing := false; !isClosing; {
		runtime.Gosched()
		s := r.pool.space
		s.mu.Lock()
		isClosing = s.table.state != stateOpen
		s.mu.Unlock()
	}
	for range 100 {
		runtime.Gosched()
	}
	require.Empty(t, closed)
	close(slow.leave)
	require.NoError(t, <-freed)
	require.NoError(t, <-closed)
	require.Equal(t, 1, slow.reservations, "the address space is still there")
	require.Zero(t, r.dev.Reservations())
}
