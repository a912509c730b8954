package vmm

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/core/device/devicetest"
	"ferrum_mem/core/vmm/extent"
)

// An allocation that waits for a sleeping range ends when its model or pool ends,
// forced or not, with sleeping pages or without.
func TestWaitForASleepingRangeEndsWithItsPool(t *testing.T) {
	for _, pages := range []uint64{0, 3} {
		for _, by := range []string{"unregister", "close"} {
			t.Run(fmt.Sprint(by, pages), func(t *testing.T) {
				p := newPartyBacked(t, device.BackingMovable, 10)
				keep(p.shared.physical, p.dev)
				m := p.model(t, "m", 0, 0, 0)
				if pages > 0 {
					get(t, m, pages)
				}
				_, err := m.Sleep(background, SleepRequest{})
				require.NoError(t, err)
				var failed error
				done := device.Go("alloc", func() {
					_, failed = m.AllocTagged(AllocRequest{SizeBytes: page, Wait: device.Forever})
				})
				// It waits after its check of the space.
				until(t, func() bool { return m.space.waiting() })
				force := pages > 0
				finish := func() error {
					if by == "close" {
						return p.shared.Close(force)
					}
					return p.shared.Unregister("m", force)
				}
				// Another allocation is in progress when the close begins, and then
				// ends.
				m.space.mu.Lock()
				m.space.claims++
				m.space.mu.Unlock()
				var ended error
				end := device.Go(by, func() { ended = finish() })
				if force {
					until(t, func() bool {
						m.space.mu.Lock()
						defer m.space.mu.Unlock()
						return m.space.table.state == stateClosing
					})
				} else {
					<-end
					require.ErrorIs(t, ended, device.CodeBusy)
					require.True(t, m.space.waiting(), "the request still waits")
				}
				m.space.mu.Lock()
				m.space.unclaim()
				m.space.mu.Unlock()
				<-end
				if !force {
					ended = finish()
				}
				require.NoError(t, ended)
				select {
				case <-done:
				case <-time.After(20 * time.Second):
					require.Fail(t, "the call must not wait without an end")
				}
				require.ErrorIs(t, failed, device.CodeModelNotFound)
				if by == "unregister" {
					p.quit(t)
				}
			})
		}
	}
}

// waiting reports whether a thread waits for a change of the space.
func (s *space) waiting() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.table.sleepWaits > 0
}

// A range that falls asleep between the two checks of a free is freed while it is
// asleep.
func TestRangeThatFallsAsleepDuringItsFreeIsFreed(t *testing.T) {
	r := newRig(t, backed(devicetest.Config{}), nil)
	kept := keep(r.pool.physical, r.dev)
	_, err := r.pool.Alloc(0, 4*page)
	require.NoError(t, err)
	_, err = r.pool.Sleep(background, SleepRequest{})
	require.NoError(t, err)
	s := r.pool.space
	queued(t, r.dev.Default())
	l := &deallocation{op: "free", targets: only(extent.Span{Offset: 0, Size: 4 * page})}
	require.NoError(t, l.locate(&s.table.extent, l.op))
	require.NoError(t, l.markEnds([]device.Stream{r.dev.Default()}))
	missing, slept, err := s.freeWithMarks(l)
	require.NoError(t, err)
	require.Empty(t, missing)
	require.True(t, slept)
	require.Zero(t, r.dev.OpenEvents())
	s.sweepQuietly()
	require.Zero(t, kept.taken)
	r.quit(t)
}

// A rejected Close changes nothing, not even for a moment.
func TestRejectedCloseHasNoEffect(t *testing.T) {
	r := newRig(t, devicetest.Config{}, nil)
	_, err := r.pool.Alloc(0, page)
	require.NoError(t, err)
	s := r.pool.space
	s.mu.Lock()
	s.claims++
	s.mu.Unlock()
	var failed error
	done := device.Go("close", func() { failed = r.pool.Close(false) })
	select {
	case <-done:
	case <-time.After(20 * time.Second):
		require.Fail(t, "the close waits for an allocation, but must fail")
	}
	require.ErrorIs(t, failed, device.CodeBusy)
	s.mu.Lock()
	s.claims--
	s.mu.Unlock()
	r.check(t)
	r.quit(t)
}

// Another thread releases pages while the Physical is closed, and the device fails to
// release them. They are not lost.
func TestCloseWaitsForMovingPages(t *testing.T) {
	r := newRig(t, devicetest.Config{}, nil)
	_, err := r.pool.Alloc(0, 3*page)
	require.NoError(t, err)
	require.NoError(t, r.pool.Free(0, 3*page, nil))
	ph := r.pool.physical
	_, err = ph.Unpark(3)
	require.NoError(t, err)
	batch := ph.takeBatch(2, nil)
	var failed error
	done := device.Go("close", func() { failed = r.pool.Close(false) })
	until(t, func() bool {
		ph.mu.Lock()
		defer ph.mu.Unlock()
		return ph.created == 2
	})
	ph.mu.Lock()
	ph.moving -= 2
	ph.returnBatch(batch)
	ph.arrived.Broadcast()
	ph.mu.Unlock()
	<-done
	require.NoError(t, failed)
	require.Zero(t, r.dev.Pages())
	require.Zero(t, r.dev.HeldBytes())
	require.NoError(t, r.engine.Close())
}

func TestInvalidModelIdsAreRejected(t *testing.T) {
	p := newParty(t, devicetest.Config{}, 10)
	for _, id := range []string{"", strings.Repeat("x", 64), "a\x00b", "\xff", "a\xc3"} {
		_, err := p.shared.Register(id, ModelConfig{VirtualBytes: page})
		require.ErrorIs(t, err, device.CodeInvalidArgument, "%q", id)
		require.ErrorContains(t, err, fmt.Sprintf("%q", id))
		_, err = p.shared.Model(id)
		require.ErrorIs(t, err, device.CodeModelNotFound)
	}
	for _, id := range []string{strings.Repeat("x", 63), "模型", " "} {
		_, err := p.shared.Register(id, ModelConfig{VirtualBytes: page})
		require.NoError(t, err, "%q", id)
	}
	p.quit(t)
}

// Sizes near 2^64 are rejected with their values, and change nothing.
func TestSizesNearTheEndOf64BitsAreRejected(t *testing.T) {
	p := newParty(t, devicetest.Config{}, 10)
	const most = uint64(math.MaxUint64)
	for _, c := range []ModelConfig{
		{VirtualBytes: most}, {VirtualBytes: most - page + 1}, {VirtualBytes: most, GuaranteedBytes: most},
		{VirtualBytes: page, GuaranteedBytes: most}, {VirtualBytes: most &^ (page - 1)}, {},
	} {
		_, err := p.shared.Register("m", c)
		require.Error(t, err, "%+v", c)
		p.check(t)
	}
	m := p.model(t, "m", 0, 0, 0)
	for _, size := range []uint64{most, most - 1, most - page + 2, 1 << 63, 64*page + 1} {
		_, err := m.Alloc(size)
		require.ErrorIs(t, err, device.CodeOutOfVirtualMemory, "%d", size)
		for _, offset := range []uint64{0, 1, page, most, most - size, 64 * page} {
			_, err = m.AllocAt(offset, size)
			require.ErrorIs(t, err, device.CodeInvalidOffset, "%d %d", offset, size)
			require.ErrorIs(t, m.Free(offset, size, nil), device.CodeInvalidOffset)
			require.False(t, m.IsMapped(offset, size))
		}
	}
	require.NoError(t, p.shared.SetModelLimits("m", ModelLimits{MaxBytes: most}))
	require.Error(t, p.shared.SetModelLimits("m", ModelLimits{GuaranteedBytes: most}))
	require.Error(t, p.shared.SetLimit(most))
	p.check(t)
	for _, c := range []Config{
		{CapacityBytes: most, PageBytes: page}, {CapacityBytes: page, PageBytes: 1 << 63}, {CapacityBytes: 1 << 63, PageBytes: 1 << 63},
		{CapacityBytes: page, PageBytes: page, LimitBytes: most}, {CapacityBytes: page, PageBytes: most},
	} {
		_, err := newPool(p.engine, c, false)
		require.Error(t, err, "%+v", c)
	}
	p.check(t)
	p.quit(t)
}

// Limits that change while a model sleeps apply when it wakes. Its guarantee stays
// reserved for it, whatever others request.
func TestLimitsChangedDuringSleepApplyAtWake(t *testing.T) {
	p := newPartyBacked(t, device.BackingMovable, 12)
	keep(p.shared.physical, p.dev)
	m, other := p.model(t, "m", 4, 0, 0), p.model(t, "other", 0, 0, 0)
	held := get(t, m, 8)
	require.NoError(t, p.dev.FillNow(held.Addr, 5, held.SizeBytes))
	_, err := m.Sleep(background, SleepRequest{})
	require.NoError(t, err)
	require.NoError(t, p.shared.SetModelLimits("m", ModelLimits{MaxBytes: 6 * page}))
	_, err = m.Wake(background, WakeRequest{})
	require.ErrorIs(t, err, device.CodeOutOfPhysicalMemory)
	require.ErrorContains(t, err, "can never fit")
	require.NoError(t, p.shared.SetModelLimits("m", ModelLimits{GuaranteedBytes: 8 * page}))
	short(t, other, 5, 4)
	taken := get(t, other, 4)
	require.Error(t, p.shared.SetLimit(7*page), "a limit below the guarantees is rejected")
	require.NoError(t, p.shared.SetLimit(8*page))
	require.NoError(t, p.shared.SetLimit(12*page))
	_, err = m.Wake(background, WakeRequest{NoWait: true})
	require.NoError(t, err, "an allocation within the guarantee succeeds")
	_, differs, err := p.dev.FirstOther(held.Addr, 5, held.SizeBytes)
	require.NoError(t, err)
	require.False(t, differs)
	free(t, other, taken)
	p.check(t)
	p.quit(t)
}
