package inflight

import (
	"ferrum_mem/core/device"
	"ferrum_mem/core/internal/offheap"
)

// loose is the queue of the fences whose stream is not known. They complete in any order.
const loose int32 = 0

// fence is an event for which blocks wait.
type fence struct {
	event device.Event
	// order counts fences over all queues; 0 means that the fence is not in use.
	order uint64
	queue int32
	// first is the first of its links to blocks; count is the number of these links.
	first, count int32
	// waiters is the number of threads that wait on the event. The event stays open for
	// them.
	waiters int32
	// passed is set when the event has completed; done is set when no block waits any
	// more.
	passed, done bool
}

// link connects a block and a fence.
type link struct {
	block, fence int32
	// next and prev are links of the same fence; sibling is a link of the same block.
	next, prev, sibling int32
}

// queue has the fences of one stream.
type queue struct {
	stream device.Stream
	// fences[head:] are in the order of the stream.
	fences []int32
	head   int
	// done is the number of fences behind head for which no block waits any more.
	done  int
	reuse reuseIndex
	used  bool
}

// Blocks has all blocks in flight of an owner. Its methods are not safe for concurrent
// use: the owner's lock guards it.
type Blocks struct {
	count int
	// order counts the fences that were created; passes counts those that have completed.
	order, passes uint64

	fences []fence
	links  table[link]
	blocks table[block]
	queues []queue
	// active has the queues with fences, except loose. cursor is the position at which
	// the next bounded poll starts.
	active   []int32
	cursor   int
	byStream map[device.Stream]int32
	// recent is the queue that was requested last.
	recent int32

	spareFences, spareQueues []int32
	// unusable is set if no stream may reuse a block before its work has completed.
	unusable bool
	// unclosed are events whose Close failed. The next TakeCompleted tries again.
	unclosed []device.Event
	// completed has the blocks that a poll takes in; quota is the number of links that it
	// may still remove.
	completed []Block
	quota     int
	// promisedBlocks and promisedLinks are the space that frees in progress will need.
	promisedBlocks, promisedLinks int
}

// MaxFences is the most fences in the queue of a stream. In a full queue, the last fence
// gets the event of the later free: its blocks and the new ones wait for that one event.
const MaxFences = 4096

// Block is a block in flight as its owner knows it.
type Block struct {
	Addr      device.Addr
	SizeBytes uint64
}

// Fence names a fence, also after it has completed. The zero value names none.
type Fence struct {
	at    int32
	order uint64
}

// IsNone reports whether it names no fence.
func (f Fence) IsNone() bool { return f.order == 0 }

// Init initializes an owner without blocks in flight. reuse states that a stream may
// reuse its own blocks before their work has completed.
func (b *Blocks) Init(reuse bool) {
	b.unusable = !reuse
	b.queues = append(b.queues, queue{used: true})
	b.byStream = make(map[device.Stream]int32)
}

// queueOf returns the queue of a stream, or none.
func (b *Blocks) queueOf(stream device.Stream) int32 {
	if q := &b.queues[b.recent]; q.stream == stream && q.used && b.recent != loose {
		return b.recent
	}
	at, ok := b.byStream[stream]
	if !ok {
		return none
	}
	b.recent = at
	return at
}

// Fence creates a fence with an event at the end of a stream's queue; nil means no
// stream. It owns the event then. It may return a fence for which other blocks already
// wait.
func (b *Blocks) Fence(stream device.Stream, event device.Event) Fence {
	queue := loose
	if stream != nil {
		if queue = b.queueOf(stream); queue == none {
			queue = b.newQueue(stream)
		}
	}
	if q := &b.queues[queue]; queue != loose && len(q.fences)-q.head >= MaxFences {
		if last := q.fences[len(q.fences)-1]; b.postpone(last, event) {
			return Fence{last, b.fences[last].order}
		}
	}
	at := takeSpare(&b.spareFences, &b.fences)
	b.order++
	b.fences[at] = fence{event: event, order: b.order, queue: queue, first: none}
	q := &b.queues[queue]
	q.fences = append(q.fences, at)
	return Fence{at, b.order}
}

// IsOpen reports whether blocks may still be put behind a fence: its event is not known
// to have completed.
func (b *Blocks) IsOpen(f Fence) bool {
	if f.IsNone() {
		return false
	}
	fence := &b.fences[f.at]
	return fence.order == f.order && !fence.done
}

// DropUnused ends a fence for which no block waits.
func (b *Blocks) DropUnused(f Fence) {
	if b.IsOpen(f) && b.fences[f.at].count == 0 {
		b.endFence(f.at)
	}
}

// postpone makes the blocks of a stream's last fence wait for a later event of the
// stream. It returns false if a thread waits on the present event, if that event has
// completed, or if one of the two events does not stand for the end of a queue.
func (b *Blocks) postpone(at int32, event device.Event) bool {
	fence := &b.fences[at]
	if fence.done || fence.passed || fence.waiters > 0 || !inOrder(fence.event) || !inOrder(event) {
		return false
	}
	b.closeEvent(fence)
	fence.event = event
	return true
}

func (b *Blocks) newQueue(stream device.Stream) int32 {
	at := takeSpare(&b.spareQueues, &b.queues)
	q := &b.queues[at]
	q.stream, q.used = stream, true
	b.byStream[stream] = at
	b.active = append(b.active, at)
	b.recent = at
	return at
}

// takeSpare returns the index of an unused element of a table.
func takeSpare[T any](spare *[]int32, table *[]T) int32 {
	if n := len(*spare); n > 0 {
		at := (*spare)[n-1]
		*spare = (*spare)[:n-1]
		return at
	}
	var empty T
	*table = append(*table, empty)
	return int32(len(*table) - 1)
}

// Reserve reserves space for blocks and links, in addition to the promised space. links
// is the number of fences for which the blocks wait, summed over the blocks. If it
// returns CodeResourceExhausted, nothing has changed.
func (b *Blocks) Reserve(blocks, links int) error {
	if err := b.blocks.reserve(b.promisedBlocks + blocks); err != nil {
		return err
	}
	return b.links.reserve(b.promisedLinks + links)
}

// Promise keeps reserved space for blocks that are added later; negative numbers end
// that.
func (b *Blocks) Promise(blocks, links int) {
	b.promisedBlocks += blocks
	b.promisedLinks += links
}

// Promised returns the space that Promise keeps now.
func (b *Blocks) Promised() (blocks, links int) { return b.promisedBlocks, b.promisedLinks }

// Add puts a block behind at least one open fence. The caller has reserved the space.
func (b *Blocks) Add(added Block, fences []Fence) {
	at := b.blocks.take()
	b.blocks.items[at] = block{addr: added.Addr, size: added.SizeBytes, first: none, queue: none}
	for _, fence := range fences {
		b.tie(at, fence.at)
	}
	b.count++
	b.offer(at)
}

// Count returns the number of blocks in flight.
func (b *Blocks) Count() int { return b.count }

// At returns the block with a number that Find returned.
func (b *Blocks) At(number int32) Block {
	block := &b.blocks.items[number]
	return Block{block.addr, block.size}
}

func (b *Blocks) tie(number, fence int32) {
	at := b.links.take()
	behind, block := &b.fences[fence], &b.blocks.items[number]
	b.links.items[at] = link{block: number, fence: fence, next: behind.first, prev: none, sibling: block.first}
	if behind.first != none {
		b.links.items[behind.first].prev = at
	}
	behind.first = at
	behind.count++
	block.first = at
	block.left++
}

// offer adds a block to the index of its stream, if it waits for one stream only.
func (b *Blocks) offer(at int32) {
	if b.unusable {
		return
	}
	if block := &b.blocks.items[at]; block.left == 1 {
		if queue := b.fences[b.links.items[block.first].fence].queue; queue != loose {
			b.queues[queue].reuse.add(b.blocks.items, at)
			block.queue = queue
		}
	}
}

// untie removes a link from its fence and its block.
func (b *Blocks) untie(at int32) {
	l := b.links.items[at]
	if l.prev != none {
		b.links.items[l.prev].next = l.next
	} else {
		b.fences[l.fence].first = l.next
	}
	if l.next != none {
		b.links.items[l.next].prev = l.prev
	}
	b.fences[l.fence].count--
	block := &b.blocks.items[l.block]
	block.left--
	for link := &block.first; ; link = &b.links.items[*link].sibling {
		if *link == at {
			*link = l.sibling
			break
		}
	}
	b.links.put(at)
}

// Drop removes a block, which is no longer in flight. It ends fences for which no block
// waits any more.
func (b *Blocks) Drop(at int32) {
	for block := &b.blocks.items[at]; block.first != none; {
		fence := b.links.items[block.first].fence
		b.untie(block.first)
		if b.fences[fence].count == 0 {
			b.endFence(fence)
		}
	}
	b.forget(at)
}

func (b *Blocks) forget(at int32) {
	block := &b.blocks.items[at]
	if block.queue != none {
		b.queues[block.queue].reuse.remove(b.blocks.items, at)
	}
	b.count--
	b.blocks.put(at)
}

// endFence ends a fence for which no block waits. Its place in the queue may be freed later.
func (b *Blocks) endFence(at int32) {
	b.finish(at)
	q := &b.queues[b.fences[at].queue]
	for last := len(q.fences) - 1; last >= q.head && b.over(q.fences[last]); last-- {
		b.reuseFence(q, q.fences[last])
		q.fences = q.fences[:last]
	}
	if q.done > 32 && q.done*2 > len(q.fences)-q.head {
		kept := q.fences[:0]
		for _, at := range q.fences[q.head:] {
			if b.over(at) {
				b.reuseFence(q, at)
			} else {
				kept = append(kept, at)
			}
		}
		q.fences, q.head = kept, 0
	}
	b.tidy(q)
}

// finish marks a fence for which no block waits.
func (b *Blocks) finish(at int32) {
	b.fences[at].done = true
	b.queues[b.fences[at].queue].done++
	b.closeEvent(&b.fences[at])
}

// over reports whether the place of a fence may be reused.
func (b *Blocks) over(at int32) bool {
	fence := &b.fences[at]
	return fence.done && fence.waiters == 0
}

// closeEvent closes the event of a fence unless a thread waits on it.
func (b *Blocks) closeEvent(fence *fence) {
	if fence.waiters > 0 || fence.event == nil {
		return
	}
	if fence.event.Close() != nil {
		b.unclosed = append(b.unclosed, fence.event)
	}
	fence.event = nil
}

func (b *Blocks) reuseFence(q *queue, at int32) {
	q.done--
	b.fences[at] = fence{}
	b.spareFences = append(b.spareFences, at)
}

// tidy removes finished fences from the front of a queue.
func (b *Blocks) tidy(q *queue) {
	for q.head < len(q.fences) && b.over(q.fences[q.head]) {
		b.reuseFence(q, q.fences[q.head])
		q.head++
	}
	if q.head == len(q.fences) {
		q.fences, q.head = q.fences[:0], 0
	} else if q.head > 32 && q.head*2 > len(q.fences) {
		q.fences = q.fences[:copy(q.fences, q.fences[q.head:])]
		q.head = 0
	}
}

// closeLeft tries again to close events whose Close failed.
func (b *Blocks) closeLeft() {
	kept := b.unclosed[:0]
	for _, event := range b.unclosed {
		if event.Close() != nil {
			kept = append(kept, event)
		}
	}
	clear(b.unclosed[len(kept):])
	b.unclosed = kept
}

// End removes the tables when the owner has ended, unless blocks are in flight. The
// caller frees them when no thread waits for the owner's lock.
func (b *Blocks) End() (tables offheap.Detached) {
	if b.count == 0 {
		tables = append(b.links.detach(), b.blocks.detach()...)
	}
	return tables
}
