package monitor

import (
	"fmt"
	"slices"
	"sync"

	"ferrum_mem/core/device"
	"ferrum_mem/core/engine"
	"ferrum_mem/core/pressure"
)

// DeviceLevel is the pressure level of a device.
type DeviceLevel struct {
	Device device.ID
	// Engine is the device itself.
	Engine *engine.Engine
	Level  pressure.Level
}

// pendingLevels bounds the changes that wait for a callback. Beyond it the last
// one gives way to the next: what was in between is not heard of, but how things
// stand in the end always is.
const pendingLevels = 1024

// callback is the receiver of changes. Its fields but fn are guarded by
// Monitor.mu.
type callback struct {
	fn func([]DeviceLevel)
	// told is what was handed over last, or is waiting to be.
	told    []DeviceLevel
	pending [][]DeviceLevel
	// missed is changes that gave way to later ones and are not reported yet.
	missed  uint64
	running bool
	removed bool
	idle    *sync.Cond
}

// SetCallback has fn hear of every change of the levels from now on: the devices
// with the level of each, in the order of their coming. A device that comes or
// goes is a change, too. fn replaces the former one; nil only removes that. The
// call waits for a running call of the former one, unless inside says that it is
// called from that; afterwards that one is not called again.
//
// fn runs on a worker, one call at a time, with no lock held; it may call
// anything. When it panics, that is logged, and it will be called again. Errors:
// CodeInvalidState after Close.
func (m *Monitor) SetCallback(fn func([]DeviceLevel), inside bool) error {
	m.mu.Lock()
	closed := m.closed
	m.mu.Unlock()
	if closed {
		return closedError("monitor.set_callback")
	}
	var made *callback
	if fn != nil {
		made = &callback{fn: fn, idle: sync.NewCond(&m.mu)}
	}
	return m.replaceCallback(made, inside)
}

func (m *Monitor) replaceCallback(made *callback, inside bool) error {
	former, err := m.swapCallback(made)
	if err != nil || former == nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for former.running && !inside {
		former.idle.Wait()
	}
	return nil
}

// swapCallback puts a callback in the place of another, and begins or ends to
// listen.
func (m *Monitor) swapCallback(made *callback) (former *callback, err error) {
	m.changing.Lock()
	defer m.changing.Unlock()
	if made != nil {
		if err := m.listenToAll(); err != nil {
			return nil, err
		}
	}
	m.mu.Lock()
	former = m.callback
	if former != nil {
		former.removed, former.pending = true, nil
	}
	if made != nil && m.closed {
		made = nil
	}
	m.callback = made
	if made != nil {
		made.told = m.levels()
	}
	m.mu.Unlock()
	if made == nil {
		m.unlistenToAll()
	}
	return former, nil
}

// listens says whether devices are listened to. The caller holds changing.
func (m *Monitor) listens() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.callback != nil
}

func (m *Monitor) listWatched() []*watched {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.watched)
}

// listenToAll begins to listen where that has not begun: to all devices or to
// none more. The caller holds changing.
func (m *Monitor) listenToAll() error {
	var begun []*watched
	for _, w := range m.listWatched() {
		if w.listener != nil {
			continue
		}
		if err := m.listen(w); err != nil {
			for _, other := range begun {
				m.unlisten(other)
			}
			return err
		}
		begun = append(begun, w)
	}
	m.startLooking()
	return nil
}

func (m *Monitor) unlistenToAll() {
	m.stopLooking()
	for _, w := range m.listWatched() {
		m.unlisten(w)
	}
}

// listen has the engine tell of changes. The caller holds changing.
func (m *Monitor) listen(w *watched) error {
	m.mu.Lock()
	w.heard = false
	m.mu.Unlock()
	listener, level, err := w.engine.OnPressureBy(m.config.Profile, func(level pressure.Level) { m.hear(w, level) })
	if err != nil {
		return err
	}
	system := m.readSystem(w)
	m.mu.Lock()
	defer m.mu.Unlock()
	w.listener = listener
	if !w.heard {
		w.bytes = level
	}
	m.takeSystem(w, system)
	return nil
}

// unlisten ends that. The caller holds changing. A call of hear that runs is
// waited for: it waits for nothing but mu.
func (m *Monitor) unlisten(w *watched) {
	if w.listener != nil {
		w.listener.Remove(false)
		w.listener = nil
	}
}

// hear takes in a change of level by bytes, on the engine's worker.
func (m *Monitor) hear(w *watched, level pressure.Level) {
	m.mu.Lock()
	defer m.mu.Unlock()
	w.bytes, w.heard = level, true
	m.settle()
}

// levels are those of all devices now. The caller holds mu.
func (m *Monitor) levels() []DeviceLevel {
	levels := make([]DeviceLevel, len(m.watched))
	for i, w := range m.watched {
		levels[i] = DeviceLevel{Device: w.engine.ID(), Engine: w.engine, Level: w.level()}
	}
	return levels
}

// settle hands the levels over if they have changed. The caller holds mu.
func (m *Monitor) settle() {
	c := m.callback
	if c == nil {
		return
	}
	levels := m.levels()
	if slices.Equal(levels, c.told) {
		return
	}
	c.told = levels
	if n := len(c.pending); n >= pendingLevels {
		c.pending[n-1] = levels
		c.missed++
		return
	}
	c.pending = append(c.pending, levels)
	if len(c.pending) == 1 && !c.running {
		m.dispatcher.Post(m.deliver)
	}
}

// deliver hands over what is pending, on the dispatcher.
func (m *Monitor) deliver() {
	for {
		m.mu.Lock()
		c := m.callback
		if c == nil || len(c.pending) == 0 {
			m.mu.Unlock()
			return
		}
		levels, missed := c.pending[0], c.missed
		c.pending, c.missed = c.pending[1:], 0
		c.running = true
		m.mu.Unlock()
		if missed > 0 {
			m.log(engine.Warning, fmt.Sprintf("%d changes of level were not told: too many were waiting", missed))
		}
		m.call(c.fn, slices.Clone(levels))
		m.mu.Lock()
		c.running = false
		c.idle.Broadcast()
		m.mu.Unlock()
	}
}

func (m *Monitor) call(fn func([]DeviceLevel), levels []DeviceLevel) {
	defer func() {
		if value := recover(); value != nil {
			m.log(engine.Error, fmt.Sprintf("the pressure callback panicked: %v", value))
		}
	}()
	fn(levels)
}
