package vmm

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/core/device/devicetest"
	"ferrum_mem/core/vmm/pageset"
)

// holding opens a stream with held work.
func holding(t require.TestingT, dev *devicetest.Device) *devicetest.Stream {
	made, err := dev.NewStream()
	require.NoError(t, err)
	queued(t, made.(*devicetest.Stream))
	return made.(*devicetest.Stream)
}

// on allocates four pages for a stream.
func on(t *testing.T, p *Pool, offset uint64, stream device.Stream) {
	_, err := p.AllocTagged(AllocRequest{OffsetBytes: offset, SizeBytes: 4 * page, Stream: stream})
	require.NoError(t, err)
}

// A freed range waits for the stream of its allocation, for the streams recorded for a
// page of it, and for the stream of the free. Each of them alone keeps it retiring, in
// any order of completion.
func TestRangeWaitsForEveryStreamThatUsesIt(t *testing.T) {
	for last := range 3 {
		r := newRig(t, devicetest.Config{}, nil)
		streams := []*devicetest.Stream{holding(t, r.dev), holding(t, r.dev), holding(t, r.dev)}
		on(t, r.pool, 0, streams[0])
		require.NoError(t, r.pool.RecordStream(3*page, 1, streams[1]))
		require.NoError(t, r.pool.RecordStream(3*page, page, streams[1]), "a second time changes nothing")
		require.NoError(t, r.pool.Free(0, 4*page, streams[2]))
		for i, stream := range streams {
			if i != last {
				stream.Release()
			}
		}
		r.pool.physical.CompleteFrees()
		require.Equal(t, uint64(4), r.pool.Stats().RetiringPages, "stream %d", last)
		r.check(t)
		streams[last].Release()
		r.pool.physical.CompleteFrees()
		require.Zero(t, r.pool.Stats().RetiringPages)
		require.Zero(t, r.dev.OpenEvents())
		for _, stream := range streams {
			require.NoError(t, stream.Close())
		}
		r.quit(t)
	}
}

// A stream that is recorded for a part of an allocation delays only that part.
func TestPartOfAnAllocationIsRecorded(t *testing.T) {
	r := newRig(t, devicetest.Config{}, nil)
	stream := holding(t, r.dev)
	on(t, r.pool, 0, nil)
	require.NoError(t, r.pool.RecordStream(page, 2*page, stream))
	require.NoError(t, r.pool.Free(0, page, nil))
	require.Zero(t, r.pool.Stats().RetiringPages)
	require.NoError(t, r.pool.Free(page, page, nil))
	require.Equal(t, uint64(1), r.pool.Stats().RetiringPages)
	require.NoError(t, r.pool.Free(2*page, 2*page, nil))
	require.Equal(t, uint64(3), r.pool.Stats().RetiringPages)
	stream.Release()
	require.NoError(t, r.pool.Synchronize())
	// Streams of the previous allocation do not delay the next one.
	queued(t, stream)
	on(t, r.pool, 0, nil)
	require.NoError(t, r.pool.Free(0, 4*page, nil))
	require.Zero(t, r.pool.Stats().RetiringPages)
	stream.Release()
	require.NoError(t, stream.Close())
	r.quit(t)
}

func TestRejectedRecordChangesNothing(t *testing.T) {
	r := newRig(t, backed(devicetest.Config{}), nil)
	kept := keep(r.pool.physical, r.dev)
	stream := holding(t, r.dev)
	on(t, r.pool, 0, nil)
	refused(t, r.pool.RecordStream(2*page, 4*page, stream), device.CodeNotMapped, "page at offset "+text(4*page))
	refused(t, r.pool.RecordStream(0, 0, stream), device.CodeInvalidSize, "size 0")
	refused(t, r.pool.RecordStream(r.pool.CapacityBytes(), 1, stream), device.CodeInvalidOffset, "ends outside")
	require.NoError(t, r.pool.Free(2*page, 2*page, nil))
	require.Zero(t, r.pool.Stats().RetiringPages, "a rejected call changes nothing")
	stream.Release()
	_, err := r.pool.Sleep(background, SleepRequest{})
	require.NoError(t, err)
	refused(t, r.pool.RecordStream(page, page, stream), device.CodeInvalidState, "offset "+text(page)+" is asleep")
	_, err = r.pool.Wake(background, WakeRequest{})
	require.NoError(t, err)
	require.Zero(t, kept.taken)
	require.NoError(t, stream.Close())
	require.NoError(t, r.pool.Close(true))
	refused(t, r.pool.RecordStream(0, page, nil), device.CodeInvalidState, "closed")
}

// A stream that is closed first is drained: nothing waits for it, and nothing fails.
func TestStreamIsClosedBeforeItsRange(t *testing.T) {
	r := newRig(t, devicetest.Config{}, nil)
	own, recorded := holding(t, r.dev), holding(t, r.dev)
	on(t, r.pool, 0, own)
	require.NoError(t, r.pool.RecordStream(0, 4*page, recorded))
	for _, stream := range []*devicetest.Stream{own, recorded} {
		stream.Release()
		require.NoError(t, stream.Close())
	}
	require.NoError(t, r.pool.Free(0, 4*page, nil))
	require.Zero(t, r.pool.Stats().RetiringPages)
	require.Zero(t, r.dev.OpenEvents())
	r.quit(t)
}

// A long-lived range does not accumulate closed streams.
func TestClosedStreamsAreRemovedFromUsers(t *testing.T) {
	r := newRig(t, devicetest.Config{}, nil)
	on(t, r.pool, 0, nil)
	lasting := holding(t, r.dev)
	require.NoError(t, r.pool.RecordStream(page, page, lasting))
	for range 1000 {
		stream, err := r.dev.NewStream()
		require.NoError(t, err)
		require.NoError(t, r.pool.RecordStream(0, 4*page, stream))
		require.NoError(t, stream.Close())
	}
	s := r.pool.space
	require.LessOrEqual(t, s.table.users.Most(pageset.Run{Start: 0, Pages: 4}), 2*manyUsers)
	require.NoError(t, r.pool.Free(0, 4*page, nil))
	require.Equal(t, uint64(4), r.pool.Stats().RetiringPages, "the remaining range is counted")
	require.Equal(t, []device.Stream{r.dev.DefaultStream()}, s.table.users.Streams(pageset.Run{Start: 0, Pages: s.table.extent.Pages}))
	lasting.Release()
	require.NoError(t, lasting.Close())
	r.quit(t)
}

// Whichever driver call fails during the free of a range with three streams, the range
// is as before, with its users, and can be freed.
func TestFailedFreeKeepsTheRangeAndItsStreams(t *testing.T) {
	for _, call := range []devicetest.Call{devicetest.StreamIdle, devicetest.RecordEvent} {
		for nth := 1; nth <= 3; nth++ {
			r := newRig(t, devicetest.Config{}, nil)
			streams := []*devicetest.Stream{holding(t, r.dev), holding(t, r.dev), holding(t, r.dev)}
			on(t, r.pool, 0, streams[0])
			require.NoError(t, r.pool.RecordStream(0, page, streams[1]))
			r.dev.FailNth(call, nth, nil)
			require.Error(t, r.pool.Free(0, 4*page, streams[2]))
			require.Equal(t, uint64(4), r.pool.Stats().MappedPages)
			require.Zero(t, r.dev.OpenEvents())
			r.check(t)
			streams[2].Release()
			require.NoError(t, r.pool.Free(0, 4*page, nil))
			streams[0].Release()
			r.pool.physical.CompleteFrees()
			require.Equal(t, uint64(4), r.pool.Stats().RetiringPages)
			streams[1].Release()
			require.NoError(t, r.pool.Synchronize())
			for _, stream := range streams {
				require.NoError(t, stream.Close())
			}
			r.quit(t)
		}
	}
}

// Pages of one model go to another after all streams that use them have completed. The
// other model never sees a late write.
func TestModelsPagesWaitForTheirStreams(t *testing.T) {
	for _, recorded := range []bool{false, true} {
		p := newParty(t, devicetest.Config{Backed: true}, 4)
		a, b := p.model(t, "a", 0, 0, 0), p.model(t, "b", 0, 0, 0)
		stream := holding(t, p.dev)
		request := AllocRequest{SizeBytes: 4 * page, Stream: stream}
		if recorded {
			request.Stream = nil
		}
		of, err := a.AllocTagged(request)
		require.NoError(t, err)
		if recorded {
			require.NoError(t, a.RecordStream(of.OffsetBytes+page, 1, stream))
		}
		require.NoError(t, stream.Fill(of.Addr+device.Addr(page), device.Pattern{Value: 0xAA, WidthBytes: 1}, page))
		require.NoError(t, a.Free(of.OffsetBytes, 4*page, nil))
		require.Equal(t, uint64(4), a.Stats().RetiringPages)
		var got Allocation
		done := device.Go("b", func() { got, err = b.Alloc(4 * page) })
		p.untilWaiting(1)
		stream.Release()
		<-done
		require.NoError(t, err)
		require.Equal(t, make([]byte, 4*page), p.dev.Bytes(got.Addr, 4*page))
		require.NoError(t, stream.Close())
		require.NoError(t, p.shared.Unregister("a", false))
		_, err = p.shared.Model("a")
		require.Error(t, err)
		refused(t, a.RecordStream(0, page, nil), device.CodeModelNotFound, "unregistered")
		p.quit(t)
	}
}

// Sleep waits for the streams that use its allocations, whatever stream it names, and
// for no other.
func TestSleepWaitsForRecordedStreams(t *testing.T) {
	r := newRig(t, backed(devicetest.Config{}), nil)
	keep(r.pool.physical, r.dev)
	own, recorded, idle, other := holding(t, r.dev), holding(t, r.dev), holding(t, r.dev), holding(t, r.dev)
	idle.Release()
	on(t, r.pool, 0, own)
	on(t, r.pool, 8*page, other)
	require.NoError(t, r.pool.RecordStream(0, page, recorded))
	for _, stream := range []*devicetest.Stream{own, recorded} {
		_, err := r.pool.Sleep(background, SleepRequest{Stream: idle, NoWait: true})
		refused(t, err, device.CodeTimeout, "queued work")
		require.Zero(t, r.dev.OpenEvents())
		r.check(t)
		stream.Release()
	}
	_, err := r.pool.Sleep(background, SleepRequest{Stream: idle, NoWait: true})
	refused(t, err, device.CodeTimeout, "queued work")
	other.Release()
	ctx, cancel := context.WithTimeout(background, time.Minute)
	defer cancel()
	_, err = r.pool.Sleep(ctx, SleepRequest{Stream: idle})
	require.NoError(t, err)
	_, err = r.pool.Wake(background, WakeRequest{})
	require.NoError(t, err)
	queued(t, recorded)
	require.NoError(t, r.pool.Free(0, 4*page, nil))
	require.Equal(t, uint64(4), r.pool.Stats().RetiringPages, "a range that wakes keeps its recorded streams")
	recorded.Release()
	for _, stream := range []*devicetest.Stream{own, recorded, idle, other} {
		require.NoError(t, stream.Close())
	}
	r.quit(t)
}
