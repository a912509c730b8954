package notify

import (
	"sync"

	"ferrum_mem/core/device"
)

// Dispatcher runs posted functions one after another, in the order of posting. All
// methods are safe for concurrent use.
type Dispatcher struct {
	name     string
	capacity int

	mu sync.Mutex
	// changed is signalled when the queue, the number of delivered functions or the state
	// changes.
	changed *sync.Cond
	// queue[head:] waits for delivery; the space before head is reused.
	queue     []func()
	head      int
	posted    uint64
	delivered uint64
	dropped   uint64
	stopping  bool
	// dead is set when the worker has ended: no function is delivered any more.
	dead   bool
	worker <-chan struct{}
}

// New creates a dispatcher that holds at most capacity (at least 1) undelivered
// functions. It does not start the worker.
func New(name string, capacity int) *Dispatcher {
	d := &Dispatcher{name: name, capacity: max(capacity, 1)}
	d.changed = sync.NewCond(&d.mu)
	return d
}

// Post queues fn. It returns false, and fn does not run, if the queue is full (counted by
// Dropped) or the dispatcher was stopped.
func (d *Dispatcher) Post(fn func()) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.stopping || d.dead {
		return false
	}
	if len(d.queue)-d.head >= d.capacity {
		d.dropped++
		return false
	}
	if d.head > 0 && len(d.queue) == cap(d.queue) {
		kept := copy(d.queue, d.queue[d.head:])
		clear(d.queue[kept:])
		d.queue, d.head = d.queue[:kept], 0
	}
	d.queue = append(d.queue, fn)
	d.posted++
	if d.worker == nil {
		d.worker = device.Go(d.name, d.work)
	}
	d.changed.Broadcast()
	return true
}

// Flush waits until everything posted before the call has been delivered. It must not be
// called from a delivered function: that would wait for itself.
func (d *Dispatcher) Flush() {
	d.mu.Lock()
	defer d.mu.Unlock()
	goal := d.posted
	for d.delivered < goal && !d.dead {
		d.changed.Wait()
	}
}

// Stop makes the worker deliver what is queued and then end. It does not wait for the
// worker. Later posts are rejected. It may be called from a delivered function.
func (d *Dispatcher) Stop() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.stopping = true
	d.changed.Broadcast()
}

// Close calls Stop and waits until the worker has ended. It must not be called from a
// delivered function.
func (d *Dispatcher) Close() {
	d.Stop()
	d.mu.Lock()
	worker := d.worker
	d.mu.Unlock()
	if worker != nil {
		<-worker
	}
}

// Dropped returns the number of functions that were rejected because the queue was full.
func (d *Dispatcher) Dropped() uint64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.dropped
}

// work is the body of the worker. A function that panics ends it: the panic goes to the
// owner of all workers, and the threads that wait here continue.
func (d *Dispatcher) work() {
	defer func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.dead = true
		d.queue, d.head = nil, 0
		d.changed.Broadcast()
	}()
	for {
		fn := d.next()
		if fn == nil {
			return
		}
		fn()
		d.mu.Lock()
		d.delivered++
		d.changed.Broadcast()
		d.mu.Unlock()
	}
}

// next waits for a function to deliver. It returns nil when the worker has to end.
func (d *Dispatcher) next() func() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for d.head == len(d.queue) {
		if d.stopping {
			return nil
		}
		d.changed.Wait()
	}
	fn := d.queue[d.head]
	d.queue[d.head] = nil
	d.head++
	if d.head == len(d.queue) {
		d.queue, d.head = d.queue[:0], 0
	}
	return fn
}
