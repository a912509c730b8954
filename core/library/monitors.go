package library

import (
	"time"

	"ferrum_mem/core/device"
	"ferrum_mem/core/engine"
	"ferrum_mem/core/manager"
	"ferrum_mem/core/monitor"
	"ferrum_mem/core/pressure"
)

// MonitorConfig is the settings of a monitor.
type MonitorConfig struct {
	Profile pressure.Profile
	// Interval is how often devices are looked at while a callback is set; 0: the
	// default, below 0: never.
	Interval     time.Duration
	IgnoreSystem bool
}

// DeviceLevel is the pressure level of a device by its handle.
type DeviceLevel struct {
	Device uint64
	Level  pressure.Level
}

// MonitorCollected is what a collection did on one device.
type MonitorCollected struct {
	Device   uint64
	Managers int
	Stats    manager.DefragmentationStats
	Err      error
}

// Status is how the collection on the device ended.
func (c *MonitorCollected) Status() device.Code { return device.CodeOf(c.Err) }

// MonitorCreate makes a monitor that watches nothing yet. It belongs to no device
// and keeps none from being closed.
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
	// Not while the library stops: it has listed what there is by then.
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, err := l.started(op); err != nil {
		return 0, err
	}
	return insert(l, l.registry.monitors, entry)
}

// Destroy ends the monitor: its callback is not called again, and one that
// runs is waited for, unless runningToken, the token of the callback that the
// calling thread runs (0: none), is the handle: the token of a monitor's callback.
// The managers are left as they are.
func (m *Monitor) Destroy(runningToken uint64) error {
	if _, err := m.library.registry.monitors.Remove(m.id()); err != nil {
		return err
	}
	m.Close(runningToken == m.id())
	return nil
}

// Register has the monitor watch a manager and its device. The registration is
// weak: a manager that is destroyed leaves by itself.
func (m *Monitor) Register(managerID uint64) error {
	watched, err := m.library.registry.managers.Get(managerID)
	if err != nil {
		return err
	}
	return CallError(m.Monitor.Register(watched.Manager), m, watched, watched.device)
}

// Unregister ends the watch over a manager.
func (m *Monitor) Unregister(managerID uint64) error {
	watched, err := m.library.registry.managers.Get(managerID)
	if err != nil {
		return err
	}
	return CallError(m.Monitor.Unregister(watched.Manager), m, watched)
}

// UnregisterDevice ends the watch over all managers of a device.
func (m *Monitor) UnregisterDevice(deviceID uint64) error {
	d, err := m.library.registry.devices.Get(deviceID)
	if err != nil {
		return err
	}
	return CallError(m.Monitor.UnregisterDevice(d.Engine), m, d)
}

// SetCallback has fn hear of every change of the levels from now on; nil
// removes the present one. It waits for a running call of the former one, unless
// it is called from that: runningToken is as for Destroy.
func (m *Monitor) SetCallback(runningToken uint64, fn func(levels []DeviceLevel)) error {
	l, inside := m.library, runningToken == m.id()
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

// deviceOf is the handle of an open device; 0: it is closed.
func (g *registry) deviceOf(e *engine.Engine) (handle uint64) {
	g.devices.Each(func(id uint64, d *Device) bool {
		if d.Engine == e {
			handle = id
		}
		return handle == 0
	})
	return handle
}

// Levels is the level of every watched device.
func (m *Monitor) Levels(maxAge time.Duration) []DeviceLevel {
	var levels []DeviceLevel
	for _, info := range m.Info(maxAge) {
		if handle := m.library.registry.deviceOf(info.Engine); handle != 0 {
			levels = append(levels, DeviceLevel{Device: handle, Level: info.Level})
		}
	}
	return levels
}

// Collect defragments every watched manager. What failed on a device is in
// its record; the others are collected all the same. Nothing is done when more devices
// are watched than most: then count is how many; else it is that of the records. One
// that comes meanwhile is collected, but not told of.
func (m *Monitor) Collect(most uint64) (collected []MonitorCollected, count uint64, err error) {
	if watched := uint64(m.Devices()); watched > most {
		return nil, watched, device.Errorf(device.CodeBufferTooSmall, "monitor.collect", "capacity is %d: there are %d devices", most, watched)
	}
	// The error joins those of the devices, which are in the records.
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
