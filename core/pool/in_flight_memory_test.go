package pool

import (
	"testing"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/core/device/devicetest"
	"ferrum_mem/core/engine"
	"ferrum_mem/core/internal/offheap"
	"ferrum_mem/core/pool/inflight"
)

// leaves are the calls that put many blocks in flight behind one piece of work.
var leaves = map[string]func(t *testing.T, w *crowd){
	"reset": func(t *testing.T, w *crowd) { require.NoError(t, w.p.Reset(w.s)) },
	"batch": func(t *testing.T, w *crowd) { require.NoError(t, w.p.FreeBatch(w.addrs, w.s)) },
	"frees": func(t *testing.T, w *crowd) {
		for _, addr := range w.addrs {
			require.NoError(t, w.p.Free(addr, w.s))
		}
	},
}

// holdCrowd is a crowd without caches, and a busy stream.
func holdCrowd(t *testing.T, blocks int) (*crowd, *devicetest.Stream) {
	t.Helper()
	w := &crowd{b: newBench(devicetest.Config{}, engine.Options{})}
	w.p = w.b.pool(t, nil)
	for range blocks {
		w.addrs = append(w.addrs, mustAlloc(t, w.p, 300).Addr)
	}
	s := newStream(t, w.b)
	busy(t, s)
	w.s = s
	return w, s
}

// TestBlocksInFlightUseNoGoHeap compares the live Go heap for n blocks in flight and for
// 4n, behind few events.
func TestBlocksInFlightUseNoGoHeap(t *testing.T) {
	if !offheap.Pages {
		t.Skip("tables are on the Go heap")
	}
	const few = 3 * inflight.MaxFences
	for name, leave := range leaves {
		t.Run(name, func(t *testing.T) {
			var grown [2]int64
			for i, blocks := range []int{few, 4 * few} {
				w, s := holdCrowd(t, blocks)
				before, open := heapBytes(), offheap.Mapped()
				leave(t, w)
				grown[i] = int64(heapBytes()) - int64(before)
				require.Equal(t, blocks, w.p.heap.inFlight.Count())
				require.LessOrEqual(t, w.b.dev.OpenEvents(), inflight.MaxFences)
				if name != "frees" {
					require.LessOrEqual(t, w.b.dev.OpenEvents(), 2, "at most one event for each stream")
				}
				require.Greater(t, offheap.Mapped(), open)
				s.Release()
				w.p.CompleteFrees()
				require.Zero(t, w.p.Statistics().Active.Current)
				require.Zero(t, w.b.dev.OpenEvents())
				require.NoError(t, s.Close())
				quiet(t, w.b, w.p)
			}
			if name != "frees" {
				// The test device itself keeps every event that waits in a queue.
				require.Less(t, grown[1]-grown[0], int64(3*few*8), "%d bytes, then %d", grown[0], grown[1])
			}
		})
	}
}

// TestFreeWithoutMemoryChangesNothing makes each free that needs longer tables fail.
// Nothing changes, and the free succeeds when the work has completed.
func TestFreeWithoutMemoryChangesNothing(t *testing.T) {
	if !offheap.Pages {
		t.Skip("tables are on the Go heap")
	}
	const blocks = 4000
	kinds := map[string]func(w *crowd) error{
		"free":  func(w *crowd) error { return w.p.Free(w.addrs[0], w.s) },
		"batch": func(w *crowd) error { return w.p.FreeBatch(w.addrs[1:blocks-10], w.s) },
		"after": func(w *crowd) error {
			event, err := w.s.RecordEvent()
			if err != nil {
				return err
			}
			if err = w.p.FreeAfter(w.addrs[blocks-1], []device.Event{event}); err != nil {
				_ = event.Close()
			}
			return err
		},
		"reset": func(w *crowd) error { return w.p.Reset(w.s) },
	}
	for name, kind := range kinds {
		t.Run(name, func(t *testing.T) {
			w, s := holdCrowd(t, blocks)
			// Until the present tables are full.
			limit := offheap.SetLimit(offheap.Mapped())
			defer offheap.SetLimit(limit)
			var extra []device.Addr
			for range blocks {
				addr, err := w.p.AllocAddr(&Request{SizeBytes: 300})
				if err != nil {
					break
				}
				if err := w.p.Free(addr, s); err != nil {
					require.ErrorIs(t, err, device.CodeResourceExhausted)
					extra = append(extra, addr)
					break
				}
			}
			require.NotEmpty(t, extra, "the tables are full")
			before, events := w.p.Statistics(), w.b.dev.OpenEvents()
			err := kind(w)
			require.ErrorIs(t, err, device.CodeResourceExhausted)
			require.ErrorContains(t, err, "that queued work uses")
			require.Equal(t, before, w.p.Statistics())
			require.Equal(t, events, w.b.dev.OpenEvents())
			w.b.check(t, w.p)
			s.Release()
			// The pool works again when there is memory.
			offheap.SetLimit(limit)
			require.NoError(t, kind(w))
			require.NoError(t, w.p.Reset(nil))
			w.p.CompleteFrees()
			require.NoError(t, s.Close())
			quiet(t, w.b, w.p)
		})
	}
}

// TestFreesAreCompletedInSlices counts the blocks that an ordinary call takes in while others
// wait, and checks that a search takes in all.
func TestFreesAreCompletedInSlices(t *testing.T) {
	const blocks = 10 * inflight.CompletedMost
	w, s := holdCrowd(t, blocks)
	require.NoError(t, w.p.FreeBatch(w.addrs, s))
	s.Release()
	left := w.p.heap.inFlight.Count()
	require.Equal(t, blocks, left)
	for calls := 1; left > 0; calls++ {
		addr := mustAlloc(t, w.p, 5000).Addr
		require.LessOrEqual(t, left-w.p.heap.inFlight.Count(), inflight.CompletedMost)
		require.Less(t, w.p.heap.inFlight.Count(), left)
		require.LessOrEqual(t, calls, blocks/inflight.CompletedMost)
		require.NoError(t, w.p.Free(addr, nil))
		left = w.p.heap.inFlight.Count()
	}
	require.Zero(t, w.b.dev.OpenEvents())
	require.NoError(t, s.Close())
	quiet(t, w.b, w.p)
}
