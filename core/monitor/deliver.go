package monitor

import (
	"fmt"
	"slices"

	"ferrum_mem/core/engine"
)

// pendingLevels bounds the changes that wait for a callback. Above it a new change
// replaces the last one: intermediate states are dropped, but the final state is always
// delivered.
const pendingLevels = 1024

// levels returns the present levels of all devices. The caller holds mu.
func (m *Monitor) levels() []DeviceLevel {
	levels := make([]DeviceLevel, len(m.watched))
	for i, w := range m.watched {
		levels[i] = DeviceLevel{Device: w.engine.ID(), Engine: w.engine, Level: w.level()}
	}
	return levels
}

// settle queues the levels for the callback if they have changed. The caller holds mu.
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

// deliver calls the callback for pending changes, on the dispatcher.
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
			m.log(engine.Warning, fmt.Sprintf("%d level changes were not reported: too many calls are waiting", missed))
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
