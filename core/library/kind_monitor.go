package library

import (
	"ferrum_mem/core/engine"
	"ferrum_mem/core/monitor"
)

// openMonitor is a monitor that was made by MonitorCreate.
type openMonitor struct {
	object
	monitor *monitor.Monitor
}

// A monitor is of no device: it watches managers of many.
func (m *openMonitor) isOver() bool                    { return m.monitor.IsOver() }
func (m *openMonitor) known() (uint64, *engine.Engine) { return m.id(), nil }
func (m *openMonitor) of(d *openDevice) bool           { return d == nil }
func (m *openMonitor) leak() leak                      { return m.alive("monitor", nil) }

func (m *openMonitor) endByForce(l *Library, id uint64) error {
	if _, err := l.monitors.Remove(id); err != nil {
		return err
	}
	m.monitor.Close(false)
	return nil
}
