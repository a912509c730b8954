package pool

import (
	"errors"

	"ferrum_mem/core/device"
	"ferrum_mem/core/internal/offheap"
)

// Blocks in flight. A free behind queued work puts a fence (an event and what
// waits for it) at the end of its stream's queue, and the block behind it; a
// free that several streams have to pass puts the block behind one fence each. A
// block whose last fence is that of one stream stands in that stream's index of
// blocks that an allocation for the same stream may have at once; see reuse.go.
// Fences of a stream pass in their order, so only the first of a queue is asked;
// see poll.go.
//
// All tables are indexed by number and used again, so that nothing is allocated
// in the steady state. Those with an item a block are outside of the Go heap, and
// have room before anything is changed: see reserve. Fences are few: see fenceOn.

// none ends the lists.
const none int32 = -1

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
	flight, fence int32
	// next and prev are of the same fence, sibling of the same block.
	next, prev, sibling int32
}

// flight is a freed block that queued work may still use.
type flight struct {
	addr device.Addr
	size uint64
	// first of its links, of which left are to fences that have not passed.
	first, left int32
	// queue is the stream that may have the block at once, or none; next and
	// prev are of the same class there.
	queue, next, prev int32
}

// flightQueue is the fences of one stream.
type flightQueue struct {
	stream device.Stream
	// fences[head:] are in the order of the stream.
	fences []int32
	head   int
	// done counts those behind head that nothing waits for any more.
	done  int
	reuse reuseIndex
	used  bool
}

// flights is all blocks in flight of a pool, under its lock.
type flights struct {
	count int
	// order counts fences that were made, passes those that have passed.
	order, passes uint64

	fences  []fence
	links   numbered[link]
	flights numbered[flight]
	queues  []flightQueue
	// active is the queues with fences, but for the loose one; cursor is where a
	// bounded look starts.
	active   []int32
	cursor   int
	byStream map[device.Stream]int32
	// recent is the queue that was asked for last.
	recent int32

	spareFences, spareQueues []int32
	// kept says that no stream may have a block before its work is done.
	kept bool
	// unclosed are events that could not be closed yet.
	unclosed []device.Event
	// quota is how many blocks a look may still take in.
	quota int
	// promisedBlocks and promisedLinks are room that frees which are under way will need.
	promisedBlocks, promisedLinks int
}

// maxFences bounds the fences of a stream's queue. What comes behind a queue that is
// full waits with its last blocks: one event for all of them, the latest.
const maxFences = 4096

func (f *flights) init() {
	f.queues = append(f.queues, flightQueue{used: true})
	f.byStream = make(map[device.Stream]int32)
}

// queueOf is the queue of a stream, or none.
func (f *flights) queueOf(stream device.Stream) int32 {
	if q := &f.queues[f.recent]; q.stream == stream && q.used && f.recent != loose {
		return f.recent
	}
	at, ok := f.byStream[stream]
	if !ok {
		return none
	}
	f.recent = at
	return at
}

// fenceOn makes a fence of an event, which it owns from then on, at the end of
// a stream's queue; nil: the loose one. It may be one that others wait for too.
func (f *flights) fenceOn(stream device.Stream, event device.Event) int32 {
	queue := loose
	if stream != nil {
		if queue = f.queueOf(stream); queue == none {
			queue = f.newQueue(stream)
		}
	}
	if q := &f.queues[queue]; queue != loose && len(q.fences)-q.head >= maxFences {
		if last := q.fences[len(q.fences)-1]; f.postpone(last, event) {
			return last
		}
	}
	at := takeSpare(&f.spareFences, &f.fences)
	f.order++
	f.fences[at] = fence{event: event, order: f.order, queue: queue, first: none}
	q := &f.queues[queue]
	q.fences = append(q.fences, at)
	return at
}

// postpone has the blocks of a stream's last fence wait for a later event of the stream
// instead; false: somebody waits on the present one, or it has passed, or one of them
// does not stand for the end of a queue.
func (f *flights) postpone(at int32, event device.Event) bool {
	fence := &f.fences[at]
	if fence.done || fence.passed || fence.waiters > 0 || !inOrder(fence.event) || !inOrder(event) {
		return false
	}
	f.closeEvent(fence)
	fence.event = event
	return true
}

func (f *flights) newQueue(stream device.Stream) int32 {
	at := takeSpare(&f.spareQueues, &f.queues)
	q := &f.queues[at]
	q.stream, q.used = stream, true
	f.byStream[stream] = at
	f.active = append(f.active, at)
	f.recent = at
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

// reserve has room for blocks that wait for so many fences together, besides what is
// promised, or changes nothing: CodeResourceExhausted.
func (f *flights) reserve(blocks, links int) error {
	if err := f.flights.reserve(f.promisedBlocks + blocks); err != nil {
		return err
	}
	return f.links.reserve(f.promisedLinks + links)
}

// promise keeps room that was reserved for blocks that come later; negative numbers end
// that.
func (f *flights) promise(blocks, links int) {
	f.promisedBlocks += blocks
	f.promisedLinks += links
}

// add puts a block behind fences, of which there is one at least. There is room.
func (f *flights) add(l located, fences []int32) {
	at := f.flights.take()
	f.flights.items[at] = flight{addr: l.addr(), size: l.Size, first: none, queue: none}
	for _, fence := range fences {
		f.tie(at, fence)
	}
	f.count++
	f.offer(at)
}

func (f *flights) tie(flight, fence int32) {
	at := f.links.take()
	behind, block := &f.fences[fence], &f.flights.items[flight]
	f.links.items[at] = link{flight: flight, fence: fence, next: behind.first, prev: none, sibling: block.first}
	if behind.first != none {
		f.links.items[behind.first].prev = at
	}
	behind.first = at
	behind.count++
	block.first = at
	block.left++
}

// offer enters a block in the index of the one stream that it still waits for.
func (f *flights) offer(at int32) {
	if f.kept {
		return
	}
	if block := &f.flights.items[at]; block.left == 1 {
		if queue := f.fences[f.links.items[block.first].fence].queue; queue != loose {
			f.queues[queue].reuse.enter(f.flights.items, at)
			block.queue = queue
		}
	}
}

// untie takes a link out of its fence and its block.
func (f *flights) untie(at int32) {
	l := f.links.items[at]
	if l.prev != none {
		f.links.items[l.prev].next = l.next
	} else {
		f.fences[l.fence].first = l.next
	}
	if l.next != none {
		f.links.items[l.next].prev = l.prev
	}
	f.fences[l.fence].count--
	block := &f.flights.items[l.flight]
	block.left--
	for link := &block.first; ; link = &f.links.items[*link].sibling {
		if *link == at {
			*link = l.sibling
			break
		}
	}
	f.links.put(at)
}

// drop takes a block out: it is in flight no more. Fences that nothing waits
// for any longer are let go.
func (f *flights) drop(at int32) {
	for block := &f.flights.items[at]; block.first != none; {
		fence := f.links.items[block.first].fence
		f.untie(block.first)
		if f.fences[fence].count == 0 {
			f.letGo(fence)
		}
	}
	f.forget(at)
}

func (f *flights) forget(at int32) {
	block := &f.flights.items[at]
	if block.queue != none {
		f.queues[block.queue].reuse.leave(f.flights.items, at)
	}
	f.count--
	f.flights.put(at)
}

// letGo ends a fence that no block waits for; its place in the queue may go
// later.
func (f *flights) letGo(at int32) {
	f.finish(at)
	q := &f.queues[f.fences[at].queue]
	for last := len(q.fences) - 1; last >= q.head && f.over(q.fences[last]); last-- {
		f.reuseFence(q, q.fences[last])
		q.fences = q.fences[:last]
	}
	if q.done > 32 && q.done*2 > len(q.fences)-q.head {
		kept := q.fences[:0]
		for _, at := range q.fences[q.head:] {
			if f.over(at) {
				f.reuseFence(q, at)
			} else {
				kept = append(kept, at)
			}
		}
		q.fences, q.head = kept, 0
	}
	f.tidy(q)
}

// finish marks a fence that no block waits for.
func (f *flights) finish(at int32) {
	f.fences[at].done = true
	f.queues[f.fences[at].queue].done++
	f.closeEvent(&f.fences[at])
}

// over says that a fence's place may be used again.
func (f *flights) over(at int32) bool {
	fence := &f.fences[at]
	return fence.done && fence.waiters == 0
}

// closeEvent closes the event of a fence unless somebody waits on it.
func (f *flights) closeEvent(fence *fence) {
	if fence.waiters > 0 || fence.event == nil {
		return
	}
	if fence.event.Close() != nil {
		f.unclosed = append(f.unclosed, fence.event)
	}
	fence.event = nil
}

func (f *flights) reuseFence(q *flightQueue, at int32) {
	q.done--
	f.fences[at] = fence{}
	f.spareFences = append(f.spareFences, at)
}

// tidy takes fences that are done off the front of a queue.
func (f *flights) tidy(q *flightQueue) {
	for q.head < len(q.fences) && f.over(q.fences[q.head]) {
		f.reuseFence(q, q.fences[q.head])
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
func (f *flights) closeLeft() {
	kept := f.unclosed[:0]
	for _, event := range f.unclosed {
		if event.Close() != nil {
			kept = append(kept, event)
		}
	}
	clear(f.unclosed[len(kept):])
	f.unclosed = kept
}

// passAll waits for events, and closes them; false: one could not be waited for.
func passAll(events []device.Event) bool {
	all := true
	for _, event := range events {
		err := event.Synchronize(device.Forever)
		all = all && (err == nil || errors.Is(err, device.CodeDeviceLost))
		// What is left of it is the device's.
		_ = event.Close()
	}
	return all
}

// end takes the tables out of a pool that is closed, unless blocks are in flight; the
// caller gives them back when nobody waits for mu.
func (f *flights) end() (tables offheap.Detached) {
	if f.count == 0 {
		tables = append(f.links.detach(), f.flights.detach()...)
	}
	return tables
}

// passed asks whether an event has passed. One that cannot be asked has not;
// those of a lost device have: no work uses the memory any more.
func passed(event device.Event) bool {
	done, err := event.Done()
	return done || errors.Is(err, device.CodeDeviceLost)
}
