package pool

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/core/device/devicetest"
	"ferrum_mem/core/engine"
)

// graphBench is a bench whose streams can capture, with a pool and two streams.
type graphBench struct {
	*bench
	pool          *Pool
	first, second *devicetest.Stream
}

func newGraphBench(t require.TestingT, change func(*Config)) *graphBench {
	b := newBench(devicetest.Config{Capture: true, Backed: true}, engine.Options{})
	g := &graphBench{bench: b, pool: b.pool(t, change)}
	g.first, g.second = b.stream(t), b.stream(t)
	return g
}

func (b *bench) stream(t require.TestingT) *devicetest.Stream {
	made, err := b.dev.NewStream()
	require.NoError(t, err)
	return made.(*devicetest.Stream)
}

// end closes everything, and checks that nothing is left and no forbidden call was made.
func (g *graphBench) end(t require.TestingT) {
	require.Zero(t, g.dev.Forbidden(), "calls that a capture forbids")
	require.NoError(t, g.pool.Close(false))
	require.Zero(t, g.engine.Statistics().Reserved.Current)
	require.Zero(t, g.dev.OpenEvents())
	require.NoError(t, g.first.Close())
	require.NoError(t, g.second.Close())
	require.NoError(t, g.engine.Close())
}

func (g *graphBench) begin(t require.TestingT, stream *devicetest.Stream, shared uint64) (*devicetest.Graph, uint64) {
	captured := stream.BeginCapture()
	number, err := g.pool.CaptureBegin(stream, shared)
	require.NoError(t, err)
	return captured, number
}

func (g *graphBench) alloc(t require.TestingT, size uint64, stream device.Stream) Block {
	block, err := g.pool.Alloc(Request{SizeBytes: size, Stream: stream})
	require.NoError(t, err)
	return block
}

func (g *graphBench) free(t require.TestingT, block Block, stream device.Stream) {
	require.NoError(t, g.pool.Free(block.Addr, stream))
}

func (g *graphBench) info(t require.TestingT, number uint64) GraphInfo {
	info, err := g.pool.CaptureInfo(number)
	require.NoError(t, err)
	return info
}

func overlap(a, b Block) bool {
	return a.Addr < b.Addr+device.Addr(b.SizeBytes) && b.Addr < a.Addr+device.Addr(a.SizeBytes)
}

func TestCaptureAllocatesFromItsPrivatePool(t *testing.T) {
	g := newGraphBench(t, nil)
	outside := g.alloc(t, 8*kib, g.second)
	captured, number := g.begin(t, g.first, 0)
	a := g.alloc(t, 64*kib, g.first)
	g.free(t, a, g.first)
	b := g.alloc(t, 64*kib, g.first)
	require.Equal(t, a.Addr, b.Addr, "the same branch may have it at once")
	// Another stream, which does not capture, gets none of it.
	c := g.alloc(t, 64*kib, g.second)
	require.False(t, overlap(b, c))
	g.free(t, b, g.first)
	d := g.alloc(t, 64*kib, g.second)
	require.False(t, overlap(b, d))
	require.True(t, captured.End())
	require.NoError(t, g.pool.CaptureEnd(number))
	info := g.info(t, number)
	require.False(t, info.Capturing)
	require.EqualValues(t, 1, info.Sharing)
	require.Zero(t, info.LiveBytes)
	require.GreaterOrEqual(t, info.HeldBytes, uint64(64*kib))
	// The memory cannot be taken from the graph while it may run.
	held := g.engine.Statistics().Reserved.Current
	for _, other := range g.pool.PrivatePools() {
		released, err := other.ReleaseCached(1 << 40)
		require.NoError(t, err)
		require.Zero(t, released)
		_, err = other.Trim(0)
		require.NoError(t, err)
		require.Equal(t, info.HeldBytes, other.HeldBytes())
	}
	_, err := g.pool.Trim(0)
	require.NoError(t, err)
	e := g.alloc(t, 64*kib, g.first)
	require.False(t, overlap(b, e), "the capture is over, the graph is not")
	require.LessOrEqual(t, g.engine.Statistics().Reserved.Current, held+mib)

	require.NoError(t, g.pool.CaptureRelease(number, g.first))
	require.Empty(t, g.pool.PrivatePools())
	_, err = g.pool.CaptureInfo(number)
	require.ErrorIs(t, err, device.CodeNotFound)
	for _, block := range []Block{outside, c, d, e} {
		g.free(t, block, g.second)
	}
	g.end(t)
}

// Branches of a capture run concurrently: one branch gets what another has freed only
// after the capture has ended.
func TestBranchesReuseEachOthersBlocksAfterTheCapture(t *testing.T) {
	g := newGraphBench(t, nil)
	captured, number := g.begin(t, g.first, 0)
	fork, err := g.first.RecordEvent()
	require.NoError(t, err)
	require.NoError(t, g.second.WaitEvent(fork))
	require.NoError(t, fork.Close())
	a := g.alloc(t, 64*kib, g.first)
	g.free(t, a, g.first)
	b := g.alloc(t, 64*kib, g.second)
	require.False(t, overlap(a, b))
	// A block that both branches use is available to neither.
	require.NoError(t, g.pool.RecordStream(b.Addr, g.first))
	g.free(t, b, g.second)
	c := g.alloc(t, 64*kib, g.second)
	require.False(t, overlap(b, c))
	d := g.alloc(t, 64*kib, g.first)
	require.Equal(t, a.Addr, d.Addr)
	// A stream outside the capture does not know the captured work.
	g.free(t, c, nil)
	e := g.alloc(t, 64*kib, g.second)
	require.False(t, overlap(c, e) || overlap(b, e) || overlap(d, e))
	require.True(t, captured.End())
	require.NoError(t, g.pool.CaptureEnd(number))
	g.free(t, d, g.first)
	g.free(t, e, g.second)

	// The next capture with the same private pool may use all of it.
	held := g.info(t, number).HeldBytes
	again, other := g.begin(t, g.second, number)
	f := g.alloc(t, 256*kib, g.second)
	require.EqualValues(t, 2, g.info(t, other).Sharing)
	require.Equal(t, held, g.info(t, other).HeldBytes)
	g.free(t, f, g.second)
	require.True(t, again.End())
	require.NoError(t, g.pool.CaptureEnd(other))
	require.NoError(t, g.pool.CaptureRelease(number, nil))
	require.Equal(t, held, g.info(t, other).HeldBytes, "one of the two graphs still holds the memory")
	require.NoError(t, g.pool.CaptureRelease(other, nil))
	require.Zero(t, len(g.pool.PrivatePools()))
	g.end(t)
}

// A block from outside that a graph uses stays until the graph is released, whoever frees
// it, and whenever.
func TestBlocksFromOutsideAreParked(t *testing.T) {
	for name, use := range map[string]func(*testing.T, *graphBench, Block){
		"freed on the capturing stream": func(t *testing.T, g *graphBench, b Block) { g.free(t, b, g.first) },
		"with its size": func(t *testing.T, g *graphBench, b Block) {
			require.ErrorIs(t, g.pool.FreeSized(b.Addr, 1, g.first), device.CodeInvalidSize)
			require.NoError(t, g.pool.FreeSized(b.Addr, b.RequestedBytes, g.first))
		},
		"in a batch": func(t *testing.T, g *graphBench, b Block) {
			inside := g.alloc(t, kib, g.first)
			err := g.pool.FreeBatch([]device.Addr{b.Addr, inside.Addr, b.Addr}, g.first)
			require.ErrorIs(t, err, device.CodeDoubleFree)
			require.Contains(t, err.Error(), "addresses[2]")
			require.NoError(t, g.pool.FreeBatch([]device.Addr{b.Addr, inside.Addr}, g.first))
		},
		"recorded for it, freed on another": func(t *testing.T, g *graphBench, b Block) {
			require.NoError(t, g.pool.RecordStream(b.Addr, g.first))
			g.free(t, b, g.second)
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := newGraphBench(t, nil)
			block := g.alloc(t, 64*kib, g.second)
			captured, number := g.begin(t, g.first, 0)
			use(t, g, block)
			require.Equal(t, block.SizeBytes, g.info(t, number).ParkedBytes)
			require.ErrorIs(t, g.pool.Free(block.Addr, g.second), device.CodeDoubleFree)
			require.True(t, captured.End())
			require.NoError(t, g.pool.CaptureEnd(number))
			for range 20 {
				other := g.alloc(t, 64*kib, g.second)
				require.False(t, overlap(block, other))
			}
			g.pool.CompleteFrees()
			require.Equal(t, block.SizeBytes, g.info(t, number).ParkedBytes)
			// The last run is queued on the second stream.
			g.second.Hold()
			require.NoError(t, g.second.HostFunction(func() {}))
			require.NoError(t, g.pool.CaptureRelease(number, g.second))
			require.Len(t, g.pool.PrivatePools(), 1)
			require.False(t, overlap(block, g.alloc(t, 64*kib, g.first)))
			g.second.Release()
			g.pool.CompleteFrees()
			require.Empty(t, g.pool.PrivatePools())
			require.Equal(t, block.Addr, g.alloc(t, 64*kib, g.first).Addr)
			require.Zero(t, g.dev.Forbidden())
			require.NoError(t, g.pool.Close(true))
			require.Zero(t, g.dev.OpenEvents())
		})
	}
}

// A block that RecordStream named for a capture is kept also if it is freed later.
func TestBlockRecordedForAnEndedCaptureIsParked(t *testing.T) {
	g := newGraphBench(t, nil)
	block := g.alloc(t, 64*kib, g.second)
	captured, number := g.begin(t, g.first, 0)
	require.NoError(t, g.pool.RecordStream(block.Addr, g.first))
	require.True(t, captured.End())
	require.NoError(t, g.pool.CaptureEnd(number))
	g.free(t, block, g.second)
	require.Equal(t, block.SizeBytes, g.info(t, number).ParkedBytes)
	require.NoError(t, g.pool.CaptureRelease(number, nil))
	again := g.alloc(t, 64*kib, g.second)
	require.Equal(t, block.Addr, again.Addr)
	// The graph was released.
	require.NoError(t, g.pool.RecordStream(again.Addr, g.first))
	g.free(t, again, g.second)
	g.end(t)
}

// Two graphs use a block: it is freed with the second one.
func TestBlockOfTwoGraphsIsFreedWithTheSecond(t *testing.T) {
	g := newGraphBench(t, nil)
	block := g.alloc(t, 64*kib, nil)
	one, first := g.begin(t, g.first, 0)
	two, second := g.begin(t, g.second, 0)
	require.NoError(t, g.pool.RecordStream(block.Addr, g.second))
	g.free(t, block, g.first)
	require.True(t, one.End())
	require.True(t, two.End())
	for i, number := range []uint64{first, second} {
		require.NoError(t, g.pool.CaptureEnd(number))
		require.False(t, overlap(block, g.alloc(t, 64*kib, nil)), i)
		require.NoError(t, g.pool.CaptureRelease(number, nil))
	}
	require.Equal(t, block.Addr, g.alloc(t, 64*kib, nil).Addr)
	require.NoError(t, g.pool.Close(true))
	require.Zero(t, g.dev.OpenEvents())
}

// Blocks that are live when their graph is released still belong to the program. The
// memory is released with the last of them.
func TestLiveBlocksOutliveTheirGraph(t *testing.T) {
	g := newGraphBench(t, nil)
	captured, number := g.begin(t, g.first, 0)
	output := g.alloc(t, 64*kib, g.first)
	require.True(t, captured.End())
	require.NoError(t, g.pool.CaptureRelease(number, nil))
	require.Len(t, g.pool.PrivatePools(), 1)
	size, err := g.pool.UsableSize(output.Addr)
	require.NoError(t, err)
	require.Equal(t, output.SizeBytes, size)
	owner, found := g.pool.OwnerOf(output.Addr + 5)
	require.True(t, found)
	require.Equal(t, BlockLive, owner.State)
	require.ErrorIs(t, g.pool.Close(false), device.CodeBusy)
	count := 0
	g.pool.EachBlock(func(Block) bool { count++; return true })
	require.Equal(t, 1, count)
	g.free(t, output, g.second)
	g.pool.CompleteFrees()
	require.Empty(t, g.pool.PrivatePools())
	require.ErrorIs(t, g.pool.Free(output.Addr, nil), device.CodeInvalidAddress)
	g.end(t)
}

// An invalidated capture leaves nothing: frees still work, and allocations return the
// reason.
func TestInvalidatedCaptureLeavesNothing(t *testing.T) {
	g := newGraphBench(t, nil)
	outside := g.alloc(t, 64*kib, g.second)
	captured, number := g.begin(t, g.first, 0)
	a, b := g.alloc(t, 64*kib, g.first), g.alloc(t, 64*kib, g.first)
	g.free(t, a, g.first)
	captured.Spoil()
	_, err := g.pool.Alloc(Request{SizeBytes: 1, Stream: g.first})
	require.ErrorIs(t, err, device.CodeInvalidState)
	require.ErrorIs(t, g.pool.AllocBatch(Request{SizeBytes: 1, Stream: g.first}, make([]device.Addr, 2)), device.CodeInvalidState)
	g.free(t, b, g.first)
	g.free(t, outside, g.first)
	require.ErrorIs(t, g.pool.CaptureEnd(number), device.CodeInvalidState)
	require.ErrorIs(t, g.pool.CaptureRelease(number, g.second), device.CodeInvalidState)
	require.False(t, captured.End())
	require.NoError(t, g.pool.CaptureRelease(number, g.first))
	require.Empty(t, g.pool.PrivatePools())
	require.Equal(t, outside.Addr, g.alloc(t, 64*kib, g.second).Addr)
	require.Zero(t, g.dev.Forbidden())
	require.NoError(t, g.pool.Close(true))
	require.Zero(t, g.dev.OpenEvents())
}

func TestInvalidCaptureCallsAreRejected(t *testing.T) {
	g := newGraphBench(t, func(c *Config) { c.MaxSizeBytes = 4 * mib })
	_, err := g.pool.CaptureBegin(g.first, 0)
	require.ErrorIs(t, err, device.CodeInvalidState)
	captured, number := g.begin(t, g.first, 0)
	_, err = g.pool.CaptureBegin(g.first, 0)
	require.ErrorIs(t, err, device.CodeAlreadyExists)
	other := g.second.BeginCapture()
	_, err = g.pool.CaptureBegin(g.second, 77)
	require.ErrorIs(t, err, device.CodeNotFound)
	require.Contains(t, err.Error(), "77")
	// The pool does not know this capture: the free is rejected, and the block stays
	// live.
	block := g.alloc(t, kib, nil)
	require.ErrorIs(t, g.pool.Free(block.Addr, g.second), device.CodeInvalidState)
	require.Equal(t, 1, g.dev.Forbidden(), "the device rejected one query of the capturing stream")
	other.Spoil()
	_, err = g.pool.CaptureBegin(g.second, 0)
	require.ErrorIs(t, err, device.CodeInvalidState)
	other.End()
	for _, wrong := range []uint64{0, number + 1} {
		require.ErrorIs(t, g.pool.CaptureEnd(wrong), device.CodeNotFound)
		require.ErrorIs(t, g.pool.CaptureRelease(wrong, nil), device.CodeNotFound)
	}
	require.ErrorIs(t, g.pool.CaptureEnd(number), device.CodeInvalidState)
	require.ErrorIs(t, g.pool.CaptureRelease(number, nil), device.CodeInvalidState)
	// The bound of the pool also applies to the private pool.
	_, err = g.pool.Alloc(Request{SizeBytes: 5 * mib, Stream: g.first})
	require.ErrorIs(t, err, device.CodeOutOfMemory)
	require.ErrorIs(t, g.pool.Close(false), device.CodeBusy)
	require.ErrorIs(t, g.pool.Close(true), device.CodeInvalidState)
	captured.End()
	require.NoError(t, g.pool.CaptureEnd(number))
	require.ErrorIs(t, g.pool.CaptureEnd(number), device.CodeInvalidState)
	require.NoError(t, g.pool.Close(true))
	_, err = g.pool.CaptureBegin(g.first, 0)
	require.Error(t, err)
	require.Zero(t, g.dev.OpenEvents())

	plain := newBench(devicetest.Config{}, engine.Options{})
	_, err = plain.pool(t, nil).CaptureBegin(nil, 0)
	require.ErrorIs(t, err, device.CodeUnsupported)
	require.Contains(t, err.Error(), "cannot capture")
}

// The program may begin a capture on any of these streams at any moment, also on the
// default stream. No free and no reuse queries a stream.
func TestFreesDoNotQueryStreamsThatMayCapture(t *testing.T) {
	g := newGraphBench(t, nil)
	standard := g.dev.DefaultStream().(*devicetest.Stream)
	streams := []*devicetest.Stream{g.first, g.second, standard}
	for _, s := range streams {
		s.SetMayCapture()
	}
	for _, of := range streams {
		for _, on := range append([]*devicetest.Stream{nil}, streams...) {
			block := g.alloc(t, 4096, of)
			require.NoError(t, g.pool.RecordStream(block.Addr, g.second))
			require.False(t, g.pool.FreeNow(block.Addr))
			if on == nil {
				g.free(t, block, nil)
			} else {
				g.free(t, block, on)
			}
			g.pool.CompleteFrees()
			require.Equal(t, block.Addr, g.alloc(t, 4096, of).Addr)
			require.NoError(t, g.pool.Reset(of))
			g.pool.CompleteFrees()
		}
	}
	require.Zero(t, g.dev.Calls(devicetest.StreamIdle))
	g.end(t)
}

// A pool whose graphs were all released waits for their last run when it is closed, as it
// waits for the work that uses freed blocks.
func TestCloseWaitsForTheLastRunOfReleasedGraphs(t *testing.T) {
	g := newGraphBench(t, nil)
	captured, number := g.begin(t, g.first, 0)
	kept := g.alloc(t, 4096, g.first)
	require.True(t, captured.End())
	require.NoError(t, g.pool.CaptureEnd(number))
	require.ErrorIs(t, g.pool.Close(false), device.CodeBusy, "a graph")
	g.second.Hold()
	captured.Launch(g.second)
	require.NoError(t, g.second.HostFunction(func() {}))
	require.NoError(t, g.pool.CaptureRelease(number, g.second))
	require.ErrorIs(t, g.pool.Close(false), device.CodeBusy, "a live block of the graph")
	g.free(t, kept, g.first)
	require.Len(t, g.pool.PrivatePools(), 1)
	closed := make(chan error, 1)
	go func() { closed <- g.pool.Close(false) }()
	select {
	case err := <-closed:
		require.Fail(t, "it did not wait", "%v", err)
	case <-time.After(20 * time.Millisecond):
	}
	g.second.Release()
	require.NoError(t, <-closed)
	require.Empty(t, g.pool.PrivatePools())
	require.Zero(t, g.engine.Statistics().Reserved.Current)
	require.Zero(t, g.dev.Forbidden())
}
