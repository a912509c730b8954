package library

import (
	"slices"
	"time"

	"ferrum_mem/core/device"
	"ferrum_mem/core/engine"
	"ferrum_mem/core/manager"
	"ferrum_mem/core/monitor"
	"ferrum_mem/core/pressure"
)

// MonitorConfig has the settings of a monitor.
type MonitorConfig struct {
	Profile pressure.Profile
	// Interval is the time between two queries of the devices while a callback is set;
	// 0: the default; below 0: devices are not queried.
	Interval     time.Duration
	IgnoreSystem bool
}

// DeviceLevel is the pressure level of the device with that handle.
type DeviceLevel struct {
	Device uint64
	Level  pressure.Level
}

// MonitorCollected is the result of a collection on one device.
type MonitorCollected struct {
	Device   uint64
	Managers int
	Stats    manager.DefragmentationStats
	Err      error
}

// Status returns the result code of the collection on the device.
func (c *MonitorCollected) Status() device.Code { return device.CodeOf(c.Err) }

// MonitorCreate creates a monitor that watches nothing yet. It belongs to no device,
// and its devices can be closed.
func (l *Library) MonitorCreate(c MonitorConfig) (uint64, error) {
	const op = "monitor.create"
	if _, err := l.started(op); err != nil {
		return 0, err
	}
	made, err := monitor.New(monitor.Config{
		Profile: c.Profile, Interval: c.Interval, IgnoreSystem: c.IgnoreSystem,
		Log: func(level engine.Level, message string) { l.log.printf(int32(level), "%s", message) },
	})
	if err != nil {
		return 0, err
	}
	entry := &Monitor{Monitor: made}
	// The stop of the library has already listed the objects, so no object may be
	// created then.
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, err := l.started(op); err != nil {
		return 0, err
	}
	return insert(l, l.registry.monitors, entry)
}

// Destroy destroys the monitor. Its callback is not called again. Destroy waits for a
// running call, unless running has the handle of the monitor, which is the token of its
// callback. running has the tokens of the callbacks that the calling thread runs. The
// managers do not change.
func (m *Monitor) Destroy(running []uint64) error {
	if _, err := m.library.registry.monitors.Remove(m.id()); err != nil {
		return err
	}
	m.Close(slices.Contains(running, m.id()))
	return nil
}

// Register makes the monitor watch a manager and its device. The registration is weak:
// it ends when the manager is destroyed.
func (m *Monitor) Register(managerID uint64) error {
	watched, err := m.library.registry.managers.Get(managerID)
	if err != nil {
		return err
	}
	return CallError(m.Monitor.Register(watched.Manager), m, watched, watched.device)
}

// Unregister ends the watch of a manager.
func (m *Monitor) Unregister(managerID uint64) error {
	watched, err := m.library.registry.managers.Get(managerID)
	if err != nil {
		return err
	}
	return CallError(m.Monitor.Unregister(watched.Manager), m, watched)
}

// UnregisterDevice ends the watch of all managers of a device.
func (m *Monitor) UnregisterDevice(deviceID uint64) error {
	d, err := m.library.registry.devices.Get(deviceID)
	if err != nil {
		return err
	}
	return CallError(m.Monitor.UnregisterDevice(d.Engine), m, d)
}

// SetCallback registers fn for every change of the levels; nil removes the present
// callback. It waits for a running call of the previous callback, unless it is called
// from that call: running is as for Destroy.
func (m *Monitor) SetCallback(running []uint64, fn func(levels []DeviceLevel)) error {
	l, inside := m.library, slices.Contains(running, m.id())
	if fn == nil {
		return CallError(m.Monitor.SetCallback(nil, inside), m)
	}
	return CallError(m.Monitor.SetCallback(func(levels []monitor.DeviceLevel) {
		var known []DeviceLevel
		for _, found := range levels {
			if handle := l.registry.deviceOf(found.Engine); handle != 0 {
				known = append(known, DeviceLevel{Device: handle, Level: found.Level})
			}
		}
		l.running.during(nil, func() { fn(known) })
	}, inside), m)
}

// deviceOf returns the handle of an open device; 0: it is closed.
func (g *registry) deviceOf(e *engine.Engine) (handle uint64) {
	g.devices.Each(func(id uint64, d *Device) bool {
		if d.Engine == e {
			handle = id
		}
		return handle == 0
	})
	return handle
}

// Levels returns the level of every watched device.
func (m *Monitor) Levels(maxAge time.Duration) []DeviceLevel {
	var levels []DeviceLevel
	for _, info := range m.Info(maxAge) {
		if handle := m.library.registry.deviceOf(info.Engine); handle != 0 {
			levels = append(levels, DeviceLevel{Device: handle, Level: info.Level})
		}
	}
	return levels
}

// Collect defragments every watched manager. A failure on a device is in its record,
// and the other devices are still collected. If more devices are watched than most,
// nothing is done and count is their number. Otherwise count is the number of records.
// A device that is added during the call is collected, but not reported.
func (m *Monitor) Collect(most uint64) (collected []MonitorCollected, count uint64, err error) {
	if watched := uint64(m.Devices()); watched > most {
		return nil, watched, device.Errorf(device.CodeBufferTooSmall, "monitor.collect", "capacity is %d, for %s", most, device.Count(watched, "device"))
	}
	// The error joins the errors of the devices, which are in the records.
	done, _ := m.Monitor.Collect()
	for _, c := range done {
		// A device that is closed by now has no handle any more.
		collected = append(collected, MonitorCollected{
			Device: m.library.registry.deviceOf(c.Engine), Managers: c.Managers, Stats: c.Stats, Err: on(c.Err, c.Engine),
		})
	}
	collected = collected[:min(uint64(len(collected)), most)]
	return collected, uint64(len(collected)), nil
}
