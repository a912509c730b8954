package vmm

import (
	"context"
	"fmt"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/core/device/devicetest"
)

// A Sleep or Wake is all or nothing, whatever fails and whatever other threads do. The
// tests compare everything that is asleep, awake, kept and counted.

// record is everything that a failed call must not change.
type record struct {
	stats             Stats
	live, asleep      uint64
	bedAll            bool
	tags              map[string]bool
	hostBlocks, files int
}

func (n *nap) record(t *testing.T) record {
	s := n.model.space
	r := record{stats: n.model.Stats().Stats, live: s.table.live.Count(), asleep: s.table.asleep.Count(), bedAll: s.table.saved.Tags.All(),
		tags: map[string]bool{}, hostBlocks: n.kept.taken, files: len(files(t, n.dir))}
	for tag := range napTags {
		r.tags[n.tag(tag)] = n.model.IsAsleep(n.tag(tag))
	}
	// The counters of failed calls, and of unused pages.
	r.stats.SleepFailures, r.stats.WakeFailures, r.stats.PeakPhysicalBytes = 0, 0, 0
	r.stats.ReadyPages, r.stats.HeldBytes, r.stats.MovedPages = 0, 0, 0
	r.stats.LimitBytes, r.stats.AvailableBytes, r.stats.TableBytes = 0, 0, 0
	// A page that the device failed to unmap counts as used, whichever model it belonged to.
	r.stats.PhysicalBytes -= s.table.stillMapped * s.table.extent.PageBytes
	return r
}

// whole tries one step with the faults that are set, and checks that it did all or
// nothing.
func (n *nap) whole(t *testing.T, step func() error, done func(record) bool) error {
	before := n.record(t)
	err := step()
	n.unused = n.dev.ClearFaults()
	require.NoError(t, n.model.space.sweep())
	n.check(t)
	after := n.record(t)
	if err != nil {
		require.Equal(t, before, after, "%v", err)
	} else {
		require.True(t, done(after), "%+v", after)
	}
	return err
}

func allAsleep(r record) bool { return r.live == 0 && r.asleep == 9 && r.bedAll }
func allAwake(r record) bool {
	return r.live == 9 && r.asleep == 0 && !r.bedAll && r.hostBlocks+r.files == 0
}

func (n *nap) request(backing SleepBacking) SleepRequest {
	r := SleepRequest{Backing: backing, Streams: n.streams}
	if backing == SleepToFile {
		r.Dir = n.dir
	}
	return r
}

// settle checks every byte when all is awake. The backing is that of the page's last
// sleep.
func (n *nap) settle(t *testing.T, backing SleepBacking, slept bool) {
	for at := range n.values {
		n.lost[at] = slept && backing == SleepDiscard
	}
	if n.model.space.table.saved.Tags.Any() {
		_, err := n.model.Wake(background, WakeRequest{})
		require.NoError(t, err)
		n.check(t)
	}
	require.True(t, allAwake(n.record(t)))
	clear(n.asleep)
	n.look(t)
	if slept && backing == SleepDiscard {
		for at := range n.values {
			require.Zero(t, n.dev.Bytes(n.addr(at), 1)[0], "discarded contents are not stored")
		}
	}
}

var everyPage = []device.Backing{device.BackingMovable, device.BackingPrivate}
var everyBacking = []SleepBacking{SleepToHost, SleepToFile, SleepDiscard}

// eachKind calls a function with each kind of pages and sleep. Contents in place are those
// of private pages that sleep in host memory.
func eachKind(t *testing.T, run func(t *testing.T, start func() *nap, backing SleepBacking)) {
	for _, place := range []hostPlace{hostPlaces[0], inPlace} {
		for _, pages := range everyPage {
			for _, backing := range everyBacking {
				if place.keepsContents && (pages != device.BackingPrivate || backing != SleepToHost) {
					continue
				}
				t.Run(fmt.Sprint(place.name, " pages ", pages, " ", backing), func(t *testing.T) {
					run(t, func() *nap { return newNapIn(t, pages, 1, place) }, backing)
				})
			}
		}
	}
}

// For every pair of driver calls of a Sleep and its undo, both fail.
func TestAnyTwoDriverCallsOfSleepFail(t *testing.T) {
	eachKind(t, func(t *testing.T, start func() *nap, backing SleepBacking) {
		count := start()
		before := count.dev.Calls(devicetest.Any)
		_, err := count.model.Sleep(background, count.request(backing))
		require.NoError(t, err)
		calls := count.dev.Calls(devicetest.Any) - before
		count.settle(t, backing, true)
		count.end(t)
		failed := 0
		for first := 1; first <= calls; first += devicetest.Step() {
			// Undoing maps, sets access and copies what was unmapped.
			for second := first; second <= calls+20; second += devicetest.Step() {
				n := start()
				n.dev.FailNth(devicetest.Any, first, nil)
				if second > first {
					n.dev.FailNth(devicetest.Any, second, nil)
				}
				err := n.whole(t, func() error {
					_, err := n.model.Sleep(background, n.request(backing))
					return err
				}, allAsleep)
				if err != nil {
					failed++
				}
				reached := n.unused == 0
				n.settle(t, backing, err == nil)
				n.end(t)
				if !reached {
					break // The second call comes after the end, and so do later ones.
				}
			}
		}
		require.Positive(t, failed)
	})
}

// The same for a Wake: the copies are kept until everything is awake.
func TestAnyTwoDriverCallsOfWakeFail(t *testing.T) {
	eachKind(t, func(t *testing.T, start func() *nap, backing SleepBacking) {
		prepare := func() *nap {
			n := start()
			_, err := n.model.Sleep(background, n.request(backing))
			require.NoError(t, err)
			return n
		}
		count := prepare()
		before := count.dev.Calls(devicetest.Any)
		_, err := count.model.Wake(background, WakeRequest{Streams: 1})
		require.NoError(t, err)
		calls := count.dev.Calls(devicetest.Any) - before
		count.settle(t, backing, true)
		count.end(t)
		failed := 0
		for first := 1; first <= calls; first += devicetest.Step() {
			for second := first; second <= calls+8; second += devicetest.Step() {
				n := prepare()
				n.dev.FailNth(devicetest.Any, first, nil)
				if second > first {
					n.dev.FailNth(devicetest.Any, second, nil)
				}
				err := n.whole(t, func() error {
					_, err := n.model.Wake(background, WakeRequest{Streams: 1})
					return err
				}, allAwake)
				if err != nil {
					failed++
				}
				reached := n.unused == 0
				n.settle(t, backing, true)
				n.end(t)
				if !reached {
					break
				}
			}
		}
		require.Positive(t, failed)
	})
}

// during calls a function once, at the n-th use of host memory from now: in the middle
// of the copies.
func (n *nap) during(nth int, do func()) {
	calls := 0
	n.watch(func() {
		if calls++; calls == nth {
			do()
		}
	})
}

// In the middle of a Sleep or Wake the limit is lowered below the use, another model
// requests pages, and then the call is cancelled or its disk is full. Everything is as
// before, although the limit would not allow it now.
func TestFailedSleepIsUndoneUnderALimitBelowItsUse(t *testing.T) {
	for _, pages := range everyPage {
		for _, backing := range []SleepBacking{SleepToHost, SleepToFile} {
			for _, nth := range []int{1, 3, 5} {
				if backing == SleepToFile && nth > 1 {
					continue // One stream has one buffer.
				}
				for _, waking := range []bool{false, true} {
					t.Run(fmt.Sprint("pages ", pages, " ", backing, " at ", nth, " waking ", waking), func(t *testing.T) {
						failUnderALimit(t, pages, backing, nth, waking)
					})
				}
			}
		}
	}
}

func failUnderALimit(t *testing.T, pages device.Backing, backing SleepBacking, nth int, waking bool) {
	n := newNap(t, pages, 1)
	other := n.party.model(t, "other", 0, 0, 0)
	ctx, cancel := context.WithCancel(background)
	if waking {
		_, err := n.model.Sleep(background, n.request(backing))
		require.NoError(t, err)
		if backing == SleepToHost {
			// A Wake allocates no host memory. A copy that fails stops it.
			require.NoError(t, n.shared.SetLimit(9*page))
			n.dev.FailNth(devicetest.CopyFromHost, nth, nil)
		}
	}
	lowered := false
	n.during(nth, func() {
		lowered = true
		require.NoError(t, n.shared.SetLimit(4*page))
		_, err := other.Alloc(page)
		require.ErrorIs(t, err, device.CodeOutOfPhysicalMemory)
		for at := range n.values {
			require.ErrorIs(t, n.model.Free(at*page, page, nil), device.CodeBusy)
		}
		cancel()
	})
	err := n.whole(t, func() (err error) {
		if waking {
			_, err = n.model.Wake(ctx, WakeRequest{Streams: 1})
		} else {
			_, err = n.model.Sleep(ctx, n.request(backing))
		}
		return err
	}, func(record) bool { return false })
	require.Error(t, err)
	require.True(t, lowered || waking)
	if waking && backing == SleepToHost {
		require.ErrorIs(t, err, device.CodeDevice)
	} else {
		require.ErrorIs(t, err, device.CodeCancelled)
	}
	if !waking {
		require.Equal(t, 9*page, n.model.Stats().PhysicalBytes)
		n.look(t)
	}
	n.during(0, nil)
	require.NoError(t, n.shared.SetLimit(16*page))
	n.settle(t, backing, waking)
	n.end(t)
}

// The disk is full at each write: no page was released by then.
func TestSleepOnAFullDiskIsUndoneUnderALimitBelowItsUse(t *testing.T) {
	for _, pages := range everyPage {
		for nth := 2; nth <= 8; nth++ {
			n := newNap(t, pages, 1)
			require.NoError(t, n.shared.SetLimit(4*page))
			n.fail(nth, syscall.ENOSPC)
			err := n.whole(t, func() error {
				_, err := n.model.Sleep(background, n.request(SleepToFile))
				return err
			}, allAsleep)
			if nth < 8 {
				require.ErrorIs(t, err, device.CodeResourceExhausted, "use %d", nth)
			}
			require.NoError(t, n.shared.SetLimit(16*page))
			n.settle(t, SleepToFile, err == nil)
			n.end(t)
		}
	}
}

// If the device allows neither the rest of a Sleep nor its undo, everything ends
// asleep. Pages that stay mapped are not released, and wake with the rest.
func TestSleepThatCannotBeUndoneContinues(t *testing.T) {
	for _, pages := range everyPage {
		n := newNap(t, pages, 1)
		n.dev.FailNth(devicetest.Unmap, 2, nil)
		n.dev.FailNth(devicetest.Map, 1, nil)
		n.dev.FailNth(devicetest.Unmap, 3, nil)
		report, err := n.model.Sleep(background, n.request(SleepToHost))
		require.NoError(t, err)
		require.Zero(t, n.dev.ClearFaults())
		require.Equal(t, 7*page, report.Bytes, "a page whose unmap failed stays")
		require.Equal(t, 2*page, n.model.Stats().PhysicalBytes)
		require.True(t, allAsleep(n.record(t)))
		n.check(t)
		n.settle(t, SleepToHost, true)
		n.end(t)
	}
}
