package engine

import (
	"fmt"
	"math"

	"ferrum_mem/core/pressure"
)

// Changed is called by a pool after every change of use, with none of its locks held.
// It costs one load while there are no listeners, and four if the level does not
// change.
//
// The use by other processes is read when segments are allocated or released, when the
// limit changes and when a listener is added. A change of their use alone is not
// noticed before that.
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

// SegmentsChanged is Changed for a pool that allocated or released a segment.
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
	s.mu.LockToRead()
	defer s.mu.Unlock()
	return s.listeningLocked() > 0
}

// listeningLocked returns the number of pressure listeners. The caller holds mu.
func (s *subscribers) listeningLocked() (count int) {
	for profile := range s.listeners {
		count += s.listeners[profile].Len()
	}
	return count
}

// listenersBy returns the number of listeners of a profile.
func (s *subscribers) listenersBy(profile pressure.Profile) int {
	s.mu.LockToRead()
	defer s.mu.Unlock()
	return s.listeners[profile].Len()
}

// look reads the device. If that fails the previous reading stays. The caller holds
// watch.mu.
func (e *Engine) look() {
	reading, err := e.read()
	if err != nil {
		return
	}
	e.mu.LockToRead()
	room, held := roomOf(reading, e), e.held
	e.mu.Unlock()
	w := &e.watch
	w.others = room.totalBytes - min(saturatingAdd(room.availableBytes, held), room.totalBytes)
	for profile := range w.meters {
		w.meters[profile].bounds = pressure.Profile(profile).Bounds(room.totalBytes)
	}
}

// evaluate updates the levels and notifies the listeners of changes. It returns how
// many notifications were dropped because the queue is full. The caller holds watch.mu.
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
		// A thread that changed the use before the bounds moved has compared it with
		// the old bounds. Its change is seen here.
		if used := w.totals.Used(); high == 0 || (used >= low && used < high) {
			return dropped
		}
	}
}

// moveLevel updates the level of one profile and returns the range of use, including
// other processes, in which the level stays. The caller holds watch.mu.
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
	s.mu.LockToRead()
	defer s.mu.Unlock()
	return s.listeners[profile].Copy()
}

// OnPressure calls OnPressureBy with the profile pressure.Standard, without the level.
func (e *Engine) OnPressure(fn func(pressure.Level)) (*Registration, error) {
	r, _, err := e.OnPressureBy(pressure.Standard, fn)
	return r, err
}

// OnPressureBy registers a callback for every change of the pressure level by a
// profile. It is called one call at a time, on the engine's worker. The result is the
// present level, from which the changes start. It returns CodeInvalidArgument for an
// unknown profile.
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

// listen adds a listener and returns the level from which its changes start. The caller
// has begun to watch the totals.
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
		// Changes start from the present level, so no listener is notified of it.
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
	e.mu.LockToRead()
	defer e.mu.Unlock()
	return e.closed
}

// PressureLevel returns the present level by a profile, with hysteresis; false: the
// profile has no listener, so no level is kept. If the call finds a change, the
// listeners are notified.
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

// keepWatching keeps one watch on the totals while there are listeners. It is called
// after one was added. The caller holds watch.mu.
func (w *watch) keepWatching() {
	if !w.watching && w.subscribers.listening() {
		w.watching = true
		return
	}
	w.totals.Watch(false)
}

// WatchUse makes every change of use visible in Totals().Used(), until it is called as
// often with false. It costs each pool some nanoseconds for each operation. The caller
// holds no lock.
func (e *Engine) WatchUse(on bool) {
	if !on {
		e.totals.Watch(false)
		return
	}
	// A second thread waits for the reading of the first and needs none itself.
	e.watchers.Lock()
	defer e.watchers.Unlock()
	watched := e.totals.Watched()
	e.totals.Watch(true)
	if !watched {
		e.publish()
	}
}

// PublishLone makes a pool that was alone update the totals before a second pool is
// added, also the totals of a group of several devices. A lone pool does not update
// them at each change; several pools do. The caller holds no lock.
func (e *Engine) PublishLone() {
	e.mu.LockToRead()
	count, pools := e.pools.Len(), e.pools.All()
	e.mu.Unlock()
	if count != 1 {
		return
	}
	for p := range pools {
		p.Statistics()
	}
}

// publish makes every pool update the totals. The caller holds no lock.
func (e *Engine) publish() {
	for _, p := range e.Pools(nil) {
		p.Statistics()
	}
}
