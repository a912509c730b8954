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
	entry := &openMonitor{monitor: made}
	// Not while the library stops: it has listed what there is by then.
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, err := l.started(op); err != nil {
		return 0, err
	}
	return insert(l.monitors, entry)
}

// MonitorDestroy ends a monitor: its callback is not called again, and one that
// runs is waited for, unless runningToken, the token of the callback that the
// calling thread runs (0: none), is the handle: the token of a monitor's callback.
// The managers are left as they are.
func (l *Library) MonitorDestroy(id, runningToken uint64) error {
	if _, err := l.started("monitor.destroy"); err != nil {
		return err
	}
	entry, err := l.monitors.Remove(id)
	if err != nil {
		return err
	}
	entry.monitor.Close(runningToken == id)
	return nil
}

// MonitorRegister has a monitor watch a manager and its device. The registration is
// weak: a manager that is destroyed leaves by itself.
func (l *Library) MonitorRegister(id, managerID uint64) error {
	const op = "monitor.register"
	m, err := find(l, l.monitors, op, id)
	if err != nil {
		return err
	}
	entry, err := l.managers.Get(managerID)
	if err != nil {
		return err
	}
	return late(m.monitor.Register(entry.manager), m, entry, entry.device)
}

// MonitorUnregister ends the watch over a manager.
func (l *Library) MonitorUnregister(id, managerID uint64) error {
	const op = "monitor.unregister"
	m, err := find(l, l.monitors, op, id)
	if err != nil {
		return err
	}
	entry, err := l.managers.Get(managerID)
	if err != nil {
		return err
	}
	return late(m.monitor.Unregister(entry.manager), m, entry)
}

// MonitorUnregisterDevice ends the watch over all managers of a device.
func (l *Library) MonitorUnregisterDevice(id, deviceID uint64) error {
	const op = "monitor.unregister_device"
	m, err := find(l, l.monitors, op, id)
	if err != nil {
		return err
	}
	d, err := l.devices.Get(deviceID)
	if err != nil {
		return err
	}
	return late(m.monitor.UnregisterDevice(d.engine), m, d)
}

// MonitorSetCallback has fn hear of every change of the levels from now on; nil
// removes the present one. It waits for a running call of the former one, unless
// it is called from that: runningToken is as for MonitorDestroy.
func (l *Library) MonitorSetCallback(id, runningToken uint64, fn func(levels []DeviceLevel)) error {
	const op = "monitor.set_callback"
	m, err := find(l, l.monitors, op, id)
	if err != nil {
		return err
	}
	inside := runningToken == id
	if fn == nil {
		return late(m.monitor.SetCallback(nil, inside), m)
	}
	return late(m.monitor.SetCallback(func(levels []monitor.DeviceLevel) {
		var known []DeviceLevel
		for _, found := range levels {
			if handle := l.deviceOf(found.Engine); handle != 0 {
				known = append(known, DeviceLevel{Device: handle, Level: found.Level})
			}
		}
		l.running.during(nil, func() { fn(known) })
	}, inside), m)
}

// deviceOf is the handle of an open device; 0: it is closed.
func (l *Library) deviceOf(e *engine.Engine) (handle uint64) {
	l.devices.Each(func(id uint64, d *openDevice) bool {
		if d.engine == e {
			handle = id
		}
		return handle == 0
	})
	return handle
}

// MonitorGetPressure is the pressure of all watched devices together, from readings
// that are no older than maxAge.
func (l *Library) MonitorGetPressure(id uint64, maxAge time.Duration) (monitor.Summary, error) {
	return tell(l, l.monitors, "monitor.pressure", id, func(m *openMonitor) monitor.Summary { return m.monitor.Pressure(maxAge) })
}

// MonitorGetLevels is the level of every watched device.
func (l *Library) MonitorGetLevels(id uint64, maxAge time.Duration) ([]DeviceLevel, error) {
	m, err := find(l, l.monitors, "monitor.levels", id)
	if err != nil {
		return nil, err
	}
	var levels []DeviceLevel
	for _, info := range m.monitor.Info(maxAge) {
		if handle := l.deviceOf(info.Engine); handle != 0 {
			levels = append(levels, DeviceLevel{Device: handle, Level: info.Level})
		}
	}
	return levels, nil
}

// MonitorCollect defragments every watched manager. What failed on a device is in
// its record; the others are collected all the same. Nothing is done when more devices
// are watched than most: then count is how many; else it is that of the records. One
// that comes meanwhile is collected, but not told of.
func (l *Library) MonitorCollect(id, most uint64) (collected []MonitorCollected, count uint64, err error) {
	const op = "monitor.collect"
	m, err := find(l, l.monitors, op, id)
	if err != nil {
		return nil, 0, err
	}
	if watched := uint64(m.monitor.Devices()); watched > most {
		return nil, watched, device.Errorf(device.CodeBufferTooSmall, op, "capacity is %d: there are %d devices", most, watched)
	}
	// The error joins those of the devices, which are in the records.
	done, _ := m.monitor.Collect()
	for _, c := range done {
		// A device that is closed by now has no handle any more.
		collected = append(collected, MonitorCollected{
			Device: l.deviceOf(c.Engine), Managers: c.Managers, Stats: c.Stats, Err: on(c.Err, c.Engine),
		})
	}
	collected = collected[:min(uint64(len(collected)), most)]
	return collected, uint64(len(collected)), nil
}
