package pool

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/core/device/devicetest"
	"ferrum_mem/core/engine"
	"ferrum_mem/core/memcheck"
)

// How debug mode is tested here: the tests of package memcheck test what is detected and
// when. These tests are about the pool around it: counters, addresses, streams, what is
// reclaimed, and that a correct program is never reported.

// debugBench is a bench with bytes that records the log of the pools.
type debugBench struct {
	*bench
	mu    sync.Mutex
	heard []string
	// site is the present call site.
	site    uintptr
	watched int
}

func newDebugBench(config devicetest.Config) *debugBench {
	b := &debugBench{site: 1}
	config.Backed = true
	b.bench = newBench(config, engine.Options{
		Log: func(level engine.Level, message string) {
			b.mu.Lock()
			defer b.mu.Unlock()
			b.heard = append(b.heard, fmt.Sprintf("%d %s", level, message))
		},
		CallSites: memcheck.Hooks{
			Watch: func(on bool) {
				b.watched--
				if on {
					b.watched += 2
				}
			},
			Read: func(to []uintptr) int { return copy(to, []uintptr{b.site}) },
			Describe: func(frames []uintptr) (lines []string) {
				for _, frame := range frames {
					lines = append(lines, fmt.Sprintf("site %d", frame))
				}
				return lines
			},
		},
	})
	return b
}

func (b *debugBench) reports() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	text := strings.Join(b.heard, "\n")
	b.heard = nil
	return text
}

func (b *debugBench) write(t require.TestingT, addr device.Addr, value byte) {
	require.NoError(t, b.dev.SetBytes(addr, []byte{value}))
}

func withDebug(flags DebugFlags) func(*Config) {
	return func(c *Config) { c.Debug = flags }
}

func TestDebugFreeThatFindsDamageStillFrees(t *testing.T) {
	b := newDebugBench(devicetest.Config{})
	p := b.pool(t, withDebug(DebugAll))
	require.Zero(t, p.Config().ThreadCacheBytes, "debug mode disables the thread caches")
	block := mustAlloc(t, p, 1000)
	require.EqualValues(t, 1000, block.SizeBytes)
	require.Zero(t, uint64(block.Addr)%256)
	b.write(t, block.Addr+1000, 0x41)
	b.site = 2
	err := p.Free(block.Addr, nil)
	require.ErrorIs(t, err, device.CodeCorrupted)
	require.ErrorContains(t, err, "the byte at 1000, 0 after its end, is 0x41 instead of 0xfd, seen at its free\n"+
		"  allocated at\n    site 1\n  freed at\n    site 2")
	stats := p.Statistics()
	require.Zero(t, stats.LiveBlocks.Current)
	require.EqualValues(t, 1, stats.Frees)
	require.NotZero(t, stats.Active.Current, "the freed block is in quarantine")
	require.Equal(t, 1, strings.Count(b.reports(), "overrun"))
	require.ErrorIs(t, p.Free(block.Addr, nil), device.CodeDoubleFree)
	require.Contains(t, b.reports(), "was freed before and is in quarantine")
	quiet(t, b.bench, p)
	require.Empty(t, b.reports())
	require.Zero(t, b.watched)
}

func TestDebugBatchNamesTheDamagedAndTheInvalidBlock(t *testing.T) {
	b := newDebugBench(devicetest.Config{})
	p := b.pool(t, withDebug(DebugAll))
	addrs := make([]device.Addr, 5)
	require.NoError(t, p.AllocBatch(Request{SizeBytes: 100}, addrs))
	b.write(t, addrs[3]-1, 7)
	wrong := append(append([]device.Addr{}, addrs...), addrs[1])
	err := p.FreeBatch(wrong, nil)
	require.ErrorIs(t, err, device.CodeDoubleFree)
	require.ErrorContains(t, err, "addresses[5]")
	require.ErrorContains(t, err, "is listed twice")
	require.EqualValues(t, 5, p.Statistics().LiveBlocks.Current, "a failed batch frees no block")
	require.NotContains(t, b.reports(), "overrun", "nor looked at")
	err = p.FreeBatch(addrs, nil)
	require.ErrorIs(t, err, device.CodeCorrupted)
	require.ErrorContains(t, err, "the byte 1 before its start")
	require.Zero(t, p.Statistics().LiveBlocks.Current, "all are")
	err = p.FreeBatch(addrs[2:4], nil)
	require.ErrorIs(t, err, device.CodeDoubleFree)
	require.ErrorContains(t, err, "addresses[0]")
	quiet(t, b.bench, p)
}

// A pool with zones accepts only the addresses of the caller.
func TestDebugAcceptsOnlyTheCallersAddresses(t *testing.T) {
	b := newDebugBench(devicetest.Config{})
	p := b.pool(t, withDebug(DebugAll))
	block, err := p.Alloc(Request{SizeBytes: 700, AlignmentBytes: 4096, Tag: "kv"})
	require.NoError(t, err)
	require.Zero(t, uint64(block.Addr)%4096)
	found, ok := p.Lookup(block.Addr)
	require.True(t, ok)
	require.Equal(t, block, found)
	usable, err := p.UsableSize(block.Addr)
	require.NoError(t, err)
	require.EqualValues(t, 700, usable)
	p.EachBlock(func(each Block) bool {
		require.Equal(t, block, each)
		return true
	})
	for _, at := range []device.Addr{block.Addr, block.Addr + 699, block.Addr - 1, block.Addr + 700} {
		owner, ok := p.OwnerOf(at)
		require.True(t, ok)
		require.Equal(t, BlockInfo{Addr: block.Addr, SizeBytes: 700, RequestedBytes: 700, Tag: "kv"}, owner)
	}
	base, _ := p.heap.debug.Base(block.Addr)
	for _, wrong := range []device.Addr{base, block.Addr - 1, block.Addr + 1, block.Addr + 700} {
		require.ErrorIs(t, p.Free(wrong, nil), device.CodeInvalidAddress)
		require.ErrorIs(t, p.RecordStream(wrong, nil), device.CodeInvalidAddress)
		_, err := p.UsableSize(wrong)
		require.ErrorIs(t, err, device.CodeInvalidAddress)
	}
	require.ErrorIs(t, p.FreeSized(block.Addr, 1024, nil), device.CodeInvalidSize)
	require.Contains(t, b.reports(), "was allocated with 700\n  allocated at\n    site 1\n  called from\n    site 1")
	require.Equal(t, []string{"site 1"}, p.CallSite(block.Addr))
	require.Nil(t, p.CallSite(base))
	require.NoError(t, p.FreeSized(block.Addr, 700, nil))
	_, err = p.UsableSize(block.Addr)
	require.ErrorIs(t, err, device.CodeDoubleFree)
	require.ErrorIs(t, p.RecordStream(block.Addr, nil), device.CodeDoubleFree)
	_, err = p.Alloc(Request{SizeBytes: math.MaxUint64 - 300})
	require.ErrorIs(t, err, device.CodeOverflow)
	require.NoError(t, p.Reset(nil))
	quiet(t, b.bench, p)
}

// A report about an address of another pool names that pool and block.
func TestDebugNamesThePoolOfAForeignAddress(t *testing.T) {
	b := newDebugBench(devicetest.Config{})
	p := b.pool(t, func(c *Config) { c.Debug, c.Name = DebugAll, "mine" })
	debugging := b.pool(t, func(c *Config) { c.Debug, c.Name = DebugAll, "theirs" })
	plain := b.pool(t, func(c *Config) { c.Name = "plain" })
	mustAlloc(t, p, 100)
	b.site = 5
	theirs, others := mustAlloc(t, debugging, 200), mustAlloc(t, plain, 300)
	b.site = 6
	for addr, text := range map[device.Addr]string{
		theirs.Addr:           fmt.Sprintf("it is in pool \"theirs\", in the block of 200 bytes at %#x, tag \"theirs\", allocated at\n    site 5", uint64(theirs.Addr)),
		others.Addr + 1:       fmt.Sprintf("it is in pool \"plain\", in the block of 300 bytes at %#x, tag \"plain\"", uint64(others.Addr)),
		others.Addr + 100*256: "it is in pool \"plain\", in no live block",
		1:                     "lies in no segment of pool \"mine\", which has 1\n  called from\n    site 6",
	} {
		err := p.Free(addr, nil)
		require.ErrorIs(t, err, device.CodeInvalidAddress)
		require.ErrorContains(t, err, text)
	}
	b.check(t, p, debugging, plain)
	b.closeAll(t, p, debugging, plain)
}

// Blocks in quarantine are reclaimed before an allocation fails, at a trim, and when a
// sibling needs memory.
func TestDebugQuarantineIsReclaimedBeforeMemoryRunsOut(t *testing.T) {
	b := newDebugBench(devicetest.Config{TotalBytes: 2 * mib})
	bounded := func(c *Config) { c.Debug, c.MaxSizeBytes = DebugAll, mib }
	p := b.pool(t, bounded)
	var held []Block
	for range 4 {
		held = append(held, mustAlloc(t, p, 30*kib))
	}
	rest := mustAlloc(t, p, 800*kib)
	for _, block := range held {
		require.NoError(t, p.Free(block.Addr, nil))
	}
	blocks, size := p.heap.debug.Held()
	require.Equal(t, 4, blocks)
	require.LessOrEqual(t, size, mib/quarantineShare)
	require.Equal(t, size, p.Statistics().Active.Current-p.Statistics().Allocated.Current)
	mustAlloc(t, p, 110*kib)
	blocks, _ = p.heap.debug.Held()
	require.Zero(t, blocks)
	require.NoError(t, p.Free(rest.Addr, nil))
	blocks, _ = p.heap.debug.Held()
	require.Zero(t, blocks, "larger than the bound")
	require.NoError(t, p.Reset(nil))

	kept := mustAlloc(t, p, kib)
	require.NoError(t, p.Free(kept.Addr, nil))
	other := b.pool(t, func(c *Config) { c.InitialSizeBytes = 2 * mib })
	mustAlloc(t, other, 2*mib)
	require.Zero(t, p.Statistics().Reserved.Current, "the sibling's quarantine held its last segment")
	require.NoError(t, other.Reset(nil))
	_, err := other.Trim(0)
	require.NoError(t, err)

	kept = mustAlloc(t, p, kib)
	require.NoError(t, p.Free(kept.Addr, nil))
	released, err := p.Trim(0)
	require.NoError(t, err)
	require.Equal(t, mib, released)
	b.check(t, p, other)
	b.closeAll(t, p, other)
	require.Empty(t, b.reports())
}

// A block whose work an allocation has waited for passes through quarantine, and the
// allocation still gets it.
func TestDebugQuarantineServesAWaitingAllocation(t *testing.T) {
	b := newDebugBench(devicetest.Config{TotalBytes: mib, Manual: true})
	p := b.pool(t, func(c *Config) { c.Debug, c.PreAlloc = DebugAll, true })
	var blocks []Block
	for range 10 {
		blocks = append(blocks, mustAlloc(t, p, 100*kib))
	}
	stream := b.dev.Default()
	require.NoError(t, stream.Fill(blocks[3].Addr, device.Pattern{Value: 1, WidthBytes: 1}, 10))
	require.NoError(t, p.Free(blocks[3].Addr, stream))
	done := device.Go("alloc", func() { mustAlloc(t, p, 100*kib) })
	for b.dev.Calls(devicetest.EventSynchronize) == 0 {
		runtime.Gosched()
	}
	stream.Release()
	<-done
	quiet(t, b.bench, p)
	require.Empty(t, b.reports())
}

// A freed block is unchanged until the work that was queued at its free has completed,
// and its stream does not get it before.
func TestDebugWaitsForQueuedWork(t *testing.T) {
	b := newDebugBench(devicetest.Config{Manual: true})
	p := b.pool(t, withDebug(DebugAll))
	stream := b.dev.Default()
	block := mustAlloc(t, p, 512)
	require.NoError(t, stream.Fill(block.Addr, device.Pattern{Value: 0x11, WidthBytes: 1}, 512))
	require.NoError(t, p.Free(block.Addr, stream))
	next := mustAlloc(t, p, 512)
	require.NotEqual(t, block.Addr, next.Addr)
	require.Equal(t, bytes.Repeat([]byte{memcheck.FreshByte}, 512), b.dev.Bytes(block.Addr, 512))
	// The work writes beyond the end of the block after its free.
	require.NoError(t, stream.Fill(block.Addr+512, device.Pattern{Value: 0x22, WidthBytes: 1}, 1))
	err := p.Free(block.Addr, stream)
	require.ErrorIs(t, err, device.CodeDoubleFree)
	require.ErrorContains(t, err, "is still in use by queued work")
	require.NoError(t, p.Free(next.Addr, stream))
	b.reports()
	stream.Release()
	p.CompleteFrees()
	text := b.reports()
	require.Contains(t, text, "the byte at 512, 0 after its end, is 0x22")
	require.Contains(t, text, "seen after the work that was queued at its free")
	require.Equal(t, bytes.Repeat([]byte{memcheck.FreedByte}, 512), b.dev.Bytes(block.Addr, 512))
	quiet(t, b.bench, p)
}

func TestDebugChecksOnDemandAndAtTheEnd(t *testing.T) {
	b := newDebugBench(devicetest.Config{})
	p := b.pool(t, withDebug(DebugAll))
	live, freed := mustAlloc(t, p, 100), mustAlloc(t, p, 100)
	require.NoError(t, p.Free(freed.Addr, nil))
	require.NoError(t, p.Check())
	b.write(t, live.Addr-1, 1)
	b.write(t, freed.Addr, 1)
	require.ErrorIs(t, p.Check(), device.CodeCorrupted)
	require.Equal(t, 2, strings.Count(b.reports(), "seen by a check"))
	require.NoError(t, p.Check())
	b.write(t, live.Addr-1, 1)
	require.ErrorIs(t, p.Close(false), device.CodeBusy)
	require.NoError(t, p.Close(true))
	require.Contains(t, b.reports(), "seen when its pool was destroyed")
	require.NoError(t, newBench(devicetest.Config{}, engine.Options{}).pool(t, nil).Check(), "a pool without debug mode has nothing to check")
}

// The option of the engine enables debug mode in every pool.
func TestDebugIsEnabledByTheEngine(t *testing.T) {
	b := newBench(devicetest.Config{Backed: true}, engine.Options{Debug: DebugPoison})
	p := b.pool(t, withDebug(DebugRedZones))
	require.Equal(t, DebugPoison|DebugRedZones, p.Config().Debug)
	block := mustAlloc(t, p, 10)
	require.Equal(t, bytes.Repeat([]byte{memcheck.FreshByte}, 10), b.dev.Bytes(block.Addr, 10))
	require.NoError(t, p.Free(block.Addr, nil))
	require.Equal(t, bytes.Repeat([]byte{memcheck.FreedByte}, 10), b.dev.Bytes(block.Addr, 10))
	require.Equal(t, p.Statistics().Active.Current, uint64(0), "without quarantine it is free at once")
	quiet(t, b, p)
}

func TestDebugZonesFitIntoFixedBlocks(t *testing.T) {
	b := newDebugBench(devicetest.Config{})
	p := b.pool(t, func(c *Config) {
		c.Strategy, c.FixedBlockBytes, c.Debug = "fixed", 4*kib, DebugAll
	})
	for range 20 {
		mustAlloc(t, p, 4*kib)
	}
	_, err := p.Alloc(Request{SizeBytes: 4*kib + 200})
	require.ErrorIs(t, err, device.CodeInvalidSize)
	quiet(t, b.bench, p)
}

// Threads allocate, free, check and trim at the same time; run with -race.
func TestDebugFromManyThreads(t *testing.T) {
	b := newDebugBench(devicetest.Config{TotalBytes: 1 << 30})
	p := b.pool(t, withDebug(DebugAll&^DebugCallSites))
	failures := make(chan error, 8)
	var workers []<-chan struct{}
	for worker := range 4 {
		workers = append(workers, device.Go("test", func() {
			for round := range 100 {
				addrs := make([]device.Addr, worker+1)
				err := p.AllocBatch(Request{SizeBytes: uint64(100 + round)}, addrs)
				for _, addr := range addrs {
					err = errors.Join(err, b.dev.SetBytes(addr, bytes.Repeat([]byte{byte(worker)}, 100+round)))
				}
				if round%10 == 0 {
					_, trimmed := p.Trim(0)
					err = errors.Join(err, trimmed, p.Check())
				}
				if err = errors.Join(err, p.FreeBatch(addrs, nil)); err != nil {
					failures <- err
					return
				}
			}
		}))
	}
	for _, done := range workers {
		<-done
	}
	close(failures)
	require.NoError(t, <-failures)
	quiet(t, b.bench, p)
	require.Empty(t, b.reports())
}
