package pool

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/core/device/devicetest"
	"ferrum_mem/core/engine"
	"ferrum_mem/core/mirror"
	"ferrum_mem/core/track"
)

func publishedBrief(place *mirror.Pool) track.Brief {
	b := &place.Counters
	return track.Brief{
		ActiveBytes: b.ActiveBytes, CachedBytes: b.CachedBytes, UnusableBytes: b.UnusableBytes,
		LiveBlocks: b.LiveBlocks, LargestFreeBytes: min(b.LargestFreeBytes, b.CachedBytes),
	}
}

// In every state of a pool, what it publishes equals its own counters, or is invalid.
func TestPublishedCountersArePresentOrInvalid(t *testing.T) {
	for _, strategy := range []string{"best_fit", "size_class", "tlsf", "buddy", "arena"} {
		dev := devicetest.Open(devicetest.Config{TotalBytes: 64 << 20})
		e := engine.New(dev, engine.Options{})
		place := &mirror.Device{}
		e.PublishAt(place, 7)
		_, err := e.MemoryInfo()
		require.NoError(t, err)
		c := DefaultConfig()
		c.Strategy, c.InitialSizeBytes, c.GrowthIncrementBytes = strategy, 1<<20, 1<<20
		p, err := New(e, c)
		require.NoError(t, err)
		p.PauseReturn()
		random := rand.New(rand.NewPCG(3, 4))
		stream, err := dev.NewStream()
		require.NoError(t, err)
		var live []device.Addr
		hidden := 0
		for range 500 {
			switch random.IntN(8) {
			case 0:
				p.CompleteFrees()
			case 1:
				_, err := p.Trim(random.Uint64N(8 << 20))
				require.NoError(t, err)
			case 2, 3, 4:
				if len(live) > 0 {
					at := random.IntN(len(live))
					require.NoError(t, p.Free(live[at], []device.Stream{nil, stream}[random.IntN(2)]))
					live[at] = live[len(live)-1]
					live = live[:len(live)-1]
				}
			default:
				if block, err := p.Alloc(Request{SizeBytes: 1 + random.Uint64N(200<<10)}); err == nil {
					live = append(live, block.Addr)
				}
			}
			for range 2 {
				if place.Pool[0].Version.Load()%2 == 1 {
					require.Equal(t, p.Brief(), publishedBrief(&place.Pool[0]), strategy)
				} else {
					hidden++
				}
				e.Publish()
				require.EqualValues(t, 1, place.Pool[0].Version.Load()%2)
			}
		}
		require.Greater(t, hidden, 250)
		require.EqualValues(t, 1, place.Counters.Pools)
		require.NoError(t, stream.Close())
		require.NoError(t, p.Close(true))
		require.Zero(t, place.Pool[0].Version.Load()%2, "an ended pool publishes nothing")
		p.Publish()
		require.Zero(t, place.Pool[0].Version.Load()%2)
		require.NoError(t, e.Close())
	}
}

// Readers could not count these caches, and the pool's own part alone would mislead them.
func TestPoolWithUnknownCachesPublishesNothing(t *testing.T) {
	b := newBench(devicetest.Config{TotalBytes: 8 * mib}, engine.Options{})
	place := &mirror.Device{}
	b.engine.PublishAt(place, 7)
	p := b.pool(t, nil)
	newFakeCache(p, nil)
	p.Publish()
	require.Zero(t, place.Pool[0].Version.Load()%2)
}
