package inflight

import (
	"ferrum_mem/core/device"
	"ferrum_mem/core/internal/offheap"
)

// loose is the queue of fences whose stream is not known, which pass in any
// order.
const loose int32 = 0

// fence is an event that blocks wait for.
type fence struct {
	event device.Event
	// order counts fences over all queues; 0: the fence is not in use.
	order uint64
	queue int32
	// first of the links to its blocks, of which there are count.
	first, count int32
	// waiters is how many threads wait on the event, which stays open for them.
	waiters int32
	// passed says that the event has, and done that no block waits any more.
	passed, done bool
}

// link ties a block to a fence.
type link struct {
	block, fence int32
	// next and prev are of the same fence, sibling of the same block.
	next, prev, sibling int32
}

// queue is the fences of one stream.
type queue struct {
	stream device.Stream
	// fences[head:] are in the order of the stream.
	fences []int32
	head   int
	// done counts those behind head that nothing waits for any more.
	done  int
	reuse reuseIndex
	used  bool
}

// Blocks is all blocks in flight of an owner. Its methods are not safe for concurrent
// use: the owner's lock guards it.
type Blocks struct {
	count int
	// order counts fences that were made, passes those that have passed.
	order, passes uint64

	fences []fence
	links  table[link]
	blocks table[block]
	queues []queue
	// active is the queues with fences, but for the loose one; cursor is where a
	// bounded look starts.
	active   []int32
	cursor   int
	byStream map[device.Stream]int32
	// recent is the queue that was asked for last.
	recent int32

	spareFences, spareQueues []int32
	// unusable says that no stream may have a block before its work is done.
	unusable bool
	// unclosed are events that could not be closed yet.
	unclosed []device.Event
	// landed is the blocks that a look takes in, and quota how many ties it may still undo.
	landed []Block
	quota  int
	// promisedBlocks and promisedLinks are room that frees which are under way will need.
	promisedBlocks, promisedLinks int
}

// MaxFences bounds the fences of a stream's queue. What comes behind a queue that is
// full waits with its last blocks: one event for all of them, the latest.
const MaxFences = 4096

// Block is a block in flight as its owner knows it.
type Block struct {
	Addr      device.Addr
	SizeBytes uint64
}

// Fence names a fence, also when it has passed; the zero value names none.
type Fence struct {
	at    int32
	order uint64
}

// IsNone says that it names no fence.
func (f Fence) IsNone() bool { return f.order == 0 }

// Init makes an owner without a block in flight; reuse says that a stream may have its own
// blocks before their work is done.
func (b *Blocks) Init(reuse bool) {
	b.unusable = !reuse
	b.queues = append(b.queues, queue{used: true})
	b.byStream = make(map[device.Stream]int32)
}

// queueOf is the queue of a stream, or none.
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

// Fence makes a fence of an event, which it owns from then on, at the end of
// a stream's queue; nil: of no queue. It may be one that others wait for too.
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

// IsOpen says that more blocks may be put behind a fence: its event is not known to have
// passed.
func (b *Blocks) IsOpen(f Fence) bool {
	if f.IsNone() {
		return false
	}
	fence := &b.fences[f.at]
	return fence.order == f.order && !fence.done
}

// DropUnused lets go of a fence that no block waits for.
func (b *Blocks) DropUnused(f Fence) {
	if b.IsOpen(f) && b.fences[f.at].count == 0 {
		b.letGo(f.at)
	}
}

// postpone has the blocks of a stream's last fence wait for a later event of the stream
// instead; false: somebody waits on the present one, or it has passed, or one of them
// does not stand for the end of a queue.
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

// takeSpare gives a place of a table that is not in use.
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

// Reserve has room for blocks that wait for so many fences together, besides what is
// promised, or changes nothing: CodeResourceExhausted.
func (b *Blocks) Reserve(blocks, links int) error {
	if err := b.blocks.reserve(b.promisedBlocks + blocks); err != nil {
		return err
	}
	return b.links.reserve(b.promisedLinks + links)
}

// Promise keeps room that was reserved for blocks that come later; negative numbers end
// that.
func (b *Blocks) Promise(blocks, links int) {
	b.promisedBlocks += blocks
	b.promisedLinks += links
}

// Promised is what Promise keeps now.
func (b *Blocks) Promised() (blocks, links int) { return b.promisedBlocks, b.promisedLinks }

// Add puts a block behind fences that are open, of which there is one at least. There is
// room.
func (b *Blocks) Add(added Block, fences []Fence) {
	at := b.blocks.take()
	b.blocks.items[at] = block{addr: added.Addr, size: added.SizeBytes, first: none, queue: none}
	for _, fence := range fences {
		b.tie(at, fence.at)
	}
	b.count++
	b.offer(at)
}

// Count is how many blocks are in flight.
func (b *Blocks) Count() int { return b.count }

// At is the block of a number that Find gave.
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

// offer enters a block in the index of the one stream that it still waits for.
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

// untie takes a link out of its fence and its block.
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

// Drop takes a block out: it is in flight no more. Fences that nothing waits
// for any longer are let go.
func (b *Blocks) Drop(at int32) {
	for block := &b.blocks.items[at]; block.first != none; {
		fence := b.links.items[block.first].fence
		b.untie(block.first)
		if b.fences[fence].count == 0 {
			b.letGo(fence)
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

// letGo ends a fence that no block waits for; its place in the queue may go
// later.
func (b *Blocks) letGo(at int32) {
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

// finish marks a fence that no block waits for.
func (b *Blocks) finish(at int32) {
	b.fences[at].done = true
	b.queues[b.fences[at].queue].done++
	b.closeEvent(&b.fences[at])
}

// over says that a fence's place may be used again.
func (b *Blocks) over(at int32) bool {
	fence := &b.fences[at]
	return fence.done && fence.waiters == 0
}

// closeEvent closes the event of a fence unless somebody waits on it.
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

// tidy takes fences that are done off the front of a queue.
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

// closeLeft tries again to close events that could not be closed.
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

// End takes the tables out when the owner has ended, unless blocks are in flight; the
// caller gives them back when nobody waits for the owner's lock.
func (b *Blocks) End() (tables offheap.Detached) {
	if b.count == 0 {
		tables = append(b.links.detach(), b.blocks.detach()...)
	}
	return tables
}
