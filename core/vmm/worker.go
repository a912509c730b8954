package vmm

import (
	"fmt"
	"sync"
	"time"

	"ferrum_mem/core/device"
	"ferrum_mem/core/engine"
)

// TrimWindow is the time that a page must be idle before the worker releases it. A page
// that no allocation needed for a whole window is probably not needed soon.
const TrimWindow = 100 * time.Millisecond

// worker maintains a Physical in the background: it keeps ReadyPages pages ready, and
// unmaps and releases surplus pages. It starts with the first allocation.
type worker struct {
	// hands is false in tests that run the steps themselves.
	hands bool
	// round is held during a step.
	round sync.Mutex

	mu      sync.Mutex
	wake    chan struct{}
	quit    chan struct{}
	done    <-chan struct{}
	stopped bool
	paused  bool
}

func (w *worker) init(hands bool) {
	w.hands = hands
	w.wake = make(chan struct{}, 1)
}

// kick wakes the worker. It may be called under Physical.mu.
func (ph *Physical) kick() {
	w := &ph.worker
	if !w.hands {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.stopped {
		return
	}
	if w.done == nil {
		w.quit = make(chan struct{})
		quit := w.quit
		w.done = device.Go("pages "+ph.config.Name, func() { ph.work(quit) })
	}
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// stop ends the worker and waits for its step.
func (w *worker) stop() {
	w.mu.Lock()
	w.stopped = true
	done := w.done
	if w.quit != nil {
		close(w.quit)
		w.quit = nil
	}
	w.done = nil
	w.mu.Unlock()
	if done != nil {
		<-done
	}
}

func (w *worker) reopen() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stopped = false
}

// Pause stops the worker from making pages ready, until Resume. The step in progress
// has ended when Pause returns. Surplus pages are still released.
func (ph *Physical) Pause() {
	ph.worker.setPaused(true)
	// The step in progress has ended when this lock is acquired.
	ph.worker.round.Lock()
	defer ph.worker.round.Unlock()
}

// Resume ends a Pause.
func (ph *Physical) Resume() {
	ph.worker.setPaused(false)
	ph.kick()
}

func (w *worker) setPaused(paused bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.paused = paused
}

func (w *worker) isPaused() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.paused
}

// work is the body of the worker.
func (ph *Physical) work(quit <-chan struct{}) {
	timer := time.NewTimer(TrimWindow)
	defer timer.Stop()
	for {
		select {
		case <-quit:
			return
		case <-ph.worker.wake:
			ph.Settle()
		case <-timer.C:
			ph.tick()
			if ph.keepTicking() {
				timer.Reset(TrimWindow)
			}
			continue
		}
		if ph.startTicking() {
			timer.Reset(TrimWindow)
		}
	}
}

// watchIdle wakes the worker if it may have to release pages later. The caller holds
// mu.
func (ph *Physical) watchIdle() {
	if ph.tooMany() && !ph.ticking {
		ph.kick()
	}
}

// tooMany reports whether the worker has pages to check after a window.
func (ph *Physical) tooMany() bool { return ph.parked > 0 || ph.idle > ph.ready }

// startTicking reports whether a window begins now.
func (ph *Physical) startTicking() bool {
	ph.mu.Lock()
	defer ph.mu.Unlock()
	if ph.ticking || !ph.tooMany() {
		return false
	}
	ph.ticking = true
	ph.lowIdle, ph.lowParked = ph.idle+ph.parked, ph.parked
	return true
}

func (ph *Physical) keepTicking() bool {
	ph.mu.Lock()
	defer ph.mu.Unlock()
	ph.ticking = ph.tooMany()
	return ph.ticking
}

// wantReady wakes the worker if too few pages are ready and it can make more ready. The
// caller holds mu.
func (ph *Physical) wantReady() {
	few, room := ph.idle+ph.parked < ph.ready, ph.created < ph.limitPages()
	if few && room || ph.idle < (ph.ready+1)/2 && ph.parked > 0 {
		ph.wanted = true
		ph.kick()
	}
}

// Settle runs the pending work of the worker at once: it releases pages above the limit
// and makes pages ready.
func (ph *Physical) Settle() {
	failed, lacking := ph.settle()
	if failed != nil {
		ph.engine.Log(engine.Warning, fmt.Sprintf("%q could not release pages above its limit: %v", ph.config.Name, failed))
	}
	if lacking != nil {
		ph.engine.Log(engine.Debug, fmt.Sprintf("%q has too few ready pages: %v", ph.config.Name, lacking))
	}
}

func (ph *Physical) settle() (failed, lacking error) {
	ph.worker.round.Lock()
	defer ph.worker.round.Unlock()
	_, failed = ph.release(ph.above())
	for again := true; again && lacking == nil; {
		again, lacking = ph.refill()
	}
	return failed, lacking
}

// above returns the number of pages above the limit.
func (ph *Physical) above() uint64 {
	ph.mu.Lock()
	defer ph.mu.Unlock()
	return ph.created - min(ph.created, ph.limitPages())
}

// refill makes more pages ready, and reports whether it did. It stops until the next
// allocation when enough pages are ready or the device has no more. It takes no pages
// from other pools.
func (ph *Physical) refill() (again bool, err error) {
	if ph.worker.isPaused() {
		return false, nil
	}
	ph.mu.Lock()
	if ph.state != stateOpen || !ph.wanted {
		ph.mu.Unlock()
		return false, nil
	}
	if short := ph.ready - min(ph.ready, ph.idle); short > 0 && ph.parked > 0 && ph.idle < (ph.ready+1)/2 {
		ph.mu.Unlock()
		n, err := ph.unpark(short, nil)
		return n > 0, err
	}
	room := ph.limitPages() - min(ph.created, ph.limitPages())
	short := min(ph.ready-min(ph.ready, ph.idle+ph.parked), room)
	if short == 0 {
		ph.wanted = false
		ph.mu.Unlock()
		return false, nil
	}
	ph.moving += short
	fresh, err := ph.create(short, false)
	ph.moving -= short
	ph.clean = append(ph.clean, fresh...)
	ph.idle += uint64(len(fresh))
	ph.wanted = false
	ph.arrived.Broadcast()
	ph.mu.Unlock()
	if err != nil {
		return false, err
	}
	ph.engine.SegmentsChanged()
	return true, nil
}

// Tick ends a window of TrimWindow: it unmaps parked pages that no allocation needed in
// the window, and releases idle pages above ReadyPages. It is for stepped pools;
// otherwise the worker calls it.
func (ph *Physical) Tick() { ph.tick() }

// tick ends a window: it unmaps parked pages that no allocation needed in the window,
// and releases idle pages above ReadyPages.
func (ph *Physical) tick() {
	if err := ph.endWindow(); err != nil {
		ph.engine.Log(engine.Warning, fmt.Sprintf("%q could not release idle pages: %v", ph.config.Name, err))
	}
}

func (ph *Physical) endWindow() error {
	ph.worker.round.Lock()
	defer ph.worker.round.Unlock()
	ph.mu.Lock()
	stale, surplus := ph.lowParked, ph.lowIdle-min(ph.lowIdle, ph.ready)
	ph.mu.Unlock()
	_, err := ph.unpark(stale, nil)
	if err == nil {
		_, err = ph.release(surplus)
	}
	ph.mu.Lock()
	defer ph.mu.Unlock()
	ph.lowIdle, ph.lowParked = ph.idle+ph.parked, ph.parked
	return err
}
