package pool

import (
	"errors"
	"time"

	"ferrum_mem/core/device"
	"ferrum_mem/core/track"
)

const (
	// pollBudget bounds the events that an ordinary call looks at.
	pollBudget = 8
	// pollAll looks at as many as there is any use in.
	pollAll = int(^uint(0) >> 1)
)

// flight is a freed block that queued work may still use.
type flight struct {
	addr device.Addr
	// events have all to pass.
	events []device.Event
	// order counts frees.
	order uint64
	// waiters is how many threads wait on the events, which stay open for them.
	waiters int
	// passed says that a wait has seen all events pass.
	passed bool
}

// flightQueue is the flights of one stream, which land in their order; or,
// with a nil stream, those after events of any stream, which land in any.
type flightQueue struct {
	stream device.Stream
	// items[head:] are in flight.
	items []*flight
	head  int
}

// flights is all blocks in flight of a pool, under its lock.
type flights struct {
	queues []*flightQueue
	count  int
	order  uint64
	// cursor is the queue that a bounded look starts with.
	cursor int
	// spare and spareQueues are used again.
	spare       []*flight
	spareQueues []*flightQueue
	// unclosed are events that could not be closed yet.
	unclosed []device.Event
}

// push adds a flight behind a stream's event, or behind several events.
func (f *flights) push(addr device.Addr, stream device.Stream, events ...device.Event) {
	var queue *flightQueue
	for _, q := range f.queues {
		if q.stream == stream {
			queue = q
		}
	}
	if queue == nil {
		if n := len(f.spareQueues); n > 0 {
			queue, f.spareQueues = f.spareQueues[n-1], f.spareQueues[:n-1]
		} else {
			queue = &flightQueue{}
		}
		queue.stream = stream
		f.queues = append(f.queues, queue)
	}
	var added *flight
	if n := len(f.spare); n > 0 {
		added, f.spare = f.spare[n-1], f.spare[:n-1]
	} else {
		added = &flight{}
	}
	added.addr, added.order = addr, f.order
	added.events = append(added.events[:0], events...)
	f.order++
	f.count++
	queue.items = append(queue.items, added)
}

// oldest is the flight that was freed first; nil if there is none.
func (f *flights) oldest() *flight {
	var oldest *flight
	for _, q := range f.queues {
		for _, item := range q.items[q.head:] {
			if oldest == nil || item.order < oldest.order {
				oldest = item
			}
			if q.stream != nil {
				break
			}
		}
	}
	return oldest
}

// land takes in freed blocks whose events have passed, looking at no more than
// budget events. The caller holds mu.
func (p *Pool) land(budget int) {
	f := &p.flights
	f.closeLeft()
	for visits := len(f.queues); visits > 0 && budget > 0 && len(f.queues) > 0; visits-- {
		f.cursor %= len(f.queues)
		queue := f.queues[f.cursor]
		if queue.stream != nil {
			budget = p.landOrdered(queue, budget)
		} else {
			budget = p.landAny(queue, budget)
		}
		if queue.head == len(queue.items) {
			f.retire(f.cursor)
		} else {
			f.cursor++
		}
	}
}

func (p *Pool) landOrdered(queue *flightQueue, budget int) int {
	for budget > 0 && queue.head < len(queue.items) {
		item := queue.items[queue.head]
		budget--
		if !item.ready() {
			break
		}
		queue.items[queue.head] = nil
		queue.head++
		p.landOne(item)
	}
	if queue.head > 32 && queue.head*2 > len(queue.items) {
		kept := copy(queue.items, queue.items[queue.head:])
		clear(queue.items[kept:])
		queue.items, queue.head = queue.items[:kept], 0
	}
	return budget
}

// landAny looks at flights that land in any order; what is not ready goes to
// the end, so that a bounded look comes round to all of them.
func (p *Pool) landAny(queue *flightQueue, budget int) int {
	for looks := len(queue.items) - queue.head; looks > 0 && budget > 0; looks-- {
		item := queue.items[queue.head]
		budget -= max(len(item.events), 1)
		queue.items[queue.head] = nil
		queue.head++
		if item.ready() {
			p.landOne(item)
			continue
		}
		queue.items = append(queue.items, item)
	}
	if queue.head > 32 && queue.head*2 > len(queue.items) {
		kept := copy(queue.items, queue.items[queue.head:])
		clear(queue.items[kept:])
		queue.items, queue.head = queue.items[:kept], 0
	}
	return budget
}

// ready says whether all events have passed and nobody waits on them. One that
// cannot be asked has not passed.
func (item *flight) ready() bool {
	if item.waiters > 0 {
		return false
	}
	if item.passed {
		return true
	}
	for _, event := range item.events {
		done, err := event.Done()
		if !done && !errors.Is(err, device.CodeDeviceLost) {
			return false
		}
	}
	return true
}

// landOne makes a block ready to be handed out again.
func (p *Pool) landOne(item *flight) {
	f := &p.flights
	for i, event := range item.events {
		if event.Close() != nil {
			f.unclosed = append(f.unclosed, event)
		}
		item.events[i] = nil
	}
	p.returnBlock(p.blocks.find(item.addr))
	f.count--
	*item = flight{events: item.events[:0]}
	f.spare = append(f.spare, item)
}

// returnBlock gives a retired block back to its segment.
func (p *Pool) returnBlock(e *entry) {
	addr, size := e.addr, e.size
	s := p.segmentOf(addr)
	if _, err := s.strategy.Free(uint64(addr - s.base)); err != nil {
		p.broken("pool.land", err)
	}
	p.blocks.remove(addr)
	p.books.Land(size)
}

// retire puts an empty queue aside.
func (f *flights) retire(at int) {
	queue := f.queues[at]
	queue.stream, queue.items, queue.head = nil, queue.items[:0], 0
	f.spareQueues = append(f.spareQueues, queue)
	last := len(f.queues) - 1
	f.queues[at] = f.queues[last]
	f.queues[last] = nil
	f.queues = f.queues[:last]
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

// Land takes in every freed block whose queued work is done.
func (p *Pool) Land() {
	p.mu.Lock()
	p.land(pollAll)
	p.mu.Unlock()
	p.engine.Changed()
}

// WaitForFlight waits for the freed block that is in flight longest and takes
// it in. It is false when none is in flight, CodeTimeout when it takes longer
// than timeout (device.Forever: no limit).
func (p *Pool) WaitForFlight(timeout time.Duration) (bool, error) {
	p.mu.Lock()
	item := p.flights.oldest()
	if item == nil {
		p.mu.Unlock()
		return false, nil
	}
	item.waiters++
	events := append([]device.Event{}, item.events...)
	p.mu.Unlock()

	err := waitAll(events, timeout)

	p.mu.Lock()
	item.waiters--
	item.passed = item.passed || err == nil
	p.land(pollAll)
	p.mu.Unlock()
	p.engine.Changed()
	return err == nil, err
}

// waitAll waits for all events, together no longer than timeout. The events of
// a lost device count as passed: no work uses the memory any more.
func waitAll(events []device.Event, timeout time.Duration) error {
	start := track.Now()
	for _, event := range events {
		left := timeout
		if timeout != device.Forever {
			left = max(timeout-(track.Now()-start), 0)
		}
		if err := event.Synchronize(left); err != nil && !errors.Is(err, device.CodeDeviceLost) {
			return err
		}
	}
	return nil
}
