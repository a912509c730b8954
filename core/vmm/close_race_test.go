package vmm

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/core/device/devicetest"
)

// underWay runs fn while an allocation of a space is in progress.
func underWay(s *space, fn func()) {
	s.mu.Lock()
	s.claims++
	s.mu.Unlock()
	fn()
	s.mu.Lock()
	s.unclaim()
	s.mu.Unlock()
}

// atOnce fails the test if a call waits.
func atOnce(t *testing.T, call func() error) (err error) {
	done := device.Go("close", func() { err = call() })
	select {
	case <-done:
	case <-time.After(20 * time.Second):
		require.Fail(t, "the call waits, but must return")
	}
	return err
}

func TestCloseDuringAnAllocationChangesNothing(t *testing.T) {
	r := newRig(t, devicetest.Config{}, nil)
	underWay(r.pool.space, func() {
		err := atOnce(t, func() error { return r.pool.Close(false) })
		require.ErrorIs(t, err, device.CodeBusy)
		require.ErrorContains(t, err, "and 1 call that")
		require.False(t, r.pool.HasEnded())
		_, err = r.pool.Alloc(0, page)
		require.NoError(t, err)
		require.NoError(t, r.pool.Free(0, page, nil))
	})
	r.check(t)
	require.NoError(t, r.pool.Close(false))
}

// A close of a pool with many models checks all models before it changes the first.
func TestCloseRejectedByTheLastModelKeepsAllModels(t *testing.T) {
	p := newParty(t, devicetest.Config{}, 32)
	var ids []string
	var last *Model
	for i := range 20 {
		last = p.model(t, text(uint64(10+i)), 1, 0, 0)
		ids = append(ids, last.id)
	}
	called := false
	_, err := p.shared.OnReclaim(ids[0], patient, func(uint64) uint64 { called = true; return 0 })
	require.NoError(t, err)
	refused := func(what string) {
		t.Helper()
		before := p.shared.Stats()
		err := atOnce(t, func() error { return p.shared.Close(false) })
		require.ErrorIs(t, err, device.CodeBusy)
		require.ErrorContains(t, err, what)
		require.False(t, p.shared.HasEnded())
		require.Equal(t, ids, p.shared.Models())
		require.Equal(t, before, p.shared.Stats())
		require.Len(t, p.shared.models[ids[0]].callbacks(), 1)
		first, err := p.shared.Model(ids[0])
		require.NoError(t, err)
		free(t, first, get(t, first, 1))
	}
	underWay(last.space, func() {
		refused("and 1 call that")
		err := atOnce(t, func() error { return p.shared.Unregister(last.id, false) })
		require.ErrorIs(t, err, device.CodeBusy)
	})
	held := get(t, last, 2)
	refused("1 allocation of 2 pages")
	free(t, last, held)
	_, err = p.shared.enroll("register", "coming", ModelConfig{VirtualBytes: page})
	require.NoError(t, err)
	refused(`"coming" is being registered`)
	p.shared.mu.Lock()
	p.shared.removeModel(p.shared.models["coming"])
	p.shared.mu.Unlock()
	p.check(t)
	require.NoError(t, p.shared.Close(false))
	require.False(t, called)
	require.Zero(t, p.dev.HeldBytes())
}

// If the driver fails during the close, the remaining models are as before.
func TestCloseThatFailsInTheDriverKeepsRemainingModels(t *testing.T) {
	p := newParty(t, devicetest.Config{}, 32)
	for _, id := range []string{"a", "b", "c"} {
		p.model(t, id, 1, 0, 0)
	}
	p.dev.FailNth(devicetest.Unreserve, 2, nil)
	require.ErrorIs(t, p.shared.Close(false), device.CodeDevice)
	require.Equal(t, []string{"b", "c"}, p.shared.Models())
	for _, id := range p.shared.Models() {
		m, err := p.shared.Model(id)
		require.NoError(t, err)
		free(t, m, get(t, m, 2))
	}
	p.check(t)
	require.NoError(t, p.shared.Close(false))
	require.Zero(t, p.dev.Reservations())
}

// Threads allocate and free while another thread closes without force until it
// succeeds. A rejected close has no effect on any call, and no allocated range is lost
// with the pool.
func TestAllocationsDuringClosesWithoutForce(t *testing.T) {
	ends := map[string]func(*party) error{
		"pool":  func(p *party) error { return p.shared.Close(false) },
		"model": func(p *party) error { return p.shared.Unregister("1", false) },
	}
	for name, end := range ends {
		t.Run(name, func(t *testing.T) {
			for range 30 {
				endBesideAllocations(t, end)
			}
		})
	}
}

func endBesideAllocations(t *testing.T, end func(*party) error) {
	p := newParty(t, devicetest.Config{}, 32)
	var over atomic.Int32
	var wait, begun sync.WaitGroup
	for i := range uint64(3) {
		m := p.model(t, text(i), 0, 0, 0)
		begun.Add(1)
		wait.Go(func() {
			for turn := range 60 {
				if turn == 3 {
					begun.Done()
				}
				a, err := m.Alloc(page)
				if err != nil {
					assert.Contains(t, []device.Code{device.CodeModelNotFound, device.CodeInvalidState}, device.CodeOf(err))
					over.Add(1)
					return
				}
				assert.NoError(t, m.Free(a.OffsetBytes, a.SizeBytes, nil))
			}
		})
	}
	begun.Wait()
	ended := false
	for range 200 {
		err := end(p)
		if ended = err == nil; ended {
			break
		}
		require.ErrorIs(t, err, device.CodeBusy)
		require.Zero(t, over.Load(), "the object stays open, and no call has failed because of the rejected close")
	}
	wait.Wait()
	require.True(t, ended || over.Load() == 0)
	if !p.shared.HasEnded() {
		p.check(t)
		require.NoError(t, p.shared.Close(false))
	}
	require.Zero(t, p.dev.HeldBytes()+uint64(p.dev.Reservations()))
}
