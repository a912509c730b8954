package pool

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/core/device/devicetest"
	"ferrum_mem/core/engine"
)

// After an error no block waits for the stream; after success all do. Some of the blocks
// belong to thread caches.
func TestAStreamIsRecordedForAllBlocksOrNone(t *testing.T) {
	b := newBench(devicetest.Config{}, engine.Options{})
	p, c, s := cached(t, b, nil)
	addrs := []device.Addr{mustAlloc(t, p, 5000).Addr, c.alloc(0, 1000, 0), mustAlloc(t, p, 7000).Addr, c.alloc(0, 1000, 0)}
	busy(t, s)
	freed := mustAlloc(t, p, 9000).Addr
	require.NoError(t, p.Free(freed, nil))
	for at, wrong := range map[int]device.Addr{0: freed, 2: addrs[0] + 1, 4: 8} {
		list := append(append(append([]device.Addr{}, addrs[:at]...), wrong), addrs[at:]...)
		err := p.RecordStreamBatch(list, s)
		require.Error(t, err)
		require.ErrorContains(t, err, fmt.Sprintf("addresses[%d]: ", at))
		require.ErrorContains(t, err, "pool.record_stream")
	}
	require.False(t, p.heap.streams.anyNamed(), "nothing is recorded")
	cachedFree := c.alloc(0, 1000, 0)
	require.NoError(t, c.free(0, cachedFree, 0))
	err := p.RecordStreamBatch([]device.Addr{addrs[0], cachedFree}, s)
	require.ErrorIs(t, err, device.CodeDoubleFree)
	require.ErrorContains(t, err, "addresses[1]: ")
	require.False(t, p.heap.streams.anyNamed())

	require.NoError(t, p.RecordStreamBatch(append(addrs, addrs[1]), s))
	require.NoError(t, p.RecordStreamBatch(nil, s))
	require.NoError(t, p.FreeBatch(addrs, nil))
	for range 3 {
		for _, size := range []uint64{5000, 1000, 7000} {
			require.NotContains(t, addrs, mustAlloc(t, p, size).Addr)
		}
	}
	require.Equal(t, 4, p.heap.inFlight.Count())
	s.Release()
	p.CompleteFrees()
	require.Zero(t, p.heap.inFlight.Count())
	b.check(t, p)
	require.NoError(t, s.Close())
	require.NoError(t, p.Close(true))
	require.ErrorIs(t, p.RecordStreamBatch(addrs[:1], nil), device.CodeInvalidState)
}

// A list longer than a part is checked as a whole before anything is recorded.
func TestAStreamIsRecordedForALongList(t *testing.T) {
	b := newBench(devicetest.Config{TotalBytes: 1 << 30}, engine.Options{})
	p := b.pool(t, nil)
	s := newStream(t, b)
	addrs := make([]device.Addr, 2*heldBlocks+10)
	require.NoError(t, p.AllocBatch(Request{SizeBytes: 256}, addrs))
	list := append([]device.Addr{}, addrs...)
	list[2*heldBlocks+3]++
	err := p.RecordStreamBatch(list, s)
	require.ErrorIs(t, err, device.CodeInvalidAddress)
	require.ErrorContains(t, err, fmt.Sprintf("addresses[%d]: ", 2*heldBlocks+3))
	require.False(t, p.heap.streams.anyNamed())
	require.NoError(t, p.RecordStreamBatch(addrs, s))
	require.Len(t, p.heap.streams.named, len(addrs))
	require.NoError(t, p.FreeBatch(addrs, nil))
	require.False(t, p.heap.streams.anyNamed())
	require.NoError(t, s.Close())
	quiet(t, b, p)
}

// Blocks of the pool and of a private pool in one list; a stream of a capture too.
func TestAStreamIsRecordedForBlocksOfAGraph(t *testing.T) {
	g := newGraphBench(t, nil)
	outside := g.alloc(t, 8*kib, g.second)
	captured, number := g.begin(t, g.first, 0)
	inside := g.alloc(t, 8*kib, g.first)
	list := []device.Addr{outside.Addr, inside.Addr}
	err := g.pool.RecordStreamBatch(append(list, inside.Addr+1), g.second)
	require.ErrorContains(t, err, "addresses[2]: ")
	private := g.pool.PrivatePools()[0]
	require.False(t, private.heap.streams.anyNamed())
	require.False(t, g.pool.heap.streams.anyNamed())
	require.NoError(t, g.pool.RecordStreamBatch(list, g.first))
	require.True(t, private.heap.streams.anyNamed())
	require.True(t, g.pool.heap.streams.anyNamed())
	g.free(t, outside, g.second)
	g.free(t, inside, g.first)
	require.EqualValues(t, 8*kib, g.info(t, number).ParkedBytes, "a graph uses the block from before")
	require.True(t, captured.End())
	require.NoError(t, g.pool.CaptureEnd(number))
	require.NoError(t, g.pool.CaptureRelease(number, g.first))
	g.end(t)
}
