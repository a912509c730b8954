package pool

import (
	"fmt"
	"runtime"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/core/device/devicetest"
	"ferrum_mem/core/engine"
	"ferrum_mem/core/rangealloc"
)

const manyBlocks = heldBlocks + 3*sliceBlocks + 11

// TestLargeBatchIsFreedCompletely frees blocks of the pool itself, blocks of the caches,
// and blocks that another stream uses, with queued work and without.
func TestLargeBatchIsFreedCompletely(t *testing.T) {
	for _, strategy := range []string{"best_fit", "size_class", "tlsf", "buddy"} {
		for _, busy := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/%v", strategy, busy), func(t *testing.T) {
				w := newCrowd(t, strategy, manyBlocks)
				other := w.b.stream(t)
				require.NoError(t, w.p.RecordStream(w.addrs[sliceBlocks+1], other))
				if busy {
					w.b.dev.Default().Hold()
					other.Hold()
					require.NoError(t, w.b.dev.Default().HostFunction(func() {}))
					require.NoError(t, other.HostFunction(func() {}))
				}
				require.NoError(t, w.p.FreeBatch(w.addrs, nil))
				stats := w.p.Statistics()
				require.Zero(t, stats.LiveBlocks.Current)
				require.Zero(t, w.p.frees.batches)
				blocks, links := w.p.heap.inFlight.Promised()
				require.Zero(t, blocks+links)
				if busy {
					require.EqualValues(t, manyBlocks, w.p.heap.inFlight.Count())
					require.LessOrEqual(t, w.b.dev.OpenEvents(), 2, "at most one event for each stream")
					w.b.dev.Default().Release()
					w.p.CompleteFrees()
					require.EqualValues(t, 1, w.p.heap.inFlight.Count(), "this range also waits for the other stream")
					other.Release()
					w.p.CompleteFrees()
				}
				require.Zero(t, w.p.heap.inFlight.Count())
				require.Zero(t, w.b.dev.OpenEvents())
				require.NoError(t, other.Close())
				require.NoError(t, w.s.Close())
				quiet(t, w.b, w.p)
			})
		}
	}
}

// TestInvalidLargeBatchFreesNothing has the invalid address in the last slice.
func TestInvalidLargeBatchFreesNothing(t *testing.T) {
	w := newCrowd(t, "best_fit", manyBlocks)
	last := w.addrs[manyBlocks-1]
	for what, wrong := range map[device.Addr]device.Code{
		last + 1: device.CodeInvalidAddress, w.addrs[0]: device.CodeDoubleFree, 1: device.CodeInvalidAddress,
	} {
		batch := slices.Clone(w.addrs)
		batch[manyBlocks-2] = what
		err := w.p.FreeBatch(batch, nil)
		require.ErrorIs(t, err, wrong)
		require.ErrorContains(t, err, fmt.Sprintf("addresses[%d]", manyBlocks-2))
		require.EqualValues(t, manyBlocks, w.p.Statistics().LiveBlocks.Current)
		w.b.check(t, w.p)
	}
	require.NoError(t, w.p.FreeBatch(w.addrs, nil))
	require.NoError(t, w.s.Close())
	quiet(t, w.b, w.p)
}

// TestCloseWaitsForALargeBatch closes with and without force while a batch is being
// freed.
func TestCloseWaitsForALargeBatch(t *testing.T) {
	w := newCrowd(t, "best_fit", 0)
	p := w.p
	p.heap.lock()
	p.frees.batches++
	p.heap.mu.Unlock()
	require.ErrorIs(t, p.Close(false), device.CodeBusy)
	mustAlloc(t, p, 100)
	closed := make(chan error)
	go func() { closed <- p.Close(true) }()
	for !p.family.graphs.IsShut() {
		runtime.Gosched()
	}
	p.heap.mu.LockToRead()
	require.Equal(t, stateOpen, p.heap.state)
	p.frees.batches--
	p.heap.passed.Broadcast()
	p.heap.mu.Unlock()
	require.NoError(t, <-closed)
	require.NoError(t, w.s.Close())
}

// halting is a strategy that freezes the counters during the first of its calls under one
// hold of the lock, until the test thaws them. So the pool stops when it takes the lock
// next.
type halting struct {
	rangealloc.Strategy
	pool        *Pool
	calls, most int
}

func (h *halting) called() {
	if h.calls++; h.calls == 1 {
		h.pool.heap.frozen = true
	}
	h.most = max(h.most, h.calls)
}

func (h *halting) Lookup(offset uint64) (rangealloc.Range, bool) {
	h.called()
	return h.Strategy.Lookup(offset)
}

func (h *halting) Free(offset uint64) (uint64, error) {
	h.called()
	return h.Strategy.Free(offset)
}

// TestLargeBatchHoldsTheLockForOneSlice counts the blocks that are looked up and freed
// under one hold.
func TestLargeBatchHoldsTheLockForOneSlice(t *testing.T) {
	b := newBench(devicetest.Config{}, engine.Options{})
	p := b.pool(t, nil)
	addrs := []device.Addr{mustAlloc(t, p, manyBlocks*256).Addr}
	require.NoError(t, p.Free(addrs[0], nil))
	addrs = make([]device.Addr, manyBlocks)
	require.NoError(t, p.AllocBatch(Request{SizeBytes: 256}, addrs))
	require.Len(t, p.heap.segments, 1)
	s := p.heap.segments[0]
	h := &halting{Strategy: s.strategy, pool: p}
	s.strategy, s.batcher, s.slotFreer = h, nil, nil
	freed := make(chan error)
	go func() { freed <- p.FreeBatch(addrs, nil) }()
	stops := 0
	for goesOn := true; goesOn; {
		select {
		case err := <-freed:
			require.NoError(t, err)
			goesOn = false
		default:
			p.heap.mu.LockToRead()
			if p.heap.awaiting > 0 && p.heap.frozen {
				stops++
				h.calls, p.heap.frozen = 0, false
				p.heap.thawed.Broadcast()
			}
			p.heap.mu.Unlock()
			runtime.Gosched()
		}
	}
	p.heap.frozen, s.strategy = false, h.Strategy
	require.LessOrEqual(t, h.most, 2*sliceBlocks, "each block costs one search and one free")
	require.GreaterOrEqual(t, stops, 2*manyBlocks/sliceBlocks-1)
	quiet(t, b, p)
}
