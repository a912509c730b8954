package fallback_test

import (
	"errors"
	"math"
	"math/bits"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"ferrum_mem/core/device"
	"ferrum_mem/core/fallback"
)

type slot struct {
	number int
	bytes  uint64
}

// naive is the reference model: the documented behaviour of the pool, with a plain list.
type naive struct {
	config fallback.MemoryConfig
	free   []slot
	inUse  []fallback.Lease[int]
	stats  fallback.MemoryStats
	gone   []int
}

func class(n uint64) int { return bits.Len64(n - 1) }

// get removes and returns the smallest free buffer that has at least want bytes and at most
// 4 times as many.
func (m *naive) get(want uint64) (slot, bool) {
	best := -1
	for i, s := range m.free {
		fits := s.bytes >= want && s.bytes <= 4*want
		if fits && (best < 0 || s.bytes < m.free[best].bytes) {
			best = i
		}
	}
	if best < 0 {
		return slot{}, false
	}
	got := m.free[best]
	m.free = slices.Delete(m.free, best, best+1)
	return got, true
}

func (m *naive) keeps(s slot) bool {
	same, bytes := uint64(0), s.bytes
	for _, other := range m.free {
		bytes += other.bytes
		if class(other.bytes) == class(s.bytes) {
			same++
		}
	}
	return same < m.config.MaxPooledPerBucket && (m.config.MaxPooledBytes == 0 || bytes <= m.config.MaxPooledBytes)
}

func (m *naive) use(bytes uint64) {
	m.stats.InUseBytes += bytes
	m.stats.PeakBytes = max(m.stats.PeakBytes, m.stats.InUseBytes)
	m.stats.ActiveBuffers++
}

func TestGenericPoolMatchesReferenceModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := fallback.DefaultMemoryConfig().WithMaxPooled(rapid.Uint64Range(0, 3).Draw(t, "per_bucket")).
			WithMaxPooledBytes(rapid.SampledFrom([]uint64{0, 500, 3000}).Draw(t, "bytes")).
			WithTracking(rapid.Bool().Draw(t, "tracking"))
		m := &naive{config: c}
		var gone []int
		pool, err := fallback.NewGenericMemoryPool(c, func(number int, _ uint64) error {
			gone = append(gone, number)
			return nil
		})
		require.NoError(t, err)
		made := 0
		for range rapid.IntRange(1, 80).Draw(t, "steps") {
			switch step := rapid.IntRange(0, 9).Draw(t, "step"); {
			case step == 0:
				before := m.stats.PooledBytes
				dropped, err := pool.Shrink()
				require.NoError(t, err)
				require.Equal(t, before, dropped)
				for _, s := range m.free {
					m.gone = append(m.gone, s.number)
				}
				m.free = nil
				m.stats.TotalAllocatedBytes -= before
				m.stats.PooledBytes = 0
			case step <= 4 && len(m.inUse) > 0:
				i := rapid.IntRange(0, len(m.inUse)-1).Draw(t, "which")
				lease := m.inUse[i]
				m.inUse = slices.Delete(m.inUse, i, i+1)
				kept, err := pool.ReturnBuffer(lease)
				require.NoError(t, err)
				m.stats.InUseBytes -= lease.Bytes
				m.stats.ActiveBuffers--
				s := slot{lease.Buffer, lease.Bytes}
				require.Equal(t, m.keeps(s), kept)
				if kept {
					m.free = append(m.free, s)
					m.stats.PooledBytes += s.bytes
				} else {
					m.gone = append(m.gone, s.number)
					m.stats.TotalAllocatedBytes -= s.bytes
				}
			default:
				want := rapid.Uint64Range(1, 1200).Draw(t, "want")
				lease, ok, err := pool.TryGet(want, fallback.Use{})
				require.NoError(t, err)
				expected, found := m.get(want)
				require.Equal(t, found, ok)
				if ok {
					require.Equal(t, expected.bytes, lease.Bytes)
					require.GreaterOrEqual(t, lease.Bytes, want, "no buffer is smaller than what it serves")
					m.stats.PoolHits++
					m.stats.PooledBytes -= lease.Bytes
					// Of two buffers of equal size, the pool may return either.
					if lease.Buffer != expected.number {
						i := slices.Index(m.free, slot{lease.Buffer, lease.Bytes})
						require.GreaterOrEqual(t, i, 0)
						m.free[i].number = expected.number
					}
				} else {
					m.stats.PoolMisses++
					made++
					lease = fallback.Lease[int]{Buffer: made, Bytes: want}
					lease.ID, err = pool.RecordAllocation(want, fallback.Use{})
					require.NoError(t, err)
					m.stats.TotalAllocatedBytes += want
				}
				m.use(lease.Bytes)
				m.inUse = append(m.inUse, lease)
			}
			require.Equal(t, m.stats, pool.Stats())
			require.Equal(t, len(m.free), pool.PooledCount())
			require.ElementsMatch(t, m.gone, gone)
			require.Equal(t, m.stats.TotalAllocatedBytes, m.stats.InUseBytes+m.stats.PooledBytes)
			if c.TrackAllocations {
				require.Equal(t, len(m.inUse), pool.Tracker().Count())
				require.Equal(t, m.stats.InUseBytes, pool.Tracker().TotalBytes())
			} else {
				require.Nil(t, pool.Tracker())
			}
		}
	})
}

// A buffer of 520 bytes is in the same bucket as buffers of 1024 bytes. A request for 1000
// bytes would overrun the smaller buffer.
func TestASmallBufferServesNoLargerRequest(t *testing.T) {
	pool, err := fallback.NewGenericMemoryPool[int](fallback.DefaultMemoryConfig(), nil)
	require.NoError(t, err)
	require.NoError(t, pool.AddFree(1, 520))
	_, ok, err := pool.TryGet(1000, fallback.Use{})
	require.NoError(t, err)
	require.False(t, ok)
	_, ok, err = pool.TryGet(520, fallback.Use{})
	require.NoError(t, err)
	require.True(t, ok)
}

func TestReuseWastesAtMostFourTimes(t *testing.T) {
	pool, err := fallback.NewGenericMemoryPool[int](fallback.DefaultMemoryConfig(), nil)
	require.NoError(t, err)
	require.NoError(t, pool.AddFree(1, 4097))
	_, ok, err := pool.TryGet(1024, fallback.Use{})
	require.NoError(t, err)
	require.False(t, ok)
	_, ok, err = pool.TryGet(1025, fallback.Use{})
	require.NoError(t, err)
	require.True(t, ok)
}

func TestGenericPoolRefuses(t *testing.T) {
	pool, err := fallback.NewGenericMemoryPool[int](fallback.DefaultMemoryConfig().WithTracking(true), nil)
	require.NoError(t, err)
	before := pool.Stats()
	_, err = pool.RecordAllocation(0, fallback.Use{})
	require.ErrorIs(t, err, device.CodeInvalidSize)
	_, _, err = pool.TryGet(0, fallback.Use{})
	require.ErrorIs(t, err, device.CodeInvalidSize)
	_, _, err = pool.TryGet(math.MaxUint64, fallback.Use{})
	require.ErrorIs(t, err, device.CodeOverflow)
	require.ErrorIs(t, pool.AddFree(1, 0), device.CodeInvalidSize)
	_, err = pool.ReturnBuffer(fallback.Lease[int]{Bytes: 8})
	require.ErrorIs(t, err, device.CodeInvalidArgument)
	require.Equal(t, before, pool.Stats())

	id, err := pool.RecordAllocation(8, fallback.Use{Tag: "kv"})
	require.NoError(t, err)
	_, err = pool.ReturnBuffer(fallback.Lease[int]{Bytes: 9, ID: id})
	require.ErrorIs(t, err, device.CodeInvalidArgument)
	require.Equal(t, 1, pool.Tracker().Count())
	_, err = pool.ReturnBuffer(fallback.Lease[int]{Bytes: 8, ID: id})
	require.NoError(t, err)
	_, err = pool.ReturnBuffer(fallback.Lease[int]{Bytes: 8, ID: id})
	require.ErrorIs(t, err, device.CodeInvalidArgument, "a second return")

	plain, err := fallback.NewGenericMemoryPool[int](fallback.DefaultMemoryConfig(), nil)
	require.NoError(t, err)
	_, err = plain.RecordAllocation(math.MaxUint64, fallback.Use{})
	require.NoError(t, err)
	_, err = plain.RecordAllocation(1, fallback.Use{})
	require.ErrorIs(t, err, device.CodeOverflow)
	_, err = plain.ReturnBuffer(fallback.Lease[int]{})
	require.ErrorIs(t, err, device.CodeInvalidSize)
}

func TestFailedReleaseIsReturned(t *testing.T) {
	broken := errors.New("broken")
	pool, err := fallback.NewGenericMemoryPool(fallback.DefaultMemoryConfig().WithMaxPooled(0), func(int, uint64) error { return broken })
	require.NoError(t, err)
	_, err = pool.RecordAllocation(8, fallback.Use{})
	require.NoError(t, err)
	kept, err := pool.ReturnBuffer(fallback.Lease[int]{Bytes: 8})
	require.ErrorIs(t, err, broken)
	require.False(t, kept)
	require.Zero(t, pool.Stats().TotalAllocatedBytes)
}

func TestGenericPoolUnderThreads(t *testing.T) {
	pool, err := fallback.NewGenericMemoryPool[*int](fallback.DefaultMemoryConfig().WithTracking(true), nil)
	require.NoError(t, err)
	var all sync.WaitGroup
	for n := range 8 {
		all.Go(func() {
			for i := range 1000 {
				want := uint64(100 + (n*i)%900)
				lease, ok, err := pool.TryGet(want, fallback.Use{})
				if err == nil && !ok {
					lease = fallback.Lease[*int]{Buffer: new(int), Bytes: want}
					lease.ID, err = pool.RecordAllocation(want, fallback.Use{})
				}
				if err != nil {
					t.Error(err)
					return
				}
				// The race detector reports a buffer that two threads hold at once.
				*lease.Buffer++
				if _, err := pool.ReturnBuffer(lease); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	stats := pool.Stats()
	require.Zero(t, stats.InUseBytes+stats.ActiveBuffers)
	require.Equal(t, stats.TotalAllocatedBytes, stats.PooledBytes)
	require.EqualValues(t, 8000, stats.PoolHits+stats.PoolMisses)
	require.NoError(t, pool.Clear())
	require.Zero(t, pool.Stats().TotalAllocatedBytes)
}

// Without tracking, the pool makes no record and allocates nothing for one. With tracking,
// it makes a record for each buffer in use.
func TestTrackingCostsNothingWhenItIsOff(t *testing.T) {
	for _, tracks := range []bool{false, true} {
		p, err := fallback.NewGenericMemoryPool(plainConfig().WithTracking(tracks), func(int, uint64) error { return nil })
		require.NoError(t, err)
		require.Equal(t, tracks, p.Tracker() != nil)
		cost := testing.AllocsPerRun(1, func() {
			for range 1000 {
				if id, err := p.RecordAllocation(4096, fallback.Use{}); err != nil || tracks != (id != 0) {
					t.Error("a record too many or too few")
				}
			}
		})
		require.Equal(t, tracks, cost > 0, "%v allocations for 1000 buffers", cost)
	}
}
