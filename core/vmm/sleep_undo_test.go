package vmm

import (
	"testing"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/core/device/devicetest"
)

// A Wake that cannot unmap again what it has mapped: the pages stay used, and the next
// wake or free of them takes them over.
func TestPagesThatAWakeCannotUnmapStayUsed(t *testing.T) {
	// The last SetAccess of each Wake fails. There is one for each chunk.
	for backing, last := range map[SleepBacking]int{SleepToHost: 5, SleepToFile: 5, SleepDiscard: 4} {
		n := newNap(t, device.BackingMovable, 1)
		r := SleepRequest{Backing: backing}
		if backing == SleepToFile {
			r.Dir = n.dir
		}
		_, err := n.model.Sleep(background, r)
		require.NoError(t, err)
		n.dev.FailNth(devicetest.SetAccess, last, nil)
		n.dev.FailNth(devicetest.Unmap, 1, nil)
		_, err = n.model.Wake(background, WakeRequest{})
		require.ErrorIs(t, err, device.CodeDevice, "backing %d", backing)
		require.Zero(t, n.dev.ClearFaults())
		n.check(t)
		require.Equal(t, uint64(6), n.model.space.table.stillMapped)
		require.Equal(t, 6*page, n.model.Stats().PhysicalBytes)
		// The device has the bytes of a write in between; they must never be visible.
		require.NoError(t, n.dev.FillNow(n.addr(4), 77, page))
		require.NoError(t, n.model.Free(2*page, page, nil))
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
		require.Zero(t, n.model.space.table.stillMapped)
		n.end(t)
	}
}

// The pages of a Wake are not zeroed, because it writes to all their bytes. After a Wake
// that failed half-way, no model reads their former contents.
func TestPagesOfAFailedWakeAreZeroedForTheNextUse(t *testing.T) {
	n := newNap(t, device.BackingMovable, 1)
	next := n.party.model(t, "next", 0, 16, 0)
	_, err := n.model.Sleep(background, SleepRequest{Tag: n.tag(1)})
	require.NoError(t, err)
	created := n.dev.Calls(devicetest.Create)
	n.dev.FailNth(devicetest.CopyFromHost, 2, nil)
	_, err = n.model.Wake(background, WakeRequest{Tag: n.tag(1), Streams: 1})
	require.ErrorIs(t, err, device.CodeDevice)
	require.Zero(t, n.dev.ClearFaults())
	require.Greater(t, n.dev.Calls(devicetest.Create), created)
	created = n.dev.Calls(devicetest.Create)
	for _, m := range []*Model{n.model, next} {
		a := get(t, m, 3)
		_, other, err := n.dev.FirstOther(m.BaseAddress()+device.Addr(a.OffsetBytes), 0, 3*page)
		require.NoError(t, err)
		require.False(t, other, "%q sees bytes that it did not write", m.ID())
		free(t, m, a)
	}
	require.Equal(t, created, n.dev.Calls(devicetest.Create), "the pages are used again")
	_, err = n.model.Wake(background, WakeRequest{})
	require.NoError(t, err)
	n.end(t)
}

// A Wake that fails half-way may leave mapped pages behind, whose contents are undefined or
// belong to another model. Nobody reads them: neither the model that frees the range and
// allocates it again, nor another model that gets the pages.
func TestMappedPagesOfAFailedWakeAreZeroedForTheNextUse(t *testing.T) {
	for _, taken := range []bool{false, true} {
		for _, moves := range []bool{false, true} {
			n := newNap(t, device.BackingMovable, 1)
			next := n.party.model(t, "next", 0, 16, 0)
			_, err := n.model.Sleep(background, SleepRequest{Tag: n.tag(1)})
			require.NoError(t, err)
			if taken {
				n.leavePages(t, n.party.model(t, "former", 0, 16, 0))
			}
			n.dev.FailNth(devicetest.CopyFromHost, 1, nil)
			for nth := 1; nth <= 3; nth++ {
				n.dev.FailNth(devicetest.Unmap, nth, nil)
			}
			_, err = n.model.Wake(background, WakeRequest{Tag: n.tag(1), Streams: 1})
			require.ErrorIs(t, err, device.CodeDevice)
			n.dev.ClearFaults()
			require.True(t, n.model.space.table.isMappedAt(4))
			require.NoError(t, n.model.Free(4*page, 2*page, nil))
			delete(n.values, 4)
			delete(n.values, 5)
			var at device.Addr
			if moves {
				_, err = n.shared.physical.unpark(maxWanted, nil)
				require.NoError(t, err)
				at = get(t, next, 2).Addr
			} else {
				a, err := n.model.AllocTaggedAt(AllocRequest{OffsetBytes: 4 * page, SizeBytes: 2 * page})
				require.NoError(t, err)
				at = a.Addr
			}
			_, other, err := n.dev.FirstOther(at, 0, 2*page)
			require.NoError(t, err)
			require.False(t, other, "pages of another model: %v, moved: %v", taken, moves)
		}
	}
}

// leavePages makes another model write to ten pages and free them. They are idle then.
func (n *nap) leavePages(t *testing.T, former *Model) {
	a := get(t, former, 10)
	require.NoError(t, n.dev.FillNow(a.Addr, 0x77, 10*page))
	free(t, former, a)
	_, err := n.shared.physical.unpark(maxWanted, nil)
	require.NoError(t, err)
}

// A Wake writes to all bytes of the pages that it gets, so it does not zero those of another
// model. Pages that wake without contents are zeroed.
func TestAWakeZeroesOnlyPagesThatItDoesNotOverwrite(t *testing.T) {
	for backing, zeroed := range map[SleepBacking]bool{SleepToHost: false, SleepToFile: false, SleepDiscard: true} {
		n := newNap(t, device.BackingMovable, 1)
		next := n.party.model(t, "next", 0, 16, 0)
		r := SleepRequest{Backing: backing}
		if backing == SleepToFile {
			r.Dir = n.dir
		}
		_, err := n.model.Sleep(background, r)
		require.NoError(t, err)
		n.leavePages(t, next)
		calls := n.dev.Calls(devicetest.Zero)
		_, err = n.model.Wake(background, WakeRequest{})
		require.NoError(t, err)
		require.Equal(t, zeroed, n.dev.Calls(devicetest.Zero) > calls, "backing %d", backing)
		for at := range n.values {
			n.lost[at] = backing == SleepDiscard
		}
		n.check(t)
		n.end(t)
	}
}

// A stream that cannot be closed keeps the memory that its copy may use until it can be
// closed.
func TestStreamsThatCannotBeClosed(t *testing.T) {
	n := newNap(t, device.BackingMovable, 1)
	n.dev.FailNth(devicetest.StreamSynchronize, 1, nil)
	n.dev.FailNth(devicetest.StreamClose, 1, nil)
	n.dev.FailNth(devicetest.StreamClose, 2, nil)
	_, err := n.model.Sleep(background, SleepRequest{Streams: 1})
	require.ErrorIs(t, err, device.CodeDevice)
	require.Equal(t, 1, n.kept.taken, "the copy may not be done")
	require.False(t, n.model.space.table.saved.Clean())
	require.NotZero(t, n.model.Stats().AsleepHostBytes)
	_, err = n.model.Sleep(background, SleepRequest{Streams: 1})
	require.NoError(t, err)
	n.check(t)
	for at := range n.values {
		n.asleep[at] = SleepToHost
	}

	// The same in the other direction; the range is freed before the copy is known to
	// have completed.
	n.dev.FailNth(devicetest.StreamSynchronize, 1, nil)
	n.dev.FailNth(devicetest.StreamClose, 1, nil)
	n.dev.FailNth(devicetest.StreamClose, 2, nil)
	n.dev.FailNth(devicetest.StreamClose, 3, nil)
	_, err = n.model.Wake(background, WakeRequest{Streams: 1})
	require.ErrorIs(t, err, device.CodeDevice)
	taken := n.kept.taken
	require.NoError(t, n.model.Free(0, 4*page, nil))
	for at := range uint64(4) {
		delete(n.values, at)
		delete(n.asleep, at)
	}
	require.Equal(t, taken-1, n.kept.taken, "one of two chunks is still in use")
	n.dev.ClearFaults()
	require.NoError(t, n.model.space.sweep())
	require.Equal(t, taken-2, n.kept.taken)
	n.check(t)
	n.end(t)
}
