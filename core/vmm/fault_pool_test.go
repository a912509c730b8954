package vmm

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/core/device/devicetest"
	"ferrum_mem/core/engine"
)

// script is one fixed program over all driver calls. Each step may fail; the script
// continues with what it has.
type script struct {
	*rig
	stream *devicetest.Stream
	failed int
	last   error
}

func newScript(t require.TestingT, backing device.Backing) *script {
	s := &script{rig: newRig(t, devicetest.Config{TotalBytes: 40 * page}, func(c *Config) {
		c.ReadyPages, c.Backing, c.LimitBytes = 3, backing, 14*page
	})}
	stream, err := s.dev.NewStream()
	require.NoError(t, err)
	s.stream = stream.(*devicetest.Stream)
	s.stream.Hold()
	return s
}

func (s *script) note(err error) {
	if err != nil {
		s.failed++
		s.last = err
	}
}

func (s *script) allocate(t require.TestingT, first, pages uint64) func() {
	return func() {
		before, counters := s.pool.Stats(), s.engine.Statistics()
		_, err := s.pool.Alloc(first*page, pages*page)
		s.note(err)
		after := s.pool.Stats()
		if err == nil {
			require.True(t, s.pool.IsMapped(first*page, pages*page))
			return
		}
		// Ranges whose work has completed may have been parked.
		require.LessOrEqual(t, after.PhysicalBytes, before.PhysicalBytes)
		require.Equal(t, before.MappedPages, after.MappedPages, "all or nothing")
		require.Equal(t, counters.LiveBlocks.Current, s.engine.Statistics().LiveBlocks.Current)
	}
}

func (s *script) free(t require.TestingT, first, pages uint64, queued bool) func() {
	return func() {
		var stream device.Stream
		if queued {
			stream = s.stream
		}
		before := s.pool.Stats().MappedPages
		mapped := s.pool.IsMapped(first*page, pages*page)
		err := s.pool.Free(first*page, pages*page, stream)
		s.note(err)
		if err != nil {
			require.Equal(t, before, s.pool.Stats().MappedPages, "all or nothing")
			require.Equal(t, mapped, s.pool.IsMapped(first*page, pages*page))
		}
	}
}

func (s *script) run(t require.TestingT, after func()) {
	ph := s.pool.physical
	steps := []func(){
		s.allocate(t, 0, 3), ph.Settle, s.allocate(t, 5, 2),
		s.free(t, 1, 1, false), s.allocate(t, 0+3, 2),
		s.allocate(t, 7, 1), s.free(t, 5, 2, false), s.free(t, 0, 1, false),
		// Revived and fresh pages in one range.
		s.allocate(t, 0, 2), s.allocate(t, 5, 2),
		func() { s.note(s.stream.HostFunction(func() {})) },
		s.free(t, 5, 2, true), s.free(t, 7, 1, true),
		s.allocate(t, 10, 4), ph.Settle,
		func() { s.stream.Step(100) },
		s.allocate(t, 6, 2), s.free(t, 10, 4, false), ph.tick, ph.tick,
		// Parked pages are moved to another offset, above the limit for new ones.
		s.allocate(t, 20, 6), s.free(t, 20, 6, false), s.allocate(t, 14, 6), ph.Settle,
		s.free(t, 14, 2, false), s.free(t, 0, 5, false), ph.tick, ph.tick,
		func() { _, err := s.pool.Compact(); s.note(err) },
		func() { s.note(s.pool.SetLimit(8 * page)) },
		func() { s.note(s.engine.SetLimit(9 * page)) },
		s.allocate(t, 28, 1), s.free(t, 16, 2, false), s.allocate(t, 29, 2),
		func() { s.note(s.engine.SetLimit(0)) },
		func() { _, err := ph.Trim(0); s.note(err) },
		func() { s.note(s.pool.SetLimit(0)) },
		s.allocate(t, 24, 3), s.free(t, 24, 3, false),
	}
	for _, step := range steps {
		step()
		after()
	}
}

// For every n the n-th driver call of the script fails. Pool, counters and device are
// exact after every step, and later steps succeed.
func TestEveryDriverCallFailsOnce(t *testing.T) {
	for _, backing := range []device.Backing{device.BackingMovable, device.BackingPrivate} {
		count := newScript(t, backing)
		before := count.dev.Calls(devicetest.Any)
		count.run(t, func() { count.check(t) })
		require.Zero(t, count.failed, "without a fault every step works: %v", count.last)
		calls := count.dev.Calls(devicetest.Any) - before
		require.Greater(t, calls, 60)

		seen := 0
		for n := 1; n <= calls; n++ {
			t.Run(fmt.Sprint("backing ", backing, " call ", n), func(t *testing.T) {
				s := newScript(t, backing)
				s.dev.FailNth(devicetest.Any, n, nil)
				s.run(t, func() { s.check(t) })
				require.Zero(t, s.dev.ClearFaults(), "the fault was met")
				if s.failed > 0 {
					seen++
				}
				failed := s.failed
				s.stream.Release()
				s.allocate(t, 31, 1)()
				s.free(t, 31, 1, false)()
				require.Equal(t, failed, s.failed, "the next operation works")
				require.NoError(t, s.stream.Close())
				s.quit(t)
			})
		}
		require.Greater(t, seen, calls/3, "faults are reported, not swallowed")
	}
}

// For every n the n-th driver call of a Close fails, with live, retiring, parked and
// idle pages. The second Close succeeds.
func TestEveryDriverCallOfCloseFailsOnce(t *testing.T) {
	prepare := func(t require.TestingT) *rig {
		r := newRig(t, devicetest.Config{}, nil)
		for first := range uint64(4) {
			_, err := r.pool.Alloc(first*3*page, 2*page)
			require.NoError(t, err)
		}
		r.pool.physical.Settle()
		require.NoError(t, r.pool.Free(0, 2*page, nil))
		r.dev.Default().Hold()
		require.NoError(t, r.dev.Default().HostFunction(func() {}))
		require.NoError(t, r.pool.Free(3*page, page, nil))
		require.Equal(t, uint64(1), r.pool.Stats().RetiringPages)
		r.dev.Default().Release()
		return r
	}
	count := prepare(t)
	require.ErrorIs(t, count.pool.Close(false), device.CodeBusy)
	count.check(t)
	before := count.dev.Calls(devicetest.Any)
	require.NoError(t, count.pool.Close(true))
	calls := count.dev.Calls(devicetest.Any) - before
	require.Greater(t, calls, 6)
	for n := 1; n <= calls; n++ {
		t.Run(fmt.Sprint("call ", n), func(t *testing.T) {
			r := prepare(t)
			r.dev.FailNth(devicetest.Any, n, nil)
			err := r.pool.Close(true)
			if r.dev.ClearFaults() == 0 && err != nil {
				if r.pool.space.table.state == stateOpen {
					r.check(t)
					_, err := r.pool.Alloc(20*page, page)
					require.NoError(t, err, "the pool works as before")
					r.check(t)
				}
				require.NoError(t, r.pool.Close(true))
			}
			require.ErrorIs(t, r.pool.Close(true), device.CodeInvalidState)
			require.Zero(t, r.dev.HeldBytes())
			require.Zero(t, r.dev.Reservations())
			require.Zero(t, r.dev.OpenEvents())
			require.NoError(t, r.engine.Close())
		})
	}
}

// If the calls of an undo fail, pages stay parked without access rights. The next
// allocation of them sets the rights.
func TestFailedUndoLosesNoPages(t *testing.T) {
	r := newRig(t, devicetest.Config{Backed: true}, nil)
	_, err := r.pool.Alloc(2*page, page)
	require.NoError(t, err)
	require.NoError(t, r.pool.Free(2*page, page, nil))
	// Two fresh runs around a parked one: the access of the second fails, then the
	// unmap of the first.
	r.dev.FailNth(devicetest.SetAccess, 2, nil)
	r.dev.FailNth(devicetest.Unmap, 1, nil)
	_, err = r.pool.Alloc(page, 3*page)
	require.ErrorIs(t, err, device.CodeDevice)
	r.check(t)
	require.Equal(t, uint64(2), r.pool.Stats().ParkedPages)
	for _, call := range []devicetest.Call{devicetest.Map, devicetest.SetAccess} {
		r.dev.FailNth(call, 1, nil)
		_, err = r.pool.Alloc(page, 3*page)
		require.ErrorIs(t, err, device.CodeDevice)
		r.check(t)
	}
	addr, err := r.pool.Alloc(page, 3*page)
	require.NoError(t, err)
	require.NoError(t, r.dev.FillNow(addr, 7, 3*page), "all of it can be written")
	r.quit(t)
}

func TestPagesThatCannotBeUnmapped(t *testing.T) {
	r := newRig(t, devicetest.Config{}, func(c *Config) { c.LimitBytes, c.ReadyPages = 2*page, -1 })
	_, err := r.pool.Alloc(0, 2*page)
	require.NoError(t, err)
	require.NoError(t, r.pool.Free(0, 2*page, nil))
	r.dev.FailNth(devicetest.Unmap, 1, nil)
	_, err = r.pool.Alloc(8*page, 2*page)
	require.ErrorIs(t, err, device.CodeDevice, "there is nothing else that it could have")
	r.check(t)
	r.dev.FailNth(devicetest.Unmap, 1, nil)
	released, err := r.pool.physical.ReleaseCached(1)
	require.ErrorIs(t, err, device.CodeDevice)
	require.Zero(t, released)
	r.dev.FailNth(devicetest.Release, 1, nil)
	released, err = r.pool.physical.ReleaseCached(1)
	require.ErrorIs(t, err, device.CodeDevice)
	require.Zero(t, released)
	r.check(t)
	_, err = r.pool.Alloc(8*page, 2*page)
	require.NoError(t, err)
	r.quit(t)
}

// An allocation that can create new pages does not depend on a successful unmap.
func TestNewPagesAreCreatedWhenUnmapFails(t *testing.T) {
	r := newRigWith(t, devicetest.Config{}, engine.Options{}, func(c *Config) { c.ReadyPages = -1 })
	_, err := r.pool.Alloc(0, page)
	require.NoError(t, err)
	require.NoError(t, r.pool.Free(0, page, nil))
	r.dev.FailNth(devicetest.Unmap, 1, nil)
	_, err = r.pool.Alloc(8*page, page)
	require.NoError(t, err)
	r.check(t)
	r.quit(t)
}
