package engine

import (
	"errors"
	"fmt"
	"math"
	"time"

	"ferrum_mem/core/device"
)

// flightWait bounds how long one allocation waits for blocks in flight. Without it an
// allocation would hang if the queued work waits for its own thread.
const flightWait = 10 * time.Second

// FindRoom runs the reclaim path for an allocation, in order of cost, and calls retry
// after each step that may have helped:
//
//  1. It takes freed blocks whose queued work has completed.
//  2. It takes the idle blocks of the pool's thread caches.
//  3. It releases cached segments of the pool, then those of its sibling pools with
//     their thread caches.
//  4. It uses a larger block that the same stream has freed (Need.Spare).
//  5. It waits for blocks in flight.
//  6. It calls the reclaim callbacks.
//
// A thread that may not wait stops after step 4, because the work that it would wait
// for may be queued behind it.
//
// retry reports whether it got its block. Its error ends the search, unless it is
// CodeOutOfMemory. If nothing helps, the error is CodeOutOfMemory with a report. The
// caller holds no lock.
func (e *Engine) FindRoom(need Need, retry func() (bool, error)) error {
	refusals := e.refusals.counted()
	c := &reclaim{engine: e, need: need, retry: retry, mayWait: e.mayWait()}
	c.sweep()
	if !c.ended() && c.mayWait {
		c.askAll()
	}
	if c.found {
		return nil
	}
	if c.err != nil {
		return c.err
	}
	return e.outOfMemory(need, e.refusals.since(refusals))
}

// reclaim is one run of the reclaim path.
type reclaim struct {
	engine *Engine
	need   Need
	retry  func() (bool, error)
	// mayWait allows steps 5 and 6.
	mayWait bool

	found bool
	err   error
	// waited is the time that this run has waited for work in flight.
	waited time.Duration
}

func (c *reclaim) ended() bool { return c.found || c.err != nil }

// try retries the allocation, and reports whether the run has ended.
func (c *reclaim) try() bool { return c.attempt(c.retry) }

func (c *reclaim) attempt(by func() (bool, error)) bool {
	found, err := by()
	c.found = found
	if err != nil && !errors.Is(err, device.CodeOutOfMemory) {
		c.err = err
	}
	return c.ended()
}

// sweep runs steps 1 to 5.
func (c *reclaim) sweep() {
	siblings := c.engine.Pools(c.need.Pool)
	c.need.Pool.CompleteFrees()
	if c.try() {
		return
	}
	if c.need.Pool.Flush() && c.try() {
		return
	}
	if c.release(c.need.Pool) {
		return
	}
	for _, p := range siblings {
		p.CompleteFrees()
		if c.release(p) {
			return
		}
	}
	if c.need.Spare != nil && c.attempt(c.need.Spare) {
		return
	}
	if !c.mayWait || c.waitFor(c.need.Pool, true) {
		return
	}
	for _, p := range siblings {
		if c.waitFor(p, false) {
			return
		}
	}
}

// release makes a pool release its cached segments, and retries if it released any.
func (c *reclaim) release(p Pool) (over bool) {
	released, err := p.ReleaseCached(math.MaxUint64)
	if err != nil {
		c.engine.Log(Warning, fmt.Sprintf("pool %q could not release memory: %v", p.Name(), err))
	}
	return released > 0 && c.try()
}

// waitFor waits for the freed blocks of a pool one by one. A block of the requesting
// pool may fit by itself; a block of a sibling helps only if its segment becomes free.
func (c *reclaim) waitFor(p Pool, own bool) (over bool) {
	for c.waited < flightWait {
		start := time.Now()
		completed, err := p.WaitForFlight(flightWait - c.waited)
		c.waited += time.Since(start)
		if err != nil {
			c.engine.Log(Warning, fmt.Sprintf("pool %q: waiting for freed blocks: %v", p.Name(), err))
			return false
		}
		if !completed {
			break
		}
		if own && c.try() {
			return true
		}
		if !own && c.release(p) {
			return true
		}
	}
	// Nothing is in flight any more. Another call may have taken the last block since
	// this run checked.
	return own && c.try() || c.release(p)
}

// askAll calls the callbacks in their order, one at a time, and retries after each. One
// thread does so at a time. Other threads wait for its end and retry before they call
// callbacks themselves.
func (c *reclaim) askAll() {
	e := c.engine
	if !e.subscribers.hasReclaims() {
		return
	}
	select {
	case e.round <- struct{}{}:
	default:
		e.round <- struct{}{}
		c.sweep()
	}
	defer func() { <-e.round }()
	for _, r := range e.subscribers.listReclaims() {
		if c.ended() {
			return
		}
		freed, inTime := r.Ask(c.need.SizeBytes, nil)
		if !inTime {
			e.Log(Warning, fmt.Sprintf(
				"a reclaim callback of priority %d did not end within %v", r.priority, r.deadline))
		}
		e.Log(Debug, fmt.Sprintf("requested %v, a reclaim callback of priority %d freed %v",
			device.Size(c.need.SizeBytes), r.priority, device.Size(freed)))
		c.sweep()
	}
}
