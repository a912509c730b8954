package engine

import (
	"fmt"
	"math"

	"ferrum_mem/core/pressure"
)

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
	dropped := e.watch.evaluate()
	e.watch.mu.Unlock()
	e.reportDropped(dropped)
}

// SegmentsChanged is Changed for a pool that took or gave back a segment.
func (e *Engine) SegmentsChanged() {
	if !e.subscribers.listening() {
		return
	}
	e.watch.mu.Lock()
	e.look()
	dropped := e.watch.evaluate()
	e.watch.mu.Unlock()
	e.reportDropped(dropped)
}

func (s *subscribers) listening() bool {
	s.mu.Peek()
	defer s.mu.Unlock()
	return s.listeningLocked() > 0
}

// listeningLocked counts the listeners to pressure. The caller holds mu.
func (s *subscribers) listeningLocked() (count int) {
	for profile := range s.listeners {
		count += s.listeners[profile].Len()
	}
	return count
}

// listenersBy is how many listen by a profile.
func (s *subscribers) listenersBy(profile pressure.Profile) int {
	s.mu.Peek()
	defer s.mu.Unlock()
	return s.listeners[profile].Len()
}

// look reads the device. When that fails the former reading stays. The caller holds
// watch.mu.
func (e *Engine) look() {
	reading, err := e.read()
	if err != nil {
		return
	}
	e.mu.Peek()
	room, held := roomOf(reading, e), e.held
	e.mu.Unlock()
	w := &e.watch
	w.others = room.totalBytes - min(saturatingAdd(room.availableBytes, held), room.totalBytes)
	for profile := range w.meters {
		w.meters[profile].bounds = pressure.Profile(profile).Bounds(room.totalBytes)
	}
}

// evaluate moves the levels to where the use is and tells the listeners of changes. It
// returns how many were not told because the queue is full. The caller holds watch.mu.
func (w *watch) evaluate() (dropped int) {
	if !w.subscribers.listening() {
		w.sleep()
		if w.watching {
			w.watching = false
			w.totals.Watch(false)
		}
		return 0
	}
	for {
		low, high := uint64(0), uint64(math.MaxUint64)
		for profile := range pressure.Profile(pressure.ProfileCount) {
			if w.subscribers.listenersBy(profile) == 0 {
				continue
			}
			from, to, lost := w.moveLevel(profile)
			low, high, dropped = max(low, from), min(high, to), dropped+lost
		}
		low -= min(low, w.others)
		if high != math.MaxUint64 {
			high -= min(high, w.others)
		}
		w.low.Store(low)
		w.high.Store(high)
		// A thread that changed the use before the bounds moved has compared it
		// with the old ones: its change is seen here.
		if used := w.totals.Used(); high == 0 || (used >= low && used < high) {
			return dropped
		}
	}
}

// moveLevel moves the level by one profile and gives the uses, others' included, over
// which it stays. The caller holds watch.mu.
func (w *watch) moveLevel(profile pressure.Profile) (low, high uint64, dropped int) {
	m := &w.meters[profile]
	level := m.bounds.Next(m.level, saturatingAdd(w.others, w.totals.Used()))
	if level != m.level {
		m.level = level
		for _, r := range w.subscribers.listListeners(profile) {
			if !w.dispatcher.Post(func() { r.call(func() { r.hear(level) }) }) {
				dropped++
			}
		}
	}
	low, high = m.bounds.Hold(level)
	return low, high, dropped
}

func (e *Engine) reportDropped(dropped int) {
	if dropped > 0 {
		e.Log(Warning, fmt.Sprintf(
			"%d pressure callbacks were not called: too many calls are waiting", dropped))
	}
}

func (s *subscribers) listListeners(profile pressure.Profile) []*Registration {
	s.mu.Peek()
	defer s.mu.Unlock()
	return s.listeners[profile].Copy()
}

// OnPressure is OnPressureBy for the profile pressure.Standard, without the level.
func (e *Engine) OnPressure(fn func(pressure.Level)) (*Registration, error) {
	r, _, err := e.OnPressureBy(pressure.Standard, fn)
	return r, err
}

// OnPressureBy registers a callback that hears of every change of the pressure
// level by a profile from now on, one call at a time, on the engine's worker. The
// level of now, which the changes start from, is returned. A profile that is none
// is CodeInvalidArgument.
func (e *Engine) OnPressureBy(profile pressure.Profile, fn func(pressure.Level)) (*Registration, pressure.Level, error) {
	if err := profile.Check(opOnPressure); err != nil {
		return nil, pressure.Low, err
	}
	r := newRegistration(e)
	r.hear, r.profile = fn, profile
	e.WatchUse(true)
	level, dropped, err := e.listen(r)
	e.reportDropped(dropped)
	if err != nil {
		return nil, pressure.Low, err
	}
	return r, level, nil
}

const opOnPressure = "engine.on_pressure"

// listen adds a listener and gives the level that its changes start from. The
// caller has begun to watch the totals.
func (e *Engine) listen(r *Registration) (level pressure.Level, dropped int, err error) {
	w := &e.watch
	w.mu.Lock()
	defer w.mu.Unlock()
	defer e.watch.keepWatching()
	if e.isClosed() {
		return pressure.Low, 0, e.closedError(opOnPressure)
	}
	m := &w.meters[r.profile]
	if e.subscribers.listenersBy(r.profile) == 0 {
		// The level of now is where changes start from: nobody hears of it.
		e.look()
		m.level = m.bounds.LevelOf(saturatingAdd(w.others, e.totals.Used()))
	}
	e.mu.Lock()
	if e.closed {
		defer e.mu.Unlock()
		return pressure.Low, 0, e.closedError(opOnPressure)
	}
	e.subscribers.listeners[r.profile].Add(r)
	level = m.level
	e.mu.Unlock()
	return level, e.watch.evaluate(), nil
}

func (e *Engine) isClosed() bool {
	e.mu.Peek()
	defer e.mu.Unlock()
	return e.closed
}

// PressureLevel is the present level by a profile, hysteresis included; false:
// nobody listens to it, and so none is kept. Listeners hear of a change that is
// found here.
func (e *Engine) PressureLevel(profile pressure.Profile) (pressure.Level, bool) {
	if !profile.Known() {
		return pressure.Low, false
	}
	e.watch.mu.Lock()
	kept := e.subscribers.listenersBy(profile) > 0
	dropped := 0
	if kept {
		dropped = e.watch.evaluate()
	}
	level := e.watch.meters[profile].level
	e.watch.mu.Unlock()
	e.reportDropped(dropped)
	return level, kept
}

// keepWatching leaves one watch on the totals while there are listeners, after
// one was added. The caller holds watch.mu.
func (w *watch) keepWatching() {
	if !w.watching && w.subscribers.listening() {
		w.watching = true
		return
	}
	w.totals.Watch(false)
}

// WatchUse has every change of use show in Totals().Used() from now on, until
// it is called as often with false. That costs each pool some nanoseconds an
// operation. The caller holds no lock.
func (e *Engine) WatchUse(on bool) {
	if !on {
		e.totals.Watch(false)
		return
	}
	// Whoever comes second waits for the first one's reading, and needs none.
	e.watchers.Lock()
	defer e.watchers.Unlock()
	watched := e.totals.Watched()
	e.totals.Watch(true)
	if !watched {
		e.publish()
	}
}

// PublishLone has a pool that was alone bring the totals up to date before a second
// one comes, also to a group that is not of this device: alone it did not need to. Pools
// that are several do so by themselves. The caller holds no lock.
func (e *Engine) PublishLone() {
	e.mu.Peek()
	count, pools := e.pools.Len(), e.pools.All()
	e.mu.Unlock()
	if count != 1 {
		return
	}
	for p := range pools {
		p.Statistics()
	}
}

// publish has every pool bring the totals up to date. The caller holds no lock.
func (e *Engine) publish() {
	for _, p := range e.Pools(nil) {
		p.Statistics()
	}
}
