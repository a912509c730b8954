package vmm

import (
	"errors"
	"runtime"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/core/device/devicetest"
)

func TestUnregisterReturnsAllMemoryToThePool(t *testing.T) {
	p := newParty(t, devicetest.Config{}, 32)
	a, b := p.model(t, "a", 8, 0, 0), p.model(t, "b", 0, 0, 0)
	held := get(t, a, 20)
	err := p.shared.Unregister("a", false)
	require.ErrorIs(t, err, device.CodeBusy)
	require.ErrorContains(t, err, `"a" has 1 allocation of 20 pages`)
	get(t, a, 1)
	require.ErrorIs(t, p.shared.Close(false), device.CodeBusy)
	p.check(t)

	require.NoError(t, p.shared.Unregister("a", true))
	require.ErrorIs(t, p.shared.Unregister("a", true), device.CodeModelNotFound)
	require.ErrorIs(t, a.Free(held.OffsetBytes, held.SizeBytes, nil), device.CodeModelNotFound)
	require.Equal(t, 21*page, p.dev.HeldBytes(), "the pages of the model stay in the pool")
	require.Equal(t, GlobalStats{
		PhysicalLimitBytes: 32 * page, Models: 1, VirtualBytes: 64 * page, PeakPhysicalBytes: 21 * page,
		CachedBytes: 21 * page, HeldBytes: 21 * page,
	}, p.shared.GlobalStats())
	get(t, b, 32)
	p.model(t, "a", 0, 0, 0)
	p.check(t)
	p.quit(t)
}

func TestUnregisterWaitsForQueuedWork(t *testing.T) {
	p := newParty(t, devicetest.Config{}, 32)
	m := p.model(t, "m", 0, 0, 0)
	stream := p.dev.Default()
	stream.Hold()
	held := get(t, m, 4)
	require.NoError(t, stream.Fill(held.Addr, device.Pattern{Value: 1, WidthBytes: 1}, held.SizeBytes))
	free(t, m, held)
	var wait sync.WaitGroup
	wait.Go(func() { require.NoError(t, p.shared.Unregister("m", false)) })
	require.Len(t, p.shared.Stats().Each, 1)
	stream.Release()
	wait.Wait()
	require.Empty(t, p.shared.Models())
	p.quit(t)
}

func TestUnregisterFailsWaitingAllocations(t *testing.T) {
	p := newParty(t, devicetest.Config{}, 32)
	giver := p.model(t, "giver", 0, 0, 0)
	full, asker, behind := p.model(t, "full", 0, 4, 0), p.model(t, "asker", 0, 0, 0), p.model(t, "behind", 0, 0, 0)
	held := get(t, giver, 28)
	get(t, full, 4)
	goOn, wait := make(chan struct{}), sync.WaitGroup{}
	results := map[*Model]chan error{}
	inCall := make(chan string, 2)
	hang := func(id string) {
		_, err := p.shared.OnReclaim(id, patient, func(uint64) uint64 { inCall <- id; <-goOn; return 0 })
		require.NoError(t, err)
	}
	ask := func(m *Model) {
		results[m] = make(chan error, 1)
		wait.Go(func() { results[m] <- second(m.Alloc(page)) })
	}
	hang("giver")
	hang("full")
	ask(full) // at its maximum: its own callback is called
	require.Equal(t, "full", <-inCall)
	ask(asker)
	require.Equal(t, "giver", <-inCall)
	ask(behind)
	p.untilWaiting(3)
	require.ErrorIs(t, p.shared.Unregister("asker", false), device.CodeBusy)
	require.ErrorIs(t, p.shared.Close(false), device.CodeBusy)

	require.NoError(t, p.shared.Unregister("asker", true))
	require.ErrorIs(t, <-results[asker], device.CodeModelNotFound)
	free(t, giver, held)
	require.NoError(t, <-results[behind], "the next waiting request is served")
	close(goOn)
	require.NoError(t, p.shared.Unregister("full", true))
	require.Error(t, <-results[full])
	wait.Wait()
	p.quit(t)
}

// A model is unregistered while others reclaim from it; they continue without it.
func TestAModelIsDestroyedWhileOthersReclaim(t *testing.T) {
	p := newParty(t, devicetest.Config{}, 32)
	victim, other, asker := p.model(t, "victim", 0, 0, 0), p.model(t, "other", 0, 0, 1), p.model(t, "asker", 0, 0, 2)
	held := get(t, victim, 16)
	kept := singles(t, other, 16)
	inCall, goOn := make(chan struct{}), make(chan struct{})
	_, err := p.shared.OnReclaim("victim", patient, func(uint64) uint64 {
		close(inCall)
		<-goOn
		return held.SizeBytes * uint64(min(1, len(kept)))
	})
	require.NoError(t, err)
	freeing(t, other, kept, func(*Model, uint64) {})
	var wait sync.WaitGroup
	wait.Go(func() { get(t, asker, 24) })
	<-inCall
	wait.Go(func() { require.NoError(t, p.shared.Unregister("victim", true)) })
	// Its pages are returned before the wait for its callback.
	for p.shared.GlobalStats().Models == 3 {
		p.untilWaiting(0)
	}
	close(goOn)
	wait.Wait()
	require.Equal(t, []string{"asker", "other"}, p.shared.Models())
	p.quit(t)
}

// A callback may unregister its own model.
func TestUnregisterInsideOfTheModelsOwnCallback(t *testing.T) {
	var inside insideFlag
	p := newPartyWith(t, devicetest.Config{}, inside.options(), ElasticConfig{LimitBytes: 8 * page}, false)
	giver, asker := p.model(t, "giver", 0, 0, 0), p.model(t, "asker", 0, 0, 0)
	get(t, giver, 8)
	// The requesting model may get its pages before the callback has ended.
	over := make(chan struct{})
	_, err := p.shared.OnReclaim("giver", patient, func(needed uint64) uint64 {
		defer close(over)
		defer inside.enter()()
		if p.shared.Unregister("giver", true) != nil {
			return 0
		}
		return needed
	})
	require.NoError(t, err)
	get(t, asker, 8)
	<-over
	p.quit(t)
}

func TestUnregisterThatFailsCanBeRepeated(t *testing.T) {
	for _, call := range []devicetest.Call{devicetest.Unmap, devicetest.Unreserve, devicetest.DeviceSynchronize} {
		p := newParty(t, devicetest.Config{}, 32)
		m, other := p.model(t, "m", 8, 0, 0), p.model(t, "other", 0, 0, 0)
		get(t, m, 4)
		p.dev.FailNth(call, 1, nil)
		require.ErrorIs(t, p.shared.Unregister("m", true), device.CodeDevice, "%s", call)
		p.check(t)
		short(t, other, 25, 24)
		get(t, m, 8)
		p.dev.FailNth(call, 1, nil)
		require.ErrorIs(t, p.shared.Close(true), device.CodeDevice, "%s", call)
		p.check(t)
		p.quit(t)
	}
}

func TestCloseThatFailsCanBeRepeatedOnAElasticPool(t *testing.T) {
	p := newParty(t, devicetest.Config{}, 32)
	m := p.model(t, "m", 8, 0, 0)
	free(t, m, get(t, m, 4))
	p.dev.FailNth(devicetest.Release, 1, nil)
	require.ErrorIs(t, p.shared.Close(false), device.CodeDevice)
	require.Empty(t, p.shared.Models())
	require.Equal(t, 4*page, p.dev.HeldBytes())
	get(t, p.model(t, "m", 8, 0, 0), 4)
	p.quit(t)
}

// Models that are registered while the pool is being closed fail, or keep it open.
// Nothing is left of them.
func TestRegisterDuringCloseFailsOrKeepsThePoolOpen(t *testing.T) {
	for range 20 {
		p := newParty(t, devicetest.Config{}, 32)
		var wait sync.WaitGroup
		for i := range 4 {
			wait.Go(func() {
				for {
					m, err := p.shared.Register(text(uint64(i)), ModelConfig{VirtualBytes: 4 * page})
					if err != nil {
						require.ErrorIs(t, err, device.CodeInvalidState)
						return
					}
					if _, err := m.Alloc(page); err != nil {
						require.ErrorIs(t, err, device.CodeModelNotFound)
					}
					if err := p.shared.Unregister(m.id, true); err != nil && !errors.Is(err, device.CodeModelNotFound) {
						require.ErrorIs(t, err, device.CodeInvalidState)
						return
					}
				}
			})
		}
		for {
			err := p.shared.Close(true)
			if err == nil {
				break
			}
			require.ErrorIs(t, err, device.CodeBusy)
		}
		wait.Wait()
		require.Zero(t, p.dev.Reservations()+p.dev.Pages())
		require.NoError(t, p.engine.Close())
	}
}

// Close waits for a model that another thread unregisters, and unregisters it itself if
// the other thread failed.
func TestCloseWaitsForAConcurrentUnregister(t *testing.T) {
	for _, fails := range []bool{false, true} {
		p := newParty(t, devicetest.Config{}, 32)
		m := p.model(t, "m", 0, 0, 0)
		get(t, m, 4)
		if fails {
			p.dev.FailNth(devicetest.Unreserve, 1, nil)
		}
		p.dev.Default().Hold()
		require.NoError(t, p.dev.Default().HostFunction(func() {}))
		until := func(condition func() bool) {
			for reached := false; !reached; runtime.Gosched() {
				p.shared.mu.Lock()
				reached = condition()
				p.shared.mu.Unlock()
			}
		}
		var wait sync.WaitGroup
		wait.Go(func() {
			if err := p.shared.Unregister("m", true); fails {
				assert.ErrorIs(t, err, device.CodeDevice)
			} else {
				assert.NoError(t, err)
			}
		})
		until(func() bool { return m.gone })
		wait.Go(func() { assert.NoError(t, p.shared.Close(true)) })
		until(func() bool { return p.shared.state == stateClosing })
		p.dev.Default().Release()
		wait.Wait()
		require.Zero(t, p.dev.HeldBytes())
		require.NoError(t, p.engine.Close())
	}
}
