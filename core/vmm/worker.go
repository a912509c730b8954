package vmm

import (
	"fmt"
	"sync"
	"time"

	"ferrum_mem/core/device"
	"ferrum_mem/core/engine"
)

// TrimWindow is how long a page has to be idle before the worker gives it back:
// what was not wanted for a whole window will not be missed.
const TrimWindow = 100 * time.Millisecond

// worker keeps a stock in order behind the back of those who wait for pages: it
// has ReadyPages of them at hand, and unmaps and gives back what is too many. It
// runs from the first allocation on.
type worker struct {
	// hands is false in tests that do its steps themselves.
	hands bool
	// round is held over a step.
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

// kick has the worker look at the stock. It may be called under the lock of the
// stock.
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

// Pause has the worker make no pages ready, until Resume; what it is at, it has
// ended when Pause returns. Pages that are too many are still given back.
func (ph *Physical) Pause() {
	ph.worker.setPaused(true)
	// The step under way has ended once the lock was had.
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

// watchIdle wakes the worker for pages that it may have to give back later. The
// caller holds mu.
func (ph *Physical) watchIdle() {
	if ph.tooMany() && !ph.ticking {
		ph.kick()
	}
}

// tooMany says that there is something to look at after a window.
func (ph *Physical) tooMany() bool { return ph.parked > 0 || ph.idle > ph.ready }

// startTicking says whether a window begins now.
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

// wantReady wakes the worker if too few pages are ready, and it can make some so. The
// caller holds mu.
func (ph *Physical) wantReady() {
	few, room := ph.idle+ph.parked < ph.ready, ph.created < ph.limitPages()
	if few && room || ph.idle < (ph.ready+1)/2 && ph.parked > 0 {
		ph.wanted = true
		ph.kick()
	}
}

// Settle does at once what the worker has to do: it gives back what is above the
// limit and makes pages ready.
func (ph *Physical) Settle() {
	failed, lacking := ph.settle()
	if failed != nil {
		ph.engine.Log(engine.Warning, fmt.Sprintf("%q could not give back pages above its limit: %v", ph.config.Name, failed))
	}
	if lacking != nil {
		ph.engine.Log(engine.Debug, fmt.Sprintf("%q has too few pages ready: %v", ph.config.Name, lacking))
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

// above is how many pages there are above the limit.
func (ph *Physical) above() uint64 {
	ph.mu.Lock()
	defer ph.mu.Unlock()
	return ph.created - min(ph.created, ph.limitPages())
}

// refill makes some more pages ready, and says whether it did. It stops until the
// next allocation when there are enough or no more can be had: the stock takes
// nothing from others for it.
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
	fresh, err := ph.create(short)
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

// Tick ends a window of TrimWindow: parked pages that nobody wanted in it are
// unmapped, and idle ones above ReadyPages are given back. It is for stepped pools;
// else the worker does it.
func (ph *Physical) Tick() { ph.tick() }

// tick ends a window: parked pages that nobody wanted in it are unmapped, and idle
// ones above ReadyPages are given back.
func (ph *Physical) tick() {
	if err := ph.endWindow(); err != nil {
		ph.engine.Log(engine.Warning, fmt.Sprintf("%q could not give back idle pages: %v", ph.config.Name, err))
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
