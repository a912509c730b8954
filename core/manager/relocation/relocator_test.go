package relocation

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"ferrum_mem/core/device"
)

func TestACallWithoutABoundMovesWhatIsWorthIt(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(t)
		want := w.want()
		stats, err := New[*worldBlock, *worldPool]().Run(w, endless())
		require.NoError(t, err)
		require.Equal(t, want, stats)
		w.clean(t)
	})
}

// Calls with small budgets together move what one call does, each block once, and each
// call counts each block once. A failed call changes no count: the next one begins
// again.
func TestSmallBudgetsTogetherMoveWhatOneCallDoes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(t)
		want, live := w.want(), w.Live()
		r := New[*worldBlock, *worldPool]()
		var sum Stats
		// A failed call drops its plan, and with it the record of moved blocks.
		failed := false
		for call := 0; ; call++ {
			require.Less(t, call, 500)
			w.fails = rapid.SampledFrom([]int{0, 0, 0, 0, 1, 2, 5, 12}).Draw(t, "fails")
			budget := looks(rapid.IntRange(0, 9).Draw(t, "looks"))
			hadTurn := budget > 0
			moved := w.moved()
			stats, err := r.Run(w, &budget)
			w.clean(t)
			if err != nil {
				require.ErrorIs(t, err, errBroken)
				sum.BlocksMoved += w.moved() - moved
				failed = true
				continue
			}
			require.Equal(t, live, stats.BlocksMoved+stats.BlocksKept+stats.Skipped.Sum(), "%+v", stats)
			sum.BlocksMoved += stats.BlocksMoved
			if hadTurn && !failed && w.looked(stats) {
				require.LessOrEqual(t, stats.Skipped.OverBudget, w.movable()-w.moved(), "moved blocks are not counted as skipped")
			}
			if !stats.BudgetEnded {
				require.Zero(t, stats.Skipped.OverBudget)
				require.Equal(t, want.Skipped, stats.Skipped)
				break
			}
		}
		require.Equal(t, want.BlocksMoved, sum.BlocksMoved)
		for _, b := range w.blocks {
			require.LessOrEqual(t, b.moved, 1)
		}
	})
}

// looked reports whether a call has checked all blocks: all that may not move are
// counted.
func (w *world) looked(stats Stats) bool {
	return stats.Skipped.Sum()-stats.Skipped.OverBudget == w.Live()-w.movable()
}

func (w *world) movable() (count uint64) {
	for _, b := range w.blocks {
		if b.why == None && !b.foreign {
			count++
		}
	}
	return count
}

func (w *world) moved() (sum uint64) {
	for _, b := range w.blocks {
		sum += uint64(b.moved)
	}
	return sum
}

// Between two calls blocks are freed, allocated and pinned. The second call checks the
// results of the first again, and never moves a block that may not move.
func TestPlanChecksBlocksAgainBeforeItsMoves(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(t)
		r := New[*worldBlock, *worldPool]()
		for range 8 {
			budget := looks(rapid.IntRange(0, 12).Draw(t, "looks"))
			pinned := map[*worldBlock]int{}
			for i, b := range w.blocks {
				if b == nil {
					continue
				}
				switch rapid.IntRange(0, 5).Draw(t, "change") {
				case 0:
					w.blocks[i] = nil
				case 1:
					b.why = Pinned
				case 2:
					b.why = None
				}
				if b.why != None {
					pinned[b] = b.moved
				}
			}
			if rapid.Bool().Draw(t, "new") {
				w.made++
				w.next += pageBytes
				w.blocks = append(w.blocks, &worldBlock{addr: w.next, in: w.pools[0]})
			}
			stats, err := r.Run(w, &budget)
			require.NoError(t, err)
			require.Equal(t, budget == 0 && stats.BudgetEnded, stats.BudgetEnded)
			w.clean(t)
			for b, moved := range pinned {
				require.Equal(t, moved, b.moved, "a block that must not move stays")
			}
		}
	})
}

// Blocks allocated after a plan was made are moved by the call that completes the plan.
func TestNewcomersAreMovedAfterThePlan(t *testing.T) {
	w := &world{pages: 2, claims: map[device.Addr]bool{}, made: 1, next: 100 * pageBytes}
	w.pools = []*worldPool{{w: w}}
	w.blocks = []*worldBlock{{addr: 1, in: w.pools[0]}}
	r := New[*worldBlock, *worldPool]()
	few, many := looks(2), looks(1000)
	stats, err := r.Run(w, &few)
	require.NoError(t, err)
	require.True(t, stats.BudgetEnded)
	require.Zero(t, stats.BlocksMoved)
	w.blocks = append(w.blocks, &worldBlock{addr: pageBytes, in: w.pools[0]})
	w.made++
	stats, err = r.Run(w, &many)
	require.NoError(t, err)
	require.Equal(t, Stats{BlocksMoved: 2, BytesMoved: 8, PagesEmptied: 2}, stats)
}

// A pool that moves nothing has its blocks counted as debugged. A pool that was closed
// since then has no blocks.
func TestPoolWithoutMovesIsSkipped(t *testing.T) {
	w := &world{pages: 1, claims: map[device.Addr]bool{}, made: 2}
	w.pools = []*worldPool{{w: w, refuses: device.Errorf(device.CodeUnsupported, "relocate", "debug mode")}}
	w.blocks = []*worldBlock{{addr: 1, in: w.pools[0]}, {addr: 2, in: w.pools[0]}}
	stats, err := New[*worldBlock, *worldPool]().Run(w, endless())
	require.NoError(t, err)
	require.Equal(t, Stats{Skipped: Skipped{Debugged: 2}}, stats)
	w.pools[0].refuses = device.Errorf(device.CodeInvalidState, "relocate", "closed")
	stats, err = New[*worldBlock, *worldPool]().Run(w, endless())
	require.NoError(t, err)
	require.Equal(t, Stats{BlocksKept: 2}, stats)
	w.pools[0].refuses = errBroken
	_, err = New[*worldBlock, *worldPool]().Run(w, endless())
	require.ErrorIs(t, err, errBroken)
}

func TestASecondCallWaitsForItsTurn(t *testing.T) {
	w := &world{pages: 1, claims: map[device.Addr]bool{}, made: 1, blocked: make(chan struct{}), entered: make(chan struct{})}
	w.pools = []*worldPool{{w: w}}
	w.blocks = []*worldBlock{{addr: 1, in: w.pools[0]}}
	r := New[*worldBlock, *worldPool]()
	done := make(chan Stats, 2)
	run := func() {
		stats, err := r.Run(w, endless())
		if err != nil {
			panic(err)
		}
		done <- stats
	}
	go run()
	<-w.entered
	over := looks(0)
	stats, err := r.Run(w, &over)
	require.NoError(t, err)
	require.Equal(t, Stats{BudgetEnded: true, Skipped: Skipped{OverBudget: 1}}, stats)
	stats, err = r.Run(w, soon{})
	require.NoError(t, err)
	require.True(t, stats.BudgetEnded, "the copy cannot start within the budget")
	go run()
	close(w.blocked)
	first, second := <-done, <-done
	require.EqualValues(t, 1, first.BlocksMoved+second.BlocksMoved)
}

// soon is a budget that ends after a millisecond.
type soon struct{}

func (soon) Over() bool          { return false }
func (soon) Left() time.Duration { return time.Millisecond }

func TestUnknownReasonIsIgnored(t *testing.T) {
	var s Skipped
	require.Panics(t, func() { s.add(InUse + 1) })
	for r := None; r <= InUse; r++ {
		s.add(r)
	}
	require.Equal(t, Skipped{NotRelocatable: 1, Debugged: 1, Pinned: 1, Mapped: 1, InUse: 1}, s)
	require.EqualValues(t, 5, s.Sum())
}
