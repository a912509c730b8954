package pool

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/core/device/devicetest"
)

// Threads capture, run and release graphs beside others that allocate, free and trim.
func TestGraphsOfManyThreads(t *testing.T) {
	g := newGraphBench(t, nil)
	var all sync.WaitGroup
	thread := func(rounds int, body func(round int, s *devicetest.Stream)) {
		s := g.stream(t)
		all.Add(1)
		go func() {
			defer all.Done()
			for round := range rounds {
				body(round, s)
			}
			assert.NoError(t, s.Close())
		}()
	}
	for range 3 {
		thread(30, func(round int, s *devicetest.Stream) {
			outside, err := g.pool.Alloc(Request{SizeBytes: 4 * kib, Stream: s})
			assert.NoError(t, err)
			captured := s.BeginCapture()
			number, err := g.pool.CaptureBegin(s, 0)
			assert.NoError(t, err)
			var inside [4]device.Addr
			assert.NoError(t, g.pool.AllocBatch(Request{SizeBytes: 8 * kib, Stream: s}, inside[:]))
			for _, addr := range inside {
				assert.NoError(t, s.Fill(addr, device.Pattern{Value: uint64(round), WidthBytes: 1}, 8*kib))
			}
			assert.NoError(t, g.pool.FreeBatch(inside[:3], s))
			assert.NoError(t, g.pool.Free(outside.Addr, s))
			assert.True(t, captured.End())
			assert.NoError(t, g.pool.CaptureEnd(number))
			captured.Launch(s)
			assert.NoError(t, g.pool.Free(inside[3], s))
			info, err := g.pool.CaptureInfo(number)
			assert.NoError(t, err)
			assert.EqualValues(t, 4*kib, info.ParkedBytes)
			assert.NoError(t, g.pool.CaptureRelease(number, s))
		})
	}
	for range 2 {
		thread(150, func(round int, s *devicetest.Stream) {
			block, err := g.pool.Alloc(Request{SizeBytes: 4 * kib, Stream: s})
			if assert.NoError(t, err) {
				assert.NoError(t, g.pool.RecordStream(block.Addr, s))
				assert.NoError(t, g.pool.Free(block.Addr, s))
			}
			switch round % 8 {
			case 0:
				_, err = g.pool.Trim(0)
				assert.NoError(t, err)
			case 4:
				g.pool.Statistics()
				g.pool.EachBlock(func(Block) bool { return true })
			}
		})
	}
	all.Wait()
	g.pool.CompleteFrees()
	require.Empty(t, g.pool.PrivatePools())
	g.check(t, g.pool)
	g.end(t)
}

// Each call of the device fails once, at every point in the life of a graph: it can be
// repeated, and nothing is lost.
func TestFailedCallsOfAGraphCanBeRepeated(t *testing.T) {
	for n := 1; ; n++ {
		g := newGraphBench(t, nil)
		g.dev.FailNth(devicetest.Any, n, nil)
		again := func(call func() error) {
			if call() != nil {
				require.NoError(t, call(), "the call %d failed", n)
			}
		}
		var out, inside, other Block
		alloc := func(to *Block, s device.Stream) {
			again(func() (err error) {
				*to, err = g.pool.Alloc(Request{SizeBytes: 64 * kib, Stream: s})
				return err
			})
		}
		alloc(&out, g.first)
		alloc(&other, g.second)
		captured := g.first.BeginCapture()
		var number uint64
		again(func() (err error) { number, err = g.pool.CaptureBegin(g.first, 0); return err })
		alloc(&inside, g.first)
		again(func() error { return g.pool.RecordStream(other.Addr, g.first) })
		again(func() error { return g.pool.Free(out.Addr, g.first) })
		again(func() error { return g.pool.Free(other.Addr, g.second) })
		again(func() error { return g.pool.Free(inside.Addr, g.first) })
		captured.End()
		again(func() error { return g.pool.CaptureEnd(number) })
		again(func() error { return g.pool.CaptureRelease(number, g.second) })
		left := g.dev.ClearFaults()
		g.pool.CompleteFrees()
		require.Empty(t, g.pool.PrivatePools(), "the call %d failed", n)
		g.check(t, g.pool)
		g.end(t)
		if left > 0 {
			return
		}
	}
}
