package conformance

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/core/internal/offheap"
	"ferrum_mem/core/rangealloc"
)

// crowd is a range with space for more blocks than small tables hold, if the strategy
// makes blocks of 256 bytes for such requests.
var crowd = rangealloc.Config{SizeBytes: 64 << 20, BaseAddr: 1 << 30, GranuleBytes: 256}

const crowdBlocks = 20_000

// close checks that a strategy releases all its tables, and may be closed twice.
func (s suite) close(t *testing.T) {
	before := offheap.Mapped()
	strategy, err := s.make(crowd)
	require.NoError(t, err)
	var offsets []uint64
	for range crowdBlocks {
		got, err := strategy.Alloc(Request{Size: 256, Align: 256, End: 7})
		if err == rangealloc.ErrNoRoom {
			break
		}
		require.NoError(t, err)
		offsets = append(offsets, got.Offset)
	}
	for i := 0; i < len(offsets); i += 2 {
		_, err := strategy.Free(offsets[i])
		require.NoError(t, err)
	}
	require.NoError(t, strategy.Check())
	strategy.Close()
	require.Equal(t, before, offheap.Mapped())
	strategy.Close()
	require.Equal(t, before, offheap.Mapped())
}

// freesGrowNothing checks that the allocation reserves what the free of a block needs in
// the tables. So a free neither fails for lack of memory nor delays others while a table
// grows.
func (s suite) freesGrowNothing(t *testing.T) {
	p := s.pair(t, crowd)
	var offsets []uint64
	for range crowdBlocks {
		got, err := p.strategy.Alloc(Request{Size: 256, Align: 256, End: 7})
		if err == rangealloc.ErrNoRoom {
			break
		}
		require.NoError(t, err)
		offsets = append(offsets, got.Offset)
	}
	// AllocsPerRun does not count its first call, which frees the first half.
	half, mapped := len(offsets)/2, offheap.Mapped()
	allocated := testing.AllocsPerRun(1, func() {
		for _, offset := range offsets[:half] {
			if _, err := p.strategy.Free(offset); err != nil {
				t.Error(err)
			}
		}
		offsets = offsets[half:]
	})
	require.Zero(t, allocated)
	require.LessOrEqual(t, offheap.Mapped(), mapped)
	require.NoError(t, p.strategy.Check())
}

// noMemoryForTables checks that an allocation that needs a longer table fails without
// memory for it, and succeeds when there is memory again.
func (s suite) noMemoryForTables(t *testing.T) {
	p := s.pair(t, crowd)
	p.quick = true
	defer offheap.SetLimit(offheap.SetLimit(offheap.Mapped()))
	refusals := 0
	for range crowdBlocks {
		got, err := p.strategy.Alloc(Request{Size: 256, Align: 256, End: 7})
		if err == nil {
			require.NoError(t, p.accept(Request{Size: 256, Align: 256, End: 7}, got))
			continue
		}
		if err == rangealloc.ErrNoRoom {
			break
		}
		require.ErrorIs(t, err, device.CodeResourceExhausted)
		require.NoError(t, p.verify(), "a refused allocation changes nothing")
		refusals++
		if refusals == 3 {
			offheap.SetLimit(math.MaxInt64)
		} else if refusals > 3 {
			t.Fatal("refused with memory: ", err)
		}
	}
	require.NoError(t, p.verify())
	for i, block := range p.model.live() {
		if i%2 == 0 {
			_, err := p.strategy.Free(block.Offset)
			require.NoError(t, err)
		}
	}
	require.NoError(t, p.strategy.Check())
}
