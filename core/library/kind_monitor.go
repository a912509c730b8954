package library

import (
	"ferrum_mem/core/engine"
	"ferrum_mem/core/monitor"
)

// Monitor is a monitor created by MonitorCreate. The other methods are those of the
// embedded monitor.
type Monitor struct {
	object
	*monitor.Monitor
}

// Monitor finds a monitor by its handle.
func (l *Library) Monitor(op string, id uint64) (*Monitor, error) {
	return find(l, l.registry.monitors, op, id)
}

// A monitor belongs to no device: it watches managers of several.
func (m *Monitor) hasEnded() bool                  { return m.HasEnded() }
func (m *Monitor) known() (uint64, *engine.Engine) { return m.id(), nil }
func (m *Monitor) of(d *Device) bool               { return d == nil }
func (m *Monitor) leak() leak                      { return m.alive("monitor", nil) }

func (m *Monitor) endByForce(*Library, uint64) error { return m.Destroy(nil) }
