package pool

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"ferrum_mem/core/device"
	"ferrum_mem/core/device/devicetest"
	"ferrum_mem/core/engine"
)

// shadow has the expected state of the blocks of two pools of one device: the live
// blocks, and the freed blocks with the work of a stream that still uses them.
type shadow struct {
	*bench
	pools   []*Pool
	streams []*devicetest.Stream
	live    []shadowBlock
	// flying is in the order of the frees.
	flying []shadowBlock
}

type shadowBlock struct {
	Block
	pool   *Pool
	events []*recorded
}

// recorded is an event of the test, in the same place as the pool's.
type recorded struct{ passed bool }

func (s *shadow) mayOverlap(t *rapid.T, got Block) {
	overlaps := func(other Block) bool {
		return got.Addr < other.Addr+device.Addr(other.SizeBytes) &&
			other.Addr < got.Addr+device.Addr(got.SizeBytes)
	}
	for _, other := range s.live {
		require.False(t, overlaps(other.Block), "%+v overlaps live %+v", got, other.Block)
	}
	for _, other := range s.flying {
		for _, event := range other.events {
			if !event.passed {
				require.False(t, overlaps(other.Block), "%+v overlaps %+v in flight", got, other.Block)
			}
		}
	}
}

// mark records the test's own event: a host function behind all present work.
func (s *shadow) mark(t *rapid.T, stream *devicetest.Stream) *recorded {
	event := &recorded{}
	require.NoError(t, stream.HostFunction(func() { event.passed = true }))
	return event
}

func (s *shadow) takeLive(t *rapid.T) shadowBlock {
	if len(s.live) == 0 {
		t.Skip("nothing is live")
	}
	at := rapid.IntRange(0, len(s.live)-1).Draw(t, "block")
	block := s.live[at]
	s.live = append(s.live[:at], s.live[at+1:]...)
	return block
}

func (s *shadow) alloc(t *rapid.T) {
	p := rapid.SampledFrom(s.pools).Draw(t, "pool")
	r := Request{
		SizeBytes: rapid.OneOf(rapid.Uint64Range(1, 4*kib), rapid.Uint64Range(1, 600*kib),
			rapid.Uint64Range(1, 9*mib)).Draw(t, "size"),
		AlignmentBytes: rapid.SampledFrom([]uint64{0, 1, 512, 8 * kib, 64 * kib}).Draw(t, "align"),
		Tag:            rapid.SampledFrom([]string{"", "kv", "weights"}).Draw(t, "tag"),
	}
	inFlight := false
	for _, other := range s.pools {
		other.CompleteFrees()
		stats := other.Statistics()
		inFlight = inFlight || stats.Active.Current > stats.Allocated.Current
	}
	if inFlight {
		// An allocation would wait for work that only this thread completes.
		r.SizeBytes = min(r.SizeBytes, p.Statistics().LargestFreeBytes/4)
		r.AlignmentBytes = 0
		if r.SizeBytes == 0 {
			t.Skip("no room without a wait")
		}
	}
	before := p.Statistics()
	got, err := p.Alloc(r)
	if err != nil {
		require.ErrorIs(t, err, device.CodeOutOfMemory)
		after := p.Statistics()
		require.Equal(t, before.Active.Current, after.Active.Current)
		require.Equal(t, before.Failures+1, after.Failures)
		// No cached memory may be left that the request would fit into.
		require.Less(t, after.LargestFreeBytes, r.SizeBytes+max(r.AlignmentBytes, 256))
		return
	}
	require.GreaterOrEqual(t, got.SizeBytes, r.SizeBytes)
	require.Zero(t, uint64(got.Addr)%max(r.AlignmentBytes, 256))
	s.mayOverlap(t, got)
	s.live = append(s.live, shadowBlock{Block: got, pool: p})
}

func (s *shadow) actions() map[string]func(*rapid.T) {
	return map[string]func(*rapid.T){
		"alloc":  s.alloc,
		"alloc2": s.alloc,
		"free": func(t *rapid.T) {
			block := s.takeLive(t)
			stream := rapid.SampledFrom(s.streams).Draw(t, "stream")
			if stream.Queued() > 0 {
				block.events = append(block.events, s.mark(t, stream))
			}
			require.NoError(t, block.pool.Free(block.Addr, stream))
			s.flying = append(s.flying, block)
		},
		"freeAfter": func(t *rapid.T) {
			block := s.takeLive(t)
			var events []device.Event
			for _, stream := range s.streams {
				block.events = append(block.events, s.mark(t, stream))
				event, err := stream.RecordEvent()
				require.NoError(t, err)
				events = append(events, event)
			}
			require.NoError(t, block.pool.FreeAfter(block.Addr, events))
			s.flying = append(s.flying, block)
		},
		"freeTwice": func(t *rapid.T) {
			if len(s.flying) == 0 {
				t.Skip("nothing was freed")
			}
			block := rapid.SampledFrom(s.flying).Draw(t, "freed")
			if _, live := block.pool.Lookup(block.Addr); live {
				t.Skip("handed out again")
			}
			err := block.pool.Free(block.Addr, nil)
			code := device.CodeOf(err)
			require.Contains(t, []device.Code{device.CodeDoubleFree, device.CodeInvalidAddress}, code)
		},
		"work": func(t *rapid.T) {
			require.NoError(t, rapid.SampledFrom(s.streams).Draw(t, "stream").HostFunction(func() {}))
		},
		"step": func(t *rapid.T) {
			rapid.SampledFrom(s.streams).Draw(t, "stream").Step(rapid.IntRange(1, 6).Draw(t, "n"))
		},
		"runDry": func(t *rapid.T) {
			for _, stream := range s.streams {
				for stream.Step(1000) > 0 {
				}
			}
		},
		"trim": func(t *rapid.T) {
			p := rapid.SampledFrom(s.pools).Draw(t, "pool")
			held := p.Statistics().Reserved.Current
			keep := rapid.Uint64Range(0, 4*mib).Draw(t, "keep")
			released, err := p.Trim(keep)
			require.NoError(t, err)
			require.Equal(t, held-released, p.Statistics().Reserved.Current)
		},
		"limit": func(t *rapid.T) {
			p := rapid.SampledFrom(s.pools).Draw(t, "pool")
			limit := rapid.SampledFrom([]uint64{0, 0, 3 * mib, 6 * mib}).Draw(t, "limit")
			require.NoError(t, p.SetLimit(limit))
		},
		"deviceLimit": func(t *rapid.T) {
			limit := rapid.SampledFrom([]uint64{0, 0, 4 * mib, 8 * mib}).Draw(t, "limit")
			require.NoError(t, s.engine.SetLimit(limit))
		},
		"": func(t *rapid.T) {
			s.check(t, s.pools...)
			require.EqualValues(t, len(s.live), s.engine.Statistics().LiveBlocks.Current)
			info, err := s.engine.MemoryInfo()
			require.NoError(t, err)
			require.Equal(t, info.TotalBytes, info.UsedBytes+info.FreeBytes+info.ReservedBytes)
		},
	}
}

func TestRandomProgramsAgainstAModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := &shadow{bench: newBench(devicetest.Config{TotalBytes: 10 * mib}, engine.Options{})}
		for range 2 {
			stream := newStream(t, s.bench)
			stream.Hold()
			s.streams = append(s.streams, stream)
		}
		for _, align := range []uint64{256, 8 * kib} {
			s.pools = append(s.pools, s.pool(t, func(c *Config) { c.AlignmentBytes = align }))
		}
		t.Repeat(s.actions())
		for _, stream := range s.streams {
			stream.Release()
		}
		for _, stream := range s.streams {
			require.NoError(t, stream.Close())
		}
		s.closeAll(t, s.pools...)
	})
}
