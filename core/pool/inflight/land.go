package inflight

import (
	"cmp"
	"slices"

	"ferrum_mem/core/device"
)

const (
	// PollBudget bounds the events that an ordinary call asks.
	PollBudget = 4
	// PollAll asks as many as there is any use in.
	PollAll = int(^uint(0) >> 1)
)

// LandBlocks bounds the blocks that are taken in while others wait.
const LandBlocks = 256

// Land takes blocks out whose events have passed, no more than LandBlocks, asking no more than
// budget events: they are in flight no longer. More says that there may be others. The
// slice is good until the next call.
func (b *Blocks) Land(budget int) (landed []Block, more bool) {
	b.landed, b.quota = b.landed[:0], LandBlocks
	if len(b.unclosed) > 0 {
		b.closeLeft()
	}
	if q := &b.queues[loose]; len(q.fences) > q.head {
		// Half of a bounded look is for the streams.
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
	return b.landed, b.quota == 0
}

// pollStream asks the fences of a stream from the oldest on until one has not
// passed, and gives what is left of the budget.
func (b *Blocks) pollStream(q *queue, budget int) int {
	for b.tidy(q); budget > 0 && q.head < len(q.fences); b.tidy(q) {
		at := q.fences[q.head]
		if b.fences[at].done {
			// A thread that waited on it has yet to come back.
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

// pollLoose asks fences that pass in any order; those that have not go to the
// end, so that a bounded look comes round to all of them.
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

// pass ends a fence whose event has passed: blocks that waited for nothing else
// have landed. False: there are more of them than may be taken in now.
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
			b.landed = append(b.landed, b.At(number))
			b.forget(number)
		} else {
			b.offer(number)
		}
	}
	b.passes++
	b.finish(at)
	return true
}

// retireQueue puts an empty queue aside.
func (b *Blocks) retireQueue(cursor int) {
	at := b.active[cursor]
	q := &b.queues[at]
	delete(b.byStream, q.stream)
	q.stream, q.used = nil, false
	b.spareQueues = append(b.spareQueues, at)
	// The others keep their order: a look that goes round meets each of them.
	b.active = slices.Delete(b.active, cursor, cursor+1)
	if b.recent == at {
		b.recent = loose
	}
}

// Passes counts the fences that have passed.
func (b *Blocks) Passes() uint64 { return b.passes }

// Wait is a wait of one thread for a fence.
type Wait struct {
	// Event is to be waited for without the owner's lock; it stays open until EndWait.
	Event device.Event
	// Several says that others could be waited for.
	Several bool
	fence   int32
}

// BeginWait begins a wait for a fence, the oldest in the first round and the others in
// turns. False: there is none that can be waited for.
func (b *Blocks) BeginWait(round int) (w Wait, ok bool) {
	at, several := b.toWaitFor(round)
	if at == none {
		return Wait{}, false
	}
	b.fences[at].waiters++
	return Wait{b.fences[at].event, several, at}, true
}

// EndWait ends it. Where the event has passed the next Land takes in what waited for it.
func (b *Blocks) EndWait(w Wait, passed bool) {
	fence := &b.fences[w.fence]
	fence.passed = fence.passed || passed
	fence.waiters--
	if fence.done {
		b.closeEvent(fence)
	}
}

// toWaitFor is the fence to wait for in a round, the oldest first, and whether
// there are others.
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
