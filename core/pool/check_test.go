package pool

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/core/device/devicetest"
	"ferrum_mem/core/engine"
	"ferrum_mem/core/rangealloc"
	"ferrum_mem/core/track"
)

const (
	kib = uint64(1) << 10
	mib = uint64(1) << 20
)

// bench is a test device with an engine.
type bench struct {
	dev    *devicetest.Device
	engine *engine.Engine
}

// All tests run three times: with segments, with pages, and with pages of a device that
// also has large ones. onPages states which run it is, and testLargeBytes the size of a
// large page; 0 means none.
var (
	onPages        bool
	testLargeBytes uint64
)

// testPageBytes is the page size of the tests' pools in runs with pages.
const testPageBytes = 64 * kib

// RunThrice runs all tests. With -short it skips the run with pages and without large
// pages, because the third run has both.
func RunThrice(m *testing.M) int {
	code := m.Run()
	for _, testLargeBytes = range []uint64{0, 4 * testPageBytes} {
		onPages = true
		if code == 0 && (testLargeBytes != 0 || !testing.Short()) {
			code = m.Run()
		}
	}
	return code
}

// kind returns the value that a test expects in a run with segments or with pages.
func kind[T any](segments, pages T) T {
	if onPages {
		return pages
	}
	return segments
}

// giveBackCall is the first driver call of a release of memory.
func giveBackCall() devicetest.Call { return kind(devicetest.Free, devicetest.Unmap) }

// onSegments skips a test of behaviour that only segments have.
func onSegments(t *testing.T, why string) {
	if onPages {
		t.Skip("of whole segments: " + why)
	}
}

func newBench(config devicetest.Config, options engine.Options) *bench {
	if config.NoVirtualMemory = !onPages; onPages && config.PageMinimumBytes == 0 {
		config.PageMinimumBytes, config.PageRecommendedBytes = testPageBytes, testPageBytes
		config.PageLargeBytes = testLargeBytes
	}
	if config.TotalBytes == 0 {
		config.TotalBytes = 64 * mib
	}
	dev := devicetest.Open(config)
	return &bench{dev: dev, engine: engine.New(dev, options)}
}

func (b *bench) pool(t require.TestingT, change func(*Config)) *Pool {
	c := Config{Name: "p", InitialSizeBytes: 1 * mib, GrowthIncrementBytes: 512 * kib,
		AutoExpansion: true, Stats: true, ReleaseThresholdBytes: NeverRelease}
	c.Paging = PagingAuto
	if change != nil {
		change(&c)
	}
	p, err := New(b.engine, c)
	require.NoError(t, err)
	p.PauseReturn()
	return p
}

// audit compares everything that a pool stores about its memory.
func (p *Pool) audit() error {
	p.heap.mu.Lock()
	defer p.heap.mu.Unlock()
	stats := p.heap.statisticsLocked()
	if err := stats.Check(); err != nil {
		return err
	}
	var held, live, placed, active, unusable uint64
	for i, s := range p.heap.segments {
		if err := s.strategy.Check(); err != nil {
			return err
		}
		if i > 0 && p.heap.segments[i-1].end() > s.memory.Addr {
			return fmt.Errorf("segments %d and %d overlap", i-1, i)
		}
		state := s.strategy.Stats()
		if s.full <= state.LargestFreeBytes {
			return fmt.Errorf("segment %d has room for %d bytes, and is passed over from %d on", i, state.LargestFreeBytes, s.full)
		}
		held += s.heldBytes()
		placed += state.LiveBlocks
		active += state.SizeBytes - state.FreeBytes
		unusable += s.memory.SizeBytes - s.usable
	}
	pages, err := p.auditPages()
	if err != nil {
		return err
	}
	held += pages
	var requested, allocated, leased uint64
	blocks, inFlight := uint64(0), 0
	for _, s := range p.heap.segments {
		count := uint64(0)
		s.eachBlock(func(l located) bool {
			count++
			switch l.info().state() {
			case blockLive:
				live++
				requested += l.Size - l.info().slack()
				allocated += l.Size
			case blockInFlight:
				inFlight++
			case blockLeased:
				leased += l.Size - l.info().slack()
				active -= l.Size - l.info().slack()
			case blockClaimed:
			default:
				count += 1 << 32
			}
			return true
		})
		if count != s.blocks {
			return fmt.Errorf("a segment has %d blocks, counts %d", count, s.blocks)
		}
		blocks += count
	}
	if p.heap.debug != nil {
		held, _ := p.heap.debug.Held()
		inFlight -= held
	}
	if err := p.auditStreams(); err != nil {
		return err
	}
	outside := p.heap.counters.Outside()
	want := map[string][2]uint64{
		"held":          {p.heap.held, held},
		"reserved":      {stats.Reserved.Current, held},
		"segments":      {stats.Segments.Current, uint64(len(p.heap.segments))},
		"placed blocks": {blocks, placed},
		"active":        {stats.Active.Current - outside.LiveBytes, active},
		"unusable":      {stats.Unusable.Current, unusable},
		"live":          {stats.LiveBlocks.Current - outside.LiveBlocks, live},
		"requested":     {stats.Requested.Current - outside.RequestedBytes, requested},
		"allocated":     {stats.Allocated.Current - outside.LiveBytes, allocated},
		"in flight":     {uint64(p.heap.inFlight.Count()) + p.frees.parked, uint64(inFlight)},
		"leased":        {p.leases.leased - p.leases.returned, leased},
		"outside":       {outside.LiveBytes + outside.CachedBytes, leased},
	}
	for name, pair := range want {
		if pair[0] != pair[1] {
			return fmt.Errorf("%s is %d, counted %d", name, pair[0], pair[1])
		}
	}
	var tagged track.TagUse
	for _, use := range p.heap.tags.Uses(nil) {
		tagged.RequestedBytes += use.RequestedBytes
		tagged.AllocatedBytes += use.AllocatedBytes
		tagged.Blocks += use.Blocks
	}
	if tagged != (track.TagUse{RequestedBytes: requested, AllocatedBytes: allocated, Blocks: live}) {
		return fmt.Errorf("tags hold %+v", tagged)
	}
	return nil
}

// check compares the pools with the device and the engine's counters.
func (b *bench) check(t require.TestingT, pools ...*Pool) {
	var held, live uint64
	for _, p := range pools {
		require.NoError(t, p.audit())
		stats := p.Statistics()
		held += stats.Reserved.Current
		live += stats.LiveBlocks.Current
	}
	require.Equal(t, held, b.dev.HeldBytes(), "the device has what the pools hold")
	sum := b.engine.Statistics()
	require.NoError(t, sum.Check())
	require.Equal(t, held, sum.Reserved.Current)
	require.Equal(t, live, sum.LiveBlocks.Current)
	require.Equal(t, sum.Active.Current+sum.Unusable.Current, b.engine.Totals().Used())
}

func mustAlloc(t require.TestingT, p *Pool, size uint64) Block {
	block, err := p.Alloc(Request{SizeBytes: size})
	require.NoError(t, err)
	return block
}

// closeAll ends a test: nothing may be left on the device.
func (b *bench) closeAll(t require.TestingT, pools ...*Pool) {
	b.dev.ClearFaults()
	b.dev.Default().Release()
	for _, p := range pools {
		require.NoError(t, p.Close(true))
		require.ErrorIs(t, p.Close(true), device.CodeInvalidState)
	}
	require.Zero(t, b.dev.HeldBytes())
	require.Zero(t, b.dev.OpenEvents())
	require.NoError(t, b.engine.Close())
}

func quiet(t *testing.T, b *bench, p *Pool) {
	t.Helper()
	b.check(t, p)
	b.closeAll(t, p)
}

// auditStreams checks that exactly the live blocks have stream numbers, and that they are
// counted.
func (p *Pool) auditStreams() error {
	b := &p.heap.streams
	counts, numbered := map[uint16]uint64{}, uint64(0)
	for _, s := range p.heap.segments {
		for _, number := range s.streams {
			if number != 0 {
				counts[number]++
				numbered++
			}
		}
		s.eachBlock(func(l located) bool {
			if l.streamAt(l.Slot) != 0 && l.info().state() == blockLive {
				numbered--
			}
			return true
		})
	}
	if numbered != 0 {
		return fmt.Errorf("%d places that are no live block have a stream", int64(numbered))
	}
	live := uint64(0)
	for i, of := range b.byNumber {
		number := uint16(i + 1)
		live += of.live
		switch {
		case of.live != counts[number]:
			return fmt.Errorf("stream %d has %d blocks, counts %d", number, counts[number], of.live)
		case of.stream != nil && b.numbers[of.stream] != number:
			return fmt.Errorf("stream %d is found as %d", number, b.numbers[of.stream])
		case of.live == 0 && !of.idle:
			return fmt.Errorf("stream %d has no block, and its number is lost", number)
		}
	}
	if live != b.live {
		return fmt.Errorf("%d blocks have a stream, %d are counted", live, b.live)
	}
	return nil
}

// eachBlock visits the blocks that the strategy has allocated, in order of address, until
// visit returns false.
func (s *segment) eachBlock(visit func(located) bool) {
	s.strategy.Walk(func(b rangealloc.Block) bool {
		if !b.Live {
			return true
		}
		r, ok := s.strategy.Lookup(b.Offset)
		return !ok || visit(located{s, r})
	})
}
