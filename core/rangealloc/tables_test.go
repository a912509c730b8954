package rangealloc

import (
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"ferrum_mem/core/device"
)

func newTestBestFit(t *testing.T, granules uint64) *bestFit[uint32] {
	t.Helper()
	s, err := newBestFit(Config{SizeBytes: granules * 256, GranuleBytes: 256})
	require.NoError(t, err)
	t.Cleanup(s.Close)
	return s.(*bestFit[uint32])
}

// NewWideBestFit creates best_fit with the 64-bit unit for a range that does not need it.
func NewWideBestFit(c Config) (Strategy, error) {
	g, err := c.check()
	if err != nil {
		return nil, err
	}
	return asStrategy(newBestFitIn[uint64](g))
}

// The unit changes where 32 bits end, and blocks up to the end of the range are right on
// both sides.
func TestUnits(t *testing.T) {
	for granules, narrow := range map[uint64]bool{1<<32 - 1: true, 1 << 32: false, 1 << 40: false} {
		s, err := newBestFit(Config{SizeBytes: granules << 12, GranuleBytes: 1 << 12})
		require.NoError(t, err)
		_, isNarrow := s.(*bestFit[uint32])
		require.Equal(t, narrow, isNarrow)
		low, err := s.Alloc(Request{Size: (granules - 1) << 12, Align: 1})
		require.NoError(t, err)
		high, err := s.Alloc(Request{Size: 1, Align: 1})
		require.NoError(t, err)
		require.Equal(t, (granules-1)<<12, high.Offset)
		require.Equal(t, uint64(1<<12), high.Size)
		require.NoError(t, s.Check())
		found, ok := s.Lookup(high.Offset)
		require.True(t, ok)
		require.Equal(t, high, found)
		size, err := s.Free(low.Offset)
		require.NoError(t, err)
		require.Equal(t, (granules-1)<<12, size)
		_, err = s.Free(high.Offset)
		require.NoError(t, err)
		require.NoError(t, s.Check())
		require.Equal(t, granules<<12, s.Stats().LargestFreeBytes)
		s.Close()
	}
}

// The reference model of the bitset is a map.
func TestBitset(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.UintRange(1, 20_000).Draw(t, "size")
		s, model := newBitset(size), map[uint]bool{}
		number := func() uint {
			return rapid.OneOf(rapid.UintRange(0, size-1), rapid.UintRange(0, min(size-1, 130))).Draw(t, "number")
		}
		for range rapid.IntRange(0, 60).Draw(t, "steps") {
			if i := number(); rapid.Bool().Draw(t, "add") {
				s.add(i)
				model[i] = true
			} else {
				s.remove(i)
				delete(model, i)
			}
			from := number()
			after, last, some, any := uint(0), uint(0), false, false
			for i := range model {
				if i > from && (!some || i < after) {
					after, some = i, true
				}
				last, any = max(last, i), true
			}
			got, ok := s.after(from)
			if got != after || ok != some {
				t.Fatalf("after %d: %d, %v, not %d, %v", from, got, ok, after, some)
			}
			if got, ok = s.last(); got != last || ok != any {
				t.Fatalf("last: %d, %v, not %d, %v", got, ok, last, any)
			}
			if s.has(from) != model[from] {
				t.Fatalf("has %d: %v", from, s.has(from))
			}
		}
	})
}

// A bin has consecutive runs in their order, for any range, and there is a bin for each
// run.
func TestBinsAreInOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		total := rapid.Uint64Min(1).Draw(t, "total")
		extent := rapid.Uint64Range(1, total).Draw(t, "extent")
		f, err := newFreeIndex[uint64](total, rapid.UintRange(firstSub, lastSub).Draw(t, "sub"), extent)
		require.NoError(t, err)
		defer f.memory.Free(&f.bins)
		size := rapid.Uint64Range(1, total).Draw(t, "size")
		offset := rapid.Uint64Range(0, total-size).Draw(t, "offset")
		bin := f.binOf(size, offset)
		if bin >= uint(len(f.bins)) || len(f.bins) > 1<<18 {
			t.Fatalf("size %d is in bin %d of %d", size, bin, len(f.bins))
		}
		if behind := f.binOf(size, rapid.Uint64Range(offset, total).Draw(t, "behind")); behind < bin {
			t.Fatalf("size %d is in bin %d at %d and in bin %d behind it", size, bin, offset, behind)
		}
		if size < total {
			longer := rapid.Uint64Range(size+1, total).Draw(t, "longer")
			if above := f.binOf(longer, 0); above < bin || above == bin && longer>>1 < size && size < 1<<f.sub {
				t.Fatalf("size %d is in bin %d at %d, and size %d in bin %d", size, bin, offset, longer, above)
			}
		}
	})
}

// If the table of blocks is full, a request that needs a record fails, and one that uses
// a whole run succeeds.
func TestFullTable(t *testing.T) {
	b := newTestBestFit(t, 1000)
	b.records.limit = 100
	b.records.all = b.records.all[:len(b.records.all):firstRecords]
	var last Range
	for {
		got, err := b.Alloc(Request{Size: 256, Align: 256})
		if err != nil {
			require.ErrorIs(t, err, device.CodeResourceExhausted)
			require.ErrorContains(t, err, "101 records wanted, 100 possible")
			break
		}
		last = got
	}
	require.Equal(t, uint64(98), b.Stats().LiveBlocks)
	before := b.Stats()
	_, err := b.Alloc(Request{Size: 256, Align: 1024})
	require.ErrorIs(t, err, device.CodeResourceExhausted)
	require.Equal(t, before, b.Stats())
	require.NoError(t, b.Check())

	_, err = b.Alloc(Request{Size: before.LargestFreeBytes, Align: 256})
	require.NoError(t, err, "a whole run needs no new record")
	require.NoError(t, b.Check())
	_, err = b.Free(last.Offset)
	require.NoError(t, err)
	_, err = b.Alloc(Request{Size: 256, Align: 256})
	require.NoError(t, err)
	require.NoError(t, b.Check())
}

// An aligned request that needs two records fails completely if there is only one.
func TestFullTableWithPadding(t *testing.T) {
	b := newTestBestFit(t, 1000)
	_, err := b.Alloc(Request{Size: 256, Align: 256})
	require.NoError(t, err)
	b.records.limit = uint64(len(b.records.all)) + 1
	b.records.all = b.records.all[:len(b.records.all):b.records.limit]
	before := b.Stats()
	_, err = b.Alloc(Request{Size: 256, Align: 1024})
	require.ErrorIs(t, err, device.CodeResourceExhausted)
	require.Equal(t, before, b.Stats())
	require.NoError(t, b.Check())
	_, err = b.Alloc(Request{Size: 256, Align: 256})
	require.NoError(t, err)
}

// A live block may cost 64 bytes of tables, including free runs and slack.
func TestBytesPerLiveBlock(t *testing.T) {
	recordBytes := int(reflect.TypeFor[record[uint32]]().Size())
	require.Equal(t, 24, recordBytes)
	const live = 100_000
	b := newTestBestFit(t, 1<<28)
	replace := replacer(t, b, live)
	for range 5 * live {
		replace()
	}
	// A hint creates the table of ends.
	_, err := b.Alloc(Request{Size: 256, Align: 256, End: 1})
	require.NoError(t, err)
	require.NoError(t, b.Check())
	bytes := cap(b.records.all)*recordBytes + 8*cap(b.hints.ends) + 4*len(b.live.heads) + 4*len(b.free.bins) +
		8*len(b.free.filled.words) + 8*len(b.free.filled.sums)
	require.LessOrEqual(t, bytes, 64*live)
}

// A few runs are in no bin: their damage is detected as well.
func TestCheckFindsDamageOfFewRuns(t *testing.T) {
	for name, damage := range map[string]func(b *bestFit[uint32]){
		"a size":    func(b *bestFit[uint32]) { b.free.few.runs[1].size++ },
		"an offset": func(b *bestFit[uint32]) { b.free.few.runs[1].offset++ },
		"a record":  func(b *bestFit[uint32]) { b.free.few.runs[1].at = b.free.few.runs[2].at },
		"a place":   func(b *bestFit[uint32]) { b.records.all[b.free.few.runs[1].at].left = 2 },
		"the count": func(b *bestFit[uint32]) { b.free.few.count-- },
		"the way":   func(b *bestFit[uint32]) { b.free.binned = true },
	} {
		t.Run(name, func(t *testing.T) {
			b := newTestBestFit(t, 1000)
			for range 10 {
				_, err := b.Alloc(Request{Size: 512, Align: 256})
				require.NoError(t, err)
			}
			for i := uint64(1); i < 10; i += 2 {
				_, err := b.Free(i * 512)
				require.NoError(t, err)
			}
			require.NoError(t, b.Check())
			require.False(t, b.free.binned)
			damage(b)
			require.ErrorIs(t, b.Check(), device.CodeInternal)
		})
	}
}

// Runs leave the bins when they are few again, and not before.
func TestFewRunsLeaveTheirBins(t *testing.T) {
	b := newTestBestFit(t, 1000)
	turn := func(visit func(offset uint64)) {
		for i := uint64(1); i <= 2*mostFew+2; i += 2 {
			visit(i * 512)
			require.NoError(t, b.Check())
		}
	}
	for range 2*mostFew + 4 {
		_, err := b.Alloc(Request{Size: 512, Align: 256})
		require.NoError(t, err)
	}
	for range 3 {
		turn(func(offset uint64) {
			_, err := b.Free(offset)
			require.NoError(t, err)
		})
		require.True(t, b.free.binned)
		turn(func(offset uint64) {
			got, err := b.Alloc(Request{Size: 512, Align: 256})
			require.NoError(t, err)
			require.Equal(t, offset, got.Offset, "the lowest of equal runs")
			require.Equal(t, b.free.count > fewAgain, b.free.binned)
		})
	}
}

// Many runs make the number of bins grow, and the runs can still be found.
func TestBinsAreSplit(t *testing.T) {
	b := newTestBestFit(t, 1<<20)
	r := rand.New(rand.NewPCG(1, 2))
	var offsets []uint64
	for range 20_000 {
		got, err := b.Alloc(Request{Size: 256 * (1 + r.Uint64N(40)), Align: 256})
		require.NoError(t, err)
		offsets = append(offsets, got.Offset)
	}
	require.Equal(t, uint(firstSub), b.free.sub)
	for i := 0; i < len(offsets); i += 2 {
		_, err := b.Free(offsets[i])
		require.NoError(t, err)
	}
	require.Greater(t, b.free.sub, uint(firstSub))
	require.Greater(t, b.Stats().FreeRuns, uint64(5000))
	require.NoError(t, b.Check())
}

// Check must detect damage: each case damages one thing.
func TestCheckFindsDamage(t *testing.T) {
	for name, damage := range map[string]func(b *bestFit[uint32]){
		"a size":           func(b *bestFit[uint32]) { b.records.all[b.records.all[0].next].units++ },
		"an offset":        func(b *bestFit[uint32]) { b.records.all[b.records.all[0].next].start++ },
		"a link back":      func(b *bestFit[uint32]) { b.records.all[b.records.all[b.records.all[0].next].next].prev = 0 },
		"the last link":    func(b *bestFit[uint32]) { b.records.all[0].prev = 1 << 20 },
		"a chain":          func(b *bestFit[uint32]) { *b.live.head(b.records.all[b.records.all[0].next].offset()) = none },
		"live count":       func(b *bestFit[uint32]) { b.live.count++ },
		"free count":       func(b *bestFit[uint32]) { b.free.count-- },
		"free granules":    func(b *bestFit[uint32]) { b.freeUnits++ },
		"high water":       func(b *bestFit[uint32]) { b.highWater = 1 },
		"an end":           func(b *bestFit[uint32]) { b.hints.set(b.records.spare, 7, cap(b.records.all)) },
		"a bin":            func(b *bestFit[uint32]) { bin, _ := b.free.filled.last(); b.free.bins[bin] = none },
		"the bitset":       func(b *bestFit[uint32]) { bin, _ := b.free.filled.last(); b.free.filled.remove(bin) },
		"a mark":           func(b *bestFit[uint32]) { b.records.all[b.records.all[0].next].left = markSpare },
		"the spares":       func(b *bestFit[uint32]) { b.records.spare = none },
		"number of spares": func(b *bestFit[uint32]) { b.records.spareCount-- },
		"two runs that touch": func(b *bestFit[uint32]) {
			run := b.free.ceil(b.records.all, 1, 0)
			b.free.remove(b.records.all, run)
			size := b.records.all[run].size()
			b.records.all[run].units = 1
			second := b.records.insertAfter(run, b.records.all[run].offset()+1, size-1)
			b.free.insert(b.records.all, run)
			b.free.insert(b.records.all, second)
		},
		"the order in a tree": func(b *bestFit[uint32]) {
			root := &b.free.bins[b.free.binOf(2, 2)]
			node := &b.records.all[*root]
			node.left, node.right = node.right, node.left
		},
		"the priorities in a tree": func(b *bestFit[uint32]) {
			root := &b.free.bins[b.free.binOf(2, 2)]
			node := &b.records.all[*root]
			if low := node.left; low != none {
				node.left, b.records.all[low].right, *root = b.records.all[low].right, *root, low
				return
			}
			high := node.right
			node.right, b.records.all[high].left, *root = b.records.all[high].left, *root, high
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := newTestBestFit(t, 1000)
			for range 100 {
				_, err := b.Alloc(Request{Size: 512, Align: 256})
				require.NoError(t, err)
			}
			for i := uint64(1); i < 100; i += 2 {
				_, err := b.Free(i * 512)
				require.NoError(t, err)
			}
			_, err := b.Free(10 * 512)
			require.NoError(t, err)
			require.NoError(t, b.Check())
			require.Positive(t, b.records.spareCount)
			damage(b)
			require.ErrorIs(t, b.Check(), device.CodeInternal)
		})
	}
}
