package vmm

import (
	"fmt"
	"math"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/core/device/devicetest"
	"ferrum_mem/core/engine"
)

// patient is a deadline that no test reaches.
const patient = time.Minute

func TestAGuaranteeIsNeverBroken(t *testing.T) {
	p := newParty(t, devicetest.Config{}, 32)
	hog := p.model(t, "hog", 4, 0, 9)
	owed := p.model(t, "owed", 10, 0, -9)
	get(t, hog, 22)
	short(t, hog, 1, 0)
	stats, _ := p.shared.ModelStats("owed")
	require.Equal(t, uint64(10*page), stats.AvailableBytes)
	for range 10 {
		get(t, owed, 1)
	}
	short(t, owed, 1, 0)
	p.check(t)
	p.quit(t)
}

func TestAModelGetsNoMoreThanItsMaximum(t *testing.T) {
	p := newParty(t, devicetest.Config{}, 32)
	m := p.model(t, "m", 2, 5, 0)
	a := get(t, m, 3)
	short(t, m, 3, 2)
	require.NoError(t, p.shared.SetModelLimits("m", ModelLimits{GuaranteedBytes: 2 * page, MaxBytes: 2 * page}))
	require.True(t, m.IsMapped(a.OffsetBytes, a.SizeBytes), "a maximum below the mapped pages unmaps nothing")
	short(t, m, 1, 0)
	free(t, m, a)
	get(t, m, 2)
	require.NoError(t, p.shared.SetModelLimits("m", ModelLimits{}))
	get(t, m, 30)
	p.quit(t)
}

// freeing registers a callback that records the call and frees the requested bytes from
// the ranges of a model, which are one page each.
func freeing(t *testing.T, m *Model, held []Allocation, note func(m *Model, needed uint64)) *Reclaim {
	r, err := m.shared.OnReclaim(m.id, patient, func(needed uint64) uint64 {
		note(m, needed)
		freed := uint64(0)
		for freed < needed && len(held) > 0 {
			if m.Free(held[0].OffsetBytes, held[0].SizeBytes, nil) != nil {
				break
			}
			freed += held[0].SizeBytes
			held = held[1:]
		}
		return freed
	})
	require.NoError(t, err)
	return r
}

func singles(t *testing.T, m *Model, n int) (held []Allocation) {
	for range n {
		held = append(held, get(t, m, 1))
	}
	return held
}

// The order is: lowest priority, then most pages above the guarantee, then
// registration. A model below its guarantee is not called, and no model is called for
// more pages than it has above its guarantee.
func TestReclaimCallbacksRunInGiverOrder(t *testing.T) {
	p := newParty(t, devicetest.Config{}, 32)
	var asked []string
	note := func(m *Model, needed uint64) { asked = append(asked, fmt.Sprint(m.id, " ", needed/page)) }
	high := p.model(t, "high", 1, 0, 5)
	few := p.model(t, "few", 2, 0, 1)
	many := p.model(t, "many", 0, 0, 1)
	same := p.model(t, "same", 1, 0, 1)
	content := p.model(t, "content", 6, 0, -5)
	asker := p.model(t, "asker", 0, 0, 3)
	for m, n := range map[*Model]int{high: 4, few: 4, many: 7, same: 3, content: 6} {
		freeing(t, m, singles(t, m, n), note)
	}
	get(t, asker, 8)
	p.check(t)

	get(t, asker, 11)
	require.Equal(t, []string{"many 7", "few 2", "same 2"}, asked)
	p.check(t)
	stats, _ := p.shared.ModelStats("many")
	require.EqualValues(t, 1, stats.ReclaimCalls)
	require.EqualValues(t, 7*page, stats.ReclaimedBytes)

	asked = nil
	get(t, asker, 3)
	require.Equal(t, []string{"high 3"}, asked)
	asked = nil
	short(t, asker, 1, 0)
	require.Empty(t, asked, "all others are at their guarantees")
	p.quit(t)
}

// Bytes freed by a callback also count if the allocation is served before the call
// ends, or no call waits for its end.
func TestReclaimedBytesAreCountedWhenTheWaiterIsServedFirst(t *testing.T) {
	p := newParty(t, devicetest.Config{}, 8)
	giver, asker := p.model(t, "giver", 0, 0, 0), p.model(t, "asker", 0, 0, 0)
	held := get(t, giver, 8)
	goOn := make(chan struct{})
	_, err := p.shared.OnReclaim("giver", patient, func(uint64) uint64 {
		if giver.Free(held.OffsetBytes, held.SizeBytes, nil) != nil {
			return 0
		}
		<-goOn
		return held.SizeBytes
	})
	require.NoError(t, err)
	get(t, asker, 8)
	require.EqualValues(t, 1, giver.Stats().ReclaimCalls)
	require.Zero(t, giver.Stats().ReclaimedBytes, "the callback has not returned yet")
	close(goOn)
	until(t, func() bool { return giver.Stats().ReclaimedBytes == 8*page })
	p.check(t)

	// A callback with an absurd result does not overflow the sum.
	again := p.model(t, "again", 0, 0, 0)
	_, err = p.shared.OnReclaim("asker", patient, func(uint64) uint64 { return math.MaxUint64 })
	require.NoError(t, err)
	for range 2 {
		short(t, again, 1, 0)
	}
	require.EqualValues(t, uint64(math.MaxUint64), asker.Stats().ReclaimedBytes)
	p.quit(t)
}

func TestModelAtItsMaximumRunsItsOwnCallback(t *testing.T) {
	p := newParty(t, devicetest.Config{}, 32)
	m, other := p.model(t, "m", 4, 4, 0), p.model(t, "other", 0, 0, -1)
	var asked []string
	note := func(m *Model, needed uint64) { asked = append(asked, fmt.Sprint(m.id, " ", needed/page)) }
	freeing(t, m, singles(t, m, 4), note)
	freeing(t, other, singles(t, other, 4), note)
	get(t, m, 3)
	require.Equal(t, []string{"m 3"}, asked, "only the model at its own maximum is asked")
	p.quit(t)
}

// Pages freed by a reclaim round go to the requesting model, even if another model
// allocates all the time.
func TestReclaimedPagesGoToTheRequestingModel(t *testing.T) {
	p := newParty(t, devicetest.Config{}, 32)
	giver, asker, eager := p.model(t, "giver", 0, 0, 0), p.model(t, "asker", 0, 0, 0), p.model(t, "eager", 0, 0, 9)
	held := singles(t, giver, 32)
	inCall, goOn := make(chan struct{}), make(chan struct{})
	_, err := p.shared.OnReclaim("giver", patient, func(needed uint64) uint64 {
		if needed == 32*page {
			close(inCall)
			<-goOn
		}
		for _, a := range held {
			_ = giver.Free(a.OffsetBytes, a.SizeBytes, nil)
		}
		return 32 * page
	})
	require.NoError(t, err)
	var wait sync.WaitGroup
	wait.Go(func() { get(t, asker, 32) })
	<-inCall
	results := make(chan error, 4)
	for range 4 {
		wait.Go(func() {
			_, err := eager.Alloc(page)
			results <- err
		})
	}
	p.untilWaiting(5)
	close(goOn)
	wait.Wait()
	require.Equal(t, uint64(32*page), asker.Stats().PhysicalBytes)
	for range 4 {
		require.ErrorIs(t, <-results, device.CodeOutOfPhysicalMemory)
	}
	p.quit(t)
}

// If a third model frees pages while a callback runs, the waiter gets them at once and
// does not wait for the end of the call.
func TestAFreeElsewhereEndsTheWait(t *testing.T) {
	p := newParty(t, devicetest.Config{}, 8)
	giver, other, asker := p.model(t, "giver", 0, 0, 0), p.model(t, "other", 0, 0, 5), p.model(t, "asker", 0, 0, 0)
	get(t, giver, 4)
	held := get(t, other, 4)
	inCall, served := make(chan struct{}), make(chan struct{})
	_, err := p.shared.OnReclaim("giver", patient, func(uint64) uint64 {
		close(inCall)
		<-served
		return 0
	})
	require.NoError(t, err)
	var wait sync.WaitGroup
	wait.Go(func() {
		get(t, asker, 4)
		close(served)
	})
	<-inCall
	free(t, other, held)
	wait.Wait()
	p.quit(t)
}

// After a waiter gave up the next one is served: it may need less, and does not fail
// with the first.
func TestSmallerWaiterIsServedAfterALargerGaveUp(t *testing.T) {
	p := newParty(t, devicetest.Config{}, 8)
	giver, large, small := p.model(t, "giver", 0, 0, 0), p.model(t, "large", 0, 0, 0), p.model(t, "small", 0, 0, 0)
	get(t, giver, 4)
	inCall, goOn := make(chan struct{}), make(chan struct{})
	_, err := p.shared.OnReclaim("giver", patient, func(uint64) uint64 { close(inCall); <-goOn; return 0 })
	require.NoError(t, err)
	var wait sync.WaitGroup
	wait.Go(func() { short(t, large, 8, 4) })
	<-inCall
	wait.Go(func() { get(t, small, 2) })
	p.untilWaiting(2)
	close(goOn)
	wait.Wait()
	p.quit(t)
}

func TestAllocationsWithinAGuaranteeDoNotWait(t *testing.T) {
	p := newParty(t, devicetest.Config{}, 8)
	giver, asker, owed := p.model(t, "giver", 0, 0, 0), p.model(t, "asker", 0, 0, 9), p.model(t, "owed", 2, 0, 0)
	held := get(t, giver, 6)
	inCall, goOn := make(chan struct{}), make(chan struct{})
	_, err := p.shared.OnReclaim("giver", patient, func(uint64) uint64 {
		close(inCall)
		<-goOn
		_ = giver.Free(held.OffsetBytes, held.SizeBytes, nil)
		return 0
	})
	require.NoError(t, err)
	var wait sync.WaitGroup
	wait.Go(func() { get(t, asker, 1) })
	<-inCall
	get(t, owed, 2)
	close(goOn)
	wait.Wait()
	p.quit(t)
}

func TestRetiringPagesAreWaitedFor(t *testing.T) {
	p := newParty(t, devicetest.Config{}, 8)
	other, asker := p.model(t, "other", 0, 0, 0), p.model(t, "asker", 0, 0, 0)
	stream := p.dev.Default()
	stream.Hold()
	require.NoError(t, stream.HostFunction(func() {}))
	free(t, other, get(t, other, 8))
	stats := p.shared.Stats()
	require.EqualValues(t, 8*page, stats.RetiringBytes)
	require.EqualValues(t, 8, stats.Each[0].RetiringPages)
	p.check(t)

	done := make(chan struct{})
	var wait sync.WaitGroup
	wait.Go(func() {
		defer close(done)
		get(t, asker, 8)
	})
	p.untilWaiting(1)
	select {
	case <-done:
		require.Fail(t, "pages were handed out that queued work may use")
	default:
	}
	stream.Release()
	wait.Wait()
	stats = p.shared.Stats()
	require.EqualValues(t, 1, stats.Each[1].Waits)
	require.NotZero(t, stats.Each[1].WaitedNs)
	p.quit(t)
}

// Work whose wait fails does not block the search.
func TestFailedWaitForWorkEndsTheSearch(t *testing.T) {
	p := newParty(t, devicetest.Config{}, 8)
	other, asker := p.model(t, "other", 0, 0, 0), p.model(t, "asker", 0, 0, 0)
	stream := p.dev.Default()
	stream.Hold()
	require.NoError(t, stream.HostFunction(func() {}))
	free(t, other, get(t, other, 8))
	p.dev.FailNth(devicetest.EventSynchronize, 1, nil)
	short(t, asker, 1, 0)
	p.check(t)
	stream.Release()
	require.NoError(t, other.Synchronize())
	require.Zero(t, other.Stats().PhysicalBytes)
	get(t, asker, 8)
	p.quit(t)
}

func TestThreadThatMayNotWaitUsesFreePagesOnly(t *testing.T) {
	var inside atomic.Bool
	p := newPartyWith(t, devicetest.Config{}, engine.Options{MayNotWait: inside.Load}, ElasticConfig{LimitBytes: 8 * page}, false)
	other, asker := p.model(t, "other", 0, 0, 0), p.model(t, "asker", 0, 0, 0)
	held := get(t, other, 8)
	called := false
	r, err := p.shared.OnReclaim("other", patient, func(uint64) uint64 { called = true; return 0 })
	require.NoError(t, err)
	inside.Store(true)
	short(t, asker, 1, 0)
	require.False(t, called)
	p.dev.Default().Hold()
	require.NoError(t, p.dev.Default().HostFunction(func() {}))
	free(t, other, held)
	short(t, asker, 1, 0)
	p.dev.Default().Release()
	get(t, asker, 8)
	r.Remove(true)
	r.Remove(true)
	inside.Store(false)
	short(t, other, 1, 0)
	require.False(t, called, "a callback that was removed is not called")
	p.quit(t)
}

// A callback that exceeds its deadline delays no allocation any longer.
func TestADeadlineEndsTheWaitForACallback(t *testing.T) {
	p := newParty(t, devicetest.Config{}, 8)
	slow, quick, asker := p.model(t, "slow", 0, 0, 0), p.model(t, "quick", 0, 0, 1), p.model(t, "asker", 0, 0, 2)
	get(t, slow, 4)
	goOn := make(chan struct{})
	_, err := p.shared.OnReclaim("slow", time.Nanosecond, func(uint64) uint64 { <-goOn; return 0 })
	require.NoError(t, err)
	freeing(t, quick, singles(t, quick, 4), func(*Model, uint64) {})
	get(t, asker, 3)
	close(goOn)
	// The call may have been abandoned before it began.
	require.NoError(t, p.shared.Unregister("slow", true))
	p.quit(t)
}

func TestLimitsChangeWhileModelsRun(t *testing.T) {
	p := newParty(t, devicetest.Config{}, 32)
	a, b := p.model(t, "a", 4, 0, 0), p.model(t, "b", 0, 0, 0)
	kept, freed := get(t, a, 10), get(t, b, 20)
	free(t, b, freed)
	require.Equal(t, 30*page, p.dev.HeldBytes(), "freed pages are kept for the next")
	require.NoError(t, p.shared.SetLimit(6*page))
	require.Equal(t, uint64(6*page), p.shared.Limit())
	require.Equal(t, 10*page, p.dev.HeldBytes(), "free pages are released at once, mapped ranges stay")
	require.True(t, a.IsMapped(kept.OffsetBytes, kept.SizeBytes))
	p.check(t)
	short(t, a, 1, 0)
	short(t, b, 1, 0)

	waiting := make(chan error, 1)
	inCall, goOn := make(chan struct{}), make(chan struct{})
	r, err := p.shared.OnReclaim("a", patient, func(uint64) uint64 { close(inCall); <-goOn; return 0 })
	require.NoError(t, err)
	var wait sync.WaitGroup
	wait.Go(func() { waiting <- second(b.Alloc(2 * page)) })
	<-inCall
	require.NoError(t, p.shared.SetLimit(12*page))
	require.NoError(t, <-waiting, "a raised limit serves the waiting request")
	close(goOn)
	wait.Wait()
	r.Remove(false)

	require.NoError(t, p.shared.SetModelLimits("b", ModelLimits{GuaranteedBytes: 8 * page, Priority: 3, GuaranteeMayWait: true}))
	require.Equal(t, 2*page, b.Stats().GuaranteedBytes, "model a uses the pages for the rest of the guarantee")
	short(t, a, 1, 0)
	require.ErrorIs(t, p.shared.SetLimit(11*page), device.CodeInvalidConfig, "4 and 8 are guaranteed")
	free(t, a, kept)
	short(t, a, 5, 4)
	get(t, b, 6)
	get(t, a, 4)
	p.quit(t)
}
