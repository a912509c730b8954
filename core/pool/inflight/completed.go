package inflight

import (
	"cmp"
	"slices"

	"ferrum_mem/core/device"
)

const (
	// PollBudget is the most events that an ordinary call queries.
	PollBudget = 4
	// PollAll is a budget without a bound.
	PollAll = int(^uint(0) >> 1)
)

// CompletedMost is the most blocks that are taken in while other threads wait.
const CompletedMost = 256

// TakeCompleted removes blocks whose events have completed: at most CompletedMost of them,
// with at most budget queries of events. more is set if there may be others. The slice is
// valid until the next call.
func (b *Blocks) TakeCompleted(budget int) (completed []Block, more bool) {
	b.completed, b.quota = b.completed[:0], CompletedMost
	if len(b.unclosed) > 0 {
		b.closeLeft()
	}
	if q := &b.queues[loose]; len(q.fences) > q.head {
		// Half of a bounded poll is reserved for the streams.
		share := budget
		if budget == PollBudget && len(b.active) > 0 {
			share = budget / 2
		}
		budget -= share - b.pollLoose(share)
	}
	for visits := len(b.active); visits > 0 && budget > 0 && len(b.active) > 0; visits-- {
		b.cursor %= len(b.active)
		at := b.active[b.cursor]
		budget = b.pollStream(&b.queues[at], budget)
		if q := &b.queues[at]; q.head == len(q.fences) {
			b.retireQueue(b.cursor)
		} else {
			b.cursor++
		}
	}
	return b.completed, b.quota == 0
}

// pollStream queries the fences of a stream, the oldest first, until one has not
// completed. It returns the rest of the budget.
func (b *Blocks) pollStream(q *queue, budget int) int {
	for b.tidy(q); budget > 0 && q.head < len(q.fences); b.tidy(q) {
		at := q.fences[q.head]
		if b.fences[at].done {
			// A thread that waited on this fence has not returned yet.
			break
		}
		if !b.fences[at].passed {
			budget--
			if !Passed(b.fences[at].event) {
				break
			}
		}
		if !b.pass(at) {
			return 0
		}
	}
	return budget
}

// pollLoose queries fences that complete in any order. It moves those that have not
// completed to the end, so that repeated bounded polls reach all of them.
func (b *Blocks) pollLoose(budget int) int {
	q := &b.queues[loose]
	for looks := len(q.fences) - q.head; looks > 0 && budget > 0 && q.head < len(q.fences); looks-- {
		at := q.fences[q.head]
		if !b.fences[at].done {
			if !b.fences[at].passed {
				budget--
			}
			if (b.fences[at].passed || Passed(b.fences[at].event)) && !b.pass(at) {
				return 0
			}
		}
		if fence := &b.fences[at]; !fence.done || fence.waiters > 0 {
			q.fences[q.head] = none
			q.head++
			q.fences = append(q.fences, at)
		}
		b.tidy(q)
	}
	return budget
}

// pass ends a fence whose event has completed, and takes in the blocks that waited for
// nothing else. It returns false if there are more such blocks than may be taken in now.
func (b *Blocks) pass(at int32) bool {
	b.fences[at].passed = true
	for b.fences[at].first != none {
		if b.quota == 0 {
			return false
		}
		b.quota--
		tie := b.fences[at].first
		number := b.links.items[tie].block
		b.untie(tie)
		if b.blocks.items[number].left == 0 {
			b.completed = append(b.completed, b.At(number))
			b.forget(number)
		} else {
			b.offer(number)
		}
	}
	b.passes++
	b.finish(at)
	return true
}

// retireQueue makes an empty queue a spare one.
func (b *Blocks) retireQueue(cursor int) {
	at := b.active[cursor]
	q := &b.queues[at]
	delete(b.byStream, q.stream)
	q.stream, q.used = nil, false
	b.spareQueues = append(b.spareQueues, at)
	// The other queues keep their order, so that repeated bounded polls reach each of
	// them.
	b.active = slices.Delete(b.active, cursor, cursor+1)
	if b.recent == at {
		b.recent = loose
	}
}

// Passes returns the number of fences that have completed.
func (b *Blocks) Passes() uint64 { return b.passes }

// Wait is a wait of one thread for a fence.
type Wait struct {
	// Event is the event to wait for, without the owner's lock. It stays open until
	// EndWait.
	Event device.Event
	// Several is set if there are other fences to wait for.
	Several bool
	fence   int32
}

// BeginWait begins a wait for a fence: the oldest one in the first round, the others in
// turn. It returns false if there is no fence that a thread can wait for.
func (b *Blocks) BeginWait(round int) (w Wait, ok bool) {
	at, several := b.toWaitFor(round)
	if at == none {
		return Wait{}, false
	}
	b.fences[at].waiters++
	return Wait{b.fences[at].event, several, at}, true
}

// EndWait ends a wait. If the event has completed, the next TakeCompleted takes in the
// blocks that waited for it.
func (b *Blocks) EndWait(w Wait, passed bool) {
	fence := &b.fences[w.fence]
	fence.passed = fence.passed || passed
	fence.waiters--
	if fence.done {
		b.closeEvent(fence)
	}
}

// toWaitFor returns the fence to wait for in a round, the oldest first, and whether there
// are others.
func (b *Blocks) toWaitFor(round int) (at int32, several bool) {
	var open []int32
	for _, fence := range b.queues[loose].fences[b.queues[loose].head:] {
		if !b.fences[fence].done && isMarked(b.fences[fence].event) {
			open = append(open, fence)
		}
	}
	for _, queue := range b.active {
		q := &b.queues[queue]
		for _, fence := range q.fences[q.head:] {
			if !b.fences[fence].done {
				if isMarked(b.fences[fence].event) {
					open = append(open, fence)
				}
				break
			}
		}
	}
	if len(open) == 0 {
		return none, false
	}
	slices.SortFunc(open, func(x, y int32) int { return cmp.Compare(b.fences[x].order, b.fences[y].order) })
	return open[round%len(open)], len(open) > 1
}
