package engine

import (
	"fmt"
	"math"
	"slices"
	"sync"
	"sync/atomic"

	"ferrum_mem/core/pressure"
)

// watch is the present pressure level and when it changes. Nothing is watched
// while nobody listens.
type watch struct {
	// low and high bound the use of our own (track.Totals.Used) over which the
	// level stays: low <= used < high.
	low, high atomic.Uint64

	mu sync.Mutex
	// watching says that the totals are watched for the listeners.
	watching bool
	level    pressure.Level
	// others is what is neither ours nor free, as of the last look at the
	// device.
	others uint64
	bounds pressure.Bounds
}

func (w *watch) sleep() {
	w.low.Store(0)
	w.high.Store(math.MaxUint64)
}

// Changed is called by a pool after every change of use, under none of its
// locks. It costs one load while nobody listens, and four unless the level
// changes.
//
// What others use is looked at when segments come or go, when the limit changes
// and when a listener comes; a change of theirs alone is not noticed before.
func (e *Engine) Changed() {
	if e.totals.Watched() {
		e.compare()
	}
}

func (e *Engine) compare() {
	used := e.totals.Used()
	if used >= e.watch.low.Load() && used < e.watch.high.Load() {
		return
	}
	e.watch.mu.Lock()
	dropped := e.evaluateLocked()
	e.watch.mu.Unlock()
	e.reportDropped(dropped)
}

// SegmentsChanged is Changed for a pool that took or gave back a segment.
func (e *Engine) SegmentsChanged() {
	if !e.listening() {
		return
	}
	e.watch.mu.Lock()
	e.lookLocked()
	dropped := e.evaluateLocked()
	e.watch.mu.Unlock()
	e.reportDropped(dropped)
}

func (e *Engine) listening() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.listeners) > 0
}

// lookLocked reads the device. When that fails the former reading stays.
func (e *Engine) lookLocked() {
	reading, err := e.dev.Memory()
	if err != nil {
		return
	}
	e.mu.Lock()
	free, held := min(reading.FreeBytes, e.headroomLocked()), e.held
	e.mu.Unlock()
	total := reading.TotalBytes
	ours := saturatingAdd(free, held)
	e.watch.bounds = pressure.NewBounds(total)
	e.watch.others = total - min(ours, total)
}

// evaluateLocked moves the level to where the use is and tells the listeners of
// a change. It returns how many were not told because the queue is full.
func (e *Engine) evaluateLocked() (dropped int) {
	w := &e.watch
	listeners := e.listListeners()
	if len(listeners) == 0 {
		w.sleep()
		if w.watching {
			w.watching = false
			e.totals.Watch(false)
		}
		return 0
	}
	for {
		level := w.bounds.Next(w.level, saturatingAdd(w.others, e.totals.Used()))
		if level != w.level {
			w.level = level
			for _, r := range listeners {
				if !e.dispatcher.Post(func() { r.call(func() { r.hear(level) }) }) {
					dropped++
				}
			}
		}
		low, high := w.bounds.Hold(level)
		low -= min(low, w.others)
		if high != math.MaxUint64 {
			high -= min(high, w.others)
		}
		w.low.Store(low)
		w.high.Store(high)
		// A thread that changed the use before the bounds moved has compared it
		// with the old ones: its change is seen here.
		if used := e.totals.Used(); high == 0 || (used >= low && used < high) {
			return dropped
		}
	}
}

func (e *Engine) reportDropped(dropped int) {
	if dropped > 0 {
		e.Log(Warning, fmt.Sprintf(
			"%d pressure callbacks were not called: too many calls are waiting", dropped))
	}
}

func (e *Engine) listListeners() []*Registration {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.listeners)
}

// OnPressure registers a callback that hears of every change of the pressure
// level from now on, one call at a time, on the engine's worker.
func (e *Engine) OnPressure(fn func(pressure.Level)) (*Registration, error) {
	r := newRegistration(e)
	r.hear = fn
	e.totals.Watch(true)
	e.publish()
	e.watch.mu.Lock()
	defer e.watch.mu.Unlock()
	defer e.keepWatching()
	e.mu.Lock()
	if e.closed {
		defer e.mu.Unlock()
		return nil, e.closedError("engine.on_pressure")
	}
	first := len(e.listeners) == 0
	e.mu.Unlock()
	if first {
		// The level of now is where changes start from: nobody hears of it.
		e.lookLocked()
		e.watch.level = e.watch.bounds.LevelOf(saturatingAdd(e.watch.others, e.totals.Used()))
	}
	e.mu.Lock()
	if e.closed {
		defer e.mu.Unlock()
		return nil, e.closedError("engine.on_pressure")
	}
	e.listeners = append(e.listeners, r)
	e.mu.Unlock()
	if dropped := e.evaluateLocked(); dropped > 0 {
		defer e.reportDropped(dropped)
	}
	return r, nil
}

// keepWatching leaves one watch on the totals while there are listeners, after
// one was added. The caller holds watch.mu.
func (e *Engine) keepWatching() {
	if w := &e.watch; !w.watching && len(e.listListeners()) > 0 {
		w.watching = true
		return
	}
	e.totals.Watch(false)
}

// WatchUse has every change of use show in Totals().Used() from now on, until
// it is called as often with false. That costs each pool some nanoseconds an
// operation. The caller holds no lock.
func (e *Engine) WatchUse(on bool) {
	e.totals.Watch(on)
	if on {
		e.publish()
	}
}

// publish has every pool bring the totals up to date. The caller holds no lock.
func (e *Engine) publish() {
	for _, p := range e.Pools(nil) {
		p.Statistics()
	}
}
