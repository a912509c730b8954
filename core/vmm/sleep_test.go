package vmm

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/core/device/devicetest"
	"ferrum_mem/core/engine"
)

// Two models under a limit that holds only one awake: they alternate, and each keeps
// its bytes and its addresses.
func TestTwoModelsTakeTurns(t *testing.T) {
	p := newPartyBacked(t, device.BackingMovable, 10)
	kept := keep(p.shared.physical, p.dev)
	var models []*Model
	var ranges []Allocation
	for i := range 2 {
		m := p.model(t, fmt.Sprint("m", i), 0, 0, 0)
		a := get(t, m, 8)
		require.NoError(t, p.dev.FillNow(a.Addr, byte(i+1), a.SizeBytes))
		models, ranges = append(models, m), append(ranges, a)
		if i == 0 {
			_, err := p.shared.Sleep(background, m.ID(), SleepRequest{})
			require.NoError(t, err)
		}
	}
	for round := range 6 {
		asleep, awake := models[round%2], models[1-round%2]
		_, err := asleep.Wake(background, WakeRequest{})
		require.ErrorIs(t, err, device.CodeOutOfPhysicalMemory, "%v", err)
		require.ErrorContains(t, err, "requested 512 KiB, available 128 KiB")
		p.check(t)
		_, err = awake.Sleep(background, SleepRequest{})
		require.NoError(t, err)
		require.Zero(t, p.shared.GlobalStats().PhysicalBytes)
		_, err = p.shared.Wake(background, asleep.ID(), WakeRequest{})
		require.NoError(t, err)
		_, differs, err := p.dev.FirstOther(ranges[round%2].Addr, byte(round%2+1), 8*page)
		require.NoError(t, err)
		require.False(t, differs)
		p.check(t)
	}
	require.NoError(t, p.shared.Unregister("m1", true))
	_, err := p.shared.Sleep(background, "m1", SleepRequest{})
	require.ErrorIs(t, err, device.CodeModelNotFound)
	p.quit(t)
	require.Zero(t, kept.taken)
	require.Zero(t, p.engine.Asleep())
}

// A page that was freed while it was asleep, allocated again and put to sleep again has
// the bytes of the second allocation.
func TestReallocatedPageSleepsWithItsNewBytes(t *testing.T) {
	p := newPartyBacked(t, device.BackingMovable, 10)
	kept := keep(p.shared.physical, p.dev)
	p.shared.physical.keepers.ChunkBytes = 4 * page
	m := p.model(t, "m", 0, 0, 0)
	old := get(t, m, 4)
	require.NoError(t, p.dev.FillNow(old.Addr, 1, old.SizeBytes))
	_, err := m.Sleep(background, SleepRequest{Tag: "m"})
	require.NoError(t, err)
	require.NoError(t, m.Free(old.OffsetBytes+2*page, page, nil))
	again, err := m.AllocTaggedAt(AllocRequest{OffsetBytes: old.OffsetBytes + 2*page, SizeBytes: page, Tag: "new"})
	require.NoError(t, err)
	require.NoError(t, p.dev.FillNow(again.Addr, 2, page))
	_, err = m.Sleep(background, SleepRequest{Tag: "new"})
	require.NoError(t, err)
	_, err = m.Wake(background, WakeRequest{})
	require.NoError(t, err)
	_, differs, err := p.dev.FirstOther(again.Addr, 2, page)
	require.NoError(t, err)
	require.False(t, differs)
	_, differs, err = p.dev.FirstOther(old.Addr, 1, 2*page)
	require.NoError(t, err)
	require.False(t, differs)
	p.check(t)
	require.NoError(t, p.shared.Unregister("m", true))
	p.quit(t)
	require.Zero(t, kept.taken)
}

// A model that cannot wake waits in the queue, until others free pages or its context
// ends.
func TestWakeWaitsForOthers(t *testing.T) {
	p := newPartyBacked(t, device.BackingMovable, 10)
	keep(p.shared.physical, p.dev)
	a, b := p.model(t, "a", 0, 0, 0), p.model(t, "b", 0, 0, 0)
	held := get(t, a, 6)
	_, err := a.Sleep(background, SleepRequest{})
	require.NoError(t, err)
	other := get(t, b, 8)
	asked := make(chan struct{})
	cancelled, cancel := context.WithCancel(background)
	reclaim, err := p.shared.OnReclaim("b", time.Minute, func(uint64) uint64 {
		close(asked)
		<-cancelled.Done()
		return 0
	})
	require.NoError(t, err)
	done := device.Go("wake", func() { _, err = a.Wake(cancelled, WakeRequest{}) })
	<-asked
	cancel()
	<-done
	require.Error(t, err)
	require.ErrorIs(t, err, device.CodeCancelled)
	reclaim.Remove(false)
	p.check(t)
	require.Equal(t, 6*page, a.Stats().AsleepBytes)

	_, err = p.shared.OnReclaim("b", time.Minute, func(needed uint64) uint64 {
		if b.Free(other.OffsetBytes, other.SizeBytes, nil) != nil {
			return 0
		}
		return other.SizeBytes
	})
	require.NoError(t, err)
	_, err = a.Wake(background, WakeRequest{})
	require.NoError(t, err)
	require.True(t, a.IsMapped(held.OffsetBytes, held.SizeBytes))
	p.check(t)
	p.quit(t)
}

func TestRejectedSleepChangesNothing(t *testing.T) {
	r := newRig(t, backed(devicetest.Config{}), nil)
	keep(r.pool.physical, r.dev)
	_, err := r.pool.AllocTagged(AllocRequest{SizeBytes: 2 * page, Tag: "kv"})
	require.NoError(t, err)
	_, err = r.pool.Alloc(4*page, page)
	require.NoError(t, err)
	refuse := func(code device.Code, text string, r1 SleepRequest) {
		_, err := r.pool.Sleep(background, r1)
		require.ErrorIs(t, err, code)
		require.ErrorContains(t, err, text)
		r.check(t)
	}
	refuse(device.CodeInvalidArgument, "backing 3", SleepRequest{Backing: 3})
	refuse(device.CodeInvalidArgument, `directory "/x"`, SleepRequest{Dir: "/x"})
	refuse(device.CodeInvalidArgument, "streams 65", SleepRequest{Streams: 65})
	refuse(device.CodeInvalidArgument, "has 64 bytes", SleepRequest{Tag: fmt.Sprintf("%064d", 0)})
	refuse(device.CodeNotFound, `tag "other"`, SleepRequest{Tag: "other"})
	refuse(device.CodeIO, "no-such", SleepRequest{Backing: SleepToFile, Dir: t.TempDir() + "/no-such"})
	_, err = r.pool.Wake(background, WakeRequest{})
	require.ErrorIs(t, err, device.CodeInvalidState)
	_, err = r.pool.Sleep(background, SleepRequest{Tag: "kv"})
	require.NoError(t, err)
	refuse(device.CodeInvalidState, `tag "kv" of virtual pool "p"`, SleepRequest{Tag: "kv"})
	_, err = r.pool.Wake(background, WakeRequest{Tag: "p"})
	require.ErrorIs(t, err, device.CodeInvalidState)
	require.ErrorContains(t, err, `tag "p" of virtual pool "p"`)
	_, err = r.pool.Sleep(background, SleepRequest{Tag: "p"})
	require.NoError(t, err)
	_, err = r.pool.Sleep(background, SleepRequest{})
	require.NoError(t, err, "no range is awake, but later ranges would be")
	refuse(device.CodeInvalidState, `"p" is asleep already`, SleepRequest{})
	require.ErrorIs(t, r.pool.Close(false), device.CodeBusy)
	r.check(t)
	_, err = r.pool.Alloc(10*page, page)
	require.ErrorIs(t, err, device.CodeInvalidState)
	r.quit(t)
	_, err = r.pool.Sleep(background, SleepRequest{})
	require.ErrorIs(t, err, device.CodeInvalidState)
}

// Sleep waits for queued work of its stream, or of all; a context ends the wait, and
// then everything is as before.
func TestSleepWaitsForWork(t *testing.T) {
	r := newRig(t, backed(devicetest.Config{}), nil)
	keep(r.pool.physical, r.dev)
	addr, err := r.pool.Alloc(0, 2*page)
	require.NoError(t, err)
	other, err := r.dev.NewStream()
	require.NoError(t, err)
	stream := other.(*devicetest.Stream)
	stream.Hold()
	require.NoError(t, stream.Fill(addr, device.Pattern{Value: 5, WidthBytes: 1}, 2*page))
	for _, on := range []device.Stream{nil, stream} {
		ctx, cancel := context.WithTimeout(background, time.Millisecond)
		_, err = r.pool.Sleep(ctx, SleepRequest{Stream: on})
		require.ErrorIs(t, err, device.CodeTimeout)
		cancel()
		ctx, cancel = context.WithCancel(background)
		cancel()
		_, err = r.pool.Sleep(ctx, SleepRequest{Stream: on})
		require.ErrorIs(t, err, device.CodeCancelled)
		require.False(t, r.pool.IsAsleep(""))
		require.True(t, r.pool.IsMapped(0, 2*page))
	}
	stream.Release()
	_, err = r.pool.Sleep(background, SleepRequest{Stream: stream})
	require.NoError(t, err)
	ended, cancel := context.WithCancel(background)
	cancel()
	_, err = r.pool.Wake(ended, WakeRequest{})
	require.ErrorIs(t, err, device.CodeCancelled)
	r.check(t)
	_, err = r.pool.Wake(background, WakeRequest{})
	require.NoError(t, err)
	r.holds(t, 0, 2, 5)
	require.NoError(t, stream.Close())
	r.quit(t)
}

// A call with NoWait does the work that is possible at once, and its error states the
// reason for which it would wait.
func TestSleepWithNoWaitReturnsTimeout(t *testing.T) {
	p := newPartyBacked(t, device.BackingMovable, 10)
	keep(p.shared.physical, p.dev)
	a, b := p.model(t, "a", 0, 0, 0), p.model(t, "b", 0, 0, 0)
	held := get(t, a, 6)
	require.NoError(t, p.dev.FillNow(held.Addr, 3, held.SizeBytes))
	now := SleepRequest{NoWait: true}
	timeout := func(text string, err error) {
		require.ErrorIs(t, err, device.CodeTimeout)
		require.ErrorContains(t, err, text)
		require.False(t, a.IsAsleep(""))
	}
	stream := p.dev.Default()
	stream.Hold()
	require.NoError(t, stream.Fill(held.Addr, device.Pattern{Value: 4, WidthBytes: 1}, page))
	_, err := a.Sleep(background, now)
	timeout("queued work", err)
	_, err = a.Sleep(background, SleepRequest{NoWait: true, Stream: stream})
	timeout("queued work", err)
	stream.Release()
	a.space.mu.Lock()
	a.space.claims++
	a.space.mu.Unlock()
	_, err = a.Sleep(background, now)
	timeout("1 allocation", err)
	a.space.mu.Lock()
	a.space.claims--
	a.space.mu.Unlock()
	require.NoError(t, a.space.table.turn.Take(background, &a.space.table.extent, "test", true, func() bool { return true }))
	_, err = a.Sleep(background, now)
	timeout("another sleep or wake", err)
	_, err = a.Wake(background, WakeRequest{NoWait: true})
	timeout("another sleep or wake", err)
	a.space.table.turn.End()

	_, err = a.Sleep(background, now)
	require.NoError(t, err)
	other := get(t, b, 8)
	_, err = p.shared.OnReclaim("b", patient, func(uint64) uint64 { panic("nobody is asked") })
	require.NoError(t, err)
	_, err = a.Wake(background, WakeRequest{NoWait: true})
	require.ErrorIs(t, err, device.CodeOutOfPhysicalMemory)
	require.ErrorContains(t, err, "requested 384 KiB, available 128 KiB")
	require.Zero(t, b.Stats().ReclaimCalls)
	p.check(t)
	// The limit allows the pages, and the device has less.
	free(t, b, other)
	_, err = p.shared.Physical().Trim(0)
	require.NoError(t, err)
	require.NoError(t, p.engine.SetLimit(5*page))
	_, err = a.Wake(background, WakeRequest{NoWait: true})
	require.ErrorIs(t, err, device.CodeOutOfPhysicalMemory)
	require.NoError(t, p.engine.SetLimit(0))
	p.check(t)
	_, err = a.Wake(background, WakeRequest{NoWait: true})
	require.NoError(t, err)
	_, differs, err := p.dev.FirstOther(held.Addr+device.Addr(page), 3, 5*page)
	require.NoError(t, err)
	require.False(t, differs)
	p.check(t)
	p.quit(t)
}

func TestAllocWaitsUntilAwake(t *testing.T) {
	r := newRig(t, backed(devicetest.Config{}), nil)
	keep(r.pool.physical, r.dev)
	_, err := r.pool.AllocTagged(AllocRequest{SizeBytes: 2 * page, Tag: "kv"})
	require.NoError(t, err)
	_, err = r.pool.Sleep(background, SleepRequest{Tag: "kv"})
	require.NoError(t, err)
	more := AllocRequest{OffsetBytes: 8 * page, SizeBytes: page, Tag: "kv"}
	_, err = r.pool.AllocTagged(more)
	require.ErrorIs(t, err, device.CodeInvalidState)
	more.Wait = time.Millisecond
	_, err = r.pool.AllocTagged(more)
	require.ErrorIs(t, err, device.CodeTimeout)
	over := AllocRequest{SizeBytes: page, Wait: device.Forever}
	_, err = r.pool.Alloc(page, page)
	require.ErrorIs(t, err, device.CodeInvalidState, "the range sleeps")
	_, err = r.pool.Alloc(10*page, page)
	require.NoError(t, err, "a range with another tag at another offset is not affected")
	results := make(chan error, 2)
	more.Wait = device.Forever
	first := device.Go("tag", func() {
		_, err := r.pool.AllocTagged(more)
		results <- err
	})
	second := device.Go("range", func() {
		_, err := r.pool.AllocTagged(over)
		results <- err
	})
	require.NoError(t, r.pool.Free(0, 2*page, nil))
	<-second
	require.NoError(t, <-results, "the range was freed in its sleep")
	_, err = r.pool.Wake(background, WakeRequest{Tag: "kv"})
	require.NoError(t, err)
	<-first
	require.NoError(t, <-results)
	r.check(t)
	r.quit(t)
}

// Sleeps, wakes, allocations and frees from many threads, and a forced end. A sleep
// without a tag covers the whole model, and a concurrent write may be lost. So bytes
// are compared only in the model where every worker has its own tag.
func TestSleepFromManyThreads(t *testing.T) {
	tags := [][]string{{"", "weights", "kv", ""}, {"weights", "kv", "activations", "adapters"}}
	for _, force := range []bool{false, true} {
		p := newPartyWith(t, backed(devicetest.Config{}), engine.Options{}, ElasticConfig{LimitBytes: 40 * page}, true)
		kept := keep(p.shared.physical, p.dev)
		p.shared.physical.keepers.ChunkBytes = page
		var wait sync.WaitGroup
		for i, tags := range tags {
			m := p.model(t, fmt.Sprint("m", i), 0, 0, 0)
			compares := !slices.Contains(tags, "")
			for worker, tag := range tags {
				at := uint64(worker) * 16
				wait.Go(func() {
					for round := range 60 {
						value := byte(round + 1)
						a, err := m.AllocTaggedAt(AllocRequest{OffsetBytes: at * page, SizeBytes: 4 * page, Tag: tag, Wait: time.Millisecond})
						if err == nil && p.dev.FillNow(a.Addr, value, a.SizeBytes) != nil {
							err = device.CodeBusy // it is already asleep
						}
						_, _ = m.Sleep(background, SleepRequest{Tag: tag})
						_, woken := m.Wake(background, WakeRequest{Tag: tag})
						if other, differs, looked := p.dev.FirstOther(a.Addr, value, 4*page); compares && err == nil && woken == nil && looked == nil && differs {
							panic(fmt.Sprintf("%+v, want %d", other, value))
						}
						for err == nil || a.SizeBytes > 0 {
							freed := m.Free(at*page, 4*page, nil)
							if device.CodeOf(freed) != device.CodeBusy {
								break
							}
						}
					}
				})
			}
			if force {
				wait.Go(func() {
					until(t, func() bool { return m.Stats().Sleeps > 20 || p.shared.Unregister("none", true) == nil })
					if err := p.shared.Unregister(m.ID(), true); err != nil {
						panic(err)
					}
				})
			}
		}
		wait.Wait()
		for _, id := range p.shared.Models() {
			m, err := p.shared.Model(id)
			require.NoError(t, err)
			require.NoError(t, m.Synchronize())
		}
		p.shared.physical.Pause()
		p.shared.physical.worker.stop()
		p.quit(t)
		require.Zero(t, kept.taken)
		require.Zero(t, p.engine.Asleep())
	}
}
