package pool

import (
	"cmp"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"ferrum_mem/core/device"
	"ferrum_mem/core/device/devicetest"
	"ferrum_mem/core/pool/regions"
	"ferrum_mem/core/rangealloc"
)

// claimsLeft counts the reserved targets.
func (p *Pool) claimsLeft() (count int) {
	p.heap.mu.Lock()
	defer p.heap.mu.Unlock()
	for _, s := range p.heap.segments {
		s.eachBlock(func(l located) bool {
			if l.info().state() == blockClaimed {
				count++
			}
			return true
		})
	}
	return count
}

// thinned returns a paged pool in which each page has a few small blocks left.
func thinned(t *testing.T, strategy string, blocks int) *mover {
	_, m := newMover(t, func(c *Config) { c.Strategy = strategy })
	var addrs []device.Addr
	for range blocks {
		addrs = append(addrs, m.alloc(t, Request{SizeBytes: 256}))
	}
	for i, addr := range addrs {
		if i%8 != i/256%8 {
			m.free(t, addr)
		}
	}
	return m
}

// However many blocks a pool has, the lock is released after some looks.
func TestRelocationHoldsTheLockForAFewLooks(t *testing.T) {
	// No other thread uses the lock here, so fewer blocks are enough with the race
	// detector.
	step := devicetest.Step()
	for _, strategy := range []string{rangealloc.Default, "tlsf", "buddy", "size_class", "arena"} {
		t.Run(strategy, func(t *testing.T) {
			m := thinned(t, strategy, 40_000/step)
			gaps := 0
			r, err := m.p.Relocate(m.all())
			require.NoError(t, err)
			for {
				next, err := r.Next(func() bool { gaps++; return false })
				require.NoError(t, err)
				if len(next.Claims) == 0 {
					break
				}
				for _, c := range next.Claims {
					require.True(t, m.p.Settle(c))
				}
			}
			require.True(t, r.Ended())
			require.Greater(t, gaps, 20/step, "5000 blocks are visited in at least this many steps")
			// The search for one place may begin with the last look.
			require.LessOrEqual(t, r.mostLooks, searchLooks+2*holdLooks)
			if _, tells := m.p.heap.segments[0].strategy.(rangealloc.PlaceTaker); tells {
				require.LessOrEqual(t, r.mostLooks, regions.FindLooks+2*holdLooks)
			}
			require.NoError(t, m.p.audit())
		})
	}
}

// The time of a call ends after every number of steps: no target stays reserved, and the
// calls together move what one call does.
func TestRelocationMayStopAfterEveryStep(t *testing.T) {
	for _, strategy := range []string{rangealloc.Default, "tlsf", "buddy", "size_class", "arena"} {
		t.Run(strategy, func(t *testing.T) {
			inOneCall := thinned(t, strategy, 3_000)
			want := inOneCall.run(t, inOneCall.all())
			m, moved, stopped := thinned(t, strategy, 3_000), 0, 0
			r, err := m.p.Relocate(m.all())
			require.NoError(t, err)
			r.hold = 16
			for call := 0; !r.Ended(); call++ {
				steps := 0
				next, err := r.Next(func() bool { steps++; return steps > call%100 })
				require.NoError(t, err)
				require.LessOrEqual(t, steps, call%100+1, "no block is visited after the time limit")
				if len(next.Claims) == 0 && !r.Ended() {
					stopped++
					require.Zero(t, m.p.claimsLeft())
				}
				for _, c := range next.Claims {
					require.True(t, m.p.Settle(c))
				}
				moved += len(next.Claims)
			}
			require.Equal(t, want, moved)
			require.Greater(t, stopped, 5)
			require.NoError(t, m.p.audit())
		})
	}
}

// meddler uses the pool whenever a run releases the lock.
type meddler struct {
	*mover
	t *rapid.T
	// freed has the addresses of freed blocks. A new block may have such an address, and no
	// claim is for a new block.
	freed map[device.Addr]bool
	stop  bool
	// panicked is the value with which meddle panicked. A run cannot pass a panic on,
	// because it has released the lock.
	panicked any
}

// meddleSafely ends the test program later if meddle fails.
func (m *meddler) meddleSafely() (stop bool) {
	defer func() {
		if m.panicked = recover(); m.panicked != nil {
			m.stop, stop = true, true
		}
	}()
	return m.meddle()
}

func (m *meddler) meddle() bool {
	if rapid.IntRange(0, 3).Draw(m.t, "meddle") != 0 {
		return m.stop
	}
	switch rapid.SampledFrom([]string{"alloc", "free", "free", "many", "trim", "stop", "idle"}).Draw(m.t, "how") {
	case "alloc":
		m.alloc(m.t, Request{SizeBytes: rapid.Uint64Range(1, 4*kib).Draw(m.t, "size")})
	case "many":
		for range 20 {
			m.alloc(m.t, Request{SizeBytes: 256})
		}
	case "free":
		some := rapid.IntRange(1, 40).Draw(m.t, "some")
		for _, addr := range m.addresses() {
			m.freed[addr] = true
			if m.free(m.t, addr); some == 1 {
				break
			}
			some--
		}
	case "trim":
		_, err := m.p.Trim(0)
		require.NoError(m.t, err)
	case "idle":
		_, err := m.p.ReturnIdle()
		require.NoError(m.t, err)
	case "stop":
		m.stop = rapid.IntRange(0, 4).Draw(m.t, "ends") == 0
	}
	return m.stop
}

// Others allocate, free and release memory whenever the lock is released: no block is
// lost, no freed block is moved, and no target stays reserved.
func TestPoolIsUsableBetweenRelocationSteps(t *testing.T) {
	for _, strategy := range []string{rangealloc.Default, "tlsf", "buddy", "size_class", "arena"} {
		t.Run(strategy, rapid.MakeCheck(func(t *rapid.T) {
			b, m := newMover(t, func(c *Config) { c.Strategy = strategy })
			for range rapid.IntRange(1, 150).Draw(t, "blocks") {
				m.alloc(t, Request{SizeBytes: rapid.Uint64Range(1, 4*kib).Draw(t, "size")})
			}
			for _, addr := range m.addresses() {
				if rapid.IntRange(0, 2).Draw(t, "fate") != 0 {
					m.free(t, addr)
				}
			}
			other := &meddler{mover: m, t: t, freed: map[device.Addr]bool{}}
			movable := m.all()
			slices.SortFunc(movable, func(a, b Movable) int { return cmp.Compare(a.Addr, b.Addr) })
			r, err := m.p.Relocate(rapid.Permutation(movable).Draw(t, "order"))
			require.NoError(t, err)
			r.hold = rapid.IntRange(4, 20).Draw(t, "hold")
			for !r.Ended() {
				other.stop = false
				next, err := r.Next(other.meddleSafely)
				if other.panicked != nil {
					panic(other.panicked)
				}
				require.NoError(t, err)
				if len(next.Claims) == 0 {
					require.Equal(t, !other.stop, r.Ended())
				}
				for _, c := range next.Claims {
					request, live := m.live[c.From]
					if !live || other.freed[c.From] || rapid.IntRange(0, 9).Draw(t, "abandon") == 0 {
						m.p.Abandon(c)
						continue
					}
					require.True(t, m.p.Settle(c))
					delete(m.live, c.From)
					m.live[c.To] = request
				}
				require.NoError(t, m.p.audit())
			}
			require.Zero(t, m.p.claimsLeft())
			require.NoError(t, m.p.audit())
			for _, addr := range m.addresses() {
				m.free(t, addr)
			}
			require.NoError(t, m.p.Close(false))
			require.Zero(t, b.dev.HeldBytes())
		}))
	}
}

// The pool is closed by force during a run.
func TestPoolIsClosedBetweenRelocationSteps(t *testing.T) {
	for _, strategy := range []string{rangealloc.Default, "size_class"} {
		for last := 1; last < 200; last++ {
			m := thinned(t, strategy, 1_000)
			steps := 0
			r, err := m.p.Relocate(m.all())
			require.NoError(t, err)
			r.hold = 8
			next, err := r.Next(func() bool {
				if steps++; steps == last {
					require.NoError(t, m.p.Close(true))
				}
				return false
			})
			if steps < last {
				require.NoError(t, err)
				require.NoError(t, m.p.Close(true))
				require.False(t, m.p.Settle(next.Claims[0]))
				m.p.AbandonAll(next.Claims)
				break
			}
			require.Equal(t, device.CodeInvalidState, device.CodeOf(err))
			require.Empty(t, next.Claims)
		}
	}
}

// counted counts the allocations from a strategy.
type counted struct {
	rangealloc.Strategy
	allocs *int
}

func (c counted) Alloc(r rangealloc.Request) (rangealloc.Range, error) {
	*c.allocs++
	return c.Strategy.Alloc(r)
}

// One block without a place costs a bounded number of attempts, however many unusable
// places there are.
func TestSearchForOnePlaceIsBounded(t *testing.T) {
	for _, strategy := range []string{"buddy", "size_class", "arena"} {
		m := thinned(t, strategy, 5_000)
		r, err := m.p.Relocate(m.all())
		require.NoError(t, err)
		r.beginSteps(never)
		h := &m.p.heap
		h.lock()
		v := r.newSurvey()
		require.True(t, v.look())
		victim := v.Candidate()
		require.NotNil(t, victim)
		allocs := 0
		for _, s := range h.segments {
			s.strategy = counted{s.strategy, &allocs}
		}
		before := r.looks
		// The last candidate may use no region, because all others were emptied before.
		for ; v.Candidate() != nil; v.Pass(true) {
			victim = v.Candidate()
		}
		_, found := v.placeByStrategy(victim, rangealloc.Request{Size: 256, Align: 256})
		require.False(t, found, strategy)
		require.LessOrEqual(t, r.looks-before, 1024, strategy)
		require.LessOrEqual(t, allocs, 64*len(h.segments), strategy)
		require.LessOrEqual(t, len(r.passed), 64*len(h.segments), strategy)
		r.endSteps()
		h.mu.Unlock()
		require.NoError(t, m.p.audit())
	}
}
