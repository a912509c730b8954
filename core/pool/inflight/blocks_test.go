package inflight

import (
	"testing"

	"github.com/stretchr/testify/require"

	"ferrum_mem/core/device"
	"ferrum_mem/core/internal/offheap"
)

// The queue of a stream that does not progress keeps its fence; the fences of later
// blocks are reused.
func TestTablesDoNotGrowWhileAStreamIsBlocked(t *testing.T) {
	var b Blocks
	b.Init(true)
	s := &queueOfWork{}
	free := func(addr device.Addr, size uint64) {
		require.NoError(t, b.Reserve(1, 1))
		b.Add(Block{addr, size}, []Fence{b.Fence(s, s.record())})
	}
	free(0, 100<<10)
	free(1<<20, 4096)
	for range 2000 {
		free(2<<20, 4096)
		number, found := b.Find(s, Want{SizeBytes: 4096, AlignBytes: 1, Excess: Exactly})
		require.True(t, found)
		b.Drop(number)
	}
	require.LessOrEqual(t, len(b.fences), 80)
	require.LessOrEqual(t, len(b.blocks.items), 4)
	require.Equal(t, 2, b.Count())
}

// In a full queue, the newest blocks wait for one event, the latest.
func TestFencesOfAQueueAreBounded(t *testing.T) {
	var b Blocks
	b.Init(true)
	s := &queueOfWork{}
	const count = 3 * MaxFences
	require.NoError(t, b.Reserve(count, count))
	for i := range count {
		b.Add(Block{device.Addr(i) << 12, 4096}, []Fence{b.Fence(s, s.record())})
	}
	require.Len(t, b.fences, MaxFences)
	open := 0
	for _, e := range s.events {
		if !e.closed {
			open++
		}
	}
	require.Equal(t, MaxFences, open)
	s.run(count - 1)
	completed := landAll(&b)
	require.Equal(t, MaxFences-1, completed, "the others wait for the last event")
	s.run(1)
	require.Equal(t, count-MaxFences+1, landAll(&b))
	require.Zero(t, b.Count())
}

func landAll(b *Blocks) (blocks int) {
	for more := true; more; {
		var completed []Block
		completed, more = b.TakeCompleted(PollAll)
		blocks += len(completed)
	}
	return blocks
}

// A poll that begins in the middle, and in which a queue becomes empty, queries all
// others.
func TestFullPollQueriesEveryStream(t *testing.T) {
	for first := range 3 {
		var b Blocks
		b.Init(true)
		streams := []*queueOfWork{{}, {}, {}}
		require.NoError(t, b.Reserve(6, 6))
		for i, s := range streams {
			b.Add(Block{device.Addr(2*i) * 64, 64}, []Fence{b.Fence(s, s.record())})
			b.Add(Block{device.Addr(2*i+1) * 64, 64}, []Fence{b.Fence(s, s.record())})
		}
		b.cursor = first
		// The stream that is queried second is the only one whose work has completed.
		done := 0
		for i, s := range streams {
			work := 1
			if i == (first+1)%3 {
				work = 2
			}
			s.run(work)
			done += work
		}
		completed, more := b.TakeCompleted(PollAll)
		require.False(t, more)
		require.Len(t, completed, done, "begun at %d", first)
	}
}

func TestOnePollTakesInABoundedNumberOfBlocks(t *testing.T) {
	var b Blocks
	b.Init(true)
	s := &queueOfWork{}
	const count = 3*CompletedMost + 5
	require.NoError(t, b.Reserve(count, count))
	f := b.Fence(s, s.record())
	for i := range count {
		b.Add(Block{device.Addr(i) << 12, 4096}, []Fence{f})
	}
	s.run(1)
	for left := count; left > 0; left -= CompletedMost {
		completed, more := b.TakeCompleted(PollBudget)
		require.Len(t, completed, min(left, CompletedMost))
		require.Equal(t, left >= CompletedMost, more)
		require.Equal(t, left > CompletedMost, b.IsOpen(f))
	}
}

// A wait keeps its event open, whatever is taken in meanwhile.
func TestEventStaysOpenDuringAWait(t *testing.T) {
	var b Blocks
	b.Init(true)
	s, other := &queueOfWork{}, &queueOfWork{}
	_, ok := b.BeginWait(0)
	require.False(t, ok, "nothing is in flight")
	require.NoError(t, b.Reserve(2, 2))
	first, second := s.record(), other.record()
	b.Add(Block{0, 64}, []Fence{b.Fence(s, first)})
	b.Add(Block{64, 64}, []Fence{b.Fence(other, second)})
	oldest, ok := b.BeginWait(0)
	require.True(t, ok)
	require.True(t, oldest.Several)
	require.Same(t, first, oldest.Event)
	next, ok := b.BeginWait(1)
	require.True(t, ok)
	require.Same(t, second, next.Event)
	s.run(1)
	completed, _ := b.TakeCompleted(PollAll)
	require.Equal(t, []Block{{0, 64}}, completed)
	require.EqualValues(t, 1, b.Passes())
	require.False(t, first.closed, "a thread waits for it")
	b.EndWait(oldest, true)
	require.True(t, first.closed)
	b.EndWait(next, false)
	require.False(t, second.closed)
	completed, _ = b.TakeCompleted(PollAll)
	require.Empty(t, completed)
	// The result of a wait is used: the event is not queried again.
	next, ok = b.BeginWait(0)
	require.True(t, ok)
	b.EndWait(next, true)
	completed, _ = b.TakeCompleted(PollAll)
	require.Equal(t, []Block{{64, 64}}, completed)
	require.True(t, second.closed)
}

func TestWithoutReuseNoStreamGetsABlockInFlight(t *testing.T) {
	var b Blocks
	b.Init(false)
	s := &queueOfWork{}
	require.NoError(t, b.Reserve(1, 1))
	b.Add(Block{0, 64}, []Fence{b.Fence(s, s.record())})
	_, found := b.Find(s, Want{SizeBytes: 64, AlignBytes: 1})
	require.False(t, found)
}

// Promised space is not used by others.
func TestPromisedSpaceIsNotUsedByOthers(t *testing.T) {
	var b Blocks
	b.Init(true)
	require.NoError(t, b.Reserve(5, 7))
	b.Promise(5, 7)
	require.NoError(t, b.Reserve(1000, 1000))
	require.GreaterOrEqual(t, cap(b.blocks.items), 1005)
	require.GreaterOrEqual(t, cap(b.links.items), 1007)
	b.Promise(-5, -7)
	blocks, links := b.Promised()
	require.Zero(t, blocks+links)
	b.End().Free()
}

func TestReserveWithoutMemoryChangesNothing(t *testing.T) {
	if !offheap.Pages {
		t.Skip("tables are on the Go heap")
	}
	var b Blocks
	b.Init(true)
	before := offheap.SetLimit(offheap.Mapped())
	defer offheap.SetLimit(before)
	require.ErrorIs(t, b.Reserve(1<<20, 1), device.CodeResourceExhausted)
	require.Zero(t, b.Count())
}
