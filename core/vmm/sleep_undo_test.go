package vmm

import (
	"testing"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/core/device/devicetest"
)

// The calls that take a failed step back fail as well: no byte is lost.
func TestUndoingThatFailsLosesNothing(t *testing.T) {
	for _, pages := range []device.Backing{device.BackingMovable, device.BackingPrivate} {
		for _, again := range []devicetest.Call{devicetest.Create, devicetest.CopyFromHost, devicetest.Map, devicetest.SetAccess, devicetest.NewStream} {
			n := newNap(t, pages, 1)
			// The second chunk cannot be unmapped, then the first not be had again.
			n.dev.FailNth(devicetest.Unmap, 2, nil)
			nth := 1
			if again == devicetest.NewStream {
				nth = 2 // The first was for what failed.
			}
			n.dev.FailNth(again, nth, nil)
			_, err := n.model.Sleep(background, SleepRequest{Streams: 1})
			require.ErrorIs(t, err, device.CodeDevice)
			require.Zero(t, n.dev.ClearFaults())
			n.check(t)
			require.Equal(t, 2*page, n.model.Stats().AsleepBytes)
			require.Equal(t, 7*page, n.model.Stats().PhysicalBytes)
			_, err = n.model.Wake(background, WakeRequest{})
			require.NoError(t, err)
			n.check(t)
			n.end(t)
		}
		n := newNap(t, pages, 1)
		// Mapped again without access, and then not unmapped: it sleeps and has its pages.
		n.dev.FailNth(devicetest.Unmap, 2, nil)
		n.dev.FailNth(devicetest.SetAccess, 1, nil)
		n.dev.FailNth(devicetest.Unmap, 3, nil)
		_, err := n.model.Sleep(background, SleepRequest{Streams: 1})
		require.ErrorIs(t, err, device.CodeDevice)
		require.Zero(t, n.dev.ClearFaults())
		n.check(t)
		require.Equal(t, uint64(2), n.model.space.jammed)
		require.Equal(t, 9*page, n.model.Stats().PhysicalBytes)
		_, err = n.model.Wake(background, WakeRequest{})
		require.NoError(t, err)
		n.check(t)
		n.end(t)
	}
}

// A Wake that cannot unmap again what it has mapped: the pages stay used, and whoever
// wakes or frees them next takes them over.
func TestWakeThatIsJammed(t *testing.T) {
	for _, backing := range []SleepBacking{SleepToHost, SleepToFile, SleepDiscard} {
		n := newNap(t, device.BackingMovable, 1)
		r := SleepRequest{Backing: backing}
		if backing == SleepToFile {
			r.Dir = n.dir
		}
		_, err := n.model.Sleep(background, r)
		require.NoError(t, err)
		n.dev.FailNth(devicetest.SetAccess, 3, nil)
		n.dev.FailNth(devicetest.Unmap, 1, nil)
		_, err = n.model.Wake(background, WakeRequest{})
		require.ErrorIs(t, err, device.CodeDevice)
		require.Zero(t, n.dev.ClearFaults())
		n.check(t)
		require.Equal(t, uint64(6), n.model.space.jammed)
		require.Equal(t, 6*page, n.model.Stats().PhysicalBytes)
		// The device holds what was written there meanwhile; nobody may see it.
		require.NoError(t, n.dev.FillNow(n.addr(4), 77, page))
		require.NoError(t, n.model.Deallocate(2*page, page, nil))
		delete(n.values, 2)
		n.check(t)
		for at := range n.values {
			n.asleep[at] = backing
		}
		_, err = n.model.Wake(background, WakeRequest{})
		require.NoError(t, err)
		for at := range n.values {
			n.lost[at] = backing == SleepDiscard
		}
		clear(n.asleep)
		n.check(t)
		require.Zero(t, n.model.space.jammed)
		n.end(t)
	}
}

// A Wake that fails half-way keeps the bytes again that it had brought back already.
// What it cannot keep again stays awake, and the rest is woken by the next one.
func TestWakeThatCannotBeUndone(t *testing.T) {
	for _, pages := range []device.Backing{device.BackingMovable, device.BackingPrivate} {
		for _, fails := range []devicetest.Call{"", devicetest.CopyToHost, devicetest.NewStream} {
			n := newNap(t, pages, 1)
			_, err := n.model.Sleep(background, SleepRequest{})
			require.NoError(t, err)
			n.dev.FailNth(devicetest.CopyFromHost, 3, nil)
			awake := uint64(0)
			switch fails {
			case devicetest.CopyToHost:
				n.dev.FailNth(fails, 2, nil)
				awake = 2
			case devicetest.NewStream:
				n.dev.FailNth(fails, 2, nil)
				awake = 2
			}
			_, err = n.model.Wake(background, WakeRequest{Streams: 1})
			require.ErrorIs(t, err, device.CodeDevice)
			require.Zero(t, n.dev.ClearFaults())
			n.check(t)
			stats := n.model.Stats()
			require.Equal(t, awake*page, stats.PhysicalBytes)
			require.Equal(t, (9-awake)*page, stats.AsleepBytes)
			require.Equal(t, stats.AsleepBytes, stats.AsleepHostBytes)
			require.True(t, n.model.IsAsleep(""), "the call has not worked")
			for at := range n.values {
				if !n.model.IsMapped(at*page, page) {
					n.asleep[at] = SleepToHost
				}
			}
			require.Len(t, n.asleep, int(9-awake))
			n.look(t)
			_, err = n.model.Wake(background, WakeRequest{})
			require.NoError(t, err)
			clear(n.asleep)
			n.check(t)
			n.end(t)
		}
	}
}

// A stream that cannot be closed keeps what its copy may use until it can.
func TestStreamsThatCannotBeClosed(t *testing.T) {
	n := newNap(t, device.BackingMovable, 1)
	n.dev.FailNth(devicetest.StreamSynchronize, 1, nil)
	n.dev.FailNth(devicetest.StreamClose, 1, nil)
	n.dev.FailNth(devicetest.StreamClose, 2, nil)
	_, err := n.model.Sleep(background, SleepRequest{Streams: 1})
	require.ErrorIs(t, err, device.CodeDevice)
	require.Equal(t, 1, n.kept.taken, "the copy may not be done")
	require.Len(t, n.model.space.leftovers, 1)
	require.NotZero(t, n.model.Stats().AsleepHostBytes)
	_, err = n.model.Sleep(background, SleepRequest{Streams: 1})
	require.NoError(t, err)
	n.check(t)
	for at := range n.values {
		n.asleep[at] = SleepToHost
	}

	// The same on the way back; the range is freed before the copy is known to be done.
	n.dev.FailNth(devicetest.StreamSynchronize, 1, nil)
	n.dev.FailNth(devicetest.StreamClose, 1, nil)
	n.dev.FailNth(devicetest.StreamClose, 2, nil)
	n.dev.FailNth(devicetest.StreamClose, 3, nil)
	_, err = n.model.Wake(background, WakeRequest{Streams: 1})
	require.ErrorIs(t, err, device.CodeDevice)
	taken := n.kept.taken
	require.NoError(t, n.model.Deallocate(0, 4*page, nil))
	for at := range uint64(4) {
		delete(n.values, at)
		delete(n.asleep, at)
	}
	require.Equal(t, taken-1, n.kept.taken, "of two chunks one is still in use")
	n.dev.ClearFaults()
	require.NoError(t, n.model.space.sweep())
	require.Equal(t, taken-2, n.kept.taken)
	n.check(t)
	n.end(t)
}
