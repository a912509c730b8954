package largeblocks

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"ferrum_mem/core/lending"
	"ferrum_mem/core/rangealloc"
)

// skipWithoutPages skips a test in a build without memory that C may use.
func skipWithoutPages(t *testing.T) {
	if raced || runtime.GOOS != "linux" {
		t.Skip("this build keeps all tables on the Go heap: none is lent")
	}
}

// twins are two best_fit strategies that get the same requests: one in Go, and one whose
// tables C uses as far as it can.
type twins struct {
	t           require.TestingT
	plain, lent rangealloc.Strategy
	places      lending.Places
	// calls counts what C has done; out is set while the tables are lent.
	calls int
	out   bool
}

const granule = 256

func (w *twins) lend() bool {
	if !w.out {
		w.out = w.lent.(rangealloc.Lender).Lend(&w.places)
	}
	return w.out
}

// absorb takes the tables back.
func (w *twins) absorb() {
	if w.out {
		w.lent.(rangealloc.Lender).Absorb(&w.places)
		w.out = false
	}
}

func (w *twins) alloc(size uint64) (offset uint64, ok bool) {
	want, wantErr := w.plain.Alloc(rangealloc.Request{Size: size, Align: granule})
	if w.lend() {
		slot, done := take(&w.places, (size+granule-1)/granule)
		if done {
			w.calls++
			require.NoError(w.t, wantErr)
			require.Equal(w.t, want.Slot, slot, "the slot of %d bytes", size)
			return want.Offset, true
		}
	}
	w.absorb()
	got, err := w.lent.Alloc(rangealloc.Request{Size: size, Align: granule})
	require.Equal(w.t, wantErr, err)
	require.Equal(w.t, want, got)
	return got.Offset, err == nil
}

func (w *twins) free(offset uint64) {
	found, ok := w.plain.Lookup(offset)
	require.True(w.t, ok)
	run := w.plain.(rangealloc.SlotFreer).FreeSlot(found.Slot)
	if w.lend() {
		if got, done := give(&w.places, offset/granule); done {
			w.calls++
			require.Equal(w.t, run, got*granule, "the run that %d is in", offset)
			return
		}
	}
	w.absorb()
	_, err := w.lent.Free(offset)
	require.NoError(w.t, err)
}

// same compares the two block by block.
func (w *twins) same() {
	w.absorb()
	require.NoError(w.t, w.lent.Check())
	require.Equal(w.t, w.plain.Stats(), w.lent.Stats())
	var want, got []rangealloc.Block
	w.plain.Walk(func(b rangealloc.Block) bool { want = append(want, b); return true })
	w.lent.Walk(func(b rangealloc.Block) bool { got = append(got, b); return true })
	require.Equal(w.t, want, got)
}

func newTwins(t require.TestingT, granules uint64) *twins {
	w := &twins{t: t}
	for _, s := range []*rangealloc.Strategy{&w.plain, &w.lent} {
		made, err := rangealloc.New(rangealloc.Default, rangealloc.Config{SizeBytes: granules * granule, GranuleBytes: granule})
		require.NoError(t, err)
		*s = made
	}
	return w
}

func (w *twins) close() {
	w.absorb()
	w.plain.Close()
	w.lent.Close()
}

// C places blocks as the Go strategy does, and leaves tables that Go finds in order,
// whichever of the two served a call: with few runs or many, in ranges that are full or
// not.
func TestPlacesEqualThoseOfBestFit(t *testing.T) {
	skipWithoutPages(t)
	calls := 0
	rapid.Check(t, func(t *rapid.T) {
		w := newTwins(t, rapid.SampledFrom([]uint64{40, 1000, 1 << 20, 1 << 31}).Draw(t, "granules"))
		defer w.close()
		var live []uint64
		most := rapid.SampledFrom([]uint64{3, 40, 5000}).Draw(t, "most granules")
		steps := rapid.IntRange(1, 400).Draw(t, "steps")
		for range steps {
			if len(live) == 0 || rapid.IntRange(0, 9).Draw(t, "call") < 6 {
				if offset, ok := w.alloc(rapid.Uint64Range(1, most*granule).Draw(t, "size")); ok {
					live = append(live, offset)
				}
			} else {
				at := rapid.IntRange(0, len(live)-1).Draw(t, "block")
				w.free(live[at])
				live[at] = live[len(live)-1]
				live = live[:len(live)-1]
			}
			if rapid.IntRange(0, 19).Draw(t, "look") == 0 {
				w.same()
			}
		}
		w.same()
		calls += w.calls
	})
	require.Positive(t, calls)
}

// Thousands of runs are in bins, some of them in trees, and C serves nearly all calls.
func TestPlacesOfManyRuns(t *testing.T) {
	skipWithoutPages(t)
	w := newTwins(t, 1<<22)
	defer w.close()
	var live []uint64
	seed := uint64(1)
	next := func(n uint64) uint64 {
		seed = seed*6364136223846793005 + 1442695040888963407
		return (seed >> 33) % n
	}
	for i := range 60_000 {
		if len(live) < 8000 || next(2) == 0 && len(live) < 9000 {
			offset, ok := w.alloc((1 + next(30)) * granule)
			require.True(t, ok)
			live = append(live, offset)
		} else {
			at := next(uint64(len(live)))
			w.free(live[at])
			live[at] = live[len(live)-1]
			live = live[:len(live)-1]
		}
		if i%5000 == 0 {
			w.same()
		}
	}
	w.same()
	require.Greater(t, w.plain.Stats().FreeRuns, uint64(500))
	require.Greater(t, w.calls, 50_000, "most calls need no table to grow")
}

// A call that C does not serve leaves the tables unchanged.
func TestRejectedPlacesChangeNothing(t *testing.T) {
	skipWithoutPages(t)
	w := newTwins(t, 1000)
	defer w.close()
	hole, ok := w.alloc(20 * granule)
	require.True(t, ok)
	_, ok = w.alloc(20 * granule)
	require.True(t, ok)
	w.free(hole)
	require.True(t, w.lend())
	before := w.places
	_, done := take(&w.places, 1001)
	require.False(t, done, "no run is so long")
	_, done = take(&w.places, 1<<32+10)
	require.False(t, done, "no run is so long, whatever the lower half of the size is")
	_, done = give(&w.places, 10)
	require.False(t, done, "no block starts there")
	require.Equal(t, before, w.places)
	w.places.RecordRoom = w.places.RecordCount
	_, done = take(&w.places, 10)
	require.False(t, done, "there is no record for a block")
	w.places = before
	w.same()
	_, err := w.lent.Alloc(rangealloc.Request{Size: granule, Align: granule, End: 5})
	require.NoError(t, err)
	require.False(t, w.lent.(rangealloc.Lender).Lend(&w.places), "a block has an expected end")
}

// C moves runs into bins when there are more than a few, and takes them out when they are
// few again, without a call of Go.
func TestPlacesBinRunsAndTakeThemOut(t *testing.T) {
	skipWithoutPages(t)
	w := newTwins(t, 1<<20)
	defer w.close()
	const blocks = 2 * (lending.FewMost + 4)
	var offsets []uint64
	for range blocks {
		offset, ok := w.alloc(512)
		require.True(t, ok)
		offsets = append(offsets, offset)
	}
	calls := w.calls
	for i := 0; i < blocks; i += 2 {
		w.free(offsets[i])
		runs := i/2 + 1
		require.Equal(t, runs > lending.FewMost, w.places.Binned != 0, "%d runs", runs)
	}
	for i := 0; i < blocks; i += 2 {
		offset, ok := w.alloc(512)
		require.True(t, ok)
		require.Equal(t, offsets[i], offset)
		runs := blocks/2 - i/2 - 1
		require.Equal(t, runs > lending.FewAgain, w.places.Binned != 0, "%d runs", runs)
	}
	require.Equal(t, calls+blocks, w.calls, "C did all of it")
	w.same()
}
